#!/usr/bin/env python3
"""How many of many short cases succeed? Runs every suite under every strategy in its modes, again and again, each time with another seed and
another small problem, until CASES cases were attempted. A case succeeds if it was measured and its result was verified; cases that the program
says do not apply are no attempts. A run without a result counts as one failed case per row of the suite's other runs.

usage: soak.py BINARY [--cases N] [--minutes M] [-o RESULT.json] [OPTION of run ..]
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gate import wilson  # noqa: E402

SMALL = {
    "merkle": ["--size 1000", "--size 2^14", "--size 100 --trees 20", "--size 4097 --tree rfc6962"],
    "fisher": ["--size 3000 --dim 32", "--size 300 --regime models --dim 8 --scores 32", "--size 5000 --regime closed"],
    "geometric": ["--size 5000", "--size 2000 --algebra 4,1,0 --op sandwich"],
    "kernel": ["--kernel saxpy --size 10000", "--kernel nbody --size 256", "--kernel life --size 64", "--kernel moments --size 10000"],
    "lbm": ["--size 16 --iterations 6", "--size 20 --iterations 4 --case cavity --lattices one"],
    "matrix": ["--size 150", "--size 96 --precision fp64 --axis tiles"],
    "msm": ["--size 100", "--size 60 --curve bls12_381 --axis windows", "--size 30 --batch 4"],
    "ntt": ["--size 2^12", "--size 2^8 --batch 30 --field goldilocks", "--size 2^10 --op intt --order rn --field bn254"],
    "pac": ["--size 2 --length 512 --perm 20", "--size 1 --channels 3 --length 512 --perm 10 --axis channel"],
    "pinn": ["--size 128 --iterations 4"],
    "pipeline": ["--size 300", "--size 200 --stages tropical,dual,clifford --fuse"],
    "stencil": ["--size 70 --iterations 8", "--kind heat3d --size 20 --iterations 5", "--kind star --size 50 --iterations 5 --split blocks"],
    "tropical": ["--size 100", "--op apsp --size 60 --density 0.2", "--op network --size 40 --width 16 --iterations 4"],
}
NO_ATTEMPT = ("unsupported", "skipped")


def succeeded(row):
    return row["status"] == "ok" and row["verify"]["status"] == "passed"


class Soak:
    def __init__(self, binary, options):
        self.binary, self.options = binary, options
        self.attempts = self.runs = 0
        self.failures, self.rows = [], {}
        self.by_suite = dict.fromkeys(SMALL, 0)

    def run(self, suite, problem, seed):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "r.json"
            words = ["run", suite, *problem.split(), "-s", "all,auto", "-n", "1", "--seed", str(seed), *self.options]
            done = subprocess.run([self.binary, *words, "-q", "--no-timeline", "-o", file], capture_output=True, text=True, timeout=900)
            rows = json.loads(file.read_text())["runs"] if file.exists() else []
        self.runs += 1
        tried = [row for row in rows if row["status"] not in NO_ATTEMPT]
        self.rows[suite] = max(self.rows.get(suite, 1), len(tried))
        if not tried or done.returncode < 0:
            self.count(suite, self.rows[suite])
            self.failures += [f"{' '.join(words)}: exit code {done.returncode}: {done.stderr.strip()[-300:]}"] * self.rows[suite]
            return
        self.count(suite, len(tried))
        self.failures += [f"{' '.join(words)}: {row['strategy']} {row['mode']}: {row['status']}, {row.get('reason') or row['verify']}"
                          for row in tried if not succeeded(row)]

    def count(self, suite, cases):
        self.attempts += cases
        self.by_suite[suite] += cases

    def result(self, seconds):
        good = self.attempts - len(self.failures)
        return {"attempts": self.attempts, "successes": good, "rate": good / self.attempts, "rate_ci95": wilson(good, self.attempts),
                "runs": self.runs, "seconds": round(seconds), "options": self.options, "by_suite": self.by_suite, "failures": self.failures}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("-o", dest="output")
    asked, options = parser.parse_known_args()
    begin, soak, dice = time.monotonic(), Soak(asked.binary, options), random.Random(1)
    for turn in range(asked.cases):
        for suite, problems in SMALL.items():
            if soak.attempts < asked.cases and time.monotonic() - begin < asked.minutes * 60:
                soak.run(suite, dice.choice(problems), turn + 1)
    result = soak.result(time.monotonic() - begin)
    low, high = result["rate_ci95"]
    print(f"{result['successes']} of {result['attempts']} cases succeeded: {100 * result['rate']:.2f} % (95 %: {100 * low:.2f} to {100 * high:.2f})")
    for failure in result["failures"]:
        print(failure)
    if asked.output:
        Path(asked.output).write_text(json.dumps(result, indent=1) + "\n")
    return 1 if result["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
