//! What is known of tools besides whether they are mutators: what they do, and which of their fields make no difference.

use crate::call::Effect;
use crate::json::view::Value;
use aho_corasick::AhoCorasick;
use std::sync::OnceLock;

/// Names of fields whose values are the harness's or the clock's, not the tool's: shown by `toolreplay explain
/// non-determinism`, left out of comparisons unless that is switched off.
pub const VOLATILE: [&str; 10] = [
    "timestamp",
    "request_id",
    "requestId",
    "trace_id",
    "span_id",
    "nonce",
    "idempotency_key",
    "elapsed_ms",
    "duration_ms",
    "took",
];

/// Names that a wildcard never reaches: they say which part of an answer was asked for.
const NAMED_ONLY: [&str; 4] = ["cursor", "page", "offset", "limit"];

/// A JSON Pointer (RFC 6901) in which `*` stands for one name and `**` for any number of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer(Vec<Segment>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Name(String),
    Any,
    Deep,
}

impl Pointer {
    /// Reads a pointer; `None` if it is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Pointer> {
        let segments = text.strip_prefix('/')?.split('/').map(|segment| match segment {
            "*" => Segment::Any,
            "**" => Segment::Deep,
            name => Segment::Name(name.replace("~1", "/").replace("~0", "~")),
        });
        Some(Pointer(segments.collect()))
    }
}

impl Pointer {
    /// Whether it takes a value as a whole: one with a wildcard leaves what holds a name that wildcards never reach.
    fn may_take(&self, value: Value<'_>) -> bool {
        let exact = self.0.iter().all(|segment| matches!(segment, Segment::Name(_)));
        let text = value.text();
        exact || !NAMED_ONLY.iter().any(|name| memchr::memmem::find(text, format!("\"{name}\":").as_bytes()).is_some())
    }
}

/// Whether a path of names fits the segments.
fn fits(segments: &[Segment], path: &[String]) -> bool {
    match (segments.split_first(), path.split_first()) {
        (None, None) => true,
        (None, Some(_)) => false,
        (Some((Segment::Deep, rest)), _) => {
            fits(rest, path) || path.split_first().is_some_and(|(name, more)| reachable(name) && fits(segments, more))
        }
        (Some(_), None) => false,
        (Some((Segment::Any, rest)), Some((name, more))) => reachable(name) && fits(rest, more),
        (Some((Segment::Name(wanted), rest)), Some((name, more))) => wanted == name && fits(rest, more),
    }
}

fn reachable(name: &str) -> bool {
    !NAMED_ONLY.contains(&name)
}

/// What a project says of the tools whose names fit a glob.
#[derive(Debug, Clone, Default)]
pub struct ToolTraits {
    /// What its calls do.
    pub effect: Option<Effect>,
    /// Whether it asks how far something is.
    pub poll: Option<bool>,
    /// Whether its answers are expected to differ.
    pub varies: bool,
    /// Arguments that make no difference.
    pub ignore_args: Vec<Pointer>,
    /// Parts of a result that make no difference.
    pub ignore_response: Vec<Pointer>,
}

/// What is known of tools, and what is left out of every comparison.
#[derive(Debug, Clone)]
pub struct Traits {
    tools: Vec<(glob::Pattern, ToolTraits)>,
    ignore_args: Vec<Pointer>,
    ignore_response: Vec<Pointer>,
    /// Leave out fields with the names of [`VOLATILE`].
    defaults: bool,
}

impl Default for Traits {
    fn default() -> Traits {
        Traits { tools: Vec::new(), ignore_args: Vec::new(), ignore_response: Vec::new(), defaults: true }
    }
}

/// What is known of one tool.
#[derive(Debug, Clone, Default)]
pub struct Known<'t> {
    /// What its calls do, if somebody said so.
    pub effect: Option<Effect>,
    /// Whether it is a poll, if somebody said so.
    pub poll: Option<bool>,
    /// Whether its answers are expected to differ.
    pub varies: bool,
    ignore_args: Vec<&'t Pointer>,
    ignore_response: Vec<&'t Pointer>,
}

impl Traits {
    /// What a project says: its entries by name or glob (the later ones win), what is ignored in every tool, and whether
    /// the default list of volatile names holds.
    #[must_use]
    pub fn new(
        tools: Vec<(glob::Pattern, ToolTraits)>,
        ignore_args: Vec<Pointer>,
        ignore_response: Vec<Pointer>,
        defaults: bool,
    ) -> Traits {
        Traits { tools, ignore_args, ignore_response, defaults }
    }

    /// The same with fields that make no difference in arguments and results of every tool.
    #[must_use]
    pub fn ignoring(mut self, fields: &[Pointer]) -> Traits {
        self.ignore_args.extend_from_slice(fields);
        self.ignore_response.extend_from_slice(fields);
        self
    }

    /// Whether nobody said anything of any tool.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.tools.is_empty() && self.ignore_args.is_empty() && self.ignore_response.is_empty()
    }

    /// What is known of a tool.
    #[must_use]
    pub fn of(&self, tool: &str) -> Known<'_> {
        let mut known = Known {
            ignore_args: self.ignore_args.iter().collect(),
            ignore_response: self.ignore_response.iter().collect(),
            ..Known::default()
        };
        for (_, traits) in self.tools.iter().filter(|(pattern, _)| pattern.matches(tool)) {
            known.effect = traits.effect.or(known.effect);
            known.poll = traits.poll.or(known.poll);
            known.varies |= traits.varies;
            known.ignore_args.extend(&traits.ignore_args);
            known.ignore_response.extend(&traits.ignore_response);
        }
        known
    }

    /// The part of some arguments that makes a difference; `None`: all of it does. `more`: names of arguments that make
    /// none, for this tool.
    #[must_use]
    pub fn args(&self, known: &Known<'_>, args: Value<'_>, more: &[&str]) -> Option<Vec<u8>> {
        self.without(&known.ignore_args, args, more)
    }

    /// The part of a result that makes a difference; `None`: all of it does.
    #[must_use]
    pub fn response(&self, known: &Known<'_>, response: Value<'_>) -> Option<Vec<u8>> {
        self.without(&known.ignore_response, response, &[])
    }

    fn without(&self, pointers: &[&Pointer], value: Value<'_>, more: &[&str]) -> Option<Vec<u8>> {
        let volatile = self.defaults && has_volatile(value.text());
        let named = more.iter().any(|name| value.get(name).is_some());
        if pointers.is_empty() && !volatile && !named {
            return None;
        }
        let mut out = Vec::with_capacity(value.text().len());
        let mut walk = Walk { pointers, volatile, more, path: Vec::new(), left_out: false };
        walk.write(value, &mut out);
        walk.left_out.then_some(out)
    }
}

/// Whether a text may have a member with one of the default names.
fn has_volatile(text: &[u8]) -> bool {
    static NAMES: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    let names = NAMES.get_or_init(|| AhoCorasick::new(VOLATILE.map(|name| format!("\"{name}\":"))).ok());
    names.as_ref().is_some_and(|names| names.is_match(text))
}

/// Writes a value without what makes no difference.
struct Walk<'w> {
    pointers: &'w [&'w Pointer],
    volatile: bool,
    more: &'w [&'w str],
    path: Vec<String>,
    left_out: bool,
}

impl Walk<'_> {
    fn write(&mut self, value: Value<'_>, out: &mut Vec<u8>) {
        if value.is_object() {
            out.push(b'{');
            let mut first = true;
            for (key, member) in value.members() {
                self.path.push(key.name().into_owned());
                if self.is_ignored(member) {
                    self.left_out = true;
                } else {
                    if !std::mem::take(&mut first) {
                        out.push(b',');
                    }
                    out.extend_from_slice(key.text());
                    out.push(b':');
                    self.write(member, out);
                }
                self.path.pop();
            }
            out.push(b'}');
        } else if value.is_array() {
            out.push(b'[');
            let mut first = true;
            for (place, item) in value.items().enumerate() {
                self.path.push(place.to_string());
                if self.is_ignored(item) {
                    self.left_out = true;
                } else {
                    if !std::mem::take(&mut first) {
                        out.push(b',');
                    }
                    self.write(item, out);
                }
                self.path.pop();
            }
            out.push(b']');
        } else {
            out.extend_from_slice(value.text());
        }
    }

    fn is_ignored(&self, value: Value<'_>) -> bool {
        let Some(name) = self.path.last() else { return false };
        let by_name = self.volatile && VOLATILE.contains(&name.as_str());
        by_name
            || self.path.len() == 1 && self.more.contains(&name.as_str())
            || self.pointers.iter().any(|pointer| fits(&pointer.0, &self.path) && pointer.may_take(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::view;

    fn without(traits: &Traits, text: &str) -> Option<String> {
        let value = view::only_value(text.as_bytes()).unwrap();
        traits.response(&traits.of("search"), value).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn volatile_names_are_left_out_at_any_depth_and_only_as_names() {
        let traits = Traits::default();
        let text = r#"{"a":[{"request_id":1,"v":2}],"timestamp":"now","took":3}"#;
        assert_eq!(without(&traits, text).unwrap(), r#"{"a":[{"v":2}]}"#);
        assert_eq!(without(&traits, r#"{"a":"timestamp"}"#), None);
        let off = Traits::new(Vec::new(), Vec::new(), Vec::new(), false);
        assert_eq!(without(&off, text), None);
    }

    #[test]
    fn wildcards_never_reach_what_asks_for_a_part() {
        let pointer = |text| Pointer::parse(text).unwrap();
        let text = r#"{"a":{"offset":1,"x":2},"limit":3,"z":[4,5]}"#;
        for (ignored, left) in [
            ("/**", r#"{"a":{"offset":1},"limit":3}"#),
            ("/*", r#"{"a":{"offset":1,"x":2},"limit":3}"#),
            ("/a/*", r#"{"a":{"offset":1},"limit":3,"z":[4,5]}"#),
            ("/a/offset", r#"{"a":{"x":2},"limit":3,"z":[4,5]}"#),
            ("/z/0", r#"{"a":{"offset":1,"x":2},"limit":3,"z":[5]}"#),
            ("/**/x", r#"{"a":{"offset":1},"limit":3,"z":[4,5]}"#),
        ] {
            let traits = Traits::new(Vec::new(), Vec::new(), vec![pointer(ignored)], true);
            assert_eq!(without(&traits, text).unwrap(), left, "{ignored}");
        }
        assert_eq!(Pointer::parse("a/b"), None);
    }

    #[test]
    fn later_entries_win() {
        let entry = |name: &str, effect| {
            let traits = ToolTraits { effect: Some(effect), ..ToolTraits::default() };
            (glob::Pattern::new(name).unwrap(), traits)
        };
        let tools = vec![entry("mcp__*", Effect::ReadOnly), entry("mcp__db__drop", Effect::Mutates)];
        let traits = Traits::new(tools, Vec::new(), Vec::new(), true);
        assert_eq!(traits.of("mcp__db__list").effect, Some(Effect::ReadOnly));
        assert_eq!(traits.of("mcp__db__drop").effect, Some(Effect::Mutates));
        assert_eq!(traits.of("other").effect, None);
    }
}
