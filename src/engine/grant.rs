//! Steps that a person grants: the one way on for a run that a spent budget closed.

use super::core::{Core, stage_of};
use super::event::Event;
use super::guard::Identities;
use super::outcome::{LimitKind, Outcome};
use super::session::{Session, Unfitting};
use crate::table::{Model, StageId};

/// Most steps of one grant.
pub const MAX_GRANT: u32 = 100_000;
/// Steps that are proposed where a grant is needed.
const PROPOSED: u32 = 3;

impl<W> Core<W> {
    /// Whether more steps are what a run that ended lacks.
    #[must_use]
    pub fn may_be_granted(&self) -> bool {
        let Some(closing) = &self.closing else { return false };
        let by_steps = closing.limit.is_none_or(|(kind, ..)| matches!(kind, LimitKind::Stage | LimitKind::Run));
        by_steps && matches!(closing.outcome, Outcome::Exhausted | Outcome::Looped | Outcome::Violations)
    }
}

impl<W: Identities> Core<W> {
    /// The stage whose end closed the run.
    pub(super) fn closed_in(&self) -> StageId {
        self.closing.as_ref().and_then(|closing| closing.limit).map_or(self.stage, |(_, stage, ..)| stage)
    }

    /// Whether a run that ended may go on in a stage: a grant opens no gate.
    pub(crate) fn may_go_on_in(&self, table: &Model, stage: StageId) -> bool {
        let closed = self.closed_in();
        let unmet = stage_of(table, closed).is_some_and(|s| !self.missing(&s.requires).is_empty());
        stage == closed || !unmet
    }
}

impl Session {
    /// A person gives a stage more steps; `by` is who. A run that a spent budget closed goes on in that stage.
    ///
    /// # Errors
    /// When there is no such stage, the run ended otherwise, or a nested run is under way.
    pub fn grant(&mut self, stage: &str, steps: u32, by: &str) -> Result<(), Unfitting> {
        let input = super::input::Input::Grant { stage: stage.to_owned(), steps, by: by.to_owned() };
        self.apply(input).map(|_| ())
    }

    /// The grants without which a run that ended does not go on, as stage and steps; empty when it has not ended, or no
    /// grant helps.
    #[must_use]
    pub fn grants_needed(&self) -> Vec<(String, u32)> {
        let frame = self.root();
        if !frame.core.life.is_ended() || !frame.core.may_be_granted() {
            return Vec::new();
        }
        let spent = frame.core.closed_in();
        let mut needed = vec![(frame.stage_name(spent).to_string(), PROPOSED)];
        // The answer costs a step of the final stage, which closing has spent.
        let stages = frame.table.stages.iter().enumerate();
        let ids = stages.filter_map(|(at, stage)| Some((StageId(u16::try_from(at).ok()?), stage)));
        let answers = ids.filter(|(id, stage)| stage.is_final() && !stage.aside && *id != spent);
        let without = answers.filter(|(id, _)| frame.core.left(&frame.table, *id) == 0);
        needed.extend(without.map(|(_, stage)| (stage.name.to_string(), 1)));
        needed
    }

    pub(super) fn grant_fits(&self, stage: &str, steps: u32) -> Result<(), Unfitting> {
        let no = |why: String| Err(Unfitting(why));
        if steps == 0 || steps > MAX_GRANT {
            return no(format!("a grant is of 1 to {MAX_GRANT} steps"));
        }
        let stages = &self.root().table.stages;
        if !stages.iter().any(|s| *s.name == *stage) {
            let names: Vec<&str> = stages.iter().map(|s| &*s.name).collect();
            return no(format!("there is no stage `{stage}`; there is {}", names.join(", ")));
        }
        if self.root().core.life.is_ended() && !self.root().core.may_be_granted() {
            return no("the run has ended, and not for want of steps".to_owned());
        }
        let id = stages.iter().position(|s| *s.name == *stage).and_then(|at| u16::try_from(at).ok()).map(StageId);
        let (core, table) = (&self.root().core, &self.root().table);
        if core.life.is_ended() && !id.is_some_and(|id| core.may_go_on_in(table, id)) {
            let closed = self.root().stage_name(core.closed_in());
            return no(format!(
                "`{closed}` requires what is not known yet, and a grant opens no gate; grant `{closed}` first"
            ));
        }
        if !self.above.is_empty() || self.top.front < self.top.slots.len() {
            return no("calls are open".to_owned());
        }
        Ok(())
    }

    pub(super) fn take_grant(&mut self, stage: &str, steps: u32, by: &str) {
        let top = &mut self.top;
        let found = top.table.stages.iter().position(|s| *s.name == *stage);
        let Some(id) = found.and_then(|at| u16::try_from(at).ok()).map(StageId) else { return };
        top.events.push(Event::BudgetGranted { stage: top.stage_name(id), steps, by: by.to_owned() });
        let mut moves = Vec::new();
        if top.with_core(|core, cx| core.granted(cx, id, steps, &mut moves)) {
            top.events.push(Event::Resumed);
            top.answer.clear();
            top.product.clear();
            top.carry_out(moves);
            top.before_step();
        }
    }
}
