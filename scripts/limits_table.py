#!/usr/bin/env python3
"""How far the kernels are from what limits them, and from other programs in the same session: measures each line, and writes one table.

usage: limits_table.py BINARY [--out DIR] [--devices SEL] [--sub-devices N] [--budget SECONDS] [--python PYTHON] [--again]
       [--only REGEX] [--quick]

Each line is a run of BINARY, kept as DIR/NAME.json.gz, and perhaps a peer: cuBLAS through PyTorch where PYTHON has it, else OpenBLAS; OpenSSL
on all cores. What is not there is left out, and said. Figures of sppark are those that were recorded on an H200 (results/msm.md). The limit is that of
the ceiling which the tool has measured (roofline_fraction), else the figure that was estimated for an H200, where this is one; both are marked.
DIR/limits.md is written after every line: what was finished stays when it is interrupted, and is not measured again without --again.
--only: lines whose file names match. --quick: tiny sizes, to see that it works.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import json_input
from result_file import duration, get, number, rate

HERE = Path(__file__).resolve().parent
LONGEST = 100  # seconds for one program


@dataclass
class Line:
    name: str  # name of its file
    what: str
    arguments: list
    devices: int = 1
    estimated: float = None       # seconds on an H200 at the limit
    recorded: tuple = None  # figure of another program recorded on an H200: its name, seconds
    peers: list = field(default_factory=list)  # arguments of limits_peers.py: the first available peer is used


def msm(curve, log, tiny, estimated=None, recorded=None, devices=1):
    size = tiny or f"2^{log}"
    return Line(f"msm-{curve}-{log}" + (f"-{devices}" if devices > 1 else ""), f"msm {curve}, {size}" + (" on two" if devices > 1 else ""),
                ["msm", "--curve", curve, "--size", size], devices, estimated, recorded)


def merkle(name, leaves, estimated):
    return Line(f"merkle-{name}", f"merkle, {name if leaves > 5000 else leaves} leaves", ["merkle", "--size", str(leaves)], 1, estimated,
                peers=[["openssl", leaves - 1]])


def gemm(precision, rows, tiny, devices=1):
    name, asked, rows = {"fp32": "SGEMM", "fp64": "DGEMM"}[precision], rows, tiny or rows
    peers = [[peer, precision, rows] for peer in ("cublas", "openblas") if peer == "cublas" or rows <= 2048]
    return Line(f"{name.lower()}-{asked}" + (f"-{devices}" if devices > 1 else ""), f"{name} {rows}" + (" on two" if devices > 1 else ""),
                ["matrix", "--precision", precision, "--size", str(rows)], devices,
                2.0 * rows**3 / {"fp32": 65e12, "fp64": 67e12}[precision] if devices == 1 else None, peers=peers)


def fisher(model, tiny):
    return Line(f"fisher-{model}", f"Fisher, {model} models of 32, {tiny or '2^16'} points of 256 scores",
                ["fisher", "--regime", "models", "--model", model, "--dim", "32", "--scores", "256", "--size", tiny or "2^16"])


def lines(quick):
    """Returns the lines, the most important ones first in case the time is short."""
    tiny = quick and "256"
    leaves = {"2^20": 1024, "100000": 1000, "2^26": 2048} if quick else {"2^20": 1 << 20, "100000": 100000, "2^26": 1 << 26}
    sppark = {20: ("sppark, as recorded", 8.40e-3), 24: ("sppark, as recorded", 74.7e-3)}
    bn254 = {16: 0.21e-3, 18: 0.7e-3, 20: 2.5e-3, 22: 9e-3, 24: None}
    bls = {16: None, 20: 5.6e-3, 24: 73e-3}
    return [
        *[msm("bn254", log, tiny, limit, sppark.get(log)) for log, limit in bn254.items()],
        *[msm("bls12_381", log, tiny, limit) for log, limit in bls.items()],
        msm("bn254", 20, tiny, devices=2),
        merkle("2^20", leaves["2^20"], 170e-6), merkle("100000", leaves["100000"], 60e-6),
        merkle("2^26", leaves["2^26"], (2**26 - 1) / 10.05e9),
        fisher("logistic", tiny), fisher("gaussian", tiny),
        *[gemm(precision, rows, quick and rows // 128) for precision, sizes in (("fp64", (8192, 16384)), ("fp32", (8192, 16384, 2048)))
          for rows in sizes],
        gemm("fp32", 2048, quick and 128, devices=2),
    ]


class Session:
    def __init__(self, given):
        self.given = given
        self.out = Path(given.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.until = time.monotonic() + LONGEST  # time limit for finding devices
        self.lines = [line for line in lines(given.quick) if re.search(given.only, line.name)]
        self.said = {}  # by line: why it has no result
        self.peers = {}  # by line: a name and seconds, or why there are none
        self.devices = []
        self.place = ["-d", given.devices, *(["--sub-devices", str(given.sub_devices)] if given.sub_devices else [])]

    def program(self, command, what):
        """Returns the program's output, or why there is none."""
        limit = min(LONGEST, self.until - time.monotonic())
        if limit <= 0:
            return None, "no time was left"
        try:
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return None, f"took longer than {limit:.0f} s"
        except OSError as error:
            return None, str(error)
        if done.returncode != 0:
            last = (done.stdout if done.returncode == 3 and not done.stderr else done.stderr).strip().splitlines()[-1:]
            return None, last[0] if last else f"exit {done.returncode}"
        return done.stdout, None

    def file(self, line):
        return self.out / f"{line.name}.json.gz"

    def find_devices(self):
        text, why = self.program([self.given.binary, "devices", *self.place, "--json"], "devices")
        if text is None:
            json_input.refuse(f"{self.given.binary} devices: {why}")
        self.devices = json.loads(text)["devices"]
        self.until = time.monotonic() + self.given.budget

    def calibrate(self):
        if not self.given.quick:
            _, why = self.program([self.given.binary, "calibrate", *self.place, "msm", "merkle", "matrix", "fisher"], "calibrate")
            if why:
                print(f"calibrate: {why}", flush=True)

    def measure(self, line):
        if line.devices > len(self.devices):
            self.said[line.name] = f"there is {len(self.devices)} device"
        elif self.given.again or not self.file(line).exists():
            partial = self.out / f"{line.name}.partial.json.gz"
            command = [self.given.binary, "run", *line.arguments, *self.place, "--device-counts", line.devices, "--mode", "resident", "-s",
                       "single" if line.devices == 1 else "equal", "--verify", "sample", "--quiet", "-o", partial]
            _, why = self.program([*command, *(["-n", 3] if self.given.quick else ["-n", 9])], line.name)
            if why is None:
                partial.replace(self.file(line))
            else:
                self.said[line.name] = why
                for left in self.out.glob(f"{line.name}.partial.*"):
                    left.unlink()
        self.ask_peers(line)
        print(f"{line.what}: {self.said.get(line.name, 'measured')}", flush=True)

    def ask_peers(self, line):
        """Measures the peers in this session, except recorded ones."""
        file = self.out / f"{line.name}.peer.json"
        if file.exists() and not self.given.again:
            self.peers[line.name] = json.loads(file.read_text())
            return
        why = []
        for name, *arguments in line.peers if line.devices == 1 else []:
            text, reason = self.program([self.given.python, HERE / "limits_peers.py", name, *arguments], name)
            if reason is None:
                self.peers[line.name] = [{"cublas": "cuBLAS", "openblas": "OpenBLAS", "openssl": "OpenSSL, all cores"}[name], float(text)]
                file.write_text(json.dumps(self.peers[line.name]))
                return
            why.append(f"{name}: {reason}")
        if line.recorded and self.is_h200() and not self.given.quick:
            self.peers[line.name] = list(line.recorded)
        elif why:
            self.peers[line.name] = ["; ".join(why), None]

    def is_h200(self):
        return bool(self.devices) and "H200" in self.devices[0]["name"]

    def row(self, line):
        """Returns the cells, from the file alone."""
        if not self.file(line).exists():
            return [line.what, f"not measured: {self.said.get(line.name, 'not yet')}", *["-"] * 5]
        report = json_input.result(self.file(line))
        run = next((run for run in report["runs"] if run["strategy"] == ("single" if line.devices == 1 else "equal")), None)
        ns = number(run, "time_ns", "median")
        if ns is None or get(run, "verify", "status") != "passed":
            return [line.what, f"no figure: {get(run, 'status')}, {get(run, 'verify', 'status')}", *["-"] * 5]
        now = duration(ns) + (f", {number(run, 'metrics', 'speedup'):.2f} x one" if line.devices > 1 else "")
        value, unit = number(run, "rate", "value"), get(run, "rate", "unit")
        limit, share = "-", "-"
        fraction = number(run, "metrics", "roofline_fraction")
        if fraction:
            limit, share = f"{duration(ns * fraction)} ({get(run, 'work', 'roof')}, measured)", f"{fraction:.2f}"
        elif line.estimated and self.is_h200() and not self.given.quick:
            limit, share = f"{duration(line.estimated * 1e9)} (estimated)", f"{line.estimated * 1e9 / ns:.2f}"
        name, seconds = self.peers.get(line.name, ["-", None])
        return [line.what, now, rate(value, unit) if value else "-", limit, share, f"{name}: {duration(seconds * 1e9)}" if seconds else name,
                f"{seconds * 1e9 / ns:.2f}" if seconds else "-"]

    def write(self):
        head = ["what, resident", "now", "rate", "limit", "of the limit", "peer", "times the peer"]
        rows = [head, ["---"] * len(head), *(self.row(line) for line in self.lines)]
        names = ", ".join(sorted({device["name"] for device in self.devices}))
        text = f"On {len(self.devices)} device(s), {names}; medians; `limits_table.py`.\n\n"
        text += "".join("| " + " | ".join(json_input.plain(cell).replace("|", "/") for cell in row) + " |\n" for row in rows)
        for line in self.lines:
            text += self.first_kernels(line)
        partial = self.out / "limits.md.partial"
        partial.write_text(text)
        partial.replace(self.out / "limits.md")

    def first_kernels(self, line):
        """Returns when the first kernels of two devices began, in the sample shown."""
        if line.devices == 1 or not self.file(line).exists():
            return ""
        run = next((run for run in json_input.result(self.file(line))["runs"] if run["strategy"] == "equal"), {})
        columns = get(run, "timeline", "columns", "commands")
        if not columns:
            return ""
        at = {name: columns.index(name) for name in ("device", "kind", "started_ns")}
        starts = [min((command[at["started_ns"]] for command in run["timeline"]["commands"] if command[at["device"]] == device
                       and command[at["kind"]] == "compute"), default=None) for device in range(line.devices)]
        if None in starts:
            return ""
        return f"\nFirst kernels of {line.what}: {', '.join(duration(start) for start in starts)} after the sample's begin.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--out", default="limits")
    parser.add_argument("--devices", default="gpu")
    parser.add_argument("--sub-devices", type=int)
    parser.add_argument("--budget", type=float, default=570)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true")
    session = Session(parser.parse_args())
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    code = 0
    try:
        session.find_devices()
        session.calibrate()
        for line in session.lines:
            session.measure(line)
            session.write()
    except KeyboardInterrupt:
        code = 130
    session.write()
    print(f"{session.out / 'limits.md'}: {sum(session.file(line).exists() for line in session.lines)} of {len(session.lines)} lines")
    sys.exit(code)


if __name__ == "__main__":
    main()
