#!/usr/bin/env python3
"""Measures toolreplay beside the yardsticks and prints Markdown tables; see README.md.

All programs of a table run in turn (A B C A B C ...), whole processes, output
to /dev/null, so that what else the machine does strikes them alike. The ratios
are the result; the times hold for this machine and this minute only.
"""

import argparse
import ctypes
import hashlib
import os
import platform
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = [sys.executable, "-I"]
REFERENCE = [*PYTHON, str(HERE / "reference.py")]
GENERATE = [sys.executable, "-B", str(HERE / "generate.py")]
SECTIONS = ["mix", "tiny", "huge", "kinds", "growth", "startup", "size"]
COMMANDS = ["replay", "scope", "seal", "verify"]
FULL_SIZE = {"mix": 10**9, "tiny": 5 * 10**6, "huge": 2 * 10**8, "kinds": 10**8}


def say(message):
    print(message, file=sys.stderr, flush=True)


# --- one process ------------------------------------------------------------

# Linux counts towards a process's peak what it had before `exec`. A child of this script would
# start with the script's own megabytes, so a shell, which is small, makes the process; it waits
# for a word from us, and as the shell ends at once, it falls to us (the subreaper) to reap it.
LAUNCHER = 'exec 3<&0; (read go <&3; exec "$@" </dev/null 3<&-) >/dev/null & echo $!'
PR_SET_CHILD_SUBREAPER = 36


class Program:
    def __init__(self, target, step, name, argv, codes=(0,), slow=False):
        self.step, self.name, self.codes, self.slow = step, name, codes, slow
        self.argv = [str(shutil.which(argv[0]) or argv[0]), *map(str, argv[1:])]
        self.target = target
        self.samples = []  # (wall seconds, cpu seconds, peak KiB)

    wall = property(lambda self: statistics.median(sample[0] for sample in self.samples))
    cpu = property(lambda self: statistics.median(sample[1] for sample in self.samples))
    peak = property(lambda self: f"{max(sample[2] for sample in self.samples) / 1024:.1f}")
    speed = property(lambda self: f"{self.target.stat().st_size / self.wall / 1e6:.0f}")

    def run(self):
        """Run once; abort unless it ends well, since a failed run is quick and would look fast."""
        gate, go = os.pipe()
        with tempfile.TemporaryFile() as errors, open(gate) as gate, open(go, "wb", 0) as go:
            shell = ["/bin/sh", "-c", LAUNCHER, "sh", *self.argv]
            launched = subprocess.run(shell, stdin=gate, stdout=subprocess.PIPE, stderr=errors)
            pid = int(launched.stdout)
            start = time.perf_counter()
            go.write(b"\n")
            try:
                _, status, usage = os.wait4(pid, 0)
            except BaseException:
                os.kill(pid, signal.SIGKILL)
                raise
            wall = time.perf_counter() - start
            if (code := os.waitstatus_to_exitcode(status)) not in self.codes:
                errors.seek(0)
                message = errors.read().decode(errors="replace")
                sys.exit(f"FAILED, exit code {code}: {shlex.join(self.argv)}\n{message}")
        return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def interleave(programs, options, rounds=None):
    """Fill in everyone's samples. The slow ones take part in fewer rounds and have no warm-up."""
    rounds = rounds or options.rounds
    slow_rounds = min(options.slow_rounds, rounds)
    for program in programs:
        if not program.slow:
            program.run()
    for turn in range(rounds):
        slow_turn = turn * slow_rounds // rounds != (turn - 1) * slow_rounds // rounds
        for program in programs:
            if slow_turn or not program.slow:
                program.samples.append(program.run())


# --- files ------------------------------------------------------------------


class Files:
    """The generated files and what is made from them.

    Generating gives the same bytes each time, so a file that is there already is used again;
    its name tells its size and the edition of the generator.
    """

    def __init__(self, options):
        self.directory, self.scale, self.binary = options.dir, options.scale, options.binary
        self.scope = self.directory / "scope.json"

    def generated(self, what):
        amount = max(1, int(FULL_SIZE[what] * self.scale))
        edition = hashlib.sha256(Path(GENERATE[-1]).read_bytes()).hexdigest()[:8]
        ending = "" if what == "kinds" else ".jsonl"
        path = self.directory / f"{what}-{amount}-{edition}{ending}"
        if not (path.exists() and self.scope.exists()):
            say(f"generating {path.name}")
            part = self.directory / f"{path.name}.part"
            subprocess.run([*GENERATE, what, part, str(amount), "--scope", self.scope], check=True)
            part.rename(path)
        return path

    def kinds(self):
        return sorted(self.generated("kinds").iterdir())

    def sealed(self, path):
        out = self.directory / (path.stem + ".sealed")
        say(f"sealing {path.name}")
        with open(out, "wb") as sink:
            code = subprocess.run([self.binary, "seal", path], stdout=sink).returncode
        if code:
            sys.exit(f"FAILED, exit code {code}: {self.binary} seal {path}")
        return out

    def prefix(self, path, size):
        """About the first `size` bytes of a file, up to the end of a line."""
        if size >= path.stat().st_size:
            return path
        out = self.directory / f"prefix-{size}.jsonl"
        with open(path, "rb") as source, open(out, "wb") as sink:
            while size > 0 and (line := source.readline()):
                size -= sink.write(line)
        return out


def arguments_of(command, path, sealed, scope):
    target = sealed if command == "verify" else path
    return [command, target] + ([scope] if command == "scope" else [])


def pair(options, command, path, sealed, scope):
    """toolreplay and the reference at one command. Findings (1) are fine, but a seal must hold."""
    arguments = arguments_of(command, path, sealed, scope)
    codes = (0, 1) if command in ("replay", "scope") else (0,)
    ours, theirs = [options.binary, *arguments], [*REFERENCE, *arguments]
    return [
        Program(arguments[1], command, "**toolreplay**", ours, codes),
        Program(arguments[1], command, "reference.py", theirs, codes, slow=True),
    ]


# --- tables -----------------------------------------------------------------


def table(title, head, rows):
    print(f"\n## {title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    sys.stdout.flush()


def times(yardstick, program):
    """How many times as fast as the yardstick a program is."""
    if yardstick is None:
        return ""
    ratio = yardstick.wall / program.wall
    return f"{ratio:.3g}" if ratio < 100 else f"{ratio:,.0f}"


def describe(path):
    lines = longest = length = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            first, *others = block.split(b"\n")
            longest = max(longest, length + len(first), *map(len, others))
            length = len(others[-1]) if others else length + len(first)
            lines += len(others)
    return f"{path.stat().st_size:,} bytes, {lines:,} calls, the longest line {longest:,}"


def one_file(options, files, what):
    path = files.generated(what)
    sealed = files.sealed(path)
    programs = [p for c in COMMANDS for p in pair(options, c, path, sealed, files.scope)]
    for target, step in (path, "(transcript)"), (sealed, "(sealed)"):
        programs += [
            Program(target, step, "openssl dgst", ["openssl", "dgst", "-sha256", target]),
            Program(target, step, "wc -l", ["wc", "-l", target]),
        ]
    if shutil.which("jq"):
        jq = ["jq", "-c", "-S", ".", path]
        programs.append(Program(path, "(transcript)", "jq -c -S .", jq, slow=True))
    else:
        say("jq is not installed: its rows are left out")
    say(f"measuring {what}")
    interleave(programs, options)

    rows = []
    for p in programs:
        same_file = [q for q in programs if q.target == p.target]
        beside = {q.name: q for q in same_file if q.step == p.step or q.step.startswith("(")}
        ratios = [times(beside.get(name), p) for name in ("reference.py", "openssl dgst", "wc -l")]
        rows.append([p.step, p.name, f"{p.wall:.3f}", f"{p.cpu:.3f}", p.peak, p.speed, *ratios])
    head = ["step", "program", "wall s", "cpu s", "peak MiB", "MB/s"]
    head += ["× reference", "× openssl", "× wc -l"]
    table(f"{what}: {describe(path)}", head, rows)
    sealed.unlink()


def kinds(options, files):
    rows = []
    for path in files.kinds():
        say(f"measuring {path.stem}")
        programs = []
        for command in ("scope", "replay"):
            programs += pair(options, command, path, None, files.scope)
        interleave(programs, options)
        row = [path.stem, f"{path.stat().st_size / 1e6:.1f}"]
        for ours, reference in (programs[:2], programs[2:]):
            row += [ours.speed, reference.speed, times(reference, ours), ours.peak]
        rows.append(row)
    head = ["kind", "MB"]
    for command in ("scope", "replay"):
        head += [f"{command} MB/s", "reference MB/s", "× reference", "peak MiB"]
    table("kinds of content", head, rows)


def growth(options, files):
    whole = files.generated("mix")
    rows = []
    for share in (0.01, 0.1, 1):
        path = files.prefix(whole, int(FULL_SIZE["mix"] * files.scale * share))
        sealed = files.sealed(path)
        say(f"measuring growth, {path.name}")
        programs = [pair(options, c, path, sealed, files.scope)[0] for c in COMMANDS]
        interleave(programs, options)
        cells = [f"{p.wall:.3f} s, {p.peak} MiB" for p in programs]
        rows.append([f"{path.stat().st_size / 1e6:.1f}", *cells])
        for made in {sealed, path} - {whole}:
            made.unlink()
    table("growth with size (prefixes of mix)", ["MB", *COMMANDS], rows)


def startup(options):
    programs = [
        Program(None, "", "**toolreplay** version", [options.binary, "version"]),
        Program(None, "", "python3 -I -S -c pass", [*PYTHON, "-S", "-c", "pass"]),
        Program(None, "", "/bin/true", ["/bin/true"]),
    ]
    say("measuring start-up")
    interleave(programs, options, rounds=40)
    rows = [[p.name, f"{p.wall * 1e3:.2f}", p.peak, times(programs[1], p)] for p in programs]
    table("start-up, 40 rounds", ["program", "wall ms", "peak MiB", "× python3"], rows)


def machine(options):
    with open("/proc/cpuinfo") as lines:
        names = [line.partition(": ")[2].strip() for line in lines if "model name" in line]
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    print(f"{(names or ['unknown processor'])[0]}, {cores} cores, {platform.platform()},")
    print(f"CPython {platform.python_version()}, load {load:.2f} at the start.")
    print(f"Medians of {options.rounds} rounds, {options.slow_rounds} for reference.py and jq.")


# --- check ------------------------------------------------------------------


def outcome(argv):
    """Exit code, digest of the output, and the line that an error names."""
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors) as process:
            digest = hashlib.file_digest(process.stdout, "sha256").hexdigest()
        errors.seek(0)
        where = re.match(rb"error: line \d+:", errors.read(100))
    return process.returncode, digest, where and where[0].decode()


def damaged(files, path, name, without):
    """A copy of a file that lacks its middle line, or the end of its last one."""
    out = files.directory / f"{name}.damaged"
    size = path.stat().st_size
    at = 0
    with open(path, "rb") as source, open(out, "wb") as sink:
        for line in source:
            if without == "middle line" and at <= size // 2 < at + len(line):
                line, at = b"", at + len(line)
            sink.write(line)
            at += len(line)
        if without == "end":
            sink.truncate(size - 3)
    return out


def check(options, files, sections):
    """Both programs must print the same and end alike, whatever the file."""
    paths = [files.generated(what) for what in ("mix", "tiny", "huge") if what in sections]
    paths += files.kinds() if "kinds" in sections else []
    different = 0
    for path in paths:
        sealed = files.sealed(path)
        dropped = damaged(files, sealed, "dropped", without="middle line")
        cut = damaged(files, path, "cut", without="end")
        runs = [arguments_of(command, path, sealed, files.scope) for command in COMMANDS]
        runs += [["verify", dropped], ["seal", dropped], ["replay", cut], ["seal", cut]]
        codes = []
        for arguments in runs:
            ours = outcome([options.binary, *arguments])
            theirs = outcome([*REFERENCE, *arguments])
            codes.append(ours[0])
            if ours != theirs:
                different += 1
                print(f"DIFFERENT: {arguments[0]} {arguments[1]}: {ours}, reference.py {theirs}")
        print(f"{path.name}: {len(runs)} runs compared, exit codes {codes}", flush=True)
        for made in (sealed, dropped, cut):
            made.unlink()
    if different or not paths:
        sys.exit(f"FAILED: {different} outcomes differ" if paths else "nothing to check")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--binary", type=Path, default=HERE.parent / "target/release/toolreplay")
    add("--only", default=",".join(SECTIONS), metavar="A,B", help="of " + ",".join(SECTIONS))
    add("--scale", type=float, default=1.0, help="1.0 is a 1 GB mix; 0.01 will do for a smoke test")
    add("--rounds", type=int, default=5)
    add("--slow-rounds", type=int, default=1, help="for reference.py and jq")
    add("--dir", type=Path, help="where the files go (default: a temporary folder)")
    add("--keep", action="store_true", help="leave a folder that this run made")
    add("--check", action="store_true", help="compare outputs with reference.py, measure nothing")
    options = parser.parse_args()
    sections = options.only.split(",")
    if unknown := set(sections) - set(SECTIONS):
        parser.error(f"unknown section: {', '.join(sorted(unknown))}")
    if options.rounds < 1 or options.slow_rounds < 1:
        parser.error("at least one round")
    options.binary = options.binary.resolve()
    if not os.access(options.binary, os.X_OK):
        parser.error(f"no program at {options.binary}: run `cargo build --release`, or give --binary")

    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    made = options.dir is None or not options.dir.exists()
    options.dir = options.dir or Path(tempfile.mkdtemp(prefix="toolreplay-bench-"))
    options.dir.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    files = Files(options)
    try:
        if options.check:
            return check(options, files, sections)
        machine(options)
        for what in ("mix", "tiny", "huge"):
            if what in sections:
                one_file(options, files, what)
        if "kinds" in sections:
            kinds(options, files)
        if "growth" in sections:
            growth(options, files)
        if "startup" in sections:
            startup(options)
        if "size" in sections:
            size = options.binary.stat().st_size
            table("size", ["file", "bytes"], [[options.binary.name, f"{size:,}"]])
    finally:
        if options.keep:
            say(f"the files are in {options.dir}")
        elif made:
            shutil.rmtree(options.dir)


if __name__ == "__main__":
    main()
