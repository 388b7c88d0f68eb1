//! What the table says of guards.

use crate::table::names::NamePattern;

/// Whether a guard acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Not asked.
    Off,
    /// Recorded, changes nothing.
    Observe,
    /// Acts.
    #[default]
    On,
}

/// `cycle`: rounds of the same calls with equal results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleGuard {
    pub(crate) mode: Mode,
    /// Equal rounds until every member gets a hint (2).
    pub(crate) hint: u32,
    /// Equal rounds until the whole set is refused (3).
    pub(crate) refuse: u32,
}

/// `no_progress`: calls whose identity already gave that result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoProgressGuard {
    pub(crate) mode: Mode,
    /// In a row until the hint (3).
    pub(crate) hint: u32,
    /// In a row until the stage is left (5).
    pub(crate) leave: u32,
    /// In the whole run until it closes (10).
    pub(crate) close: u32,
}

/// `errors`: one tool failing in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorsGuard {
    pub(crate) mode: Mode,
    /// In a row until the hint (3).
    pub(crate) hint: u32,
    /// In a row until the stage is left (6).
    pub(crate) leave: u32,
}

/// `same_tool`: off unless declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SameToolGuard {
    pub(crate) mode: Mode,
    /// Replies in a row that used only this tool before it is refused.
    pub(crate) in_a_row: u32,
}

/// `conservative`: off unless declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConservativeGuard {
    pub(crate) mode: Mode,
    /// Fewer steps left than this → only allowed tools (3).
    pub(crate) below: u32,
    /// `allow: proven` = tools that succeeded in this run; otherwise the named ones.
    pub(crate) proven: bool,
    pub(crate) allow: Vec<NamePattern>,
    pub(crate) deny: Vec<NamePattern>,
}

/// `violations`: replies in a row that hold one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViolationsGuard {
    pub(crate) mode: Mode,
    /// Replies in a row until `then` (2).
    pub(crate) in_a_row: u32,
    /// `true` = close the run, `false` = roll back (default).
    pub(crate) then_end: bool,
    /// Rollbacks of one run, the guards' included (1).
    pub(crate) max_rollbacks: u32,
}

/// All guards as they hold in one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guards {
    pub(crate) duplicate: Mode,
    pub(crate) cycle: CycleGuard,
    pub(crate) no_progress: NoProgressGuard,
    pub(crate) errors: ErrorsGuard,
    pub(crate) same_tool: SameToolGuard,
    pub(crate) conservative: ConservativeGuard,
    pub(crate) violations: ViolationsGuard,
}

impl Default for Guards {
    /// The defaults come from replaying 16,159 recorded runs of 20 models; they change only with the format version.
    fn default() -> Self {
        Self {
            duplicate: Mode::On,
            cycle: CycleGuard { mode: Mode::On, hint: 2, refuse: 3 },
            no_progress: NoProgressGuard { mode: Mode::On, hint: 3, leave: 5, close: 10 },
            errors: ErrorsGuard { mode: Mode::On, hint: 3, leave: 6 },
            same_tool: SameToolGuard { mode: Mode::Off, in_a_row: 0 },
            conservative: ConservativeGuard {
                mode: Mode::Off,
                below: 3,
                proven: true,
                allow: Vec::new(),
                deny: Vec::new(),
            },
            violations: ViolationsGuard { mode: Mode::On, in_a_row: 2, then_end: false, max_rollbacks: 1 },
        }
    }
}
