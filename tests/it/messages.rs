//! The shipped translation is complete, and a run under it says nothing in English.

use stagekeeper::table::messages::MESSAGES;
use stagekeeper::{Message, ProposedCall, Reply, Session, StageTable};

const ZH: &str = include_str!("../../stages/messages.zh.yaml");

fn translated() -> StageTable {
    let table = "stagekeeper: 1
workflow: 翻译
messages: { from: messages.zh.yaml }
stages:
  看: { goal: 看一看。, allowed_tools: [ls], max_steps: 3 }
  答: { goal: 回答。, allowed_tools: [cat], max_steps: 2 }
";
    StageTable::parse_with("t.yaml", table, &mut |_| Ok(ZH.to_owned())).unwrap()
}

#[test]
fn no_text_is_left_untranslated() {
    for message in MESSAGES {
        let line = ZH.lines().find(|l| l.starts_with(&format!("{}:", message.name)));
        assert!(line.is_some(), "`{}` is not translated", message.name);
        for name in message.names {
            let read = ZH.contains(&format!("{{{{ {name} }}}}")) || ZH.contains(&format!("if {name}"));
            assert!(read || ZH.contains(*name) || ["workflow", "about"].contains(name), "`{name}` is read nowhere");
        }
    }
    let known = |line: &str| MESSAGES.iter().any(|m| line.starts_with(&format!("{}:", m.name)));
    for line in ZH.lines().filter(|l| !l.starts_with(' ') && !l.starts_with('#') && !l.is_empty()) {
        assert!(known(line), "`{line}` translates nothing");
    }
}

#[test]
fn a_run_under_the_translation_says_nothing_in_english() {
    let mut session = Session::start(&translated(), "任务");
    let call = |tool: &str, args: &str| Reply::calls(vec![ProposedCall::new("", tool, args)]);
    let _ = session.judge(call("cat", "{}"));
    let _ = session.judge(call("rm", "{}"));
    let _ = session.judge(call("ls", "[1]"));
    let _ = session.judge(Reply::default());
    let _ = session.judge(call("cat", "{}"));
    assert!(session.outcome().is_some());
    let own = ["cat", "rm", "ls", "advance", "summary", "JSON", "refused", "ended", "not_allowed", "unknown_tool"];
    let mut said = vec![session.view().system.to_owned()];
    for message in session.view().messages {
        match message {
            Message::User { text } => said.push(text.clone()),
            Message::Tool { text, .. } => said.push(text.to_string()),
            Message::Assistant { .. } => {}
        }
    }
    for text in said {
        let english: Vec<&str> = text
            .split(|c: char| !c.is_ascii_alphabetic() && c != '_')
            .filter(|w| w.len() > 1 && !own.contains(w))
            .collect();
        // Why arguments cannot be read is said by the JSON reader, in English.
        assert!(english.is_empty() || text.contains("they are"), "{english:?} in: {text}");
    }
}
