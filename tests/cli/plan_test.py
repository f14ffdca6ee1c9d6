#!/usr/bin/env python3
"""`mgpu-bench plan` as a user sees it: it says what `run -s auto` would do, from what calibrate cached, and runs nothing. Usage:
plan_test.py BINARY [unittest arguments]. Which strategy is best depends on the machine: what is told is only ever compared with itself."""

import json
from pathlib import Path

import binary
from binary import Case, defaults, mgpu


class Plans(Case):
    @classmethod
    def setUpClass(cls):
        done = mgpu("calibrate", "merkle", *binary.DEVICES, "--no-noise")
        if done.code != 0:
            raise RuntimeError(f"calibrate: {done}")
        cls.devices = [device["id"] for device in json.loads(mgpu("devices", *binary.DEVICES, "--json").out)["devices"]]

    def document(self, *arguments):
        out = self.good("plan", "merkle", *binary.DEVICES, "--size", "2^16", "--json", "-", *arguments)
        self.assertEqual(out.err, "")
        return json.loads(out.out)

    def plans(self, *arguments):
        return self.document(*arguments)["plans"]

    def test_it_names_a_strategy_its_devices_and_the_reasons_in_words(self):
        result = self.good("plan", "merkle", *binary.DEVICES, "--size", "2^16")
        self.assertEqual(result.err, "")
        for plan in self.plans():
            mode = plan["mode"].replace("_", " ")
            self.assertIn(f"merkle leaves=2^16, {mode}: {plan['strategy']} on {', '.join(plan['devices'])}\n", result.out)
            count = len(plan["devices"])
            self.assertIn(f"  {plan['strategy']} on {count} of {len(self.devices)} device", result.out)
            for reason in plan["reasons"]:
                self.assertIn(f"  {reason}\n", result.out)
        self.assertIn("is predicted to take", result.out)

    def test_its_json_holds_all_that_was_considered_best_first_and_is_the_same_each_time(self):
        document = self.document()
        self.assert_exact_schema(document, "plan")
        plans = document["plans"]
        self.assertEqual([plan["mode"] for plan in plans], ["resident", "end_to_end"])
        for plan in plans:
            self.assertEqual(set(plan), {"suite", "leaves", "mode", "strategy", "devices", "predicted_ns", "reasons", "considered"})
            self.assertEqual((plan["suite"], plan["leaves"]), ("merkle", 2**16))
            self.assertLessEqual(set(plan["devices"]), set(self.devices))
            self.assertTrue(plan["reasons"])
            chosen = {"strategy": plan["strategy"], "devices": len(plan["devices"]), "predicted_ns": plan["predicted_ns"]}
            self.assertIn(chosen, plan["considered"])
            times = [candidate["predicted_ns"] for candidate in plan["considered"]]
            self.assertEqual(times, sorted(times))
            self.assertGreater(times[0], 0)
            self.assertIn("single", [candidate["strategy"] for candidate in plan["considered"]])
        self.assertEqual(self.plans(), plans)

    def test_help_says_that_no_rate_is_measured_where_sizes_go_by_rates(self):
        for words in (["plan", "--help-all"], ["run", "--help-all"]):
            said = " ".join(self.good(*words).out.split())
            option = said.split(" --size N,.. " if words[0] == "plan" else " --memory-pool-size-mb N ")[1].split(" --")[0]
            self.assertRegex(option, "measures none|never measured")

    def test_it_builds_and_runs_no_kernel_and_keeps_nothing(self):
        cached = Path(binary.SCRATCH) / "cache" / "mgpu-bench"
        before = {file: file.stat().st_mtime_ns for file in cached.rglob("*")}
        built = self.folder / "pocl"  # PoCL leaves there what it compiles
        self.good("plan", "merkle", *binary.DEVICES, "--size", "2^16", cwd=self.folder, env={"POCL_CACHE_DIR": str(built)})
        self.assertEqual({file: file.stat().st_mtime_ns for file in cached.rglob("*")}, before)
        self.assertEqual([file for file in self.folder.rglob("*") if file.suffix in (".so", ".bc", ".json")], [])

    def test_run_with_strategy_auto_does_what_the_plan_of_one_device_says_and_chooses_among_the_same(self):
        one = ["--max-devices", 1, "--mode", "resident"]
        (plan,) = self.plans(*one)
        (run,) = self.auto("--size", "2^16", *one)
        chosen = run["plan"]["chosen"]
        self.assertEqual((chosen["strategy"], chosen["devices"]), (plan["strategy"], plan["devices"]))
        # Of several, auto has the figures of its probes too, which are never twice the same.
        (plan,) = self.plans("--mode", "resident")
        (run,) = self.auto("--size", "2^16")
        chosen = run["plan"]["chosen"]
        self.assertIn(chosen["strategy"], [candidate["strategy"] for candidate in plan["considered"]])
        self.assertLessEqual(set(chosen["devices"]), set(self.devices))

    def auto(self, *arguments):
        return [run for run in self.small("-s", "auto", *arguments)["runs"] if run["strategy"] == "auto"]


class Refuses(Case):
    def test_what_was_never_measured_is_named_with_what_measures_it(self):
        elsewhere = {"XDG_CACHE_HOME": str(self.folder)}
        self.refused(["plan", "merkle", *binary.DEVICES, "--size", 4], 2, "has not been measured with merkle", "mgpu-bench calibrate",
                     env=elsewhere)
        self.refused(["plan", "merkle", *binary.DEVICES, "--size", 4, "--no-cache"], 2, "mgpu-bench calibrate")

    def test_bad_input_is_one_line_that_says_what_is_accepted(self):
        self.refused(["plan"], 2, "SUITE")
        self.refused(["plan", "merkle", "matrix"], 2, "plan: more than one SUITE is given, accepted is one")
        self.refused(["plan", "bogus"], 2, "plan", '"bogus"', "accepted", "merkle")
        self.refused(["plan", "merkle,msm"], 2, "plan", "one")
        self.refused(["plan", "merkle", "--size", "4,8"], 2, "--size", "one")
        self.refused(["plan", "merkle", "--size", "many"], 2, "--size", '"many"', "accepted")
        self.refused(["plan", "merkle", "--mode", "bogus"], 2, "--mode", '"bogus"', "accepted", "resident")
        self.refused(["plan", "merkle", "--tree", "bogus"], 2, "--tree", '"bogus"', "accepted", "rfc6962")
        self.refused(["plan", "merkle", "-d", "bogus"], 2, "--devices", "accepted")
        for option in ("-s", "--strategy"):  # it is what plan finds
            self.refused(["plan", "merkle", option, "equal"], 2, f'"{option}"', "plan --help")

    def test_a_selection_without_a_device_says_what_there_is_and_a_term_without_is_a_warning(self):
        result = self.refused(["plan", "merkle", "-d", "name~no-such-device"], 7, "--devices", '"name~no-such-device"')
        self.assertIn(json.loads(self.good("devices", "--json").out)["devices"][0]["name"], result.err)
        self.refused(["plan", "merkle", *binary.DEVICES, "-d", "name~no-such-device", "--strict"], 2, "no-such-device", "--strict")
        self.refused(["plan", "merkle"], 7, "/nonexistent", env={"OCL_ICD_VENDORS": "/nonexistent"})


if __name__ == "__main__":
    binary.main()
