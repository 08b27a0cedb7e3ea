"""Pydantic AI, recorded: real agents with a scripted model."""

import asyncio
import datetime
import decimal
import enum

import pytest
from pydantic_ai import Agent, DeferredToolRequests, ModelRetry, RunContext, TextOutput, Tool
from pydantic_ai.exceptions import ApprovalRequired
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturn
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.toolsets import FunctionToolset
from recordings import calls, rules, spans, tools

from toolreplay.adapters.pydantic_ai import RecordingCapability, RecordingToolset
from toolreplay.tracing import ExecutionRecorder, _open


class Failure(Exception):
    pass


class Level(enum.Enum):
    HIGH = "high"


def search(query: str) -> dict:
    return {"found": query}


async def asearch(query: str) -> dict:
    await asyncio.sleep(0.001)
    return {"found": query}


def broken(query: str) -> str:
    raise Failure("secret message")


async def slow(query: str) -> str:
    await asyncio.sleep(60)


def odd(query: str):
    return object()


ALL = [search, asearch, broken, slow, odd]


def scripted(*turns):
    left = iter([*turns, "done"])

    def answer(messages, info):
        turn = next(left)
        if isinstance(turn, str):
            return ModelResponse([TextPart(turn)])
        return ModelResponse([ToolCallPart(name, args) for name, args in turn])

    async def stream(messages, info):
        turn = next(left)
        if isinstance(turn, str):
            yield turn
        else:
            for n, (name, args) in enumerate(turn):
                yield {n: DeltaToolCall(name, args)}

    return FunctionModel(answer, stream_function=stream, model_name="scripted")


def agent(recorder, *turns, tools=ALL, name="helper", **more):
    return Agent(scripted(*turns), tools=list(tools), name=name, capabilities=[RecordingCapability(recorder)], **more)


@pytest.fixture(autouse=True)
def nothing_stays_open():
    yield
    assert _open.get() is None


def test_a_run(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path, secret_values=["open-sesame-99"])
    made = agent(recorder, [("search", '{"query": "open-sesame-99"}')], [("search", {"query": "b"})])
    assert made.run_sync("hello").output == "done"
    recorder.finish()
    found = spans(recorder)
    assert [(one.kind, one.name, one.status, one.inside) for one in found] == [
        ("agent", "helper", "ok", None),
        ("model", "scripted", "ok", "helper"), ("tool", "search", "ok", "helper"),
        ("model", "scripted", "ok", "helper"), ("tool", "search", "ok", "helper"),
        ("model", "scripted", "ok", "helper"),
    ]
    assert (found[0].input, found[0].output) == ({"prompt": "hello"}, "done")
    assert found[1].input == {"messages": [{"kind": "request", "parts": [{"part": "user-prompt", "content": "hello"}]}]}
    assert found[3].output["parts"][0]["tool_name"] == "search"
    assert found[4][4:] == ({"query": "b"}, {"found": "b"})
    assert "open-sesame-99" not in path.read_text()
    assert rules(path, "search") == []
    assert rules(path, "read") == [("permission-overreach", "search")] * 2


def test_the_same_twice_is_redundant(tmp_path):
    path = tmp_path / "run.jsonl"
    with ExecutionRecorder(output=path) as recorder:
        agent(recorder, [("search", {"query": "a"})], [("search", '{"query": "a"}')]).run_sync("hello")
    assert rules(path, "search") == [("redundant-call", "search")]


def test_async_parallel_and_streamed():
    recorder = ExecutionRecorder()
    wanted = [("asearch", f'{{"query": "{n}"}}') for n in range(8)]

    async def main():
        assert (await agent(recorder, wanted).run("hello")).output == "done"
        async with agent(recorder, wanted).run_stream("hello") as streamed:
            assert [part async for part in streamed.stream_text(delta=True)] == ["done"]
        async with agent(recorder, wanted).iter("hello") as running:
            async for _ in running:
                pass
        assert _open.get() is None

    asyncio.run(main())
    seen = tools(recorder)
    assert [one.input["query"] for one in seen] == [str(n) for n in range(8)] * 3
    assert all((one.inside, one.output) == ("helper", {"found": one.input["query"]}) for one in seen)
    assert {one.status for one in spans(recorder)} == {"ok"}
    assert [one.output for one in spans(recorder) if one.kind == "agent"] == ["done"] * 3


def test_a_stream_that_is_left():
    recorder = ExecutionRecorder()

    async def main():
        async with agent(recorder).run_stream("hello"):
            pass
        async with agent(recorder, [("search", {"query": "a"})]).iter("hello") as running:
            async for _ in running:
                break

    asyncio.run(main())
    assert {one.status for one in spans(recorder)} <= {"ok", "cancelled"}


def test_errors_by_their_type(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path)
    with pytest.raises(Failure):
        agent(recorder, [("broken", {"query": "a"})]).run_sync("hello")
    assert [(one.name, one.status, one.output) for one in spans(recorder) if one.status != "ok"] == [
        ("helper", "error", "Failure"), ("broken", "error", "Failure"),
    ]

    def again(query: str) -> str:
        if query == "a":
            raise ModelRetry("secret message")
        return query

    agent(recorder, [("again", {"query": "a"})], [("again", {"query": "b"})], tools=[again]).run_sync("hello")
    recorder.finish()
    assert calls(recorder) == [
        ("broken", {"query": "a"}, {"error_type": "Failure"}),
        ("again", {"query": "a"}, {"error_type": "ModelRetry"}),
        ("again", {"query": "b"}, {"content": "b"}),
    ]
    assert "secret message" not in "".join(line for line in path.read_text().splitlines() if '"kind":"tool"' in line)


def test_a_model_that_fails():
    recorder = ExecutionRecorder()

    def fail(messages, info):
        raise Failure

    with pytest.raises(Failure):
        Agent(FunctionModel(fail), capabilities=[RecordingCapability(recorder)]).run_sync("hello")
    assert [(one.kind, one.status, one.output) for one in spans(recorder)] == [
        ("agent", "error", "Failure"), ("model", "error", "Failure"),
    ]


def test_cancellation():
    recorder = ExecutionRecorder()

    async def main():
        task = asyncio.create_task(agent(recorder, [("slow", {"query": "a"})]).run("hello"))
        while not tools(recorder):
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert {one.name: one.status for one in spans(recorder)} == {
        "helper": "cancelled", "scripted": "ok", "slow": "cancelled",
    }
    assert calls(recorder) == []


def test_calls_that_wait_for_approval_did_not_run():
    recorder = ExecutionRecorder()

    def inside(ctx: RunContext, query: str) -> str:
        raise ApprovalRequired

    asked = Tool(lambda query: {"deleted": query}, name="delete", requires_approval=True)
    made = agent(
        recorder, [("delete", {"query": "a"}), ("inside", {"query": "b"})], tools=[asked, inside],
        output_type=[str, DeferredToolRequests],
    )  # fmt: skip
    assert len(made.run_sync("hello").output.approvals) == 2
    assert [(one.name, one.status) for one in tools(recorder)] == [("inside", "cancelled")] and calls(recorder) == []


def test_an_agent_inside_a_tool():
    recorder = ExecutionRecorder()
    inner = agent(recorder, [("search", {"query": "deep"})], name="inner")

    def step(query):
        return query

    async def ask(query: str) -> str:
        recorder.wrap(step, kind="loop")(query)
        return (await inner.run(query)).output

    def in_a_thread(query: str) -> str:
        return recorder.wrap(step, kind="loop", name="threaded")(query)

    wanted = [("ask", {"query": "a"}), ("in_a_thread", {"query": "b"})]
    outer = agent(recorder, wanted, tools=[ask, in_a_thread], name="outer")
    with recorder.span("agent", "outside"):
        outer.run_sync("hello")
    inside = {one.name: one.inside for one in spans(recorder) if one.kind != "model"}
    assert inside == {
        "outside": None, "outer": "outside", "ask": "outer", "in_a_thread": "outer", "step": "ask", "inner": "ask",
        "search": "inner", "threaded": "in_a_thread",
    }  # fmt: skip


def test_arguments_and_outputs_that_are_no_json():
    recorder = ExecutionRecorder()

    def book(day: datetime.date, price: decimal.Decimal, level: Level) -> ToolReturn:
        return ToolReturn(return_value={"day": 1}, content="more")

    with pytest.raises(Exception, match="serialize|object"):
        agent(recorder, [("odd", {"query": "a"})]).run_sync("hello")
    given = {"day": "2030-01-02", "price": "1.50", "level": "high"}
    agent(recorder, [("book", given)], tools=[book]).run_sync("hello")
    assert tools(recorder)[0].output == {"capture_omitted": "type", "type": "object"}
    assert calls(recorder) == [("book", given, {"day": 1})]


def test_runs_at_once_do_not_mix():
    recorder = ExecutionRecorder()

    async def main():
        one = lambda n: agent(recorder, [("asearch", {"query": str(n)})], name=f"agent {n}").run("hello")  # noqa: E731
        await asyncio.gather(*map(one, range(12)))

    asyncio.run(main())
    assert sorted((one.inside, one.input["query"]) for one in tools(recorder)) == sorted((f"agent {n}", str(n)) for n in range(12))


def test_a_toolset_alone_and_a_capability_of_one_run():
    recorder = ExecutionRecorder()
    toolset = RecordingToolset(FunctionToolset([search]), recorder)
    Agent(TestModel(), toolsets=[toolset]).run_sync("hello")
    assert [(one.kind, one.name, one.output) for one in spans(recorder)] == [("tool", "search", {"found": "a"})]
    Agent(TestModel(), tools=[search], name="once").run_sync("hello", capabilities=[RecordingCapability(recorder)])
    assert [(one.name, one.inside) for one in tools(recorder)] == [("search", None), ("search", "once")]


def test_nothing_is_raised_into_the_run(monkeypatch):
    recorder = ExecutionRecorder()
    monkeypatch.setattr(recorder, "_around", lambda: 1 / 0)
    monkeypatch.setattr("toolreplay.adapters.pydantic_ai._message", lambda message: 1 / 0)
    assert agent(recorder, [("search", {"query": "a"})]).run_sync("hello").output == "done"
    assert recorder.finish()["capture_errors"] >= 4


def test_output_functions_are_recorded(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path)
    ran = []

    def transfer(amount: int, to: str) -> str:
        ran.append(amount)
        if amount == 1:
            raise ModelRetry("more")
        return f"{amount} to {to}"

    made = agent(recorder, [("final_result", {"amount": 1, "to": "x"})], [("final_result", {"amount": 2, "to": "x"})], output_type=transfer)
    assert made.run_sync("hello").output == "2 to x" and ran == [1, 2]
    # arguments that the function does not take did not reach it
    other = agent(recorder, [("final_result", {"amount": "none"})], [("final_result", {"amount": 3, "to": "y"})], output_type=transfer)
    assert other.run_sync("hello").output == "3 to y"

    def shout(text: str) -> str:
        return text.upper()

    as_text = agent(recorder, "words", output_type=TextOutput(shout))
    assert as_text.run_sync("hello").output == "WORDS"
    found = [(one.name, one.input, one.status) for one in tools(recorder)]
    assert [one[1:] for one in found] == [
        ({"amount": 1, "to": "x"}, "error"), ({"amount": 2, "to": "x"}, "ok"), ({"amount": 3, "to": "y"}, "ok"),
        ({"output": "words"}, "ok"),
    ], found
    assert {one[0] for one in found[:3]} == {"transfer"}
    recorder.finish()
    assert ("permission-overreach", "transfer") in rules(path, "search")


def test_output_without_a_function_is_no_tool():
    recorder = ExecutionRecorder()
    made = agent(recorder, [("final_result", {"response": 7})], output_type=int)
    assert made.run_sync("hello").output == 7 and tools(recorder) == []


@pytest.mark.parametrize("same", [True, False])
def test_two_capabilities_record_each_call_once(same):
    recorder = ExecutionRecorder()
    one = RecordingCapability(recorder)
    made = Agent(scripted([("search", {"query": "a"})]), tools=ALL, name="helper")
    result = made.run_sync("hello", capabilities=[one, one if same else RecordingCapability(recorder)])
    assert result.output == "done"
    assert [(one.kind, one.name) for one in spans(recorder)] == [
        ("agent", "helper"), ("model", "scripted"), ("tool", "search"), ("model", "scripted"),
    ]
