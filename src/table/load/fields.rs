//! Mappings with a closed set of keys.

use super::Loader;
use crate::table::keys::{Key, Object};
use crate::table::report::{Place, nearest, quoted};
use crate::table::yaml::{Entry, Kind, Node};

/// One key that stands in the file, with its value.
#[derive(Clone, Copy)]
pub(super) struct Field<'n> {
    pub key: &'static Key,
    pub node: &'n Node,
    /// Where the key stands.
    pub place: Place,
}

/// The known keys of one mapping.
pub(super) struct Fields<'n> {
    found: Vec<Field<'n>>,
    /// Where the mapping begins.
    pub place: Place,
}

impl<'n> Fields<'n> {
    pub fn get(&self, name: &str) -> Option<Field<'n>> {
        self.found.iter().find(|f| f.key.name == name).copied()
    }

    /// The fields in file order.
    pub fn all(&self) -> impl Iterator<Item = Field<'n>> {
        self.found.iter().copied()
    }
}

impl Loader<'_> {
    /// Reads a mapping against its description: unknown keys, keys not built yet and missing ones are reported.
    ///
    /// `what` names the mapping in messages; `None` when it is no mapping at all.
    pub fn object<'n>(&mut self, node: &'n Node, object: &'static Object, what: &str) -> Option<Fields<'n>> {
        self.object_at(node, object, what, node.place)
    }

    /// As [`Loader::object`], with the place where a missing key is reported.
    pub fn object_at<'n>(
        &mut self,
        node: &'n Node,
        object: &'static Object,
        what: &str,
        place: Place,
    ) -> Option<Fields<'n>> {
        let Kind::Map(entries) = &node.kind else {
            self.wrong_type(node, what, "a mapping");
            return None;
        };
        let mut found = Vec::with_capacity(entries.len());
        for entry in entries {
            match object.key(&entry.key) {
                Some(key) => found.push(Field { key, node: &entry.value, place: entry.place }),
                None => self.unknown_key(entry, object, what),
            }
        }
        for key in object.keys.iter().filter(|k| k.required) {
            if !entries.iter().any(|e| e.key == key.name) {
                let said = format!("{what} has no {}", quoted(key.name));
                self.report.error("missing-key", place, said, first_sentence(key.about));
            }
        }
        Some(Fields { found, place })
    }

    fn unknown_key(&mut self, entry: &Entry, object: &'static Object, what: &str) {
        let said = format!("{} is not a key of {}", quoted(&entry.key), article(object.name, what));
        let peer = object.peers.iter().find(|(name, _)| *name == entry.key).map(|(_, help)| (*help).to_owned());
        let help = peer.or_else(|| {
            let near = nearest(&entry.key, object.keys.iter().map(|k| k.name))?;
            Some(format!("did you mean {}?", quoted(near)))
        });
        let help = help.or_else(|| {
            let keys: Vec<String> = object.keys.iter().map(|k| quoted(k.name)).collect();
            Some(format!("its keys are {}", keys.join(", ")))
        });
        self.report.error("unknown-key", entry.place, said, help);
    }
}

/// `the table` stays, anything else is named by its kind.
fn article(kind: &str, what: &str) -> String {
    if what.starts_with("the ") {
        return what.to_owned();
    }
    let vowel = kind.starts_with(['a', 'e', 'i', 'o', 'u']);
    let kind = kind.replace('_', " ");
    format!("{} {kind}", if vowel { "an" } else { "a" })
}

/// The first sentence of a description, as a help text.
fn first_sentence(about: &str) -> String {
    let sentence = about.split_once(". ").map_or(about, |(first, _)| first).trim_end_matches('.');
    let mut chars = sentence.chars();
    let lower: String = chars.next().map(|c| c.to_lowercase().collect()).unwrap_or_default();
    lower + chars.as_str()
}
