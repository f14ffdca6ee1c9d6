#!/usr/bin/env python3
"""What the program does with files, and with the names in them: outputs that two runs want, that cannot be written, text that terminals obey,
input made to do harm. Usage: files_test.py BINARY [unittest arguments]."""

import copy
import gzip
import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import binary
from binary import Case, defaults, environment, mgpu

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/report.json"
SCENARIO = ROOT / "tests/data/node8.scenario.json"
NO_OPENCL = {"OCL_ICD_VENDORS": "/nonexistent"}
NASTY = "evil\x1b[2J\x1b]0;title\x07\u202e\x9b1m\nmgpu-bench: all passed"


def controls(text):
    """Characters in it that a terminal obeys, or that reorder what is read."""
    return [c for c in text if c != "\n" and (ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0 or c in "\u202e\u2066")]


class Outputs(Case):
    def test_of_two_runs_with_one_output_the_second_is_refused_at_its_start(self):
        file = self.folder / "r.json"
        words = [binary.BINARY, "run", "merkle", *binary.ONE_DEVICE, "-n", "1000000", "--time-limit", "2m", "-q", "-o", str(file), *defaults([])]
        first = subprocess.Popen(words, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            deadline = time.monotonic() + 60
            while not list(self.folder.glob(".mgpu-bench-*.lock")):
                self.assertIsNone(first.poll(), first.stderr.read() if first.poll() is not None else "")
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            for option in ("-o", "--trace", "--output"):
                self.refused(["run", "merkle", "--size", 4, option, file], 2, "r.json", "another run", str(first.pid))
            self.refused(["compare", GOLDEN, GOLDEN, "-o", file], 2, "r.json", "another run", env=NO_OPENCL)
        finally:
            time.sleep(1)
            first.send_signal(signal.SIGINT)
            first.communicate(timeout=120)
        self.assertEqual(first.returncode, 130)
        self.assertFalse(json.loads(file.read_text())["complete"])
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["r.json", "r.json.journal"])  # to go on with
        self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "-o", file, *defaults([]))

    def test_an_output_that_cannot_be_written_costs_the_exit_code_and_not_what_was_measured(self):
        if not Path("/dev/full").exists():
            self.skipTest("no /dev/full here")
        file = self.folder / "r.json"
        result = mgpu("run", "merkle", *binary.ONE_DEVICE, "-n", 2, "--output", "/dev/full", "-o", file, *defaults([]))
        self.assertEqual(result.code, 1, result)
        self.assertIn('--output: cannot write "/dev/full"', result.err)
        report = json.loads(file.read_text())
        self.assertTrue(report["complete"])
        self.assertEqual({(run["status"], run["verify"]["status"]) for run in report["runs"]}, {("ok", "passed")})
        self.assertIn("merkle", result.out)

    def test_what_a_killed_run_left_is_cleared_by_the_next(self):
        file = self.folder / "r.json"
        self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "-o", file, *defaults([]))
        hash_of_name = 14695981039346656037
        for byte in b"r.json":
            hash_of_name = (hash_of_name ^ byte) * 1099511628211 % 2**64
        left = [self.folder / f".mgpu-bench-{hash_of_name:016x}{end}" for end in ("-1-0.tmp", "-99999-3.tmp", ".lock")]
        for name in left:
            name.write_text("half of")
        other = self.folder / ".mgpu-bench-0123456789abcdef-1-0.tmp"
        other.write_text("of another file")
        self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "-o", file, *defaults([]))
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), sorted(["r.json", other.name]))


class Names(Case):
    def test_names_from_a_scenario_reach_the_terminal_escaped_and_the_file_as_they_are(self):
        scenario, out = self.folder / "s.json", self.folder / "r.json"
        scenario.write_text(json.dumps({"devices": [{"name": NASTY, "count": 2, "items_per_s": 1e9}], "work": {"name": NASTY, "items": 100_000}}))
        result = self.good("simulate", scenario, "-s", "equal", "-n", 1, "--verbose", "-o", out, env=NO_OPENCL)
        self.assertEqual((controls(result.out), controls(result.err)), ([], []))
        self.assertIn("evil\\x1b[2J", result.err)
        for line in result.err.splitlines():
            self.assertTrue(line.startswith("mgpu-bench: simulated evil") or not line.startswith("mgpu-bench: all passed"), line)
        self.assertEqual(json.loads(out.read_text())["devices"][0]["name"], NASTY)
        printed = self.good("simulate", scenario, "-s", "equal", "-n", 1, "-q", "--json", "-", env=NO_OPENCL)
        self.assertEqual(controls(printed.out), [])
        self.assertEqual(json.loads(printed.out)["devices"][0]["name"], NASTY)

    def test_names_from_a_result_reach_the_terminal_escaped(self):
        document = json.loads(GOLDEN.read_text())
        for run in document["runs"]:
            run["suite"] = run["strategy"] = run["reason"] = NASTY
            run["params"][NASTY] = NASTY
            run["warnings"] = [NASTY]
        for device in document["devices"]:
            device["name"] = device["platform"] = NASTY
        file = self.folder / f"name {NASTY[:8]}.json"
        file.write_text(json.dumps(document))
        for words in (["report", file, "--color", "always"], ["compare", file, file, "--metrics", "time"], ["trace", file], ["trace", "--check", file],
                      ["simulate", "--from", file]):
            result = mgpu(*words, env=NO_OPENCL)
            colours = result.out.replace("\x1b[1;32m", "").replace("\x1b[31m", "").replace("\x1b[0m", "")
            self.assertEqual((controls(colours), controls(result.err)), ([], []), f"{words}: {result}")
            self.assertNotIn("\nmgpu-bench: all passed", "\n" + result.err)

    def test_what_was_typed_comes_back_escaped(self):
        for words in (["run", NASTY], ["run", "-d", NASTY], [NASTY], ["run", "--" + NASTY], ["report", NASTY], ["run", "--config", NASTY]):
            result = self.refused_whatever(words)
            self.assertEqual(controls(result.err), [], result)

    def refused_whatever(self, words):
        result = mgpu(*words, env=NO_OPENCL)
        self.assertEqual((result.code, result.out), (2, ""), result)
        return result


class HarmfulInput(Case):
    def changed(self, change):
        document = json.loads(GOLDEN.read_text())
        change(document)
        file = self.folder / "bad.json"
        file.write_text(json.dumps(document))
        return file

    def test_a_hundred_thousand_levels_are_one_line(self):
        text = GOLDEN.read_text()
        for opening, closing in (("[", "]"), ('{"a":', "}")):
            file = self.folder / "deep.json"
            file.write_text(text.replace('"params": {', '"params": {"x": ' + opening * 100_000 + "1" + closing * 100_000 + ",", 1))
            for words in (["report", file], ["trace", file], ["trace", "--check", file], ["compare", file, file], ["simulate", "--from", file],
                          ["simulate", file]):
                result = mgpu(*words, env=NO_OPENCL)
                self.assertEqual((result.code, result.out), (2, ""), f"{words}: {result.code} {result.err[:300]}")
                self.assertIn("nested deeper than 100 levels", result.err)

    def test_a_number_out_of_range_names_the_file_and_the_field(self):
        for change, field in ((lambda d: d["runs"][0]["time_ns"].update(median=-1), "runs[0].time_ns.median"),
                              (lambda d: d["runs"][0]["samples_ns"].__setitem__(0, 2**63), "runs[0].samples_ns[0]"),
                              (lambda d: d["runs"][0]["work"].update(ops="NaN"), "runs[0].work.ops"),
                              (lambda d: d["runs"][0]["work"].update(items=1.5), "runs[0].work.items"),
                              (lambda d: d["devices"][0].update(score=1e9), "devices[0].score"),
                              (lambda d: d["runs"][0]["timeline"]["commands"][0].__setitem__(5, 2**62), "commands: row 0, column 5")):
            with self.subTest(field=field):
                self.refused(["report", self.changed(change)], 2, "bad.json", field, "not accepted", env=NO_OPENCL)

    def test_a_merge_that_saves_time_or_takes_for_ever_is_refused(self):
        scenario, out = self.folder / "s.json", self.folder / "r.json"
        scenario.write_text(json.dumps({"devices": [{"count": 4, "items_per_s": 1e6}], "work": {"items": 100_000}}))
        self.good("simulate", scenario, "-s", "equal", "-n", 1, "--mode", "resident", "-o", out, "-q", env=NO_OPENCL)
        document = json.loads(out.read_text())
        for key in ("merge_fixed_ns", "merge_per_slice_ns"):
            for value in (-1, -(2**62), 2**63 - 1, 0.5, "1"):
                with self.subTest(key=key, value=value):
                    bad = copy.deepcopy(document)
                    for run in bad["runs"]:
                        run["plan"]["request"][key] = value
                    out.write_text(json.dumps(bad))
                    self.refused(["simulate", "--from", out, "-s", "all"], 2, "r.json", f"plan.request.{key}", "not accepted", env=NO_OPENCL)

    def test_a_scenario_that_would_take_minutes_is_refused_and_the_largest_accepted_ends(self):
        scenario = self.folder / "s.json"
        work = {"items": 1_000_000, "pipeline": 1}
        for devices in ([{"items_per_s": 1e9}], [{"items_per_s": 1e9, "count": 1000, "pipeline": 1000}], [{"items_per_s": 1e9, "fits": 4}]):
            scenario.write_text(json.dumps({"devices": devices, "work": work}))
            self.refused(["simulate", scenario], 2, "s.json", "device ", "slices; accepted: up to 200000", env=NO_OPENCL)
        links = [{"items_per_s": 1e6 + i, "up": 1e9 + i, "down": 1e9 + i} for i in range(512)]
        scenario.write_text(json.dumps({"devices": links, "link": {"up": 1e10, "down": 1e10}, "work": {"items": 2**20, "in_bytes": 8, "out_bytes": 8}}))
        self.good("simulate", scenario, "-s", "equal", "-n", 1, "--mode", "end-to-end", "-q", env=NO_OPENCL)

    def test_a_file_without_an_end_is_refused(self):
        if not Path("/dev/zero").exists():
            self.skipTest("no /dev/zero here")
        self.refused(["trace", "--check", "/dev/zero"], 2, "/dev/zero", "1 GiB", env=NO_OPENCL)


class Compressed(Case):
    """Files of gzip are read as what they hold, whatever their name; what is written is compressed where its name says so."""

    def same(self, *words, plain, packed):
        """What the program says of both files, but for their names; `words` has them where it says FILE."""
        results = []
        for file in (plain, packed):
            result = self.good(*[file if word == "FILE" else word for word in words], env=NO_OPENCL)
            results.append((result.out.replace(str(file), "FILE"), result.err.replace(str(file), "FILE")))
        self.assertEqual(*results, words)

    def test_commands_read_a_compressed_file_as_the_file_it_was(self):
        measured, trace = self.folder / "r.json", self.folder / "t.json"
        self.good("simulate", SCENARIO, "-s", "equal,dynamic", "-n", 2, "-o", measured, "--trace", trace, env=NO_OPENCL)
        for plain, commands in ((measured, (["report", "FILE"], ["trace", "FILE"], ["compare", "FILE", "FILE", "--json", "-"], ["compare", measured, "FILE"],
                                            ["simulate", "--from", "FILE", "-n", 1])),
                                (SCENARIO, (["simulate", "FILE", "-s", "equal", "-n", 1],)),
                                (trace, (["trace", "--check", "FILE"],))):
            for name in ("r.json.gz", "no name of gzip"):
                packed = self.folder / name
                packed.write_bytes(gzip.compress(plain.read_bytes()))
                for words in commands:
                    with self.subTest(words=words, name=name):
                        self.same(*words, plain=plain, packed=packed)
        plainly_named = self.folder / "plain.json.gz"
        plainly_named.write_bytes(measured.read_bytes())
        self.same("report", "FILE", plain=measured, packed=plainly_named)

    def test_a_pipe_may_be_compressed(self):
        packed = gzip.compress(GOLDEN.read_bytes())
        piped = subprocess.run([binary.BINARY, "report", "/dev/stdin"], input=packed, env=environment(NO_OPENCL), capture_output=True, timeout=60)
        self.assertEqual(piped.stdout.decode(), self.good("report", GOLDEN, env=NO_OPENCL).out)

    def test_a_damaged_file_is_one_line_that_names_it(self):
        whole = gzip.compress(GOLDEN.read_bytes())
        middle = len(whole) // 2
        for content, words in ((whole[:-1], "cut off"), (whole[:middle], "cut off"), (whole[:2], "cut off"), (whole[:-8] + bytes(8), "damaged"),
                               (whole[:middle] + bytes(4) + whole[middle + 4:], "damaged"), (whole + b"{}", "something else after its end"),
                               (gzip.compress(b""), "is empty"), (gzip.compress(b"{"), "not JSON"), (gzip.compress(whole), "not JSON")):
            file = self.folder / "bad.json.gz"
            file.write_bytes(content)
            for command in (["report", file], ["compare", GOLDEN, file], ["compare", file, GOLDEN], ["simulate", file], ["simulate", "--from", file],
                            ["trace", file]):
                with self.subTest(words=words, command=command):
                    self.refused(command, 2, f"{file}: ", words, env=NO_OPENCL)
            if words not in ("is empty", "not JSON"):
                self.refused(["trace", "--check", file], 2, f"{file}: ", words, env=NO_OPENCL)

    def test_a_bomb_is_refused_while_it_is_decompressed(self):
        bomb = self.folder / "bomb.json.gz"
        bomb.write_bytes(gzip.compress(b" " * 2**26) * 160)  # 10 GiB
        self.assertLess(bomb.stat().st_size, 2**24)
        limit = ["prlimit", f"--as={4 * 2**30}"] if shutil.which("prlimit") else []
        done = subprocess.run([*limit, binary.BINARY, "report", str(bomb)], env=environment(NO_OPENCL), capture_output=True, text=True, timeout=300)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr, f"mgpu-bench: error: {bomb}: is larger than 1.00 GiB when decompressed\n")

    def test_what_is_written_under_a_name_of_gzip_is_compressed(self):
        packed = [self.folder / name for name in ("r.json.gz", "t.json.gz", "r.csv.gz", "c.json.gz", "c.md.gz")]
        result, trace, table, comparison, page = packed
        self.good("simulate", SCENARIO, "-s", "equal", "-n", 1, "-o", result, "--trace", trace, "--export", f"csv={table}", env=NO_OPENCL)
        self.good("compare", result, result, "-o", comparison, "--markdown", page, env=NO_OPENCL)
        texts = [gzip.decompress(file.read_bytes()).decode() for file in packed]
        for text, schema in ((texts[0], "result"), (texts[3], "compare")):
            file = self.folder / "plain.json"
            file.write_text(text)
            self.assert_schema(file, schema)
        self.assertIn("traceEvents", json.loads(texts[1]))
        self.assertEqual(texts[2].splitlines()[0].split(",")[0], self.good("report", result, "--export", "csv=/dev/stdout").out.split(",")[0])
        self.assertIn("|", texts[4])
        again = self.folder / "again.json.gz"
        self.good("trace", result, "-o", again, env=NO_OPENCL)
        self.assertEqual(json.loads(gzip.decompress(again.read_bytes())), json.loads(texts[1]))
        self.good("trace", "--check", again, env=NO_OPENCL)

    def test_what_was_computed_is_not_written_under_such_a_name(self):
        for name in ("x.npy.gz", "x.gz"):
            self.refused(["run", "merkle", "--size", 4, "--output", self.folder / name], 2, "--output", name, "accepted")
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    binary.main()
