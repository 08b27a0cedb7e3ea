#!/usr/bin/env python3
"""Writes a synthetic Claude Code session and measures the import of it.

    python3 benches/session.py write OUT.jsonl BYTES
    python3 benches/session.py measure OUT.jsonl [--binary target/release/toolreplay] [--rounds 3]

The session has the make-up of real ones: about 17 KB of file a call, half of the bytes in structured results that a
transcript does not hold, a quarter of the calls made at once with others, code in most texts,
hardly a call that is there twice. The same size gives the
same bytes. `measure` prints a Markdown table: the import and the audit, beside the replay of the transcript that comes
of it, Python's json over the same lines, and jq.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

WORDS = "let fn return self config error path value index parse write read buffer token state result option".split()


class Dice:
    """xorshift64*: the same everywhere."""

    def __init__(self, seed=88172645463325252):
        self.state = seed

    def below(self, n):
        x = self.state
        x ^= x >> 12
        x = (x ^ (x << 25)) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 27
        self.state = x
        return ((x * 2685821657736338717) >> 33) % n


def code(dice, size):
    out, length = [], 0
    while length < size:
        line = "    " * dice.below(4) + " ".join(WORDS[dice.below(len(WORDS))] for _ in range(3 + dice.below(8)))
        if dice.below(9) == 0:
            line += ' "größe: %d"' % dice.below(1000)
        out.append(line)
        length += len(line) + 1
    return "\n".join(out)


def write(path, size):
    dice, clock, number, written = Dice(), 0, 0, 0
    texts = [code(dice, 200 << (at % 9)) for at in range(180)]
    common = {"userType": "external", "cwd": "/home/dev/project", "sessionId": "5e551011-0000-4000-8000-000000000001",
              "version": "2.1.42", "gitBranch": "main", "isSidechain": False}
    with open(path, "w", encoding="utf-8") as out:
        parent = None
        while written < size:
            message = f"msg_{number}"
            pending = []
            for _ in range(3 if dice.below(8) == 0 else 1):
                number += 1
                text = texts[dice.below(len(texts))]
                kind = dice.below(10)
                if kind < 3:
                    command = ["cargo test", "git diff --stat HEAD~", "ls -la src | head -", "make "][dice.below(4)] + str(number)
                    name, args = "Bash", {"command": command, "description": "Run it"}
                    rich = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
                elif kind < 6:
                    file = f"src/part_{dice.below(400)}.rs"
                    name, args = "Read", {"file_path": file, "offset": number}
                    rich = {"type": "text", "file": {"filePath": file, "content": text, "numLines": text.count("\n")}}
                elif kind < 8:
                    name, args = "Edit", {"file_path": f"src/part_{dice.below(400)}.rs", "old_string": text[:300],
                                          "new_string": text[300:700]}
                    rich = {"filePath": args["file_path"], "originalFile": text, "structuredPatch": []}
                    text = "The file has been updated."
                else:
                    name, args = "Grep", {"pattern": f"{WORDS[dice.below(len(WORDS))]}_{number}", "path": "src"}
                    rich = {"mode": "content", "content": text, "numFiles": 3}
                pending.append((f"toolu_{number:08}", name, args, text, rich))
            for call, name, args, _, _ in pending:
                clock += 1
                uuid = f"a-{number}-{call}"
                block = {"type": "tool_use", "id": call, "name": name, "input": args}
                row = {"parentUuid": parent, **common, "type": "assistant", "uuid": uuid,
                       "timestamp": stamp(clock), "requestId": f"req_{number}",
                       "message": {"model": "m", "id": message, "type": "message", "role": "assistant",
                                   "content": [block], "stop_reason": None,
                                   "usage": {"input_tokens": 8, "cache_read_input_tokens": 100000, "output_tokens": 90}}}
                written += put(out, row)
                parent = uuid
            for call, _, _, text, rich in pending:
                clock += 1
                uuid = f"u-{number}-{call}"
                row = {"parentUuid": parent, **common, "type": "user", "uuid": uuid, "timestamp": stamp(clock),
                       "message": {"role": "user",
                                   "content": [{"tool_use_id": call, "type": "tool_result", "content": text}]},
                       "toolUseResult": rich}
                written += put(out, row)
                parent = uuid


def stamp(clock):
    return "2026-01-%02dT%02d:%02d:%02d.000Z" % (clock // 86400 % 28 + 1, clock // 3600 % 24, clock // 60 % 60, clock % 60)


def put(out, row):
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"
    out.write(text)
    return len(text.encode())


PYTHON = "import json,sys\nfor line in open(sys.argv[1], encoding='utf-8'): json.loads(line)"


def measure(path, binary, rounds):
    size = os.path.getsize(path)
    transcript = Path(str(path) + ".transcript")
    subprocess.run([binary, "import", path, "-o", transcript], check=True, stderr=subprocess.DEVNULL)
    programs = [
        ("toolreplay audit", path, [binary, "audit", "--no-config", path]),
        ("toolreplay import", path, [binary, "import", path]),
        ("toolreplay replay, of the transcript", transcript, [binary, "replay", transcript]),
        ("python3 json.loads, each line", path, [sys.executable, "-c", PYTHON, path]),
        ("jq -c .", path, ["jq", "-c", ".", path]),
    ]
    print(f"\n{size / 1e6:.1f} MB of session, {os.path.getsize(transcript) / 1e6:.1f} MB of transcript\n")
    print("| program | seconds | MB/s | peak memory, MB |\n| --- | ---: | ---: | ---: |")
    for name, read, argv in programs:
        best, memory = None, 0
        for _ in range(rounds):
            started = time.monotonic()
            try:
                child = subprocess.Popen([str(part) for part in argv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            except FileNotFoundError:
                break
            _, status, usage = os.wait4(child.pid, 0)
            spent = time.monotonic() - started
            if os.waitstatus_to_exitcode(status) not in (0, 1):
                raise SystemExit(f"{name} failed")
            best, memory = min(best or spent, spent), max(memory, usage.ru_maxrss)
        if best is not None:
            speed = os.path.getsize(read) / best / 1e6
            print(f"| {name} | {best:.2f} | {speed:.0f} | {memory / 1024:.0f} |", flush=True)
    transcript.unlink()


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("what", choices=["write", "measure"])
    parser.add_argument("path", type=Path)
    parser.add_argument("bytes", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--binary", default="target/release/toolreplay")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.what == "write":
        write(options.path, options.bytes)
    else:
        measure(options.path, options.binary, options.rounds)


main()
