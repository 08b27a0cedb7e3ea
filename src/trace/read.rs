//! Reads capture files as far as they go: a damaged, cut or growing file gives what it holds and says what is wrong.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::event::{CaptureSummary, Event, VERSION};

/// A line longer than this is not read: no recorder writes one.
const LONGEST_LINE: usize = 64 << 20;

/// What a capture file holds.
#[derive(Debug, Clone, Default)]
pub struct Capture {
    /// The file.
    pub path: PathBuf,
    /// The events, each with its line from 1.
    pub events: Vec<(u64, Event)>,
    /// The last line of a finished capture.
    pub summary: Option<CaptureSummary>,
    /// What cannot be read or does not fit.
    pub errors: Vec<LineError>,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    /// The line from 1.
    pub line: u64,
    /// What is wrong; shows no content.
    pub message: String,
}

/// Reads one file.
///
/// # Errors
/// The file cannot be opened or read.
pub fn read(path: &Path) -> std::io::Result<Capture> {
    let mut capture = parse(BufReader::new(File::open(path)?))?;
    capture.path = path.to_owned();
    Ok(capture)
}

/// Reads a capture.
///
/// # Errors
/// The input cannot be read.
pub fn parse(mut input: impl BufRead) -> std::io::Result<Capture> {
    let mut capture = Capture::default();
    let mut line = Vec::new();
    let mut number = 0;
    let mut last_sequence = 0;
    loop {
        line.clear();
        let length = std::io::Read::take(&mut input, LONGEST_LINE as u64).read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(capture);
        }
        number += 1;
        let mut wrong = |message: String| capture.errors.push(LineError { line: number, message });
        if line.last() != Some(&b'\n') {
            if length == LONGEST_LINE {
                wrong(format!("longer than {LONGEST_LINE} bytes; not read further"));
            } else {
                wrong("the last line is cut: the capture is still being written, or its writer was stopped".to_owned());
            }
            return Ok(capture);
        }
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        if capture.summary.is_some() {
            wrong("stands behind the summary".to_owned());
        }
        let value: Value = match serde_json::from_slice(text) {
            Ok(value) => value,
            Err(error) => {
                wrong(format!("not JSON (column {})", error.column()));
                continue;
            }
        };
        if value.get("record_type").is_some() {
            match serde_json::from_value(value) {
                Ok(summary) => capture.summary = Some(summary),
                Err(error) => wrong(format!("no capture summary: {error}")),
            }
            continue;
        }
        match value.get("version").and_then(Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => {
                wrong(format!("an event of version {version}, which this version does not read"));
                continue;
            }
            None => {
                wrong("no capture event".to_owned());
                continue;
            }
        }
        match serde_json::from_value::<Event>(value) {
            Ok(event) => {
                if event.sequence != last_sequence + 1 {
                    wrong(format!("sequence {} follows {last_sequence}", event.sequence));
                }
                last_sequence = event.sequence;
                capture.events.push((number, event));
            }
            Err(error) => wrong(format!("no capture event: {error}")),
        }
    }
}

/// What lies at a path.
#[derive(Debug, Default)]
pub struct Found {
    /// Capture files, sorted.
    pub files: Vec<PathBuf>,
    /// Folders and files that cannot be looked at, and why.
    pub unreadable: Vec<(PathBuf, std::io::Error)>,
}

/// The capture files of a path: the file itself, or every `.jsonl` file below the folder. As in an audit, hidden ones are
/// left out, links to files are followed and links to folders are not.
///
/// # Errors
/// The path itself cannot be read.
pub fn find(path: &Path) -> std::io::Result<Found> {
    let mut found = Found::default();
    if !std::fs::metadata(path)?.is_dir() {
        found.files.push(path.to_owned());
        return Ok(found);
    }
    let mut folders = vec![(path.to_owned(), std::fs::read_dir(path)?)];
    while let Some((folder, entries)) = folders.pop() {
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    found.unreadable.push((folder.clone(), error));
                    break;
                }
            };
            if entry.file_name().as_encoded_bytes().first() == Some(&b'.') {
                continue;
            }
            let path = entry.path();
            // The entry's own type: links to folders are not followed, so the walk ends.
            let is_capture = path.extension().is_some_and(|extension| extension == "jsonl");
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => match std::fs::read_dir(&path) {
                    Ok(inside) => folders.push((path, inside)),
                    Err(error) => found.unreadable.push((path, error)),
                },
                Ok(_) if !is_capture => {}
                Ok(_) => match std::fs::metadata(&path) {
                    Ok(metadata) if metadata.is_file() => found.files.push(path),
                    // neither folders behind links nor pipes, which could wait for ever
                    Ok(_) => {}
                    Err(error) => found.unreadable.push((path, error)),
                },
                Err(error) => found.unreadable.push((path, error)),
            }
        }
    }
    found.files.sort();
    found.unreadable.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::event::Kind;
    use crate::trace::{Options, Recorder};

    fn recorded() -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let recorder = Recorder::new(Options { output: Some(path.clone()), ..Options::default() }).unwrap();
        recorder.span(Kind::Tool, "t", Value::from(1)).end(Value::from(2));
        recorder.finish();
        std::fs::read(path).unwrap()
    }

    #[test]
    fn every_prefix_is_read_as_far_as_it_goes() {
        let whole = recorded();
        let full = parse(&whole[..]).unwrap();
        assert_eq!((full.events.len(), full.summary.is_some(), full.errors.len()), (2, true, 0));
        for cut in 0..whole.len() {
            let part = parse(&whole[..cut]).unwrap();
            let lines = whole[..cut].iter().filter(|&&b| b == b'\n').count();
            assert_eq!(part.events.len(), lines.min(2));
            assert!(part.summary.is_none());
            assert_eq!(part.errors.len(), usize::from(cut > 0 && whole[cut - 1] != b'\n'));
        }
    }

    #[test]
    fn damage_is_named_by_line() {
        let text = String::from_utf8(recorded()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let damaged = format!("{}\n{{]\n[]\n{{\"version\":2}}\n{}\n{}\n{}\n", lines[1], lines[0], lines[2], lines[0]);
        let capture = parse(damaged.as_bytes()).unwrap();
        let at: Vec<u64> = capture.errors.iter().map(|error| error.line).collect();
        assert_eq!(at, [1, 2, 3, 4, 5, 7, 7]);
        assert_eq!(capture.events.len(), 3);
    }
}
