//! Why something is not proved, and what helps.

use super::below;
use super::overlap::MAX_SETS;
use super::property::Property;
use super::prove::Options;
use super::search::{Searched, Stop};
use crate::engine::tree;
use crate::table::StageTable;
use crate::table::model::{Guarantee, Spend};

/// Why a property that no run of the engine was found to break is not proved; `None`: it is.
pub fn open(table: &StageTable, property: Property, found: &Searched, options: &Options<'_>) -> Option<String> {
    if found.broken.iter().any(|v| v.property == property) {
        return Some(suspected(table, property));
    }
    match found.stopped {
        Some(Stop::States) => {
            let most = options.max_states;
            Some(format!("the search was stopped at {most} states; `--max-states` lets it see more"))
        }
        Some(Stop::Asked) => Some("the search was stopped before it had seen every state".to_owned()),
        Some(Stop::Found) | None => beside(table, property),
    }
}

/// The names of tools were not all tried.
pub fn names() -> String {
    format!(
        "the patterns of tools overlap in more than {MAX_SETS} ways, or are too long; name the tools, or use fewer `*`"
    )
}

/// What the exploration of the table itself may break, and no run of the engine was found to.
fn suspected(table: &StageTable, property: Property) -> String {
    let guarantee = match property {
        Property::Guarantee(at) => table.guarantees.get(at).map(|g| (at, g)),
        _ => None,
    };
    let nested = || table.tools.iter().filter_map(|tool| Some((tool.name.as_str(), tool.nested.as_ref()?)));
    if let Some((at, guarantee)) = guarantee
        && let Some((tool, _)) = nested().find(|(_, run)| below::calls(table, run).get(at).is_some_and(|n| *n > 0))
    {
        return match guarantee {
            Guarantee::Never { before, .. } => {
                format!(
                    "the nested run `{tool}` may call it, and nothing keeps `{tool}` until {} has succeeded",
                    before.as_str()
                )
            }
            Guarantee::AtMost { times, .. } => format!(
                "the nested run `{tool}` may call it too; `max_calls` of {times} in this table counts nested runs as well"
            ),
            _ => format!("the nested run `{tool}` may call it, and other stages allow `{tool}`"),
        };
    }
    "what is not told apart may break it, and no run of the engine was found that does".to_owned()
}

/// What is not explored with the table.
fn beside(table: &StageTable, property: Property) -> Option<String> {
    let Property::Guarantee(at) = property else { return None };
    let Some(Guarantee::Within { steps, tree: true }) = table.guarantees.get(at) else { return None };
    let own = |t: &crate::table::Model| t.tools.iter().filter_map(|t| t.nested.as_ref()).any(|n| n.spend == Spend::Own);
    let most = tree::ceiling(table);
    let exceeds = most > u64::from(*steps) && table.with_nested().any(own);
    exceeds.then(|| {
        format!(
            "nested runs with `spend: own` have steps of their own, {most} in all; lower their budgets or `max_calls`, or use `spend: parent`"
        )
    })
}
