//! What stands in a secret's place: `[REDACTED:rule:3f9a]`.
//!
//! The last part is a digest with a key that dies with the masker: within what one masker wrote equal secrets stay
//! equal and different ones different, and nobody can test a guess. Where the same input must give the same marks they
//! are numbered instead, which tells as little.

use super::view;
use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// What stands in the place of a secret where a text is shown.
pub const MASK: &str = "[secret]";

const OPEN: &[u8] = b"[REDACTED:";

/// Makes the marks of one recording.
pub struct Masker {
    /// None: marks are numbered.
    key: Option<[u8; 32]>,
    tags: Mutex<HashMap<[u8; 2], [u8; 32]>>,
    numbers: Mutex<HashMap<[u8; 32], usize>>,
}

impl std::fmt::Debug for Masker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Masker").finish_non_exhaustive()
    }
}

impl Masker {
    /// A masker with a key, which should be random and be thrown away.
    #[must_use]
    pub fn new(key: [u8; 32]) -> Masker {
        Masker { key: Some(key), tags: Mutex::default(), numbers: Mutex::default() }
    }

    /// A masker whose marks are numbered in the order in which their secrets come.
    #[must_use]
    pub fn numbered() -> Masker {
        Masker { key: None, tags: Mutex::default(), numbers: Mutex::default() }
    }

    /// The text that stands for a secret.
    #[must_use]
    pub fn mark(&self, rule: &str, secret: &[u8]) -> String {
        let Some(key) = &self.key else {
            let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
            let next = numbers.len() + 1;
            let number = *numbers.entry(*blake3::hash(secret).as_bytes()).or_insert(next);
            let tag = if number <= 0xffff { format!("{number:04x}") } else { format!("{number:016x}") };
            return format!("[REDACTED:{rule}:{tag}]");
        };
        let digest = *blake3::keyed_hash(key, secret).as_bytes();
        let short = [digest[0], digest[1]];
        let mut tags = self.tags.lock().unwrap_or_else(PoisonError::into_inner);
        // Two secrets with one short tag: the later gets a longer one.
        let length = if *tags.entry(short).or_insert(digest) == digest { 2 } else { 8 };
        format!("[REDACTED:{rule}:{}]", hex::encode(&digest[..length]))
    }
}

/// Whether the whole text is one mark.
#[must_use]
pub fn is_mark(text: &[u8]) -> bool {
    text.starts_with(OPEN) && mark_end(text, 0) == Some(text.len())
}

/// Where the mark that begins at `start` ends.
fn mark_end(text: &[u8], start: usize) -> Option<usize> {
    let rest = text.get(start + OPEN.len()..)?;
    let rule = rest.iter().position(|byte| !(byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-'))?;
    if rule == 0 || rule > 40 || rest[rule] != b':' {
        return None;
    }
    let tag = rest[rule + 1..].iter().position(|byte| !byte.is_ascii_hexdigit())?;
    (matches!(tag, 4 | 16) && rest[rule + 1 + tag] == b']').then_some(start + OPEN.len() + rule + tag + 2)
}

/// The marks in a text.
pub(super) fn marks(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    memchr::memmem::find_iter(text, OPEN).filter_map(|start| Some(start..mark_end(text, start)?))
}

/// A number that stands for a secret, `level` levels of escapes deep, and the place where it is: the same for the same
/// secret there, in this run and in memory alone.
#[must_use]
pub fn number(secret: &[u8], level: u8, place: &str) -> u64 {
    static KEY: std::sync::LazyLock<std::hash::RandomState> = std::sync::LazyLock::new(Default::default);
    // what stands in a recording is a string at least
    KEY.hash_one((view::peeled(secret, level.max(1)), place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn marks_are_known_again() {
        let masker = Masker::new([7; 32]);
        let mark = masker.mark("openai-key", b"x");
        assert!(is_mark(mark.as_bytes()) && !is_mark(format!("{mark}a").as_bytes()));
        assert!(!is_mark(b"[REDACTED:a secret]") && !is_mark(b"[REDACTED:x:zz]") && !is_mark(b"[REDACTED:"));
        let text = format!("a{mark}b{mark}[REDACTED:");
        assert_eq!(marks(text.as_bytes()).count(), 2);
        assert_ne!(mark, Masker::new([8; 32]).mark("openai-key", b"x"));
    }

    #[test]
    fn marks_can_be_numbered() {
        let masker = Masker::numbered();
        let marks = [b"a", b"b", b"a"].map(|secret| masker.mark("field", secret));
        assert_eq!(marks, ["[REDACTED:field:0001]", "[REDACTED:field:0002]", "[REDACTED:field:0001]"]);
        assert!(marks.iter().all(|mark| is_mark(mark.as_bytes())));
    }

    #[test]
    fn colliding_tags_are_told_apart() {
        let masker = Masker::new([1; 32]);
        let marks: BTreeSet<String> = (0..2000).map(|n| masker.mark("r", format!("secret {n}").as_bytes())).collect();
        assert_eq!(marks.len(), 2000);
        assert!(marks.iter().all(|mark| is_mark(mark.as_bytes())));
    }
}
