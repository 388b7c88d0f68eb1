//! The models on shipped tables, with the real engine and, for `builtin`, the real tools on a real folder.

use stagekeeper::engine::event::{Event, Judged};
use stagekeeper::provider::chaos::Kind;
use stagekeeper::provider::{Options, build};
use stagekeeper::run::{BuiltinTools, Model, ToolCall, ToolHost};
use stagekeeper::{Outcome, Session, StageTable, Summary, ToolResult, Verdict};
use std::path::Path;

fn table(name: &str) -> StageTable {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("stages").join(name);
    StageTable::parse(&std::fs::read_to_string(path).unwrap()).unwrap()
}

struct Run {
    summary: Summary,
    replies: u32,
    /// Texts of the model, in order.
    texts: Vec<String>,
    /// Tools that ran, with the stage they ran in.
    ran: Vec<(String, String)>,
    /// How often a call was refused.
    refused: usize,
}

/// Drives a run by hand; without a host every tool answers `ok`.
async fn run(table: &StageTable, task: &str, model: &mut dyn Model, host: Option<&dyn ToolHost>) -> Run {
    let mut builder = Session::builder(table, task);
    if let Some(host) = host {
        builder = builder.tools(host.tools());
    }
    let mut session = builder.start().unwrap();
    let (mut replies, mut texts, mut ran) = (0, Vec::new(), Vec::new());
    while session.outcome().is_none() {
        replies += 1;
        assert!(replies < 500, "the run does not end");
        let stage = session.view().stage.to_owned();
        let reply = match model.reply(session.view()).await {
            Ok(reply) => reply,
            Err(error) => {
                session.provider_failed(false, error.message);
                continue;
            }
        };
        if !reply.text.is_empty() {
            texts.push(reply.text.clone());
        }
        for ruling in session.judge(reply) {
            let Verdict::Run(ticket) = ruling.verdict else { continue };
            ran.push((ruling.tool.to_string(), stage.clone()));
            let call = ToolCall {
                no: ruling.no,
                tool: ruling.tool.to_string(),
                arguments: if ruling.call.arguments.is_empty() { "{}".into() } else { ruling.call.arguments },
                idempotency_key: format!("run-{}", ruling.no.0),
            };
            let result = match host {
                Some(host) => host.call(&call).await,
                None => ToolResult::ok("ok"),
            };
            session.finish(ticket, result);
        }
    }
    let events = session.take_records().into_iter().flat_map(|r| r.events);
    let refused = events.filter(|e| matches!(e, Event::CallJudged { judged: Judged::Refuse { .. }, .. })).count();
    Run { summary: session.summary(), replies, texts, ran, refused }
}

async fn builtin(name: &str, task: &str, root: &Path) -> Run {
    let table = table(name);
    let outbox = tempfile::tempdir().unwrap();
    let host = BuiltinTools::open(root).unwrap().for_table(&table).outbox(outbox.path());
    let mut model = build("builtin", &Options::default()).unwrap();
    let run = run(&table, task, model.as_mut(), Some(&host)).await;
    host.close().await.unwrap();
    run
}

#[tokio::test]
async fn builtin_diagnoses_this_very_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let task = "The pause between retries ignores the Retry-After header. Report to ann@example.org.";
    let run = builtin("diagnose.yaml", task, root).await;
    assert_eq!(run.summary.outcome, Some(Outcome::Completed), "{:?}", run.texts);
    assert!(run.replies <= 15);
    let tools: Vec<&str> = run.ran.iter().map(|(tool, _)| tool.as_str()).collect();
    for tool in ["list_files", "grep_code", "read_file"] {
        assert!(tools.contains(&tool), "{tools:?}");
    }
    assert_eq!(tools.iter().filter(|t| **t == "send_email").count(), 1);
    assert_eq!(run.refused, 0);
    assert!(run.summary.text.contains("Most likely place: "), "{}", run.summary.text);
    assert!(run.summary.text.contains("- src/provider/openai/"), "{}", run.summary.text);
}

#[tokio::test]
async fn builtin_answers_from_five_documents() {
    let root = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("billing.md", "# Billing\n\nInvoices are sent on the first of the month.\n"),
        ("hours.md", "# Hours\n\nSupport answers from 9 to 17.\n"),
        ("refunds.md", "# Refunds\n\nA refund is paid within 14 days after the goods came back.\n"),
        ("shipping.md", "# Shipping\n\nParcels take three days.\n"),
        ("terms.md", "# Terms\n\nThese terms hold for all orders.\n"),
    ] {
        std::fs::write(root.path().join(name), text).unwrap();
    }
    let run = builtin("docs_qa.yaml", "Within how many days is a refund paid?", root.path()).await;
    assert_eq!(run.summary.outcome, Some(Outcome::Completed));
    assert!(run.summary.text.contains("refunds.md:3"), "{}", run.summary.text);
    assert_eq!(run.ran.iter().filter(|(tool, _)| tool == "read_file").count(), 5);
    assert_eq!(run.refused, 0);
}

#[tokio::test]
async fn builtin_goes_through_transpile_to_its_end() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("hello.sh"), "echo hello\n").unwrap();
    let run = builtin("transpile.yaml", "Translate hello.sh to C.", root.path()).await;
    assert!(run.summary.outcome.is_some_and(|o| !o.is_pause()));
    assert!(run.replies <= 15);
    assert!(root.path().join("gen/main.c").exists());
    assert_eq!(run.refused, 0);
}

#[tokio::test]
async fn no_adversary_gets_past_its_table() {
    for file in ["diagnose.yaml", "docs_qa.yaml", "transpile.yaml"] {
        let table = table(file);
        for (kind, _) in Kind::ALL {
            let mut model = build(&format!("chaos:{kind}"), &Options::default()).unwrap();
            let run = run(&table, "Login crashes.", model.as_mut(), None).await;
            let what = format!("{kind} on {file}: {:?}", run.summary);
            assert!(run.summary.steps <= run.summary.ceiling, "{what}");
            assert!(!run.summary.text.is_empty(), "{what}");
            assert!(run.summary.outcome.is_some_and(|o| o != Outcome::Completed && !o.is_pause()), "{what}");
            if file == "diagnose.yaml" {
                assert!(run.ran.iter().all(|(tool, stage)| tool != "send_email" || stage == "report"), "{what}");
                assert!(run.replies <= 15, "{what}");
            }
            assert!(kind != "forbidden" || run.refused > 0, "{what}");
        }
    }
}

#[tokio::test]
async fn a_script_is_played_and_then_the_model_is_silent() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.yaml");
    let script = "script:\n  - call: { tool: list_files, args: { path: src } }\n  - fails: 429\n  - fails: 401\n  - raw: { tool: grep_code, arguments: '{\"p' }\n  - user: hello\n  - text: src/login.rs\n";
    std::fs::write(&file, script).unwrap();
    let mut model = build(&format!("script:{}", file.display()), &Options::default()).unwrap();
    let session = Session::start(&table("diagnose.yaml"), "x");
    let mut said = Vec::new();
    for _ in 0..6 {
        said.push(match model.reply(session.view()).await {
            Ok(reply) => format!(
                "{:?} {:?}",
                reply.text,
                reply.calls.iter().map(|c| (&c.tool, &c.arguments)).collect::<Vec<_>>()
            ),
            Err(error) => format!("{:?}: {}", error.kind, error.message),
        });
    }
    insta::assert_snapshot!(said.join("\n"), @r###"
"" [("list_files", "{\"path\":\"src\"}")]
Unreachable: the model answered 429
Refused: the model answered 401
"" [("grep_code", "{\"p")]
"src/login.rs" []
"" []
"###);
}

#[test]
fn a_script_that_cannot_be_read_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let said = |name: &str, bytes: &[u8]| {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let error = build(&format!("script:{}", file.display()), &Options::default()).err().unwrap().to_string();
        error.replace(&folder.path().display().to_string(), "FOLDER")
    };
    let missing = build("script:no/such/file.yaml", &Options::default()).err().unwrap().to_string();
    assert_eq!(missing, "cannot read the script `no/such/file.yaml`: No such file or directory (os error 2)");
    assert_eq!(said("b.yaml", b"\xff\xfe\x00"), "cannot read the script `FOLDER/b.yaml`: it is no UTF-8 text");
    let large = said("l.yaml", &vec![b'#'; (8 << 20) + 1]);
    assert_eq!(large, "cannot read the script `FOLDER/l.yaml`: it is larger than 8 MiB");
    let bad = said("p.yaml", b"script:\n  - cal: { tool: x }\n");
    assert!(bad.starts_with("the script has problems:\nFOLDER/p.yaml:2:"), "{bad}");
}
