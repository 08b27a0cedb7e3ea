"""Records what the OpenAI Agents SDK runs.

    agents.add_trace_processor(RecordingProcessor(recorder))
    await agents.Runner.run(agent, "…")
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

from ..tracing import ExecutionRecorder
from ._spans import Spans, missing, quiet, quietly

try:
    from agents.exceptions import ModelBehaviorError
    from agents.tracing import TracingProcessor

    from . import _agents_watch
except ImportError as error:
    raise ImportError("toolreplay.adapters.openai_agents needs the OpenAI Agents SDK: pip install openai-agents") from error

__all__ = ["RecordingProcessor"]

_KINDS = {"agent": "agent", "turn": "loop", "handoff": "loop", "generation": "model", "response": "model", "function": "tool"}
# calls that OpenAI's servers made themselves: what a reply says of their arguments and of their results
_HOSTED: dict[str, tuple[str, tuple[str, ...], str | None]] = {
    "web_search_call": ("web_search", ("action",), None),
    "file_search_call": ("file_search", ("queries",), "results"),
    "code_interpreter_call": ("code_interpreter", ("code", "container_id"), "outputs"),
    "image_generation_call": ("image_generation", ("prompt", "action"), None),
    "mcp_call": ("mcp", ("arguments",), "output"),
}


class RecordingProcessor(TracingProcessor):
    """A processor of traces that records tools, models, turns and handoffs (`loop`), and agents.

    Install it with `agents.add_trace_processor`, or instead of the SDK's own export with `set_trace_processors`. It
    takes every run of the process, also agents that are used as tools, those at once told apart. It raises nothing into
    the SDK: what could not be recorded is counted in the recorder's summary.

    A tool is recorded when the SDK executes it: not a call that waits for approval, was refused, or whose arguments the
    function does not take. Tools that OpenAI's servers ran, such as web search and hosted MCP servers, are recorded from
    the reply that tells of them.

    It sees what the SDK traces: with tracing disabled nothing, without `trace_include_sensitive_data` no arguments,
    outputs and hosted tools, of models those whose class traces.
    """

    def __init__(self, recorder: ExecutionRecorder) -> None:
        self._spans = Spans(recorder)
        self._late: dict[str, _Late] = {}
        _agents_watch.listen(self)

    def on_trace_start(self, trace: Any) -> None:
        """Traces group spans; nothing is recorded of them."""

    def on_trace_end(self, trace: Any) -> None:
        """Traces group spans; nothing is recorded of them."""

    @quiet
    def on_span_start(self, span: Any) -> None:
        key, data = span.span_id, span.span_data
        if not self._spans.claim(key):
            return
        around = self._spans.parent(span.parent_id)
        if data.type not in _KINDS:
            self._spans.pass_over(key, around)
            return
        late = self._late[key] = _Late(span, around)
        if data.type == "agent":
            self._spans.begin(key, around, "agent", data.name, None).enter()
        elif data.type == "turn":
            self._spans.begin(key, around, "loop", "turn", {"turn": data.turn}).enter()
        else:
            # what is inside a tool that did not begin is inside what is around it
            self._spans.pass_over(key, around)
            if _KINDS[data.type] == "model":
                # the SDK fills in the input next, and asks the model when the loop had its turn
                with contextlib.suppress(RuntimeError):
                    asyncio.get_running_loop().call_soon(self._begin_model, late)

    @quiet
    def on_span_end(self, span: Any) -> None:
        key = span.span_id
        late = self._late.pop(key, None)
        if not self._spans.release(key) or late is None:
            self._spans.end(key)
            return
        try:
            self._end(late)
        finally:
            self._spans.cancel(key)

    def shutdown(self) -> None:
        """The recorder is finished by whoever made it."""

    def force_flush(self) -> None:
        """Nothing waits here."""

    def tool_runs(self, key: str) -> None:
        """The SDK executes the tool of this span."""
        late = self._late.get(key)
        if late is not None and late.span.span_data.type == "function":
            quietly(self._spans.recorder, lambda: self._begin(late))

    def tool_failed(self, key: str, error: BaseException | str | None) -> None:
        """The tool of this span failed, whatever the SDK makes of it for the model; with None it ran out of time,
        unless its error was told before.
        """
        late = self._late.get(key)
        if late is not None:
            late.error = late.error or error or "ToolTimeoutError"

    @contextlib.contextmanager
    def shell_runs(self, parent: str | None, call: Any) -> Iterator[Any]:
        """The local shell runs a command, of which there is no span."""
        claimed, asked = ("shell", id(call)), call.tool_call
        if not self._spans.claim(claimed):
            yield lambda output: None
            return
        around = self._spans.parent(parent)
        given = quietly(self._spans.recorder, lambda: _fields(asked.action))
        span = self._spans.recorder.begin("tool", "local_shell", given, parent=around).enter()
        try:
            yield span.end
        except BaseException as error:
            span.fail(error)
            raise
        finally:
            self._spans.release(claimed)

    @quiet
    def _begin_model(self, late: _Late) -> None:
        if not late.over:
            self._begin(late)

    def _begin(self, late: _Late) -> None:
        """Begins the span of a tool, a model or a handoff."""
        if late.is_begun:
            return
        late.is_begun = True
        data, key = late.span.span_data, late.span.span_id
        given = getattr(data, "input", None)
        if data.type == "function":
            arguments = missing("arguments") if given is None else _arguments(given)
            self._spans.begin(key, late.parent, "tool", data.name, arguments).enter()
        elif data.type == "handoff":
            between = {"from_agent": data.from_agent, "to_agent": data.to_agent}
            self._spans.begin(key, late.parent, "loop", "handoff", between)
        else:
            late.had_input = given is not None
            name = getattr(data, "model", None) or getattr(getattr(data, "response", None), "model", None)
            self._spans.begin(key, late.parent, "model", name, given)

    def _end(self, late: _Late) -> None:
        span, key, kind = late.span, late.span.span_id, _KINDS[late.span.span_data.type]
        error = sys.exc_info()[1]
        if error is late.handled:
            error = None
        if kind == "model":
            self._begin(late)
            self._hosted(late, span.span_data)
        elif span.span_data.type == "handoff":
            self._begin(late)
        elif kind == "tool" and not self._ran(late, error):
            return
        late.over = True
        if error is not None:
            # the SDK wraps what a tool raised
            cause = error.__cause__ if type(error).__name__ == "UserError" else None
            self._spans.end(key, error=cause or error)
        elif kind == "tool" and late.error is not None:
            self._spans.end(key, error=late.error)
        elif span.error is None:
            self._spans.end(key, late.output())
        elif span.error.get("message") != "Tool execution cancelled":
            self._spans.end(key, error=f"{kind.title()}Error")

    def _ran(self, late: _Late, error: BaseException | None) -> bool:
        """Whether a tool's function was reached."""
        told = late.error if isinstance(late.error, BaseException) else error
        if isinstance(told, ModelBehaviorError) and not late.is_begun:
            return False
        if late.is_begun or _agents_watch.WATCHED:
            return late.is_begun
        # a version of the SDK that does not let itself be watched: what it says of the call must do
        said = str(((late.span.error or {}).get("data") or {}).get("error"))
        if "rejected" in said:
            return False
        self._begin(late)
        # or else it ran and gave nothing, or waits for approval: it is cancelled
        return late.span.error is not None or error is not None or late.output() is not None

    def _hosted(self, late: _Late, data: Any) -> None:
        """Records the calls that the model's server made itself."""
        for item in _items(data):
            item = _fields(item)
            kind = item.get("type")
            if kind not in _HOSTED:
                continue
            name, inputs, output = _HOSTED[kind]
            given = {field: item[field] for field in inputs if item.get(field) is not None}
            if kind == "mcp_call":
                name, given = f"mcp__{item.get('server_label')}__{item.get('name')}", _arguments(item.get("arguments"))
            elif isinstance(given.get("action"), dict):
                given = {field: value for field, value in given["action"].items() if value is not None}
            known = self._spans.get(late.span.span_id)
            span = self._spans.recorder.begin("tool", name, given, parent=known.span_id if known else late.parent)
            if item.get("error") is not None or item.get("status") in ("failed", "incomplete"):
                span.fail("ToolError")
            else:
                result = item.get(output) if output else None
                span.end(missing("result") if result is None else result)


class _Late:
    """A span of the SDK, which may begin in the recording later, or never."""

    def __init__(self, span: Any, parent: str | None) -> None:
        self.span, self.parent = span, parent
        # an exception that was being handled when the span began says nothing about it
        self.handled = sys.exc_info()[1]
        self.error: BaseException | str | None = None
        self.is_begun = self.over = self.had_input = False

    def output(self) -> Any:
        data = self.span.span_data
        if data.type == "response":
            made = getattr(data.response, "output", None)
        else:
            made = getattr(data, "output", None)
        if _KINDS[data.type] == "model" and not self.had_input:
            return {"input": getattr(data, "input", None), "output": made}
        return made


def _items(data: Any) -> list[Any]:
    """The items of a model's reply."""
    made = getattr(data.response, "output", None) if data.type == "response" else getattr(data, "output", None)
    return list(made) if isinstance(made, (list, tuple)) else []


def _fields(item: Any) -> dict[str, Any]:
    """An item of the SDK as an object."""
    if isinstance(item, dict):
        return item
    dump = getattr(item, "model_dump", None)
    found = dump(exclude_none=True) if callable(dump) else None
    return found if isinstance(found, dict) else {}


def _arguments(text: Any) -> Any:
    """The decoded arguments."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return text


