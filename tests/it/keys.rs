//! A key stands in nothing that a run leaves behind: every output of the command, whatever the server does with the key,
//! is searched for it and for its halves.

use super::provider::server::{Does, Server};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// With a slash, which some servers write as `\/`.
const KEY: &str = "sk-leak/9f8e7d6c-5b4a3f2e1d0c";
/// The key in any form, or half of it.
const MARKS: [&str; 3] = ["sk-leak", "9f8e7d6c", "5b4a3f2e"];

const TABLE: &str = "stagekeeper: 1
workflow: look
stages:
  look: { goal: Look., allowed_tools: [read_file], max_steps: 3 }
  say: { goal: Say it., allowed_tools: [], max_steps: 1 }
";

/// A folder for what the command leaves, and another for what its tools read.
struct Desk {
    folder: tempfile::TempDir,
    root: tempfile::TempDir,
    url: String,
    said: Vec<(String, Output)>,
}

impl Desk {
    fn new(url: &str) -> Self {
        let (folder, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(folder.path().join("look.yaml"), TABLE).unwrap();
        std::fs::write(root.path().join("env.txt"), format!("export OPENAI_API_KEY={KEY}\n")).unwrap();
        Self { folder, root, url: url.to_owned(), said: Vec::new() }
    }

    fn does(&mut self, args: &[&str]) -> i32 {
        let output = Command::new(env!("CARGO_BIN_EXE_stagekeeper"))
            .args(args)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .env("OPENAI_API_KEY", KEY)
            .env("STAGEKEEPER_LOG", "trace")
            .env("NO_PROXY", "*")
            .output()
            .unwrap();
        let code = output.status.code().unwrap();
        self.said.push((args.join(" "), output));
        code
    }

    fn run(&mut self, more: &[&str]) -> i32 {
        let (root, url) = (self.root.path().to_str().unwrap().to_owned(), self.url.clone());
        let run =
            ["run", "look.yaml", "--task", "Look.", "--model", "openai:tiny", "--base-url", &url, "--root", &root];
        self.does(&[&run[..], more].concat())
    }

    /// Everything that can be made of the trace.
    fn look_at_the_trace(&mut self) {
        let traces = files(&self.folder.path().join(".stagekeeper"));
        let trace = traces.iter().find(|path| path.extension().is_some_and(|e| e == "jsonl")).unwrap();
        let trace = trace.to_str().unwrap();
        for args in [
            &["draw", trace, "-o", "page.html"][..],
            &["draw", trace, "--format", "text"],
            &["replay", trace, "--format", "json"],
            &["explain", trace, "1"],
            &["audit", "look.yaml", trace],
            &["new", "again", "--from", trace],
        ] {
            self.does(args);
        }
    }

    /// Nothing that was printed and no file that was left holds the key.
    fn search(&self) {
        for (args, output) in &self.said {
            for said in [&output.stdout, &output.stderr] {
                clean(args, said);
            }
        }
        for path in files(self.folder.path()) {
            clean(&path.display().to_string(), &std::fs::read(&path).unwrap());
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

fn clean(whence: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for mark in MARKS {
        assert!(!text.contains(mark), "{mark} of the key stands in what `{whence}` left:\n{text}");
    }
}

/// Runs with a trace and with a store against a server that does this; both runs end with `code`.
async fn leaves_no_key(does: Vec<Does>, code: i32) {
    let server = Server::that([does.clone(), does].concat()).await;
    let url = server.url.clone();
    let searched = tokio::task::spawn_blocking(move || {
        let mut desk = Desk::new(&url);
        assert_eq!(desk.run(&["--summary", "end.json"]), code, "{:?}", desk.said);
        desk.look_at_the_trace();
        assert_eq!(desk.run(&["--store", "runs.db", "--format", "json"]), code, "{:?}", desk.said);
        desk.does(&["runs", "--store", "runs.db", "--format", "json"]);
        desk.search();
    });
    searched.await.unwrap();
    let heads: Vec<String> = server.seen().into_iter().map(|seen| seen.head).collect();
    assert!(heads.iter().all(|head| head.contains(&format!("authorization: Bearer {KEY}"))), "{heads:?}");
}

fn call(path: &str) -> Does {
    let arguments = json!({ "path": path }).to_string();
    Does::Says(json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "a", "type": "function", "function": { "name": "read_file", "arguments": arguments } }] }))
}

/// The status once for each run: it is one of those that are not tried again.
fn fails(status: u16, body: &str) -> Vec<Does> {
    vec![Does::status(status, body)]
}

#[tokio::test]
async fn a_run_that_reads_the_key_and_hears_it_again_keeps_it_nowhere() {
    let echo = r#"{"choices":[{"message":{"content":"your key is {KEY}, sk-leak\/9f8e7d6c-5b4a3f2e1d0c"}}]}"#;
    let echo_in_a_call = r#"{"choices":[{"message":{"tool_calls":[{"id":"{KEY}","function":{"name":"read_file",
        "arguments":{"path":"sk-leak\/9f8e7d6c-5b4a3f2e1d0c","x":"{KEY}"}}}]}}]}"#;
    let says = |body: &str| Does::status(200, body);
    leaves_no_key(vec![call("env.txt"), says(echo_in_a_call), says(echo), says(echo)], 0).await;
}

#[tokio::test]
async fn a_server_that_refuses_the_key_and_repeats_it_is_quoted_without_it() {
    for body in [
        r#"{"error":{"message":"Incorrect API key provided: {KEY}.","code":"invalid_api_key"}}"#,
        r#"{"detail":"no such key: sk-leak\/9f8e7d6c-5b4a3f2e1d0c"}"#,
        "plainly {KEY}",
    ] {
        leaves_no_key(fails(401, body), 5).await;
    }
    let long = format!("{{\"error\":\"{}\"}}", "{KEY} ".repeat(200));
    leaves_no_key(fails(403, &long), 5).await;
    leaves_no_key(
        vec![Does::Answers(302, "location: http://127.0.0.1:9/{KEY}\r\nx-key: sk-leak\r\n", "{KEY}".into())],
        5,
    )
    .await;
}

#[tokio::test]
async fn a_server_that_is_broken_or_garbles_its_answer_is_quoted_without_it() {
    let (broken, garbled) = tokio::join!(
        tokio::spawn(leaves_no_key(fails(500, r#"{"error":{"message":"crashed on {KEY}"}}"#), 5)),
        tokio::spawn(leaves_no_key(fails(200, "{\"choices\": [{KEY}"), 5)),
    );
    broken.unwrap();
    garbled.unwrap();
}

#[tokio::test]
async fn a_server_that_does_not_listen_is_told_without_it() {
    let searched = tokio::task::spawn_blocking(|| {
        let mut desk = Desk::new("http://127.0.0.1:9/v1");
        assert_eq!(desk.run(&[]), 5, "{:?}", desk.said);
        desk.look_at_the_trace();
        desk.search();
    });
    searched.await.unwrap();
}

#[test]
fn an_address_that_holds_a_key_is_refused_and_not_repeated() {
    for url in [
        format!("http://user:{}@127.0.0.1:9/v1", KEY.replace('/', "-")),
        format!("http://{}@127.0.0.1:9/v1", KEY.replace('/', "-")),
        format!("http://127.0.0.1:9/v1?api-key={KEY}"),
        format!("http://127.0.0.1:9/v1?access_token={KEY}"),
        format!("ftp://{KEY}/v1"),
        format!("no address {KEY}"),
    ] {
        let mut desk = Desk::new(&url);
        assert_eq!(desk.run(&["--store", "runs.db"]), 2, "{:?}", desk.said);
        assert_eq!(desk.run(&[]), 2, "{:?}", desk.said);
        desk.search();
    }
}
