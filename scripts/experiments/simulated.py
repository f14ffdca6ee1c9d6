#!/usr/bin/env python3
"""Simulated against real for the same case. Every measured case of result files is simulated with its devices as they were predicted,
as its own median sample found them, and as that of `equal` shares of the same problem did (what else would have been), and compared
with its median time.

    scripts/experiments/simulated.py build/release/mgpu-bench results/h200/predict-2-*
"""
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from json_input import load  # noqa: E402

FIGURES = ("as predicted", "as measured", "as measured under equal")


def simulated_ns(program, file, number, run, *how):
    parameters = "".join(f":{key}={value}" for key, value in run["strategy_params"].items())
    mode = "resident" if run["mode"] == "resident" else "end-to-end"  # scalars are sent like other data
    command = [program, "simulate", "--from", file, "--case", str(number),
               "-s", run["strategy"] + parameters, "--mode", mode, "-q", "--json"]
    done = subprocess.run([*command, *how], check=True, stdout=subprocess.PIPE)
    cases = json.loads(done.stdout)["runs"]
    return [case for case in cases if case["strategy"] == run["strategy"]][-1]["time_ns"]["median"]


def problem_of(run):
    return json.dumps([run["suite"], run["params"], run["mode"], run["devices"]])


def errors_of(program, file, pool):
    """Returns, per kind of figures, the relative error of every case for which it can be computed."""
    runs = load(file)["runs"]
    cases = [(number, run) for number, run in enumerate(runs) if run["status"] == "ok" and run["plan"].get("estimates")]
    equal = {problem_of(run): number for number, run in cases if run["strategy"] == "equal"}

    def off(run, number, *how):
        return simulated_ns(program, file, number, run, *how) / run["time_ns"]["median"] - 1

    def errors(case):
        number, run = case
        by_equal = equal.get(problem_of(run), number)
        return (off(run, number, "--as-predicted"), off(run, number), off(run, by_equal) if by_equal != number else None)

    for (_, run), found in zip(cases, pool.map(errors, cases)):
        for figures, error in zip(FIGURES, found):
            if error is not None:
                yield run, figures, error


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    everything = {figures: [] for figures in FIGURES}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file in sys.argv[2:]:
            for run, figures, error in errors_of(sys.argv[1], file, pool):
                everything[figures].append(error)
                if abs(error) > 0.1 and figures != FIGURES[0]:
                    where = f"{pathlib.Path(file).name} {run['mode']} {run['strategy']} on {len(run['devices'])}"
                    print(f"  {where}, {run['time_ns']['median'] / 1e6:.3g} ms: {figures} {error:+.1%}")
    for figures, errors in everything.items():
        within = sum(abs(error) <= 0.1 for error in errors)
        print(f"{figures}: {statistics.median(map(abs, errors)):.2%} off in the median, {within} of {len(errors)} within 10 %")


if __name__ == "__main__":
    main()
