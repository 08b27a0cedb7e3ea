#!/usr/bin/env python3
"""Measures judgement on real recordings: truth.py CORPUS [--labels FILE] [--binary PATH] [--list LEVEL]

CORPUS is a folder of recordings. Each is audited by itself; findings are counted by rule and level, and per 100 calls.
A file of labels (tab-separated, with the columns file, rule, line and verdict; a verdict begins with `right` or `wrong`)
says of findings whether they are right: what is found and labelled is counted, and what was labelled right and is not
found any more. `--list warning` prints every finding from that level up with its label, for judging by hand.

Nothing of the recordings is printed but names of files, rules, lines and tools, and what `--list` shows of messages.
"""
import argparse
import csv
import json
import os
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

LEVELS = ["note", "warning", "error"]


def audit(binary, path):
    run = subprocess.run(
        [binary, "audit", "--no-config", "--format", "json", "--allow-loss", path],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    try:
        return json.loads(run.stdout)
    except ValueError:
        return {"coverage": {"calls": 0}, "findings": [], "failed": run.stderr.strip()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--labels")
    parser.add_argument("--binary", default="target/release/toolreplay")
    parser.add_argument("--list", choices=LEVELS)
    parser.add_argument("--rule")
    args = parser.parse_args()
    names = sorted(name for name in os.listdir(args.corpus) if not name.startswith("."))
    paths = [os.path.join(args.corpus, name) for name in names]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = list(pool.map(lambda path: audit(args.binary, path), paths))
    labels = {}
    if args.labels:
        with open(args.labels, encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                labels[row["file"], row["rule"], int(row["line"])] = row["verdict"].split()[0]

    calls = sum(report["coverage"]["calls"] for report in reports)
    count, verdicts, found = Counter(), Counter(), set()
    for name, report in zip(names, reports):
        if "failed" in report:
            print(f"not read: {name}: {report['failed'][:200]}")
        for finding in report["findings"]:
            rule, level = finding["kind"], finding["level"]
            count[rule, level] += 1
            key = (name, rule, finding["line"])
            found.add(key)
            verdict = labels.get(key, "not judged")
            verdicts[rule, level, verdict] += 1
            if args.list and LEVELS.index(level) >= LEVELS.index(args.list) and args.rule in (None, rule):
                print("\t".join([name, rule, level, str(finding["line"]), verdict, finding["message"]]))
    print(f"{len(names)} recordings, {calls} calls")
    print(f"{'rule':24}{'level':10}{'findings':>10}{'per 100 calls':>15}   verdicts")
    for (rule, level), findings in sorted(count.items()):
        said = ", ".join(f"{n} {v}" for (r, l, v), n in sorted(verdicts.items()) if (r, l) == (rule, level))
        print(f"{rule:24}{level:10}{findings:>10}{100 * findings / max(calls, 1):>15.3f}   {said}")
    for level in LEVELS:
        total = sum(n for (_, own), n in count.items() if own == level)
        print(f"{'all':24}{level:10}{total:>10}{100 * total / max(calls, 1):>15.3f}")
    missed = [key for key, verdict in labels.items() if verdict == "right" and key not in found]
    if labels:
        print(f"labelled right and not found: {len(missed)}")
        for key in missed:
            print("  " + "\t".join(map(str, key)))


if __name__ == "__main__":
    main()
