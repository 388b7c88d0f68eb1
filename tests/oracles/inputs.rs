//! Inputs out of arbitrary bytes: most fit where the run stands, some do not.

use super::tables::TOOLS;
use arbitrary::{Result, Unstructured};
use stagekeeper::{CallNo, Finish, Input, ProposedCall, Reply, Session, Status, ToolResult, Usage};

const TEXTS: [&str; 10] = [
    "",
    "  ",
    "done",
    "xx",
    "[END]",
    "[ERROR] at once",
    "> [END]",
    "hm, hat ok",
    "{\"a\": 1}",
    "ein längerer Text 🦀 mit Ä",
];
const RESULTS: [&str; 9] =
    ["", "ok", "no", "{}", "[]", "{\"a\":1}", "{\"a\":", "r1 the same", "twenty characters and some 🦀🦀🦀🦀"];
const ARGUMENTS: [&str; 12] = [
    "",
    "{}",
    "{\"x\":1}",
    "{\"x\":2}",
    "{ \"x\" : 1 }",
    "{\"x\":1.0}",
    "{\"x\":",
    "[1]",
    "{\"x\":1,\"x\":2}",
    "{\"summary\":\"done\"}",
    "{\"x\":\"\\ud800\"}",
    "{\"task\":\"go\",\"x\":12345678901234567890}",
];
const OTHER_TOOLS: [&str; 14] = [
    "advance",
    "nothing",
    "mcp__t0",
    "T1",
    "",
    "a0",
    "a1",
    "list_files",
    "read_file",
    "grep_code",
    "send_email",
    "research",
    "search",
    "stagekeeper_x",
];

/// The next input.
pub fn input(u: &mut Unstructured<'_>, session: &mut Session) -> Result<Input> {
    Ok(match u.int_in_range(0..=23)? {
        0..=9 => Input::Reply(reply(u)?),
        10..=15 => Input::Result { call: open(u, session)?, result: result(u)? },
        16 => Input::Approval { call: asked(u, session)?, yes: u.arbitrary()? },
        17 => Input::Admission { yes: u.arbitrary()? },
        18 => Input::UserMessage { text: text(u, &TEXTS)? },
        19 => Input::Fact { name: (*u.choose(&["h", "f", "none", "recipient"])?).to_owned(), value: value(u)? },
        20 => Input::Time { ms: if u.arbitrary()? { u.arbitrary()? } else { 3_000 }, waiting: u.arbitrary()? },
        21 => Input::Grant {
            stage: text(u, &["s0", "s1", "explore", "report", "no"])?,
            steps: grant(u)?,
            by: "somebody".to_owned(),
        },
        22 => *u.choose(&[Input::Cancel, Input::Start].map(Box::new))?.clone(),
        _ => Input::ProviderFailed { overflow: u.arbitrary()?, message: text(u, &TEXTS)? },
    })
}

fn text(u: &mut Unstructured<'_>, usual: &[&str]) -> Result<String> {
    if u.ratio(1, 10)? { u.arbitrary() } else { Ok((*u.choose(usual)?).to_owned()) }
}

fn grant(u: &mut Unstructured<'_>) -> Result<u32> {
    if u.ratio(1, 4)? { u.arbitrary() } else { u.int_in_range(1..=3) }
}

fn reply(u: &mut Unstructured<'_>) -> Result<Reply> {
    let calls = (0..u.int_in_range(0..=4)?).map(|_| call(u)).collect::<Result<Vec<_>>>()?;
    let said = if calls.is_empty() || u.ratio(1, 4)? { text(u, &TEXTS)? } else { String::new() };
    let finish = if u.ratio(1, 12)? { *u.choose(&[Finish::Length, Finish::Refusal])? } else { Finish::Stop };
    let usage = if u.ratio(1, 4)? {
        Usage { input: u.arbitrary()?, output: u.arbitrary()?, cost_micros: u.arbitrary()? }
    } else {
        Usage { input: 11, output: 7, cost_micros: 90_000 }
    };
    Ok(Reply { text: said, calls, finish, usage })
}

fn call(u: &mut Unstructured<'_>) -> Result<ProposedCall> {
    let tool = if u.ratio(1, 3)? { text(u, &OTHER_TOOLS)? } else { (*u.choose(&TOOLS)?).to_owned() };
    Ok(ProposedCall::new(text(u, &["c0", "c1", "c2", ""])?, tool, text(u, &ARGUMENTS)?))
}

fn result(u: &mut Unstructured<'_>) -> Result<ToolResult> {
    let status = *u.choose(&[Status::Ok, Status::Ok, Status::Ok, Status::Error, Status::Unknown])?;
    Ok(ToolResult { text: text(u, &RESULTS)?, status })
}

fn value(u: &mut Unstructured<'_>) -> Result<Option<serde_json::Value>> {
    let some = *u.choose(&["null", "1", "\"x\"", "[1, 2]", "{\"a\": {\"b\": []}}", "1e400", "true"])?;
    Ok(if u.ratio(1, 4)? { None } else { serde_json::from_str(some).ok() })
}

/// A call that runs, or any number.
fn open(u: &mut Unstructured<'_>, session: &mut Session) -> Result<CallNo> {
    let open: Vec<CallNo> = session.open_calls().iter().map(|ruling| ruling.no).collect();
    any(u, &open)
}

/// A call that waits for a person, or any number.
fn asked(u: &mut Unstructured<'_>, session: &mut Session) -> Result<CallNo> {
    let open: Vec<CallNo> = session.open_asks().iter().map(|ruling| ruling.no).collect();
    any(u, &open)
}

fn any(u: &mut Unstructured<'_>, open: &[CallNo]) -> Result<CallNo> {
    if open.is_empty() || u.ratio(1, 10)? { Ok(CallNo(u.int_in_range(0..=9)?)) } else { Ok(*u.choose(open)?) }
}
