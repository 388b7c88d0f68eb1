//! What the keyword agent says: always with file and line, never more than it knows.

use super::Agent;
use super::evidence::{Spot, quoted};
use std::fmt::Write as _;

/// Files named in a text.
const FILES: usize = 6;
/// Lines quoted of one file.
const LINES: usize = 3;
/// Lines quoted in one text.
const QUOTES: usize = 9;
/// Longest part of the task that is repeated, in characters.
const TASK_CHARS: usize = 100;
/// What it is.
const WHO: &str = "I am Stagekeeper's built-in keyword agent, not a language model: I search for the task's words, read \
    the files they stand in and quote lines. I do not understand the code.";

/// After looking around: where to read.
pub(super) fn candidates(agent: &Agent<'_>) -> String {
    let mut text = format!("{}\n", searched(agent));
    let files = agent.evidence.candidates(agent.mentions);
    if files.is_empty() {
        let count = agent.evidence.files.len();
        let _ = write!(text, "No file stands out among the {count} listed.");
        return text;
    }
    text.push_str("Files to read, best first:\n");
    let spots = agent.evidence.spots(agent.mentions, 1);
    for file in files.iter().take(FILES) {
        let _ = match spots.iter().find(|s| s.file == *file) {
            Some(spot) => writeln!(text, "- {file} ({}: `{}`)", spot.line, quoted(spot.text)),
            None => writeln!(text, "- {file} (by its name)"),
        };
    }
    text.trim_end().to_owned()
}

/// While there is more to look at: what was read and the best lines of it.
pub(super) fn notes(agent: &Agent<'_>) -> String {
    let mut text = format!("{}\n{}\n", searched(agent), read(agent));
    for spot in agent.evidence.spots(agent.mentions, 1).iter().take(FILES) {
        let _ = writeln!(text, "- {}:{} `{}`", spot.file, spot.line, quoted(spot.text));
    }
    text.trim_end().to_owned()
}

/// After reading: which lines matter, and why they were picked.
pub(super) fn analysis(agent: &Agent<'_>) -> String {
    let spots = agent.evidence.spots(agent.mentions, LINES);
    let mut text = format!("{WHO}\n{}\n{}\n", searched(agent), read(agent));
    if spots.is_empty() {
        text.push_str("None of the lines seen holds any of these words.");
        return text;
    }
    text.push_str("Lines that hold the most telling of them, best first:\n");
    for spot in spots.iter().take(QUOTES) {
        let _ = writeln!(text, "- {}:{} `{}`\n  {}", spot.file, spot.line, quoted(spot.text), why(agent, spot));
    }
    text.trim_end().to_owned()
}

/// The end: the likeliest place, what to look at, and how far to trust it.
pub(super) fn report(agent: &Agent<'_>) -> String {
    let spots = agent.evidence.spots(agent.mentions, LINES);
    let mut text = format!("Report on: {}\n", subject_of(agent.past.task));
    match spots.first() {
        Some(best) => {
            let is_question = agent.past.task.trim_end().ends_with(['?', '？']);
            let what = if is_question { "Best match" } else { "Most likely place" };
            let _ = write!(text, "{what}: {}:{}", best.file, best.line);
            if let Some(head) = agent.evidence.around(best.file, best.line).filter(|head| *head != best.text.trim()) {
                let _ = write!(text, ", in `{}`", quoted(head));
            }
            let _ = writeln!(text, "\n    {}\nWhy: {}.", quoted(best.text), why(agent, best));
            if spots.len() > 1 {
                text.push_str("Look at these too:\n");
            }
            for spot in spots.iter().skip(1).take(QUOTES - 1) {
                let _ = writeln!(text, "- {}:{} `{}`", spot.file, spot.line, quoted(spot.text));
            }
        }
        None => text.push_str("No line was found that holds the task's words.\n"),
    }
    let _ = writeln!(text, "{}\n{}", searched(agent), read(agent));
    for done in agent.past.exchanges.iter().filter(|e| !e.error) {
        let name = |key: &str| done.arguments.get(key).and_then(serde_json::Value::as_str);
        let _ = match super::kind_of(done.tool) {
            Some(super::Kind::Write) => {
                writeln!(text, "Written: {} (a placeholder: I write no programs)", name("path").unwrap_or("a file"))
            }
            Some(super::Kind::Run) => writeln!(text, "Run: `{}`", name("command").unwrap_or("a command")),
            Some(super::Kind::Mail) => writeln!(text, "This report was mailed with {}.", done.tool),
            _ => Ok(()),
        };
    }
    let _ = write!(text, "{WHO} Where the lines above point is a guess for a person to check; no fix was tried.");
    text
}

/// A mail's subject.
pub(super) fn subject(task: &str) -> String {
    format!("Report: {}", subject_of(task))
}

/// What goes into a file the task asks for: the findings, as a comment where the file is a program.
pub(super) fn file(path: &str, agent: &Agent<'_>) -> String {
    let notes = report(agent);
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("c" | "h") => {
            let notes = notes.replace("*/", "* /").replace("/*", "/ *");
            let main = "#include <stdio.h>\n\nint main(void) {\n    puts(\"not written: the built-in keyword agent writes no programs\");\n    return 0;\n}\n";
            format!("/*\n{notes}\n*/\n{}", if path.ends_with(".c") { main } else { "" })
        }
        Some("py" | "sh" | "rb" | "yaml" | "yml" | "toml") => commented(&notes, "# "),
        Some("rs" | "js" | "ts" | "go" | "java" | "cpp" | "kt" | "swift") => commented(&notes, "// "),
        _ => notes + "\n",
    }
}

fn commented(text: &str, mark: &str) -> String {
    text.lines().map(|line| format!("{mark}{line}").trim_end().to_owned() + "\n").collect()
}

fn subject_of(task: &str) -> String {
    let line = task.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("(no task)");
    match line.char_indices().nth(TASK_CHARS) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or(line)),
        None => line.to_owned(),
    }
}

fn searched(agent: &Agent<'_>) -> String {
    let list = |words: Vec<&str>| words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ");
    let words: Vec<&str> = agent.mentions.keywords.iter().map(|k| k.text.as_str()).collect();
    let vain: Vec<&str> = agent.evidence.vain.iter().map(String::as_str).collect();
    match (words.is_empty(), vain.is_empty()) {
        (true, _) => "The task holds no word that is worth a search.".to_owned(),
        (_, true) => format!("Looked for: {}.", list(words)),
        _ => format!("Looked for: {}; not found: {}.", list(words), list(vain)),
    }
}

fn read(agent: &Agent<'_>) -> String {
    match agent.evidence.read.as_slice() {
        [] => "No file was read.".to_owned(),
        files => format!("Read: {}.", files.join(", ")),
    }
}

fn why(agent: &Agent<'_>, spot: &Spot<'_>) -> String {
    let words: Vec<String> = spot.words.iter().map(|w| format!("`{w}`")).collect();
    let has_them = spot.words.iter().all(|w| super::evidence::holds(spot.text, w));
    let mut why =
        format!("{} {}", if has_them { "it holds" } else { "it stands just below a line with" }, words.join(", "));
    if spot.risky {
        why.push_str(", and it may fail at run time");
    }
    if agent.mentions.files.iter().any(|f| spot.file.ends_with(f.as_str())) {
        why.push_str("; the task names this file");
    }
    why
}
