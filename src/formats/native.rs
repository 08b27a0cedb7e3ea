//! Transcripts, as one format more: a record is a call, and its `$import` says what an import knew besides.

use super::effect::Profile;
use super::facts::{self, Around, CallFacts};
use super::known;
use super::marks::{self, Marks};
use crate::call::{Call, Print, ResultState};
use crate::engine::{Judge, Judgement, Noted, Ruleset, Subject};
use crate::finding::{ArgumentPlace, Place};
use crate::json::view::{self, Value};
use crate::json::{Canonical, decode_lossless};
use crate::rules::{MAIN_AGENT, SeedStep};
use crate::transcript::{self, Block, Layout, Preceding, ReadError, ScanError, Visit, utf16_width};
use std::collections::HashMap;
use std::convert::Infallible;
use std::io::Read;
use std::ops::Range;

/// Judges one transcript with up to `threads` threads.
///
/// # Errors
/// The first line that is no record, or a failed read: then nothing was judged.
pub fn judge(source: impl Read + Send, ruleset: &Ruleset, threads: usize) -> Result<Judgement, ReadError> {
    let mut reader = NativeJudge::new(ruleset, Layout::Transcript);
    let visit = |seen: &mut Seen, visit: Visit<'_>| seen.visit(ruleset, &visit);
    let sink = |block: &Block, seen: Seen, base: Preceding| {
        reader.take(block, seen, base);
        Ok::<(), Infallible>(())
    };
    match transcript::scan(source, Layout::Transcript, threads, visit, sink) {
        Ok(total) => Ok(reader.judgement(total)),
        Err(ScanError::Read(error)) => Err(error),
        Err(ScanError::Sink(never)) => match never {},
    }
}

/// What a worker notes of the records of one block.
#[derive(Debug, Default)]
pub struct Seen {
    seeds: Vec<SeedSeen>,
    calls: Vec<CallSeen>,
}

/// A call by its prints, for `replay`.
#[derive(Debug)]
struct SeedSeen {
    line: u32,
    range: Range<u32>,
    call: Print,
    response: Print,
    mutator: bool,
}

/// A call of which something must be known in order.
#[derive(Debug)]
struct CallSeen {
    ordinal: u32,
    line: u32,
    range: Range<u32>,
    call: Call,
    profile: &'static Profile,
    /// What was noted, if anything was; and the agent's context, if it is not the main one's.
    more: Option<Box<(Noted, Option<Context>)>>,
    compacted: bool,
    spoken: bool,
}

/// Whose call it is: the conversation and the agent.
type Context = (u32, Option<String>);

/// The bytes of a value that stand together, copied where they do not.
fn bytes<'v>(value: Canonical<'v>, buffer: &'v mut Vec<u8>) -> &'v [u8] {
    match value.as_slice() {
        Some(slice) => slice,
        None => {
            *buffer = value.to_vec();
            buffer
        }
    }
}

impl Seen {
    /// Notes one record.
    pub fn visit(&mut self, ruleset: &Ruleset, visit: &Visit<'_>) {
        let tool = visit.fields.tool.get(visit.text, visit.scratch);
        let args = visit.fields.args.get(visit.text, visit.scratch);
        let response = visit.fields.response.get(visit.text, visit.scratch);
        let literal = tool.as_slice().unwrap_or(b"");
        if ruleset.is_seed() {
            self.seeds.push(SeedSeen {
                line: visit.line,
                range: visit.range.clone(),
                call: ruleset.key().print(&[args, tool]),
                response: ruleset.key().print(&[response]),
                mutator: ruleset.mutators.contains(literal),
            });
            return;
        }
        let (mut args_buffer, mut response_buffer) = (Vec::new(), Vec::new());
        let args = bytes(args, &mut args_buffer);
        let needs = ruleset.needs();
        let whole = bytes(response, &mut response_buffer);
        let marked = marks::split(whole);
        let (marks, response) = match &marked {
            Some((marks, response)) => (Some(marks), &response[..]),
            None => (None, whole),
        };
        let profile = profile_of(marks.and_then(|marks| marks.format.as_deref()));
        let name = decode_lossless(literal);
        let locate = |pointer: &str| locate(visit, pointer);
        let cwd = marks.and_then(|marks| marks.cwd.as_deref());
        let agent = marks.and_then(|marks| marks.agent.as_deref());
        let names = marks.map(Marks::agent_names).unwrap_or_default();
        let agents: Vec<&str> = names.iter().map(String::as_str).collect();
        let args = view::only_value(args).unwrap_or(Value::NOWHERE);
        let agents: &[&str] = if agents.is_empty() { &[MAIN_AGENT] } else { &agents };
        let around = Around { cwd, agent, agents: Some(agents), locate: &locate };
        let CallFacts { same, effect, poll, varies, plain, blacked_out, target, mut noted } =
            facts::of_call(ruleset, profile, &name, literal, args, around);
        let answered = marks.is_none_or(|marks| !matches!(marks.state, Some(ResultState::NoResult(_))));
        let mut result = None;
        let mut unchanged = false;
        if answered && (needs.comparison || needs.results) {
            let facts = facts::of_result(ruleset, profile, Some(&name), response);
            noted.add(facts.noted);
            let whole =
                marks.is_none_or(|marks| marks.state.is_none() && marks.more_results.is_empty() && !marks.redacted);
            result = (whole && !facts.blacked_out).then_some(facts.print);
            unchanged = facts.unchanged;
        }
        if noted.is_empty() && !needs.comparison {
            return;
        }
        let state = marks.and_then(|marks| marks.state);
        let without_effect =
            marks.is_some_and(|marks| marks.no_effect) || matches!(state, Some(ResultState::NotExecuted(_)));
        let context = marks.filter(|marks| marks.conversation > 0 || marks.agent.is_some());
        let context = context.map(|marks| (marks.conversation, marks.agent.clone()));
        self.calls.push(CallSeen {
            ordinal: visit.ordinal,
            line: visit.line,
            range: visit.range.clone(),
            call: Call {
                place: Place { index: 0, line: 0 },
                context: 0,
                epoch: 0,
                words: 0,
                turn: marks.map_or(0, |marks| marks.turn),
                same,
                result,
                unchanged,
                state,
                failed: marks.is_some_and(|marks| marks.failed),
                effect: marks.and_then(|marks| marks.effect).unwrap_or(effect),
                without_effect,
                poll,
                varies,
                known: !blacked_out && !marks.is_some_and(|marks| marks.args_unknown),
                plain: plain && marks.is_none(),
                target,
            },
            profile,
            more: (!noted.is_empty() || context.is_some()).then(|| Box::new((noted, context))),
            compacted: marks.is_some_and(|marks| marks.compacted),
            spoken: marks.is_some_and(|marks| marks.spoken),
        });
    }
}

/// The tools of the format that a record was imported from.
pub(super) fn profile_of(format: Option<&str>) -> &'static Profile {
    let Some(id) = format else { return &Profile::NATIVE };
    known::profile(id)
        .or_else(|| known::FORMATS.iter().find(|format| format.id == id).map(|format| format.profile))
        .unwrap_or(&Profile::NATIVE)
}

/// Where an argument stands on a record's line, by its JSON Pointer.
fn locate(visit: &Visit<'_>, pointer: &str) -> Option<ArgumentPlace> {
    let record = view::only_value(visit.text).ok()?;
    let argument = record.get("args")?.pointer(pointer)?;
    let at = (argument.text().as_ptr() as usize).checked_sub(visit.text.as_ptr() as usize)?;
    let before = visit.text.get(..at)?;
    let column = before.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64 + 1;
    Some(ArgumentPlace {
        pointer: pointer.to_owned(),
        // the line within the block; the sink knows what came before
        line: u64::from(visit.line),
        column,
        width: utf16_width(argument.text()),
    })
}

/// Judges the records of one transcript, in order.
pub struct NativeJudge<'r> {
    ruleset: &'r Ruleset,
    layout: Layout,
    judge: Judge<'r>,
    contexts: HashMap<Context, u32>,
    /// Of each context: how often it was compacted, and how many messages a person wrote.
    told: HashMap<u32, (u32, u32)>,
    scratch: crate::json::Scratch,
}

impl std::fmt::Debug for NativeJudge<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NativeJudge").field("layout", &self.layout).finish_non_exhaustive()
    }
}

impl<'r> NativeJudge<'r> {
    /// A judge of transcripts, or of sealed ones.
    #[must_use]
    pub fn new(ruleset: &'r Ruleset, layout: Layout) -> NativeJudge<'r> {
        NativeJudge {
            ruleset,
            layout,
            judge: Judge::new(ruleset),
            contexts: HashMap::new(),
            told: HashMap::new(),
            scratch: crate::json::Scratch::default(),
        }
    }

    /// Takes in the next block.
    pub fn take(&mut self, block: &Block, seen: Seen, base: Preceding) {
        let NativeJudge { ruleset, layout, judge, contexts, told, scratch } = self;
        for (ordinal, seed) in seen.seeds.iter().enumerate() {
            let place = Place { index: base.records + ordinal as u64, line: base.lines + u64::from(seed.line) + 1 };
            let step = SeedStep { place, call: seed.call, response: seed.response, mutator: seed.mutator };
            let subject = || Ok(subject(block, &seed.range, *layout, place.line, scratch, |_, args| (args, None)));
            // a block is in memory: there is nothing that can fail
            let _ = judge.observe_seed(step, subject);
        }
        for CallSeen { ordinal, line, range, mut call, profile, more, compacted, spoken } in seen.calls {
            call.place = Place { index: base.records + u64::from(ordinal), line: base.lines + u64::from(line) + 1 };
            let (mut noted, context) = more.map(|more| *more).unwrap_or_default();
            if let Some(context) = context {
                let next = contexts.len() as u32 + 1;
                call.context = *contexts.entry(context).or_insert(next);
            }
            if compacted || spoken || call.context > 0 || !told.is_empty() {
                let (epochs, words) = told.entry(call.context).or_default();
                *epochs += u32::from(compacted);
                *words += u32::from(spoken);
                (call.epoch, call.words) = (*epochs, *words);
            }
            noted.shift(base.lines + 1);
            let marked = |tool: &str, args| facts::subject(ruleset, profile, tool, args);
            let subject = || Ok(subject(block, &range, *layout, call.place.line, scratch, marked));
            // whose call it was, its record says: nothing waits for that
            let _ = judge.observe(&call, &[], &noted, subject);
        }
    }

    /// What came of it, when all blocks were taken in.
    #[must_use]
    pub fn judgement(self, total: Preceding) -> Judgement {
        self.judge.judgement(total.records)
    }
}

/// A finding's call: its line is read once more.
fn subject(
    block: &Block,
    range: &Range<u32>,
    layout: Layout,
    line: u64,
    scratch: &mut crate::json::Scratch,
    part: impl FnOnce(&str, Vec<u8>) -> (Vec<u8>, Option<Vec<u8>>),
) -> Subject {
    let Some(record) = block.record(range, layout, line, scratch) else { return Subject::default() };
    let tool = record.tool().to_vec();
    let (args, whole) = part(&decode_lossless(&tool), record.args().to_vec());
    Subject { args, whole, tool, width: utf16_width(record.text), column: 0, start: 0, file: None }
}
