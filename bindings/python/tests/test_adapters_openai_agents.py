"""The OpenAI Agents SDK, recorded: real runs with a scripted model."""

import asyncio
import contextlib
import itertools
import logging

import pytest
from agents import (
    Agent,
    ModelSettings,
    RunConfig,
    Runner,
    function_tool,
    generation_span,
    set_trace_processors,
    tool_input_guardrail,
)
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call
from agents.tool_guardrails import ToolGuardrailFunctionOutput
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
        ("broken", "error", "ToolError"),
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
