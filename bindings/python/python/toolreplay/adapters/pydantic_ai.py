"""Records what Pydantic AI runs.

    agent = Agent(model, capabilities=[RecordingCapability(recorder)])
"""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import uuid
from typing import Any

from ..tracing import ExecutionRecorder, _finish, _plain

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

    A tool's input is the arguments that it got, validated, with dates, UUIDs, decimals and enums as text. Output tools
    and tools that run elsewhere are not recorded: the model's reply has their arguments. A tool that deferred its call
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
        span, begun = _begin(self.recorder, "agent", lambda: (_agent(ctx), {"prompt": ctx.prompt}))
        try:
            result = await handler()
        except BaseException as error:
            _finish(span, begun, None, error)
            raise
        _finish(span, begun, getattr(result, "output", None))
        return result

    async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> Any:
        def request() -> tuple[Any, Any]:
            return request_context.model.model_name, {"messages": [_message(one) for one in request_context.messages]}

        span, begun = _begin(self.recorder, "model", request)
        try:
            response = await handler(request_context)
        except BaseException as error:
            _finish(span, begun, None, error)
            raise
        _finish(span, begun, _quietly(self.recorder, lambda: _message(response)))
        return response

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        return RecordingToolset(toolset, self.recorder)


@dataclasses.dataclass
class RecordingToolset(WrapperToolset[Any]):
    """A toolset that records the calls of another one's tools, for an agent that has no `RecordingCapability`."""

    recorder: ExecutionRecorder

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        span, begun = _begin(self.recorder, "tool", lambda: (name, _jsonable(tool_args)))
        try:
            result = await self.wrapped.call_tool(name, tool_args, ctx, tool)
        except (ApprovalRequired, CallDeferred):
            _finish(span, begun, None, asyncio.CancelledError())
            raise
        except BaseException as error:
            _finish(span, begun, None, error)
            raise
        _finish(span, begun, result.return_value if isinstance(result, ToolReturn) else result)
        return result


def _begin(recorder: ExecutionRecorder, kind: str, told: Any) -> tuple[Any, Any]:
    """Begins a span of the name and data that `told` tells."""
    found = _quietly(recorder, told)
    if found is None:
        return None, None
    name, data = found
    return recorder._begin(kind, _plain(name) if isinstance(name, str) and name else kind, data)


def _quietly(recorder: ExecutionRecorder, told: Any) -> Any:
    """What `told` returns; what it raises is counted."""
    try:
        return told()
    except Exception:
        recorder._native.missed()
        return None


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


_TEXTS = (datetime.date, datetime.time, decimal.Decimal, uuid.UUID)


def _jsonable(value: Any, levels: int = 10) -> Any:
    """Validated arguments with the types of the standard library that JSON has as text."""
    if type(value) is dict and levels:
        return {key: _jsonable(one, levels - 1) for key, one in value.items()}
    if type(value) in (list, tuple) and levels:
        return [_jsonable(one, levels - 1) for one in value]
    if type(value) is datetime.datetime or type(value) in _TEXTS:
        return value.isoformat() if hasattr(value, "isoformat") else str(value)
    if isinstance(value, enum.Enum):
        return _jsonable(value._value_, levels)
    return value
