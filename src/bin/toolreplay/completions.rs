//! `toolreplay completions`: scripts for shells.

use crate::args::CompletionsArgs;
use crate::cli::Cli;
use crate::exit::Exit;
use crate::output;

pub(crate) fn run(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::described(), "toolreplay", &mut script);
    output::print(&script)
}
