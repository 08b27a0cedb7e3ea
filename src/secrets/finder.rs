//! The search: every string and every level of escapes in a text, by all that tells a secret.

use super::fields;
use super::found::{Certainty, Found, Kind, Match};
use super::names::{self, fold, is_secret_name};
use super::{assigned, mask, shapes, view};
use crate::json::view::only_value;
use std::ops::Range;

/// How many times text inside text is opened.
const LEVELS: u8 = 3;

/// Literal secrets. A recorder of one request knows few, and is made anew for each: an automaton would take longer to
/// build than they take to look for.
#[derive(Default)]
enum Known {
    #[default]
    None,
    Few(Vec<memchr::memmem::Finder<'static>>),
    Many(aho_corasick::AhoCorasick),
}

/// So many are looked for one by one.
const FEW: usize = 16;

impl Known {
    fn new(secrets: &[Vec<u8>]) -> Known {
        if secrets.len() <= FEW {
            let finders = secrets.iter().map(|secret| memchr::memmem::Finder::new(secret).into_owned());
            return Known::Few(finders.collect());
        }
        let kind = aho_corasick::MatchKind::LeftmostLongest;
        aho_corasick::AhoCorasick::builder().match_kind(kind).build(secrets).map_or(Known::None, Known::Many)
    }

    fn len(&self) -> usize {
        match self {
            Known::None => 0,
            Known::Few(finders) => finders.len(),
            Known::Many(automaton) => automaton.patterns_len(),
        }
    }

    /// Where they stand; those that overlap are united later.
    fn each(&self, text: &[u8], mut hit: impl FnMut(Range<usize>)) {
        match self {
            Known::None => {}
            Known::Few(finders) => {
                for finder in finders {
                    finder.find_iter(text).for_each(|start| hit(start..start + finder.needle().len()));
                }
            }
            Known::Many(automaton) => automaton.find_iter(text).for_each(|found| hit(found.range())),
        }
    }
}

/// Finds secrets; what it looks for beside the table is fixed when it is made.
#[derive(Default)]
pub struct Finder {
    known: Known,
    fields: std::collections::BTreeSet<String>,
}

impl std::fmt::Debug for Finder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Finder").field("known", &self.known.len()).field("fields", &self.fields).finish()
    }
}

impl Finder {
    /// A finder that also knows these literal secrets and these names of fields.
    pub fn new<F: AsRef<str>>(known: impl IntoIterator<Item = Vec<u8>>, fields: impl IntoIterator<Item = F>) -> Finder {
        let known: Vec<Vec<u8>> = known.into_iter().filter(|secret| !secret.is_empty()).collect();
        Finder { known: Known::new(&known), fields: fields.into_iter().map(|field| fold(field.as_ref())).collect() }
    }

    /// Whether the value of a field of this name is secret.
    #[must_use]
    pub fn is_secret_field(&self, name: &str) -> bool {
        is_secret_name(name) || self.is_own(name)
    }

    fn is_own(&self, name: &str) -> bool {
        !self.fields.is_empty() && name.len() <= names::LONGEST && self.fields.contains(&fold(name))
    }

    /// The secrets in a text, in order, none within another.
    #[must_use]
    pub fn find(&self, text: &[u8]) -> Vec<Match> {
        let mut out = Vec::new();
        // most texts of a recording are names and single words
        if text.len() < SHORTEST_SHAPE && text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            self.known.each(text, |range| out.push(known_secret(range).at_level(0)));
        } else {
            self.levels(text, LEVELS, &mut out);
        }
        united(out)
    }

    /// The secrets in a line of JSON, or in a whole document: no match reaches beyond the string that holds it.
    #[must_use]
    pub fn find_in_json(&self, text: &[u8]) -> Vec<Match> {
        let mut out = Vec::new();
        self.strings(text, LEVELS, &mut out);
        united(out)
    }

    fn strings(&self, text: &[u8], deeper: u8, out: &mut Vec<Match>) {
        let mut found = Vec::new();
        self.fields_in(text, &mut found);
        out.extend(found.into_iter().map(|found| found.at_level(0)));
        let mut at = 0;
        while let Some(open) = text.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
            let start = at + open + 1;
            let end = crate::json::string_end(text, start).min(text.len());
            let content = &text[start..end];
            at = end + 1;
            if content.len() < SHORTEST {
                continue;
            }
            let from = out.len();
            match view::unescaped(content) {
                Some(inner) => {
                    self.levels(&inner.text, deeper, out);
                    for one in &mut out[from..] {
                        one.range = inner.origin(&one.range);
                    }
                }
                None => self.levels(content, 0, out),
            }
            for one in &mut out[from..] {
                one.range = one.range.start + start..one.range.end + start;
                one.level += 1;
            }
        }
    }

    fn levels(&self, text: &[u8], deeper: u8, out: &mut Vec<Match>) {
        // what is JSON as a whole is read as such, and stays JSON
        if deeper > 0 && text.trim_ascii_start().starts_with(b"{") && only_value(text).is_ok() {
            return self.strings(text, deeper - 1, out);
        }
        let mut found = Vec::new();
        self.fields_in(text, &mut found);
        // a mark is a border: nothing is read across it
        let mut at = 0;
        for mark in mask::marks(text).chain(std::iter::once(text.len()..text.len())) {
            if mark.start > at {
                self.stretch(&text[at..mark.start], at, &mut found);
            }
            at = mark.end;
        }
        out.extend(found.into_iter().map(|found| found.at_level(0)));
        if deeper > 0
            && let Some(inner) = view::unescaped(text)
        {
            let from = out.len();
            self.levels(&inner.text, deeper - 1, out);
            for one in &mut out[from..] {
                one.range = inner.origin(&one.range);
                one.level += 1;
            }
        }
    }

    fn fields_in(&self, text: &[u8], found: &mut Vec<Found>) {
        if memchr::memchr(b'"', text).is_some() {
            let own = |name: &str| self.is_own(name);
            fields::find(text, (!self.fields.is_empty()).then_some(&own), found);
        }
    }

    fn stretch(&self, text: &[u8], base: usize, found: &mut Vec<Found>) {
        self.known.each(text, |range| found.push(known_secret(base + range.start..base + range.end)));
        shapes::find(text, base, found);
        assigned::find(text, base, found);
    }
}

/// No secret is shorter.
const SHORTEST: usize = 4;

/// No single word of letters, digits and underscores that is shorter shows by its form that it is a secret.
const SHORTEST_SHAPE: usize = 16;

fn known_secret(range: Range<usize>) -> Found {
    Found { id: "known-secret", kind: Kind::Token, range, certainty: Certainty::Certain }
}

/// Secrets that vendors' forms tell and that are worth reporting, in a text that holds no escapes worth undoing: what a
/// rule asks of large texts.
#[must_use]
pub fn find_likely(text: &[u8]) -> Vec<Match> {
    let mut found = Vec::new();
    shapes::find_whole(text, &mut found);
    found.retain(|found| found.certainty >= Certainty::Likely);
    if found.is_empty() {
        return Vec::new();
    }
    united(found.into_iter().map(|found| found.at_level(0)).collect())
}

/// Secrets that vendors' forms tell, in a text that holds no escapes worth undoing.
#[must_use]
pub fn find_shapes(text: &[u8]) -> Vec<Match> {
    let mut found = Vec::new();
    shapes::find(text, 0, &mut found);
    united(found.into_iter().map(|found| found.at_level(0)).collect())
}

/// In order; of those that overlap one that covers them all, named after the surest.
fn united(mut all: Vec<Match>) -> Vec<Match> {
    all.retain(|one| !one.range.is_empty());
    all.sort_by_key(|one| (one.range.start, std::cmp::Reverse(one.range.end), one.level));
    let mut out: Vec<Match> = Vec::with_capacity(all.len());
    for one in all {
        match out.last_mut() {
            Some(last) if one.range.start < last.range.end => {
                let end = last.range.end.max(one.range.end);
                // who made a key knows best whether it is one
                if one.kind == Kind::Assigned && last.kind == Kind::Token {
                    last.range.end = end;
                    continue;
                }
                if one.kind == Kind::Token && last.kind == Kind::Assigned {
                    *last = Match { range: last.range.start..end, ..one };
                    continue;
                }
                if one.certainty > last.certainty {
                    let bare = last.kind == Kind::Bare;
                    *last = Match { range: last.range.start..end, ..one };
                    if bare {
                        last.kind = Kind::Bare;
                    }
                } else {
                    last.range.end = end;
                }
            }
            _ => out.push(one),
        }
    }
    out
}

/// Whether a text may hold anything that [`Finder::find`] finds: cheap, and most often not.
#[must_use]
pub fn may_hold(text: &[u8]) -> bool {
    assigned::may_hold(text) || shapes::may_hold(text)
}

/// A text that is to be shown, without its secrets.
#[must_use]
pub fn hidden(text: &str) -> std::borrow::Cow<'_, str> {
    let found = Finder::default().find(text.as_bytes());
    if found.is_empty() {
        return text.into();
    }
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for one in found {
        out.push_str(text.get(at..one.range.start).unwrap_or_default());
        out.push_str(mask::MASK);
        at = one.range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out.into()
}
