"""Seals that the action signs, and verdicts that it has attested: evidence.py BINARY WORK"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

from act import Repository, run, workflow
from scenarios import CLEAN, DIRTY, SCOPE, holds, machine, outputs, same, scene, seal


def keygen(name: str):
    """A private and a public key."""
    folder = machine.home / "keys"
    folder.mkdir(exist_ok=True)
    subprocess.run([machine.binary, "keygen", folder / name], check=True, capture_output=True)
    return (folder / f"{name}.key").read_text(), (folder / f"{name}.pub").read_text()


def signed(text: str, key: str):
    """A sealed transcript and its note."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=machine.home))
    (folder / "a.jsonl").write_text(text)
    environment = machine.environment() | {"TOOLREPLAY_KEY": key}
    arguments = [machine.binary, "seal", folder / "a.jsonl", "-o", folder / "a.sealed.jsonl"]
    subprocess.run(arguments, check=True, capture_output=True, env=environment)
    return (folder / "a.sealed.jsonl").read_text(), (folder / "a.sealed.jsonl.note").read_text()


def signing(secret, public):
    repository = Repository(machine)
    repository.write({"runs/a.jsonl": CLEAN})
    repository.commit("transcript")
    inputs = {"paths": "runs", "mode": "seal", "sign-key": secret, "binary": str(machine.binary)}
    keep = '      - run: cp runs/a.sealed.jsonl runs/a.sealed.jsonl.note "$RECORDS"\n'
    ran = run(repository, workflow(inputs, "push") + keep, "push", {})
    holds(ran.passed, "it passes", ran)
    folder, note = ran.records, ran.record("a.sealed.jsonl.note")
    holds(note.startswith("toolreplay/seal/v2\n4\n") and "\u2014 ci " in note, "the note", ran)
    holds(secret.rsplit("+", 1)[1].strip() not in ran.text, "the secret is not in the log", ran)
    (folder / "ci.pub").write_text(public)
    arguments = [machine.binary, "verify", "a.sealed.jsonl", "--trust", "ci.pub", "--require-signature"]
    subprocess.run(arguments, cwd=folder, check=True, capture_output=True)
    ran = scene({}, {"runs/a.jsonl": CLEAN}, {"sign-key": secret})
    holds(not ran.passed and "'sign-key' means something in mode 'seal' only" in ran.text, "an audit signs nothing", ran)
    ran = scene({}, {"runs/a.jsonl": CLEAN}, {"mode": "seal", "sign-key": secret[:30]})
    holds(not ran.passed and "TOOLREPLAY_KEY: " in ran.text, "half a key", ran)


def demanding(secret, public):
    base = {"trusted.keys": public}
    demands = {"trust": "trusted.keys", "require-signature": True}
    sealed, note = signed(CLEAN, secret)
    files = {"runs/a.jsonl": CLEAN, "runs/a.sealed.jsonl": sealed}
    ran = scene(base, files | {"runs/a.sealed.jsonl.note": note}, demands)
    holds(ran.passed, "a signed seal passes", ran)
    ran = scene(base, files, demands)
    same(ran.annotations[0][3], "toolreplay unsigned-seal", "annotation", ran)
    ran = scene(base, {"runs/a.jsonl": DIRTY, "runs/a.sealed.jsonl": seal(DIRTY), "runs/a.sealed.jsonl.note": note}, demands | {"fail-on": "error"})
    holds(any(found[3] == "toolreplay bad-signature" for found in ran.annotations), "another one's note", ran)
    # a pull request that brings its own key
    other_secret, other_public = keygen("other")
    sealed, note = signed(CLEAN, other_secret)
    brought = {"runs/a.jsonl": CLEAN, "runs/a.sealed.jsonl": sealed, "runs/a.sealed.jsonl.note": note, "trusted.keys": other_public}
    ran = scene(base, brought, demands)
    same({found[3] for found in ran.annotations}, {"toolreplay bad-signature", "toolreplay policy-changed"}, "annotations", ran)
    ran = scene({}, brought, demands)
    same({found[3] for found in ran.annotations}, {"toolreplay bad-signature", "toolreplay policy-changed"}, "no key in the base", ran)


def attesting():
    inputs = {"attest": True, "scope": "scope.json"}
    ran = scene({"scope.json": SCOPE}, {"runs/a.jsonl": CLEAN}, inputs)
    holds(ran.passed, "it passes", ran)
    digest = hashlib.sha256(CLEAN.encode()).hexdigest()
    same(ran.record("subjects").splitlines()[1:], [f"{digest}  runs/a.jsonl"], "subjects", ran)
    same(ran.record("predicate-type"), "https://in-toto.io/attestation/test-result/v0.1", "type", ran)
    predicate = json.loads(ran.record("predicate"))
    same(predicate["result"], "PASSED", "result", ran)
    scope = next(by for by in predicate["configuration"] if by["name"] == "scope.json")
    same(scope["digest"], {"sha256": hashlib.sha256(SCOPE.encode()).hexdigest()}, "scope", ran)
    ran = scene({"scope.json": SCOPE}, {"runs/a.jsonl": DIRTY}, inputs)
    holds(not ran.passed, "it fails", ran)
    same(json.loads(ran.record("predicate"))["failedTests"], ["permission-overreach", "redundant-call"], "failed", ran)
    # a fork's token may not: the verdict stands
    ran = scene({"scope.json": SCOPE}, {"runs/a.jsonl": CLEAN}, inputs, upload_status=1)
    holds(ran.passed and "was not attested" in ran.summary, "a notice and no failure", ran)
    outputs(ran, verdict="clean")
    ran = scene({}, {"runs/empty": ""}, {"attest": True, "allow-empty": True})
    same(ran.record("subjects"), None, "nothing to attest", ran)
    ran = scene({}, {"runs/a.jsonl": CLEAN}, {})
    same(ran.record("subjects"), None, "nobody asked", ran)


if __name__ == "__main__":
    keys = keygen("ci")
    for name, scenario in [("signing", lambda: signing(*keys)), ("demanding", lambda: demanding(*keys)), ("attesting", attesting)]:
        if sys.argv[3:] and name not in sys.argv[3:]:
            continue
        scenario()
        print(f"action: {name}: ok", flush=True)
