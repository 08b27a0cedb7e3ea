"""The plugin, in tests of its own."""

import os
import subprocess
import sys

import pytest

TESTS = '''
import itertools, pytest, tools, user, warnings

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

def test_nothing_ran(recorded_tools):
    recorded_tools.assert_clean()

def test_nothing_may_run(recorded_tools):
    recorded_tools.assert_clean(allow_empty=True)
    recorded_tools.assert_not_called()

def test_called(recorded_tools):
    read = recorded_tools.wrap(lambda path: {"text": path}, name="read")
    read("a"); recorded_tools.wrap(lambda: 1, name="now")()
    recorded_tools.assert_called("read")
    recorded_tools.assert_called("read", {"path": "a"}, times=1)
    recorded_tools.assert_not_called("delete", "write")
    recorded_tools.assert_order("read", "now")
    recorded_tools.assert_order("read", "now", exactly=True)
    for wrong in (
        lambda: recorded_tools.assert_called("read", {"path": "b"}),
        lambda: recorded_tools.assert_called("read", times=2),
        lambda: recorded_tools.assert_called("delete"),
        lambda: recorded_tools.assert_not_called("now"),
        lambda: recorded_tools.assert_order("now", "read"),
        lambda: recorded_tools.assert_order("read", exactly=True),
    ):
        with pytest.raises(pytest.fail.Exception, match="recorded tool calls"):
            wrong()

def test_bound_elsewhere(recorded_tools):
    with pytest.warns(UserWarning, match="user:now is tools:now too"):
        recorded_tools.patch("tools:now")
    recorded_tools.wrap(lambda: 1, name="read")()
    user.ask()
    recorded_tools.assert_clean()

def test_bound_elsewhere_and_named(recorded_tools):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recorded_tools.patch("tools:now")
    recorded_tools.patch("user:now")
    user.ask()
    recorded_tools.assert_clean()
    recorded_tools.assert_called("now", times=1)

def test_held_by_a_list(recorded_tools):
    with pytest.warns(UserWarning, match="user:TOOLS holds tools:late"):
        recorded_tools.patch("tools:late")
    user.TOOLS[0]()
    recorded_tools.assert_clean(allow_empty=True)

def test_other_failure(recorded_tools):
    recorded_tools.wrap(lambda secret: "was here", name="read")("a")
    assert 1 == 2

def test_strings_are_no_lists(recorded_tools):
    with pytest.raises(TypeError, match="mutators must be a list"):
        recorded_tools.assert_clean(mutators="read")

def test_nothing_could_be_compared(recorded_tools):
    recorded_tools.wrap(lambda: object(), name="read")()
    with pytest.raises(pytest.fail.Exception, match="inconclusive: no call could be compared"):
        recorded_tools.assert_clean()
    recorded_tools.assert_clean(scope=SCOPE)

def test_put_back():
    assert not hasattr(tools.Clock.now, "__wrapped__") and tools.Clock.ticks == 2
'''
TOOLS = '''
class Clock:
    ticks = 0
    def now(self):
        Clock.ticks += 1
        return {"zone": "UTC", "tick": Clock.ticks, "bell": "\\x1b[31m"}

def now():
    return "10:00"

def late():
    return "11:00"
'''
USER = "from tools import late, now\n\nTOOLS = [late]\n\ndef ask():\n    return now()\n"


def test_the_fixture(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "user.py").write_text(USER)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no", "."]
    ran = subprocess.run(call, cwd=tmp_path, env={**environment, "PYTHONPATH": "."}, capture_output=True, text=True)
    assert "8 failed, 7 passed" in ran.stdout, ran.stdout
    assert "toolreplay: clean, permissions not judged, in 1 test (no scope was given)" in ran.stdout, ran.stdout
    assert "permission-overreach: tool 'delete' is not in the declared scope for agent 'reader'" in ran.stdout
    assert "1 recorded tool call(s); not judged: " in ran.stdout and "1 call whose result the recorder cut" in ran.stdout
    assert "redundant-call: tool 'read' repeats the identical call at index 0" in ran.stdout
    assert 'call 1: "read" {"path": "a"}' in ran.stdout
    assert '  -  "tick": 1,' in ran.stdout and "response of call 2" in ran.stdout
    assert "no tool call was recorded; allow_empty=True if that is meant" in ran.stdout
    assert ran.stdout.count("calls can go unseen:") >= 2 and "user:now is tools:now too" in ran.stdout
    assert '- recorded tool calls -' in ran.stdout and 'call 0: "read" {"secret": ' in ran.stdout
    assert "\x1b" not in ran.stdout


def test_the_configuration(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\ntoolreplay_scope = scope.json\ntoolreplay_mutators = touch\n")
    (tmp_path / "scope.json").write_text('{"agent": "reader", "allowed_tools": ["read", "touch"]}')
    (tmp_path / "test_it.py").write_text(
        "def test_outside(recorded_tools):\n"
        "    recorded_tools.wrap(lambda: 1, name='delete')()\n"
        "    recorded_tools.assert_clean()\n"
        "def test_changed_state(recorded_tools):\n"
        "    read, touch = (recorded_tools.wrap(lambda: 1, name=name) for name in ('read', 'touch'))\n"
        "    read(); touch(); read()\n"
        "    recorded_tools.assert_clean()\n"
    )
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--color=no"]
    ran = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "1 failed, 1 passed" in ran.stdout and "for agent 'reader'" in ran.stdout, ran.stdout
    (tmp_path / "pytest.ini").write_text("[pytest]\ntoolreplay_fail_on = grave\n")
    ran = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 4 and "toolreplay_fail_on is note, warning or error, found 'grave'" in ran.stderr


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
