#!/usr/bin/env python3
"""Suite stencil as a user runs it: one digest whatever the split, the depth and the path, files in and out, and what is refused. Usage:
stencil_test.py BINARY [unittest arguments]. The helpers are those of binary.py. No time is ever asserted on."""

import json

import binary
from binary import Case


class Stencil(Case):
    def run_stencil(self, *arguments):
        file = self.folder / "r.json"
        self.good("run", "stencil", *binary.DEVICES, "-n", 1, "--warmup", 0, "-o", file, *arguments)
        return json.loads(file.read_text())["runs"]

    def digests(self, *arguments):
        found = set()
        for run in self.run_stencil(*arguments):
            if run["status"] == "unsupported":
                continue
            self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
            found.add(run["verify"]["digest"])
        return found


class Computes(Stencil):
    def test_one_digest_for_every_strategy_mode_depth_and_path(self):
        for kind, size, strategies in (("jacobi2d", 61, "all"), ("heat3d", 19, "equal,capability")):
            found = self.digests("--kind", kind, "--size", size, "--iterations", 9, "-s", strategies)
            for depth, overlap, peer in ((2, "on", "auto"), (3, "off", "staged")):
                found |= self.digests("--kind", kind, "--size", size, "--iterations", 9, "--depth", depth, "--overlap", overlap,
                                      "--peer", peer, "-s", "equal", "--mode", "resident")
            self.assertEqual(len(found), 1, kind)

    def test_strategies_that_hand_out_work_piece_by_piece_say_why_they_do_not_apply(self):
        runs = {run["strategy"]: run for run in self.run_stencil("--size", 32, "--mode", "resident", "-s", "dynamic,equal")}
        self.assertEqual(runs["dynamic"]["status"], "unsupported")
        self.assertIn("piece by piece", runs["dynamic"]["reason"])

    def test_a_result_can_be_the_next_runs_initial_state(self):
        half, whole, twice = (self.folder / name for name in ("half.npy", "whole.npy", "twice.npy"))
        common = ("--mode", "resident", "-s", "equal")
        self.run_stencil("--size", 24, "--iterations", 4, "--output", half, *common)
        self.run_stencil("--size", 24, "--iterations", 8, "--output", whole, *common)
        self.run_stencil("--input", half, "--iterations", 4, "--output", twice, *common)
        self.assertEqual(twice.read_bytes(), whole.read_bytes())


class Refuses(Stencil):
    def test_what_cannot_be_done_is_refused_in_one_line_before_anything_runs(self):
        for arguments, words in (
            (("--size", 2), ("--size", "3 to")),
            (("--size", 200000), ("--size",)),
            (("--size", 5000, "--kind", "heat3d"), ("--size",)),
            (("--size", 16, "--iterations", 0), ("--iterations", "accepted: 1 to")),
            (("--size", 16, "--depth", 17), ("--depth", "16")),
            (("--size", 16, "--depth", 0), ("--depth", "accepted: 1 to")),
            (("--size", 16, "--kind", "heat3d", "--rate", "0.2"), ("--rate", "stable")),
            (("--size", 16, "--rate", "-1"), ("--rate",)),
            (("--size", 16, "--kind", "wave"), ("--kind", "jacobi2d")),
            (("--size", 16, "--overlap", "maybe"), ("--overlap",)),
        ):
            self.refused(["run", "stencil", *binary.DEVICES, *arguments], 2, *words)


if __name__ == "__main__":
    binary.main()
