//! Any bytes as the answer of a model's server: a reply the engine takes, or a message that shows no key.

use stagekeeper::provider::openai::MOST_CALLS;
use stagekeeper::provider::openai::fuzzing::{self, KEY};
use stagekeeper::{Session, StageTable};

/// Takes the first two bytes as a status, the rest as the body.
pub fn check(data: &[u8]) {
    let Some((status, body)) = data.split_first_chunk::<2>() else { return };
    let status = u16::from_le_bytes(*status);
    for is_ollama in [false, true] {
        match fuzzing::read(status, body, is_ollama) {
            Ok(reply) => {
                assert!(reply.calls.len() <= MOST_CALLS);
                assert!(
                    !serde_json::to_string(&reply).expect("a reply is JSON").contains(KEY),
                    "the key is in the reply"
                );
                let calls = reply.calls.len();
                let table = StageTable::guards_only(3);
                let mut session = Session::start(&table, "a task");
                assert_eq!(session.judge(reply).len(), calls, "a call without a verdict");
            }
            Err(message) => {
                assert!(!message.contains(KEY), "the key is in the message");
                assert!(!message.contains(char::is_control), "{message:?}");
                assert!(message.chars().count() < 1_000, "{} characters of message", message.chars().count());
            }
        }
    }
}
