#!/usr/bin/env python3
"""What the binary refuses, before anything runs: values, names, selections, outputs. Usage: refusals_test.py BINARY [unittest arguments]."""

import json
import subprocess
from pathlib import Path

import binary
from binary import Case, defaults, environment, mgpu

NUMBERS = ("--sub-devices", "--max-devices", "--require-devices", "--device-counts", "--size", "--samples", "-n", "--warmup", "--seed")
NOT_ZERO = ("--sub-devices", "--max-devices", "--require-devices", "--device-counts", "--size", "--samples")
TIMES = ("--timeout", "--build-timeout", "--time-limit")
CHOICES = ("--mode", "--verify", "--color", "--tree", "--columns")
LONG = {"-n": "--samples"}


class RefusesWhatItDoesNotUnderstand(Case):
    def test_a_bad_number_of_any_option_is_one_line_with_option_value_and_what_is_accepted(self):
        for option in NUMBERS:
            for bad in ("abc", "-1", "1.5.2", "0x10", "18446744073709551616", "2^64", "1e3", " 1", ""):
                with self.subTest(option=option, bad=bad):
                    self.refused(["run", option, bad], 2, LONG.get(option, option), f'"{bad}"', "accepted")

    def test_zero_is_refused_where_one_is_the_least(self):
        for option in NOT_ZERO:
            with self.subTest(option=option):
                self.refused(["run", option, "0"], 2, option, '"0"', "accepted")

    def test_a_bad_time_is_one_line_with_option_value_and_what_is_accepted(self):
        for option in TIMES:
            for bad in ("abc", "-1s", "5", "1parsec", "99999999999999h", ""):
                with self.subTest(option=option, bad=bad):
                    self.refused(["run", option, bad], 2, option, f'"{bad}"', "accepted")
            self.refused(["run", option, "0s"], 2, option)

    def test_one_bad_value_of_a_list_is_enough(self):
        self.refused(["run", "--size", "2^10,huge"], 2, "--size", '"huge"', "accepted")
        self.refused(["run", "--size", "2^10,,2^11"], 2, "--size", '""', "accepted")
        self.refused(["run", "--device-counts", "1,two"], 2, "--device-counts", '"two"', "accepted")

    def test_an_unknown_word_of_a_choice_lists_the_known_ones(self):
        for option in CHOICES:
            with self.subTest(option=option):
                self.refused(["run", option, "bogus"], 2, option, '"bogus"', "accepted")

    def test_unknown_suites_strategies_parameters_options_and_commands_are_named(self):
        self.refused(["run", "bogus"], 2, '"bogus"', "merkle")
        self.refused(["run", "merkle,bogus"], 2, '"bogus"', "merkle")
        self.refused(["run", "-s", "bogus"], 2, "bogus", "dynamic")
        self.refused(["run", "-s", "equal,"], 2, "equal")
        self.refused(["run", "-s", "dynamic:bogus=1"], 2, "bogus")
        self.refused(["run", "-s", "dynamic:chunks=many"], 2, "chunks", "many")
        self.refused(["run", "--bogus"], 2, '"--bogus"')
        self.refused(["bogus"], 2, '"bogus"', "devices", "run")
        self.refused([], 2, "devices", "run")
        self.refused(["list", "bogus"], 2, '"bogus"', "suites")
        self.refused(["schema", "bogus"], 2, "bogus", "result")

    def test_a_misspelt_word_is_refused_with_the_one_that_was_probably_meant(self):
        for words, meant in ((["list", "suits"], "suites"), (["completion", "bsh"], "bash"), (["schema", "resutl"], "result"),
                             (["run", "merkle", "-size", "4"], "--size"), (["run", "merkle", "-qs", "equl"], "equal"),
                             (["run", "merkle", "-qv", "--sise", "4"], "--size"), (["devices", "-devices", "gpu"], "--devices"),
                             (["run", "-samples=3"], "--samples"), (["run", "-qd", "cpu", "merkel"], "merkle")):
            with self.subTest(words=words):
                self.refused(words, 2, f'did you mean "{meant}"?')

    def test_of_letters_in_one_word_that_is_named_which_there_is_not(self):
        self.refused(["devices", "-qd", "gpu"], 2, 'there is no option "-q" (of "-qd")')
        self.refused(["run", "merkle", "-qz"], 2, 'there is no option "-z"')

    def test_one_argument_too_many_is_named(self):
        self.refused(["devices", "gpu"], 2, 'devices: "gpu" is one argument too many')

    def test_missing_and_repeated_values_are_named(self):
        self.refused(["run", "--size"], 2, "--size")
        self.refused(["run", "--seed", "1", "--seed", "2"], 2, "--seed", "once")
        self.refused(["run", "--quick=perhaps"], 2, "--quick", "perhaps", "accepted")
        self.refused(["list"], 2, "WHAT")
        self.refused(["report"], 2, "FILE")

    def test_a_malformed_selector_says_what_is_accepted(self):
        for bad in ("", "bogus", "0:", "gpu:0", "name~", "cpu,,gpu", "!"):
            with self.subTest(selector=bad):
                self.refused(["run", "-d", bad], 2, "--devices", "accepted")

    def test_a_size_beyond_the_memory_of_the_machine_says_what_fits(self):
        result = self.refused(["run", "merkle", "--size", "2^60"], 2, "--size", str(2**60), "accepted: up to ")
        fits = int(result.err.rsplit("up to ", 1)[1])
        self.assertGreater(fits, 2**10)
        self.assertLess(fits, 2**60)
        self.refused(["run", "merkle", "--size", fits + 1], 2, "--size", f"up to {fits}")

    def test_an_input_must_be_a_readable_file_and_excludes_a_size(self):
        file = self.folder / "leaves"
        file.write_bytes(bytes(32))
        self.refused(["run", "merkle", "--input", self.folder / "none"], 2, "--input", "none")
        self.refused(["run", "merkle", "--input", self.folder], 2, "--input", "directory")
        self.refused(["run", "merkle", "--input", file, "--size", 1], 2, "--input", "--size")
        (self.folder / "empty").touch()
        self.refused(["run", "merkle", "--input", self.folder / "empty"], 2, "--input", "empty", "accepted")

    def test_leaves_that_are_cut_short_are_refused_unless_they_are_padded_or_rfc_6962_hashes_them(self):
        file = self.folder / "leaves"
        file.write_bytes(bytes(67))
        for tree in ("plain", "rfc6962-digests"):
            self.refused(["run", "merkle", *binary.DEVICES, "--tree", tree, "--input", file], 2, f"--input {file}: 67 bytes", "32", "3 are left",
                         "accepted", "--pad", "rfc6962")
        self.refused(["run", "merkle", "--pad=perhaps"], 2, "--pad", "perhaps", "accepted")
        self.refused(["run", "msm", "--pad"], 2, "--pad", "an option of suite merkle")

    def test_one_output_cannot_hold_several_problems_nor_two_outputs_one_file(self):
        self.refused(["run", "merkle", "--size", "4,8", "--output", self.folder / "root"], 2, "--output", "2 problems")
        self.refused(["run", "-o", self.folder / "x", "--trace", self.folder / "x"], 2, "--trace", "x")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_too_many_sub_devices_name_the_option(self):
        if "--sub-devices" not in binary.DEVICES:
            self.skipTest("no CPU device of several cores")
        self.refused(["run", "-d", "cpu:1", "--sub-devices", "100000"], 2, "--sub-devices", '"100000"', "accepted")

    def test_a_file_that_is_no_result_is_refused_by_report_and_trace(self):
        bad = self.folder / "bad.json"
        for text in ("", "{", "[]", '{"schema": "something/else", "schema_version": 1}'):
            bad.write_text(text)
            with self.subTest(text=text):
                self.refused(["report", bad], 2, "bad.json")
                self.refused(["trace", bad], 2, "bad.json")
        self.refused(["report", self.folder / "none.json"], 2, "none.json")
        self.refused(["trace", "--check", self.folder / "none.json"], 2, "none.json")


class ChecksOutputsBeforeTheRun(Case):
    def test_an_output_that_cannot_be_written_stops_it_with_one_line(self):
        blocked = self.folder / "blocked"
        blocked.write_text("a file, not a folder")
        for option in ("-o", "--trace", "--output"):
            with self.subTest(option=option):
                self.refused(["run", "merkle", "--size", 4, option, blocked / "r.json"], 1, "r.json")
                self.refused(["run", "merkle", "--size", 4, option, self.folder], 1, str(self.folder))
        self.assertEqual([p.name for p in self.folder.iterdir()], ["blocked"])

    def test_missing_parent_folders_are_made(self):
        file = self.folder / "a" / "b" / "r.json"
        self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "-o", file, *defaults([]))
        self.assertTrue(json.loads(file.read_text())["complete"])

    def test_a_full_disk_under_standard_output_is_an_error(self):
        if not Path("/dev/full").exists():
            self.skipTest("no /dev/full here")
        with open("/dev/full", "w") as full:
            done = subprocess.run([binary.BINARY, "list", "metrics"], env=environment(), stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)


class FindsDevices(Case):
    def test_without_opencl_it_says_where_it_looked(self):
        hidden = {"OCL_ICD_VENDORS": "/nonexistent"}
        for command in (["devices"], ["devices", "--json"], ["run", "--size", "4"]):
            with self.subTest(command=command):
                self.refused(command, 7, "/nonexistent", "clinfo", "pocl-opencl-icd", env=hidden)

    def test_a_selection_without_a_device_says_what_there_is(self):
        first = json.loads(self.good("devices", "--json").out)["devices"][0]
        result = mgpu("run", "-d", "name~no-such-device")
        self.assertEqual((result.code, result.out), (7, ""), result)
        self.assertIn(first["name"], result.err)

    def test_a_term_that_matches_nothing_is_a_warning_and_under_strict_an_error(self):
        report = self.small("-d", "name~no-such-device")
        self.assertEqual(len(report["devices"]), binary.DEVICE_COUNT)
        self.refused(["run", *binary.DEVICES, "-d", "name~no-such-device", "--strict"], 2, "no-such-device", "--strict")

    def test_fewer_devices_than_required_is_77(self):
        self.refused(["run", *binary.DEVICES, "--require-devices", binary.DEVICE_COUNT + 1], 77, "--require-devices")
        self.refused(["run", "--require-devices", 1], 77, "--require-devices", env={"OCL_ICD_VENDORS": "/nonexistent"})
        self.small("--require-devices", binary.DEVICE_COUNT)

    def test_max_devices_caps_the_set(self):
        self.assertEqual(len(self.small("--max-devices", 1)["devices"]), 1)

    def test_sub_devices_can_be_named(self):
        if "--sub-devices" not in binary.DEVICES:
            self.skipTest("no CPU device of several cores")
        whole = json.loads(self.good("devices", "-d", "cpu:1", "--json").out)["devices"][0]["id"]
        parts = json.loads(self.good("devices", "-d", whole, "--sub-devices", 2, "--json").out)["devices"]
        self.assertEqual([p["id"] for p in parts], [f"{whole}.0", f"{whole}.1"])
        one = json.loads(self.good("devices", "-d", f"{whole}.1", "--sub-devices", 2, "--json").out)["devices"]
        self.assertEqual([p["id"] for p in one], [f"{whole}.1"])

    def test_devices_json_tells_everything(self):
        document = json.loads(self.good("devices", "--json").out)
        self.assert_exact_schema(document, "devices")
        for device in document["devices"]:
            for key in ("rank", "id", "name", "vendor", "type", "score", "platform", "driver_version", "global_memory_bytes",
                        "max_allocation_bytes", "compute_units", "clock_mhz", "local_memory_bytes", "extensions", "pci", "uuid",
                        "host_unified_memory"):
                self.assertIn(key, device)
            self.assertTrue(0 <= device["score"] <= 100)

    def test_device_counts_above_the_set_are_left_out_and_under_strict_refused(self):
        counts = ["--device-counts", f"1,{binary.DEVICE_COUNT + 1}"]
        report = self.small(*counts)
        self.assertEqual({len(run["devices"]) for run in report["runs"]}, {1})
        self.refused(["run", *binary.DEVICES, *counts, "--strict"], 2, "--device-counts")
        self.refused(["run", *binary.DEVICES, "--device-counts", binary.DEVICE_COUNT + 1, "--quiet"], 2, "--device-counts", "accepted")


if __name__ == "__main__":
    binary.main()
