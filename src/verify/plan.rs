//! What of a run a proof of this table has to keep apart, found from the table: which tools it treats alike, which
//! counters anything reads, which stages can still be entered.

use super::ahead::Ahead;
use super::below;
use super::names::{self, Tools, Treatment};
use super::when::Evaluable;
use crate::engine::core::Core;
use crate::engine::guard::Identities;
use crate::engine::roster::{Roster, ToolIdx};
use crate::engine::view::ToolSpec;
use crate::table::model::{Action, Allowed, At, FactFrom, FactValue, Guarantee, Keep, Mode, Spend, Stage};
use crate::table::{FactId, RuleId, StageId, StageTable};
use indexmap::IndexSet;
use std::collections::HashMap;

/// Steps of one grant at most, as far as grants are explored.
pub const GRANT: u32 = 3;
/// Calls left of a tool that count as "many", where no guarantee counts them.
pub const MANY: u32 = 2;

/// How much a proof keeps apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// Nothing is merged but equal states: for comparing with what is merged, and for counterexamples.
    pub unmerged: bool,
    /// Conditions keep one value through a run, as `assume` in a scenario does.
    pub fixed: bool,
    /// Steps left in a stage beyond this many count as "more"; `None` counts all.
    pub most_left: Option<u32>,
    /// Most calls of one reply; `None` bounds nothing.
    pub calls: Option<u8>,
    /// Different calls of one tool; read only by the exact guards.
    pub identities: u8,
    /// Grants of steps in one run at most.
    pub grants: u32,
}

impl Precision {
    /// Everything that matters, and nothing else.
    pub const PROOF: Self =
        Self { unmerged: false, fixed: false, most_left: None, calls: None, identities: 1, grants: 0 };
}

/// The plan of one search.
#[derive(Debug)]
pub struct Plan {
    pub table: StageTable,
    pub roster: Roster,
    pub precision: Precision,
    /// One tool of each class, and all where they must be told apart.
    pub tools: Vec<ToolIdx>,
    /// How many tools there are.
    pub all_tools: usize,
    /// By tool: it stands for any number of names (see [`names::tools`]).
    samples: Vec<bool>,
    /// Every name that a host could offer is treated like one of the tools.
    pub all_names: bool,
    /// By tool that is a nested run: the calls it may make of what each guarantee speaks of (see [`below::calls`]).
    below: HashMap<ToolIdx, Vec<u32>>,
    /// `max_calls` of a tool; `None` = its calls are not counted.
    pub runs: Vec<Option<u32>>,
    /// Failures in a row are counted.
    pub fails: bool,
    /// Whether a tool succeeded is kept.
    pub succeeded: Vec<bool>,
    /// Steps of the run are counted, up to this many.
    pub steps: Option<u32>,
    /// Calls of one reply are counted.
    pub running: bool,
    pub streak: bool,
    /// Row and rollbacks beyond which nothing changes.
    pub row: u32,
    pub rollbacks: u32,
    ahead: Ahead,
    /// By stage: the tools it allows.
    pub allowed: Vec<Vec<bool>>,
    /// By stage: the facts that anything ahead reads.
    pub facts_ahead: Vec<Vec<bool>>,
    /// By stage: the tools that can be called ahead.
    pub tools_ahead: Vec<Vec<bool>>,
    /// Results are applied in the stage the reply ends in, and which that is makes a difference.
    pub aims: bool,
    /// Conditions that are evaluated, by rule.
    pub known: Vec<Option<Evaluable>>,
    /// Calls are remembered for conditions.
    pub past: bool,
    /// By tool: `max_calls`, where it is large and no guarantee counts.
    pub many: Vec<Option<u32>>,
    /// By tool: the facts its results set, and whether they clear any.
    pub learns: Vec<(Vec<FactId>, bool)>,
    /// A row of violations closes the run, in some stage.
    pub rows_end: bool,
}

impl Plan {
    /// `oracle`: consequences of the identity guards come at any time, so that those of `errors` need no counting.
    pub fn new(table: &StageTable, precision: Precision, oracle: bool) -> Self {
        let Tools { specs, samples, complete: all_names } = names::tools(table);
        let all_tools = specs.len();
        let roster = Roster::new(table, Some(specs), ToolSpec::named(crate::engine::roster::ADVANCE));
        let known: Vec<Option<Evaluable>> =
            table.rules.iter().map(|r| r.when.as_ref().and_then(|w| Evaluable::new(table, w))).collect();
        let stages = || table.stages.iter();
        let errors_count = stages().any(|s| s.guards.errors.mode == Mode::On);
        let subsumed = oracle && stages().all(|s| s.guards.no_progress.mode == Mode::On);
        let reads_run = |k: &Evaluable| k.reads_run;
        let evaluated = || known.iter().flatten();
        let ceiling = table.ceiling();
        let within = table.guarantees.iter().filter_map(|g| match g {
            Guarantee::Within { steps, .. } if *steps < ceiling => {
                Some(steps.saturating_add(1).saturating_add(precision.grants.saturating_mul(GRANT)))
            }
            _ => None,
        });
        let all = evaluated().any(reads_run) || precision.unmerged;
        let steps = if all { Some(u32::MAX) } else { within.max() };
        // A person's grant may enter any stage.
        let ahead = Ahead::new(table, precision.grants > 0);
        let idx = (0..all_tools).filter_map(|t| u16::try_from(t).ok().map(ToolIdx));
        let nested = idx.filter_map(|tool| Some((tool, roster.entry(table, tool).nested.as_ref()?)));
        let below = nested.map(|(tool, nested)| (tool, below::calls(table, nested))).collect();
        let mut plan = Self {
            precision,
            tools: Vec::new(),
            all_tools,
            runs: Vec::new(),
            fails: errors_count && !subsumed,
            succeeded: Vec::new(),
            steps,
            running: false,
            streak: stages().any(|s| s.guards.same_tool.mode == Mode::On),
            row: stages().map(|s| s.guards.violations.in_a_row).max().unwrap_or(0),
            rollbacks: stages().map(|s| s.guards.violations.max_rollbacks).max().unwrap_or(0),
            facts_ahead: Vec::new(),
            tools_ahead: Vec::new(),
            allowed: allowed(table, &roster),
            ahead,
            samples,
            all_names,
            below,
            aims: false,
            past: evaluated().any(|k| !k.tools.is_empty()),
            known,
            learns: Vec::new(),
            many: Vec::new(),
            rows_end: stages().any(|s| s.guards.violations.then_end),
            roster,
            table: table.clone(),
        };
        plan.count_tools();
        plan.choose_tools();
        plan.look_ahead();
        plan.learns = plan.idx().map(|t| plan.learned_from(t)).collect();
        plan.aims = plan.place_of_results_matters();
        plan
    }

    fn idx(&self) -> impl Iterator<Item = ToolIdx> + use<> {
        (0..self.all_tools).filter_map(|t| u16::try_from(t).ok().map(ToolIdx))
    }

    /// Whether a tool stands for any number of names.
    pub fn is_sample(&self, tool: ToolIdx) -> bool {
        self.samples.get(tool.index()).copied().unwrap_or(false)
    }

    /// Calls of what a guarantee speaks of that start with a call of this tool, in a nested run.
    pub fn calls_below(&self, tool: ToolIdx, guarantee: usize) -> u32 {
        self.below.get(&tool).and_then(|calls| calls.get(guarantee)).copied().unwrap_or(0)
    }

    fn count_tools(&mut self) {
        let table = &self.table;
        let proven =
            table.stages.iter().any(|s| s.guards.conservative.mode == Mode::On && s.guards.conservative.proven);
        let awaited = |name: &str| {
            table.guarantees.iter().any(|g| matches!(g, Guarantee::Never { before, .. } if before.matches(name)))
        };
        let counts = |tool: ToolIdx| {
            // Another tool of the same pattern has a counter of its own: one sample stands for any number of them.
            self.roster.entry(table, tool).max_calls.filter(|_| !self.is_sample(tool))
        };
        self.runs = self.idx().map(counts).collect();
        let promised = |counted: ToolIdx| {
            let name = self.roster.name(counted);
            table.guarantees.iter().enumerate().any(|(at, g)| {
                matches!(g, Guarantee::AtMost { tool, .. } if tool.matches(&name) || self.calls_below(counted, at) > 0)
            })
        };
        let many = |tool: ToolIdx| {
            let most = self.runs.get(tool.index()).copied().flatten();
            most.filter(|most| *most > MANY && !promised(tool))
        };
        let many = self.idx().map(many).collect();
        self.many = many;
        self.succeeded = self.idx().map(|t| proven || awaited(&self.roster.name(t))).collect();
        let per_step = table.limits.calls_per_step;
        self.running = table.guarantees.iter().any(|g| match g {
            Guarantee::AtMost { tool, times } => {
                let limited = self.idx().filter(|t| tool.matches(&self.roster.name(*t)));
                let mut most = limited.map(|t| self.runs.get(t.index()).copied().flatten());
                *times >= per_step && most.try_fold(0, |sum, m| Some(sum + m?)).is_none_or(|m| m > *times)
            }
            _ => false,
        });
    }

    fn choose_tools(&mut self) {
        let mut classes: IndexSet<Treatment> = IndexSet::new();
        let told_apart = self.precision.unmerged || self.streak || self.fails;
        let mut chosen = Vec::new();
        for tool in self.idx() {
            let counted = self.runs.get(tool.index()).copied().flatten().is_some();
            let kept = self.succeeded.get(tool.index()).copied().unwrap_or(false);
            let apart = told_apart || counted || kept || self.past;
            if apart || classes.insert(names::treatment(self, tool)) {
                chosen.push(tool);
            }
        }
        self.tools = chosen;
    }

    fn look_ahead(&mut self) {
        let table = &self.table;
        self.tools_ahead = self.ahead.any(self.allowed.clone());
        let facts = || (0..table.facts.len()).filter_map(|f| u16::try_from(f).ok().map(FactId));
        let gated: Vec<(ToolIdx, Vec<FactId>)> = self
            .idx()
            .map(|tool| (tool, self.roster.entry(table, tool).requires.iter().map(|r| r.0).collect()))
            .filter(|(_, requires): &(ToolIdx, Vec<FactId>)| !requires.is_empty())
            .collect();
        let asked = |fact: FactId| self.known.iter().flatten().any(|k| k.facts.contains(&fact));
        let read = |(stage, allowed): (&Stage, &Vec<bool>)| {
            let by_tool = |fact| {
                gated.iter().any(|(tool, requires)| {
                    requires.contains(&fact) && allowed.get(tool.index()).copied().unwrap_or(false)
                })
            };
            facts().map(|f| stage.requires.iter().any(|r| r.0 == f) || by_tool(f) || asked(f)).collect()
        };
        self.facts_ahead = self.ahead.any(table.stages.iter().zip(&self.allowed).map(read).collect());
    }

    /// Whether a result applied in one stage can differ from the same result applied in another.
    fn place_of_results_matters(&self) -> bool {
        let table = &self.table;
        if !table.stages.iter().any(|s| s.leave_by.call) {
            return false;
        }
        let stage_rule = |r: &crate::table::model::Rule| {
            r.at == At::Result && (r.stage.is_some() || matches!(r.action, Action::Goto(_)))
        };
        let reads_stage = table.rules.iter().zip(&self.known).any(|(r, k)| r.at == At::Result && k.is_some());
        let first = table.stages.first();
        let modes = |s: &Stage| (s.guards.no_progress, s.guards.errors);
        table.rules.iter().any(stage_rule)
            || reads_stage
            || table.stages.iter().any(|s| first.is_some_and(|f| modes(f) != modes(s)))
    }

    /// Whether the stage can be entered from there, or is it.
    pub fn is_ahead(&self, from: StageId, stage: StageId) -> bool {
        self.ahead.stages.get(from.index()).and_then(|a| a.get(stage.index())).copied().unwrap_or(false)
    }

    /// Whether a condition is known: it is always so, or reads only what is kept.
    pub fn condition<W: Identities>(&self, core: &Core<W>, rule: RuleId) -> Option<bool> {
        if self.table.rules.get(rule.index()).is_none_or(|r| r.when.is_none()) {
            return Some(true);
        }
        let known = self.known.get(rule.index())?.as_ref()?;
        let steps = known.reads_stage || known.reads_run;
        // What a nested run spent is charged here when the reply settles, in a run before the rules of its result.
        let late = self.table.rules.get(rule.index()).is_some_and(|r| r.at == At::Result)
            && self.table.tools.iter().any(|t| t.nested.as_ref().is_some_and(|n| n.spend == Spend::Parent));
        if steps && (late || self.precision.most_left.is_some()) {
            return None;
        }
        known.holds(&self.table, core)
    }

    /// What the facts learn from: the ids that come from results of this tool.
    fn learned_from(&self, tool: ToolIdx) -> (Vec<FactId>, bool) {
        let name = self.roster.name(tool);
        let sets =
            self.facts_from(|from| matches!(from, FactFrom::Result(tools) if tools.iter().any(|p| p.matches(&name))));
        (sets, self.table.facts.iter().any(|f| f.cleared_by.iter().any(|p| p.matches(&name))))
    }

    /// Whether what a fact is learned from may give it a value that does not hold: an empty text, a `false`.
    pub fn may_be_false(&self, fact: FactId) -> bool {
        self.table.facts.get(fact.index()).is_some_and(|decl| match &decl.value {
            _ if decl.keep != Keep::Last => false,
            FactValue::Match(regex) => {
                regex.captures_len() > 1 || ["", "a", "a b"].iter().any(|t| regex.find_iter(t).any(|m| m.is_empty()))
            }
            FactValue::Whole | FactValue::Value(_) => true,
        })
    }

    /// The facts of one origin.
    pub fn facts_from(&self, of: impl Fn(&FactFrom) -> bool) -> Vec<FactId> {
        let facts = self.table.facts.iter().enumerate().filter(|(_, f)| of(&f.from));
        facts.filter_map(|(i, _)| u16::try_from(i).ok().map(FactId)).collect()
    }

    /// Whether a fact is read by anything from this stage on.
    pub fn reads_fact(&self, from: StageId, fact: FactId) -> bool {
        self.precision.unmerged
            || self.facts_ahead.get(from.index()).and_then(|f| f.get(fact.index())).copied().unwrap_or(false)
    }

    /// Whether a tool can still be called.
    pub fn calls_tool(&self, from: StageId, tool: usize) -> bool {
        self.precision.unmerged
            || self.tools_ahead.get(from.index()).and_then(|t| t.get(tool)).copied().unwrap_or(false)
    }
}

impl Plan {
    /// `max_calls` of a tool whose calls are counted no further than that one is left, or many.
    pub fn many_calls(&self, tool: ToolIdx) -> Option<u32> {
        if self.precision.unmerged || self.precision.fixed {
            return None;
        }
        self.many.get(tool.index()).copied().flatten()
    }

    /// The longest row of one tool that anything reads.
    pub fn most_in_a_row(&self) -> u32 {
        self.table.stages.iter().map(|s| s.guards.same_tool.in_a_row).max().unwrap_or(0)
    }

    /// Whether a row of violations does nothing but roll back, in every stage.
    pub fn rows_only_roll_back(&self) -> bool {
        self.table.stages.iter().all(|s| {
            let guard = s.guards.violations;
            guard.mode != Mode::On || (!guard.then_end && guard.max_rollbacks == self.rollbacks)
        })
    }

    /// Whether a stage nudges a model that answers before anything was looked at.
    pub fn nudges(&self, stage: StageId) -> bool {
        self.table
            .stages
            .get(stage.index())
            .is_some_and(|s| !s.conversation && !s.is_final() && !s.allowed.is_none() && s.leave_by.answer)
    }
}

/// By stage: the tools it allows.
fn allowed(table: &StageTable, roster: &Roster) -> Vec<Vec<bool>> {
    let names: Vec<_> =
        (0..roster.len()).filter_map(|t| u16::try_from(t).ok().map(|t| roster.name(ToolIdx(t)))).collect();
    let places: HashMap<&str, usize> = names.iter().zip(0..).map(|(name, at)| (&**name, at)).collect();
    let of = |stage: &Stage| {
        let Allowed::These { list, exact } = &stage.allowed else { return vec![true; names.len()] };
        let open: Vec<_> = list.iter().filter(|p| !p.is_exact()).collect();
        let mut row: Vec<bool> = names.iter().map(|name| open.iter().any(|p| p.matches(name))).collect();
        for at in exact.iter().filter_map(|name| places.get(&**name)) {
            row.get_mut(*at).into_iter().for_each(|allows| *allows = true);
        }
        row
    };
    table.stages.iter().map(of).collect()
}
