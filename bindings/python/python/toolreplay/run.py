"""`toolreplay trace run`: runs a function once, and records the calls of the functions that were named.

Everything is checked before the function runs: the input, the names, and that the recording can be made. What the
function raises is raised.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import inspect
import json
import sys
from typing import Any, NamedTuple

from .tracing import ExecutionRecorder, UnsupportedFunction

_MISSING = object()


class BindingError(Exception):
    """A name that cannot be recorded, or an input that does not fit."""


class Binding(NamedTuple):
    """An attribute that is recorded while the function runs."""

    owner: Any
    attribute: str
    kind: str
    shown: str
    # the function behind the attribute, and how it is put back into a class
    function: Any
    again: Any
    # leading parameters that are the object or the class
    first: int
    # what the owner itself holds; nothing where it inherits the attribute
    before: Any


def split(name: str) -> tuple[str, list[str]]:
    """`package.module:Class.method` in its parts."""
    module, colon, path = name.partition(":")
    parts = path.split(".")
    if not colon or not all(part.isidentifier() for part in [*module.split("."), *parts]):
        raise BindingError(f"'{name}' is not of the form package.module:function or package.module:Class.method")
    return module, parts


def load(name: str) -> tuple[Any, list[str]]:
    """The module of a name, and the path in it."""
    module, path = split(name)
    try:
        return importlib.import_module(module), path
    except ModuleNotFoundError as error:
        # a module that it imports itself may be missing, too: that is an error of its own
        if error.name is not None and (module == error.name or module.startswith(error.name + ".")):
            raise BindingError(f"'{name}': there is no module {error.name}") from None
        raise


def resolve(name: str, kind: str) -> Binding:
    """Finds what a name stands for."""
    owner, path = load(name)
    for part in path[:-1]:
        owner = getattr(owner, part, _MISSING)
        if owner is _MISSING:
            raise BindingError(f"'{name}': there is no {part}")
        if not isinstance(owner, type):
            raise BindingError(f"'{name}': {part} is no class")
    attribute = path[-1]
    found = inspect.getattr_static(owner, attribute, _MISSING)
    if found is _MISSING:
        raise BindingError(f"'{name}': there is no {attribute}")
    before = vars(owner).get(attribute, _MISSING)
    in_class = isinstance(owner, type)
    if in_class and isinstance(found, staticmethod):
        return Binding(owner, attribute, kind, name, found.__func__, staticmethod, 0, before)
    if in_class and isinstance(found, classmethod):
        return Binding(owner, attribute, kind, name, found.__func__, classmethod, 1, before)
    if in_class and not inspect.isfunction(found):
        raise BindingError(f"'{name}' is no method but a {type(found).__name__}")
    return Binding(owner, attribute, kind, name, found, None, int(in_class), before)


def wrapped(recorder: ExecutionRecorder, binding: Binding) -> Any:
    """What takes the attribute's place."""
    try:
        function = recorder._wrap(binding.function, binding.kind, binding.attribute, binding.first)
    except UnsupportedFunction as error:
        raise BindingError(f"'{binding.shown}': {error}") from None
    return binding.again(function) if binding.again is not None else function


def put(binding: Binding, value: Any) -> None:
    """Binds the attribute, and says so if its owner does not let it."""
    try:
        setattr(binding.owner, binding.attribute, value)
    except (AttributeError, TypeError) as error:
        raise BindingError(f"'{binding.shown}' cannot be replaced: {error}") from None


def restore(binding: Binding) -> None:
    """Puts back what was there."""
    if binding.before is _MISSING:
        delattr(binding.owner, binding.attribute)
    else:
        setattr(binding.owner, binding.attribute, binding.before)


def other_names(bindings: list[Binding]) -> list[str]:
    """Where modules hold a function under a name of their own, or in a list or dict: calls through it are not seen."""
    named = {(id(binding.owner), binding.attribute) for binding in bindings}
    functions = {id(binding.function): binding for binding in bindings if not isinstance(binding.owner, type)}
    found = []
    for name, module in sorted(sys.modules.items()):
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            binding = functions.get(id(value))
            if binding is not None and (id(module), attribute) not in named:
                found.append(f"{name}:{attribute} is {binding.shown} too: name it as well, or its calls are not recorded")
            elif attribute.startswith("__"):
                continue
            elif type(value) in (list, tuple, set, frozenset, dict):
                held = list(value.values()) if type(value) is dict else list(value)
                inside = [functions[id(one)] for one in held if id(one) in functions]
                found += [f"{name}:{attribute} holds {one.shown}: calls through it are not recorded" for one in inside]
    return found


def keywords(path: str) -> dict[str, Any]:
    """The input file: one JSON object."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            raise BindingError(f"the input '{path}' has a key twice in one object")
        return fields

    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file, object_pairs_hook=unique)
    except OSError as error:
        raise BindingError(f"cannot read the input '{path}': {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BindingError(f"the input '{path}' is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise BindingError(f"the input '{path}' must be a JSON object: the keyword arguments of the function")
    return value


def run(
    entry: str,
    input_path: str,
    output: str,
    targets: list[tuple[str, str]],
    redacted_fields: list[str],
    max_events: int = 10_000,
) -> Any:
    """Runs `entry` and returns what it returns. `targets` are pairs of kind and name."""
    arguments = keywords(input_path)
    start = resolve(entry, "agent")
    if start.first or not callable(start.function):
        raise BindingError(f"'{entry}' is no function that can be called by itself")
    bindings: list[Binding] = []
    for kind, name in targets:
        binding = resolve(name, kind)
        same = [one for one in bindings if one.owner is binding.owner and one.attribute == binding.attribute]
        if same:
            raise BindingError(f"'{name}' is named twice")
        bindings.append(binding)
    # once without a file: nothing is made before everything is known to fit
    trial = ExecutionRecorder()
    for binding in [start, *bindings]:
        wrapped(trial, binding)
    try:
        inspect.signature(start.function).bind(**arguments)
    except TypeError as error:
        raise BindingError(f"the input does not fit '{entry}': {error}") from None
    except ValueError:
        pass  # a function in C without a signature
    for remark in other_names(bindings):
        print(f"warning: {remark}", file=sys.stderr)
    try:
        recorder = ExecutionRecorder(output=output, redacted_fields=redacted_fields, max_events=max_events)
    except OSError as error:
        raise BindingError(f"cannot create the recording '{output}': {error.strerror}") from None

    placed: list[Binding] = []
    try:
        for binding in bindings:
            put(binding, wrapped(recorder, binding))
            placed.append(binding)
        # through its name: it may be one of those that are recorded
        function = getattr(start.owner, start.attribute)
        called = recorder._wrap(function, "agent", start.attribute)
        result = called(**arguments)
        return asyncio.run(result) if inspect.iscoroutine(result) else result
    finally:
        for binding in reversed(placed):
            restore(binding)
        summary = recorder.finish()
        counts = ", ".join(f"{summary[name]} {name.replace('_', ' ')}" for name in ("events", "dropped_events", "capture_errors"))
        print(f"recorded in {output}: {counts}", file=sys.stderr)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 2**62:
        raise argparse.ArgumentTypeError(f"expected a number of events, found {text!r}")
    return int(text)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="toolreplay trace run", allow_abbrev=False)
    parser.add_argument("entry", metavar="MODULE:FUNCTION")
    parser.add_argument("--input", required=True)
    parser.add_argument("--output", required=True)
    targets: list[tuple[str, str]] = []

    class Target(argparse.Action):
        def __call__(self, parser: Any, namespace: Any, value: Any, option: Any = None) -> None:
            targets.append((option.removeprefix("--"), value))

    for kind in ("model", "tool", "loop"):
        parser.add_argument(f"--{kind}", action=Target, metavar="MODULE:ATTR")
    parser.add_argument("--max-events", type=_count, default=10_000, metavar="COUNT")
    parser.add_argument("--redact-field", action="append", default=[], metavar="NAME")
    options = parser.parse_args(argv)
    try:
        run(options.entry, options.input, options.output, targets, options.redact_field, options.max_events)
    except BindingError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
