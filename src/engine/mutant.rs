//! Deliberate mistakes of the engine, one at a time, for the tests that prove that proofs notice them
//! (`docs/concepts/proof.md`). Outside of tests [`on`] is a constant `false`, and nothing of them is left.

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// A rollback gives a step back.
    RefundingRollback,
    /// A stage is left one step too late.
    OffByOneBudget,
    /// A silent reply costs nothing.
    FreeSilence,
    /// A tool the stage forbids runs on its last step.
    ForbiddenOnLastStep,
    /// Calls in a closing request run.
    ClosingCallsRun,
    /// The last step of a final stage is spent like any other.
    LostReservedStep,
    /// Rollbacks have no limit.
    UnboundedRollbacks,
    /// A rule widens a budget each time it fires.
    UnboundedExtension,
    /// `deny` rules are asked for the first call of a reply alone.
    DenySkippedFromSecondCall,
    /// Nobody is asked any more once the run was rolled back.
    ApprovalSkipped,
    /// A gate opens when its stage is spent.
    RequiresIgnoredOnExhaustion,
    /// A call moves the run to a stage with no steps left.
    LeaveByCallIntoSpent,
    /// A `goto` leads to a stage with no steps left.
    GotoIntoSpent,
    /// `max_calls` allows one more.
    OffByOneCalls,
    /// A call that failed does not count.
    FailedCallsRefunded,
    /// A write does not clear memory.
    WriteKeepsMemory,
    /// Equal results of a circle are never refused.
    EndlessCircle,
    /// The ladder of a repeated call starts again each time.
    LadderStartsAgain,
    /// A call is answered twice.
    DoubleAnswer,
}

#[cfg(test)]
thread_local! {
    static ON: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// Whether this mistake is made.
#[cfg(test)]
pub(crate) fn on(mutant: Mutant) -> bool {
    ON.get() == Some(mutant)
}

/// Whether this mistake is made: never.
#[cfg(not(test))]
pub(crate) const fn on(_: Mutant) -> bool {
    false
}

/// Makes a mistake while `test` runs.
#[cfg(test)]
pub(crate) fn with<T>(mutant: Mutant, test: impl FnOnce() -> T) -> T {
    struct Off;
    impl Drop for Off {
        fn drop(&mut self) {
            ON.set(None);
        }
    }
    ON.set(Some(mutant));
    let _off = Off;
    test()
}
