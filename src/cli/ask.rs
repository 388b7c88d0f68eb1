//! Asks a person on the terminal: the call and its arguments in full, what is known so far, then yes or no.

use super::out::{say, visible};
use crate::run::model::{Answer, Asker, Question};
use std::io::IsTerminal as _;

/// Answers that are neither yes nor no before nobody seems to be there.
const MOST_TRIES: u32 = 3;

/// How a person is asked.
#[derive(Debug)]
pub(super) struct TerminalAsker {
    /// `--yes` or `--no`.
    decided: Option<bool>,
    /// Whether there is a person at all.
    terminal: bool,
}

impl TerminalAsker {
    pub(super) fn new(decided: Option<bool>) -> Self {
        Self { decided, terminal: std::io::stdin().is_terminal() && std::io::stderr().is_terminal() }
    }
}

impl Asker for TerminalAsker {
    fn approve<'a>(&'a mut self, question: &'a Question) -> Answer<'a, Option<bool>> {
        Box::pin(async move {
            if self.decided.is_some() {
                return self.decided;
            }
            if !self.terminal {
                say("note: there is no terminal, so nobody can be asked; `--yes` or `--no` answers\n");
                return None;
            }
            say(&shown(question));
            for _ in 0..MOST_TRIES {
                say("  y/n? ");
                match read_line().await?.trim() {
                    "y" | "Y" | "yes" => return Some(true),
                    "n" | "N" | "no" => return Some(false),
                    _ => say("  please answer y or n\n"),
                }
            }
            None
        })
    }

    fn user<'a>(&'a mut self, text: &'a str) -> Answer<'a, Option<String>> {
        Box::pin(async move {
            if !self.terminal {
                return None;
            }
            say(&format!("\n{}\n> ", visible(text)));
            let line = read_line().await?;
            let line = line.trim();
            (!line.is_empty()).then(|| line.to_owned())
        })
    }
}

/// Reads one line of stdin; `None` at its end. On a thread of its own, which a Ctrl-C leaves behind: a read from a
/// terminal cannot be called back.
async fn read_line() -> Option<String> {
    let (send, receive) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        let _ = send.send(matches!(read, Ok(n) if n > 0).then_some(line));
    });
    receive.await.ok().flatten()
}

/// The question as it is shown.
fn shown(question: &Question) -> String {
    let mut out = format!("\n{}\n", visible(&question.text));
    for (stage, product) in &question.products {
        out.push_str(&format!("  {stage} ended with:\n{}", indented(product)));
    }
    if let Some(stage) = &question.stage {
        out.push_str(&format!("  stage: {}\n", visible(stage)));
    }
    if let Some((tool, arguments)) = &question.call {
        out.push_str(&format!("  call: {}\n{}", visible(tool), indented(&spread(arguments))));
    }
    out
}

/// JSON over several lines. The text is not read and written again, so that what is shown is what is sent: a number of
/// twenty digits stays itself.
fn spread(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    for c in json.chars() {
        let closes = !quoted && matches!(c, '}' | ']');
        if closes {
            depth = depth.saturating_sub(1);
            line_end(&mut out, depth);
        }
        if quoted || !c.is_whitespace() {
            out.push(c);
        }
        if quoted {
            quoted = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '"' => quoted = true,
            '{' | '[' => {
                depth += 1;
                line_end(&mut out, depth);
            }
            ',' => line_end(&mut out, depth),
            ':' => out.push(' '),
            _ => {}
        }
    }
    out
}

fn line_end(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

fn indented(text: &str) -> String {
    visible(text).lines().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_shows_the_whole_call_and_hides_nothing() {
        let question = Question {
            text: "Refund above 100.".to_owned(),
            call: Some((
                "create_refund".to_owned(),
                r#"{"amount":25000000000000000001,"note":"a, \"b\"\u001b[2K"}"#.to_owned(),
            )),
            stage: None,
            products: vec![("identify".to_owned(), "Order 17\nof Ann\u{1b}[1A".to_owned())],
        };
        insta::assert_snapshot!(shown(&question), @r#"

        Refund above 100.
          identify ended with:
            Order 17
            of Ann\u{1b}[1A
          call: create_refund
            {
              "amount": 25000000000000000001,
              "note": "a, \"b\"\u001b[2K"
            }
        "#);
    }

    #[tokio::test]
    async fn without_a_terminal_only_the_flags_decide() {
        let question = Question { text: String::new(), call: None, stage: None, products: Vec::new() };
        for decided in [None, Some(true), Some(false)] {
            let mut asker = TerminalAsker { decided, terminal: false };
            assert_eq!(asker.approve(&question).await, decided);
            assert_eq!(asker.user("hello").await, None);
        }
    }
}
