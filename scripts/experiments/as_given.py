#!/usr/bin/env python3
"""How much of what the devices gave during a run its split made use of.

An efficiency compares with the devices alone. Cores that share power, caches or hyperthreads give less beside each other, which no split
can mend. Of the sample whose timeline a case holds, this prints N / sum(1 / u_i) over the makespan, where u_i is what device i took for an
item (kernels, and what --slow added), and how much longer that is than alone (`single`; of a slowed device, over its factor).

    scripts/experiments/as_given.py results/xeon/slow3-[deklm]-*
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from json_input import load  # noqa: E402


def items_and_work(run):
    """Returns, per device of the case, the items and the nanoseconds of its kernels without and with the slow-down of --slow."""
    found = {}
    for device, _, begin, end, _, _ in run["timeline"]["slices"]:
        found.setdefault(device, [0, 0, 0])[0] += end - begin
    for device, kind, _, label, _, _, _, started, ended in run["timeline"]["commands"]:
        if kind == "compute" and device in found:
            found[device][1] += 0 if label == "slow-down" else ended - started
            found[device][2] += ended - started
    return [found[device] for device in sorted(found)]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    for name in sys.argv[1:]:
        alone, cells = None, []
        for run in load(name)["runs"]:
            if run["status"] != "ok":
                continue
            devices = items_and_work(run)
            if run["strategy"] == "single":
                alone = devices[0][1] / devices[0][0]
                continue
            if alone is None:
                sys.exit(f"{name}: no case of `single` before the others")
            rate = sum(items / work for items, _, work in devices)
            given = sum(items for items, _, _ in devices) / rate / run["timeline"]["makespan_ns"]
            longer = ", ".join(f"{100 * (kernels / items / alone - 1):+.0f} %" for items, kernels, _ in devices)
            cells.append(f"{run['strategy']} {given:.2f} ({longer})")
        print(f"{name}: " + "; ".join(cells))


if __name__ == "__main__":
    main()
