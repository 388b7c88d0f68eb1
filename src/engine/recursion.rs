//! Functions that run inside themselves: how deep, how often in turn, and what a model inside one is told.
//!
//! The engine asks [`Limits::check`] before it opens a nested run. [`Recursion`] is the same for a host's own agent
//! functions, without tables and sessions.

use crate::table::Name;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Nested runs of one name inside one another, unless said otherwise.
pub const DEPTH: u32 = 5;
/// Times a name may stand in the chain with another between, unless said otherwise.
pub const REENTRY: u32 = 2;
/// Longest chain of all names together, whatever the limits say.
pub const MAX_CHAIN: usize = 64;

/// What bounds a chain of functions that run inside one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Most runs of one name inside one another.
    pub depth: u32,
    /// Most times one name stands in the chain with another between; 0 = any number.
    pub reentry: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: DEPTH, reentry: REENTRY }
    }
}

/// Which limit a call would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Too many runs of that name inside one another.
    Depth,
    /// The name comes again and again with another between.
    Reentry,
    /// The chain of all names is too long.
    Chain,
}

/// A function that may not be entered once more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TooDeep {
    /// The function.
    pub name: Name,
    /// Which limit.
    pub kind: Kind,
    /// Its number.
    pub limit: u32,
    /// The functions that run, the outermost first, and the refused one.
    pub chain: Vec<Name>,
}

impl std::fmt::Display for TooDeep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, kind, limit, chain } = self;
        match kind {
            Kind::Depth => write!(f, "`{name}` already runs {limit} times inside itself, which is the limit"),
            Kind::Reentry => {
                write!(f, "`{name}` may come {limit} times in a chain of calls with others between: {}", arrows(chain))
            }
            Kind::Chain => {
                write!(f, "`{name}` would be one more than the {limit} functions that may run inside one another")
            }
        }
    }
}

impl std::error::Error for TooDeep {}

/// The names with arrows between.
#[must_use]
pub fn arrows(chain: &[Name]) -> String {
    chain.iter().map(|n| &**n).collect::<Vec<_>>().join(" -> ")
}

impl Limits {
    /// The narrower of both; a `reentry` that is off in one is on in the other.
    #[must_use]
    pub fn narrowed(self, by: Self) -> Self {
        let reentry = match (self.reentry, by.reentry) {
            (0, other) | (other, 0) => other,
            (a, b) => a.min(b),
        };
        Self { depth: self.depth.min(by.depth), reentry }
    }

    /// Whether `name` may run inside `chain`, the outermost first.
    ///
    /// # Errors
    /// Which limit it would exceed.
    pub fn check<'c>(self, chain: impl Iterator<Item = &'c Name> + Clone, name: &str) -> Result<(), TooDeep> {
        let (mut all, mut depth, mut stretches, mut last) = (0, 0, 0, None);
        for running in chain.clone() {
            all += 1;
            if **running == *name {
                depth += 1;
                stretches += u32::from(last != Some(name));
            }
            last = Some(&**running);
        }
        let (kind, limit) = if depth >= self.depth {
            (Kind::Depth, self.depth)
        } else if self.reentry > 0 && stretches >= self.reentry && last != Some(name) {
            (Kind::Reentry, self.reentry)
        } else if all >= MAX_CHAIN {
            (Kind::Chain, u32::try_from(MAX_CHAIN).unwrap_or(u32::MAX))
        } else {
            return Ok(());
        };
        let name: Name = name.into();
        let chain = chain.cloned().chain([name.clone()]).collect();
        Err(TooDeep { name, kind, limit, chain })
    }
}

/// What a model inside `name` is told: that it is inside, and not to call it. Stands in the user turn.
///
/// `tools` are the lower-level ones it should use instead, as one text; `description` is the function's own.
#[must_use]
pub fn prefix(name: &str, description: &str, tools: &str) -> String {
    let mut said = format!(
        "You are INSIDE {name}: this task is one call of it. It may stand in your tool list, but do NOT call it for \
         this task: calling it re-enters where you are now and causes infinite recursion."
    );
    if tools.trim().is_empty() {
        said.push_str(" Do the work yourself.");
    } else {
        said.push_str(&format!(" Use the lower-level tools instead: {tools}."));
    }
    if !description.trim().is_empty() {
        said.push_str(&format!("\nWhat {name} is for: {}", description.trim()));
    }
    said
}

/// One function that runs.
#[derive(Debug)]
struct Running {
    id: u64,
    name: Name,
    description: Name,
}

#[derive(Debug, Default)]
struct Chain {
    running: Vec<Running>,
    next: u64,
}

/// Keeps functions that call themselves, straight or by way of others, from doing so without end.
///
/// A clone shares the chain: hand it to whatever runs inside. Of functions that run side by side, each gets a
/// [`branch`](Self::branch), so that none counts as inside the other. The chain is held by the guards alone, not by a
/// thread: it is the same across `await` points, wherever a task goes on.
///
/// ```
/// use stagekeeper::Recursion;
///
/// let recursion = Recursion::new();
/// {
///     let _inside = recursion.enter("research")?;
///     assert_eq!(recursion.depth("research"), 1);
///     assert!(recursion.prefix().contains("do NOT call it"));
/// }
/// assert_eq!(recursion.depth("research"), 0);
/// # Ok::<(), stagekeeper::TooDeep>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Recursion {
    limits: Limits,
    chain: Arc<Mutex<Chain>>,
}

impl Recursion {
    /// Nothing runs; the default limits: depth 5, re-entry 2.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Nothing runs; these limits.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, chain: Arc::default() }
    }

    /// Enters a function until the guard is dropped.
    ///
    /// # Errors
    /// When the function runs inside itself too often already; nothing was changed then.
    pub fn enter(&self, name: &str) -> Result<Guard, TooDeep> {
        self.enter_described(name, "")
    }

    /// Enters a function that the prefix describes.
    ///
    /// # Errors
    /// As [`enter`](Self::enter).
    pub fn enter_described(&self, name: &str, description: &str) -> Result<Guard, TooDeep> {
        let mut chain = self.locked();
        self.limits.check(chain.running.iter().map(|r| &r.name), name)?;
        let id = chain.next;
        chain.next += 1;
        chain.running.push(Running { id, name: name.into(), description: description.into() });
        Ok(Guard { chain: Arc::clone(&self.chain), id })
    }

    /// How many times the function runs inside itself; 0 = it does not run.
    #[must_use]
    pub fn depth(&self, name: &str) -> u32 {
        let running = self.locked().running.iter().filter(|r| *r.name == *name).count();
        u32::try_from(running).unwrap_or(u32::MAX)
    }

    /// The functions that run, the outermost first.
    #[must_use]
    pub fn chain(&self) -> Vec<Name> {
        self.locked().running.iter().map(|r| r.name.clone()).collect()
    }

    /// What a model inside the innermost function is told, for its user turn; empty when none runs.
    #[must_use]
    pub fn prefix(&self) -> String {
        self.locked().running.last().map(|r| prefix(&r.name, &r.description, "")).unwrap_or_default()
    }

    /// The chain as it is now, to go on with on its own: for one of several functions that run side by side.
    #[must_use]
    pub fn branch(&self) -> Self {
        let chain = self.locked();
        let copy = |r: &Running| Running { id: r.id, name: r.name.clone(), description: r.description.clone() };
        let running = chain.running.iter().map(copy).collect();
        let chain = Chain { running, next: chain.next };
        Self { limits: self.limits, chain: Arc::new(Mutex::new(chain)) }
    }

    fn locked(&self) -> MutexGuard<'_, Chain> {
        // Nothing can panic while the lock is held half-way.
        self.chain.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A function is entered while this lives. Dropping it, by whatever way the function ends, takes it back.
#[derive(Debug)]
#[must_use = "the function is left when this is dropped"]
pub struct Guard {
    chain: Arc<Mutex<Chain>>,
    id: u64,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut chain = self.chain.lock().unwrap_or_else(PoisonError::into_inner);
        chain.running.retain(|r| r.id != self.id);
    }
}
