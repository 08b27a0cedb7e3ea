//! `toolreplay completions`: scripts for shells.

use crate::args::{Cli, CompletionsArgs};
use crate::exit::Outcome;
use crate::output;

pub(crate) fn run(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::described(), "toolreplay", &mut script);
    output::print(&script)
}
