#!/usr/bin/env python3
"""Devices with small work-groups, by PoCL's own POCL_MAX_WORK_GROUP_SIZE: every suite passes, or its
case is unsupported with the numbers that do not fit. No device is lost, and no process ends in an
assertion. Usage: limits_test.py BINARY [unittest arguments]."""

import json
import re

import binary
from binary import Case, mgpu, thorough
from suites_test import SHAPES

# Kernels with a fixed demand: suite, largest work-group, and the demand that is named.
DEMANDS = {("pinn", 4): "1 x 8"}


class Limits(Case):
    def assert_ends(self, suite, most):
        file = self.folder / "r.json"
        shape = SHAPES[suite]
        result = mgpu("run", suite, *shape[:shape.index("-s")], "-s", "equal", "-n", 1, "--warmup",
                      0, "--mode", "resident", "-d", "cpu", "-o", file,
                      env={"POCL_MAX_WORK_GROUP_SIZE": str(most)})
        report = json.loads(file.read_text())
        self.assertEqual(report["faults"], [], result)
        run, = report["runs"]
        demand = DEMANDS.get((suite, most))
        if demand is None:
            self.assertEqual((result.code, run["status"], run["verify"]["status"]),
                             (0, "ok", "passed"), f"{run['reason']}\n{result}")
            return
        self.assertEqual((result.code, run["status"]), (5, "unsupported"), result)
        self.assertTrue(re.search(f"needs work-groups of {demand} work-items; it can have up to "
                                  f"{most}$", run["reason"]), run["reason"])


def test_of(suite, most):
    def test(self):
        self.assert_ends(suite, most)
    quick = (suite, most) in {("geometric", 8), ("tropical", 4), ("pinn", 4)}
    return test if quick else thorough(test)


for a_suite in SHAPES:
    for a_most in (4, 8, 16, 64):
        setattr(Limits, f"test_{a_suite}_in_groups_of_{a_most}", test_of(a_suite, a_most))


if __name__ == "__main__":
    binary.main()
