//! `toolreplay policy`: scope files checked, explained, made and enforced.

use crate::args::Common;
use crate::exit::Exit;
use clap::{Args, Subcommand};

mod written;
mod vendors;
mod check;
mod explain;
mod hook;
mod import;
mod suggest;

/// Check, explain, make and enforce scope files.
#[derive(Debug, Args)]
pub(crate) struct PolicyCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Validate scope files and run the tests in them
    Check(check::CheckArgs),
    /// Say which entry of a scope decides on a call, and why
    Explain(explain::ExplainArgs),
    /// Make a scope file of an agent's own permission file
    Import(import::ImportArgs),
    /// Make the narrowest sensible scope file that allows what recordings did
    Suggest(suggest::SuggestArgs),
    /// Answer an agent's hook before it calls a tool: allow or deny
    Hook(hook::HookArgs),
}

impl PolicyCommand {
    /// Runs it and returns the exit code.
    pub(crate) fn run(self, common: &Common) -> Exit {
        match self.command {
            Command::Check(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Import(args) => args.run(),
            Command::Suggest(args) => args.run(common),
            Command::Hook(args) => args.run(),
        }
    }
}
