#!/usr/bin/env python3
"""How often does `compare --interleave` cry wolf, and how often does it see a real slow-down?

usage: gate.py BINARY [-o RESULT.json] [--with OPTIONS] [--slow FACTOR] [--rounds N] [--windows N] [--minutes M]
               [--again RESULT.json..] [--join K] [--where KEY=VALUE,..] [--resample TRIALS] [--draw N] [--slower FACTOR]

Runs settings of one build interleaved, N rounds per window: A, B (the same), and in every third window S (every device FACTOR times slower).
In each window every case is compared by itself, A with B and A with S, by the tool's own gate on the time, which runs a program that replays
the measurements. A with B must not end in exit code 3, A with S must. Rates have Wilson's 95 % intervals. The result stores the least and the
median time of every round; --again RESULT.json.. judges them again with another build; several results, recorded with the same options, are
judged together.

--resample TRIALS instead judges TRIALS draws of N rounds (--draw) from all windows, each round of one side paired with the adjacent one, and
all cases in one comparison, as a gate does: any case raises the alarm. With --slower FACTOR, B with its times multiplied by FACTOR replaces S:
it has as many rounds as B, and it is exact.
"""

import argparse
import itertools
import json
import math
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from json_input import load  # noqa: E402

REPLAY = """#!/bin/sh
read turn <{folder}/turn; echo $((turn + 1)) >{folder}/turn
for last; do :; done
cp {folder}/$turn.json "$last"
"""
VALUES = ("minimum", "median")
PAIRS = {"A with B": ("A", "B"), "A with S": ("A", "S")}


def wilson(hits, n):
    """Returns the 95 % interval of a rate."""
    z = 1.959963984540054
    rate, scale = hits / n, 1 + z * z / n
    middle, half = (rate + z * z / (2 * n)) / scale, z / scale * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return [max(0.0, middle - half), min(1.0, middle + half)]


def measure(binary, options, extra, folder):
    file = folder / "one.json"
    done = subprocess.run([binary, "run", *options, *extra, "-q", "-o", file], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the run ended with {done.returncode}: {done.stderr}")
    return json.loads(file.read_text())


def round_values(report):
    """Returns the least and the median time of every case."""
    return [[min(run["samples_ns"]), int(statistics.median(run["samples_ns"]))] for run in report["runs"]]


def slim(report):
    """Removes events, samples, other data that is replaced or not read, and the paths of this machine's folders."""
    report["tool"]["argv"] = [Path(word).name if Path(word).is_absolute() else word for word in report["tool"]["argv"]]
    for run in report["runs"]:
        if run["timeline"]:  # null if the case is not ok
            run["timeline"].update(commands=[], spans=[], slices=[])
        run["sample_index"] = 0
        for device in run["per_device"]:
            device.pop("alone_samples_ns", None)
            device.pop("busy_samples_ns", None)
    return report


class Gate:
    """The tool's gate, applied to existing measurements."""

    def __init__(self, binary, template, folder):
        self.binary, self.template, self.folder = binary, template, folder
        self.programs = []
        for side in ("base", "new"):
            (folder / side).mkdir()
            program = folder / f"{side}.sh"
            program.write_text(REPLAY.format(folder=shlex.quote(str(folder / side))))
            program.chmod(0o755)
            self.programs.append(str(program))

    def judge(self, cases, base, new):
        """Returns the exit code, and the verdict and ratio of each of these cases over rounds, each of which has the times of the cases."""
        for side, rounds in (("base", base), ("new", new)):
            (self.folder / side / "turn").write_text("0\n")
            for turn, times in enumerate(rounds):
                runs = [{**json.loads(self.template["cases"][case]), "samples_ns": [time_ns]} for case, time_ns in zip(cases, times)]
                (self.folder / side / f"{turn}.json").write_text(json.dumps({**self.template["report"], "runs": runs}))
        done = subprocess.run([self.binary, "compare", *self.programs, "--interleave", str(len(base)), "--with", "replay", "-q",
                               "--metrics", "time", "--json"], capture_output=True, text=True)
        if done.returncode not in (0, 3, 4):
            sys.exit(f"compare ended with {done.returncode}: {done.stderr}")
        return done.returncode, [(row["verdict"], row["ratio"]) for row in json.loads(done.stdout)["rows"]]


def collect(given):
    """Measures windows of rounds until the time or the number of windows is reached; returns times by setting and case."""
    options, end = shlex.split(given.options), time.monotonic() + 60 * given.minutes
    settings = {"A": [], "B": [], "S": ["--slow", f"all={given.slow}"]}
    windows, template, every = [], None, 3
    with tempfile.TemporaryDirectory() as scratch:
        measure(given.binary, options, [], Path(scratch))  # builds kernels and fills caches
        longest = 0.0
        while len(windows) < given.windows and time.monotonic() + longest < end:
            begun = time.monotonic()
            window = {name: [] for name in settings}
            for turn in range(given.rounds):
                names = list(settings) if len(windows) % every == 0 else ["A", "B"]
                for name in names if turn % 2 == 0 else reversed(names):
                    report = measure(given.binary, options, settings[name], Path(scratch))
                    window[name].append(round_values(report))
                    template = template if template or name != "A" else slim(report)
            windows.append(window)
            longest = max(longest, time.monotonic() - begun)
            print(f"window {len(windows)}: {time.monotonic() - begun:.1f} s", file=sys.stderr)
    runs = template.pop("runs")
    return {"report": template, "cases": [json.dumps(run) for run in runs]}, windows


def joined(windows, base, new, join):
    """Yields the joined rounds of both sides of every `join` windows that have them; remaining windows are dropped."""
    both = [(w[base], w[new]) for w in windows if w[base] and w[new]]
    for k in range(0, len(both) - join + 1, join):
        yield [r for w in both[k:k + join] for r in w[0]], [r for w in both[k:k + join] for r in w[1]]


def only(template, windows, where):
    """Keeps the cases that have a parameter as stated (leaves=1048576)."""
    wanted = [pair.split("=", 1) for pair in where.split(",")]
    chosen = [k for k, case in enumerate(template["cases"])
              if any(str(json.loads(case)["params"].get(key)) == value for key, value in wanted)]
    if not chosen:
        sys.exit(f"--where {where}: no case is like that")
    windows = [{name: [[values[k] for k in chosen] for values in rounds] for name, rounds in window.items()} for window in windows]
    return {**template, "cases": [template["cases"][k] for k in chosen]}, windows


def drawn(windows, base, new, given, seed):
    """Yields `given.resample` draws of rounds without replacement. The order of two equal settings is drawn, too."""
    dice = random.Random(seed)
    pairs = [pair for w in windows for pair in zip(w[base], w[new])]
    if len(pairs) < given.draw:
        sys.exit(f"--draw {given.draw}: there are {len(pairs)} rounds of {base} with {new}")
    for _ in range(given.resample):
        sides = list(zip(*dice.sample(pairs, given.draw)))
        yield reversed(sides) if {base, new} == {"A", "B"} and dice.random() < 0.5 else sides


class Outcome:
    def __init__(self):
        self.comparisons = self.alarms = self.undecided = 0
        self.verdicts, self.ratios = {}, []

    def add(self, code, rows):
        self.comparisons += 1
        self.alarms += code == 3
        self.undecided += code == 4
        for verdict, ratio in rows:
            self.verdicts[verdict] = self.verdicts.get(verdict, 0) + 1
            self.ratios.append(round(ratio, 4))

    def figures(self):
        if not self.comparisons:
            sys.exit("no window was finished: give it more --minutes")
        ratios = sorted(self.ratios)
        return {"comparisons": self.comparisons, "exit_code_3": self.alarms, "exit_code_4": self.undecided, "verdicts": self.verdicts,
                "rate": self.alarms / self.comparisons, "rate_ci95": wilson(self.alarms, self.comparisons),
                "ratio_quantiles": {q: ratios[int(q / 100 * (len(ratios) - 1))] for q in (0, 5, 50, 95, 100)}}


def with_slower(windows, factor):
    """Returns the windows with S replaced by B with its times multiplied by `factor`."""
    return [{**w, "S": [[[round(time_ns * factor) for time_ns in case] for case in one] for one in w["B"]]} for w in windows]


def judge_all(given, template, windows):
    cases, outcome = range(len(template["cases"])), {}
    if given.slower:
        windows = with_slower(windows, given.slower)
    with tempfile.TemporaryDirectory() as scratch:
        gate = Gate(given.binary, template, Path(scratch))
        for (pair, (base, new)), (k, value) in itertools.product(PAIRS.items(), enumerate(VALUES)):
            if value not in given.values:
                continue
            found = Outcome()
            both = drawn(windows, base, new, given, k) if given.resample else joined(windows, base, new, given.join)
            for base_rounds, new_rounds in both:
                for together in [cases] if given.resample else [[case] for case in cases]:
                    times = [[[one[case][k] for case in together] for one in side] for side in (base_rounds, new_rounds)]
                    found.add(*gate.judge(together, *times))
            outcome[f"{pair}, {value} of a round"] = found.figures()
    return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("-o", "--output")
    parser.add_argument("--with", dest="options", default="merkle -d cpu:1 --sub-devices 2 --size 2^14,2^15 --mode both "
                                                          "-s equal,proportional,dynamic,guided,stealing -n 7 --verify sample")
    parser.add_argument("--slow", type=float, default=1.1)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--windows", type=int, default=16)
    parser.add_argument("--minutes", type=float, default=6.5)
    parser.add_argument("--join", type=int, default=1, help="judge this many windows as one of as many rounds more")
    parser.add_argument("--again", nargs="+", help="judge the times of these results anew")
    parser.add_argument("--where", help="judge only cases with one of these parameters: KEY=VALUE,..")
    parser.add_argument("--resample", type=int, default=0, metavar="TRIALS", help="judge draws of rounds, all cases together")
    parser.add_argument("--draw", type=int, default=12, help="rounds of a draw")
    parser.add_argument("--slower", type=float, help="S is B with its times this many times as long")
    parser.add_argument("--values", nargs="+", choices=VALUES, default=VALUES, help="what stands for a round (default: each of both)")
    given = parser.parse_args()
    given.binary = os.path.abspath(given.binary)
    if given.again:
        kept = [load(name) for name in given.again]
        template, windows = kept[0]["template"], [window for one in kept for window in one["windows"]]
        given.options, given.slow, given.rounds = kept[0]["options"], kept[0]["slow"], kept[0]["rounds"]
        for name, one in zip(given.again, kept):
            if (one["options"], one["slow"]) != (given.options, given.slow):
                sys.exit(f"--again: {name} was not recorded with the options of {given.again[0]}")
    else:
        template, windows = collect(given)
    judged = only(template, windows, given.where) if given.where else (template, windows)
    outcome = judge_all(given, *judged)
    for pair, found in outcome.items():
        low, high = found["rate_ci95"]
        print(f"{pair}: {found['exit_code_3']} of {found['comparisons']} comparisons end with 3, {found['exit_code_4']} with 4: {found['rate']:.2%} "
              f"({low:.2%} to {high:.2%}); time {found['verdicts']}; ratios {found['ratio_quantiles']}")
    if given.output:
        kept = {"options": given.options, "slow": given.slow, "rounds": given.rounds, "join": given.join, "resample": given.resample,
                "draw": given.draw, "slower": given.slower, "outcome": outcome, "template": template, "windows": windows}
        Path(given.output).write_text(json.dumps(kept, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
