#!/usr/bin/env python3
"""Suite pinn as a user runs it: one loss curve whatever the split, files in and out, and what is refused. Usage: pinn_test.py BINARY [unittest
arguments]. The helpers are those of binary.py. No time is ever asserted on."""

import json
import struct

import binary
from binary import Case

NETWORK = ("--layers", 2, "--width", 8, "--shards", 8)
RESIDENT = ("--mode", "resident")
SIX = ("--size", 100, *NETWORK, "--iterations", 6)


def npy(rows, values, element="<f4"):
    header = f"{{'descr': '{element}', 'fortran_order': False, 'shape': ({rows}, {len(values) // rows}), }}".ljust(117) + "\n"
    kind = "f" if element == "<f4" else "d"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + struct.pack(f"<{len(values)}{kind}", *values)


class Pinn(Case):
    def run_pinn(self, *arguments, code=0, file="r.json", devices=None):
        result = binary.mgpu("run", "pinn", *(devices or binary.DEVICES), "-n", 1, "--warmup", 0, "-o", self.folder / file, *arguments)
        self.assertEqual(result.code, code, result)
        return json.loads((self.folder / file).read_text())["runs"]

    def passed(self, *arguments, devices=None):
        runs = [run for run in self.run_pinn(*arguments, devices=devices) if run["status"] != "unsupported"]
        for run in runs:
            self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
        return runs


class Trains(Pinn):
    def test_one_loss_curve_for_every_strategy_mode_and_path_with_new_points_and_checkpoints(self):
        found = [run["verify"] for run in self.passed(*SIX, *RESIDENT, "--resample", 2, "-s", "all", "--trace", self.folder / "t.json")]
        more = ("--resample", 2, "--checkpoint-rounds", 2, "-s", "equal")
        found += [run["verify"] for run in self.passed(*SIX, "--mode", "end-to-end", "--peer", "staged", *more)]
        self.assertGreater(len(found), 3)
        self.assertEqual(len({verify["digest"] for verify in found}), 1)
        curves = {json.dumps(verify["found"]["curves"]) for verify in found}
        self.assertEqual(len(curves), 1)
        losses = json.loads(curves.pop())[0]
        self.assertEqual((losses["name"], losses["rounds"]), ("loss", [1, 2, 3, 4, 5, 6]))
        self.assertIn("losses of the first 6 steps with a training by differences", found[0]["method"])
        self.assert_schema(self.folder / "r.json", "result")
        names = {event["name"] for event in json.loads((self.folder / "t.json").read_text())["traceEvents"]}
        self.assertIn("adam", " ".join(names))

    def test_fewer_points_than_shards_of_which_there_are_128_have_one_loss_curve(self):
        few = ("--size", 40, "--layers", 2, "--width", 8, "--iterations", 3, *RESIDENT)
        found = [run["verify"]["digest"] for run in self.passed(*few, "-s", "single,equal")]
        found += [run["verify"]["digest"] for run in self.passed(*few, "-s", "equal", "--shards", 128)]
        self.assertEqual((len(found), len(set(found))), (3, 1))

    def test_every_equation_is_trained_and_compared_with_its_solution(self):
        for problem in binary.first_when_quick(2, ("allen-cahn", "helmholtz", "poisson")):  # poisson: below as well
            run = self.passed(*SIX, *RESIDENT, "--problem", problem, "-s", "single", "--snapshots", 2, devices=binary.ONE_DEVICE)[0]
            figures = {figure["name"]: figure["value"] for figure in run["verify"]["found"]["figures"]}
            self.assertGreater(figures["relative L2 error"], 0.05, problem)  # after six steps
            self.assertEqual(figures["loss of the initial state"] > 0, problem == "allen-cahn")

    def test_poisson_comes_near_its_solution(self):
        options = ("--size", 100, *NETWORK, "--problem", "poisson", "--iterations", 400, "--learning-rate", "0.01", *RESIDENT)
        run = self.passed(*options, "-s", "single", devices=binary.ONE_DEVICE)[0]  # its bits are those of any split
        losses, errors = run["verify"]["found"]["curves"]
        self.assertLess(losses["values"][-1], losses["values"][0] / 20)
        self.assertEqual((len(errors["rounds"]), errors["rounds"][-1]), (25, 400))
        self.assertLess(errors["values"][-1], 0.5)

    def test_members_of_an_ensemble_are_trained_as_by_themselves_whoever_has_them(self):
        six = (*SIX, "--partition", "ensemble", "--members", 3, "--seed", 5)
        found = [run["verify"] for run in self.passed(*six, "-s", "single,equal,dynamic", "--verify", "full", "--output", self.folder / "best.npy")]
        self.assertEqual((len(found), len({verify["digest"] for verify in found})), (6, 1))  # in both modes
        figures = {figure["name"]: figure["value"] for figure in found[0]["found"]["figures"]}
        self.assertLessEqual(figures["relative L2 error, best member"], figures["relative L2 error, median of the members"])
        best = found[0]["found"]["curves"][0]
        seed = int(figures["seed of the best member"])
        alone = self.passed(*SIX, *RESIDENT, "--seed", seed, "-s", "single", "--output", self.folder / "alone.npy",
                            devices=binary.ONE_DEVICE)[0]["verify"]["found"]
        self.assertEqual(best["values"], alone["curves"][0]["values"])
        self.assertEqual((self.folder / "best.npy").read_bytes(), (self.folder / "alone.npy").read_bytes())

    def test_parts_of_a_domain_have_the_same_bits_whoever_owns_them_and_come_near_the_solution(self):
        parts = ("--partition", "domain", "--parts", 3)
        found = [run["verify"] for run in self.passed(*SIX, *parts, "--resample", 2, "-s", "single,equal", "--verify", "full")]
        found += [run["verify"] for run in self.passed(*SIX, *parts, "--resample", 2, *RESIDENT, "-s", "equal", "--peer", "staged")]
        self.assertEqual((len(found), len({verify["digest"] for verify in found})), (5, 1))
        self.assertIn("another problem than that of one network", found[0]["method"])
        options = ("--size", 150, *NETWORK, *parts, "--problem", "poisson", "--iterations", 500, "--learning-rate", "0.01", *RESIDENT)
        run = self.passed(*options, "-s", "single", "--output", self.folder / "parts.npy", devices=binary.ONE_DEVICE)[0]
        figures = {figure["name"]: figure["value"] for figure in run["verify"]["found"]["figures"]}
        self.assertLess(figures["relative L2 error"], 0.6)
        self.assertLess(figures["greatest step between parts"], 0.3)
        self.refused(["run", "pinn", *binary.DEVICES, *NETWORK, "--problem", "poisson", "--input", self.folder / "parts.npy"], 2, "319 parameters", "105")

    def test_a_training_that_is_continued_ends_with_the_same_bits(self):
        whole, half, rest = (self.folder / name for name in ("whole.npy", "half.npy", "rest.npy"))
        options, one = (*NETWORK, *RESIDENT, "--resample", 2, "--snapshots", 0), ("-s", "single")
        self.passed("--size", 100, *options, *one, "--iterations", 6, "--output", whole, devices=binary.ONE_DEVICE)
        self.passed("--size", 100, *options, *one, "--iterations", 4, "--output", half, devices=binary.ONE_DEVICE)
        self.passed(*options, "-s", "equal", "--input", half, "--iterations", 2, "--output", rest)  # by any number of devices
        self.assertEqual(rest.read_bytes(), whole.read_bytes())
        solution = (self.folder / "rest.solution.npy").read_bytes()
        self.assertEqual(len(solution), 128 + 3 * 41 * 201 * 4)


class Refuses(Pinn):
    def test_what_cannot_be_done_is_refused_in_one_line_before_anything_runs(self):
        for arguments, words in (
            (("--size", 0), ("--size",)),
            (("--size", "2^24"), ("--size",)),
            (("--problem", "heat"), ("--problem", "burgers")),
            (("--preset", "huge"), ("--preset", "deepxde")),
            (("--layers", 1), ("--layers", "2 to 32")),
            (("--width", 2000), ("--width", "2 to 1024")),
            (("--iterations", 0), ("--iterations", "1 to")),
            (("--shards", 48), ("--shards", "power of two")),
            (("--shards", 512), ("--shards", "1 to 256")),
            (("--learning-rate", "-1"), ("--learning-rate", "above 0")),
            (("--decay", "1.5"), ("--decay", "up to 1")),
            (("--decay-steps", "0"), ("--decay-steps", "above 0")),
            (("--data-weight", "0"), ("--data-weight", "above 0")),
            (("--boundary-points", 0), ("--boundary-points", "1 to")),
            (("--initial-points", 5, "--problem", "poisson"), ("--initial-points", "knows no time")),
            (("--constraints", "none"), ("--constraints", "soft", "hard")),
            (("--constraints", "hard", "--boundary-points", 100), ("--boundary-points", "--constraints hard", "auto")),
            (("--constraints", "hard", "--data-weight", 5), ("--data-weight", "--constraints hard")),
            (("--resample", 0), ("--resample", "1 to")),
            (("--compute", "tensor"), ("--compute", "layers")),
            (("--snapshots", 5000), ("--snapshots", "0 to 1000")),
            (("--partition", "width"), ("--partition", "ensemble")),
            (("--members", 3), ("--members", "--partition data")),
            (("--parts", 3), ("--parts", "--partition data")),
            (("--partition", "domain", "--parts", 1), ("--parts", "2 to 64")),
            (("--partition", "domain", "--constraints", "hard"), ("--constraints", "soft")),
            (("--partition", "domain", "--checkpoint-rounds", 5), ("--checkpoint-rounds", "domain")),
            (("--partition", "ensemble", "--members", 0), ("--members", "1 to 1024")),
            (("--partition", "ensemble", "--snapshots", 5), ("--snapshots", "ensemble")),
            (("--partition", "ensemble", "--checkpoint-rounds", 5), ("--checkpoint-rounds", "ensemble")),
        ):
            self.refused(["run", "pinn", *binary.DEVICES, *(("--size", 64) if "--size" not in arguments else ()), *arguments], 2, *words)

    def test_fewer_shards_than_devices_are_refused(self):
        if binary.DEVICE_COUNT < 2:
            self.skipTest("there is one device")
        self.refused(["run", "pinn", *binary.DEVICES, "--size", 64, "--shards", 1], 2, "--shards", "2 devices")

    def test_a_learning_rate_that_diverges_is_said(self):
        options = ("--size", 100, *NETWORK, *RESIDENT, "--learning-rate", 50, "--iterations", 30)
        runs = self.run_pinn(*options, "-s", "single", devices=binary.ONE_DEVICE)
        self.assertIn("--learning-rate 50 is too high", " ".join(runs[0]["warnings"]))

    def test_files_of_no_training_or_of_another_one_are_refused(self):
        count = 3 * 8 + 8 * 8 + 8 + 9
        good = [1, 2, 8, 0, 10, 100] + [0.5] * (3 * count)
        def changed(at, value):
            return good[:at] + [value] + good[at + 1:]
        for name, rows, values, element, words in (
            ("wide", count + 2, good, "<f8", ("of float64", "n x 3 of float32")),
            ("columns", 3, good[:6], "<f4", ("3 x 2",)),
            ("format", count + 2, changed(0, 9), "<f4", ("does not begin with 1",)),
            ("layers", count + 2, changed(1, 3), "<f4", ("3 x 8", "--layers 2 --width 8")),
            ("problem", count + 2, changed(3, 2), "<f4", ("is of helmholtz", "--problem burgers")),
            ("steps", count + 2, changed(4, 0.5), "<f4", ("no count for the steps",)),
            ("few", 12, good[:36], "<f4", ("10 parameters", str(count))),
            ("nan", count + 2, changed(9, float("nan")), "<f4", ("no finite number in row 3",)),
        ):
            file = self.folder / f"{name}.npy"
            file.write_bytes(npy(rows, values, element))
            self.refused(["run", "pinn", *binary.DEVICES, *NETWORK, "--input", file], 2, str(file), *words)
        file = self.folder / "good.npy"
        file.write_bytes(npy(count + 2, good))
        self.refused(["run", "pinn", *binary.DEVICES, *NETWORK, "--partition", "ensemble", "--input", file], 2, "--input", "ensemble")


if __name__ == "__main__":
    binary.main()
