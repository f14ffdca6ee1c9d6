#!/usr/bin/env python3
"""Suite fisher as a user runs it: one digest whatever the split, NumPy files in and out, and what is refused. Usage: fisher_test.py BINARY
[unittest arguments]. The helpers are those of binary.py and matrix_test.py. No time is ever asserted on."""

import json
import math
import struct

import binary
from binary import Case
from matrix_test import read_npy, write_npy


class Fisher(Case):
    def run_fisher(self, *arguments, devices=None):
        file = self.folder / "r.json"
        self.good("run", "fisher", *(devices or binary.DEVICES), "-n", 1, "--warmup", 0, "-o", file, *arguments)
        return json.loads(file.read_text())["runs"]

    def doubles(self, file):
        text, data = read_npy(file)
        self.assertIn("'<f8'", text)
        return list(struct.unpack(f"<{len(data) // 8}d", data))


class Computes(Fisher):
    def test_one_digest_whatever_the_strategy_mode_and_number_of_devices(self):
        counts = ["--device-counts", "1,2"] if binary.DEVICE_COUNT > 1 else []
        for problem in (["--size", 1500, "--dim", 37], ["--regime", "closed", "--family", "beta", "--size", 300]):
            digests = set()
            for run in self.run_fisher(*problem, "-s", "single,equal,guided,stealing,adaptive", *counts):
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
                digests.add(run["verify"]["digest"])
            self.assertEqual(len(digests), 1)

    def test_devices_that_combine_among_themselves_get_the_same_bits(self):
        if binary.DEVICE_COUNT < 2:
            self.skipTest("one device")
        digests = set()
        for peer in ("staged", "host"):
            for run in self.run_fisher("--size", 96, "--dim", 1024, "--mode", "both", "-s", "equal,dynamic,single", "--peer", peer):
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
                digests.add(run["verify"]["digest"])
        self.assertEqual(len(digests), 1)

    def test_the_record_says_what_was_computed(self):
        run = self.run_fisher("--size", 600, "--dim", 20, "-s", "equal", devices=binary.ONE_DEVICE)[0]
        self.assertEqual((run["params"]["points"], run["params"]["dim"], run["params"]["model"]), (600, 20, "scores"))
        self.assertEqual((run["work"]["ops"], run["rate"]["unit"]), (600 * 20 * 21, "FLOP/s"))
        run = self.run_fisher("--regime", "closed", "--family", "beta", "--size", 100, "-s", "equal",
                              devices=binary.ONE_DEVICE)[0]
        self.assertEqual((run["params"]["family"], run["params"]["dim"], run["rate"]["unit"]), ("beta", 2, "matrices/s"))
        self.assertIn("Boost", run["verify"]["method"])

    def test_files_of_scores_give_the_full_symmetric_matrix(self):
        x, out = self.folder / "x.npy", self.folder / "f.npy"
        write_npy(x, [[1, 2, 0], [3, -1, 1]])
        self.run_fisher("--input", x, "--output", out, "-s", "equal")
        self.assertEqual(self.doubles(out), [5, -0.5, 1.5, -0.5, 2.5, -0.5, 1.5, -0.5, 0.5])

    def test_design_matrices_and_parameters_give_that_of_the_regression(self):
        x, p, out = (self.folder / name for name in ("x.npy", "p.npy", "f.npy"))
        write_npy(x, [[1, 2], [0.5, -1]], kind="<f8")
        write_npy(p, [[0.25, -0.5]], kind="<f8")
        both = ["--input", x, "--params", p, "--precision", "fp64", "--output", out, "-s", "equal", "--mode", "resident"]
        self.run_fisher("--model", "logistic", *both, devices=binary.ONE_DEVICE)
        expected = [0.0] * 4
        for row in ((1, 2), (0.5, -1)):
            chance = 1 / (1 + math.exp(-(0.25 * row[0] - 0.5 * row[1])))
            for e in range(4):
                expected[e] += chance * (1 - chance) * row[e // 2] * row[e % 2] / 2
        for got, wanted in zip(self.doubles(out), expected):
            self.assertAlmostEqual(got, wanted, 13)
        # Two classes, the second with logit 0, are the same model: the first block of their matrix is that of the logistic one.
        write_npy(p, [[0.25, -0.5], [0, 0]], kind="<f8")
        run = self.run_fisher("--model", "softmax", *both, devices=binary.ONE_DEVICE)[0]
        self.assertEqual(run["params"]["classes"], 2)
        full = self.doubles(out)
        self.assertEqual(len(full), 16)
        for got, wanted in zip((full[0], full[1], full[4], full[5]), expected):
            self.assertAlmostEqual(got, wanted, 13)

    def test_points_of_a_file_give_a_row_for_each(self):
        x, out = self.folder / "x.npy", self.folder / "f.npy"
        write_npy(x, [[1, 2], [3, 0.5]])
        self.run_fisher("--regime", "closed", "--family", "normal", "--input", x, "--output", out, "-s", "equal")
        self.assertEqual(self.doubles(out), [0.25, 0, 0, 0.5, 4, 0, 0, 8])

    def test_scores_whose_squares_leave_fp32_are_summed_right(self):
        x, out = self.folder / "x.npy", self.folder / "f.npy"
        write_npy(x, [[1.5 * 2.0**70, 2, 2.0**-80], [0, 1, 2.0**-80]])
        for run in self.run_fisher("--input", x, "--output", out, "-s", "equal", "--verify", "full", devices=binary.ONE_DEVICE):
            self.assertEqual(run["verify"]["status"], "passed", run)
        self.assertEqual(self.doubles(out), [1.125 * 2.0**140, 1.5 * 2.0**70, 0.75 * 2.0**-10, 1.5 * 2.0**70, 2.5, 1.5 * 2.0**-80,
                                             0.75 * 2.0**-10, 1.5 * 2.0**-80, 2.0**-160])


class Refuses(Fisher):
    def unsupported(self, *arguments):
        """The reasons of a run of which nothing could be computed."""
        file = self.folder / "r.json"
        result = binary.mgpu("run", "fisher", *binary.DEVICES, "-n", 1, "--warmup", 0, "-s", "equal", "-o", file, *arguments)
        self.assertEqual(result.code, 5, result)
        runs = json.loads(file.read_text())["runs"]
        self.assertEqual({run["status"] for run in runs}, {"unsupported"}, runs)
        return {run["reason"] for run in runs}

    def test_matrices_and_sums_that_the_precision_cannot_hold_are_unsupported_and_say_why(self):
        x = self.folder / "x.npy"
        closed = ("--regime", "closed", "--input", x)
        write_npy(x, [[1, 1], [1e-23, 1]])
        for reason in self.unsupported(*closed, "--family", "gamma"):
            for part in ("x.npy", "row 1, column 0", "fp32", "accepted", "--precision fp64"):
                self.assertIn(part, reason)
        write_npy(x, [[1e-155, 1]], kind="<f8")  # the square of 1e155 aborted the process
        for reason in self.unsupported(*closed, "--family", "gamma", "--precision", "fp64"):
            self.assertIn("fp64", reason)
        write_npy(x, [[1e30, 1], [1e-30, 1]])
        for reason in self.unsupported("--input", x):
            for part in ("column 0", "fp32", "--precision fp64"):
                self.assertIn(part, reason)

    def test_bad_options_name_value_and_what_is_accepted(self):
        for option, bad in (("--regime", "full"), ("--model", "poisson"), ("--family", "cauchy"), ("--dim", "many"), ("--scores", "-1"),
                            ("--params", "/nowhere/p.npy")):
            with self.subTest(option=option):
                self.refused(["run", "fisher", f"{option}={bad}"], 2, option, bad, "accepted")
        self.refused(["run", "fisher", "--dim", "20000"], 2, "--dim", "1 to 16384")
        self.refused(["run", "merkle", "--regime", "closed"], 2, "--regime", "fisher")

    def test_bad_files_are_one_line_with_the_file_and_what_is_accepted(self):
        x, p, bad = self.folder / "x.npy", self.folder / "p.npy", self.folder / "bad.npy"
        write_npy(x, [[1, 2, 3], [4, 5, 6]])
        write_npy(p, [[1, 2]])

        def refuse(file, *names, extra=()):
            self.refused(["run", "fisher", "--input", file, *extra], 2, *names, "accepted")

        refuse(x, "--precision", "float32", "float64", extra=("--precision", "fp64"))
        refuse(x, "p.npy", "1 x 2", "1 x 3", extra=("--model", "logistic", "--params", p))
        refuse(x, "columns", "2", extra=("--regime", "closed", "--family", "gamma"))
        self.refused(["run", "fisher", "--input", x, "--dim", "4"], 2, "--dim", "3 columns")
        bad.write_text("no matrix")
        refuse(x, "--params", "bad.npy", "not a .npy file", extra=("--model", "logistic", "--params", bad))
        write_npy(bad, [[1, -2]])
        refuse(bad, "bad.npy", "row 0, column 1", "above 0", extra=("--regime", "closed", "--family", "normal"))
        for arguments in ({"kind": "<i4"}, {"order": "True"}, {"shape": "(6,)"}, {"cut": 1}):
            with self.subTest(arguments=arguments):
                write_npy(bad, [[1, 2], [3, 4], [5, 6]], **arguments)
                refuse(bad, "bad.npy")


if __name__ == "__main__":
    binary.main()
