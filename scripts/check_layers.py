#!/usr/bin/env python3
"""Checks the source tree against the map in lib/README.md: which layers may include which, and which alone may use OpenCL, the command line, the
environment, the terminal, the clock and MPI. Prints one line per breach and exits with 1. --self-test proves on made-up text that every rule can
fail."""

import re
import sys
from pathlib import Path

LAYERS = {
    "base": set(),
    "device": {"base"},
    "plan": {"base", "device"},
    "workload": {"base", "device", "plan"},
    "profile": {"base", "device"},
    "exec": {"base", "device", "plan", "workload", "profile"},
    "opencl": {"base", "device", "workload", "profile", "exec"},
    "measure": {"base", "device", "workload", "profile", "exec", "opencl"},
    "report": {"base", "device", "plan", "profile"},
    "predict": {"base", "device", "plan", "workload", "exec"},
    "exchange": {"base", "device", "plan", "workload"},
    "session": {"base", "device", "plan", "workload", "profile", "exec", "measure", "report", "predict", "exchange"},
    "cluster": {"base", "device", "plan", "workload", "profile", "exec"},
    "history": {"base", "device", "profile", "report"},
    "layer": {"profile"},
}
# A library that other programs load. It has the freedoms of a program: OpenCL, the environment (with launchers of MPI), the clock.
LOADED = "layer"
SUITES_MAY = {"base", "plan", "workload", "exchange"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.M)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
OPENCL = re.compile(r"\bcl::|\bCL_[A-Z]|\bcl[A-Z][a-z]\w*\s*\(|\bcl_(?:mem|event|kernel|program|context|platform_id|device_id|command_queue)\b")
ENVIRONMENT = re.compile(r"\b(?:secure_getenv|getenv|setenv|putenv|environ)\b|\bint\s+main\b")
PRINTING = re.compile(r"\bstd::(?:cout|cerr|clog)\b|\b(?:f?printf|f?puts|putchar|perror)\s*\(|\bfmt::print\b")
MPI = re.compile(r"\bMPI_\w+|\b(?:OMPI|PMIX?|MPICH)_[A-Z]")
CLOCK = re.compile(r"\b\w*_clock\s*::\s*now\b|\b(?:clock_gettime|gettimeofday|timespec_get)\b")


def breaches(path, text):
    """Returns the (rule, what) that a file at `path`, relative to the root, breaks with contents `text`."""
    found = []
    place = path.split("/")
    layer = place[1] if place[0] == "lib" else None
    code = COMMENT_OR_STRING.sub(" ", text)

    for quoted, angled in INCLUDE.findall(text):
        rule = include_breach(path, place, layer, quoted, angled)
        if rule:
            found.append((rule, f'#include of {quoted or angled}'))
    if place[0] == "kernels":
        return found  # OpenCL C has other rules

    if layer not in ("opencl", LOADED) and OPENCL.search(code):
        found.append(("opencl", OPENCL.search(code).group()))
    for rule, pattern in (("environment", ENVIRONMENT), ("printing", PRINTING)):
        if place[0] != "app" and not (rule == "environment" and layer == LOADED) and pattern.search(code):
            found.append((rule, pattern.search(code).group()))
    if layer not in ("cluster", LOADED) and MPI.search(COMMENT.sub(" ", text)):
        found.append(("mpi", MPI.search(COMMENT.sub(" ", text)).group()))
    if layer not in ("exec", "opencl", LOADED) and CLOCK.search(code):
        found.append(("clock", CLOCK.search(code).group()))
    return found


def include_breach(path, place, layer, quoted, angled):
    if angled:
        if angled.startswith("CL/") and layer not in ("opencl", LOADED):
            return "opencl"
        if angled.startswith("CLI/") and place[0] != "app":
            return "environment"
        return None
    target = quoted.split("/")
    if place[0] == "kernels":
        return "kernels" if len(target) != 1 else None
    if len(target) < 2 or target[0] not in ("lib", "suites", "app"):
        return "path"  # relative to the root, so that this check sees the layer
    if quoted.startswith("lib/opencl/cl_") and not (path.startswith("lib/opencl/cl_") or path == "app/main.cpp"):
        return "seam"
    if place[0] == "app":
        return None
    if target[0] == "app":
        return "arrow"
    if layer is not None:
        if layer not in LAYERS:
            return "unknown layer"
        return None if target[0] == "lib" and (target[1] == layer or target[1] in LAYERS[layer]) else "arrow"
    own = target[0] == "suites" and target[1] in (place[1], "common", "suites.hpp")
    return None if own or (target[0] == "lib" and target[1] in SUITES_MAY) else "arrow"


def check_tree(root):
    count, bad = 0, 0
    for folder in ("lib", "suites", "app", "kernels"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".cpp", ".hpp", ".h", ".cl"):
                continue
            count += 1
            path = file.relative_to(root).as_posix()
            for rule, what in breaches(path, file.read_text(encoding="utf-8")):
                bad += 1
                print(f"{path}: {rule}: {what}")
    if count == 0:
        print(f"{root}: no source files found")
        return 1
    print(f"{count} files, {bad} breaches")
    return 1 if bad else 0


MUST_FAIL = [
    ("arrow", "lib/base/a.cpp", '#include "lib/device/device.hpp"\n'),
    ("arrow", "lib/report/a.cpp", '#include "lib/exec/backend.hpp"\n'),
    ("arrow", "lib/report/a.cpp", '#  include "lib/workload/workload.hpp"\n'),
    ("arrow", "lib/session/a.cpp", '#include "suites/suites.hpp"\n'),
    ("arrow", "lib/session/a.cpp", '#include "app/cli.hpp"\n'),
    ("arrow", "suites/merkle/a.cpp", '#include "lib/exec/backend.hpp"\n'),
    ("arrow", "suites/merkle/a.cpp", '#include "suites/msm/curve.hpp"\n'),
    ("unknown layer", "lib/extra/a.cpp", '#include "lib/base/units.hpp"\n'),
    ("path", "lib/base/a.cpp", '#include "units.hpp"\n'),
    ("path", "lib/base/a.cpp", '#include "../device/device.hpp"\n'),
    ("path", "app/main.cpp", '#include "tests/support/fake.hpp"\n'),
    ("kernels", "kernels/sha256.cl", '#include "lib/base/units.hpp"\n'),
    ("seam", "lib/session/a.cpp", '#include "lib/opencl/cl_backend.hpp"\n'),
    ("opencl", "lib/exec/worker.cpp", "#include <CL/opencl.hpp>\n"),
    ("opencl", "lib/session/a.cpp", "cl::Buffer b;\n"),
    ("opencl", "suites/merkle/a.cpp", "if (clFinish(queue) != CL_SUCCESS) {}\n"),
    ("environment", "lib/exec/a.cpp", "#include <CLI/CLI.hpp>\n"),
    ("environment", "lib/opencl/cl_a.cpp", 'auto v = std::getenv("POCL_DEVICES");\n'),
    ("printing", "lib/session/a.cpp", 'std::printf("done");\n'),
    ("printing", "suites/merkle/a.cpp", "std::cout << 1;\n"),
    ("arrow", "lib/layer/a.cpp", '#include "lib/base/units.hpp"\n'),
    ("printing", "lib/layer/a.cpp", 'std::puts("done");\n'),
    ("mpi", "app/rank.cpp", "MPI_Init(nullptr, nullptr);\n"),
    ("mpi", "app/environment.cpp", 'environment.get("OMPI_COMM_WORLD_SIZE");\n'),
    ("clock", "app/cmd_run.cpp", "auto t = std::chrono::steady_clock::now();\n"),
    ("clock", "lib/plan/a.cpp", "clock_gettime(CLOCK_MONOTONIC, &t);\n"),
]
MUST_PASS = [
    ("lib/opencl/cl_device.cpp", '#include <CL/opencl.hpp>\n#include "lib/workload/stream.hpp"\ncl::Buffer b;\n'),
    ("lib/layer/a.cpp", '#include <CL/cl.h>\n#include "lib/profile/command_log.hpp"\nauto r = std::getenv("PMI_RANK"); clock_gettime(c, &t); clFinish(q);\n'),
    ("lib/exec/clock.cpp", "auto t = std::chrono::steady_clock::now();\n"),
    ("lib/base/a.cpp", '// std::getenv and clFinish( are only mentioned\nauto s = "std::cout";\nsnprintf(a, 1, "");\n'),
    ("suites/merkle/a.cpp", '#include "lib/plan/slice_source.hpp"\n#include "suites/merkle/tree.hpp"\n'),
    ("app/main.cpp", '#include <CLI/CLI.hpp>\n#include "lib/opencl/cl_backend.hpp"\nint main() { std::puts(std::getenv("A")); }\n'),
    ("lib/cluster/plugin/a.cpp", "MPI_Init(nullptr, nullptr);\n"),
    ("kernels/a.cl", '#include "sha256_common.cl"\n__kernel void f() { printf("x"); }\n'),
]


def self_test():
    wrong = 0
    for rule, path, text in MUST_FAIL:
        if rule not in [r for r, _ in breaches(path, text)]:
            wrong += 1
            print(f"rule '{rule}' did not see, in {path}: {text!r}")
    for path, text in MUST_PASS:
        for rule, what in breaches(path, text):
            wrong += 1
            print(f"rule '{rule}' is wrong about {path}: {what}")
    print(f"{len(MUST_FAIL) + len(MUST_PASS)} made-up files, {wrong} judged wrongly")
    return 1 if wrong else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    if sys.argv[1:]:
        sys.exit("usage: check_layers.py [--self-test]")
    sys.exit(check_tree(Path(__file__).resolve().parent.parent))
