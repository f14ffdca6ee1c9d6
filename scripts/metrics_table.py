#!/usr/bin/env python3
"""Writes the table of metrics in lib/profile/README.md from what the program itself says (`mgpu-bench list metrics --json`).

usage: metrics_table.py BINARY [--check] [--page FILE]     exit 0; exit 1 with --check when one differs; exit 2 for bad input

The table is between two HTML comments, which stay. With --check nothing is written, and the lines that differ are printed.
"""

import argparse
import difflib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def table(metrics):
    lines = ["| name | unit | better | definition |", "|---|---|---|---|"]
    for metric in metrics:
        better = "higher" if metric["higher_is_better"] else "lower"
        cells = [f"`{metric['name']}`", metric["unit"], better, metric["definition"].replace("|", "\\|")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def with_text(old, around, text):
    """Returns the text with the part between the two markers replaced; None unless there is one of each, in this order."""
    head, begin, rest = old.partition(around[0])
    _, end, tail = rest.partition(around[1])
    if not begin or not end or begin in rest:
        return None
    return head + begin + text + end + tail


def update(program, listing, make, page, around):
    """Writes or checks the part of a page between two comments, which `make` makes of what the program prints with the arguments `listing` (JSON).
    Returns the exit code."""
    parser = argparse.ArgumentParser(prog=f"{program}.py")
    parser.add_argument("binary", metavar="BINARY", help="mgpu-bench")
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("--page", type=Path, default=page, metavar="FILE", help=f"the page (default: {page.relative_to(ROOT)})")
    arguments = parser.parse_args()
    try:
        listed = subprocess.run([arguments.binary, *listing], capture_output=True, text=True, check=True)
        text = make(json.loads(listed.stdout))
        old = arguments.page.read_text(encoding="utf-8")
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    new = with_text(old, around, text)
    if new is None:
        print(f"{program}: {arguments.page} has to hold {around[0].strip()} and, behind it, {around[1].strip()}", file=sys.stderr)
        return 2
    if not arguments.check:
        arguments.page.write_text(new, encoding="utf-8")
    elif new != old:
        print("\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), str(arguments.page), " ".join(listing), lineterm="", n=0)))
        print(f"{program}: run scripts/{program}.py {arguments.binary}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(update("metrics_table", ["list", "metrics", "--json"], lambda listed: table(listed["metrics"]), ROOT / "lib/profile/README.md",
                    ("<!-- begin: list metrics -->\n", "<!-- end -->")))
