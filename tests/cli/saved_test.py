#!/usr/bin/env python3
"""Results that nobody named: where run keeps them, and what takes them as last. Usage: saved_test.py BINARY [unittest arguments]."""

import gzip
import json
import re
import subprocess
import time

import binary
from binary import Case, defaults, environment, mgpu

SCRIPTS = binary.HERE.parent.parent / "scripts"
NAME = r"\d{4}-\d\d-\d\dT\d{6}Z(\.\d+)?-[a-z+]+\.json\.gz"


class Saved(Case):
    def setUp(self):
        super().setUp()
        self.state = self.folder / "state"
        self.env = {"XDG_STATE_HOME": str(self.state)}

    def kept(self):
        return sorted(p.name for p in (self.state / "mgpu-bench").glob("*.json.gz")) if self.state.exists() else []

    def run_one(self, *arguments):
        return self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "--warmup", 0, *defaults(arguments), env=self.env)

    def test_a_result_without_a_name_is_kept_whole_and_run_says_where(self):
        done = self.run_one()
        (name,) = self.kept()
        self.assertRegex(name, rf"^{NAME}$")
        file = self.state / "mgpu-bench" / name
        self.assertIn(f"measurements: {file} (mgpu-bench report last)", done.err)
        report = json.loads(gzip.decompress(file.read_bytes()))
        self.assertTrue(report["complete"])
        self.assertEqual(name.split("Z")[0] + "Z", report["started"].replace(":", ""))  # one look at the clock, not two
        self.assertEqual([p.name for p in file.parent.iterdir()], [name])  # no journal, no lock
        again = self.good("report", "last", env=self.env)
        self.assertEqual(again.out, done.out)
        self.assertIn(f"last is {file}", again.err)

    def test_a_result_with_a_name_and_a_configuration_are_not_kept_there(self):
        self.run_one("-o", self.folder / "r.json")
        self.run_one("--dump-config")
        self.assertEqual(self.kept(), [])

    def test_what_is_printed_as_json_is_kept_too(self):
        out = self.run_one("--json", "-").out
        self.assertEqual(json.loads(out), json.loads(gzip.decompress((self.state / "mgpu-bench" / self.kept()[0]).read_bytes())))

    def test_whatever_reads_a_result_takes_the_last_ones(self):
        self.run_one("--size", "2^9")
        self.run_one("--size", "2^10")
        older, newer = (self.state / "mgpu-bench" / name for name in self.kept())
        for words in (["report"], ["report", "--export", f"csv={self.folder / 'r.csv'}"], ["trace"], ["simulate", "-s", "equal", "--from"]):
            for name, file in (("last", newer), ("last~0", newer), ("last~1", older)):
                with self.subTest(words=words, name=name):
                    self.assertEqual(self.good(*words, name, env=self.env).out, self.good(*words, file, env=self.env).out)
        for name, file in (("last", newer), ("last~1", older)):
            told = [subprocess.run([SCRIPTS / "recompute.py", given], env=environment(self.env), capture_output=True, text=True) for given in (name, file)]
            self.assertEqual((told[0].returncode, told[0].stdout.replace(name, "")), (0, told[1].stdout.replace(str(file), "")), told)
        self.run_one("--size", "2^10")
        compared = self.good("compare", "last~1", "last", "--fail-on", "nothing", "--json", "-", env=self.env)
        self.assertEqual(len(compared.err.splitlines()), 2)
        self.assertIn(str(newer), compared.out)
        quiet = self.good("compare", "last~1", "last", "--fail-on", "nothing", "-q", env=self.env)
        self.assertEqual(quiet.err, "")

    def test_a_path_is_a_file_even_where_it_is_called_last(self):
        self.run_one("--size", "2^9")
        self.run_one("--size", "2^10", "-o", self.folder / "last")
        self.assertIn("leaves=2^10", self.good("report", "./last", env=self.env, cwd=self.folder).out.replace("1024", "2^10"))
        self.assertNotEqual(self.good("report", "last", env=self.env, cwd=self.folder).out,
                            self.good("report", "./last", env=self.env, cwd=self.folder).out)

    def test_one_that_is_not_there_is_refused_with_what_there_is(self):
        for words in (["report"], ["trace"], ["simulate", "--from"], ["run", "--resume"], ["compare", "r.json"]):
            with self.subTest(words=words):
                self.refused([*words, "last"], 2, "last", str(self.state), env=self.env)
        self.run_one()
        self.refused(["report", "last~1"], 2, "last~1", "there is 1 result", str(self.state), env=self.env)
        self.refused(["report", "last~one"], 2, '"last~one"', "accepted", env=self.env)
        self.refused(["report", "last"], 2, "XDG_STATE_HOME", "HOME", env={"XDG_STATE_HOME": "", "HOME": ""})

    def test_runs_that_begin_together_are_kept_apart(self):
        words = [binary.BINARY, "run", "merkle", *binary.ONE_DEVICE, "-n", "1", "-q", *defaults([])]
        runs = [subprocess.Popen(words, env=environment(self.env), stdout=subprocess.DEVNULL) for _ in range(3)]
        self.assertEqual([run.wait(120) for run in runs], [0, 0, 0])
        self.assertEqual(len(self.kept()), 3)

    def test_a_folder_that_cannot_be_written_is_one_warning_and_no_failure(self):
        (self.folder / "file").touch()
        for env in ({"XDG_STATE_HOME": str(self.folder / "file")}, {"XDG_STATE_HOME": "", "HOME": ""}):
            with self.subTest(env=env):
                done = self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "-q", *defaults([]), env=env)
                (line,) = done.err.splitlines()
                self.assertIn("warning", line)
                self.assertIn("-o FILE", line)
                self.assertIn("merkle", done.out)

    def test_the_newest_hundred_are_kept_and_files_of_other_names_stay(self):
        folder = self.state / "mgpu-bench"
        folder.mkdir(parents=True)
        for k in range(105):
            (folder / f"2020-01-01T{k:06}Z-merkle.json.gz").touch()
        (folder / "2019-01-01T000000Z-mine-merkle.json.gz").touch()
        (folder / "base.json").touch()
        self.run_one()
        kept = [name for name in self.kept() if re.match(rf"{NAME}$", name)]
        self.assertEqual(len(kept), 100)
        self.assertEqual(kept[0], "2020-01-01T000006Z-merkle.json.gz")
        self.assertTrue((folder / "base.json").exists() and (folder / "2019-01-01T000000Z-mine-merkle.json.gz").exists())

    def test_a_run_that_was_killed_goes_on_from_last(self):
        words = [binary.BINARY, "run", "merkle", *binary.ONE_DEVICE, "--size", "2^12", "--mode", "resident", "-s", "single"]
        process = subprocess.Popen([*words, "-n", "100000"], env=environment(self.env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        folder = self.state / "mgpu-bench"
        while process.poll() is None and not any(p.read_bytes().count(b'"sample"') > 3 for p in folder.glob("*.journal")):
            time.sleep(0.01)
        process.kill()
        process.wait()
        self.refused(["report", "last"], 2, "last", env=self.env)  # only its journal is there
        # Another number of samples is refused, which shows that it was found; that it then goes on is what resume_test.py is about.
        result = mgpu(*words[1:], "-n", 5, "--resume", "last", env=self.env)
        self.assertEqual(result.code, 2, result)
        self.assertIn("samples", result.err)


if __name__ == "__main__":
    binary.main()
