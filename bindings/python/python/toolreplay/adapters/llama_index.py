"""Records what agents of LlamaIndex run.

    record(recorder)
"""

from __future__ import annotations

import inspect
from typing import Any

from ..tracing import ExecutionRecorder
from ._spans import Spans, missing, quiet, quietly

try:
    from llama_index.core.instrumentation import root_dispatcher
    from llama_index.core.instrumentation.span_handlers import BaseSpanHandler
    from llama_index.core.llms import LLM
    from llama_index.core.tools import BaseTool, FunctionTool
except ImportError as error:
    raise ImportError("toolreplay.adapters.llama_index needs LlamaIndex: pip install llama-index-core") from error
try:
    # how a step of a workflow says that it waits for a person, and will begin anew
    from workflows.runtime.types.results import WaitingForEvent
except ImportError:

    class WaitingForEvent(Exception):  # type: ignore[no-redef]
        """No exception of this version."""


__all__ = ["RecordingSpanHandler", "record"]

_RUN = ("__call__", "call", "acall")
_ASK = ("chat", "achat", "complete", "acomplete", "stream_chat", "astream_chat", "stream_complete", "astream_complete")


def record(recorder: ExecutionRecorder) -> RecordingSpanHandler:
    """Records from here on what LlamaIndex runs in this process; `close()` of what it returns ends that."""
    handler = RecordingSpanHandler(recorder)
    root_dispatcher.add_span_handler(handler)
    return handler


class RecordingSpanHandler(BaseSpanHandler[Any]):
    """A span handler that records tools and model requests, for LlamaIndex's root dispatcher.

    It changes nothing of what they do: what could not be recorded is counted in the recorder's summary. A tool's input
    is its arguments, without the workflow's context, and its output what its function returned. A call whose arguments
    the function does not take reached no tool. A tool that waits for a person counts as cancelled.
    """

    def __init__(self, recorder: ExecutionRecorder) -> None:
        super().__init__()
        self._recording = Spans(recorder)
        # which tool or model a span is of
        self._instances: dict[str, Any] = {}

    @classmethod
    def class_name(cls) -> str:
        return "RecordingSpanHandler"

    @property
    def _spans(self) -> Spans:
        return self._recording

    def close(self) -> None:
        """Nothing more is recorded."""
        root_dispatcher.span_handlers = [one for one in root_dispatcher.span_handlers if one is not self]

    def new_span(
        self, id_: str, bound_args: Any, instance: Any = None, parent_span_id: str | None = None, **more: Any
    ) -> None:
        self._begin(id_, bound_args, instance, parent_span_id)

    def prepare_to_exit_span(self, id_: str, bound_args: Any, instance: Any = None, result: Any = None, **more: Any) -> None:
        self._end(id_, instance, result)

    def prepare_to_drop_span(self, id_: str, bound_args: Any, instance: Any = None, err: Any = None, **more: Any) -> None:
        self._end(id_, instance, None, err)

    @quiet
    def _begin(self, key: str, bound: Any, instance: Any, around: str | None) -> None:
        if not self._spans.claim(key):
            return
        parent = self._spans.parent(around)
        method = key.rpartition("-")[0]
        for _ in range(4):
            # an id ends in a UUID of five parts
            method = method.rpartition("-")[0]
        method = method.rpartition(".")[2]
        if around is not None and self._instances.get(around) is instance and instance is not None:
            # one method of a tool or a model calls another one
            self._instances[key] = instance
        elif isinstance(instance, BaseTool) and method in _RUN and not _is_adapter(instance):
            arguments = _arguments(instance, bound)
            self._instances[key] = instance
            if arguments is not None:
                name = instance.metadata.name
                self._spans.begin(key, parent, "tool", name, arguments).enter()
                return
        elif isinstance(instance, LLM) and method in _ASK:
            self._instances[key] = instance
            self._spans.begin(key, parent, "model", instance.metadata.model_name, _asked(bound))
            return
        self._spans.pass_over(key, parent)

    @quiet
    def _end(self, key: str, instance: Any, result: Any, error: Any = None) -> None:
        if not self._spans.release(key):
            return
        self._instances.pop(key, None)
        known = self._spans.get(key)
        output = None
        if error is not None and isinstance(error, WaitingForEvent):
            self._spans.cancel(key)
            return
        if error is None and known is not None and known.kind == "tool":
            if getattr(result, "is_error", False):
                error = getattr(result, "exception", None) or "ToolError"
            output = getattr(result, "raw_output", result)
        elif error is None and known is not None and known.kind == "model":
            message = getattr(result, "message", None)
            told = quietly(self._spans.recorder, lambda: message.model_dump(mode="json")) if message is not None else None
            output = told or getattr(result, "text", None) or missing("stream")
        self._spans.end(key, output, error)


def _is_adapter(tool: Any) -> bool:
    """Whether it only hands a call on to a tool that is none of async."""
    return type(tool).__name__ == "BaseToolAsyncAdapter"


def _arguments(tool: Any, bound: Any) -> dict[str, Any] | None:
    """The arguments of a call by their names; None: the tool's function does not take them."""
    given = dict(bound.arguments)
    if not isinstance(tool, FunctionTool):
        given.update(given.pop("kwargs", None) or {})
        return given
    args, kwargs = given.get("args", ()), given.get("kwargs", {})
    filled = {**getattr(tool, "_field_defaults", {}), **tool.partial_params, **kwargs}
    try:
        named = inspect.signature(tool.real_fn).bind(*args, **filled)
    except TypeError:
        return None
    except ValueError:
        # some functions in C have no signature
        return {**{str(place): value for place, value in enumerate(args)}, **kwargs}
    shown = dict(named.arguments)
    for parameter in named.signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            shown.update(shown.pop(parameter.name, {}))
    shown.pop(tool.ctx_param_name, None)
    return shown


def _asked(bound: Any) -> Any:
    messages = bound.arguments.get("messages")
    if messages is None:
        return {"prompt": bound.arguments.get("prompt")}
    return {"messages": [one.model_dump(mode="json") for one in messages]}
