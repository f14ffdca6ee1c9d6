#!/usr/bin/env python3
"""`mgpu-bench simulate` as a user sees it. Usage: simulate_test.py BINARY [unittest arguments]. The helpers are those of binary.py.
Time here is virtual, so that it can be asserted on."""

import json
from pathlib import Path

import binary
from binary import Case

EXAMPLES = Path(__file__).resolve().parent.parent / "data"
NODE, CLUSTER, LINKED = (EXAMPLES / f"{name}.scenario.json" for name in ("node8", "cluster1024", "linked4"))
NO_OPENCL = {"OCL_ICD_VENDORS": "/nonexistent"}


def with_short_lists(value):
    """The same form: a schema is held to every element of lists that have thousands, for ten seconds."""
    if isinstance(value, dict):
        return {key: with_short_lists(inner) for key, inner in value.items()}
    return [with_short_lists(inner) for inner in value[:8] + value[8:][-8:]] if isinstance(value, list) else value


class Scenarios(Case):
    def scenario(self, **changes):
        """Two devices of 1e9 items a second and 10 million items, changed; the file."""
        text = {"devices": [{"count": 2, "items_per_s": 1e9}], "work": {"items": 10_000_000}, **changes}
        file = self.folder / "s.json"
        file.write_text(json.dumps(text))
        return file

    def simulated(self, file, *arguments):
        out = self.folder / "out.json"
        self.good("simulate", file, "-o", out, *arguments, env=NO_OPENCL)
        report = json.loads(out.read_text())
        (self.folder / "short.json").write_text(json.dumps(with_short_lists(report)))
        self.assert_schema(self.folder / "short.json", "result")
        return report

    def times(self, report):
        return {(run["strategy"], run["mode"], len(run["devices"])): run["time_ns"]["median"] for run in report["runs"]}


class Simulates(Scenarios):
    def test_every_strategy_runs_on_stated_devices_without_opencl_and_verifies(self):
        report = self.simulated(NODE, "-s", "all,auto", "--device-counts", "1,2,4,8")
        strategies = {s["name"] for s in json.loads(self.good("list", "strategies", "--json").out)["strategies"]}
        self.assertEqual({run["strategy"].split(":")[0] for run in report["runs"]}, strategies)
        self.assertEqual({run["mode"] for run in report["runs"]}, {"resident", "end_to_end"})
        for run in report["runs"]:
            self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run["strategy"])
            self.assertEqual(run["suite"], "simulated merkle")
            self.assertEqual(len(run["samples_ns"]), 3)
        self.assertEqual(report["environment"]["simulated"], str(NODE))
        self.assertEqual([d["name"] for d in report["devices"]], ["H200"] * 8)

    def test_times_are_those_of_the_model(self):
        times = self.times(self.simulated(self.scenario(), "-s", "single,equal", "--mode", "resident", "-n", 1))
        self.assertEqual(times, {("single", "resident", 2): 10_000_000, ("equal", "resident", 2): 5_000_000})

    def test_what_a_sample_costs_besides_depends_on_who_takes_part_and_its_first_slice_is_spared_something(self):
        file = self.scenario(devices=[{"count": 4, "items_per_s": 1e9, "fixed_ns": 90_000, "per_peer_contention_ns": 10_000, "launch_ns": 5000,
                                       "first_slice_discount_ns": 2000}])
        report = self.simulated(file, "-s", "single,equal", "--mode", "resident", "-n", 1, "--device-counts", "2,4")
        times = self.times(report)
        self.assertEqual(times, {("single", "resident", 2): 10_063_000, ("equal", "resident", 2): 5_073_000,
                                 ("single", "resident", 4): 10_063_000, ("equal", "resident", 4): 2_593_000})
        for run in report["runs"]:
            self.assertEqual(run["plan"]["predicted_ns"], run["time_ns"]["median"], run["strategy"])

    def test_a_link_carries_by_how_many_devices_copy(self):
        file = self.scenario(devices=[{"count": 3, "items_per_s": 1e12}], link={"up": [1e9, 1.8e9, 2e9]},
                             work={"items": 6_000_000, "in_bytes": 1, "pipeline": 6_000_000})
        times = self.times(self.simulated(file, "-s", "single,equal", "--mode", "end-to-end", "-n", 1, "--device-counts", "2,3"))
        for strategy, count, rate in (("single", 2, 1e9), ("equal", 2, 1.8e9), ("equal", 3, 2e9)):
            self.assertAlmostEqual(times[strategy, "end_to_end", count], 6e6 / rate * 1e9, delta=2e4)

    def test_two_devices_on_one_link_that_feeds_one_gain_nothing_end_to_end(self):
        file = self.scenario(devices=[{"count": 2, "items_per_s": 1e12, "up": 1e9}], link={"up": 1e9},
                             work={"items": 1_000_000, "in_bytes": 10, "pipeline": 100_000})
        times = self.times(self.simulated(file, "-s", "single,equal", "--mode", "end-to-end", "-n", 1))
        alone, both = times["single", "end_to_end", 2], times["equal", "end_to_end", 2]
        self.assertLess(abs(both - alone), alone / 100)

    def test_a_slow_device_is_a_surprise_to_equal_shares_and_none_to_a_queue(self):
        file = self.scenario(devices=[{"items_per_s": 1e9, "slow": 3}, {"items_per_s": 1e9}])
        times = self.times(self.simulated(file, "-s", "equal,dynamic", "--mode", "resident", "-n", 1))
        self.assertEqual(times["equal", "resident", 2], 15_000_000)
        self.assertLess(times["dynamic", "resident", 2], 9_000_000)

    def gathering(self, **links):
        """Two devices that need 64 MB each, a gigabyte a second from the host, and compute for half a second together."""
        return self.scenario(devices=[{"count": 2, "items_per_s": 1e9, "up": 1e9}],
                             work={"items": 1_000_000, "replicated": 64_000_000}, **({"links": links} if links else {}))

    def test_an_input_that_all_need_is_gathered_over_links(self):
        whole, computing = 64e6, 0.5e6  # nanoseconds
        run = ("-s", "equal", "--mode", "end-to-end", "-n", 1)
        time = lambda *arguments: self.times(self.simulated(*arguments))["equal", "end_to_end", 2]
        self.assertAlmostEqual(time(self.gathering(), *run), whole + computing, delta=10)
        fast = time(self.gathering(bytes_per_s=1e12, latency_ns=1000), *run)
        self.assertAlmostEqual(fast, whole / 2 + computing, delta=2e4)
        # Pieces follow one another over the link while more comes from the host: the last is a quarter of a part.
        self.assertAlmostEqual(time(self.gathering(bytes_per_s=1e9), *run), whole / 2 * 1.25 + computing, delta=10)
        slow = {"pairs": [{"from": 1, "to": 0, "bytes_per_s": 1e8}]}
        self.assertAlmostEqual(time(self.gathering(**slow), *run), whole / 2 / 4 + whole / 2 * 10 + computing, delta=10)
        self.assertAlmostEqual(time(self.gathering(**slow), *run, "--peer", "staged"), whole + computing, delta=10)
        by_host = self.gathering(path="host", bytes_per_s=1e12, latency_ns=1000)  # only where it is asked for, as in a run
        self.assertAlmostEqual(time(by_host, *run), whole + computing, delta=10)
        self.assertEqual(time(by_host, *run, "--peer", "host"), fast)

    def test_what_is_predicted_over_links_is_what_happens_and_slow_links_are_a_reason_for_fewer_devices(self):
        for rate, devices in ((1e12, 2), (1e8, 1)):
            report = self.simulated(self.gathering(bytes_per_s=rate, latency_ns=1000), "-s", "equal,latency,auto", "--mode", "end-to-end", "-n", 1)
            for run in report["runs"]:
                self.assertAlmostEqual(run["plan"]["predicted_ns"], run["time_ns"]["median"], delta=10, msg=run["strategy"])
            auto = [run for run in report["runs"] if run["strategy"] == "auto"][0]
            self.assertEqual(len(auto["plan"]["chosen"]["devices"]), devices)
            latency = [run for run in report["runs"] if run["strategy"] == "latency"][0]
            self.assertEqual(sum(device["items"] > 0 for device in latency["per_device"]), devices)

    def test_parts_of_a_result_are_combined_over_links_instead_of_on_the_host(self):
        work = {"items": 1 << 20, "merge_per_slice_ns": 10_000_000, "merge_tree": True, "merge_bytes": 64_000_000}
        links = {"bytes_per_s": 1e10, "latency_ns": 1000}
        run = ("-s", "single,equal", "--mode", "resident", "-n", 1)
        merges = lambda file: {r["strategy"]: r["merge_ns"] for r in self.simulated(file, *run)["runs"]}
        self.assertEqual(merges(self.scenario(work=work)), {"single": 0, "equal": 20_000_000})
        # Half of its part to the other, and a signal.
        self.assertEqual(merges(self.scenario(work=work, links=links)), {"single": 0, "equal": 3_202_000})

    def test_links_of_a_simulation_are_those_of_a_simulation_of_it(self):
        for path, more in (("direct", ()), ("host", ("--peer", "host"))):
            file = self.gathering(path=path, bytes_per_s=3e9, latency_ns=1000, pairs=[{"from": 1, "to": 0, "bytes_per_s": 1e9}])
            run = ("-s", "equal,dynamic", "--mode", "end-to-end", "-n", 1)
            report = self.simulated(file, *run, *more)
            exchange = report["runs"][0]["plan"]["request"]["exchange"]
            self.assertEqual((exchange["gathers"], exchange["links"]["path"], len(exchange["links"]["pairs"])), (True, path, 1))
            again = self.folder / "again.json"
            self.good("simulate", "--from", self.folder / "out.json", *run, "-o", again)
            self.assertEqual(self.times(json.loads(again.read_text())), self.times(report))

    def test_a_cluster_of_1024_is_simulated_and_its_trace_obeys_the_rules(self):
        trace = self.folder / "t.json"
        report = self.simulated(CLUSTER, "-s", "equal,dynamic", "--mode", "resident", "-n", 1, "--trace", trace)
        self.assertEqual(len(report["devices"]), 1024)
        times = self.times(report)
        self.assertLess(times["dynamic", "resident", 1024], times["equal", "resident", 1024])
        self.good("trace", "--check", trace)

    def test_json_on_standard_output_is_alone_there_and_report_reads_it(self):
        result = self.good("simulate", self.scenario(), "--json", "-", "-s", "equal", "-n", 1)
        file = self.folder / "out.json"
        file.write_text(result.out)
        self.assertEqual(json.loads(result.out)["schema"], "mgpu-bench/result")
        self.assertIn("simulated", self.good("report", file).out)

    def test_what_does_not_fit_is_unsupported_resident_and_runs_end_to_end(self):
        file = self.scenario(devices=[{"count": 2, "items_per_s": 1e9, "memory": 1_000_000}], work={"items": 1_000_000, "in_bytes": 8})
        report = self.simulated(file, "-s", "equal", "-n", 1)
        self.assertEqual({run["mode"]: run["status"] for run in report["runs"]}, {"resident": "unsupported", "end_to_end": "ok"})


class SimulatesAResult(Scenarios):
    def result(self, *estimated):
        """A result of two devices and two strategies, whose cases of these numbers carry estimates."""
        report = self.simulated(self.scenario(), "-s", "single,equal", "--mode", "resident", "-n", 1)
        for run in report["runs"]:  # as files were written before predictions were made
            run["plan"] = {key: run["plan"][key] for key in ("decision_ns", "predicted_ns")}
        for number in estimated:
            estimate = {"items_per_s": 5e8, "fixed_ns": 0, "launch_ns": 0, "transfer_ns": 0, "up": 0, "down": 0, "fits": 4_000_000,
                        "pipeline": 4_000_000, "free_memory": 0}
            report["runs"][number]["plan"]["estimates"] = [estimate, estimate]
            report["runs"][number]["plan"]["request"] = {
                "items": 4_000_000, "granularity": 1, "in_bytes": 0, "out_bytes": 0, "replicated": 0, "link_up": 0, "link_down": 0,
                "merge_fixed_ns": 100, "merge_per_slice_ns": 10 * number}
        file = self.folder / "r.json"
        file.write_text(json.dumps(report))
        return file

    def again(self, *arguments):
        out = self.folder / "again.json"
        self.good("simulate", "--from", *arguments, "-s", "equal", "--mode", "resident", "-n", 1, "-o", out)
        return json.loads(out.read_text())["runs"][0]["time_ns"]["median"]

    def test_the_first_case_with_most_devices_at_work_is_taken_or_the_one_that_is_named(self):
        file = self.result(0, 1)
        self.assert_schema(file, "result")
        self.assertEqual(self.again(file), 4_000_000 + 100 + 2 * 10)
        self.assertEqual(self.again(file, "--case", 0), 4_000_000 + 100)
        self.assertEqual(self.again(self.result(0)), 4_000_000 + 100)

    def test_a_simulation_of_a_simulation_is_the_same(self):
        report = self.simulated(NODE, "-s", "single,equal", "--mode", "end-to-end", "-n", 1)
        again = self.folder / "again.json"
        self.good("simulate", "--from", self.folder / "out.json", "-s", "single,equal", "--mode", "end-to-end", "-n", 1, "-o", again)
        self.assertEqual(self.times(json.loads(again.read_text())), self.times(report))
        self.assertEqual(json.loads(again.read_text())["runs"][0]["suite"], "simulated merkle")

    def test_devices_and_work_of_a_real_run_are_simulated(self):
        real, again = self.folder / "real.json", self.folder / "again.json"
        self.good("run", "merkle", *binary.DEVICES, "--size", "2^14", "-s", "equal", "-n", 1, "-o", real)
        self.good("simulate", "--from", real, "-s", "equal", "-o", again)
        report = json.loads(again.read_text())
        self.assertEqual([d["name"] for d in report["devices"]], [d["name"] for d in json.loads(real.read_text())["devices"]])
        self.assertEqual({run["verify"]["status"] for run in report["runs"]}, {"passed"})
        self.assertEqual(report["runs"][0]["rate"]["unit"], "nodes/s")

    def test_a_real_case_is_simulated_as_it_was_measured_or_as_it_was_predicted(self):
        real, again = self.folder / "real.json", self.folder / "again.json"
        self.good("run", "merkle", *binary.DEVICES, "--size", "2^16", "--mode", "both", "-s", "equal", "-n", 3, "-o", real)
        for number, run in enumerate(json.loads(real.read_text())["runs"]):
            if run["strategy"] != "equal":
                continue
            mode = run["mode"].replace("_", "-")
            for told, wanted in (["--as-predicted"], run["plan"]["predicted_ns"]), ([], run["timeline"]["makespan_ns"]):
                self.good("simulate", "--from", real, "--case", number, "-s", "equal", "--mode", mode, "-o", again, *told)
                simulated = json.loads(again.read_text())["runs"][-1]
                self.assertAlmostEqual(simulated["time_ns"]["median"] / wanted, 1, delta=0.02, msg=(number, told))
                self.assertAlmostEqual(simulated["plan"]["predicted_ns"] / run["plan"]["predicted_ns"], 1, delta=0.02, msg=(number, told))

    def test_devices_that_were_not_measured_are_like_the_last_one(self):
        file, grown = self.scenario(devices=[{"name": "one", "items_per_s": 1e6}, {"name": "other", "items_per_s": 2e6}],
                                    work={"items": 10**6}), self.folder / "grown.json"
        self.good("simulate", file, "--grow-to", 5, "-s", "capability", "--mode", "resident", "-n", 1, "-o", grown)
        report = json.loads(grown.read_text())
        self.assertEqual([device["name"] for device in report["devices"]], ["one"] + 4 * ["other"])
        self.assertAlmostEqual(report["runs"][-1]["time_ns"]["median"], 1e9 / 9, delta=2e6)
        self.assertIn("3 devices like its last", report["environment"]["simulated"])
        for counts in ("1", "no", "4097"):
            self.refused(["simulate", file, "--grow-to", counts], 2, "--grow-to", f'"{counts}"', "accepted")

    def test_a_result_without_estimates_or_without_that_case_is_refused(self):
        self.refused(["simulate", "--from", self.result()], 2, "--from", "r.json", "plan.estimates")
        file = self.result(1)
        self.refused(["simulate", "--from", file, "--case", 0], 2, "--from", "r.json", "case 0", "plan.estimates")
        self.refused(["simulate", "--from", file, "--case", 9], 2, "r.json", "2 cases", "9")
        self.refused(["simulate", "--from", file, "--case", "one"], 2, "--case", '"one"', "accepted")
        self.refused(["simulate", "--from", self.folder / "none.json"], 2, "none.json")
        self.refused(["simulate", "--from", self.scenario()], 2, "s.json", "schema")


class RefusesBadScenarios(Scenarios):
    def refused_with(self, *names, **changes):
        return self.refused(["simulate", self.scenario(**changes)], 2, "s.json", *names)

    def test_keys_and_numbers_are_named_with_what_is_accepted(self):
        device = {"items_per_s": 1e9}
        self.refused_with("devices[0]", '"speed"', "accepted", "items_per_s", devices=[{"speed": 1}])
        self.refused_with("devices[0].items_per_s", "missing", devices=[{}])
        self.refused_with("devices[0].items_per_s", '"-1.0"', "above 0", devices=[{"items_per_s": -1.0}])
        self.refused_with("devices[1].items_per_s", '"0"', "above 0", devices=[device, {"items_per_s": 0}])
        self.refused_with("devices[0].count", '"100000000"', "4096", devices=[{**device, "count": 100_000_000}])
        self.refused_with("devices[1].count", "4097", devices=[{**device, "count": 2}, {**device, "count": 4095}])
        self.refused_with("devices[0].slow", '"0.5"', "from 1", devices=[{**device, "slow": 0.5}])
        self.refused_with("devices", "at least one", devices=[])
        self.refused_with("links", '"way"', "accepted", "path", links={"way": "direct"})
        self.refused_with("links.path", '"nvlink"', "direct, staged, host", links={"path": "nvlink"})
        self.refused_with("links.pairs[0].to", '"2"', "from 0 to 1", links={"pairs": [{"from": 0, "to": 2}]})
        self.refused_with("links.bytes_per_s", '"-1"', "from 0", links={"bytes_per_s": -1})
        self.refused_with("work.items", '"0"', "from 1", work={"items": 0})
        self.refused_with("work.items", "missing", work={})
        self.refused_with("work.granularity", '"-3"', work={"items": 1, "granularity": -3})
        self.refused_with('"linked"', "accepted", "link, links", linked={})
        self.refused_with("links", '"up"', "accepted", links={"up": 1e9})  # the host link is called link
        self.refused_with("link.up", '"-5"', link={"up": -5})

    def test_what_would_never_end_is_refused(self):
        self.refused_with("device 0", "1e+07 s", devices=[{"items_per_s": 1e-9}])
        self.refused_with("device 0", "slices", work={"items": 2**60, "pipeline": 1}, devices=[{"items_per_s": 1e17}])

    def test_files_that_are_no_scenario_are_refused(self):
        self.refused(["simulate", self.folder / "none.json"], 2, "none.json", "cannot be opened")
        self.refused(["simulate", self.folder], 2, str(self.folder), "directory")
        bad = self.folder / "bad.json"
        for text in ("", "{", "[]", "5"):
            bad.write_text(text)
            with self.subTest(text=text):
                self.refused(["simulate", bad], 2, "bad.json")

    def test_the_command_line_is_checked_like_that_of_run(self):
        file = self.scenario()
        self.refused(["simulate"], 2, "simulate", "accepted", "--from")
        self.refused(["simulate", file, "--from", file], 2, "simulate", "--from")
        self.refused(["simulate", file, file], 2, "simulate")
        self.refused(["simulate", file, "--case", 1], 2, "--case", "--from")
        self.refused(["simulate", file, "--as-predicted"], 2, "--as-predicted", "--from")
        self.refused(["simulate", file, "-s", "bogus"], 2, "bogus", "dynamic")
        self.refused(["simulate", file, "--mode", "bogus"], 2, "--mode", '"bogus"', "accepted")
        self.refused(["simulate", file, "-n", "0"], 2, "--samples", '"0"', "accepted")
        self.refused(["simulate", file, "--device-counts", "0"], 2, "--device-counts", '"0"', "accepted")
        self.refused(["simulate", file, "--device-counts", "3", "--strict"], 2, "--device-counts", '"3"')
        self.refused(["simulate", file, "--size", "3"], 2, '"--size"')
        self.refused(["simulate", file, "-o", self.folder], 1, str(self.folder))

    def test_a_case_is_simulated_in_its_own_mode_unless_another_is_asked_for(self):
        file = self.folder / "r.json"
        self.good("simulate", self.scenario(), "-s", "equal", "--mode", "end-to-end", "-o", file, env=NO_OPENCL)
        again = self.folder / "again.json"
        out = self.good("simulate", "--from", file, "-s", "equal", "-o", again, env=NO_OPENCL).out
        self.assertEqual({run["mode"] for run in json.loads(again.read_text())["runs"]}, {"end_to_end"})
        self.assertIn("case 0: equal, end to end", out)
        self.assertNotIn("verified\n", out.replace("nothing was verified", ""))
        self.good("simulate", "--from", file, "-s", "equal", "--mode", "both", "-o", again, env=NO_OPENCL)
        self.assertEqual(len(json.loads(again.read_text())["runs"]), 2)

    def test_help_and_schema_tell_what_a_scenario_is(self):
        self.assertIn("Examples", self.good("simulate", "-h", env=NO_OPENCL).out)
        for example in (NODE, CLUSTER, LINKED, self.scenario(links={})):
            self.assert_schema(example, "scenario")


if __name__ == "__main__":
    binary.main()
