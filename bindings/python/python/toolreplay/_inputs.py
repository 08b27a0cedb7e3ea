"""What `audit` takes, told apart by its type."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _native

EXPECTED = (
    "a path, folder or glob, bytes, a pair (name, bytes), an open file, a Snapshot or recorder, a trace or transcript as "
    "dicts, a list of messages, or an iterable of these"
)


def sources(given: Any) -> list[Any]:
    """The transcripts as the native half takes them: paths, and pairs of a name and bytes, or of a path and None for a
    file that was found in a folder.
    """
    one = _one(given, 0)
    if one is not None:
        return one
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise _wrong(given)
    items = list(given)
    if items and all(_is_object(item) for item in items):
        document = _document(items, 0)
        if document is not None:
            return [document]
    found: list[Any] = []
    for place, item in enumerate(items):
        one = _one(item, place)
        if one is None:
            if not (isinstance(item, Sequence) and items and all(_is_object(part) for part in item)):
                raise _wrong(item)
            one = sources(item)
        found += one
    return found


def _wrong(given: Any) -> TypeError:
    return TypeError(f"expected {EXPECTED}; found {type(given).__name__}")


def _one(given: Any, place: int) -> list[Any] | None:
    if isinstance(given, (bytes, bytearray)):
        return [(f"<bytes {place}>", bytes(given))]
    if isinstance(given, memoryview):
        return [(f"<bytes {place}>", given.tobytes())]
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], (bytes, bytearray, memoryview)):
        if not isinstance(given[0], str):
            raise TypeError(f"the name of a pair (name, bytes) is a str, found {type(given[0]).__name__}")
        return [(given[0], bytes(given[1]))]
    if isinstance(given, (str, os.PathLike)):
        return _path(given)
    capture = getattr(given, "capture", None)
    if callable(capture) and hasattr(given, "snapshot"):
        return [(f"<recording {place}>", capture())]
    read = getattr(given, "read", None)
    if callable(read):
        content = read()
        name = getattr(given, "name", None)
        name = name if isinstance(name, str) else f"<file {place}>"
        if isinstance(content, str):
            content = content.encode("utf-8", "surrogatepass")
        if not isinstance(content, (bytes, bytearray)):
            raise TypeError(f"an open file gives bytes or str, found {type(content).__name__}")
        return [(name, bytes(content))]
    if isinstance(given, Mapping):
        document = _document([given], place)
        return None if document is None else [document]
    return None


def _path(given: Any) -> list[Any]:
    path = os.fspath(given)
    if not isinstance(path, str):
        path = os.fsdecode(path)
    if "\n" in path or path.lstrip()[:1] in ("{", "["):
        raise ValueError("a str is a path; give text as bytes, or as a pair (name, bytes)")
    if os.path.isdir(path):
        return _folder(path)
    if isinstance(given, str) and glob.has_magic(path) and not os.path.lexists(path):
        matched = sorted(glob.glob(path, recursive=True))
        if not matched:
            raise FileNotFoundError(2, "no file matches", path)
        return [one for match in matched for one in (_folder(match) if os.path.isdir(match) else [match])]
    return [path]


def _folder(path: str) -> list[Any]:
    """The files of a folder whose names are those of recordings, as the command takes them."""

    def fail(error: OSError) -> None:
        raise error

    found: list[Any] = []
    for folder, folders, names in os.walk(path, onerror=fail):
        folders[:] = sorted(name for name in folders if name != ".git")
        files = (os.path.join(folder, name) for name in sorted(names))
        found += [(file, None) for file in files if _native.may_be_recording(file)]
    return found


def _is_object(item: Any) -> bool:
    return isinstance(item, Mapping) or callable(getattr(item, "model_dump", None))


def _plain(item: Any) -> Any:
    return dict(item) if isinstance(item, Mapping) else item.model_dump(mode="json")


def _document(items: list[Any], place: int) -> tuple[str, bytes] | None:
    """Objects as what they are: a trace, a transcript, messages, or a document in a format of its own."""
    objects = [_plain(item) for item in items]
    first = objects[0]
    if "execution_trace" in first or "events" in first:
        if len(objects) > 1:
            return None
        trace = first.get("execution_trace", first)
        events, summary = trace.get("events"), trace.get("capture_summary")
        if isinstance(events, list):
            lines = [*events, *([summary] if summary is not None else [])]
            return f"<trace {place}>", _lines(lines)
    if all("tool" in one and "args" in one for one in objects):
        return f"<transcript {place}>", _lines(objects)
    if all("phase" in one or "record_type" in one for one in objects):
        return f"<trace {place}>", _lines(objects)
    if all("role" in one or "type" in one for one in objects) and ("role" in first or len(objects) > 1):
        return f"<messages {place}>", _json({"messages": objects}).encode()
    return (f"<document {place}>", _json(first).encode()) if len(objects) == 1 else None


def _json(value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"expected objects of JSON: {error}") from None


def _lines(objects: list[Any]) -> bytes:
    return "".join(_json(one) + "\n" for one in objects).encode()
