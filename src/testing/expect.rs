//! The `expect` of a scenario: every given expectation is checked, an unknown one is a problem.

use super::play::Played;
use super::reader::Reader;
use crate::engine::Event;
use crate::engine::outcome::Outcome;
use crate::engine::summary::ToolCounts;
use crate::table::report::{did_you_mean, quoted};
use crate::table::yaml::{Kind, Node};

/// All outcomes, for names in files.
const OUTCOMES: &[Outcome] = &[
    Outcome::Completed,
    Outcome::Failed,
    Outcome::Exhausted,
    Outcome::Looped,
    Outcome::Violations,
    Outcome::Declined,
    Outcome::ContextOverflow,
    Outcome::AwaitingApproval,
    Outcome::AwaitingUser,
    Outcome::ProviderError,
    Outcome::Cancelled,
];
/// Keys of `expect`.
const KEYS: &[&str] = &[
    "outcome",
    "not",
    "limit",
    "stage",
    "steps",
    "path",
    "proposed",
    "run",
    "run_at_most",
    "reused",
    "refused",
    "failed",
    "withheld",
    "violations",
    "rollbacks",
    "text",
    "text_contains",
    "sees",
    "view_lacks",
];
/// Kinds of limits.
const LIMITS: &[&str] = &["stage", "run", "calls", "tokens", "cost", "time", "depth", "user_turns"];

/// What a scenario expects beside its snapshot.
#[derive(Clone, Debug, Default)]
pub struct Expect {
    wants: Vec<Want>,
}

/// One expectation.
#[derive(Clone, Debug)]
enum Want {
    Outcome(Outcome),
    Not(Vec<Outcome>),
    Limit(String),
    Stage(String),
    Steps(u32),
    /// The stages in the order they were entered.
    Path(Vec<String>),
    Counts {
        what: What,
        most: bool,
        of: Counts,
    },
    /// Calls that were proposed and not run.
    Withheld(u32),
    Violations(u32),
    Rollbacks(u32),
    Text(String),
    TextContains(Vec<String>),
    /// Texts of which each stood in a message the model was shown.
    Sees(Vec<String>),
    /// Texts of which none stands in the last view.
    ViewLacks(Vec<String>),
}

/// Which count of a tool.
#[derive(Clone, Copy, Debug)]
enum What {
    Proposed,
    Run,
    Reused,
    Refused,
    Failed,
}

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Run => "run",
            Self::Reused => "reused",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }

    fn of(self, counts: &ToolCounts) -> u32 {
        match self {
            Self::Proposed => counts.proposed,
            Self::Run => counts.run,
            Self::Reused => counts.reused,
            Self::Refused => counts.refused,
            Self::Failed => counts.failed,
        }
    }
}

/// A number for all tools together, or one for each named tool.
#[derive(Clone, Debug)]
enum Counts {
    All(u32),
    By(Vec<(String, u32)>),
}

impl Reader {
    /// Reads `expect`.
    pub(super) fn expect(&mut self, node: &Node) -> Expect {
        let mut wants = Vec::new();
        for (key, entry) in self.known(node, "`expect`", KEYS) {
            let value = &entry.value;
            let what = format!("`{key}`");
            let counts = |what, most| move |of| Want::Counts { what, most, of };
            let want = match key {
                "outcome" => self.outcome(value).map(Want::Outcome),
                "not" => Some(Want::Not(self.one_or_list(value).iter().filter_map(|n| self.outcome(n)).collect())),
                "limit" => self.limit(value).map(Want::Limit),
                "stage" => Some(Want::Stage(self.text(value, &what))),
                "steps" => Some(Want::Steps(self.count(value, &what))),
                "path" => Some(Want::Path(self.texts(value, &what))),
                "proposed" => Some(self.counts(value, &what)).map(counts(What::Proposed, false)),
                "run" => Some(self.counts(value, &what)).map(counts(What::Run, false)),
                "run_at_most" => Some(self.counts(value, &what)).map(counts(What::Run, true)),
                "reused" => Some(self.counts(value, &what)).map(counts(What::Reused, false)),
                "refused" => Some(self.counts(value, &what)).map(counts(What::Refused, false)),
                "failed" => Some(self.counts(value, &what)).map(counts(What::Failed, false)),
                "withheld" => Some(Want::Withheld(self.count(value, &what))),
                "violations" => Some(Want::Violations(self.count(value, &what))),
                "rollbacks" => Some(Want::Rollbacks(self.count(value, &what))),
                "text" => Some(Want::Text(self.text(value, &what))),
                "text_contains" => Some(Want::TextContains(self.texts(value, &what))),
                "sees" => Some(Want::Sees(self.texts(value, &what))),
                _ => Some(Want::ViewLacks(self.texts(value, &what))),
            };
            wants.extend(want);
        }
        Expect { wants }
    }

    fn outcome(&mut self, node: &Node) -> Option<Outcome> {
        let word = self.text(node, "an outcome");
        let found = OUTCOMES.iter().find(|o| o.as_str() == word).copied();
        if found.is_none() {
            let help = did_you_mean(&word, OUTCOMES.iter().map(|o| o.as_str())).unwrap_or_default();
            self.wrong(node.place, format!("{} is no outcome", quoted(&word)), help);
        }
        found
    }

    fn limit(&mut self, node: &Node) -> Option<String> {
        let word = self.text(node, "`limit`");
        if !LIMITS.contains(&word.as_str()) {
            let help = did_you_mean(&word, LIMITS.iter().copied()).unwrap_or_default();
            self.wrong(node.place, format!("{} is no kind of limit", quoted(&word)), help);
            return None;
        }
        Some(word)
    }

    fn counts(&mut self, node: &Node, what: &str) -> Counts {
        match &node.kind {
            Kind::Map(entries) => {
                Counts::By(entries.iter().map(|e| (e.key.clone(), self.count(&e.value, what))).collect())
            }
            _ => Counts::All(self.count(node, what)),
        }
    }
}

impl Expect {
    /// What was expected and did not come, one sentence each.
    pub(super) fn check(&self, played: &Played) -> Vec<String> {
        let mut wrong = Vec::new();
        for want in &self.wants {
            want.check(played, &mut wrong);
        }
        wrong
    }
}

impl Want {
    fn check(&self, played: &Played, wrong: &mut Vec<String>) {
        let summary = &played.summary;
        let outcome = summary.outcome.map_or("none yet", Outcome::as_str);
        let mut number = |what: &str, want: u32, got: u32| {
            if want != got {
                wrong.push(format!("expected `{what}: {want}`, got {got}"));
            }
        };
        match self {
            Self::Steps(want) => number("steps", *want, summary.steps),
            Self::Violations(want) => number("violations", *want, summary.violations),
            Self::Rollbacks(want) => number("rollbacks", *want, summary.rollbacks),
            Self::Withheld(want) => {
                number("withheld", *want, summary.tools.values().map(|t| t.reused + t.refused).sum());
            }
            Self::Counts { what, most, of } => check_counts(*what, *most, of, played, wrong),
            Self::Outcome(want) if Some(*want) != summary.outcome => {
                wrong.push(format!("expected `outcome: {want}`, got `{outcome}`"));
            }
            Self::Not(unwanted) if summary.outcome.is_some_and(|o| unwanted.contains(&o)) => {
                wrong.push(format!("expected `not: {outcome}`, got `{outcome}`"));
            }
            Self::Limit(want) => {
                let got = summary.limit.as_ref().and_then(|l| serde_json::to_value(l.kind).ok());
                let got = got.as_ref().and_then(|v| v.as_str()).unwrap_or("none");
                if got != want {
                    wrong.push(format!("expected `limit: {want}`, got `{got}`"));
                }
            }
            Self::Stage(want) if *want != summary.stage => {
                wrong.push(format!("expected `stage: {want}`, got `{}`", summary.stage));
            }
            Self::Path(want) => {
                let got = path(played);
                if *want != got {
                    wrong.push(format!("expected `path: [{}]`, got `[{}]`", want.join(", "), got.join(", ")));
                }
            }
            Self::Text(want) if want.trim_end() != summary.text.trim_end() => {
                wrong.push(format!("expected `text: {want}`, got `{}`", summary.text));
            }
            Self::TextContains(parts) => {
                for part in parts.iter().filter(|part| !summary.text.contains(*part)) {
                    wrong.push(format!("expected the text to hold {}, got `{}`", quoted(part), summary.text));
                }
            }
            Self::Sees(parts) => {
                for part in parts.iter().filter(|part| !played.shown.iter().any(|text| text.contains(*part))) {
                    wrong.push(format!("expected the model to see {}, and no message held it", quoted(part)));
                }
            }
            Self::ViewLacks(parts) => {
                for part in parts.iter().filter(|part| played.last_view.iter().any(|text| text.contains(*part))) {
                    wrong.push(format!("expected the last view to lack {}, and a message holds it", quoted(part)));
                }
            }
            Self::Outcome(_) | Self::Not(_) | Self::Stage(_) | Self::Text(_) => {}
        }
    }
}

fn check_counts(what: What, most: bool, of: &Counts, played: &Played, wrong: &mut Vec<String>) {
    let tools = &played.summary.tools;
    let fits = |got: u32, want: u32| if most { got <= want } else { got == want };
    let name = if most { "run_at_most" } else { what.name() };
    match of {
        Counts::All(want) => {
            let got: u32 = tools.values().map(|t| what.of(t)).sum();
            if !fits(got, *want) {
                wrong.push(format!("expected `{name}: {want}`, got {got}"));
            }
        }
        Counts::By(by) => {
            for (tool, want) in by {
                let got = tools.get(tool).map_or(0, |t| what.of(t));
                if !fits(got, *want) {
                    wrong.push(format!("expected `{name}: {{ {tool}: {want} }}`, got {got}"));
                }
            }
        }
    }
}

/// The stages in the order they were entered; those of nested runs are their own.
fn path(played: &Played) -> Vec<String> {
    let entered = crate::engine::event::of_outermost(played.events()).filter_map(|event| match event {
        Event::StageEntered { stage, .. } => Some(stage.to_string()),
        _ => None,
    });
    entered.collect()
}
