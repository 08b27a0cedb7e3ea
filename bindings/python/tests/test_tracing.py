"""The recorder: what is recorded, and that the recorded program does what it did without it."""

import asyncio
import base64
import collections
import concurrent.futures
import contextlib
import copy
import dataclasses
import datetime
import decimal
import enum
import functools
import gc
import inspect
import json
import multiprocessing
import os
import pathlib
import pickle
import shutil
import subprocess
import threading
import traceback
import typing
import uuid
import zoneinfo

import pydantic
import pytest

import toolreplay
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


class OddPath(type(pathlib.PurePosixPath("/"))):
    def __str__(self):
        raise AssertionError("code of the program ran")


class OddSet(set):
    def __iter__(self):
        raise AssertionError("code of the program ran")


class OddZone(datetime.tzinfo):
    def utcoffset(self, when):
        raise AssertionError("code of the program ran")


class Colour(enum.Enum):
    RED = (1, "r")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime.datetime(2020, 1, 2, 3, 4, 5, 6, datetime.timezone.utc), "2020-01-02T03:04:05.000006+00:00"),
        (datetime.datetime(2020, 1, 2, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")), "2020-01-02T00:00:00+01:00"),
        (datetime.date(2020, 1, 2), "2020-01-02"), (datetime.time(1, 2), "01:02:00"),
        (datetime.timedelta(days=1, seconds=2), "1 day, 0:00:02"),
        (decimal.Decimal("1.50"), "1.50"), (uuid.UUID(int=7), "00000000-0000-0000-0000-000000000007"),
        (pathlib.PurePosixPath("/x/y"), "/x/y"), (pathlib.Path("a/b"), "a/b"), (pathlib.PureWindowsPath("c:/x"), "c:\\x"),
        (Colour.RED, [1, "r"]), ({3, 1, 2}, [1, 2, 3]), (frozenset(["b", "a"]), ["a", "b"]), (set(), []),
        (b"", {"bytes_base64": ""}), (b"a", {"bytes_base64": "YQ=="}), (bytearray(b"ab"), {"bytes_base64": "YWI="}),
        (bytes(range(256)), {"bytes_base64": base64.b64encode(bytes(range(256))).decode()}),
        (float("nan"), "NaN"), (float("inf"), "Infinity"), (float("-inf"), "-Infinity"),
    ],
)
def test_values_of_the_standard_library(value, expected):
    assert captured(value) == expected and captured({"in": [value]}) == {"in": [expected]}


def test_calls_with_such_values_are_compared():
    recorder = ExecutionRecorder()
    load = recorder.wrap(lambda when, path: b"the same", name="load")
    for _ in range(2):
        load(datetime.date(2020, 1, 1), pathlib.Path("a"))
    load(datetime.date(2020, 1, 2), pathlib.Path("a"))
    report = toolreplay.audit(recorder.capture())
    assert [finding.rule for finding in report.findings] == ["redundant-call"] and report.coverage.pairs_compared == 1


def test_sets_beyond_the_limit_are_marked():
    assert captured(set(range(200))) == {"captured_items": [], "capture_omitted_items": 200}


def test_secrets_in_bytes_and_pydantics_secrets():
    class Keys(pydantic.BaseModel):
        plain: str = "seen"
        hidden: str = pydantic.Field("zq-excluded", exclude=True)
        word: pydantic.SecretStr
        data: pydantic.SecretBytes = pydantic.SecretBytes(b"zq-secret-bytes")

    recorder = ExecutionRecorder(secret_values=["open-sesame-99"])
    use = recorder.wrap(lambda keys, raw: raw, name="use")
    for word in ("zq-one", "zq-one", "zq-two"):
        use(Keys(word=word), b"begin open-sesame-99 end")
    text = recorder.capture().decode()
    assert "zq-" not in text and base64.b64encode(b"open-sesame")[:12].decode() not in text
    inputs = [event["data"]["input"] for event in events(recorder) if event["phase"] == "start"]
    assert set(inputs[0]["keys"]) == {"plain", "word", "data"} and inputs[0]["raw"].startswith("[REDACTED:bytes:")
    # equal secrets are equal, others are not
    assert inputs[0] == inputs[1] != inputs[2]


@pytest.mark.parametrize("secret", ['pass"word\\9', "pässwörter-42", "line one\nline two"])
def test_secrets_with_quotes_and_letters_beyond_ascii(secret):
    recorder = ExecutionRecorder(secret_values=[secret])
    say = recorder.wrap(lambda text: text, name="say")
    text = json.dumps({"note": secret})
    for said in (secret, text, json.dumps({"note": secret}, ensure_ascii=False), "x" + json.dumps({"inner": text})):
        say(said)
    shown = json.dumps([event["data"] for event in events(recorder)])
    assert shown.count("[REDACTED:known-secret:") >= 8
    for part in ("word", "ssw", "line two"):
        assert part not in shown


def test_secrets_that_cannot_be_told_from_text_are_refused():
    for short in ("", "  ", "1234567", "äöü", " 1234567 "):
        with pytest.raises(ValueError, match=r"secret_values\[1\] has \d bytes") as caught:
            ExecutionRecorder(secret_values=["long-enough", short])
        assert not short.strip() or short.strip() not in str(caught.value).replace("secret_values", "")
    with pytest.raises(TypeError, match=r"secret_values\[0\] must be a str"):
        ExecutionRecorder(secret_values=[12345678])


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (object(), "object"), (1j, "complex"), (Data, "type"), (len, "builtin_function_or_method"),
        (threading.Lock(), "lock"), (OddPath("/x"), "OddPath"), (OddSet([1]), "OddSet"), (datetime.datetime(2020, 1, 1, tzinfo=OddZone()), "datetime"),
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
    ExecutionRecorder(output=tmp_path / "made" / "here" / "run.jsonl").finish()
    assert (tmp_path / "made" / "here" / "run.jsonl").is_file()
    with pytest.raises((NotADirectoryError, FileExistsError)):
        ExecutionRecorder(output=path / "below" / "run.jsonl")
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
    before = recorder.finish()
    assert give() == 1 and len(events(recorder)) == 2
    recorder.missed()
    assert recorder.finish() == before == recorder.snapshot().capture_summary


def test_the_outermost_end_survives_the_limit(tmp_path):
    path = tmp_path / "run.jsonl"
    recorder = ExecutionRecorder(output=path, max_events=7)
    tick = recorder.wrap(lambda: None, name="tick")
    with recorder.span("agent", "outer") as span:
        for _ in range(9):
            tick()
        span.set_output("done")
    summary = recorder.finish()
    assert (summary["events"], summary["dropped_events"]) == (6, 14)
    last = events(recorder)[-1]
    assert (last["name"], last["phase"], last["data"]) == ("outer", "end", {"output": "done"})


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


# ---- what is wrapped stays what it is ----


def twice(x):
    return 2 * x


module_recorder = ExecutionRecorder()
recorded_twice = module_recorder.wrap(twice)
kept_by_name = module_recorder.wrap(twice)


@module_recorder.wrap
def decorated(x):
    return 3 * x


@module_recorder.wrap(kind="model", name="asked")
async def decorated_async(x):
    return 4 * x


class Tool:
    """A callable with state."""

    def __init__(self):
        self.state = [1]

    def __call__(self, x):
        return x + len(self.state)


class Holder:
    part = module_recorder.wrap(functools.partial(twice, 5))
    tool = module_recorder.wrap(Tool())
    size = module_recorder.wrap(len)

    @module_recorder.wrap
    def method(self, x):
        return (self, x)

    @classmethod
    @module_recorder.wrap
    def of_class(cls, x):
        return (cls, x)

    @staticmethod
    @module_recorder.wrap
    def static(x):
        return x

    @module_recorder.wrap(kind="loop")
    async def waits(self, x):
        return (self, x)

    @module_recorder.wrap
    @functools.lru_cache  # noqa: B019
    def cached(self, x):
        return x


def last_input(recorder=module_recorder):
    return [event["data"].get("input", {}) for event in events(recorder) if event["phase"] == "start"][-1]


def test_methods_decorated_in_a_class_record_no_self():
    holder = Holder()
    assert holder.method(1) == (holder, 1) and last_input() == {"x": 1}
    assert Holder.method(holder, 2) == (holder, 2) and last_input() == {"x": 2}
    assert Holder.of_class(3) == (Holder, 3) and last_input() == {"x": 3}
    assert holder.static(4) == 4 and last_input() == {"x": 4}
    assert asyncio.run(holder.waits(5)) == (holder, 5) and last_input() == {"x": 5}
    assert holder.cached(6) == holder.cached(6) == 6 and last_input() == {"x": 6}
    assert Holder.cached.cache_info().hits == 1
    # attributes that are no functions are not bound
    assert holder.part() == 10 and holder.tool(1) == 2 and holder.size([1, 2]) == 2


def test_decorators_with_and_without_arguments():
    assert decorated(2) == 6 and last_input() == {"x": 2}
    assert asyncio.iscoroutinefunction(decorated_async) and asyncio.run(decorated_async(2)) == 8
    last = events(module_recorder)[-1]
    assert (last["kind"], last["name"], last["data"]) == ("model", "asked", {"output": 8})
    with pytest.raises(ValueError, match="kind must be"):
        module_recorder.wrap(kind="step")


def test_attributes_of_what_is_wrapped():
    cached = ExecutionRecorder().wrap(functools.lru_cache(twice))
    cached(1)
    assert cached.cache_info().misses == 1 and cached.cache_clear() is None and cached.cache_info().misses == 0
    tool = ExecutionRecorder().wrap(Tool())
    tool.state.append(2)
    assert tool(1) == 3 and isinstance(tool, Tool) and tool.__doc__ == "A callable with state."
    wrapped = ExecutionRecorder().wrap(twice)
    wrapped.note = "mine"
    assert inspect.isfunction(wrapped) and wrapped.__code__ is twice.__code__ and wrapped.note == "mine"
    assert wrapped.__name__ == "twice" and wrapped.__wrapped__ is twice and wrapped.__module__ == __name__
    assert inspect.signature(wrapped) == inspect.signature(twice) and "twice" in repr(wrapped)
    assert inspect.getsource(wrapped) == inspect.getsource(twice)
    with pytest.raises(AttributeError):
        wrapped.nothing_of_that_name


def test_pickling_wrapped_functions():
    for function in (recorded_twice, decorated, kept_by_name, module_recorder.wrap(functools.partial(twice)), Holder.method):
        again = pickle.loads(pickle.dumps(function))
        before = len(events(module_recorder))
        assert again(*([None, 2] if function is Holder.method else [2])) is not None
        assert len(events(module_recorder)) == before + 2
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert pickle.loads(pickle.dumps(module_recorder)) is module_recorder
    assert copy.deepcopy({"f": recorded_twice})["f"] is recorded_twice
    # a local recorder is unknown once it is gone
    given = pickle.dumps(ExecutionRecorder().wrap(twice))
    gc.collect()
    assert pickle.loads(given)(2) == 4


def test_wrapped_functions_in_other_processes():
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(kept_by_name, [1, 2])) == [2, 4]


def test_a_span_by_hand():
    recorder = ExecutionRecorder()
    outer = recorder.begin("agent", "outer", {"a": 1}).enter()
    assert recorder.current_span_id() == outer.id
    inner = recorder.begin("tool", "inner")
    lone = recorder.begin("tool", "lone", parent=None)
    outer.leave()
    assert recorder.current_span_id() is None
    inner.fail(Failure("secret")), inner.end("again"), lone.cancel(), outer.end("done")
    ends = {e["name"]: (e["status"], e["data"], e["parent_span_id"]) for e in events(recorder) if e["phase"] == "end"}
    assert ends == {
        "inner": ("error", {"error_type": "Failure"}, outer.id),
        "lone": ("cancelled", {}, None),
        "outer": ("ok", {"output": "done"}, None),
    }
    with pytest.raises(ValueError, match="kind must be"):
        recorder.begin("step", "x")
