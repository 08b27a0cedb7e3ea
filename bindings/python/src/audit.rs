//! Auditing: transcripts in, reports out.

use crate::errors::{self, TranscriptError};
use crate::input::{self, Source, io_error};
use crate::table::FindingsTable;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use std::collections::HashMap;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use toolreplay::audit::{self as library, Command, Input, Outcome, Plan, Progress, Settings, Signing, Verdict};
use toolreplay::config::{Config, Date};
use toolreplay::engine::Ruleset;
use toolreplay::finding::Level;
use toolreplay::formats::{self, Options};
use toolreplay::report::{self, Format};
use toolreplay::scope::Applied;
use toolreplay::seal::{self as chain, SealError};
use toolreplay::signature::Trust;
use toolreplay::tools::ToolSet;
use toolreplay::transcript::ReadError;

/// One finding.
#[pyclass(frozen, get_all, eq, hash, module = "toolreplay")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Finding {
    /// The rule's id.
    pub(crate) rule: String,
    /// note, warning or error.
    pub(crate) level: String,
    /// The file, as given.
    pub(crate) file: String,
    /// The line, from 1; None: the file as a whole.
    pub(crate) line: Option<u64>,
    /// The column, from 1; None: the whole line.
    pub(crate) column: Option<u64>,
    /// The index of the call; None where a line is no record.
    pub(crate) index: Option<u64>,
    /// The tool that was called.
    pub(crate) tool: Option<String>,
    /// The message.
    pub(crate) message: String,
    /// The index of the earlier call that it refers to.
    pub(crate) related_index: Option<u64>,
    /// The line of that call.
    pub(crate) related_line: Option<u64>,
    /// The file of that call, where it is another one than the finding's.
    pub(crate) related_file: Option<String>,
    /// The same for the same finding in a later run.
    pub(crate) fingerprint: String,
}

#[pymethods]
impl Finding {
    #[new]
    #[pyo3(signature = (*, rule, level, file, message, fingerprint, line=None, column=None, index=None, tool=None,
        related_index=None, related_line=None, related_file=None))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        rule: String,
        level: String,
        file: String,
        message: String,
        fingerprint: String,
        line: Option<u64>,
        column: Option<u64>,
        index: Option<u64>,
        tool: Option<String>,
        related_index: Option<u64>,
        related_line: Option<u64>,
        related_file: Option<String>,
    ) -> Finding {
        Finding {
            rule,
            level,
            file,
            line,
            column,
            index,
            tool,
            message,
            related_index,
            related_line,
            related_file,
            fingerprint,
        }
    }

    /// Its fields by their names.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let fields = PyDict::new(py);
        fields.set_item("rule", &self.rule)?;
        fields.set_item("level", &self.level)?;
        fields.set_item("file", &self.file)?;
        fields.set_item("line", self.line)?;
        fields.set_item("column", self.column)?;
        fields.set_item("index", self.index)?;
        fields.set_item("tool", &self.tool)?;
        fields.set_item("message", &self.message)?;
        fields.set_item("related_index", self.related_index)?;
        fields.set_item("related_line", self.related_line)?;
        fields.set_item("related_file", &self.related_file)?;
        fields.set_item("fingerprint", &self.fingerprint)?;
        Ok(fields)
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        Ok((PyTuple::empty(py), self.to_dict(py)?))
    }

    fn __repr__(&self) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        toolreplay::sanitize::visible(&format!("<{} {} {}{line}: {}>", self.level, self.rule, self.file, self.message))
            .into_owned()
    }
}

/// What a run looked at, and what it could not judge.
#[pyclass(frozen, get_all, eq, module = "toolreplay")]
#[derive(Clone, PartialEq, Eq)]
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
    #[new]
    #[pyo3(signature = (*, files, calls, pairs_compared, not_judged))]
    fn new(files: u64, calls: u64, pairs_compared: u64, not_judged: Vec<String>) -> Coverage {
        Coverage { files, calls, pairs_compared, not_judged }
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let fields = PyDict::new(py);
        fields.set_item("files", self.files)?;
        fields.set_item("calls", self.calls)?;
        fields.set_item("pairs_compared", self.pairs_compared)?;
        fields.set_item("not_judged", &self.not_judged)?;
        Ok((PyTuple::empty(py), fields))
    }

    fn __repr__(&self) -> String {
        let Coverage { files, calls, pairs_compared, not_judged } = self;
        format!("Coverage(files={files}, calls={calls}, pairs_compared={pairs_compared}, not_judged={not_judged:?})")
    }
}

/// What a run found out, for the `Report` of the module.
#[pyclass(frozen, module = "toolreplay._native")]
pub(crate) struct Report {
    report: library::Report,
    /// Whether calls were held against a scope.
    scope: bool,
    /// Files that could not be opened, by their name, and why.
    unopened: HashMap<String, i32>,
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
                rule: finding.rule.id.to_owned(),
                level: finding.level.name().to_owned(),
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

    /// The verdict, and what it does not say.
    #[getter]
    fn verdict_detail(&self) -> String {
        let verdict = self.report.verdict;
        let unjudged = self.report.command == Command::Audit && !self.scope && verdict == Verdict::Clean;
        format!("{}{}", verdict.name(), if unjudged { ", permissions not judged" } else { "" })
    }

    /// The counts of findings in words.
    #[getter]
    fn counts(&self) -> String {
        self.report.counts()
    }

    /// The files: name, calls, pairs compared, format and whether it could be judged.
    #[getter]
    fn files(&self) -> Vec<(String, u64, u64, Option<&'static str>, bool)> {
        let each = self.report.files.iter().map(|file| {
            let format = file.import.as_ref().map(|import| import.format);
            (file.path.clone(), file.calls, file.pairs, format, file.is_judged())
        });
        each.collect()
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

    /// Why files could not be judged: a TranscriptError each, an OSError for what cannot be opened.
    #[getter]
    fn errors(&self, py: Python<'_>) -> Vec<PyErr> {
        let failed = self.report.files.iter().filter_map(|file| Some((file, file.failure.as_ref()?)));
        let error = |(file, failure): (&library::FileReport, &library::Failure)| {
            let path = failure.file.as_ref().map_or(&file.path, |file| &file.shown);
            if let Some(number) = self.unopened.get(path.as_str()) {
                return io_error(py, &std::io::Error::from_raw_os_error(*number), path);
            }
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

/// How a run is to go on, as Python asked for it.
#[derive(Default)]
struct How {
    threads: Option<usize>,
    /// Called with the number of files that are done, now and then.
    progress: Option<Py<PyAny>>,
    /// Whose signatures count, and whether there must be some.
    signing: Option<Signing>,
}

/// Audits transcripts and sealed transcripts with every rule, as `toolreplay audit` does.
///
/// `transcripts` is a path, bytes, a pair (name, bytes), or an iterable of these; a pair (path, None) is a file that was
/// found in a folder. `scope` is a path, bytes or a dict. `config` is the text of a configuration, whose suppressions
/// count. What cannot be read is a finding, and in Report.errors.
#[pyfunction]
#[pyo3(signature = (transcripts, scope=None, mutators=vec![], *, fail_on="warning", min_level="note", allow_empty=false,
    format=None, allow_loss=false, config=None, trust=None, require_signature=false, threads=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "they are keywords in Python")]
pub(crate) fn audit(
    py: Python<'_>,
    transcripts: &Bound<'_, PyAny>,
    scope: Option<&Bound<'_, PyAny>>,
    mutators: Vec<String>,
    fail_on: &str,
    min_level: &str,
    allow_empty: bool,
    format: Option<&str>,
    allow_loss: bool,
    config: Option<&str>,
    trust: Option<&[u8]>,
    require_signature: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Report> {
    let sources = Source::many(transcripts)?;
    let scope = scope.map(input::scope).transpose()?.map(|policy| Arc::new(Applied::from(policy)));
    let config = config.map(config_of).transpose()?.unwrap_or_default();
    let settings = Settings {
        fail_on: level(fail_on)?,
        min_level: level(min_level)?,
        allow_empty,
        rules: toolreplay::rules::selection(&config.select, &config.ignore).map_err(PyValueError::new_err)?,
        suppressions: config.suppressions,
        today: Some(today()),
        ..Settings::everything()
    };
    let trust = trust.map(Trust::parse).transpose().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let signing = Some(Signing { trust, required: require_signature });
    let plan = Plan::Audit(Ruleset::audit(tool_set(&mutators), scope.clone()), options(format, allow_loss)?);
    run(py, Command::Audit, sources, plan, scope, settings, How { threads, progress, signing })
}

fn options(format: Option<&str>, allow_loss: bool) -> PyResult<Options> {
    let named = |id: &str| {
        formats::From::named(id).ok_or_else(|| {
            let known: Vec<&str> = formats::FORMATS.iter().map(|format| format.id).collect();
            PyValueError::new_err(format!("no format is called {id:?}; there are native, {}", known.join(", ")))
        })
    };
    Ok(Options { from: format.map(named).transpose()?, allow_loss, ..Options::default() })
}

fn config_of(text: &str) -> PyResult<Config> {
    Config::parse(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn today() -> Date {
    #[expect(clippy::disallowed_methods, reason = "suppressions expire by the day, as in the command")]
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Date::from_unix_days(since.as_secs() / 86_400)
}

/// What the text of a configuration says, but for its suppressions, which `audit` takes from the text.
#[pyfunction]
pub(crate) fn read_config<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let config = config_of(text)?;
    let said = PyDict::new(py);
    said.set_item("scope", config.scope)?;
    said.set_item("trust", config.trust)?;
    said.set_item("require_signature", config.require_signature)?;
    said.set_item("mutators", config.mutators)?;
    said.set_item("fail_on", config.fail_on.map(Level::name))?;
    said.set_item("min_level", config.min_level.map(Level::name))?;
    said.set_item("allow_empty", config.allow_empty)?;
    Ok(said)
}

/// Whether a file in a folder may be a recording, by its name.
#[pyfunction]
pub(crate) fn may_be_recording(path: PathBuf) -> bool {
    formats::may_be_recording(&path)
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
    let how = How { threads, ..How::default() };
    run(py, Command::Replay, sources, plan, None, Settings::everything(), how)
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
    let scope = Arc::new(Applied::from(input::scope(scope)?));
    let plan = Plan::Judge(Ruleset::scope(Arc::clone(&scope)), Options::default());
    let how = How { threads, ..How::default() };
    run(py, Command::Scope, sources, plan, Some(scope), Settings::everything(), how)
}

/// Content up to which no thread is begun for it: it is judged faster than that.
const SMALL: u64 = 256 << 10;
/// How often Python's signals are looked at meanwhile.
const TURN: Duration = Duration::from_millis(20);

fn run(
    py: Python<'_>,
    command: Command,
    sources: Vec<Source>,
    plan: Plan,
    scope: Option<Arc<Applied>>,
    settings: Settings,
    how: How,
) -> PyResult<Report> {
    input::refuse_folders(&sources)?;
    let is_small = sources.len() <= 16 && sources.iter().map(Source::size).sum::<u64>() <= SMALL;
    let threads = match how.threads {
        None if is_small => 1,
        asked => thread_count(asked)?,
    };
    let so_far = Arc::new(Progress::default());
    let progress = Arc::clone(&so_far);
    let signing = how.signing;
    let work = move || {
        let inputs = library::sessions(sources.iter().map(Source::input).collect(), threads);
        let mut outcomes = outcomes(&sources, &inputs, &plan, threads, &progress);
        let changes = match command {
            Command::Audit => library::mismatches(&inputs, &outcomes),
            _ => Vec::new(),
        };
        if let Some(signing) = &signing {
            library::signatures(&inputs, &mut outcomes, signing);
        }
        let unopened = unopened(&inputs, &outcomes);
        let held = scope.is_some();
        let mut report = library::Report::with_changes(command, &inputs, outcomes, changes, held, &settings);
        if let Some(scope) = &scope {
            report.held_against(scope);
        }
        Report { report, scope: held, unopened }
    };
    if is_small {
        return Ok(py.detach(work));
    }
    // elsewhere, so that Ctrl-C is heard here
    let (done, outcome) = mpsc::channel();
    let outcome = Mutex::new(outcome);
    std::thread::spawn(move || {
        // nobody waits any more where this fails
        let _ = done.send(work());
    });
    loop {
        match py.detach(|| receive(&outcome)) {
            Ok(report) => return Ok(report),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the audit ended without a report"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let files = so_far.files.load(Ordering::Relaxed);
        let told = how.progress.as_ref().map_or(Ok(()), |tell| tell.call1(py, (files,)).map(|_| ()));
        if let Err(error) = py.check_signals().and(told) {
            so_far.stopped.store(true, Ordering::Relaxed);
            return Err(error);
        }
    }
}

/// The report, if it comes before it is time to look elsewhere.
fn receive(outcome: &Mutex<mpsc::Receiver<Report>>) -> Result<Report, RecvTimeoutError> {
    outcome.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(TURN)
}

/// The files that failed because they cannot be opened.
fn unopened(inputs: &[Input], outcomes: &[Outcome]) -> HashMap<String, i32> {
    let failed = inputs.iter().zip(outcomes).filter(|(_, outcome)| {
        outcome.import.is_none() && outcome.failure.as_ref().is_some_and(|failure| failure.line == 0)
    });
    let why = |input: &Input| std::fs::File::open(input.path.as_ref()?).err()?.raw_os_error();
    failed.filter_map(|(input, _)| Some((input.shown.clone(), why(input)?))).collect()
}

/// Files go to the library all at once, so that it can share them out; bytes one by one. Of the inputs only those with
/// files may be fewer than the sources: the files of one session are one input.
fn outcomes(sources: &[Source], inputs: &[Input], plan: &Plan, threads: usize, progress: &Progress) -> Vec<Outcome> {
    let files: Vec<Input> = inputs.iter().filter(|input| input.path.is_some()).cloned().collect();
    let mut of_files = library::run(&files, plan, threads, progress).into_iter();
    let mut memory = sources.iter().filter_map(|source| match source {
        Source::File(..) => None,
        Source::Memory(_, bytes) => Some(bytes),
    });
    let outcome = |input: &Input| match &input.path {
        Some(_) => of_files.next().unwrap_or_default(),
        None => memory.next().map_or_else(Outcome::default, |bytes| {
            if progress.stopped.load(Ordering::Relaxed) {
                return Outcome::default();
            }
            let outcome = library::run_source(input, Box::new(Cursor::new(bytes.clone())), plan, threads);
            progress.files.fetch_add(1, Ordering::Relaxed);
            outcome
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
        formats::Opening::Unknown(formats::Unknown { why, .. })
        | formats::Opening::Other(formats::Stranger { why, .. }) => {
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
            if imported.balance.calls_in == 0 && !allow_loss {
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
