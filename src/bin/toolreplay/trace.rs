//! `toolreplay trace`: record an agent's model requests, and show recordings.

use crate::args::Common;
use crate::exit::{self, Exit};
use crate::output;
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::path::PathBuf;
use toolreplay::sanitize::InertJson;
use toolreplay::trace::show;

#[cfg(feature = "proxy")]
mod proxy;
mod run;

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
    /// Run a Python function once, and record its model requests and tool executions.
    Run(run::RunArgs),
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
    pub(crate) fn run(self, common: &Common) -> Exit {
        match self.command {
            #[cfg(feature = "proxy")]
            Command::Proxy(args) => args.run(),
            Command::Run(args) => args.run(),
            Command::Show(args) => args.run(common),
        }
    }
}

impl ShowArgs {
    fn run(self, common: &Common) -> Exit {
        let view = show::view(&self.path).with_context(|| format!("cannot read '{}'", self.path.display()))?;
        output::to_stdout(|out| match self.format {
            Format::Json => {
                let formatter = InertJson(PrettyFormatter::new());
                view.serialize(&mut Serializer::with_formatter(&mut *out, formatter))?;
                out.write_all(b"\n")
            }
            Format::Text => out.write_all(view.text(output::color(common.color, &std::io::stdout())).as_bytes()),
        })?;
        if !view.is_whole() {
            bail!(
                "not all of '{}' can be read; the view names what is missing under 'unreadable'",
                self.path.display()
            );
        }
        Ok(exit::CLEAN)
    }
}
