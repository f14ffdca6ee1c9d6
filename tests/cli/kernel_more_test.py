#!/usr/bin/env python3
"""Suite kernel as a user runs it: rounds, records that are appended, accumulators that a kernel combines, parameters with several values, tolerances. Usage:
kernel_more_test.py BINARY [unittest arguments]. What descriptors look like is in kernel_test.py."""

import array

import binary
from kernel_test import EXAMPLES, SAXPY, SAXPY_CL, Kernel


# Each round multiplies by a, on both arrays, and adds a neighbour's element.
ROUNDS = """\
kernel = "k.cl"
entry = "advance"
n = 512
[params]
steps = 3
[launch]
global = ["count"]
offset = "global_work_offset"
[repeat]
rounds = "steps"
swap = [["x", "z"], ["v", "w"]]
[[args]]
name = "x"
type = "int"
map = { kind = "halo", radius = [3, 0] }
fill = { kind = "index" }
[[args]]
name = "z"
type = "int"
map = "split"
access = "write"
[[args]]
name = "v"
type = "int"
map = { kind = "halo", radius = [0, 200] }
fill = { kind = "index" }
[[args]]
name = "w"
type = "int"
map = "split"
access = "write"
"""
ROUNDS_CL = """\
__kernel void advance(__global const int* x, __global int* z, __global const int* v, __global int* w) {
  const int i = get_global_id(0);
  z[i] = 2 * x[i] + x[max(i - 3, 0)];
  w[i] = 3 * v[i] - v[min(i + 200, 511)];
}
"""
APPEND = """\
kernel = "k.cl"
entry = "sevens"
n = 4096
[launch]
global = ["count"]
[[args]]
name = "x"
type = "int"
map = "split"
fill = { kind = "index", modulo = 1000 }
[[args]]
name = "found"
type = "uint"
map = { kind = "reduce", op = "add" }
size = 1
access = "write"
[[args]]
name = "out"
type = "int"
map = { kind = "append", counter = "found" }
size = 600
access = "write"
"""
APPEND_CL = """\
__kernel void sevens(__global const int* x, __global uint* found, __global int* out) {
  const int value = x[get_global_id(0)];
  if (value % 7 == 0) out[atomic_inc(found)] = value;
}
"""
# Likewise of APPEND.
WRONG_APPEND = (
    ('counter = "found"', 'counter = "fuond"', ("args[2].map.counter", '"fuond"', "accepted: the name of an argument")),
    ('counter = "found"', 'counter = "x"', ("args[2].map.counter", '"x"')),
    (', counter = "found"', "", ("args[2].map.counter", "is missing")),
    ("size = 1\n", "size = 2\n", ("args[2].map.counter", "size = 1")),
    ("size = 600\n", "", ("args[2].size", "is missing")),
    ("size = 600\n", 'size = 600\nfill = { kind = "zero" }\nsparce = true\n', ('"sparce"', 'did you mean "sparse"?')),
    ('size = 600\naccess = "write"', 'size = 600\naccess = "readwrite"', ("args[2].access", "is only written")),
    ('global = ["count"]', 'global = ["count"]\n[repeat]\nrounds = 2', ("cannot be together with repeat",)),
)
# Maps x -> (a + 1) x + b modulo 2^32, of which zero bytes are the one that changes nothing, one after the other: not commutative.
COMBINE = """\
kernel = "k.cl"
entry = "compose"
n = 4096
[launch]
global = [2]
[[args]]
name = "x"
type = "uint"
map = "split"
fill = { kind = "index", modulo = 1000 }
[[args]]
name = "all"
type = "struct"
bytes = 8
map = { kind = "reduce", combine = "after" }
size = 2
access = "write"
[[args]]
name = "count"
type = "uint"
scalar = "count"
"""
COMBINE_CL = """\
typedef struct { uint a, b; } affine;
__kernel void compose(__global const uint* x, __global affine* all, const uint count) {
  const uint j = get_global_id(0);
  affine f = all[j];
  for (uint i = 0; i < count; ++i) {
    const uint a = 2 * x[i] + 3 + 2 * j;
    f.a = a * (f.a + 1) - 1;
    f.b = a * f.b + x[i] + j;
  }
  all[j] = f;
}
__kernel void after(__global affine* into, __global const affine* from) {
  const uint j = get_global_id(0);
  const affine f = into[j], g = from[j];
  into[j].a = (g.a + 1) * (f.a + 1) - 1;
  into[j].b = (g.a + 1) * f.b + g.b;
}
"""
# Likewise of COMBINE.
ALL = 'type = "struct"\nbytes = 8\nmap = { kind = "reduce", combine = "after" }\nsize = 2'
WRONG_COMBINE = (
    ('combine = "after"', 'combine = "after", op = "add"', ("args[1].map.combine", "together with op", "accepted: one of them")),
    ('combine = "after"', 'combine = "2nd"', ("args[1].map.combine", '"2nd"', "accepted: the name of a kernel")),
    ('combine = "after"', "combine = 2", ("args[1].map.combine", "accepted: a text")),
    ('combine = "after"', 'combin = "after"', ("args[1].map.op", "no struct", "accepted: combine")),
    ('kind = "reduce", combine', 'kind = "split", combine', ("args[1].map", '"combine"')),
    ('combine = "after"', 'combine = "after", tolerance = { rel = 1e-5 }', ("args[1].map.tolerance.of", "accepted: float or double")),
    ('combine = "after"', 'combine = "after", tolerance = { of = "flaot" }', ("args[1].map.tolerance.of", 'did you mean "float"?')),
    ('combine = "after"', 'combine = "after", tolerance = { rel = -1, of = "float" }', ("args[1].map.tolerance", "negative")),
    ("bytes = 8\nmap = { kind = \"reduce\", combine = \"after\" }", 'bytes = 6\nmap = { kind = "reduce", combine = "after", tolerance = { of = "float" } }',
     ("args[1].map.tolerance.of", "the struct 6")),
    ("size = 2\n", "", ("args[1].size", "is missing")),
    ("size = 2\n", 'size = 2\nfill = { kind = "constant", value = 1 }\n', ("args[1].fill", "accepted: zero, file")),
    ('access = "write"', 'access = "readwrite"', ("args[1].access", "is only written")),
    ("global = [2]", 'global = [2]\n[repeat]\nrounds = 2', ("cannot be together with repeat",)),
    ('scalar = "count"', 'scalar = "count"\n[[args]]\nname = "found"\ntype = "uint"\nmap = { kind = "reduce", op = "add" }\nsize = 1\n[[args]]\n'
     'name = "out"\ntype = "int"\nmap = { kind = "append", counter = "found" }\nsize = 9', ("args[4].map", "append", "combine")),
)
INTO = "after(__global affine* into, __global const affine* from)"
ACCEPTED = "accepted: (__global struct ..* into, __global const struct ..* from)"
# What only a device can say: changes of the code.
WRONG_COMBINE_CODE = (
    (INTO, INTO.replace("from)", "from, uint n)"), ("args[1].map.combine: kernel after has 3 parameters", ACCEPTED)),
    (INTO, INTO.replace("__global const", "__constant"), ('parameter 1 ("from") that is __constant', ACCEPTED)),
    (INTO, INTO.replace("__global affine* into", "__local affine* into"), ('parameter 0 ("into") that is __local', ACCEPTED)),
    (INTO, INTO.replace("const ", ""), ('parameter 1 ("from") that is not const', ACCEPTED)),
    # What shows when partial results are combined before anything is measured.
    ("f = into[j], g = from[j];", "f = from[j], g = into[j];", ('"all"', "kernel after combines 32 partial results", "one launch computes all items")),
    ("f = into[j], g = from[j];", "f = into[j], g = into[j];", ('"all"', "kernel after combines", " device ")),
    ("into[j].b = (g.a + 1) * f.b + g.b;", "", ('"all"', "kernel after combines", " device ")),
    ("into[j].b =", "((__global affine*)from)[j].b =", ("kernel after writes element 0 of its second argument", " device ")),
    ("into[j].b =", "into[j + 2].b =", ("kernel after writes beside its arguments", " device ", "accepted: elements 0 to 1")),
)
# Likewise of ROUNDS.
SWAP = 'swap = [["x", "z"], ["v", "w"]]'
WRONG_ROUNDS = (
    ('rounds = "steps"', "rounds = 0", ("repeat.rounds is 0", "accepted: 1 to")),
    ('rounds = "steps"', 'rounds = "step"', ("repeat.rounds", '"step"', "no parameter")),
    ('rounds = "steps"', 'rounds = "steps / 2.0"', ("repeat.rounds", "1.5")),
    ('rounds = "steps"', "", ("repeat.rounds", "is missing")),
    ('rounds = "steps"', 'rounds = "steps"\nrunds = 2', ('"runds"', 'did you mean "rounds"?')),
    (SWAP, 'swap = "x"', ("repeat.swap", "accepted: [[INPUT, OUTPUT], ..]")),
    (SWAP, 'swap = [["x", "z", "w"]]', ("repeat.swap", "accepted: [[INPUT, OUTPUT], ..]")),
    (SWAP, 'swap = [["x", "zz"]]', ("repeat.swap", '"zz"', "not among [[args]]")),
    (SWAP, 'swap = [["x", "z"], ["v", "z"]]', ("repeat.swap", '"v" and "z"', "names an argument twice")),
    (SWAP, 'swap = ["z", "x"]', ("repeat.swap", "needs an input that is split or has a halo")),
    ('offset = "global_work_offset"', "", ("repeat.swap", "global_work_offset", "whole")),
    ('name = "w"\ntype = "int"', 'name = "w"\ntype = "uint"', ("repeat.swap", "the same type")),
    ('name = "w"\ntype = "int"\nmap = "split"', 'name = "w"\ntype = "int"\nmap = { kind = "reduce" }\nsize = 512', ("repeat.swap", "needs an input")),
)


class Several(Kernel):
    def test_a_parameter_with_several_values_is_a_problem_with_each(self):
        text = SAXPY.replace("a = 2.5", "a = 2.5\nb = 1").replace('scalar = "a"', 'scalar = "a * b"')
        runs = self.run_kernel(self.write(text), "--set", "b=1,2,a=4,8", "-s", "equal", "--mode", "resident", size=512)
        self.assertEqual([run["params"]["set"] for run in runs], ["b=1,a=4", "b=1,a=8", "b=2,a=4", "b=2,a=8"])
        digests = [run["verify"]["digest"] for run in runs]
        self.assertEqual(digests[1], digests[2])  # 8 x
        self.assertEqual(len(set(digests)), 3)


class Tolerance(Kernel):
    # Depends on how many items the slice has: by one part in 2^23 where it is not the whole.
    CODE = SAXPY_CL.replace("a * x[get_global_id(0)];", "get_global_size(0) == 4096 ? 1.0f : 1.0f + 2 * FLT_EPSILON;")

    def test_so_many_units_in_the_last_place_are_accepted_and_no_fewer(self):
        tolerant = SAXPY + "[check]\ntolerance = { ulp = 2 }\n"
        runs = self.run_kernel(self.write(tolerant, self.CODE), "-s", "equal", "--mode", "resident", size=4096)
        self.assertIn("within the tolerance", runs[0]["verify"]["method"])
        self.refuses(('"z"', "item", " device "), tolerant.replace("ulp = 2", "ulp = 1"), self.CODE)
        self.refuses(('"z"', "item", " device "), SAXPY, self.CODE)


class Append(Kernel):
    def test_records_are_those_of_all_slices_in_the_order_of_their_values(self):
        file, out = self.write(APPEND, APPEND_CL), self.folder / "out"
        expected = sorted(value % 1000 for value in range(4096) if value % 1000 % 7 == 0)
        for mode in ("resident", "end-to-end"):
            self.run_kernel(file, "-s", "dynamic:chunks=5", "--mode", mode, "--output", out, size=4096)
            made = array.array("i")
            made.frombytes(out.read_bytes())
            self.assertEqual(list(made), [len(expected), *expected, *[0] * (600 - len(expected))], mode)

    def test_what_is_wrong_with_them_ends_in_one_line(self):
        for what, by, words in WRONG_APPEND:
            with self.subTest(by):
                self.assertEqual(APPEND.count(what), 1, what)
                self.refuses(words, APPEND.replace(what, by), APPEND_CL)

    def test_records_beyond_the_array_or_not_written_are_found(self):
        careful = APPEND_CL.replace("out[atomic_inc(found)] = value", "{ uint at = atomic_inc(found); if (at < 100) out[at] = value; }")
        self.refuses(("args[2].size is 100", "appends 586 records"), APPEND.replace("size = 600", "size = 100"), careful)
        self.refuses(('"out"', "element"), APPEND, APPEND_CL.replace("= value;\n}", "= value;\n  if (value == 5) atomic_inc(found);\n}"))


class Combine(Kernel):
    def expected(self):
        made = []
        for j in (0, 1):
            a, b = 1, 0
            for i in range(4096):
                x = i % 1000
                factor = 2 * x + 3 + 2 * j
                a, b = a * factor % 2**32, (b * factor + x + j) % 2**32
            made += [(a - 1) % 2**32, b]
        return made

    def output(self, *arguments, **named):
        out = self.folder / "out"
        runs = self.run_kernel(*arguments, "--output", out, **named)
        self.assertEqual({(run["status"], run["verify"]["status"]) for run in runs}, {("ok", "passed")}, runs)
        made = array.array("I")
        made.frombytes(out.read_bytes())
        return list(made), {run["verify"]["digest"] for run in runs}

    def test_partial_results_are_combined_in_the_order_of_the_items_by_every_strategy(self):
        made, digests = self.output(self.write(COMBINE, COMBINE_CL), "-s", "all", size=4096)
        self.assertEqual(made, self.expected())
        self.assertEqual(len(digests), 1)

    def test_accumulators_begin_with_what_fill_says(self):
        text = COMBINE.replace(ALL, 'type = "uint"\nmap = { kind = "reduce", combine = "after" }\nfill = { kind = "constant", value = 5 }\nsize = 2')
        code = """\
__kernel void compose(__global const uint* x, __global uint* all, const uint count) {
  for (uint i = 0; i < count; ++i) all[get_global_id(0)] += x[i];
}
__kernel void after(__global uint* into, __global const uint* from) { into[get_global_id(0)] += from[get_global_id(0)] - 5; }
"""
        for size in (4096, 100):  # 32 partial results, and one
            made, _ = self.output(self.write(text, code), "-s", "dynamic", "--mode", "end-to-end", size=size)
            self.assertEqual(made, [5 + sum(i % 1000 for i in range(size))] * 2)
        self.refuses(('"all"', "kernel after combines 32"), text, code.replace(" - 5", ""))
        self.refuses(('parameter 1 ("from") of type int*', "__global const uint* from"), text, code.replace("const uint* from", "const int* from"))

    def test_what_is_wrong_with_them_ends_in_one_line(self):
        for what, by, words in WRONG_COMBINE:
            with self.subTest(by):
                self.assertEqual(COMBINE.count(what), 1, what)
                self.refuses(words, COMBINE.replace(what, by), COMBINE_CL)
        for what, by, words in WRONG_COMBINE_CODE:
            with self.subTest(by):
                self.assertEqual(COMBINE_CL.count(what), 1, what)
                self.refuses(words, COMBINE, COMBINE_CL.replace(what, by))

    def test_sums_that_are_rounded_want_a_tolerance_that_is_stated(self):
        text, code = ((EXAMPLES / "moments" / f"moments.{kind}").read_text() for kind in ("toml", "cl"))
        text = text.replace("moments.cl", "k.cl").split("[check]")[0]
        size = ("--size", 96, "--set", "columns=256")
        self.refuses(('"sums"', "map.tolerance"), text.replace(", tolerance = { rel = 1e-4 }", ""), code, arguments=size)
        self.refuses(('"sums"', "map.tolerance"), text, code.replace("a.z + b.z + apart", "a.z + b.z - apart"), arguments=size)
        as_struct = text.replace('type = "float4"', 'type = "struct"\nbytes = 16')
        file = self.write(as_struct.replace("{ rel", '{ of = "float", rel'), code)
        self.assertEqual(len(self.digests(file, "-s", "equal", "--mode", "resident", "--set", "columns=256", size=96)), 1)


class Rounds(Kernel):
    def expected(self, rounds):
        x, v = list(range(512)), list(range(512))
        for _ in range(rounds):
            x = [2 * x[i] + x[max(i - 3, 0)] for i in range(512)]
            v = [3 * v[i] - v[min(i + 200, 511)] for i in range(512)]
        return x + v

    def test_any_number_of_them_swaps_several_arrays_with_halos_of_their_own(self):
        file, out = self.write(ROUNDS, ROUNDS_CL), self.folder / "out"
        for rounds, mode in ((1, "end-to-end"), (2, "resident"), (5, "end-to-end")):
            runs = self.run_kernel(file, "--set", f"steps={rounds}", "-s", "equal", "--mode", mode, "--output", out, size=512)
            self.assertEqual([run["verify"]["status"] for run in runs], ["passed"], runs)
            made = array.array("i")
            made.frombytes(out.read_bytes())
            self.assertEqual(list(made), self.expected(rounds), (rounds, mode))

    def test_strategies_that_hand_out_pieces_do_not_apply(self):
        runs = self.run_kernel(self.write(ROUNDS, ROUNDS_CL), "-s", "equal,dynamic", "--mode", "resident", size=512)
        self.assertEqual([run["status"] for run in runs], ["ok", "unsupported"])

    def test_wrong_rounds_and_swaps_end_in_one_line_that_names_the_key(self):
        for what, by, words in WRONG_ROUNDS:
            with self.subTest(by):
                self.assertEqual(ROUNDS.count(what), 1, what)
                self.refuses(words, ROUNDS.replace(what, by), ROUNDS_CL)

    def test_a_halo_that_is_too_short_is_found_before_the_second_round(self):
        self.refuses(('"w"', "item", " device "), ROUNDS.replace("[0, 200]", "[0, 100]"), ROUNDS_CL)


if __name__ == "__main__":
    binary.main()
