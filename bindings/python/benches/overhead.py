"""What recording a call costs, beside a span of OpenTelemetry's SDK with the call's arguments as attributes, in one run.

    pip install opentelemetry-sdk; python benches/overhead.py

With the frameworks of the adapters installed, also what their recorders add to a run of an agent that calls ten tools.
"""

import asyncio
import gc
import importlib.util
import json
import os
import statistics
import tempfile
import time

from opentelemetry.sdk.trace import TracerProvider

from toolreplay.tracing import ExecutionRecorder

CALLS, ROUNDS = 2_000, 25
TOOLS, RUNS = 10, 20


def call(path, limit=10):
    return {"lines": limit, "path": path}


def medians(makes, calls, once, clock=time.perf_counter):
    """The median time of one call of each, in microseconds. Each round begins afresh, and takes all in turn."""
    times = {name: [] for name in makes}
    for _ in range(ROUNDS):
        for name, make in makes.items():
            function = make()
            gc.collect()
            began = clock()
            for _ in range(calls):
                once(function)
            times[name].append((clock() - began) / calls * 1e6)
    return {name: statistics.median(of) for name, of in times.items()}


def opentelemetry():
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("bench")

    def traced(path, limit=10):
        with tracer.start_as_current_span("call") as span:
            span.set_attribute("input", json.dumps({"path": path, "limit": limit}))
            result = call(path, limit)
            span.set_attribute("output", json.dumps(result))
            return result

    return traced


def to_file():
    return ExecutionRecorder(output=f"{tempfile.mkdtemp()}/run.jsonl").wrap(call)


async def look_up(query: str) -> str:
    "Looks up."
    return query


def openai_agents(recorder):
    import agents
    from agents.testing import ScriptedModel, assistant_message, function_call

    from toolreplay.adapters.openai_agents import RecordingProcessor

    tool, ids = agents.function_tool(look_up), iter(range(10**9))

    def run():
        agents.set_trace_processors([] if recorder is None else [RecordingProcessor(recorder)])
        asked = [function_call("look_up", {"query": str(n)}, call_id=f"call-{next(ids)}") for n in range(TOOLS)]
        model = ScriptedModel([asked, [assistant_message("done")]])
        agents.Runner.run_sync(agents.Agent(name="bench", model=model, tools=[tool]), "go")

    return run


def langchain(recorder):
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool

    from toolreplay.adapters.langchain import RecordingHandler

    class Model(FakeMessagesListChatModel):
        def bind_tools(self, tools, **more):
            return self

    asked = [{"name": "look_up", "args": {"query": str(n)}, "id": f"call-{n}", "type": "tool_call"} for n in range(TOOLS)]
    agent = create_agent(Model(responses=[AIMessage("", tool_calls=asked), AIMessage("done")]), [tool(look_up)])
    config = {} if recorder is None else {"callbacks": [RecordingHandler(recorder)]}
    return lambda: asyncio.run(agent.ainvoke({"messages": [("user", "go")]}, config))


def pydantic_ai(recorder):
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from toolreplay.adapters.pydantic_ai import RecordingCapability

    def answer(messages, info):
        if len(messages) > 1:
            return ModelResponse([TextPart("done")])
        return ModelResponse([ToolCallPart("look_up", {"query": str(n)}) for n in range(TOOLS)])

    capabilities = [] if recorder is None else [RecordingCapability(recorder)]
    agent = Agent(FunctionModel(answer), tools=[look_up], capabilities=capabilities)
    return lambda: agent.run_sync("go")


def calls():
    found = medians(
        {
            "bare": lambda: call,
            "opentelemetry-sdk, no exporter": opentelemetry,
            "toolreplay, in memory": lambda: ExecutionRecorder().wrap(call),
            "toolreplay, into a file": to_file,
        },
        CALLS,
        lambda function: function("docs/readme.md", limit=20),
    )
    bare = found.pop("bare")
    yardstick = found["opentelemetry-sdk, no exporter"] - bare
    for name, took in found.items():
        print(f"{name:32} {took - bare:6.1f} us a call   {(took - bare) / yardstick:5.2f}")


def adapters():
    for name, make in (("agents", openai_agents), ("langchain", langchain), ("pydantic_ai", pydantic_ai)):
        if importlib.util.find_spec(name) is None:
            continue
        makes = {"bare": lambda: make(None), "recorded": lambda: make(ExecutionRecorder())}
        # a run waits for its event loop, and sometimes for threads
        found = medians(makes, RUNS, lambda run: run(), time.process_time)
        spans = len(spans_of(make))
        added = found["recorded"] - found["bare"]
        print(
            f"{make.__name__:14} {found['bare']:8.0f} us a run   {added:+7.0f} us recorded"
            f"   {added / spans:5.1f} us a span   {added / found['bare']:.1%}"
        )


def spans_of(make):
    recorder = ExecutionRecorder()
    make(recorder)()
    return {event["span_id"] for event in recorder.snapshot().events}


if __name__ == "__main__":
    os.environ["LANGSMITH_TRACING"] = "false"
    calls()
    adapters()
