//! `$import`: what a transcript's four fields cannot hold, in a member of that name in the response. Written by an import,
//! read back where a transcript is judged, so that both give the same findings.

use crate::call::{Effect, NotExecuted, Receipt, ResultState};
use crate::json::canonical_string;
use crate::json::view::{self, Value};
use crate::rules::agent_names;

/// The name of the member. No other name that begins with a letter or a digit sorts before it.
pub(crate) const MEMBER: &str = "$import";

/// What is known of a call besides its record's four fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Marks {
    /// The id of the format it was recorded in.
    pub(crate) format: Option<String>,
    pub(crate) state: Option<ResultState>,
    pub(crate) failed: bool,
    /// It failed, and said that nothing was changed.
    pub(crate) no_effect: bool,
    /// Nobody saw it run.
    pub(crate) unobserved: bool,
    /// Secrets were taken out of the result.
    pub(crate) redacted: bool,
    /// What it was called with was not recorded.
    pub(crate) args_unknown: bool,
    /// Further results, in canonical form.
    pub(crate) more_results: Vec<Vec<u8>>,
    /// What the call does, where neither its tool's name nor its arguments tell.
    pub(crate) effect: Option<Effect>,
    /// The agent; none: the main one.
    pub(crate) agent: Option<String>,
    /// What the agent is called besides, or the names of those that started it; the main one's is left out.
    pub(crate) agents: Vec<String>,
    /// The conversation, connection or run, counted from 1; 0: the only one.
    pub(crate) conversation: u32,
    /// Calls with the same number were made at once; 0: alone.
    pub(crate) turn: u64,
    /// The context was compacted or reset since the last call of the same agent.
    pub(crate) compacted: bool,
    /// A person wrote since then.
    pub(crate) spoken: bool,
    pub(crate) cwd: Option<String>,
}

impl Marks {
    /// The `$import` object, in canonical form.
    pub(crate) fn write(&self) -> String {
        let text = |text: &str| String::from_utf8(canonical_string(text)).unwrap_or_default();
        let mut members = Vec::new();
        let mut put = |name: &str, value: String| members.push(format!("\"{name}\":{value}"));
        let after: Vec<&str> = [("\"compaction\"", self.compacted), ("\"person\"", self.spoken)]
            .into_iter()
            .filter_map(|(name, is)| is.then_some(name))
            .collect();
        if !after.is_empty() {
            put("after", format!("[{}]", after.join(",")));
        }
        if let Some(agent) = &self.agent {
            put("agent", text(agent));
        }
        if !self.agents.is_empty() {
            let names: Vec<String> = self.agents.iter().map(|name| text(name)).collect();
            put("agents", format!("[{}]", names.join(",")));
        }
        if self.args_unknown {
            put("args", "\"not_recorded\"".to_owned());
        }
        if self.conversation > 0 {
            put("conversation", self.conversation.to_string());
        }
        if let Some(cwd) = &self.cwd {
            put("cwd", text(cwd));
        }
        if let Some(effect) = self.effect {
            put("effect", text(effect.name()));
        }
        if self.unobserved {
            put("execution", "\"not_observed\"".to_owned());
        }
        if self.failed {
            put("failed", "true".to_owned());
        }
        if let Some(format) = &self.format {
            put("format", text(format));
        }
        if let Some(ResultState::Receipt(kind)) = self.state {
            put("kind", text(kind.name()));
        }
        if !self.more_results.is_empty() {
            let more: Vec<_> = self.more_results.iter().map(|result| String::from_utf8_lossy(result)).collect();
            put("more_results", format!("[{}]", more.join(",")));
        }
        if self.no_effect {
            put("no_effect", "true".to_owned());
        }
        match self.state {
            Some(ResultState::NotExecuted(reason)) => put("reason", text(reason.name())),
            Some(ResultState::NoResult(Some(reason))) => put("reason", text(reason)),
            _ => {}
        }
        if self.redacted {
            put("redacted", "true".to_owned());
        }
        if let Some(state) = self.state {
            put("status", text(state.status()));
        }
        if self.turn > 0 {
            put("turn", self.turn.to_string());
        }
        format!("{{{}}}", members.join(","))
    }

    /// The names under which a scope may have lists for the agent; none: it is the main one.
    pub(crate) fn agent_names(&self) -> Vec<String> {
        self.agent.as_deref().map_or_else(Vec::new, |agent| agent_names(Some(agent), &self.agents, &[]))
    }

    /// Reads the object back. What is not known is left out: a transcript may hold anything.
    pub(crate) fn read(object: Value<'_>) -> Marks {
        let text = |name: &str| object.str_at(name).map(|text| text.into_owned());
        let number =
            |name: &str| object.get(name).and_then(Value::as_i64).and_then(|number| u64::try_from(number).ok());
        let is = |name: &str| object.get(name).and_then(Value::as_bool) == Some(true);
        let after = |word: &str| object.get("after").is_some_and(|list| list.items().any(|item| item.is(word)));
        let reason = text("reason").unwrap_or_default();
        let state = object.str_at("status").and_then(|status| match &*status {
            "not_executed" => NotExecuted::named(&reason).map(ResultState::NotExecuted),
            "receipt" => Receipt::named(&text("kind")?).map(ResultState::Receipt),
            "truncated" => Some(ResultState::Truncated),
            "no_result" => Some(ResultState::NoResult(None)),
            _ => None,
        });
        let more = object.get("more_results").map(|list| list.items().map(|item| item.text().to_vec()).collect());
        Marks {
            format: text("format"),
            state,
            failed: is("failed"),
            no_effect: is("no_effect"),
            unobserved: object.get("execution").is_some_and(|value| value.is("not_observed")),
            redacted: is("redacted"),
            args_unknown: object.get("args").is_some_and(|value| value.is("not_recorded")),
            more_results: more.unwrap_or_default(),
            effect: text("effect").and_then(|name| Effect::named(&name)),
            agent: text("agent"),
            agents: object.get("agents").map(names).unwrap_or_default(),
            conversation: number("conversation").and_then(|number| u32::try_from(number).ok()).unwrap_or(0),
            turn: number("turn").unwrap_or(0),
            compacted: after("compaction"),
            spoken: after("person"),
            cwd: text("cwd"),
        }
    }
}

fn names(list: Value<'_>) -> Vec<String> {
    list.items().filter_map(|name| Some(name.as_str()?.into_owned())).collect()
}

/// Takes the marks out of a response in canonical form: the marks, and the response without them.
pub(crate) fn split(response: &[u8]) -> Option<(Marks, Vec<u8>)> {
    let rest = response.strip_prefix(b"{\"$import\":")?;
    let (object, rest) = view::first_value(rest).ok()?;
    if !object.is_object() {
        return None;
    }
    let rest = rest.strip_prefix(b",").unwrap_or(rest);
    Some((Marks::read(object), [b"{", rest].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let marks = Marks {
            format: Some("codex".to_owned()),
            state: Some(ResultState::NotExecuted(NotExecuted::UserRejected)),
            failed: true,
            no_effect: true,
            unobserved: true,
            redacted: true,
            args_unknown: true,
            more_results: vec![b"{\"a\":1}".to_vec()],
            effect: Some(Effect::ReadOnly),
            agent: Some("agent:\"x\u{e9}".to_owned()),
            agents: vec!["agent:\"y".to_owned(), "planner".to_owned()],
            conversation: 2,
            turn: 7,
            compacted: true,
            spoken: true,
            cwd: Some("/w".to_owned()),
        };
        let text = marks.write();
        let mut scratch = crate::json::Scratch::default();
        let span = crate::json::canonical(text.as_bytes(), &mut scratch).unwrap();
        assert_eq!(span.get(text.as_bytes(), &scratch).to_vec(), text.as_bytes(), "it is canonical");
        for body in ["{}", "{\"content\":\"x\"}"] {
            let response = format!("{{\"$import\":{text}{}{}", if body == "{}" { "" } else { "," }, &body[1..]);
            assert_eq!(split(response.as_bytes()), Some((marks.clone(), body.as_bytes().to_vec())));
        }
        assert_eq!(split(b"{\"content\":1}"), None);
        assert_eq!(Marks::default().write(), "{}");
    }
}
