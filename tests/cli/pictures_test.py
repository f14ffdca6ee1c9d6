#!/usr/bin/env python3
"""scripts/plot.py and scripts/report_html.py on a golden file, a committed result, and files with holes. Usage: pictures_test.py [unittest
arguments]. What needs matplotlib, plotly or Chromium is skipped, with a message, where that is missing. How a picture looks, only a
person can judge: these tests hold that each is drawn, from the right figures."""

import copy
import json
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

import browser
from compare_test import python_with

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/report.json"
COMMITTED = ROOT / "results/xeon/merkle-two-cores.json.gz"
NASTY = "</script><script>throw 1</script>"  # in names that come from a file


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
        return subprocess.run([python, str(ROOT / "scripts" / name), *map(str, arguments)], capture_output=True, text=True, timeout=120)

    def good(self, name, *arguments, module):
        done = self.run_script(name, *arguments, python=self.python(module))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("Warning", done.stderr)
        return done

    def holds(self, text, words, where=""):
        """assertIn, which would show all of a text of megabytes."""
        self.assertTrue(words in text, f"{where}: nowhere is '{words}'")

    def with_holes(self):
        """One case of the golden file, once for every one of its keys without that key; and a case of nothing."""
        document = json.loads(GOLDEN.read_text())
        whole = document["runs"][2]
        of_the_problem = ("suite", "params", "mode")  # missing together, as each alone would only make more pictures
        holes = [{k: v for k, v in whole.items() if k != missing} for missing in whole if missing not in of_the_problem]
        holes.append({k: v for k, v in whole.items() if k not in of_the_problem})
        for inner in ("time_ns", "metrics", "plan", "timeline"):
            holes += [{**whole, inner: {}}, {**whole, inner: None}]
        holes.append({**copy.deepcopy(whole), "timeline": {**whole["timeline"], "columns": {"commands": ["device"]}}})
        holes.append({**whole, "status": "failed", "reason": "$x^{$"})  # half of a formula, were it one
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
        done = self.good("plot.py", GOLDEN, "-o", self.folder / "new" / "p", "--mode", "resident", "--format", "svg", module="matplotlib")
        made = {Path(line).name for line in done.stdout.split()}
        stems = {f"{kind}-merkle-leaves100000-resident" for kind in ("scaling", "strategies", "timeline", "imbalance")}
        stems |= {"prediction", "roofline"}
        self.assertEqual(made, {f"{stem}.svg" for stem in stems})
        shown = {"scaling": ("measured: device 0:0 alone, 1.00 ms", "dynamic:chunks=64 (2 of 3 devices)"),
                 "strategies": ("best: 810 us, efficiency 0.93", "830 us, efficiency 0.90, 1 fault",
                 "failed: the root differs from the reference", "perfect split: 750 us"), "timeline": ("merge, 44.0 us", "75.0 %"),
                 "imbalance": ("47.9 %", "device 0:1"), "prediction": ("median error 1.0 %, 4 cases",),
                 "roofline": ("81 %, 123 M nodes/s", "dynamic:chunks=16, 2 devices")}
        for stem in stems:
            picture = (self.folder / "new" / "p" / f"{stem}.svg").read_text()
            xml.etree.ElementTree.fromstring(picture)
            for words in shown[stem.split("-")[0]]:
                self.holds(picture, f"<!-- {words} -->", stem)  # matplotlib writes a text before the outlines of its letters

    def test_what_a_committed_result_lacks_is_named_and_the_rest_drawn(self):
        done = self.good("plot.py", COMMITTED, "-o", self.folder, "--kind", "timeline,prediction,roofline", module="matplotlib")
        made = [f"timeline-merkle-leaves2p20-resident.{kind}" for kind in ("png", "svg")]
        self.assertEqual([Path(line).name for line in done.stdout.split()], made)
        self.assertEqual((self.folder / made[0]).read_bytes()[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual([line.split(":")[1] for line in done.stderr.splitlines()], [" no prediction", " no roofline"])

    def test_no_missing_field_is_in_the_way_of_the_others(self):
        done = self.good("plot.py", self.with_holes(), "-o", self.folder, "--format", "svg", module="matplotlib")
        self.assertIn("strategies-merkle-leaves100000-resident.svg", done.stdout)


class Refusals(Scripts):
    def refused(self, arguments, *words):
        for name in ("plot.py", "report_html.py") if "--" not in str(arguments) else ("plot.py",):
            done = self.run_script(name, *arguments, "-o", self.folder / "out")
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), f"{name} {arguments}: {done}")
            for word in words:
                self.assertIn(word, done.stderr)

    def test_bad_input_is_one_line_that_says_what(self):
        for text, words in (("", ("is not JSON",)), ("[1, 2]", ("is not a result file",)), ('{"schema": "mgpu-bench/trace"}', ("is not a result file",)),
                            ('{"schema": "mgpu-bench/result", "schema_version": 3}', ("version 3", "reads versions 1 and 2")),
                            ('{"schema": "mgpu-bench/result", "schema_version": 1, "runs": [3], "devices": []}', ('"runs"', "list of objects"))):
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
        document = {**json.loads(GOLDEN.read_text()), "runs": []}
        (self.folder / "none.json").write_text(json.dumps(document))
        self.good("report_html.py", self.folder / "none.json", "-o", self.folder / "none.html", module="plotly")
        self.holds((self.folder / "none.html").read_text(), "The file holds no case.")
        done = self.run_script("plot.py", self.folder / "none.json", "-o", self.folder, python=self.python("matplotlib"))
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1][:26]), (2, "plot.py: nothing to draw: "))


class Page(Scripts):
    def page(self, result):
        out = self.folder / f"{result.stem}.html"
        self.good("report_html.py", result, "-o", out, module="plotly")
        return out

    def test_the_page_of_the_golden_file_holds_its_words_and_rows(self):
        page = self.page(GOLDEN).read_text()
        self.holds(page, "dynamic:chunks=16 on 2 devices is fastest with 810 us, 1.23 times as fast as the best device alone (0:0, 1.00 ms) and 80 % "
                   "faster than equal shares. What holds it back most: the merge; if it were free it would take 766 us (5 % less).")
        self.holds(page, "failed: the root differs from the reference")
        self.holds(page, "clock 1755 to 1980 MHz, power 120 to 700 W, clocks held down: power cap")
        self.holds(page, "not looked at: there is no NVML")
        self.holds(page, "cores in use 25 to 50 %")
        self.holds(page, "<h2>What went wrong</h2>")
        self.holds(page, "dynamic:chunks=64 (2 of 3 devices)</b>: device 0:1 hung in sample 3 (did not answer for 0.2 ms), which was found after 200 us; "
                   "1,250 of the 1,250 items lost with it were computed again by the others, which took 480 us; this sample is not part of the "
                   "figures. Efficiency was 96.0 % before and is 100.0 % with the devices that were left.</li>")
        self.holds(page, "<li>device 0:2 failed at set-up (clCreateContext: CL_DEVICE_NOT_AVAILABLE).</li>")
        self.holds(page, '"number" data-key="2">2 of 3</td>')
        self.holds(page, '"faults":1')
        self.assertEqual(page.count("<tr"), 1 + 7)
        self.assertEqual(re.findall(r'(?:src|href)="(.*?)"', page), ["data:,"])

    def test_it_works_in_a_browser_at_two_widths_without_a_complaint_or_a_connection(self):
        if browser.CHROMIUM is None:
            self.skipTest("no Chromium here (package chromium)")
        golden, holes = self.page(GOLDEN), self.page(self.with_holes())
        with browser.Browser() as chromium:
            for page, width in ((golden, 1280), (holes, 400)):
                chromium.open(page, width)
                chromium.wait_for("document.documentElement?.dataset.charts === 'drawn'")
                self.assertLessEqual(chromium.evaluate("document.documentElement.scrollWidth"), width)
                self.assertGreater(chromium.evaluate("document.querySelectorAll('#timeline .bars .point').length"), 4)
                chromium.evaluate("document.querySelectorAll('th button')[3].click()")
                keys = chromium.evaluate("[...document.querySelectorAll('tbody tr')].map((row) => row.children[3].dataset.key)")
                numbers = [float(key) for key in keys if key]
                self.assertEqual(numbers, sorted(numbers))
                self.assertEqual(keys, [key for key in keys if key] + [""] * keys.count(""))
                if page is golden:
                    self.assertEqual((numbers[0], numbers[-1], keys.count("")), (810000, 1460000, 2))
                chromium.evaluate("document.querySelectorAll('.pick')[1].click()")
                reach = "(() => { const [a, b] = document.getElementById('timeline')._fullLayout.xaxis.range; return b - a; })()"
                before = chromium.evaluate(reach)
                chromium.evaluate("document.querySelector('[data-zoom=in]').click()")
                self.assertAlmostEqual(chromium.evaluate(reach), before / 2, 6)
            self.assertEqual(chromium.complaints, [])
            self.assertEqual([url for url in chromium.requests if not url.startswith(("file:", "data:", "blob:"))], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
