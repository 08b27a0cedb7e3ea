"""The Claude Agent SDK's hooks, recorded: they are called with what the SDK calls them with."""

import asyncio

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher
from recordings import tools

from toolreplay.adapters.claude_agent_sdk import recording_hooks
from toolreplay.tracing import ExecutionRecorder


def told(options, event, tool, tool_use_id, **more):
    given = {"hook_event_name": event, "tool_name": tool, "tool_input": {"a": 1}, "tool_use_id": tool_use_id, **more}

    async def main():
        for matcher in options.hooks.get(event, []):
            for hook in matcher.hooks:
                assert await hook(given, tool_use_id, {"signal": None}) == {}

    asyncio.run(main())


def test_tools_are_recorded_when_they_ran():
    recorder = ExecutionRecorder()

    async def before(given, tool_use_id, context):
        return {}

    hooks = recording_hooks(recorder, recording_hooks(recorder, {"PreToolUse": [HookMatcher(hooks=[before])]}))
    options = ClaudeAgentOptions(hooks=hooks)
    told(options, "PreToolUse", "Bash", "denied")
    told(options, "PostToolUse", "Read", "t1", tool_response={"text": "x"})
    told(options, "PostToolUseFailure", "Bash", "t2", error="secret message")
    told(options, "PostToolUseFailure", "Bash", "t3", error="stopped", is_interrupt=True)
    assert [(one.name, one.status, one.output) for one in tools(recorder)] == [
        ("Read", "ok", {"text": "x"}), ("Bash", "error", "ToolError"), ("Bash", "cancelled", None),
    ]
    assert b"secret message" not in recorder.capture()
