#!/usr/bin/env python3
"""Runs on devices: their records, their ends, and resuming after a kill. Usage: run_test.py BINARY
[unittest arguments]. Environment: MGPU_KILLS, the number of moments at which a run is killed (1).
Messages and refusals of runs are in tests/golden/cli/run.txt."""

import gzip
import json
import os
import pty
import random
import re
import shlex
import signal
import subprocess
import sys
import threading

import binary
from binary import Case, begin, defaults, environment, mgpu, wait_until

KILLS = int(os.environ.get("MGPU_KILLS", "1"))
SAMPLES = 25
# A run of two groups that takes a second and is killed.
CAMPAIGN = ["-s", "single,equal,dynamic", "--mode", "both", "--size", "2^10", "-n",
            str(SAMPLES)]


def journal_of(file):
    return file.with_name(file.name + ".journal")


def lines_of(journal):
    """Returns the JSON of all whole lines of a journal."""
    lines = journal.read_bytes().split(b"\n")[:-1] if journal.exists() else []
    return [json.loads(line[17:]) for line in lines]


def sample_count(journal):
    """Returns the number of samples in whole lines; parsing them takes too long when waiting for a
    moment."""
    return journal.read_bytes().rpartition(b"\n")[0].count(b'"sample"') if journal.exists() else 0


def kept_samples(journal):
    """Returns the samples of a journal by group, case and device ids: [[time, run], ...]."""
    kept, group = {}, None
    for line in lines_of(journal):
        group = line.get("group", group)
        if "sample" in line:
            sample = line["sample"]
            case = (group["name"], group["cases"][sample["case"]])
            kept.setdefault(case, []).append([sample["time_ns"], sample["run"]])
    return kept


def samples_of(report):
    """Returns the samples of a result, with the journal's names of cases."""
    samples = {}

    def add(run, case, times, runs):
        pairs = [list(pair) for pair in zip(times, runs or [1] * len(times))]
        samples[(f"{run['suite']} {run['mode']}", case)] = pairs

    for run in report["runs"]:
        if run["strategy"] != "single":
            case = f"{run['strategy']} on {len(run['devices'])}"
            add(run, case, run["samples_ns"], run.get("sample_runs"))
        for device in run["per_device"]:
            add(run, f"alone {device['device']}", device["alone_samples_ns"],
                device.get("alone_sample_runs"))
    return samples


def outcome_of(report):
    told = ("suite", "params", "mode", "strategy", "strategy_params", "devices", "status", "reason")
    return [([run[name] for name in told], run["verify"]["status"], run["verify"]["digest"])
            for run in report["runs"]]


class OneRun(Case):
    """One run, all parts of which are examined."""

    @classmethod
    def setUpClass(cls):
        cls.where = binary.Path(binary.tempfile.mkdtemp(dir=binary.SCRATCH))
        cls.file, cls.trace = cls.where / "a" / "r.json", cls.where / "t.json"
        cls.words = ["run", "merkle", *binary.DEVICES, "-n", "3", "--size", "2^10", "--mode",
                     "resident", "-s", "single,equal,dynamic", "--slow", "0=2", "-o", str(cls.file),
                     "--trace", str(cls.trace)]
        cls.done = mgpu(*cls.words, env={"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
        cls.report = json.loads(cls.file.read_text())

    def test_it_ended_well_and_is_verified(self):
        self.assertEqual(self.done.code, 0, self.done)
        self.assertTrue(self.report["complete"])
        self.assertEqual({(run["status"], run["verify"]["status"]) for run in self.report["runs"]},
                         {("ok", "passed")})
        self.assertEqual(len({run["verify"]["digest"] for run in self.report["runs"]}), 1)
        self.assertEqual({len(run["samples_ns"]) for run in self.report["runs"]}, {3})

    def test_it_says_what_was_asked_and_where(self):
        self.assertEqual(self.report["tool"]["argv"][1:], self.words)
        self.assertEqual(self.report["environment"]["CUDA_DEVICE_ORDER"], "PCI_BUS_ID")
        slow = [(device.get("handicap") or {}).get("slow") for device in self.report["devices"]]
        self.assertEqual(slow, [2.0] + [None] * (binary.DEVICE_COUNT - 1))
        labels = {command[3] for run in self.report["runs"] for command
                  in run["timeline"]["commands"] if command[0] == 0}
        self.assertIn("slow-down", labels)

    def test_its_files_obey_their_schemas_and_figures_follow_from_events(self):
        self.assert_schema(self.file, "result")
        self.assert_trace(self.trace)
        self.assert_recomputed(self.file, "--trace", self.trace)
        later = self.good("trace", self.file)
        self.assertEqual(json.loads(later.out), json.loads(self.trace.read_text()))

    def test_report_prints_its_tables_plain_or_in_colour_and_from_a_pipe(self):
        self.assertNotIn("\x1b", self.done.out + self.done.err)
        self.assertEqual(self.good("report", self.file).out, self.done.out)
        self.assertEqual(self.good("report", "-", given=self.file.read_text()).out, self.done.out)
        self.assertEqual(self.good("report", self.file, "--json").out, self.file.read_text())
        packed = gzip.compress(self.file.read_bytes())
        piped = subprocess.run([binary.BINARY, "report", "/dev/stdin"], input=packed,
                               env=environment(), capture_output=True)
        self.assertEqual(piped.stdout.decode(), self.done.out)
        ranked = binary.ROOT / "results/h200/merkle-2-slow3.json.gz"
        self.assertIn("\x1b[", self.good("report", ranked, "--color", "always").out)

    def test_it_is_simulated_as_it_was_measured(self):
        out = self.folder / "again.json"
        self.good("simulate", "--from", self.file, "-s", "equal", "-o", out)
        again = json.loads(out.read_text())
        self.assertEqual([d["name"] for d in again["devices"]],
                         [d["name"] for d in self.report["devices"]])
        self.assertEqual([d["id"] for d in again["devices"]],
                         [d["id"] for d in self.report["devices"]])
        self.assertEqual({run["verify"]["status"] for run in again["runs"]}, {"off"})
        measured = next(run for run in self.report["runs"] if run["strategy"] == "equal")
        for run in again["runs"]:
            self.assertEqual(run["params"]["leaves"], measured["params"]["leaves"])
            for mine, its in zip(run["per_device"], measured["per_device"]):
                self.assertAlmostEqual(mine["alone_ns"] / its["alone_ns"], 1, delta=0.01)

    def test_a_wrong_figure_is_found_by_recompute(self):
        report = json.loads(self.file.read_text())
        report["runs"][2]["per_device"][0]["compute_ns"] += 1
        file = self.folder / "wrong.json"
        file.write_text(json.dumps(report))
        done = subprocess.run([sys.executable, binary.ROOT / "scripts/recompute.py", file],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (1, 1), done.stdout)

    def test_a_requirement_that_noise_leaves_open_is_inconclusive(self):
        file = binary.ROOT / "results/xeon/merkle-two-cores.json.gz"
        runs = json.loads(gzip.decompress(file.read_bytes()))["runs"]
        shown = next(run["metrics"]["efficiency"] for run in runs if run["strategy"] == "equal")
        for bound, code in ((shown / 2, 0), (shown, 4), (shown * 1.5, 3)):
            done = mgpu("report", file, "--require", f"equal:efficiency>={bound}")
            self.assertEqual((done.code, bound), (code, bound), done.err)
            self.assertEqual("inconclusive" in done.err, code == 4, done.err)

    def test_devices_are_told_with_every_fact(self):
        document = json.loads(self.good("devices", "--json").out)
        self.assert_exact_schema(document, "devices")
        self.assertTrue(all(0 <= device["score"] <= 100 for device in document["devices"]))
        self.assertIn(document["devices"][0]["id"], {d["id"].split(".")[0] for d
                                                     in self.report["devices"]})

    def test_parts_of_a_device_can_be_named(self):
        if "--sub-devices" not in binary.DEVICES:
            self.skipTest("no CPU device of several cores")
        ids = [device["id"] for device in self.report["devices"]]
        self.assertEqual([part.rpartition(".")[2] for part in ids], ["0", "1"])
        named = json.loads(self.good("devices", "-d", ids[1], "--sub-devices", 2, "--json").out)
        self.assertEqual([device["id"] for device in named["devices"]], ids[1:])
        self.refused(["run", "-d", "cpu:1", "--sub-devices", "100000"], 2, "--sub-devices",
                     "100000")


class Streams(Case):
    def run_one(self, *arguments, **named):
        return mgpu("run", "merkle", *binary.ONE_DEVICE, "-n", 1, *defaults(arguments), **named)

    def test_json_on_standard_output_is_alone_there_and_kept_in_the_state_folder(self):
        state = {"XDG_STATE_HOME": str(self.folder)}
        done = self.run_one("--json", "-q", env=state)
        self.assertEqual((done.code, done.err), (0, ""), done)
        kept, = (self.folder / "mgpu-bench").glob("*")
        self.assertEqual(json.loads(done.out), json.loads(gzip.decompress(kept.read_bytes())))

    def test_a_full_disk_is_an_error_that_does_not_cost_what_was_measured(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        with open("/dev/full", "w") as full:
            done = subprocess.run([binary.BINARY, "list", "metrics"], env=environment(),
                                  stdout=full)
        self.assertEqual(done.returncode, 1)
        file = self.folder / "r.json"
        done = self.run_one("--save-data", "/dev/full", "-o", file)
        self.assertEqual(done.code, 1, done)
        self.assertIn("/dev/full", done.err)
        self.assertTrue(json.loads(file.read_text())["complete"])

    def test_no_line_of_one_stream_falls_between_a_table_and_its_notes_on_the_other(self):
        done = subprocess.run([binary.BINARY, "run", "merkle", *binary.ONE_DEVICE, "-n", "1", "-v",
                               *defaults([])], env=environment(), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        lines = done.stdout.splitlines()
        begin = next(k for k, line in enumerate(lines) if line.startswith("merkle leaves="))
        end = next(k for k, line in enumerate(lines) if "columns hidden" in line)
        self.assertEqual([line for line in lines[begin:end] if line.startswith("mgpu-bench:")], [])
        self.assertIn("telemetry of ", done.stdout)

    RUN = ("run", "merkle", "--size", "2^10", "--mode", "resident", "-s", "single", "-n", 1, "-q")

    def test_standard_output_under_any_name_gets_one_document_and_nothing_else(self):
        link = self.folder / "stdout"
        link.symlink_to("/proc/self/fd/1")
        for name in ("-", link):
            printed = self.folder / "printed"
            with printed.open("w") as out:
                process = binary.begin(*self.RUN, *binary.ONE_DEVICE, "-o", name, stdout=out)
                self.assertEqual((process.wait(timeout=120), process.stderr.read()), (0, ""))
            process.stderr.close()
            self.assertTrue(json.loads(printed.read_text())["complete"], name)
            self.assertTrue(link.is_symlink())
        result = self.good(*self.RUN, *binary.ONE_DEVICE, "--export", "csv=-")
        self.assertEqual(len(result.out.splitlines()), 2, result)
        golden = binary.ROOT / "tests/golden/report.json"
        table = self.folder / "table.md"
        self.good("report", golden, "--export", f"markdown={table}")
        printed = self.good("report", golden, "--export", "markdown=-").out
        self.assertEqual(printed, table.read_text())
        self.assertFalse((self.folder / "-").exists())
        self.refused([*self.RUN, *binary.ONE_DEVICE, "-o", "-", "--export", "csv=-"], 2, "output")
        self.refused([*self.RUN, *binary.ONE_DEVICE, "-o", "-", "--json"], 2, "--json")
        self.refused(["report", golden, "--export", "csv=-", "--json"], 2, "--json")

    def test_a_pipe_gets_one_complete_document(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.refused([*self.RUN, *binary.ONE_DEVICE, "-o", pipe], 1, "reader")
        documents = []
        reader = threading.Thread(target=lambda: documents.append(pipe.read_text()))
        reader.start()
        tries = (mgpu(*self.RUN, *binary.ONE_DEVICE, "-o", pipe) for _ in range(1000))
        result = next(result for result in tries if "reader" not in result.err)
        self.assertEqual(result.code, 0, result)
        reader.join(timeout=60)
        self.assertTrue(json.loads(documents[0])["complete"])

    def test_an_older_result_stays_if_nothing_was_measured_unless_that_is_forced(self):
        file = self.folder / "r.json"
        self.good(*self.RUN, *binary.ONE_DEVICE, "-o", file)
        older = file.read_text()
        others = [self.folder / name for name in ("r.csv", "r.trace.json")]
        for other in others:
            other.write_text("older")
        nothing = ("run", "merkle", *binary.ONE_DEVICE, "--time-limit", "1ns", "-o", file,
                   "--export", f"csv={others[0]}", "--trace", others[1])
        result = mgpu(*nothing)
        self.assertEqual(file.read_text(), older)
        self.assertEqual([other.read_text() for other in others], ["older"] * 2)
        self.assertEqual(result.err.count("keeps its older content"), 3, result.err)
        mgpu(*nothing, "--force")
        self.assertNotEqual(file.read_text(), older)
        self.assertNotIn("older", [other.read_text() for other in others])

    def test_a_job_summary_has_what_other_steps_wrote(self):
        file, summary = self.folder / "r.json", self.folder / "summary.md"
        summary.write_text("# before\n")
        self.good(*self.RUN, *binary.ONE_DEVICE, "-o", file, "--export", f"markdown={summary}",
                  env={"GITHUB_STEP_SUMMARY": str(summary)})
        mgpu("compare", file, file, "--markdown", summary,
             env={"GITHUB_STEP_SUMMARY": str(summary)})
        text = summary.read_text()
        self.assertTrue(text.startswith("# before\n"), text)
        self.assertEqual(text.count("merkle") > 1, True, text)

    def test_a_journal_is_not_written_through_a_link(self):
        victim, file = self.folder / "victim", self.folder / "r.json"
        victim.write_text("precious")
        (self.folder / "r.json.journal").symlink_to(victim)
        self.good(*self.RUN, *binary.ONE_DEVICE, "-o", file)
        self.assertEqual(victim.read_text(), "precious")

    def test_runs_that_begin_together_are_kept_apart(self):
        env = {"XDG_STATE_HOME": str(self.folder)}
        words = ["run", "merkle", *binary.ONE_DEVICE, "-n", 1, "-q", *defaults([])]
        runs = [begin(*words, env=env, stdout=subprocess.DEVNULL) for _ in range(2)]
        self.assertEqual([(run.communicate(timeout=120)[1], run.returncode) for run in runs],
                         [("", 0)] * 2)
        self.assertEqual(len(list((self.folder / "mgpu-bench").glob("*.json.gz"))), 2)

    @binary.thorough
    def test_a_bomb_is_refused_while_it_is_decompressed(self):
        bomb = self.folder / "bomb.json.gz"
        bomb.write_bytes(gzip.compress(b" " * 2**26) * 20)
        self.refused(["report", bomb], 2, "bomb.json.gz", "1.00 GiB", env=binary.NO_OPENCL)


class Ends(Case):
    """Ends of a run that takes long; its groups take half a second at least."""

    def start(self, file, *arguments, **named):
        return begin("run", "merkle", *binary.ONE_DEVICE, "--size", "2^8,2^10", "--mode",
                     "resident",
                     "-s", "single", "-o", file, *arguments, **named)

    def test_a_signal_keeps_what_was_measured_and_the_run_goes_on_later(self):
        file, journal = self.folder / "r.json", journal_of(self.folder / "r.json")
        process = self.start(file, "-n", 10**8)
        self.assertTrue(wait_until(lambda: sample_count(journal), process))
        self.refused(["run", "merkle", "-o", file], 2, "r.json",
                     str(process.pid))  # it holds the lock of the file
        process.send_signal(signal.SIGTERM)
        err = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, 143, err)
        self.assertFalse(json.loads(file.read_text())["complete"])
        self.assert_schema(file, "result")
        left = {path.name for path in self.folder.iterdir()}
        self.assertEqual(left, {"r.json", "r.json.journal"})

    def test_groups_are_printed_and_saved_as_they_are_finished_and_ctrl_c_ends_it(self):
        file = self.folder / "r.json"
        process = self.start(file)
        self.assertIn("merkle", process.stdout.readline())
        early = json.loads(file.read_text())
        self.assertIn("still in progress", mgpu("report", file).err)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, 130)
        late = json.loads(file.read_text())
        self.assertIn("was interrupted", mgpu("report", file).err)
        self.assertFalse(early["complete"] or late["complete"])
        self.assertEqual(late["runs"][: len(early["runs"])], early["runs"])
        done = sum(run["status"] == "ok" for run in late["runs"])
        said = re.search(r"interrupted: (\d) of 2 rows were measured; continue with: mgpu-bench (.*)",
                         err)
        self.assertEqual(int(said[1]), done)
        self.good(*shlex.split(said[2]))
        self.assertTrue(json.loads(file.read_text())["complete"])

    def test_a_reader_that_goes_away_does_not_stop_the_measurement(self):
        file = self.folder / "r.json"
        process = self.start(file, "-n", 50)
        process.stdout.close()
        err = process.stderr.read()
        self.assertEqual(process.wait(120), 1, err)
        process.stderr.close()
        self.assertTrue(json.loads(file.read_text())["complete"])

    def test_when_every_device_counts_as_hung_the_run_fails_and_the_file_is_whole(self):
        # The device continues with the enqueued commands: nothing that they use may be freed.
        file = self.folder / "r.json"
        process = self.start(file, "-n", 3, "--timeout", "1ns")
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 5, out + err)
        self.assertNotIn("ok", {run["status"] for run in json.loads(file.read_text())["runs"]})
        self.assert_schema(file, "result")


class Overview(Case):
    def test_it_has_a_row_per_suite_and_ends_at_its_time_limit(self):
        file = self.folder / "r.json"
        done = mgpu("run", "--time-limit", "1ms", *binary.DEVICES, "-o", file)
        self.assertEqual(done.code, 5, done)  # nothing was measured
        lines = done.out.splitlines()
        self.assertEqual(lines[0].split()[:2], ["suite", "problem"])
        listed = json.loads(self.good("list", "suites", "--json").out)["suites"]
        suites = [suite["name"] for suite in listed]
        rows = [line.split()[0] for line in lines[1:1 + len(suites)]]
        self.assertEqual(rows, suites)
        result = json.loads(file.read_text())
        self.assertEqual({(run["strategy"], run["mode"]) for run in result["runs"]},
                         {("equal", "resident"), ("auto", "resident")})
        self.assertIn("nbody", {run["params"].get("kernel") for run in result["runs"]})
        self.assertEqual(self.good("report", file).out, done.out)
        self.assertIn("strategy", self.good("report", file, "--columns", "time").out)

    def test_kernels_are_built_without_measuring(self):
        file = self.folder / "r.json"
        done = self.good("run", "merkle", "--build-only", *binary.DEVICES,
                         env={"MGPU_BENCH_RESULT": str(file)})
        self.assertEqual((done.out, done.err), ("", "mgpu-bench: the kernels are built\n"))
        self.assertFalse(file.exists())


class Terminals(Case):
    RUN = ("run", "merkle", *binary.defaults(["-n", "1"]))

    def said_on_a_terminal(self, words, **variables):
        ours, theirs = pty.openpty()
        with subprocess.Popen([binary.BINARY, *words], stdout=subprocess.DEVNULL, stderr=theirs,
                              env=environment(variables)) as run:
            os.close(theirs)
            said = b""
            while True:
                try:
                    more = os.read(ours, 4096)
                except OSError:  # all processes that wrote to it have ended
                    break
                if not more:
                    break
                said += more
        os.close(ours)
        self.assertEqual(run.returncode, 0, said)
        return said

    def test_progress_is_rewritten_only_where_the_terminal_can(self):
        run = [*self.RUN, *binary.ONE_DEVICE]
        said = self.said_on_a_terminal(run, TERM="xterm")
        for line in (b"merkle: preparing inputs and kernels", b"measuring merkle, resident",
                     b"merkle resident: 0 of"):
            self.assertIn(b"\x1b[K" + (b"mgpu-bench: " if b"measuring" in line else b"") + line, said)
        for variables in ({}, {"TERM": "dumb"}, {"TERM": "xterm", "CI": "true"}):
            with self.subTest(variables):
                self.assertNotIn(b"\x1b", self.said_on_a_terminal(run, **variables))

    def test_commands_that_build_kernels_say_so_on_a_terminal(self):
        kernel = binary.ROOT / "suites/kernel/examples/saxpy/saxpy.cl"
        said = self.said_on_a_terminal(["init", kernel], TERM="xterm")
        self.assertRegex(said, rb"\x1b\[Kbuilding .*saxpy.cl.*\x1b\[K$")


class Killed(Case):
    def test_where_the_last_run_has_no_result_it_is_said_how_to_go_on(self):
        state = self.folder / "mgpu-bench"
        state.mkdir()
        there = {"XDG_STATE_HOME": str(self.folder)}
        self.assertNotIn("--resume", self.refused(["report", "last"], 2, "last", env=there).err)
        (state / "2026-01-02T030405Z-merkle.json.gz.journal").write_text("")
        self.refused(["report", "last"], 2, "--resume last", env=there)

    def test_a_pipe_in_the_place_of_a_file_of_the_program_is_not_waited_for(self):
        state = self.folder / "mgpu-bench"
        state.mkdir()
        os.mkfifo(state / "2026-01-02T030405Z-merkle.json.gz")
        self.refused(["report", "last"], 2, "last", env={"XDG_STATE_HOME": str(self.folder)})
        os.mkfifo(self.folder / "r.json.journal")
        self.refused(["run", "merkle", *binary.defaults([]), "--resume", self.folder / "r.json"],
                     2, "r.json.journal", "regular")


class Resumed(Case):
    def campaign(self, *arguments):
        return ["run", "merkle", *binary.DEVICES, *CAMPAIGN, *map(str, arguments)]

    def killed(self, file, *arguments, samples):
        """Starts a run and kills it when it has this number of samples of a group."""
        process = begin(*self.campaign(*arguments), stdout=subprocess.DEVNULL)
        journal = journal_of(file)
        wait_until(lambda: sample_count(journal) >= samples, process)
        process.kill()
        process.communicate()
        self.assertEqual(process.returncode, -signal.SIGKILL)

    def test_a_run_that_is_killed_goes_on_with_all_it_had_measured(self):
        whole = self.folder / "whole.json"
        self.good(*self.campaign("-o", whole))
        self.assertFalse(journal_of(whole).exists())
        undisturbed, chance = json.loads(whole.read_text()), random.Random(21)
        for turn in range(KILLS):
            file = self.folder / f"{turn}.json.gz"
            with self.subTest(turn=turn):
                self.killed(file, "-o", file, samples=chance.randrange(1, 2 * SAMPLES))
                # The first may have been killed late; the second takes a sample of its own.
                self.killed(file, "--resume", file, samples=max(
                    chance.randrange(2 * SAMPLES, 3 * SAMPLES), sample_count(journal_of(file)) + 1))
                kept = kept_samples(journal_of(file))
                rows = lines_of(journal_of(file))[0]["rows"]
                finished = json.loads(gzip.decompress(file.read_bytes()))[
                        "runs"][:rows] if rows else []
                before = journal_of(file).read_bytes()
                other = [*self.campaign("--resume", file)]
                for change, words in ((["--seed", 2], ("seed",)), (["--timeout",
                        "9s"], ("timeout",)),
                                      (["--slow", "0=2"], ("handicap",)),
                                      (["-o", self.folder / "other.json"], ("--resume",))):
                    self.refused([*other, *change], 2, *words)
                journal_of(file).write_bytes(before.replace(b"time_ns", b"time_nt", 1))
                self.refused(other, 2, "json.gz.journal", "line ")
                journal_of(file).write_bytes(before[:-7])  # a truncated line is no damage
                self.good(*other)
                report = json.loads(gzip.decompress(file.read_bytes()))
                self.assertTrue(report["complete"])
                self.assertFalse(journal_of(file).exists())
                self.assertEqual(outcome_of(report), outcome_of(undisturbed))
                self.assertEqual(report["runs"][:rows], finished)
                samples = samples_of(report)
                for case, times in kept.items():  # the last one may have been truncated
                    self.assertEqual(samples[case][: len(times) - 1], times[:-1], case)
                for case, times in samples.items():
                    self.assertGreaterEqual(len(times), SAMPLES, case)
                    self.assertLessEqual(len(times), SAMPLES + 2, case)
                self.assertLess({1, 2}, {run for times in samples.values() for _, run in times})

    def test_a_new_run_in_the_place_of_a_killed_one_clears_what_it_left(self):
        file = self.folder / "r.json"
        self.killed(file, "-o", file, samples=1)
        hash_of_name = 14695981039346656037
        for byte in b"r.json":
            hash_of_name = (hash_of_name ^ byte) * 1099511628211 % 2**64
        (self.folder / f".mgpu-bench-{hash_of_name:016x}-1-0.tmp").write_text("half of")
        other = self.folder / ".mgpu-bench-0123456789abcdef-1-0.tmp"
        other.write_text("of another file")
        done = self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "-o", file, *defaults([]))
        self.assertIn("--resume", done.err)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"r.json", other.name})


class MovedWork(Case):
    def test_work_leaves_a_device_that_becomes_slower_and_the_summary_says_why(self):
        file = self.folder / "r.json"
        moved = (r"adaptive moved work away from device \S+ in .* after it was slowed down on "
                 r"purpose \(--slow\)\.")
        for _ in range(3):  # on a busy machine the other device may look as slow
            done = self.good("run", "merkle", *binary.DEVICES, "--size", "2^20", "--mode",
                             "resident", "-n", 3, "-s", "adaptive,equal", "--slow", "1=8@0.1",
                             "--per-device", "-o", file)
            if re.search(moved, " ".join(done.out.split())):
                break
        self.assertRegex(" ".join(done.out.split()), moved)
        self.assertNotIn("equal moved", done.out)
        self.assert_recomputed(file)
        self.assert_schema(file, "result")
        adaptive, equal = json.loads(file.read_text())["runs"]
        self.assertEqual({change["device"] for change in adaptive["adaptations"]},
                         {adaptive["devices"][1]})
        self.assertGreater(adaptive["metrics"]["adaptation_ms"], 0)
        self.assertIn("migrations", adaptive)
        self.assertNotIn("adaptations", equal)

    def test_a_memory_pool_is_used_again_by_the_next_problem(self):
        file = self.folder / "r.json"
        self.good("run", "merkle", *binary.DEVICES, "--size", "2^12", "--mode", "both", "-n", 1,
                  "-s", "equal", "--memory-pool", "64MiB", "-o", file)
        self.assert_recomputed(file)
        for run in json.loads(file.read_text())["runs"]:
            for device in run["per_device"]:
                self.assertLessEqual(device["bytes_peak"], 64 << 20)
                self.assertLess(0, device["memory_used"])
        self.assertGreater(device["pool"]["reuses"], 0)


class Sizes(Case):
    """Sizes that are not given are chosen by rates; the run that measures them leaves them in the
    cache."""

    def test_work_of_one_piece_says_so_before_it_is_measured(self):
        file = self.folder / "r.json"
        done = self.good("run", "merkle", *binary.DEVICES, "--size", 4, "--mode", "resident", "-n",
                         1, "-s", "equal", "-o", file)
        self.assertRegex(done.err, r"(?s)merkle of 4 leaves: 1 item cannot be split over 2 devices; "
                                   r"--size \S+ can be.*merkle resident equal")
        run, = json.loads(file.read_text())["runs"]
        self.assertEqual(run["work"]["items"], 1)

    def test_a_time_limit_ends_the_measurement_of_rates_too(self):
        cache = {"XDG_CACHE_HOME": str(self.folder)}
        done = mgpu("run", "merkle", *binary.ONE_DEVICE, "-s", "equal", "--mode", "resident", "-n",
                    1, "--time-limit", "1ms", env=cache)
        self.assertEqual(done.code, 5, done)
        self.assertIn("measuring how fast it runs here", done.err)
        self.assertEqual(list((self.folder / "mgpu-bench/calibration").glob("suite-*")), [])

    @binary.thorough  # measures rates
    def test_builds_that_are_compared_and_runs_that_go_on_have_the_sizes_of_the_first(self):
        cache = binary.Path(binary.SCRATCH) / "cache" / "mgpu-bench" / "calibration"
        run = ["run", "merkle", *binary.ONE_DEVICE, "--mode", "resident", "-n", 1, "-s", "equal"]
        self.small(devices=binary.ONE_DEVICE)
        if not list(cache.glob("suite-*.json")):
            self.good("calibrate", "merkle", *binary.ONE_DEVICE, "--no-noise")
        for file in cache.glob("suite-*.json"):  # small sizes, short runs
            cached = json.loads(file.read_text())
            cached["rate"]["ops_per_s"] /= 1000
            file.write_text(json.dumps(cached))
        first, second = self.folder / "1.json", self.folder / "2.json"
        self.good(*run, "-o", first)
        size = json.loads(first.read_text())["runs"][0]["params"]["leaves"]
        for file in cache.glob("suite-*.json"):
            cached = json.loads(file.read_text())
            cached["rate"]["ops_per_s"] /= 16
            file.write_text(json.dumps(cached))
        self.good(*run, "--sizes-of", first, "-o", second)
        self.assertEqual(json.loads(second.read_text())["runs"][0]["params"]["leaves"], size)
        self.good(*run, "-o", second)
        self.assertLess(json.loads(second.read_text())["runs"][0]["params"]["leaves"], size)


if __name__ == "__main__":
    binary.main()
