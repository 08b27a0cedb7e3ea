//! Findings as an Arrow table, for engines that work on columns.

use crate::report::Finding;
use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::borrow::Cow;
use std::sync::Arc;
use toolreplay::audit::{Report, Reported};

/// Rows of a batch: enough that a batch costs nothing, few enough that engines can share them out.
const BATCH_ROWS: usize = 65_536;
/// Bytes of text of a batch. The offsets of utf8 end at 2 GiB.
const BATCH_TEXT: usize = 64 << 20;

/// The findings of a report as a table, for whatever speaks Arrow's PyCapsule interface.
///
/// It may be read as often as one likes, after the report is gone as well.
#[pyclass(frozen, module = "toolreplay")]
pub(crate) struct FindingsTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl FindingsTable {
    /// Of findings that stand outside a report.
    #[new]
    fn new(findings: Vec<Bound<'_, Finding>>) -> PyResult<FindingsTable> {
        FindingsTable::collect(findings.len(), findings.iter().map(|finding| Row::kept(finding.get())))
    }

    /// The schema: a capsule "arrow_schema".
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(broken)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows: a capsule "arrow_array_stream". They always have the one schema, whichever is requested.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        let rows: usize = self.batches.iter().map(RecordBatch::num_rows).sum();
        format!("<FindingsTable: {rows} rows>")
    }
}

impl FindingsTable {
    /// The findings of a report, in their order.
    pub(crate) fn of(report: &Report) -> PyResult<FindingsTable> {
        FindingsTable::collect(report.findings().count(), report.findings().map(|reported| Row::of(&reported)))
    }

    fn collect<'r>(mut rest: usize, rows: impl Iterator<Item = Row<'r>>) -> PyResult<FindingsTable> {
        let schema = Arc::new(schema());
        let (mut batches, mut columns) = (Vec::new(), Columns::with_room(rest));
        for row in rows {
            let text =
                [&*row.file, &row.message].into_iter().chain(row.tool.as_deref()).chain(row.related_file.as_deref());
            let text = text.map(str::len).sum::<usize>();
            if i32::try_from(text).is_err() {
                return Err(PyOverflowError::new_err("a finding has more than 2 GiB of text"));
            }
            if columns.rows > 0 && (columns.rows == BATCH_ROWS || columns.text + text > BATCH_TEXT) {
                rest -= columns.rows;
                let full = std::mem::replace(&mut columns, Columns::with_room(rest));
                batches.push(full.finish(&schema)?);
            }
            columns.push(&row);
            columns.text += text;
        }
        if columns.rows > 0 {
            batches.push(columns.finish(&schema)?);
        }
        Ok(FindingsTable { schema, batches })
    }
}

/// A finding on its way into the table.
struct Row<'r> {
    rule: &'r str,
    level: &'r str,
    file: Cow<'r, str>,
    line: Option<u64>,
    column: Option<u64>,
    index: Option<u64>,
    tool: Option<Cow<'r, str>>,
    message: Cow<'r, str>,
    related_index: Option<u64>,
    related_line: Option<u64>,
    related_file: Option<Cow<'r, str>>,
    fingerprint: Cow<'r, str>,
}

impl<'r> Row<'r> {
    fn of(reported: &Reported<'r>) -> Row<'r> {
        let finding = reported.finding;
        let known = |place: u64| (place > 0).then_some(place);
        Row {
            rule: finding.rule.id,
            level: finding.level.name(),
            file: reported.path().to_owned().into(),
            line: known(finding.line),
            column: known(finding.column),
            index: finding.index,
            tool: finding.tool.as_deref().map(|tool| tool.shown.to_string().into()),
            message: finding.message().into(),
            related_index: finding.related.map(|place| place.index),
            related_line: finding.related.map(|place| place.line),
            related_file: reported.related_path().map(|path| path.to_owned().into()),
            fingerprint: finding.fingerprint.to_string().into(),
        }
    }

    fn kept(finding: &'r Finding) -> Row<'r> {
        Row {
            rule: &finding.rule,
            level: &finding.level,
            file: finding.file.as_str().into(),
            line: finding.line,
            column: finding.column,
            index: finding.index,
            tool: finding.tool.as_deref().map(Cow::Borrowed),
            message: finding.message.as_str().into(),
            related_index: finding.related_index,
            related_line: finding.related_line,
            related_file: finding.related_file.as_deref().map(Cow::Borrowed),
            fingerprint: finding.fingerprint.as_str().into(),
        }
    }
}

/// The fields of a `Finding`, in their order.
fn schema() -> Schema {
    let text = |name, nullable| Field::new(name, DataType::Utf8, nullable);
    let number = |name| Field::new(name, DataType::Int64, true);
    Schema::new(vec![
        text("rule", false),
        text("level", false),
        text("file", false),
        number("line"),
        number("column"),
        number("index"),
        text("tool", true),
        text("message", false),
        number("related_index"),
        number("related_line"),
        text("related_file", true),
        text("fingerprint", false),
    ])
}

/// A batch in the making.
struct Columns {
    rows: usize,
    text: usize,
    rule: StringBuilder,
    level: StringBuilder,
    file: StringBuilder,
    line: Int64Builder,
    column: Int64Builder,
    index: Int64Builder,
    tool: StringBuilder,
    message: StringBuilder,
    related_index: Int64Builder,
    related_line: Int64Builder,
    related_file: StringBuilder,
    fingerprint: StringBuilder,
}

impl Columns {
    /// With room for so many rows, as far as one batch takes them.
    fn with_room(rows: usize) -> Columns {
        let rows = rows.min(BATCH_ROWS);
        let text = || StringBuilder::with_capacity(rows, 0);
        let number = || Int64Builder::with_capacity(rows);
        Columns {
            rows: 0,
            text: 0,
            rule: text(),
            level: text(),
            file: text(),
            line: number(),
            column: number(),
            index: number(),
            tool: text(),
            message: text(),
            related_index: number(),
            related_line: number(),
            related_file: text(),
            fingerprint: text(),
        }
    }

    fn push(&mut self, row: &Row<'_>) {
        let number = |number: Option<u64>| number.map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        self.rows += 1;
        self.rule.append_value(row.rule);
        self.level.append_value(row.level);
        self.file.append_value(&row.file);
        self.line.append_option(number(row.line));
        self.column.append_option(number(row.column));
        self.index.append_option(number(row.index));
        self.tool.append_option(row.tool.as_deref());
        self.message.append_value(&row.message);
        self.related_index.append_option(number(row.related_index));
        self.related_line.append_option(number(row.related_line));
        self.related_file.append_option(row.related_file.as_deref());
        self.fingerprint.append_value(&row.fingerprint);
    }

    fn finish(mut self, schema: &SchemaRef) -> PyResult<RecordBatch> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.rule.finish()),
            Arc::new(self.level.finish()),
            Arc::new(self.file.finish()),
            Arc::new(self.line.finish()),
            Arc::new(self.column.finish()),
            Arc::new(self.index.finish()),
            Arc::new(self.tool.finish()),
            Arc::new(self.message.finish()),
            Arc::new(self.related_index.finish()),
            Arc::new(self.related_line.finish()),
            Arc::new(self.related_file.finish()),
            Arc::new(self.fingerprint.finish()),
        ];
        RecordBatch::try_new(Arc::clone(schema), columns).map_err(broken)
    }
}

fn broken(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
