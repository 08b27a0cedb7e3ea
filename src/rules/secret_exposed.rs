//! A secret that stands in a recording, which is kept.

use super::{Arguments, CallRule, Memo, Needs, Spot};
use crate::finding::{Finding, Level, Rule};
use crate::json::view::Value;
use crate::secrets::{self, Certainty, Finder, Kind, Match};

/// A secret stands in a call's arguments or result. The finding's detail says what it is, never the secret.
pub static SECRET_EXPOSED: Rule = Rule {
    id: "secret-exposed",
    summary: "A secret stands in the recording.",
    level: Level::Warning,
    page: include_str!("../../docs/rules/secret-exposed.md"),
    security_severity: Some("7.5"),
    suppressible: true,
    precision: "high",
    message,
};

/// The rule.
#[derive(Debug)]
pub struct SecretExposed;

impl CallRule for SecretExposed {
    fn rule(&self) -> &'static Rule {
        &SECRET_EXPOSED
    }

    fn needs(&self) -> Needs {
        Needs { arguments: true, results: true, ..Needs::default() }
    }

    fn inspect_arguments(&self, call: &Arguments<'_>, found: &mut Vec<Spot>) -> Option<Memo> {
        let text = call.arguments.text();
        if secrets::may_hold(text) {
            for one in reported(Finder::default().find_in_json(text)) {
                let argument = pointer(call.arguments, one.range.start).and_then(|pointer| (call.locate)(&pointer));
                found.push(Spot { argument, ..spot(&one, text, "arguments", Level::Error) });
            }
        }
        None
    }

    /// What is shown of the argument has a mask in the secret's place.
    fn part<'s>(&self, _spot: &'s Spot) -> &'s str {
        secrets::MASK
    }

    fn inspect_result(&self, result: &Value<'_>, found: &mut Vec<Spot>) {
        let text = result.text();
        found.extend(reported(secrets::find_likely(text)).map(|one| spot(&one, text, "result", Level::Warning)));
    }
}

/// Those that are worth telling: one of a kind.
fn reported(found: Vec<Match>) -> impl Iterator<Item = Match> {
    let mut seen: Vec<&'static str> = Vec::new();
    found.into_iter().filter(move |one| {
        let first = !seen.contains(&one.id);
        let worth = first && one.certainty >= Certainty::Likely && !matches!(one.kind, Kind::Field | Kind::Bare);
        seen.extend(worth.then_some(one.id));
        worth
    })
}

fn spot(one: &Match, text: &[u8], place: &str, level: Level) -> Spot {
    // a test key opens nothing but a test
    let level = if one.id == "stripe-test-key" { Level::Note } else { level };
    let detail = format!("{} stands in its {place}", secrets::describe(one.id));
    let same = text.get(one.range.clone()).map(|secret| secrets::number(secret, one.level, place));
    Spot { pattern: pattern(one.id), same, ..Spot::new(level, detail) }
}

/// How many further calls a message names.
const NAMED: usize = 5;

fn message(finding: &Finding) -> String {
    let said = format!("tool '{}': {}", finding.tool_text(), finding.detail_text());
    if finding.count < 2 {
        return said;
    }
    let named: Vec<String> = finding.others.iter().take(NAMED).map(|place| place.index.to_string()).collect();
    let more = if finding.count > named.len() as u64 + 1 { ", …" } else { "" };
    format!(
        "{said}; the same one stands in {} calls, first here, then in index {}{more}",
        finding.count,
        named.join(", ")
    )
}

/// The ids of all kinds.
pub(super) fn patterns() -> impl Iterator<Item = &'static str> {
    secrets::NAMED.iter().map(|named| named.rule)
}

fn pattern(id: &str) -> Option<&'static str> {
    secrets::NAMED.iter().find(|named| named.id == id).map(|named| named.rule)
}

/// The JSON Pointer of the member or item at a byte of an object's text.
fn pointer(object: Value<'_>, at: usize) -> Option<String> {
    let start = object.text().as_ptr() as usize;
    let holds = |value: Value<'_>| {
        let from = (value.text().as_ptr() as usize).checked_sub(start);
        from.is_some_and(|from| (from..from + value.text().len()).contains(&at))
    };
    let mut pointer = String::new();
    let mut value = object;
    for _ in 0..100 {
        let inner = if value.is_object() {
            value.members().find_map(|(key, inner)| {
                let name = key.name().replace('~', "~0").replace('/', "~1");
                holds(inner).then_some((name, inner))
            })
        } else {
            value.items().enumerate().find(|(_, inner)| holds(*inner)).map(|(place, inner)| (place.to_string(), inner))
        };
        let Some((name, inner)) = inner else { break };
        pointer.push('/');
        pointer.push_str(&name);
        value = inner;
    }
    (!pointer.is_empty()).then_some(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::view::only_value;

    #[test]
    fn the_place_of_an_argument() {
        let text = br#"{"a":{"b/c":["x","secret"]},"d":1}"#;
        let object = only_value(text).unwrap();
        let at = |part: &[u8]| memchr::memmem::find(text, part).unwrap();
        assert_eq!(pointer(object, at(b"secret")).as_deref(), Some("/a/b~1c/1"));
        assert_eq!(pointer(object, at(b"1}")).as_deref(), Some("/d"));
        assert_eq!(pointer(object, at(b"\"d\"")), None);
    }

    #[test]
    fn only_what_is_surely_one() {
        let key = format!("glpat-{}", "kQ7vZ2mXr9TbW4nYc8Hd");
        let ids =
            |text: &str| -> Vec<&str> { reported(secrets::find_shapes(text.as_bytes())).map(|one| one.id).collect() };
        assert_eq!(ids(&format!(r#"{{"a":"x\n{key}\n{key}"}}"#)), ["gitlab-token"]);
        assert_eq!(ids(r#"{"a":"AKIAIOSFODNN7EXAMPLE sk-0123456789abcdef0123456789abcdef"}"#), [""; 0]);
    }
}
