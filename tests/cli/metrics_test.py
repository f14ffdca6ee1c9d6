#!/usr/bin/env python3
"""Live metrics, the status of devices, and compressed exchanges, as a user sees them. Usage: metrics_test.py BINARY [unittest arguments]."""

import json
import signal

import binary
from binary import Case

PINN = ("pinn", "--size", 64, "--layers", 2, "--width", 8, "--mode", "resident", "-n", 1, "--warmup", 0)


class Live(Case):
    def events_in(self, text):
        events = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        for event in events[:3]:
            self.assert_exact_schema(event, "event")
        return events

    def test_a_training_tells_its_loss_per_interval_on_standard_output_alone(self):
        file = self.folder / "r.json"
        done = self.good("run", *PINN, *binary.DEVICES, "--iterations", 400, "-s", "equal", "--live", "20ms", "--json-lines", "stdout", "-q",
                         "-o", file)
        events = self.events_in(done.out)
        self.assertEqual(len(events), len(done.out.splitlines()))  # nothing else
        self.assertNotIn("{", done.err)
        run, = json.loads(file.read_text())["runs"]
        last = [event for event in events if event["strategy"] == "equal" and event["ended"]][-1]
        loss, = last["figures"]
        curve = run["verify"]["found"]["curves"][0]
        self.assertEqual((loss["name"], loss["iterations"]), ("loss", curve["rounds"][-1]))
        self.assertAlmostEqual(loss["value"], curve["values"][-1], places=12)
        self.assertEqual((last["done"], last["total"], last["unit"], last["rate_unit"]), (400, 400, "iterations", "points/s"))
        self.assertEqual(len(last["shares"]), binary.DEVICE_COUNT)
        under_way = [event for event in events if not event["ended"] and event["figures"]]
        for event in under_way:
            figure, = event["figures"]
            self.assertAlmostEqual(figure["value"], curve["values"][curve["rounds"].index(figure["iterations"])], places=12)

    def test_events_on_standard_error_leave_standard_output_to_the_result(self):
        done = self.good("run", *PINN, *binary.ONE_DEVICE, "--iterations", 20, "-s", "single", "--json", "--json-lines", "stderr")
        self.assertTrue(json.loads(done.out)["complete"])
        self.assertTrue(self.events_in(done.err)[-1]["ended"])
        self.refused(["run", *PINN, "--json", "--json-lines", "stdout"], 2, "--json-lines", "stderr")

    def test_without_a_terminal_each_interval_is_a_line_for_people(self):
        done = self.good("run", "merkle", *binary.ONE_DEVICE, "--size", "2^10", "-n", 1, "-s", "single", "--mode", "resident", "--live", "1s")
        self.assertIn("leaves 1024 of 1024, ", done.err)


class Status(Case):
    def test_devices_have_a_status_as_a_table_and_as_json(self):
        done = self.good("devices", "--status", env={"COLUMNS": "200"})
        for word in ("total", "free", "by others", "by us", "allocation", "utilisation", "temperature"):
            self.assertIn(word, done.out)
        document = json.loads(self.good("devices", "--status", "--json").out)
        self.assert_exact_schema(document, "status")
        for device in document["devices"]:
            self.assertEqual(device["allocated_bytes"], 0)
            if device["used_bytes"] is not None:
                self.assertAlmostEqual(device["allocation"], device["used_bytes"] / device["total_bytes"])
                self.assertEqual(device["used_by_others_bytes"], device["used_bytes"])
            self.assertEqual(device["reason"] is None,
                             None not in (device["used_bytes"], device["utilisation"], device["temperature_c"]))

    def test_the_status_is_repeated_until_a_signal_comes(self):
        process = binary.begin("devices", "--watch", "100ms", "--json")
        lines = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 0)
        process.stdout.close()
        process.stderr.close()
        for line in lines:
            self.assertEqual(json.loads(line)["schema"], "mgpu-bench/status")


class Compressed(Case):
    def run_of(self, devices, *arguments):
        file = self.folder / "c.json"
        self.good("run", *arguments, *devices, "--mode", "resident", "-n", 1, "--warmup", 0, "-q", "-o", file)
        return json.loads(file.read_text())["runs"]

    def compare(self, option, exact, compressed, *arguments):
        """Checks that the compressed run has the same bits on one device and on several, and sends half of the bytes."""
        exactly, = self.run_of(binary.DEVICES, *arguments, "-s", "equal", option, exact)
        one, = self.run_of(binary.ONE_DEVICE, *arguments, "-s", "single", option, compressed)
        several = self.run_of(binary.DEVICES, *arguments, "-s", "equal,capability", option, compressed)
        digests = {run["verify"]["digest"] for run in (one, *several)}
        self.assertEqual(len(digests), 1)
        self.assertNotIn(exactly["verify"]["digest"], digests)
        for run in (exactly, one, *several):
            self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
        if binary.DEVICE_COUNT == 2:
            sent = [sum(device["bytes_sent"] for device in run["per_device"]) for run in (exactly, several[0])]
            self.assertLess(sent[1], 0.56 * sent[0])
            self.assertGreater(sent[1], 0)
        return exactly, several[0]

    def test_gradients_in_bf16(self):
        exact, compressed = self.compare("--gradients", "fp32", "bf16", "pinn", "--size", 64, "--layers", 2, "--width", 16, "--iterations", 30)
        losses = [run["verify"]["found"]["curves"][0]["values"] for run in (exact, compressed)]
        self.assertEqual(losses[0][0], losses[1][0])
        self.assertNotEqual(losses[0][-1], losses[1][-1])
        self.assertAlmostEqual(losses[0][-1], losses[1][-1], delta=1e-3 * losses[0][-1])
        self.assertIn("gradients in bf16 with error feedback", compressed["verify"]["method"])

    def test_both_are_measured_next_to_each_other(self):
        runs = self.run_of(binary.ONE_DEVICE, "pinn", "--size", 64, "--layers", 2, "--width", 8, "--iterations", 3, "-s", "single", "--gradients",
                           "both")
        self.assertEqual([run["params"]["gradients"] for run in runs], ["fp32", "bf16"])

    def test_halos_in_half_precision(self):
        _, compressed = self.compare("--halos", "fp32", "half", "lbm", "--size", 32, "--planes", 12, "--iterations", 6,
                                     "--overlap", "off")  # else kernels store fp32 halos, which are not counted
        error = compressed["verify"]["found"]["figures"][0]
        self.assertEqual(error["name"], "velocity error of half halos")
        self.assertTrue(0 < error["value"] < 1e-2)


if __name__ == "__main__":
    binary.main()
