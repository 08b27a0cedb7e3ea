//! An imported recording before the rules.

use super::event::{Effect, Flags, Location, Mark};
use super::ledger::{Books, Code, Warning};
use super::pair::{Desk, Slot};
use super::{Options, order::Agents};
use crate::finding::{Place, SourceFile};
use crate::judge::{Bench, Judgement, Ruleset, SourcedCall};
use crate::rules::SourcedStep;
use crate::transcript::{Base, Layout, MAX_RECORDS};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// A recording that was read, paired and put in order.
#[derive(Debug)]
pub struct Imported {
    pub(super) desk: Desk,
    /// Places of the calls in the order of the records.
    pub(super) order: Vec<u32>,
    pub(super) files: Vec<SourceFile>,
    pub(super) agents: Agents,
    /// The books.
    pub books: Books,
    /// Every warning, sorted by code and class.
    pub warnings: Vec<Warning>,
    /// Calls that could not be judged, by reason.
    pub unjudged: Unjudged,
    allow_loss: bool,
}

/// Calls of which nothing can be said, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unjudged {
    /// The answer was not recorded.
    pub no_result: u64,
    /// The recorder kept a part of the answer.
    pub truncated: u64,
    /// The answer is only a receipt.
    pub receipts: u64,
    /// The call never ran.
    pub not_executed: u64,
    /// The call failed: trying again proves nothing.
    pub failed: u64,
    /// What the call was called with was not recorded.
    pub args_unknown: u64,
    /// A model asked for the call; nobody saw it run.
    pub unobserved: u64,
    /// More than one answer was recorded.
    pub more_results: u64,
    /// Secrets were taken out of the answer.
    pub redacted: u64,
    /// An identical call came before, but one of the two answers is not known.
    pub pairs: u64,
}

impl Imported {
    pub(super) fn new(mut desk: Desk, order: Vec<u32>, files: Vec<SourceFile>, options: &Options) -> Imported {
        desk.books.records = order.len() as u64;
        let books = desk.books;
        let warnings = std::mem::take(&mut desk.ledger).into_warnings();
        let mut unjudged = Unjudged::default();
        for place in &order {
            let slot = &desk.slots[*place as usize];
            unjudged.unobserved += u64::from(slot.flags.has(Flags::UNOBSERVED));
            unjudged.args_unknown += u64::from(slot.flags.has(Flags::ARGS_UNKNOWN));
            let count = match slot.mark {
                Some(Mark::NoResult(_)) => &mut unjudged.no_result,
                Some(Mark::Truncated) => &mut unjudged.truncated,
                Some(Mark::Receipt(_)) => &mut unjudged.receipts,
                Some(Mark::NotExecuted(_)) => &mut unjudged.not_executed,
                None if slot.flags.has(Flags::MORE_RESULTS) => &mut unjudged.more_results,
                None if slot.flags.has(Flags::REDACTED) => &mut unjudged.redacted,
                None if slot.flags.has(Flags::FAILED) => &mut unjudged.failed,
                None => continue,
            };
            *count += 1;
        }
        Imported {
            desk,
            order,
            files,
            agents: options.agents,
            books,
            warnings,
            unjudged,
            allow_loss: options.allow_loss,
        }
    }

    /// What was lost, if that fails the import: where, and in words.
    #[must_use]
    pub fn loss(&self) -> Option<(Location, String)> {
        if self.allow_loss {
            return None;
        }
        // a recording without calls is nothing to judge, which is not for every command a fault
        let lost: Vec<&Warning> =
            self.warnings.iter().filter(|warning| warning.is_loss() && warning.code != Code::EmptyInput).collect();
        if lost.is_empty() {
            let what = "the books do not balance, which is a fault of the importer; please report it";
            return (!self.books.balance()).then(|| (Location::default(), what.to_owned()));
        }
        let first = lost.iter().map(|warning| warning.first).min().unwrap_or_default();
        let words: Vec<String> = lost.iter().map(|warning| warning.to_string()).collect();
        Some((first, format!("{}; --allow-loss accepts that", words.join("; "))))
    }

    /// The file a location is in, if it is not the one that was named.
    #[must_use]
    pub fn file(&self, at: Location) -> Option<&SourceFile> {
        self.files.get(at.file as usize).filter(|_| at.file > 0)
    }

    /// The path of the file a location is in, as the user knows it.
    #[must_use]
    pub fn shown(&self, at: Location) -> Option<&str> {
        self.files.get(at.file as usize).map(|file| &*file.shown)
    }

    /// Judges the calls.
    ///
    /// # Errors
    /// A temporary file that cannot be read.
    pub fn judge(&mut self, ruleset: &Ruleset) -> io::Result<Judgement> {
        let mut bench = Bench::new(ruleset, Layout::Transcript);
        let files: Vec<Arc<SourceFile>> = self.files.iter().map(|file| Arc::new(file.clone())).collect();
        let file = |at: Location| (at.file > 0).then(|| Arc::clone(&files[at.file as usize]));
        let Desk { slots, tools, store, .. } = &mut self.desk;
        if self.order.len() as u64 > MAX_RECORDS {
            return Err(io::Error::other(format!("more than {MAX_RECORDS} calls in one recording")));
        }
        let mutates = |slot: &Slot| {
            let ran = !matches!(slot.mark, Some(Mark::NotExecuted(_))) && !slot.flags.has(Flags::NO_EFFECT);
            let may = matches!(slot.effect, Effect::Mutates | Effect::Unknown);
            ran && (may || ruleset.mutators.contains(&tools[slot.tool as usize]))
        };
        // calls that were made at once: where the last of them stands, and whether one may have changed something
        let mut turns: HashMap<u64, (u64, bool)> = HashMap::new();
        for (index, place) in self.order.iter().enumerate() {
            let slot = &slots[*place as usize];
            if slot.turn != 0 {
                let turn = turns.entry(slot.turn).or_default();
                turn.0 = index as u64;
                turn.1 |= mutates(slot);
            }
        }
        let mut scope = None;
        for (index, place) in self.order.iter().enumerate() {
            let slot = &slots[*place as usize];
            if *scope.get_or_insert(slot.scope) != slot.scope {
                scope = Some(slot.scope);
                bench.next_conversation();
            }
            let index = index as u64;
            let unknown = slot.flags.has(Flags::MORE_RESULTS) || slot.flags.has(Flags::REDACTED);
            let (turn_end, turn_mutates) = turns.get(&slot.turn).copied().unwrap_or((index, mutates(slot)));
            let step = SourcedStep {
                place: Place { index, line: slot.at.line },
                call: slot.call,
                response: (slot.mark.is_none() && !unknown).then_some(slot.response),
                ran: !matches!(slot.mark, Some(Mark::NotExecuted(_))),
                failed: slot.flags.has(Flags::FAILED),
                mutator: mutates(slot),
                poll: slot.flags.has(Flags::POLL),
                own_state: slot.effect == Effect::Session,
                known: !slot.flags.has(Flags::ARGS_UNKNOWN),
                turn: slot.turn,
                turn_end,
                turn_mutates,
            };
            let call = SourcedCall {
                step,
                recorded: slot.response,
                tool: &tools[slot.tool as usize],
                column: slot.at.column,
                file: file(slot.at),
            };
            let handle = slot.args;
            let heard = bench.hear_sourced(&call, || {
                let mut args = Vec::new();
                store.get(handle, &mut args).map(|()| args)
            })?;
            self.unjudged.pairs += u64::from(heard.unknown);
        }
        let mut judgement = bench.judgement(Base { lines: 0, records: self.order.len() as u64 });
        for finding in &mut judgement.findings {
            if let Some(related) = finding.related {
                let at = slots[self.order[related.index as usize] as usize].at;
                // said only where it is another file than the finding's own
                finding.related_file = file(at);
            }
        }
        Ok(judgement)
    }
}
