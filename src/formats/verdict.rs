//! An imported recording before the rules.

use super::event::{Flags, Location, Mark};
use super::facts::{self, CallFacts};
use super::format::Options;
use super::ordering::Agents;
use super::pairing::Pairing;
use super::warnings::{Balance, Code, Warning};
use crate::call::Call;
use crate::engine::{Judge, Judgement, Ruleset, Subject};
use crate::finding::{Place, SourceFile};
use crate::json::decode_lossless;
use crate::transcript::MAX_RECORDS;
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
    /// What came in and what became of it.
    pub balance: Balance,
    /// Every warning, sorted by code and class.
    pub warnings: Vec<Warning>,
    /// Calls that could not be judged, by reason.
    pub unjudged: Unjudged,
    allow_loss: bool,
    /// The id of the format.
    pub(super) format: &'static str,
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
    pub(super) fn new(
        mut pairing: Pairing,
        order: Vec<u32>,
        files: Vec<SourceFile>,
        options: &Options,
        format: &'static str,
    ) -> Imported {
        pairing.balance.records = order.len() as u64;
        let balance = pairing.balance;
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
            balance,
            warnings,
            unjudged,
            allow_loss: options.allow_loss,
            format,
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
            return (!self.balance.holds()).then(|| (Location::default(), what.to_owned()));
        }
        let first = lost.iter().map(|warning| warning.first).min().unwrap_or_default();
        let words: Vec<String> = lost.iter().map(|warning| warning.to_string()).collect();
        // what is missing may have been taken out: that is why it fails
        let why = match lost.iter().any(|warning| warning.code == Code::OrphanResult) {
            true => ". A result without its call is an error, because somebody may have taken the call out",
            false => "",
        };
        let way = "To accept what is missing: --allow-loss, or an [[allow-loss]] entry with a path and a reason in toolreplay.toml";
        Some((first, format!("{}{why}. {way}", words.join("; "))))
    }

    /// The file a location is in, if it is not the one that was named.
    #[must_use]
    pub fn file(&self, at: Location) -> Option<&SourceFile> {
        self.files.get(at.file as usize).filter(|_| at.file > 0)
    }

    /// The files of the recording, by the numbers that locations have for them.
    pub(crate) fn source_files(&self) -> Vec<SourceFile> {
        self.files.clone()
    }

    /// The paths of the files of the recording, as the user knows them.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        self.files.iter().map(|file| file.shown.clone()).collect()
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
        let mut judge = Judge::new(ruleset);
        let files: Vec<Arc<SourceFile>> = self.files.iter().map(|file| Arc::new(file.clone())).collect();
        let file = |at: Location| (at.file > 0).then(|| Arc::clone(&files[at.file as usize]));
        if self.order.len() as u64 > MAX_RECORDS {
            return Err(io::Error::other(format!("more than {MAX_RECORDS} calls in one recording")));
        }
        let Pairing { pairs, tools, store, threads, .. } = &mut self.pairing;
        let names: Vec<Vec<String>> = threads.iter().map(|thread| thread.names()).collect();
        let names: Vec<Vec<&str>> = names.iter().map(|names| names.iter().map(String::as_str).collect()).collect();
        let mut contexts: HashMap<(u32, u32), u32> = HashMap::new();
        for (index, place) in self.order.iter().enumerate() {
            let pair = &mut pairs[*place as usize];
            let next = contexts.len() as u32;
            let context = *contexts.entry((pair.scope, pair.thread)).or_insert(next);
            let Some(facts) = pair.facts.take() else { continue };
            let CallFacts { same, poll, varies, blacked_out, target, mut noted, .. } = facts;
            self.unjudged.args_unknown += u64::from(blacked_out && !pair.flags.has(Flags::ARGS_UNKNOWN));
            let result = pair.result.take();
            // whole: neither a part of the tool's answer nor several, and with nothing taken out
            let whole = pair.mark.is_none() && !pair.flags.has(Flags::MORE_RESULTS) && !pair.flags.has(Flags::REDACTED);
            let (print, unchanged) = match &result {
                Some(result) => ((whole && !result.blacked_out).then_some(result.print), result.unchanged),
                None => (None, false),
            };
            noted.add(result.map(|result| result.noted).unwrap_or_default());
            let call = Call {
                place: Place { index: index as u64, line: pair.at.line },
                context,
                epoch: pair.epoch,
                words: pair.words,
                turn: pair.turn,
                same,
                result: print,
                unchanged,
                state: pair.mark,
                failed: pair.flags.has(Flags::FAILED),
                effect: pair.effect,
                without_effect: matches!(pair.mark, Some(Mark::NotExecuted(_))) || pair.flags.has(Flags::NO_EFFECT),
                poll,
                varies,
                known: !blacked_out && !pair.flags.has(Flags::ARGS_UNKNOWN),
                plain: false,
                target,
            };
            let tool = &tools[pair.tool as usize];
            let (handle, at, profile) = (pair.args, pair.at, pair.profile);
            judge.observe(&call, &names[pair.thread as usize], &noted, || {
                let mut args = Vec::new();
                store.get(handle, &mut args)?;
                let (args, whole) = facts::subject(ruleset, profile, &decode_lossless(tool), args);
                let (width, column, start) = (at.width, at.column, at.start);
                Ok(Subject { args, whole, tool: tool.to_vec(), width, column, start, file: file(at) })
            })?;
        }
        let mut judgement = judge.judgement(self.order.len() as u64);
        self.unjudged.pairs = judgement.unknown_pairs;
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
