#!/usr/bin/env python3
"""What the scripts do with bad files: one line on standard error and exit 2, never a traceback. Usage: bad_files_test.py [unittest arguments]."""

import contextlib
import copy
import gzip
import io
import json
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/report.json"
GOOD = ROOT / "results/xeon/merkle-two-cores.json.gz"  # of real figures, which recompute.py finds right
sys.path.insert(0, str(ROOT / "scripts"))
import json_input  # noqa: E402
import plot  # noqa: E402
import recompute  # noqa: E402
import report_html  # noqa: E402
import result_file  # noqa: E402

JUNK = (None, True, -1, 0, 0.5, 2**63, 10**40, 1e300, -1e300, "", "x", "\x1b[2J", [], [[]], {}, {"a": {}}, ["x"], [None], "9" * 5000)


def places(tree, path=()):
    """Of everything in it, a few of each list."""
    yield path
    inner = tree.items() if isinstance(tree, dict) else list(enumerate(tree))[:3] if isinstance(tree, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


def changed(tree, path, how):
    tree = copy.deepcopy(tree)
    at = tree
    for key in path[:-1]:
        at = at[key]
    how(at, path[-1])
    return tree


class BadFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def called(self, script, arguments):
        """Exit code, standard output and standard error of its main(); whatever it raises is the test's. Starting python takes longer."""
        out, err, argv = io.StringIO(), io.StringIO(), sys.argv
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(out):
            try:
                sys.argv = [script.__file__, *map(str, arguments)]
                code = script.main()
            except SystemExit as end:
                code = end.code
            finally:
                sys.argv = argv
        return code, out.getvalue(), err.getvalue()

    def started(self, script, arguments):
        """The same as a user does it."""
        done = subprocess.run([sys.executable, script.__file__, *map(str, arguments)], capture_output=True, timeout=300)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def refused(self, arguments, *words, how=None):
        for script in (recompute, plot, report_html):
            output = [] if script is recompute else ["-o", self.folder / "out"]
            code, out, err = (how or self.called)(script, [*arguments, *output])
            self.assertEqual((code, out, len(err.splitlines())), (2, "", 1), f"{script.__file__} {arguments}: {err}")
            for word in words:
                self.assertIn(word, err, script.__file__)
            self.assertEqual([c for c in err if ord(c) < 0x20 and c != "\n"], [])

    def test_whatever_is_wrong_with_a_file_is_one_line_that_names_it(self):
        whole = GOLDEN.read_text()
        bad = self.folder / "bad\x1b[2J.json"
        document = json.loads(whole)
        texts = {"": "is not JSON", whole[: len(whole) // 2]: "is not JSON", "[1, 2]": "is not a result file", "null": "is not a result file",
                 '{"schema": "mgpu-bench/trace"}': "is not a result file", "[" * 100_000: "nested too deep", "NaN": "NaN is not a number",
                 json.dumps({**document, "schema_version": 3}): "reads versions 1 and 2", json.dumps({**document, "runs": 7}): "list of objects",
                 json.dumps({**document, "runs": [{**document["runs"][0], "per_device": 7}]}): "runs[0].per_device: 7 is not accepted: array",
                 json.dumps({**document, "runs": [{**document["runs"][0], "samples_ns": ["x\x1b[2J"]}]}): "samples_ns[0]"}
        for text, words in texts.items():
            with self.subTest(text=text[:60]):
                bad.write_text(text)
                self.refused([bad], "bad\\x1b[2J.json", words)
        bad.write_bytes(whole.encode("utf-16"))
        for how in (self.called, self.started):
            self.refused([bad], "bad\\x1b[2J.json", "not UTF-8", how=how)
        self.refused([self.folder], str(self.folder), "cannot be read")
        self.refused([self.folder / "none.json"], "none.json", "cannot be read")
        packed = gzip.compress(whole.encode())
        for content, words in ((packed[:-40], "is a damaged gzip file"), (packed[:200], "is a damaged gzip file"),
                               (packed + b"{}", "is a damaged gzip file"), (b"", "is not JSON")):
            (self.folder / "bad.json.gz").write_bytes(content)
            self.refused([self.folder / "bad.json.gz"], "bad.json.gz", words)

    def test_a_compressed_file_is_read_as_the_file_it_was(self):
        whole = GOLDEN.read_bytes()
        for name, content in (("good.json.gz", gzip.compress(whole)), ("no name of gzip", gzip.compress(whole)), ("plain.json.gz", whole)):
            (self.folder / name).write_bytes(content)
            self.assertEqual(json_input.load(self.folder / name), json.loads(whole), name)

    def test_recompute_wants_every_field_and_figures_that_fit_together(self):
        document = json_input.load(GOOD)
        run = document["runs"][0]
        self.assertEqual(run["status"], "ok")
        for name, change, words in (("missing", lambda r: r.pop("metrics"), "runs[0].metrics: missing"),
                                    ("negative", lambda r: r["per_device"][0].update(items=-1), "runs[0].per_device[0].items"),
                                    ("index", lambda r: r.update(sample_index=10**6), "does not fit together (IndexError"),
                                    ("columns", lambda r: r["timeline"]["columns"].update(commands=["device"]), "does not fit together (KeyError")):
            with self.subTest(name=name):
                bad = copy.deepcopy(document)
                change(bad["runs"][0])
                file = self.folder / "bad.json"
                file.write_text(json.dumps(bad))
                code, out, err = self.called(recompute, [file])
                self.assertEqual((code, out, len(err.splitlines())), (2, "", 1), err)
                self.assertIn(words, err)
        for text in ("", "7", '{"traceEvents": [7]}', '[{"ph": "X"}]'):
            trace = self.folder / "t.json"
            trace.write_text(text)
            code, out, err = self.called(recompute, [GOOD, "--trace", trace])
            self.assertEqual((code, out, len(err.splitlines())), (2, "", 1), err)
            self.assertIn("t.json", err)

    def no_traceback(self, work):
        """Ends by itself, or is refused."""
        err = io.StringIO()
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
            try:
                work()
                return False
            except SystemExit as end:
                self.assertEqual((end.code, len(err.getvalue().splitlines())), (2, 1), err.getvalue())
                return True

    def test_no_field_of_a_result_however_wrong_makes_a_traceback(self):
        document = json.loads(GOLDEN.read_text())
        paths = [path for path in places(document) if path]
        chance = random.Random(1)
        changes = [(path, lambda at, key: at.pop(key)) for path in chance.sample(paths, 60)]
        for path in chance.sample(paths, 240):
            junk = chance.choice(JUNK)
            changes.append((path, lambda at, key, junk=junk: at.__setitem__(key, junk)))
        file, refusals = self.folder / "changed.json", [0, 0]

        def page():
            read = result_file.read(str(file))
            json_input.guarded([file], lambda: report_html.page(str(file), read, ""))

        argv, sys.argv = sys.argv, ["recompute.py", str(file)]
        self.addCleanup(setattr, sys, "argv", argv)
        for path, how in changes:
            with self.subTest(path=path):
                file.write_text(json.dumps(changed(document, path, how)))
                refusals[0] += self.no_traceback(recompute.main)
                refusals[1] += self.no_traceback(page)
        self.assertGreater(refusals[0], 100)
        self.assertGreater(refusals[1], 50)


if __name__ == "__main__":
    unittest.main(verbosity=2)
