"""Records what agents of Strands run.

    agent = Agent(tools=[...], plugins=[RecordingPlugin(recorder)])
"""

from __future__ import annotations

from typing import Any

from ..tracing import ExecutionRecorder, OpenSpan
from ._announced import Announced, Running, announce, replace_method, with_subclasses
from ._spans import Spans, quiet, quietly

try:
    from strands.hooks import AfterInvocationEvent, BeforeInvocationEvent
    from strands.interrupt import InterruptException
    from strands.middleware import ExecuteToolStage, InvokeModelStage, ModelStopReason, ToolResultEvent
    from strands.plugins import Plugin
    from strands.types.tools import AgentTool
except ImportError as error:
    raise ImportError("toolreplay.adapters.strands needs Strands Agents: pip install 'strands-agents>=1.60'") from error

__all__ = ["RecordingPlugin"]


class RecordingPlugin(Plugin):
    """A plugin that records an agent's invocations, model requests and tools, for any number of agents.

    It changes nothing of what they do: what could not be recorded is counted in the recorder's summary. A tool is
    recorded when it runs, each try by itself. A call that a hook cancelled or a middleware answered, or that has
    arguments the function does not take, reached no tool. A tool that was interrupted for a human counts as cancelled.
    """

    name = "toolreplay"

    def __init__(self, recorder: ExecutionRecorder) -> None:
        super().__init__()
        self._spans = Spans(recorder)

    def init_agent(self, agent: Any) -> None:
        for one in with_subclasses(AgentTool):
            replace_method(one, "stream", _watching)
        agent.add_hook(self._begin_agent, BeforeInvocationEvent)
        agent.add_hook(self._end_agent, AfterInvocationEvent)
        agent.add_middleware(InvokeModelStage, self._model)
        agent.add_middleware(ExecuteToolStage, self._tool)

    @quiet
    def _begin_agent(self, event: Any) -> None:
        key = ("agent", id(event.agent))
        if self._spans.claim(key):
            asked = {"messages": event.messages}
            self._spans.begin(key, self._spans.recorder.current_span_id(), "agent", event.agent.name, asked)

    @quiet
    def _end_agent(self, event: Any) -> None:
        key = ("agent", id(event.agent))
        if self._spans.release(key):
            result = event.result
            if result is None:
                self._spans.cancel(key)
            else:
                self._spans.end(key, {"stop_reason": result.stop_reason, "message": result.message})

    async def _model(self, context: Any, next_fn: Any) -> Any:
        key = ("model", id(context.agent))
        span = quietly(self._spans.recorder, lambda: self._begin_model(key, context))
        answer = None
        try:
            async for event in next_fn(context):
                if isinstance(event, ModelStopReason):
                    answer = event.message
                yield event
        except BaseException as error:
            if span is not None:
                span.fail(error)
            raise
        finally:
            self._spans.release(key)
        if span is not None:
            span.end(answer)

    def _begin_model(self, key: Any, context: Any) -> OpenSpan | None:
        if not self._spans.claim(key):
            return None
        parent = self._spans.parent(("agent", id(context.agent)))
        asked = {"messages": context.messages}
        return self._spans.recorder.begin("model", _model_name(context.model), asked, parent=parent)

    async def _tool(self, context: Any, next_fn: Any) -> Any:
        quietly(self._spans.recorder, lambda: self._announce(context))
        async for event in next_fn(context):
            yield event

    def _announce(self, context: Any) -> None:
        for one in (type(context.tool), *with_subclasses(AgentTool)):
            replace_method(one, "stream", _watching)
        use, parent = context.tool_use, self._spans.parent(("agent", id(context.agent)))
        key = (use["toolUseId"], id(context.agent))
        announce(Announced(self._spans.recorder, key, use["toolUseId"], use["name"], use["input"], parent))


def _watching(stream: Any) -> Any:
    async def watched_stream(self: Any, tool_use: Any, invocation_state: Any, **more: Any) -> Any:
        events = stream(self, tool_use, invocation_state, **more)
        try:
            if _is_run(self, tool_use):
                with Running(tool_use.get("toolUseId")) as call:
                    last = None
                    try:
                        async for event in events:
                            last = event
                            if _is_last(event):
                                break
                            yield event
                    except InterruptException:
                        call.is_cancelled = True
                        raise
                    _settle(call, last)
                if _is_last(last):
                    # who gets it asks for no more
                    yield last
            async for event in events:
                yield event
        finally:
            await events.aclose()

    return watched_stream


def _is_last(event: Any) -> bool:
    """Whether an event is the last one of a tool, which has ended then."""
    return isinstance(event, ToolResultEvent) or type(event).__name__ == "ToolInterruptEvent"


def _is_run(tool: Any, tool_use: Any) -> bool:
    """Whether a call comes to what is a tool: not with arguments that its function does not take, nor where the tool is
    the form of a structured answer.
    """
    if type(tool).__name__ == "StructuredOutputTool":
        return False
    validate = getattr(getattr(tool, "_metadata", None), "validate_input", None)
    if validate is None:
        return True
    try:
        validate(tool_use.get("input", {}))
    except Exception:
        return False
    return True


def _settle(call: Running, last: Any) -> None:
    """What the last event of a tool says of its end."""
    result, error = last, None
    if isinstance(last, ToolResultEvent):
        result, error = last.tool_result, last.exception
    if not isinstance(result, dict) or "content" not in result:
        # it stopped for a human; what a tool of another kind yields last is its result
        call.is_cancelled = type(last).__name__ == "ToolInterruptEvent"
        call.output = result
    elif result.get("cancelled") is True:
        call.is_cancelled = True
    elif error is not None or result.get("status") == "error":
        call.failed = error or "ToolError"
    else:
        # its id differs from call to call
        call.output = {"content": result["content"]}


def _model_name(model: Any) -> str:
    config = model.get_config()
    found = config.get("model_id") if isinstance(config, dict) else None
    return found if isinstance(found, str) and found else type(model).__name__
