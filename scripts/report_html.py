#!/usr/bin/env python3
"""One page from a result file, that opens without a network: what won in words, charts, the timeline, a sortable table, the environment.

usage: report_html.py RESULT -o PAGE.html     exit 0 and the page's name, or exit 2 and one line for bad input

Words, table and environment are written here and need no script in the browser; the charts are drawn by report_page/page.js with
plotly.js, which Debian's plotly (package python3-plotly) contains and which is embedded in the page, compressed. The page forbids every
connection (Content-Security-Policy), so that no part of a result can leave the machine that shows it.
"""

import argparse
import base64
import gzip
import html
import json
import shlex
import sys
from pathlib import Path

import json_input
import result_file
import result_series
from json_input import plain
from result_file import DISTURBED, SLOWED, duration, get, makespan, number, power, rate, rows

HERE = Path(__file__).resolve().parent / "report_page"
PARTS = ("compute", "upload", "download", "launch", "sync", "idle", "wake", "residue")
COMMANDS_AT_MOST = 4000  # per case: with more, a browser takes seconds to draw them, and they are narrower than a pixel
SAMPLES_AT_MOST = 400


def text(value):
    return html.escape(plain(value), quote=True)


def timeline(case):
    """Returns the longest commands if there are too many, and the number of all."""
    commands = [[c["device"], c["kind"], c["slice"], plain(c["label"]), c["bytes"], c["started_ns"], c["ended_ns"] - c["started_ns"]]
                for c in rows(case, "commands")]
    count = len(commands)
    if count > COMMANDS_AT_MOST:
        commands = sorted(commands, key=lambda c: -c[-1])[:COMMANDS_AT_MOST]
    waits = sorted(result_series.gaps(case), key=lambda gap: -gap[-1])[:COMMANDS_AT_MOST]
    return {"whole": makespan(case), "commands": commands, "count": count, "waits": waits,
            "merge": [number(case.run, "timeline", "merge", "begin_ns"), number(case.run, "timeline", "merge", "end_ns")]}


def chart_data(groups):
    """Returns the data that page.js draws; times in nanoseconds, unknown figures null."""
    out = []
    for group in groups:
        cases, leaders = [], group.leaders()
        for case in in_order(group):
            cases.append({"label": case.label, "told": case.told, "marks": case.marks, "strategy": case.strategy, "n": case.n, "devices": case.devices, "median": case.median,
                          "slowed": [case.devices.index(d) for d in case.slowed], "interval": case.interval, "samples": case.samples[:SAMPLES_AT_MOST],
                          "leads": case in leaders, "speedup": case.metric("speedup"), "ideal_speedup": case.metric("ideal_speedup"),
                          "faults": len(case.faults), "alone": case.alone(), "predicted": case.predicted,
                          "parts": [[number(d, f"{part}_ns") for part in PARTS] for d in case.per_device], "timeline": timeline(case)})
        best = group.best()
        out.append({"title": group.title, "kind": f"{group.suite}, {group.mode.replace('_', ' ')}", "cases": cases,
                    "unit": plain(get(best.run, "rate", "unit") or "") if best else "", "work": group.most_work,
                    "best": next((k for k, c in enumerate(cases) if c["label"] == best.label and c["n"] == best.n), 0) if best else None})
    looks = {label: [look.colour, result_series.MARKS[look.mark][1], result_series.DASHES[look.dash][1]]
             for label, look in result_series.looks_of(groups).items()}
    return {"groups": out, "looks": looks, "sweeps": sweep_data(groups), "rooflines": roofline_data(groups)}


def in_order(group):
    return sorted(group.ok(), key=lambda case: (case.n, case.median))


def sweep_data(groups):
    return [{"title": sweep.title, "axis": sweep.axis, "by_count": sweep.by_count, "groups": [groups.index(g) for g in sweep.by_size.values()],
             "unit": plain(next((get(c.run, "rate", "unit") for _, line in sweep.lines() for _, c in line), None) or ""),
             "sizes": [[size, power(size)] for size in sorted(sweep.by_size)],
             "lines": [[name, [[size, number(c.run, "rate", "value"), c.label, c.marks] for size, c in line]] for name, line in sweep.lines()]}
            for sweep in result_series.sweeps(groups) if sweep.lines()]


def roofline_data(groups):
    return [{"unit": roof.unit, "ceilings": [[c.limit, c.n, c.rate, c.per_byte, c.words(roof.unit)] for c in roof.ceilings()],
             "points": [{"title": p.title, "label": p.case.label, "n": p.case.n, "x": p.intensity, "rate": p.rate, "roof": p.roof, "limit": p.limit,
                         "words": p.words} for p in roof.points]} for roof in result_series.rooflines(groups)]


COLUMNS = (("problem", "text"), ("strategy", "text"), ("devices", "number"), ("time", "number"), ("95 % interval", "number"), ("rate", "number"),
           ("speed-up", "number"), ("efficiency %", "number"), ("balance %", "number"), ("imbalance %", "number"), ("predicted", "number"),
           ("of roof", "number"), ("bottleneck", "text"), ("verified", "text"))


def cells(group, case):
    """Returns (text, sort key) of each column; a case without numbers has the reason in the last."""
    def figure(value, shown):
        return ("–", "") if value is None else (shown(value), value)

    def of_roof(value):
        return f"{100 * value:.0f} % {get(case.run, 'work', 'roof') or ''}"

    def marked(name, shown):
        """Adds a mark to a metric beyond its possible best by more than the usual difference of medians of the same work."""
        mark = "" if all(d.get("slight") is True for d in case.doubts(name)) else f" {result_file.DISTURBED}"
        return figure(case.metric(name), lambda v: shown(v) + mark)

    def percent(name):
        return marked(name, lambda v: f"{100 * v:.1f}")

    head = [(group.title, group.title), (case.told, case.label), (case.on, case.n)]
    if not case.ok:
        return head + [("–", "")] * 10 + [(f"{case.status}: {case.reason}", case.status)]
    interval = case.interval if len(case.samples) > 1 else None
    spread = ("–", "") if not interval else (f"{duration(interval[0])} to {duration(interval[1])}",
                                             (interval[1] - interval[0]) / case.median)
    value, unit = number(case.run, "rate", "value"), get(case.run, "rate", "unit") or ""
    bottleneck = result_file.what_if_word(str(get(case.run, "bottleneck", "name") or "–"))
    return head + [(duration(case.median), case.median), spread, figure(value or None, lambda v: rate(v, unit)),
                   marked("speedup", lambda v: f"{v:.2f}"), percent("efficiency"), percent("balance"), figure(case.metric("imbalance_percent"), lambda v: f"{v:.1f}"),
                   figure(case.predicted, duration), marked("roofline_fraction", of_roof), (bottleneck, bottleneck),
                   (case.verified, case.verified)]


def table(groups):
    heads = "".join(f'<th scope="col" aria-sort="none" data-kind="{kind}"><button type="button">{text(name)}</button></th>' for name, kind in COLUMNS)
    lines = []
    for g, group in enumerate(groups):
        leaders, shown = group.leaders(), in_order(group)
        for case in group.cases:
            tds = []
            for k, (shown_text, key) in enumerate(cells(group, case)):
                inner = text(shown_text)
                if k == 1:
                    inner = strategy_cell(case, inner, f"{g}" if case.ok else None, shown.index(case) if case.ok else None, leaders)
                tds.append(f'<td class="{COLUMNS[k][1]}" data-key="{text(key)}">{inner}</td>')
            lines.append(f'<tr{"" if case.ok else " class=bad"}>{"".join(tds)}</tr>')
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def strategy_cell(case, inner, group, index, leaders):
    """Returns the label with its marks; it is a button for the timeline if there is one."""
    if case.ok:
        inner = f'<button type="button" class="pick" data-group="{group}" data-case="{index}">{inner}</button>'
    if case in leaders:
        inner = f'<b title="{"fastest" if len(leaders) == 1 else "among the fastest"} of its problem">★</b> {inner}'
    why = case.warnings + [f"{len(case.faults)} fault{'' if len(case.faults) == 1 else 's'}"] * bool(case.faults)
    if why:
        inner += f' <b class="mark" title="{text("; ".join(why))}">{DISTURBED}</b>'
    if case.slowed:
        inner += f' <b class="mark" title="made slower on purpose: {text(", ".join(case.slowed))}">{SLOWED}</b>'
    return inner


def key_of_marks(document, groups):
    """Returns the meanings of the marks after names, for those that occur."""
    cases = [case for group in groups for case in group.cases]
    told = ["★ fastest, or among the fastest where the samples do not tell them apart"] if any(group.best() for group in groups) else []
    told += [f"{DISTURBED} disturbed or doubtful: see the notes above"] if any(c.warnings or c.faults for c in cases) else []
    if any(case.slowed for case in cases):
        told.append(f"{SLOWED} has a device made slower on purpose ({'; '.join(result_series.slowed_words(document['devices']))})")
    return ". ".join(told) + "." if told else ""


def pairs(entries):
    return "<dl>" + "".join(f"<dt>{text(key)}</dt><dd>{text(value)}</dd>" for key, value in entries if value not in (None, "")) + "</dl>"


def device_lines(device):
    yield "name", get(device, "name")
    yield "platform", f"{get(device, 'platform') or '?'} ({get(device, 'platform_version') or 'version unknown'})"
    yield "driver", get(device, "driver_version")
    memory = number(device, "global_memory_bytes")
    yield "memory", f"{memory / 2**30:.1f} GiB" if memory else None
    units, clock = number(device, "compute_units"), number(device, "clock_mhz")
    yield "compute units", f"{units}, {clock} MHz" if units else None
    yield "pci, uuid", ", ".join(str(v) for v in (get(device, "pci"), get(device, "uuid")) if v)
    uncertainty = number(device, "clock", "uncertainty_ns")
    yield "its clock is known to", f"{duration(uncertainty)} ({get(device, 'clock', 'method')})" if uncertainty is not None else None
    handicap = get(device, "handicap")
    if handicap:
        yield "made worse on purpose", ", ".join(f"{key} {power(value)}" for key, value in result_file.handicap(device).items())
    for key, value in (get(device, "capability") or {}).items():
        yield f"measured {key}", duration(value) if key.endswith("_ns") and value else f"{value:.4g}" if isinstance(value, (int, float)) else None


GAUGES = (("clock_mhz", "clock", "MHz", 1), ("memory_clock_mhz", "memory clock", "MHz", 1), ("power_w", "power", "W", 1),
          ("temperature_c", "temperature", "°C", 1), ("utilisation", "in use", "%", 100), ("load", "cores in use", "%", 100),
          ("other_load", "by other programs", "%", 100))


def watched(document, of):
    """Returns what telemetry recorded of a device or the host over all cases, or why it recorded nothing; None for older files without
    telemetry."""
    if "telemetry" not in document:
        return None
    if get(document, "telemetry") is None:
        return f"not looked at: {get(document, 'telemetry_reason') or 'no reason given'}"
    told = next((w for w in get(document, "telemetry", "watched") or [] if get(w, "of") == of), {})
    if not get(told, "source"):
        return f"not looked at: {get(told, 'reason') or 'no reason given'}"
    if get(told, "source") == "host":
        return "as the host"
    seen = [f for run in document["runs"] for f in get(run, "telemetry") or [] if get(f, "of") == of]
    parts = []
    for name, words, unit, factor in GAUGES:
        lows, highs = ([v * factor for f in seen if (v := number(f, name, end)) is not None] for end in ("min", "max"))
        if lows and highs:
            low, high = f"{min(lows):.0f}", f"{max(highs):.0f}"
            parts.append(f"{words} {low if low == high else f'{low} to {high}'} {unit}")
    held = sorted({str(word) for f in seen for word in get(f, "throttle") or []})
    if held:
        parts.append(f"clocks held down: {', '.join(held)}")
    return ", ".join(parts) or "nothing was read during its samples"


def environment(document):
    argv = get(document, "tool", "argv") or []
    parts = ["<h3>Command and machine</h3>", pairs([("command", shlex.join(str(a) for a in argv)), ("version", get(document, "tool", "version")),
                                                    ("commit", get(document, "tool", "git")),
                                                    ("while it ran", watched(document, "host")),
                                                    ("exchange", "; ".join(str(note) for note in get(document, "exchange_notes") or []) or None)]
                                                   + sorted((get(document, "environment") or {}).items()))]
    for device in document["devices"]:
        parts.append(f"<h3>Device {text(get(device, 'id') or '?')}</h3>" + pairs([*device_lines(device), ("while it ran", watched(document, str(get(device, "id"))))]))
    return "".join(parts)


def named_cases(groups, holds):
    """Returns "merkle leaves=2^20, resident: equal, dynamic on 2; ..." for the cases for which `holds` is true; problems with the same cases are
    named together."""
    by_words = {}
    for group in groups:
        held = [case for case in group.cases if holds(case)]
        if not held:
            continue
        counts = sorted({case.n for case in held})
        if all(holds(case) for case in group.ok()):
            words = "every strategy"
        elif all(holds(case) for n in counts for case in group.ok(n)):
            words = f"every strategy on {' and '.join(map(str, counts))} device{'' if counts == [1] else 's'}"
        else:
            words = ", ".join(c.told + (f" on {c.n}" if len(group.counts()) > 1 else "") for c in held)
        by_words.setdefault(words, []).append(group.title)
    return "; ".join(f"{'every problem' if len(titles) == len(groups) > 1 else '; '.join(titles)}: {words}" for words, titles in by_words.items())


def notices(document, groups):
    """Yields (fact that a reader must know before any number, the cases concerned or nothing)."""
    found = [] if get(document, "complete") else [("The run was interrupted; these are the cases it finished.", "")]
    slowed = result_series.slowed_words(document["devices"])
    if slowed:
        found.append((f"{SLOWED} Made slower on purpose: device {'; device '.join(slowed)}.", named_cases(groups, lambda case: case.slowed)))
    for warning in dict.fromkeys(w for group in groups for case in group.cases for w in case.warnings):
        found.append((f"{DISTURBED} {warning[:1].upper()}{warning[1:]}.", named_cases(groups, lambda case: warning in case.warnings)))
    return found


def all_faults(document, groups):
    """Yields (problem and strategy, sentence) of each fault; those of no case come first. Older files have the message only."""
    def told(fault):
        device = get(fault, "device") or "?"
        return str(get(fault, "text") or f"device {device}: {get(fault, 'what')}")
    yield from (("", told(fault)) for fault in get(document, "faults") or [])
    yield from ((f"{group.title}, {case.label}", told(fault))
                for group in groups for case in group.cases for fault in case.faults)


def faults(document, groups):
    lines = "".join(f"<li>{f'<b>{text(where)}</b>: ' if where else ''}{text(what)}</li>"
                    for where, what in all_faults(document, groups))
    return f'<section id="faults">\n<h2>What went wrong</h2>\n<ul>{lines}</ul>\n</section>' if lines else ""


def conclusions(document, groups):
    """Yields (problem, sentences) of each table, and its cases without numbers."""
    for line in get(document, "summary") or []:
        yield str(get(line, "title")), str(get(line, "text"))
    for group in groups:
        wrong = [c for c in group.cases if not c.ok]
        if wrong:
            named = "; ".join(f"{c.label} {c.status}, {c.reason}" for c in wrong[:3])
            yield group.title, f"{len(wrong)} of {len(group.cases)} cases gave no numbers: {named}."


def page(name, document, plotly):
    groups = result_file.groups([(name, document)])
    data = json.dumps(chart_data(groups), separators=(",", ":")).replace("<", "\\u003c")  # no "</script>" from a label
    summary = "".join(f"<li><b>{text(what)}</b>: {text(words)}</li>"
                      for what, words in conclusions(document, groups))
    missing = "summary: mgpu-bench report prints one" if groups else "case"
    told = "".join(f'<p class="notice"><b>{text(what)}</b>{f" In {text(where)}." if where else ""}</p>' for what, where in notices(document, groups))
    fill = {"title": text(f"{Path(name).name}: mgpu-bench"), "name": text(Path(name).name), "style": (HERE / "page.css").read_text(encoding="utf-8"),
            "devices": text(devices_in_words(document)),
            "summary": summary or f"<li>The file holds no {missing}.</li>",
            "measured": measured(document), "notices": told, "table": table(groups), "marks": text(key_of_marks(document, groups)),
            "faults": faults(document, groups),
            "environment": environment(document), "data": data, "plotly": plotly, "script": (HERE / "page.js").read_text(encoding="utf-8")}
    pieces = (HERE / "page.html").read_text(encoding="utf-8").split("@@")  # text, name, text, name, ...: filled text is not searched again
    return "".join(fill[piece] if k % 2 else piece for k, piece in enumerate(pieces))


def measured(document):
    """Returns the time of the measurement, if the file has it (older files do not)."""
    started = get(document, "started")
    return f'<p>measured <time datetime="{text(started)}">{text(started)}</time></p>' if isinstance(started, str) and started else ""


def devices_in_words(document):
    counts = {}
    for device in document["devices"]:
        name = str(get(device, "name") or "unnamed device")
        counts[name] = counts.get(name, 0) + 1
    words = ", ".join(f"{count} × {name}" for name, count in counts.items()) or "no device"
    return words


def packed_plotly():
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        json_input.refuse(f"plotly is missing ({error}); Debian: apt-get install python3-plotly")
    # Compressed it is a fifth of its 8.6 MB; without a time stamp the same result gives the same page.
    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", metavar="RESULT")
    parser.add_argument("-o", "--output", required=True, metavar="PAGE.html")
    given = parser.parse_args()
    document = result_file.read(given.file)
    plotly = packed_plotly()
    written = json_input.guarded([given.file], lambda: page(given.file, document, plotly))
    try:
        Path(given.output).write_text(written, encoding="utf-8")
    except OSError as error:
        json_input.refuse(f"--output: {given.output}: cannot be written: {error.strerror}")
    print(given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
