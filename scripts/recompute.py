#!/usr/bin/env python3
"""Works every figure of a result file out again from its raw samples and events, and says where the file says something else.

usage: recompute.py RESULT [--trace TRACE]     exit 0 and one line, exit 1 and a line per difference, or exit 2 and one line for bad input

Shares no code with the tool and uses another method: time is cut at every begin and end of a command, and each piece is classified by what
ran in it. With a trace the busy time of every device is also taken from there. If the file holds no timelines (run --no-timeline), figures of a
device within the sample are taken from the file, and all others follow from them. Needs nothing but Python.
"""

import argparse
import collections
import itertools
import math
import statistics
import sys

import json_input

KINDS = ("upload", "compute", "download", "exchange")
PREPARE, COLLECT, MERGE = -1, -2, -3
SLACK, COARSEST, TAKES_TIME = 100_000, 1_000_000, 1 << 20  # ns that a command may be outside the sample; ns; bytes of a transfer
TIMES = ("busy_ns", "upload_ns", "compute_ns", "download_ns", "launch_ns", "sync_ns", "idle_ns", "wake_ns", "residue_ns", "finish_ns",
         "transfer_hidden_ns", "transfer_total_ns")
# Fields that are absent if nothing recorded them.
EXCHANGE_TIMES = ("exchange_total_ns", "exchange_hidden_ns", "waiting_ns")
MAY_BE_ABSENT = (*EXCHANGE_TIMES, "slices_total_ns")


# Metrics that follow from no other figures than those of a timeline.
OF_TIMELINES = ("round_imbalance_percent", "worst_round_imbalance_percent", "filling_share", "period_ratio")
# Rates in devices[].capability of the kinds of work in per_device[].demand.
RATES = {"fp32_ops": "fp32_flops", "fp64_ops": "fp64_flops", "int32_ops": "int32_ops", "memory_bytes": "memory_bytes_per_s"}


def roof(run, capabilities):
    """Returns (least time of the case in seconds by the measured rates of its devices and of the host link, what limits it); None if the file lacks a
    rate. The devices share the problem so that all end together."""
    problems_per_s, fastest = 0, None
    for device in run["per_device"]:
        amounts = {kind: amount for kind, amount in device.get("demand", {}).items() if kind in RATES and amount}
        rates = capabilities.get(device["device"]) or {}
        if not all(rates.get(RATES[kind]) for kind in amounts):
            return None
        if amounts:
            mine = max((amount / rates[RATES[kind]], kind.split("_")[0]) for kind, amount in amounts.items())
            problems_per_s += 1 / mine[0]
            fastest = min(fastest or mine, mine)
    link = run["work"].get("host_link", {})
    transfers = [link[f"{way}_bytes"] / link[f"{way}_bytes_per_s"] for way in ("up", "down") if link.get(f"{way}_bytes_per_s")]
    return max([(1 / problems_per_s, fastest[1]), *((time, "host link") for time in transfers)]) if problems_per_s else None


def timeline_of(run):
    """Returns the timeline; None if the file does not hold it: it is null, or its commands were taken out."""
    return run["timeline"] if run["timeline"] and run["timeline"]["commands"] else None


def of_last_run(run):
    """Returns the samples to which the timeline may belong: times of commands of earlier runs are not saved."""
    runs = run.get("sample_runs", [1] * len(run["samples_ns"]))
    return [time for time, number in zip(run["samples_ns"], runs) if number == runs[-1]]


def close(a, b, absolute=0.0):
    """Compares to 1e-9, or `absolute` for figures that were rounded to whole nanoseconds."""
    if a is None or b is None:
        return a is None and b is None
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=max(absolute, 1e-12))


def order_statistic_ranks(n):
    """Returns the ranks of the interval that contains the median with 95 %, from the binomial distribution in whole numbers."""
    below, low = 0, 0
    for k in range(n // 2 + 1):
        below += math.comb(n, k)
        if 40 * below > 2**n:  # more than 2.5 %
            break
        low = k
    return low, n - 1 - low


def summary(samples):
    ordered = sorted(samples)
    middle = statistics.median(ordered)
    low, high = order_statistic_ranks(len(ordered))
    return {"n": len(ordered), "min": ordered[0], "median": middle, "mean": statistics.fmean(ordered),
            "stdev": statistics.stdev(ordered) if len(ordered) > 1 else 0,
            "mad": statistics.median(abs(t - middle) for t in ordered), "ci95": [ordered[low], ordered[high]]}


def impossible(timeline, device):
    """Returns whether the time stamps of the device's commands cannot be right: no times are derived from them then."""
    whole, known = timeline["makespan_ns"], timeline.get("uncertainty_ns") or []
    uncertainty = known[device] if known else 0
    names = timeline["columns"]["commands"]
    for c in (dict(zip(names, row)) for row in timeline["commands"]):
        if c["device"] != device:
            continue
        length = c["ended_ns"] - c["started_ns"]
        takes_time = (c["kind"] == "compute" or c["bytes"] >= TAKES_TIME) and not (known and uncertainty <= 1)  # a virtual clock has no uncertainty
        outside = max(-c["started_ns"], c["ended_ns"] - whole) > uncertainty + SLACK
        if length < 0 or (length == 0 and takes_time) or outside or uncertainty > max(whole, COARSEST):
            return True
    return False


def rows_of(timeline, table):
    names = timeline["columns"][table]
    return [dict(zip(names, row)) for row in timeline[table]]


class Events:
    """The commands, spans and slices of one device in the sample shown, cut to the sample."""

    def __init__(self, timeline, device):
        whole = timeline["makespan_ns"]

        def rows(table):
            return [row for row in rows_of(timeline, table) if row["device"] == device]

        def inside(begin, end):
            return min(max(begin, 0), whole), min(max(end, 0), whole)

        self.raw = rows("commands")
        kinds = ["waiting" if c["kind"] == "exchange" and c["arrives"] else c["kind"] for c in self.raw]
        self.commands = [(kind, *inside(c["started_ns"], c["ended_ns"])) for kind, c in zip(kinds, self.raw)]
        self.finish = max((inside(0, c["ended_ns"])[1] for c in self.raw if c["slice"] != MERGE), default=0)
        self.spans = [(s["state"], *inside(s["begin_ns"], s["end_ns"])) for s in rows("spans")]
        self.slices = rows("slices")

    def pieces(self):
        """Yields (length, kinds running, states) of every stretch in which nothing begins or ends."""
        cuts = sorted({t for _, begin, end in self.commands + self.spans for t in (begin, end)})
        for begin, end in zip(cuts, cuts[1:]):
            kinds = {k for k, b, e in self.commands if b <= begin and end <= e}
            states = [s for s, b, e in self.spans if b <= begin and end <= e]
            yield end - begin, kinds | {"exchange"} if "waiting" in kinds else kinds, states


def parts(timeline, device):
    """Returns the parts of the device's time: compute counts before upload, upload before download; host states count if nothing runs."""
    events = Events(timeline, device)
    p = dict.fromkeys(("upload_ns", "compute_ns", "download_ns", "exchange_ns", "launch_ns", "sync_ns", "idle_ns", "wake_ns", "busy_ns", "transfer_total_ns",
                       "transfer_hidden_ns", *EXCHANGE_TIMES), 0)
    for length, kinds, states in events.pieces():
        first = next((k for k in ("compute", "upload", "download", "exchange") if k in kinds), None)
        if first:
            p[first + "_ns"] += length
            p["busy_ns"] += length
        if kinds & {"upload", "download"}:
            p["transfer_total_ns"] += length
            p["transfer_hidden_ns"] += length if "compute" in kinds else 0
        if "exchange" in kinds:
            p["exchange_total_ns"] += length
            p["exchange_hidden_ns"] += length if "compute" in kinds else 0
            p["waiting_ns"] += length if "waiting" in kinds and not kinds & {"compute", "upload", "download"} else 0
        if not kinds:
            for state in states:
                p[{"in_flight": "launch_ns", "sync": "sync_ns", "idle": "idle_ns", "waking": "wake_ns"}[state]] += length
    p["residue_ns"] = timeline["makespan_ns"] - sum(p[k + "_ns"] for k in ("upload", "compute", "download", "exchange", "launch", "sync", "idle", "wake"))
    p["finish_ns"] = events.finish
    p["items"] = sum(s["end"] - s["begin"] for s in events.slices)
    p["slices"] = len(events.slices)
    slices = collections.defaultdict(list)
    for command, (_, begin, end) in zip(events.raw, events.commands):
        if command["slice"] >= 0:
            slices[command["slice"]].append((begin, end))
    p["slices_total_ns"] = sum(max(end for _, end in times) - min(begin for begin, _ in times) for times in slices.values())
    p["bytes_in"] = sum(c["bytes"] for c in events.raw if c["kind"] == "upload")
    p["bytes_out"] = sum(c["bytes"] for c in events.raw if c["kind"] == "download")
    if any(c["kind"] == "exchange" for c in events.raw):
        sent = [c for c in rows_of(timeline, "commands") if c["kind"] == "exchange" and not c["arrives"]]
        p["bytes_sent"] = sum(c["bytes"] for c in sent if c["device"] == device)
        p["bytes_received"] = sum(c["bytes"] for c in sent if c["peer"] == device)
    else:
        for name in ("exchange_ns", *EXCHANGE_TIMES):
            del p[name]
    if impossible(timeline, device):
        p.update(dict.fromkeys(name for name in (*TIMES, "exchange_ns", *EXCHANGE_TIMES) if name in p))
        del p["slices_total_ns"]
    return p


def round_imbalances(timeline):
    """Returns {round: percent by which the longest kernel time exceeds the mean over the devices}, for rounds that have kernels."""
    n, whole, kernels, found = timeline["devices"], timeline["makespan_ns"], {}, {}
    for c in rows_of(timeline, "commands"):
        if n > 1 and c["kind"] == "compute" and c.get("round") is not None:
            kernels.setdefault(c["round"], {}).setdefault(c["device"], []).append([min(max(c[end], 0), whole) for end in ("started_ns", "ended_ns")])
    for number, of_devices in kernels.items():
        lengths = []
        for intervals in of_devices.values():
            length, reached = 0, 0
            for begin, end in sorted(intervals):
                length += max(0, end - max(begin, reached))
                reached = max(reached, end)
            lengths.append(length)
        if sum(lengths):
            found[number] = (max(lengths) / (sum(lengths) / n) - 1) * 100
    return found


def chain_phases(timeline):
    """Returns the phases of a chain of stages on several devices, as lib/profile/chain.hpp defines them, without the stages."""
    devices = {}
    for c in rows_of(timeline, "commands"):
        if c["kind"] == "compute" and c.get("round") is not None:
            devices.setdefault(c["device"], []).append((c["started_ns"], c["ended_ns"], c["round"]))
    found = {"filling": 0, "busy": 0, "period": 0}
    first_done = min(max(end for _, end, _ in kernels) for kernels in devices.values())
    for _, kernels in sorted(devices.items()):
        rounds, length, reached = len({number for _, _, number in kernels}), 0, None
        for begin, end, _ in sorted(kernels):
            length += max(0, end - (begin if reached is None else max(begin, reached)))
            reached = end if reached is None else max(end, reached)
        first = min(begin for begin, _, _ in kernels)
        found["filling"] = max(found["filling"], first)
        if length // rounds > found["busy"]:
            found["busy"], found["period"] = length // rounds, (reached - first) // rounds
    found["filling"] += max(0, timeline["makespan_ns"] - first_done)
    return found


def metrics(run, devices, alone):
    """Returns the metrics as lib/profile/README.md defines them; None if undefined."""
    m = dict.fromkeys(run["metrics"])
    time, whole, n = run["time_ns"]["median"], run["samples_ns"][run["sample_index"]], len(devices)
    m.pop("roofline_fraction", None)  # see Check.roofline
    if not timeline_of(run):
        for name in OF_TIMELINES:
            m.pop(name, None)
    if alone and all(alone):
        speeds = sum(1 / t for t in alone)
        m["ideal_speedup"] = min(alone) * speeds
        # A set of one device is its own baseline; before version 3 it was compared with another measurement of it.
        m["speedup"] = 1.0 if n == 1 and run["metrics"]["speedup"] == 1 else min(alone) / time
        m["efficiency"] = m["speedup"] / m["ideal_speedup"]
        if m["ideal_speedup"] > 1:
            m["karp_flatt"] = (1 / m["speedup"] - 1 / m["ideal_speedup"]) / (1 - 1 / m["ideal_speedup"])
        items = sum(d["items"] for d in devices)
        if n > 1 and items:
            m["share_error"] = max(abs(d["items"] / items * t * speeds - 1) for d, t in zip(devices, alone))
    used, saved = ([d[name] for d in run["per_device"] if name in d] for name in ("memory_used", "memory_saved"))
    if "memory_used" in m:
        m["memory_used"] = max(used)
    if "memory_saved" in m:
        m["memory_saved"] = statistics.fmean(saved)
    if "moved_share" in m:
        moved = next((each for each in run.get("migrations", []) if each["sample"] == run["sample_index"]), {"items": 0, "time_ns": 0})
        m["moved_share"] = moved["items"] / run["work"]["items"]
        m["moving_share"] = moved["time_ns"] / (n * whole)
    latencies = [each["latency_ns"] for each in run.get("adaptations", []) if each["latency_ns"] is not None]
    if "adaptation_ms" in m:
        m["adaptation_ms"] = statistics.median(latencies) / 1e6
    predicted = run["plan"]["predicted_ns"]
    if predicted is not None and time:
        m["prediction_error"] = abs(predicted - time) / time
    if any(d["busy_ns"] is None for d in devices):
        return m  # the rest needs the times of every device's commands
    busy = [d["busy_ns"] for d in devices]
    if n > 1 and sum(busy):
        mean = sum(busy) / n
        m["imbalance_percent"] = (max(busy) / mean - 1) * 100
        m["imbalance_derose_percent"] = (max(busy) - mean) / max(busy) * n / (n - 1) * 100
    finish = [d["finish_ns"] for d in devices]
    if n > 1 and max(finish):
        m["balance"] = min(finish) / max(finish)
    transfers = sum(d["transfer_total_ns"] for d in devices)
    hidden = sum(d["transfer_hidden_ns"] for d in devices)
    if transfers:
        m["overlap"] = hidden / transfers
    exchanges = sum(d.get("exchange_total_ns", 0) for d in devices)
    if exchanges and "exchange_overlap" in m:
        m["exchange_overlap"] = sum(d.get("exchange_hidden_ns", 0) for d in devices) / exchanges
    rounds = round_imbalances(run["timeline"]) if "round_imbalance_percent" in m else None
    if rounds:
        m["round_imbalance_percent"] = statistics.fmean(rounds.values())
        m["worst_round_imbalance_percent"] = max(rounds.values())
    if "filling_share" in m:
        chain = chain_phases(run["timeline"])
        m["filling_share"] = chain["filling"] / whole
        m["period_ratio"] = chain["period"] / chain["busy"]
    if whole:
        m["comm_share"] = (transfers - hidden) / (n * whole)
        if "exchange_share" in m:
            m["exchange_share"] = sum(d.get("exchange_ns", 0) for d in devices) / (n * whole)
        if "waiting_share" in m:
            m["waiting_share"] = sum(d.get("waiting_ns", 0) for d in devices) / (n * whole)
        m["sync_share"] = sum(d["sync_ns"] for d in devices) / (n * whole)
        if n > 1:
            m["utilisation_stdev"] = statistics.pstdev(d["compute_ns"] / whole for d in devices)
    return m


class Check:
    def __init__(self):
        self.wrong, self.figures, self.without_timeline = [], 0, 0
        self.memories = {}  # bytes that a device may use, by its id

    def equal(self, where, file, ours, absolute=0.0):
        self.figures += 1
        if not close(file, ours, absolute):
            self.wrong.append(f"{where}: the file has {file}, from the raw data it is {ours}")

    def bare(self, index, run):
        """Checks that a case that is not ok has no figures: its samples were not finished, or are wrong."""
        self.figures += 1
        found = [name for name, value in (("samples_ns", run["samples_ns"]), ("rate", run["rate"]["value"]),
                                          ("time_ns", run["time_ns"]["median"]), ("per_device", run["per_device"]),
                                          ("metrics", any(v is not None for v in run["metrics"].values())),
                                          ("timeline", run["timeline"] and run["timeline"]["commands"])) if value]
        if found:
            self.wrong.append(f"runs[{index}] {run['suite']} {run['strategy']} {run['mode']}: {run['status']}, and yet it has {', '.join(found)}")

    def moved(self, where, run):
        """Checks the items whose device changed in the sample shown: its slices against the first shares, or the rebalances."""
        timeline = timeline_of(run)
        shown = [each for each in run.get("migrations", []) if each["sample"] == run["sample_index"]]
        if not timeline or not shown:
            return
        rebalanced = [each for each in run.get("borders", []) if each["sample"] == run["sample_index"]]

        def ranges(shares):
            ends = list(itertools.accumulate(shares))
            return [(end - share, end) for share, end in zip(shares, ends)]

        def outside(begin, end, home):
            return (end - begin) - max(0, min(end, home[1]) - max(begin, home[0]))

        if rebalanced:
            steps = [ranges(rebalanced[0]["first"])] + [ranges(move["shares"]) for move in rebalanced[0]["moves"]]
            ours = sum(outside(*old, new) for before, after in zip(steps, steps[1:]) for old, new in zip(before, after))
        else:
            home = ranges(shown[0]["first"])
            ours = sum(outside(s["begin"], s["end"], home[s["device"]]) for s in rows_of(timeline, "slices"))
        self.equal(f"{where} migrations items", shown[0]["items"], ours)

    def memory(self, where, run):
        """Checks the share of a device's memory that was allocated."""
        for d, file in enumerate(run["per_device"]):
            if "memory_used" in file and self.memories.get(file["device"]):
                self.equal(f"{where} per_device[{d}].memory_used", file["memory_used"], file["bytes_peak"] / self.memories[file["device"]])

    def energy(self, where, run):
        """Compares what follows from the energy of a run and of the parts of its block."""
        energy = run.get("energy") or {}
        joules = energy.get("energy_j")
        if joules is None:
            return
        time, parts = energy["run_ns"] * 1e-9, energy["parts_j"]
        self.equal(f"{where} energy.power_w", energy["power_w"], joules / time)
        self.equal(f"{where} energy.edp_js", energy["edp_js"], joules * time)
        self.equal(f"{where} energy.per_unit_j", energy["per_unit_j"], joules / run["work"]["ops"] if run["work"]["ops"] else None)
        used = [counter for counter in energy["counters"] if counter["energy_j"] == joules]
        if used and len(parts) == 8:  # Student's t of 7 degrees of freedom
            half = 2.364624251592784 * math.sqrt(sum((part - joules) ** 2 for part in parts) / 56)
            self.equal(f"{where} energy.half_width_j", energy["half_width_j"], max(half, 0.01 * joules))

    def faults(self, where, run):
        """Checks faults against the samples that they invalidated, which are in none of the figures."""
        disturbed = run.get("disturbed_samples", [])
        self.figures += 1
        if run.get("devices_asked", len(run["devices"])) < len(run["devices"]):
            self.wrong.append(f"{where} devices_asked: fewer than the devices it was measured on")
        for k, fault in enumerate(run["faults"]):
            self.figures += 1
            if fault.get("items_redone", 0) > fault["items_lost"]:
                self.wrong.append(f"{where} faults[{k}]: more items redone than lost")
            if fault.get("sample") is not None and not 0 <= fault["sample"] < len(disturbed):
                self.wrong.append(f"{where} faults[{k}]: no such disturbed sample")
        for k, sample in enumerate(disturbed):
            if not timeline_of(sample):
                continue
            self.equal(f"{where} disturbed_samples[{k}].time_ns", sample["time_ns"], sample["timeline"]["makespan_ns"])
            self.figures += 1
            if sum(parts(sample["timeline"], d)["items"] for d in range(sample["timeline"]["devices"])) < run["work"]["items"]:
                self.wrong.append(f"{where} disturbed_samples[{k}]: its slices are not all items")

    def roofline(self, where, run, capabilities):
        """Checks the fraction of the roofline; files before `roof_ns` do not say what it was worked out from."""
        time, least = run["time_ns"]["median"], run["work"].get("roof_ns")
        if least is None or not time:
            return
        ours = roof(run, capabilities)
        if ours is None:  # as in a merged file whose devices were calibrated again
            return self.equal(f"{where} metrics.roofline_fraction", run["metrics"]["roofline_fraction"], least / time, 0.51 / time)
        self.equal(f"{where} work.roof_ns", least, ours[0] * 1e9, 0.51)
        self.equal(f"{where} metrics.roofline_fraction", run["metrics"]["roofline_fraction"], ours[0] * 1e9 / time)
        self.figures += 1
        if run["work"]["roof"] != ours[1]:
            self.wrong.append(f"{where} work.roof: the file has {run['work']['roof']}, from the raw data it is {ours[1]}")

    def run(self, index, run, capabilities):
        where = f"runs[{index}] {run['suite']} {run['strategy']} {run['mode']}"
        mine = summary(run["samples_ns"])
        for name, value in mine.items():
            for k, (file, ours) in enumerate(zip(run["time_ns"][name], value) if name == "ci95" else [(run["time_ns"][name], value)]):
                self.equal(f"{where} time_ns.{name}[{k}]", file, ours, 0.51)  # rounded to whole nanoseconds
        shown = run["samples_ns"][run["sample_index"]]
        self.equal(f"{where} sample_index", abs(shown - run["time_ns"]["median"]),
                   min(abs(t - run["time_ns"]["median"]) for t in of_last_run(run)))
        timeline = timeline_of(run)
        if timeline:
            self.equal(f"{where} timeline.makespan_ns", timeline["makespan_ns"], shown)
            self.equal(f"{where} merge_ns", run["merge_ns"], timeline["merge"]["end_ns"] - timeline["merge"]["begin_ns"])
        else:
            self.without_timeline += 1
        if run["rate"]["value"]:
            self.equal(f"{where} rate", run["rate"]["value"], run["work"]["ops"] / (run["time_ns"]["median"] * 1e-9))
        self.faults(where, run)
        devices, alone = [], []
        for d, file in enumerate(run["per_device"]):
            ours = parts(timeline, d) if timeline else file
            devices.append(ours)
            for name, value in ours.items() if timeline else ():
                if name in file or name not in MAY_BE_ABSENT:
                    self.equal(f"{where} per_device[{d}].{name}", file[name], value)
            self.equal(f"{where} per_device[{d}].share", file["share"], ours["items"] / run["work"]["items"])
            known = ours["busy_ns"] is not None
            self.equal(f"{where} per_device[{d}].utilisation", file["utilisation"], ours["compute_ns"] / shown if known else None)
            if known == ("parts_reason" in file):
                self.wrong.append(f"{where} per_device[{d}]: time stamps {'can' if known else 'cannot'} be right")
            if "busy_samples_ns" in file:
                self.equal(f"{where} per_device[{d}].busy_samples_ns", file["busy_samples_ns"][run["sample_index"]], ours["busy_ns"])
            alone.append(file["alone_ns"])
            if "alone_samples_ns" in file:
                self.equal(f"{where} per_device[{d}].alone_ns", file["alone_ns"], statistics.median(file["alone_samples_ns"]), 0.51)
        for name, value in metrics(run, devices, alone).items():
            self.equal(f"{where} metrics.{name}", run["metrics"][name], value)
        self.roofline(where, run, capabilities)
        self.moved(where, run)
        self.memory(where, run)
        self.energy(where, run)
        if "worst_round" in run and timeline:
            found = round_imbalances(timeline)
            self.equal(f"{where} worst_round", found.get(run["worst_round"]), max(found.values(), default=0))
        return devices

    def trace(self, trace, runs):
        """Compares commands of the k-th case in the trace with the busy times computed from the result."""
        events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
        cases = sorted((e for e in events if e.get("cat") == "case"), key=lambda e: e["ts"])
        self.equal("trace: number of cases", len(cases), len(runs))
        named = {e["pid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"}
        # One for each device, in their order; those of invalidated samples follow.
        pids = sorted(pid for pid, name in named.items() if name != "run")
        for k, (case, (index, devices)) in enumerate(zip(cases, runs)):
            end = cases[k + 1]["ts"] if k + 1 < len(cases) else math.inf
            whole = case["args"]["makespan_ns"]
            for pid, device in zip(pids, devices):
                if device["busy_ns"] is None:
                    continue
                mine = [e["args"] for e in events if e["pid"] == pid and e.get("cat") in KINDS and case["ts"] <= e["ts"] < end]
                busy, reached = 0, 0
                for begin, stop in sorted((max(a["started_ns"], 0), min(a["ended_ns"], whole)) for a in mine):
                    busy += max(0, stop - max(begin, reached))
                    reached = max(reached, stop)
                self.equal(f"trace: runs[{index}] busy time of process {pid}", busy, device["busy_ns"])


def events_of(trace):
    events = trace.get("traceEvents") if isinstance(trace, dict) else trace
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise ValueError("no list of events")
    return {"traceEvents": events}


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("result")
    options.add_argument("--trace")
    given = options.parse_args()
    result = json_input.result(given.result)
    check, runs = Check(), []
    capabilities = {device["id"]: device["capability"] for device in result["devices"]}
    check.memories = {device["id"]: min(device["global_memory_bytes"], device.get("handicap", {}).get("memory_cap_bytes") or math.inf)
                      for device in result["devices"]}

    def all_runs():
        for index, run in enumerate(result["runs"]):
            if run["status"] != "ok":
                check.bare(index, run)
            elif run["samples_ns"]:
                runs.append((index, check.run(index, run, capabilities)))

    json_input.guarded([given.result], all_runs)
    if given.trace:
        trace = json_input.load(given.trace)
        json_input.guarded([given.trace], lambda: check.trace(events_of(trace), runs))
    for line in check.wrong:
        print(json_input.plain(line))
    if not check.wrong:
        lacking = check.without_timeline
        print(f"{check.figures} figures of {len(runs)} cases are what the raw data say"
              + (f"; the file holds no timeline of {lacking} of them" if lacking else ""))
    return 1 if check.wrong or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
