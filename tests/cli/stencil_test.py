#!/usr/bin/env python3
"""Suite stencil as a user runs it: one digest whatever the split, the depth and the path, files in and out, and what is refused. Usage:
stencil_test.py BINARY [unittest arguments]. The helpers are those of binary.py. No time is ever asserted on."""

import json
import subprocess
import sys

import binary
from binary import Case


class Stencil(Case):
    def run_stencil(self, *arguments, code=0):
        file = self.folder / "r.json"
        result = binary.mgpu("run", "stencil", *binary.DEVICES, "-n", 1, "--warmup", 0, "-o", file, *arguments)
        self.assertEqual(result.code, code, result)
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
            found |= self.digests("--kind", kind, "--size", size, "--iterations", 9, "--split", "blocks", "--depth", 2, "-s", "equal")
            self.assertEqual(len(found), 1, kind)

    def test_kinds_and_precisions_are_verified_and_say_with_what(self):
        for arguments, words in ((("--kind", "star", "--radius", 1), "closed form, 14 in each inner cell (their mean is 14)"),
                                 (("--kind", "star", "--precision", "fp64", "--radius", 1, "--split", "blocks"), "closed form"),
                                 (("--check-every", 1, "--initial", "sine"), "norm of the change: 1.76777 in step 1, "),
                                 (("--kind", "heat3d", "--size", 19, "--precision", "fp64", "--initial", "eigenmode"), "decay of the eigenmode, by 0.99")):
            size = () if "--size" in arguments else ("--size", 51)
            runs = self.run_stencil(*size, "--iterations", 7, "-s", "single,equal", "--mode", "resident", *arguments)
            self.assertEqual({run["verify"]["status"] for run in runs}, {"passed"}, arguments)
            self.assertEqual(len({run["verify"]["digest"] for run in runs}), 1, arguments)
            for run in runs:
                self.assertIn(words, run["verify"]["method"])

    def test_a_problem_larger_than_a_device_is_done_by_two(self):
        if binary.DEVICE_COUNT < 2:
            self.skipTest("there is one device")
        small = ("--size", 256, "--iterations", 3, "--mode", "end-to-end", "-s", "equal,single")
        whole, runs = (self.run_stencil(*small, *caps) for caps in ((), ("--cap-memory", "0=600KiB,1=600KiB")))
        self.assertEqual([run["status"] for run in runs], ["ok", "unsupported"])
        self.assertIn("holds 178 items at most", runs[1]["reason"])
        self.assertEqual(runs[0]["verify"]["digest"], whole[0]["verify"]["digest"])
        self.refused(["run", "stencil", *binary.DEVICES, *small, "--cap-memory", "0=400KiB,1=400KiB"], 2, "--size", "256 rows", "do not fit")
        self.refused(["run", "stencil", *binary.DEVICES, *small, "--cap-memory", "0=600KiB,1=600KiB", "--split", "blocks"], 2, "--split", "rows")

    def test_rounds_are_in_the_result_and_in_the_trace_with_arrows_between_devices_and_figures_are_right(self):
        trace = self.folder / "t.json"
        run = self.run_stencil("--size", 64, "--iterations", 5, "--steps", "enqueued", "--mode", "resident", "-s", "equal", "--trace", trace)[0]
        self.assert_schema(self.folder / "r.json", "result")
        self.assert_schema(trace, "trace")
        done = subprocess.run([sys.executable, str(binary.HERE.parents[1] / "scripts/recompute.py"), str(self.folder / "r.json"), "--trace",
                               str(trace)], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = [dict(zip(run["timeline"]["columns"]["commands"], row)) for row in run["timeline"]["commands"]]
        self.assertEqual({row["round"] for row in rows if row["kind"] == "compute"}, set(range(5)))
        events = json.loads(trace.read_text())["traceEvents"]
        drawn = [event for event in events if event.get("cat") in ("compute", "exchange") and event["ph"] == "X"]
        self.assertEqual(sorted(event["args"]["round"] for event in drawn if "round" in event["args"]),
                         sorted(row["round"] for row in rows if row["round"] is not None))
        if binary.DEVICE_COUNT < 2:
            return
        self.assertIn(run["worst_round"], range(5))
        self.assertGreaterEqual(run["metrics"]["worst_round_imbalance_percent"], run["metrics"]["round_imbalance_percent"])
        ends = {}  # of arrows
        for event in events:
            if event.get("cat") == "exchange" and event["ph"] in "sf":
                on = [e for e in drawn if e["tid"] == event["tid"] and 0 <= round(1000 * (event["ts"] - e["ts"])) < round(1000 * e["dur"])]
                ends.setdefault(event["id"], []).append((on[0]["pid"], on[0]["args"].get("round")))
        self.assertTrue(ends)
        for (sender, sent), (receiver, awaited) in ends.values():
            self.assertEqual(sent, awaited)
            self.assertNotEqual(sender, receiver)

    def test_adaptive_says_when_borders_moved_and_to_where(self):
        if binary.DEVICE_COUNT < 2:
            self.skipTest("there is one device")
        file = self.folder / "r.json"
        told = self.good("run", "stencil", *binary.DEVICES, "--size", 1024, "--iterations", 64, "--mode", "resident", "-s", "adaptive", "-n", 2,
                         "--slow", "1=8@1ms", "-o", file)
        run = json.loads(file.read_text())["runs"][0]
        self.assert_schema(file, "result")
        self.assertEqual(run["borders"][0]["sample"], 0)
        for moved in run["borders"]:
            self.assertLess(moved["sample"], len(run["samples_ns"]))
            self.assertEqual({sum(shares) for shares in (moved["first"], *(move["shares"] for move in moved["moves"]))}, {1024})
            rounds = [move["round"] for move in moved["moves"]]
            self.assertEqual(rounds, sorted(set(rounds) & {4, 8, 16, 32}))
        first, after = run["borders"][0]["first"], run["borders"][0]["moves"][-1]["shares"]
        self.assertLess(after[1], first[1])  # of the one that becomes slow
        self.assertIn(f"moved borders in {len(run['borders'])} of 2 samples, the first time after round ", " ".join(told.out.split()))

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


class Persistent(Stencil):
    COMMON = ("--size", 61, "--iterations", 20, "-s", "single,equal")

    def test_persistent_kernels_have_the_bits_of_enqueued_steps(self):
        for more in binary.first_when_quick(3, ((), ("--check-every", 7), ("--checkpoint-rounds", 6), ("--precision", "fp64"))):
            enqueued = self.digests(*self.COMMON, "--steps", "enqueued", *more)
            runs = self.run_stencil(*self.COMMON, "--steps", "persistent", *more)
            done = [run for run in runs if run["status"] == "ok"]
            self.assertTrue(done, runs)
            if "--sub-devices" in map(str, binary.DEVICES):
                self.assertEqual(done, runs)  # two sub-devices have a core each, and reach each other's memory
            for run in done:
                self.assertEqual(({run["verify"]["digest"]}, run["verify"]["status"]), (enqueued, "passed"), more)
                self.assertIn("by persistent kernels", run["verify"]["method"])

    def test_they_leave_steps_by_themselves_that_are_looked_at(self):
        run = self.run_stencil("--size", 61, "--iterations", 20, "-s", "single", "--mode", "resident", "--steps", "persistent", "--check-every", 7)[0]
        columns = run["timeline"]["columns"]["commands"]
        rows = [dict(zip(columns, row)) for row in run["timeline"]["commands"]]
        rounds = {name: [row["round"] for row in rows if row["label"] == name] for name in ("jacobi2d_persistent", "jacobi2d", "change")}
        self.assertEqual(rounds, {"jacobi2d_persistent": [0, 7, 14], "jacobi2d": [6, 13], "change": [6, 13]})

    def test_where_not_all_groups_can_stay_they_are_refused_and_auto_does_without(self):
        if not "--sub-devices" in map(str, binary.DEVICES):
            self.skipTest("a GPU has room")
        large = ("--size", 600, "--iterations", 3, "--mode", "resident", "-s", "single")
        refused = self.run_stencil(*large, "--steps", "persistent", code=5)[0]
        self.assertEqual(refused["status"], "unsupported")
        self.assertIn("--steps persistent: not all work-groups stay on the device together; accepted: auto, enqueued", refused["reason"])
        self.assertEqual(self.run_stencil(*large)[0]["status"], "ok")


class ByKernels(Stencil):
    def test_kernels_that_exchange_halos_have_the_bits_of_puts(self):
        if "--sub-devices" not in map(str, binary.DEVICES):
            self.skipTest("devices may share cores, or reach nothing in common")
        for given in binary.first_when_quick(2, (("--kind", "heat3d", "--size", 19),
                                                 ("--size", 61, "--check-every", 4, "--checkpoint-rounds", 3),
                                                 ("--kind", "star", "--size", 51, "--radius", 1))):
            common = (*given, "--iterations", 9, "-s", "equal,sequential")
            puts = self.digests(*common, "--exchange", "puts")
            for overlap in ("on", "off") if binary.THOROUGH or "heat3d" in given else ("on",):
                runs = self.run_stencil(*common, "--exchange", "kernels", "--overlap", overlap)
                self.assertEqual({(run["status"], run["verify"]["status"]) for run in runs}, {("ok", "passed")}, given)
                self.assertEqual({run["verify"]["digest"] for run in runs}, puts, given)
                told = {run["strategy"]: run["verify"]["method"].endswith("halos exchanged by the kernels of steps") for run in runs
                        if "norm" not in run["verify"]["method"]}
                self.assertIn(told, ({}, {"equal": True, "sequential": False}))

    def test_where_kernels_reach_nothing_in_common_they_are_refused_and_auto_does_without(self):
        if binary.DEVICE_COUNT < 2:
            self.skipTest("there is one device")
        given = ("--size", 16, "--iterations", 3, "--mode", "resident", "-s", "equal", "--peer", "staged")
        if "--sub-devices" in map(str, binary.DEVICES):
            told = self.run_stencil(*given, "--exchange", "kernels", code=5)[0]
            self.assertIn("exchange", told["reason"])
        self.assertEqual(self.run_stencil(*given)[0]["status"], "ok")


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
            (("--size", 4, "--kind", "star"), ("--size", "--radius 2", "5 to")),
            (("--size", 16, "--kind", "star", "--radius", 5), ("--radius", "1 to 4")),
            (("--size", 16, "--kind", "star", "--depth", 2), ("--depth", "star")),
            (("--size", 16, "--radius", 1), ("--radius", "--kind star")),
            (("--size", 16, "--rate", "0.15"), ("--rate", "--kind heat3d")),
            (("--size", 16, "--check-every", 101), ("--check-every", "1 to 100")),
            (("--size", 16, "--kind", "heat3d", "--check-every", 5), ("--check-every", "--kind jacobi2d")),
            (("--size", 16384, "--iterations", 100000, "--check-every", 2), ("--check-every", "accepted: 25 or more")),
            (("--size", 16, "--initial", "ramp"), ("--initial", "--kind star")),
            (("--size", 16, "--kind", "star", "--initial", "eigenmode"), ("--initial", "jacobi2d and heat3d")),
            (("--size", 16, "--precision", "fp16"), ("--precision", "fp64")),
            (("--size", 16, "--split", "slabs"), ("--split", "rows, blocks")),
            (("--size", 16, "--kind", "heat3d", "--split", "rows"), ("--split", "slabs, blocks")),
            (("--size", 16, "--steps", "persistent", "--depth", 2), ("--steps", "--depth 1", "auto, enqueued")),
            (("--size", 16, "--steps", "persistent", "--kind", "heat3d"), ("--steps", "--kind jacobi2d")),
            (("--size", 16, "--steps", "persistent", "--split", "blocks"), ("--steps", "--split rows")),
            (("--size", 16, "--steps", "at-once"), ("--steps", "persistent")),
            (("--size", 16, "--exchange", "kernels", "--depth", 2), ("--exchange", "--depth 1", "auto, puts")),
            (("--size", 16, "--exchange", "kernels", "--split", "blocks"), ("--exchange", "--split blocks")),
            (("--size", 16, "--exchange", "mail"), ("--exchange", "kernels")),
            (("--size", 16, "--split", "blocks", "--check-every", 2), ("--check-every", "--split rows")),
        ):
            self.refused(["run", "stencil", *binary.DEVICES, *arguments], 2, *words)

    def test_rows_that_are_too_few_for_the_devices_are_refused(self):
        if binary.DEVICE_COUNT < 2:
            self.skipTest("there is one device")
        deep = ("--size", 16, "--depth", 9)
        self.refused(["run", "stencil", *binary.DEVICES, *deep], 2, "--depth", "each of 2 devices", "1 to 8")
        self.assertEqual(self.run_stencil(*deep, "--iterations", 2, "--mode", "resident", "--device-counts", 1)[0]["status"], "ok")

    def test_files_that_are_no_initial_state_are_refused(self):
        for name, element, rows, arguments, words in (
            ("wide", "<f8", 16, (), ("16 x 16 of float64", "n x n of float32")),
            ("narrow", "<f4", 16, ("--precision", "fp64"), ("of float32", "n x n of float64")),
            ("flat", "<f4", 8, (), ("8 x 16",)),
            ("plane", "<f4", 16, ("--kind", "heat3d"), ("n*n x n",)),
            ("twice", "<f4", 16, ("--initial", "uniform"), ("--initial", "--input")),
        ):
            file = self.folder / f"{name}.npy"
            header = f"{{'descr': '{element}', 'fortran_order': False, 'shape': ({rows}, 16), }}".ljust(117) + "\n"
            file.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(rows * 16 * int(element[2])))
            self.refused(["run", "stencil", *binary.DEVICES, "--input", file, *arguments], 2, *words)


if __name__ == "__main__":
    binary.main()
