"""DSPy, recorded: real modules with a scripted model."""

import asyncio
import threading

import dspy
import pytest
from dspy.utils import DummyLM
from recordings import calls, rules, spans, tools

from toolreplay.adapters.dspy import RecordingCallback
from toolreplay.tracing import ExecutionRecorder


class Failure(Exception):
    pass


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


def turn(tool, **arguments):
    return {"next_thought": "on", "next_tool_name": tool, "next_tool_args": arguments}


def model(*turns):
    return DummyLM([*turns, turn("finish"), {"reasoning": "so", "answer": "done"}])


def given(recorder, *turns, **more):
    return dspy.context(lm=model(*turns), callbacks=[RecordingCallback(recorder)], **more)


def react(*functions):
    return dspy.ReAct("question -> answer", tools=list(functions))


def test_a_run(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path, secret_values=["open-sesame-99"])
    with given(recorder, turn("search", query="open-sesame-99"), turn("search", query="b")):
        assert react(search)(question="hello").answer == "done"
    recorder.finish()
    assert [one[1:] for one in tools(recorder)][1] == ("search", "ok", "ReAct", {"query": "b"}, {"found": "b"})
    found = spans(recorder)
    assert (found[0].kind, found[0].name, found[0].inside) == ("agent", "ReAct", None)
    assert {one.kind for one in found[1:]} == {"loop", "model", "tool"} and {one.status for one in found} == {"ok"}
    assert "open-sesame-99" not in path.read_text()
    assert rules(path, "search") == []
    # the word by which a module says that it is done is no tool
    assert rules(path, "read") == [("permission-overreach", "search")] * 2


def test_the_same_twice_is_redundant(tmp_path):
    path = tmp_path / "run.jsonl"
    with ExecutionRecorder(output=path) as recorder, given(recorder, turn("search", query="a"), turn("search", query="a")):
        react(search)(question="hello")
    assert rules(path, "search") == [("redundant-call", "search")]


def test_async_and_at_once():
    recorder = ExecutionRecorder()
    tool = dspy.Tool(asearch)

    async def main():
        with dspy.context(callbacks=[RecordingCallback(recorder)]):
            return await asyncio.gather(*(tool.acall(query=str(n)) for n in range(8)))

    asyncio.run(main())
    assert sorted(one.input["query"] for one in tools(recorder)) == [str(n) for n in range(8)]
    assert all(one.output == {"found": one.input["query"]} for one in tools(recorder))

    async def alone():
        with given(recorder, turn("asearch", query="last")):
            return await react(asearch).acall(question="hello")

    assert asyncio.run(alone()).answer == "done"
    assert tools(recorder)[-1][1:4] == ("asearch", "ok", "ReAct")


def test_modules_in_parallel():
    recorder = ExecutionRecorder()
    pairs = []
    for n in range(6):
        module = react(search)
        module.set_lm(model(turn("search", query=str(n))))
        pairs.append((module, {"question": "hello"}))
    with dspy.context(callbacks=[RecordingCallback(recorder)]):
        dspy.Parallel(num_threads=3, disable_progress_bar=True)(pairs)
    assert sorted((one.input["query"], one.inside) for one in tools(recorder)) == [(str(n), "ReAct") for n in range(6)]


def test_errors_by_their_type(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path)
    with given(recorder, turn("broken", query="a")):
        react(broken)(question="hello")
    assert [(one.name, one.status, one.output) for one in tools(recorder)] == [("broken", "error", "Failure")]

    class Broken(dspy.Module):
        def forward(self, **_):
            raise Failure("secret message")

    with given(recorder), pytest.raises(Failure):
        Broken()()
    assert [(one.name, one.status, one.output) for one in spans(recorder)][-1] == ("Broken", "error", "Failure")
    recorder.finish()
    assert "secret message" not in "".join(line for line in path.read_text().splitlines() if '"kind":"tool"' in line)
    assert calls(recorder) == [("broken", {"query": "a"}, {"error_type": "Failure"})]


def test_cancellation():
    recorder = ExecutionRecorder()

    async def main():
        begun = asyncio.Event()

        async def slow(query: str) -> str:
            """Takes long."""
            begun.set()
            await asyncio.Event().wait()

        with given(recorder, turn("slow", query="a")):
            task = asyncio.create_task(react(slow).acall(question="hello"))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert [(one.name, one.status) for one in tools(recorder)] == [("slow", "cancelled")]
    assert calls(recorder) == []


def test_invalid_arguments_reach_no_tool():
    recorder = ExecutionRecorder()
    ran = []

    def number(n: int) -> int:
        """Takes a number."""
        ran.append(n)
        if n == 9:
            # an error of the same type, but of the tool itself
            raise ValueError("nine")
        return n

    with given(recorder, turn("number", n="none"), turn("number", m=1), turn("number", n=9), turn("number", n=2)):
        react(number)(question="hello")
    assert ran == [9, 2]
    assert [(one.input, one.status) for one in tools(recorder)] == [({"n": 9}, "error"), ({"n": 2}, "ok")]


def test_an_agent_inside_a_tool():
    recorder = ExecutionRecorder()
    inner = react(search)
    inner.set_lm(model(turn("search", query="deep")))

    def ask(query: str) -> str:
        """Asks another agent."""
        return inner(question=query).answer

    with given(recorder, turn("ask", query="a")), recorder.span("agent", "outside"):
        react(ask)(question="hello")
    assert [(one.name, one.inside) for one in tools(recorder)] == [("ask", "ReAct"), ("search", "ReAct")]
    assert [(one.name, one.inside) for one in spans(recorder) if one.name == "ReAct"] == [
        ("ReAct", "outside"), ("ReAct", "ask"),
    ]


@pytest.mark.parametrize("same", [True, False])
def test_two_callbacks_record_each_call_once(same):
    recorder = ExecutionRecorder()
    callback = RecordingCallback(recorder)
    both = [callback, callback if same else RecordingCallback(recorder)]
    with dspy.context(lm=model(turn("search", query="a")), callbacks=both):
        react(search)(question="hello")
    assert [one.name for one in tools(recorder)] == ["search"]
    assert {one.status for one in spans(recorder)} == {"ok"}


def test_runs_at_once_do_not_mix():
    recorder = ExecutionRecorder()
    callback = RecordingCallback(recorder)

    def run(n):
        with dspy.context(lm=model(turn("search", query=str(n))), callbacks=[callback]):
            react(search)(question="hello")

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    [one.start() for one in threads]
    [one.join() for one in threads]
    assert sorted(one.input["query"] for one in tools(recorder)) == [str(n) for n in range(8)]
    assert not callback._spans._known


def test_nothing_is_raised_into_the_program():
    recorder = ExecutionRecorder()
    callback = RecordingCallback(recorder)
    callback._spans.begin = lambda *_, **__: 1 / 0
    with dspy.context(lm=model(turn("search", query="a")), callbacks=[callback]):
        assert react(search)(question="hello").answer == "done"
    assert recorder.finish()["capture_errors"] > 3
