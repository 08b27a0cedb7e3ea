"""Calls that a framework announces before it knows whether it carries them out, and the place where it does.

A framework's callback says that a tool is about to be called: a later callback, a person or the arguments can still stop
that. So the callback announces the call here, and the place where the tool itself begins takes it. What no place took
did not run.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from typing import Any

from ..tracing import ExecutionRecorder, OpenSpan

_MARK = "__toolreplay_watched__"
_announced: contextvars.ContextVar[tuple[Announced, ...]] = contextvars.ContextVar("toolreplay_announced", default=())


class Announced:
    """A call that may be carried out in this context, at `place`: an object, or what is equal to it."""

    __slots__ = ("args", "key", "name", "parent", "place", "recorder", "taken")

    def __init__(
        self, recorder: ExecutionRecorder, key: Any, place: Any, name: str, args: Any, parent: str | None
    ) -> None:
        self.recorder, self.key, self.place = recorder, key, place
        self.name, self.args, self.parent = name, args, parent
        self.taken = False


def announce(call: Announced) -> None:
    """Announces a call. It takes the place of calls with other keys; one recorder's is announced once for a key."""
    others = tuple(one for one in _announced.get() if one.key == call.key and not one.taken)
    if not any(one.recorder is call.recorder for one in others):
        _announced.set((*others, call))


class Running:
    """A block in which the calls that were announced for a place run; if there are none it does nothing.

    A call ends with `output`, with `failed` if that is set, an error or the name of its type, with what the block raised,
    or as cancelled.
    """

    def __init__(self, place: Any) -> None:
        self.output: Any = None
        self.failed: BaseException | str | None = None
        self.is_cancelled = False
        self._calls = [one for one in _announced.get() if not one.taken and one.place == place]
        self._spans: list[OpenSpan] = []
        for call in self._calls:
            call.taken = True

    def __bool__(self) -> bool:
        """Whether a call is recorded."""
        return bool(self._calls)

    def __enter__(self) -> Running:
        self._spans = [
            one.recorder.begin("tool", one.name, one.args, parent=one.parent).enter() for one in self._calls
        ]
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        # the innermost was entered last
        for span in reversed(self._spans):
            if self.is_cancelled:
                span.cancel()
            elif error is not None:
                span.fail(error)
            elif self.failed is not None:
                span.fail(self.failed)
            else:
                span.end(self.output)
        self._spans = []


def replace_method(owner: type, name: str, make: Callable[[Any], Any]) -> bool:
    """Replaces the method that `owner` itself or the first of its bases defines by what `make` makes of it, once."""
    for one in owner.__mro__:
        method = one.__dict__.get(name)
        if method is None:
            continue
        if getattr(method, "__isabstractmethod__", False) or not callable(method):
            return False
        if not getattr(method, _MARK, False):
            try:
                setattr(one, name, watched(method, make(method)))
            except (AttributeError, TypeError):
                return False
        return True
    return False


def watched(original: Any, replacement: Any) -> Any:
    """A function that stands for another one, and says so."""
    functools.update_wrapper(replacement, original)
    setattr(replacement, _MARK, True)
    return replacement


def is_watched(function: Any) -> bool:
    return bool(getattr(function, _MARK, False))


def with_subclasses(owner: type) -> list[type]:
    """A class and all classes that were derived from it so far."""
    found = {owner: None}
    left = [owner]
    while left:
        for one in type.__subclasses__(left.pop()):
            if one not in found:
                found[one] = None
                left.append(one)
    return list(found)
