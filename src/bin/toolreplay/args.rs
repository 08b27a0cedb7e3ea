//! Every option of the command line.

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{ArgAction, Args, ValueEnum};
use std::path::PathBuf;
use toolreplay::finding::Level;
use toolreplay::formats::{Agents, FORMATS, From as FormatName, Options};
use toolreplay::limits::{Budget, Limits};
use toolreplay::report::Format;
use toolreplay::tools::Pointer;
use toolreplay::{rules, schema};

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// When to colour text for a terminal
    #[arg(long, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN")]
    pub(crate) color: When,

    /// Say nothing but the findings and errors; the exit code stays
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Say more: every file, what each was taken for and why, and all rows of tables
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    /// Threads to use; the outcome does not depend on it [default: the number of processors, at most 8]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) threads: Option<u16>,
}

impl Common {
    /// The number of threads to use.
    pub(crate) fn threads(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, |count| count.get().min(8));
        self.threads.map_or_else(processors, usize::from)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless NO_COLOR is set; CLICOLOR_FORCE colours everywhere
    Auto,
    Always,
    Never,
}

#[derive(Debug, Default, Args)]
pub(crate) struct AuditArgs {
    /// Files, folders (searched by the names that recordings have, hidden ones left out) and globs; '-' is standard
    /// input. Transcripts, sealed ones (which are verified) and the formats that 'toolreplay formats' lists are told
    /// apart by their content
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Scope file: the tools that the agent may call
    #[arg(long, value_name = "FILE")]
    pub(crate) scope: Option<PathBuf>,

    /// Compare with this revision, through git: sealed transcripts may only grow, and the scope file and the
    /// configuration are read from it
    #[arg(long, value_name = "REV", allow_hyphen_values = true)]
    pub(crate) base: Option<String>,

    #[command(flatten)]
    pub(crate) signing: Signing,

    /// Read the scope file, the configuration and the trusted keys from this revision instead of the base: the tip of the
    /// branch that a change goes to, where the base is the commit in which it left
    #[arg(long, value_name = "REV", allow_hyphen_values = true, requires = "base")]
    pub(crate) policy_base: Option<String>,

    /// Judge only recordings that are new or were changed since the base; the others are counted, and held against the base
    /// all the same
    #[arg(long, requires = "base", conflicts_with_all = ["baseline", "write_baseline"])]
    pub(crate) changed_only: bool,

    /// Judge no calls: verify sealed transcripts, hold them against their transcripts and, with --base, against REV
    #[arg(long)]
    pub(crate) seals_only: bool,

    #[command(flatten)]
    pub(crate) mutators: Mutators,

    #[command(flatten)]
    pub(crate) importing: Importing,

    /// Leave files and folders out of the search of folders: a glob over paths from the root of the repository, or over
    /// names where it has no '/'; repeatable. Files that are named are read all the same
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,

    /// Read what git ignores too, where the whole repository is searched; with --base or --strict that is so anyhow
    #[arg(long)]
    pub(crate) no_gitignore: bool,

    /// List the files that would be read, and on standard error those that are left out and why; nothing is audited
    #[arg(long)]
    pub(crate) show_files: bool,

    /// Judge by these rules alone, or by patterns of theirs such as dangerous-call/force-push; repeatable, or with commas
    /// between. Rules about broken evidence stay on
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,

    /// Turn these rules off, or patterns of theirs; repeatable, or with commas between
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,

    /// Lowest level that makes the exit code 1 [default: warning]
    #[arg(long, value_name = "LEVEL", value_parser = level_parser())]
    pub(crate) fail_on: Option<Level>,

    /// Lowest level that is shown; what is not shown counts all the same [default: note]
    #[arg(long, value_name = "LEVEL", value_parser = level_parser())]
    pub(crate) min_level: Option<Level>,

    /// Let a run pass that found nothing to audit
    #[arg(long)]
    pub(crate) allow_empty: bool,

    /// What looks like a recording and was not read is an error, not a warning; what is passed over in folders, since it
    /// holds no recording, is named
    #[arg(long)]
    pub(crate) strict: bool,

    /// Findings that this file knows count, but do not fail the run; a run that covers less than it says fails
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Write what is found and covered to this file; with --baseline, what of it still stands
    #[arg(long, value_name = "FILE")]
    pub(crate) write_baseline: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) configuration: Configuration,

    /// Count the findings by rule, tool and file in the text report, in place of showing them
    #[arg(long)]
    pub(crate) statistics: bool,

    /// The address of the repository's files in this revision, such as https://github.com/OWNER/NAME/blob/COMMIT: places in
    /// the Markdown report become links to it
    #[arg(long, value_name = "URL", value_parser = source_url)]
    pub(crate) source_url: Option<String>,

    #[command(flatten)]
    pub(crate) reports: Reports,
}

/// Which configuration file is read.
#[derive(Debug, Default, Args)]
pub(crate) struct Configuration {
    /// Configuration file [default: toolreplay.toml, from the working directory up to the root of the repository]
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config: Option<PathBuf>,

    /// Read no configuration file
    #[arg(long)]
    pub(crate) no_config: bool,
}

/// What is shown on a page, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// Recordings in any format, transcripts, sealed ones, folders of them and globs
    #[arg(value_name = "RECORDING", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Write the page to this file, '-' for standard output [default: the recording's name with .html, in the working
    /// directory, where nothing but a page of toolreplay is replaced]
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,

    /// Show the page in the browser
    #[arg(long)]
    pub(crate) open: bool,

    /// Show secrets as they were recorded
    #[arg(long)]
    pub(crate) unmasked: bool,

    /// Scope file: the tools that the agent may call
    #[arg(long, value_name = "FILE")]
    pub(crate) scope: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) mutators: Mutators,

    #[command(flatten)]
    pub(crate) importing: Importing,

    #[command(flatten)]
    pub(crate) configuration: Configuration,
}

/// An address that links may begin with.
fn source_url(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/%@+".contains(&byte);
    let starts = text.starts_with("https://") || text.starts_with("http://");
    match starts && text.bytes().all(plain) {
        true => Ok(text.trim_end_matches('/').to_owned()),
        false => Err("expected an address such as https://github.com/OWNER/NAME/blob/COMMIT".to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Transcripts, or recordings that 'toolreplay formats' lists; '-' is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) mutators: Mutators,

    #[command(flatten)]
    pub(crate) importing: Importing,

    #[command(flatten)]
    pub(crate) reports: Reports,
}

#[derive(Debug, Args)]
pub(crate) struct ScopeArgs {
    /// Transcripts; '-' is standard input
    #[arg(value_name = "TRANSCRIPT", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Scope file: {"agent": "docs-reader", "allowed_tools": ["read_file", "list_dir"]}
    #[arg(value_name = "SCOPE", required = true)]
    pub(crate) scope: PathBuf,

    #[command(flatten)]
    pub(crate) importing: Importing,

    #[command(flatten)]
    pub(crate) reports: Reports,
}

#[derive(Debug, Args)]
pub(crate) struct SealArgs {
    /// Transcript, or a recording that 'toolreplay formats' lists; '-' is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) importing: Importing,

    /// Write the sealed transcript here, whole or not at all [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,

    /// Go on from this sealed transcript: the first link's prev is its last digest
    #[arg(long, value_name = "OLD")]
    pub(crate) continues: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) sign: Sign,
}

/// Who signs what is sealed.
#[derive(Debug, Args)]
pub(crate) struct Sign {
    /// Sign the sealed file with this private key, which keygen or ssh-keygen wrote; repeatable
    ///
    /// Without it, the key in the environment variable TOOLREPLAY_KEY signs, if there is one. A key of keygen writes PATH.note, one
    /// of ssh-keygen PATH.sig; the signatures of others over the same content stay.
    #[arg(long = "sign", value_name = "KEYFILE")]
    pub(crate) keys: Vec<PathBuf>,

    /// Say in the signature that the recording goes on
    #[arg(long)]
    pub(crate) open: bool,
}

/// Whose signatures count.
#[derive(Debug, Default, Args)]
pub(crate) struct Signing {
    /// File of the keys whose signatures on sealed transcripts count: lines that keygen wrote, or of OpenSSH's
    /// allowed_signers
    #[arg(long, value_name = "FILE")]
    pub(crate) trust: Option<PathBuf>,

    /// Demand of every sealed transcript that a trusted key signed it
    #[arg(long)]
    pub(crate) require_signature: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KeygenArgs {
    /// NAME.key, the private key, and NAME.pub, a line for a file of trusted keys, are written; neither may be there
    #[arg(value_name = "NAME")]
    pub(crate) name: PathBuf,

    /// The key's own name, such as example.org/ci [default: the last part of NAME]
    #[arg(long, value_name = "NAME")]
    pub(crate) key_name: Option<String>,

    /// Write an OpenSSH key, for ssh-keygen, and a line of allowed_signers
    #[arg(long)]
    pub(crate) ssh: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RedactArgs {
    /// Recording of any format that is text, or a transcript that is not sealed; '-' is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Write the redacted recording here, whole or not at all; '-' is standard output
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: PathBuf,

    /// A field whose value is masked wherever it stands; repeatable
    #[arg(long = "redact-field", value_name = "NAME")]
    pub(crate) redact_fields: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Recordings of one session, or folders of them; '-' is standard input. What several of them repeat becomes one record
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Write the transcript here, whole or not at all [default: standard output]
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) importing: Importing,

    /// Which agents' calls become records: all by time, the main agent's alone, or a transcript for each agent and
    /// conversation beside the output
    #[arg(long, value_enum, default_value_t = AgentsArg::Merged, value_name = "WHICH")]
    pub(crate) agents: AgentsArg,

    /// Write where each record came from, every warning and the books to this file, as JSON
    #[arg(long, value_name = "PATH")]
    pub(crate) report_losses: Option<PathBuf>,

    /// Read results that are JSON texts as what they say, instead of keeping the text
    #[arg(long)]
    pub(crate) parse_json_results: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentsArg {
    Merged,
    Main,
    Separate,
}

impl From<AgentsArg> for Agents {
    fn from(agents: AgentsArg) -> Agents {
        match agents {
            AgentsArg::Merged => Agents::Merged,
            AgentsArg::Main => Agents::Main,
            AgentsArg::Separate => Agents::Separate,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct FormatsArgs {
    /// The format's id; without one, all formats are listed
    #[arg(value_name = "FORMAT", value_parser = PossibleValuesParser::new(FORMATS.iter().map(|importer| importer.id)))]
    pub(crate) format: Option<String>,
}

/// How recordings in other formats are read.
#[derive(Debug, Default, Clone, Copy, Args)]
pub(crate) struct Importing {
    /// Read the files in this format ('native' is that of transcripts) instead of telling it by their content
    #[arg(long = "from", value_name = "FORMAT", value_parser = from_parser(), hide_possible_values = true)]
    pub(crate) from: Option<FormatName>,

    /// Let recordings pass of which lines could not be read, or results have no call
    #[arg(long)]
    pub(crate) allow_loss: bool,

    #[command(flatten)]
    pub(crate) lines: LineBound,

    /// The longest JSON document that is read, such as 100M [default and most: 640M]
    #[arg(long, value_name = "SIZE", value_parser = text_size, help_heading = "Limits")]
    pub(crate) max_document: Option<u64>,

    /// How much all compressed files together may unpack to, such as 500M [default: 4G]
    #[arg(long, value_name = "SIZE", value_parser = size, help_heading = "Limits")]
    pub(crate) max_unpacked: Option<u64>,
}

impl Importing {
    /// Options with a budget of their own, of which nothing is used.
    pub(crate) fn options(self) -> Options {
        Options { from: self.from, allow_loss: self.allow_loss, budget: self.budget(), ..Options::default() }
    }

    fn budget(self) -> Budget {
        let limits = self.lines.limits();
        Budget::new(Limits {
            document: self.max_document.unwrap_or(limits.document),
            unpacked: self.max_unpacked.unwrap_or(limits.unpacked),
            ..limits
        })
    }
}

/// How long lines may be.
#[derive(Debug, Default, Clone, Copy, Args)]
pub(crate) struct LineBound {
    /// The longest line that is read, such as 100M [default and most: 640M]
    #[arg(long, value_name = "SIZE", value_parser = text_size, help_heading = "Limits")]
    pub(crate) max_line: Option<u64>,
}

impl LineBound {
    fn limits(self) -> Limits {
        let limits = Limits::default();
        Limits { line: self.max_line.unwrap_or(limits.line), ..limits }
    }

    /// A budget of which nothing is used.
    pub(crate) fn budget(self) -> Budget {
        Budget::new(self.limits())
    }
}

/// A number of bytes.
fn size(text: &str) -> Result<u64, String> {
    Limits::size(text).map_err(str::to_owned)
}

/// A number of bytes that one text can have.
fn text_size(text: &str) -> Result<u64, String> {
    let most = Limits::default().line;
    match size(text)? {
        size if size > most => Err(format!("at most {}M can be read at once", most >> 20)),
        size => Ok(size),
    }
}

fn from_parser() -> impl clap::builder::TypedValueParser<Value = FormatName> {
    let known = ["native"].into_iter().chain(FORMATS.iter().map(|importer| importer.id));
    PossibleValuesParser::new(known).try_map(|id| FormatName::named(&id).ok_or("no such format"))
}

/// Reads `FORMAT` or `FORMAT=PATH`; a shell completes the format.
#[derive(Debug, Clone, Copy)]
struct ReportParser;

impl clap::builder::TypedValueParser for ReportParser {
    type Value = ReportTarget;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<ReportTarget, clap::Error> {
        clap::builder::StringValueParser::new()
            .try_map(|text| ReportTarget::parse(&text))
            .parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = clap::builder::PossibleValue> + '_>> {
        Some(Box::new(Format::ALL.into_iter().map(|format| clap::builder::PossibleValue::new(format.name()))))
    }
}

/// Which transcripts are sealed.
#[derive(Debug, Args)]
pub(crate) struct SealAllArgs {
    /// Transcripts, recordings in the formats that 'toolreplay formats' lists, folders (searched by the names that
    /// recordings have, hidden and sealed ones left out) and globs
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// Write the sealed transcripts into this folder instead
    #[arg(long, value_name = "FOLDER")]
    pub(crate) into: Option<PathBuf>,

    /// Let a run pass that found nothing to seal
    #[arg(long)]
    pub(crate) allow_empty: bool,

    #[command(flatten)]
    pub(crate) importing: Importing,

    #[command(flatten)]
    pub(crate) sign: Sign,

    #[command(flatten)]
    pub(crate) reports: Reports,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// Sealed transcripts; '-' is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Demand that this older sealed transcript is the beginning of FILE, link for link
    #[arg(long, value_name = "OLD")]
    pub(crate) extends: Option<PathBuf>,

    /// Verify that FILE goes on from this sealed transcript, and that one from the one named before it; repeatable, the
    /// oldest first
    #[arg(long, value_name = "OLD")]
    pub(crate) continues: Vec<PathBuf>,

    /// Demand that the last digest of FILE is this one: shows whether the tail was cut off
    #[arg(long, value_name = "DIGEST", value_parser = digest_parser)]
    pub(crate) expect: Option<String>,

    #[command(flatten)]
    pub(crate) lines: LineBound,

    #[command(flatten)]
    pub(crate) signing: Signing,

    #[command(flatten)]
    pub(crate) reports: Reports,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// Recordings and transcripts, and folders of them
    #[arg(value_name = "RECORDING", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// The configuration whose '[tools]' are taken in [default: toolreplay.toml in the working directory, if it is there]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) mutators: Mutators,

    #[command(flatten)]
    pub(crate) importing: Importing,
}

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Recordings of any format, transcripts, folders of them and globs; '-' is standard input
    #[arg(value_name = "RECORDING", required = true)]
    pub(crate) paths: Vec<PathBuf>,

    /// A table, or JSON that 'toolreplay schema stats' describes
    #[arg(long, value_enum, default_value_t = TableFormat::Text, value_name = "FORMAT")]
    pub(crate) format: TableFormat,

    /// Write to a file instead, whole or not at all
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,

    /// Let a run pass that found not a single call
    #[arg(long)]
    pub(crate) allow_empty: bool,

    #[command(flatten)]
    pub(crate) configuration: Configuration,

    #[command(flatten)]
    pub(crate) mutators: Mutators,

    #[command(flatten)]
    pub(crate) importing: Importing,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A recording of any format, or the folder of one session; '-' is standard input
    #[arg(value_name = "A")]
    pub(crate) a: PathBuf,

    /// The recording to compare it with; its format may be another one
    #[arg(value_name = "B")]
    pub(crate) b: PathBuf,

    /// A field that makes no difference, in arguments and answers of every tool, as a JSON Pointer such as /took or /**/id;
    /// repeatable. What '[tools]' and '[compare]' in the configuration say is left out as well
    #[arg(long, value_name = "POINTER", value_parser = pointer_parser)]
    pub(crate) ignore: Vec<Pointer>,

    /// Text, JSON that 'toolreplay schema diff' describes, or a page
    #[arg(long, value_enum, default_value_t = DiffFormatArg::Text, value_name = "FORMAT")]
    pub(crate) format: DiffFormatArg,

    /// Write to a file instead, whole or not at all
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) configuration: Configuration,

    #[command(flatten)]
    pub(crate) mutators: Mutators,

    #[command(flatten)]
    pub(crate) importing: Importing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormatArg {
    Text,
    Json,
    Html,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    Text,
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The rule's id; without one, all rules are listed
    #[arg(value_name = "RULE", value_parser = PossibleValuesParser::new(rules::RULES.map(|rule| rule.id)))]
    pub(crate) rule: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// What the schema describes
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(schema::NAMES))]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Which tools change state.
#[derive(Debug, Default, Args)]
pub(crate) struct Mutators {
    /// Tool that changes state, besides write_file, delete_file, create_file, move_file and run_command; repeatable
    #[arg(long = "mutator", value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// Which reports are written where.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Reports")]
pub(crate) struct Reports {
    /// Report to write, to standard output or a file; repeatable
    ///
    /// FORMAT is one of text, concise (one line a finding), json, junit, sarif, github, markdown, gitlab, outputs (name=value lines), attestation (an
    /// in-toto predicate), subjects (the digests of the files it is about) and html (a page to be looked at). Where no other
    /// report goes to standard output, text does.
    #[arg(long = "report", value_name = "FORMAT[=PATH]", value_parser = ReportParser, hide_possible_values = true)]
    pub(crate) reports: Vec<ReportTarget>,

    /// Format of the report on standard output, or of the one that --output names
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    pub(crate) format: Option<Format>,

    /// Write that report to a file instead, whole or not at all
    #[arg(short, long, value_name = "PATH", action = ArgAction::Set)]
    pub(crate) output: Option<PathBuf>,

    /// Nothing but a page is written, by `view`.
    #[arg(skip)]
    pub(crate) page: Option<Page>,
}

/// How `view` writes its page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub(crate) unmasked: bool,
}

/// A report that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportTarget {
    pub(crate) format: Format,
    /// `None`: standard output.
    pub(crate) path: Option<PathBuf>,
}

impl ReportTarget {
    /// Reads `FORMAT` or `FORMAT=PATH`.
    pub(crate) fn parse(text: &str) -> Result<ReportTarget, String> {
        let (name, path) = text.split_once('=').map_or((text, None), |(name, path)| (name, Some(path)));
        let names = Format::ALL.map(Format::name).join(", ");
        let format = Format::named(name).ok_or_else(|| format!("no format is called '{name}'; there are {names}"))?;
        match path {
            Some("") => Err("the path is missing behind '='".to_owned()),
            Some("-") | None => Ok(ReportTarget { format, path: None }),
            Some(path) => Ok(ReportTarget { format, path: Some(path.into()) }),
        }
    }
}

fn level_parser() -> impl clap::builder::TypedValueParser<Value = Level> {
    PossibleValuesParser::new(["note", "warning", "error"]).map(|name| match name.as_str() {
        "error" => Level::Error,
        "warning" => Level::Warning,
        _ => Level::Note,
    })
}

fn format_parser() -> impl clap::builder::TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).map(|name| Format::named(&name).unwrap_or(Format::Text))
}

fn pointer_parser(text: &str) -> Result<Pointer, String> {
    Pointer::parse(text).ok_or_else(|| "expected a JSON Pointer such as /meta/request_id or /**/took".to_owned())
}

fn digest_parser(text: &str) -> Result<String, String> {
    let digits = text.chars().all(|digit| digit.is_ascii_digit() || matches!(digit, 'a'..='f'));
    if text.len() == 64 && digits {
        Ok(text.to_owned())
    } else {
        Err("expected 64 lower-case hexadecimal digits".to_owned())
    }
}
