#!/usr/bin/env python3
"""Runs that are killed at any moment, and go on with run --resume. Usage: resume_test.py BINARY [unittest arguments]. MGPU_KILLS in the
environment: at how many moments (2)."""

import gzip
import json
import os
import random
import signal
import subprocess
import time

import binary
from binary import Case, environment, mgpu

KILLS = int(os.environ.get("MGPU_KILLS", "2"))
# Two groups of 2 + 4 cases.
SAMPLES = 60
CAMPAIGN = ["-s", "single,equal,dynamic,adaptive,auto", "--mode", "both", "--size", "2^12", "-n", str(SAMPLES)]


def journal_of(file):
    return file.with_name(file.name + ".journal")


def lines_of(journal):
    """The JSON of all whole lines of a journal."""
    lines = journal.read_bytes().split(b"\n")[:-1] if journal.exists() else []
    return [json.loads(line[17:]) for line in lines]


def kept_samples(journal):
    """Of a journal, by group, case and device ids: [[time, run], ...]."""
    kept, group = {}, None
    for line in lines_of(journal):
        group = line.get("group", group)
        if "sample" in line:
            sample = line["sample"]
            kept.setdefault((group["name"], group["cases"][sample["case"]]), []).append([sample["time_ns"], sample["run"]])
    return kept


def samples_of(report):
    """Of a result, named as a journal names cases."""
    samples = {}

    def add(run, case, times, runs):
        samples[(f"{run['suite']} {run['mode']}", case)] = [list(pair) for pair in zip(times, runs or [1] * len(times))]

    for run in report["runs"]:
        if run["strategy"] != "single":
            add(run, f"{run['strategy']} on {len(run['devices'])}", run["samples_ns"], run.get("sample_runs"))
        for device in run["per_device"]:
            add(run, f"alone {device['device']}", device["alone_samples_ns"], device.get("alone_sample_runs"))
    return samples


def outcome_of(report):
    return [(run["suite"], run["params"], run["mode"], run["strategy"], run["strategy_params"], run["devices"], run["status"], run["reason"],
             run["verify"]["status"], run["verify"]["digest"]) for run in report["runs"]]


class Resumed(Case):
    """Killed at any moment are runs on two devices. The others are on one where that does: less is measured before they begin."""

    def command(self, devices, *arguments):
        return [binary.BINARY, "run", "merkle", *devices, *map(str, arguments)]

    def killed(self, moment, *arguments):
        """A run that is killed when moment(process) returns; whether it had not ended by then."""
        process = subprocess.Popen(self.command(binary.DEVICES, *arguments), env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True)
        moment(process)
        if process.poll() is None:
            process.kill()
        err = process.communicate()[1]
        self.assertIn(process.returncode, (0, -signal.SIGKILL), err)
        return process.returncode != 0

    @staticmethod
    def wait_for_time(process, seconds):
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass

    @staticmethod
    def wait_for_samples(process, file, count=1):
        journal = journal_of(file)
        while process.poll() is None and not (journal.exists() and journal.read_bytes().rpartition(b"\n")[0].count(b'"sample"') >= count):
            time.sleep(0.01)

    def killed_with_samples(self, devices, file, *arguments):
        """A run that is killed as soon as its journal has samples."""
        process = subprocess.Popen(self.command(devices, "-o", file, *arguments), env=environment(), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.wait_for_samples(process, file)
        self.assertIsNone(process.poll())
        process.kill()
        process.wait()

    def test_a_run_that_is_killed_at_any_moment_goes_on_with_all_it_had_measured(self):
        whole = self.folder / "whole.json"
        self.good("run", "merkle", *binary.DEVICES, *CAMPAIGN[:-1], 1, "-o", whole)  # kernels are built
        begin = time.monotonic()
        self.good("run", "merkle", *binary.DEVICES, *CAMPAIGN, "-o", whole)
        length = time.monotonic() - begin
        self.assertEqual(list(self.folder.glob("*.journal")), [])
        undisturbed = json.loads(whole.read_text())
        chance = random.Random(21)
        with_samples = 0
        for turn in range(KILLS):
            file = self.folder / f"{turn}.json"
            with self.subTest(turn=turn):
                arguments, kept, finished, kills = ["-o", file], {}, [], 0
                for kill in range(chance.choice((1, 1, 2, 3))):
                    seconds, count = chance.uniform(0, length * 1.05), chance.randrange(1, 2 * SAMPLES)
                    # At any moment, most of which are before the first sample; and every second turn first among its samples.
                    moment = (lambda run: self.wait_for_samples(run, file, count)) if turn % 2 == kill == 0 else (
                        lambda run: self.wait_for_time(run, seconds))
                    if not self.killed(moment, *CAMPAIGN, *arguments):
                        break
                    kills += 1
                    for case, samples in kept_samples(journal_of(file)).items():
                        kept[case] = samples  # of groups saved since, the last that was seen
                    if file.exists() or journal_of(file).exists():
                        arguments = ["--resume", file]
                    headers = lines_of(journal_of(file))
                    if headers and headers[0]["rows"]:
                        finished = json.loads(file.read_text())["runs"][: headers[0]["rows"]]
                self.good("run", "merkle", *binary.DEVICES, *CAMPAIGN, *arguments)
                with_samples += bool(kept)
                self.assertFalse(journal_of(file).exists())
                report = json.loads(file.read_text())
                self.assertTrue(report["complete"])
                self.assertEqual(outcome_of(report), outcome_of(undisturbed))
                self.assertEqual([json.dumps(run) for run in report["runs"][: len(finished)]], [json.dumps(run) for run in finished])
                samples = samples_of(report)
                for case, before in kept.items():
                    self.assertEqual(samples[case][: len(before)], before, case)
                for case, all_of_it in samples.items():
                    self.assertGreaterEqual(len(all_of_it), SAMPLES, case)
                    self.assertLessEqual(len(all_of_it), SAMPLES + kills, case)
                self.assert_schema(file, "result")
        print(f"{KILLS} turns, {with_samples} of them with samples in the journal", flush=True)
        self.assertGreater(with_samples, 0)

    def test_what_ctrl_c_leaves_is_gone_on_with_too(self):
        file = self.folder / "r.json"
        process = subprocess.Popen(self.command(binary.ONE_DEVICE, *CAMPAIGN, "-o", file), env=environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.wait_for_samples(process, file)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)
        kept = kept_samples(journal_of(file))
        result = self.good("run", "merkle", *binary.ONE_DEVICE, *CAMPAIGN, "--resume", file)
        self.assertIn("run 2 goes on", result.err)
        samples = samples_of(json.loads(file.read_text()))
        for case, before in kept.items():
            self.assertEqual(samples[case][: len(before)], before, case)
        self.assertEqual({run for all_of_it in samples.values() for _, run in all_of_it}, {1, 2})

    def test_a_compressed_result_is_gone_on_with_and_stays_compressed(self):
        file = self.folder / "r.json.gz"

        def rows_of(journal):
            first = journal.read_bytes().split(b"\n", 1)[:-1] if journal.exists() else []
            return json.loads(first[0][17:])["rows"] if first else 0

        process = subprocess.Popen(self.command(binary.DEVICES, *CAMPAIGN, "-o", file), env=environment(), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        while process.poll() is None and not rows_of(journal_of(file)):
            time.sleep(0.001)
        self.assertIsNone(process.poll())
        process.kill()
        process.wait()
        rows = lines_of(journal_of(file))[0]["rows"]
        finished = json.loads(gzip.decompress(file.read_bytes()))["runs"][:rows]
        result = self.good("run", "merkle", *binary.DEVICES, *CAMPAIGN, "--resume", file)
        self.assertIn("run 2 goes on", result.err)
        report = json.loads(gzip.decompress(file.read_bytes()))
        self.assertTrue(report["complete"])
        self.assertGreater(len(report["runs"]), rows)
        self.assertEqual(report["runs"][:rows], finished)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["r.json.gz"])

    def test_another_configuration_is_refused_and_nothing_changes(self):
        file = self.folder / "r.json"
        self.killed_with_samples(binary.DEVICES, file, *CAMPAIGN)
        before = journal_of(file).read_bytes()
        run = ["run", "merkle", *binary.DEVICES, *CAMPAIGN]
        self.refused([*run[:-1], 61, "--resume", file], 2, "--resume", "samples", str(SAMPLES), "61", "accepted")
        self.refused([*run, "--seed", 2, "--resume", file], 2, "seed", "accepted")
        self.refused([*run, "--verify", "off", "--resume", file], 2, "verify", "full", "off", "accepted")
        self.refused([*run, "--timeout", "9s", "--resume", file], 2, "timeout", "none", '"9 s"', "accepted")
        self.refused([*run, "--slow", "0=2", "--resume", file], 2, "handicap")
        self.refused([*run, "--resume", file, "-o", self.folder / "other.json"], 2, "--resume", "accepted")
        self.assertEqual(journal_of(file).read_bytes(), before)
        self.good(*run, "--resume", file, "-o", file)

    def test_what_cannot_be_gone_on_with_is_said_in_one_line(self):
        run = ["run", "merkle", *binary.ONE_DEVICE, *CAMPAIGN, "--resume"]
        file = self.folder / "r.json"
        self.refused([*run, file], 2, "--resume", "there is neither", "r.json")
        file.write_text("{}")
        self.refused([*run, file], 2, "r.json")
        self.good("run", "merkle", *binary.ONE_DEVICE, "-s", "single", "--size", "2^10", "-n", 1, "-o", file)
        before = file.read_bytes()
        done = self.good(*run, file)
        self.assertEqual((done.out, file.read_bytes()), ("", before))
        self.assertIn("complete", done.err)
        file.write_text(before.decode().replace('"complete": true', '"complete": false'))
        self.refused([*run, file], 2, "journal", "missing")

    def test_a_damaged_journal_is_named_with_its_line_and_a_torn_one_is_not_damaged(self):
        file = self.folder / "r.json"
        self.killed_with_samples(binary.ONE_DEVICE, file, *CAMPAIGN)
        journal = journal_of(file)
        whole = journal.read_bytes()
        lines = whole.split(b"\n")
        journal.write_bytes(b"\n".join([lines[0], lines[1], lines[2].replace(b"time_ns", b"time_nt"), *lines[3:], b"{}", b""]))
        run = ["run", "merkle", *binary.ONE_DEVICE, *CAMPAIGN, "--resume", file]
        self.refused(run, 2, "r.json.journal", "line 3")
        journal.write_bytes(b"garbage\n")
        self.refused(run, 2, "r.json.journal")
        journal.write_bytes(whole[:-7])
        self.good(*run)

    def test_a_run_without_a_result_file_keeps_no_journal_and_a_new_run_says_when_it_begins_one_anew(self):
        file = self.folder / "r.json"
        self.killed_with_samples(binary.ONE_DEVICE, file, *CAMPAIGN)
        small = ["run", "merkle", *binary.ONE_DEVICE, "-s", "single", "--size", "2^10", "-n", 1]
        result = self.good(*small, "-o", file)
        self.assertIn("--resume", result.err)
        self.good(*small, "-o", "/dev/null")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["r.json"])


if __name__ == "__main__":
    binary.main()
