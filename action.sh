#!/usr/bin/env bash
# The steps of the GitHub Action: action.sh binary | build | run | not-uploaded | not-attested | comment | verdict
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

# A text on one line of a log: no character that a terminal or a runner takes for more than text.
printable() {
    local text=${1//[^[:print:]]/?}
    printf '%s' "${text//##\[/##\\[}"
}

# A paragraph of Markdown: words of ours, and a text as a code span.
in_markdown() {
    local text=${2//[^[:print:]]/?}
    text=${text//\`/\'}
    printf '\n%s %s%s%s\n' "$1" '`' "$text" '`'
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
    Windows-X64) echo x86_64-pc-windows-msvc.exe ;;
    Windows-ARM64) echo aarch64-pc-windows-msvc.exe ;;
    esac
}

# A path without links, as far as it is there.
real_path() {
    local path=$1 link steps=0
    while [ -L "$path" ] && [ "$steps" -lt 40 ]; do
        link=$(readlink -- "$path")
        case $link in
        /*) path=$link ;;
        *) path=$(dirname -- "$path")/$link ;;
        esac
        steps=$((steps + 1))
    done
    printf '%s/%s' "$(cd -- "$(dirname -- "$path")" && pwd -P)" "$(basename -- "$path")"
}

# The binary that is named. What lies in the workspace may come with the pull request that it is to judge, so it is used
# only if it is the file whose digest the workflow gives; and then a copy, which no later step can change.
named_binary() {
    [ -f "$IN_BINARY" ] || die "the input 'binary' names '$IN_BINARY', and there is no such file"
    local real workspace
    real=$(real_path "$IN_BINARY")
    workspace=$(cd -- "${GITHUB_WORKSPACE:-.}" && pwd -P)
    if [ -n "$IN_BINARY_SHA256" ]; then
        local copy="$RUNNER_TEMP/toolreplay-bin/named"
        [ "${RUNNER_OS:-}" = Windows ] && copy=$copy.exe
        mkdir -p "$(dirname "$copy")"
        cp -- "$real" "$copy"
        if [ "$(sha256 <"$copy")" != "$IN_BINARY_SHA256" ]; then
            rm -f "$copy"
            die "'$IN_BINARY' is not the file whose SHA-256 the input 'binary-sha256' gives"
        fi
        chmod +x "$copy"
        output path "$copy"
        return
    fi
    local named
    named=$(cd -- "$(dirname -- "$IN_BINARY")" && pwd)/$(basename -- "$IN_BINARY")
    case $real$'\n'$named in
    "$workspace"/* | *$'\n'"$workspace"/* | *$'\n'"${GITHUB_WORKSPACE:-$workspace}"/*)
        die "'$IN_BINARY' lies in the workspace, where a pull request can put a binary of its own; name one outside of it, or give its digest with the input 'binary-sha256'"
        ;;
    esac
    output path "$(cd "$(dirname -- "$IN_BINARY")" && folder)/$(basename -- "$IN_BINARY")"
}

# Settles which binary is used: the one that is named, a release whose checksum stands in this repository, or a build.
find_binary() {
    if [ -n "$IN_BINARY" ]; then
        named_binary
        return
    fi
    [ -z "$IN_BINARY_SHA256" ] || die "the input 'binary-sha256' means something with the input 'binary' only"
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
        if curl --fail --silent --show-error --location --proto '=https' --retry 3 --output "$file" \
            "$GITHUB_SERVER_URL/$ACTION_REPOSITORY/releases/download/v$version/$asset"; then
            if [ "$(sha256 <"$file")" != "$sum" ]; then
                rm -f "$file"
                die "$asset is not the file whose SHA-256 stands in checksums.txt; it was deleted"
            fi
            chmod +x "$file"
            output path "$file"
            return
        fi
        # a release that is tagged and not out yet: the sources are here, and they are what its binary is made of
        if [ "$version" != "$own" ] || ! command -v cargo >/dev/null; then
            die "$asset could not be downloaded; the input 'binary' can name one that is already there"
        fi
        echo "toolreplay: $asset could not be downloaded, so it is built from the sources of this revision"
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

# git where the workspace is, whoever owns it, for questions that run nothing of the repository's.
calm_git() {
    git -c safe.directory='*' -c core.fsmonitor=false -c core.hooksPath=/dev/null "$@"
}

# Whether the clone has a commit.
has_commit() {
    calm_git cat-file -e "$1^{commit}" 2>/dev/null
}

# Settles what the event is compared with: `base`, for policies `policy_base`, and `how` they were found. Where the event
# calls for a base and there is none, `no_base` says why and what to do.
base='' policy_base='' how='' no_base=''
detect_base() {
    case $EVENT_NAME in
    pull_request | pull_request_target | pull_request_review | pull_request_review_comment | merge_group | push) ;;
    *)
        how="the event '$EVENT_NAME' has no base"
        return
        ;;
    esac
    if ! command -v git >/dev/null; then
        no_base="there is no git on this runner to compare with; install it in the job's container, or say 'base: none'"
        return
    fi
    local head
    if ! calm_git rev-parse --git-dir >/dev/null 2>&1; then
        no_base="the workspace is no git repository: check the repository out with actions/checkout and git on the PATH, or say 'base: none'"
        return
    fi
    if ! head=$(calm_git rev-parse --verify --quiet 'HEAD^{commit}'); then
        no_base="nothing is checked out; use actions/checkout with 'fetch-depth: 0', or say 'base: none'"
        return
    fi
    case $EVENT_NAME in
    push) base_of_push "$head" ;;
    merge_group) base_of_branch "$head" "$EVENT_GROUP_BASE" "of the merge group" ;;
    pull_request_target)
        if [ "$head" = "$EVENT_SHA" ]; then
            no_base="the event 'pull_request_target' checks out the target branch, so there is nothing of the pull request to audit; use the event 'pull_request'"
            return
        fi
        base_of_branch "$head" "$EVENT_PULL_BASE" "of the pull request"
        ;;
    *)
        if [ "$head" = "$EVENT_SHA" ]; then
            # GitHub's merge of the pull request into its base, which is the first parent
            if has_commit "$head^1"; then
                base=$(calm_git rev-parse "$head^1")
                how="the first parent of the merge commit of the pull request"
            else
                no_base="the clone has not the parents of the merge commit; set 'fetch-depth: 2' or 0 in actions/checkout, or say 'base: none'"
            fi
            return
        fi
        base_of_branch "$head" "$EVENT_PULL_BASE" "of the pull request"
        ;;
    esac
}

# A branch that is behind the tip of its target has not undone what came since: seals are compared with the commit in which
# it left, policies with the tip.
base_of_branch() {
    local head=$1 tip=$2 whose=$3
    case $tip in
    '' | *[!0-9a-f]*)
        no_base="the event names no base; name one with the input 'base', or say 'base: none'"
        return
        ;;
    esac
    if ! has_commit "$tip" || ! base=$(calm_git merge-base "$tip" "$head" 2>/dev/null); then
        base=
        no_base="the base $whose ($tip) and where the branch left it are not in the clone; set 'fetch-depth: 0' in actions/checkout, or say 'base: none'"
    elif [ "$base" = "$head" ]; then
        base=
        no_base="what is checked out is in the base $whose already, so there is nothing of its own to compare; check out its head or its merge commit, or say 'base: none'"
    else
        policy_base=$tip
        how="the commit in which the branch left the base $whose"
    fi
}

base_of_push() {
    local head=$1 target="refs/remotes/origin/$EVENT_DEFAULT_BRANCH" fetch="set 'fetch-depth: 0' in actions/checkout"
    local on_default=false
    if [ -n "$EVENT_DEFAULT_BRANCH" ] && [ "$EVENT_REF" = "refs/heads/$EVENT_DEFAULT_BRANCH" ]; then on_default=true; fi
    case $EVENT_BEFORE in
    *[!0]*)
        if [ "$EVENT_FORCED" = true ]; then
            # what it dropped may be in no clone, and then nobody can say what it was
            if ! has_commit "$EVENT_BEFORE"; then
                no_base="a force push dropped the commit it replaced ($EVENT_BEFORE), which the clone has not; fetch it by its id, or compare with another one ('base'), or say 'base: none'"
                return
            fi
        elif ! has_commit "$EVENT_BEFORE"; then
            no_base="the commit before this push ($EVENT_BEFORE) is not in the clone; $fetch, or say 'base: none'"
            return
        fi
        base=$EVENT_BEFORE
        how="the commit before this push"
        ;;
    *)
        # a new branch: what it has of its own began where it left the default branch
        if [ "$on_default" = true ] || ! has_commit "$target"; then
            no_base="there was no commit before this push, and the clone has no default branch to compare with; $fetch, or name a base, or say 'base: none'"
            return
        fi
        if ! base=$(calm_git merge-base "$target" "$head" 2>/dev/null); then
            base=
            no_base="the new branch has no commit in common with the default branch; name a base, or say 'base: none'"
            return
        fi
        how="the commit in which the new branch left the default branch"
        ;;
    esac
    if [ "$on_default" = true ]; then return; fi
    # what an earlier push to the same branch said about its own policy does not count
    if [ -n "$EVENT_DEFAULT_BRANCH" ] && has_commit "$target"; then
        policy_base=$(calm_git rev-parse "$target^{commit}")
    else
        base='' how=''
        no_base="the clone has no default branch, whose policy this push is judged by; $fetch, or say 'base: none'"
    fi
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

# Refuses a folder that a link of the checkout leads to: it is not the one that the workflow means.
no_link() {
    local folder=$1 part
    case $folder in
    /* | [A-Za-z]:*) return ;;
    esac
    part=$folder
    while [ "$part" != . ] && [ "$part" != / ] && [ -n "$part" ]; do
        if [ -L "${part%/}" ]; then
            die "'$folder' (input 'working-directory') goes through a link, '${part%/}'; name the folder itself"
        fi
        part=$(dirname -- "$part")
    done
}

run() {
    no_link "$IN_WORKING_DIRECTORY"
    cd -- "$IN_WORKING_DIRECTORY" || die "there is no folder '$IN_WORKING_DIRECTORY' (input 'working-directory')"
    local work
    work=$(mktemp -d "$RUNNER_TEMP/toolreplay.XXXXXX")
    local arguments=() paths=() line compared=
    while IFS= read -r line || [ -n "$line" ]; do
        line=${line%$'\r'}
        # '-' would be standard input
        if [ "$line" = - ]; then line=./-; fi
        if [ -n "$line" ]; then paths+=("$line"); fi
    done <<<"$IN_PATHS"

    case $IN_MODE in
    audit | verify)
        # what git ignores may have been made by a step before, and a pull request writes .gitignore
        arguments=(audit --no-gitignore)
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
        case $IN_MIN_LEVEL in
        note | warning | error) arguments+=("--min-level=$IN_MIN_LEVEL") ;;
        "") ;;
        *) die "the input 'min-level' must be note, warning or error, not '$IN_MIN_LEVEL'" ;;
        esac
        while IFS= read -r line || [ -n "$line" ]; do
            line=${line%$'\r'}
            if [ -n "$line" ]; then arguments+=("--mutator=$line"); fi
        done <<<"$IN_MUTATORS"
        if enabled allow-loss "$IN_ALLOW_LOSS"; then arguments+=(--allow-loss); fi
        if enabled strict "${IN_STRICT:-false}"; then arguments+=(--strict); fi
        case $IN_BASE in
        auto) detect_base ;;
        none | "") how="the workflow says so" ;;
        *)
            base=$IN_BASE
            how="the workflow names it"
            ;;
        esac
        if [ -n "$base" ]; then
            arguments+=("--base=$base")
            # without a base nothing is known to be unchanged, and all is judged
            if enabled changed-only "${IN_CHANGED_ONLY:-false}"; then arguments+=(--changed-only); fi
            if [ -n "$policy_base" ]; then arguments+=("--policy-base=$policy_base"); fi
            # an id says more than a name that moves
            local id
            id=$(calm_git rev-parse --verify --quiet --end-of-options "$base^{commit}" 2>/dev/null || true)
            compared="compared with ${id:-$base} ($how)"
            output base "${id:-$base}"
            if [ -n "$policy_base" ]; then compared="$compared, judged by the policy of $policy_base"; fi
        elif [ -z "$no_base" ]; then
            if enabled changed-only "${IN_CHANGED_ONLY:-false}"; then
                echo "toolreplay: changed-only: there is no base, so every recording is judged"
            fi
            compared="compared with no base: $how"
            output base none
        fi
        ;;
    seal)
        [ "${#paths[@]}" -gt 0 ] || die "mode 'seal' needs the input 'paths'"
        [ -z "$IN_SCOPE$IN_CONFIG$IN_FAIL_ON$IN_MIN_LEVEL$IN_MUTATORS" ] ||
            die "the inputs 'scope', 'config', 'fail-on', 'min-level' and 'mutators' mean nothing in mode 'seal'"
        case $IN_BASE in
        auto | none | "") ;;
        *) die "the input 'base' means nothing in mode 'seal'" ;;
        esac
        [ -z "${IN_TRUST:-}" ] && [ "${IN_REQUIRE_SIGNATURE:-false}" = false ] ||
            die "the inputs 'trust' and 'require-signature' mean nothing in mode 'seal'"
        [ "${IN_STRICT:-false}" = false ] && [ "${IN_CHANGED_ONLY:-false}" = false ] ||
            die "the inputs 'strict' and 'changed-only' mean nothing in mode 'seal'"
        arguments=(seal-all)
        if enabled allow-loss "$IN_ALLOW_LOSS"; then arguments+=(--allow-loss); fi
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
    local comment=false
    if enabled comment "${IN_COMMENT:-false}"; then comment=true; fi
    if enabled summary "$IN_SUMMARY" || [ "$comment" = true ]; then
        arguments+=("--report=markdown=$work/summary")
        # places become links where this is the revision that the address names
        if [ "${arguments[0]}" = audit ] && [ -n "${SOURCE_URL:-}" ] &&
            [ "$(calm_git rev-parse --verify --quiet 'HEAD^{commit}' 2>/dev/null || true)" = "${SOURCE_URL##*/}" ]; then
            arguments+=("--source-url=$SOURCE_URL")
        fi
    fi
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
    local html=${IN_HTML_FILE:-}
    if [ -n "$html" ]; then
        html=$(absolute html-file "$html")
        arguments+=("--report=html=$html")
    fi
    # the folders of reports may be new
    for line in "$sarif" "$junit" "$json" "$html"; do
        if [ -n "$line" ]; then
            mkdir -p -- "$(dirname -- "$line")" 2>/dev/null ||
                die "the folder of the report '$line' cannot be made; name another path"
        fi
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
    if [ -n "$compared" ]; then printf 'toolreplay: %s\n' "$(printable "$compared")"; fi
    if [ -n "$no_base" ]; then
        printf '::error title=toolreplay has no base::%s\n' "$(escaped "$no_base")"
    fi

    if [ -f "$work/outputs" ]; then
        cat "$work/outputs" >>"$GITHUB_OUTPUT"
        if [ -n "$sarif" ]; then output sarif-file "$sarif"; fi
        if [ -n "$junit" ]; then output junit-file "$junit"; fi
        if [ -n "$json" ]; then output json-file "$json"; fi
        if [ -n "$html" ]; then output html-file "$html"; fi
        if [ "$upload" = true ] && [ -s "$sarif" ]; then output upload true; fi
        # the first line is no subject; what compared nothing is not vouched for
        if [ "$attest" = true ] && [ -z "$no_base" ] && [ "$(wc -l <"$work/subjects")" -gt 1 ]; then
            output attest true
            output subjects "$work/subjects"
            output predicate "$work/predicate.json"
        fi
        if [ -f "$work/summary" ]; then
            if [ -n "$compared" ]; then in_markdown "Compared with" "${compared#compared with }" >>"$work/summary"; fi
            # a check that compared nothing is no pass, whatever else it found
            if [ -n "$no_base" ]; then in_markdown "**Inconclusive**:" "$no_base" >>"$work/summary"; fi
            if [ "$IN_SUMMARY" = true ]; then cat "$work/summary" >>"$GITHUB_STEP_SUMMARY"; fi
            if [ "$comment" = true ]; then output comment "$work/summary"; fi
        fi
        if [ -n "$no_base" ]; then
            if [ "$code" -lt 2 ]; then
                code=2
                output verdict inconclusive
                output exit_code 2
            fi
        fi
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

# Asks GitHub's API: METHOD PATH [file with a JSON body]. Prints the answer's body; its status is in `status`. The token goes
# in by standard input, where no list of processes shows it.
status=
api() {
    local method=$1 path=$2 body=${3:-} answer arguments=()
    if [ -n "$body" ]; then arguments=(--header 'Content-Type: application/json' --data-binary "@$body"); fi
    answer=$(printf 'header = "Authorization: Bearer %s"\n' "${TOKEN:-}" |
        curl --silent --show-error --config - --request "$method" --max-time 60 --retry 2 \
            --header 'Accept: application/vnd.github+json' --header 'X-GitHub-Api-Version: 2022-11-28' \
            ${arguments[@]+"${arguments[@]}"} --write-out '\n%{http_code}' "$GITHUB_API_URL$path" 2>&1) || true
    status=${answer##*$'\n'}
    case $status in
    [1-5][0-9][0-9]) ;;
    *) status=000 ;;
    esac
    printf '%s' "${answer%$'\n'*}" >"$work/answer"
}

# What the API said, in its own words, short and on one line.
said() {
    local text
    text=$(sed -n 's/.*"message": *"\([^"]*\)".*/\1/p' "$work/answer" | head -n 1)
    printable "${text:0:200}"
}

not_uploaded() {
    local what why
    work=$(mktemp -d "$RUNNER_TEMP/toolreplay.XXXXXX")
    if [ "${EVENT_FORK:-}" = true ]; then
        why="The token of a pull request from a fork may not upload."
    else
        api GET "/repos/$GITHUB_REPOSITORY/code-scanning/analyses?per_page=1"
        case $status in
        200) why="Code scanning answers, so the upload itself failed, or the token may read and not write: the job needs the permission 'security-events: write'. The log of the upload says more." ;;
        403) why="GitHub says '$(said)': the job needs the permission 'security-events: write', and the repository code scanning." ;;
        404) why="GitHub says '$(said)': the repository has no code scanning, or the job lacks the permission 'security-events: write'." ;;
        000) why="GitHub could not be asked why. The log of the upload says more." ;;
        *) why="GitHub answers $status '$(said)'. The log of the upload says more." ;;
        esac
    fi
    what="The SARIF report was not uploaded to code scanning. $why The verdict does not depend on it."
    printf '::notice title=toolreplay::%s\n' "$(escaped "$what")"
    in_markdown "Not uploaded:" "$what" >>"$GITHUB_STEP_SUMMARY"
}

# Bytes of a comment; GitHub refuses more than 65,536 characters.
MOST_BYTES=60000

# Keeps one comment on the pull request: the one with our mark is written anew, wherever it stands.
comment() {
    local category mark page=1 ids='' id
    work=$(mktemp -d "$RUNNER_TEMP/toolreplay.XXXXXX")
    case ${EVENT_NUMBER:-} in
    '' | *[!0-9]*)
        not_commented "The event '${GITHUB_EVENT_NAME:-}' is about no pull request."
        return
        ;;
    esac
    for tool in curl jq; do
        command -v "$tool" >/dev/null || {
            not_commented "There is no $tool on this runner."
            return
        }
    done
    category=${COMMENT_CATEGORY//[^A-Za-z0-9._\/-]/_}
    mark="<!-- toolreplay: $category -->"
    {
        printf '%s\n' "$mark"
        LC_ALL=C awk -v most="$MOST_BYTES" '
            { size += length($0) + 1 }
            size > most { print "\nThe rest is in the summary of the job."; exit }
            { print }' "$COMMENT_FILE"
    } >"$work/text"
    jq --raw-input --slurp '{body: .}' <"$work/text" >"$work/body"
    # a comment of somebody else with our mark cannot be written, and is passed over
    while [ "$page" -le 30 ]; do
        api GET "/repos/$GITHUB_REPOSITORY/issues/$EVENT_NUMBER/comments?per_page=100&page=$page"
        if [ "$status" != 200 ]; then
            not_commented "GitHub answers $status '$(said)' to the question which comments there are; the job needs the permission 'pull-requests: write'."
            return
        fi
        ids="$ids $(jq --raw-output --arg mark "$mark" '.[] | select(.user.type == "Bot" and ((.body // "") | startswith($mark))) | .id' <"$work/answer" | tr '\n' ' ')"
        [ "$(jq 'length' <"$work/answer")" -eq 100 ] || break
        page=$((page + 1))
    done
    for id in $ids; do
        case $id in *[!0-9]*) continue ;; esac
        api PATCH "/repos/$GITHUB_REPOSITORY/issues/comments/$id" "$work/body"
        if [ "$status" = 200 ]; then
            echo "toolreplay: the comment on the pull request was brought up to date"
            return
        fi
    done
    api POST "/repos/$GITHUB_REPOSITORY/issues/$EVENT_NUMBER/comments" "$work/body"
    if [ "$status" = 201 ]; then
        echo "toolreplay: commented on the pull request"
    else
        not_commented "GitHub answers $status '$(said)'. The job needs the permission 'pull-requests: write', which pull requests from forks do not get."
    fi
}

not_commented() {
    printf '::notice title=toolreplay::%s\n' "$(escaped "The pull request has no comment of this run. $1 The verdict does not depend on it.")"
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
comment) comment ;;
verdict) verdict ;;
*) die "action.sh has no step '${1:-}'" ;;
esac
