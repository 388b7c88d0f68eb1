//! The keys of guarantees.

use super::tree::*;
use super::{Object, Shape};

pub(crate) static GUARANTEE: Object = Object {
    name: "guarantee",
    about: "One thing that `verify` has to prove. Each entry has exactly one of these keys.",
    keys: &[
        key("never", Shape::Object(&NEVER), "", "A tool never runs unless another has succeeded."),
        key("at_most", Shape::Object(&AT_MOST), "", "A tool runs at most so often."),
        key("within", Shape::Object(&WITHIN), "", "The run takes at most so many steps."),
        key(
            "reaches",
            Shape::Any(&[Shape::Stage, Shape::List(&Shape::Stage)]),
            "",
            "One of the stages is always reached.",
        ),
        key("only_in", Shape::Object(&ONLY_IN), "", "A tool runs only in one stage."),
    ],
    peers: &[],
};

pub(crate) static NEVER: Object = Object {
    name: "never",
    about: "A tool never runs unless another has succeeded.",
    keys: &[
        required("tool", Shape::Tool, "The tool that must wait."),
        required("before", Shape::Tool, "The tool that must have succeeded."),
    ],
    peers: &[],
};

pub(crate) static AT_MOST: Object = Object {
    name: "at_most",
    about: "A tool runs at most so often.",
    keys: &[
        required("tool", Shape::Tool, "The tool."),
        required("times", Shape::Whole(0, crate::table::limits::COUNT), "How often."),
    ],
    peers: &[],
};

pub(crate) static WITHIN: Object = Object {
    name: "within",
    about: "The run takes at most so many steps.",
    keys: &[
        required("steps", Shape::Whole(1, u32::MAX), "How many steps."),
        key("of", Shape::Words(&["run", "tree"]), "run", "Of the run alone, or of the run and all nested ones."),
    ],
    peers: &[],
};

pub(crate) static ONLY_IN: Object = Object {
    name: "only_in",
    about: "A tool runs only in one stage.",
    keys: &[required("tool", Shape::Tool, "The tool."), required("stage", Shape::Stage, "The stage.")],
    peers: &[],
};
