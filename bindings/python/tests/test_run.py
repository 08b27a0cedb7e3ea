"""`toolreplay trace run`, from the command line."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

APP = """
import asyncio, os, sys, time
from tools import search as found_search

class Store:
    def __init__(self):
        self.items = {}
    def put(self, key, value):
        self.items[key] = value
        return len(self.items)
    @staticmethod
    def size(items):
        return len(items)
    @classmethod
    def kind(cls, suffix):
        return cls.__name__ + suffix
    def each(self):
        yield 1

class Special(Store):
    pass

async def ask(prompt):
    await asyncio.sleep(0)
    return {"text": prompt.upper(), "password": "zq-from-the-model"}

def turn(store, n):
    return store.put(f"k{n}", n)

def agent(task, turns=2):
    print("working on", task)
    store = Special()
    for n in range(turns):
        turn(store, n)
    import tools
    tools.search(query=task)
    Store.size({}), Store.kind("!"), Special.kind("?")
    return asyncio.run(ask(task))

async def async_agent(task):
    return await ask(task)

def broken(task):
    turn(Store(), 1)
    raise LookupError("nothing for " + task)

def leaves(task, code=5):
    sys.exit(code)

def restored(task):
    return None

def sleeps(task):
    print("asleep", flush=True)
    time.sleep(60)

number = 3

def stream(task):
    yield task
"""
TOOLS = """
def search(query):
    return ["result for " + query]
"""


@pytest.fixture
def app(tmp_path):
    (tmp_path / "app.py").write_text(textwrap.dedent(APP))
    (tmp_path / "tools.py").write_text(textwrap.dedent(TOOLS))
    (tmp_path / "input.json").write_text('{"task": "close ticket"}')

    def start(*arguments, **options):
        binary = shutil.which("toolreplay")
        assert binary, "the wheel ships the command"
        call = [binary, "trace", "run", *arguments, "--input", "input.json", "--output", "run.jsonl", "--python", sys.executable]
        return subprocess.Popen(call, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def run(*arguments):
        process = start(*arguments)
        stdout, stderr = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    run.start, run.path = start, tmp_path
    run.recorded = lambda: [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    return run


def spans(lines):
    ends = {e["span_id"]: e for e in lines if e.get("phase") == "end"}
    names = {e["span_id"]: e["name"] for e in lines if "phase" in e}
    starts = [e for e in lines if e.get("phase") == "start"]
    return [
        (s["kind"], s["name"], names.get(s["parent_span_id"]), s["data"].get("input"), ends[s["span_id"]]["status"])
        for s in starts
    ]


def test_a_run_is_recorded(app):
    ran = app(
        "app:agent", "--model", "app:ask", "--loop", "app:turn", "--tool", "tools:search", "--tool", "app:Special.put",
        "--tool", "app:Store.size", "--tool", "app:Store.kind", "--redact-field", "text",
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "working on close ticket\n"
    assert "recorded in run.jsonl: 20 events, 0 dropped events, 0 capture errors" in ran.stderr
    assert "warning: app:found_search is tools:search too" in ran.stderr
    lines = app.recorded()
    omitted = {"capture_omitted": "type", "type": "Special"}
    assert spans(lines) == [
        ("agent", "agent", None, {"task": "close ticket"}, "ok"),
        ("loop", "turn", "agent", {"store": omitted, "n": 0}, "ok"),
        ("tool", "put", "turn", {"key": "k0", "value": 0}, "ok"),
        ("loop", "turn", "agent", {"store": omitted, "n": 1}, "ok"),
        ("tool", "put", "turn", {"key": "k1", "value": 1}, "ok"),
        ("tool", "search", "agent", {"query": "close ticket"}, "ok"),
        ("tool", "size", "agent", {"items": {}}, "ok"),
        ("tool", "kind", "agent", {"suffix": "!"}, "ok"),
        ("tool", "kind", "agent", {"suffix": "?"}, "ok"),
        ("model", "ask", "agent", {"prompt": "close ticket"}, "ok"),
    ]
    assert [e["data"] for e in lines if e.get("name") == "kind" and e["phase"] == "end"][1] == {"output": "Special?"}
    assert lines[-1]["record_type"] == "capture_summary"
    text = (app.path / "run.jsonl").read_text()
    assert "zq-from-the-model" not in text and "CLOSE TICKET" not in text
    assert (app.path / "run.jsonl").stat().st_mode & 0o777 == 0o600
    shown = subprocess.run([shutil.which("toolreplay"), "trace", "show", "run.jsonl"], cwd=app.path, capture_output=True)
    assert shown.returncode == 0


def test_async_entries(app):
    assert app("app:async_agent", "--model=app:ask").returncode == 0
    assert [(kind, name, parent) for kind, name, parent, _, _ in spans(app.recorded())] == [
        ("agent", "async_agent", None), ("model", "ask", "async_agent"),
    ]


def test_what_the_function_raises_is_raised(app):
    ran = app("app:broken", "--loop", "app:turn")
    assert ran.returncode == 1
    assert "LookupError: nothing for close ticket" in ran.stderr and "in broken" in ran.stderr
    lines = app.recorded()
    ends = [e for e in lines if e.get("phase") == "end"]
    assert [(e["name"], e["status"], e["data"]) for e in ends] == [
        ("turn", "ok", {"output": 1}), ("broken", "error", {"error_type": "LookupError"}),
    ]
    assert "nothing for" not in (app.path / "run.jsonl").read_text()
    assert lines[-1]["events"] == 4


def test_a_function_that_exits(app):
    assert app("app:leaves").returncode == 5
    assert app.recorded()[1]["data"] == {"error_type": "SystemExit"} and app.recorded()[-1]["events"] == 2


def test_interrupted(app):
    process = app.start("app:sleeps")
    assert process.stdout.readline() == "asleep\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == -signal.SIGINT
    process.communicate()
    lines = app.recorded()
    assert (lines[1]["status"], lines[2]["events"]) == ("cancelled", 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["app"], "is not of the form"),
        (["app:"], "is not of the form"),
        (["app:agent.x:y"], "is not of the form"),
        (["missing:agent"], "there is no module missing"),
        (["app.sub:agent"], "there is no module app.sub"),
        (["app:missing"], "there is no missing"),
        (["app:number"], "no function"),
        (["app:stream"], "generator"),
        (["app:restored", "--tool", "app:missing"], "there is no missing"),
        (["app:restored", "--tool", "app:Missing.x"], "there is no Missing"),
        (["app:restored", "--tool", "app:Store.missing"], "there is no missing"),
        (["app:restored", "--tool", "app:agent.x"], "agent is no class"),
        (["app:restored", "--tool", "app:number"], "only functions can be wrapped"),
        (["app:restored", "--tool", "app:Store"], "is a class"),
        (["app:restored", "--tool", "app:Store.each"], "generator"),
        (["app:restored", "--model", "app:stream"], "generator"),
        (["app:restored", "--tool", "app:turn", "--loop", "app:turn"], "is named twice"),
        (["app:turn"], "the input does not fit"),
    ],
)
def test_binding_mistakes_are_found_before_anything_runs(app, arguments, message):
    ran = app(*arguments)
    assert ran.returncode == 2 and ran.stdout == ""
    assert ran.stderr.startswith("error: ") and message in ran.stderr and len(ran.stderr.splitlines()) == 1
    assert not (app.path / "run.jsonl").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [("[1]", "must be a JSON object"), ("{", "is not JSON"), ('{"task": 1, "task": 2}', "a key twice"), (None, "cannot read")],
)
def test_inputs_that_are_none(app, text, message):
    path = app.path / "input.json"
    path.unlink() if text is None else path.write_text(text)
    ran = app("app:restored")
    assert ran.returncode == 2 and message in ran.stderr and not (app.path / "run.jsonl").exists()


def test_the_recording_is_never_overwritten(app):
    (app.path / "run.jsonl").write_text("kept")
    ran = app("app:agent")
    assert ran.returncode == 2 and "cannot create the recording" in ran.stderr and ran.stdout == ""
    assert (app.path / "run.jsonl").read_text() == "kept"


def test_bindings_are_restored(app, monkeypatch):
    from toolreplay.run import run

    monkeypatch.chdir(app.path)
    monkeypatch.syspath_prepend(app.path)
    import app as module

    before = dict(vars(module)), dict(vars(module.Store)), dict(vars(module.Special))
    targets = [("tool", "app:Special.put"), ("tool", "app:Store.kind"), ("loop", "app:turn"), ("tool", "app:Store.size")]
    with pytest.raises(LookupError):
        run("app:broken", "input.json", "one.jsonl", targets, [])
    result = run("app:agent", "input.json", "two.jsonl", targets, [])
    assert result["text"] == "CLOSE TICKET"
    assert before == (dict(vars(module)), dict(vars(module.Store)), dict(vars(module.Special)))
    for name in ("app", "tools"):
        sys.modules.pop(name, None)


def test_an_interpreter_without_the_module(app):
    # isolated from what is installed
    bare = app.path / "bare"
    bare.write_text(f"#!/bin/sh\nexec {sys.executable} -S \"$@\"\n")
    bare.chmod(0o755)
    call = [shutil.which("toolreplay"), "trace", "run", "app:agent", "--input", "input.json", "--output", "run.jsonl"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    ran = subprocess.run([*call, "--python", bare], cwd=app.path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 2 and "-m pip install toolreplay" in ran.stderr
