"""Tests of --energy: with GPUs and a library of NVIDIA that the tests made up, and without a counter."""

import json
import os
import subprocess
import sys
from pathlib import Path

import binary
from binary import ROOT, Case

WATTS = 345.6, 21.6  # of the two GPUs of tests/support/fake_nvml.cpp, at work or not


class Energy(Case):
    def fake_gpus(self):
        """Returns the environment in which the first two devices are GPUs that NVML knows."""
        layer = os.environ.get("MGPU_FAULT_LAYER", "")
        if not layer:
            self.skipTest("MGPU_FAULT_LAYER does not name the fault layer")
        files = [self.device_file("tesla-k80", pci_bus_id_nv=bus, pci_slot_id_nv=0)
                 for bus in (0x1a, 0x1c)]
        script = [f"device=0:{device} be={file}" for device, file in enumerate(files)]
        library = self.folder / "libnvidia-ml.so.1"
        library.symlink_to(Path(layer).parent / "libfake_nvml.so")
        return {"OPENCL_LAYERS": layer, "MGPU_FAULT_SCRIPT": "; ".join(script), "POCL_DEVICES": "pthread pthread",
                "LD_LIBRARY_PATH": str(self.folder)}

    def test_joules_are_power_times_time_of_the_devices_used(self):
        result = self.folder / "r.json"
        done = self.good("run", "geometric", "--size", "2^18", "--mode", "resident", "-n", 3, "-s", "single,equal,auto", "--energy",
                         "--objective", "energy", "--verify", "sample", "--columns", "all", "-o", result, env=self.fake_gpus())
        self.assertIn("energy gain", done.out)
        runs = json.loads(result.read_text())["runs"]
        self.assertEqual([run["strategy"] for run in runs], ["single", "equal", "auto"])
        # Probes under load tell equal devices apart by less than the factor of their power.
        self.assertEqual(runs[2]["plan"]["chosen"]["devices"], ["0:1"])
        for run in runs:
            energy = run["energy"]
            alone = run["strategy"] != "equal"
            figures = {each["of"]: each for each in energy["counters"]}
            used = [of for of in ("0:0", "0:1") if not alone or run["per_device"][int(of[-1])]["share"] == 1]
            self.assertEqual(len(used), 1 if alone else 2)
            for of, watts in zip(("0:0", "0:1"), WATTS):
                joules = watts * energy["run_ns"] / 1e9
                self.assertAlmostEqual(figures[of]["energy_j"], joules, delta=0.02 * joules)
                self.assertAlmostEqual(figures[of]["by_power_j"], joules, delta=0.02 * joules)
                self.assertAlmostEqual(figures[of]["idle_w"], watts, delta=0.01 * watts)
                self.assertAlmostEqual(figures[of]["step_ns"], 20e6, delta=2e6)
            self.assertAlmostEqual(energy["energy_j"], sum(figures[of]["energy_j"] for of in used))
            self.assertAlmostEqual(energy["all_devices_j"], sum(figures[of]["energy_j"] for of in ("0:0", "0:1")))
            self.assertAlmostEqual(energy["power_w"] * energy["run_ns"] / 1e9, energy["energy_j"])
            self.assertAlmostEqual(energy["energy_j"], sum(energy["parts_j"]) / len(energy["parts_j"]), delta=0.02 * energy["energy_j"])
            self.assertGreaterEqual(energy["window_ns"], 1.9e9)
        self.assertEqual(runs[0]["energy"]["gain"], 1)
        self.assertEqual(subprocess.run([sys.executable, ROOT / "scripts/recompute.py", result], stdout=subprocess.DEVNULL).returncode, 0)
        self.assert_schema(result, "result")
        compared = self.good("compare", result, result, "--metrics", "energy")
        self.assertRegex(compared.out, r"energy +\S+ J +\S+ J")

    def test_without_a_counter_there_is_a_reason(self):
        result = self.folder / "r.json"
        done = self.good("run", "merkle", "--size", "2^10", "--mode", "resident", "-n", 1, "-s", "single", "--energy", "-o", result,
                         *binary.ONE_DEVICE)
        energy = json.loads(result.read_text())["runs"][0]["energy"]
        if energy["energy_j"] is not None:
            self.skipTest("this machine has a counter")
        self.assertTrue(energy["reason"])
        self.assertIn("energy is not known", done.out)


if __name__ == "__main__":
    binary.main()
