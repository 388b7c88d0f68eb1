//! What no model can make a run do.

use stagekeeper::{Input, ProposedCall, Reply, Session, StageTable};

const ASKED: &str = "stagekeeper: 1
workflow: asked
tools:
  send: { effect: write, approval: always }
stages:
  act: { goal: Act., allowed_tools: [send], max_steps: 1, next: gate }
  gate: { goal: Go., allowed_tools: [], max_steps: 1, approval: always }
  say: { goal: Say., allowed_tools: [], max_steps: 1 }
";

fn call(n: u32) -> Reply {
    Reply::calls(vec![ProposedCall::new(format!("c{n}"), "send", format!("{{\"n\":{n}}}"))])
}

#[test]
fn cancel_while_asked() {
    let table = StageTable::parse(ASKED).unwrap();
    let mut s = Session::start(&table, "x");
    for n in 0..6 {
        println!("{:?} {:?}", s.apply(Input::Reply(call(n))).map(|_| ()), s.outcome());
        s.cancel();
    }
    println!("{}", s.summary());
}
#[test]
fn cancel_while_admission() {
    let table = StageTable::parse(ASKED).unwrap();
    let mut s = Session::start(&table, "x");
    for n in 0..6 {
        println!("{:?} {:?}", s.apply(Input::Reply(Reply::text(format!("hm {n}")))).map(|_| ()), s.outcome());
        s.cancel();
    }
    println!("{}", s.summary());
}
#[test]
fn failure_while_open() {
    let table = StageTable::parse(&ASKED.replace(", approval: always }\nstages", " }\nstages")).unwrap();
    let mut s = Session::start(&table, "x");
    for n in 0..6 {
        println!("{:?} {:?}", s.apply(Input::Reply(call(n))).map(|_| ()), s.outcome());
        s.provider_failed(false, "x");
        let no = stagekeeper::CallNo(n + 1);
        println!(
            "{:?} {:?}",
            s.apply(Input::Result { call: no, result: stagekeeper::ToolResult::ok("fine") }).map(|_| ()),
            s.outcome()
        );
    }
    println!("{}", s.summary());
}
