//! What became of evidence and of what it is judged by: seals against the base revision and against their transcripts,
//! the scope file and the configuration against those of the base.
//!
//! Where the older texts come from (git, most often) is the caller's business; here they are compared.

use super::outcome::{self, Input, Outcome};
use super::words::plural;
use crate::finding::{Finding, Fingerprint, Level, Rule};
use crate::formats;
use crate::limits::Budget;
use crate::rules::{POLICY_CHANGED, SEAL_DELETED, SEAL_MISMATCH, SEAL_REWRITTEN, UNREAD_RECORDING};
use crate::seal::{self, ExtendsError};
use crate::sealed_pair::{self, CompareError, Difference, Mismatch};
use crate::transcript::{Layout, ReadError};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// A finding about a file as a whole, which need not be one of those that are audited.
#[derive(Debug, Clone)]
pub struct Change {
    /// The file's path as the user knows it.
    pub shown: String,
    /// Its path from the root of the repository.
    pub from_root: String,
    /// Whether the file is still there.
    pub exists: bool,
    /// The finding.
    pub finding: Finding,
}

/// Where a reviewer sees the findings of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// Whether a review shows the file's lines at all.
    pub visibility: Visibility,
    /// The lines, from 1, that differ from the base revision, if there is one.
    pub changed: Vec<RangeInclusive<u64>>,
}

/// Whether a review can show a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Visibility {
    /// It is part of the repository.
    #[default]
    Shown,
    /// The revision that is reviewed has it no more.
    Deleted,
    /// It is none of the repository's files: an earlier step made it.
    Outside,
}

impl Review {
    /// Whether a line differs from the base revision. A finding about a file as a whole stands on its first line.
    #[must_use]
    pub fn is_changed(&self, line: u64) -> bool {
        self.changed.iter().any(|lines| lines.contains(&line.max(1)))
    }
}

/// Whether a text is a sealed transcript, by the fields of its first record, and the text from its start.
///
/// # Errors
/// A read that failed.
pub fn detect_layout<R: Read + Send>(source: R) -> io::Result<(Layout, impl Read + Send)> {
    outcome::detect_layout(source)
}

/// Compares a sealed transcript with that of the base revision: a finding if it is not that one continued.
///
/// # Errors
/// The base revision's is no sealed transcript, so nothing can be asked of the newer one.
pub fn seal_kept(base: impl Read, head: impl Read) -> Result<Option<Finding>, ReadError> {
    let finding = |line, width, subject: &str, detail: String| Finding {
        line,
        width,
        ..about(&SEAL_REWRITTEN, SEAL_REWRITTEN.level, subject, detail)
    };
    match seal::extends(base, head) {
        Ok(None) => Ok(None),
        Ok(Some(broken)) => {
            let (index, expected) = (broken.index, &broken.expected);
            let detail = if sealed_pair::is_cut(&broken) {
                format!("it was cut: it ends before index {index}, whose digest is {expected} there")
            } else if broken.found == *expected {
                format!("at index {index} the content is another one under the same digest, {expected}")
            } else {
                format!("at index {index} the digest is {}, there it is {expected}", broken.found)
            };
            Ok(Some(Finding { index: Some(index), ..finding(broken.line, broken.width, expected, detail) }))
        }
        Err(ExtendsError::New(error)) => {
            let line = if matches!(error, ReadError::Io { .. }) { 0 } else { error.line() };
            let what = error.what();
            Ok(Some(finding(line, 0, &what, format!("it is no sealed transcript any more: line {line}: {what}"))))
        }
        Err(ExtendsError::Old(error)) => Err(error),
    }
}

/// The finding for a sealed transcript of the base revision that is gone, or that is now at `moved_to`, where nothing is
/// audited.
///
/// # Errors
/// The base revision's is no sealed transcript.
pub fn seal_deleted(base: impl Read + Send, moved_to: Option<&str>) -> Result<Finding, ReadError> {
    let chain = seal::verify(base, 1)?;
    let held = format!("its {} ended in the digest {}", plural(chain.links, "link"), chain.head);
    let detail = match moved_to {
        None => format!("is gone: {held}"),
        Some(path) => format!("was moved to {path}, which is not among the audited files: {held}"),
    };
    Ok(about(&SEAL_DELETED, SEAL_DELETED.level, &chain.head, detail))
}

/// The finding for what looks like a recording, by its path from the root of the repository, and was not read.
#[must_use]
pub fn unread(from_root: &str, why: &str) -> Finding {
    about(&UNREAD_RECORDING, UNREAD_RECORDING.level, from_root, why.to_owned())
}

/// What a revision is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// A scope file.
    Scope,
    /// A configuration file.
    Config,
    /// The file of trusted keys.
    Trust,
}

/// Compares a policy with that of the base revision: a finding if it differs, whether it was widened or narrowed. Line
/// ends do not matter. `heeded` says, of a policy that the base revision lacks, whether the run is judged by it.
#[must_use]
pub fn policy_changed(policy: Policy, base: Option<&[u8]>, head: Option<&[u8]>, heeded: bool) -> Option<Finding> {
    let name = match policy {
        Policy::Scope => "the scope file",
        Policy::Config => "the configuration",
        Policy::Trust => "the file of trusted keys",
    };
    let (level, line, what) = match (base, head) {
        (None, None) => return None,
        (Some(base), Some(head)) => {
            let line = first_difference(base, head)?;
            (Level::Error, line, "was changed by the revision it judges; the base revision's is in force")
        }
        (Some(_), None) => (Level::Error, 0, "was deleted by the revision it judges; the base revision's is in force"),
        (None, Some(_)) if !heeded => {
            (Level::Warning, 0, "was added by the revision it would judge; the base revision's is in force")
        }
        // who vouches for a revision is not for it to say
        (None, Some(_)) if policy == Policy::Trust => (
            Level::Error,
            0,
            "was added by the revision it judges, and counts for nothing: the base revision trusts nobody",
        ),
        // what it is judged by must not be its own to say, and who reviews it is told
        (None, Some(_)) => {
            (Level::Error, 0, "was added by the revision it judges, and is in force: the base revision has none")
        }
    };
    let subject = [head.unwrap_or_default(), b"\n", base.unwrap_or_default()].concat();
    let finding = about(&POLICY_CHANGED, level, &String::from_utf8_lossy(&subject), format!("{name} {what}"));
    Some(Finding { line, ..finding })
}

/// The line of `head`, from 1, on which it starts to differ; its last one if only the end is missing.
fn first_difference(base: &[u8], head: &[u8]) -> Option<u64> {
    let lines = |text| <[u8]>::split(text, |&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let (mut base, mut head) = (lines(base), lines(head));
    let mut line = 0;
    loop {
        match (base.next(), head.next()) {
            (None, None) => return None,
            (one, other) if one == other => line += 1,
            (_, None) => return Some(line.max(1)),
            (_, Some(_)) => return Some(line + 1),
        }
    }
}

/// Holds every transcript against the sealed copy beside it, whether both are audited or one of them.
#[must_use]
pub fn mismatches(inputs: &[Input], outcomes: &[Outcome]) -> Vec<Change> {
    let places: HashMap<&Path, usize> =
        inputs.iter().enumerate().filter_map(|(place, input)| Some((input.path.as_deref()?, place))).collect();
    let mut changes = Vec::new();
    // of all that is compared together no more is unpacked than of what is audited
    let budget = Budget::default();
    for (input, outcome) in inputs.iter().zip(outcomes) {
        let Some(path) = input.path.as_deref().filter(|_| outcome.failure.is_none()) else { continue };
        let sealed = outcome.chain.is_some();
        let others: Vec<PathBuf> = match sealed {
            true => match sealed_pair::transcript_path(path) {
                // where the transcript is audited too, the finding is on its line
                Some(transcript) if !places.contains_key(transcript.as_path()) => vec![transcript],
                _ => continue,
            },
            false => sealed_pair::sealed_paths(path),
        };
        for other in others {
            let content = |place: &usize| outcomes[*place].judgement.content;
            let contents = places.get(other.as_path()).and_then(content).zip(outcome.judgement.content);
            if contents.is_some_and(|(one, other)| one == other) || !other.is_file() {
                continue;
            }
            let (transcript, copy) = if sealed { (other.as_path(), path) } else { (path, other.as_path()) };
            if let Some(finding) = mismatch(transcript, copy, sealed, contents.is_some(), &budget) {
                let (shown, from_root) = (input.shown.clone(), input.from_root.clone());
                changes.push(Change { shown, from_root, exists: true, finding });
            }
        }
    }
    changes
}

/// The finding for a transcript and its sealed copy, on the line of the one or the other. `differ`: both were judged, and
/// their calls are not the same.
fn mismatch(transcript: &Path, sealed: &Path, on_sealed: bool, differ: bool, budget: &Budget) -> Option<Finding> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let opened = |path: &Path| File::open(path).and_then(|file| formats::unpacked(Box::new(file), budget));
    let (one, other) = match (opened(transcript), opened(sealed)) {
        (Ok(one), Ok(other)) => (one, other),
        // what was not compared is not known to agree
        (Err(error), _) | (_, Err(error)) => {
            let (one, other) = (name(transcript), name(sealed));
            let detail = format!("{one} cannot be compared with {other}: {error}");
            return Some(about(&SEAL_MISMATCH, SEAL_MISMATCH.level, &detail, detail.clone()));
        }
    };
    match sealed_pair::compare(one, other) {
        Ok(None) => None,
        Ok(Some(found)) => Some(mismatch_finding(&found, &name(transcript), &name(sealed), on_sealed)),
        // it was judged, so it is a recording in another format, whose lines say nothing here
        Err(CompareError::Transcript(_)) if differ => {
            let detail = format!("{} does not hold the calls that {} holds", name(transcript), name(sealed));
            Some(about(&SEAL_MISMATCH, SEAL_MISMATCH.level, &detail, detail.clone()))
        }
        // a transcript that cannot be read is reported as such, if it is audited
        Err(CompareError::Transcript(_)) => None,
        Err(CompareError::Sealed(error)) => {
            let what = error.what();
            let detail = format!("{} is no sealed transcript: line {}: {what}", name(sealed), error.line());
            (!on_sealed).then(|| about(&SEAL_MISMATCH, SEAL_MISMATCH.level, &what, detail))
        }
    }
}

/// The finding for the place in which a transcript and its sealed copy part, by their names.
#[must_use]
pub fn mismatch_finding(found: &Mismatch, transcript: &str, sealed: &str, on_sealed: bool) -> Finding {
    let index = found.index;
    let (level, detail) = match found.difference {
        Difference::Call => {
            (SEAL_MISMATCH.level, format!("the call at index {index} of {transcript} is not the one {sealed} holds"))
        }
        Difference::Cut => {
            (SEAL_MISMATCH.level, format!("{transcript} was cut: it ends before index {index}, which {sealed} holds"))
        }
        Difference::Grown => {
            (Level::Warning, format!("the calls of {transcript} from index {index} on are not sealed in {sealed}"))
        }
    };
    let (line, width) = if on_sealed { (found.sealed_line, 0) } else { (found.line, found.width) };
    Finding { index: Some(index), line, width, ..about(&SEAL_MISMATCH, level, &found.digest, detail) }
}

pub(super) fn about(rule: &'static Rule, level: Level, subject: &str, detail: String) -> Finding {
    Finding {
        level,
        detail: Some(detail.into()),
        ..Finding::new(rule, Fingerprint::new(rule, &[subject.as_bytes()], 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(tools: &[&str]) -> Vec<u8> {
        let records: Vec<String> = tools
            .iter()
            .enumerate()
            .map(|(index, tool)| format!("{{\"index\":{index},\"tool\":\"{tool}\",\"args\":{{}},\"response\":{{}}}}\n"))
            .collect();
        let mut out = Vec::new();
        seal::seal(records.concat().as_bytes(), 1, &mut out).unwrap();
        out
    }

    #[test]
    fn a_seal_may_only_grow() {
        let base = sealed(&["a", "b"]);
        let compare = |head: &[u8]| seal_kept(&base[..], head).unwrap();
        assert!(compare(&base).is_none());
        let edited = String::from_utf8(base.clone()).unwrap().replace("\"b\"", "\"x\"").into_bytes();
        assert!(compare(&sealed(&["a", "b", "c"])).is_none());
        for (head, line, index, words) in [
            (sealed(&["a"]), 1, Some(1), "it was cut: it ends before index 1"),
            (Vec::new(), 0, Some(0), "it was cut: it ends before index 0"),
            (sealed(&["a", "x", "c"]), 2, Some(1), "at index 1 the digest is"),
            (edited, 2, Some(1), "at index 1 the content is another one under the same digest"),
            (b"{}\n".to_vec(), 1, None, "no sealed transcript any more: line 1: missing field(s)"),
        ] {
            let finding = compare(&head).unwrap();
            assert_eq!((finding.line, finding.index), (line, index), "{words}");
            assert!(finding.message().contains(words), "{}", finding.message());
        }
        assert!(seal_kept("{}".as_bytes(), &base[..]).is_err());
    }

    #[test]
    fn a_policy_may_not_change() {
        let changed =
            |base, head| policy_changed(Policy::Scope, base, head, true).map(|finding| (finding.level, finding.line));
        assert_eq!(changed(Some(b"a\nb\n".as_slice()), Some(b"a\r\nb\r\n".as_slice())), None);
        assert_eq!(changed(Some(b"a\nb\n".as_slice()), Some(b"a\nc\n".as_slice())), Some((Level::Error, 2)));
        assert_eq!(changed(Some(b"a\nb".as_slice()), Some(b"a".as_slice())), Some((Level::Error, 1)));
        assert_eq!(changed(Some(b"a".as_slice()), None), Some((Level::Error, 0)));
        assert_eq!(changed(None, Some(b"a".as_slice())), Some((Level::Error, 0)));
        assert_eq!(changed(None, None), None);
        let added = policy_changed(Policy::Config, None, Some(b""), true).unwrap();
        assert_eq!(added.level, Level::Error);
        let trust = policy_changed(Policy::Trust, None, Some(b""), true).unwrap();
        assert!(trust.level == Level::Error && trust.message().contains("counts for nothing"), "{}", trust.message());
        let passed_over = policy_changed(Policy::Config, None, Some(b""), false).unwrap();
        assert_eq!(passed_over.level, Level::Warning);
    }

    #[test]
    fn a_deleted_seal_says_what_it_held() {
        let message = seal_deleted(&sealed(&["a"])[..], Some("b")).unwrap().message();
        assert!(
            message.contains("was moved to b, which is not among the audited files: its 1 link ended in"),
            "{message}"
        );
    }

    #[test]
    fn changed_lines_are_ranges() {
        let review = Review { changed: vec![1..=1, 5..=6], ..Review::default() };
        assert_eq!([0, 1, 2, 5, 6, 7].map(|line| review.is_changed(line)), [true, true, false, true, true, false]);
    }
}
