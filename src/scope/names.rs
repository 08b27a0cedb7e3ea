//! Names with `*` and `?`.

use crate::sanitize::clip;

/// Whether a pattern with `*` (any characters) and `?` (one) matches the whole of a text. Takes time in proportion to
/// the product of the lengths, at most.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    glob(&mut pattern.chars(), &mut text.chars())
}

fn glob(pattern: &mut std::str::Chars<'_>, text: &mut std::str::Chars<'_>) -> bool {
    // where to go on if it does not fit: behind the last star, one character later in the text
    let mut retry: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        match pattern.next() {
            Some('*') => {
                retry = Some((pattern.clone(), text.clone()));
                continue;
            }
            Some(wanted) => {
                let found = text.next();
                if found.is_some_and(|found| wanted == '?' || wanted == found) {
                    continue;
                }
                if found.is_none() {
                    return false;
                }
            }
            None if text.as_str().is_empty() => return true,
            None => {}
        }
        let Some((behind, from)) = &mut retry else { return false };
        if from.next().is_none() {
            return false;
        }
        *pattern = behind.clone();
        *text = from.clone();
    }
}

/// Whether every name that `narrow` matches is matched by `wide` as well. May say no where it is so.
pub(super) fn covers(wide: &str, narrow: &str) -> bool {
    if wide == narrow || wide == "*" {
        return true;
    }
    // the wildcards of the narrow one are characters like others, which only a star takes
    let opaque: String = narrow.chars().map(|c| if matches!(c, '*' | '?') { '\u{0}' } else { c }).collect();
    matches(wide, &opaque) && !(opaque.contains('\u{0}') && wide.contains('?'))
}

/// Which tools an entry is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// One name, character by character.
    Exact(String),
    /// A pattern for the whole name.
    Glob(String),
    /// Patterns for an MCP server and its tool.
    Server(String, String),
}

impl Name {
    pub(super) fn fits(&self, tool: &str, split: Option<(&str, &str)>) -> bool {
        match self {
            Name::Exact(name) => name == tool,
            Name::Glob(pattern) => matches(pattern, tool),
            Name::Server(server, name) => match split {
                Some((own_server, own_name)) => matches(server, own_server) && matches(name, own_name),
                // where the recording does not part them, every way of parting them counts
                None => {
                    joined(tool).any(|(own_server, own_name)| matches(server, own_server) && matches(name, own_name))
                }
            },
        }
    }

    pub(super) fn covers(&self, narrow: &Name) -> bool {
        match (self, narrow) {
            (Name::Server(a, b), Name::Server(c, d)) => covers(a, c) && covers(b, d),
            (Name::Glob(wide), Name::Glob(narrow) | Name::Exact(narrow)) => covers(wide, narrow),
            (Name::Glob(wide), Name::Server(..)) => wide == "*",
            (one, other) => one == other,
        }
    }

    /// As it stands in messages.
    pub(super) fn shown(&self) -> String {
        let text = match self {
            Name::Exact(name) | Name::Glob(name) => name.clone(),
            Name::Server(server, tool) => format!("{server}: {tool}"),
        };
        clip(&text, 80).into_owned()
    }
}

/// The ways in which a joined name may be a server and a tool: `mcp__server__tool` as most agents write it.
fn joined(tool: &str) -> impl Iterator<Item = (&str, &str)> {
    let rest = tool.strip_prefix("mcp__").unwrap_or("");
    rest.match_indices("__").map(|(at, _)| (&rest[..at], &rest[at + 2..])).take(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text, fits) in [
            ("a*c", "abbc", true),
            ("a*c", "abcd", false),
            ("*", "", true),
            ("?", "", false),
            ("mcp__*__get_*", "mcp__a__b__get_x", true),
            ("get_*_secret", "get_org_secret", true),
            ("get_*_secret", "get_org_secrets", false),
            ("größ?", "größe", true),
            ("a*b*c*", "aXbYc", true),
            ("", "", true),
            ("abc", "ab", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
        assert!(!matches(&"*a".repeat(500), &"a".repeat(499)));
    }

    #[test]
    fn wide_patterns_cover_narrow_ones() {
        for (wide, narrow, covered) in [
            ("*", "a*", true),
            ("a*", "ab*", true),
            ("a*", "b", false),
            ("ab?", "ab*", false),
            ("ab*", "ab?", true),
            ("abc", "ab*", false),
        ] {
            assert_eq!(covers(wide, narrow), covered, "{wide} {narrow}");
        }
    }

    #[test]
    fn a_server_and_a_tool_are_not_split_wrongly() {
        let name = Name::Server("my__srv".to_owned(), "get_*".to_owned());
        assert!(name.fits("mcp__my__srv__get_x", None));
        assert!(name.fits("whatever", Some(("my__srv", "get_x"))));
        assert!(!name.fits("mcp__my__srv__get_x", Some(("my", "srv__get_x"))));
        assert!(!name.fits("my__srv__get_x", None));
    }
}
