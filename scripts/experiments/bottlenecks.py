#!/usr/bin/env python3
"""Compares the predictions of `profile` with mended programs, on two GPUs. Usage: bottlenecks.py BUILD_FOLDER DIR

Runs tests/bottlenecks of that build in each mode, bare, mended and under `mgpu-bench profile`, whose files go to DIR.
Prints times of the loop in ms, what it would take by the report, and how far that is from the mended program."""

import json
import subprocess
import sys
from pathlib import Path

KERNEL = ["items=1048576", "rounds=40000"]
MODES = {
    "imbalance": [*KERNEL, "count=200"],
    "blocking-reads": [*KERNEL, "count=400"],
    "tiny-kernels": ["rounds=16000", "count=60"],
    "serial-transfers": ["items=1048576", "rounds=160000", "bytes=134217728", "count=60"],
    "one-queue": [*KERNEL, "count=200"],
    "host-work": ["items=1048576", "rounds=160000", "count=60"],
    "builds": [*KERNEL, "count=100"],
    "pageable": [*KERNEL, "count=100"],
    "small-copies": [*KERNEL, "count=200"],
    "idle-at-end": ["items=1048576", "rounds=80000", "count=80"],
}


def loop_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return float(done.stdout.split()[0])


def main(build, folder):
    program, tool = str(Path(build) / "tests" / "bottlenecks"), str(Path(build) / "mgpu-bench")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for mode, options in MODES.items():
        bare, mended = (min(loop_of(program, mode, *words, *options) for _ in range(2)) for words in ([], ["mended"]))
        file = Path(folder) / f"{mode}.json"
        under = loop_of(tool, "profile", "-q", "-o", str(file), "--", program, mode, *options)
        profile = json.loads(file.read_text())
        named, whole = profile["costs"]["held_back_by"], profile["makespan_ns"] / 1e6
        without = {cost["name"]: cost["time_ns"] / 1e6 for cost in profile["costs"]["without"]}
        predicted = under - whole + without.get(named, whole)
        print(f"{mode:17} bare {bare:8.2f} under {under:8.2f} all {whole:8.2f} mended {mended:8.2f} predicted {predicted:8.2f} "
              f"({predicted / mended - 1:+.1%}) {named} | {profile['summary'][0]}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
