#!/usr/bin/env python3
"""scripts/limits_table.py on this machine: every number of its table is one of the files that it names. Usage: limits_test.py BINARY [unittest
arguments]."""

import gzip
import json
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path

import binary
from binary import Case, environment

ROOT = Path(__file__).resolve().parents[2]
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
FEW = "merkle-100000|dgemm-8192|sgemm-2048-2"


def ns_of(text):
    value, unit = re.match(r"([\d.]+) (\w+)", text).groups()
    return float(value) * UNITS[unit]


class Limits(Case):
    def command(self, *more):
        devices = ["--devices", binary.DEVICES[1], *binary.DEVICES[2:]] if binary.DEVICES else ["--devices", "all"]
        return [sys.executable, ROOT / "scripts/limits_table.py", binary.BINARY, "--out", self.folder, "--quick", "--only", FEW, *devices, *more]

    def table(self):
        rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in (self.folder / "limits.md").read_text().splitlines()
                if line.startswith("|")]
        return {row[0]: dict(zip(rows[0], row)) for row in rows[2:]}

    def near(self, text, ns):
        self.assertLess(abs(ns_of(text) / ns - 1), 0.01, text)

    def test_each_number_is_that_of_a_file(self):
        done = subprocess.run(self.command(), env=environment(), capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        table = self.table()
        self.assertEqual(list(table), ["merkle, 1000 leaves", "DGEMM 64", "SGEMM 128 on two"])
        for what, name, strategy in (("merkle, 1000 leaves", "merkle-100000", "single"), ("DGEMM 64", "dgemm-8192", "single"),
                                     ("SGEMM 128 on two", "sgemm-2048-2", "equal")):
            row, file = table[what], self.folder / f"{name}.json.gz"
            if binary.DEVICE_COUNT < 2 and name.endswith("-2"):
                self.assertIn("not measured: there is 1 device", row["now"])
                continue
            run = next(run for run in json.loads(gzip.decompress(file.read_bytes()))["runs"] if run["strategy"] == strategy)
            self.near(row["now"], run["time_ns"]["median"])
            if name.endswith("-2"):
                self.assertTrue(row["now"].endswith(f"{run['metrics']['speedup']:.2f} x one"), row)
            fraction = run["metrics"]["roofline_fraction"]
            if fraction:
                self.near(row["limit"], run["time_ns"]["median"] * fraction)
                self.assertIn("measured", row["limit"])
            else:
                self.assertEqual((row["limit"], row["of the limit"]), ("-", "-"))
            peer = self.folder / f"{name}.peer.json"
            if peer.exists():
                program, seconds = json.loads(peer.read_text())
                self.near(row["peer"].removeprefix(f"{program}: "), seconds * 1e9)
                self.assertEqual(row["times the peer"], f"{seconds * 1e9 / run['time_ns']['median']:.2f}")
            else:
                self.assertEqual(row["times the peer"], "-")
        measured = {file.name: file.read_bytes() for file in self.folder.glob("*.json.gz")}
        again = subprocess.run(self.command(), env=environment(), capture_output=True, text=True, timeout=300)
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        self.assertEqual({file.name: file.read_bytes() for file in self.folder.glob("*.json.gz")}, measured, "what is there is kept")

    def test_what_is_finished_is_kept_when_it_is_interrupted_and_no_time_is_said(self):
        started = subprocess.Popen(self.command(), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.stdout.readline()  # a line is finished
        started.send_signal(signal.SIGTERM)
        started.communicate(timeout=120)
        self.assertEqual(started.returncode, 130)
        self.assertNotIn("not measured", self.table()["merkle, 1000 leaves"]["now"])
        done = subprocess.run(self.command("--budget", "0"), env=environment(), capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = self.table()
        self.assertNotIn("not measured", table["merkle, 1000 leaves"]["now"])
        self.assertEqual(table["DGEMM 64"]["now"], "not measured: no time was left")


if __name__ == "__main__":
    binary.main()
