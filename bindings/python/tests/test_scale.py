"""Ten thousand transcripts in Spark and in Ray, by the functions of docs/python.md: what one process finds, no less."""

import collections
import json
import pathlib
import shutil
import sys

import pyarrow as pa
import pyarrow.parquet
import pytest
from test_docs import defined, has_ray, has_spark

import toolreplay

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCOPE = ROOT / "samples" / "scope.json"
TRANSCRIPTS = 10_000


def calls(*calls):
    lines = (
        json.dumps({"index": n, "tool": tool, "args": args, "response": response}) + "\n"
        for n, (tool, args, response) in enumerate(calls)
    )
    return "".join(lines).encode()


def content(n):
    """The n-th transcript: ten kinds in turn, no two the same; None: the table has a null."""
    search, read = ("search", {"query": n}, {"hits": 1}), ("read_file", {"path": f"{n}.md"}, {"text": "…"})
    kinds = [
        lambda: calls(search, read),
        lambda: calls(read, search, read, read),
        lambda: calls(search, read, ("search", {"query": n}, {"hits": 2})),
        lambda: calls(("delete_file", {"path": str(n)}, {}), read),
        lambda: calls(read) + b'{"index": 1, "tool": 3, "args": {}, "response": {}}\n',
        lambda: b"",
        lambda: None,
        lambda: toolreplay.seal(calls(search, read)),
        lambda: toolreplay.seal(calls(search, read)).replace(b"read_file", b"search"),
        lambda: b"\xff\xfe no transcript %d" % n,
    ]
    return kinds[n % len(kinds)]()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The folder of a Parquet table with the columns name and content, in four files, and its rows."""
    rows = [{"name": f"runs/{n:05}.jsonl", "content": content(n)} for n in range(TRANSCRIPTS)]
    folder = tmp_path_factory.mktemp("transcripts")
    schema = pa.schema({"name": pa.string(), "content": pa.binary()})
    for part in range(4):
        of_part = pa.Table.from_pylist(rows[part::4], schema=schema)
        pa.parquet.write_table(of_part, folder / f"{part}.parquet")
    return folder, rows


@pytest.fixture(scope="module")
def alone(table):
    """The report of one call in this process about all of them."""
    return toolreplay.audit([(row["name"], row["content"] or b"") for row in table[1]], scope=SCOPE)


@pytest.fixture
def scope_here(tmp_path, monkeypatch):
    """The page reads its scope from the working directory."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(SCOPE, "scope.json")



def check(audited, findings, table, alone):
    """Holds rows, as dicts, against the report about all of them."""
    assert sorted(row["name"] for row in audited) == [row["name"] for row in table[1]]
    verdicts = collections.Counter(row["verdict"] for row in audited)
    kind = TRANSCRIPTS // 10
    assert verdicts == {"clean": 2 * kind, "findings": 4 * kind, "failed": 4 * kind}
    assert verdicts["failed"] == len(alone.errors) + 2 * kind
    failed = {row["name"]: row["errors"] for row in audited if row["errors"] is not None and len(row["errors"])}
    empty = {row["name"]: ["the row has no content"] for row in table[1] if not row["content"]}
    assert failed == {**empty, **{error.file: [str(error)] for error in alone.errors}}
    assert sum(row["calls"] for row in audited) == alone.coverage.calls
    expected = pa.table(alone.findings_table()).to_pylist()
    assert len(findings) == len(expected) and set(findings[0]) == set(expected[0])
    assert collections.Counter(map(key, findings)) == collections.Counter(map(key, expected))


def key(finding):
    return tuple(finding[name] for name in sorted(finding))


@pytest.mark.skipif(not has_spark(), reason="needs PySpark and Java 17")
def test_spark(table, alone, scope_here, monkeypatch):
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    spark = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", 500).getOrCreate()
    try:
        transcripts = spark.read.parquet(str(table[0]))
        audited = defined("audit_batch", "audit_in_spark")["audit_in_spark"](transcripts).persist()
        rows = [row.asDict() for row in audited.drop("findings").collect()]
        findings = [row.asDict() for row in audited.selectExpr("inline(findings)").collect()]
    finally:
        spark.stop()
    check(rows, findings, table, alone)


@pytest.mark.skipif(not has_spark(), reason="needs PySpark and Java 17")
def test_spark_loses_no_row(scope_here, monkeypatch, tmp_path):
    from pyspark.sql import SparkSession

    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate()
    try:
        rows = [("a", bytearray(content(0))), (None, bytearray(content(0))), ("c", bytearray()), ("d", None), (None, None)]
        transcripts = spark.createDataFrame(rows, "name string, content binary")
        audited = defined("audit_batch", "audit_in_spark")["audit_in_spark"](transcripts).collect()
    finally:
        spark.stop()
    found = [(row["name"], row["verdict"], row["errors"]) for row in audited]
    name, nothing = "the row has no name", "the row has no content"
    assert found == [
        ("a", "clean", []), (None, "failed", [name]), ("c", "failed", [nothing]), ("d", "failed", [nothing]),
        (None, "failed", [name, nothing]),
    ]


@pytest.mark.skipif(not has_ray(), reason="needs Ray")
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.*")
def test_ray(table, alone, scope_here):
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        page = defined("audit_batch", "audit_in_ray")
        audited = page["audit_in_ray"](ray.data.read_parquet(str(table[0]))).materialize()
        rows = audited.drop_columns(["findings"]).take_all()
        findings = audited.map_batches(page["findings_of"], batch_format="pyarrow")
        assert all(block.schema.equals(page["FINDINGS"]) for block in ray.get(findings.to_arrow_refs()))
        findings = findings.take_all()
    finally:
        ray.shutdown()
    check(rows, findings, table, alone)
