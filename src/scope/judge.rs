//! What a scope says of a call, and what its entries did in a run.

use super::commands::{Allow, Deny};
use super::judged::Judged;
use super::policy::{Entry, Overreach, Policy, PolicyCall, Reason, Remark, RemarkKind, Verdict};
use crate::sanitize::clip;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many entries a refusal shows.
const SHOWN_ENTRIES: usize = 8;

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
