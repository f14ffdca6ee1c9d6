"""The pictures of several problems: rate against size, predictions, rooflines. Every function takes what it draws (a Sweep, all groups, a Roofline)
and the looks of series, and returns a figure, or None if the figures it needs are missing. Nothing is read or chosen here."""

import statistics
import textwrap

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator

from plot_style import AT_MOST, GREY, drawn_as, duration_axis, headline, legend_below, si, with_prefix
from result_file import get, number, percent, plural, power
from result_series import DASHES, MARKS, RED

CEILINGS = {"memory": GREY, "host link": "#B07800"}  # other ceilings have the colour of computing
PROBLEMS, POINTS_NAMED = 10, 8  # most of each
NAMES_APART, NAME_WIDTH = 0.042, 34  # line distance relative to the picture's height; characters


def sizes(sweep, look):
    lines = sweep.lines()
    if not lines:
        return None
    figure, axes = plt.subplots(figsize=(8, 4.8))
    shades = {name: shade for (name, _), shade in zip(lines, ("#000000", "#777777", "#AA4400", "#3355AA", "#AAAAAA") * len(lines))}
    marked = {}
    highest = max(number(case.run, "rate", "value") for _, line in lines for _, case in line)
    scale, prefix = si(highest)
    for k, (name, line) in enumerate(lines[:AT_MOST] if not sweep.by_count else lines):
        xs, ys = [size for size, _ in line], [number(case.run, "rate", "value") / scale for _, case in line]
        if not sweep.by_count:
            axes.plot(xs, ys, label=name + max((case.marks for _, case in line), key=len), linewidth=1.4, markersize=7, **drawn_as(look[name]))
            continue
        axes.plot(xs, ys, color=shades[name], linestyle=DASHES[k % len(DASHES)][0], linewidth=1.4, zorder=1,
                  label=name + max((case.marks for _, case in line), key=len))
        for x, y, (_, case) in zip(xs, ys, line):
            marked.setdefault(case.label, []).append((x, y))
    for label, points in marked.items():
        axes.plot(*zip(*points), color=look[label].colour, marker=MARKS[look[label].mark][0], markersize=8, linestyle="none", zorder=3,
                  label=f"fastest: {label}")
    every = sorted(sweep.by_size)
    axes.set_xscale("log")
    axes.set_xticks(every if len(every) <= 12 else every[::2], [power(size) for size in (every if len(every) <= 12 else every[::2])],
                    fontsize=9 if len(every) > 6 else 11)
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    axes.minorticks_off()
    unit = get(lines[0][1][0][1].run, "rate", "unit") or ""
    axes.set(xlabel=sweep.axis, ylabel=f"rate, {with_prefix(prefix, unit)}", ylim=(0, 1.06 * highest / scale))
    headline(figure, "Rate against size", sweep.title)
    legend_below(figure, axes, 4, [case for _, line in lines for _, case in line])
    return figure


def prediction(groups, look):
    predicted = [(group, case) for group in groups for case in group.ok() if case.predicted]
    if not predicted:
        return None
    series = {}
    for group, case in predicted:
        series.setdefault(case.label, []).append((group, case))
    # The rows on the right are the problems; suite and mode if there are many; the strategies if there is one.
    titles = list(dict.fromkeys(group.title for group, _ in predicted))

    def row_of(group, case):
        kind = f"{group.suite}, {group.mode.replace('_', ' ')}"
        return case.label if len(titles) == 1 else group.title if len(titles) <= PROBLEMS else kind

    names = list(dict.fromkeys(row_of(*one) for one in predicted))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.6 + 0.1 * max(0, len(names) - 8)))
    every = [t for _, case in predicted for t in (case.predicted, case.median)]
    low, high = 0.8 * min(every), 1.25 * max(every)
    left.fill_between([low, high], [0.9 * low, 0.9 * high], [1.1 * low, 1.1 * high], color="#E4E4E4", label="within 10 %")
    left.plot([low, high], [low, high], color="#888888", linewidth=1)
    for label, found in series.items():
        style = {**drawn_as(look[label]), "linestyle": "none", "markersize": 6, "label": label}
        left.plot([case.median for _, case in found], [case.predicted for _, case in found], **style)
        right.plot([100 * (case.predicted / case.median - 1) for _, case in found], [names.index(row_of(*one)) for one in found], **style)
    unit = duration_axis(left.xaxis, high)
    left.set(xlim=(low, high), ylim=(low, high))
    if high > 20 * low:
        left.set(xscale="log", yscale="log")
        for axis in (left.xaxis, left.yaxis):
            axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
            axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    for axis in (left.xaxis, left.yaxis):
        duration_axis(axis, high)
    left.set(xlabel=f"measured, {unit}", ylabel=f"predicted, {unit}")
    left.set_title("times")
    errors = [abs(case.predicted / case.median - 1) for _, case in predicted]
    right.axvline(0, color="#888888", linewidth=1)
    right.axvspan(-10, 10, color="#E4E4E4", zorder=0)
    right.set(yticks=range(len(names)), ylim=(len(names) - 0.5, -0.5), xlabel="prediction error, % (positive: predicted too long)")
    right.set_yticklabels([name.replace(", ", ",\n") for name in names], fontsize=9)
    right.set_title(f"median error {percent(statistics.median(errors))}, {plural(len(errors), 'case')}")
    headline(figure, "Prediction before the first sample against measurement", titles[0] if len(titles) == 1 else "")
    legend_below(figure, left, 5)
    return figure


def roofline(found, look):
    """Draws operations per second against operations per byte of input and result, both logarithmic, below the measured ceilings of the devices."""
    figure, axes = plt.subplots(figsize=(8, 5.2))
    points, off, named = found.points, found.off_the_lines(), set()
    left, right, bottom, top = found.frame()
    counts = sorted({p.case.n for p in points})
    for ceiling, xs, ys in found.lines():
        axes.plot(xs, ys, color=CEILINGS.get(ceiling.limit, RED), linestyle=DASHES[counts.index(ceiling.n) % len(DASHES)][0], linewidth=1.3, zorder=1,
                  label=ceiling.words(found.unit))
    for point in points:
        mine = look[point.case.label]
        if point in off:
            axes.plot([point.intensity] * 2, [point.rate, point.roof], color=mine.colour, linewidth=0.8, zorder=2)
            axes.plot([point.intensity], [point.roof], marker="_", markersize=14, markeredgewidth=1.6, color=RED, linestyle="none", zorder=2,
                      label=None if "roof" in named else "ceiling of one problem")
            named.add("roof")
        axes.plot([point.intensity], [point.rate], color=mine.colour, marker=MARKS[mine.mark][0], markersize=8, linestyle="none", zorder=4,
                  label=None if point.case.label in named else f"fastest: {point.case.label}")
        named.add(point.case.label)
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(bottom, top),
             xlabel=f"arithmetic intensity: {found.unit.removesuffix('/s')} per byte of input and result", ylabel=f"rate, {found.unit}")
    name_points(axes, points, bottom, top)
    titles = {point.title for point in points}
    headline(figure, "Roofline: rates attained and ceilings of the devices", titles.pop() if len(titles) == 1 else "")
    for axis, span in ((axes.xaxis, right / left), (axes.yaxis, top / bottom)):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if span < 200 else (1,)))
        axis.set_major_formatter(FuncFormatter(short_number))
        axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    legend_below(figure, axes, 2)
    return figure


def short_number(value, _):
    scale, prefix = si(value)
    return f"{value / scale:g} {prefix}".strip()


def name_points(axes, points, low, high):
    """Names the points beside the axes, if there are few: the names keep a vertical distance, and a line leads from each to its point."""
    if len(points) > POINTS_NAMED:
        return
    last, lines_before = 0, 1
    of_one = len({point.title for point in points}) == 1  # whose title is above the picture
    for point in sorted(points, key=lambda p: (p.rate, -p.intensity)):
        lines = textwrap.wrap(("" if of_one else f"{point.title}, ") + f"{plural(point.case.n, 'device')}: {point.words}", NAME_WIDTH)
        y = max(point.rate, last * (high / low) ** (NAMES_APART * (lines_before + len(lines)) / 2))
        last, lines_before = y, len(lines)
        axes.annotate("\n".join(lines), (point.intensity, point.rate), xytext=(1.03, y),
                      textcoords=axes.get_yaxis_transform(), fontsize=8, va="center", zorder=3,
                      arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "relpos": (0, 0.5), "shrinkA": 0, "shrinkB": 4})
