//! Results: whose they are, and what becomes of those that belong to no call.

use super::{CallPair, NONE, Pairing};
use crate::formats::event::{Effect, Flags, Mark};
use crate::formats::normalized::{NormalizedResult, ResultOwner};
use crate::formats::warnings::Code;
use std::io;

impl Pairing {
    pub(super) fn take_result(&mut self, result: NormalizedResult) {
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
    pub(super) fn turns_of(&self, result: &NormalizedResult) -> Vec<u64> {
        result.turns.iter().map(|turn| self.id_number(turn) | 1).collect()
    }

    /// Whether a call waits for an answer.
    pub(super) fn waits(&self, to: &ResultOwner) -> bool {
        let ResultOwner::Id(id) = to else { return true };
        let latest = self.ids.get(&self.id_number(id)).copied();
        latest.is_some_and(|latest| {
            self.chain(latest).any(|place| !self.pairs[place as usize].flags.has(Flags::ANSWERED))
        })
    }

    /// Whether answers follow their calls within a turn, as in message arrays.
    pub(super) fn windowed(&self) -> bool {
        !self.named_scopes && u64::from(self.window) > self.scope
    }

    pub(super) fn orphan(&mut self, id: String, result: &NormalizedResult) {
        self.balance.orphans += 1;
        self.tally.warn(Code::OrphanResult, "", result.at, 1, &format!("no call has the id '{id}'"));
        self.orphans.push((id, result.at));
    }

    /// Which of the calls with one id an answer belongs to: the first open one of this turn, then the last open one. One
    /// that names turns belongs to a call of theirs or to none.
    pub(super) fn owner(&mut self, latest: u32, result: &NormalizedResult) -> Option<u32> {
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

    pub(super) fn attach(&mut self, place: u32, result: NormalizedResult) {
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

    pub(super) fn mark(&mut self, id: &str, mark: Mark) {
        if let Some(&place) = self.ids.get(&self.id_number(id)) {
            self.pairs[place as usize].mark = Some(mark);
        }
    }

    /// Answers that are still without a call when their scope ends.
    pub(super) fn settle_early(&mut self) {
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
