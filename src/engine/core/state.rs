//! What is kept of a run.

use super::{Closing, Context, Note, ReplyState, ToolState};
use crate::engine::bound::Bound;
use crate::engine::guard::same_tool::Streak;
use crate::engine::guard::{Identities, Watch};
use crate::engine::life::Life;
use crate::engine::mutant::{self, Mutant};
use crate::engine::past::Past;
use crate::engine::roster::ToolIdx;
use crate::engine::settle::By;
use crate::table::model::{OnExhausted, Stage};
use crate::table::{FactId, Model, RuleId, StageId};
use serde_json::Value;

/// The value that decides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Core<W = Watch> {
    /// Where the run stands in its life.
    pub life: Life,
    /// The current stage.
    pub stage: StageId,
    pub(crate) spent: Vec<u32>,
    pub(crate) widened: Vec<u32>,
    /// Steps that people granted, in all.
    pub(crate) granted: u32,
    pub(crate) entered: Vec<u32>,
    pub(crate) stage_calls: Vec<u32>,
    pub(crate) came_from: Vec<(StageId, StageId)>,
    pub(crate) retried: Vec<StageId>,
    pub(crate) extended: Vec<RuleId>,
    /// Steps charged.
    pub steps: u32,
    /// Calls judged *run*.
    pub calls: u32,
    pub(crate) tools: Vec<ToolState>,
    /// The facts by id.
    pub facts: Vec<Option<Value>>,
    /// Violations in replies, in a row.
    pub violations_in_a_row: u32,
    /// Violations in calls.
    pub violations: u32,
    /// Rollbacks so far.
    pub rollbacks: u32,
    /// The last reply was silent.
    pub(crate) silent: bool,
    /// The model was told once that nothing has been looked at yet.
    pub(crate) nudged: bool,
    /// Something ran, or was answered from memory, since the stage was entered.
    pub(crate) ran_here: bool,
    /// What ran, for conditions.
    pub past: Past,
    /// The identity guards.
    pub watch: W,
    pub(crate) streak: Streak,
    /// Input and output tokens.
    pub tokens: (u64, u64),
    pub(crate) cost_micros: u64,
    pub(crate) time_ms: u64,
    pub(crate) user_turns: u32,
    /// The run is closing.
    pub closing: Option<Closing>,
    /// The view was shortened once because it did not fit.
    pub(crate) shortened: bool,
    /// A stage that a person has to admit the run to, and how it was to be entered.
    pub admission: Option<(StageId, By)>,
    pub(crate) cancelled: bool,
    /// The reply under way.
    pub reply: ReplyState,
    /// What to make events of, taken by the session.
    pub notes: Vec<Note>,
    /// What the runs above leave to it, in a nested run.
    pub bound: Option<Box<Bound>>,
}

impl<W: Identities> Core<W> {
    /// A run before its first stage.
    #[must_use]
    pub fn new(table: &Model, watch: W) -> Self {
        let stages = table.stages.len();
        Self {
            life: Life::begin(),
            stage: StageId(0),
            spent: vec![0; stages],
            widened: vec![0; stages],
            granted: 0,
            entered: vec![0; stages],
            stage_calls: vec![0; stages],
            came_from: Vec::new(),
            retried: Vec::new(),
            extended: Vec::new(),
            steps: 0,
            calls: 0,
            tools: Vec::new(),
            facts: vec![None; table.facts.len()],
            violations_in_a_row: 0,
            violations: 0,
            rollbacks: 0,
            silent: false,
            nudged: false,
            ran_here: false,
            past: Past::default(),
            watch,
            streak: Streak::default(),
            tokens: (0, 0),
            cost_micros: 0,
            time_ms: 0,
            user_turns: 0,
            closing: None,
            shortened: false,
            admission: None,
            cancelled: false,
            reply: ReplyState::default(),
            notes: Vec::new(),
            bound: None,
        }
    }

    /// The stage's steps, extensions included.
    #[must_use]
    pub fn budget(&self, table: &Model, stage: StageId) -> u32 {
        stage_of(table, stage).map_or(0, Stage::budget).saturating_add(at(&self.widened, stage.index()))
    }

    /// Steps left in a stage. In a nested run no more than its grant leaves, of which one is kept for a final stage.
    #[must_use]
    pub fn left(&self, table: &Model, stage: StageId) -> u32 {
        let own = self.budget(table, stage).saturating_sub(at(&self.spent, stage.index()));
        let Some(granted) = self.granted_left() else { return own };
        let kept = u32::from(!stage_of(table, stage).is_some_and(Stage::is_final));
        own.min(granted.saturating_sub(kept))
    }

    /// Steps charged to a stage.
    #[must_use]
    pub fn spent_in(&self, stage: StageId) -> u32 {
        at(&self.spent, stage.index())
    }

    /// How often a stage was entered.
    #[must_use]
    pub fn times_entered(&self, stage: StageId) -> u32 {
        at(&self.entered, stage.index())
    }

    /// What is known of a tool.
    #[must_use]
    pub fn tool(&self, tool: ToolIdx) -> ToolState {
        self.tools.get(tool.index()).cloned().unwrap_or_default()
    }

    pub(in crate::engine) fn tool_mut(&mut self, tool: ToolIdx) -> Option<&mut ToolState> {
        if self.tools.len() <= tool.index() {
            self.tools.resize(tool.index() + 1, ToolState::default());
        }
        self.tools.get_mut(tool.index())
    }

    /// The requirements of `requires` that do not hold for a call judged now, as indices.
    #[must_use]
    pub fn missing<T>(&self, requires: &[(FactId, T)]) -> Vec<usize> {
        self.unmet(requires, |fact| self.reply.unsure.contains(&fact))
    }

    /// The requirements of `requires` that do not hold for a call that is about to run: what ran before it is known.
    #[must_use]
    pub fn missing_at_start<T>(&self, requires: &[(FactId, T)]) -> Vec<usize> {
        self.unmet(requires, |_| false)
    }

    fn unmet<T>(&self, requires: &[(FactId, T)], unsure: impl Fn(FactId) -> bool) -> Vec<usize> {
        let holds = |fact: FactId| self.facts.get(fact.index()).is_some_and(|v| v.as_ref().is_some_and(is_true));
        let unmet = requires.iter().enumerate().filter(|(_, (fact, _))| unsure(*fact) || !holds(*fact));
        unmet.map(|(i, _)| i).collect()
    }

    /// Whether the next request is for the answer alone: the run is closing, or this is the last step of a final stage.
    #[must_use]
    pub fn is_closing_request(&self, table: &Model) -> bool {
        self.closing.is_some() || self.is_last_final_step(table)
    }

    fn is_last_final_step(&self, table: &Model) -> bool {
        if mutant::on(Mutant::LostReservedStep) {
            return false;
        }
        let Some(stage) = stage_of(table, self.stage) else { return true };
        let goes_elsewhere = matches!(stage.on_exhausted, OnExhausted::Stage(s) if self.left(table, s) > 0);
        stage.is_final() && self.left(table, self.stage) <= 1 && !goes_elsewhere
    }

    /// The current stage.
    #[must_use]
    pub fn stage_in<'a>(&self, cx: Context<'a>) -> Option<&'a Stage> {
        stage_of(cx.table, self.stage)
    }
}

/// The element, or the type's zero.
pub(in crate::engine) fn at(list: &[u32], index: usize) -> u32 {
    list.get(index).copied().unwrap_or_default()
}

/// A stage by id.
#[must_use]
pub fn stage_of(table: &Model, stage: StageId) -> Option<&Stage> {
    table.stages.get(stage.index())
}

/// Whether a fact's value satisfies a requirement: `false`, `null`, empty texts and empty lists do not.
#[must_use]
pub fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(b) => *b,
        Value::Number(n) => n.as_f64() != Some(0.0),
        Value::String(s) => !s.is_empty(),
        Value::Array(a) => !a.is_empty(),
        Value::Object(o) => !o.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the system knows how much memory is used")]
    fn a_core_takes_less_than_4_kb_after_15_calls() {
        use crate::engine::input::{ProposedCall, Reply, ToolResult};
        use crate::engine::verdict::Verdict;
        use crate::{Session, StageTable};

        const COPIES: usize = 20_000;
        let pages = || -> usize {
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            statm.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        let table = StageTable::guards_only(20);
        let mut session = Session::start(&table, "Look.");
        for n in 0..15 {
            let call = ProposedCall::new("c", "look", format!("{{\"n\":{n}}}"));
            for ruling in session.judge(Reply::calls(vec![call])) {
                let Verdict::Run(ticket) = ruling.verdict else { panic!("it runs") };
                session.finish(ticket, ToolResult::ok(format!("result {n}")));
            }
        }
        let before = pages();
        let copies = vec![session.core().clone(); COPIES];
        let bytes = (pages() - before) * 4096 / copies.len();
        println!("a core after 15 calls: {bytes} bytes");
        assert!((100..4096).contains(&bytes), "{bytes}");
    }
}
