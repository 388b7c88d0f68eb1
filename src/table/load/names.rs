//! Names the user gives: which are good, which are taken.

use super::fields::Field;
use super::{Loader, scope};
use crate::table::keys::{RESERVED, RESERVED_PREFIX};
use crate::table::limits;
use crate::table::names::{FactId, NamePattern, StageId};
use crate::table::report::{Place, did_you_mean, quoted};
use crate::table::script::Text;
use crate::table::yaml::Node;

/// What a name is for, and so which characters it may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// A workflow, a stage or a rule: letters of any script, digits, `_` and `-`.
    Thing(&'static str),
    /// A fact: read as `facts.NAME`, so an identifier.
    Fact,
    /// A tool, as its provider names it.
    Tool,
    /// A tool, or a pattern.
    ToolPattern,
}

impl Named {
    fn kind(self) -> &'static str {
        match self {
            Self::Thing(kind) => kind,
            Self::Fact => "fact",
            Self::Tool | Self::ToolPattern => "tool",
        }
    }

    fn allows(self, name: &str) -> bool {
        let first = name.chars().next();
        match self {
            Self::Thing(_) => {
                first.is_some_and(char::is_alphanumeric)
                    && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
            }
            Self::Fact => {
                first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
                    && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            }
            Self::Tool | Self::ToolPattern => {
                let sign = |c| matches!(c, '_' | '-' | '.' | ':' | '/') || (c == '*' && self == Self::ToolPattern);
                first.is_some() && name.chars().all(|c| c.is_ascii_alphanumeric() || sign(c))
            }
        }
    }

    fn rule(self) -> &'static str {
        match self {
            Self::Thing(_) => "a name holds letters, digits, `_` and `-`, and begins with a letter or digit",
            Self::Fact => {
                "the name of a fact holds the letters a to z, digits and `_`, and begins with a letter or `_`"
            }
            Self::Tool => "the name of a tool holds the letters a to z, digits and `_ - . : /`",
            Self::ToolPattern => {
                "a tool is named by the letters a to z, digits and `_ - . : /`; `*` stands for any characters"
            }
        }
    }
}

impl Loader<'_> {
    /// Whether a name may be given; what is wrong with it is reported.
    pub fn good_name(&mut self, name: &str, place: Place, named: Named) -> bool {
        let kind = named.kind();
        if name.chars().nth(limits::NAME).is_some() {
            let said = format!("the name of this {kind} is longer than {} characters", limits::NAME);
            self.report.error("bad-name", place, said, "shorten it");
            return false;
        }
        if !named.allows(name) {
            self.report.error(
                "bad-name",
                place,
                format!("{} cannot be the name of a {kind}", quoted(name)),
                named.rule(),
            );
            return false;
        }
        let word =
            matches!(named, Named::Thing("stage") | Named::Tool | Named::ToolPattern) && RESERVED.contains(&name);
        if word || name.starts_with(RESERVED_PREFIX) {
            let said = format!("{} is a reserved name", quoted(name));
            let words: Vec<String> = RESERVED.iter().map(|w| quoted(w)).collect();
            let help = format!(
                "choose another: for stages and tools {} are reserved, for everything names that begin with `{RESERVED_PREFIX}`",
                words.join(", ")
            );
            self.report.error("reserved-name", place, said, help);
            return false;
        }
        true
    }

    /// The workflow's name.
    pub fn own_name(&mut self, field: Field<'_>) -> Option<String> {
        let name = self.text(field)?;
        self.good_name(&name, field.node.place, Named::Thing("workflow")).then_some(name)
    }

    /// Reports a stage, fact or tool that the table does not declare.
    pub fn unknown_name(&mut self, kind: &'static str, name: &str, place: Place) {
        // Beyond what is shown, the search for a near name is not worth its time.
        let search = self.report.errors() < limits::PROBLEMS;
        let (code, names) = match kind {
            "stage" => ("unknown-stage", if search { self.survey.stage_names() } else { Vec::new() }),
            "fact" => ("unknown-fact", if search { self.survey.fact_names() } else { Vec::new() }),
            _ => ("unknown-tool", if search { self.survey.tools.names() } else { Vec::new() }),
        };
        let help = did_you_mean(name, names.iter().map(String::as_str));
        let help = help.unwrap_or_else(|| format!("the table declares no {kind}"));
        self.report.error(code, place, format!("there is no {kind} {}", quoted(name)), help);
    }

    /// The stage of that name.
    pub fn stage_named(&mut self, node: &Node, what: &str) -> Option<StageId> {
        let name = self.text_of(node, what)?;
        let stage = self.survey.stage(name);
        if stage.is_none() {
            self.unknown_name("stage", name, node.place);
        }
        stage
    }

    /// The fact of that name.
    pub fn fact_named(&mut self, name: &str, place: Place) -> Option<FactId> {
        let fact = self.survey.fact(name);
        if fact.is_none() {
            self.unknown_name("fact", name, place);
        }
        fact
    }

    /// `requires`: fact → text.
    pub fn requires(&mut self, field: Field<'_>) -> Vec<(FactId, Text)> {
        let mut required = Vec::new();
        for entry in self.entries(field, limits::ENTRIES).unwrap_or_default() {
            let fact = self.fact_named(&entry.key, entry.place);
            let text = self.template(&entry.value, &format!("the text for {}", quoted(&entry.key)), &scope::TEXT);
            required.extend(fact.zip(text));
        }
        required
    }

    /// A tool or pattern that catalogue or stages know.
    pub fn known_tool(&mut self, name: &str, place: Place) -> Option<NamePattern> {
        if !self.good_name(name, place, Named::ToolPattern) {
            return None;
        }
        let pattern = NamePattern::new(name);
        if !self.survey.tools.knows(&pattern) {
            self.unknown_name("tool", name, place);
        }
        Some(pattern)
    }
}

impl NamePattern {
    /// Whether some name fits both. Of patterns with stars in the middle only beginning and end are compared.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (self.is_exact(), other.is_exact()) {
            (true, _) => other.matches(self.as_str()),
            (_, true) => self.matches(other.as_str()),
            _ => {
                let (a, b) = (ends(self.as_str()), ends(other.as_str()));
                (a.0.starts_with(b.0) || b.0.starts_with(a.0)) && (a.1.ends_with(b.1) || b.1.ends_with(a.1))
            }
        }
    }
}

/// What stands before the first and after the last star.
fn ends(pattern: &str) -> (&str, &str) {
    let head = pattern.split('*').next().unwrap_or_default();
    let tail = pattern.rsplit('*').next().unwrap_or_default();
    (head, tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_spaces_and_emoji_are_refused() {
        for name in ["two words", "🔥", "a/b", "", "-a", "a\u{200b}"] {
            assert!(!Named::Thing("stage").allows(name), "{name}");
        }
        for name in ["explore", "gen_files", "step-2", "探索", "2nd"] {
            assert!(Named::Thing("stage").allows(name), "{name}");
        }
        assert!(!Named::Fact.allows("my-fact"));
        assert!(Named::ToolPattern.allows("mcp__github:*/read.file-x"));
        assert!(!Named::Tool.allows("fs_*"));
    }

    #[test]
    fn patterns_overlap_when_a_name_fits_both() {
        let overlap = |a, b| NamePattern::new(a).overlaps(&NamePattern::new(b));
        assert!(overlap("fs_*", "fs_read*"));
        assert!(overlap("fs_*", "*_read"));
        assert!(overlap("fs_*", "fs_read"));
        assert!(!overlap("fs_*", "git_*"));
        assert!(!overlap("*_read", "*_write"));
    }
}
