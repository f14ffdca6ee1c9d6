#!/usr/bin/env python3
"""Writes the table of metrics in lib/profile/README.md from what the program itself says (`mgpu-bench list metrics --json`).

usage: metrics_table.py BINARY [--check] [--page FILE]     exit 0; exit 1 with --check when the page differs; exit 2 for bad input

The table stands between two HTML comments, which stay. With --check nothing is written, and the lines that differ are printed.
"""

import argparse
import difflib
import json
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "lib" / "profile" / "README.md"
BEGIN, END = "<!-- begin: list metrics -->", "<!-- end -->"


def table(metrics):
    lines = ["| name | unit | better | definition |", "|---|---|---|---|"]
    for metric in metrics:
        better = "higher" if metric["higher_is_better"] else "lower"
        cells = [f"`{metric['name']}`", metric["unit"], better, metric["definition"].replace("|", "\\|")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def with_table(page, rows):
    """The page with these rows between its markers; None where it does not have one of each, in this order."""
    head, begin, rest = page.partition(BEGIN)
    old, end, tail = rest.partition(END)
    if not begin or not end or BEGIN in rest:
        return None
    return f"{head}{BEGIN}\n{rows}\n{END}{tail}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", metavar="BINARY", help="mgpu-bench")
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help="the page (default: lib/profile/README.md)")
    arguments = parser.parse_args()
    try:
        listed = subprocess.run([arguments.binary, "list", "metrics", "--json"], capture_output=True, text=True, check=True)
        metrics = json.loads(listed.stdout)["metrics"]
        page = arguments.page.read_text(encoding="utf-8")
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError) as error:
        print(f"metrics_table: {error}", file=sys.stderr)
        return 2
    new = with_table(page, table(metrics))
    if new is None:
        print(f"metrics_table: {arguments.page} has to hold {BEGIN} and, behind it, {END}", file=sys.stderr)
        return 2
    if not arguments.check:
        arguments.page.write_text(new, encoding="utf-8")
        return 0
    difference = list(difflib.unified_diff(page.splitlines(), new.splitlines(), str(arguments.page), "list metrics", lineterm="", n=0))
    if difference:
        print("\n".join(difference))
        print(f"metrics_table: run scripts/metrics_table.py {arguments.binary}")
    return 1 if difference else 0


if __name__ == "__main__":
    sys.exit(main())
