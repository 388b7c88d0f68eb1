//! The keyword agent in a small world: files in memory, tools as the command has them, stages as tables write them.

use serde_json::{Value, json};
use stagekeeper::provider::Builtin;
use stagekeeper::{Message, ProposedCall, Reply, ToolChoice, ToolSpec, View};
use std::collections::HashSet;

const LOGIN: &str = "//! Who may come in.\n\npub struct User {\n    pub name: String,\n}\n\n/// Greets after the login.\npub fn greet(user: &User) -> String {\n    let first = user.name.chars().next().unwrap();\n    format!(\"Hello {first}\")\n}\n";
const FILES: &[(&str, &str)] = &[
    ("Cargo.toml", "[package]\nname = \"shop\"\n"),
    ("README.md", "# Shop\n\nA shop with a login.\n"),
    ("src/cart.rs", "pub fn total(prices: &[u32]) -> u32 {\n    prices.iter().sum()\n}\n"),
    ("src/db.rs", "pub fn open() {}\n"),
    ("src/lib.rs", "mod cart;\nmod db;\nmod login;\nmod mail;\n"),
    ("src/login.rs", LOGIN),
    ("src/mail.rs", "pub fn send() {}\n"),
    ("tests/login.rs", "// logs in with a name\n"),
];
const DOCS: &[(&str, &str)] = &[
    ("billing.md", "# Billing\nInvoices are sent on the first of the month.\n"),
    ("hours.md", "# Hours\nSupport answers from 9 to 17.\n"),
    ("refunds.md", "# Refunds\nA refund is paid within 14 days after the goods came back.\n"),
    ("shipping.md", "# Shipping\nParcels take three days.\n"),
    ("terms.md", "# Terms\nThese terms hold for all orders.\n"),
];

struct World {
    files: Vec<(String, String)>,
    tools: Vec<ToolSpec>,
    messages: Vec<Message>,
    calls: Vec<ProposedCall>,
    replies: usize,
}

impl World {
    fn new(files: &[(&str, &str)], task: &str) -> Self {
        let text = json!({ "type": "string" });
        let number = json!({ "type": "integer" });
        let tool = |name: &str, properties: Value, required: &[&str]| ToolSpec {
            name: name.into(),
            description: "Runs only: `cc main.c`, `true`.".into(),
            parameters: json!({ "type": "object", "properties": properties, "required": required }),
        };
        let tools = vec![
            tool("list_files", json!({ "path": text, "depth": number }), &[]),
            tool("grep_code", json!({ "pattern": text, "path": text, "glob": text }), &["pattern"]),
            tool("read_file", json!({ "path": text, "offset": number, "limit": number }), &["path"]),
            tool("write_file", json!({ "path": text, "content": text }), &["path", "content"]),
            tool("run_command", json!({ "command": text }), &["command"]),
            tool("send_email", json!({ "to": text, "subject": text, "body": text }), &["to", "subject", "body"]),
            tool("advance", json!({ "summary": text }), &["summary"]),
        ];
        let files = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let messages = vec![Message::User { text: task.into() }];
        Self { files, tools, messages, calls: Vec::new(), replies: 0 }
    }

    /// Plays one stage and returns the text it ended with.
    fn stage(&mut self, place: &str, allowed: &str, steps: u32) -> String {
        self.enter(place, allowed, steps);
        for left in (1..=steps).rev() {
            let reply = self.ask(place, left, ToolChoice::Auto);
            if reply.calls.is_empty() {
                assert!(!reply.text.is_empty());
                return reply.text;
            }
            assert!(left > 1, "the last step is for words");
            for call in &reply.calls {
                assert!(allowed.split(", ").any(|a| a == call.tool), "{} is not allowed: {allowed}", call.tool);
            }
        }
        panic!("stage {place} ended without a text");
    }

    fn enter(&mut self, place: &str, allowed: &str, steps: u32) {
        let text =
            format!("Stage {place}.\nGoal: do it.\nAllowed tools: {allowed}.\nSteps: {steps}.\nTo go on, write.");
        self.messages.push(Message::User { text });
    }

    fn ask(&mut self, stage: &str, steps_left: u32, tool_choice: ToolChoice) -> Reply {
        let view = View {
            system: "",
            messages: &self.messages,
            tools: &self.tools,
            tool_choice,
            stage,
            steps_left,
            model: None,
        };
        let reply = Builtin::new().next(&view);
        assert_eq!(reply, Builtin::new().next(&view), "the same view gets the same reply");
        self.replies += 1;
        let (text, calls) = (reply.text.as_str().into(), reply.calls.clone());
        self.messages.push(Message::Assistant { text, calls });
        for call in &reply.calls {
            let arguments = serde_json::from_str(&call.arguments).unwrap();
            let (text, error) = match self.run(&call.tool, &arguments) {
                Ok(text) if text.is_empty() => ("(empty result)".to_owned(), false),
                Ok(text) => (text, false),
                Err(text) => (text, true),
            };
            self.messages.push(Message::Tool {
                id: call.id.clone(),
                tool: call.tool.clone(),
                text: text.into(),
                error,
            });
            self.calls.push(call.clone());
        }
        reply
    }

    fn run(&mut self, tool: &str, arguments: &Value) -> Result<String, String> {
        let text = |name: &str| arguments[name].as_str().unwrap_or_default();
        match tool {
            "list_files" => Ok(self.files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join("\n")),
            "grep_code" => {
                let pattern = regex::Regex::new(text("pattern")).map_err(|e| e.to_string())?;
                let lines =
                    self.files.iter().flat_map(|(name, text)| text.lines().enumerate().map(move |(n, l)| (name, n, l)));
                let found = lines.filter(|(_, _, line)| pattern.is_match(line));
                Ok(found.map(|(name, n, line)| format!("{name}:{}: {line}", n + 1)).collect::<Vec<_>>().join("\n"))
            }
            "read_file" => {
                let (_, content) = self.files.iter().find(|(name, _)| name == text("path")).ok_or("no such file")?;
                let first = arguments["offset"].as_u64().unwrap_or(1) as usize;
                Ok(content.split_inclusive('\n').skip(first - 1).collect())
            }
            "write_file" => {
                self.files.push((text("path").to_owned(), text("content").to_owned()));
                Ok("written".to_owned())
            }
            _ => Ok("done".to_owned()),
        }
    }

    fn called(&self, tool: &str) -> Vec<Value> {
        let of = self.calls.iter().filter(|c| c.tool == tool);
        of.map(|c| serde_json::from_str(&c.arguments).unwrap()).collect()
    }

    fn assert_no_call_twice(&self) {
        let mut seen = HashSet::new();
        assert!(self.calls.iter().all(|c| seen.insert((&c.tool, &c.arguments))), "{:?}", self.calls);
    }
}

fn diagnose(task: &str, files: &[(&str, &str)]) -> (World, [String; 4]) {
    let mut world = World::new(files, task);
    let texts = [
        world.stage("1 of 4: explore", "list_files, grep_code", 4),
        world.stage("2 of 4: read", "read_file", 8),
        world.stage("3 of 4: analyze", "none", 1),
        world.stage("4 of 4: report", "send_email", 2),
    ];
    world.assert_no_call_twice();
    assert!(world.replies <= 15);
    (world, texts)
}

#[test]
fn a_defect_is_traced_to_its_line() {
    let (world, [explore, read, analyze, report]) = diagnose("Login crashes on an empty name.", FILES);
    assert_eq!(world.called("list_files").len(), 1);
    assert_eq!(world.called("read_file")[0]["path"], "src/login.rs");
    assert!(world.called("send_email").is_empty());
    insta::assert_snapshot!([explore, read, analyze, report].join("\n---\n"), @r###"
Looked for: `login`, `crash`, `empty`, `name`; not found: `crash`, `empty`.
Files to read, best first:
- src/login.rs (9: `let first = user.name.chars().next().unwrap();`)
- src/lib.rs (3: `mod login;`)
- tests/login.rs (1: `// logs in with a name`)
- Cargo.toml (2: `name = "shop"`)
- README.md (3: `A shop with a login.`)
---
Looked for: `login`, `crash`, `empty`, `name`; not found: `crash`, `empty`.
Read: src/login.rs, src/lib.rs, tests/login.rs, Cargo.toml, README.md.
- src/login.rs:9 `let first = user.name.chars().next().unwrap();`
- src/lib.rs:3 `mod login;`
- Cargo.toml:2 `name = "shop"`
- README.md:3 `A shop with a login.`
- tests/login.rs:1 `// logs in with a name`
---
I am Stagekeeper's built-in keyword agent, not a language model: I search for the task's words, read the files they stand in and quote lines. I do not understand the code.
Looked for: `login`, `crash`, `empty`, `name`; not found: `crash`, `empty`.
Read: src/login.rs, src/lib.rs, tests/login.rs, Cargo.toml, README.md.
Lines that hold the most telling of them, best first:
- src/login.rs:9 `let first = user.name.chars().next().unwrap();`
  it holds `name`, and it may fail at run time
- src/login.rs:4 `pub name: String,`
  it holds `name`
- src/login.rs:7 `/// Greets after the login.`
  it holds `login`
- src/lib.rs:3 `mod login;`
  it holds `login`
- Cargo.toml:2 `name = "shop"`
  it holds `name`
- README.md:3 `A shop with a login.`
  it holds `login`
- tests/login.rs:1 `// logs in with a name`
  it holds `name`
---
Report on: Login crashes on an empty name.
Most likely place: src/login.rs:9, in `pub fn greet(user: &User) -> String {`
    let first = user.name.chars().next().unwrap();
Why: it holds `name`, and it may fail at run time.
Look at these too:
- src/login.rs:4 `pub name: String,`
- src/login.rs:7 `/// Greets after the login.`
- src/lib.rs:3 `mod login;`
- Cargo.toml:2 `name = "shop"`
- README.md:3 `A shop with a login.`
- tests/login.rs:1 `// logs in with a name`
Looked for: `login`, `crash`, `empty`, `name`; not found: `crash`, `empty`.
Read: src/login.rs, src/lib.rs, tests/login.rs, Cargo.toml, README.md.
I am Stagekeeper's built-in keyword agent, not a language model: I search for the task's words, read the files they stand in and quote lines. I do not understand the code. Where the lines above point is a guess for a person to check; no fix was tried.
"###);
}

#[test]
fn the_report_is_mailed_once_to_the_address_in_the_task() {
    let (world, texts) = diagnose("Login crashes on an empty name; report to ann@example.org.", FILES);
    let mails = world.called("send_email");
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0]["to"], "ann@example.org");
    assert!(mails[0]["body"].as_str().unwrap().contains("src/login.rs:9"));
    assert!(texts[3].contains("This report was mailed with send_email."));
}

#[test]
fn a_task_that_nothing_answers_ends_honestly() {
    for (task, files) in [
        ("Zyzzyva quxifies the frobnicator.", FILES),
        ("fix it", FILES),
        ("", FILES),
        ("Login crashes.", &[][..]),
        ("登录时崩溃", FILES),
    ] {
        let (_, texts) = diagnose(task, files);
        assert!(texts[3].contains("built-in keyword agent, not a language model"), "{task}: {}", texts[3]);
    }
}

#[test]
fn five_documents_are_read_once_each_and_quoted() {
    let mut world = World::new(DOCS, "Within how many days is a refund paid?");
    let collect = world.stage("1 of 2: collect", "list_files, read_file", 10);
    let answer = world.stage("2 of 2: answer", "none", 1);
    world.assert_no_call_twice();
    let mut read: Vec<String> =
        world.called("read_file").iter().map(|a| a["path"].as_str().unwrap().to_owned()).collect();
    assert_eq!(read[0], "refunds.md");
    read.sort();
    assert_eq!(read, DOCS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    insta::assert_snapshot!(format!("{collect}\n---\n{answer}"), @r###"
Looked for: `within`, `refund`, `days`, `paid`.
Read: refunds.md, billing.md, hours.md, shipping.md, terms.md.
- refunds.md:2 `A refund is paid within 14 days after the goods came back.`
- shipping.md:2 `Parcels take three days.`
---
Report on: Within how many days is a refund paid?
Best match: refunds.md:2
    A refund is paid within 14 days after the goods came back.
Why: it holds `within`, `refund`, `days`, `paid`.
Look at these too:
- refunds.md:1 `# Refunds`
- shipping.md:2 `Parcels take three days.`
Looked for: `within`, `refund`, `days`, `paid`.
Read: refunds.md, billing.md, hours.md, shipping.md, terms.md.
I am Stagekeeper's built-in keyword agent, not a language model: I search for the task's words, read the files they stand in and quote lines. I do not understand the code. Where the lines above point is a guess for a person to check; no fix was tried.
"###);
}

#[test]
fn few_steps_are_used_for_several_files_at_once() {
    let mut world = World::new(DOCS, "Within how many days is a refund paid?");
    world.stage("1 of 2: collect", "list_files, read_file", 4);
    assert_eq!(world.called("read_file").len(), 5);
}

#[test]
fn a_table_that_writes_and_builds_is_gone_through_without_a_loop() {
    let mut world = World::new(&[("hello.sh", "echo hello\n")], "Translate hello.sh to C, into main.c.");
    world.stage("1 of 4: init", "list_files, read_file", 4);
    world.stage("2 of 4: gen_files", "write_file", 6);
    world.stage("3 of 4: build", "run_command", 4);
    let report = world.stage("4 of 4: summarize", "none", 1);
    world.assert_no_call_twice();
    let written = world.called("write_file");
    assert_eq!(written.len(), 1);
    assert_eq!(written[0]["path"], "main.c");
    assert!(written[0]["content"].as_str().unwrap().contains("int main(void)"));
    assert_eq!(world.called("run_command"), [json!({ "command": "cc main.c" }), json!({ "command": "true" })]);
    assert!(report.contains("Written: main.c") && report.contains("Run: `cc main.c`"), "{report}");
}

#[test]
fn the_closing_request_gets_words_and_so_does_the_last_step() {
    let mut world = World::new(FILES, "Login crashes on an empty name.");
    world.enter("1 of 4: explore", "list_files, grep_code", 4);
    assert!(!world.ask("explore", 1, ToolChoice::Auto).text.is_empty());
    let closing = world.ask("report", 4, ToolChoice::None);
    assert!(closing.calls.is_empty() && closing.text.starts_with("Report on: Login crashes"));
}

#[test]
fn a_stage_that_a_text_does_not_leave_is_left_by_advance() {
    let mut world = World::new(FILES, "Login crashes on an empty name.");
    world.enter("1 of 2: think", "none", 5);
    assert!(world.ask("think", 5, ToolChoice::Auto).calls.is_empty());
    world.messages.push(Message::User { text: "A text does not leave stage think.".into() });
    let reply = world.ask("think", 4, ToolChoice::Auto);
    assert_eq!(reply.calls[0].tool, "advance");
}

#[test]
fn a_tool_that_keeps_failing_is_left_alone() {
    let mut world = World::new(FILES, "Find total, cart, greet, prices, first, hello, open in the code.");
    world.tools.retain(|t| t.name == "grep_code");
    world.enter("1 of 2: explore", "grep_code", 9);
    for left in (2..=9).rev() {
        let reply = world.ask("explore", left, ToolChoice::Auto);
        for message in world.messages.iter_mut().rev().take(reply.calls.len()) {
            if let Message::Tool { text, error, .. } = message {
                (*text, *error) = ("broken".into(), true);
            }
        }
        if reply.calls.is_empty() {
            assert_eq!(world.calls.len(), 3, "one reply of searches, then no more");
            return;
        }
    }
    panic!("it never stopped");
}
