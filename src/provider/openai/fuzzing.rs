//! What the fuzz targets (`tests/fuzz`) need of the readers of answers; compiled for them alone.

use super::failure::Server;
use super::response::{self, Asked};
use super::{OPENAI_URL, without_key};
use crate::engine::input::Reply;
use crate::engine::view::ToolSpec;
use crate::provider::secret::Secret;

/// The key that is sent; nothing that comes out may hold it.
pub const KEY: &str = "sk-fuzzed-key";

/// An answer of a server, as the model takes it.
///
/// # Errors
/// With the message for people, when it is no reply.
pub fn read(status: u16, body: &[u8], is_ollama: bool) -> Result<Reply, String> {
    let key = Secret::new(KEY);
    let server = Server { address: OPENAI_URL.to_owned(), model: "a-model".to_owned(), key: key.clone(), is_ollama };
    let body = String::from_utf8_lossy(body);
    if !(200..300).contains(&status) {
        return Err(server.status(status, &body, None).error.message);
    }
    let asked = Asked::new(3, &[ToolSpec::named("read.file"), ToolSpec::named("grep")]);
    let reply = response::read(&body, &asked).map_err(|why| server.unreadable(why).error.message)?;
    Ok(without_key(key.as_ref(), reply))
}
