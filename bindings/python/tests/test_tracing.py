"""The recorder: what is recorded, and that the recorded program does what it did without it."""

import asyncio
import collections
import concurrent.futures
import contextlib
import dataclasses
import datetime
import decimal
import enum
import functools
import json
import os
import pathlib
import shutil
import subprocess
import threading
import traceback
import typing

import pydantic
import pytest

from toolreplay.tracing import ExecutionRecorder, UnsupportedFunction


def events(recorder):
    return recorder.snapshot().events


def only_span(recorder):
    start, end = events(recorder)
    assert (start["phase"], end["phase"], start["span_id"]) == ("start", "end", end["span_id"])
    return start, end


def captured(value, **options):
    recorder = ExecutionRecorder(**options)
    recorder.wrap(lambda: value, name="give")()
    return only_span(recorder)[1]["data"].get("output")


def test_a_call_is_recorded(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path)

    def add(a, b=2, *more, scale=1, **rest):
        return (a + b) * scale

    wrapped = recorder.wrap(add, kind="tool")
    assert wrapped(1, b=3, scale=2, unit="m") == 8
    start, end = only_span(recorder)
    assert start["kind"] == "tool" and start["name"] == "add" and start["source"] == "runtime_wrapper"
    assert start["data"] == {"input": {"a": 1, "b": 3, "scale": 2, "unit": "m"}}
    assert (start["status"], end["status"], end["data"]) == ("running", "ok", {"output": 8})
    summary = recorder.finish()
    assert summary == recorder.finish() and (summary["events"], summary["capture_errors"]) == (2, 0)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[:2] == [start, end] and lines[2] == summary
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    assert wrapped.__name__ == "add" and wrapped.__wrapped__ is add
    shown = subprocess.run([shutil.which("toolreplay"), "trace", "show", path], capture_output=True, text=True)
    assert shown.returncode == 0 and json.loads(shown.stdout)


def test_arguments_are_bound_by_signature():
    recorder = ExecutionRecorder()

    def take(a, /, b, *more, c, **rest):
        return None

    recorder.wrap(take)(1, 2, 3, 4, c=5, a=6, d=7)
    assert events(recorder)[0]["data"]["input"] == {"a": 1, "b": 2, "more": [3, 4], "c": 5, "d": 7, "rest": {"a": 6}}
    with pytest.raises(TypeError, match="missing 1 required") as wrong:
        recorder.wrap(take)(1, 2)
    assert wrong.value.__context__ is None
    start, end = events(recorder)[2:]
    assert start["data"] == {"input": {"capture_omitted": "arguments"}} and end["data"] == {"error_type": "TypeError"}


class Failure(Exception):
    pass


def test_failures_pass_unchanged():
    recorder = ExecutionRecorder()
    failure, cause = Failure("with a message: hunter2-hunter2"), ValueError("cause")

    def fail():
        raise failure from cause

    def stack(function):
        with pytest.raises(Failure) as caught:
            function()
        assert caught.value is failure and failure.__cause__ is cause and failure.__context__ is None
        frames = traceback.extract_tb(caught.value.__traceback__)
        failure.__traceback__ = None
        return [(f.filename, f.name, f.line) for f in frames if "toolreplay" not in pathlib.Path(f.filename).parts[-2]]

    assert stack(fail) == stack(recorder.wrap(fail))
    assert only_span(recorder)[1]["data"] == {"error_type": "Failure"}
    assert only_span(recorder)[1]["status"] == "error"
    assert "hunter2" not in json.dumps(recorder.snapshot().model_dump(mode="json"))


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), StopIteration(1)])
def test_every_kind_of_exception_passes(error):
    recorder = ExecutionRecorder()

    def fail():
        raise error

    with pytest.raises(type(error)) as caught:
        recorder.wrap(fail)()
    assert caught.value is error
    stopped = isinstance(error, (KeyboardInterrupt, GeneratorExit))
    assert only_span(recorder)[1]["status"] == ("cancelled" if stopped else "error")


def test_async_functions():
    recorder = ExecutionRecorder()

    async def fetch(url):
        await asyncio.sleep(0)
        if not url:
            raise Failure
        return {"url": url}

    wrapped = recorder.wrap(fetch, kind="model", name="get")
    assert asyncio.iscoroutinefunction(wrapped)
    assert asyncio.run(wrapped("x")) == {"url": "x"}
    with pytest.raises(Failure):
        asyncio.run(wrapped(""))
    found = [(e["name"], e["phase"], e["status"], e["data"]) for e in events(recorder)]
    assert found[0] == ("get", "start", "running", {"input": {"url": "x"}})
    assert found[1] == ("get", "end", "ok", {"output": {"url": "x"}})
    assert found[3] == ("get", "end", "error", {"error_type": "Failure"})


def test_a_coroutine_behind_a_plain_decorator():
    recorder = ExecutionRecorder()

    async def inner():
        await asyncio.sleep(0.01)
        return recorder.wrap(lambda: 1, name="nested")()

    decorated = functools.wraps(inner)(lambda: inner())
    assert asyncio.run(recorder.wrap(decorated, name="outer")()) == 1
    found = [(e["name"], e["phase"]) for e in events(recorder)]
    assert found == [("outer", "start"), ("nested", "start"), ("nested", "end"), ("outer", "end")]
    assert events(recorder)[1]["parent_span_id"] == events(recorder)[0]["span_id"]
    assert events(recorder)[3]["duration_ms"] >= 9


def test_cancellation_stands_apart():
    recorder = ExecutionRecorder()

    async def sleep():
        await asyncio.sleep(60)

    async def main():
        task = asyncio.create_task(recorder.wrap(sleep)())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await recorder.wrap(sleep)()

    asyncio.run(main())
    ends = [e for e in events(recorder) if e["phase"] == "end"]
    assert [(e["status"], e["data"]) for e in ends] == [("cancelled", {}), ("cancelled", {})]


def parents(recorder):
    names = {e["span_id"]: e["name"] for e in events(recorder)}
    return {e["name"]: names.get(e["parent_span_id"]) for e in events(recorder)}


def test_nesting():
    recorder, other = ExecutionRecorder(), ExecutionRecorder()
    tool = recorder.wrap(lambda: other.wrap(lambda: 1, name="theirs")(), name="tool")
    turn = recorder.wrap(lambda: tool(), kind="loop", name="turn")
    with recorder.span("agent", "agent", {"task": 1}) as span:
        turn()
        span.set_output("done")
    tool2 = recorder.wrap(lambda: 1, name="alone")
    tool2()
    assert parents(recorder) == {"agent": None, "turn": "agent", "tool": "turn", "alone": None}
    assert parents(other) == {"theirs": None}
    last = [e for e in events(recorder) if e["name"] == "agent"][-1]
    assert last["data"] == {"output": "done"}


def test_parallel_tasks_and_threads():
    recorder = ExecutionRecorder()

    async def leaf(n):
        await asyncio.sleep(0.001 * (n % 3))
        return n

    async def branch(n):
        async with recorder.span("loop", f"branch {n}"):
            await asyncio.gather(*(recorder.wrap(leaf, name=f"leaf {n} {m}")(m) for m in range(5)))

    async def main():
        with recorder.span("agent", "root"):
            await asyncio.gather(*(branch(n) for n in range(10)))

    asyncio.run(main())
    found = parents(recorder)
    assert all(found[f"leaf {n} {m}"] == f"branch {n}" for n in range(10) for m in range(5))
    assert all(found[f"branch {n}"] == "root" for n in range(10))

    threaded = ExecutionRecorder()

    def work(n):
        with threaded.span("loop", f"work {n}"):
            for _ in range(20):
                threaded.wrap(lambda: n, name=f"step {n}")()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(20)))
    found = parents(threaded)
    assert all(found[f"step {n}"] == f"work {n}" and found[f"work {n}"] is None for n in range(20))
    sequences = [e["sequence"] for e in events(threaded)]
    assert sequences == list(range(1, len(sequences) + 1)) and threaded.finish()["events"] == 20 * 42


def test_span_errors_and_single_use():
    recorder = ExecutionRecorder()
    with pytest.raises(Failure), recorder.span("agent", "a"):
        raise Failure("secret message")
    span = recorder.span("agent", "b")
    with span:
        assert span.id
    with pytest.raises(RuntimeError), span:
        pass
    for wrong in ("step", "", None):
        with pytest.raises(ValueError, match="kind must be"):
            recorder.span(wrong, "x")
        with pytest.raises(ValueError, match="kind must be"):
            recorder.wrap(len, kind=wrong)
    assert [e["status"] for e in events(recorder)] == ["running", "error", "running", "ok"]


def test_methods_partials_and_builtins():
    recorder = ExecutionRecorder()

    class Agent:
        def act(self, x):
            return x + 1

        async def think(self, x):
            return x + 2

        def __call__(self, x):
            return x + 3

    agent = Agent()
    assert recorder.wrap(agent.act)(1) == 2
    assert asyncio.run(recorder.wrap(agent.think)(1)) == 3
    assert recorder.wrap(agent)(1) == 4
    assert recorder.wrap(functools.partial(agent.act, 5))() == 6
    assert recorder.wrap(len)([1, 2]) == 2
    assert recorder.wrap(max)(3, 4) == 4
    starts = [(e["name"], e["data"].get("input")) for e in events(recorder) if e["phase"] == "start"]
    assert starts == [
        ("act", {"x": 1}), ("think", {"x": 1}), ("Agent", {"x": 1}), ("act", {}), ("len", {"obj": [1, 2]}),
        ("max", {"0": 3, "1": 4}),
    ]


def test_streams_are_refused_and_never_consumed():
    recorder = ExecutionRecorder()

    def stream():
        yield 1

    async def astream():
        yield 1

    class Streaming:
        def __call__(self):
            yield 1

    for function in (stream, astream, functools.partial(stream), Streaming()):
        with pytest.raises(UnsupportedFunction, match="generator"):
            recorder.wrap(function)
    for other in (int, 3, None, staticmethod(stream), property(stream)):
        with pytest.raises(TypeError):
            recorder.wrap(other)
    assert list(recorder.wrap(lambda: stream(), name="give")()) == [1]
    assert only_span(recorder)[1]["data"]["output"] == {"capture_omitted": "type", "type": "generator"}

    managed = contextlib.contextmanager(stream)
    with recorder.wrap(managed)() as value:
        assert value == 1


def test_secrets_are_not_recorded(tmp_path):
    path = tmp_path / "run.jsonl"
    key = "sk-proj-zqAbCdEfGhIjKlMnOpQrStUv"
    recorder = ExecutionRecorder(output=path, secret_values=["open-sesame-99"], redacted_fields=["pin"])

    @dataclasses.dataclass
    class Login:
        password: str
        pin: int

    def use(login, note, **headers):
        return {"echo": note, "nested": json.dumps({"api_key": "zq-nested-value"}), "open-sesame-99": 1}

    given = use(Login("zq-password", 4711), f"key {key} and open-sesame-99", authorization="Bearer zq-bearer-token")
    wrapped = recorder.wrap(use)
    assert wrapped(Login("zq-password", 4711), f"key {key} and open-sesame-99", authorization="Bearer zq-bearer") == given
    recorder.finish()
    for text in (path.read_text(), recorder.snapshot().model_dump_json()):
        for secret in (key, "open-sesame-99", "zq-", "4711"):
            assert secret not in text
        assert "[REDACTED:" in text


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    a: int
    secret: pydantic.SecretStr = pydantic.SecretStr("zq-hidden")


@dataclasses.dataclass
class Data:
    x: int
    y: list = dataclasses.field(default_factory=list)
    z: typing.ClassVar[int] = 5


@dataclasses.dataclass(slots=True, frozen=True)
class Slotted:
    x: int


class Explosive:
    def boom(self, *_):
        raise AssertionError("code of the program ran")

    __repr__ = __str__ = __iter__ = __len__ = __bool__ = __eq__ = __hash__ = __getattr__ = boom
    __class__ = property(boom)


class Level(enum.IntEnum):
    HIGH = 3


Pair = collections.namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None), (True, True), (7, 7), (2**80, 2**80), (1.5, 1.5), ("é😀", "é😀"), (Level.HIGH, 3),
        ((1, (2,)), [1, [2]]), (Pair(1, 2), [1, 2]), (collections.OrderedDict(b=1, a=2), {"a": 2, "b": 1}),
        (Data(1, [2]), {"x": 1, "y": [2]}), (Slotted(4), {"x": 4}),
        ({1: "a", None: 2, True: 3, 1.5: 4, (1,): 5},
         {"1": 3, "null": 2, "1.5": 4, "capture_omitted tuple": 5}),
        (Model(a=1, b="extra"), {"a": 1, "b": "extra", "secret": "[REDACTED]"}),
    ],
)
def test_values(value, expected):
    found = captured(value)
    if isinstance(value, Model):
        assert found.pop("secret") != "zq-hidden"
        expected = {"a": 1, "b": "extra"}
    assert found == expected


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (object(), "object"), (b"bytes", "bytes"), ({1, 2}, "set"), (1j, "complex"), (Data, "type"), (len, "builtin_function_or_method"),
        (decimal.Decimal(1), "Decimal"), (datetime.date(2020, 1, 1), "date"), (float("nan"), "float"),
        (pathlib.PurePosixPath("/x"), "PurePosixPath"), (threading.Lock(), "lock"),
    ],
)
def test_other_values_are_named_by_their_type(value, name):
    assert captured(value) == {"capture_omitted": "type", "type": name}
    assert captured([value]) == [{"capture_omitted": "type", "type": name}]


def test_no_code_of_the_program_runs():
    assert captured({"a": Explosive()}) == {"a": {"capture_omitted": "type", "type": "Explosive"}}
    assert captured({"a": 10**5000}) == {"a": {"capture_omitted": "type", "type": "int"}}


def test_properties_of_dataclasses_do_not_run():
    @dataclasses.dataclass
    class Odd:
        a: int
        b: int = 0

        def __getattribute__(self, name):
            raise AssertionError("code of the program ran")

    odd = Odd.__new__(Odd)
    object.__setattr__(odd, "a", 1)
    assert captured(odd) == {"a": 1, "b": 0}


def test_limits():
    found = captured(list(range(130)))
    assert found == {"captured_items": list(range(128)), "capture_omitted_items": 2}
    found = captured({f"k{n:03}": n for n in range(200)})
    assert len(found["captured_items"]) == 128 and found["capture_omitted_items"] == 72
    deep = 1
    for _ in range(30):
        deep = [deep]
    assert '{"capture_omitted": "levels", "items": 1}' in json.dumps(captured(deep))
    loop = []
    loop.extend([loop] * 128)
    assert len(json.dumps(captured(loop))) < 20_000
    found = captured({"long": "x" * 100_000, "short": "y"})
    assert found["long"]["truncated"] is True and found["short"] == "y"
    assert captured("z" * 9_000_000) == {"capture_omitted": "size"}
    assert len(json.dumps(captured("x" * 5_000, max_data_chars=1_000))) < 1_200
    recorder = ExecutionRecorder()
    recorder.wrap(lambda x: 1)(list(range(200)))
    assert [e["truncated"] for e in events(recorder)] == [True, False]


def test_ten_thousand_and_one_events(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path)
    tick = recorder.wrap(lambda: None, name="tick")
    for _ in range(5_001):
        tick()
    summary = recorder.finish()
    assert (summary["events"], summary["dropped_events"], summary["capture_errors"]) == (10_000, 2, 0)
    assert len(path.read_text().splitlines()) == 10_001
    assert tick() is None


def test_output_that_cannot_be_written(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text("kept")
    with pytest.raises(FileExistsError) as caught:
        ExecutionRecorder(output=path)
    assert caught.value.filename == str(path) and path.read_text() == "kept"
    with pytest.raises(FileNotFoundError):
        ExecutionRecorder(output=tmp_path / "missing" / "run.jsonl")
    with pytest.raises((TypeError, ValueError)):
        ExecutionRecorder(max_events=-1)
    with pytest.raises(TypeError, match="secret_values"):
        ExecutionRecorder(secret_values="one-string")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs resource limits")
def test_a_full_disk_changes_nothing(tmp_path):
    script = (
        "import resource, signal, sys\n"
        "from toolreplay.tracing import ExecutionRecorder\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "recorder = ExecutionRecorder(output=sys.argv[1])\n"
        "double = recorder.wrap(lambda x: 2 * x, name='double')\n"
        "assert [double(n) for n in range(50)] == [2 * n for n in range(50)]\n"
        "summary = recorder.finish()\n"
        "assert summary['capture_errors'] > 0 and summary['events'] == 100, summary\n"
    )
    import sys

    ran = subprocess.run([sys.executable, "-c", script, str(tmp_path / "full.jsonl")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_the_snapshot_is_a_plain_object():
    recorder = ExecutionRecorder()
    recorder.wrap(lambda: [1])()
    snapshot = recorder.snapshot()
    plain = snapshot.model_dump(mode="json")
    assert type(plain) is dict and plain == dict(snapshot) == json.loads(snapshot.model_dump_json())
    plain["events"].clear()
    assert len(snapshot.events) == 2 == snapshot["capture_summary"]["events"]

    class Document(pydantic.BaseModel):
        execution_trace: type(snapshot)

    document = Document(execution_trace=snapshot)
    assert json.loads(document.model_dump_json()) == {"execution_trace": dict(snapshot)}
    assert Document.model_validate_json(document.model_dump_json()).execution_trace.events == snapshot.events


def test_finished_recorders_record_nothing_more():
    with ExecutionRecorder() as recorder:
        give = recorder.wrap(lambda: 1, name="give")
        give()
    assert give() == 1 and len(events(recorder)) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_records_nothing_and_runs_on(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path)
    double = recorder.wrap(lambda x: 2 * x, name="double")

    def child():
        # the span around it, too, is the parent's
        assert double(4) == 8
        with pytest.raises(RuntimeError, match="belongs to the process"):
            recorder.finish()
        own = ExecutionRecorder(output=tmp_path / "own.jsonl")
        assert own.wrap(double)(1) == 2 and own.finish()["events"] == 2

    with recorder.span("agent", "outer"):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                child()
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        double(1)
    assert recorder.finish()["events"] == 4
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line.get("sequence") for line in lines] == [1, 2, 3, 4, None]
