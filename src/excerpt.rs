//! What was called, on one line: the argument of a call that says most about it, ready to be shown; and of two answers
//! the first place in which they differ.
//!
//! Secrets are masked before anything is cut, so that no half of one is left over. Hidden characters become escapes after
//! that, and what is too long is cut last, around what matters. All of it is bounded, whatever the call holds.

use crate::json::view::{self, Value};
use crate::json::{canonical_string, decode_lossless};
use crate::sanitize::visible;
use crate::secrets::{Finder, Kind, MASK};
use std::borrow::Cow;
use std::ops::Range;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// How many findings of one file have an excerpt: a file of nothing but findings must not be kept in memory.
pub const MOST: usize = 1_000;

/// The columns of an excerpt that are kept; a terminal shows fewer.
const COLUMNS: usize = 320;

/// Values longer than this, in bytes, are not shown, but named.
const MOST_READ: usize = 256 << 10;

/// A line that is safe to show, and the part of it that matters.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// The line: secrets masked, hidden characters escaped, too long ones cut with an ellipsis.
    pub text: String,
    /// The part that matters, in bytes of the text. Empty: what matters is missing at that place.
    pub mark: Option<Range<usize>>,
}

impl Line {
    /// A text as a line. Secrets in it must be masked already.
    fn of(text: &str, mark: Option<Range<usize>>) -> Line {
        // hidden characters are replaced one by one, from left to right: what stands before a place stays before it
        let at = |end: usize| visible(&text[..end]).len();
        let mark = mark.map(|mark| at(mark.start)..at(mark.end));
        Line { text: visible(text).into_owned(), mark }.fit(COLUMNS)
    }

    /// The line on so many columns of a terminal: cut on both sides of its mark, with an ellipsis where something is
    /// missing.
    #[must_use]
    pub fn fit(&self, columns: usize) -> Line {
        if self.text.len() <= columns || self.text.width() <= columns {
            return self.clone();
        }
        let columns = columns.max(8);
        let mark = self.mark.clone().unwrap_or(0..0);
        let before = self.text.get(..mark.start).unwrap_or_default().width();
        let marked = self.text.get(mark.clone()).unwrap_or_default().width();
        // a third of the room is left to what stands before the mark
        let skip = if before + marked.min(columns / 2) < columns { 0 } else { before.saturating_sub(columns / 3) };
        let (mut from, mut passed) = (0, 0);
        for (at, char) in self.text.char_indices() {
            if passed >= skip {
                break;
            }
            passed += char.width().unwrap_or(0);
            from = at + char.len_utf8();
        }
        let lead = if from > 0 { "…" } else { "" };
        let room = columns - lead.width() - 1;
        let (mut to, mut used) = (from, 0);
        for (at, char) in self.text[from..].char_indices() {
            used += char.width().unwrap_or(0);
            if used > room {
                break;
            }
            to = from + at + char.len_utf8();
        }
        let rest = if to < self.text.len() { "…" } else { "" };
        let place = |at: usize| at.clamp(from, to) - from + lead.len();
        Line {
            text: format!("{lead}{}{rest}", &self.text[from..to]),
            mark: self.mark.as_ref().map(|mark| place(mark.start)..place(mark.end)),
        }
    }

    /// The columns before the mark, and those of it: at least one.
    #[must_use]
    pub fn columns(&self) -> Option<(usize, usize)> {
        let mark = self.mark.clone()?;
        let before = self.text.get(..mark.start)?.width();
        Some((before, self.text.get(mark)?.width().max(1)))
    }

    /// The mark in characters: where it starts, from 0, and how long it is.
    #[must_use]
    pub fn characters(&self) -> Option<(usize, usize)> {
        let mark = self.mark.clone()?;
        let before = self.text.get(..mark.start)?.chars().count();
        Some((before, self.text.get(mark)?.chars().count()))
    }
}

/// What of a call is to be shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct Focus<'a> {
    /// The argument that it is about, as a JSON Pointer; empty: whichever says most.
    pub argument: &'a str,
    /// The part of that argument; empty: all of it.
    pub part: &'a str,
}

/// What was called, on one line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpt {
    /// The argument that is shown, as a JSON Pointer; empty: all arguments.
    pub argument: String,
    /// What it says.
    pub call: Line,
    /// Where the answer differs from the earlier one, if the finding is about that.
    pub difference: Option<Difference>,
}

/// Where two answers differ first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    /// The JSON Pointer of the place; empty: the answers as wholes.
    pub pointer: String,
    /// The line within the text that stands there, from 1; 0: it has but one.
    pub line: u64,
    /// What the earlier answer says there.
    pub before: Line,
    /// What this one says.
    pub now: Line,
}

/// Arguments that say what a call is about, those first that say most.
const DECISIVE: &[&str] = &[
    "command",
    "cmd",
    "shell_command",
    "script",
    "url",
    "uri",
    "query",
    "pattern",
    "q",
    "file_path",
    "path",
    "filePath",
    "notebook_path",
    "absolute_path",
    "target_file",
    "filename",
    "filepath",
    "file",
    "sql",
    "code",
    "prompt",
];

impl Excerpt {
    /// The excerpt of a call's arguments, which are an object in canonical form.
    #[must_use]
    pub fn of(arguments: &[u8], focus: Focus<'_>) -> Excerpt {
        let Ok(object) = view::only_value(arguments) else { return Excerpt::default() };
        if let Some(value) = (!focus.argument.is_empty()).then(|| object.pointer(focus.argument)).flatten()
            && let Some(text) = masked(&last_segment(focus.argument), value)
        {
            let mark = place_of(&text, focus.part);
            return Excerpt { argument: focus.argument.to_owned(), call: Line::of(&text, mark), difference: None };
        }
        let (argument, text) = decisive(object);
        Excerpt { argument, call: Line::of(&text, None), difference: None }
    }
}

/// The line of a file that an error is about, with a mark from its column to the end of the word.
#[must_use]
pub fn of_source(text: &[u8], line: u64, column: u64) -> Option<Line> {
    let at = usize::try_from(line.checked_sub(1)?).ok()?;
    let line = text.split(|byte| *byte == b'\n').nth(at)?;
    let line = mask_text(&String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)));
    let start = line.char_indices().nth(usize::try_from(column.checked_sub(1)?).ok()?).map_or(line.len(), |(at, _)| at);
    let word = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.' | '"' | '\'');
    let length = line[start..].find(|char| !word(char)).unwrap_or(line.len() - start);
    let first = line[start..].chars().next().map_or(0, char::len_utf8);
    Some(Line::of(&line, Some(start..start + length.max(first))))
}

/// A call's arguments on one line: the decisive one, or all of them.
#[must_use]
pub fn call(arguments: &[u8]) -> Line {
    Excerpt::of(arguments, Focus::default()).call
}

/// The argument that says most, and what it says; without one all of them, as JSON.
fn decisive(object: Value<'_>) -> (String, String) {
    let says = |value: Value<'_>| match value.as_str() {
        Some(text) => !text.trim().is_empty(),
        None => value.is_array() && value.items().next().is_some_and(Value::is_string),
    };
    let mut members = object.members();
    let only = match (members.next(), members.next()) {
        (Some((key, value)), None) => Some((key.name(), value)),
        _ => None,
    };
    let named =
        DECISIVE.iter().find_map(|name| object.get(name).filter(|value| says(*value)).map(|value| (*name, value)));
    let chosen = named.map(|(name, value)| (Cow::Borrowed(name), value)).or(only.filter(|(_, value)| says(*value)));
    if let Some((name, value)) = chosen
        && let Some(text) = masked(&name, value)
    {
        return (format!("/{}", name.replace('~', "~0").replace('/', "~1")), text);
    }
    (String::new(), masked("", object).unwrap_or_else(|| sizes(object)))
}

/// Arguments that are too long to be read, by their names and sizes.
fn sizes(object: Value<'_>) -> String {
    let sizes: Vec<String> = object
        .members()
        .take(20)
        .map(|(key, value)| {
            let name: String = key.name().chars().take(40).collect();
            format!("{name} ({} bytes)", value.text().len())
        })
        .collect();
    mask_text(&sizes.join(", "))
}

/// What a value of this name says, without its secrets. `None`: it is too long to be read.
fn masked(name: &str, value: Value<'_>) -> Option<String> {
    if value.text().len() > MOST_READ {
        return None;
    }
    let name = canonical_string(name);
    let mut json = [b"{", &name[..], b":", value.text(), b"}"].concat();
    let found = Finder::default().find_in_json(&json);
    for one in found.iter().rev() {
        let mask = if one.kind == Kind::Bare { format!("\"{MASK}\"") } else { MASK.to_owned() };
        json.splice(one.range.clone(), mask.into_bytes());
    }
    // what is no JSON any more holds a secret that does not end where a string does
    let Some((_, value)) = view::only_value(&json).ok().and_then(|object| object.members().next()) else {
        return Some(MASK.to_owned());
    };
    Some(said(value))
}

/// What a value says: a string its text, a list of strings those with spaces between, all else its JSON.
fn said(value: Value<'_>) -> String {
    if value.is_string() {
        return decode_lossless(value.text());
    }
    if value.is_array() {
        let words: Vec<Value<'_>> = value.items().collect();
        if !words.is_empty() && words.iter().all(|word| word.is_string()) {
            return words.iter().map(|word| decode_lossless(word.text())).collect::<Vec<_>>().join(" ");
        }
    }
    readable(value)
}

/// JSON with its escapes undone where that keeps it on one line: letters of all languages are read as such.
fn readable(value: Value<'_>) -> String {
    let text = String::from_utf8_lossy(value.text()).into_owned();
    match text.contains("\\u") {
        true => serde_json::from_str::<serde_json::Value>(&text).map_or(text, |value| value.to_string()),
        false => text,
    }
}

/// A text without the secrets in it.
fn mask_text(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for one in Finder::default().find(text.as_bytes()).iter().rev() {
        bytes.splice(one.range.clone(), MASK.bytes());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Where a part stands in a text: all of the text where that is not sure.
fn place_of(text: &str, part: &str) -> Option<Range<usize>> {
    let part = part.strip_suffix('…').unwrap_or(part);
    let all = (!text.is_empty()).then_some(0..text.len());
    if part.is_empty() {
        return all;
    }
    let mut places = text.match_indices(part);
    match (places.next(), places.next()) {
        (Some((at, _)), None) => Some(at..at + part.len()),
        // every mask looks like the other: the first will do
        (Some((at, _)), Some(_)) if part == MASK => Some(at..at + part.len()),
        _ => all,
    }
}

fn last_segment(pointer: &str) -> String {
    pointer.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~")
}

impl Difference {
    /// Where two answers differ first: JSON, or texts. `None` where they do not, as far as can be shown.
    #[must_use]
    pub fn between(before: &[u8], now: &[u8]) -> Option<Difference> {
        if before == now {
            return None;
        }
        let (Ok(one), Ok(other)) = (view::only_value(before), view::only_value(now)) else {
            let (one, other) = (String::from_utf8_lossy(before), String::from_utf8_lossy(now));
            return Some(Difference::of_texts("", &one, &other));
        };
        let mut pointer = String::new();
        let (one, other) = apart(one, other, &mut pointer);
        let name = last_segment(&pointer);
        let (Some(one), Some(other)) = (one, other) else {
            let side = |value: Option<Value<'_>>| match value {
                Some(value) => {
                    let text = masked(&name, value).unwrap_or_else(|| format!("{} bytes", value.text().len()));
                    Line::of(&text, Some(0..text.len()))
                }
                None => Line::of("(not there)", Some(0..11)),
            };
            return Some(Difference { before: side(one), now: side(other), line: 0, pointer });
        };
        Some(match (masked(&name, one), masked(&name, other)) {
            (Some(one), Some(other)) => Difference::of_masked(&pointer, &one, &other),
            _ => Difference::of_texts(&pointer, &said(one), &said(other)),
        })
    }

    /// Of two texts of any length: only what stands around the first difference is looked at.
    fn of_texts(pointer: &str, before: &str, now: &str) -> Difference {
        let same = common(before, now);
        let from = (same.saturating_sub(AROUND)..=same).find(|at| before.is_char_boundary(*at)).unwrap_or(same);
        let lines = before[..from].matches('\n').count() as u64;
        let window = |text: &str| {
            let end = text.len().min(same + AROUND);
            let end = (end..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
            mask_text(&text[from..end])
        };
        let mut difference = Difference::of_masked(pointer, &window(before), &window(now));
        if difference.line > 0 || lines > 0 {
            difference.line = difference.line.max(1) + lines;
        }
        difference
    }

    /// Of two texts without secrets. Where these were all that differed, the texts are the same now.
    fn of_masked(pointer: &str, before: &str, now: &str) -> Difference {
        let same = common(before, now);
        let several = before.contains('\n') || now.contains('\n');
        let line = if several { before[..same].matches('\n').count() as u64 + 1 } else { 0 };
        let start = before[..same].rfind('\n').map_or(0, |at| at + 1);
        let of = |text: &str| {
            let end = text[same..].find('\n').map_or(text.len(), |at| same + at);
            text[start..end].to_owned()
        };
        let (one, other) = (of(before), of(now));
        let same = same - start;
        let tail = common_tail(&one[same..], &other[same..]);
        let side = |text: &str| Line::of(text, Some(same..text.len() - tail));
        Difference { pointer: pointer.to_owned(), line, before: side(&one), now: side(&other) }
    }
}

/// What is looked at on each side of a difference in long texts, in bytes: no key is longer.
const AROUND: usize = 32 << 10;

/// The bytes at which two texts start alike, in whole characters.
fn common(one: &str, other: &str) -> usize {
    let same = one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count();
    (0..=same).rev().find(|at| one.is_char_boundary(*at) && other.is_char_boundary(*at)).unwrap_or(0)
}

/// The bytes at which they end alike.
fn common_tail(one: &str, other: &str) -> usize {
    let same = one.bytes().rev().zip(other.bytes().rev()).take_while(|(one, other)| one == other).count();
    let border = |text: &str, tail: usize| text.is_char_boundary(text.len() - tail);
    (0..=same).rev().find(|tail| border(one, *tail) && border(other, *tail)).unwrap_or(0)
}

/// How deep the search for a difference goes.
const DEEPEST: usize = 64;

/// The innermost values in which two values differ first. The pointer grows on the way.
fn apart<'a>(mut one: Value<'a>, mut other: Value<'a>, pointer: &mut String) -> (Option<Value<'a>>, Option<Value<'a>>) {
    for _ in 0..DEEPEST {
        let next = if one.is_object() && other.is_object() {
            member_apart(one, other)
        } else if one.is_array() && other.is_array() {
            item_apart(one, other)
        } else {
            None
        };
        let Some((name, inner, outer)) = next else { break };
        pointer.push('/');
        pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        match (inner, outer) {
            (Some(inner), Some(outer)) => (one, other) = (inner, outer),
            missing => return missing,
        }
    }
    (Some(one), Some(other))
}

type Apart<'a> = Option<(Cow<'a, str>, Option<Value<'a>>, Option<Value<'a>>)>;

/// The first member that two objects in canonical form do not share.
fn member_apart<'a>(one: Value<'a>, other: Value<'a>) -> Apart<'a> {
    let (mut members, mut others) = (one.members(), other.members());
    loop {
        match (members.next(), others.next()) {
            (None, None) => return None,
            (Some((key, value)), None) => return Some((key.name(), Some(value), None)),
            (None, Some((key, value))) => return Some((key.name(), None, Some(value))),
            (Some((key, value)), Some((other_key, other_value))) => {
                if key.text() == other_key.text() {
                    if value.text() != other_value.text() {
                        return Some((key.name(), Some(value), Some(other_value)));
                    }
                    continue;
                }
                // keys are sorted: the smaller one is what the other object lacks
                return Some(match other.get(&key.name()).is_none() {
                    true => (key.name(), Some(value), None),
                    false => (other_key.name(), None, Some(other_value)),
                });
            }
        }
    }
}

fn item_apart<'a>(one: Value<'a>, other: Value<'a>) -> Apart<'a> {
    let (mut items, mut others) = (one.items(), other.items());
    for place in 0_usize.. {
        match (items.next(), others.next()) {
            (None, None) => return None,
            (Some(item), Some(other)) if item.text() == other.text() => {}
            (item, other) => return Some((place.to_string().into(), item, other)),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(arguments: &str, argument: &str, part: &str) -> (String, String) {
        let shown = Excerpt::of(arguments.as_bytes(), Focus { argument, part });
        let marked = shown.call.mark.clone().map(|mark| shown.call.text[mark].to_owned());
        (shown.call.text, marked.unwrap_or_default())
    }

    #[test]
    fn the_decisive_argument_is_shown() {
        for (arguments, shown) in [
            (r#"{"command":"git status","description":"look"}"#, "git status"),
            (r#"{"content":"long","file_path":"a.txt"}"#, "a.txt"),
            (r#"{"command":["bash","-lc","ls"]}"#, "bash -lc ls"),
            (r#"{"url":"https://docs.rs/x","prompt":"what"}"#, "https://docs.rs/x"),
            (r#"{"city":"Oslo"}"#, "Oslo"),
            (r#"{"a":1,"b":[2]}"#, r#"{"a":1,"b":[2]}"#),
            (r#"{"a":"gr\u00f6\u00dfe","b":1}"#, r#"{"a":"größe","b":1}"#),
            (r#"{"command":""}"#, r#"{"command":""}"#),
            ("{}", "{}"),
        ] {
            assert_eq!(excerpt(arguments, "", "").0, shown, "{arguments}");
        }
    }

    #[test]
    fn the_offending_part_is_marked() {
        let command = r#"{"command":"git status && rm -rf x"}"#;
        assert_eq!(excerpt(command, "/command", "rm -rf x").1, "rm -rf x");
        // where it is not sure which part it is, the whole argument is
        assert_eq!(excerpt(command, "/command", "rm -rf y").1, "git status && rm -rf x");
        assert_eq!(excerpt(r#"{"command":"rm x; rm x"}"#, "/command", "rm x").1, "rm x; rm x");
        // an argument that is not there leaves the decisive one, without a mark
        assert_eq!(excerpt(command, "/path", "x"), ("git status && rm -rf x".to_owned(), String::new()));
        assert_eq!(excerpt(r#"{"edits":[{"path":"/etc/hosts"}]}"#, "/edits/0/path", "").1, "/etc/hosts");
    }

    #[test]
    fn no_secret_is_shown_and_none_by_half() {
        let token = format!("ghp_{}", "kQ7vZ2mXr9TbW4nYc8HdLp3sJf6gAe1uRwTy");
        for (arguments, argument) in [
            (format!(r#"{{"command":"curl -H 'Authorization: Bearer {token}' x"}}"#), "/command"),
            (format!(r#"{{"command":"{} {token}"}}"#, "a".repeat(COLUMNS - 20)), "/command"),
            (format!(r#"{{"a":1,"nested":{{"password":"hunter2hunter2"}},"t":"{token}"}}"#), ""),
            (r#"{"password":"hunter2hunter2"}"#.to_owned(), ""),
            (format!(r#"{{"command":"x","content":"{token}"}}"#), "/content"),
        ] {
            let shown = Excerpt::of(arguments.as_bytes(), Focus { argument: "", part: "" }).call.text;
            let focused = excerpt(&arguments, argument, MASK).0;
            for text in [&shown, &focused] {
                assert!(!text.contains("kQ7vZ2") && !text.contains("hunter2"), "{text}");
            }
        }
        let (text, mark) = excerpt(&format!(r#"{{"command":"x","content":"a {token} b"}}"#), "/content", MASK);
        assert_eq!((text.as_str(), mark.as_str()), ("a [secret] b", MASK));
        let long = format!(r#"{{"content":"{token}{}"}}"#, "x".repeat(MOST_READ));
        assert_eq!(excerpt(&long, "/content", MASK).0, format!("content ({} bytes)", MOST_READ + 42));
    }

    #[test]
    fn hostile_text_is_shown_as_text() {
        let (text, mark) = excerpt(r#"{"command":"a\u001b[31m\n##[error]\u202e rm"}"#, "/command", "rm");
        assert_eq!((text.as_str(), mark.as_str()), (r"a\u001b[31m\n##\[error]\u202e rm", "rm"));
        assert_eq!(excerpt(r#"{"command":"\ud83d##[x"}"#, "", "").0, r"\ud83d##\[x");
    }

    #[test]
    fn lines_are_cut_around_their_mark() {
        let text = format!("{}MARK{}", "a".repeat(500), "b".repeat(500));
        let line = Line { text, mark: Some(500..504) };
        for columns in [8, 20, 79, 300] {
            let cut = line.fit(columns);
            assert!(cut.text.width() <= columns, "{columns}: {}", cut.text);
            assert_eq!(&cut.text[cut.mark.clone().unwrap()], "MARK");
            assert!(cut.text.starts_with('…') && cut.text.ends_with('…'));
        }
        let wide = Line { text: "漢字".repeat(100), mark: None }.fit(21);
        assert!(wide.text.width() <= 21 && wide.text.ends_with('…'));
        let short = Line { text: "abc".to_owned(), mark: Some(3..3) };
        assert_eq!((short.fit(8), short.columns()), (short.clone(), Some((3, 1))));
    }

    #[test]
    fn an_error_is_shown_in_its_line() {
        let shown = |text: &str, line, column| {
            let line = of_source(text.as_bytes(), line, column).unwrap();
            (line.text.clone(), line.text[line.mark.unwrap()].to_owned())
        };
        let expected = |text: &str, mark: &str| (text.to_owned(), mark.to_owned());
        assert_eq!(shown("a\r\nfail_on = 1\r\n", 2, 1), expected("fail_on = 1", "fail_on"));
        assert_eq!(shown("{\"x\": 1}", 1, 1), expected("{\"x\": 1}", "{"));
        assert_eq!(shown("größe = x", 1, 9), expected("größe = x", "x"));
        assert_eq!(shown("x", 1, 40), expected("x", ""));
        assert!(of_source(b"x", 3, 1).is_none() && of_source(b"x", 0, 0).is_none());
    }

    #[test]
    fn answers_differ_at_a_place() {
        let of = |before: &str, now: &str| {
            let Difference { pointer, line, before, now } =
                Difference::between(before.as_bytes(), now.as_bytes()).unwrap();
            let marked = |line: &Line| format!("{}|{}", line.text, &line.text[line.mark.clone().unwrap()]);
            (pointer, line, marked(&before), marked(&now))
        };
        let expected = |pointer: &str, line, before: &str, now: &str| {
            (pointer.to_owned(), line, before.to_owned(), now.to_owned())
        };
        assert_eq!(of(r#"{"hits":3}"#, r#"{"hits":7}"#), expected("/hits", 0, "3|3", "7|7"));
        assert_eq!(
            of(r#"{"content":"one\n12 passed\n"}"#, r#"{"content":"one\n11 passed\n"}"#),
            expected("/content", 2, "12 passed|2", "11 passed|1")
        );
        assert_eq!(of(r#"{"a":[1,2]}"#, r#"{"a":[1]}"#), expected("/a/1", 0, "2|2", "(not there)|(not there)"));
        assert_eq!(of(r#"{"b":1}"#, r#"{"a":2,"b":1}"#), expected("/a", 0, "(not there)|(not there)", "2|2"));
        assert_eq!(of(r#"{"a":2,"b":1}"#, r#"{"b":1}"#), expected("/a", 0, "2|2", "(not there)|(not there)"));
        assert_eq!(of("abc", "abcd"), expected("", 0, "abc|", "abcd|d"));
        assert_eq!(of(r#""é""#, r#""è""#), expected("", 0, "é|é", "è|è"));
        assert!(Difference::between(b"{}", b"{}").is_none());
        // nothing of a secret is shown where it is all that differs
        let (_, _, before, now) = of(r#"{"password":"hunter2hunter2"}"#, r#"{"password":"hunter3hunter3"}"#);
        assert!(!before.contains("hunter") && !now.contains("hunter"), "{before} {now}");
    }

    #[test]
    fn long_answers_are_read_around_the_difference() {
        let (one, other) = (format!("{}x\n", "line\n".repeat(100_000)), format!("{}y\n", "line\n".repeat(100_000)));
        let difference = Difference::between(one.as_bytes(), other.as_bytes()).unwrap();
        assert_eq!((difference.line, difference.now.text.as_str()), (100_001, "y"));
    }
}
