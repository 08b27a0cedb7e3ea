"""The action in every situation it has to tell apart: scenarios.py BINARY WORK"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

from act import ROOT, Machine, Repository, run, runner_commands, workflow

machine = Machine(sys.argv[1], sys.argv[2])
SAMPLES = ROOT / "samples"
CLEAN = (SAMPLES / "session-clean.jsonl").read_text()
DIRTY = (SAMPLES / "session-dirty.jsonl").read_text()
SCOPE = (SAMPLES / "scope.json").read_text()
WIDE = SCOPE.replace('"search"', '"search", "write_file"')
assert WIDE != SCOPE


def seal(text: str) -> str:
    done = subprocess.run([machine.binary, "seal", "-"], input=text.encode(), capture_output=True, check=True)
    return done.stdout.decode()


def digest(sealed: str) -> str:
    return json.loads(sealed.splitlines()[-1])["digest"]


def pull_request(base: str, head: str) -> dict:
    return {"number": 1, "pull_request": {"number": 1, "base": {"sha": base, "ref": "main"}, "head": {"sha": head, "ref": "topic"}}}


def push(before: str, **more) -> dict:
    return {"before": before, "ref": "refs/heads/main", "repository": {"default_branch": "main"}} | more


def scene(base: dict, head: dict, inputs: dict, event="pull_request", upload_status=0, payload=None, binary=True):
    """Runs the action on the second of two commits."""
    repository = Repository(machine)
    repository.write({"README": "x\n"} | base)
    first = repository.commit("base")
    repository.write(head)
    second = repository.commit("head")
    if payload is None:
        payload = pull_request(first, second) if event == "pull_request" else push(first)
    inputs = {"paths": "runs"} | inputs | ({"binary": str(machine.binary)} if binary else {})
    return run(repository, workflow(inputs, event), event, payload, upload_status)


def same(found, expected, what, ran):
    assert found == expected, f"{what}:\nexpected: {expected!r}\nfound:    {found!r}\n{ran.described()}"


def holds(condition, what, ran):
    assert condition, f"{what}\n{ran.described()}"


def only_meant(ran, extra=()):
    """The log holds the commands we meant and no others, even for a runner that does not heed stop-commands."""
    names = [name for name, _, _ in ran.commands if name not in extra]
    holds(set(names) <= {"stop-commands", "error", "warning", "notice"}, f"commands {names}", ran)
    same(len(runner_commands.commands(ran.raw, heed_stop=False)), len(ran.commands), "commands between stop-commands", ran)
    for level, file, line, title, _ in ran.annotations:
        holds(title and title.startswith("toolreplay"), f"annotation {title}", ran)
    same(sum(name == "stop-commands" for name in names), 1, "stop-commands", ran)


def outputs(ran, **expected):
    found = {name.replace("-", "_"): value for name, value in ran.outputs.items()}
    same({name: found.get(name) for name in expected}, expected, "outputs", ran)


def clean():
    ran = scene({"scope.json": SCOPE}, {"runs/a.jsonl": CLEAN}, {"scope": "scope.json", "upload-sarif": True})
    holds(ran.passed and ran.conclusion == "success", "it passes", ran)
    outputs(ran, verdict="clean", findings="0", errors="0", calls="4", divergence="none", seal_digest="", junit_file="")
    same(ran.annotations, [], "annotations", ran)
    holds(ran.summary.startswith("## toolreplay audit: passed\n"), "summary", ran)
    same(ran.uploaded["runs"][0]["results"], [], "uploaded results", ran)
    same(ran.record("category"), "toolreplay", "category", ran)
    only_meant(ran)


def findings():
    ran = scene(
        {"scope.json": SCOPE}, {"runs/a.jsonl": DIRTY},
        {"scope": "scope.json", "upload-sarif": True, "sarif-file": "out/a.sarif", "junit-file": "out/a.xml", "json-file": "a.json"},
    )
    holds(not ran.passed and ran.conclusion == "failure", "it fails", ran)
    outputs(ran, verdict="findings", findings="3", errors="1", calls="6", divergence="5")
    for name, end in [("sarif-file", "/out/a.sarif"), ("junit-file", "/out/a.xml"), ("json-file", "/a.json")]:
        holds(ran.outputs[name].startswith("/") and ran.outputs[name].endswith(end), name, ran)
    expected = [
        ("error", "runs/a.jsonl", 5, "toolreplay permission-overreach"),
        ("warning", "runs/a.jsonl", 3, "toolreplay redundant-call"),
        ("notice", "runs/a.jsonl", 6, "toolreplay non-determinism"),
    ]
    same([annotation[:4] for annotation in ran.annotations], expected, "annotations", ran)
    holds("| error | permission-overreach | [`runs/a.jsonl`:5](https://github.com/" in ran.summary, "summary", ran)
    holds("/runs/a.jsonl?plain=1#L5) |" in ran.summary, "a link to the line", ran)
    rules = [result["ruleId"] for result in ran.uploaded["runs"][0]["results"]]
    same(rules, ["permission-overreach", "redundant-call", "non-determinism"], "uploaded results", ran)
    holds("toolreplay: failed: 3 finding(s)" in ran.text, "message", ran)
    only_meant(ran)


def changed_lines_first():
    more = DIRTY + '{"index": 6, "tool": "search", "args": {"query": "install"}, "response": {"hits": 7}}\n'
    ran = scene({"scope.json": SCOPE, "runs/a.jsonl": DIRTY}, {"runs/a.jsonl": more}, {"scope": "scope.json"})
    same(ran.annotations[0][:3], ("warning", "runs/a.jsonl", 7), "first annotation", ran)
    holds(any(annotation[:3] == ("error", "runs/a.jsonl", 5) for annotation in ran.annotations[1:]), "the error", ran)


def fail_on_and_quiet():
    ran = scene({}, {"runs/a.jsonl": DIRTY}, {"fail-on": "error", "annotations": False, "summary": False})
    holds(ran.passed, "it passes", ran)
    outputs(ran, verdict="clean", findings="2", errors="0")
    same((ran.annotations, ran.summary, ran.uploaded), ([], "", None), "annotations, summary, upload", ran)


def malformed():
    ran = scene({}, {"runs/a.jsonl": CLEAN, "runs/b.jsonl": '{"index": 0}\n'}, {"upload-sarif": True})
    holds(not ran.passed, "it fails", ran)
    outputs(ran, verdict="failed", calls="4", findings="1")
    same([annotation[:4] for annotation in ran.annotations], [("error", "runs/b.jsonl", 1, "toolreplay malformed-transcript")], "annotations", ran)
    holds("could not judge everything (failed), so this is no pass" in ran.text, "another message than for findings", ran)
    holds("toolreplay audit: could not judge every file" in ran.summary, "summary", ran)
    same(len(ran.uploaded["runs"][0]["results"]), 1, "uploaded results", ran)


def broken_seal():
    sealed = seal(DIRTY)
    ran = scene({}, {"runs/a.sealed.jsonl": sealed.replace('"hits":3', '"hits":4')}, {"mode": "verify"})
    holds(not ran.passed, "it fails", ran)
    same([annotation[:4] for annotation in ran.annotations], [("error", "runs/a.sealed.jsonl", 4, "toolreplay broken-link")], "annotations", ran)
    outputs(ran, verdict="findings", seal_digest=digest(sealed))
    holds("| `runs/a.sealed.jsonl` | broken | 6 |" in ran.summary, "summary", ran)


def intact_seal():
    sealed = seal(DIRTY)
    ran = scene({}, {"runs/a.sealed.jsonl": sealed}, {"mode": "verify"})
    holds(ran.passed, "it passes, for calls are not judged", ran)
    outputs(ran, verdict="clean", findings="0", calls="6", seal_digest=digest(sealed))


def shortened_seal():
    sealed = seal(DIRTY)
    cut = "".join(sealed.splitlines(True)[:4])
    for mode in ["audit", "verify"]:
        ran = scene({"runs/a.sealed.jsonl": sealed}, {"runs/a.sealed.jsonl": cut}, {"mode": mode, "upload-sarif": True})
        holds(not ran.passed, "it fails", ran)
        annotation = next(one for one in ran.annotations if one[3] == "toolreplay seal-rewritten")
        same(annotation[:3], ("error", "runs/a.sealed.jsonl", 4), "annotation", ran)
        holds("it was cut: it ends before index 4" in annotation[4] and "it was cut" in ran.summary, "it says so", ran)
        holds(any(result["ruleId"] == "seal-rewritten" for result in ran.uploaded["runs"][0]["results"]), "upload", ran)


def deleted_seal():
    ran = scene({"runs/a.sealed.jsonl": seal(DIRTY), "runs/b.jsonl": CLEAN}, {"runs/a.sealed.jsonl": None}, {})
    holds(not ran.passed, "it fails", ran)
    same([one[:4] for one in ran.annotations], [("error", None, None, "toolreplay seal-deleted")], "no annotation on a missing file", ran)
    holds("runs/a.sealed.jsonl: the sealed transcript of the base revision is gone" in ran.text, "it says so", ran)


def widened_scope():
    ran = scene({"scope.json": SCOPE}, {"scope.json": WIDE, "runs/a.jsonl": DIRTY}, {"scope": "scope.json"})
    holds(not ran.passed, "it fails", ran)
    titles = {one[1:4] for one in ran.annotations if one[0] == "error"}
    expected = {("scope.json", 1, "toolreplay policy-changed"), ("runs/a.jsonl", 5, "toolreplay permission-overreach")}
    same(titles, expected, "annotations", ran)
    holds("the scope file was changed by the revision it judges" in ran.summary, "summary", ran)
    ran = scene({"scope.json": SCOPE}, {"scope.json": WIDE, "runs/a.jsonl": DIRTY}, {"scope": "scope.json", "base": "none"})
    holds(not any("permission" in one[3] for one in ran.annotations), "without a base the scope is the head's", ran)


def formats_of_changes():
    """Findings about files that are gone, or are no transcripts, in the formats for programs."""
    repository = Repository(machine)
    sealed = seal(DIRTY)
    repository.write({"runs/a.sealed.jsonl": sealed, "runs/b.sealed.jsonl": sealed, "runs/c.jsonl": CLEAN, "scope.json": SCOPE})
    repository.commit("base")
    repository.write({"runs/a.sealed.jsonl": "".join(sealed.splitlines(True)[:3]), "runs/b.sealed.jsonl": None, "scope.json": WIDE})
    repository.commit("head")
    reports = {name: machine.home / f"changes.{name}" for name in ["json", "gitlab", "junit", "sarif"]}
    command = [machine.binary, "audit", "--base", "HEAD^", "--scope", "scope.json", "runs"]
    command += [f"--report={name}={path}" for name, path in reports.items()]
    done = subprocess.run(command, cwd=repository.folder, env=machine.environment(), capture_output=True, text=True)
    assert done.returncode == 1, done
    subprocess.run(["check-jsonschema", "--quiet", "--schemafile", ROOT / "schemas/report.json", reports["json"]], check=True)
    report = json.loads(reports["json"].read_text())
    kinds = {(finding["kind"], finding["path"], finding["line"]) for finding in report["findings"]}
    expected = {("seal-rewritten", "runs/a.sealed.jsonl", 3), ("seal-deleted", "runs/b.sealed.jsonl", None), ("policy-changed", "scope.json", 1)}
    assert expected <= kinds, kinds
    assert report["coverage"]["files"] == 2, report["coverage"]
    issues = json.loads(reports["gitlab"].read_text())
    places = {(issue["check_name"], issue["location"]["path"], issue["location"]["lines"]["begin"]) for issue in issues}
    assert {(kind, path, line or 1) for kind, path, line in expected} <= places, places
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}, issue
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker"), issue
        assert issue["description"].startswith(issue["check_name"] + ": "), issue
    suites = {suite.get("name"): suite for suite in xml.etree.ElementTree.parse(reports["junit"]).getroot()}
    assert [case.get("name") for case in suites["scope.json"]] == ["policy-changed: scope.json:1"], suites
    assert suites["runs/b.sealed.jsonl"].get("failures") == "1", suites
    results = json.loads(reports["sarif"].read_text())["runs"][0]["results"]
    found = {(one["ruleId"], one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) for one in results}
    assert {(kind, path) for kind, path, _ in expected} <= found, found


def fork_like():
    ran = scene({}, {"runs/a.jsonl": CLEAN}, {"upload-sarif": True}, upload_status=1)
    holds(ran.passed, "an upload that fails does not fail the job", ran)
    same([one[0] for one in ran.annotations], ["notice"], "one notice", ran)
    holds("was not uploaded" in ran.annotations[0][4] and "was not uploaded" in ran.summary, "it says so", ran)
    ran = scene({}, {"runs/a.jsonl": DIRTY}, {"upload-sarif": True}, upload_status=1)
    holds(not ran.passed and ran.uploaded, "findings fail it all the same", ran)


def empty():
    ran = scene({}, {"runs/README": "x"}, {})
    holds(not ran.passed, "nothing to audit is no pass", ran)
    outputs(ran, verdict="inconclusive", calls="0")
    ran = scene({}, {"runs/README": "x"}, {"allow-empty": True})
    holds(ran.passed, "unless that is meant", ran)


def odd_paths():
    names = ["a b", "$(touch pwned)", "-x", "--help", "`id`", "new\nline", "%41,line=9", "größe", "::error::x", "##[error]x", "a;b'\"c"]
    files = {f"runs/{name}.jsonl": DIRTY for name in names} | {f"{name}.jsonl": DIRTY for name in names if "\n" not in name}
    paths = "".join(f"{name}.jsonl\n" for name in names if "\n" not in name)
    ran = scene({}, files, {"paths": "runs\n\r\n" + paths, "fail-on": "note"})
    holds(not ran.passed, "it fails", ran)
    outputs(ran, verdict="findings", findings=str(2 * len(files)), calls=str(6 * len(files)))
    only_meant(ran)
    holds("pwned" not in [path.name for path in pathlib.Path(machine.home).rglob("pwned")], "nothing was run", ran)
    known = set(files) | {None}
    found = {one[1] and one[1].replace("##\\[", "##[") for one in ran.annotations}
    holds(found <= known, "files of annotations are files", ran)


def odd_inputs():
    for inputs, words in [
        ({"mode": "x\n::error::forged"}, "the input 'mode' must be audit, verify or seal"),
        ({"fail-on": "fatal"}, "the input 'fail-on' must be"),
        ({"annotations": "yes"}, "the input 'annotations' must be true or false"),
        ({"sarif-file": "a\nverdict=clean"}, "the input 'sarif-file' holds a line end"),
        ({"working-directory": "none"}, "there is no folder 'none'"),
        ({"mode": "seal", "scope": "x"}, "mean nothing in mode 'seal'"),
        ({"mode": "seal", "base": "main"}, "the input 'base' means nothing"),
        ({"mode": "seal", "strict": True}, "the inputs 'strict' and 'changed-only' mean nothing"),
        ({"strict": "yes"}, "the input 'strict' must be true or false"),
        ({"seal-output": "x"}, "means something in mode 'seal' only"),
        ({"base": "nowhere"}, "the base revision 'nowhere' is not in this clone"),
        ({"base": "--help"}, "--base '--help' is no revision"),
        ({"scope": "none.json"}, "cannot open the scope file none.json"),
        ({"scope": "--version"}, "cannot open the scope file --version"),
        ({"config": "$(id)"}, "cannot read $(id)"),
    ]:
        ran = scene({}, {"runs/a.jsonl": CLEAN}, inputs)
        holds(not ran.passed, f"{inputs} fails", ran)
        errors = [one for one in ran.annotations if one[0] == "error"]
        same([one[1:4] for one in errors], [(None, None, "toolreplay could not run")], f"{inputs}", ran)
        holds(words in errors[0][4], f"{inputs}: {words}", ran)
        holds(ran.outputs.get("verdict") in ("", None, "failed"), "no verdict", ran)


def hostile():
    transcript = (SAMPLES / "report/hostile.jsonl").read_text()
    scope = (SAMPLES / "report/hostile.scope.json").read_text()
    ran = scene({"scope.json": scope}, {"runs/a.jsonl": transcript}, {"scope": "scope.json", "fail-on": "note", "upload-sarif": True})
    holds(not ran.passed, "it fails", ran)
    only_meant(ran)
    for level in ["error", "warning", "notice"]:
        count = sum(one[0] == level for one in ran.annotations)
        holds(count <= 10, f"{count} annotations of level {level}", ran)
    holds({one[1] for one in ran.annotations} <= {"runs/a.jsonl", None}, "files", ran)
    holds(ran.outputs["findings"] != "0" and set(ran.outputs["findings"]) <= set("0123456789"), "outputs", ran)
    table = [line for line in ran.summary.splitlines() if line.startswith("| ")]
    holds(all(line.count("|") == 7 for line in table if line.split()[1] in ("error", "warning", "note")), "cells", ran)
    holds(len(table) > 40, f"{len(table)} rows", ran)
    # a code span is opened and closed by one backtick, and nothing else of a name stands outside of them
    outside = "".join("".join(line.split("`")[::2]) for line in ran.summary.splitlines())
    # but for our own links to the lines
    outside = re.sub(r"\]\(https://github\.com/[\w./-]+/runs/a\.jsonl\?plain=1#L\d+\)", "", outside)
    holds("<b>" not in outside and "](http" not in outside, "no markup in the summary", ran)
    # lines that are no transcript at all come out on standard error
    ran = scene({}, {"runs/a.jsonl": '{"index":0,"tool":"a","args":{},"response":{},"x\\n::error::f\\r##[error]g":1,"\\u2028::add-mask::a":2}\n'}, {})
    holds(not ran.passed, "it fails", ran)
    only_meant(ran)
    same(len(ran.annotations), 1, "annotations", ran)


def sealing():
    grown = CLEAN + '{"index": 4, "tool": "stat", "args": {}, "response": {}}\n'
    first = seal(CLEAN)
    ran = scene({}, {"runs/a.jsonl": grown, "runs/a.sealed.jsonl": first}, {"mode": "seal"})
    holds(ran.passed, "it passes", ran)
    outputs(ran, verdict="clean", seal_digest=digest(seal(grown)), calls="5")
    holds(f"`{digest(seal(grown))}`" in ran.summary, "summary", ran)
    ran = scene({}, {"runs/a.jsonl": CLEAN.replace("guide", "edited"), "runs/a.sealed.jsonl": first}, {"mode": "seal"})
    holds(not ran.passed, "a transcript that did not only grow is not sealed over", ran)
    same(ran.annotations[0][:4], ("error", "runs/a.jsonl", 1, "toolreplay seal-mismatch"), "annotation", ran)
    ran = scene({}, {"runs/a.jsonl": CLEAN, "runs/b.jsonl": DIRTY}, {"mode": "seal", "seal-output": "sealed here"})
    outputs(ran, seal_digest=f"{digest(seal(CLEAN))} {digest(seal(DIRTY))}")


def mismatch():
    ran = scene({}, {"runs/a.jsonl": CLEAN.replace("guide", "edited"), "runs/a.sealed.jsonl": seal(CLEAN)}, {})
    holds(not ran.passed, "it fails", ran)
    same(ran.annotations[0][:4], ("error", "runs/a.jsonl", 1, "toolreplay seal-mismatch"), "annotation", ran)


SESSION = "".join(
    json.dumps({
        "type": kind, "sessionId": "s", "uuid": f"u{number}", "parentUuid": None, "isSidechain": False, "version": "2.1.0",
        "timestamp": f"2026-01-01T00:00:0{number}.000Z", "message": {"role": kind, "id": f"m{number}", "content": [content]},
    }) + "\n"
    for number, (kind, content) in enumerate([
        ("assistant", {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a"}}),
        ("user", {"type": "tool_result", "tool_use_id": "t1", "content": "text"}),
    ])
)


def sealing_recordings():
    """An agent's own recording becomes a transcript, is sealed, and its digest stands beside."""
    repository = Repository(machine)
    repository.write({"runs/s.jsonl": SESSION, "runs/a.jsonl": CLEAN, "runs/package.json": '{"name": "x",\n"version": 1}\n'})
    repository.commit("recordings")
    keep = '      - run: cp runs/*.sealed.jsonl runs/*.source "$RECORDS" && cd runs && sha256sum -c s.sealed.jsonl.source\n'
    inputs = {"paths": "runs", "mode": "seal", "binary": str(machine.binary)}
    ran = run(repository, workflow(inputs, "push") + keep, "push", {})
    holds(ran.passed, "it passes", ran)
    outputs(ran, verdict="clean", calls="5")
    same(ran.record("s.sealed.jsonl.source"), f"{hashlib.sha256(SESSION.encode()).hexdigest()}  s.jsonl\n", "note", ran)
    holds(ran.record("a.sealed.jsonl.source") is None, "a transcript needs none", ran)
    sealed = ran.record("s.sealed.jsonl")
    same(json.loads(sealed)["tool"], "Read", "the call", ran)
    # it grows, and so does its seal; what was edited is refused
    second = SESSION.replace("t1", "t2").replace("u0", "u3").replace("u1", "u4").replace("m0", "m3").replace('"a"', '"b"')
    files = {"runs/s.jsonl": SESSION + second, "runs/s.sealed.jsonl": sealed}
    ran = scene({}, files, {"mode": "seal"})
    holds(ran.passed, "it grew", ran)
    outputs(ran, verdict="clean", calls="2")
    ran = scene({}, files | {"runs/s.jsonl": SESSION.replace('"a"', '"x"')}, {"mode": "seal"})
    holds(not ran.passed and any(one[3] == "toolreplay seal-mismatch" for one in ran.annotations), "edited", ran)
    # by its name alone nothing tells what it is
    ran = scene({}, {"runs/s.jsonl": SESSION}, {"mode": "seal", "format": "claude-code"})
    holds(ran.passed, "with a format", ran)
    ran = scene({}, {"runs/s.jsonl": SESSION + "{\n"}, {"mode": "seal"})
    ran = scene({}, {"runs/s.jsonl": SESSION.replace("t1", "t7", 1)}, {"mode": "seal"})
    holds(not ran.passed, "a result without a call", ran)
    ran = scene({}, {"runs/s.jsonl": SESSION.replace("t1", "t7", 1)}, {"mode": "seal", "allow-loss": True})
    holds(ran.passed, "unless that is allowed", ran)


def nothing_unread():
    """What looks like a recording and is not read, and `strict`."""
    hidden = {"runs/a.jsonl": CLEAN, "runs/.b.jsonl": CLEAN}
    ran = scene({}, hidden, {"fail-on": "error"})
    holds(ran.passed, "a warning", ran)
    same([one[:4] for one in ran.annotations], [("warning", "runs/.b.jsonl", 1, "toolreplay unread-recording")], "annotations", ran)
    ran = scene({}, hidden, {"fail-on": "error", "strict": True})
    holds(not ran.passed, "strict", ran)
    same([one[:4] for one in ran.annotations], [("error", "runs/.b.jsonl", 1, "toolreplay unread-recording")], "annotations", ran)
    calls = '{"log": [\n{"tool": "rm", "args": {"path": "/"}}\n]}\n'
    ran = scene({}, {"runs/a.jsonl": CLEAN, "runs/b.json": calls}, {})
    holds(not ran.passed and ran.annotations[0][1] == "runs/b.json", "calls in no format", ran)
    # a submodule that is not checked out
    inner = Repository(machine)
    inner.write({"b.jsonl": DIRTY})
    inner.commit("inner")
    repository = Repository(machine)
    repository.write({"runs/a.jsonl": CLEAN})
    repository.commit("base")
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.folder), "runs/sub")
    repository.commit("head")
    subprocess.run(["rm", "-rf", repository.folder / "runs/sub"], check=True)
    (repository.folder / "runs/sub").mkdir()
    done = script("run", repository.folder, {"IN_PATHS": "runs"})
    assert "exit-code=1\n" in done.outputs and "is not checked out" in done.log, done.log
    # what git ignores, as a step before makes it
    repository = Repository(machine)
    repository.write({".gitignore": "runs/\n", "a.jsonl": CLEAN})
    repository.commit("base")
    repository.write({"runs/b.jsonl": DIRTY})
    done = script("run", repository.folder, {"IN_PATHS": "."})
    assert "exit-code=1\n" in done.outputs and "runs/b.jsonl" in done.log, done.log


def changed_bytes():
    """Attributes that have git change bytes in the checkout."""
    keyword = '{"index": 0, "tool": "a", "args": {"q": "$Id$"}, "response": {}}\n'
    for attributes, text, level in [("*.jsonl ident\n", keyword, "warning"), ("*.jsonl text eol=crlf\n", CLEAN, "notice")]:
        repository = Repository(machine)
        repository.write({"README": "x\n"})
        first = repository.commit("base")
        repository.write({"runs/a.jsonl": text, ".gitattributes": attributes})
        second = repository.commit("head")
        (repository.folder / "runs/a.jsonl").unlink()
        repository.git("checkout", "--force", "HEAD", "--", ".")
        inputs = {"paths": "runs", "binary": str(machine.binary)}
        ran = run(repository, workflow(inputs, "pull_request"), "pull_request", pull_request(first, second))
        found = [one for one in ran.annotations if one[3] == "toolreplay recording-rewritten"]
        same([one[0] for one in found], [level], f"{attributes}", ran)
        holds("is not what was committed" in found[0][4], "it says so", ran)


def touched_alone():
    """`changed-only` counts what it leaves out, and judges the rest."""
    base = {"runs/old.jsonl": DIRTY, "scope.json": SCOPE}
    ran = scene(base, {"runs/new.jsonl": CLEAN}, {"changed-only": True})
    holds(ran.passed and "1 recording that the base revision has as they are" in ran.summary, "one is left out", ran)
    outputs(ran, calls="4")
    ran = scene(base, {"README": "y\n"}, {"changed-only": True})
    holds(ran.passed, "nothing is touched", ran)
    ran = scene(base, {"runs/old.jsonl": DIRTY.replace("guide", "edited")}, {"changed-only": True})
    holds(not ran.passed and "recording-rewritten" in ran.summary, "an edit", ran)
    ran = scene(base, {"README": "y\n"}, {"changed-only": True, "base": "none"})
    holds(not ran.passed and "every recording is judged" in ran.text, "without a base", ran)


def page():
    """A page to look at, as a file that a later step can keep."""
    ran = scene({}, {"runs/a.jsonl": DIRTY}, {"html-file": "out/page.html"})
    holds(not ran.passed, "findings", ran)
    path = pathlib.Path(ran.outputs["html-file"])
    holds(path.is_absolute() and ran.outputs["html-file"].endswith("/out/page.html"), "output", ran)
    repository = Repository(machine)
    repository.write({"runs/a.jsonl": DIRTY})
    repository.commit("head")
    done = script("run", repository.folder, {"IN_PATHS": "runs", "IN_HTML_FILE": "out/page.html"})
    text = (repository.folder / "out/page.html").read_text()
    assert text.startswith("<!doctype html>") or text.lower().startswith("<!doctype html"), text[:200]
    assert f"html-file={repository.folder}/out/page.html" in done.outputs, done.outputs


def links_to_lines():
    """Places in the summary lead to the lines of the revision that is checked out."""
    repository = Repository(machine)
    repository.write({"runs/a (b)|c.jsonl": DIRTY})
    head = repository.commit("head")
    environment = {"IN_PATHS": "runs", "EVENT_NAME": "workflow_dispatch", "SOURCE_URL": f"https://github.example/o/r/blob/{head}"}
    done = script("run", repository.folder, environment)
    summary = (done.records / "summary").read_text()
    assert f"(https://github.example/o/r/blob/{head}/runs/a%20%28b%29%7Cc.jsonl?plain=1#L3)" in summary, summary
    done = script("run", repository.folder, environment | {"SOURCE_URL": "https://github.example/o/r/blob/" + "0" * 40})
    assert "https://" not in (done.records / "summary").read_text(), "another revision has other lines"


def outside_of_the_repository():
    made = machine.home / "made elsewhere.jsonl"
    made.write_text(DIRTY)
    ran = scene({}, {}, {"paths": str(made), "upload-sarif": False})
    holds(not ran.passed, "it fails", ran)
    same(ran.annotations, [], "no annotations on what nobody can look at", ran)
    holds("made elsewhere.jsonl:3" in ran.text and "redundant-call" in ran.summary, "log and summary", ran)


def other_events():
    sealed = seal(DIRTY)
    cut = "".join(sealed.splitlines(True)[:4])
    files = ({"runs/a.sealed.jsonl": sealed}, {"runs/a.sealed.jsonl": cut})
    ran = scene(*files, {"mode": "verify"}, event="push")
    holds(not ran.passed, "a push is compared with what was before", ran)
    holds(ran.outputs["base"] in ran.summary and "the commit before this push" in ran.text, "the base is said", ran)
    ran = scene(*files, {"mode": "verify"}, event="push", payload=push("0" * 40))
    outputs(ran, verdict="inconclusive", base="")
    same([one[:4] for one in ran.annotations], [("error", None, None, "toolreplay has no base")], "annotations", ran)
    holds("**Inconclusive**" in ran.summary and "there was no commit before this push" in ran.summary, "summary", ran)
    only_meant(ran)
    ran = scene(*files, {"mode": "verify"}, event="workflow_dispatch", payload={})
    holds(ran.passed and "compared with no base: the event 'workflow_dispatch' has no base" in ran.text, "other events have none", ran)
    outputs(ran, base="none")
    repository = Repository(machine)
    repository.write(files[0])
    first = repository.commit("base")
    repository.write(files[1])
    second = repository.commit("head")
    inputs = {"paths": "runs", "mode": "verify", "binary": str(machine.binary)}
    payload = {"merge_group": {"base_sha": first, "head_sha": second}}
    ran = run(repository, workflow(inputs, "merge_group"), "merge_group", payload)
    holds(not ran.passed and "it was cut" in ran.text, "a merge group has its base", ran)
    # the head of a branch is checked out instead of the merge, and the base has moved on meanwhile
    payload = pull_request(first, second)
    repository.git("checkout", "--quiet", "-b", "topic", first)
    repository.write({"README": "topic\n"})
    repository.commit("topic")
    repository.git("checkout", "--quiet", "main")
    repository.write(files[0] | {"runs/b.sealed.jsonl": sealed})
    base = repository.commit("more")
    repository.git("checkout", "--quiet", "topic")
    environment = {"EVENT_NAME": "pull_request", "EVENT_SHA": "f" * 40, "EVENT_PULL_BASE": base}
    done = script("run", repository.folder, environment | {"IN_PATHS": "runs", "IN_MODE": "verify"})
    assert "exit-code=0\n" in done.outputs, (done.outputs, done.log)


def configuration():
    config = 'paths = ["runs"]\nscope = "scope.json"\n\n[[suppressions]]\nrule = "redundant-call"\nreason = "known"\n'
    files = {"sub/toolreplay.toml": config, "sub/scope.json": SCOPE}
    inputs = {"paths": "", "working-directory": "sub", "json-file": "out/a.json", "fail-on": "note"}
    ran = scene(files, {"sub/runs/a.jsonl": DIRTY}, inputs)
    holds(not ran.passed, "it fails", ran)
    outputs(ran, verdict="findings", findings="2", errors="1")
    same({one[1] for one in ran.annotations}, {"sub/runs/a.jsonl"}, "paths from the root of the repository", ran)
    holds(ran.outputs["json-file"].endswith("/sub/out/a.json"), "relative to the working directory", ran)
    hushed = config.replace("redundant-call", "permission-overreach")
    ran = scene(files, {"sub/runs/a.jsonl": DIRTY, "sub/toolreplay.toml": hushed}, inputs)
    errors = {(one[1], one[2], one[3]) for one in ran.annotations if one[0] == "error"}
    expected = {("sub/toolreplay.toml", 5, "toolreplay policy-changed"), ("sub/runs/a.jsonl", 5, "toolreplay permission-overreach")}
    same(errors, expected, "annotations", ran)
    ran = scene(files, {"sub/runs/a.jsonl": DIRTY, "other.toml": "paths = []\n"}, {"paths": "sub/runs", "config": "other.toml", "base": "none", "fail-on": "error"})
    outputs(ran, verdict="clean", errors="0")


def shallow_clones():
    repository = Repository(machine)
    repository.write({"runs/a.jsonl": CLEAN})
    first = repository.commit("base")
    repository.write({"runs/b.jsonl": DIRTY})
    head = repository.commit("head")
    for depth in [1, 2]:
        clone = machine.home / f"clone-{depth}"
        subprocess.run(["git", "clone", "--quiet", f"--depth={depth}", f"file://{repository.folder}", clone], check=True, env=machine.environment())
        event = {"EVENT_NAME": "pull_request", "EVENT_SHA": head, "EVENT_PULL_BASE": first, "IN_PATHS": "runs", "IN_FAIL_ON": "error"}
        done = script("run", clone, event)
        if depth == 1:
            assert "exit-code=2\n" in done.outputs and "fetch-depth: 2" in done.log, done.log
            assert "fetch-depth: 2" in (done.records / "summary").read_text()
            done = script("run", clone, event | {"IN_BASE": "none"})
        assert "exit-code=0\n" in done.outputs, done.log


def no_base_no_pass():
    """Every event that calls for a base, in every state in which there is none."""
    sealed = seal(DIRTY)
    repository = Repository(machine)
    repository.write({"runs/a.sealed.jsonl": sealed})
    first = repository.commit("base")
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.write({"runs/b.sealed.jsonl": sealed})
    topic = repository.commit("topic")
    repository.git("checkout", "--quiet", "main")
    repository.git("merge", "--quiet", "--no-ff", "-m", "merge", "topic")
    merge = repository.git("rev-parse", "HEAD")
    folders = 0

    def clone(*options, checkout=None):
        nonlocal folders
        folders += 1
        made = machine.home / f"no-base-{folders}"
        subprocess.run(["git", "clone", "--quiet", *options, f"file://{repository.folder}", made], check=True, env=machine.environment())
        if checkout:
            subprocess.run(["git", "checkout", "--quiet", checkout], cwd=made, check=True, env=machine.environment())
        return made

    no_git = machine.home / "no git"
    no_git.mkdir()
    for tool in ["bash", "cat", "dirname", "basename", "grep", "head", "mktemp", "mkdir", "od", "tr", "sed"]:
        (no_git / tool).symlink_to(subprocess.run(["which", tool], capture_output=True, text=True, check=True).stdout.strip())
    bare = machine.home / "no repository"
    (bare / "runs").mkdir(parents=True)
    (bare / "runs/a.sealed.jsonl").write_text(sealed)
    unborn = Repository(machine)
    unborn.write({"runs/a.sealed.jsonl": sealed})
    pull = {"EVENT_NAME": "pull_request", "EVENT_SHA": merge, "EVENT_PULL_BASE": first}
    pushed = {"EVENT_NAME": "push", "EVENT_REF": "refs/heads/main", "EVENT_DEFAULT_BRANCH": "main", "EVENT_SHA": merge}
    on_topic = pushed | {"EVENT_REF": "refs/heads/topic", "EVENT_SHA": topic}
    lost = "1234567890" * 4
    cases = [
        (clone(), pull | {"PATH": str(no_git)}, "there is no git on this runner"),
        (bare, pull | {"GIT_CEILING_DIRECTORIES": str(machine.home)}, "the workspace is no git repository"),
        (unborn.folder, pull, "nothing is checked out"),
        (clone("--depth=1"), pull, "fetch-depth: 2"),
        (clone("--depth=1"), pull | {"EVENT_NAME": "pull_request_review"}, "fetch-depth: 2"),
        (clone("--depth=1", "--branch=topic"), pull, "fetch-depth: 0"),
        (clone(checkout=first), pull, "is in the base of the pull request already"),
        (clone(checkout=topic), pull | {"EVENT_PULL_BASE": ""}, "the event names no base"),
        (clone(checkout=topic), pull | {"EVENT_PULL_BASE": "--help"}, "the event names no base"),
        (clone(checkout=first), pull | {"EVENT_NAME": "pull_request_target", "EVENT_SHA": first}, "checks out the target branch"),
        (clone(), {"EVENT_NAME": "merge_group", "EVENT_GROUP_BASE": lost}, "of the merge group"),
        (clone(), pushed | {"EVENT_BEFORE": lost}, "the commit before this push"),
        (clone(), pushed | {"EVENT_BEFORE": lost, "EVENT_FORCED": "true"}, "a force push dropped the commit"),
        (clone(), pushed | {"EVENT_BEFORE": "0" * 40}, "there was no commit before this push"),
        (clone("--single-branch", "--branch=topic"), on_topic | {"EVENT_BEFORE": "0" * 40}, "the clone has no default branch"),
        (clone("--single-branch", "--branch=topic"), on_topic | {"EVENT_BEFORE": first}, "the clone has no default branch"),
    ]
    for folder, event, words in cases:
        inputs = {"IN_PATHS": "runs", "IN_MODE": "verify"}
        done = script("run", folder, event | inputs)
        summary = (done.records / "summary").read_text()
        assert done.outputs.endswith("verdict=inconclusive\nexit_code=2\nexit-code=2\n"), (event, done.outputs, done.log)
        assert f"::error title=toolreplay has no base::" in done.log and words in done.log, (event, words, done.log)
        assert "**Inconclusive**" in summary and words in summary, (event, summary)
        done = script("run", folder, event | inputs | {"IN_BASE": "none"})
        assert "exit-code=0\n" in done.outputs and "base=none\n" in done.outputs, (event, done.outputs, done.log)
    # and where there is one
    for folder, event, base in [
        (clone(), pull, first),
        (clone(), pull | {"EVENT_NAME": "pull_request_review"}, first),
        (clone(checkout=topic), pull | {"EVENT_NAME": "pull_request_target", "EVENT_SHA": first}, first),
        (clone("--branch=topic"), on_topic | {"EVENT_BEFORE": first}, first),
        (clone("--branch=topic"), on_topic | {"EVENT_BEFORE": "0" * 40}, topic),
        (clone(), pushed | {"EVENT_BEFORE": first, "EVENT_FORCED": "true"}, first),
    ]:
        done = script("run", folder, event | {"IN_PATHS": "runs", "IN_MODE": "verify"})
        assert "exit-code=0\n" in done.outputs and f"base={base}\n" in done.outputs, (event, done.outputs, done.log)
        assert f"Compared with `{base} (" in (done.records / "summary").read_text(), done.log
    # a workspace that somebody else owns, as in a job's container
    owned = clone()
    if subprocess.run(["chown", "-R", "12345", owned], capture_output=True).returncode == 0:
        done = script("run", owned, pull | {"IN_PATHS": "runs", "IN_MODE": "verify"})
        assert f"base={first}\n" in done.outputs and "exit-code=0\n" in done.outputs, (done.outputs, done.log)


def policy_of_the_target():
    """Seals are compared with where a branch began, policies with what its target says today."""
    wide = {"scope.json": WIDE, "runs/a.jsonl": DIRTY, "runs/a.sealed.jsonl": seal(DIRTY)}
    repository = Repository(machine)
    repository.write(wide)
    repository.commit("a wide scope")
    repository.git("checkout", "--quiet", "-b", "topic")
    repository.write({"README": "topic\n"})
    topic = repository.commit("topic")
    repository.git("checkout", "--quiet", "main")
    repository.write({"scope.json": SCOPE, "runs/b.sealed.jsonl": seal(CLEAN)})
    tip = repository.commit("a narrower scope")
    repository.git("update-ref", "refs/remotes/origin/main", tip)
    repository.git("checkout", "--quiet", "topic")
    inputs = {"IN_PATHS": "runs", "IN_SCOPE": "scope.json", "IN_FAIL_ON": "error"}
    pull = {"EVENT_NAME": "pull_request", "EVENT_SHA": "f" * 40, "EVENT_PULL_BASE": tip}
    done = script("run", repository.folder, pull | inputs)
    assert "exit-code=1\n" in done.outputs and "permission-overreach" in done.log, done.log
    assert "policy-changed" not in done.log and "seal-deleted" not in done.log, done.log
    # widening it is noticed, by the first push and by those that follow
    repository.write({"scope.json": SCOPE.replace("search", "anything")})
    widened = repository.commit("widened")
    repository.write({"README": "more\n"})
    repository.commit("more")
    event = {"EVENT_NAME": "push", "EVENT_REF": "refs/heads/topic", "EVENT_DEFAULT_BRANCH": "main"}
    for before in [topic, widened]:
        done = script("run", repository.folder, event | inputs | {"EVENT_BEFORE": before})
        assert "exit-code=1\n" in done.outputs and "permission-overreach" in done.log, done.log
    done = script("run", repository.folder, pull | inputs)
    assert "policy-changed" in done.log, done.log
    # a scope that was added is no note
    ran = scene({}, {"runs/a.jsonl": CLEAN, "scope.json": SCOPE}, {"scope": "scope.json"})
    same([one[:4] for one in ran.annotations], [("error", "scope.json", 1, "toolreplay policy-changed")], "annotations", ran)


def links_and_binaries():
    repository = Repository(machine)
    repository.write({"real/runs/a.jsonl": CLEAN, "tools/README": "x"})
    (repository.folder / "sub").symlink_to("real")
    (repository.folder / "deep").mkdir()
    (repository.folder / "deep/link").symlink_to("../real")
    for folder in ["sub", "./sub/", "sub/runs", "deep/link"]:
        done = script("run", repository.folder, {"IN_PATHS": "runs", "IN_WORKING_DIRECTORY": folder})
        assert done.code == 2 and "goes through a link" in done.log, (folder, done.log)
    assert "exit-code=0\n" in script("run", repository.folder, {"IN_PATHS": "runs", "IN_WORKING_DIRECTORY": "real"}).outputs
    evil = repository.folder / "tools/toolreplay"
    evil.write_bytes(machine.binary.read_bytes())
    (repository.folder / "tools/out").symlink_to(machine.binary)
    outside = machine.home / "outside"
    outside.symlink_to(evil)
    sum_ = hashlib.sha256(machine.binary.read_bytes()).hexdigest()
    workspace = {"GITHUB_WORKSPACE": str(repository.folder)}
    for path in ["tools/toolreplay", "./tools/../tools/toolreplay", str(evil), str(outside), "tools/out"]:
        done = script("binary", repository.folder, workspace | {"IN_BINARY": path})
        assert done.code == 2 and "lies in the workspace" in done.log and not done.outputs, (path, done.log, done.outputs)
        done = script("binary", repository.folder, workspace | {"IN_BINARY": path, "IN_BINARY_SHA256": "0" * 64})
        assert done.code == 2 and "is not the file whose SHA-256" in done.log and not done.outputs, (path, done.log)
        done = script("binary", repository.folder, workspace | {"IN_BINARY": path, "IN_BINARY_SHA256": sum_})
        found = done.outputs.removeprefix("path=").strip()
        assert done.code == 0 and str(repository.folder) not in found and os.access(found, os.X_OK), (path, done.log)
    done = script("binary", repository.folder, workspace | {"IN_BINARY_SHA256": sum_})
    assert done.code == 2 and "means something with the input 'binary' only" in done.log, done.log
    (repository.folder / "file").write_text("")
    done = script("run", repository.folder, {"IN_PATHS": "real", "IN_JSON_FILE": "file/out/a.json"})
    assert done.code == 2 and "the folder of the report" in done.log and "::error" in done.log, done.log


class Done:
    pass


INPUTS = {
    "IN_PATHS": "", "IN_MODE": "audit", "IN_SCOPE": "", "IN_FORMAT": "", "IN_FAIL_ON": "", "IN_BASE": "auto", "IN_CONFIG": "",
    "IN_ALLOW_EMPTY": "false", "IN_ANNOTATIONS": "true", "IN_SUMMARY": "true", "IN_SARIF_FILE": "", "IN_UPLOAD_SARIF": "false",
    "IN_JUNIT_FILE": "", "IN_JSON_FILE": "", "IN_SEAL_OUTPUT": "", "IN_WORKING_DIRECTORY": ".", "IN_VERSION": "",
    "IN_BINARY": "", "IN_BINARY_SHA256": "", "IN_MIN_LEVEL": "", "IN_MUTATORS": "", "IN_ALLOW_LOSS": "false", "IN_STRICT": "false", "IN_CHANGED_ONLY": "false", "IN_HTML_FILE": "",
    "IN_COMMENT": "false", "EVENT_FORCED": "",
    "EVENT_REF": "", "EVENT_DEFAULT_BRANCH": "", "EVENT_NAME": "", "EVENT_SHA": "", "EVENT_PULL_BASE": "", "EVENT_GROUP_BASE": "", "EVENT_BEFORE": "",
}


def script(step: str, folder, environment: dict) -> Done:
    """One step of action.sh by itself."""
    done = Done()
    records = pathlib.Path(machine.home / f"step-{script.count}")
    script.count += 1
    records.mkdir()
    settings = machine.environment() | INPUTS | {
        "RAW_LOG_OPEN": "1", "RECORDS": str(records), "ASSET": str(machine.binary), "BINARY": str(machine.binary),
        "GITHUB_OUTPUT": str(records / "outputs"), "GITHUB_STEP_SUMMARY": str(records / "summary"),
        "RUNNER_TEMP": str(records), "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_ACTION_PATH": str(machine.action), "GITHUB_WORKSPACE": str(folder), "ACTION_REPOSITORY": "toolreplay/toolreplay",
    } | environment
    ran = subprocess.run(["bash", machine.action / "action.sh", step], cwd=folder, env=settings, capture_output=True)
    done.code, done.log = ran.returncode, (ran.stdout + ran.stderr).decode()
    done.outputs = (records / "outputs").read_text() if (records / "outputs").exists() else ""
    done.records = records
    return done


script.count = 0


def getting_the_binary():
    folder = machine.home
    done = script("binary", folder, {})
    path = done.outputs.removeprefix("path=").strip()
    address = f"https://github.example/toolreplay/toolreplay/releases/download/v{machine.version}/toolreplay-{machine.version}-x86_64-unknown-linux-musl\n"
    assert done.code == 0 and os.access(path, os.X_OK), done.log
    assert (done.records / "downloads").read_text() == address
    assert script("binary", folder, {"IN_VERSION": f"v{machine.version}", "RUNNER_OS": "macOS", "RUNNER_ARCH": "ARM64"}).code == 0

    evil = machine.home / "evil"
    evil.write_text("#!/bin/sh\n")
    done = script("binary", folder, {"ASSET": str(evil)})
    assert done.code == 2 and "is not the file whose SHA-256 stands in checksums.txt" in done.log, done.log
    assert not done.outputs and not list(done.records.rglob("toolreplay-0*")), done.outputs

    # tagged and not out yet: the sources of the same revision are built
    missing = script("binary", folder, {"ASSET": str(machine.home / "missing")})
    if shutil.which("cargo"):
        assert missing.code == 0 and "build-key=" in missing.outputs and "built from the sources" in missing.log, missing.log
    without = {"ASSET": str(machine.home / "missing"), "PATH": f"{machine.home / 'bin'}:/usr/bin:/bin"}
    if not shutil.which("cargo", path="/usr/bin:/bin"):
        missing = script("binary", folder, without)
        assert missing.code == 2 and "could not be downloaded" in missing.log and not missing.outputs, missing.log

    for version, words in [("9.9.9", "knows no toolreplay 9.9.9"), ("../../x", "that is no version"), ("1\n::error::x", "that is no version")]:
        done = script("binary", folder, {"IN_VERSION": version})
        assert done.code == 2 and words in done.log and not done.outputs, done.log
        assert len(runner_commands.commands(done.log.encode())) == 1, done.log

    done = script("binary", folder, {"IN_BINARY": "none"})
    assert done.code == 2 and "there is no such file" in done.log, done.log
    done = script("binary", folder, {"IN_BINARY": str(machine.binary)})
    assert done.outputs == f"path={machine.binary}\n", done.outputs

    # no checksum for this machine, or an action that is not from a repository: it is built, by the sources' digest
    for environment in [{"TOOLREPLAY_CHECKSUMS": "/dev/null"}, {"ACTION_REPOSITORY": ""}, {"RUNNER_ARCH": "RISCV"}]:
        done = subprocess.run(["bash", ROOT / "action.sh", "binary"], capture_output=True, env=machine.environment() | INPUTS | {
            "RAW_LOG_OPEN": "1", "GITHUB_OUTPUT": str(machine.home / "build-outputs"), "RUNNER_TEMP": str(machine.home),
            "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "ACTION_REPOSITORY": "a/b"} | environment)
        assert done.returncode == 0, done.stderr
    found = (machine.home / "build-outputs").read_text()
    keys = {line for line in found.splitlines() if line.startswith("build-key=toolreplay-Linux-")}
    assert len(keys) == 2 and found.count("build-folder=") == 3, found


def building():
    """The build itself, where a build was made before: what cargo would be told."""
    fake = machine.home / "fake"
    fake.mkdir()
    cargo = fake / "cargo"
    cargo.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >"$RECORDS/cargo"\nmkdir -p "$BUILD_FOLDER/bin" "$CARGO_TARGET_DIR"\ncp "$ASSET" "$BUILD_FOLDER/bin/toolreplay"\n')
    cargo.chmod(0o755)
    path = {"PATH": f"{fake}:{os.environ['PATH']}", "BUILD_FOLDER": str(machine.home / "build folder")}
    done = script("build", machine.home, path)
    arguments = (done.records / "cargo").read_text().splitlines()
    assert done.code == 0 and arguments[0] == "install" and "--locked" in arguments, done.log
    assert arguments[arguments.index("--path") + 1] == str(machine.action)
    done = script("build", machine.home, path)
    assert done.code == 0 and "built before" in done.log and not (done.records / "cargo").exists()


SCENARIOS = [
    clean, findings, changed_lines_first, fail_on_and_quiet, malformed, broken_seal, intact_seal, shortened_seal, deleted_seal,
    widened_scope, formats_of_changes, fork_like, empty, odd_paths, odd_inputs, hostile, sealing, sealing_recordings, nothing_unread, changed_bytes,
    touched_alone, page, links_to_lines, mismatch, outside_of_the_repository,
    other_events, configuration, shallow_clones, no_base_no_pass, policy_of_the_target, links_and_binaries, getting_the_binary, building,
]


def download():
    """The whole way with a release's binary."""
    ran = scene({}, {"runs/a.jsonl": CLEAN}, {}, binary=False)
    holds(ran.passed, "it passes", ran)
    holds((ran.record("downloads") or "").count("/releases/download/v") == 1, "one download", ran)


if __name__ == "__main__":
    wanted = sys.argv[3:]
    failed = 0
    for scenario in SCENARIOS + [download]:
        if wanted and scenario.__name__ not in wanted:
            continue
        try:
            scenario()
            print(f"action: {scenario.__name__}: ok", flush=True)
        except Exception as error:  # one that fails must not keep the others from being tried
            failed += 1
            # a failure shows a log: it must not be taken for one
            shown = f"{type(error).__name__}: {error}".replace("::", ": :").replace("##[", "## [").replace("\r", "\\r")
            print(f"action: {scenario.__name__}: FAILED: {shown}", flush=True)
    sys.exit(1 if failed else 0)
