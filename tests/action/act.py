"""Runs workflows in scratch repositories with act, and keeps what came of them.

No container and no network: jobs run on this machine, and every action that a workflow names is a folder here. The
uploads among them are stand-ins that write down what they were given. A wrapper around bash keeps each step's output as
the bytes it was, for a parser of the runner's commands.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile

import runner_commands

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STUBS = {
    "github/codeql-action": "codeql-action",
    "actions/cache": "cache",
    "actions/attest": "attest",
    "actions/upload-artifact": "upload-artifact",
    "anthropics/claude-code-action": "claude-code-action",
}
# nobody's secret: the key of the reference implementation's own tests
KEY = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
# all but the checkout, which act does by itself
USES = re.compile(r"uses: ([\w.-]+/[\w.-]+)(?:/[\w./-]+)?@(\S+)")
WRAPPER = """#!/bin/bash
[ -z "${RAW_LOG_OPEN:-}" ] || exec /bin/bash "$@"
export RAW_LOG_OPEN=1
/bin/bash "$@" 2>&1 | tee -a "$RECORDS/raw.log"
exit "${PIPESTATUS[0]}"
"""
# serves the binary as if it were a release's asset, and keeps the address
CURL = """#!/bin/bash
# what asks an API asks the one on this machine
case " $* " in *" --write-out "*) exec "$REAL_CURL" "$@" ;; esac
while [ $# -gt 1 ]; do
    if [ "$1" = --output ]; then file=$2; fi
    shift
done
printf '%s\\n' "$1" >>"$RECORDS/downloads"
# what is not there is an answer of 404
[ -e "$ASSET" ] || exit 22
cp "$ASSET" "$file"
"""
RECORD = """
      - if: always()
        env:
          STEP: ${{ toJSON(steps.audit) }}
        run: printf '%s' "$STEP" >"$RECORDS/step.json"
"""


def executable(path: pathlib.Path, text: str):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class Machine:
    """Where act runs: its home, the stand-ins, the action as a repository without its history."""

    def __init__(self, binary: str, work: str):
        self.binary = pathlib.Path(binary).resolve()
        self.work = pathlib.Path(work).resolve()
        self.home = self.work / "home"
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        tools = self.home / "bin"
        tools.mkdir()
        executable(tools / "bash", WRAPPER)
        executable(tools / "curl", CURL)
        self.action = self.home / "action"
        self.action.mkdir()
        for name in ["action.yml", "action.sh", "Cargo.toml"]:
            shutil.copy(ROOT / name, self.action / name)
        digest = hashlib.sha256(self.binary.read_bytes()).hexdigest()
        version = re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.M).group(1)
        targets = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl", "x86_64-apple-darwin", "aarch64-apple-darwin"]
        sums = [f"{digest}  toolreplay-{version}-{target}\n" for target in targets]
        (self.action / "checksums.txt").write_text("# a comment\n" + "".join(sums))
        self.version = version

    def environment(self) -> dict:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "GITHUB_", "RUNNER_"))}
        kept.update(
            REAL_CURL=shutil.which("curl", path=os.defpath + ":" + os.environ["PATH"]) or "curl", HOME=str(self.home), PATH=f"{self.home / 'bin'}:{os.environ['PATH']}", GIT_CONFIG_GLOBAL="/dev/null",
            GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@example.com", GIT_COMMITTER_NAME="a",
            GIT_COMMITTER_EMAIL="a@example.com",
        )
        return kept


class Repository:
    def __init__(self, machine: Machine):
        self.machine = machine
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="repository-", dir=machine.home))
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments) -> str:
        run = subprocess.run(["git", *arguments], cwd=self.folder, env=self.machine.environment(), check=True, capture_output=True)
        return run.stdout.decode().strip()

    def write(self, files: dict):
        """Texts by path; None takes a file away."""
        for name, text in files.items():
            path = self.folder / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def commit(self, message: str) -> str:
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


class Run:
    """What came of a workflow."""

    def __init__(self, status: int, log: list, records: pathlib.Path):
        self.passed = status == 0
        self.log = log
        self.raw = (records / "raw.log").read_bytes() if (records / "raw.log").exists() else b""
        self.text = self.raw.decode("utf-8", "replace")
        self.summary = "".join(entry["content"] for entry in log if entry.get("command") == "summary")
        self.records = records
        step = json.loads(self.record("step.json") or "{}")
        self.outputs = step.get("outputs") or {}
        self.conclusion = step.get("conclusion")
        self.commands = runner_commands.commands(self.raw)

    def record(self, name: str):
        path = self.records / name
        return path.read_text() if path.exists() else None

    @property
    def annotations(self):
        """(level, file, line, title, message) of each, in order."""
        found = []
        for name, properties, message in self.commands:
            if name in ("error", "warning", "notice"):
                line = properties.get("line")
                found.append((name, properties.get("file"), line and int(line), properties.get("title"), message))
        return found

    @property
    def uploaded(self):
        text = self.record("uploaded.sarif")
        return text and json.loads(text)

    def described(self) -> str:
        return f"passed: {self.passed}\noutputs: {self.outputs}\nannotations: {self.annotations}\nlog:\n{self.text}\n" + "\n".join(
            entry.get("msg", "").rstrip() for entry in self.log if entry.get("level") in ("error", "fatal")
        )


def workflow(inputs: dict, trigger: str) -> str:
    """A workflow that runs the action with some inputs and keeps its outputs."""
    lines = [f"on: {trigger}", "permissions: {}", "jobs:", "  audit:", "    runs-on: ubuntu-latest", "    steps:",
             "      - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2", "      - id: audit",
             "        uses: toolreplay/toolreplay@v1", "        with:"]
    for name, value in inputs.items():
        lines.append(f"          {name}: {json.dumps(value)}")
    return "\n".join(lines) + RECORD


def run(repository: Repository, text: str, event: str, payload: dict, upload_status: int = 0, environment=None) -> Run:
    machine = repository.machine
    records = pathlib.Path(tempfile.mkdtemp(prefix="records-", dir=machine.home))
    # outside of the repository: a workflow is not what is audited
    file = records / "workflow.yml"
    file.write_text(text)
    (records / "event.json").write_text(json.dumps(payload))
    command = ["act", event, "--json", "-e", records / "event.json", "-W", file, "-P", "ubuntu-latest=-self-hosted",
               "--container-daemon-socket", "-", "--env", f"RECORDS={records}", "--env", f"UPLOAD_STATUS={upload_status}",
               "--env", f"ASSET={machine.binary}", "--secret", "ANTHROPIC_API_KEY=none", "--secret", f"TOOLREPLAY_KEY={KEY}"]
    for name, value in (environment or {}).items():
        command += ["--env", f"{name}={value}"]
    named = set(USES.findall(text)) | set(USES.findall((machine.action / "action.yml").read_text()))
    for name, ref in sorted(named):
        if name == "actions/checkout":
            continue
        folder = machine.action if name == "toolreplay/toolreplay" else HERE / "stubs" / STUBS[name]
        command += ["--local-repository", f"{name}@{ref}={folder}"]
    done = subprocess.run(command, cwd=repository.folder, env=machine.environment(), capture_output=True, timeout=300)
    log = []
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        try:
            log.append(json.loads(line))
        except ValueError:
            log.append({"msg": line, "level": "error"})
    return Run(done.returncode, log, records)
