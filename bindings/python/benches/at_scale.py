"""What many transcripts cost as a PySpark job, that of docs/python.md in local mode, beside the command, in one run.

    pip install pyspark 'pandas<3' pyarrow
    python benches/at_scale.py [--transcripts 10000] [--bytes 2000] [--rounds 5]

It needs Java 17. The command reads the transcripts as files of a folder, Spark as a Parquet table of eight files with
the same content. Each round runs all in turn; the last columns are the medians of the rounds' ratios to the command.
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python.md"
WORDS = "let fn return self config error path value index parse write read buffer token state result option".split()
SCOPE = {"agent": "docs-reader", "allowed_tools": ["read_file", "list_dir", "search"]}


def transcript(dice, size):
    """About so many bytes of calls; some are repeated, some of these answer otherwise, some are out of scope."""
    lines, written, calls = [], 0, []
    while written < size:
        if calls and dice.random() < 0.1:
            tool, args = dice.choice(calls)
        else:
            tool = "write_file" if dice.random() < 0.02 else dice.choice(SCOPE["allowed_tools"])
            args = {"path": f"src/{dice.randrange(10**6)}.rs", "limit": dice.randrange(1000)}
            calls.append((tool, args))
        text = " ".join(dice.choices(WORDS, k=dice.randrange(5, 100)))
        lines.append(json.dumps({"index": len(lines), "tool": tool, "args": args, "response": {"text": text}}))
        written += len(lines[-1]) + 1
    return "\n".join(lines).encode() + b"\n"


def make(folder, transcripts, size):
    """Writes the files, the table and the scope; returns their bytes."""
    import pyarrow
    import pyarrow.parquet

    dice, total = random.Random(1), 0
    (folder / "runs").mkdir()
    (folder / "table").mkdir()
    (folder / "scope.json").write_text(json.dumps(SCOPE))
    for part in range(8):
        names, contents = [], []
        for n in range(part, transcripts, 8):
            names.append(f"{n:06}.jsonl")
            contents.append(transcript(dice, size))
            (folder / "runs" / names[-1]).write_bytes(contents[-1])
            total += len(contents[-1])
        table = pyarrow.table({"name": names, "content": pyarrow.array(contents, pyarrow.binary())})
        pyarrow.parquet.write_table(table, folder / "table" / f"{part}.parquet")
    return total


def session():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    spark = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", 500).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def job(spark):
    """Audits the table in the working directory, one row a transcript, into a Parquet table."""
    space = {"__name__": "manual"}
    for text in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        if "def audit_batch(" in text or "def audit_in_spark(" in text:
            exec(compile(text, str(PAGE), "exec"), space)
    audited = space["audit_in_spark"](spark.read.parquet(f"{os.getcwd()}/table"))
    audited.write.mode("overwrite").parquet(f"{os.getcwd()}/audited")


def command():
    with open("report.json", "wb") as out:
        call = ["toolreplay", "audit", "--no-config", "--scope", "scope.json", "--format", "json", "runs"]
        subprocess.run(call, stdout=out, check=False)


def timed(function):
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=int, default=10_000)
    parser.add_argument("--bytes", type=int, default=2_000, help="of one transcript, about")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--job", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job:
        return job(session())

    start = pathlib.Path.cwd()
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        os.chdir(folder)
        total = make(folder, asked.transcripts, asked.bytes)
        spark = session()
        whole = [sys.executable, __file__, "--job"]
        ways = {
            "toolreplay audit": command,
            "PySpark, the session running": lambda: job(spark),
            "PySpark, with its start": lambda: subprocess.run(whole, check=True, stderr=subprocess.DEVNULL),
        }
        times = {name: [] for name in ways}
        for round in range(asked.rounds + 1):
            for name, way in ways.items():
                took = timed(way)
                if round:  # the first warms up
                    times[name].append(took)
        findings = spark.read.parquet(f"{folder}/audited").selectExpr("inline(findings)").count()
        reported = len(json.loads(pathlib.Path("report.json").read_text())["findings"])
        assert findings == reported, (findings, reported)
        spark.stop()
    finally:
        os.chdir(start)
        shutil.rmtree(folder)
    print(f"{asked.transcripts} transcripts, {total / 1e6:.0f} MB, {findings} findings, {asked.rounds} rounds")
    print("| way | seconds | × its time | its throughput |\n| --- | ---: | ---: | ---: |")
    base = times["toolreplay audit"]
    for name, taken in times.items():
        ratio = statistics.median(one / other for one, other in zip(taken, base))
        print(f"| {name} | {statistics.median(taken):.2f} | {ratio:.1f} | {1 / ratio:.3f} |")


if __name__ == "__main__":
    main()
