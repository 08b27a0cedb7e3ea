"""Records what a program's agents, loops, models and tools do, without ever getting in their way.

A recording is evidence of what passed through the wrapped functions. It holds no messages of errors, nothing of
objects that are no plain data, and secrets are taken out before anything is written.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import functools
import inspect
import json
import os
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Literal, NamedTuple, TypeVar, overload

from . import _native, import_recording

__all__ = ["ExecutionRecorder", "OpenSpan", "Snapshot", "Span", "UnsupportedFunction"]

Kind = Literal["agent", "loop", "model", "tool"]
F = TypeVar("F", bound=Callable[..., Any])

_KINDS = ("agent", "loop", "model", "tool")
_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError, GeneratorExit, KeyboardInterrupt)
_MARK = "__toolreplay_recorder__"
# the shortest secret that is searched for: a shorter one would hit ordinary words
_SHORTEST_SECRET = 8
_HERE: Any = object()


class UnsupportedFunction(TypeError):
    """A function whose calls cannot be recorded without changing what it does."""


class _Open(NamedTuple):
    """The spans that are open here, the innermost first."""

    recorder: Any
    span_id: str
    outer: _Open | None


_open: contextvars.ContextVar[_Open | None] = contextvars.ContextVar("toolreplay_open_spans", default=None)


class Snapshot(Mapping[str, Any]):
    """What was recorded so far: a mapping that pydantic and json take as the plain object it is."""

    __slots__ = ("_value",)

    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value

    def __getitem__(self, key: str) -> Any:
        return self._value[key]

    def __iter__(self):
        return iter(self._value)

    def __len__(self) -> int:
        return len(self._value)

    def __repr__(self) -> str:
        return f"<Snapshot: {len(self.events)} events>"

    @property
    def version(self) -> int:
        return self._value["version"]

    @property
    def trace_id(self) -> str:
        return self._value["trace_id"]

    @property
    def events(self) -> list[dict[str, Any]]:
        return self._value["events"]

    @property
    def capture_summary(self) -> dict[str, Any]:
        return self._value["capture_summary"]

    def model_dump(self, mode: str = "python", **_: Any) -> dict[str, Any]:
        """The plain object, of dicts, lists and scalars in either mode."""
        return json.loads(self.model_dump_json())

    def model_dump_json(self, **_: Any) -> str:
        """The plain object as JSON."""
        return json.dumps(self._value)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            lambda value: value if isinstance(value, cls) else cls(dict(value)),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value.model_dump()),
        )


class Span:
    """A span that is open while its `with` block runs."""

    __slots__ = ("_begun", "_data", "_kind", "_name", "_output", "_recorder", "_span")

    def __init__(self, recorder: ExecutionRecorder, kind: str, name: str, data: Any) -> None:
        self._recorder, self._kind, self._name, self._data = recorder, kind, name, data
        self._output: Any = None
        self._span: Any = None
        self._begun: Any = None

    @property
    def id(self) -> str | None:
        """Its id in the recording, once it is open."""
        return self._span.id if self._span is not None else None

    def set_output(self, output: Any) -> None:
        """What the end of the span records as its output."""
        self._output = output

    def __enter__(self) -> Span:
        if self._begun is not None:
            raise RuntimeError("a span is entered once; make another")
        self._span, self._begun = self._recorder._begin(self._kind, self._name, self._data)
        self._data = None
        return self

    def __exit__(self, error_type: Any, error: BaseException | None, traceback: Any) -> None:
        _finish(self._span, self._begun, self._output, error)
        self._output = None

    async def __aenter__(self) -> Span:
        return self.__enter__()

    async def __aexit__(self, error_type: Any, error: BaseException | None, traceback: Any) -> None:
        self.__exit__(error_type, error, traceback)


class OpenSpan:
    """A span that is open until one of its methods ends it: for code that learns of an end elsewhere than of the
    beginning, such as the hooks of a framework. Ended once more nothing happens; never ended it counts as cancelled.
    """

    __slots__ = ("_begun", "_recorder", "_span")

    def __init__(self, recorder: ExecutionRecorder, span: Any) -> None:
        self._recorder, self._span = recorder, span
        self._begun: Any = None

    @property
    def id(self) -> str | None:
        """Its id in the recording; None if it could not be begun."""
        return self._span.id if self._span is not None else None

    def enter(self) -> OpenSpan:
        """From here on it is around what is begun in this context, until `leave` or its end."""
        if self._begun is None:
            self._begun = self._recorder._open(self._span)
        return self

    def leave(self) -> None:
        """It is around nothing more."""
        begun, self._begun = self._begun, None
        _leave(begun)

    def end(self, output: Any = None) -> None:
        """Ends it with its output."""
        self.leave()
        _end(self._span, output)

    def fail(self, error: BaseException | str) -> None:
        """Ends it with an error, which is recorded by the name of its type; a cancellation counts as cancelled."""
        self.leave()
        if isinstance(error, BaseException):
            _end(self._span, None, error)
        elif self._span is not None:
            self._span.fail(_plain(error))

    def cancel(self) -> None:
        """Ends it as cancelled: whether it ran to its end is not known."""
        self.leave()
        if self._span is not None:
            self._span.cancel()


class ExecutionRecorder:
    """Records spans into memory and, if `output` is given, into a file that is made new with mode 0600.

    `secret_values` are never recorded, nor are the values of fields that are named in `redacted_fields` or whose names
    say that they are secret. A value that has no form in JSON is named by its type. After the recorder is made nothing
    here fails what it records: what could not be recorded is counted.
    """

    def __init__(
        self,
        output: str | PathLike[str] | None = None,
        secret_values: Iterable[str] = (),
        redacted_fields: Iterable[str] = (),
        max_events: int = 10_000,
        max_data_chars: int = 16_000,
    ) -> None:
        for name, values in (("secret_values", secret_values), ("redacted_fields", redacted_fields)):
            if isinstance(values, (str, bytes)):
                raise TypeError(f"{name} must be a list of str, not one {type(values).__name__}")
        if max_events < 0 or max_data_chars < 0:
            raise ValueError("max_events and max_data_chars must not be negative")
        secrets = list(secret_values)
        for place, secret in enumerate(secrets):
            if not isinstance(secret, str):
                raise TypeError(f"secret_values[{place}] must be a str, found {type(secret).__name__}")
            size = len(secret.strip().encode("utf-8", "surrogatepass"))
            if size < _SHORTEST_SECRET:
                raise ValueError(
                    f"secret_values[{place}] has {size} bytes; only secrets of {_SHORTEST_SECRET} bytes or more can be "
                    "told from ordinary text. Name the fields that hold it in redacted_fields"
                )
        if output is not None:
            folder = os.path.dirname(os.fspath(output))
            if folder:
                os.makedirs(folder, exist_ok=True)
        self._native = _native.Recorder(output, secrets, list(redacted_fields), max_events, max_data_chars)
        self._trace_id = self._native.trace_id
        _recorders[self._trace_id] = self

    @property
    def trace_id(self) -> str:
        """The id of this recording."""
        return self._native.trace_id

    @overload
    def wrap(self, function: F, kind: Kind = "tool", name: str | None = None) -> F: ...
    @overload
    def wrap(self, *, kind: Kind = "tool", name: str | None = None) -> Callable[[F], F]: ...
    def wrap(self, function: Any = _HERE, kind: Kind = "tool", name: str | None = None) -> Any:
        """A function that does what `function` does, and records each call.

        Works for functions, async functions, methods and other callables; without a function it is a decorator with
        arguments: `@recorder.wrap(kind="model")`. The object of a method is not recorded. Generators are refused: their
        results would have to be consumed to be recorded.
        """
        if function is _HERE:
            _check_kind(kind)
            return lambda function: self._wrap(function, kind, name)
        return self._wrap(function, kind, name)

    def _wrap(self, function: Any, kind: str, name: str | None, first: int = 0) -> Any:
        """`first`: leading parameters that are not recorded, such as the object of a method."""
        _check_kind(kind)
        _check_function(function)
        name = _plain(_name_of(function) if name is None else name)
        return _Recorded(self, function, kind, name, first or int(_is_method(function)))

    def span(self, kind: Kind, name: str, data: Any = None) -> Span:
        """A span for a `with` or `async with` block. `data` is recorded as its input."""
        _check_kind(kind)
        return Span(self, kind, _plain(name), data)

    def begin(self, kind: Kind, name: str, data: Any = None, *, parent: str | None = _HERE) -> OpenSpan:
        """Begins a span that is ended by its own methods. Its parent is the span with the id `parent`, none if that is
        None, and if it is not given the one that is open here. Nothing is raised once the kind and name are right.
        """
        _check_kind(kind)
        name = _plain(name)
        try:
            around = self._around() if parent is _HERE else parent
            return OpenSpan(self, self._native.begin(around, kind, name, data))
        except BaseException as error:
            _keep_out(error)
            self._native.missed()
            return OpenSpan(self, None)

    def current_span_id(self) -> str | None:
        """The id of this recorder's span that is open here."""
        return self._around()

    def missed(self) -> None:
        """Counts something that could not be recorded, among the summary's `capture_errors`."""
        self._native.missed()

    def snapshot(self) -> Snapshot:
        """What was recorded so far."""
        return Snapshot(json.loads(self._native.snapshot()))

    def transcript(self) -> bytes:
        """The tool executions so far as a transcript, such as `seal` takes.

        Executions that did not end, or of whose result something was left out, are marked in it.
        """
        return import_recording(("recording", self.capture()), allow_loss=True)

    def capture(self) -> bytes:
        """What was recorded so far, as the file would hold it if the recording ended now: what `audit` takes."""
        return self._native.capture()

    def finish(self) -> dict[str, Any]:
        """Writes the summary and returns it. Nothing more is recorded; calling it again changes nothing."""
        return json.loads(self._native.finish())

    def __enter__(self) -> ExecutionRecorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    def __reduce__(self) -> Any:
        # only this process has the recording; elsewhere what was wrapped runs unrecorded
        return _again, (self._trace_id,)

    async def _await_call(self, span: Any, call: Any) -> Any:
        begun = self._open(span)
        try:
            result = await call
        except BaseException as error:
            _finish(span, begun, None, error)
            raise
        _finish(span, begun, result)
        return result

    def _begin_call(self, kind: str, name: str, arguments: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
        try:
            data = arguments(args, kwargs)
        except Exception:
            # the call itself will say what is wrong with its arguments
            return self._begin(kind, name, None, omitted=True)
        return self._begin(kind, name, data)

    def _begin(self, kind: str, name: str, data: Any, omitted: bool = False) -> tuple[Any, Any]:
        """Begins a span inside the one that is open here, and makes it the open one."""
        try:
            parent = self._around()
            if omitted:
                span = self._native.begin_without_data(parent, kind, name)
            else:
                span = self._native.begin(parent, kind, name, data)
            return span, self._open(span)
        except BaseException as error:
            _keep_out(error)
            self._native.missed()
            return None, None

    def _around(self) -> str | None:
        """The id of this recorder's span that is open here."""
        around = _open.get()
        while around is not None and around.recorder is not self._native:
            around = around.outer
        return None if around is None else around.span_id

    def _open(self, span: Any) -> Any:
        if span is None:
            return None
        return _open.set(_Open(self._native, span.id, _open.get()))


_recorders: weakref.WeakValueDictionary[str, ExecutionRecorder] = weakref.WeakValueDictionary()


class _Elsewhere:
    """What a recorder is in a process that has not made it: nothing is recorded."""

    def __init__(self, trace_id: str) -> None:
        self.trace_id = trace_id

    def wrap(self, function: Any = _HERE, kind: Kind = "tool", name: str | None = None) -> Any:
        return (lambda function: function) if function is _HERE else function

    def __reduce__(self) -> Any:
        return _again, (self.trace_id,)


def _again(trace_id: str) -> Any:
    """The recorder of this process with this id."""
    return _recorders.get(trace_id) or _Elsewhere(trace_id)


def _wrapped_again(recorder: Any, function: Any, kind: str, name: str, first: int) -> Any:
    """What pickle makes of a wrapped function."""
    return _Recorded(recorder, function, kind, name, first) if isinstance(recorder, ExecutionRecorder) else function


class _Recorded:
    """A callable that is what it wraps in every respect but that its calls are recorded.

    It has the attributes and the class of what it wraps, so that frameworks take it for a function where it is one, is
    bound to objects where that would be, and is pickled by what it wraps: in the process that records it is recorded
    again, elsewhere it is the plain function.
    """

    def __init__(self, recorder: ExecutionRecorder, function: Any, kind: str, name: str, first: int) -> None:
        # what decorators left on a function; the attributes of an object are its own business
        functools.update_wrapper(self, function, updated=("__dict__",) if inspect.isroutine(function) else ())
        held = self.__dict__
        held["_toolreplay"] = (recorder, kind, name, first)
        held["_toolreplay_arguments"] = _arguments(function, first)
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))
        held["_toolreplay_async"] = is_async
        held[_MARK] = recorder

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        held = self.__dict__
        if held["_toolreplay_async"]:
            return self._call_async(args, kwargs)
        recorder, kind, name, _ = held["_toolreplay"]
        span, begun = recorder._begin_call(kind, name, held["_toolreplay_arguments"], args, kwargs)
        try:
            result = held["__wrapped__"](*args, **kwargs)
        except BaseException as error:
            _finish(span, begun, None, error)
            raise
        if type(result) is types.CoroutineType:
            # an async function behind a decorator that is none
            _leave(begun)
            return recorder._await_call(span, result)
        _finish(span, begun, result)
        return result

    async def _call_async(self, args: Any, kwargs: Any) -> Any:
        held = self.__dict__
        recorder, kind, name, _ = held["_toolreplay"]
        span, begun = recorder._begin_call(kind, name, held["_toolreplay_arguments"], args, kwargs)
        try:
            result = await held["__wrapped__"](*args, **kwargs)
        except BaseException as error:
            _finish(span, begun, None, error)
            raise
        _finish(span, begun, result)
        return result

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        function = self.__dict__["__wrapped__"]
        # callable objects, partials and builtins are attributes of a class like any other value
        if instance is None or not hasattr(type(function), "__get__") or isinstance(function, types.MethodType):
            return self
        return types.MethodType(self, instance)

    def __set_name__(self, owner: Any, name: str) -> None:
        named = getattr(type(self.__dict__["__wrapped__"]), "__set_name__", None)
        if named is not None:
            named(self.__dict__["__wrapped__"], owner, name)

    @property
    def __class__(self) -> Any:
        return self.__dict__["__wrapped__"].__class__

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # while it is made
            raise AttributeError(name)
        return getattr(self.__dict__["__wrapped__"], name)

    def __repr__(self) -> str:
        recorder, kind, name, _ = self.__dict__["_toolreplay"]
        return f"<recorded {kind} {name}: {self.__dict__['__wrapped__']!r}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        recorder, kind, name, first = self.__dict__["_toolreplay"]
        function = self.__dict__["__wrapped__"]
        path = getattr(function, "__qualname__", None)
        if isinstance(function, types.FunctionType) and path is not None:
            found: Any = sys.modules.get(function.__module__)
            for part in path.split("."):
                found = getattr(found, part, None)
            if found is self:
                # it stands under the name of the function, there as well
                return path
        return _wrapped_again, (recorder, function, kind, name, first)

    def __copy__(self) -> _Recorded:
        return self

    def __deepcopy__(self, memo: Any) -> _Recorded:
        return self


# a fork must not write into the file of its parent, and could wait for ever for a lock that a thread held
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_native.forked)


def _keep_out(error: BaseException) -> None:
    """Keeps errors of the recorder, panics too, out of the recorded program; what others raise here goes on."""
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error


def _leave(begun: Any) -> None:
    if begun is not None:
        try:
            _open.reset(begun)
        except ValueError:
            # entered in another context, as some frameworks finish what they began: that one ends by itself
            pass


def _finish(span: Any, begun: Any, output: Any, error: BaseException | None = None) -> None:
    """Ends what `_begin` began: with its output, as cancelled, or with the type of its error."""
    _leave(begun)
    _end(span, output, error)


def _end(span: Any, output: Any, error: BaseException | None = None) -> None:
    if span is None:
        return
    try:
        if error is None:
            span.end(output)
        elif isinstance(error, _CANCELLED):
            span.cancel()
        else:
            span.fail(type(error).__name__)
    except BaseException as own:
        _keep_out(own)


def _check_kind(kind: str) -> None:
    if kind not in _KINDS:
        raise ValueError(f"kind must be agent, loop, model or tool, found {kind!r}")


def _check_function(function: Any) -> None:
    if isinstance(function, (staticmethod, classmethod, property)):
        raise UnsupportedFunction(f"a {type(function).__name__} object is wrapped through its class, not by itself")
    if not callable(function):
        raise UnsupportedFunction(f"only functions can be wrapped, found {type(function).__name__}")
    if isinstance(function, type):
        raise UnsupportedFunction(f"{function.__name__} is a class; wrap a function or a method of an object")
    whole = function
    while isinstance(whole, functools.partial):
        whole = whole.func
    for one in (whole, getattr(whole, "__call__", None)):
        if inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one):
            raise UnsupportedFunction(
                f"{_name_of(function)} is a generator: recording its results would consume them. Wrap the function "
                "that uses it, or put a span around the loop over it"
            )


def _is_method(function: Any) -> bool:
    """Whether it is a function that stands in a class, whose first argument is the object or the class."""
    if not isinstance(function, types.FunctionType) and not hasattr(function, "__wrapped__"):
        return False
    around, _, _ = getattr(function, "__qualname__", "").rpartition(".")
    if not around or around.endswith("<locals>") or not hasattr(type(function), "__get__"):
        return False
    try:
        return next(iter(inspect.signature(function).parameters), "") in ("self", "cls", "mcs")
    except (TypeError, ValueError):
        return False


def _plain(name: str) -> str:
    if not isinstance(name, str):
        raise TypeError(f"a name is a str, found {type(name).__name__}")
    return name.encode("utf-8", "replace").decode()


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def _arguments(function: Any, first: int) -> Callable[[tuple[Any, ...], dict[str, Any]], dict[str, Any]]:
    """A function from the arguments of a call to what is recorded of them: by the names of the parameters."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # some functions in C have none

        def positions(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
            return {**{str(place): value for place, value in enumerate(args[first:])}, **kwargs}

        return positions

    parameters = list(signature.parameters.values())
    left_out = {one.name for one in parameters[:first]}
    spread = next((one.name for one in parameters if one.kind is one.VAR_KEYWORD), None)

    def bound(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        arguments = signature.bind(*args, **kwargs).arguments
        for name in left_out:
            arguments.pop(name, None)
        if spread is not None and spread in arguments:
            # a call's further keywords stand beside its named arguments, as the caller wrote them
            further = arguments.pop(spread)
            clash = arguments.keys() & further.keys()
            arguments.update({name: value for name, value in further.items() if name not in clash})
            if clash:
                arguments[spread] = {name: further[name] for name in clash}
        return arguments

    return bound


def is_recorded(function: Any) -> bool:
    """Whether a function was made by `wrap`."""
    if isinstance(function, types.MethodType):
        function = function.__func__
    return type(function) is _Recorded
