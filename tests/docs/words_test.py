#!/usr/bin/env python3
"""Words that the project has given up for terms of the field do not come back: in code, messages, documents and tests alike. Measured
results, files of earlier versions, and what reads these keep the names of their time. Needs no program.

Usage: words_test.py [unittest arguments]."""

import re
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent

# What was given up, and what is said instead.
GIVEN_UP = {
    r"\bcrumbs?\b": "remainder",
    r"\bs_max\b": "ideal_speedup",
    r"\bceiling_share\b": "roofline_fraction",
    r"\bbells?\b|\bwakefulness\b": "notifier, idle tracker",
    r"\b(?<!take )(?<!takes )in turns\b|\bin_turns\b": "interleaved",
    r"\busual (?:problem|work|rate|size)s?\b": "reference size",
    r"\bways? (?:to compute|of computing)\b|\bKeptWay\b": "kernel variant",
    r"\bkept (?:figures?|calibrations?|rates?)\b": "cached",
    r"\b(?:crowd|spared|least|merge_further)_ns\b": "per_peer_contention_ns, first_slice_discount_ns, minimum_slice_ns",
    r"\bhow manieth\b": "index",
    r"\bis no (?:switch|number)\b": "is not a boolean, is not a number",
    r"[Ss]ee the header": "what is here, in one line, or nothing",
}
OF_THEIR_TIME = ("results/", "tests/data/", "tests/fuzz/corpus/", "lib/report/older_versions.", "tests/unit/report/older_versions_test.cpp",
                 "scripts/json_input.py", "tests/docs/words_test.py")


def breaches(name, text):
    return [f"{name}:{number}: {found.group()} is now: {instead}" for number, line in enumerate(text.splitlines(), 1)
            for words, instead in GIVEN_UP.items() for found in re.finditer(words, line) if "there is no number" not in line]


def files():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=SOURCE, capture_output=True, text=True).stdout.split()
    names = listed or [str(p.relative_to(SOURCE)) for p in SOURCE.rglob("*") if p.is_file() and p.relative_to(SOURCE).parts[0] != "build"]
    return [name for name in names if not name.startswith(OF_THEIR_TIME) and Path(name).suffix not in (".svg", ".png", ".gz")]


class Words(unittest.TestCase):
    def test_none_came_back(self):
        found = [one for name in files() if (SOURCE / name).is_file()
                 for one in breaches(name, (SOURCE / name).read_text(encoding="utf-8", errors="replace"))]
        self.assertEqual(found, [], "\n".join(found))

    def test_what_is_wrong_is_seen(self):
        for line in ("a crumb more", "metrics.s_max", "the bell rings", "run in turns", "of the usual problem", "ways to compute", "kept figures",
                     "spared_ns", "the how manieth", "5 is no number", "// See the header."):
            self.assertEqual(len(breaches("x", line)), 1, line)
        for line in ("devices take in turns", "a remainder", "is not a number", "there is no number 5", "the usual median"):
            self.assertEqual(breaches("x", line), [], line)


if __name__ == "__main__":
    unittest.main(verbosity=2)
