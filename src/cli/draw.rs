//! `stagekeeper draw`: a table as a picture, a trace as a story.

use super::failure::Failure;
use super::{exit, files, out};
use crate::render::{Picture, draw, story};
use crate::trace::Trace;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

/// How every trace begins.
const TRACE_MARK: &[u8] = b"{\"stagekeeper_trace\"";

/// Draws a table as a picture, or tells a trace as a story.
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
}

impl Format {
    fn of_ending(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "mmd" | "mermaid" => Some(Self::Mermaid),
            "dot" | "gv" => Some(Self::Dot),
            "svg" => Some(Self::Svg),
            _ => None,
        }
    }

    fn picture(self) -> Picture {
        match self {
            Self::Mermaid => Picture::Mermaid,
            Self::Dot => Picture::Dot,
            Self::Svg => Picture::Svg,
            Self::Text => Picture::Text,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let format = args.format.or_else(|| Format::of_ending(args.output.as_deref()?)).unwrap_or(Format::Text);
    let drawn = if is_trace(&args.file)? {
        if format != Format::Text {
            return Err(Failure::usage("a trace is told as text only; leave `--format` out"));
        }
        let trace = read_trace(&args.file)?;
        let told: Vec<_> = trace.inputs().into_iter().filter(|record| !super::run::time_alone(record)).collect();
        story::story(&told)
    } else {
        draw(&files::load_or_say(&args.file)?, format.picture())
    };
    match &args.output {
        Some(path) => files::write(path, &drawn)?,
        None => out::data(&drawn)?,
    }
    Ok(exit::OK)
}

fn is_trace(path: &Path) -> Result<bool, Failure> {
    let mut file = BufReader::new(files::open(path)?);
    let start = file.fill_buf().map_err(|e| Failure::usage(format!("`{}` cannot be read: {e}", path.display())))?;
    Ok(start.starts_with(TRACE_MARK))
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
