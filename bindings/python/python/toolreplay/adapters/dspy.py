"""Records what DSPy programs run.

    dspy.configure(callbacks=[RecordingCallback(recorder)])
"""

from __future__ import annotations

from typing import Any

from ..tracing import ExecutionRecorder
from ._spans import Spans, quiet

try:
    from dspy.utils.callback import BaseCallback
except ImportError as error:
    raise ImportError("toolreplay.adapters.dspy needs DSPy: pip install 'dspy>=3'") from error

__all__ = ["RecordingCallback"]


class RecordingCallback(BaseCallback):
    """A callback that records tools, modules (`agent`, and `loop` inside of one) and model requests.

    It is given to `dspy.configure`, to `dspy.context`, or to modules and tools of their own. It changes nothing of what
    they do: what could not be recorded is counted in the recorder's summary. A call whose arguments the tool does not
    take reached no tool.
    """

    def __init__(self, recorder: ExecutionRecorder) -> None:
        self._spans = Spans(recorder)

    @quiet
    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if self._spans.claim(call_id):
            recorder = self._spans.recorder
            inside = recorder.current_span_id()
            kind = "agent" if inside is None else "loop"
            self._spans.begin(call_id, inside, kind, type(instance).__name__, _arguments(inputs)).enter()

    @quiet
    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        self._end(call_id, None if outputs is None else _plain(outputs), exception)

    @quiet
    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        if self._spans.claim(call_id):
            asked = {name: inputs[name] for name in ("prompt", "messages") if inputs.get(name) is not None}
            self._spans.begin(call_id, self._spans.recorder.current_span_id(), "model", instance.model, asked)

    @quiet
    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        self._end(call_id, outputs, exception)

    @quiet
    def on_tool_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        arguments = _arguments(inputs)
        if _is_finish(instance) or not _takes(instance, arguments) or not self._spans.claim(call_id):
            return
        inside = self._spans.recorder.current_span_id()
        self._spans.begin(call_id, inside, "tool", instance.name, arguments).enter()

    @quiet
    def on_tool_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        self._end(call_id, outputs, exception)

    def _end(self, call_id: str, outputs: Any, error: BaseException | None) -> None:
        if self._spans.release(call_id):
            self._spans.end(call_id, outputs, error)


def _arguments(inputs: dict[str, Any]) -> Any:
    given = inputs.get("kwargs")
    return given if isinstance(given, dict) else inputs


def _takes(tool: Any, arguments: Any) -> bool:
    """Whether a tool's arguments come to its function."""
    validate = getattr(tool, "_validate_and_parse_args", None)
    if validate is None:
        return True
    try:
        validate(**arguments)
    except Exception:
        return False
    return True


def _is_finish(tool: Any) -> bool:
    """Whether it is no tool, but the word by which a module of DSPy says that it is done."""
    return tool.name == "finish" and str(getattr(tool.func, "__module__", "")).startswith("dspy.")


def _plain(outputs: Any) -> Any:
    """What a module predicts, as a dict."""
    items = getattr(outputs, "items", None)
    return dict(items()) if callable(items) else outputs
