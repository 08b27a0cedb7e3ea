"""Report.findings_table(): the findings as columns, through Arrow's PyCapsule interface."""

import gc
import json
import pathlib

import duckdb
import polars
import pyarrow as pa
import pytest

import toolreplay
from threads import others_run_on

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCHEMA = pa.schema(
    [
        pa.field("rule", pa.string(), nullable=False),
        pa.field("level", pa.string(), nullable=False),
        pa.field("file", pa.string(), nullable=False),
        pa.field("line", pa.int64()),
        pa.field("column", pa.int64()),
        pa.field("index", pa.int64()),
        pa.field("tool", pa.string()),
        pa.field("message", pa.string(), nullable=False),
        pa.field("related_index", pa.int64()),
        pa.field("related_line", pa.int64()),
        pa.field("related_file", pa.string()),
        pa.field("fingerprint", pa.string(), nullable=False),
    ]
)


def repeats(calls):
    """A transcript with a finding for every call but the first."""
    lines = (json.dumps({"index": n, "tool": "get", "args": {}, "response": {}}) for n in range(calls))
    return "\n".join(lines).encode() + b"\n"


def mixed():
    samples = ROOT / "samples"
    malformed = b'{"index": 0, "tool": 3, "args": {}, "response": {}}\n'
    sessions = samples / "session-dirty.jsonl", samples / "session-clean.jsonl"
    given = [*sessions, ("b\u00e4d \U0001f4c4", malformed), "missing"]
    return toolreplay.audit(given, scope=samples / "scope.json")


def test_the_rows_are_the_findings():
    report = mixed()
    table = pa.table(report.findings_table())
    assert table.schema.equals(SCHEMA)
    rows = [{name: getattr(finding, name) for name in SCHEMA.names} for finding in report.findings]
    assert table.to_pylist() == rows
    assert len(rows) == 5 and {row["line"] for row in rows} > {None} and {row["file"] for row in rows} > {"missing"}


def test_no_findings():
    table = toolreplay.audit(ROOT / "samples" / "session-clean.jsonl").findings_table()
    assert pa.table(table).schema.equals(SCHEMA) and pa.table(table).num_rows == 0
    assert repr(table) == "<FindingsTable: 0 rows>" and isinstance(table, toolreplay.FindingsTable)


def test_it_is_read_more_than_once_and_outlives_its_report():
    report = mixed()
    table = report.findings_table()
    first, again = pa.table(table), pa.table(table)
    assert first.equals(again) and first.equals(pa.table(report.findings_table()))
    del report, table
    gc.collect()
    assert first.num_rows == 5 and first.equals(again)


def test_the_schema_is_one_whatever_is_requested():
    table = mixed().findings_table()
    assert pa.schema(table).equals(SCHEMA)
    wish = pa.schema([pa.field("rule", pa.large_string())]).__arrow_c_schema__()
    for capsule in (table.__arrow_c_stream__(), table.__arrow_c_stream__(None), table.__arrow_c_stream__(wish)):
        assert pa.RecordBatchReader._import_from_c_capsule(capsule).schema.equals(SCHEMA)


def outside(count):
    """A report with a finding a call."""
    lines = (json.dumps({"index": n, "tool": "t", "args": {"n": n}, "response": {}}) + "\n" for n in range(count))
    return toolreplay.check_scope("".join(lines).encode(), {"agent": "a", "allowed_tools": []})


def test_many_rows_come_in_batches():
    report = outside(150_000)
    reader = pa.RecordBatchReader.from_stream(report.findings_table())
    batches = [batch.num_rows for batch in reader]
    assert sum(batches) == 150_000 and max(batches) <= 65_536
    index = pa.table(report.findings_table())["index"]
    assert index.to_pylist() == list(range(150_000))


def test_other_engines_read_it():
    findings = mixed().findings_table()
    expected = pa.table(findings).to_pylist()
    assert polars.DataFrame(findings).to_dicts() == expected
    assert duckdb.sql("SELECT * FROM findings").fetchall() == [tuple(row.values()) for row in expected]
    assert pa.table(findings).to_pandas()["rule"].tolist() == [row["rule"] for row in expected]
    none = toolreplay.audit(b"").findings_table()
    assert polars.DataFrame(none).shape == (0, 12) and duckdb.sql("SELECT * FROM none").fetchall() == []


def resident():
    """Bytes of memory of this process."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.skipif(not pathlib.Path("/proc/self/statm").exists(), reason="only Linux tells the memory this way")
def test_its_memory_is_given_back():
    report = outside(20_000)
    size = pa.table(report.findings_table()).nbytes

    def once():
        table = report.findings_table()
        assert pa.table(table).num_rows == 20_000
        # capsules that nobody reads, or reads halfway
        table.__arrow_c_stream__(), table.__arrow_c_schema__()
        next(iter(pa.RecordBatchReader.from_stream(table)))

    for _ in range(10):
        once()
    before = resident()
    for _ in range(60):
        once()
    gc.collect()
    assert size > 3_000_000 and resident() - before < 15 * size


def test_python_runs_on_while_it_is_built():
    report = toolreplay.audit(repeats(100_001))
    assert others_run_on(report.findings_table)
