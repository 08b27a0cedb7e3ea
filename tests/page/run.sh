#!/usr/bin/env bash
# Looks at pages in a real browser without a window: run.sh BINARY WORK
# WORK is a folder for what is installed (node_modules) and written (pages, pictures). The browser is Debian's Chromium, or
# the one that CHROMIUM names. Where no browser can be had it says so and checks nothing.
# --picture behind these makes the picture of the README anew, --bench measures how large pages are and how fast they open.
set -euo pipefail

binary=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

find_browser() {
    local name
    for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
        [ -n "$name" ] && command -v "$name" && return 0
    done
    return 1
}

browser=$(find_browser) || {
    if command -v apt-get >/dev/null; then
        sudo=
        [ "$(id -u)" -eq 0 ] || sudo="sudo -n"
        DEBIAN_FRONTEND=noninteractive $sudo apt-get update -qq >/dev/null 2>&1 || true
        DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core \
            >/dev/null 2>&1 || true
    fi
    browser=$(find_browser) || browser=
}
if [ -z "$browser" ]; then
    echo "NOTICE: no Chromium can be had here; the page was looked at by no browser"
    exit 0
fi
if ! command -v npm >/dev/null; then
    echo "NOTICE: npm is missing, which brings what drives the browser; the page was looked at by no browser"
    exit 0
fi
if ! cmp -s "$here/package.json" "$work/installed.json"; then
    cp "$here/package.json" "$work/package.json"
    (cd "$work" && npm install --silent --no-audit --no-fund)
    cp "$here/package.json" "$work/installed.json"
fi
# the modules are found beside the script
cp "$here"/*.mjs "$work/"
CHROMIUM=$browser node "$work/check.mjs" "$binary" "$work" "${3:-}"
