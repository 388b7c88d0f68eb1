//! Many files at once: one thread reads, the others parse and play. What comes out does not depend on who was faster.

use super::counts::{By, Counts};
use super::play::play;
use super::read::{Reader, Unit, Unread};
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
type Place = (usize, u64);

struct Batch {
    file: usize,
    name: std::sync::Arc<str>,
    units: Vec<Unit>,
}

#[derive(Default)]
struct Tally {
    groups: HashMap<String, (Place, Counts)>,
    unread: Vec<(Place, String, Unread)>,
    unread_in_all: u64,
}

/// Plays every run of every source on `table` and counts, on `workers` threads beside this one.
#[must_use]
pub fn score<'a>(table: &StageTable, sources: impl IntoIterator<Item = Source<'a>>, by: By, workers: usize) -> Scores {
    let (sender, receiver) = sync_channel(QUEUE);
    let receiver = Mutex::new(receiver);
    let tallies = std::thread::scope(|scope| {
        let work = || work(table, by, &receiver);
        let crew: Vec<_> = (0..workers.clamp(1, MAX_WORKERS)).map(|_| scope.spawn(work)).collect();
        let mut own = Tally::default();
        for (place, source) in sources.into_iter().enumerate() {
            hand_out(place, source, &sender, &mut own);
        }
        drop(sender);
        let mut tallies = vec![own];
        for worker in crew {
            match worker.join() {
                Ok(tally) => tallies.push(tally),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        tallies
    });
    merge(tallies)
}

fn hand_out(place: usize, source: Source<'_>, sender: &SyncSender<Batch>, own: &mut Tally) {
    let name: std::sync::Arc<str> = source.file.as_str().into();
    let reader = match Reader::new(&source.file, source.input) {
        Ok(reader) => reader,
        Err(error) => {
            let why = format!("the file cannot be read: {error}");
            return own.unread((place, 1), &name, Unread { line: 1, why });
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

fn work(table: &StageTable, by: By, receiver: &Mutex<Receiver<Batch>>) -> Tally {
    let mut tally = Tally::default();
    loop {
        let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Batch { file, name, units }) = next else { return tally };
        for unit in units {
            tally.unit(table, by, file, &name, unit);
        }
    }
}

impl Tally {
    fn unit(&mut self, table: &StageTable, by: By, file: usize, name: &str, unit: Unit) {
        let run = match unit.open(name) {
            Ok(run) => run,
            Err(unread) => return self.unread((file, unread.line), name, unread),
        };
        let place = (file, run.line);
        if run.left_out > 0 {
            let why = format!("the run has {} calls more than are read of one run", run.left_out);
            self.unread(place, name, Unread { line: run.line, why });
        }
        match play(table, &run) {
            Ok(played) => {
                let group = by.group(name, &run);
                let (first, counts) = self.group(group, place);
                *first = place.min(*first);
                counts.count(run.success, &played);
            }
            Err(why) => self.unread(place, name, Unread { line: run.line, why: why.to_string() }),
        }
    }

    fn group(&mut self, name: &str, place: Place) -> &mut (Place, Counts) {
        let known = self.groups.contains_key(name) || self.groups.len() < MAX_GROUPS;
        let name = if known { name } else { OTHER };
        self.groups.entry(name.to_owned()).or_insert_with(|| (place, Counts::default()))
    }

    fn unread(&mut self, place: Place, file: &str, unread: Unread) {
        self.unread_in_all += 1;
        if self.unread.len() < MAX_SHOWN {
            self.unread.push((place, file.to_owned(), unread));
        }
    }
}

fn merge(tallies: Vec<Tally>) -> Scores {
    let mut all: HashMap<String, (Place, Counts)> = HashMap::new();
    let (mut unread, mut unread_in_all) = (Vec::new(), 0);
    for tally in tallies {
        unread_in_all += tally.unread_in_all;
        unread.extend(tally.unread);
        for (name, (place, counts)) in tally.groups {
            let (first, sum) = all.entry(name).or_insert_with(|| (place, Counts::default()));
            *first = place.min(*first);
            *sum += counts;
        }
    }
    let mut groups: Vec<(String, (Place, Counts))> = all.into_iter().collect();
    groups.sort_by(|a, b| (a.1.0, &a.0).cmp(&(b.1.0, &b.0)));
    unread.sort_by_key(|(place, ..)| *place);
    unread.truncate(MAX_SHOWN);
    Scores {
        groups: groups.into_iter().map(|(name, (_, counts))| (name, counts)).collect(),
        unread: unread.into_iter().map(|(_, file, unread)| (file, unread)).collect(),
        unread_in_all,
    }
}
