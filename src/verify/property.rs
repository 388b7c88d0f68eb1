//! What is proved: of every table, and what this one promises.

use crate::table::StageTable;
use crate::table::model::Guarantee;
use std::fmt;

/// Something that must hold in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Property {
    /// The run never takes more replies than its ceiling: each is charged once, no step is given back.
    Ceiling,
    /// Every run ends: whatever is no reply of the model is bounded or a pause.
    Ends,
    /// Every call gets one verdict and one answer.
    Answers,
    /// A tool outside its stage never runs, and none in a closing request.
    InStage,
    /// `max_calls` of tool, stage and run hold.
    Calls,
    /// Nothing runs past `requires`, a `deny` rule or a person, and no gate opens by itself.
    Gates,
    /// Rollbacks stay within their limit.
    Rollbacks,
    /// A run that closes is asked for its answer.
    Closing,
    /// A guarantee of the table, by its place.
    Guarantee(usize),
}

impl Property {
    /// Those proved of every table.
    pub const ALWAYS: [Self; 8] = [
        Self::Ceiling,
        Self::Ends,
        Self::Answers,
        Self::InStage,
        Self::Calls,
        Self::Gates,
        Self::Rollbacks,
        Self::Closing,
    ];

    /// All properties of a table.
    #[must_use]
    pub fn all(table: &StageTable) -> Vec<Self> {
        Self::ALWAYS.into_iter().chain((0..table.guarantees.len()).map(Self::Guarantee)).collect()
    }

    /// It as a sentence.
    #[must_use]
    pub fn said(self, table: &StageTable) -> String {
        let rollbacks = table.stages.iter().map(|s| s.guards.violations.max_rollbacks).max().unwrap_or(0);
        match self {
            Self::Ceiling => format!("ceiling: no run takes more than {} replies", table.ceiling()),
            Self::Ends => "ends: every run ends".to_owned(),
            Self::Answers => "answers: every call is answered once".to_owned(),
            Self::InStage => "stages: no tool runs outside its stage, none in a closing request".to_owned(),
            Self::Calls => "max_calls: no limit of calls is exceeded".to_owned(),
            Self::Gates => {
                "gates: nothing passes `requires` (but where `on_exhausted: next` says so), a `deny` rule or a person"
                    .to_owned()
            }
            Self::Rollbacks => format!("rollbacks: no run is rolled back more than {rollbacks} times"),
            Self::Closing => "closing: a run that closes is asked for its answer".to_owned(),
            Self::Guarantee(at) => table.guarantees.get(at).map(|g| Said(table, g).to_string()).unwrap_or_default(),
        }
    }
}

/// A guarantee in the words of the table.
struct Said<'a>(&'a StageTable, &'a Guarantee);

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |stage: &crate::table::StageId| self.0.stages.get(stage.index()).map_or("", |s| &*s.name);
        match self.1 {
            Guarantee::Never { tool, before } => {
                write!(f, "never: {} before {} has succeeded", tool.as_str(), before.as_str())
            }
            Guarantee::AtMost { tool, times } => write!(f, "at_most: {} runs at most {times} times", tool.as_str()),
            Guarantee::Within { steps, tree: false } => write!(f, "within: {steps} steps"),
            Guarantee::Within { steps, tree: true } => {
                write!(f, "within: {steps} steps, those of nested runs among them")
            }
            Guarantee::Reaches(stages) => {
                write!(f, "reaches: {}", stages.iter().map(name).collect::<Vec<_>>().join(" or "))
            }
            Guarantee::OnlyIn { tool, stage } => write!(f, "only_in: {} runs only in {}", tool.as_str(), name(stage)),
        }
    }
}
