#!/usr/bin/env python3
"""Suite kernel as a user runs it: the examples, every map, and errors in kernels that only a device
can reveal. Usage: kernel_test.py BINARY [unittest arguments]. Refusals of descriptors are in
tests/golden/cli/kernel.txt. Descriptors are named relative to the folder that they were written to:
a compiler gets the path, and would compile the same kernel again for each folder."""

import array
import functools
import json
import math
import operator
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tomllib
import unittest
from pathlib import Path

import binary
from binary import Case, THOROUGH

EXAMPLES = binary.ROOT / "suites" / "kernel" / "examples"
NAMES = sorted(folder.name for folder in EXAMPLES.iterdir())
QUICK = ("life", "relativistic", "graph")
SMALL = {"mandelbrot": 32, "blur": 128, "nbody": 512, "life": 48, "moments": 96,
         "relativistic": 128, "graph": 128}
STRATEGIES = {name: "equal,proportional" for name in ("life", "relativistic")}
MORE = {"moments": ("--set", "columns=256")}
FEW = ("-q", "-n", 1, "--warmup", 0)
RESIDENT = ("--mode", "resident")
# PoCL compiles a kernel again for each work-group size, of which slices have many. The quick tier has
# one compilation for all sizes; the thorough tier tests each size, as users have it.
if not THOROUGH:
    os.environ.setdefault("POCL_WORK_GROUP_SPECIALIZATION", "0")

SPLIT, HALO = '"split"', '{ kind = "halo", per_item = "width", radius = "radius", edge = "clamp" }'
INDEX, MODULO = '{ kind = "index" }', '{ kind = "index", modulo = 1000 }'


def table(name, kind, map=None, **keys):
    """Returns the table of an argument. Values are as in TOML."""
    given = {"map": map, **keys} if map else keys
    return f'[[args]]\nname = "{name}"\ntype = "{kind}"\n' + "".join(
        f"{key} = {value}\n" for key, value in given.items())


def written(name, kind="int", **keys):
    return table(name, kind, SPLIT, access='"write"', **keys)


def combined(name, kind, how, size):
    return table(name, kind, f'{{ kind = "reduce", {how} }}', size=size, access='"write"')


def described(entry, n, *args, params="", launch='global = ["count"]', repeat=""):
    """Returns a descriptor of the kernel `entry` in k.cl; without entry, of stages."""
    return ('kernel = "k.cl"\n' + (f'entry = "{entry}"\n' if entry else "") + f"n = {n}\n" +
            (f"[params]\n{params}\n" if params else "") + f"[launch]\n{launch}\n" +
            (f"[repeat]\n{repeat}\n" if repeat else "") + "".join(args))


WHOLE = 'global = ["count"]\noffset = "global_work_offset"'
SAXPY = described("saxpy", 4096, table("x", "float", SPLIT), written("z", "float"),
                  table("a", "float", scalar='"a"'), params="a = 2.5")
SAXPY_CL = """\
__kernel void saxpy(__global const float* x, __global float* z, const float a) {
  z[get_global_id(0)] = a * x[get_global_id(0)];
}
"""
APPEND = described("sevens", 4096, table("x", "int", SPLIT, fill=MODULO), combined("found", "uint", 'op = "add"', 1),
                   table("out", "int", '{ kind = "append", counter = "found" }', size=600, access='"write"'))
APPEND_CL = """\
__kernel void sevens(__global const int* x, __global uint* found, __global int* out) {
  const int value = x[get_global_id(0)];
  if (value % 7 == 0) out[atomic_inc(found)] = value;
}
"""
COMBINE = described("compose", 4096, table("x", "uint", SPLIT, fill=MODULO),
                    table("all", "struct", '{ kind = "reduce", combine = "after" }', bytes=8, size=2),
                    table("count", "uint", scalar='"count"'), launch="global = [2]")
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
ROUNDS = described("advance", 512, table("x", "int", '{ kind = "halo", radius = [3, 0] }', fill=INDEX), written("z"),
                   table("v", "int", '{ kind = "halo", radius = [0, 200] }', fill=INDEX), written("w"),
                   launch=WHOLE, repeat='rounds = 3\nswap = [["x", "z"], ["v", "w"]]')
ROUNDS_CL = """\
__kernel void advance(__global const int* x, __global int* z, __global const int* v,
                      __global int* w) {
  const int i = get_global_id(0);
  z[i] = 2 * x[i] + x[max(i - 3, 0)];
  w[i] = 3 * v[i] - v[min(i + 200, 511)];
}
"""
PARTIAL = described("advance", 512, table("x", "int", '{ kind = "halo", radius = [0, 1] }', fill=INDEX),
                    table("z", "int", SPLIT, access='"readwrite"', fill='{ kind = "ramp", first = 1000, step = 2 }'),
                    table("turn", "int", scalar='"7 - 2 * round"'),
                    launch=WHOLE, repeat='rounds = 5\nswap = ["x", "z"]')
PARTIAL_CL = """\
__kernel void advance(__global const int* x, __global int* z, const int turn) {
  const int i = get_global_id(0);
  if ((i + turn) % 3 != 0) z[i] = x[i] + 3 * x[min(i + 1, 511)];
}
"""
WHILE = described("halve", 512, table("x", "int", SPLIT, fill=INDEX), written("z"),
                  table("v", "int", '{ kind = "halo", radius = [1, 0] }', fill=INDEX), written("w"),
                  table("more", "uint", '"flag"'), launch=WHOLE,
                  repeat='rounds = 20\nwhile = "more"\nswap = [["x", "z"], ["v", "w"]]')
WHILE_CL = """\
__kernel void halve(__global const int* x, __global int* z, __global const int* v,
                    __global int* w, __global uint* more) {
  const int i = get_global_id(0);
  z[i] = x[i] / 2;
  w[i] = v[i] + v[max(i - 1, 0)];
  if (z[i] > 0) *more = 1;
}
"""
# Accumulators that stages add to and read twice in an iteration, also before the first one adds.
SUMS = described("", 4096, table("x", "int", SPLIT, access='"readwrite"', fill=INDEX),
                 table("most", "int", '"replicate"', size=2, access='"readwrite"', fill='"zero"'),
                 table("begin", "int", scalar='"begin"'), table("end", "int", scalar='"end"'),
                 combined("low", "int", 'op = "min"', 1), combined("high", "float", 'op = "max"', 1),
                 combined("odd", "uchar", 'op = "xor"', 3), combined("sum", "ulong", 'op = "add"', 1),
                 *(f'[[stages]]\nentry = "{entry}"\nargs = {args.split()}\nglobal = ["{size}"]\n'
                   for entry, args, size in (("apply", "x low high odd sum most", "count"),
                                             ("gather", "x low high odd sum begin end", "1"),
                                             ("keep", "high sum most", "2"),
                                             ("gather", "x low high odd sum begin end", "1"),
                                             ("apply", "x low high odd sum most", "count"))),
                 launch='offset = "global_work_offset"', repeat="rounds = 3")
SUMS_CL = """\
__kernel void gather(__global const int* x, __global int* low, __global float* high, __global uchar* odd,
                     __global ulong* sum, const int begin, const int end) {
  for (int i = begin; i < end; ++i) {
    low[0] = min(low[0], x[i]);
    high[0] = max(high[0], (float)x[i]);
    odd[i % 3] ^= x[i];
    sum[0] += x[i];
  }
}
__kernel void keep(__global const float* high, __global const ulong* sum, __global int* most) {
  const int i = get_global_id(0);
  most[i] = (most[i] + (int)high[0] + (int)(sum[0] % 1000)) % 4096;
}
__kernel void apply(__global int* x, __global const int* low, __global const float* high, __global const uchar* odd,
                    __global const ulong* sum, __global const int* most) {
  const int i = get_global_id(0), least = low[0] > 4096 ? 5 : low[0], most_now = high[0] < 0 ? 1 : (int)high[0];
  x[i] = (3 * x[i] + least + most_now + odd[i % 3] + (int)(sum[0] % 1000) + most[1]) % 4096;
}
"""
READS_SUM = described("", 4096, table("x", "int", SPLIT), written("z"), combined("sum", "uint", 'op = "add"', 1),
                      *(f'[[stages]]\nentry = "{entry}"\nargs = ["{array}", "sum"]\n'
                        for entry, array in (("add", "x"), ("use", "z"))), launch="")
READS_SUM_CL = """\
__kernel void add(__global const int* x, __global uint* sum) { atomic_add(sum, x[get_global_id(0)]); }
__kernel void use(__global int* z, __global const uint* sum) { z[get_global_id(0)] = sum[0]; }
"""
WRITES_Z = 'map = "split"\naccess = "write"'
SUM = 'map = { kind = "reduce", op = "add" }\nsize = 256'
# Mistakes that show when the kernel runs: the example or one of the texts above, the changes in its
# descriptor and in its kernel, and parts of the message.
OWN = (SAXPY, SAXPY_CL)
MISTAKES = {
    "a halo that is one short": ("blur", ('radius = "radius", edge',
                                          'radius = ["radius - 1", "radius"], edge'),
                                 None, ('"out"', "nan")),
    "a sum of all devices that a kernel may write": ((SUMS, SUMS_CL), None,
                                                     ("high, __global const ulong* sum, __global int",
                                                      "high, __global ulong* sum, __global int"),
                                                     ("accumulator", "kernel's parameter is const")),
    "slices that write what is the next one's": (OWN,
                                                 None, ("a * x", "z[get_global_id(0) + 1] = a * x"),
                                                 ('"z"', "item 4096")),
    "an accumulator declared split": ("histogram", (SUM, 'map = "split"'),
                                      None, ('"counts"', "item")),
    # The thorough tier runs the others.
    "a halo declared split": ("blur", (HALO, '{ kind = "split", per_item = "width" }'),
                              None, ('"out"', "nan")),
    "a replicated array declared split": ("nbody", ('map = "replicate"\nsize = "n"',
        'map = "split"'), None,
                                          ('"result"', "item", "slice [")),
    "a slice told that it is the first": ("nbody", ('scalar = "begin"', "scalar = 0"), None,
                                          ('"result"', "item", "slice [")),
    "fewer elements than are written": ("mandelbrot", ('per_item = "width"',
        'per_item = "width / 2"'), None,
                                        ('"iterations"', "item")),
    "more elements than are written": (OWN, (WRITES_Z,
                                             WRITES_Z.replace('"split"',
        '{ kind = "split", per_item = 2 }')),
                                       None, ('"z"', "item 2048")),
    "an input that is written": (OWN, None, ("const float* x, __global float* z, const float a) {",
                                             "float* x, __global float* z, const float a) {\n  "
                                             "x[7] = 0;"),
                                 ('"x"', "item 7")),
    "an output that is read": (OWN, None, ("= a", "+= a"), ('"z"', "item 0")),
    "neighbours that nobody declared": (OWN,
                                        None, ("* x[get_global_id(0)]",
                                               "* x[get_global_id(0) + 1]"),
                                        ('"z"', "item 4095", "nan")),
    "sums combined by another operation": ("histogram", ('op = "add"', 'op = "max"'),
                                           None, ('"counts"', "element")),
    "a global offset that is not given": ("mandelbrot", ('offset = "global_work_offset"',
        'offset = "rebased"'), None,
                                          ('"iterations"', "item", "slice [")),
    "a halo that is short in the second round": ((ROUNDS, ROUNDS_CL), ("[0, 200]", "[0, 100]"),
                                                 None, ('"w"', "item")),
    "records beyond the array": ((APPEND, APPEND_CL), ("size = 600", "size = 100"),
                                 ("out[atomic_inc(found)] = value",
                                   "{ uint at = atomic_inc(found); "
                                   "if (at < 100) out[at] = value; }"),
                                 ("args[2].size is 100", "586")),
    "records that are not written": ((APPEND, APPEND_CL), None,
                                     ("= value;\n}",
                                      "= value;\n  if (value == 5) atomic_inc(found);\n}"),
                                     ('"out"', "element")),
    "partial results in the other order": ((COMBINE, COMBINE_CL), None,
                                           ("f = into[j], g = from[j];",
                                            "f = from[j], g = into[j];"), ('"all"', "after")),
    "a combination that writes what it reads": ((COMBINE, COMBINE_CL), None,
                                                ("into[j].b =",
                                                 "((__global affine*)from)[j].b ="), ("after",
        "element 0")),
    "a combination beside its arguments": ((COMBINE, COMBINE_CL),
                                           None, ("into[j].b =", "into[j + 2].b ="),
                                           ("after", "elements 0 to 1")),
}
# Mistakes that a compiler finds, in the same form: the message names an argument or a parameter.
UNFIT = {
    "a stage that reads a sum while slices still add": ((READS_SUM, READS_SUM_CL), None, None, ('"use"', '"sum"', "[repeat]")),
    "an array described as another type": ((SAXPY,
                                            SAXPY_CL), ('type = "float"\nmap = "split"\n[[args]]',
                                                               'type = "int"\nmap = '
                                                               '"split"\n[[args]]'),
                                                               None, ('"x"', "int")),
    "an argument too few": (OWN, ('[[args]]\nname = "a"\ntype = "float"\nscalar = "a"', ""),
                            None, ("3 parameters",)),
    "an array for a value": (OWN, ('scalar = "a"', 'map = "split"'), None, ('"a"',)),
    "local memory for global": (OWN, ('name = "x"\ntype = "float"\nmap = "split"',
                                      'name = "x"\nmap = "local"\nbytes = 64'),
                                None, ('"x"', "__global")),
    "a parameter too many of a combination": ((COMBINE, COMBINE_CL),
                                              None, ("affine* from) {", "affine* from, uint n) {"),
                                              ("after", "3 parameters")),
    "a combination that may write its second": ((COMBINE, COMBINE_CL),
                                                None, ("__global const affine* from",
        "__global affine* from"),
                                                ('"from"', "const")),
}


class Kernel(Case):
    def run_kernel(self, descriptor, *arguments, devices=None, few=FEW):
        file = self.folder / "r.json"
        mode = () if "--mode" in arguments else RESIDENT
        self.good("run", "--kernel", descriptor, *(devices or binary.DEVICES), *few, *mode, "-o",
                  file, *arguments, cwd=self.folder)
        runs = json.loads(file.read_text())["runs"]
        for run in runs:
            if run["status"] != "unsupported":
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
        return runs

    def write(self, descriptor=SAXPY, code=SAXPY_CL, name="k.toml"):
        (self.folder / "k.cl").write_text(code)
        (self.folder / name).write_text(descriptor)
        return name

    def output(self, kind, descriptor, *arguments, **named):
        out = self.folder / "out"
        runs = self.run_kernel(descriptor, *arguments, "--save-data", out, **named)
        made = array.array(kind)
        made.frombytes(out.read_bytes())
        return list(made), runs

    def ends(self, code, file, *arguments):
        """Returns the output of a run on one device that ends with this code."""
        done = binary.mgpu("run", "--kernel", file, *binary.WHOLE_DEVICE, *FEW, *RESIDENT, "-s",
                           "equal", *arguments, cwd=self.folder)
        self.assertEqual(done.code, code, done)
        return done.out + done.err


class Runs(Kernel):
    @property
    def devices(self):
        """Returns the devices for tests in which slices matter: two, or one in the quick tier."""
        return binary.DEVICES if THOROUGH else binary.WHOLE_DEVICE

    def test_stages_of_a_graph_run_side_by_side_with_the_bits_of_a_row(self):
        runs = [self.run_kernel(EXAMPLES / "graph" / "graph.toml", "--size", 64, "-s", "single",
                                *RESIDENT, "--side-by-side", beside, devices=binary.ONE_DEVICE)[0]
                for beside in ("on", "off")]
        kernels = [[command[3] for command in run["timeline"]["commands"]] for run in runs]
        self.assertEqual(kernels, [["centre", "energy|crossings|peak", "score"],
                                   ["centre", "energy", "crossings", "peak", "score"]])
        self.assertEqual(*(run["verify"]["digest"] for run in runs))

    def test_stages_side_by_side_take_the_time_of_their_launches(self):
        # NVIDIA stamps a barrier as ended before the launches that it waits for.
        result = self.good("run", "--kernel", "graph", *binary.ONE_DEVICE, *RESIDENT, "-q", "-n", 3,
                           "--size", 64, "-s", "single", "-o", self.folder / "r.json",
                           env={"OPENCL_LAYERS": os.environ["MGPU_FAULT_LAYER"], "MGPU_FAULT_SCRIPT":
                                "call=clEnqueueBarrierWithWaitList do=stamps:zero"})
        self.assertNotIn("is not known", result.out)
        run, = json.loads((self.folder / "r.json").read_text())["runs"]
        self.assertIn("energy|crossings|peak", [each[3] for each in run["timeline"]["commands"]])

    def test_a_stage_that_fails_next_to_others_is_a_fault_of_its_device(self):
        result = self.good("run", "--kernel", "graph", *binary.ONE_DEVICE, *RESIDENT, "-q", "-n", 5,
                           "--size", 64, "-s", "single", "-o", self.folder / "r.json",
                           env={"OPENCL_LAYERS": os.environ["MGPU_FAULT_LAYER"],
                                "MGPU_FAULT_SCRIPT": "call=launch kernel=peak nth=6 do=fail:-5"})
        self.assertIn("failed: CL_OUT_OF_RESOURCES", result.err)

    def test_stages_without_an_order_that_share_what_one_writes_are_refused(self):
        toml, cl = ((EXAMPLES / "graph" / f"graph.{kind}").read_text() for kind in ("toml", "cl"))
        toml = toml.replace('after = ["energy", "crossings", "peak"]', 'after = ["energy", "peak"]')
        name = self.write(toml.replace("graph.cl", "k.cl").split("[check]")[0], cl)
        self.refused(("run", "--kernel", name, *binary.WHOLE_DEVICE, *FEW), 2,
                     'stages "crossings" and "score" have no order',
                     '"crossings" may write "counts"', cwd=self.folder)

    def test_examples_give_one_digest(self):
        for name in NAMES if THOROUGH else QUICK:
            with self.subTest(name):
                runs = self.run_kernel(EXAMPLES / name / f"{name}.toml", "--size",
                                       SMALL.get(name, 40000), "-s",
                                       STRATEGIES.get(name, "equal,dynamic"),
                                       *MORE.get(name, ()),
                                       *(("--mode", "both") if THOROUGH else ()))
                self.assert_schema(self.folder / "r.json", "result")
                self.assertEqual(
                        len({run["verify"]["digest"] for run in runs if run["status"] == "ok"}), 1)
                for run in runs:
                    self.assertNotIn("wrong map", " ".join(run.get("warnings", [])))
                again = ("--size", SMALL.get(name, 40000), *MORE.get(name, ()), "-s", "single")
                if name != "mandelbrot":  # it has no input
                    other, = self.run_kernel(EXAMPLES / name / f"{name}.toml", *again, "--seed", 2,
                                             devices=binary.ONE_DEVICE)
                    self.assertNotEqual(other["verify"]["digest"], runs[0]["verify"]["digest"])
                self.assert_flips_are_seen("run", "--kernel", name, *binary.ONE_DEVICE, *FEW,
                                           *RESIDENT, *again)

    def test_where_a_wrong_map_may_pass_unseen_is_told(self):
        values = self.folder / "nan.f32"
        values.write_bytes(array.array("f", [math.nan] + [1.0] * 4095).tobytes())
        x, z = ('name = "%s"\ntype = "float"\nmap = "split"\n' % name for name in "xz")
        for descriptor, code, more, said in (
                (SAXPY.replace(x, x + 'fill = { kind = "zero" }\n'), SAXPY_CL, (),
                 'what the kernel reads ("x")'),
                (SAXPY, SAXPY_CL.replace("a * x[get_global_id(0)]", "a"), (),
                 "all of its 4096 elements are 2.5"),
                (SAXPY.replace(z, z + "sparse = true\n"),
                 SAXPY_CL.replace("  z[", "  if (x[get_global_id(0)] > 1e9f) z["), (),
                 "writes none of its elements"),
                (SAXPY, SAXPY_CL, ("--size", 16), "the split was not tried"),
                (SAXPY, SAXPY_CL, ("--input", values), "1 of 4096 values is no finite number")):
            with self.subTest(said):
                run, = self.run_kernel(self.write(descriptor, code), "-s", "single", "--force",
                                       *more, devices=binary.WHOLE_DEVICE)
                self.assertIn(said, " ".join(run["warnings"]))
        run, = self.run_kernel(self.write(), "-s", "single", "--force",
                               devices=binary.WHOLE_DEVICE)
        self.assertNotIn("unseen", " ".join(run["warnings"]))

    def test_the_verification_says_what_it_covered(self):
        alone = "every element, bit for bit, with device "
        sparse = (SAXPY.replace('access = "write"', 'access = "write"\nsparse = true'),
                  SAXPY_CL.replace("  z[", "  if (get_global_id(0) % 4 == 0) z["))
        check = SAXPY + '[check]\ncommand = "true"\n'
        for (descriptor, code), more, words, without in (
                ((SAXPY, SAXPY_CL), (), ("5 slices of other sizes", "nothing checked the kernel"), ()),
                ((SAXPY, SAXPY_CL), ("--guards", "off"), ("the split was not tried",), ("slices",)),
                ((check, SAXPY_CL), (), ('and by "true"',), ("nothing checked",)),
                (sparse, (), ('of "z", 4096 of 16384 bytes are written',), ())):
            run, = self.run_kernel(self.write(descriptor, code), "-s", "single", *more,
                                   devices=binary.WHOLE_DEVICE)
            method = run["verify"]["method"]
            for word in (alone, *words):
                self.assertIn(word, method)
            for word in without:
                self.assertNotIn(word, method)

    def test_checks_of_the_examples_refuse_what_is_no_number(self):
        ones = [1.0] * 64
        for name, right, more in (("saxpy", [3.5] * 64, ()),
                                  ("moments", [64.0, 1.0, 0.0, 0.0], ("1",))):
            inputs = (ones, ones) if name == "saxpy" else (ones,)
            for values in (right, [math.nan] * len(right)):
                files = [self.folder / f"{i}.f32" for i in range(len(inputs) + 1)]
                for file, content in zip(files, (*inputs, values)):
                    file.write_bytes(array.array("f", content).tobytes())
                done = subprocess.run([sys.executable, EXAMPLES / name / "check.py", *files, *more],
                                      capture_output=True, check=False)
                self.assertEqual(done.returncode != 0, values is not right, (name, values[:4]))

    def test_a_number_of_items_that_is_no_multiple_of_a_slice_is_calibrated(self):
        file = self.write(APPEND.replace("n = 4096", "n = 600"), APPEND_CL)
        done = self.good("run", "--kernel", file, *binary.WHOLE_DEVICE, *FEW, *RESIDENT, "-s",
                         "single", cwd=self.folder)
        self.assertNotIn("is not calibrated", done.err)

    def test_what_plan_asks_for_makes_it_work_and_a_result_is_simulated(self):
        file = self.write(SAXPY.replace("n = 4096", "n = 100000"))
        env = {"XDG_CACHE_HOME": str(self.folder / "cache")}
        plan = ["plan", "--kernel", file, "--set", "a=0.5", *binary.WHOLE_DEVICE]
        asked = self.refused(plan, 2, "has not been measured", cwd=self.folder, env=env).err
        command = shlex.split(asked.split("run first: mgpu-bench ")[1])
        self.assertEqual(command[:2], ["calibrate", "kernel"])
        self.good(*command, "--no-noise", cwd=self.folder, env=env)
        self.assertIn("100,000", self.good(*plan, cwd=self.folder, env=env).out)
        self.refused(["calibrate", "merkle", "--kernel", file], 2, "--kernel", cwd=self.folder)
        self.run_kernel(file, "-s", "equal")
        self.good("simulate", "--from", "r.json", cwd=self.folder)

    def test_a_bit_that_is_flipped_while_slices_are_tried_does_not_blame_the_descriptor(self):
        env = {"OPENCL_LAYERS": os.environ["MGPU_FAULT_LAYER"],
               "MGPU_FAULT_SCRIPT": "call=download min=64 nth=1 times=1 bit=62 do=flip"}
        done = self.good("run", "--kernel", self.write(), *binary.WHOLE_DEVICE, *FEW, *RESIDENT,
                         "-s", "single", cwd=self.folder, env=env)
        self.assertIn("tried twice gave different results", done.err)

    def test_the_published_schema_takes_the_examples_and_no_unknown_key(self):
        schema = json.loads((EXAMPLES.parent / "descriptor.schema.json").read_text())
        good = [tomllib.loads((EXAMPLES / name / f"{name}.toml").read_text()) for name
                in NAMES] + [tomllib.loads(SAXPY)] + [
                    tomllib.loads(file.read_text())
                    for file in sorted((binary.ROOT / "tests" / "kernels").glob("*.toml"))]
        wrong = [{**good[0], "kernle": "k.cl"},
                 {**good[0], "args": [{"name": "x", "type": "float"}]}, {**good[0], "n": 0},
                 {**good[0], "launch": {"range": [1]}}]
        script = ("import json, jsonschema, sys\nschema, documents = json.load(sys.stdin)\n"
                  "print(json.dumps([jsonschema.Draft7Validator(schema).is_valid(d) for d in "
                  "documents]))")
        done = subprocess.run([binary.python_with("jsonschema"), "-c", script],
                              input=json.dumps([schema, good + wrong]),
                              capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(done.stdout), [True] * len(good) + [False] * len(wrong))

    def test_input_and_several_values_of_a_parameter(self):
        one = {"devices": binary.WHOLE_DEVICE}
        values = self.folder / "x.f32"
        values.write_bytes(array.array("f", range(512)).tobytes())
        asked = ("-s", "equal", "--input", values, "--set", "a=0.5")
        made, runs = self.output("b", self.write(), *asked, **one)
        self.assertEqual(list(array.array("f", bytes(b % 256 for b in made[-2048:]))), [i / 2 for i
                in range(512)])
        self.assertEqual(runs[0]["params"]["set"], "a=0.5")
        runs = self.run_kernel(self.write(), "--set", "a=1,2,2.0", "-s", "equal", "--size", 512,
                               **one)
        self.assertEqual([run["params"]["set"] for run in runs], ["a=1", "a=2", "a=2.0"])
        self.assertEqual(len({run["verify"]["digest"] for run in runs}), 2)

    def init(self, code, values, *options, file="k.toml"):
        """Returns what init wrote for a kernel, and fills in the values, by key, that it asks for."""
        (self.folder / "k.cl").write_text(code)
        written = self.good("init", "k.cl", "-o", file, *options, cwd=self.folder)
        self.assertIn(f"mgpu-bench run --kernel {file} -s equal", written.err)
        lines = (self.folder / file).read_text().split("\n")
        asked = [line.split(" = # ASK:")[0] for line in lines if " = # ASK:" in line]
        if asked:
            number = next(i for i, line in enumerate(lines, 1) if " = # ASK:" in line)
            self.refused(["run", "--kernel", file, *binary.WHOLE_DEVICE], 2,
                         f"{file}:{number}: {asked[0]} has no value", cwd=self.folder)
        self.assertEqual(asked, [key for key, value in values])
        left = iter(values)
        filled = [line.split(" # ASK:")[0] + f" {next(left)[1]}  # ASK: .."
                  if " = # ASK:" in line else line for line in lines]
        (self.folder / file).write_text("\n".join(filled))
        return tomllib.loads("\n".join(filled))

    def test_run_takes_what_init_writes_and_asks_for(self):
        made = self.init(SAXPY_CL, [("n", 4096), ("scalar", 2.5)])
        self.assertEqual([(one["name"], one["type"], one.get("access")) for one in made["args"]],
                         [("x", "float", None), ("z", "float", "write"), ("a", "float", None)])
        self.run_kernel("k.toml", "-s", "equal", devices=binary.WHOLE_DEVICE)
        made = self.init(SAXPY_CL, [("n", 4096), ("scalar", 2.5)], file="made/k.toml")
        self.assertEqual(made["kernel"], "../k.cl")

    def test_init_measures_structures_and_knows_rows_inputs_and_groups(self):
        code = ("typedef struct { float a; char b; double c; } pair;\n"
                "__kernel void rows(__global float* in, __global float* out, __global pair* p,\n"
                "                   int w, int h, __global int* hits, pair q,\n"
                "                   __global float* both) {\n"
                "  int x = get_global_id(0), y = get_global_id(1);\n"
                "  if (x >= w || y >= h) return;\n"
                "  out[y * w + x] = in[y * w + x] + (float)p[x % 3].c + q.b;\n"
                "  both[y * w + x] += 1;\n"
                "  if (get_local_id(0) == 0) atomic_inc(&hits[y & 1]);\n}\n")
        made = self.init(code, [("n", 256), ("width", 64), ("group", 8), ("group_y", 2),
                                ("map", '"replicate"\nsize = 3'), ("fill", '"zero"'), ("size", 2),
                                ("fields", '["float 0.5", "char 3", "double n"]')])
        self.assertEqual(made["launch"], {"global": ["round_up(width, group)",
                                                     "round_up(count, group_y)"],
                                          "local": ["group", "group_y"]})
        args = {one["name"]: one for one in made["args"]}
        self.assertEqual((args["in"]["access"], args["out"]["access"]), ("read", "write"))
        self.assertEqual((args["p"]["type"], args["p"]["bytes"]), ("struct", 16))
        self.assertEqual((args["w"]["scalar"], args["h"]["scalar"]), ("width", "count"))
        self.assertEqual((args["both"]["access"], args["both"]["fill"]), ("readwrite", "uniform"))
        self.assertEqual(args["hits"]["map"], {"kind": "reduce", "op": "add"})
        self.run_kernel("k.toml", "-s", "equal", devices=binary.WHOLE_DEVICE)

    def test_init_asks_for_the_shape_of_an_image(self):
        made = self.init("__kernel void k(__read_only image2d_t p, __global float* z) {\n"
                         "  const int i = get_global_id(0);\n"
                         "  z[i] = read_imagef(p, (int2)(i % 8, i / 8)).x;\n}\n",
                         [("n", 64), ("type", '"float"'),
                          ("map", '{ kind = "image", width = 8, height = 8 }')])
        self.assertEqual([one["name"] for one in made["args"]], ["p", "z"])

    def test_init_refuses_what_run_would_and_quotes_the_compiler_once(self):
        for parameter, words in (("__read_only image3d_t p", ('"p"', "image3d_t")),
                                 ("__global float* p, int n", ("undeclared", "--options", "-DNAME=VALUE"))):
            (self.folder / "k.cl").write_text(
                "__kernel void k(__global float* z, " + parameter +
                ") { z[get_global_id(0)] = " + ("N + N;" if "int n" in parameter else "1;") + " }\n")
            done = binary.mgpu("init", "k.cl", "-o", "k.toml", cwd=self.folder)
            self.assertIn(done.code, (2, 5), done)
            for word in words:
                self.assertIn(word, done.err)
            self.assertLessEqual(done.err.count("undeclared identifier"), 1, done.err)
            self.assertFalse((self.folder / "k.toml").exists())

    def test_a_quick_size_is_one_that_can_be_split(self):
        if binary.DEVICE_COUNT < 2:
            self.skipTest("no two devices")
        file = self.write(SAXPY.replace("n = 4096", "n = 4096\nquick = 64"))
        run, = self.run_kernel(file, "--quick", "-s", "equal", devices=binary.DEVICES)
        self.assertGreater(run["params"]["n"], 64)
        self.assertTrue(all(device["items"] > 0 for device in run["per_device"]), run)

    def test_a_kernel_with_the_name_of_a_function_is_told_so_and_init_leaves_no_file(self):
        (self.folder / "dot.cl").write_text(
            "__kernel void dot(__global const float* x, __global float* z) {\n"
            "  z[get_global_id(0)] = 2 * x[get_global_id(0)];\n}\n")
        refused = binary.mgpu("init", "dot.cl", "-o", "dot.toml", cwd=self.folder)
        self.assertIn(refused.code, (2, 5), refused)
        self.assertIn('no kernel "dot"', refused.err)
        self.assertIn("rename the kernel", refused.err)
        self.assertFalse((self.folder / "dot.toml").exists())

    @binary.thorough
    def test_a_file_of_the_schema_that_kernel_tuner_and_ktt_share_is_taken(self):
        vector = {"Type": "float", "MemoryType": "Vector", "Size": "4096"}
        t1 = {"KernelSpecification": {
            "Language": "OpenCL", "KernelName": "saxpy", "KernelFile": "k.cl",
            "GlobalSize": {"X": "4096"}, "LocalSize": {"X": "64"},
            "Arguments": [{"Name": "x", **vector, "FillType": "Random", "FillValue": 1.0,
                           "RandomSeed": 7, "AccessType": "ReadOnly"},
                          {"Name": "z", **vector, "AccessType": "WriteOnly"},
                          {"Name": "a", "Type": "float", "MemoryType": "Scalar",
                           "FillType": "Constant", "FillValue": 2.5}]},
              "ConfigurationSpace": {"TuningParameters": [{"Name": "BLOCK", "Type": "int",
                "Values": "[64, 128]", "Default": 64}]}}
        runs = self.run_kernel(self.write(json.dumps(t1), name="k.json"), "-s", "equal,dynamic")
        self.assertEqual(len({run["verify"]["digest"] for run in runs}), 1)

    def test_a_kernel_of_two_axes_in_the_schema_of_kernel_tuner_is_split_by_rows(self):
        vector = {"Type": "float", "MemoryType": "Vector", "FillType": "Random"}
        t1 = {"KernelSpecification": {
            "Language": "OpenCL", "KernelName": "sum", "KernelFile": "k.cl", "GlobalSize": {"X": "1"},
            "ProblemSize": [96, 64], "LocalSize": {"X": "32", "Y": "2"},
            "Arguments": [{**vector, "Name": "out", "Size": 96 * 64, "AccessType": "WriteOnly"},
                          {**vector, "Name": "in", "Size": 98 * 66, "AccessType": "ReadOnly"}]}}
        code = ("__kernel void sum(__global float* out, __global float* in) {\n"
                "  const int x = get_global_id(0), y = get_global_id(1);\n"
                "  out[y * 96 + x] = in[y * 98 + x] + in[(y + 2) * 98 + x + 2];\n}\n")
        runs = self.run_kernel(self.write(json.dumps(t1), code, "k.json"), "-s", "equal,single")
        self.assertEqual(len({run["verify"]["digest"] for run in runs}), 1)
        self.assertEqual([run["params"]["n"] for run in runs], [64] * len(runs))
        split = next(run for run in runs if run["strategy"] == "equal")
        if binary.DEVICE_COUNT > 1:
            self.assertTrue(all(0 < one["items"] < 64 for one in split["per_device"]), split)

    def test_records_are_those_of_all_slices_in_the_order_of_their_values(self):
        expected = sorted(value % 1000 for value in range(4096) if value % 1000 % 7 == 0)
        made, _ = self.output("i", self.write(APPEND, APPEND_CL), "-s", "dynamic:chunks=5",
                              devices=self.devices)
        self.assertEqual(made, [len(expected), *expected, *[0] * (600 - len(expected))])

    def test_partial_results_are_combined_in_the_order_of_the_items(self):
        expected = []
        for j in (0, 1):
            a, b = 1, 0
            for i in range(4096):
                factor = 2 * (i % 1000) + 3 + 2 * j
                a, b = a * factor % 2**32, (b * factor + i % 1000 + j) % 2**32
            expected += [(a - 1) % 2**32, b]
        made, runs = self.output("I", self.write(COMBINE, COMBINE_CL), "-s",
                                 "all" if THOROUGH else "equal,dynamic", devices=self.devices)
        self.assertEqual(made, expected)
        self.assertEqual(len({run["verify"]["digest"] for run in runs}), 1)

    def test_rounds_swap_several_arrays_with_halos_of_their_own(self):
        x, v = list(range(512)), list(range(512))
        for _ in range(3):
            x = [2 * x[i] + x[max(i - 3, 0)] for i in range(512)]
            v = [3 * v[i] - v[min(i + 200, 511)] for i in range(512)]
        made, runs = self.output("i", self.write(ROUNDS, ROUNDS_CL), "-s", "equal,dynamic",
                                 devices=self.devices)
        self.assertEqual(made, x + v)
        self.assertEqual([run["status"] for run in runs], ["ok", "unsupported"])

    def test_elements_that_a_round_leaves_alone_keep_what_they_had_two_rounds_before(self):
        x, z = list(range(512)), [1000 + 2 * i for i in range(512)]
        for turn in (7, 5, 3, 1, -1):
            for i in range(512):
                if (i + turn) % 3 != 0:
                    z[i] = x[i] + 3 * x[min(i + 1, 511)]
            x, z = z, x
        made, _ = self.output("i", self.write(PARTIAL, PARTIAL_CL), "-s", "equal",
                              few=("-q", "-n", 2, "--warmup", 1))
        self.assertEqual(made, x)

    def test_rounds_end_when_no_device_has_set_the_flag_or_at_their_number(self):
        # Half of 511 is 0 after 9 rounds; the first device's share is done one round earlier.
        for rounds, limit in ((9, 20), (4, 4)):
            with self.subTest(rounds):
                v = list(range(512))
                for _ in range(rounds):
                    v = [v[i] + v[max(i - 1, 0)] for i in range(512)]
                file = self.write(WHILE.replace("rounds = 20", f"rounds = {limit}"), WHILE_CL)
                made, (run, *_) = self.output("i", file, "-s", "equal", "--timeout", "20s",
                                              few=("-q", "-n", 2, "--warmup", 1))
                self.assertEqual(made, [i >> rounds for i in range(512)] + v)
                self.assertEqual(sum("halve" in each[3] for each in run["timeline"]["commands"]),
                                 rounds * len(run["devices"]))
                self.run_kernel(file, "-s", "equal", "--mode", "end-to-end")

    def test_accumulators_of_all_devices_are_combined_between_the_stages_of_an_iteration(self):
        x, most, sums = list(range(4096)), 0, None

        def apply():
            low, high, odd, total = sums or (5, 1, (0, 0, 0), 0)
            return [(3 * value + low + high + odd[i % 3] + total % 1000 + most) % 4096 for i, value in enumerate(x)]

        for _ in range(3):
            x = apply()
            odd = [functools.reduce(operator.xor, (value & 255 for value in x[i::3])) for i in range(3)]
            sums = min(x), max(x), odd, sum(x)
            most = (most + sums[1] + sums[3] % 1000) % 4096
            sums = min(x), max(x), (0, 0, 0), 2 * sum(x)  # the second `gather` adds the same again
            x = apply()
        file = self.write(SUMS, SUMS_CL)
        made, runs = self.output("B", file, "-s", "single,equal", few=("-q", "-n", 2, "--warmup", 1))
        self.assertEqual(list(struct.unpack("<4096i2iif3BQ", bytes(made))),
                         [*x, most, most, sums[0], sums[1], 0, 0, 0, sums[3]])
        runs += self.run_kernel(file, "-s", "equal", "--mode", "end-to-end")
        self.assertEqual(len({run["verify"]["digest"] for run in runs}), 1)

    def test_macros_folders_and_options_of_the_command_line_reach_the_compiler(self):
        (self.folder / "headers").mkdir()
        (self.folder / "headers" / "half.h").write_text("#define HALF (N / 2)\n")
        code = '#include "half.h"\n' + SAXPY_CL.replace("a *", "FIRST + SECOND + HALF +")
        made, runs = self.output("f", self.write(SAXPY, code), "-s", "single", "-D", "FIRST=3",
                                 "--define", "SECOND=0.5f,THIRD", "-I", self.folder / "headers",
                                 "--build-options=-DN=${n}", "--input", self.ramp(),
                                 devices=binary.WHOLE_DEVICE)
        self.assertEqual(made, [i + 3.5 + 256 for i in range(512)])
        self.assertEqual(runs[0]["params"]["define"], "FIRST=3,SECOND=0.5f,THIRD")

    def ramp(self):
        file = self.folder / "x.f32"
        file.write_bytes(array.array("f", range(512)).tobytes())
        return file


class Fails(Kernel):
    def with_mistake(self, example, descriptor, code):
        if isinstance(example, tuple):
            file = self.write(*example)
        else:
            shutil.copytree(EXAMPLES / example, self.folder, dirs_exist_ok=True)
            file = f"{example}.toml"
        for change, name in ((descriptor, file), (code, "k.cl")):
            if change is not None:
                text = (self.folder / name).read_text()
                self.assertEqual(text.count(change[0]), 1, change[0])
                (self.folder / name).write_text(text.replace(*change))
        return file

    def test_mistakes_are_found_and_told_with_argument_and_item(self):
        chosen = [*list(MISTAKES.items())[:None if THOROUGH else 2],
                  *list(UNFIT.items())[:None if THOROUGH else 1]]
        for name, (example, descriptor, code, words) in chosen:
            with self.subTest(name):
                file = self.with_mistake(example, descriptor, code)
                size = ["--size", SMALL.get(example, 40000)] if isinstance(example, str) else []
                self.refused(["run", "--kernel", file, *binary.WHOLE_DEVICE, *FEW, *RESIDENT, "-s",
                              "equal", *size], 2, *words, cwd=self.folder)

    @binary.thorough
    def test_what_guards_would_find_is_a_wrong_result_without_them(self):
        file = self.with_mistake(*MISTAKES["a replicated array declared split"][:3])
        done = binary.mgpu("run", "--kernel", file, *binary.DEVICES, *FEW, *RESIDENT, "-s",
                           "equal", "--size", 512, "--guards", "off", cwd=self.folder)
        self.assertEqual(done.code, 6, done)

    def test_a_check_of_ones_own_that_says_no_is_a_wrong_result_and_is_quoted(self):
        shutil.copytree(EXAMPLES / "saxpy", self.folder, dirs_exist_ok=True)
        text = (self.folder / "saxpy.toml").read_text()
        (self.folder / "saxpy.toml").write_text(text.replace("a = 2.5", "a = 3.5"))
        self.assertIn("element 0 is", self.ends(6, "saxpy.toml", "--size", 1000))

    def test_a_check_that_fails_by_itself_is_no_wrong_result(self):
        (self.folder / "c.py").write_text('print("first")\nimport nothing_of_that_name\n')
        for command, words in (("nothing-of-that-name {x}", ("127", "not found")),
                               ("python3 c.py {z}", ("first", "No module named"))):
            file = self.write(SAXPY + f'[check]\ncommand = "{command}"\n')
            said = self.ends(2, file)
            for word in ("check.command", *words):
                self.assertEqual(said.count(word), 1, said)
            self.assertNotIn("wrong result", said)

    def test_a_signal_ends_a_check_and_the_run(self):
        file = self.write(SAXPY + '[check]\ncommand = "echo $$ >pid; exec sleep 600"\n')
        process = binary.begin("run", "--kernel", file, *binary.WHOLE_DEVICE, *FEW, *RESIDENT, "-s",
                               "equal", cwd=self.folder)
        pid = self.folder / "pid"
        self.assertTrue(binary.wait_until(lambda: pid.exists() and pid.read_text().endswith("\n"),
                                          process))
        process.terminate()
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143, err)
        self.assertFalse(Path(f"/proc/{int(pid.read_text())}").exists())

    def test_a_kernel_that_would_end_the_process_is_a_wrong_descriptor(self):
        file = self.write(code=SAXPY_CL.replace("x[get_global_id(0)]",
                                                "x[get_global_id(0) + ((size_t)1 << 40)]"))
        done = binary.mgpu("run", "merkle", "kernel", "--kernel", file, *binary.WHOLE_DEVICE, *FEW,
                           *RESIDENT, "-s", "equal", "--size", 4096, "-o", "r.json",
                           cwd=self.folder)
        self.assertEqual(done.code, 2, done)
        for word in (f"error: {file}", '"saxpy"', "slice [0, 4096)", "SIGSEGV",
                     f"mgpu-bench run --kernel {file} --check-memory"):
            self.assertEqual(done.err.count(word), 1, done.err)
        runs = json.loads((self.folder / "r.json").read_text())["runs"]
        self.assertEqual([(run["suite"], run["status"]) for run in runs], [("merkle", "ok")])

    def test_of_a_kernel_that_would_end_the_process_the_argument_is_named(self):
        file = self.write(code=SAXPY_CL.replace("z[get_global_id(0)] =",
                                                "z[get_global_id(0) * 3000] ="))
        said = self.ends(2, file)
        for word in ("with more memory", 'argument "z" is written at item'):
            self.assertIn(word, said)

    @unittest.skipUnless(shutil.which("oclgrind"), "Oclgrind is not installed")
    def test_oclgrind_names_the_line_of_the_first_access_outside_of_the_arguments(self):
        code = SAXPY_CL.replace("a * x[get_global_id(0)]", "a *\n    x[get_global_id(0) + 1]")
        said = self.good("run", "--kernel", self.write(), "--check-memory", cwd=self.folder).err
        self.assertIn("no access outside", said)
        file = self.write(code=code)
        self.refused(["run", "--kernel", file, "--check-memory", "--size", 512], 2, "k.cl:3:",
                     '"saxpy" reads 4 bytes', "(511,0,0)", cwd=self.folder)

    def test_where_memory_cannot_be_checked_is_said(self):
        self.refused(["run", "--kernel", self.write(), "--check-memory"], 5, "no oclgrind",
                     cwd=self.folder, env={"PATH": str(self.folder)})
        self.refused(["run", "merkle", "--check-memory"], 2, "--kernel FILE")

    def test_a_kernel_that_does_not_build_is_quoted_with_file_and_line(self):
        self.assertIn("k.cl:2:", self.ends(5, self.write(code=SAXPY_CL.replace("a * x", "a * y"))))
        self.assertIn("sapxy", self.ends(5, self.write(SAXPY.replace('"saxpy"', '"sapxy"'))))

    @binary.thorough  # it spins until its time limit
    def test_a_kernel_that_never_ends_is_given_up(self):
        file = self.write(code=SAXPY_CL.replace("  z[",
                                                "  volatile int go = 1;\n  while (go) z[0] = 1;\n  "
                                                "z["))
        said = self.ends(5, file, "--timeout", "1s", "--build-timeout", "4s")
        self.assertIn("did not answer", said)

    def test_a_device_that_rounds_differently_is_left_out_and_told_of_the_tolerance(self):
        if binary.DEVICE_COUNT < 2:
            self.skipTest("one device")
        ids = [device["id"] for device in json.loads(
            self.good("devices", *binary.DEVICES, "--json").out)["devices"]]
        other = "MGPU_DEVICE_" + ids[1].replace(":", "_").replace(".", "_")
        code = SAXPY_CL.replace("a * x[get_global_id(0)];", "a * x[get_global_id(0)]\n"
                                f"#ifdef {other}\n * (1 + FLT_EPSILON)\n#endif\n;")
        run, = self.run_kernel(self.write(SAXPY, code), "-s", "equal")
        self.assertEqual(run["devices"], ids[:1])
        warning, = [text for text in run["warnings"] if "left out" in text]
        for part in (ids[1], ids[0] + " computed all items", "check.tolerance"):
            self.assertIn(part, warning)
        run, = self.run_kernel(self.write(SAXPY + "[check]\ntolerance = { ulp = 2 }\n", code),
                               "-s", "equal")
        self.assertEqual(run["devices"], ids)

    @binary.thorough
    def test_results_that_depend_on_the_slice_want_a_tolerance_that_is_stated(self):
        code = SAXPY_CL.replace("a * x[get_global_id(0)];",
                                "get_global_size(0) == 4096 ? 1.0f : 1.0f + 2 * FLT_EPSILON;")
        tolerant = SAXPY + "[check]\ntolerance = { ulp = 2 }\n"
        self.run_kernel(self.write(tolerant, code), "-s", "equal", "--size", 4096)
        for text in (tolerant.replace("ulp = 2", "ulp = 1"), SAXPY):
            self.assertIn('"z"', self.ends(2, self.write(text, code)))
        moments, cl = ((EXAMPLES / "moments" / f"moments.{kind}").read_text() for kind in ("toml",
                "cl"))
        moments = moments.replace("moments.cl", "k.cl").split("[check]")[0]
        for text, kernel in ((moments.replace(", tolerance = { rel = 1e-4 }", ""), cl),
                             (moments, cl.replace("a.z + b.z + apart", "a.z + b.z - apart"))):
            self.assertIn("map.tolerance",
                          self.ends(2, self.write(text, kernel), "--size", 96, "--set",
                                    "columns=256"))


if __name__ == "__main__":
    binary.main()
