"""What the tests of the adapters look at."""

import json
from typing import NamedTuple

import toolreplay
from toolreplay.pytest_plugin import _plain


class Seen(NamedTuple):
    kind: str
    name: str
    status: str
    inside: str | None
    input: object
    output: object


def spans(recorder):
    """The spans in the order in which they began; the output of one that failed is the type of its error."""
    starts, ends = {}, {}
    for event in recorder.snapshot().events:
        (starts if event["phase"] == "start" else ends)[event["span_id"]] = event
    assert recorder.snapshot().capture_summary["capture_errors"] == 0
    found = []
    for span_id, start in starts.items():
        end = ends.get(span_id)
        data = {} if end is None else end["data"]
        parent = starts.get(start["parent_span_id"])
        found.append(
            Seen(
                start["kind"],
                start["name"],
                "open" if end is None else end["status"],
                None if parent is None else parent["name"],
                start["data"].get("input"),
                data.get("output", data.get("error_type")),
            )
        )
    return found


def tools(recorder):
    return [one for one in spans(recorder) if one.kind == "tool"]


def calls(recorder):
    """The calls of the transcript that were recorded whole."""
    records = [_plain(json.loads(line)) for line in recorder.transcript().splitlines()]
    whole = [one for one in records if "$import" not in one["response"] and "capture_omitted" not in one["args"]]
    return [(record["tool"], record["args"], record["response"]) for record in whole]


def rules(path, *allowed):
    """The rules that an audit of a recorded file finds broken, with their tools."""
    report = toolreplay.audit(path, {"agent": "tested", "allowed_tools": list(allowed)})
    return [(finding.rule, finding.tool) for finding in report.findings]
