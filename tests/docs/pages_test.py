#!/usr/bin/env python3
"""Tests of every *.md of the source tree: lines of at most 120 columns (except rows of tables in
results/ and program output between "begin" and "end" comments), README.md of at most 150 lines, and
links, headings and files that exist. It also searches all files for words that the project replaced
by terms of the field. Needs no program.

Usage: pages_test.py [PROGRAM] [unittest arguments]; the program is ignored."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
COLUMNS, README_LINES = 120, 150
FOLDERS = ("app", "cmake", "kernels", "lib", "results", "scripts", "suites", "tests")


def files(*patterns):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=SOURCE,
                            capture_output=True, text=True).stdout.split()
    return sorted(listed or (str(p.relative_to(SOURCE)) for pattern in patterns or ("*",)
                             for p in SOURCE.rglob(pattern)
                             if p.is_file() and "build" not in p.relative_to(SOURCE).parts))


def long_lines(name, text):
    found, generated = [], False
    for number, line in enumerate(text.splitlines(), 1):
        generated = line.startswith("<!-- begin") or (generated and not line.startswith("<!-- end"))
        if len(line) > COLUMNS and not generated and not (name.startswith("results/") and
                line.startswith("|")):
            found.append(f"{name}:{number}: {len(line)} columns")
    return found


def anchors(text):
    """Returns the anchors of the headings, as GitHub makes them."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return [re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", h).lower()).replace(" ", "-") for h
            in re.findall(r"^#+ (.*)$", prose, re.M)]


def bad_links(name, text):
    found = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (SOURCE / name).parent / path if path else SOURCE / name
        if not file.exists():
            found.append(f"{name}: {target} is not there")
        elif anchor and (not file.is_file() or anchor not
                         in anchors(file.read_text(encoding="utf-8"))):
            found.append(f"{name}: {path or name} has no heading {anchor}")
    return found


def missing_files(name, text):
    """Returns missing files that are named in code, relative to the root or to the page's folder; *
    matches anything, and NAME and mine are names for the reader to replace."""
    found = []
    prose = re.sub(r"^```(?!text).*?^```", "", text, flags=re.S | re.M)
    for path in re.findall(
            r"(?<![\w/.$-])((?:[\w*.-]+/)*[\w*.-]+\.(?:cpp|hpp|cl|py|sh|txt|json|in))(?![\w/])",
            prose):
        if re.search(r"\bNAME|\bmine\b", path):
            continue
        if path.split("/")[0] in FOLDERS:
            places = [SOURCE]
        elif "/" in path or path.endswith((".cpp", ".hpp", ".cl")):
            places = [(SOURCE / name).parent, SOURCE / "app", *(SOURCE / "lib").iterdir(),
                      SOURCE / "suites"]
        else:
            continue
        if not any(next(place.glob(path), None) or next(place.glob("*/" + path), None) for place
                   in places if place.is_dir()):
            found.append(f"{name}: there is no file {path}")
    return found


class Pages(unittest.TestCase):
    def setUp(self):
        self.texts = {name: (SOURCE / name).read_text(encoding="utf-8") for name in files("*.md")}
        self.assertGreater(len(self.texts), 10)

    def each(self, check, wanted=lambda name: True):
        found = [line for name,
                 text in self.texts.items() if wanted(name) for line in check(name, text)]
        self.assertEqual(found, [], "\n".join(found))

    def test_lines_fit(self):
        self.each(long_lines)

    def test_readme_is_short(self):
        self.assertLessEqual(len(self.texts["README.md"].splitlines()), README_LINES)

    def test_links_lead_somewhere(self):
        self.each(bad_links)

    def test_named_files_are_there(self):
        self.each(missing_files, lambda name: not name.startswith("results/"))

    def test_every_layer_and_folder_is_on_the_map(self):
        text = self.texts["lib/README.md"]
        folders = [p.name for p in (SOURCE / "lib").iterdir() if p.is_dir()]
        folders += [p.name for p in (SOURCE / "tests").iterdir() if p.is_dir() and p.name not
                    in ("data", "support", "__pycache__")]
        for folder in [*folders, *FOLDERS]:
            self.assertIn(folder + "/", text)

    def test_what_is_wrong_is_seen(self):
        self.assertEqual(len(long_lines("a.md", "x" * 121 + "\n|" + "x" * 121)), 2)
        self.assertEqual(len(long_lines("results/a.md", "x" * 121 + "\n|" + "x" * 121)), 1)
        self.assertEqual(len(long_lines("a.md",
                                        "<!-- begin: x -->\n" + "x" * 121 + "\n<!-- end -->\n" +
                                        "x" * 121)), 1)
        self.assertEqual(len(bad_links("README.md",
                                       "[a](missing.md) [b](README.md#no-such) "
                                       "[c](lib/README.md#the-map) [d](#none)")), 3)
        self.assertEqual(len(missing_files("README.md",
                                           "`lib/exec/missing.cpp`, `lib/exec/worker.cpp`, "
                                           "`scripts/missing.py`")), 2)


# Replaced words, their replacement, and texts that every use contains: searching for a text takes a
# hundredth of the time of a regular expression. Measured results, files of earlier versions and
# their readers keep the names of their time.
GIVEN_UP = (
    (r"\bcrumbs?\b", "remainder", ("crumb",)),
    (r"\bs_max\b", "ideal_speedup", ("s_max",)),
    (r"\bceiling_share\b", "roofline_fraction", ("ceiling_share",)),
    (r"\bbells?\b|\bwakefulness\b", "notifier, idle tracker", ("bell", "wakefulness")),
    (r"\b(?<!take )(?<!takes )in turns\b|\bin_turns\b", "interleaved", ("in turns", "in_turns")),
    (r"\busual (?:problem|work|rate|size)s?\b", "reference size", ("usual ",)),
    (r"\bways? (?:to compute|of computing)\b|\bKeptWay\b", "kernel variant",
     (" to compute", " of computing", "KeptWay")),
    (r"\bkept (?:figures?|calibrations?|rates?)\b", "cached", ("kept ",)),
    (r"\b(?:crowd|spared|least|merge_further)_ns\b",
     "per_peer_contention_ns, first_slice_discount_ns, minimum_slice_ns",
     ("crowd_ns", "spared_ns", "least_ns", "merge_further_ns")),
    (r"\bhow manieth\b", "index", ("manieth",)),
    (r"\bis no (?:switch|number)\b", "is not a boolean, is not a number", ("is no ",)),
    (r"[Ss]ee the header", "what is here, in one line, or nothing", ("ee the header",)),
)
# Further words, for the product and its pages only.
GIVEN_UP_IN_PRODUCT = (
    (r"\b[Aa]new\b", "again", ("new",)),
    (r"\btold apart\b", "distinguishable; a tie", ("told apart",)),
    (r"\b[Ll]ikewise\b", "what it is like, by its name", ("ikewise",)),
    (r"\b[Ww]hoever\b", "the thread, device or caller, by its name", ("hoever",)),
    (r"\bgo(?:es)? in rounds\b", "iterative", ("in rounds",)),
    (r"\baccepted: ", "expected: ", ("accepted: ",)),
    (r"\b(?:devices|nodes|work) that need not exist\b", "hypothetical", ("need not exist",)),
    (r"\blie up to\b|\blay \d+ % apart\b", "differ by up to", ("lie up to", "apart")),
    (r"\bmoved? borders\b|\bborders (?:that )?moved\b", "rebalance", ("borders",)),
    (r"\bpays? (?:at|from|off)\b", "is faster from", (" pay",)),
    (r"\bset aside\b", "discarded", ("set aside",)),
    (r"\bdoes not tell\b", "does not report", ("does not tell",)),
    (r"\bso many (?:rounds|samples|were|figures)\b", "N of them", ("so many",)),
    (r"\bfrom which size on\b", "the size from which", ("size on",)),
)
PRODUCT = ("README.md", "app/", "lib/", "suites/", "kernels/")
OF_THEIR_TIME = ("results/", "tests/data/", "tests/fuzz/corpus/", "tests/docs/pages_test.py")


def given_up(name, text):
    listed = GIVEN_UP + (GIVEN_UP_IN_PRODUCT if name.startswith(PRODUCT) else ())
    used = [(words, instead) for words, instead, has in listed if any(one in text for one in has)]
    return [f"{name}:{number}: {found.group()} is now: {instead}"
            for words, instead in used for number, line in enumerate(text.splitlines(), 1)
            for found in re.finditer(words, line) if "there is no number" not in line]


class Words(unittest.TestCase):
    def test_none_came_back(self):
        found = []
        for name in files():
            if not name.startswith(OF_THEIR_TIME) and not name.endswith((".svg", ".png", ".gz")):
                if (SOURCE / name).is_file():
                    text = (SOURCE / name).read_text(encoding="utf-8", errors="replace")
                    found += given_up(name, text)
        self.assertEqual(found, [], "\n".join(found))

    def test_what_is_wrong_is_seen(self):
        for line in ("a crumb more", "metrics.s_max", "the bell rings", "run in turns",
                     "of the usual problem", "ways to compute", "kept figures", "spared_ns",
                     "the how manieth", "5 is no number", "// See the header."):
            self.assertEqual(len(given_up("x", line)), 1, line)
        for line in ("measured anew", "not told apart", "Likewise.", "whoever asks",
                     "it goes in rounds", "accepted: 1, 2", "devices that need not exist",
                     "medians lie up to 2 % apart", "borders moved", "2 devices pay at no size",
                     "samples set aside", "what a device does not tell", "after so many rounds",
                     "from which size on"):
            self.assertEqual(len(given_up("lib/x.cpp", line)), 1, line)
            self.assertEqual(given_up("tests/x.cpp", line), [], line)
        for line in ("devices take in turns", "a remainder", "is not a number",
                     "there is no number 5", "the usual median"):
            self.assertEqual(given_up("x", line), [], line)


if __name__ == "__main__":
    if len(sys.argv) > 1 and Path(sys.argv[1]).is_file():
        del sys.argv[1]
    unittest.main(verbosity=2)
