"""Records what Pydantic AI runs.

    agent = Agent(model, capabilities=[RecordingCapability(recorder)])
"""

from __future__ import annotations

import dataclasses
from typing import Any

from ..tracing import ExecutionRecorder, OpenSpan
from ._spans import Spans, quietly

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
    from pydantic_ai.messages import ModelRequest, ModelResponse, ToolReturn
    from pydantic_ai.toolsets import AbstractToolset, WrapperToolset
except ImportError as error:
    raise ImportError("toolreplay.adapters.pydantic_ai needs Pydantic AI 2: pip install 'pydantic-ai-slim>=2'") from error

__all__ = ["RecordingCapability", "RecordingToolset"]


@dataclasses.dataclass(init=False)
class RecordingCapability(AbstractCapability[Any]):
    """A capability that records an agent's runs, model requests and tools.

    It is given to an agent or to one run. An agent that a tool calls is recorded inside that tool, if it has one too. It
    changes nothing of what the agent does: what could not be recorded is counted in the recorder's summary.

    A tool's input is the arguments that it got, validated. Functions that make the agent's output are recorded as tools.
    Tools that run elsewhere are not recorded: the model's reply has their arguments. A tool that deferred its call
    counts as cancelled.
    """

    recorder: ExecutionRecorder

    def __init__(self, recorder: ExecutionRecorder) -> None:
        self.recorder = recorder

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: a recorder is no part of an agent's description."""
        return None

    async def wrap_run(self, ctx: Any, *, handler: Any) -> Any:
        with _Recorded(self.recorder, "agent", ("run", ctx.run_id), lambda: (_agent(ctx), {"prompt": ctx.prompt})) as made:
            result = await handler()
            made.output = getattr(result, "output", None)
        return result

    async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> Any:
        def request() -> tuple[Any, Any]:
            return request_context.model.model_name, {"messages": [_message(one) for one in request_context.messages]}

        with _Recorded(self.recorder, "model", ("model", ctx.run_id, ctx.run_step), request) as made:
            response = await handler(request_context)
            made.output = quietly(self.recorder, lambda: _message(response))
        return response

    async def wrap_output_process(self, ctx: Any, *, output_context: Any, output: Any, handler: Any) -> Any:
        if not output_context.has_function:
            return await handler(output)
        call, named = output_context.tool_call, output_context.function_name

        def told() -> tuple[Any, Any]:
            name = named or getattr(call, "tool_name", None) or "output"
            return name, output if isinstance(output, dict) else {"output": output}

        key = ("output", ctx.run_id, ctx.run_step, getattr(call, "tool_call_id", None))
        with _Recorded(self.recorder, "tool", key, told) as made:
            made.output = await handler(output)
        return made.output

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return RecordingToolset(toolset, self.recorder)


@dataclasses.dataclass
class RecordingToolset(WrapperToolset[Any]):
    """A toolset that records the calls of another one's tools, for an agent that has no `RecordingCapability`."""

    recorder: ExecutionRecorder

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        call = getattr(ctx, "tool_call_id", None)
        key = None if call is None else ("tool", ctx.run_id, call)
        with _Recorded(self.recorder, "tool", key, lambda: (name, tool_args)) as made:
            result = await self.wrapped.call_tool(name, tool_args, ctx, tool)
            made.output = result.return_value if isinstance(result, ToolReturn) else result
        return result


class _Recorded:
    """A span around a block, of the name and data that `told` tells. With a key it is recorded once, however many
    capabilities and toolsets are around it.
    """

    def __init__(self, recorder: ExecutionRecorder, kind: Any, key: Any, told: Any) -> None:
        self._recorder, self._kind, self._key, self._told = recorder, kind, key, told
        self._span: OpenSpan | None = None
        self._spans: Spans | None = None
        self.output: Any = None

    def __enter__(self) -> _Recorded:
        self._spans = Spans(self._recorder)
        if self._key is not None and not self._spans.claim(self._key):
            return self
        found = quietly(self._recorder, self._told)
        if found is not None:
            name, data = found
            name = name if isinstance(name, str) and name else self._kind
            self._span = self._recorder.begin(self._kind, name, data).enter()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if self._spans is not None:
            self._spans.release(self._key)
        span, self._span = self._span, None
        if span is None:
            return
        if isinstance(error, (ApprovalRequired, CallDeferred)):
            span.cancel()
        elif error is not None:
            span.fail(error)
        else:
            span.end(self.output)


def _agent(ctx: Any) -> Any:
    return getattr(ctx.agent, "name", None)


def _message(message: Any) -> Any:
    """A message by what it says: times and ids differ from run to run."""
    if not isinstance(message, (ModelRequest, ModelResponse)):
        return message
    fields = ("tool_name", "args", "content", "tool_call_id")
    parts = [
        {"part": part.part_kind, **{name: getattr(part, name) for name in fields if hasattr(part, name)}}
        for part in message.parts
    ]
    return {"kind": message.kind, "parts": parts}

