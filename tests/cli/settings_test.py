#!/usr/bin/env python3
"""Flags, environment, config file; and what is told without a device. Usage: settings_test.py BINARY [unittest arguments]."""

import json
import re

import binary
from binary import Case, defaults

class LayersOfSettings(Case):
    def size(self, *arguments, **named):
        file = self.folder / "layers.json"
        self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "--warmup", 0, "--mode", "resident", "-s", "single", "-o", file, *arguments, **named)
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
        result = self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "-s", "single", "--mode", "resident", "--config", config, "--json", "-")
        self.assertEqual([run["params"]["leaves"] for run in json.loads(result.out)["runs"]], [64, 128])
        self.assertEqual(result.err, "")

    def test_a_switch_given_twice_is_on_all_the_same(self):
        result = self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "-q", "-q", "--quiet", *defaults([]))
        self.assertEqual(result.err, "")
        self.assertNotEqual(self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "-q", "--quiet=false", *defaults([])).err, "")
        self.refused(["run", "--seed", "1", "--seed", "1"], 2, "--seed", "once")

    def test_other_names_of_options_work_in_every_layer_and_not_beside_the_option(self):
        config = self.folder / "c.toml"
        config.write_text("sync_timeout_ms = 60000\nmax_devices = 1\nload_balancing_strategy = \"equal\"\n")
        dumped = self.good("run", "merkle", "--config", config, "--device-filter", "cpu", "--dump-config", env={"MGPU_BENCH_MEMORY_POOL_SIZE_MB": "64"}).out
        for line in ('timeout = "60000ms"', 'max-devices = "1"', 'strategy = "equal"', 'devices = "cpu"', 'memory-pool-size-mb = "64"', 'suites = "merkle"'):
            self.assertIn(line + "\n", dumped)
        config.write_text("sync_timeout_ms = 500\ntimeout = \"1s\"\n")
        self.refused(["run", "--config", config], 2, "c.toml: timeout", "another name of", "c.toml: sync_timeout_ms")
        self.refused(["run", "-s", "equal", "--load-balancing-strategy", "dynamic"], 2, "--load-balancing-strategy", "another name of --strategy")
        self.refused(["run"], 2, "MGPU_BENCH_DEVICE_FILTER", "another name of", "MGPU_BENCH_DEVICES",
                     env={"MGPU_BENCH_DEVICE_FILTER": "gpu", "MGPU_BENCH_DEVICES": "cpu"})
        self.refused(["run", "--sync-timeout-ms", "5s"], 2, "--sync-timeout-ms", '"5s"', "accepted")
        self.refused(["run", "--sync-timeout-ms", "0"], 2, "--sync-timeout-ms", "no time at all")
        over = self.good("run", "--timeout", "9s", "--dump-config", env={"MGPU_BENCH_SYNC_TIMEOUT_MS": "500"})
        self.assertIn('timeout = "9s"\n', over.out)

    def test_results_record_the_options_that_samples_were_taken_under_whatever_layer_gave_them(self):
        report = self.small("--verify", "sample", "--time-limit", "10m", devices=binary.ONE_DEVICE, env={"MGPU_BENCH_BUILD_TIMEOUT": "9s"})
        expected = {"build_timeout_ns": 9_000_000_000, "samples": 1, "seed": 1, "timeout_ns": None, "time_limit_ns": None, "verify": "sample"}
        self.assertEqual({name: report["options"].get(name) for name in expected}, expected)
        self.assertEqual(self.small("--quick", "--timeout", "1m", devices=binary.ONE_DEVICE)["options"]["quick"], "yes")
        self.assertEqual(self.small("--timeout", "1m", devices=binary.ONE_DEVICE)["options"]["timeout_ns"], 60_000_000_000)
        self.assert_schema(self.folder / "small.json", "result")

    def test_a_memory_pool_bounds_every_device_and_the_record_says_so(self):
        report = self.small("--memory-pool-size-mb", 64, "--cap-memory", "0=32MiB")
        caps = [device["handicap"]["memory_cap_bytes"] for device in report["devices"]]
        self.assertEqual(caps, [32 << 20] + [64 << 20] * (binary.DEVICE_COUNT - 1))
        self.assertTrue(all(d["bytes_resident"] <= 64 << 20 for run in report["runs"] for d in run["per_device"]))
        for bad in ("0", "-1", "x", "1.5", str(2**62)):
            self.refused(["run", "--memory-pool-size-mb", bad], 2, "--memory-pool-size-mb", f'"{bad}"', "accepted")
        self.refused(["run", "--memory-pool-size-mb", "64", "--recalibrate"], 2, "--memory-pool-size-mb", "--recalibrate")

    def test_what_is_dumped_is_read_back_as_the_same(self):
        config = self.folder / "c.toml"
        config.write_text('require = "time<=1h"\nsamples = 2\n')
        words = ["merkle", *binary.DEVICES, "--size", "2^8,2^9", "-s", "equal,dynamic:chunks=4", "--mode", "resident", "--warmup", "0", "-q", "-q",
                 "--slow", "0=2", "--tree", "rfc6962", "--config", config]
        first = self.good("run", *words, "--dump-config", env={"MGPU_BENCH_SEED": "7", "MGPU_BENCH_STRICT": "no"})
        dumped = self.folder / "dumped.toml"
        dumped.write_text(first.out)
        self.assertEqual(self.good("run", "--config", dumped, "--dump-config").out, first.out)
        for line in ('seed = "7"', "strict = false", "quiet = true", 'samples = "2"', 'tree = "rfc6962"'):
            self.assertIn(line + "\n", first.out)
        a, b = self.folder / "a.json", self.folder / "b.json"
        self.good("run", *words, "-o", a, env={"MGPU_BENCH_SEED": "7"})
        self.good("run", "--config", dumped, "-o", b)
        told = [[(run["suite"], run["params"], run["strategy"], run["strategy_params"], run["devices"], run["mode"], len(run["samples_ns"]),
                  run["verify"]["digest"]) for run in json.loads(file.read_text())["runs"]] for file in (a, b)]
        self.assertEqual(told[0], told[1])

    def test_what_is_dumped_holds_any_text(self):
        text = 'a "quoted" \\ \x1b[2J \u202e name\n# of'
        file = self.folder / "dumped.toml"
        dumped = self.good("run", "--device-filter", "name~" + text, "--dump-config").out
        self.assertEqual([c for c in dumped if c != "\n" and (ord(c) < 32 or c == "\u202e")], [])
        file.write_text(dumped)
        self.assertEqual(self.good("run", "--config", file, "--dump-config").out, dumped)

    def test_suites_are_named_in_one_place(self):
        config = self.folder / "c.toml"
        config.write_text('suites = ["matrix", "merkle"]\n')
        self.assertIn('suites = "matrix,merkle"', self.good("run", "--config", config, "--dump-config").out)
        self.assertIn('suites = "msm"', self.good("run", "msm", "--config", config, "--dump-config").out)
        self.refused(["run", "merkle", "--suites", "msm"], 2, "--suites", "arguments")
        self.refused(["run", "--suites", "mercle"], 2, '"mercle"', "merkle")

    def test_a_misspelt_key_or_variable_is_told_what_it_may_have_meant(self):
        config = self.folder / "c.toml"
        config.write_text("\nstratgy = 'equal'\n")
        self.refused(["run", "--config", config], 2, "c.toml", "line 2", '"stratgy"', 'did you mean "strategy"?')
        config.write_text("max_device = 1\n")
        self.refused(["run", "--config", config], 2, '"max_device"', 'did you mean "max-devices"?')
        result = self.good("run", "--dump-config", env={"MGPU_BENCH_SISE": "4"})
        self.assertIn('MGPU_BENCH_SISE is set, but there is no such option; did you mean "MGPU_BENCH_SIZE"?', result.err)

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
        result = self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, *defaults([]), env={"MGPU_BENCH_SISE": "4"})
        self.assertIn("MGPU_BENCH_SISE", result.err)


class ToldWithoutDevices(Case):
    def test_help_and_version_need_no_device(self):
        hidden = {"OCL_ICD_VENDORS": "/nonexistent"}
        self.assertIn("Examples", self.good("run", "--help", env=hidden).out)
        self.assertIn("--tree", self.good("run", "--help-all", env=hidden).out)
        self.assertNotIn("--tree", self.good("run", "-h", env=hidden).out)
        for command in ("devices", "list", "run", "simulate", "report", "compare", "trace", "schema"):
            self.assertIn(command, self.good("--help", env=hidden).out)
            self.assertIn("Usage", self.good(command, "-h", env=hidden).out)
        version = self.good("--version", env=hidden).out
        self.assertRegex(version, r"mgpu-bench \d+\.\d+\.\d+ \(git ")
        self.assertIn("result schema 2", version)

    def test_help_is_for_80_columns_and_has_what_most_people_need_first(self):
        hidden = {"OCL_ICD_VENDORS": "/nonexistent"}
        overview = self.good("--help", env=hidden).out
        self.assertEqual(overview, self.good("help", env=hidden).out)
        commands = re.findall(r"^  ([a-z]+) ", overview.split("Commands:")[1].split("Options:")[0], re.M)
        self.assertIn("help", commands)
        for command in commands:
            short, every = self.good("help", command, env=hidden).out, self.good("help", command, "--all", env=hidden).out
            self.assertEqual(short, self.good(command, "--help", env=hidden).out)
            self.assertEqual(every, self.good(command, "--help-all", env=hidden).out)
            for line in (overview + every).splitlines():
                self.assertLessEqual(len(line), 80, line)
        run = self.good("help", "run", env=hidden).out
        self.assertEqual(len(re.findall(r"^  (?:-\w, )?--", run, re.M)), 13)  # with --help and --help-all
        self.assertIn("mgpu-bench run --help-all", run)

    def test_json_and_the_files_of_results_are_asked_for_alike_in_every_command(self):
        hidden, with_json, with_o = {"OCL_ICD_VENDORS": "/nonexistent"}, set(), {}
        for command in re.findall(r"^  ([a-z]+) ", self.good("--help", env=hidden).out.split("Commands:")[1].split("Options:")[0], re.M):
            every = self.good(command, "--help-all", env=hidden).out
            for letter, name, value in re.findall(r"(?m)^  (-\w, |)--([\w-]+)( [^ \n]+|)", every):
                if name == "json":
                    with_json.add(command)
                    self.assertEqual((letter, value), ("", ""), command)
                if letter == "-o, ":
                    with_o[command] = (name, value)
        self.assertLessEqual({"devices", "calibrate", "plan", "list", "run", "simulate", "compare", "links"}, with_json)
        self.assertEqual(with_o, {**dict.fromkeys(("run", "simulate", "compare", "links"), ("result", " FILE")), "trace": ("trace", " FILE")})

    def test_a_misspelt_command_or_option_is_told_what_it_may_have_been(self):
        self.refused(["merkel"], 2, '"merkel"', "accepted")
        self.refused(["rnu", "--help"], 2, '"rnu"', 'did you mean "run"?')
        self.refused(["help", "rnu"], 2, '"rnu"', 'did you mean "run"?')
        self.refused(["run", "--sise", "4"], 2, '"--sise"', 'did you mean "--size"?')
        self.refused(["run", "--devcies=gpu"], 2, 'did you mean "--devices"?')
        self.refused(["run", "merkel"], 2, 'did you mean "merkle"?')
        self.refused(["run", "-s", "dynamik"], 2, 'did you mean "dynamic"?')
        self.refused(["run", "--mode", "residnet"], 2, 'did you mean "resident"?')

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
        self.assertEqual(names, ["calibrate", "compare", "devices", "links", "list", "plan", "result", "scaling", "scenario", "trace"])
        for name in names:
            schema = json.loads(self.good("schema", name).out)
            self.assertIn("$schema", schema)
            version = schema["properties"].get("schema_version", {}).get("const", 1)
            self.assertIn(f"/{name}-{version}.json", schema["$id"])
            if "version" in schema["title"]:
                self.assertIn(f", version {version}", schema["title"])


if __name__ == "__main__":
    binary.main()
