"""The pictures of iterative work: a step over each path between devices, side by side, and the computed field with the devices' shares. Every
function takes what it draws and returns a figure, or None if the figures it needs are missing."""

import matplotlib.pyplot as plt
import numpy

from plot_style import GREY, ON_WHITE, duration_axis, headline, legend_below
from result_file import SLOWED, duration, get, number, percent, plural
from result_series import BLUE, GREEN, ORANGE, PINK

PATHS = {"direct": (BLUE, ""), "host": (GREEN, "\\\\"), "staged": (ORANGE, "//"), "several": (PINK, "xx")}
PIXELS = 1000  # along a side of a field: if there are more cells, some are left out
ROWS = 16  # most bars


def path_of(case):
    """Returns the path over which the devices exchanged data: that of all commands of the timeline, or "several"; None if they exchanged none."""
    columns, commands = get(case.run, "timeline", "columns", "commands") or [], get(case.run, "timeline", "commands") or []
    if not {"kind", "path"} <= set(columns):
        return None
    kind, path = columns.index("kind"), columns.index("path")
    found = {row[path] for row in commands if len(row) == len(columns) and row[kind] == "exchange" and row[path] in PATHS}
    return found.pop() if len(found) == 1 else "several" if found else None


def paths(groups, _):
    """Draws the fastest case over each path, by its time per step, for the problems of one suite in one mode."""
    bars = []  # (group, path, case), of the problems with most to compare
    for group in groups:
        by_path = {}
        for case in group.most():
            path = path_of(case) if case.ok and case.n > 1 else None
            if path and (path not in by_path or case.median < by_path[path].median):
                by_path[path] = case
        if len(by_path) > 1:
            bars += [(group, path, by_path[path]) for path in PATHS if path in by_path]
    bars = bars[:ROWS]
    if not bars:
        return None
    problems = list(dict.fromkeys(id(group) for group, _, _ in bars))
    figure, axes = plt.subplots(figsize=(8, 1.5 + 0.4 * len(bars) + 0.3 * len(problems)))
    longest, ticks, shown = max(step_of(case) for _, _, case in bars), [], set()
    for k, (group, path, case) in enumerate(bars):
        y = k + 0.7 * problems.index(id(group))
        ticks.append(y)
        colour, hatch = PATHS[path]
        axes.barh(y, step_of(case), height=0.8, color=colour, alpha=0.55, hatch=hatch, edgecolor="#333333", linewidth=0.6, zorder=2)
        exchange = exchange_share(case)
        if exchange is not None:  # at the end of the bar
            axes.barh(y - 0.4, exchange * step_of(case), left=(1 - exchange) * step_of(case), height=0.12, align="edge", color="#000000", zorder=3,
                      label=None if "exchange" in shown else "exchange, mean over the devices")
            shown.add("exchange")
        share = f", {percent(exchange)} exchange" if exchange is not None else ""
        axes.annotate(f"{duration(step_of(case))}{share}", (step_of(case), y), xytext=(6, 0), textcoords="offset points", va="center", fontsize=9.5,
                      bbox=ON_WHITE, zorder=6)
    for one in problems:
        group = next(group for group, _, _ in bars if id(group) == one)
        mine = [y for y, (other, _, _) in zip(ticks, bars) if other is group]
        alone = next((case.alone() for other, _, case in bars if other is group and case.alone()), None)
        if alone:
            axes.plot([alone[1] / steps_of(group)] * 2, [min(mine) - 0.45, max(mine) + 0.45], color=GREY, linestyle="--", linewidth=1.6, zorder=4,
                      label=None if "alone" in shown else "fastest single device")
            longest = max(longest, alone[1] / steps_of(group))
            shown.add("alone")
        if len(problems) > 1:
            axes.text(0, min(mine) - 0.5, group.problem, fontsize=10, weight="bold", va="bottom")
    unit = duration_axis(axes.xaxis, longest)
    what = "per step" if all(steps_of(group) > 1 for group, _, _ in bars) else "per sample"
    first = bars[0][0]
    axes.set(yticks=ticks, yticklabels=[f"{path}\n{case.name}, {case.on} devices{case.marks}" for _, path, case in bars], xlim=(0, 1.45 * longest),
             ylim=(ticks[-1] + 0.6, ticks[0] - (1.0 if len(problems) > 1 else 0.6)), xlabel=f"time {what}, {unit}: median of the fastest strategy")
    axes.tick_params(axis="y", labelsize=9.5)
    headline(figure, "Paths between devices", first.title if len(problems) == 1 else f"{first.suite}, {first.mode.replace('_', ' ')}")
    axes.grid(axis="y", visible=False)
    legend_below(figure, axes, 2, [case for _, _, case in bars])
    return figure


def steps_of(group):
    return number(group.params, "iterations") or 1


def step_of(case):
    return case.median / (number(case.run, "params", "iterations") or 1)


def exchange_share(case):
    """Returns the exchange's part of the case's time, averaged over the devices."""
    times = [number(device, "exchange_ns") for device in case.per_device]
    return min(1.0, sum(times) / len(times) / case.median) if times and all(t is not None for t in times) else None


def field(group, flat, box, of="cell"):
    """Draws a field. `flat` has numbers by layer and by position across it; of a `box`, the middle column is drawn, planes down and rows across.
    `of` names the numbers' subject."""
    case = next((case for case in group.most() if case.ok and shares(case)), None)
    if case is None:
        return None
    layers, width = flat.shape
    every = -(-max(layers, width) // PIXELS)
    flat = numpy.asarray(flat[::every, ::every], dtype=float)
    finite = flat[numpy.isfinite(flat)]
    if not finite.size:
        return None
    low, high = float(finite.min()), float(finite.max())
    signed = low < 0 < high
    most = max(abs(low), abs(high))
    figure, axes = plt.subplots(figsize=(7.4, 6))
    drawn = axes.imshow(flat, origin="upper", extent=(0, width, layers, 0), interpolation="nearest", cmap="RdBu_r" if signed else "viridis",
                        vmin=-most if signed else low, vmax=most if signed else high, aspect="equal" if 1 / 3 <= layers / width <= 3 else "auto")
    figure.colorbar(drawn, ax=axes, shrink=0.85, label=of)
    columns = max(1, round((number(case.run, "work", "items") or layers) / layers))  # columns of blocks
    for device, begin, end in shares(case):
        mine = patches(begin, end, layers, width, columns)
        largest = max(mine, key=lambda p: (p[1] - p[0]) * (p[3] - p[2]))
        for line in edges(mine):
            axes.plot(*line, color="white", linewidth=2.6, zorder=2)
            axes.plot(*line, color="black", linewidth=1.2, linestyle=(0, (5, 3)), zorder=3)
        name = f"device {case.devices[device]}" + (f" {SLOWED}" if case.devices[device] in case.slowed else "")
        for patch in mine:
            share = f": {percent((end - begin) / (layers * columns))}" if patch == largest else ""
            if share or patch[1] - patch[0] > layers / 16:  # otherwise there is no room for its name
                axes.text(patch[2] + 0.015 * width, (patch[0] + patch[1]) / 2, name + share, va="center", fontsize=10, zorder=4,
                          bbox={**ON_WHITE, "alpha": 0.85})
    axes.set(xlabel=f"row, in column {width // 2} of each plane" if box else "column",
             ylabel=f"{'plane' if box else 'row'}; dashed: borders of the shares", xlim=(0, width), ylim=(layers, 0))
    headline(figure, f"Field computed by {case.told} on {plural(case.n, 'device')}", group.title)
    axes.grid(visible=False)
    legend_below(figure, axes, 1, [case])
    return figure


def flow(group, plane):
    """Draws speed and direction of a flow. `plane` has velocities along x and y by row and column of one plane, seen from above z."""
    case = next((case for case in group.most() if case.ok), None)
    plane = numpy.asarray(plane, dtype=float)
    if case is None or not numpy.isfinite(plane).all():
        return None
    n = plane.shape[0]
    every = -(-n // PIXELS)
    speed = numpy.hypot(plane[::every, ::every, 0], plane[::every, ::every, 1])
    figure, axes = plt.subplots(figsize=(7.4, 6))
    drawn = axes.imshow(speed, origin="lower", extent=(0, n, 0, n), interpolation="nearest", cmap="viridis", vmin=0)
    figure.colorbar(drawn, ax=axes, shrink=0.85, label="speed in the plane, cells per step")
    at = numpy.arange(0, n, every) + 0.5
    if speed.max() > 0:
        axes.streamplot(at, at, plane[::every, ::every, 0], plane[::every, ::every, 1], color="white", linewidth=0.8, density=1.3, arrowsize=0.9)
    axes.set(xlabel="x", ylabel="y", xlim=(0, n), ylim=(0, n))
    headline(figure, "Flow in the middle plane", group.title)
    axes.grid(visible=False)
    return figure


def patches(begin, end, layers, width, columns):
    """Returns [(first layer, end, left, right)] of items, which are numbered down the first column of blocks, then down the next."""
    found = []
    for column in range(begin // layers, -(-end // layers)):
        found.append((max(begin - column * layers, 0), min(end - column * layers, layers), column * width // columns,
                      (column + 1) * width // columns))
    return found


def edges(mine):
    """Returns ([x, x], [y, y]) of lines above and to the left of these patches if others begin there. The lines below and to the right are
    drawn with those others."""
    found = []
    for k, (first, last, left, right) in enumerate(mine):
        if first > 0:
            found.append(([left, right], [first, first]))
        before, after = mine[k - 1][:2] if k else (last, last)  # of the column to the left
        found += [([left, left], [y, end]) for y, end in ((first, min(last, before)), (max(first, after), last)) if y < end and left > 0]
    return found


def shares(case):
    """Returns [(device, first item, end)] of the timeline, in the order of the items."""
    columns = get(case.run, "timeline", "columns", "slices") or []
    if not {"device", "begin", "end"} <= set(columns):
        return []
    found = [dict(zip(columns, row)) for row in get(case.run, "timeline", "slices") or [] if len(row) == len(columns)]
    return sorted(((s["device"], s["begin"], s["end"]) for s in found if s["device"] < case.n), key=lambda s: s[1])
