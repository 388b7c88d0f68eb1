//! The OpenAI-compatible model against a server that is strict, and one that misbehaves.

use super::server::{Does, Server};
use serde_json::{Value, json};
use stagekeeper::provider::{OpenAi, Secret};
use stagekeeper::run::{Model, ModelError, ModelErrorKind};
use stagekeeper::{Finish, Message, ProposedCall, Reply, ToolChoice, ToolSpec, Usage, View};
use std::time::{Duration, Instant};

const KEY: &str = "sk-test-1234567890abcdef";

fn model(server: &Server) -> OpenAi {
    OpenAi::new("tiny", &server.url, Secret::new(KEY), Duration::from_secs(20)).unwrap()
}

fn user(text: &str) -> Message {
    Message::User { text: text.into() }
}

fn assistant(text: &str, calls: Vec<ProposedCall>) -> Message {
    Message::Assistant { text: text.into(), calls }
}

fn answer(id: &str, tool: &str, text: &str) -> Message {
    Message::Tool { id: id.into(), tool: tool.into(), text: text.into(), error: false }
}

fn view<'a>(messages: &'a [Message], tools: &'a [ToolSpec], tool_choice: ToolChoice) -> View<'a> {
    View { system: "be brief", messages, tools, tool_choice, stage: "explore", steps_left: 3, model: None }
}

async fn ask(model: &mut OpenAi) -> Result<Reply, ModelError> {
    let messages = [user("find it")];
    let tools = [ToolSpec::named("grep_code")];
    model.reply(view(&messages, &tools, ToolChoice::Auto)).await
}

async fn ask_one_that(does: impl IntoIterator<Item = Does>) -> (Result<Reply, ModelError>, Server) {
    let server = Server::that(does).await;
    let reply = ask(&mut model(&server)).await;
    (reply, server)
}

/// The failure of a server that does this, with its address left out, and how often it was asked.
async fn failure(does: impl IntoIterator<Item = Does>) -> (ModelErrorKind, String, usize) {
    let (reply, server) = ask_one_that(does).await;
    let error = reply.unwrap_err();
    assert!(!error.message.contains(KEY), "{}", error.message);
    (error.kind, error.message.replace(&server.url, "URL"), server.seen().len())
}

#[tokio::test]
async fn a_text_comes_back_with_its_usage_and_the_key_goes_into_one_header() {
    let (reply, server) = ask_one_that([Does::text("src/login.rs")]).await;
    let usage = Usage { input: 11, output: 7, cost_micros: 0 };
    assert_eq!(reply.unwrap(), Reply { usage, ..Reply::text("src/login.rs") });
    let seen = server.seen();
    let head: Vec<&str> = seen[0].head.lines().collect();
    assert_eq!(head[0], "POST /v1/chat/completions HTTP/1.1");
    assert!(head.contains(&format!("authorization: Bearer {KEY}").as_str()));
    assert!(head.contains(&"content-type: application/json"));
    assert!(!seen[0].body.to_string().contains(KEY));
    assert_eq!(seen[0].body["model"], "tiny");
    assert_eq!(seen[0].body["tools"][0]["function"]["name"], "grep_code");
}

#[tokio::test]
async fn without_a_key_none_is_sent() {
    let server = Server::that([Does::text("hi")]).await;
    let mut model = OpenAi::ollama("tiny", &server.url, Duration::from_secs(20)).unwrap();
    assert_eq!(ask(&mut model).await.unwrap().text, "hi");
    assert!(!server.seen()[0].head.contains("authorization"));
}

#[tokio::test]
async fn calls_come_back_in_order_and_a_malformed_one_loses_no_sibling() {
    let call = |id: &str, name: &str, arguments: Value| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    let calls = json!([
        call("a", "grep_code", json!("{\"pattern\": \"x\"}")),
        call("b", "grep_code", json!("{\"pattern\": ")),
        call("c", "made up!", json!({ "n": 1 })),
    ]);
    let (reply, _server) = ask_one_that([Does::Says(json!({ "content": null, "tool_calls": calls }))]).await;
    assert_eq!(
        reply.unwrap().calls,
        [
            ProposedCall::new("a", "grep_code", "{\"pattern\": \"x\"}"),
            ProposedCall::new("b", "grep_code", "{\"pattern\": "),
            ProposedCall::new("c", "made up!", "{\"n\":1}"),
        ]
    );
}

#[tokio::test]
async fn a_strict_server_takes_every_history_the_engine_can_make() {
    let messages = [
        user("find it"),
        user("Stage 1 of 2: explore."),
        assistant(
            "let me see",
            vec![ProposedCall::new("a", "grep_code", "{\"p\":1}"), ProposedCall::new("a", "made up!", "{\"p")],
        ),
        answer("a", "grep_code", "x"),
        answer("a", "made up!", "Not run: there is no tool made up!"),
        assistant("", vec![]),
        user("Your reply was empty."),
        assistant("", vec![ProposedCall::new("", "", ""), ProposedCall::new("a", "grep_code", "[1]")]),
        answer("", "", "Not run"),
        answer("a", "grep_code", "(empty result)"),
        user("This is the last step."),
        assistant("done", vec![]),
        user("Stage 2 of 2: report."),
    ];
    let server = Server::that([Does::text("fine")]).await;
    let tools = [ToolSpec::named("grep_code"), ToolSpec::named("fs.read")];
    for (tools, choice) in [(&tools[..], ToolChoice::Auto), (&tools[..], ToolChoice::None), (&[], ToolChoice::None)] {
        let reply = model(&server).reply(view(&messages, tools, choice)).await;
        assert_eq!(reply.map(|r| r.text), Ok("fine".to_owned()));
    }
    let choices: Vec<Value> = server.seen().iter().map(|s| s.body["tool_choice"].clone()).collect();
    assert_eq!(choices, [Value::Null, json!("none"), Value::Null]);
}

#[tokio::test]
async fn a_reply_cut_short_or_declined_says_so() {
    let body =
        |reason: &str| json!({ "choices": [{ "message": { "content": "so" }, "finish_reason": reason }] }).to_string();
    let does = ["length", "content_filter"].map(|reason| Does::Answers(200, "", body(reason)));
    let server = Server::that(does).await;
    let mut model = model(&server);
    assert_eq!(ask(&mut model).await.unwrap().finish, Finish::Length);
    assert_eq!(ask(&mut model).await.unwrap().finish, Finish::Refusal);
}

#[tokio::test]
async fn a_refusal_is_tried_once_and_says_what_to_do() {
    let error = |text: &str| json!({ "error": { "message": text, "code": "x" } }).to_string();
    let mut said = Vec::new();
    for (status, body) in [
        (401, error("Incorrect API key provided: {KEY}.")),
        (403, error("no access to this model")),
        (404, error("model not found")),
        (400, error("temperature is out of range")),
        (422, "{\"detail\": \"field required\"}".to_owned()),
        (302, String::new()),
        (501, "<html>not here</html>".to_owned()),
        (429, json!({ "error": { "message": "You exceeded your quota", "code": "insufficient_quota" } }).to_string()),
    ] {
        let (kind, message, asked) = failure([Does::Answers(status, "", body)]).await;
        assert_eq!((kind, asked), (ModelErrorKind::Refused, 1), "{status}");
        said.push(message);
    }
    insta::assert_snapshot!(said.join("\n"), @r###"
`URL` does not accept the key (401): Incorrect API key provided: Bearer ***; put a valid one into `OPENAI_API_KEY`
`URL` denies access (403): no access to this model; check that the key in `OPENAI_API_KEY` may use `tiny`
`URL` knows no model `tiny`, or has nothing at this address (404): model not found; check the model's name and `--base-url` (it often ends in `/v1`)
`URL` refuses the request (400): temperature is out of range
`URL` refuses the request (422): field required
`URL` has moved (302); give the new address with `--base-url`
`URL` cannot do this (501): an HTML page
the quota at `URL` is used up (429): You exceeded your quota
"###);
}

#[tokio::test]
async fn a_refused_request_without_a_key_names_the_variable_and_ollama_its_command() {
    let server =
        Server::that([Does::status(401, "no key"), Does::status(404, "{\"error\":\"model not found\"}")]).await;
    let silence = Duration::from_secs(20);
    let error = ask(&mut OpenAi::new("tiny", &server.url, None, silence).unwrap()).await.unwrap_err();
    assert!(error.message.ends_with("asks for a key (401): no key; set the environment variable `OPENAI_API_KEY`"));
    let error = ask(&mut OpenAi::ollama("tiny", &server.url, silence).unwrap()).await.unwrap_err();
    assert!(error.message.ends_with("has no model `tiny` (404): model not found; get it with `ollama pull tiny`"));
}

#[tokio::test]
async fn a_request_that_is_too_long_is_an_overflow() {
    for (status, body) in [
        (400, r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#),
        (400, r#"{"error":{"message":"This model's maximum context length is 4096 tokens"}}"#),
        (500, r#"{"error":{"message":"the request exceeds the available context size"}}"#),
        (413, "too large"),
        (200, r#"{"error":{"message":"prompt is too long: 300000 tokens","code":null}}"#),
    ] {
        let (kind, message, asked) = failure([Does::status(status, body)]).await;
        assert_eq!((kind, asked), (ModelErrorKind::Overflow, 1), "{message}");
        assert!(message.starts_with("the request is too long for `tiny`"), "{message}");
    }
}

#[tokio::test]
async fn trouble_is_tried_again_after_the_pause_the_server_asks_for() {
    let busy = |status| Does::Answers(status, "retry-after: 0\r\n", "{}".to_owned());
    let (reply, server) = ask_one_that([busy(429), busy(500), busy(503), busy(408), Does::text("at last")]).await;
    assert_eq!(reply.unwrap().text, "at last");
    assert_eq!(server.seen().len(), 5);
    let start = Instant::now();
    let one_second = Does::Answers(429, "retry-after: 1\r\n", "{}".to_owned());
    let (reply, _server) = ask_one_that([one_second, Does::text("later")]).await;
    assert_eq!(reply.unwrap().text, "later");
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn trouble_that_stays_ends_after_five_attempts() {
    let html = "<html><body>502 Bad Gateway</body></html>".to_owned();
    let does = Does::Answers(502, "retry-after: 0\r\n", html);
    let (kind, message, asked) = failure([does]).await;
    assert_eq!((kind, asked), (ModelErrorKind::Unreachable, 5));
    assert_eq!(message, "`URL` is in trouble (502): an HTML page (tried 5 times)");
}

#[tokio::test]
async fn a_lost_connection_is_tried_again() {
    let half = r#"{"choices":[{"message":{"con"#.to_owned();
    let (reply, server) = ask_one_that([Does::Drops, Does::BreaksOff(half), Does::text("here")]).await;
    assert_eq!(reply.unwrap().text, "here");
    assert_eq!(server.seen().len(), 3);
}

/// Found by fuzzing: the JSON library quotes a text that stands in the wrong place whole.
#[tokio::test]
async fn what_is_quoted_of_an_answer_is_short_and_no_half_of_the_key_is_left_at_the_cut() {
    let long = format!("[\"{}\"]", "a".repeat(50_000));
    // The key is hidden before anything is cut, so that no cut goes through it.
    let keys = |padding: usize| format!("{{\"error\":\"{}{}\"}}", "-".repeat(padding), KEY.repeat(200));
    let mut answers = vec![Does::status(200, &long), Does::status(400, &long), Does::status(401, &long)];
    answers.extend((0..KEY.len()).map(|padding| Does::status(401, &keys(padding))));
    for does in answers {
        let (_, message, _) = failure([does]).await;
        assert!(message.chars().count() < 600, "{} characters", message.chars().count());
        assert!(!message.contains("sk-test") && !message.contains("90abcdef"), "{message}");
    }
}

#[tokio::test]
async fn an_unreadable_answer_is_tried_again_twice() {
    let (reply, _server) = ask_one_that([Does::status(200, "{\"choices\":[]}"), Does::text("now")]).await;
    assert_eq!(reply.unwrap().text, "now");
    let (kind, message, asked) = failure([Does::status(200, "<html>Welcome</html>")]).await;
    assert_eq!((kind, asked), (ModelErrorKind::BadReply, 3));
    assert_eq!(
        message,
        "cannot read the answer of `URL`: it is HTML, not JSON; check that it speaks OpenAI's chat completions (tried 3 times)"
    );
    let (kind, message, _) = failure([Does::status(200, "{\"choices\":[{\"message\":{\"content\":\"ha")]).await;
    assert_eq!(kind, ModelErrorKind::BadReply);
    assert!(message.contains("it breaks off in the middle of the JSON"), "{message}");
}

#[tokio::test]
async fn an_error_with_the_status_of_success_is_still_an_error() {
    let rate = r#"{"error":{"message":"slow down","code":429}}"#;
    let (reply, server) = ask_one_that([Does::status(200, rate), Does::text("ok")]).await;
    assert_eq!((reply.unwrap().text.as_str(), server.seen().len()), ("ok", 2));
    let (_, message, _) = failure([Does::status(200, r#"{"error":{"message":"no room"}}"#)]).await;
    assert_eq!(message, "`URL` is in trouble: no room (tried 5 times)");
}

#[tokio::test]
async fn a_silent_server_and_a_dripping_one_are_given_up_in_bounded_time() {
    for (does, said) in [
        (Does::Hangs, "`URL` sent nothing for 0.2 s; check that it is up, or give it longer with `--model-timeout`"),
        (Does::Drips, "`URL` gave no whole reply within 0.6 s"),
    ] {
        let server = Server::that([does]).await;
        let mut model = OpenAi::new("tiny", &server.url, None, Duration::from_millis(200)).unwrap();
        let start = Instant::now();
        let error = ask(&mut model).await.unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(5));
        assert_eq!(error.kind, ModelErrorKind::Unreachable);
        assert_eq!(error.message.replace(&server.url, "URL"), said);
    }
}

#[tokio::test]
async fn a_huge_answer_is_not_read_to_its_end() {
    let (kind, message, asked) = failure([Does::status(200, &" ".repeat(9 << 20))]).await;
    assert_eq!((kind, asked), (ModelErrorKind::BadReply, 1));
    assert_eq!(message, "the answer of `URL` is larger than 8 MiB");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let address = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("http://{address}/v1");
    let mut model = OpenAi::new("tiny", &url, None, Duration::from_secs(20)).unwrap();
    let error = ask(&mut model).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unreachable);
    let message = error.message.replace(&url, "URL");
    assert!(message.starts_with("cannot reach `URL`: Connection refused"), "{message}");
    assert!(message.ends_with("; check that the server runs, and `--base-url` (tried 3 times)"), "{message}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_so_the_key_goes_nowhere_else() {
    let elsewhere = Server::that([Does::text("gotcha")]).await;
    let location: &'static str = format!("location: {}/chat/completions\r\n", elsewhere.url).leak();
    for status in [301, 307, 308] {
        let (kind, message, _) = failure([Does::Answers(status, location, String::new())]).await;
        assert_eq!(kind, ModelErrorKind::Refused);
        assert!(message.contains("give the new address with `--base-url`"), "{message}");
    }
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn a_certificate_nobody_vouches_for_or_no_tls_at_all_is_a_failure_not_a_panic() {
    let server = Server::that([Does::text("plain")]).await;
    let url = server.url.replace("http://", "https://");
    let mut model = OpenAi::new("tiny", &url, Secret::new(KEY), Duration::from_millis(200)).unwrap();
    let error = ask(&mut model).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unreachable);
}

#[cfg(feature = "cli")]
#[test]
fn the_key_is_in_no_log_no_debug_no_error_and_no_reply() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let mut said = String::new();
    // `with_default` holds for this thread alone, so the runtime has no other.
    tracing::subscriber::with_default(subscriber, || {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            let echo = |status| {
                Does::Answers(status, "retry-after: 0\r\n", "{\"error\":{\"message\":\"you sent {KEY}\"}}".to_owned())
            };
            let plain =
                |status| Does::Answers(status, "retry-after: 0\r\n", format!("{} {{KEY}} end", "x".repeat(280)));
            let in_reply = json!({ "choices": [{ "message": { "content": "you sent {KEY}", "tool_calls": [
                { "id": "{KEY}", "function": { "name": "f", "arguments": "{\"k\":\"{KEY}\"}" } }] } }] });
            for does in [
                echo(400),
                echo(401),
                echo(403),
                echo(404),
                echo(429),
                echo(500),
                plain(500),
                plain(418),
                Does::status(200, &in_reply.to_string()),
            ] {
                let server = Server::that([does]).await;
                let mut model = model(&server);
                let reply = ask(&mut model).await;
                assert!(server.seen()[0].head.contains(KEY), "the server did get it");
                said.push_str(&format!("{model:?} {reply:?}\n"));
            }
        });
    });
    let logged = log.text();
    assert!(logged.contains("trying again"), "retries are logged: {logged}");
    for (what, text) in [("log", &logged), ("said", &said)] {
        assert!(!text.contains(KEY) && !text.contains("sk-test"), "{what}: {text}");
    }
    assert!(said.contains("you sent Bearer ***"));
}

#[cfg(feature = "cli")]
#[derive(Clone, Default)]
struct Log(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

#[cfg(feature = "cli")]
impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

#[cfg(feature = "cli")]
impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
