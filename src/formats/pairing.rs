//! The pairing, where calls meet their answers: one for a recording, whichever files it has.
//!
//! Of every call a pair of fixed size is kept; its texts wait in a store. Ids are a hint, not an identity: they count
//! within a scope, the calls of the newest turn come first, and a call is dropped as a copy only where its format says
//! that ids do not repeat and tool and arguments are the same as well.

use super::capture_gaps::CaptureGaps;
use super::effect::Profile;
use super::event::{Effect, Flags, Location, Mark};
use super::facts::{CallFacts, ResultFacts};
use super::normalize::{Apart, Event, NormalizedCall, NormalizedResult, ResultOwner};
use super::store::{Handle, Store};
use super::usage::Usage;
use super::warnings::{Balance, Code, Tally};
use crate::call::{Key, Print};
use crate::rules::agent_names;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::io;

/// No pair.
const NONE: u32 = u32::MAX;

/// Calls of one id that are looked at for an answer, the latest ones: a recording in which every call has the same id
/// must not take time by the square of its length.
const CHAIN: usize = 1024;

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct CallPair {
    pub(crate) at: Location,
    pub(crate) thread: u32,
    /// Stands for the turn; 0: none.
    pub(crate) turn: u64,
    pub(crate) time: Option<i64>,
    /// When its answer came.
    pub(crate) answered: Option<i64>,
    pub(crate) tool: u32,
    pub(crate) effect: Effect,
    pub(crate) flags: Flags,
    pub(crate) mark: Option<Mark>,
    pub(crate) call: Print,
    pub(crate) response: Print,
    pub(crate) args: Handle,
    pub(crate) body: Handle,
    pub(crate) id: Handle,
    /// The conversation, connection or run: calls of different ones are not compared.
    pub(crate) scope: u32,
    /// The tools of the agent that made it.
    pub(crate) profile: &'static Profile,
    pub(crate) cwd: Option<Box<str>>,
    /// How often its agent's context was compacted before it, and how many messages a person wrote.
    pub(crate) epoch: u32,
    pub(crate) words: u32,
    /// What makes a difference, where calls are judged.
    pub(crate) facts: Option<CallFacts>,
    pub(crate) result: Option<ResultFacts>,
    window: u32,
    /// The call before with the same id.
    same_id: u32,
}

/// An agent.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    /// Empty for the main agent.
    pub(crate) name: String,
    /// The names besides under which a scope may have lists for it, once all was read. Empty for the main agent.
    pub(crate) besides: Vec<String>,
}

impl Thread {
    /// The names under which a scope may have lists for it, the most specific first.
    pub(crate) fn names(&self) -> Vec<String> {
        agent_names((!self.name.is_empty()).then_some(&*self.name), &self.besides, &[])
    }
}

/// A conversation that was read.
#[derive(Debug, Clone, Copy)]
struct Whole {
    scope: u64,
    /// Where its first call stands, if it has any.
    since: u32,
    /// It repeats another one and goes on.
    grows: bool,
}

/// What a conversation repeats of one before it.
#[derive(Debug)]
struct Repeats {
    messages: usize,
    said: bool,
}

/// The pairing.
#[derive(Debug)]
pub(crate) struct Pairing {
    key: Key,
    pub(crate) pairs: Vec<CallPair>,
    pub(crate) threads: Vec<Thread>,
    thread_numbers: HashMap<Box<str>, u32>,
    /// Names as JSON strings in canonical form.
    pub(crate) tools: Vec<Box<[u8]>>,
    tool_numbers: HashMap<Box<[u8]>, u32>,
    pub(crate) store: Store,
    pub(crate) tally: Tally,
    pub(crate) balance: Balance,
    /// Slots by scope and id.
    ids: HashMap<u64, u32>,
    scope: u64,
    last_scope: u64,
    /// Conversations by the print of all their messages.
    wholes: HashMap<u64, Whole>,
    repeats: Option<Repeats>,
    scopes: HashMap<Box<str>, u64>,
    scope_count: u64,
    gaps: CaptureGaps,
    named_scopes: bool,
    /// Calls are ordered by their times alone.
    pub(crate) by_time: bool,
    window: u32,
    /// How many answers came so far.
    between_results: u64,
    /// Answers that came before their calls, by scope and id.
    early: HashMap<u64, Vec<NormalizedResult>>,
    early_ids: HashMap<u64, Box<str>>,
    /// Calls of the value that is being taken in.
    batch: Vec<u32>,
    hints: HashMap<Box<[u8]>, Effect>,
    sessions: HashSet<Box<str>>,
    /// Calls that may stand in another record as well: by scope, print, and whether they have an id.
    halves: HashMap<(u64, u64, bool), VecDeque<u32>>,
    /// Threads of records without an agent's name.
    links: HashMap<u64, u32>,
    linked: u32,
    prompts: HashMap<u64, u64>,
    /// Ids of the calls that start agents.
    spawns: Vec<(u32, Box<str>)>,
    started: HashMap<Box<str>, Vec<Box<str>>>,
    /// What kinds of agents threads are, as records beside their calls say.
    kinds: HashMap<Box<str>, Vec<String>>,
    /// Further answers to a call.
    pub(crate) more: HashMap<u32, Vec<Vec<u8>>>,
    /// By conversation and thread: compactions and a person's messages so far.
    apart: HashMap<(u64, u32), (u32, u32)>,
    /// Answers without a call: their ids and places.
    pub(crate) orphans: Vec<(String, Location)>,
    /// What models used, by conversation, thread and request.
    used: BTreeMap<(u64, u32, u64), Usage>,
    failure: Option<io::Error>,
}

impl Pairing {
    pub(crate) fn new(key: Key) -> Pairing {
        let mut pairing = Pairing {
            key,
            pairs: Vec::new(),
            threads: Vec::new(),
            thread_numbers: HashMap::new(),
            tools: Vec::new(),
            tool_numbers: HashMap::new(),
            store: Store::default(),
            tally: Tally::default(),
            balance: Balance::default(),
            ids: HashMap::new(),
            scope: 0,
            last_scope: 0,
            wholes: HashMap::new(),
            repeats: None,
            scopes: HashMap::new(),
            scope_count: 0,
            gaps: CaptureGaps::default(),
            named_scopes: false,
            by_time: false,
            window: 0,
            between_results: 0,
            early: HashMap::new(),
            early_ids: HashMap::new(),
            batch: Vec::new(),
            hints: HashMap::new(),
            sessions: HashSet::new(),
            halves: HashMap::new(),
            links: HashMap::new(),
            linked: 0,
            prompts: HashMap::new(),
            spawns: Vec::new(),
            started: HashMap::new(),
            kinds: HashMap::new(),
            more: HashMap::new(),
            apart: HashMap::new(),
            orphans: Vec::new(),
            used: BTreeMap::new(),
            failure: None,
        };
        pairing.thread("");
        pairing
    }

    /// Takes in the events of one value. `shift` is what must be added to their lines.
    pub(crate) fn take(&mut self, events: Vec<Event>, shift: u64) {
        self.batch.clear();
        for event in events {
            if self.repeats.is_some() && self.was_there(&event, shift) {
                continue;
            }
            match event {
                Event::Call(mut call) => {
                    call.at.line += shift;
                    let pair = self.call(*call);
                    self.batch.push(pair);
                }
                Event::ToolResult(mut result) => {
                    result.at.line += shift;
                    self.take_result(*result);
                }
                Event::Note(code, class, mut at, detail) => {
                    at.line += shift;
                    self.tally.warn(code, class, at, 1, &detail);
                }
                Event::Session(id, mut at, code) => {
                    at.line += shift;
                    if self.sessions.insert(id) && self.sessions.len() > 1 {
                        // what another session asked, this one's agent does not know
                        self.apart.entry((self.scope, 0)).or_default().0 += 1;
                        self.tally.warn(code, "", at, 1, "records of more than one session");
                    }
                }
                Event::Copies { calls, results, mut at } => {
                    at.line += shift;
                    self.balance.calls_in += calls;
                    self.balance.call_copies += calls;
                    self.balance.results_in += results;
                    self.balance.result_copies += results;
                    self.tally.warn(Code::DuplicateCopy, "marked as a copy", at, calls + results, "");
                }
                Event::Prompt { own, parent, mut at } => {
                    at.line += shift;
                    let (own, parent) = (self.number(&own), self.number(&parent));
                    if *self.prompts.entry(parent).or_insert(own) != own {
                        self.tally.warn(Code::AbandonedBranch, "", at, 1, "two prompts follow one record");
                    }
                }
                Event::Captured { capture, sequence, print, mut at } => {
                    at.line += shift;
                    let capture = self.number(&capture);
                    self.gaps.event(capture, sequence, print, at, &mut self.tally);
                }
                Event::CaptureEnds { capture, events, mut at } => {
                    at.line += shift;
                    self.gaps.ends(self.number(&capture), events, at);
                }
                Event::Follows { own, parents, mut at } => {
                    at.line += shift;
                    let parents = parents.into_iter().map(|parent| (self.number(&parent), parent)).collect();
                    self.gaps.follows(self.number(&own), parents, at);
                }
                other => self.take_rest(other),
            }
        }
    }

    fn take_rest(&mut self, event: Event) {
        match event {
            Event::Scope => {
                self.settle_early();
                self.last_scope += 1;
                self.scope = self.last_scope;
                self.window += 1;
            }
            Event::Conversation(beginnings) => self.conversation(&beginnings),
            Event::Message(_) => {}
            Event::Window => self.window += 1,
            Event::Marked(noted, mark) => {
                if let Some(place) = self.batch.get(noted.0 as usize).filter(|place| **place != NONE) {
                    self.pairs[*place as usize].mark = Some(mark);
                }
            }
            Event::ScopeNamed(name) => {
                let next = self.scope_count + 1;
                self.scope = *self.scopes.entry(name).or_insert(next);
                self.scope_count = self.scope_count.max(self.scope);
                self.named_scopes = true;
            }
            Event::ScopeAlias(name) => {
                self.scopes.insert(name, self.scope);
            }
            Event::Replied(own) => self.gaps.replied(self.number(&own)),
            Event::ByTime => self.by_time = true,
            Event::MarkId(id, mark) => self.mark(&id, mark),
            Event::Link { own, parent } => {
                let known = parent.and_then(|parent| self.links.get(&self.number(&parent)).copied());
                self.linked = known.unwrap_or_else(|| self.thread(&format!("sidechain:{own}")));
                let own = self.number(&own);
                self.links.insert(own, self.linked);
            }
            Event::Apart(apart, thread) => {
                let thread = match thread.as_deref() {
                    None => 0,
                    Some("") => self.linked,
                    Some(name) => self.thread(name),
                };
                let (epochs, words) = self.apart.entry((self.scope, thread)).or_default();
                match apart {
                    Apart::Compaction => *epochs += 1,
                    Apart::Person => *words += 1,
                }
            }
            Event::Hint(tool, effect) => {
                self.hints.insert(tool, effect);
            }
            Event::Started { call, thread } => self.started.entry(call).or_default().push(thread),
            Event::Kind { thread, kind } => {
                let kinds = self.kinds.entry(thread).or_default();
                if !kind.is_empty() && !kinds.iter().any(|known| **known == *kind) {
                    kinds.push(kind.into());
                }
            }
            Event::Usage(usage, key, thread) => self.usage(usage, key.as_deref(), thread.as_deref()),
            Event::Call(_)
            | Event::ToolResult(_)
            | Event::Note(..)
            | Event::Session(..)
            | Event::Copies { .. }
            | Event::Captured { .. }
            | Event::CaptureEnds { .. }
            | Event::Follows { .. }
            | Event::Prompt { .. } => {}
        }
    }

    /// A conversation begins. A log of requests holds all that was said before in each of them: then it goes on with the
    /// one whose whole it repeats, and what is repeated counts once.
    fn conversation(&mut self, beginnings: &[u64]) {
        self.settle_early();
        self.repeats = None;
        let known = beginnings.iter().enumerate().rev().find_map(|(at, whole)| Some((at, *self.wholes.get(whole)?)));
        // the same conversation twice is two runs of it, unless it is known to be one that grows
        let known = known.filter(|(at, whole)| {
            let calls = self.pairs.get(whole.since as usize).is_some_and(|pair| u64::from(pair.scope) == whole.scope);
            calls && (at + 1 < beginnings.len() || whole.grows)
        });
        let whole = match known {
            Some((at, whole)) => {
                self.scope = whole.scope;
                self.repeats = Some(Repeats { messages: at + 1, said: false });
                Whole { grows: true, ..whole }
            }
            None => {
                self.window += 1;
                self.last_scope += 1;
                self.scope = self.last_scope;
                Whole { scope: self.scope, since: self.pairs.len() as u32, grows: false }
            }
        };
        self.wholes.extend(beginnings.last().map(|last| (*last, whole)));
    }

    /// Whether an event stands in a part of a conversation that was read before.
    fn was_there(&mut self, event: &Event, shift: u64) -> bool {
        let Some(repeats) = &mut self.repeats else { return false };
        match event {
            Event::Conversation(_) | Event::Scope | Event::ScopeNamed(_) => {
                self.repeats = None;
                return false;
            }
            Event::Message(number) if *number >= repeats.messages => {
                self.repeats = None;
                return true;
            }
            Event::Call(call) => {
                self.balance.calls_in += 1;
                self.balance.call_copies += 1;
                self.batch.push(NONE);
                if !std::mem::replace(&mut repeats.said, true) {
                    let mut at = call.at;
                    at.line += shift;
                    let what = "a request that repeats the conversation before it";
                    self.tally.warn(Code::DuplicateCopy, "history", at, 1, what);
                }
            }
            Event::ToolResult(_) => {
                self.balance.results_in += 1;
                self.balance.result_copies += 1;
            }
            _ => {}
        }
        true
    }

    fn usage(&mut self, usage: Usage, key: Option<&str>, thread: Option<&str>) {
        let thread = match thread {
            None => 0,
            Some("") => self.linked,
            Some(name) => self.thread(name),
        };
        // what has no name is a request of its own
        let request = key.map_or(0, |key| self.number(key) | 1);
        let known = self.used.entry((self.scope, thread, request)).or_default();
        match key {
            Some(_) => known.update(usage),
            None => known.add(usage),
        }
    }

    /// What models used, by conversation and thread.
    pub(crate) fn used(&self) -> BTreeMap<(u32, u32), Usage> {
        let mut sums: BTreeMap<(u32, u32), Usage> = BTreeMap::new();
        for ((scope, thread, _), usage) in &self.used {
            sums.entry((*scope as u32, *thread)).or_default().add(*usage);
        }
        sums
    }

    fn number(&self, text: &str) -> u64 {
        self.key.print_parts(&[text.as_bytes()]).number()
    }

    fn id_number(&self, id: &str) -> u64 {
        self.id_number_in(self.scope, id)
    }

    fn id_number_in(&self, scope: u64, id: &str) -> u64 {
        self.key.print_parts(&[&scope.to_le_bytes(), id.as_bytes()]).number()
    }

    /// The last call with an id in a scope.
    pub(super) fn call_with_id(&self, scope: u64, id: &str) -> Option<u32> {
        self.ids.get(&self.id_number_in(scope, id)).copied()
    }

    /// Ids of calls, and the threads of the agents that each started.
    pub(super) fn started(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
        self.started.iter().map(|(call, threads)| (&**call, threads.iter().map(|thread| &**thread)))
    }

    /// What kinds of agent records say that a thread is.
    pub(super) fn kinds(&self, thread: &str) -> &[String] {
        self.kinds.get(thread).map_or(&[], Vec::as_slice)
    }

    fn thread(&mut self, name: &str) -> u32 {
        if let Some(number) = self.thread_numbers.get(name) {
            return *number;
        }
        let number = self.threads.len() as u32;
        self.threads.push(Thread { name: name.to_owned(), besides: Vec::new() });
        self.thread_numbers.insert(name.into(), number);
        number
    }

    fn tool(&mut self, name: &[u8]) -> u32 {
        if let Some(number) = self.tool_numbers.get(name) {
            return *number;
        }
        let number = self.tools.len() as u32;
        self.tools.push(name.into());
        self.tool_numbers.insert(name.into(), number);
        number
    }

    fn put(&mut self, bytes: &[u8]) -> Handle {
        self.store.put(bytes).unwrap_or_else(|error| {
            self.failure.get_or_insert(error);
            Handle::default()
        })
    }

    fn call(&mut self, call: NormalizedCall) -> u32 {
        self.balance.calls_in += 1;
        let number = call.id.as_deref().map(|id| self.id_number(id));
        let latest = number.and_then(|number| self.ids.get(&number).copied());
        let turn = match call.turn.as_deref() {
            None => 0,
            // consecutive calls: odd numbers are taken by named turns
            Some("") => (self.between_results + 1) * 2,
            Some(turn) => self.id_number(turn) | 1,
        };
        if call.flags.has(Flags::TWICE)
            && !call.flags.has(Flags::NO_COPY)
            && let Some(other) = self.other_half(latest, &call)
        {
            self.balance.call_copies += 1;
            if let Some(number) = number {
                self.ids.insert(number, other);
            }
            return other;
        }
        if let Some(latest) = latest
            && !call.flags.has(Flags::NO_COPY)
        {
            if let Some(same) = self.same(latest, &call) {
                self.balance.call_copies += 1;
                let pair = &mut self.pairs[same as usize];
                // a call that is logged when it is asked for and when it starts is no copy that anybody must hear of
                if pair.flags.has(Flags::INTENT) == call.flags.has(Flags::INTENT) {
                    self.tally.warn(Code::DuplicateCopy, "call", call.at, 1, "");
                }
                if pair.flags.has(Flags::INTENT) && !call.flags.has(Flags::INTENT) {
                    pair.flags.clear(Flags::INTENT);
                    pair.at = call.at;
                    pair.time = pair.time.or(call.time);
                }
                return same;
            }
            let pair = &self.pairs[latest as usize];
            let intent = pair.flags.has(Flags::INTENT) || call.flags.has(Flags::INTENT);
            let grows = turn != 0 && pair.turn == turn && !pair.flags.has(Flags::ANSWERED);
            if intent || grows {
                self.balance.call_copies += 1;
                if grows && !intent {
                    self.tally.warn(Code::IdReused, "partial record replaced", call.at, 1, "");
                } else if pair.flags.has(Flags::INTENT) == call.flags.has(Flags::INTENT) {
                    self.tally.warn(Code::DuplicateCopy, "call", call.at, 1, "");
                }
                if !call.flags.has(Flags::INTENT) {
                    self.replace(latest, call);
                }
                return latest;
            }
        }
        if let Some(same) = latest.and_then(|latest| self.captured_before(latest, &call, turn)) {
            self.balance.call_copies += 1;
            self.tally.warn(Code::DuplicateCopy, "call", call.at, 1, "");
            return same;
        }
        if latest.is_some() {
            self.tally.warn(Code::IdReused, "different calls", call.at, 1, "paired by where they stand");
        }
        let time = match call.turn.as_deref().filter(|_| call.flags.has(Flags::UNOBSERVED)) {
            Some(turn) => self.gaps.time(self.number(turn), call.time),
            None => call.time,
        };
        let thread = match call.thread.as_deref() {
            None => 0,
            Some("") => self.linked,
            Some(name) => self.thread(name),
        };
        let (epoch, words) = self.apart.get(&(self.scope, thread)).copied().unwrap_or_default();
        let place = self.pairs.len() as u32;
        let id_text = self.put(call.id.as_deref().unwrap_or("").as_bytes());
        let pair = CallPair {
            at: call.at,
            thread,
            turn,
            time,
            answered: None,
            tool: self.tool(&call.tool),
            effect: call.effect,
            flags: call.flags,
            mark: None,
            call: call.print,
            response: call.print,
            args: self.put(&call.args),
            body: Handle::default(),
            id: id_text,
            scope: self.scope as u32,
            profile: call.profile,
            cwd: call.cwd,
            epoch,
            words,
            facts: call.facts,
            result: None,
            window: self.window,
            same_id: latest.unwrap_or(NONE),
        };
        if call.flags.has(Flags::TWICE) {
            let halves = self.halves.entry((self.scope, call.print.number(), call.id.is_some())).or_default();
            halves.push_back(place);
        }
        self.pairs.push(pair);
        match (number, call.id) {
            (Some(number), Some(id)) => {
                self.ids.insert(number, place);
                if call.flags.has(Flags::SPAWNS) {
                    self.spawns.push((place, id));
                }
                if let Some(early) = self.early.remove(&number) {
                    let is_mine =
                        |result: &NormalizedResult| result.turns.is_empty() || self.turns_of(result).contains(&turn);
                    let (mine, others): (Vec<_>, Vec<_>) = early.into_iter().partition(is_mine);
                    match others.is_empty() {
                        true => drop(self.early_ids.remove(&number)),
                        false => drop(self.early.insert(number, others)),
                    }
                    mine.into_iter().for_each(|result| self.attach(place, result));
                }
            }
            _ => self.tally.warn(Code::IdMissing, "", call.at, 1, "paired by where it stands"),
        }
        place
    }

    /// The call that a record without an id tells of once more, or that one with an id does. Each is taken once.
    fn other_half(&mut self, latest: Option<u32>, call: &NormalizedCall) -> Option<u32> {
        if latest.is_some() {
            return None;
        }
        self.halves.get_mut(&(self.scope, call.print.number(), call.id.is_none()))?.pop_front()
    }

    /// The call that this one is a copy of.
    fn same(&self, latest: u32, call: &NormalizedCall) -> Option<u32> {
        self.chain(latest).find(|&place| self.pairs[place as usize].call == call.print)
    }

    /// The call that a second copy of its capture holds.
    fn captured_before(&self, latest: u32, call: &NormalizedCall, turn: u64) -> Option<u32> {
        if !call.flags.has(Flags::UNOBSERVED) {
            return None;
        }
        // copies of a capture follow each other, and ids that repeat in every turn shall cost little
        self.chain(latest).take(64).find(|place| {
            let pair = &self.pairs[*place as usize];
            pair.turn == turn && pair.call == call.print && !self.batch.contains(place)
        })
    }

    /// The calls with one id, the latest first.
    fn chain(&self, latest: u32) -> impl Iterator<Item = u32> {
        let next = |place: &u32| Some(self.pairs[*place as usize].same_id).filter(|same| *same != NONE);
        std::iter::successors(Some(latest), next).take(CHAIN)
    }

    /// A fuller record of a call that is known.
    fn replace(&mut self, place: u32, call: NormalizedCall) {
        let (args, tool) = (self.put(&call.args), self.tool(&call.tool));
        let pair = &mut self.pairs[place as usize];
        pair.args = args;
        pair.tool = tool;
        pair.call = call.print;
        pair.effect = call.effect;
        pair.facts = call.facts;
        pair.at = call.at;
        pair.flags.clear(Flags::INTENT);
        pair.flags.set(call.flags);
    }

    fn take_result(&mut self, result: NormalizedResult) {
        if result.optional && !self.waits(&result.to) {
            if result.failed {
                self.tally.warn(Code::UnknownRecord, "error that answers no known call", result.at, 1, "");
            }
            return;
        }
        self.balance.results_in += 1;
        self.between_results += 1;
        let found = match &result.to {
            ResultOwner::Call(noted) => self.batch.get(noted.0 as usize).copied().filter(|place| *place != NONE),
            ResultOwner::Tool(tool) => {
                let tool = self.tool_numbers.get(tool).copied();
                let open = |pair: &CallPair| !pair.flags.has(Flags::ANSWERED) && Some(pair.tool) == tool;
                // answers stand close behind their calls
                let from = self.pairs.len().saturating_sub(64);
                self.pairs[from..].iter().rposition(open).map(|place| (from + place) as u32)
            }
            ResultOwner::Id(id) => {
                let number = self.id_number(id);
                let latest = self.ids.get(&number).copied();
                match latest.and_then(|latest| self.owner(latest, &result)) {
                    Some(place) => Some(place),
                    None if self.windowed() => None,
                    None => {
                        self.early_ids.insert(number, id.clone());
                        self.early.entry(number).or_default().push(result);
                        return;
                    }
                }
            }
        };
        match found {
            Some(place) => self.attach(place, result),
            None => {
                let name = match &result.to {
                    ResultOwner::Id(id) => id.to_string(),
                    ResultOwner::Tool(tool) => String::from_utf8_lossy(tool).into_owned(),
                    ResultOwner::Call(_) => String::new(),
                };
                self.orphan(name, &result);
            }
        }
    }

    /// The numbers of the turns that an answer names.
    fn turns_of(&self, result: &NormalizedResult) -> Vec<u64> {
        result.turns.iter().map(|turn| self.id_number(turn) | 1).collect()
    }

    /// Whether a call waits for an answer.
    fn waits(&self, to: &ResultOwner) -> bool {
        let ResultOwner::Id(id) = to else { return true };
        let latest = self.ids.get(&self.id_number(id)).copied();
        latest.is_some_and(|latest| {
            self.chain(latest).any(|place| !self.pairs[place as usize].flags.has(Flags::ANSWERED))
        })
    }

    /// Whether answers follow their calls within a turn, as in message arrays.
    fn windowed(&self) -> bool {
        !self.named_scopes && u64::from(self.window) > self.scope
    }

    fn orphan(&mut self, id: String, result: &NormalizedResult) {
        self.balance.orphans += 1;
        self.tally.warn(Code::OrphanResult, "", result.at, 1, &format!("no call has the id '{id}'"));
        self.orphans.push((id, result.at));
    }

    /// Which of the calls with one id an answer belongs to: the first open one of this turn, then the last open one. One
    /// that names turns belongs to a call of theirs or to none.
    fn owner(&mut self, latest: u32, result: &NormalizedResult) -> Option<u32> {
        let open = |place: &u32| !self.pairs[*place as usize].flags.has(Flags::ANSWERED);
        let here = |place: &u32| self.pairs[*place as usize].window == self.window;
        if !result.turns.is_empty() {
            // known turns that have all their answers mean one more copy, not an older call
            let turns = self.turns_of(result);
            let (mut first_open, mut any) = (None, None);
            for place in self.chain(latest) {
                let turn = self.pairs[place as usize].turn;
                if first_open.is_some_and(|(_, of)| of != turn) {
                    break;
                }
                if turns.contains(&turn) {
                    any = any.or(Some(place));
                    first_open = Some((place, turn)).filter(|_| open(&place)).or(first_open);
                }
            }
            return first_open.map(|(place, _)| place).or(any);
        }
        if let Some(place) = self.chain(latest).take_while(here).filter(open).last() {
            return Some(place);
        }
        let found = self.chain(latest).find(open);
        if let Some(place) = found
            && self.windowed()
            && !here(&place)
        {
            self.tally.warn(Code::IdReused, "late answer", result.at, 1, "the answer stands behind a later turn");
        }
        // in a list of messages an answered call of an older turn is not answered once more: this one's call is missing
        let known = |place: &u32| here(place) || self.pairs[*place as usize].response == result.print;
        found.or_else(|| Some(latest).filter(|latest| !self.windowed() || known(latest)))
    }

    fn attach(&mut self, place: u32, result: NormalizedResult) {
        let pair = &self.pairs[place as usize];
        let flags = pair.flags;
        if flags.has(Flags::ANSWERED) {
            if pair.response == result.print || (result.secondary && !flags.has(Flags::SECONDARY_RESULT)) {
                self.balance.result_copies += 1;
                self.tally.warn(Code::DuplicateCopy, "result", result.at, 1, "");
                return;
            }
            let fuller = flags.has(Flags::SECONDARY_RESULT) && !result.secondary;
            if !result.last_wins && !fuller {
                self.balance.attached += 1;
                self.tally.warn(Code::SecondResult, "", result.at, 1, "kept beside the first");
                self.pairs[place as usize].flags.set(Flags::MORE_RESULTS);
                self.more.entry(place).or_default().push(result.response);
                return;
            }
            // the one before was less than this one
            self.balance.attached -= 1;
            self.balance.result_copies += 1;
        }
        self.balance.attached += 1;
        let body = self.put(&result.response);
        let pair = &mut self.pairs[place as usize];
        pair.body = body;
        pair.response = result.print;
        pair.result = result.facts;
        pair.answered = result.time;
        for (flag, is) in [
            (Flags::ANSWERED, true),
            (Flags::FAILED, result.failed),
            (Flags::NO_EFFECT, result.no_effect),
            (Flags::SECONDARY_RESULT, result.secondary),
            (Flags::REDACTED, result.redacted),
        ] {
            if is { pair.flags.set(flag) } else { pair.flags.clear(flag) }
        }
        pair.mark = result.mark.or(pair.mark.filter(|mark| matches!(mark, Mark::NotExecuted(_))));
    }

    fn mark(&mut self, id: &str, mark: Mark) {
        if let Some(&place) = self.ids.get(&self.id_number(id)) {
            self.pairs[place as usize].mark = Some(mark);
        }
    }

    /// Answers that are still without a call when their scope ends.
    fn settle_early(&mut self) {
        let mut early: Vec<(u64, Vec<NormalizedResult>)> = std::mem::take(&mut self.early).into_iter().collect();
        early.sort_by_key(|(_, results)| results.first().map(|result| result.at));
        for (number, results) in early {
            let id = self.early_ids.remove(&number).unwrap_or_default();
            results.iter().for_each(|result| self.orphan(id.to_string(), result));
        }
    }

    /// When all events were taken in: what stayed open is settled and said.
    pub(crate) fn settle(&mut self, unanswered: Option<&'static str>) -> io::Result<()> {
        self.settle_early();
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        for place in 0..self.pairs.len() {
            let tool = self.pairs[place].tool;
            let hint = self.hints.get(&self.tools[tool as usize]).copied();
            let pair = &mut self.pairs[place];
            if let Some(hint) = hint.filter(|_| pair.effect == Effect::Unknown) {
                pair.effect = hint;
            }
            if !pair.flags.has(Flags::ANSWERED) && pair.mark.is_none() {
                let server = pair.flags.has(Flags::SERVER_SIDE).then_some("server_side");
                let mark = Some(Mark::NoResult(server.or(unanswered)));
                pair.mark = mark;
            }
            let (at, tally) = (pair.at, &mut self.tally);
            match pair.mark {
                Some(Mark::NotExecuted(reason)) => tally.warn(Code::NotExecuted, reason.name(), at, 1, ""),
                Some(Mark::Receipt(kind)) => tally.warn(Code::ReceiptOnly, kind.name(), at, 1, ""),
                Some(Mark::Truncated) => tally.warn(Code::Truncated, "", at, 1, ""),
                Some(Mark::NoResult(why)) => tally.warn(Code::NoResult, why.unwrap_or(""), at, 1, ""),
                None => {}
            }
        }
        self.gaps.settle(&mut self.tally);
        let has = |name: &str| self.thread_numbers.contains_key(name);
        let mut missing: Vec<u32> = Vec::new();
        for (place, id) in &self.spawns {
            let ran = !matches!(self.pairs[*place as usize].mark, Some(Mark::NotExecuted(_)));
            let known = has(id) || self.started.get(id).is_some_and(|threads| threads.iter().any(|name| has(name)));
            if ran && !known {
                missing.push(*place);
            }
        }
        // agents without a name are somebody's
        let nameless = self.threads.iter().filter(|thread| thread.name.starts_with("sidechain:")).count();
        for place in missing.iter().skip(nameless) {
            let at = self.pairs[*place as usize].at;
            self.tally.warn(Code::SubagentMissing, "", at, 1, "the agent's own calls are not recorded here");
        }
        Ok(())
    }
}
