#!/usr/bin/env python3
"""Suite pac as a user runs it: one digest whatever is split, files in and out, and what is refused. Usage: pac_test.py BINARY [unittest
arguments]. The helpers are those of binary.py and matrix_test.py. No time is ever asserted on."""

import json
import math
import random
import struct

import binary
from binary import Case
from matrix_test import read_npy, write_npy

SMALL = ("--length", 256, "--pha", "4:8:2", "--amp", "40:80:3", "--perm", 20)
COLUMNS = 8  # of --output


def coupled(samples, fs=256, slow=8, fast=60):
    """A fast oscillation that is large where a slow one is high, and noise, without which other bands have only what comes of the ends; that
    one's phase goes wrong a little, or all shifts would be coupled."""
    noise = random.Random(1)
    phases = [2 * math.pi * slow * t / fs + 0.9 * math.sin(7.3 * t / fs) + 1.1 * math.sin(3.1 * t / fs) for t in range(samples)]
    return [math.cos(p) + (1 + math.cos(p)) * math.cos(2 * math.pi * fast * t / fs) + noise.uniform(-0.7, 0.7) for t, p in enumerate(phases)]


class Pac(Case):
    def run_pac(self, *arguments, devices=None):
        file = self.folder / "r.json"
        self.good("run", "pac", *(devices or binary.DEVICES), "-n", 1, "--warmup", 0, "-o", file, *arguments)
        return json.loads(file.read_text())["runs"]

    def rows(self, file):
        text, data = read_npy(file)
        self.assertIn("'<f8'", text)
        values = struct.unpack(f"<{len(data) // 8}d", data)
        return [values[i:i + COLUMNS] for i in range(0, len(values), COLUMNS)]


class Computes(Pac):
    def test_one_digest_whatever_is_split_by_which_strategy_and_mode(self):
        digests = set()
        for axis in ("batch", "channel", "permutation"):
            strategies = "equal,dynamic" if binary.THOROUGH or axis == "channel" else "dynamic"
            for run in self.run_pac(*SMALL, "--size", 2, "--channels", 3, "--axis", axis, "-s", strategies,
                                    "--mode", "both" if axis == "channel" else "resident"):
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
                digests.add(run["verify"]["digest"])
        self.assertEqual(len(digests), 1)

    def test_the_record_says_what_was_computed_and_its_timeline_has_the_stages(self):
        run = self.run_pac(*SMALL, "--size", 2, "-s", "single", "--mode", "resident", devices=binary.ONE_DEVICE)[0]
        self.assertEqual((run["params"]["batch"], run["params"]["channels"], run["params"]["length"]), (2, 8, 256))
        self.assertEqual((run["work"]["ops"], run["rate"]["unit"]), (2 * 8 * 2 * 3 * 21, "indices/s"))
        self.assertIn("float64", run["verify"]["method"])
        label = run["timeline"]["columns"]["commands"].index("label")
        self.assertLessEqual({"spectrum", "phases", "amplitudes", "weigh"}, {command[label] for command in run["timeline"]["commands"]})

    def test_series_of_a_file_give_a_row_for_each_pair_and_coupling_is_found(self):
        x, out = self.folder / "x.npy", self.folder / "out.npy"
        write_npy(x, [coupled(1024), [math.cos(t * t) for t in range(1024)]], shape="(1, 2, 1024)")
        self.run_pac("--input", x, "--pha", "4:12:3", "--amp", "40:80:3", "--perm", 30, "--output", out, "-s", "equal", "--mode", "resident")
        rows = self.rows(out)
        self.assertEqual(len(rows), 2 * 3 * 3)
        self.assertEqual([row[:4] for row in rows[8:11]], [(0, 0, 12, 80), (0, 1, 4, 40), (0, 1, 4, 60)])
        self.assertEqual(max(rows[:9], key=lambda row: row[4])[2:4], (8, 60))
        self.assertGreater(max(row[4] for row in rows[:9]), 2 * max(row[4] for row in rows[9:]))
        for row in rows:
            self.assertAlmostEqual(row[7], (row[4] - row[5]) / row[6] if row[6] else 0, 9)

    def test_the_same_numbers_in_every_form_of_a_file_have_one_digest(self):
        numbers = coupled(256)
        single = [struct.unpack("<f", struct.pack("<f", v))[0] for v in numbers]
        files = [self.folder / name for name in ("a.npy", "b.npy", "c.npy", "d.f32")]
        write_npy(files[0], [single], shape="(256,)")
        write_npy(files[1], [single], kind="<f8", shape="(1, 256)")
        write_npy(files[2], [single], shape="(1, 1, 256)")
        files[3].write_bytes(struct.pack("<256f", *single))
        digests = set()
        for file in files:
            run = self.run_pac("--input", file, "--channels", 1, *SMALL, "-s", "single", "--mode", "resident", devices=binary.ONE_DEVICE)[0]
            self.assertEqual(run["verify"]["status"], "passed", run)
            digests.add(run["verify"]["digest"])
        self.assertEqual(len(digests), 1)


class Refuses(Pac):
    def test_options_that_do_not_go_together(self):
        for arguments, names in (
                (("--pha", "8"), ("--pha", '"8"', "LO:HI:N")),
                (("--pha", "20:2:10"), ("--pha", "LO:HI:N")),
                (("--pha", "0.1:8:3"), ("--pha", "cycles", "2048 samples")),
                (("--amp", "60:160:10"), ("--amp", "accepted", "half of --fs 256")),
                (("--amp", "60:110:0"), ("--amp", "LO:HI:N")),
                (("--fs", "0"), ("--fs", "above 0")),
                (("--fs", "fast"), ("--fs", "number")),
                (("--bins", 1), ("--bins", "2 to 64")),
                (("--perm", 100000), ("--perm", "32767")),
                (("--length", 8), ("--length", "16 to 65536")),
                (("--length", 1000, "--sums", "transform"), ("--sums", "power of two")),
                (("--channels", 0), ("--channels", "1 to")),
                (("--size", 0), ("--size", "1 to")),
                (("--mi", "canolty"), ("--mi", "tensorpac")),
                (("--axis", "time"), ("--axis", "permutation")),
                (("--planted", "10"), ("--planted", "10:80"))):
            self.refused(["run", "pac", *arguments], 2, *names)

    def test_files_that_are_not_series(self):
        x = self.folder / "x.npy"
        run = ["run", "pac", "--input", x]
        write_npy(x, [[1.0] * 512])
        self.refused([*run, "--channels", 2], 2, "x.npy", "--channels", "accepted")
        self.refused([*run, "--length", 256], 2, "x.npy", "--length", "accepted")
        self.refused([*run, "--planted", "10:80"], 2, "--planted", "--input")
        write_npy(x, [[1.0] * 8])
        self.refused(run, 2, "x.npy", "8 samples", "16 to 65536")
        write_npy(x, [[1.0] * 16], shape="(1, 1, 1, 16)")
        self.refused(run, 2, "x.npy", "one to three dimensions")
        write_npy(x, [[1] * 16], kind="<i4")
        self.refused(run, 2, "x.npy", "float32")
        write_npy(x, [[1.0] * 512], cut=4)
        self.refused(run, 2, "x.npy", "bytes")
        write_npy(x, [], shape="(0, 512)")
        self.refused(run, 2, "x.npy", "no series")
        raw = self.folder / "x.f32"
        raw.write_bytes(b"\0" * 4000)
        self.refused(["run", "pac", "--input", raw], 2, "x.f32", "--channels", "--length")
        self.refused(["run", "pac", "--input", raw, "--channels", 3, "--length", 500], 2, "x.f32", "4000 bytes", "multiple of 6000")

    def test_numbers_that_are_not_finite(self):
        x = self.folder / "x.npy"
        write_npy(x, [[1.0] * 512, [0.0] * 511 + [float("nan")]])
        result = binary.mgpu("run", "pac", *binary.ONE_DEVICE, "--input", x, "-n", 1)
        self.assertEqual(result.code, 2, result)
        self.assertIn("series 1 has a number that is not finite", result.err)


if __name__ == "__main__":
    binary.main()
