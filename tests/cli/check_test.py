#!/usr/bin/env python3
"""Tests of `check`: faults that the layer injects and devices slowed down on purpose are named.

Usage: check_test.py BINARY [unittest arguments]."""

import json
import os
import shutil
import subprocess

import binary
from binary import NO_OPENCL, ROOT, Case, mgpu, thorough

LAYER = os.environ.get("MGPU_FAULT_LAYER", "")
SCRIPTS = ROOT / "scripts/check"
# Exit codes by verdict, from good to bad.
CODES = {"ok": 0, "cannot tell": 4, "limited": 3, "slow": 3, "missing": 3, "failed": 5, "hung": 5,
         "wrong": 6}


class Checks(Case):
    time = "1s"

    def check(self, *arguments, script=None):
        """Returns the document of a short check without telemetry; other programs may run."""
        env = {}
        if script is not None:
            if not LAYER:
                self.skipTest("MGPU_FAULT_LAYER does not name the fault layer")
            env = {"OPENCL_LAYERS": LAYER, "MGPU_FAULT_SCRIPT": script}
        done = mgpu("check", *binary.DEVICES, "--time", self.time, "--works", "merkle", "--no-telemetry",
                    "--json", *arguments, env=env)
        self.assertIn(done.code, set(CODES.values()), str(done))
        document = json.loads(done.out)
        self.assertEqual(document["exit_code"], done.code)
        verdicts = [finding["verdict"] for finding in document["findings"]]
        self.assertEqual(max(map(order, verdicts), default=0), order(document["verdict"]))
        self.assertEqual(done.code, CODES[document["verdict"]])
        return document

    def assert_named(self, document, verdict, label, *words):
        """Checks the worst finding."""
        worst = document["findings"][0]
        self.assertEqual(worst["verdict"], verdict, document["findings"])
        self.assertTrue(worst["text"].startswith(label + " ("), worst["text"])
        for word in words:
            self.assertIn(word, worst["text"])


def order(verdict):
    return list(CODES).index(verdict)



class Faults(Checks):
    def test_a_flipped_bit_and_a_slow_device_are_named_and_left_out_of_the_baseline(self):
        file = self.folder / "node.json"
        document = self.check("--baseline", file, "--save", file, "--slow", "1=4",
                              script="device=0:0.1 call=download min=32 max=64 nth=2 do=flip")
        self.assert_named(document, "wrong", "cpu 1", "computed a wrong SHA-256 tree: 1 of ")
        named = [finding for finding in document["findings"] if finding["quantity"] == "fp32"]
        self.assertEqual([finding["device"] for finding in named], ["0:0.1"], document["findings"])
        self.assertEqual(named[0]["verdict"], "cannot tell")  # of two devices
        self.assertIn("slower in fp32 than its sibling", named[0]["text"])
        self.assert_schema(file, "check")
        saved = [device["id"] for device in json.loads(file.read_text())["devices"]]
        self.assertNotIn("0:0.1", saved)

    def test_a_device_that_hangs_is_named_and_the_others_are_measured(self):
        document = self.check("--timeout", "6s",
                              script="device=0:0.1 call=launch kernel=fp32 nth=3 do=hang")
        self.assert_named(document, "hung", "cpu 1", "did not answer for 6.00 s")
        rates = document["devices"][0]["rates"]
        self.assertTrue(all(len(rate["values"]) >= 4 for rate in rates), rates)


@thorough
class Trials(Checks):
    """Faults at 20 places, each named."""
    time = "5s"

    def test_flipped_bits(self):
        for nth in (2, 3, 5, 8, 13, 21, 34):
            for device in (0, 1)[:1 + nth % 2]:
                script = f"device=0:0.{device} call=download min=32 max=64 nth={nth} do=flip"
                with self.subTest(script=script):
                    self.assert_named(self.check(script=script), "wrong", f"cpu {device}",
                                      "computed a wrong SHA-256 tree: 1 of ")

    def test_devices_that_hang_or_fail(self):
        for kernel in ("fp32", "int32", "copy", "reduce", "write_pattern"):
            for do, verdict in (("hang", "hung"), ("error:-36", "failed")):
                script = f"device=0:0.0 call=launch kernel={kernel} nth=2 do={do}"
                with self.subTest(script=script):
                    document = self.check("--timeout", "6s", script=script)
                    self.assert_named(document, verdict, "cpu 0")


class Files(Checks):
    def node(self, number, factor=1.0):
        """Writes the check of a node with eight devices, whose memory is slower by a factor."""
        devices = []
        for k in range(8):
            rates = [{"quantity": quantity, "unit": "B/s", "first": 0,
                      "values": [(1e12 + 1e9 * (7 * k * n % 5)) * share for n in range(12)]}
                     for quantity, share in (("fp32", 1.0), ("memory bandwidth", factor))]
            devices.append({
                "host": f"node{number}", "started": "2026-11-28T10:00:00Z", "label": f"gpu {k}",
                "id": f"0:{k}", "identity": f"gpu-{number}-{k}", "name": "GPU",
                "driver_version": "1", "cpu": False, "pci": None, "numa_node": None,
                "rates": rates, "works": [], "memory": None, "before": {}, "after": {},
                "ecc_before": None, "ecc_after": None, "during": None, "hung": False, "failed": None, "other_work": None})
        file = self.folder / f"node{number}.json"
        file.write_text(json.dumps({
            "schema": "mgpu-bench/check", "schema_version": 1, "tool": "0", "host": f"node{number}",
            "started": "2026-11-28T10:00:00Z", "took_ns": 0, "budget_ns": 0, "verdict": "ok",
            "exit_code": 0, "findings": [], "devices": devices, "links": [], "failed": None,
            "hung": False, "warnings": []}))
        return file

    def test_nodes_are_compared_without_a_device(self):
        files = [self.node(number, 0.9 if number == 2 else 1.0) for number in range(4)]
        self.assert_schema(files[0], "check", "--exact")
        everything = self.folder / "all.json"
        merged = mgpu("check", "--merge", "--save", everything, *files, env=NO_OPENCL)
        self.assertEqual(merged.code, 3, str(merged))
        found = [line for line in merged.out.splitlines() if line.startswith("check: node")]
        self.assertEqual(len(found), 8, merged.out)
        for line in found:
            self.assertIn("check: node2: gpu ", line)
            self.assertIn("slower in memory bandwidth than 24 others of its model", line)
        self.assertEqual(len(json.loads(everything.read_text())["devices"]), 3 * 8)
        healthy = mgpu("check", "--merge", everything, env=NO_OPENCL)
        self.assertEqual(healthy.code, 0, str(healthy))

    def test_recorded_hosts_are_compared(self):
        files = [ROOT / "results/h100/overview-4.json.gz",
                 *sorted((ROOT / "results/h200").glob("overview*.json.gz"))[:1]]
        merged = mgpu("check", "--merge", "--json", *files, env=NO_OPENCL)
        self.assertIn(merged.code, (0, 4), str(merged))
        document = json.loads(merged.out)
        self.assertGreaterEqual(len(document["devices"]), 4)
        for device in document["devices"]:
            self.assertEqual([rate["quantity"] for rate in device["rates"]],
                             ["fp32", "fp64", "int32", "memory bandwidth", "upload", "download"])

    def test_mistakes_are_refused(self):
        for arguments, words in (
                (["--merge"], "no file is given"),
                (["node.json"], "without --merge"),
                (["--works", "merkel"], "merkle, matrix, msm, stencil"),
                (["--time", "5"], "--time"),
                (["--floor", "2"], "--floor"),
                (["--baseline", self.folder / "none.json"], "none.json")):
            self.refused(["check", *arguments], 2, words)
        self.refused(["check"], 7, env=NO_OPENCL)


class Scheduled(Case):
    def test_the_prolog_drains_a_node_with_the_finding(self):
        tools = self.folder / "bin"
        tools.mkdir()
        log = self.folder / "log"
        for code, drained in ((0, False), (4, False), (3, True), (6, True)):
            (tools / "mgpu-bench").write_text(
                f'#!/bin/sh\necho "$*" >{self.folder}/given\necho "device verdict"\n'
                f'echo "check: gpu 3 is slow"\nexit {code}\n')
            (tools / "scontrol").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{log}\n')
            for tool in tools.iterdir():
                tool.chmod(0o755)
            log.unlink(missing_ok=True)
            done = subprocess.run([SCRIPTS / "slurm_prolog.sh"], capture_output=True, text=True,
                                  env={"PATH": f"{tools}:{os.environ['PATH']}",
                                       "SLURMD_NODENAME": "node7"})
            self.assertEqual(done.returncode, int(drained), done.stderr)
            self.assertEqual(log.exists(), drained)
            if drained:
                self.assertEqual(log.read_text().splitlines(),
                                 ["update", "NodeName=node7", "State=DRAIN",
                                  "Reason=check: gpu 3 is slow"])
        given = (self.folder / "given").read_text().split()
        self.assertEqual(given, ["check", "--quiet", "--time", "15s"])
        self.assert_accepted(given)

    def assert_accepted(self, words):
        """Checks that all options exist: without a device nothing else is wrong."""
        done = mgpu(*words, env=NO_OPENCL)
        self.assertEqual(done.code, 7, str(done))

    def test_the_unit_is_valid_and_its_command_is_accepted(self):
        unit = (SCRIPTS / "mgpu-check.service").read_text()
        command = next(line.split("=", 1)[1].split() for line in unit.splitlines()
                       if line.startswith("ExecStart="))
        self.assert_accepted([word.replace("/var/lib/mgpu-bench", str(self.folder))
                              for word in command[1:]])
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        copy = self.folder / "mgpu-check.service"
        copy.write_text(unit.replace("/usr/bin/mgpu-bench", binary.BINARY))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy],
                              capture_output=True, text=True)
        self.assertNotIn("mgpu-check", done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_job_runs_a_command_that_is_accepted(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("there is no module yaml")
        job = yaml.safe_load((SCRIPTS / "kubernetes_job.yaml").read_text())
        self.assertEqual(job["kind"], "Job")
        container = job["spec"]["template"]["spec"]["containers"][0]
        self.assert_accepted(container["command"][1:])
        self.assertIn("nvidia.com/gpu", container["resources"]["limits"])


if __name__ == "__main__":
    binary.main()
