//! Auditing: transcripts in, reports out.

use crate::errors::{self, TranscriptError};
use crate::input::{self, Source, io_error};
use crate::table::FindingsTable;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::io::Cursor;
use std::path::PathBuf;
use toolreplay::audit::{self as library, Command, Input, Outcome, Plan, Progress, Settings, Verdict};
use toolreplay::engine::Ruleset;
use toolreplay::finding::Level;
use toolreplay::formats::{self, Options};
use toolreplay::report::{self, Format};
use toolreplay::seal::{self as chain, SealError};
use toolreplay::tools::ToolSet;
use toolreplay::transcript::ReadError;

/// One finding.
#[pyclass(frozen, get_all, module = "toolreplay")]
pub(crate) struct Finding {
    /// The rule's id.
    rule: &'static str,
    /// note, warning or error.
    level: &'static str,
    /// The file, as given.
    file: String,
    /// The line, from 1; None: the file as a whole.
    line: Option<u64>,
    /// The column, from 1; None: the whole line.
    column: Option<u64>,
    /// The index of the call; None where a line is no record.
    index: Option<u64>,
    /// The tool that was called.
    tool: Option<String>,
    /// The message.
    message: String,
    /// The index of the earlier call that it refers to.
    related_index: Option<u64>,
    /// The line of that call.
    related_line: Option<u64>,
    /// The file of that call, where it is another one than the finding's.
    related_file: Option<String>,
    /// The same for the same finding in a later run.
    fingerprint: String,
}

#[pymethods]
impl Finding {
    fn __repr__(&self) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        toolreplay::sanitize::visible(&format!("<{} {} {}{line}: {}>", self.level, self.rule, self.file, self.message))
            .into_owned()
    }
}

/// What a run looked at, and what it could not judge.
#[pyclass(frozen, get_all, module = "toolreplay")]
pub(crate) struct Coverage {
    /// Files, also those that could not be read.
    files: u64,
    /// Calls.
    calls: u64,
    /// Calls whose answer was compared with an earlier identical call's.
    pairs_compared: u64,
    /// What could not be judged and why, one reason an entry.
    not_judged: Vec<String>,
}

#[pymethods]
impl Coverage {
    fn __repr__(&self) -> String {
        let Coverage { files, calls, pairs_compared, not_judged } = self;
        format!("Coverage(files={files}, calls={calls}, pairs_compared={pairs_compared}, not_judged={not_judged:?})")
    }
}

/// What a run found out.
#[pyclass(frozen, module = "toolreplay")]
pub(crate) struct Report {
    report: library::Report,
}

#[pymethods]
impl Report {
    /// The findings, by file, then index, then kind.
    #[getter]
    fn findings(&self) -> Vec<Finding> {
        let known = |number: u64| (number > 0).then_some(number);
        let each = self.report.findings().map(|reported| {
            let finding = reported.finding;
            Finding {
                rule: finding.rule.id,
                level: finding.level.name(),
                file: reported.path().to_owned(),
                line: known(finding.line),
                column: known(finding.column),
                index: finding.index,
                tool: finding.tool.as_deref().map(|tool| tool.shown.to_string()),
                message: finding.message(),
                related_index: finding.related.map(|place| place.index),
                related_line: finding.related.map(|place| place.line),
                related_file: reported.related_path().map(str::to_owned),
                fingerprint: finding.fingerprint.to_string(),
            }
        });
        each.collect()
    }

    /// The findings as a table that Arrow's PyCapsule interface hands over without a copy, in the same order.
    ///
    /// pyarrow.table(), polars.DataFrame() and pandas.DataFrame.from_arrow() take it. Its columns are the fields of a
    /// Finding: int64 for numbers, utf8 for text, null for None. Raises OverflowError where the text of one finding has
    /// more than 2 GiB.
    fn findings_table(&self, py: Python<'_>) -> PyResult<FindingsTable> {
        py.detach(|| FindingsTable::of(&self.report))
    }

    /// What was looked at.
    #[getter]
    fn coverage(&self) -> Coverage {
        let library::Coverage { files, calls, pairs, not_judged } = self.report.coverage.clone();
        Coverage { files, calls, pairs_compared: pairs, not_judged }
    }

    /// clean, findings, inconclusive (no call to audit) or failed (a file could not be judged).
    #[getter]
    fn verdict(&self) -> &'static str {
        self.report.verdict.name()
    }

    /// What the command would exit with: 0, 1 or 2.
    #[getter]
    fn exit_code(&self) -> u8 {
        self.report.verdict.exit_code()
    }

    /// Whether the verdict is clean.
    #[getter]
    fn clean(&self) -> bool {
        self.report.verdict == Verdict::Clean
    }

    /// Why files could not be judged: a TranscriptError each.
    #[getter]
    fn errors(&self, py: Python<'_>) -> Vec<PyErr> {
        let failed = self.report.files.iter().filter_map(|file| Some((file, file.failure.as_ref()?)));
        let error = |(file, failure): (&library::FileReport, &library::Failure)| {
            let path = failure.file.as_ref().map_or(&file.path, |file| &file.shown);
            errors::at::<TranscriptError>(py, Some(path), failure.line, failure.column, &failure.what)
        };
        failed.map(error).collect()
    }

    /// Raises the first of the errors, if there is one.
    fn raise_for_errors(&self, py: Python<'_>) -> PyResult<()> {
        self.errors(py).into_iter().next().map_or(Ok(()), Err)
    }

    /// The report in a format of the command: text, json, junit, sarif, github, markdown, gitlab, outputs.
    fn render(&self, py: Python<'_>, format: &str) -> PyResult<String> {
        let Some(format) = Format::named(format) else {
            let names = Format::ALL.map(Format::name).join(", ");
            return Err(PyValueError::new_err(format!("no format is called {format:?}; there are {names}")));
        };
        self.written(py, format)
    }

    /// The report as JSON; schemas/report.json describes it.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.written(py, Format::Json)
    }

    /// The report as SARIF 2.1.0.
    fn to_sarif(&self, py: Python<'_>) -> PyResult<String> {
        self.written(py, Format::Sarif)
    }

    /// The report as Markdown.
    fn to_markdown(&self, py: Python<'_>) -> PyResult<String> {
        self.written(py, Format::Markdown)
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.written(py, Format::Text)
    }

    fn __repr__(&self) -> String {
        format!("<Report: {}, {}>", self.report.verdict.name(), self.report.counts())
    }
}

impl Report {
    fn written(&self, py: Python<'_>, format: Format) -> PyResult<String> {
        let mut out = Vec::new();
        py.detach(|| report::write(&self.report, format, false, &mut out))?;
        String::from_utf8(out).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// Audits transcripts and sealed transcripts with every rule, as `toolreplay audit` does.
///
/// `transcripts` is a path, bytes, a pair (name, bytes), or an iterable of these. `scope` is a path, bytes or a dict.
/// What cannot be read is a finding, and in Report.errors. No configuration file is read.
#[pyfunction]
#[pyo3(signature = (transcripts, scope=None, mutators=vec![], *, fail_on="warning", min_level="note", allow_empty=false, threads=None))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn audit(
    py: Python<'_>,
    transcripts: &Bound<'_, PyAny>,
    scope: Option<&Bound<'_, PyAny>>,
    mutators: Vec<String>,
    fail_on: &str,
    min_level: &str,
    allow_empty: bool,
    threads: Option<usize>,
) -> PyResult<Report> {
    let sources = Source::many(transcripts)?;
    let scope = scope.map(input::scope).transpose()?;
    let settings =
        Settings { fail_on: level(fail_on)?, min_level: level(min_level)?, allow_empty, ..Settings::everything() };
    let has_scope = scope.is_some();
    let plan = Plan::Audit(Ruleset::audit(tool_set(&mutators), scope), Options::default());
    run(py, Command::Audit, &sources, &plan, has_scope, &settings, threads)
}

/// Judges transcripts against themselves, as `toolreplay replay` does: changed answers and redundant calls.
#[pyfunction]
#[pyo3(signature = (transcripts, mutators=vec![], *, threads=None))]
pub(crate) fn replay(
    py: Python<'_>,
    transcripts: &Bound<'_, PyAny>,
    mutators: Vec<String>,
    threads: Option<usize>,
) -> PyResult<Report> {
    let sources = Source::many(transcripts)?;
    let plan = Plan::Judge(Ruleset::replay(tool_set(&mutators)), Options::default());
    run(py, Command::Replay, &sources, &plan, false, &Settings::everything(), threads)
}

/// Judges transcripts against a scope, as `toolreplay scope` does: calls outside what the agent was allowed.
#[pyfunction]
#[pyo3(signature = (transcripts, scope, *, threads=None))]
pub(crate) fn check_scope(
    py: Python<'_>,
    transcripts: &Bound<'_, PyAny>,
    scope: &Bound<'_, PyAny>,
    threads: Option<usize>,
) -> PyResult<Report> {
    let sources = Source::many(transcripts)?;
    let plan = Plan::Judge(Ruleset::scope(input::scope(scope)?), Options::default());
    run(py, Command::Scope, &sources, &plan, true, &Settings::everything(), threads)
}

fn run(
    py: Python<'_>,
    command: Command,
    sources: &[Source],
    plan: &Plan,
    scope: bool,
    settings: &Settings,
    threads: Option<usize>,
) -> PyResult<Report> {
    input::refuse_folders(sources)?;
    let threads = thread_count(threads)?;
    let report = py.detach(|| {
        let inputs = library::sessions(sources.iter().map(Source::input).collect(), threads);
        let outcomes = outcomes(sources, &inputs, plan, threads);
        let changes = match command {
            Command::Audit => library::mismatches(&inputs, &outcomes),
            _ => Vec::new(),
        };
        library::Report::with_changes(command, &inputs, outcomes, changes, scope, settings)
    });
    Ok(Report { report })
}

/// Files go to the library all at once, so that it can share them out; bytes one by one. Of the inputs only those with
/// files may be fewer than the sources: the files of one session are one input.
fn outcomes(sources: &[Source], inputs: &[Input], plan: &Plan, threads: usize) -> Vec<Outcome> {
    let files: Vec<Input> = inputs.iter().filter(|input| input.path.is_some()).cloned().collect();
    let mut of_files = library::run(&files, plan, threads, &Progress::default()).into_iter();
    let mut memory = sources.iter().filter_map(|source| match source {
        Source::File(_) => None,
        Source::Memory(_, bytes) => Some(bytes),
    });
    let outcome = |input: &Input| match &input.path {
        Some(_) => of_files.next().unwrap_or_default(),
        None => memory.next().map_or_else(Outcome::default, |bytes| {
            library::run_source(input, Box::new(Cursor::new(bytes.clone())), plan, threads)
        }),
    };
    inputs.iter().map(outcome).collect()
}

fn thread_count(asked: Option<usize>) -> PyResult<usize> {
    match asked {
        Some(threads @ 1..=256) => Ok(threads),
        Some(_) => Err(PyValueError::new_err("threads must be from 1 to 256")),
        None => Ok(std::thread::available_parallelism().map_or(1, |count| count.get().min(8))),
    }
}

fn level(name: &str) -> PyResult<Level> {
    let found = Level::ALL.into_iter().find(|level| level.name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("a level is note, warning or error, found {name:?}")))
}

fn tool_set(mutators: &[String]) -> ToolSet {
    let mut tools = ToolSet::default_mutators();
    mutators.iter().for_each(|name| tools.insert(name));
    tools
}

/// Seals a transcript, a path or bytes: returns the sealed transcript.
#[pyfunction]
pub(crate) fn seal<'py>(py: Python<'py>, transcript: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let source = Source::one(transcript)?;
    let threads = thread_count(None)?;
    let sealed = py.detach(|| {
        let mut sealed = Vec::new();
        let reader = source.content().map_err(|error| SealError::Read(ReadError::Io { line: 0, error }))?;
        chain::seal(reader, threads, &mut sealed).map(|_| sealed)
    });
    match sealed {
        Ok(sealed) => Ok(PyBytes::new(py, &sealed)),
        Err(SealError::Read(error)) => Err(read_error(py, error, &source.name())),
        Err(SealError::Write(error)) => Err(error.into()),
    }
}

/// Makes a transcript of a recording in another format, as `toolreplay import` does: a path or bytes.
///
/// A transcript is returned as it is. What would be lost, and a recording without a call, raise a TranscriptError, unless
/// `allow_loss` is set.
#[pyfunction]
#[pyo3(signature = (recording, *, allow_loss=false))]
pub(crate) fn import_recording<'py>(
    py: Python<'py>,
    recording: &Bound<'py, PyAny>,
    allow_loss: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let source = Source::one(recording)?;
    let threads = thread_count(None)?;
    let input = source.input();
    let content = source.content().map_err(|error| io_error(py, &error, &source.name()))?;
    let imported = py.detach(|| transcript_of(&input, content, allow_loss, threads));
    let at = |failure: library::Failure| {
        errors::at::<TranscriptError>(py, Some(&source.name()), failure.line, failure.column, &failure.what)
    };
    imported.map(|transcript| PyBytes::new(py, &transcript)).map_err(at)
}

fn transcript_of(
    input: &Input,
    content: Box<dyn std::io::Read + Send>,
    allow_loss: bool,
    threads: usize,
) -> Result<Vec<u8>, library::Failure> {
    let whole = |error: std::io::Error| library::Failure::of_file(error.to_string());
    let options = Options { allow_loss, ..Options::default() };
    let mut transcript = Vec::new();
    match formats::open(content, input.path.as_deref(), &options)? {
        formats::Opening::Native(mut content) => {
            content.read_to_end(&mut transcript).map_err(whole)?;
        }
        formats::Opening::Unknown(formats::Unknown { why, .. }) | formats::Opening::Other(why) => {
            return Err(library::Failure::of_file(toolreplay::sanitize::visible(&why).into_owned()));
        }
        formats::Opening::Foreign(foreign) => {
            let mut recording = formats::Recording::to_write(&options);
            recording.add(foreign, input.source_file(), &|path| input.beside(path), threads)?;
            let mut imported = recording.finish().map_err(whole)?;
            if let Some((place, what)) = imported.loss() {
                let column = u64::from(place.column);
                return Err(library::Failure { line: place.line, column, ..library::Failure::of_file(what) });
            }
            if imported.books.calls_in == 0 && !allow_loss {
                let what = "not a single call was found; is it the right format?".to_owned();
                return Err(library::Failure::of_file(what));
            }
            for part in imported.parts() {
                imported.write(&part, &mut transcript).map_err(whole)?;
            }
        }
    }
    Ok(transcript)
}

/// A sealed transcript, read and recomputed.
#[pyclass(frozen, get_all, module = "toolreplay")]
pub(crate) struct Chain {
    /// Whether every link holds, and the last digest is the expected one where one was given.
    intact: bool,
    /// Links.
    links: u64,
    /// The last stored digest: keep it to tell later whether the tail was cut off.
    head: String,
    /// The index of the first link that does not hold.
    broken_index: Option<u64>,
    /// Its line, from 1.
    line: Option<u64>,
    /// The digest that would hold there.
    expected: Option<String>,
    /// The digest that stands there.
    found: Option<String>,
}

#[pymethods]
impl Chain {
    fn __repr__(&self) -> String {
        match self.broken_index {
            None => format!("<Chain: intact, {} links, head {}>", self.links, self.head),
            Some(index) => format!("<Chain: broken at index {index}>"),
        }
    }
}

/// Verifies a sealed transcript, a path or bytes, and that its last digest is `expect`, if that is given.
#[pyfunction]
#[pyo3(signature = (sealed, expect=None))]
pub(crate) fn verify(py: Python<'_>, sealed: &Bound<'_, PyAny>, expect: Option<&str>) -> PyResult<Chain> {
    let source = Source::one(sealed)?;
    let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if expect.is_some_and(|digest| !is_digest(digest)) {
        return Err(PyValueError::new_err("expect must be 64 lower-case hexadecimal digits"));
    }
    let threads = thread_count(None)?;
    let verified = py.detach(|| {
        let reader = source.content().map_err(|error| ReadError::Io { line: 0, error })?;
        chain::verify(reader, threads)
    });
    let mut verified = verified.map_err(|error| read_error(py, error, &source.name()))?;
    if let Some(digest) = expect {
        verified.expect_head(digest);
    }
    let broken = verified.broken;
    Ok(Chain {
        intact: broken.is_none(),
        links: verified.links,
        head: verified.head,
        broken_index: broken.as_ref().map(|broken| broken.index),
        line: broken.as_ref().map(|broken| broken.line).filter(|line| *line > 0),
        expected: broken.as_ref().map(|broken| broken.expected.clone()),
        found: broken.map(|broken| broken.found),
    })
}

fn read_error(py: Python<'_>, error: ReadError, file: &str) -> PyErr {
    match error {
        ReadError::Io { line: 0, error } if error.raw_os_error().is_some() => {
            io_error(py, &error, &PathBuf::from(file).to_string_lossy())
        }
        error => errors::at::<TranscriptError>(py, Some(file), error.line(), error.column(), &error.what()),
    }
}
