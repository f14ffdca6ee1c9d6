#!/usr/bin/env python3
"""Problem sizes that are not given: chosen by rates, swept, or those of another result. Usage: sizes_test.py BINARY [unittest arguments]."""

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import binary
from binary import Case, environment, mgpu

RUN = ["run", "merkle", "--mode", "resident", "--warmup", "0"]


class Sizes(Case):
    measured = None  # a cache with the rates of this machine, made a hundredth: sizes are then small, and runs short

    def setUp(self):
        super().setUp()
        self.cache = Path(binary.SCRATCH) / "cache" / "mgpu-bench" / "calibration"
        shutil.rmtree(self.cache, ignore_errors=True)
        if Sizes.measured:
            shutil.copytree(Sizes.measured, self.cache)
            return
        self.run_it("measured.json", "-s", "equal")
        self.forge_rates(1 / 100)
        Sizes.measured = Path(binary.SCRATCH) / "slow-rates"
        shutil.copytree(self.cache, Sizes.measured)

    def run_it(self, name, *arguments):
        """Sizes, what was said on stderr, and the result of a run."""
        file = self.folder / name
        result = self.good(*RUN, *binary.DEVICES, "-n", 1, "-o", file, *arguments)
        report = json.loads(file.read_text())
        return [run["params"]["leaves"] for run in report["runs"] if run["strategy"] != "single"], result, report

    def forge_rates(self, factor):
        files = list(self.cache.glob("suite-*.json"))
        self.assertTrue(files)
        for file in files:
            cached = json.loads(file.read_text())
            cached["rate"]["ops_per_s"] *= factor
            file.write_text(json.dumps(cached))

    def test_without_a_size_a_calibrated_rate_chooses_one_of_the_grid_which_is_said_and_recorded(self):
        (size,), result, report = self.run_it("first.json", "-s", "equal")
        self.assertEqual(size & (size - 1), 0)
        self.assertRegex(result.err, r"merkle: (2\^\d+|\d+) leaves, about \S+ m?s on .* alone")
        self.assertEqual(report["options"]["size"], "auto")
        if binary.DEVICE_COUNT > 1:  # of the device that is fastest alone, whatever is then measured
            self.assertEqual(set(self.run_it("counts.json", "-s", "equal", "--device-counts", "1,2")[0]), {size})
        files = {file: file.read_bytes() for file in self.cache.iterdir()}
        self.assertEqual(self.run_it("again.json", "-s", "equal")[0], [size])  # by what was cached
        self.assertEqual({file: file.read_bytes() for file in self.cache.iterdir()}, files)
        self.forge_rates(1 / 16)
        (smaller,), _, _ = self.run_it("slower.json", "-s", "equal")
        self.assertLess(smaller, size)

    def test_the_sizes_of_a_result_hold_whatever_the_rates_are_now(self):
        (size,), _, _ = self.run_it("base.json", "-s", "equal")
        self.forge_rates(1 / 16)
        new, _, report = self.run_it("new.json", "-s", "equal", "--sizes-of", self.folder / "base.json")
        self.assertEqual(new, [size])
        self.assertEqual(report["options"]["sizes_of"], str(self.folder / "base.json"))
        self.assertNotIn("size", report["options"])  # no rate chose it
        self.assertEqual(self.run_it("named.json", "-s", "equal", "--size", 64)[0], [64])
        self.assertNotIn("size", json.loads((self.folder / "named.json").read_text())["options"])
        compared = self.good("compare", self.folder / "base.json", self.folder / "new.json", "--fail-on", "nothing")
        self.assertIn("merkle", compared.out)
        refused = mgpu(*RUN, "--size", 64, "--sizes-of", self.folder / "base.json")
        self.assertEqual(refused.code, 2)
        self.assertIn("--sizes-of: --size names sizes, too", refused.err)
        self.assertEqual(len(refused.err.splitlines()), 1)
        self.assertEqual(mgpu(*RUN, "--sizes-of", self.folder / "none.json").code, 2)
        self.run_it("two.json", "-s", "equal", "--size", "64,128")
        self.assertEqual(self.run_it("two-again.json", "-s", "equal", "--sizes-of", self.folder / "two.json")[0], [64, 128])
        for arguments, said in ((["run", "merkle", *binary.DEVICES, "--output", "x"], "--sizes-of names 2 sizes"),
                                (["plan", "merkle", *binary.DEVICES], "2 sizes; plan takes one")):
            refused = mgpu(*arguments, "--sizes-of", self.folder / "two.json", cwd=self.folder)
            self.assertEqual(refused.code, 2, refused)
            self.assertIn(said, refused.err)

    def test_a_run_that_goes_on_keeps_its_size(self):
        file = self.folder / "killed.json"
        options = [*RUN, *binary.DEVICES, "-s", "equal,dynamic", "-n", 100]
        process = subprocess.Popen([binary.BINARY, *map(str, options), "-o", file], env=environment(), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        journal = file.with_name(file.name + ".journal")
        while process.poll() is None and not (journal.exists() and b'"sample"' in journal.read_bytes()):
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        self.assertEqual(process.wait(), -signal.SIGKILL)
        header = json.loads(journal.read_bytes().split(b"\n")[0][17:])
        size = int(header["configuration"]["problem, leaves"])
        self.forge_rates(1 / 16)
        self.good(*options, "--resume", file)
        sizes = {run["params"]["leaves"] for run in json.loads(file.read_text())["runs"]}
        self.assertEqual(sizes, {size})

    def test_builds_that_are_compared_interleaved_have_the_sizes_of_the_first(self):
        # The second would choose another size: it has a cache of its own, with other rates.
        (size,), _, _ = self.run_it("base.json", "-s", "equal")
        other = self.folder / "other"
        shutil.copytree(self.cache, other / "mgpu-bench" / "calibration")
        self.forge_rates(1 / 16)
        out = self.folder / "compared.json"
        self.good("compare", f"XDG_CACHE_HOME={other}", "", "--interleave", 5, "--fail-on", "nothing", "-o", out, "--with",
                  " ".join(map(str, ["merkle", "--mode", "resident", "--warmup", "0", "-n", 1, "-s", "equal", *binary.ONE_DEVICE])))
        compared = json.loads(out.read_text())
        self.assertTrue(compared["rows"])
        self.assertIn(str(size), json.dumps(compared["rows"]))
        self.assertEqual(compared.get("uncompared", []), [])

    def older(self):
        """This program as one that knows no --sizes-of, and has a size of its own where none is given."""
        file = self.folder / "older"
        file.write_text('#!/bin/sh\nfor word; do\n  [ "$word" != --sizes-of ] || { echo "no option --sizes-of" >&2; exit 2; }\ndone\n'
                        f'case " $* " in *" --size "*) ;; *) set -- "$@" --size 32 ;; esac\nexec {binary.BINARY} "$@"\n')
        file.chmod(0o755)
        return file

    def test_an_older_build_has_the_sizes_of_the_other_where_they_can_be_named(self):
        out, older = self.folder / "compared.json", self.older()
        with_options = " ".join(map(str, ["--mode", "resident", "--warmup", "0", "-n", 1, "-s", "equal", *binary.ONE_DEVICE]))
        self.good("compare", f"{binary.BINARY} --size 64,128", older, "--interleave", 5, "--fail-on", "nothing", "-o", out, "--with",
                  f"merkle {with_options}")
        compared = json.loads(out.read_text())
        self.assertTrue(compared["rows"])
        self.assertEqual(compared["uncompared"], [])
        # Sizes that differ by suite, --size cannot name.
        mixed = self.folder / "mixed.json"
        self.good("run", "merkle,fisher", "--mode", "resident", "-n", 1, "-s", "equal", *binary.DEVICES, "--size", 64, "-o", mixed)
        report = json.loads(mixed.read_text())
        for run in report["runs"]:
            run["params"].update({"points": 128} if run["suite"] == "fisher" else {})
        mixed.write_text(json.dumps(report))
        refused = mgpu("compare", f"{binary.BINARY} --sizes-of {mixed}", older, "--interleave", 5, "--with", f"merkle,fisher {with_options}")
        self.assertEqual((refused.code, len(refused.err.splitlines())), (2, 1), refused)
        self.assertIn("the size of fisher is 128 in BASE and 32 in NEW; name one suite and its size in --with", refused.err)

    def test_a_sweep_says_from_which_size_on_more_devices_pay(self):
        self.run_it("once.json", "-s", "equal")
        self.forge_rates(4)
        sizes, result, report = self.run_it("sweep.json", "--size", "sweep")
        self.assertEqual(report["options"]["size"], "sweep")
        self.assertGreaterEqual(len(sizes), 3)
        self.assertEqual(sizes, sorted(set(sizes)))
        self.assertEqual({run["strategy"] for run in report["runs"]} - {"single"}, {"capability"})
        if binary.DEVICE_COUNT > 1:
            self.assertRegex(result.out, rf"(?m)^{binary.DEVICE_COUNT} devices pay (from|at (no|every) size)")
            self.assertIn(result.out.split("merkle, resident\n")[-1].split("\n\n")[0], self.good("report", self.folder / "sweep.json").out)
        for arguments, said in ((["run", "merkle", "--size", "sweep", "--output", "x"], "makes several problems"),
                                (["plan", "merkle", *binary.DEVICES, "--size", "sweep"], "plan takes one size"),
                                (["run", "merkle", "--size", "sweep,2"], "sweep")):
            refused = mgpu(*arguments, cwd=self.folder)
            self.assertEqual(refused.code, 2, refused)
            self.assertIn(said, refused.err)


if __name__ == "__main__":
    binary.main()
