"""Records the tools that crews, agents and flows of CrewAI run.

    with RecordingTools(recorder):
        crew.kickoff()
"""

from __future__ import annotations

import contextvars
import types
import weakref
from typing import Any

from ..tracing import ExecutionRecorder, OpenSpan
from ._announced import replace_method, with_subclasses

try:
    from crewai.hooks import register_before_tool_call_hook
    from crewai.tools import BaseTool
    from crewai.tools.base_tool import Tool
    from crewai.tools.tool_failure import ToolFailure
except ImportError as error:
    raise ImportError("toolreplay.adapters.crewai needs CrewAI: pip install crewai") from error

__all__ = ["RecordingTools"]

_listening: weakref.WeakSet[ExecutionRecorder] = weakref.WeakSet()
# the tools that run here, the innermost last: one method of a tool may call another
_running: contextvars.ContextVar[tuple[Any, ...]] = contextvars.ContextVar("toolreplay_crewai_tools", default=())


class RecordingTools:
    """Records every tool of CrewAI that runs in this process, from `start` to `stop`, or in a `with` block.

    A tool is recorded when it runs, each try by itself: with its arguments as its schema made them and what it returned.
    An answer from the cache, a call that a hook blocked or that was one too many, and one whose arguments the schema
    refused reached no tool. One that says of itself that it failed is an error.
    """

    def __init__(self, recorder: ExecutionRecorder) -> None:
        self._recorder = recorder

    def start(self) -> RecordingTools:
        _watch()
        _listening.add(self._recorder)
        return self

    def stop(self) -> None:
        """Ends it for the recorder, however many times it was started."""
        _listening.discard(self._recorder)

    def __enter__(self) -> RecordingTools:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


_hooked: list[Any] = []


def _watch() -> None:
    """Watches the classes of tools that there are, and before each call those that came since."""
    for owner in with_subclasses(BaseTool):
        replace_method(owner, "_run", _watching)
        replace_method(owner, "_arun", _watching_async)
    # this one calls its function by itself
    replace_method(Tool, "run", _watching_run)
    if not _hooked:
        _hooked.append(_before)
        register_before_tool_call_hook(_before)


def _before(context: Any) -> None:
    if _listening:
        try:
            _watch()
        except Exception:
            for recorder in list(_listening):
                recorder.missed()


class _Call:
    """A tool that runs, in the recordings of all who listen."""

    def __init__(self, tool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        data: Any = kwargs
        if args:
            schema = getattr(tool, "args_schema", None)
            names = list(getattr(schema, "model_fields", {}))
            data = {**dict(zip([*names, *map(str, range(len(names), len(args)))], args, strict=False)), **kwargs}
        self._tool = tool
        self._spans: list[OpenSpan] = [
            one.begin("tool", str(tool.name), data).enter() for one in list(_listening)
        ]
        self._outer = _running.get()
        _running.set((*self._outer, tool))

    def leave(self) -> None:
        """What comes now is elsewhere; it goes on when it is awaited."""
        _running.set(self._outer)
        for span in reversed(self._spans):
            span.leave()

    def enter(self) -> None:
        self._outer = _running.get()
        _running.set((*self._outer, self._tool))
        for span in self._spans:
            span.enter()

    def end(self, output: Any = None, error: BaseException | None = None) -> None:
        _running.set(self._outer)
        for span in reversed(self._spans):
            if error is not None:
                span.fail(error)
            elif isinstance(output, ToolFailure):
                span.fail("ToolError")
            else:
                span.end(output)


def _is_told(tool: Any) -> bool:
    """Whether a method is called by another one of the same tool, or nobody listens."""
    running = _running.get()
    return not _listening or bool(running) and running[-1] is tool


async def _awaited(call: _Call, made: Any) -> Any:
    call.enter()
    try:
        result = await made
    except BaseException as error:
        call.end(error=error)
        raise
    call.end(result)
    return result


def _called(call: _Call, method: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        result = method(*args, **kwargs)
    except BaseException as error:
        call.end(error=error)
        raise
    if type(result) is types.CoroutineType:
        call.leave()
        return _awaited(call, result)
    call.end(result)
    return result


def _watching(method: Any) -> Any:
    def _run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_told(self):
            return method(self, *args, **kwargs)
        return _called(_Call(self, args, kwargs), method, self, *args, **kwargs)

    return _run


def _watching_async(method: Any) -> Any:
    async def _arun(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_told(self):
            return await method(self, *args, **kwargs)
        call = _Call(self, args, kwargs)
        try:
            result = await method(self, *args, **kwargs)
        except BaseException as error:
            call.end(error=error)
            raise
        call.end(result)
        return result

    return _arun


def _watching_run(method: Any) -> Any:
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        taken = None if _is_told(self) else _taken(self, args, kwargs)
        if taken is None:
            return method(self, *args, **kwargs)
        return _called(_Call(self, args, taken), method, self, *args, **kwargs)

    return run


def _taken(tool: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments as they come to the tool's function; None: they do not, or it was called too often."""
    if tool.max_usage_count is not None and tool.current_usage_count >= tool.max_usage_count:
        return None
    schema = tool.args_schema
    if args or schema is None or not schema.model_fields:
        return kwargs
    try:
        return schema.model_validate(kwargs).model_dump()
    except Exception:
        return None
