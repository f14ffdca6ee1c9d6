#!/usr/bin/env python3
"""`mgpu-bench profile -- PROGRAM`: exit codes, signals and streams are the program's; the file is as its schema says; each seeded bottleneck of
tests/profile/bottlenecks.cpp is the one that the first sentence names; and a profile of `mgpu-bench run` has the time stamps, parts and imbalance of
the run's own timeline. Usage: profile_test.py BINARY [unittest arguments]. The thorough tier has all suites."""

import gzip
import json
import os
import signal
import sys
from pathlib import Path

import binary
from binary import Case, begin, mgpu
from suites_test import SHAPES

BOTTLENECKS = str(Path(os.environ.get("MGPU_BUILD_DIR", "build/release")) / "tests" / "bottlenecks")
# By mode: options that make it last a fraction of a second, the cost, and a word of the first sentence.
SEEDED = {
    "imbalance": (["count=8"], "perfect_balance", "shares 50 to 50"),
    "blocking-reads": (["count=10"], "free_waits", "clEnqueueReadBuffer"),
    "tiny-kernels": (["count=10", "rounds=8"], "free_launches", "launches"),
    # The first write to a page can take ten times as long as a copy, and no overlap hides it.
    "serial-transfers": (["count=200", "rounds=100", "bytes=2097152"], "full_overlap",
                         "next to kernels"),
    "one-queue": (["count=8"], "perfect_balance", "shares 50 to 50"),
    "host-work": (["count=10"], "free_host_work", "work of the host"),
    "builds": (["count=3"], "free_builds", "3 builds"),
    "pageable": (["count=4", "items=64", "rounds=1"], "free_transfers", "transfers"),
    "small-copies": (["count=10", "items=64", "rounds=16"], "fewer_copies", "small copies"),
    "idle-at-end": (["count=8"], "perfect_balance", "shares 50 to 50"),
}
TRIES = 6  # other programs may use the cores
# Without msm and pinn, which time groups of kernels as one.
SUITES = [suite for suite in SHAPES if suite not in ("msm", "pinn")] if binary.THOROUGH else ["merkle", "matrix"]


def length_of_union(intervals):
    length, reached = 0, None
    for start, end in sorted(intervals):
        if reached is None or start > reached:
            length, reached = length + end - start, end
        elif end > reached:
            length, reached = length + end - reached, end
    return length


def parts_of(commands, begin_ns, end_ns):
    """Returns upload, compute, download and busy time of (kind, start, end) in a window: time under several counts once, compute first."""
    cut = [(kind, max(start, begin_ns), min(end, end_ns)) for kind, start, end in commands if start < end_ns and end > begin_ns]
    until, lengths = [], []
    for kinds in (["compute"], ["compute", "upload"], ["compute", "upload", "download"]):
        until.append(length_of_union([(s, e) for kind, s, e in cut if kind in kinds]))
    lengths = [until[1] - until[0], until[0], until[2] - until[1], length_of_union([(s, e) for _, s, e in cut])]
    return lengths


class Profile(Case):
    def profiled(self, *program, options=(), code=0, **named):
        file = self.folder / "p.json"
        result = mgpu("profile", "-o", file, *options, "--", *program, **named)
        self.assertEqual(result.code, code, result)
        return json.loads(file.read_text()), result

    def test_exit_codes_are_those_of_the_program_or_of_env(self):
        for script, code in (("exit 3", 3), ("kill -TERM $$", 128 + signal.SIGTERM)):
            profile, result = self.profiled("sh", "-c", script, code=code)
            self.assertEqual(profile["exit_code"], code)
            self.assertIn("the program wrote no log", result.err)
        plain = self.folder / "plain"
        plain.write_text("no program")
        for words, code, name in ((["--", self.folder / "none"], 127, "No such file"), (["--", plain], 126, "Permission denied"), ([], 125, "-- PROGRAM"),
                                  (["--sise", "--", "true"], 125, "--sise"), (["--kernels", "(", "--", "true"], 125, "regular expression"),
                                  (["-o", "/dev/null/p.json", "--", "true"], 125, "/dev/null/p.json"), (["--from", "x", "--", "true"], 125, "--from")):
            self.refused(["profile", *words], code, name, cwd=self.folder)

    def test_standard_streams_and_arguments_are_the_programs(self):
        script = 'cat; echo "$0 $1 $2"; echo to the user >&2'
        profile, result = self.profiled("sh", "-c", script, "-o", "--", "--help", given="from the user\n")
        self.assertEqual(result.out, "from the user\n-o -- --help\n")
        self.assertTrue(result.err.startswith("to the user\n"), result)
        self.assertEqual(profile["program"], ["sh", "-c", script, "-o", "--", "--help"])

    def test_signals_are_passed_on(self):
        process = begin("profile", "-q", "-o", self.folder / "p.json", "--", "sh", "-c",
                        "trap 'echo got it; exit 9' TERM; echo ready; while :; do sleep 0.02; done")
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out), (9, "got it\n"))

    def test_layers_of_the_user_stay_behind_ours(self):
        _, result = self.profiled("sh", "-c", 'echo "$OPENCL_LAYERS"', env={"OPENCL_LAYERS": "/none/first.so:/none/second.so"})
        layers = result.out.strip().split(":")
        self.assertTrue(layers[0].endswith("/libmgpu-bench-profile.so"), result)
        self.assertEqual(layers[1:], ["/none/first.so", "/none/second.so"])

    def test_the_file_its_report_its_trace_and_a_comparison(self):
        result = mgpu("profile", "--", BOTTLENECKS, "blocking-reads", "count=3", "rounds=200", cwd=self.folder)
        self.assertEqual(result.code, 0, result)
        file = self.folder / "mgpu-bench-profile.json"  # the documented default
        self.assert_schema(file, "profile")
        shown = self.good("report", file, env={"COLUMNS": "80"}).out
        self.assertIn(shown, result.err)
        self.assertLessEqual(max(map(len, shown.splitlines())), 80, shown)
        self.good("trace", file, "-o", self.folder / "t.json")
        self.assert_trace(self.folder / "t.json")
        self.assertIn("clEnqueueReadBuffer", (self.folder / "t.json").read_text())
        self.assertIn("kernel spin", self.good("compare", file, file).out)
        packed = self.folder / "p.json.gz"
        packed.write_bytes(gzip.compress(file.read_bytes()))
        self.assertEqual(self.good("report", packed, env={"COLUMNS": "80"}).out, shown)
        self.refused(["compare", file, self.folder / "t.json"], 2, "is no profile")
        self.assertEqual(json.loads(self.good("report", file, "--json").out), json.loads(file.read_text()))

    def test_kernels_and_a_part_of_the_time_are_chosen(self):
        run = [BOTTLENECKS, "host-work", "count=6", "rounds=200"]
        whole, _ = self.profiled(*run)
        self.assertEqual([kernel["name"] for kernel in whole["kernels"]], ["spin"])
        none, _ = self.profiled(*run, options=["--kernels", "^pin"])
        self.assertEqual(none["kernels"], [])
        part, _ = self.profiled(*run, options=["--from", "20ms", "--for", "50ms", "--check-overhead"])
        self.assertEqual((part["from_ns"], part["makespan_ns"]), (20_000_000, 50_000_000))
        self.assertLess(len(part["timeline"]["commands"]), len(whole["timeline"]["commands"]))
        self.assertGreater(part["wall_without_layer_ns"], 0)
        for device in part["devices"]:
            self.assertEqual(sum(device[name + "_ns"] for name in ("upload", "compute", "download", "launch", "idle", "residue")), 50_000_000)

    def test_a_killed_program_and_its_children(self):
        profile, result = self.profiled("sh", "-c", f"{BOTTLENECKS} host-work count=3 rounds=10; timeout -s KILL 0.7 {BOTTLENECKS} host-work count=1000; "
                                        "kill -KILL $$", code=128 + signal.SIGKILL)
        self.assertEqual(len(profile["processes"]), 2, result)
        kernels = sum(kernel["launch_ns"]["n"] for kernel in profile["kernels"])
        self.assertGreater(kernels, 8)  # 4 of the first process, and more of the one that was killed
        self.assertGreater(len([call for call in profile["calls"] if call["thread"] == 1]), 3)

    def test_ranks_give_one_report(self):
        file = self.folder / "mpi.json"
        ranks = [begin("profile", "-o", file, "--", BOTTLENECKS, "host-work", "count=3", "rounds=10",
                       env={"OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_RANK": str(rank)}) for rank in range(3)]
        errors = [rank.communicate(timeout=120)[1] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0, 0], errors)
        self.assertEqual(errors[1:], ["", ""])
        profile = json.loads(file.read_text())
        self.assertEqual(sorted(process["rank"] for process in profile["processes"]), [0, 1, 2])
        self.assertEqual([path.name for path in self.folder.iterdir()], ["mpi.json"])

    def test_seeded_bottlenecks_are_named(self):
        for mode, (options, cost, words) in SEEDED.items():
            with self.subTest(mode):
                for attempt in range(TRIES):
                    # Kernels are built again each time, as they would be in a first run.
                    profile, result = self.profiled(BOTTLENECKS, mode, *options, env={"POCL_CACHE_DIR": str(self.folder / f"{mode}{attempt}")}
                                                    if mode == "builds" else None)
                    if profile["costs"]["held_back_by"] == cost:
                        break
                self.assertEqual(profile["costs"]["held_back_by"], cost, result)
                self.assertIn(words, profile["summary"][0], result)
                self.assertIn(profile["summary"][0], " ".join(result.err.split()), result)

    def test_a_profile_of_a_run_has_its_time_stamps_parts_and_imbalance(self):
        for suite in SUITES:
            with self.subTest(suite):
                file = self.folder / "r.json"
                profile, result = self.profiled(binary.BINARY, "run", suite, *SHAPES[suite], *binary.DEVICES, "--mode", "both", "-n", 2, "--warmup", 0,
                                                "--no-cache", "-o", file)
                found = 0
                for run in json.loads(file.read_text())["runs"]:
                    if run["status"] == "ok":
                        self.assert_same(run, profile)
                        found += 1
                self.assertGreater(found, 1, result)

    def assert_same(self, run, profile):
        """Finds the commands of a case's sample in the profile, and compares times, parts and imbalance."""
        ids = [device["id"] for device in profile["devices"]]
        ours = {}
        for row in profile["timeline"]["commands"]:
            command = dict(zip(profile["timeline"]["columns"]["commands"], row))
            ours.setdefault(ids[command["device"]], []).append(command)
        timeline = run["timeline"]
        bound, busy, offsets = 0, [], []
        theirs = {device: [] for device in run["devices"]}
        for row in timeline["commands"]:
            command = dict(zip(timeline["columns"]["commands"], row))
            if not command.get("arrives"):  # waiting for another device is no command of OpenCL
                theirs[run["devices"][command["device"]]].append(command)
        for index, device in enumerate(run["devices"]):
            sought = theirs[device]
            if not sought:
                continue
            bound = max(bound, timeline["uncertainty_ns"][index] + profile["timeline"]["uncertainty_ns"][ids.index(device)])
            places = [offset for start in range(len(ours[device])) if (offset := match(ours[device], start, sought)) is not None]
            self.assertGreater(len(places), 0, f"{run['case']}: {device}: its commands are not in the profile")
            offsets.append(places)
        # Commands of all devices lie where they do by one offset between the two clocks of hosts.
        chosen = min((max(abs(offset - first) for offset in nearest), first) for first in offsets[0]
                     for nearest in [[min(places, key=lambda o: abs(o - first)) for places in offsets]])
        self.assertLessEqual(chosen[0], 2 * bound + 100, run["case"])
        shift = chosen[1]
        for device, figures in zip(run["devices"], run["per_device"]):
            if not theirs[device]:
                continue
            near = [(c["kind"], c["started_ns"] - shift, c["ended_ns"] - shift) for c in ours[device]]
            parts = parts_of(near, 0, timeline["makespan_ns"])
            busy.append(parts[3])
            if any(command["kind"] == "exchange" for command in theirs[device]):
                continue
            for name, length in zip(("upload_ns", "compute_ns", "download_ns", "busy_ns"), parts):
                self.assertLessEqual(abs(length - figures[name]), 2 * bound + 2000 + figures[name] // 100, f"{run['case']} {device} {name}")
        theirs_busy = [figures["busy_ns"] for figures in run["per_device"]]
        if len(busy) == len(theirs_busy) and len(busy) > 1 and not any(c["kind"] == "exchange" for all_of in theirs.values() for c in all_of):
            imbalance = 100 * (max(busy) / (sum(busy) / len(busy)) - 1)
            slack = 100 * (4 * bound + 4000) / max(sum(busy), 1) + 1
            self.assertLessEqual(abs(imbalance - run["metrics"]["imbalance_percent"]), slack, run["case"])


def match(commands, start, sought):
    """Returns the begin of the commands from `start` on, relative to those sought, if they are these: of the same kinds, and as long. The profile may
    have commands between them that a run does not count, such as fills. None: they are others."""
    at, offset = start, None
    for command in sought:
        length = command["ended_ns"] - command["started_ns"]
        found = next((k for k in range(at, min(at + (1 if command is sought[0] else 4), len(commands)))
                      if (commands[k]["kind"] == command["kind"] or command["kind"] == "exchange")
                      and abs(commands[k]["ended_ns"] - commands[k]["started_ns"] - length) <= 2 + length // 1000), None)  # clocks drift by less
        if found is None:
            return None
        at = found + 1
        if offset is None:
            offset = commands[found]["started_ns"] - command["started_ns"]
    return offset


if __name__ == "__main__":
    if not Path(BOTTLENECKS).exists():
        sys.exit(f"{BOTTLENECKS} is missing; build the target test_programs")
    binary.main()
