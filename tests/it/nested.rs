//! Nested runs: grants, depth, what the runs above forbid, pauses, cancel and replay.

use serde_json::json;
use stagekeeper::engine::{Event, Judged};
use stagekeeper::{
    Check, Input, LimitKind, Message, Outcome, ProposedCall, Record, Reply, Session, SessionBuilder, StageTable,
    ToolChoice, ToolResult, ToolSpec, Verdict, View,
};
use std::collections::VecDeque;

/// A table and those beside it; the first is the outermost and is called `main.yaml`.
fn tables(main: &str, others: &[(&str, &str)]) -> StageTable {
    let include = &mut |name: &str| {
        let found = others.iter().find(|(file, _)| *file == name);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "there is no such file".to_owned())
    };
    StageTable::parse_with("tables/main.yaml", main, include).unwrap_or_else(|e| panic!("{e}"))
}

fn calls(calls: &[(&str, &str)]) -> Reply {
    let calls = calls.iter().enumerate();
    Reply::calls(calls.map(|(n, (tool, args))| ProposedCall::new(format!("id{n}"), *tool, *args)).collect())
}

fn call(tool: &str, args: &str) -> Reply {
    calls(&[(tool, args)])
}

/// What a provider refuses with 400: an id unanswered, answered twice or by nobody's call, a text before the results.
fn strict(messages: &[Message]) -> Result<(), String> {
    let mut open = VecDeque::new();
    for message in messages {
        match message {
            Message::Tool { id, .. } => match open.pop_front() {
                Some(called) if called == *id => {}
                other => return Err(format!("400: `{id}` answers {other:?}")),
            },
            _ if !open.is_empty() => return Err(format!("400: a message before the results of {open:?}")),
            Message::Assistant { calls, .. } => open.extend(calls.iter().map(|c| c.id.clone())),
            Message::User { .. } => {}
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("400: {open:?} unanswered")) }
}

/// Hands in replies until the run stops or they are used up; tools answer with a number that counts up.
fn play(session: &mut Session, replies: impl IntoIterator<Item = Reply>) {
    let mut n = 0;
    for reply in replies {
        if session.outcome().is_some() {
            break;
        }
        strict(session.view().messages).unwrap();
        for ruling in session.judge(reply) {
            if let Verdict::Run(ticket) = ruling.verdict {
                n += 1;
                session.finish(ticket, ToolResult::ok(format!("result {n}")));
            }
        }
        let summary = session.summary();
        assert!(summary.steps <= summary.ceiling && summary.tree.steps <= summary.tree.ceiling, "{summary:?}");
    }
}

fn events(records: &[Record]) -> Vec<&Event> {
    records.iter().flat_map(|r| &r.events).collect()
}

fn opened(records: &[Record]) -> Vec<(String, usize, Option<u32>)> {
    let of = |e: &&Event| match e {
        Event::ChildOpened { tool, depth, grant, .. } => Some((tool.to_string(), *depth, *grant)),
        _ => None,
    };
    events(records).iter().filter_map(of).collect()
}

fn closed(records: &[Record]) -> Vec<(Outcome, u32)> {
    let of = |e: &&Event| match e {
        Event::ChildClosed { outcome, steps, .. } => Some((*outcome, *steps)),
        _ => None,
    };
    events(records).iter().filter_map(of).collect()
}

/// The verdicts on a tool: the check that refused it, if one did.
fn verdicts(records: &[Record], of: &str) -> Vec<Option<Check>> {
    let verdict = |e: &&Event| match e {
        Event::CallJudged { tool, judged, .. } if **tool == *of => Some(match judged {
            Judged::Refuse { check, .. } => Some(*check),
            _ => None,
        }),
        _ => None,
    };
    events(records).iter().filter_map(verdict).collect()
}

/// The same inputs bring the same events, and the run then stands where it stood.
fn replays(builder: SessionBuilder, records: &[Record], session: &Session) {
    let replayed = Session::replay(builder, records).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(replayed.summary(), session.summary());
    assert_eq!(replayed.view().messages, session.view().messages);
}

const MAIN: &str = "
stagekeeper: 1
workflow: main
tools:
  find: { effect: read, workflow: find.yaml, task: 'Find {{ call.args.what }}' }
  ls: { effect: read }
  send: { effect: write, repeats: 9 }
stages:
  work: { goal: Work., allowed_tools: [find, ls], max_steps: 9 }
  report: { goal: Report., allowed_tools: [], max_steps: 1 }
";

const FIND: &str = "
stagekeeper: 1
workflow: find
about: Finds one thing.
tools:
  ls: { effect: read }
  send: { effect: write, repeats: 9 }
stages:
  look: { goal: Look., allowed_tools: [ls, send], max_steps: 20 }
  say: { goal: Say., allowed_tools: [], max_steps: 1 }
";

/// Without the catalogue's `send`, which no stage of it allows.
fn main_and_find() -> StageTable {
    tables(&MAIN.replace("  send: { effect: write, repeats: 9 }\n", ""), &[("find.yaml", FIND)])
}

/// Calls itself: straight with `again`.
const SELF: &str = "
stagekeeper: 1
workflow: loops
about: Goes round.
tools:
  again: { effect: read, workflow: main.yaml, task: '{{ call.args.n }}' }
  ls: { effect: read }
stages:
  work: { goal: Work., allowed_tools: [again, ls], max_steps: 60 }
  report: { goal: Report., allowed_tools: [], max_steps: 1 }
";

#[test]
fn a_nested_run_is_a_subtree_of_the_same_trace_and_its_text_is_the_result() {
    let table = main_and_find();
    let mut session = Session::start(&table, "Cats?");
    play(
        &mut session,
        [
            calls(&[("ls", "{}"), ("find", r#"{"what":"cats"}"#)]),
            call("ls", r#"{"dir":"cats"}"#),
            Reply::text("two cats"),
            Reply::text("Two cats live there."),
            Reply::text("There are cats."),
            Reply::text("Cats."),
        ],
    );
    assert_eq!(session.outcome(), Some(Outcome::Completed));
    let answers: Vec<_> = session
        .view()
        .messages
        .iter()
        .filter_map(|m| match m {
            Message::Tool { text, error, .. } => Some((text.to_string(), *error)),
            _ => None,
        })
        .collect();
    assert_eq!(answers[1], ("Two cats live there.".to_owned(), false));
    let records = session.take_records();
    assert_eq!(opened(&records), [("find".to_owned(), 1, Some(8))]);
    assert_eq!(closed(&records), [(Outcome::Completed, 3)]);
    let summary = session.summary();
    assert_eq!((summary.steps, summary.tree.steps, summary.tree.calls), (6, 6, 3));
    assert_eq!(summary.stages[0].steps, 5, "the nested run's steps are charged to the stage that called it");
    assert_eq!(summary.tools["ls"].run, 1, "the tools of the run itself");
    replays(Session::builder(&table, "Cats?"), &records, &session);
}

#[test]
fn call_numbers_are_unique_over_the_tree() {
    let table = main_and_find();
    let mut session = Session::start(&table, "Cats?");
    play(
        &mut session,
        [
            calls(&[("find", r#"{"what":"a"}"#), ("find", r#"{"what":"b"}"#)]),
            call("ls", "{}"),
            Reply::text("a"),
            Reply::text("a"),
            call("ls", "{}"),
            Reply::text("b"),
            Reply::text("b"),
            call("ls", "{}"),
        ],
    );
    let records = session.take_records();
    let numbers: Vec<u32> = events(&records)
        .iter()
        .filter_map(|e| match e {
            Event::CallJudged { call, .. } => Some(call.0),
            _ => None,
        })
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert_eq!(opened(&records).iter().map(|o| o.2).collect::<Vec<_>>(), [Some(4), Some(4)], "shared equally");
}

/// Everything a model was asked with over a whole tree.
fn requests(session: &mut Session, mut model: impl FnMut(&View<'_>) -> Reply) -> Vec<(String, String, String)> {
    let mut seen = Vec::new();
    while session.outcome().is_none() {
        let view = session.view();
        strict(view.messages).unwrap();
        let user: Vec<&str> = view
            .messages
            .iter()
            .filter_map(|m| match m {
                Message::User { text } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        seen.push((view.system.to_owned(), serde_json::to_string(view.tools).unwrap(), user.join("\n")));
        let reply = model(&view);
        for ruling in session.judge(reply) {
            if let Verdict::Run(ticket) = ruling.verdict {
                session.finish(ticket, ToolResult::ok("x"));
            }
        }
    }
    seen
}

#[test]
fn the_prefix_goes_into_the_user_turn_and_system_prompt_and_tools_stay_byte_for_byte() {
    let table = tables(SELF, &[]);
    let mut session = Session::start(&table, "go");
    let mut n = 0;
    let seen = requests(&mut session, |view| {
        n += 1;
        if view.tool_choice == ToolChoice::None || n % 3 == 0 {
            return Reply::text(format!("text {n}"));
        }
        call(if n % 2 == 0 { "again" } else { "ls" }, &format!("{{\"n\":{n}}}"))
    });
    assert!(seen.len() > 10);
    assert!(seen.iter().all(|(system, tools, _)| *system == seen[0].0 && *tools == seen[0].1));
    assert!(!seen[0].0.contains("INSIDE") && !seen[0].2.contains("INSIDE"));
    let inside: Vec<_> = seen.iter().filter(|(.., user)| user.contains("INSIDE")).collect();
    assert!(!inside.is_empty());
    for (system, _, user) in inside {
        assert!(!system.contains("INSIDE"));
        for part in ["INSIDE again", "do NOT call it", "recursion", "lower-level tools instead: ls.", "Goes round."] {
            assert!(user.contains(part), "{part}: {user}");
        }
    }
}

#[test]
fn the_text_of_a_table_and_that_of_the_guard_alone_say_the_same() {
    use stagekeeper::engine::recursion::prefix;
    use stagekeeper::table::messages::MESSAGES;
    let text = MESSAGES.iter().find(|m| m.name == "nested_prefix").unwrap().default;
    let env = minijinja::Environment::new();
    for (tools, description) in [("", ""), ("ls, cat", ""), ("", "Finds."), ("ls", "Finds.")] {
        let said = env.render_str(text, minijinja::context! { tool => "f", tools, description }).unwrap();
        assert_eq!(said, prefix("f", description, tools));
    }
}

#[test]
fn the_own_name_stays_in_the_tool_list() {
    let table = tables(SELF, &[]);
    let mut session = Session::start(&table, "go");
    play(&mut session, [call("again", r#"{"n":1}"#)]);
    assert!(session.view().messages.iter().any(|m| matches!(m, Message::User { text } if text.contains("INSIDE"))));
    let names: Vec<&str> = session.view().tools.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["again", "ls", "advance"]);
}

#[test]
fn a_table_that_includes_itself_is_legal_and_bounded() {
    let table = tables(SELF, &[]);
    let mut session = Session::start(&table, "go");
    play(&mut session, (0..200).map(|n| call("again", &format!("{{\"n\":{n}}}"))));
    assert!(session.outcome().is_some_and(|o| !o.is_pause()));
    let records = session.take_records();
    let depths: Vec<usize> = opened(&records).iter().map(|o| o.1).collect();
    assert_eq!(depths[..5], [1, 2, 3, 4, 5], "its body is entered 5 times");
    assert_eq!(depths.iter().max(), Some(&5));
    let refused = events(&records).iter().find_map(|e| match e {
        Event::CallJudged { judged: Judged::Refuse { check: Check::Depth, hint, .. }, .. } => Some(hint.clone()),
        _ => None,
    });
    assert!(refused.unwrap().contains("again already runs 5 times inside itself"));
    let summary = session.summary();
    assert_eq!(summary.tree.ceiling, 61);
    assert!(summary.tree.steps <= 61);
    replays(Session::builder(&table, "go"), &records, &session);
}

#[test]
fn a_name_that_comes_back_with_another_between_is_refused_with_the_chain() {
    let table = |own: &str, other: &str, file: &str| {
        format!(
            "stagekeeper: 1\nworkflow: {own}\ntools:\n  {other}: {{ effect: read, workflow: {file} }}\nstages:\n  w: {{ goal: W., allowed_tools: [{other}], max_steps: 80 }}\n  r: {{ goal: R., allowed_tools: [], max_steps: 1 }}\n"
        )
    };
    let all = tables(&table("b", "a", "a.yaml"), &[("a.yaml", &table("a", "b", "main.yaml"))]);
    let mut session = Session::start(&all, "go");
    play(&mut session, (0..5).map(|n| call(if n % 2 == 0 { "a" } else { "b" }, &format!("{{\"task\":\"{n}\"}}"))));
    let records = session.take_records();
    assert_eq!(opened(&records).len(), 4);
    assert_eq!(verdicts(&records, "a"), [None, None, Some(Check::Reentry)]);
    assert!(events(&records).iter().any(|e| matches!(e,
        Event::CallJudged { judged: Judged::Refuse { hint, .. }, .. } if hint.contains("a -> b -> a -> b -> a"))));
}

/// A parent with 4 steps left and a child that wants 20 spend at most 4 in all.
#[test]
fn a_nested_run_cannot_escape_the_steps_of_the_run_that_calls_it() {
    let main = MAIN.replace("max_steps: 9", "max_steps: 5").replace("  send: { effect: write, repeats: 9 }\n", "");
    let table = tables(&main, &[("find.yaml", FIND)]);
    let mut session = Session::start(&table, "Cats?");
    play(&mut session, [call("find", r#"{"what":"cats"}"#)]);
    assert_eq!(session.summary().steps, 1);
    play(&mut session, (0..40).map(|n| call("ls", &format!("{{\"n\":{n}}}"))));
    let records = session.take_records();
    assert_eq!(opened(&records), [("find".to_owned(), 1, Some(4))]);
    let (outcome, steps) = closed(&records)[0];
    assert_eq!((outcome, steps), (Outcome::Exhausted, 4));
    let limit = events(&records).iter().find_map(|e| match e {
        Event::ChildClosed { limit, .. } => limit.clone(),
        _ => None,
    });
    assert_eq!(limit.map(|l| (l.kind, l.of)), Some((LimitKind::Run, 4)));
    assert_eq!((session.summary().stages[0].steps, session.summary().tree.steps), (5, 6));
    replays(Session::builder(&table, "Cats?"), &records, &session);
}

#[test]
fn a_nested_run_that_does_not_complete_is_an_error_with_its_digest() {
    let main = MAIN.replace("max_steps: 9", "max_steps: 6").replace("  send: { effect: write, repeats: 9 }\n", "");
    let table = tables(&main, &[("find.yaml", FIND)]);
    let mut session = Session::start(&table, "Cats?");
    play(&mut session, [call("find", "{\"what\":1}"), call("ls", "{}"), call("ls", "{\"a\":1}"), Reply::default()]);
    assert!(
        session
            .view()
            .messages
            .iter()
            .all(|m| !matches!(m, Message::Tool { text, error: true, .. } if text.contains("INSIDE")))
    );
    play(&mut session, [call("ls", "{\"b\":1}"), Reply::default()]);
    let failed = session.view().messages.iter().find_map(|m| match m {
        Message::Tool { text, error: true, .. } => Some(text.to_string()),
        _ => None,
    });
    let failed = failed.unwrap();
    assert!(failed.starts_with("find did not complete (exhausted)."), "{failed}");
    assert!(failed.contains("- ls {}: result 1"), "{failed}");
}

#[test]
fn a_grant_under_2_is_refused_and_the_rest_is_shared_equally() {
    let main = MAIN.replace("max_steps: 9", "max_steps: 6").replace("  send: { effect: write, repeats: 9 }\n", "");
    let table = tables(&main, &[("find.yaml", FIND)]);
    let mut session = Session::start(&table, "Cats?");
    play(&mut session, [calls(&[("find", "{\"what\":1}"), ("find", "{\"what\":2}"), ("find", "{\"what\":3}")])]);
    play(&mut session, (0..9).map(|n| Reply::text(format!("t{n}"))));
    let records = session.take_records();
    assert_eq!(verdicts(&records, "find"), [None, None, Some(Check::Grant)]);
    assert_eq!(opened(&records).iter().map(|o| o.2).collect::<Vec<_>>(), [Some(2), Some(2)]);
}

#[test]
fn what_a_nested_run_does_not_use_returns() {
    let table = main_and_find();
    let mut session = Session::start(&table, "Cats?");
    play(
        &mut session,
        [call("find", "{\"what\":1}"), Reply::text("?"), Reply::text("nothing"), Reply::text("nothing.")],
    );
    assert_eq!(session.view().steps_left, 9 - 4);
}

#[test]
fn a_final_stage_keeps_its_last_step_for_the_answer() {
    let main = "
stagekeeper: 1
workflow: main
tools:
  find: { effect: read, workflow: find.yaml }
stages:
  work: { goal: Work., allowed_tools: [find], max_steps: 5 }
";
    let table = tables(main, &[("find.yaml", FIND)]);
    let mut session = Session::start(&table, "Cats?");
    play(&mut session, [call("find", "{\"task\":\"x\"}")]);
    play(&mut session, (0..20).map(|n| call("ls", &format!("{{\"n\":{n}}}"))));
    let records = session.take_records();
    assert_eq!(opened(&records)[0].2, Some(3));
    assert_eq!(session.summary().steps, 5);
    assert!(!session.summary().text.is_empty());
}

#[test]
fn with_spend_own_a_nested_run_has_its_own_ceiling_and_check_knows_the_tree() {
    let main = MAIN
        .replace("task: 'Find", "spend: own, max_calls: 2, task: 'Find")
        .replace("  send: { effect: write, repeats: 9 }\n", "");
    let table = tables(&main, &[("find.yaml", FIND)]);
    assert_eq!(stagekeeper::engine::tree::ceiling(&table), 10 + 2 * 21);
    let mut session = Session::start(&table, "Cats?");
    play(&mut session, [call("find", "{\"what\":1}")]);
    play(&mut session, (0..30).map(|n| call("ls", &format!("{{\"n\":{n}}}"))));
    let records = session.take_records();
    assert_eq!(opened(&records)[0].2, None);
    assert_eq!(closed(&records)[0].1, 21);
    let summary = session.summary();
    assert!(
        summary.steps <= 10 && summary.tree.steps > 21 && summary.tree.steps <= summary.tree.ceiling,
        "{summary:?}"
    );
    // A table that runs itself on its own steps is bounded by depth alone, and the bound is still told.
    let own = tables(&SELF.replace("task: '", "spend: own, task: '"), &[]);
    assert!(stagekeeper::engine::tree::ceiling(&own) > 1_000_000);
}

#[test]
fn rules_and_limits_of_the_runs_above_bind_and_their_stage_lists_do_not() {
    let main = "
stagekeeper: 1
workflow: main
tools:
  find: { effect: read, workflow: find.yaml }
  send: { effect: write, repeats: 9, max_calls: 1 }
  ls: { effect: read }
rules:
  - { name: no_secrets, at: call, tool: ls, when: \"call.args.dir == 'secret'\", deny: 'Not {{ call.args.dir }}.' }
stages:
  work: { goal: Work., allowed_tools: [find], max_steps: 20 }
  send: { goal: Send., allowed_tools: [send, ls], max_steps: 3 }
  report: { goal: Report., allowed_tools: [], max_steps: 1 }
limits: { calls_per_step: 3 }
";
    let table = tables(main, &[("find.yaml", FIND)]);
    let mut session = Session::start(&table, "Cats?");
    play(
        &mut session,
        [
            call("find", "{\"task\":\"x\"}"),
            call("ls", r#"{"dir":"secret"}"#),
            call("ls", r#"{"dir":"open"}"#),
            calls(&[("send", r#"{"a":1}"#), ("send", r#"{"a":2}"#)]),
            calls(&[
                ("ls", r#"{"dir":"a"}"#),
                ("ls", r#"{"dir":"b"}"#),
                ("ls", r#"{"dir":"c"}"#),
                ("ls", r#"{"dir":"d"}"#),
            ]),
        ],
    );
    let records = session.take_records();
    let per_step = Some(Check::CallsPerStep);
    assert_eq!(verdicts(&records, "ls"), [Some(Check::Deny), None, None, None, None, per_step]);
    assert_eq!(verdicts(&records, "send"), [None, Some(Check::MaxCalls)]);
    let told: Vec<_> = session
        .view()
        .messages
        .iter()
        .filter_map(|m| match m {
            Message::Tool { text, error: true, .. } => Some(text.to_string()),
            _ => None,
        })
        .collect();
    assert!(
        told[0].starts_with("Not secret.\nNot run: ls, by the rules of the run that this one is part of."),
        "{told:?}"
    );
    assert!(told[1].contains("allows 1 call, and they are used up"), "{told:?}");
    // Back in the outer run its own count knows what ran below.
    play(&mut session, [Reply::text("a"), Reply::text("b"), Reply::text("c"), call("send", r#"{"a":9}"#)]);
    assert_eq!(verdicts(&session.take_records(), "send"), [Some(Check::MaxCalls)]);
}

#[test]
fn facts_from_the_task_read_the_task_of_the_outermost_run() {
    let fact = "facts:\n  to: { from: task, match: '\\w+@\\w+' }\n";
    let find = FIND
        .replace("tools:\n", &format!("{fact}tools:\n"))
        .replace("repeats: 9 }", "repeats: 9, requires: { to: Nobody. } }");
    let table = tables(&MAIN.replace("  send: { effect: write, repeats: 9 }\n", ""), &[("find.yaml", &find)]);
    for (task, refused) in [("Ask me@home.", None), ("Ask.", Some(Check::Requires))] {
        let mut session = Session::start(&table, task);
        play(&mut session, [call("find", r#"{"what":"you@evil"}"#), call("send", "{}")]);
        assert_eq!(verdicts(&session.take_records(), "send"), [refused], "{task}");
    }
}

#[test]
fn host_facts_and_time_and_cancel_reach_every_run() {
    let find = FIND
        .replace("tools:\n", "facts:\n  go: { from: host }\ntools:\n")
        .replace("repeats: 9 }", "repeats: 9, requires: { go: Wait. } }");
    let main = MAIN.replace("  send: { effect: write, repeats: 9 }\n", "") + "limits: { max_time: 10s }\n";
    let table = tables(&main, &[("find.yaml", &find)]);
    let mut session = Session::start(&table, "Cats?");
    play(&mut session, [call("find", "{\"what\":1}"), call("send", "{}")]);
    session.set_fact("go", Some(json!(true))).unwrap();
    play(&mut session, [call("send", "{}")]);
    assert_eq!(verdicts(&session.take_records(), "send"), [Some(Check::Requires), None]);
    session.tick(4_000, false);
    assert_eq!(session.time_left_ms(), Some(6_000));
    let mut cancelled = session.clone();
    cancelled.cancel();
    assert_eq!(cancelled.outcome(), Some(Outcome::Cancelled));
    play(&mut session, [call("ls", "{}")]);
    session.tick(6_000, false);
    play(&mut session, [Reply::text("late"), Reply::text("late, too")]);
    let records = session.take_records();
    assert_eq!(closed(&records)[0].0, Outcome::Exhausted);
    assert_eq!(session.outcome(), Some(Outcome::Exhausted));
    assert_eq!(session.summary().limit.map(|l| l.kind), Some(LimitKind::Time));
}

#[test]
fn a_cancelled_tree_goes_on_where_it_stood() {
    let table = main_and_find();
    let mut session = Session::start(&table, "Cats?");
    let mut rulings = session.judge(calls(&[("find", "{\"what\":1}"), ("ls", "{\"a\":1}")])).into_iter();
    assert!(matches!(rulings.next().unwrap().verdict, Verdict::Nested));
    let open = session.judge(call("ls", "{}"));
    session.cancel();
    assert_eq!(session.outcome(), Some(Outcome::Cancelled));
    assert_eq!(open.len(), 1);
    // The model answers to the nested run again, and everything is answered.
    play_on(&mut session, [Reply::text("a"), Reply::text("b"), Reply::text("c"), Reply::text("d")]);
    assert_eq!(session.outcome(), Some(Outcome::Completed));
    let records = session.take_records();
    replays(Session::builder(&table, "Cats?"), &records, &session);
}

/// As `play`, and a cancelled run goes on.
fn play_on(session: &mut Session, replies: impl IntoIterator<Item = Reply>) {
    for reply in replies {
        if session.outcome().is_some_and(|o| !o.is_pause()) {
            break;
        }
        for ruling in session.judge(reply) {
            if let Verdict::Run(ticket) = ruling.verdict {
                session.finish(ticket, ToolResult::ok("x"));
            }
        }
        strict(session.view().messages).unwrap();
    }
}

#[test]
fn a_pause_of_a_nested_run_is_a_pause_of_the_run() {
    let find = FIND
        .replace("repeats: 9 }", "repeats: 9, approval: always }")
        .replace("max_steps: 20 }", "max_steps: 20, conversation: true, leave_by: [advance] }");
    let table = tables(&MAIN.replace("  send: { effect: write, repeats: 9 }\n", ""), &[("find.yaml", &find)]);
    let mut session = Session::start(&table, "Cats?");
    play(&mut session, [call("find", "{\"what\":1}"), call("send", "{}")]);
    assert_eq!(session.outcome(), Some(Outcome::AwaitingApproval));
    let Verdict::Ask(ask) = session.open_asks().remove(0).verdict else { panic!() };
    let ticket = session.answer(ask, true).unwrap();
    session.finish(ticket, ToolResult::ok("sent"));
    play(&mut session, [Reply::text("Which cats?")]);
    assert_eq!(session.outcome(), Some(Outcome::AwaitingUser));
    session.user_says("All.").unwrap();
    session.provider_failed(false, "no");
    assert_eq!(session.outcome(), Some(Outcome::ProviderError));
    let records = session.take_records();
    replays(Session::builder(&table, "Cats?"), &records, &session);
}

#[test]
fn the_tools_of_nested_tables_come_from_the_same_host() {
    let table = main_and_find();
    let start = |tools: &[&str]| {
        let tools = tools.iter().map(|t| ToolSpec::named(*t)).collect();
        Session::builder(&table, "x").tools(tools).start().map_err(|e| e.to_string())
    };
    assert!(start(&["ls", "send"]).is_ok());
    assert_eq!(start(&["ls"]).unwrap_err(), "no host provides `send`; provided are: ls");
    let session = start(&["ls", "send"]).unwrap();
    let find = session.view().tools.iter().find(|t| t.name == "find").unwrap();
    assert_eq!(find.description, "Finds one thing.");
    assert_eq!(find.parameters["required"], json!(["what"]));
}

#[test]
fn problems_of_a_nested_table_are_told_with_its_file() {
    let main = "stagekeeper: 1\nworkflow: m\ntools:\n  a: { workflow: sub/a.yaml }\n  b: { workflow: none.yaml }\n  c*: { workflow: main.yaml, every: 1s }\n  d: { task: x }\nstages:\n  s: { goal: S., allowed_tools: [a, b, 'c*', d], max_steps: 3 }\n";
    let files = [
        (
            "sub/a.yaml",
            "stagekeeper: 1\nworkflow: a\ntools: { b: { workflow: b.yaml } }\nstages: { s: { goal: S., allowed_tools: [b, zz], max_steps: 2 } }\n",
        ),
        ("sub/b.yaml", "stagekeeper: 1\nworkflow: b\nstages: { s: { goal: S., allowed_tools: [], max_steps: 0 } }\n"),
    ];
    let include = &mut |name: &str| {
        files.iter().find(|(f, _)| *f == name).map(|(_, t)| (*t).to_owned()).ok_or_else(|| "no such file".to_owned())
    };
    let error = StageTable::parse_with("main.yaml", main, include).unwrap_err();
    let found: Vec<_> = error.problems.iter().map(|p| (p.file.as_str(), p.code)).collect();
    for wanted in [
        ("main.yaml", "include-not-read"),
        ("main.yaml", "bad-combination"),
        ("sub/a.yaml", "tool-not-in-catalogue"),
        ("sub/b.yaml", "bad-number"),
    ] {
        assert!(found.contains(&wanted), "{wanted:?} is not among {error}");
    }
}

#[test]
fn a_trace_holds_every_nested_table_and_replays_from_its_text_alone() {
    let table = main_and_find();
    let mut session = Session::start(&table, "Cats?");
    play(&mut session, [call("find", "{\"what\":1}"), Reply::text("a"), Reply::text("b"), Reply::text("c")]);
    let header = stagekeeper::trace::Header::new(&table, "r", "Cats?");
    let included = header.table.included.clone();
    assert_eq!(included.keys().collect::<Vec<_>>(), ["find.yaml"]);
    let again = StageTable::parse_with(&header.table.file, &header.table.text, &mut |name| {
        included.get(name).cloned().ok_or_else(|| "missing".to_owned())
    });
    replays(Session::builder(&again.unwrap(), "Cats?"), &session.take_records(), &session);
}

#[test]
fn observing_refuses_nothing_but_depth_still_holds() {
    let table = tables(&SELF.replace("task: '", "spend: own, task: '"), &[]);
    let mut session = Session::builder(&table, "go").observe(true).start().unwrap();
    play(&mut session, (0..8).map(|n| call("again", &format!("{{\"n\":{n}}}"))));
    assert_eq!(opened(&session.take_records()).iter().map(|o| o.1).max(), Some(5));
}

#[test]
fn a_starting_record_is_the_only_one_of_its_kind() {
    let table = main_and_find();
    let mut session = Session::start(&table, "x");
    play(&mut session, [call("find", "{\"what\":1}"), Reply::text("a")]);
    let records = session.take_records();
    assert_eq!(records.iter().filter(|r| r.input == Input::Start).count(), 1);
    let started = events(&records).iter().filter(|e| matches!(e, Event::RunStarted { .. })).count();
    assert_eq!(started, 1, "a nested run is opened, not started");
}

const APPROVAL: &str = "
stagekeeper: 1
workflow: main
leave_by: [answer, advance, call]
tools:
  find: { effect: read, workflow: find.yaml }
  ls: { effect: read }
  send: { effect: write, repeats: 9, approval: always }
  pay: { effect: write, repeats: 9 }
rules:
  - { name: large, at: call, tool: pay, when: call.args.amount > 100, ask: Really? }
stages:
  work: { goal: Work., allowed_tools: [find, ls, pay], max_steps: 9 }
  send: { goal: Send., allowed_tools: [send], max_steps: 3 }
  report: { goal: Report., allowed_tools: [], max_steps: 1 }
";

/// The last verdict on a tool, and whether the tool ever got a ticket.
fn asked(session: &mut Session, reply: Reply) -> Vec<&'static str> {
    let rulings = session.judge(reply);
    rulings
        .iter()
        .map(|r| match r.verdict {
            Verdict::Ask(_) => "ask",
            Verdict::Run(_) => "run",
            Verdict::Advance => "advance",
            Verdict::Nested => "nested",
            Verdict::Refuse { .. } => "refuse",
            Verdict::Reuse { .. } => "reuse",
        })
        .collect()
}

#[test]
fn an_approval_cannot_be_reached_round() {
    let table = tables(APPROVAL, &[("find.yaml", FIND)]);
    let start = || Session::start(&table, "go");
    // By the stage of another tool, `leave_by: call` moving the run there.
    let mut session = start();
    assert_eq!(asked(&mut session, call("send", "{}")), ["ask"]);
    assert_eq!(session.view().stage, "send");
    // By an argument that is null or missing.
    for args in ["{}", r#"{"amount":null}"#, r#"{"amount":"many"}"#, r#"{"amount":101}"#] {
        assert_eq!(asked(&mut start(), call("pay", args)), ["ask"], "{args}");
    }
    assert_eq!(asked(&mut start(), call("pay", r#"{"amount":5}"#)), ["run"]);
    // By a nested run, whose own table asks nobody.
    let mut session = start();
    play(&mut session, [call("find", r#"{"task":"x"}"#)]);
    assert_eq!(asked(&mut session, call("send", "{}")), ["ask"]);
    assert_eq!(session.outcome(), Some(Outcome::AwaitingApproval));
    // By resuming: the question is still open, and nothing else is taken.
    let records = session.take_records();
    let mut resumed = Session::replay(Session::builder(&table, "go"), &records).unwrap();
    assert_eq!(resumed.outcome(), Some(Outcome::AwaitingApproval));
    let open = resumed.open_asks().remove(0);
    assert!(resumed.apply(Input::Result { call: open.no, result: ToolResult::ok("sent") }).is_err());
    assert!(resumed.apply(Input::Reply(call("send", "{}"))).is_err());
    assert!(resumed.open_calls().is_empty());
    // And a yes is for that call alone: not for the same one again, and not for another.
    let Verdict::Ask(ask) = open.verdict else { panic!() };
    let ticket = resumed.answer(ask, true).unwrap();
    resumed.finish(ticket, ToolResult::ok("sent"));
    assert_eq!(asked(&mut resumed, calls(&[("send", "{}"), ("send", r#"{"to":"x"}"#)])), ["ask", "ask"]);
}

#[test]
fn a_nested_run_may_need_a_persons_yes_itself() {
    let main = APPROVAL.replace("workflow: find.yaml", "workflow: find.yaml, approval: always");
    let table = tables(&main, &[("find.yaml", FIND)]);
    for yes in [true, false] {
        let mut session = Session::start(&table, "go");
        assert_eq!(asked(&mut session, call("find", r#"{"task":"x"}"#)), ["ask"]);
        let Verdict::Ask(ask) = session.open_asks().remove(0).verdict else { panic!() };
        assert!(session.answer(ask, yes).is_none(), "nothing for the host to run");
        let records = session.take_records();
        assert_eq!(opened(&records).len(), usize::from(yes));
        assert_eq!(session.outcome(), None);
        replays(Session::builder(&table, "go"), &records, &session);
    }
}

#[test]
fn plain_calls_beside_a_nested_run_are_finished_as_usual() {
    let table = main_and_find();
    let mut session = Session::start(&table, "go");
    let rulings = session.judge(calls(&[("ls", "{\"a\":1}"), ("find", "{\"what\":1}"), ("ls", "{\"a\":2}")]));
    let tickets: Vec<_> = rulings
        .into_iter()
        .filter_map(|r| if let Verdict::Run(ticket) = r.verdict { Some(ticket) } else { None })
        .collect();
    assert!(opened(&session.take_records()).is_empty(), "the call before is not answered yet");
    let mut tickets = tickets.into_iter();
    session.finish(tickets.next().unwrap(), ToolResult::ok("one"));
    assert_eq!(opened(&session.take_records()).len(), 1);
    // The later call comes back while the nested run is under way.
    session.finish(tickets.next().unwrap(), ToolResult::ok("three"));
    play(&mut session, [Reply::text("a"), Reply::text("b"), Reply::text("c")]);
    let answers: Vec<_> = session
        .view()
        .messages
        .iter()
        .filter_map(|m| match m {
            Message::Tool { text, .. } => Some(text.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(answers, ["one", "c", "three"], "in the model's order");
}

/// A rule sent the run to `b` already; a call that moved it there first could let a nested run spend all of `b`.
#[test]
fn a_call_does_not_move_a_run_that_a_rule_sends_elsewhere() {
    let outer = "
stagekeeper: 1
workflow: main
leave_by: [answer, advance, call]
tools: { y: { effect: read }, find: { workflow: find.yaml } }
stages:
  a:
    goal: A.
    allowed_tools: [y]
    max_steps: 1
    rules: [{ name: jump, at: reply, when: \"stage.name == 'a'\", goto: b }]
  b: { goal: B., allowed_tools: [find], max_steps: 3 }
  c: { goal: C., allowed_tools: [], max_steps: 1 }
";
    let table = tables(outer, &[("find.yaml", FIND)]);
    let mut session = Session::start(&table, "go");
    session.judge(calls(&[("find", r#"{"task":"x"}"#)]));
    for n in 0..9 {
        session.judge(calls(&[("ls", &format!("{{\"n\":{n}}}"))]));
    }
    assert!(session.outcome().is_some());
    assert!(session.summary().tree.steps <= 5, "{:?}", session.summary().tree);
}

#[test]
fn what_a_nested_run_does_unsets_facts_of_the_runs_above() {
    let outer = "
stagekeeper: 1
workflow: main
tools:
  tests: { effect: stateful }
  commit: { effect: write, max_calls: 1, requires: { green: Run the tests first. } }
  find: { workflow: find.yaml }
  send: { effect: write, max_calls: 9 }
facts: { green: { from: result, tool: tests, match: ok, cleared_by: [send] } }
stages:
  a: { goal: A., allowed_tools: [tests, commit, find], max_steps: 9 }
  b: { goal: B., allowed_tools: [], max_steps: 1 }
";
    let table = tables(outer, &[("find.yaml", FIND)]);
    let mut session = Session::start(&table, "go");
    let run = |session: &mut Session, tool: &str, args: &str| {
        for ruling in session.judge(calls(&[(tool, args)])) {
            if let Verdict::Run(ticket) = ruling.verdict {
                session.finish(ticket, ToolResult::ok("ok"));
            }
        }
    };
    run(&mut session, "tests", "{}");
    run(&mut session, "find", r#"{"task":"x"}"#);
    run(&mut session, "send", "{}");
    session.judge(Reply::text("looked"));
    session.judge(Reply::text("said"));
    assert_eq!(asked(&mut session, calls(&[("commit", "{}")])), ["refuse"]);
}
