#!/bin/bash
# Drives real clients through the recording proxy against a model stand-in, all on loopback.
# usage: run.sh BINARY [FOLDER]
# FOLDER keeps the installed clients for the next run; without it they go with a temporary folder.
set -euo pipefail
binary=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -ge 2 ]; then
    mkdir -p "$2"
    folder=$(realpath "$2")
else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi

if ! cmp -s "$here/requirements.txt" "$folder/requirements.txt"; then
    python3 -m venv "$folder/venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$folder/requirements.txt"
fi
if ! cmp -s "$here/package.json" "$folder/installed.json"; then
    cp "$here/package.json" "$folder/package.json"
    (cd "$folder" && npm install --silent --no-audit --no-fund)
    cp "$here/package.json" "$folder/installed.json"
fi
export NO_PROXY=127.0.0.1,localhost no_proxy=127.0.0.1,localhost
"$folder/venv/bin/python" "$here/check.py" "$binary" "$folder"
"$folder/venv/bin/python" "$here/damaged.py" "$binary" "$folder"
