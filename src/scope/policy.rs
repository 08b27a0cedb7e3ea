//! A scope of either version, read, and what it can say of a call.

use super::names::Name;
use super::schemas::Schema;
use super::{commands, hosts, paths};
use std::collections::HashMap;
use std::sync::Arc;

/// A scope file, read.
#[derive(Debug)]
pub struct Policy {
    /// 1 or 2.
    pub version: u8,
    /// The agent it was declared for, if it names one.
    pub agent: Option<String>,
    /// The SHA-256 of the file.
    pub sha256: [u8; 32],
    pub(super) root: Option<String>,
    pub(super) bodies: Vec<Body>,
    pub(super) entries: Vec<Entry>,
    /// The names of version 1, each as a JSON string in canonical form, with the place of its entry.
    pub(super) names: HashMap<Box<[u8]>, usize>,
    /// What the file says that does nothing.
    pub(super) pointless: Vec<Remark>,
}

/// The lists for one agent.
#[derive(Debug)]
pub(super) struct Body {
    /// The agent's name; none where the lists are for whoever is judged.
    pub(super) agent: Option<String>,
    pub(super) allow: Vec<usize>,
    pub(super) deny: Vec<usize>,
}

/// One entry of a list.
#[derive(Debug)]
pub struct Entry {
    /// Where it stands in the file: `denied_tools[2]`.
    pub place: String,
    /// Its line, from 1.
    pub line: u64,
    /// Its column, in characters from 1.
    pub column: u64,
    /// Why it is there, as the file says.
    pub why: Option<String>,
    pub(super) name: Name,
    pub(super) path: Option<PathRule>,
    pub(super) command: Option<CommandRule>,
    pub(super) url: Option<UrlRule>,
    pub(super) schema: Option<Schema>,
    pub(super) deny: bool,
}

impl Entry {
    /// Whether it is about calls with certain arguments alone.
    pub(super) fn is_conditional(&self) -> bool {
        self.path.is_some() || self.command.is_some() || self.url.is_some() || self.schema.is_some()
    }
}

/// How many patterns of an entry a refusal shows.
const SHOWN_PATTERNS: usize = 12;

impl Entry {
    /// What it allows, in words.
    pub(super) fn shown(&self) -> String {
        let some = |texts: Vec<String>| {
            let more = if texts.len() > SHOWN_PATTERNS { ", …" } else { "" };
            texts.into_iter().take(SHOWN_PATTERNS).collect::<Vec<_>>().join(", ") + more
        };
        let mut parts = Vec::new();
        if let Some(rule) = &self.path {
            parts.push(format!(
                "{} in {}",
                rule.argument.name,
                some(rule.globs.iter().map(|glob| glob.text.clone()).collect())
            ));
            if !rule.except.is_empty() {
                parts.push(format!("but {}", some(rule.except.iter().map(|glob| glob.text.clone()).collect())));
            }
        }
        if let Some(rule) = &self.command {
            let prefixes = rule.rule.prefixes.iter().map(ToString::to_string).collect();
            parts.push(format!("commands starting with {}", some(prefixes)));
        }
        if let Some(rule) = &self.url {
            parts.push(format!(
                "{} at {}",
                rule.argument.name,
                some(rule.hosts.iter().map(|host| host.text.clone()).collect())
            ));
        }
        if self.schema.is_some() {
            parts.push(format!("arguments that fit the schema in {}", self.place));
        }
        if parts.is_empty() { "anything".to_owned() } else { parts.join(" ") }
    }
}

/// The argument that a rule is about.
#[derive(Debug)]
pub(super) struct Argument {
    /// Its name, or a JSON Pointer to it.
    pub(super) name: String,
    /// What counts where it is missing.
    pub(super) if_missing: Option<Arc<[Arc<str>]>>,
}

#[derive(Debug)]
pub(super) struct PathRule {
    pub(super) argument: Argument,
    pub(super) globs: Vec<paths::Pattern>,
    pub(super) except: Vec<paths::Pattern>,
    pub(super) patch: bool,
}

#[derive(Debug)]
pub(super) struct CommandRule {
    pub(super) argument: Argument,
    pub(super) argv: bool,
    pub(super) rule: commands::Rule,
}

#[derive(Debug)]
pub(super) struct UrlRule {
    pub(super) argument: Argument,
    pub(super) hosts: Vec<hosts::Pattern>,
    pub(super) schemes: Vec<String>,
}

/// A remark on an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Where the entry stands in the file.
    pub entry: String,
    /// Its line, from 1.
    pub line: u64,
    /// What is odd about it.
    pub text: String,
    /// What kind of oddity that is.
    pub kind: RemarkKind,
}

/// What is odd about an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemarkKind {
    /// It would do nothing in any run.
    Pointless,
    /// It allows nothing that was called.
    AllowedNothing,
    /// It denies nothing that was called: that is what a deny is there for.
    DeniedNothing,
}

/// A call that is judged.
#[derive(Debug, Clone, Copy, Default)]
pub struct PolicyCall<'c> {
    /// The names under which the calling agent may have lists, the most specific first. Of a sub-agent that the recording
    /// names no further, those of the agent that started it follow.
    pub agents: &'c [&'c str],
    /// The tool's name.
    pub tool: &'c str,
    /// The MCP server and the server's own name of the tool, where the recording keeps them apart.
    pub server: Option<(&'c str, &'c str)>,
    /// The arguments, as JSON text.
    pub arguments: &'c [u8],
    /// The working directory of the call.
    pub cwd: Option<&'c str>,
    /// The folder in which the session started: relative patterns are about it if the file names none.
    pub root: Option<&'c str>,
    /// The home folder.
    pub home: Option<&'c str>,
}

/// What a scope says of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is in scope, by the entry at this place of [`Policy::entries`].
    Allowed(usize),
    /// It is not.
    Overreach(Overreach),
}

/// Why a call is not in scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overreach {
    /// The kind of reason.
    pub reason: Reason,
    /// The entry that decided or came closest, as its place in [`Policy::entries`].
    pub entry: Option<usize>,
    /// The part of the call that broke it: a simple command, a path, a host, a name.
    pub part: String,
    /// A JSON Pointer to the argument that holds it; empty where the tool's name decided.
    pub pointer: String,
}

/// The kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A deny entry holds.
    Denied,
    /// No allow entry is about such a call.
    NotListed,
    /// An entry may or may not hold: it cannot be told from the recording.
    NotProven,
    /// The file has no lists for the agent.
    AgentNotListed,
}

impl Reason {
    /// The name in reports and in the tests of a scope file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::Denied => "denied",
            Reason::NotListed => "not-listed",
            Reason::NotProven => "not-proven",
            Reason::AgentNotListed => "agent-not-listed",
        }
    }
}
