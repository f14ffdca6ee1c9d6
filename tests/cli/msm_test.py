#!/usr/bin/env python3
"""Suite msm on three devices of one process, as a user runs it. Usage: msm_test.py BINARY [unittest arguments]. The helpers are those of
binary.py. No time is ever asserted on."""

import json

import binary
from binary import Case, mgpu


def three_devices():
    """What makes PoCL offer three devices: its driver for CPUs is called pthread, and cpu from version 4 on."""
    for driver in ("pthread", "cpu"):
        env = {"POCL_DEVICES": " ".join([driver] * 3)}
        found = mgpu("devices", "--json", "-d", "cpu", env=env)
        if found.code == 0 and len(json.loads(found.out)["devices"]) == 3:
            return env
    raise RuntimeError("PoCL offers no three devices")


class ThreeDevices(Case):
    def test_one_digest_for_every_strategy_axis_mode_and_number_of_devices(self):
        env, file = three_devices(), self.folder / "r.json"
        digests, cases = set(), set()
        for axis in ("points", "windows"):
            self.good("run", "msm", "-d", "cpu", "--axis", axis, "--size", 33, "--mode", "all", "-s", "all,auto", "-n", 1, "--warmup", 0,
                      "--device-counts", "1,2,3", "-o", file, env=env)
            for run in json.loads(file.read_text())["runs"]:
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
                digests.add(run["verify"]["digest"])
                cases.add((axis, run["strategy"], run["mode"], len(run["devices"])))
        self.assertEqual(len(digests), 1)
        strategies = len(json.loads(self.good("list", "strategies", "--json").out)["strategies"])
        self.assertEqual(len(cases), 2 * strategies * 3 * 3)


if __name__ == "__main__":
    binary.main()
