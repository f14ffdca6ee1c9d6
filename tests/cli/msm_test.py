#!/usr/bin/env python3
"""Suite msm as a user runs it: on three devices of one process, and its input files on one. Usage: msm_test.py BINARY [unittest arguments].
The helpers are those of binary.py. No time is ever asserted on."""

import functools
import json

import binary
from binary import THOROUGH, Case, mgpu


P = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab
R = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001
G1 = (0x17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb,
      0x08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1)
INFINITY = (0, 0)
OUTSIDE = (0, 2)  # of order 3


def encoded(point, scalar):
    return point[0].to_bytes(64, "big") + point[1].to_bytes(64, "big") + scalar.to_bytes(32, "big")


def multiple(scalar):
    """That many times the generator of BLS12-381, as textbooks add points; None: infinity."""
    total, point = None, G1
    while scalar:
        if scalar & 1:
            total = point if total is None else added(total, point)
        point = added(point, point)
        scalar >>= 1
    return total


def added(a, b):
    slope = 3 * a[0] ** 2 * pow(2 * a[1], -1, P) if a == b else (b[1] - a[1]) * pow(b[0] - a[0], -1, P)
    x = (slope ** 2 - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


@functools.cache
def three_devices():
    """What makes PoCL offer three devices, if it can: its driver for CPUs is called pthread, and cpu from version 4 on."""
    for driver in ("pthread", "cpu"):
        env = {"POCL_DEVICES": " ".join([driver] * 3)}
        found = mgpu("devices", "--json", "-d", "cpu", env=env)
        if found.code == 0 and len(json.loads(found.out)["devices"]) == 3:
            return env
    return None


def several_devices():
    """Options, environment and numbers of devices. Three in the thorough tier, for each of which PoCL compiles all kernels."""
    if THOROUGH:
        return ["-d", "cpu"], three_devices(), "1,2,3"
    return binary.DEVICES, None, "1,2" if binary.DEVICE_COUNT > 1 else "1"


def one_device():
    """Options and environment for the first of several_devices(), where what is compiled for one test serves the other."""
    return (["-d", "cpu:1"], three_devices()) if THOROUGH else (binary.ONE_DEVICE, None)


class SeveralDevices(Case):
    def setUp(self):
        super().setUp()
        self.devices, self.env, self.counts = several_devices()
        self.assertFalse(THOROUGH and self.env is None, "PoCL offers no three devices")

    def test_one_digest_for_every_strategy_axis_mode_and_number_of_devices(self):
        file, digests, cases, expected = self.folder / "r.json", set(), set(), 0
        strategies = len(json.loads(self.good("list", "strategies", "--json").out)["strategies"])
        every = [(axis, "all", "all,auto", 3 * strategies) for axis in ("points", "windows")]
        quick = [("points", "resident", "all,auto", strategies), ("points", "end-to-end", "dynamic", 1), ("windows", "all", "equal,auto", 3 * 2)]
        for axis, mode, named, of_count in every if THOROUGH else quick:
            expected += of_count * len(self.counts.split(","))
            self.good("run", "msm", *self.devices, "--axis", axis, "--size", 33, "--mode", mode, "-s", named, "-n", 1, "--warmup", 0,
                      "--device-counts", self.counts, "-o", file, env=self.env)
            for run in json.loads(file.read_text())["runs"]:
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
                digests.add(run["verify"]["digest"])
                cases.add((axis, run["strategy"], run["mode"], len(run["devices"])))
        self.assertEqual(len(digests), 1)
        self.assertEqual(len(cases), expected)
        self.good("run", "msm", *self.devices, "--fixed-base", "yes", "--size", 33, "--mode", "all", "-s", "equal,dynamic", "-n", 1, "--warmup", 0,
                  "--device-counts", self.counts, "-o", file, env=self.env)
        for run in json.loads(file.read_text())["runs"]:
            self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
            digests.add(run["verify"]["digest"])
            for device in run["per_device"]:
                self.assertEqual("kernel_variant" in device, run["mode"] != "end_to_end", device)
        self.assertEqual(len(digests), 1)

    def test_bytes_of_eip_2537_give_one_digest_for_static_and_dynamic_strategies_and_every_number_of_devices_infinity_among_their_sums(self):
        result = self.folder / "r.json"
        more = "equal,dynamic,stealing" if THOROUGH else "dynamic"
        terms = [(G1, 2), (G1, R + 3), (INFINITY, 9), (G1, 2**256 - 1)]
        for scalars, last, strategies in ((2 + 3 + 2**256 - 1, terms, "equal"),
                                          (0, [*terms, (G1, R - (2 + 3 + 2**256 - 1) % R)], more)):
            file = self.folder / "terms.bin"
            file.write_bytes(b"".join(encoded(point, scalar) for point, scalar in last))
            self.good("run", "msm", *self.devices, "--curve", "bls12_381", "--input", file, "--mode", "all", "-s", strategies, "-n", 1, "--warmup", 0,
                      "--device-counts", self.counts if THOROUGH or scalars == 0 else self.counts[-1], "-o", result, env=self.env)
            runs = json.loads(result.read_text())["runs"]
            for run in runs:
                self.assertEqual((run["status"], run["verify"]["status"]), ("ok", "passed"), run)
                self.assertNotIn("trust-input", run["params"])
                self.assertEqual("infinity" in run["verify"]["method"], scalars == 0, run["verify"])
            digest = "%096x%096x" % (multiple(scalars % R) or (0, 0))
            self.assertEqual({run["verify"]["digest"] for run in runs}, {digest})


class Options(Case):
    def test_a_table_of_multiples_is_refused_where_windows_are_split(self):
        self.refused(["run", "msm", *binary.DEVICES, "--axis", "windows", "--fixed-base", "yes"], 2, "--fixed-base", "yes", "--axis points", "auto, no")
        self.refused(["run", "msm", *binary.DEVICES, "--fixed-base", "always"], 2, "--fixed-base", "always", "auto, no, yes")


class Inputs(Case):
    def refused_input(self, name, content, *says, curve="bls12_381", arguments=()):
        file = self.folder / name
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return self.refused(["run", "msm", *binary.DEVICES, "--curve", curve, "--input", file, *arguments], 2, f"--input {file}: ", *says)

    def test_a_point_outside_the_subgroup_is_refused_and_with_trust_input_summed_but_not_with_a_scalar_that_would_be_reduced(self):
        self.refused_input("terms.bin", encoded(G1, 5) + encoded(OUTSIDE, 5), "term 1 (byte 160)", "not in its subgroup", "--trust-input")
        file, result = self.folder / "terms.bin", self.folder / "r.json"
        device, env = one_device()
        self.good("run", "msm", *device, "--curve", "bls12_381", "--input", file, "--trust-input", "--mode", "resident", "-s", "single",
                  "-n", 1, "-o", result, env=env)
        for run in json.loads(result.read_text())["runs"]:
            self.assertEqual((run["verify"]["status"], run["params"]["trust-input"]), ("passed", "yes"), run)
            expected = added(multiple(5), (0, P - 2))  # 5 T = 2 T = -T
            self.assertEqual(run["verify"]["digest"], "%096x%096x" % expected)
        self.refused_input("terms.bin", encoded(OUTSIDE, R), "term 0 (byte 0)", "not below the group order", arguments=["--trust-input"])

    def test_what_is_wrong_with_a_file_is_one_line_with_exit_code_2(self):
        term = '{"scalar": "5", "x": "1", "y": "2"}'
        for name, content, says in (
                ("cut.csv", "scalar,x,y\n5,1,2\n1234567,1,2", ("term 1 (line 3)", "does not end")),
                ("hex.csv", "scalar,x,y\nff,1,2\n", ("term 0 (line 2)", '"ff"', "hexadecimal with 0x")),
                ("twice.csv", "scalar,x,y,y\n5,1,2,2\n", ("column y is there twice",)),
                ("none.csv", "scalar,x,y\n", ("no terms",)),
                ("huge.json", '{"curve": "bn254", "terms": [%s, {"scalar": 1e999, "x": "1", "y": "2"}]}' % term, ("term 1", '"scalar"', "text")),
                ("twice.json", '{"curve": "bn254", "terms": [%s], "terms": [%s]}' % (term, term), ('"terms"', "twice")),
                ("short.bin", bytes(95), ("95 bytes", "96")),
                ("digits.hex", "00" * 95 + "0g", ("line 1", '"0g"')),
                ("large.bin", bytes(31) + b"\1" + b"\xff" * 32 + bytes(32), ("term 0 (byte 0)", "y = 0xff", "not below the modulus"))):
            with self.subTest(name=name):
                self.refused_input(name, content, *says, curve="bn254")

    def test_decimal_and_hexadecimal_scalars_are_told_apart(self):
        lines = [f"{scalar},{hex(G1[0])},{G1[1]},bls12_381\n" for scalar in ("10", "0x10", "0x100", "1000")]
        (self.folder / "terms.csv").write_text("scalar,x,y,curve\n" + "".join(lines))
        device, env = one_device()
        self.good("run", "msm", *device, "--curve", "bls12_381", "--input", self.folder / "terms.csv", "--mode", "resident", "-s",
                  "single", "-n", 1, "--output", self.folder / "sum.json", env=env)
        point = json.loads((self.folder / "sum.json").read_text())
        self.assertEqual((int(point["x"], 16), int(point["y"], 16)), multiple(10 + 0x10 + 0x100 + 1000))

    def test_the_format_is_told_by_help_manual_and_list(self):
        for words in (["run", "--help-all"], ["manual"], ["list", "suites"]):
            text = " ".join(self.good(*words).out.replace("\\-", "-").replace("\\(ha", "^").split())
            for part in ("hexadecimal with 0x", "EIP-2537", "EIP-196", "every line ended", "2^256", "--trust-input"):
                self.assertIn(part, text, words)


if __name__ == "__main__":
    binary.main()
