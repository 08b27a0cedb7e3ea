"""What the adapters have in common: spans by the ids of a framework, and methods that never fail it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from ..tracing import ExecutionRecorder, _end, _keep_out, _plain


class Known(NamedTuple):
    """Something that a framework began. What is not recorded itself has no kind and span, and the span around it as
    `span_id`.
    """

    kind: str | None
    span: Any
    span_id: str | None


class Spans:
    """The spans under way. Frameworks use ids once, and each begins and ends at one place: no lock is needed."""

    def __init__(self, recorder: ExecutionRecorder) -> None:
        self.recorder = recorder
        self._known: dict[Any, Known] = {}

    def get(self, key: Any) -> Known | None:
        return self._known.get(key)

    def parent(self, key: Any) -> str | None:
        """The id of the span for what is inside `key`; at the top, or if `key` is not known, of the recorder's own."""
        known = self._known.get(key)
        return self.recorder._around() if known is None else known.span_id

    def begin(self, key: Any, parent: str | None, kind: str, name: Any, data: Any, omitted: bool = False) -> None:
        """Begins a span inside the one with the id `parent`. `omitted` marks that its data was not to be had."""
        name = _plain(name) if isinstance(name, str) and name else kind
        native = self.recorder._native
        span = native.begin_without_data(parent, kind, name) if omitted else native.begin(parent, kind, name, data)
        self._known[key] = Known(kind, span, span.id)

    def pass_over(self, key: Any, parent: str | None) -> None:
        """What is inside `key` is recorded as inside the span with the id `parent`."""
        self._known[key] = Known(None, None, parent)

    def end(self, key: Any, output: Any = None, error: BaseException | None = None) -> None:
        known = self._known.pop(key, None)
        if known is not None:
            _end(known.span, output, error)

    def fail(self, key: Any, error_type: str) -> None:
        """Ends it with an error of which only the kind is known."""
        known = self._known.pop(key, None)
        if known is not None and known.span is not None:
            known.span.fail(error_type)

    def cancel(self, key: Any) -> None:
        known = self._known.pop(key, None)
        if known is not None and known.span is not None:
            known.span.cancel()


def quiet(method: Callable[..., None]) -> Callable[..., None]:
    """A method that raises nothing into the framework: what it could not record is counted."""

    @functools.wraps(method)
    def kept(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            method(self, *args, **kwargs)
        except BaseException as error:
            _keep_out(error)
            self._spans.recorder._native.missed()

    return kept
