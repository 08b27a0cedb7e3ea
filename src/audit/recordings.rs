//! Recordings without a seal against those of the base revision: whether each is still there and begins as it did.
//!
//! Two transcripts are compared call by call, for only calls count. Of what other tools record, the text is compared: what
//! it means is not known before all of it is read, and nothing rewrites the lines it has written.

use super::changes::about;
use super::outcome::detect_layout;
use crate::finding::{Finding, Level};
use crate::formats::{self, Opening};
use crate::json::{self, Scratch};
use crate::limits::Budget;
use crate::rules::RECORDING_REWRITTEN;
use crate::transcript::{Layout, ReadError, Record, Records, utf16_width};
use std::io::{self, BufReader, Read};
use std::path::Path;

/// A file's content.
type Source = Box<dyn Read + Send>;

/// Whether a file's content is a recording, and no sealed transcript. What cannot be read is none.
///
/// # Errors
/// A read that failed.
pub fn is_recording(source: impl Read + Send + 'static, path: &Path) -> io::Result<bool> {
    match formats::open(Box::new(source), Some(path), &formats::Options::default()) {
        Ok(Opening::Native(source)) => Ok(native(source)?.0),
        Ok(Opening::Foreign(_)) => Ok(true),
        Err(formats::ImportError::Io(error)) => Err(error),
        Ok(Opening::Unknown(..) | Opening::Other(..)) | Err(_) => Ok(false),
    }
}

/// Whether a text is a transcript by its first record, and the text from its start.
fn native(source: Source) -> io::Result<(bool, Source)> {
    let (layout, mut source) = detect_layout(source)?;
    let mut start = Vec::new();
    source.by_ref().take(64 << 10).read_to_end(&mut start)?;
    let line = start.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let is_record = json::members(line, &["tool", "args"], &mut Scratch::default())
        .is_ok_and(|members| members.values.iter().all(Option::is_some));
    let whole = Box::new(io::Cursor::new(start).chain(source));
    Ok((layout == Layout::Transcript && is_record, whole))
}

/// Compares a recording with that of the base revision: a finding if it is not that one continued.
///
/// # Errors
/// A read that failed.
pub fn recording_kept(
    base: impl Read + Send + 'static,
    head: impl Read + Send + 'static,
) -> io::Result<Option<Finding>> {
    let budget = Budget::default();
    let (was_native, base) = native(formats::unpacked(Box::new(base), &budget)?)?;
    let (is_native, head) = native(formats::unpacked(Box::new(head), &budget)?)?;
    let changed = if was_native && is_native { calls(base, head)? } else { text(base, head)? };
    Ok(changed.map(|FirstChange { index, line, width, what }| {
        let detail = format!("it is not the base revision's recording continued: {what}");
        Finding { index, line, width, ..about(&RECORDING_REWRITTEN, RECORDING_REWRITTEN.level, &what, detail) }
    }))
}

/// The finding for a recording of the base revision that is gone, or is now at `moved_to`, where nothing is audited.
#[must_use]
pub fn recording_gone(moved_to: Option<&str>, replaced: bool) -> Finding {
    let what = match moved_to {
        Some(path) => format!("was moved to {path}, which is not among the audited files"),
        None if replaced => "is no regular file any more".to_owned(),
        None => "is gone".to_owned(),
    };
    about(&RECORDING_REWRITTEN, RECORDING_REWRITTEN.level, &what, format!("the base revision's recording {what}"))
}

/// The finding for a transcript that has no seal beside it any more, while the seal itself went on elsewhere.
#[must_use]
pub fn seal_went(name: &str) -> Finding {
    let detail =
        format!("its seal, {name}, stood beside it in the base revision and is not there any more: nothing holds it");
    about(&RECORDING_REWRITTEN, RECORDING_REWRITTEN.level, name, detail)
}

/// The finding for a file of which the checkout changed bytes: on which line, and by what. Line ends alone change no call.
#[must_use]
pub fn changed_in_checkout(line: u64, how: &str, only_line_ends: bool) -> Finding {
    let level = if only_line_ends { Level::Note } else { RECORDING_REWRITTEN.level };
    let detail = format!("what is checked out is not what was committed: {how}");
    Finding { line, ..about(&RECORDING_REWRITTEN, level, how, detail) }
}

/// Where two recordings part.
struct FirstChange {
    index: Option<u64>,
    line: u64,
    width: u32,
    what: String,
}

fn calls(base: Source, head: Source) -> io::Result<Option<FirstChange>> {
    let (mut base, mut head) = (Records::new(base, Layout::Transcript), Records::new(head, Layout::Transcript));
    let (mut index, mut last) = (0, 0);
    loop {
        let old = match base.next_record() {
            Ok(Some(old)) => old,
            // from a line on that was no record there, nothing was judged there
            Ok(None) | Err(ReadError::Record { .. }) => return Ok(None),
            Err(ReadError::Io { error, .. }) => return Err(error),
        };
        let changed = |line, width, what: String| Ok(Some(FirstChange { index: Some(index), line, width, what }));
        match head.next_record() {
            Ok(None) => return changed(last, 0, format!("it was cut: it ends before index {index}")),
            Ok(Some(new)) if !same_call(&old, &new) => {
                return changed(new.line, utf16_width(new.text), format!("the call at index {index} is another one"));
            }
            Ok(Some(new)) => last = new.line,
            // it is reported as malformed besides
            Err(error @ ReadError::Record { .. }) => {
                return changed(error.line(), 0, format!("no call can be read at index {index}"));
            }
            Err(ReadError::Io { error, .. }) => return Err(error),
        }
        index += 1;
    }
}

fn same_call(one: &Record<'_>, other: &Record<'_>) -> bool {
    one.tool().to_vec() == other.tool().to_vec()
        && one.args().to_vec() == other.args().to_vec()
        && one.response().to_vec() == other.response().to_vec()
}

/// Compares texts but for carriage returns, which git may add or take away.
fn text(base: Source, head: Source) -> io::Result<Option<FirstChange>> {
    let bytes = |source| BufReader::with_capacity(256 << 10, source).bytes().filter(|byte| !matches!(byte, Ok(b'\r')));
    let (mut base, mut head, mut line) = (bytes(base), bytes(head), 1);
    loop {
        let what = match (base.next().transpose()?, head.next().transpose()?) {
            (None, _) => return Ok(None),
            (Some(old), Some(new)) if old == new => {
                line += u64::from(old == b'\n');
                continue;
            }
            // only the last line's end is gone
            (Some(b'\n'), None) if base.next().transpose()?.is_none() => return Ok(None),
            (Some(_), None) => format!("it was cut: it ends in line {line}"),
            (Some(_), Some(_)) => format!("line {line} is another one"),
        };
        return Ok(Some(FirstChange { index: None, line, width: 0, what }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn kept(base: &str, head: &str) -> Option<String> {
        let source = |text: &str| Cursor::new(text.as_bytes().to_vec());
        recording_kept(source(base), source(head))
            .unwrap()
            .map(|finding| format!("{}: {}", finding.line, finding.message()))
    }

    fn record(index: usize, tool: &str) -> String {
        format!("{{\"index\":{index},\"tool\":\"{tool}\",\"args\":{{}},\"response\":{{}}}}\n")
    }

    #[test]
    fn a_transcript_may_only_grow() {
        let two = record(0, "a") + &record(1, "b");
        assert_eq!(kept(&two, &two), None);
        assert_eq!(kept(&two, &(two.clone() + &record(2, "c"))), None);
        assert_eq!(
            kept(&two, &two.replace(',', " , ").replace('\n', "\r\n\n")),
            None,
            "the same calls, spelled otherwise"
        );
        let prefix = "it is not the base revision's recording continued: ";
        for (head, place, words) in [
            (record(0, "a"), 1, "it was cut: it ends before index 1"),
            (record(0, "a") + &record(1, "x"), 2, "the call at index 1 is another one"),
            (record(0, "x") + &two, 1, "the call at index 0 is another one"),
            (record(0, "a") + "{}\n", 2, "no call can be read at index 1"),
        ] {
            assert_eq!(kept(&two, &head), Some(format!("{place}: {prefix}{words}")));
        }
        assert!(kept(&two, "").unwrap().contains("it was cut"));
    }

    #[test]
    fn another_recording_may_only_grow_line_by_line() {
        let log = "{\"type\":\"a\"}\n{\"type\":\"b\"}\n";
        assert_eq!(kept(log, log), None);
        assert_eq!(kept(log, &log.replace('\n', "\r\n")), None);
        assert_eq!(kept(log, log.trim_end()), None);
        assert_eq!(kept(log, &format!("{log}{{\"type\":\"c\"}}")), None);
        assert!(
            kept(log, "{\"type\":\"a\"}\n")
                .unwrap()
                .contains("2: it is not the base revision's recording continued: it was cut")
        );
        assert!(kept(log, &log.replace("\"b\"", "\"x\"")).unwrap().contains("line 2 is another one"));
        assert!(kept(log, &record(0, "a")).unwrap().contains("line 1 is another one"));
    }

    #[test]
    fn recordings_are_told_by_their_content() {
        let is = |text: &'static str| is_recording(text.as_bytes(), Path::new("a.jsonl")).unwrap();
        assert!(is("{\"index\":0,\"tool\":\"t\",\"args\":{},\"response\":{}}\n"));
        for other in [
            "",
            "text\n",
            "{}\n",
            "{\"a\":1}\n",
            "{\"args\":{},\"digest\":\"\",\"index\":0,\"prev\":\"\",\"response\":{},\"tool\":\"t\"}\n",
        ] {
            assert!(!is(other), "{other}");
        }
    }
}
