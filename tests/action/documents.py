"""Every snippet of docs/action.md and docs/ci.md is run as it stands there: documents.py BINARY WORK

Workflows run under act with the release's download answered by the binary under test. The templates of other CIs are
files in ci/, which the page must repeat; what they would run is run by a shell with the CI's variables.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap

import yaml

from comments import Api
from act import KEY, ROOT, Machine, Repository, run
from scenarios import CLEAN, DIRTY, SCOPE, holds, pull_request, push, same, seal

machine = Machine(sys.argv[1], sys.argv[2])
BLOCK = re.compile(r"^```(\S+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)


def blocks(page: str):
    return BLOCK.findall((ROOT / "docs" / page).read_text())


def repository(files: dict, then: dict):
    made = Repository(machine)
    made.write({"policy/scope.json": SCOPE} | files)
    first = made.commit("base")
    made.write(then)
    return made, first, made.commit("head")


def ran(text: str, event: str, files: dict, then: dict, payload=None):
    made, first, second = repository(files, then)
    if payload is None:
        payload = pull_request(first, second)
    # the steps of a document have no id of ours; what they did is in the records
    return run(made, text, event, payload)


def transcripts(text):
    for then, passes in [({"transcripts/a.jsonl": CLEAN, "evals/x/y.jsonl": CLEAN}, True), ({"transcripts/a.jsonl": DIRTY, "evals/y.jsonl": CLEAN}, False)]:
        result = ran(text, "pull_request", {}, then)
        same(result.passed, passes, "passes", result)
        holds(result.summary.startswith("## toolreplay audit: " + ("passed" if passes else "failed")), "summary", result)
        holds(result.record("downloads"), "the release was downloaded", result)
    same([one[:3] for one in result.annotations][0], ("error", "transcripts/a.jsonl", 5), "annotation", result)
    made, first, _ = repository({"transcripts/a.jsonl": CLEAN, "evals/y.jsonl": CLEAN}, {"transcripts/b.jsonl": CLEAN})
    result = run(made, text, "push", push(first))
    holds(result.passed, "a push passes", result)


def code_scanning(text):
    result = ran(text, "pull_request", {}, {"transcripts/a.jsonl": DIRTY})
    holds(not result.passed and len(result.uploaded["runs"][0]["results"]) == 2, "uploaded, then failed", result)


def agent(text):
    for calls, passes in [(CLEAN, True), (DIRTY, False)]:
        (machine.home / "execution.json").write_text(calls)
        result = ran(text, "workflow_dispatch", {}, {}, payload={})
        same(result.passed, passes, "passes", result)
        same("calls, nothing to object to" in result.text, passes, "the next step runs after a clean audit", result)
        same(result.annotations, [], "the recording is not in the repository", result)
        same("| error | permission-overreach |" in result.summary, not passes, "summary", result)


def seals(text):
    sealed = seal(DIRTY)
    for then, passes in [(sealed, True), ("".join(sealed.splitlines(True)[:5]), False)]:
        result = ran(text, "pull_request", {"transcripts/a.sealed.jsonl": sealed}, {"transcripts/a.sealed.jsonl": then})
        same(result.passed, passes, "passes", result)


def sealing(text):
    result = ran(text, "workflow_dispatch", {}, {"transcripts/a.jsonl": CLEAN, "transcripts/b.jsonl": DIRTY}, payload={})
    holds(result.passed, "it passes", result)
    same(len(result.record("subjects").splitlines()), 3, "attested", result)
    same(result.record("artifact"), "sealed transcripts\nsealed\n", "artefact", result)
    digests = [json.loads(seal(text).splitlines()[-1])["digest"] for text in (CLEAN, DIRTY)]
    holds(" ".join(digests) in result.summary, "digests", result)


def commented(text):
    api = Api()
    made, first, second = repository({"transcripts/old.jsonl": DIRTY}, {"transcripts/new.jsonl": CLEAN})
    payload = pull_request(first, second)
    payload["pull_request"]["number"] = payload["number"] = 7
    environment = {"GITHUB_API_URL": api.address, "GITHUB_REPOSITORY": "o/r"}
    result = run(made, text, "pull_request", payload, environment=environment)
    holds(result.passed, "it passes", result)
    same(len(api.comments), 1, "comments", result)
    holds("1 recording that the base revision has as they are" in api.comments[0]["body"], "what was left out", result)


def self_hosted(text):
    digest = hashlib.sha256(machine.binary.read_bytes()).hexdigest()
    assert re.search(r"binary-sha256: [0-9a-f]{64}\n", text), text
    text = re.sub(r"(binary-sha256: )[0-9a-f]{64}\n", rf"\g<1>{digest}\n", text)
    result = ran(text, "pull_request", {}, {"transcripts/a.jsonl": CLEAN, "tools/toolreplay": "#!/bin/sh\nexit 0\n"})
    holds(not result.passed and "is not the file whose SHA-256" in result.text, "a binary of the pull request is no pass", result)
    made, first, _ = repository({}, {})
    made.write({"transcripts/a.jsonl": CLEAN})
    (made.folder / "tools").mkdir()
    shutil.copy(machine.binary, made.folder / "tools/toolreplay")
    second = made.commit("head")
    result = run(made, text, "pull_request", pull_request(first, second))
    holds(result.passed and result.record("downloads") is None, "it passes without a download", result)


WORKFLOWS = {
    "transcripts": transcripts, "transcripts in code scanning": code_scanning, "agent": agent, "seals": seals, "seal": sealing,
    "self-hosted": self_hosted, "transcripts with a comment": commented,
}


def action_page():
    seen = []
    folder = machine.home / "workflows"
    folder.mkdir()
    for language, _, text in blocks("action.md"):
        if language == "sh":
            shell_block(text)
            continue
        assert language == "yaml", language
        name = yaml.safe_load(text)["name"]
        (folder / f"{name}.yml").write_text(text)
        WORKFLOWS[name](text)
        seen.append(name)
        print(f"action: docs/action.md: {name}: ok", flush=True)
    assert sorted(seen) == sorted(WORKFLOWS), seen
    files = sorted(folder.iterdir())
    subprocess.run(["actionlint", "-no-color", *files], check=True)
    subprocess.run(["check-jsonschema", "--quiet", "--builtin-schema", "vendor.github-workflows", *files], check=True)
    # the last one shows a tag on purpose
    pinned = [file for file in files if file.stem != "self-hosted"]
    subprocess.run(["zizmor", "--offline", "--no-progress", "--quiet", *pinned], check=True)


def shell(script: str, folder, **variables):
    tools = machine.home / "tools"
    tools.mkdir(exist_ok=True)
    shutil.copy(machine.binary, tools / "toolreplay")
    environment = machine.environment() | {"RAW_LOG_OPEN": "1", "PATH": f"{tools}:{os.environ['PATH']}"} | variables
    return subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment, capture_output=True, text=True)


def shell_block(text: str):
    """Of the commands of the page, those that are ours."""
    made, _, _ = repository({}, {"session.jsonl": DIRTY})
    sign = ["seal", "session.jsonl", "-o", "session.sealed.jsonl"]
    environment = machine.environment() | {"TOOLREPLAY_KEY": KEY}
    subprocess.run([machine.binary, *sign], cwd=made.folder, env=environment, check=True)
    made.write({"trusted.keys": "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW\n"})
    ours = [line for line in text.splitlines() if line.startswith("toolreplay ")]
    assert ours, text
    done = shell("\n".join(ours), made.folder)
    assert done.returncode == 0, (done.stdout, done.stderr)


def both(script: str, reports: list, **variables):
    """Runs a template's script on a branch that only adds and on one that cuts a seal."""
    sealed = seal(DIRTY)
    for then, code in [(sealed, 0), ("".join(sealed.splitlines(True)[:5]), 1)]:
        made, first, _ = repository({"transcripts/a.sealed.jsonl": sealed, "toolreplay.toml": 'fail-on = "error"\n'}, {"transcripts/a.sealed.jsonl": then})
        made.git("update-ref", "refs/remotes/origin/main", first)
        values = {name: value.replace("{base}", first) for name, value in variables.items()}
        done = shell(script, made.folder, **values)
        assert done.returncode == code, (done.stdout, done.stderr)
        assert ("seal-rewritten" in done.stdout) == (code == 1), done.stdout
        for name in reports:
            assert (made.folder / name).stat().st_size > 0, name


def gitlab(text):
    template = yaml.safe_load(text)["toolreplay"]
    folder = machine.home / "ci"
    folder.mkdir(exist_ok=True)
    (folder / "gitlab.yml").write_text(text)
    subprocess.run(["check-jsonschema", "--quiet", "--builtin-schema", "vendor.gitlab-ci", folder / "gitlab.yml"], check=True)
    script = "\n".join(template["before_script"] + template["script"])
    reports = list(template["artifacts"]["reports"].values())
    settings = {"TOOLREPLAY_PATHS": template["variables"]["TOOLREPLAY_PATHS"], "CARGO_HOME": "none"}
    both(script, reports, CI_MERGE_REQUEST_DIFF_BASE_SHA="{base}", CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main", **settings)
    both(script, reports, CI_COMMIT_BEFORE_SHA="{base}", **settings)
    # a first push is compared with the commit before its last one, and a commit that a force push dropped is no pass
    both(script, reports, CI_COMMIT_BEFORE_SHA="0" * 40, **settings)
    made, _, _ = repository({}, {"transcripts/a.jsonl": CLEAN})
    done = shell(script, made.folder, CI_COMMIT_BEFORE_SHA="1234567890" * 4, **settings)
    assert done.returncode == 2 and "is not in this clone" in done.stderr, (done.stdout, done.stderr)
    done = shell(script, only_commit(), CI_COMMIT_BEFORE_SHA="0" * 40, **settings)
    assert done.returncode == 0, done.stderr
    rules = [rule["if"] for rule in template["rules"]]
    assert rules == ['$CI_PIPELINE_SOURCE == "merge_request_event"', "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"], rules


def only_commit():
    made = Repository(machine)
    made.write({"transcripts/a.jsonl": CLEAN})
    made.commit("only")
    return made.folder


def on_main(script, **variables):
    """A build of the main branch itself, whose remote branch is what is checked out."""
    sealed = seal(DIRTY)
    cut = "".join(sealed.splitlines(True)[:5])
    made, _, second = repository({"transcripts/a.sealed.jsonl": sealed, "toolreplay.toml": 'fail-on = "error"\n'}, {"transcripts/a.sealed.jsonl": cut})
    made.git("update-ref", "refs/remotes/origin/main", second)
    done = shell(script, made.folder, **variables)
    assert done.returncode == 1 and "seal-rewritten" in done.stdout, (done.stdout, done.stderr)
    done = shell(script, only_commit(), **variables)
    assert done.returncode == 0, (done.stdout, done.stderr)


def jenkins(text):
    script = textwrap.dedent(re.search(r"sh '''\n(.*?)'''", text, re.S).group(1))
    both(script, re.findall(r"junit '(.+)'", text), CHANGE_TARGET="main")
    on_main(script)


def azure(text):
    script = next(step["bash"] for step in yaml.safe_load(text)["steps"] if "bash" in step)
    temporary = machine.home / "agent"
    temporary.mkdir(exist_ok=True)
    both(script, [temporary / "toolreplay.xml"], AGENT_TEMPDIRECTORY=str(temporary), SYSTEM_PULLREQUEST_TARGETBRANCHNAME="main")
    on_main(script, AGENT_TEMPDIRECTORY=str(temporary))


def pre_commit(text):
    """The hooks with the manifest's entries, by the binary under test instead of a build."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    for hook in hooks:
        assert hook["language"] == "rust", hook
        hook["language"] = "system"
    source, _, _ = repository({".pre-commit-hooks.yaml": yaml.safe_dump(hooks)}, {})
    wanted = yaml.safe_load(text)
    source.git("tag", wanted["repos"][0]["rev"])
    wanted["repos"][0]["repo"] = str(source.folder)
    sealed = seal(CLEAN)
    made, _, _ = repository({"-x.jsonl": CLEAN, "a.sealed.jsonl": sealed, ".pre-commit-config.yaml": yaml.safe_dump(wanted)}, {})
    # before the first commit there is no HEAD to compare with
    made.git("update-ref", "-d", "HEAD")
    done = shell("pre-commit run --color never", made.folder)
    assert done.returncode == 0, (done.stdout, done.stderr)
    made.commit("first")
    for change, failing in [
        ({"-x.jsonl": CLEAN + "\n"}, []),
        ({"-x.jsonl": "{}\n"}, ["toolreplay audit", "toolreplay seals"]),
        ({"a.sealed.jsonl": "".join(sealed.splitlines(True)[:2])}, ["toolreplay seals"]),
        ({"a.sealed.jsonl": None}, ["toolreplay seals"]),
    ]:
        made.git("reset", "--quiet", "--hard")
        made.write(change)
        made.git("add", "--all")
        done = shell("pre-commit run --color never", made.folder)
        failed = re.findall(r"^(\S.*?)\.+.*Failed$", done.stdout, re.M)
        assert failed == failing, (change, done.stdout, done.stderr)


def ci_page():
    shown = {}
    for language, tag, text in blocks("ci.md"):
        shown[tag or language] = text
    for tag, file, check in [("gitlab", "gitlab.yml", gitlab), ("jenkins", "Jenkinsfile", jenkins), ("azure", "azure-pipelines.yml", azure)]:
        text = (ROOT / "ci" / file).read_text()
        assert shown.pop(tag) == text, f"docs/ci.md must show ci/{file} as it is"
        check(text)
        print(f"action: docs/ci.md: {tag}: ok", flush=True)
    pre_commit(shown.pop("yaml"))
    print("action: docs/ci.md: pre-commit: ok", flush=True)
    both(shown.pop("sh").replace("REV", "HEAD^"), ["toolreplay.xml"])
    assert not shown, f"nothing runs these snippets: {list(shown)}"


action_page()
ci_page()
