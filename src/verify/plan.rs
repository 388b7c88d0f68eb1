//! What of a run a proof of this table has to keep apart, found from the table: which tools it treats alike, which
//! counters anything reads, which stages can still be entered.

use super::names::{self, Treatment};
use super::when::Evaluable;
use crate::engine::core::{Core, stage_of};
use crate::engine::guard::Identities;
use crate::engine::roster::{Roster, ToolIdx};
use crate::engine::view::ToolSpec;
use crate::table::model::{Action, FactFrom, Guarantee, Mode, Next, OnExhausted, Stage};
use crate::table::{FactId, RuleId, StageId, StageTable};
use indexmap::IndexSet;

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
}

impl Precision {
    /// Everything that matters, and nothing else.
    pub const PROOF: Self = Self { unmerged: false, fixed: false, most_left: None, calls: None, identities: 1 };
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
    /// By stage: the stages that can be entered from there, itself included.
    pub ahead: Vec<Vec<bool>>,
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
        let (specs, samples) = names::tools(table);
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
            Guarantee::Within { steps, .. } if *steps < ceiling => Some(steps + 1),
            _ => None,
        });
        let all = evaluated().any(reads_run) || precision.unmerged;
        let steps = if all { Some(u32::MAX) } else { within.max() };
        let ahead = ahead(table);
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
            ahead,
            aims: false,
            past: evaluated().any(|k| k.reads_past),
            known,
            learns: Vec::new(),
            many: Vec::new(),
            rows_end: stages().any(|s| s.guards.violations.then_end),
            roster,
            table: table.clone(),
        };
        plan.count_tools(&samples);
        plan.choose_tools();
        plan.look_ahead();
        plan.learns = plan.idx().map(|t| plan.learned_from(t)).collect();
        plan.aims = plan.place_of_results_matters();
        plan
    }

    fn idx(&self) -> impl Iterator<Item = ToolIdx> + use<> {
        (0..self.all_tools).filter_map(|t| u16::try_from(t).ok().map(ToolIdx))
    }

    fn count_tools(&mut self, samples: &[bool]) {
        let table = &self.table;
        let proven =
            table.stages.iter().any(|s| s.guards.conservative.mode == Mode::On && s.guards.conservative.proven);
        let awaited = |name: &str| {
            table.guarantees.iter().any(|g| matches!(g, Guarantee::Never { before, .. } if before.matches(name)))
        };
        let counts = |tool: ToolIdx| {
            let sample = samples.get(tool.index()).copied().unwrap_or(false);
            let most = self.roster.entry(table, tool).max_calls;
            // Another tool of the same pattern has a counter of its own: one sample stands for any number of them.
            most.filter(|_| !sample)
        };
        self.runs = self.idx().map(counts).collect();
        let promised = |name: &str| {
            table.guarantees.iter().any(|g| matches!(g, Guarantee::AtMost { tool, .. } if tool.matches(name)))
        };
        let many = |tool: ToolIdx| {
            let most = self.runs.get(tool.index()).copied().flatten();
            most.filter(|most| *most > MANY && !promised(&self.roster.name(tool)))
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
            if apart || classes.insert(names::treatment(&self.table, &self.roster, tool)) {
                chosen.push(tool);
            }
        }
        self.tools = chosen;
    }

    fn look_ahead(&mut self) {
        let table = &self.table;
        let here = |stages: &[bool], what: &dyn Fn(&Stage) -> bool| {
            table.stages.iter().zip(stages).any(|(stage, ahead)| *ahead && what(stage))
        };
        let tool_ahead = |stages: &[bool], tool: ToolIdx| here(stages, &|s| s.allowed.allows(&self.roster.name(tool)));
        self.tools_ahead =
            self.ahead.iter().map(|stages| self.idx().map(|t| tool_ahead(stages, t)).collect()).collect();
        let fact_ahead = |stages: &[bool], tools: &[bool], fact: FactId| {
            let needs = |requires: &[(FactId, crate::table::script::Text)]| requires.iter().any(|(f, _)| *f == fact);
            here(stages, &|s| needs(&s.requires))
                || self.idx().zip(tools).any(|(tool, ahead)| *ahead && needs(&self.roster.entry(table, tool).requires))
                || self.known.iter().flatten().any(|k| k.facts.contains(&fact))
        };
        let facts = || (0..table.facts.len()).filter_map(|f| u16::try_from(f).ok().map(FactId));
        self.facts_ahead = self
            .ahead
            .iter()
            .zip(&self.tools_ahead)
            .map(|(stages, tools)| facts().map(|f| fact_ahead(stages, tools, f)).collect())
            .collect();
    }

    /// Whether a result applied in one stage can differ from the same result applied in another.
    fn place_of_results_matters(&self) -> bool {
        let table = &self.table;
        if !table.stages.iter().any(|s| s.leave_by.call) {
            return false;
        }
        let stage_rule = |r: &crate::table::model::Rule| {
            r.at == crate::table::model::At::Result && (r.stage.is_some() || matches!(r.action, Action::Goto(_)))
        };
        let reads_stage =
            table.rules.iter().zip(&self.known).any(|(r, k)| r.at == crate::table::model::At::Result && k.is_some());
        let first = table.stages.first();
        let modes = |s: &Stage| (s.guards.no_progress, s.guards.errors);
        table.rules.iter().any(stage_rule)
            || reads_stage
            || table.stages.iter().any(|s| first.is_some_and(|f| modes(f) != modes(s)))
    }

    /// Whether the stage can be entered from there, or is it.
    pub fn is_ahead(&self, from: StageId, stage: StageId) -> bool {
        self.ahead.get(from.index()).and_then(|a| a.get(stage.index())).copied().unwrap_or(false)
    }

    /// Whether a condition is known: it is always so, or reads only what is kept.
    pub fn condition<W: Identities>(&self, core: &Core<W>, rule: RuleId) -> Option<bool> {
        if self.table.rules.get(rule.index()).is_none_or(|r| r.when.is_none()) {
            return Some(true);
        }
        let known = self.known.get(rule.index())?.as_ref()?;
        if (known.reads_stage || known.reads_run) && self.precision.most_left.is_some() {
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

/// The stages that can be entered, by stage: along `next`, when a budget is spent, by a rule, back from an aside.
fn ahead(table: &StageTable) -> Vec<Vec<bool>> {
    let count = table.stages.len();
    let id = |at: usize| StageId(u16::try_from(at).unwrap_or(u16::MAX));
    let mut leads: Vec<Vec<bool>> = (0..count).map(|_| vec![false; count]).collect();
    let mut lead = |from: usize, to: StageId| {
        if let Some(place) = leads.get_mut(from).and_then(|l| l.get_mut(to.index())) {
            *place = true;
        }
    };
    for (at, stage) in table.stages.iter().enumerate() {
        if let Next::Stage(to) = stage.next {
            lead(at, to);
        }
        if let OnExhausted::Stage(to) = stage.on_exhausted {
            lead(at, to);
        }
        for rule in &table.rules {
            if let Action::Goto(to) = rule.action
                && rule.stage.is_none_or(|s| s == id(at))
            {
                lead(at, to);
            }
        }
        lead(at, id(at));
    }
    close(&mut leads);
    // An aside that goes back leads to every stage from which it can be entered.
    let backs: Vec<usize> =
        (0..count).filter(|at| stage_of(table, id(*at)).is_some_and(|s| s.next == Next::Back)).collect();
    for back in backs {
        for from in 0..count {
            let enters = leads.get(from).and_then(|l| l.get(back)).copied().unwrap_or(false);
            if let Some(place) = leads.get_mut(back).and_then(|l| l.get_mut(from)) {
                *place |= enters;
            }
        }
        close(&mut leads);
    }
    leads
}

/// The transitive closure.
fn close(leads: &mut [Vec<bool>]) {
    for through in 0..leads.len() {
        let Some(onward) = leads.get(through).cloned() else { continue };
        for row in leads.iter_mut() {
            if row.get(through).copied().unwrap_or(false) {
                for (place, leads) in row.iter_mut().zip(&onward) {
                    *place |= *leads;
                }
            }
        }
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
