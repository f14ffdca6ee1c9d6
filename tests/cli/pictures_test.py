#!/usr/bin/env python3
"""Tests of scripts/plot.py and scripts/report_html.py with a golden file, a committed result, and
files with missing values. Usage: pictures_test.py [PROGRAM] [unittest arguments]; the program is
ignored. Tests that need matplotlib, plotly or Chromium are skipped, with a message, if it is
missing. Only a person can judge how a picture looks: these tests check that each is drawn, from the
right figures."""

import copy
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

import binary
import browser
from binary import python_with

NB = "\u00a0"
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import campaign_page  # noqa: E402
import json_input  # noqa: E402
import plot  # noqa: E402
import report_html  # noqa: E402
import result_file  # noqa: E402
import result_series  # noqa: E402

GOLDEN = ROOT / "tests/golden/report.json"
LINKS = ROOT / "tests/golden/links.json"
COMMITTED = ROOT / "results/xeon/merkle-two-cores.json.gz"
ROOFS = ROOT / "results/h200/merkle-2-slow3.json.gz"
FOUR = ROOT / "results/h200/campaign/headline-merkle.json.gz"  # devices
ITERATED = ROOT / "results/h200/stencil-2-puts-direct.json.gz"
CAMPAIGN = ROOT / "results/h100/campaign"
SWEEP = ROOT / "results/h200/sweep-1.json.gz"
TWO_CORES = ROOT / "results/epyc/two-cores-fisher-models.json.gz"
NASTY = "</script><script>throw 1</script>"  # in names that come from a file


class Installed(unittest.TestCase):
    def test_what_is_installed_imports_nothing_that_is_not(self):
        installed = {file for pattern
                     in re.findall(
                r"\bscripts/([\w*]+\.py)", (ROOT / "cmake/install.cmake").read_text())
                     for file in (ROOT / "scripts").glob(pattern)}
        self.assertGreater(len(installed), 10)
        for file in installed:
            for module in re.findall(r"^ *(?:import|from) (\w+)", file.read_text(), re.MULTILINE):
                if (needed := ROOT / "scripts" / f"{module}.py").is_file():
                    self.assertIn(needed, installed, file.name)


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def python(self, module):
        found = python_with(module)
        if found is None:
            self.skipTest(f"no Python here has {module} (package python3-{module})")
        return found

    def run_script(self, name, *arguments, python=sys.executable):
        return subprocess.run([python, str(ROOT / "scripts" / name), *map(str, arguments)],
                              capture_output=True, text=True, timeout=120)

    def good(self, name, *arguments, module):
        done = self.run_script(name, *arguments, python=self.python(module))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("Warning", done.stderr)
        return done

    def holds(self, text, words, where=""):
        """Like assertIn, which would print all of a text of megabytes."""
        self.assertTrue(words in text, f"{where}: nowhere is '{words}'")

    def with_holes(self):
        """Returns one case of the golden file once for each of its keys, without that key; and a
        case without any."""
        document = json.loads(GOLDEN.read_text())
        whole = document["runs"][2]
        of_the_problem = ("suite", "params",
                          "mode")  # removed together, as each alone would only make more pictures
        holes = [{k: v for k, v in whole.items() if k != missing} for missing in whole if
                 missing not in of_the_problem]
        holes.append({k: v for k, v in whole.items() if k not in of_the_problem})
        for inner in ("time_ns", "metrics", "plan", "timeline"):
            holes += [{**whole, inner: {}}, {**whole, inner: None}]
        holes.append({**copy.deepcopy(whole),
                      "timeline": {**whole["timeline"], "columns": {"commands": ["device"]}}})
        holes.append({**whole, "status": "failed",
                      "reason": "$x^{$"})  # half of a formula, if it were one
        holes.append({**whole, "strategy": NASTY, "devices": [NASTY] * 2})
        document["runs"] = [whole, {}, *holes]
        document["devices"] = [{}, {"id": "0:1"}]
        for key in ("environment", "tool", "complete"):
            del document[key]
        file = self.folder / "holes.json"
        file.write_text(json.dumps(document))
        return file


class Pictures(Scripts):
    def test_every_kind_is_drawn_from_the_golden_file(self):
        done = self.good("plot.py", GOLDEN, "-o", self.folder / "new" / "p", "--mode", "resident",
                         "--format", "svg", module="matplotlib")
        made = {Path(line).name for line in done.stdout.split()}
        stems = {f"{kind}-merkle-leaves100000-resident" for kind in ("scaling", "strategies",
                "timeline", "imbalance")}
        stems |= {"prediction", "roofline"}
        self.assertEqual(made, {f"{stem}.svg" for stem in stems})
        of = "merkle leaves=100000, resident"
        shown = {"scaling": (f"Scaling: {of}", "measured: single device 0:0, 1.00 ms",
                             "dynamic:chunks=64 (2 of 3 devices) !", "rate, M nodes/s", "devices",
                             "speed-up over the fastest single device",
                             "! dynamic:chunks=16: 0:0: clocks were held down: power cap"),
                 "strategies": (f"Strategies on 2 devices: {of}", "\u2605 810 us", "75/25",
                                "50/50", "92.6 %", "830 us", "90.4 %",
                                "failed: the root differs from the reference",
                                "perfect split: 750 us", "shares, %", "efficiency"),
                 "timeline": ("merge, 44.0 us", "75.0 %", "idle at barrier / merge",
                              "Timeline of dynamic:chunks=16 on 2 devices: merkle leaves=100000,"),
                 "imbalance": (f"Imbalance over 2 devices: {of}", "47.9 %", "device 0:1", "75/25"),
                 "prediction": ("median error 0.99 %, 4 cases", "measured, ms", "predicted, ms",
                                "prediction error, % (positive: predicted too long)"),
                 "roofline": ("2 devices: 81.0 % of its ceiling", "fastest: dynamic:chunks=16",
                              "rate, nodes/s",
                              "arithmetic intensity: nodes per byte of input and result")}
        for stem in stems:
            picture = (self.folder / "new" / "p" / f"{stem}.svg").read_text()
            xml.etree.ElementTree.fromstring(picture)
            for words in shown[stem.split("-")[0]]:
                self.holds(picture, f"<!-- {words} -->",
                           stem)  # matplotlib writes a text before the outlines of its letters

    def test_what_a_committed_result_lacks_is_named_and_the_rest_drawn(self):
        done = self.good("plot.py", COMMITTED, "-o", self.folder, "--kind",
                         "timeline,prediction,roofline", module="matplotlib")
        made = [f"timeline-merkle-leaves2p20-resident.{kind}" for kind in ("png", "svg")]
        self.assertEqual([Path(line).name for line in done.stdout.split()], made)
        self.assertEqual((self.folder / made[0]).read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual([line.split(":")[1] for line
                          in done.stderr.splitlines()], [" no prediction", " no roofline"])

    @binary.thorough
    def test_without_kinds_at_most_a_dozen_files_are_drawn_and_the_rest_named(self):
        document = json.loads(GOLDEN.read_text())
        for k in range(3):
            document["runs"] += [{**run, "params": {**run["params"], "leaves": 1000 * 2**k}} for
                                 run in document["runs"][:4]]
        file = self.folder / "sizes.json"
        file.write_text(json.dumps(document))
        done = self.good("plot.py", file, "-o", self.folder / "few", module="matplotlib")
        made = {Path(line).name for line in done.stdout.split()}
        self.assertLessEqual(len(made), 12)
        self.assertLessEqual({"sizes-merkle-resident.png", "sizes-merkle-resident.svg",
                              "roofline.png"}, made)
        self.assertRegex(done.stderr,
                         r"plot.py: \d+ pictures are left out; --kind all draws every one")
        done = self.good("plot.py", file, "-o", self.folder / "all", "--kind", "strategies",
                         "--format", "svg", module="matplotlib")
        self.assertEqual(len(done.stdout.split()), 5)

    @binary.thorough
    def test_a_device_slowed_on_purpose_is_marked_and_named(self):
        document = json.loads(GOLDEN.read_text())
        document["devices"][1]["handicap"] = {"slow": 3.0, "slow_from_fraction": 0.0,
                                              "slow_from_ns": None, "delay_ns": 0,
                                              "memory_cap_bytes": None}
        file = self.folder / "slowed.json"
        file.write_text(json.dumps(document))
        self.good("plot.py", file, "-o", self.folder, "--kind", "strategies,timeline", "--mode",
                  "resident", "--format", "svg", module="matplotlib")
        self.holds((self.folder / "strategies-merkle-leaves100000-resident.svg").read_text(),
                   "<!-- equal \u2193 -->")
        self.holds((self.folder / "timeline-merkle-leaves100000-resident.svg").read_text(),
                   "uses a device that is slowed down on purpose: 0:1, 3 times slower")
        self.good("report_html.py", file, "-o", self.folder / "slowed.html", module="plotly")
        self.holds((self.folder / "slowed.html").read_text(),
                   f"<b>\u2193 Slowed down on purpose: device 0:1, 3{NB}times slower.</b> In every "
                   "problem: every strategy.")

    @binary.thorough
    def test_no_missing_field_is_in_the_way_of_the_others(self):
        done = self.good("plot.py", self.with_holes(), "-o", self.folder, "--format", "svg",
                         module="matplotlib")
        self.assertIn("strategies-merkle-leaves100000-resident.svg", done.stdout)


    def test_error_bars_lie_in_the_frame_and_words_beside_it(self):
        document = json.loads(GOLDEN.read_text())
        for run in document["runs"]:
            if run["status"] == "ok":
                run["time_ns"]["ci95"][0] //= 2  # twice as fast at best
        file = self.folder / "wide.json"
        file.write_text(json.dumps(document))
        inside = """if True:
            import sys
            sys.path.insert(0, sys.argv[1])
            from matplotlib.text import Text
            import plot_kinds, plot_overviews, result_file, result_series
            groups = result_file.groups([("wide.json", result_file.read(sys.argv[2]))])
            look = result_series.looks_of(groups)
            axes = plot_kinds.scaling(groups[0], look).axes[0]
            ends = [y for bars in axes.collections for line in bars.get_segments() for _, y in line]
            print(len(ends) > 2 and max(ends) < axes.get_ylim()[1])
            roof, = result_series.rooflines(groups)
            for draw, what in (plot_kinds.strategies, groups[0]), (plot_overviews.roofline, roof):
                figure = draw(what, look)
                figure.canvas.draw()
                axes = figure.axes[0]
                frame = axes.get_window_extent()
                words = [t for t in axes.texts if t.get_text() in ("75/25", "92.6 %") or
                         "81.0 %" in t.get_text()]
                print(bool(words) and all(Text.get_window_extent(t).x0 > frame.x1 for t in words))
            """
        done = subprocess.run([self.python("matplotlib"), "-c", inside, ROOT / "scripts", file],
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), ["True", "True", "True"])

    def test_a_training_has_names_on_its_axes_and_whole_steps(self):
        document = json.loads(GOLDEN.read_text())
        document["runs"] = document["runs"][1:2]
        document["runs"][0]["verify"]["found"] = {"curves": [
            {"name": "loss", "rounds": [1, 5, 10, 15, 20], "values": [4, 3, 2, 1, 0.5]},
            {"name": "relative L2 error", "rounds": [1, 10, 20], "values": [2, 1, 0.7]}]}
        file = self.folder / "training.json"
        file.write_text(json.dumps(document))
        self.good("plot.py", file, "-o", self.folder, "--kind", "training", "--format", "svg",
                  module="matplotlib")
        picture = next(self.folder.glob("training-*.svg")).read_text()
        for words in ("training step", "loss, relative L2 error", "1", "2", "15"):
            self.holds(picture, f"<!-- {words} -->")
        self.assertFalse("<!-- 2.5 -->" in picture)

    def test_a_missing_module_is_named_with_the_python_that_lacks_it(self):
        for name in ("matplotlib", "plotly"):
            (self.folder / f"{name}.py").write_text("raise ImportError('not here')\n")
        def run_without(script, output):
            return subprocess.run([sys.executable, ROOT / "scripts" / script, GOLDEN, "-o",
                                   self.folder / output], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": str(self.folder)})
        done = run_without("plot.py", "p")
        self.assertEqual((done.returncode, done.stderr), (2, (
                f"plot.py: matplotlib is missing in {sys.executable} (not here); Debian: apt-get "
                "install python3-matplotlib, for /usr/bin/python3\n")))
        done = run_without("report_html.py", "page.html")
        self.assertEqual(done.returncode, 0)
        self.assertIn(f"no charts: plotly is missing in {sys.executable}", done.stderr)
        page = (self.folder / "page.html").read_text()
        self.holds(page, f"hidden>no charts: plotly is missing in {sys.executable}")
        self.holds(page, "dynamic:<wbr>chunks=16")


class LinksPictures(Scripts):
    def test_matrices_and_bandwidths_are_drawn(self):
        done = self.good("plot.py", LINKS, "-o", self.folder, "--format", "svg",
                         module="matplotlib")
        self.assertEqual({Path(line).name for line in done.stdout.split()},
                         {"links-matrices.svg", "links-all-reduce.svg"})
        shown = {"links-matrices": ("unidirectional", "bidirectional", "from", "to",
                                    "unidirectional, staged (not in use)", "50.0",
                                    "200", "wrong", "\u2013", "bandwidth, GB/s",
                                    "Link bandwidth (bidirectional: sum of both directions); path "
                                    "between devices:"),
                 "links-all-reduce": ("Collective all-reduce, f32 sum: average of many pipelined "
                                      "calls", "2 devices", "bus bandwidth, GB/s", "message size",
                                      "4000 B", "1", "10", "100")}  # log ticks
        for stem, words in shown.items():
            picture = (self.folder / f"{stem}.svg").read_text()
            for word in words:
                self.holds(picture, f"<!-- {word} -->", stem)

    def test_the_colours_of_links_go_by_powers(self):
        inside = ("import sys; sys.path.insert(0, sys.argv[1]); import json, plot_links; "
                  "norm = plot_links.matrices(json.load(open(sys.argv[2]))).axes[0].images[0].norm; "
                  "print(round(float(norm((norm.vmin * norm.vmax) ** 0.5)), 2))")
        done = subprocess.run([self.python("matplotlib"), "-c", inside, ROOT / "scripts", LINKS],
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "0.5\n")

    @binary.thorough
    def test_kinds_are_its_own_and_what_it_lacks_is_named(self):
        document = json.loads(LINKS.read_text())
        document["runs"] = [run for run in document["runs"] if "from" not in run["link"]]
        file = self.folder / "few.json"
        file.write_text(json.dumps(document))
        done = self.good("plot.py", file, "-o", self.folder, "--kind", "all", "--format", "png",
                         module="matplotlib")
        self.assertEqual([Path(line).name for line
                          in done.stdout.split()], ["links-all-reduce.png"])
        self.assertIn("plot.py: no matrices", done.stderr)
        document["runs"][0]["link"]["calls"] = "x"
        file.write_text(json.dumps(document))
        for arguments, words in ((["--kind", "strategies"],
                                  "matrices, bandwidth"), (["--mode", "resident"],
                "--mode"), ([GOLDEN], "drawn by itself"),
                                 ([], "runs[0].link.calls")):
            done = self.run_script("plot.py", file, *arguments, "-o", self.folder,
                                   python=self.python("matplotlib"))
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "",
                    1), done.stderr)
            self.assertIn(words, done.stderr)


class Series(unittest.TestCase):
    def test_every_series_has_a_mark_of_its_own_and_a_strategy_the_same_everywhere(self):
        labels = [(name, name) for name in result_series.STRATEGIES] + [(f"dynamic:chunks={2**k}",
                "dynamic") for k in range(9)]
        looks = result_series.looks(labels)
        self.assertEqual(len({look.mark for look in looks.values()}), len(labels))
        self.assertEqual(len(set(result_series.STRATEGIES.values())),
                         len(result_series.STRATEGIES))
        self.assertEqual({look.colour for label,
                          look in looks.items() if label.startswith("dynamic")},
                          {result_series.STRATEGIES["dynamic"]})
        for k in (0, 1):
            self.assertEqual(len({mark[k] for mark in result_series.MARKS}),
                             len(result_series.MARKS))
        self.assertEqual(
                result_series.looks([("stealing", "stealing"), ("single", "single")])["stealing"],
                looks["stealing"])
        self.assertEqual(
                len({look.mark for look
                     in result_series.looks([(f"mine{k}", f"mine{k}") for k
                                             in range(10)]).values()}), 10)

    def test_titles_name_only_what_is_not_as_by_default_or_differs(self):
        def title(varying=(), **params):
            return result_file.problem(params, varying, {"seed": 1, "tree": "plain"})
        self.assertEqual(title(leaves=2**20, seed=1, tree="plain"), "leaves=2^20")
        self.assertEqual(title(leaves=2**20, seed=1, tree="rfc6962"), "leaves=2^20 tree=rfc6962")
        self.assertEqual(title(("seed",), seed=1, leaves=5), "leaves=5 seed=1")
        self.assertEqual(title(rows=512, cols=512, inner=64), "inner=64 rows=512")
        self.assertEqual(title(rows=512, inner=512), "rows=512")
        self.assertEqual(title(dim=4, n=4), "dim=n=4")

    def test_what_is_so_by_default_is_what_the_file_says(self):
        run = {"suite": "merkle", "mode": "resident", "strategy": "equal",
               "params": {"leaves": 8, "seed": 1, "tree": "plain"}}
        mine = {**run, "suite": "mine", "params": {"things": 9, "knob": "up"}}
        def titles(**of_the_file):
            return [group.title for group
                    in result_file.groups([("a.json",
                                            {"devices": [], "runs": [run, mine], **of_the_file})])]
        self.assertEqual(titles(), ["merkle leaves=8 tree=plain, resident",
                                    "mine things=9 knob=up, resident"])
        said = {"merkle": {"seed": 7, "tree": "plain"}, "mine": {"knob": "down", "things": 9}}
        self.assertEqual(titles(defaults=said), ["merkle leaves=8 seed=1, resident",
                                                 "mine knob=up, resident"])

    def test_a_sweep_is_drawn_against_size_first(self):
        documents = [(str(SWEEP), json_input.result(str(SWEEP)))]
        groups = result_file.groups(documents)
        kinds = [kind for kind, _, _ in plot.wanted(None, groups)]
        self.assertEqual(kinds[:4], ["sizes"] * 4)
        self.assertNotIn("strategies", kinds[:12])

    def test_where_a_device_ran_nothing_is_told_apart(self):
        names = {"commands": ["device", "kind", "slice", "label", "bytes", "started_ns",
                              "ended_ns"], "spans": ["device", "state", "begin_ns", "end_ns"]}
        timeline = {"makespan_ns": 100, "columns": names,
                    "commands": [[0, "compute", 0, "", 0, 30, 40], [0, "compute", 1, "", 0, 50,
                70]],
                    "spans": [[0, "idle", 10, 20], [0, "in_flight", 20, 80], [0, "sync", 80, 95]]}
        case = result_file.Case({"devices": ["0:0"], "timeline": timeline}, "file")
        self.assertEqual(sorted(result_series.gaps(case), key=lambda gap: gap[2]),
                         [(0, "rest", 0, 10), (0, "idle", 10, 10), (0, "launch", 20, 10), (0,
                "launch", 40, 10), (0, "launch", 70, 10), (0, "sync", 80, 15),
                          (0, "rest", 95, 5)])

    def test_a_roofline_has_what_memory_carries_and_what_the_devices_compute(self):
        document = json.loads(gzip.decompress(ROOFS.read_bytes()))
        groups = result_file.groups([(ROOFS.name, document)])
        roof, = result_series.rooflines(groups)
        self.assertEqual(roof.unit, "nodes/s")
        ceilings = {(c.limit, c.n): c for c in roof.ceilings()}
        self.assertEqual(set(ceilings), {("int32", 2), ("memory", 2)})
        self.assertAlmostEqual(ceilings[("memory", 2)].rate,
                               sum(d["capability"]["memory_bytes_per_s"] for d
                                   in document["devices"]))
        for point in roof.points:
            self.assertAlmostEqual(point.intensity, 1 / 32, 6)
            self.assertLess(point.rate, ceilings[("int32", 2)].rate)
            self.assertLess(point.roof, point.intensity * ceilings[("memory", 2)].rate)

    def test_every_ceiling_and_point_lies_in_the_frame_of_its_roofline(self):
        for file in (ROOFS, ITERATED):
            document = json.loads(gzip.decompress(file.read_bytes()))
            roof, = result_series.rooflines(result_file.groups([(file.name, document)]))
            left, right, bottom, top = roof.frame()
            self.assertTrue(roof.lines())
            for _, xs, ys in roof.lines():
                self.assertTrue(left <= xs[0] < xs[1] <= right and bottom < ys[0] < top, file)
            for point in roof.points:
                self.assertTrue(left < point.intensity < right)
                self.assertTrue(bottom < point.rate < top and bottom < point.roof < top)
            # An iterative problem moves its bytes more than once: its ceiling is on no line.
            self.assertEqual(bool(roof.off_the_lines()), file == ITERATED)

    def test_shares_are_written_as_in_the_tables_of_the_tool(self):
        for items, text in (((768, 256), "75/25"), ((1024,), "100"), ((0, 8), "0/100"),
                            ((999, 1), ">99/<1"), ((1, 1, 1, 1), "25/25/25/25"),
                            ((25, 25, 25, 26, 25, 25, 25, 24), "12-13"), ((2,) * 5, "20"),
                            ((5, 5, 5, 5, 0), "0-25"), ((0, 0), ""), ((), "")):
            run = {"per_device": [{"items": count} for count in items]}
            self.assertEqual(result_file.Case(run, "file").shares, text)

    def test_warnings_that_differ_in_a_percentage_are_one(self):
        cases = [result_file.Case({"strategy": name, "warnings": warnings}, "file")
                 for name, warnings in (("a", ["used 40 % of it", "1:0: hot"]),
                                        ("b", ["used 70 % of it", "1:1: hot"]),
                                        ("c", ["lost 5 % or 6 %"]), ("d", ["lost 5 % or 7 %"]))]
        found = result_file.doubts_of(cases, lambda case: case.warnings)
        self.assertEqual({why: "".join(case.strategy for case in mine)
                          for why, mine in found.items()},
                         {"used 40 to 70 % of it": "ab", "1:0: hot": "a", "1:1: hot": "b",
                          "lost 5 % or 6 %": "c", "lost 5 % or 7 %": "d"})

    def test_a_figure_beyond_the_possible_has_its_reason(self):
        def beyond(efficiency, **of_the_run):
            run = {"metrics": {"efficiency": efficiency, "speedup": 2.0}, **of_the_run}
            case = result_file.Case(run, "file")
            return case.beyond_best("speedup"), len(case.warnings)
        self.assertEqual(beyond(0.99), ("", 0))
        self.assertEqual(beyond(1.0004), ("", 0))  # which tables show as 100.0
        self.assertEqual(beyond(1.886), ("188.6 % of what is possible: the file does not say why", 1))
        doubt = {"metric": "speedup", "reason": "why", "slight": False}
        self.assertEqual(beyond(1.2, doubtful_metrics=[doubt])[0], "why")
        doubt["slight"] = True
        self.assertIn("by no more than medians", beyond(1.01, doubtful_metrics=[doubt])[0])


class Refusals(Scripts):
    def refused(self, arguments, *words):
        for name in ("plot.py", "report_html.py") if "--" not in str(arguments) else ("plot.py",):
            done = self.run_script(name, *arguments, "-o", self.folder / "out")
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "",
                    1), f"{name} {arguments}: {done}")
            for word in words:
                self.assertIn(word, done.stderr)

    def test_bad_input_is_one_line_that_says_what(self):
        for text, words in (("", ("is not JSON",)), ("[1, 2]", ("is not a result file",)), (
                '{"schema": "mgpu-bench/trace"}', ("is not a result file",)),
                            ('{"schema": "mgpu-bench/result", "schema_version": 4}', ("version 4",
                "reads version 3")),
                            ('{"schema": "mgpu-bench/result", "schema_version": 3, "runs": [3], '
                             '"devices": []}', ('"runs"', "list of objects"))):
            file = self.folder / "bad.json"
            file.write_text(text)
            self.refused([file], "bad.json", *words)
        self.refused([self.folder / "none.json"], "none.json", "cannot be read")

    def test_bad_options_name_what_there_is(self):
        self.refused([GOLDEN, "--kind", "pie"], "--kind", "'pie'", "scaling", "roofline")
        self.refused([GOLDEN, "--format", "gif"], "--format", "'gif'", "png, svg")
        self.refused([GOLDEN, "--strategy", "equl"], "--strategy", "'equl'", "dynamic:chunks=16")
        self.refused([GOLDEN, "--devices", "3"], "--devices", "'3'", "there is 2")

    def test_a_file_without_cases_makes_a_page_that_says_so_and_no_picture(self):
        document = {**json.loads(GOLDEN.read_text()), "runs": [], "summary": []}
        (self.folder / "none.json").write_text(json.dumps(document))
        self.good("report_html.py", self.folder / "none.json", "-o", self.folder / "none.html",
                  module="plotly")
        self.holds((self.folder / "none.html").read_text(), "The file holds no case.")
        done = self.run_script("plot.py", self.folder / "none.json", "-o", self.folder,
                               python=self.python("matplotlib"))
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1][:26]), (2,
                "plot.py: nothing to draw: "))


class Page(Scripts):
    def page(self, result):
        out = self.folder / f"{result.stem}.html"
        self.good("report_html.py", result, "-o", out, module="plotly")
        return out

    def test_the_page_of_the_golden_file_holds_its_words_and_rows(self):
        page = self.page(GOLDEN).read_text()
        summary = result_file.read(str(GOLDEN))["summary"]
        self.assertGreater(len(summary), 1)
        for line in summary:
            self.holds(page, report_html.text(line["text"]))
        for fact in ("<h1>merkle leaves=100000 on 2 × NVIDIA H200</h1>",
                     "failed: the root differs from the reference",
                     f"1755 to 1980{NB}MHz, power 120 to 700{NB}W",
                     "not recorded: there is no NVML", f"CPU load 25 to 50{NB}%",
                     "<h2>What went wrong</h2>", "device 0:1 hung in the 3rd sample",
                     "device 0:2 failed at set-up", f"1.80{NB}times as fast as equal",
                     f">28{NB}July{NB}2026,{NB}09:30{NB}UTC</time>", "% of roofline",
                     f"<dt>clock synchronisation error</dt><dd>6.01{NB}us (bounds)</dd>"):
            self.holds(page, fact)
        self.holds(page, '"devices" data-key="2">2 of 3</td>')
        self.holds(page, '"shares, %" data-key="0.75">75/25</td>')
        self.assertEqual(page.count("<tr"), 1 + 6)  # memory is unsupported, in one line above
        self.assertEqual(page.count("the inputs do not fit"), 1)
        self.assertEqual(re.findall(r'(?:src|href)="(.*?)"', page), ["data:,"])
        self.holds(page,
                    "! 0:0: clocks were held down: power cap.</b> "
                    "In merkle leaves=100000, resident: dynamic:chunks=16.</p>")
        self.holds(page, '<b class="mark" title="0:0: clocks were held down: power cap">!</b>')
        self.holds(page, f'measured <time datetime="{json.loads(GOLDEN.read_text())["started"]}">')

    def test_facts_are_said_in_words_with_units_and_reasons_once(self):
        document = json.loads(GOLDEN.read_text())
        device = document["devices"][0]
        device["capability"] = {"launch_ns": 61300, "pinned_down_bytes_per_s": 2.037e9,
                                "fp64_flops": 4.55e10, "int32_ops": 3e12}
        document["environment"]["memory_bytes"] = "25276514304"
        refused = document["runs"][5]
        for strategy in ("guided", "stealing"):
            document["runs"].append({**refused, "strategy": strategy,
                                     "reason": f"not applicable: {strategy} reassigns work"})
        document["runs"][3]["metrics"] |= {"efficiency": 1.886, "speedup": 2.5}
        file = self.folder / "facts.json"
        file.write_text(json.dumps(document))
        page = self.page(file).read_text()
        for name, value in (("kernel launch, measured", "61.3 us"), ("memory", "23.5 GiB"),
                            ("device to host, pinned, measured", "2.04 GB/s"),
                            ("double precision, measured", "45.5 GFLOP/s"),
                            ("32-bit integers, measured", "3.00 Top/s")):
            self.holds(page, f"<dt>{name}</dt><dd>{report_html.text(value)}</dd>")
        self.assertEqual(page.count("reassigns work"), 1)
        self.holds(page, "guided and stealing: not applicable: this strategy reassigns work.")
        self.holds(page, f'title="188.6{NB}% of what is possible: the file does not say why">'
                         f'188.6{NB}!</span>')
        self.holds(page, f"Speed-up and efficiency are 188.6{NB}% of what is possible")

    def test_energy_is_in_the_page_and_drawn_against_time(self):
        document = json.loads(GOLDEN.read_text())
        for k, run in enumerate(document["runs"]):
            run["energy"] = {"energy_j": 3 + k, "half_width_j": 0.25, "gain": 0.75}
        file = self.folder / "energy.json"
        file.write_text(json.dumps(document))
        page = self.page(file).read_text()
        self.holds(page, "energy, J")
        self.holds(page, 'data-label="energy, J" data-key="3">3<small>± 0.25</small></td>')
        self.assertNotIn("energy, J", self.page(GOLDEN).read_text())
        self.good("plot.py", file, "-o", self.folder, "--kind", "energy", "--format", "svg", module="matplotlib")
        picture = (self.folder / "energy-merkle-leaves100000-resident.svg").read_text()
        for words in ("Time and energy: merkle leaves=100000, resident", "energy of a run, J",
                      "Pareto front: none is faster with less energy"):
            self.holds(picture, f"<!-- {words} -->")

    def test_the_page_of_a_campaign_says_what_it_has_and_what_is_missing(self):
        folder = self.folder / "campaign"
        folder.mkdir()
        for name in ("headline-merkle", "predicted-headline-merkle", "slow-merkle"):
            shutil.copy(CAMPAIGN / f"{name}.json.gz", folder)
        (folder / "parts.txt").write_text("links\nheadline-merkle\nscaling-merkle\nslow-merkle\n")
        (folder / "commands.txt").write_text("campaign: slow-merkle: mgpu-bench run merkle\n")
        document = json.loads(gzip.decompress((folder / "slow-merkle.json.gz").read_bytes()))
        document["runs"][0]["warnings"] = ["other programs used about 90 % of the cores"]
        document["complete"] = False
        (folder / "slow-merkle.json.gz").write_bytes(gzip.compress(json.dumps(document).encode()))
        page = campaign_page.page(folder)
        for told in ('<meta name="viewport"', '<meta name="color-scheme" content="light dark">',
                     "<h1>Scaling campaign: merkle on 2 × NVIDIA H100 80GB HBM3</h1>",
                     "The campaign is not finished; 2 of 4 parts are missing: links, "
                     "scaling-merkle.", "slow-merkle was interrupted",
                     f"! Other programs used about 90{NB}% of the cores.",
                     f"on 2{NB}devices the median efficiency of 1 headline problem is ",
                     "the median prediction error is ", f"25{NB}November{NB}2026,",
                     "mgpu-bench 0.2.0 (", "<h3>Headline cases</h3>",
                     "<h3>Fastest strategies, one device slowed down</h3>",
                     "slow-merkle: mgpu-bench run merkle</pre>", ">33/67</td>"):
            self.holds(page, told)
        self.assertFalse("Commands" in campaign_page.page(CAMPAIGN))

    def test_the_style_has_every_colour_for_light_and_for_dark_and_no_box_to_scroll_but_the_table(
            self):
        style = (ROOT / "scripts/report_page/page.css").read_text()
        light, dark = style.split("@media (prefers-color-scheme: dark)")[:2]
        names = re.findall(r"(--[\w-]+):", light)
        self.assertEqual(names, re.findall(r"(--[\w-]+):", dark.split("\n}")[0]))
        self.assertEqual(re.findall(r"#[0-9a-f]{3,6}\b", dark.split("\n}")[1]), [],
                         "a colour that dark mode cannot change")
        script = (ROOT / "scripts/report_page/page.js").read_text()
        self.assertLessEqual({f"--{name}" for name in re.findall(r'ink\("([\w-]+)"\)', script)},
                             set(names))
        self.assertEqual(re.findall(r"(\S+) \{[^}]*overflow(?:-[xy])?:", style), [".wide"])

    @binary.thorough
    def test_it_works_in_a_browser_at_two_widths_without_a_complaint_or_a_connection(self):
        if browser.CHROMIUM is None:
            self.skipTest("no Chromium here (package chromium)")
        golden, holes, big = self.page(GOLDEN), self.page(self.with_holes()), self.page(FOUR)
        with browser.Browser() as chromium:
            for page, width, scheme in ((golden, 1280, "light"), (holes, 400, "light"), (golden,
                    400, "dark"), (big, 1280, "dark")):
                chromium.prefer(scheme)
                chromium.open(page, width)
                chromium.wait_for("document.documentElement?.dataset.charts === 'drawn'")
                self.assertLessEqual(chromium.evaluate("document.documentElement.scrollWidth"),
                                     width)
                self.assertGreater(
                        chromium.evaluate(
                        "document.querySelectorAll('#timeline .bars .point').length"), 4)
                if width > 1000:
                    self.assertTrue(chromium.evaluate(
                            "[...document.querySelectorAll('.wide')]"
                            ".every((box) => box.scrollWidth <= box.clientWidth)"))
                else:  # every figure is in sight
                    self.assertLessEqual(chromium.evaluate(
                            "Math.max(...[...document.querySelectorAll('td')]"
                            ".map((cell) => cell.getBoundingClientRect().right))"), width)
                self.assertTrue(chromium.evaluate(  # no bar, tick or line crosses the words
                        "(() => { const words = [...document.querySelectorAll("
                        "'#strategies .annotation')].map((e) => e.getBoundingClientRect().left);"
                        "const frame = document.querySelector('#strategies .xy .gridlayer')"
                        ".parentNode.querySelector('.plot, .gridlayer').getBoundingClientRect();"
                        "return words.length > 4 && Math.min(...words) >= frame.right - 1; })()"))
                self.assertTrue(page is holes or chromium.evaluate(  # nor another word
                        "(() => { const boxes = [...document.querySelectorAll("
                        "'#strategies .annotation')].map((e) => e.getBoundingClientRect());"
                        "return boxes.every((a) => boxes.every((b) => a === b || a.right <= b.left"
                        " || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top)); })()"))
                time = ("[...document.querySelectorAll('th')]"
                        ".findIndex((e) => e.innerText === 'time')")
                chromium.evaluate(f"document.querySelectorAll('th button')[{time}].click()")
                keys = chromium.evaluate(
                        "[...document.querySelectorAll('tbody tr')]"
                        f".map((row) => row.children[{time}].dataset.key)")
                numbers = [float(key) for key in keys if key]
                self.assertEqual(numbers, sorted(numbers))
                self.assertEqual(keys, [key for key in keys if key] + [""] * keys.count(""))
                paper = chromium.evaluate("getComputedStyle(document.body).backgroundColor")
                self.assertEqual(paper,
                                 "rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 24, 28)")
                for chart in ("strategies", "timeline", "parts", "prediction"):
                    self.assertEqual(
                            chromium.evaluate(
                            f"document.querySelector('#{chart} .main-svg').style.background"),
                            paper, chart)
                legends = [chromium.evaluate(
                        f"[...document.querySelectorAll('#{chart} .legendtext')]"
                        ".map((e) => e.textContent)") for chart in ("timeline", "parts")]
                known = [*result_series.KINDS, *result_series.WAITS.values()]
                for legend in legends:
                    self.assertIn("idle at barrier / merge", legend)
                    self.assertEqual([name for name in legend if not name.startswith("merge")],
                                     [name for name in known if name in legend])
                if page is golden:
                    self.assertEqual((numbers[0], numbers[-1], keys.count("")), (810000, 1460000,
                            1))
                chromium.evaluate("document.querySelectorAll('.pick')[1].click()")
                reach = ("(() => { const [a, b] = document.getElementById('timeline')"
                         "._fullLayout.xaxis.range; return b - a; })()")
                before = chromium.evaluate(reach)
                chromium.evaluate("document.querySelector('[data-zoom=in]').click()")
                self.assertAlmostEqual(chromium.evaluate(reach), before / 2, 6)
            self.assertEqual(chromium.complaints, [])
            self.assertEqual([url for url in chromium.requests if
                              not url.startswith(("file:", "data:", "blob:"))], [])


def npy(rows, columns, kind="<f4"):
    """Returns a field whose values rise from row to row, starting below 0."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}".ljust(
            117) + "\n"
    cells = [float(r) - rows / 2 for r in range(rows) for _ in range(columns)]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H",
                                              len(header)) + header.encode() + struct.pack(
            f"<{len(cells)}{'d' if kind == '<f8' else 'f'}", *cells)


class DocumentPages(Scripts):
    """Pages of profiles and checks."""

    def made(self, document, name="made"):
        file, page = self.folder / f"{name}.json", self.folder / f"{name}.html"
        file.write_text(json.dumps(document))
        done = self.run_script("document_html.py", file, "-o", page)
        self.assertEqual((done.returncode, done.stdout), (0, f"{page}\n"), done.stderr)
        text = page.read_text(encoding="utf-8")
        self.assertNotIn("<script", text)
        for drawing in re.findall("<svg.*?</svg>", text, re.S):
            xml.etree.ElementTree.fromstring(drawing)
        return text

    def read(self, name):
        return json.loads(gzip.decompress((ROOT / f"results/h200/{name}.json.gz").read_bytes()))

    def test_a_profile_shows_sentences_parts_costs_commands_and_tables(self):
        profile = self.read("profile-2-fluidx3d")
        profile["kernels"][0]["name"] = NASTY
        text = self.made(profile)
        for words in (*profile["summary"], NASTY, "no serial transfers", "no host waits", "395 ms"):
            self.assertIn(report_html.text(words), text)
        drawn = len(re.findall('<rect class="(?:upload|compute|download)" x', text))
        commands = len(profile["timeline"]["commands"])
        self.assertEqual(drawn, commands + 3 * len(profile["devices"]))
        self.assertEqual(text.count("<tr>"), 3 + sum(len(profile[key]) for key in ("kernels", "copies", "waits")))
        bars = re.findall('<rect class="value" x="150.00" y="[0-9]+" width="([0-9.]+)"', text)
        times = sorted(one["time_ns"] for one in profile["costs"]["without"])
        for width, time in zip(bars, times, strict=True):
            self.assertAlmostEqual(float(width) / 760, time / profile["makespan_ns"], delta=1e-4)

    def test_a_check_shows_findings_spread_and_a_matrix_per_kind_of_link(self):
        check = self.read("check-4")
        self.assertIn("Nothing is wrong with 4 devices.", self.made(check))
        check["findings"] = [{"text": "gpu 1 (0:1) is 20.0 % slower"}]
        for one in check["devices"][1]["rates"]:
            one["values"] = [0.8 * value for value in one["values"]]
        text = self.made(check)
        self.assertIn("gpu 1 (0:1) is 20.0", text)
        self.assertEqual(text.count("<circle"), 4 * 6)
        self.assertEqual(len(re.findall("gpu 1: [^<]*, -(?:19|20)", text)), 6)
        self.assertEqual(text.count("<h3>"), 4)
        self.assertEqual(text.count("rgba(0,114,178,"), 4 + 4 + 12 + 6)

    def test_other_files_are_refused(self):
        for wrong in (ROOT / "README.md", FOUR):
            done = self.run_script("document_html.py", wrong, "-o", self.folder / "x.html")
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
        profile = self.read("profile-2-clfft")
        del profile["costs"]
        (self.folder / "hole.json").write_text(json.dumps(profile))
        done = self.run_script("document_html.py", self.folder / "hole.json", "-o", self.folder / "x.html")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)


class RoundsPictures(Scripts):
    """The field with the devices' shares, and steps over each path side by side."""

    def result(self, name, path, time=1, **params):
        """Returns the golden file changed to the result of a stencil of 20 steps: a case whose
        devices exchanged data over this path."""
        document = json.loads(GOLDEN.read_text())
        run = copy.deepcopy(document["runs"][2])  # 75 % on the first device
        run.update(suite="stencil",
                   params={"iterations": 20, "kind": "jacobi2d", "side": 40, **params})
        run["timeline"]["columns"]["commands"] += ["peer", "path", "arrives"]
        run["timeline"]["commands"] = [[*row, None, None, None] for row
                                       in run["timeline"]["commands"]]
        run["timeline"]["commands"].append([0, "exchange", 0, "put", 160, 0, 0, 10, 20, 1, path,
                                            False])
        run["timeline"]["slices"] = [[0, 0, 0, 30, 0, 9], [1, 0, 30, 40, 0, 9]]
        run["work"]["items"] = 40
        run["time_ns"]["median"] *= time
        for device in run["per_device"]:
            device["exchange_ns"] = run["time_ns"]["median"] // 4
        document["runs"] = [run]
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(document))
        return file

    def plot(self, *arguments):
        done = self.good("plot.py", *arguments, "-o", self.folder / "p", "--format", "svg",
                         module="matplotlib")
        file, = done.stdout.splitlines()
        with open(file) as picture:
            return picture.read()

    def test_a_field_is_drawn_with_the_shares_of_the_result(self):
        for kind, rows, words in (("jacobi2d", 40, "column"), ("heat3d", 1600,
                "row, in column 20 of each plane")):
            field = self.folder / "field.npy"
            field.write_bytes(npy(rows, 40, "<f8" if kind == "heat3d" else "<f4"))
            picture = self.plot(self.result("r", "direct", kind=kind), "--field", field)
            for text in ("device 0:0: 75.0 %", "device 0:1: 25.0 %", words,
                         "dashed: borders of the shares"):
                self.holds(picture, text, kind)

    @binary.thorough
    def test_blocks_are_drawn_where_they_lie(self):
        field, file = self.folder / "field.npy", self.result("r", "direct", split="blocks")
        field.write_bytes(npy(40, 40))
        document = json.loads(file.read_text())
        document["runs"][0]["work"]["items"] = 80  # two columns of 40
        document["runs"][0]["timeline"]["slices"] = [[0, 0, 0, 50, 0, 9], [1, 0, 50, 80, 0, 9]]
        file.write_text(json.dumps(document))
        picture = self.plot(file, "--field", field)
        for text in ("device 0:0: 62.5 %", "device 0:1: 37.5 %"):
            self.holds(picture, f"<!-- {text} -->")
        self.assertEqual(picture.count("stroke-dasharray: 6,3.6"),
                         2)  # above and to the left of the second device's share

    @binary.thorough
    def test_flows_are_drawn_from_the_side_with_shares_and_from_above_with_their_streamlines(self):
        field, file = self.folder / "field.npy", self.result("r", "direct", side=8)
        document = json.loads(file.read_text())
        document["runs"][0].update(suite="lbm",
                                   params={"iterations": 20, "case": "cavity", "side": 8,
                                           "planes": "40"})
        file.write_text(json.dumps(document))
        field.write_bytes(npy(40 * 8 * 8, 4))
        done = self.good("plot.py", file, "--field", field, "-o", self.folder / "p", "--format",
                         "svg", module="matplotlib")
        side, above = (Path(name).read_text() for name in done.stdout.splitlines())
        for text in ("device 0:0: 75.0 %", "device 0:1: 25.0 %", "row, in column 4 of each plane",
                     "speed, cells per step"):
            self.holds(side, text)
        for text in ("Flow in the middle plane", "speed in the plane, cells per step"):
            self.holds(above, text)
        for rows, columns in ((40 * 8 * 8, 3), (40 * 8 * 8 + 1, 4)):
            field.write_bytes(npy(rows, columns))
            done = self.run_script("plot.py", file, "--field", field, "-o", self.folder,
                                   python=self.python("matplotlib"))
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "",
                    1), done.stderr)
            self.assertIn(f"{rows} x {columns}", done.stderr)

    @binary.thorough
    def test_what_is_not_the_field_of_the_result_is_refused(self):
        field = self.folder / "field.npy"
        for data, file, words in ((npy(39, 40), self.result("r", "direct"), "39 x 40"), (b"text",
                self.result("r", "direct"), "no array"),
                                  (npy(40, 40), GOLDEN, "one of stencil")):
            field.write_bytes(data)
            done = self.run_script("plot.py", file, "--field", field, "-o", self.folder,
                                   python=self.python("matplotlib"))
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "",
                    1), done.stderr)
            self.assertIn(words, done.stderr)

    @binary.thorough
    def test_paths_are_drawn_side_by_side_by_their_time_a_step(self):
        picture = self.plot(self.result("a", "direct"), self.result("b", "staged", 3), "--kind",
                            "paths")
        for text in ("direct", "staged", "40.5 us, 25.0 % exchange", "122 us, 25.0 % exchange",
                     "fastest single device", "exchange, mean over the devices",
                     "time per step, us: median of the fastest strategy"):
            self.holds(picture, f"<!-- {text} -->")


if __name__ == "__main__":
    if len(sys.argv) > 1 and Path(sys.argv[1]).is_file():
        del sys.argv[1]
    unittest.main(verbosity=2)
