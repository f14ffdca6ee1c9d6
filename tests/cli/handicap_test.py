#!/usr/bin/env python3
"""--slow, --cap-memory and --delay as a user gives them. Usage: handicap_test.py BINARY [unittest arguments]. No time is asserted on."""

import json
from pathlib import Path

import binary
from binary import Case


class RefusesBadHandicaps(Case):
    def test_a_bad_factor_is_one_line_with_option_value_and_what_is_accepted(self):
        for bad in ("0", "-2", "0.5", "1", "1.001", "nan", "inf", "1e2", "2x", "1001", "two", "@0.5", "2.5 "):
            with self.subTest(bad=bad):
                self.refused(["run", "--slow", f"0={bad}"], 2, "--slow", f'"{bad}"', "accepted", "1.01")

    def test_a_bad_start_is_one_line_with_option_value_and_what_is_accepted(self):
        for bad in ("", "1", "1.5", "soon", "-1ms", "20parsecs", "0.5.5", "."):
            with self.subTest(bad=bad):
                self.refused(["run", "--slow", f"0=2@{bad}"], 2, "--slow", bad, "accepted")

    def test_a_bad_size_or_delay_is_one_line_with_option_value_and_what_is_accepted(self):
        for option, bads in (("--cap-memory", ("0", "-1", "abc", "1.5", "512Mib")), ("--delay", ("0s", "-1ms", "5", "abc", "1parsec"))):
            for bad in bads:
                with self.subTest(option=option, bad=bad):
                    self.refused(["run", option, f"0={bad}"], 2, option, f'"{bad}"', "accepted")

    def test_a_term_without_device_or_value_is_told_the_form(self):
        for option, form in (("--slow", "DEV=FACTOR"), ("--cap-memory", "DEV=SIZE"), ("--delay", "DEV=TIME")):
            for bad in ("", "0", "=2", "0="):
                with self.subTest(option=option, bad=bad):
                    self.refused(["run", option, bad], 2, option, f'"{bad}"', form)
        self.refused(["run", "--slow", "0=2,,1=2"], 2, "--slow", "DEV=FACTOR")
        self.refused(["run", "--slow", "bogus=2"], 2, "--slow", '"bogus"', "accepted")

    def test_a_device_that_is_not_there_is_an_error_that_says_which_are(self):
        for option, value in (("--slow", "2"), ("--cap-memory", "1GiB"), ("--delay", "1ms")):
            with self.subTest(option=option):
                self.refused(["run", *binary.DEVICES, "--size", 4, option, f"77={value}"], 2, option, '"77"', "accepted")
        self.refused(["run", *binary.DEVICES, "--size", 4, "--slow", "name~no-such-device=2"], 2, "--slow", "no-such-device")

    def test_a_variable_is_blamed_when_the_value_came_from_it(self):
        self.refused(["run"], 2, "MGPU_BENCH_SLOW", '"0.5"', "accepted", env={"MGPU_BENCH_SLOW": "0=0.5"})


class RunsUnderHandicaps(Case):
    def handicaps(self, report):
        return [device.get("handicap") for device in report["devices"]]

    def test_a_slowed_device_is_recorded_named_and_right(self):
        file, trace = self.folder / "r.json", self.folder / "t.json"
        result = self.good("run", "merkle", *binary.DEVICES, "-n", 2, "--size", "2^12", "-s", "all", "--slow", "0=3", "-o", file, "--trace",
                           trace)
        self.assert_schema(file, "result")
        self.good("trace", "--check", trace)
        report = json.loads(file.read_text())
        first = {"slow": 3.0, "slow_from_fraction": 0.0, "slow_from_ns": None, "delay_ns": 0, "memory_cap_bytes": None}
        self.assertEqual(self.handicaps(report), [first] + [None] * (binary.DEVICE_COUNT - 1))
        self.assertEqual({run["verify"]["status"] for run in report["runs"]}, {"passed"})
        self.assertIn(f"handicapped on purpose: {report['devices'][0]['id']} (kernels 3 times as long)", result.out)
        self.assertEqual(self.good("report", file).out, result.out)
        labels = {command[3] for run in report["runs"] for command in run["timeline"]["commands"] if command[0] == 0}
        self.assertIn("slow-down", labels)

    def test_handicaps_come_from_several_options_terms_and_repetitions(self):
        report = self.small("--slow", "all=2@0.5", "--slow", "0=4@20ms", "--delay", "all=10us,0=20us", "--cap-memory", "all=1GiB")
        found = self.handicaps(report)
        self.assertEqual(found[0], {"slow": 4.0, "slow_from_fraction": 0.0, "slow_from_ns": 20_000_000, "delay_ns": 20_000,
                                    "memory_cap_bytes": 2**30})
        for other in found[1:]:
            self.assertEqual(other, {"slow": 2.0, "slow_from_fraction": 0.5, "slow_from_ns": None, "delay_ns": 10_000,
                                     "memory_cap_bytes": 2**30})

    def test_without_a_handicap_nothing_is_said_of_any(self):
        self.assertEqual(set(self.handicaps(self.small())), {None})

    def test_too_little_memory_makes_a_resident_case_unsupported(self):
        file = self.folder / "r.json"
        result = binary.mgpu("run", "merkle", *binary.DEVICES, "-n", 1, "--size", "2^16", "--mode", "both", "-s", "equal",
                               "--cap-memory", "all=1MiB", "-o", file)
        self.assertEqual(result.code, 0, result)
        status = {run["mode"]: run["status"] for run in json.loads(file.read_text())["runs"]}
        self.assertEqual(status, {"resident": "unsupported", "end_to_end": "ok"})


if __name__ == "__main__":
    binary.main()
