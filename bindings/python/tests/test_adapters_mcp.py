"""The MCP Python SDK's client, recorded: a real session with a server in memory."""

import asyncio

import pytest
from mcp import Client
from mcp.server import MCPServer
from recordings import tools

import toolreplay
from toolreplay.adapters.mcp import record_session
from toolreplay.tracing import ExecutionRecorder


def server():
    made = MCPServer("files")

    @made.tool()
    def read(path: str) -> dict:
        return {"text": path}

    @made.tool()
    def fail(path: str) -> str:
        raise ValueError("secret message")

    @made.tool()
    async def slow(path: str) -> str:
        await asyncio.sleep(60)
        return path

    return made


def run(work):
    async def main():
        async with Client(server()) as client:
            return await work(client.session)

    return asyncio.run(main())


def test_calls_errors_and_parallel():
    recorder = ExecutionRecorder()

    async def work(session):
        assert record_session(session, recorder, "files") is record_session(session, recorder, "files") is session
        assert not (await session.call_tool("read", {"path": "a"})).is_error
        await session.call_tool("fail", {"path": "b"})
        await asyncio.gather(*(session.call_tool("read", {"path": str(n)}) for n in range(5)))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await session.call_tool("slow", {"path": "c"})

    run(work)
    seen = tools(recorder)
    assert [(one.name, one.input, one.status) for one in seen[:2]] == [
        ("mcp__files__read", {"path": "a"}, "ok"), ("mcp__files__fail", {"path": "b"}, "error"),
    ]
    assert seen[0].output == {"text": "a"} or "a" in str(seen[0].output)
    assert len(seen) == 8 and (seen[-1].name, seen[-1].status) == ("mcp__files__slow", "cancelled")
    report = toolreplay.audit(recorder, {"agent": "a", "allowed_tools": ["mcp__files__read", "mcp__files__slow"]})
    assert [(finding.rule, finding.tool) for finding in report] == [("permission-overreach", "mcp__files__fail")]


def test_wrong_sessions():
    with pytest.raises(TypeError, match="expected a ClientSession"):
        record_session(object(), ExecutionRecorder(), "files")
