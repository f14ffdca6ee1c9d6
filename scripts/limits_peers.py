"""The programs with which limits_table.py compares mgpu-bench, each in a process of its own: python3 limits_peers.py NAME ARGUMENT... prints
the seconds that it takes for the work of a line; or it prints why it cannot be measured, and exits with 3.

  cublas fp32|fp64 N         torch.mm of two N x N matrices on a GPU, TF32 off, by CUDA's events
  openblas fp32|fp64 N       cblas_?gemm of libopenblas on all cores
  openssl NODES              SHA-256 of 64 bytes so many times on all cores, by openssl speed
"""

import ctypes
import ctypes.util
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

TIMES = 7


class Missing(Exception):
    pass


def cublas(precision, rows):
    os.environ["NVIDIA_TF32_OVERRIDE"] = "0"  # overrides the environment; cuBLAS reads it once
    try:
        import torch
    except ImportError as error:
        raise Missing("PyTorch is not there") from error
    if not torch.cuda.is_available():
        raise Missing("PyTorch sees no GPU")
    torch.backends.cuda.matmul.allow_tf32 = False
    kind = {"fp32": torch.float32, "fp64": torch.float64}[precision]
    a, b = (torch.rand(rows, rows, dtype=kind, device="cuda") for _ in range(2))
    times = []
    for turn in range(TIMES + 2):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        torch.mm(a, b)
        end.record()
        torch.cuda.synchronize()
        if turn >= 2:
            times.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(times)


def openblas(precision, rows):
    name = ctypes.util.find_library("openblas")
    if name is None:
        raise Missing("libopenblas is not there")
    library = ctypes.CDLL(name)
    number, multiply = {"fp32": (ctypes.c_float, library.cblas_sgemm), "fp64": (ctypes.c_double, library.cblas_dgemm)}[precision]
    a, b, c = ((number * (rows * rows))() for _ in range(3))
    for matrix in (a, b):
        for i in range(rows * rows):
            matrix[i] = (i * 37 % 101) / 101
    times = []
    for turn in range(TIMES):
        begin = time.perf_counter()
        multiply(101, 111, 111, rows, rows, rows, number(1), a, rows, b, rows, number(0), c, rows)  # row major, neither transposed
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


def openssl(nodes):
    if shutil.which("openssl") is None:
        raise Missing("openssl is not there")
    command = ["openssl", "speed", "-mr", "-seconds", "1", "-bytes", "64", "-multi", str(os.cpu_count()), "-evp", "sha256"]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    rates = [float(rate) for rate in re.findall(r"^Got: \+F:\d+:sha256:([\d.]+)", said, re.M)] or \
            [float(rate) for rate in re.findall(r"^\+F:\d+:sha256:([\d.]+)", said, re.M)]
    if not rates or not sum(rates) > 0:
        raise Missing("openssl speed said something else than expected")
    return nodes / (sum(rates) / 64)


def main():
    name, *arguments = sys.argv[1:]
    try:
        if name == "openssl":
            print(openssl(int(arguments[0])))
        else:
            print({"cublas": cublas, "openblas": openblas}[name](arguments[0], int(arguments[1])))
    except Missing as missing:
        print(missing)
        sys.exit(3)


if __name__ == "__main__":
    main()
