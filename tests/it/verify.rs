//! What no model can make a run do.

use stagekeeper::StageTable;
use stagekeeper::testing::Scenario;
use stagekeeper::verify::{Options, Proof, prove};

fn table(text: &str) -> StageTable {
    StageTable::parse(text).unwrap_or_else(|e| panic!("{e}"))
}

fn shipped(path: &str) -> StageTable {
    let text = std::fs::read_to_string(path).unwrap();
    let folder = std::path::Path::new(path).parent().unwrap();
    let mut include = |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|e| e.to_string());
    StageTable::parse_with(path, &text, &mut include).unwrap_or_else(|e| panic!("{e}"))
}

fn proof(table: &StageTable) -> Proof {
    prove(table, &mut Options { max_states: 300_000, grants: 0, progress: &mut |_| true })
}

/// The scenario of the one thing that does not hold; it must be confirmed, and play to the violation again.
fn counterexample(text: &str, property: &str) -> String {
    let table = table(text);
    let proof = proof(&table);
    let said: Vec<_> = proof.broken.iter().map(|b| &b.property).collect();
    let broken = proof.broken.iter().find(|b| b.property.starts_with(property));
    let broken = broken.unwrap_or_else(|| panic!("{property} is not among {said:?}, open: {:?}", proof.open));
    assert!(broken.confirmed);
    assert_eq!(proof.broken.len(), 1, "{said:?}");
    assert!(proof.open.is_empty(), "{:?}", proof.open);
    let scenario =
        Scenario::parse(&broken.scenario, "found.yaml").unwrap_or_else(|e| panic!("{e}\n{}", broken.scenario));
    let played = scenario.play(&table).unwrap();
    assert!(scenario.failures(&played).is_empty(), "{:?}", scenario.failures(&played));
    let from = broken.scenario.find("task:").unwrap_or_default();
    broken.scenario[from..].to_owned()
}

const HEAD: &str = "stagekeeper: 1\nworkflow: w\n";

#[test]
fn every_shipped_table_is_proved() {
    for name in
        ["diagnose", "docs_qa", "incident", "observe", "research", "research_one", "support", "transpile", "warehouse"]
    {
        let path = format!("{}/stages/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let table = shipped(&path);
        let proof = proof(&table);
        let broken: Vec<_> = proof.broken.iter().map(|b| format!("{}\n{}", b.property, b.scenario)).collect();
        assert!(proof.complete && broken.is_empty(), "{name}: {:?} {}", proof.open, broken.join("\n"));
    }
}

#[test]
fn diagnose_proves_that_no_mail_leaves_outside_report_at_most_one_within_15_and_report_is_reached() {
    let path = format!("{}/stages/diagnose.yaml", env!("CARGO_MANIFEST_DIR"));
    let proof = proof(&table(&std::fs::read_to_string(path).unwrap()));
    let said = proof.proved.join("\n");
    for line in [
        "only_in: send_email runs only in report",
        "at_most: send_email runs at most 1 times",
        "within: 15 steps",
        "reaches: report",
        "ceiling: no run takes more than 15 replies",
    ] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn a_tool_without_max_calls_may_run_more_often_than_promised() {
    let text = format!(
        "{HEAD}stages: {{ act: {{ goal: Act., allowed_tools: [send], max_steps: 3 }} }}\nguarantees: [{{ at_most: {{ tool: send, times: 1 }} }}]\n"
    );
    insta::assert_snapshot!(counterexample(&text, "at_most"), @r##"
    task: Do the task.
    script:
      - calls: [{ tool: send, args: { n: 1 }, result: result 1 }, { tool: send, args: { n: 2 }, result: result 2 }]
    expect: { outcome: exhausted, steps: 3, run: { send: 2 } }
    "##);
}

/// A later result may say that the tests are red again.
#[test]
fn a_fact_that_an_expression_sets_may_be_false_again() {
    let text = format!(
        "{HEAD}tools: {{ ls: {{}}, rm: {{}}, send: {{ requires: {{ green: Look first. }} }} }}
facts: {{ green: {{ from: result, tool: ls, value: result.json.pass }} }}
rules: [{{ name: red, at: reply, when: succeeded('send') and not facts.green, goto: bad }}]
stages:
  a: {{ goal: A., allowed_tools: [ls, send], max_steps: 5 }}
  b: {{ goal: B., allowed_tools: [], max_steps: 1 }}
  bad: {{ goal: Bad., allowed_tools: [rm], max_steps: 2, aside: true, next: end }}
guarantees: [{{ at_most: {{ tool: rm, times: 0 }} }}]
"
    );
    let proof = proof(&table(&text));
    assert!(!proof.proved.iter().any(|p| p.starts_with("at_most")), "{:?}", proof.proved);
}

#[test]
fn a_tool_that_two_stages_allow_is_not_only_in_one() {
    let text = format!(
        "{HEAD}stages:
  look: {{ goal: Look., allowed_tools: [ls, send], max_steps: 2 }}
  act: {{ goal: Act., allowed_tools: [send], max_steps: 2 }}
guarantees: [{{ only_in: {{ tool: send, stage: act }} }}]
"
    );
    insta::assert_snapshot!(counterexample(&text, "only_in"), @r##"
    task: Do the task.
    script:
      - call: { tool: send, args: { n: 1 }, result: result 1 }
    expect: { outcome: exhausted, steps: 4, run: { send: 1 } }
    "##);
}

#[test]
fn a_goto_past_a_stage_means_that_it_is_not_always_reached() {
    let text = format!(
        "{HEAD}stages:
  look: {{ goal: Look., allowed_tools: [ls], max_steps: 2 }}
  check: {{ goal: Check., allowed_tools: [], max_steps: 1 }}
  say: {{ goal: Say., allowed_tools: [], max_steps: 1 }}
rules: [{{ name: in-a-hurry, at: result, when: \"'now' in result.text\", goto: say }}]
guarantees: [{{ reaches: check }}]
"
    );
    insta::assert_snapshot!(counterexample(&text, "reaches"), @r##"
    task: Do the task.
    assume: { in-a-hurry: true }
    script:
      - call: { tool: ls, args: { n: 1 }, result: result 1 }
      - empty
    expect: { outcome: exhausted, steps: 2, run: { ls: 1 } }
    "##);
}

#[test]
fn a_run_may_take_longer_than_promised() {
    let text = format!(
        "{HEAD}stages:
  look: {{ goal: Look., allowed_tools: [ls], max_steps: 2 }}
  say: {{ goal: Say., allowed_tools: [], max_steps: 2 }}
guarantees: [{{ within: {{ steps: 3 }} }}]
"
    );
    insta::assert_snapshot!(counterexample(&text, "within"), @r##"
    task: Do the task.
    script:
      - empty
      - empty
      - empty
      - empty
    expect: { outcome: exhausted, steps: 4 }
    "##);
}

#[test]
fn a_gate_on_a_fact_that_any_result_sets_does_not_prove_that_a_certain_tool_succeeded() {
    let text = format!(
        "{HEAD}facts: {{ green: {{ from: result, tool: [test, lint], match: 'all (ok|fine)' }} }}
tools: {{ test: {{ effect: read }}, lint: {{ effect: read }}, commit: {{ effect: write, max_calls: 1, requires: {{ green: Test first. }} }} }}
stages:
  act: {{ goal: Act., allowed_tools: [test, lint, commit], max_steps: 4 }}
guarantees: [{{ never: {{ tool: commit, before: test }} }}]
"
    );
    insta::assert_snapshot!(counterexample(&text, "never"), @r##"
    task: Do the task.
    script:
      - call: { tool: lint, args: { n: 1 }, result: "all ok\nresult 1" }
      - call: { tool: commit, args: { n: 2 }, result: result 2 }
    expect: { outcome: exhausted, steps: 4, run: { lint: 1, commit: 1 } }
    "##);
}

#[test]
fn what_only_a_repeat_breaks_is_found_with_the_real_guards() {
    let text = format!(
        "{HEAD}tools: {{ ls: {{ effect: read }} }}
guards: {{ no_progress: {{ hint: 1, leave: 9, close: 1 }} }}
stages:
  look: {{ goal: Look., allowed_tools: [ls], max_steps: 3, on_exhausted: next }}
  middle: {{ goal: Middle., allowed_tools: [], max_steps: 1 }}
  say: {{ goal: Say., allowed_tools: [], max_steps: 1 }}
guarantees: [{{ reaches: middle }}]
"
    );
    insta::assert_snapshot!(counterexample(&text, "reaches"), @r##"
    task: Do the task.
    script:
      - call: { tool: ls, args: { n: 0 }, result: result 0 }
      - call: { tool: ls, args: { n: 0 } }
      - empty
    expect: { outcome: looped, steps: 3, run: { ls: 1 } }
    "##);
}

#[test]
fn a_search_that_is_stopped_proves_nothing() {
    let path = format!("{}/stages/diagnose.yaml", env!("CARGO_MANIFEST_DIR"));
    let table = table(&std::fs::read_to_string(path).unwrap());
    let proof = prove(&table, &mut Options { max_states: 50, grants: 0, progress: &mut |_| true });
    assert!(!proof.complete && proof.proved.is_empty() && !proof.open.is_empty());
    let proof = prove(&table, &mut Options { max_states: 50_000, grants: 0, progress: &mut |_| false });
    assert!(!proof.complete && proof.proved.is_empty());
}

#[test]
fn a_name_that_only_three_patterns_together_describe_is_tried() {
    // One call is all there is: it must be allowed, and give both facts.
    let text = format!(
        "{HEAD}limits: {{ calls_per_step: 1 }}
facts:
  first: {{ from: result, tool: 'b_*', match: one }}
  second: {{ from: result, tool: '*_a', match: two }}
tools:
  '*': {{ effect: read }}
  send: {{ effect: write, max_calls: 1, requires: {{ first: Look., second: Look. }} }}
stages:
  look: {{ goal: Look., allowed_tools: ['*c*'], max_steps: 1 }}
  act: {{ goal: Act., allowed_tools: [send], max_steps: 2 }}
guarantees: [{{ only_in: {{ tool: send, stage: look }} }}]
"
    );
    insta::assert_snapshot!(counterexample(&text, "only_in"), @r##"
    task: Do the task.
    script:
      - call: { tool: b_c_a, args: { n: 1 }, result: "one\ntwo\nresult 1" }
      - call: { tool: send, args: { n: 2 }, result: result 2 }
    expect: { outcome: exhausted, steps: 3, run: { b_c_a: 1, send: 1 } }
    "##);
}

#[test]
fn a_tool_that_a_condition_names_is_told_from_others_of_its_pattern() {
    let text = format!(
        "{HEAD}tools: {{ 'fs_*': {{ effect: read }} }}
stages:
  look: {{ goal: Look., allowed_tools: ['fs_*'], max_steps: 3 }}
  check: {{ goal: Check., allowed_tools: [], max_steps: 1 }}
  say: {{ goal: Say., allowed_tools: [], max_steps: 1 }}
rules: [{{ name: has-read, at: reply, when: \"called('fs_read')\", goto: say }}]
guarantees: [{{ reaches: check }}]
"
    );
    insta::assert_snapshot!(counterexample(&text, "reaches"), @r##"
    task: Do the task.
    script:
      - call: { tool: fs_read, args: { n: 1 }, result: result 1 }
      - empty
      - empty
    expect: { outcome: exhausted, steps: 3, run: { fs_read: 1 } }
    "##);
}

#[test]
fn another_tool_of_the_same_pattern_may_be_called_where_one_may_not() {
    // `same_tool` never lets one tool run twice in a row; two of a pattern in turn may.
    let table = |tools: &str| {
        table(&format!(
            "{HEAD}limits: {{ calls_per_step: 1 }}
guards: {{ same_tool: {{ in_a_row: 1 }} }}
stages: {{ look: {{ goal: Look., allowed_tools: [{tools}], max_steps: 4 }} }}
guarantees: [{{ at_most: {{ tool: '{tools}', times: 1 }} }}]
"
        ))
    };
    let one = proof(&table("ls"));
    assert!(one.complete && one.broken.is_empty(), "{one:?}");
    let many = proof(&table("ls_*"));
    assert!(!many.complete, "{many:?}");
}

#[test]
fn patterns_that_overlap_in_too_many_ways_prove_nothing() {
    let patterns: Vec<String> = ('a'..='k').map(|c| format!("'*{c}*'")).collect();
    let text = format!(
        "{HEAD}stages: {{ look: {{ goal: Look., allowed_tools: [{}], max_steps: 2 }} }}\n",
        patterns.join(", ")
    );
    let proof = proof(&table(&text));
    assert!(proof.proved.is_empty() && !proof.complete);
    assert!(proof.open.iter().all(|open| open.why.contains("overlap in more than 1000 ways")), "{:?}", proof.open);
}

/// A table with the nested run `dig`, which may send once; `dig` and `send`: what else its catalogue says of them.
fn with_nested(dig: &str, send: &str, rest: &str) -> StageTable {
    let text = format!(
        "{HEAD}tools:
  dig: {{ workflow: dig.yaml, max_calls: 2{dig} }}
  send: {{ effect: write{send} }}
  ls: {{ effect: read }}
{rest}"
    );
    let dig = "stagekeeper: 1
workflow: dig
tools: { send: { effect: write, max_calls: 1 }, ls: { effect: read } }
stages: { act: { goal: Dig., allowed_tools: [send, ls], max_steps: 3 } }
";
    StageTable::parse_with("t.yaml", &text, &mut |_| Ok(dig.to_owned())).unwrap_or_else(|e| panic!("{e}"))
}

/// What is said of the only guarantee: `proved`, or why not.
fn said(table: &StageTable) -> String {
    // Looking in vain for a run that breaks it is what takes long.
    let proof = prove(table, &mut Options { max_states: 20_000, grants: 0, progress: &mut |_| true });
    assert!(proof.broken.is_empty(), "{:?}", proof.broken);
    match proof.open.as_slice() {
        [] => "proved".to_owned(),
        [open] => open.why.clone(),
        more => panic!("{more:?}"),
    }
}

#[test]
fn a_nested_run_is_in_the_stage_that_calls_it() {
    let look = |tools: &str| {
        let stages = format!(
            "stages:
  look: {{ goal: Look., allowed_tools: [{tools}], max_steps: 4 }}
  act: {{ goal: Act., allowed_tools: [dig, send], max_steps: 4 }}
guarantees: [{{ only_in: {{ tool: send, stage: act }} }}]
"
        );
        said(&with_nested("", "", &stages))
    };
    assert_eq!(look("ls"), "proved");
    assert_eq!(look("ls, dig"), "the nested run `dig` may call it, and other stages allow `dig`");
}

#[test]
fn calls_of_nested_runs_are_counted_by_their_bounds_or_by_the_outer_max_calls() {
    let at_most = |tool: &str, times: u32| {
        let rest = format!(
            "stages: {{ act: {{ goal: Act., allowed_tools: [dig, send, ls], max_steps: 5 }} }}
guarantees: [{{ at_most: {{ tool: {tool}, times: {times} }} }}]
"
        );
        said(&with_nested("", ", max_calls: 2", &rest))
    };
    // Those of the outer table count what nested runs call.
    assert_eq!(at_most("send", 2), "proved");
    // Two of its own, and two nested runs with one each.
    assert_eq!(at_most("'sen*'", 4), "proved");
    assert!(at_most("'sen*'", 3).starts_with("the nested run `dig` may call it too; "), "{}", at_most("'sen*'", 3));
}

#[test]
fn what_a_nested_run_may_only_do_after_something_is_proved_by_what_opens_it() {
    let never = |requires: &str| {
        let rest = "facts: { seen: { from: result, tool: ls, match: seen } }
stages: { act: { goal: Act., allowed_tools: [dig, ls, send], max_steps: 6 } }
limits: { max_calls: 4 }
guarantees: [{ never: { tool: send, before: ls } }]
";
        said(&with_nested(requires, ", requires: { seen: Look first. }", rest))
    };
    assert_eq!(never(", requires: { seen: Look first. }"), "proved");
    assert_eq!(never(""), "the nested run `dig` may call it, and nothing keeps `dig` until ls has succeeded");
}

#[test]
fn a_promise_of_steps_over_the_tree_holds_up_to_the_bound_of_the_tree() {
    let tree = |steps: u32| {
        let rest = format!(
            "stages: {{ act: {{ goal: Act., allowed_tools: [dig, send, ls], max_steps: 4 }} }}
guarantees: [{{ within: {{ steps: {steps}, of: tree }} }}]
"
        );
        said(&with_nested(", spend: own", "", &rest))
    };
    assert_eq!(tree(10), "proved");
    assert!(tree(9).contains("`spend: own` have steps of their own, 10 in all"), "{}", tree(9));
}

#[test]
fn granted_steps_are_explored_when_asked_for() {
    let text = format!(
        "{HEAD}limits: {{ calls_per_step: 1 }}
stages:
  look: {{ goal: Look., allowed_tools: [ls], max_steps: 1 }}
  say: {{ goal: Say., allowed_tools: [], max_steps: 1 }}
guarantees: [{{ at_most: {{ tool: ls, times: 1 }} }}, {{ within: {{ steps: 2 }} }}, {{ reaches: say }}]
"
    );
    let granted = |grants| prove(&table(&text), &mut Options { max_states: 100_000, grants, progress: &mut |_| true });
    assert!(granted(0).complete);
    let proof = granted(1);
    let open: Vec<&str> = proof.open.iter().map(|o| &*o.property).collect();
    // Steps that a person grants come on top of what is promised; calls do not.
    assert_eq!(open, ["at_most: ls runs at most 1 times"]);
    assert_eq!(proof.grants, 1);
}
