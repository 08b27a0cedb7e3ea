//! `toolreplay explain`: the pages of the rules.

use crate::args::ExplainArgs;
use crate::exit::Exit;
use crate::output;
use toolreplay::formats;
use toolreplay::rules::{NON_DETERMINISM, REDUNDANT_CALL, RULES, STUCK_LOOP, rule};
use toolreplay::tools::{DEFAULT_MUTATORS, VOLATILE};

pub(crate) fn run(args: &ExplainArgs) -> Exit {
    let text = match args.rule.as_deref().and_then(rule) {
        Some(rule) => format!("{}{}", rule.page, built_in(rule.id)),
        None => RULES.iter().map(|rule| format!("{:<22} {:<8} {}\n", rule.id, rule.level, rule.summary)).collect(),
    };
    output::print(text.as_bytes())
}

/// The lists that a rule judges by and that no page can keep.
fn built_in(rule: &str) -> String {
    if ![NON_DETERMINISM.id, REDUNDANT_CALL.id, STUCK_LOOP.id].contains(&rule) {
        return String::new();
    }
    let (servers, agents) = formats::built_in();
    let agents: String = agents.iter().map(|(agent, tools)| format!("- {agent}: {tools}\n")).collect();
    format!(
        "\n## Built in\n\nFields that take no part in comparisons, unless '[compare] defaults = false' says so: {}.\n\n\
         Mutators of transcripts: {}.\n\nServers whose tools are known: {}.\n\nAgents whose tools are known:\n\n{agents}",
        VOLATILE.join(", "),
        DEFAULT_MUTATORS.join(", "),
        servers.join(", "),
    )
}
