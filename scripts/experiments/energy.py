#!/usr/bin/env python3
"""Is the energy of --energy right, on real devices? Part one takes one GPU and about 6 minutes, the others take two GPUs and about 4.

one: strategies on one device, which do the same work, agree to 3 %; twice the work takes twice the energy to 2 %; a second measurement is the
     no change to `compare`
two: energy on two devices - energy on one = idle power x (2 x time on two - time on one), within 5 % of the energy on two, as the rest of the
     energy goes into the same work; what auto chooses with --objective energy is within 3 % of the least energy measured
suites: energy of suites on one device and on two, per unit of work

Prints a line per point, each with what was measured, and keeps the results. Exits with 1 if a point is missed.

usage: energy.py BINARY one|two|suites -o DIR [OPTION of run ..]
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

SAME_WORK = ["merkle --size 2^20", "merkle --size 2^21", "merkle --size 2^24", "matrix --size 4096"]
ONCE_AND_TWICE = ["stencil --size 4096 --iterations 200", "stencil --size 4096 --iterations 400"]
ON_TWO = ["merkle --size 2^26", "matrix --size 8192"]
CHOICES = ["merkle --size 2^17", "merkle --size 2^24", "matrix --size 4096"]
SUITES = ["merkle --size 2^26", "msm --size 2^22", "ntt --size 2^26", "matrix --size 8192", "stencil --size 16384 --iterations 200",
          "lbm --size 512 --iterations 50", "pinn --size 65536", "tropical --size 8192"]


class Points:
    def __init__(self, given):
        self.given, self.missed, self.files = given, 0, 0

    def run(self, words, *options):
        self.files += 1
        file = self.given.output / f"{self.given.part}-{self.files}.json"
        command = [self.given.binary, "run", *words.split(), *options, *self.given.options, "--mode", "resident", "-n", "5", "--verify", "sample",
                   "--energy", "--no-timeline", "-q", "-o", str(file)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}")
        rows = [row for row in json.loads(file.read_text())["runs"] if row["status"] == "ok"]
        for row in rows:
            if row["energy"]["energy_j"] is None:
                sys.exit(f"{words}: {row['energy']['reason']}")
        return file, rows

    def tell(self, what, measured, limit):
        held = measured <= limit
        self.missed += not held
        print(f"{'ok    ' if held else 'MISSED'} {what}: {measured:.2%} of {limit:.0%}", flush=True)


def joules(row):
    return row["energy"]["energy_j"]


def one(points):
    for words in SAME_WORK:
        file, rows = points.run(words, "-d", "gpu:1", "-s", "all,auto")
        least, most = (end(map(joules, rows)) for end in (min, max))
        points.tell(f"{words}, {len(rows)} strategies on one device, {least:.4g} to {most:.4g} J", most / least - 1, 0.03)
    again, _ = points.run(SAME_WORK[-1], "-d", "gpu:1", "-s", "single,dynamic")
    compared = subprocess.run([points.given.binary, "compare", file, again, "--metrics", "energy", "--allow-missing"], capture_output=True, text=True, check=False)
    alarm = compared.returncode not in (0, 4)  # 4: noise leaves it open
    points.tell(f"{SAME_WORK[-1]}, measured again: compare ends with {compared.returncode}, a false alarm", float(alarm), 0)
    once, twice = (joules(points.run(words, "-d", "gpu:1", "-s", "single")[1][0]) for words in ONCE_AND_TWICE)
    points.tell(f"{ONCE_AND_TWICE[-1]}: {twice:.4g} J, 2 x {once:.4g} J", abs(twice / once / 2 - 1), 0.02)


def two(points):
    for words in ON_TWO:
        alone, both = points.run(words, "-d", "gpu:2", "-s", "single,equal")[1]
        idle = [counter["idle_w"] for counter in both["energy"]["counters"] if counter["of"] in both["devices"]]
        explained = sum(idle) * both["energy"]["run_ns"] / 1e9 - sum(idle) / 2 * alone["energy"]["run_ns"] / 1e9
        more = joules(both) - joules(alone)
        points.tell(f"{words}: {joules(both):.4g} J on two, {joules(alone):.4g} J on one, idle power explains {explained:.3g} of {more:.3g} J",
                    abs(more - explained) / joules(both), 0.05)
    for words in CHOICES:
        rows = points.run(words, "-d", "gpu:2", "-s", "single,equal,dynamic,auto", "--objective", "energy")[1]
        least = min(rows, key=joules)
        chosen = next(row for row in rows if row["strategy"] == "auto")
        points.tell(f"{words}: auto chooses {chosen['plan']['chosen']['strategy']} on {len(chosen['plan']['chosen']['devices'])}, "
                    f"{joules(chosen):.4g} J; least has {least['strategy']}, {joules(least):.4g} J", joules(chosen) / joules(least) - 1, 0.03)


def suites(points):
    for words in SUITES:
        alone, both = points.run(words, "-d", "gpu:2", "-s", "single,equal")[1]
        times = [row["time_ns"]["median"] for row in (alone, both)]
        print(f"{words}: {joules(alone):.4g} J on one, {joules(both):.4g} J on two, which are {times[0] / times[1]:.2f} times as fast", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("binary")
    parser.add_argument("part", choices=("one", "two", "suites"))
    parser.add_argument("-o", "--output", type=Path, required=True)
    given, options = parser.parse_known_args()
    given.options = options
    given.output.mkdir(parents=True, exist_ok=True)
    points = Points(given)
    {"one": one, "two": two, "suites": suites}[given.part](points)
    return 1 if points.missed else 0


if __name__ == "__main__":
    sys.exit(main())
