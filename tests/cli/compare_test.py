#!/usr/bin/env python3
"""Tests of `mgpu-bench compare` that start programs, and other programs that read exported files.
Usage: compare_test.py BINARY [unittest arguments]. Results are simulated and their times then set
here, so that nothing depends on this machine's. Decisions and tables are in
tests/golden/cli/compare.txt."""

import copy
import csv
import io
import json
import random
import re
import signal
import statistics
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import binary
from binary import NO_OPENCL, ROOT, Case, begin, environment, mgpu, python_with, wait_until

COMPARE_PY = Path("/usr/share/benchmark/compare.py")  # from the package libbenchmark-tools

# A program that writes TEMPLATE with times FACTOR as long, a little different every time it runs,
# to the file of -o. With "lacks", a case is missing; with "older", a parameter that is new.
FAKE = """#!{python} -IS
import json, os, random, sys, time
counter = {counter!r}
turn = int(open(counter).read() or 0) if os.path.exists(counter) else 0
open(counter, "w").write(str(turn + 1))
if "--break" in sys.argv:
    sys.exit("broken on purpose")
if "--hang" in sys.argv:
    open(counter, "w").write(str(os.getpid()))
    time.sleep(600)
random.seed(turn)
report = json.load(open({template!r}))
if "lacks" in sys.argv:
    del report["runs"][1]
for run in report["runs"] if "older" in sys.argv else []:
    del run["params"]["items"]
factor = 1.15 ** (turn // 2) * float(os.environ.get("FACTOR", "1"))
for run in report["runs"]:
    run["samples_ns"] = [int(t * factor * random.uniform(0.999, 1.001)) for t in run["samples_ns"]]
    run["sample_index"] = 0
json.dump(report, open(sys.argv[sys.argv.index("-o") + 1], "w"))
"""


def is_running(number):
    try:
        return Path(f"/proc/{number}/stat").read_text().split()[2] not in "ZX"
    except FileNotFoundError:
        return False


class Results(Case):
    def template(self, strategies="equal,dynamic"):
        """Returns a result of two simulated devices with a case for each strategy."""
        scenario, file = self.folder / "s.json", self.folder / "template.json"
        scenario.write_text(json.dumps({"devices": [{"count": 2, "items_per_s": 1e9}],
                                        "work": {"items": 1_000_000}}))
        self.good("simulate", scenario, "-s", strategies, "--mode", "resident", "-n", 1, "-o", file,
                  env=NO_OPENCL)
        return json.loads(file.read_text())

    def saved(self, name, report, factor=1.0, seed=1):
        """Saves `report` with random times around 1 ms, multiplied by `factor`."""
        report, rng = copy.deepcopy(report), random.Random(seed)
        for run in report["runs"]:
            run["samples_ns"] = [int(1e6 * factor * rng.uniform(0.995, 1.005)) for _ in range(12)]
            run["sample_index"] = 0
            for device in run["per_device"]:
                device["alone_samples_ns"] = [int(2e6 * rng.uniform(0.995, 1.005))
                                              for _ in range(12)]
                device["busy_samples_ns"] = [int(t * 0.9) for t in run["samples_ns"]]
        file = self.folder / name
        file.write_text(json.dumps(report))
        return file

    def fake_program(self, template):
        file, kept = self.folder / "fake", self.folder / "fake.json"
        kept.write_text(json.dumps(template))
        file.write_text(FAKE.format(python=sys.executable, counter=str(self.folder / "turns"),
                                    template=str(kept)))
        file.chmod(0o755)
        return file


class Interleaves(Results):
    WORDS = ["--with", "merkle -n 1", "--metrics", "time"]

    def compared(self, code, base, new, *arguments):
        out = self.folder / "c.json"
        done = mgpu("compare", base, new, "--interleave", 5, *self.WORDS, "-o", out, *arguments,
                    env=NO_OPENCL)
        self.assertEqual(done.code, code, done)
        return done, json.loads(out.read_text())

    def test_a_small_change_is_told_from_a_large_drift_over_more_rounds_if_five_are_too_few(self):
        fake = self.fake_program(self.template("equal"))
        done, comparison = self.compared(3, fake, f"FACTOR=1.04 {fake} '--slow 0=2'")
        self.assertEqual(re.findall(r"round . of .|\d rounds are too few|\d will be run", done.err),
                         ["round 1 of 5", "5 rounds are too few", "8 will be run"] +
                         [f"round {k} of 8" for k in range(2, 9)])
        self.assert_schema(self.folder / "c.json", "compare")
        row, = comparison["rows"]
        self.assertEqual((row["verdict"], row["test"]["method"]), ("regression",
                "signed-rank exact"))
        self.assertEqual(len(row["new"]["values"]), 8)
        self.compared(0, fake, fake, "-q", "--fail-on", "nothing")
        self.assertEqual(int((self.folder / "turns").read_text()), 2 * 8 + 2 * 5)

    def test_a_case_that_new_lacks_is_exit_code_3(self):
        fake = self.fake_program(self.template())
        self.compared(3, fake, f"{fake} lacks", "-q")
        self.compared(0, fake, f"{fake} lacks", "-q", "--allow-missing")

    def test_a_parameter_that_only_new_knows_at_its_default_is_no_other_case(self):
        template = self.template("equal")
        run, = template["runs"]
        template["defaults"] = {run["suite"]: {"items": run["params"]["items"]}}
        fake = self.fake_program(template)
        comparison = self.compared(0, f"{fake} older", fake, "-q", "--fail-on", "nothing")[1]
        self.assertEqual(len(comparison["rows"]), 1)

    def test_a_program_that_fails_is_named_with_what_it_said(self):
        fake = self.fake_program(self.template("equal"))
        self.refused(["compare", fake, f"{fake} --break", "--interleave", 5, *self.WORDS, "-q"], 5,
                     "broken on purpose", "ended with 1", env=NO_OPENCL)

    def test_a_signal_to_the_comparison_alone_ends_the_program_that_is_measured_too(self):
        fake, turns = self.fake_program(self.template("equal")), self.folder / "turns"
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            turns.write_text("0")
            process = begin("compare", fake, f"{fake} --hang", "--interleave", 5, *self.WORDS,
                            env=NO_OPENCL)
            # Waits until NEW runs and has written its process number.
            self.assertTrue(wait_until(lambda: len(turns.read_text()) > 1, process))
            child = int(turns.read_text())
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (code, ""), err)
            self.assertTrue(wait_until(lambda: not is_running(child)), number)

    @binary.thorough
    def test_this_program_is_interleaved_with_an_older_build_that_knows_no_sizes_of(self):
        older, out = self.folder / "older", self.folder / "c.json"
        older.write_text('#!/bin/sh\nfor word; do\n  [ "$word" != --sizes-of ] || '
                         '{ echo "no option --sizes-of" >&2; exit 2; }\ndone\n'
                         f'exec {binary.BINARY} "$@"\n')
        older.chmod(0o755)
        words = " ".join(map(str, ["merkle", *binary.ONE_DEVICE, "--mode", "resident", "--warmup",
                                   0,
                                   "-n", 1, "-s", "equal", "-q"]))
        self.good("compare", f"{binary.BINARY} --size 2^10", older, "--interleave", 5, "--with",
                  words, "--metrics", "time", "--fail-on", "nothing", "-q", "-q", "-o", out)
        compared = json.loads(out.read_text())
        self.assertIn("1024", compared["rows"][0]["case"])
        self.assertEqual(compared["uncompared"], [])

    def test_alarms_are_measured_again_and_fall_when_they_do_not_come_back(self):
        base, new = self.folder / "base.json", self.folder / "new.json"
        self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 6, "--size", "2^10", "--mode",
                  "resident", "-s", "equal,dynamic:chunks=4", "-o", base)
        report = json.loads(base.read_text())
        for run in report["runs"]:  # without the spread of a shared machine
            run["warnings"] = []
            median = statistics.median(run["samples_ns"])
            run["samples_ns"] = [int(median * (1 + k / 100)) for k in range(6)]
        base.write_text(json.dumps(report))
        report["runs"][1]["samples_ns"] = [50 * t for t in report["runs"][1]["samples_ns"]]
        new.write_text(json.dumps(report))
        alarmed = ["compare", base, new, "--metrics", "time", "--floor", "900%"]
        self.assertEqual(mgpu(*alarmed).code, 3)
        self.good(*alarmed, "--confirm", 1)


class Verdicts(Results):
    def judged(self, code, base, new, *arguments):
        out = self.folder / "c.json"
        out.unlink(missing_ok=True)
        done = mgpu("compare", base, new, "-o", out, *arguments, env=NO_OPENCL)
        self.assertEqual(done.code, code, done)
        return done, json.loads(out.read_text()) if out.exists() else None

    def of_samples(self, name, report, samples, factor=1.0):
        report, rng = copy.deepcopy(report), random.Random(name)
        for run in report["runs"]:
            run["samples_ns"] = [int(1e6 * factor * rng.uniform(0.9, 1.1)) for _ in range(samples)]
            run["sample_index"] = 0
        file = self.folder / name
        file.write_text(json.dumps(report))
        return file

    def test_ten_times_slower_is_a_regression_by_few_samples_and_of_many_cases(self):
        report = self.template("equal")
        many = {**report, "runs": [copy.deepcopy(report["runs"][0]) for _ in range(70)]}
        for k, run in enumerate(many["runs"]):
            run["params"]["items"] = k + 1
        for cases, base, new in ((report, 3, 3), (report, 18, 3), (report, 1, 30), (many, 9, 9)):
            with self.subTest(cases=len(cases["runs"]), base=base, new=new):
                _, comparison = self.judged(3, self.of_samples("a.json", cases, base),
                                            self.of_samples("b.json", cases, new, 10))
                self.assert_schema(self.folder / "c.json", "compare")
                self.assertEqual(comparison["counts"]["regression"], len(cases["runs"]))

    def test_what_is_slower_without_a_verdict_is_exit_code_4(self):
        report = self.template()
        base, new = self.saved("a.json", report), json.loads(self.saved("b.json", report).read_text())
        new["runs"][1]["samples_ns"] = [1_000_000, 1_200_000, 800_000, 1_300_000] * 3
        file = self.folder / "b.json"
        file.write_text(json.dumps(new))
        done, comparison = self.judged(4, base, file)
        self.assertEqual([row["slower"] for row in comparison["rows"] if row["metric"] == "time"],
                         [False, True])
        self.assertIn("inconclusive, slower", done.out)
        self.judged(0, file, base)
        self.judged(4, file, base, "--fail-on", "inconclusive")
        self.judged(0, base, file, "--fail-on", "nothing")

    def test_too_few_samples_for_any_verdict_are_not_comparable(self):
        report = self.template("equal")
        few = [self.of_samples(name, report, 3) for name in ("a.json", "b.json")]
        done, _ = self.judged(2, *few)
        self.assertTrue(done.err.strip().endswith("measure with -n 5"), done.err)
        self.judged(0, *few, "--fail-on", "nothing")

    def test_a_base_that_did_not_verify_is_not_compared(self):
        report = self.template()
        new = self.saved("new.json", report)
        for count in (1, 2):
            for run in report["runs"][:count]:
                run["verify"]["status"] = run["status"] = "failed"
                run["reason"] = "the root differs"
            base = self.saved("base.json", report)
            if count == 1:
                done, comparison = self.judged(0, base, new)
                self.assertEqual(comparison["uncompared"][0]["what"],
                                 "BASE: did not verify: the root differs")
                self.assertIn("warning: BASE has no figures of simulated", done.err)
            else:
                self.refused(["compare", base, self.folder / "template.json"], 2,
                             "BASE: did not verify", env=NO_OPENCL)

    def test_a_case_that_a_file_has_twice_is_refused(self):
        report = self.template("equal")
        good, twice = self.folder / "template.json", self.folder / "twice.json"
        twice.write_text(json.dumps({**report, "runs": 2 * report["runs"]}))
        for files in ((good, twice), (twice, good)):
            self.refused(["compare", *files], 2, "twice.json", "/equal/", "more than once",
                         env=NO_OPENCL)


class Statistics(Results):
    """Checks that every test and interval equals that of SciPy, statsmodels and NumPy, for random
    results."""
    CASES = 200 if binary.THOROUGH else 60

    def agrees(self, *methods):
        python = python_with("scipy", "statsmodels", "numpy")
        if python is None:
            self.skipTest("python3-scipy or python3-statsmodels is not here")
        done = subprocess.run([python, binary.HERE / "check_comparison.py", self.folder / "c.json"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for method in methods:
            self.assertIn(method, done.stdout)

    def cases(self):
        """Returns copies of one case with different sizes, without events, which are not needed."""
        report = self.template("equal")
        run = report["runs"][0]
        run["timeline"].update(commands=[], spans=[], slices=[])
        report["runs"] = [{**copy.deepcopy(run), "params": {**run["params"], "items": k + 1}}
                          for k in range(self.CASES)]
        return report

    def test_samples_against_samples(self):
        """Uses 1 to 60 values per side, shifted or not, sometimes with many ties."""
        report, rng = self.cases(), random.Random(6)
        files = [self.folder / "base.json", self.folder / "new.json"]
        for file in files:
            for k, run in enumerate(report["runs"]):
                spread = rng.choice((3, 20, 10**6))
                shift = rng.choice((0, 0, spread // 3)) if file == files[1] else 0
                count = rng.randint(1, rng.choice((8, 20, 60)) if k % 20 else 3)
                run["samples_ns"] = [1000 + shift + rng.randrange(spread) for _ in range(count)]
                run["sample_index"] = 0
            file.write_text(json.dumps(report))
        mgpu("compare", *files, "--metrics", "time", "--resamples", 100, "--with-resamples",
             "--seed",
             99, "-o", self.folder / "c.json", env=NO_OPENCL)
        self.agrees("mann-whitney exact", "mann-whitney normal", "student log")

    @binary.thorough
    def test_rounds_in_pairs(self):
        """Uses rounds of one sample; in some cases times are so coarse that differences tie."""
        report = self.cases()
        for k, run in enumerate(report["runs"]):
            run["samples_ns"] = [4 if k % 4 == 0 else 10**9]
        fake = self.fake_program(report)
        text = fake.read_text().replace("t * factor * random.uniform(0.999, 1.001)",
                                        "t * random.uniform(0.5, 1.5)")
        self.assertIn("random.uniform(0.5, 1.5)", text)
        fake.write_text(text)
        mgpu("compare", fake, fake, "--interleave", 9, "--with", "x", "--metrics", "time",
             "--resamples", 100, "-q", "--with-resamples", "-o", self.folder / "c.json",
             env=NO_OPENCL)
        self.agrees("signed-rank exact", "signed-rank normal")


class Exports(Results):
    KINDS = ("googlecpp", "bmf", "csv", "samples", "markdown", "junit")

    def exported(self, report):
        """Exports a saved result as every kind; returns kind -> file."""
        files = {kind: self.folder / f"{report.stem}.{kind}" for kind in self.KINDS}
        words = [word for kind, file in files.items() for word in ("--export", f"{kind}={file}")]
        self.good("report", report, *words, env=NO_OPENCL)
        return files

    def test_files_can_be_joined_by_the_name_of_a_case(self):
        file = self.saved("r.json", self.template("all"))
        files = self.exported(file)
        cases = [run["case"] for run in json.loads(self.good("report", file, "--json").out)["runs"]]
        self.assertEqual(len(set(cases)), len(cases))
        compared = json.loads(self.good("compare", file, file, "--json").out)
        self.assertEqual([row["case"] for row in compared["rows"] if row["metric"] == "time"], cases)
        for kind in ("csv", "samples"):
            rows = csv.DictReader(io.StringIO(files[kind].read_text(), newline=""))
            self.assertEqual(list(dict.fromkeys(row["case"] for row in rows)), cases)

    def test_other_readers_of_json_csv_and_xml_take_every_export(self):
        report = self.template("all")
        report["runs"][2].update(status="failed", reason='a < b & "c"')
        report["runs"][3]["metrics"]["speedup"] = None
        files = self.exported(self.saved("r.json", report))
        for kind in self.KINDS[:2]:
            json.loads(files[kind].read_text(),
                       parse_constant=lambda name, kind=kind: self.fail(f"{kind}: {name}"))
        rows = list(csv.DictReader(io.StringIO(files["csv"].read_text(), newline="")))
        self.assertEqual([row["status"] for row in rows], [run["status"] for run in report["runs"]])
        self.assertEqual((rows[2]["reason"], rows[2]["time_median_ns"]), ('a < b & "c"', ""))
        self.assertEqual({None in row or None in row.values() for row in rows}, {False})
        self.assertEqual({row["started"] for row in rows}, {report["started"]})
        for name, value in report["runs"][0]["params"].items():
            self.assertEqual(rows[0][f"param_{name}"], str(value))
        saved = json.loads((self.folder / "r.json").read_text())
        rows = list(csv.DictReader(io.StringIO(files["samples"].read_text(), newline="")))
        expected = [(json.dumps(run["params"], sort_keys=True), run["mode"], ";".join(run["devices"]),
                     run["status"], str(k), str(time)) for run in saved["runs"]
                    for k, time in (enumerate(run["samples_ns"]) if run["status"] == "ok" else [("", "")])]
        self.assertEqual([(json.dumps(json.loads(row["params"]), sort_keys=True), row["mode"],
                           row["devices"], row["status"], row["sample"], row["time_ns"])
                          for row in rows if row["discarded"] == "false"], expected)
        self.assertEqual(len(rows) - len(expected),
                         sum(len(run["disturbed_samples"]) for run in saved["runs"]))
        date = json.loads(files["googlecpp"].read_text())["context"]["date"]
        self.assertEqual(date, report["started"])
        suite = xml.etree.ElementTree.parse(files["junit"]).getroot().find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), (str(len(report["runs"])),
                "1"))
        self.assertEqual(suite.find(".//failure").get("message"), 'a < b & "c"')

    @binary.thorough
    def test_compare_py_of_google_benchmark_sees_the_same_regression(self):
        python = python_with("numpy", "scipy")
        if not COMPARE_PY.exists() or python is None:
            self.skipTest("compare.py is not here (package libbenchmark-tools)")
        report = self.template()
        base = self.exported(self.saved("a.json", report))
        new = self.exported(self.saved("b.json", report, 1.2, seed=2))
        dump, kind = self.folder / "dump.json", "googlecpp"
        done = subprocess.run([python, COMPARE_PY, "-d", dump, "benchmarks", base[kind], new[kind]],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for entry in json.loads(dump.read_text()):
            if entry["run_type"] == "iteration":
                self.assertAlmostEqual(entry["measurements"][0]["time"], 0.2, delta=0.02)


class Gate(Case):
    """Tests of mgpu-bench gate, and of scripts/ci/gate.sh, which calls it."""
    SCRIPT = ROOT / "scripts" / "ci" / "gate.sh"
    WORK = " ".join(["merkle -s equal --mode resident --size 2^10 -n 9 --no-telemetry", *binary.ONE_DEVICE])

    def run_gate(self, *words, **variables):
        done = subprocess.run([binary.BINARY, "gate", *words], env=environment(variables), cwd=self.folder,
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def samples(self, file):
        return [len(run["samples_ns"]) for run in json.loads((self.folder / file).read_text())["runs"]]

    def test_baselines_are_made_once_and_then_compared_with(self):
        files = [f"ci/base-{k}.json" for k in (1, 2, 3)]
        summary = self.folder / "summary.md"
        summary.write_text("an earlier step\n")
        code, said = self.run_gate(*files, "--with", self.WORK)
        # Nothing is compared: the job must fail.
        self.assertEqual((code, "ci/base-2.json" in said), (2, True), said)
        made = [(self.folder / file).read_bytes() for file in files]
        # It runs what BASE ran, with no fewer samples.
        code, said = self.run_gate(*files, "--fail-on", "nothing", GITHUB_STEP_SUMMARY=str(summary))
        self.assertEqual((code, [(self.folder / file).read_bytes() for file in files]), (0, made), said)
        self.assertRegex(said, r"measuring 1 case again, .*; slow-downs from \d+ % on show")
        self.assertGreaterEqual(min(self.samples("ci/base-1.new.json")), max(7, *self.samples(files[0])))
        self.assertRegex(summary.read_text(), "^an earlier step\n### mgpu-bench: .*\n\nBASE: ci/base-1.json, ci/base-2.json and ci/base-3.json")
        (self.folder / files[1]).write_bytes(re.sub(rb'"host": *"[^"]*"', b'"host": "elsewhere"', made[1]))
        code, said = self.run_gate(*files)
        self.assertEqual((code, "elsewhere" in said, "--ignore host" in said), (2, True, True), said)
        code, said = self.run_gate(*files, "--ignore", "host", "--fail-on", "nothing")
        self.assertEqual((code, "differs: host" in said), (0, True), said)

    def test_a_first_baseline_that_failed_is_none(self):
        code, said = self.run_gate("base.json", "--with", self.WORK + " --time-limit 1ms")
        self.assertEqual((code, (self.folder / "base.json").exists()), (5, False), said)
        self.assertTrue((self.folder / "base.failed.json").exists(), said)

    def test_a_case_that_takes_twenty_times_as_long_is_a_regression(self):
        work = self.WORK.replace("--size 2^10 -n 9", "--size 2^14 -n 60")  # also next to other tests
        self.assertEqual(self.run_gate("base.json", "--with", work)[0], 2)
        code, said = self.run_gate("base.json", "--with", work + " --slow all=20", "--ignore", "handicap",
                                   "--export", "junit=gate.xml", "--confirm", "1")
        self.assertEqual((code, "confirmed by 1 run" in said), (3, True), said)
        self.assertIn('failures="1"', (self.folder / "gate.xml").read_text())

    def test_what_fails_is_compared_as_far_as_it_was_measured(self):
        self.assertEqual(self.run_gate("base.json", "--with", self.WORK)[0], 2)
        code, said = self.run_gate("base.json", "--with", self.WORK + " --time-limit 1ms")
        self.assertEqual(code, 5, said)
        self.assertIn("base.new.json", said)

    def test_two_builds_are_interleaved(self):
        told = self.folder / "told"
        for name in "old", "new":
            (self.folder / name).write_text(f'#!/bin/sh\necho "$*" >>{told}\nexit 1\n')
            (self.folder / name).chmod(0o755)
        for words, rounds in ((), 48), (("--rounds", "7"), 7):
            code, said = self.run_gate("--interleave", "old", "new", "--with", "merkle -d cpu", *words)
            self.assertEqual((code, f"round 1 of {rounds}" in said), (5, True), said)
            self.assertIn("run merkle -d cpu -n 5 --quiet", told.read_text())
        for words in ((), ("old",), ("old", "new", "more")):
            code, said = self.run_gate("--interleave", *words, "--with", "merkle")
            self.assertEqual((code, "takes two programs" in said), (2, True), said)
        self.assertEqual(self.run_gate("--interleave", "old", "new")[0], 2)

    def test_a_run_joins_a_history_whose_trend_decides(self):
        for _ in range(2):
            code, said = self.run_gate("--history", "perf", "--with", self.WORK)
            self.assertEqual((code, "history too short" in said), (0, True), said)
        self.assertIn(" 2 ", mgpu("history", "list", self.folder / "perf").out)
        for words in (("base.json", "--with", "merkle"), ()):
            code, said = self.run_gate("--history", "perf", *words)
            self.assertEqual((code, "takes no BASE" in said), (2, True), said)

    def test_the_script_calls_it(self):
        program = self.folder / "program"
        program.write_text('#!/bin/sh\necho "$*"\nexit 3\n')
        program.chmod(0o755)
        for words, rounds, expected in (
                (("baseline", "a.json", "b.json"), "", "gate --alpha 0.05 --with merkle -s equal a.json b.json\n"),
                (("interleaved", "old", "new"), "", "gate --interleave --alpha 0.05 --with merkle -s equal old new\n"),
                (("turns", "old", "new"), "9", "gate --interleave --rounds 9 --alpha 0.05 --with merkle -s equal old new\n")):
            done = subprocess.run([self.SCRIPT, *words], capture_output=True, text=True, env=environment({
                "MGPU_BENCH": str(program), "GATE_RUN": "merkle -s equal", "GATE_COMPARE": "--alpha 0.05", "GATE_ROUNDS": rounds}))
            self.assertEqual((done.returncode, done.stdout), (3, expected), done.stderr)
        self.assertEqual(subprocess.run([self.SCRIPT, "bogus"], capture_output=True).returncode, 2)


if __name__ == "__main__":
    binary.main()
