#!/usr/bin/env python3
"""Work that goes in rounds, and exchanges by themselves, over several ranks of MPI on this machine. Usage: cluster_rounds_test.py BINARY
[unittest arguments]. The environment of cluster_test.py, and MGPU_CLUSTER_LOSSES: in the rounds of which suite ranks are lost (stencil).
In the quick tier, which is what CI does, each MPI takes a share of what is tried with all otherwise."""

import json
import os

import binary
import cluster_test
from binary import THOROUGH
from cluster_test import RANKS, launchers, mpirun, outcome

LOSES = os.environ.get("MGPU_CLUSTER_LOSSES", "stencil")
# What is exchanged: halos and sums of norms, panels of one device for all others, sums of all; halos of blocks.
ROUNDS = (["stencil,tropical,pinn", "--size", "100", "--iterations", "6", "--check-every", "4", "--op", "apsp", "--layers", "2", "--width", "8",
           "--shards", "8"],
          ["stencil,lbm", "--size", "13", "--iterations", "7", "--split", "blocks", "--kind", "heat3d"])
LONGER = {
    "stencil": ["stencil", "--size", "64", "--iterations", "40", "--checkpoint-rounds", "10"],
    "lbm": ["lbm", "--size", "11", "--iterations", "30", "--checkpoint-rounds", "10"],
    "tropical": ["tropical", "--op", "apsp", "--size", "200"],
    "pinn": ["pinn", "--size", "64", "--layers", "2", "--width", "8", "--shards", "8", "--iterations", "12", "--checkpoint-rounds", "4"],
}


def share_of(number):
    """The MPIs with which the test of that number is made."""
    every = list(launchers())
    return every if THOROUGH else [every[number % len(every)]]


class Rounds(cluster_test.RanksCase):
    def gives_what_one_process_gives(self, mpi, words, *modes, devices=RANKS):
        words = [*words, "-s", "equal", "--mode", *modes, "-n", "1", "--warmup", "0"]
        alone, _ = self.run_of(None, *words)
        report, _ = self.run_of(mpi, *words, name=f"{mpi}.json", env={"POCL_DEVICES": " ".join(["pthread"] * devices)})
        self.assertEqual(sorted(device["node"] for device in report["devices"]), sorted([*range(RANKS)] * (devices // RANKS)))
        self.assertEqual(outcome(report), outcome(alone))
        for run in report["runs"]:
            self.assertEqual((run["status"], run["verify"]["status"], len(run["devices"])), ("ok", "passed", devices))
            self.assertGreater(sum(device.get("bytes_received", 0) for device in run["per_device"]), 0, run["suite"])

    def test_suites_with_rounds_give_what_one_process_gives(self):
        for number, words in enumerate(ROUNDS):
            for mpi in share_of(number):
                with self.subTest(f"{mpi}: {words[0]}"):
                    self.gives_what_one_process_gives(mpi, words, "resident" if mpi == "openmpi" else "end-to-end")

    def test_ranks_with_two_devices_each_give_what_one_process_gives(self):
        words = ROUNDS[0] if THOROUGH else ["stencil", "--size", "100", "--iterations", "6", "--check-every", "4"]
        for mpi in list(launchers())[-1:]:
            self.gives_what_one_process_gives(mpi, words, "resident", devices=2 * RANKS)

    def test_collectives_over_ranks_are_right(self):
        for mpi in launchers():
            with self.subTest(mpi):
                file = self.folder / f"{mpi}.json"
                result = mpirun(mpi, [binary.BINARY, "links", "--quick", "-d", "cpu", "--op", "all", "--sizes", "4KiB", "-q", "-o", file])
                self.assertEqual(result.code, 0, str(result))
                report = json.loads(file.read_text())
                self.assertTrue(report["complete"])
                self.assert_schema(file, "links")
                self.assertEqual({one["wrong"] for one in report["collectives"]}, {0})
                self.assertEqual({one["path"] for one in report["collectives"]}, {"staged"})

    def test_what_only_devices_of_one_process_have_is_refused(self):
        mpi = next(iter(launchers()))
        small = ["stencil", "--size", "16", "--iterations", "3", "--mode", "resident", "-s", "equal", "-n", "1", "--warmup", "0"]
        for more, words in ((["--peer", "host"], "they belong to ranks 0 and 1"), (["--exchange", "kernels"], "reach no memory in common")):
            report, result = self.run_of(mpi, *small, *more, name="refused.json", code=5)
            self.assertIn(words, result.err)
            self.assertEqual({run["status"] for run in report["runs"]}, {"unsupported"})


class LossesInRounds(cluster_test.Losses):
    """What happens to a rank happens while devices exchange, or wait for each other."""

    WORK = [*LONGER[LOSES], "-s", "equal,capability"]
    SAMPLES = 50 if THOROUGH else 25

    def mpis_that_kill(self):
        return share_of(0)

    def mpis_that_stop(self):
        return share_of(1)

    def some_samples(self):
        """Each device alone comes first."""
        return self.chance.randrange(RANKS * self.SAMPLES, (2 + RANKS) * self.SAMPLES - 1)

    def some_samples_before_the_end(self):
        return self.chance.randrange(RANKS * self.SAMPLES + 1, (1 + RANKS) * self.SAMPLES)

    def went_on_without_it(self, report, ended):
        expected, _ = self.undisturbed()
        self.assertEqual(outcome(report), expected, ([run["reason"] for run in report["runs"]], ended[1]))
        # Where a sample cannot be begun again it does not count, and is not of a run.
        faults = report["faults"] + [fault for run in report["runs"] for fault in run["faults"]]
        lost = {device["id"] for device in report["devices"] if device["node"] == RANKS - 1}
        self.assertEqual({fault["device"] for fault in faults}, lost, ended[1])
        for fault in faults:
            self.assertIn("no sign of life", fault["what"])
            if fault.get("begun_again"):
                self.assertEqual(fault["items_redone"], fault["items_lost"])
        self.assertLessEqual({sample["verify"] for run in report["runs"] for sample in run["disturbed_samples"]}, {"passed"})


if __name__ == "__main__":
    cluster_test.main()
