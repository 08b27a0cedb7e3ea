"""The auditing functions: what they find is what the command finds."""

import json
import pathlib
import shutil
import subprocess

import io
import os
import pickle
import sys
import pyarrow as pa
import pytest

import toolreplay
from threads import others_run_on

ROOT = pathlib.Path(__file__).resolve().parents[3]
DIRTY = ROOT / "samples" / "session-dirty.jsonl"
CLEAN = ROOT / "samples" / "session-clean.jsonl"
SCOPE = ROOT / "samples" / "scope.json"
HEAD = "75ccf1faad88c5ea82c68139b2ec2a02943142dd0133bb0c626ccbff28f5c711"


def command(*arguments):
    binary = shutil.which("toolreplay")
    assert binary, "the wheel ships the command"
    return subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, cwd=ROOT)


def record(index, tool="get", response=None):
    return json.dumps({"index": index, "tool": tool, "args": {}, "response": response or {}}) + "\n"


def test_findings_are_objects():
    report = toolreplay.audit(DIRTY, scope=SCOPE)
    found = [(f.rule, f.level, f.index, f.line, f.tool, f.related_index, f.related_line) for f in report.findings]
    assert found == [
        ("redundant-call", "warning", 2, 3, "read_file", 1, 2),
        ("permission-overreach", "error", 4, 5, "write_file", None, None),
        ("non-determinism", "note", 5, 6, "search", 3, 4),
    ]
    assert all(f.file == str(DIRTY) and len(f.fingerprint) == 32 for f in report.findings)
    assert (report.verdict, report.exit_code, report.clean, report.errors) == ("findings", 1, False, [])
    assert (report.coverage.files, report.coverage.calls, report.coverage.pairs_compared) == (1, 6, 2)


@pytest.mark.parametrize("format", ["json", "markdown", "junit", "gitlab", "outputs", "text"])
def test_reports_are_those_of_the_command(format):
    # paths as the command has them, from the root of the repository
    shown = DIRTY.relative_to(ROOT).as_posix()
    ran = command("audit", "--no-config", "--color", "never", shown, "--scope", SCOPE, "--format", format)
    in_memory = toolreplay.audit((shown, DIRTY.read_bytes()), scope=SCOPE)
    assert in_memory.render(format) == ran.stdout
    assert ran.returncode == in_memory.exit_code == 1


def test_files_and_bytes_give_the_same(monkeypatch):
    monkeypatch.chdir(ROOT)
    shown = "samples/session-dirty.jsonl"
    from_file = toolreplay.audit(shown, scope=SCOPE.read_bytes())
    from_bytes = toolreplay.audit([(shown, DIRTY.read_bytes())], scope=SCOPE.read_bytes())
    assert from_file.to_json() == from_bytes.to_json()
    # a scope that is no file has the digest of its own text
    from_dict = toolreplay.audit([(shown, DIRTY.read_bytes())], scope=json.loads(SCOPE.read_text()))
    assert list(from_dict.findings) == list(from_file.findings)
    ran = command("audit", "--no-config", shown, "--scope", SCOPE, "--format", "sarif")
    assert from_file.to_sarif() == ran.stdout
    assert from_file.to_markdown() == command("audit", "--no-config", shown, "--scope", SCOPE, "--format", "markdown").stdout


def test_many_transcripts_keep_their_order():
    names = [f"t{n}" for n in range(50)]
    transcripts = [(name, (record(0) + record(1)).encode()) for name in names]
    report = toolreplay.audit(transcripts + [DIRTY] + [b""])
    assert [f.file for f in report.findings[:50]] == names
    assert report.coverage.files == 52


def test_mutators_levels_and_threads():
    text = (record(0, "deploy") + record(1, "deploy")).encode()
    assert [(f.rule, f.level) for f in toolreplay.replay(text).findings] == [("redundant-call", "warning")]
    assert [f.level for f in toolreplay.replay(text, mutators=["deploy"]).findings] == ["note"]
    assert toolreplay.audit(text, mutators=("deploy",)).clean
    assert toolreplay.audit(text, fail_on="error").verdict == "clean"
    shown = toolreplay.audit(text, min_level="error", threads=2)
    assert shown.findings == [] and shown.exit_code == 1
    for wrong in ({"fail_on": "fatal"}, {"min_level": ""}, {"threads": 0}):
        with pytest.raises(ValueError):
            toolreplay.audit(text, **wrong)


def test_scope():
    report = toolreplay.check_scope(DIRTY, SCOPE)
    assert [(f.rule, f.index) for f in report.findings] == [("permission-overreach", 4)]
    assert toolreplay.check_scope(CLEAN, SCOPE).clean
    with pytest.raises(toolreplay.ScopeError) as caught:
        toolreplay.check_scope(CLEAN, b'{"agent": "a",\n "tools": []}')
    assert (caught.value.file, caught.value.line, caught.value.column) == ("<bytes 0>", 2, 2)
    with pytest.raises(FileNotFoundError) as missing:
        toolreplay.check_scope(CLEAN, "no-such-scope.json")
    assert missing.value.filename == "no-such-scope.json"


def test_nothing_to_audit():
    assert toolreplay.audit(b"").verdict == "inconclusive"
    assert toolreplay.audit([], allow_empty=True).verdict == "clean"


def test_what_cannot_be_read_is_reported(tmp_path):
    report = toolreplay.audit([b'{"index": 0}\n', tmp_path / "missing.jsonl", CLEAN])
    assert (report.verdict, report.exit_code) == ("failed", 2)
    assert [f.rule for f in report.findings] == ["malformed-transcript"] * 2
    first, second = report.errors
    assert (first.file, first.line, first.column) == ("<bytes 0>", 1, None)
    assert isinstance(second, FileNotFoundError) and second.filename == str(tmp_path / "missing.jsonl")
    with pytest.raises(FileNotFoundError):
        toolreplay.audit(CLEAN, scope=tmp_path / "missing.json")
    with pytest.raises(toolreplay.TranscriptError, match="missing field"):
        report.raise_for_errors()
    toolreplay.audit(CLEAN).raise_for_errors()


def test_wrong_inputs(tmp_path):
    for wrong in (3, None, [3], object(), {"a": object()}, [{"a": 1}, 3], (3, b"")):
        with pytest.raises(TypeError, match="expected|name of a pair"):
            toolreplay.audit(wrong)
    with pytest.raises(ValueError, match="a str is a path; give text as bytes"):
        toolreplay.audit('{"index": 0, "tool": "a", "args": {}, "response": {}}\n')
    with pytest.raises(FileNotFoundError, match="no file matches"):
        toolreplay.audit(str(tmp_path / "*.jsonl"))
    for mutators in ("x", b"x", [1]):
        with pytest.raises(TypeError, match="mutators must be a list of names"):
            toolreplay.audit(CLEAN, mutators=mutators)
    with pytest.raises(ValueError, match="no format is called \"ods\""):
        toolreplay.audit(CLEAN, format="ods")
    with pytest.raises(ValueError, match="no format"):
        toolreplay.audit(CLEAN).render("pdf")


def test_seal_and_verify(tmp_path):
    sealed = toolreplay.seal(DIRTY)
    assert sealed == toolreplay.seal(DIRTY.read_bytes()) == command("seal", DIRTY).stdout.encode()
    chain = toolreplay.verify(sealed, expect=HEAD)
    assert (chain.intact, chain.links, chain.head, chain.broken_index) == (True, 6, HEAD, None)
    kept = tmp_path / "kept.jsonl"
    kept.write_bytes(sealed.replace(b'"tool":"search"', b'"tool":"lookup"', 1))
    broken = toolreplay.verify(kept)
    assert (broken.intact, broken.broken_index, broken.line) == (False, 3, 4)
    assert broken.expected != broken.found
    cut = b"".join(sealed.splitlines(keepends=True)[:-1])
    assert toolreplay.verify(cut).intact and not toolreplay.verify(cut, expect=HEAD).intact
    with pytest.raises(ValueError):
        toolreplay.verify(sealed, expect="abc")


def test_errors_carry_their_place(tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(record(0) + '{"index": 1, "tool": 3, "args": {}, "response": {}}\n')
    for function in (toolreplay.seal, toolreplay.verify):
        with pytest.raises(toolreplay.TranscriptError) as caught:
            function(bad)
        assert caught.value.file == str(bad) and caught.value.line in (1, 2)
        assert isinstance(caught.value, (toolreplay.ToolreplayError, ValueError))
        with pytest.raises(FileNotFoundError):
            function(tmp_path / "missing")
    with pytest.raises(toolreplay.TranscriptError) as caught:
        toolreplay.seal(bad)
    assert (caught.value.line, caught.value.column) == (2, 22)


def test_python_runs_on_while_rust_works():
    text = "".join(record(n, f"tool{n}", {"text": "x" * 200}) for n in range(60_000)).encode()
    assert others_run_on(lambda: toolreplay.audit(text, threads=1))


def test_recordings_in_other_formats(tmp_path):
    from toolreplay.tracing import ExecutionRecorder

    path = tmp_path / "run.jsonl"
    with ExecutionRecorder(output=path) as recorder:
        search = recorder.wrap(lambda query: {"found": query}, name="search")
        search("a"), search(query="a")
        recorder.wrap(lambda: None, kind="model", name="model")()
    for recording in (path, path.read_bytes()):
        report = toolreplay.audit(recording, scope={"agent": "a", "allowed_tools": []})
        assert report.coverage.calls == 2 and not report.errors
        assert [f.index for f in report.findings if f.rule == "permission-overreach"] == [0, 1]
        transcript = toolreplay.import_recording(recording)
        assert [json.loads(line)["args"] for line in transcript.splitlines()] == [{"query": "a"}] * 2
        assert toolreplay.verify(toolreplay.seal(transcript)).links == 2
    assert toolreplay.import_recording(CLEAN) == CLEAN.read_bytes()
    for nothing in (b"no recording", b'{"a": 1}\n', path.read_bytes().splitlines(keepends=True)[-1]):
        with pytest.raises(toolreplay.TranscriptError):
            toolreplay.import_recording(nothing)
    with pytest.raises(FileNotFoundError):
        toolreplay.import_recording(tmp_path / "missing")


# ---- inputs of every kind ----

LINE = {"index": 0, "tool": "read", "args": {"path": "a"}, "response": {"x": 1}}
TWICE = [LINE, {**LINE, "index": 1}]
TEXT = "".join(json.dumps(one) + "\n" for one in TWICE)


def found(given, **more):
    report = toolreplay.audit(given, **more)
    return report.coverage.calls, [finding.rule for finding in report]


def test_inputs_are_told_apart_by_type(tmp_path, monkeypatch):
    folder = tmp_path / "runs" / "deep"
    folder.mkdir(parents=True)
    (folder / "one.jsonl").write_text(TEXT)
    (folder / "notes.txt").write_text("no recording")
    path = folder / "one.jsonl"
    monkeypatch.chdir(tmp_path)
    same = (2, ["redundant-call"])
    with path.open() as text, path.open("rb") as binary:
        opened = [text, binary, io.StringIO(TEXT), io.BytesIO(TEXT.encode())]
        for given in [
            path, str(path), os.fsencode(path) and tmp_path / "runs", "runs", "runs/**/*.jsonl", "runs/*", TEXT.encode(),
            bytearray(TEXT, "utf-8"), memoryview(TEXT.encode()), ("name", TEXT.encode()), TWICE, iter(TWICE), *opened,
        ]:
            assert found(given) == same, given
    assert found([path, TEXT.encode()]) == (4, ["redundant-call"] * 2)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert toolreplay.audit(empty).verdict == "inconclusive"


def test_traces_and_messages(recorded_tools):
    read = recorded_tools.wrap(lambda path: {"x": 1}, name="read")
    read("a"), read("a")
    recorder = recorded_tools.recorder
    snapshot = recorder.snapshot()
    same = (2, ["redundant-call"])
    for given in [recorder, snapshot, dict(snapshot), {"result": 1, "execution_trace": dict(snapshot)}, [snapshot], snapshot.events]:
        # events alone have no end
        assert found(given, allow_loss=True) == same, given
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    assert found(messages) == (1, []) and found({"messages": messages}) == (1, [])


def test_configurations_and_suppressions(tmp_path):
    config = tmp_path / "toolreplay.toml"
    (tmp_path / "scope.json").write_text(json.dumps({"agent": "a", "allowed_tools": ["read"]}))
    config.write_text('scope = "scope.json"\nmutators = ["touch"]\nfail-on = "error"\n')
    other = [*TWICE, {"index": 2, "tool": "touch", "args": {}, "response": {}}, {**LINE, "index": 3}]
    report = toolreplay.audit(other, config=config)
    assert [finding.rule for finding in report] == ["redundant-call", "permission-overreach"]
    assert report.verdict == "findings" and toolreplay.audit(TWICE, config=config).verdict == "clean"
    known = [{"rule": "redundant-call", "tool": "read", "reason": 'known "well"'}]
    report = toolreplay.audit(TWICE, suppressions=known)
    assert report.verdict == "clean" and report.to_dict()["summary"]["suppressed"] == 1
    expired = [{**known[0], "expires": "2020-01-01"}]
    assert toolreplay.audit(TWICE, suppressions=expired).verdict == "findings"
    with pytest.raises(ValueError, match="reason"):
        toolreplay.audit(TWICE, suppressions=[{"rule": "redundant-call"}])
    with pytest.raises(TypeError, match="a suppression is a dict"):
        toolreplay.audit(TWICE, suppressions=["redundant-call"])
    with pytest.raises(FileNotFoundError):
        toolreplay.audit(TWICE, config=tmp_path / "none.toml")


def test_what_a_configuration_says_of_tools_counts(tmp_path):
    config = tmp_path / "toolreplay.toml"
    config.write_text('[tools.read]\nvaries = true\nignore-args = ["/n"]\n[compare]\nignore-response = ["/seen"]\n')
    other = [{**LINE, "index": n, "args": {"path": "a", "n": n}, "response": {"x": 1, "seen": n}} for n in range(2)]
    assert found(other) == (2, []) and found(other, config=config) == (2, ["redundant-call"])
    changed = [LINE, {**LINE, "index": 1, "response": {"x": 2}}]
    assert "non-determinism" in found(changed)[1] and "non-determinism" not in found(changed, config=config)[1]


def test_a_baseline_is_known(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("run.jsonl").write_text(TEXT)
    written = command("audit", "--no-config", tmp_path / "run.jsonl", "--write-baseline", tmp_path / "base.json")
    assert written.returncode == 1, written.stderr
    run = tmp_path / "run.jsonl"
    report = toolreplay.audit(run, baseline="base.json")
    assert report.verdict == "clean" and report.to_dict()["summary"]["known"] == 1
    config = tmp_path / "toolreplay.toml"
    config.write_text('baseline = "base.json"\n')
    monkeypatch.chdir("/")
    assert toolreplay.audit(run, config=config).verdict == "clean" and toolreplay.audit(run).verdict == "findings"
    with pytest.raises(FileNotFoundError) as missing:
        toolreplay.audit(run, baseline=tmp_path / "none.json")
    assert missing.value.filename == str(tmp_path / "none.json")
    with pytest.raises(ValueError, match="run.jsonl: no baseline of toolreplay"):
        toolreplay.audit(run, baseline=run)


def test_a_configuration_lowers_limits(tmp_path):
    config = tmp_path / "toolreplay.toml"
    config.write_text('max-line = "64"\n')
    report = toolreplay.audit(TWICE, config=config)
    assert report.verdict == "failed" and "64 bytes" in str(report.errors[0]), report.errors
    for wrong in ("max-line = '9G'", "max-line = 'x'", "max-unpacked = '5G'"):
        config.write_text(wrong + "\n")
        with pytest.raises(ValueError, match="max-"):
            toolreplay.audit(TWICE, config=config)


def test_rules_can_be_chosen(tmp_path):
    assert found(TWICE, ignore=["redundant-call"]) == (2, []) == found(TWICE, select=["non-determinism"])
    config = tmp_path / "toolreplay.toml"
    config.write_text('ignore = ["redundant-call"]\n')
    assert found(TWICE, config=config) == (2, [])
    assert found(TWICE, config=config, ignore=["stuck-loop"]) == (2, ["redundant-call"])
    for wrong, what in [
        ({"select": ["no-such"]}, "no rule is called"), ({"select": ["permission-overreach"]}, "needs a scope"),
        ({"ignore": ["broken-link"]}, "cannot be turned off"),
    ]:
        with pytest.raises(ValueError, match=what):
            toolreplay.audit(TWICE, **wrong)
    with pytest.raises(TypeError, match="select must be a list of names"):
        toolreplay.audit(TWICE, select="redundant-call")


def test_nothing_judged_is_inconclusive():
    from toolreplay.tracing import ExecutionRecorder

    def recorded(given, answer, times=2):
        recorder = ExecutionRecorder()
        tool = recorder.wrap(lambda query: answer(), name="tool")
        for _ in range(times):
            tool(given)
        return recorder

    scope = {"agent": "a", "allowed_tools": ["tool"]}
    # the same again, and no answer is known that could be compared
    opaque = recorded("a", object)
    report = toolreplay.audit(opaque)
    assert (report.verdict, report.exit_code) == ("inconclusive", 2), report.coverage
    assert toolreplay.audit(opaque, scope=scope).verdict == "clean" == toolreplay.audit(opaque, allow_empty=True).verdict
    # no call was made again: there is nothing that could not be compared
    assert toolreplay.audit(recorded("a", object, times=1)).verdict == "clean"
    assert toolreplay.audit([recorded("a", object).capture(), CLEAN]).verdict == "clean"
    assert toolreplay.audit(recorded(object(), lambda: 1)).verdict == "inconclusive"


# ---- the report ----


def test_a_report_is_a_sequence():
    report = toolreplay.audit(DIRTY, scope=SCOPE)
    assert len(report) == 3 and [f.index for f in report] == [2, 4, 5] and report[0] == report.findings[0]
    assert report.findings is report.findings and report[-1].rule == "non-determinism" and len(report[:2]) == 2
    assert report == toolreplay.audit(DIRTY, scope=SCOPE) != toolreplay.audit(CLEAN)
    assert report.to_dict() == json.loads(report.to_json()) and report[0].to_dict()["rule"] == "redundant-call"
    assert [(file.name, file.calls, file.judged) for file in report.files] == [(str(DIRTY), 6, True)]
    assert bool(toolreplay.audit(CLEAN)) and not len(toolreplay.audit(CLEAN))
    assert len({report[0], toolreplay.audit(DIRTY, scope=SCOPE)[0]}) == 1


def test_a_report_can_be_pickled(tmp_path):
    for given in (DIRTY, [b'{"index": 0}\n', tmp_path / "missing.jsonl"]):
        report = toolreplay.audit(given, scope=SCOPE)
        again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(report))))
        assert again == report and list(again) == list(report) and again.coverage == report.coverage
        assert (again.verdict, again.exit_code, again.files, str(again)) == (
            report.verdict, report.exit_code, report.files, str(report),
        )
        assert [type(error) for error in again.errors] == [type(error) for error in report.errors]
        assert [str(error) for error in again.errors] == [str(error) for error in report.errors]
        assert again.to_sarif() == report.to_sarif() and repr(again) == repr(report)
        assert pa.table(again.findings_table()) == pa.table(report.findings_table())


def test_what_a_notebook_shows(tmp_path):
    hostile = json.dumps({**LINE, "tool": "<script>\u202e", "args": {"a": "x" * 900}}) + "\n"
    path = tmp_path / "run.jsonl"
    path.write_text(hostile)
    for given in (path, ("name", hostile.encode())):
        shown = toolreplay.audit(given, scope=SCOPE)._repr_html_()
        assert "<script>" not in shown and "\u202e" not in shown and "permission-overreach" in shown
        assert "<code>{" in shown and "…" in shown and "x" * 400 not in shown
    assert "permissions not judged" in toolreplay.audit(CLEAN)._repr_html_()


def test_the_verdict_says_what_it_does_not():
    report = toolreplay.audit(CLEAN)
    assert (report.verdict, report.verdict_detail) == ("clean", "clean, permissions not judged")
    assert toolreplay.audit(CLEAN, scope=SCOPE).verdict_detail == "clean"
    assert toolreplay.replay(CLEAN).verdict_detail == "clean"
    assert toolreplay.audit(DIRTY).verdict_detail == "findings"


def test_progress_and_logging(caplog):
    told = []
    with caplog.at_level("INFO", logger="toolreplay"):
        toolreplay.audit([("a", TEXT.encode()), ("b", TEXT.encode())], progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (2, 2) and "auditing 2 transcript(s)" in caplog.text


def test_ctrl_c_is_heard(tmp_path):
    path = tmp_path / "large.jsonl"
    with path.open("w") as file:
        for n in range(400_000):
            file.write(json.dumps({"index": n, "tool": "t", "args": {"n": n}, "response": {"text": "x" * 40}}) + "\n")
    script = (
        "import os, signal, sys, time, toolreplay\n"
        "sent = []\n"
        "def tell(done, total):\n"
        "    if not sent:\n"
        "        sent.append(time.monotonic())\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "try:\n"
        "    toolreplay.audit(sys.argv[1], threads=1, progress=tell)\n"
        "except KeyboardInterrupt:\n"
        "    print('heard')\n"
        "    print(time.monotonic() - sent[0], file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True)
    # it says how long it took, for who wants to measure: docs/performance.md has the number
    assert ran.stdout == "heard\n" and float(ran.stderr) >= 0, ran.stderr


def test_a_report_opens_as_a_page(monkeypatch, tmp_path):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = toolreplay.audit(DIRTY, scope=SCOPE).view()
    try:
        assert opened == [page.as_uri()] and page.suffix == ".html"
        text = page.read_text(encoding="utf-8")
        assert "Content-Security-Policy" in text and "permission-overreach" in text
    finally:
        page.unlink()
    # the calls are in it, of files and of bytes, and of two with one name
    bare = len(toolreplay.audit(b"").render("html"))
    noise = os.urandom(40_000).hex()
    line = json.dumps({**LINE, "response": {"text": noise}}) + "\n"
    run = tmp_path / "run.jsonl"
    run.write_text(line)
    for given, times in ((run, 1), (line.encode(), 1), ([("a", line.encode()), ("a", TEXT.encode())], 1)):
        assert len(toolreplay.audit(given).render("html")) > bare + times * 40_000, given
    # a pickled report has no calls, and says so
    with pytest.raises(ValueError, match="not kept"):
        pickle.loads(pickle.dumps(toolreplay.audit(run))).view()
