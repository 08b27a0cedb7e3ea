"""docs/python.md does what it shows: its blocks run, in order, in one folder."""

import contextlib
import importlib.util
import io
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import sys

import agents
import pytest
from agents.testing import ScriptedModel, assistant_message, function_call
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "python.md"
# nothing leaves the machine, and Ray leaves no token in the home folder
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
APP = "def search(query):\n    return [\"result for \" + query]\n\ndef main(task):\n    return search(task)\n"


def blocks():
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def models():
    """Models that ask for one tool, for the frameworks that have none that is made so easily."""

    class ChatModel(GenericFakeChatModel):
        def bind_tools(self, tools, **more):
            return self

        def _get_ls_params(self, **more):
            return {"ls_model_name": "support-model"}

    query = {"query": "close ticket 7"}
    call = AIMessage("", tool_calls=[{"name": "search_docs", "args": query, "id": "call-1", "type": "tool_call"}])
    turns = [[function_call("search_docs", query, call_id="call-1")], [assistant_message("done")]]
    return {"sdk_model": ScriptedModel(turns), "chat_model": ChatModel(messages=iter([call, AIMessage("done")]))}


def defined(*functions):
    """What the blocks of the page define that define these functions."""
    space = {"__name__": "manual"}
    for language, text in blocks():
        if language == "python" and any(f"def {function}(" in text for function in functions):
            exec(compile(text, str(PAGE), "exec"), space)
    return space


def has_spark():
    """Whether PySpark is here, and a Java that it runs on."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(pathlib.Path(home, "bin", "java") if home else "java")
    if not importlib.util.find_spec("pyspark") or not java:
        return False
    version = subprocess.run([java, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    found = re.search(r'version "(\d+)', version)
    return bool(found) and int(found[1]) >= 17


def has_ray():
    return bool(importlib.util.find_spec("ray"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.*")
def test_the_manual(tmp_path, monkeypatch, recorded_tools):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("session-dirty.jsonl", "session-clean.jsonl", "scope.json"):
        shutil.copy(ROOT / "samples" / name, name)
    pathlib.Path("runs").mkdir()
    for path in pathlib.Path().glob("session-*.jsonl"):
        shutil.copy(path, "runs")
    pathlib.Path("app.py").write_text(APP)
    pathlib.Path("input.json").write_text('{"task": "close ticket 7"}\n')
    space, printed, ran = {"__name__": "manual", **models()}, "", []
    for language, text in blocks():
        if ("from pyspark" in text and not has_spark()) or ("import ray" in text and not has_ray()):
            continue
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
    agents.set_trace_processors([])
    if "spark" in space:
        space["spark"].stop()
    if "ray" in space:
        space["ray"].shutdown()
    assert ran.count("python") >= 6 and "text" in ran and "console" in ran
