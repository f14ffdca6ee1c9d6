#!/usr/bin/env python3
"""Every *.md of the source tree: lines of at most 120 columns (rows of tables in results/ and what programs wrote between "begin" and
"end" comments apart), README.md of at most 150 lines, and links, headings and files that are there. Files in `code` are looked for in
the pages that describe the code. Needs no program.

Usage: pages_test.py [unittest arguments]."""

import re
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
COLUMNS, README_LINES = 120, 150
FOLDERS = ("app", "cmake", "kernels", "lib", "results", "scripts", "suites", "tests")


def pages():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=SOURCE, capture_output=True, text=True)
    names = listed.stdout.split() if listed.returncode == 0 else []
    return sorted(names or (str(p.relative_to(SOURCE)) for p in SOURCE.rglob("*.md") if "build" not in p.relative_to(SOURCE).parts))


def long_lines(name, text):
    found, generated = [], False
    for number, line in enumerate(text.splitlines(), 1):
        generated = line.startswith("<!-- begin") or (generated and not line.startswith("<!-- end"))
        if len(line) > COLUMNS and not generated and not (name.startswith("results/") and line.startswith("|")):
            found.append(f"{name}:{number}: {len(line)} columns")
    return found


def anchors(text):
    """Of the headings, as GitHub makes them."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return [re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", h).lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", prose, re.M)]


def bad_links(name, text):
    found = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (SOURCE / name).parent / path if path else SOURCE / name
        if not file.exists():
            found.append(f"{name}: {target} is not there")
        elif anchor and (not file.is_file() or anchor not in anchors(file.read_text(encoding="utf-8"))):
            found.append(f"{name}: {path or name} has no heading {anchor}")
    return found


def missing_files(name, text):
    """Files named in code, from the root or from the folder of the page; * stands for anything, NAME and mine for what is to be added."""
    found = []
    prose = re.sub(r"^```(?!text).*?^```", "", text, flags=re.S | re.M)
    for path in re.findall(r"(?<![\w/.$-])((?:[\w*.-]+/)*[\w*.-]+\.(?:cpp|hpp|cl|py|sh|txt|json|in))(?![\w/])", prose):
        if re.search(r"\bNAME|\bmine\b", path):
            continue
        if path.split("/")[0] in FOLDERS:
            places = [SOURCE]
        elif "/" in path or path.endswith((".cpp", ".hpp", ".cl")):
            places = [(SOURCE / name).parent, SOURCE / "app", *(SOURCE / "lib").iterdir(), SOURCE / "suites"]
        else:
            continue
        if not any(next(place.glob(path), None) or next(place.glob("*/" + path), None) for place in places if place.is_dir()):
            found.append(f"{name}: there is no file {path}")
    return found


class Pages(unittest.TestCase):
    def setUp(self):
        self.texts = {name: (SOURCE / name).read_text(encoding="utf-8") for name in pages()}
        self.assertGreater(len(self.texts), 10)

    def each(self, check, wanted=lambda name: True):
        found = [line for name, text in self.texts.items() if wanted(name) for line in check(name, text)]
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
        folders += [p.name for p in (SOURCE / "tests").iterdir() if p.is_dir() and p.name not in ("data", "support", "__pycache__")]
        for folder in [*folders, *FOLDERS]:
            self.assertIn(folder + "/", text)

    def test_what_is_wrong_is_seen(self):
        self.assertEqual(len(long_lines("a.md", "x" * 121 + "\n|" + "x" * 121)), 2)
        self.assertEqual(len(long_lines("results/a.md", "x" * 121 + "\n|" + "x" * 121)), 1)
        self.assertEqual(len(long_lines("a.md", "<!-- begin: x -->\n" + "x" * 121 + "\n<!-- end -->\n" + "x" * 121)), 1)
        self.assertEqual(len(bad_links("README.md", "[a](missing.md) [b](README.md#no-such) [c](lib/README.md#the-map) [d](#none)")), 3)
        self.assertEqual(len(missing_files("README.md", "`lib/exec/missing.cpp`, `lib/exec/worker.cpp`, `scripts/missing.py`")), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
