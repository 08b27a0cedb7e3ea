"""Records the tools that the Claude Agent SDK runs.

    options = ClaudeAgentOptions(hooks=recording_hooks(recorder))
"""

from __future__ import annotations

from typing import Any

from ..tracing import ExecutionRecorder
from ._spans import Spans

try:
    from claude_agent_sdk import HookMatcher
except ImportError as error:
    raise ImportError("toolreplay.adapters.claude_agent_sdk needs the Claude Agent SDK: pip install claude-agent-sdk") from error

__all__ = ["recording_hooks"]


def recording_hooks(recorder: ExecutionRecorder, hooks: dict[Any, list[Any]] | None = None) -> dict[Any, list[Any]]:
    """The hooks for `ClaudeAgentOptions(hooks=…)` that record tools; `hooks` are those that there are already.

    A tool is recorded when it has run, since a call can be denied after the hook that comes before it: with its input,
    and its output or an error. A tool that was interrupted is in neither hook, and not recorded; subagents' tools are.
    """
    seen = Spans(recorder)

    async def after(given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        try:
            key = ("tool", tool_use_id)
            if tool_use_id is None or seen.claim(key):
                # never released: the SDK uses an id once, and hooks may be given twice
                span = recorder.begin("tool", str(given.get("tool_name")), given.get("tool_input"))
                if given.get("hook_event_name") == "PostToolUse":
                    span.end(given.get("tool_response"))
                elif given.get("is_interrupt"):
                    span.cancel()
                else:
                    span.fail("ToolError")
        except Exception:
            recorder.missed()
        return {}

    made = {event: list(matchers) for event, matchers in (hooks or {}).items()}
    for event in ("PostToolUse", "PostToolUseFailure"):
        made.setdefault(event, []).append(HookMatcher(hooks=[after]))
    return made
