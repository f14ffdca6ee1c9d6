#!/usr/bin/env python3
"""The real binary under injected faults: combinations of problem, mode, strategy, devices, kind of
fault and phase, generated so that every pair of values comes together (pairwise), each run once
with the fault layer (tests/layer) between the program and OpenCL.

usage: fault_matrix_test.py BINARY [--layer FILE] [--problem NAME,..] [--only N,..] [--count N]
           [--timeout T] [--limit S] [--work DIR] [--report FILE] [--list]

Each run must end within --limit seconds, not by a signal, leave a result file that obeys its
schema, and give no wrong result. The run's report of the fault (exit code, warnings, `faults` of
the file) is compared with what the kind of fault requires. Prints one line per run; exit code 1 if
one of them failed. A first run of each problem without a fault, saved in the folder of --work,
counts calls and learns the digest: faults are placed by these counts. The layer is MGPU_FAULT_LAYER
unless --layer names one. The quick tier has a few runs of one problem; all runs take an hour of two
cores. """

import argparse
import itertools
import json
import math
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import validate_schema

QUICK = "118,283"  # one problem on two devices: a build that fails, a device that hangs
PROBLEMS = {  # options, samples, modes
    "merkle": (["merkle", "--size", "2^10"], 40, ("resident", "end-to-end")),
    "rfc6962": (["merkle", "--tree", "rfc6962", "--size", "3000"], 100, ("resident", "end-to-end")),
    "points": (["msm", "--size", "64"], 20, ("resident", "scalars", "end-to-end")),
    "windows": (["msm", "--axis", "windows", "--size", "64"],
                20, ("resident", "scalars", "end-to-end")),
    "rows": (["matrix", "--size", "96", "--cols", "150", "--inner", "40"],
             100, ("resident", "end-to-end")),
    "tiles": (["matrix", "--axis", "tiles", "--size", "190", "--cols", "230", "--inner", "300"],
              60, ("resident", "end-to-end")),
    "gram": (["fisher", "--size", "1500", "--dim", "20"], 100, ("resident", "end-to-end")),
    "models": (["fisher", "--regime", "models", "--size", "300", "--dim", "8"],
               100, ("resident", "end-to-end")),
    "closed": (["fisher", "--regime", "closed", "--family", "beta", "--size", "3000"],
               100, ("resident", "end-to-end")),
}
STRATEGIES = ("single", "equal", "proportional", "dynamic", "adaptive", "capability", "guided",
              "latency", "memory", "sequential",
              "stealing", "auto")
# Options and variables, then the devices that a fault hits. Clones of one CPU replace three
# devices.
TWO = (["-d", "cpu:1", "--sub-devices", "2"], {})
THREE = (["-d", "cpu"], {"POCL_DEVICES": "pthread pthread pthread"})
DEVICES = {
    "first of two": (TWO, ("0:0.0",)),
    "second of two": (TWO, ("0:0.1",)),
    "one of three": (THREE, ("0:1",)),
    "all but one": (THREE, ("0:0", "0:2")),
}
PHASES = ("rates", "warm-up", "probe", "first", "middle", "last")  # phases of a run: see place()
# Position of a phase among the calls after the last allocation: the probes take less than 0.4 of
# them, the samples follow.
SHARE_AFTER = {"warm-up": 0.0, "probe": 0.15, "first": 0.45, "middle": 0.7, "last": 0.9}


@dataclass
class Kind:
    call: str  # words that select the calls
    action: str
    again: bool = False  # every call from then on
    # Expected outcome. "lost": the device is disabled, the rest continues. "failed": as lost, or
    # the problem is unsupported there. "slower": right, and nothing lost. "checked": right, or
    # found wrong. "unseen": may have no effect. "gone": fewer devices.
    outcome: str = "lost"


KINDS = {
    "build error": Kind("call=build", "error:-11", outcome="failed"),
    "build hangs": Kind("call=build", "hang"),
    "allocation fails": Kind("call=allocate min=5", "fail-alloc", outcome="failed"),
    "finish hangs": Kind("call=clFinish", "hang"),
    "upload error": Kind("call=upload min=5", "error:-5"),
    "launch error": Kind("call=launch", "error:-5"),
    "download error": Kind("call=download", "error:-5"),
    "poll error": Kind("call=clGetEventInfo",
                       "error:-58"),  # -5 could also mean that there is no memory
    "flush error": Kind("call=clFlush", "error:-36"),
    "clock error": Kind("call=upload max=4", "error:-5"),
    "stamp error": Kind("call=profile", "error:-7"),
    "kernel fails": Kind("call=launch", "fail:-9999"),
    "download fails": Kind("call=download", "fail:-5"),
    "upload hangs": Kind("call=upload min=5", "hang"),
    "kernel hangs": Kind("call=launch", "hang"),
    "download hangs": Kind("call=download", "hang"),
    "clock hangs": Kind("call=upload max=4", "hang"),
    "launch blocks": Kind("call=launch", "hang-call"),
    "slow": Kind("call=launch", "delay:5", again=True, outcome="slower"),
    "out of memory": Kind("call=launch", "error:-4", outcome="failed"),
    "kernel flips": Kind("call=launch", "flip", outcome="checked"),
    "kernel skipped": Kind("call=launch", "skip", outcome="checked"),
    "download flips": Kind("call=download", "flip", outcome="checked"),
    "upload flips": Kind("call=upload min=5", "flip", outcome="checked"),
    "stamps": Kind("call=launch", "stamps:", again=True, outcome="unseen"),
    "context lost": Kind("call=launch", "lose:-9999"),
    "device dies": Kind("call=launch", "die:-5"),
    "vanishes": Kind("call=clGetDeviceIDs", "vanish", again=True, outcome="gone"),
}
STAMPS = ("zero", "backwards", "huge")


@dataclass
class Combination:
    number: int
    problem: str
    mode: str
    strategy: str
    kind: str
    device: str
    phase: str

    def __str__(self):
        return (f"{self.number}: {self.problem} {self.mode} {self.strategy} | {self.kind} | "
                f"{self.device} | {self.phase}")


def pairwise(factors, seed=1):
    """Returns rows with one value of each factor in which every two values of different factors
    occur together. Greedy: of 40 random rows that begin with a missing pair, it takes the one with
    most missing pairs."""
    dice = random.Random(seed)
    places = range(len(factors))
    missing = {(i, a, j, b) for i,
               j in itertools.combinations(places, 2) for a in factors[i] for b in factors[j]}
    rows = []

    def news(row):
        return {(i, row[i], j, row[j]) for i, j in itertools.combinations(places, 2)} & missing

    while missing:
        best, gain = None, set()
        for i, a, j, b in dice.sample(sorted(missing), min(40, len(missing))):
            row = [dice.choice(f) for f in factors]
            row[i], row[j] = a, b
            for k in dice.sample(places, len(factors)):
                if k not in (i, j):
                    row[k] = max(factors[k],
                                 key=lambda v: (len(news(row[:k] + [v] + row[k + 1:])),
                                                dice.random()))
            if len(news(row)) > len(gain):
                best, gain = row, news(row)
        rows.append(best)
        missing -= gain
    return rows


def combinations():
    rows = pairwise([list(PROBLEMS), list(range(3)), list(STRATEGIES), list(KINDS), list(DEVICES),
                     list(PHASES)])
    random.Random(2).shuffle(
            rows)  # so that any number of rows from the start has some of everything
    found = []
    for number, (problem, mode, strategy, kind, device, phase) in enumerate(rows):
        modes = PROBLEMS[problem][2]
        found.append(Combination(number, problem, modes[mode % len(modes)], strategy, kind, device,
                                 phase))
    return found


@dataclass
class Outcome:
    code: object                      # exit code, or None: killed after the limit
    seconds: float
    err: str
    fired: list = field(default_factory=list)   # lines of the layer's log
    result: dict = None
    complaints: list = field(default_factory=list)


class Bench:
    """Runs the binary under a script, and knows its behaviour without one."""

    def __init__(self, binary, layer, work, timeout="4s", limit=120):
        self.binary, self.layer, self.work = str(Path(binary).resolve()), str(
                Path(layer).resolve()), Path(work)
        self.timeout, self.limit = timeout, limit
        self.work.mkdir(parents=True, exist_ok=True)
        self.pocl_cache = os.environ.get("POCL_CACHE_DIR") or str(self.work / "pocl")
        self.schema = self.work / "result.schema.json"
        self.schema.write_text(subprocess.run([self.binary, "schema", "result"],
                                              capture_output=True, text=True, check=True).stdout)

    def run(self, arguments, variables, script, timeout=None, strict=False, limit=None):
        log, file = self.work / "log", self.work / "r.json"
        for old in (log, file):
            old.unlink(missing_ok=True)
        env = {k: v for k, v in os.environ.items() if not k.startswith("MGPU_")}
        env |= {"XDG_CACHE_HOME": str(self.work / "cache"),
                "XDG_STATE_HOME": str(self.work / "state"), "POCL_CACHE_DIR": self.pocl_cache,
                **variables,
                "OPENCL_LAYERS": self.layer, "MGPU_FAULT_SCRIPT": script,
                "MGPU_FAULT_LOG": str(log)}
        command = [self.binary, "run", *arguments, "-o", str(file), "--timeout",
                   timeout or self.timeout, "--build-timeout", "25s"]
        command += ["--strict"] if strict else []
        begin = time.monotonic()
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, errors="replace")
        try:
            err = process.communicate(timeout=limit or self.limit)[1]
            code = process.returncode
        except subprocess.TimeoutExpired:
            if shutil.which("gdb"):
                with open(self.work / f"stacks.{process.pid}", "w", encoding="utf-8") as stacks:
                    subprocess.run(["gdb", "-p", str(process.pid), "-batch", "-ex",
                                    "thread apply all bt"], stdout=stacks,
                                   stderr=subprocess.DEVNULL, check=False)
            process.kill()
            err, code = process.communicate()[1], None
        outcome = Outcome(code, time.monotonic() - begin, err)
        if log.exists():
            outcome.fired = [json.loads(line) for line in log.read_text().splitlines()]
        if file.exists():
            outcome.result = json.loads(file.read_text())
        return outcome

    def arguments(self, problem, mode, strategy, devices):
        options, samples, _ = PROBLEMS[problem]
        return [*options, "--mode", mode, "-s", strategy, *devices, "-n", str(samples), "--warmup",
                "1", "-q"]

    def sound(self, problem, mode, setup):
        """Returns what the problem does on these devices without faults: its digest, and the calls
        per device before and after the last allocation. It is cached in a file, as it takes a
        run."""
        devices = "two" if setup is TWO else "three"
        name = f"{problem}-{mode}-{devices}-{os.stat(self.binary).st_mtime_ns}"
        kept = self.work / f"sound-{name}.json"
        if kept.exists():
            return json.loads(kept.read_text())
        devices, variables = setup
        arguments = self.arguments(problem, mode, "equal", devices)
        for script in ("", "do=note"):  # PoCL compiles in the first run
            outcome = self.run(arguments, variables, script, timeout="100s", limit=300)
        if outcome.code != 0:
            raise RuntimeError(f"{name} fails without a fault: exit {outcome.code}\n{outcome.err}")
        calls = {}
        for line in outcome.fired:
            calls.setdefault(line["device"], []).append(line)
        for device, lines in calls.items():
            last = max((i for i,
                        line in enumerate(lines) if line["call"].startswith("clCreateBuffer")),
                        default=0)
            calls[device] = {"before": count(lines[: last + 1]), "after": count(lines[last + 1:])}
        digests = {run["verify"]["digest"] for run in outcome.result["runs"]}
        if len(digests) != 1:
            raise RuntimeError(f"{name}: digests differ without a fault: {digests}")
        sound = {"digest": digests.pop(), "calls": calls, "seconds": outcome.seconds}
        kept.write_text(json.dumps(sound))
        return sound

    def script(self, combination, sound):
        kind = KINDS[combination.kind]
        action = kind.action + (STAMPS[combination.number % 3] if kind.action == "stamps:" else "")
        rules = []
        for device in DEVICES[combination.device][1]:
            where = place(kind, combination.phase,
                          sound["calls"].get(device) or sound["calls"].get(device.split(".")[0],
                    {}))
            turn = "from" if kind.again or (kind.call == "call=build" and
                                            combination.phase != "rates") else "nth"
            if where[0]:
                rules.append(f"device={device} call=allocate nth={where[0]} do=note")
                rules.append(
                        f"device={device} {kind.call} after={len(rules)} {turn}={where[1]} "
                        f"do={action}")
            else:
                rules.append(f"device={device} {kind.call} {turn}={where[1]} do={action}")
        return "; ".join(rules)

    def attempt(self, combination, strict=False):
        setup, _ = DEVICES[combination.device]
        sound = self.sound(combination.problem, combination.mode, setup)
        script = self.script(combination, sound)
        devices, variables = setup
        if combination.kind == "vanishes":  # the parent of a sub-device is not listed
            script = script.replace("0:0.0", "0:0").replace("0:0.1", "0:0")
        arguments = self.arguments(combination.problem, combination.mode, combination.strategy,
                                   devices)
        outcome = self.run(arguments, variables, script, strict=strict)
        if outcome.result is not None:
            shutil.copy(self.work / "r.json", self.work / f"result-{combination.number}.json")
        outcome.fired = [line for line in outcome.fired if line["do"] != "note"]
        self.judge(combination, outcome, sound, strict)
        return script, outcome

    def judge(self, combination, outcome, sound, strict):
        say = outcome.complaints.append
        kind = KINDS[combination.kind]
        if outcome.code is None:
            say("HANGS")
        elif outcome.code < 0:
            say(f"CRASHES with signal {-outcome.code}")
        elif outcome.code not in (0, 5, 6, 7):
            say(f"exit {outcome.code}")
        if outcome.result is None:
            if outcome.code != 7:
                say("no result file")
            return
        self.judge_file(outcome, say)
        lost = kind.outcome == "lost"
        rows = outcome.result["runs"]
        for row in rows:
            name = f"{row['strategy']} on {len(row['devices'])}"
            verified = row["status"] == "ok" and row["verify"]["status"] == "passed"
            if verified and row["verify"]["digest"] != sound["digest"]:
                say(f"WRONG and passed: {name}")
            if row["status"] == "ok" and not verified:
                say(f"ok and not verified: {name}")
            if row["status"] != "ok" and (row["samples_ns"] or
                                          row["metrics"].get("speedup") is not None):
                say(f"{row['status']} with numbers: {name}")
            if lost and outcome.fired and row["status"] == "skipped":
                say(f"skipped though devices are left: {name}")
            if lost and outcome.fired and row["status"] == "failed":
                say(f"failed though devices are left: {name}: {row['reason']}")
            # Impossible time stamps must not yield times.
            for time_ns in (row["bottleneck"] or {}).get("what_if_ns", {}).values():
                if time_ns is not None and not 0 <= time_ns < 10**15:
                    say(f"a time of {time_ns} ns: {name}")
            idle = [d["device"] for d in row["per_device"] if d["items"] > 0 and d["compute_ns"] ==
                    0]
            if combination.kind == "stamps" and outcome.fired and idle:
                say(f"no compute time though it computed, unmarked: {name}: {', '.join(idle)}")
        recorded = bool(outcome.result["faults"]) or any(row["faults"] for row
                in rows)  # faults of set-up belong to no row
        if lost and outcome.fired:
            if not recorded:
                say("no fault recorded")
            if not any(device in outcome.err for device in DEVICES[combination.device][1]):
                say("no warning names the device")
            wanted = 5 if strict else 0
            if outcome.code in (0, 5, 6, 7) and outcome.code != wanted:
                say(f"exit {outcome.code} for {wanted}")
        if kind.outcome == "slower" and (outcome.code != 0 or recorded):
            say(f"exit {outcome.code}, lost: a slow device is not a lost one")
        if kind.outcome == "unseen" and outcome.code != 0:
            say(f"exit {outcome.code} for 0")

    def judge_file(self, outcome, say):
        file = self.work / "r.json"
        violations = validate_schema.violations(file, self.schema)
        if violations:
            say("schema: " + violations[-1][:200])
        if not outcome.result.get("complete"):
            say("not complete")


def count(lines):
    """Counts the calls by name; calls of four bytes, which probe clocks, are counted separately."""
    counts = {}
    for line in lines:
        name = line["call"] + ("/4" if line["call"] in ("clEnqueueWriteBuffer", "clCreateBuffer")
                               and line["bytes"] <= 4 else "")
        counts[name] = counts.get(name, 0) + 1
    return counts


GROUPS = {"build": ["clBuildProgram"], "allocate": ["clCreateBuffer"],
          "upload": ["clEnqueueWriteBuffer", "clEnqueueWriteBufferRect"],
          "launch": ["clEnqueueNDRangeKernel"],
          "download": ["clEnqueueReadBuffer", "clEnqueueReadBufferRect"],
          "profile": ["clGetEventProfilingInfo"]}


def place(kind, phase, calls):
    """Returns (number of allocations to wait for or 0, number of the call after them)."""
    group = kind.call.split()[0].removeprefix("call=")
    names = ["clEnqueueWriteBuffer/4"] if "max=4" in kind.call else GROUPS.get(group, [group])
    before, after = (sum(calls.get(part, {}).get(name, 0) for name in names) for part in ("before",
            "after"))
    allocations = sum(calls.get("before", {}).get(name, 0) for name in ("clCreateBuffer",
            "clCreateBuffer/4"))
    if group == "build":
        return 0, 1
    if phase == "rates" or after == 0:
        late = phase != "rates" and before > 0
        return 0, before if late else max(1, math.ceil(before / 2))
    return allocations, max(1, math.ceil(SHARE_AFTER[phase] * after))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--layer", default=os.environ.get("MGPU_FAULT_LAYER"),
                        help="the fault layer")
    parser.add_argument("--problem", help="only those of these problems: " + ", ".join(PROBLEMS))
    parser.add_argument("--only",
                        help="numbers of combinations, with commas between; without it and "
                        "MGPU_THOROUGH the quick tier's, when started as a test")
    parser.add_argument("--count", type=int, help="the first so many (default: all)")
    busy = max(1, round(os.getloadavg()[0] / os.cpu_count()))  # other load makes devices look hung
    parser.add_argument("--timeout", default=f"{min(busy, 4)}s", help="--timeout of the runs")
    parser.add_argument("--limit", type=float, default=120,
                        help="seconds after which a run is killed")
    work = Path(os.environ.get("MGPU_BUILD_DIR", "/tmp")) / "fault-matrix"
    parser.add_argument("--work", default=str(work),
                        help="folder for caches and the runs without faults")
    parser.add_argument("--report", help="a file for one line of JSON per run")
    parser.add_argument("--list", action="store_true", help="only list the combinations")
    options = parser.parse_args()
    chosen = combinations()
    thorough = os.environ.get("MGPU_THOROUGH", "0") not in ("", "0")
    if not (options.only or options.problem or options.count or options.list or thorough):
        options.only = QUICK
    if options.only:
        chosen = [chosen[int(n)] for n in options.only.split(",")]
    if options.problem:
        chosen = [combination for combination in chosen if combination.problem
                  in options.problem.split(",")]
    chosen = chosen[: options.count]
    if options.list:
        print(*chosen, sep="\n")
        return 0
    if not options.layer:
        parser.error("no fault layer: --layer, or MGPU_FAULT_LAYER in the environment")
    bench = Bench(options.binary, options.layer, options.work, options.timeout, options.limit)
    bad = unfired = 0
    for combination in chosen:
        script, outcome = bench.attempt(combination)
        unfired += not outcome.fired
        bad += bool(outcome.complaints)
        verdict = "; ".join(outcome.complaints) or ("as it should be" if outcome.fired else
                "nothing fired")
        print(f"{combination} -> exit {outcome.code}, {outcome.seconds:.1f} s, "
              f"{len(outcome.fired)} fired: {verdict}", flush=True)
        if options.report:
            line = {"combination": str(combination), "script": script, "code": outcome.code,
                    "seconds": round(outcome.seconds, 1),
                    "fired": outcome.fired[:4], "err": outcome.err[-2000:],
                    "complaints": outcome.complaints,
                    "rows": [{k: row[k] for k in ("strategy", "devices", "status", "reason",
                    "faults", "verify")}
                             for row in (outcome.result or {}).get("runs", [])]}
            with open(options.report, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
    print(f"{len(chosen)} runs, {bad} not as they should be, {unfired} in which nothing fired")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
