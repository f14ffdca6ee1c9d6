#!/usr/bin/env python3
"""`mgpu-bench calibrate`, and what `devices` and `run` make of it, as a user sees them. Usage: calibrate_test.py BINARY [unittest
arguments]. The helpers are those of binary.py. Figures are only ever compared with themselves."""

import json
import re
import shutil
from pathlib import Path

import binary
from binary import Case, mgpu

RATES = ("fp32_flops", "int32_ops", "memory_bytes_per_s", "pinned_up_bytes_per_s", "pinned_down_bytes_per_s",
         "pageable_up_bytes_per_s", "pageable_down_bytes_per_s")


class Calibrates(Case):
    measured = None  # the text of a calibration of merkle, and a folder that has what it cached

    def setUp(self):
        super().setUp()
        self.cache = Path(binary.SCRATCH) / "cache" / "mgpu-bench" / "calibration"  # beside built kernels, which stay
        shutil.rmtree(self.cache, ignore_errors=True)

    def take_measured(self):
        """What this machine can do is in the cache, for tests of what is done with that; returns how it was printed when it was measured."""
        if Calibrates.measured is None:
            return self.measure_anew()
        text, folder = Calibrates.measured
        shutil.copytree(folder, self.cache, dirs_exist_ok=True)
        return text

    def measure_anew(self):
        """Whatever is in the cache."""
        text, folder = self.calibration_text("--recalibrate"), Path(binary.SCRATCH) / "measured"
        shutil.copytree(self.cache, folder, dirs_exist_ok=True)
        Calibrates.measured = text, folder
        return text

    def calibration_text(self, *arguments):
        return self.good("calibrate", "merkle", *binary.DEVICES, "--no-noise", *arguments, env={"COLUMNS": "200"}).out

    def calibrate(self, *arguments, devices=None, **named):
        """Of the first device where it does not matter how many there are: each is measured for seconds, and two together once more."""
        result = self.good("calibrate", "merkle", *(devices or binary.DEVICES), "--no-noise", "--json", *arguments, **named)
        return json.loads(result.out), result.err

    def capabilities(self):
        """As `devices` has them in the same cache; nothing is measured."""
        result = self.good("devices", *binary.DEVICES, "--json")
        return [device["capability"] for device in json.loads(result.out)["devices"]], result.err

    def origins(self, report):
        link = [report["link"]["from"], report["peers"]["from"]] if len(report["devices"]) > 1 else []
        return {device["from"] for device in report["devices"]} | set(link)

    def damage(self, text):
        files = list(self.cache.glob("device-*.json"))
        self.assertEqual(len(files), binary.DEVICE_COUNT)
        for file in files:
            file.write_text(text(file.read_text()))

    def test_it_measures_caches_and_uses_what_it_cached(self):
        first, err = self.calibrate()
        self.assertEqual(err, "")
        self.assert_exact_schema(first, "calibrate")
        self.assert_exact_schema(json.loads(self.good("devices", *binary.DEVICES, "--json").out), "devices")  # with capabilities
        self.assertEqual(len(first["devices"]), binary.DEVICE_COUNT)
        for device in first["devices"]:
            for rate in RATES:
                self.assertGreater(device["capability"][rate], 0)
            self.assertGreater(device["capability"]["launch_ns"], 0)
            self.assertGreater(device["free_memory_bytes"], 0)
        self.assertGreater(first["link"]["up_bytes_per_s"], 0)
        self.assertEqual(self.origins(first), {"measured"})
        files = {file: file.read_bytes() for file in self.cache.iterdir()}
        devices = binary.DEVICE_COUNT  # a file each, one for the suite on it, and two for all together
        self.assertEqual(len(files), 2 * devices + 2 * (devices > 1))

        second, err = self.calibrate()
        self.assertEqual(err, "")
        self.assertEqual(self.origins(second), {"cached"})
        self.assertEqual([d["capability"] for d in second["devices"]], [d["capability"] for d in first["devices"]])
        self.assertEqual((second["peers"] or {}).get("pairs"), (first["peers"] or {}).get("pairs"))
        self.assertEqual({file: file.read_bytes() for file in self.cache.iterdir()}, files)

        self.assertEqual(self.capabilities(), ([d["capability"] for d in first["devices"]], ""))
        text = self.measure_anew()
        self.assertIn("measured", text)
        self.assertNotIn("cached", text)
        self.assertNotEqual({file: file.read_bytes() for file in self.cache.iterdir()}, files)

    def test_the_table_says_units_and_where_figures_come_from(self):
        wide = {"COLUMNS": "200"}
        self.assertNotIn("FLOP/s", self.good("devices", *binary.DEVICES, env=wide).out)
        text = self.take_measured()
        for word in ("FLOP/s", "B/s", "us", "measured"):
            self.assertIn(word, text)
        self.assertIn("cached", self.calibration_text())
        self.assertIn("FLOP/s", self.good("devices", *binary.DEVICES, env=wide).out)

    def test_it_keeps_what_each_pair_carries_and_runs_weigh_it_where_they_exchange_data(self):
        if binary.DEVICE_COUNT < 2:  # which is known when tests run
            self.skipTest("links are between devices")
        text = self.take_measured()
        self.assertRegex(text, r"between devices \(\w+ path\), from the row's to the column's: GB/s each way.*\(measured\)")
        calibrated, _ = self.calibrate()
        ids = [device["id"] for device in calibrated["devices"]]
        pairs = {(pair["from"], pair["to"]): pair for pair in calibrated["peers"]["pairs"]}
        self.assertEqual(set(pairs), {(a, b) for a in ids for b in ids if a != b})
        for pair in pairs.values():
            self.assertGreater(pair["bytes_per_s"], 0)
            self.assertGreater(pair["latency_ns"], 0)
        first = pairs[ids[0], ids[1]]
        requests = [run["plan"]["request"] for run in self.product("--peer", first["path"])["runs"] if len(run["devices"]) == len(ids)]
        exchanges = [request["exchange"] for request in requests if first["path"] != "staged"]
        for exchange in exchanges:
            self.assertTrue(exchange["gathers"])
            self.assertEqual(exchange["links"]["bytes_per_s"], first["bytes_per_s"])
            self.assertEqual(exchange["links"]["latency_ns"], first["latency_ns"])
        self.assertNotIn("exchange", self.product("--peer", "staged")["runs"][-1]["plan"]["request"])

        (file,) = self.cache.glob("peers-*.json")
        file.unlink()  # as an older version left the cache: nothing is weighed, nothing is said
        self.assertNotIn("exchange", self.product("--peer", first["path"])["runs"][-1]["plan"]["request"])
        calibrated, err = self.calibrate()
        self.assertEqual((calibrated["link"]["from"], calibrated["peers"]["from"], err), ("cached", "measured", ""))
        file.write_text(file.read_text().replace('"latency_ns":', '"latency_ns":-'))
        calibrated, err = self.calibrate()
        self.assertEqual(calibrated["peers"]["from"], "measured")
        self.assertIn("latency_ns", err)

    def product(self, *arguments):
        file = self.folder / "product.json"
        self.good("run", "matrix", *binary.DEVICES, "--size", 64, "--mode", "end-to-end", "-s", "equal", "-n", 1, "--warmup", 0, "-o", file,
                  *arguments)
        self.assert_schema(file, "result")
        return json.loads(file.read_text())

    def test_a_run_records_what_is_cached_and_measures_nothing(self):
        report = self.small()
        self.assertEqual([device["capability"] for device in report["devices"]], [{}] * binary.DEVICE_COUNT)
        self.assertFalse(self.cache.exists())
        self.take_measured()
        cached, _ = self.calibrate()
        self.assertEqual(self.origins(cached), {"cached"})
        report = self.small()
        self.assertEqual([d["capability"] for d in report["devices"]], [d["capability"] for d in cached["devices"]])
        self.assert_schema(self.folder / "small.json", "result")
        self.good("report", self.folder / "small.json")
        report = self.small("--no-cache")
        self.assertEqual([device["capability"] for device in report["devices"]], [{}] * binary.DEVICE_COUNT)

    def test_the_noise_it_finds_goes_with_results_and_is_the_floor_of_their_comparison(self):
        self.assertNotIn("noise_floor", self.small(devices=binary.ONE_DEVICE)["runs"][0])
        result = self.good("calibrate", "merkle", *binary.ONE_DEVICE, "--json")
        calibrated = json.loads(result.out)
        self.assert_exact_schema(calibrated, "calibrate")
        (noise,) = calibrated["noise"]
        if noise["noise"] is None:  # other programs disturbed it
            self.assertRegex(result.err, r"the noise of merkle.* was not cached: medians of the same work lay \d+ % apart.*idle machine")
            self.assertEqual(list(self.cache.glob("noise-*.json")), [])
            self.skipTest("this machine is too busy to measure noise")
        self.assertEqual(noise["from"], "measured")
        self.assertGreater(noise["noise"], 0)
        self.assertIn("medians of the same work lie up to", self.good("calibrate", "merkle", *binary.ONE_DEVICE).out)
        for file in self.cache.glob("noise-*.json"):  # one that is larger than any default
            file.write_text(re.sub(r'"noise": [0-9.e-]+', '"noise": 0.2', file.read_text()))
        report = self.small(devices=binary.ONE_DEVICE)
        self.assertEqual({run["noise_floor"] for run in report["runs"]}, {0.2})
        self.assert_schema(self.folder / "small.json", "result")
        compare = ["compare", self.folder / "small.json", self.folder / "small.json"]
        rows = json.loads(self.good(*compare, "--json", "-").out)["rows"]
        self.assertEqual({row["floor"] for row in rows}, {0.2})
        self.assertIn("by the noise that calibrate found: 20.0 % in merkle", self.good(*compare).out)
        rows = json.loads(self.good(*compare, "--floor", "3%", "--json", "-").out)["rows"]
        self.assertEqual({row["floor"] for row in rows}, {0.03})

    def test_a_run_can_be_told_to_measure_first(self):
        report = self.small("--recalibrate", "--no-cache", devices=binary.ONE_DEVICE)
        self.assertGreater(report["devices"][0]["capability"]["fp32_flops"], 0)
        self.assertFalse(self.cache.exists())
        report = self.small("--recalibrate", devices=binary.ONE_DEVICE)
        self.assertEqual([device["capability"] for device in report["devices"]], self.capabilities()[0][:1])

    def test_tuning_says_what_it_tried_keeps_the_fastest_and_runs_take_it(self):
        devices, count = (binary.DEVICES, binary.DEVICE_COUNT) if binary.THOROUGH else (binary.ONE_DEVICE, 1)
        tune = lambda: json.loads(self.good("calibrate", "matrix", *devices, "--no-noise", "--tune", "--json").out)
        report = tune()
        self.assert_exact_schema(report, "calibrate")
        works = {variant["work"] for variant in report["kernel_variants"]}
        self.assertIn("matrix precision=fp32", works)
        self.assertEqual(len(report["kernel_variants"]), len(works) * count)
        for work in works:
            first, *alike = [variant for variant in report["kernel_variants"] if variant["work"] == work]
            rates = {tried["variant"]: tried["ops_per_s"] or 0 for tried in first["tried"]}
            default, fastest = first["tried"][0]["variant"], max(rates, key=rates.get)
            self.assertGreater(len(rates), 1)
            self.assertIn(first["variant"], (default, fastest))
            self.assertGreater(rates[first["variant"]], 0)
            self.assertEqual({(variant["variant"], variant["from"]) for variant in [first, *alike]}, {(first["variant"], "measured")})
        chosen = {(variant["work"], variant["device"]): variant["variant"] for variant in report["kernel_variants"]}

        again = tune()["kernel_variants"]
        self.assertEqual({(variant["from"], len(variant["tried"])) for variant in again}, {("cached", 0)})
        self.assertEqual({(variant["work"], variant["device"]): variant["variant"] for variant in again}, chosen)

        file = self.folder / "product.json"
        self.good("run", "matrix", *binary.ONE_DEVICE, "--size", 256, "--mode", "resident", "-s", "equal", "-n", 1, "--warmup", 0, "-o", file)
        run = [run for run in json.loads(file.read_text())["runs"] if run["strategy"] == "equal"][-1]
        taken = {("matrix precision=fp32", device["device"]): device["kernel_variant"] for device in run["per_device"]}
        self.assertEqual(taken, {key: chosen[key] for key in taken})

    def test_without_a_cache_nothing_is_read_and_nothing_cached(self):
        report, err = self.calibrate("--no-cache")
        self.assertEqual((self.origins(report), err), ({"measured"}, ""))
        self.assertFalse(self.cache.exists())

    def test_damaged_and_outdated_files_are_warned_of_measured_anew_and_replaced(self):
        for text, why in ((lambda t: t[: len(t) // 2], "cut off"),
                          (lambda t: t.replace('"driver": "', '"driver": "old '), "another driver"),
                          (lambda t: t.replace('"fp32_flops": ', '"fp32_flops": -'), "fp32_flops")):
            with self.subTest(why=why):
                self.take_measured()
                self.damage(text)
                found, err = self.capabilities()
                self.assertEqual(found, [{}] * binary.DEVICE_COUNT)
                self.assertIn(why, err)
                report, err = self.calibrate(devices=binary.ONE_DEVICE)
                self.assertEqual([device["from"] for device in report["devices"]], ["measured"])
                self.assertIn("warning", err)
                self.assertIn(why, err)
                found, err = self.capabilities()  # the file of that device is whole again
                self.assertEqual(found, [d["capability"] for d in report["devices"]] + [{}] * (binary.DEVICE_COUNT - 1))
                self.assertEqual(len(err.splitlines()), binary.DEVICE_COUNT - 1, err)

    def test_a_cache_that_cannot_be_written_is_a_warning(self):
        (self.folder / "mgpu-bench").write_text("in the way")
        blocked = {"XDG_CACHE_HOME": str(self.folder)}
        report, err = self.calibrate(devices=binary.ONE_DEVICE, env=blocked)
        self.assertEqual(self.origins(report), {"measured"})
        self.assertIn("warning", err)
        self.assertIn("not cached", err)
        self.assertGreater(report["devices"][0]["capability"]["fp32_flops"], 0)

    def test_bad_options_are_named(self):
        self.refused(["calibrate", "--size", "4"], 2, '"--size"')
        self.refused(["calibrate", "merkel"], 2, "calibrate", '"merkel"', "accepted", "merkle")
        self.refused(["calibrate", "-d", "bogus"], 2, "--devices", "accepted")
        self.refused(["calibrate", "--sub-devices", "0"], 2, "--sub-devices", '"0"', "accepted")
        self.refused(["calibrate", "--no-cache=perhaps"], 2, "--no-cache", "accepted")
        self.refused(["calibrate"], 7, "/nonexistent", env={"OCL_ICD_VENDORS": "/nonexistent"})
        result = mgpu("calibrate", "-d", "name~no-such-device")
        self.assertEqual((result.code, result.out), (7, ""), result)
        self.assertIn("Usage", self.good("calibrate", "-h", env={"OCL_ICD_VENDORS": "/nonexistent"}).out)


if __name__ == "__main__":
    binary.main()
