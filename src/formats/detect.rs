//! Which format a file is in, by its content: names lie, and first lines are often damaged.
//!
//! A file is one JSON document or lines; every format says of one value whether that looks like it. Lines vote. What is
//! not clear is not guessed.

use super::format::{Format, From};
use super::known::FORMATS;
use super::stranger::{self, Kind, LONG, shortened};
use crate::json::view::{self, Value, Wrong};
use std::borrow::Cow;

/// Lines that vote.
const VOTERS: usize = 50;

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One value a line.
    Lines,
    /// One value, however many lines it has.
    Document,
}

/// What a file is.
#[derive(Debug, Clone)]
pub(crate) enum Guess {
    /// A transcript, sealed or not.
    Native,
    /// A format that an importer reads, and why we think so.
    Foreign(&'static Format, Shape, String),
    /// No format is known that it could be: why, and what it is instead.
    Unknown(String, Kind),
    /// More than one format, or one that cannot be read.
    Refused(String),
    /// Something that is known, and is no recording.
    Other(&'static str),
    /// The whole file must be seen.
    More,
}

/// Guesses from the start of a file. `complete`: the start is the whole file.
pub(crate) fn guess(head: &[u8], complete: bool, from: Option<From>) -> Guess {
    if matches!(from, Some(From::Native)) {
        return Guess::Native;
    }
    let lines = lines(head, complete);
    let Some(first) = lines.first() else {
        return match (from, complete) {
            (_, false) => Guess::More,
            (Some(From::Format(importer)), true) => {
                Guess::Foreign(importer, Shape::Lines, "the format was named".to_owned())
            }
            // an empty file is an empty transcript
            (_, true) => Guess::Native,
        };
    };
    let short: Vec<Cow<'_, [u8]>> = lines
        .iter()
        .map(|line| if line.len() > LONG { Cow::Owned(shortened(line)) } else { Cow::Borrowed(*line) })
        .collect();
    let voters: Vec<Option<Value<'_>>> = short.iter().map(|line| line_value(line, from)).collect();
    let read = voters.iter().flatten().count();
    let open = matches!(first.trim_ascii_start().first(), Some(b'{' | b'['));
    if open && voters[0].is_none() && read * 2 < lines.len() {
        // a document over several lines, or a line that is not whole
        if !complete {
            return Guess::More;
        }
        return match view::only_value(head.trim_ascii_end()) {
            Ok(document) if document.text().len() > LONG => {
                let short = shortened(document.text());
                one_document(view::only_value(&short).unwrap_or(document), from)
            }
            Ok(document) => one_document(document, from),
            Err(_) if several(head).is_some() => match (from, several(head).unwrap_or_default()) {
                (Some(From::Format(importer)), _) => {
                    Guess::Foreign(importer, Shape::Document, "the format was named".to_owned())
                }
                (_, values) => match vote(&values, values.len()) {
                    Guess::Foreign(importer, _, reason) => Guess::Foreign(
                        importer,
                        Shape::Document,
                        reason.replacen("lines", "values, each over several lines,", 1),
                    ),
                    guess => guess,
                },
            },
            Err(fault) => match from {
                Some(From::Format(importer)) => {
                    Guess::Foreign(importer, Shape::Lines, "the format was named".to_owned())
                }
                _ => {
                    let at = fault.offset + 1;
                    let what =
                        "neither JSON Lines nor one JSON document: the document breaks off or is damaged at byte";
                    Guess::Unknown(format!("{what} {at}"), Kind::Damaged)
                }
            },
        };
    }
    if let (&[Some(value)], true) = (&voters[..], complete)
        && is_alone(first)
    {
        let guess = one_document(value, from);
        // a line with something of a transcript is explained by the reader of those
        let is_list = value.items().next().is_some_and(Value::is_object);
        if !matches!(guess, Guess::Unknown(..)) || is_list || is_unrelated(value) {
            return guess;
        }
    }
    if let Some(From::Format(importer)) = from {
        return Guess::Foreign(importer, Shape::Lines, "the format was named".to_owned());
    }
    vote(&voters, read)
}

/// The fields of a record.
const FIELDS: [&str; 4] = ["index", "tool", "args", "response"];

/// Whether a value is a record of something that has nothing in common with a transcript: words such as `index` and
/// `response` are used by others too.
fn is_unrelated(value: Value<'_>) -> bool {
    let [_, tool, args, _] = value.fields(&FIELDS);
    tool.is_none() && args.is_none() && value.members().any(|(name, _)| !FIELDS.contains(&&*name.name()))
}

/// The first values of a text that holds nothing but values, more than one: records that somebody printed for people.
fn several(text: &[u8]) -> Option<Vec<Option<Value<'_>>>> {
    let values = view::values(text).ok()?;
    (values.len() > 1).then(|| values.into_iter().take(VOTERS).map(Some).collect())
}

/// Lines that are not blank.
fn lines(head: &[u8], complete: bool) -> Vec<&[u8]> {
    let whole = match memchr::memrchr(b'\n', head) {
        _ if complete => head,
        Some(end) => &head[..end],
        None => return Vec::new(),
    };
    let lines = whole.split(|byte| *byte == b'\n').map(trim_nul);
    lines.filter(|line| !line.trim_ascii().is_empty()).take(VOTERS).collect()
}

fn trim_nul(mut line: &[u8]) -> &[u8] {
    while let [0, rest @ ..] = line {
        line = rest;
    }
    line
}

fn is_alone(line: &[u8]) -> bool {
    view::only_value(line).is_ok()
}

/// The first value of a line, also behind what a log writes before it.
fn line_value(line: &[u8], from: Option<From>) -> Option<Value<'_>> {
    let strip = |importer: &Format| importer.strip.and_then(|strip| strip(line));
    let text = match from {
        Some(From::Format(importer)) => strip(importer),
        _ => FORMATS.iter().find_map(|importer| strip(importer)),
    };
    let (value, rest) = view::first_value(text.unwrap_or(line)).ok()?;
    // an item of a document that has one on each line is no line of its own
    if matches!(rest.trim_ascii_start().first(), Some(b',' | b']')) {
        return None;
    }
    (value.is_object() || value.is_array()).then_some(value)
}

fn one_document(document: Value<'_>, from: Option<From>) -> Guess {
    if let Some(From::Format(importer)) = from {
        return Guess::Foreign(importer, Shape::Document, "the format was named".to_owned());
    }
    if document.items().next().is_some_and(|item| item.get("episode").is_some() && item.get("prompt").is_some()) {
        return Guess::Other(
            "a raw dump of episodes and prompts, which holds no structured calls; name the agent's trajectory instead",
        );
    }
    let found: Vec<(&'static Format, &'static str)> = FORMATS
        .iter()
        .filter_map(|importer| (importer.recognise)(document, true).map(|reason| (*importer, reason)))
        .collect();
    match found[..] {
        [] if is_native(document) => Guess::Native,
        [] => {
            let what = format!("valid JSON in no known format: {}", stranger::described(document));
            Guess::Unknown(what, Kind::Document)
        }
        [(importer, reason)] => Guess::Foreign(importer, Shape::Document, format!("one document {reason}")),
        _ => {
            let names: Vec<&str> = found.iter().map(|(importer, _)| importer.id).collect();
            Guess::Refused(format!("more than one format fits: {}; name one with --from", names.join(", ")))
        }
    }
}

/// A record of a transcript, or one that is meant to be.
fn is_native(value: Value<'_>) -> bool {
    let found = value.fields(&FIELDS);
    found.iter().flatten().count() >= 2 && !is_unrelated(value)
}

/// Whether a line is a record of a transcript, or begins like one where its end is not read yet: then nobody else is
/// asked.
pub(crate) fn is_record(line: &[u8]) -> bool {
    const NAMES: [&str; 6] = ["index", "tool", "args", "response", "prev", "digest"];
    let mut members = Vec::new();
    let Err(fault) = view::first_object(line, &mut members) else {
        let whole = view::only_value(line);
        return whole.is_ok_and(|value| value.fields(&FIELDS).iter().all(Option::is_some));
    };
    let names = view::names_so_far(line, &members);
    fault.wrong == Wrong::Truncated && !names.is_empty() && names.iter().all(|name| NAMES.contains(&&**name))
}

/// Why a line is a record of some format, if it is: of a transcript, or of one that an importer reads.
pub(crate) fn format_of(line: &[u8]) -> Option<&'static str> {
    let short = if line.len() > LONG { Cow::Owned(shortened(line)) } else { Cow::Borrowed(line) };
    let value = line_value(trim_nul(&short), None)?;
    let found = FORMATS.iter().find(|format| (format.recognise)(value, false).is_some()).map(|format| format.id);
    found.or_else(|| is_native(value).then_some("native"))
}

fn vote(voters: &[Option<Value<'_>>], read: usize) -> Guess {
    let mut votes: Vec<(&'static Format, usize, &'static str)> = Vec::new();
    let (mut native, mut opinions) = (0_usize, 0_usize);
    for value in voters.iter().flatten() {
        let mut any = false;
        for importer in FORMATS {
            let Some(reason) = (importer.recognise)(*value, false) else { continue };
            any = true;
            match votes.iter_mut().find(|(other, ..)| other.id == importer.id) {
                Some((_, count, _)) => *count += 1,
                None => votes.push((importer, 1, reason)),
            }
        }
        if !any && is_native(*value) {
            native += 1;
            any = true;
        }
        opinions += usize::from(any);
    }
    votes.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
    let candidates = || {
        let mut names: Vec<String> =
            votes.iter().map(|(importer, count, _)| format!("{} ({count})", importer.id)).collect();
        if native > 0 {
            names.push(format!("native ({native})"));
        }
        names.join(", ")
    };
    match votes[..] {
        _ if opinions == 0 && read == 0 => Guess::Unknown("no line of it is a JSON object".to_owned(), Kind::Damaged),
        _ if opinions == 0 => {
            let unrelated = read == voters.len() && voters.iter().flatten().all(|value| is_unrelated(*value));
            let lines = if read == 1 { "its one JSON line fits no" } else { "none of its first JSON lines fits a" };
            let first = voters.iter().flatten().next().map(|value| stranger::described(*value)).unwrap_or_default();
            let kind = if unrelated { Kind::Lines } else { Kind::Damaged };
            Guess::Unknown(format!("{lines} known format: {first}"), kind)
        }
        [] => Guess::Native,
        [(_, best, _), ..] if native >= best => Guess::Native,
        [(_, best, _), (_, second, _), ..] if best == second => Guess::Refused(format!(
            "its lines fit more than one format equally well: {}; name one with --from",
            candidates()
        )),
        [(_, best, _), ..] if best * 5 < opinions * 4 => Guess::Refused(format!(
            "only {best} of the {opinions} lines that fit any format agree: {}; name one with --from",
            candidates()
        )),
        [(importer, best, reason), ..] => {
            let plural = if voters.len() == 1 { "line" } else { "lines" };
            Guess::Foreign(importer, Shape::Lines, format!("{best} of {} {plural} {reason}", voters.len()))
        }
    }
}
