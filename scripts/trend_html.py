#!/usr/bin/env python3
"""One page from `mgpu-bench trend DIR -o TREND.json`, that opens without a network: what changed in words, and a chart per series.

usage: trend_html.py TREND.json -o PAGE.html     exit 0 and the page's name, or exit 2 and one line for bad input

A chart has the runs, the median of each level as a step, the runs of which one brought a change as a band, and a line where attributes of the
environment changed; names and values appear under the pointer. Charts are SVG that needs no script. The page forbids every connection.
"""

import argparse
import sys

import json_input
from report_html import pairs, static_page, text, write_static
from result_file import duration

WIDTH, HEIGHT, LEFT, BELOW, ABOVE = 1000, 240, 80, 24, 10
LINES = 4  # of the grid
STYLE = """svg { width: 100%; height: auto; } svg text { fill: var(--faint); font-size: 13px; }
.run { fill: var(--link); } .out { fill: none; stroke: var(--faint); } .level { stroke: var(--ink); stroke-width: 2; }
.env { stroke: var(--faint); stroke-dasharray: 3 3; } .worse { fill: var(--warn); opacity: .3; } .better { fill: var(--link); opacity: .2; }
.grid { stroke: var(--grid); }"""


def shown(document, value):
    return duration(value) if document["unit"] == "ns" else f"{value:.3g}"


def run_name(run):
    return run["commit"][:10] if run["commit"] else f"run {run['result'][:8]}"


def percent(shift):
    return f"{100 * shift:+.1f} %"


def changed(attributes):
    return "; ".join(f"{one['name']}: {one['before']} → {one['after']}" for one in attributes)


def group_words(document, group):
    """Returns the sentence about a group of series that changed in the same runs."""
    what = "worse" if group["worse"] else "better"
    if document["metric"] == "time":
        what = "slower" if group["worse"] else "faster"
    where = run_name(group["first"])
    if group["first"] != group["last"]:
        where = f"between {where} and {run_name(group['last'])}"
    least, most = percent(group["least_shift"]), percent(group["most_shift"])
    status = "" if group["status"] == "open" else f", {group['status']}"
    also = changed(group["attributes"])
    return (f"{len(group['series'])} of {len(document['series'])} series {what} by {least if least == most else f'{least} to {most}'}, "
            f"{where}, {group['first']['at'][:10]} to {group['last']['at'][:10]}{status}{f'; changed there: {also}' if also else ''}.")


def series_words(document, series):
    """Yields sentences about a series."""
    for change in series["changes"]:
        yield (f"{change['kind']} of {percent(change['shift'])}, {shown(document, change['before'])} to {shown(document, change['after'])}, "
               f"{change['status']}{f' ({reason})' if (reason := change['reason']) else ''}")
    if states := series["states"]:
        yield (f"two states: {100 * (1 - states['high_share']):.0f} % at {shown(document, states['low'])}, "
               f"{100 * states['high_share']:.0f} % at {shown(document, states['high'])}"
               + (f"; {states['attribute']} “{states['value']}” goes with the higher" if states["attribute"] else ""))
    if suspect := series["suspect"]:
        yield f"suspect: {shown(document, suspect['value'])} at {run_name(suspect['run'])}, expected {shown(document, suspect['expected'])}"
    if series["note"]:
        yield f"history too short: {series['note']}"


def chart(document, series):
    """Returns the chart of a series as SVG."""
    points = series["points"]
    at = {point["result"]: k for k, point in enumerate(points)}
    values = [point["value"] for point in points]
    low, high = min(values), max(values)
    room = 0.08 * (high - low or high or 1)
    low, high = low - room, high + room

    def x(k):
        return LEFT + (k + 0.5) * (WIDTH - LEFT) / len(points)

    def y(value):
        return ABOVE + (high - value) * (HEIGHT - ABOVE - BELOW) / (high - low)

    def vertical(k):
        return f'x1="{x(k):.1f}" x2="{x(k):.1f}" y1="{ABOVE}" y2="{HEIGHT - BELOW}"'

    parts = []
    for k in range(LINES):
        value = low + (high - low) * (k + 0.5) / LINES
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
                     f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{text(shown(document, value))}</text>')
    for change in series["changes"]:
        first, last = at[change["first"]["result"]], at[change["last"]["result"]]
        parts.append(f'<rect class="{"worse" if change["worse"] else "better"}" x="{x(first - 0.5):.1f}" y="{ABOVE}" '
                     f'width="{x(last + 0.5) - x(first - 0.5):.1f}" height="{HEIGHT - ABOVE - BELOW}">'
                     f'<title>{text(percent(change["shift"]))}</title></rect>')
    for place in series["environment"]:
        parts.append(f'<line class="env" {vertical(at[place["result"]] - 0.5)}><title>{text(changed(place["attributes"]))}</title></line>')
    for k, point in enumerate(points):
        told = ", ".join(filter(None, (run_name(point), point["at"][:10], shown(document, point["value"]), point["left_out"])))
        parts.append(f'<circle class="{"out" if point["left_out"] else "run"}" cx="{x(k):.1f}" cy="{y(point["value"]):.1f}" r="4">'
                     f'<title>{text(told)}</title></circle>')
        if point["level"] is not None:
            parts.append(f'<line class="level" x1="{x(k - 0.5):.1f}" x2="{x(k + 0.5):.1f}" y1="{y(point["level"]):.1f}" '
                         f'y2="{y(point["level"]):.1f}"/>')
    for k, anchor in ((0, "start"), (len(points) - 1, "end")):
        words = f"{run_name(points[k])}, {points[k]['at'][:10]}"
        parts.append(f'<text x="{x(k):.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{text(words)}</text>')
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(series["series"])}">{"".join(parts)}</svg>'


def page(document):
    """Returns the page; series of which there is something to say come first."""
    told = [(series, list(series_words(document, series))) for series in document["series"] if series["points"]]
    told.sort(key=lambda one: not (one[0]["changes"] or one[0]["states"] or one[0]["suspect"]))
    summary = "".join(f"<li>{text(group_words(document, group))}</li>" for group in document["groups"]) or "<li>No change.</li>"
    figures = "".join(f'<figure><figcaption>{text(series["series"])}</figcaption>{chart(document, series)}'
                      f'<p class="marks">{text(". ".join(words))}</p></figure>' for series, words in told)
    title = f"Trend of {document['metric']}: {document['history']}"
    facts = pairs([("runs", document["runs"]), ("left out", document["left_out"]), ("floor", f"{100 * document['floor']:g} %"),
                   ("mgpu-bench", document["tool"])])
    return static_page(title, STYLE, {"What changed": f"<ul>{summary}</ul>", "Series": figures, "History": facts})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", metavar="TREND.json")
    parser.add_argument("-o", "--output", required=True, metavar="PAGE.html")
    given = parser.parse_args()
    made = json_input.guarded([given.file], lambda: page(json_input.formed(given.file, "trend")))
    write_static(made, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
