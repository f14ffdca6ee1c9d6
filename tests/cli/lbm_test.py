#!/usr/bin/env python3
"""Suite lbm as a user runs it: one digest whatever the split, the lattices and the path, fields out and in, and what is refused. Usage:
lbm_test.py BINARY [unittest arguments]. The helpers are those of binary.py. No time is ever asserted on."""

import json
import struct

import binary
from binary import Case


class Lbm(Case):
    def run_lbm(self, *arguments, code=0):
        file = self.folder / "r.json"
        file.unlink(missing_ok=True)
        result = binary.mgpu("run", "lbm", *binary.DEVICES, "-n", 1, "--warmup", 0, "-o", file, *arguments)
        self.assertEqual(result.code, code, result)
        return json.loads(file.read_text())["runs"]

    def digests(self, *arguments):
        found = set()
        for run in self.run_lbm(*arguments):
            if run["status"] == "unsupported":
                self.assertIn("piece by piece", run["reason"])
                continue
            self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
            found.add(run["verify"]["digest"])
        return found


class Computes(Lbm):
    def test_one_digest_for_every_strategy_mode_split_depth_and_path(self):
        size = ("--size", 11, "--iterations", 7)
        found = self.digests(*size, "-s", "all")
        for more in (("--depth", 2), ("--split", "blocks"), ("--lattices", "one", "--peer", "staged")):
            found |= self.digests(*size, *more, "-s", "equal", "--mode", "resident")
        self.assertEqual(len(found), 1)

    def test_walls_have_the_bits_of_a_plain_loop_in_place_as_well(self):
        found = self.digests("--size", 9, "--planes", 12, "--iterations", 6, "--case", "cavity", "--lattices", "one", "-s", "single,equal")
        self.assertEqual(len(found), 1)

    def test_weak_boxes_grow_with_the_devices(self):
        run = self.run_lbm("--size", 8, "--planes", 3, "--iterations", 4, "--weak", "-s", "equal", "--mode", "resident")[0]
        self.assertEqual(run["work"]["items"], 3 * binary.DEVICE_COUNT)
        self.assertEqual(run["work"]["ops"], 8 * 8 * 3 * binary.DEVICE_COUNT * 4)
        self.assertEqual(run["params"]["weak"], "yes")

    def test_fields_go_out_as_numpy_and_vtk_and_in_again(self):
        array, vtk = self.folder / "f.npy", self.folder / "f.vtk"
        common = ("--size", 6, "--planes", 5, "--iterations", 3, "--mode", "resident", "-s", "equal")
        runs = [self.run_lbm(*common, "--output", file)[0] for file in (array, vtk)]
        self.assertEqual(runs[0]["verify"]["digest"], runs[1]["verify"]["digest"])
        values = struct.unpack("<720f", array.read_bytes()[128:])
        data = vtk.read_bytes()
        self.assertTrue(data.startswith(b"# vtk DataFile Version 3.0\ntaylor-green after 3 steps"))
        self.assertIn(b"DIMENSIONS 6 6 5\n", data)
        at = data.index(b"VECTORS velocity float\n") + len(b"VECTORS velocity float\n")
        vectors = struct.unpack(">540f", data[at:at + 4 * 540])
        self.assertEqual(vectors, tuple(v for i, v in enumerate(values) if i % 4 < 3))
        self.assertGreater(max(map(abs, vectors)), 0.005)
        again = self.run_lbm("--input", array, "--planes", 5, "--iterations", 2, "--mode", "resident", "-s", "equal")[0]
        self.assertEqual(again["verify"]["status"], "passed")
        self.refused(["run", "lbm", *binary.DEVICES, "--input", array, "--planes", 4], 2, "--input", "180 x 4")

    def test_what_is_doubtful_is_warned_of(self):
        told = binary.mgpu("run", "lbm", *binary.ONE_DEVICE, "--size", 6, "--iterations", 2, "--speed", 0.2, "-n", 1, "--mode", "resident", "-s", "single")
        self.assertIn("warning: --speed 0.2 is Mach number 0.35", told.err)


class Refuses(Lbm):
    def test_what_cannot_be_done_is_refused_in_one_line_before_anything_runs(self):
        for arguments, words in (
            (("--size", 2), ("--size", "3 to 4096")),
            (("--size", 8, "--planes", 70000), ("--planes", "1 to 65535")),
            (("--size", 8, "--planes", 1), ("--planes", "fewer than")),
            (("--size", 8, "--relaxation-time", "0.5"), ("--relaxation-time", "above 0.5, up to 2")),
            (("--size", 8, "--relaxation-time", "2.5"), ("--relaxation-time", "stable")),
            (("--size", 8, "--reynolds", "-3"), ("--reynolds", "above 0")),
            (("--size", 8, "--reynolds", 100, "--relaxation-time", "0.9"), ("--reynolds", "--relaxation-time")),
            (("--size", 64, "--reynolds", "0.1"), ("--reynolds", "the relaxation time 96.5")),
            (("--size", 8, "--speed", "0.5"), ("--speed", "up to 0.3")),
            (("--size", 8, "--speed", 0), ("--speed", "above 0")),
            (("--size", 8, "--depth", 9), ("--depth", "1 to 8")),
            (("--size", 8, "--depth", 5), ("--depth", "10 planes or more")),
            (("--size", 8, "--depth", 2, "--lattices", "one"), ("--depth", "--lattices two")),
            (("--size", 8, "--split", "blocks", "--lattices", "one"), ("--lattices", "--split blocks")),
            (("--size", 8, "--split", "blocks", "--checkpoint-rounds", 3), ("--checkpoint-rounds", "--split blocks")),
            (("--size", 8, "--case", "pipe"), ("--case", "cavity")),
            (("--size", 8, "--iterations", 0), ("--iterations", "1 to")),
            (("--size", 8, "--checkpoint-rounds", 0), ("--checkpoint-rounds", "1 to")),
            (("--size", 8, "--lattices", "three"), ("--lattices", "two, one"))):
            if binary.DEVICE_COUNT < 2 and words[1] in ("fewer than", "10 planes or more"):
                continue
            with self.subTest(arguments=arguments):
                self.refused(["run", "lbm", *binary.DEVICES, "-s", "equal", *arguments], 2, *words)


if __name__ == "__main__":
    binary.main()
