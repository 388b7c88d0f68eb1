//! Problems of a table as people, GitHub and programs read them.

use crate::table::{Problem, Severity, yaml};
use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

/// Columns of a terminal that excerpts are fitted into.
const COLUMNS: usize = 100;
/// Longer source lines are cut to so many characters round the place.
const LINE: usize = 400;

/// Problems as the Rust compiler prints them: message and code, `file:line:column`, the source line, a caret, the help.
///
/// `source` gives the text of a file by the name it has in the problems; without it the place is named alone.
/// With `colour` the text holds ANSI escapes; nothing is said by colour alone.
#[must_use]
pub fn text<'s>(problems: &[Problem], source: impl Fn(&str) -> Option<&'s str>, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() }.term_width(COLUMNS);
    let mut lines: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut out = String::new();
    for problem in problems {
        let file = lines.entry(problem.file.as_str()).or_insert_with(|| {
            source(&problem.file).map(|s| yaml::lines(s.trim_start_matches('\u{feff}')).collect()).unwrap_or_default()
        });
        let line = problem.line.checked_sub(1).and_then(|before| file.get(before)).copied();
        out.push_str(&one(problem, line, &renderer));
        out.push_str("\n\n");
    }
    out
}

fn one(problem: &Problem, line: Option<&str>, renderer: &Renderer) -> String {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(problem.message.as_str()).id(problem.code);
    let origin = Origin::path(problem.file.as_str()).line(problem.line).char_column(problem.column);
    let mut group = match line {
        Some(line) if line.chars().nth(LINE).is_none() => {
            let span = span(line, problem.column, problem.width);
            title.element(
                Snippet::source(line)
                    .line_start(problem.line)
                    .path(problem.file.as_str())
                    .annotation(AnnotationKind::Primary.span(span)),
            )
        }
        Some(line) => {
            let (part, column) = around(line, problem.column);
            let span = span(&part, column, problem.width);
            let snippet = Snippet::source(part).line_start(problem.line).annotation(AnnotationKind::Primary.span(span));
            // The column beside the path is computed from the excerpt, so it is right only where nothing was cut off.
            if column == problem.column {
                title.element(snippet.path(problem.file.as_str()))
            } else {
                title.element(origin).element(snippet)
            }
        }
        None => title.element(origin),
    };
    if let Some(help) = &problem.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    renderer.render(&[group])
}

/// The bytes of `width` characters from `column` (from 1), within the line.
fn span(line: &str, column: usize, width: usize) -> Range<usize> {
    let at = |n: usize| line.char_indices().nth(n).map_or(line.len(), |(i, _)| i);
    let start = at(column.saturating_sub(1));
    let end = at(column.saturating_sub(1).saturating_add(width.max(1)));
    start..end.max(start)
}

/// A part of a long line round a column, and the column in it.
fn around(line: &str, column: usize) -> (String, usize) {
    let skip = column.saturating_sub(LINE / 2);
    (line.chars().skip(skip).take(LINE).collect(), column - skip)
}

/// One workflow command a problem, which GitHub shows beside the line.
#[must_use]
pub fn github(problems: &[Problem]) -> String {
    let mut out = String::new();
    for p in problems {
        let level = match p.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let help = p.help.as_deref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "::{level} file={},line={},col={},endColumn={},title={}::{}",
            property(&p.file),
            p.line,
            p.column,
            p.column.saturating_add(p.width),
            property(p.code),
            data(&format!("{}{help}", p.message)),
        );
    }
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The problems as `check` prints them in JSON: `[{ code, severity, file, line, column, message, help }]`.
#[must_use]
pub fn json(problems: &[Problem]) -> serde_json::Value {
    serde_json::to_value(problems).unwrap_or_default()
}

/// How many: `2 errors, 1 warning`.
#[must_use]
pub fn count(problems: &[Problem]) -> String {
    let errors = problems.iter().filter(|p| p.severity == Severity::Error).count();
    let said = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    match (errors, problems.len() - errors) {
        (0, 0) => "no problems".to_owned(),
        (errors, 0) => said(errors, "error"),
        (0, warnings) => said(warnings, "warning"),
        (errors, warnings) => format!("{}, {}", said(errors, "error"), said(warnings, "warning")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(column: usize, width: usize) -> Problem {
        Problem {
            code: "unknown-tool",
            severity: Severity::Error,
            file: "a,b.yaml".into(),
            line: 2,
            column,
            width,
            message: "there is no tool `x`".into(),
            help: Some("did you mean `y`?".into()),
        }
    }

    #[test]
    fn a_problem_reads_like_one_of_the_compiler() {
        let said = text(&[problem(5, 1)], |_| Some("a: 1\nb: [x]\n"), false);
        insta::assert_snapshot!(said, @"
        error[unknown-tool]: there is no tool `x`
         --> a,b.yaml:2:5
          |
        2 | b: [x]
          |     ^
          |
          = help: did you mean `y`?
        ");
    }

    #[test]
    fn colour_is_added_only_when_asked_for() {
        let said = |colour| text(&[problem(5, 1)], |_| Some("a: 1\nb: [x]\n"), colour);
        assert!(said(true).contains('\u{1b}'));
        assert!(!said(false).contains('\u{1b}'));
    }

    #[test]
    fn a_long_line_is_cut_round_the_place() {
        let line = format!("x\n{}x{}", "é".repeat(5_000), "é".repeat(5_000));
        let said = text(&[problem(5_001, 1)], |_| Some(&line), false);
        assert!(said.contains("a,b.yaml:2:5001"), "{said}");
        assert!(said.lines().all(|l| l.chars().count() < 2 * COLUMNS), "{said}");
    }

    #[test]
    fn without_a_source_the_place_is_still_named() {
        assert!(text(&[problem(5, 1)], |_| None, false).contains("a,b.yaml:2:5"));
    }

    #[test]
    fn a_place_beyond_the_line_does_no_harm() {
        assert!(text(&[problem(500, 70)], |_| Some("a\nb\n"), false).contains(":2:"));
    }

    #[test]
    fn github_gets_escaped_commands() {
        assert_eq!(
            github(&[problem(5, 1)]),
            "::error file=a%2Cb.yaml,line=2,col=5,endColumn=6,title=unknown-tool::there is no tool `x`%0Ahelp: did you mean `y`?\n"
        );
    }

    #[test]
    fn json_has_the_keys_of_the_contract_in_order() {
        let said = serde_json::to_string(&[problem(5, 1)]).unwrap();
        assert_eq!(
            said,
            r#"[{"code":"unknown-tool","severity":"error","file":"a,b.yaml","line":2,"column":5,"message":"there is no tool `x`","help":"did you mean `y`?"}]"#
        );
    }
}
