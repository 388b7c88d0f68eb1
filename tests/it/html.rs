//! The page of a run: whatever stands in a trace is text on it.

use stagekeeper::StageTable;
use stagekeeper::render::html::page;
use stagekeeper::testing::{Script, play};
use stagekeeper::trace::{Header, Stamped, Trace, explain};
use std::process::Command;

const TABLE: &str = "\
stagekeeper: 1
workflow: look
stages:
  explore: { goal: Look around., allowed_tools: [ls], max_steps: 4 }
  report: { goal: Report., allowed_tools: [], max_steps: 2 }
";

fn traced(script: Script, task: &str) -> (StageTable, Trace) {
    let table = StageTable::parse(TABLE).unwrap();
    let played = play(&table, task, script);
    let records = (1..).zip(played.records).map(|(n, record)| Stamped { n, at_ms: 0, record }).collect();
    let trace = Trace { header: Header::new(&table, "run-1", task), records, cut: None };
    (table, trace)
}

fn drawn(script: Script, task: &str) -> String {
    let (table, trace) = traced(script, task);
    let explanations = explain(&trace, &table).unwrap();
    page(&trace, Some(&table), &explanations)
}

#[test]
fn nothing_a_model_or_a_tool_writes_becomes_markup() {
    let evil = "</script></pre><script>alert(1)</script><img src=x onerror=alert(1)>\" onload='x' \u{202e}\u{1b}[2J";
    let arguments = serde_json::json!({ "path": evil }).to_string();
    let script = Script::new().call("ls", &arguments).call(evil, &arguments).text(evil).text(evil).tool("ls", [evil]);
    let page = drawn(script, evil);
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    assert!(!page.contains("<img") && !page.contains("onload='") && !page.contains("x\" onload"));
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"));
}

#[test]
fn a_page_asks_the_network_for_nothing() {
    let page = drawn(Script::new().call("ls", "{}").text("a").text("b"), "Look.");
    assert!(page.contains("default-src 'none'"));
    for outside in ["http:", "https:", "url(", "@import", " src=", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

/// In a real browser, where there is one.
#[test]
fn keys_and_the_filter_lead_through_the_steps() {
    let script = Script::new().call("ls", "{}").call("rm", "{\"a\":1}").call("rm", "{}").call("ls", "{\"a\":1}");
    let page = drawn(script.text("x").text("y"), "Look.");
    let driven = page.replace("</body>", &format!("<script>{}</script></body>", include_str!("html_drive.js")));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.html");
    std::fs::write(&file, driven).unwrap();
    let mut browser = Command::new("chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--dump-dom"]);
    browser.arg(format!("--user-data-dir={}", folder.path().join("browser").display()));
    let Ok(output) = browser.arg(format!("file://{}", file.display())).output() else {
        return eprintln!("skipped: there is no `chromium` on this machine");
    };
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let log = dom.split_once("data-log=\"").and_then(|(_, rest)| rest.split_once('"')).expect(&dom).0;
    insta::assert_snapshot!(log.replace("; ", "\n"), @r"
    j: step 1
    j: step 2
    k: step 1
    n: step 2
    n: step 3
    p: step 2
    o: 2 of 2 open
    e: 8 of 8 open
    /: the field has the keys: true
    ls: steps 1,2,3,4, 4 of 5 steps
    j in the field: the field has the keys: true
    nowhere: steps , said: true
    Escape: steps 1,2,3,4,5
    refused: steps 2,3
    ");
}

#[test]
fn a_rollback_is_a_bracket_that_leads_back_to_where_it_began() {
    let page =
        drawn(Script::new().call("rm", "{}").call("rm", "{\"a\":1}").call("ls", "{}").text("x").text("y"), "Look.");
    let undone = page.find("<div class=\"undone\">").unwrap();
    let back = page.find("back to the start of <a href=\"#at").unwrap();
    let third = page.find("<b>3</b>").unwrap();
    assert!(undone < page.find("<b>1</b>").unwrap() && back < third);
    assert!(page[back..third].contains("</div>"));
}

#[test]
fn every_call_has_its_hint_in_full_and_its_checks() {
    let page = drawn(Script::new().call("rm", "{}").text("x").text("y"), "Look.");
    assert!(page.contains("<div class=\"call refused\" id=\"call1\">"));
    assert!(page.contains("Not run: there is no tool rm."));
    assert!(page.contains("<tr class=\"decides\"><td>3<td>unknown tool<td>decides<td>the name means: no tool"));
    // Cells of the lane: one of four steps spent.
    assert!(page.contains("<span class=\"cells\" aria-hidden=\"true\"><i></i>"));
}

#[test]
fn a_page_needs_neither_the_table_nor_the_reasons() {
    let (_, trace) = traced(Script::new().call("ls", "{}").text("x").text("y"), "Look.");
    let page = page(&trace, None, &[]);
    assert!(page.contains("explore") && !page.contains("class=\"why\""));
}

#[test]
fn explanations_cover_every_call_and_the_deciding_check_is_the_verdict_s() {
    let (table, trace) = traced(
        Script::new().call("ls", "{}").call("ls", "{}").call("ls", "[]").call("rm", "{}").text("x").call("ls", "{}"),
        "Look.",
    );
    let explained = explain(&trace, &table).unwrap();
    let rows = |at: usize| stagekeeper::render::explain::rows(&explained[at]);
    use stagekeeper::Check;
    use stagekeeper::render::explain::CameOut;
    let decides = |at: usize| rows(at).into_iter().find(|r| r.came_out == CameOut::Decides).map(|r| r.check);
    assert_eq!(explained.len(), 4);
    assert_eq!(decides(0), None);
    assert_eq!(decides(2), Some(Check::Malformed));
    assert_eq!(decides(3), Some(Check::UnknownTool));
    // The checks after the deciding one were not made.
    assert!(rows(2).iter().skip(2).all(|r| r.came_out == CameOut::NotAsked));
    let second = rows(1);
    let duplicate = second.iter().find(|r| r.check == Check::Duplicate).unwrap();
    assert!(duplicate.saw.contains("this very call ran: 1 times, 1 may; last as: call 1"), "{}", duplicate.saw);
}

#[test]
fn a_check_names_the_line_of_the_table_and_the_rule_that_decided() {
    let text = "\
stagekeeper: 1
workflow: look
tools:
  ls: { effect: read }
stages:
  explore:
    goal: Look around.
    allowed_tools: [ls]
    max_steps: 4
rules:
  - name: not_the_root
    at: call
    when: call.args.path == \"/\"
    deny: Not the root.
";
    let table = StageTable::parse(text).unwrap();
    let played = play(&table, "Look.", Script::new().call("ls", r#"{"path":"/"}"#).text("x"));
    let records = (1..).zip(played.records).map(|(n, record)| Stamped { n, at_ms: 0, record }).collect();
    let trace = Trace { header: Header::new(&table, "run-1", "Look."), records, cut: None };
    let explained = explain(&trace, &table).unwrap();
    insta::assert_snapshot!(stagekeeper::render::explain::text(&explained[0]), @r#"
    call 1 in step 1, stage explore: ls(path="/")

       check           it        what it saw  [the table's line]
     1 ended           passes    this is the closing request: no; the model declines: no
     2 malformed       passes    the arguments: are one JSON object
     3 unknown_tool    passes    the name means: the tool ls
     4 not_allowed     passes    stage explore allows: ls  [<text>:6]
     5 requires        passes    it requires: no fact
     5 deny            decides   rule not_the_root (deny, line 11): true  [<text>:11]
     6 max_calls       not asked
     7 conservative    not asked
     8 depth           not asked
     8 reentry         not asked
     8 grant           not asked
     9 duplicate       not asked
    10 cycle           not asked
    11 same_tool       not asked
    12 calls_per_step  not asked
    13 approval        not asked
    14 run             no

    refused, a violation: a rule denies it (not_the_root)
    the model is told:
      Not the root.
      Not run: ls. Steps left in this stage: 3.
    "#);
}

/// Found by reading for overflows: nothing says that a trace was written by us.
#[test]
fn a_trace_that_grants_more_steps_than_can_be_counted_is_drawn() {
    use stagekeeper::engine::Event;
    let (table, mut trace) = traced(Script::new().text("a"), "Look.");
    let stage: stagekeeper::table::Name = "explore".into();
    let extended = Event::BudgetExtended { stage: stage.clone(), steps: u32::MAX, rule: "r".into() };
    let granted = Event::BudgetGranted { stage, steps: u32::MAX, by: "ann".to_owned() };
    trace.records[0].record.events.extend([extended.clone(), extended, granted.clone(), granted]);
    assert!(page(&trace, Some(&table), &[]).contains("4294967295"));
}
