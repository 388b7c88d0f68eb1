//! `messages`: the texts said to the model, replaced one by one or as a whole set.

use super::fields::{Field, Fields};
use super::{Loader, default_messages, scope};
use crate::table::keys;
use crate::table::limits;
use crate::table::messages::{MESSAGES, MessageText};
use crate::table::report::{did_you_mean, quoted};
use crate::table::script::Text;
use crate::table::yaml::{self, Entry, Kind, Node};

/// The key that takes in a whole set; no message has this name.
const WHOLE_SET: &str = "from";

impl Loader<'_> {
    /// All texts in the order of [`MESSAGES`].
    pub fn messages(&mut self, table: &Fields<'_>) -> Vec<Text> {
        let mut texts = default_messages(&mut self.scripts);
        let Some(field) = table.get("messages") else {
            return texts;
        };
        let entries = self.entries(field, limits::ENTRIES).unwrap_or_default();
        // The set first, so that single texts beside it win wherever they stand.
        for entry in entries.iter().filter(|e| e.key == WHOLE_SET) {
            self.message_set(entry, &mut texts);
        }
        for entry in entries.iter().filter(|e| e.key != WHOLE_SET) {
            self.message(entry, &mut texts);
        }
        texts
    }

    fn message_set(&mut self, entry: &Entry, texts: &mut [Text]) {
        let Some(name) = self.text_of(&entry.value, WHOLE_SET).map(str::to_owned) else {
            return;
        };
        let Some(text) = self.included(&name, &entry.value) else {
            return;
        };
        let file = self.report.add_file(&format!("{}{name}", self.folder));
        let Some(root) = yaml::read(&text, file, &mut self.report) else {
            return;
        };
        let Kind::Map(entries) = &root.kind else {
            self.wrong_type(&root, "the file of messages", "a mapping");
            return;
        };
        for entry in entries {
            self.message(entry, texts);
        }
    }

    fn message(&mut self, entry: &Entry, texts: &mut [Text]) {
        let Some(index) = MESSAGES.iter().position(|m| m.name == entry.key) else {
            let said = format!("there is no message {}", quoted(&entry.key));
            self.report.error(
                "unknown-message",
                entry.place,
                said,
                did_you_mean(&entry.key, MESSAGES.iter().map(|m| m.name)),
            );
            return;
        };
        let Some(known) = MESSAGES.get(index) else {
            return;
        };
        let text = if matches!(entry.value.kind, Kind::Map(_)) {
            self.message_file(&entry.value, known)
        } else {
            self.message_text(&entry.value, known)
        };
        if let (Some(text), Some(slot)) = (text, texts.get_mut(index)) {
            *slot = text;
        }
    }

    fn message_text(&mut self, node: &Node, known: &'static MessageText) -> Option<Text> {
        self.template(node, known.name, &scope::TEXT.with(known.names))
    }

    /// One text kept in a file of its own.
    fn message_file(&mut self, node: &Node, known: &'static MessageText) -> Option<Text> {
        let fields = self.object(node, &keys::INCLUDE, &quoted(known.name))?;
        let from: Field<'_> = fields.get("from")?;
        let name = self.text(from)?;
        let text = self.included(&name, from.node)?;
        let node =
            Node { kind: Kind::Scalar { text: text.trim_end().to_owned(), plain: false }, place: from.node.place };
        self.message_text(&node, known)
    }

    /// The text of a file in the table's folder.
    pub fn included(&mut self, written: &str, node: &Node) -> Option<String> {
        let name = &format!("{}{written}", self.folder);
        if let Some(text) = self.included.get(name) {
            return Some(text.clone());
        }
        if !stays_inside(written) {
            let said = format!("{} leads out of the table's folder", quoted(written));
            self.report.error(
                "include-outside",
                node.place,
                said,
                "name a file beside the table or below, such as `texts/zh.yaml`",
            );
            return None;
        }
        if self.included.len() >= limits::INCLUDES {
            let said = format!("the table includes more than {} files", limits::INCLUDES);
            self.report.error(
                "too-many",
                node.place,
                said,
                "write the texts into one file, `messages: { from: FILE }`, and use fewer nested tables",
            );
            return None;
        }
        match (self.include)(name) {
            Ok(text) if text.len() > limits::FILE_SIZE => {
                let said = format!("{} holds more than {} bytes", quoted(name), limits::FILE_SIZE);
                self.report.error("file-too-large", node.place, said, "is this really the file that is meant?");
                None
            }
            Ok(text) => {
                self.included.insert(name.to_owned(), text.clone());
                Some(text)
            }
            Err(why) => {
                self.report.error(
                    "include-not-read",
                    node.place,
                    format!("{} cannot be read: {why}", quoted(name)),
                    "is the name right?",
                );
                None
            }
        }
    }
}

/// Whether a path stays in the folder it starts from, on every system.
fn stays_inside(path: &str) -> bool {
    let odd = |c: char| c.is_control() || matches!(c, '\\' | ':');
    !path.is_empty() && !path.contains(odd) && !path.split('/').any(|part| matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_must_stay_in_the_folder() {
        for path in ["a.yaml", "texts/zh.yaml", "..a"] {
            assert!(stays_inside(path), "{path}");
        }
        for path in ["", "/etc/passwd", "../a", "a/../../b", "C:x", "a\\b", "a//b", "./a", "a\0"] {
            assert!(!stays_inside(path), "{path}");
        }
    }
}
