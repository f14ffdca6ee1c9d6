#!/usr/bin/env python3
"""`mgpu-bench compare` as users see it. Usage: compare_test.py BINARY [unittest arguments]. The helpers are those of
binary.py. Results are simulated and their times then set here, so that nothing depends on this machine's."""

import copy
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import binary
from binary import Case

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NO_OPENCL = {"OCL_ICD_VENDORS": "/nonexistent"}

# Writes TEMPLATE with times FACTOR as long, a little different every time it is run, to the file of -o.
FAKE = """#!{python} -IS
import json, os, random, sys, time
counter = {counter!r}
turn = int(open(counter).read() or 0) if os.path.exists(counter) else 0
open(counter, "w").write(str(turn + 1))
if "--break" in sys.argv:
    sys.exit("broken on purpose")
if "--hang" in sys.argv:
    time.sleep(60)
random.seed(turn)
report = json.load(open({template!r}))
drift = 1.15 ** (turn // 2)
for run in report["runs"]:
    run["samples_ns"] = [int(t * drift * float(os.environ.get("FACTOR", "1")) * random.uniform(0.999, 1.001)) for t in run["samples_ns"]]
    run["sample_index"] = 0
json.dump(report, open(sys.argv[sys.argv.index("-o") + 1], "w"))
"""


def python_with(*modules):
    """A Python that has them, or none."""
    look = f"import importlib.util, sys; sys.exit(None in map(importlib.util.find_spec, {modules}))"  # importing them takes a second
    for python in (sys.executable, "/usr/bin/python3"):
        if shutil.which(python) and subprocess.run([python, "-c", look], capture_output=True).returncode == 0:
            return python
    return None


class Results(Case):
    def template(self, strategies="equal,dynamic"):
        """Two simulated devices, a case for each strategy."""
        scenario, file = self.folder / "s.json", self.folder / "template.json"
        scenario.write_text(json.dumps({"devices": [{"count": 2, "items_per_s": 1e9}], "work": {"items": 1_000_000}}))
        self.good("simulate", scenario, "-s", strategies, "--mode", "resident", "-n", 1, "-o", file, env=NO_OPENCL)
        return json.loads(file.read_text())

    def saved(self, name, report, factor=1.0, samples=12, seed=1, cases=None):
        """`report` with random times around 1 ms; `cases` (strategies; default: all) take `factor` as long."""
        report, rng = copy.deepcopy(report), random.Random(seed)
        for run in report["runs"]:
            slower = factor if cases is None or run["strategy"] in cases else 1.0
            run["samples_ns"] = [int(1e6 * slower * rng.uniform(0.995, 1.005)) for _ in range(samples)]
            run["sample_index"] = 0
            for device in run["per_device"]:
                device["alone_samples_ns"] = [int(2e6 * rng.uniform(0.995, 1.005)) for _ in range(samples)]
                device["busy_samples_ns"] = [int(t * 0.9) for t in run["samples_ns"]]
        file = self.folder / name
        file.write_text(json.dumps(report))
        return file

    def fake_program(self, template):
        file, kept = self.folder / "fake", self.folder / "fake.json"
        kept.write_text(json.dumps(template))
        file.write_text(FAKE.format(python=sys.executable, counter=str(self.folder / "turns"), template=str(kept)))
        file.chmod(0o755)
        return file


class Compares(Results):
    def test_a_regression_is_exit_code_3_and_in_table_markdown_and_json(self):
        report = self.template()
        base, new = self.saved("base.json", report), self.saved("new.json", report, 1.1, seed=2, cases=["dynamic"])
        out, summary = self.folder / "c.json", self.folder / "c.md"
        result = binary.mgpu("compare", base, new, "-o", out, "--markdown", summary, "--with-resamples", "--resamples", 100, env=NO_OPENCL)
        self.assertEqual(result.code, 3, str(result))
        self.assertIn("3 regressions", result.out)
        self.assert_schema(out, "compare")
        comparison = json.loads(out.read_text())
        verdicts = {(row["case"].split("/")[-3].split(":")[0], row["metric"]): row["verdict"] for row in comparison["rows"]}
        self.assertEqual({m for (s, m), v in verdicts.items() if v == "regression"}, {"time", "speedup", "efficiency"})
        self.assertEqual({s for (s, m), v in verdicts.items() if v == "regression"}, {"dynamic"})
        self.assertEqual({v for (s, m), v in verdicts.items() if s == "equal"}, {"same"})
        self.assertIn("**regression**", summary.read_text())
        printed = binary.mgpu("compare", base, new, "--json", "-", env=NO_OPENCL)
        self.assertEqual([row["test"] for row in json.loads(printed.out)["rows"]], [row["test"] for row in comparison["rows"]])
        self.assertEqual(binary.mgpu("compare", base, new, "--fail-on", "nothing", env=NO_OPENCL).code, 0)
        self.assertIn("3 improvements", self.good("compare", new, base, env=NO_OPENCL).out)
        self.good("compare", base, new, "--floor", "15%", env=NO_OPENCL)
        self.good("compare", base, new, "--metrics", "imbalance", env=NO_OPENCL)

    def test_every_width_has_base_and_new_and_what_report_shows_of_them(self):
        report = self.template("equal")
        base, new = self.saved("base.json", report), self.saved("new.json", report, 1.3, seed=2)
        for run in (changed := json.loads(new.read_text()))["runs"]:
            run["warnings"] = ["other programs used about 70 % of the cores"]
            for device in run["per_device"]:  # medians of these have another ratio than their ratios have a median
                device["alone_samples_ns"] = [t if k % 3 else 2 * t for k, t in enumerate(reversed(sorted(device["alone_samples_ns"])))]
                device["alone_ns"] = int(statistics.median(device["alone_samples_ns"]))
            time_ns, alone = int(statistics.median(run["samples_ns"])), min(device["alone_ns"] for device in run["per_device"])
            run["time_ns"]["median"], run["metrics"]["speedup"] = time_ns, alone / time_ns
        new.write_text(json.dumps(changed))
        for columns in (80, 120):
            env = {**NO_OPENCL, "COLUMNS": str(columns)}
            shown = binary.mgpu("compare", base, new, env=env).out
            header = next(line for line in shown.splitlines() if line.startswith("strategy"))
            self.assertIn("BASE", header)
            self.assertIn("NEW", header)
            self.assertLessEqual(max(map(len, shown.splitlines()[:-1])), columns)  # the last one is broken on a terminal only
            self.assertEqual(shown.count("other programs used"), 1)
            speedup = re.search(r"speedup +\S+ x +(\S+) x", shown)[1]
            row = next(line for line in self.good("report", new, "--columns", "speedup", env=env).out.splitlines() if " equal " in line)
            self.assertEqual(speedup, row.split()[-1])
            self.assertRegex(shown, r"efficiency .* [+-]\d+\.\d pp")
        narrow = {**NO_OPENCL, "COLUMNS": "80"}
        hidden = re.search(r"(?m)^\d columns? hidden: (.+) \(--columns NAME,.. or all shows them\)$", binary.mgpu("compare", base, new, env=narrow).out)[1]
        for chosen in (hidden.replace(", ", ","), "all"):
            shown = binary.mgpu("compare", base, new, "--columns", chosen, env=narrow).out
            self.assertNotIn("hidden", shown)
            header = next(line for line in shown.splitlines() if line.startswith("strategy")).split()
            self.assertLessEqual({"BASE", "NEW", *hidden.split(", ")}, set(header))
            self.assertEqual("verdict" in header, chosen == "all")
        self.refused(["compare", base, new, "--columns", "intervals"], 2, "--columns", 'did you mean "interval"?', env=NO_OPENCL)

    def test_too_few_samples_and_lost_cases_are_exit_code_4_when_asked_to_fail_on_it(self):
        report = self.template()
        base, few = self.saved("base.json", report), self.saved("few.json", report, samples=3)
        self.good("compare", base, few, env=NO_OPENCL)
        self.assertEqual(binary.mgpu("compare", base, few, "--fail-on", "inconclusive", env=NO_OPENCL).code, 4)

    def test_a_case_that_new_lacks_is_exit_code_3_unless_it_may_be_missing(self):
        report = self.template()
        base, lost = self.saved("base.json", report), self.saved("lost.json", {**report, "runs": report["runs"][:1]})
        result = binary.mgpu("compare", base, lost, env=NO_OPENCL)
        self.assertEqual(result.code, 3, str(result))
        self.assertIn("NEW lacks a case of BASE", result.err)
        self.assertIn("--allow-missing", result.err)
        self.assertIn("only in BASE", result.out)
        self.assertIn("1 case missing in NEW", result.out)
        for allowed in (["--allow-missing"], ["--allow-missing", "--fail-on", "inconclusive"], ["--fail-on", "nothing"]):
            result = self.good("compare", base, lost, *allowed, env=NO_OPENCL)
            self.assertIn("only in BASE", result.out)
            self.assertEqual(result.err, "")
        self.assertEqual(self.good("compare", lost, base, env=NO_OPENCL).err, "")  # a new case is no reason to fail

    def test_cases_of_devices_that_new_has_not_may_be_missing_where_environments_may_differ(self):
        scenario, files = self.folder / "s.json", {}
        for count in (2, 1):
            scenario.write_text(json.dumps({"devices": [{"count": count, "items_per_s": 1e9}], "work": {"items": 1_000_000}}))
            files[count] = self.folder / f"{count}.json"
            counts = ",".join(str(n) for n in range(1, count + 1))
            self.good("simulate", scenario, "-s", "equal", "--mode", "resident", "--device-counts", counts, "-n", 1, "-o", files[count],
                      env=NO_OPENCL)
        self.refused(["compare", files[2], files[1]], 2, "number of devices", env=NO_OPENCL)
        result = self.good("compare", files[2], files[1], "--ignore-environment", env=NO_OPENCL)
        self.assertIn("only in BASE: it takes 2 devices, NEW has 1", result.out)
        report = json.loads(files[2].read_text())
        lacking = self.folder / "lacking.json"
        lacking.write_text(json.dumps({**report, "runs": [run for run in report["runs"] if len(run["devices"]) == 1]}))
        result = binary.mgpu("compare", files[2], lacking, "--ignore-environment", env=NO_OPENCL)
        self.assertEqual(result.code, 3, str(result))  # it had the devices

    def test_a_floor_that_is_noise_of_a_busy_machine_is_not_used_and_said(self):
        report = self.template("equal")
        for run in report["runs"]:
            run["noise_floor"] = 1.18
        base, new = self.saved("base.json", report), self.saved("new.json", report, 1.88, seed=2)
        result = binary.mgpu("compare", base, new, "--markdown", self.folder / "c.md", env={**NO_OPENCL, "COLUMNS": "200"})
        self.assertEqual(result.code, 3, str(result))
        for said in (result.out, (self.folder / "c.md").read_text()):
            self.assertIn("its noise of 118 % is not used", said)
        self.assertEqual({row["floor"] for row in json.loads(binary.mgpu("compare", base, new, "--json", env=NO_OPENCL).out)["rows"]}, {0.02})

    def test_a_case_that_fails_now_is_exit_code_5(self):
        report = self.template()
        base = self.saved("base.json", report)
        broken = json.loads(base.read_text())
        broken["runs"][1].update(status="failed", reason="hung", samples_ns=[])
        new = self.folder / "new.json"
        new.write_text(json.dumps(broken))
        result = binary.mgpu("compare", base, new, env=NO_OPENCL)
        self.assertEqual(result.code, 5, str(result))
        self.assertIn("NEW: failed: hung", result.out)

    def test_another_machine_is_refused_unless_asked_for_and_then_said(self):
        report = self.template()
        base = self.saved("base.json", report)
        report["environment"]["host"] = "elsewhere"
        new = self.saved("new.json", report)  # alike in all but that
        self.refused(["compare", base, new], 2, "host: ", " -> elsewhere", "--ignore-environment", env=NO_OPENCL)
        report["devices"][1]["driver_version"] = "other"
        new = self.saved("new.json", report)
        self.refused(["compare", base, new], 2, "driver_version", "other", "--ignore-environment", env=NO_OPENCL)
        out = self.good("compare", base, new, "--ignore-environment", env=NO_OPENCL).out
        self.assertIn("host", out)
        self.assertIn("-> other", out)

    def test_bad_options_and_files_are_one_line(self):
        file = self.saved("base.json", self.template("equal"))
        other = self.saved("other.json", self.template("dynamic"))
        for arguments, names in ((["compare", file], ["BASE", "NEW"]), (["compare", file, file, file], ["BASE"]),
                                 (["compare", file, other], ["no case in common"]), (["compare", file, "none.json"], ["none.json"]),
                                 (["compare", file, file, "--floor", "x"], ["--floor", '"x"', "accepted"]),
                                 (["compare", file, file, "--alpha", "0"], ["--alpha", '"0"']),
                                 (["compare", file, file, "--metrics", "time,x"], ["--metrics", '"x"', "imbalance"]),
                                 (["compare", file, file, "--fail-on", "x"], ["--fail-on", "inconclusive"]),
                                 (["compare", file, file, "--resamples", "5"], ["--resamples", '"5"']),
                                 (["compare", file, file, "--resamples", "1G"], ["--resamples", '"1G"']),
                                 (["compare", file, file, "--with", "x"], ["--with", "--interleave"]),
                                 (["compare", file, file, "--interleave", "9"], ["--interleave", "--with"]),
                                 (["compare", file, file, "--interleave", "2", "--with", "x"], ["--interleave", '"2"']),
                                 (["compare", "", self.folder, "--interleave", "9", "--with", "x"], ["cannot be run"]),
                                 (["compare", "", "'a", "--interleave", "9", "--with", "x"], ["quote"]),
                                 (["report", file, "--export", "bogus=x"], ["--export", "junit"]),
                                 (["report", file, "--export", "csv"], ["--export", "KIND=FILE"]),
                                 (["report", file, "--require", "bogus>1"], ["--require", "efficiency"])):
            with self.subTest(arguments=arguments):
                self.refused(arguments, 2, *names, env=NO_OPENCL)


class MeasuresInterleaved(Results):
    def test_a_switch_that_every_round_has_anyway_may_be_asked_for(self):
        words = " ".join(["merkle", *binary.ONE_DEVICE, "--size 2^10 --mode resident -s equal -n 1 --warmup 0 -q"])
        self.good("compare", binary.BINARY, binary.BINARY, "--interleave", 5, "--with", words, "--metrics", "time", "--fail-on", "nothing", "-q", "-q")

    def test_two_interleaved_programs_tell_a_small_change_apart_from_a_large_drift(self):
        fake = self.fake_program(self.template("equal"))
        out = self.folder / "c.json"
        result = binary.mgpu("compare", fake, f"FACTOR=1.04 {fake} '--slow 0=2'", "--interleave", 8, "--with", "merkle -n 1",
                               "--metrics", "time", "-o", out, env=NO_OPENCL)
        self.assertEqual(result.code, 3, str(result))
        self.assert_schema(out, "compare")
        comparison = json.loads(out.read_text())
        self.assertEqual([row["verdict"] for row in comparison["rows"]], ["regression"])
        self.assertEqual({row["test"]["method"] for row in comparison["rows"]}, {"signed-rank exact"})
        same = self.good("compare", fake, fake, "--interleave", 10, "--with", "merkle", "-q", env=NO_OPENCL)
        self.assertIn("0 regressions", same.out)
        self.assertEqual(same.err, "")

    def test_rounds_too_few_to_alarm_become_more(self):
        fake = self.fake_program(self.template("equal"))
        result = binary.mgpu("compare", fake, f"FACTOR=10 {fake}", "--interleave", 5, "--with", "merkle -n 1", "--metrics", "time", env=NO_OPENCL)
        self.assertEqual(result.code, 3, str(result))
        self.assertIn("5 rounds are too few", result.err)
        self.assertIn("round 8 of 8", result.err)
        result = self.good("compare", fake, f"FACTOR=10 {fake}", "--interleave", 5, "--with", "merkle -n 1", "--metrics", "time",
                           "--fail-on", "nothing", env=NO_OPENCL)
        self.assertIn("round 5 of 5", result.err)

    def test_a_case_that_new_lacks_is_exit_code_3(self):
        fake = self.fake_program(self.template())
        lacking = self.folder / "lacking"
        lacking.write_text(fake.read_text().replace("for run in", "if 'base' not in sys.argv:\n    del report['runs'][1]\nfor run in"))
        lacking.chmod(0o755)
        words = ["compare", f"{lacking} base", lacking, "--interleave", 5, "--with", "merkle -n 1", "--metrics", "time", "-q"]
        result = binary.mgpu(*words, env=NO_OPENCL)
        self.assertEqual(result.code, 3, str(result))
        self.assertIn("0 regressions", result.out)
        self.assertIn("NEW lacks a case of BASE", result.err)
        self.good(*words, "--allow-missing", env=NO_OPENCL)

    def test_a_program_that_fails_is_named_with_what_it_said(self):
        fake = self.fake_program(self.template())
        result = self.refused(["compare", fake, f"{fake} --break", "--interleave", 5, "--with", "x"], 5, "broken on purpose", env=NO_OPENCL)
        self.assertIn("ended with 1", result.err)

    def test_ctrl_c_ends_the_program_that_is_measured_and_the_comparison(self):
        fake = self.fake_program(self.template("equal"))
        words = [binary.BINARY, "compare", str(fake), f"{fake} --hang", "--interleave", "5", "--with", "x"]
        process = subprocess.Popen(words, env=binary.environment(NO_OPENCL), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        turns, end = self.folder / "turns", time.monotonic() + 60
        while (not turns.exists() or turns.read_text() != "2") and time.monotonic() < end:
            time.sleep(0.02)  # until the second program, NEW, runs
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (130, ""), err)
        self.assertIn("interrupted", err)

    def test_alarms_are_measured_anew_and_fall_when_they_do_not_come_back(self):
        base = self.folder / "base.json"
        self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 6, "--size", "2^10", "--mode", "resident", "-s", "equal,dynamic:chunks=4",
                  "-o", base)
        report = json.loads(base.read_text())
        for run in report["runs"]:  # without the spread of a machine that others use
            median = statistics.median(run["samples_ns"])
            run["samples_ns"] = [int(median * (1 + k / 100)) for k in range(len(run["samples_ns"]))]
        base.write_text(json.dumps(report))
        for run in report["runs"]:
            factor = 1 if run["strategy"] == "equal" else 50  # slower than anything that runs anew
            run["samples_ns"] = [t * factor for t in run["samples_ns"]]
        new = self.folder / "new.json"
        new.write_text(json.dumps(report))
        alarmed = ["compare", base, new, "--metrics", "time", "--floor", "900%"]
        self.assertEqual(binary.mgpu(*alarmed).code, 3)
        result = self.good(*alarmed, "--confirm", 1)
        self.assertIn("not confirmed: 0 of 1", result.out)


if __name__ == "__main__":
    binary.main()
