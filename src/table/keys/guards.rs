//! The keys of guards.

use super::tree::*;
use super::{COUNT, Key, Object, Shape};
use crate::table::limits;

/// No more rounds are remembered.
const ROUNDS: Shape = Shape::Whole(1, limits::ROUNDS);

pub(crate) static GUARDS: Object = Object {
    name: "guards",
    about: "The built-in watches over the loop. Each may be `on`, `off`, `observe`, or a mapping.",
    keys: &[
        key(
            "duplicate",
            Shape::Any(&[Shape::Mode, Shape::Object(&DUPLICATE)]),
            "on",
            "Calls that are identical to earlier ones.",
        ),
        key(
            "cycle",
            Shape::Any(&[Shape::Mode, Shape::Object(&CYCLE)]),
            "on",
            "Rounds of two to four calls with equal results.",
        ),
        key(
            "no_progress",
            Shape::Any(&[Shape::Mode, Shape::Object(&NO_PROGRESS)]),
            "on",
            "Calls that bring what they brought before.",
        ),
        key("errors", Shape::Any(&[Shape::Mode, Shape::Object(&ERRORS)]), "on", "One tool failing again and again."),
        key(
            "same_tool",
            Shape::Any(&[Shape::Mode, Shape::Object(&SAME_TOOL)]),
            "off",
            "One tool used in reply after reply.",
        ),
        key(
            "conservative",
            Shape::Any(&[Shape::Mode, Shape::Object(&CONSERVATIVE)]),
            "off",
            "Near the end of a budget only tools that have proven themselves.",
        ),
        key(
            "violations",
            Shape::Any(&[Shape::Mode, Shape::Object(&VIOLATIONS)]),
            "on",
            "Replies in a row with a refused call.",
        ),
    ],
    peers: &[],
};

const MODE: Key = key("mode", Shape::Mode, "on", "`on`, `off`, or `observe`: recorded, and changes nothing.");

pub(crate) static DUPLICATE: Object =
    Object { name: "duplicate", about: "Calls that are identical to earlier ones.", keys: &[MODE], peers: &[] };

pub(crate) static CYCLE: Object = Object {
    name: "cycle",
    about: "Rounds of two to four calls with equal results.",
    keys: &[
        MODE,
        key("hint", ROUNDS, "2", "Equal rounds until every member of the cycle gets a hint."),
        key("refuse", ROUNDS, "3", "Equal rounds until the whole set is refused."),
    ],
    peers: &[],
};

pub(crate) static NO_PROGRESS: Object = Object {
    name: "no_progress",
    about: "Calls that bring what they brought before.",
    keys: &[
        MODE,
        key("hint", COUNT, "3", "Such calls in a row until the hint."),
        key("leave", COUNT, "5", "Such calls in a row until the stage is left."),
        key("close", COUNT, "10", "Such calls in the whole run until it is closed."),
    ],
    peers: &[],
};

pub(crate) static ERRORS: Object = Object {
    name: "errors",
    about: "One tool failing again and again.",
    keys: &[
        MODE,
        key("hint", COUNT, "3", "Failures of one tool in a row until the hint."),
        key("leave", COUNT, "6", "Failures of one tool in a row until the stage is left."),
    ],
    peers: &[],
};

pub(crate) static SAME_TOOL: Object = Object {
    name: "same_tool",
    about: "One tool used in reply after reply.",
    keys: &[
        MODE,
        key("in_a_row", COUNT, "required", "Replies in a row that used only this tool, before it is refused."),
    ],
    peers: &[],
};

pub(crate) static CONSERVATIVE: Object = Object {
    name: "conservative",
    about: "Near the end of a budget only tools that have proven themselves.",
    keys: &[
        MODE,
        key("below", COUNT, "3", "With fewer steps of the stage left than this, the guard holds."),
        key(
            "allow",
            Shape::Any(&[Shape::Words(&["proven"]), TOOLS]),
            "proven",
            "The tools that may still be called: `proven` (they succeeded in this run), or a list.",
        ),
        key("deny", TOOLS, "none", "Tools that may not be called then."),
    ],
    peers: &[],
};

pub(crate) static VIOLATIONS: Object = Object {
    name: "violations",
    about: "Replies in a row with a refused call.",
    keys: &[
        MODE,
        key("in_a_row", COUNT, "2", "Replies in a row that hold a violation."),
        key(
            "then",
            Shape::Words(&["rollback", "end"]),
            "rollback",
            "What follows: back to the checkpoint of the stage, or the run is closed.",
        ),
        key(
            "max_rollbacks",
            Shape::Whole(0, crate::table::limits::COUNT),
            "1",
            "Rollbacks of one run, the guards' included.",
        ),
    ],
    peers: &[],
};
