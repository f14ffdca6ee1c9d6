#!/usr/bin/env python3
"""Nodes in a scenario: `simulate`, `simulate --nodes` and `plan --scenario`. Usage: nodes_test.py BINARY [unittest arguments]. Time here
is virtual, so that it can be asserted on."""

import json
import subprocess
import sys
from pathlib import Path

import binary
from binary import Case

ROOT = Path(__file__).resolve().parent.parent.parent
LARGE = ROOT / "tests/data/nodes1024.scenario.json"
NO_OPENCL = {"OCL_ICD_VENDORS": "/nonexistent"}


class Nodes(Case):
    def scenario(self, **changes):
        """Two nodes of two devices of 1e9 items a second, and 10 million items of a byte; the file."""
        text = {"devices": [{"count": 2, "items_per_s": 1e9}], "nodes": {"count": 2}, "work": {"items": 10_000_000, "in_bytes": 1}, **changes}
        file = self.folder / "s.json"
        file.write_text(json.dumps(text))
        return file

    def scaling(self, *arguments):
        out = self.folder / "scaling.json"
        self.good("simulate", *arguments, "-o", out, env=NO_OPENCL)
        self.assert_schema(out, "scaling")
        return json.loads(out.read_text())

    def session(self, file, *arguments):
        out = self.folder / "result.json"
        self.good("simulate", file, "-o", out, "-n", 1, *arguments, env=NO_OPENCL)
        self.assert_schema(out, "result")
        return json.loads(out.read_text())

    def test_strong_and_weak_scaling_are_in_one_table_and_in_the_file(self):
        file = self.scenario(nodes={"count": 2, "latency_ns": 1000})
        rows = self.scaling(file, "--nodes", "1,2,4", "-s", "equal", "--mode", "resident")["rows"]
        found = [(row["scaling"], row["nodes"], row["devices"], row["items"], row["time_ns"]) for row in rows]
        self.assertEqual(found, [("strong", 1, 2, 10_000_000, 5_000_000), ("strong", 2, 4, 10_000_000, 2_502_000),
                                 ("strong", 4, 8, 10_000_000, 1_252_000), ("weak", 1, 2, 5_000_000, 2_500_000),
                                 ("weak", 2, 4, 10_000_000, 2_502_000), ("weak", 4, 8, 20_000_000, 2_502_000)])
        self.assertAlmostEqual(rows[2]["efficiency"], 5_000_000 / 4 / 1_252_000)
        self.assertAlmostEqual(rows[5]["efficiency"], 2_500_000 / 2_502_000)
        out = self.good("simulate", file, "--nodes", "1..4", "-s", "equal", "--mode", "resident", env=NO_OPENCL).out
        self.assertRegex(out, r"equal +4 +8 +1\.25 ms +3\.99 +99\.8 .* 2\.50 ms +4\.00 +99\.9")
        self.assertEqual(json.loads(self.good("simulate", file, "--nodes", "2", "-s", "equal", "--json", env=NO_OPENCL).out)["schema"],
                         "mgpu-bench/scaling")

    def test_end_to_end_all_goes_through_node_0(self):
        file = self.scenario(nodes={"count": 4, "root_bytes_per_s": 1e9, "bytes_per_s": 1e12})
        rows = self.scaling(file, "--nodes", "4,64", "-s", "equal", "--mode", "end-to-end")["rows"]
        for row in rows[:2]:  # all but node 0's part takes a nanosecond a byte
            there = row["items"] * (1 - 1 / row["nodes"])
            self.assertAlmostEqual(row["time_ns"] / there, 1, delta=0.05, msg=row)
            self.assertAlmostEqual(row["sending_ns"] / there, 1, delta=0.001, msg=row)

    def test_a_session_has_the_nodes_in_its_devices_and_takes_as_long(self):
        file = self.scenario(nodes={"count": 2, "latency_ns": 1000, "bytes_per_s": 2e9, "different": [{"node": 1, "rate": 0.5}]})
        report = self.session(file, "-s", "single,equal,capability,dynamic,auto")
        self.assertEqual([device["id"] for device in report["devices"]], ["0:0", "0:1", "1/0:2", "1/0:3"])
        self.assertEqual(report["devices"][2]["node"], 1)
        rows = self.scaling(file, "--nodes", "2", "-s", "equal,capability", "--mode", "resident")["rows"]
        times = {(run["strategy"], run["mode"]): run for run in report["runs"]}
        for run in report["runs"]:
            self.assertEqual(run["verify"]["status"], "passed", run["strategy"])
            self.assertAlmostEqual(run["plan"]["predicted_ns"] / run["time_ns"]["median"], 1, delta=0.002, msg=run["strategy"])
        for row in rows[:1] + rows[2:3]:
            self.assertAlmostEqual(row["time_ns"] / times[row["strategy"], "resident"]["time_ns"]["median"], 1, delta=0.001)
        self.assertLess(times["capability", "resident"]["time_ns"]["median"], times["equal", "resident"]["time_ns"]["median"])

    def test_a_thousand_nodes_are_simulated_and_planned_without_any_device(self):
        report = self.scaling(LARGE, "--nodes", "2..1024", "-s", "equal,capability", "--mode", "resident")
        last = [row for row in report["rows"] if row["nodes"] == 1024]
        self.assertEqual([row["devices"] for row in last], [8192] * 4)
        self.assertTrue(all(0.5 < row["efficiency"] <= 1.001 for row in last), last)
        out = self.good("plan", "--scenario", LARGE, "--mode", "resident", env=NO_OPENCL).out
        self.assertRegex(out, r"resident: \w+ on 0:0, 0:1, \.\. 1023/0:8191: 8192 devices")
        plans = json.loads(self.good("plan", "--scenario", self.scenario(), "--json", env=NO_OPENCL).out)["plans"]
        self.assertEqual({plan["mode"] for plan in plans}, {"resident", "end_to_end"})
        self.assertEqual(plans[0]["predicted_ns"], 2_500_000)

    def test_a_result_of_one_node_is_simulated_on_more_over_the_network_that_is_given(self):
        self.session(self.scenario(nodes={"count": 1}), "-s", "equal", "--mode", "resident")
        found = lambda *more: [row["time_ns"] for row in self.scaling("--from", self.folder / "result.json", "-s", "equal", "--nodes", "1,2",
                                                                      *more)["rows"][:2]]
        self.assertEqual(found(), [5_000_000, 2_500_000])
        self.assertEqual(found("--network", "latency=2us,hand-out=1us,bandwidth=1GB/s"), [5_000_000, 2_500_000 + 4_000 + 2_000])

    def test_a_result_of_several_nodes_has_the_network_in_its_figures(self):
        self.session(self.scenario(nodes={"count": 2}), "-s", "equal", "--mode", "resident")
        file = self.folder / "result.json"
        rows = self.scaling("--from", file, "-s", "equal", "--nodes", "2,4")["rows"]
        self.assertEqual([(row["devices"], row["items"], row["time_ns"]) for row in rows],
                         [(4, 10_000_000, 2_500_000), (8, 10_000_000, 1_250_000), (4, 10_000_000, 2_500_000), (8, 20_000_000, 2_500_000)])
        self.refused(["simulate", "--from", file, "--nodes", "4", "--network", "latency=1us"], 2, "--network", "several nodes")

    def test_a_picture_is_drawn_of_each_mode(self):
        self.scaling(self.scenario(), "--nodes", "1..64", "-s", "equal,dynamic")
        done = subprocess.run([sys.executable if sys.executable else "python3", ROOT / "scripts/plot.py", self.folder / "scaling.json", "-o", self.folder,
                               "--format", "svg"], capture_output=True, text=True)
        if "matplotlib is missing" in done.stderr:
            self.skipTest("no matplotlib")
        self.assertEqual([Path(line).name for line in done.stdout.split()],
                         ["nodes-simulated-resident.svg", "nodes-simulated-end-to-end.svg"], done.stderr)
        picture = (self.folder / "nodes-simulated-resident.svg").read_text()
        for word in ("strong: 10,000,000 items", "weak: 5,000,000 to 320,000,000 items", "dynamic", "nodes, 2 devices each"):
            self.assertIn(f"<!-- {word} -->", picture)

    def test_what_makes_no_sense_is_refused(self):
        def refused_with(nodes, *words, **changes):
            self.refused(["simulate", self.scenario(nodes=nodes, **changes)], 2, "s.json", *words)

        refused_with({"count": 0}, "nodes.count", '"0"', "from 1 to 4096")
        refused_with({}, "nodes.count", "missing")
        refused_with({"count": 5000}, "nodes.count", '"5000"', "4096")
        refused_with({"count": 2, "bytes_per_s": -1}, "nodes.bytes_per_s", '"-1"', "from 0")
        refused_with({"count": 2, "latency_ns": -5}, "nodes.latency_ns", '"-5"')
        refused_with({"count": 2, "latencyns": 5}, "nodes", '"latencyns"', 'did you mean "latency_ns"')
        refused_with({"count": 2, "different": [{"node": 0, "rate": 0}]}, "nodes.different[0].rate", '"0"', "above 0")
        refused_with({"count": 2}, "devices", "at least one", devices=[])
        refused_with({"count": 4096}, "nodes.count", "nodes of 10 devices make 40960", "32768", devices=[{"count": 10, "items_per_s": 1e9}])
        refused_with({"count": 2}, "nodes", "rounds", links={}, work={"items": 10, "rounds": 4})
        self.refused(["simulate", LARGE], 2, "8192 devices", "4096", "--nodes 1024")
        file = self.scenario()
        for nodes, words in (("0", ("0 nodes", "1 to 4096")), ("4097", ("4097 nodes",)), ("8..2", ('"8..2"', "smaller one first")), ("two", ('"two"',)),
                             ("-1", ('"-1"',))):
            self.refused(["simulate", file, "--nodes", nodes], 2, "--nodes", *words)
        self.refused(["simulate", file, "--nodes", "2", "--trace", "t.json"], 2, "--trace", "--nodes")
        self.refused(["simulate", file, "--nodes", "2", "--network", "latency=1us"], 2, "--network", "--from")
        self.session(self.scenario(nodes={"count": 1}), "-s", "equal", "--mode", "resident")
        taken = ["simulate", "--from", self.folder / "result.json", "--nodes", "2", "--network"]
        self.refused([*taken, "latncy=1us"], 2, "--network", '"latncy"', 'did you mean "latency"')
        self.refused([*taken, "bandwidth=0"], 2, "--network", "bandwidth", "above 0")
        self.refused([*taken, "latency=3"], 2, "--network: latency", '"3"')
        self.refused(["plan", "merkle", "--scenario", file], 2, "--scenario", "not both")
        self.refused(["plan"], 2, "plan", "--scenario FILE")


if __name__ == "__main__":
    binary.main()
