#!/usr/bin/env python3
"""Pictures of result files: one per kind and problem, as PNG and SVG.

usage: plot.py RESULT... -o DIR [--kind scaling,timeline] [--format png,svg] [--strategy NAME,...] [--mode MODE] [--devices N]

Exit 0 and the names of the files on standard output; a kind for which the files hold no figures is named on standard error and left out.
Exit 2 and one line for bad input, or when there is nothing to draw at all. What the pictures look like is in plot_kinds.py. Needs
matplotlib (package python3-matplotlib).
"""

import argparse
import sys
from pathlib import Path

import json_input
import result_file

PER_GROUP = ("scaling", "strategies", "timeline", "imbalance")  # one picture for each problem and mode
OVER_ALL = ("prediction", "roofline")                           # one for all of them
FORMATS = ("png", "svg")


def words(text, accepted, option):
    """A list with commas, of which every word must be one of those accepted."""
    chosen = [word for word in text.split(",") if word]
    for word in chosen:
        if word not in accepted:
            result_file.refuse(f"{option}: '{word}' is not one of {', '.join(accepted)}")
    if not chosen:
        result_file.refuse(f"{option}: names none of {', '.join(accepted)}")
    return chosen


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", metavar="RESULT")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="made when it is not there")
    parser.add_argument("--kind", default="all", help=f"all, or some of {', '.join(PER_GROUP + OVER_ALL)}")
    parser.add_argument("--format", default="png,svg", help="png, svg or both")
    parser.add_argument("--strategy", help="only these; NAME or NAME:param=value as in the pictures")
    parser.add_argument("--mode", help="only this one: resident, end_to_end, ...")
    parser.add_argument("--devices", type=int, help="only sets of so many devices")
    given = parser.parse_args()
    given.kind = words(given.kind, ("all",) + PER_GROUP + OVER_ALL, "--kind")
    if "all" in given.kind:
        given.kind = PER_GROUP + OVER_ALL
    given.format = words(given.format, FORMATS, "--format")
    return given


def chosen(groups, given):
    """What the filters leave; each must leave something, so that a misspelt name does not pass for an empty result."""
    def keep(name, wanted, values):
        if wanted is None:
            return
        there = {str(value) for group in groups for case in group.cases for value in values(group, case)}
        for word in wanted:
            if word not in there:
                result_file.refuse(f"--{name}: no case with '{word}'; there is {', '.join(sorted(there)) or 'no case'}")
        for group in groups:
            group.cases = [c for c in group.cases if any(str(value) in wanted for value in values(group, c))]
        groups[:] = [group for group in groups if group.cases]

    keep("mode", [given.mode.replace("-", "_")] if given.mode else None, lambda group, case: [group.mode])
    keep("strategy", given.strategy.split(",") if given.strategy else None, lambda group, case: {case.label, case.strategy})
    keep("devices", [str(given.devices)] if given.devices is not None else None, lambda group, case: [case.n])
    return groups


def pictures(kinds, groups, draw):
    """(name, figure) of everything there are figures for."""
    for kind in kinds:
        made = 0
        if kind in OVER_ALL:
            subjects = [(kind, groups)]
        else:
            subjects = [(f"{kind}-{group.slug}", group) for group in groups]
        for name, subject in subjects:
            figure = getattr(draw, kind)(subject)
            if figure is not None:
                made += 1
                yield name, figure
        if not made:
            print(f"plot.py: no {kind}: {draw.NEEDS[kind]}", file=sys.stderr)


def main():
    given = arguments()
    documents = [(name, result_file.read(name)) for name in given.files]
    groups = chosen(json_input.guarded(given.files, lambda: result_file.groups(documents)), given)
    try:
        import plot_kinds as draw
    except ImportError as error:
        result_file.refuse(f"matplotlib is missing ({error}); Debian: apt-get install python3-matplotlib")
    folder, made = Path(given.output), []

    def drawn():
        for name, figure in pictures(given.kind, groups, draw):
            for kind in given.format:
                made.append(folder / f"{name}.{kind}")
                draw.save(figure, made[-1])
                print(made[-1])
            draw.close(figure)

    try:
        folder.mkdir(parents=True, exist_ok=True)
        json_input.guarded(given.files, drawn)
    except OSError as error:
        result_file.refuse(f"--output: {given.output}: {error.strerror or error}")
    if not made:
        result_file.refuse(f"nothing to draw: {len(groups)} problems, none with the figures asked for")
    return 0


if __name__ == "__main__":
    sys.exit(main())
