//! `send_email`: writes a message into an outbox folder, once, under a name nobody else has.

use super::limits::{MAIL_BYTES, RECIPIENTS, SUBJECT_CHARS};
use super::root::Root;
use super::write::put;
use mail_builder::MessageBuilder;
use mail_builder::headers::address::Address;
use serde::Deserialize;
use std::io;
use std::path::Path;

/// The folder in the root where mails go unless another is named.
const OUTBOX: &str = ".stagekeeper/outbox";
/// Who the mails are from unless somebody else is named.
pub(super) const SENDER: &str = "stagekeeper@localhost";
/// Names tried for a mail whose call has no key.
const TRIES: u32 = 10_000;
/// Longest address, in bytes (RFC 5321).
const ADDRESS_BYTES: usize = 254;

#[derive(Deserialize)]
pub(super) struct Args {
    to: Recipients,
    #[serde(default)]
    subject: String,
    #[serde(default)]
    body: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Recipients {
    One(String),
    Many(Vec<String>),
}

impl Recipients {
    fn list(&self) -> Vec<&str> {
        let texts = match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts.as_slice(),
        };
        texts.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|text| !text.is_empty()).collect()
    }
}

/// Where mails go and who they are from.
#[derive(Debug)]
pub(super) struct Post<'p> {
    pub(super) root: &'p Root,
    /// A folder of its own; `None` = the one in the root.
    pub(super) outbox: Option<&'p Path>,
    pub(super) sender: &'p str,
}

impl Post<'_> {
    /// Writes the mail. `key` names the call: a second attempt at the very same call writes nothing.
    pub(super) fn send(&self, args: &Args, key: &str) -> Result<String, String> {
        let to = args.to.list();
        let mail = message(self.sender, &to, &args.subject, &args.body)?;
        let names: Box<dyn Iterator<Item = String>> = match file_name(key) {
            Some(name) => Box::new(std::iter::once(name)),
            None => Box::new((1..=TRIES).map(|n| format!("mail-{n:04}.eml"))),
        };
        let keyed = file_name(key).is_some();
        for name in names {
            match self.put(&name, &mail) {
                Ok(()) => return Ok(format!("mail to {} put into the outbox as {name}", to.join(", "))),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && keyed => {
                    return Ok(format!("mail to {} was put into the outbox before, as {name}", to.join(", ")));
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(format!("the mail could not be put into the outbox: {e}")),
            }
        }
        Err("the outbox is full".to_owned())
    }

    fn put(&self, name: &str, mail: &[u8]) -> io::Result<()> {
        match self.outbox {
            Some(folder) => {
                std::fs::create_dir_all(folder)?;
                put(Root::open(folder, &[])?.fd(), name.as_ref(), mail, None, false)
            }
            None => {
                let mut place = self.root.find(&format!("{OUTBOX}/{name}")).map_err(io::Error::other)?;
                place.make_way().map_err(io::Error::other)?;
                put(place.dir(), name.as_ref(), mail, None, false)
            }
        }
    }
}

/// The file name for a call's key; `None` when the key names no run.
fn file_name(key: &str) -> Option<String> {
    const CHARS: usize = 120;
    if key.is_empty() || key.starts_with('-') {
        return None;
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    Some(format!("{}.eml", key.chars().take(CHARS).map(plain).collect::<String>()))
}

fn message(sender: &str, to: &[&str], subject: &str, body: &str) -> Result<Vec<u8>, String> {
    if to.is_empty() || to.len() > RECIPIENTS {
        return Err(format!("`to` needs 1 to {RECIPIENTS} addresses"));
    }
    if let Some(bad) = to.iter().find(|address| !is_address(address)) {
        return Err(format!(
            "`{}` is no mail address; give bare addresses such as `ann@example.org`",
            bad.escape_debug()
        ));
    }
    if subject.chars().any(char::is_control) || subject.chars().count() > SUBJECT_CHARS {
        return Err(format!("`subject` must be one line of at most {SUBJECT_CHARS} characters"));
    }
    if body.len() > MAIL_BYTES {
        return Err(format!("`body` is {} bytes long; the most is {MAIL_BYTES}", body.len()));
    }
    let to = Address::new_list(to.iter().map(|address| Address::from(*address)).collect());
    MessageBuilder::new()
        .from(sender)
        .to(to)
        .subject(subject)
        .text_body(body)
        .write_to_vec()
        .map_err(|e| format!("the mail could not be made: {e}"))
}

/// Whether `text` is one plain address: nothing in it can end a header or begin another recipient.
fn is_address(text: &str) -> bool {
    let plain = |c: char| !c.is_control() && !c.is_whitespace() && !"<>()[],;:/\\\"".contains(c);
    text.len() <= ADDRESS_BYTES
        && text.chars().all(plain)
        && text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'))
}
