//! Running one plan over many files.

use crate::finding::{Finding, Fingerprint};
use crate::json::{self, Scratch};
use crate::judge::{self, Bench, Judgement, Ruleset, Seen};
use crate::rules;
use crate::seal::{self, Break, BrokenLink, Chain, SeenLinks, Verifier};
use crate::transcript::{self, Base, Block, Layout, ReadError, ScanError, Visit, is_blank};
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Files up to this size, in bytes, are worked on side by side, larger ones one after the other by all threads.
const SMALL: u64 = 4 << 20;

/// One file to audit.
#[derive(Debug, Clone)]
pub struct Input {
    /// Where to read it; `None`: standard input.
    pub path: Option<PathBuf>,
    /// Its path as the user knows it, for messages.
    pub shown: String,
    /// Its path from the root of the repository, with `/` between segments, for annotations and SARIF.
    pub from_root: String,
}

impl Input {
    /// Opens the file.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(match &self.path {
            Some(path) => Box::new(File::open(path)?),
            None => Box::new(io::stdin()),
        })
    }
}

/// What is done with each file.
#[derive(Debug)]
pub enum Plan {
    /// Judge transcripts.
    Judge(Ruleset),
    /// Verify sealed transcripts, and that each ends in the given digest, if there is one.
    Verify(Option<String>),
    /// Tell transcripts and sealed ones apart; judge both, verify the latter.
    Audit(Ruleset),
}

/// Why a file could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The line, from 1; 0: the file as a whole.
    pub line: u64,
    /// The column, in characters from 1; 0: the line as a whole.
    pub column: u64,
    /// What is wrong, safe to print.
    pub what: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.line, self.column) {
            (0, _) => f.write_str(&self.what),
            (line, 0) => write!(f, "line {line}: {}", self.what),
            (line, column) => write!(f, "line {line}: column {column}: {}", self.what),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        // a failed read is about the file: where it stopped is no place in it
        let line = if matches!(error, ReadError::Io { .. }) { 0 } else { error.line() };
        Failure { line, column: error.column(), what: error.what() }
    }
}

/// What came of one file.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// What the rules found, also in a sealed transcript.
    pub judgement: Judgement,
    /// The chain of a sealed transcript.
    pub chain: Option<Chain>,
    /// Why nothing was judged.
    pub failure: Option<Failure>,
}

impl Outcome {
    /// Notes that the chain does not hold, if it does not.
    pub fn break_chain(&mut self, broken: Option<BrokenLink>) {
        if let (Some(chain), Some(broken)) = (&mut self.chain, broken) {
            self.judgement.findings.push(broken_link(&broken));
            chain.broken = Some(broken);
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
}

/// Runs `plan` over all inputs with up to `threads` threads. The outcomes come in the order of the inputs and do not
/// depend on the number of threads.
pub fn run(inputs: &[Input], plan: &Plan, threads: usize, progress: &Progress) -> Vec<Outcome> {
    let sizes: Vec<u64> = inputs.iter().map(size).collect();
    let (small, large): (Vec<usize>, Vec<usize>) = (0..inputs.len()).partition(|&place| sizes[place] <= SMALL);
    let outcomes: Mutex<Vec<Option<Outcome>>> = Mutex::new(vec![None; inputs.len()]);
    let work = |place: usize, threads: usize| {
        let outcome = one(&inputs[place], plan, threads, progress);
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
    outcomes.into_iter().map(Option::unwrap_or_default).collect()
}

/// Runs `plan` over one transcript that is no file, such as bytes in memory: the outcome is that of [`run`] over a file
/// with the same content.
pub fn run_source(source: impl Read + Send, plan: &Plan, threads: usize) -> Outcome {
    let outcome = match plan {
        Plan::Judge(ruleset) => judged(source, ruleset, threads),
        Plan::Verify(head) => verified(source, head.as_deref(), threads),
        Plan::Audit(ruleset) => with_layout(source).and_then(|(layout, source)| match layout {
            Layout::Transcript => judged(source, ruleset, threads),
            Layout::Sealed => judged_sealed(source, ruleset, threads),
        }),
    };
    outcome.unwrap_or_else(|failure| Outcome { failure: Some(failure), ..Outcome::default() })
}

/// The size of a regular file; streams count as large, so that all threads work on them.
fn size(input: &Input) -> u64 {
    let metadata = input.path.as_ref().and_then(|path| path.metadata().ok());
    metadata.filter(|metadata| !metadata.is_file() || metadata.len() > 0).map_or(0, |metadata| {
        match metadata.is_file() {
            true => metadata.len(),
            false => u64::MAX,
        }
    })
}

fn one(input: &Input, plan: &Plan, threads: usize, progress: &Progress) -> Outcome {
    let counted = |source| Counted { source, bytes: &progress.bytes };
    let outcome = match plan {
        Plan::Judge(ruleset) => open(input).and_then(|source| judged(counted(source), ruleset, threads)),
        Plan::Verify(head) => open(input).and_then(|source| verified(counted(source), head.as_deref(), threads)),
        Plan::Audit(ruleset) => told_apart(input).and_then(|(layout, source)| match layout {
            Layout::Transcript => judged(counted(source), ruleset, threads),
            Layout::Sealed => judged_sealed(counted(source), ruleset, threads),
        }),
    };
    outcome.unwrap_or_else(|failure| Outcome { failure: Some(failure), ..Outcome::default() })
}

pub(super) type Source = Box<dyn Read + Send>;

fn open(input: &Input) -> Result<Source, Failure> {
    input.open().map_err(|error| Failure { line: 0, column: 0, what: format!("cannot be opened: {error}") })
}

fn judged(source: impl Read + Send, ruleset: &Ruleset, threads: usize) -> Result<Outcome, Failure> {
    let judgement = judge::judge(source, ruleset, threads)?;
    Ok(Outcome { judgement, ..Outcome::default() })
}

fn verified(source: impl Read + Send, head: Option<&str>, threads: usize) -> Result<Outcome, Failure> {
    let mut chain = seal::verify(source, threads)?;
    if let Some(head) = head {
        chain.expect_head(head);
    }
    Ok(Outcome { judgement: chain_judgement(&chain), chain: Some(chain), failure: None })
}

/// What a chain alone gives to report.
fn chain_judgement(chain: &Chain) -> Judgement {
    let findings = chain.broken.iter().map(broken_link).collect();
    Judgement { calls: chain.links, findings, ..Judgement::default() }
}

pub(super) fn broken_link(broken: &BrokenLink) -> Finding {
    let BrokenLink { kind, index, expected, found, .. } = broken;
    let detail = match kind {
        Break::Link => format!("at index {index} expected {expected}, found {found}"),
        Break::Extends => {
            format!("it does not extend the older chain: at index {index} expected {expected}, found {found}")
        }
        Break::Head => format!("its last digest is not the expected one: expected {expected}, found {found}"),
    };
    Finding {
        rule: &rules::BROKEN_LINK,
        level: rules::BROKEN_LINK.level,
        index: Some(*index),
        line: broken.line,
        column: 0,
        width: broken.width,
        related: None,
        tool: None,
        fingerprint: Fingerprint::new(&rules::BROKEN_LINK, &[expected.as_bytes(), b" ", found.as_bytes()], 1),
        detail: Some(detail.into()),
    }
}

/// Verifies a sealed transcript and judges its calls, in one pass.
fn judged_sealed(source: impl Read + Send, ruleset: &Ruleset, threads: usize) -> Result<Outcome, Failure> {
    let mut verifier = Verifier::default();
    let mut bench = Bench::new(ruleset, Layout::Sealed);
    let visit = |(links, seen): &mut (SeenLinks, Seen), visit: Visit<'_>| {
        links.visit(&visit);
        seen.visit(ruleset, &visit);
    };
    let sink = |block: &Block, (links, seen): (SeenLinks, Seen), base: Base| {
        verifier.accept(block, &links, base);
        bench.hear(block, &seen, base);
        Ok::<(), Infallible>(())
    };
    match transcript::scan(source, Layout::Sealed, threads, visit, sink) {
        Ok(total) => {
            let (chain, mut judgement) = (verifier.chain(total), bench.judgement(total));
            if let Some(broken) = &chain.broken {
                let at = judgement.findings.partition_point(|finding| finding.index < Some(broken.index));
                judgement.findings.insert(at, broken_link(broken));
            }
            Ok(Outcome { judgement, chain: Some(chain), failure: None })
        }
        Err(ScanError::Read(error)) => Err(error.into()),
        Err(ScanError::Sink(never)) => match never {},
    }
}

/// Which of the two a file is, by the fields of its first record, and the file from its start.
fn told_apart(input: &Input) -> Result<(Layout, Source), Failure> {
    let Some(path) = &input.path else {
        let (layout, stdin) = with_layout(io::stdin())?;
        return Ok((layout, Box::new(stdin)));
    };
    let opened = File::open(path);
    let mut file =
        opened.map_err(|error| Failure { line: 0, column: 0, what: format!("cannot be opened: {error}") })?;
    let start = first_record(&mut file).map_err(unreadable)?;
    let layout = layout(&start);
    Ok(match file.seek(SeekFrom::Start(0)) {
        Ok(_) => (layout, Box::new(file)),
        // a pipe
        Err(_) => (layout, Box::new(Cursor::new(start).chain(file))),
    })
}

/// What was read already, and the rest.
type FromStart<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// [`told_apart`] for what can be read only once.
fn with_layout<R: Read>(mut source: R) -> Result<(Layout, FromStart<R>), Failure> {
    let start = first_record(&mut source).map_err(unreadable)?;
    Ok((layout(&start), Cursor::new(start).chain(source)))
}

fn unreadable(error: io::Error) -> Failure {
    ReadError::Io { line: 0, error }.into()
}

/// Reads up to the end of the first line that is not blank.
pub(super) fn first_record(source: &mut impl Read) -> io::Result<Vec<u8>> {
    let (mut start, mut room) = (Vec::new(), 64 << 10);
    loop {
        let filled = start.len();
        let read = source.by_ref().take(room).read_to_end(&mut start)?;
        let has_record =
            start.split_inclusive(|&byte| byte == b'\n').any(|line| line.ends_with(b"\n") && !is_blank_line(line));
        if has_record || (read as u64) < room || filled > json::MAX_TEXT {
            return Ok(start);
        }
        room *= 2;
    }
}

fn is_blank_line(line: &[u8]) -> bool {
    is_blank(line.strip_suffix(b"\n").unwrap_or(line))
}

pub(super) fn layout(start: &[u8]) -> Layout {
    let first = start.split(|&byte| byte == b'\n').find(|line| !is_blank(line)).unwrap_or(b"");
    let sealed = json::members(first, &["prev", "digest"], &mut Scratch::default())
        .is_ok_and(|members| members.values.iter().any(Option::is_some));
    if sealed { Layout::Sealed } else { Layout::Transcript }
}

/// Counts what is read.
struct Counted<'p, R> {
    source: R,
    bytes: &'p AtomicU64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Scope;
    use crate::tools::ToolSet;
    use std::io::Write as _;

    #[test]
    fn bytes_are_judged_as_a_file_is() {
        let record = |index: u32, response: u32| {
            format!("{{\"index\":{index},\"tool\":\"get\",\"args\":{{}},\"response\":{{\"n\":{response}}}}}\n")
        };
        let text = record(0, 1) + &record(1, 2);
        let mut sealed = Vec::new();
        seal::seal(text.as_bytes(), 1, &mut sealed).unwrap();
        let edited = String::from_utf8_lossy(&sealed).replace("\"get\"", "\"got\"").into_bytes();
        let scope = Scope::parse(b"{\"agent\":\"a\",\"allowed_tools\":[]}").unwrap();
        let plans = [
            Plan::Audit(Ruleset::audit(ToolSet::default_mutators(), Some(scope))),
            Plan::Judge(Ruleset::replay(ToolSet::default_mutators())),
            Plan::Verify(Some("0".repeat(64))),
        ];
        for bytes in [text.as_bytes(), &sealed, &edited, b"{}\n", b""] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(bytes).unwrap();
            let shown = "it".to_owned();
            let input = Input { path: Some(file.path().to_owned()), shown: shown.clone(), from_root: shown };
            for plan in &plans {
                let from_file = run(std::slice::from_ref(&input), plan, 1, &Progress::default()).remove(0);
                let from_bytes = run_source(bytes, plan, 1);
                assert_eq!(from_file.failure, from_bytes.failure);
                assert_eq!(from_file.chain, from_bytes.chain);
                let findings = |outcome: &Outcome| format!("{:?}", outcome.judgement.findings);
                assert_eq!(findings(&from_file), findings(&from_bytes));
            }
        }
    }
}
