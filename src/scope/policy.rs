//! A scope of either version, and what it says of a call.

use super::commands::{self, Allow, Deny};
use super::judged::Judged;
use super::names::Name;
use super::schemas::Schema;
use super::{ScopeError, hosts, paths, read};
use crate::sanitize::clip;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// How many entries a refusal shows, and how many patterns of each.
const SHOWN_ENTRIES: usize = 8;
const SHOWN_PATTERNS: usize = 12;

impl Entry {
    /// What it allows, in words.
    fn shown(&self) -> String {
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

/// How many calls of a run each entry was about. Many threads may count at once.
#[derive(Debug, Default)]
pub struct EntryUses(Vec<AtomicU64>);

impl EntryUses {
    /// Counts for the entries of a policy, all of them zero. A default one counts nothing.
    #[must_use]
    pub fn of(policy: &Policy) -> EntryUses {
        EntryUses((0..policy.entries.len()).map(|_| AtomicU64::new(0)).collect())
    }

    fn add(&self, entry: usize) {
        if let Some(count) = self.0.get(entry) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn get(&self, entry: usize) -> u64 {
        self.0.get(entry).map_or(0, |count| count.load(Ordering::Relaxed))
    }
}

/// Where entries that were about a call are counted.
trait Counting {
    fn count(&self, entry: usize);
    fn has(&self, entry: usize) -> bool;
}

impl Counting for EntryUses {
    fn count(&self, entry: usize) {
        self.add(entry);
    }

    fn has(&self, entry: usize) -> bool {
        self.get(entry) > 0
    }
}

/// Those of one call: nothing else was counted before.
impl Counting for RefCell<Vec<usize>> {
    fn count(&self, entry: usize) {
        self.borrow_mut().push(entry);
    }

    fn has(&self, _entry: usize) -> bool {
        false
    }
}

/// The lists by which a call was judged while it was not known whose call it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    lists: Option<usize>,
    /// The entries that were about the call.
    entries: Box<[usize]>,
}

impl EntryUses {
    /// Counts what the lists that apply were about.
    pub fn take(&self, candidate: &Candidate) {
        candidate.entries.iter().for_each(|entry| self.add(*entry));
    }
}

/// A policy that a run is held against, with what its entries did in it.
#[derive(Debug)]
pub struct Applied {
    /// The policy.
    pub policy: Policy,
    /// The calls that its entries were about.
    pub tally: EntryUses,
    /// The home folder of whoever ran the agent, where somebody says which it was: no recording proves it.
    pub home: Option<String>,
}

impl From<Policy> for Applied {
    fn from(policy: Policy) -> Applied {
        Applied { tally: EntryUses::of(&policy), policy, home: None }
    }
}

impl Policy {
    /// Reads a scope file of either version, and runs the tests that it holds.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place: what is not known would look as if it were enforced.
    pub fn read(text: &[u8]) -> Result<Policy, ScopeError> {
        read::policy(text)
    }

    /// The entries, in the order of the file.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether a file of version 1 lists the name whose canonical form (with its quotes) is `literal`. Counts its entry.
    #[must_use]
    pub fn has_name(&self, literal: &[u8], tally: &EntryUses) -> bool {
        let place = self.names.get(literal);
        place.iter().for_each(|place| tally.add(**place));
        place.is_some()
    }

    /// Judges a call, and counts the entries that were about it.
    pub fn judge(&self, call: &PolicyCall<'_>, tally: &EntryUses) -> Verdict {
        let judged = Judged::new(call, self.root.as_deref());
        self.judge_by(self.lists(call.agents), call, &judged, tally)
    }

    /// Whether it has lists for several agents, so that it matters whose call one is.
    #[must_use]
    pub fn tells_agents_apart(&self) -> bool {
        self.bodies.iter().any(|body| body.agent.is_some())
    }

    /// Judges a call by each of the lists, while it is not known whose call it is. Counts nothing.
    #[must_use]
    pub fn judge_each(&self, call: &PolicyCall<'_>) -> Vec<(Candidate, Verdict)> {
        let judged = Judged::new(call, self.root.as_deref());
        // where some lists are for all others, there is nobody without
        let nobody = self.named("*").is_none().then_some(None);
        let each = (0..self.bodies.len()).map(Some).chain(nobody).map(|lists| {
            let counted = RefCell::default();
            let verdict = self.judge_by(lists, call, &judged, &counted);
            (Candidate { lists, entries: counted.into_inner().into() }, verdict)
        });
        each.collect()
    }

    /// Whether the candidate is the one that counts for a call of the agent with these names.
    #[must_use]
    pub fn chooses(&self, candidate: &Candidate, agents: &[&str]) -> bool {
        self.lists(agents) == candidate.lists
    }

    fn judge_by(
        &self,
        lists: Option<usize>,
        call: &PolicyCall<'_>,
        judged: &Judged<'_>,
        tally: &impl Counting,
    ) -> Verdict {
        let no = |reason, entry, (part, pointer): (String, String)| {
            Verdict::Overreach(Overreach { reason, entry, part: clip(&part, PART).into_owned(), pointer })
        };
        let Some(body) = lists.map(|lists| &self.bodies[lists]) else {
            let agent = call.agents.first().copied().unwrap_or("");
            return no(Reason::AgentNotListed, None, (agent.to_owned(), String::new()));
        };
        let mut denied = None;
        let mut doubtful = None;
        for &place in &body.deny {
            // one that was counted and would change nothing needs no second look
            if denied.is_some() && tally.has(place) {
                continue;
            }
            let entry = &self.entries[place];
            if !entry.name.fits(call.tool, call.server) {
                continue;
            }
            match judged.denies(entry) {
                Deny::Yes(part) => {
                    tally.count(place);
                    denied = denied.or(Some((place, part)));
                }
                Deny::Maybe(part) => {
                    tally.count(place);
                    doubtful = doubtful.or(Some((place, part)));
                }
                Deny::No => {}
            }
        }
        let mut allowed = None;
        let mut unproven = None;
        let mut refused = None;
        for &place in &body.allow {
            if (allowed.is_some() || denied.is_some()) && tally.has(place) {
                continue;
            }
            let entry = &self.entries[place];
            if !entry.name.fits(call.tool, call.server) {
                continue;
            }
            match judged.allows(entry) {
                Allow::Yes => {
                    tally.count(place);
                    allowed = allowed.or(Some(place));
                }
                Allow::No(part) => refused = refused.or(Some((place, part))),
                Allow::Unproven(part) => unproven = unproven.or(Some((place, part))),
            }
        }
        let pointed = |(place, part): (usize, String)| {
            let part = if part.is_empty() { call.tool.to_owned() } else { part };
            let (part, pointer) = judged.point(&self.entries[place], part);
            (Some(place), (part, pointer))
        };
        if let Some(found) = denied {
            let (entry, part) = pointed(found);
            return no(Reason::Denied, entry, part);
        }
        let (reason, found) = match (allowed, doubtful, unproven, refused) {
            (Some(place), None, ..) => return Verdict::Allowed(place),
            (Some(_), Some(found), ..) | (None, _, Some(found), _) => (Reason::NotProven, Some(found)),
            (None, _, None, found) => (Reason::NotListed, found),
        };
        match found {
            Some(found) => {
                let (entry, part) = pointed(found);
                no(reason, entry, part)
            }
            None => no(reason, None, (call.tool.to_owned(), String::new())),
        }
    }

    /// The lists for an agent with these names; none: it has none, and no others are for it.
    fn lists(&self, agents: &[&str]) -> Option<usize> {
        if !self.tells_agents_apart() {
            return (!self.bodies.is_empty()).then_some(0);
        }
        // a body called `*` is for all others, not for an agent of that name
        let own = agents.iter().filter(|name| **name != "*").find_map(|name| self.named(name));
        own.or_else(|| self.named("*"))
    }

    fn named(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|body| body.agent.as_deref() == Some(name))
    }

    /// What allow entries say of a tool, for someone who was refused.
    #[must_use]
    pub fn allows_of(&self, tool: &str) -> Vec<String> {
        let fits = self.entries.iter().filter(|entry| !entry.deny && entry.name.fits(tool, None));
        fits.take(SHOWN_ENTRIES).map(Entry::shown).collect()
    }

    /// What is odd about the file, whatever it is used for.
    #[must_use]
    pub fn pointless(&self) -> &[Remark] {
        &self.pointless
    }

    /// What is odd about the file after a run: entries that another makes pointless, and those that were about no call.
    #[must_use]
    pub fn remarks(&self, tally: &EntryUses) -> Vec<Remark> {
        let mut remarks = self.pointless.clone();
        for (place, entry) in self.entries.iter().enumerate() {
            if tally.get(place) == 0 && !remarks.iter().any(|remark| remark.entry == entry.place) {
                let (does, kind) = match entry.deny {
                    true => ("denies", RemarkKind::DeniedNothing),
                    false => ("allows", RemarkKind::AllowedNothing),
                };
                let text = format!("'{}' {does} nothing that was called", entry.name.shown());
                remarks.push(Remark { entry: entry.place.clone(), line: entry.line, text, kind });
            }
        }
        remarks
    }
}

/// How much of the part that broke a rule is kept, in characters.
const PART: usize = 300;
