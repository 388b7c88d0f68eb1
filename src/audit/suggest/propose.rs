//! Candidates for the table: each a few lines of YAML that load when merged in. Which of them help is weighed later.

use super::effects::{ACTING_NOTE, Effects, MIN_CHANGE_PAIRS, MIN_READ_PAIRS, MIN_READ_RUNS, MIN_WRITE_PAIRS};
use super::effects::{Seems, ToolSeen};
use super::evidence::{ArgSeen, ToolEvidence};
use super::gather::Gathered;
use super::loops::{LoopFound, LoopKind};
use super::near::{NearLimit, acting_next};
use super::spent::{BudgetFigure, Formula, Histogram, MIN_SUCCESSES};
use crate::table::StageTable;
use crate::table::model::{Allowed, Effect, Stage};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Most candidates that are weighed.
pub const MAX_CANDIDATES: usize = 60;
/// Pairs of calls that differ in one argument alone and brought the same result that make it a mere label.
pub const MIN_ARG_PAIRS: u64 = 5;
/// Runs they have to stand in.
pub const MIN_ARG_RUNS: u64 = 3;
/// Equal calls whose results differ only in what a mask takes out that make a mask worth while.
pub const MIN_MASK_PAIRS: u64 = 5;
/// Runs they have to stand in.
pub const MIN_MASK_RUNS: u64 = 2;
/// Characters of a line of a comment.
const WIDTH: usize = 100;
/// Most arguments of a tool that a rule compares.
const MAX_RULE_ARGS: usize = 6;
/// Fewest calls a rule lets run.
const LEAST: u32 = 2;
/// The names of the masks, as evidence counts them.
const MASKS: [&str; 3] = ["[uuid]", "[timestamp]", "[uuid, timestamp]"];

/// What a proposal changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What a tool does to the world.
    Effect,
    /// Arguments that do not count.
    IgnoreArgs,
    /// Parts of results that do not count.
    Mask,
    /// Steps or calls.
    Budget,
    /// Against a loop.
    Rule,
    /// A way out of a stage.
    Exit,
}

/// A change of the table that is to be weighed.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub(super) kind: Kind,
    pub(super) about: String,
    pub(super) yaml: String,
    /// Only runs that use this tool can change.
    pub(super) tool: Option<String>,
    pub(super) table: StageTable,
}

/// Makes candidates out of what was gathered.
pub(super) struct Proposer<'g> {
    pub(super) table: &'g StageTable,
    pub(super) gathered: &'g Gathered,
    pub(super) made: Vec<Candidate>,
}

impl Proposer<'_> {
    /// Adds a candidate whose YAML loads when it is merged in.
    fn add(&mut self, kind: Kind, tool: Option<&str>, about: String, why: &str, body: &str) {
        if self.made.len() >= MAX_CANDIDATES {
            return;
        }
        let yaml = comment(why) + body;
        if let Ok(table) = self.table.merged(&yaml) {
            self.made.push(Candidate { kind, about, yaml, tool: tool.map(str::to_owned), table });
        }
    }

    /// The entry of a tool, with what an empty catalogue needs beside it.
    fn tool_yaml(&self, tool: &str, words: &str) -> String {
        let mut yaml = format!("tools:\n  {}: {{ {words} }}\n", quoted(tool));
        if self.table.tools.is_empty() {
            // A catalogue that is not empty has to name every tool that the stages name.
            let named = self.table.stages().iter().flat_map(|stage| match &stage.allowed {
                Allowed::All => &[][..],
                Allowed::These { list, .. } => list,
            });
            let others: BTreeSet<&str> = named.map(|name| name.as_str()).filter(|name| *name != tool).collect();
            for other in others {
                let _ = writeln!(yaml, "  {}: {{ effect: stateful }}", quoted(other));
            }
        }
        yaml
    }

    /// Whether an entry of its own would take the tool out of a pattern that says something of it.
    fn is_by_pattern(&self, tool: &str) -> bool {
        let entry = self.table.tool_entry(tool).filter(|entry| !entry.name.is_exact());
        entry.is_some_and(|entry| entry.name.as_str() != "*" || entry.effect != Effect::Stateful)
    }

    pub(super) fn effects(&mut self, effects: &Effects, tools: &[ToolSeen]) {
        for seen in tools.iter().filter(|seen| seen.declared.is_none()) {
            let Some(evidence) = self.gathered.evidence.0.get(&seen.tool) else { continue };
            let why = match seen.seems {
                Seems::Read => format!(
                    "{} equal calls in {} runs gave the same result although other calls ran between them (wanted: {MIN_READ_PAIRS} in \
                     {MIN_READ_RUNS}), none another by itself; {ACTING_NOTE}",
                    evidence.kept.pairs, evidence.kept.runs
                ),
                Seems::Write => format!(
                    "{} answers of tools that read were others after calls of this tool and no other that may write (wanted: {MIN_WRITE_PAIRS})",
                    effects.writes.get(&seen.tool).map_or(0, |pairs| pairs.pairs)
                ),
                Seems::Poll => format!(
                    "{} equal calls one after the other gave another result (wanted: {MIN_CHANGE_PAIRS}), {} the same: it is waited for",
                    evidence.alone.pairs, evidence.kept_at_once.pairs
                ),
                Seems::Stateful | Seems::Unknown => continue,
            };
            let mut words = format!("effect: {}", seen.seems.as_str());
            if let Some((mask, _)) = mask(evidence) {
                let _ = write!(words, ", mask: {mask}");
            }
            let about = format!("`{}` seems to be `effect: {}`", seen.tool, seen.seems.as_str());
            let yaml = self.tool_yaml(&seen.tool, &words);
            self.add(Kind::Effect, Some(&seen.tool), about, &why, &yaml);
        }
    }

    pub(super) fn decoration(&mut self) {
        let gathered = self.gathered;
        for (tool, seen) in &gathered.evidence.0 {
            if self.is_by_pattern(tool) {
                continue;
            }
            for (arg, pairs) in seen.args.iter().filter(|(_, pairs)| is_label(seen, pairs)) {
                let why = format!(
                    "in {} pairs of calls in {} runs that differ in `{arg}` alone the result was the same, in none another (wanted: \
                     {MIN_ARG_PAIRS} in {MIN_ARG_RUNS}); of pairs that differ elsewhere {} of {} differ",
                    pairs.same.pairs,
                    pairs.same.runs,
                    seen.differs.pairs,
                    seen.differs.pairs + seen.differs_not.pairs - pairs.same.pairs,
                );
                let yaml = self.tool_yaml(tool, &format!("ignore_args: [{}]", quoted(arg)));
                self.add(Kind::IgnoreArgs, Some(tool), format!("`{arg}` of `{tool}` is mere decoration"), &why, &yaml);
            }
            if let Some((mask, pairs)) = mask(seen) {
                let why = format!(
                    "{} pairs of equal calls in {} runs differ only in what this takes out of the result (wanted: {MIN_MASK_PAIRS} in \
                     {MIN_MASK_RUNS})",
                    pairs.0, pairs.1
                );
                let yaml = self.tool_yaml(tool, &format!("mask: {mask}"));
                self.add(Kind::Mask, Some(tool), format!("results of `{tool}` carry fresh ids or times"), &why, &yaml);
            }
        }
    }

    pub(super) fn budgets(&mut self, figures: &[BudgetFigure]) {
        for formula in Formula::ALL {
            let staged: Vec<&BudgetFigure> = figures.iter().filter(|figure| figure.stage.is_some()).collect();
            if !staged.is_empty() {
                self.budget(formula, &staged);
            }
            figures.iter().filter(|figure| figure.stage.is_none()).for_each(|figure| self.budget(formula, &[figure]));
        }
    }

    fn budget(&mut self, formula: Formula, figures: &[&BudgetFigure]) {
        let mut yaml = String::from("stages:\n");
        let mut cut = Vec::new();
        for figure in figures {
            let (budget, above) = figure.by(formula);
            cut.push(format!("{above} of {}", figure.successes));
            match (&figure.stage, self.table.stages()) {
                (Some(stage), _) => drop(writeln!(yaml, "  {}: {{ max_steps: {budget} }}", quoted(stage))),
                (None, [only]) => drop(writeln!(yaml, "  {}: {{ max_steps: {budget} }}", quoted(&only.name))),
                (None, _) => yaml = format!("limits: {{ max_calls: {budget} }}\n"),
            }
        }
        let weak = if figures.iter().any(|figure| figure.weak) { "; so few runs make this weak" } else { "" };
        let unit = figures.first().map_or("steps", |figure| figure.unit);
        let why = format!(
            "{} of the {unit} that successful runs spent; good runs that spent more: {}{weak}",
            formula.words(),
            cut.join(", ")
        );
        self.add(Kind::Budget, None, format!("a budget of {}", formula.words()), &why, &yaml);
    }

    pub(super) fn rules(&mut self, loops: &[LoopFound]) {
        let same = |kind| matches!(kind, LoopKind::Repeat | LoopKind::Cycle | LoopKind::NoProgress);
        let tools: BTreeSet<&String> =
            loops.iter().filter(|found| same(found.kind)).flat_map(|found| &found.tools).collect();
        for tool in tools {
            self.same_call(tool);
        }
        let all: BTreeSet<&String> = loops.iter().flat_map(|found| &found.tools).collect();
        for tool in all {
            self.max_calls(tool);
        }
        self.sooner();
    }

    /// A rule against the very same call, where no successful run needed it so often.
    fn same_call(&mut self, tool: &str) {
        let gathered = self.gathered;
        let Some(seen) = gathered.evidence.0.get(tool) else { return };
        let [good, other] = seen.most_same;
        let most = good.max(LEAST);
        let Some(keys) = seen.keys.as_ref().filter(|keys| !seen.keys_vary && keys.len() <= MAX_RULE_ARGS) else {
            return;
        };
        if other <= most || gathered.runs.successful == 0 || !keys.iter().all(|key| is_word(key) && key != "tool") {
            return;
        }
        let args: String = keys.iter().map(|key| format!(", {key}=call.args.{key}")).collect();
        let times = format!("times({}{args}) >= {most}", single_quoted(tool));
        let deny =
            format!("This very call was made {most} times already. Use what it returned, or try something else.");
        let name: String =
            tool.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
        let yaml = format!(
            "rules:\n  - name: {}\n    at: call\n    tool: {}\n    when: {}\n    deny: {}\n",
            quoted(&format!("same_{name}")),
            quoted(tool),
            quoted(&times),
            quoted(&deny)
        );
        let why = format!(
            "{}no successful run made one call of `{tool}` more than {good} times; others did it up to {other} times",
            weak(self.gathered.runs.successful)
        );
        self.add(Kind::Rule, Some(tool), format!("the same call of `{tool}` at most {most} times"), &why, &yaml);
    }

    /// A limit for a tool that is part of loops, from what successful runs called it.
    fn max_calls(&mut self, tool: &str) {
        let gathered = self.gathered;
        let Some(seen) = gathered.evidence.0.get(tool) else { return };
        let bounded = self.table.tool_entry(tool).is_some_and(|entry| entry.max_calls.is_some());
        if seen.of_success.all() == 0 || bounded || self.is_by_pattern(tool) {
            return;
        }
        let most = Formula::P95.budget(&seen.of_success);
        if seen.most_of_others <= most {
            return;
        }
        let why = format!(
            "{}{} of the calls of `{tool}` in successful runs that used it ({}, of which {} made more); other runs made up to {}",
            weak(seen.of_success.all()),
            Formula::P95.words(),
            seen.of_success.all(),
            seen.of_success.above(most),
            seen.most_of_others
        );
        let yaml = self.tool_yaml(tool, &format!("max_calls: {most}"));
        self.add(Kind::Rule, Some(tool), format!("at most {most} calls of `{tool}`"), &why, &yaml);
    }

    /// Guards that speak as soon as no successful run would notice.
    fn sooner(&mut self) {
        let Some(guards) = self.table.stages().first().map(|stage| stage.guards.clone()) else { return };
        if self.gathered.runs.successful == 0 {
            return;
        }
        let ([errors, other_errors], [stale, other_stale]) = (self.gathered.worst.errors, self.gathered.worst.stale);
        let leave = (errors + 1).max(guards.errors.hint);
        if leave < guards.errors.leave && other_errors >= leave {
            let why = format!(
                "{}no successful run saw one tool fail more than {errors} times in a row; others up to {other_errors} times",
                weak(self.gathered.runs.successful)
            );
            let yaml = format!("guards: {{ errors: {{ leave: {leave} }} }}\n");
            self.add(Kind::Rule, None, format!("leave after {leave} errors in a row"), &why, &yaml);
        }
        let close = (stale + 1).max(guards.no_progress.leave);
        if close < guards.no_progress.close && other_stale >= close {
            let why = format!(
                "{}no successful run made more than {stale} calls whose result was known; others up to {other_stale}",
                weak(self.gathered.runs.successful)
            );
            let yaml = format!("guards: {{ no_progress: {{ close: {close} }} }}\n");
            self.add(Kind::Rule, None, format!("close after {close} calls that bring nothing new"), &why, &yaml);
        }
    }

    pub(super) fn exits(&mut self, near: &[NearLimit]) {
        let table = self.table;
        for limit in near {
            let named = |stage: &&Stage| limit.stage.as_deref() == Some(&*stage.name);
            let Some(stage) = table.stages().iter().find(named) else { continue };
            let Some(next) = acting_next(table, stage).filter(|_| !stage.leave_by.call) else { continue };
            let leave_by = stage.leave_by;
            let words = [(leave_by.answer, "answer"), (leave_by.advance, "advance"), (true, "call")];
            let words: Vec<&str> = words.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect();
            let yaml = format!("stages:\n  {}: {{ leave_by: [{}] }}\n", quoted(&stage.name), words.join(", "));
            let why = format!(
                "runs that came within three steps of this stage's end and still called: {}; a call that only `{}` allows would move \
                 them on",
                limit.runs, next.name
            );
            self.add(Kind::Exit, None, format!("let a call leave `{}`", stage.name), &why, &yaml);
        }
    }
}

/// The figures of the budgets: by stage where the table has the recorded ones, and of whole runs.
pub(super) fn figures(table: &StageTable, gathered: &Gathered) -> Vec<BudgetFigure> {
    let spent = &gathered.spent;
    let stages = table.stages().iter().filter_map(|stage| Some((stage, spent.stages.get(&*stage.name)?)));
    let mut figures: Vec<BudgetFigure> =
        stages.map(|(stage, spent)| BudgetFigure::of(Some(&stage.name), "steps", spent)).collect();
    let (unit, whole): (_, &Histogram) =
        if table.stages().len() == 1 { ("steps", &spent.steps) } else { ("calls", &spent.calls) };
    if whole.all() > 0 {
        figures.push(BudgetFigure::of(None, unit, whole));
    }
    figures
}

/// The mask that makes enough results equal, with its pairs and runs: the smallest that covers what was seen.
fn mask(seen: &ToolEvidence) -> Option<(&'static str, (u64, u64))> {
    let [uuid, timestamp, both] = seen.masked;
    let pairs = uuid.pairs + timestamp.pairs + both.pairs;
    let runs = uuid.runs.max(timestamp.runs).max(both.runs);
    if pairs < MIN_MASK_PAIRS || runs < MIN_MASK_RUNS {
        return None;
    }
    let [only_uuid, only_timestamp, all] = MASKS;
    let mask = match (uuid.pairs, timestamp.pairs, both.pairs) {
        (_, 0, 0) => only_uuid,
        (0, _, 0) => only_timestamp,
        _ => all,
    };
    Some((mask, (pairs, runs)))
}

/// A text that never changed a result of a tool whose other arguments do.
fn is_label(seen: &ToolEvidence, arg: &ArgSeen) -> bool {
    let elsewhere = seen.differs_not.pairs.saturating_sub(arg.same.pairs);
    arg.same.pairs >= MIN_ARG_PAIRS
        && arg.same.runs >= MIN_ARG_RUNS
        && arg.other.pairs == 0
        && !arg.not_text
        && seen.differs.pairs >= MIN_ARG_PAIRS
        && seen.differs.pairs >= 4 * elsewhere
}

/// Said first of what rests on too few successful runs.
fn weak(successes: u64) -> &'static str {
    if successes < MIN_SUCCESSES { "weak, few runs succeeded: " } else { "" }
}

fn is_word(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A text as a JSON string, which is YAML as well; a plain word as it is.
fn quoted(text: &str) -> String {
    let reserved = matches!(text, "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n");
    if is_word(text) && !reserved { text.to_owned() } else { Value::from(text).to_string() }
}

/// A text within an expression.
fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A text as lines of a comment; its words hold no control character that could end one.
fn comment(text: &str) -> String {
    let hostile = |c: char| c.is_whitespace() || c.is_control();
    let mut lines = vec![String::from("#")];
    for word in text.split(hostile).filter(|word| !word.is_empty()) {
        if lines.last().is_some_and(|line| line.chars().count() + word.chars().count() >= WIDTH) {
            lines.push(String::from("#"));
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}
