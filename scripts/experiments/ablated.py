#!/usr/bin/env python3
"""What each correction of the predictions is worth. Every measured case of result files is predicted again from the estimates that it was
predicted with: as they are, and with one correction taken out. Both are compared with its median time. Strategies plan anew from what is
left; `single` and `equal`, whose shares no estimate changes, are counted by themselves too.

    scripts/experiments/ablated.py build/release/mgpu-bench results/h200/predict-2-*
"""
import concurrent.futures
import copy
import json
import os
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from json_input import load  # noqa: E402
from simulated import simulated_ns  # noqa: E402


def estimates(**values):
    return lambda plan: [estimate.update(values) for estimate in plan["estimates"]]


def request(**values):
    return lambda plan: plan["request"].update(values)


def alone(plan):
    """Removes the time spent waiting for the others' host threads."""
    for estimate in plan["estimates"]:
        estimate["fixed_ns"] -= estimate["per_peer_contention_ns"] * (len(plan["estimates"]) - 1)
        estimate["per_peer_contention_ns"] = 0


def one_link(plan):
    for link in ("link_up", "link_down"):
        if isinstance(plan["request"][link], list):
            plan["request"][link] = plan["request"][link][-1]


def whole_shares(plan):
    for estimate in plan["estimates"]:
        estimate["pipeline"] = estimate["fits"]


CORRECTIONS = {
    "minimum time of a slice": estimates(minimum_slice_ns=0),
    "discount of the first slice": estimates(first_slice_discount_ns=0),
    "contention of host threads": alone,
    "latency of transfers": estimates(transfer_ns=0),
    "own links": estimates(up=0, down=0),
    "shared link": request(link_up=0, link_down=0),
    "shared link by number of devices": one_link,
    "shares in pieces": whole_shares,
    "start of a merge": request(merge_fixed_ns=0),
    "parts of a merge": request(merge_per_slice_ns=0),
    "parts as nodes of a tree": request(merge_tree=False),
}


def cases_of(document):
    return [(n, run) for n, run in enumerate(document["runs"]) if run["status"] == "ok" and run["plan"].get("estimates") and run["plan"].get("request")]


def errors_of(program, document, pool):
    """Returns the relative errors by number of the case."""

    def error(case):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({**document, "runs": [case[1]]}, file)
            file.flush()
            return simulated_ns(program, file.name, 0, case[1], "--as-predicted") / case[1]["time_ns"]["median"] - 1

    cases = cases_of(document)
    return {n: found for (n, _), found in zip(cases, pool.map(error, cases))}


def line(name, pairs):
    before, after = ([abs(pair[k]) for pair in pairs] for k in (0, 1))

    def figures(errors):
        return f"{statistics.median(errors):6.1%} off, {sum(e <= 0.1 for e in errors):4} within 10 %"

    print(f"{name:36} {len(pairs):4} change: {figures(before)} -> without {figures(after)}" if pairs else f"{name:36}    none changes")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.strip())
    changed = {name: ([], []) for name in CORRECTIONS}  # all cases, and those with fixed shares
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file in sys.argv[2:]:
            document = load(file)
            base = errors_of(sys.argv[1], document, pool)
            for name, take_out in CORRECTIONS.items():
                without = copy.deepcopy(document)
                for _, run in cases_of(without):
                    take_out(run["plan"])
                if without == document:
                    continue
                for n, error in errors_of(sys.argv[1], without, pool).items():
                    if error != base[n]:
                        pair, strategy = (base[n], error), document["runs"][n]["strategy"]
                        changed[name][0].append(pair)
                        if strategy in ("single", "equal"):
                            changed[name][1].append(pair)
    for name, (every, fixed) in changed.items():
        line(name, every)
        line("  of these, single and equal", fixed)


if __name__ == "__main__":
    main()
