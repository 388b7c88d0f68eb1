//! Reads the parser's events into a tree. Nothing recurses: an explicit stack holds what is open.

use super::node::{Entry, Kind, Node, is_null};
use super::slip;
use crate::table::limits;
use crate::table::report::{Place, Report, quoted};
use serde_yaml::granit_parser::{Event, Options, Parser, ScalarStyle, Span, Tag};
use std::borrow::Cow;
use std::collections::HashMap;

/// Reads one document.
///
/// Returns `None` after a problem that leaves no tree.
pub(crate) fn read(text: &str, file: u16, report: &mut Report) -> Option<Node> {
    let whole = Place { file, line: 1, column: 1, width: 1 };
    if text.len() > limits::FILE_SIZE {
        let said = format!("the file holds {} bytes; the most is {}", text.len(), limits::FILE_SIZE);
        report.error("file-too-large", whole, said, "is this really a stage table?");
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(place) = slip::binary(text, file) {
        let help = "a stage table is YAML: plain text in UTF-8";
        report.error("not-text", place, "the file is not text: it holds control characters", help);
        return None;
    }
    let mut options = Options::default();
    options.flow_nesting_limit = limits::DEPTH;
    options.block_nesting_limit = limits::DEPTH;
    let mut tree =
        Builder { file, report, open: Vec::new(), root: None, anchors: HashMap::new(), nodes: 0, documents: 0 };
    for next in Parser::new_from_str_with_options(text, options) {
        match next {
            Ok((event, span)) => tree.take(event, span)?,
            Err(e) => {
                slip::explain(&e, text, file, tree.report);
                return None;
            }
        }
    }
    match tree.root.map(|built| built.node) {
        Some(Node { kind: Kind::Null, .. }) | None => {
            report.error(
                "empty-file",
                whole,
                "the file holds no stage table",
                "`stagekeeper new NAME` writes one to start from",
            );
            None
        }
        root => root,
    }
}

/// A text counts once more for each so many bytes, so that repeating long texts is bounded too.
const LONG_TEXT: usize = 64;

/// A finished value with what it costs to use it again.
#[derive(Clone)]
struct Built {
    node: Node,
    size: usize,
    depth: usize,
}

/// A collection whose end is still to come.
struct Open {
    place: Place,
    anchor: usize,
    size: usize,
    depth: usize,
    what: Collection,
}

enum Collection {
    List(Vec<Node>),
    Map { slots: Vec<Slot>, key: Option<Key>, seen: Seen },
}

enum Slot {
    Entry(Entry),
    /// What a merge key (`<<`) brings; explicit keys win, earlier sources win over later ones.
    Merge(Vec<Entry>),
}

struct Key {
    text: String,
    place: Place,
    merge: bool,
    twice: bool,
}

struct Builder<'r> {
    file: u16,
    report: &'r mut Report,
    open: Vec<Open>,
    root: Option<Built>,
    anchors: HashMap<usize, Built>,
    nodes: usize,
    documents: usize,
}

impl Builder<'_> {
    /// Takes one event; `None` stops the reading after a reported problem.
    fn take(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        let place = self.place(span);
        match event {
            Event::DocumentStart(..) => self.document(place),
            Event::Alias(id) => self.alias(id, place),
            Event::Scalar(text, style, anchor, tag) => self.scalar(text, style, anchor, tag, place),
            Event::SequenceStart(_, anchor, tag) => self.begin(place, anchor, tag, Collection::List(Vec::new())),
            Event::MappingStart(_, anchor, tag) => {
                let map = Collection::Map { slots: Vec::new(), key: None, seen: Seen::default() };
                self.begin(place, anchor, tag, map)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            _ => Some(()),
        }
    }

    fn place(&self, span: Span) -> Place {
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let width =
            if span.end.line() == span.start.line() { span.end.col().saturating_sub(span.start.col()) } else { 1 };
        Place {
            file: self.file,
            line: narrow(span.start.line().max(1)),
            column: narrow(span.start.col() + 1),
            width: narrow(width.max(1)),
        }
    }

    fn document(&mut self, place: Place) -> Option<()> {
        self.documents += 1;
        if self.documents == 1 {
            return Some(());
        }
        let help = "one file is one table: put the second into a file of its own";
        self.report.error("two-documents", place, "a second YAML document begins here", help);
        None
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<Cow<'_, Tag>>,
        place: Place,
    ) -> Option<()> {
        let as_text = self.tag(tag.as_deref(), place);
        let plain = style == ScalarStyle::Plain && !as_text;
        if let Some(Open { what: Collection::Map { key: key @ None, seen, .. }, .. }) = self.open.last_mut() {
            let twice = seen.get(&text);
            if let Some(first) = twice {
                let said = format!("the key {} stands here a second time", quoted(&text));
                let help = format!("it stands first in line {}: keep one of them", first.line);
                self.report.error("duplicate-key", place, said, help);
            } else {
                seen.insert(&text, place);
            }
            *key = Some(Key { merge: plain && text == "<<", text: text.into_owned(), place, twice: twice.is_some() });
            return Some(());
        }
        let kind = if plain && is_null(&text) { Kind::Null } else { Kind::Scalar { text: text.into_owned(), plain } };
        let size = match &kind {
            Kind::Scalar { text, .. } => 1 + text.len() / LONG_TEXT,
            _ => 1,
        };
        self.add(Built { node: Node { kind, place }, size, depth: 0 }, anchor)
    }

    /// Whether the tag makes text of a plain scalar. A tag that nobody knows is a problem, never ignored.
    fn tag(&mut self, tag: Option<&Tag>, place: Place) -> bool {
        let Some(tag) = tag else {
            return false;
        };
        match tag.core_suffix() {
            Some("str") => return true,
            Some("int" | "float" | "bool" | "null" | "seq" | "map") => {}
            _ => {
                let said = format!("the YAML tag {} means nothing in a stage table", quoted(&tag.original()));
                self.report.error("yaml-tag", place, said, "leave the tag out");
            }
        }
        false
    }

    fn begin(&mut self, place: Place, anchor: usize, tag: Option<Cow<'_, Tag>>, what: Collection) -> Option<()> {
        self.tag(tag.as_deref(), place);
        if matches!(self.open.last(), Some(Open { what: Collection::Map { key: None, .. }, .. })) {
            let help = "a value that begins with `{` or `[` needs quotes round it when it is meant as text";
            self.report.error("yaml-key", place, "a list or mapping cannot be a key", help);
            return None;
        }
        if self.open.len() >= limits::DEPTH {
            return self.too_deep(place);
        }
        self.open.push(Open { place, anchor, size: 1, depth: 1, what });
        Some(())
    }

    fn too_deep(&mut self, place: Place) -> Option<()> {
        let said = format!("more than {} lists and mappings stand inside one another here", limits::DEPTH);
        self.report.error("yaml-nesting", place, said, "a stage table needs fewer than ten");
        None
    }

    fn end(&mut self) -> Option<()> {
        let Open { place, anchor, size, depth, what } = self.open.pop()?;
        let kind = match what {
            Collection::List(items) => Kind::List(items),
            Collection::Map { slots, seen, .. } => Kind::Map(merged(slots, seen)),
        };
        self.add(Built { node: Node { kind, place }, size, depth }, anchor)
    }

    fn alias(&mut self, id: usize, place: Place) -> Option<()> {
        let Some(built) = self.anchors.get(&id) else {
            let help = "an alias can only stand after the whole value it repeats";
            self.report.error("yaml-alias", place, "this alias stands inside the value it repeats", help);
            return None;
        };
        let (size, depth) = (built.size, built.depth);
        if self.open.len() + depth > limits::DEPTH {
            return self.too_deep(place);
        }
        self.count(size, place)?;
        let Some(built) = self.anchors.get(&id).cloned() else {
            return Some(());
        };
        if let (Some(Open { what: Collection::Map { key: None, .. }, .. }), Some(text)) =
            (self.open.last(), built.node.scalar())
        {
            return self.scalar(Cow::Owned(text.to_owned()), ScalarStyle::DoubleQuoted, 0, None, place);
        }
        self.add(built, 0)
    }

    /// Counts values against the bound.
    fn count(&mut self, values: usize, place: Place) -> Option<()> {
        self.nodes = self.nodes.saturating_add(values);
        if self.nodes <= limits::NODES {
            return Some(());
        }
        let said = format!("the file holds more than {} values, repeats by aliases counted", limits::NODES);
        self.report.error("yaml-too-many-values", place, said, "do not repeat aliases inside aliases");
        None
    }

    /// Puts a finished value where it belongs.
    fn add(&mut self, built: Built, anchor: usize) -> Option<()> {
        // A value is counted where it stands, and once more, whole, for each copy that an anchor or an alias makes.
        let copied = if anchor == 0 { 1 } else { 1 + built.size };
        self.count(copied, built.node.place)?;
        if anchor != 0 {
            self.anchors.insert(anchor, built.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(built);
            return Some(());
        };
        open.size = open.size.saturating_add(built.size);
        open.depth = open.depth.max(built.depth + 1);
        match &mut open.what {
            Collection::List(items) => items.push(built.node),
            Collection::Map { slots, key, .. } => match key.take() {
                Some(Key { merge: true, place, twice: false, .. }) => {
                    slots.push(Slot::Merge(sources(built.node, place, self.report)));
                }
                Some(Key { text, place, twice: false, .. }) => {
                    slots.push(Slot::Entry(Entry { key: text, place, value: built.node }));
                }
                Some(_) => {}
                // Only an alias to a collection comes here without a key.
                None => {
                    let help = "name the key in plain words";
                    self.report.error("yaml-key", built.node.place, "a list or mapping cannot be a key", help);
                    return None;
                }
            },
        }
        Some(())
    }
}

/// The keys of one mapping so far. Most mappings are small, and a short list is faster than a hash table.
#[derive(Default)]
struct Seen {
    few: Vec<(String, Place)>,
    many: HashMap<String, Place>,
}

impl Seen {
    /// Keys kept in the list.
    const FEW: usize = 16;

    fn get(&self, key: &str) -> Option<Place> {
        let few = self.few.iter().find(|(k, _)| k == key).map(|(_, place)| *place);
        few.or_else(|| if self.many.is_empty() { None } else { self.many.get(key).copied() })
    }

    fn insert(&mut self, key: &str, place: Place) {
        if self.few.len() < Self::FEW {
            self.few.push((key.to_owned(), place));
        } else {
            self.many.insert(key.to_owned(), place);
        }
    }
}

/// The entries a merge key brings: of one mapping, or of a list of mappings.
fn sources(node: Node, place: Place, report: &mut Report) -> Vec<Entry> {
    let maps = match node.kind {
        Kind::List(items) => items,
        kind => vec![Node { kind, place: node.place }],
    };
    let mut entries = Vec::new();
    for map in maps {
        match map.kind {
            Kind::Map(of) => entries.extend(of),
            _ => report.error(
                "bad-merge",
                place,
                "`<<` can only take in a mapping",
                "write `<<: *NAME` with the name of an anchored mapping",
            ),
        }
    }
    entries
}

fn merged(slots: Vec<Slot>, mut seen: Seen) -> Vec<Entry> {
    let mut entries = Vec::with_capacity(slots.len());
    for slot in slots {
        match slot {
            Slot::Entry(entry) => entries.push(entry),
            Slot::Merge(sources) => {
                for entry in sources {
                    if seen.get(&entry.key).is_none() {
                        seen.insert(&entry.key, entry.place);
                        entries.push(entry);
                    }
                }
            }
        }
    }
    entries
}
