"""The Agent Development Kit, recorded: real runners with a scripted model."""

import asyncio
import json

import pytest
from google.adk.agents import LlmAgent, ParallelAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps.app import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from recordings import calls, rules, spans, tools

from toolreplay.adapters.google_adk import RecordingPlugin
from toolreplay.tracing import ExecutionRecorder


class Failure(Exception):
    pass


class Scripted(BaseLlm):
    """Asks for tools turn by turn, and then says `done`."""

    model: str = "scripted"
    turns: list = []

    async def generate_content_async(self, llm_request, stream=False):
        turn = self.turns.pop(0) if self.turns else "done"
        if isinstance(turn, BaseException):
            raise turn
        if isinstance(turn, str):
            if stream:
                yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=turn[:2])]), partial=True)
            parts = [types.Part(text=turn)]
        else:
            parts = [types.Part(function_call=types.FunctionCall(name=name, args=args)) for name, args in turn]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def search(query: str) -> dict:
    """Searches."""
    return {"found": query}


async def asearch(query: str) -> dict:
    """Searches."""
    await asyncio.sleep(0)
    return {"found": query}


def broken(query: str) -> dict:
    """Fails."""
    raise Failure("secret message")


def agent(*turns, tools=(search, asearch, broken), name="helper", **more):
    return LlmAgent(name=name, model=Scripted(turns=list(turns)), tools=list(tools), **more)


async def run(root, *plugins, config=None, message="hello", runner=None):
    runner = runner or InMemoryRunner(app=App(name="tested", root_agent=root, plugins=list(plugins)))
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
    said = types.Content(role="user", parts=[types.Part(text=message)])
    events = []
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=said, run_config=config):
        events.append(event)
    return events


def done(events):
    return [part.text for event in events for part in (event.content.parts if event.content else ()) if part.text][-1]


def test_a_run(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path, secret_values=["open-sesame-99"])
    root = agent([("search", {"query": "open-sesame-99"})], [("search", {"query": "b"})])
    assert done(asyncio.run(run(root, RecordingPlugin(recorder)))) == "done"
    recorder.finish()
    assert [(one.kind, one.name, one.status, one.inside) for one in spans(recorder)] == [
        ("agent", "helper", "ok", None),
        ("model", "scripted", "ok", "helper"), ("tool", "search", "ok", "helper"),
        ("model", "scripted", "ok", "helper"), ("tool", "search", "ok", "helper"),
        ("model", "scripted", "ok", "helper"),
    ]
    assert tools(recorder)[1][4:] == ({"query": "b"}, {"found": "b"})
    assert "open-sesame-99" not in path.read_text()
    assert rules(path, "search") == []
    assert rules(path, "read") == [("permission-overreach", "search")] * 2


def test_the_same_twice_is_redundant(tmp_path):
    path = tmp_path / "run.jsonl"
    with ExecutionRecorder(output=path) as recorder:
        root = agent([("search", {"query": "a"})], [("search", {"query": "a"})])
        asyncio.run(run(root, RecordingPlugin(recorder)))
    assert rules(path, "search") == [("redundant-call", "search")]


def test_parallel_and_streamed():
    recorder = ExecutionRecorder()
    root = agent([("asearch", {"query": str(n)}) for n in range(8)] + [("search", {"query": "8"})])
    config = RunConfig(streaming_mode=StreamingMode.SSE)
    events = asyncio.run(run(root, RecordingPlugin(recorder), config=config))
    assert any(event.partial for event in events)
    seen = tools(recorder)
    assert sorted(one.input["query"] for one in seen) == [str(n) for n in range(9)]
    assert all(one.inside == "helper" and one.output == {"found": one.input["query"]} for one in seen)
    assert {one.status for one in spans(recorder)} == {"ok"} and len(spans(recorder)) == 12


def test_agents_at_once_do_not_mix():
    recorder = ExecutionRecorder()
    parts = [agent([("asearch", {"query": f"agent{n}"})], name=f"agent{n}") for n in range(4)]
    asyncio.run(run(ParallelAgent(name="all", sub_agents=parts), RecordingPlugin(recorder)))
    assert sorted((one.input["query"], one.inside) for one in tools(recorder)) == [
        (f"agent{n}", f"agent{n}") for n in range(4)
    ]
    assert {one.inside for one in spans(recorder) if one.kind == "agent"} == {None, "all"}


def test_errors_by_their_type(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path)
    with pytest.raises(Failure):
        asyncio.run(run(agent([("broken", {"query": "a"})]), RecordingPlugin(recorder)))
    assert [(one.kind, one.name, one.output) for one in spans(recorder) if one.status != "ok"] == [
        ("agent", "helper", "Failure"), ("tool", "broken", "Failure"),
    ]
    with pytest.raises(Failure):
        asyncio.run(run(agent(Failure("secret message")), RecordingPlugin(recorder)))
    assert [one.output for one in spans(recorder) if one.kind == "model"][-1] == "Failure"
    recorder.finish()
    assert "secret message" not in path.read_text()
    assert calls(recorder) == [("broken", {"query": "a"}, {"error_type": "Failure"})]


def test_retries_are_calls():
    recorder = ExecutionRecorder()
    tries = []

    def flaky(query: str) -> dict:
        """Works the second time."""
        tries.append(query)
        if len(tries) == 1:
            raise Failure
        return {"found": query}

    from google.adk.plugins.reflect_retry_tool_plugin import ReflectAndRetryToolPlugin

    root = agent([("flaky", {"query": "a"})], [("flaky", {"query": "a"})], tools=[flaky])
    # it answers for the tool, and no later plugin is asked
    plugins = ReflectAndRetryToolPlugin(max_retries=2), RecordingPlugin(recorder)
    asyncio.run(run(root, *plugins))
    assert [one.status for one in tools(recorder)] == ["error", "ok"]


def test_a_hand_over_and_an_agent_as_a_tool():
    recorder = ExecutionRecorder()
    expert = agent([("search", {"query": "deep"})], name="expert", description="Knows more.")
    inner = agent([("asearch", {"query": "inner"})], name="inner", description="Is asked.")
    root = agent(
        [("inner", {"request": "hello"})], [("transfer_to_agent", {"agent_name": "expert"})],
        tools=[AgentTool(inner)], sub_agents=[expert],
    )
    asyncio.run(run(root, RecordingPlugin(recorder)))
    assert [(one.name, one.inside, one.status) for one in tools(recorder)] == [
        ("inner", "helper", "ok"), ("asearch", "inner", "ok"),
        ("transfer_to_agent", "helper", "ok"), ("search", "expert", "ok"),
    ]
    agents = {one.name: one.inside for one in spans(recorder) if one.kind == "agent"}
    assert agents == {"helper": None, "inner": "inner", "expert": "helper"}


def test_cancellation():
    recorder = ExecutionRecorder()
    begun = asyncio.Event()

    async def slow(query: str) -> dict:
        """Takes long."""
        begun.set()
        await asyncio.Event().wait()

    async def main():
        task = asyncio.create_task(run(agent([("slow", {"query": "a"})], tools=[slow]), RecordingPlugin(recorder)))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [(one.name, one.status) for one in tools(recorder)] == [("slow", "cancelled")]
    assert calls(recorder) == []


def test_what_did_not_run_is_no_call():
    recorder = ExecutionRecorder()
    ran = []

    def number(n: int) -> dict:
        """Takes a number."""
        ran.append(n)
        return {"n": n}

    def answered(tool, args, tool_context):
        return {"answered": True} if args.get("n") == 7 else None

    wanted = [[("number", {})], [("unknown", {"n": 1})], [("number", {"n": 7})], [("number", {"n": 2})]]
    asyncio.run(run(agent(*wanted, tools=[number], before_tool_callback=answered), RecordingPlugin(recorder)))
    assert [(one.name, one.input, one.output) for one in tools(recorder)] == [("number", {"n": 2}, {"n": 2})]

    asked = FunctionTool(number, require_confirmation=True)
    asyncio.run(run(agent([("number", {"n": 3})], tools=[asked]), RecordingPlugin(recorder)))
    assert ran == [2] and len(tools(recorder)) == 1


def test_tools_of_other_kinds():
    recorder = ExecutionRecorder()

    class Own(BaseTool):
        def _get_declaration(self):
            return types.FunctionDeclaration(name=self.name, description=self.description)

        async def run_async(self, *, args, tool_context):
            if args.get("fail"):
                raise Failure
            return {"own": args}

    class Callable:
        """Is called."""

        def __call__(self, query: str) -> dict:
            return {"called": query}

    own = Own(name="own", description="Own.")
    root = agent([("own", {"a": 1})], [("Callable", {"query": "x"})], [("own", {"fail": True})], tools=[own, Callable()])
    with pytest.raises(Failure):
        asyncio.run(run(root, RecordingPlugin(recorder)))
    assert [(one.name, one.status, one.output) for one in tools(recorder)] == [
        ("own", "ok", {"own": {"a": 1}}), ("Callable", "ok", {"called": "x"}), ("own", "error", "Failure"),
    ]


@pytest.mark.parametrize("same", [True, False])
def test_two_plugins_record_each_call_once(same):
    recorder = ExecutionRecorder()
    other = recorder if same else ExecutionRecorder()
    plugins = RecordingPlugin(recorder), RecordingPlugin(other, name="second")
    asyncio.run(run(agent([("search", {"query": "a"}), ("asearch", {"query": "b"})]), *plugins))
    for one in (recorder, other):
        assert [(seen.kind, seen.name, seen.inside) for seen in spans(one)] == [
            ("agent", "helper", None), ("model", "scripted", "helper"),
            ("tool", "search", "helper"), ("tool", "asearch", "helper"), ("model", "scripted", "helper"),
        ]


def test_nothing_is_raised_into_the_agent():
    recorder = ExecutionRecorder()
    plugin = RecordingPlugin(recorder)
    plugin._spans.begin = plugin._spans.parent = lambda *_, **__: 1 / 0
    assert done(asyncio.run(run(agent([("search", {"query": "a"})]), plugin))) == "done"
    assert recorder.finish()["capture_errors"] >= 3


def test_a_plugin_that_alters_a_result_is_not_what_ran():
    recorder = ExecutionRecorder()

    class Altering(BasePlugin):
        async def after_tool_callback(self, **_):
            return {"altered": True}

    asyncio.run(run(agent([("search", {"query": "a"})]), Altering(name="altering"), RecordingPlugin(recorder)))
    assert json.dumps(tools(recorder)[0].output) == '{"found": "a"}'
