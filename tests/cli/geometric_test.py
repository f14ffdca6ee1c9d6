#!/usr/bin/env python3
"""Suite geometric as a user runs it: one digest whatever the split, NumPy files in and out, and what is refused. Usage:
geometric_test.py BINARY [unittest arguments]. The helpers are those of binary.py. No time is ever asserted on."""

import json
import struct

import binary
from binary import Case
from matrix_test import read_npy, write_npy


class Geometric(Case):
    def run_geometric(self, *arguments, devices=None):
        file = self.folder / "r.json"
        self.good("run", "geometric", *(devices or binary.DEVICES), "-n", 1, "--warmup", 0, "-o", file, *arguments)
        runs = json.loads(file.read_text())["runs"]
        for run in runs:
            self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
        return runs

    def digests(self, *arguments):
        return {run["verify"]["digest"] for run in self.run_geometric(*arguments)}

    def test_one_digest_for_every_strategy_mode_and_number_of_devices(self):
        counts = ["--device-counts", "1,2"] if binary.DEVICE_COUNT > 1 else []
        self.assertEqual(len(self.digests("--size", 1001, "--algebra", "2,1,0", "--op", "sandwich", "-s", "all", *counts)), 1)

    def test_odd_and_tiny_ones_and_more_devices_than_items(self):
        for arguments in (("--size", 0), ("--size", 257, "--algebra", "0,0,0"), ("--size", 5, "--algebra", "4,1,0", "--op", "outer", "--precision", "fp64")):
            self.assertEqual(len(self.digests(*arguments, "-s", "equal,single", "--mode", "resident")), 1, arguments)

    def test_vectors_of_a_file_are_multiplied_as_one_does_by_hand(self):
        a, b, c = (self.folder / name for name in ("a.npy", "b.npy", "c.npy"))
        write_npy(a, [[0, 1, 2, 0], [0, 1, 0, 0]])
        write_npy(b, [[0, 3, 4, 0], [0, 0, 1, 0]])
        for operation, expected in (("geometric", (11, 0, 0, -2, 0, 0, 0, 1)), ("outer", (0, 0, 0, -2, 0, 0, 0, 1)), ("inner", (11, 0, 0, 0, 0, 0, 0, 0)),
                                    ("sandwich", (0, 7, 24, 0, 0, 0, -1, 0))):
            self.run_geometric("--algebra", "2,0,0", "--op", operation, "--input", f"{a},{b}", "--output", c, "-s", "single", "--mode", "end-to-end",
                               devices=binary.ONE_DEVICE)
            self.assertEqual(struct.unpack("<8f", read_npy(c)[1]), expected, operation)

    def test_what_it_cannot_take_is_refused_in_one_line(self):
        def refuse(code, words, *arguments):
            self.refused(["run", "geometric", *binary.ONE_DEVICE, "-n", 1, "-s", "single", *arguments], code, *words)
        for algebra in ("3", "3,0", "6,0,0", "3,0,0,0", "a,0,0", "-1,0,0", "2,2,2"):
            refuse(2, ("--algebra", algebra, "P,Q,R"), "--size", 8, f"--algebra={algebra}")
        refuse(2, ("--op", "geometric, outer, inner, sandwich"), "--size", 8, "--op", "cross")
        refuse(2, ("--precision", "fp32, fp64"), "--size", 8, "--precision", "int32")
        refuse(2, ("--data", "uniform"), "--size", 8, "--data", "normal")
        refuse(2, ("--size", "multivectors of suite geometric", "accepted: up to"), "--size", 2**40)
        refuse(2, ("--size", "eight"), "--size", "eight")
        refuse(2, ("--kind", "geometric"), "--size", 8, "--kind", "jacobi2d")
        file, other = self.folder / "a.npy", self.folder / "b.npy"
        write_npy(file, [[1, 2, 3, 4]])
        refuse(2, ("1 file(s)", "A.npy,B.npy"), "--input", file)
        refuse(2, ("none.npy",), "--input", f"{file},{self.folder / 'none.npy'}", "--algebra", "2,0,0")
        refuse(2, ("--size", "--input"), "--input", f"{file},{file}", "--algebra", "2,0,0", "--size", 8)
        write_npy(other, [[1, 2, 3, 4]], cut=4)
        refuse(2, ("b.npy", "bytes"), "--input", f"{file},{other}", "--algebra", "2,0,0")
        refuse(2, ("4 columns", "--algebra 3,0,0: 8"), "--input", f"{file},{file}")
        refuse(2, ("float32", "fp64: float64"), "--input", f"{file},{file}", "--algebra", "2,0,0", "--precision", "fp64")
        write_npy(other, [[1, 2, 3, 4], [1, 2, 3, 4]])
        refuse(2, ("has 1 rows", "as many in both"), "--input", f"{file},{other}", "--algebra", "2,0,0")
        for number in (float("nan"), float("inf"), 1e12):
            write_npy(other, [[1, number, 3, 4]])
            refuse(2, ("entry 1", "magnitudes up to"), "--input", f"{file},{other}", "--algebra", "2,0,0")


if __name__ == "__main__":
    binary.main()
