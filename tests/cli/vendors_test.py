#!/usr/bin/env python3
"""Devices of other vendors: PoCL pretends to be each of tests/layer/devices/*.toml, by the fault
layer between the program and OpenCL, and every suite ends as the file's table [expect] says:
`passed`, or `unsupported` with a part of the reason. The key `all` is for suites that the table
does not name. No device is ever lost, disabled, hung or uncalibrated. Usage: vendors_test.py BINARY
[unittest arguments]. The thorough tier has every suite on every device, and the quick tier some of
them: PoCL compiles a GPU's kernels for seconds, and keeps them in POCL_CACHE_DIR."""

import json
import os
import tomllib
import unittest
from pathlib import Path

import binary
from binary import Case, ROOT, mgpu, thorough
from suites_test import SHAPES

DEVICES = {file.stem: tomllib.loads(file.read_text())
           for file in sorted((ROOT / "tests/layer/devices").glob("*.toml"))}
POCL = Path("/etc/OpenCL/vendors/pocl.icd")
RUNS = {suite: [suite, *shape[:shape.index("-s")]] for suite, shape in SHAPES.items()}
RUNS["kernel"] = ["kernel", "--kernel", "blur", "--size", 64]
QUICK = {("merkle", "rx7900-clover"), ("merkle", "fpga-emulator")}  # and two that share a set
LOST = ("is lost", "disabled", "hung", "no answer", "not calibrated")


def pretending(script, **more):
    """Returns variables with which PoCL is the only platform, and its devices pretend."""
    return {"OPENCL_LAYERS": os.environ["MGPU_FAULT_LAYER"], "MGPU_FAULT_SCRIPT": script,
            "OCL_ICD_VENDORS": str(POCL), **more}


def expected_of(device, suite):
    table = DEVICES[device]["expect"]
    return table.get(suite, table.get("all"))


@unittest.skipUnless(POCL.exists(), "needs PoCL (package pocl-opencl-icd)")
class Vendors(Case):
    def assert_ends(self, result, expected, file, devices=1):
        """Checks a run's exit code and the verdict of each of its cases."""
        status, _, reason = expected.partition(": ")
        for word in LOST:
            self.assertNotIn(word, result.err, result)
        if not file.exists():  # no device was left to run on
            self.assertEqual((status, result.code), ("unsupported", 7), result)
            self.assertIn(reason.lower(), result.err.lower())
            return
        report = json.loads(file.read_text())
        faults = [*report["faults"], *(fault for run in report["runs"] for fault in run["faults"])]
        self.assertEqual(faults, [], result)
        self.assertGreater(len(report["runs"]), 0)
        for run in report["runs"]:
            if status == "passed":
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"),
                                 f"{run['case']}: {run['reason']}\n{result}")
                self.assertEqual(len(run["devices"]), devices, result)
            else:
                self.assertEqual(run["status"], "unsupported", f"{run['case']}\n{result}")
                self.assertIn(reason.lower(), run["reason"].lower(), result)
        self.assertEqual(result.code, 0 if status == "passed" else 5, result)

    def run_of(self, suite, script, *arguments, mode="resident", **variables):
        """Runs a suite; PoCL compiles the kernels of msm for five minutes, once for all devices of
        the same limits."""
        file = self.folder / "r.json"
        process = binary.begin("run", *map(str, RUNS[suite]), "-n", "1", "--warmup", "0", "-s",
                               "equal", "--mode", mode, "--build-timeout", "30m", "-o",
                               str(file), *arguments, env=pretending(script, **variables))
        out, err = process.communicate(timeout=3600)
        return binary.Result(process.returncode, out, err), file

    def test_every_file_says_what_happens_in_every_suite(self):
        listed = json.loads(self.good("list", "suites", "--json").out)
        self.assertEqual({suite["name"] for suite in listed["suites"]}, {*RUNS})
        for name, device in DEVICES.items():
            self.assertGreater(len(device["sources"]), 0, name)
            for suite in RUNS:
                self.assertRegex(expected_of(name, suite) or "", "^(passed|unsupported: .+)$", name)

    def test_every_device_is_listed_with_its_platform(self):
        for name, device in DEVICES.items():
            if not all(device["device"].get(key, True) for key in ("available",
                                                                   "compiler_available")):
                continue
            if expected_of(name, "merkle") != "passed":
                continue
            result = mgpu("devices", "--json", env=pretending(f"be={name}"))
            self.assertEqual(result.code, 0, f"{name}: {result}")
            for listed in json.loads(result.out)["devices"]:
                self.assertEqual(listed["platform"], device["platform"]["name"].strip(), name)
                self.assertEqual(listed["type"], device["device"]["type"], name)

    def test_a_device_reads_input_in_place_if_it_shares_the_hosts_memory(self):
        operand = 1001 * 16  # bytes
        for name in ("apple-m2", "tesla-k80") if binary.THOROUGH else ("apple-m2",):
            log = self.folder / name
            script = f"be={self.device_file(name)}; call=upload min={operand} max={operand} do=note"
            result, file = self.run_of("geometric", script, "-d", "0:0", "--no-cache",
                                       mode="end-to-end", MGPU_FAULT_LOG=str(log))
            self.assert_ends(result, "passed", file)
            shares = DEVICES[name]["device"].get("host_unified_memory", False)
            uploads = log.read_text().splitlines() if log.exists() else []
            self.assertEqual(uploads == [], shares, uploads)
            sentence = "0:0 read the input in the host's memory, without an upload."
            self.assertEqual(sentence in result.out, shares, result)
            run, = json.loads(file.read_text())["runs"]
            device, = run["per_device"]
            self.assertEqual((device.get("in_place", False), device["bytes_in"] == 0),
                             (shares, shares), device)

    def test_two_vendors_share_a_set_and_each_pins_the_memory(self):
        vendors = ("rx7900", "arc-b580")
        sets = [(vendors, ["0:0", "0:1"]), (vendors[:1] * 2, ["0:0"])]
        for set_of, pinned_by in sets if binary.THOROUGH else sets[:1]:
            log = self.folder / "log"
            log.unlink(missing_ok=True)
            script = "".join(f"device=0:{at} be={self.device_file(set_of[at])}; "
                             for at in range(2)) + "call=pin do=note"
            result, file = self.run_of("geometric", script, "-d", "gpu", "--no-cache",
                                       POCL_DEVICES="pthread pthread", MGPU_FAULT_LOG=str(log))
            self.assert_ends(result, "passed", file, devices=2)
            platforms = {device["platform"] for device in json.loads(file.read_text())["devices"]}
            self.assertEqual(platforms, {DEVICES[name]["platform"]["name"] for name in set_of})
            # The problem's memory is pinned last; nothing else has its size.
            mapped = [json.loads(line) for line in log.read_text().splitlines()]
            last = mapped[-1]["bytes"]
            self.assertEqual([one["device"] for one in mapped if one["bytes"] == last], pinned_by)


def test_of(suite, device):
    def test(self):
        shares = DEVICES[device]["device"].get("host_unified_memory", False)
        result, file = self.run_of(suite, f"be={device}", "-d", "0:0",
                                   mode="both" if shares else "resident")
        self.assert_ends(result, expected_of(device, suite), file)
    return test if (suite, device) in QUICK else thorough(test)


for a_suite in RUNS:
    for a_device in DEVICES:
        setattr(Vendors, f"test_{a_suite}_on_{a_device.replace('-', '_')}",
                test_of(a_suite, a_device))


if __name__ == "__main__":
    binary.main()
