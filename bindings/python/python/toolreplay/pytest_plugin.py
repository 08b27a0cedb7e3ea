"""A pytest fixture that records a test's tool calls, and asserts what they were."""

from __future__ import annotations

import difflib
import json
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

from . import Finding, Report, audit
from .tracing import ExecutionRecorder

F = TypeVar("F", bound=Callable[..., Any])
_MISSING: Any = object()
_LEVELS = ("note", "warning", "error")
# what is noted of a test that passed, and said once at the end
_PROPERTY = "toolreplay"
# calls that are shown where a test fails for another reason
_SHOWN = 40


class UnseenCallsWarning(UserWarning):
    """A function that is recorded under one name can be called by another one, and then is not seen."""


class RecordedTools:
    """What the fixture `recorded_tools` gives to a test."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        config: pytest.Config | None = None,
        properties: list[tuple[str, object]] | None = None,
    ) -> None:
        self.recorder = ExecutionRecorder()
        self._properties = [] if properties is None else properties
        self._monkeypatch = monkeypatch
        self._config = config
        self._bindings: list[Any] = []

    def wrap(self, function: F, name: str | None = None) -> F:
        """A tool that records its calls and does what it did."""
        return self.recorder.wrap(function, "tool", name)

    def patch(self, target: str, name: str | None = None) -> None:
        """Records the calls of `package.module:function` or `package.module:Class.method` until the test ends.

        Where other modules hold the function under names of their own there is a warning, and `assert_clean` fails,
        unless these names are patched as well.
        """
        from .run import resolve, wrapped

        binding = resolve(target, "tool")
        called = binding if name is None else binding._replace(attribute=name)
        self._monkeypatch.setattr(binding.owner, binding.attribute, wrapped(self.recorder, called))
        self._bindings.append(binding)
        for remark in self._unseen([binding]):
            warnings.warn(remark, UnseenCallsWarning, stacklevel=2)

    def _unseen(self, bindings: list[Any]) -> list[str]:
        """Names by which patched functions can still be called unseen."""
        from .run import other_names

        return other_names(bindings)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls, dicts with index, tool, args and response; what was not recorded is marked."""
        return [_plain(json.loads(line)) for line in self.recorder.transcript().splitlines()]

    def report(
        self, scope: Any = None, mutators: Iterable[str] = (), fail_on: str | None = None, allow_empty: bool = True
    ) -> Report:
        """What `toolreplay.audit` says of the calls. What is not given is taken from pytest's configuration:
        `toolreplay_scope`, `toolreplay_mutators`, `toolreplay_fail_on`.
        """
        settings = self._settings
        if scope is None and settings("toolreplay_scope"):
            scope = self._config.rootpath / settings("toolreplay_scope")  # type: ignore[union-attr]
        if isinstance(mutators, (str, bytes)):
            raise TypeError(f"mutators must be a list of names, found one {type(mutators).__name__}")
        mutators = [*mutators] or list(settings("toolreplay_mutators") or ())
        fail_on = fail_on or settings("toolreplay_fail_on") or "warning"
        recording = ("recorded calls", self.recorder.capture())
        return audit(recording, scope, mutators, fail_on=fail_on, allow_empty=allow_empty)  # type: ignore[arg-type]

    def _settings(self, name: str) -> Any:
        return self._config.getini(name) if self._config is not None else None

    def assert_clean(
        self,
        scope: Any = None,
        mutators: Iterable[str] = (),
        fail_on: str | None = None,
        *,
        allow_empty: bool = False,
    ) -> None:
        """Fails the test if the calls have findings, and shows the calls that they are about. It fails, too, if there is
        no call, unless that is allowed, and if a function that is patched can be called by a name that is not.

        Calls that were not recorded whole cannot be compared, but are held against the scope as well. Where there is no
        scope and no call is whole, nothing was judged, and the test fails.
        """
        __tracebackhide__ = True
        report = self.report(scope, mutators, fail_on)
        calls = self.calls
        unseen = self._unseen(self._bindings)
        if unseen:
            pytest.fail("calls can go unseen:\n" + "\n".join(f"  {remark}" for remark in unseen), pytrace=False)
        if not calls and not allow_empty:
            pytest.fail("no tool call was recorded; allow_empty=True if that is meant", pytrace=False)
        if report.verdict == "clean":
            if report.verdict_detail != "clean" and calls and not any(map(_is_whole, calls)):
                why = "; ".join(report.coverage.not_judged)
                pytest.fail(f"inconclusive: no call could be compared, and no scope was given: {why}", pytrace=False)
            said = (_PROPERTY, report.verdict_detail)
            if calls and report.verdict_detail != "clean" and said not in self._properties:
                self._properties.append(said)
            return
        findings = list(report.findings)
        head = f"{len(findings)} finding(s) in {len(calls)} recorded tool call(s)"
        if not findings:
            head = f"the verdict on {len(calls)} recorded tool call(s) is {report.verdict_detail}"
        if report.coverage.not_judged:
            head += "; not judged: " + "; ".join(report.coverage.not_judged)
        parts = [*(_shown(finding, calls) for finding in findings), *(f"error: {error}" for error in report.errors)]
        pytest.fail("\n\n".join([head, *parts]), pytrace=False)

    def assert_called(self, tool: str, args: Any = _MISSING, *, times: int | None = None) -> None:
        """Fails the test unless the tool was called: with these arguments, and so many times, where that is said."""
        __tracebackhide__ = True
        calls = self.calls
        found = [call for call in calls if call["tool"] == tool and (args is _MISSING or call["args"] == args)]
        if (times is None and found) or (times is not None and len(found) == times):
            return
        with_args = "" if args is _MISSING else f" with {_short(args)}"
        wanted = "at least once" if times is None else f"{times} time(s)"
        pytest.fail(f"{tool!r} was called {len(found)} time(s){with_args}, expected {wanted}\n{_listed(calls)}", pytrace=False)

    def assert_not_called(self, *tools: str) -> None:
        """Fails the test if one of the tools was called, without a name if any was."""
        __tracebackhide__ = True
        calls = self.calls
        found = [call for call in calls if not tools or call["tool"] in tools]
        if found:
            names = ", ".join(sorted({repr(call["tool"]) for call in found}))
            pytest.fail(f"{names} was called, expected no call\n{_listed(calls)}", pytrace=False)

    def assert_order(self, *tools: str, exactly: bool = False) -> None:
        """Fails the test unless the tools were called in this order; others may come between, unless `exactly`."""
        __tracebackhide__ = True
        calls = self.calls
        names = [call["tool"] for call in calls]
        left = iter(names)
        if (names == list(tools)) if exactly else all(tool in left for tool in tools):
            return
        how = "exactly this order" if exactly else "this order"
        pytest.fail(f"expected calls in {how}: {', '.join(tools)}\n{_listed(calls)}", pytrace=False)


def _plain(call: dict[str, Any]) -> dict[str, Any]:
    """A call without the mark of where it comes from, which is the same for all."""
    response = call["response"]
    mark = response.get("$import") if isinstance(response, dict) else None
    if isinstance(mark, dict):
        mark.pop("format", None)
        if not mark or (mark == {"failed": True} and "error_type" in response):
            del response["$import"]
    return call


def _is_whole(call: dict[str, Any]) -> bool:
    """Whether nothing of a call was left out."""
    left_out = "capture_omitted" in json.dumps(call)
    return not left_out and not (isinstance(call["response"], dict) and "$import" in call["response"])


def _listed(calls: list[dict[str, Any]]) -> str:
    """The calls, a line each."""
    lines = [f"  call {call['index']}: {_short(call['tool'])} {_short(call['args'])} -> {_short(call['response'])}" for call in calls]
    if len(lines) > _SHOWN:
        lines[_SHOWN // 2 : -_SHOWN // 2] = [f"  … {len(lines) - _SHOWN} more"]
    return "\n".join(["recorded tool calls:", *lines]) if lines else "no tool call was recorded"


def _shown(finding: Finding, calls: list[dict[str, Any]]) -> str:
    """A finding with its call, and the difference to the earlier one."""
    lines = [f"{finding.level}: {finding.rule}: {finding.message}"]
    if finding.index is None or finding.index >= len(calls):
        return lines[0]
    call = calls[finding.index]
    lines.append(f"  call {finding.index}: {_short(call['tool'])} {_short(call['args'])}")
    if finding.related_index is None or finding.related_index >= len(calls):
        return "\n".join(lines)
    before, after = (
        json.dumps(calls[place]["response"], indent=2, sort_keys=True).splitlines()
        for place in (finding.related_index, finding.index)
    )
    if before == after:
        lines.append(f"  -> {_short(call['response'])}, as call {finding.related_index}")
    else:
        names = (f"response of call {finding.related_index}", f"response of call {finding.index}")
        lines += [f"  {line}" for line in difflib.unified_diff(before, after, *names, lineterm="")][:60]
    return "\n".join(lines)


def _short(value: Any) -> str:
    # as JSON with escapes: a tool's text must not drive the terminal
    text = json.dumps(value, sort_keys=True)
    return text if len(text) <= 300 else text[:300] + "…"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("toolreplay_scope", "scope file that recorded_tools holds calls against, from the root folder")
    parser.addini("toolreplay_mutators", "tools that change state, beside the built-in ones", type="args", default=[])
    parser.addini("toolreplay_fail_on", "the lowest level that fails assert_clean: note, warning or error")


def pytest_configure(config: pytest.Config) -> None:
    level = config.getini("toolreplay_fail_on")
    if level and level not in _LEVELS:
        raise pytest.UsageError(f"toolreplay_fail_on is note, warning or error, found {level!r}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Shows the recorded calls of a test that fails for another reason."""
    outcome = yield
    report = outcome.get_result()
    tools = getattr(item, "funcargs", {}).get("recorded_tools")
    failed_here = call.excinfo is not None and isinstance(call.excinfo.value, pytest.fail.Exception)
    if report.when == "call" and report.failed and isinstance(tools, RecordedTools) and not failed_here:
        report.sections.append(("recorded tool calls", _listed(tools.calls)))


@pytest.fixture
def recorded_tools(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> RecordedTools:
    """Records the calls of the tools that are given to `wrap` or `patch`."""
    return RecordedTools(monkeypatch, request.config, request.node.user_properties)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says in how many tests calls were clean as far as they were judged."""
    passed = terminalreporter.getreports("passed")
    found = [
        value for report in passed if report.when == "call" for name, value in report.user_properties if name == _PROPERTY
    ]
    for verdict in sorted({str(value) for value in found}):
        count = sum(value == verdict for value in found)
        terminalreporter.write_line(f"toolreplay: {verdict}, in {count} test{'s' if count > 1 else ''} (no scope was given)")
