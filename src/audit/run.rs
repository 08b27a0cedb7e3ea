//! Running one plan over many files.

use super::answers;
use super::chains;
use super::outcome::{Failure, Import, Input, Outcome, Source, broken_link, detect_layout};
use crate::engine::{Judgement, Ruleset};
use crate::formats::{self, Foreign, Imported, NativeJudge, Opening, Recording, Seen, Unknown};
use crate::limits::{Budget, Turns};
use crate::sanitize::visible;
use crate::seal::{self, Chain, SeenLinks, Verifier};
use crate::transcript::{self, Block, Layout, Preceding, ReadError, RecordError, ScanError, Visit};
use std::convert::Infallible;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Files up to this size, in bytes, are worked on side by side, larger ones one after the other by all threads.
const SMALL: u64 = 4 << 20;

/// What is done with each file.
#[derive(Debug)]
pub enum Plan {
    /// Judge transcripts, and recordings in other formats.
    Judge(Ruleset, formats::Options),
    /// Verify sealed transcripts, and that each ends in the given digest, if there is one.
    Verify(Option<String>, Budget),
    /// Tell transcripts, sealed ones and recordings apart; judge them all, verify the sealed ones.
    Audit(Ruleset, formats::Options),
}

impl Plan {
    /// How much is taken in.
    fn budget(&self) -> &Budget {
        match self {
            Plan::Judge(_, options) | Plan::Audit(_, options) => &options.budget,
            Plan::Verify(_, budget) => budget,
        }
    }
}

/// How far a run is. Shared with whoever shows it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Files that are done.
    pub files: AtomicUsize,
    /// Bytes that were read.
    pub bytes: AtomicU64,
    /// Set from outside: nobody waits for the outcome any more, and what is not done is not begun.
    pub stopped: AtomicBool,
}

/// Runs `plan` over all inputs with up to `threads` threads. The outcomes come in the order of the inputs and do not
/// depend on the number of threads.
pub fn run(inputs: &[Input], plan: &Plan, threads: usize, progress: &Progress) -> Vec<Outcome> {
    let sizes: Vec<u64> = inputs.iter().map(size).collect();
    let (small, large): (Vec<usize>, Vec<usize>) = (0..inputs.len()).partition(|&place| sizes[place] <= SMALL);
    let outcomes: Mutex<Vec<Option<Outcome>>> = Mutex::new(vec![None; inputs.len()]);
    let turns = Arc::new(Turns::default());
    let work = |place: usize, threads: usize| {
        if progress.stopped.load(Ordering::Relaxed) {
            return;
        }
        let input = &inputs[place];
        let outcome = one(input, open(input), None, plan, &turns, threads, progress);
        progress.files.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut outcomes) = outcomes.lock() {
            outcomes[place] = Some(outcome);
        }
    };
    let next = AtomicUsize::new(0);
    let take_small = || {
        while let Some(&place) = small.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(place, 1);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(small.len()) {
            scope.spawn(take_small);
        }
        take_small();
    });
    for place in large {
        work(place, threads);
    }
    let outcomes = outcomes.into_inner().unwrap_or_default();
    // no outcome is no pass
    let lost = || Outcome { failure: Some(Failure::of_file("it was not judged".to_owned())), ..Outcome::default() };
    let mut outcomes: Vec<Outcome> = outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(lost)).collect();
    chains::explain(inputs, &mut outcomes, threads);
    outcomes
}

/// Runs `plan` over one input whose content is in memory: the outcome is that of [`run`] over a file with the same content.
/// `content` gives it from its start, as often as it is asked. What happened to a broken chain is told where the input has a
/// path, for it is read again.
pub fn run_source(input: &Input, content: &dyn Fn() -> Box<dyn Read + Send>, plan: &Plan, threads: usize) -> Outcome {
    let outcome = one(input, Ok(content()), Some(content), plan, &Arc::default(), threads, &Progress::default());
    let mut outcomes = [outcome];
    chains::explain(std::slice::from_ref(input), &mut outcomes, threads);
    let [outcome] = outcomes;
    outcome
}

/// The size of a regular file, of several that of the largest; streams count as large, so that all threads work on them.
fn size(input: &Input) -> u64 {
    input.more.iter().map(size).fold(size_of_first(input), u64::max)
}

fn size_of_first(input: &Input) -> u64 {
    let metadata = input.path.as_ref().and_then(|path| path.metadata().ok());
    metadata.filter(|metadata| !metadata.is_file() || metadata.len() > 0).map_or(0, |metadata| {
        match metadata.is_file() {
            true => metadata.len(),
            false => u64::MAX,
        }
    })
}

fn one(
    input: &Input,
    source: Result<Source, Failure>,
    memory: answers::Memory<'_>,
    plan: &Plan,
    turns: &Arc<Turns>,
    threads: usize,
    progress: &Progress,
) -> Outcome {
    let counted = |source| Counted { source, progress };
    let budget = plan.budget().for_input(turns);
    let within = |options: &formats::Options| formats::Options {
        budget: budget.clone(),
        allow_loss: options.accepts_loss(&input.from_root),
        ..options.clone()
    };
    let outcome = source.and_then(|source| match plan {
        Plan::Judge(ruleset, options) => opened(input, source, &within(options)).and_then(|opening| match opening {
            Opening::Native(source) => judged(counted(source), ruleset, threads),
            Opening::Foreign(foreign) => imported(input, foreign, ruleset, &within(options), threads, false),
            Opening::Unknown(unknown) => no_recording(unknown, threads),
            Opening::Other(stranger) => Ok(Outcome { passed_over: Some(stranger), ..Outcome::default() }),
        }),
        Plan::Verify(head, _) => verified(counted(Box::new(budget.lines(source))), head.as_deref(), threads),
        Plan::Audit(ruleset, options) => opened(input, source, &within(options)).and_then(|opening| match opening {
            Opening::Native(source) => {
                let (layout, source) =
                    detect_layout(source).map_err(|error| Failure::from(ReadError::Io { line: 0, error }))?;
                let source: Source = Box::new(source);
                match layout {
                    Layout::Transcript => judged(counted(source), ruleset, threads),
                    Layout::Sealed => judged_sealed(counted(source), ruleset, threads),
                }
            }
            Opening::Foreign(foreign) => imported(input, foreign, ruleset, &within(options), threads, true),
            Opening::Unknown(unknown) => no_recording(unknown, threads),
            Opening::Other(stranger) => Ok(Outcome { passed_over: Some(stranger), ..Outcome::default() }),
        }),
    });
    let mut outcome = outcome.unwrap_or_else(|failure| Outcome { failure: Some(failure), ..Outcome::default() });
    if let Some(failure) = outcome.failure.as_mut().filter(|_| input.path.is_none()) {
        // there is no file that something could be done with
        failure.help.clear();
    }
    if let Plan::Audit(ruleset, options) = plan {
        answers::explain(input, memory, ruleset, options, &mut outcome);
    }
    outcome
}

pub(crate) fn open(input: &Input) -> Result<Source, Failure> {
    input.open().map_err(|error| Failure::of_file(format!("cannot be opened: {error}")))
}

pub(crate) fn opened(input: &Input, source: Source, options: &formats::Options) -> Result<Opening, Failure> {
    let opened = match &input.path {
        // in a folder there is much that is no recording
        Some(path) if !input.named => formats::open_found(source, path, options),
        path => formats::open(source, path.as_deref(), options),
    };
    opened.map_err(Failure::from)
}

/// A file in no known format: what keeps it from being a transcript, and that it is nothing else either.
pub(crate) fn no_recording(unknown: Unknown, threads: usize) -> Result<Outcome, Failure> {
    let why = visible(&unknown.why).into_owned();
    if unknown.is_document() {
        return Err(Failure::of_file(format!("neither a transcript nor a recording: {why}")));
    }
    let (is_json, is_text) = (unknown.is_json(), unknown.is_text());
    match seal::check(unknown.source, threads) {
        Ok(()) => Ok(Outcome::default()),
        Err(error) => {
            let mut failure = Failure::from(error);
            failure.help = match (is_json, is_text) {
                (_, false) => "it is no text file",
                (true, true) => "it is JSON about something else",
                (false, true) => "",
            }
            .to_owned();
            if !failure.help.is_empty() {
                failure.help.push_str("; name the recording of an agent: 'toolreplay formats' lists what can be read");
            }
            if is_json {
                failure.what.push_str(&format!("; nor is it in a format that 'toolreplay formats' lists: {why}"));
            }
            Err(failure)
        }
    }
}

/// Imports and judges a recording. `empty`: it may be one without a call.
fn imported(
    input: &Input,
    foreign: Foreign,
    ruleset: &Ruleset,
    options: &formats::Options,
    threads: usize,
    empty: bool,
) -> Result<Outcome, Failure> {
    let (format, reason) = (foreign.importer.id, foreign.reason.clone());
    let mut imported = read_all(input, foreign, Recording::to_judge(ruleset, options), options, threads)?;
    let judgement = imported.judge(ruleset).map_err(|error| Failure::from(formats::ImportError::Io(error)))?;
    let failure = lost(&imported, empty || options.allow_loss);
    let paths = imported.paths();
    let Imported { balance, unjudged, .. } = imported;
    let files = 1 + input.more.len() as u64;
    let import = Some(Import { format, files, reason, balance, warnings: imported.warnings, paths, unjudged });
    Ok(Outcome { judgement, failure, import, ..Outcome::default() })
}

/// Reads all files of a recording, of which the first is open.
pub(crate) fn read_all(
    input: &Input,
    foreign: Foreign,
    mut recording: Recording,
    options: &formats::Options,
    threads: usize,
) -> Result<Imported, Failure> {
    recording.add(foreign, input.source_file(), &|path| input.beside(path), threads)?;
    for more in &input.more {
        let failed = |failure: Failure| Failure { file: Some(more.source_file()), ..failure };
        let threads = if size(more) <= SMALL { 1 } else { threads };
        match open(more).and_then(|source| opened(more, source, options)).map_err(failed)? {
            Opening::Foreign(foreign) => recording
                .add(foreign, more.source_file(), &|path| more.beside(path), threads)
                .map_err(|error| failed(error.into()))?,
            Opening::Native(_) | Opening::Unknown(..) | Opening::Other(..) => {
                let what = "it is no recording of the format that the others of its session have".to_owned();
                return Err(failed(Failure::of_file(what)));
            }
        }
    }
    recording.finish().map_err(|error| Failure::from(formats::ImportError::Io(error)))
}

/// What keeps an import from being whole.
pub(crate) fn lost(imported: &Imported, empty: bool) -> Option<Failure> {
    if imported.balance.calls_in == 0 && !empty {
        let what = "EMPTY_INPUT: not a single call was found; is it the right format?".to_owned();
        return Some(Failure::of_file(what));
    }
    let (at, what) = imported.loss()?;
    let file = imported.file(at).cloned();
    Some(Failure { file, line: at.line, column: u64::from(at.column), ..Failure::of_file(what) })
}

fn judged(source: impl Read + Send, ruleset: &Ruleset, threads: usize) -> Result<Outcome, Failure> {
    let judgement = formats::judge(source, ruleset, threads)?;
    Ok(Outcome { judgement, ..Outcome::default() })
}

fn verified(source: impl Read + Send, head: Option<&str>, threads: usize) -> Result<Outcome, Failure> {
    let mut chain = seal::verify(source, threads).map_err(|error| {
        // a record without both of them is one of a transcript
        let never = RecordError::Missing(vec!["digest", "prev"]);
        let unsealed = matches!(&error, ReadError::Record { kind, .. } if *kind == never);
        let help = "it was never sealed; 'toolreplay seal FILE' seals a transcript, 'toolreplay audit FILE' judges it";
        Failure { help: if unsealed { help.to_owned() } else { String::new() }, ..Failure::from(error) }
    })?;
    if let Some(head) = head {
        chain.expect_head(head);
    }
    Ok(Outcome { judgement: chain_judgement(&chain), chain: Some(chain), failure: None, ..Outcome::default() })
}

/// What a chain alone gives to report.
fn chain_judgement(chain: &Chain) -> Judgement {
    let findings = chain.broken.iter().map(broken_link).collect();
    Judgement { calls: chain.links, findings, ..Judgement::default() }
}

/// Verifies a sealed transcript and judges its calls, in one pass.
fn judged_sealed(source: impl Read + Send, ruleset: &Ruleset, threads: usize) -> Result<Outcome, Failure> {
    let mut verifier = Verifier::default();
    let mut judge = NativeJudge::new(ruleset, Layout::Sealed);
    let visit = |(links, seen): &mut (SeenLinks, Seen), visit: Visit<'_>| {
        links.visit(&visit);
        seen.visit(ruleset, &visit);
    };
    let sink = |block: &Block, (links, seen): (SeenLinks, Seen), base: Preceding| {
        verifier.accept(block, &links, base);
        judge.take(block, seen, base);
        Ok::<(), Infallible>(())
    };
    match transcript::scan(source, Layout::Sealed, threads, visit, sink) {
        Ok(total) => {
            let (chain, mut judgement) = (verifier.chain(total), judge.judgement(total));
            if let Some(broken) = &chain.broken {
                let at = judgement.findings.partition_point(|finding| finding.index < Some(broken.index));
                judgement.findings.insert(at, broken_link(broken));
            }
            Ok(Outcome { judgement, chain: Some(chain), failure: None, ..Outcome::default() })
        }
        Err(ScanError::Read(error)) => Err(error.into()),
        Err(ScanError::Sink(never)) => match never {},
    }
}

/// Counts what is read.
struct Counted<'p, R> {
    source: R,
    progress: &'p Progress,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.progress.stopped.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped"));
        }
        let read = self.source.read(buffer)?;
        self.progress.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Policy;
    use crate::tools::ToolSet;
    use std::io::{Cursor, Write as _};

    #[test]
    fn bytes_are_judged_as_a_file_is() {
        let record = |index: u32, response: u32| {
            format!("{{\"index\":{index},\"tool\":\"get\",\"args\":{{}},\"response\":{{\"n\":{response}}}}}\n")
        };
        let text = record(0, 1) + &record(1, 2);
        let mut sealed = Vec::new();
        seal::seal(text.as_bytes(), 1, &mut sealed).unwrap();
        let edited = String::from_utf8_lossy(&sealed).replace("\"get\"", "\"got\"").into_bytes();
        let scope = Policy::read(b"{\"agent\":\"a\",\"allowed_tools\":[]}").unwrap();
        let plans = [
            Plan::Audit(
                Ruleset::audit(ToolSet::default_mutators(), Some(std::sync::Arc::new(scope.into()))),
                formats::Options::default(),
            ),
            Plan::Judge(Ruleset::replay(ToolSet::default_mutators()), formats::Options::default()),
            Plan::Verify(Some("0".repeat(64)), Budget::default()),
        ];
        for bytes in [text.as_bytes(), &sealed, &edited, b"{}\n", b""].map(<[u8]>::to_vec) {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&bytes).unwrap();
            let shown = "it".to_owned();
            let input = Input {
                path: Some(file.path().to_owned()),
                shown: shown.clone(),
                from_root: shown,
                named: true,
                more: Vec::new(),
            };
            for plan in &plans {
                let from_file = run(std::slice::from_ref(&input), plan, 1, &Progress::default()).remove(0);
                let from_bytes = run_source(&input, &|| Box::new(Cursor::new(bytes.clone())), plan, 1);
                assert_eq!(from_file.failure, from_bytes.failure);
                assert_eq!(from_file.chain, from_bytes.chain);
                let findings = |outcome: &Outcome| format!("{:?}", outcome.judgement.findings);
                assert_eq!(findings(&from_file), findings(&from_bytes));
            }
        }
    }
}
