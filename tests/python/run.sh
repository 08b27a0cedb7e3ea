#!/usr/bin/env bash
# The Python wheel as a user gets it: `bash tests/python/run.sh WORKDIR`. Builds it, installs it into a fresh environment
# and runs its tests there. PROFILE=release builds it as it is published. CREWAI=1 tests the adapter of CrewAI as well, which
# brings more than a hundred packages, in an environment of its own.
set -euo pipefail
work=${1:?usage: run.sh WORKDIR}
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$work"
work=$(cd "$work" && pwd)
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    echo "NOTICE: $python is older than 3.10; the Python module was not tested"
    exit 0
}
[ -x "$work/build/bin/python" ] || "$python" -m venv "$work/build"
"$work/build/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
rm -rf "$work/dist" "$work/fresh"
PATH="$work/build/bin:$PATH" TOOLREPLAY_BUILD_PROFILE=${PROFILE:-dev} "$work/build/bin/pip" wheel \
    --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$work/dist" "$root/bindings/python"

"$python" -m venv "$work/fresh"
"$work/fresh/bin/pip" install --quiet --disable-pip-version-check "$work"/dist/toolreplay-*.whl \
    -r "$root/tests/python/requirements.txt"
java=${JAVA_HOME:+$JAVA_HOME/bin/}java
"$java" -version 2>&1 | grep -Eq 'version "(1[7-9]|[2-9][0-9])' ||
    echo "NOTICE: Java 17 or later is missing; no audit was run in Spark"
# from elsewhere, so that only what is installed can be imported
cd "$work"
PATH="$work/fresh/bin:$PATH" "$work/fresh/bin/python" -m pytest --quiet -p no:cacheprovider \
    --rootdir "$root/bindings/python" "$root/bindings/python/tests" ${PYTEST_ARGS:-}

if [ -n "${CREWAI:-}" ]; then
    rm -rf "$work/crewai"
    "$python" -m venv "$work/crewai"
    "$work/crewai/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
        "$work"/dist/toolreplay-*.whl 'crewai>=1.15,<2' pytest
    "$work/crewai/bin/python" -m pytest --quiet -p no:cacheprovider --rootdir "$root/bindings/python" \
        "$root/bindings/python/tests/test_adapters_crewai.py"
fi
