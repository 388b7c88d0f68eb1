//! The tree itself, in the order of the reference.

use super::{COUNT, GUARANTEE, GUARDS, Key, Object, STEPS, Shape};

pub(super) const fn key(name: &'static str, shape: Shape, default: &'static str, about: &'static str) -> Key {
    Key { name, shape, required: false, about, default }
}

pub(super) const fn required(name: &'static str, shape: Shape, about: &'static str) -> Key {
    Key { name, shape, required: true, about, default: "" }
}

const TEXTS_BY_FACT: Shape = Shape::Map("fact", &Shape::Template);
pub(super) const TOOLS: Shape = Shape::List(&Shape::Tool);
pub(super) const ONE_OR_MORE_TOOLS: Shape = Shape::Any(&[Shape::Tool, TOOLS]);
const LEAVE_BY: Shape = Shape::List(&Shape::Words(&["answer", "advance", "call"]));

pub(crate) static TABLE: Object = Object {
    name: "table",
    about: "A stage table: the stages a task moves through, the tools each allows and the steps it may spend.",
    keys: &[
        required("stagekeeper", Shape::Whole(1, 1), "The version of the format: 1."),
        required("workflow", Shape::Name, "The name of the workflow."),
        key("about", Shape::Text, "", "What the workflow is for, in a sentence; for people."),
        key(
            "instructions",
            Shape::Template,
            "a sensible one",
            "The system prompt. The same for the whole run; it may read `task`.",
        ),
        key(
            "tools",
            Shape::Map("tool", &Shape::Object(&TOOL)),
            "every tool is `stateful`",
            "The catalogue: what the engine should know of a tool. Keys may be patterns (`fs_*`). Once it has an entry, it must name or match every tool that the stages use.",
        ),
        key(
            "facts",
            Shape::Map("fact", &Shape::Object(&FACT)),
            "none",
            "Named values from the task, from tool results, from the user or from the host.",
        ),
        required("stages", Shape::Map("stage", &Shape::Object(&STAGE)), "The stages in the order they are passed."),
        key(
            "rules",
            Shape::List(&Shape::Object(&RULE)),
            "none",
            "Rules that hold in every stage. They are asked before a stage's own.",
        ),
        key("guards", Shape::Object(&GUARDS), "the defaults below", "The built-in watches over the loop."),
        key("finish", Shape::Object(&FINISH), "no markers", "Markers in texts that end the run."),
        key("limits", Shape::Object(&LIMITS), "the defaults below", "Limits of the whole run."),
        key(
            "messages",
            Shape::Map("message", &Shape::Any(&[Shape::Template, Shape::Object(&INCLUDE)])),
            "the English texts",
            "Texts said to the model, by name, each replaced by a template or by `{ from: FILE }` within the table's folder. `from: FILE` beside the names takes a whole set from a YAML file.",
        ),
        key(
            "guarantees",
            Shape::List(&Shape::Object(&GUARANTEE)),
            "none",
            "What `verify` has to prove beside what it proves for every table. They change nothing at run time.",
        ),
        key(
            "leave_by",
            LEAVE_BY,
            "[answer, advance]",
            "How a model may leave a stage: by a text without calls, by the control tool `advance`, by a call that only the next stage allows.",
        ),
        key(
            "conversation",
            Shape::Switch,
            "false",
            "Whether a text that does not leave the stage goes to the user, and the run waits for the answer.",
        ),
        key(
            "expose",
            Shape::Words(&["all", "stage"]),
            "all",
            "Which tools the model is offered: all of the table in every request, or only the stage's.",
        ),
        key(
            "batch",
            Shape::Words(&["partial", "atomic"]),
            "partial",
            "What happens to a reply with more calls than `calls_per_step`: the first run and the rest are refused, or none runs unless all would.",
        ),
    ],
    peers: &[
        ("name", "`workflow` is the name here"),
        ("description", "`about` says what the workflow is for"),
        ("system", "`instructions` is the system prompt here"),
        ("system_prompt", "`instructions` is the system prompt here"),
        ("steps", "the phases are called `stages` here, their budgets `max_steps`"),
        ("states", "the phases are called `stages` here"),
        ("nodes", "the phases are called `stages` here"),
        ("max_steps", "every stage has its own `max_steps`; the run's ceiling is their sum"),
        ("max_turns", "every stage has its own `max_steps`; the run's ceiling is their sum"),
        ("max_iterations", "every stage has its own `max_steps`; the run's ceiling is their sum"),
        ("recursion_limit", "every stage has its own `max_steps`; the run's ceiling is their sum"),
    ],
};

pub(crate) static TOOL: Object = Object {
    name: "tool",
    about: "What the engine should know of a tool.",
    keys: &[
        key(
            "effect",
            Shape::Words(&["read", "write", "poll", "stateful"]),
            "stateful",
            "What a call does: `read` changes nothing; `write` changes something outside; `poll` changes nothing and its answer is expected to change by itself; `stateful` is anything whose answer may change by itself, such as a shell.",
        ),
        key("max_calls", COUNT, "no limit", "The most calls of the tool in one run."),
        key("repeats", COUNT, "1, for `poll` 20", "So many identical calls may run, and no guard speaks within them."),
        key(
            "requires",
            TEXTS_BY_FACT,
            "nothing",
            "Facts that must be known before the tool is called, each with the text said when it is missing.",
        ),
        key("approval", Shape::Words(&["always", "never"]), "never", "Whether a person has to say yes to every call."),
        key(
            "ignore_args",
            Shape::List(&Shape::Text),
            "none",
            "Arguments that are mere presentation (`reason`, `label`): calls that differ only there are identical.",
        ),
        key(
            "mask",
            Shape::List(&Shape::Regex),
            "none",
            "What is masked before results are compared: `uuid`, `timestamp`, or regular expressions.",
        ),
        key(
            "max_chars",
            COUNT,
            "no limit",
            "Longer results are cut to so many characters: head and tail are kept, and the cut is marked.",
        ),
        key(
            "failed_when",
            Shape::Expression,
            "as the host says",
            "An expression over `result` that decides whether the call failed.",
        ),
        key("timeout", Shape::Duration, "the runner's", "How long one call may take."),
        key(
            "idempotent",
            Shape::Switch,
            "false",
            "Whether the same call twice does no more than once, so that a call of unknown outcome may be repeated.",
        ),
        key("aliases", Shape::List(&Shape::Name), "none", "Other names that models use for the tool."),
        key(
            "every",
            Shape::Duration,
            "the host does not repeat",
            "On `poll`, with `until`: the host repeats the call itself at this interval, at most `repeats` times; the model sees the last result, for one step.",
        ),
        key(
            "until",
            Shape::Expression,
            "",
            "On `poll`, with `every`: an expression over `result` that ends the repeating.",
        ),
        key(
            "commands",
            Shape::List(&Shape::Text),
            "none may run",
            "For a shell tool: the command lines that may run. A convenience, not a security boundary.",
        ),
        key(
            "workflow",
            Shape::Text,
            "not a nested run",
            "The file of the table whose run answers the call, beside this table or below it. It may be this very table.",
        ),
        key(
            "task",
            Shape::Template,
            "the argument `task`, else all arguments",
            "The task of the nested run. It may read `call.args`.",
        ),
        key(
            "spend",
            Shape::Words(&["parent", "own"]),
            "parent",
            "Whose steps the nested run spends: those left to the caller, or its own ceiling.",
        ),
    ],
    peers: &[
        ("timeout_ms", "`timeout` takes a duration such as `30s`"),
        ("limit", "`max_calls` is the most calls of a run"),
        ("readonly", "write `effect: read`"),
        ("read_only", "write `effect: read`"),
    ],
};

pub(crate) static FACT: Object = Object {
    name: "fact",
    about: "A named value from outside the model.",
    keys: &[
        required(
            "from",
            Shape::Words(&["task", "user", "result", "host"]),
            "Where the value comes from: the task, what the user says later, a tool's successful result, or the host.",
        ),
        key(
            "tool",
            ONE_OR_MORE_TOOLS,
            "",
            "With `from: result`, and required there: the tool or tools whose results are read.",
        ),
        key(
            "match",
            Shape::Regex,
            "the whole text",
            "A regular expression; the value is its first group, or the whole match.",
        ),
        key(
            "value",
            Shape::Expression,
            "",
            "An expression instead of `match`: over `result` with `from: result`, over `task` with `from: task`.",
        ),
        key("keep", Shape::Words(&["first", "last", "all"]), "last", "Which of several values is kept."),
        key("cleared_by", TOOLS, "nothing", "Tools whose successful call unsets the fact."),
    ],
    peers: &[
        ("regex", "`match` takes the regular expression"),
        ("pattern", "`match` takes the regular expression"),
        ("source", "`from` says where the value comes from"),
    ],
};

pub(crate) static STAGE: Object = Object {
    name: "stage",
    about: "A phase of the task.",
    keys: &[
        required("goal", Shape::Template, "What the model is to reach in this stage, said to it on entering."),
        required(
            "allowed_tools",
            Shape::Any(&[Shape::Words(&["all"]), TOOLS]),
            "The tools of the stage: names or patterns, or the word `all`; `[]` means none.",
        ),
        key(
            "max_steps",
            STEPS,
            "computed from `expected_steps`",
            "The stage's budget: model replies charged to it. Either this or `expected_steps` is required.",
        ),
        key(
            "expected_steps",
            STEPS,
            "",
            "Instead of `max_steps`: the budget becomes this times `limits.headroom`, rounded up.",
        ),
        key("max_calls", COUNT, "no limit", "The most tool calls that run in the stage."),
        key(
            "requires",
            TEXTS_BY_FACT,
            "nothing",
            "Facts that must be known before the stage is left towards `next`, each with the text said when it is missing.",
        ),
        key(
            "next",
            Shape::Any(&[Shape::Words(&["end", "back"]), Shape::Stage]),
            "the next stage of the file that is no aside; `end` after the last",
            "Where the stage leads: a stage, `end`, or `back` in an aside (to where it was entered from).",
        ),
        key(
            "on_exhausted",
            Shape::Any(&[Shape::Words(&["next", "end", "retry_fresh"]), Shape::Stage]),
            "`next`, and with `requires` `end`",
            "What happens when the budget is spent: on to `next`, close the run, one more step with a fresh view, or go to a stage.",
        ),
        key("leave_by", LEAVE_BY, "the table's", "How the model may leave this stage."),
        key(
            "conversation",
            Shape::Switch,
            "the table's",
            "Whether a text that does not leave this stage goes to the user.",
        ),
        key("aside", Shape::Switch, "false", "A stage off the default path, entered by name only."),
        key(
            "approval",
            Shape::Words(&["always", "never"]),
            "never",
            "Whether a person admits the run to the stage, seeing the products so far; a no leads to its `next`.",
        ),
        key(
            "hints",
            Shape::Map("tool", &Shape::Template),
            "none",
            "What to say when the model calls a tool that this stage does not allow.",
        ),
        key("rules", Shape::List(&Shape::Object(&RULE)), "none", "Rules of this stage."),
        key("guards", Shape::Object(&GUARDS), "the table's", "Changes to the table's guards, key by key."),
        key("model", Shape::Text, "the run's", "The alias of the model that works on this stage."),
    ],
    peers: &[
        ("tools", "`allowed_tools` lists the tools of a stage"),
        ("allow", "`allowed_tools` lists the tools of a stage"),
        ("max_turns", "`max_steps` is the stage's budget"),
        ("max_iterations", "`max_steps` is the stage's budget"),
        ("recursion_limit", "`max_steps` is the stage's budget"),
        ("steps", "`max_steps` is the stage's budget"),
        ("budget", "`max_steps` is the stage's budget"),
        ("prompt", "`goal` is what the model is told on entering"),
        ("description", "`goal` is what the model is told on entering"),
        ("about", "`goal` is what the model is told on entering"),
    ],
};

pub(crate) static RULE: Object = Object {
    name: "rule",
    about: "A declared `at`, `when` and one action.",
    keys: &[
        key("name", Shape::Name, "`rule-N`, by its place", "The rule's name in stories, traces and explanations."),
        required(
            "at",
            Shape::Words(&["call", "result", "reply", "step"]),
            "When it looks: at a call that the stage allows, after a call ran, after a reply is charged, or before the model is asked.",
        ),
        key("tool", ONE_OR_MORE_TOOLS, "every tool", "With `at: call` or `at: result`: the tools it is about."),
        key("when", Shape::Expression, "always", "The condition."),
        key("deny", Shape::Template, "", "With `at: call`: refuse the call and say this."),
        key("ask", Shape::Template, "", "With `at: call`: ask a person this before the call runs."),
        key("goto", Shape::Stage, "", "With `at: result` or `at: reply`: go to a stage."),
        key(
            "set",
            Shape::Map("fact", &Shape::Expression),
            "",
            "With `at: result`: set facts to the values of expressions.",
        ),
        key(
            "extend",
            Shape::Object(&EXTEND),
            "",
            "Widen a stage's budget, once per rule; counted in the ceiling. Not with `at: call`.",
        ),
        key("end", Shape::Words(&["completed", "failed"]), "", "With `at: result` or `at: reply`: end the run."),
        key(
            "forget",
            Shape::Whole(0, crate::table::limits::COUNT),
            "",
            "With `at: result` or `at: step`: all but the last N results leave the view.",
        ),
        key("hint", Shape::Template, "", "What the model is told beside the action. A rule may have a hint alone."),
    ],
    peers: &[
        ("if", "`when` is the condition"),
        ("condition", "`when` is the condition"),
        ("on", "`at` says when the rule looks"),
        ("tools", "`tool` takes a name, a pattern or a list"),
        ("then", "write the action itself as a key: `deny`, `ask`, `goto`, `set`, `extend`, `end` or `forget`"),
        ("action", "write the action itself as a key: `deny`, `ask`, `goto`, `set`, `extend`, `end` or `forget`"),
    ],
};

pub(crate) static EXTEND: Object = Object {
    name: "extend",
    about: "A wider budget, given once.",
    keys: &[
        required("stage", Shape::Stage, "The stage whose budget is widened."),
        required("steps", STEPS, "By how many steps."),
    ],
    peers: &[],
};

pub(crate) static FINISH: Object = Object {
    name: "finish",
    about: "Markers in texts that end the run. Each stands at the start of a line, outside quoted and fenced blocks.",
    keys: &[
        key("success", Shape::List(&Shape::Text), "none", "When all of them have been said, the run is completed."),
        key("failure", Shape::List(&Shape::Text), "none", "When any of them is said, the run has failed."),
        key("window", COUNT, "3", "The last so many texts without calls are looked at."),
    ],
    peers: &[],
};

pub(crate) static LIMITS: Object = Object {
    name: "limits",
    about: "Limits of the whole run.",
    keys: &[
        key("headroom", Shape::Decimal(1, 100), "1.2", "What `expected_steps` is multiplied by."),
        key("calls_per_step", COUNT, "8", "The most calls of one reply that run."),
        key("max_calls", COUNT, "no limit", "The most tool calls of the run."),
        key("max_tokens", Shape::Whole(1, u32::MAX), "no limit", "The most tokens, read and written together."),
        key(
            "max_cost",
            Shape::Decimal(0, 1_000_000_000),
            "no limit",
            "The most the run may cost, in the unit that the provider reports.",
        ),
        key("max_time", Shape::Duration, "no limit", "How long the run may take."),
        key("waiting_counts", Shape::Switch, "false", "Whether the time a person takes to answer counts."),
        key("user_turns", COUNT, "20", "The most messages of the user in one run."),
        key("depth", COUNT, "5", "The most nested runs of one name inside one another."),
        key(
            "reentry",
            Shape::Whole(0, crate::table::limits::COUNT),
            "2",
            "How often a name may stand in the chain with another between.",
        ),
    ],
    peers: &[
        ("max_steps", "every stage has its own `max_steps`; the run's ceiling is their sum"),
        ("max_turns", "every stage has its own `max_steps`; the run's ceiling is their sum"),
        ("max_iterations", "every stage has its own `max_steps`; the run's ceiling is their sum"),
        ("recursion_limit", "every stage has its own `max_steps`; the run's ceiling is their sum"),
        ("timeout", "`max_time` limits the run"),
    ],
};

pub(crate) static INCLUDE: Object = Object {
    name: "include",
    about: "A text kept in a file of its own.",
    keys: &[required("from", Shape::Text, "The file, within the table's folder.")],
    peers: &[("file", "`from` names the file")],
};
