#!/usr/bin/env python3
"""toolreplay's core commands in plain CPython: the oracle and the yardstick.

    reference.py replay FILE
    reference.py scope FILE SCOPE
    reference.py seal FILE
    reference.py verify FILE
    reference.py canon FILE     the canonical form of each line, one a line

For every input the two programs print the same bytes and end with the same
code; only the wording after `error: line N:` may differ. FILE may be `-`.

This is the program one would write without a second thought for speed beyond
the usual: the C parts of `json` and `hashlib`, one codec built once, a
dictionary of calls. It must stay that plain, or comparing with it means nothing.
Needs Python 3.11 or later and nothing else.
"""

import hashlib
import json
import math
import re
import sys

MAX_DEPTH = 1000
TOOL_NAME = 200  # characters of a tool's name that a report shows
GENESIS = "0" * 64

RECORD = {"index": int, "tool": str, "args": dict, "response": dict}
LINK = RECORD | {"prev": str, "digest": str}
SCOPE = {"agent": str, "allowed_tools": list}
WANTED = {int: "an integer", str: "a string", dict: "an object", list: "an array"}


class Malformed(ValueError):
    """The input is not what it has to be; the message says where."""


# --- strict reading ---------------------------------------------------------


def unique_members(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Malformed("duplicate key")
    return members


def finite(text):
    number = float(text)
    if math.isinf(number):
        raise Malformed("number out of range")
    return number


def refuse_constant(name):
    raise Malformed(f"{name} is not JSON")


decode = json.JSONDecoder(
    object_pairs_hook=unique_members, parse_float=finite, parse_constant=refuse_constant
).decode
canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def depth_of(value):
    """Levels of containers in `value`, which is one itself."""
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in (dict, list)
        ]
    return depth


def parse(line):
    """The JSON value that the bytes of `line` spell."""
    try:
        value = decode(line.decode("utf-8"))
    except json.JSONDecodeError as error:
        raise Malformed(f"{error.msg} (character {error.pos})") from None
    except RecursionError:
        raise Malformed(f"nested deeper than {MAX_DEPTH} levels") from None
    # Few lines have so many brackets that they could be too deep.
    if line.count(b"{") + line.count(b"[") > MAX_DEPTH and type(value) in (dict, list):
        if depth_of(value) > MAX_DEPTH:
            raise Malformed(f"nested deeper than {MAX_DEPTH} levels")
    return value


def check_fields(value, fields):
    """Demand an object with exactly `fields`, each of its type."""
    if type(value) is not dict:
        raise Malformed("not an object")
    if value.keys() != fields.keys():
        if extra := value.keys() - fields.keys():
            raise Malformed(f"unexpected field(s): {visible(', '.join(sorted(extra)))}")
        raise Malformed(f"missing field(s): {', '.join(sorted(fields.keys() - value.keys()))}")
    for name, kind in fields.items():
        if type(value[name]) is not kind:  # `is`, since a bool is an int to isinstance
            raise Malformed(f"{name} is not {WANTED[kind]}")


def values(path, fields=None):
    """The value of each non-blank line of `path`; with `fields`, an object that has just those."""
    with sys.stdin.buffer if path == "-" else open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.lstrip(b" \t\r\n"):
                continue
            try:
                value = parse(line)
                if fields is not None:
                    check_fields(value, fields)
            except ValueError as error:
                raise Malformed(f"line {number}: {error}") from None
            yield number, value


def records(path):
    for expected, (number, record) in enumerate(values(path, RECORD)):
        if record["index"] != expected:
            raise Malformed(f"line {number}: index is not {expected}")
        yield record


# --- reports ----------------------------------------------------------------


HIDDEN = re.compile(
    # controls, what is invisible or moves other text, tags, non-characters
    "[\0-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\uffa0\U000110bd\U000110cd\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | end) for plane in range(17) for end in (0xFFFE, 0xFFFF))
    + "]"
)
SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text, limit=None):
    """Hidden characters as JSON escapes; `##[` and `##word[` broken, since CI runners act on them."""
    text = text.encode("utf-8", "backslashreplace").decode()  # lone surrogates
    if limit and len(text) > limit:
        text = text[: limit - 1] + "…"

    def escape(match):
        units = match[0].encode("utf-16-be").hex()
        return SHORT.get(match[0]) or "".join(f"\\u{units[at:at + 4]}" for at in range(0, len(units), 4))

    return re.sub(r"(##[A-Za-z0-9_.-]*)\[", r"\1\\[", HIDDEN.sub(escape, text))


def report(head, findings):
    """`findings` are (index, kind, message); returns the output and the exit code."""
    lines = [*head, f"findings: {len(findings)}"]
    lines += [f"index {index}: {kind}: {message}" for index, kind, message in sorted(findings)]
    return [f"{line}\n" for line in lines], int(bool(findings))


# --- commands: each returns lines of output and the exit code ---------------


def replay(path):
    first = {}  # call -> (index, response) of its first time
    findings = []
    divergence = "none"
    calls = 0
    previous = None
    for record in records(path):
        index = record["index"]
        call = canonical({"args": record["args"], "tool": record["tool"]})
        response = canonical(record["response"])
        first_index, first_response = first.setdefault(call, (index, response))
        if response != first_response:
            if divergence == "none":
                divergence = f"index {index}"
            message = (
                f"tool '{visible(record['tool'], TOOL_NAME)}' returned a different response"
                f" than the identical call at index {first_index}"
            )
            findings.append((index, "non-determinism", message))
        # Any other call in between might have changed something, so only neighbours count.
        if call == previous:
            message = (
                f"tool '{visible(record['tool'], TOOL_NAME)}' repeats the identical call"
                f" at index {index - 1} with no state change between them"
            )
            findings.append((index, "redundant-call", message))
        previous = call
        calls += 1
    return report([f"calls: {calls}", f"divergence: {divergence}"], findings)


def scope(path, scope_path):
    with open(scope_path, "rb") as file:
        try:
            declared = parse(file.read())
            if type(declared) is dict and type(declared.get("$schema")) is str:
                del declared["$schema"]  # for editors
            check_fields(declared, SCOPE)
            if any(type(name) is not str for name in declared["allowed_tools"]):
                raise Malformed("allowed_tools has an item that is not a string")
        except ValueError as error:
            raise Malformed(f"{scope_path}: {error}") from None
    allowed = set(declared["allowed_tools"])
    agent = visible(declared["agent"])
    findings = []
    calls = 0
    for record in records(path):
        calls += 1
        tool = record["tool"]
        if tool not in allowed:
            name = visible(tool, TOOL_NAME)
            message = f"tool '{name}' is not in the declared scope for agent '{agent}'"
            findings.append((record["index"], "permission-overreach", message))
    return report([f"calls: {calls}"], findings)


def digest_of(record):
    return hashlib.sha256(canonical(record).encode("ascii")).hexdigest()


def seal(path):
    links = []
    prev = GENESIS
    for record in records(path):
        record["prev"] = prev
        record["digest"] = prev = digest_of(record)
        links.append(f"{canonical(record)}\n")
    return links, 0


def verify(path):
    broken = None
    prev = GENESIS
    for position, (_, link) in enumerate(values(path, LINK)):
        if broken:
            continue  # what is left still has to be well-formed
        found = link.pop("digest")
        if link["prev"] != prev:
            broken = position, prev, link["prev"]
        else:
            expected = digest_of(link | {"index": position})
            if expected != found:
                broken = position, expected, found
            elif link["index"] != position:  # and nothing else: show the digest of what is there
                broken = position, digest_of(link), found
        prev = found
    if broken is None:
        return ["chain: intact\n"], 0
    position, *digests = broken
    expected, found = (visible(canonical(digest)[1:-1], 2 * len(GENESIS)) for digest in digests)
    return [
        "chain: broken\n",
        f"first broken link: index {position}\n",
        f"expected: {expected}\n",
        f"found: {found}\n",
    ], 1


def canon(path):
    return [f"{canonical(value)}\n" for _, value in values(path)], 0


def main(arguments):
    commands = {"replay": replay, "scope": scope, "seal": seal, "verify": verify, "canon": canon}
    match arguments:
        case ["scope", _, _] | ["replay" | "seal" | "verify" | "canon", _]:
            pass
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    sys.setrecursionlimit(4 * MAX_DEPTH)
    sys.set_int_max_str_digits(0)
    try:
        output, code = commands[arguments[0]](*arguments[1:])
    except Malformed as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    try:
        sys.stdout.writelines(output)
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = None  # the reader has seen enough
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
