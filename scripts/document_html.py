#!/usr/bin/env python3
"""One page from a file of `mgpu-bench profile -o` or `check --json`, that opens without a network.

usage: document_html.py FILE -o PAGE.html     exit 0 and the page's name, or exit 2 and one line for bad input

Of a profile: what holds the program back, where the time of each device went, what it would take without each cost, the timeline, kernels, copies
and waits. Of a check: the findings, the spread of the devices, a matrix per kind of link. Charts are SVG that needs no script.
"""

import argparse
import re
import statistics
import sys

import json_input
from report_html import pairs, static_page, text, write_static
from result_file import duration, percent, rate, what_if_word

WIDTH, LEFT, RIGHT, LANE = 1000, 150, 90, 22
COMMANDS_AT_MOST = 4000  # the longest: browsers take seconds to draw more
SPREAD = 0.1  # of the axis on either side of the median
PARTS = ("upload", "compute", "download", "launch", "idle")
STYLE = """svg { width: 100%; height: auto; } svg text { fill: var(--faint); font-size: 13px; }
.upload { fill: #e69f00; } .compute { fill: #0072b2; } .download { fill: #009e73; } .launch { fill: var(--launch); } .idle { fill: var(--idle); }
.whole { fill: var(--bar); } .value { fill: var(--link); opacity: .7; } .grid { stroke: var(--grid); }
th { padding: .3rem .35rem; font-size: .84rem; } .key { width: .8rem; height: .8rem; margin: 0 .3rem 0 1rem; }
.chart { overflow-x: auto; }
@media (max-width: 760px) {  /* tables stay tables: a matrix has no cards */
  .chart svg { width: 700px; } table { display: table; } thead { display: table-header-group; } tbody { display: table-row-group; }
  thead tr, tbody tr { display: table-row; } td, td.number { text-align: right; border-top: 1px solid var(--line); }
  td:nth-child(1) { text-align: left; } td:nth-child(-n+2) { font-weight: 400; background: none; } td:nth-child(n+3)::before { content: none; }
}"""


def svg(height, parts, label):
    return f'<div class="chart"><svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{text(label)}">{"".join(parts)}</svg></div>'


def bar(kind, x, y, width, told, height=LANE - 6):
    return f'<rect class="{kind}" x="{x:.2f}" y="{y}" width="{max(width, 0.3):.2f}" height="{height}"><title>{text(told)}</title></rect>'


def named(y, words, at=LEFT - 8, anchor="end"):
    return f'<text x="{at:.1f}" y="{y + 13}" text-anchor="{anchor}">{text(words)}</text>'


def table(heads, lines):
    """Returns a table; columns from the second on are figures."""
    if not lines:
        return ""
    head = "".join(f'<th scope="col"{" data-kind=number" if k else ""}>{text(name)}</th>' for k, name in enumerate(heads))
    body = "".join("<tr>" + "".join(f'<td{" class=number" if k else ""} data-label="{text(heads[k])}" data-key="x">{text(cell)}</td>'
                                    for k, cell in enumerate(line)) + "</tr>" for line in lines)
    return f'<div class="wide" tabindex="0" role="region" aria-label="table"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def bullets(words):
    return f'<ul>{"".join(f"<li>{text(one)}</li>" for one in words)}</ul>' if words else ""


def key():
    colours = "".join(f'<svg class="key" viewBox="0 0 10 10"><rect class="{part}" width="10" height="10"/></svg>'
                      f"{part}" for part in PARTS)
    return f'<p class="marks">{colours}</p>'


def in_order(names):
    return sorted(names, key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])


# A profile.

# Words of lib/profile/program_costs.cpp.
COSTS = {"full_overlap": "serial transfers", "fewer_copies": "small copies", "pinned_copies": "pageable memory", "free_waits": "host waits",
         "free_host_work": "host work"}


def parts_chart(profile):
    whole, parts = profile["makespan_ns"], []
    for k, device in enumerate(profile["devices"]):
        x, y = LEFT, k * LANE
        parts.append(named(y, device["id"]))
        for part in PARTS:
            width = (WIDTH - LEFT - RIGHT) * device[f"{part}_ns"] / max(whole, 1)
            parts.append(bar(part, x, y, width, f"{part}: {duration(device[f'{part}_ns'])}, {percent(device[f'{part}_ns'] / max(whole, 1))}"))
            x += width
    return svg(len(profile["devices"]) * LANE, parts, "parts of the time") + key()


def costs_chart(profile):
    whole = profile["makespan_ns"]
    rows = [("as it is", whole)] + [(f"no {COSTS.get(one['name'], what_if_word(one['name']))}", one["time_ns"])
                                    for one in sorted(profile["costs"]["without"], key=lambda one: one["time_ns"])]
    parts = []
    for k, (words, time) in enumerate(rows):
        width = (WIDTH - LEFT - RIGHT) * time / max(whole, 1)
        parts += [named(k * LANE, words), bar("whole" if k == 0 else "value", LEFT, k * LANE, width, duration(time)),
                  named(k * LANE, duration(time), LEFT + width + 6, "start")]
    return svg(len(rows) * LANE, parts, "time without each cost")


def timeline_chart(profile):
    names = profile["timeline"]["columns"]["commands"]
    commands = [dict(zip(names, one)) for one in profile["timeline"]["commands"]]
    shown = sorted(commands, key=lambda c: c["started_ns"] - c["ended_ns"])[:COMMANDS_AT_MOST]
    whole, lanes, parts = max(profile["makespan_ns"], 1), ("upload", "compute", "download"), []
    for k, device in enumerate(profile["devices"]):
        for lane, kind in enumerate(lanes):
            parts.append(named((k * len(lanes) + lane) * LANE, f"{device['id']} {kind}"))
    for c in shown:
        lane = lanes.index(c["kind"]) if c["kind"] in lanes else 1
        x, width = (WIDTH - LEFT) * c["started_ns"] / whole, (WIDTH - LEFT) * (c["ended_ns"] - c["started_ns"]) / whole
        told = f"{c['label'] or c['kind']}: {duration(c['ended_ns'] - c['started_ns'])} from {duration(c['started_ns'])}"
        parts.append(bar(lanes[lane], LEFT + x, (c["device"] * len(lanes) + lane) * LANE, width, told))
    height = len(profile["devices"]) * len(lanes) * LANE
    parts += [named(height, "0", LEFT, "start"), named(height, duration(whole), WIDTH, "end")]
    left_out = f'<p class="marks">The longest {COMMANDS_AT_MOST} of {len(commands)} commands.</p>' if len(commands) > len(shown) else ""
    return svg(height + LANE, parts, "timeline") + left_out


def profile_page(profile):
    whole, ids = max(profile["makespan_ns"], 1), [device["id"] for device in profile["devices"]]
    kernels = [[one["name"], ids[one["device"]], one["launch_ns"]["n"], duration(one["total_ns"]), percent(one["total_ns"] / whole),
                duration(one["launch_ns"]["mean"]), duration(one["launch_ns"]["stdev"])] for one in profile["kernels"]]
    copies = [[one["kind"], ids[one["device"]], one["copies"], duration(one["total_ns"]), rate(one["bytes"], "B"),
               rate(1e9 * one["bytes"] / max(one["total_ns"], 1), "B/s"), one["pageable"]] for one in profile["copies"]]
    waits = [[one["call"], one["what"], one["calls"], duration(one["total_ns"]), percent(one["total_ns"] / whole)] for one in profile["waits"]]
    facts = pairs([("program", " ".join(profile["program"])), ("exit code", profile["exit_code"]), ("started", profile["started"]),
                   *((f"device {device['id']}", f"{device['name']}, driver {device['driver_version']}") for device in profile["devices"]),
                   ("mgpu-bench", profile["tool"]["version"])])
    return static_page(f"Profile of {profile['program'][0] if profile['program'] else 'a program'}", STYLE, {
        "What holds it back": bullets(profile["summary"] + profile["warnings"]),
        "Where the time of each device went": parts_chart(profile) if ids else "",
        "What it would take without one cost": costs_chart(profile) if profile["costs"]["without"] else "",
        "Timeline": timeline_chart(profile) if ids else "",
        "Kernels": table(("kernel", "device", "calls", "total", "share", "mean", "stdev"), kernels),
        "Copies": table(("copy", "device", "calls", "total", "bytes", "bandwidth", "pageable"), copies),
        "Waits of the host": table(("call", "for", "calls", "total", "of the time"), waits),
        "Program and machine": facts})


# A check.


def name_of(document, device):
    return f"{device['label']} of {device['host']}" if len({one["host"] for one in document["devices"]}) > 1 else device["label"]


def spread_chart(document):
    """Returns each quantity's medians by device, relative to the median of all that are alike."""
    parts, y = [], 0
    kinds = list(dict.fromkeys((device["name"], one["quantity"]) for device in document["devices"] for one in device["rates"]))
    several = len({name for name, _ in kinds}) > 1
    for name, quantity in kinds:
        values = [(device, one["unit"], statistics.median(one["values"])) for device in document["devices"] if device["name"] == name
                  for one in device["rates"] if one["quantity"] == quantity and one["values"]]
        if not values:
            continue
        middle = statistics.median(value for _, _, value in values)
        parts += [named(y, f"{name}: {quantity}" if several else quantity),
                  f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y + 8}" y2="{y + 8}"/>',
                  named(y, rate(middle, values[0][1]), WIDTH - RIGHT + 6, "start")]
        for device, unit, value in values:
            off = value / middle - 1 if middle else 0
            x = LEFT + (WIDTH - LEFT - RIGHT) * (0.5 + max(-0.5, min(0.5, off / SPREAD / 2)))
            parts.append(f'<circle class="value" cx="{x:.1f}" cy="{y + 8}" r="5"><title>{text(name_of(document, device))}: '
                         f"{text(rate(value, unit))}, {100 * off:+.1f} %</title></circle>")
        y += LANE
    for at, words in ((0, f"-{100 * SPREAD:.0f} %"), (0.5, "median"), (1, f"+{100 * SPREAD:.0f} %")):
        parts.append(named(y, words, LEFT + (WIDTH - LEFT - RIGHT) * at, "middle"))
    return svg(y + LANE, parts, "spread of devices")


def link_tables(document):
    """Returns a matrix for each kind of link of each host; darker is faster."""
    found = {}
    for link in document["links"]:
        if link["from"] and link["values"]:
            several = len({one["host"] for one in document["links"]}) > 1
            title = f"{link['host']}: {link['quantity']}" if several else link["quantity"]
            found.setdefault(title, {})[link["from"], link["to"]] = statistics.median(link["values"]), link["unit"]
    tables = []
    for title, cells in found.items():
        rows, columns = (in_order({pair[k] for pair in cells}) for k in (0, 1))
        most = max(value for value, _ in cells.values()) or 1

        def cell(row, column, cells=cells, most=most):
            value, unit = cells.get((row, column), (None, ""))
            shade = "" if value is None else f' style="background:rgba(0,114,178,{0.6 * value / most:.2f})"'
            return f'<td class="number"{shade} data-label="{text(column)}" data-key="x">{text(rate(value, unit)) if value is not None else "–"}</td>'

        head = "".join(f'<th scope="col" data-kind=number>{text(column)}</th>' for column in columns)
        body = "".join(f"<tr><td>{text(row)}</td>{''.join(cell(row, column) for column in columns)}</tr>" for row in rows)
        tables.append(f'<h3>{text(title)}</h3><div class="wide" tabindex="0" role="region" aria-label="{text(title)}"><table><thead><tr>'
                      f'<th scope="col">from, to</th>{head}</tr></thead><tbody>{body}</tbody></table></div>')
    whole = [(link["quantity"], rate(statistics.median(link["values"]), link["unit"])) for link in document["links"]
             if not link["from"] and link["values"]]
    return "".join(tables) + pairs(whole)


def check_page(document):
    devices = [[name_of(document, device), device["name"], device["driver_version"], device["pci"] or "–",
                sum(one["runs"] for work in device["works"] for one in work["digests"]),
                rate(device["memory"]["tested_bytes"], "B") if device["memory"] else "–",
                "hung" if device["hung"] else device["failed"] or "–"] for device in document["devices"]]
    count = len(document["devices"])
    facts = pairs([("took", duration(document["took_ns"])), ("allowed", duration(document["budget_ns"])), ("started", document["started"]),
                   ("exit code", document["exit_code"]), ("mgpu-bench", document["tool"])])
    return static_page(f"Check of {document['host']}: {document['verdict']}", STYLE, {
        "Findings": bullets([one["text"] for one in document["findings"]] + document["warnings"])
                    or f"<p>Nothing is wrong with {count} device{'' if count == 1 else 's'}.</p>",
        "Spread of the devices": spread_chart(document),
        "Links": link_tables(document),
        "Devices": table(("device", "name", "driver", "PCI", "runs of results", "memory tested", "failed"), devices),
        "Check": facts})


PAGES = {"profile": profile_page, "check": check_page}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("-o", "--output", required=True, metavar="PAGE.html")
    given = parser.parse_args()
    document = json_input.load(given.file)
    page = next((page for form, page in PAGES.items() if json_input.is_form(given.file, form)), None)
    if page is None:
        json_input.refuse(f"{given.file}: is neither a file of mgpu-bench profile nor one of check")
    write_static(json_input.guarded([given.file], lambda: page(document)), given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
