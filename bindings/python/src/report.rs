//! What a run found out, as Python sees it.

use crate::errors::{self, TranscriptError};
use crate::input::{Source, io_error};
use crate::table::FindingsTable;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::{HashMap, HashSet};
use toolreplay::audit::{self as library, Command, Input, Plan, Verdict};
use toolreplay::formats::Options;
use toolreplay::report::{self, Format, PageOptions};
use toolreplay::session;

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
    pub(crate) report: library::Report,
    /// Whether calls were held against a scope.
    pub(crate) scope: bool,
    /// Files that could not be opened, by their name, and why.
    pub(crate) unopened: HashMap<String, i32>,
    /// What was read, where a page may show it.
    pub(crate) again: Option<Again>,
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
        let library::Coverage { files, calls, pairs, not_judged, .. } = self.report.coverage.clone();
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
        py.detach(|| match format {
            Format::Html => self.page(&mut out),
            _ => report::write(&self.report, format, &report::Style::default(), &mut out),
        })?;
        String::from_utf8(out).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The page, with the calls of what can be read once more.
    fn page(&self, out: &mut Vec<u8>) -> std::io::Result<()> {
        let mut shown = HashSet::new();
        let mut calls_of = |file: &library::FileReport| {
            let again = self.again.as_ref()?;
            let mut inputs = again.inputs.iter().enumerate();
            // names of bytes may be the same
            let (place, input) =
                inputs.find(|(place, input)| input.from_root == file.from_root && !shown.contains(place))?;
            shown.insert(place);
            let Plan::Audit(ruleset, options) = &again.plan else { return None };
            let options = Options { allow_loss: true, ..options.clone() };
            let session = match &input.path {
                Some(_) => session::read(input, &options, ruleset, 1),
                None => {
                    let before = again.inputs[..place].iter().filter(|input| input.path.is_none()).count();
                    let mut memory = again.sources.iter().filter(|source| matches!(source, Source::Memory(..)));
                    let content = memory.nth(before)?.content().ok()?;
                    session::read_source(input, content, &options, ruleset, 1)
                }
            };
            session.transpose()
        };
        report::write_page(&self.report, PageOptions::default(), &mut calls_of, out)
    }
}

/// What an audit read, for a page that shows its calls.
pub(crate) struct Again {
    pub(crate) sources: Vec<Source>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) plan: Plan,
}
