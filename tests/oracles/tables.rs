//! Tables out of arbitrary bytes: shipped ones, and random ones that use most of what a table may say.

use arbitrary::{Result, Unstructured};
use std::fmt::Write as _;

/// Real tables, each with the file that its nested runs name.
const SHIPPED: [&str; 12] = [
    include_str!("../../stages/diagnose.yaml"),
    include_str!("../../stages/docs_qa.yaml"),
    include_str!("../../stages/fix_defect.yaml"),
    include_str!("../../stages/incident.yaml"),
    include_str!("../../stages/research.yaml"),
    include_str!("../../stages/support.yaml"),
    include_str!("../../stages/transpile.yaml"),
    include_str!("../../stages/warehouse.yaml"),
    include_str!("../tables/diagnose.yaml"),
    include_str!("../tables/fix_defect.yaml"),
    include_str!("../tables/incident.yaml"),
    include_str!("../tables/support.yaml"),
];
const RESEARCH_ONE: &str = include_str!("../../stages/research_one.yaml");

/// Tools of random tables.
pub const TOOLS: [&str; 4] = ["t0", "t1", "t2", "t3"];

/// A table and the one that its nested runs may name.
pub struct Tables {
    pub main: String,
    pub other: String,
}

/// One table in four is shipped.
pub fn tables(u: &mut Unstructured<'_>) -> Result<Tables> {
    if u.ratio(1, 4)? {
        return Ok(Tables { main: (*u.choose(&SHIPPED)?).to_owned(), other: RESEARCH_ONE.to_owned() });
    }
    let nested = u.ratio(1, 3)?;
    Ok(Tables { main: random(u, nested)?, other: random(u, nested)? })
}

fn random(u: &mut Unstructured<'_>, nested: bool) -> Result<String> {
    let mut yaml = String::from("stagekeeper: 1\nworkflow: random\n");
    top(u, &mut yaml)?;
    yaml.push_str("tools:\n");
    for (at, tool) in TOOLS.iter().enumerate() {
        let body = entry(u, nested && at == 3)?;
        let _ = writeln!(yaml, "  {tool}: {{ {body} }}");
    }
    yaml.push_str(
        "facts:\n  f: { from: result, tool: t0, match: 'ok' }\n  h: { from: host }\n  u: { from: user, match: 'h\\w' }\n  \
         k: { from: task, match: 'g\\w' }\n",
    );
    let count = u.int_in_range(1..=4)?;
    yaml.push_str("stages:\n");
    for at in 0..count {
        stage(u, &mut yaml, at, count)?;
    }
    rules(u, &mut yaml, count)?;
    guards(u, &mut yaml)?;
    Ok(yaml)
}

fn top(u: &mut Unstructured<'_>, yaml: &mut String) -> Result<()> {
    let lines = [
        "batch: atomic",
        "conversation: true",
        "expose: stage",
        "leave_by: [answer, advance, call]",
        "finish: { success: ['[END]'], failure: ['[ERROR]'], window: 2 }",
    ];
    for line in lines {
        if u.ratio(1, 4)? {
            let _ = writeln!(yaml, "{line}");
        }
    }
    let limits = [
        "max_calls: 5",
        "max_tokens: 1000",
        "max_cost: 0.5",
        "max_time: 10s",
        "waiting_counts: true",
        "user_turns: 2",
        "depth: 2",
        "reentry: 1",
        "calls_per_step: 2",
    ];
    let mut chosen = Vec::new();
    for limit in limits {
        if u.ratio(1, 6)? {
            chosen.push(limit);
        }
    }
    if !chosen.is_empty() {
        let _ = writeln!(yaml, "limits: {{ {} }}", chosen.join(", "));
    }
    Ok(())
}

fn entry(u: &mut Unstructured<'_>, nests: bool) -> Result<String> {
    if nests {
        let file = u.choose(&["main.yaml", "other.yaml"])?;
        let spend = u.choose(&["parent", "own"])?;
        return Ok(format!("workflow: {file}, spend: {spend}"));
    }
    let effect = u.choose(&["read", "write", "poll", "stateful"])?;
    let mut body = format!("effect: {effect}, repeats: {}", u.int_in_range(1..=3)?);
    let more = [
        "max_calls: 2",
        "approval: always",
        "requires: { f: need f }",
        "ignore_args: [x]",
        "mask: ['r\\d']",
        "max_chars: 20",
        "failed_when: result.empty",
        "aliases: [ALIAS]",
        "max_calls: 1",
    ];
    let pick = u.int_in_range(0..=more.len() * 2)?;
    if let Some(more) = more.get(pick) {
        // Two tools cannot have one alias.
        let alias = format!("a{}", u.int_in_range(0..=9)?);
        let _ = write!(body, ", {}", more.replace("ALIAS", &alias));
    }
    Ok(body)
}

fn stage(u: &mut Unstructured<'_>, yaml: &mut String, at: usize, count: usize) -> Result<()> {
    let mut allowed = Vec::new();
    for tool in TOOLS {
        if at == 0 || u.ratio(1, 2)? {
            allowed.push(tool);
        }
    }
    let steps = u.int_in_range(1..=5)?;
    let _ = writeln!(
        yaml,
        "  s{at}:\n    goal: g {{{{ stage.left }}}}\n    allowed_tools: [{}]\n    max_steps: {steps}",
        allowed.join(", ")
    );
    let to = u.int_in_range(0..=count - 1)?;
    let exhausted = format!("on_exhausted: s{to}");
    let next = format!("next: s{to}");
    let lines = [
        "requires: { f: need f }",
        "requires: { h: need h }",
        "on_exhausted: retry_fresh",
        "on_exhausted: end",
        &exhausted,
        &next,
        "conversation: true",
        "approval: always",
        "max_calls: 3",
        "leave_by: [call]",
        "leave_by: [advance]",
        "leave_by: [answer]",
        "hints: { t0: not here }",
        "guards: { duplicate: off }",
    ];
    let mut keys: Vec<&str> = Vec::new();
    for _ in 0..u.int_in_range(0..=3)? {
        let line: &str = u.choose(&lines)?;
        let key = line.split(':').next().unwrap_or_default();
        if !keys.contains(&key) {
            keys.push(key);
            let _ = writeln!(yaml, "    {line}");
        }
    }
    Ok(())
}

fn rules(u: &mut Unstructured<'_>, yaml: &mut String, stages: usize) -> Result<()> {
    let count = u.int_in_range(0..=3)?;
    if count > 0 {
        yaml.push_str("rules:\n");
    }
    for at in 0..count {
        let to = u.int_in_range(0..=stages - 1)?;
        let tool = u.choose(&TOOLS)?;
        let extend = format!("at: reply, when: run.step == 3, extend: {{ stage: s{to}, steps: 2 }}");
        let widen = format!("at: result, tool: {tool}, when: not result.error, extend: {{ stage: s{to}, steps: 1 }}");
        let jump = format!("at: result, tool: {tool}, when: result.empty, goto: s{to}");
        let leap = format!("at: reply, when: 'x' in reply.text, goto: s{to}, hint: off you go");
        let deny = format!("at: call, tool: {tool}, when: call.args.x > 1, deny: no");
        let bodies = [
            &extend,
            &widen,
            &jump,
            &leap,
            &deny,
            "at: call, when: times(call.tool) > 1, ask: sure?",
            "at: call, tool: t1, when: not succeeded('t0', x=1), deny: first t0",
            "at: result, when: result.json.a == 1, set: { f: result.json.a }",
            "at: result, when: result.error, end: failed",
            "at: reply, when: reply.calls > 2, end: completed",
            "at: step, when: run.step > 1, forget: 1",
            "at: result, when: result.chars > 3, forget: 0, hint: gone",
        ];
        let body: &str = u.choose(&bodies)?;
        let _ = writeln!(yaml, "  - {{ name: r{at}, {} }}", quoted_when(body));
    }
    Ok(())
}

/// A condition may hold commas and quotes: it goes into double quotes.
fn quoted_when(body: &str) -> String {
    let Some((before, rest)) = body.split_once("when: ") else { return body.to_owned() };
    let actions = [", extend:", ", goto:", ", deny:", ", ask:", ", set:", ", end:", ", forget:"];
    let end = actions.iter().filter_map(|action| rest.find(action)).min().unwrap_or(rest.len());
    let (condition, action) = rest.split_at(end);
    format!("{before}when: \"{condition}\"{action}")
}

fn guards(u: &mut Unstructured<'_>, yaml: &mut String) -> Result<()> {
    let all = [
        "duplicate: off",
        "cycle: { mode: observe }",
        "no_progress: { hint: 1, leave: 2, close: 3 }",
        "errors: { hint: 1, leave: 2 }",
        "same_tool: { in_a_row: 2 }",
        "conservative: { below: 2, allow: proven }",
        "violations: { in_a_row: 1, max_rollbacks: 3 }",
        "violations: { then: end }",
        "cycle: { hint: 2, refuse: 3 }",
    ];
    let mut chosen: Vec<&str> = Vec::new();
    for guard in all {
        let key = guard.split(':').next().unwrap_or_default();
        if u.ratio(1, 5)? && !chosen.iter().any(|other| other.starts_with(key)) {
            chosen.push(guard);
        }
    }
    if !chosen.is_empty() {
        let _ = writeln!(yaml, "guards: {{ {} }}", chosen.join(", "));
    }
    Ok(())
}
