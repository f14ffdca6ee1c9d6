#!/usr/bin/env python3
"""Flags, environment, config file; and what is told without a device. Usage: settings_test.py BINARY [unittest arguments]."""

import json
import re

import binary
from binary import Case, defaults

class LayersOfSettings(Case):
    def size(self, *arguments, **named):
        file = self.folder / "layers.json"
        self.good("run", "merkle", *binary.DEVICES, "-n", 1, "--warmup", 0, "--mode", "resident", "-s", "single", "-o", file, *arguments, **named)
        return json.loads(file.read_text())["runs"][0]["params"]["leaves"]

    def test_a_flag_wins_over_the_environment_that_over_the_config_file_that_over_the_default(self):
        config = self.folder / "c.toml"
        config.write_text('# sizes\nsize = "64"\n')
        self.assertEqual(self.size("--config", config), 64)
        self.assertEqual(self.size("--config", config, env={"MGPU_BENCH_SIZE": "128"}), 128)
        self.assertEqual(self.size("--config", config, "--size", "256", env={"MGPU_BENCH_SIZE": "128"}), 256)
        self.assertEqual(self.size(env={"MGPU_BENCH_CONFIG": str(config)}), 64)

    def test_a_config_file_may_have_a_run_section_arrays_and_flags(self):
        config = self.folder / "c.toml"
        config.write_text('[run]\nsize = [64, "2^7"]\nquiet = true\n')
        result = self.good("run", "merkle", *binary.DEVICES, "-n", 1, "-s", "single", "--mode", "resident", "--config", config, "--json", "-")
        self.assertEqual([run["params"]["leaves"] for run in json.loads(result.out)["runs"]], [64, 128])
        self.assertEqual(result.err, "")

    def test_unknown_keys_doubled_keys_and_unreadable_files_are_refused(self):
        config = self.folder / "c.toml"
        for text, name in (("sise = 4\n", "sise"), ("[ran]\nsize = 4\n", "ran.size"), ("size = 4\nseed = 1\nsize = 8\n", "size")):
            config.write_text(text)
            with self.subTest(text=text):
                self.refused(["run", "--config", config], 2, "c.toml", f'"{name}"')
        self.refused(["run", "--config", self.folder / "none.toml"], 2, "--config", "none.toml")
        self.refused(["run", "--config", self.folder], 2, "--config")

    def test_a_bad_value_is_blamed_on_the_layer_it_came_from(self):
        config = self.folder / "c.toml"
        config.write_text("size = many\n")
        self.refused(["run", "--config", config], 2, "c.toml: size", '"many"', "accepted")
        self.refused(["run"], 2, "MGPU_BENCH_TIME_LIMIT", '"soon"', "accepted", env={"MGPU_BENCH_TIME_LIMIT": "soon"})
        self.refused(["run"], 2, "MGPU_BENCH_STRICT", '"perhaps"', "accepted", env={"MGPU_BENCH_STRICT": "perhaps"})

    def test_a_misspelt_variable_is_warned_of(self):
        result = self.good("run", "merkle", *binary.DEVICES, "-n", 1, *defaults([]), env={"MGPU_BENCH_SISE": "4"})
        self.assertIn("MGPU_BENCH_SISE", result.err)


class ToldWithoutDevices(Case):
    def test_help_and_version_need_no_device(self):
        hidden = {"OCL_ICD_VENDORS": "/nonexistent"}
        self.assertIn("Examples", self.good("run", "--help", env=hidden).out)
        self.assertIn("--tree", self.good("run", "-h", env=hidden).out)
        for command in ("devices", "list", "run", "simulate", "report", "compare", "trace", "schema"):
            self.assertIn(command, self.good("--help", env=hidden).out)
            self.assertIn("Usage", self.good(command, "-h", env=hidden).out)
        version = self.good("--version", env=hidden).out
        self.assertRegex(version, r"mgpu-bench \d+\.\d+\.\d+ \(git ")
        self.assertIn("result schema 1", version)

    def test_lists_are_the_same_in_text_and_json(self):
        for what, some in (("suites", "merkle"), ("strategies", "proportional"), ("metrics", "imbalance_derose_percent")):
            with self.subTest(what=what):
                text = self.good("list", what).out
                listed = json.loads(self.good("list", what, "--json").out)
                self.assert_exact_schema(listed, "list")
                names = [entry["name"] for entry in listed[what]]
                self.assertIn(some, names)
                for name in names:
                    self.assertIn(name, text)

    def test_schemas_are_json_and_help_names_them_all(self):
        listed = re.search(r"One of ([a-z,\s]+?)\s*\n\s*\n", self.good("schema", "--help").out)[1]
        names = re.split(r",\s+", listed)
        self.assertEqual(names, ["calibrate", "compare", "devices", "list", "plan", "result", "scenario", "trace"])
        for name in names:
            schema = json.loads(self.good("schema", name).out)
            self.assertIn("$schema", schema)
            self.assertIn(f"/{name}-1.json", schema["$id"])


if __name__ == "__main__":
    binary.main()
