#!/usr/bin/env bash
# Holds signed seals to other people's implementations, in both directions: run.sh BINARY WORK
# Signed notes: a verifier from PyPI, and a signer written from the specification. SSH signatures: ssh-keygen.
# WORK is a folder for what is installed (a Python environment) and written.
set -euo pipefail

binary=$(realpath "$1")
mkdir -p "$2"
work=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
unset TOOLREPLAY_KEY

[ -x "$work/venv/bin/python" ] && [ -f "$work/venv/done" ] || {
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet metamorphic-log==0.1.11 cryptography==48.0.0
    touch "$work/venv/done"
}

desk=$work/desk
rm -rf "$desk"
mkdir -p "$desk"
cd "$desk"
sample=$here/../../samples/session-dirty.jsonl

fail() { echo "signatures: $*" >&2; exit 1; }
# expect CODE COMMAND…: what it prints is in out
expect() {
    local expected=$1 code=0
    shift
    "$@" >out 2>&1 || code=$?
    [ "$code" -eq "$expected" ] || { cat out >&2; fail "$*: exit code $code, expected $expected"; }
}
says() { grep -qF -- "$1" out || { cat out >&2; fail "expected it to say: $1"; }; }

echo "signatures: notes of ours by another verifier, notes of another signer by ours"
"$binary" keygen ci >/dev/null
"$binary" keygen example.org --key-name example.org/host >/dev/null
"$binary" seal "$sample" -o run.sealed.jsonl --sign ci.key --sign example.org.key
"$work/venv/bin/python" "$here/notes.py" theirs run.sealed.jsonl.note ci.pub example.org.pub
"$work/venv/bin/python" "$here/notes.py" make run.sealed.jsonl their.pub their.note
cp their.note run.sealed.jsonl.note
expect 0 "$binary" verify run.sealed.jsonl --trust their.pub --require-signature
says "seal: signed by 'example.com/their'"
sed 's/^state complete$/state open/' their.note >run.sealed.jsonl.note
expect 1 "$binary" verify run.sealed.jsonl --trust their.pub
says "does not hold"
rm run.sealed.jsonl.note

command -v ssh-keygen >/dev/null || { echo "NOTICE: ssh-keygen is missing; SSH signatures were held against stored ones alone"; exit 0; }

echo "signatures: what ssh-keygen signed, by us"
ssh-keygen -q -t ed25519 -N '' -C someone@example.org -f theirs
printf 'someone@example.org %s\n' "$(cut -d ' ' -f 1,2 theirs.pub)" >allowed
for hash in sha512 sha256; do
    ssh-keygen -q -Y sign -O "hashalg=$hash" -n toolreplay-seal -f theirs run.sealed.jsonl 2>/dev/null
    expect 0 "$binary" verify run.sealed.jsonl --trust allowed --require-signature
    says "seal: signed by 'someone@example.org'"
    rm run.sealed.jsonl.sig
done
ssh-keygen -q -Y sign -n file -f theirs run.sealed.jsonl 2>/dev/null
expect 1 "$binary" verify run.sealed.jsonl --trust allowed
says "for the namespace 'file'; expected 'toolreplay-seal'"
rm run.sealed.jsonl.sig
ssh-keygen -q -t ed25519 -N '' -C else@example.org -f else
ssh-keygen -q -Y sign -n toolreplay-seal -f else run.sealed.jsonl 2>/dev/null
expect 1 "$binary" verify run.sealed.jsonl --trust allowed
says "no trusted key signed it"
rm run.sealed.jsonl.sig
for kind in "rsa 2048" "ecdsa 256"; do
    # shellcheck disable=SC2086
    set -- $kind
    ssh-keygen -q -t "$1" -b "$2" -N '' -C "$1" -f "$1"
    printf '%s %s\n' "$1" "$(cut -d ' ' -f 1,2 "$1.pub")" >"$1.allowed"
    ssh-keygen -q -Y sign -n toolreplay-seal -f "$1" run.sealed.jsonl 2>/dev/null
    expect 1 "$binary" verify run.sealed.jsonl --trust "$1.allowed"
    says "which is not checked here"
    rm run.sealed.jsonl.sig
done
"$binary" seal "$sample" -o run.sealed.jsonl --sign ci.key
ssh-keygen -q -Y sign -n toolreplay-seal -f theirs run.sealed.jsonl.note 2>/dev/null
expect 0 "$binary" verify run.sealed.jsonl --trust allowed --require-signature
says "seal: signed by 'someone@example.org'"
rm run.sealed.jsonl.note run.sealed.jsonl.note.sig

echo "signatures: what we signed, by ssh-keygen"
"$binary" keygen me --ssh >/dev/null
by_ssh() { ssh-keygen -Y verify -f "$1" -I "$2" -n toolreplay-seal -s run.sealed.jsonl.sig <"$3"; }
"$binary" seal "$sample" -o run.sealed.jsonl --sign me.key
expect 0 by_ssh me.pub me run.sealed.jsonl
says 'Good "toolreplay-seal" signature for me'
"$binary" seal "$sample" -o run.sealed.jsonl --sign theirs
head -n 4 run.sealed.jsonl >shorter
expect 255 by_ssh me.pub me shorter
rm run.sealed.jsonl.sig
"$binary" seal "$sample" -o run.sealed.jsonl --sign theirs
expect 0 by_ssh allowed someone@example.org run.sealed.jsonl
# a key that keygen wrote is one that ssh-keygen takes
[ "$(ssh-keygen -y -f me.key | cut -d ' ' -f 1,2)" = "$(cut -d ' ' -f 3,4 me.pub)" ] || fail "ssh-keygen reads another key"
rm run.sealed.jsonl.sig
ssh-keygen -q -Y sign -n toolreplay-seal -f me.key run.sealed.jsonl 2>/dev/null
expect 0 "$binary" verify run.sealed.jsonl --trust me.pub --require-signature
# one with a passphrase is refused here and works there
ssh-keygen -q -p -P '' -N secret -f theirs >/dev/null
expect 2 "$binary" seal "$sample" -o run.sealed.jsonl --sign theirs
says "has a passphrase"

echo "signatures: all implementations agree"
