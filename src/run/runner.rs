//! The driver: asks the model, runs the tools, hands everything to the engine, and decides nothing.

use super::asker::Nobody;
use super::call::TOOL_TIMEOUT;
use super::cancel::Cancel;
use super::drive::Drive;
use super::guarded::{Caught, close};
use super::model::{Asker, Model, ModelError, SinkError, ToolHost, TraceSink};
use super::sink::NoSink;
use crate::engine::input::CallNo;
use crate::engine::session::Session;
use crate::engine::summary::Summary;
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tracing::Instrument as _;

/// How long a person may take to answer.
pub const ASK_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// What a question leads to that nobody answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unanswered {
    /// It counts as a no (default).
    #[default]
    Refuse,
    /// The run pauses and may be resumed when somebody is there.
    Pause,
}

/// Drives a session with a model and tools: time-outs, concurrency, cancellation, cleaning up.
///
/// Whatever happens, the tools are closed once, after the last call has ended. Only a future that is dropped before
/// it is done cannot wait for that; use [`Cancel`] to end a run early.
pub struct Runner {
    model: Box<dyn Model>,
    stage_models: HashMap<String, Box<dyn Model>>,
    host: Box<dyn ToolHost>,
    asker: Box<dyn Asker>,
    sink: Box<dyn TraceSink>,
    options: Options,
}

/// The settings of a run that are no objects.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) cancel: Cancel,
    pub(super) tool_timeout: Duration,
    pub(super) ask_timeout: Duration,
    pub(super) unanswered: Unanswered,
    /// Calls that may have begun before a resume; `None` = any.
    pub(super) begun: Option<HashSet<CallNo>>,
}

/// How a run ended or where it pauses. A limit is a value here, never an error.
#[derive(Clone, Debug)]
pub struct Report {
    /// The structured end.
    pub summary: Summary,
    /// What could not be closed, for people.
    pub not_closed: Vec<String>,
    /// What the model said when it gave no reply the last time.
    pub model_error: Option<ModelError>,
}

/// Why a run could not go on at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A stage names a model that nobody gave.
    #[error("stage `{stage}` wants the model `{alias}`, and none is given for it")]
    NoModel {
        /// The stage.
        stage: String,
        /// The alias.
        alias: String,
    },
    /// A record could not be kept; nothing was done after it.
    #[error("the run stopped: {source}")]
    Sink {
        /// Why.
        source: SinkError,
        /// Where the run stands, and what could not be closed.
        report: Box<Report>,
    },
    /// The driver itself broke.
    #[error("the runner broke: {message}; this is a bug in stagekeeper")]
    Broke {
        /// What it said.
        message: String,
        /// Where the run stands, and what could not be closed.
        report: Box<Report>,
    },
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Runner {
    /// A runner with a model and tools. Without more, nobody is asked and nothing is recorded.
    #[must_use]
    pub fn new(model: Box<dyn Model>, host: Box<dyn ToolHost>) -> Self {
        Self {
            model,
            stage_models: HashMap::new(),
            host,
            asker: Box::new(Nobody),
            sink: Box::new(NoSink),
            options: Options {
                cancel: Cancel::new(),
                tool_timeout: TOOL_TIMEOUT,
                ask_timeout: ASK_TIMEOUT,
                unanswered: Unanswered::Refuse,
                begun: None,
            },
        }
    }

    /// The model for stages that declare `model: ALIAS`.
    #[must_use]
    pub fn stage_model(mut self, alias: impl Into<String>, model: Box<dyn Model>) -> Self {
        self.stage_models.insert(alias.into(), model);
        self
    }

    /// Who asks a person.
    #[must_use]
    pub fn asker(mut self, asker: Box<dyn Asker>) -> Self {
        self.asker = asker;
        self
    }

    /// Where records go.
    #[must_use]
    pub fn sink(mut self, sink: Box<dyn TraceSink>) -> Self {
        self.sink = sink;
        self
    }

    /// By which the run can be ended from outside.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.options.cancel = cancel;
        self
    }

    /// How long a call may take whose tool declares no `timeout` ([`TOOL_TIMEOUT`]).
    #[must_use]
    pub fn tool_timeout(mut self, limit: Duration) -> Self {
        self.options.tool_timeout = limit;
        self
    }

    /// How long a person may take to answer ([`ASK_TIMEOUT`]).
    #[must_use]
    pub fn ask_timeout(mut self, limit: Duration) -> Self {
        self.options.ask_timeout = limit;
        self
    }

    /// The calls that may have begun before the run was interrupted, as [`TraceSink::intends`] was told. The other open
    /// calls are run; without this, an open call that is no read and not idempotent has an unknown end.
    #[must_use]
    pub fn begun(mut self, calls: impl IntoIterator<Item = CallNo>) -> Self {
        self.options.begun = Some(calls.into_iter().collect());
        self
    }

    /// What a question leads to that nobody answers.
    #[must_use]
    pub fn unanswered(mut self, unanswered: Unanswered) -> Self {
        self.options.unanswered = unanswered;
        self
    }

    /// Runs the session until it ends or pauses and nobody here can help, then closes the tools.
    ///
    /// # Errors
    /// Before anything was done: when a stage wants a model that was not given. Later: when a record could not be kept.
    pub async fn run(mut self, session: &mut Session) -> Result<Report, RunError> {
        self.check_models(session)?;
        let span = tracing::info_span!("run", run = %session.run_id(), workflow = session.table().workflow());
        let (driven, report) = self.drive(session).instrument(span).await;
        match driven {
            Ok(Ok(())) => Ok(report),
            Ok(Err(source)) => Err(RunError::Sink { source, report: Box::new(report) }),
            Err(message) => Err(RunError::Broke { message, report: Box::new(report) }),
        }
    }

    async fn drive(&mut self, session: &mut Session) -> (Result<Result<(), SinkError>, String>, Report) {
        let mut drive = Drive::new(
            &mut *self.model,
            &mut self.stage_models,
            &*self.host,
            &mut *self.asker,
            &mut *self.sink,
            &self.options,
        );
        // A bug of ours must not keep the tools from being closed either.
        let driven = Caught(Box::pin(drive.run(session))).await;
        let model_error = drive.model_error.take();
        let not_closed = close(&*self.host).await.err().into_iter().collect();
        (driven, Report { summary: session.summary(), not_closed, model_error })
    }

    fn check_models(&self, session: &Session) -> Result<(), RunError> {
        let stages = session.table().stages();
        let wanted = stages.iter().filter_map(|stage| Some((stage, stage.model.as_ref()?)));
        match wanted.into_iter().find(|(_, alias)| !self.stage_models.contains_key(*alias)) {
            None => Ok(()),
            Some((stage, alias)) => Err(RunError::NoModel { stage: stage.name.to_string(), alias: alias.clone() }),
        }
    }
}
