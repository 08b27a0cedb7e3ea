//! One transcript before the rules: a streaming pass that ends in findings.
//!
//! Workers print calls and responses; the sink, in file order, remembers and judges. Of a record on which a rule fires
//! the line is read once more, so that all others cost no more than their prints.

use crate::finding::{Finding, Fingerprint, Place, SourceFile, ToolName};
use crate::rules::{self, History, Hit, Key, Print, SourcedHistory, SourcedStep, Step};
use crate::scope::Scope;
use crate::tools::ToolSet;
use crate::transcript::utf16_width;
use crate::transcript::{self, Base, Block, Layout, ReadError, Record, ScanError, Visit};
use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// Distinct tool names that are kept once for all findings, and the bytes of the longest of them.
const INTERNED: usize = 4096;

/// What a transcript is judged by.
#[derive(Debug, Clone)]
pub struct Ruleset {
    /// Compare calls with the calls before them: non-determinism and redundant calls.
    pub history: bool,
    /// The tools that the agent may call, if that was declared.
    pub scope: Option<Scope>,
    /// The tools that are assumed to change state.
    pub mutators: ToolSet,
    key: Key,
}

impl Ruleset {
    /// Rules of `replay`.
    #[must_use]
    pub fn replay(mutators: ToolSet) -> Ruleset {
        Ruleset { history: true, scope: None, mutators, key: Key::random() }
    }

    /// Rules of `scope`.
    #[must_use]
    pub fn scope(scope: Scope) -> Ruleset {
        Ruleset { history: false, scope: Some(scope), mutators: ToolSet::default(), key: Key::random() }
    }

    /// Rules of `audit`: all of them, those that need a scope where there is one.
    #[must_use]
    pub fn audit(mutators: ToolSet, scope: Option<Scope>) -> Ruleset {
        Ruleset { history: true, scope, mutators, key: Key::random() }
    }

    /// The key of the prints that this ruleset compares.
    pub(crate) fn key(&self) -> &Key {
        &self.key
    }
}

/// What came of judging one transcript.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    /// Records.
    pub calls: u64,
    /// Calls that had an identical call before them, so that their answers could be compared.
    pub pairs: u64,
    /// The first index whose answer differed from an earlier identical call's.
    pub divergence: Option<u64>,
    /// Sorted by index, then kind.
    pub findings: Vec<Finding>,
    /// Stands for all calls and responses in order: equal only for the same calls, under the same ruleset.
    pub content: Option<[u8; 32]>,
}

/// Judges one transcript with up to `threads` threads.
///
/// # Errors
/// The first line that is no record, or a failed read: then nothing was judged.
pub fn judge(source: impl Read + Send, ruleset: &Ruleset, threads: usize) -> Result<Judgement, ReadError> {
    let mut bench = Bench::new(ruleset, Layout::Transcript);
    let visit = |seen: &mut Seen, visit: Visit<'_>| seen.visit(ruleset, &visit);
    let sink = |block: &Block, seen: Seen, base: Base| {
        bench.hear(block, &seen, base);
        Ok::<(), Infallible>(())
    };
    match transcript::scan(source, Layout::Transcript, threads, visit, sink) {
        Ok(total) => Ok(bench.judgement(total)),
        Err(ScanError::Read(error)) => Err(error),
        Err(ScanError::Sink(never)) => match never {},
    }
}

/// What a worker notes of the records of one block.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    calls: Vec<Call>,
    outside: Vec<Outside>,
}

/// A call by its prints.
#[derive(Debug)]
struct Call {
    line: u32,
    range: Range<u32>,
    call: Print,
    response: Print,
    mutator: bool,
}

/// A call of a recording, as an importer knows it.
#[derive(Debug)]
pub(crate) struct SourcedCall<'a> {
    pub(crate) step: SourcedStep,
    /// The print of the record's `response`, whatever that is worth.
    pub(crate) recorded: Print,
    /// The tool's name as a JSON string in canonical form.
    pub(crate) tool: &'a [u8],
    pub(crate) column: u32,
    /// The file, if it is not the one that was named.
    pub(crate) file: Option<Arc<SourceFile>>,
}

/// What became of a call of a recording.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Heard {
    /// There was an identical call before it, with which it could not be compared.
    pub(crate) unknown: bool,
}

/// A call outside the scope.
#[derive(Debug)]
struct Outside {
    ordinal: u32,
    line: u32,
    range: Range<u32>,
}

impl Seen {
    pub(crate) fn visit(&mut self, ruleset: &Ruleset, visit: &Visit<'_>) {
        let tool = visit.fields.tool.get(visit.text, visit.scratch);
        let name = tool.as_slice().unwrap_or(b"");
        if ruleset.scope.as_ref().is_some_and(|scope| !scope.allowed_tools.contains(name)) {
            self.outside.push(Outside { ordinal: visit.ordinal, line: visit.line, range: visit.range.clone() });
        }
        if ruleset.history {
            let args = visit.fields.args.get(visit.text, visit.scratch);
            let response = visit.fields.response.get(visit.text, visit.scratch);
            self.calls.push(Call {
                line: visit.line,
                range: visit.range.clone(),
                call: ruleset.key.print(&[args, tool]),
                response: ruleset.key.print(&[response]),
                mutator: ruleset.mutators.contains(name),
            });
        }
    }
}

/// Where the calls of one transcript are judged, in order.
pub(crate) struct Bench<'r> {
    ruleset: &'r Ruleset,
    layout: Layout,
    history: History,
    sourced: SourcedHistory,
    judgement: Judgement,
    content: blake3::Hasher,
    tools: HashMap<Box<[u8]>, Arc<ToolName>>,
    /// How often each rule fired on each call: one map a rule, calls by half their print.
    occurrences: HashMap<&'static str, HashMap<u64, u32>>,
    scratch: crate::json::Scratch,
}

impl<'r> Bench<'r> {
    pub(crate) fn new(ruleset: &'r Ruleset, layout: Layout) -> Bench<'r> {
        Bench {
            ruleset,
            layout,
            history: History::default(),
            sourced: SourcedHistory::default(),
            judgement: Judgement::default(),
            content: blake3::Hasher::new(),
            tools: HashMap::new(),
            occurrences: HashMap::new(),
            scratch: crate::json::Scratch::default(),
        }
    }

    /// Takes in the next block.
    pub(crate) fn hear(&mut self, block: &Block, seen: &Seen, base: Base) {
        let mut outside = seen.outside.iter().peekable();
        for (ordinal, call) in seen.calls.iter().enumerate() {
            let place = Place { index: base.records + ordinal as u64, line: base.lines + u64::from(call.line) + 1 };
            let step = Step { place, call: call.call, response: call.response, mutator: call.mutator };
            self.content.update(call.call.bytes());
            self.content.update(call.response.bytes());
            let occurrence = self.history.observe(step);
            self.judgement.pairs += u64::from(occurrence.first.is_some());
            let overreach = outside.next_if(|outside| outside.ordinal as usize == ordinal).map(|_| rules::overreach());
            if occurrence.first.is_none() && overreach.is_none() {
                continue;
            }
            let mut hits: Vec<Hit> = rules::judge(&occurrence).chain(overreach).collect();
            hits.sort_by_key(|hit| hit.rule.id);
            self.find(block, &call.range, place, &hits);
        }
        for call in outside {
            let index = base.records + u64::from(call.ordinal);
            let place = Place { index, line: base.lines + u64::from(call.line) + 1 };
            self.find(block, &call.range, place, &[rules::overreach()]);
        }
    }

    fn find(&mut self, block: &Block, range: &Range<u32>, place: Place, hits: &[Hit]) {
        if hits.is_empty() {
            return;
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        if let Some(record) = block.record(range, self.layout, place.line, &mut scratch) {
            for hit in hits {
                let finding = self.finding(&record, place, *hit);
                if finding.rule.id == rules::NON_DETERMINISM.id {
                    self.judgement.divergence.get_or_insert(place.index);
                }
                self.judgement.findings.push(finding);
            }
        }
        self.scratch = scratch;
    }

    fn finding(&mut self, record: &Record<'_>, place: Place, hit: Hit) -> Finding {
        let (args, tool) = (record.args(), record.tool());
        let call = self.ruleset.key.print(&[args, tool]);
        let name = self.tool_name(tool.as_slice().unwrap_or(b""));
        let fingerprint = self.fingerprint(hit, call, &args.to_vec(), &tool.to_vec());
        self.found(place, hit, name, utf16_width(record.text), fingerprint)
    }

    fn fingerprint(&mut self, hit: Hit, call: Print, args: &[u8], tool: &[u8]) -> Fingerprint {
        let occurrence = self.occurrences.entry(hit.rule.id).or_default().entry(call.number()).or_insert(0);
        *occurrence += 1;
        let subject = [b"{\"args\":", args, b",\"tool\":", tool, b"}"].concat();
        Fingerprint::new(hit.rule, &[&subject], *occurrence)
    }

    fn found(&self, place: Place, hit: Hit, tool: Arc<ToolName>, width: u32, fingerprint: Fingerprint) -> Finding {
        let agent = self.ruleset.scope.as_ref().map(|scope| Arc::clone(&scope.agent));
        Finding {
            rule: hit.rule,
            level: hit.level,
            index: Some(place.index),
            line: place.line,
            column: 0,
            width,
            file: None,
            related: hit.related,
            related_file: None,
            tool: Some(tool),
            detail: agent.filter(|_| hit.rule.id == rules::PERMISSION_OVERREACH.id),
            fingerprint,
        }
    }

    fn tool_name(&mut self, literal: &[u8]) -> Arc<ToolName> {
        if let Some(name) = self.tools.get(literal) {
            return Arc::clone(name);
        }
        let name = Arc::new(ToolName::new(literal));
        if self.tools.len() < INTERNED && literal.len() < INTERNED {
            self.tools.insert(literal.into(), Arc::clone(&name));
        }
        name
    }

    /// Another conversation begins: its calls are not compared with those before.
    pub(crate) fn next_conversation(&mut self) {
        self.sourced = SourcedHistory::default();
    }

    /// Takes in the next call of a recording that says more than a transcript.
    ///
    /// # Errors
    /// What `args` says, which is asked only for calls on which a rule fires.
    pub(crate) fn hear_sourced(
        &mut self,
        call: &SourcedCall<'_>,
        args: impl FnOnce() -> io::Result<Vec<u8>>,
    ) -> io::Result<Heard> {
        let step = SourcedStep { mutator: call.step.mutator || self.ruleset.mutators.contains(call.tool), ..call.step };
        let (mut hits, mut heard) = (Vec::new(), Heard::default());
        if self.ruleset.history {
            self.content.update(step.call.bytes());
            self.content.update(call.recorded.bytes());
            let judged = self.sourced.observe(step);
            self.judgement.pairs += u64::from(judged.compared);
            heard.unknown = judged.unknown;
            hits = judged.hits;
        }
        if self.ruleset.scope.as_ref().is_some_and(|scope| !scope.allowed_tools.contains(call.tool)) {
            hits.push(if step.ran { rules::overreach() } else { rules::attempt() });
        }
        if hits.is_empty() {
            return Ok(heard);
        }
        hits.sort_by_key(|hit| hit.rule.id);
        let (args, tool) = (args()?, self.tool_name(call.tool));
        for hit in hits {
            let fingerprint = self.fingerprint(hit, step.call, &args, call.tool);
            let mut finding = self.found(step.place, hit, Arc::clone(&tool), 0, fingerprint);
            finding.column = u64::from(call.column);
            finding.file = call.file.clone();
            if hit.rule.id == rules::NON_DETERMINISM.id {
                self.judgement.divergence.get_or_insert(step.place.index);
            }
            self.judgement.findings.push(finding);
        }
        Ok(heard)
    }

    /// What came of it, when all blocks were heard.
    pub(crate) fn judgement(self, total: Base) -> Judgement {
        let content = self.ruleset.history.then(|| *self.content.finalize().as_bytes());
        Judgement { calls: total.records, content, ..self.judgement }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Level;

    fn record(index: usize, tool: &str, args: &str, response: &str) -> String {
        format!("{{\"index\":{index},\"tool\":\"{tool}\",\"args\":{args},\"response\":{response}}}\n")
    }

    fn found(text: &str, ruleset: &Ruleset) -> Vec<(u64, &'static str, Level, Option<u64>)> {
        let judgement = judge(text.as_bytes(), ruleset, 1).unwrap();
        let of = |finding: &Finding| {
            (finding.index.unwrap(), finding.rule.id, finding.level, finding.related.map(|place| place.index))
        };
        judgement.findings.iter().map(of).collect()
    }

    #[test]
    fn levels_say_what_stood_between() {
        let text = [
            record(0, "get", "{\"a\":1,\"b\":2}", "{\"v\":1}"),
            record(1, "get", "{\"b\":2,\"a\":1}", "{\"v\":2}"),
            record(2, "stat", "{}", "{}"),
            record(3, "get", "{\"a\":1,\"b\":2}", "{\"v\":3}"),
            record(4, "write_file", "{}", "{}"),
            record(5, "get", "{\"a\":1,\"b\":2}", "{\"v\":4}"),
            record(6, "get", "{\"a\":1,\"b\":2}", "{\"v\":4}"),
            record(7, "run_command", "{}", "{\"out\":1}"),
            record(8, "run_command", "{}", "{\"out\":2}"),
        ]
        .concat();
        let (error, warning, note) = (Level::Error, Level::Warning, Level::Note);
        assert_eq!(
            found(&text, &Ruleset::replay(ToolSet::default_mutators())),
            [
                (1, "non-determinism", error, Some(0)),
                (1, "redundant-call", note, Some(0)),
                (3, "non-determinism", warning, Some(0)),
                (5, "non-determinism", note, Some(0)),
                (6, "non-determinism", note, Some(0)),
                (6, "redundant-call", warning, Some(5)),
                (8, "non-determinism", note, Some(7)),
                (8, "redundant-call", note, Some(7)),
            ]
        );
    }

    #[test]
    fn a_fingerprint_does_not_move_with_its_line() {
        let repeat = |from: usize| {
            [record(from, "get", "{}", "{}"), record(from + 1, "get", "{}", "{}"), record(from + 2, "get", "{}", "{}")]
                .concat()
        };
        let ruleset = Ruleset::replay(ToolSet::default_mutators());
        let prints = |text: &str| {
            let judgement = judge(text.as_bytes(), &ruleset, 1).unwrap();
            judgement.findings.iter().map(|finding| finding.fingerprint).collect::<Vec<_>>()
        };
        let alone = prints(&repeat(0));
        let moved = prints(&format!("\n{}{}", record(0, "other", "{}", "{}"), repeat(1)));
        assert_eq!(alone, moved);
        assert_ne!(alone[0], alone[1]);
    }

    #[test]
    fn the_content_is_that_of_the_calls_alone() {
        let ruleset = Ruleset::audit(ToolSet::default_mutators(), None);
        let content = |text: &str| judge(text.as_bytes(), &ruleset, 1).unwrap().content;
        let text = record(0, "get", "{\"a\":1,\"b\":2}", "{}");
        assert_eq!(content(&text), content(&text.replace("\"a\":1,\"b\":2", " \"b\" : 2, \"a\" : 1")));
        assert_ne!(content(&text), content(&text.replace("get", "got")));
    }
}
