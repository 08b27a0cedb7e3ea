//! Auditing: transcripts in, reports out.

use crate::input::{self, Source};
use crate::report::{Again, Report};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use toolreplay::audit::{self as library, Command, Input, Outcome, Plan, Progress, Settings, Signing};
use toolreplay::config::{Config, Date};
use toolreplay::engine::Ruleset;
use toolreplay::finding::Level;
use toolreplay::formats::{self, Options};
use toolreplay::limits::{Budget, Limits};
use toolreplay::rules::{self, PERMISSION_OVERREACH};
use toolreplay::scope::Applied;
use toolreplay::signature::Trust;
use toolreplay::tools::ToolSet;

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
/// found in a folder. `scope` is a path, bytes or a dict. `config` is the text of a configuration, of which the suppressions,
/// what it says of tools and comparisons, and the limits count. `baseline` is a path. What cannot be read is a finding, and
/// in Report.errors.
#[pyfunction]
#[pyo3(signature = (transcripts, scope=None, mutators=vec![], *, fail_on="warning", min_level="note", allow_empty=false,
    format=None, allow_loss=false, select=vec![], ignore=vec![], config=None, baseline=None, trust=None,
    require_signature=false, threads=None, progress=None))]
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
    select: Vec<String>,
    ignore: Vec<String>,
    config: Option<&str>,
    baseline: Option<PathBuf>,
    trust: Option<&[u8]>,
    require_signature: bool,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Report> {
    let sources = Source::many(transcripts)?;
    let scope = scope.map(input::scope).transpose()?.map(|policy| Arc::new(Applied::from(policy)));
    let mut config = config.map(config_of).transpose()?.unwrap_or_default();
    for (own, configured) in [(select, &mut config.select), (ignore, &mut config.ignore)] {
        if !own.is_empty() {
            *configured = own;
        }
    }
    if scope.is_none() && config.select.iter().any(|id| id == PERMISSION_OVERREACH.id) {
        let what = format!("'{}' is selected, and needs a scope", PERMISSION_OVERREACH.id);
        return Err(PyValueError::new_err(what));
    }
    let traits = config.traits();
    let options = Options { budget: budget(&config)?, ..options(format, allow_loss)? };
    let known = baseline.as_deref().map(|path| input::baseline(py, path)).transpose()?;
    let settings = Settings {
        fail_on: level(fail_on)?,
        min_level: level(min_level)?,
        allow_empty,
        rules: rules::selection(&config.select, &config.ignore).map_err(PyValueError::new_err)?,
        suppressions: config.suppressions,
        allow_loss: config.allow_loss,
        today: Some(today()),
        baseline: known,
        baseline_path: baseline.map(|path| path.display().to_string()).unwrap_or_default(),
    };
    let trust = trust.map(Trust::parse).transpose().map_err(|error| PyValueError::new_err(error.to_string()))?;
    let signing = Some(Signing { trust, required: require_signature });
    let ruleset = Ruleset::audit(tool_set(&mutators), scope.clone()).with_traits(traits);
    let lossy = settings.allow_loss.iter().filter(|entry| entry.holds(settings.today));
    let allow_loss_in = lossy.filter_map(toolreplay::config::AllowLoss::pattern).collect();
    let plan = Plan::Audit(ruleset, Options { allow_loss_in, ..options });
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

/// The limits of a configuration, which can lower them alone.
fn budget(config: &Config) -> PyResult<Budget> {
    let mut limits = Limits::default();
    for (key, text, taken) in [
        ("max-line", &config.max_line, &mut limits.line),
        ("max-document", &config.max_document, &mut limits.document),
        ("max-unpacked", &config.max_unpacked, &mut limits.unpacked),
    ] {
        let Some(text) = text else { continue };
        let size = Limits::size(text).map_err(|error| PyValueError::new_err(format!("{key}: {error}")))?;
        if size > *taken {
            return Err(PyValueError::new_err(format!("{key}: a configuration can lower the limit, not raise it")));
        }
        *taken = size;
    }
    Ok(Budget::new(limits))
}

fn config_of(text: &str) -> PyResult<Config> {
    Config::parse(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn today() -> Date {
    #[expect(clippy::disallowed_methods, reason = "suppressions expire by the day, as in the command")]
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Date::from_unix_days(since.as_secs() / 86_400)
}

/// What the text of a configuration says, but for what `audit` takes from the text.
#[pyfunction]
pub(crate) fn read_config<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let config = config_of(text)?;
    let said = PyDict::new(py);
    said.set_item("scope", config.scope)?;
    said.set_item("baseline", config.baseline)?;
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
        let again = (command == Command::Audit).then_some(Again { sources, inputs, plan });
        Report { report, scope: held, unopened, again }
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
            let outcome = library::run_source(input, &|| Box::new(Cursor::new(bytes.clone())), plan, threads);
            progress.files.fetch_add(1, Ordering::Relaxed);
            outcome
        }),
    };
    inputs.iter().map(outcome).collect()
}

pub(crate) fn thread_count(asked: Option<usize>) -> PyResult<usize> {
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
