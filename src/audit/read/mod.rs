//! Readers of recorded runs: the format is seen from the file's first lines.

mod claude;
mod messages;
mod neutral;
mod trace;

use super::lines::{Lines, MAX_DOCUMENT, MAX_LINE, Next};
use super::recording::{Builder, Recording};
use crate::engine::input::Status;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::io::BufRead;

/// Lines without a known format before a file is given up.
const MAX_STRANGE: u32 = 20;

/// Said of a file that begins with bytes that are no text.
const NOT_TEXT: &str =
    "the file is binary, and no recording: those are lines of JSON, plain or gzip, or a store of runs";

/// A line or a file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The line, from 1.
    pub line: u64,
    /// Why, in lower case, without a full stop.
    pub why: String,
}

/// The next piece of a file.
#[derive(Debug)]
pub enum Unit {
    /// A line that holds a whole run and waits to be opened, on whatever thread.
    Line(SealedLine),
    /// A run.
    Run(Box<Recording>),
    /// Something that could not be read.
    Unread(Unread),
}

impl Unit {
    /// Parses what is not parsed yet. `Ok(None)` for a blank line.
    ///
    /// # Errors
    /// With the line and what is wrong with it.
    pub fn open(self, file: &str) -> Result<Recording, Unread> {
        match self {
            Self::Run(run) => Ok(*run),
            Self::Unread(unread) => Err(unread),
            Self::Line(SealedLine { number, text, whole }) => {
                let named = |line| format!("{file}:{line}");
                let read = match whole {
                    Whole::Neutral => neutral::read(number, &text, named),
                    Whole::List => messages::read_list(number, &text, named),
                };
                read.map_err(|error| wrong(number, &error))
            }
        }
    }

    /// How many bytes it holds, about.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Line(line) => line.text.len(),
            Self::Run(run) => run.turns.iter().flat_map(|turn| &turn.calls).map(|c| 200 + c.arguments.len()).sum(),
            Self::Unread(_) => 100,
        }
    }
}

/// A line that holds a whole run.
#[derive(Debug)]
pub struct SealedLine {
    number: u64,
    text: Vec<u8>,
    whole: Whole,
}

/// Formats in which a line is a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Neutral,
    List,
}

/// How a file is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// One run a line.
    Lines(Whole),
    /// Our own trace.
    Trace,
    /// One message a line.
    Messages,
    /// A transcript of Claude Code.
    Claude,
    /// One JSON text over the whole file.
    Document,
}

/// A run that goes on over several lines.
enum Going {
    None,
    Trace(Box<trace::Going>),
    Messages(Box<messages::Going>),
    Claude(Box<claude::Going>),
}

/// Reads the runs of one file, one after another.
pub struct Reader<'a> {
    file: String,
    lines: Lines<'a>,
    format: Option<Format>,
    going: Going,
    ready: VecDeque<Unit>,
    strange: u32,
    done: bool,
}

impl<'a> Reader<'a> {
    /// Begins to read; `file` names runs that have no id of their own.
    ///
    /// # Errors
    /// When the input cannot be read at all.
    pub fn new(file: &str, input: impl BufRead + 'a) -> std::io::Result<Self> {
        let lines = Lines::new(input)?;
        Ok(Self {
            file: file.to_owned(),
            lines,
            format: None,
            going: Going::None,
            ready: VecDeque::new(),
            strange: 0,
            done: false,
        })
    }

    fn advance(&mut self) {
        let mut line = Vec::new();
        let number = self.lines.number + 1;
        match self.lines.next(&mut line) {
            Ok(Next::Line) if line.trim_ascii().is_empty() => {}
            Ok(Next::Line) => self.line(number, line),
            Ok(Next::TooLong) => self.unread(number, format!("the line is longer than {MAX_LINE} bytes")),
            Ok(Next::End) => self.end(),
            Err(error) => {
                self.unread(number, format!("the file cannot be read on: {error}"));
                self.end();
            }
        }
    }

    fn line(&mut self, number: u64, mut line: Vec<u8>) {
        if number == 1 && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if self.format.is_none() {
            if line.contains(&0) || std::str::from_utf8(&line).is_err_and(|e| e.error_len().is_some()) {
                return self.give_up(number, NOT_TEXT.to_owned());
            }
            self.format = format_of(&line);
        }
        match self.format {
            None => self.strange(number, &line),
            Some(Format::Document) => self.document(number, line),
            Some(Format::Lines(whole)) => {
                self.ready.push_back(Unit::Line(SealedLine { number, text: line, whole }));
            }
            Some(Format::Trace) => self.trace(number, &line),
            Some(Format::Messages) => self.message(number, &line),
            Some(Format::Claude) => self.claude(number, &line),
        }
    }

    fn trace(&mut self, number: u64, line: &[u8]) {
        if !matches!(self.going, Going::Trace(_)) || trace::is_header(line) {
            self.close();
            match trace::Going::begin(number, line) {
                Ok(going) => self.going = Going::Trace(Box::new(going)),
                Err(error) => self.wrong(number, &error),
            }
        } else if let Going::Trace(going) = &mut self.going
            && let Err(error) = going.line(line)
        {
            self.wrong(number, &error);
        }
    }

    fn message(&mut self, number: u64, line: &[u8]) {
        if !matches!(self.going, Going::Messages(_)) {
            self.going = Going::Messages(Box::new(messages::Going::begin(number)));
        }
        if let Going::Messages(going) = &mut self.going
            && let Err(error) = going.line(line)
        {
            self.wrong(number, &error);
        }
    }

    fn claude(&mut self, number: u64, line: &[u8]) {
        let entry = match claude::Entry::read(line) {
            Ok(entry) => entry,
            Err(error) => return self.wrong(number, &error),
        };
        if let Going::Claude(going) = &self.going
            && going.is_other_session(&entry)
        {
            self.close();
        }
        if !matches!(self.going, Going::Claude(_)) {
            self.going = Going::Claude(Box::default());
        }
        if let Going::Claude(going) = &mut self.going
            && let Err(error) = going.entry(number, &entry)
        {
            self.wrong(number, &error);
        }
    }

    /// A file that is one JSON text: a list of messages, a list of runs, or one run over many lines.
    fn document(&mut self, number: u64, mut text: Vec<u8>) {
        text.push(b'\n');
        match self.lines.rest(&mut text) {
            Ok(true) => {}
            Ok(false) => return self.give_up(number, format!("the document is longer than {MAX_DOCUMENT} bytes")),
            Err(error) => return self.give_up(number, format!("the file cannot be read on: {error}")),
        }
        if text.trim_ascii_start().starts_with(b"[") {
            match serde_json::from_slice::<Vec<&RawValue>>(&text) {
                Ok(elements) => self.elements(number, &text, &elements),
                Err(error) => {
                    self.wrong(number, &error);
                    self.end();
                }
            }
        } else {
            match format_of(&text) {
                Some(Format::Lines(whole)) => {
                    self.ready.push_back(Unit::Line(SealedLine { number, text, whole }));
                    self.end();
                }
                _ => self.give_up(number, "the document is of no format that is known here".into()),
            }
        }
    }

    fn elements(&mut self, first: u64, text: &[u8], elements: &[&RawValue]) {
        self.format = elements.first().and_then(|element| format_of(element.get().as_bytes()));
        if matches!(self.format, None | Some(Format::Document | Format::Trace)) && !elements.is_empty() {
            return self.give_up(first, "the list is of no format that is known here".into());
        }
        let (mut number, mut from) = (first, 0);
        for element in elements {
            let at = (element.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
            number += text.get(from..at).unwrap_or_default().iter().filter(|&&b| b == b'\n').count() as u64;
            from = at.max(from);
            self.line(number, element.get().as_bytes().to_vec());
        }
        self.end();
    }

    fn strange(&mut self, number: u64, line: &[u8]) {
        self.strange += 1;
        if self.strange < MAX_STRANGE {
            match serde_json::from_slice::<IgnoredAny>(line) {
                Ok(_) => self.unread(number, "the line is of no format that is known here".into()),
                Err(error) => self.wrong(number, &error),
            }
        } else {
            self.give_up(number, "no line so far is of a format that is known here; the rest is left out".into());
        }
    }

    fn give_up(&mut self, number: u64, why: String) {
        self.unread(number, why);
        self.end();
    }

    fn end(&mut self) {
        self.close();
        self.done = true;
    }

    /// Hands out the run under way.
    fn close(&mut self) {
        match std::mem::replace(&mut self.going, Going::None) {
            Going::None => {}
            Going::Trace(going) => self.run(going.finish()),
            Going::Messages(going) => self.run(going.finish()),
            Going::Claude(going) => going.finish().into_iter().for_each(|builder| self.run(builder)),
        }
    }

    fn run(&mut self, builder: Builder) {
        let file = &self.file;
        let run = builder.finish(|line| format!("{file}:{line}"));
        self.ready.push_back(Unit::Run(Box::new(run)));
    }

    fn wrong(&mut self, first: u64, error: &serde_json::Error) {
        self.ready.push_back(Unit::Unread(wrong(first, error)));
    }

    fn unread(&mut self, line: u64, why: String) {
        self.ready.push_back(Unit::Unread(Unread { line, why }));
    }
}

impl Iterator for Reader<'_> {
    type Item = Unit;

    fn next(&mut self) -> Option<Unit> {
        while self.ready.is_empty() && !self.done {
            self.advance();
        }
        self.ready.pop_front()
    }
}

/// What tells the formats apart: which keys a line has.
#[derive(Deserialize)]
struct Keys {
    stagekeeper_trace: Option<IgnoredAny>,
    events: Option<IgnoredAny>,
    messages: Option<IgnoredAny>,
    role: Option<IgnoredAny>,
    r#type: Option<IgnoredAny>,
}

fn format_of(line: &[u8]) -> Option<Format> {
    let line = line.trim_ascii();
    if line.starts_with(b"[") {
        return Some(Format::Document);
    }
    match serde_json::from_slice::<Keys>(line) {
        Ok(Keys { stagekeeper_trace: Some(_), .. }) => Some(Format::Trace),
        Ok(Keys { events: Some(_), .. }) => Some(Format::Lines(Whole::Neutral)),
        Ok(Keys { messages: Some(_), .. }) => Some(Format::Lines(Whole::List)),
        Ok(Keys { role: Some(_), .. }) => Some(Format::Messages),
        Ok(Keys { r#type: Some(_), .. }) => Some(Format::Claude),
        // A JSON text laid out over many lines breaks them after these.
        Err(why) if why.is_eof() && matches!(line.last(), Some(b'{' | b',' | b'[')) => Some(Format::Document),
        _ => None,
    }
}

/// What a JSON library says of a text that begins in line `first`, in our words.
fn wrong(first: u64, error: &serde_json::Error) -> Unread {
    let what = match error.classify() {
        serde_json::error::Category::Eof => "the JSON ends too early",
        serde_json::error::Category::Data => "the line does not have the keys of its format",
        _ => "the line is not JSON",
    };
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    let line = first + (error.line() as u64).saturating_sub(1);
    Unread { line, why: format!("{what}: {said} (column {})", error.column()) }
}

/// Raw JSON arguments: an object as it was written, or the text of a string that holds one.
fn arguments(raw: Option<&RawValue>) -> String {
    match raw.map(RawValue::get) {
        None | Some("null") => String::new(),
        Some(text) if text.starts_with('"') => serde_json::from_str(text).unwrap_or_default(),
        Some(text) => text.to_owned(),
    }
}

/// What `is_error` says; a recording that does not say means no error.
fn status(is_error: Option<bool>) -> Status {
    if is_error == Some(true) { Status::Error } else { Status::Ok }
}
