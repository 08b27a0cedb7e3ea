//! Taking in what a reader hands on, in the order of the file.

use super::{NONE, Pairing, Repeats, Whole};
use crate::formats::normalized::{Apart, Event};
use crate::formats::warnings::Code;

impl Pairing {
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

    pub(super) fn take_rest(&mut self, event: Event) {
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
    pub(super) fn conversation(&mut self, beginnings: &[u64]) {
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
    pub(super) fn was_there(&mut self, event: &Event, shift: u64) -> bool {
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
}
