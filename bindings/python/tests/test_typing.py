"""The stub of the native half says what is there."""

import subprocess
import sys

import pytest

pytest.importorskip("mypy")


def test_the_stub_is_that_of_the_module(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "toolreplay._native"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
