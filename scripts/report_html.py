#!/usr/bin/env python3
"""One page from a result file, that opens without a network: what won in words, charts, the timeline, a sortable table, the environment.

usage: report_html.py RESULT -o PAGE.html     exit 0 and the page's name, or exit 2 and one line for bad input

campaign_page.py makes the page of a campaign from the same pieces. Words, tables and environment are written here and need no script in the
browser; the charts are drawn by report_page/page.js with plotly.js, which Debian's plotly (package python3-plotly) contains and which is embedded
in the page, compressed. Without plotly the page has no charts. The page forbids every connection (Content-Security-Policy), so that no part of a
result can leave the machine that shows it.
"""

import argparse
import base64
import functools
import gzip
import html
import json
import re
import shlex
import sys
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import json_input
import result_file
import result_series
from json_input import plain
from result_file import DISTURBED, SLOWED, duration, get, makespan, number, percent, rate, rows

HERE = Path(__file__).resolve().parent / "report_page"
PARTS = ("compute", "upload", "download", "exchange", "launch", "sync", "idle", "wake", "residue")  # KINDS, then WAITS of result_series
COMMANDS_AT_MOST, COMMANDS_IN_ALL = 4000, 200_000  # per case and page: a browser takes seconds to draw more, narrower than a pixel
SAMPLES_AT_MOST = 400
FEW_SUITES = 4  # more are counted, not listed, in the heading
UNIT = r"(?:%|[num]?s|[kMGT]?(?:B|FLOP|op)(?:/s)?|[MG]iB|[kMGT] [\w-]+/s|MHz|W|°C|devices?|times)(?!\w)"
NO_BREAK = "\u00a0"


@dataclass
class Source:
    """A result file of a page."""
    name: str  # of a part of a campaign; empty if the page has one file
    document: dict
    groups: list = field(default_factory=list)

    @staticmethod
    def of(file, name=""):
        document = result_file.read(file)
        return Source(name, document, json_input.guarded([file], lambda: result_file.groups([(str(file), document)])))


def text(value):
    """Returns a text as the page shows it: its numbers keep their units on the same line."""
    return html.escape(re.sub(rf"(?<=\d) (?={UNIT})", NO_BREAK, plain(value)), quote=True)


def listed(words):
    """Returns "a, b and c"."""
    words = [str(word) for word in words]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def timeline(case, at_most):
    """Returns the longest commands if there are too many, and the number of all."""
    commands = [[c["device"], c["kind"], c["slice"], plain(c["label"]), c["bytes"], c["started_ns"], c["ended_ns"] - c["started_ns"]]
                for c in rows(case, "commands")]
    count = len(commands)
    if count > at_most:
        commands = sorted(commands, key=lambda c: -c[-1])[:at_most]
    waits = sorted(result_series.gaps(case), key=lambda gap: -gap[-1])[:at_most]
    return {"whole": makespan(case), "commands": commands, "count": count, "waits": waits,
            "merge": [number(case.run, "timeline", "merge", "begin_ns"), number(case.run, "timeline", "merge", "end_ns")]}


def chart_data(sources):
    """Returns the data that page.js draws; times in nanoseconds, unknown figures null."""
    every = [group for source in sources for group in source.groups]
    at_most = min(COMMANDS_AT_MOST, COMMANDS_IN_ALL // max(1, sum(len(group.cases) for group in every)))
    looks = {label: [look.colour, result_series.MARKS[look.mark][1], result_series.DASHES[look.dash][1]]
             for label, look in result_series.looks_of(every).items()}
    data = {"groups": [], "looks": looks, "sweeps": [], "rooflines": [], "kinds": result_series.KINDS, "waits": result_series.WAITS}
    for source in sources:
        data["sweeps"] += sweep_data(source.groups, len(data["groups"]))
        data["rooflines"] += roofline_data(source.groups, len(data["groups"]))
        data["groups"] += [group_data(group, at_most) | {"part": source.name} for group in source.groups]
    return data


def group_data(group, at_most):
    cases, leaders, best = [], group.leaders(), group.best()
    for case in in_order(group):
        efficiency = case.metric("efficiency")
        cases.append({"label": case.label, "told": case.told, "marks": case.marks, "strategy": case.strategy, "n": case.n, "devices": case.devices,
                      "median": case.median, "slowed": [case.devices.index(d) for d in case.slowed], "interval": case.interval,
                      "samples": case.samples[:SAMPLES_AT_MOST], "leads": case in leaders, "speedup": case.metric("speedup"),
                      "ideal_speedup": case.metric("ideal_speedup"), "faults": len(case.faults), "alone": case.alone(), "predicted": case.predicted,
                      "shares": case.shares, "efficiency": "" if efficiency is None else percent(efficiency),
                      "parts": [[number(d, f"{part}_ns") for part in PARTS] for d in case.per_device],
                      "share": [number(d, "share") for d in case.per_device], "timeline": timeline(case, at_most)})
    return {"title": group.title, "cases": cases, "work": group.most_work,
            "best": next((k for k, c in enumerate(cases) if c["label"] == best.label and c["n"] == best.n), 0) if best else None}


def in_order(group):
    return sorted(group.ok(), key=lambda case: (case.n, case.median))


def sweep_data(groups, first):
    return [{"title": sweep.title, "axis": sweep.axis, "by_count": sweep.by_count,
             "groups": [first + groups.index(g) for g in sweep.by_size.values()],
             "unit": plain(next((get(c.run, "rate", "unit") for _, line in sweep.lines() for _, c in line), None) or ""),
             "sizes": [[size, result_file.power(size)] for size in sorted(sweep.by_size)],
             "lines": [[name, [[size, number(c.run, "rate", "value"), c.label, c.marks] for size, c in line]] for name, line in sweep.lines()]}
            for sweep in result_series.sweeps(groups) if sweep.lines()]


def roofline_data(groups, first):
    found = []
    for roof in result_series.rooflines(groups):
        off, titles = roof.off_the_lines(), {p.title for p in roof.points}
        found.append({"unit": roof.unit, "frame": roof.frame(), "groups": [first + k for k, group in enumerate(groups) if group.title in titles],
                      "lines": [[c.limit, c.n, xs, ys, c.words(roof.unit)] for c, xs, ys in roof.lines()],
                      "points": [{"title": p.title, "label": p.case.label, "n": p.case.n, "x": p.intensity, "rate": p.rate, "roof": p.roof,
                                  "limit": p.limit, "off": p in off, "words": p.words} for p in roof.points]})
    return found


COLUMNS = (("problem", "text"), ("strategy", "text"), ("devices", "number"), ("shares, %", "number"), ("time", "number"), ("rate", "number"),
           ("speed-up", "number"), ("efficiency, %", "number"), ("balance, %", "number"), ("predicted", "number"),
           ("% of roofline", "number"), ("energy, J", "number"), ("energy gain", "number"), ("bottleneck", "text"), ("verified", "text"))
NOTHING = ("–", "")


def cells(group, case, strategy):
    """Returns (HTML, sort key) of each column; `strategy` is the HTML of the second."""
    def figure(value, shown):
        return NOTHING if value is None else (text(shown(value)), value)

    def of_best(name, shown):
        """Marks a metric beyond its possible best, and says why."""
        value = case.metric(name)
        reason = case.beyond_best(name)
        if value is None or not reason:
            return figure(value, shown)
        return f'<span class="mark" title="{text(reason)}">{text(shown(value))}{NO_BREAK}{DISTURBED}</span>', value

    def hundredths(value):
        return f"{100 * value:.1f}"

    head = [(text(group.title), group.title), (strategy, case.label), (text(case.on), case.n)]
    if not case.ok:
        return head + [NOTHING] * (len(COLUMNS) - len(head))
    interval = case.interval if len(case.samples) > 1 else None
    between = small(result_file.between(*interval)) if interval else ""
    value, unit = number(case.run, "rate", "value"), get(case.run, "rate", "unit") or ""
    bottleneck = result_file.what_if_word(str(get(case.run, "bottleneck", "name") or "–"))
    error = small(f"{100 * (case.predicted / case.median - 1):+.1f} %") if case.predicted else ""
    of_ceiling, key = of_best("roofline_fraction", hundredths)
    limit = small(get(case.run, "work", "roof") or "") if key else ""
    joules = number(case.run, "energy", "energy_j")
    half = small(f"± {number(case.run, 'energy', 'half_width_j') or 0:.2g}")
    return head + [(text(case.shares), number(case.per_device[0], "share") or 0) if case.shares else NOTHING,
                   (text(duration(case.median)) + between, case.median), figure(value or None, lambda v: rate(v, unit)),
                   of_best("speedup", lambda v: f"{v:.2f}"), of_best("efficiency", hundredths),
                   figure(case.metric("balance"), hundredths),
                   (text(duration(case.predicted)) + error, case.predicted) if case.predicted else NOTHING,
                   (of_ceiling + limit, key), (text(f"{joules:.3g}") + half, joules) if joules else NOTHING,
                   figure(number(case.run, "energy", "gain"), lambda v: f"{v:.2f}"), (text(bottleneck), bottleneck), (text(case.verified), case.verified)]


def small(words):
    return f"<small>{text(words)}</small>" if words else ""


def table(groups, shown):
    """Returns the table of the cases of these groups for which `shown` is true. A column that says nothing is left out: no case has a figure there,
    or every case is verified."""
    lines = []
    for g, group in enumerate(groups):
        leaders, ordered = group.leaders(), in_order(group)
        for case in group.cases:
            if shown(group, case):
                lines.append((case, cells(group, case, strategy_cell(case, g, ordered.index(case) if case.ok else None, leaders))))
    if not lines:
        return ""
    all_passed = all(case.verified == "passed" for case, _ in lines)
    used = [k for k, (name, _) in enumerate(COLUMNS) if any(row[k] != NOTHING for _, row in lines) and not (name == "verified" and all_passed)]
    heads = "".join(f'<th scope="col" aria-sort="none" data-kind="{kind}"><button type="button">{text(name)}</button></th>'
                    for name, kind in (COLUMNS[k] for k in used))

    def line(case, row):
        tds = (f'<td class="{COLUMNS[k][1]}" data-label="{text(COLUMNS[k][0])}" data-key="{text(row[k][1])}">{row[k][0]}</td>' for k in used)
        return f'<tr{"" if case.ok else " class=bad"}>{"".join(tds)}</tr>'

    body = "".join(line(*one) for one in lines)
    return (f'<div class="wide" tabindex="0" role="region" aria-label="cases"><table><thead><tr>{heads}</tr></thead>'
            f'<tbody>{body}</tbody></table></div>' + ("<p>Every case passed verification.</p>" if all_passed else ""))


def strategy_cell(case, group, index, leaders):
    """Returns the label with its marks; it is a button for the timeline if there is one."""
    inner = text(case.told).replace(":", ":<wbr>")
    if case.ok:
        inner = f'<button type="button" class="pick" data-group="{group}" data-case="{index}">{inner}</button>'
    else:
        inner += small(f"{case.status}: {case.reason}")
    if case in leaders:
        inner = f'<b title="{"fastest" if len(leaders) == 1 else "among the fastest"} of its problem">★</b> {inner}'
    if case.doubts_told:
        inner += f' <b class="mark" title="{text("; ".join(case.doubts_told))}">{DISTURBED}</b>'
    if case.slowed:
        inner += f' <b class="mark" title="slowed down on purpose: {text(", ".join(case.slowed))}">{SLOWED}</b>'
    return inner


def key_of_marks(sources):
    """Returns the meanings of the marks after names, for those that occur."""
    groups = [group for source in sources for group in source.groups]
    cases = [case for group in groups for case in group.cases]
    told = ["★ fastest, or a tie with the fastest"] if any(group.leaders() for group in groups) else []
    told += [f"{DISTURBED} disturbed or doubtful, see the notes"] if any(c.doubts_told for c in cases) else []
    told += [f"{SLOWED} uses a device that is slowed down on purpose ({slowed_devices(sources)})"] if any(case.slowed for case in cases) else []
    return ". ".join(told) + "." if told else ""


def slowed_devices(sources):
    return "; ".join(dict.fromkeys(words for source in sources for words in result_series.slowed_words(source.document["devices"])))


def pairs(entries):
    return "<dl>" + "".join(f"<dt>{text(key)}</dt><dd>{text(value)}</dd>" for key, value in entries if value not in (None, "")) + "</dl>"


FACTS = {"memory_bytes": "memory", "fp32_flops": "single precision", "fp64_flops": "double precision", "int32_ops": "32-bit integers",
         "memory_bytes_per_s": "memory bandwidth",
         "pinned_up_bytes_per_s": "host to device, pinned", "pinned_down_bytes_per_s": "device to host, pinned",
         "pageable_up_bytes_per_s": "host to device, pageable", "pageable_down_bytes_per_s": "device to host, pageable",
         "launch_ns": "kernel launch", "next_launch_ns": "each further launch"}
UNITS = (("_bytes_per_s", lambda v: rate(v, "B/s")), ("_flops", lambda v: rate(v, "FLOP/s")), ("_ops", lambda v: rate(v, "op/s")), ("_ns", duration),
         ("_bytes", lambda v: f"{v / 2**30:.1f} GiB" if v >= 2**30 else f"{v / 2**20:.1f} MiB"))


def fact(key, value):
    """Returns a figure of the file in words and with its unit: ("kernel launch", "61.3 us") of launch_ns."""
    shown = next((shown for ending, shown in UNITS if key.endswith(ending)), None)
    try:
        value = shown(float(value)) if shown and value is not None else value
    except (TypeError, ValueError):
        pass
    return FACTS.get(key, key), value


def device_lines(device):
    yield "name", get(device, "name")
    yield "platform", f"{get(device, 'platform') or '?'} ({get(device, 'platform_version') or 'version unknown'})"
    yield "driver", get(device, "driver_version")
    yield fact("memory_bytes", number(device, "global_memory_bytes"))
    units, clock = number(device, "compute_units"), number(device, "clock_mhz")
    yield "compute units", f"{units}, {clock} MHz" if units else None
    yield "PCI, UUID", ", ".join(str(v) for v in (get(device, "pci"), get(device, "uuid")) if v)
    uncertainty = number(device, "clock", "uncertainty_ns")
    yield "clock synchronisation error", f"{duration(uncertainty)} ({get(device, 'clock', 'method')})" if uncertainty is not None else None
    yield "slowed down on purpose", ", ".join(words.split(", ", 1)[1] for words in result_series.slowed_words([device]))
    for key, value in (get(device, "capability") or {}).items():
        name, shown = fact(key, value)
        yield f"{name}, measured", shown


GAUGES = (("clock_mhz", "clock", "MHz", 1), ("memory_clock_mhz", "memory clock", "MHz", 1), ("power_w", "power", "W", 1),
          ("temperature_c", "temperature", "°C", 1), ("utilisation", "utilisation", "%", 100), ("load", "CPU load", "%", 100),
          ("other_load", "other programs", "%", 100))


def watched(documents, of):
    """Returns what telemetry recorded of a device or the host over all cases, or why it recorded nothing; None for older files without
    telemetry."""
    documents = [document for document in documents if "telemetry" in document]
    if not documents:
        return None
    told = [next((w for w in get(document, "telemetry", "watched") or [] if get(w, "of") == of), {}) for document in documents]
    if not any(get(w, "source") for w in told):
        reason = next((get(w, "reason") for w in told if get(w, "reason")), None) or get(documents[0], "telemetry_reason") or "no reason given"
        return f"not recorded: {reason}"
    if get(told[0], "source") == "host":
        return "see the machine"
    seen = [f for document in documents for run in document["runs"] for f in get(run, "telemetry") or [] if get(f, "of") == of]
    parts = []
    for name, words, unit, factor in GAUGES:
        lows, highs = ([v * factor for f in seen if (v := number(f, name, end)) is not None] for end in ("min", "max"))
        if lows and highs:
            low, high = f"{min(lows):.0f}", f"{max(highs):.0f}"
            parts.append(f"{words} {low if low == high else f'{low} to {high}'} {unit}")
    held = sorted({str(word) for f in seen for word in get(f, "throttle") or []})
    if held:
        parts.append(f"throttled: {', '.join(held)}")
    return ", ".join(parts) or "nothing was recorded during its samples"


def environment(sources, commands):
    documents = [source.document for source in sources]
    first = max(documents, key=lambda document: len(document["devices"]))
    argv = get(first, "tool", "argv") or []
    parts = ["<h3>Command and machine</h3>" if not commands else f"<h3>Commands</h3><pre>{html.escape(plain_lines(commands))}</pre><h3>Machine</h3>",
             pairs([("command", "" if commands else shlex.join(str(a) for a in argv)), ("version", get(first, "tool", "version")),
                    ("commit", get(first, "tool", "git")), ("load during the run", watched(documents, "host")),
                    ("exchange", "; ".join(dict.fromkeys(str(note) for document in documents for note in get(document, "exchange_notes") or [])))]
                   + [fact(*entry) for entry in sorted((get(first, "environment") or {}).items())])]
    for device in first["devices"]:
        parts.append(f"<h3>Device {text(get(device, 'id') or '?')}</h3>"
                     + pairs([*device_lines(device), ("during the run", watched(documents, str(get(device, "id"))))]))
    return "".join(parts)


def plain_lines(lines):
    return "\n".join(map(plain, lines))


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
            words = f"every strategy on {listed(counts)} device{'' if counts == [1] else 's'}"
        else:
            words = ", ".join(c.told + (f" on {c.n}" if len(group.counts()) > 1 else "") for c in held)
        by_words.setdefault(words, []).append(group.title)
    return "; ".join(f"{'every problem' if len(titles) == len(groups) > 1 else '; '.join(dict.fromkeys(titles))}: {words}"
                     for words, titles in by_words.items())


def notices(sources):
    """Yields (fact that a reader must know before any number, the cases concerned or nothing)."""
    groups = [group for source in sources for group in source.groups]
    for source in sources:
        if not get(source.document, "complete"):
            yield f"{source.name or 'The run'} was interrupted; these are the cases it finished.", ""
    if slowed_devices(sources):
        yield f"{SLOWED} Slowed down on purpose: device {slowed_devices(sources)}.", named_cases(groups, lambda case: case.slowed)
    for warning, cases in result_file.doubts_of([case for group in groups for case in group.cases], lambda case: case.warnings).items():
        those = set(map(id, cases))
        yield f"{DISTURBED} {warning[:1].upper()}{warning[1:]}.", named_cases(groups, lambda case: id(case) in those)


def faults(sources):
    """Returns the section of all faults; those of no case come first."""
    told = [("", result_file.fault_words(fault)) for source in sources for fault in get(source.document, "faults") or []]
    told += [(f"{group.title}, {case.label}", result_file.fault_words(fault))
             for source in sources for group in source.groups for case in group.cases for fault in case.faults]
    lines = "".join(f"<li>{f'<b>{text(where)}</b>: ' if where else ''}{text(what)}</li>" for where, what in told)
    return f'<section id="faults">\n<h2>What went wrong</h2>\n<ul>{lines}</ul>\n</section>' if lines else ""


def conclusions(sources):
    """Yields (problems, sentences): each sentence once, then the cases without numbers, with each reason once."""
    said, missing = {}, {}
    for source in sources:
        part = f"{source.name}: " if source.name else ""
        for line in get(source.document, "summary") or []:
            said.setdefault(str(get(line, "text")), {})[f"{part}{get(line, 'title')}"] = None
        for group in source.groups:
            for case in (case for case in group.cases if not case.ok):
                reason = re.sub(rf"\b{re.escape(case.strategy)}\b", "this strategy", case.reason)
                reason = reason if reason.startswith("not applicable") else f"{case.status}: {reason}"
                where = missing.setdefault(reason, ({}, {}))
                where[0][case.label] = where[1][part + group.title] = None
    for words, titles in said.items():
        yield "; ".join(titles), words
    for reason, (labels, titles) in missing.items():
        yield "; ".join(titles), f"{listed(labels)}: {reason}{'' if reason.endswith('.') else '.'}"


def is_shown(_, case):
    return case.status != "unsupported"  # conclusions() has these in one line


def subject(groups, sources):
    """Returns what was measured on which devices."""
    problems = list(dict.fromkeys(f"{group.suite} {group.problem}".strip() for group in groups))
    suites = list(dict.fromkeys(group.suite for group in groups))
    what = problems[0] if len(problems) == 1 else ", ".join(suites) if len(suites) <= FEW_SUITES else f"{len(suites)} suites"
    what = what or "No case"
    return f"{what} on {devices_in_words(sources)}"


def page(sources, name, tables, *, heading="", lead=(), first_notices=(), commands=()):
    """Returns the page of these result files. `tables` has (heading, whether a case is in it); `lead` and `first_notices` come before those of the
    files, `heading` before the subject."""
    groups = [group for source in sources for group in source.groups]
    plotly, why_not = packed_plotly()
    summary = "".join(f"<li>{f'<b>{text(what)}</b>: ' if what else ''}{text(words)}</li>" for what, words in [*lead, *conclusions(sources)])
    missing = "summary: mgpu-bench report prints one" if groups else "case"
    told = "".join(f'<p class="notice"><b>{text(what)}</b>{f" In {text(where)}." if where else ""}</p>'
                   for what, where in [*first_notices, *notices(sources)])
    titled = [(title, inner) for title, shown in tables if (inner := table(groups, shown))]
    title = f"{heading}{subject(groups, sources)}"
    fill = {"title": text(f"{title}: mgpu-bench"), "heading": text(title), "style": (HERE / "page.css").read_text(encoding="utf-8"),
            "facts": header_facts(sources, name), "summary": summary or f"<li>The file holds no {missing}.</li>", "notices": told,
            "numbers": "".join(f"<h3>{text(title)}</h3>{inner}" if title else inner for title, inner in titled),
            "marks": text(key_of_marks(sources)), "faults": faults(sources), "environment": environment(sources, commands),
            "data": packed(json.dumps(chart_data(sources), separators=(",", ":"))), "plotly": plotly, "no-charts": text(why_not),
            "script": (HERE / "page.js").read_text(encoding="utf-8")}
    pieces = (HERE / "page.html").read_text(encoding="utf-8").split("@@")  # text, name, text, name, ...: filled text is not searched again
    return "".join(fill[piece] if k % 2 else piece for k, piece in enumerate(pieces))


def header_facts(sources, name):
    """Returns the lines below the heading: file, time, version, machine; those that the files have."""
    documents = [source.document for source in sources]
    started = sorted(s for document in documents if isinstance(s := get(document, "started"), str) and s)
    versions = dict.fromkeys(f"{get(d, 'tool', 'version')} ({get(d, 'tool', 'git') or 'commit unknown'})"
                             for d in documents if get(d, "tool", "version"))
    machines = dict.fromkeys(", ".join(str(v) for key in ("cpu", "os") if (v := get(d, "environment", key))) for d in documents)
    when = f'measured {" to ".join(dict.fromkeys(time_element(s) for s in (started[0], started[-1])))}' if started else ""
    facts = [text(name), when, f"mgpu-bench {text('; '.join(versions))}" if versions else "", text("; ".join(filter(None, machines)))]
    return "".join(f"<p>{one}</p>" for one in facts if one)


def time_element(started):
    try:
        moment = datetime.fromisoformat(started.replace("Z", "+00:00"))
        shown = f"{moment.day} {moment:%B %Y, %H:%M} {moment.tzname()}".replace(" ", NO_BREAK)
    except ValueError:
        shown = text(started)
    return f'<time datetime="{text(started)}">{shown}</time>'


def devices_in_words(sources):
    counts = {}
    for device in max((source.document["devices"] for source in sources), key=len):
        name = str(get(device, "name") or "unnamed device")
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{count} × {name}" for name, count in counts.items()) or "no device"


def packed(content):
    # Compressed, plotly.js is a fifth of its 8.6 MB; without a time stamp the same result gives the same page.
    return base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()


@functools.cache
def packed_plotly():
    """Returns plotly.js, and why it is not there."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        return "", f"no charts: {json_input.missing('plotly', error)}"
    return packed(get_plotlyjs()), ""


def static_page(title, style, sections):
    """Returns a page that needs no script. `sections` is HTML by heading; empty ones are left out."""
    filled = "".join(f"<section><h2>{text(heading)}</h2>{inner}</section>\n" for heading, inner in sections.items() if inner)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{text(title)}: mgpu-bench</title>
<style>
{(HERE / "page.css").read_text(encoding="utf-8")}{style}
</style>
</head>
<body>
<header><h1>{text(title)}</h1></header>
<main>
{filled}</main>
</body>
</html>
"""


def write_static(made, output):
    try:
        Path(output).write_text(made, encoding="utf-8")
    except OSError as error:
        json_input.refuse(f"--output: {output}: cannot be written: {error.strerror}")
    print(output)


def write(made, output):
    if packed_plotly()[1]:
        print(plain(f"{Path(sys.argv[0]).name}: {packed_plotly()[1]}"), file=sys.stderr)
    write_static(made, output)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", metavar="RESULT")
    parser.add_argument("-o", "--output", required=True, metavar="PAGE.html")
    given = parser.parse_args()
    source = Source.of(given.file)
    write(json_input.guarded([given.file], lambda: page([source], Path(given.file).name, [("", is_shown)])), given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
