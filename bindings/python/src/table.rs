//! Findings as an Arrow table, for engines that work on columns.

use arrow_array::builder::{Int64Builder, StringBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::{PyOverflowError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
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
        let schema = Arc::new(schema());
        let mut rest = report.findings().count();
        let (mut batches, mut columns) = (Vec::new(), Columns::with_room(rest));
        for reported in report.findings() {
            let message = reported.finding.message();
            let text = reported.path().len() + message.len() + reported.finding.tool_text().len();
            let text = text + reported.related_path().map_or(0, str::len);
            if i32::try_from(text).is_err() {
                return Err(PyOverflowError::new_err("a finding has more than 2 GiB of text"));
            }
            if columns.rows > 0 && (columns.rows == BATCH_ROWS || columns.text + text > BATCH_TEXT) {
                rest -= columns.rows;
                let full = std::mem::replace(&mut columns, Columns::with_room(rest));
                batches.push(full.finish(&schema)?);
            }
            columns.push(&reported, &message);
            columns.text += text;
        }
        if columns.rows > 0 {
            batches.push(columns.finish(&schema)?);
        }
        Ok(FindingsTable { schema, batches })
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

    fn push(&mut self, reported: &Reported<'_>, message: &str) {
        let finding = reported.finding;
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let known = |place: u64| (place > 0).then(|| number(place));
        self.rows += 1;
        self.rule.append_value(finding.rule.id);
        self.level.append_value(finding.level.name());
        self.file.append_value(reported.path());
        self.line.append_option(known(finding.line));
        self.column.append_option(known(finding.column));
        self.index.append_option(finding.index.map(number));
        self.tool.append_option(finding.tool.as_deref().map(|tool| &*tool.shown));
        self.message.append_value(message);
        self.related_index.append_option(finding.related.map(|place| number(place.index)));
        self.related_line.append_option(finding.related.map(|place| number(place.line)));
        self.related_file.append_option(reported.related_path());
        self.fingerprint.append_value(finding.fingerprint.to_string());
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
