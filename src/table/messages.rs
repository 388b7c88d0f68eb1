//! Every text said to the model: a name, an English default, the names it may use. `messages:` replaces any of them.
//!
//! The defaults are stable: changing one is a visible change of snapshots. `docs/reference/texts.md` lists them.

/// One text said to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageText {
    /// Its name in `messages:`.
    pub name: &'static str,
    /// The English default, a minijinja template.
    pub default: &'static str,
    /// The names it may read, beside `task`, `facts`, `products`, `stage`, `run`.
    pub names: &'static [&'static str],
}

macro_rules! messages {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, [$($var:literal),*], $default:literal;)*) => {
        /// The texts by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Message { $($(#[$doc])* $variant),* }

        /// All texts, in the order of [`Message`].
        pub const MESSAGES: &[MessageText] = &[$(
            MessageText { name: $name, default: $default, names: &[$($var),*] }
        ),*];
    };
}

messages! {
    /// The system prompt when the table gives no `instructions`.
    Instructions, "instructions", ["workflow", "about"],
    "You work on the task in stages. Each stage has a goal, the tools it allows and a number of steps; one reply is one step. Call only tools that the current stage allows: any other call is not run. What you need to know about the current stage stands in the last stage message.";
    /// On entering a stage.
    StageEntered, "stage_entered", ["number", "of", "goal", "tools", "steps", "leave", "passed"],
    "Stage {{ number }} of {{ of }}: {{ stage.name }}.\n{% for p in passed %}Passed: {{ p.stage }} ({{ p.goal }})\n{% endfor %}Goal: {{ goal }}\nAllowed tools: {{ tools }}.\nSteps: {{ steps }}.\n{{ leave }}";
    /// How to leave the stage; part of `stage_entered` and of hints.
    Leave, "leave", ["final", "next", "answer", "advance", "call"],
    "{% if final %}{% if advance and not answer %}To finish, call advance with your answer as its summary, or answer in plain text without calling a tool.{% else %}To finish, answer in plain text without calling a tool.{% endif %}{% else %}To go on to {{ next }}, {% if answer %}write what you found in plain text without calling a tool{% endif %}{% if advance %}{% if answer %}, or {% endif %}call advance with a summary{% endif %}{% if call %}{% if answer or advance %}, or {% endif %}call a tool that {{ next }} allows{% endif %}.{% endif %}";
    /// A call of a tool that does not exist.
    RefusedUnknown, "refused_unknown", ["tool", "near", "allowed", "leave", "left"],
    "Not run: there is no tool {{ tool }}.{% if near %} Did you mean {{ near }}?{% endif %} Stage {{ stage.name }} allows: {{ allowed }}. {{ leave }} Steps left in this stage: {{ left }}.";
    /// A call of a tool that the stage does not allow.
    RefusedNotAllowed, "refused_not_allowed", ["tool", "hint", "allowed", "elsewhere", "reasons", "leave", "left"],
    "{% if hint %}{{ hint }}\n{% endif %}Not run: {{ tool }} is not allowed in stage {{ stage.name }}, which allows: {{ allowed }}.{% if elsewhere %} It is allowed in: {{ elsewhere }}.{% endif %} {{ leave }}{% if reasons %} Before that: {{ reasons }}{% endif %} Steps left in this stage: {{ left }}.";
    /// A call whose tool requires a fact that is missing.
    RefusedRequires, "refused_requires", ["tool", "reasons", "left"],
    "{{ reasons }}\nNot run: {{ tool }} needs that first. Steps left in this stage: {{ left }}.";
    /// A call that a rule denies.
    RefusedDeny, "refused_deny", ["tool", "reason", "left"],
    "{{ reason }}\nNot run: {{ tool }}. Steps left in this stage: {{ left }}.";
    /// A call beyond a limit of calls.
    RefusedMaxCalls, "refused_max_calls", ["tool", "scope", "limit", "leave"],
    "Not run: {% if scope == 'tool' %}{{ tool }} may be called {{ limit }} time{{ 's' if limit != 1 }} in a run, and that is used up{% elif scope == 'stage' %}stage {{ stage.name }} allows {{ limit }} call{{ 's' if limit != 1 }}, and they are used up{% else %}the run allows {{ limit }} call{{ 's' if limit != 1 }}, and they are used up{% endif %}. {{ leave }}";
    /// A call of a tool that is not proven while few steps are left.
    RefusedConservative, "refused_conservative", ["tool", "proven", "allowed", "left", "leave"],
    "Not run: few steps are left in stage {{ stage.name }}, so only {% if proven %}tools that have worked in this run{% else %}certain tools{% endif %} may still be called, and {{ tool }} is none of them. {{ leave }}";
    /// A call that was answered from memory before.
    RefusedRepeated, "refused_repeated", ["tool"],
    "Not run: this is the same call of {{ tool }} as before, and nothing has changed since. Its result stands above. Use it, or try something else.";
    /// A write that failed twice the same way.
    RefusedFailsTheSame, "refused_fails_the_same", ["tool"],
    "Not run: this same call of {{ tool }} failed twice in the same way, and nothing has changed since. Change the arguments, or try something else.";
    /// A write that stands in the same reply already.
    RefusedTwiceInReply, "refused_twice_in_reply", ["tool"],
    "Not run: the same call of {{ tool }} stands in this reply already.";
    /// A member of a circle of calls.
    RefusedCircle, "refused_circle", ["tool"],
    "Not run: these calls go round in a circle and bring the same results each time. Try something else, or go on with what you have.";
    /// One tool too often in a row.
    RefusedSameTool, "refused_same_tool", ["tool", "times"],
    "Not run: {{ tool }} was the only tool of the last {{ times }} replies. Take another branch: use another tool, or go on with what you have.";
    /// More calls in one reply than may run.
    RefusedCallsPerStep, "refused_calls_per_step", ["tool", "limit"],
    "Not run: at most {{ limit }} call{{ 's' if limit != 1 }} of one reply {{ 'are' if limit != 1 else 'is' }} run. Ask again in the next reply if you still need it.";
    /// A call withheld because another of the same reply would not run.
    RefusedWithheld, "refused_withheld", ["tool"],
    "Not run: the calls of one reply are run together or not at all, and another one of this reply was refused.";
    /// Arguments that cannot be used.
    RefusedMalformed, "refused_malformed", ["tool", "why"],
    "Not run: the arguments of {{ tool }} cannot be used: {{ why }}. Send one JSON object.";
    /// A call of a reply that was cut short.
    RefusedCut, "refused_cut", ["tool"],
    "Not run: your reply was cut short, so the call may be incomplete. Send it again, shorter.";
    /// A call after the end, or at the closing request.
    RefusedEnded, "refused_ended", ["tool"],
    "Not run: no more tools can be called. Answer in plain text.";
    /// A call that a person said no to.
    RefusedApproval, "refused_approval", ["tool"],
    "Not run: a person was asked about this call of {{ tool }} and said no. Do not try it again another way.";
    /// `advance` before the stage may be left.
    RefusedAdvance, "refused_advance", ["reasons", "left"],
    "{{ reasons }}\nStage {{ stage.name }} cannot be left before that. Steps left: {{ left }}.";
    /// The answer to `advance`.
    Advancing, "advancing", [],
    "Stage {{ stage.name }} is done.";
    /// What the control tool is for.
    AdvanceTool, "advance_tool", [],
    "Finish the current stage and go on to the next one. The summary is all that later stages are sure to see.";
    /// What its argument is for.
    AdvanceSummary, "advance_summary", [],
    "What this stage found, complete and short.";
    /// With a result from memory.
    HintKnown, "hint_known", ["tool"],
    "You already had this: it is the result of the same call of {{ tool }} made before, and nothing has changed since. Use it and go on.";
    /// Instead of a write whose answer was cut from view.
    HintAlreadyDone, "hint_already_done", ["tool"],
    "Already done: this very call of {{ tool }} was run before, and this is what it returned. It was not run again.";
    /// With a result that is the same as the last time.
    HintSameResult, "hint_same_result", ["tool"],
    "The same call of {{ tool }} brought the same result before. Calling it again will not bring more.";
    /// With the result of a member of a circle.
    HintCircle, "hint_circle", ["tool"],
    "You are going round in a circle: these calls bring the same results each time. Do something else, or go on with what you have.";
    /// With a result when the last ones brought nothing new.
    HintNothingNew, "hint_nothing_new", ["tool"],
    "The last calls brought nothing new. Use what you have, or try something different.";
    /// With an error when one tool keeps failing.
    HintKeepsFailing, "hint_keeps_failing", ["tool", "times"],
    "{{ tool }} failed {{ times }} times in a row. Try another way.";
    /// After an empty reply.
    NudgeSilent, "nudge_silent", ["allowed", "leave"],
    "Your reply was empty. Stage {{ stage.name }} allows: {{ allowed }}. {{ leave }}";
    /// After a text where nothing has been looked at yet.
    NudgeNothingYet, "nudge_nothing_yet", ["allowed", "leave"],
    "Nothing has been looked at yet in stage {{ stage.name }}, which allows: {{ allowed }}. Use the tools first. If there is nothing to look at, say so again and the stage is left.";
    /// After a text while the stage's requirements are missing.
    NudgeMissing, "nudge_missing", ["reasons", "allowed"],
    "{{ reasons }}\nStage {{ stage.name }} cannot be left before that. It allows: {{ allowed }}.";
    /// After a text that does not leave the stage.
    NudgeText, "nudge_text", ["allowed", "leave"],
    "A text does not leave stage {{ stage.name }}, which allows: {{ allowed }}. {{ leave }}";
    /// After a reply that was cut short.
    NudgeCut, "nudge_cut", [],
    "Your reply was cut short. Say it again, shorter.";
    /// Before a step when few are left.
    StepsLeft, "steps_left", ["left"],
    "Steps left in stage {{ stage.name }}: {{ left }}.";
    /// Before the last step of a stage.
    LastStep, "last_step", [],
    "This is the last step of stage {{ stage.name }}.";
    /// Before the request for the answer alone.
    Closing, "closing", ["reason"],
    "This is the last reply of the run{% if reason %} ({{ reason }}){% endif %}. No more tools can be called. Give your answer now in plain text, from what is known, and say what is missing.";
    /// After a rollback.
    RolledBack, "rolled_back", ["reason", "left", "writes"],
    "The run went back to the start of stage {{ stage.name }}: {{ reason }}. Steps left in this stage: {{ left }}.{% if writes %} What was changed meanwhile stands: {{ writes }}.{% endif %}";
    /// Why a rollback happened: forbidden calls.
    ReasonViolations, "reason_violations", [],
    "calls that are not allowed were made again and again";
    /// Why something happened: the same calls again and again.
    ReasonLoop, "reason_loop", [],
    "the same calls were made again and again";
    /// Why the run ended: a rule.
    ReasonRule, "reason_rule", ["rule"],
    "the rule {{ rule }} ended it";
    /// Why the run closes: steps.
    ReasonSteps, "reason_steps", [],
    "the steps are used up";
    /// Why the run closes: another limit.
    ReasonLimit, "reason_limit", ["limit"],
    "the limit of {{ limit }} is used up";
    /// Instead of a result that left the view.
    Forgotten, "forgotten", [],
    "(this result was removed from view)";
    /// The start of a retry with a fresh view.
    Fresh, "fresh", ["result"],
    "Start again, once.{% if result %} The last result was:\n{{ result }}{% endif %}";
    /// Between the head and the tail of a long result.
    ResultCut, "result_cut", ["cut", "chars"],
    "\n[… {{ cut }} of {{ chars }} characters left out …]\n";
    /// Instead of an empty result.
    ResultEmpty, "result_empty", [],
    "(empty result)";
    /// For a call that was never finished.
    NoResult, "no_result", [],
    "No result: whether the call took effect is not known.";
    /// For a call that was open when the run was cancelled.
    Cancelled, "cancelled", [],
    "Cancelled before it was finished: whether the call took effect is not known.";
    /// For a call nobody could be asked about.
    Unanswered, "unanswered", ["tool"],
    "Not run: nobody could be asked about this call of {{ tool }}.";
    /// For a nested run that was not opened before the run went on.
    NotOpened, "not_opened", ["tool"],
    "Not run: the run went on before {{ tool }} was started.";
    /// The answer when the model gives none: its head.
    Digest, "digest", ["reason"],
    "The run ended without an answer ({{ reason }}). What was done:";
    /// A call that would nest a function too deep.
    RefusedDepth, "refused_depth", ["tool", "limit", "left"],
    "Not run: {{ tool }} already runs {{ limit }} time{{ 's' if limit != 1 }} inside itself, which is the limit. You are inside it: do the work with the other tools. Steps left in this stage: {{ left }}.";
    /// A call that would come back to a function again and again.
    RefusedReentry, "refused_reentry", ["tool", "limit", "chain", "left"],
    "Not run: {{ tool }} may come {{ limit }} time{{ 's' if limit != 1 }} in a chain of calls with others between: {{ chain }}. Do the work with the other tools. Steps left in this stage: {{ left }}.";
    /// A nested run that too few steps are left for.
    RefusedGrant, "refused_grant", ["tool", "grant", "allowed", "leave", "left"],
    "Not run: {{ tool }} is a run of its own and needs at least 2 steps, and {{ grant }} can be given. {{ leave }} Steps left in this stage: {{ left }}.";
    /// A call that a run above objects to.
    RefusedAbove, "refused_above", ["tool", "reason", "limit", "left"],
    "{% if reason %}{{ reason }}\n{% endif %}Not run: {{ tool }}, {% if limit %}of which the run that this one is part of allows {{ limit }} call{{ 's' if limit != 1 }}, and they are used up{% else %}by the rules of the run that this one is part of{% endif %}. Steps left in this stage: {{ left }}.";
    /// Before each stage message of a nested run.
    NestedPrefix, "nested_prefix", ["tool", "tools", "description"],
    "You are INSIDE {{ tool }}: this task is one call of it. It may stand in your tool list, but do NOT call it for this task: calling it re-enters where you are now and causes infinite recursion.{% if tools %} Use the lower-level tools instead: {{ tools }}.{% else %} Do the work yourself.{% endif %}{% if description %}\nWhat {{ tool }} is for: {{ description }}{% endif %}";
    /// The result of a nested run that did not complete.
    NestedFailed, "nested_failed", ["tool", "outcome", "answer", "digest"],
    "{{ tool }} did not complete ({{ outcome }}).\n{{ answer }}{% if digest %}\nWhat was done:\n{{ digest }}{% endif %}";
}

impl Message {
    /// The text's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        MESSAGES.get(self as usize).map_or("", |m| m.name)
    }
}
