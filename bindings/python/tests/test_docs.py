"""docs/python.md does what it shows: its blocks run, in order, in one folder."""

import contextlib
import io
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "python.md"
APP = "def search(query):\n    return [\"result for \" + query]\n\ndef main(task):\n    return search(task)\n"


def blocks():
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_manual(tmp_path, monkeypatch, recorded_tools):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("session-dirty.jsonl", "session-clean.jsonl", "scope.json"):
        shutil.copy(ROOT / "samples" / name, name)
    pathlib.Path("app.py").write_text(APP)
    pathlib.Path("input.json").write_text('{"task": "close ticket 7"}\n')
    space, printed, ran = {"__name__": "manual"}, "", []
    for language, text in blocks():
        ran.append(language)
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, str(PAGE), "exec"), space)
            printed = out.getvalue()
        elif language == "text":
            assert printed == text
        elif language == "console":
            for step in text.split("$ ")[1:]:
                command, _, expected = step.partition("\n")
                done = subprocess.run(
                    ["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
                )
                assert done.stdout.rstrip() == expected.rstrip(), command
    space["test_agent_stays_in_scope"](recorded_tools)
    sys.modules.pop("app")
    assert ran.count("python") >= 6 and "text" in ran and "console" in ran
