//! Traces: what is written is read back, and nothing else is taken for one.

use serde_json::json;
use stagekeeper::engine::event::{EnteredBy, Judged};
use stagekeeper::engine::{Event, input::Usage};
use stagekeeper::trace::{Header, TableText, Trace, TraceError, table_hash, write_header, write_record};
use stagekeeper::{
    CallNo, Check, Finish, Input, Limit, LimitKind, Outcome, ProposedCall, Record, Reply, Session, StageTable,
    ToolResult, ToolSpec,
};
use std::io::{BufReader, Read};

fn header() -> Header {
    let table = TableText { file: "a.yaml".into(), text: "stagekeeper: 1\n".into(), included: Default::default() };
    Header {
        stagekeeper_trace: 1,
        engine: "0.1.0".into(),
        run: "r1".into(),
        workflow: "w".into(),
        table_hash: table_hash(&table.text, &table.included),
        table,
        task: "Find \"it\".".into(),
        tools: Some(vec![ToolSpec::named("look")]),
        facts: [("n".to_owned(), json!(12345678901234567_u64))].into_iter().collect(),
        observe: false,
        started_ms: 1_764_519_605_999,
    }
}

/// One record of every input, and one of every event.
fn records() -> Vec<Record> {
    let call = ProposedCall::new("c1", "look", r#"{"a": "\u00e9\n"}"#);
    let usage = Usage { input: 1, output: 2, cost_micros: 3 };
    let reply = Reply { text: "so\u{2028}".into(), calls: vec![call], finish: Finish::Length, usage };
    let no = CallNo(7);
    let inputs = [
        Input::Reply(reply),
        Input::Reply(Reply::text("")),
        Input::Result { call: no, result: ToolResult::unknown("?") },
        Input::Approval { call: no, yes: true },
        Input::Admission { yes: false },
        Input::UserMessage { text: "hi".into() },
        Input::Fact { name: "n".into(), value: None },
        Input::Fact { name: "n".into(), value: Some(json!({"a": [1.5, null]})) },
        Input::Time { ms: 5, waiting: true },
        Input::Cancel,
        Input::ProviderFailed { overflow: true, message: "m".into() },
    ];
    let judged = [
        Judged::Run,
        Judged::Reuse { of: CallNo(1), check: Check::Duplicate },
        Judged::Refuse { check: Check::NotAllowed, violation: true, by: Some("r".into()), hint: "h".into() },
        Judged::Ask { by: "approval".into(), question: "q".into() },
    ];
    let mut events: Vec<Event> = judged
        .into_iter()
        .map(|judged| Event::CallJudged { call: no, tool: "look".into(), resolved: Some("Look".into()), judged })
        .collect();
    let limit = Limit { kind: LimitKind::Stage, stage: "s".into(), used: 1, of: 1 };
    events.extend([
        Event::RunStarted { workflow: "w".into(), ceiling: 15 },
        Event::CallFinished { call: no, tool: "look".into(), failed: false, chars: 9, cut_to: Some(3), same: true },
        Event::StageEntered { stage: "s".into(), number: 1, of: 2, left: 3, by: EnteredBy::Rule("r".into()) },
        Event::StageLeft { stage: "s".into(), product: String::new() },
        Event::Resumed,
        Event::RunEnded { outcome: Outcome::Exhausted, limit: Some(limit), text: "t".into() },
    ]);
    let mut records: Vec<_> = inputs.into_iter().map(|input| Record { input, events: Vec::new() }).collect();
    records.extend(events.into_iter().map(|event| Record { input: Input::Cancel, events: vec![event] }));
    records
}

fn written(header: &Header, records: &[Record]) -> Vec<u8> {
    let (mut all, mut line) = (Vec::new(), Vec::new());
    write_header(&mut line, header).unwrap();
    all.extend_from_slice(&line);
    for (at, record) in records.iter().enumerate() {
        write_record(&mut line, at as u64 + 1, at as u64 * 10, record).unwrap();
        all.extend_from_slice(&line);
    }
    all
}

fn read(bytes: &[u8]) -> Result<Trace, TraceError> {
    Trace::read(BufReader::new(bytes))
}

fn refused(text: &str) -> String {
    read(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn a_trace_is_read_back_as_it_was_written() {
    let trace = read(&written(&header(), &records())).unwrap();
    assert_eq!(trace.header, header());
    assert_eq!(trace.inputs(), records());
    assert_eq!(trace.records[2].n, 3);
    assert_eq!(trace.records[2].at_ms, 20);
    assert_eq!(trace.cut, None);
}

#[test]
fn lines_look_like_this() {
    let text = String::from_utf8(written(&header(), &records())).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[0],
        r#"{"stagekeeper_trace":1,"engine":"0.1.0","run":"r1","workflow":"w","table":{"file":"a.yaml","text":"stagekeeper: 1\n"},"table_hash":"5805120fb36ba7f4c1a0002d72125075","task":"Find \"it\".","tools":[{"name":"look","description":"","parameters":{"properties":{},"type":"object"}}],"facts":{"n":12345678901234567},"started_ms":1764519605999}"#
    );
    assert_eq!(
        lines[1],
        "{\"n\":1,\"at_ms\":0,\"input\":\"reply\",\"text\":\"so\u{2028}\",\"calls\":[{\"id\":\"c1\",\"tool\":\"look\",\"arguments\":\"{\\\"a\\\": \\\"\\\\u00e9\\\\n\\\"}\"}],\"finish\":\"length\",\"usage\":{\"input\":1,\"output\":2,\"cost_micros\":3},\"events\":[]}"
    );
    assert_eq!(
        lines[3],
        r#"{"n":3,"at_ms":20,"input":"result","call":7,"result":{"text":"?","status":"unknown"},"events":[]}"#
    );
    assert_eq!(
        lines[14],
        r#"{"n":14,"at_ms":130,"input":"cancel","events":[{"event":"call_judged","call":7,"tool":"look","resolved":"Look","verdict":"refuse","check":"not_allowed","violation":true,"by":"r","hint":"h"}]}"#
    );
}

#[test]
fn a_trace_cut_anywhere_in_its_last_line_is_read_up_to_there() {
    let (header, records) = (header(), &records()[..3]);
    let whole = written(&header, records);
    let begun = written(&header, &records[..2]).len();
    for end in begun + 1..whole.len() - 1 {
        let trace = read(&whole[..end]).unwrap();
        assert_eq!(trace.inputs(), &records[..2], "cut at {end}");
        let said = format!("line 4 is cut off after {} bytes and was left out", end - begun);
        assert_eq!(trace.cut.as_deref(), Some(said.as_str()));
    }
    // Only the line end is missing: the record is whole.
    let trace = read(&whole[..whole.len() - 1]).unwrap();
    assert_eq!((trace.inputs().len(), trace.cut), (3, None));
    assert_eq!(read(&whole[..begun]).unwrap().cut, None);
}

#[test]
fn what_is_no_trace_is_refused_clearly() {
    let no_trace = "this is no stagekeeper trace: its first line has no `stagekeeper_trace`";
    assert_eq!(refused(""), "the trace is empty; a run that wrote nothing leaves no trace to read");
    for text in [
        "{}\n",
        "hello\n",
        "{\"stagekeeper_trace\":\"1\"}\n",
        "[1]\n",
        "{\"stagekeeper_tr",
        "\0\0\n",
        "{\"stagekeeper_trace\":0}",
    ] {
        assert_eq!(refused(text), no_trace, "{text:?}");
    }
    assert_eq!(
        refused("{\"stagekeeper_trace\":2,\"new\":true}\n"),
        "the trace has format 2, this version reads up to 1; use a newer stagekeeper"
    );
    assert_eq!(refused("{\"stagekeeper_trace\":1}\n"), "the header cannot be read: missing field `engine`");
}

#[test]
fn a_damaged_trace_says_where() {
    let text = String::from_utf8(written(&header(), &records()[..4])).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let without = |gone: usize| {
        let kept: Vec<_> = lines.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, line)| *line).collect();
        kept.join("\n")
    };
    assert_eq!(refused(&without(2)), "line 3 holds record 3 where 2 belongs; lines are missing or doubled");
    assert_eq!(refused(&without(0)), "this is no stagekeeper trace: its first line has no `stagekeeper_trace`");
    let damaged = text.replacen("\"n\":2", "\"n\":x", 1);
    assert!(refused(&damaged).starts_with("line 3 cannot be read: expected value"), "{}", refused(&damaged));
    assert!(refused(&damaged).ends_with(')') && !refused(&damaged).contains("at line"), "{}", refused(&damaged));
    let twice = format!("{text}{text}");
    let said = format!("line {} begins another trace; one file holds one trace: keep them apart", lines.len() + 1);
    assert_eq!(refused(&twice), said);
    let unknown = text.replacen("\"input\":\"reply\"", "\"input\":\"fly\"", 1);
    assert!(refused(&unknown).starts_with("line 2 cannot be read: unknown variant `fly`"), "{}", refused(&unknown));
}

#[test]
fn keys_that_a_later_version_adds_are_passed_over() {
    let text = String::from_utf8(written(&header(), &records())).unwrap();
    let newer = text.replace("\"n\":", "\"new\":[1],\"n\":").replacen("\"engine\":", "\"new\":1,\"engine\":", 1);
    assert_eq!(read(newer.as_bytes()).unwrap().inputs(), records());
}

#[test]
fn an_endless_line_is_refused_in_bounded_memory() {
    let start = b"{\"stagekeeper_trace\":1,\"x\":\"".as_slice();
    let endless = BufReader::new(start.chain(std::io::repeat(b'x')));
    let error = Trace::read(endless).unwrap_err();
    assert!(matches!(error, TraceError::TooLong { line: 1 }), "{error}");
}

#[test]
fn a_record_too_long_to_be_read_is_not_written() {
    let record = Record { input: Input::UserMessage { text: "x".repeat(33 * 1024 * 1024) }, events: Vec::new() };
    let error = write_record(&mut Vec::new(), 1, 0, &record).unwrap_err();
    assert!(error.to_string().starts_with("a line of 34603"), "{error}");
}

#[test]
fn the_hash_of_a_table_covers_its_included_files() {
    let none = Default::default();
    assert_eq!(table_hash("", &none), table_hash("", &none));
    let one = |name: &str, text: &str| [(name.to_owned(), text.to_owned())].into_iter().collect();
    let hashes = [
        table_hash("ab", &none),
        table_hash("abc", &none),
        table_hash("a", &one("b", "")),
        table_hash("a", &one("", "b")),
        table_hash("a", &one("b", "c")),
    ];
    for (at, hash) in hashes.iter().enumerate() {
        assert_eq!(hash.len(), 32);
        assert!(!hashes[..at].contains(hash));
    }
}

#[cfg(feature = "run")]
mod file {
    use super::*;
    use stagekeeper::run::{FileSink, TraceSink as _};
    use std::fs;

    #[test]
    fn a_file_holds_each_record_at_once_and_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("a/.stagekeeper");
        let mut sink = FileSink::create(&folder, &header()).unwrap();
        assert_eq!(sink.path(), folder.join("r1.jsonl"));
        for (at, record) in records().iter().enumerate() {
            sink.write(record).unwrap();
            let trace = read(&fs::read(sink.path()).unwrap()).unwrap();
            assert_eq!(trace.records.len(), at + 1);
            assert_eq!(trace.records[at].record, *record);
        }
        assert_eq!(fs::read_to_string(folder.join(".gitignore")).unwrap(), "*\n");
        let before = fs::read(sink.path()).unwrap();
        let error = FileSink::create(&folder, &header()).unwrap_err().to_string();
        assert!(error.contains("a trace of that run exists and is never overwritten"), "{error}");
        assert_eq!(fs::read(sink.path()).unwrap(), before);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_a_clear_error() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let error = FileSink::create(dir.path().join("file/x"), &header()).unwrap_err().to_string();
        assert!(error.starts_with("cannot write the trace `"), "{error}");
        assert!(error.ends_with("move that file away, or go on with `--no-trace`"), "{error}");
        for run in ["", "../x", "a/b", ".hidden", "a b"] {
            let error = FileSink::create(dir.path(), &Header { run: run.to_owned(), ..header() }).unwrap_err();
            assert!(error.to_string().contains("cannot name a trace"), "{run}: {error}");
        }
    }
}

#[test]
fn a_hundred_thousand_brackets_in_a_trace_are_a_damaged_line() {
    let mut all = Vec::new();
    write_header(&mut all, &header()).unwrap();
    for deep in ["[".repeat(100_000), "{\"a\":".repeat(100_000)] {
        let record = format!("{{\"n\":1,\"at_ms\":0,\"input\":\"fact\",\"name\":\"h\",\"value\":{deep}\n");
        let trace = [all.clone(), record.into_bytes()].concat();
        assert!(matches!(Trace::read(&*trace), Err(TraceError::Line { line: 2, .. })));
        assert!(matches!(Trace::read(deep.as_bytes()), Err(TraceError::NotATrace)));
    }
}

/// A reader of JSON stops at 128 levels; a record must not hold more.
#[test]
fn a_fact_nested_too_deep_to_be_read_again_is_refused() {
    let table = "stagekeeper: 1\nworkflow: w\nfacts: { h: { from: host } }\nstages:\n  \
                 a: { goal: \"A {{ facts.h }}\", allowed_tools: [], max_steps: 1 }\n";
    let table = StageTable::parse(table).unwrap();
    let nested = |levels| (0..levels).fold(serde_json::Value::Null, |inner, _| serde_json::json!([inner]));
    let start = |levels| Session::builder(&table, "t").run_id("r").fact("h", nested(levels)).start();
    assert!(start(65).unwrap_err().to_string().contains("nested deeper than 64"));
    let tool = ToolSpec { parameters: nested(65), ..ToolSpec::named("t") };
    assert!(
        Session::builder(&table, "t").tools(vec![tool]).start().unwrap_err().to_string().contains("deeper than 64")
    );
    let mut session = start(64).unwrap();
    assert!(session.set_fact("h", Some(nested(65))).unwrap_err().to_string().contains("nested deeper than 64"));
    session.set_fact("h", Some(nested(64))).unwrap();
    let mut header = Header::new(&table, "r", "t");
    header.facts.insert("h".to_owned(), nested(64));
    let (mut all, mut line) = (Vec::new(), Vec::new());
    write_header(&mut line, &header).unwrap();
    all.extend_from_slice(&line);
    for (n, record) in (1..).zip(&session.take_records()) {
        write_record(&mut line, n, 0, record).unwrap();
        all.extend_from_slice(&line);
    }
    assert_eq!(Trace::read(&*all).unwrap().replay(&table).unwrap().summary(), session.summary());
}
