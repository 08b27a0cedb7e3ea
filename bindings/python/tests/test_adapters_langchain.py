"""LangChain and LangGraph, recorded: real agents with a scripted model."""

import asyncio
import concurrent.futures
import json
import logging

import pydantic
import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from recordings import calls, rules, spans, tools

from toolreplay.adapters.langchain import RecordingHandler
from toolreplay.tracing import ExecutionRecorder


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools, **more):
        return self

    def _stream(self, *args, **more):
        message = next(self.messages)
        for n, call in enumerate(message.tool_calls):
            chunk = tool_call_chunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=n)
            yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[chunk]))
        yield ChatGenerationChunk(message=AIMessageChunk(message.content))


class Failure(Exception):
    pass


@tool
def search(query: str) -> dict:
    """Searches."""
    return {"found": query}


@tool
async def asearch(query: str) -> dict:
    """Searches."""
    await asyncio.sleep(0.001)
    return {"found": query}


@tool
def broken(query: str) -> str:
    """Fails."""
    raise Failure("secret message")


@tool
async def slow(query: str) -> str:
    """Takes long."""
    await asyncio.sleep(60)


@tool
def odd(query: str) -> str:
    """Returns what is no JSON."""
    return object()


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.setenv(name, "false")


def asks(*wanted):
    requests = [{"name": name, "args": args, "id": f"call-{n}", "type": "tool_call"} for n, (name, args) in enumerate(wanted)]
    return AIMessage("", tool_calls=requests)


def agent(*turns, tools=(search, asearch, broken, slow, odd), name="helper", **more):
    messages = iter([*turns, AIMessage("done")])
    return create_agent(Scripted(messages=messages), list(tools), name=name, **more)


def given(recorder, **more):
    return {"callbacks": [RecordingHandler(recorder)], **more}


HELLO = {"messages": [("user", "hello")]}


def test_a_run(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path, secret_values=["open-sesame-99"])
    made = agent(asks(("search", {"query": "open-sesame-99"})), asks(("search", {"query": "b"})))
    assert made.invoke(HELLO, given(recorder))["messages"][-1].content == "done"
    recorder.finish()
    found = spans(recorder)
    assert [(one.kind, one.name, one.status, one.inside) for one in found] == [
        ("agent", "helper", "ok", None),
        ("loop", "model", "ok", "helper"), ("model", "Scripted", "ok", "model"),
        ("loop", "tools", "ok", "helper"), ("tool", "search", "ok", "tools"),
        ("loop", "model", "ok", "helper"), ("model", "Scripted", "ok", "model"),
        ("loop", "tools", "ok", "helper"), ("tool", "search", "ok", "tools"),
        ("loop", "model", "ok", "helper"), ("model", "Scripted", "ok", "model"),
    ]
    assert found[2].input == {"messages": [{"role": "human", "content": "hello"}]}
    assert found[6].output["tool_calls"] == [{"name": "search", "args": {"query": "b"}, "id": "call-0"}]
    assert tools(recorder)[1][4:] == ({"query": "b"}, '{"found": "b"}')
    assert "open-sesame-99" not in path.read_text()
    assert rules(path, "search") == []
    assert rules(path, "read") == [("permission-overreach", "search")] * 2


def test_the_same_twice_is_redundant(tmp_path):
    path = tmp_path / "run.jsonl"
    with ExecutionRecorder(output=path) as recorder:
        agent(asks(("search", {"query": "a"})), asks(("search", {"query": "a"}))).invoke(HELLO, given(recorder))
    assert rules(path, "search") == [("redundant-call", "search")]


def test_async_parallel_and_streamed():
    recorder = ExecutionRecorder()

    async def main():
        wanted = [("asearch", {"query": str(n)}) for n in range(8)]
        stream = agent(asks(*wanted)).astream(HELLO, given(recorder), stream_mode=["messages", "updates"])
        return [kind async for kind, _ in stream]

    assert "messages" in asyncio.run(main())
    seen = tools(recorder)
    assert sorted(one.input["query"] for one in seen) == [str(n) for n in range(8)]
    assert all((one.inside, one.output) == ("tools", f'{{"found": "{one.input["query"]}"}}') for one in seen)
    assert {one.status for one in spans(recorder)} == {"ok"}
    assert len(next(one for one in spans(recorder) if one.kind == "model").output["tool_calls"]) == 8


def test_a_stream_that_is_left():
    recorder = ExecutionRecorder()
    stream = agent(asks(("search", {"query": "a"}))).stream(HELLO, given(recorder))
    next(stream)
    stream.close()
    assert {one.status for one in spans(recorder)} <= {"ok", "cancelled"}


def test_errors_by_their_type(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path)
    with pytest.raises(Failure):
        agent(asks(("broken", {"query": "a"}))).invoke(HELLO, given(recorder))
    assert [(one.name, one.status, one.output) for one in spans(recorder) if one.status != "ok"] == [
        ("helper", "error", "Failure"), ("tools", "error", "Failure"), ("broken", "error", "Failure"),
    ]

    @tool
    def told(query: str) -> str:
        """Fails in a way that is told to the model."""
        raise ToolException("secret message")

    told.handle_tool_error = True
    agent(asks(("told", {"query": "a"})), tools=[told]).invoke(HELLO, given(recorder))
    assert [(one.name, one.output) for one in tools(recorder)] == [("broken", "Failure"), ("told", "ToolError")]
    recorder.finish()
    assert "secret message" not in "".join(line for line in path.read_text().splitlines() if '"kind":"tool"' in line)
    assert calls(recorder)[0] == ("broken", {"query": "a"}, {"error_type": "Failure"})


def test_a_model_that_fails():
    recorder = ExecutionRecorder()

    class Broken(Scripted):
        def _generate(self, *args, **more):
            raise Failure

    with pytest.raises(Failure):
        create_agent(Broken(messages=iter([])), [search]).invoke(HELLO, given(recorder))
    assert [(one.kind, one.status, one.output) for one in spans(recorder)][2] == ("model", "error", "Failure")


def test_cancellation():
    recorder = ExecutionRecorder()

    async def main():
        task = asyncio.create_task(agent(asks(("slow", {"query": "a"}))).ainvoke(HELLO, given(recorder)))
        while not tools(recorder):
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [(one.name, one.status) for one in spans(recorder) if one.status != "ok"] == [
        ("helper", "cancelled"), ("tools", "cancelled"), ("slow", "cancelled"),
    ]
    assert calls(recorder) == []


def test_an_interrupt_is_no_error():
    recorder = ExecutionRecorder()

    @tool
    def confirmed(query: str) -> str:
        """Asks a human."""
        return interrupt("sure?")

    made = agent(asks(("confirmed", {"query": "a"})), tools=[confirmed], checkpointer=InMemorySaver())
    config = given(recorder, configurable={"thread_id": "1"})
    made.invoke(HELLO, config)
    made.invoke(Command(resume="yes"), config)
    assert [(one.status, one.output) for one in tools(recorder)] == [("cancelled", None), ("ok", "yes")]
    assert len(calls(recorder)) == 1


def test_an_agent_inside_a_tool():
    recorder = ExecutionRecorder()
    inner = agent(asks(("search", {"query": "deep"})), name="inner")

    @tool
    def ask(query: str) -> str:
        """Asks another agent."""
        return inner.invoke(HELLO)["messages"][-1].content

    with recorder.span("agent", "outside"):
        agent(asks(("ask", {"query": "a"})), tools=[ask], name="outer").invoke(HELLO, given(recorder))
    inside = {one.name: one.inside for one in spans(recorder) if one.kind in ("agent", "tool")}
    assert inside == {"outside": None, "outer": "outside", "ask": "tools", "inner": "ask", "search": "tools"}


def test_outputs_that_are_no_json():
    recorder = ExecutionRecorder()
    assert "object" in agent(asks(("odd", {"query": "a"}))).invoke(HELLO, given(recorder))["messages"][2].content
    odd.invoke({"query": "b"}, given(recorder))
    assert tools(recorder)[1].output == {"capture_omitted": "type", "type": "object"}
    assert [args for _, args, _ in calls(recorder)] == [{"query": "a"}]
    tool("upper", description="One text.")(str.upper).invoke("x", given(recorder))


def test_runs_at_once_do_not_mix():
    recorder = ExecutionRecorder()
    handler = RecordingHandler(recorder)

    def run(n):
        agent(asks(("search", {"query": str(n)})), name=f"agent {n}").invoke(HELLO, {"callbacks": [handler]})

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(12)))
    starts = {event["span_id"]: event for event in recorder.snapshot().events if event["phase"] == "start"}
    for event in starts.values():
        if event["kind"] == "tool":
            node = starts[event["parent_span_id"]]
            assert starts[node["parent_span_id"]]["name"] == f"agent {event['data']['input']['query']}"
    assert len(tools(recorder)) == 12 and not handler._spans._known


def test_nothing_is_raised_into_the_agent(caplog):
    recorder = ExecutionRecorder()
    handler = RecordingHandler(recorder)
    handler._spans.begin = handler._spans.end = lambda *_, **__: 1 / 0
    with caplog.at_level(logging.WARNING):
        made = agent(asks(("search", {"query": "a"}))).invoke(HELLO, {"callbacks": [handler]})
    assert made["messages"][-1].content == "done" and not caplog.records
    assert recorder.finish()["capture_errors"] > 5


def test_invalid_arguments_reach_no_tool():
    ran = []

    @tool
    def number(n: int) -> str:
        """Takes a number."""
        ran.append(n)
        if n == 2:
            # an error of the same type, but of the tool itself
            pydantic.TypeAdapter(int).validate_python("none")
        return str(n)

    handled = number.model_copy(update={"name": "handled", "handle_validation_error": True})
    recorder = ExecutionRecorder()
    config = given(recorder)
    wrong = asks(("number", {"n": "none"}), ("number", {"n": 1}))
    assert agent(wrong, tools=[number]).invoke(HELLO, config)["messages"][-1].content == "done"
    for arguments in ({"n": "none"}, {}, {"n": 2}):
        with pytest.raises(pydantic.ValidationError):
            number.invoke(arguments, config)
    assert "validation" in handled.invoke({"n": "none"}, config) and handled.invoke({"n": 3}, config) == "3"

    async def main():
        with pytest.raises(pydantic.ValidationError):
            await number.ainvoke({"n": "none"}, config)
        await number.ainvoke({"n": 4}, config)

    asyncio.run(main())
    assert [(one.name, one.input, one.status) for one in tools(recorder)] == [
        ("number", {"n": 1}, "ok"), ("number", {"n": 2}, "error"), ("handled", {"n": 3}, "ok"), ("number", {"n": 4}, "ok"),
    ]
    assert ran == [1, 2, 3, 4]


@pytest.mark.parametrize("same", [True, False])
def test_two_handlers_record_each_call_once(same):
    recorder = ExecutionRecorder()
    handler = RecordingHandler(recorder)
    handlers = [handler, handler if same else RecordingHandler(recorder)]
    agent(asks(("search", {"query": "a"}))).invoke(HELLO, {"callbacks": handlers})
    search.invoke({"query": "b"}, {"callbacks": handlers})
    assert [one.input for one in tools(recorder)] == [{"query": "a"}, {"query": "b"}]
    assert len([one for one in spans(recorder) if one.kind == "model"]) == 2
    recorders = [ExecutionRecorder(), ExecutionRecorder()]
    search.invoke({"query": "a"}, {"callbacks": [RecordingHandler(one) for one in recorders]})
    assert [len(tools(one)) for one in recorders] == [1, 1]
