#!/usr/bin/env python3
"""A thousand faults that were made to happen, over every suite and command that enters a driver.

usage: fault_campaign.py BINARY LAYER FILE [--faults N] [--seed N] [--jobs N] [--work DIR]
                         [--limit S] [--only NAME,..] [--list] [--summary]

Each trial runs the program once with the fault layer (tests/layer) between it and OpenCL, on two
sub-devices or on three devices of one CPU, and makes one call go wrong: it returns an error, its
command hangs, the call itself never returns, a bit is flipped, each command is slow, or a device
vanishes. The call is drawn from those of a run without a fault. FILE gets one line of JSON per
trial; a trial that FILE already has is not repeated, and trials continue until N faults have
happened. A run must end within its limit and not by a signal, with an exit code that the table of
lib/report/README.md has for it, and leave a file that obeys its schema or none. No row may pass
with a digest that the run without a fault does not have, and no device may be blamed except those
that the fault hit. --summary only prints the contents of FILE; exit code 1 if a trial failed. Takes
about 8 s of a core per trial.
"""

import argparse
import concurrent.futures
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "cli"))
import validate_schema  # noqa: E402

RUN = ["--timeout", "4s", "--build-timeout", "25s", "-n", "3", "--warmup", "0", "-q", "--force"]
SUITES = {
    "merkle": "merkle --size 2^10 -s equal,dynamic --mode both",
    "msm": "msm --size 64 -s equal,adaptive --mode resident",
    "matrix": "matrix --size 96 -s equal,stealing --mode both",
    "fisher": "fisher --size 300 --dim 8 -s equal,guided --mode both",
    "fisher-models": "fisher --regime models --size 120 --dim 6 -s equal,dynamic --mode resident",
    "geometric": "geometric --size 256 --algebra 2,0,0 -s equal,dynamic --mode both",
    "ntt": "ntt --size 2^10 -s equal,capability --mode both",
    "ntt-batch": "ntt --size 2^8 --batch 20 -s equal,dynamic --mode both",
    "ntt-commit": "ntt --op commit --size 2^6 --batch 24 --field koalabear -s equal --mode both",
    "tropical": "tropical --size 64 -s equal,latency --mode both",
    "apsp": "tropical --op apsp --size 101 --paths -s equal,capability --mode resident",
    "stencil": "stencil --size 61 --iterations 9 -s equal,capability --mode both",
    "stencil-checkpoints":
        "stencil --size 61 --iterations 12 --checkpoint-rounds 3 -s equal --mode resident",
    "lbm": "lbm --size 6 --planes 5 --iterations 3 -s equal,capability --mode both",
    "pinn": "pinn --size 64 --layers 2 --width 8 --shards 8 --iterations 3 -s equal "
            "--mode resident",
    "pac": "pac --size 2 --length 256 --pha 4:8:2 --amp 40:80:3 --perm 20 -s equal,dynamic "
           "--mode both",
    "pipeline": "pipeline --size 64 --batch 4 --width 16 --stages hash,product --place data "
                "-s equal,dynamic --mode resident",
    "pipeline-stages": "pipeline --size 64 --batch 4 --width 16 --stages hash,product --place "
                       "pipeline -s equal --mode resident",
    "saxpy": "kernel --kernel saxpy --size 4096 -s equal,dynamic --mode both",
    "life": "kernel --kernel life --size 48 -s equal --mode resident",
    "histogram": "kernel --kernel histogram --size 4096 -s equal,adaptive --mode resident",
    "select": "kernel --kernel select --size 4096 -s equal,dynamic --mode resident",
}
COMMANDS = {name: ["run", *words.split(), *RUN, "-o", "FILE"] for name, words in SUITES.items()}
TIMES = ["--timeout", "4s", "--build-timeout", "25s"]
COMMANDS |= {
    "links": ["links", "--quick", *TIMES, "-q", "-o", "FILE"],
    "calibrate": ["calibrate", "merkle", "--no-noise", "--recalibrate", "--json", *TIMES],
    "plan": ["plan", "merkle", "--size", "2^10", "--json", *TIMES],
    "compare": ["compare", "--interleave", "5", "--with",
                "merkle --size 2^10 -s equal --mode resident -n 3 --timeout 4s "
                "--build-timeout 25s DEVICES", "--json", "", ""],
}
# Exit codes that a fault may lead to, in addition to 0 and 5 (a case or the command failed), 6 (a
# wrong result was found) and 7 (no device was left).
ALSO = {"plan": (2,), "compare": (2, 3, 4)}
TWO = (["-d", "cpu:1", "--sub-devices", "2"], {})
THREE = (["-d", "cpu"], {"POCL_DEVICES": "pthread pthread pthread"})
MOVES = ("clEnqueueWriteBuffer", "clEnqueueReadBuffer", "clEnqueueNDRangeKernel")
# Kinds of fault: the calls, and the actions on them.
KINDS = {
    "error": (None, ("error:-5", "error:-4", "error:-36", "error:-9999")),
    "hang": (MOVES, ("hang",)),
    "blocked call": (None, ("hang-call",)),
    "flip": (MOVES, ("flip",)),
    "slow": (MOVES, ("delay:20",)),
    "vanish": (("clGetDeviceIDs",), ("vanish",)),
}


class Subject:
    """A command on one set of devices, and its behaviour without a fault."""

    def __init__(self, campaign, name, setup):
        self.name = f"{name} on {'two' if setup is TWO else 'three'}"
        self.command, self.setup, self.campaign = COMMANDS[name], setup, campaign
        self.also = ALSO.get(name, ())
        self.calls, self.digests = None, {}
        self.learning = threading.Lock()

    def words(self, file):
        devices = " ".join(self.setup[0])
        words = [str(file) if w == "FILE" else w.replace("DEVICES", devices) for w in self.command]
        return words if words[0] == "compare" else [*words, *self.setup[0]]

    def learn(self):
        """Counts calls and notes digests, once. plan needs the cache of calibrate."""
        with self.learning:
            if self.calls is None:
                self.learn_now()

    def learn_now(self):
        if self.command[0] == "plan":
            calibrated = Subject(self.campaign, "calibrate", self.setup)
            self.campaign.execute(calibrated, "", f"before-{self.name}", 600)
        for script in ("", "do=note"):  # the first run fills caches
            done = self.campaign.execute(self, script, f"sound-{self.name}", 600)
            if done["code"] != 0:
                raise RuntimeError(f"{self.name} fails without a fault: {done}")
        counts = Counter((line["device"], line["call"]) for line in done["fired"])
        self.digests = self.digests_of(done["result"])
        self.calls = {k: n for k, n in sorted(counts.items()) if k[0]}

    @staticmethod
    def digests_of(result):
        return {} if result is None else {
            run["mode"]: run["verify"]["digest"] for run in result.get("runs", [])}


class Campaign:
    def __init__(self, options):
        self.options = options
        self.work = Path(options.work).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.binary = str(Path(options.binary).resolve())
        self.layer = str(Path(options.layer).resolve())
        self.schema = self.work / "result.schema.json"
        self.schema.write_text(subprocess.run(
            [self.binary, "schema", "result"], capture_output=True, text=True, check=True).stdout)

    def execute(self, subject, script, place, limit):
        folder = self.work / re.sub(r"\W", "-", str(place))
        folder.mkdir(exist_ok=True)
        log, file = folder / "log", folder / "r.json"
        for old in folder.glob("*"):
            if old.is_file():
                old.unlink()
        env = {k: v for k, v in os.environ.items() if not k.startswith("MGPU_")}
        env |= {"XDG_CACHE_HOME": str(self.work / "cache"), "XDG_STATE_HOME": str(folder),
                "POCL_CACHE_DIR": str(self.work / "pocl"), **subject.setup[1],
                "OPENCL_LAYERS": self.layer, "MGPU_FAULT_SCRIPT": script,
                "MGPU_FAULT_LOG": str(log)}
        begin = time.monotonic()
        with subprocess.Popen([self.binary, *subject.words(file)], env=env, cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", start_new_session=True) as process:
            try:
                out, err = process.communicate(timeout=limit)
                code = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                code = None
        done = {"code": code, "seconds": round(time.monotonic() - begin, 1), "out": out,
                "err": err, "fired": [], "result": None, "broken": None}
        if log.exists():
            done["fired"] = [json.loads(line) for line in log.read_text().splitlines()]
        try:
            if file.exists():
                done["result"] = json.loads(file.read_text())
                violations = validate_schema.violations(file, self.schema)
                done["broken"] = violations[-1][:300] if violations else None
            elif "--json" in subject.command and code == 0:
                json.loads(out)
        except ValueError as error:
            done["broken"] = f"no JSON: {error}"
        return done

    def draw(self, subjects, number):
        """Returns the subject and script of a trial, from its number and the seed alone."""
        dice = random.Random(f"{self.options.seed}/{number}")
        subject = dice.choice(subjects)
        subject.learn()
        kind = dice.choice(list(KINDS))
        functions, actions = KINDS[kind]
        places = [k for k in subject.calls
                  if functions is None or k[1] in functions or kind == "vanish"]
        if not places:
            return subject, kind, None, None
        device, call = dice.choice(places)
        action = dice.choice(actions)
        if kind == "vanish":
            whole = device.split(".")[0]
            return subject, kind, whole, f"device={whole} call=clGetDeviceIDs from=1 do=vanish"
        turn = "from" if kind == "slow" else "nth"
        # Early calls are drawn more often.
        nth = 1 + int(subject.calls[device, call] * dice.random() ** 2)
        return subject, kind, device, f"device={device} call={call} {turn}={nth} do={action}"

    def attempt(self, subjects, number):
        subject, kind, device, script = self.draw(subjects, number)
        if script is None:
            return None
        place = f"trial-{threading.get_ident()}"
        patience = 8 if subject.command[0] == "compare" else 1  # it makes this number of runs
        done = self.execute(subject, script, place, self.options.limit * patience)
        line = {"number": number, "subject": subject.name, "kind": kind, "device": device,
                "script": script, "code": done["code"], "seconds": done["seconds"],
                "fired": len(done["fired"]), "complaints": []}
        if done["fired"]:
            self.judge(subject, kind, device, done, line["complaints"].append)
        if line["complaints"]:
            line["err"] = done["err"][-3000:]
        return line

    @staticmethod
    def judge(subject, kind, device, done, say):
        code = done["code"]
        if code is None:
            say("does not end")
        elif code < 0:
            say(f"ended by signal {-code}")
        elif code not in (0, 5, 6, 7, *subject.also):
            say(f"exit {code}")
        if done["broken"]:
            say(done["broken"])
        result = done["result"] or {}
        rows = result.get("runs", [])
        for row in rows:
            passed = row["status"] == "ok" and row["verify"]["status"] == "passed"
            if passed and row["verify"]["digest"] != subject.digests.get(row["mode"]):
                say(f"a wrong digest passed: {row['strategy']} {row['mode']}")
        named = {fault["device"] for fault in result.get("faults", [])}
        for row in rows:
            named |= {fault["device"] for fault in row["faults"]}
        named |= set(re.findall(r"device (\d+:\d+(?:\.\d+)?) [^\n]*?(?:disabled|hung|lost|alone "
                                r"computes)", done["err"]))
        hit = {device, device.split(".")[0]} if device else set()
        if "." not in device:  # a fault of the whole device is a fault of its parts
            named = {name for name in named if name.split(".")[0] not in hit}
        if innocent := named - hit:
            say(f"names {', '.join(sorted(innocent))}")
        if kind == "slow" and named:
            say("calls a slow device a lost one")


def summary(lines):
    fired = [line for line in lines if line["fired"]]
    bad = [line for line in fired if line["complaints"]]
    print(f"{len(lines)} runs, {len(fired)} faults happened, {len(bad)} not as they should be; "
          f"the longest run took {max((line['seconds'] for line in fired), default=0):.0f} s")
    for title, key in (("kind", "kind"), ("command or suite, devices", "subject")):
        print(f"\n{title:32}{'faults':>8}{'exit 0':>8}{'5':>6}{'6':>6}{'other':>8}{'bad':>6}")
        for value in sorted({line[key] for line in fired}):
            mine = [line for line in fired if line[key] == value]
            codes = Counter(line["code"] for line in mine)
            other = len(mine) - codes[0] - codes[5] - codes[6]
            print(f"{value:32}{len(mine):8}{codes[0]:8}{codes[5]:6}{codes[6]:6}{other:8}"
                  f"{sum(bool(line['complaints']) for line in mine):6}")
    for line in bad:
        print(f"\n{line['number']}: {line['subject']}, {line['script']}: exit {line['code']}, "
              f"{line['seconds']} s: {'; '.join(line['complaints'])}")
    return 1 if bad else 0


def read_lines(file):
    return [json.loads(line) for line in Path(file).read_text().splitlines()] if Path(
        file).exists() else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("layer")
    parser.add_argument("file")
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--work", default="/tmp/fault-campaign")
    parser.add_argument("--limit", type=float, default=150)
    parser.add_argument("--seconds", type=float, help="begin no trial after so long")
    parser.add_argument("--only", help="only these: " + ", ".join(COMMANDS))
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    if options.summary:
        return summary(read_lines(options.file))
    begin = time.monotonic()
    campaign = Campaign(options)
    names = options.only.split(",") if options.only else list(COMMANDS)
    subjects = [Subject(campaign, name, setup) for name in names for setup in (TWO, THREE)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        seen = {line["number"]: line for line in read_lines(options.file)}
        happened = sum(bool(line["fired"]) for line in seen.values())
        with open(options.file, "a", encoding="utf-8") as file:
            number, running = 0, set()
            while happened < options.faults or running:
                late = options.seconds and time.monotonic() - begin > options.seconds
                while not late and len(running) < options.jobs and happened < options.faults:
                    if number not in seen:
                        running.add(pool.submit(campaign.attempt, subjects, number))
                    number += 1
                if not running:
                    break
                over, running = concurrent.futures.wait(
                    running, return_when=concurrent.futures.FIRST_COMPLETED)
                for line in filter(None, (done.result() for done in over)):
                    happened += bool(line["fired"])
                    file.write(json.dumps(line) + "\n")
                    file.flush()
    return summary(read_lines(options.file))


if __name__ == "__main__":
    sys.exit(main())
