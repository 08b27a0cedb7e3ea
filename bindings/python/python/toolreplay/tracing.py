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
import types
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Literal, NamedTuple, TypeVar

from . import _native, import_recording

__all__ = ["ExecutionRecorder", "Snapshot", "Span", "UnsupportedFunction"]

Kind = Literal["agent", "loop", "model", "tool"]
F = TypeVar("F", bound=Callable[..., Any])

_KINDS = ("agent", "loop", "model", "tool")
_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError, GeneratorExit, KeyboardInterrupt)
_MARK = "__toolreplay_recorder__"


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


class ExecutionRecorder:
    """Records spans into memory and, if `output` is given, into a file that is made new with mode 0600.

    `secret_values` are never recorded, nor are the values of fields that are named in `redacted_fields` or whose names
    say that they are secret. A value that is no pydantic model, dataclass, dict, list, tuple or scalar is named by its
    type. After the recorder is made nothing here fails what it records: what could not be recorded is counted.
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
        self._native = _native.Recorder(
            output, list(secret_values), list(redacted_fields), max_events, max_data_chars
        )

    @property
    def trace_id(self) -> str:
        """The id of this recording."""
        return self._native.trace_id

    def wrap(self, function: F, kind: Kind = "tool", name: str | None = None) -> F:
        """A function that does what `function` does, and records each call.

        Works for functions, async functions and bound methods. Generators are refused: their results would have to be
        consumed to be recorded.
        """
        return self._wrap(function, kind, name)

    def _wrap(self, function: F, kind: str, name: str | None, first: int = 0) -> F:
        """`first`: leading parameters that are not recorded, such as the object of a method."""
        _check_kind(kind)
        _check_function(function)
        name = _plain(_name_of(function) if name is None else name)
        arguments = _arguments(function, first)

        # frameworks read what decorators left on a function; the attributes of an object are its own business
        updated = ("__dict__",) if inspect.isroutine(function) else ()

        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):

            @functools.wraps(function, updated=updated)
            async def recorded(*args: Any, **kwargs: Any) -> Any:
                span, begun = self._begin_call(kind, name, arguments, args, kwargs)
                try:
                    result = await function(*args, **kwargs)
                except BaseException as error:
                    _finish(span, begun, None, error)
                    raise
                _finish(span, begun, result)
                return result

        else:

            @functools.wraps(function, updated=updated)
            def recorded(*args: Any, **kwargs: Any) -> Any:
                span, begun = self._begin_call(kind, name, arguments, args, kwargs)
                try:
                    result = function(*args, **kwargs)
                except BaseException as error:
                    _finish(span, begun, None, error)
                    raise
                if type(result) is types.CoroutineType:
                    # an async function behind a decorator that is none
                    _leave(begun)
                    return self._await_call(span, result)
                _finish(span, begun, result)
                return result

        setattr(recorded, _MARK, self)
        return recorded  # type: ignore[return-value]

    def span(self, kind: Kind, name: str, data: Any = None) -> Span:
        """A span for a `with` or `async with` block. `data` is recorded as its input."""
        _check_kind(kind)
        return Span(self, kind, _plain(name), data)

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
    return getattr(function, _MARK, None) is not None
