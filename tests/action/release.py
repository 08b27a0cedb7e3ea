"""The release workflow's steps, with a stand-in for GitHub's command: release.py WORK"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = pathlib.Path(sys.argv[1]).resolve()
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
JOBS = WORKFLOW["jobs"]
# keeps what it was asked, gives the assets of the draft, and fails where it is told to
GH = """#!/bin/bash
printf '%s\\n' "$*" >>"$RECORDS/gh"
[ -z "${GH_FAILS:-}" ] || [[ "$*" != *"$GH_FAILS"* ]] || exit 1
case "$*" in
"release view"*targetCommitish*) echo "$BUILT" ;;
"release view"*) echo "${IS_DRAFT:-}" ;;
"release download"*) cp "$ASSETS"/toolreplay-* . ;;
esac
"""


def step(job: str, start: str) -> str:
    found = [step["run"] for step in JOBS[job]["steps"] if step.get("name", "").startswith(start)]
    assert len(found) == 1, (job, start)
    return found[0]


class Machine:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=WORK))
        self.work = self.folder / "work"
        for name in ["bin", "assets", "work"]:
            (self.folder / name).mkdir()
        program = self.folder / "bin/gh"
        program.write_text(GH)
        program.chmod(0o755)

    def run(self, script: str, **variables):
        environment = {
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin", "HOME": str(self.folder), "RECORDS": str(self.folder),
            "ASSETS": str(self.folder / "assets"), "VERSION": "0.7.0", "GITHUB_REPOSITORY": "o/r", "GITHUB_SHA": "a" * 40,
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary"), "GIT_CONFIG_GLOBAL": "/dev/null",
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=self.work, env=environment | variables,
            capture_output=True, text=True,
        )

    def asked(self) -> str:
        path = self.folder / "gh"
        return path.read_text() if path.exists() else ""


TARGETS = [(entry["target"], entry.get("suffix", "")) for entry in JOBS["build"]["strategy"]["matrix"]["include"]]


def names():
    return [f"toolreplay-0.7.0-{target}{suffix}" for target, suffix in TARGETS]


def order():
    """No registry holds up the release, and nothing is published that was not held against the commit."""
    assert JOBS["publish"]["needs"] == ["version", "verify"] and "if" not in JOBS["publish"], JOBS["publish"]
    for job in ["crate", "wheels", "sdist", "publish"]:
        assert "verify" in JOBS[job]["needs"], job
    assert JOBS["verify"]["if"] == "github.event_name == 'push'" and JOBS["build"]["if"].endswith("'workflow_dispatch'")
    # the action asks for what is built
    asked = re.findall(r"echo (\S+) ;;", re.search(r"^target\(\).*?^}", (ROOT / "action.sh").read_text(), re.M | re.S)[0])
    assert sorted(asked) == sorted(target + suffix for target, suffix in TARGETS), (asked, TARGETS)


def drafting():
    script = step("draft", "Draft the release")
    machine = Machine()
    (machine.work / "assets").mkdir()
    for name in names():
        (machine.work / "assets" / name).write_text(name)
    done = machine.run(script, IS_DRAFT="true")
    assert done.returncode == 0, done.stderr
    assert "release delete v0.7.0" in machine.asked() and "release create v0.7.0" in machine.asked(), machine.asked()
    summary = (machine.folder / "summary").read_text()
    for name in names():
        assert f"    {hashlib.sha256(name.encode()).hexdigest()}  {name}\n" in summary, summary
    # a release that is out is not replaced
    machine = Machine()
    (machine.work / "assets").mkdir()
    (machine.work / "assets" / names()[0]).write_text("alone")
    done = machine.run(script, IS_DRAFT="false")
    assert done.returncode != 0 and "delete" not in machine.asked(), (done, machine.asked())


def verifying():
    against_commit, against_sums = step("verify", "Hold the commit"), step("verify", "Hold the binaries")
    machine = Machine()
    sums = "# a comment\n"
    for name in names():
        (machine.folder / "assets" / name).write_text(name)
        sums += f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n"

    def git(*arguments):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        return subprocess.run(["git", *identity, *arguments], cwd=machine.work, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    (machine.work / "checksums.txt").write_text("# a comment\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "built")
    built = git("rev-parse", "HEAD")
    (machine.work / "checksums.txt").write_text(sums)
    git("commit", "--quiet", "-am", "checksums")
    assert machine.run(against_commit, BUILT=built).returncode == 0
    assert machine.run(against_commit, BUILT="b" * 40).returncode == 1
    done = machine.run(against_sums)
    assert done.returncode == 0 and machine.asked().count("attestation verify") == len(TARGETS), (done, machine.asked())
    shutil.rmtree(machine.work / "assets")
    # attested by nobody, another binary, a line too few, a commit that changes more
    assert machine.run(against_sums, GH_FAILS="attestation verify").returncode != 0
    shutil.rmtree(machine.work / "assets")
    (machine.folder / "assets" / names()[1]).write_text("other")
    assert machine.run(against_sums).returncode != 0
    shutil.rmtree(machine.work / "assets")
    (machine.folder / "assets" / names()[1]).write_text(names()[1])
    (machine.work / "checksums.txt").write_text(sums.replace(names()[2], "else"))
    assert machine.run(against_sums).returncode != 0
    (machine.work / "checksums.txt").write_text(sums)
    (machine.work / "more").write_text("x")
    git("add", ".")
    git("commit", "--quiet", "--amend", "-m", "more")
    assert machine.run(against_commit, BUILT=built).returncode == 1


def publishing():
    script = step("publish", "Publish the draft")
    machine = Machine()
    assert machine.run(script).returncode == 0
    assert "release edit v0.7.0" in machine.asked() and "git/refs/tags/v1 -f sha=" in machine.asked(), machine.asked()
    # the first one makes the tag
    machine = Machine()
    assert machine.run(script, GH_FAILS="--method PATCH").returncode == 0
    assert "ref=refs/tags/v1" in machine.asked(), machine.asked()
    machine = Machine()
    assert machine.run(script, VERSION="2.1.0").returncode == 0 and "git/refs/tags/v2 " in machine.asked(), machine.asked()


def pages():
    """Every job has a line in docs/releasing.md."""
    text = (ROOT / "docs/releasing.md").read_text()
    for job in ["verify", "crate", "python", "publish"]:
        assert f"`{JOBS[job]['name']}`" in text, JOBS[job]["name"]
    assert f"builds {['five', 'six', 'seven'][len(TARGETS) - 5]} binaries" in text


for scenario in [order, drafting, verifying, publishing, pages]:
    scenario()
    print(f"action: release {scenario.__name__}: ok", flush=True)
