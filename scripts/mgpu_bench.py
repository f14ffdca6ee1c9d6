"""Result files of mgpu-bench for Python: cases, samples, devices and timelines as lists of flat dicts. Needs nothing but Python.

Keys are the names of lib/report/FIELDS.md, those of objects within objects joined by dots; `run` is the number of the case in the file.

>>> result = load("r.json")
>>> fastest = min((c for c in result.cases() if c["status"] == "ok"), key=lambda c: c["time_ns.median"])
>>> fastest["case"], fastest["time_ns.median"], fastest["metrics.efficiency"]
('merkle/leaves:100000/tree:plain/dynamic:chunks=16/devices:2/resident', 810000, 0.9259259259259259)
>>> [s["ns"] for s in result.samples() if s["case"] == fastest["case"] and s["what"] == "time"][:3]
[808500, 808800, 809100]
>>> result.timeline(fastest["case"])["commands"][0]["kind"]
'upload'
"""
import contextlib
import io

import json_input


def flat(tree, prefix=""):
    rows = {}
    for key, value in tree.items():
        rows |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {} if isinstance(value, list) else {prefix + key: value}
    return rows


class Result:
    def __init__(self, document):
        self.document, self.runs = document, document["runs"]

    def cases(self):
        return [flat({"run": k, "tool": self.document["tool"], "environment": self.document["environment"], **run, "timeline": [],
                      "devices": ";".join(run["devices"])}) for k, run in enumerate(self.runs)]

    def samples(self):
        """Returns a row per time; `what` is time (of the case), or alone or busy (of a device)."""
        times = [(k, None, "time", run["samples_ns"]) for k, run in enumerate(self.runs)]
        times += [(k, device["device"], what, device.get(f"{what}_samples_ns", [])) for k, run in enumerate(self.runs)
                  for device in run.get("per_device", []) for what in ("alone", "busy")]
        return [{"run": k, "case": self.runs[k].get("case"), "device": device, "what": what, "sample": n, "ns": ns}
                for k, device, what, found in times for n, ns in enumerate(found)]

    def devices(self):
        return [flat(device) for device in self.document["devices"]]

    def timeline(self, case):
        """Returns {"commands": rows, "spans": rows, ...} of the sample shown of a case: its name, or its number."""
        shown = next(run for k, run in enumerate(self.runs) if case in (k, run.get("case")))["timeline"]
        if not shown:
            raise ValueError(f"the file holds no timeline of {case}")
        return {table: [dict(zip(names, row)) for row in shown[table]] for table, names in shown["columns"].items()}


def load(path):
    """Returns the Result in a file, compressed or not, or that of `last`, `last~1`, ... Raises ValueError with the reason."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            return Result(json_input.result(str(path)))
        except SystemExit:
            raise ValueError(said.getvalue().strip().partition(": ")[2]) from None
