#!/usr/bin/env python3
"""Devices that fail in the middle of an exchange: the fault layer (tests/layer) is between the
program and OpenCL. Usage: exchange_faults_test.py BINARY [unittest arguments]; MGPU_FAULT_LAYER in
the environment names the layer. A run that hangs is ended after minutes; no other time is asserted.
The quick tier has one fault for each kind of exchange."""

import json
import os
import signal
import sys

import binary
from binary import Case, THOROUGH, mgpu

LAYER = os.environ.get("MGPU_FAULT_LAYER")
# Two parts of one CPU exchange in its memory. Clones of it may be staged: pieces go through slots,
# by downloads and uploads.
PARTS = (["-d", "cpu:1", "--sub-devices", "2"], {})
CLONES = (["-d", "cpu"], {"POCL_DEVICES": "pthread pthread"})
# A command that is refused, one that fails when it runs, one that never begins, a call that never
# returns, a context that is lost.
ACTIONS = ("error:-5", "fail:-5", "hang", "hang-call", "lose:-9999")


def limits():
    """Returns the time limits after which a device counts as hung: longer than a second if other
    load on this machine makes working devices look hung."""
    busy = max(1, round(os.getloadavg()[0] / os.cpu_count()))
    return ["--timeout", f"{busy}s", "--build-timeout", f"{3 * busy}s", "-q"]


class Failing(Case):
    @staticmethod
    def ids(devices):
        options, variables = devices
        return [device["id"] for device
                in json.loads(mgpu("devices", *options, "--json", env=variables).out)["devices"]]

    def faulty(self, script, *arguments, devices, code, within=None):
        """Returns standard error and the result file, if any. Checks that this fault was injected,
        and no other."""
        options, variables = devices
        file, log = self.folder / "r.json", self.folder / "log"
        for old in (file, log):
            old.unlink(missing_ok=True)
        result = mgpu(*arguments, *options, *(limits() if within is None else within), "-o", file,
                      env={**variables, "OPENCL_LAYERS": LAYER, "MGPU_FAULT_SCRIPT": script,
                           "MGPU_FAULT_LOG": str(log)})
        self.assertEqual(result.code, code, f"{script} {arguments}: {result}")
        self.assertEqual(len(log.read_text().splitlines()) if log.exists() else 0, 1,
                         f"{script} {arguments}: {result}")
        return result.err, json.loads(file.read_text()) if file.exists() else None


class HotPlug(Case):
    """The layer hides a device while a file exists."""

    def plugged(self, change, there_first):
        """Changes whether 0:1 is there once a first row is saved. Returns the rows' devices and
        standard error."""
        hidden, file = self.folder / "hidden", self.folder / "r.json"
        if not there_first:
            hidden.touch()
        process = binary.begin(
            "run", "merkle", "--size", "2^10,2^11,2^12,2^13,2^14", "-s", "equal", "--mode", "resident", "-n", "20",
            "-d", "cpu", "--hot-plug", "--no-telemetry", "-o", file,
            env={"POCL_DEVICES": "pthread pthread", "OPENCL_LAYERS": LAYER,
                 "MGPU_FAULT_SCRIPT": f"call=clGetDeviceIDs device=0:1 while={hidden} do=vanish"})

        def has_row():
            try:
                return bool(json.loads(file.read_text())["runs"])
            except (OSError, ValueError):  # not there yet
                return False

        binary.wait_until(has_row, process)
        change(hidden)
        out, err = process.communicate()
        self.assertEqual(process.returncode, 0, out + err)
        rows = json.loads(file.read_text())["runs"]
        return [len(row["devices"]) for row in rows], err

    def test_a_device_that_vanishes_is_left_out(self):
        rows, err = self.plugged(lambda hidden: hidden.touch(), there_first=True)
        self.assertEqual((rows[0], rows[-1], len(rows)), (2, 1, 5), err)
        self.assertIn("0:1", err)

    def test_a_new_device_is_used_from_the_next_group_on(self):
        rows, err = self.plugged(lambda hidden: hidden.unlink(), there_first=False)
        self.assertEqual((rows[0], rows[-1], len(rows)), (1, 2, 5), err)
        self.assertIn("is new", err)


# The name of the thread that waits for all others, and the names that a message must then have.
RESIDENT = ("--mode", "resident", "-n", "1")
HELD = {
    "a calibration": ("call=clFlush nth=2", ("calibrate", "merkle", "--no-noise", "--recalibrate")),
    "publishing": ("call=clEnqueueReadBuffer nth=3",
                   ("run", "merkle", "--size", "256", *RESIDENT, "-s", "single")),
    "a clock": ("call=clEnqueueWriteBuffer max=4 nth=1",
                ("run", "merkle", "--size", "256", *RESIDENT, "-s", "single")),
    "a trial": ("call=clEnqueueNDRangeKernel nth=2",
                ("run", "kernel", "--kernel", "histogram", *RESIDENT, "-s", "single")),
    "a rate": ("call=clEnqueueNDRangeKernel nth=3", ("run", "merkle", *RESIDENT, "-s", "single")),
    "a release": ("call=clReleaseMemObject nth=2",
                  ("run", "stencil", "--size", "64", "--checkpoint-rounds", "2", *RESIDENT, "-s",
                   "equal", "--sub-devices", "2")),
}


class MainThread(Failing):
    """Calls that never return, in phases without workers."""

    def environment(self, script):
        return {"OPENCL_LAYERS": LAYER, "MGPU_FAULT_SCRIPT": f"{script} do=hang-call",
                "MGPU_FAULT_LOG": str(self.folder / "log"),
                "XDG_CACHE_HOME": str(self.folder / "cache"), "XDG_STATE_HOME": str(self.folder)}

    def test_each_ends_and_names_the_device(self):
        for what in list(HELD)[:None if THOROUGH else 2]:
            script, words = HELD[what]
            with self.subTest(what):
                (self.folder / "log").unlink(missing_ok=True)
                result = mgpu(*words, "-d", "cpu:1", *limits()[:-1], env=self.environment(script))
                self.assertIn(result.code, (0, 5), result)
                self.assertIn("device 0:0", result.err)
                self.assertIn("did not return from a call", result.err)
                self.assertIn("hang-call", (self.folder / "log").read_text())

    def test_a_signal_ends_it_at_once(self):
        # The default time limit is a minute.
        for number in (signal.SIGTERM, signal.SIGHUP)[:None if THOROUGH else 1]:
            (self.folder / "log").unlink(missing_ok=True)
            held = binary.begin("calibrate", "merkle", "-d", "cpu:1", "--no-noise",
                                env=self.environment("call=clFlush nth=2"))
            self.assertTrue(binary.wait_until((self.folder / "log").exists, held))
            held.send_signal(number)
            out, err = held.communicate(timeout=30)
            self.assertEqual(held.returncode, 128 + number, out + err)


class Links(Failing):
    def names_it(self, script, *arguments, devices, failing):
        err, document = self.faulty(script, "links", "--quick", *arguments, devices=devices, code=5)
        lines = err.splitlines()
        self.assertEqual(len(lines), 1, err)
        self.assertIn("error: ", lines[0])
        # A device that waits for the failing one may reach its time limit first; it must never be
        # blamed.
        blamed = lines[0].rsplit("waits for device ", 1)[-1]
        self.assertIn(failing, blamed)
        other, = set(self.ids(devices)) - {failing}
        self.assertNotIn(other, blamed)
        return document

    @binary.thorough
    def test_in_host_memory(self):
        for failing in self.ids(PARTS):
            for action in ACTIONS:
                with self.subTest(failing=failing, action=action):
                    self.names_it(f"device={failing} call=clEnqueueCopyBuffer nth=20 do={action}",
                                  "--op", "all-reduce", "--sizes", "4KiB",
                                  devices=PARTS, failing=failing)

    @binary.thorough
    def test_staged(self):
        # Only pieces of exchanges have that size.
        for call in ("clEnqueueReadBuffer", "clEnqueueWriteBuffer"):
            for k, action in enumerate(ACTIONS):
                failing = self.ids(CLONES)[k // 2 % 2]
                with self.subTest(failing=failing, action=action, call=call):
                    self.names_it(
                            f"device={failing} call={call} min=524288 max=524288 nth=9 "
                            f"do={action}", "--op", "all-reduce", "--sizes", "4MiB",
                                  "--peer", "staged", devices=CLONES, failing=failing)

    def test_what_was_measured_before_is_kept_and_says_why_it_ends(self):
        failing = self.ids(PARTS)[1]
        document = self.names_it(f"device={failing} call=clEnqueueCopyBuffer nth=3 do=hang",
                                 "--sizes", "4KiB", devices=PARTS, failing=failing)
        self.assertFalse(document["complete"])
        self.assertIn(failing, document["failure"])
        self.assertEqual({run["suite"] for run in document["runs"]}, {"links"})
        self.assertIn(document["failure"], self.good("report", self.folder / "r.json").err)


    def test_a_fault_before_the_first_figure_leaves_a_file_but_no_older_one_is_lost(self):
        failing = self.ids(PARTS)[1]
        script = f"device={failing} call=clEnqueueWriteBuffer nth=1 do=error:-5"
        document = self.names_it(script, "--sizes", "4KiB", devices=PARTS, failing=failing)
        self.assertFalse(document["complete"])
        self.assertIn(failing, document["failure"])
        self.assertEqual(document["runs"], [])
        self.assert_schema(self.folder / "r.json", "result")
        older = self.folder / "older.json"
        older.write_text("what was there")
        result = mgpu("links", "--quick", "--sizes", "4KiB", *PARTS[0], *limits(), "-o", older,
                      env={"OPENCL_LAYERS": LAYER, "MGPU_FAULT_SCRIPT": script})
        self.assertEqual((result.code, older.read_text()), (5, "what was there"), result)


    def test_host_memory_of_which_a_driver_has_a_copy_is_not_shared(self):
        # The pattern of a trial is 4096 bytes.
        _, document = self.faulty("call=clEnqueueWriteBuffer min=4096 max=4096 nth=1 times=1 "
                                  "do=skip", "links", "--quick", "--sizes", "4KiB", "-q",
                                  devices=PARTS, code=0, within=())
        note, = document["exchange_notes"]
        self.assertIn("staged", note)
        self.assertIn("what is written does not arrive", note)


class Runs(Failing):
    def goes_on(self, script, *arguments, devices, failing, code=0, within=None):
        """Checks that the other device computes the failed one's work and is not blamed."""
        err, document = self.faulty(script, "run", *arguments, "-n", 10, "--warmup", 1, "--peer",
                                    "host", devices=devices, code=code, within=within)
        self.assertIn(failing, err)
        self.assertTrue(document["complete"])
        faults = document["faults"] + [fault for run in document["runs"] for fault in run["faults"]]
        self.assertEqual({fault["device"] for fault in faults}, {failing}, err)
        for run in document["runs"]:
            self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"),
                             run["reason"])
        return document

    def test_an_input_that_is_gathered(self):
        matrix = ("matrix", "--size", 97, "--cols", 150, "--inner", 40, "--mode", "end-to-end",
                  "-s", "equal")
        for devices in (PARTS, CLONES) if THOROUGH else (PARTS,):
            for k, action in enumerate(ACTIONS if THOROUGH else ("hang-call",)):
                failing = self.ids(devices)[k // 2 % 2]
                with self.subTest(failing=failing, action=action):
                    self.goes_on(f"device={failing} call=clEnqueueCopyBuffer nth=12 do={action}",
                                 *matrix, devices=devices, failing=failing)

    def test_whoever_is_left_at_set_up_does_not_exchange_with_whoever_hangs(self):
        failing = self.ids(PARTS)[0]
        self.goes_on(f"device={failing} call=clEnqueueWriteBuffer nth=24 do=hang",
                     "tropical", "--op", "apsp", "--size", 101, "--paths", "--mode", "resident",
                     "-s", "equal", devices=PARTS, failing=failing)

    @binary.thorough
    def test_results_that_are_combined(self):
        fisher = ("fisher", "--size", 500, "--dim", 1024, "--mode", "resident", "-s", "equal")
        for failing, action in zip(self.ids(PARTS), ("hang", "lose:-9999")):
            with self.subTest(failing=failing, action=action):
                self.goes_on(f"device={failing} call=clEnqueueCopyBuffer nth=4 do={action}",
                             *fisher, devices=PARTS, failing=failing)

    def test_work_that_goes_in_rounds_is_begun_again(self):
        stencil = ("stencil", "--size", 48, "--iterations", 60, "--checkpoint-rounds", 10,
                   "--mode", "resident", "-s", "equal")
        three = (["-d", "cpu"], {"POCL_DEVICES": "pthread pthread pthread"})
        devices, nth = (three, 330) if THOROUGH else (PARTS, 165)
        failing = self.ids(devices)[1]
        for action in ACTIONS if THOROUGH else ("lose:-9999",):
            with self.subTest(action=action):
                document = self.goes_on(
                        f"device={failing} call=clEnqueueCopyBuffer nth={nth} do={action}",
                        *stencil, devices=devices,
                                        failing=failing)
                run, = document["runs"]
                fault, = run["faults"]
                self.assertEqual(fault["begun_again"]["round"] % 10, 0)
                self.assertLessEqual(fault["begun_again"]["round"], fault["round"])
                self.assertGreater(fault["begun_again"]["after_ns"], 0)
                self.assertEqual(fault["items_redone"], fault["items_lost"])
                self.assertEqual([sample["verify"] for sample
                                  in run["disturbed_samples"]], ["passed"])
                self.assertEqual(len(run["devices"]), len(self.ids(devices)) - 1)

    def test_no_memory_in_the_middle_of_rounds_ends_the_sample_for_all_who_wait(self):
        failing = self.ids(PARTS)[1]
        _, document = self.faulty(
                f"device={failing} call=clCreateUserEvent nth=5 do=error:-4", "run", "stencil",
                "--size", 48, "--iterations", 2, "--mode", "resident", "-s", "equal,capability",
                "-n", 5, "--warmup", 1, "--peer", "host", devices=PARTS, code=0)
        self.assertEqual(sorted(run["status"] for run in document["runs"]), ["ok", "unsupported"])
        self.assertEqual(document["faults"], [])

    @binary.thorough
    def test_a_training_is_begun_again_from_what_a_device_that_is_lost_had_brought_or_not(self):
        training = ("pinn", "--size", 64, "--layers", 2, "--width", 8, "--shards", 8,
                    "--iterations", 30, "--checkpoint-rounds", 5, "--snapshots", 3,
                    "--mode", "resident", "-s", "equal")
        for failing in self.ids(PARTS):
            with self.subTest(failing=failing):
                run, = self.goes_on(
                        f"device={failing} call=clEnqueueCopyBuffer nth=170 do=lose:-9999",
                        *training,
                                    devices=PARTS, failing=failing,
                                    within=("--timeout", "60s",
                                            "-q"))["runs"]  # PoCL compiles at the first launch
                fault, = run["faults"]
                self.assertEqual(fault["begun_again"]["round"] % 5, 0)
                self.assertEqual([sample["verify"] for sample
                                  in run["disturbed_samples"]], ["passed"])

    def test_a_persistent_kernel_whose_neighbour_is_lost_ends_and_is_not_blamed(self):
        stencil = ("stencil", "--size", 48, "--iterations", 60, "--checkpoint-rounds", 10,
                   "--mode", "resident", "-s", "equal", "--steps",
                   "persistent")
        failing = self.ids(PARTS)[1]
        for action in ("hang", "lose:-9999", "fail:-5", "error:-5",
                       "hang-call")[:None if THOROUGH else 1]:
            with self.subTest(
                    action=action):  # the copy of a checkpoint, which only samples make
                document = self.goes_on(
                        f"device={failing} call=clEnqueueNDRangeKernel kernel=copy_part nth=8 "
                        f"do={action}", *stencil,
                                        devices=PARTS, failing=failing)
                fault, = document["runs"][0]["faults"]
                self.assertEqual(fault["begun_again"]["round"] % 10, 0)
                self.assertEqual([sample["verify"] for sample
                                  in document["runs"][0]["disturbed_samples"]], ["passed"])

    def test_strict(self):
        failing = self.ids(PARTS)[1]
        self.goes_on(f"device={failing} call=clEnqueueCopyBuffer nth=12 do=fail:-5", "matrix",
                     "--size", 97, "--cols", 150, "--inner", 40, "--mode", "end-to-end",
                     "-s", "equal", "--strict", devices=PARTS, failing=failing, code=5)


if __name__ == "__main__":
    if not LAYER:
        sys.exit("MGPU_FAULT_LAYER names no fault layer")
    binary.main()
