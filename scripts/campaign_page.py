#!/usr/bin/env python3
"""The page of a campaign (scripts/campaign.sh): what was measured with one, two and more devices beside what was predicted for them.

usage: campaign_page.py DIR -o PAGE.html        of the parts in DIR, however many there are; names the page
       campaign_page.py --case-to-grow RESULT   the number of the case of the fewest several devices, for simulate --grow-to

Exit 0, or 2 and one line for bad input. Pictures need matplotlib (package python3-matplotlib); without it the page has only tables.
The page opens without a network: it contains its pictures.
"""

import argparse
import base64
import html
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import json_input
import result_file
from json_input import plain, refuse
from result_file import duration, get, number, rate

HERE = Path(__file__).resolve().parent
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .7rem;border-bottom:1px solid #ddd;text-align:right}
td:not(:first-child):not(.words){white-space:nowrap}
td:first-child,th:first-child,.words{text-align:left}img{max-width:100%}code{background:#f3f3f3}h2{margin-top:2.5rem}
.far{color:#b00020}"""
WORDS = "\0"  # first character of cells with words, which are not set like numbers
FAR = 5  # percent between prediction and measurement from which it counts as far off
PART_ORDER = ("headline", "strategies", "scaling", "slow")


def groups_of(file):
    return result_file.groups([(file.name, result_file.read(str(file)))])


def case_to_grow(name):
    runs = get(result_file.read(name), "runs") or []
    fit = [(len(get(run, "devices") or []), at) for at, run in enumerate(runs)
           if get(run, "plan", "estimates") and get(run, "status") == "ok" and get(run, "strategy") == "equal"]
    several = [found for found in fit if found[0] > 1] or fit
    if not several:
        refuse(f"{name}: no case of equal shares carries estimates of its devices")
    return min(several)[1]


def key(case):
    """Returns the key of the same work under the same strategy, to look up a simulation: its suites and options are not those measured."""
    return number(case.run, "work", "items"), case.strategy, case.n


def cells(values, tag="td"):
    return "<tr>" + "".join(f'<{tag} class="words">{v[1:]}</{tag}>' if v.startswith(WORDS) else f"<{tag}>{v}</{tag}>" for v in values) + "</tr>"


def table(head, rows):
    return "<table>" + cells(head, "th") + "".join(cells(row) for row in rows) + "</table>"


def text(value):
    return html.escape(plain(value), quote=True)


def headline_rows(file, apart):
    """Returns a row for each strategy and count of devices, and appends the deviation of each prediction in percent to `apart`. For more devices
    than two, or than the fewest of several, the prediction is a simulation from those."""
    simulated_file = file.with_name("predicted-" + file.name)
    simulated = {}
    if simulated_file.is_file():
        simulated = {key(case): case.median for group in groups_of(simulated_file) for case in group.cases if case.median}
    rows, groups = [], groups_of(file)
    grown_from = min((case.n for group in groups for case in group.cases if case.n > 1), default=1)
    for group in groups:
        for case in group.cases:
            name = text(f"{group.suite} {group.problem}, {case.told}")
            if not case.ok:
                rows.append([name, str(case.asked), WORDS + text(f"{case.status}: {case.reason}")] + [""] * 6)
                continue
            told = simulated.get(key(case)) if case.n > grown_from else case.predicted
            difference = (told - case.median) / case.median * 100 if told else None
            if difference is not None:
                apart.append(abs(difference))
            efficiency, speedup = case.metric("efficiency"), case.metric("speedup")
            rows.append([name, str(case.n), duration(case.median),
                         rate(number(case.run, "rate", "value") or 0, plain(get(case.run, "rate", "unit") or "")),
                         f"{speedup:.2f}" if speedup else "", f"{efficiency * 100:.1f} %" if efficiency else "",
                         duration(told) if told else "",
                         "" if difference is None else f'<span class="{"far" if abs(difference) > FAR else ""}">{difference:+.1f} %</span>',
                         text(case.verified)])
    return rows


def best_rows(file):
    rows = []
    for group in groups_of(file):
        leaders = group.leaders()
        if not leaders:
            rows.append([text(group.title), WORDS + "none can be ranked", "", "", ""])
            continue
        best, efficiency = leaders[0], leaders[0].metric("efficiency")
        rows.append([text(group.title), WORDS + text(", ".join(case.told for case in leaders)), str(best.n), duration(best.median),
                     f"{efficiency * 100:.1f} %" if efficiency else ""])
    return rows


def pictures(files, kinds):
    """Returns the pictures as data in the page, drawn by plot.py; and why those that it cannot draw are missing."""
    found, missing = [], []
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            into = Path(folder) / file.name
            done = subprocess.run([sys.executable, str(HERE / "plot.py"), str(file), "-o", str(into), "--kind", kinds, "--format", "svg"],
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0:
                missing.append(f"{file.name}: {(done.stderr.splitlines() or ['no word of it'])[-1]}")
                continue
            for picture in sorted(into.glob("*.svg")):
                data = base64.b64encode(picture.read_bytes()).decode()
                found.append(f'<figure><img alt="{text(picture.stem)}" src="data:image/svg+xml;base64,{data}"></figure>')
    reasons = "".join(f"<li>{text(reason)}</li>" for reason in missing)
    return "".join(found) + (f"<p>Not drawn:</p><ul>{reasons}</ul>" if missing else "")


def devices_words(documents):
    names = []
    for document in documents:
        for device in get(document, "devices") or []:
            told = f"{plain(get(device, 'name') or '?')}, driver {plain(get(device, 'driver_version') or '?')}"
            names.append((plain(get(device, "id") or "?"), told))
    return "; ".join(f"{name}: {told}" for name, told in dict.fromkeys(names))


def page(folder):
    parts = {kind: sorted(folder.glob(f"{kind}-*.json.gz")) for kind in PART_ORDER}
    if not any(parts.values()):
        refuse(f"{folder}: no part of a campaign is there (headline-*.json.gz, strategies-*.json.gz, ...)")
    commands = folder / "commands.txt"
    every = [file for files in parts.values() for file in files]
    out = [f"<h1>Campaign</h1><p>{text(devices_words([result_file.read(str(every[0]))]))}</p>"]
    if parts["headline"]:
        apart = []
        rows = [row for file in parts["headline"] for row in headline_rows(file, apart)]
        out.append("<h2>Headline cases</h2>" + table(["case", "devices", "time", "rate", "speed-up", "efficiency", "predicted", "apart", "verified"],
                                                     rows))
        if apart:
            out.append(f"<p>Predictions are {statistics.median(apart):.1f} % from what was measured, in the median of {len(apart)} cases. Those of "
                       "more devices than two, or the fewest of several, are simulated from these.</p>")
        out.append(pictures(parts["headline"], "scaling"))
    for kind, title in (("strategies", "Every strategy, all devices"), ("slow", "One device slowed down")):
        if parts[kind]:
            rows = [row for file in parts[kind] for row in best_rows(file)]
            out.append(f"<h2>{title}</h2>" + table(["problem", WORDS + "fastest", "devices", "time", "efficiency"], rows) + pictures(parts[kind], "strategies"))
    if parts["scaling"]:
        out.append("<h2>From small sizes to filling ones</h2>" + pictures(parts["scaling"], "sizes"))
    unfinished = [file.name for file in every if not get(result_file.read(str(file)), "complete")]
    if unfinished:
        out.append(f"<p>Not complete: {text(', '.join(unfinished))}.</p>")
    if commands.is_file():
        lines = dict.fromkeys(commands.read_text(encoding="utf-8", errors="replace").splitlines())
        out.append("<h2>Commands</h2><pre>" + "\n".join(text(line.removeprefix("campaign: ")) for line in lines) + "</pre>")
    return ('<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
            "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\"><title>Campaign</title>"
            f"<style>{STYLE}</style>" + "\n".join(out) + "</html>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", metavar="DIR")
    parser.add_argument("-o", "--output", metavar="PAGE.html")
    parser.add_argument("--case-to-grow", metavar="RESULT")
    given = parser.parse_args()
    if given.case_to_grow:
        print(case_to_grow(given.case_to_grow))
        return
    if not given.folder or not given.output:
        refuse("expected: DIR -o PAGE.html, or --case-to-grow RESULT")
    folder = Path(given.folder)
    if not folder.is_dir():
        refuse(f"{folder}: not a folder")
    written = json_input.guarded([given.folder], lambda: page(folder))
    try:
        Path(given.output).write_text(written, encoding="utf-8")
    except OSError as error:
        refuse(f"--output: {given.output}: cannot be written: {error.strerror}")
    print(given.output)


if __name__ == "__main__":
    main()
