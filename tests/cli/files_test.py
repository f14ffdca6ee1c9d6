"""Result files as people pass them on: merged, without timelines, and with what the roofline is
worked out from."""

import gzip
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

import binary
from binary import NO_OPENCL, ROOT, Case, mgpu


class Merging(Case):
    """Results of two suites, measured once."""

    @classmethod
    def setUpClass(cls):
        cls.files = {}
        for suite, size in (("merkle", "2^12"), ("stencil", 64)):
            file = Path(binary.SCRATCH) / f"{suite}.json"
            done = mgpu("run", suite, *binary.DEVICES, "--size", size, "--mode", "resident", "-s",
                        "equal,single", "-n", 3, "-o", file)
            assert done.code == 0, done
            cls.files[suite] = file

    def setUp(self):
        super().setUp()
        self.merkle, self.stencil = self.files["merkle"], self.files["stencil"]

    def merged(self, *arguments, name="all.json"):
        file = self.folder / name
        self.good("merge", "-o", file, *arguments, env=NO_OPENCL)
        text = file.read_bytes()
        return file, json.loads(gzip.decompress(text) if name.endswith(".gz") else text)

    def test_a_merged_file_is_a_result_of_both_that_everything_reads(self):
        file, merged = self.merged(self.merkle, self.stencil)
        parts = [json.loads(part.read_text()) for part in (self.merkle, self.stencil)]
        self.assertEqual(merged["runs"], [run for part in parts for run in part["runs"]])
        self.assertEqual(merged["started"], parts[0]["started"])
        self.assert_schema(file, "result")
        self.assert_recomputed(file)
        tables = self.good("report", file, env=NO_OPENCL).out
        for part in (self.merkle, self.stencil):
            rows = [line for line in self.good("report", part).out.splitlines() if " equal " in line]
            self.assertTrue(rows)
            self.assertLessEqual(set(rows), set(tables.splitlines()))
        rows = json.loads(self.good("compare", self.stencil, file, "--json", "--fail-on",
                                    "nothing").out)["rows"]
        self.assertEqual({row["case"] for row in rows}, {run["case"] for run in parts[1]["runs"]})
        back, whole = self.merged(file, name="again.json.gz")
        self.assertEqual(whole["runs"], merged["runs"])

    def test_a_case_of_two_files_and_other_machines_are_refused_in_one_line(self):
        case = json.loads(self.merkle.read_text())["runs"][0]["case"]
        out = self.folder / "none.json"
        self.refused(["merge", "-o", out, self.merkle, self.stencil, self.merkle], 2, case)
        other = json.loads(self.stencil.read_text())
        other["environment"]["host"] = "elsewhere"
        file = self.folder / "other.json"
        file.write_text(json.dumps(other))
        self.refused(["merge", "-o", out, self.merkle, file], 2, "elsewhere", "--ignore-environment")
        self.refused(["merge", self.merkle, file], 2, "-o FILE")
        self.assertFalse(out.exists())
        done = self.good("merge", "-o", out, self.merkle, file, "--ignore-environment")
        self.assertIn("elsewhere", done.err)

    def test_without_timelines_a_file_is_small_and_shows_the_same(self):
        file, whole = self.merged(self.merkle, self.stencil)
        small, bare = self.merged(file, "--no-timeline", name="small.json")
        self.assertEqual({run["timeline"] is None for run in bare["runs"]}, {True})
        self.assertLess(small.stat().st_size * 2, file.stat().st_size)
        self.assert_schema(small, "result")
        said = self.assert_recomputed(small)
        self.assertIn(f"holds no timeline of {len(bare['runs'])} of them", said)
        for words in (["--per-device"], ["--columns", "all"]):
            self.assertEqual(self.good("report", small, *words).out, self.good("report", file, *words).out)
        self.good("compare", file, small, "--fail-on", "nothing")
        self.refused(["trace", small], 2, "holds no timeline")
        self.refused(["simulate", "--from", small, "-s", "equal"], 2, "holds no timeline", "--as-predicted")
        self.good("simulate", "--from", small, "--as-predicted", "-s", "equal", "-q")
        wrong = json.loads(small.read_text())
        wrong["runs"][0]["metrics"]["comm_share"] += 0.01
        self.assert_recompute_finds(wrong, "metrics.comm_share")
        page = self.folder / "page.html"
        done = subprocess.run([sys.executable, ROOT / "scripts/report_html.py", small, "-o", page],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, "Traceback" in done.stderr), (0, False), done)

    def test_run_saves_no_timeline_but_traces_it(self):
        file, trace = self.folder / "r.json", self.folder / "t.json"
        out = self.good("run", "merkle", *binary.ONE_DEVICE, "--size", "2^10", "--mode", "resident",
                        "-s", "equal", "-n", 1, "--no-timeline", "--trace", trace, "-o", file, "--json").out
        self.assertEqual(json.loads(out), json.loads(file.read_text()))
        self.assertIsNone(json.loads(out)["runs"][0]["timeline"])
        self.assert_trace(trace)
        kinds = {event.get("cat") for event in json.loads(trace.read_text())["traceEvents"]}
        self.assertIn("compute", kinds)

    def assert_recompute_finds(self, report, *names):
        file = self.folder / "wrong.json"
        file.write_text(json.dumps(report))
        done = subprocess.run([sys.executable, ROOT / "scripts/recompute.py", file],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done)
        for name, line in zip(names, done.stdout.splitlines(), strict=True):
            self.assertIn(name, line)

    def test_the_roofline_is_worked_out_again_from_demand_and_rates(self):
        self.good("calibrate", "stencil", *binary.DEVICES, "--no-noise")
        file = self.folder / "roof.json"
        self.good("run", "stencil", *binary.DEVICES, "--size", 64, "--mode", "resident", "-s",
                  "equal,single", "-n", 2, "-o", file)
        self.assert_recomputed(file)
        report = json.loads(file.read_text())
        run = report["runs"][0]
        self.assertEqual(run["work"]["roof"], "memory")
        self.assertGreater(run["metrics"]["roofline_fraction"], 0)

        def wrong(change, *names):
            changed = json.loads(file.read_text())
            change(changed["runs"][0], changed)
            self.assert_recompute_finds(changed, *names)

        wrong(lambda run, _: run["metrics"].update(roofline_fraction=0.5), "metrics.roofline_fraction")
        wrong(lambda run, _: run["work"].update(roof_ns=run["work"]["roof_ns"] + 2), "work.roof_ns")
        wrong(lambda run, _: run["work"].update(roof="int32"), "work.roof")
        wrong(lambda run, _: run["per_device"][0]["demand"].update(memory_bytes=1e12), "work.roof_ns",
              "metrics.roofline_fraction")
        # Over a link that takes longer than the devices.
        linked = json.loads(file.read_text())
        for run in linked["runs"]:
            run["work"].update(roof="host link", roof_ns=10**9, host_link={
                "up_bytes": 2e9, "down_bytes": 1e9, "up_bytes_per_s": 2e9, "down_bytes_per_s": 0})
            run["metrics"]["roofline_fraction"] = 10**9 / run["time_ns"]["median"]
        (self.folder / "linked.json").write_text(json.dumps(linked))
        self.assert_recomputed(self.folder / "linked.json")
        linked["runs"][1]["work"]["host_link"]["up_bytes"] = 3e9
        self.assert_recompute_finds(linked, "work.roof_ns", "metrics.roofline_fraction")
        report["devices"][0]["capability"] = {}
        report["runs"] = report["runs"][:1]
        report["runs"][0]["metrics"]["roofline_fraction"] *= 1.01
        self.assert_recompute_finds(report, "metrics.roofline_fraction")


class Reader(Case):
    """scripts/mgpu_bench.py, from another Python process as users call it."""

    def python(self, code, python=sys.executable):
        """Runs the code next to a result r.json; returns what it printed."""
        (self.folder / "r.json").write_text((ROOT / "tests/golden/report.json").read_text())
        done = subprocess.run([python, "-c", code], cwd=self.folder, capture_output=True, text=True,
                              env=binary.environment({"PYTHONPATH": str(ROOT / "scripts")}))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_its_examples_print_what_they_say(self):
        self.assertEqual(self.python("import doctest, mgpu_bench\n"
                                     "print(*doctest.testmod(mgpu_bench))"), "0 5\n")

    def test_its_rows_are_the_values_of_the_file(self):
        told = json.loads(self.python(
            "import json, mgpu_bench as m\nr = m.load('r.json')\n"
            "print(json.dumps([r.cases(), r.samples(), r.devices(), r.timeline(1)]))"))
        cases, samples, devices, timeline = told
        document = json.loads((self.folder / "r.json").read_text())
        runs = document["runs"]
        self.assertEqual([(c["run"], c["case"], c["devices"], c["status"], c["params.leaves"],
                           c["time_ns.median"], c["metrics.balance"], c["tool.git"]) for c in cases],
                         [(k, run["case"], ";".join(run["devices"]), run["status"],
                           run["params"]["leaves"], run["time_ns"]["median"],
                           run["metrics"]["balance"], document["tool"]["git"])
                          for k, run in enumerate(runs)])
        self.assertFalse([value for case in cases for value in case.values()
                          if isinstance(value, (dict, list))])
        for k, run in enumerate(runs):
            mine = [s for s in samples if s["run"] == k]
            self.assertEqual([s["ns"] for s in mine if s["what"] == "time"], run["samples_ns"])
            for device in run["per_device"]:
                for what in ("alone", "busy"):
                    self.assertEqual([s["ns"] for s in mine if (s["device"], s["what"]) ==
                                      (device["device"], what)], device[f"{what}_samples_ns"])
        self.assertEqual([d["clock.offset_ns"] for d in devices],
                         [d["clock"]["offset_ns"] for d in document["devices"]])
        self.assertEqual([list(row.values()) for row in timeline["slices"]],
                         runs[1]["timeline"]["slices"])

    def test_it_raises_what_the_scripts_refuse(self):
        out = self.python("import mgpu_bench as m\n"
                          "for name in ('gone.json', 'bad.json'):\n"
                          "    open('bad.json', 'w').write('{}')\n"
                          "    try:\n        m.load(name)\n"
                          "    except ValueError as error:\n        print(error)\n"
                          "r = m.load('r.json')\nr.runs[0]['timeline'] = None\n"
                          "try:\n    r.timeline(0)\nexcept ValueError as error:\n    print(error)")
        self.assertEqual(out.splitlines()[0], "gone.json: cannot be read: No such file or directory")
        self.assertIn("bad.json: is not a result file", out.splitlines()[1])
        self.assertEqual(out.splitlines()[2:], ["the file holds no timeline of 0"])

    def test_the_page_shows_how_pandas_takes_it(self):
        python = binary.python_with("pandas")
        if python is None:
            self.skipTest("no python3 has pandas")
        page = (ROOT / "lib/report/README.md").read_text()
        block, = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
        out = self.python(block + "\nprint(times.loc['resident', '50%'].to_dict())", python)
        runs = json.loads((self.folder / "r.json").read_text())["runs"]
        dynamic = [t for run in runs for t in run["samples_ns"]
                   if (run["mode"], run["strategy"]) == ("resident", "dynamic")]
        times = eval(out)
        self.assertEqual(times["dynamic"], statistics.median(dynamic))
        self.assertEqual(set(times), {"single", "equal", "dynamic"})


if __name__ == "__main__":
    binary.main()
