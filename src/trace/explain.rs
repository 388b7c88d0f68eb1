//! Why the calls of a recorded run got their verdicts: the inputs go through the engine again, which takes down what
//! each check sees.

use super::reader::Trace;
use crate::engine::event::{Event, Judged};
use crate::engine::explain::Asked;
use crate::engine::input::{CallNo, Input, ProposedCall};
use crate::engine::session::Unfitting;
use crate::table::StageTable;

/// One call with its verdict and the checks that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The engine's number.
    pub call: CallNo,
    /// The step of the run.
    pub step: u32,
    /// The table it was judged by; another than the run's in a nested run.
    pub file: String,
    /// The stage it was judged in.
    pub stage: String,
    /// The call as the model proposed it.
    pub proposed: ProposedCall,
    /// The tool it was resolved to, where the name differs.
    pub resolved: Option<String>,
    /// The verdict.
    pub judged: Judged,
    /// The checks up to the one that decided.
    pub checks: Vec<Asked>,
    /// What a person answered, when one was asked.
    pub approved: Option<bool>,
}

/// Explains every call of a recorded run, in order.
///
/// # Errors
/// When the run cannot start with this table, or an input does not fit: then the table is not the recorded one, or
/// another version of the engine decides otherwise.
pub fn explain(trace: &Trace, table: &StageTable) -> Result<Vec<Explanation>, Unfitting> {
    let mut session = trace.header.session(table).record(false).start().map_err(|e| Unfitting(e.0))?;
    session.explain();
    let mut explained: Vec<Explanation> = Vec::new();
    for (at, stamped) in trace.records.iter().enumerate() {
        let input = &stamped.record.input;
        if matches!(input, Input::Start) {
            continue;
        }
        let events = session.apply(input.clone()).map_err(|e| Unfitting(format!("record {}: {e}", at + 1)))?;
        let checks = session.take_explained();
        if let Input::Reply(reply) = input {
            let judged = events.iter().filter_map(|event| match event {
                Event::CallJudged { call, resolved, judged, .. } => Some((*call, resolved, judged)),
                _ => None,
            });
            for ((call, resolved, judged), proposed) in judged.zip(&reply.calls) {
                let checks = checks.iter().find(|c| c.call == call);
                explained.push(Explanation {
                    call,
                    step: session.loop_index(),
                    file: checks.map_or_else(String::new, |c| c.file.clone()),
                    stage: checks.map_or_else(String::new, |c| c.stage.clone()),
                    proposed: proposed.clone(),
                    resolved: resolved.as_deref().map(str::to_owned),
                    judged: judged.clone(),
                    checks: checks.map(|c| c.checks.clone()).unwrap_or_default(),
                    approved: None,
                });
            }
        }
        for event in &events {
            if let Event::ApprovalGiven { call, yes } = event
                && let Some(asked) = explained.iter_mut().rev().find(|e| e.call == *call)
            {
                asked.approved = Some(*yes);
            }
        }
    }
    Ok(explained)
}
