"""Strands, recorded: real agents with a scripted model."""

import asyncio
import json
import threading

import pytest
from recordings import calls, rules, spans, tools
from strands import Agent, tool
from strands.hooks import AfterToolCallEvent, BeforeToolCallEvent
from strands.middleware import ExecuteToolStage, ToolResultEvent
from strands.models import Model
from strands.multiagent import Swarm

from toolreplay.adapters.strands import RecordingPlugin
from toolreplay.tracing import ExecutionRecorder


class Failure(Exception):
    pass


class Scripted(Model):
    """Asks for tools turn by turn, and then says `done`."""

    def __init__(self, *turns):
        self.turns, self.asked = list(turns), 0

    def update_config(self, **config):
        pass

    def get_config(self):
        return {"model_id": "scripted"}

    def structured_output(self, output_model, prompt, system_prompt=None, **more):
        raise NotImplementedError

    async def stream(self, messages, tool_specs=None, system_prompt=None, **more):
        turn = self.turns.pop(0) if self.turns else "done"
        if isinstance(turn, Exception):
            raise turn
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(turn, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": turn}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}
            return
        for name, arguments in turn:
            self.asked += 1
            use = {"name": name, "toolUseId": f"call-{self.asked}"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use"}}


@tool
def search(query: str) -> dict:
    """Searches.

    Args:
        query: What for.
    """
    return {"found": query}


@tool
async def asearch(query: str) -> str:
    """Searches.

    Args:
        query: What for.
    """
    await asyncio.sleep(0)
    return query


@tool
def broken(query: str) -> str:
    """Fails.

    Args:
        query: What for.
    """
    raise Failure("secret message")


def agent(recorder, *turns, tools=(search, asearch, broken), name="helper", plugins=(), **more):
    plugins = [RecordingPlugin(recorder), *plugins]
    return Agent(Scripted(*turns), tools=list(tools), name=name, plugins=plugins, callback_handler=None, **more)


def said(text):
    return {"content": [{"text": text}]}


def test_a_run(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path, secret_values=["open-sesame-99"])
    made = agent(recorder, [("search", {"query": "open-sesame-99"})], [("asearch", {"query": "b"})])
    assert str(made("hello")).strip() == "done"
    recorder.finish()
    assert [(one.kind, one.name, one.status, one.inside) for one in spans(recorder)] == [
        ("agent", "helper", "ok", None),
        ("model", "scripted", "ok", "helper"), ("tool", "search", "ok", "helper"),
        ("model", "scripted", "ok", "helper"), ("tool", "asearch", "ok", "helper"),
        ("model", "scripted", "ok", "helper"),
    ]
    assert tools(recorder)[1][4:] == ({"query": "b"}, said("b"))
    assert "open-sesame-99" not in path.read_text()
    assert rules(path, "search", "asearch") == []
    assert rules(path, "read") == [("permission-overreach", "search"), ("permission-overreach", "asearch")]


def test_the_same_twice_is_redundant(tmp_path):
    path = tmp_path / "run.jsonl"
    with ExecutionRecorder(output=path) as recorder:
        agent(recorder, [("search", {"query": "a"})], [("search", {"query": "a"})])("hello")
    assert rules(path, "search") == [("redundant-call", "search")]


def test_parallel_and_streamed():
    recorder = ExecutionRecorder()
    made = agent(recorder, [("asearch", {"query": str(n)}) for n in range(8)])

    async def main():
        return [event async for event in made.stream_async("hello")]

    assert asyncio.run(main())
    seen = tools(recorder)
    assert sorted(one.input["query"] for one in seen) == [str(n) for n in range(8)]
    assert all(one.inside == "helper" and one.output == said(one.input["query"]) for one in seen)
    assert {one.status for one in spans(recorder)} == {"ok"}


def test_errors_by_their_type(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path)

    @tool
    def unwilling(query: str) -> dict:
        """Says that it failed.

        Args:
            query: What for.
        """
        return {"status": "error", "content": [{"text": "no"}]}

    agent(recorder, [("broken", {"query": "a"})], [("unwilling", {"query": "a"})], tools=[broken, unwilling])("hello")
    assert [(one.name, one.status, one.output) for one in tools(recorder)] == [
        ("broken", "error", "Failure"), ("unwilling", "error", "ToolError"),
    ]
    with pytest.raises(Failure):
        agent(recorder, Failure("secret message"))("hello")
    assert [(one.kind, one.status) for one in spans(recorder)][-2:] == [("agent", "cancelled"), ("model", "error")]
    recorder.finish()
    assert "secret message" not in "".join(line for line in path.read_text().splitlines() if '"kind":"tool"' in line)
    assert calls(recorder)[0] == ("broken", {"query": "a"}, {"error_type": "Failure"})


def test_retries_are_calls():
    recorder = ExecutionRecorder()
    tries = []

    @tool
    def flaky(query: str) -> str:
        """Works the second time.

        Args:
            query: What for.
        """
        tries.append(query)
        if len(tries) == 1:
            raise Failure
        return query

    made = agent(recorder, [("flaky", {"query": "a"})], tools=[flaky])

    def again(event):
        event.retry = event.exception is not None

    made.add_hook(again, AfterToolCallEvent)
    made("hello")
    assert [one.status for one in tools(recorder)] == ["error", "ok"] and len(tries) == 2


def test_what_did_not_run_is_no_call():
    recorder = ExecutionRecorder()
    ran = []

    @tool
    def number(n: int) -> int:
        """Takes a number.

        Args:
            n: The number.
        """
        ran.append(n)
        if n == 9:
            # an error of the same type, but of the tool itself
            raise ValueError("nine")
        return n

    wanted = [("number", {"n": n}) for n in ("none", 5, 7, 9, 2)]
    made = agent(recorder, [*wanted, ("unknown", {"n": 1})], tools=[number])

    def veto(event):
        if event.tool_use["input"].get("n") == 5:
            event.cancel_tool = "no"

    async def cached(context, next_fn):
        # registered after the recorder's, so it is inside of it
        if context.tool_use["input"].get("n") == 7:
            yield ToolResultEvent({"toolUseId": context.tool_use["toolUseId"], "status": "success", "content": []})
            return
        async for event in next_fn(context):
            yield event

    made.add_hook(veto, BeforeToolCallEvent)
    made.add_middleware(ExecuteToolStage, cached)
    made("hello")
    assert sorted(ran) == [2, 9]
    assert sorted((one.input["n"], one.status, one.output) for one in tools(recorder)) == [
        (2, "ok", said("2")), (9, "error", "ValueError"),
    ]


def test_an_interrupt_is_no_error():
    recorder = ExecutionRecorder()

    @tool(context=True)
    def confirmed(query: str, tool_context) -> str:
        """Asks a human.

        Args:
            query: What for.
        """
        return tool_context.interrupt("sure", reason="sure?")

    made = agent(recorder, [("confirmed", {"query": "a"})], tools=[confirmed])
    asked = made("hello")
    assert asked.stop_reason == "interrupt"
    answer = {"interruptResponse": {"interruptId": asked.interrupts[0].id, "response": "yes"}}
    made([answer])
    assert [(one.status, one.output) for one in tools(recorder)] == [("cancelled", None), ("ok", said("yes"))]
    assert len(calls(recorder)) == 1


def test_cancellation():
    recorder = ExecutionRecorder()
    begun = asyncio.Event()

    @tool
    async def slow(query: str) -> str:
        """Takes long.

        Args:
            query: What for.
        """
        begun.set()
        await asyncio.Event().wait()

    made = agent(recorder, [("slow", {"query": "a"})], tools=[slow])

    async def main():
        task = asyncio.create_task(made.invoke_async("hello"))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [(one.name, one.status) for one in tools(recorder)] == [("slow", "cancelled")]
    assert calls(recorder) == []


def test_agents_in_tools_and_hand_overs():
    recorder = ExecutionRecorder()
    inner = agent(recorder, [("search", {"query": "deep"})], name="inner")
    outer = agent(recorder, [("inner", {"input": "hello"})], tools=[inner.as_tool(name="inner")], name="outer")
    outer("hello")
    assert [(one.name, one.inside) for one in tools(recorder)] == [("inner", "outer"), ("search", "inner")]
    assert {one.name: one.inside for one in spans(recorder) if one.kind == "agent"} == {"outer": None, "inner": "inner"}

    recorder = ExecutionRecorder()
    first = agent(recorder, [("handoff_to_agent", {"agent_name": "second", "message": "go"})], name="first")
    second = agent(recorder, [("search", {"query": "b"})], name="second")
    Swarm([first, second])("hello")
    assert [(one.name, one.inside) for one in tools(recorder)] == [("handoff_to_agent", "first"), ("search", "second")]


def test_direct_calls_are_calls():
    recorder = ExecutionRecorder()
    made = agent(recorder)
    made.tool.search(query="direct")
    assert [(one.name, one.input) for one in tools(recorder)] == [("search", {"query": "direct"})]


def test_agents_at_once_do_not_mix():
    recorder = ExecutionRecorder()
    made = [agent(recorder, [("search", {"query": f"agent{n}"})], name=f"agent{n}") for n in range(8)]
    threads = [threading.Thread(target=one, args=("hello",)) for one in made]
    [one.start() for one in threads]
    [one.join() for one in threads]
    assert sorted((one.input["query"], one.inside) for one in tools(recorder)) == [(f"agent{n}",) * 2 for n in range(8)]


def test_two_plugins_record_each_call_once():
    recorder, other = ExecutionRecorder(), ExecutionRecorder()

    class Second(RecordingPlugin):
        name = "second"

    class Third(RecordingPlugin):
        name = "third"

    made = agent(recorder, [("search", {"query": "a"}), ("asearch", {"query": "b"})], plugins=[Second(recorder), Third(other)])
    made("hello")
    for one in (recorder, other):
        assert sorted((seen.kind, seen.name) for seen in spans(one)) == [
            ("agent", "helper"), ("model", "scripted"), ("model", "scripted"), ("tool", "asearch"), ("tool", "search"),
        ]


def test_nothing_is_raised_into_the_agent():
    recorder = ExecutionRecorder()
    plugin = RecordingPlugin(recorder)
    plugin._spans.begin = plugin._spans.parent = lambda *_, **__: 1 / 0
    made = Agent(Scripted([("search", {"query": "a"})]), tools=[search], plugins=[plugin], callback_handler=None)
    assert str(made("hello")).strip() == "done"
    assert recorder.finish()["capture_errors"] >= 3
