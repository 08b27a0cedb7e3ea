"""Records what LangChain and LangGraph run.

    handler = RecordingHandler(recorder)
    agent.invoke({"messages": [...]}, {"callbacks": [handler]})
"""

from __future__ import annotations

import contextvars
import functools
import json
from collections.abc import Callable
from typing import Any

from ..tracing import ExecutionRecorder
from ._spans import Spans, quiet

try:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.messages import BaseMessage, ToolMessage
    from langchain_core.tools import BaseTool
except ImportError as error:
    raise ImportError("toolreplay.adapters.langchain needs LangChain: pip install langchain-core") from error

__all__ = ["RecordingHandler"]

# what is to happen when the arguments of the tool that starts here are found valid
_waiting: contextvars.ContextVar[tuple[Callable[[], None], ...]] = contextvars.ContextVar("toolreplay_waiting", default=())


def _watch() -> bool:
    """LangChain says that a tool starts before it looks at the arguments. From here on it is known when they were found
    valid and the tool runs; False: this version of LangChain does not let itself be watched.
    """
    validate = getattr(BaseTool, "_to_args_and_kwargs", None)
    if validate is None:
        return False

    @functools.wraps(validate)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = validate(self, *args, **kwargs)
        waiting = _waiting.get()
        _waiting.set(())
        for begin in waiting:
            begin()
        return made

    BaseTool._to_args_and_kwargs = watched
    return True


_WATCHED = _watch()


class RecordingHandler(BaseCallbackHandler):
    """A callback handler that records tools, models, the nodes of graphs (`loop`), and what is around them (`agent`).

    One handler takes any number of runs, one after the other or at once, in tasks and threads. It raises nothing into
    LangChain: what could not be recorded is counted in the recorder's summary.

    A tool is recorded when its arguments were found valid: a call with others reached no tool. Its input is its arguments
    as an object, its output the content of its `ToolMessage`, or what it returned where there is none. A tool whose exception LangChain turned into a message has the error type `ToolError`; one that was
    interrupted for a human counts as cancelled.
    """

    # called in the order of events, and in the thread where they happen
    run_inline = True

    def __init__(self, recorder: ExecutionRecorder) -> None:
        super().__init__()
        self._spans = Spans(recorder)
        self._starting: dict[Any, Callable[[], None]] = {}

    @quiet
    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, parent_run_id: Any = None, **more: Any) -> None:
        if not self._spans.claim(run_id):
            return
        around = self._spans.get(parent_run_id)
        node = any(tag.startswith("graph:step:") for tag in more.get("tags") or ())
        if around is None or around.kind == "tool":
            self._spans.begin(run_id, self._spans.parent(parent_run_id), "agent", _name(serialized, more), _plain(inputs))
        elif node:
            self._spans.begin(run_id, self._spans.parent(parent_run_id), "loop", _name(serialized, more), None)
        else:
            self._spans.pass_over(run_id, self._spans.parent(parent_run_id))

    @quiet
    def on_chain_end(self, outputs: Any, *, run_id: Any, **more: Any) -> None:
        known = self._spans.get(run_id) if self._spans.release(run_id) else None
        self._spans.end(run_id, _plain(outputs) if known is not None and known.kind == "agent" else None)

    @quiet
    def on_chain_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
        self._end_with_error(run_id, error)

    @quiet
    def on_chat_model_start(
        self, serialized: Any, messages: Any, *, run_id: Any, parent_run_id: Any = None, **more: Any
    ) -> None:
        self._begin_model(serialized, {"messages": _plain(messages[0] if messages else [])}, run_id, parent_run_id, more)

    @quiet
    def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: Any, parent_run_id: Any = None, **more: Any) -> None:
        self._begin_model(serialized, {"prompts": prompts}, run_id, parent_run_id, more)

    def _begin_model(self, serialized: Any, data: Any, run_id: Any, parent_run_id: Any, more: dict[str, Any]) -> None:
        if not self._spans.claim(run_id):
            return
        given = more.get("invocation_params") or {}
        name = given.get("model") or given.get("model_name") or (more.get("metadata") or {}).get("ls_model_name")
        self._spans.begin(run_id, self._spans.parent(parent_run_id), "model", name or _name(serialized, more), data)

    @quiet
    def on_llm_end(self, response: Any, *, run_id: Any, **more: Any) -> None:
        if not self._spans.release(run_id):
            return
        made = response.generations[0][0] if response.generations and response.generations[0] else None
        message = getattr(made, "message", None)
        self._spans.end(run_id, getattr(made, "text", None) if message is None else _plain(message))

    @quiet
    def on_llm_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
        self._end_with_error(run_id, error)

    @quiet
    def on_tool_start(
        self,
        serialized: Any,
        input_str: str,
        *,
        run_id: Any,
        parent_run_id: Any = None,
        inputs: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        if not self._spans.claim(run_id):
            return
        given = _arguments(input_str, inputs)

        def begin() -> None:
            if self._starting.pop(run_id, None) is not None:
                self._begin_tool(run_id, parent_run_id, _name(serialized, more), given)

        self._starting[run_id] = begin
        if _WATCHED:
            _waiting.set((*_waiting.get(), begin))
        else:
            begin()

    @quiet
    def _begin_tool(self, run_id: Any, parent_run_id: Any, name: Any, given: Any) -> None:
        self._spans.begin(run_id, self._spans.parent(parent_run_id), "tool", name, given)

    @quiet
    def on_tool_end(self, output: Any, *, run_id: Any, **more: Any) -> None:
        failed = isinstance(output, ToolMessage) and output.status == "error"
        if not self._reached(run_id):
            return
        if failed:
            self._spans.end(run_id, error="ToolError")
        else:
            self._spans.end(run_id, output.content if isinstance(output, ToolMessage) else output)

    def _reached(self, run_id: Any) -> bool:
        """Whether a tool that ends was recorded: where its arguments were not found valid it did not run."""
        begin = self._starting.pop(run_id, None)
        if begin is not None:
            _waiting.set(tuple(one for one in _waiting.get() if one is not begin))
        return self._spans.release(run_id) and begin is None

    @quiet
    def on_tool_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
        if self._reached(run_id):
            self._end_with_error(run_id, error, claimed=False)

    @quiet
    def on_retriever_start(
        self, serialized: Any, query: str, *, run_id: Any, parent_run_id: Any = None, **more: Any
    ) -> None:
        if self._spans.claim(run_id):
            self._spans.pass_over(run_id, self._spans.parent(parent_run_id))

    @quiet
    def on_retriever_end(self, documents: Any, *, run_id: Any, **more: Any) -> None:
        if self._spans.release(run_id):
            self._spans.end(run_id)

    @quiet
    def on_retriever_error(self, error: BaseException, *, run_id: Any, **more: Any) -> None:
        if self._spans.release(run_id):
            self._spans.end(run_id)

    def _end_with_error(self, run_id: Any, error: BaseException, claimed: bool = True) -> None:
        if claimed and not self._spans.release(run_id):
            return
        # LangGraph interrupts a run by an exception; without LangGraph there is no such class
        if any(of.__name__ == "GraphBubbleUp" for of in type(error).__mro__):
            self._spans.cancel(run_id)
        else:
            self._spans.end(run_id, error=error)


def _name(serialized: Any, more: dict[str, Any]) -> Any:
    if more.get("name"):
        return more["name"]
    serialized = serialized or {}
    return serialized.get("name") or (serialized.get("id") or [None])[-1]


def _arguments(text: Any, inputs: dict[str, Any] | None) -> Any:
    """The arguments as an object; a tool of one text has the text alone."""
    if inputs is not None:
        return _plain(inputs)
    try:
        decoded = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        decoded = None
    return decoded if isinstance(decoded, dict) else {"input": text}


def _plain(value: Any, levels: int = 4) -> Any:
    """Messages by role, content and calls: their ids and counts differ from run to run."""
    if isinstance(value, BaseMessage):
        fields = {"role": value.type, "content": value.content}
        calls = getattr(value, "tool_calls", None)
        if calls:
            fields["tool_calls"] = [{"name": one["name"], "args": one["args"], "id": one["id"]} for one in calls]
        if isinstance(value, ToolMessage):
            fields["tool_call_id"] = value.tool_call_id
        return fields
    if levels and type(value) is dict:
        return {key: _plain(one, levels - 1) for key, one in value.items()}
    if levels and type(value) in (list, tuple):
        return [_plain(one, levels - 1) for one in value]
    return value
