//! `toolreplay trace`: record an agent's model requests, and show recordings.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use toolreplay::trace::show;

#[cfg(feature = "proxy")]
mod proxy;

/// Record an agent's model requests, and show recordings.
#[derive(Debug, Args)]
pub(crate) struct TraceCommand {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Stand between an agent and its model, and capture every model request.
    #[cfg(feature = "proxy")]
    Proxy(proxy::ProxyArgs),
    /// Show a capture file, or a folder of them.
    Show(ShowArgs),
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// A capture file, or a folder of capture files.
    path: PathBuf,
    /// How to show it.
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// One JSON document.
    Json,
    /// For a person; in colour on a terminal.
    Text,
}

impl TraceCommand {
    /// Runs it and returns the exit code.
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        match self.command {
            #[cfg(feature = "proxy")]
            Command::Proxy(args) => args.run(),
            Command::Show(args) => args.run(),
        }
    }
}

impl ShowArgs {
    fn run(self) -> anyhow::Result<u8> {
        let view = show::view(&self.path).with_context(|| format!("cannot read '{}'", self.path.display()))?;
        let text = match self.format {
            Format::Json => format!("{:#}\n", view.json()),
            Format::Text => view.text(wants_color()),
        };
        match std::io::stdout().write_all(text.as_bytes()) {
            // The reader has seen enough: `| head` is no error.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(0),
            written => written.context("cannot write").map(|()| 0),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "whether a terminal wants colour is said in the environment")]
fn wants_color() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
