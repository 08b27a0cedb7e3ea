"""The plugin, in tests of its own."""

import os
import subprocess
import sys

import pytest

TESTS = '''
import itertools, tools

SCOPE = {"agent": "reader", "allowed_tools": ["read", "now"]}
counter = itertools.count()

def test_clean(recorded_tools):
    read = recorded_tools.wrap(lambda path: {"text": path}, name="read")
    read("a"); read("b")
    recorded_tools.assert_clean(scope=SCOPE)

def test_outside(recorded_tools):
    recorded_tools.wrap(lambda: None, name="delete")()
    recorded_tools.assert_clean(scope=SCOPE)

def test_outside_and_incomplete(recorded_tools):
    recorded_tools.wrap(lambda: object(), name="delete")()
    recorded_tools.assert_clean(scope=SCOPE)

def test_redundant(recorded_tools):
    read = recorded_tools.wrap(lambda path: {"text": path}, name="read")
    read("a"); read(path="a")
    recorded_tools.assert_clean()

def test_changed(recorded_tools):
    recorded_tools.patch("tools:Clock.now", name="now")
    clock = tools.Clock()
    clock.now(); recorded_tools.wrap(lambda: 1, name="read")(); clock.now()
    recorded_tools.assert_clean(scope=SCOPE, fail_on="note")

def test_put_back():
    assert not hasattr(tools.Clock.now, "__wrapped__") and tools.Clock.ticks == 2
'''
TOOLS = '''
class Clock:
    ticks = 0
    def now(self):
        Clock.ticks += 1
        return {"zone": "UTC", "tick": Clock.ticks, "bell": "\\x1b[31m"}
'''


def test_the_fixture(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "tools.py").write_text(TOOLS)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", "."]
    ran = subprocess.run(call, cwd=tmp_path, env={**environment, "PYTHONPATH": "."}, capture_output=True, text=True)
    assert "4 failed, 2 passed" in ran.stdout, ran.stdout
    assert "permission-overreach: tool 'delete' is not in the declared scope for agent 'reader'" in ran.stdout
    assert "1 recorded tool call(s); not judged: " in ran.stdout and "1 call whose result the recorder cut" in ran.stdout
    assert "redundant-call: tool 'read' repeats the identical call at index 0" in ran.stdout
    assert 'call 1: "read" {"path": "a"}' in ran.stdout
    assert '  -  "tick": 1,' in ran.stdout and "response of call 2" in ran.stdout
    assert "\x1b" not in ran.stdout


def test_the_transcript_of_a_recording(recorded_tools):
    import toolreplay

    read = recorded_tools.wrap(lambda path: [path], name="read")
    read("a")
    with pytest.raises(ZeroDivisionError):
        recorded_tools.wrap(lambda: 1 / 0, name="fail")()
    read(object())
    assert recorded_tools.calls[:2] == [
        {"index": 0, "tool": "read", "args": {"path": "a"}, "response": {"content": ["a"]}},
        {"index": 1, "tool": "fail", "args": {}, "response": {"error_type": "ZeroDivisionError"}},
    ]
    assert recorded_tools.calls[2]["args"] == {"path": {"capture_omitted": "type", "type": "object"}}
    coverage = recorded_tools.report().coverage
    assert coverage.calls == 3 and "1 call whose arguments were not recorded" in coverage.not_judged
    assert toolreplay.verify(toolreplay.seal(recorded_tools.recorder.transcript())).links == 3
    recorded_tools.assert_clean(scope={"agent": "a", "allowed_tools": ["read", "fail"]})
