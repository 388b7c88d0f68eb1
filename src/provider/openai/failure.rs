//! What went wrong with a request: said for people, and sorted by whether another attempt may help.

use super::response::Unreadable;
use super::retry::{Again, Failure};
use crate::provider::secret::Secret;
use crate::run::model::{ModelError, ModelErrorKind};
use serde_json::Value;
use std::borrow::Cow;
use std::time::Duration;

/// Most characters of a server's own words in a message.
const MOST_QUOTED: usize = 300;
/// Most characters of them that are looked at.
const MOST_READ: usize = 3000;

/// Marks of "the request is too long" in the words of the servers in use.
const OVERFLOW_MARKS: [&str; 10] = [
    "context_length",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "exceeds the available context",
    "prompt is too long",
    "input is too long",
    "reduce the length",
    "exceed_context_size",
];

/// Who is asked, for messages. Holds no key that is printed.
pub(super) struct Server {
    /// The address without query and user.
    pub address: String,
    /// The model.
    pub model: String,
    /// The key that is sent.
    pub key: Option<Secret>,
    /// Whether it is Ollama, which has models pulled.
    pub is_ollama: bool,
}

/// A server's own words about an error.
#[derive(Debug, Default)]
struct Words {
    message: String,
    code: String,
    status: Option<u16>,
}

impl Server {
    /// An answer with a status other than success.
    pub(super) fn status(&self, status: u16, body: &str, retry_after: Option<Duration>) -> Failure {
        self.judge(status, &words(&self.without_key(body)), retry_after)
    }

    /// An answer with success as its status, and no reply in it.
    pub(super) fn unreadable(&self, why: Unreadable) -> Failure {
        let address = &self.address;
        match why {
            Unreadable::Garbled(what) => self.failure(
                ModelErrorKind::BadReply,
                Again::Few,
                format!(
                    "cannot read the answer of `{address}`: {}; check that it speaks OpenAI's chat completions",
                    // The JSON library quotes a text that stands in the wrong place whole.
                    shorten(&self.without_key(&what), MOST_QUOTED)
                ),
            ),
            Unreadable::Flood(n) => self.failure(
                ModelErrorKind::BadReply,
                Again::Never,
                format!("the reply of `{address}` holds {n} calls; the most is {}", super::MOST_CALLS),
            ),
            Unreadable::Error(raw) => {
                let words = words(&self.without_key(&format!("{{\"error\":{raw}}}")));
                match words.status {
                    Some(status) if status >= 400 => self.judge(status, &words, None),
                    _ if is_overflow(&words) => self.judge(400, &words, None),
                    _ => self.trouble("", &words, None),
                }
            }
        }
    }

    /// An answer longer than is read.
    pub(super) fn too_large(&self) -> Failure {
        self.failure(
            ModelErrorKind::BadReply,
            Again::Never,
            format!("the answer of `{}` is larger than {} MiB", self.address, super::LARGEST_BODY >> 20),
        )
    }

    /// Nothing came for too long.
    pub(super) fn silent(&self, silence: Duration) -> Failure {
        let message = format!(
            "`{}` sent nothing for {} s; check that it is up, or give it longer with `--model-timeout`",
            self.address,
            silence.as_secs_f64()
        );
        self.failure(ModelErrorKind::Unreachable, Again::Yes(None), message)
    }

    /// All attempts together took too long.
    pub(super) fn late(&self, total: Duration) -> ModelError {
        let message = format!("`{}` gave no whole reply within {} s", self.address, total.as_secs_f64());
        self.failure(ModelErrorKind::Unreachable, Again::Never, message).error
    }

    /// The connection could not be made, or was lost.
    pub(super) fn lost(&self, error: reqwest::Error) -> Failure {
        let (again, what, help) = match (error.is_builder(), error.is_connect()) {
            (true, _) => (Again::Never, "cannot ask", ""),
            (_, true) if self.is_ollama => (Again::Few, "cannot reach", "; start it with `ollama serve`"),
            (_, true) => (Again::Few, "cannot reach", "; check that the server runs, and `--base-url`"),
            _ => (Again::Yes(None), "lost the connection to", ""),
        };
        let cause = root_cause(&error.without_url());
        self.failure(ModelErrorKind::Unreachable, again, format!("{what} `{}`: {cause}{help}", self.address))
    }

    fn judge(&self, status: u16, words: &Words, retry_after: Option<Duration>) -> Failure {
        let (address, model) = (&self.address, &self.model);
        let said = self.quoted(&words.message);
        let (kind, again, message) = match status {
            413 => (ModelErrorKind::Overflow, Again::Never, self.overflow(&said)),
            400 | 422 | 500 if is_overflow(words) => (ModelErrorKind::Overflow, Again::Never, self.overflow(&said)),
            401 => (ModelErrorKind::Refused, Again::Never, self.key_refused(&said)),
            402 => (ModelErrorKind::Refused, Again::Never, format!("`{address}` wants to be paid first (402){said}")),
            403 => {
                let message = format!(
                    "`{address}` denies access (403){said}; check that the key in `OPENAI_API_KEY` may use `{model}`"
                );
                (ModelErrorKind::Refused, Again::Never, message)
            }
            404 => (ModelErrorKind::Refused, Again::Never, self.not_found(&said)),
            429 if words.code == "insufficient_quota" => {
                (ModelErrorKind::Refused, Again::Never, format!("the quota at `{address}` is used up (429){said}"))
            }
            429 => {
                let message = format!("`{address}` is asked too often (429){said}; wait a while, then ask again");
                (ModelErrorKind::Unreachable, Again::Yes(retry_after), message)
            }
            408 | 409 | 425 => {
                (ModelErrorKind::Unreachable, Again::Yes(retry_after), format!("`{address}` answers {status}{said}"))
            }
            300..=399 => {
                let message = format!("`{address}` has moved ({status}); give the new address with `--base-url`");
                (ModelErrorKind::Refused, Again::Never, message)
            }
            501 | 505 => {
                (ModelErrorKind::Refused, Again::Never, format!("`{address}` cannot do this ({status}){said}"))
            }
            500.. => return self.trouble(&format!(" ({status})"), words, retry_after),
            _ => (ModelErrorKind::Refused, Again::Never, format!("`{address}` refuses the request ({status}){said}")),
        };
        self.failure(kind, again, message)
    }

    /// Something is wrong at the server's; `status` = what stands behind the words, if it said so by a status.
    fn trouble(&self, status: &str, words: &Words, retry_after: Option<Duration>) -> Failure {
        let message = format!("`{}` is in trouble{status}{}", self.address, self.quoted(&words.message));
        self.failure(ModelErrorKind::Unreachable, Again::Yes(retry_after), message)
    }

    /// The key is hidden before anything is cut (half of one is a leak, too), and once more when escapes are undone.
    fn without_key<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.key.as_ref().map_or(Cow::Borrowed(text), |key| key.redact(text))
    }

    /// The server's words, behind a colon.
    fn quoted(&self, message: &str) -> String {
        let message = shorten(&self.without_key(message), MOST_QUOTED);
        let message = message.trim_end_matches(['.', ' ']);
        if message.is_empty() { String::new() } else { format!(": {message}") }
    }

    fn overflow(&self, said: &str) -> String {
        format!("the request is too long for `{}`{said}", self.model)
    }

    fn key_refused(&self, said: &str) -> String {
        let address = &self.address;
        match self.key {
            Some(_) => {
                format!("`{address}` does not accept the key (401){said}; put a valid one into `OPENAI_API_KEY`")
            }
            None => format!("`{address}` asks for a key (401){said}; set the environment variable `OPENAI_API_KEY`"),
        }
    }

    fn not_found(&self, said: &str) -> String {
        let (address, model) = (&self.address, &self.model);
        if self.is_ollama {
            return format!("`{address}` has no model `{model}` (404){said}; get it with `ollama pull {model}`");
        }
        format!(
            "`{address}` knows no model `{model}`, or has nothing at this address (404){said}; check the model's name \
             and `--base-url` (it often ends in `/v1`)"
        )
    }

    fn failure(&self, kind: ModelErrorKind, again: Again, message: String) -> Failure {
        let message = self.without_key(&message).into_owned();
        Failure { error: ModelError { kind, message }, again }
    }
}

fn is_overflow(words: &Words) -> bool {
    let message = words.message.to_lowercase();
    OVERFLOW_MARKS.iter().any(|mark| message.contains(mark) || words.code.contains(mark))
}

/// Finds the words of an error body in the forms in use: OpenAI's, a plain `error` or `message`, FastAPI's `detail`.
fn words(body: &str) -> Words {
    let Ok(value) = serde_json::from_str::<Value>(body) else {
        let start = body.trim_start();
        let message = if start.starts_with('<') { "an HTML page".to_owned() } else { shorten(start, MOST_READ) };
        return Words { message, ..Words::default() };
    };
    let error = value.get("error").unwrap_or(&value);
    let text = |v: &Value| v.as_str().map(str::to_owned);
    let message = text(error)
        .or_else(|| ["message", "detail", "error"].iter().find_map(|key| error.get(key).and_then(text)))
        .unwrap_or_else(|| error.to_string());
    let code = ["code", "type"].iter().find_map(|key| error.get(key).and_then(text)).unwrap_or_default();
    let status = error.get("code").and_then(Value::as_u64).and_then(|n| u16::try_from(n).ok());
    Words { message: shorten(&message, MOST_READ), code, status }
}

/// At most `most` characters on one line, without control characters.
fn shorten(text: &str, most: usize) -> String {
    let mut short: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(most).collect();
    if text.chars().nth(most).is_some() {
        short.push('…');
    }
    short.trim_end().to_owned()
}

/// The innermost reason: the outer ones only repeat that sending failed.
fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
