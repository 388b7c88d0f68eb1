//! `limits`, `leave_by`, `finish`, `guarantees`.

use super::Loader;
use super::fields::{Field, Fields};
use super::values::Decimal;
use crate::table::keys;
use crate::table::limits as bounds;
use crate::table::model::{Finish, Guarantee, LeaveBy, Limits};
use crate::table::names::{NamePattern, StageId};
use crate::table::report::quoted;
use crate::table::yaml::{Kind, Node};

/// `limits.headroom` when it is left out: 1.2.
const HEADROOM: Decimal = Decimal { mantissa: 12, scale: 1 };
/// `finish.window` when it is left out.
const WINDOW: usize = 3;

impl Loader<'_> {
    /// Fills in `limits` and gives the headroom.
    pub fn limits(&mut self, table: &Fields<'_>, limits: &mut Limits) -> Decimal {
        let fields = table.get("limits").and_then(|f| self.object(f.node, &keys::LIMITS, "`limits`"));
        let Some(fields) = fields else {
            return HEADROOM;
        };
        if let Some(n) = fields.get("calls_per_step").and_then(|f| self.whole(f)) {
            limits.calls_per_step = n;
        }
        if let Some(n) = fields.get("user_turns").and_then(|f| self.whole(f)) {
            limits.user_turns = n;
        }
        if let Some(n) = fields.get("depth").and_then(|f| self.whole(f)) {
            limits.depth = n;
        }
        if let Some(n) = fields.get("reentry").and_then(|f| self.whole(f)) {
            limits.reentry = n;
        }
        limits.max_calls = fields.get("max_calls").and_then(|f| self.whole(f));
        limits.max_tokens = fields.get("max_tokens").and_then(|f| self.whole(f)).map(u64::from);
        limits.max_cost_micros = fields.get("max_cost").and_then(|f| self.decimal(f)).and_then(Decimal::micros);
        limits.max_time_ms = fields.get("max_time").and_then(|f| self.duration(f));
        limits.waiting_counts = fields.get("waiting_counts").and_then(|f| self.switch(f)).unwrap_or_default();
        fields.get("headroom").and_then(|f| self.decimal(f)).unwrap_or(HEADROOM)
    }

    pub fn leave_by(&mut self, field: Field<'_>) -> Option<LeaveBy> {
        let words = self.word_list(field)?;
        if words.is_empty() {
            let help = "name at least one of `answer`, `advance`, `call`";
            self.report.error("empty-list", field.node.place, "`leave_by` names no way to leave", help);
        }
        Some(LeaveBy {
            answer: words.contains(&"answer"),
            advance: words.contains(&"advance"),
            call: words.contains(&"call"),
        })
    }

    pub fn finish(&mut self, field: Field<'_>) -> Option<Finish> {
        let fields = self.object(field.node, &keys::FINISH, "`finish`")?;
        let finish = Finish {
            success: fields.get("success").map(|f| self.texts(f)).unwrap_or_default(),
            failure: fields.get("failure").map(|f| self.texts(f)).unwrap_or_default(),
            window: fields
                .get("window")
                .and_then(|f| self.whole(f))
                .and_then(|n| usize::try_from(n).ok())
                .unwrap_or(WINDOW),
        };
        if finish.success.is_empty() && finish.failure.is_empty() {
            let help = "give it `success` or `failure`, or leave it out";
            self.report.error("empty-list", field.place, "`finish` names no marker", help);
        }
        if let Some(both) = finish.success.iter().find(|m| finish.failure.contains(m)) {
            let said = format!("{} is a marker of success and of failure", quoted(both));
            self.report.error("bad-combination", field.place, said, "keep one of them");
        }
        Some(finish)
    }

    pub fn guarantees(&mut self, table: &Fields<'_>) -> Vec<Guarantee> {
        let Some(field) = table.get("guarantees") else {
            return Vec::new();
        };
        let items = self.list(field.node, field.key.name).unwrap_or_default();
        items.iter().filter_map(|item| self.guarantee(item)).collect()
    }

    fn guarantee(&mut self, item: &Node) -> Option<Guarantee> {
        let fields = self.object(item, &keys::GUARANTEE, "the guarantee")?;
        let mut all = fields.all();
        let (first, second) = (all.next(), all.next());
        if let Some(second) = second {
            let help = "begin a new entry with `- `";
            self.report.error("two-guarantees", second.place, "one entry of `guarantees` holds two", help);
        }
        let Some(field) = first else {
            if matches!(&item.kind, Kind::Map(entries) if entries.is_empty()) {
                let help = "write `never`, `at_most`, `within`, `reaches` or `only_in`";
                self.report.error("missing-key", item.place, "the guarantee is empty", help);
            }
            return None;
        };
        let what = quoted(field.key.name);
        match field.key.name {
            "never" => {
                let fields = self.object(field.node, &keys::NEVER, &what)?;
                let (tool, before) = (self.guaranteed(&fields, "tool"), self.guaranteed(&fields, "before"));
                Some(Guarantee::Never { tool: tool?, before: before? })
            }
            "at_most" => {
                let fields = self.object(field.node, &keys::AT_MOST, &what)?;
                let (tool, times) = (self.guaranteed(&fields, "tool"), fields.get("times").and_then(|f| self.whole(f)));
                Some(Guarantee::AtMost { tool: tool?, times: times? })
            }
            "within" => {
                let fields = self.object(field.node, &keys::WITHIN, &what)?;
                let steps = fields.get("steps").and_then(|f| self.whole(f));
                let tree = fields.get("of").and_then(|f| self.word(f)) == Some("tree");
                Some(Guarantee::Within { steps: steps?, tree })
            }
            "reaches" => self.reaches(field),
            _ => {
                let fields = self.object(field.node, &keys::ONLY_IN, &what)?;
                let tool = self.guaranteed(&fields, "tool");
                let stage = fields.get("stage").and_then(|f| self.stage_named(f.node, f.key.name));
                Some(Guarantee::OnlyIn { tool: tool?, stage: stage? })
            }
        }
    }

    fn guaranteed(&mut self, fields: &Fields<'_>, name: &str) -> Option<NamePattern> {
        fields.get(name).and_then(|f| self.tool_pattern(f.node, f.key.name))
    }

    fn reaches(&mut self, field: Field<'_>) -> Option<Guarantee> {
        if matches!(field.node.kind, Kind::Scalar { .. }) {
            return Some(Guarantee::Reaches(vec![self.stage_named(field.node, field.key.name)?]));
        }
        let items = self.list(field.node, field.key.name)?;
        if items.is_empty() {
            self.report.error("empty-list", field.node.place, "`reaches` names no stage", "name a stage");
        }
        let stages: Vec<Option<StageId>> = items.iter().map(|i| self.stage_named(i, field.key.name)).collect();
        stages.into_iter().collect::<Option<Vec<_>>>().map(Guarantee::Reaches)
    }

    /// Stops before a table that is too large is walked through.
    pub fn few_enough(&mut self, field: Field<'_>, count: usize, what: &str) -> bool {
        let fits = count <= bounds::ENTRIES;
        if !fits {
            let said = format!("the table holds more than {} {what}", bounds::ENTRIES);
            self.report.error("too-many", field.place, said, "split the table");
        }
        fits
    }
}
