//! Any server that speaks OpenAI's chat completions, without streaming.
//!
//! TLS is rustls with ring and the system's certificates (`SSL_CERT_FILE` is honoured); a plain `http` address loads
//! none. Redirects are not followed: a key goes to the address it was given for and nowhere else. `HTTPS_PROXY` and its
//! kin are honoured, except for this very machine.

mod failure;
#[cfg(fuzzing)]
pub mod fuzzing;
mod request;
mod response;
pub mod retry;

use super::secret::Secret;
use super::spec::SpecError;
use crate::engine::input::Reply;
use crate::engine::view::View;
use crate::run::model::{Answer, Model, ModelError, ModelErrorKind};
use failure::Server;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Request, Response, Url};
use response::Asked;
pub use response::MOST_CALLS;
use retry::{Failure, TOTAL_SILENCES, with_retries};
use std::time::Duration;
use tokio::time::timeout;

/// Where OpenAI listens.
pub const OPENAI_URL: &str = "https://api.openai.com/v1";
/// Where Ollama listens.
pub const OLLAMA_URL: &str = "http://127.0.0.1:11434/v1";
/// How long a server may send nothing.
pub const SILENCE: Duration = Duration::from_secs(60);
/// Largest answer that is read, in bytes.
pub const LARGEST_BODY: usize = 8 * 1024 * 1024;
/// How much of an error's body is read, in bytes.
const LARGEST_ERROR: usize = 64 * 1024;

/// A model behind an OpenAI-compatible server.
pub struct OpenAi {
    client: Client,
    url: Url,
    authorization: Option<HeaderValue>,
    server: Server,
    silence: Duration,
}

impl std::fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAi")
            .field("address", &self.server.address)
            .field("model", &self.server.model)
            .field("key", &self.server.key)
            .field("silence", &self.silence)
            .finish_non_exhaustive()
    }
}

impl OpenAi {
    /// The model `model` at `base_url`, to which `/chat/completions` is added.
    ///
    /// # Errors
    /// When the address is none, or the key cannot be sent in a header.
    pub fn new(model: &str, base_url: &str, key: Option<Secret>, silence: Duration) -> Result<Self, SpecError> {
        let base = address(base_url)?;
        let mut url = base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["chat", "completions"]);
        }
        let mut shown = base.clone();
        shown.set_query(None);
        let address = shown.as_str().trim_end_matches('/').to_owned();
        Ok(Self {
            client: client(&base).map_err(|e| SpecError::new(format!("cannot set up TLS: {e}")))?,
            authorization: key.as_ref().map(authorization).transpose()?,
            url,
            server: Server { address, model: model.to_owned(), key, is_ollama: false },
            silence,
        })
    }

    /// A model of Ollama: no key is sent, and failures say what to do with `ollama`.
    ///
    /// # Errors
    /// When the address is none.
    pub fn ollama(model: &str, base_url: &str, silence: Duration) -> Result<Self, SpecError> {
        let mut made = Self::new(model, base_url, None, silence)?;
        made.server.is_ollama = true;
        Ok(made)
    }

    fn request(&self, body: Vec<u8>) -> Request {
        let mut request = Request::new(reqwest::Method::POST, self.url.clone());
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(value) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, value.clone());
        }
        *request.body_mut() = Some(body.into());
        request
    }

    async fn ask(&self, request: Request, asked: Asked) -> Result<Reply, ModelError> {
        let total = self.silence * TOTAL_SILENCES;
        let attempt = || self.attempt(request.try_clone(), &asked);
        let reply = with_retries(total, || self.server.late(total), attempt).await?;
        Ok(without_key(self.server.key.as_ref(), reply))
    }

    async fn attempt(&self, request: Option<Request>, asked: &Asked) -> Result<Reply, Failure> {
        let request = request.unwrap_or_else(|| self.request(Vec::new())); // never: a body of bytes can be cloned
        let response = match timeout(self.silence, self.client.execute(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.server.lost(error)),
            Err(_) => return Err(self.server.silent(self.silence)),
        };
        let status = response.status();
        if !status.is_success() {
            let retry_after = retry_after(&response);
            // An error whose body is lost or endless is still that error.
            let body = self.body(response, LARGEST_ERROR).await.unwrap_or_default();
            return Err(self.server.status(status.as_u16(), &String::from_utf8_lossy(&body), retry_after));
        }
        let body = self.body(response, LARGEST_BODY).await?;
        response::read(&String::from_utf8_lossy(&body), asked).map_err(|why| self.server.unreadable(why))
    }

    async fn body(&self, mut response: Response, most: usize) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        loop {
            match timeout(self.silence, response.chunk()).await {
                Ok(Ok(Some(chunk))) if body.len() + chunk.len() > most => return Err(self.server.too_large()),
                Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
                Ok(Ok(None)) => return Ok(body),
                Ok(Err(error)) => return Err(self.server.lost(error)),
                Err(_) => return Err(self.server.silent(self.silence)),
            }
        }
    }
}

impl Model for OpenAi {
    fn reply<'a>(&'a mut self, view: View<'a>) -> Answer<'a, Result<Reply, ModelError>> {
        let built = request::body(&self.server.model, &view);
        let asked = Asked::new(view.messages.len(), view.tools);
        Box::pin(async move {
            let body = built.map_err(|e| ModelError {
                kind: ModelErrorKind::Refused,
                message: format!("the request cannot be written as JSON: {e}"),
            })?;
            self.ask(self.request(body), asked).await
        })
    }
}

/// A server may echo the key in its reply, which goes into traces.
fn without_key(key: Option<&Secret>, mut reply: Reply) -> Reply {
    let Some(key) = key else { return reply };
    let calls = reply.calls.iter_mut().flat_map(|c| [&mut c.id, &mut c.tool, &mut c.arguments]);
    for text in calls.chain([&mut reply.text]) {
        if let std::borrow::Cow::Owned(hidden) = key.redact(text) {
            *text = hidden;
        }
    }
    reply
}

/// Checks a base address.
fn address(text: &str) -> Result<Url, SpecError> {
    let example = "write it like `http://127.0.0.1:8080/v1`";
    let Ok(url) = Url::parse(text) else {
        return Err(SpecError::new("the base URL is not an address").help(example));
    };
    if !matches!(url.scheme(), "http" | "https") || url.cannot_be_a_base() {
        return Err(SpecError::new("the base URL does not begin with `http://` or `https://`").help(example));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let help = "put the key into the environment variable `OPENAI_API_KEY`";
        return Err(SpecError::new("the base URL holds a user or a password").help(help));
    }
    // A query is not shown, but it is stored with a run that is to be resumed.
    let marks = ["key", "token", "secret", "password"];
    if url.query_pairs().any(|(name, _)| marks.iter().any(|mark| name.to_lowercase().contains(mark))) {
        let help = "put the key into the environment variable `OPENAI_API_KEY`";
        return Err(SpecError::new("the base URL holds a key in its query").help(help));
    }
    Ok(url)
}

fn authorization(key: &Secret) -> Result<HeaderValue, SpecError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
        .map_err(|_| SpecError::new("the API key holds characters that no header can carry"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn client(base: &Url) -> reqwest::Result<Client> {
    // reqwest takes the process's provider; one that the program has installed already is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("stagekeeper/", env!("CARGO_PKG_VERSION")));
    if base.scheme() == "http" {
        // Reading the system's certificates takes tens of milliseconds, and fails where there are none.
        builder = builder.tls_certs_only([]);
    }
    if is_this_machine(base) {
        builder = builder.no_proxy();
    }
    builder.build()
}

fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// What `Retry-After` asks for, in seconds; a date is not followed, since the clocks may differ.
fn retry_after(response: &Response) -> Option<Duration> {
    let seconds: f64 = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
