//! A server as strict as the real ones about histories, and able to misbehave in every way they do.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What the server does with one request. The last of a list repeats.
#[derive(Clone, Debug)]
pub enum Does {
    /// Answers with this message, if the history is right.
    Says(Value),
    /// Answers with this status, these header lines and this body; `{KEY}` is what was sent as `authorization`.
    Answers(u16, &'static str, String),
    /// Promises more than it sends, then closes.
    BreaksOff(String),
    /// Reads and never answers.
    Hangs,
    /// Sends a beginning, then one byte again and again.
    Drips,
    /// Closes without a word.
    Drops,
}

impl Does {
    pub fn text(text: &str) -> Self {
        Self::Says(json!({ "role": "assistant", "content": text }))
    }

    pub fn status(status: u16, body: &str) -> Self {
        Self::Answers(status, "", body.to_owned())
    }
}

#[derive(Clone, Debug)]
pub struct Seen {
    pub head: String,
    pub body: Value,
}

pub struct Server {
    pub url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Ends with the server.
    _tasks: JoinSet<()>,
}

impl Server {
    pub async fn that(does: impl IntoIterator<Item = Does>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let plan = Arc::new(Mutex::new(does.into_iter().collect::<VecDeque<_>>()));
        let mut tasks = JoinSet::new();
        let kept = seen.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, plan.clone(), kept.clone()));
            }
        });
        Self { url, seen, _tasks: tasks }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, plan: Arc<Mutex<VecDeque<Does>>>, seen: Arc<Mutex<Vec<Seen>>>) {
    while let Some(request) = read(&mut stream).await {
        let key = request.head.lines().find_map(|l| l.strip_prefix("authorization: ")).unwrap_or("none").to_owned();
        let fault = fault_of(&request.body);
        seen.lock().unwrap().push(request);
        let does = {
            let mut plan = plan.lock().unwrap();
            let next = plan.front().cloned().unwrap_or(Does::Drops);
            if plan.len() > 1 {
                plan.pop_front();
            }
            next
        };
        let json = "content-type: application/json\r\n";
        match (does, fault) {
            (Does::Says(_), Err(fault)) => {
                let body = json!({ "error": { "message": fault, "type": "invalid_request_error" } }).to_string();
                write(&mut stream, 400, json, &body, body.len()).await;
            }
            (Does::Says(message), Ok(())) => {
                let reason = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
                let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
                let usage = json!({ "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18 });
                let body = json!({ "id": "x", "object": "chat.completion", "choices": [choice], "usage": usage });
                write(&mut stream, 200, json, &body.to_string(), body.to_string().len()).await;
            }
            (Does::Answers(status, headers, body), _) => {
                let body = body.replace("{KEY}", &key);
                write(&mut stream, status, headers, &body, body.len()).await;
            }
            (Does::BreaksOff(body), _) => {
                write(&mut stream, 200, json, &body, body.len() + 100).await;
                return;
            }
            (Does::Hangs, _) => std::future::pending().await,
            (Does::Drips, _) => {
                write(&mut stream, 200, json, "{", 1_000_000).await;
                while stream.write_all(b" ").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                return;
            }
            (Does::Drops, _) => return,
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 8192];
    loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
            let length = head.lines().find_map(|l| l.strip_prefix("content-length: ")).unwrap_or("0");
            if bytes.len() >= at + 4 + length.parse::<usize>().unwrap() {
                return Some(Seen { head, body: serde_json::from_slice(&bytes[at + 4..]).unwrap_or(Value::Null) });
            }
        }
        match stream.read(&mut chunk).await {
            Ok(n) if n > 0 => bytes.extend_from_slice(&chunk[..n]),
            _ => return None,
        }
    }
}

async fn write(stream: &mut TcpStream, status: u16, headers: &str, body: &str, length: usize) {
    let head = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n");
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body.as_bytes()).await;
    let _ = stream.flush().await;
}

/// What a strict server has against a history.
pub fn fault_of(body: &Value) -> Result<(), String> {
    let messages = body["messages"].as_array().ok_or("no messages")?;
    let mut open: Vec<String> = Vec::new();
    let mut all: Vec<String> = Vec::new();
    let mut last = "";
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or("none");
        if role != "tool" && !open.is_empty() {
            return Err(format!("messages[{at}]: {role} stands before the results of {open:?}"));
        }
        match role {
            "system" if at > 0 => return Err(format!("messages[{at}]: system is not first")),
            "user" if last == "user" => return Err(format!("messages[{at}]: roles must alternate")),
            "tool" => {
                let id = message["tool_call_id"].as_str().ok_or("no tool_call_id")?;
                let known = open.iter().position(|o| o == id).ok_or(format!("messages[{at}]: orphaned id {id}"))?;
                open.remove(known);
                message["content"].as_str().ok_or("tool content is no text")?;
            }
            "assistant" => {
                let calls = message["tool_calls"].as_array();
                if calls.is_some_and(Vec::is_empty) {
                    return Err(format!("messages[{at}]: tool_calls is empty"));
                }
                if calls.is_none() && message["content"].as_str().is_none_or(str::is_empty) {
                    return Err(format!("messages[{at}]: neither content nor tool_calls"));
                }
                for call in calls.into_iter().flatten() {
                    let id = call["id"].as_str().filter(|id| !id.is_empty()).ok_or("call without id")?.to_owned();
                    if all.contains(&id) {
                        return Err(format!("messages[{at}]: id {id} is not unique"));
                    }
                    let name = call["function"]["name"].as_str().unwrap_or_default();
                    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
                    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
                        return Err(format!("messages[{at}]: function name {name:?} does not match the pattern"));
                    }
                    let arguments = call["function"]["arguments"].as_str().ok_or("arguments are no text")?;
                    if !serde_json::from_str::<Value>(arguments).is_ok_and(|a| a.is_object()) {
                        return Err(format!("messages[{at}]: arguments {arguments:?} are no object"));
                    }
                    all.push(id.clone());
                    open.push(id);
                }
            }
            _ => {}
        }
        last = role;
    }
    if !open.is_empty() {
        return Err(format!("unanswered ids {open:?}"));
    }
    let tools = body["tools"].as_array();
    if tools.is_some_and(Vec::is_empty) || (tools.is_none() && body.get("tool_choice").is_some()) {
        return Err("tools is empty, or tool_choice stands without tools".to_owned());
    }
    Ok(())
}

#[test]
fn the_server_is_strict() {
    let call = json!({ "role": "assistant", "content": null,
        "tool_calls": [{ "id": "a", "type": "function", "function": { "name": "f", "arguments": "{}" } }] });
    let result = json!({ "role": "tool", "tool_call_id": "a", "content": "x" });
    let user = json!({ "role": "user", "content": "x" });
    let check = |messages: &[&Value]| fault_of(&json!({ "messages": messages }));
    assert_eq!(check(&[&user, &call, &result, &user]), Ok(()));
    for bad in [
        vec![&user, &call],
        vec![&user, &call, &user, &result],
        vec![&user, &result],
        vec![&user, &call, &result, &result],
        vec![&user, &call, &result, &call, &result],
        vec![&user, &user],
    ] {
        assert!(check(&bad).is_err(), "{bad:?}");
    }
}
