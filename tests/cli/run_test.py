#!/usr/bin/env python3
"""Runs, their results and traces, and how they stop. Usage: run_test.py BINARY [unittest arguments]."""

import hashlib
import json
import signal
import subprocess
import time

import binary
from binary import Case, defaults, environment, mgpu

def bn254_multiple(p, n):
    """n times (1, 2) on y^2 = x^3 + 3, n > 0: the schoolbook's chord and tangent."""
    def add(a, b):
        if a is None or b is None:
            return a or b
        if a[0] == b[0] and (a[1] + b[1]) % p == 0:
            return None
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, p) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, p)
        x = (slope * slope - a[0] - b[0]) % p
        return x, (slope * (a[0] - x) - a[1]) % p

    total, power = None, (1, 2)
    while n:
        total = add(total, power) if n & 1 else total
        power, n = add(power, power), n >> 1
    return total


def merkle_root(content, rfc6962):
    """RFC 6962, 2.1, over leaves of 32 bytes, the last perhaps shorter; or the same without its prefixes."""
    def over(nodes):
        if len(nodes) == 1:
            return nodes[0]
        left = 1 << (len(nodes) - 1).bit_length() - 1
        return hashlib.sha256(b"\1" * rfc6962 + over(nodes[:left]) + over(nodes[left:])).digest()

    leaves = [content[i:i + 32] for i in range(0, len(content), 32)]
    return over([hashlib.sha256(b"\0" + leaf).digest() for leaf in leaves] if rfc6962 else leaves)


class Runs(Case):
    def test_every_strategy_and_device_count_computes_the_same_digest(self):
        counts = ",".join(map(str, range(1, binary.DEVICE_COUNT + 1)))
        for tree in ("plain", "rfc6962"):
            report = self.small("-s", "all,auto", "--mode", "both", "--size", "1,2,1000,2^12", "--tree", tree, "--device-counts", counts)
            digests = {}
            for run in report["runs"]:
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
                digests.setdefault(run["params"]["leaves"], set()).add(run["verify"]["digest"])
            self.assertEqual(sorted(digests), [1, 2, 1000, 4096])
            for size, found in digests.items():
                self.assertEqual(len(found), 1, f"{tree}, {size} leaves: {found}")
            strategies = {s["name"] for s in json.loads(self.good("list", "strategies", "--json").out)["strategies"]}
            self.assertEqual({run["strategy"].split(":")[0] for run in report["runs"]}, strategies)
            self.assertEqual({run["mode"] for run in report["runs"]}, {"resident", "end_to_end"})

    def test_a_file_of_terms_is_summed_alike_under_every_strategy_axis_and_mode_and_written(self):
        p = 21888242871839275222246405745257275088696311157297823662689037894645226208583
        terms = [(2, (1, 2)), (2**256 - 1, (1, 2)), (7, (1, p - 2)), (9, (0, 0))]
        order = 21888242871839275222246405745257275088548364400416034343698204186575808495617
        expected = bn254_multiple(p, (2 + (2**256 - 1) - 7) % order)
        file = self.folder / "terms.json"
        file.write_text(json.dumps({"curve": "bn254", "terms": [{"scalar": hex(s), "x": hex(x), "y": hex(y)} for s, (x, y) in terms]}))
        result, output = self.folder / "r.json", self.folder / "sum.json"
        modes = set()
        for axis in ("points", "windows"):
            self.good("run", "msm", *binary.DEVICES, "-n", 1, "--warmup", 0, "-s", "all", "--mode", "all", "--axis", axis, "--input", file,
                      "--output", output, "-o", result)
            point = json.loads(output.read_text())
            self.assertEqual((point["curve"], int(point["x"], 16), int(point["y"], 16)), ("bn254", *expected))
            for run in json.loads(result.read_text())["runs"]:
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
                self.assertEqual(run["verify"]["digest"], "%064x%064x" % expected)
                modes.add(run["mode"])
        self.assertEqual(modes, {"resident", "scalars", "end_to_end"})
        file.write_text(file.read_text().replace('"0x1"', '"0x3"', 1))
        self.refused(["run", "msm", *binary.DEVICES, "--input", file], 2, "--input", "term 0", "not on bn254")

    def test_a_mode_that_a_suite_does_not_have_is_refused(self):
        self.refused(["run", "merkle", "--mode", "scalars"], 2, "--mode", "merkle", "accepted")

    def test_the_result_file_obeys_its_schema_and_says_what_was_asked(self):
        file = self.folder / "r.json"
        command = ["run", "merkle", *binary.ONE_DEVICE, "-n", "3", "--size", "2^10", "-s", "single,equal", "-o", str(file)]
        result = self.good(*command, env={"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
        self.assert_schema(file, "result")
        report = json.loads(file.read_text())
        self.assertTrue(report["complete"])
        self.assertEqual(report["tool"]["argv"][1:], command)
        self.assertEqual(report["environment"]["CUDA_DEVICE_ORDER"], "PCI_BUS_ID")
        self.assertEqual({len(run["samples_ns"]) for run in report["runs"]}, {3})
        self.assertIn("merkle", result.out)
        self.assertNotIn("\x1b", result.out + result.err)

    def test_json_on_standard_output_is_alone_there(self):
        result = self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "--json", "-", *defaults([]))
        self.assertEqual(json.loads(result.out)["schema"], "mgpu-bench/result")
        file = self.folder / "out.json"
        file.write_text(result.out)
        self.assert_schema(file, "result")

    def test_quiet_says_nothing_on_standard_error(self):
        result = self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "-q", *defaults([]))
        self.assertEqual(result.err, "")

    def test_a_group_is_one_line_where_there_is_no_terminal(self):
        result = self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 1, *defaults(["--mode", "both"]))
        self.assertEqual(len([line for line in result.err.splitlines() if "cases ok" in line]), 2, result)
        self.assertNotIn("\r", result.err)

    def test_another_seed_is_another_problem(self):
        digests = [self.small("--seed", seed, devices=binary.ONE_DEVICE)["runs"][0]["verify"]["digest"] for seed in (1, 1, 2)]
        self.assertEqual(digests[0], digests[1])
        self.assertNotEqual(digests[0], digests[2])

    def test_an_input_file_is_worked_on_and_its_result_written(self):
        leaves, root = self.folder / "leaves", self.folder / "out" / "root"
        leaves.write_bytes(bytes(i % 251 for i in range(32 * 1000)))
        report = self.small("--input", leaves, "--output", root, devices=binary.ONE_DEVICE)
        self.assertEqual(report["runs"][0]["params"]["leaves"], 1000)
        self.assertEqual(root.read_text().strip(), report["runs"][0]["verify"]["digest"])

    def test_a_short_last_leaf_is_hashed_as_it_is_by_rfc_6962_and_filled_up_with_zeros_where_that_is_asked_for(self):
        content, file = bytes(i % 251 for i in range(32 * 700 + 13)), self.folder / "leaves"
        file.write_bytes(content)
        counts = ",".join(map(str, range(1, binary.DEVICE_COUNT + 1)))
        for tree, padding, arguments in (("rfc6962", 0, []), ("rfc6962", 19, ["--pad"]), ("plain", 19, ["--pad"])):
            report = self.small("--input", file, "--tree", tree, "-s", "all", "--mode", "both", "--device-counts", counts, *arguments)
            self.assertEqual({run["verify"]["status"] for run in report["runs"]}, {"passed"})
            self.assertEqual({run["params"].get("pad") for run in report["runs"]}, {"yes" if arguments else None})
            self.assertEqual({run["params"]["leaves"] for run in report["runs"]}, {701})
            digest = merkle_root(content + bytes(padding), tree == "rfc6962").hex()
            self.assertEqual({run["verify"]["digest"] for run in report["runs"]}, {digest})

    def test_verification_can_be_turned_off_and_says_so(self):
        self.assertEqual({run["verify"]["status"] for run in self.small("--verify", "off", devices=binary.ONE_DEVICE)["runs"]}, {"off"})

    def test_cases_not_begun_by_the_time_limit_are_skipped_and_nothing_measured_is_a_failure(self):
        file = self.folder / "r.json"
        result = mgpu("run", "merkle", *binary.ONE_DEVICE, "-n", 1, "--time-limit", "1ns", "-o", file, *defaults([]))
        self.assertEqual(result.code, 5, result)
        self.assertEqual({run["status"] for run in json.loads(file.read_text())["runs"]}, {"skipped"})
        self.assert_schema(file, "result")

    def test_report_prints_the_tables_of_the_run(self):
        file = self.folder / "r.json"
        run = self.good("run", "merkle", *binary.ONE_DEVICE, "-n", 2, "-o", file, *defaults([]))
        self.assertEqual(self.good("report", file).out, run.out)
        ranked = binary.HERE.parent.parent / "results" / "h200" / "merkle-2-slow3.json.gz"
        self.assertIn("\x1b[", self.good("report", ranked, "--color", "always").out)
        self.assertNotIn("\x1b[", self.good("report", ranked, "--color", "never").out)


class Traces(Case):
    def test_traces_obey_the_rules_whether_made_by_run_or_later(self):
        result, direct, later = self.folder / "r.json", self.folder / "t.json", self.folder / "u.json"
        self.good("run", "merkle", *binary.DEVICES, "-n", 1, "-o", result, "--trace", direct, *defaults(["-s", "all", "--mode", "both"]))
        self.good("trace", result, "-o", later)
        for trace in (direct, later):
            self.good("trace", "--check", trace)
            self.assert_schema(trace, "trace")
        self.assertEqual(json.loads(self.good("trace", result).out), json.loads(later.read_text()))

    def test_a_broken_trace_is_found_out(self):
        for text in ("{", '{"traceEvents": [{"ph": "X", "name": "a", "pid": "one", "tid": 1, "ts": 0, "dur": -1}]}'):
            bad = self.folder / "bad.json"
            bad.write_text(text)
            result = mgpu("trace", "--check", bad)
            self.assertEqual((result.code, result.out), (2, ""), result)
            self.assertIn("bad.json", result.err)


class Stops(Case):
    def start(self, *arguments):
        return subprocess.Popen([binary.BINARY, "run", "merkle", *map(str, binary.ONE_DEVICE), *map(str, arguments)], env=environment(),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_the_first_signal_keeps_what_was_measured(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(signal=number):
                file = self.folder / f"{code}.json"
                process = self.start("--size", "2^12", "--mode", "resident", "-s", "single", "-n", "100000000", "-o", file)
                journal = self.folder / f"{code}.json.journal"
                while process.poll() is None and not (journal.exists() and b'"sample"' in journal.read_bytes()):
                    time.sleep(0.02)
                process.send_signal(number)
                out, err = process.communicate(timeout=120)
                self.assertEqual(process.returncode, code, out + err)
                self.assertIn("stopping", err)
                self.assertFalse(json.loads(file.read_text())["complete"])
                self.assert_schema(file, "result")
                self.assertIn("interrupted", mgpu("report", file).err)

    def test_groups_finished_before_the_signal_are_in_the_file_while_the_run_goes_on(self):
        file = self.folder / "r.json"
        # Six groups of at least half a second each: the stop rule's least time.
        process = self.start("--mode", "both", "--size", "2^8,2^9,2^10", "-s", "single", "-o", file)
        for _ in range(6000):
            if file.exists() or process.poll() is not None:
                break
            time.sleep(0.02)
        early = json.loads(file.read_text())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertFalse(early["complete"])
        self.assertGreaterEqual(len(early["runs"]), 1)
        late = json.loads(file.read_text())
        self.assertFalse(late["complete"])
        self.assertEqual(late["runs"][: len(early["runs"])], early["runs"])
        self.assertEqual([path.name for path in self.folder.glob("r.json?*")], ["r.json.journal"])

    def test_when_every_device_counts_as_hung_the_run_fails_and_the_file_is_whole(self):
        # The device goes on working on what it was given: nothing of it may be freed.
        file = self.folder / "r.json"
        process = self.start("--size", "2^16", "--mode", "resident", "-s", "single", "-n", "3", "-o", file,
                             "--timeout", "1ns")
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 5, out + err)
        self.assertNotIn("ok", {run["status"] for run in json.loads(file.read_text())["runs"]})
        self.assert_schema(file, "result")


if __name__ == "__main__":
    binary.main()
