"""A pytest fixture that records a test's tool calls, and asserts that they are clean and in scope."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

from . import Finding, Report, audit
from .tracing import ExecutionRecorder

F = TypeVar("F", bound=Callable[..., Any])


class RecordedTools:
    """What the fixture `recorded_tools` gives to a test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.recorder = ExecutionRecorder()
        self._monkeypatch = monkeypatch

    def wrap(self, function: F, name: str | None = None) -> F:
        """A tool that records its calls and does what it did."""
        return self.recorder.wrap(function, "tool", name)

    def patch(self, target: str, name: str | None = None) -> None:
        """Records the calls of `package.module:function` or `package.module:Class.method` until the test ends."""
        from .run import resolve, wrapped

        binding = resolve(target, "tool")
        called = binding if name is None else binding._replace(attribute=name)
        self._monkeypatch.setattr(binding.owner, binding.attribute, wrapped(self.recorder, called))

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls, dicts with index, tool, args and response; what was not recorded is marked."""
        return [json.loads(line) for line in self.recorder.transcript().splitlines()]

    def report(self, scope: Any = None, mutators: Iterable[str] = (), fail_on: str = "warning") -> Report:
        """What `toolreplay.audit` says of the calls."""
        recording = ("recorded calls", self.recorder.capture())
        return audit(recording, scope, list(mutators), fail_on=fail_on, allow_empty=True)

    def assert_clean(self, scope: Any = None, mutators: Iterable[str] = (), fail_on: str = "warning") -> None:
        """Fails the test if the calls have findings, and shows the calls that they are about.

        Calls that were not recorded whole cannot be compared, but are held against the scope as well.
        """
        __tracebackhide__ = True
        report = self.report(scope, mutators, fail_on)
        calls = self.calls
        parts = [] if report.clean else [_shown(finding, calls) for finding in report.findings]
        if parts:
            head = f"{len(parts)} finding(s) in {len(calls)} recorded tool call(s)"
            if report.coverage.not_judged:
                head += "; not judged: " + "; ".join(report.coverage.not_judged)
            pytest.fail("\n\n".join([head, *parts]), pytrace=False)


def _shown(finding: Finding, calls: list[dict[str, Any]]) -> str:
    """A finding with its call, and the difference to the earlier one."""
    lines = [f"{finding.level}: {finding.rule}: {finding.message}"]
    if finding.index is None:
        return lines[0]
    call = calls[finding.index]
    lines.append(f"  call {finding.index}: {_short(call['tool'])} {_short(call['args'])}")
    if finding.related_index is None:
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


@pytest.fixture
def recorded_tools(monkeypatch: pytest.MonkeyPatch) -> RecordedTools:
    """Records the calls of the tools that are given to `wrap` or `patch`."""
    return RecordedTools(monkeypatch)
