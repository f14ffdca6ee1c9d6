#!/usr/bin/env python3
"""The pictures of work in rounds: the field with the devices' shares, and steps over each path side by side. Usage: rounds_pictures_test.py
[unittest arguments]. How a picture looks, only a person can judge: these tests hold that it is drawn, from the right figures."""

import copy
import json
import struct
import unittest
from pathlib import Path

from pictures_test import GOLDEN, Scripts, result_file, result_words


def npy(rows, columns, kind="<f4"):
    """A field that rises from row to row, from below 0."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}".ljust(117) + "\n"
    cells = [float(r) - rows / 2 for r in range(rows) for _ in range(columns)]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(cells)}{'d' if kind == '<f8' else 'f'}", *cells)


class RoundsPictures(Scripts):
    def result(self, name, path, time=1, **params):
        """Of the golden file, what a stencil of 20 steps would have left: a case whose devices exchanged data over this path."""
        document = json.loads(GOLDEN.read_text())
        run = copy.deepcopy(document["runs"][2])  # 75 % on the first device
        run.update(suite="stencil", params={"iterations": 20, "kind": "jacobi2d", "side": 40, **params})
        run["timeline"]["columns"]["commands"] += ["peer", "path", "arrives"]
        run["timeline"]["commands"] = [[*row, None, None, None] for row in run["timeline"]["commands"]]
        run["timeline"]["commands"].append([0, "exchange", 0, "put", 160, 0, 0, 10, 20, 1, path, False])
        run["timeline"]["slices"] = [[0, 0, 0, 30, 0, 9], [1, 0, 30, 40, 0, 9]]
        run["work"]["items"] = 40
        run["time_ns"]["median"] *= time
        for device in run["per_device"]:
            device["exchange_ns"] = run["time_ns"]["median"] // 4
        document["runs"] = [run]
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(document))
        return file

    def plot(self, *arguments):
        done = self.good("plot.py", *arguments, "-o", self.folder / "p", "--format", "svg", module="matplotlib")
        file, = done.stdout.splitlines()
        with open(file) as picture:
            return picture.read()

    def test_words_say_how_even_rounds_were_as_the_tool_does(self):
        document = json.loads(self.result("r", "direct").read_text())
        run = document["runs"][0]
        run["metrics"].update(round_imbalance_percent=3.25, worst_round_imbalance_percent=41.5, waiting_share=0.125, exchange_overlap=0.75)
        self.assertNotIn("out of balance", result_words.words(result_file.groups([("a", document)])[0]))
        run["worst_round"] = 11
        self.assertIn(" Its rounds are 3.2 % out of balance, round 12 most, by 41.5 %; devices wait for each other for 12.5 % of the time, "
                      "and 75.0 % of the exchange is hidden.", result_words.words(result_file.groups([("a", document)])[0]))

    def test_a_field_is_drawn_with_the_shares_of_the_result(self):
        for kind, rows, words in (("jacobi2d", 40, "column"), ("heat3d", 1600, "row, in column 20 of each plane")):
            field = self.folder / "field.npy"
            field.write_bytes(npy(rows, 40, "<f8" if kind == "heat3d" else "<f4"))
            picture = self.plot(self.result("r", "direct", kind=kind), "--field", field)
            for text in ("device 0:0: 75.0 %", "device 0:1: 25.0 %", words, "dashed: where shares meet"):
                self.holds(picture, text, kind)

    def test_blocks_are_drawn_where_they_lie(self):
        field, file = self.folder / "field.npy", self.result("r", "direct", split="blocks")
        field.write_bytes(npy(40, 40))
        document = json.loads(file.read_text())
        document["runs"][0]["work"]["items"] = 80  # of two columns of 40
        document["runs"][0]["timeline"]["slices"] = [[0, 0, 0, 50, 0, 9], [1, 0, 50, 80, 0, 9]]
        file.write_text(json.dumps(document))
        picture = self.plot(file, "--field", field)
        for text in ("device 0:0: 62.5 %", "device 0:1: 37.5 %"):
            self.holds(picture, f"<!-- {text} -->")
        self.assertEqual(picture.count("stroke-dasharray: 6,3.6"), 2)  # above and to the left of what the second has

    def test_flows_are_drawn_from_the_side_with_shares_and_from_above_with_their_streamlines(self):
        field, file = self.folder / "field.npy", self.result("r", "direct", side=8)
        document = json.loads(file.read_text())
        document["runs"][0].update(suite="lbm", params={"iterations": 20, "case": "cavity", "side": 8, "planes": "40"})
        file.write_text(json.dumps(document))
        field.write_bytes(npy(40 * 8 * 8, 4))
        done = self.good("plot.py", file, "--field", field, "-o", self.folder / "p", "--format", "svg", module="matplotlib")
        side, above = (Path(name).read_text() for name in done.stdout.splitlines())
        for text in ("device 0:0: 75.0 %", "device 0:1: 25.0 %", "row, in column 4 of each plane", "speed, cells a step"):
            self.holds(side, text)
        for text in ("the middle plane", "speed in the plane, cells a step"):
            self.holds(above, text)
        for rows, columns in ((40 * 8 * 8, 3), (40 * 8 * 8 + 1, 4)):
            field.write_bytes(npy(rows, columns))
            done = self.run_script("plot.py", file, "--field", field, "-o", self.folder, python=self.python("matplotlib"))
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), done.stderr)
            self.assertIn(f"{rows} x {columns}", done.stderr)

    def test_what_is_not_the_field_of_the_result_is_refused(self):
        field = self.folder / "field.npy"
        for data, file, words in ((npy(39, 40), self.result("r", "direct"), "39 x 40"), (b"text", self.result("r", "direct"), "no array"),
                                  (npy(40, 40), GOLDEN, "one of stencil")):
            field.write_bytes(data)
            done = self.run_script("plot.py", file, "--field", field, "-o", self.folder, python=self.python("matplotlib"))
            self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), done.stderr)
            self.assertIn(words, done.stderr)

    def test_paths_are_drawn_side_by_side_by_their_time_a_step(self):
        picture = self.plot(self.result("a", "direct"), self.result("b", "staged", 3), "--kind", "paths")
        for text in ("direct", "staged", "40.5 us, 25 % in exchanges", "122 us, 25 % in exchanges", "the device fastest alone"):
            self.holds(picture, f"<!-- {text} -->")

    def test_one_path_alone_makes_no_picture_of_paths(self):
        done = self.run_script("plot.py", self.result("a", "direct"), "--kind", "paths", "-o", self.folder, python=self.python("matplotlib"))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("no problem was measured over two paths", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
