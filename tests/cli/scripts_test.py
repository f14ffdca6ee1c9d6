#!/usr/bin/env python3
"""Tests of scripts: the response of result readers to bad files (one line on standard error and
exit 2, never a traceback), bench.sh, campaign.sh and, in the thorough tier, their measurements.
Usage: scripts_test.py BINARY [unittest arguments]."""

import contextlib
import copy
import gzip
import io
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import binary
from binary import ROOT, Case, environment, thorough

GOLDEN = ROOT / "tests/golden/report.json"
GOOD = ROOT / "results/xeon/merkle-two-cores.json.gz"  # recompute.py accepts its figures
sys.path.insert(0, str(ROOT / "scripts"))
import json_input  # noqa: E402
import plot  # noqa: E402
import recompute  # noqa: E402
import report_html  # noqa: E402

JUNK = (None, True, -1, 0, 0.5, 2**63, 10**40, 1e300, -1e300, "", "x", "\x1b[2J", [], [[]], {},
        {"a": {}}, ["x"], [None], "9" * 5000)


def places(tree, path=()):
    """Yields the paths of everything in the tree, with the first three elements of each list."""
    yield path
    inner = tree.items() if isinstance(tree,
                                       dict) else list(enumerate(tree))[:3] if isinstance(tree,
            list) else ()
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
        """Returns exit code, standard output and standard error of the script's main(); its
        exceptions reach the test. Starting Python would take longer."""
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
        """Returns the same from a script started as a user starts it."""
        done = subprocess.run([sys.executable, script.__file__, *map(str, arguments)],
                              capture_output=True, timeout=300)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def refused(self, arguments, *words, how=None):
        for script in (recompute, plot, report_html):
            output = [] if script is recompute else ["-o", self.folder / "out"]
            code, out, err = (how or self.called)(script, [*arguments, *output])
            self.assertEqual((code, out, len(err.splitlines())), (2, "", 1),
                             f"{script.__file__} {arguments}: {err}")
            for word in words:
                self.assertIn(word, err, script.__file__)
            self.assertEqual([c for c in err if ord(c) < 0x20 and c != "\n"], [])

    def test_whatever_is_wrong_with_a_file_is_one_line_that_names_it(self):
        whole = GOLDEN.read_text()
        bad = self.folder / "bad\x1b[2J.json"
        document = json.loads(whole)
        texts = {"": "is not JSON", whole[: len(whole) // 2]: "is not JSON",
                 "[1, 2]": "is not a result file", "null": "is not a result file",
                 '{"schema": "mgpu-bench/trace"}': "is not a result file",
                 "[" * 100_000: "nested too deep", "NaN": "NaN is not a number",
                 json.dumps({**document, "schema_version": 4}): "reads version 3",
                 json.dumps({**document, "runs": 7}): "list of objects",
                 json.dumps({**document,
                             "runs": [{**document["runs"][0], "per_device": 7}]}):
                             "runs[0].per_device: 7; expected: array",
                 json.dumps({**document,
                             "runs": [{**document["runs"][0], "samples_ns": ["x\x1b[2J"]}]}):
                             "samples_ns[0]"}
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
        for content, words in ((packed[:-40], "is a damaged gzip file"), (packed[:200],
                "is a damaged gzip file"),
                               (packed + b"{}", "is a damaged gzip file"), (b"", "is not JSON")):
            (self.folder / "bad.json.gz").write_bytes(content)
            self.refused([self.folder / "bad.json.gz"], "bad.json.gz", words)

    def test_a_compressed_file_is_read_as_the_file_it_was(self):
        whole = GOLDEN.read_bytes()
        for name, content in (("good.json.gz", gzip.compress(whole)), ("no name of gzip",
                gzip.compress(whole)), ("plain.json.gz", whole)):
            (self.folder / name).write_bytes(content)
            self.assertEqual(json_input.load(self.folder / name), json.loads(whole), name)

    def test_recompute_wants_every_field_and_figures_that_fit_together(self):
        document = json_input.load(GOOD)
        run = document["runs"][0]
        self.assertEqual(run["status"], "ok")
        for name, change, words in (("missing", lambda r: r.pop("metrics"),
                                     "runs[0].metrics: missing"),
                                    ("negative", lambda r: r["per_device"][0].update(items=-1),
                                     "runs[0].per_device[0].items"),
                                    ("index", lambda r: r.update(sample_index=10**6),
                                     "does not fit together (IndexError"),
                                    ("columns",
                                     lambda r: r["timeline"]["columns"].update(
                commands=["device"]), "does not fit together (KeyError")):
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
        """Checks that the work succeeds or is refused, without another exception."""
        err = io.StringIO()
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
            try:
                work()
                return False
            except SystemExit as end:
                self.assertEqual((end.code, len(err.getvalue().splitlines())), (2, 1),
                                 err.getvalue())
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
            source = report_html.Source.of(str(file))
            json_input.guarded([file], lambda: report_html.page([source], file.name,
                                                                [("", report_html.is_shown)]))

        argv, sys.argv = sys.argv, ["recompute.py", str(file)]
        self.addCleanup(setattr, sys, "argv", argv)
        for path, how in changes:
            with self.subTest(path=path):
                file.write_text(json.dumps(changed(document, path, how)))
                refusals[0] += self.no_traceback(recompute.main)
                refusals[1] += self.no_traceback(page)
        self.assertGreater(refusals[0], 100)
        self.assertGreater(refusals[1], 50)


class Building(unittest.TestCase):
    def test_how_far_the_build_is_takes_ten_lines_and_everything_else_is_shown(self):
        script = ROOT / "scripts" / "bench.sh"
        lines = [f"[{k}/87] Building CXX object {k}.o" for k in range(1, 88)]
        lines[40:40] = ["FAILED: 41.o", "error: no"]
        done = subprocess.run(["bash", "-c",
                               f"eval \"$(sed -n "
                               f"'/^progress()/,/^}}/p' {shlex.quote(str(script))})\"; progress"],
                              input="\n".join(lines) + "\n", capture_output=True, text=True)
        shown = done.stdout.splitlines()
        self.assertEqual(len(shown), 12, done)
        self.assertEqual([line for line in shown if "building" not in line], ["FAILED: 41.o",
                "error: no"])
        self.assertEqual((shown[0], shown[-1]), ("building: 9 of 87", "building: 87 of 87"))


class Bench(unittest.TestCase):
    """Tests of scripts/bench.sh with programs in place of setup.sh, cmake and mgpu-bench that print
    their arguments."""
    def called(self, *arguments):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        def program(file, text):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("#!/bin/sh\n" + text)
            file.chmod(0o755)
        program(root / "scripts" / "setup.sh", "echo setup\n")
        program(root / "bin" / "cmake", ":\n")
        program(root / "build" / "release" / "mgpu-bench",
                'echo "$* result=$(basename "$MGPU_BENCH_RESULT")"\n')
        script = root / "scripts" / "bench.sh"
        shutil.copy(ROOT / "scripts" / "bench.sh", script)
        env = {k: v for k, v in os.environ.items() if not k.startswith("MGPU_BENCH_")}
        done = subprocess.run([script, *arguments],
                              env={**env, "PATH": f"{root / 'bin'}:{os.environ['PATH']}"},
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [line.replace(f"{root}/", "") for line in done.stdout.splitlines()]
        if not arguments:  # the output ends with what to do next
            self.assertIn("build/release/mgpu-bench (--help)", lines[-2])
            self.assertIn("report_html.py mgpu-bench-result.json", lines[-1])
            lines = lines[:-3]
        return lines

    def test_it_runs_the_overview_unless_it_is_told_what_to_run(self):
        said = "result=mgpu-bench-result.json"
        self.assertEqual(self.called(), ["setup", f"devices {said}", f"run {said}"])
        self.assertEqual(self.called("merkle", "--size", "4"), ["setup", f"devices {said}",
                f"run merkle --size 4 {said}"])


class Campaign(Case):
    SCRIPT = ROOT / "scripts" / "campaign.sh"

    def campaign(self, *words, **env):
        return subprocess.run([self.SCRIPT, "--program", binary.BINARY, *map(str, words)],
                              env=environment(env), capture_output=True, text=True,
                              timeout=240, check=False)

    def wrong(self, done):
        """Returns what it says on standard error, but that plotly is missing."""
        return [line for line in done.stderr.splitlines() if "no charts: plotly" not in line]

    @thorough
    def test_one_that_is_interrupted_goes_on_where_it_was_and_ends_in_a_page(self):
        folder = self.folder / "campaign"
        words = ("--devices", "cpu", "--sub-devices", 2, "--counts", "1,2", "--quick", "--suites",
                 "merkle", "--parts", "headline,slow", folder)
        begun = self.campaign(*words, "--limit", "2s", MGPU_BENCH_SIZE="2^17")
        self.assertEqual((begun.returncode, self.wrong(begun)), (4, []), begun.stdout)
        self.assertIn("2s limit reached; results so far are saved, run again to continue",
                      begun.stdout)
        self.assertEqual((folder / "parts.txt").read_text(), "headline-merkle\nslow-merkle\n")
        file = folder / "headline-merkle.json.gz"
        kept = json.loads(gzip.open(file).read()) if file.exists() else None
        again = self.campaign(*words, MGPU_BENCH_SIZE="2^17")
        self.assertEqual((again.returncode, self.wrong(again)), (0, []), again.stdout)
        whole = json.loads(gzip.open(file).read())
        self.assertTrue(whole["complete"])
        for at, run in enumerate(kept["runs"] if kept is not None else []):
            self.assertEqual(whole["runs"][at]["samples_ns"][:len(run["samples_ns"])],
                             run["samples_ns"])
        self.assertEqual({(run["strategy"], len(run["devices"])) for run in whole["runs"]},
                         {(s, n) for s in ("equal", "auto") for n in (1, 2)})
        page = (folder / "page.html").read_text()
        for told in ("Headline cases", "one device slowed down", "Commands",
                     "Every case passed verification"):
            self.assertTrue(told in page, told)  # assertIn would print all of the page
        self.assertFalse("not finished" in page)
        size = file.stat().st_mtime_ns
        third = self.campaign(*words, MGPU_BENCH_SIZE="2^17")
        self.assertEqual((third.returncode, file.stat().st_mtime_ns), (0, size))

    def test_one_without_headline_cases_is_complete_as_well(self):
        folder = self.folder / "campaign"
        folder.mkdir()
        self.good("run", "merkle", *binary.defaults([]), *binary.DEVICES, "-n", 1, "--warmup", 0,
                  "-o", folder / "strategies-merkle.json.gz")
        done = self.campaign("--devices", "cpu", "--suites", "merkle", "--parts", "strategies",
                             folder)
        self.assertEqual((done.returncode, self.wrong(done)), (0, []), done.stdout)
        self.assertIn("complete", done.stdout)

    def test_bad_words_are_one_line_with_what_is_accepted(self):
        for words, named in (([], "DIR"), (["a", "b"], '"b"'), (["--limit", "soon", "a"],
                '"soon"'), (["--parts", "all", "a"], "headline"),
                             (["--suites", "merkel", "a"], "merkle"), (["--fast", "a"],
                "--fast"), (["--limit"], "missing"),
                             (["--program", "/none", "a"], '"/none"')):
            with self.subTest(words=words):
                done = subprocess.run([self.SCRIPT, "--program", binary.BINARY, "--devices", "cpu",
                                       *words], env=environment(), cwd=self.folder,
                                      capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1),
                                 done.stderr)
                self.assertIn(named, done.stderr)


UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
FEW = "merkle-100000|dgemm-8192|sgemm-2048-2"


def ns_of(text):
    value, unit = re.match(r"([\d.]+) (\w+)", text).groups()
    return float(value) * UNITS[unit]


@thorough
class Soak(Case):
    """soak.py counts the cases that fail, and nothing else."""

    def soak(self, cases, **variables):
        file = self.folder / "soak.json"
        done = subprocess.run([ROOT / "scripts/experiments/soak.py", binary.BINARY, "--cases", str(cases), "-o", file,
                               "-d", "cpu", "--sub-devices", "2", "--no-telemetry"],
                              env=environment(variables), capture_output=True, text=True)
        return done.returncode, json.loads(file.read_text()), done.stdout + done.stderr

    def test_short_cases_succeed(self):
        code, found, text = self.soak(300 if binary.THOROUGH else 20)
        self.assertEqual((code, found["successes"], found["failures"]), (0, found["attempts"], []), text)

    def test_wrong_results_and_crashes_are_failures(self):
        layer = os.environ["MGPU_FAULT_LAYER"]
        for script in ("call=download do=flip", "call=bad"):  # the second ends every process
            code, found, text = self.soak(20, OPENCL_LAYERS=layer, MGPU_FAULT_SCRIPT=script)
            self.assertEqual(code, 1, text)
            self.assertGreater(len(found["failures"]), 0, text)
            self.assertEqual(found["successes"] + len(found["failures"]), found["attempts"], text)


class Limits(Case):
    """Tests of scripts/limits_table.py: every number of its table comes from one of the files that
    it names."""

    def command(self, *more):
        devices = ["--devices", binary.DEVICES[1],
                   *binary.DEVICES[2:]] if binary.DEVICES else ["--devices", "all"]
        return [sys.executable, ROOT / "scripts/limits_table.py", binary.BINARY, "--out",
                self.folder, "--quick", "--only", FEW, *devices, *more]

    def table(self):
        rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line
                in (self.folder / "limits.md").read_text().splitlines()
                if line.startswith("|")]
        return {row[0]: dict(zip(rows[0], row)) for row in rows[2:]}

    def near(self, text, ns):
        self.assertLess(abs(ns_of(text) / ns - 1), 0.01, text)

    def test_each_number_is_that_of_a_file(self):
        done = subprocess.run(self.command(), env=environment(), capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        table = self.table()
        self.assertEqual(list(table), ["merkle, 1000 leaves", "DGEMM 64", "SGEMM 128 on two"])
        for what, name, strategy in (("merkle, 1000 leaves", "merkle-100000",
                                      "single"), ("DGEMM 64", "dgemm-8192", "single"),
                                     ("SGEMM 128 on two", "sgemm-2048-2", "equal")):
            row, file = table[what], self.folder / f"{name}.json.gz"
            if binary.DEVICE_COUNT < 2 and name.endswith("-2"):
                self.assertIn("not measured: there is 1 device", row["now"])
                continue
            run = next(run for run in json.loads(gzip.decompress(file.read_bytes()))["runs"] if
                       run["strategy"] == strategy)
            self.near(row["now"], run["time_ns"]["median"])
            if name.endswith("-2"):
                self.assertTrue(row["now"].endswith(f"{run['metrics']['speedup']:.2f} x one"), row)
            fraction = run["metrics"]["roofline_fraction"]
            if fraction:
                self.near(row["limit"], run["time_ns"]["median"] * fraction)
                self.assertIn("measured", row["limit"])
            else:
                self.assertEqual((row["limit"], row["of the limit"]), ("-", "-"))
            peer = self.folder / f"{name}.peer.json"
            if peer.exists():
                program, seconds = json.loads(peer.read_text())
                self.near(row["peer"].removeprefix(f"{program}: "), seconds * 1e9)
                self.assertEqual(row["times the peer"],
                                 f"{seconds * 1e9 / run['time_ns']['median']:.2f}")
            else:
                self.assertEqual(row["times the peer"], "-")
        measured = {file.name: file.read_bytes() for file in self.folder.glob("*.json.gz")}
        again = subprocess.run(self.command(), env=environment(), capture_output=True, text=True,
                               timeout=300)
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        self.assertEqual({file.name: file.read_bytes() for file in self.folder.glob("*.json.gz")},
                         measured, "what is there is kept")

    def test_what_is_finished_is_kept_when_it_is_interrupted_and_no_time_is_said(self):
        started = subprocess.Popen(self.command(), env=environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        started.stdout.readline()  # a line is finished
        started.send_signal(signal.SIGTERM)
        started.communicate(timeout=120)
        self.assertEqual(started.returncode, 130)
        self.assertNotIn("not measured", self.table()["merkle, 1000 leaves"]["now"])
        done = subprocess.run(self.command("--budget", "0"), env=environment(),
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        table = self.table()
        self.assertNotIn("not measured", table["merkle, 1000 leaves"]["now"])
        self.assertEqual(table["DGEMM 64"]["now"], "not measured: no time was left")


if __name__ == "__main__":
    binary.main()
