"""LlamaIndex, recorded: real agents with a scripted model."""

import asyncio

import pytest
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.base.llms.types import ChatResponse, LLMMetadata
from llama_index.core.tools import BaseTool, FunctionTool, QueryEngineTool, ToolMetadata, ToolOutput
from llama_index.core.tools.calling import acall_tool, call_tool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from recordings import calls, rules, spans, tools

from toolreplay.adapters.llama_index import record
from toolreplay.tracing import ExecutionRecorder


class Failure(Exception):
    pass


class Scripted(MockLLM, FunctionCallingLLM):
    """Asks for tools turn by turn, and then says `done`."""

    turns: list = []

    @property
    def metadata(self):
        return LLMMetadata(model_name="scripted", is_function_calling_model=True)

    def _answer(self):
        turn = self.turns.pop(0) if self.turns else "done"
        if isinstance(turn, Exception):
            raise turn
        content = turn if isinstance(turn, str) else ""
        asked = [] if isinstance(turn, str) else turn
        return ChatResponse(message=ChatMessage(role="assistant", content=content, additional_kwargs={"asked": asked}))

    async def achat(self, messages, **more):
        return self._answer()

    async def astream_chat(self, messages, **more):
        async def parts():
            yield self._answer()

        return parts()

    def _prepare_chat_with_tools(self, tools, user_msg=None, chat_history=None, **more):
        return {"messages": chat_history or []}

    def get_tool_calls_from_response(self, response, error_on_no_tool_call=True, **more):
        asked = response.message.additional_kwargs.get("asked", [])
        return [ToolSelection(tool_id=f"{n}", tool_name=name, tool_kwargs=args) for n, (name, args) in enumerate(asked)]


def search(query: str) -> dict:
    """Searches."""
    return {"found": query}


async def asearch(query: str) -> dict:
    """Searches."""
    await asyncio.sleep(0)
    return {"found": query}


def broken(query: str) -> str:
    """Fails."""
    raise Failure("secret message")


@pytest.fixture
def recorder():
    made = ExecutionRecorder()
    handler = record(made)
    yield made
    handler.close()


def agent(*turns, tools=(search, asearch, broken), name="helper", **more):
    llm = Scripted()
    llm.turns = list(turns)
    return FunctionAgent(name=name, description=name, tools=list(tools), llm=llm, **more)


def run(made, message="hello"):
    async def main():
        return str(await made.run(message))

    return asyncio.run(main())


def test_a_run(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path, secret_values=["open-sesame-99"])
    handler = record(recorder)
    assert run(agent([("search", {"query": "open-sesame-99"})], [("search", {"query": "b"})])) == "done"
    handler.close()
    run(agent([("search", {"query": "unseen"})]))
    recorder.finish()
    assert [(one.name, one.status) for one in tools(recorder)] == [("search", "ok")] * 2
    assert tools(recorder)[1][4:] == ({"query": "b"}, {"found": "b"})
    assert {(one.kind, one.name) for one in spans(recorder)} == {("model", "scripted"), ("tool", "search")}
    assert "open-sesame-99" not in path.read_text() and "unseen" not in path.read_text()
    assert rules(path, "search") == []
    assert rules(path, "read") == [("permission-overreach", "search")] * 2


def test_the_same_twice_is_redundant(tmp_path):
    path = tmp_path / "run.jsonl"
    with ExecutionRecorder(output=path) as recorder:
        handler = record(recorder)
        run(agent([("search", {"query": "a"})], [("search", {"query": "a"})]))
        handler.close()
    assert rules(path, "search") == [("redundant-call", "search")]


@pytest.mark.parametrize("streaming", [True, False])
def test_parallel_and_streamed(recorder, streaming):
    async def main():
        running = agent([("asearch", {"query": str(n)}) for n in range(8)], streaming=streaming).run("hello")
        events = [event async for event in running.stream_events()]
        await running
        return events

    assert asyncio.run(main())
    seen = tools(recorder)
    assert sorted(one.input["query"] for one in seen) == [str(n) for n in range(8)]
    assert all(one.output == {"found": one.input["query"]} for one in seen)
    assert {one.status for one in spans(recorder)} == {"ok"}


def test_errors_by_their_type(recorder):
    class Unwilling(BaseTool):
        metadata = ToolMetadata("Says that it failed.", "unwilling")

        def __call__(self, input):
            return ToolOutput(content="no", tool_name="unwilling", raw_input={}, raw_output="no", is_error=True)

    run(agent([("broken", {"query": "a"})], [("unwilling", {"input": "a"})], tools=[broken, Unwilling()]))
    assert [(one.name, one.status, one.output) for one in tools(recorder)] == [
        ("broken", "error", "Failure"), ("unwilling", "error", "ToolError"),
    ]
    with pytest.raises(Exception):
        run(agent(Failure("secret message"), streaming=False))
    assert [one.status for one in spans(recorder) if one.kind == "model"][-1] == "error"
    assert b"secret message" not in b"".join(line for line in recorder.capture().splitlines() if b'"kind":"tool"' in line)
    assert calls(recorder)[0] == ("broken", {"query": "a"}, {"error_type": "Failure"})


def test_invalid_arguments_reach_no_tool(recorder):
    ran = []

    def number(n: int) -> int:
        """Takes a number."""
        ran.append(n)
        if n == 9:
            # an error of the same type, but of the tool itself
            raise TypeError("nine")
        return n

    run(agent([("number", {})], [("number", {"m": 1})], [("number", {"n": 9})], [("number", {"n": 2})], tools=[number]))
    assert ran == [9, 2]
    assert [(one.input, one.status) for one in tools(recorder)] == [({"n": 9}, "error"), ({"n": 2}, "ok")]


def test_hand_overs_and_agents_in_tools(recorder):
    inner = agent([("search", {"query": "deep"})], name="inner")

    async def ask(query: str) -> str:
        """Asks another agent."""
        return str(await inner.run(query))

    first = agent([("ask", {"query": "a"})], [("handoff", {"to_agent": "second", "reason": "go"})], tools=[ask], name="first")
    second = agent([("search", {"query": "b"})], name="second")
    run(AgentWorkflow(agents=[first, second], root_agent="first"))
    assert [(one.name, one.status) for one in tools(recorder)] == [
        ("ask", "ok"), ("search", "ok"), ("handoff", "ok"), ("search", "ok"),
    ]
    assert tools(recorder)[1].inside == "ask"
    assert tools(recorder)[2].input == {"to_agent": "second", "reason": "go"}


def test_a_tool_that_waits_for_a_person(recorder):
    async def confirmed(ctx: Context, query: str) -> str:
        """Asks a human."""
        said = await ctx.wait_for_event(HumanResponseEvent, waiter_event=InputRequiredEvent(prefix="sure?"))
        return said.response

    async def main():
        running = agent([("confirmed", {"query": "a"})], tools=[confirmed]).run("hello")
        async for event in running.stream_events():
            if isinstance(event, InputRequiredEvent):
                running.ctx.send_event(HumanResponseEvent(response="yes"))
        await running

    asyncio.run(main())
    seen = tools(recorder)
    assert (seen[-1].input, seen[-1].output) == ({"query": "a"}, "yes")
    assert [one.status for one in seen[:-1]] == ["cancelled"] * (len(seen) - 1)
    assert len(calls(recorder)) == 1


def test_cancellation(recorder):
    async def main():
        begun = asyncio.Event()

        async def slow(query: str) -> str:
            """Takes long."""
            begun.set()
            await asyncio.Event().wait()

        running = agent([("slow", {"query": "a"})], tools=[slow]).run("hello")
        await begun.wait()
        await running.cancel_run()
        with pytest.raises(BaseException):
            await running

    asyncio.run(main())
    assert [(one.name, one.status) for one in tools(recorder)] == [("slow", "cancelled")]
    assert calls(recorder) == []


def test_tools_of_other_kinds(recorder):
    class Plain(BaseTool):
        metadata = ToolMetadata("Plain.", "plain")

        def __call__(self, input):
            return ToolOutput(content="x", tool_name="plain", raw_input={}, raw_output={"plain": input})

    from llama_index.core.query_engine import CustomQueryEngine

    class Engine(CustomQueryEngine):
        def custom_query(self, query_str):
            return "about " + query_str

    engine = QueryEngineTool.from_defaults(Engine(), name="engine", description="Answers.")
    call_tool(Plain(), {"input": "a"})
    asyncio.run(acall_tool(Plain(), {"input": "b"}))
    call_tool(FunctionTool.from_defaults(search), {"query": "c"})
    call_tool(FunctionTool.from_defaults(asearch), {"query": "d"})
    engine.call("e")
    assert [(one.name, one.input) for one in tools(recorder)] == [
        ("plain", {"input": "a"}), ("plain", {"input": "b"}), ("search", {"query": "c"}), ("asearch", {"query": "d"}),
        ("engine", {"args": ["e"]}),
    ]


def test_two_handlers_record_each_call_once(recorder):
    second = record(recorder)
    run(agent([("search", {"query": "a"})]))
    second.close()
    assert [one.name for one in tools(recorder)] == ["search"]


def test_nothing_is_raised_into_the_agent():
    recorder = ExecutionRecorder()
    handler = record(recorder)
    handler._spans.begin = lambda *_, **__: 1 / 0
    assert run(agent([("search", {"query": "a"})])) == "done"
    handler.close()
    assert recorder.finish()["capture_errors"] >= 1
