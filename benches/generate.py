#!/usr/bin/env python3
"""Transcripts to measure with: valid, large, and the same bytes on every run.

    generate.py mix OUT BYTES     what an agent does to a code base: small calls, 1-200 KB files
    generate.py tiny OUT CALLS    about 105 bytes a line, three quarters of them distinct calls
    generate.py huge OUT BYTES    one line of that size between two small ones
    generate.py kinds DIR BYTES   DIR/KIND.jsonl for each kind of content

`--scope FILE` also writes a scope that allows all tools but one, which is rare.

Long texts are not encoded line by line: a `Corpus` is encoded once, and a
passage of it is a slice. Random choices go through `Random.random()` alone,
the one method whose numbers Python promises to keep from version to version.
"""

import argparse
import json
import random
from itertools import accumulate
from pathlib import Path

TOOLS = ["read_file", "write_file", "list_dir", "run_command", "search", "stat", "lookup", "count"]
RARE_TOOL = "delete_file"

NOUNS = (
    "account bundle cursor deadline envelope fixture gateway header invoice journal kernel ledger "
    "manifest notice order parcel queue receipt schema ticket upload vendor window zone"
).split()
VERBS = "accept bind check drain emit fetch guard hash join keep load merge open probe".split()
REMARKS = (
    "Prüfsumme über alle Blöcke|déjà vérifié à l'étape précédente|ここで再試行する|проверено вручную|"
    "次の行は省略可|O(n·log n), not n²|naïve — but “good enough” 🚧|✔ done"
).split("|")


class Dice(random.Random):
    """Choices built on `random()` alone."""

    def below(self, n):
        return int(self.random() * n)

    def pick(self, items):
        return items[int(self.random() * len(items))]


# --- spelling ---------------------------------------------------------------


class Spelling:
    """One of the two ways in which JSON writers commonly print the same value."""

    def __init__(self, ascii_only, comma, colon):
        self.comma, self.colon = comma, colon
        self.text = json.JSONEncoder(ensure_ascii=ascii_only, separators=(comma, colon)).encode

    def bytes(self, value):
        return self.text(value).encode()


SPACED = Spelling(True, ", ", ": ")  # `json.dumps`
COMPACT = Spelling(False, ",", ":")  # `JSON.stringify`


class Corpus:
    """Lines of text with each spelling's bytes prepared, so that a passage is a slice of them."""

    def __init__(self, lines):
        self.size = len(lines)
        self.prepared = {}
        for spelling in (SPACED, COMPACT):
            pieces = [spelling.bytes(line + "\n")[1:-1] for line in lines]
            self.prepared[spelling] = b"".join(pieces), list(accumulate(map(len, pieces), initial=0))
        self.mean = len(self.prepared[COMPACT][0]) / self.size

    def passage(self, dice, size):
        """A random passage of about `size` bytes, at most the whole; spelled later."""
        count = min(max(1, int(size / self.mean)), self.size)
        start = dice.below(self.size - count + 1)
        return lambda spelling: self.spell(spelling, start, start + count)

    def spell(self, spelling, start, stop):
        text, offsets = self.prepared[spelling]
        return b'"%b"' % text[offsets[start] : offsets[stop]]


def spell_object(spelling, members):
    """Members stay in the order given; a callable is a passage."""
    comma, colon = spelling.comma.encode(), spelling.colon.encode()
    parts = [
        spelling.bytes(name) + colon + (value(spelling) if callable(value) else spelling.bytes(value))
        for name, value in members.items()
    ]
    return b"{" + comma.join(parts) + b"}"


def spell_record(spelling, index, tool, args, response):
    members = {
        "index": index,
        "tool": tool,
        "args": lambda spelling: spell_object(spelling, args),
        "response": lambda spelling: spell_object(spelling, response),
    }
    return spell_object(spelling, members) + b"\n"


# --- mix --------------------------------------------------------------------


def code_line(dice, foreign=True):
    noun, other, verb = dice.pick(NOUNS), dice.pick(NOUNS), dice.pick(VERBS)
    indent = "    " * dice.below(5)
    shape = dice.random()
    if shape < 0.07:
        return ""
    if shape < 0.24:
        return f"{indent}let {noun} = {other}.{verb}({dice.below(5000)}, &self.{other});"
    if shape < 0.42:
        return f'{indent}print("{verb} {noun}: %d of %d\\n" % ({noun}, len({other})))'
    if shape < 0.52:
        return f"{indent}# {verb} the {noun} before the {other} is gone, or {dice.pick(VERBS)} it again"
    if shape < 0.64:
        return f"{indent}fn {verb}_{noun}({other}: &str, limit: usize) -> Option<{noun.title()}> {{"
    if shape < 0.72:
        return f"{indent}{noun}[{dice.below(100)}] *= {dice.random():.5f}  # {verb}"
    if shape < 0.80:
        return f"\tif ({noun} === '\\\\' || {other}.{verb}(\"{noun}\")) {{"
    if shape < 0.96 or not foreign:
        return f'{indent}raise {other.title()}Error(f"cannot {verb} {{{noun}!r}}")'
    return f"{indent}// {dice.pick(REMARKS)} ({noun})"


def directory(dice):
    entries = [
        {
            "name": f"{dice.pick(NOUNS)}_{dice.below(1000)}.py",
            "size": dice.below(1 << 20),
            "modified": 1.7e9 + dice.below(10**9) / 1000,
            "is_dir": dice.random() < 0.1,
            "ratio": dice.random() / 1000,
            "labels": [dice.pick(VERBS) for _ in range(dice.below(3))],
            "group": None,
        }
        for _ in range(3 + dice.below(40))
    ]
    return {"entries": entries, "complete": True}


def mixed_call(dice, corpus, files):
    """A tool with its args and response, neither of them spelled yet."""
    number = dice.below(len(files))
    path = files[number]
    choice = dice.random()
    if choice < 0.33:  # what a file holds depends on the file, and on its version, mostly the first
        version = 0 if dice.random() < 0.97 else 1 + dice.below(3)
        file = Dice(4 * number + version)
        size = min(1000 * 2 ** file.below(8) * (1 + file.random()), 200_000)
        response = {"ok": True, "content": corpus.passage(file, size), "bytes": int(size)}
        return "read_file", {"path": path, "encoding": "utf-8"}, response
    if choice < 0.48:
        size = 200 + dice.below(14_000)
        content = corpus.passage(dice, size)
        return "write_file", {"path": path, "content": content}, {"ok": True, "bytes": size}
    if choice < 0.60:
        return "list_dir", {"path": path.rpartition("/")[0], "all": False}, directory(dice)
    if choice < 0.72:
        args = {"command": f"pytest -q -k {dice.pick(NOUNS)}", "timeout": 30.0, "cwd": "/repo"}
        output = corpus.passage(dice, 100 + dice.below(800))
        response = {"stdout": output, "exit": dice.below(2), "elapsed": dice.random() * 9}
        return "run_command", args, response
    if choice < 0.88:
        args = {"query": f"{dice.pick(VERBS)} {dice.pick(NOUNS)}", "limit": 10 * (1 + dice.below(3))}
        return "search", args, {"hits": dice.below(90), "first": path}
    if choice < 0.998:
        return "stat", {"path": path}, {"size": dice.below(10**6), "mode": "0644"}
    return RARE_TOOL, {"path": path}, {"ok": True}


def mix(out, size):
    dice = Dice(1009)
    corpus = Corpus([code_line(dice) for _ in range(60_000)])
    folders = [f"/repo/{noun}/{verb}" for noun in NOUNS for verb in VERBS]
    files = [f"{dice.pick(folders)}/{dice.pick(NOUNS)}_{n}.py" for n in range(20_000)]
    call = None
    written = index = 0
    while written < size:
        if call is None or dice.random() >= 0.03:  # else the same call once more
            call = mixed_call(dice, corpus, files)
        spelling = SPACED if dice.random() < 0.5 else COMPACT
        written += out.write(spell_record(spelling, index, *call))
        index += 1


# --- tiny and huge ----------------------------------------------------------


def tiny(out, calls):
    dice = Dice(2003)
    line = '{"index": %d, "tool": "%s", "args": {%s}, "response": {%s}}\n'
    call = "stat", '"path": "/"', '"size": 0, "ok": true'
    for index in range(calls):
        choice = dice.random()
        if choice < 0.70:
            number = dice.below(calls)
            size = number * 7919 % 100_000 + (dice.random() < 0.01)  # one in a hundred has changed
            call = "stat", f'"path": "/data/{number}"', f'"size": {size}, "ok": true'
        elif choice < 0.85:
            key, value = f"{dice.pick(NOUNS)}/{index}", f"{dice.random():.4f}"
            call = "lookup", f'"key": "{key}", "depth": {dice.below(9)}', f'"value": {value}'
        elif choice < 0.95:
            word, n = dice.pick(NOUNS), dice.below(1000)
            call = "count", f'"word": "{word}", "from": {index}', f'"n": {n}, "more": null'
        elif choice < 0.951:
            call = RARE_TOOL, f'"path": "/data/{dice.below(calls)}"', '"ok": true'
        out.write((line % (index, *call)).encode())


def huge(out, size):
    dice = Dice(3001)
    corpus = Corpus([code_line(dice) for _ in range(60_000)])
    text = bytearray()
    while len(text) < size:
        text += corpus.passage(dice, 100_000)(COMPACT)[1:-1]
    small = "stat", {"path": "/dump.log"}, {"size": len(text), "kind": "file"}
    big = "read_file", {"path": "/dump.log"}, {"ok": True, "content": lambda _: b'"%b"' % text}
    for index, call in enumerate([small, big, small]):
        out.write(spell_record(COMPACT, index, *call))


# --- kinds ------------------------------------------------------------------


def text_of(spelling, letters):
    """Responses of 1-60 KB of random letters, given as a string to draw from."""

    def prepare(dice):
        text = "".join(dice.pick(letters) for _ in range(300_000))

        def response():
            start, length = dice.below(240_000), 1000 + dice.below(59_000)
            return spell_object(spelling, {"text": text[start : start + length]})

        return response

    return prepare


def source_code(dice):
    corpus = Corpus([code_line(dice, foreign=False) for _ in range(20_000)])
    return lambda: spell_object(SPACED, {"text": corpus.passage(dice, 1000 + dice.below(59_000))})


def items_of(make, longest):
    """Responses with a long array, each item from `make`."""

    def prepare(dice):
        items = [SPACED.bytes(make(dice)) for _ in range(5000)]

        def response():
            start, count = dice.below(5000 - longest), 50 + dice.below(longest - 50)
            return b'{"items": [%b]}' % b", ".join(items[start : start + count])

        return response

    return prepare


def row(dice):
    title = f"{dice.pick(NOUNS)}-{dice.below(999)}"
    return {"title": title, "rank": dice.below(5000), "open": True, "by": None, "at": "09:30"}


def nested(levels, payload):
    """`levels` objects in one another whose first key always sorts last; the payload at the bottom."""

    def prepare(dice):
        letters = "abcdefghijklmnopqrstuvwxyz     "
        bottom = SPACED.bytes("".join(dice.pick(letters) for _ in range(payload)))
        tail = b"".join(b', "first": [%d]}' % dice.below(1000) for _ in range(levels))
        return lambda: b'{"second": ' * levels + bottom + tail

    return prepare


def keys_of(name):
    """Objects of 2,000 members in random order, their keys from `name`."""

    def prepare(dice):
        members = [SPACED.bytes(name(n)) + b": %d" % dice.below(10**6) for n in range(4000)]

        def response():
            start = dice.below(2000)
            chosen = members[start : start + 2000]
            chosen.sort(key=lambda _: dice.random())
            return b"{" + b", ".join(chosen) + b"}"

        return response

    return prepare


SCALES = [1e-9, 1e-3, 1.0, 1e3, 1e6, 1e12, 1e21]
CJK = "".join(map(chr, range(0x4E00, 0x9F00)))
KINDS = {
    "ascii": text_of(SPACED, "etaoinshrdlucmfwypvbgkjqxz,.          "),
    "code": source_code,
    "cjk-raw": text_of(COMPACT, CJK),
    "cjk-escaped": text_of(SPACED, CJK),
    "latin-raw": text_of(COMPACT, "etaoinsrdlcumpqvgbfhjxyz" * 3 + "éèàçêüöäßñ" + " " * 15),
    "floats": items_of(lambda dice: (dice.random() - 0.5) * dice.pick(SCALES), 1000),
    "ints": items_of(lambda dice: dice.below(10 ** (1 + dice.below(15))) - dice.below(1000), 1000),
    "rows": items_of(row, 800),
    "nested-200": nested(200, 20),
    "nested-900": nested(900, 200_000),
    "wide": keys_of(lambda n: f"{NOUNS[n % 24]}_{n * 7919 % 4000}"),
    "escaped-keys": keys_of(lambda n: f'"{NOUNS[n % 24]}"\té\\{n * 7919 % 4000}\n'),
}


def kind(out, size, name):
    dice = Dice(4001)
    response = KINDS[name](dice)
    written = index = 0
    while written < size:
        head = b'{"index": %d, "tool": "read_file", "args": {"path": "/%d"}, ' % (index, dice.below(999))
        written += out.write(head + b'"response": ' + response() + b"}\n")
        index += 1


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("what", choices=["mix", "tiny", "huge", "kinds"])
    parser.add_argument("out", type=Path)
    parser.add_argument("amount", type=int, help="bytes (a file, for kinds); calls for tiny")
    parser.add_argument("--scope", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.what == "kinds":
        options.out.mkdir(parents=True, exist_ok=True)
        for name in KINDS:
            with open(options.out / f"{name}.jsonl", "wb") as out:
                kind(out, options.amount, name)
    else:
        with open(options.out, "wb") as out:
            {"mix": mix, "tiny": tiny, "huge": huge}[options.what](out, options.amount)
    if options.scope:
        options.scope.write_text(json.dumps({"agent": "bench", "allowed_tools": TOOLS}) + "\n")


if __name__ == "__main__":
    main()
