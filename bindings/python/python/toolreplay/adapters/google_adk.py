"""Records what agents of the Agent Development Kit run.

    runner = Runner(agent=agent, plugins=[RecordingPlugin(recorder)], ...)
"""

from __future__ import annotations

import inspect
from typing import Any

from ..tracing import ExecutionRecorder
from ._announced import Announced, Running, announce, is_watched, replace_method, watched
from ._spans import Spans, quiet

try:
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.function_tool import FunctionTool
except ImportError as error:
    raise ImportError("toolreplay.adapters.google_adk needs the Agent Development Kit: pip install google-adk") from error

__all__ = ["RecordingPlugin"]

# of these a call that comes to its end has called the function; what came before could still stop it
_CALL_THEIR_FUNCTION = ("function_tool", "authenticated_function_tool", "google_tool")


class RecordingPlugin(BasePlugin):
    """A plugin that records an app's agents, model requests and tools.

    It changes nothing of what they do: what could not be recorded is counted in the recorder's summary. A tool is
    recorded when it runs. A call that a callback answered, that waits for a confirmation or was rejected, or that has
    arguments the function does not take, reached no tool. Two plugins of one app need different names.
    """

    def __init__(self, recorder: ExecutionRecorder, name: str = "toolreplay") -> None:
        super().__init__(name=name)
        self._spans = Spans(recorder)
        # the agents under way of an invocation, the innermost last
        self._agents: dict[tuple[str, str], list[Any]] = {}

    async def before_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        self._begin_agent(agent, callback_context)

    async def after_agent_callback(self, *, agent: Any, callback_context: Any) -> None:
        self._end_agent(agent, callback_context)

    async def on_agent_error_callback(self, *, agent: Any, callback_context: Any, error: Exception) -> None:
        self._end_agent(agent, callback_context, error)

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        self._begin_model(callback_context, llm_request)

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        self._end_model(callback_context, llm_response)

    async def on_model_error_callback(self, *, callback_context: Any, llm_request: Any, error: Exception) -> None:
        self._end_model(callback_context, None, error)

    async def before_tool_callback(self, *, tool: Any, tool_args: dict[str, Any], tool_context: Any) -> None:
        self._announce(tool, tool_args, tool_context)

    async def close(self) -> None:
        self._agents.clear()

    @quiet
    def _begin_agent(self, agent: Any, context: Any) -> None:
        under_way = self._agents.get((context.invocation_id, agent.name), [])
        key = ("agent", context.invocation_id, agent.name, len(under_way))
        if not self._spans.claim(key):
            return
        around = agent
        while around is not None and (context.invocation_id, around.name) not in self._agents:
            around = around.parent_agent
        parent = self._within(context.invocation_id, agent.name if around is None else around.name)
        self._spans.begin(key, parent, "agent", agent.name, _content(context.user_content))
        self._agents[context.invocation_id, agent.name] = [*under_way, key]

    @quiet
    def _end_agent(self, agent: Any, context: Any, error: Exception | None = None) -> None:
        under_way = self._agents.pop((context.invocation_id, agent.name), [])
        if not under_way:
            return
        if under_way[:-1]:
            self._agents[context.invocation_id, agent.name] = under_way[:-1]
        model = ("model", context.invocation_id, agent.name)
        if self._spans.release(model):
            # it never answered
            self._spans.cancel(model)
        self._spans.release(under_way[-1])
        self._spans.end(under_way[-1], error=error)

    def _within(self, invocation: str, agent: str) -> str | None:
        """The id of the span for what an agent does."""
        under_way = self._agents.get((invocation, agent))
        return self._spans.parent(under_way[-1]) if under_way else self._spans.recorder.current_span_id()

    @quiet
    def _begin_model(self, context: Any, request: Any) -> None:
        key = ("model", context.invocation_id, context.agent_name)
        if self._spans.claim(key):
            asked = {"contents": [_content(one) for one in request.contents]}
            self._spans.begin(key, self._within(context.invocation_id, context.agent_name), "model", request.model, asked)

    @quiet
    def _end_model(self, context: Any, response: Any, error: Exception | None = None) -> None:
        key = ("model", context.invocation_id, context.agent_name)
        if error is None and getattr(response, "partial", None):
            return
        if self._spans.release(key):
            self._spans.end(key, None if response is None else _content(response.content), error)

    @quiet
    def _announce(self, tool: Any, args: dict[str, Any], context: Any) -> None:
        parent = self._within(context.invocation_id, context.agent_name)
        key = (context.invocation_id, context.function_call_id or id(context))
        announce(Announced(self._spans.recorder, key, _place(tool), str(tool.name), args, parent))


def _place(tool: Any) -> Any:
    """Where a tool begins to run: its function if it is one, or else its method."""
    owner = next((one for one in type(tool).__mro__ if "run_async" in one.__dict__), BaseTool)
    calls_its_function = owner.__module__ in [f"google.adk.tools.{name}" for name in _CALL_THEIR_FUNCTION]
    if isinstance(tool, FunctionTool) and calls_its_function and _has_signature(tool.func):
        if not is_watched(tool.func):
            tool.func = watched(tool.func, _watching(tool.func))
        return tool.func
    if owner is not BaseTool and not replace_method(owner, "run_async", _watching_method):
        raise TypeError(f"{owner.__name__}.run_async cannot be watched")
    return _Method(tool)


class _Method:
    """The place of a tool that is no function: the method of this very tool."""

    def __init__(self, tool: Any) -> None:
        self._tool = tool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Method) and other._tool is self._tool

    def __hash__(self) -> int:
        return id(self._tool)


def _has_signature(function: Any) -> bool:
    # ADK tells a wrong call of a function without one by the frames that it went through
    try:
        inspect.signature(function)
    except (TypeError, ValueError):
        return False
    return True


def _watching(function: Any) -> Any:
    """A function of the same kind as a tool's."""
    whole = function if inspect.isroutine(function) else getattr(function, "__call__", function)
    if inspect.isasyncgenfunction(whole):

        async def yielding(*args: Any, **kwargs: Any) -> Any:
            with Running(yielding) as call:
                call.output = []
                made = function(*args, **kwargs)
                try:
                    async for one in made:
                        call.output.append(one)
                        yield one
                finally:
                    await made.aclose()

        return yielding
    if inspect.isgeneratorfunction(whole):

        def generating(*args: Any, **kwargs: Any) -> Any:
            with Running(generating) as call:
                call.output = []
                for one in function(*args, **kwargs):
                    call.output.append(one)
                    yield one

        return generating
    if inspect.iscoroutinefunction(whole):

        async def awaiting(*args: Any, **kwargs: Any) -> Any:
            with Running(awaiting) as call:
                call.output = await function(*args, **kwargs)
            return call.output

        return awaiting

    def calling(*args: Any, **kwargs: Any) -> Any:
        with Running(calling) as call:
            call.output = function(*args, **kwargs)
        return call.output

    return calling


def _watching_method(method: Any) -> Any:
    async def run_async(self: Any, *, args: dict[str, Any], tool_context: Any) -> Any:
        with Running(_Method(self)) as call:
            call.output = await method(self, args=args, tool_context=tool_context)
            if call and isinstance(call.output, dict) and call.output.get("isError") is True:
                # what a tool of an MCP server says of itself
                call.failed = "ToolError"
        return call.output

    return run_async


def _content(content: Any) -> Any:
    """A message as the plain object it is."""
    return None if content is None else content.model_dump(mode="json", exclude_none=True)
