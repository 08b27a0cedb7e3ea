"""CrewAI, recorded: real crews with a scripted model. CrewAI brings more than a hundred packages: run.sh tests it in an
environment of its own, where that is asked for.
"""

import asyncio
import json
import os
import threading

import pytest

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")
pytest.importorskip("crewai")

from crewai import Agent, Crew, Task
from crewai.hooks import register_before_tool_call_hook, unregister_before_tool_call_hook
from crewai.llms.base_llm import BaseLLM
from crewai.tools import BaseTool, ToolFailure, tool
from recordings import calls, rules, spans, tools

from toolreplay.adapters.crewai import RecordingTools
from toolreplay.tracing import ExecutionRecorder


class Failure(Exception):
    pass


class Scripted(BaseLLM):
    """Asks for tools turn by turn, and then says `done`."""

    turns: list = []
    native: bool = True

    def supports_function_calling(self):
        return self.native

    def call(self, messages, tools=None, **more):
        turn = self.turns.pop(0) if self.turns else "done"
        if isinstance(turn, Exception):
            raise turn
        if not self.native:
            if isinstance(turn, str):
                return f"Thought: I now can give a great answer\nFinal Answer: {turn}"
            name, arguments = turn[0]
            return f"Thought: on\nAction: {name}\nAction Input: {json.dumps(arguments)}\n"
        if isinstance(turn, str):
            return turn
        return [
            {"id": f"call-{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for n, (name, arguments) in enumerate(turn)
        ]

    async def acall(self, *args, **more):
        return self.call(*args, **more)


@tool("search")
def search(query: str) -> dict:
    """Searches."""
    return {"found": query}


@tool("asearch")
async def asearch(query: str) -> dict:
    """Searches."""
    await asyncio.sleep(0)
    return {"found": query}


@tool("broken")
def broken(query: str) -> str:
    """Fails."""
    raise Failure("secret message")


class Own(BaseTool):
    name: str = "own"
    description: str = "Own."

    def _run(self, query: str) -> dict:
        if query == "unwilling":
            return ToolFailure(message="no")
        return {"own": query}


def agent(*turns, tools=(search, asearch, broken), role="helper", native=True, **more):
    llm = Scripted(model="scripted", turns=list(turns), native=native)
    return Agent(role=role, goal="help", backstory="none", llm=llm, tools=list(tools), max_retry_limit=0, **more)


def crew(*agents, cache=False, **more):
    task = Task(description="hello", expected_output="done", agent=agents[0])
    return Crew(agents=list(agents), tasks=[task], cache=cache, **more)


@pytest.fixture
def recorder():
    with RecordingTools(made := ExecutionRecorder()):
        yield made


@pytest.mark.parametrize("native", [True, False])
def test_a_run(tmp_path, native):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path, secret_values=["open-sesame-99"])
    with RecordingTools(recorder), recorder.span("agent", "helper"):
        turns = [("search", {"query": "open-sesame-99"})], [("search", {"query": "b"})]
        assert "done" in str(crew(agent(*turns, native=native)).kickoff())
    crew(agent([("search", {"query": "unseen"})], native=native)).kickoff()
    recorder.finish()
    assert [(one.name, one.status, one.inside) for one in tools(recorder)] == [("search", "ok", "helper")] * 2
    assert tools(recorder)[1][4:] == ({"query": "b"}, {"found": "b"})
    assert "open-sesame-99" not in path.read_text() and "unseen" not in path.read_text()
    assert rules(path, "search") == []
    assert rules(path, "read") == [("permission-overreach", "search")] * 2


def test_the_same_twice_is_redundant(tmp_path):
    path = tmp_path / "run.jsonl"
    with ExecutionRecorder(output=path) as recorder, RecordingTools(recorder):
        crew(agent([("search", {"query": "a"})], [("search", {"query": "a"})])).kickoff()
    assert rules(path, "search") == [("redundant-call", "search")]


def test_parallel_and_async(recorder):
    wanted = [("asearch", {"query": str(n)}) for n in range(4)] + [("search", {"query": str(n)}) for n in range(4, 8)]
    crew(agent(wanted)).kickoff()
    assert sorted(one.input["query"] for one in tools(recorder)) == [str(n) for n in range(8)]
    assert all(one.output == {"found": one.input["query"]} for one in tools(recorder))
    asyncio.run(asearch.arun(query="last"))
    assert tools(recorder)[-1].output == {"found": "last"} and {one.status for one in spans(recorder)} == {"ok"}


@pytest.mark.parametrize("native", [True, False])
def test_errors_by_their_type(recorder, native):
    turns = [("broken", {"query": "a"})], [("own", {"query": "unwilling"})]
    crew(agent(*turns, tools=[broken, Own()], native=native)).kickoff()
    seen = [(one.name, one.status, one.output) for one in tools(recorder)]
    assert set(seen) == {("broken", "error", "Failure"), ("own", "error", "ToolError")}
    # without function calling CrewAI tries a tool that failed again, by itself
    tries = seen.count(("broken", "error", "Failure"))
    assert tries == 1 if native else tries > 1
    assert b"secret message" not in recorder.capture()
    assert calls(recorder)[0] == ("broken", {"query": "a"}, {"error_type": "Failure"})


@pytest.mark.parametrize("native", [True, False])
def test_what_did_not_run_is_no_call(recorder, native):
    ran = []

    @tool("number")
    def number(n: int) -> int:
        """Takes a number."""
        ran.append(n)
        return n

    def veto(context):
        return False if context.tool_input.get("n") == 5 else None

    turns = [[("number", {"n": n})] for n in ("none", 5, 2)]
    register_before_tool_call_hook(veto)
    try:
        crew(agent(*turns, [("number", {"n": 2})], [("unknown", {"n": 1})], tools=[number], native=native), cache=True).kickoff()
    finally:
        unregister_before_tool_call_hook(veto)
    # the second of two equal calls came from the cache
    assert ran == [2] and [one.input for one in tools(recorder)] == [{"n": 2}]
    once = number.model_copy(update={"max_usage_count": 1, "current_usage_count": 0})
    once.run(n=7), once.run(n=8)
    assert [one.input for one in tools(recorder)] == [{"n": 2}, {"n": 7}]


def test_a_hand_over(recorder):
    helper = agent([("delegate_work_to_coworker", {"task": "look", "context": "none", "coworker": "expert"})],
                   allow_delegation=True)
    expert = agent([("search", {"query": "deep"})], role="expert")
    crew(helper, expert).kickoff()
    assert [(one.name, one.inside) for one in tools(recorder)] == [
        ("Delegate work to coworker", None), ("search", "Delegate work to coworker"),
    ]


def test_interruption(recorder):
    @tool("stopped")
    def stopped(query: str) -> str:
        """Is stopped."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped.run(query="a")

    async def main():
        begun = asyncio.Event()

        @tool("slow")
        async def slow(query: str) -> str:
            """Takes long."""
            begun.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(slow.arun(query="a"))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [(one.name, one.status) for one in tools(recorder)] == [("stopped", "cancelled"), ("slow", "cancelled")]
    assert calls(recorder) == []


def test_a_tool_that_calls_its_own_kind(recorder):
    class Base(BaseTool):
        name: str = "layered"
        description: str = "Layered."

        def _run(self, query: str) -> str:
            return query

    class Derived(Base):
        def _run(self, query: str) -> str:
            return super()._run(query) + "!"

        async def _arun(self, query: str) -> str:
            return self._run(query)

    with RecordingTools(recorder):
        assert Derived().run(query="a") == "a!" and asyncio.run(Derived().arun(query="b")) == "b!"
    assert [(one.name, one.output) for one in tools(recorder)] == [("layered", "a!"), ("layered", "b!")]


def test_runs_at_once_and_two_recorders():
    first, second = ExecutionRecorder(), ExecutionRecorder()
    with RecordingTools(first), RecordingTools(first), RecordingTools(second):
        threads = [threading.Thread(target=search.run, kwargs={"query": str(n)}) for n in range(8)]
        [one.start() for one in threads]
        [one.join() for one in threads]
    for one in (first, second):
        assert sorted(seen.input["query"] for seen in tools(one)) == [str(n) for n in range(8)]
