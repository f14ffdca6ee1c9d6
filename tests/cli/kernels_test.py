#!/usr/bin/env python3
"""Kernels of public suites (tests/kernels), described for the suite kernel: each gives what NumPy
computes, with the same bits on two and on three devices, and a wrong description is refused. Usage:
kernels_test.py BINARY [unittest arguments]."""

import json
import os
import re
import shutil
import tomllib

import binary
from binary import Case, THOROUGH

KERNELS = binary.ROOT / "tests" / "kernels"
NAMES = sorted(file.stem for file in KERNELS.glob("*.toml"))
# Kernels of the quick tier, and their options.
QUICK = ("stencil2d", "fdtd2d", "gaussian", "bfs", "kmeans", "nbody", "convolution", "rotate")
MORE = {"convolution": ("-D", "PER_ITEM=4", "--set", "per_item=4")}
FEW = ("-q", "-n", 1, "--warmup", 0, "--force", "--mode", "resident")
IMAGES = ("rotate",)  # PoCL has no images on sub-devices
# Clones of the CPU, the first of which PoCL has compiled for where kernels are tried.
TWO = {"POCL_DEVICES": "pthread pthread"}
THREE = {"POCL_DEVICES": "pthread pthread pthread"}
# PoCL compiles a kernel again for each work-group size, 90 times for Gaussian elimination. The quick
# tier has one compilation for all sizes; the thorough tier tests each size, as users have it.
if not THOROUGH:
    os.environ.setdefault("POCL_WORK_GROUP_SPECIALIZATION", "0")
# Mistakes of descriptors that the trial of slices finds: the kernel, the change, and parts of the
# message.
MISTAKES = {
    "an array in place without the halo that a stage reads":
        ("fdtd2d", ("radius = [1, 0]", "radius = 0"), ('"ey"', "the result depends on the split")),
    "a halo in place that another stage of the round needs":
        ("fdtd2d", ("radius = [0, 1]", "radius = 0"), ('"hz"', "the result depends on the split")),
    # The thorough tier runs the others.
    "a pivot that is another one":
        ("gaussian", ('radius = 0, pivot = "round" }\naccess = "readwrite"\nfill = { kind = '
                      '"uniform", min', 'radius = 0, pivot = "round + 1" }\naccess = "readwrite"\n'
                      'fill = { kind = "uniform", min'), ("the result depends on the split",)),
    "a range that begins one item too early":
        ("stencil3d", ("[1, ", "[0, "), ('"out"',)),
    "centres that every device is said to read only":
        ("kmeans", ('access = "readwrite"\nfill = "uniform"\n', ''), ("stages[2].global", "does not depend on the slice")),
    "an array for an image":
        ("rotate", ('map = { kind = "image", width = "width", height = "n", normalized = true }',
                    'map = "replicate"\nsize = "width * n"'), ('"picture"', "image2d_t")),
    "a structure of another size":
        ("nbody", ('"uint n", "float 0.05"', '"uint n"'), ("has 8 bytes", "12")),
    "a number for a structure":
        ("nbody", ('type = "struct"\nfields = ["float 0.01 / (round + 1)", "uint n", "float 0.05"]',
                   'type = "float"\nscalar = 1'), ("float has 4 bytes", "12")),
    "an output in part that begins with nothing":
        ("stencil2d", ('access = "readwrite"\nfill = { kind = "copy", of = "now" }',
                       'access = "write"'), ('"next"', "not written")),
}


def size_of(file):
    """Returns the option for the quick size. That of --quick depends on the devices."""
    descriptor = tomllib.loads(file.read_text())
    return "--size", descriptor.get("quick", descriptor["n"])


class Kernels(Case):
    def run_kernel(self, file, *arguments, env=None, cwd=None):
        """Runs a kernel; returns its runs. `python3` of its check is one with NumPy."""
        python = binary.python_with("numpy")
        self.assertIsNotNone(python, "no python3 has the module numpy")
        place = self.folder / "bin"
        place.mkdir(exist_ok=True)
        if not (place / "python3").exists():
            (place / "python3").symlink_to(python)
        out = self.folder / "r.json"
        self.good("run", "--kernel", file, *FEW, "-o", out, *arguments, cwd=cwd,
                  env={"PATH": f"{place}:{os.environ['PATH']}", **(env or {})})
        runs = json.loads(out.read_text())["runs"]
        for run in runs:
            self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
            self.assertIn("reference.py", run["verify"]["method"])
        return runs

    def test_kernels_give_what_numpy_computes_on_two_and_three_devices(self):
        three = ["-d", "cpu"]
        found = binary.mgpu("devices", *three, "--json", env=THREE)
        has_three = found.code == 0 and len(json.loads(found.out)["devices"]) >= 3
        for name in NAMES if THOROUGH else QUICK:
            with self.subTest(name):
                file = KERNELS / f"{name}.toml"
                more = (*size_of(file), *MORE.get(name, ()))
                cloned = has_three and (name in IMAGES or not THOROUGH)
                two = (three, TWO) if cloned else (binary.DEVICES, {})
                runs = self.run_kernel(file, *two[0], "-s", "single,equal", *more, env=two[1])
                self.assertEqual(len(runs[-1]["devices"]), binary.DEVICE_COUNT)
                if has_three and THOROUGH:
                    runs += self.run_kernel(file, *three, "-s", "equal", *more, env=THREE)
                    self.assertEqual(len(runs[-1]["devices"]), 3)
                self.assertEqual(len({run["verify"]["digest"] for run in runs}), 1, runs)

    def test_the_documentation_lists_each_kernel_with_the_lines_of_its_descriptor(self):
        page = (binary.ROOT / "suites" / "kernel" / "README.md").read_text()
        listed = dict(re.findall(r"^\| `(\w+)` \|.*\| (\d+) \|$", page, re.MULTILINE))
        counted = {name: str(sum(1 for line in (KERNELS / f"{name}.toml").read_text().splitlines()
                                 if line and not line.startswith("#"))) for name in NAMES}
        self.assertEqual(listed, counted)

    def test_mistakes_are_found_and_told_with_argument_and_item(self):
        for name, (kernel, change, words) in list(MISTAKES.items())[:None if THOROUGH else 2]:
            with self.subTest(name):
                for file in KERNELS.iterdir():
                    shutil.copy(file, self.folder)
                file = self.folder / f"{kernel}.toml"
                text = file.read_text()
                self.assertEqual(text.count(change[0]), 1, change[0])
                file.write_text(text.replace(*change))
                self.refused(("run", "--kernel", file.name, *binary.WHOLE_DEVICE, *FEW, "-s",
                              "equal", *size_of(file)), 2, *words, cwd=self.folder)


if __name__ == "__main__":
    binary.main()
