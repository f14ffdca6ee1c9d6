#!/usr/bin/env python3
"""Tests of `history`, `trend`, `run --history`, `run --label` and `list results`.

Usage: history_test.py BINARY [unittest arguments]."""

import copy
import json
import random
import re
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import binary
from binary import DEVICES, NO_OPENCL, ROOT, Case, begin, mgpu, python_with, wait_until


class Histories(Case):
    template = None

    def setUp(self):
        super().setUp()
        self.history = self.folder / "perf"
        if Histories.template is None:
            report = self.small("-s", "equal,dynamic")
            for run in report["runs"]:
                run["warnings"], run["faults"] = [], []
            report.pop("id", None)
            Histories.template = report

    def result(self, number, factor=1.0, labels=None, name=None):
        """Saves a result of day `number` with times around 1 ms, multiplied by `factor`."""
        report, rng = copy.deepcopy(self.template), random.Random(number)
        report["started"] = f"2026-{1 + number // 28:02}-{1 + number % 28:02}T06:00:00Z"
        report["labels"] = {"commit": f"{number:040x}"[::-1]} | (labels or {})
        for run in report["runs"]:
            center = 1e6 * factor * rng.uniform(0.99, 1.01)
            run["samples_ns"] = [int(center * rng.uniform(0.999, 1.001)) for _ in range(7)]
            run["sample_index"] = 0
        file = self.folder / (name or f"r{number}.json")
        file.write_text(json.dumps(report))
        return file

    def add(self, *files):
        return self.good("history", "add", self.history, *files, env=NO_OPENCL).err

    def trend(self, *options, code=0):
        result = mgpu("trend", self.history, *options, env={"COLUMNS": "80"} | NO_OPENCL)
        self.assertEqual(result.code, code, str(result))
        return result.out

    def document(self, code=0):
        return json.loads(self.trend("--json", code=code))

    def lines(self):
        return [line for file in sorted(self.history.glob("*.jsonl"))
                for line in file.read_text().splitlines()]

    def id_of(self, text):
        listed = self.good("history", "list", self.history).out
        return next(line.split()[0] for line in listed.splitlines() if text in line)

    def test_results_are_added_once_listed_and_shown(self):
        first, second = self.result(1), self.result(2, labels={"node": "a, b"})
        self.assertIn("2 cases added", self.add(first))
        self.assertIn("0 cases added to the history, 2 there already", self.add(first))
        self.add(second)
        records = [json.loads(line) for line in self.lines()]
        self.assertEqual([record["at"][:10] for record in records],
                         ["2026-01-02", "2026-01-02", "2026-01-03", "2026-01-03"])
        self.assertEqual(records[-1]["environment"]["label node"], "a, b")
        self.assertEqual({record["schema"] for record in records}, {"mgpu-bench/history/1"})
        listed = self.good("history", "list", self.history, env={"COLUMNS": "80"}).out
        self.assertIn("merkle equal, resident", listed)
        self.assertIn("4 lines in 1 file", listed)
        self.assertLessEqual(max(map(len, listed.splitlines()[:-1])), 80)
        shown = self.good("history", "show", self.history, "dynamic").out
        self.assertIn("2026-01-03T06:00", shown)
        self.assertEqual(len(shown.splitlines()), 4)
        narrow = self.good("history", "show", self.history, "dynamic", env={"COLUMNS": "60"}).out
        self.assertLessEqual(max(map(len, narrow.splitlines()[1:])), 60)
        self.assertIn("columns hidden", narrow)
        self.assertNotIn(" .. ", narrow)  # between the ends of the hidden interval
        again = self.good("history", "show", self.history, self.id_of("dynamic")).out
        self.assertEqual(again, shown)

    def test_what_was_not_measured_is_left_out(self):
        report = json.loads(self.result(1).read_text())
        report["runs"][0]["verify"]["status"] = "off"
        file = self.folder / "unverified.json"
        file.write_text(json.dumps(report))
        self.assertIn("1 case added to the history, 1 left out", self.add(file))

    def test_a_step_ends_with_3_until_it_is_acknowledged(self):
        self.add(*(self.result(n, 1 if n < 20 else 1.1) for n in range(30)))
        said = self.trend(code=3)
        self.assertIn("slower: 2 of 2 series, +", said)
        self.assertLessEqual(max(map(len, said.splitlines())), 80)
        self.trend("--since", "2026-02-01")
        self.trend("--floor", "50%")
        document = self.document(code=3)
        self.assert_exact_schema(document, "trend")
        group = document["groups"][0]
        self.assertTrue(document["alarm"])
        self.assertLessEqual(group["first"]["at"], "2026-01-21T06:00:00Z")
        self.assertGreaterEqual(group["last"]["at"], "2026-01-21T06:00:00Z")
        self.assertEqual(len(document["series"][0]["points"]), 30)
        saved = self.folder / "trend.json"
        self.trend("-o", saved, code=3)
        self.assertEqual(json.loads(saved.read_text()), document)
        self.good("history", "ack", self.history, group["first"]["commit"], "--reason", "by design")
        self.assertIn("acknowledged: by design", self.trend())
        self.assertIn("acknowledged: by design",
                      self.good("history", "show", self.history, "equal",
                                env={"COLUMNS": "120"}).out)

    def test_an_excluded_run_does_not_count(self):
        self.add(*(self.result(n, 1 if n < 20 else 1.1) for n in range(30)))
        self.trend(code=3)
        for line in self.good("history", "show", self.history, "equal").out.splitlines()[-10:]:
            self.good("history", "exclude", self.history, line.split()[0], self.id_of("equal"),
                      "--reason", "other jobs")
        shown = self.good("history", "show", self.history, "equal", env={"COLUMNS": "120"}).out
        self.assertEqual(shown.count("excluded: other jobs"), 10)
        self.assertIn("slower: 1 of 2 series", self.trend(code=3))

    def test_slow_drift_is_named(self):
        self.add(*(self.result(n, 1 if n < 20 else 1 + (n - 19) * 0.01) for n in range(30)))
        self.assertIn("drift", self.trend(code=3))

    def test_neither_order_nor_concatenation_of_files_matters(self):
        self.add(*(self.result(n, 1 if n < 40 else 1.1) for n in range(60)))
        expected = self.document(code=3)
        files = sorted(self.history.glob("*.jsonl"))
        self.assertGreater(len(files), 1)
        lines = [line for file in files for line in file.read_text().splitlines(keepends=True)]
        random.Random(1).shuffle(lines)
        for file in files[1:]:
            file.unlink()
        files[0].write_text("".join(lines + lines[:17]))
        self.assertEqual(self.document(code=3), expected)

    def test_a_torn_line_is_skipped_with_a_warning_and_nothing_else_is_lost(self):
        self.add(self.result(1))
        file, = self.history.glob("*.jsonl")
        whole = file.read_text()
        file.write_text(whole[:-40])
        listed = self.good("history", "list", self.history)
        self.assertIn("line 2: skipped: it is torn", listed.err)
        self.assertIn("1 line in", listed.out)
        self.assertIn("1 case added to the history, 1 there already", self.add(self.result(1)))
        self.assertIn("2 lines in", self.good("history", "list", self.history).out)

    def test_a_killed_writer_loses_at_most_the_line_it_writes(self):
        files = [self.result(n) for n in range(40)]
        process = begin("history", "add", self.history, *files, env=NO_OPENCL)
        self.assertTrue(wait_until(lambda: self.history.exists() and len(self.lines()) > 10,
                                   process))
        process.kill()
        process.communicate()
        found = self.lines()
        for line in found[:-1]:
            json.loads(line)
        self.add(*files)
        listed = self.good("history", "list", self.history)
        self.assertIn("80 lines in", listed.out)
        self.assertLessEqual(len(listed.err.splitlines()), 1)

    def test_many_may_add_at_once(self):
        files = [self.result(n) for n in range(8)]
        writers = [begin("history", "add", self.history, file, files[0], env=NO_OPENCL)
                   for file in files]
        for writer in writers:
            writer.communicate()
            self.assertEqual(writer.returncode, 0)
        for line in self.lines():
            json.loads(line)
        listed = self.good("history", "list", self.history)
        self.assertEqual(listed.err, "")
        self.assertEqual([line.split()[1] for line in listed.out.splitlines()[1:-1]], ["8", "8"])

    def test_the_page_and_the_pictures_show_what_trend_says(self):
        self.add(*(self.result(n, 1 if n < 20 else 1.1, {"node": "<b>" if n < 20 else "x"})
                   for n in range(30)))
        file, page = self.folder / "trend.json", self.folder / "trend.html"
        self.trend("-o", file, code=3)
        script = [sys.executable, ROOT / "scripts/trend_html.py"]
        done = subprocess.run([*script, file, "-o", page], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, f"{page}\n"), done.stderr)
        text = page.read_text(encoding="utf-8")
        self.assertIn("2 of 2 series slower by", text)
        self.assertIn("label node: &lt;b&gt; → x", text)
        self.assertNotIn("<b>", text)
        self.assertEqual((text.count("<svg"), text.count('class="run"')), (2, 60))
        self.assertEqual((text.count('class="worse"'), text.count('class="env"')), (2, 2))
        self.assertEqual(len(xml.etree.ElementTree.fromstring(
            re.search("<svg.*?</svg>", text, re.S).group()).findall("circle")), 30)
        for wrong in (ROOT / "README.md", self.result(1)):
            done = subprocess.run([*script, wrong, "-o", page], capture_output=True, text=True)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        python = python_with("matplotlib")
        if python:
            done = subprocess.run([python, ROOT / "scripts/plot.py", file, "-o",
                                   self.folder / "plots", "--format", "svg"],
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 2), done.stderr)

    def test_run_adds_its_result_with_labels(self):
        report = self.small("--history", self.history, "--label", "commit=abc,def", "--label",
                            "rerun=yes")
        self.assertEqual(report["labels"], {"commit": "abc,def", "rerun": "yes"})
        record, = map(json.loads, self.lines())
        self.assertEqual((record["commit"], record["result"]), ("abc,def", report["id"]))
        self.assertIn("rerun", record["flags"])
        self.assertEqual(record["time_ns"], report["runs"][0]["time_ns"]["median"])
        (self.folder / "tree/.git").mkdir(parents=True)
        (self.folder / "tree/.git/HEAD").write_text("0123456789" * 4 + "\n")
        report = self.small("--history", self.history, cwd=self.folder / "tree")
        self.assertEqual(report["labels"], {"commit": "0123456789" * 4})
        self.assertEqual(len(self.lines()), 2)

    def test_mistakes_are_refused(self):
        self.add(self.result(1))
        for arguments, names in (
                (["history", "bogus", self.history], ["bogus", "add, list, show"]),
                (["history", "add", self.history], ["needs a result"]),
                (["history", "list", self.history, "x"], ["nothing but the folder"]),
                (["history", "list", self.folder / "none"], ["none", "history add DIR"]),
                (["history", "show", self.history], ["needs one series"]),
                (["history", "show", self.history, "pie"], ["\"pie\" is no series"]),
                (["history", "show", self.history, "merkle"], ["several series"]),
                (["history", "ack", self.history, "1"], ["--reason TEXT"]),
                (["history", "ack", self.history, "--reason", "x"], ["needs a run"]),
                (["history", "exclude", self.history, "zz", "--reason", "x"], ["\"zz\" is no run"]),
                (["history", "add", self.history, ROOT / "README.md"], ["README.md"]),
                (["trend", self.folder / "none"], ["none"]),
                (["trend", self.history, "--metric", "pie"], ["pie", "efficiency"]),
                (["trend", self.history, "--floor", "x"], ["x", "2%"]),
                (["trend", self.history, "--since", "may"], ["may", "2026-11-23"]),
                (["run", "--label", "x"], ["x", "KEY=TEXT"]),
                (["run", "--label", "commit="], ["commit"])):
            self.refused(arguments, 2, *names, env=NO_OPENCL)
        (self.folder / "empty").mkdir()
        self.refused(["trend", self.folder / "empty"], 2, "no runs yet")
        self.refused(["run", "--history", self.folder / "r1.json"], 1, "r1.json", env=NO_OPENCL)

    def test_saved_results_are_listed(self):
        state = {"XDG_STATE_HOME": str(self.folder / "state")}
        self.assertIn("newest 100", self.good("list", "results", env=state).out)
        for _ in range(2):
            self.good("run", "merkle", *DEVICES, "--size", "2^10", "--mode", "resident", "-s",
                      "equal", "-n", 1, "--warmup", 0, env=state)
        document = json.loads(self.good("list", "results", "--json", env=state).out)
        self.assert_exact_schema(document, "list")
        self.assertEqual([one["name"] for one in document["results"]], ["last", "last~1"])
        for one in document["results"]:
            report = json.loads(self.good("report", one["file"], "--json", env=state).out)
            self.assertEqual((one["started"], one["suites"], one["cases"], one["complete"]),
                             (report["started"], "merkle", 1, True))
        folder = Path(document["results"][0]["file"]).parent
        for k in range(98):
            (folder / f"2025-01-01T0000{k % 60:02}Z{'.2' if k >= 60 else ''}-msm.json.gz").touch()
        said = self.good("run", "merkle", *DEVICES, "--size", "2^10", "--mode", "resident", "-s",
                         "equal", "-n", 1, "--warmup", 0, "-v", env=state).err
        self.assertRegex(said, "only the newest 100 results are saved: .*2025-01-01T000000Z-msm"
                               ".json.gz is removed")
        Path(document["results"][0]["file"]).write_text("torn")
        said = self.good("list", "results", env=state).out
        self.assertRegex(said, "last~1 +not JSON")
        self.refused(["list", "results", "x"], 2, "one argument too many", env=state)


if __name__ == "__main__":
    binary.main()
