//! A borrowed view of JSON text as other programs wrote it: what is not asked for is only skipped.
//!
//! Recordings hold what strict JSON and a tree of values cannot: numbers of any size, lone surrogates, duplicate keys,
//! bytes that are no UTF-8. So a value stays its text until somebody asks; `normalize.rs` then makes it strict and says what had
//! to change. The grammar is checked everywhere, the text of strings and numbers is not.

use crate::json::{Kind, decode_lossless, string_end};
use std::borrow::Cow;

/// How deep containers may nest in a recording: less than a record may, for a record puts its values one level deeper.
pub const MAX_LEVELS: usize = 960;

/// What is wrong with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// It ends inside a value.
    Truncated,
    /// Something that no JSON text has here.
    Unexpected,
    /// Too many levels.
    TooDeep,
}

/// What is wrong, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The byte.
    pub offset: usize,
    /// What is wrong there.
    pub wrong: Wrong,
}

/// One JSON value, as its text.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a>(&'a [u8]);

/// The text of a string that is there.
pub fn text(value: Option<Value<'_>>) -> Option<Cow<'_, str>> {
    value.and_then(Value::as_str)
}

/// The text of an object of those members that are there.
pub fn made(members: &[(&str, Option<Value<'_>>)]) -> String {
    let mut out = String::from("{");
    for (name, value) in members {
        let Some(value) = value else { continue };
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&format!("\"{name}\":{}", String::from_utf8_lossy(value.text())));
    }
    out.push('}');
    out
}

/// Reads the value that starts `text`, white space before it allowed. Returns it and what follows.
pub fn first_value(text: &[u8]) -> Result<(Value<'_>, &[u8]), Fault> {
    let start = skip_space(text, 0);
    let end = skip_value(text, start)?;
    Ok((Value(&text[start..end]), &text[end..]))
}

/// All values of a text, which holds nothing besides.
pub fn values(text: &[u8]) -> Result<Vec<Value<'_>>, Fault> {
    let (mut all, mut rest) = (Vec::new(), text);
    while !rest.trim_ascii().is_empty() {
        let before = text.len() - rest.len();
        let (value, behind) = first_value(rest).map_err(|fault| Fault { offset: before + fault.offset, ..fault })?;
        all.push(value);
        rest = behind;
    }
    Ok(all)
}

/// Reads the object that starts `text`, white space before it allowed, and notes its members on the way: it need not be
/// gone through again for them.
pub fn first_object<'t>(text: &'t [u8], members: &mut Vec<Spot>) -> Result<(Value<'t>, &'t [u8]), Fault> {
    members.clear();
    let start = skip_space(text, 0);
    if text.get(start) != Some(&b'{') {
        return first_value(text);
    }
    let mut at = skip_space(text, start + 1);
    if text.get(at) == Some(&b'}') {
        at += 1;
        return Ok((Value(&text[start..at]), &text[at..]));
    }
    loop {
        let value_at = skip_key(text, at)?;
        let end = skip_value(text, value_at)?;
        let spot = [at, value_at, end].map(|at| (at - start) as u32);
        members.push(Spot { key: spot[0], value: spot[1], end: spot[2] });
        at = skip_space(text, end);
        match text.get(at) {
            Some(b',') => at = skip_space(text, at + 1),
            Some(b'}') => return Ok((Value(&text[start..=at]), &text[at + 1..])),
            _ => return Err(wrong_at(text, at)),
        }
    }
}

/// The names of an object's members as far as they were read when its text broke off, the last one included.
pub fn names_so_far<'t>(text: &'t [u8], members: &[Spot]) -> Vec<Cow<'t, str>> {
    let start = skip_space(text, 0);
    let Some(object) = text.get(start..) else { return Vec::new() };
    let mut names: Vec<Cow<'t, str>> = Vec::new();
    let mut next = 1;
    for spot in members {
        names.push(spot.of(Value(object)).0.name());
        next = spot.end as usize;
    }
    let mut at = skip_space(object, next);
    if object.get(at) == Some(&b',') {
        at = skip_space(object, at + 1);
    }
    if object.get(at) == Some(&b'"')
        && let Ok(end) = skip_string(object, at)
    {
        names.push(Key(&object[at..end]).name());
    }
    names
}

/// Calls `each` with every item of an array and, for those that are objects, where their members are: found in the one
/// pass that finds the items.
pub fn each_object<'t>(array: Value<'t>, spots: &mut Vec<Spot>, mut each: impl FnMut(Value<'t>, &[Spot])) {
    if !array.is_array() {
        return;
    }
    let mut rest = &array.0[1..];
    loop {
        let at = skip_space(rest, 0);
        match rest.get(at) {
            Some(b',') => rest = &rest[at + 1..],
            Some(b']') | None => return,
            Some(_) => {
                let Ok((value, behind)) = first_object(rest, spots) else { return };
                each(value, spots);
                rest = behind;
            }
        }
    }
}

/// Where a member stands in its object.
#[derive(Debug, Clone, Copy)]
pub struct Spot {
    key: u32,
    value: u32,
    end: u32,
}

impl Spot {
    /// The member of the object that was read.
    pub fn of(self, object: Value<'_>) -> Member<'_> {
        let (key, value, end) = (self.key as usize, self.value as usize, self.end as usize);
        let key_end = skip_string(object.0, key).unwrap_or(value);
        (Key(&object.0[key..key_end]), Value(&object.0[value..end]))
    }
}

/// A key and its value.
pub type Member<'t> = (Key<'t>, Value<'t>);

/// Reads a text that is one value and white space.
pub fn only_value(text: &[u8]) -> Result<Value<'_>, Fault> {
    let (value, rest) = first_value(text)?;
    let behind = skip_space(rest, 0);
    if behind == rest.len() {
        return Ok(value);
    }
    Err(Fault { offset: text.len() - rest.len() + behind, wrong: Wrong::Unexpected })
}

impl<'a> Value<'a> {
    /// A value that stands for its line alone.
    pub const NOWHERE: Value<'static> = Value(b"null");

    /// The text.
    /// Its text, quotes included.
    pub fn text(self) -> &'a [u8] {
        self.0
    }

    /// What kind of value it is.
    pub fn kind(self) -> Kind {
        match self.0.first() {
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => Kind::of(self.0),
            _ => Kind::of(&self.0[..self.0.len().min(1)]),
        }
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        self.0.first() == Some(&b'[')
    }

    /// Whether it is a string.
    pub fn is_string(self) -> bool {
        self.0.first() == Some(&b'"')
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.0 == b"null"
    }

    /// The members, in order; none if it is no object.
    pub fn members(self) -> Members<'a> {
        Members { text: self.0, at: if self.is_object() { 1 } else { self.0.len() } }
    }

    /// The items, in order; none if it is no array.
    pub fn items(self) -> Items<'a> {
        Items { text: self.0, at: if self.is_array() { 1 } else { self.0.len() } }
    }

    /// The members with the given names; of one that stands there twice the last, as most readers see it.
    pub fn fields<const N: usize>(self, names: &[&str; N]) -> [Option<Value<'a>>; N] {
        self.fields_checked(names).0
    }

    /// The same, and whether one of them stands there twice.
    pub fn fields_checked<const N: usize>(self, names: &[&str; N]) -> ([Option<Value<'a>>; N], bool) {
        pick(self.members(), names)
    }

    /// One member.
    pub fn get(self, name: &str) -> Option<Value<'a>> {
        self.fields(&[name])[0]
    }

    /// A member of a member, and so on.
    pub fn path(self, names: &[&str]) -> Option<Value<'a>> {
        names.iter().try_fold(self, |value, name| value.get(name))
    }

    /// What a JSON Pointer (RFC 6901) leads to.
    #[must_use]
    pub fn pointer(self, pointer: &str) -> Option<Value<'a>> {
        let Some(path) = pointer.strip_prefix('/') else { return Some(self).filter(|_| pointer.is_empty()) };
        path.split('/').try_fold(self, |value, segment| {
            let name = segment.replace("~1", "/").replace("~0", "~");
            match value.is_array() {
                true => value.items().nth(name.parse().ok()?),
                false => value.get(&name),
            }
        })
    }

    /// The text of a string: lone surrogates stay their escapes, bytes that are no UTF-8 become U+FFFD.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let inner = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if memchr::memchr(b'\\', inner).is_none() {
            return Some(String::from_utf8_lossy(inner));
        }
        Some(Cow::Owned(decode_lossless(String::from_utf8_lossy(self.0).as_bytes())))
    }

    /// The text of a member that is a string.
    pub fn str_at(self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name)?.as_str()
    }

    /// Whether it is the string `text`, which must need no escape.
    pub fn is(self, text: &str) -> bool {
        self.as_str().is_some_and(|own| own == text)
    }

    /// The truth value, if it is one.
    pub fn as_bool(self) -> Option<bool> {
        match self.0 {
            b"true" => Some(true),
            b"false" => Some(false),
            _ => None,
        }
    }

    /// The number, if it is an integer of 64 bits.
    pub fn as_i64(self) -> Option<i64> {
        std::str::from_utf8(self.0).ok()?.parse().ok()
    }
}

/// Those of some members that have the given names, and whether one of them is there twice.
pub fn pick<'a, const N: usize>(
    members: impl Iterator<Item = Member<'a>>,
    names: &[&str; N],
) -> ([Option<Value<'a>>; N], bool) {
    let (mut found, mut twice) = ([None; N], false);
    for (key, value) in members {
        if let Some(place) = names.iter().position(|name| key.is(name)) {
            twice |= found[place].is_some();
            found[place] = Some(value);
        }
    }
    (found, twice)
}

/// A key of an object, as its text.
#[derive(Debug, Clone, Copy)]
pub struct Key<'a>(&'a [u8]);

impl<'a> Key<'a> {
    /// Whether it is this name, which must need no escape.
    #[inline]
    pub fn is(self, name: &str) -> bool {
        let inner = &self.0[1..self.0.len() - 1];
        inner == name.as_bytes() || (memchr::memchr(b'\\', inner).is_some() && *self.name() == *name)
    }

    /// The name.
    pub fn name(self) -> Cow<'a, str> {
        Value(self.0).as_str().unwrap_or_default()
    }

    /// Its text, quotes included.
    pub fn text(self) -> &'a [u8] {
        self.0
    }
}

/// The members of an object whose grammar was checked.
#[derive(Debug)]
pub struct Members<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Key<'a>, Value<'a>);

    fn next(&mut self) -> Option<(Key<'a>, Value<'a>)> {
        let text = self.text;
        let mut at = skip_space(text, self.at);
        if text.get(at) == Some(&b',') {
            at = skip_space(text, at + 1);
        }
        if text.get(at) != Some(&b'"') {
            self.at = text.len();
            return None;
        }
        let key_end = skip_string(text, at).ok()?;
        let colon = skip_space(text, key_end);
        let start = skip_space(text, colon + 1);
        let end = skip_value(text, start).ok()?;
        self.at = end;
        Some((Key(&text[at..key_end]), Value(&text[start..end])))
    }
}

/// The items of an array whose grammar was checked.
#[derive(Debug)]
pub struct Items<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Items<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let text = self.text;
        let mut at = skip_space(text, self.at);
        if text.get(at) == Some(&b',') {
            at = skip_space(text, at + 1);
        }
        if at >= text.len() || text[at] == b']' {
            self.at = text.len();
            return None;
        }
        let end = skip_value(text, at).ok()?;
        self.at = end;
        Some(Value(&text[at..end]))
    }
}

/// Where the object opens that a record, cut short by the one behind it on the same line, is followed by.
pub fn next_record(text: &[u8], from: usize) -> Option<usize> {
    const STARTS: [&[u8]; 4] = [b"{\"parentUuid\"", b"{\"type\"", b"{\"timestamp\"", b"{\"sessionId\""];
    memchr::memchr_iter(b'{', text.get(from..)?)
        .map(|at| from + at)
        .find(|&at| STARTS.iter().any(|start| text[at..].starts_with(start)))
}

#[inline(always)]
/// The place of the first byte from `at` on that is no white space.
pub fn skip_space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
        at += 1;
    }
    at
}

#[inline(always)]
fn wrong_at(text: &[u8], offset: usize) -> Fault {
    let wrong = if offset >= text.len() { Wrong::Truncated } else { Wrong::Unexpected };
    Fault { offset: offset.min(text.len()), wrong }
}

/// From an opening quote to behind the closing one.
#[inline(always)]
fn skip_string(text: &[u8], open: usize) -> Result<usize, Fault> {
    let mut at = open + 1;
    // most strings are short: no call for those
    let near = text.len().min(at + 24);
    while at < near {
        match text[at] {
            b'"' => return Ok(at + 1),
            b'\\' => break,
            _ => at += 1,
        }
    }
    long_string(text, at)
}

fn long_string(text: &[u8], at: usize) -> Result<usize, Fault> {
    let end = string_end(text, at);
    if end < text.len() { Ok(end + 1) } else { Err(Fault { offset: text.len(), wrong: Wrong::Truncated }) }
}

/// A key and its colon.
#[inline(always)]
fn skip_key(text: &[u8], at: usize) -> Result<usize, Fault> {
    if text.get(at) != Some(&b'"') {
        return Err(wrong_at(text, at));
    }
    let colon = skip_space(text, skip_string(text, at)?);
    if text.get(colon) != Some(&b':') {
        return Err(wrong_at(text, colon));
    }
    Ok(skip_space(text, colon + 1))
}

#[inline(always)]
fn skip_word(text: &[u8], start: usize) -> Result<usize, Fault> {
    let mut at = start;
    while matches!(text.get(at), Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.')) {
        at += 1;
    }
    let word = &text[start..at];
    let number = matches!(word, [b'0'..=b'9', ..] | [b'-', b'0'..=b'9', ..])
        && word.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    if number || matches!(word, b"true" | b"false" | b"null" | b"NaN" | b"Infinity" | b"-Infinity") {
        return Ok(at);
    }
    // a word that is cut off is the end of the text, anything else is not JSON
    if at == text.len()
        && [b"true".as_slice(), b"false", b"null", b"NaN", b"-Infinity"].iter().any(|full| full.starts_with(word))
    {
        return Err(Fault { offset: at, wrong: Wrong::Truncated });
    }
    Err(Fault { offset: start, wrong: Wrong::Unexpected })
}

/// From the first byte of a value to behind its last one.
fn skip_value(text: &[u8], mut at: usize) -> Result<usize, Fault> {
    // a bit a level: whether it is an object
    let mut objects = [0_u64; MAX_LEVELS / 64];
    let mut depth = 0;
    'value: loop {
        match text.get(at) {
            Some(b'"') => at = skip_string(text, at)?,
            Some(&open @ (b'{' | b'[')) => {
                if depth == MAX_LEVELS {
                    return Err(Fault { offset: at, wrong: Wrong::TooDeep });
                }
                let (word, bit) = (depth / 64, 1_u64 << (depth % 64));
                depth += 1;
                at = skip_space(text, at + 1);
                if open == b'{' {
                    objects[word] |= bit;
                    if text.get(at) != Some(&b'}') {
                        at = skip_key(text, at)?;
                        continue 'value;
                    }
                } else {
                    objects[word] &= !bit;
                    if text.get(at) != Some(&b']') {
                        continue 'value;
                    }
                }
                at += 1;
                depth -= 1;
            }
            _ => at = skip_word(text, at)?,
        }
        loop {
            if depth == 0 {
                return Ok(at);
            }
            at = skip_space(text, at);
            let object = objects[(depth - 1) / 64] >> ((depth - 1) % 64) & 1 == 1;
            match (text.get(at), object) {
                (Some(b','), true) => {
                    at = skip_key(text, skip_space(text, at + 1))?;
                    continue 'value;
                }
                (Some(b','), false) => {
                    at = skip_space(text, at + 1);
                    continue 'value;
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    at += 1;
                    depth -= 1;
                }
                _ => return Err(wrong_at(text, at)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_without_being_read() {
        let text = br#" {"a" : [1, {"b":"x\"]}"}, NaN], "\u0063":"\ud83d!", "a":true, "d":-1.5e3} tail"#;
        let (value, rest) = first_value(text).unwrap();
        assert_eq!(rest, b" tail");
        let ([a, c, d], twice) = value.fields_checked(&["a", "c", "d"]);
        assert!(twice && a.unwrap().as_bool() == Some(true) && d.unwrap().text() == b"-1.5e3");
        assert_eq!(c.unwrap().as_str().unwrap(), "\\ud83d!");
        let first = value.members().next().unwrap().1;
        let items: Vec<&[u8]> = first.items().map(Value::text).collect();
        assert_eq!(items, [b"1".as_slice(), br#"{"b":"x\"]}"}"#, b"NaN"]);
    }

    #[test]
    fn an_object_gives_its_members_on_the_way() {
        let text = br#" {"a":1, "b" : {"c":[2]}} {"#;
        let mut members = Vec::new();
        let (value, rest) = first_object(text, &mut members).unwrap();
        assert_eq!((value.text(), rest), (&text[1..25], &b" {"[..]));
        let own: Vec<(String, &[u8])> =
            members.iter().map(|spot| spot.of(value)).map(|(k, v)| (k.name().into_owned(), v.text())).collect();
        assert_eq!(own, [("a".to_owned(), &b"1"[..]), ("b".to_owned(), br#"{"c":[2]}"#)]);
        for text in ["{\"a\"", "{\"a\":1", "{\"a\":1,}", "{\"a\" 1}"] {
            let plain = first_value(text.as_bytes()).map(|_| ()).unwrap_err();
            assert_eq!(first_object(text.as_bytes(), &mut members).map(|_| ()).unwrap_err(), plain, "{text}");
        }
    }

    #[test]
    fn items_give_their_members_as_well() {
        let array = only_value(br#"[ {"a":1}, 7 ,{}, {"b":[{"c":2}],"a":3}]"#).unwrap();
        let mut seen = Vec::new();
        each_object(array, &mut Vec::new(), |item, spots| {
            let ([a], _) = pick(spots.iter().map(|spot| spot.of(item)), &["a"]);
            seen.push((item.text().len(), a.map(Value::text)));
        });
        assert_eq!(seen, [(7, Some(&b"1"[..])), (1, None), (2, None), (21, Some(&b"3"[..]))]);
    }

    #[test]
    fn faults_say_where_and_what() {
        for (text, offset, wrong) in [
            ("{\"a\":[1", 7, Wrong::Truncated),
            ("{\"a\":tr", 7, Wrong::Truncated),
            ("{\"a\":\"x", 7, Wrong::Truncated),
            ("{\"a\"{\"b\":1}}", 4, Wrong::Unexpected),
            ("{\"a\":1}}", 7, Wrong::Unexpected),
            ("{\"a\":type}", 5, Wrong::Unexpected),
            ("[1,]", 3, Wrong::Unexpected),
            ("", 0, Wrong::Truncated),
        ] {
            assert_eq!(only_value(text.as_bytes()).unwrap_err(), Fault { offset, wrong }, "{text}");
        }
        let deep = "[".repeat(MAX_LEVELS + 1);
        assert_eq!(only_value(deep.as_bytes()).unwrap_err().wrong, Wrong::TooDeep);
        let fits = "[".repeat(MAX_LEVELS) + &"]".repeat(MAX_LEVELS);
        assert!(only_value(fits.as_bytes()).is_ok());
    }
}
