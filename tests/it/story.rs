//! Stories: any records at all are told without a panic, each line on one line.

use proptest::prelude::*;
use stagekeeper::engine::{EnteredBy, Event, Judged};
use stagekeeper::render::story::story;
use stagekeeper::render::{explain as words, html};
use stagekeeper::trace::{Header, Stamped, Trace, explain};
use stagekeeper::{
    CallNo, Check, Input, Limit, LimitKind, Outcome, ProposedCall, Record, Reply, StageTable, ToolResult,
};
use std::sync::Arc;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,40}",
        ".{0,12}",
        "[\\s\\x00-\\x1f\u{202e}\u{200b}日本🦀]{0,30}",
        r#"\{"a": ?[0-9]{1,30}, ?"b":"[^"]{0,9}"\}"#
    ]
}

fn name() -> impl Strategy<Value = Arc<str>> {
    text().prop_map(Into::into)
}

fn judged() -> impl Strategy<Value = Judged> {
    let check = prop_oneof![Just(Check::NotAllowed), Just(Check::Duplicate), Just(Check::Requires), Just(Check::Ended)];
    prop_oneof![
        Just(Judged::Run),
        any::<u32>().prop_map(|n| Judged::Reuse { of: CallNo(n), check: Check::Duplicate }),
        (check, any::<bool>(), proptest::option::of(text()), text())
            .prop_map(|(check, violation, by, hint)| Judged::Refuse { check, violation, by, hint }),
        (text(), text()).prop_map(|(by, question)| Judged::Ask { by, question }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let call = (0_u32..5).prop_map(CallNo);
    prop_oneof![
        (name(), any::<u32>()).prop_map(|(workflow, ceiling)| Event::RunStarted { workflow, ceiling }),
        (any::<u32>(), name(), any::<u32>(), any::<u32>())
            .prop_map(|(step, stage, stage_step, budget)| Event::StepCharged { step, stage, stage_step, budget }),
        text().prop_map(|text| Event::TextSaid { text }),
        (call.clone(), name(), proptest::option::of(name()), judged())
            .prop_map(|(call, tool, resolved, judged)| Event::CallJudged { call, tool, resolved, judged }),
        (call, name(), any::<bool>(), any::<usize>(), proptest::option::of(any::<usize>()), any::<bool>()).prop_map(
            |(call, tool, failed, chars, cut_to, same)| Event::CallFinished { call, tool, failed, chars, cut_to, same }
        ),
        (name(), text()).prop_map(|(name, text)| Event::HintGiven { name, text }),
        (name(), name(), any::<bool>()).prop_map(|(guard, answer, observed)| Event::GuardFired {
            guard,
            call: None,
            answer,
            observed
        }),
        (name(), text()).prop_map(|(stage, product)| Event::StageLeft { stage, product }),
        (name(), any::<usize>(), name()).prop_map(|(stage, n, rule)| Event::StageEntered {
            stage,
            number: n,
            of: n,
            left: 0,
            by: EnteredBy::Rule(rule)
        }),
        (name(), name(), any::<usize>()).prop_map(|(stage, by, dropped)| Event::RolledBack { stage, by, dropped }),
        (name(), any::<u32>(), name()).prop_map(|(stage, steps, rule)| Event::BudgetExtended { stage, steps, rule }),
        (name(), any::<u32>(), text()).prop_map(|(stage, steps, by)| Event::BudgetGranted { stage, steps, by }),
        (name(), any::<usize>(), text()).prop_map(|(tool, depth, task)| Event::ChildOpened {
            call: CallNo(1),
            workflow: tool.clone(),
            tool,
            depth,
            grant: None,
            task
        }),
        (any::<u32>(), text()).prop_map(|(steps, text)| Event::ChildClosed {
            call: CallNo(1),
            outcome: Outcome::Completed,
            limit: None,
            steps,
            text
        }),
        text().prop_map(|question| Event::Paused { outcome: Outcome::AwaitingUser, question }),
        (text(), any::<u64>()).prop_map(|(text, n)| Event::RunEnded {
            outcome: Outcome::Exhausted,
            limit: Some(Limit { kind: LimitKind::Time, stage: text.clone(), used: n, of: n }),
            text,
        }),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    let call = || (text(), text(), text()).prop_map(|(id, tool, arguments)| ProposedCall { id, tool, arguments });
    prop_oneof![
        proptest::collection::vec(call(), 0..4).prop_map(|calls| Input::Reply(Reply::calls(calls))),
        (0_u32..5, text()).prop_map(|(n, text)| Input::Result { call: CallNo(n), result: ToolResult::ok(text) }),
        text().prop_map(|text| Input::UserMessage { text }),
        any::<u64>().prop_map(|ms| Input::Time { ms, waiting: false }),
        text().prop_map(|message| Input::ProviderFailed { overflow: false, message }),
    ]
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    let record = (input(), proptest::collection::vec(event(), 0..6));
    proptest::collection::vec(record.prop_map(|(input, events)| Record { input, events }), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_records_are_told_in_lines_that_hurt_no_terminal(records in records()) {
        let told = story(&records);
        prop_assert!(told.chars().all(|c| c == '\n' || !c.is_control()), "{told:?}");
        prop_assert!(told.lines().all(|line| line.chars().count() <= 220), "{told}");
        prop_assert!(told.is_empty() || told.ends_with('\n'));
    }

    /// With the table's stages and without: the events need not be those of any run.
    #[test]
    fn any_records_are_drawn_as_one_whole_page(records in records()) {
        let table = StageTable::guards_only(5);
        let records = (1..).zip(records).map(|(n, record)| Stamped { n, at_ms: u64::MAX, record }).collect();
        let trace = Trace { header: Header::new(&table, "r", "a task"), records, cut: None };
        for table in [None, Some(&table)] {
            let page = html::page(&trace, table, &[]);
            prop_assert!(page.ends_with("</html>\n") && page.matches("<script").count() == 1);
        }
        // They are no run of the table, so there is nothing to explain; which is said and is no panic.
        let explained = explain(&trace, &table).unwrap_or_default();
        prop_assert!(explained.iter().all(|call| !words::text(call).is_empty()));
    }
}
