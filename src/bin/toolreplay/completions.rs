//! `toolreplay completions`: scripts for shells.

use crate::args::{Cli, CompletionsArgs};
use crate::exit::Outcome;
use crate::output;
use clap::CommandFactory as _;

pub(crate) fn run(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "toolreplay", &mut script);
    output::print(&script)
}
