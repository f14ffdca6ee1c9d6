#!/usr/bin/env python3
"""Writes the table of metrics in lib/profile/README.md, and "metrics" in lib/report/result.schema.json, from what the program itself
says (`mgpu-bench list metrics --json`).

usage: metrics_table.py BINARY [--check] [--page FILE]     exit 0; exit 1 with --check when one differs; exit 2 for bad input

The table stands between two HTML comments, which stay. With --check nothing is written, and the lines that differ are printed.
"""

import argparse
import difflib
import json
import subprocess
import sys
from pathlib import Path

LIB = Path(__file__).resolve().parent.parent / "lib"
PAGE, SCHEMA = LIB / "profile" / "README.md", LIB / "report" / "result.schema.json"
AROUND_TABLE = ("<!-- begin: list metrics -->\n", "<!-- end -->")
AROUND_SCHEMA = ('\n        "metrics": {\n', "        },\n")


def table(metrics):
    lines = ["| name | unit | better | definition |", "|---|---|---|---|"]
    for metric in metrics:
        better = "higher" if metric["higher_is_better"] else "lower"
        cells = [f"`{metric['name']}`", metric["unit"], better, metric["definition"].replace("|", "\\|")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def schema(metrics):
    members = {
        "type": "object",
        "description": "null: undefined, as balance is for one device",
        "required": [metric["name"] for metric in metrics if not metric["optional"]],
        "properties": {metric["name"]: {} for metric in metrics},
    }
    text = json.dumps(members, indent=2)[2:-2].replace("{}", '{"type": ["number", "null"]}')
    return "".join(8 * " " + line + "\n" for line in text.splitlines())


def with_text(old, around, text):
    """What is between the two markers replaced by the text; None where there is not one of each, in this order."""
    head, begin, rest = old.partition(around[0])
    _, end, tail = rest.partition(around[1])
    if not begin or not end or begin in rest:
        return None
    return head + begin + text + end + tail


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", metavar="BINARY", help="mgpu-bench")
    parser.add_argument("--check", action="store_true", help="only compare")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE", help="the page (default: lib/profile/README.md)")
    arguments = parser.parse_args()
    try:
        listed = subprocess.run([arguments.binary, "list", "metrics", "--json"], capture_output=True, text=True, check=True)
        metrics = json.loads(listed.stdout)["metrics"]
        files = [(arguments.page, AROUND_TABLE, table(metrics)), (SCHEMA, AROUND_SCHEMA, schema(metrics))]
        before = [file.read_text(encoding="utf-8") for file, _, _ in files]
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError) as error:
        print(f"metrics_table: {error}", file=sys.stderr)
        return 2
    differs = False
    for (file, around, text), old in zip(files, before):
        new = with_text(old, around, text)
        if new is None:
            print(f"metrics_table: {file} has to hold {around[0].strip()} and, behind it, {around[1].strip()}", file=sys.stderr)
            return 2
        if not arguments.check:
            file.write_text(new, encoding="utf-8")
        elif new != old:
            differs = True
            print("\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), str(file), "list metrics", lineterm="", n=0)))
    if differs:
        print(f"metrics_table: run scripts/metrics_table.py {arguments.binary}")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
