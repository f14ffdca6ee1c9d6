#!/usr/bin/env python3
"""One successful run of every suite on two devices, and input and output files. Usage:
suites_test.py BINARY [unittest arguments]. Each kernel is compiled per device: the quick tier has
one size, one mode and two strategies, and runs kernels that compile for seconds on one device.
Refusals of suites are in tests/golden/cli/suites.txt."""

import hashlib
import json
import math
import struct

import binary
from binary import Case, THOROUGH

INF = float("inf")
SHAPES = {  # options of the run that all tests of a suite share
    "merkle": ["--size", "2^10", "-s", "equal,dynamic"],
    "matrix": ["--size", 97, "--cols", 150, "--inner", 40, "-s", "equal,dynamic"],
    "fisher": ["--size", 500, "--dim", 20, "-s", "equal,dynamic"],
    "geometric": ["--size", 1001, "--algebra", "2,0,0", "-s", "equal,dynamic"],
    "tropical": ["--op", "apsp", "--size", 101, "--paths", "-s", "equal,capability"],
    "stencil": ["--size", 61, "--iterations", 9, "-s", "equal,capability"],
    "lbm": ["--size", 6, "--planes", 5, "--iterations", 3, "-s", "equal,capability"],
    "pinn": ["--size", 64, "--layers", 2, "--width", 8, "--shards", 8, "--iterations", 3, "-s",
             "equal,capability"],
    "pac": ["--size", 2, "--length", 256, "--pha", "4:8:2", "--amp", "40:80:3", "--perm", 20, "-s",
            "equal,dynamic"],
    "msm": ["--size", 33, "-s", "equal,dynamic"],
    "ntt": ["--size", "2^10", "-s", "equal,capability"],
    "pipeline": ["--size", 64, "--batch", 4, "--width", 256, "--stages", "hash,product", "--place",
                 "data", "-s", "equal,capability"],
}
ALONE = () if THOROUGH else ("fisher", "geometric", "tropical", "pinn", "pac", "msm", "pipeline")
SEEDLESS = ("lbm",)  # a formula gives its flows
# Additional runs of the thorough tier, which must have the same digest.
OTHERS = {
    "merkle": (["--mode", "both", "-s", "all,auto"],),
    "matrix": (["--axis", "cols", "-s", "all"], ["--axis", "tiles", "--peer", "staged"]),
    "fisher": (["--mode", "both", "-s", "all"],),
    "geometric": (["--mode", "both", "-s", "all"],),
    "tropical": (["--mode", "both", "-s", "all"], ["--peer", "staged"]),
    "stencil": (["--depth", 2], ["--depth", 3, "--overlap", "off", "--peer", "staged"],
                ["--split", "blocks"], ["--steps", "persistent"], ["--exchange", "kernels"]),
    "lbm": (["--depth", 2], ["--split", "blocks"], ["--lattices", "one", "--peer", "staged"]),
    "pinn": (["--mode", "both", "-s", "all"], ["--checkpoint-rounds", 2, "--peer", "staged"]),
    "pac": (["--axis", "channel"], ["--axis", "permutation", "--mode", "both"]),
    "msm": (["--mode", "all", "-s", "all"], ["--axis", "windows"], ["--fixed-base", "yes"]),
    "ntt": (["--mode", "both", "-s", "all"], ["--peer", "staged"], ["--exchange", "puts"]),
    "pipeline": (["--place", "pipeline", "-s", "all"], ["--batch", 9, "--peer", "staged"]),
}


def write_npy(file, rows, kind="<f4", shape=None):
    """Writes a NumPy file; rows is a list of lists."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, "
    text += f"'shape': {shape or (len(rows), len(rows[0]))}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    code = {"<f4": "<f", "<f8": "<d", "<i4": "<i", "<u4": "<I"}[kind]
    data = b"".join(struct.pack(code, x) for row in rows for x in row)
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data)


def read_npy(file):
    """Returns (header, values)."""
    data = file.read_bytes()
    begin = 10 + struct.unpack("<H", data[8:10])[0]
    header = data[10:begin].decode()
    code = {"<f4": "f", "<f8": "d", "<i4": "i", "<u4": "I"}[header.split("'descr': '")[1][:3]]
    return header, list(struct.unpack(f"<{(len(data) - begin) // struct.calcsize(code)}{code}",
                                      data[begin:]))


class Suite(Case):
    def runs_of(self, suite, *arguments, devices=None):
        file = self.folder / "r.json"
        few = ["-n", 1, "--warmup", 0, "-q", "-o", file]
        if "--mode" not in arguments:
            few += ["--mode", "resident"]
        self.good("run", suite, *(devices or binary.DEVICES), *few, *arguments)
        runs = json.loads(file.read_text())["runs"]
        for run in runs:
            if run["status"] != "unsupported":
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
        return [run for run in runs if run["status"] != "unsupported"]

    def one(self, suite, *arguments):
        run, = self.runs_of(suite, *arguments, "-s", "single", devices=binary.ONE_DEVICE)
        return run


class EverySuite(Suite):
    def test_every_suite_has_a_run_here(self):
        listed = json.loads(self.good("list", "suites", "--json").out)
        self.assert_exact_schema(listed, "list")
        names = {suite["name"] for suite in listed["suites"]}
        self.assertEqual(names, {*SHAPES, "kernel"})  # kernel_test.py tests that suite

    def happy(self, suite):
        devices = binary.ONE_DEVICE if suite in ALONE else binary.DEVICES
        runs = self.runs_of(suite, *SHAPES[suite], devices=devices)
        self.assert_schema(self.folder / "r.json", "result")
        self.assertEqual(len(runs), 2)
        self.assertEqual({len(run["devices"]) for run in runs}, {1 if suite in ALONE else 2})
        if THOROUGH:
            for more in OTHERS[suite]:
                shape = [*SHAPES[suite]]
                for option in {o for o in more if str(o).startswith("-")} & set(shape):
                    at = shape.index(option)
                    del shape[at:at + 2]
                runs += self.runs_of(suite, *shape, *more)
        self.assertEqual(len({run["verify"]["digest"] for run in runs}), 1)
        return runs


    def not_vacuous(self, suite):
        """Checks that the verified result depends on the inputs, and that each part of it is
        verified."""
        shape = SHAPES[suite][:SHAPES[suite].index("-s")]
        if suite not in SEEDLESS:
            digests = {self.one(suite, *shape, "--seed", seed)["verify"]["digest"]
                       for seed in (1, 2)}
            self.assertEqual(len(digests), 2)
        self.assert_flips_are_seen("run", suite, *shape, *binary.ONE_DEVICE, "-s", "single",
                                   "-n", 1, "--warmup", 0, "-q", "--mode", "resident")


def test_of(suite):
    def test(self):
        runs = self.happy(suite)
        getattr(self, f"look_at_{suite}", lambda runs: None)(runs)
        self.not_vacuous(suite)
    return test


for name in SHAPES:
    setattr(EverySuite, f"test_{name}_gives_one_digest", test_of(name))


class Files(Suite):
    """Results from files, computed by hand; on the device, with the kernels of the runs above."""

    def test_merkle_hashes_a_short_last_leaf_by_rfc_6962(self):
        content = bytes(i % 251 for i in range(32 * 701 + 13))
        file, root = self.folder / "leaves", self.folder / "out" / "root"
        file.write_bytes(content)
        run = self.one("merkle", "--input", file, "--tree", "rfc6962", "--save-data", root)

        def over(nodes):
            if len(nodes) == 1:
                return nodes[0]
            left = 1 << (len(nodes) - 1).bit_length() - 1
            return hashlib.sha256(b"\1" + over(nodes[:left]) + over(nodes[left:])).digest()

        leaves = [hashlib.sha256(b"\0" + content[i:i + 32]).digest()
                  for i in range(0, len(content), 32)]
        expected = over(leaves).hex()
        self.assertEqual((run["params"]["leaves"], run["verify"]["digest"]), (702, expected))
        self.assertEqual(root.read_text().strip(), expected)

        run = self.one("merkle", "--input", file, "--tree", "rfc6962", "--trees", 6, "--save-data",
                       root)
        roots = [over(leaves[i:i + 117]) for i in range(0, 702, 117)]
        self.assertEqual(root.read_text().split(), [each.hex() for each in roots])
        self.assertEqual((run["params"]["leaves"], run["params"]["trees"], run["verify"]["digest"]),
                         (117, 6, hashlib.sha256(b"".join(roots)).hexdigest()))
        self.assertEqual((run["work"]["ops"], run["work"]["bytes_in"], run["work"]["bytes_out"]),
                         (6 * 116, 702 * 32, 6 * 32))
        self.refused(["run", "merkle", "--input", file, "--tree", "rfc6962", "--trees", 5], 2,
                     "702 leaves", "a multiple of the 5 of --trees")
        self.refused(["run", "merkle", "--trees", 0], 2, '--trees: "0"', "1 to")

    def test_msm_computes_a_batch_of_sums(self):
        file, one = self.folder / "batch.json", self.folder / "one.json"
        run = self.one("msm", "--size", 33, "--batch", 5, "--save-data", file)
        self.one("msm", "--size", 33, "--save-data", one)
        sums, first = (json.loads(each.read_text()) for each in (file, one))
        self.assertEqual(len({each["x"] for each in sums["sums"]}), 5)
        self.assertEqual(sums["sums"][0], {key: first[key] for key in "xy"})
        text = "".join(each[key][2:] for each in sums["sums"] for key in "xy")
        self.assertEqual(run["verify"]["digest"], hashlib.sha256(text.encode()).hexdigest())
        self.assertEqual((run["params"]["batch"], run["work"]["items"], run["work"]["ops"]),
                         (5, 5, 5 * 33))
        self.assertIn("each of 5 sums", run["verify"]["method"])
        one.write_text("scalar,x,y\n5,1,2\n")
        for words, said in ((["--batch", 0], "1 or more"),
                            (["--batch", 2, "--axis", "windows"], "as wholes"),
                            (["--batch", 2, "--input", one], "one scalar per point")):
            self.refused(["run", "msm", *words], 2, "--batch:", said)

    def test_matrix_multiplies_and_adds(self):
        a, b, c, out = (self.folder / f"{name}.npy" for name in ("a", "b", "c", "out"))
        write_npy(a, [[1, 2, 3], [4, 5, 6]])
        write_npy(b, [[1, 0], [0, 1], [2, -1]])
        write_npy(c, [[1, 1], [1, 1]])
        run = self.one("matrix", "--input", f"{a},{b},{c}", "--alpha", 2, "--beta", -1, "--save-data",
                       out)
        self.assertEqual(run["work"]["ops"], 2 * 2 * 2 * 3)
        self.assertEqual(read_npy(out)[1], [13, -3, 31, -3])

    def test_values_that_are_no_numbers_are_told_before_and_with_the_result(self):
        a, b, file = (self.folder / name for name in ("a.npy", "b.npy", "r.json"))
        write_npy(a, [[1, math.nan], [INF, 5]])
        write_npy(b, [[1, 0], [0, 1]])
        for suite, files in (("matrix", f"{a},{b}"), ("fisher", a)):
            done = self.good("run", suite, "--input", files, "-n", 1, "--warmup", 0, "-q", "-s",
                             "single", "--mode", "resident", *binary.ONE_DEVICE, "-o", file,
                             "--force")
            run, = json.loads(file.read_text())["runs"]
            self.assertEqual(run["verify"]["status"], "passed")
            for said in (done.err, " ".join(run["warnings"])):
                self.assertIn("2 of 4 values", said)
                self.assertIn("row 0, column 1", said)

    def test_fisher_has_the_full_symmetric_matrix(self):
        x, out = self.folder / "x.npy", self.folder / "f.npy"
        write_npy(x, [[1, 2, 0], [3, -1, 1]])
        self.one("fisher", "--input", x, "--save-data", out)
        self.assertEqual(read_npy(out)[1], [5, -0.5, 1.5, -0.5, 2.5, -0.5, 1.5, -0.5, 0.5])

    def test_fisher_says_which_precision_holds_what_this_one_cannot(self):
        x, file = self.folder / "x.npy", self.folder / "r.json"
        write_npy(x, [[1e30, 1], [1e-30, 1]])
        done = binary.mgpu("run", "fisher", *binary.ONE_DEVICE, "-n", 1, "--input", x, "-o", file)
        self.assertEqual(done.code, 5, done)
        for run in json.loads(file.read_text())["runs"]:
            self.assertEqual(run["status"], "unsupported")
            self.assertIn("--precision fp64", run["reason"])

    def test_geometric_multiplies_vectors(self):
        a, b, c = (self.folder / name for name in ("a.npy", "b.npy", "c.npy"))
        write_npy(a, [[0, 1, 2, 0], [0, 1, 0, 0]])
        write_npy(b, [[0, 3, 4, 0], [0, 0, 1, 0]])
        words = ("geometric", "--algebra", "2,0,0", "--input", f"{a},{b}", "--save-data", c)
        self.one(*words)
        self.assertEqual(read_npy(c)[1], [11, 0, 0, -2, 0, 0, 0, 1])
        write_npy(a, [[2, 1, 2, 0], [0, 0, 0, 3]])
        write_npy(b, [[5, 3, 4, 1], [0, 1, 0, 0]])
        self.one(*words, "--op", "left-contraction")
        self.assertEqual(read_npy(c)[1], [10 + 11, 6 - 2, 8 + 1, 2, 0, 0, 0, 0])

    def test_ntt_has_the_digests_of_another_program(self):
        field, vectors = None, []
        for line in (binary.HERE.parent / "data/ntt_vectors.txt").read_text().splitlines():
            if not line.startswith(" "):
                field = line.split()[0].replace("_fr", "")
            elif "sha256" in line and (
                    THOROUGH or "2^10" in line and field in ("babybear", "goldilocks", "bls12_381")):
                vectors.append((field, line.split()[0][2:], line.split()[-1]))
        self.assertEqual(len(vectors), 10 if THOROUGH else 3)
        for field, size, digest in vectors:
            run = self.one("ntt", "--field", field, "--size", size, "--seed", 0)
            self.assertEqual(run["verify"]["digest"], digest, (field, size))

    def test_ntt_extends_columns_as_another_program_does(self):
        field, checked = None, 0
        for line in (binary.HERE.parent / "data/ntt_vectors.txt").read_text().splitlines():
            if not line.startswith(" "):
                field = line.split()[0].replace("_fr", "")
            elif line.split()[0] == "lde" and (THOROUGH or field == "koalabear"):
                _, size, _, columns, _, blowup, digest = line.split()
                for run in self.runs_of("ntt", "--op", "lde", "--field", field, "--size", size[2:],
                                        "--batch", columns, "--blowup", blowup, "--seed", 0,
                                        "--mode", "both", "-s", "equal"):
                    self.assertEqual(run["verify"]["digest"], digest, (field, line))
                checked += 1
        self.assertEqual(checked, 10 if THOROUGH else 2)

    def test_ntt_commits_to_columns_as_another_program_does(self):
        field, checked, raw, out = None, 0, self.folder / "columns", self.folder / "root"
        for line in (binary.HERE.parent / "data/ntt_vectors.txt").read_text().splitlines():
            if not line.startswith(" "):
                field = line.split()[0].replace("_fr", "")
            elif line.split()[0] == "commit" and (THOROUGH or field == "koalabear"
                                                  and "2^5" not in line):
                what, root = line.split(":")
                _, size, _, columns, _, blowup = what.split(",")[0].split()
                common = ("ntt", "--op", "commit", "--field", field, "--batch", columns, "--blowup",
                          blowup, "--save-data", out)
                if "m = " in what:  # rows as they are
                    columns = int(columns)
                    raw.write_bytes(struct.pack("<320I", *[columns * row + column for column in
                                                           range(columns) for row in range(16)]))
                    self.one(*common, "--input", raw)
                    checked += 1
                else:
                    for partition in ("columns", "cosets", "relay"):
                        run, = self.runs_of(*common, "--size", size[2:], "--seed", 0, "-s", "equal",
                                            "--partition", partition)
                        self.assertIn("partition " + partition, run["verify"]["method"])
                        checked += 1
                self.assertEqual(list(struct.unpack("<8I", out.read_bytes())),
                                 [int(word) for word in root.split()], (field, line))
        self.assertEqual(checked, 14 if THOROUGH else 4)

    # The largest elements make the largest sums that kernels keep without reducing them.
    def test_ntt_hashes_the_largest_and_smallest_elements(self):
        raw = self.folder / "columns"
        for field, largest in (("koalabear", 0x7f000000), ("babybear", 0x78000000)):
            rows = [[largest] * 16, [0] * 16, [largest, 0] * 8, [0] * 8 + [largest] * 8]
            raw.write_bytes(struct.pack("<64I", *[row[c] for c in range(16) for row in rows]))
            self.one("ntt", "--op", "commit", "--field", field, "--batch", 16, "--blowup", 1,
                     "--input", raw)

    def test_ntt_transforms_files_in_every_order(self):
        p, n = 0x78000001, 1 << 10
        root = pow(31, (p - 1) // n, p)

        def transform(x, w):
            if len(x) == 1:
                return x
            even, odd, power, out = transform(x[::2], w * w % p), transform(x[1::2], w * w % p), 1, []
            for b in odd:
                out.append(power * b % p)
                power = power * w % p
            return [(a + b) % p for a, b in zip(even, out)] + [(a - b) % p for a, b in zip(even, out)]

        x = [[(7 * r + 3) * i * i % p for i in range(n)] for r in range(3)]
        there = [int(f"{i:010b}"[::-1], 2) for i in range(n)]
        a, b, c, raw = (self.folder / name for name in ("a.npy", "b.npy", "c.npy", "raw"))
        write_npy(a, x, "<u4")
        self.one("ntt", "--batch", 3, "--order", "nr", "--input", a, "--save-data", b)
        expected = [transform(row, root) for row in x]
        self.assertEqual(read_npy(b)[1], [row[there[k]] for row in expected for k in range(n)])
        self.one("ntt", "--op", "intt", "--batch", 3, "--order", "rn", "--input", b, "--save-data", c)
        self.assertEqual(read_npy(c)[1], [value for row in x for value in row])
        raw.write_bytes(struct.pack(f"<{n}I", *[x[0][i] for i in there]))
        for order, place, way in (("rn", range(n), "kernels"), ("nr", there, "puts")):
            self.runs_of("ntt", "--order", order, "--exchange", way, "--input", raw, "--save-data", b,
                         "-s", "equal")
            rows = transform(x[0] if order == "rn" else [x[0][i] for i in there], root)
            self.assertEqual(read_npy(b)[1], [rows[k] for k in place])

    def test_tropical_finds_the_routes_of_a_graph_of_each_format(self):
        arcs = ((1, 2, 4), (1, 3, 1), (3, 2, 2), (2, 4, -1), (1, 4, 9))
        graph, market, matrix = (self.folder / f"g.{end}" for end in ("gr", "mtx", "npy"))
        graph.write_text("p sp 4 5\n" + "".join("a %d %d %d\n" % arc for arc in arcs))
        market.write_text("%%MatrixMarket matrix coordinate real general\n4 4 5\n"
                          + "".join("%d %d %d\n" % arc for arc in arcs))
        write_npy(matrix, [[INF, 4, 1, 9], [INF, INF, INF, -1], [INF, 2, INF, INF], [INF] * 4])
        out = self.folder / "out.npy"
        for file in (graph, market, matrix) if THOROUGH else (graph,):
            run = self.one("tropical", "--op", "apsp", "--input", file, "--route", "0:3",
                           "--save-data", out)
            self.assertIn("0 2 1 3, length 2", run["verify"]["method"])
            self.assertEqual(read_npy(out)[1], [0, 3, 1, 2, INF, 0, INF, -1, INF, 2, 0, 1, INF, INF,
                                                INF, 0])
        self.assertEqual(read_npy(self.folder / "out.paths.npy")[1],
                         [-1, 2, 0, 1, -1, -1, -1, 1, -1, 2, -1, 1, -1, -1, -1, -1])

    def test_stencil_goes_on_from_its_own_result(self):
        half, whole, twice = (self.folder / f"{name}.npy" for name in ("half", "whole", "twice"))
        self.one("stencil", "--size", 61, "--iterations", 4, "--save-data", half)
        self.one("stencil", "--size", 61, "--iterations", 8, "--save-data", whole)
        self.one("stencil", "--input", half, "--iterations", 4, "--save-data", twice)
        self.assertEqual(twice.read_bytes(), whole.read_bytes())

    def test_lbm_writes_the_same_field_as_numpy_and_vtk(self):
        array, vtk = self.folder / "f.npy", self.folder / "f.vtk"
        shape = ("--size", 6, "--planes", 5, "--iterations", 3)
        for file in (array, vtk):
            self.one("lbm", *shape, "--save-data", file)
        values, data = read_npy(array)[1], vtk.read_bytes()
        self.assertIn(b"DIMENSIONS 6 6 5\n", data)
        at = data.index(b"VECTORS velocity float\n") + len(b"VECTORS velocity float\n")
        vectors = list(struct.unpack(">540f", data[at:at + 4 * 540]))
        self.assertEqual(vectors, [v for i, v in enumerate(values) if i % 4 < 3])
        self.assertGreater(max(map(abs, vectors)), 0.005)

    @binary.thorough
    def test_pinn_goes_on_from_its_own_result(self):
        half, whole, twice = (self.folder / f"{name}.npy" for name in ("half", "whole", "twice"))
        shape = ("--layers", 2, "--width", 8, "--shards", 8, "--snapshots", 0)
        self.one("pinn", "--size", 64, *shape, "--iterations", 2, "--save-data", half)
        self.one("pinn", "--size", 64, *shape, "--iterations", 3, "--save-data", whole)
        run = self.one("pinn", *shape, "--input", half, "--iterations", 1, "--save-data", twice)
        self.assertEqual(twice.read_bytes(), whole.read_bytes())
        self.assertEqual(run["verify"]["found"]["curves"][0]["name"], "loss")

    def test_pac_finds_the_coupling_of_a_file(self):
        phases = [2 * math.pi * 6 * t / 256 + 0.9 * math.sin(7.3 * t / 256) for t in range(256)]
        series = [math.cos(p) + (1 + math.cos(p)) * math.cos(2 * math.pi * 60 * t / 256)
                  + 0.3 * math.sin(t * t) for t, p in enumerate(phases)]
        x, out = self.folder / "x.npy", self.folder / "out.npy"
        write_npy(x, [series, [math.cos(t * t) for t in range(256)]], shape="(1, 2, 256)")
        self.one("pac", "--input", x, "--pha", "4:8:2", "--amp", "40:80:3", "--perm", 20,
                 "--save-data",
                 out)
        values = read_npy(out)[1]
        rows = [values[i:i + 8] for i in range(0, len(values), 8)]
        self.assertEqual(len(rows), 2 * 2 * 3)
        self.assertEqual(max(rows[:6], key=lambda row: row[4])[3], 60)
        self.assertGreater(max(row[4] for row in rows[:6]), max(row[4] for row in rows[6:]))

    def test_pac_reads_a_folder_of_recordings_in_any_order_and_split(self):
        recordings = [[[math.sin(0.1 * (i + 1) * t + c) + math.cos(t * t * (i + 2)) for t in range(256)]
                       for c in range(2)] for i in range(5)]
        whole, folder = self.folder / "whole.npy", self.folder / "recordings"
        folder.mkdir()
        write_npy(whole, [row for each in recordings for row in each], shape="(5, 2, 256)")
        for i, rows in enumerate(recordings):
            write_npy(folder / f"{i}.npy", rows)
        words = ["--pha", "4:8:2", "--amp", "40:80:3", "--perm", 20]
        first, second = self.folder / "a.npy", self.folder / "b.npy"
        expected = self.one("pac", "--input", whole, *words, "--save-data", first)
        run = self.one("pac", "--input", folder, *words, "--shuffle", 9, "--batch-size", 2,
                       "--mode", "end-to-end", "--save-data", second)
        self.assertEqual(run["verify"]["digest"], expected["verify"]["digest"])
        self.assertEqual(first.read_bytes(), second.read_bytes())
        self.assertEqual((run["params"]["batch"], run["params"]["batch-size"], run["params"]["shuffle"]),
                         (5, 2, 9))
        self.assertEqual((run["work"]["ops"], run["rate"]["unit"]), (5, "recordings/s"))
        for run in self.runs_of("pac", "--input", folder, *words, "--shuffle", 2, "--batch-size", 1,
                                "--mode", "both", "-s", "equal,dynamic"):
            self.assertEqual(run["verify"]["digest"], expected["verify"]["digest"])
        for i in range(10, 24):
            write_npy(folder / f"{i}.npy", recordings[0])
        write_npy(folder / "a.npy", [recordings[0][0], [math.nan] * 256])  # read only in samples
        self.refused(["run", "pac", "--input", folder, *words, "--mode", "end-to-end", "-s", "single",
                      "-n", 1, "-q", *binary.ONE_DEVICE], 2, "a.npy", "not finite")
        self.refused(["run", "matrix", "--input", folder], 2, "is a directory")

    @binary.thorough
    def test_pac_of_a_series_that_drifts_blames_no_device(self):
        x = self.folder / "x.npy"
        for length in (1000, 1024):
            write_npy(x, [[1000 * t / length + 5 * math.sin(2 * math.pi * 6 * t / 256)
                           + math.sin(t * t) for t in range(length)]], shape=f"(1, 1, {length})")
            run = self.one("pac", "--input", x, "--perm", 20)
            self.assertIn("10 of 10", run["verify"]["method"])
        # The shares of phases of bands without a signal are in the counts of all, from which they
        # cannot be derived.
        slow, fast = ([math.sin(2 * math.pi * hz * t / 256) for t in range(1000)]
                      for hz in (10, 80))
        write_npy(x, [[s + (1 + s) * f for s, f in zip(slow, fast)]], shape="(1, 1, 1000)")
        file = self.folder / "r.json"
        done = self.good("run", "pac", "--input", x, "--perm", 20, "--mi", "tensorpac", "--bins",
                         36, "--amp", "60:100:6", "-s", "single", *binary.ONE_DEVICE, "--mode",
                         "resident", "-n", 1, "--warmup", 0, "-q", "-o", file)
        run, = json.loads(file.read_text())["runs"]
        self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "off"), run)
        self.assertIn("cannot resolve the phases of", done.err)

    def test_a_flow_without_bound_is_an_error_of_its_parameters(self):
        done = binary.mgpu("run", "lbm", "--size", 8, "--planes", 4, "--speed", 0.3,
                           "--relaxation-time", 0.5001, "--iterations", 400, "-s", "single",
                           "--mode", "resident", "-n", 1, *binary.ONE_DEVICE, "-o",
                           self.folder / "r.json")
        self.assertEqual(done.code, 2, done)
        self.assertEqual(list(self.folder.iterdir()), [])  # no journal to resume from
        self.assertRegex(done.err, "error: .* in step [0-9]+ of 400")
        self.assertNotIn("wrong result", done.err)

    def test_a_state_that_leaves_the_range_is_an_error_of_its_file(self):
        x = self.folder / "x.npy"
        write_npy(x, [[3e38] * 16] * 16)
        self.refused(["run", "stencil", "--input", x, "--iterations", 4, "-s", "single", "--mode",
                      "resident", "-n", 1, "-q", *binary.ONE_DEVICE], 2, "--input", "too large",
                     "inf")

    def test_msm_sums_the_terms_of_a_file(self):
        p = 21888242871839275222246405745257275088696311157297823662689037894645226208583

        def add(a, b):
            if a is None or b is None:
                return a or b
            if a[0] == b[0] and (a[1] + b[1]) % p == 0:
                return None
            slope = (3 * a[0] * a[0] * pow(2 * a[1], -1, p) if a == b
                     else (b[1] - a[1]) * pow(b[0] - a[0], -1, p))
            x = (slope * slope - a[0] - b[0]) % p
            return x, (slope * (a[0] - x) - a[1]) % p

        expected, scalars = None, (2, 2, 7)
        for _ in range(2 + 2 + 7):
            expected = add(expected, (1, 2))
        file, out = self.folder / "terms.json", self.folder / "sum.json"
        term = {"x": "0x1", "y": "0x2"}
        file.write_text(json.dumps({"curve": "bn254", "terms": [{"scalar": hex(s), **term}
                                                                for s in scalars]}))
        run = self.one("msm", "--input", file, "--save-data", out)
        point = json.loads(out.read_text())
        self.assertEqual((int(point["x"], 16), int(point["y"], 16)), expected)
        self.assertEqual(run["verify"]["digest"], "%064x%064x" % expected)
        file.write_text(file.read_text().replace('"0x1"', '"0x3"', 1))
        self.refused(["run", "msm", *binary.DEVICES, "--input", file], 2, "--input", "term 0")


class Shapes(Suite):
    """Records of work other than independent slices, with the kernels of the runs above."""

    def test_rounds_are_in_the_result_and_in_the_trace_with_arrows_between_devices(self):
        trace = self.folder / "t.json"
        run, = self.runs_of("stencil", "--size", 61, "--iterations", 9, "--steps", "enqueued", "-s",
                            "equal", "--trace", trace)
        self.assert_trace(trace)
        self.assert_recomputed(self.folder / "r.json", "--trace", trace)
        columns = run["timeline"]["columns"]["commands"]
        rows = [dict(zip(columns, row)) for row in run["timeline"]["commands"]]
        computed = {row["round"] for row in rows if row["kind"] == "compute"}
        self.assertEqual(computed, set(range(9)))
        self.assertIn(run["worst_round"], range(9))
        events = json.loads(trace.read_text())["traceEvents"]
        drawn = [e for e in events if e.get("cat") in ("compute", "exchange") and e["ph"] == "X"]
        ends = {}  # ends of arrows
        for event in events:
            if event.get("cat") == "exchange" and event["ph"] in "sf":
                on = [e for e in drawn if e["tid"] == event["tid"]
                      and 0 <= round(1000 * (event["ts"] - e["ts"])) < round(1000 * e["dur"])]
                end = (on[0]["pid"], on[0]["args"].get("round"))
                ends.setdefault(event["id"], []).append(end)
        self.assertTrue(ends)
        for (sender, sent), (receiver, awaited) in ends.values():
            self.assertEqual(sent, awaited)
            self.assertNotEqual(sender, receiver)

    @binary.thorough
    def test_a_problem_larger_than_a_device_is_done_by_two(self):
        runs = self.runs_of("stencil", "--size", 256, "--iterations", 3, "--mode", "end-to-end",
                            "-s", "equal,single", "--cap-memory", "0=600KiB,1=600KiB")
        self.assertEqual([run["strategy"] for run in runs], ["equal"])

    def test_devices_that_gather_what_both_need_upload_it_once(self):
        uploaded = {}
        for peer in ("staged", "host"):
            run, = self.runs_of("matrix", "--size", 97, "--cols", 150, "--inner", 40, "--mode",
                                "end-to-end", "-s", "equal", "--peer", peer)
            uploaded[peer] = sum(part["bytes_in"] for part in run["per_device"])
        self.assertEqual(uploaded["staged"] - uploaded["host"], 4 * 40 * 150)

    def test_a_tropical_network_learns_the_same_on_one_device_and_on_two(self):
        shape = ("--op", "network", "--size", 33, "--width", 12, "--iterations", 20)
        runs = [*self.runs_of("tropical", *shape, "-s", "equal"), self.one("tropical", *shape)]
        self.assertEqual([len(run["devices"]) for run in runs], [2, 1])
        self.assertEqual(len({run["verify"]["digest"] for run in runs}), 1)
        losses = runs[0]["verify"]["found"]["curves"][0]["values"]
        self.assertLess(losses[-1], 0.9 * losses[0])
        self.assert_flips_are_seen("run", "tropical", *shape, *binary.ONE_DEVICE, "-s", "single",
                                   "-n", 1, "--warmup", 0, "-q", "--mode", "resident")

    @binary.thorough
    def test_fused_stages_are_one_launch_a_batch_with_the_bits_of_separate_ones(self):
        runs = [self.one("pipeline", "--size", 64, "--batch", 16, "--width", 16, "--stages",
                         "tropical,dual,clifford", *fuse) for fuse in ((), ("--fuse",))]
        kernels = [[command[3] for command in run["timeline"]["commands"]] for run in runs]
        self.assertEqual(kernels, [["tropical", "dual", "clifford"] * 4, ["fused"] * 4])
        self.assertEqual(*(run["verify"]["digest"] for run in runs))

    @binary.thorough
    def test_a_chain_records_whose_stages_are_slowest(self):
        run = self.runs_of("pipeline", "--size", 64, "--batch", 4, "--width", 16, "--stages",
                           "hash,product", "--place", "pipeline", "-s", "equal")[0]
        stages = run["chain"]["stages"]
        self.assertEqual([stage["kernel"] for stage in stages], ["hash", "product"])
        self.assertEqual([stage["device"] for stage in stages], [0, 1])


if __name__ == "__main__":
    binary.main()
