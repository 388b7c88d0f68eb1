//! `guards`, of the table and of a stage: changes, key by key, to what holds already.

use super::Loader;
use super::fields::{Field, Fields};
use crate::table::keys::{self, Object};
use crate::table::model::{Guards, Mode};
use crate::table::report::quoted;
use crate::table::yaml::{Kind, Node};

impl Loader<'_> {
    /// The guards of `field` on top of `base`.
    pub fn guards(&mut self, field: Field<'_>, base: &Guards) -> Guards {
        let mut guards = base.clone();
        let Some(fields) = self.object(field.node, &keys::GUARDS, "`guards`") else {
            return guards;
        };
        for field in fields.all() {
            match field.key.name {
                "duplicate" => {
                    self.guard(field, &keys::DUPLICATE, &mut guards.duplicate);
                }
                "cycle" => self.cycle(field, &mut guards),
                "no_progress" => self.no_progress(field, &mut guards),
                "errors" => self.errors(field, &mut guards),
                "same_tool" => self.same_tool(field, &mut guards),
                "conservative" => self.conservative(field, &mut guards),
                _ => self.violations(field, &mut guards),
            }
        }
        guards
    }

    /// Sets the mode, and gives the keys where the guard is a mapping.
    fn guard<'n>(&mut self, field: Field<'n>, object: &'static Object, mode: &mut Mode) -> Option<Fields<'n>> {
        if !matches!(field.node.kind, Kind::Map(_)) {
            if let Some(said) = self.mode(field.node, field.key.name) {
                *mode = said;
            }
            return None;
        }
        let fields = self.object(field.node, object, &quoted(object.name))?;
        match fields.get("mode") {
            Some(field) => *mode = self.mode(field.node, "mode").unwrap_or(*mode),
            // A guard that is tuned is wanted.
            None if *mode == Mode::Off => *mode = Mode::On,
            None => {}
        }
        Some(fields)
    }

    /// Reads a number over what holds already.
    fn tune(&mut self, fields: &Fields<'_>, name: &str, number: &mut u32) {
        if let Some(n) = fields.get(name).and_then(|f| self.whole(f)) {
            *number = n;
        }
    }

    /// A hint that would come after the consequence is never said.
    fn ordered(&mut self, field: Field<'_>, first: (&str, u32), then: (&str, u32)) {
        if first.1 > then.1 {
            let said = format!("{} would come after {}: {} and {}", quoted(first.0), quoted(then.0), first.1, then.1);
            let help = format!("{} must not be greater than {}", quoted(first.0), quoted(then.0));
            self.report.error("bad-number", field.place, said, help);
        }
    }

    fn cycle(&mut self, field: Field<'_>, guards: &mut Guards) {
        let guard = &mut guards.cycle;
        if let Some(fields) = self.guard(field, &keys::CYCLE, &mut guard.mode) {
            self.tune(&fields, "hint", &mut guard.hint);
            self.tune(&fields, "refuse", &mut guard.refuse);
            self.ordered(field, ("hint", guard.hint), ("refuse", guard.refuse));
        }
    }

    fn no_progress(&mut self, field: Field<'_>, guards: &mut Guards) {
        let guard = &mut guards.no_progress;
        if let Some(fields) = self.guard(field, &keys::NO_PROGRESS, &mut guard.mode) {
            self.tune(&fields, "hint", &mut guard.hint);
            self.tune(&fields, "leave", &mut guard.leave);
            self.tune(&fields, "close", &mut guard.close);
            self.ordered(field, ("hint", guard.hint), ("leave", guard.leave));
        }
    }

    fn errors(&mut self, field: Field<'_>, guards: &mut Guards) {
        let guard = &mut guards.errors;
        if let Some(fields) = self.guard(field, &keys::ERRORS, &mut guard.mode) {
            self.tune(&fields, "hint", &mut guard.hint);
            self.tune(&fields, "leave", &mut guard.leave);
            self.ordered(field, ("hint", guard.hint), ("leave", guard.leave));
        }
    }

    fn same_tool(&mut self, field: Field<'_>, guards: &mut Guards) {
        let guard = &mut guards.same_tool;
        if let Some(fields) = self.guard(field, &keys::SAME_TOOL, &mut guard.mode) {
            self.tune(&fields, "in_a_row", &mut guard.in_a_row);
        }
        if guard.mode != Mode::Off && guard.in_a_row == 0 {
            let help = "write `same_tool: { in_a_row: 4 }` with a number of your own";
            self.report.error("missing-key", field.place, "`same_tool` has no `in_a_row`", help);
        }
    }

    fn conservative(&mut self, field: Field<'_>, guards: &mut Guards) {
        let guard = &mut guards.conservative;
        let Some(fields) = self.guard(field, &keys::CONSERVATIVE, &mut guard.mode) else {
            return;
        };
        self.tune(&fields, "below", &mut guard.below);
        if let Some(allow) = fields.get("allow") {
            guard.proven = is_word(allow.node, "proven");
            guard.allow = if guard.proven {
                Vec::new()
            } else if matches!(allow.node.kind, Kind::List(_)) {
                self.tool_patterns(allow)
            } else {
                self.wrong_type(allow.node, "allow", "`proven` or a list of tools");
                Vec::new()
            };
        }
        if let Some(deny) = fields.get("deny") {
            guard.deny = self.tool_patterns(deny);
        }
    }

    fn violations(&mut self, field: Field<'_>, guards: &mut Guards) {
        let guard = &mut guards.violations;
        let Some(fields) = self.guard(field, &keys::VIOLATIONS, &mut guard.mode) else {
            return;
        };
        self.tune(&fields, "in_a_row", &mut guard.in_a_row);
        self.tune(&fields, "max_rollbacks", &mut guard.max_rollbacks);
        if let Some(then) = fields.get("then").and_then(|f| self.word(f)) {
            guard.then_end = then == "end";
        }
    }
}

fn is_word(node: &Node, word: &str) -> bool {
    node.scalar() == Some(word)
}
