#!/usr/bin/env python3
"""`mgpu-bench links` from the command line: python3 links_test.py BINARY [unittest arguments]."""

import json
import subprocess
from pathlib import Path

import binary
from binary import Case, mgpu, python_with_jsonschema

SCHEMA = Path(__file__).resolve().parents[2] / "lib/report/links.schema.json"


class Links(Case):
    def links(self, *arguments):
        file = self.folder / "links.json"
        result = self.good("links", *binary.DEVICES, "--quick", "-q", "-o", file, *arguments)
        return result, json.loads(file.read_text())

    def test_matrices_latencies_and_collectives_are_measured_checked_and_saved(self):
        result, saved = self.links()
        check = [python_with_jsonschema(), "-c", "import json, jsonschema, sys; jsonschema.validate(json.load(open(sys.argv[1])), json.load(open(sys.argv[2])))",
                 str(self.folder / "links.json"), str(SCHEMA)]
        self.assertEqual(subprocess.run(check, capture_output=True, text=True).stderr, "")
        n = binary.DEVICE_COUNT
        pairs = [t for t in saved["transfers"] if "host" not in (t["from"], t["to"])]
        self.assertEqual(len([t for t in saved["transfers"] if t not in pairs]), 3 * n)  # to it, from it, both
        if n > 1:
            self.assertEqual({t["path"] for t in pairs}, {"host", "staged"})
            self.assertEqual({t["path"] for t in pairs if t["in_use"]}, {"host"})
            self.assertTrue(saved["collectives"])
        for row in saved["collectives"]:
            self.assertEqual(row["wrong"], 0)
        self.assertEqual(self.good("report", self.folder / "links.json").out, result.out)

    def test_collectives_of_sizes(self):
        _, saved = self.links("--op", "all-reduce,all-gather", "--sizes", "4KiB:64KiB:4")
        self.assertEqual([(row["op"], row["size_bytes"]) for row in saved["collectives"]],
                         [(op, size << 10) for op in ("all-reduce", "all-gather") for size in (4, 16, 64)])
        self.assertEqual(saved["transfers"], [])
        file = self.folder / "links.json"
        compared = self.good("compare", file, file, "--fail-on", "nothing")
        self.assertIn("0 regressions", compared.out)

    def test_json_on_standard_output_and_nothing_else(self):
        result = self.good("links", *binary.DEVICES, "--quick", "-q", "--json", "--op", "barrier")
        self.assertEqual(json.loads(result.out)["collectives"][0]["op"], "barrier")

    def test_bad_input_is_one_line(self):
        for arguments, names in ((["--op", "gather"], ["--op", "gather", "all-gather", "all"]),
                                 (["--sizes", "4KiB:1KiB"], ["--sizes", "4KiB:1KiB"]),
                                 (["--sizes", "1:2:3:4"], ["--sizes", "1:2:3:4", "4KiB:1GiB"]),
                                 (["--sizes", "0:4KiB"], ["--sizes", "\"0\""]),
                                 (["--sizes", "much"], ["--sizes", "much"]),
                                 (["--element", "f16"], ["--element", "f16", "u32, u64, f32, f64"]),
                                 (["--redop", "avg"], ["--redop", "avg", "sum, min, max"]),
                                 (["--device-counts", "77"], ["--device-counts"]),
                                 (["--peer", "nvlink"], ["--peer", "nvlink", "auto, direct, staged, host"])):
            with self.subTest(arguments=arguments):
                self.refused(["links", *binary.DEVICES, *arguments], 2, *names)

    def test_a_path_that_devices_do_not_have_is_refused(self):
        if binary.DEVICE_COUNT < 2:
            self.skipTest("one device")
        result = mgpu("links", *binary.DEVICES, "--quick", "-q", "--peer", "direct")
        self.assertEqual((result.code, result.out, len(result.err.splitlines())), (5, "", 1), result)
        self.assertIn("no direct path from", result.err)


if __name__ == "__main__":
    binary.main()
