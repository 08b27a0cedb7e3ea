#!/usr/bin/env bash
# Holds the reports of the hostile sample to other people's validators: run.sh BINARY WORK
# WORK is a folder for what is installed (a Python environment, node_modules) and written.
set -euo pipefail

binary=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

[ -x "$work/venv/bin/check-jsonschema" ] || {
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet check-jsonschema==0.39.0 junitparser==5.0.3 lxml==6.1.3
}
"$work/venv/bin/python" -c "import cmarkgfm" 2>/dev/null || "$work/venv/bin/pip" install --quiet cmarkgfm==2025.10.22
[ -d "$work/node_modules/markdown-it" ] ||
    npm install --silent --no-fund --no-audit --prefix "$work" markdown-it@15.0.3
multitool="$work/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool"
[ -e "$multitool" ] || npm install --silent --no-fund --no-audit --prefix "$work" @microsoft/sarif-multitool@5.7.0
chmod u+x "$multitool"

sample=samples/report/hostile.jsonl
report() {
    local format=$1 output=$2
    shift 2
    local code=0
    "$binary" audit --no-config --format "$format" --output "$output" "$@" || code=$?
    [ "$code" -eq 1 ] || { echo "audit $*: exit code $code, expected 1" >&2; exit 1; }
}

for case in hostile clean-and-broken; do
    if [ "$case" = hostile ]; then
        inputs=("$sample" --scope samples/report/hostile.scope.json)
    else
        inputs=(samples/session-dirty.jsonl samples/rules/broken-link --scope samples/scope.json)
    fi
    report sarif "$work/$case.sarif" "${inputs[@]}"
    report junit "$work/$case.xml" "${inputs[@]}"
    report json "$work/$case.json" "${inputs[@]}"

    echo "validators: $case: JSON by its published schema"
    "$work/venv/bin/check-jsonschema" --schemafile schemas/report.json "$work/$case.json"

    echo "validators: $case: SARIF by the 2.1.0 schema"
    schema=$(cargo metadata --format-version 1 --locked | python3 -c '
import json, pathlib, sys
packages = json.load(sys.stdin)["packages"]
manifest = next(package["manifest_path"] for package in packages if package["name"] == "serde-sarif")
print(pathlib.Path(manifest).parent / "src" / "schema.json")')
    "$work/venv/bin/check-jsonschema" --regex-variant nonunicode --schemafile "$schema" "$work/$case.sarif"

    echo "validators: $case: SARIF by Microsoft's multitool with the rules of GitHub"
    "$multitool" export-validation-config "$work/rules.xml" >"$work/multitool.log" 2>&1
    python3 - "$work/rules.xml" <<'PYTHON'
import re, sys
text = open(sys.argv[1], encoding="utf-8-sig").read()
# the rules of GitHub are off unless they are switched on
text, count = re.subn(r'(Key="GH\d+\.[^"]+">\s*<Property Key="RuleEnabled" Value=)"Default"', r'\1"Error"', text)
assert count >= 7, count
open(sys.argv[1], "w", encoding="utf-8").write(text)
PYTHON
    rm -f "$work/$case.validation.sarif"
    "$multitool" validate "$work/$case.sarif" --rule-kind 'Sarif;Ghas' -c "$work/rules.xml" \
        -o "$work/$case.validation.sarif" --log ForceOverwrite --level 'Error;Warning' >>"$work/multitool.log" 2>&1
    # it exits with 0 whatever it finds
    python3 - "$work/$case.validation.sarif" <<'PYTHON'
import json, sys
results = json.load(open(sys.argv[1], encoding="utf-8-sig"))["runs"][0].get("results", [])
faults = [(result["ruleId"], result["message"]) for result in results if result.get("level", "warning") != "note"]
for fault in faults[:10]:
    print(*fault, file=sys.stderr)
sys.exit(bool(faults))
PYTHON

    echo "validators: $case: JUnit by junitparser and by the rules of its readers"
    "$work/venv/bin/python" tests/validators/junit_rules.py "$work/$case.xml"
    "$work/venv/bin/python" - "$work/$case.xml" "$work/$case.json" <<'PYTHON'
import json, sys
from junitparser import JUnitXml
suites = JUnitXml.fromfile(sys.argv[1])
report = json.load(open(sys.argv[2]))
cases = [case for suite in suites for case in suite]
failed = [case for case in cases if case.result]
assert len(failed) == len(report["findings"]), (len(failed), len(report["findings"]))
assert len(list(suites)) == len(report["files"])
PYTHON
done
echo "validators: Markdown of hostile names by cmark-gfm and markdown-it"
report markdown "$work/names.md" samples/report/names.jsonl
"$work/venv/bin/python" tests/validators/markdown_names.py "$work/names.md" samples/report/names.jsonl "$work"
echo "validators: all reports are accepted"
