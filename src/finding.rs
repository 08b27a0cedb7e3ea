//! Findings and what they are made of. How a finding comes about is the rules' business, how it is shown the reports'.

use crate::excerpt::Excerpt;
use crate::json::{canonical_string, decode_lossless};
use crate::sanitize::clip;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// How grave a finding is: the three levels that SARIF and GitHub both have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Worth knowing.
    Note,
    /// Worth a change.
    Warning,
    /// Must not stay.
    Error,
}

impl Level {
    /// All levels, the gravest first.
    pub const ALL: [Level; 3] = [Level::Error, Level::Warning, Level::Note];

    /// The name in reports and options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Level::Note => "note",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A tool's name as findings keep it: cut to a readable length, and with what tells the whole name from every other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolName {
    /// At most 200 characters, lone surrogates as their escapes.
    pub shown: Box<str>,
    identity: [u8; 16],
}

impl ToolName {
    /// The name with a canonical form (with its quotes).
    #[must_use]
    pub fn new(canonical: &[u8]) -> ToolName {
        let shown = clip(&decode_lossless(canonical), TOOL_NAME).into();
        ToolName { shown, identity: short_digest(&[canonical]) }
    }

    /// The name that a text is.
    #[must_use]
    pub fn of(name: &str) -> ToolName {
        ToolName::new(&canonical_string(name))
    }
}

/// Characters of a name that findings keep.
pub(crate) const TOOL_NAME: usize = 200;

/// Half of the SHA-256 of the parts, one behind the other.
fn short_digest(parts: &[&[u8]]) -> [u8; 16] {
    use sha2::Digest as _;
    let mut hasher = sha2::Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    let digest = hasher.finalize();
    let mut short = [0; 16];
    short.copy_from_slice(&digest[..16]);
    short
}

/// What is fixed about a kind of finding.
#[derive(Debug)]
pub struct Rule {
    /// The kind, as reports name it: kebab-case, never changed.
    pub id: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// The level of most of its findings.
    pub level: Level,
    /// The rule's page, Markdown, with the headings that `docs/rules` has throughout.
    pub page: &'static str,
    /// A number above 0 and up to 10 for rules about what an agent was allowed and about evidence.
    pub security_severity: Option<&'static str>,
    /// Whether a project may accept findings of this kind. Not where that would silence evidence that is broken.
    pub suppressible: bool,
    /// How sure a finding is: SARIF's `very-high`, `high`, `medium` or `low`.
    pub precision: &'static str,
    /// The message of one of its findings, without its place.
    pub message: fn(&Finding) -> String,
}

impl Rule {
    /// The address of the rule's page, as this version has it.
    #[must_use]
    pub fn link(&self) -> String {
        let (repository, version) = (env!("CARGO_PKG_REPOSITORY"), env!("CARGO_PKG_VERSION"));
        format!("{repository}/blob/v{version}/docs/rules/{}.md", self.id)
    }
}

/// A record of the same file that a finding refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The index of the record.
    pub index: u64,
    /// Its physical line, from 1.
    pub line: u64,
}

/// Where one argument of a call stands in the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentPlace {
    /// Its JSON Pointer within the arguments.
    pub pointer: String,
    /// The physical line, from 1.
    pub line: u64,
    /// The column, in characters from 1; 0: the whole line.
    pub column: u64,
    /// Its length in UTF-16 code units; 0 if unknown.
    pub width: u32,
}

/// A file that a recording consists of besides the one that was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path as the user knows it.
    pub shown: String,
    /// Its path from the root of the repository, with `/` between segments.
    pub from_root: String,
}

/// One audit result, tied to one line of one file.
///
/// Names come from the transcript as they are there; a renderer makes them safe (`sanitize`).
#[derive(Debug, Clone)]
pub struct Finding {
    /// The kind.
    pub rule: &'static Rule,
    /// How grave.
    pub level: Level,
    /// The index of the record; none where a line is no record.
    pub index: Option<u64>,
    /// The physical line, from 1; 0: the file as a whole.
    pub line: u64,
    /// The column the finding is about, in characters from 1; 0: the whole line.
    pub column: u64,
    /// The same column in UTF-16 code units; 0: the whole line, or not known.
    pub start: u32,
    /// The length of the line, or of what stands at the column, in UTF-16 code units; 0 if unknown.
    pub width: u32,
    /// The file the line stands in, if it is not the one that was named.
    pub file: Option<Arc<SourceFile>>,
    /// The other record.
    pub related: Option<Place>,
    /// Further records that belong to it, in order.
    pub others: Vec<Place>,
    /// How many calls belong to it; 0: it is about one.
    pub count: u64,
    /// The call that it is about never ran.
    pub never_ran: bool,
    /// A baseline knows it: it counts, and does not fail the run.
    pub known: bool,
    /// Which of the rule's patterns it is, for rules that have several.
    pub pattern: Option<&'static str>,
    /// The argument that it is about.
    pub argument: Option<ArgumentPlace>,
    /// The file of the other record, if it is not the one that was named.
    pub related_file: Option<Arc<SourceFile>>,
    /// The tool that was called.
    pub tool: Option<Arc<ToolName>>,
    /// What the rule's message needs besides: an agent's name, an error.
    pub detail: Option<Arc<str>>,
    /// What was called. Only the first [`crate::excerpt::MOST`] findings of a file have it, and only those about a call.
    pub excerpt: Option<Box<Excerpt>>,
    /// The same for the same finding in a later run, wherever its line has moved.
    pub fingerprint: Fingerprint,
}

impl Finding {
    /// A finding about a file as a whole, with nothing said besides.
    #[must_use]
    pub fn new(rule: &'static Rule, fingerprint: Fingerprint) -> Finding {
        Finding {
            rule,
            level: rule.level,
            index: None,
            line: 0,
            column: 0,
            start: 0,
            width: 0,
            file: None,
            related: None,
            others: Vec::new(),
            count: 0,
            never_ran: false,
            known: false,
            pattern: None,
            argument: None,
            related_file: None,
            tool: None,
            detail: None,
            excerpt: None,
            fingerprint,
        }
    }

    /// The message, without its place and not yet made safe to print.
    #[must_use]
    pub fn message(&self) -> String {
        (self.rule.message)(self)
    }

    /// Where exactly it is: the line, the column in characters from 1, or 0 for the whole line, and the length in UTF-16
    /// code units, or 0 if unknown.
    #[must_use]
    pub fn place(&self) -> (u64, u64, u32) {
        match &self.argument {
            Some(argument) if argument.line > 0 => (argument.line, argument.column, argument.width),
            _ if self.start > 0 => (self.line, u64::from(self.start), self.width),
            // the length is that of the line
            _ if self.column > 1 => (self.line, self.column, 0),
            _ => (self.line, self.column, self.width),
        }
    }

    /// The tool's name as messages show it.
    #[must_use]
    pub fn tool_text(&self) -> &str {
        self.tool.as_deref().map_or("", |tool| &tool.shown)
    }

    /// The detail as messages show it.
    #[must_use]
    pub fn detail_text(&self) -> &str {
        self.detail.as_deref().unwrap_or("")
    }
}

/// Identity of a finding across runs: made of the rule, the canonical call and how often the two came before in the
/// file; never of a line number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    /// The fingerprint of the `occurrence`-th finding (from 1) of a rule on a subject, which is the canonical form of
    /// the call or, where there is none, what is wrong.
    pub fn new(rule: &Rule, subject: &[&[u8]], occurrence: u32) -> Fingerprint {
        let occurrence = occurrence.to_string();
        let parts = [rule.id.as_bytes(), b"\n"].into_iter().chain(subject.iter().copied());
        let parts: Vec<&[u8]> = parts.chain([&b"\n"[..], occurrence.as_bytes()]).collect();
        Fingerprint(short_digest(&parts))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}
