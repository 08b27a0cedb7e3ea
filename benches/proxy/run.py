"""Measures the recording proxy beside no proxy, a bare relay, mitmproxy and LiteLLM, interleaved, on loopback.

usage: run.py BINARY LOAD [--peers FOLDER] [--rounds N] [--check]

BINARY is a release build of toolreplay, LOAD of the example `proxy_load`. FOLDER holds the virtual environments
`mitm` and `litellm`; what is not there is left out. Every round runs each case on every target in turn, so that a busy
moment of the machine hits all of them; numbers are medians of the rounds, and added times are taken against the same
round without a proxy. The relay is the least that a proxy made of the same parts has to do; the bounds are multiples of
what it adds, so that they hold on any machine. `--check` exits with 1 when a bound of the page on performance does not hold.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent


def wait_for(port, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    sys.exit(f"nothing listens on {port}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Bench:
    def __init__(self, options):
        self.options, self.processes, self.ports, self.pids = options, [], {}, {}
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.captures = self.folder / "captures"
        self.sent = 0

    def start(self, name, command, port=None, **options):
        log = open(self.folder / f"{name}.log", "w")
        process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE if port is None else log, stderr=log, text=True, **options)
        self.processes.append(process)
        if port is None:
            port = int(re.search(r"(\d+)(?:/v1 ->.*)?$", process.stdout.readline().strip())[1])
        self.ports[name], self.pids[name] = port, process.pid
        return port

    def start_all(self):
        upstream = self.start("direct", [self.options.load, "upstream"])
        base = f"http://127.0.0.1:{upstream}/v1"
        self.start("toolreplay", [self.options.binary, "trace", "proxy", "--upstream-base-url", base, "--port", "0", "--output-dir", self.captures])
        self.start("relay", [self.options.load, "relay", upstream])
        peers = self.options.peers
        if peers and (mitm := peers / "mitm/bin/mitmdump").exists():
            port = free_port()
            self.start("mitmproxy", [mitm, "-q", "--mode", f"reverse:http://127.0.0.1:{upstream}", "--listen-host", "127.0.0.1", "-p", port, "-s", HERE / "stream_addon.py", "--set", f"confdir={self.folder}"], port)
        if peers and (litellm := peers / "litellm/bin/litellm").exists():
            config = {"model_list": [{"model_name": "gpt-4o", "litellm_params": {"model": "openai/gpt-4o", "api_base": base, "api_key": "sk-bench"}}], "litellm_settings": {"telemetry": False}}
            (self.folder / "litellm.yaml").write_text(json.dumps(config))
            port = free_port()
            environment = os.environ | {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true", "LITELLM_LOG": "ERROR", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
            self.start("litellm", [litellm, "--config", self.folder / "litellm.yaml", "--host", "127.0.0.1", "--port", port], port, cwd=self.folder, env=environment)
        for port in self.ports.values():
            wait_for(port)

    def load(self, target, kind, *arguments):
        command = [self.options.load, kind, self.ports[target], *arguments]
        run = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
        if run.returncode:
            sys.exit(f"{target} {kind} {arguments}: {run.stderr[-2000:]}")
        result = json.loads(run.stdout)
        if target == "toolreplay":
            self.sent += arguments[0] * arguments[1] if kind == "json" else arguments[0]
        return result

    def memory(self, target):
        status = pathlib.Path(f"/proc/{self.pids[target]}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024

    def processor_time(self, target):
        """What the process has taken so far, in µs."""
        fields = pathlib.Path(f"/proc/{self.pids[target]}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * 1_000_000 / os.sysconf("SC_CLK_TCK")

    def reset_memory(self, target):
        pathlib.Path(f"/proc/{self.pids[target]}/clear_refs").write_text("5")

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
        if not self.options.keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def median(values):
    return statistics.median(values)


def measure(bench, rounds):
    targets = list(bench.ports)
    slow = {"litellm"}
    found = {target: {} for target in targets}

    def keep(target, name, value):
        found[target].setdefault(name, []).append(value)

    for target in targets:
        bench.load(target, "json", 1, 50)
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr)
        for target in targets:
            few = target in slow or target == "mitmproxy"
            one = bench.load(target, "json", 1, 100 if few else 3000)
            keep(target, "json p50", one["p50"])
            keep(target, "json p99", one["p99"])
        for target in targets:
            few = 4 if target in slow else 25 if target == "mitmproxy" else 1000
            before = bench.processor_time(target)
            many = bench.load(target, "json", 32, few)
            keep(target, "requests/s", many["count"] / many["seconds"])
            keep(target, "processor µs a request", (bench.processor_time(target) - before) / many["count"])
        for target in targets:
            keep(target, "1 MiB p50", bench.load(target, "json", 1, 10 if target in slow else 50, 1 << 20)["p50"])
        for target in targets:
            chunks = bench.load(target, "sse", 20, 200, 200)
            keep(target, "chunk p50", chunks["p50"])
            keep(target, "chunk p99", chunks["p99"])
        for target in targets:
            if target in slow and number:
                continue
            bench.reset_memory(target)
            many = bench.load(target, "sse", 1000, 30, 10)
            keep(target, "1000 streams p99", many["p99"])
            keep(target, "1000 streams MiB", bench.memory(target))
    return found


def complete_captures(bench):
    """How many captures are complete, once the writer has caught up."""
    end = time.monotonic() + 60
    while True:
        complete = sum(path.read_bytes().count(b'"record_type":"capture_summary"') for path in bench.captures.glob("*.jsonl"))
        if complete >= bench.sent or time.monotonic() > end:
            return complete
        time.sleep(0.2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("load", type=pathlib.Path)
    parser.add_argument("--peers", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keep logs and captures")
    options = parser.parse_args()
    bench = Bench(options)
    try:
        bench.start_all()
        found = measure(bench, options.rounds)
        complete = complete_captures(bench)
        idle = bench.memory("toolreplay")
    finally:
        bench.close()
    names = list(found["direct"])
    print("| | " + " | ".join(found) + " |\n|---|" + "---|" * len(found))
    for name in names:
        print(f"| {name} | " + " | ".join(f"{median(rows[name]):,.0f}" if name in rows else "" for rows in found.values()) + " |")
    print()
    added = {}
    for target in found:
        if target == "direct":
            continue
        for name in ("json p50", "json p99", "1 MiB p50", "chunk p50", "chunk p99"):
            pairs = zip(found[target][name], found["direct"][name])
            added[target, name] = max(median([with_proxy - without for with_proxy, without in pairs]), 0.1)
    print("added, in µs, and as a multiple of toolreplay's:\n")
    others = [target for target in found if target not in ("direct", "toolreplay")]
    print("| | toolreplay | " + " | ".join(others) + " |\n|---|---|" + "---|" * len(others))
    for name in ("json p50", "json p99", "1 MiB p50", "chunk p50", "chunk p99"):
        own = added["toolreplay", name]
        cells = [f"{added[target, name]:,.0f} ({added[target, name] / own:,.0f}×)" for target in others]
        print(f"| {name} | {own:,.0f} | " + " | ".join(cells) + " |")
    print(f"\n{bench.sent} requests, {complete} complete captures")
    own = {name: median(values) for name, values in found["toolreplay"].items()}
    relay = {name: median(values) for name, values in found["relay"].items()}

    def within(name, factor):
        times = added["toolreplay", name] / added["relay", name]
        return f"{name}: {times:.1f} times what the relay adds, at most {factor}", times <= factor

    processor, requests = "processor µs a request", "requests/s"
    bounds = [
        within("json p50", 2.5),
        within("chunk p50", 2),
        (f"{requests}: {own[requests] / relay[requests]:.2f} of the relay's, at least 0.5", own[requests] >= relay[requests] / 2),
        (f"{processor}: {own[processor] / relay[processor]:.1f} times the relay's, at most 2.5", own[processor] <= 2.5 * relay[processor]),
        ("1,000 streams within 96 MiB", own["1000 streams MiB"] <= 96),
        ("every request has its capture", complete == bench.sent),
    ]
    for peer, name, factor in (("mitmproxy", "json p50", 20), ("mitmproxy", "chunk p50", 5), ("litellm", "json p50", 200)):
        if peer in found:
            times = added[peer, name] / added["toolreplay", name]
            bounds.append((f"{name}: {times:.0f} times less added than by {peer}, at least {factor}", times >= factor))
    for name, holds in bounds:
        print("holds " if holds else "BROKEN", name)
    if options.check and not all(holds for _, holds in bounds):
        sys.exit(1)


main()
