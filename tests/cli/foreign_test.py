#!/usr/bin/env python3
"""Programs of others under `profile`: their output, apart from times, and their exit code are those
without the layer, and the profile has what they did. Each runs where its package is installed
(Debian: clinfo, clpeak, clfft-client, clblast-tests, ffmpeg, hashcat, python3-pyopencl). Usage:
foreign_test.py BINARY [unittest arguments]."""

import hashlib
import json
import re
import shutil
import subprocess

import binary
from binary import Case

SCRIPT = """
import hashlib
import numpy as np
import pyopencl as cl
context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
queue = cl.CommandQueue(context)
given = np.arange(1 << 16, dtype=np.float32)
flags = cl.mem_flags
memory = cl.Buffer(context, flags.READ_WRITE | flags.COPY_HOST_PTR, hostbuf=given)
program = cl.Program(context, '''__kernel void twice(__global float* x) {
  const size_t i = get_global_id(0);
  x[i] = 2 * x[i] + 1;
}''').build()
for turn in range(5):
    program.twice(queue, given.shape, None, memory)
result = np.empty_like(given)
cl.enqueue_copy(queue, result, memory)
print(hashlib.sha256(result.tobytes()).hexdigest(), queue.properties, queue.get_info(cl.command_queue_info.REFERENCE_COUNT))
"""
WORD = "abc"
# A program and its arguments, kernels that its profile has, and the part of its output that repeats;
# "": none, as it prints times only.
PROGRAMS = {
    "clinfo": (["clinfo"], (), r"(?s).*"),
    "clpeak": (["clpeak", "--kernel-latency"], ("global_bandwidth_v1_local_offset",), ""),
    "clfft": (["clFFT-client", "-c", "-x", "64", "-y", "16"], ("fft_fwd",), r".*PASS.*"),
    "clblast": (["clblast_test_xaxpy", "-precision", "32"], ("Xaxpy",), r"\d+ test\(s\) (?:passed|failed)"),
    "ffmpeg": (["ffmpeg", "-v", "error", "-init_hw_device", "opencl=ocl", "-filter_hw_device", "ocl", "-f", "lavfi",
                "-i", "testsrc=size=320x240:rate=10:duration=0.5", "-vf",
                "format=yuv420p,hwupload,avgblur_opencl=sizeX=3,hwdownload,format=yuv420p", "-f", "framemd5", "-"],
               ("avgblur_horiz", "avgblur_vert"), r"(?s).*"),
    "hashcat": (["hashcat", "-m", "0", "-a", "3", hashlib.md5(WORD.encode()).hexdigest(), "?l?l?l", "--quiet",
                 "--potfile-disable", "--force", "-D", "1"], ("r_markov",), rf"\w+:{WORD}"),
    "pyopencl": (["/usr/bin/python3", "-c", SCRIPT], ("twice",), r"(?s).*"),
}


class Foreign(Case):
    def run_under(self, *before, program):
        done = subprocess.run([*before, *program], env=binary.environment({"HOME": str(self.folder)}), text=True,
                              capture_output=True, timeout=280, cwd=self.folder)
        return done.returncode, done.stdout, done.stderr

    def check(self, name):
        program, kernels, repeats = PROGRAMS[name]
        if name == "pyopencl" and binary.python_with("pyopencl", "numpy") is None:
            self.skipTest("no python3 has the module pyopencl")
        if shutil.which(program[0]) is None:
            self.skipTest(f"{program[0]} is not installed")
        bare = self.run_under(program=program)
        file = self.folder / "p.json"
        code, out, err = self.run_under(binary.BINARY, "profile", "-o", file, "--", program=program)
        self.assertEqual(code, bare[0], err)
        if repeats:
            self.assertNotEqual(re.findall(repeats, bare[1]), [], bare)
            self.assertEqual(re.findall(repeats, out), re.findall(repeats, bare[1]))
        self.assert_schema(file, "profile")
        names = {kernel["name"] for kernel in json.loads(file.read_text())["kernels"]}
        self.assertLessEqual(set(kernels), names)


for each in PROGRAMS:
    # These programs build large kernels, and CI does not install them.
    setattr(Foreign, f"test_{each}", binary.thorough(lambda self, name=each: self.check(name)))

if __name__ == "__main__":
    binary.main()
