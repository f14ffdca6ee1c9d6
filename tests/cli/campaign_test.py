#!/usr/bin/env python3
"""scripts/campaign.sh: interrupted, resumed, complete, and the page it ends in. Usage: campaign_test.py BINARY [unittest arguments]."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import binary
from binary import Case, environment

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "campaign.sh"


class Campaign(Case):
    def campaign(self, *words, **env):
        return subprocess.run([SCRIPT, "--program", binary.BINARY, *map(str, words)], env=environment(env), capture_output=True, text=True,
                              timeout=240, check=False)

    def page_without_matplotlib(self, folder):
        """What the page then says in the place of its pictures is what plot.py says."""
        path, page = self.folder / "path", self.folder / "page.html"
        path.mkdir()
        (path / "matplotlib.py").write_text("raise ImportError('not here')\n")
        subprocess.run([sys.executable, SCRIPT.parent / "campaign_page.py", folder, "-o", page], env=environment({"PYTHONPATH": str(path)}),
                       capture_output=True, timeout=60, check=True)
        return page.read_text()

    def test_one_that_is_interrupted_goes_on_where_it_was_and_ends_in_a_page(self):
        folder = self.folder / "campaign"
        words = ("--devices", "cpu", "--sub-devices", 2, "--counts", "1,2", "--quick", "--suites", "merkle", "--parts", "headline,slow", folder)
        begun = self.campaign(*words, "--limit", "2s", MGPU_BENCH_SIZE="2^17")
        self.assertEqual((begun.returncode, begun.stderr), (4, ""), begun.stdout)
        self.assertIn("call again", begun.stdout)
        self.assertFalse((folder / "page.html").exists())
        file = folder / "headline-merkle.json.gz"
        kept = json.loads(gzip.open(file).read()) if file.exists() else None
        again = self.campaign(*words, MGPU_BENCH_SIZE="2^17")
        self.assertEqual((again.returncode, again.stderr), (0, ""), again.stdout)
        whole = json.loads(gzip.open(file).read())
        self.assertTrue(whole["complete"])
        for at, run in enumerate(kept["runs"] if kept is not None else []):
            self.assertEqual(whole["runs"][at]["samples_ns"][:len(run["samples_ns"])], run["samples_ns"])
        self.assertEqual({(run["strategy"], len(run["devices"])) for run in whole["runs"]}, {(s, n) for s in ("equal", "auto") for n in (1, 2)})
        page = (folder / "page.html").read_text()
        for told in ("leaves=2^17, equal", "One device slowed down", "efficiency", "Commands"):
            self.assertIn(told, page)
        self.assertEqual(page.count("<td>passed</td>"), 4)
        self.assertIn("<p>Not drawn:</p><ul><li>headline-merkle.json.gz: plot.py: matplotlib is missing (not here)", self.page_without_matplotlib(folder))
        size = file.stat().st_mtime_ns
        third = self.campaign(*words, MGPU_BENCH_SIZE="2^17")
        self.assertEqual((third.returncode, file.stat().st_mtime_ns), (0, size))

    def test_bad_words_are_one_line_with_what_is_accepted(self):
        for words, named in (([], "DIR"), (["a", "b"], '"b"'), (["--limit", "soon", "a"], '"soon"'), (["--parts", "all", "a"], "headline"),
                             (["--suites", "merkel", "a"], "merkle"), (["--fast", "a"], "--fast"), (["--limit"], "missing"),
                             (["--program", "/none", "a"], '"/none"')):
            with self.subTest(words=words):
                done = subprocess.run([SCRIPT, "--program", binary.BINARY, "--devices", "cpu", *words], env=environment(), cwd=self.folder,
                                      capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
                self.assertIn(named, done.stderr)


if __name__ == "__main__":
    binary.main()
