//! `audit --suggest`: what is measured, what is proposed, and that no proposal is worse than none.

use serde_json::{Value, json};
use stagekeeper::StageTable;
use stagekeeper::audit::Source;
use stagekeeper::audit::suggest::{Kind, LoopKind, Proposal, Seems, Suggestions};
use stagekeeper::audit::suggest::{draft, gather, suggestions_json, suggestions_text, weigh};
use stagekeeper::testing::Scenario;
use stagekeeper::trace::{write_header, write_record};

fn observe() -> StageTable {
    StageTable::parse(include_str!("../../stages/observe.yaml")).unwrap()
}

/// A call of a tool with arguments and its result; `!` before it marks an error.
type Call = (&'static str, Value, String);

fn call(tool: &'static str, args: Value, result: &str) -> Call {
    (tool, args, result.to_owned())
}

/// A run in the neutral format, one call a reply.
fn run(id: &str, success: Option<bool>, calls: &[Call]) -> String {
    let mut events = Vec::new();
    for (turn, (tool, args, result)) in calls.iter().enumerate() {
        let (error, text) = result.strip_prefix('!').map_or((false, result.as_str()), |text| (true, text));
        let id = format!("c{turn}");
        events.push(json!({ "t": "call", "turn": turn, "id": id, "name": tool, "args": args }));
        events.push(json!({ "t": "result", "turn": turn, "id": id, "content": text, "is_error": error }));
    }
    json!({ "id": id, "success": success, "events": events }).to_string() + "\n"
}

fn suggested_by(table: &StageTable, text: &str, workers: usize) -> Suggestions {
    let sources = || [Source { file: "f".to_owned(), input: Box::new(text.as_bytes()) }];
    let gathered = gather(table, sources(), workers);
    assert_eq!(gathered.unread, []);
    weigh(table, draft(table, gathered), sources(), workers)
}

fn suggested(table: &StageTable, text: &str) -> Suggestions {
    let made = suggested_by(table, text, 2);
    for proposal in made.proposals.iter().chain(&made.left_out) {
        assert!(proposal.yaml.starts_with("# "), "{}", proposal.yaml);
        let merged = table.merged(&proposal.yaml);
        assert!(merged.is_ok(), "{}\n{:?}", proposal.yaml, merged.err());
        let change = proposal.change;
        assert_eq!(change.runs_changed, change.better + change.worse + change.neither, "{proposal:?}");
    }
    made
}

fn of_kind(proposals: &[Proposal], kind: Kind) -> Vec<&Proposal> {
    proposals.iter().filter(|proposal| proposal.kind == kind).collect()
}

fn read(path: &str) -> Call {
    call("read_file", json!({ "path": path }), "text")
}

#[test]
fn one_read_made_thirty_times_is_a_loop_of_29_calls_with_its_tokens() {
    let made = suggested(&observe(), &run("r", Some(false), &vec![read("a"); 30]));
    let [found] = made.loops.as_slice() else { panic!("{:?}", made.loops) };
    assert_eq!((found.kind, found.tools.as_slice(), found.loops), (LoopKind::Repeat, &["read_file".to_owned()][..], 1));
    // `{"path":"a"}` and `text` are 16 characters: 4 tokens a call.
    assert_eq!((found.calls, found.tokens, found.tokens_estimated), (29, 116, true));
    assert_eq!(found.longest.members, [r#"30 × read_file {"path":"a"}"#]);
    assert_eq!((found.runs.failed, found.runs.successful), (1, 0));
}

#[test]
fn two_calls_in_turn_are_one_loop_whichever_comes_first() {
    let (a, b) = (call("list", json!({}), "x"), call("read", json!({}), "y"));
    let one: Vec<Call> = [a.clone(), b.clone()].into_iter().cycle().take(20).collect();
    let other: Vec<Call> = [b, a].into_iter().cycle().take(20).collect();
    let made = suggested(&observe(), &(run("r", Some(false), &one) + &run("s", None, &other)));
    let [found] = made.loops.as_slice() else { panic!("{:?}", made.loops) };
    assert_eq!(
        (found.kind, found.tools.join(" "), found.loops, found.calls),
        (LoopKind::Cycle, "list read".into(), 2, 36)
    );
    assert_eq!((found.runs.failed, found.runs.unlabelled), (1, 1));
}

#[test]
fn errors_in_a_row_and_known_results_here_and_there_are_loops_of_their_own() {
    let errors: Vec<Call> = (0..5).map(|n| call("run", json!({ "n": n }), "!no")).collect();
    let made = suggested(&observe(), &run("r", Some(false), &errors));
    assert_eq!((made.loops[0].kind, made.loops[0].calls), (LoopKind::Errors, 4));

    // Each of six pages twice, with other pages between: six results were known.
    let pages: Vec<Call> = "abcdefabdcef".chars().map(|c| call("page", json!({ "p": c }), &c.to_string())).collect();
    let made = suggested(&observe(), &run("r", Some(false), &pages));
    assert_eq!((made.loops[0].kind, made.loops[0].calls), (LoopKind::NoProgress, 6));
}

#[test]
fn a_tool_that_is_declared_to_be_waited_for_is_no_loop() {
    let table = observe().merged("tools: { state: { effect: poll } }").unwrap();
    let made = suggested(&table, &run("r", Some(true), &vec![call("state", json!({}), "busy"); 12]));
    assert_eq!(made.loops, []);
}

/// Successful runs of three replies with calls, failed ones of ten, all calls new.
fn long_failures() -> String {
    let calls = |n: usize| (0..n).map(|at| call("f", json!({ "n": at }), &at.to_string())).collect::<Vec<_>>();
    let runs = (0..20).map(|at| run(&format!("good-{at}"), Some(true), &calls(if at == 0 { 9 } else { 3 })));
    runs.chain((0..5).map(|at| run(&format!("bad-{at}"), Some(false), &calls(10)))).collect()
}

#[test]
fn budgets_say_how_many_good_runs_they_cut_and_are_weighed_by_replay() {
    let made = suggested(&observe(), &long_failures());
    let [figure] = made.budgets.as_slice() else { panic!("{:?}", made.budgets) };
    // Three replies and the answer: 4; 1.2 × 4 = 4.8, 1.5 × 4 = 6; one run spent 10.
    assert_eq!((figure.median, figure.p95, figure.most, figure.successes, figure.weak), (4.0, 4, 10, 20, false));
    assert_eq!((figure.by_median, figure.cut_by_median, figure.by_p95, figure.cut_by_p95), (5, 1, 6, 1));
    let budgets = of_kind(&made.proposals, Kind::Budget);
    let told: Vec<_> = budgets.iter().map(|p| (p.change.better, p.change.worse, p.change.failed_calls_cut)).collect();
    // With five steps four calls run before the closing request, so six of ten are cut.
    assert_eq!(told, [(5, 1, 30), (5, 1, 25)], "{budgets:?}");
    assert!(budgets[0].yaml.ends_with("stages:\n  work: { max_steps: 5 }\n"), "{}", budgets[0].yaml);
}

#[test]
fn a_proposal_that_only_makes_it_worse_is_not_proposed_and_says_so() {
    let calls = |n: usize| (0..n).map(|at| call("f", json!({ "n": at }), &at.to_string())).collect::<Vec<_>>();
    let runs = (0..9).map(|at| run(&format!("good-{at}"), Some(true), &calls(at)));
    let made = suggested(&observe(), &(runs.collect::<String>() + &run("bad", Some(false), &calls(1))));
    assert_eq!(made.proposals, []);
    assert!(made.left_out.iter().any(|proposal| proposal.change.worse > 0 && proposal.kind == Kind::Budget));
    assert!(made.budgets[0].weak);
    let text = suggestions_text(&made);
    assert!(text.contains("a budget of 1.2 × the median: only for worse: "), "{text}");
    assert!(text.contains("Fewer than 20 good runs: these figures are weak."), "{text}");
}

/// Runs in which an order is looked at twice, with something between.
fn orders(name: &'static str, between: &dyn Fn(usize) -> Call, after: &dyn Fn(usize) -> String) -> String {
    let look = |id: usize, text: &str| call(name, json!({ "id": id }), text);
    let one = |at: usize| {
        let (id, text) = (at * 3, format!("order {at}"));
        let run_of = [
            look(id, &text),
            between(at),
            look(id, &after(at)),
            look(id + 1, &format!("other {at}")),
            look(id + 2, &format!("third {at}")),
            call("note", json!({}), "ok"),
            look(id + 1, &format!("other {at}")),
        ];
        run(&format!("r{at}"), Some(at.is_multiple_of(2)), &run_of)
    };
    (0..12).map(one).collect()
}

fn seems(made: &Suggestions, tool: &str) -> Seems {
    made.tools.iter().find(|seen| seen.tool == tool).unwrap().seems
}

#[test]
fn a_tool_whose_answers_stay_reads_and_what_changes_them_writes() {
    let note = |_| call("note", json!({}), "ok");
    let stays = |at| format!("order {at}");
    assert_eq!(seems(&suggested(&observe(), &orders("get_order", &note, &stays)), "get_order"), Seems::Read);

    let change = |at| call("cancel_order", json!({ "id": at }), "ok");
    let changed = |at| format!("order {at}, cancelled");
    let made = suggested(&observe(), &orders("get_order", &change, &changed));
    assert_eq!((seems(&made, "get_order"), seems(&made, "cancel_order")), (Seems::Read, Seems::Write));
    assert_eq!(seems(&made, "note"), Seems::Unknown);
}

#[test]
fn nothing_is_called_a_read_on_thin_evidence_or_against_its_name_or_its_declaration() {
    let note = |_| call("note", json!({}), "ok");
    let stays = |at| format!("order {at}");
    let all = orders("get_order", &note, &stays);
    let few: String = all.lines().take(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(seems(&suggested(&observe(), &few), "get_order"), Seems::Unknown);
    assert_eq!(seems(&suggested(&observe(), &orders("update_order", &note, &stays)), "update_order"), Seems::Unknown);

    // What always says `ok` may do anything.
    let ok = |at: usize| {
        run(
            &format!("r{at}"),
            None,
            &(0..9).map(|n| call(["ping", "b"][n % 2], json!({ "n": n / 4 }), "ok")).collect::<Vec<_>>(),
        )
    };
    assert_eq!(seems(&suggested(&observe(), &(0..9).map(ok).collect::<String>()), "ping"), Seems::Unknown);

    let table = observe().merged("tools: { get_order: { effect: stateful }, '*': {} }").unwrap();
    let made = suggested(&table, &all);
    let effects = of_kind(&made.proposals, Kind::Effect).len() + of_kind(&made.left_out, Kind::Effect).len();
    assert_eq!((effects, made.tools[0].declared), (0, Some("stateful")));
}

#[test]
fn an_argument_that_never_matters_and_fresh_ids_in_results_are_found() {
    let search = |q: usize, why: &str| call("search", json!({ "q": q, "reason": why }), &format!("hits of {q}"));
    let fresh = |n: usize| format!("status fine, request 3f2504e0-4f89-11d3-9a0c-0305e82c3{n:03}");
    let one = |at: usize| {
        let mut calls =
            vec![search(1, "a"), search(1, "b"), search(2, "b"), search(3, "b"), search(3, "c"), search(4, "c")];
        calls.extend((0..4).map(|n| call("status", json!({}), &fresh(at * 4 + n))));
        run(&format!("r{at}"), Some(at >= 4), &calls)
    };
    let text = (0..8).map(one).collect::<String>();
    let made = suggested(&observe(), &text);
    let all: Vec<&Proposal> = made.proposals.iter().chain(&made.left_out).collect();
    let yaml = |kind| all.iter().find(|p| p.kind == kind).map_or("", |p| p.yaml.as_str());
    assert!(yaml(Kind::IgnoreArgs).ends_with("search: { ignore_args: [reason] }\n"), "{}", yaml(Kind::IgnoreArgs));
    assert!(yaml(Kind::IgnoreArgs).contains("in 16 pairs of calls in 8 runs"), "{}", yaml(Kind::IgnoreArgs));
    assert!(yaml(Kind::Mask).ends_with("status: { mask: [uuid] }\n"), "{}", yaml(Kind::Mask));
    assert!(yaml(Kind::Mask).contains("24 pairs of equal calls in 8 runs"), "{}", yaml(Kind::Mask));

    // An entry of its own would take a tool out of a pattern that says something of it.
    let patterns = observe().merged("tools: { 's*': { effect: read } }").unwrap();
    let made = suggested(&patterns, &text);
    let mut all = made.proposals.iter().chain(&made.left_out);
    assert!(all.all(|p| matches!(p.kind, Kind::Budget) || !p.yaml.contains("tools:")), "{:?}", made.left_out);
}

#[test]
fn a_message_that_is_always_answered_ok_is_no_decoration() {
    let say = |to: usize, text: usize| call("send", json!({ "to": to, "text": format!("t{text}") }), "ok");
    let one = |at: usize| run(&format!("r{at}"), Some(true), &[say(1, 1), say(1, 2), say(2, 2), say(2, 3), say(3, 3)]);
    let made = suggested(&observe(), &(0..8).map(one).collect::<String>());
    assert!(
        of_kind(&made.left_out, Kind::IgnoreArgs).is_empty() && of_kind(&made.proposals, Kind::IgnoreArgs).is_empty()
    );
}

#[test]
fn a_rule_against_the_same_call_lets_run_what_good_runs_needed() {
    let table = observe().merged("guards: { duplicate: off, cycle: off, no_progress: off }").unwrap();
    let good = (0..20).map(|at| run(&format!("good-{at}"), Some(true), &vec![read("a"); 3]));
    let text = good.collect::<String>() + &run("bad", Some(false), &vec![read("a"); 9]);
    let made = suggested(&table, &text);
    let rules = of_kind(&made.proposals, Kind::Rule);
    let rule = rules.iter().find(|rule| rule.yaml.contains("deny:")).unwrap();
    assert!(rule.yaml.contains("when: \"times('read_file', path=call.args.path) >= 3\""), "{}", rule.yaml);
    assert_eq!((rule.change.better, rule.change.worse, rule.change.failed_calls_cut), (1, 0, 6));
}

const STAGED: &str = "stagekeeper: 1
workflow: two
stages:
  look: { goal: Look., allowed_tools: [list, find], max_steps: 6, leave_by: [answer] }
  act: { goal: Act., allowed_tools: [change], max_steps: 4 }
";

#[test]
fn runs_near_a_limit_that_still_call_name_the_exit_that_is_missing() {
    let table = StageTable::parse(STAGED).unwrap();
    let calls: Vec<Call> = (0..6).map(|n| call("list", json!({ "n": n }), &n.to_string())).collect();
    let act = call("change", json!({}), "done");
    let good = [calls[0].clone(), act.clone()];
    let text = run("bad", Some(false), &calls) + &run("good", Some(true), &good) + &run("good2", Some(true), &good);
    let made = suggested(&table, &text);
    let [near] = made.near_limit.as_slice() else { panic!("{:?}", made.near_limit) };
    assert_eq!(
        (near.stage.as_deref(), near.steps, near.runs.all(), near.example.as_str()),
        (Some("look"), 6, 1, "bad")
    );
    let missing = near.missing.join("\n");
    assert!(missing.contains("lacks `advance`") && missing.contains("only `act` allows"), "{missing}");
    let [exit] = *of_kind(&made.proposals, Kind::Exit) else { panic!("{:?}", made.left_out) };
    assert!(exit.yaml.ends_with("look: { leave_by: [answer, call] }\n"), "{}", exit.yaml);
    assert_eq!((exit.change.better, exit.change.worse), (2, 0));
    // With an empty catalogue a tool's entry brings the others along, so that the table still loads.
    let tools = of_kind(&made.left_out, Kind::Effect);
    assert!(tools.iter().all(|p| p.yaml.contains("change:")), "{tools:?}");
}

fn trace(table: &StageTable, id: &str, script: &str) -> String {
    let text = format!("scenario: {id}\ntable: t.yaml\ntask: Do.\nscript:\n{script}");
    let scenario = Scenario::parse(&text, "s").unwrap();
    let mut trace = scenario.trace(table, scenario.play(table).unwrap().records);
    trace.header.run = id.to_owned();
    let (mut out, mut line) = (Vec::new(), Vec::new());
    write_header(&mut line, &trace.header).unwrap();
    out.extend_from_slice(&line);
    for stamped in &trace.records {
        write_record(&mut line, stamped.n, stamped.at_ms, &stamped.record).unwrap();
        out.extend_from_slice(&line);
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn our_own_traces_are_played_with_their_texts_and_budgeted_by_stage() {
    let table = StageTable::parse(STAGED).unwrap();
    let list = |n: usize| format!("  - call: {{ tool: list, args: {{ n: {n} }}, result: r{n} }}\n");
    let act = "  - text: seen\n  - call: { tool: change, args: {}, result: done }\n  - text: All done.\n";
    let short = trace(&table, "short", &(list(0) + act));
    let long = trace(&table, "long", &(list(0) + &list(1) + &list(2) + act));
    let made = suggested(&table, &(short + &long));
    let withheld: u64 = made.over_time.iter().flat_map(|o| &o.parts).map(|part| part.withheld).sum();
    assert_eq!((made.runs.successful, made.calls, withheld), (2, 6, 0), "a text left the first stage, as it did");
    let figures: Vec<_> =
        made.budgets.iter().map(|b| (b.stage.as_deref(), b.median, b.p95, b.by_median, b.by_p95)).collect();
    // Two and four steps in `look`, two in `act`: 1.2 × 3 = 3.6, 1.5 × 4; 1.2 × 2 = 2.4, 1.5 × 2.
    assert_eq!(figures, [(Some("look"), 3.0, 4, 4, 6), (Some("act"), 2.0, 2, 3, 3)]);
    let yaml: Vec<&str> = of_kind(&made.left_out, Kind::Budget).iter().map(|p| p.yaml.as_str()).collect();
    assert!(
        yaml.iter().any(|y| y.contains("look: { max_steps: 4 }") && y.contains("act: { max_steps: 3 }")),
        "{yaml:?}"
    );
}

#[test]
fn recorded_tokens_are_counted_and_not_estimated() {
    let table = observe();
    let call = "  - call: { tool: f, args: {}, result: x }\n";
    let text = trace(&table, "r", &call.repeat(3))
        .replace("\"usage\":{\"input\":0,\"output\":0", "\"usage\":{\"input\":90,\"output\":10");
    let made = suggested(&table, &text);
    // The third is answered from memory: its result is not recorded, the reply was spent all the same.
    assert_eq!((made.loops[0].calls, made.loops[0].tokens, made.loops[0].tokens_estimated), (2, 200, false));
}

#[test]
fn the_same_runs_give_the_same_bytes_however_many_threads_work() {
    let note = |_| call("note", json!({}), "ok");
    let text = long_failures() + &orders("get_order", &note, &|at| format!("order {at}"));
    let text: String = text
        + &(0..40).map(|n| run(&format!("l{n}"), Some(n % 3 == 0), &vec![read("a"); 4 + n % 5])).collect::<String>();
    let one = suggestions_json(&suggested_by(&observe(), &text, 1));
    for workers in [1, 2, 3, 8] {
        assert_eq!(suggestions_json(&suggested_by(&observe(), &text, workers)), one);
    }
}

#[test]
fn names_of_tools_are_quoted_and_those_that_no_table_may_hold_are_left_out() {
    let table = observe().merged("guards: { duplicate: off, no_progress: off }").unwrap();
    let rules = |name: &str| {
        let one = |n: usize| {
            run(&format!("r{n}"), Some(n > 0), &vec![call("x", json!({}), "r"); 2 + 3 * usize::from(n == 0)])
        };
        let text = (0..4).map(one).collect::<String>();
        let text = text.replace("\"name\":\"x\"", &format!("\"name\":{}", Value::from(name)));
        let made = suggested(&table, &text);
        [made.proposals, made.left_out].concat().iter().filter(|p| p.kind == Kind::Rule).count()
    };
    assert_eq!(rules("mcp__shop/get.it:now-"), 2);
    assert_eq!(rules("a\"b: {c}\n# d'e"), 0);
    assert_eq!(rules("*"), 0, "that would be a pattern");
}

/// The recorded runs beside the repository; without them the test says so and passes.
#[test]
fn real_failures_are_found_to_be_loops_and_cheap_rules_against_them_are_proposed() {
    let path =
        std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/traces/reflexion_hotpotqa_react.jsonl.gz");
    let Ok(bytes) = std::fs::read(&path) else {
        eprintln!("skipped: {} is not there", path.display());
        return;
    };
    let table = observe();
    let sources = || [Source { file: "f".to_owned(), input: Box::new(bytes.as_slice()) }];
    let made = weigh(&table, draft(&table, gather(&table, sources(), 2)), sources(), 2);
    assert!(made.proposals.iter().any(|p| p.kind == Kind::Rule && p.change.better >= 30 && p.change.worse == 0));
    assert_eq!(made.loops[0].kind, LoopKind::Errors, "{:?}", made.loops);
}
