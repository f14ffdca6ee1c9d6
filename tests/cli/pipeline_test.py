#!/usr/bin/env python3
"""Suite pipeline as a user runs it: one digest whoever does what, what is recorded of a chain, files in and out, and what is refused.
Usage: pipeline_test.py BINARY [unittest arguments]. The helpers are those of binary.py. No time is ever asserted on."""

import hashlib
import json
import struct

import binary
from binary import Case
from matrix_test import read_npy, write_npy

FEW = ("--width", 16, "--stages", "hash,transform:2,product,reduction")


class Pipeline(Case):
    def run_pipeline(self, *arguments, devices=None):
        file = self.folder / "r.json"
        self.good("run", "pipeline", *(devices or binary.DEVICES), "-n", 1, "--warmup", 0, "-o", file, *arguments)
        runs = [run for run in json.loads(file.read_text())["runs"] if run["status"] != "unsupported"]
        for run in runs:
            self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
        return runs

    def digests(self, *arguments):
        return {run["verify"]["digest"] for run in self.run_pipeline(*arguments)}

    def test_one_digest_for_every_placement_strategy_mode_and_number_of_devices(self):
        counts = ["--device-counts", "1,2"] if binary.DEVICE_COUNT > 1 else []
        found = self.digests(*FEW, "--size", 67, "--batch", 5, "--place", "data", "-s", "all", *counts)
        found |= self.digests(*FEW, "--size", 67, "--batch", 5, "--place", "pipeline", "-s", "all", *counts)
        found |= self.digests(*FEW, "--size", 67, "--batch", 9, "--place", "pipeline", "-s", "equal", "--peer", "staged")
        self.assertEqual(len(found), 1)

    def test_odd_and_tiny_ones_and_more_devices_than_stages_or_batches(self):
        for place in ("data", "pipeline"):
            for arguments, sizes in (((*FEW, "--size", "1,3", "--batch", 2), 2), ((*FEW[:2], "--size", 2, "--stages", "product"), 1)):
                self.assertEqual(len(self.digests(*arguments, "--place", place, "-s", "equal,single", "--mode", "resident")), sizes, arguments)

    def test_auto_says_which_placement_it_took_and_the_record_what_stages_take(self):
        run, = self.run_pipeline(*FEW, "--size", 64, "-s", "equal", "--mode", "resident")
        self.assertIn(run["params"]["place"], ("data", "pipeline"))
        self.assertEqual(run["params"]["batch"], "auto")
        self.assertIn("all 64 records in 32 batches of 2", run["verify"]["method"])
        names = [figure["name"] for figure in run["verify"]["found"]["figures"]]
        self.assertEqual(len(names), 4 * len(run["devices"]))
        self.assertTrue(names[1].startswith("ms of stage 2 (transform:2) a batch on "), names)

    def test_a_pipeline_records_how_it_fills_and_drains_and_whose_stages_are_slowest(self):
        if binary.DEVICE_COUNT < 2:
            self.skipTest("one device")
        run, = self.run_pipeline(*FEW, "--size", 40, "--batch", 4, "--place", "pipeline", "-s", "equal", "--mode", "resident")
        chain = run["chain"]
        self.assertEqual([stage["kernel"] for stage in chain["stages"]], ["hash", "transform", "product", "reduce"])
        self.assertEqual([stage["device"] for stage in chain["stages"]], [0, 0, 1, 1])
        of_device = [sum(s["time_ns"] for s in chain["stages"] if s["device"] == d) for d in (0, 1)]
        self.assertEqual(chain["slowest_device"], of_device.index(max(of_device)))
        self.assertLess(chain["filling_ns"] + chain["draining_ns"], 2 * run["timeline"]["makespan_ns"])
        self.assertGreaterEqual(chain["period_ns"], chain["busy_ns"])
        told = self.good("report", self.folder / "r.json", "--columns", "filling").out
        self.assertIn("filling", told)

    def test_a_file_of_records_goes_through_as_other_programs_have_it(self):
        records, out = self.folder / "in.npy", self.folder / "out.npy"
        header = "{'descr': '<i4', 'fortran_order': False, 'shape': (3, 8), }"
        header += " " * (63 - (10 + len(header)) % 64) + "\n"
        words = struct.pack("<24i", *range(-12, 12))
        records.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + words)
        self.run_pipeline("--width", 8, "--stages", "hash", "--place", "data", "--input", records, "--output", out, "-s", "single", "--mode", "end-to-end",
                          devices=binary.ONE_DEVICE)
        data = out.read_bytes()[-96:]
        for i in range(3):
            record = struct.unpack_from("<8I", words, 32 * i)
            digest = struct.unpack(">8I", hashlib.sha256(struct.pack(">8I", *record)).digest())
            self.assertEqual(struct.unpack_from("<8I", data, 32 * i), tuple(a ^ b for a, b in zip(record, digest)))

    def test_what_it_cannot_take_is_refused_in_one_line(self):
        def refuse(code, words, *arguments):
            self.refused(["run", "pipeline", *binary.ONE_DEVICE, "-n", 1, "-s", "single", *arguments], code, *words)
        for stages, why in ((",", "no stage is called"), ("hsah", "hsah"), ("hash:0", '"0" is not a number of passes'), ("hash:x", "not a number"),
                            ("hash:1025", "not a number"), ("hash,", "no stage"), (",".join(["hash"] * 17), "17 stages are too many")):
            refuse(2, ("--stages", why, "accepted: up to 16 of"), "--size", 8, f"--stages={stages}")
        for width in ("4", "24", "8192", "1e3", "-8"):
            refuse(2, ("--width", width), "--size", 8, f"--width={width}")
        refuse(2, ("--place", "auto, pipeline, data"), "--size", 8, "--place", "stages")
        refuse(2, ("--size", "1 to"), "--size", 0)
        refuse(2, ("--size",), "--size", 2**40)
        for batch in ("0", "x", "1.5"):
            refuse(2, ("--batch", batch), "--size", 8, f"--batch={batch}")
        refuse(2, ("--batch", "accepted with --width 4096: 1 to 8192", "128 MiB"), "--size", 9000, "--width", 4096, "--batch", 9000)
        file = self.folder / "a.npy"
        write_npy(file, [[1, 2, 3, 4]])
        refuse(2, ("--input", "int32"), "--input", file, "--width", 8)
        refuse(2, ("--input",), "--input", self.folder / "none.npy")


if __name__ == "__main__":
    binary.main()
