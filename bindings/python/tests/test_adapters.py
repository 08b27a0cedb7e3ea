"""The adapters without their frameworks."""

import subprocess
import sys

import pytest

FRAMEWORKS = {
    "langchain": ("langchain_core", "pip install langchain-core"),
    "openai_agents": ("agents", "pip install openai-agents"),
    "mcp": ("mcp", "pip install mcp"),
    "claude_agent_sdk": ("claude_agent_sdk", "pip install claude-agent-sdk"),
    "pydantic_ai": ("pydantic_ai", "pip install 'pydantic-ai-slim>=2'"),
    "google_adk": ("google.adk", "pip install google-adk"),
    "strands": ("strands", "pip install 'strands-agents>=1.60'"),
    "llama_index": ("llama_index.core", "pip install llama-index-core"),
    "dspy": ("dspy", "pip install 'dspy>=3'"),
    "crewai": ("crewai", "pip install crewai"),
}


def run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("adapter", FRAMEWORKS)
def test_a_missing_framework_is_named(adapter):
    module, install = FRAMEWORKS[adapter]
    ran = run(f"import sys; sys.modules[{module!r}] = None; import toolreplay.adapters.{adapter}")
    assert ran.returncode == 1 and ran.stderr.splitlines()[-1].startswith("ImportError: ") and install in ran.stderr


def test_toolreplay_imports_no_framework():
    modules = sorted(module for module, _ in FRAMEWORKS.values())
    ran = run(f"import sys, toolreplay.tracing, toolreplay.adapters; assert not set({modules}) & set(sys.modules)")
    assert ran.returncode == 0, ran.stderr
