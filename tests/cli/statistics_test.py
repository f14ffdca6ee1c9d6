#!/usr/bin/env python3
"""The statistics of `mgpu-bench compare` against SciPy, statsmodels and NumPy on random results. Usage: statistics_test.py BINARY [unittest
arguments]. Skipped where those packages are not there."""

import copy
import json
import random
import subprocess

import binary
from compare_test import HERE, NO_OPENCL, Results, python_with

CASES = 200


class AgreesWithOtherImplementations(Results):
    def setUp(self):
        super().setUp()
        self.python = python_with("scipy", "statsmodels")
        if self.python is None:
            self.skipTest("no Python here has scipy and statsmodels (packages python3-scipy, python3-statsmodels)")

    def cases(self, report):
        """CASES copies of its one case, of different sizes; without events, which nobody asks for."""
        run = report["runs"][0]
        run["timeline"].update(commands=[], spans=[], slices=[])
        report["runs"] = [{**copy.deepcopy(run), "params": {**run["params"], "items": k + 1}} for k in range(CASES)]
        return report

    def agrees(self, file, *methods):
        done = subprocess.run([self.python, str(HERE / "check_comparison.py"), str(file)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for method in methods:
            self.assertIn(method, done.stdout)

    def test_samples_against_samples(self):
        """Of 1 to 60 values a side, shifted or not, spread over so few whole numbers now and then that many are equal."""
        report, rng = self.cases(self.template("equal")), random.Random(6)
        for name in ("base.json", "new.json"):
            for k, run in enumerate(report["runs"]):
                spread = rng.choice((3, 20, 10**6))
                shift = rng.choice((0, 0, spread // 3)) if name == "new.json" else 0
                most = rng.choice((8, 20, 60)) if k % 20 else 3
                run["samples_ns"] = [1000 + shift + rng.randrange(spread) for _ in range(rng.randint(1, most))]
                run["sample_index"] = 0
            (self.folder / name).write_text(json.dumps(report))
        out = self.folder / "c.json"
        binary.mgpu("compare", self.folder / "base.json", self.folder / "new.json", "--metrics", "time", "--resamples", 100,
                      "--with-resamples", "--seed", 99, "-o", out, env=NO_OPENCL)
        self.agrees(out, "mann-whitney exact", "mann-whitney normal")

    def test_rounds_in_pairs(self):
        """Rounds of one sample; in some cases times are so coarse that differences are equal, or none."""
        report = self.cases(self.template("equal"))
        for k, run in enumerate(report["runs"]):
            run["samples_ns"] = [4 if k % 4 == 0 else 10**9]
        fake = self.fake_program(report)
        text = fake.read_text().replace("int(t * drift * float(os.environ.get(\"FACTOR\", \"1\")) * random.uniform(0.999, 1.001))",
                                        "int(t * random.uniform(0.5, 1.5))")
        self.assertIn("random.uniform(0.5, 1.5)", text)
        fake.write_text(text)
        out = self.folder / "c.json"
        binary.mgpu("compare", fake, fake, "--interleave", 9, "--with", "x", "--metrics", "time", "--resamples", 100, "-q",
                      "--with-resamples", "-o", out, env=NO_OPENCL)
        self.agrees(out, "signed-rank exact", "signed-rank normal")


if __name__ == "__main__":
    binary.main()
