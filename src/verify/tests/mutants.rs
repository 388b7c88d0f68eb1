//! An engine with one mistake in it is found out: by the exploration, by the properties of the guards, or by a law
//! that every played run obeys. `docs/concepts/proof.md` has the list.

use super::guards;
use crate::engine::mutant::{Mutant, with};
use crate::table::StageTable;
use crate::testing::{Script, play};
use crate::verify::oracle::Oracle;
use crate::verify::plan::{Plan, Precision};
use crate::verify::property::Property;
use crate::verify::search::{Watcher, search};

const TABLE: &str = "stagekeeper: 1
workflow: w
limits: { user_turns: 1, calls_per_step: 2 }
tools:
  ls: { effect: read }
  send: { effect: write, max_calls: 1, approval: always }
  rm: { effect: write }
facts: { ok: { from: result, tool: ls, match: OK } }
stages:
  look: { goal: Look., allowed_tools: [ls], max_steps: 3, requires: { ok: Look. }, leave_by: [answer, call] }
  act: { goal: Act., allowed_tools: [send, rm], max_steps: 2 }
  say: { goal: Say., allowed_tools: [ls], max_steps: 2 }
rules:
  - { name: not-that, at: call, tool: rm, when: call.args.x, deny: Not that. }
  - { name: longer, at: reply, when: \"'wait' in reply.text\", extend: { stage: say, steps: 1 } }
  - { name: back, at: result, tool: rm, when: result.error, goto: look }
guarantees:
  - at_most: { tool: send, times: 1 }
";

/// For mistakes that only show where nothing is merged.
const SMALL: &str = "stagekeeper: 1
workflow: w
limits: { user_turns: 1, calls_per_step: 2 }
tools: { send: { effect: write, max_calls: 1 } }
stages: { act: { goal: Act., allowed_tools: [send], max_steps: 4 } }
guarantees: [{ at_most: { tool: send, times: 1 } }]
";

/// Who finds a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// The exploration as `verify` does it.
    Proof(Property),
    /// The exploration with nothing merged, at so many calls a reply.
    Unmerged(Property, u8),
    /// The guards' own properties.
    Guards,
    /// What `testing::play` checks of every run.
    Law,
}

const MUTANTS: &[(Mutant, By)] = &[
    (Mutant::RefundingRollback, By::Proof(Property::Ceiling)),
    (Mutant::OffByOneBudget, By::Proof(Property::Ceiling)),
    (Mutant::FreeSilence, By::Proof(Property::Ceiling)),
    (Mutant::UnboundedExtension, By::Proof(Property::Ceiling)),
    (Mutant::LeaveByCallIntoSpent, By::Proof(Property::Ceiling)),
    (Mutant::GotoIntoSpent, By::Proof(Property::Ceiling)),
    (Mutant::ForbiddenOnLastStep, By::Proof(Property::InStage)),
    (Mutant::ClosingCallsRun, By::Proof(Property::InStage)),
    (Mutant::LostReservedStep, By::Proof(Property::Closing)),
    (Mutant::ApprovalSkipped, By::Proof(Property::Gates)),
    (Mutant::RequiresIgnoredOnExhaustion, By::Proof(Property::Gates)),
    (Mutant::OffByOneCalls, By::Proof(Property::Calls)),
    (Mutant::UnboundedRollbacks, By::Unmerged(Property::Rollbacks, 1)),
    (Mutant::DenySkippedFromSecondCall, By::Unmerged(Property::Gates, 2)),
    (Mutant::FailedCallsRefunded, By::Unmerged(Property::Guarantee(0), 1)),
    (Mutant::WriteKeepsMemory, By::Guards),
    (Mutant::EndlessCircle, By::Guards),
    (Mutant::LadderStartsAgain, By::Guards),
    (Mutant::DoubleAnswer, By::Law),
];

fn broken(table: &StageTable, precision: Precision, wanted: Property) -> bool {
    let plan = Plan::new(table, precision, true);
    let mut watcher = Watcher { max_states: 300_000, phase: "", progress: &mut |_| true };
    search::<Oracle>(&plan, &[wanted], &mut watcher).broken.iter().any(|v| v.property == wanted)
}

fn finds(by: By) -> bool {
    let parsed = |text| StageTable::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let table = &parsed(if matches!(by, By::Unmerged(Property::Guarantee(_), _)) { SMALL } else { TABLE });
    match by {
        By::Proof(property) => broken(table, Precision::PROOF, property),
        By::Unmerged(property, calls) => {
            broken(table, Precision { unmerged: true, calls: Some(calls), ..Precision::PROOF }, property)
        }
        By::Guards => !guards::wrong().is_empty(),
        By::Law => {
            let script = Script::new().call("ls", "{}").text("done");
            !play(table, "Do it.", script).broken.is_empty()
        }
    }
}

#[test]
fn every_mistake_of_the_engine_is_found() {
    for by in [By::Proof(Property::Ceiling), By::Unmerged(Property::Guarantee(0), 1), By::Law] {
        assert!(!finds(by), "{by:?} speaks of an engine without a mistake");
    }
    let missed: Vec<_> = MUTANTS.iter().filter(|(mutant, by)| !with(*mutant, || finds(*by))).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn the_engine_without_a_mistake_is_proved() {
    let table = StageTable::parse(TABLE).unwrap_or_else(|e| panic!("{e}"));
    let plan = Plan::new(&table, Precision::PROOF, true);
    let mut watcher = Watcher { max_states: 300_000, phase: "", progress: &mut |_| true };
    let found = search::<Oracle>(&plan, &Property::all(&table), &mut watcher);
    assert!(found.stopped.is_none() && found.broken.is_empty(), "{:?}", found.broken);
}
