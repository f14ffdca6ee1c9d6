#!/usr/bin/env python3
"""The same run on several ranks of MPI on this machine: it gives the results of one process;
refusals, ranks that die or stop, and exchange of data. Usage: cluster_test.py BINARY [unittest
arguments]. Environment: MGPU_RANKS, the number of ranks (2); MGPU_MPIS, the launchers
(openmpi,mpich: those whose plug-in was built); MGPU_KILLS, the number of moments at which a rank is
killed (1); MGPU_KILL_SEED, the seed of these moments (1); MGPU_CLUSTER_SUITES, the suites (fisher);
MGPU_CLUSTER_LOSSES, the iterative suites in whose runs ranks are killed (stencil).
scripts/cluster_test.sh runs more of each. In the quick tier each test uses one of the MPIs."""

import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import binary
from binary import THOROUGH, Case, Result, environment
from run_test import journal_of, lines_of, sample_count, samples_of

RANKS = int(os.environ.get("MGPU_RANKS", "2"))
KILLS = int(os.environ.get("MGPU_KILLS", "1"))
SEED = int(os.environ.get("MGPU_KILL_SEED", "1"))
# Each rank has a CPU of its own, since the machine may have too few cores for sub-devices; results
# do not depend on the number of threads of a CPU.
DEVICES = {"POCL_DEVICES": " ".join(["pthread"] * RANKS), "POCL_MAX_PTHREAD_COUNT": "1"}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
PATIENCE = 2
MOST_TO_END = 5 * PATIENCE  # seconds from a rank's failure until all have ended
SUITES = os.environ.get("MGPU_CLUSTER_SUITES", "fisher")
TIMEOUT = 120 * (1 + SUITES.count(","))


def launchers():
    """Returns the launch command of each MPI whose plug-in was built."""
    known = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"],
             "mpich": ["mpiexec.hydra"]}
    asked = os.environ.get("MGPU_MPIS", "openmpi,mpich").split(",")
    folder = Path(binary.BINARY).parent
    return {mpi: known[mpi] for mpi in asked if (folder / f"mgpu-bench-{mpi}.so").exists() and
            shutil.which(known[mpi][0])}


def share_of(number):
    """Returns the MPIs with which the test of that number runs."""
    every = list(launchers())
    return every if THOROUGH else [every[number % len(every)]]


def command(mpi, *programs):
    """Returns a launch command. Each program is a list of words for one rank; a single one is for
    all ranks."""
    line = list(launchers()[mpi])
    counts = [RANKS] if len(programs) == 1 else [1] * len(programs)
    for number, (count, words) in enumerate(zip(counts, programs)):
        line += ([":"] if number else []) + ["-n", str(count), *map(str, words)]
    return line


def mpirun(mpi, *programs, env=None):
    done = subprocess.run(command(mpi, *programs),
                          env=environment({**DEVICES, **AS_ROOT, **(env or {})}),
                          capture_output=True, text=True,
                          timeout=TIMEOUT)
    return Result(done.returncode, done.stdout, done.stderr)


@functools.cache
def loses_ends(mpi):
    """Returns true if the launcher may lose exit codes and last output of processes that end before
    others, as that of MPICH 4.2.1 (Debian 13) does:
    https://github.com/pmodels/mpich/issues/7057."""
    version = subprocess.run([f"mpiexec.{mpi}", "--version"], capture_output=True, text=True)
    return mpi == "mpich" and re.search(r"Version: +4\.2\.[01]\b", version.stdout) is not None


def own_lines(result):
    """Returns the program's own messages; launchers add lines."""
    return [line for line in result.err.splitlines() if line.startswith("mgpu-bench: error:")]


def outcome(report):
    return [(run["suite"], run["params"], run["mode"], run["strategy"], run["status"],
             run["verify"]["status"], run["verify"]["digest"])
            for run in report["runs"]]


def children_of(process):
    """Returns the ranks' processes, in the order of their numbers if they were started in that
    order."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            variables = dict(v.split(b"=", 1) for v
                             in (entry / "environ").read_bytes().split(b"\0") if b"=" in v)
        except (OSError, ValueError):
            continue
        if words[0].decode() != str(binary.BINARY) or variables.get(b"MGPU_TEST_RUN") != str(
                process).encode():
            continue
        rank = variables.get(b"OMPI_COMM_WORLD_RANK", variables.get(b"PMI_RANK"))
        if rank is not None:
            found.append((int(rank), int(entry.name)))
    return dict(found)


def samples_of_all_devices(journal):
    """Returns the samples that a resumed run restores. Those without the lost rank's devices are
    left out: the run may have taken some before the launcher ended it."""
    kept, group = {}, None
    for line in lines_of(journal):
        group = line.get("group", group)
        if "sample" in line:
            sample, case = line["sample"], group["cases"][line["sample"]["case"]]
            if len(sample["devices"]) == int(case.rpartition(" on ")[2] if " on " in case else 1):
                kept.setdefault((group["name"], case), []).append([sample["time_ns"],
                        sample["run"]])
    return kept


class RanksCase(Case):
    def run_of(self, mpi, *words, name="r.json", code=0, env=None):
        file = self.folder / name
        line = [binary.BINARY, "run", *words, "-d", "cpu", "--quiet", "-o", file]
        result = mpirun(mpi, line, env=env) if mpi else binary.mgpu(*line[1:], env=DEVICES)
        self.assertEqual(result.code, code, str(result))
        return json.loads(file.read_text()), result


class Ranks(RanksCase):
    def test_all_strategies_give_what_one_process_gives(self):
        words = ["merkle", "--size", "2^10", "-s", "all", "--mode", "resident", "-n", "1",
                 "--warmup", "0"]
        alone, _ = self.run_of(None, *words)
        for mpi in share_of(0):
            with self.subTest(mpi):
                trace = self.folder / "trace.json"
                report, result = self.run_of(mpi, *words, "--trace", trace, name=f"{mpi}.json")
                self.check_trace(trace, report)
                self.assertEqual(outcome(report), outcome(alone))
                self.assertEqual({run["verify"]["status"] for run in report["runs"]}, {"passed"})
                self.assertEqual(result.out.count("leaves=2^10, resident\n"), 1,
                                 "one table, by rank 0")
                self.assertEqual(sorted(device["node"] for device in report["devices"]),
                                 list(range(RANKS)))
                for device in report["devices"]:
                    self.assertEqual(device["id"].startswith(f"{device['node']}/"),
                                     device["node"] > 0)
                nodes = report["cluster"]["nodes"]
                self.assertEqual([node["node"] for node in nodes], list(range(RANKS)))
                self.assertIn("MPI", report["cluster"]["library"].upper())
                for node in nodes[
                        1:]:  # one machine has one clock: 0 is what the bounds have to hold
                    for low, high in (node["offset_begin_ns"], node["offset_end_ns"]):
                        self.assertLessEqual(low, 0)
                        self.assertGreaterEqual(high, 0)
                self.assert_schema(self.folder / f"{mpi}.json", "result")
                simulated = binary.mgpu("simulate", "--from", self.folder / f"{mpi}.json", "-s",
                                        "equal,dynamic", "-n", "1")
                self.assertEqual(simulated.code, 0, str(simulated))

    @binary.thorough
    def test_suites_give_what_one_process_gives(self):
        words = [SUITES, "--quick", "-s", "equal,dynamic", "--mode", "end-to-end", "-n", "1",
                 "--warmup", "0"]
        alone, _ = self.run_of(None, *words)
        for mpi in share_of(0):
            trace = self.folder / "trace.json"
            report, _ = self.run_of(mpi, *words, "--trace", trace, name=f"{mpi}.json")
            self.check_trace(trace, report)
            self.assertEqual(outcome(report), outcome(alone))
            self.assertEqual({run["status"] for run in report["runs"]}, {"ok"})

    def check_trace(self, file, report):
        """Checks that a trace has a process per node, in which its devices work, and the bounds of
        its clock."""
        self.assert_trace(file)
        trace = json.loads(file.read_text())
        self.assertEqual(trace["metadata"]["cluster"], report["cluster"])
        events = trace["traceEvents"]
        processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] ==
                     "process_name"}
        for node in report["cluster"]["nodes"]:
            pids = [pid for pid,
                    name in processes.items() if
                    name.startswith(f"node {node['node']}: {node['host']}")]
            self.assertEqual(len(pids), 1, processes)
            self.assertTrue(any(event["ph"] == "X" and event["pid"] == pids[0] and event["cat"] ==
                                "compute" for event in events), node)
            bound = [event["dur"] for event in events if event.get("cat") == "clock" and
                     event["pid"] == pids[0]]
            widest = max((high - low for low,
                          high in filter(None, (node["offset_begin_ns"], node["offset_end_ns"]))),
                          default=None)
            self.assertEqual(set(bound), {widest / 1000} if widest else set())
        self.assertEqual(len(processes), 1 + len(report["cluster"]["nodes"]))

    def test_other_arguments_and_other_programs_are_refused(self):
        program = self.folder / "mgpu-bench"
        shutil.copy(binary.BINARY, program)
        with program.open("ab") as out:
            out.write(b"x")
        for mpi in share_of(1):
            shutil.copy(Path(binary.BINARY).parent / f"mgpu-bench-{mpi}.so", self.folder)
            for what, others in (("arguments", [binary.BINARY, "devices",
                                                "--json"]), ("not the same build", [program,
                    "devices"])):
                with self.subTest(f"{mpi}: {what}"):
                    result = mpirun(mpi, [binary.BINARY, "devices"], *[others] * (RANKS - 1))
                    if loses_ends(mpi):
                        continue
                    self.assertEqual(result.code, 2, str(result))
                    self.assertEqual(len(own_lines(result)), 1, str(result))
                    self.assertIn(what, own_lines(result)[0])
                    self.assertIn("expected:", own_lines(result)[0])

    def test_the_launcher_of_another_mpi_is_refused(self):
        """Checks the refusal; to the library of another MPI each process is alone."""
        if len(launchers()) < 2:
            self.skipTest("there is but one MPI")
        for mpi, other in (("openmpi", "mpich"), ("mpich", "openmpi")):
            with self.subTest(mpi):
                result = mpirun(mpi, [binary.BINARY, "devices", "-d", "cpu"],
                                env={"MGPU_MPI": other})
                self.assertEqual(result.out, "")
                self.assertIn(f"started {RANKS} processes", "".join(own_lines(result)), result)
                if not loses_ends(mpi):
                    self.assertEqual(result.code, 2, result)

    def test_without_a_plugin_it_says_what_to_install(self):
        program = self.folder / "mgpu-bench"
        shutil.copy(binary.BINARY, program)
        for mpi in share_of(1):
            result = mpirun(mpi, [program, "devices"])
            self.assertNotEqual(result.code, 0, str(result))
            self.assertIn(f"install the package mgpu-bench-{mpi}", own_lines(result)[0])

    def test_what_is_wrong_with_the_command_line_is_said_once(self):
        for mpi in share_of(1):
            result = mpirun(mpi, [binary.BINARY, "run", "merkle", "--size", "none"])
            if not loses_ends(mpi):
                self.assertEqual((result.code, len(own_lines(result))), (2, 1), str(result))
            result = mpirun(mpi, [binary.BINARY, "list", "strategies"])
            self.assertEqual((result.code, result.out.count("capability ")), (0, 1), str(result))


class Losses(RanksCase):
    """A run of some seconds, during which something happens to a rank."""

    WORK = ["merkle", "--size", "2^12", "-s", "equal,dynamic"]
    SAMPLES = 100 if THOROUGH else 40
    undisturbed_runs = {}

    def setUp(self):
        super().setUp()
        self.chance = random.Random(f"{SEED} {self.id()}")
        self.marks = 0

    def campaign(self, file, *more):
        return [binary.BINARY, "run", *self.WORK, "--mode", "resident", "-n", self.SAMPLES, "-d",
                "cpu", "--quiet", *(more or ["-o", file])]

    def undisturbed(self):
        """Returns the result of one process, and the run's duration over ranks without faults if
        moments are drawn from that."""
        if type(self) not in Losses.undisturbed_runs:
            alone = self.folder / "alone.json"
            result = binary.mgpu(*self.campaign(alone)[1:], env=DEVICES)
            self.assertEqual(result.code, 0, str(result))
            began = time.monotonic()
            if KILLS > 1:
                result = mpirun(next(iter(launchers())), self.campaign(self.folder / "ranks.json"))
                self.assertEqual(result.code, 0, str(result))
            Losses.undisturbed_runs[type(self)] = (outcome(json.loads(alone.read_text())),
                    time.monotonic() - began)
        return Losses.undisturbed_runs[type(self)]

    def start(self, mpi, file):
        self.marks += 1
        mark = f"{os.getpid()}-{self.id()}-{self.marks}"
        started = subprocess.Popen(command(mpi, self.campaign(file)), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   env=environment({**DEVICES, **AS_ROOT, "MGPU_TEST_RUN": mark,
                "MGPU_MPI_PATIENCE": f"{PATIENCE}s"}))
        self.addCleanup(lambda: [os.kill(pid, signal.SIGKILL) for pid
                                 in children_of(mark).values()])
        return started, mark

    @staticmethod
    def samples_in(file):
        return sample_count(journal_of(file))

    def some_samples(self):
        """Draws a moment of the whole run: each device alone, then two strategies."""
        return self.chance.randrange(1, (2 + RANKS) * self.SAMPLES)

    def some_samples_before_the_end(self):
        """Draws such a moment, early enough that work is left for others."""
        return self.chance.randrange(1, self.SAMPLES)

    def wait_for_samples(self, file, count, started):
        until = time.monotonic() + 60
        while started.poll() is None and self.samples_in(file) < count and time.monotonic() < until:
            time.sleep(0.005)
        return f"after {count} samples"

    def wait_for_time(self, took, started):
        """Waits for a moment; most are before the first sample."""
        moment = self.chance.uniform(0, took)
        try:
            started.wait(moment)
        except subprocess.TimeoutExpired:
            pass
        return f"after {moment:.2f} s"

    def happens(self, mpi, file, rank, what, wait):
        """Returns the launcher and the output of a run that has ended after this happened to a
        rank; None if all had ended before."""
        started, mark = self.start(mpi, file)
        moment = wait(started)
        pid = children_of(mark).get(rank)
        if pid is None or started.poll() is not None:
            started.communicate(timeout=60)
            return None
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            started.communicate(timeout=60)
            return None
        began = time.monotonic()
        out, err = started.communicate(timeout=90)
        ended = time.monotonic() - began
        print(f"{mpi}: {what.name} of rank {rank} of {RANKS} {moment}: ended {ended:.1f} s later, "
              f"{self.samples_in(file)} samples kept", flush=True)
        return started.returncode, err, ended

    def goes_on(self, mpi, file, code):
        """Resumes a run. Checks that finished samples are kept and that the final result equals
        that of a run without faults."""
        expected, _ = self.undisturbed()
        if not file.exists() or not json.loads(file.read_text())["complete"]:
            self.assertNotEqual(code, 0)
            kept = samples_of_all_devices(journal_of(file))
            is_begun = file.exists() or journal_of(file).exists()
            result = mpirun(mpi, self.campaign(file, *(["--resume", file] if is_begun else [])))
            self.assertEqual(result.code, 0, str(result))
            report = json.loads(file.read_text())
            self.assertTrue(report["complete"])
            samples = samples_of(report)
            for case, before in kept.items():
                self.assertEqual(samples[case][: len(before)], before, case)
            for case, times in samples.items():
                self.assertIn(len(times), (self.SAMPLES, self.SAMPLES + 1), case)
        self.assertEqual(outcome(json.loads(file.read_text())), expected)
        self.assertFalse(journal_of(file).exists())

    def mpis_that_kill(self):
        return share_of(0)

    def mpis_that_stop(self):
        return share_of(1)

    @binary.thorough
    def test_a_killed_rank_ends_the_run_and_it_goes_on_later(self):
        print(f"MGPU_KILL_SEED={SEED}", flush=True)
        for number, mpi in enumerate(self.mpis_that_kill()):
            done = attempts = 0
            while done < KILLS:
                attempts += 1
                self.assertLess(attempts, 5 * KILLS + 5, "it ends before anything happens to it")
                rank, file = (done + 1 + number) % RANKS, self.folder / f"{mpi}-{attempts}.json"
                by_time = KILLS > 1 and done % 2 == 1
                count = self.some_samples()
                wait = (lambda run: self.wait_for_time(self.undisturbed()[1],
                        run)) if by_time else (
                    lambda run: self.wait_for_samples(file, count, run))
                with self.subTest(f"{mpi}: {done}, rank {rank}"):
                    ended = self.happens(mpi, file, rank, signal.SIGKILL, wait)
                    if ended is None:
                        continue
                    done += 1
                    self.assertLess(ended[2], MOST_TO_END, ended[1])
                    self.goes_on(mpi, file, ended[0])

    def went_on_without_it(self, report, ended):
        """Hook for further checks of the report in derived classes."""

    def test_a_rank_that_stops_is_lost_and_others_do_its_work(self):
        for mpi in self.mpis_that_stop():
            with self.subTest(mpi):
                file = self.folder / f"{mpi}.json"
                count = self.some_samples_before_the_end()
                ended = self.happens(mpi, file, RANKS - 1, signal.SIGSTOP,
                                     lambda run: self.wait_for_samples(file, count, run))
                self.assertIsNotNone(ended, "it ended before anything could happen to it")
                self.assertIn("gave no sign of life", ended[1])
                self.assertLess(ended[2], 60)
                report = json.loads(file.read_text())
                self.assertTrue(report["complete"], ended[1])
                self.assertIn("no sign of life", report["cluster"]["nodes"][-1]["lost"])
                self.assertNotIn("failed", {run["verify"]["status"] for run in report["runs"]})
                self.went_on_without_it(report, ended)

    @binary.thorough
    def test_when_rank_0_stops_the_others_end_and_it_goes_on_later(self):
        for mpi in launchers():
            with self.subTest(mpi):
                file = self.folder / f"{mpi}.json"
                count = self.some_samples_before_the_end()
                ended = self.happens(mpi, file, 0, signal.SIGSTOP,
                                     lambda run: self.wait_for_samples(file, count, run))
                self.assertIsNotNone(ended, "it ended before anything could happen to it")
                self.assertLess(ended[2], MOST_TO_END, ended[1])
                self.goes_on(mpi, file, ended[0])


LOSES = os.environ.get("MGPU_CLUSTER_LOSSES", "stencil")
# Work that exchanges data: halos and sums of norms; panels of one device for all others; sums of
# all; halos of blocks.
ROUNDS = (["stencil,tropical,pinn", "--size", "100", "--iterations", "6", "--check-every", "4",
           "--op", "apsp", "--layers", "2", "--width", "8",
           "--shards", "8"],
          ["stencil,lbm", "--size", "13", "--iterations", "7", "--split", "blocks", "--kind",
           "heat3d"])
QUICK_ROUNDS = ["stencil", "--size", "61", "--iterations", "6"]
LONGER = {
    "stencil": ["stencil", "--size", "64", "--iterations", "40", "--checkpoint-rounds", "10"],
    "lbm": ["lbm", "--size", "11", "--iterations", "30", "--checkpoint-rounds", "10"],
    "tropical": ["tropical", "--op", "apsp", "--size", "200"],
    "pinn": ["pinn", "--size", "64", "--layers", "2", "--width", "8", "--shards", "8",
             "--iterations", "12", "--checkpoint-rounds", "4"],
}



class Rounds(RanksCase):
    def gives_what_one_process_gives(self, mpi, words, *modes, devices=RANKS):
        words = [*words, "-s", "equal", "--mode", *modes, "-n", "1", "--warmup", "0"]
        alone, _ = self.run_of(None, *words)
        report, _ = self.run_of(mpi, *words, name=f"{mpi}.json",
                                env={"POCL_DEVICES": " ".join(["pthread"] * devices)})
        self.assertEqual(sorted(device["node"] for device in report["devices"]),
                         sorted([*range(RANKS)] * (devices // RANKS)))
        self.assertEqual(outcome(report), outcome(alone))
        for run in report["runs"]:
            self.assertEqual((run["status"], run["verify"]["status"], len(run["devices"])), ("ok",
                    "passed", devices))
            self.assertGreater(sum(device.get("bytes_received", 0) for device
                                   in run["per_device"]), 0, run["suite"])

    def test_suites_with_rounds_give_what_one_process_gives(self):
        for number, words in enumerate(ROUNDS if THOROUGH else (QUICK_ROUNDS,)):
            for mpi in share_of(number):
                with self.subTest(f"{mpi}: {words[0]}"):
                    self.gives_what_one_process_gives(mpi, words,
                            "resident" if mpi == "openmpi" else "end-to-end")

    def test_data_goes_from_memory_of_devices_where_mpi_takes_it_and_the_record_says_so(self):
        words = ["stencil", "--size", "700", "--iterations", "4", "-s", "equal", "--mode", "resident",
                 "-n", "1", "--warmup", "0"]
        for number, mpi in enumerate(launchers()):
            outcomes = []
            for taken, memory in (("yes", "device"), ("no", "host"), (None, "host")):
                if taken is None and mpi not in share_of(number):
                    continue
                with self.subTest(f"{mpi}: {taken}"):
                    env = {"MGPU_MPI_DEVICE_MEMORY": taken} if taken else {}
                    report, _ = self.run_of(mpi, *words, name=f"{mpi}-{taken}.json", env=env)
                    self.assert_schema(self.folder / f"{mpi}-{taken}.json", "result")
                    for node in report["cluster"]["nodes"]:
                        self.assertEqual(node["exchange_memory"], memory)
                        self.assertEqual("exchange_memory_reason" in node, memory == "host")
                        if memory == "host":
                            self.assertIn("MGPU_MPI_DEVICE_MEMORY is no" if taken else
                                          "device memory", node["exchange_memory_reason"])
                    outcomes.append(outcome(report))
            self.assertEqual(outcomes, outcomes[:1] * len(outcomes))

    @binary.thorough
    def test_ranks_with_two_devices_each_give_what_one_process_gives(self):
        words = ROUNDS[0]
        for mpi in list(launchers())[-1:]:
            self.gives_what_one_process_gives(mpi, words, "resident", devices=2 * RANKS)

    @binary.thorough
    def test_collectives_over_ranks_are_right(self):
        for mpi in share_of(1):
            with self.subTest(mpi):
                file = self.folder / f"{mpi}.json"
                result = mpirun(mpi, [binary.BINARY, "links", "--quick", "-d", "cpu", "--op",
                                      "all" if THOROUGH else "all-reduce,all-gather", "--sizes",
                                      "4KiB", "-q", "-o", file])
                self.assertEqual(result.code, 0, str(result))
                report = json.loads(file.read_text())
                self.assertTrue(report["complete"])
                self.assert_schema(file, "result")
                self.assertEqual({(run["link"]["wrong"], run["link"]["path"])
                                  for run in report["runs"]}, {(0, "staged")})

    def test_what_only_devices_of_one_process_have_is_refused(self):
        mpi = next(iter(launchers()))
        small = ["stencil", "--size", "16", "--iterations", "3", "--mode", "resident", "-s",
                 "equal", "-n", "1", "--warmup", "0"]
        for more, words in ((["--peer", "host"],
                             "they belong to ranks 0 and 1"), (["--exchange", "kernels"],
                "reach no memory in common")):
            report, result = self.run_of(mpi, *small, *more, name="refused.json", code=5)
            self.assertIn(words, result.err)
            self.assertEqual({run["status"] for run in report["runs"]}, {"unsupported"})


@binary.thorough
class LossesInRounds(Losses):
    """Tests in which a rank fails while devices exchange data or wait for each other."""

    WORK = [*LONGER[LOSES], "-s", "equal,capability"]
    SAMPLES = 50 if THOROUGH else 25

    def some_samples(self):
        """Draws a moment after the samples of single devices, which come first."""
        return self.chance.randrange(RANKS * self.SAMPLES, (2 + RANKS) * self.SAMPLES - 1)

    def some_samples_before_the_end(self):
        return self.chance.randrange(RANKS * self.SAMPLES + 1, (1 + RANKS) * self.SAMPLES)

    def went_on_without_it(self, report, ended):
        expected, _ = self.undisturbed()
        self.assertEqual(outcome(report),
                         expected, ([run["reason"] for run in report["runs"]], ended[1]))
        # A sample that cannot be restarted does not count, and belongs to no run.
        faults = report["faults"] + [fault for run in report["runs"] for fault in run["faults"]]
        lost = {device["id"] for device in report["devices"] if device["node"] == RANKS - 1}
        self.assertEqual({fault["device"] for fault in faults}, lost, ended[1])
        for fault in faults:
            self.assertIn("no sign of life", fault["what"])
            if fault.get("begun_again"):
                self.assertEqual(fault["items_redone"], fault["items_lost"])
        self.assertLessEqual({sample["verify"] for run in report["runs"] for sample
                              in run["disturbed_samples"]}, {"passed"})


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: cluster_test.py BINARY [unittest arguments]")
    binary.BINARY = sys.argv[1]
    if not launchers():
        print("no plug-in of an MPI was built, or there is no launcher for it: nothing to test")
        sys.exit(77)
    binary.main()


if __name__ == "__main__":
    main()
