//! An imported recording before the rules.

use super::event::{Effect, Flags, Location, Mark};
use super::format::Options;
use super::ordering::Agents;
use super::pairing::{CallPair, Pairing};
use super::warnings::{Balance, Code, Warning};
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
    pub(super) pairing: Pairing,
    /// Places of the calls in the order of the records.
    pub(super) order: Vec<u32>,
    pub(super) files: Vec<SourceFile>,
    pub(super) agents: Agents,
    /// The books.
    pub books: Balance,
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
    pub(super) fn new(mut pairing: Pairing, order: Vec<u32>, files: Vec<SourceFile>, options: &Options) -> Imported {
        pairing.books.records = order.len() as u64;
        let books = pairing.books;
        let warnings = std::mem::take(&mut pairing.tally).into_warnings();
        let mut unjudged = Unjudged::default();
        for place in &order {
            let pair = &pairing.pairs[*place as usize];
            unjudged.unobserved += u64::from(pair.flags.has(Flags::UNOBSERVED));
            unjudged.args_unknown += u64::from(pair.flags.has(Flags::ARGS_UNKNOWN));
            let count = match pair.mark {
                Some(Mark::NoResult(_)) => &mut unjudged.no_result,
                Some(Mark::Truncated) => &mut unjudged.truncated,
                Some(Mark::Receipt(_)) => &mut unjudged.receipts,
                Some(Mark::NotExecuted(_)) => &mut unjudged.not_executed,
                None if pair.flags.has(Flags::MORE_RESULTS) => &mut unjudged.more_results,
                None if pair.flags.has(Flags::REDACTED) => &mut unjudged.redacted,
                None if pair.flags.has(Flags::FAILED) => &mut unjudged.failed,
                None => continue,
            };
            *count += 1;
        }
        Imported {
            pairing,
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
        let Pairing { pairs, tools, store, .. } = &mut self.pairing;
        if self.order.len() as u64 > MAX_RECORDS {
            return Err(io::Error::other(format!("more than {MAX_RECORDS} calls in one recording")));
        }
        let mutates = |pair: &CallPair| {
            let ran = !matches!(pair.mark, Some(Mark::NotExecuted(_))) && !pair.flags.has(Flags::NO_EFFECT);
            let may = matches!(pair.effect, Effect::Mutates | Effect::Unknown);
            ran && (may || ruleset.mutators.contains(&tools[pair.tool as usize]))
        };
        // calls that were made at once: where the last of them stands, and whether one may have changed something
        let mut turns: HashMap<u64, (u64, bool)> = HashMap::new();
        for (index, place) in self.order.iter().enumerate() {
            let pair = &pairs[*place as usize];
            if pair.turn != 0 {
                let turn = turns.entry(pair.turn).or_default();
                turn.0 = index as u64;
                turn.1 |= mutates(pair);
            }
        }
        let mut scope = None;
        for (index, place) in self.order.iter().enumerate() {
            let pair = &pairs[*place as usize];
            if *scope.get_or_insert(pair.scope) != pair.scope {
                scope = Some(pair.scope);
                bench.next_conversation();
            }
            let index = index as u64;
            let unknown = pair.flags.has(Flags::MORE_RESULTS) || pair.flags.has(Flags::REDACTED);
            let (turn_end, turn_mutates) = turns.get(&pair.turn).copied().unwrap_or((index, mutates(pair)));
            let step = SourcedStep {
                place: Place { index, line: pair.at.line },
                call: pair.call,
                response: (pair.mark.is_none() && !unknown).then_some(pair.response),
                ran: !matches!(pair.mark, Some(Mark::NotExecuted(_))),
                failed: pair.flags.has(Flags::FAILED),
                mutator: mutates(pair),
                poll: pair.flags.has(Flags::POLL),
                own_state: pair.effect == Effect::Session,
                known: !pair.flags.has(Flags::ARGS_UNKNOWN),
                turn: pair.turn,
                turn_end,
                turn_mutates,
            };
            let call = SourcedCall {
                step,
                recorded: pair.response,
                tool: &tools[pair.tool as usize],
                column: pair.at.column,
                file: file(pair.at),
            };
            let handle = pair.args;
            let heard = bench.hear_sourced(&call, || {
                let mut args = Vec::new();
                store.get(handle, &mut args).map(|()| args)
            })?;
            self.unjudged.pairs += u64::from(heard.unknown);
        }
        let mut judgement = bench.judgement(Base { lines: 0, records: self.order.len() as u64 });
        for finding in &mut judgement.findings {
            if let Some(related) = finding.related {
                let at = pairs[self.order[related.index as usize] as usize].at;
                // said only where it is another file than the finding's own
                finding.related_file = file(at);
            }
        }
        Ok(judgement)
    }
}
