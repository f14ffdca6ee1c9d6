#!/usr/bin/env python3
"""Tests of scripts/plot.py and scripts/report_html.py with a golden file, a committed result, and
files with missing values. Usage: pictures_test.py [PROGRAM] [unittest arguments]; the program is
ignored. Tests that need matplotlib, plotly or Chromium are skipped, with a message, if it is
missing. Only a person can judge how a picture looks: these tests check that each is drawn, from the
right figures."""

import copy
import gzip
import html
import json
import re
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

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import json_input  # noqa: E402
import plot  # noqa: E402
import result_file  # noqa: E402
import result_series  # noqa: E402

GOLDEN = ROOT / "tests/golden/report.json"
LINKS = ROOT / "tests/golden/links.json"
COMMITTED = ROOT / "results/xeon/merkle-two-cores.json.gz"
ROOFS = ROOT / "results/h200/merkle-2-slow3.json.gz"
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
        shown = {"scaling": ("measured: device 0:0 alone, 1.00 ms",
                             "dynamic:chunks=64 (2 of 3 devices) !",
                             "! disturbed or doubtful, see its warnings"),
                 "strategies": ("best: 810 us, efficiency 0.93", "830 us, efficiency 0.90, 1 fault",
                 "failed: the root differs from the reference", "perfect split: 750 us"),
                 "timeline": ("merge, 44.0 us", "75.0 %"),
                 "imbalance": ("47.9 %", "device 0:1"),
                 "prediction": ("median error 1.0 %, 4 cases",),
                 "roofline": ("devices: 81 % of its roof", "fastest: dynamic:chunks=16",
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
        made = [f"timeline-merkle-leaves2p20-treeplain-resident.{kind}" for kind in ("png", "svg")]
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
                   "has a device made slower on purpose (0:1 3 times)")
        self.good("report_html.py", file, "-o", self.folder / "slowed.html", module="plotly")
        self.holds((self.folder / "slowed.html").read_text(),
                   "<b>\u2193 Made slower on purpose: device 0:1, 3 times.</b> In every problem: "
                   "every strategy.")

    @binary.thorough
    def test_no_missing_field_is_in_the_way_of_the_others(self):
        done = self.good("plot.py", self.with_holes(), "-o", self.folder, "--format", "svg",
                         module="matplotlib")
        self.assertIn("strategies-merkle-leaves100000-resident.svg", done.stdout)


class LinksPictures(Scripts):
    def test_matrices_and_bandwidths_are_drawn(self):
        done = self.good("plot.py", LINKS, "-o", self.folder, "--format", "svg",
                         module="matplotlib")
        self.assertEqual({Path(line).name for line in done.stdout.split()},
                         {"links-matrices.svg", "links-all-reduce.svg"})
        shown = {"links-matrices": ("unidirectional", "bidirectional",
                                    "unidirectional, staged path (not in use)", "50.0",
                                    "200", "wrong", "GB/s",
                                    "links, row = source, column = destination (bidirectional: the "
                                    "sum); path between devices: direct"),
                 "links-all-reduce": ("all-reduce, f32 sum", "2 devices", "bus bandwidth, GB/s",
                                      "4000 B")}
        for stem, words in shown.items():
            picture = (self.folder / f"{stem}.svg").read_text()
            for word in words:
                self.holds(picture, f"<!-- {word} -->", stem)

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
        self.assertEqual(title(rows=512, cols=512, inner=64), "rows=512 inner=64")

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
            self.holds(page, html.escape(line["text"], quote=False))
        for fact in ("failed: the root differs from the reference",
                     "1755 to 1980 MHz, power 120 to 700 W",
                     "not looked at: there is no NVML", "cores in use 25 to 50 %",
                     "<h2>What went wrong</h2>", "device 0:1 hung in the 3rd sample",
                     "device 0:2 failed at set-up"):
            self.holds(page, fact)
        self.holds(page, '"number" data-key="2">2 of 3</td>')
        self.holds(page, '"faults":1')
        self.assertEqual(page.count("<tr"), 1 + 7)
        self.assertEqual(re.findall(r'(?:src|href)="(.*?)"', page), ["data:,"])
        self.holds(page,
                    "! 0:0: clocks were held down: power cap.</b> "
                    "In merkle leaves=100,000, resident: dynamic:chunks=16.</p>")
        self.holds(page, '<b class="mark" title="0:0: clocks were held down: power cap">!</b>')
        self.holds(page, f'measured <time datetime="{json.loads(GOLDEN.read_text())["started"]}">')

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
        golden, holes = self.page(GOLDEN), self.page(self.with_holes())
        with browser.Browser() as chromium:
            for page, width, scheme in ((golden, 1400, "light"), (holes, 400, "light"), (golden,
                    420, "dark")):
                chromium.prefer(scheme)
                chromium.open(page, width)
                chromium.wait_for("document.documentElement?.dataset.charts === 'drawn'")
                self.assertLessEqual(chromium.evaluate("document.documentElement.scrollWidth"),
                                     width)
                self.assertGreater(
                        chromium.evaluate(
                        "document.querySelectorAll('#timeline .bars .point').length"), 4)
                chromium.evaluate("document.querySelectorAll('th button')[3].click()")
                keys = chromium.evaluate(
                        "[...document.querySelectorAll('tbody tr')]"
                        ".map((row) => row.children[3].dataset.key)")
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
                legend = ("[...document.querySelectorAll('#timeline .legendtext')]"
                          ".map((e) => e.textContent)")
                self.assertIn("waiting for others, merge", chromium.evaluate(legend))
                if page is golden:
                    self.assertEqual((numbers[0], numbers[-1], keys.count("")), (810000, 1460000,
                            2))
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
                         "dashed: where shares meet"):
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
                     "speed, cells a step"):
            self.holds(side, text)
        for text in ("the middle plane", "speed in the plane, cells a step"):
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
        for text in ("direct", "staged", "40.5 us, 25 % in exchanges", "122 us, 25 % in exchanges",
                     "the device fastest alone"):
            self.holds(picture, f"<!-- {text} -->")


if __name__ == "__main__":
    if len(sys.argv) > 1 and Path(sys.argv[1]).is_file():
        del sys.argv[1]
    unittest.main(verbosity=2)
