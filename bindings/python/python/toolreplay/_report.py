"""What an audit found out."""

from __future__ import annotations

import html
import json
import tempfile
import webbrowser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

from . import _native
from ._native import Coverage, Finding, FindingsTable

Level = Literal["note", "warning", "error"]
Verdict = Literal["clean", "findings", "inconclusive", "failed"]
# what a pickled report still can be written as
_KEPT = ("text", "json", "junit", "sarif", "github", "markdown", "gitlab", "outputs")
# findings, and characters of a line, that a notebook shows
_SHOWN, _EXCERPT = 50, 300


class ReportFile(NamedTuple):
    """A file that an audit looked at."""

    name: str
    calls: int
    pairs_compared: int
    format: str | None
    judged: bool


class Report(Sequence[Finding]):
    """What a run found out: a sequence of its findings, by file, then index, then kind.

    Two reports are equal if they say the same. A pickled one has everything but the transcripts.
    """

    def __init__(self, native: Any, sources: list[Any] | None = None) -> None:
        self._native = native
        # for the excerpts of a notebook: bytes by their names
        self._memory = {one[0]: one[1] for one in sources or () if isinstance(one, tuple) and one[1] is not None}
        self._lists: dict[str, Any] = {}
        self._texts: dict[str, str] = {}

    def _said(self, name: str) -> Any:
        if name not in self._lists:
            self._lists[name] = getattr(self._native, name)
        return self._lists[name]

    @property
    def findings(self) -> list[Finding]:
        """The findings, by file, then index, then kind."""
        return self._said("findings")

    @property
    def coverage(self) -> Coverage:
        """What was looked at, and what could not be judged."""
        return self._said("coverage")

    @property
    def verdict(self) -> Verdict:
        """clean, findings, inconclusive (no call to audit) or failed (a file could not be judged)."""
        return self._said("verdict")

    @property
    def verdict_detail(self) -> str:
        """The verdict with what it does not say, such as `clean, permissions not judged`."""
        return self._said("verdict_detail")

    @property
    def exit_code(self) -> Literal[0, 1, 2]:
        """What the command would exit with."""
        return self._said("exit_code")

    @property
    def clean(self) -> bool:
        """Whether the verdict is clean."""
        return self.verdict == "clean"

    @property
    def files(self) -> list[ReportFile]:
        """The files that were looked at."""
        if "read" not in self._lists:
            self._lists["read"] = [ReportFile(*one) for one in self._said("files")]
        return self._lists["read"]

    @property
    def errors(self) -> list[Exception]:
        """Why files could not be judged: a `TranscriptError` each, an `OSError` for what cannot be opened."""
        return self._said("errors")

    def raise_for_errors(self) -> None:
        """Raises the first of the errors, if there is one."""
        if self.errors:
            raise self.errors[0]

    def findings_table(self) -> FindingsTable:
        """The findings as a table for whatever speaks Arrow's PyCapsule interface."""
        return FindingsTable(self.findings) if self._native is None else self._native.findings_table()

    def render(self, format: str) -> str:
        """The report in a format of the command, such as text, json, junit, sarif, markdown."""
        if format not in self._texts:
            if self._native is None:
                raise ValueError(f"no format is called {format!r}, or it was not kept; there are {', '.join(self._texts)}")
            self._texts[format] = self._native.render(format)
        return self._texts[format]

    def to_json(self) -> str:
        """The report as JSON; schemas/report.json describes it."""
        return self.render("json")

    def to_sarif(self) -> str:
        """The report as SARIF 2.1.0."""
        return self.render("sarif")

    def to_markdown(self) -> str:
        """The report as Markdown."""
        return self.render("markdown")

    def to_dict(self) -> dict[str, Any]:
        """The JSON report as dicts and lists."""
        return json.loads(self.to_json())

    def view(self) -> Path:
        """Opens the report as an HTML page in the browser, with the calls of what can be read still, and returns its path.

        The file is new, and readable by its owner alone; it stays.
        """
        text = self.render("html")
        with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8", delete=False) as page:
            page.write(text)
        webbrowser.open(Path(page.name).as_uri())
        return Path(page.name)

    @overload
    def __getitem__(self, place: int) -> Finding: ...
    @overload
    def __getitem__(self, place: slice) -> list[Finding]: ...
    def __getitem__(self, place: Any) -> Any:
        return self.findings[place]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __bool__(self) -> bool:
        # a report without findings is a report
        return True

    def __eq__(self, other: object) -> bool:
        return self.to_json() == other.to_json() if isinstance(other, Report) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __str__(self) -> str:
        return self.render("text")

    def __repr__(self) -> str:
        return f"<Report: {self.verdict_detail}, {self._said('counts')}>"

    def __getstate__(self) -> dict[str, Any]:
        names = ("findings", "coverage", "verdict", "verdict_detail", "exit_code", "counts", "files", "errors")
        lists = {name: self._said(name) for name in names}
        texts = {format: self.render(format) for format in _KEPT} if self._native is not None else self._texts
        return {"lists": lists, "texts": texts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._native, self._memory = None, {}
        self._lists, self._texts = dict(state["lists"]), dict(state["texts"])

    def _repr_html_(self) -> str:
        """The findings as a table, each with what stands on its line."""
        out = [f"<p><b>{html.escape(self.verdict_detail)}</b>: {html.escape(str(self._said('counts')))}; "]
        coverage = self.coverage
        out.append(f"{coverage.calls} calls, {coverage.pairs_compared} pairs compared")
        if coverage.not_judged:
            out.append(f"; not judged: {_escaped('; '.join(coverage.not_judged))}")
        out.append("</p>")
        if self.findings:
            out.append("<table><thead><tr><th>level</th><th>rule</th><th>place</th><th>finding</th></tr></thead><tbody>")
            for finding in self.findings[:_SHOWN]:
                place = finding.file if finding.line is None else f"{finding.file}:{finding.line}"
                excerpt = self._excerpt(finding)
                shown = f"<br><code>{_escaped(excerpt)}</code>" if excerpt else ""
                cells = [_escaped(finding.level), _escaped(finding.rule), _escaped(place), _escaped(finding.message) + shown]
                out.append("<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells) + "</tr>")
            out.append("</tbody></table>")
        if len(self.findings) > _SHOWN:
            out.append(f"<p>… {len(self.findings) - _SHOWN} more</p>")
        out += [f"<p>{_escaped(str(error))}</p>" for error in self.errors[:_SHOWN]]
        return "".join(out)

    def _excerpt(self, finding: Finding) -> str:
        """The beginning of the finding's line, as far as it can be read still."""
        if finding.line is None:
            return ""
        content = self._memory.get(finding.file)
        try:
            if content is not None:
                line = content.split(b"\n", finding.line)[finding.line - 1]
            else:
                with open(finding.file, "rb") as file:
                    for _ in range(finding.line - 1):
                        if not file.readline():
                            return ""
                    line = file.readline(4 * _EXCERPT)
        except (OSError, IndexError, ValueError):
            return ""
        text = line[: 4 * _EXCERPT].decode("utf-8", "replace").strip()
        return text if len(text) <= _EXCERPT else text[:_EXCERPT] + "…"


def _escaped(text: str) -> str:
    """As HTML, with what could draw over the page or turn its direction as escapes."""
    return html.escape("".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text))
