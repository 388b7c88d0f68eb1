//! The loop of one run. Every record is kept before it is acted on.

use super::calls::{Job, is_harmless};
use super::clock::Clock;
use super::guarded::{Caught, caught};
use super::model::{Asker, Model, ModelError, ModelErrorKind, Question, SinkError, ToolHost, TraceSink};
use super::runner::{Options, Unanswered};
use crate::engine::input::{Reply, ToolResult};
use crate::engine::outcome::Outcome;
use crate::engine::session::Session;
use crate::engine::verdict::{Ruling, Verdict};
use crate::engine::view::Message;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use tracing::{Instrument as _, Span};

/// Most bytes of one reply, text and calls together.
pub const REPLY_BYTES: usize = 4 * 1024 * 1024;

/// What one run needs, borrowed from the runner.
pub(super) struct Drive<'r> {
    model: &'r mut (dyn Model + 'static),
    stage_models: &'r mut HashMap<String, Box<dyn Model>>,
    pub(super) host: &'r dyn ToolHost,
    asker: &'r mut dyn Asker,
    pub(super) sink: &'r mut dyn TraceSink,
    pub(super) options: &'r Options,
    clock: Clock,
    stage: (String, Span),
    pub(super) model_error: Option<ModelError>,
}

/// A question's end.
enum Answered {
    Yes,
    No,
    /// Nobody answered and the run is to pause.
    NotNow,
    Cancelled,
}

/// What to do with the rest of a reply's calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Go {
    On,
    /// Cancelled: nothing more is started.
    Stop,
}

impl<'r> Drive<'r> {
    pub(super) fn new(
        model: &'r mut (dyn Model + 'static),
        stage_models: &'r mut HashMap<String, Box<dyn Model>>,
        host: &'r dyn ToolHost,
        asker: &'r mut dyn Asker,
        sink: &'r mut dyn TraceSink,
        options: &'r Options,
    ) -> Self {
        Self {
            model,
            stage_models,
            host,
            asker,
            sink,
            options,
            clock: Clock::start(),
            stage: (String::new(), Span::none()),
            model_error: None,
        }
    }

    /// Until the run ends or pauses and nobody here can help.
    pub(super) async fn run(&mut self, session: &mut Session) -> Result<(), SinkError> {
        self.keep(session)?;
        self.reopen(session).await?;
        // A run that paused for want of a model, or was cancelled, goes on with the next reply.
        let mut resumes = matches!(session.outcome(), Some(Outcome::ProviderError | Outcome::Cancelled));
        loop {
            // A model and tools that are always ready must not starve the task that cancels.
            tokio::task::consume_budget().await;
            self.tick(session, false)?;
            if self.options.cancel.is_cancelled() {
                return self.cancel(session);
            }
            let outcome = session.outcome().filter(|_| !std::mem::take(&mut resumes));
            let goes_on = match outcome {
                None => {
                    self.step(session).await?;
                    true
                }
                Some(Outcome::AwaitingApproval) => self.admission(session).await?,
                Some(Outcome::AwaitingUser) => self.user(session).await?,
                Some(_) => false,
            };
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Writes what the engine recorded, before anybody acts on it.
    pub(super) fn keep(&mut self, session: &mut Session) -> Result<(), SinkError> {
        session.take_records().iter().try_for_each(|record| self.sink.write(record))
    }

    pub(super) fn tick(&mut self, session: &mut Session, waiting: bool) -> Result<(), SinkError> {
        self.clock.tick(session, waiting);
        self.keep(session)
    }

    /// Cancels what is left; a run that has ended already stays as it ended.
    fn cancel(&mut self, session: &mut Session) -> Result<(), SinkError> {
        if session.outcome().is_none_or(Outcome::is_pause) {
            session.cancel();
        }
        self.keep(session)
    }

    /// Asks the model once and carries out what its reply leads to.
    async fn step(&mut self, session: &mut Session) -> Result<(), SinkError> {
        let span = self.step_span(session);
        async {
            let Some(reply) = self.ask_model(session).await else {
                // Cancelled, or the run's time is up: the loop sees which.
                return Ok(());
            };
            match reply {
                Ok(reply) => {
                    let rulings = session.judge(reply);
                    self.keep(session)?;
                    self.carry_out(session, rulings).await
                }
                Err(error) => {
                    tracing::warn!(error = %error, "the model gave no reply");
                    session.provider_failed(error.kind == ModelErrorKind::Overflow, error.message.as_str());
                    self.model_error = Some(error);
                    self.keep(session)
                }
            }
        }
        .instrument(span)
        .await
    }

    fn step_span(&mut self, session: &Session) -> Span {
        let view = session.view();
        if self.stage.0 != view.stage {
            self.stage = (view.stage.to_owned(), tracing::info_span!("stage", stage = view.stage));
        }
        tracing::info_span!(
            parent: &self.stage.1,
            "step",
            stage = view.stage,
            steps_left = view.steps_left,
            loop_index = session.loop_index(),
            dup_tool_count = session.dup_tool_count(),
        )
    }

    /// One reply; `None` when cancelled or when the run's time is up.
    async fn ask_model(&mut self, session: &Session) -> Option<Result<Reply, ModelError>> {
        let view = session.view();
        let model = match view.model.and_then(|alias| self.stage_models.get_mut(alias)) {
            Some(model) => model.as_mut(),
            None => &mut *self.model,
        };
        let span = tracing::info_span!("model_request", stage = view.stage, steps_left = view.steps_left);
        let asked = async {
            match caught(|| model.reply(view)).map(Caught) {
                Ok(work) => work.await,
                Err(panic) => Err(panic),
            }
        };
        let limit = session.time_left_ms();
        let reply = self.options.unless(limit, asked.instrument(span)).await?;
        Some(reply.unwrap_or_else(|panic| Err(broke(&panic))).and_then(fitting))
    }

    /// Runs what may run and asks what has to be asked, in the model's order.
    async fn carry_out(&mut self, session: &mut Session, rulings: Vec<Ruling>) -> Result<(), SinkError> {
        let open = |r: &Ruling| matches!(r.verdict, Verdict::Run(_) | Verdict::Ask(_));
        let mut queue: VecDeque<Ruling> = rulings.into_iter().filter(open).collect();
        while let Some(Ruling { no, call, tool, verdict }) = queue.pop_front() {
            match verdict {
                Verdict::Run(ticket) => {
                    let mut jobs = vec![Job::new(session, ticket, &tool, &call)];
                    while jobs.iter().all(Job::shares)
                        && let Some(next) = Job::take_sharing(session, &mut queue)
                    {
                        jobs.push(next);
                    }
                    if self.run_jobs(session, jobs).await? == Go::Stop {
                        self.give_up(session, queue)?;
                        break;
                    }
                }
                Verdict::Ask(ask) => {
                    let question = Question {
                        text: ask.question.clone(),
                        call: Some((tool.to_string(), arguments(&call.arguments))),
                        stage: None,
                        products: products(session),
                    };
                    let answer = self.question(session, &question).await?;
                    let yes = match answer {
                        // The engine holds the question open, for a resume.
                        Answered::NotNow => continue,
                        Answered::Cancelled => {
                            self.give_up(session, queue)?;
                            break;
                        }
                        Answered::Yes => true,
                        Answered::No => false,
                    };
                    if let Some(ticket) = session.answer(ask, yes) {
                        queue.push_front(Ruling { no, call, tool, verdict: Verdict::Run(ticket) });
                    }
                    self.keep(session)?;
                }
                Verdict::Reuse { .. } | Verdict::Refuse { .. } | Verdict::Advance | Verdict::Nested => {}
            }
        }
        Ok(())
    }

    /// The run is cancelled before these began: a write among them is known not to stand. The rest is answered by the
    /// engine once it is told.
    fn give_up(&mut self, session: &mut Session, queue: VecDeque<Ruling>) -> Result<(), SinkError> {
        for ruling in queue {
            if let Verdict::Run(ticket) = ruling.verdict
                && !is_harmless(session.entry_of(ruling.no, &ruling.tool))
            {
                session.finish(ticket, ToolResult::error("not run: the run was cancelled before"));
            }
        }
        self.keep(session)
    }

    /// Calls and questions that a resumed run has open. What may have taken effect is not done twice.
    async fn reopen(&mut self, session: &mut Session) -> Result<(), SinkError> {
        let mut again = Vec::new();
        for ruling in session.open_calls() {
            let entry = session.entry_of(ruling.no, &ruling.tool);
            let begun = self.options.begun.as_ref().is_none_or(|begun| begun.contains(&ruling.no));
            let harmless = is_harmless(entry) || entry.idempotent || !begun;
            match ruling.verdict {
                Verdict::Run(ticket) if !harmless => {
                    let text = "the run was interrupted here; nobody knows whether this call took effect";
                    session.finish(ticket, ToolResult::unknown(text));
                    self.keep(session)?;
                }
                verdict => again.push(Ruling { verdict, ..ruling }),
            }
        }
        again.extend(session.open_asks());
        again.sort_by_key(|ruling| ruling.no);
        self.carry_out(session, again).await
    }

    /// A person admits the run to a stage, or not. `false` = the run pauses.
    async fn admission(&mut self, session: &mut Session) -> Result<bool, SinkError> {
        let Some(stage) = session.awaiting_admission() else {
            return Ok(false);
        };
        let text = format!("may the run enter the stage `{stage}`?");
        let question = Question { text, call: None, stage: Some(stage), products: products(session) };
        let yes = match self.question(session, &question).await? {
            Answered::Yes => true,
            Answered::No => false,
            Answered::NotNow => return Ok(false),
            Answered::Cancelled => return Ok(true),
        };
        if session.admit(yes).is_err() {
            return Ok(false);
        }
        self.keep(session)?;
        Ok(true)
    }

    /// The user says something, or nobody is there. `false` = the run pauses.
    async fn user(&mut self, session: &mut Session) -> Result<bool, SinkError> {
        let text = last_text(session.view().messages).to_owned();
        self.tick(session, false)?;
        let said = self.options.cancel.unless(timeout(self.options.ask_timeout, self.asker.user(&text))).await;
        self.tick(session, true)?;
        let Some(said) = said.map(Option::flatten) else {
            return Ok(true);
        };
        let goes_on = said.is_some_and(|said| session.user_says(said).is_ok());
        self.keep(session)?;
        Ok(goes_on)
    }

    /// Asks a person; what they take is time of waiting.
    async fn question(&mut self, session: &mut Session, question: &Question) -> Result<Answered, SinkError> {
        self.tick(session, false)?;
        let answer = self.options.cancel.unless(timeout(self.options.ask_timeout, self.asker.approve(question))).await;
        self.tick(session, true)?;
        Ok(match answer.map(Option::flatten) {
            None => Answered::Cancelled,
            Some(Some(true)) => Answered::Yes,
            Some(Some(false)) => Answered::No,
            Some(None) if self.options.unanswered == Unanswered::Pause => Answered::NotNow,
            Some(None) => Answered::No,
        })
    }
}

fn products(session: &Session) -> Vec<(String, String)> {
    session.products().map(|(stage, product)| (stage.to_owned(), product.to_owned())).collect()
}

async fn timeout<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(limit, work).await.ok()
}

impl Options {
    /// Waits for `work`; `None` when cancelled, or when `limit_ms` are over, first.
    pub(super) async fn unless<T>(&self, limit_ms: Option<u64>, work: impl Future<Output = T>) -> Option<T> {
        match limit_ms.filter(|ms| *ms > 0) {
            Some(ms) => self.cancel.unless(timeout(Duration::from_millis(ms), work)).await.flatten(),
            None => self.cancel.unless(work).await,
        }
    }
}

/// What a person or a tool is shown of a call's arguments.
pub(super) fn arguments(raw: &str) -> String {
    if raw.trim().is_empty() { "{}".to_owned() } else { raw.to_owned() }
}

fn broke(panic: &str) -> ModelError {
    ModelError { kind: ModelErrorKind::BadReply, message: format!("the model's adapter broke: {panic}") }
}

fn fitting(reply: Reply) -> Result<Reply, ModelError> {
    let calls: usize = reply.calls.iter().map(|call| call.id.len() + call.tool.len() + call.arguments.len()).sum();
    let bytes = reply.text.len() + calls;
    if bytes <= REPLY_BYTES {
        return Ok(reply);
    }
    let message = format!("the model's reply is {bytes} bytes long; the most is {REPLY_BYTES}");
    Err(ModelError { kind: ModelErrorKind::BadReply, message })
}

/// What the model said last, for the user.
fn last_text(messages: &[Message]) -> &str {
    let said = messages.iter().rev().find_map(|message| match message {
        Message::Assistant { text, .. } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    said.unwrap_or_default()
}
