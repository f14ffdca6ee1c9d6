#!/usr/bin/env python3
"""What checks results and reads them elsewhere: --require, --export and scripts/recompute.py. Usage: exports_test.py BINARY [unittest
arguments]. The helpers are those of binary.py and compare_test.py."""

import csv
import io
import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import binary
from binary import Case
from compare_test import NO_OPENCL, ROOT, Results, python_with

COMPARE_PY = Path("/usr/share/benchmark/compare.py")  # of the package libbenchmark-tools


class RequiresAndExports(Results):
    KINDS = ("googlecpp", "googlecpp-samples", "bmf", "gha-bigger", "gha-smaller", "csv", "markdown", "junit")

    def test_a_missed_requirement_is_exit_code_3_in_run_simulate_and_report(self):
        self.template()
        file, scenario = self.folder / "template.json", self.folder / "s.json"
        self.good("report", file, "--require", "best:speedup>=1.5,time<1s", env=NO_OPENCL)
        missed = binary.mgpu("report", file, "--require", "speedup>=2.5", env=NO_OPENCL)
        self.assertEqual(missed.code, 3, str(missed))
        self.assertEqual(len([line for line in missed.err.splitlines() if "requirement not met" in line]), 2)
        again = binary.mgpu("simulate", scenario, "-s", "equal", "--mode", "resident", "--require", "equal:time<1us", "-q", env=NO_OPENCL)
        self.assertEqual((again.code, "requirement not met" in again.err), (3, True), str(again))

    def exported(self, report):
        """A saved result as every kind; kind -> file."""
        files = {kind: self.folder / f"out.{kind}" for kind in self.KINDS}
        options = [f"{kind}={file}" for kind, file in files.items()]
        self.good("report", report, *[word for option in options for word in ("--export", option)], env=NO_OPENCL)
        return files

    def test_other_readers_of_json_csv_and_xml_take_every_export(self):
        report = self.template("all")
        report["runs"][2].update(status="failed", reason='a < b & "c"')
        report["runs"][3]["metrics"]["speedup"] = None
        files = self.exported(self.saved("r.json", report))
        ok = len(report["runs"]) - 1
        for kind in self.KINDS[:5]:
            json.loads(files[kind].read_text(), parse_constant=lambda name: self.fail(f"{kind}: {name}"))
            for reader, *program in (("node", "-e", "JSON.parse(require('fs').readFileSync(0))"), ("jq", "-e", ".")):
                if shutil.which(reader):
                    done = subprocess.run([reader, *program], input=files[kind].read_text(), capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, f"{reader} {kind}: {done.stderr}")
        rows = list(csv.DictReader(io.StringIO(files["csv"].read_text(), newline="")))
        self.assertEqual(len(rows), ok)
        self.assertEqual({None in row or None in row.values() for row in rows}, {False})
        self.assertEqual(float(rows[0]["time_median_ns"]), report["runs"][0]["time_ns"]["median"])
        for name, value in report["runs"][0]["params"].items():
            self.assertEqual(rows[0][f"param_{name}"], str(value))
        self.assertEqual({row["started"] for row in rows}, {report["started"]})
        self.assertEqual({row["strategy_chunks"] for row in rows if row["strategy"] == "equal"}, {""})
        self.assertEqual(json.loads(files["googlecpp"].read_text())["context"]["date"], report["started"])
        suite = xml.etree.ElementTree.parse(files["junit"]).getroot().find("testsuite")
        self.assertEqual(suite.get("timestamp"), report["started"])
        self.assertEqual((suite.get("tests"), suite.get("failures")), (str(len(report["runs"])), "1"))
        self.assertEqual(suite.find(".//failure").get("message"), 'a < b & "c"')

    def test_compare_py_of_google_benchmark_sees_the_same_regression(self):
        python = python_with("numpy", "scipy")
        if not COMPARE_PY.exists() or python is None:
            self.skipTest("compare.py is not here (package libbenchmark-tools)")
        report = self.template()
        kept = {kind: file.rename(self.folder / f"base.{kind}") for kind, file in self.exported(self.saved("a.json", report)).items()}
        new = self.exported(self.saved("b.json", report, 1.2, seed=2))
        for kind in ("googlecpp", "googlecpp-samples"):
            dump = self.folder / "dump.json"
            done = subprocess.run([python, COMPARE_PY, "-d", dump, "benchmarks", kept[kind], new[kind]], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            found = [entry for entry in json.loads(dump.read_text()) if entry["run_type"] == "iteration"]
            self.assertEqual(len(found), 2)
            for entry in found:
                if kind == "googlecpp-samples":
                    self.assertEqual(len(entry["measurements"]), 12)
                    self.assertLess(entry["utest"]["time_pvalue"], 0.001)
                    self.assertAlmostEqual(entry["measurements"][0]["time"], 0.2, delta=0.02)


class Recomputes(Case):
    def test_every_figure_of_a_real_result_follows_from_its_raw_samples_and_events(self):
        file, trace = self.folder / "r.json", self.folder / "t.json"
        self.good("run", "merkle", *binary.DEVICES, "-n", 7, "--size", "2^12", "-s", "single,equal,dynamic:chunks=6", "-o", file,
                  "--trace", trace)
        recompute = [sys.executable, str(ROOT / "scripts/recompute.py")]
        done = subprocess.run([*recompute, str(file), "--trace", str(trace)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("figures of 6 cases", done.stdout)
        report = json.loads(file.read_text())
        report["runs"][2]["per_device"][0]["compute_ns"] += 1
        report["runs"][1]["metrics"]["imbalance_percent"] = 99.5
        file.write_text(json.dumps(report))
        done = subprocess.run([*recompute, str(file)], capture_output=True, text=True)
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (1, 2), done.stdout)


if __name__ == "__main__":
    binary.main()
