"""The OpenAI Agents SDK, recorded: real runs with a scripted model."""

import asyncio
import contextlib
import itertools
import logging
import types

import mcp.types
import pytest
from agents import (
    Agent,
    LocalShellTool,
    ModelSettings,
    RunConfig,
    Runner,
    WebSearchTool,
    function_tool,
    generation_span,
    response_span,
    set_trace_processors,
    tool_input_guardrail,
)
from agents.exceptions import ModelBehaviorError
from agents.mcp import MCPServer
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from agents.tool_guardrails import ToolGuardrailFunctionOutput
from openai.types.responses import ResponseFunctionWebSearch
from openai.types.responses.response_output_item import LocalShellCall, McpCall
from recordings import calls, rules, spans, tools

from toolreplay.adapters.openai_agents import RecordingProcessor
from toolreplay.tracing import ExecutionRecorder, _open


class Failure(Exception):
    pass


@function_tool
def search(query: str) -> dict:
    return {"found": query}


@function_tool
async def asearch(query: str) -> dict:
    await asyncio.sleep(0.001)
    return {"found": query}


@function_tool
def broken(query: str) -> str:
    raise Failure("secret message")


@function_tool(failure_error_function=None)
async def fatal(query: str) -> str:
    raise Failure("secret message")


@function_tool
async def slow(query: str) -> str:
    await asyncio.sleep(60)


@function_tool
def odd(query: str):
    return object()


@function_tool
def nothing() -> None:
    pass


class Traced(ScriptedModel):
    """Traces its requests as the models of the SDK do."""

    async def get_response(self, system_instructions, input, *args, **more):
        with generation_span(model="scripted", model_config={}) as span:
            span.span_data.input = [{"role": "user", "content": input}] if isinstance(input, str) else input
            response = await super().get_response(system_instructions, input, *args, **more)
            span.span_data.output = [one.model_dump() for one in response.output]
            return response


ids = itertools.count()
ALL = [search, asearch, broken, fatal, slow, odd, nothing]


def asks(*wanted):
    return [function_call(name, args, call_id=f"call-{next(ids)}") for name, args in wanted]


def agent(*turns, tools=ALL, name="helper", **more):
    steps = [*turns, [assistant_message("done")]]
    return Agent(name=name, model=Traced(steps), tools=list(tools), **more)


@contextlib.contextmanager
def recording(recorder):
    """Instead of the SDK's own processor, which would use the network."""
    processor = RecordingProcessor(recorder)
    set_trace_processors([processor])
    try:
        yield processor
    finally:
        set_trace_processors([])
    assert not processor._late and not processor._spans._known and _open.get() is None


def run(made, recorder, **more):
    with recording(recorder):
        return asyncio.run(Runner.run(made, "hello", **more))


def test_a_run(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path, secret_values=["open-sesame-99"])
    made = agent(asks(("search", {"query": "open-sesame-99"})), asks(("search", {"query": "b"}), ("nothing", {})))
    assert run(made, recorder).final_output == "done"
    recorder.finish()
    found = spans(recorder)
    assert [(one.kind, one.name, one.status, one.inside) for one in found] == [
        ("agent", "helper", "ok", None),
        ("loop", "turn", "ok", "helper"), ("model", "scripted", "ok", "turn"), ("tool", "search", "ok", "turn"),
        ("loop", "turn", "ok", "helper"), ("model", "scripted", "ok", "turn"), ("tool", "search", "ok", "turn"),
        ("tool", "nothing", "ok", "turn"),
        ("loop", "turn", "ok", "helper"), ("model", "scripted", "ok", "turn"),
    ]
    assert found[2].input == [{"role": "user", "content": "hello"}]
    assert found[5].output[0]["name"] == "search"
    assert [(one.input, one.output) for one in tools(recorder)][1:] == [({"query": "b"}, {"found": "b"}), ({}, None)]
    assert "open-sesame-99" not in path.read_text()
    assert rules(path, "search", "nothing") == []
    assert rules(path, "nothing") == [("permission-overreach", "search")] * 2


def test_the_same_twice_is_redundant(tmp_path):
    path = tmp_path / "run.jsonl"
    with ExecutionRecorder(output=path) as recorder:
        run(agent(asks(("search", {"query": "a"})), asks(("search", {"query": "a"}))), recorder)
    assert rules(path, "search") == [("redundant-call", "search")]


def test_sync_parallel_and_streamed():
    recorder = ExecutionRecorder()
    wanted = [("asearch", {"query": str(n)}) for n in range(8)]
    with recording(recorder):
        assert Runner.run_sync(agent(asks(*wanted)), "hello").final_output == "done"

        async def main():
            streamed = Runner.run_streamed(agent(asks(*wanted)), "hello")
            return [event.type async for event in streamed.stream_events()]

        assert "raw_response_event" in asyncio.run(main())
    seen = tools(recorder)
    assert [one.input["query"] for one in seen] == [str(n) for n in range(8)] * 2
    assert all((one.inside, one.output) == ("turn", {"found": one.input["query"]}) for one in seen)
    assert {one.status for one in spans(recorder)} == {"ok"}


def test_a_stream_that_is_left():
    recorder = ExecutionRecorder()

    async def main():
        streamed = Runner.run_streamed(agent(asks(("slow", {"query": "a"}))), "hello")

        async def leave():
            while not tools(recorder):
                await asyncio.sleep(0.001)
            streamed.cancel()

        leaving = asyncio.create_task(leave())
        async for _ in streamed.stream_events():
            pass
        await leaving
        await asyncio.sleep(0.01)

    with recording(recorder):
        asyncio.run(main())
    assert {one.status for one in spans(recorder)} <= {"ok", "cancelled"}
    assert [(one.name, one.status) for one in tools(recorder)] == [("slow", "cancelled")]


def test_errors_by_their_type(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path)
    run(agent(asks(("broken", {"query": "a"}))), recorder)
    with pytest.raises(Exception, match="secret message"):
        run(agent(asks(("fatal", {"query": "b"}))), recorder)
    assert [(one.name, one.status, one.output) for one in spans(recorder) if one.status != "ok"] == [
        ("broken", "error", "Failure"),
        ("helper", "error", "Failure"), ("turn", "error", "Failure"), ("fatal", "error", "Failure"),
    ]
    recorder.finish()
    assert "secret message" not in path.read_text()
    assert calls(recorder)[1] == ("fatal", {"query": "b"}, {"error_type": "Failure"})


def test_an_exception_that_is_handled_outside_is_not_the_runs():
    recorder = ExecutionRecorder()
    with recording(recorder):
        try:
            raise Failure
        except Failure:
            assert Runner.run_sync(agent(asks(("search", {"query": "a"}))), "hello").final_output == "done"
    assert {one.status for one in spans(recorder)} == {"ok"}


def test_a_model_that_fails():
    recorder = ExecutionRecorder()
    with pytest.raises(Failure):
        run(agent(ModelStep.raise_error(Failure("secret message"))), recorder)
    assert [(one.kind, one.status, one.output) for one in spans(recorder)] == [
        ("agent", "error", "Failure"), ("loop", "error", "Failure"), ("model", "error", "Failure"),
    ]


def test_cancellation():
    recorder = ExecutionRecorder()

    async def main():
        task = asyncio.create_task(Runner.run(agent(asks(("slow", {"query": "a"}))), "hello"))
        while not tools(recorder):
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)

    with recording(recorder):
        asyncio.run(main())
    assert {one.name: one.status for one in spans(recorder)} == {
        "helper": "cancelled", "turn": "cancelled", "scripted": "ok", "slow": "cancelled",
    }
    assert calls(recorder) == []


def test_calls_that_wait_for_approval_or_were_rejected_did_not_run():
    recorder = ExecutionRecorder()
    asked = function_tool(lambda query: {"deleted": query}, name_override="delete", needs_approval=True)
    made = agent(asks(("delete", {"query": "a"}), ("search", {"query": "b"})), tools=[asked, search])

    async def main(approve):
        waiting = await Runner.run(made, "hello")
        assert [one[0] for one in calls(recorder)] == ["search"]
        state = waiting.to_state()
        (state.approve if approve else state.reject)(waiting.interruptions[0])
        assert (await Runner.run(made, state)).final_output == "done"

    with recording(recorder):
        asyncio.run(main(True))
    assert [one[0] for one in calls(recorder)] == ["search", "delete"]

    recorder = ExecutionRecorder()
    made = agent(asks(("delete", {"query": "a"}), ("search", {"query": "b"})), tools=[asked, search])
    with recording(recorder):
        asyncio.run(main(False))
    assert [one[0] for one in calls(recorder)] == ["search"]


def test_calls_that_a_guardrail_stopped_did_not_run():
    recorder = ExecutionRecorder()

    @tool_input_guardrail
    def never(data):
        return ToolGuardrailFunctionOutput.reject_content("no")

    @function_tool(tool_input_guardrails=[never])
    def delete(query: str) -> str:
        raise AssertionError("it ran")

    run(agent(asks(("delete", {"query": "a"}), ("search", {"query": "b"})), tools=[delete, search]), recorder)
    assert [one[0] for one in calls(recorder)] == ["search"]


def test_handoffs_and_agents_as_tools():
    recorder = ExecutionRecorder()
    inner = agent(asks(("search", {"query": "deep"})), name="inner")
    other = agent(asks(("search", {"query": "handed over"})), name="other")
    wrapped = recorder.wrap(lambda query: query, kind="loop", name="step")
    stepping = function_tool(wrapped, name_override="stepping")
    asking = [inner.as_tool("ask", "Asks another agent."), stepping]
    outer = agent(
        asks(("ask", {"input": "a"}), ("stepping", {"query": "a"})), asks(("transfer_to_other", {})),
        tools=asking, name="outer", handoffs=[other],
    )  # fmt: skip
    with recording(recorder), recorder.span("agent", "outside"):
        assert Runner.run_sync(outer, "hello").final_output == "done"
        assert Runner.run_sync(agent(name="second"), "hello").final_output == "done"
    inside = {(one.name, str(one.input)): one.inside for one in spans(recorder) if one.kind != "model" and one.name != "turn"}
    assert inside == {
        ("outside", "None"): None,
        ("outer", "None"): "outside",
        ("ask", "{'input': 'a'}"): "turn",
        ("inner", "None"): "ask",
        ("search", "{'query': 'deep'}"): "turn",
        ("stepping", "{'query': 'a'}"): "turn",
        ("step", "{'query': 'a'}"): "stepping",
        ("handoff", "{'from_agent': 'outer', 'to_agent': 'other'}"): "turn",
        ("other", "None"): "outside",
        ("search", "{'query': 'handed over'}"): "turn",
        ("second", "None"): "outside",
    }


def test_outputs_that_are_no_json():
    recorder = ExecutionRecorder()
    run(agent(asks(("odd", {"query": "a"}), ("search", '{"query": "b"}'))), recorder)
    assert tools(recorder)[0].output == {"capture_omitted": "type", "type": "object"}
    assert [args for _, args, _ in calls(recorder)] == [{"query": "b"}]


def test_runs_at_once_do_not_mix():
    recorder = ExecutionRecorder()

    async def main():
        one = lambda n: Runner.run(agent(asks(("asearch", {"query": str(n)})), name=f"agent {n}"), "hello")  # noqa: E731
        await asyncio.gather(*map(one, range(12)))

    with recording(recorder):
        asyncio.run(main())
    starts = {event["span_id"]: event for event in recorder.snapshot().events if event["phase"] == "start"}
    for event in starts.values():
        if event["kind"] == "tool":
            turn = starts[event["parent_span_id"]]
            assert starts[turn["parent_span_id"]]["name"] == f"agent {event['data']['input']['query']}"
    assert len(tools(recorder)) == 12


def test_without_sensitive_data_the_arguments_are_missing():
    recorder = ExecutionRecorder()
    run(agent(asks(("search", {"query": "a"}))), recorder, run_config=RunConfig(trace_include_sensitive_data=False))
    assert tools(recorder)[0].input == {"capture_omitted": "arguments"} and calls(recorder) == []


def test_nothing_is_raised_into_the_run(caplog):
    recorder = ExecutionRecorder()
    with recording(recorder) as processor, caplog.at_level(logging.WARNING):
        processor._spans.begin = lambda *_, **__: 1 / 0
        made = agent(asks(("search", {"query": "a"})), model_settings=ModelSettings())
        assert Runner.run_sync(made, "hello").final_output == "done"
    assert not caplog.records and recorder.finish()["capture_errors"] > 5


# ---- what ran, and nothing else ----


class Hosted(ScriptedModel):
    """Traces as the SDK's model of the Responses API does."""

    async def get_response(self, system_instructions, input, *args, **more):
        with response_span() as span:
            made = await super().get_response(system_instructions, input, *args, **more)
            span.span_data.response = types.SimpleNamespace(output=made.output, model="hosted")
            span.span_data.input = input
            return made


def factory(kind):
    """Task factories as others set them: eager, and one that wraps every task."""
    if kind == "eager":
        return getattr(asyncio, "eager_task_factory", None)

    async def around(coroutine):
        return await coroutine

    # as Sentry's asyncio integration does
    return lambda loop, coroutine, **more: asyncio.Task(around(coroutine), loop=loop, **more)


@pytest.mark.parametrize("kind", ["eager", "wrapping", None])
@pytest.mark.parametrize("approve", [True, False, None])
@pytest.mark.parametrize("awaits", [True, False])
def test_approvals_under_any_task_factory(kind, approve, awaits):
    made = factory(kind) if kind else None
    if kind and made is None:
        pytest.skip("this Python has no eager tasks")
    ran = []

    async def decide(context, arguments, call_id):
        if awaits:
            await asyncio.sleep(0)
        return True

    def delete(query: str) -> None:
        ran.append(query)

    asked = function_tool(delete, needs_approval=decide)
    recorder = ExecutionRecorder()
    tested = agent(asks(("delete", {"query": "a"}), ("search", {"query": "b"})), tools=[asked, search])

    async def main():
        if made:
            asyncio.get_running_loop().set_task_factory(made)
        waiting = await Runner.run(tested, "hello")
        assert len(waiting.interruptions) == 1
        if approve is not None:
            state = waiting.to_state()
            (state.approve if approve else state.reject)(waiting.interruptions[0])
            await Runner.run(tested, state)

    with recording(recorder):
        asyncio.run(main())
    assert [one.input for one in tools(recorder) if one.name == "delete"] == [{"query": query} for query in ran]
    assert [one.status for one in tools(recorder)] == ["ok"] * (1 + len(ran))
    assert ran == (["a"] if approve else [])


def test_invalid_arguments_reach_no_function():
    recorder = ExecutionRecorder()
    wrong = asks(("search", "{no json"), ("search", {"question": "b"}), ("search", "[1]"), ("search", {"query": "c"}))
    run(agent(wrong), recorder)
    assert [(one.name, one.input, one.status) for one in tools(recorder)] == [("search", {"query": "c"}, "ok")]

    strict = function_tool(lambda query: {"found": query}, name_override="strict", failure_error_function=None)
    recorder = ExecutionRecorder()
    with pytest.raises(ModelBehaviorError):
        run(agent(asks(("strict", "{no json")), tools=[strict]), recorder)
    assert tools(recorder) == []


@pytest.mark.parametrize("explain", [None, lambda context, error: "took too long"])
@pytest.mark.parametrize("behaviour", ["error_as_result", "raise_exception"])
def test_timeouts_are_errors(explain, behaviour):
    async def sleep(query: str) -> str:
        await asyncio.sleep(60)

    late = function_tool(sleep, timeout=0.01, timeout_error_function=explain, timeout_behavior=behaviour)
    recorder = ExecutionRecorder()
    with contextlib.suppress(Exception):
        run(agent(asks(("sleep", {"query": "a"})), tools=[late]), recorder)
    assert [(one.name, one.status, one.output) for one in tools(recorder)] == [("sleep", "error", "ToolTimeoutError")]


class Server(MCPServer):
    """An MCP server without a process."""

    async def connect(self):
        pass

    async def cleanup(self):
        pass

    @property
    def name(self):
        return "files"

    async def list_tools(self, run_context=None, agent=None):
        schema = {"type": "object", "properties": {"path": {"type": "string"}}}
        return [mcp.types.Tool.model_validate({"name": name, "inputSchema": schema}) for name in ("read", "fail", "crash")]

    async def call_tool(self, tool_name, arguments, meta=None):
        if tool_name == "crash":
            raise Failure("secret message")
        content = [{"type": "text", "text": arguments["path"]}]
        return mcp.types.CallToolResult.model_validate({"content": content, "isError": tool_name == "fail"})

    async def list_prompts(self):
        raise NotImplementedError

    async def get_prompt(self, name, arguments=None):
        raise NotImplementedError


def test_failing_mcp_tools_are_errors():
    recorder = ExecutionRecorder()
    wanted = asks(("read", {"path": "a"}), ("fail", {"path": "b"}), ("crash", {"path": "c"}), ("read", "{no json"))
    run(agent(wanted, tools=[], mcp_servers=[Server()]), recorder)
    assert [(one.name, one.input, one.status) for one in tools(recorder)] == [
        ("read", {"path": "a"}, "ok"), ("fail", {"path": "b"}, "error"), ("crash", {"path": "c"}, "error"),
    ]


def test_the_local_shell_and_hosted_tools(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path)
    shell = LocalShellTool(executor=lambda request: "out of " + " ".join(request.data.action.command))
    action = {"type": "exec", "command": ["rm", "-r", "x"], "env": {}}
    asked = LocalShellCall(id="l1", call_id="c1", action=action, status="completed", type="local_shell_call")
    searched = ResponseFunctionWebSearch(
        id="w1", status="completed", type="web_search_call", action={"type": "search", "query": "weather"}
    )
    hosted = [
        McpCall(id="m1", type="mcp_call", name="delete", server_label="crm", arguments='{"id": 7}', output="gone"),
        McpCall.model_construct(id="m2", type="mcp_call", name="delete", server_label="crm", arguments='{"id": 8}', error="no"),
    ]
    model = Hosted([[searched, *hosted, asked], [assistant_message("done")]])
    made = Agent(name="helper", model=model, tools=[shell, WebSearchTool()])
    assert run(made, recorder).final_output == "done"
    recorder.finish()
    assert [(one.name, one.status, one.inside, one.input, one.output) for one in tools(recorder)] == [
        ("web_search", "ok", "hosted", {"type": "search", "query": "weather"}, {"capture_omitted": "result"}),
        ("mcp__crm__delete", "ok", "hosted", {"id": 7}, "gone"),
        ("mcp__crm__delete", "error", "hosted", {"id": 8}, "ToolError"),
        ("local_shell", "ok", "turn", {"type": "exec", "command": ["rm", "-r", "x"], "env": {}}, "out of rm -r x"),
    ]
    assert [tool for _, tool in rules(path, "web_search")] == ["mcp__crm__delete", "mcp__crm__delete", "local_shell"]


@pytest.mark.parametrize("same", [True, False])
def test_two_processors_record_each_call_once(same):
    recorder = ExecutionRecorder()
    one = RecordingProcessor(recorder)
    set_trace_processors([one, one if same else RecordingProcessor(recorder)])
    try:
        asyncio.run(Runner.run(agent(asks(("search", {"query": "a"}))), "hello"))
    finally:
        set_trace_processors([])
    assert [(one.kind, one.name) for one in spans(recorder)] == [
        ("agent", "helper"), ("loop", "turn"), ("model", "scripted"), ("tool", "search"), ("loop", "turn"), ("model", "scripted"),
    ]


def test_two_recorders_record_each_for_itself():
    recorders = [ExecutionRecorder(), ExecutionRecorder()]
    set_trace_processors([RecordingProcessor(recorder) for recorder in recorders])
    try:
        asyncio.run(Runner.run(agent(asks(("search", {"query": "a"}))), "hello"))
    finally:
        set_trace_processors([])
    seen = [[(one.kind, one.name, one.inside) for one in spans(recorder)] for recorder in recorders]
    assert seen[0] == seen[1] and len(seen[0]) == 6
