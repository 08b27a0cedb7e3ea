"""The page's own examples in a notebook: its loop runs already, and reports show themselves."""

import pathlib
import shutil

import pytest
from test_docs import ROOT, blocks

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")


def test_examples_run_in_a_notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("session-dirty.jsonl", "session-clean.jsonl", "scope.json"):
        shutil.copy(ROOT / "samples" / name, name)
    ours = [text for language, text in blocks() if language == "python"]
    needs_more = ("from agents", "langchain", "pydantic_ai", "duckdb", "pyspark", "import app", "pandas", "ray", "Spark", "asyncio.run")
    cells = [text for text in ours if not any(word in text for word in needs_more)]
    assert len(cells) >= 6
    waits = "import asyncio\nrecorder = ExecutionRecorder()\n@recorder.wrap\nasync def ask(x): return x\nassert await ask(1) == 1"
    cells += [waits, "toolreplay.audit('session-dirty.jsonl', scope='scope.json')"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = notebook.cells[-1].outputs[0]["data"]["text/html"]
    assert "redundant-call" in shown and "<code>{" in shown and pathlib.Path("run.jsonl").exists()
