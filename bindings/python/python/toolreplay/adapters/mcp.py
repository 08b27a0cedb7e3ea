"""Records the tools that a client of the MCP Python SDK calls.

    async with ClientSession(read, write) as session:
        record_session(session, recorder, server="files")
"""

from __future__ import annotations

import functools
from typing import Any

from ..tracing import ExecutionRecorder
from ._spans import quietly

try:
    from mcp import ClientSession
except ImportError as error:
    raise ImportError("toolreplay.adapters.mcp needs the MCP Python SDK: pip install mcp") from error

__all__ = ["record_session"]

_RECORDED = "_toolreplay_recorders"


def record_session(session: ClientSession, recorder: ExecutionRecorder, server: str) -> ClientSession:
    """Records each `call_tool` of a session from here on, and returns the session.

    A tool is named `mcp__server__tool`, so that two servers' tools of one name are two. Its output is the result's
    structured content, or else its content. A result with `isError` and an exception are errors; a server that wants
    more input first did not run the tool to its end, which counts as cancelled. Once more with the same recorder changes
    nothing.
    """
    if not isinstance(session, ClientSession):
        raise TypeError(f"expected a ClientSession, found {type(session).__name__}")
    if not isinstance(server, str) or not server:
        raise TypeError("server is the name of the server, a str")
    recorders = session.__dict__.setdefault(_RECORDED, [])
    if any(one is recorder for one in recorders):
        return session
    recorders.append(recorder)
    call_tool = session.call_tool

    @functools.wraps(call_tool)
    async def recorded(name: str, arguments: dict[str, Any] | None = None, *args: Any, **kwargs: Any) -> Any:
        span = recorder.begin("tool", f"mcp__{server}__{name}", arguments or {}).enter()
        try:
            result = await call_tool(name, arguments, *args, **kwargs)
        except BaseException as error:
            span.fail(error)
            raise
        if not hasattr(result, "content"):
            span.cancel()
        elif getattr(result, "is_error", None) or getattr(result, "isError", None):
            span.fail("ToolError")
        else:
            span.end(quietly(recorder, lambda: _output(result)))
        return result

    session.call_tool = recorded  # type: ignore[method-assign]
    return session


def _output(result: Any) -> Any:
    structured = getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)
    if structured is not None:
        return structured
    return [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in result.content]
