"""The auditing functions: what they find is what the command finds."""

import json
import pathlib
import shutil
import subprocess

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
    from_bytes = toolreplay.audit([(shown, DIRTY.read_bytes())], scope=json.loads(SCOPE.read_text()))
    assert from_file.to_json() == from_bytes.to_json()
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
    assert second.file == str(tmp_path / "missing.jsonl") and second.line is None
    with pytest.raises(toolreplay.TranscriptError, match="missing field"):
        report.raise_for_errors()
    toolreplay.audit(CLEAN).raise_for_errors()


def test_wrong_inputs(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        toolreplay.audit(tmp_path)
    for wrong in (3, None, [3], object()):
        with pytest.raises(TypeError):
            toolreplay.audit(wrong)
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
