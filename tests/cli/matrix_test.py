#!/usr/bin/env python3
"""Suite matrix as a user runs it: one digest whatever the split, NumPy files in and out, and what is refused. Usage: matrix_test.py BINARY
[unittest arguments]. The helpers are those of binary.py. No time is ever asserted on."""

import hashlib
import json
import struct

import binary
from binary import Case


def write_npy(file, rows, kind="<f4", order="False", shape=None, cut=0):
    """rows: a list of lists."""
    shape = shape or f"({len(rows)}, {len(rows[0])})"
    text = f"{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    code = {"<f4": "<f", "<f8": "<d", "<i4": "<i"}[kind]
    data = b"".join(struct.pack(code, x) for row in rows for x in row)
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data[:len(data) - cut])


def read_npy(file):
    data = file.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    return data[10:10 + length].decode(), data[10 + length:]


class Matrix(Case):
    def run_matrix(self, *arguments, devices=None):
        file = self.folder / "r.json"
        self.good("run", "matrix", *(devices or binary.DEVICES), "-n", 1, "--warmup", 0, "-o", file, *arguments)
        return json.loads(file.read_text())["runs"]


class Computes(Matrix):
    def test_one_digest_for_every_strategy_axis_mode_and_number_of_devices(self):
        digests, cases = set(), 0
        for axis in ("rows", "cols", "tiles"):
            counts = ["--device-counts", "1,2"] if binary.DEVICE_COUNT > 1 else []
            for run in self.run_matrix("--size", 97, "--cols", 150, "--inner", 40, "--axis", axis, "-s", "all", *counts):
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
                digests.add(run["verify"]["digest"])
                cases += 1
        self.assertEqual(len(digests), 1)
        self.assertGreaterEqual(cases, 3 * 2 * 4)

    def test_devices_that_gather_what_both_need_upload_it_once_and_get_the_same_bits(self):
        if binary.DEVICE_COUNT < 2:
            self.skipTest("one device")
        for axis, size in (("rows", ("--size", 97, "--cols", 150, "--inner", 40)), ("cols", ("--size", 97, "--cols", 150, "--inner", 40))):
            digests, uploaded = set(), {}
            for peer in ("staged", "host"):
                for run in self.run_matrix(*size, "--axis", axis, "--mode", "end-to-end", "-s", "equal,dynamic,single", "--peer", peer):
                    self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
                    digests.add(run["verify"]["digest"])
                    if run["strategy"] == "equal":
                        uploaded[peer] = sum(part["bytes_in"] for part in run["per_device"])
            self.assertEqual(len(digests), 1)
            shared = 4 * 40 * (150 if axis == "rows" else 97)
            self.assertEqual(uploaded["staged"] - uploaded["host"], shared)

    def test_a_path_that_devices_do_not_have_is_said_once_in_the_record_and_done_without(self):
        file = self.folder / "r.json"
        result = self.good("run", "matrix", *binary.DEVICES, "-n", 1, "--warmup", 0, "-o", file, "--size", "97,98", "--cols", 150, "--inner", 40,
                           "--mode", "end-to-end", "-s", "equal", "--peer", "direct")
        document = json.loads(file.read_text())
        self.assertEqual([run["verify"]["status"] for run in document["runs"]], ["passed", "passed"])
        if binary.DEVICE_COUNT > 1:
            self.assertIn("devices exchange no data: no direct path from", result.err)
            note, = document["exchange_notes"]  # of both problems
            self.assertIn("devices exchange no data: no direct path from", note)
            for out in (result.out, self.good("report", file).out):
                self.assertEqual(" ".join(out.split()).count(f"exchange: {note}"), 1)
            self.assert_schema(file, "result")
            self.run_matrix("--size", "97", "--cols", 150, "--inner", 40, "--mode", "end-to-end", "-s", "equal", "--peer", "staged")
            self.assertNotIn("exchange_notes", json.loads(file.read_text()))  # nobody looked for another path
        self.refused(["run", "matrix", "--peer", "nvlink"], 2, "--peer", "nvlink", "auto, direct, staged, host")

    def test_operands_larger_than_a_device_go_through_it_in_waves_to_the_same_bits(self):
        digests, capped = set(), [f"{i}=1300KiB" for i in range(binary.DEVICE_COUNT)]
        size = ("--size", 190, "--cols", 230, "--inner", 900, "--mode", "end-to-end", "-s", "equal,dynamic", "--axis", "tiles")
        for extra in ([], ["--cap-memory", ",".join(capped)]):
            for run in self.run_matrix(*size, *extra):
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
                digests.add(run["verify"]["digest"])
        self.assertEqual(len(digests), 1)
        bytes_in = sum(p["bytes_in"] for p in run["per_device"])
        self.assertGreater(bytes_in, 2 * run["work"]["bytes_in"])  # each wave brings its rows and columns

    def test_the_record_has_sizes_as_numbers_and_counts_operations(self):
        run = self.run_matrix("--size", 60, "--inner", "2^4", "--precision", "fp64", "--alpha", "-0.5", "--beta", "2", "-s", "equal",
                              devices=binary.ONE_DEVICE)[0]
        params = run["params"]
        self.assertEqual((params["rows"], params["cols"], params["inner"]), (60, 60, 16))
        self.assertEqual((params["precision"], params["alpha"], params["beta"]), ("fp64", "-0.5", "2"))
        self.assertEqual(run["work"]["ops"], 2 * 60 * 60 * 16)
        self.assertEqual(run["rate"]["unit"], "FLOP/s")
        self.assertEqual(run["work"]["bytes_in"], 8 * (60 * 16 + 16 * 60 + 60 * 60))

    def test_files_are_multiplied_and_the_result_is_a_file_whose_bytes_have_the_digest(self):
        a, b, c, out = (self.folder / name for name in ("a.npy", "b.npy", "c.npy", "out.npy"))
        write_npy(a, [[1, 2, 3], [4, 5, 6]])
        write_npy(b, [[1, 0], [0, 1], [2, -1]])
        write_npy(c, [[10, 20], [30, 40]])
        for extra, expected in (([a, b], [7, -1, 16, -1]), ([a, b, c], [12, 9, 31, 19])):
            beta = ["--beta", "0.5"] if len(extra) == 3 else []
            run = self.run_matrix("--input", ",".join(map(str, extra)), "--output", out, "-s", "equal", *beta)[0]
            text, data = read_npy(out)
            self.assertIn("'shape': (2, 2)", text)
            self.assertEqual(list(struct.unpack("<4f", data)), expected)
            self.assertEqual(hashlib.sha256(data).hexdigest(), run["verify"]["digest"])
            self.assertEqual((run["params"]["rows"], run["params"]["cols"], run["params"]["inner"]), (2, 2, 3))
            self.assertIn("a.npy", run["params"]["input"])

    def test_integer_data_are_verified_exactly(self):
        run = self.run_matrix("--size", 64, "--data", "integers", "-s", "equal", "--mode", "end-to-end",
                              devices=binary.ONE_DEVICE)[0]
        self.assertIn("exactly", run["verify"]["method"])

    def test_empty_matrices_are_computed(self):
        for arguments in (("--size", 0), ("--size", 5, "--cols", 0), ("--size", 5, "--inner", 0)):
            with self.subTest(arguments=arguments):
                for run in self.run_matrix(*arguments, "-s", "equal"):
                    self.assertEqual(run["verify"]["status"], "passed", run)


    def test_infinities_and_subnormal_numbers_are_right_where_ieee_arithmetic_gives_them(self):
        a, b, out = (self.folder / name for name in ("a.npy", "b.npy", "out.npy"))
        for kind, large, small in (("<f4", 1e30, 1e-22), ("<f8", 1e200, 1e-160)):
            precision = "fp32" if kind == "<f4" else "fp64"
            code = kind.replace("f4", "f").replace("f8", "d")
            write_npy(a, [[large, -large, 1], [small, 0, 0]], kind=kind)
            write_npy(b, [[large, 0, small], [0, large, 0], [5, 0, 0]], kind=kind)
            runs = self.run_matrix("--input", f"{a},{b}", "--precision", precision, "--verify", "full", "--output", out, "-s", "equal",
                                   devices=binary.ONE_DEVICE)
            for run in runs:
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
            got = [x[0] for x in struct.iter_unpack(code, read_npy(out)[1])]
            self.assertEqual(got[:2], [float("inf"), float("-inf")])
            self.assertTrue(0 < got[5] < (1.2e-38 if precision == "fp32" else 2.3e-308), got)  # small * small


class Refuses(Matrix):
    def test_bad_options_name_value_and_what_is_accepted(self):
        for option, bad in (("--precision", "fp16"), ("--axis", "depth"), ("--data", "zeros"), ("--kernel", "cuda"), ("--cols", "-1"),
                            ("--inner", "many"), ("--alpha", "two"), ("--alpha", "nan"), ("--beta", "inf"), ("--beta", "1x")):
            with self.subTest(option=option, bad=bad):
                self.refused(["run", "matrix", f"{option}={bad}"], 2, option, f'"{bad}"', "accepted")
        for option in ("--alpha", "--beta"):
            for bad, precision in (("1e39", "fp32"), ("1e-50", "fp32"), ("1e-40", "fp32"), ("-1e39", "3xtf32"), ("1e-310", "fp64")):
                with self.subTest(option=option, bad=bad):
                    self.refused(["run", "matrix", f"{option}={bad}", "--precision", precision], 2, option, f'"{bad}"', precision, "accepted")
        self.refused(["run", "matrix", "--kernel", "tensor"], 2, "--kernel", "fp64")
        self.refused(["run", "matrix", "--kernel", "portable", "--precision", "3xtf32"], 2, "--kernel", "tensor")
        self.refused(["run", "matrix", "--size", "2^22"], 2, "--size", "accepted")
        self.refused(["run", "merkle", "--alpha", "2"], 2, "--alpha", "matrix")

    def test_bad_files_are_one_line_with_the_file_and_what_is_accepted(self):
        a, b, bad = self.folder / "a.npy", self.folder / "b.npy", self.folder / "bad.npy"
        write_npy(a, [[1, 2, 3], [4, 5, 6]])
        write_npy(b, [[1, 0], [0, 1], [2, -1]])

        def refuse(files, *names, extra=()):
            self.refused(["run", "matrix", "--input", ",".join(map(str, files)), *extra], 2, "--input", *names)

        refuse([a], "1 file", "A.npy,B.npy")
        refuse([a, b, a], "3 files", "A.npy,B.npy")
        refuse([a, b, a, b], "4", "at most 3")
        refuse([a, b], "2 files", "A.npy,B.npy,C.npy", extra=("--beta", "1"))
        refuse([a, a], "2 x 3", "as many columns in A as rows in B")
        refuse([a, b, b], "3 x 2", "2 x 2", extra=("--beta", "1"))
        refuse([a, self.folder / "none.npy"], "none.npy", "cannot be read")
        refuse([a, b], "float32", "float64", extra=("--precision", "fp64"))
        refuse([a, b], "--cols", extra=("--cols", "4"))
        for arguments in ({"kind": "<i4"}, {"order": "True"}, {"shape": "(6,)"}, {"cut": 1}):
            with self.subTest(arguments=arguments):
                write_npy(bad, [[1, 2], [3, 4], [5, 6]], **arguments)
                refuse([a, bad], "bad.npy", "accepted")
        bad.write_text("not a matrix")
        refuse([a, bad], "bad.npy", "not a .npy file", "accepted")


if __name__ == "__main__":
    binary.main()
