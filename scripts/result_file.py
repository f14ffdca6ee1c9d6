"""Result files as pictures and pages need them: read, refused with one line if invalid, grouped by problem, labelled.

`plot.py` and `report_html.py` share it. It draws nothing and prints nothing but refusals. A figure that a file lacks is None, at whichever level it
is missing. Needs nothing but Python."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import json_input
from json_input import plain


def read(name):
    return json_input.result(name, holes=True)


def get(tree, *path):
    """Returns the value at the path, or None."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def number(tree, *path):
    found = get(tree, *path)
    return found if isinstance(found, (int, float)) and not isinstance(found, bool) else None


def plural(count, noun):
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def whole(value):
    """Returns 16 for 16.0, as the tool prints it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def power(value):
    """Returns 2^26 for 67108864, as users type it; other numbers are unchanged."""
    value = whole(value)
    if isinstance(value, int) and value >= 1024 and value & (value - 1) == 0:
        return f"2^{value.bit_length() - 1}"
    return plain(value)


def duration(ns):
    """Formats a time with three digits and a unit, as in the tool's own tables."""
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if abs(ns) >= scale:
            return f"{three_digits(ns / scale)} {unit}"
    return f"{ns:.0f} ns"


def between(low, high):
    """Formats an interval of times; the unit is named once if it is the same."""
    low, high = duration(low), duration(high)
    return f"{low.rsplit(' ')[0] if low.split(' ')[1] == high.split(' ')[1] else low} to {high}"


def three_digits(value):
    whole = len(str(int(abs(value))))
    return f"{value:.{max(0, 3 - whole)}f}"


def percent(fraction):
    """Formats a fraction as in the tool's tables, with a digit more below 1 %."""
    return f"{100 * fraction:.{1 if abs(fraction) >= 0.01 or fraction == 0 else 2}f} %"


def rate(value, unit):
    for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale:
            return f"{three_digits(value / scale)} {prefix}{unit if unit.isupper() or unit.startswith(('FLOP', 'B/s', 'op/s')) else ' ' + unit}"
    return f"{three_digits(value)} {unit}"


DISTURBED, SLOWED = "!", "\u2193"  # "↓"
ROUNDED_TO_ONE = 1.0005  # least fraction of the possible best that tables show as more than 100.0 %
SLIGHTLY_BEYOND = 1.05  # largest that medians of the same work explain
SHARES_LISTED = 4  # most devices whose shares are listed one by one
FEW_SAMPLES, FEWEST_RANKED = 5, 3  # with fewer, no test can distinguish two cases; the noise is not known


def handicap(device):
    """Returns the throttle of a device: {"slow": 3.0}; empty for most devices."""
    return {key: value for key, value in (get(device, "handicap") or {}).items() if value and (key, value) != ("slow", 1)}


def fault_words(fault):
    """Returns the sentence of a fault; older files have the message only."""
    return plain(get(fault, "text") or f"device {get(fault, 'device') or '?'}: {get(fault, 'what')}")


@dataclass
class Case:
    """One entry of "runs", with the properties that pictures need."""
    run: dict
    source: str  # the file's stem
    label: str = ""
    name: str = ""  # the label, without devices and files
    device_records: dict = field(default_factory=dict)  # of the file, by id
    defaults: dict = None  # the file's default parameters for this suite; None if it does not have them
    exact: bool = False  # on a virtual clock, on which equal cases take equal times
    few_asked: bool = False  # the run was told how many samples to take
    lone: bool = False  # no other case of its problem has figures, so that there is nothing to rank

    def __post_init__(self):
        self.suite = plain(get(self.run, "suite") or "?")
        self.mode = plain(get(self.run, "mode") or "?")
        self.strategy = plain(get(self.run, "strategy") or "?")
        self.status = plain(get(self.run, "status") or "?")
        self.devices = [plain(d) for d in get(self.run, "devices") or []]
        self.per_device = [d for d in get(self.run, "per_device") or [] if isinstance(d, dict)]
        self.median = number(self.run, "time_ns", "median") or None
        self.samples = [t for t in get(self.run, "samples_ns") or [] if isinstance(t, (int, float))]
        self.predicted = number(self.run, "plan", "predicted_ns")
        interval = get(self.run, "time_ns", "ci95")
        self.interval = interval if isinstance(interval, list) and len(interval) == 2 and self.median else None
        self.verified = plain(get(self.run, "verify", "status") or "?")
        self.asked = max(number(self.run, "devices_asked") or 0, len(self.devices))
        self.faults = [f for f in get(self.run, "faults") or [] if isinstance(f, dict)]
        self.slowed = [d for d in self.devices if handicap(self.device_records.get(d))]

    @property
    def told(self):
        """Returns its name in sentences, with the choice of `auto`."""
        chosen = get(self.run, "plan", "chosen", "strategy")
        return f"{self.name} ({plain(chosen)})" if chosen else self.name

    @property
    def can_be_ranked(self):
        """Returns true if there are enough samples and the speed-up is possible, as why_unranked of lib/report does."""
        return self.exact or len(self.samples) >= FEWEST_RANKED and not self.impossible

    @property
    def impossible(self):
        """Returns true if its speed-up exceeds that of a perfect split by more than noise."""
        return not self.exact and any(d.get("beyond_noise") is True for d in self.doubts("efficiency"))

    def doubts(self, metric):
        """Returns the file's caveats about a metric beyond its possible best."""
        found = get(self.run, "doubtful_metrics")
        return [d for d in found if isinstance(d, dict) and d.get("metric") == metric] if isinstance(found, list) else []

    def beyond_best(self, metric):
        """Returns why a metric exceeds its possible best; "" if it does not, or if no digit shows it."""
        value = self.metric({"speedup": "efficiency"}.get(metric, metric)) or 0
        if self.exact or metric not in ("speedup", "efficiency", "roofline_fraction") or value < ROUNDED_TO_ONE:
            return ""
        found = self.doubts(metric)
        slight = any(d.get("slight") is True for d in found) or not found and value <= SLIGHTLY_BEYOND
        if metric != "roofline_fraction" and slight:
            return "above 100 % of the ideal, by no more than medians of the same work differ"
        return plain(get(found[0], "reason")) if found else f"{percent(value)} of what is possible: the file does not say why"

    @property
    def ok(self):
        return self.status == "ok" and self.median is not None and self.verified != "failed"

    @property
    def reason(self):
        return plain(get(self.run, "reason") or ("did not verify" if self.verified == "failed" else "no times"))

    @property
    def n(self):
        return len(self.devices)

    @property
    def on(self):
        """Returns "7 of 8" if devices failed before it was measured, else their number."""
        return f"{self.n} of {self.asked}" if self.asked > self.n else str(self.n)

    @property
    def warnings(self):
        """Returns why its figures may be misleading."""
        found = [plain(w) for w in get(self.run, "warnings") or []]
        found += [f"where the time of device {plain(get(d, 'device'))} went is not known: {plain(get(d, 'parts_reason'))}"
                  for d in self.per_device if get(d, "parts_reason")]
        reason = self.beyond_best("efficiency")
        found += [f"speed-up and efficiency are {reason}"] if reason else []
        fewest = FEW_SAMPLES if not self.few_asked else 0 if self.lone else FEWEST_RANKED
        if self.ok and not self.exact and len(self.samples) < fewest:
            found.append(f"only {plural(len(self.samples), 'sample')}")
        return list(dict.fromkeys(found))

    @property
    def doubts_told(self):
        """Returns its warnings and what its faults were."""
        return self.warnings + [fault_words(fault) for fault in self.faults]

    @property
    def marks(self):
        """Returns the marks after its label in pictures: " !" if there are warnings or faults, " ↓" if a device was throttled on purpose."""
        return (f" {DISTURBED}" if self.doubts_told else "") + (f" {SLOWED}" if self.slowed else "")

    def metric(self, name):
        return number(self.run, "metrics", name)

    @property
    def shares(self):
        """Returns each device's percent of the items as shares_text of lib/report does: "75/25", "12-13" for many devices; "" if it is not known."""
        items = [number(device, "items") or 0 for device in self.per_device]
        told = [percent_of(one, sum(items)) for one in (items if len(items) <= SHARES_LISTED else (min(items), max(items)))] if sum(items) else []
        return "/".join(told) if len(items) <= SHARES_LISTED else "-".join(dict.fromkeys(told))

    def alone(self):
        """Returns (device id, ns) of the device that is fastest alone; None unless the times of all are known."""
        times = [(plain(get(d, "device")), number(d, "alone_ns")) for d in self.per_device]
        return min(times, key=lambda t: t[1]) if times and all(t for _, t in times) else None


@dataclass
class Group:
    """One problem in one mode: the cases that a table of the tool shows together."""
    suite: str
    problem: str
    mode: str
    params: dict = field(default_factory=dict)
    defaults: dict = None  # those of its first case
    cases: list = field(default_factory=list)

    @property
    def title(self):
        return f"{self.suite} {self.problem}, {self.mode.replace('_', ' ')}".replace(" ,", ",")

    @property
    def slug(self):
        text = f"{self.suite}-{self.problem}-{self.mode}".replace("^", "p").replace("=", "")
        return "-".join("".join(c if c.isalnum() or c == "." else " " for c in text.replace(",", "")).split())

    def ok(self, n=None):
        return [c for c in self.cases if c.ok and (n is None or c.n == n)]

    def counts(self):
        return sorted({c.n for c in self.cases})

    def most(self):
        """Returns the cases on the largest set of devices on which any was ok, fastest first, then those that were not ok."""
        n = max((c.n for c in self.cases if c.ok), default=max(self.counts()))
        here = [c for c in self.cases if c.n == n]
        return sorted(here, key=lambda c: (not c.ok, c.median or 0))

    def best(self):
        return min(self.ok(), key=lambda c: c.median, default=None)

    def leaders(self):
        """Returns the fastest case and those that tie with it, which the tool marks with * and =; none if there is nothing to compare."""
        ranked = sorted((c for c in self.ok() if c.can_be_ranked), key=lambda c: c.median)
        return [c for c in ranked if not c.lone and (c is ranked[0] or not told_apart(ranked[0], c))]

    @property
    def most_work(self):
        return max((number(c.run, "work", "ops") or 0 for c in self.cases), default=0)


def percent_of(part, whole):
    exact = 100 * part / whole
    return "<1" if part and exact < 0.5 else ">99" if part < whole and exact >= 99.5 else f"{exact:.0f}"


def doubts_of(cases, told):
    """Returns {warning: its cases} of what `told` returns of each. Warnings that differ in one percentage are one: "about 40 to 70 % of the cores"."""
    alike, found = {}, {}
    for case in cases:
        for why in told(case):
            parts = re.split(r"(\d+)(?= %)", why)  # text, number, text
            form = (parts[0], "", parts[2]) if len(parts) == 3 else (why, "", "")
            alike.setdefault(form, []).append((int(parts[1]) if len(parts) == 3 else 0, case))
    for (before, _, after), mine in alike.items():
        numbers = sorted({number for number, _ in mine})
        middle = " to ".join(dict.fromkeys((str(numbers[0]), str(numbers[-1])))) if after else ""
        found[f"{before}{middle}{after}"] = [case for _, case in mine]
    return found


def what_if_word(name):
    """Returns the name of a what-if for readers, as in the tool's tables: "balance" for perfect_balance."""
    return "?" if name == "unknown" else name.removeprefix("free_").removeprefix("perfect_")


# The parameter that --size sets, with those that equal it unless they are given.
SIZES = {"records": (), "batch": (), "leaves": (), "n": (), "points": (), "rows": ("cols", "inner"), "side": (), "terms": (), "multivectors": (), "elements": ()}


def is_default(key, value, defaults):
    """Returns true if a parameter has its default. `defaults` are the file's for its suite; if they are None, titles show all parameters but the
    seed."""
    return key == "seed" and value == 1 if defaults is None else key in defaults and defaults[key] == value


def problem(params, varying, defaults=None):
    """Returns the size, the parameters that differ between cases, and those that are not at their defaults, as Titles of lib/report does: numbers
    first, equal ones together, as in cols=inner=rows=2^13."""
    size = next((key for key in SIZES if key in params), None)
    numbers, words = [], []
    for key, value in sorted(params.items()):
        if size and key in SIZES[size] and value == params[size] and (defaults or {}).get(key, "same") == "same":
            continue
        if key != size and key not in varying and is_default(key, value, defaults):
            continue
        same = next((one for one in numbers if one[1] == power(value) and "seed" not in (key, one[0])), None)
        if isinstance(value, str):
            words.append(f"{plain(key)}={plain(value)}")
        elif same:
            same[0] += f"={plain(key)}"
        else:
            numbers.append([plain(key), power(value)])
    return " ".join([*("=".join(one) for one in numbers), *words])


def name_cases(cases):
    """Names each case by its strategy, with the parameters in which its cases differ, and with the file if two files hold the same case."""
    params = {}
    for case in cases:
        for key, value in (get(case.run, "strategy_params") or {}).items():
            params.setdefault((case.suite, case.strategy, key), set()).add(str(value))
    for case in cases:
        own = get(case.run, "strategy_params") or {}
        shown = [f"{plain(k)}={plain(whole(v))}" for k, v in own.items() if len(params[(case.suite, case.strategy, k)]) > 1]
        case.name = ":".join([case.strategy, *shown])
        case.label = case.name + (f" ({case.on} devices)" if case.asked > case.n else "")


def groups(documents):
    """Returns the groups of [(name, document)], in the order of the files. Titles leave out parameters that no case varies and that are no size."""
    cases = []
    for name, document in documents:
        devices = {plain(get(device, "id")): device for device in document["devices"]}
        exact = bool(get(document, "environment", "simulated"))
        few_asked = any(get(document, "options", name) is not None for name in ("samples", "quick"))
        source = Path(name).name.removesuffix(".gz").removesuffix(".json")
        for run in document["runs"]:
            defaults = get(document, "defaults", str(get(run, "suite")))
            cases.append(Case(run, source, device_records=devices, defaults=defaults if isinstance(defaults, dict) else None, exact=exact,
                              few_asked=few_asked))
    name_cases(cases)
    values = {}
    for case in cases:
        for key, value in (get(case.run, "params") or {}).items():
            values.setdefault((case.suite, key), set()).add(str(value))
    found = {}
    for case in cases:
        params = get(case.run, "params") or {}
        varying = {k for k in params if len(values[(case.suite, k)]) > 1}
        key = (case.suite, json.dumps(params, sort_keys=True), case.mode)
        group = found.setdefault(key, Group(case.suite, problem(params, varying, case.defaults), case.mode, params, case.defaults))
        if any(c.label == case.label and c.devices == case.devices and c.source != case.source for c in group.cases):
            case.label += f" ({case.source})"
        group.cases.append(case)
    for group in found.values():
        for case in group.cases:
            case.lone = group.ok() == [case]
    return list(found.values())


COLUMNS = {"commands": {"device", "kind", "slice", "label", "bytes", "started_ns", "ended_ns"}, "spans": {"device", "state", "begin_ns", "end_ns"}}


def rows(case, table):
    """Returns the timeline's table as dicts, without rows that are too short or have no device; empty if it lacks a column."""
    timeline = get(case.run, "timeline") or {}
    names = get(timeline, "columns", table) or []
    if not COLUMNS[table] <= set(names):
        return
    for row in get(timeline, table) or []:
        named = dict(zip(names, row))
        if len(row) >= len(names) and isinstance(named.get("device"), int) and 0 <= named["device"] < max(case.n, 1):
            yield named


def makespan(case):
    return number(case.run, "timeline", "makespan_ns") or case.median


def told_apart(a, b):
    """Returns whether two cases are distinguishable: their medians' 95 % intervals do not overlap; on a virtual clock, their medians differ."""
    if a.exact and b.exact:
        return a.median != b.median
    return not a.interval or not b.interval or a.interval[1] < b.interval[0] or b.interval[1] < a.interval[0]
