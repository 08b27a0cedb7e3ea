//! Secrets that show by what stands before them: a name and `=` or `:`, a header, an option, a query parameter, the tag
//! of an element.

use super::checks::is_random;
use super::class::{Class, begins_word, is_word};
use super::examples::{is_example, is_hole};
use super::found::{Certainty, Found, Kind};
use super::names::{LONGEST, Naming, naming};
use aho_corasick::{AhoCorasick, MatchKind};
use std::ops::Range;
use std::sync::LazyLock;

/// Parts of names; the whole name is read around them.
const NAMES: &[&str] = &[
    "key",
    "token",
    "secret",
    "passw",
    "pass",
    "pwd",
    "passphrase",
    "auth",
    "cookie",
    "cred",
    "sig=",
    "signature=",
    "code_verifier=",
    "dsn",
];
/// Authentication schemes.
const SCHEMES: &[&str] = &["bearer ", "basic "];
/// Options that mean a password only in some commands.
const OPTIONS: &[&str] = &[" -u", " --user", " -p", " -a ", " -w ", " -b "];

static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(NAMES.iter().chain(SCHEMES).chain(OPTIONS))
        .ok()
});

/// A stretch of the text, whose secret it is, how sure that is.
type Hit = (Range<usize>, &'static str, Certainty);

pub(super) fn may_hold(text: &[u8]) -> bool {
    WORDS.as_ref().is_none_or(|words| words.is_match(text))
}

/// Appends the secrets that show by what stands before them.
pub(super) fn find(text: &[u8], base: usize, out: &mut Vec<Found>) {
    let Some(words) = WORDS.as_ref() else { return };
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| words.find(rest)) {
        let (start, end) = (at + found.start(), at + found.end());
        let word = found.pattern().as_usize();
        let mut next = end;
        let hit = if word < NAMES.len() {
            let name = name_around(text, start, end, at);
            next = name.end.max(end);
            named(text, name)
        } else if word < NAMES.len() + SCHEMES.len() {
            scheme(text, start, end)
        } else {
            option(text, start, end)
        };
        if let Some((range, id, certainty)) = hit {
            next = next.max(range.end);
            let kind = if id == "url-secret" { Kind::Url } else { Kind::Assigned };
            out.push(Found { id, kind, range: base + range.start..base + range.end, certainty });
        }
        at = next;
    }
}

/// The whole name around a part of it; what was gone through is not looked at again.
fn name_around(text: &[u8], start: usize, end: usize, from: usize) -> Range<usize> {
    let inside = |byte: u8| is_word(byte) || matches!(byte, b'-' | b'.');
    let before = text[from..start].iter().rev().take(LONGEST).take_while(|&&byte| inside(byte)).count();
    // a pattern may end in the mark behind the name
    let end = if text[end - 1] == b'=' { end - 1 } else { end };
    let behind = text[end..].iter().take(LONGEST).take_while(|&&byte| inside(byte)).count();
    let begin = start - before;
    // `ESC [ 32 m` before it is a colour
    let code = text[begin..start].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let coloured = text[begin + code..start].first() == Some(&b'm') && begins_word(text, begin + code + 1);
    let begin = if coloured { begin + code + 1 } else { begin };
    begin..end + behind
}

fn named(text: &[u8], name: Range<usize>) -> Option<Hit> {
    // no name is followed by a letter; most words around a part are told by this
    let next = *text.get(name.end)?;
    if !matches!(next, b'=' | b':' | b'"' | b'\'' | b'`' | b'\\' | b' ' | b'\t' | b'>') {
        return None;
    }
    if next == b'='
        && (matches!(text[..name.start].last(), Some(b'?' | b'&')) || text[..name.start].ends_with(b"&amp;"))
        && let Some(hit) = query(text, &name)
    {
        return Some(hit);
    }
    if matches!(next, b'>' | b' ' | b'\t') && matches!(text[..name.start].last(), Some(b'<' | b':')) {
        return element(text, &name);
    }
    let word = &text[name.clone()];
    let bare = word.strip_prefix(b"--").unwrap_or(word);
    if next == b':' && is_any(bare, &["cookie", "set-cookie"]) {
        return line_value(text, name.end + 1, b"=").map(|range| (range, "cookie", Certainty::Possible));
    }
    if next == b':' && is_any(bare, &["authorization", "proxy-authorization"]) {
        return authorization(text, name.end + 1);
    }
    let naming = naming(word)?;
    assignment(text, &name, naming)
}

fn is_any(word: &[u8], names: &[&str]) -> bool {
    names.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
}

fn skip(text: &[u8], mut at: usize, what: &[u8]) -> usize {
    while text.get(at).is_some_and(|byte| what.contains(byte)) {
        at += 1;
    }
    at
}

/// `name = "value"`, `"name": "value"`, also with escaped quotes, and `--name value`.
fn assignment(text: &[u8], name: &Range<usize>, naming: Naming) -> Option<Hit> {
    let quotes = br#"\"'`"#;
    let behind = skip(text, name.end, quotes);
    let mark = skip(text, behind, b" \t");
    let open = match text.get(mark)? {
        b'=' | b':' => skip(text, skip(text, mark + 1, b"=>"), b" \t"),
        &byte if mark > behind && byte != b'-' && text[name.clone()].starts_with(b"--") => mark,
        _ => return None,
    };
    let stops = if text[mark] == b':' { COLON } else { SHELL };
    let (range, quoted) = value(text, open, stops)?;
    // `api_key: str = "…"`: the type is not the value
    let typed =
        !quoted && range.len() < 24 && text[range.clone()].iter().all(|&byte| is_word(byte) && !byte.is_ascii_digit());
    let (range, quoted) = if typed {
        let again = skip(text, range.end, b" \t");
        if text.get(again) != Some(&b'=') || text.get(again + 1) == Some(&b'=') {
            return None;
        }
        value(text, skip(text, again + 1, b" \t"), SHELL)?
    } else {
        (range, quoted)
    };
    accept(text, range, quoted, naming).map(|(range, certainty)| (range, "assigned-secret", certainty))
}

/// What ends a value without quotes in a shell and most languages, and behind a colon.
const SHELL: &[u8] = b"\"'`\\,;&<>(){}[]$|";
const COLON: &[u8] = b"\"'`\\,<>(){}[]";

/// The most of a value that is looked at to judge it; what is accepted goes whole.
const JUDGED: usize = 512;

/// What is assigned: up to the closing quote or, without one, the end of the word. Of a very long one the beginning.
fn value(text: &[u8], open: usize, stops: &'static [u8]) -> Option<(Range<usize>, bool)> {
    let start = skip(text, open, br#"\"'`"#);
    let quoted = start > open;
    let stops: &[u8] = if quoted { b"\"'`\\" } else { stops };
    let judged = &text[start..text.len().min(start + JUDGED)];
    let length = judged.iter().position(|&byte| byte <= b' ' || byte == 0x7f || stops.contains(&byte));
    let mut end = start + length.unwrap_or(judged.len());
    if quoted && length.is_some() {
        // a pass phrase of several words, within its line
        let line = &text[end..text.len().min(end + 200)];
        let closing = line.iter().position(|&byte| byte < b' ' && byte != b'\t' || stops.contains(&byte));
        if let Some(more) = closing.filter(|&more| stops.contains(&line[more])) {
            end += more;
        }
    }
    if !quoted && end - start < JUDGED {
        // the end of a clause: `if password == expected:`
        end -= text[start..end].iter().rev().take_while(|byte| matches!(byte, b':' | b'.')).count();
    }
    (end > start).then_some((start..end, quoted))
}

/// Identifiers, calls, placeholders and prose are not secrets: `api_key=settings.api_key`, `password: required`.
fn accept(text: &[u8], range: Range<usize>, quoted: bool, naming: Naming) -> Option<(Range<usize>, Certainty)> {
    let value = &text[range.clone()];
    let digits = value.iter().any(u8::is_ascii_digit);
    let words = value.iter().all(|&byte| is_word(byte) && !byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    let called = !quoted && matches!(text.get(range.end), Some(b'(' | b'[' | b'{' | b'$' | b'<'));
    let marks = value.iter().filter(|byte| byte.is_ascii_punctuation()).count();
    let least = if digits && marks > 0 && naming == Naming::Secret { 6 } else { 8 };
    if value.len() < least || called || is_hole(value) || words && !quoted {
        return None;
    }
    if naming == Naming::Perhaps && (value.len() < 12 || !is_random(value)) {
        return None;
    }
    let whole = value.len() >= 16 && is_random(value) && !is_example(value) && !is_reference(value);
    let mut range = range;
    if value.len() == JUDGED {
        let stop = |byte: &u8| *byte <= b' ' || br#""'`\,;&<>(){}[]$|"#.contains(byte);
        range.end += text[range.end..].iter().position(stop).unwrap_or(text.len() - range.end);
    }
    Some((range, if whole { Certainty::Likely } else { Certainty::Possible }))
}

/// Paths, addresses, members of objects, identifiers in a row, UUIDs, texts: they name something that is kept elsewhere.
fn is_reference(value: &[u8]) -> bool {
    let dotted = value.split(|&byte| byte == b'.').count() > 1
        && value
            .split(|&byte| byte == b'.')
            .all(|part| part.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_'))
        && value.iter().all(|&byte| is_word(byte) || byte == b'.');
    let uuid = value.len() == 36 && [8, 13, 18, 23].iter().all(|&at| value[at] == b'-');
    let path =
        matches!(value.first(), Some(b'/' | b'.' | b'~' | b'@')) || memchr::memmem::find(value, b"://").is_some();
    // words in a row: `prod-db-main-password-2`
    let parts = value.split(|byte| matches!(byte, b'-' | b'_' | b'.' | b'/' | b':' | b' '));
    let (mut count, mut plain) = (0, 0);
    for part in parts {
        count += 1;
        let letters = part.iter().all(u8::is_ascii_lowercase) || part.iter().all(u8::is_ascii_uppercase);
        plain += usize::from(part.len() < 12 && (letters || part.iter().all(u8::is_ascii_digit)));
    }
    dotted || is_identifier(value) || uuid || path || value.contains(&b' ') || count > 2 && plain * 4 >= count * 3
}

/// Whether a text is made of words: `TestTruncate_at_u2`.
fn is_identifier(value: &[u8]) -> bool {
    let (mut at, mut plain) = (0, 0);
    while at < value.len() {
        let capital = usize::from(value[at].is_ascii_uppercase());
        let small = value[at + capital..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        let length = capital + small;
        plain += if length >= 4 { length } else { 0 };
        at += length.max(1);
    }
    plain * 2 > value.len()
}

/// The rest of a line behind `Cookie:`, if it holds what such a line must.
fn line_value(text: &[u8], open: usize, must: &[u8]) -> Option<Range<usize>> {
    let start = skip(text, open, b" \t");
    let near = &text[start..text.len().min(start + 256)];
    if !must.iter().all(|byte| near.contains(byte)) {
        return None;
    }
    let line = &text[start..text.len().min(start + 8192)];
    let length =
        line.iter().position(|&byte| byte < b' ' || matches!(byte, b'"' | b'\'' | b'`' | b'\\')).unwrap_or(line.len());
    let value = line[..length].trim_ascii_end();
    let holds = must.iter().all(|byte| value.contains(byte)) && value.len() >= 6;
    let name = value.split(|byte| *byte == b'=').next().unwrap_or_default();
    (holds && !is_hole(value) && !name.contains(&b' ')).then_some(start..start + value.len())
}

/// `Authorization: token …`: what follows the scheme, or what stands there alone.
fn authorization(text: &[u8], open: usize) -> Option<Hit> {
    let start = skip(text, skip(text, open, b" \t"), br#"\"'"#);
    let first = Class::BEARER.run(&text[start..]);
    let word = &text[start..start + first];
    let scheme = word.len() <= 12 && word.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'-');
    let start = if scheme { skip(text, start + first, b" \t") } else { start };
    if is_hole(&text[start..]) {
        return None;
    }
    let length = text[start..]
        .iter()
        .position(|&byte| byte <= b' ' || matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b','))
        .unwrap_or(text.len() - start);
    let value = &text[start..start + length];
    let random = value.iter().any(u8::is_ascii_digit) || length >= 32;
    (length >= 8 && random).then(|| (start..start + length, "authorization", graded(value)))
}

fn graded(value: &[u8]) -> Certainty {
    if value.len() >= 20 && is_random(value) && !is_example(value) && !is_reference(value) {
        Certainty::Likely
    } else {
        Certainty::Possible
    }
}

/// `Bearer …` wherever it stands.
fn scheme(text: &[u8], start: usize, end: usize) -> Option<Hit> {
    if !begins_word(text, start) {
        return None;
    }
    let end = skip(text, end, b" ");
    let length = Class::BEARER.run(&text[end..]);
    let value = &text[end..end + length];
    let random = value.iter().any(u8::is_ascii_digit) || length >= 40;
    (length >= 16 && random).then(|| (end..end + length, "authorization", graded(value)))
}

fn query(text: &[u8], name: &Range<usize>) -> Option<Hit> {
    let word = String::from_utf8_lossy(&text[name.clone()]).to_ascii_lowercase();
    let short =
        ["key", "token", "sig", "signature", "credential", "code_verifier", "auth", "passwd", "password", "secret"];
    let public = ["page", "next", "cursor", "sort"].iter().any(|part| word.contains(part));
    if public || !short.iter().any(|end| word.ends_with(end)) {
        return None;
    }
    let start = name.end + 1;
    if is_hole(&text[start..]) {
        return None;
    }
    let stop = |&byte: &u8| {
        byte <= b' ' || matches!(byte, b'&' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\' | b')' | b']')
    };
    let length = text[start..].iter().position(stop).unwrap_or(text.len() - start);
    let value = &text[start..start + length];
    if length < 6 {
        return None;
    }
    Some((start..start + length, "url-secret", graded(value)))
}

/// `<password>value</password>`
fn element(text: &[u8], name: &Range<usize>) -> Option<Hit> {
    // the name space, the mark
    let open = name.start.checked_sub(1)?;
    let tag = match text[open] {
        b'<' => true,
        b':' => {
            let space = text[..open].iter().rev().take(40).take_while(|&&byte| is_word(byte) || byte == b'-').count();
            open > space && text[open - space - 1] == b'<'
        }
        _ => false,
    };
    let naming = naming(&text[name.clone()])?;
    // attributes, which hold no mark
    let rest = &text[name.end..text.len().min(name.end + 200)];
    let close =
        name.end + rest.iter().position(|byte| matches!(byte, b'>' | b'<' | b'\n')).filter(|&at| rest[at] == b'>')?;
    if !tag || text[close - 1] == b'/' {
        return None;
    }
    let start = skip(text, close + 1, b" \t\r\n");
    let rest = &text[start..text.len().min(start + 8192)];
    // a cut text ends inside
    let length = memchr::memchr(b'<', rest).unwrap_or(rest.len());
    let value = rest[..length].trim_ascii_end();
    let hit =
        !value.is_empty() && !is_hole(value) && (naming == Naming::Secret && value.len() >= 4 || is_random(value));
    hit.then(|| (start..start + value.len(), "assigned-secret", graded(value)))
}

/// Commands and the option that takes their password.
const COMMANDS: &[(&str, &[&str])] = &[
    ("-p ", &["login", "sshpass", "mongo", "mongosh", "mongodump", "mongorestore"]),
    ("-p", &["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump", "sshpass", "7z", "7za"]),
    ("-a ", &["redis-cli"]),
    ("-w ", &["ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami"]),
    ("-P ", &["sqlcmd", "unzip", "zip"]),
    ("-b ", &["curl"]),
];

/// `-u name:password`, `docker login -p password`, `mysql -ppassword`.
fn option(text: &[u8], start: usize, end: usize) -> Option<Hit> {
    let flag = &text[start + 1..end];
    if flag == b"-u" || flag.eq_ignore_ascii_case(b"--user") {
        return user_password(text, end);
    }
    let option = &text[start + 1..];
    // the simple command so far
    let before = &text[start.saturating_sub(300)..start];
    let begin =
        before.iter().rposition(|byte| matches!(byte, b';' | b'|' | b'&' | b'\n' | b'(')).map_or(0, |at| at + 1);
    let mut words = before[begin..]
        .split(|byte| byte.is_ascii_whitespace())
        .map(|word| word.rsplit(|byte| !(is_word(*byte) || matches!(byte, b'-' | b'.'))).next().unwrap_or_default());
    let (option, _) = COMMANDS
        .iter()
        .find(|(form, commands)| {
            option.starts_with(form.as_bytes())
                && words.clone().any(|word| commands.iter().any(|name| word == name.as_bytes()))
        })
        .filter(|_| words.next().is_some())?;
    let open = start + 1 + option.len();
    let (range, quoted) = value(text, open, SHELL)?;
    let value = &text[range.clone()];
    // `mysql -p name`: asks for the password
    let apart = open < text.len() && text[open] == b' ';
    let cookie = *option == "-b ";
    let file = matches!(value.first(), Some(b'/' | b'-' | b'.'));
    if apart || is_hole(value) || value.len() < 3 || file && !quoted || cookie && !value.contains(&b'=') {
        return None;
    }
    let real = !cookie && value.len() >= 8 && is_random(value) && !is_example(value);
    Some((range, "assigned-secret", if real { Certainty::Likely } else { Certainty::Possible }))
}

/// `-u name:password`
fn user_password(text: &[u8], end: usize) -> Option<Hit> {
    let open = match text.get(end) {
        Some(b' ' | b'=') => end + 1,
        _ => return None,
    };
    let stops = b"\"'`\\";
    let open = skip(text, skip(text, open, b" "), stops);
    let length = text[open..].iter().take_while(|&&byte| byte > b' ' && !stops.contains(&byte)).count();
    let value = &text[open..open + length];
    let colon = memchr::memchr(b':', value)?;
    let password = &value[colon + 1..];
    let public = password.iter().all(u8::is_ascii_digit) || is_hole(password);
    let real = password.len() >= 8 && is_random(password) && !is_example(password);
    (password.len() >= 6 && !public).then(|| {
        (open + colon + 1..open + length, "assigned-secret", if real { Certainty::Likely } else { Certainty::Possible })
    })
}
