#!/usr/bin/env python3
"""Suite tropical as a user runs it: one digest whatever the split, graphs and matrices in and out, routes, and what is refused. Usage:
tropical_test.py BINARY [unittest arguments]. The helpers are those of binary.py. No time is ever asserted on."""

import json
import struct

import binary
from binary import Case
from matrix_test import read_npy, write_npy

INF = float("inf")


class Tropical(Case):
    def run_tropical(self, *arguments, devices=None):
        file = self.folder / "r.json"
        self.good("run", "tropical", *(devices or binary.DEVICES), "-n", 1, "--warmup", 0, "-o", file, *arguments)
        return json.loads(file.read_text())["runs"]

    def digests(self, *arguments):
        found = set()
        for run in self.run_tropical(*arguments):
            if run["status"] != "unsupported":
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
                found.add(run["verify"]["digest"])
        return found

    def write(self, name, text):
        file = self.folder / name
        file.write_text(text)
        return file

    def refuse(self, code, words, *arguments):
        self.refused(["run", "tropical", *binary.ONE_DEVICE, "-n", 1, "--warmup", 0, "-s", "single", *arguments], code, *words)


class Computes(Tropical):
    def test_one_digest_of_a_product_for_every_strategy_axis_mode_and_number_of_devices(self):
        counts = ["--device-counts", "1,2"] if binary.DEVICE_COUNT > 1 else []
        found = self.digests("--size", 97, "--cols", 150, "--inner", 40, "-s", "all", *counts, "--paths", "--density", 0.2)
        for axis in ("cols", "tiles"):
            strategies = "equal,dynamic" if binary.THOROUGH else "dynamic"
            found |= self.digests("--size", 97, "--cols", 150, "--inner", 40, "-s", strategies, "--axis", axis, "--paths", "--density", 0.2)
        self.assertEqual(len(found), 1)

    def test_one_digest_of_shortest_paths_for_every_strategy_mode_and_path(self):
        found = self.digests("--op", "apsp", "--size", 101, "-s", "all", "--precision", "int32", "--data", "negative", "--paths")
        found |= self.digests("--op", "apsp", "--size", 101, "-s", "equal", "--precision", "int32", "--data", "negative", "--paths", "--peer", "staged")
        self.assertEqual(len(found), 1)

    def test_tiny_ones_one_item_and_more_devices_than_items(self):
        for arguments in binary.first_when_quick(2, (("--size", 3, "--cols", 1, "--inner", 0), ("--op", "apsp", "--size", 1), ("--size", 1))):
            self.assertEqual(len(self.digests(*arguments, "-s", "equal,single", "--mode", "resident")), 1, arguments)


class Files(Tropical):
    def test_a_graph_of_each_format_gives_the_same_lengths_and_the_route_that_is_there(self):
        dimacs = self.write("g.gr", "c four vertices\np sp 4 5\na 1 2 4\na 1 3 1\na 3 2 2\na 2 4 -1\na 1 4 9\n")
        market = self.write("g.mtx", "%%MatrixMarket matrix coordinate real general\n4 4 5\n1 2 4\n1 3 1\n3 2 2\n2 4 -1\n1 4 9\n")
        matrix = self.folder / "g.npy"
        write_npy(matrix, [[INF, 4, 1, 9], [INF, INF, INF, -1], [INF, 2, INF, INF], [INF] * 4])
        output, digests = self.folder / "out.npy", set()
        for graph in (dimacs, market, matrix):
            run, = self.run_tropical("--op", "apsp", "--input", graph, "--route", "0:3", "--output", output, "-s", "single", "--mode", "resident",
                                     devices=binary.ONE_DEVICE)
            self.assertIn("route 0 -> 3: 0 2 1 3, length 2", run["verify"]["method"])
            digests.add(run["verify"]["digest"])
        self.assertEqual(len(digests), 1)
        header, data = read_npy(output)
        self.assertIn("'<f4'", header)
        self.assertEqual(struct.unpack("<16f", data), (0, 3, 1, 2, INF, 0, INF, -1, INF, 2, 0, 1, INF, INF, INF, 0))
        header, data = read_npy(self.folder / "out.paths.npy")
        self.assertIn("'<i4'", header)
        self.assertEqual(struct.unpack("<16i", data), (-1, 2, 0, 1, -1, -1, -1, 1, -1, 2, -1, 1, -1, -1, -1, -1))

    def test_a_product_of_files_in_int32_has_the_largest_number_where_there_is_nothing(self):
        a, b, output, none = self.folder / "a.npy", self.folder / "b.npy", self.folder / "c.npy", 2147483647
        write_npy(a, [[1, none, -3]], kind="<i4")
        write_npy(b, [[5, none], [0, 0], [none, none]], kind="<i4")
        run, = self.run_tropical("--precision", "int32", "--input", f"{a},{b}", "--output", output, "-s", "single", "--mode", "end-to-end",
                                 devices=binary.ONE_DEVICE)
        self.assertEqual(run["verify"]["status"], "passed")
        self.assertEqual(struct.unpack("<2i", read_npy(output)[1]), (6, none))

    def test_what_it_cannot_take_is_refused_in_one_line(self):
        bad = self.folder / "bad.npy"
        for number in (float("nan"), -INF, 3e38):
            write_npy(bad, [[1, number], [2, 3]])
            self.refuse(2, ("bad.npy, entry 1: ", "accepted: magnitudes up to"), "--op", "apsp", "--input", bad)
        write_npy(bad, [[1, 2, 3]])
        self.refuse(2, ("1 x 3", "as many columns as rows"), "--op", "apsp", "--input", bad)
        self.refuse(2, ("1 file(s)", "A.npy,B.npy"), "--input", bad)
        self.refuse(2, ("has 3 columns", "1 rows"), "--input", f"{bad},{bad}")
        self.refuse(2, ("<f4", "int32 (<i4)"), "--input", f"{bad},{bad}", "--precision", "int32")
        cycle = self.write("cycle.gr", "p sp 3 3\na 1 2 1\na 2 3 -3\na 3 2 2\n")
        self.refuse(2, ("cycle", "length -1", "accepted: graphs whose cycles"), "--op", "apsp", "--input", cycle)
        self.refuse(2, ("line 2", "a vertex from 1 to 2"), "--op", "apsp", "--input", self.write("x.gr", "p sp 2 1\na 1 3 1\n"))
        self.refuse(2, ("files named .gr, .mtx or .npy",), "--op", "apsp", "--input", self.write("x.txt", "1"))
        for words, arguments in ((("--semiring", "min-plus, max-plus"), ("--semiring", "times")), (("--axis", "rows"), ("--op", "apsp", "--axis", "cols")),
                                 (("--route", "FROM:TO"), ("--op", "apsp", "--route", "one")), (("--route", "0 to 7"), ("--op", "apsp", "--route", "0:8")),
                                 (("--density", "above 0"), ("--density", 0)), (("--data", "integers"), ("--precision", "int32", "--data", "uniform")),
                                 (("--precision", "fp32, int32"), ("--precision", "fp64"))):
            self.refuse(2, words, "--size", 8, *arguments)


if __name__ == "__main__":
    binary.main()
