//! Many files at once: one thread reads, the others parse and play. What comes out does not depend on who was faster.

use super::counts::{By, Counts};
use super::play::{CannotPlay, play};
use super::read::{Reader, Unit, Unread};
use super::recording::Recording;
use crate::table::StageTable;
use std::collections::HashMap;
use std::io::BufRead;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Bytes of a batch, about: enough that handing over costs nothing.
const BATCH_BYTES: usize = 256 * 1024;
/// Runs of a batch at most.
const BATCH_UNITS: usize = 128;
/// Batches that wait, so that a fast reader does not fill the memory.
const QUEUE: usize = 4;
/// Most threads that play.
const MAX_WORKERS: usize = 16;
/// Most groups that are told apart.
pub const MAX_GROUPS: usize = 10_000;
/// Unreadable lines that are kept to be shown; the others are counted.
pub const MAX_SHOWN: usize = 20;
/// The group of those beyond [`MAX_GROUPS`].
const OTHER: &str = "(other)";

/// A file to score.
pub struct Source<'a> {
    /// Its name, as it is to be shown.
    pub file: String,
    /// What it holds; gzip is unpacked.
    pub input: Box<dyn BufRead + 'a>,
}

/// The scores of many runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scores {
    /// By group, in the order of first appearance.
    pub groups: Vec<(String, Counts)>,
    /// The first lines that could not be read, each with its file.
    pub unread: Vec<(String, Unread)>,
    /// How many there were.
    pub unread_in_all: u64,
}

/// Where something stands: the file's place among the files, then the line.
pub(super) type Place = (usize, u64);

struct Batch {
    file: usize,
    name: std::sync::Arc<str>,
    units: Vec<Unit>,
}

/// What could not be read, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UnreadList {
    shown: Vec<(Place, String, Unread)>,
    in_all: u64,
}

impl UnreadList {
    fn add(&mut self, place: Place, file: &str, unread: Unread) {
        self.in_all += 1;
        if self.shown.len() < MAX_SHOWN {
            self.shown.push((place, file.to_owned(), unread));
        }
    }

    fn merge(mut self, other: Self) -> Self {
        self.in_all += other.in_all;
        self.shown.extend(other.shown);
        self
    }

    /// The first ones with their files, and how many there are in all.
    pub(super) fn finish(mut self) -> (Vec<(String, Unread)>, u64) {
        self.shown.sort_by_key(|(place, ..)| *place);
        self.shown.truncate(MAX_SHOWN);
        (self.shown.into_iter().map(|(_, file, unread)| (file, unread)).collect(), self.in_all)
    }
}

/// What is done with every run, by one clerk a thread.
pub(super) trait Clerk: Send {
    /// Takes one run.
    ///
    /// # Errors
    /// Why it cannot be played.
    fn take(&mut self, place: Place, file: &str, run: &Recording) -> Result<(), CannotPlay>;
}

struct Tally<'t> {
    table: &'t StageTable,
    by: By,
    groups: HashMap<String, (Place, Counts)>,
}

/// Plays every run of every source on `table` and counts, on `workers` threads beside this one.
#[must_use]
pub fn score<'a>(table: &StageTable, sources: impl IntoIterator<Item = Source<'a>>, by: By, workers: usize) -> Scores {
    let (tallies, unread) = staff(sources, workers, || Tally { table, by, groups: HashMap::new() });
    let (unread, unread_in_all) = unread.finish();
    Scores { groups: merge(tallies), unread, unread_in_all }
}

/// Gives every run of every source to one of `workers` clerks; their work, in no order.
pub(super) fn staff<'a, C: Clerk>(
    sources: impl IntoIterator<Item = Source<'a>>,
    workers: usize,
    clerk: impl Fn() -> C + Sync,
) -> (Vec<C>, UnreadList) {
    let (sender, receiver) = sync_channel(QUEUE);
    let receiver = Mutex::new(receiver);
    std::thread::scope(|scope| {
        let work = || work(clerk(), &receiver);
        let crew: Vec<_> = (0..workers.clamp(1, MAX_WORKERS)).map(|_| scope.spawn(work)).collect();
        let mut unread = UnreadList::default();
        for (place, source) in sources.into_iter().enumerate() {
            hand_out(place, source, &sender, &mut unread);
        }
        drop(sender);
        let mut clerks = Vec::new();
        for worker in crew {
            match worker.join() {
                Ok((clerk, list)) => {
                    clerks.push(clerk);
                    unread = unread.merge(list);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        (clerks, unread)
    })
}

fn hand_out(place: usize, source: Source<'_>, sender: &SyncSender<Batch>, unread: &mut UnreadList) {
    let name: std::sync::Arc<str> = source.file.as_str().into();
    let reader = match Reader::new(&source.file, source.input) {
        Ok(reader) => reader,
        Err(error) => {
            let why = format!("the file cannot be read: {error}");
            return unread.add((place, 1), &name, Unread { line: 1, why });
        }
    };
    let (mut units, mut weight) = (Vec::new(), 0);
    for unit in reader {
        weight += unit.weight();
        units.push(unit);
        if weight >= BATCH_BYTES || units.len() >= BATCH_UNITS {
            weight = 0;
            // Nobody listens only when all workers have panicked; joining them says so.
            let _ = sender.send(Batch { file: place, name: name.clone(), units: std::mem::take(&mut units) });
        }
    }
    let _ = sender.send(Batch { file: place, name, units });
}

fn work<C: Clerk>(mut clerk: C, receiver: &Mutex<Receiver<Batch>>) -> (C, UnreadList) {
    let mut unread = UnreadList::default();
    loop {
        let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Batch { file, name, units }) = next else { return (clerk, unread) };
        for unit in units {
            one(&mut clerk, &mut unread, file, &name, unit);
        }
    }
}

fn one(clerk: &mut impl Clerk, unread: &mut UnreadList, file: usize, name: &str, unit: Unit) {
    let run = match unit.open(name) {
        Ok(run) => run,
        Err(error) => return unread.add((file, error.line), name, error),
    };
    let (place, line) = ((file, run.line), run.line);
    if run.left_out > 0 {
        let why = format!("the run has {} calls more than are read of one run", run.left_out);
        unread.add(place, name, Unread { line, why });
    }
    if let Err(why) = clerk.take(place, name, &run) {
        unread.add(place, name, Unread { line, why: why.to_string() });
    }
}

impl Clerk for Tally<'_> {
    fn take(&mut self, place: Place, file: &str, run: &Recording) -> Result<(), CannotPlay> {
        let played = play(self.table, run)?;
        let (first, counts) = self.group(self.by.group(file, run), place);
        *first = place.min(*first);
        counts.count(run.success, &played);
        Ok(())
    }
}

impl Tally<'_> {
    fn group(&mut self, name: &str, place: Place) -> &mut (Place, Counts) {
        let known = self.groups.contains_key(name) || self.groups.len() < MAX_GROUPS;
        let name = if known { name } else { OTHER };
        self.groups.entry(name.to_owned()).or_insert_with(|| (place, Counts::default()))
    }
}

fn merge(tallies: Vec<Tally<'_>>) -> Vec<(String, Counts)> {
    let mut all: HashMap<String, (Place, Counts)> = HashMap::new();
    for (name, (place, counts)) in tallies.into_iter().flat_map(|tally| tally.groups) {
        let (first, sum) = all.entry(name).or_insert_with(|| (place, Counts::default()));
        *first = place.min(*first);
        *sum += counts;
    }
    let mut groups: Vec<(String, (Place, Counts))> = all.into_iter().collect();
    groups.sort_by(|a, b| (a.1.0, &a.0).cmp(&(b.1.0, &b.0)));
    groups.into_iter().map(|(name, (_, counts))| (name, counts)).collect()
}
