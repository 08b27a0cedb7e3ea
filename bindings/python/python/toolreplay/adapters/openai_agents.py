"""Records what the OpenAI Agents SDK runs.

    agents.add_trace_processor(RecordingProcessor(recorder))
    await agents.Runner.run(agent, "…")
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from ..tracing import ExecutionRecorder, _leave, _open
from ._spans import Spans, quiet

try:
    from agents.tracing import TracingProcessor
except ImportError as error:
    raise ImportError("toolreplay.adapters.openai_agents needs the OpenAI Agents SDK: pip install openai-agents") from error

__all__ = ["RecordingProcessor"]

_KINDS = {"agent": "agent", "turn": "loop", "handoff": "loop", "generation": "model", "response": "model", "function": "tool"}


class RecordingProcessor(TracingProcessor):
    """A processor of traces that records tools, models, turns and handoffs (`loop`), and agents.

    Install it with `agents.add_trace_processor`, or instead of the SDK's own export with `set_trace_processors`. It
    takes every run of the process, also agents that are used as tools, those at once told apart. It raises nothing into
    the SDK: what could not be recorded is counted in the recorder's summary.

    It sees what the SDK traces: with tracing disabled nothing, without `trace_include_sensitive_data` no arguments and
    outputs, of models those whose class traces. A tool's input is its decoded arguments. An exception that the SDK
    turned into an answer for the model has the error type `ToolError`: its own type is not told. A call that waits for
    approval or was rejected is not recorded, unless the function that decides it awaits something; then it looks like
    one that ran.
    """

    def __init__(self, recorder: ExecutionRecorder) -> None:
        self._spans = Spans(recorder)
        self._late: dict[str, _Late] = {}

    def on_trace_start(self, trace: Any) -> None:
        """Traces group spans; nothing is recorded of them."""

    def on_trace_end(self, trace: Any) -> None:
        """Traces group spans; nothing is recorded of them."""

    @quiet
    def on_span_start(self, span: Any) -> None:
        key, parent, data = span.span_id, span.parent_id, span.span_data
        if data.type not in _KINDS:
            self._spans.pass_over(key, self._around(parent))
            return
        late = _Late(self, span, self._around(parent))
        self._late[key] = late
        late.begun = _open.set(late)
        if data.type in ("agent", "turn") or getattr(data, "input", None) is not None:
            late.begin()
        elif data.type != "handoff":
            # the SDK fills in the input next, and runs nothing before the loop had its turn
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                return
            late.runs_later = loop.get_task_factory() is None
            loop.call_soon(self._begin, late)

    @quiet
    def on_span_end(self, span: Any) -> None:
        late = self._late.pop(span.span_id, None)
        if late is None:
            self._spans.end(span.span_id)
            return
        _leave(late.begun)
        error = sys.exception()
        if error is late.handled:
            error = None
        if not late.is_begun and late.runs_later and error is None and span.span_data.type == "function":
            late.over = True
            return
        late.begin()
        late.over = True
        if error is not None:
            # the SDK wraps what a tool raised
            cause = error.__cause__ if type(error).__name__ == "UserError" else None
            self._spans.end(span.span_id, error=cause or error)
        elif span.error is not None:
            if span.error.get("message") == "Tool execution cancelled":
                self._spans.cancel(span.span_id)
            else:
                self._spans.fail(span.span_id, f"{_KINDS[span.span_data.type].title()}Error")
        else:
            self._spans.end(span.span_id, late.output())

    def shutdown(self) -> None:
        """The recorder is finished by whoever made it."""

    def force_flush(self) -> None:
        """Nothing waits here."""

    @quiet
    def _begin(self, late: _Late) -> None:
        late.begin()

    def _around(self, parent: str | None) -> str | None:
        """The id of the span around what is inside `parent`, which is begun by now."""
        late = None if parent is None else self._late.get(parent)
        return self._spans.parent(parent) if late is None else late.span_id


class _Late:
    """A span that is begun when its input is known, or something happens inside it. It stands among the open spans."""

    def __init__(self, processor: RecordingProcessor, span: Any, parent: str | None) -> None:
        self.spans, self.recorder = processor._spans, processor._spans.recorder._native
        self.span, self.parent = span, parent
        self.outer = _open.get()
        self.begun: Any = None
        # an exception that was being handled when the span began says nothing about it
        self.handled = sys.exception()
        self.runs_later = self.is_begun = self.over = False
        self.had_input = False

    @property
    def span_id(self) -> str | None:
        self.begin()
        known = self.spans.get(self.span.span_id)
        return self.parent if known is None else known.span_id

    def begin(self) -> None:
        if self.is_begun or self.over:
            return
        self.is_begun = True
        data = self.span.span_data
        given = getattr(data, "input", None)
        self.had_input = given is not None
        if data.type == "function":
            self.spans.begin(self.span.span_id, self.parent, "tool", data.name, _arguments(given), given is None)
        elif data.type in ("generation", "response"):
            name = getattr(data, "model", None) or getattr(getattr(data, "response", None), "model", None)
            self.spans.begin(self.span.span_id, self.parent, "model", name, given)
        elif data.type == "turn":
            self.spans.begin(self.span.span_id, self.parent, "loop", "turn", {"turn": data.turn})
        elif data.type == "handoff":
            between = {"from_agent": data.from_agent, "to_agent": data.to_agent}
            self.spans.begin(self.span.span_id, self.parent, "loop", "handoff", between)
        else:
            self.spans.begin(self.span.span_id, self.parent, "agent", data.name, None)

    def output(self) -> Any:
        data = self.span.span_data
        if data.type == "response":
            made = getattr(data.response, "output", None)
        else:
            made = getattr(data, "output", None)
        if _KINDS[data.type] == "model" and not self.had_input:
            return {"input": getattr(data, "input", None), "output": made}
        return made


def _arguments(text: Any) -> Any:
    """The decoded arguments."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return text
