#!/usr/bin/env python3
"""Runs every kernel at the smallest sizes under Oclgrind, looking for accesses out of bounds, then also for values that were never
written, then for data races, and prints each finding once.

usage: check.py PROGRAM DRIVER LAYER [--only NAME|..] [--pass WHAT]

PROGRAM is oclgrind_tests, DRIVER Oclgrind's liboclgrind-rt-icd.so, LAYER libfault_layer.so. Exit code 1: there were findings,
or a result was wrong.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PASSES = {"bounds": {}, "uninitialised values": {"OCLGRIND_UNINITIALIZED": "1"}, "data races": {"OCLGRIND_DATA_RACES": "1"}}
# Passes that are skipped. Oclgrind 21.10 uses the undefined part of a shuffled vector as if it were an index, and crashes.
CANNOT = {("merkle, as on CPUs", "uninitialised values"),
          ("stencil, as on CPUs", "uninitialised values"), ("stencil, as on GPUs", "uninitialised values"),
          ("persistent stencil, as on GPUs", "uninitialised values"),
          # One work-group intentionally reads words while another one writes them.
          ("persistent stencil, as on GPUs", "data races"),
          ("fisher, a matrix at each point from scores drawn there, as on CPUs", "uninitialised values")}


def findings(text):
    """Returns the findings by message, kernel and line: address, item and value of the first, and the count."""
    found = {}
    for part in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in part.strip().splitlines()]
        if not lines or lines[0].startswith("Oclgrind:"):
            continue
        kernel = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("Kernel:")), "?")
        places = [match.group(1) for match in (re.search(r"line (\d+)", line) for line in lines if line.startswith("At line")) if match]
        what = re.sub(r"0x[0-9a-f]+|\d+", "N", lines[0])
        key = (what, kernel, ", ".join(places))
        found.setdefault(key, [0, " / ".join(lines[:6])])[0] += 1
    return found


def test_cases(program):
    listed = subprocess.run([program, "--list-test-cases", "--no-colors"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if line and not line.startswith(("[doctest]", "==="))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("driver")
    parser.add_argument("layer")
    parser.add_argument("--only", help="test cases whose names begin so, with | between")
    parser.add_argument("--pass", dest="what", choices=PASSES, help="only that")
    options = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        for name, variables in PASSES.items():
            if options.what not in (None, name):
                continue
            for case in test_cases(options.program):
                if (case, name) in CANNOT or (options.only and not any(case.startswith(start) for start in options.only.split("|"))):
                    continue
                log.unlink(missing_ok=True)
                env = {**os.environ, "OCL_ICD_VENDORS": options.driver, "OCLGRIND_LOG": str(log), "OCLGRIND_MAX_ERRORS": "200",
                       # In optimised code it does not know the rotate instructions, nor an attribute that inlining leaves.
                       "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable -Dalways_inline=noinline",
                       "OCLGRIND_LOCAL_MEM_SIZE": str(1 << 20),  # kernels for CPUs use more than a GPU has
                       # Skips the program's first use of a buffer, which writes four bytes: Oclgrind 21.10 would take that for the buffer's
                       # length.
                       "OPENCL_LAYERS": str(Path(options.layer).resolve()), "MGPU_FAULT_SCRIPT": "call=clEnqueueFillBuffer do=skip",
                       **variables}
                begin = time.monotonic()
                done = subprocess.run([options.program, f"--test-case={case.replace(',', chr(92) + ',')}", "--no-colors"], env=env,
                                      capture_output=True, text=True, errors="replace")
                found = findings(log.read_text(errors="replace") if log.exists() else "")
                wrong = done.returncode != 0 or "1 passed" not in done.stdout
                bad += len(found) + wrong
                print(f"{case}, {name}: {len(found)} findings, {time.monotonic() - begin:.1f} s", flush=True)
                for (what, kernel, place), (count, first) in found.items():
                    print(f"  {count} x {what} | kernel {kernel} | line {place}\n    {first}")
                if wrong:
                    print(f"exit code {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-2000:]}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
