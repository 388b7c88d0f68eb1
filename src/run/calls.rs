//! The calls of one reply: which run together, and how their results are handed in.

use super::call::{Again, Plan, run_together};
use super::drive::{Drive, Go, arguments};
use super::model::{SinkError, ToolCall};
use crate::engine::input::{CallNo, ProposedCall, ToolResult};
use crate::engine::session::Session;
use crate::engine::verdict::{Ruling, Ticket, Verdict};
use crate::table::model::{Effect, ToolEntry};
use std::collections::VecDeque;
use std::time::Duration;
use tracing::Instrument as _;

/// One call that may run.
pub(super) struct Job {
    ticket: Ticket,
    call: ToolCall,
    harmless: bool,
}

/// Whether calls of the tool change nothing.
pub(super) fn is_harmless(entry: &ToolEntry) -> bool {
    matches!(entry.effect, Effect::Read | Effect::Poll)
}

impl Job {
    pub(super) fn new(session: &Session, ticket: Ticket, tool: &str, call: &ProposedCall) -> Self {
        let no = ticket.call();
        let call = ToolCall {
            no,
            tool: tool.to_owned(),
            arguments: arguments(&call.arguments),
            idempotency_key: format!("{}-{}", session.run_id(), no.0),
        };
        Self { ticket, call, harmless: is_harmless(session.entry_of(no, tool)) }
    }

    /// Whether it may run beside others.
    pub(super) fn shares(&self) -> bool {
        self.harmless
    }

    /// Takes the next call off the queue if it may run beside others.
    pub(super) fn take_sharing(session: &Session, queue: &mut VecDeque<Ruling>) -> Option<Self> {
        let next = queue.front()?;
        if !matches!(next.verdict, Verdict::Run(_)) || !is_harmless(session.entry_of(next.no, &next.tool)) {
            return None;
        }
        let next = queue.pop_front()?;
        match next.verdict {
            Verdict::Run(ticket) => Some(Self::new(session, ticket, &next.tool, &next.call)),
            _ => None,
        }
    }

    fn plan<'p>(&self, session: &'p Session, default_timeout: Duration) -> Plan<'p> {
        let entry = session.entry_of(self.call.no, &self.call.tool);
        let no = self.call.no;
        let again = entry.every_ms.filter(|_| entry.until.is_some()).map(|every| Again {
            every: Duration::from_millis(every),
            most: entry.repeats,
            until: Box::new(move |result: &ToolResult| session.poll_is_done(no, result).unwrap_or(true)),
        });
        Plan {
            call: self.call.clone(),
            harmless: self.harmless,
            timeout: entry.timeout_ms.map(Duration::from_millis),
            default_timeout,
            again,
        }
    }
}

impl Drive<'_> {
    /// Runs the jobs together and hands their results in, in the model's order.
    pub(super) async fn run_jobs(&mut self, session: &mut Session, jobs: Vec<Job>) -> Result<Go, SinkError> {
        let calls: Vec<CallNo> = jobs.iter().map(|job| job.call.no).collect();
        self.sink.intends(&calls)?;
        let mut slots: Vec<Option<ToolResult>> = jobs.iter().map(|_| None).collect();
        let done = self.run_to_slots(session, &jobs, &mut slots).await;
        let cancelled = done.is_none() && self.options.cancel.is_cancelled();
        self.tick(session, false)?;
        for (job, slot) in jobs.into_iter().zip(slots) {
            let result = match slot {
                Some(result) => result,
                // The engine answers what was dropped once it is told of the cancel.
                None if cancelled => continue,
                None => ToolResult::unknown("ended because the run's time was up; nobody knows whether it took effect"),
            };
            session.finish(job.ticket, result);
            self.keep(session)?;
        }
        Ok(if cancelled { Go::Stop } else { Go::On })
    }

    /// `None` when cancelled, or the run's time was up, before all had ended.
    async fn run_to_slots(&self, session: &Session, jobs: &[Job], slots: &mut [Option<ToolResult>]) -> Option<()> {
        let plans: Vec<Plan<'_>> = jobs.iter().map(|job| job.plan(session, self.options.tool_timeout)).collect();
        let (loop_index, dup_tool_count) = (session.loop_index(), session.dup_tool_count());
        let span = match jobs {
            [job] => {
                tracing::info_span!("tool_call", tool = %job.call.tool, call = job.call.no.0, loop_index, dup_tool_count)
            }
            jobs => tracing::info_span!("tool_calls", calls = jobs.len(), loop_index, dup_tool_count),
        };
        let work = run_together(self.host, &plans, slots).instrument(span);
        self.options.unless(session.time_left_ms(), work).await
    }
}
