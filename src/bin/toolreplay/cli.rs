//! The command line as a whole: every subcommand.

use crate::args::{
    AuditArgs, Common, CompletionsArgs, DiffArgs, ExplainArgs, FormatsArgs, ImportArgs, KeygenArgs, RedactArgs,
    ReplayArgs, SchemaArgs, ScopeArgs, SealAllArgs, SealArgs, StatsArgs, ToolsArgs, VerifyArgs, ViewArgs,
};
use crate::policy::PolicyCommand;
use crate::trace::TraceCommand;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  toolreplay audit transcripts/ --scope scope.json    audit a folder, as CI does
  toolreplay view session.jsonl --open                a page of one run, in the browser
  toolreplay replay session.jsonl                     one transcript against itself
  toolreplay scope session.jsonl scope.json           one transcript against a scope
  toolreplay seal session.jsonl -o session.sealed.jsonl
  toolreplay verify session.sealed.jsonl              has anybody edited it?
  toolreplay import session.jsonl -o transcript.jsonl  from what an agent records
  toolreplay explain redundant-call                   what a finding means

Exit codes:
  0  clean, or the chain is intact
  1  findings, or the chain is broken
  2  it could not run: usage, malformed input, missing file, nothing to audit";

/// Audits what an AI agent did from the recording of its tool calls. It never runs a tool.
#[derive(Debug, Parser)]
#[command(name = "toolreplay", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Commands in which options of every command would do nothing.
const USELESS: [(&str, &[&str]); 2] = [
    ("threads", &["redact", "formats", "keygen", "trace", "explain", "schema", "completions", "version"]),
    (
        "verbose",
        &[
            "seal",
            "import",
            "policy",
            "tools",
            "stats",
            "view",
            "diff",
            "redact",
            "formats",
            "keygen",
            "trace",
            "explain",
            "schema",
            "completions",
            "version",
        ],
    ),
];

impl Cli {
    /// The command line as a parser knows it. An option is not shown where it would do nothing.
    pub(crate) fn described() -> clap::Command {
        let mut command = Cli::command();
        let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
        for name in names {
            for (option, _) in USELESS.iter().filter(|(_, commands)| commands.contains(&name.as_str())) {
                let Some(hidden) = command.get_arguments().find(|one| one.get_id() == option).cloned() else {
                    continue;
                };
                // an option that a command has itself is not handed down to it
                command = command.mut_subcommand(&name, |one| one.arg(hidden.hide(true)));
            }
        }
        command
    }

    /// Reads the command line.
    pub(crate) fn read() -> Result<Cli, clap::Error> {
        let mut command = Cli::described();
        let matches = command.try_get_matches_from_mut(std::env::args_os())?;
        for (option, commands) in USELESS {
            let Some((name, own)) = matches.subcommand().filter(|(name, _)| commands.contains(name)) else { continue };
            let given = [&matches, own]
                .iter()
                .any(|matches| matches.value_source(option) == Some(clap::parser::ValueSource::CommandLine));
            if given {
                let what = format!("'--{option}' does nothing in '{name}'");
                return Err(command.error(clap::error::ErrorKind::UnknownArgument, what));
            }
        }
        Cli::from_arg_matches(&matches)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Audit files, folders and globs with every rule: the command for CI
    Audit(Box<AuditArgs>),
    /// Write recordings as a page to be looked at: what went wrong and where, every call, what was answered
    View(ViewArgs),
    /// Judge transcripts against themselves: changed answers and redundant calls
    Replay(ReplayArgs),
    /// Judge transcripts against a scope: calls outside what the agent was declared to be allowed
    Scope(ScopeArgs),
    /// Check, explain, make and enforce scope files
    Policy(PolicyCommand),
    /// Seal a transcript into a SHA-256 hash chain
    Seal(SealArgs),
    /// Turn the recordings of agents into a transcript
    Import(ImportArgs),
    /// Mask the secrets in a recording: equal ones stay equal, every other byte stays
    Redact(RedactArgs),
    /// List the formats that can be read besides transcripts
    Formats(FormatsArgs),
    /// Seal transcripts beside themselves: X.jsonl into X.sealed.jsonl, which is extended where X.jsonl only grew
    SealAll(SealAllArgs),
    /// Verify that nobody edited a sealed transcript, and who signed it
    Verify(VerifyArgs),
    /// Make a key that signs sealed transcripts
    Keygen(KeygenArgs),
    /// Record an agent's model requests, and show recordings
    Trace(TraceCommand),
    /// Count calls, failures, repeats, time and tokens of recordings, by tool, agent and session
    Stats(StatsArgs),
    /// Compare two runs call by call: the first difference, calls of one alone, calls that were answered differently
    Diff(DiffArgs),
    /// List the tools of recordings, what is assumed of each and why, and lines to paste for those nobody described
    Tools(ToolsArgs),
    /// Say what a rule means, why it matters and what to do
    Explain(ExplainArgs),
    /// Print a JSON Schema
    Schema(SchemaArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print the version
    Version,
}
