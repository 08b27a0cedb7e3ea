"""`audit` and its halves."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _native
from ._inputs import sources
from ._report import Level, Report

_log = logging.getLogger("toolreplay")
_DEFAULTS = {"fail_on": "warning", "min_level": "note", "allow_empty": False, "require_signature": False}


def audit(
    transcripts: Any,
    scope: Any = None,
    mutators: Iterable[str] = (),
    *,
    fail_on: Level = "warning",
    min_level: Level = "note",
    allow_empty: bool = False,
    format: str | None = None,
    allow_loss: bool = False,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    config: Any = None,
    baseline: Any = None,
    suppressions: Iterable[Mapping[str, Any]] = (),
    trust: Any = None,
    require_signature: bool = False,
    threads: int | None = None,
    progress: bool | Callable[[int, int], Any] = False,
) -> Report:
    """Audits transcripts, sealed transcripts and recordings with every rule, as `toolreplay audit` does.

    `transcripts` is a path, a folder, a glob, bytes, a pair (name, bytes), an open file, a Snapshot or recorder, a trace
    or transcript as dicts, a list of messages, or an iterable of these. `scope` is a path, bytes or a dict. `select` names
    the rules that judge, `ignore` those that do not. `config` is the path of a toolreplay.toml, which is read only if it is named; what is given here and is not the default wins over
    it. `baseline` is the path of what `toolreplay audit --write-baseline` wrote: its findings are known and do not fail.
    `suppressions` are dicts with the keys of one in such a file. What cannot be read is a finding, and in
    `Report.errors`.
    """
    given = sources(transcripts)
    names = _names("mutators", mutators)
    said: dict[str, Any] = {"fail_on": fail_on, "min_level": min_level, "allow_empty": allow_empty}
    said["require_signature"] = require_signature
    text = ""
    if config is not None:
        path = os.fspath(config)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        found = _native.read_config(text)
        folder = os.path.dirname(path)
        names = [*found["mutators"], *names]
        for name, default in _DEFAULTS.items():
            if said[name] == default and found[name] is not None:
                said[name] = found[name]
        if scope is None and found["scope"] is not None:
            scope = os.path.join(folder, found["scope"])
        if baseline is None and found["baseline"] is not None:
            baseline = os.path.join(folder, found["baseline"])
        if trust is None and found["trust"] is not None:
            trust = os.path.join(folder, found["trust"])
    text += "".join(_suppression(one) for one in suppressions)
    if trust is not None and not isinstance(trust, (bytes, bytearray)):
        with open(trust, "rb") as file:
            trust = file.read()
    _log.info("auditing %d transcript(s)", len(given))
    with _Progress(progress, len(given)) as shown:
        native = _native.audit(
            given,
            scope,
            names,
            format=format,
            allow_loss=allow_loss,
            select=_names("select", select),
            ignore=_names("ignore", ignore),
            config=text or None,
            baseline=baseline,
            trust=None if trust is None else bytes(trust),
            threads=threads,
            progress=shown,
            **said,
        )
    report = Report(native, given)
    _log.info("%r", report)
    return report


def replay(transcripts: Any, mutators: Iterable[str] = (), *, threads: int | None = None) -> Report:
    """Judges transcripts against themselves, as `toolreplay replay` does: changed answers and redundant calls."""
    given = sources(transcripts)
    return Report(_native.replay(given, _names("mutators", mutators), threads=threads), given)


def check_scope(transcripts: Any, scope: Any, *, threads: int | None = None) -> Report:
    """Judges transcripts against a scope, as `toolreplay scope` does: calls outside what the agent was allowed."""
    given = sources(transcripts)
    return Report(_native.check_scope(given, scope, threads=threads), given)


def _names(what: str, names: Iterable[str]) -> list[str]:
    if isinstance(names, (str, bytes)):
        raise TypeError(f"{what} must be a list of names, found one {type(names).__name__}: {what}=[{names!r}]")
    found = list(names)
    for name in found:
        if not isinstance(name, str):
            raise TypeError(f"{what} must be a list of names, found {type(name).__name__} in it")
    return found


def _suppression(one: Any) -> str:
    """A suppression as a configuration has it, which is checked as one."""
    if not isinstance(one, Mapping):
        raise TypeError(f"a suppression is a dict with a reason and what it fits, found {type(one).__name__}")
    lines = ["", "[[suppressions]]"]
    for key, value in one.items():
        # a JSON string without escapes beyond the basic ones is one of TOML
        lines.append(f"{json.dumps(str(key))} = {json.dumps(str(value), ensure_ascii=False)}")
    return "\n".join([*lines, ""])


class _Progress:
    """Shows how many files are done: by a function, or by tqdm where that is installed."""

    def __init__(self, asked: bool | Callable[[int, int], Any], total: int) -> None:
        self._asked, self._total, self._bar = asked, total, None

    def __enter__(self) -> Callable[[int], Any] | None:
        if callable(self._asked):
            tell = self._asked
            return lambda done: tell(done, self._total)
        if not self._asked:
            return None
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return None
        self._bar = tqdm(total=self._total, unit="file")
        return self._show

    def _show(self, done: int) -> None:
        self._bar.update(done - self._bar.n)

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._bar is not None:
            if kind is None:
                self._show(self._total)
            self._bar.close()
        elif callable(self._asked) and kind is None:
            self._asked(self._total, self._total)
