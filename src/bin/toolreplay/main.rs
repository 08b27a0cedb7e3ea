//! The `toolreplay` command: reads the command line, runs one subcommand, turns its outcome into an exit code.

mod exit;
mod closed;
mod interrupt;
mod inputs;
mod args;
mod output;
mod sources;
mod guard;
mod configuration;
mod progress;
mod git;
mod blob;
mod base;
mod checkout;
mod touched;
mod changes;
mod recordings;
mod unread;
mod leave_out;
mod attest;
mod signing;
mod replay;
mod scope;
mod calls;
mod audit;
mod view;
mod import;
mod seal;
mod seal_all;
mod verify;
mod keygen;
mod redact;
mod formats;
mod tools;
mod sessions;
mod stats;
mod diff;
mod explain;
mod schema;
mod policy;
mod trace;
mod cli;
mod completions;

use cli::{Cli, Command};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => return exit::code(output::usage(&error)),
    };
    let common = cli.common;
    exit::speak(output::color(common.color, &std::io::stderr()), common.quiet);
    let outcome = match cli.command {
        Command::Audit(args) => audit::run(*args, &common),
        Command::View(args) => view::run(args, &common),
        Command::Replay(args) => replay::run(args, &common),
        Command::Scope(args) => scope::run(args, &common),
        Command::Seal(args) => seal::run(&args, &common),
        Command::Redact(args) => redact::run(&args),
        Command::Import(args) => import::run(&args, &common),
        Command::Formats(args) => formats::run(&args),
        Command::SealAll(args) => seal_all::run(&args, &common),
        Command::Verify(args) => verify::run(args, &common),
        Command::Keygen(args) => keygen::run(&args),
        Command::Policy(args) => args.run(&common),
        Command::Trace(args) => args.run(&common),
        Command::Diff(args) => diff::run(&args, &common),
        Command::Stats(args) => stats::run(&args, &common),
        Command::Tools(args) => tools::run(&args, &common),
        Command::Explain(args) => explain::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Version => output::print(concat!("toolreplay ", env!("CARGO_PKG_VERSION"), "\n").as_bytes()),
    };
    exit::code(outcome)
}
