#!/usr/bin/env python3
"""Checks that everything which is said of one record agrees: tables, sentences, exports, the page, its charts, pictures, the plan and the
simulation. Usage: agree_test.py BINARY [unittest arguments]. Every figure of an output is compared with the record (or computed from it
here), so that noise cannot make a test fail; measurements are compared with predictions by their direction only."""

import base64
import copy
import csv
import gzip
import html.parser
import io
import json
import re
import shutil
import statistics
import subprocess
import sys
import unittest
from dataclasses import dataclass, field

import binary
from binary import ROOT, Case, mgpu

sys.path.insert(0, str(ROOT / "scripts"))
import report_html  # noqa: E402
import result_file  # noqa: E402

NB = "\u00a0"
WIDE = {"COLUMNS": "400"}
NANOS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}
TIME = r"([\d.,]+ (?:ns|us|ms|s|m|h))"
ID = r"([\w/:.]+)"
# Records with faults and cases that failed, gains above the ideal by noise and by more, a chain of stages, no figures, equal parameters, many
# rows, and a simulation.
STORED = ("tests/golden/report.json", *(f"results/{name}.json.gz" for name in (
    "h200/campaign/end-to-end-merkle", "h200/campaign/strategies-msm", "h200/stencil-2-2048", "h200/pipeline-2-stages", "h200/pinn-burgers-1",
    "h200/campaign/headline-pac", "h100/campaign/scaling-matrix", "h100/campaign/predicted-headline-stencil")))


# Figures of a record, computed here.

def word(name):
    """Returns the name of a bottleneck in tables."""
    return "?" if name == "unknown" else name.replace("perfect_", "").replace("free_", "")


def percent(part, whole):
    exact = 100 * part / whole
    return "<1" if part and exact < 0.5 else ">99" if part < whole and exact >= 99.5 else f"{exact:.0f}"


def shares(run):
    items = [device["items"] for device in run["per_device"]]
    if not sum(items):
        return "-"
    if len(items) <= 4:
        return "/".join(percent(one, sum(items)) for one in items)
    low, high = percent(min(items), sum(items)), percent(max(items), sum(items))
    return low if low == high else f"{low}-{high}"


def workers(run):
    return [device for device in run["per_device"] if device["items"] > 0]


def fastest_alone(run):
    """Returns (device, time) of the device that is fastest alone; None if one was not measured alone."""
    alone = [(device["device"], device.get("alone_ns")) for device in run["per_device"]]
    return min(alone, key=lambda one: one[1]) if alone and all(time for _, time in alone) else None


def imbalance(run):
    """Returns the median over the samples; None if the busy times of a device are not known."""
    busy = list(zip(*(device.get("busy_samples_ns") or [] for device in run["per_device"])))
    if len(run["per_device"]) < 2 or len(busy) != len(run["samples_ns"]) or any(None in one for one in busy):
        return None
    ratios = [max(one) / (sum(one) / len(one)) for one in busy if sum(one)]
    return (statistics.median(ratios) - 1) * 100 if ratios else None


def residue(run):
    whole = run["timeline"]["makespan_ns"]
    known = [device.get("residue_ns") for device in run["per_device"]]
    return None if not known or None in known else max(map(abs, known)) / whole * 100


def is_ok(run):
    return run["status"] == "ok"


def is_inapplicable(run):
    return run["status"] == "unsupported" and (run["reason"] or "").startswith("not applicable")


def grouped(report):
    """Returns the runs of each table."""
    found = {}
    for run in report["runs"]:
        found.setdefault(json.dumps([run["suite"], run["params"], run["mode"]], sort_keys=True), []).append(run)
    return list(found.values())


def nanos(shown):
    number, unit = shown.split(" ")
    return number, NANOS[unit]


# Printed tables.

@dataclass
class Table:
    title: str
    verdict: str  # the sentences above it, each line joined to the one before it
    columns: list
    units: dict
    rows: list  # {column: cell}, with the mark under ""
    notes: list = field(default_factory=list)


def columns_of(lines):
    """Returns {name: (begin, end)} of the columns of a table: two blanks in all lines divide them."""
    width = max(map(len, lines))
    lines = [line.ljust(width) for line in lines]
    used = [any(line[k] != " " for line in lines) for k in range(width)]
    stretches, begin = [], None
    for k in range(width + 1):
        filled = k < width and (used[k] or (0 < k < width - 1 and used[k - 1] and used[k + 1]))
        if filled and begin is None:
            begin = k
        if not filled and begin is not None:
            stretches.append((begin, k))
            begin = None
    found = {}
    for match in re.finditer(r"\S+(?: \S+)*", lines[0]):
        found[match.group()] = next(s for s in stretches if s[0] <= match.start() < s[1])
    assert len(set(found.values())) == len(found) == len(stretches), (lines, stretches)
    return found


def unwrapped(lines):
    return " ".join(line.strip() for line in lines)


def tables_of(text):
    """Returns the tables of cases in a text of run, report or simulate."""
    lines = text.split("\n")
    found = []
    for at, line in enumerate(lines):
        if not re.match(r" *strategy  ", line) or re.match(r"strategy +device ", line):
            continue
        head = line.index("strategy")
        begin = max(k for k in range(-1, at - 1) if k < 0 or not lines[k])
        end = at + 2
        while end < len(lines) and re.match(r"^[ *=?!]{1,2} {2}\S" if head > 3 else r"^[ *=?!] {2}\S", lines[end]):
            end += 1
        body = [one[head:] for one in lines[at:end]]
        places = columns_of([one for one in body if not re.search(r"  (failed|skipped|unsupported)(:|$)", one)])
        rows = []
        for one in lines[at + 2:end]:
            row = {name: one[head:].ljust(b)[a:b].strip() for name, (a, b) in places.items()}
            rows.append({"": one[:head].strip(), **row})
        units = {name: body[1].ljust(b)[a:b].strip() for name, (a, b) in places.items()}
        said = lines[begin + 1:at - 1]
        title = [said[0]] + [one for one in said[1:2] if one.startswith("  ")]
        notes = end
        while notes < len(lines) and lines[notes]:
            notes += 1
        found.append(Table(unwrapped(title), unwrapped(said[len(title):]), list(places), units, rows, lines[end:notes]))
    return found


def devices_tables_of(text):
    """Returns the rows of each table of --per-device."""
    lines, found = text.split("\n"), []
    for at, line in enumerate(lines):
        if not re.match(r"strategy +device ", line):
            continue
        end = next(k for k in range(at, len(lines)) if k > at + 1 and not re.search(r"  \S", lines[k]))
        places = columns_of(lines[at:end])
        rows, strategy = [], ""
        for one in lines[at + 2:end]:
            row = {name: one.ljust(b)[a:b].strip() for name, (a, b) in places.items()}
            strategy = row["strategy"] = row["strategy"] or strategy
            rows.append(row)
        found.append(rows)
    return found


class Page(html.parser.HTMLParser):
    """What a page of report_html.py says."""

    def __init__(self, text):
        super().__init__()
        self.words, self.rows, self.notes, self.at, self.cell, self.data = [], [], [], None, None, ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "ul":
            self.at = given.get("id")
        if tag == "li" and self.at == "words":
            self.words.append("")
        if tag == "p" and given.get("class") == "notice":
            self.at = "notice"
            self.notes.append("")
        if tag == "script":
            self.at = given.get("id")
        if tag == "tr":
            self.rows.append({})
        if tag == "td":
            self.cell = given["data-label"]
            self.rows[-1][self.cell] = ""

    def handle_endtag(self, tag):
        if tag in ("ul", "p", "script"):
            self.at = None
        if tag == "td":
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.rows[-1][self.cell] += data.replace(NB, " ")
        if self.at == "words" and self.words:
            self.words[-1] += data.replace(NB, " ")
        if self.at == "notice":
            self.notes[-1] += data.replace(NB, " ")
        if self.at == "data":
            self.data += data

    def chart_data(self):
        return json.loads(gzip.decompress(base64.b64decode(self.data)))


# Runs page.js on a page that records what it is asked to draw. Input: the page's data, compressed; output: what each chart was given, and
# the texts of its elements.
BROWSER = r"""
const fs = require("fs");
const [script, data] = [fs.readFileSync(process.argv[2], "utf8"), fs.readFileSync(process.argv[3], "utf8")];
const elements = {}, drawn = {};
const element = (id) => elements[id] ??= { id, textContent: "", dataset: {}, listeners: {}, options: [], hidden: false,
  addEventListener(kind, f) { this.listeners[kind] = f; }, querySelectorAll: () => [], append(...more) { this.options.push(...more); },
  replaceChildren(...more) { this.options = more; } };
globalThis.document = { getElementById: element, documentElement: element("root"), head: { append() {} }, querySelectorAll: () => [],
  createElement: () => ({}) };
globalThis.getComputedStyle = () => ({ getPropertyValue: () => "#123456" });
globalThis.innerWidth = 1280;
globalThis.matchMedia = () => ({ addEventListener() {} });
globalThis.Option = class { constructor(text, value) { this.text = text; this.value = value; } };
globalThis.Plotly = { react(id, traces, layout) { drawn[id] = JSON.parse(JSON.stringify({ traces, layout })); } };
element("data").textContent = data;
element("plotly").textContent = require("zlib").gzipSync("").toString("base64");
eval(script);
const until = () => {
  if (element("root").dataset.charts === undefined) return setTimeout(until, 5);
  const shown = [];
  for (const problem of element("problem").options) {
    element("problem").value = problem.value;
    element("problem").listeners.change({ target: { value: problem.value } });
    const cases = element("case").options.map((o) => o.text);
    cases.forEach((text, k) => {
      element("case").listeners.change({ target: { value: String(k) } });
      const texts = {};
      for (const [id, e] of Object.entries(elements)) if (/-of$|-note$/.test(id)) texts[id] = e.textContent;
      shown.push({ problem: problem.text, text, texts, drawn: JSON.parse(JSON.stringify(drawn)) });
    });
  }
  process.stdout.write(JSON.stringify({ state: element("root").dataset.charts, shown }));
};
until();
"""


class Agrees(Case):
    """The comparisons. A subclass has the record and its outputs."""

    def near(self, shown, value, what, scale=1, factor=1.0):
        """Checks that a number as it is shown is this value, rounded to its digits."""
        digits = shown.replace(",", "")
        self.assertRegex(digits, r"^-?\d+(\.\d+)?$", what)
        half = 0.5 * 10 ** -len(digits.partition(".")[2])
        self.assertLessEqual(abs(float(digits) - value * factor / scale), half * 1.0001 + 1e-9, f"{what}: {shown} shows {value * factor / scale}")

    def near_time(self, shown, ns, what):
        number, scale = nanos(shown)
        self.near(number, ns, what, scale)

    def figure(self, cell, value, what, factor=1.0, scale=1.0):
        """Checks a cell that is "-" if there is no value."""
        self.assertEqual(cell == "-", value is None, f"{what}: {cell} shows {value}")
        if value is not None:
            self.near(cell.removesuffix(" !"), value, what, scale, factor)

    # The table of run and report.

    def check_row(self, row, units, run, simulated, where):
        metrics, scale = run["metrics"], NANOS.get(units.get("time", ""), 1)
        expected_label = run["strategy"]
        self.assertTrue(row["strategy"].startswith(expected_label) or row["strategy"].endswith(".."), where)
        if not is_ok(run):
            return
        if chosen := (run["plan"].get("chosen") or {}).get("strategy"):
            self.assertTrue(row["strategy"].endswith((f"({chosen})", "..")), where)
        time, low, high = run["time_ns"]["median"], *run["time_ns"]["ci95"]
        for name, cell in row.items():
            what = f"{where}, {name}"
            if name == "shares":
                self.assertEqual(cell, shares(run), what)
            elif name == "time":
                median, _, spread = cell.partition(" ")
                self.near(median, time, what, scale)
                if half := re.fullmatch(r"\u00b1 +([\d.]+)", spread.strip()):
                    self.near(half[1], (high - low) / 2, what, scale)
                elif ends := re.fullmatch(r"\(([\d.]+)\.\.([\d.]+)\)", spread.strip()):
                    self.near(ends[1], low, what, scale)
                    self.near(ends[2], high, what, scale)
                else:
                    self.assertEqual((spread.strip(), run["time_ns"]["n"] < 2), ("", True), what)
            elif name == "gain":
                self.figure(cell, metrics["speedup"], what)
                if (alone := fastest_alone(run)) and len(run["devices"]) > 1:
                    self.near(cell, alone[1] / time, what)
            elif name == "of ideal":
                self.figure(cell, metrics["efficiency"], what, 100)
                if fastest_alone(run) and len(run["devices"]) > 1 and cell != "-":
                    self.near(cell.removesuffix(" !"), 100 / time / sum(1 / d["alone_ns"] for d in run["per_device"]), what)
                if not simulated and metrics["efficiency"] is not None:
                    self.assertEqual(cell.endswith("!"), metrics["efficiency"] >= 1.0005, what)
            elif name == "held back by":
                self.assertEqual(cell, word(run["bottleneck"]["name"]), what)
            elif name in ("balance", "comm", "exchange", "overlap", "filling"):
                key = {"comm": "comm_share", "exchange": "exchange_share", "filling": "filling_share"}.get(name, name)
                self.figure(cell, metrics.get(key), what, 100)
            elif name == "predicted":
                self.figure(cell, run["plan"].get("predicted_ns"), what, scale=scale)
            elif name == "rate":
                prefix = units["rate"].removesuffix(run["rate"]["unit"])
                self.figure(cell, run["rate"]["value"] or None, what, scale={"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}[prefix])
            elif name == "imbalance":
                if (value := imbalance(run)) is not None:
                    self.figure(cell, value, what)
            elif name == "residue" and cell != "?":
                self.figure(cell, residue(run), what)
            elif name == "verified":
                checked = run["verify"].get("samples_checked") or 0
                partly = run["verify"]["status"] == "passed" and 0 < checked < len(run["samples_ns"])
                self.assertEqual(cell, f"{checked} of {len(run['samples_ns'])}" if partly else run["verify"]["status"], what)

    def check_tables(self, report, text):
        """Checks every cell, the marks and the sentences above each table. Returns [(table, its runs)]."""
        simulated = "simulated" in report["environment"]
        tables = tables_of(text)
        groups = [[run for run in group if not is_inapplicable(run)] for group in grouped(report)]
        groups = [group for group in groups if group]
        self.assertEqual(len(tables), len(groups), text)
        for table, group in zip(tables, groups):
            self.assertEqual(len(table.rows), len(group), table.title)
            self.assertIn(group[0]["suite"], table.title)
            self.assertTrue(table.title.endswith(", " + group[0]["mode"].replace("_", " ")), table.title)
            for row, run in zip(table.rows, group):
                self.check_row(row, table.units, run, simulated, f"{table.title}: {row['strategy']}")
            self.check_marks(table, group)
            if not any(row["strategy"].endswith("..") for row in table.rows):
                self.check_verdict(table, group, simulated)
        return list(zip(tables, groups))

    def check_marks(self, table, group):
        ok = [(row, run) for row, run in zip(table.rows, group) if is_ok(run)]
        first = [row for row, _ in ok if row[""][:1] in ("*", "=")]
        if not first:
            return
        times = {id(row): run["time_ns"] for row, run in ok}
        ranked = [(row, run) for row, run in ok if row[""][:1] != "?"]
        fastest = min(ranked, key=lambda one: one[1]["time_ns"]["median"])[0]
        self.assertIn(fastest, first, f"{table.title}: the fastest row is not marked")
        for row, run in ranked:
            apart = times[id(fastest)]["ci95"][1] < run["time_ns"]["ci95"][0]
            self.assertEqual(row in first, not apart, f"{table.title}: {row['strategy']}")
        if any(row[""][:1] == "*" for row in first):
            self.assertEqual(len(first), 1, table.title)

    def check_verdict(self, table, group, simulated):
        """Checks the sentences above a table against its rows and the record."""
        rows = {row["strategy"]: (row, run) for row, run in zip(table.rows, group) if is_ok(run)}
        said, where = table.verdict, f"{table.title}: {table.verdict}"
        named = r"\((?P<who>[^,]+?(?: \([^)]*\))?)(?:, (?P<more>[^()]*(?:\([^)]*\)[^()]*)*))?\)"
        give = r"(?P<give>Give .*?(?:the rest|all [\d,]+ [^(]+?|% of [\d,]+ [^(]+?))"
        forms = {
            "split": rf"{give} {named}: (?P<time>{TIME}), (?P<gain>[\d.]+) times as fast as device (?P<device>{ID}) "
                     rf"alone \((?P<alone>{TIME})\)(?: and (?P<equal>[\d.]+) times as fast as equal shares)?",
            "do not split": rf"Do not split: device (?P<device>{ID}) alone takes (?P<alone>{TIME}); the best split {named} takes "
                            rf"(?P<time>{TIME}) \((?P<longer>[\d.]+) (?P<unit>% longer|times as long)\)",
            "tie": rf"No split is measurably faster than device (?P<device>{ID}) alone \((?P<alone>{TIME})\): the best split "
                   rf"\((?P<who>.+?)\) takes (?P<time>{TIME}), a tie within noise",
            "unknown": rf"{give} {named}: (?P<time>{TIME}); (?:devices were not measured alone|the gain over device (?P<device>{ID}) "
                       rf"alone \((?P<alone>{TIME})\) is not known)",
            "one": rf"Device (?P<device>{ID}) alone takes (?P<time>{TIME}) \((?P<who>.+?)\)(?:; no split was measured)?\.",
            "indivisible": rf"Not split: .*; device (?P<device>{ID}) takes (?P<time>{TIME})\.",
            "none": r"No verdict: |Nothing was measured; |It takes "}
        form, found = next(((name, m) for name, pattern in forms.items() if (m := re.match(pattern, said))), (None, None))
        self.assertIsNotNone(form, f"no form of a verdict: {where}")
        told = {name: value for name, value in found.groupdict().items() if value is not None}
        if form == "none":
            self.assertFalse([row for row in table.rows if row[""][:1] in ("*", "=")] if said.startswith("No verdict") else [], where)
            return form, told
        if form == "indivisible":
            self.assertFalse([r for _, r in rows.values() if len(workers(r)) > 1], where)
            return form, told
        who = re.sub(r" \(\d+(?: of \d+)? devices?\)$", "", told["who"])
        candidates = [(row, run) for label, (row, run) in rows.items() if label == who]
        candidates += [(row, run) for row, run in zip(table.rows, group) if is_ok(run) and row["strategy"] == who and (row, run) not in candidates]
        candidates = [c for c in candidates if self.shows(told["time"], c[1]["time_ns"]["median"])]
        self.assertTrue(candidates, f"no row has this name and time: {where}")
        row, run = candidates[0]
        self.assertNotEqual(row[""][:1], "?", where)
        ranked = [r for w, r in zip(table.rows, group) if is_ok(r) and w[""][:1] != "?"]
        several = [r for r in ranked if len(workers(r)) > 1]
        if form == "one":
            self.assertEqual([d["device"] for d in workers(run)] or run["devices"], [told["device"]], where)
            self.assertFalse(several, where)
        else:
            self.assertEqual(run["time_ns"]["median"], min(r["time_ns"]["median"] for r in several), f"not the best split: {where}")
        alone = fastest_alone(run)
        if "alone" in told:
            self.assertEqual(told["device"], alone[0], where)
            self.near_time(told["alone"], alone[1], where)
        if form == "split":
            self.assertGreater(run["metrics"]["speedup"], 1, where)
            self.near(told["gain"], run["metrics"]["speedup"], where)
            if "gain" in row:
                self.assertEqual(told["gain"], row["gain"], where)
        if form == "do not split":
            self.assertLessEqual(run["metrics"]["speedup"], 1, where)
            ratio = run["time_ns"]["median"] / alone[1]
            self.near(told["longer"], (ratio - 1) * 100 if told["unit"].startswith("%") else ratio, where)
        if "equal" in told:
            equal, = [r for r in group if r["strategy"] == "equal" and r["devices"] == run["devices"]]
            self.near(told["equal"], equal["time_ns"]["median"] / run["time_ns"]["median"], where)
        for tied in re.split(r", | and ", re.sub(r"^(in a tie with|as fast as) ", "", told["more"])) if \
                re.match(r"in a tie|as fast as", told.get("more", "")) else ():
            tied = re.sub(r" \(\d+(?: of \d+)? devices?\)$", "", tied)
            if tied in rows:
                self.assertEqual(rows[tied][0][""][:1], "=", where)
        if "give" in told:
            self.check_give(told["give"], run, where)
        self.check_held_back(said[found.end():], row, run, where)
        return form, told

    def shows(self, shown, ns):
        number, scale = nanos(shown)
        half = 0.5 * 10 ** -len(number.partition(".")[2])
        return abs(float(number) - ns / scale) <= half * 1.0001

    def check_give(self, give, run, where):
        """Checks "Give 0:0 768 of 1,024 items (75 %) and 0:1 the rest"."""
        working, items = workers(run), sum(d["items"] for d in run["per_device"])
        units, unit = run["work"].get("units") or items, run["work"].get("unit") or "items"
        if one := re.fullmatch(rf"Give {ID} all ([\d,]+) (.+)", give):
            self.assertEqual([one[1]], [d["device"] for d in working], where)
            self.assertEqual((one[2], one[3]), (f"{units:,}", unit), where)
            return
        if many := re.fullmatch(r"Give each of (\d+) devices (\S+) % of ([\d,]+) (.+)", give):
            self.assertEqual((int(many[1]), many[3], many[4]), (len(working), f"{units:,}", unit), where)
            least, most = (f(d["items"] for d in working) for f in (min, max))
            self.assertEqual(many[2], "-".join(dict.fromkeys((percent(least, items), percent(most, items)))), where)
            return
        parts = re.findall(rf"{ID} ([\d,]+)(?: of ([\d,]+) (.+?))? \((\S+) %\)", give)
        last = re.search(rf"and {ID} the rest$", give)
        self.assertTrue(parts and last, where)
        self.assertEqual([p[0] for p in parts] + [last[1]], [d["device"] for d in working], where)
        self.assertEqual((parts[0][2], parts[0][3]), (f"{units:,}", unit), where)
        for (_, count, _, _, share), device in zip(parts, working):
            self.near(count, device["items"] / items * units, where)
            self.assertEqual(share, percent(device["items"], items), where)

    CAUSES = {"balance;": "balance", "transfers;": "transfers", "exchanges;": "exchange", "launches;": "launches", "the merge;": "merge",
              "granularity,": "granularity", "contention,": "contention", "occupancy,": "occupancy", "time that": "unexplained"}

    def check_held_back(self, said, row, run, where):
        """Checks the sentence on what holds the row back."""
        shown, efficiency = word(run["bottleneck"]["name"]), run["metrics"]["efficiency"]
        self.assertIn(row.get("held back by"), (None, shown), where)
        if most := re.search(rf"What holds .*? back most: (\S+ ?\S*?)[ ;,].*?(?:it )?would take {TIME} \((\d+) % less", said):
            cause = next(word for begin, word in self.CAUSES.items() if said.split("back most: ")[1].startswith(begin))
            self.assertEqual(cause, shown, where)
            free = run["bottleneck"]["what_if_ns"][run["bottleneck"]["name"]]
            left = free / run["timeline"]["makespan_ns"]
            self.near_time(most[2], run["time_ns"]["median"] * left, where)
            self.near(most[3], (1 - left) * 100, where)
        elif "is not known" in said.split("What holds")[-1] and "What holds" in said:
            self.assertEqual(shown, "?", where)
        elif ideal := re.search(r"(?:Nothing but the work itself|is that each device is slower).*?(?:\((\d+) % of the ideal\))?\.$", said):
            self.assertEqual(shown, "none", where)
            if ideal[1]:
                self.near(ideal[1], efficiency, where, factor=100)
            if said.strip().startswith("Nothing") and len(run["devices"]) > 1 and efficiency is not None and len(workers(run)) > 1:
                self.assertGreaterEqual(efficiency, 0.9, where)
        else:
            self.assertFalse(run["timeline"]["commands"], f"nothing on what holds it back: {where}")

    # Other outputs of the record, against the same.

    def check_summary(self, report, tables):
        """Checks that the sentences in the file are those above the tables."""
        self.assertEqual([line["title"] for line in report["summary"]], [table.title for table, _ in tables])
        for line, (table, _) in zip(report["summary"], tables):
            self.assertTrue(line["text"].startswith(table.verdict), (table.verdict, line["text"]))

    def check_narrow(self, report, wide, narrow):
        """Checks that a narrower table says the same, and which columns it hides."""
        for (table, _), small in zip(wide, tables_of(narrow)):
            self.assertEqual((table.title, table.verdict), (small.title, small.verdict))
            for full, row in zip(table.rows, small.rows):
                for name, cell in row.items():
                    if cell.endswith(".."):
                        self.assertTrue(full[name].startswith(cell[:-2]), (name, full, row))
                    else:
                        self.assertEqual(cell, full[name], (table.title, name))
            hidden = re.search(r"(\d+) columns? hidden: (.+?) \(--columns", unwrapped(narrow.split("\n")))
            missing = {name for name in set(table.columns) - set(small.columns) if name not in ("verified", "dev")}
            missing -= {name for name in ("exchange", "filling") if all(row[name] in ("-", "") for one, _ in wide for row in one.rows)}
            told = {name.replace("-", " ") for name in hidden[2].split(", ")} if hidden else set()
            self.assertEqual(told, missing, table.title)

    def check_devices(self, text, tables):
        """Checks the tables of --per-device."""
        found = devices_tables_of(text)
        tables = [(table, group) for table, group in tables if any(run["per_device"] for run in group)]
        self.assertEqual(len(found), len(tables))
        for rows, (table, group) in zip(found, tables):
            expected = [(run, device) for run in group for device in run["per_device"]]
            self.assertEqual(len(rows), len(expected), table.title)
            for row, (run, device) in zip(rows, expected):
                where = f"{table.title}: {row}"
                self.assertTrue(row["strategy"].startswith(run["strategy"]), where)
                self.assertEqual((row["device"], row["items"]), (device["device"], f"{device['items']:,}"), where)
                items = sum(d["items"] for d in run["per_device"])
                self.assertEqual(row["share"], percent(device["items"], items) if items else "-", where)
                if device.get("busy_ns") is None:
                    self.assertEqual(row["busy"], "?", where)
                    continue
                times = {name: device.get(f"{name}_ns") for name in ("busy", "upload", "compute", "download", "exchange") if name in row}
                times["waiting"] = run["timeline"]["makespan_ns"] - device["busy_ns"]
                for name, ns in times.items():
                    if ns:
                        self.near_time(row[name], ns, f"{where}, {name}")
                    else:
                        self.assertEqual(row[name], "-", where)

    def check_csv(self, report, text):
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(len(rows), len(report["runs"]))
        words = {"perfect_balance": "balance", "unknown": "?"}
        for row, run in zip(rows, report["runs"]):
            self.assertEqual((row["suite"], row["strategy"], row["mode"], int(row["devices"]), row["status"]),
                             (run["suite"], run["strategy"], run["mode"], len(run["devices"]), run["status"]))
            if not is_ok(run):
                self.assertEqual((row["reason"], row["time_median_ns"], row["bottleneck"], row["samples"]), (run["reason"], "", "", ""))
                continue
            name = run["bottleneck"]["name"]
            self.assertEqual((row["verified"], row["bottleneck"]), (run["verify"]["status"], words.get(name, name.removeprefix("free_"))))
            self.assertEqual(int(row["time_median_ns"]), run["time_ns"]["median"])
            self.assertEqual([int(row["time_ci95_low_ns"]), int(row["time_ci95_high_ns"])], run["time_ns"]["ci95"])
            self.assertEqual(row["chosen"], (run["plan"].get("chosen") or {}).get("strategy", ""))
            for name, value in run["metrics"].items():
                self.assertEqual(float(row[name]) if row[name] else None, value, name)
            for name, value in run["params"].items():
                self.assertEqual(row[f"param_{name}"], str(value))

    def check_markdown(self, report, text, tables):
        parts = re.split(r"^\*\*(.+)\*\*$", text, flags=re.MULTILINE)[1:]
        self.assertEqual([title for title in parts[::2]], [table.title for table, _ in tables])
        for block, (table, group) in zip(parts[1::2], tables):
            lines = [line for line in block.split("\n") if line.startswith("|")]
            heads = [head.strip() for head in lines[0].strip("|").split("|")]
            ok = [(row, run) for row, run in zip(table.rows, group) if is_ok(run)]
            self.assertEqual(len(lines) - 2, len(ok))
            for line, (row, run) in zip(lines[2:], ok):
                cells = dict(zip(heads, (cell.strip() for cell in line.strip("|").split("|"))))
                where = f"{table.title}: {line}"
                self.assertEqual(cells["strategy"].strip("*"), row["strategy"], where)
                self.assertEqual(cells["strategy"].startswith("**"), row[""][:1] in ("*", "="), where)
                self.near_time(cells["time"], run["time_ns"]["median"], where)
                self.assertEqual(cells["speed-up"].removesuffix(" (!)"), row["gain"], where)
                self.assertEqual(cells["efficiency (%)"].removesuffix(" (!)"), row["of ideal"].removesuffix(" !"), where)
                self.assertEqual((cells["balance (%)"], cells["bottleneck"]), (row["balance"], row["held back by"]), where)
                self.assertEqual(int(cells["devices"]), len(run["devices"]), where)

    def check_page(self, report, text, tables):
        """Checks the table, the sentences and the charts of a page."""
        page = Page(text)
        simulated = "simulated" in report["environment"]
        for line in report.get("summary", []):
            self.assertTrue(any(line["text"] in words for words in page.words), (line, page.words))
        rows = [row for row in page.rows if row]
        expected = [(row, run, table) for table, group in tables for row, run in zip(table.rows, group) if run["status"] != "unsupported"]
        self.assertEqual(len(rows), len(expected))
        for shown, (row, run, table) in zip(rows, expected):
            where = f"page, {table.title}: {row['strategy']}"
            self.assertEqual(shown["problem"], table.title, where)
            if not is_ok(run):
                continue
            self.check_shown(shown["strategy"], row, where, simulated)
            if "shares, %" in shown:
                self.assertEqual(shown["shares, %"], row["shares"].replace("-", "\u2013") if row["shares"] == "-" else row["shares"], where)
            number, unit = re.match(r"([\d.]+) (\w+?)(?=\d|$|\s)", shown["time"]).groups() if run["time_ns"]["n"] > 1 else shown["time"].split()[:2]
            self.near(number, run["time_ns"]["median"], where, NANOS[unit])
            self.assertEqual(shown.get("speed-up", row["gain"]).removesuffix(" !").replace("\u2013", "-"), row["gain"], where)
            self.assertEqual(shown.get("efficiency, %", row["of ideal"]).replace("\u2013", "-").removesuffix(" !"),
                             row["of ideal"].removesuffix(" !"), where)
            self.assertEqual(shown.get("balance, %", row["balance"]).replace("\u2013", "-"), row["balance"], where)
            self.assertEqual(shown.get("bottleneck", row["held back by"]), row["held back by"], where)
        self.check_charts(page, report, tables, simulated)

    def check_shown(self, shown, row, where, simulated):
        """Checks a strategy with its marks on the page."""
        self.assertEqual("\u2605" in shown, row[""][:1] in ("*", "="), f"{where}: fastest in one place only ({row['']}, {shown})")
        if not simulated:
            self.assertEqual("!" in shown, bool(set("!?") & set(row[""])), f"{where}: marked in one place only ({row['']}, {shown})")
        self.assertIn(row["strategy"].split(":")[0].split(" ")[0], shown, where)

    def check_charts(self, page, report, tables, simulated):
        """Checks what page.js draws."""
        data = page.chart_data()
        groups = [group for group in data["groups"]]
        self.assertEqual([group["title"] for group in groups], [table.title for table, _ in tables])
        for group, (table, runs) in zip(groups, tables):
            ok = [(row, run) for row, run in zip(table.rows, runs) if is_ok(run)]
            ordered = sorted(ok, key=lambda one: (len(one[1]["devices"]), one[1]["time_ns"]["median"]))
            self.assertEqual(len(group["cases"]), len(ordered), table.title)
            for case, (row, run) in zip(group["cases"], ordered):
                where = f"chart, {table.title}: {row['strategy']}"
                self.assertEqual((case["median"], case["told"], case["devices"]), (run["time_ns"]["median"], row["strategy"], run["devices"]), where)
                self.assertEqual(case["leads"], row[""][:1] in ("*", "="), where)
                self.assertEqual(case["shares"] or "-", row["shares"], where)
                if case["efficiency"]:
                    self.assertEqual(case["efficiency"].removesuffix(" %"), row["of ideal"].removesuffix(" !"), where)
                self.assertEqual(case["predicted"], run["plan"].get("predicted_ns"), where)
                self.assertEqual(case["alone"], list(fastest_alone(run)) if fastest_alone(run) else None, where)
        if shutil.which("node"):
            self.check_drawn(page, tables)

    def check_drawn(self, page, tables):
        script, data, browser = (self.folder / name for name in ("page.js", "data", "browser.js"))
        script.write_text((ROOT / "scripts/report_page/page.js").read_text())
        data.write_text(page.data)
        browser.write_text(BROWSER)
        done = subprocess.run(["node", browser, script, data], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)
        out = json.loads(done.stdout)
        self.assertEqual(out["state"], "drawn" if any(is_ok(run) for _, group in tables for run in group) else "none")
        ordered = [(table, sorted(((row, run) for row, run in zip(table.rows, group) if is_ok(run)),
                                  key=lambda one: (len(one[1]["devices"]), one[1]["time_ns"]["median"]))) for table, group in tables]
        cases = [(table, row, run, ok) for table, ok in ordered for row, run in ok]
        self.assertEqual(len(out["shown"]), len(cases))
        for shown, (table, row, run, ok) in zip(out["shown"], cases):
            where = f"page.js, {table.title}: {row['strategy']}"
            time = re.fullmatch(rf"(.+) on (\d+) devices?, {TIME}", shown["text"].replace(NB, " "))
            self.assertEqual((shown["problem"], time[1], int(time[2])), (table.title, row["strategy"], len(run["devices"])), where)
            self.near_time(time[3], run["time_ns"]["median"], where)
            if not run["timeline"]["commands"]:
                continue
            caption = re.search(rf"^Timeline of (.+) on \d+ devices?: (.+), {TIME}$", shown["texts"]["timeline-of"].replace(NB, " "))
            self.assertEqual(caption.groups()[:2], (row["strategy"], table.title), where)
            self.near_time(caption[3], run["timeline"]["makespan_ns"], where)
            here = [(r, one) for r, one in ok if len(one["devices"]) == len(run["devices"])]
            texts = [a["text"].replace(NB, " ").replace("<b>", "").replace("</b>", "") for a in shown["drawn"]["strategies"]["layout"]["annotations"]]
            columns = [texts[k * (len(here) + 1):(k + 1) * (len(here) + 1)] for k in range(3)]
            self.assertEqual([column[0] for column in columns], ["time", "shares, %", "efficiency"], where)
            for k, (r, one) in enumerate(here, 1):
                self.near_time(columns[0][k].removeprefix("\u2605 "), one["time_ns"]["median"], where)
                self.assertEqual(columns[0][k].startswith("\u2605"), r[""][:1] in ("*", "="), where)
                self.assertEqual(columns[1][k] or "-", r["shares"], where)
                if columns[2][k]:
                    self.assertEqual(columns[2][k].removesuffix(" %"), r["of ideal"].removesuffix(" !"), where)
            lanes = list(dict.fromkeys(y for trace in shown["drawn"]["parts"]["traces"] for y in trace["y"]))
            for lane, device in zip(lanes, run["per_device"]):
                told = re.fullmatch(rf"device {ID}(?: \u2193)?(?:<br>([\d.]+) % of the work)?", lane.replace(NB, " "))
                self.assertEqual(told[1], device["device"], where)
                self.near(told[2], device["items"] / sum(d["items"] for d in run["per_device"]), where, factor=100)

    def check_pictures(self, report, file, tables):
        """Checks the words that pictures take from the shared reader of results."""
        groups = result_file.groups([(str(file), report)])
        self.assertEqual([group.title for group in groups], [table.title for table, _ in tables])
        for group, (table, runs) in zip(groups, tables):
            leaders, simulated = group.leaders(), "simulated" in report["environment"]
            for case, row, run in zip([c for c in group.cases if not is_inapplicable(c.run)], table.rows, runs):
                where = f"pictures, {table.title}: {row['strategy']}"
                self.assertEqual(case.told, row["strategy"], where)
                if not case.ok:
                    continue
                self.assertEqual(case in leaders, row[""][:1] in ("*", "="), where)
                self.assertEqual(case.shares or "-", row["shares"], where)
                if not simulated:
                    self.assertEqual("!" in case.marks, bool(set("!?") & set(row[""])), f"{where}: {case.doubts_told} {table.notes}")

    def check_all(self, report, file):
        tables = self.check_tables(report, self.good("report", file, "--columns", "all", env=WIDE).out)
        for width in ("80", "100", "140"):
            narrow = self.good("report", file, env={"COLUMNS": width}).out
            self.check_tables(report, narrow)
            self.check_narrow(report, tables, narrow)
        self.check_devices(self.good("report", file, "--per-device", env=WIDE).out, tables)
        csv_file, markdown = self.folder / "r.csv", self.folder / "r.md"
        self.good("report", file, "--export", f"csv={csv_file}", "--export", f"markdown={markdown}")
        self.check_csv(report, csv_file.read_text())
        self.check_markdown(report, markdown.read_text(), tables)
        self.check_pictures(report, file, tables)
        source = report_html.Source.of(file)
        self.check_page(report, report_html.page([source], file.name, [("", report_html.is_shown)]), tables)
        return tables


    def check_sweep(self, report, text):
        """Checks the tables by size against the record, and the sentences below them against the tables. Returns the number of sentences."""
        said = 0
        for part in re.split(r"\n\n", text):
            lines = part.strip("\n").split("\n")
            if len(lines) < 4 or "1 device " not in lines[1]:
                continue
            suite, mode = lines[0].split(", ")[0], lines[0].rsplit(", ", 1)[1].replace(" ", "_")
            runs = [run for run in report["runs"] if is_ok(run) and (run["suite"], run["mode"]) == (suite, mode)]
            counts = [1, *(int(n) for n in re.findall(r"(\d+) devices", lines[1]))]
            size = lines[1].split()[0]
            rows = {}
            for line in lines[3:]:
                cells = re.split(r"  +", line.strip())
                if len(cells) < 3 or not re.match(r"(2\^)?\d+$", cells[0]):
                    continue
                times = [cells[1], *cells[3::2]]
                rows[cells[0]] = {n: float(nanos(t.strip("~"))[0]) * nanos(t.strip("~"))[1] for n, t in zip(counts, times) if t != "-"}
                value = 2 ** int(cells[0][2:]) if cells[0].startswith("2^") else int(cells[0])
                here = [run for run in runs if run["params"][size] == value]
                for n, time in zip(counts, times):
                    known = [run["time_ns"]["median"] for run in here if len(run["devices"]) == n]
                    known += [device["alone_ns"] for run in here for device in run["per_device"] if n == 1 and device.get("alone_ns")]
                    self.assertEqual(time.startswith("~"), not known, line)
                    if known:
                        self.near_time(time, min(known), line)
                for n, gain in zip(counts[1:], cells[4::2]):
                    self.assertAlmostEqual(float(gain.split()[0]) * rows[cells[0]][n] / rows[cells[0]][1], 1, delta=0.02, msg=line)
            for n, at, gain in re.findall(r"^(\d+) devices .*?; at (\S+) the gain over fewer \(([\d.]+)x\)", part, re.MULTILINE):
                fewer = min(time for count, time in rows[at].items() if count < int(n))
                self.assertAlmostEqual(float(gain) * rows[at][int(n)] / fewer, 1, delta=0.02, msg=part)
                said += 1
            for n, at, ratio in re.findall(r"^(\d+) devices .*?at (\S+) they take ([\d.]+) times as long as fewer", part, re.MULTILINE):
                fewer = min(time for count, time in rows[at].items() if count < int(n))
                self.assertAlmostEqual(float(ratio) * fewer / rows[at][int(n)], 1, delta=0.02, msg=part)
                said += 1
            for n, at in re.findall(r"^(\d+) devices are (?:predicted to be )?faster .*?from (\S+) \w+ upwards", part, re.MULTILINE):
                for key in list(rows)[list(rows).index(at):]:
                    self.assertLessEqual(rows[key][int(n)], min(time for count, time in rows[key].items() if count < int(n)), part)
                said += 1
        return said

    def check_overview(self, record):
        """Checks the row of an overview against the table of the same file. Returns the form of the table's verdict."""
        file = self.folder / "overview.json"
        file.write_text(json.dumps(record))
        text = self.good("report", file, env={"COLUMNS": "100"}).out
        (table, group), = self.check_tables(record, self.good("report", file, "--columns", "all", env=WIDE).out)
        form, told = self.check_verdict(table, group, False)
        head, line = text.split("\n")[:2]
        names = ["suite", "problem", "best alone", "best split", "gain", "ideal", "held back by"]
        begins = [head.index(name) for name in names]
        begins[4:6] = [head.index("gain") - 1, head.index("ideal")]
        cells = dict(zip(names, (line[a:b].strip() for a, b in zip(begins, [*begins[1:], None]))))
        where = f"{text}\n{table.verdict}"
        suite, whole = cells["suite"], not cells["problem"].endswith("..")
        size, *words = cells["problem"].split() if whole else [cells["problem"][:-2]]
        self.assertRegex(table.title, rf"^{suite} (.* )?{re.escape(size)}{'[ ,]' if whole else ''}", where)
        for word_of_problem in words:  # numbers that are not the default's are in the title alone
            self.assertIn(word_of_problem.rstrip("."), table.title, where)
        alone = fastest_alone(group[0])
        if cells["best alone"] == "-":
            self.assertIsNone(alone, where)
        else:
            time, device = cells["best alone"].rsplit(" ", 1)
            self.assertEqual(device, alone[0], where)
            self.near_time(time, alone[1], where)
        if form in ("none", "one", "indivisible"):
            self.assertEqual((cells["best split"], cells["gain"], cells["ideal"]), ("-", "-", "-"), where)
        else:
            row, run = next((row, run) for row, run in zip(table.rows, group) if row["strategy"] == told["who"])
            chosen = (run["plan"].get("chosen") or {}).get("strategy", run["strategy"])
            self.assertEqual((cells["best split"], cells["held back by"]), (f"{row['shares']} {chosen}", row["held back by"]), where)
            self.assertEqual(cells["gain"].removesuffix("x"), row["gain"], where)
            self.assertEqual(cells["ideal"] == "-", row["of ideal"] == "-", where)
            if cells["ideal"] != "-":
                self.near(cells["ideal"].removesuffix(" %"), run["metrics"]["efficiency"], where, factor=100)
        if form == "none":
            self.assertIn(f"{suite}: {table.verdict}", unwrapped(text.split("\n")), where)
        else:
            words = {"split": f"Split: {suite}", "do not split": f"Do not split: {suite}", "tie": f"Cannot be told from one device: {suite}",
                     "unknown": "Gain not known", "one": f"Not split: {suite}", "indivisible": f"Cannot be split: {suite}"}
            self.assertEqual([name for name, begin in words.items() if f"\n{begin}" in text], [form], where)
        return form


class OneRecord(Agrees):
    """A record that is made here, of two devices one of which is three times slower."""

    STRATEGIES = "single,equal,capability,dynamic,auto"

    @classmethod
    def setUpClass(cls):
        if binary.DEVICE_COUNT < 2:
            raise unittest.SkipTest("no two devices here")
        cls.where = binary.Path(binary.tempfile.mkdtemp(dir=binary.SCRATCH))
        cls.file = cls.where / "r.json"
        cls.problem = ["merkle", *binary.DEVICES, "--size", "2^18", "--mode", "resident", "--slow", "1=3"]
        cls.calibrated = mgpu("calibrate", "merkle", *binary.DEVICES, "--no-noise", "--json")
        cls.done = mgpu("run", *cls.problem, "-s", cls.STRATEGIES, "-n", "7", "-o", cls.file, env=WIDE)
        if (cls.calibrated.code, cls.done.code) != (0, 0):
            raise RuntimeError(f"{cls.calibrated} {cls.done}")
        cls.report = json.loads(cls.file.read_text())

    def test_all_that_is_said_of_it_agrees(self):
        tables = self.check_all(self.report, self.file)
        printed = self.check_tables(self.report, self.done.out)
        self.check_narrow(self.report, tables, self.done.out)
        self.check_summary(self.report, tables)
        self.assertEqual([(row["strategy"], row["time"]) for table, _ in printed for row in table.rows],
                         [(row["strategy"], row["time"]) for table, _ in tables for row in table.rows])
        self.check_progress(self.done.err)

    def check_progress(self, err):
        """Checks the row that was printed as soon as it was known."""
        rows = re.findall(rf"merkle resident (\S+) on (\d+): {TIME}, (\d+) samples", err)
        self.assertEqual([row[0] for row in rows], [run["strategy"] for run in self.report["runs"]], err)
        for (_, devices, time, samples), run in zip(rows, self.report["runs"]):
            self.assertEqual((int(devices), int(samples)), (len(run["devices"]), len(run["samples_ns"])))
            self.near_time(time, run["time_ns"]["median"], err)

    def test_the_plan_names_the_same_devices_strategies_and_shares(self):
        plan, = json.loads(self.good("plan", *self.problem, "--json").out)["plans"]
        text = self.good("plan", *self.problem).out
        runs = {run["strategy"]: run for run in self.report["runs"]}
        self.assertEqual((plan["suite"], plan["leaves"], plan["mode"]), ("merkle", runs["equal"]["params"]["leaves"], "resident"))
        self.assertLessEqual(set(plan["devices"]), set(runs["equal"]["devices"]))
        self.assertEqual(sum(plan["items"]), runs["equal"]["work"]["items"])
        considered = {one["strategy"]: one["predicted_ns"] for one in plan["considered"]}
        self.assertLessEqual(set(self.STRATEGIES.split(",")) - {"auto"}, set(considered))
        self.assertEqual(considered[plan["strategy"]], plan["predicted_ns"])
        # The text times the merge again, so that its figures are only compared with each other.
        head = re.match(r"(.+): (\S+) on (.+)\n  (Give .+)\.\n  (.+)\n", text)
        self.assertEqual(head[1], tables_of(self.done.out)[0].title, text)
        listed = re.findall(rf"^  [* ] (\S+) +(\d+) devices? +{TIME}$", text, re.MULTILINE)
        times = {name: float(nanos(time)[0]) * nanos(time)[1] for name, _, time in listed}
        self.assertLessEqual(set(times), set(considered), text)
        told = re.search(rf"(\S+) on (\d+) of 2 devices is predicted to take {TIME}", text)
        self.assertEqual((told[1], told[3]), (head[2], next(time for name, _, time in listed if name == head[2])), text)
        self.assertEqual(int(told[2]), len(head[3].split(", ")), text)
        self.assertLessEqual(set(head[3].split(", ")), set(runs["equal"]["devices"]), text)
        for device in re.findall(rf"{ID} [\d,]+(?: of| \()|and {ID} the rest", head[4]):
            self.assertIn("".join(device), head[3].split(", "), text)
        self.assertRegex(head[5], r"^(nothing but the work itself|held back by \w+: without it, )", text)
        if alone := re.search(rf"the fastest device alone would take {TIME}, ([\d.]+) times as long", text):
            self.assertEqual(alone[1], next((time for name, _, time in listed if name == "single"), alone[1]), text)
            self.assertAlmostEqual(float(alone[2]), float(nanos(alone[1])[0]) * nanos(alone[1])[1] / times[head[2]], delta=0.02, msg=text)
        for name, time, ratio, way in re.findall(rf"  (\S+) would take {TIME} \(([\d.]+) % (longer|less)", text):
            self.assertEqual(time, next((shown for other, _, shown in listed if other == name), time), text)
            change = float(nanos(time)[0]) * nanos(time)[1] / times[head[2]] - 1
            self.assertAlmostEqual(float(ratio) / 100 * (1 if way == "longer" else -1), change, delta=0.02, msg=text)
        # The prediction against the measurement: the order of the devices, and of strategies that differ by half. Both need rates of equal
        # cores that other programs left alike.
        rates = [suite["ops_per_s"] for suite in json.loads(self.calibrated.out)["suites"]]
        fast, slow = (one["items_per_s"] for one in runs["capability"]["plan"]["estimates"])
        if max(rates) > 1.3 * min(rates) or not 2 < fast / slow < 4.5:
            self.skipTest("this machine is too busy to measure rates")
        by_device = dict(zip(plan["devices"], plan["items"]))
        measured = {d["device"]: d["items"] for d in runs["capability"]["per_device"]}
        fast, slow = runs["capability"]["devices"]
        self.assertGreater(by_device[fast], by_device.get(slow, 0))
        self.assertGreater(measured[fast], measured[slow])
        self.assertLess(considered["capability"], considered["equal"])
        self.assertLess(abs(by_device[fast] - measured[fast]), 0.35 * sum(plan["items"]), (by_device, measured))

    def test_a_simulation_of_it_names_the_same_things_and_goes_the_same_way(self):
        out = self.folder / "simulated.json"
        self.good("simulate", "--from", self.file, "-s", "single,equal,capability,dynamic", "-o", out)
        simulated = json.loads(out.read_text())
        tables = self.check_all(simulated, out)
        self.check_summary(simulated, tables)
        table, runs = tables[0]
        mine = {run["strategy"]: run for run in runs}
        its = {run["strategy"]: run for run in self.report["runs"]}
        self.assertEqual(table.title, f"simulated {tables_of(self.done.out)[0].title}")
        self.assertEqual([(d["id"], d["name"]) for d in simulated["devices"]], [(d["id"], d["name"]) for d in self.report["devices"]])
        for name, run in mine.items():
            self.assertEqual((run["params"]["leaves"], run["work"]["units"], run["work"]["unit"], run["work"]["items"]),
                             (its[name]["params"]["leaves"], *(its[name]["work"][key] for key in ("units", "unit", "items"))))
            self.assertEqual(run["rate"]["unit"], its[name]["rate"]["unit"])
            for device, measured in zip(run["per_device"], its[name]["per_device"]):
                self.assertLess(abs(device["alone_ns"] / measured["alone_ns"] - 1), 0.01)
            for ours, theirs in zip(run["per_device"], its[name]["per_device"]):
                self.assertEqual(ours.get("contention"), theirs.get("contention"))
        self.assertEqual(fastest_alone(mine["single"])[0], fastest_alone(its["single"])[0])
        self.assertEqual([d["device"] for d in workers(mine["single"])], [d["device"] for d in workers(its["single"])])
        self.assertLess(abs(mine["equal"]["time_ns"]["median"] / its["equal"]["timeline"]["makespan_ns"] - 1), 0.05)
        for a, b in (("equal", "capability"), ("equal", "dynamic"), ("single", "equal"), ("single", "capability")):
            if its[a]["time_ns"]["ci95"][0] > 1.5 * its[b]["time_ns"]["ci95"][1]:
                self.assertGreater(mine[a]["time_ns"]["median"], mine[b]["time_ns"]["median"], (a, b))

        nodes = self.good("simulate", "--from", self.file, "-s", "equal", "--nodes", "1,2", env=WIDE).out
        self.assertEqual(re.findall(r"^simulated (.+): (?:strong|weak) scaling$", nodes, re.MULTILINE),
                         ["merkle leaves=2^18, resident", "merkle 2^18 leaves per node, resident"])
        self.assertIn("leaves", re.search(r"^strategy.*dev +(\w+)", nodes.partition("weak")[2], re.MULTILINE)[1])

    def test_a_simulation_knows_the_contention_that_its_record_proves(self):
        record = copy.deepcopy(self.report)
        run, = record["runs"] = [run for run in record["runs"] if run["strategy"] == "capability"]
        work = sum(device["items"] for device in run["per_device"])
        for device in run["per_device"]:  # half as fast next to the other one
            alone = round(run["timeline"]["makespan_ns"] / 2 * work / device["items"])
            device.update(alone_ns=alone, alone_samples_ns=[alone] * len(run["samples_ns"]), contention=2.0)
        file, out = self.folder / "contended.json", self.folder / "simulated.json"
        for known in (True, False):
            for device in run["per_device"] if not known else ():
                del device["contention"]
            file.write_text(json.dumps(record))
            self.good("simulate", "--from", file, "-s", "capability", "-o", out)
            simulated, = json.loads(out.read_text())["runs"]
            free, whole = simulated["bottleneck"]["what_if_ns"].get("free_contention"), simulated["timeline"]["makespan_ns"]
            self.assertEqual(free < 0.9 * whole, known, simulated["bottleneck"])
            if known:
                self.assertNotEqual(simulated["bottleneck"]["name"], "unexplained")

    def test_an_overview_says_what_its_tables_say(self):
        record = {**self.report, "options": {**self.report["options"], "overview": 1}}
        forms = [self.check_overview(record)]
        file = self.folder / "few.json"
        self.good("run", *self.problem, "-s", "equal,auto", "-n", "2", "-o", file)
        few = json.loads(file.read_text())
        few["options"]["overview"] = 1
        forms.append(self.check_overview(few))
        self.assertEqual(forms[1], "none")
        for names in (("single",), ("equal", "capability"), ("auto",)):
            part = {**record, "runs": [run for run in record["runs"] if run["strategy"] in names]}
            forms.append(self.check_overview(part))
        unknown = copy.deepcopy(record)
        for run in unknown["runs"]:
            for device in run["per_device"]:
                device.update(alone_ns=None, alone_samples_ns=[])
            run["metrics"].update(speedup=None, ideal_speedup=None, efficiency=None)
        unknown["runs"] = unknown["runs"][1:]
        self.assertEqual(self.check_overview(unknown), "unknown")


class StoredSweeps(Agrees):
    def test_tables_by_size_and_sentences_agree(self):
        for name in ("h200/sweep-1", "h100/campaign/scaling-matrix"):
            report = json.loads(gzip.decompress((ROOT / f"results/{name}.json.gz").read_bytes()))
            report.setdefault("options", {})["size"] = "sweep"
            file = self.folder / "sweep.json"
            file.write_text(json.dumps(report))
            self.assertGreater(self.check_sweep(report, self.good("report", file, env=WIDE).out), 3, name)


class StoredOverviews(Agrees):
    def test_every_row_says_what_its_table_says(self):
        for name in ("h200/overview-2", "h100/overview-2-slow3", "xeon/overview-two-cores-slow3"):
            report = json.loads(gzip.decompress((ROOT / f"results/{name}.json.gz").read_bytes()))
            for suite in dict.fromkeys(run["suite"] for run in report["runs"]):
                with self.subTest(name, suite=suite):
                    self.check_overview({**report, "runs": [run for run in report["runs"] if run["suite"] == suite]})


class StoredRecords(Agrees):
    """Records of other machines: GPUs, four devices, several sizes, faults."""

    def test_everything_that_is_said_of_them_agrees(self):
        for name in STORED:
            file = ROOT / name
            report = json.loads(gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_text())
            with self.subTest(name):
                self.check_all(report, file)


if __name__ == "__main__":
    binary.main()
