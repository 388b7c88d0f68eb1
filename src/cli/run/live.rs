//! The run as it happens: each reply with what became of its calls, as story lines on stderr.

use crate::cli::out;
use crate::engine::event::{Event, Judged};
use crate::engine::input::{CallNo, Input};
use crate::engine::session::Record;
use crate::render::story::{Columns, story_part};
use crate::run::{SinkError, TraceSink};
use crate::table::StageTable;

/// Columns of a step's numbers beside the stage's name: `12 name 10/12`.
const NUMBERS: usize = 8;
/// Columns a call gets from the start.
const CALL: usize = 40;

/// A sink that also tells what it was given. The trace is written first: what is shown has been kept.
pub(super) struct Live {
    kept: Box<dyn TraceSink>,
    columns: Columns,
    /// Records since the last line, told together once no call of theirs is open.
    untold: Vec<Record>,
    open: usize,
    colour: bool,
}

impl Live {
    pub(super) fn new(kept: Box<dyn TraceSink>, table: &StageTable) -> Self {
        let longest = table.stages().iter().map(|stage| stage.name.chars().count()).max().unwrap_or_default();
        let columns = Columns::at_least(longest + NUMBERS, CALL);
        Self { kept, columns, untold: Vec::new(), open: 0, colour: out::stderr_has_colour() }
    }

    fn tell(&mut self) {
        let told = story_part(&std::mem::take(&mut self.untold), &mut self.columns);
        out::say(&if self.colour { coloured(&told) } else { told });
    }
}

impl TraceSink for Live {
    fn write(&mut self, record: &Record) -> Result<(), SinkError> {
        self.kept.write(record)?;
        if time_alone(record) {
            return Ok(());
        }
        if matches!(record.input, Input::Reply(_)) {
            self.open = 0;
        }
        let opened =
            |event: &&Event| matches!(event, Event::CallJudged { judged: Judged::Run | Judged::Ask { .. }, .. });
        self.open += record.events.iter().filter(opened).count();
        let closed = |event: &&Event| {
            matches!(
                event,
                Event::CallFinished { .. } | Event::ChildOpened { .. } | Event::ApprovalGiven { yes: false, .. }
            )
        };
        self.open = self.open.saturating_sub(record.events.iter().filter(closed).count());
        self.untold.push(record.clone());
        if self.open == 0 {
            self.tell();
        }
        Ok(())
    }

    fn intends(&mut self, calls: &[CallNo]) -> Result<(), SinkError> {
        self.kept.intends(calls)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if !self.untold.is_empty() {
            self.tell();
        }
    }
}

/// Whether time went by and nothing came of it.
pub(in crate::cli) fn time_alone(record: &Record) -> bool {
    matches!(record.input, Input::Time { .. }) && record.events.is_empty()
}

/// The way through the stages in bold, refusals in yellow: the words say it too.
fn coloured(story: &str) -> String {
    let colour = |line: &str| match line {
        line if ["-> ", "<- ", "|| ", "== "].iter().any(|mark| line.starts_with(mark)) => {
            format!("\u{1b}[1m{line}\u{1b}[0m\n")
        }
        line if line.contains("  refused") => format!("\u{1b}[33m{line}\u{1b}[0m\n"),
        line => format!("{line}\n"),
    };
    story.lines().map(colour).collect()
}
