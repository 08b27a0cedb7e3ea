//! Untrusted text on its way out: to a terminal or log, XML 1.0, a GitHub workflow command, Markdown, a URI.
//!
//! A name from a transcript must not be able to forge a line, a colour, a CI command, a link or a passing test. Every
//! renderer takes such text through here and through nothing else.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters that are invisible, move other text or are not text: controls, bidirectional and zero-width marks, line
/// separators, tags, private invisible operators, non-characters.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' | '\u{fdd0}'..='\u{fdef}'
        )
        || u32::from(char) & 0xfffe == 0xfffe
}

/// Makes text visible and inert: hidden characters become escapes as in JSON, and `##[`, which a GitHub runner takes for
/// a command anywhere in a line, becomes `##\[`.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) && !text.contains("##[") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        match char {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '[' if out.ends_with("##") => out.push_str("\\["),
            hidden if is_hidden(hidden) => {
                for unit in hidden.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            plain => out.push(plain),
        }
    }
    Cow::Owned(out)
}

/// A finished JSON text, with hidden characters and the start of a runner command as escapes. Both can stand only
/// inside strings, where the escape means the same.
#[must_use]
pub fn json_text(text: &str) -> Cow<'_, str> {
    let hidden = |char: char| char != '\n' && is_hidden(char);
    if !text.chars().any(hidden) && !text.contains("##[") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 64);
    for char in text.chars() {
        match char {
            '[' if out.ends_with("##") => {
                out.pop();
                out.push_str("\\u0023[");
            }
            char if hidden(char) => {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            plain => out.push(plain),
        }
    }
    Cow::Owned(out)
}

/// Cuts text to at most `limit` characters, the last of them an ellipsis if anything was cut.
#[must_use]
pub fn clip(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit || text.chars().nth(limit).is_none() {
        return Cow::Borrowed(text);
    }
    let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
    short.push('…');
    Cow::Owned(short)
}

/// The message of a workflow command: what follows `::error …::`.
#[must_use]
pub fn command_data(text: &str) -> String {
    visible(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a workflow command, as in `::error file=…`. What the runner can undo is escaped its way, so that a file
/// name stays one; other hidden characters are made visible.
#[must_use]
pub fn command_property(text: &str) -> String {
    let escaped =
        text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A").replace(':', "%3A").replace(',', "%2C");
    visible(&escaped).into_owned()
}

/// Text inside Markdown (and inside a table cell): everything but letters, digits and a few harmless marks becomes a
/// character reference, which no Markdown or HTML construct survives.
#[must_use]
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for char in visible(text).chars() {
        match char {
            ' ' | '.' | '/' | '-' | ',' => out.push(char),
            special if special.is_ascii() && !special.is_ascii_alphanumeric() => {
                let _ = write!(out, "&#{};", u32::from(special));
            }
            plain => out.push(plain),
        }
    }
    out
}

/// The text of a SARIF message: backslashes and brackets escaped, so that nothing in it is taken for a link.
#[must_use]
pub fn sarif_message(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

/// Bytes that must not stand in a relative URI reference: all but RFC 3986 path characters; `:` too, so that a first
/// segment never looks like a scheme.
const NO_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b':')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A path as a relative URI reference (RFC 3986), with `/` between its segments.
#[must_use]
pub fn uri(path: &str) -> String {
    utf8_percent_encode(path, NO_PATH).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_become_escapes() {
        assert_eq!(visible("a\x1b[31m\n\u{202e}b\u{7f}\u{85}"), "a\\u001b[31m\\n\\u202eb\\u007f\\u0085");
        assert_eq!(visible("\u{e0041}\u{ffff}"), "\\udb40\\udc41\\uffff");
        assert_eq!(visible("größe ✓"), "größe ✓");
    }

    #[test]
    fn no_runner_command_survives() {
        assert_eq!(visible("x##[error]y"), "x##\\[error]y");
        assert_eq!(command_data("a\r::error::b%"), "a\\r::error::b%25");
        assert_eq!(command_property("a:b,c\n\x1b##[x]"), "a%3Ab%2Cc%0A\\u001b##\\[x]");
    }

    #[test]
    fn json_keeps_its_meaning() {
        assert_eq!(json_text("[\n \"a\u{202e}##[b\"]"), "[\n \"a\\u202e#\\u0023[b\"]");
    }

    #[test]
    fn no_markup_survives() {
        assert_eq!(markdown("a|b<i>"), "a&#124;b&#60;i&#62;");
        assert!(!markdown("](http://x)").contains(['(', ':', ']']));
        assert_eq!(sarif_message("[x](http://y)"), "\\[x\\](http://y)");
    }

    #[test]
    fn paths_are_encoded_by_byte() {
        assert_eq!(uri("session one% é.jsonl"), "session%20one%25%20%C3%A9.jsonl");
        assert_eq!(uri("c:/x"), "c%3A/x");
    }

    #[test]
    fn clipping_counts_characters() {
        assert_eq!(clip("größe", 5), "größe");
        assert_eq!(clip("größen", 5), "größ…");
    }
}
