//! What was decided, in the past tense. Rendered as stories, written to traces, compared on replay.

use super::input::CallNo;
use super::outcome::{Limit, Outcome};
use super::verdict::Check;
use crate::table::Name;
use serde::{Deserialize, Serialize};

/// How a stage came to be entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnteredBy {
    /// The run began.
    Start,
    /// A text without calls.
    Answer,
    /// The control tool `advance`.
    Advance,
    /// A call that only this stage allows.
    Call,
    /// A rule's `goto`.
    Rule(Name),
    /// The budget of the stage before was spent.
    Exhausted,
    /// A guard's consequence.
    Guard(Name),
    /// The run is closing: one request for the answer.
    Closing,
    /// A person's no at the stage before.
    Denied,
    /// Steps that a person granted.
    Grant,
}

/// What was decided about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Judged {
    /// To run.
    Run,
    /// Answered from memory.
    Reuse {
        /// The call whose result was used.
        of: CallNo,
        /// The check that said so (`duplicate`, or `approval` never).
        check: Check,
    },
    /// Refused.
    Refuse {
        /// By which check.
        check: Check,
        /// Whether it counts towards rollback.
        violation: bool,
        /// The rule, fact or limit that objected, where one has a name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// What the model is told.
        hint: String,
    },
    /// A person has to say yes.
    Ask {
        /// The rule or `approval`.
        by: String,
        /// What to ask.
        question: String,
    },
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run began.
    RunStarted {
        /// The table's name.
        workflow: Name,
        /// Steps no run can exceed.
        ceiling: u32,
    },
    /// A reply was charged.
    StepCharged {
        /// Step of the run, from 1.
        step: u32,
        /// The stage it was charged to.
        stage: Name,
        /// Step of the stage, from 1.
        stage_step: u32,
        /// The stage's steps, extensions included.
        budget: u32,
    },
    /// The model said something beside or instead of calls.
    TextSaid {
        /// What, cut at 500 characters.
        text: String,
    },
    /// A call got its verdict.
    CallJudged {
        /// The engine's number.
        call: CallNo,
        /// The tool as the model wrote it (made-up names capped).
        tool: Name,
        /// The tool it was resolved to, when the name differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resolved: Option<Name>,
        /// The verdict.
        #[serde(flatten)]
        judged: Judged,
    },
    /// A call that was asked about was answered.
    ApprovalGiven {
        /// Which.
        call: CallNo,
        /// Yes or no.
        yes: bool,
    },
    /// A call came back.
    CallFinished {
        /// Which.
        call: CallNo,
        /// The tool.
        tool: Name,
        /// Whether it failed.
        failed: bool,
        /// Characters of the result before it was cut.
        chars: usize,
        /// Characters the model sees, when it was cut.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cut_to: Option<usize>,
        /// Whether its identity already gave that result.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        same: bool,
    },
    /// The model was told something beside a call's own answer.
    HintGiven {
        /// The name of the text, or of the rule.
        name: Name,
        /// What it was told.
        text: String,
    },
    /// A guard spoke.
    GuardFired {
        /// Which.
        guard: Name,
        /// At which call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallNo>,
        /// What it asked for: `hint`, `reuse`, `refuse`, `roll_back`, `leave`, `close`.
        answer: Name,
        /// Whether it was only observed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        observed: bool,
    },
    /// A rule acted.
    RuleFired {
        /// Which.
        rule: Name,
        /// What it did: `deny`, `ask`, `goto`, `set`, `extend`, `end`, `forget`, `hint`.
        action: Name,
    },
    /// A rule's action was not taken, or its condition could not be evaluated.
    RuleNoted {
        /// Which.
        rule: Name,
        /// Why.
        note: String,
    },
    /// A fact got a value.
    FactSet {
        /// Which.
        fact: Name,
        /// The value as JSON text, cut at 200 characters.
        value: String,
    },
    /// A fact was unset.
    FactCleared {
        /// Which.
        fact: Name,
    },
    /// A stage's budget was widened.
    BudgetExtended {
        /// Which stage.
        stage: Name,
        /// By how many steps.
        steps: u32,
        /// By which rule.
        rule: Name,
    },
    /// A person gave a stage more steps.
    BudgetGranted {
        /// Which stage.
        stage: Name,
        /// How many steps.
        steps: u32,
        /// Who.
        by: String,
    },
    /// A nested run began. What follows, up to its [`ChildClosed`](Self::ChildClosed), is that run's.
    ChildOpened {
        /// The call it answers.
        call: CallNo,
        /// The tool, which is the function the run stands inside.
        tool: Name,
        /// The table's name.
        workflow: Name,
        /// How many runs it stands inside, from 1.
        depth: usize,
        /// The steps it is given; those of its own table when missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grant: Option<u32>,
        /// Its task.
        task: String,
    },
    /// A nested run ended; its call is answered next.
    ChildClosed {
        /// The call it answers.
        call: CallNo,
        /// How it ended.
        outcome: Outcome,
        /// The limit, when one closed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
        /// Steps it took, those of its own nested runs included.
        steps: u32,
        /// Its answer.
        text: String,
    },
    /// A stage was left.
    StageLeft {
        /// Which.
        stage: Name,
        /// Its product; empty when it left none.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        product: String,
    },
    /// A stage was entered.
    StageEntered {
        /// Which.
        stage: Name,
        /// Its number, from 1.
        number: usize,
        /// Of how many.
        of: usize,
        /// Steps left in it.
        left: u32,
        /// How.
        by: EnteredBy,
    },
    /// The transcript went back to the checkpoint of the stage.
    RolledBack {
        /// The stage.
        stage: Name,
        /// `violations` or the guard's name.
        by: Name,
        /// Messages that left the view.
        dropped: usize,
    },
    /// Results left the view (`forget`, `retry_fresh`, an overflow).
    ViewCut {
        /// Why.
        by: Name,
        /// Results that left.
        results: usize,
    },
    /// The run waits.
    Paused {
        /// For what.
        outcome: Outcome,
        /// The question, where there is one.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        question: String,
    },
    /// The run goes on.
    Resumed,
    /// The run ended.
    RunEnded {
        /// How.
        outcome: Outcome,
        /// The limit, when one closed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Limit>,
        /// The answer.
        text: String,
    },
}

/// The events of the outermost run alone: without what stands between the opening and the end of nested runs.
pub fn of_outermost<'e>(events: impl IntoIterator<Item = &'e Event>) -> impl Iterator<Item = &'e Event> {
    let mut inside = 0_usize;
    events.into_iter().filter(move |event| match event {
        Event::ChildOpened { .. } => {
            inside += 1;
            inside == 1
        }
        Event::ChildClosed { .. } => {
            inside = inside.saturating_sub(1);
            inside == 0
        }
        _ => inside == 0,
    })
}
