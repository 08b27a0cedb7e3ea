//! A transcript and its sealed copy: `X.sealed.jsonl` beside `X.jsonl`.
//!
//! The copy holds the same calls, or the first of them while the transcript still grows. Whether its chain holds is
//! asked elsewhere (`seal`); here only the calls are compared.

use crate::seal::{self, BrokenLink, GENESIS};
use crate::transcript::{Layout, ReadError, Record, Records, utf16_width};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a sealed file's name has before its ending.
const SEALED: &str = ".sealed";

/// The path of a transcript's sealed copy: `run.jsonl` has `run.sealed.jsonl`, and a file of another ending, such as
/// `run.log`, has `run.log.sealed.jsonl`.
#[must_use]
pub fn sealed_path(transcript: &Path) -> PathBuf {
    let ending = transcript.extension().filter(|ending| is_ending(ending));
    let mut name = OsString::new();
    match (ending, transcript.file_stem()) {
        (Some(ending), Some(stem)) => {
            name.push(stem);
            name.push(SEALED);
            name.push(".");
            name.push(ending);
        }
        _ => {
            name.push(transcript.file_name().unwrap_or_default());
            name.push(".sealed.jsonl");
        }
    }
    transcript.with_file_name(name)
}

/// The paths at which a transcript's sealed copy may stand: where `seal-all` writes it first, then the same compressed. A
/// transcript that was compressed itself may have kept the copy of its former name.
#[must_use]
pub fn sealed_paths(transcript: &Path) -> Vec<PathBuf> {
    let own = sealed_path(transcript);
    let former = unpacked_name(transcript).map(|former| sealed_path(&former));
    [own].into_iter().chain(former).flat_map(|path| packed_names(&path)).collect()
}

/// Endings of compressed files.
const PACKED: [&str; 2] = ["gz", "zst"];

/// A path and those of the same file compressed.
fn packed_names(path: &Path) -> Vec<PathBuf> {
    let packed = PACKED.iter().map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        name.into()
    });
    [path.to_owned()].into_iter().chain(packed).collect()
}

/// The path without the endings of compressed files, if it has any.
fn unpacked_name(path: &Path) -> Option<PathBuf> {
    let is_packed = |path: &Path| path.extension().is_some_and(|ending| PACKED.iter().any(|packed| ending == *packed));
    let mut name = path.to_owned();
    while is_packed(&name) {
        name.set_extension("");
    }
    (name != path).then_some(name)
}

/// Whether a path is one that a sealed copy has.
#[must_use]
pub fn is_sealed_path(path: &Path) -> bool {
    transcript_path(path).is_some()
}

/// The path of the transcript whose sealed copy is at `sealed`.
#[must_use]
pub fn transcript_path(sealed: &Path) -> Option<PathBuf> {
    let plain = unpacked_name(sealed);
    let transcript = plain_transcript_path(plain.as_deref().unwrap_or(sealed))?;
    let there = packed_names(&transcript).into_iter().find(|path| path.is_file());
    Some(there.unwrap_or(transcript))
}

fn plain_transcript_path(sealed: &Path) -> Option<PathBuf> {
    let ending = sealed.extension().filter(|ending| is_ending(ending))?;
    let stem = Path::new(sealed.file_stem()?);
    let name = stem.extension().filter(|part| *part == OsStr::new(&SEALED[1..])).and(stem.file_stem())?;
    let mut name = name.to_owned();
    // `run.log.sealed.jsonl` is the copy of `run.log`
    if Path::new(&name).extension().is_none() || ending != "jsonl" {
        name.push(".");
        name.push(ending);
    } else if !sealed.with_file_name(&name).is_file() {
        name.push(".jsonl");
    }
    Some(sealed.with_file_name(name))
}

fn is_ending(ending: &OsStr) -> bool {
    ending == "jsonl" || ending == "ndjson"
}

/// In which way a transcript and its sealed copy part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// A call is not the one that was sealed.
    Call,
    /// The transcript ends before its seal does.
    Cut,
    /// The transcript goes on where its seal ends: it grew since.
    Grown,
}

/// The first place in which a transcript and its sealed copy part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// In which way.
    pub difference: Difference,
    /// The index of the call.
    pub index: u64,
    /// Its line in the transcript, from 1; where the transcript ends before it, that of the last call.
    pub line: u64,
    /// The length of that line in UTF-16 code units.
    pub width: u32,
    /// The line of the link, from 1; where the chain ends before it, that of the last link.
    pub sealed_line: u64,
    /// The digest of the link, or of the last one.
    pub digest: String,
}

/// Why two files could not be compared: in which of them.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The transcript.
    #[error("{0}")]
    Transcript(ReadError),
    /// Its sealed copy.
    #[error("{0}")]
    Sealed(ReadError),
}

/// Compares the calls of a transcript with those of its sealed copy; `None` if they are the same.
///
/// # Errors
/// A line of either that is no record.
pub fn compare(transcript: impl Read, sealed: impl Read) -> Result<Option<Mismatch>, CompareError> {
    let mut calls = Records::new(transcript, Layout::Transcript);
    let mut links = Records::new(sealed, Layout::Sealed);
    let mut last = Mismatch {
        difference: Difference::Call,
        index: 0,
        line: 0,
        width: 0,
        sealed_line: 0,
        digest: GENESIS.to_owned(),
    };
    loop {
        let call = calls.next_record().map_err(CompareError::Transcript)?;
        let link = links.next_record().map_err(CompareError::Sealed)?;
        match (call, link) {
            (None, None) => return Ok(None),
            (None, Some(link)) => {
                let (sealed_line, digest) = (link.line, seal::shown(&link.digest().to_vec()));
                return Ok(Some(Mismatch { difference: Difference::Cut, sealed_line, digest, ..last }));
            }
            (Some(call), None) => {
                let (line, width) = (call.line, utf16_width(call.text));
                return Ok(Some(Mismatch { difference: Difference::Grown, line, width, ..last }));
            }
            (Some(call), Some(link)) => {
                last.line = call.line;
                last.width = utf16_width(call.text);
                last.sealed_line = link.line;
                if !same_call(&call, &link) {
                    last.digest = seal::shown(&link.digest().to_vec());
                    return Ok(Some(last));
                }
                last.index += 1;
                last.digest.clear();
                last.digest.push_str(&seal::shown(&link.digest().to_vec()));
            }
        }
    }
}

fn same_call(one: &Record<'_>, other: &Record<'_>) -> bool {
    one.tool().to_vec() == other.tool().to_vec()
        && one.args().to_vec() == other.args().to_vec()
        && one.response().to_vec() == other.response().to_vec()
}

/// Whether a chain was cut: it breaks off where the older one goes on.
#[must_use]
pub fn is_cut(broken: &BrokenLink) -> bool {
    broken.found == seal::END
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(index: usize, tool: &str) -> String {
        format!("{{\"index\":{index},\"tool\":\"{tool}\",\"args\":{{}},\"response\":{{}}}}\n")
    }

    fn sealed(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        seal::seal(text.as_bytes(), 1, &mut out).unwrap();
        out
    }

    #[test]
    fn twins_have_names() {
        for (transcript, copy) in [
            ("a/run.jsonl", "a/run.sealed.jsonl"),
            ("run.ndjson", "run.sealed.ndjson"),
            ("run.1.jsonl", "run.1.sealed.jsonl"),
            (".jsonl", ".jsonl.sealed.jsonl"),
        ] {
            assert_eq!(sealed_path(Path::new(transcript)), Path::new(copy));
        }
        assert_eq!(sealed_path(Path::new("run.log")), Path::new("run.log.sealed.jsonl"));
        assert_eq!(transcript_path(Path::new("a/run.sealed.jsonl")), Some(PathBuf::from("a/run.jsonl")));
        assert_eq!(transcript_path(Path::new("a/run.sealed.ndjson")), Some(PathBuf::from("a/run.ndjson")));
        assert_eq!(transcript_path(Path::new("a/run.1.sealed.jsonl")), Some(PathBuf::from("a/run.1.jsonl")));
        for none in ["run.jsonl", "sealed.jsonl", "run.sealed.txt", ".sealed.jsonl"] {
            assert_eq!(transcript_path(Path::new(none)), None, "{none}");
        }
    }

    #[test]
    fn a_file_of_another_ending_has_its_twin() {
        let folder = tempfile::tempdir().unwrap();
        let transcript = folder.path().join("run.log");
        std::fs::write(&transcript, "").unwrap();
        assert_eq!(transcript_path(&sealed_path(&transcript)), Some(transcript));
    }

    #[test]
    fn twins_part_in_one_of_three_ways() {
        let whole = [record(0, "a"), "\n".to_owned(), record(1, "b"), record(2, "c")].concat();
        let copy = sealed(&whole);
        assert_eq!(compare(whole.as_bytes(), &copy[..]).unwrap(), None);
        let part = |text: &str, copy: &[u8]| compare(text.as_bytes(), copy).unwrap().unwrap();
        let edited = part(&whole.replace("\"b\"", "\"x\""), &copy);
        assert_eq!((edited.difference, edited.index, edited.line, edited.sealed_line), (Difference::Call, 1, 3, 2));
        let cut = part(&record(0, "a"), &copy);
        assert_eq!((cut.difference, cut.index, cut.line, cut.sealed_line), (Difference::Cut, 1, 1, 2));
        let grown = part(&whole, &sealed(&record(0, "a")));
        assert_eq!((grown.difference, grown.index, grown.line, grown.sealed_line), (Difference::Grown, 1, 3, 1));
        assert!(matches!(compare("x".as_bytes(), &copy[..]), Err(CompareError::Transcript(_))));
        assert!(matches!(compare(whole.as_bytes(), "x".as_bytes()), Err(CompareError::Sealed(_))));
    }
}
