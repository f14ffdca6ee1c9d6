#!/usr/bin/env python3
"""Runs the binary as a user does and looks at exit code, standard output, standard error and files. Usage: cli_test.py BINARY [unittest
arguments]. Uses whatever OpenCL devices there are; small sizes only, and no time is ever asserted on."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
BINARY = None
SCRATCH = None      # of the whole test run: holds the program cache, so that kernels are built once
DEVICES = []        # options that give two devices where that is possible
DEVICE_COUNT = 0

# Variables that would change what the binary does behind the tests' back.
FOREIGN = ("NO_COLOR", "COLUMNS", "CI", "TERM")


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __str__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def environment(extra=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("MGPU_BENCH_") and k not in FOREIGN}
    env["XDG_CACHE_HOME"] = str(Path(SCRATCH) / "cache")
    env.update(extra or {})
    return env


def mgpu(*arguments, env=None, cwd=None):
    done = subprocess.run([BINARY, *map(str, arguments)], env=environment(env), cwd=cwd, capture_output=True, text=True, timeout=300)
    return Result(done.returncode, done.stdout, done.stderr)


def python_with_jsonschema():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import jsonschema"], capture_output=True).returncode == 0:
            return python
    raise RuntimeError("no python3 here has the module jsonschema (package python3-jsonschema)")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=SCRATCH)
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def good(self, *arguments, **named):
        result = mgpu(*arguments, **named)
        self.assertEqual(result.code, 0, f"{arguments}: {result}")
        return result

    def refused(self, arguments, code, *names, **named):
        """Nothing on stdout, one line on stderr that holds every one of `names`."""
        result = mgpu(*arguments, **named)
        self.assertEqual(result.code, code, f"{arguments}: {result}")
        self.assertEqual(result.out, "", f"{arguments}: {result}")
        self.assertEqual(len(result.err.splitlines()), 1, f"{arguments}: {result}")
        for name in names:
            self.assertIn(name, result.err, f"{arguments}: {result}")
        return result

    def small(self, *arguments, **named):
        """A quick good run of one sample; its result file, read."""
        file = self.folder / "small.json"
        self.good("run", "merkle", *DEVICES, "-n", 1, "--warmup", 0, "-o", file, *defaults(arguments), **named)
        return json.loads(file.read_text())

    def assert_schema(self, file, name):
        schema = self.folder / f"{name}.schema.json"
        schema.write_text(self.good("schema", name).out)
        done = subprocess.run([python_with_jsonschema(), str(HERE / "validate_schema.py"), str(file), str(schema)], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def defaults(arguments):
    """--size 2^10 and --mode resident unless the arguments have them; the strategy too, as only one of them is of interest."""
    arguments = list(arguments)
    given = [str(a) for a in arguments]
    for option, value in (("--size", "2^10"), ("--mode", "resident"), ("-s", "dynamic")):
        if option not in given and not (option == "--size" and "--input" in given):
            arguments += [option, value]
    return arguments


NUMBERS = ("--sub-devices", "--max-devices", "--require-devices", "--device-counts", "--size", "--samples", "-n", "--warmup", "--seed")
NOT_ZERO = ("--sub-devices", "--max-devices", "--require-devices", "--device-counts", "--size", "--samples")
TIMES = ("--timeout", "--time-limit")
CHOICES = ("--mode", "--verify", "--color", "--tree", "--json")
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

    def test_one_output_cannot_hold_several_problems_nor_two_outputs_one_file(self):
        self.refused(["run", "merkle", "--size", "4,8", "--output", self.folder / "root"], 2, "--output", "2 problems")
        self.refused(["run", "-o", self.folder / "x", "--trace", self.folder / "x"], 2, "--trace", "x")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_too_many_sub_devices_name_the_option(self):
        if "--sub-devices" not in DEVICES:
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
        self.good("run", "merkle", *DEVICES, "-n", 1, "-o", file, *defaults([]))
        self.assertTrue(json.loads(file.read_text())["complete"])

    def test_a_full_disk_under_standard_output_is_an_error(self):
        if not Path("/dev/full").exists():
            self.skipTest("no /dev/full here")
        with open("/dev/full", "w") as full:
            done = subprocess.run([BINARY, "list", "metrics"], env=environment(), stdout=full, stderr=subprocess.PIPE, text=True)
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
        self.assertEqual(len(report["devices"]), DEVICE_COUNT)
        self.refused(["run", *DEVICES, "-d", "name~no-such-device", "--strict"], 2, "no-such-device", "--strict")

    def test_fewer_devices_than_required_is_77(self):
        self.refused(["run", *DEVICES, "--require-devices", DEVICE_COUNT + 1], 77, "--require-devices")
        self.refused(["run", "--require-devices", 1], 77, "--require-devices", env={"OCL_ICD_VENDORS": "/nonexistent"})
        self.small("--require-devices", DEVICE_COUNT)

    def test_max_devices_caps_the_set(self):
        self.assertEqual(len(self.small("--max-devices", 1)["devices"]), 1)

    def test_sub_devices_can_be_named(self):
        if "--sub-devices" not in DEVICES:
            self.skipTest("no CPU device of several cores")
        whole = json.loads(self.good("devices", "-d", "cpu:1", "--json").out)["devices"][0]["id"]
        parts = json.loads(self.good("devices", "-d", whole, "--sub-devices", 2, "--json").out)["devices"]
        self.assertEqual([p["id"] for p in parts], [f"{whole}.0", f"{whole}.1"])
        one = json.loads(self.good("devices", "-d", f"{whole}.1", "--sub-devices", 2, "--json").out)["devices"]
        self.assertEqual([p["id"] for p in one], [f"{whole}.1"])

    def test_devices_json_tells_everything(self):
        for device in json.loads(self.good("devices", "--json").out)["devices"]:
            for key in ("rank", "id", "name", "vendor", "type", "score", "platform", "driver_version", "global_memory_bytes",
                        "max_allocation_bytes", "compute_units", "clock_mhz", "local_memory_bytes", "extensions", "pci", "uuid",
                        "host_unified_memory"):
                self.assertIn(key, device)
            self.assertTrue(0 <= device["score"] <= 100)

    def test_device_counts_above_the_set_are_left_out_and_under_strict_refused(self):
        counts = ["--device-counts", f"1,{DEVICE_COUNT + 1}"]
        report = self.small(*counts)
        self.assertEqual({len(run["devices"]) for run in report["runs"]}, {1})
        self.refused(["run", *DEVICES, *counts, "--strict"], 2, "--device-counts")
        self.refused(["run", *DEVICES, "--device-counts", DEVICE_COUNT + 1, "--quiet"], 2, "--device-counts", "accepted")


class Runs(Case):
    def test_every_strategy_and_device_count_computes_the_same_digest(self):
        counts = ",".join(map(str, range(1, DEVICE_COUNT + 1)))
        for tree in ("plain", "rfc6962"):
            report = self.small("-s", "all", "--mode", "both", "--size", "1,2,1000,2^12", "--tree", tree, "--device-counts", counts)
            digests = {}
            for run in report["runs"]:
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
                digests.setdefault(run["params"]["leaves"], set()).add(run["verify"]["digest"])
            self.assertEqual(sorted(digests), [1, 2, 1000, 4096])
            for size, found in digests.items():
                self.assertEqual(len(found), 1, f"{tree}, {size} leaves: {found}")
            strategies = {s["name"] for s in json.loads(self.good("list", "strategies", "--json").out)["strategies"]}
            self.assertEqual({run["strategy"].split(":")[0] for run in report["runs"]}, strategies)
            self.assertEqual({run["mode"] for run in report["runs"]}, {"resident", "end_to_end"})

    def test_the_result_file_obeys_its_schema_and_says_what_was_asked(self):
        file = self.folder / "r.json"
        command = ["run", "merkle", *DEVICES, "-n", "3", "--size", "2^10", "-s", "single,equal", "-o", str(file)]
        result = self.good(*command, env={"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
        self.assert_schema(file, "result")
        report = json.loads(file.read_text())
        self.assertTrue(report["complete"])
        self.assertEqual(report["tool"]["argv"][1:], command)
        self.assertEqual(report["environment"]["CUDA_DEVICE_ORDER"], "PCI_BUS_ID")
        self.assertEqual({len(run["samples_ns"]) for run in report["runs"]}, {3})
        self.assertIn("merkle", result.out)
        self.assertNotIn("\x1b", result.out + result.err)

    def test_json_on_standard_output_is_alone_there(self):
        result = self.good("run", "merkle", *DEVICES, "-n", 1, "--json", "-", *defaults([]))
        self.assertEqual(json.loads(result.out)["schema"], "mgpu-bench/result")
        file = self.folder / "out.json"
        file.write_text(result.out)
        self.assert_schema(file, "result")

    def test_quiet_says_nothing_on_standard_error(self):
        result = self.good("run", "merkle", *DEVICES, "-n", 1, "-q", *defaults([]))
        self.assertEqual(result.err, "")

    def test_a_group_is_one_line_where_there_is_no_terminal(self):
        result = self.good("run", "merkle", *DEVICES, "-n", 1, *defaults(["--mode", "both"]))
        self.assertEqual(len([line for line in result.err.splitlines() if "cases ok" in line]), 2, result)
        self.assertNotIn("\r", result.err)

    def test_another_seed_is_another_problem(self):
        digests = [self.small("--seed", seed)["runs"][0]["verify"]["digest"] for seed in (1, 1, 2)]
        self.assertEqual(digests[0], digests[1])
        self.assertNotEqual(digests[0], digests[2])

    def test_an_input_file_is_worked_on_and_its_result_written(self):
        leaves, root = self.folder / "leaves", self.folder / "out" / "root"
        leaves.write_bytes(bytes(i % 251 for i in range(32 * 1000)))
        report = self.small("--input", leaves, "--output", root)
        self.assertEqual(report["runs"][0]["params"]["leaves"], 1000)
        self.assertEqual(root.read_text().strip(), report["runs"][0]["verify"]["digest"])

    def test_verification_can_be_turned_off_and_says_so(self):
        self.assertEqual({run["verify"]["status"] for run in self.small("--verify", "off")["runs"]}, {"off"})

    def test_cases_not_begun_by_the_time_limit_are_skipped_and_nothing_measured_is_a_failure(self):
        file = self.folder / "r.json"
        result = mgpu("run", "merkle", *DEVICES, "-n", 1, "--time-limit", "1ns", "-o", file, *defaults([]))
        self.assertEqual(result.code, 5, result)
        self.assertEqual({run["status"] for run in json.loads(file.read_text())["runs"]}, {"skipped"})
        self.assert_schema(file, "result")

    def test_report_prints_the_tables_of_the_run(self):
        file = self.folder / "r.json"
        run = self.good("run", "merkle", *DEVICES, "-n", 2, "-o", file, *defaults([]))
        self.assertEqual(self.good("report", file).out, run.out)
        self.assertIn("\x1b[", self.good("report", file, "--color", "always").out)
        self.assertNotIn("\x1b[", self.good("report", file, "--color", "never").out)


class Traces(Case):
    def test_traces_obey_the_rules_whether_made_by_run_or_later(self):
        result, direct, later = self.folder / "r.json", self.folder / "t.json", self.folder / "u.json"
        self.good("run", "merkle", *DEVICES, "-n", 2, "-o", result, "--trace", direct, *defaults(["-s", "all", "--mode", "both"]))
        self.good("trace", result, "-o", later)
        for trace in (direct, later):
            self.good("trace", "--check", trace)
            self.assert_schema(trace, "trace")
        self.assertEqual(json.loads(self.good("trace", result).out), json.loads(later.read_text()))

    def test_a_broken_trace_is_found_out(self):
        for text in ("{", '{"traceEvents": [{"ph": "X", "name": "a", "pid": "one", "tid": 1, "ts": 0, "dur": -1}]}'):
            bad = self.folder / "bad.json"
            bad.write_text(text)
            result = mgpu("trace", "--check", bad)
            self.assertEqual((result.code, result.out), (2, ""), result)
            self.assertIn("bad.json", result.err)


class LayersOfSettings(Case):
    def size(self, *arguments, **named):
        file = self.folder / "layers.json"
        self.good("run", "merkle", *DEVICES, "-n", 1, "--warmup", 0, "--mode", "resident", "-s", "single", "-o", file, *arguments, **named)
        return json.loads(file.read_text())["runs"][0]["params"]["leaves"]

    def test_a_flag_wins_over_the_environment_that_over_the_config_file_that_over_the_default(self):
        config = self.folder / "c.toml"
        config.write_text('# sizes\nsize = "64"\n')
        self.assertEqual(self.size("--config", config), 64)
        self.assertEqual(self.size("--config", config, env={"MGPU_BENCH_SIZE": "128"}), 128)
        self.assertEqual(self.size("--config", config, "--size", "256", env={"MGPU_BENCH_SIZE": "128"}), 256)
        self.assertEqual(self.size(env={"MGPU_BENCH_CONFIG": str(config)}), 64)

    def test_a_config_file_may_have_a_run_section_arrays_and_flags(self):
        config = self.folder / "c.toml"
        config.write_text('[run]\nsize = [64, "2^7"]\nquiet = true\n')
        result = self.good("run", "merkle", *DEVICES, "-n", 1, "-s", "single", "--mode", "resident", "--config", config, "--json", "-")
        self.assertEqual([run["params"]["leaves"] for run in json.loads(result.out)["runs"]], [64, 128])
        self.assertEqual(result.err, "")

    def test_unknown_keys_doubled_keys_and_unreadable_files_are_refused(self):
        config = self.folder / "c.toml"
        for text, name in (("sise = 4\n", "sise"), ("[ran]\nsize = 4\n", "ran.size"), ("size = 4\nseed = 1\nsize = 8\n", "size")):
            config.write_text(text)
            with self.subTest(text=text):
                self.refused(["run", "--config", config], 2, "c.toml", f'"{name}"')
        self.refused(["run", "--config", self.folder / "none.toml"], 2, "--config", "none.toml")
        self.refused(["run", "--config", self.folder], 2, "--config")

    def test_a_bad_value_is_blamed_on_the_layer_it_came_from(self):
        config = self.folder / "c.toml"
        config.write_text("size = many\n")
        self.refused(["run", "--config", config], 2, "c.toml: size", '"many"', "accepted")
        self.refused(["run"], 2, "MGPU_BENCH_TIME_LIMIT", '"soon"', "accepted", env={"MGPU_BENCH_TIME_LIMIT": "soon"})
        self.refused(["run"], 2, "MGPU_BENCH_STRICT", '"perhaps"', "accepted", env={"MGPU_BENCH_STRICT": "perhaps"})

    def test_a_misspelt_variable_is_warned_of(self):
        result = self.good("run", "merkle", *DEVICES, "-n", 1, *defaults([]), env={"MGPU_BENCH_SISE": "4"})
        self.assertIn("MGPU_BENCH_SISE", result.err)


class Stops(Case):
    def start(self, *arguments):
        return subprocess.Popen([BINARY, "run", "merkle", *map(str, DEVICES), *map(str, arguments)], env=environment(),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_the_first_signal_keeps_what_was_measured(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(signal=number):
                file = self.folder / f"{code}.json"
                process = self.start("--size", "2^12", "--mode", "resident", "-s", "single", "-n", "100000000", "-o", file)
                time.sleep(2)
                process.send_signal(number)
                out, err = process.communicate(timeout=120)
                self.assertEqual(process.returncode, code, out + err)
                self.assertIn("stopping", err)
                self.assertFalse(json.loads(file.read_text())["complete"])
                self.assert_schema(file, "result")
                self.assertIn("interrupted", mgpu("report", file).err)

    def test_groups_finished_before_the_signal_are_in_the_file_while_the_run_goes_on(self):
        file = self.folder / "r.json"
        # Six groups of at least half a second each: the stop rule's least time.
        process = self.start("--mode", "both", "--size", "2^8,2^9,2^10", "-s", "single", "-o", file)
        for _ in range(6000):
            if file.exists() or process.poll() is not None:
                break
            time.sleep(0.02)
        early = json.loads(file.read_text())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertFalse(early["complete"])
        self.assertGreaterEqual(len(early["runs"]), 1)
        late = json.loads(file.read_text())
        self.assertFalse(late["complete"])
        self.assertEqual(late["runs"][: len(early["runs"])], early["runs"])
        self.assertEqual(list(self.folder.glob("r.json?*")), [])

    def test_when_every_device_counts_as_hung_the_run_fails_and_the_file_is_whole(self):
        # The device goes on working on what it was given: nothing of it may be freed.
        file = self.folder / "r.json"
        process = self.start("--max-devices", "1", "--size", "2^16", "--mode", "resident", "-s", "single", "-n", "3", "-o", file,
                             "--timeout", "1ns")
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 5, out + err)
        self.assertNotIn("ok", {run["status"] for run in json.loads(file.read_text())["runs"]})
        self.assert_schema(file, "result")


class ToldWithoutDevices(Case):
    def test_help_and_version_need_no_device(self):
        hidden = {"OCL_ICD_VENDORS": "/nonexistent"}
        self.assertIn("Examples", self.good("run", "--help", env=hidden).out)
        self.assertIn("--tree", self.good("run", "-h", env=hidden).out)
        for command in ("devices", "list", "run", "report", "trace", "schema"):
            self.assertIn(command, self.good("--help", env=hidden).out)
            self.assertIn("Usage", self.good(command, "-h", env=hidden).out)
        version = self.good("--version", env=hidden).out
        self.assertRegex(version, r"mgpu-bench \d+\.\d+\.\d+ \(git ")
        self.assertIn("result schema 1", version)

    def test_lists_are_the_same_in_text_and_json(self):
        for what, some in (("suites", "merkle"), ("strategies", "proportional"), ("metrics", "imbalance_derose_percent")):
            with self.subTest(what=what):
                text = self.good("list", what).out
                names = [entry["name"] for entry in json.loads(self.good("list", what, "--json").out)[what]]
                self.assertIn(some, names)
                for name in names:
                    self.assertIn(name, text)

    def test_schemas_are_json(self):
        for name in ("result", "trace"):
            self.assertIn("$schema", json.loads(self.good("schema", name).out))


def find_devices():
    """Two sub-devices of the first CPU where there is one that can be split, else the default devices."""
    split = mgpu("devices", "-d", "cpu:1", "--sub-devices", "2", "--json")
    if split.code == 0:
        return ["-d", "cpu:1", "--sub-devices", "2"], 2
    found = mgpu("devices", "--json")
    if found.code != 0:
        sys.exit(f"these tests need an OpenCL device (package pocl-opencl-icd makes one of the CPU): {found.err}")
    return ["-d", "0"], 1


def main():
    """Runs the tests of the program that calls this: other files of tests share everything above."""
    global BINARY, SCRATCH, DEVICES, DEVICE_COUNT
    if len(sys.argv) < 2:
        sys.exit(f"usage: {Path(sys.argv[0]).name} BINARY [unittest arguments]")
    BINARY = str(Path(sys.argv.pop(1)).resolve())
    with tempfile.TemporaryDirectory() as SCRATCH:
        DEVICES, DEVICE_COUNT = find_devices()
        unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
