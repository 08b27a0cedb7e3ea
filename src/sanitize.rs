//! Untrusted text on its way out: to a terminal or log, XML 1.0, a GitHub workflow command, Markdown, a URI.
//!
//! A name from a transcript must not be able to forge a line, a colour, a CI command, a link or a passing test. Every
//! renderer takes such text through here and through nothing else.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::ser::Formatter;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Characters that are invisible, move other text or are not text: controls, bidirectional and zero-width marks, line
/// separators, tags, private invisible operators, non-characters.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{8e2}' | '\u{115f}' | '\u{1160}'
                | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}'
                | '\u{110bd}' | '\u{110cd}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}' | '\u{fdd0}'..='\u{fdef}'
        )
        || u32::from(char) & 0xfffe == 0xfffe
}

/// Whether a `[` behind `before` would open a command that a CI runner reads anywhere in a line: `##[x` (GitHub),
/// `##vso[x` (Azure), `##teamcity[x`.
fn opens_command(before: &str) -> bool {
    let word = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.');
    before.trim_end_matches(word).ends_with("##")
}

/// Copies text character by character; `replace` writes another text for a character, or says that it did not.
fn rewritten(text: &str, mut replace: impl FnMut(char, &mut String) -> bool) -> Cow<'_, str> {
    if !text.contains("##") && !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for char in text.chars() {
        if !replace(char, &mut out) {
            out.push(char);
        }
    }
    Cow::Owned(out)
}

fn push_escaped(char: char, out: &mut String) {
    for unit in char.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// Makes text visible and inert: hidden characters become escapes as in JSON, and in `##[` or `##word[`, which CI runners
/// take for a command anywhere in a line, the bracket gets a backslash.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    rewritten(text, |char, out| {
        match char {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '[' if opens_command(out) => out.push_str("\\["),
            hidden if is_hidden(hidden) => push_escaped(hidden, out),
            _ => return false,
        }
        true
    })
}

/// Text inside a JSON string that is being written: hidden characters and the brackets of runner commands as escapes,
/// which mean the same there.
fn json_fragment(text: &str) -> Cow<'_, str> {
    rewritten(text, |char, out| {
        let escape = is_hidden(char) || char == '[' && opens_command(out);
        if escape {
            push_escaped(char, out);
        }
        escape
    })
}

/// A formatter whose strings hold no hidden character and no command of a CI runner.
#[derive(Debug)]
pub struct InertJson<F>(pub F);

/// Hands what is not a string on to the inner formatter.
macro_rules! hand_on {
    ($($method:ident($($argument:ident: $kind:ty),*)),* $(,)?) => {
        $(fn $method<W: ?Sized + Write>(&mut self, writer: &mut W $(, $argument: $kind)*) -> io::Result<()> {
            self.0.$method(writer $(, $argument)*)
        })*
    };
}

impl<F: Formatter> Formatter for InertJson<F> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        writer.write_all(json_fragment(fragment).as_bytes())
    }

    hand_on!(
        begin_array(),
        end_array(),
        begin_array_value(first: bool),
        end_array_value(),
        begin_object(),
        end_object(),
        begin_object_key(first: bool),
        end_object_key(),
        begin_object_value(),
        end_object_value(),
    );
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

/// Text inside HTML, also inside an attribute in quotes.
#[must_use]
pub fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for char in visible(text).chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// Text inside Markdown, also inside a table cell: a code span, in which nothing is markup, a link, a mention or a
/// reference to an issue or a commit. What could end the span or the cell, a backtick or a bar, stands beside it as a
/// character reference, so that no fence is ever too short.
#[must_use]
pub fn markdown(text: &str) -> String {
    let text = visible(text);
    let mut out = String::with_capacity(text.len() + 16);
    for part in text.split_inclusive(['`', '|']) {
        let (plain, mark) = match part.strip_suffix(['`', '|']) {
            Some(plain) => (plain, part.chars().next_back()),
            None => (part, None),
        };
        // a span loses a space at both ends, unless it is nothing but spaces
        let spaced = plain.starts_with(' ') && plain.ends_with(' ') && !plain.trim_matches(' ').is_empty();
        let pad = if spaced { " " } else { "" };
        if !plain.is_empty() {
            let _ = write!(out, "`{pad}{plain}{pad}`");
        }
        if let Some(mark) = mark {
            let _ = write!(out, "&#{};", u32::from(mark));
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
        assert_eq!(
            visible("##vso[task.x]###[a]# #[b]##a b[c]##teamcity[d"),
            "##vso\\[task.x]###\\[a]# #[b]##a b[c]##teamcity\\[d"
        );
        assert_eq!(command_data("a\r::error::b%"), "a\\r::error::b%25");
        assert_eq!(command_property("a:b,c\n\x1b##[x]"), "a%3Ab%2Cc%0A\\u001b##\\[x]");
    }

    #[test]
    fn json_keeps_its_meaning() {
        assert_eq!(json_fragment("a\u{202e}##[b##vso[c"), "a\\u202e##\\u005bb##vso\\u005bc");
    }

    #[test]
    fn no_markup_survives() {
        for (text, expected) in [
            ("", ""),
            ("www.example.com @org/team #1", "`www.example.com @org/team #1`"),
            ("a|b<i>", "`a`&#124;`b<i>`"),
            ("``` x", "&#96;&#96;&#96;`x`"),
            ("a`\\|", "`a`&#96;`\\`&#124;"),
            (" a ", "`  a  `"),
            ("a\nb\u{202e}", "`a\\nb\\u202e`"),
        ] {
            assert_eq!(markdown(text), expected.replace("`x`", "` x`"), "{text}");
        }
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
