#!/usr/bin/env python3
"""Tests of `mgpu-bench calibrate`, `plan` and `links` on devices. Usage: devices_test.py BINARY
[unittest arguments]. Figures are only compared with each other. Tables and refusals are in
tests/golden/cli/calibrate.txt, links.txt and refusals.txt."""

import json
import os
import re
import shutil
import subprocess
import unittest

import binary
from binary import Case, mgpu

RATES = ("fp32_flops", "int32_ops", "memory_bytes_per_s", "pinned_up_bytes_per_s",
         "pinned_down_bytes_per_s", "pageable_up_bytes_per_s", "pageable_down_bytes_per_s")


class Calibrates(Case):
    """One calibration of everything, and the commands that use its cache."""

    @classmethod
    def setUpClass(cls):
        cls.cache = binary.Path(binary.SCRATCH) / "cache" / "mgpu-bench" / "calibration"
        cls.words = ["merkle", *binary.DEVICES, "--json"]
        cls.done = mgpu("calibrate", *cls.words, "--no-noise")
        if cls.done.code != 0:
            raise RuntimeError(f"calibrate: {cls.done}")
        cls.first = json.loads(cls.done.out)
        cls.set_rates(cls.cache)

    @staticmethod
    def set_rates(cache, **changed):
        """Gives all devices the cached rate of one, as on a machine without other load."""
        files = sorted(cache.glob("suite-*.json"))
        rate = {**json.loads(files[0].read_text())["rate"], **changed}
        rate.pop("busy", None)
        for file in files:
            file.write_text(json.dumps({**json.loads(file.read_text()), "rate": rate}))

    def calibrated(self, *arguments):
        result = self.good("calibrate", *self.words, "--no-noise", *arguments)
        return json.loads(result.out), result.err

    def capabilities(self):
        result = self.good("devices", *self.words[1:])
        return [device["capability"] for device in json.loads(result.out)["devices"]], result.err

    def assert_capabilities_exact(self, document, name):
        """Checks a document like assert_exact_schema, but for figures that older results lack."""
        document = json.loads(json.dumps(document))
        for device in document["devices"]:
            for name_of_figure in ("least_kernel_ns", "least_waiting_kernel_ns"):
                self.assertGreater(device["capability"].pop(name_of_figure), 0)
        self.assert_exact_schema(document, name)

    def test_it_says_what_it_measured(self):
        self.assertIn("measuring merkle on", self.done.err)
        self.assert_capabilities_exact(self.first, "calibrate")
        self.assertEqual({device["from"] for device in self.first["devices"]}, {"measured"})
        for device in self.first["devices"]:
            self.assertGreater(min(device["capability"][rate] for rate in RATES), 0)

    def test_what_is_cached_is_not_measured_again_and_runs_record_it(self):
        files = {file: file.read_bytes() for file in self.cache.iterdir()}
        again, err = self.calibrated()
        self.assertEqual(({device["from"] for device in again["devices"]}, err), ({"cached"}, ""))
        expected = [device["capability"] for device in self.first["devices"]]
        self.assertEqual([device["capability"] for device in again["devices"]], expected)
        self.assertEqual(self.capabilities(), (expected, ""))
        report = self.small(devices=self.words[1:-1])
        self.assertEqual([device["capability"] for device in report["devices"]], expected)
        self.assert_capabilities_exact(json.loads(self.good("devices", *self.words[1:]).out), "devices")
        self.assertEqual({file: file.read_bytes() for file in self.cache.iterdir()}, files)

    def test_damaged_and_outdated_files_are_warned_of_and_not_used(self):
        for change, why in ((lambda t: t[: len(t) // 2], "cut off"),
                            (lambda t: t.replace('"driver": "', '"driver": "old '), "driver"),
                            (lambda t: t.replace('"fp32_flops": ', '"fp32_flops": -'),
                             "fp32_flops")):
            files = {file: file.read_text() for file in self.cache.glob("device-*.json")}
            for file, text in files.items():
                file.write_text(change(text))
            try:
                found, err = self.capabilities()
            finally:
                for file, text in files.items():
                    file.write_text(text)
            self.assertEqual(found, [{}] * len(self.first["devices"]), why)
            self.assertIn(why, err)

    @binary.thorough
    def test_the_noise_that_is_cached_is_the_floor_of_comparisons(self):
        self.good("calibrate", *self.words)
        noise = next(iter(self.cache.glob("noise-*.json")), None)
        if noise is None:
            self.skipTest("this machine is too busy to measure noise")
        noise.write_text(re.sub(r'"noise": [0-9.e-]+', '"noise": 0.2', noise.read_text()))
        report = self.small(devices=self.words[1:-1])
        self.assertEqual({run["noise_floor"] for run in report["runs"]}, {0.2})
        file = self.folder / "small.json"
        rows = json.loads(self.good("compare", file, file, "--json").out)["rows"]
        self.assertEqual({row["floor"] for row in rows}, {0.2})

    def test_a_size_by_a_rate_of_a_busy_machine_is_doubted(self):
        shutil.copytree(self.cache, self.folder / "mgpu-bench" / "calibration")
        self.set_rates(self.folder / "mgpu-bench" / "calibration", fixed_ns=2 * 10**8)
        done = mgpu("plan", *self.words[:-1], "--mode", "resident",
                    env={"XDG_CACHE_HOME": str(self.folder)})
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.err, r"merkle: \S+ leaves, about .* alone; of that, more than 100 ms "
                                   r"does not depend on the size, as on a busy machine: mgpu-bench "
                                   r"calibrate --recalibrate measures the rate again")

    def test_plan_says_what_auto_does_and_runs_nothing(self):
        words = ["merkle", *self.words[1:-1], "--size", "2^10", "--mode", "resident"]
        before = {file: file.stat().st_mtime_ns for file in self.cache.rglob("*")}
        built = self.folder / "pocl"  # PoCL's cache of compiled kernels
        document = json.loads(self.good("plan", *words, "--json",
                                        env={"POCL_CACHE_DIR": str(built)}).out)
        self.assertEqual({file: file.stat().st_mtime_ns for file in self.cache.rglob("*")}, before)
        self.assertEqual([file for file in self.folder.rglob("*") if file.suffix == ".so"], [])
        self.assert_exact_schema(document, "plan")
        plan, = document["plans"]
        times = [candidate["predicted_ns"] for candidate in plan["considered"]]
        self.assertEqual(times, sorted(times))
        self.assertEqual(len(plan["items"]), len(plan["devices"]))
        slow, = json.loads(self.good("plan", *words, "--slow", "0=9", "--json").out)["plans"]
        items = dict(zip(slow["devices"], slow["items"]))
        ids = [device["id"] for device in
               json.loads(self.good("devices", *self.words[1:-1], "--json").out)["devices"]]
        self.assertLess(items.get(ids[0], 0), items[ids[1]])
        self.assertIn("Give ", self.good("plan", *words).out)
        report = self.small("-s", "auto", devices=self.words[1:-1])
        run, = [run for run in report["runs"] if run["strategy"] == "auto"]
        chosen = run["plan"]["chosen"]
        # auto also has the figures of its probes, which differ every time.
        self.assertLessEqual(set(chosen["devices"]), {d["id"] for d in report["devices"]})

    @binary.thorough
    def test_tuning_says_what_it_tried_keeps_the_fastest_and_runs_take_it(self):
        def tuned():
            return json.loads(self.good("calibrate", "matrix", *binary.DEVICES, "--no-noise",
                                        "--tune", "--json").out)["kernel_variants"]
        variants = tuned()
        self.assertIn("matrix precision=fp32", {variant["work"] for variant in variants})
        chosen = {(one["work"], one["device"]): one["variant"] for one in variants}
        for variant in variants:
            rates = {tried["variant"]: tried["ops_per_s"] or 0 for tried in variant["tried"]}
            if rates:
                default = variant["tried"][0]["variant"]
                self.assertIn(variant["variant"], (default, max(rates, key=rates.get)))
        again = tuned()
        self.assertEqual({(one["from"], len(one["tried"])) for one in again}, {("cached", 0)})
        self.assertEqual({(one["work"], one["device"]): one["variant"] for one in again}, chosen)
        file = self.folder / "r.json"
        self.good("run", "matrix", *binary.ONE_DEVICE, "--size", 256, "--mode", "resident", "-s",
                  "equal", "-n", 1, "-o", file)
        for device in json.loads(file.read_text())["runs"][-1]["per_device"]:
            self.assertEqual(device["kernel_variant"],
                             chosen["matrix precision=fp32", device["device"]])


class Links(Case):
    @classmethod
    def setUpClass(cls):
        if binary.DEVICE_COUNT == 1:
            raise unittest.SkipTest("with one device there is nothing between devices")
        cls.file = binary.Path(binary.SCRATCH) / "links.json"
        cls.done = mgpu("links", *binary.DEVICES, "--quick", "--sizes", "4KiB,1000", "-q", "-o",
                        cls.file)
        cls.document = json.loads(cls.file.read_text())

    def test_every_way_is_measured_and_nothing_arrives_wrong(self):
        self.assertEqual((self.done.code, self.done.err), (0, ""))
        self.assert_schema(self.file, "result")
        self.assertTrue(self.document["complete"])
        ids = [device["id"] for device in self.document["devices"]]
        ways = {(run["mode"], run["link"].get("from"), run["link"].get("to"))
                for run in self.document["runs"]}
        for one in ids:
            self.assertLessEqual({("one_way", "host", one), ("one_way", one, "host"),
                                  ("both_ways", "host", one)}, ways)
        self.assertIn(("one_way", *ids), ways)
        self.assertEqual([run["link"]["bytes"] for run in self.document["runs"] if
                          (run["suite"], run["mode"]) == ("all-reduce", "isolated")], [1000, 4096])
        self.assertEqual({(run["status"], run["link"]["wrong"]) for run in self.document["runs"]},
                         {("ok", 0)})

    def test_its_file_is_reported_exported_and_compared_by_name_or_from_a_pipe(self):
        text, tables = self.file.read_text(), self.done.out
        self.assertEqual(self.good("report", self.file).out, tables)
        export = self.folder / "export.csv"
        self.assertEqual(self.good("report", "-", "--export", f"csv={export}", given=text).out,
                         tables)
        self.assertEqual(len(export.read_text().splitlines()), 1 + len(self.document["runs"]))
        same = json.loads(self.good("compare", self.file, "-", "--json", given=text).out)
        self.assertLessEqual({row["verdict"] for row in same["rows"]}, {"same", "inconclusive"})
        fifo = self.folder / "fifo"  # like the shell's <(cat FILE)
        os.mkfifo(fifo)
        with subprocess.Popen(["sh", "-c", 'exec cat "$0" >"$1"', self.file, fifo]):
            self.assertEqual(self.good("report", fifo).out, tables)
        self.refused(["compare", "-", "-"], 2, "once", given=text)
        self.refused(["report", "-"], 2, "/dev/stdin", "empty", given="")

    def test_a_path_that_no_pair_has_is_refused(self):
        if "cpu:1" in binary.DEVICES:
            self.refused(["links", *binary.DEVICES, "-q", "--peer", "direct"], 5, "direct", "0:")

    def test_times_of_nccl_tests_are_kept_and_printed_beside_its_own(self):
        text = ("# all_reduce_perf\n# size count type redop root time algbw busbw #wrong\n"
                "4096 1024 float sum -1 31.80 0.13 0.13 0\n")
        theirs, file = self.folder / "nccl.txt", self.folder / "l.json"
        theirs.write_text(text)
        options = ["links", *binary.DEVICES, "--quick", "--op", "all-reduce,broadcast", "--sizes",
                   "4KiB", "-q"]
        self.good(*options, "--compare-with", theirs, "-o", file)
        self.assert_schema(file, "result")
        self.assertEqual([(run["suite"], run["link"]["nccl_tests_ns"]) for run
                          in json.loads(file.read_text())["runs"]
                          if "nccl_tests_ns" in run["link"]], [("all-reduce", 31800)])
        self.assertRegex(self.good("report", file).out, r"nccl-tests +gain\n(.*\n)+.* 31\.8 +[0-9]")
        theirs.write_text(text.replace("4096", "8192"))
        self.assertIn("no row", mgpu(*options, "--compare-with", theirs).err)
        theirs.write_text("# all_reduce_perf\n")
        self.refused([*options, "--compare-with", theirs], 2, str(theirs), "no rows")

    @binary.thorough
    def test_more_devices_than_one_has_slots_for(self):
        nine = {"POCL_DEVICES": " ".join(["pthread"] * 9)}
        file = self.folder / "links.json"
        self.good("links", "-d", "cpu", "--quick", "-q", "--op", "all-to-all,all-reduce", "--sizes",
                  "1000,1MiB", "--peer", "staged", "-o", file, env=nine)
        self.assertEqual([(run["link"]["bytes"], len(run["devices"]), run["link"]["wrong"]) for run
                          in json.loads(file.read_text())["runs"] if run["mode"] == "isolated"],
                         [(1000, 9, 0), (1048576, 9, 0)] * 2)


class Machine(Case):
    @unittest.skipUnless(len(os.sched_getaffinity(0)) > 1, "there is but one core")
    def test_devices_that_share_a_core_are_marked_and_the_cores_recorded(self):
        allowed = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, allowed)
        whole = self.small("-s", "equal", devices=["-d", "cpu", "--sub-devices", 2])
        os.sched_setaffinity(0, {min(allowed)})
        on_one = self.small("-s", "equal", devices=["-d", "cpu", "--sub-devices", 2])
        self.assertEqual(whole["environment"]["cores"], len(allowed))
        self.assertGreater(whole["environment"]["memory_bytes"], 2**20)
        self.assertEqual(on_one["environment"]["cores"], 1)
        self.assertEqual(on_one["environment"]["cpus_allowed"], str(min(allowed)))
        units = sum(device["compute_units"] for device in on_one["devices"])
        self.assertTrue([w for w in on_one["runs"][0]["warnings"] if f"{units} compute units" in w
                         and "1 core," in w], on_one["runs"][0]["warnings"])
        if units <= len(allowed):
            self.assertFalse([w for w in whole["runs"][0]["warnings"] if "compute units" in w])

    def test_more_devices_than_there_are_are_said_and_refused_when_strict(self):
        result = self.good("devices", "-d", "cpu:99")
        self.assertIn('"cpu:99"', result.err)
        self.assertIn("--sub-devices", result.err)
        self.refused(["run", "merkle", "-d", "cpu:99", "--strict"], 2, '"cpu:99"')

    def test_pocl_without_a_cache_is_told_its_cause(self):
        file = self.folder / "file"
        file.write_text("")
        there = binary.environment({"XDG_CACHE_HOME": str(file)})
        there.pop("POCL_CACHE_DIR", None)
        done = subprocess.run([binary.BINARY, "devices"], env=there, capture_output=True, text=True,
                              timeout=120, check=False)
        if done.returncode == 0:  # a driver other than PoCL, or one that needs no cache
            self.skipTest("there are devices all the same")
        self.assertEqual(done.returncode, 7, done)
        self.assertIn("POCL_CACHE_DIR", done.stderr)
        self.assertIn(str(file), done.stderr)
        self.assertNotIn("POCL_AFFINITY", done.stderr)


class OtherVendors(Case):
    """Identity and facts of devices that PoCL pretends to be (tests/layer/devices)."""

    def listed(self, script, **variables):
        env = {"OPENCL_LAYERS": os.environ["MGPU_FAULT_LAYER"], "MGPU_FAULT_SCRIPT": script}
        return json.loads(self.good("devices", "--json", env=env | variables).out)["devices"]

    def test_amd_names_boards_and_pci_addresses_in_queries_of_its_own(self):
        device, = self.listed("be=rx7900")
        self.assertEqual((device["name"], device["isa"], device["pci"], device["uuid"]),
                         ("Radeon RX 7900 XTX", "gfx1100", "0000:2d:00.0", None))

    def test_a_uuid_that_is_a_version_is_none(self):
        device, = self.listed("be=llvmpipe")
        self.assertIsNone(device["uuid"])

    def test_pocl_shows_devices_of_nvidia_that_are_not_its_drivers(self):
        device, = self.listed("be=pocl-cuda")
        self.assertIn("cl_nv_device_attribute_query", device["extensions"])
        self.assertEqual((device["compute_capability"], device["pci"]), (None, "0000:da:00.0"))

    def test_a_processor_without_sub_devices_is_offered_none(self):
        env = {"OPENCL_LAYERS": os.environ["MGPU_FAULT_LAYER"], "MGPU_FAULT_SCRIPT": "be=llvmpipe"}
        few = ("merkle", "-d", "cpu", "--size", 64, "-n", 1, "--mode", "resident")
        result = self.good("run", *few, env=env)
        self.assertIn("there is one device, 0:0", result.err)
        self.assertNotIn("--sub-devices", result.err)
        self.refused(("run", *few, "--sub-devices", 2), 2, "cannot be split", "expected: 1", env=env)

    def test_a_device_without_fused_multiply_add_is_said_to_be_slow(self):
        env = {"OPENCL_LAYERS": os.environ["MGPU_FAULT_LAYER"]}
        said = [self.good("devices", "-d", "0:0", env=env | {"MGPU_FAULT_SCRIPT": f"be={name}"}).err
                for name in ("adreno-650", "apple-m2")]
        self.assertIn("has no fused multiply-add in single precision", said[0])
        self.assertEqual(said[1], "")

    def test_devices_that_nothing_can_run_on_are_left_out(self):
        for device, why in (("rx7900-clover", "it has OpenCL 1.1, which is below 1.2"),
                            ("fpga-emulator", "it has no compiler for OpenCL C")):
            env = {"OPENCL_LAYERS": os.environ["MGPU_FAULT_LAYER"],
                   "MGPU_FAULT_SCRIPT": f"be={device}"}
            self.refused(("devices",), 7, f"is left out: {why}", env=env)


class NoLoader(Case):
    def test_without_an_opencl_loader_the_program_starts_and_says_so(self):
        (self.folder / "libOpenCL.so.1").write_text("no library")
        (self.folder / "libOpenCL.so").write_text("no library")
        env = {"LD_LIBRARY_PATH": str(self.folder)}
        self.assertIn("mgpu-bench ", self.good("--version", env=env).out)
        self.assertIn("Usage:", self.good("run", "--help", env=env).out)
        self.refused(("devices",), 7, "no OpenCL platform was found",
                     "the OpenCL loader cannot be loaded: ", "libOpenCL.so.1", env=env)


class NoGpu(Case):
    def test_a_command_that_works_here_is_told_where_there_is_no_gpu(self):
        if any(d["type"] == "gpu" for d in json.loads(mgpu("devices", "--json").out)["devices"]):
            self.skipTest("there is a GPU here")
        words = ["run", "merkle", "-d", "gpu", *binary.defaults(["-n", 1])]
        said = self.refused(words, 7, "gpu").err
        works = said.split("what works here: mgpu-bench ")[1].split()
        self.good(*works)


if __name__ == "__main__":
    binary.main()
