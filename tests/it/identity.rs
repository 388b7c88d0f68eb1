//! The identity of a call: equal for two texts exactly when they are the same JSON object, its numbers as written.

use proptest::prelude::*;
use stagekeeper::engine::args::identity;
use std::collections::BTreeMap;

/// A JSON value. A number is its text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Json {
    Word(&'static str),
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        prop_oneof![
            Just("0"),
            Just("-0"),
            Just("1"),
            Just("1.0"),
            Just("1e0"),
            Just("1E0"),
            Just("1e+0"),
            Just("10e-1")
        ]
        .prop_map(str::to_owned),
        Just("12345678901234567890".to_owned()),
        Just("12345678901234567891".to_owned()),
        any::<i32>().prop_map(|n| n.to_string()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        prop_oneof![Just(""), Just("a"), Just("A"), Just("\u{0}"), Just("\"\\/"), Just("é🦀"), Just("{}"), Just("1")]
            .prop_map(str::to_owned),
        ".{0,4}",
    ]
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        prop_oneof![Just("true"), Just("false"), Just("null")].prop_map(Json::Word),
        number().prop_map(Json::Number),
        text().prop_map(Json::Text),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Json::List),
            proptest::collection::btree_map(text(), inner, 0..3).prop_map(Json::Object),
        ]
    })
}

fn object() -> impl Strategy<Value = Json> {
    proptest::collection::btree_map(text(), json(), 0..4).prop_map(Json::Object)
}

/// One of the many ways to write a value: `ways` decides about order, white space and escapes.
struct Pen<'w> {
    ways: std::iter::Cycle<std::slice::Iter<'w, u8>>,
    out: String,
}

impl Pen<'_> {
    fn write(value: &Json, ways: &[u8]) -> String {
        let mut pen = Pen { ways: ways.iter().cycle(), out: String::new() };
        pen.value(value);
        pen.out
    }

    fn way(&mut self) -> u8 {
        self.ways.next().copied().unwrap_or_default()
    }

    fn space(&mut self) {
        let space = ["", "", " ", "\n\t", "\r "][usize::from(self.way() % 5)];
        self.out.push_str(space);
    }

    fn value(&mut self, value: &Json) {
        self.space();
        match value {
            Json::Word(word) => self.out.push_str(word),
            Json::Number(number) => self.out.push_str(number),
            Json::Text(text) => self.text(text),
            Json::List(items) => {
                self.out.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.out.push_str(if at > 0 { "," } else { "" });
                    self.value(item);
                }
                self.space();
                self.out.push(']');
            }
            Json::Object(members) => self.object(members),
        }
        self.space();
    }

    fn object(&mut self, members: &BTreeMap<String, Json>) {
        let mut order: Vec<_> = members.iter().collect();
        if self.way().is_multiple_of(2) {
            order.reverse();
        }
        self.out.push('{');
        for (at, (key, value)) in order.into_iter().enumerate() {
            self.out.push_str(if at > 0 { "," } else { "" });
            self.space();
            self.text(key);
            self.space();
            self.out.push(':');
            self.value(value);
        }
        self.space();
        self.out.push('}');
    }

    fn text(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            let escaped = self.way().is_multiple_of(3);
            match c {
                '"' | '\\' if !escaped => self.out.extend(['\\', c]),
                '/' if escaped => self.out.push_str("\\/"),
                c if escaped || c.is_control() || c == '"' || c == '\\' => {
                    let mut units = [0; 2];
                    for unit in c.encode_utf16(&mut units) {
                        self.out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}

fn id(text: &str) -> u128 {
    identity("t", text, &[]).unwrap_or_else(|e| panic!("{e}: {text}")).0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_value_has_one_identity_however_it_is_written(
        value in object(), one in proptest::collection::vec(any::<u8>(), 1..20), two in proptest::collection::vec(any::<u8>(), 1..20),
    ) {
        prop_assert_eq!(id(&Pen::write(&value, &one)), id(&Pen::write(&value, &two)));
    }

    #[test]
    fn two_values_have_two_identities(one in object(), two in object(), ways in proptest::collection::vec(any::<u8>(), 1..20)) {
        let equal = id(&Pen::write(&one, &ways)) == id(&Pen::write(&two, &ways));
        prop_assert_eq!(equal, one == two);
    }

    /// What our reader takes, a JSON library takes, and the other way round; but for keys that stand twice.
    #[test]
    fn nothing_else_is_taken_for_json(
        value in object(), ways in proptest::collection::vec(any::<u8>(), 1..20), at in any::<prop::sample::Index>(), with in ".?",
    ) {
        let mut text: Vec<char> = Pen::write(&value, &ways).chars().collect();
        let at = at.index(text.len());
        text.splice(at..=at, with.chars());
        let text: String = text.into_iter().collect();
        let library = serde_json::from_str::<serde_json::Value>(&text).is_ok_and(|v| v.is_object());
        match identity("t", &text, &[]) {
            Ok(_) => prop_assert!(library || text.trim().is_empty() || has_huge_number(&text), "taken: {text}"),
            Err(e) => prop_assert!(!library || e.contains("stands twice"), "{e}: {text}"),
        }
    }
}

/// The library has no place for numbers beyond a float's range; an identity has.
fn has_huge_number(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_err_and(|e| e.to_string().contains("number out of range"))
}

#[test]
fn a_key_that_stands_twice_and_half_a_surrogate_are_no_arguments() {
    for wrong in [
        r#"{"a":1,"a":1}"#,
        r#"{"a":1,"\u0061":1}"#,
        r#"{"o":{"b":1,"a":2,"b":3}}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"a":"\udc00\ud800"}"#,
        r#"{"\ud83e":1}"#,
        r#"{"a":01}"#,
        r#"{"a":-}"#,
        r#"{"a":1.}"#,
        r#"{"a":NaN}"#,
        "{\"a\":\"\u{1}\"}",
    ] {
        assert!(identity("t", wrong, &[]).is_err(), "{wrong}");
    }
    assert_eq!(id(r#"{"a":"\ud83e\udd80"}"#), id(r#"{"a":"🦀"}"#));
    assert_ne!(id(r#"{"a":0}"#), id(r#"{"a":-0}"#));
}

#[test]
fn ten_thousand_brackets_are_said_to_be_too_deep_and_overflow_no_stack() {
    for deep in ["[".repeat(10_000), "{\"a\":".repeat(10_000), "[".repeat(500_000)] {
        let said = identity("t", &format!("{{\"a\":{deep}"), &[]).unwrap_err();
        assert_eq!(said, "they are nested deeper than 64");
    }
}
