//! The `toolreplay` command.

mod trace;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Audits what an AI agent did, and records it.
#[derive(Debug, Parser)]
#[command(name = "toolreplay", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Record an agent's model requests, and show recordings.
    Trace(trace::TraceCommand),
    /// Print the version.
    Version,
}

fn main() -> ExitCode {
    // Usage errors exit with 2 and `error: …` on standard error, help with 0: clap does both.
    let cli = Cli::parse();
    let code = match cli.command {
        Command::Trace(command) => command.run(),
        Command::Version => {
            writeln!(std::io::stdout(), "toolreplay {}", env!("CARGO_PKG_VERSION")).map(|()| 0).map_err(Into::into)
        }
    };
    code.unwrap_or_else(|error| {
        // Nobody is left to tell when standard error is closed too.
        let _ = writeln!(std::io::stderr(), "error: {error:#}");
        2
    })
    .into()
}
