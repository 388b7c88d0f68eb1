//! Whether catalogue and stages agree about tools.

use super::Loader;
use super::fields::Fields;
use crate::table::limits;
use crate::table::model::Model;
use crate::table::names::NamePattern;
use crate::table::report::{Place, did_you_mean, quoted};
use crate::table::yaml::Kind;

impl Loader<'_> {
    /// A catalogue, once not empty, must name or match every tool that a stage allows.
    pub fn in_catalogue(&mut self, name: &NamePattern, place: Place) {
        if self.survey.tools.no_catalogue() || self.survey.tools.in_catalogue(name) {
            return;
        }
        let shown = quoted(name.as_str());
        let (said, help) = if let Some(tool) = self.survey.tools.alias_of(name.as_str()) {
            let help = format!("write {}: aliases are for models, not for tables", quoted(tool));
            (format!("{shown} is an alias of {}", quoted(tool)), Some(help))
        } else if name.is_exact() {
            let known = self.survey.tools.catalogue_names();
            let help = did_you_mean(name.as_str(), known.iter().map(String::as_str));
            (format!("the catalogue `tools` does not name {shown}"), help)
        } else {
            (format!("{shown} matches no tool of the catalogue `tools`"), None)
        };
        let help = help.unwrap_or_else(|| "declare it under `tools`, or leave it out here".to_owned());
        self.report.error("tool-not-in-catalogue", place, said, help);
    }

    /// Patterns are compared with one another, so there may not be many.
    pub fn few_patterns(&mut self, table: &Fields<'_>) -> bool {
        let most = self.survey.tools.most_patterns();
        if most <= limits::PATTERNS {
            return true;
        }
        let said = format!("the table holds {most} different tool patterns; the most is {}", limits::PATTERNS);
        self.report.error("too-many", table.place, said, "name the tools, or use fewer and wider patterns");
        false
    }

    /// A tool of the catalogue that no stage allows can never be called.
    pub fn check_tools(&mut self, table: &Fields<'_>, model: &Model) {
        let Some(Kind::Map(entries)) = table.get("tools").map(|f| &f.node.kind) else {
            return;
        };
        // What the catalogue says of a tool binds nested runs too, whose stages may allow it.
        let nested = model.tools.iter().any(|tool| tool.nested.is_some());
        if model.stages.is_empty() || self.survey.tools.unsure || nested {
            return;
        }
        for entry in entries {
            if !self.survey.tools.allowed(&NamePattern::new(&entry.key)) {
                let said = format!("no stage allows the tool {}", quoted(&entry.key));
                self.report.error(
                    "tool-never-allowed",
                    entry.place,
                    said,
                    "put it into an `allowed_tools`, or leave it out",
                );
            }
        }
    }
}
