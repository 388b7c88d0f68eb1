//! `stagekeeper draw`: a table as a picture, a trace as a story.

use super::failure::Failure;
use super::{exit, files, out};
use crate::render::{Picture, draw, html, story};
use crate::trace::{Trace, explain};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

/// How every trace begins.
const TRACE_MARK: &[u8] = b"{\"stagekeeper_trace\"";

/// Draws a table as a picture, or a trace as a page or a story.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// A stage table, or the trace of a run
    file: PathBuf,
    /// The kind of picture [default: by the ending of --output, else text]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// A Mermaid flowchart
    Mermaid,
    /// Graphviz
    Dot,
    /// A self-contained SVG, light or dark as the screen is
    Svg,
    /// Boxes of text, 80 columns wide; of a trace: its story
    Text,
    /// Of a trace: one page with every step, call and verdict, for a browser or a printer
    Html,
}

impl Format {
    /// By the ending of the file to write; without one it is text.
    fn of_ending(path: &Path) -> Result<Self, Failure> {
        let Some(ending) = path.extension() else { return Ok(Self::Text) };
        match ending.to_string_lossy().to_lowercase().as_str() {
            "mmd" | "mermaid" => Ok(Self::Mermaid),
            "dot" | "gv" => Ok(Self::Dot),
            "svg" => Ok(Self::Svg),
            "html" | "htm" => Ok(Self::Html),
            "txt" => Ok(Self::Text),
            ending => Err(Failure::usage(format!(
                "the ending `.{ending}` says no format; use `.svg`, `.mmd`, `.mermaid`, `.dot`, `.gv`, `.txt`, or `.html` \
                 for a trace, or name the format with `--format`"
            ))),
        }
    }

    fn picture(self) -> Option<Picture> {
        match self {
            Self::Mermaid => Some(Picture::Mermaid),
            Self::Dot => Some(Picture::Dot),
            Self::Svg => Some(Picture::Svg),
            Self::Text => Some(Picture::Text),
            Self::Html => None,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let format = match (args.format, &args.output) {
        (Some(format), _) => format,
        (None, Some(path)) => Format::of_ending(path)?,
        (None, None) => Format::Text,
    };
    let drawn = match (is_trace(&args.file)?, format, format.picture()) {
        (true, Format::Text, _) => told(&read_trace(&args.file)?),
        (true, Format::Html, _) => page(&read_trace(&args.file)?),
        (true, ..) => return Err(Failure::usage("a trace is drawn as `html` or `text`")),
        (false, _, Some(picture)) => draw(&files::load_or_say(&args.file)?, picture),
        (false, _, None) => {
            return Err(Failure::usage("a table is drawn as `mermaid`, `dot`, `svg` or `text`; `html` is for a trace"));
        }
    };
    match &args.output {
        Some(path) => files::write(path, &drawn)?,
        None => out::data(&drawn)?,
    }
    Ok(exit::OK)
}

fn told(trace: &Trace) -> String {
    let told: Vec<_> = trace.inputs().into_iter().filter(|record| !super::run::time_alone(record)).collect();
    if told.is_empty() {
        "(nothing happened: the trace holds its header alone)\n".to_owned()
    } else {
        story::story(&told)
    }
}

/// The page. What this version of the engine would judge otherwise is drawn as it was recorded, without its reasons.
fn page(trace: &Trace) -> String {
    let table = super::replay::recorded_table(trace).ok();
    let explanations = table.as_ref().map(|table| explain(trace, table));
    match &explanations {
        Some(Ok(explanations)) => html::page(trace, table.as_ref(), explanations),
        _ => {
            out::say("note: this version of the engine cannot replay the trace, so the page does not say why\n");
            html::page(trace, table.as_ref(), &[])
        }
    }
}

/// Whether it begins as a trace. What is empty and not called a table is a trace that was not begun.
fn is_trace(path: &Path) -> Result<bool, Failure> {
    let mut file = BufReader::new(files::open(path)?);
    let start = file.fill_buf().map_err(|e| Failure::usage(format!("`{}` cannot be read: {e}", path.display())))?;
    let table = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
    Ok(start.starts_with(TRACE_MARK) || (start.is_empty() && !table))
}

/// Reads a trace; what had to be left out is said.
///
/// # Errors
/// With exit code 2 when the file cannot be read or is no trace.
pub(super) fn read_trace(path: &Path) -> Result<Trace, Failure> {
    let trace = Trace::read(BufReader::new(files::open(path)?))
        .map_err(|e| Failure::usage(format!("`{}`: {e}", path.display())))?;
    if let Some(cut) = &trace.cut {
        out::say(&format!("note: {cut}\n"));
    }
    Ok(trace)
}
