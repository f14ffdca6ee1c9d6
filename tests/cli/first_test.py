#!/usr/bin/env python3
"""What somebody sees first: what a run is about to do, tables while it goes on, devices that there are not. Usage: first_test.py BINARY
[unittest arguments]."""

import json
import os
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import binary
from binary import Case, defaults, environment, mgpu


def devices():
    return json.loads(mgpu("devices", "--json").out)["devices"]


class Outlook(Case):
    def begin(self, *arguments, env=None):
        """What a run says before it measures; it is stopped then."""
        process = subprocess.Popen([binary.BINARY, "run", *map(str, arguments)], env=environment(env), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        lines = []
        for line in process.stderr:
            lines.append(line)
            if line.startswith("  on "):
                break
        process.kill()
        process.communicate()
        return "".join(lines)

    @binary.thorough  # every suite is built for it
    def test_a_run_without_arguments_says_what_it_will_do_and_how_long_that_takes(self):
        said = self.begin()
        suites = [suite["name"] for suite in json.loads(self.good("list", "suites", "--json").out)["suites"]]
        strategies = len(json.loads(self.good("list", "strategies", "--json").out)["strategies"]) - 1  # all but auto
        self.assertIn(f"measuring {', '.join(suites[:-1])} and {suites[-1]}, resident and end to end, under {strategies} strategies: "
                      f"{len(suites) * 2 * strategies} cases, about ", said)
        self.assertRegex(said, r"\n  on \d+ devices?: \d+:\d")

    def test_cases_are_those_that_will_be_in_the_result(self):
        file = self.folder / "r.json"
        done = self.good("run", "merkle", *binary.DEVICES, "-n", 1, "-s", "equal,dynamic", "--size", "2^9,2^10", "--mode", "both", "-o", file)
        cases = len(json.loads(file.read_text())["runs"])
        self.assertIn(f"measuring merkle (2 sizes), resident and end to end, under 2 strategies: {cases} cases\n", done.err)

    def test_time_is_limited_by_the_time_limit(self):
        self.assertIn("1 case, about 3 s", self.begin("merkle", *binary.DEVICES, *defaults(["--time-limit", "3s"])))


class Tables(Case):
    def start(self, file):
        words = ["run", "merkle", *binary.ONE_DEVICE, "--size", "2^8,2^9,2^10", "--mode", "both", "-s", "single", "-n", "300", "-o", str(file)]
        return subprocess.Popen([binary.BINARY, *words], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def setUp(self):
        super().setUp()
        self.file = self.folder / "r.json"
        self.process = self.start(self.file)
        self.addCleanup(self.process.__exit__, None, None, None)

    def test_a_table_is_printed_as_soon_as_its_cases_are_measured(self):
        file, process = self.file, self.process
        first = process.stdout.readline()
        self.assertFalse(json.loads(file.read_text())["complete"])
        out = first + process.stdout.read()
        self.assertEqual(process.wait(120), 0)
        self.assertEqual(out, self.good("report", file).out)

    def test_a_reader_that_goes_away_does_not_stop_the_measurement(self):
        file, process = self.file, self.process
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        self.assertEqual(process.wait(120), 1, err)
        self.assertIn("standard output", err)
        self.assertTrue(json.loads(file.read_text())["complete"])


class Compilers(Case):
    def test_what_a_compiler_counts_does_not_reach_the_user(self):
        for suite, size in (("merkle", "2^10"), ("fisher", "64")):
            with self.subTest(suite=suite):
                done = self.good("run", suite, *binary.ONE_DEVICE, "-n", 1, *defaults(["--size", size]),
                                 env={"XDG_CACHE_HOME": str(self.folder / "cache"), "POCL_CACHE_DIR": str(self.folder / "pocl")})
                self.assertNotIn("generated", done.err)


class Building(unittest.TestCase):
    def test_how_far_the_build_is_takes_ten_lines_and_everything_else_is_shown(self):
        script = binary.HERE.parent.parent / "scripts" / "bench.sh"
        lines = [f"[{k}/87] Building CXX object {k}.o" for k in range(1, 88)]
        lines[40:40] = ["FAILED: 41.o", "error: no"]
        done = subprocess.run(["bash", "-c", f"eval \"$(sed -n '/^progress()/,/^}}/p' {shlex.quote(str(script))})\"; progress"],
                              input="\n".join(lines) + "\n", capture_output=True, text=True)
        shown = done.stdout.splitlines()
        self.assertEqual(len(shown), 12, done)
        self.assertEqual([line for line in shown if "building" not in line], ["FAILED: 41.o", "error: no"])
        self.assertEqual((shown[0], shown[-1]), ("building: 9 of 87", "building: 87 of 87"))


class Bench(unittest.TestCase):
    """scripts/bench.sh with programs in place of setup.sh, cmake and mgpu-bench that say how they were called."""
    def called(self, kind, *arguments):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        def program(file, text):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("#!/bin/sh\n" + text)
            file.chmod(0o755)
        program(root / "scripts" / "setup.sh", "echo setup\n")
        program(root / "bin" / "cmake", ":\n")
        program(root / "build" / "release" / "mgpu-bench",
                f'[ "$2" != --json ] || {{ echo \'"type": "{kind}"\'; exit; }}\n'
                'echo "$* quick=$MGPU_BENCH_QUICK mode=$MGPU_BENCH_MODE result=$(basename "$MGPU_BENCH_RESULT")"\n')
        script = root / "scripts" / "bench.sh"
        shutil.copy(binary.HERE.parent.parent / "scripts" / "bench.sh", script)
        env = {k: v for k, v in os.environ.items() if not k.startswith("MGPU_BENCH_")}
        done = subprocess.run([script, *arguments], env={**env, "PATH": f"{root / 'bin'}:{os.environ['PATH']}"}, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [line.replace(f"{root}/", "") for line in done.stdout.splitlines()]
        if not arguments:  # what to do next
            self.assertIn("build/release/mgpu-bench (--help)", lines[-2])
            self.assertIn("report_html.py mgpu-bench-result.json", lines[-1])
            lines = lines[:-3]
        return lines

    def test_without_a_gpu_it_is_quick_and_resident(self):
        self.assertEqual(self.called("cpu"), ["setup", "devices quick=true mode=resident result=mgpu-bench-result.json",
                                              "run quick=true mode=resident result=mgpu-bench-result.json"])

    def test_on_gpus_it_ends_with_a_sweep_of_sizes_unless_it_is_told_what_to_run(self):
        said = "quick= mode= result=mgpu-bench-result.json"
        self.assertEqual(self.called("gpu"), ["setup", f"devices {said}", f"run {said}",
                                              f"run --size sweep --mode resident -n 7 -o mgpu-bench-result-sweep.json {said}"])
        self.assertEqual(self.called("gpu", "merkle", "--size", "4"), ["setup", f"devices {said}", f"run merkle --size 4 {said}"])


class OneDevice(Case):
    def test_with_one_device_only_what_does_not_split_is_measured_and_it_says_how_to_get_several(self):
        file, one = self.folder / "r.json", ["run", "merkle", "-d", "cpu:1", "--size", "2^10", "--mode", "resident", "-n", 1]
        cpu = next((d for d in devices() if d["type"] == "cpu"), None)
        if cpu is None:
            self.skipTest("there is no CPU device here")
        done = self.good(*one, "-o", file)
        self.assertEqual([run["strategy"] for run in json.loads(file.read_text())["runs"]], ["single"])
        self.assertIn("nothing to split", done.err)
        if cpu["compute_units"] > 1:
            self.assertIn("--sub-devices 2", done.err.replace(f"--sub-devices {min(8, cpu['compute_units'])}", "--sub-devices 2"))
        named = self.good(*one, "-s", "equal,dynamic", "-o", file)
        self.assertEqual([run["strategy"] for run in json.loads(file.read_text())["runs"]], ["equal", "dynamic"])
        self.assertIn("nothing to split", named.err)
        self.assertNotIn("nothing to split", self.good(*one, "-s", "equal", "-o", file).err)

    def test_with_several_devices_nothing_is_said_of_that(self):
        if binary.DEVICE_COUNT < 2:
            self.skipTest("there is one device here")
        self.assertNotIn("nothing to split", self.good("run", "merkle", *binary.DEVICES, "--size", "2^10", "--mode", "resident", "-n", 1).err)


class NoGpu(Case):
    @classmethod
    def setUpClass(cls):
        if any(device["type"] == "gpu" for device in devices()):
            raise unittest.SkipTest("there is a GPU here")

    def test_a_gpu_that_there_is_not_is_said_in_one_line_with_a_command_that_works(self):
        few = ["--size", "2^10", "-n", "1", "--mode", "resident", "-s", "equal,dynamic:chunks=8"]
        for words in (["run", "merkle", "-d", "gpu", *few], ["run", "merkle", "--devices=gpu:2", *few], ["run", "-dgpu,gpu:2", "merkle", *few],
                      ["run", "merkle", "--require", "speedup>=0", "--device-filter", "gpu", *few], ["devices", "-d", "gpu", "--json"],
                      ["calibrate", "merkle", "-d", "gpu", "--no-noise"], ["run", "merkle", "-d", "gpu", "--sub-devices", "2", *few]):
            with self.subTest(words=words):
                line = self.refused(words, 7, "gpu", "there is no GPU here", "what works here: mgpu-bench ").err
                self.assertNotIn("vendors", line)
                works = shlex.split(line.split("what works here: ")[1])
                self.assertNotIn("gpu", " ".join(works[1:]).replace("mgpu", ""))
                if words[0] != "calibrate":  # which takes long
                    self.good(*works[1:])

    def test_a_gpu_that_the_environment_asks_for_is_overruled_by_the_command(self):
        env = {"MGPU_BENCH_DEVICES": "gpu"}
        line = self.refused(["run", "merkle", *defaults(["-n", "1"])], 7, "MGPU_BENCH_DEVICES", "there is no GPU here", env=env).err
        self.good(*shlex.split(line.split("what works here: ")[1])[1:], env=env)

    def test_gpus_beside_others_are_a_warning_as_before(self):
        done = self.good("run", "merkle", "-d", "gpu,cpu:1", "-n", 1, *defaults([]))
        self.assertIn('"gpu" matches no device', done.err)


if __name__ == "__main__":
    binary.main()
