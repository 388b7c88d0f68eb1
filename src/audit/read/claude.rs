//! Transcripts of Claude Code: one entry a line, a session a file, subagents ("sidechains") among them.
//!
//! A subagent is a run of its own. A reply is spread over several entries, one block each, with one message id.

use super::messages::{self, Message};
use crate::audit::recording::Builder;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;

/// Most subagents of one session; later ones are left out.
const MAX_AGENTS: usize = 1_000;
/// Most entries of subagents whose place is remembered.
const MAX_LINKS: usize = 200_000;
/// Entries that Claude Code writes in the model's place.
const SYNTHETIC: &str = "<synthetic>";

/// One line.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    uuid: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    parent_uuid: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    session_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    agent_id: Option<Cow<'a, str>>,
    #[serde(default)]
    is_sidechain: Option<bool>,
    #[serde(default)]
    is_meta: Option<bool>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

/// What a message has beside role and content.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
}

impl<'a> Entry<'a> {
    /// Parses a line.
    pub fn read(line: &'a [u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(line)
    }

    fn is_message(&self) -> bool {
        matches!(&*self.kind, "user" | "assistant") && self.is_meta != Some(true)
    }
}

/// A session and its subagents.
#[derive(Default)]
pub struct Going {
    session: Option<String>,
    main: Option<Builder>,
    agents: Vec<Builder>,
    /// Agent id, or uuid of an entry of a subagent, → place in `agents`.
    links: HashMap<String, usize>,
    entries: u64,
}

impl Going {
    /// Whether the entry begins another session.
    pub fn is_other_session(&self, entry: &Entry<'_>) -> bool {
        entry.is_message()
            && matches!((&self.session, &entry.session_id), (Some(session), Some(other)) if session != other)
    }

    /// Takes one entry.
    pub fn entry(&mut self, number: u64, entry: &Entry<'_>) -> serde_json::Result<()> {
        let Some(raw) = entry.message.filter(|_| entry.is_message()) else { return Ok(()) };
        let message: Message<'_> = serde_json::from_str(raw.get())?;
        let head: Head<'_> = serde_json::from_str(raw.get())?;
        if self.session.is_none() {
            self.session = entry.session_id.as_deref().map(str::to_owned);
        }
        self.entries += 1;
        let turn = head.id.map_or_else(|| format!("#{}", self.entries), Cow::into_owned);
        let Some(builder) = self.run_of(number, entry) else { return Ok(()) };
        if let Some(model) = head.model.filter(|model| model != SYNTHETIC)
            && builder.head().model.is_empty()
        {
            builder.head().model = model.into_owned();
        }
        messages::add(builder, &turn, &message)
    }

    /// The main run, then the subagents in the order they began.
    pub fn finish(self) -> Vec<Builder> {
        self.main.into_iter().chain(self.agents).collect()
    }

    fn run_of(&mut self, number: u64, entry: &Entry<'_>) -> Option<&mut Builder> {
        if entry.is_sidechain != Some(true) {
            let session = &self.session;
            return Some(self.main.get_or_insert_with(|| begin(number, session.clone().unwrap_or_default())));
        }
        let known = [&entry.agent_id, &entry.parent_uuid];
        let place = known.into_iter().flatten().find_map(|key| self.links.get(&**key).copied());
        let place = match place {
            Some(place) => place,
            None if self.agents.len() < MAX_AGENTS => {
                let place = self.agents.len();
                let name = entry.agent_id.as_deref().map_or_else(|| (place + 1).to_string(), str::to_owned);
                let session = self.session.as_deref().unwrap_or_default();
                self.agents.push(begin(number, format!("{session}/{name}")));
                place
            }
            None => return None,
        };
        if self.links.len() < MAX_LINKS {
            let keys = [&entry.agent_id, &entry.uuid];
            self.links.extend(keys.into_iter().flatten().map(|key| (key.clone().into_owned(), place)));
        }
        self.agents.get_mut(place)
    }
}

fn begin(number: u64, id: String) -> Builder {
    let mut builder = Builder::new(number);
    builder.head().id = id;
    builder.head().source = "claude-code".to_owned();
    builder
}
