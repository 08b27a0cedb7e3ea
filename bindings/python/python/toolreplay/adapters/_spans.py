"""What the adapters have in common: spans by the ids of a framework, and methods that never fail it."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from ..tracing import ExecutionRecorder, OpenSpan

# which of the adapters of a recorder records what a framework began: one is enough
_claimed: weakref.WeakKeyDictionary[ExecutionRecorder, dict[Any, Any]] = weakref.WeakKeyDictionary()


class Known(NamedTuple):
    """Something that a framework began. What is not recorded itself has no kind and span, and the span around it as
    `span_id`.
    """

    kind: str | None
    span: OpenSpan | None
    span_id: str | None


class Spans:
    """The spans under way. Frameworks use ids once, and each begins and ends at one place: no lock is needed."""

    def __init__(self, recorder: ExecutionRecorder) -> None:
        self.recorder = recorder
        self._known: dict[Any, Known] = {}
        self._claims = _claimed.setdefault(recorder, {})

    def claim(self, key: Any) -> bool:
        """Whether what `key` stands for is to be recorded here, and is not yet: an adapter may be installed twice."""
        if key in self._claims:
            return False
        self._claims[key] = self
        return True

    def release(self, key: Any) -> bool:
        """It ended. Whether it was claimed here."""
        if self._claims.get(key) is not self:
            return False
        del self._claims[key]
        return True

    def get(self, key: Any) -> Known | None:
        return self._known.get(key)

    def parent(self, key: Any) -> str | None:
        """The id of the span for what is inside `key`; at the top, or if `key` is not known, of the recorder's own."""
        known = self._known.get(key)
        return self.recorder.current_span_id() if known is None else known.span_id

    def begin(self, key: Any, parent: str | None, kind: Any, name: Any, data: Any) -> OpenSpan:
        """Begins a span inside the one with the id `parent`."""
        name = name if isinstance(name, str) and name else kind
        span = self.recorder.begin(kind, name, data, parent=parent)
        self._known[key] = Known(kind, span, span.id)
        return span

    def pass_over(self, key: Any, parent: str | None) -> None:
        """What is inside `key` is recorded as inside the span with the id `parent`."""
        self._known[key] = Known(None, None, parent)

    def _take(self, key: Any) -> OpenSpan | None:
        known = self._known.pop(key, None)
        return None if known is None else known.span

    def end(self, key: Any, output: Any = None, error: BaseException | str | None = None) -> None:
        """Ends it with its output, or an error or the name of its type."""
        span = self._take(key)
        if span is not None and error is None:
            span.end(output)
        elif span is not None:
            span.fail(error)

    def cancel(self, key: Any) -> None:
        span = self._take(key)
        if span is not None:
            span.cancel()


def missing(what: str) -> dict[str, str]:
    """Stands for what a framework did not tell; an audit does not compare it with anything."""
    return {"capture_omitted": what}


def quiet(method: Callable[..., None]) -> Callable[..., None]:
    """A method that raises nothing into the framework: what it could not record is counted."""

    @functools.wraps(method)
    def kept(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception:
            self._spans.recorder.missed()

    return kept


def quietly(recorder: ExecutionRecorder, told: Callable[[], Any]) -> Any:
    """What `told` returns; what it raises is counted."""
    try:
        return told()
    except Exception:
        recorder.missed()
        return None
