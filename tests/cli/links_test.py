#!/usr/bin/env python3
"""`mgpu-bench links` as a user sees it. Usage: links_test.py BINARY [unittest arguments]. The helpers are those of binary.py. Figures are
only ever compared with themselves."""

import json
import os
import subprocess
import unittest

import binary
from binary import Case, mgpu

SMALL = ["--quick", "--sizes", "4KiB,1000"]
RATES = ("bytes_per_s", "algbw_bytes_per_s", "busbw_bytes_per_s")


class Links(Case):
    def links(self, *arguments, **named):
        return self.good("links", *binary.DEVICES, *SMALL, "-q", *arguments, **named)

    def measured(self, *arguments):
        """Its file, and what it printed."""
        file = self.folder / "links.json"
        result = self.links("-o", file, *arguments)
        self.assertEqual(result.err, "")
        return json.loads(file.read_text()), result.out, file

    @unittest.skipIf(binary.DEVICE_COUNT == 1, "with one device there is nothing between devices")
    def test_matrices_latencies_and_all_reduce(self):
        document, text, file = self.measured()
        self.assert_schema(file, "links")
        self.assertTrue(document["complete"])
        ids = [device["id"] for device in document["devices"]]
        self.assertEqual(len(ids), binary.DEVICE_COUNT)
        ways = {(t["traffic"], t["from"], t["to"]) for t in document["transfers"] if t["in_use"]}
        for one in ids:
            self.assertLessEqual({("one-way", "host", one), ("one-way", one, "host"), ("both-ways", "host", one)}, ways)
            for other in ids:
                self.assertEqual(("one-way", one, other) in ways, one != other)
        self.assertEqual({pair["path"] for pair in document["paths"]}, {"host"})
        self.assertEqual({t["path"] for t in document["transfers"] if not t["in_use"]}, {"staged"})
        self.assertEqual([row["size_bytes"] for row in document["collectives"]], [1000, 4096])
        rows = [*document["transfers"], *document["at_once"], *document["collectives"]]
        for row in rows:
            self.assertEqual(row["wrong"], 0)
            for rate in RATES:
                self.assertGreater(row.get(rate, 1), 0)
        for latency in document["latencies"]:
            self.assertGreater(latency["alone_ns"], 0)
        for words in ("one way, GB/s", "both ways, GB/s", "one way, staged (not in use)", "everything at once", "an exchange of nothing",
                      "all-reduce on 2 devices (host): busbw = algbw x 1", "#wrong"):
            self.assertIn(words, text)

        self.assertEqual(self.good("report", file).out, text)
        same = self.good("compare", file, file)
        self.assertIn("0 regressions, 0 improvements", same.out)
        export = self.folder / "links.csv"
        self.good("report", file, "--export", f"csv={export}")
        self.assertEqual(len(export.read_text().splitlines()),
                         1 + len(document["transfers"]) + len(document["at_once"]) + 2 * len(document["latencies"]) + 2 * len(document["collectives"]))

        run = self.folder / "run.json"
        self.good("run", "merkle", *binary.DEVICES, "-n", 1, "--size", "2^10", "--mode", "resident", "-s", "equal", "-o", run, "-q")
        self.refused(["compare", file, run], 2, str(file), str(run), "two files of one kind")
        self.refused(["compare", file, file, "--confirm", 2], 2, "--confirm", "run")
        self.refused(["report", file, "--require", "time<1s"], 2, "--require")
        self.refused(["trace", file], 2, "links.json", "mgpu-bench/links")

    @unittest.skipIf(binary.DEVICE_COUNT == 1, "with one device there is nothing between devices")
    def test_collectives_of_their_own_over_a_path_that_is_asked_for(self):
        document, _, file = self.measured("--op", "barrier,all-gather", "--device-counts", "1,2", "--peer", "staged", "--element", "u32", "--json")
        self.assertEqual(document["transfers"], [])
        rows = [(row["op"], row["size_bytes"], len(row["devices"]), row["type"], row["redop"], row["path"]) for row in document["collectives"]]
        expected = [("barrier", 0), ("all-gather", 1000), ("all-gather", 4096)]
        self.assertEqual(rows, [(op, size, n, "u32", None, "staged" if n > 1 else None) for n in (1, 2) for op, size in expected])
        self.assert_schema(file, "links")

    def test_more_devices_than_one_has_slots_for(self):
        nine = {"POCL_DEVICES": " ".join(["pthread"] * 9)}
        if len(json.loads(mgpu("devices", "-d", "cpu", "--json", env=nine).out)["devices"]) != 9:
            self.skipTest("no CPU that PoCL makes nine devices of")
        ops = binary.first_when_quick(1, ("all-to-all", "all-reduce"))
        file = self.folder / "links.json"
        self.good("links", "-d", "cpu", "--quick", "-q", "--op", ",".join(ops), "--sizes", "1000,1MiB", "--peer", "staged", "-o", file, env=nine)
        rows = json.loads(file.read_text())["collectives"]
        self.assertEqual([(row["size_bytes"], len(row["devices"]), row["path"], row["wrong"]) for row in rows],
                         [(1000, 9, "staged", 0), (1048576, 9, "staged", 0)] * len(ops))

    def test_one_device_exchanges_with_the_host_alone(self):
        result = self.good("links", *binary.DEVICES, "--max-devices", 1, "--quick", "-q", "--json")
        self.assertIn("there is one device", result.err)
        document = json.loads(result.out)
        self.assertEqual(len(document["transfers"]), 3)
        self.assertEqual(document["collectives"], [])

    def test_what_cannot_be_is_refused_in_one_line(self):
        for arguments, *names in ((["--peer", "fast"], "--peer", "fast", "auto, direct, staged, host"),
                                  (["--op", "all-reduec"], "--op", "all-reduec", "did you mean", "all-reduce"),
                                  (["--sizes", "4KiB:1"], "--sizes", "1"),
                                  (["--sizes", "8KiB:4KiB"], "--sizes", "ends before it begins"),
                                  (["--sizes", "4KiB:8KiB:1"], "--sizes", "factor"),
                                  (["--sizes", "1:2:3:4"], "--sizes"),
                                  (["--sizes", "2B"], "--sizes"),
                                  (["--sizes", "many"], "--sizes", "many"),
                                  (["--element", "f16"], "--element", "u32, u64, f32, f64"),
                                  (["--redop", "product"], "--redop", "sum, min, max"),
                                  (["--device-counts", "0"], "--device-counts", "0"),
                                  (["--timeout", "0s"], "--timeout"),
                                  (["--export", "pdf=x"], "--export", "pdf"),
                                  (["-o", ""], "--result"),
                                  (["all-reduce"], "all-reduce")):
            self.refused(["links", *arguments], 2, *names)

    def test_a_path_that_no_pair_has(self):
        if "-d" in binary.DEVICES and "cpu:1" in binary.DEVICES:
            self.refused(["links", *binary.DEVICES, "-q", "--peer", "direct"], 5, "direct", "0:")

    def test_files_that_come_by_a_pipe_are_read_once(self):
        _, text, file = self.measured("--op", "barrier")
        run = self.folder / "run.json"
        self.good("run", "merkle", *binary.DEVICES, "-n", 1, "--size", "2^10", "--mode", "resident", "-s", "equal", "-o", run, "-q")
        links, result = file.read_text(), run.read_text()
        self.assertEqual(self.good("report", "-", given=links).out, text)
        self.assertEqual(self.good("report", "/dev/stdin", given=links).out, text)
        self.assertEqual(self.good("report", "-", given=result).out, self.good("report", run).out)
        for one, other in ((file, links), (run, result)):
            export = self.folder / "export.csv"
            self.good("report", "-", "--export", f"csv={export}", given=other)
            from_pipe = export.read_text()
            self.good("report", one, "--export", f"csv={export}")
            self.assertEqual(from_pipe, export.read_text())
            for sides in ((one, "-"), ("-", one)):
                self.assertIn("0 regressions, 0 improvements", self.good("compare", *sides, given=other).out)
        # What the shell calls <(cat FILE): a pipe under another name.
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        with subprocess.Popen(["sh", "-c", 'exec cat "$0" >"$1"', str(file), str(fifo)]) as writer:
            self.assertEqual(self.good("report", fifo).out, text)
        self.assertEqual(writer.returncode, 0)
        self.refused(["compare", run, "-"], 2, "/dev/stdin", "run.json", "two files of one kind", given=links)
        self.refused(["compare", "-", "-"], 2, "standard input", "once", given=links)
        self.refused(["report", "-", "--require", "time<1s"], 2, "--require", given=links)
        self.refused(["report", "-"], 2, "/dev/stdin", "is empty", given="")
        self.refused(["report", "-"], 2, "/dev/stdin", "schema", given="{}")

    def test_a_file_that_is_none(self):
        file = self.folder / "bad.json"
        file.write_text('{"schema": "mgpu-bench/links", "schema_version": 9}')
        self.refused(["report", file], 2, "bad.json", "schema_version")
        self.refused(["compare", file, file], 2, "bad.json", "schema_version")
        self.assertEqual(mgpu("links", "-d", "no such").code, 2)


if __name__ == "__main__":
    binary.main()
