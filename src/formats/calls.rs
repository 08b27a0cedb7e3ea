//! The calls of a recording one by one, with all that was recorded of each: what is looked at, counted and compared
//! rather than judged. They come from the same readers, in the same order and with the same numbers as where they are
//! judged.

use super::effect::{Profile, Words};
use super::event::{Flags, Location};
use super::facts::{self, Around, CallFacts};
use super::marks;
use super::native;
use super::pairing::Pairing;
use super::store::{Handle, Store};
use super::usage::Usage;
use super::verdict::Imported;
use crate::call::{Effect, Print, ResultState};
use crate::engine::Ruleset;
use crate::json::view::{self, Value};
use crate::json::{self, Scratch, decode_lossless};
use crate::transcript::{Layout, ReadError, Records};
use std::collections::HashMap;
use std::io::{self, Read};

/// One call, borrowed from its recording.
#[derive(Debug)]
pub(crate) struct Recorded<'c> {
    pub(crate) at: Location,
    /// Whose it is: the agent (empty: the main one) and the conversation, counted from 0.
    pub(crate) agent: &'c str,
    pub(crate) conversation: u32,
    pub(crate) turn: u64,
    pub(crate) tool: &'c str,
    /// What it was called with, in canonical form.
    pub(crate) args: &'c [u8],
    /// What was answered, in canonical form; none: nothing.
    pub(crate) response: Option<&'c [u8]>,
    /// Further answers.
    pub(crate) more: &'c [Vec<u8>],
    pub(crate) effect: Effect,
    pub(crate) poll: bool,
    pub(crate) state: Option<ResultState>,
    pub(crate) failed: bool,
    /// Nanoseconds since 1970.
    pub(crate) time: Option<i64>,
    pub(crate) answered: Option<i64>,
    /// Stands for the tool and those arguments that make a difference.
    pub(crate) same: Print,
    /// Stands for what the answer says, whichever way its format wraps it; none: it is not known as a whole.
    pub(crate) said: Option<Print>,
    /// Whether what it was called with is known; else it is like no other call.
    pub(crate) known: bool,
    /// How often its agent's context was compacted or reset before it.
    pub(crate) epoch: u32,
    /// Where its texts are kept already.
    pub(crate) kept: Option<(Handle, Handle)>,
}

/// What models used, by agent (empty: the main one) and conversation.
pub(crate) type Used = Vec<((String, u32), Usage)>;

impl Imported {
    /// Hands on every call, in order. Only a recording that was read to be written has its answers.
    ///
    /// # Errors
    /// A temporary file that cannot be read, or what `visit` says.
    pub(crate) fn each_call(
        &mut self,
        ruleset: &Ruleset,
        mut visit: impl FnMut(Recorded<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let Pairing { pairs, tools, threads, store, more, .. } = &mut self.pairing;
        let names: Vec<String> = tools.iter().map(|tool| decode_lossless(tool)).collect();
        let (mut args, mut response) = (Vec::new(), Vec::new());
        for place in &self.order {
            let pair = &pairs[*place as usize];
            store.get(pair.args, &mut args)?;
            store.get(pair.body, &mut response)?;
            let tool = &names[pair.tool as usize];
            let value = view::only_value(&args).unwrap_or(Value::NOWHERE);
            let agent = &threads[pair.thread as usize].name;
            let around = Around { cwd: pair.cwd.as_deref(), agent: None, agents: None, locate: &|_| None };
            let facts = facts::of_call(ruleset, pair.profile, tool, &tools[pair.tool as usize], value, around);
            let CallFacts { same, poll, blacked_out, .. } = facts;
            let answered = pair.flags.has(Flags::ANSWERED);
            let further = more.get(place).map_or(&[][..], Vec::as_slice);
            let whole = pair.mark.is_none() && further.is_empty() && !pair.flags.has(Flags::REDACTED);
            let said = answered.then(|| said(ruleset, pair.profile, tool, &response)).flatten();
            visit(Recorded {
                at: pair.at,
                agent,
                conversation: pair.scope,
                turn: pair.turn,
                tool,
                args: &args,
                response: answered.then_some(response.as_slice()),
                more: further,
                effect: ruleset.traits.of(tool).effect.unwrap_or(pair.effect),
                poll,
                state: pair.mark,
                failed: pair.flags.has(Flags::FAILED),
                time: pair.time,
                answered: pair.answered,
                same,
                said: said.filter(|_| whole),
                known: !blacked_out && !pair.flags.has(Flags::ARGS_UNKNOWN),
                epoch: pair.epoch,
                kept: Some((pair.args, pair.body)),
            })?;
        }
        Ok(())
    }

    /// What models used.
    pub(crate) fn used(&self) -> Used {
        let name = |thread: u32| self.pairing.threads[thread as usize].name.clone();
        self.pairing.used().into_iter().map(|((scope, thread), usage)| ((name(thread), scope), usage)).collect()
    }

    /// Where the texts are that [`Recorded::kept`] names.
    pub(crate) fn into_store(self) -> Store {
        self.pairing.store
    }
}

/// Hands on every record of a transcript as a call, in order.
///
/// # Errors
/// The first line that is no record, or a failed read; or what `visit` says.
pub(crate) fn each_record(
    source: impl Read,
    layout: Layout,
    ruleset: &Ruleset,
    mut visit: impl FnMut(Recorded<'_>) -> io::Result<()>,
) -> Result<io::Result<()>, ReadError> {
    let mut records = Records::new(source, layout);
    // compactions so far, by conversation and agent
    let mut epochs: HashMap<(u32, String), u32> = HashMap::new();
    while let Some(record) = records.next_record()? {
        let (line, literal) = (record.line, record.tool().to_vec());
        let tool = decode_lossless(&literal);
        let (args, whole) = (record.args().to_vec(), record.response().to_vec());
        let (marks, response) = match marks::split(&whole) {
            Some((marks, response)) => (marks, response),
            None => (marks::Marks::default(), whole),
        };
        let profile = native::profile_of(marks.format.as_deref());
        let value = view::only_value(&args).unwrap_or(Value::NOWHERE);
        let around = Around { cwd: marks.cwd.as_deref(), agent: None, agents: None, locate: &|_| None };
        let facts = facts::of_call(ruleset, profile, &tool, &literal, value, around);
        let answered = !matches!(marks.state, Some(ResultState::NoResult(_)));
        let complete = marks.state.is_none() && marks.more_results.is_empty() && !marks.redacted;
        let said = answered.then(|| said(ruleset, profile, &tool, &response)).flatten();
        let agent = marks.agent.unwrap_or_default();
        let conversation = marks.conversation.saturating_sub(1);
        let epoch = epochs.entry((conversation, agent.clone())).or_default();
        *epoch += u32::from(marks.compacted);
        let configured = ruleset.traits.of(&tool).effect;
        let visited = visit(Recorded {
            at: Location { line, ..Location::default() },
            agent: &agent,
            conversation,
            turn: marks.turn,
            tool: &tool,
            args: &args,
            response: answered.then_some(response.as_slice()),
            more: &marks.more_results,
            effect: configured.or(marks.effect).unwrap_or(facts.effect),
            poll: facts.poll,
            state: marks.state,
            failed: marks.failed,
            time: None,
            answered: None,
            same: facts.same,
            said: said.filter(|_| complete),
            known: !facts.blacked_out && !marks.args_unknown,
            epoch: *epoch,
            kept: None,
        });
        if visited.is_err() {
            return Ok(visited);
        }
    }
    Ok(Ok(()))
}

/// The print of what an answer says: without what makes no difference and without what its format wraps around it, so
/// that the same answer is the same in every format. None where it was blacked out.
fn said(ruleset: &Ruleset, profile: &Profile, tool: &str, response: &[u8]) -> Option<Print> {
    let key = ruleset.key();
    let Ok(value) = view::only_value(response) else { return Some(key.print_parts(&[response])) };
    if value.text().len() < 256 && facts::is_blacked_out(value.text()) {
        return None;
    }
    if let Some(Words::Own(text)) = profile.words.and_then(|words| words(value)) {
        return Some(key.print_parts(&[&plain(&text)]));
    }
    let known = ruleset.traits.of(tool);
    let text = ruleset.traits.response(&known, value).unwrap_or_else(|| response.to_vec());
    let inner = plain(&text);
    // what stood in a text may have fields that make no difference as well
    let less = view::only_value(&inner).ok().and_then(|value| ruleset.traits.response(&known, value));
    Some(key.print_parts(&[less.as_deref().unwrap_or(&inner)]))
}

/// What stands in the member that formats put an answer into: text as text, JSON that stands as text as JSON.
pub(crate) fn plain(response: &[u8]) -> Vec<u8> {
    let Ok(mut value) = view::only_value(response) else { return response.to_vec() };
    if value.is_object() && value.members().all(|(key, _)| key.is("content") || key.is("is_error")) {
        value = value.get("content").unwrap_or(value);
    }
    // joined as they are written: what is no text by itself, such as half a character, stays what it is
    let texts: Option<Vec<&[u8]>> = value.items().map(text_block).collect();
    let literal = match texts {
        Some(texts) if !texts.is_empty() => [b"\"", texts.concat().as_slice(), b"\""].concat(),
        _ => value.text().to_vec(),
    };
    if literal.starts_with(b"\"{") || literal.starts_with(b"\"[") {
        let text = decode_lossless(&literal);
        let mut scratch = Scratch::default();
        if let Ok(span) = json::canonical(text.as_bytes(), &mut scratch) {
            return span.get(text.as_bytes(), &scratch).to_vec();
        }
    }
    literal
}

/// The text of a block that holds nothing but text.
fn text_block(block: Value<'_>) -> Option<&[u8]> {
    let only_text = block.members().all(|(key, value)| key.is("text") || key.is("type") && value.is("text"));
    block.get("text").filter(|_| only_text)?.text().strip_prefix(b"\"")?.strip_suffix(b"\"")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn an_answer_reads_the_same_in_every_wrapping() {
        let one = plain(br#"{"content":"two\nlines"}"#);
        for other in [
            r#"{"content":"two\nlines","is_error":false}"#,
            r#"{"content":[{"text":"two\nlines","type":"text"}]}"#,
            r#"{"content":[{"text":"two\n","type":"text"},{"text":"lines","type":"text"}]}"#,
        ] {
            assert_eq!(plain(other.as_bytes()), one, "{other}");
        }
        assert_eq!(plain(br#"{"content":"{\"b\": 1, \"a\": 2}"}"#), br#"{"a":2,"b":1}"#);
        assert_eq!(plain(br#"{"hits":3}"#), br#"{"hits":3}"#);
        // what is more than its content is looked at as a whole
        assert_eq!(plain(br#"{"content":"x","exit":1}"#), br#"{"content":"x","exit":1}"#);
        assert_ne!(plain(br#"{"content":[{"text":"x","type":"image"}]}"#), plain(br#"{"content":"x"}"#));
    }
}
