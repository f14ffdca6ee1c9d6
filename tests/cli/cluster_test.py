#!/usr/bin/env python3
"""The same run over several ranks of MPI on this machine: the results of one process, refusals, ranks that die or stop. Usage:
cluster_test.py BINARY [unittest arguments]. In the environment: MGPU_RANKS, how many (2); MGPU_MPIS, which launchers (openmpi,mpich:
those whose plug-in was built); MGPU_KILLS, at how many moments a rank is killed (1); MGPU_CLUSTER_SUITES, which suites (fisher).
scripts/cluster_test.sh tries more of all."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import binary
from binary import Case, Result, environment

RANKS = int(os.environ.get("MGPU_RANKS", "2"))
KILLS = int(os.environ.get("MGPU_KILLS", "1"))
# A CPU for each rank where there are not enough cores for parts; results are the same however many threads a CPU has.
DEVICES = {"POCL_DEVICES": " ".join(["pthread"] * RANKS), "POCL_MAX_PTHREAD_COUNT": "1"}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
PATIENCE = 2
SAMPLES = 100
SUITES = os.environ.get("MGPU_CLUSTER_SUITES", "fisher")


def launchers():
    """By MPI whose plug-in is there: how its programs are launched."""
    known = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"], "mpich": ["mpiexec.hydra"]}
    asked = os.environ.get("MGPU_MPIS", "openmpi,mpich").split(",")
    folder = Path(binary.BINARY).parent
    return {mpi: known[mpi] for mpi in asked if (folder / f"mgpu-bench-{mpi}.so").exists() and shutil.which(known[mpi][0])}


def command(mpi, *programs):
    """Each program is a list of words for one rank; one alone is for all ranks."""
    line = list(launchers()[mpi])
    counts = [RANKS] if len(programs) == 1 else [1] * len(programs)
    for number, (count, words) in enumerate(zip(counts, programs)):
        line += ([":"] if number else []) + ["-n", str(count), *map(str, words)]
    return line


def mpirun(mpi, *programs, env=None):
    done = subprocess.run(command(mpi, *programs), env=environment({**DEVICES, **AS_ROOT, **(env or {})}), capture_output=True, text=True,
                          timeout=120)
    return Result(done.returncode, done.stdout, done.stderr)


def own_lines(result):
    """What the program said; launchers add lines of their own."""
    return [line for line in result.err.splitlines() if line.startswith("mgpu-bench: error:")]


def outcome(report):
    return [(run["suite"], run["params"], run["mode"], run["strategy"], run["status"], run["verify"]["status"], run["verify"]["digest"])
            for run in report["runs"]]


def children_of(process):
    """The ranks, in the order of their numbers as far as they were started so."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            variables = dict(v.split(b"=", 1) for v in (entry / "environ").read_bytes().split(b"\0") if b"=" in v)
        except (OSError, ValueError):
            continue
        if words[0].decode() != str(binary.BINARY) or variables.get(b"MGPU_TEST_RUN") != str(process).encode():
            continue
        rank = variables.get(b"OMPI_COMM_WORLD_RANK", variables.get(b"PMI_RANK"))
        if rank is not None:
            found.append((int(rank), int(entry.name)))
    return dict(found)


class RanksCase(Case):
    def run_of(self, mpi, *words, name="r.json", code=0, env=None):
        file = self.folder / name
        line = [binary.BINARY, "run", *words, "-d", "cpu", "--quiet", "-o", file]
        result = mpirun(mpi, line, env=env) if mpi else binary.mgpu(*line[1:], env=DEVICES)
        self.assertEqual(result.code, code, str(result))
        return json.loads(file.read_text()), result


class Ranks(RanksCase):
    def test_all_strategies_give_what_one_process_gives(self):
        words = ["merkle", "--size", "2^10", "-s", "all", "--mode", "both", "-n", "1", "--warmup", "0"]
        alone, _ = self.run_of(None, *words)
        for number, mpi in enumerate(launchers()):
            with self.subTest(mpi):
                strategies = "all" if number == 0 else "equal,dynamic"  # what differs between MPIs is no matter of strategies
                report, result = self.run_of(mpi, *[strategies if word == "all" else word for word in words], name=f"{mpi}.json")
                self.assertEqual(outcome(report), [run for run in outcome(alone) if strategies == "all" or run[3] in strategies])
                self.assertEqual({run["verify"]["status"] for run in report["runs"]}, {"passed"})
                self.assertEqual(result.out.count("leaves=2^10, resident\n"), 1, "one table, by rank 0")
                self.assertEqual(sorted(device["node"] for device in report["devices"]), list(range(RANKS)))
                for device in report["devices"]:
                    self.assertEqual(device["id"].startswith(f"{device['node']}/"), device["node"] > 0)
                nodes = report["cluster"]["nodes"]
                self.assertEqual([node["node"] for node in nodes], list(range(RANKS)))
                self.assertIn("MPI", report["cluster"]["library"].upper())
                for node in nodes[1:]:  # one machine has one clock: 0 is what the bounds have to hold
                    for low, high in (node["offset_begin_ns"], node["offset_end_ns"]):
                        self.assertLessEqual(low, 0)
                        self.assertGreaterEqual(high, 0)
                self.assert_schema(self.folder / f"{mpi}.json", "result")

    def test_suites_give_what_one_process_gives(self):
        words = [SUITES, "--quick", "-s", "equal,dynamic", "--mode", "end-to-end", "-n", "1", "--warmup", "0"]
        alone, _ = self.run_of(None, *words)
        for mpi in list(launchers())[:1]:
            report, _ = self.run_of(mpi, *words, name=f"{mpi}.json")
            self.assertEqual(outcome(report), outcome(alone))
            self.assertEqual({run["status"] for run in report["runs"]}, {"ok"})

    def test_other_arguments_and_other_programs_are_refused(self):
        program = self.folder / "mgpu-bench"
        shutil.copy(binary.BINARY, program)
        with program.open("ab") as out:
            out.write(b"x")
        for mpi in launchers():
            shutil.copy(Path(binary.BINARY).parent / f"mgpu-bench-{mpi}.so", self.folder)
            for what, others in (("arguments", [binary.BINARY, "devices", "--json"]), ("not the same build", [program, "devices"])):
                with self.subTest(f"{mpi}: {what}"):
                    result = mpirun(mpi, [binary.BINARY, "devices"], *[others] * (RANKS - 1))
                    self.assertEqual(result.code, 2, str(result))
                    self.assertEqual(len(own_lines(result)), 1, str(result))
                    self.assertIn(what, own_lines(result)[0])
                    self.assertIn("accepted:", own_lines(result)[0])

    def test_without_a_plugin_it_says_what_to_install(self):
        program = self.folder / "mgpu-bench"
        shutil.copy(binary.BINARY, program)
        for mpi in launchers():
            result = mpirun(mpi, [program, "devices"])
            self.assertNotEqual(result.code, 0, str(result))
            self.assertIn(f"install the package mgpu-bench-{mpi}", own_lines(result)[0])

    def test_what_is_wrong_with_the_command_line_is_said_once(self):
        for mpi in launchers():
            result = mpirun(mpi, [binary.BINARY, "run", "merkle", "--size", "none"])
            self.assertEqual((result.code, len(own_lines(result))), (2, 1), str(result))
            result = mpirun(mpi, [binary.BINARY, "list", "strategies"])
            self.assertEqual((result.code, result.out.count("capability ")), (0, 1), str(result))


class Losses(RanksCase):
    """A campaign of some seconds, in which something happens to a rank."""

    def campaign(self, mpi, file, *more):
        return [binary.BINARY, "run", "merkle", "--size", "2^12", "-s", "equal,dynamic", "--mode", "resident", "-n", SAMPLES, "-d", "cpu",
                "--quiet", *(more or ["-o", file])]

    def start(self, mpi, file, **env):
        self.marks = getattr(self, "marks", 0) + 1
        mark = f"{os.getpid()}-{self.id()}-{self.marks}"
        started = subprocess.Popen(command(mpi, self.campaign(mpi, file)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment({**DEVICES, **AS_ROOT, "MGPU_TEST_RUN": mark, "MGPU_MPI_PATIENCE": f"{PATIENCE}s", **env}))
        self.addCleanup(lambda: [os.kill(pid, signal.SIGKILL) for pid in children_of(mark).values()])
        return started, mark

    @staticmethod
    def samples_in(journal):
        return len(re.findall(rb'"sample":', journal.read_bytes())) if journal.exists() else 0

    def wait_for_samples(self, journal, count, started):
        for _ in range(600):
            if self.samples_in(journal) >= count or started.poll() is not None:
                break
            time.sleep(0.05)
        self.assertIsNone(started.poll(), "it ended before anything could happen to it")
        self.assertGreaterEqual(self.samples_in(journal), count)

    def test_a_killed_rank_ends_the_run_and_it_goes_on_later(self):
        for mpi in launchers():
            for kill in range(KILLS):
                rank = (kill + 1) % RANKS
                with self.subTest(f"{mpi}: rank {rank}"):
                    file = self.folder / f"{mpi}-{kill}.json"
                    journal = file.with_name(file.name + ".journal")
                    started, mark = self.start(mpi, file)
                    self.wait_for_samples(journal, 5 + 20 * kill, started)
                    os.kill(children_of(mark)[rank], signal.SIGKILL)
                    began = time.monotonic()
                    out, err = started.communicate(timeout=60)
                    self.assertNotEqual(started.returncode, 0, err)
                    self.assertLess(time.monotonic() - began, 5 * PATIENCE)
                    kept = self.samples_in(journal)
                    self.assertGreaterEqual(kept, 5 + 20 * kill)
                    result = mpirun(mpi, self.campaign(mpi, file, "--resume", file))
                    self.assertEqual(result.code, 0, str(result))
                    report = json.loads(file.read_text())
                    self.assertTrue(report["complete"])
                    self.assertEqual({(run["status"], run["verify"]["status"]) for run in report["runs"]}, {("ok", "passed")})
                    self.assertEqual({run["time_ns"]["n"] for run in report["runs"]}, {SAMPLES})
                    self.assertIn(1, report["runs"][0].get("sample_runs", []), "samples of before are kept")

    def test_a_rank_that_stops_is_lost_and_others_do_its_work(self):
        for mpi in launchers():
            with self.subTest(mpi):
                file = self.folder / f"{mpi}.json"
                started, mark = self.start(mpi, file)
                self.wait_for_samples(file.with_name(file.name + ".journal"), 5, started)
                os.kill(children_of(mark)[RANKS - 1], signal.SIGSTOP)
                began = time.monotonic()
                out, err = started.communicate(timeout=90)
                self.assertIn("gave no sign of life", err)
                self.assertLess(time.monotonic() - began, 60)
                report = json.loads(file.read_text())
                self.assertTrue(report["complete"], err)
                self.assertIn("no sign of life", report["cluster"]["nodes"][-1]["lost"])
                self.assertNotIn("failed", {run["verify"]["status"] for run in report["runs"]})


if __name__ == "__main__":
    binary.BINARY = sys.argv[1]
    if not launchers():
        print("no plug-in of an MPI was built, or there is no launcher for it: nothing to test")
        sys.exit(77)
    binary.main()
