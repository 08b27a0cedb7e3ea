#!/usr/bin/env bash
# The steps of the GitHub Action: action.sh binary | build | run | not-uploaded | not-attested | verdict
#
# What the action is told comes in environment variables and reaches the binary as arguments, user paths behind `--`.
# What a run found out comes from the binary, which also makes it safe to print; nothing is judged or parsed here.
# Runs on bash 3.2.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
checksums=${TOOLREPLAY_CHECKSUMS:-$here/checksums.txt}

# A text as the message of a workflow command, on one line, without what a runner takes for another one.
escaped() {
    local text=$1
    text=${text//%/%25}
    text=${text//$'\r'/%0D}
    text=${text//$'\n'/%0A}
    printf '%s' "${text//##\[/##\\[}"
}

# Ends a step that cannot do what it is asked.
die() {
    # some of what calls this is a substitution; the runner reads standard error too
    printf '::error title=toolreplay could not run::%s\n' "$(escaped "$1")" >&2
    exit 2
}

output() {
    case $2 in
    *$'\n'* | *$'\r'*) die "the value for the output '$1' holds a line end" ;;
    esac
    printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"
}

# An input that is true or false.
enabled() {
    case $2 in
    true | false) [ "$2" = true ] ;;
    *) die "the input '$1' must be true or false, not '$2'" ;;
    esac
}

sha256() {
    if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1
}

own_version() {
    sed -n 's/^version = "\(.*\)"$/\1/p' "$here/Cargo.toml" | head -n 1
}

# The name of the release for this machine, if there is one.
target() {
    case "${RUNNER_OS:-}-${RUNNER_ARCH:-}" in
    Linux-X64) echo x86_64-unknown-linux-musl ;;
    Linux-ARM64) echo aarch64-unknown-linux-musl ;;
    macOS-X64) echo x86_64-apple-darwin ;;
    macOS-ARM64) echo aarch64-apple-darwin ;;
    # ARM64 runs it too
    Windows-X64 | Windows-ARM64) echo x86_64-pc-windows-msvc.exe ;;
    esac
}

# Settles which binary is used: the one that is named, a release whose checksum stands in this repository, or a build.
find_binary() {
    if [ -n "$IN_BINARY" ]; then
        [ -f "$IN_BINARY" ] || die "the input 'binary' names '$IN_BINARY', and there is no such file"
        output path "$(cd "$(dirname -- "$IN_BINARY")" && folder)/$(basename -- "$IN_BINARY")"
        return
    fi
    local own version asset sum file
    own=$(own_version)
    version=${IN_VERSION#v}
    version=${version:-$own}
    case $version in
    *[!0-9A-Za-z.+-]*) die "the input 'version' is '$version', and that is no version" ;;
    esac
    asset="toolreplay-$version-$(target)"
    sum=
    if [ -f "$checksums" ]; then
        sum=$(awk -v name="$asset" '$2 == name { print $1 }' "$checksums")
    fi
    if [ -n "$sum" ] && [ -n "${ACTION_REPOSITORY:-}" ]; then
        file="$RUNNER_TEMP/toolreplay-bin/$asset"
        mkdir -p "$(dirname "$file")"
        echo "toolreplay: downloading $asset"
        curl --fail --silent --show-error --location --proto '=https' --retry 3 --output "$file" \
            "$GITHUB_SERVER_URL/$ACTION_REPOSITORY/releases/download/v$version/$asset" ||
            die "$asset could not be downloaded; the input 'binary' can name one that is already there"
        if [ "$(sha256 <"$file")" != "$sum" ]; then
            rm -f "$file"
            die "$asset is not the file whose SHA-256 stands in checksums.txt; it was deleted"
        fi
        chmod +x "$file"
        output path "$file"
        return
    fi
    [ "$version" = "$own" ] ||
        die "this revision of the action knows no toolreplay $version for this machine, only its own $own; pin another revision of the action"
    command -v cargo >/dev/null ||
        die "there is no release of toolreplay $version for this machine, and no cargo to build it; the input 'binary' can name one"
    local build="$RUNNER_TEMP/toolreplay-build" suffix=
    [ "${RUNNER_OS:-}" = Windows ] && suffix=.exe
    output build-folder "$build"
    output build-key "toolreplay-${RUNNER_OS:-}-${RUNNER_ARCH:-}-$(source_digest)"
    output path "$build/bin/toolreplay$suffix"
}

# Stands for everything that goes into a build.
source_digest() {
    (
        cd "$here"
        find Cargo.toml Cargo.lock src docs/rules -type f | LC_ALL=C sort | while IFS= read -r file; do
            printf '%s\n' "$file"
            cat "$file"
        done
        cargo --version
    ) | sha256
}

build() {
    if [ -x "$BUILD_FOLDER/bin/toolreplay" ] || [ -x "$BUILD_FOLDER/bin/toolreplay.exe" ]; then
        echo "toolreplay: built before"
        return
    fi
    CARGO_TARGET_DIR="$BUILD_FOLDER/target" cargo install --quiet --locked --no-default-features --features cli \
        --path "$GITHUB_ACTION_PATH" --root "$BUILD_FOLDER" || die "toolreplay could not be built"
    # the binary is all that the next run needs
    rm -rf "$BUILD_FOLDER/target"
}

# The revision to compare with, by the event that started the workflow; nothing where there is none.
detected_base() {
    local base=
    git rev-parse --git-dir >/dev/null 2>&1 || return 0
    case $EVENT_NAME in
    pull_request)
        if [ "$(git rev-parse HEAD)" = "$EVENT_SHA" ]; then
            # GitHub's merge of the pull request into its base, which is the first parent
            printf '%s' 'HEAD^1'
            return
        fi
        base=$EVENT_PULL_BASE
        ;;
    pull_request_target) base=$EVENT_PULL_BASE ;;
    merge_group) base=$EVENT_GROUP_BASE ;;
    push)
        # a new branch has no base, and what a force push dropped may be in no clone
        case $EVENT_BEFORE in
        *[!0]*)
            if git cat-file -e "$EVENT_BEFORE^{commit}" 2>/dev/null; then printf '%s' "$EVENT_BEFORE"; fi
            ;;
        esac
        return
        ;;
    *) return ;;
    esac
    # a branch that is behind its base has not undone what came since
    git merge-base "$base" HEAD 2>/dev/null || printf '%s' "$base"
}

# The working directory, on Windows as programs other than this shell know it.
folder() {
    pwd -W 2>/dev/null || pwd
}

# A path of a report as an absolute one: later steps stand in other folders.
absolute() {
    case $2 in
    *$'\n'* | *$'\r'*) die "the input '$1' holds a line end" ;;
    /* | [A-Za-z]:[/\\]*) printf '%s' "$2" ;;
    *) printf '%s/%s' "$(folder)" "$2" ;;
    esac
}

run() {
    cd -- "$IN_WORKING_DIRECTORY" || die "there is no folder '$IN_WORKING_DIRECTORY' (input 'working-directory')"
    local work
    work=$(mktemp -d "$RUNNER_TEMP/toolreplay.XXXXXX")
    local arguments=() paths=() line
    while IFS= read -r line || [ -n "$line" ]; do
        line=${line%$'\r'}
        # '-' would be standard input
        if [ "$line" = - ]; then line=./-; fi
        if [ -n "$line" ]; then paths+=("$line"); fi
    done <<<"$IN_PATHS"

    case $IN_MODE in
    audit | verify)
        arguments=(audit)
        if [ "$IN_MODE" = verify ]; then arguments+=(--seals-only); fi
        [ -z "$IN_SEAL_OUTPUT" ] || die "the input 'seal-output' means something in mode 'seal' only"
        [ -z "${TOOLREPLAY_KEY:-}" ] || die "the input 'sign-key' means something in mode 'seal' only"
        unset TOOLREPLAY_KEY
        if [ -n "${IN_TRUST:-}" ]; then arguments+=("--trust=$IN_TRUST"); fi
        if enabled require-signature "${IN_REQUIRE_SIGNATURE:-false}"; then arguments+=(--require-signature); fi
        if [ -n "$IN_SCOPE" ]; then arguments+=("--scope=$IN_SCOPE"); fi
        if [ -n "$IN_CONFIG" ]; then arguments+=("--config=$IN_CONFIG"); fi
        case $IN_FAIL_ON in
        note | warning | error) arguments+=("--fail-on=$IN_FAIL_ON") ;;
        "") ;;
        *) die "the input 'fail-on' must be note, warning or error, not '$IN_FAIL_ON'" ;;
        esac
        local base=$IN_BASE
        if [ "$base" = auto ]; then
            base=$(detected_base)
            if [ -z "$base" ] && [ "$EVENT_NAME" = push ]; then
                echo "toolreplay: compared with no base: the commit before this push is not in the clone, or there was none"
            fi
        fi
        if [ -n "$base" ] && [ "$base" != none ]; then arguments+=("--base=$base"); fi
        ;;
    seal)
        [ "${#paths[@]}" -gt 0 ] || die "mode 'seal' needs the input 'paths'"
        [ -z "$IN_SCOPE$IN_CONFIG$IN_FAIL_ON" ] ||
            die "the inputs 'scope', 'config' and 'fail-on' mean nothing in mode 'seal'"
        case $IN_BASE in
        auto | none | "") ;;
        *) die "the input 'base' means nothing in mode 'seal'" ;;
        esac
        [ -z "${IN_TRUST:-}" ] && [ "${IN_REQUIRE_SIGNATURE:-false}" = false ] ||
            die "the inputs 'trust' and 'require-signature' mean nothing in mode 'seal'"
        arguments=(seal-all)
        if [ -n "$IN_SEAL_OUTPUT" ]; then arguments+=("--into=$IN_SEAL_OUTPUT"); fi
        ;;
    *) die "the input 'mode' must be audit, verify or seal, not '$IN_MODE'" ;;
    esac
    if [ -n "$IN_FORMAT" ]; then arguments+=("--from=$IN_FORMAT"); fi
    if enabled allow-empty "$IN_ALLOW_EMPTY"; then arguments+=(--allow-empty); fi

    local sarif=$IN_SARIF_FILE upload=false
    if enabled upload-sarif "$IN_UPLOAD_SARIF"; then
        upload=true
        sarif=${sarif:-$work/toolreplay.sarif}
    fi
    local attest=false
    if enabled attest "${IN_ATTEST:-false}"; then
        attest=true
        arguments+=("--report=attestation=$work/predicate.json" "--report=subjects=$work/subjects")
    fi
    arguments+=(--color=never "--report=outputs=$work/outputs")
    if enabled summary "$IN_SUMMARY"; then arguments+=("--report=markdown=$work/summary"); fi
    if enabled annotations "$IN_ANNOTATIONS"; then arguments+=("--report=github=$work/annotations"); fi
    if [ -n "$sarif" ]; then
        sarif=$(absolute sarif-file "$sarif")
        arguments+=("--report=sarif=$sarif")
    fi
    local junit=$IN_JUNIT_FILE json=$IN_JSON_FILE
    if [ -n "$junit" ]; then
        junit=$(absolute junit-file "$junit")
        arguments+=("--report=junit=$junit")
    fi
    if [ -n "$json" ]; then
        json=$(absolute json-file "$json")
        arguments+=("--report=json=$json")
    fi
    # the folders of reports may be new
    for line in "$sarif" "$junit" "$json"; do
        if [ -n "$line" ]; then mkdir -p -- "$(dirname -- "$line")"; fi
    done

    local code=0
    arguments+=(--)
    if [ "${#paths[@]}" -gt 0 ]; then arguments+=("${paths[@]}"); fi
    # on Windows: what looks like a path to the shell is passed as it is
    MSYS2_ARG_CONV_EXCL='*' "$BINARY" "${arguments[@]}" >"$work/stdout" 2>"$work/stderr" || code=$?

    # the binary makes what it prints inert; should it fail to, the runner does not listen here
    local token
    token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    printf '::stop-commands::%s\n' "$token"
    cat "$work/stdout" "$work/stderr"
    printf '::%s::\n' "$token"
    if [ -f "$work/annotations" ]; then grep '^::' "$work/annotations" || true; fi

    if [ -f "$work/outputs" ]; then
        cat "$work/outputs" >>"$GITHUB_OUTPUT"
        if [ -n "$sarif" ]; then output sarif-file "$sarif"; fi
        if [ -n "$junit" ]; then output junit-file "$junit"; fi
        if [ -n "$json" ]; then output json-file "$json"; fi
        if [ "$upload" = true ] && [ -s "$sarif" ]; then output upload true; fi
        # the first line is no subject
        if [ "$attest" = true ] && [ "$(wc -l <"$work/subjects")" -gt 1 ]; then
            output attest true
            output subjects "$work/subjects"
            output predicate "$work/predicate.json"
        fi
        if [ -f "$work/summary" ]; then cat "$work/summary" >>"$GITHUB_STEP_SUMMARY"; fi
    else
        # it did not come to reports: what it said is all there is
        output verdict failed
        printf '::error title=toolreplay could not run::%s\n' "$(escaped "$(head -n 20 "$work/stderr")")"
        if [ "$IN_SUMMARY" = true ]; then
            printf '## toolreplay could not run\n\n%s\n' "$(head -n 20 "$work/stderr" | sed 's/^/    /')" >>"$GITHUB_STEP_SUMMARY"
        fi
        if [ "$code" -eq 0 ]; then code=2; fi
    fi
    output exit-code "$code"
}

not_uploaded() {
    local what="The SARIF report was not uploaded to code scanning. That needs the permission 'security-events: write', which pull requests from forks do not get, and a repository with code scanning. The verdict does not depend on it."
    printf '::notice title=toolreplay::%s\n' "$what"
    printf '\n%s\n' "$what" >>"$GITHUB_STEP_SUMMARY"
}

not_attested() {
    local what="What was audited was not attested. That needs the permissions 'id-token: write' and 'attestations: write', which pull requests from forks do not get, and a repository with attestations. The verdict does not depend on it."
    printf '::notice title=toolreplay::%s\n' "$what"
    printf '\n%s\n' "$what" >>"$GITHUB_STEP_SUMMARY"
}

verdict() {
    case $EXIT_CODE in
    0) echo "toolreplay: passed" ;;
    1)
        echo "toolreplay: failed: $FINDINGS finding(s), at least one of a level that fails"
        exit 1
        ;;
    *)
        echo "toolreplay: could not judge everything ($VERDICT), so this is no pass; the log of the run says why"
        exit 2
        ;;
    esac
}

case ${1:-} in
binary) find_binary ;;
build) build ;;
run) run ;;
not-uploaded) not_uploaded ;;
not-attested) not_attested ;;
verdict) verdict ;;
*) die "action.sh has no step '${1:-}'" ;;
esac
