#!/usr/bin/env python3
"""Suite kernel as a user runs it: the examples, wrong descriptors, and maps that are wrong. Usage: kernel_test.py BINARY [unittest
arguments]. The helpers are those of binary.py. No time is ever asserted on."""

import array
import json
import shutil
import subprocess
import tomllib

import binary
from binary import Case

EXAMPLES = binary.HERE.parents[1] / "suites" / "kernel" / "examples"
NAMES = sorted(folder.name for folder in EXAMPLES.iterdir())
SMALL = {"mandelbrot": 32, "blur": 128, "nbody": 512, "life": 48, "moments": 96}
STRATEGIES = {"life": "equal,proportional"}  # of what goes in rounds, shares are set at the beginning
SET = {"moments": ("--set", "columns=256")}

# The first part of a descriptor that the tests change; {} are what they put in.
SAXPY = """\
kernel = "k.cl"
entry = "saxpy"
n = 4096
[params]
a = 2.5
[launch]
global = ["count"]
[[args]]
name = "x"
type = "float"
map = "split"
[[args]]
name = "z"
type = "float"
map = "split"
access = "write"
[[args]]
name = "a"
type = "float"
scalar = "a"
"""
SAXPY_CL = """\
__kernel void saxpy(__global const float* x, __global float* z, const float a) {
  z[get_global_id(0)] = a * x[get_global_id(0)];
}
"""


class Kernel(Case):
    """Descriptors are named as they are in the folder that they were written to: a compiler is told where they are, and would compile the same
    kernel again in each folder."""

    def run_kernel(self, descriptor, *arguments, size=None, devices=None):
        file = self.folder / "r.json"
        self.good("run", "--kernel", descriptor, *(devices or binary.DEVICES), "-n", 1, "--warmup", 0, "-o", file,
                  *(["--size", size] if size else []), *arguments, cwd=self.folder)
        return json.loads(file.read_text())["runs"]

    def digests(self, *arguments, **named):
        found = set()
        for run in self.run_kernel(*arguments, **named):
            self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
            found.add(run["verify"]["digest"])
        return found

    def write(self, descriptor=SAXPY, code=SAXPY_CL, name="k.toml"):
        (self.folder / "k.cl").write_text(code)
        (self.folder / name).write_text(descriptor)
        return name

    def refuses(self, words, descriptor=SAXPY, code=SAXPY_CL, name="k.toml", arguments=(), code_expected=2):
        file = self.write(descriptor, code, name)
        return self.refused(["run", "--kernel", file, *binary.ONE_DEVICE, "-q", "-n", 1, "--warmup", 0, "--mode", "resident", "-s", "equal",
                             *arguments], code_expected, *words, cwd=self.folder)


class Examples(Kernel):
    def test_each_gives_one_digest_under_all_kinds_of_strategies_in_both_modes_and_passes_its_check(self):
        for name in NAMES:
            with self.subTest(name):
                descriptor = EXAMPLES / name / f"{name}.toml"
                arguments = ("-s", STRATEGIES.get(name, "equal,dynamic"), *SET.get(name, ()))
                if not binary.THOROUGH and name not in ("blur", "life"):
                    arguments += ("--mode", "end-to-end")
                self.assertEqual(len(self.digests(descriptor, *arguments, size=SMALL.get(name, 40000))), 1)

    def test_they_are_built_in_and_known_by_their_names(self):
        self.assertEqual(self.digests("blur", "-s", "equal", "--mode", "resident", size=100),
                         self.digests(EXAMPLES / "blur" / "blur.toml", "-s", "equal", "--mode", "resident", size=100))

    def test_a_check_that_says_no_is_a_wrong_result_and_is_quoted(self):
        shutil.copytree(EXAMPLES / "saxpy", self.folder, dirs_exist_ok=True)
        text = (self.folder / "saxpy.toml").read_text()
        (self.folder / "saxpy.toml").write_text(text.replace("a = 2.5", "a = 3.5"))
        result = binary.mgpu("run", "--kernel", "saxpy.toml", *binary.ONE_DEVICE, "-n", 1, "--warmup", 0, "--size", 1000,
                             "--mode", "resident", "-s", "equal", cwd=self.folder)
        self.assertEqual(result.code, 6, result)
        self.assertIn("check.command says no", result.out + result.err)
        self.assertIn("element 0 is", result.out + result.err)


class Forms(Kernel):
    def test_the_published_schema_takes_the_examples_and_no_unknown_key(self):
        schema = json.loads((EXAMPLES.parent / "descriptor.schema.json").read_text())
        documents = [tomllib.loads((EXAMPLES / name / f"{name}.toml").read_text()) for name in NAMES] + [tomllib.loads(SAXPY)]
        wrong = [{**documents[0], "kernle": "k.cl"}, {**documents[0], "args": [{"name": "x", "type": "float"}]}, {**documents[0], "n": 0}]
        script = ("import json, jsonschema, sys\nschema, documents = json.load(sys.stdin)\n"
                  "print(json.dumps([jsonschema.Draft7Validator(schema).is_valid(d) for d in documents]))")
        done = subprocess.run([binary.python_with_jsonschema(), "-c", script], input=json.dumps([schema, documents + wrong]), capture_output=True,
                              text=True, check=True)
        self.assertEqual(json.loads(done.stdout), [True] * len(documents) + [False] * len(wrong))

    def test_toml_json_and_comment_lines_say_the_same(self):
        as_json = {"kernel": "k.cl", "entry": "saxpy", "n": 4096, "params": {"a": 2.5}, "launch": {"global": ["count"]},
                   "args": [{"name": "x", "type": "float", "map": "split"}, {"name": "z", "type": "float", "map": "split", "access": "write"},
                            {"name": "a", "type": "float", "scalar": "a"}]}
        arguments = ("-s", "equal", "--mode", "resident")
        found = self.digests(self.write(), *arguments)
        found |= self.digests(self.write(json.dumps(as_json), name="k.json"), *arguments)
        lines = "".join(f"//! {line}\n" for line in SAXPY.splitlines() if not line.startswith("kernel"))
        (self.folder / "alone.cl").write_text(lines + SAXPY_CL)
        found |= self.digests("alone.cl", *arguments)
        self.assertEqual(len(found), 1)

    def test_a_file_of_the_schema_that_kernel_tuner_and_ktt_share_is_taken(self):
        t1 = {"KernelSpecification": {
            "Language": "OpenCL", "KernelName": "saxpy", "KernelFile": "k.cl", "GlobalSize": {"X": "4096"}, "LocalSize": {"X": "64"},
            "Arguments": [{"Name": "x", "Type": "float", "MemoryType": "Vector", "Size": "4096", "FillType": "Random", "FillValue": 1.0,
                           "RandomSeed": 7, "AccessType": "ReadOnly"},
                          {"Name": "z", "Type": "float", "MemoryType": "Vector", "Size": "4096", "AccessType": "WriteOnly"},
                          {"Name": "a", "Type": "float", "MemoryType": "Scalar", "FillType": "Constant", "FillValue": 2.5}]},
              "ConfigurationSpace": {"TuningParameters": [{"Name": "BLOCK", "Type": "int", "Values": "[64, 128]", "Default": 64}]}}
        self.assertEqual(len(self.digests(self.write(json.dumps(t1), name="k.json"), "-s", "equal,dynamic")), 1)

    def test_parameters_are_set_and_output_is_what_the_kernel_made(self):
        out, values = self.folder / "z.npy", self.folder / "x.f32"
        values.write_bytes(array.array("f", range(512)).tobytes())
        self.run_kernel(self.write(), "--input", values, "--set", "a=0.5", "-s", "equal", "--mode", "resident", "--output", out)
        made = array.array("f")
        made.frombytes(out.read_bytes()[-2048:])
        self.assertEqual(list(made), [i / 2 for i in range(512)])


class Init(Kernel):
    def init(self, *arguments):
        self.write()
        return self.good("init", "k.cl", *arguments, cwd=self.folder).out

    def test_a_first_descriptor_has_every_argument_and_runs_once_it_is_filled_in(self):
        text = self.init()
        described = tomllib.loads(text)
        self.assertEqual([(one["name"], one["type"]) for one in described["args"]], [("x", "float"), ("z", "float"), ("a", "float")])
        self.assertEqual((described["kernel"], described["entry"]), ("k.cl", "saxpy"))
        self.assertEqual(described["args"][1]["access"], "write")
        self.digests(self.write(text), "-s", "equal", "--mode", "resident", size=4096)

    def test_what_has_no_kernel_or_several_is_refused(self):
        self.write(code=SAXPY_CL + SAXPY_CL.replace("saxpy", "other"))
        self.refused(["init", "k.cl"], 2, "several kernels", "saxpy, other", cwd=self.folder)
        self.refused(["init", "k.cl", "--entry", "sapxy"], 2, "--entry", 'did you mean "saxpy"?', cwd=self.folder)
        self.refused(["init", self.folder / "k.toml"], 2, "has no kernel")
        self.refused(["init", self.folder / "gone.cl"], 2, "gone.cl")
        self.assertEqual(tomllib.loads(self.good("init", "k.cl", "--entry", "other", cwd=self.folder).out)["entry"], "other")


# A change of SAXPY (what, by what), and words of the one line that it is refused with.
WRONG = (
    ('kernel = "k.cl"', 'kernel = "gone.cl"', ("gone.cl", "cannot be opened")),
    ('kernel = "k.cl"', "", ("kernel", "is missing")),
    ('entry = "saxpy"', "", ("entry", "is missing")),
    ('entry = "saxpy"', 'entry = 3', ("entry", "accepted: a text")),
    ('entry = "saxpy"', 'entri = "saxpy"', ("entry", "is missing")),
    ("n = 4096", "n = 4096\nformat = \"mgpu-kernel/2\"", ("format", "mgpu-kernel/1")),
    ("n = 4096", "n = 4096\nnmae = \"x\"", ('"nmae"', 'did you mean "name"?')),
    ("n = 4096", "", ("n is missing",)),
    ("n = 4096", "n = 0", (": n ",)),
    ("n = 4096", "n = -5", (": n ", "accepted: a count")),
    ("n = 4096", "n = 4096\nquick = 0", ("quick",)),
    ("n = 4096", "n = 4096\nn = 5", ("k.toml:4", "n")),
    ("a = 2.5", "a = [1]", ("params.a", "a number or an expression")),
    ("a = 2.5", 'a = "b"\nb = "a"', ("params.", "no parameter")),
    ("a = 2.5", "count = 2.5", ("params.count", "cannot be the name")),
    ("[params]", "[items]\ncount = 0\n[params]", ("items.count", "is 0")),
    ("[params]", '[items]\ncount = "n +"\n[params]', ("items.count", "is no arithmetic expression")),
    ("[params]", '[items]\ncount = "n / 0"\n[params]', ("items.count", "divides by zero")),
    ("[params]", '[items]\ncount = "widht"\n[params]', ("items.count", '"widht"', "no parameter")),
    ("[params]", "[items]\ngranularity = 0\n[params]", ("items.granularity",)),
    ("[params]", '[items]\ncount = "n * 4611686018427387904"\n[params]', ("items.count", "beyond 64 bits")),
    ('global = ["count"]', 'global = ["n"]', ("global", "does not depend on the slice")),
    ('global = ["count"]', 'global = ["count", 1, 1, 1]', ("global", "more than three")),
    ('global = ["count"]', 'global = ["count"]\nlocal = [8, 8]', ("local", "has 2 dimensions, global has 1")),
    ('global = ["count"]', 'global = ["count + 1"]\nlocal = [64]', ("no multiple of local, 64", "round_up")),
    ('global = ["count"]', 'global = ["count"]\noffset = "global"', ("launch.offset", "global_work_offset")),
    ('global = ["count"]', 'global = ["count"]\nlocl = [64]', ('"locl"', 'did you mean "local"?')),
    ('name = "x"\ntype = "float"', 'name = "x"\ntype = "image2d_t"', ("args[0].type", "images")),
    ('name = "x"\ntype = "float"', 'name = "x"\ntype = "flaot"', ("args[0].type", '"flaot"', "accepted: char")),
    ('name = "x"\ntype = "float"', 'name = "x"\ntype = "struct"', ("args[0].bytes",)),
    ('map = "split"\n[[args]]', 'map = "splitt"\n[[args]]', ("args[0].map.kind", 'did you mean "split"?')),
    ('map = "split"\n[[args]]', "[[args]]", ("args[0].map", "is missing")),
    ('map = "split"\n[[args]]', 'map = "replicate"\n[[args]]', ("args[0].size", "is missing")),
    ('map = "split"\n[[args]]', 'map = { kind = "halo", edge = "clamp" }\n[[args]]', ("args[0].map.radius",)),
    ('map = "split"\n[[args]]', 'map = { kind = "split", per_item = 0 }\n[[args]]', ("args[0].map.per_item", "is 0")),
    ('map = "split"\n[[args]]', 'map = { kind = "split", radius = 1 }\n[[args]]', ("args[0].map", '"radius"')),
    ('map = "split"\n[[args]]', 'map = { kind = "ragged", offsets = "row" }\nsize = 9\n[[args]]', ("args[0].map.offsets", '"row"')),
    ('map = "split"\n[[args]]', 'map = { kind = "slice", per_item = 3 }\nsize = 4096\n[[args]]', ("args[0].size", "no rows")),
    ('map = "split"\n[[args]]', 'map = "split"\nfill = { kind = "unifrom" }\n[[args]]', ("args[0].fill.kind", 'did you mean "uniform"?')),
    ('map = "split"\n[[args]]', 'map = "split"\nfill = { kind = "uniform", min = 2 }\n[[args]]', ("args[0].fill.min", "above max")),
    ('map = "split"\n[[args]]', 'map = "split"\nfill = { kind = "file", path = "gone.f32" }\n[[args]]', ("fill.path", "gone.f32")),
    ('map = "split"\n[[args]]', 'map = "split"\nfill = { kind = "file", path = "k.cl" }\n[[args]]', ("fill.path", "accepted: 16384")),
    ('access = "write"', 'access = "writes"', ("args[1].access", 'did you mean "write"?')),
    ('access = "write"', "", ("args", "no result")),
    ('map = "split"\naccess', 'map = "replicate"\nsize = "n"\naccess', ("args[1].access", "lets slices write what others have")),
    ('name = "z"', 'name = "x"', ("args", "two of the name")),
    ('name = "z"', 'name = "2z"', ("args[1].name",)),
    ('scalar = "a"', 'scalar = "b"', ("args[2].scalar", '"b"')),
    ('type = "float"\nscalar', 'type = "int"\nscalar', ("args[2].scalar", "no int")),
    ('scalar = "a"', 'scalar = "a"\n[check]\ntolerance = { abs = -1 }', ("check.tolerance",)),
    ('scalar = "a"', 'scalar = "a"\n[check]\ntolerance = { ulp = -1 }', ("check.tolerance.ulp", "accepted: a count")),
    ('scalar = "a"', 'scalar = "a"\n[check]\ntolerance = { ulp = 0.5 }', ("check.tolerance.ulp", "accepted: a count")),
    ('scalar = "a"', 'scalar = "a"\n[check]\ntolerance = { ulps = 2 }', ('"ulps"', 'did you mean "ulp"?')),
    ('scalar = "a"', 'scalar = "a"\n[[args]]\nname = "l"\nmap = "local"\nbytes = 0', ("args[3].bytes", "is 0")),
)
# Likewise, of what only a device can say.
WRONG_ON_A_DEVICE = (
    ('[[args]]\nname = "a"\ntype = "float"\nscalar = "a"', "", ("has 3 parameters", "2 arguments are described", "float a")),
    ('type = "float"\nmap = "split"\n[[args]]', 'type = "int"\nmap = "split"\n[[args]]', ('"x"', "is of type int", "float*")),
    ('scalar = "a"', 'map = "split"', ('"a"', "is an array", "a value")),
    ('name = "x"\ntype = "float"\nmap = "split"', 'name = "x"\nmap = "local"\nbytes = 64', ('"x"', "is local memory", "__global")),
    ('map = "split"\n[[args]]', 'map = "split"\naccess = "readwrite"\n[[args]]', ('"x"', "const")),
)


class Refuses(Kernel):
    def test_wrong_descriptors_end_in_one_line_that_names_the_key(self):
        self.assertGreaterEqual(len(WRONG) + len(WRONG_ON_A_DEVICE), 40)
        for what, by, words in (*WRONG, *WRONG_ON_A_DEVICE):
            with self.subTest(by):
                self.assertEqual(SAXPY.count(what), 1, what)
                self.refuses(words, SAXPY.replace(what, by))

    def test_files_that_are_no_descriptors(self):
        self.refuses(("k.json", "syntax error"), '{"kernel": ', name="k.json")
        self.refuses(("k.toml:1",), "kernel = \n")
        self.refuses(("describes nothing",), "\n")
        self.refuses(("k.cl", "//!"), name="k.cl", descriptor=SAXPY_CL)
        self.refused(["run", "--kernel", self.folder / "none.toml"], 2, "--kernel", "none.toml", "a readable file")

    def test_parameters_that_are_not_there_or_no_numbers(self):
        self.refuses(("--set", '"b"', "accepted: a"), arguments=("--set", "b=1"))
        self.refuses(("--set", "NAME=VALUE"), arguments=("--set", "a"))
        self.refuses(("params.a", "no parameter"), arguments=("--set", "a=x"))

        self.refuses(("--set", "NAME=VALUE"), arguments=("--set", "2,a=3"))
        self.refuses(("--set", "NAME=VALUE"), arguments=("--set", "a=3,,4"))
        self.refuses(("--set", "256 problems"), arguments=("--set", "a=" + ",".join(map(str, range(300)))))

    def test_arrays_beyond_the_machine(self):
        self.refuses(("--size", "do not fit"), arguments=("--size", "2^46"))

    def test_a_kernel_that_does_not_build_is_quoted_with_file_and_line(self):
        file = self.write(code=SAXPY_CL.replace("a * x", "a * y"))
        result = binary.mgpu("run", "--kernel", file, *binary.ONE_DEVICE, "-n", 1, "--mode", "resident", "-s", "equal",
                             cwd=self.folder)
        self.assertEqual(result.code, 5, result)
        self.assertIn("k.cl:2:", result.out + result.err)
        self.assertIn("'y'", result.out + result.err)

    def test_a_kernel_that_never_ends_is_given_up(self):
        file = self.write(code=SAXPY_CL.replace("  z[", "  volatile int go = 1;\n  while (go) z[0] = 1;\n  z["))
        result = binary.mgpu("run", "--kernel", file, *binary.ONE_DEVICE, "-n", 1, "--warmup", 0, "--mode", "resident", "-s", "equal",
                             "--timeout", "1s", "--build-timeout", "4s", cwd=self.folder)
        self.assertEqual(result.code, 5, result)
        self.assertIn("did not answer", result.out + result.err)

    def test_an_entry_that_is_not_in_the_file(self):
        file = self.write(SAXPY.replace('"saxpy"', '"sapxy"'))
        result = binary.mgpu("run", "--kernel", file, *binary.ONE_DEVICE, "-n", 1, "--mode", "resident", "-s", "equal",
                             cwd=self.folder)
        self.assertEqual(result.code, 5, result)
        self.assertIn("has no kernel sapxy", result.out + result.err)


# Mistakes in maps: the example (or SAXPY), what is changed in its descriptor by what, likewise in its kernel, and words of the one line
# that says so, besides the device.
WITH_Z = 'name = "z"\ntype = "float"\nmap = "split"\naccess = "write"'
MISTAKES = {
    "a halo that is one short below": ("blur", ('radius = "radius", edge', 'radius = ["radius", "radius - 1"], edge'), None, ('"out"', "nan")),
    "a halo that is one short above": ("blur", ('radius = "radius", edge', 'radius = ["radius - 1", "radius"], edge'), None, ('"out"', "nan")),
    "a halo declared split": ("blur", ('{ kind = "halo", per_item = "width", radius = "radius", edge = "clamp" }',
                                       '{ kind = "split", per_item = "width" }'), None, ('"out"', "nan")),
    "a replicated array declared split": ("nbody", ('map = "replicate"\nsize = "n"', 'map = "split"'), None,
                                          ('"result"', "item", "slice [", "one device computes")),
    "a slice told that it is the first": ("nbody", ('scalar = "begin"', "scalar = 0"), None, ('"result"', "item", "slice [")),
    "slices that write what is the next one's": ("own", None, ("a * x", "z[get_global_id(0) + 1] = a * x"), ('"z"', "item 4096", "not of its slice")),
    "fewer elements than are written": ("mandelbrot", ('per_item = "width"', 'per_item = "width / 2"'), None,
                                        ('"iterations"', "item", "not of its slice")),
    "more elements than are written": ("own", (WITH_Z, WITH_Z.replace('"split"', '{ kind = "split", per_item = 2 }')), None,
                                       ('"z"', "item 2048", "is not written")),
    "an input that is written": ("own", None, ("const float* x, __global float* z, const float a) {",
                                               "float* x, __global float* z, const float a) {\n  x[7] = 0;"),
                                 ('"x"', "item 7", "only reads")),
    "an output that is read": ("own", None, ("= a", "+= a"), ('"z"', "item 0", "only writes")),
    "neighbours that nobody declared": ("own", None, ("* x[get_global_id(0)]", "* x[get_global_id(0) + 1]"), ('"z"', "item 4095", "nan")),
    "an accumulator declared split": ("histogram", ('map = { kind = "reduce", op = "add" }\nsize = 256', 'map = "split"'), None, ('"counts"', "item")),
    "sums combined by another operation": ("histogram", ('op = "add"', 'op = "max"'), None, ('"counts"', "element", "combined")),
    "a global offset that is not given": ("mandelbrot", ('offset = "global_work_offset"', 'offset = "rebased"'), None,
                                          ('"iterations"', "item", "slice [")),
    "strides of the number of all work-items": ("own", ('scalar = "a"', 'scalar = "a"\n[[args]]\nname = "n"\ntype = "uint"\nscalar = "n"'),
                                                ("const float a) {\n  z[get_global_id(0)] = a * x[get_global_id(0)];",
                                                 "const float a, const uint n) {\n  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) "
                                                 "z[i] = a * x[i];"), ('"z"', "not of its slice", "get_global_size")),
}


class Guards(Kernel):
    def with_mistake(self, example, descriptor, code):
        if example == "own":
            file = self.write()
        else:
            shutil.copytree(EXAMPLES / example, self.folder, dirs_exist_ok=True)
            file = f"{example}.toml"
        for change, name in ((descriptor, file), (code, "k.cl")):
            if change is not None:
                text = (self.folder / name).read_text()
                self.assertEqual(text.count(change[0]), 1, change[0])
                (self.folder / name).write_text(text.replace(*change))
        return file

    def test_every_mistake_in_a_map_is_found_and_told_with_argument_item_and_device(self):
        self.assertGreaterEqual(len(MISTAKES), 10)
        for name, (example, descriptor, code, words) in MISTAKES.items():
            with self.subTest(name):
                file = self.with_mistake(example, descriptor, code)
                size = [] if example == "own" else ["--size", SMALL.get(example, 40000)]
                self.refused(["run", "--kernel", file, *binary.ONE_DEVICE, "-q", "-n", 1, "--warmup", 0, "--mode", "resident", "-s", "equal",
                              *size], 2, " device ", *words, cwd=self.folder)

    def test_what_guards_would_find_is_a_wrong_result_without_them(self):
        file = self.with_mistake(*MISTAKES["a replicated array declared split"][:3])
        result = binary.mgpu("run", "--kernel", file, *binary.DEVICES, "-q", "-n", 1, "--warmup", 0, "--mode", "resident", "-s", "equal",
                             "--size", 512, "--guards", "off", cwd=self.folder)
        self.assertEqual(result.code, 6, result)


if __name__ == "__main__":
    binary.main()
