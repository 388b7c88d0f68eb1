//! Who answers in place of a model's world: the identity guards as an oracle, and conditions that go either way.

use super::plan::Plan;
use crate::engine::args::Identity;
use crate::engine::core::{Conditions, Core, Truth};
use crate::engine::guard::{Done, Fired, Guard, Identities, Look, Noted, Seen, Telling, Then, Watch};
use crate::engine::input::CallNo;
use crate::table::model::{Action, Effect, Guards, Mode};
use crate::table::{FactId, RuleId};
use serde_json::Value;

/// What the oracle says of a call that is about to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Say {
    /// No objection.
    #[default]
    Pass,
    /// Answered from memory.
    Reuse,
    /// Refused, and rolled back.
    RollBack,
    /// Refused, and the stage is left.
    Leave,
}

/// The identity guards, answering whatever the explorer wants and the table's modes allow.
///
/// A refusal without a consequence is not among the answers: it changes nothing in the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Oracle {
    say: Say,
    then: Then,
    looked: bool,
    void: bool,
}

/// What a search needs to know of the guards it explores with.
pub trait Explored: Identities + Default {
    /// The answers to a call that are tried one after another.
    const SAYS: &'static [Say];
    /// The consequences at a result that are tried one after another.
    const THENS: &'static [Then];
    /// Whether consequences are free, so that they can be chosen when the reply is settled.
    const FREE: bool;
    /// Whether identities count, so that which call it is must be chosen as well.
    const EXACT: bool;

    /// Fixes the next answers.
    fn prepare(&mut self, say: Say, then: Then);
    /// Forgets what was fixed; says what became of it.
    fn asked(&mut self) -> Asked;
}

/// Which of the fixed answers were used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// The answer to a call.
    pub looked: bool,
    /// One of them is not allowed: the edge does not exist.
    pub void: bool,
}

impl Explored for Oracle {
    const SAYS: &'static [Say] = &[Say::Pass, Say::Reuse, Say::RollBack, Say::Leave];
    const THENS: &'static [Then] = &[Then::Nothing, Then::Leave, Then::Close];
    const FREE: bool = true;
    const EXACT: bool = false;

    fn prepare(&mut self, say: Say, then: Then) {
        *self = Self { say, then, ..Self::default() };
    }

    fn asked(&mut self) -> Asked {
        let was = std::mem::take(self);
        Asked { looked: was.looked, void: was.void }
    }
}

/// The real guards say what they say.
impl Explored for Watch {
    const SAYS: &'static [Say] = &[Say::Pass];
    const THENS: &'static [Then] = &[Then::Nothing];
    const FREE: bool = false;
    const EXACT: bool = true;

    fn prepare(&mut self, _: Say, _: Then) {}

    fn asked(&mut self) -> Asked {
        Asked::default()
    }
}

/// Guards that never speak: what a model can do that never repeats itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mute;

impl Identities for Mute {
    fn look(&mut self, _: &Seen, _: &Guards, _: &mut Vec<Look>) -> Look {
        Look::Pass
    }

    fn note(&mut self, _: &Seen, _: &Done, _: &Guards) -> Noted {
        Noted::default()
    }

    fn view_cut(&mut self, _: &dyn Fn(CallNo) -> bool) {}

    fn has_run(&self, _: Identity) -> bool {
        false
    }
}

impl Explored for Mute {
    const SAYS: &'static [Say] = &[Say::Pass];
    const THENS: &'static [Then] = &[Then::Nothing];
    const FREE: bool = false;
    const EXACT: bool = false;

    fn prepare(&mut self, _: Say, _: Then) {}

    fn asked(&mut self) -> Asked {
        Asked::default()
    }
}

impl Identities for Oracle {
    fn look(&mut self, call: &Seen, guards: &Guards, _: &mut Vec<Look>) -> Look {
        self.looked = true;
        let refuses = guards.duplicate == Mode::On || guards.cycle.mode == Mode::On;
        // A write whose answer left the view is answered "already done" in every mode.
        let reuses = guards.duplicate == Mode::On || call.effect == Effect::Write;
        self.void |= match self.say {
            Say::Pass => false,
            Say::Reuse => !reuses,
            Say::RollBack | Say::Leave => !refuses,
        };
        let refuse = |then| Look::Refuse { guard: Guard::Duplicate, telling: Telling::Repeated, then };
        match self.say {
            Say::Pass => Look::Pass,
            Say::Reuse => Look::Reuse { of: CallNo(0), telling: Telling::Known },
            Say::RollBack => refuse(Then::RollBack),
            Say::Leave => refuse(Then::Leave),
        }
    }

    fn note(&mut self, _: &Seen, _: &Done, guards: &Guards) -> Noted {
        if self.then == Then::Nothing {
            return Noted::default();
        }
        self.void |= guards.no_progress.mode != Mode::On;
        let fired = Fired { guard: Guard::NoProgress, telling: None, then: self.then, observed: false };
        Noted { same: true, fired: vec![fired] }
    }

    fn view_cut(&mut self, _: &dyn Fn(CallNo) -> bool) {}

    fn has_run(&self, _: Identity) -> bool {
        false
    }
}

/// What a free condition came out as, by rule.
pub type Chosen = Vec<(RuleId, bool)>;

/// Answers conditions from a list of choices; grows the list as it is asked more. Going through all lists goes through
/// all ways the conditions of one edge can come out.
#[derive(Debug)]
pub struct Tape<'a> {
    plan: &'a Plan,
    /// The choice and the number of choices, in the order they came up.
    choices: Vec<(u32, u32)>,
    at: usize,
    /// Conditions that keep one value through a run, as `assume` in a scenario does.
    fixed: Option<Chosen>,
    /// Every condition asked and how it came out.
    pub asked: Chosen,
}

impl<'a> Tape<'a> {
    /// A tape at the first of all lists.
    pub fn new(plan: &'a Plan) -> Self {
        Self { plan, choices: Vec::new(), at: 0, fixed: None, asked: Vec::new() }
    }

    /// Begins one try; `fixed` holds what was chosen before, where conditions keep their value.
    pub fn rewind(&mut self, fixed: Option<&Chosen>) {
        self.at = 0;
        self.asked.clear();
        self.fixed = fixed.cloned();
    }

    /// What is fixed by now.
    pub fn fixed(&self) -> Option<&Chosen> {
        self.fixed.as_ref()
    }

    /// Goes on to the next list; `false` when all were tried.
    pub fn next(&mut self) -> bool {
        self.choices.truncate(self.at);
        while let Some((choice, of)) = self.choices.pop() {
            if choice + 1 < of {
                self.choices.push((choice + 1, of));
                return true;
            }
        }
        false
    }

    /// One of `of` ways.
    pub fn choose(&mut self, of: u32) -> u32 {
        let choice = match self.choices.get(self.at) {
            Some((choice, _)) => *choice,
            None => {
                self.choices.push((0, of));
                0
            }
        };
        self.at += 1;
        choice
    }
}

impl<W: Identities> Conditions<W> for Tape<'_> {
    fn holds(&mut self, core: &Core<W>, rule: RuleId) -> Truth {
        let holds = match self.plan.condition(core, rule) {
            Some(known) => known,
            None => match self.fixed.as_ref().and_then(|f| f.iter().find(|(id, _)| *id == rule)) {
                Some((_, known)) => *known,
                None => {
                    let holds = self.choose(2) == 0;
                    if let Some(fixed) = &mut self.fixed {
                        fixed.push((rule, holds));
                        fixed.sort_unstable();
                    }
                    holds
                }
            },
        };
        self.asked.push((rule, holds));
        // A condition that fails counts as true for `deny` and `ask` and as false otherwise, so it is no third way.
        if holds { Truth::Yes } else { Truth::No }
    }

    fn values(&mut self, _: &Core<W>, rule: RuleId) -> Vec<(FactId, Option<Value>)> {
        let Some(Action::Set(set)) = self.plan.table.rules.get(rule.index()).map(|r| &r.action) else {
            return Vec::new();
        };
        let set: Vec<FactId> = set.iter().map(|(fact, _)| *fact).collect();
        let mut value = || match self.choose(3) {
            0 => Some(Value::Bool(true)),
            1 => Some(Value::Bool(false)),
            _ => None,
        };
        set.into_iter().map(|fact| (fact, value())).collect()
    }
}
