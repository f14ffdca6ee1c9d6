#!/usr/bin/env python3
"""Pictures of result files, as PNG and SVG.

usage: plot.py RESULT... -o DIR [--kind all|scaling,timeline,...] [--format png,svg] [--strategy NAME,...] [--mode MODE] [--devices N]

Without --kind it draws at most a dozen files: the most telling pictures of each kind, of the problems with the most work. --kind all draws
every kind of every problem, --kind NAME,... these kinds of every problem.

--field FILE.npy draws the field that `run stencil` or `run lbm --save-data FILE.npy` wrote next to that result, with the devices' parts of
it; the comodulogram of a file of `run pac --save-data FILE.npy`; or the network, the solution and the difference, which
`run pinn --save-data FILE.npy` wrote to FILE.solution.npy.

A file of `mgpu-bench links` gives its matrices as heat maps, and the bandwidth of each collective against size (--kind matrices,bandwidth).

A file of `mgpu-bench simulate --nodes` gives strong and weak scaling over nodes, one picture per mode (--kind nodes).

A file of `mgpu-bench trend -o FILE` gives a picture per series that changed, is in two states or has a suspect run; of all if none is
(--kind trend).

Exit 0 and the names of the files on standard output; a kind for which the files hold no figures is named on standard error and left out.
Exit 2 and one line for bad input, or if there is nothing to draw. The drawing is in plot_kinds.py and plot_overviews.py, for iterative
work in plot_rounds.py, for pac in plot_pac.py, for trainings in plot_training.py, for links in plot_links.py, for nodes in plot_nodes.py,
for trends in plot_trend.py.
Needs matplotlib (package python3-matplotlib).
"""

import argparse
import importlib
import sys
from pathlib import Path

import json_input
import result_file
import result_series

KINDS = ("strategies", "scaling", "sizes", "timeline", "roofline", "prediction", "imbalance", "energy", "paths", "training")  # the most telling first
LINKS_KINDS = ("matrices", "bandwidth")
OTHERS = {"scaling": ("simulate --nodes", "plot_nodes", ("nodes",)), "trend": ("trend", "plot_trend", ("trend",))}  # by schema
FORMATS = ("png", "svg")
NEEDS = {"scaling": "no case on several devices has a speed-up", "strategies": "no case was ok",
         "timeline": "no case holds a timeline", "imbalance": "no case on several devices holds their busy times",
         "sizes": "no problem was measured at several sizes",
         "energy": "no problem has two cases with energy: run --energy measures it",
         "prediction": "no case was predicted (the file is of an older run)",
         "paths": "no problem was measured over two paths between devices (--peer)",
         "training": "no case has found losses",
         "field": "no case on these devices was ok and says which device had what",
         "nodes": "no row of it has a time",
         "trend": "no series of it has runs",
         "matrices": "the file has no transfers: links was asked for collectives alone",
         "bandwidth": "no collective was measured at several sizes",
         "roofline": "no case has a roofline_fraction: calibrate the devices first (mgpu-bench calibrate)"}
FILES_AT_MOST = 12  # unless kinds are requested


def words(text, accepted, option):
    """Returns a list separated by commas, each word of which must be an accepted one."""
    chosen = [word for word in text.split(",") if word]
    for word in chosen:
        if word not in accepted:
            json_input.refuse(f"{option}: '{word}' is not one of {', '.join(accepted)}")
    if not chosen:
        json_input.refuse(f"{option}: names none of {', '.join(accepted)}")
    return chosen


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", metavar="RESULT")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="made when it is not there")
    parser.add_argument("--kind", help=f"all, or some of {', '.join(KINDS)} (default: of each kind the first, at most {FILES_AT_MOST} files); "
                        f"of links: {', '.join(LINKS_KINDS)}")
    parser.add_argument("--format", default="png,svg", help="png, svg or both")
    parser.add_argument("--strategy", help="only these; NAME or NAME:param=value as in the pictures")
    parser.add_argument("--mode", help="only this one: resident, end-to-end, ...")
    parser.add_argument("--field", metavar="FILE.npy",
                        help="draw this array, which --save-data of run stencil, lbm (with the shares of the result), pac or pinn (its "
                             ".solution.npy) wrote")
    parser.add_argument("--devices", type=int, help="only sets of so many devices")
    given = parser.parse_args()
    given.links = [name for name in given.files if json_input.is_links(json_input.load(name))]
    given.other = next((form for form in OTHERS for name in given.files if json_input.is_form(name, form)), None)
    by = "links" if given.links else OTHERS[given.other][0] if given.other else None
    alone = next((name for name in given.files if name in given.links or given.other and json_input.is_form(name, given.other)), None)
    if alone and len(given.files) > 1:
        json_input.refuse(f"{alone}: was made by {by}, and is drawn by itself; "
                          "expected: one such file, or results of run")
    for option in ("strategy", "mode", "devices", "field") if alone else ():
        if getattr(given, option) is not None:
            json_input.refuse(f"--{option}: not of {alone}, which was made by {by}")
    kinds = LINKS_KINDS if given.links else OTHERS[given.other][2] if given.other else KINDS
    given.kind = None if given.kind is None else words(given.kind, ("all", *kinds), "--kind")
    if given.kind and "all" in given.kind:
        given.kind = kinds
    given.format = list(dict.fromkeys(words(given.format, FORMATS, "--format")))
    return given


def chosen(groups, given):
    """Returns what the filters leave; each must leave something, so that a misspelt name does not look like an empty result."""
    def keep(name, wanted, values):
        if wanted is None:
            return
        there = {str(value) for group in groups for case in group.cases for value in values(group, case)}
        for word in wanted:
            if word not in there:
                json_input.refuse(f"--{name}: no case with '{word}'; "
                                  f"there is {', '.join(sorted(there)) or 'no case'}")
        for group in groups:
            group.cases = [c for c in group.cases if any(str(value) in wanted for value in values(group, c))]
        groups[:] = [group for group in groups if group.cases]

    keep("mode", [given.mode.replace("-", "_")] if given.mode else None, lambda group, case: [group.mode])
    keep("strategy", given.strategy.split(",") if given.strategy else None, lambda group, case: {case.label, case.strategy})
    keep("devices", [str(given.devices)] if given.devices is not None else None, lambda group, case: [case.n])
    return groups


def subjects(kind, groups):
    """Returns [(name, subject of one picture of this kind)]."""
    if kind == "prediction":
        return [(kind, groups)]
    if kind == "paths":  # of each suite in each mode
        alike = {}
        for group in groups:
            alike.setdefault(f"{kind}-{group.suite}-{group.mode.replace('_', '-')}", []).append(group)
        return list(alike.items())
    if kind == "sizes":
        return [(f"{kind}-{sweep.slug}", sweep) for sweep in result_series.sweeps(groups)]
    if kind == "roofline":
        found = result_series.rooflines(groups)
        return [(kind if len(found) == 1 else f"{kind}-{''.join(c for c in roof.unit if c.isalnum())}", roof) for roof in found]
    return [(f"{kind}-{group.slug}", group) for group in groups]


def numbered(names):
    """Makes names of files unique: the second of one name gets a 2."""
    seen = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}"


def wanted(kinds, groups):
    """Returns [(kind, name, subject)] in the order in which they are drawn; without kinds the first of each, then the second, and so on."""
    if kinds:
        return [(kind, *subject) for kind in kinds for subject in subjects(kind, groups)]
    by_work = sorted(groups, key=lambda group: -len({case.n for case in group.ok()}) * group.most_work)
    first = {}  # each suite and mode comes before further problems of the same
    for group in by_work:
        first.setdefault((group.suite, group.mode), group)
    ordered = [*first.values(), *(group for group in by_work if group is not first[(group.suite, group.mode)])]
    lists = [[(kind, *subject) for subject in subjects(kind, ordered)] for kind in KINDS]
    if all(len(group.ok()) < 2 for group in ordered) and lists[KINDS.index("sizes")]:  # a sweep: bars of one case each say least
        bars, sizes = lists.pop(KINDS.index("strategies")), lists.pop(KINDS.index("sizes") - 1)
        return [*sizes, *in_turn(lists), *bars]
    return in_turn(lists)


def in_turn(lists):
    """Returns the first of each list, then the second of each, and so on."""
    return [column[k] for k in range(max(map(len, lists), default=0)) for column in lists if k < len(column)]


def pictures(kinds, groups, draw, at_most):
    """Yields (name, figure) of everything with figures."""
    look, asked, made, left, drawn = result_series.looks_of(groups), wanted(kinds, groups), set(), [], 0
    for (kind, _, subject), name in zip(asked, numbered(name for _, name, _ in asked)):
        if drawn == at_most:
            left.append(kind)
            continue
        figure = draw(kind)(subject, look)
        if figure is not None:
            made.add(kind)
            drawn += 1
            yield name, figure
    for kind in kinds or KINDS:
        if kind not in made and kind not in left:
            print(f"plot.py: no {kind}: {NEEDS[kind]}", file=sys.stderr)
    if left:
        print(f"plot.py: {len(left)} pictures are left out; --kind all draws every one, --kind {','.join(KINDS[:2])} all of these kinds",
              file=sys.stderr)


def field_pictures(given, groups):
    """Yields (name, figure) of the array of --field, whose shape must be that of the problem."""
    import numpy
    import plot_pac
    import plot_rounds

    try:
        cells = numpy.load(given.field, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        why = getattr(error, 'strerror', None) or 'no array of NumPy'
        json_input.refuse(f"--field: {given.field}: {why}")
    if {group.suite for group in groups} == {"pac"}:
        figure = plot_pac.comodulogram(groups[0], cells) if cells.dtype.kind == "f" else None
        if figure is None:
            json_input.refuse(f"--field: {given.field} is not the array that --save-data of "
                              f"{given.files[0]} wrote")
        yield f"comodulogram-{groups[0].slug}", figure
        return
    if {group.suite for group in groups} == {"pinn"}:
        yield from solution_picture(given, groups, cells)
        return
    sides = {(group.suite, result_file.number(group.params, "side")) for group in groups}
    suite, side = next(iter(sides)) if len(sides) == 1 else (None, None)
    if suite not in ("stencil", "lbm"):
        json_input.refuse(f"--field: {given.files[0]} holds {len(sides)} problems; "
                          "expected: the result of one of stencil, lbm or pac")
    box = suite == "lbm" or result_file.get(groups[0].params, "kind") == "heat3d"
    if suite == "lbm":
        right = cells.ndim == 2 and cells.shape[1] == 4 and cells.shape[0] > 0 and cells.shape[0] % (side * side) == 0
    else:
        right = cells.shape == ((side * side if box else side), side)
    if not right or cells.dtype.kind != "f":
        shape = " x ".join(map(str, cells.shape))
        json_input.refuse(f"--field: {given.field} is {shape} of {cells.dtype}; "
                          f"expected: the array that --save-data of {given.files[0]} wrote")
    slug = groups[0].slug
    if suite == "lbm":
        cells = cells.reshape(-1, side, side, 4)
        speed = numpy.sqrt((numpy.asarray(cells[:, :, side // 2, :3], dtype=float) ** 2).sum(axis=2))
        figures = [(f"field-{slug}", plot_rounds.field(groups[0], speed, box, "speed, cells per step")),
                   (f"plane-{slug}", plot_rounds.flow(groups[0], cells[len(cells) // 2, :, :, :2]))]
    else:
        figures = [(f"field-{slug}", plot_rounds.field(groups[0], cells[:, side // 2].reshape(side, side) if box else cells, box))]
    for name, figure in figures:
        if figure is None:
            print(f"plot.py: no {name.split('-')[0]}: {NEEDS['field']}", file=sys.stderr)
        else:
            yield name, figure


def solution_picture(given, groups, values):
    """Yields (name, figure) of a .solution.npy."""
    import plot_training

    if values.ndim != 2 or values.shape[0] % plot_training.PARTS or values.dtype.kind != "f":
        shape = " x ".join(map(str, values.shape))
        json_input.refuse(f"--field: {given.field} is {shape} of {values.dtype}; "
                          "expected: the .solution.npy next to what --save-data wrote")
    figure = plot_training.solution(groups[0], values)
    if figure is None:
        print("plot.py: no field: it has values that are no number", file=sys.stderr)
    else:
        yield f"field-{groups[0].slug}", figure


def links_pictures(name, kinds):
    """Yields (name, figure) of a file of links."""
    import plot_links

    made, asked = set(), kinds or LINKS_KINDS
    for kind, stem, figure in plot_links.figures(json_input.result(name, links=True), asked):
        if figure is not None:
            made.add(kind)
            yield stem, figure
    for kind in asked:
        if kind not in made:
            print(f"plot.py: no {kind}: {NEEDS[kind]}", file=sys.stderr)


def other_pictures(name, form):
    """Yields (name, figure) of a file of another schema than that of results."""
    for stem, figure in importlib.import_module(OTHERS[form][1]).figures(json_input.formed(name, form)):
        if figure is not None:
            yield stem, figure


def main():
    given = arguments()
    groups = []
    if not given.links and not given.other:
        documents = [(name, result_file.read(name)) for name in given.files]
        groups = chosen(json_input.guarded(given.files, lambda: result_file.groups(documents)), given)
    try:
        import plot_kinds
        import plot_overviews
        import plot_rounds
        import plot_style
        import plot_training
    except ImportError as error:
        if (error.name or "").startswith("plot_"):  # a module of these scripts
            raise
        json_input.refuse(json_input.missing("matplotlib", error))
    folder, made = Path(given.output), []

    def draw(kind):
        return next(found for module in (plot_kinds, plot_overviews, plot_rounds, plot_training) if (found := getattr(module, kind, None)))

    def drawn():
        at_most = None if given.kind else FILES_AT_MOST // len(given.format)
        found = pictures(given.kind, groups, draw, at_most)
        if given.links:
            found = links_pictures(given.files[0], given.kind)
        elif given.other:
            found = other_pictures(given.files[0], given.other)
        elif given.field:
            found = field_pictures(given, groups)
        for name, figure in found:
            for kind in given.format:
                made.append(folder / f"{name}.{kind}")
                plot_style.save(figure, made[-1])
                print(made[-1])
            plot_style.close(figure)

    try:
        folder.mkdir(parents=True, exist_ok=True)
        json_input.guarded(given.files, drawn)
    except OSError as error:
        json_input.refuse(f"--output: {given.output}: {error.strerror or error}")
    if not made and (given.links or given.other):
        json_input.refuse("nothing to draw: the file has none of the figures asked for")
    if not made:
        json_input.refuse(f"nothing to draw: {len(groups)} problems, "
                          "none with the figures asked for")
    return 0


if __name__ == "__main__":
    sys.exit(main())
