"""Shared parts of the tests of the program: they run it as a user does and examine exit code,
standard output, standard error and files. They use the OpenCL devices that are present, with small
sizes only, and never assert a time. The transcripts of tests/golden/cli test in process what needs
no device of this machine."""

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BINARY = None
SCRATCH = None  # folder for the program's caches and state
DEVICES = []  # options that give two devices if possible
DEVICE_COUNT = 0
# Options that give the first of those, for tests to which one device is enough: before every run
# CPUs are measured next to each other, which is most of the time of a short run.
ONE_DEVICE = []
# Options that give the CPU as it is. Suite kernel tries kernels on it in another process, so that
# PoCL compiles them once for both.
WHOLE_DEVICE = []
NO_OPENCL = {"OCL_ICD_VENDORS": "/nonexistent"}

# The quick tier of tests, which CI runs at every change, has each kind of thing once; the thorough
# tier repeats them with other sizes and counts.
THOROUGH = os.environ.get("MGPU_THOROUGH", "0") not in ("", "0")
thorough = unittest.skipUnless(THOROUGH, "thorough: scripts/test.sh --thorough")

# Variables that would change the program's behaviour unnoticed.
FOREIGN = ("NO_COLOR", "COLUMNS", "CI", "TERM")


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __str__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def environment(extra=None):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("MGPU_BENCH_") and k not in FOREIGN}
    env["XDG_CACHE_HOME"] = str(Path(SCRATCH) / "cache")
    env["XDG_STATE_HOME"] = str(Path(SCRATCH) / "state")
    env.update(extra or {})
    return env


def mgpu(*arguments, env=None, cwd=None, given=None):
    """Runs the program. `given` is written to its standard input through a pipe; without it, it
    shares the test's."""
    done = subprocess.run([BINARY, *map(str, arguments)], env=environment(env), cwd=cwd,
                          input=given,
                          capture_output=True, text=True, timeout=300)
    return Result(done.returncode, done.stdout, done.stderr)


def begin(*arguments, env=None, **named):
    """Starts the program with its output going to pipes, unless `named` says otherwise."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **named}
    return subprocess.Popen([BINARY, *map(str, arguments)], env=environment(env), text=True,
                            **pipes)


def wait_until(condition, process=None, seconds=120):
    """Waits for a condition. Returns False if the process ends first or the time is over."""
    until = time.monotonic() + seconds
    while not condition():
        if (process is not None and process.poll() is not None) or time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


@functools.cache
def python_with(*modules):
    """Returns a Python that has these modules, or None."""
    look = ("import importlib.util as i, sys\n"
            "sys.exit(None in map(i.find_spec, sys.argv[1:]))")
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", look, *modules], capture_output=True).returncode == 0:
            return python
    return None


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=SCRATCH)
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def device_file(self, name, **facts):
        """Returns a file for the fault layer that pretends to be a device of tests/layer/devices
        with other facts, and with little memory: a rate is measured with a quarter of it."""
        facts = {"global_mem_size": 256 << 20, **facts}
        text = (ROOT / "tests/layer/devices" / f"{name}.toml").read_text()
        for key, value in facts.items():
            text = re.sub(rf"(?m)^{key} = .*\n", "", text)
            text = text.replace("[device]\n", f"[device]\n{key} = {value}\n")
        file = self.folder / ("-".join([name, *map(str, facts.values())]) + ".toml")
        file.write_text(text)
        return file

    def good(self, *arguments, **named):
        result = mgpu(*arguments, **named)
        self.assertEqual(result.code, 0, f"{arguments}: {result}")
        return result

    def refused(self, arguments, code, *names, **named):
        """Checks that there is no standard output and one line on standard error, with each of
        `names`."""
        result = mgpu(*arguments, **named)
        self.assertEqual((result.code, result.out, len(result.err.splitlines())), (code, "", 1),
                         f"{arguments}: {result}")
        for name in names:
            self.assertIn(name, result.err, f"{arguments}: {result}")
        return result

    def small(self, *arguments, devices=None, **named):
        """Makes a quick successful run of one sample, on DEVICES unless others are given; returns
        its result."""
        file = self.folder / "small.json"
        self.good("run", "merkle", *(devices or DEVICES), "-n", 1, "--warmup", 0, "-o", file,
                  *defaults(arguments), **named)
        return json.loads(file.read_text())

    def assert_schema(self, file, name, *arguments):
        schema = Path(SCRATCH) / f"{name}.schema.json"
        if not schema.exists():
            schema.write_text((ROOT / "tests/data/trace.schema.json").read_text()
                              if name == "trace" else self.good("schema", name).out)
        try:
            # Imported here: starting another Python for each file takes longer.
            import validate_schema
        except ImportError:
            python = python_with("jsonschema")
            self.assertIsNotNone(python, "no python3 has the module jsonschema")
            done = subprocess.run([python, HERE / "validate_schema.py", file, schema, *arguments],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        else:
            found = validate_schema.violations(file, schema, exact="--exact" in arguments)
            self.assertEqual(found, [])

    def assert_trace(self, file):
        """Checks that a trace obeys the rules of trace viewers and has only the contents of our
        traces."""
        self.assert_schema(file, "trace")
        checker = Path(os.environ["MGPU_BUILD_DIR"]) / "tests" / "check_trace"
        done = subprocess.run([checker, file], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def assert_exact_schema(self, document, name):
        """Checks that the printed document says that it is `name` and obeys that schema, which
        would refuse it if any object lost a key or had another one."""
        version = 2 if name in ("calibrate", "compare", "list", "result") else 1
        self.assertEqual(list(document.items())[:2],
                         [("schema", f"mgpu-bench/{name}"), ("schema_version", version)])
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(document))
        self.assert_schema(file, name, "--exact")

    def assert_flips_are_seen(self, *arguments):
        """Checks that no result of this run passes if one bit is flipped in the last data that
        devices send to the host, a part of the result: the fault layer (tests/layer) is between the
        program and OpenCL. Bit 62 is in the exponent of the second float and of the first
        double."""
        file, log = self.folder / "flipped.json", self.folder / "log"

        def layered(what):
            log.unlink(missing_ok=True)
            result = mgpu(*arguments, "-o", file,
                          env={"OPENCL_LAYERS": os.environ["MGPU_FAULT_LAYER"],
                               "MGPU_FAULT_SCRIPT": f"call=download min=8 {what}",
                               "MGPU_FAULT_LOG": str(log)})
            return result, len(log.read_text().splitlines())

        result, last = layered("do=note")
        self.assertEqual(result.code, 0, f"{arguments}: {result}")
        result, fired = layered(f"from={last} bit=62 do=flip")
        # Repetitions on a busy machine may have been fewer this time.
        while fired == 0 and last > 1:
            last -= 1
            result, fired = layered(f"from={last} bit=62 do=flip")
        self.assertEqual(result.code, 6, f"{arguments}: {result}")
        report = json.loads(file.read_text())
        for run in report["runs"]:
            self.assertNotEqual(run["verify"]["status"], "passed", f"{arguments}: {run}")
        # Samples that differ from each other would fail without a reference, and would name no
        # device.
        faults = [*report["faults"], *(fault for run in report["runs"] for fault in run["faults"])]
        self.assertIn("wrong_result", [fault["kind"] for fault in faults], f"{arguments}: {result}")

    def assert_recomputed(self, file, *arguments):
        """Checks that every figure of a result follows from its raw samples and events."""
        done = subprocess.run([sys.executable, ROOT / "scripts/recompute.py", file, *arguments],
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


def defaults(arguments):
    """Adds --size 2^10, --mode resident and -s dynamic unless the arguments have them."""
    arguments = list(arguments)
    given = [str(a) for a in arguments]
    for option, value in (("--size", "2^10"), ("--mode", "resident"), ("-s", "dynamic")):
        if option not in given and not (option == "--size" and "--input" in given):
            arguments += [option, value]
    return arguments


def find_devices():
    """Returns two sub-devices of the first CPU if one can be split, else the default devices."""
    split = mgpu("devices", "-d", "cpu:1", "--sub-devices", "2", "--json")
    if split.code == 0:
        return ["-d", "cpu:1", "--sub-devices", "2"], 2
    found = mgpu("devices", "--json")
    if found.code != 0:
        sys.exit(
                "these tests need an OpenCL device (package pocl-opencl-icd makes one of the CPU): "
                 + found.err)
    return ["-d", "0"], 1


def main():
    """Runs the tests of the calling program: other test files share everything above."""
    global BINARY, SCRATCH, DEVICES, DEVICE_COUNT, ONE_DEVICE, WHOLE_DEVICE
    if len(sys.argv) < 2:
        sys.exit(f"usage: {Path(sys.argv[0]).name} BINARY [unittest arguments]")
    BINARY = str(Path(sys.argv.pop(1)).resolve())
    with tempfile.TemporaryDirectory() as SCRATCH:
        DEVICES, DEVICE_COUNT = find_devices()
        ONE_DEVICE = [*DEVICES, "--max-devices", "1"]
        WHOLE_DEVICE = DEVICES[:2]
        unittest.main(verbosity=2)
