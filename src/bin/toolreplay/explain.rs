//! `toolreplay explain`: the pages of the rules.

use crate::args::ExplainArgs;
use crate::exit::Outcome;
use crate::output;
use toolreplay::rules::{RULES, rule};

pub(crate) fn run(args: &ExplainArgs) -> Outcome {
    let text = match args.rule.as_deref().and_then(rule) {
        Some(rule) => rule.page.to_owned(),
        None => RULES.iter().map(|rule| format!("{:<22} {:<8} {}\n", rule.id, rule.level, rule.summary)).collect(),
    };
    output::print(text.as_bytes())
}
