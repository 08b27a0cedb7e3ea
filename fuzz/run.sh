#!/usr/bin/env bash
# Runs every fuzz target: `bash fuzz/run.sh SECONDS [each]`, SECONDS for all of them together, or, with `each`, for each
# target and for each importer by itself. Corpora are kept below target/corpus and begin with samples/. What was executed
# is printed in the end; a crash ends the run.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
each=${2:-}
targets=(scanner sealed importer open policy scope protocol shell)
formats=()
if [ "$each" = each ]; then
    mapfile -t formats < <(sed -n 's/^ *id: "\([a-z-]*\)",$/\1/p' src/formats/vendors/*.rs)
    [ ${#formats[@]} -ge 20 ] || { echo "the importers' ids were not found" >&2; exit 1; }
else
    # what a minute is enough for; the nightly run has them all
    targets=(scanner sealed importer open policy)
    seconds=$((seconds / ${#targets[@]} > 0 ? seconds / ${#targets[@]} : 1))
fi
export RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=target/fuzz
# stable Rust with the sanitizer's flags unlocked
cargo fuzz build
total=0

# NAME, the target, the folders that its corpus begins with
fuzz() {
    local name=$1 target=$2 log
    shift 2
    mkdir -p "target/corpus/$name"
    log="target/corpus/$name.log"
    # no look for leaks: threads that are just ending look like some
    cargo fuzz run "$target" "target/corpus/$name" "$@" -- -max_total_time="$seconds" -max_len=16384 -rss_limit_mb=1024 \
        -verbosity=0 -print_final_stats=1 -detect_leaks=0 >"$log" 2>&1 || { tail -n 60 "$log" >&2; exit 1; }
    local executed
    executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    total=$((total + executed))
    printf '%-24s %12s executions\n' "$name" "$executed"
}

# every sample as it is, in one folder: the fuzzer does not look into folders of folders
seeds=target/corpus/seeds
rm -rf "$seeds"
mkdir -p "$seeds"/{imports,records,policies,commands,opened}
while IFS= read -r file; do
    flat=${file//\//_}
    case $file in
    *.expected.*) ;;
    samples/import/*) cp "$file" "$seeds/imports/$flat" && { printf 'x' && cat "$file"; } >"$seeds/opened/$flat" ;;
    *.toml | *scope*.json) cp "$file" "$seeds/policies/$flat" ;;
    *.jsonl) cp "$file" "$seeds/records/$flat" ;;
    esac
done < <(find samples -type f -size -64k)
printf '%s' 'cd a && git log -1 | head; sh -c "rm -rf $x" > out 2>&1' >"$seeds/commands/one"
printf '%s' 'for f in *.c; do [[ -f $f ]] && cat <<E "$f"; done' >"$seeds/commands/two"
printf '%s' 'find . -exec sed -n 1p {} + ; x=$(curl -s "$url") timeout 5 env A=1 b' >"$seeds/commands/three"
# replies and requests as the proxy's own tests have them
mkdir -p "$seeds/replies"
grep -rhoE '^\s*(data|event): .*|\{"(id|type|object)".*\}' src/trace/protocol/*_tests.rs 2>/dev/null | head -n 200 |
    split -l 4 - "$seeds/replies/" || true

fuzz scanner scanner "$seeds/records"
fuzz sealed sealed "$seeds/records"
fuzz importer importer "$seeds/imports"
for format in "${formats[@]}"; do
    FORMAT=$format fuzz "importer-$format" importer "$seeds/imports"
done
fuzz open open "$seeds/opened"
fuzz policy policy "$seeds/policies"
if [ "$each" = each ]; then
    fuzz scope scope "$seeds/policies"
    fuzz protocol protocol "$seeds/replies"
    fuzz shell shell "$seeds/commands"
fi
printf '%-24s %12s executions, %s seconds each\n' "all" "$total" "$seconds"
