//! Recorded runs: the formats, what is counted, and the figures on real runs.

use stagekeeper::StageTable;
use stagekeeper::audit::{
    By, Counts, Fate, Played, Reader, Recording, Scores, Source, json_line, play, score, text_table,
};
use std::fmt::Write as _;
use std::io::{BufReader, Write as _};
use std::path::PathBuf;

fn observe() -> StageTable {
    StageTable::parse(include_str!("../../stages/observe.yaml")).unwrap()
}

/// The runs of a file, each as a few lines, and what could not be read.
fn told(input: &[u8]) -> String {
    let mut text = String::new();
    for unit in Reader::new("f", input).unwrap() {
        match unit.open("f") {
            Ok(run) => tell(&mut text, &run),
            Err(unread) => writeln!(text, "unread f:{}: {}", unread.line, unread.why).unwrap(),
        }
    }
    text
}

fn tell(text: &mut String, run: &Recording) {
    let Recording { id, source, model, success, task, line, .. } = run;
    writeln!(text, "{id} line {line} [{source}] [{model}] {success:?} {task:?}").unwrap();
    for (at, turn) in run.turns.iter().enumerate() {
        for call in &turn.calls {
            let result = call.result.as_ref().map(|r| format!("{:?} {:?}", r.status, r.text));
            writeln!(text, "  {} {} {} -> {}", at + 1, call.tool, call.arguments, result.unwrap_or_default()).unwrap();
        }
    }
}

#[test]
fn the_neutral_format_keeps_turns_errors_and_numbers_as_written() {
    let line = concat!(
        r#"{"id":"a-1","source":"s","model":"m","success":false,"meta":{"task":"7"},"events":["#,
        r#"{"t":"text","turn":0,"role":"user","content":"Find it."},"#,
        r#"{"t":"call","turn":1,"id":"c","name":"f","args":{"n":12345678901234567890, "a":1}},"#,
        r#"{"t":"call","turn":1,"id":"d","name":"g","args":{}},"#,
        r#"{"t":"result","turn":1,"id":"c","content":"x","len":1,"sha":"1","is_error":true},"#,
        r#"{"t":"result","turn":1,"id":"d","content":"cut","len":3000,"sha":"2d","truncated":true,"is_error":null},"#,
        r#"{"t":"later"},"#,
        r#"{"t":"call","turn":2,"id":"c","name":"f","args":null}]}"#,
    );
    insta::assert_snapshot!(told(line.as_bytes()), @r#"
    a-1 line 1 [s] [m] Some(false) "Find it."
      1 f {"n":12345678901234567890, "a":1} -> Error "x"
      1 g {} -> Ok "cut\n[cut: len=3000 sha=2d]"
      2 f  -> 
    "#);
}

#[test]
fn openai_and_anthropic_lists_are_read_a_line_each() {
    let openai = concat!(
        r#"{"model":"m","success":true,"messages":[{"role":"system","content":"s"},{"role":"user","content":"Go."},"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},"#,
        r#"{"id":"2","type":"function","function":{"name":"g","arguments":""}}]},"#,
        r#"{"role":"tool","tool_call_id":"1","content":"one"},{"role":"tool","tool_call_id":"2","content":[{"type":"text","text":"two"}]},"#,
        r#"{"role":"assistant","content":"done"}]}"#,
    );
    let anthropic = concat!(
        r#"{"id":9,"messages":[{"role":"user","content":[{"type":"text","text":"Go."}]},"#,
        r#"{"role":"assistant","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"t","name":"f","input":{"a":1}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]}]}"#,
    );
    insta::assert_snapshot!(told(format!("{openai}\n\n{anthropic}\n").as_bytes()), @r#"
    f:1 line 1 [] [m] Some(true) "Go."
      1 f {"a":1} -> Ok "one"
      1 g  -> Ok "two"
    9 line 3 [] [] None "Go."
      1 f {"a":1} -> Error "a\nb"
    "#);
}

#[test]
fn a_json_text_over_many_lines_is_one_list_or_many() {
    let call = r#"{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}"#;
    let answer = r#"{"role":"function","name":"f","content":"x"}"#;
    let one = format!("[\n  {call},\n  {answer}\n]\n");
    let many = format!("[\n  {{\"messages\":[{call},\n {answer}]}},\n  {{\"id\":\"b\",\"messages\":[{call}]}}\n]");
    let object = format!("{{\n  \"messages\": [\n{call}\n]\n}}\n");
    let lines = format!("{call}\n{answer}\n");
    insta::assert_snapshot!([one, many, object, lines].map(|text| told(text.as_bytes())).join("--\n"), @r#"
    f:2 line 2 [] [] None ""
      1 f {} -> Ok "x"
    --
    f:2 line 2 [] [] None ""
      1 f {} -> Ok "x"
    b line 4 [] [] None ""
      1 f {} -> 
    --
    f:1 line 1 [] [] None ""
      1 f {} -> 
    --
    f:1 line 1 [] [] None ""
      1 f {} -> Ok "x"
    "#);
}

#[test]
fn claude_code_transcripts_join_a_reply_and_set_subagents_apart() {
    let entries = [
        r#"{"type":"summary","summary":"x","leafUuid":"u9"}"#,
        r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"S","isSidechain":false,"message":{"role":"user","content":"Fix it."}}"#,
        r#"{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"S","isSidechain":false,"message":{"id":"m1","model":"claude-x","role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{"file_path":"x"}}]}}"#,
        r#"{"type":"assistant","uuid":"u3","parentUuid":"u2","sessionId":"S","isSidechain":false,"message":{"id":"m1","model":"claude-x","role":"assistant","content":[{"type":"tool_use","id":"b","name":"Task","input":{"prompt":"p"}}]}}"#,
        r#"{"type":"user","uuid":"u4","parentUuid":"u3","sessionId":"S","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"text of x"}]}}"#,
        r#"{"type":"user","uuid":"v1","parentUuid":null,"sessionId":"S","isSidechain":true,"message":{"role":"user","content":"p"}}"#,
        r#"{"type":"assistant","uuid":"v2","parentUuid":"v1","sessionId":"S","isSidechain":true,"message":{"id":"m2","model":"claude-y","role":"assistant","content":[{"type":"tool_use","id":"c","name":"Bash","input":{"command":"ls"}}]}}"#,
        r#"{"type":"user","uuid":"v3","parentUuid":"v2","sessionId":"S","isSidechain":true,"toolUseResult":"Error","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"no","is_error":true}]}}"#,
        r#"{"type":"user","uuid":"u5","parentUuid":"u4","sessionId":"S","isMeta":true,"message":{"role":"user","content":"meta"}}"#,
        r#"{"type":"user","uuid":"w1","parentUuid":null,"sessionId":"T","message":{"role":"user","content":"Next."}}"#,
    ];
    insta::assert_snapshot!(told(entries.join("\n").as_bytes()), @r#"
    S line 2 [claude-code] [claude-x] None "Fix it."
      1 Read {"file_path":"x"} -> Ok "text of x"
      1 Task {"prompt":"p"} -> 
    S/1 line 6 [claude-code] [claude-y] None "p"
      1 Bash {"command":"ls"} -> Error "no"
    T line 10 [claude-code] [] None "Next."
    "#);
}

#[test]
fn our_own_traces_are_played_by_what_went_in() {
    let records = [
        r#"{"stagekeeper_trace":1,"engine":"0.1.0","run":"r1","workflow":"w","table":{"file":"f","text":""},"table_hash":"0","task":"Do.","started_ms":0}"#,
        r#"{"n":1,"at_ms":0,"input":"reply","text":"","calls":[{"id":"x","tool":"f","arguments":"{}"},{"id":"x","tool":"g","arguments":"{}"}],"events":[{"event":"step_charged","step":1,"stage":"s","stage_step":1,"budget":2},{"event":"call_judged","call":1,"tool":"f","verdict":"run"},{"event":"call_judged","call":2,"tool":"g","verdict":"refuse","check":"not_allowed","violation":true,"hint":"no"}]}"#,
        r#"{"n":2,"at_ms":5,"input":"result","call":1,"result":{"text":"late","status":"unknown"},"events":[{"event":"run_ended","outcome":"looped","text":""}]}"#,
    ];
    insta::assert_snapshot!(told(records.join("\n").as_bytes()), @r#"
    r1 line 1 [w] [] Some(false) "Do."
      1 f {} -> Unknown "late"
      1 g {} -> 
    "#);
}

#[test]
fn lines_that_cannot_be_read_are_named_and_the_rest_goes_on() {
    let good = r#"{"id":"a","events":[]}"#;
    let text =
        format!("no json\n{good}\n{{\"id\":\"b\",\"events\":[{{\"t\":\"ca\n{{\"id\":3,\"events\":[]}}\n{good}\n");
    insta::assert_snapshot!(told(text.as_bytes()), @r#"
    unread f:1: the line is not JSON: expected ident (column 2)
    a line 2 [] [] None ""
    unread f:3: the JSON ends too early: EOF while parsing a string (column 28)
    unread f:4: the line does not have the keys of its format: invalid type: integer `3`, expected a string (column 7)
    a line 5 [] [] None ""
    "#);
    assert_eq!(told(b""), "");
    let strange = told("{}\n".repeat(1_000).as_bytes());
    assert_eq!(strange.lines().count(), 20, "{strange}");
    assert!(strange.ends_with("the rest is left out\n"), "{strange}");
}

#[test]
fn damaged_gzip_ends_a_file_and_says_where() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(format!("{}\n", r#"{"id":"a","events":[]}"#).repeat(2_000).as_bytes()).unwrap();
    let mut packed = packed.finish().unwrap();
    packed.truncate(packed.len() - 10);
    let told = told(&packed);
    assert!(told.starts_with("a line 1 "), "{told}");
    assert!(told.lines().last().unwrap().contains("the file cannot be read on"), "{told}");
}

/// A run whose calls are given as `tool=result`, one reply each; `+` joins calls of one reply, `!` marks an error.
fn run_of(success: &str, replies: &str) -> String {
    let mut events = Vec::new();
    for (turn, reply) in replies.split_whitespace().enumerate() {
        for (at, call) in reply.split('+').enumerate() {
            let (tool, result) = call.split_once('=').unwrap();
            let error = result.starts_with('!');
            let id = format!("c{turn}.{at}");
            events.push(serde_json::json!({ "t": "call", "turn": turn, "id": id, "name": tool, "args": {} }));
            events.push(
                serde_json::json!({ "t": "result", "turn": turn, "id": id, "content": result, "is_error": error }),
            );
        }
    }
    format!(r#"{{"id":"r","success":{success},"events":{}}}"#, serde_json::Value::from(events))
}

fn played(table: &StageTable, replies: &str) -> Played {
    let line = run_of("true", replies);
    let unit = Reader::new("f", line.as_bytes()).unwrap().next().unwrap();
    play(table, &unit.open("f").unwrap()).unwrap()
}

fn fates(played: &Played) -> String {
    let short = |fate: &Fate| match fate {
        Fate::Run => "run".to_owned(),
        Fate::Reused => "reused".to_owned(),
        Fate::Refused(check) => check.as_str().to_owned(),
        Fate::After => "after".to_owned(),
    };
    played.fates.iter().map(short).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_third_equal_call_in_a_row_is_answered_from_memory_and_the_next_refused() {
    let played = played(&observe(), "f=1 f=1 f=1 f=2 g=1");
    assert_eq!(fates(&played), "run run reused duplicate run");
    assert_eq!((played.withheld(), played.new_withheld), (2, 1), "the refused one would have brought something new");
    assert!(played.fired.duplicate > 0);
}

#[test]
fn a_hundred_thousand_brackets_overflow_no_stack() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let neutral =
        format!(r#"{{"id":"r","events":[{{"t":"call","turn":1,"id":"c","name":"f","args":{{"x":{deep}}}}}]}}"#);
    let openai = format!(r#"{{"messages":[{{"role":"tool","tool_call_id":"c","content":{deep}}}]}}"#);
    for line in [neutral, openai, format!("{{\"id\":{deep}}}"), deep] {
        for unit in Reader::new("f", line.as_bytes()).unwrap() {
            if let Ok(run) = unit.open("f") {
                assert!(play(&observe(), &run).unwrap().fates.len() <= 1);
            }
        }
    }
}

/// Found by fuzzing: the engine answers its own control tool, and the recorded result had no place any more.
#[test]
fn a_recorded_advance_out_of_the_last_stage_ends_the_run_there() {
    let table = "stagekeeper: 1\nworkflow: w\nstages:\n  a: { goal: A., allowed_tools: [f], max_steps: 9 }\n  \
                 b: { goal: B., allowed_tools: all, max_steps: 9 }\n";
    let table = StageTable::parse(table).unwrap();
    let played = played(&table, "f=1 advance=ok g=1+advance=ok g=2");
    assert_eq!(fates(&played), "run run run run after");
    assert_eq!(played.ended, Some(stagekeeper::Outcome::Completed));
}

#[test]
fn two_equal_results_with_a_change_between_do_not_make_the_next_call_a_repeat() {
    assert_eq!(fates(&played(&observe(), "f=1 g=1 f=1 f=1 f=1")), "run run run run reused");
}

#[test]
fn what_follows_the_sixth_error_is_cut_even_in_the_same_reply() {
    let five = "f=!1 f=!2 f=!3 f=!4 f=!5";
    assert_eq!(fates(&played(&observe(), &format!("{five} f=6 g=1"))), "run run run run run run run");
    let played = played(&observe(), &format!("{five} f=!6+g=1 g=2"));
    assert_eq!(fates(&played), "run run run run run run after ended");
    assert_eq!(played.new_withheld, 2);
}

#[test]
fn runs_without_a_label_count_in_neither() {
    let runs = [run_of("true", "f=1 f=1 f=1"), run_of("false", "f=1 f=1 f=1 f=1"), run_of("null", "f=1 f=1 f=1")];
    let scores = scored(&runs.join("\n"), By::File, 1);
    assert_eq!(
        json_line("f", &scores.groups[0].1),
        concat!(
            r#"{"group":"f","runs":3,"calls":10,"failed_runs":1,"failed_calls":4,"failed_calls_cut":2,"#,
            r#""successful_runs":1,"successful_runs_touched":1,"successful_calls_withheld":1,"new_results_withheld":0,"#,
            r#""fired":{"duplicate":7,"cycle":0,"no_progress":0,"errors":0,"same_tool":0,"conservative":0,"violations":0}}"#,
        )
    );
}

fn scored(text: &str, by: By, workers: usize) -> Scores {
    let source = |file: &str| Source { file: file.to_owned(), input: Box::new(text.as_bytes()) };
    score(&observe(), [source("f"), source("g")].into_iter().take(if by == By::File { 1 } else { 2 }), by, workers)
}

#[test]
fn groups_stand_in_the_order_of_their_first_run_however_many_threads_work() {
    let mut lines = String::new();
    for at in 0..300 {
        let line = run_of("false", "f=1 f=1 f=1");
        writeln!(lines, "{}", line.replacen('{', &format!("{{\"model\":\"m{}\",", (at / 7) % 11), 1)).unwrap();
        if at % 10 == 0 {
            lines.push_str("broken\n");
        }
    }
    let one = scored(&lines, By::Model, 1);
    assert_eq!(
        one.groups.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        ["m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9", "m10"]
    );
    assert_eq!((one.unread_in_all, one.unread.len()), (60, 20));
    for workers in [2, 3, 8] {
        assert_eq!(scored(&lines, By::Model, workers), one);
    }
    assert_eq!(scored(&lines, By::Source, 2).groups[0].0, "(unknown)");
}

#[test]
fn the_table_for_people_is_aligned() {
    let counts = Counts { runs: 164, calls: 1454, failed_calls: 507, failed_calls_cut: 42, ..Counts::default() };
    let mut other = Counts { runs: 3, successful_runs: 3, successful_runs_touched: 1, ..Counts::default() };
    other.fired.cycle = 2;
    insta::assert_snapshot!(text_table(&[("tau2".into(), counts), ("b".into(), other)]), @r"
          runs  calls  failed runs' calls cut  successes touched  withheld  of them new
    tau2   164   1454      42 of 507 (8.28 %)                  -         0            0
    b        3      0                       -   1 of 3 (33.33 %)         0            0
      guards spoke: cycle 2
    all    167   1454      42 of 507 (8.28 %)   1 of 3 (33.33 %)         0            0
    ");
}

#[test]
fn the_tables_of_the_evidence_load_without_a_warning() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/examples/audit");
    let mut tables: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    tables.sort();
    assert_eq!(tables.len(), 4);
    for path in tables {
        let table = StageTable::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(table.warnings(), [], "{}", path.display());
    }
    assert_eq!(observe().warnings(), []);
}

#[cfg(feature = "cli")]
fn stagekeeper(args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_stagekeeper"));
    let out = command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("audit").args(args).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (out.status.code(), text(out.stdout), text(out.stderr))
}

#[cfg(feature = "cli")]
#[test]
fn the_verb_prints_counts_on_stdout_and_what_it_could_not_read_on_stderr() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.jsonl");
    std::fs::write(&file, format!("broken\n{}\n", run_of("false", "f=1 f=1 f=1"))).unwrap();
    let file = file.to_str().unwrap();
    let (code, out, err) = stagekeeper(&["stages/observe.yaml", file, "--format", "json"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with(&format!("{{\"group\":{file:?},\"runs\":1,\"calls\":3,")), "{out}");
    assert!(err.starts_with(&format!("{file}:1: the line is not JSON")), "{err}");
    assert!(err.ends_with("not read, or not in full: 1\n"), "{err}");

    let (code, out, _) = stagekeeper(&["stages/observe.yaml", file, "--explain", "r"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("1 of 3 recorded calls would not have run"), "{out}");
    let (_, out, _) = stagekeeper(&["stages/observe.yaml", file, "--explain", "r", "--format", "json"]);
    assert_eq!(out.lines().count(), 3);
    assert!(out.lines().last().unwrap().contains("\"fate\":\"reused\""), "{out}");

    let (code, _, err) = stagekeeper(&["stages/observe.yaml", file, "--explain", "nobody"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("no run has the id `nobody`"), "{err}");
    assert_eq!(stagekeeper(&["stages/observe.yaml", "Cargo.toml"]).0, Some(1), "nothing could be read");
    assert_eq!(stagekeeper(&["Cargo.toml", file]).0, Some(3), "no table");
}

/// The recorded runs beside the repository; `None` says so and lets the test pass.
#[expect(clippy::print_stderr, reason = "a skipped test has to say so")]
fn traces(name: &str) -> Option<Source<'static>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/traces").join(format!("{name}.jsonl.gz"));
    let Ok(file) = std::fs::File::open(&path) else {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    };
    Some(Source { file: name.to_owned(), input: Box::new(BufReader::new(file)) })
}

fn figures(names: &[&str], by: By) -> Option<Vec<(String, Counts)>> {
    let sources = names.iter().map(|name| traces(name)).collect::<Option<Vec<_>>>()?;
    let scores = score(&observe(), sources, by, 2);
    assert_eq!(scores.unread, []);
    Some(scores.groups)
}

fn share(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole as f64
}

#[test]
fn strong_models_are_left_alone() {
    let names = ["tau_bench_airline_gpt4o", "tau2_toolorchestra", "tau2_airline_whissle", "medagentbench_whissle"];
    let Some(groups) = figures(&names, By::File) else { return };
    let touched: u64 = groups.iter().map(|(_, counts)| counts.successful_runs_touched).sum();
    let new: u64 = groups.iter().map(|(_, counts)| counts.new_results_withheld).sum();
    assert!(touched <= 1 && new == 0, "{}", text_table(&groups));
    let orchestra = &groups[1].1;
    assert!(share(orchestra.failed_calls_cut, orchestra.failed_calls) >= 8.0, "{}", text_table(&groups));
}

#[test]
fn loops_of_shells_and_interpreters_are_cut_and_successes_kept() {
    // File, per cent of failed calls cut at least, per cent of successful runs touched at most.
    let targets = [
        ("intercode_bash", 28.0, 1.6),
        ("intercode_python", 28.0, 0.0),
        ("intercode_ctf", 10.0, 0.0),
        ("reflexion_hotpotqa_react", 0.0, 0.0),
    ];
    let Some(groups) = figures(&targets.map(|(name, ..)| name), By::File) else { return };
    for ((_, cut, touched), (_, counts)) in targets.into_iter().zip(&groups) {
        let table = text_table(&groups);
        assert!(share(counts.failed_calls_cut, counts.failed_calls) >= cut, "{table}");
        assert!(share(counts.successful_runs_touched, counts.successful_runs) <= touched, "{table}");
    }
}

#[test]
fn strong_and_weak_models_on_a_database_each_reach_their_figures() {
    let Some(groups) = figures(&["intercode_sql"], By::Model) else { return };
    let (mut strong, mut weak) = (Counts::default(), Counts::default());
    for (model, counts) in &groups {
        *if matches!(model.as_str(), "gpt-4" | "gpt-3.5") { &mut strong } else { &mut weak } += *counts;
    }
    for (counts, cut, touched) in [(strong, 13.5, 0.5), (weak, 50.0, 1.0)] {
        assert!(share(counts.failed_calls_cut, counts.failed_calls) >= cut, "{}", text_table(&groups));
        assert!(share(counts.successful_runs_touched, counts.successful_runs) <= touched, "{}", text_table(&groups));
    }
}
