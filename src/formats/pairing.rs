//! The pairing, where calls meet their answers: one for a recording, whichever files it has.
//!
//! Of every call a pair of fixed size is kept; its texts wait in a store. Ids are a hint, not an identity: they count
//! within a scope, the calls of the newest turn come first, and a call is dropped as a copy only where its format says
//! that ids do not repeat and tool and arguments are the same as well.

mod events;
mod results;

use super::capture_gaps::CaptureGaps;
use super::effect::Profile;
use super::event::{Effect, Flags, Location, Mark};
use super::facts::{CallFacts, ResultFacts};
use super::normalized::{NormalizedCall, NormalizedResult};
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
}
