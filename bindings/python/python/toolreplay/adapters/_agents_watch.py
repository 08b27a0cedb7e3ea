"""Where the OpenAI Agents SDK runs a tool.

Its traces tell of a tool's call, not of its execution: a call that waits for approval, was refused, or has arguments
that no function takes has a span like any other, and a local shell has none at all. So the places where the SDK goes on
to execute are watched: each is replaced by a function that tells the listeners, and does what it did. A version of the
SDK that has not all of them is not watched at all.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import weakref
from typing import Any

import agents.tool as tool_module
from agents.mcp.util import MCPUtil
from agents.run_context import RunContextWrapper
from agents.tracing import get_current_span

_listeners: weakref.WeakSet[Any] = weakref.WeakSet()


def listen(listener: Any) -> None:
    """From here on `listener` is told what happens in the SDK's span with an id: `tool_runs(id)`,
    `tool_failed(id, error)`, and `shell_runs(parent id, request)`, which gives a function to call with the result.
    """
    _listeners.add(listener)


def _tell(what: str, *about: Any) -> None:
    span = get_current_span()
    if span is not None:
        for listener in list(_listeners):
            getattr(listener, what)(span.span_id, *about)


def _is_object(arguments: Any) -> bool:
    try:
        return isinstance(json.loads(arguments) if arguments else {}, dict)
    except (TypeError, ValueError, RecursionError):
        return False


def _install() -> bool:
    """Replaces the places; False: this version of the SDK has not all of them."""
    try:
        from agents.run_internal import tool_actions, tool_execution

        invoke = tool_execution._invoke_function_tool_with_metadata
        starts = tool_module._log_function_tool_invocation
        explain = tool_module.maybe_invoke_function_tool_failure_error_function
        invoker = tool_module._FailureHandlingFunctionToolInvoker
        unwrapped = tool_module._MISSING_FUNCTION_TOOL_WRAPPED_CALLABLE
        mark = RunContextWrapper._mark_tool_invocation_executed
        answered = MCPUtil.__dict__["_extract_custom_data"].__func__
        shell = tool_actions.LocalShellAction.__dict__["execute"].__func__
    except (ImportError, AttributeError, KeyError):
        return False

    @functools.wraps(invoke)
    async def watched_invoke(*, function_tool: Any, context: Any, arguments: Any) -> Any:
        called = function_tool.on_invoke_tool
        if not isinstance(called, invoker):
            _tell("tool_runs")
        elif called._get_wrapped_callable() is unwrapped and _is_object(arguments):
            # a tool of an MCP server, an agent: they run what is an object. Functions say so themselves
            _tell("tool_runs")
        timed_out = function_tool.timeout_error_function
        if timed_out is not None:

            def noted(context: Any, error: Exception) -> Any:
                _tell("tool_failed", error)
                return timed_out(context, error)

            function_tool = copy.copy(function_tool)
            function_tool.timeout_error_function = noted
        result = await invoke(function_tool=function_tool, context=context, arguments=arguments)
        if getattr(result, "is_sdk_generated_error", False):
            _tell("tool_failed", None)
        return result

    @functools.wraps(starts)
    def watched_start(*args: Any, **kwargs: Any) -> Any:
        _tell("tool_runs")
        return starts(*args, **kwargs)

    @functools.wraps(explain)
    async def watched_explain(*args: Any, **kwargs: Any) -> Any:
        error = kwargs.get("error")
        if error is not None:
            _tell("tool_failed", error)
        return await explain(*args, **kwargs)

    @functools.wraps(mark)
    def watched_mark(self: Any, *args: Any, **kwargs: Any) -> Any:
        # of a function's call this is said before its guardrails had their word
        if "tool_name" in kwargs:
            _tell("tool_runs")
        return mark(self, *args, **kwargs)

    @functools.wraps(answered)
    async def watched_answer(cls: Any, *args: Any, **kwargs: Any) -> Any:
        result = kwargs.get("result")
        if getattr(result, "isError", None) or getattr(result, "is_error", None):
            _tell("tool_failed", "ToolError")
        return await answered(cls, *args, **kwargs)

    @functools.wraps(shell)
    async def watched_shell(cls: Any, *, call: Any, **more: Any) -> Any:
        span = get_current_span()
        about = None if span is None else span.span_id
        with contextlib.ExitStack() as open_spans:
            ends = [open_spans.enter_context(one.shell_runs(about, call)) for one in list(_listeners)]
            item = await shell(cls, call=call, **more)
            for end in ends:
                end(getattr(item, "output", None))
            return item

    tool_execution._invoke_function_tool_with_metadata = watched_invoke
    tool_module._log_function_tool_invocation = watched_start
    tool_module.maybe_invoke_function_tool_failure_error_function = watched_explain
    if hasattr(tool_execution, "maybe_invoke_function_tool_failure_error_function"):
        tool_execution.maybe_invoke_function_tool_failure_error_function = watched_explain
    RunContextWrapper._mark_tool_invocation_executed = watched_mark
    MCPUtil._extract_custom_data = classmethod(watched_answer)
    tool_actions.LocalShellAction.execute = classmethod(watched_shell)
    return True


WATCHED = _install()
