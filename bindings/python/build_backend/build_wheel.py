"""Builds the wheel: first the `toolreplay` command, then the module, by maturin, with the command beside it.

`TOOLREPLAY_BUILD_PROFILE=dev` builds both without optimisation, `CARGO_BUILD_TARGET` both for another target.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import maturin

# beside pyproject.toml, which a source distribution has at its top, and a checkout in bindings/python
_HERE = pathlib.Path(__file__).resolve().parent.parent
_ROOT = _HERE if (_HERE / "bindings" / "python").is_dir() else _HERE.parent.parent
_DATA = _HERE / "target" / "wheel-data"


def _command(profile):
    """Builds the command and puts it where maturin takes scripts from."""
    if not (_ROOT / "src" / "bin" / "toolreplay").is_dir():
        raise SystemExit("the wheel is built from a checkout of the repository or a source distribution, not from a part of it")
    cargo = os.environ.get("CARGO", "cargo")
    manifest = str(_ROOT / "Cargo.toml")
    call = [cargo, "build", "--locked", "--manifest-path", manifest, "--bin", "toolreplay", "--profile", profile]
    call += ["--message-format", "json-render-diagnostics"]
    printed = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True).stdout
    built = [json.loads(line).get("executable") for line in printed.splitlines() if line.startswith("{")]
    executable = [path for path in built if path][-1]
    scripts = _DATA / "scripts"
    shutil.rmtree(_DATA, ignore_errors=True)
    scripts.mkdir(parents=True)
    shutil.copy2(executable, scripts / pathlib.Path(executable).name)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    profile = os.environ.get("TOOLREPLAY_BUILD_PROFILE", "release")
    print(f"building the command, profile {profile}", file=sys.stderr)
    _command(profile)
    if "MATURIN_PEP517_ARGS" not in os.environ:
        os.environ["MATURIN_PEP517_ARGS"] = f"--locked --profile {profile}"
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


build_sdist = maturin.build_sdist
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
