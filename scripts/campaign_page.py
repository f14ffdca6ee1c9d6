#!/usr/bin/env python3
"""The page of a campaign (scripts/campaign.sh): what was measured with one, two and more devices, next to the predictions for them.

usage: campaign_page.py DIR -o PAGE.html        of the parts in DIR, however many there are; prints the page's name
       campaign_page.py --case-to-grow RESULT   the number of the case of the fewest several devices, for simulate --grow-to

Exit 0, or 2 and one line for bad input. The page is that of report_html.py, with the parts of a campaign in place of one result.
"""

import argparse
import statistics
from pathlib import Path

import json_input
import report_html
import result_file
from json_input import refuse
from report_html import Source, is_shown, listed
from result_file import get, number, percent, plural

PART_ORDER = ("headline", "strategies", "scaling", "slow")
ENDING = ".json.gz"


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


def take_simulated(file, groups):
    """Replaces the predictions for more devices than two, or than the fewest of several, with those simulated from these. Returns that number of
    devices if there are any."""
    simulated_file = file.with_name("predicted-" + file.name)
    if not simulated_file.is_file():
        return None
    simulated = {key(case): case.median for group in Source.of(simulated_file).groups for case in group.cases if case.median}
    grown_from = min((case.n for group in groups for case in group.cases if case.n > 1), default=1)
    grown = [case for group in groups for case in group.cases if case.n > grown_from]
    for case in grown:
        case.predicted = simulated.get(key(case))
    return grown_from if any(case.predicted for case in grown) else None


def unfinished(folder, sources):
    """Yields what is missing of a campaign: campaign.sh writes the names of its parts before it begins."""
    planned = folder / "parts.txt"
    names = planned.read_text(encoding="utf-8", errors="replace").split() if planned.is_file() else []
    there = {file.name.removesuffix(ENDING) for file in folder.glob(f"*{ENDING}")}
    missing = [name for name in names if name not in there]
    if missing:
        yield f"The campaign is not finished; {len(missing)} of {plural(len(names), 'part')} are missing: {', '.join(missing)}.", ""
    versions = dict.fromkeys(str(get(source.document, "tool", "git")) for source in sources)
    if len(versions) > 1:
        yield f"Its parts were measured by {len(versions)} versions of mgpu-bench: {listed(versions)}.", ""


def lead(headline, grown_from):
    """Yields the sentences on the headline cases: efficiencies on the most devices, and how good predictions were."""
    cases = [case for source in headline for group in source.groups for case in group.ok()]
    most = max((case.n for case in cases), default=0)
    efficiencies = [e for case in cases if case.n == most > 1 and (e := case.metric("efficiency"))]
    if efficiencies:
        problems = len({group.title for source in headline for group in source.groups if group.ok(most)})
        yield "Scaling", (f"on {plural(most, 'device')} the median efficiency of {plural(problems, 'headline problem')} is "
                          f"{percent(statistics.median(efficiencies))} ({percent(min(efficiencies))} to {percent(max(efficiencies))}).")
    errors = [abs(case.predicted / case.median - 1) for case in cases if case.predicted]
    if errors:
        simulated = f" Predictions for more than {plural(grown_from, 'device')} are simulated from the runs on {grown_from}." if grown_from else ""
        yield "Predictions", f"the median prediction error is {percent(statistics.median(errors))} ({plural(len(errors), 'case')}).{simulated}"


def page(folder):
    files = [file for kind in PART_ORDER for file in sorted(folder.glob(f"{kind}-*{ENDING}"))]
    if not files:
        refuse(f"{folder}: no part of a campaign is there (headline-*.json.gz, strategies-*.json.gz, ...)")
    sources = [Source.of(str(file), file.name.removesuffix(ENDING)) for file in files]
    of_kind = {kind: [source for source in sources if source.name.startswith(f"{kind}-")] for kind in PART_ORDER}
    grown = [n for file, source in zip(files, sources) if source in of_kind["headline"] and (n := take_simulated(file, source.groups))]

    def any_of(kind):
        mine = [group for source in of_kind[kind] for group in source.groups]
        return lambda group, case: any(group is one for one in mine) and is_shown(group, case)

    def leads(kind):
        shown = any_of(kind)
        return lambda group, case: shown(group, case) and case in (group.leaders() or [group.best()])

    commands = folder / "commands.txt"
    said = commands.read_text(encoding="utf-8", errors="replace").splitlines() if commands.is_file() else []
    tables = [("Headline cases", any_of("headline")), ("Fastest strategies, all devices", leads("strategies")),
              ("Fastest strategies, one device slowed down", leads("slow"))]
    return report_html.page(sources, folder.name, tables, heading="Scaling campaign: ", lead=lead(of_kind["headline"], min(grown, default=None)),
                            first_notices=unfinished(folder, sources), commands=dict.fromkeys(line.removeprefix("campaign: ") for line in said))


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
    report_html.write(json_input.guarded([given.folder], lambda: page(folder)), given.output)


if __name__ == "__main__":
    main()
