"""What each picture of plot.py looks like. Every function takes a group of cases (or all groups, or a sweep, or a roofline) and how
series look, and returns a figure, or None where the figures it needs are not there; NEEDS says which. Nothing is read or chosen here.

A strategy has the colour and the filled mark that result_series.py gives it, in every picture and on the page; devices have open marks.
Dashes and hatches say the same once more. Type is 11 points on a picture 8 inches wide, so that 4 inches can still be read.
"""

import math
import statistics

import matplotlib

matplotlib.use("Agg")  # no display
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator  # noqa: E402

from result_file import DISTURBED, SLOWED, duration, get, handicap, makespan, number, power, rate, rows  # noqa: E402
from result_series import BLACK, BLUE, COLOURS, DASHES, GREEN, MARKS, ORANGE, PINK, RED, SKY, gaps, looks_of, rooflines  # noqa: E402

GREY, BAR = "#555555", "#D5DEE6"
CEILINGS = {"memory": "#555555", "host link": "#B07800"}  # others as what computes
GAPS = {"launch": ("in flight, nothing runs", "#CFE6F5", ""), "sync": ("waiting for others, merge", "#BBBBBB", "..."), "idle": ("no slice", "#EEEEEE", ""),
        "rest": ("not explained", "#FFFFFF", "///")}
ON_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}  # behind text that lines may cross
KINDS = {"upload": (ORANGE, "///"), "compute": (BLUE, ""), "download": (PINK, "\\\\\\")}
PROBLEMS, POINTS_NAMED = 10, 8
AT_MOST = 7  # lines in one picture: more cannot be told apart

NEEDS = {"scaling": "no case on several devices has a speed-up", "strategies": "no case was ok",
         "timeline": "no case holds a timeline", "imbalance": "no case on several devices holds their busy times",
         "sizes": "no problem was measured at several sizes",
         "prediction": "no case was predicted (the file is of an older run)",
         "roofline": "no case has a roofline_fraction: calibrate the devices first (mgpu-bench calibrate)"}

plt.rcParams.update({"font.size": 11, "axes.titlesize": 12, "axes.titleweight": "bold", "axes.titlelocation": "left", "legend.fontsize": 10,
                     "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#E5E5E5", "axes.axisbelow": True,
                     "hatch.linewidth": 0.6, "text.parse_math": False, "savefig.dpi": 110, "svg.hashsalt": "mgpu-bench",
                     "figure.constrained_layout.use": True, "figure.constrained_layout.w_pad": 0.08})


def save(figure, file):
    # Without the date and with a fixed salt the same result gives the same file.
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def close(figure):
    plt.close(figure)


def legend_below(figure, axes, columns, cases=()):
    """The legend, and what the marks behind the names of these cases mean, in room of their own, which makes the picture higher: inside
    they would cover what is drawn."""
    handles, labels = axes.get_legend_handles_labels()
    notes = marks_told(cases)
    below = 0.06 + 0.2 * len(notes)
    room = below + (0.06 + 0.24 * -(-len(handles) // columns) if handles else 0)
    whole = figure.get_figheight() + room
    figure.set_figheight(whole)
    if handles:
        figure.legend(handles, labels, loc="lower center", ncol=min(columns, len(handles)), frameon=False, bbox_to_anchor=(0.5, below / whole))
    for k, note in enumerate(reversed(notes)):
        figure.text(0.012, (0.06 + 0.2 * k) / whole, note, fontsize=9, color=GREY)
    figure.get_layout_engine().set(rect=(0, room / whole, 1, 1 - room / whole))


def rows_high(n):
    return max(2.6, 1.5 + 0.36 * n)


def duration_axis(axis, longest):
    """One unit for the whole axis."""
    scale, unit = next(((s, u) for s, u in ((1e9, "s"), (1e6, "ms"), (1e3, "us")) if longest >= s), (1, "ns"))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:g}"))
    return unit


def drawn_as(look):
    return {"color": look.colour, "marker": MARKS[look.mark][0], "linestyle": DASHES[look.dash][0]}


def several(n):
    return f"{n} device{'' if n == 1 else 's'}"


def marks_told(cases):
    """What the marks behind names mean, of those that occur."""
    marks = "".join(case.marks for case in cases)
    told = [f"{DISTURBED} disturbed or doubtful, see its warnings"] if DISTURBED in marks else []
    if SLOWED in marks:
        slowed = {d: handicap(case.device_records.get(d)) for case in cases for d in case.slowed}
        words = ", ".join(d + (f" {power(done['slow'])} times" if "slow" in done else "") for d, done in sorted(slowed.items()))
        told.append(f"{SLOWED} has a device made slower on purpose ({words})")
    return told


def scaling(group, look):
    lines = {}
    for case in group.ok():
        if case.metric("speedup") and case.alone() and case.strategy != "single":
            lines.setdefault(case.label, []).append(case)
    counts = sorted({1} | {case.n for line in lines.values() for case in line})
    if len(counts) < 2:
        return None
    most = counts[-1]

    def at_most(line):
        return max((case.metric("speedup") for case in line if case.n == most), default=0)

    names = sorted(lines, key=lambda name: (name != "equal", -at_most(lines[name])))
    shown, hidden = names[:AT_MOST], names[AT_MOST:]
    figure, axes = plt.subplots(figsize=(8, 5))
    ideal = {case.n: case.metric("ideal_speedup") for line in lines.values() for case in line if case.metric("ideal_speedup")}
    ideal[1] = 1.0
    xs = sorted(ideal)
    axes.plot(xs, [ideal[x] for x in xs], color="#888888", linewidth=1.2, dashes=(6, 3), label="ideal: the devices alone, added up", zorder=1)
    spread = 0.012 * (most - 1)  # so that equal points do not hide each other
    for k, name in enumerate(shown):
        cases = sorted(lines[name], key=lambda case: case.n)
        off = (k - (len(shown) - 1) / 2) * spread
        y = [case.metric("speedup") for case in cases]
        low = [s - s * case.median / case.interval[1] if case.interval else 0 for s, case in zip(y, cases)]
        high = [s * case.median / case.interval[0] - s if case.interval and case.interval[0] else 0 for s, case in zip(y, cases)]
        axes.errorbar([case.n + off * (case.n > 1) for case in cases], y, yerr=[[max(0, e) for e in low], [max(0, e) for e in high]],
                      label=name + max((case.marks for case in cases), key=len), linewidth=1.4, markersize=7, capsize=4, **drawn_as(look[name]))
    single = min((case.alone() for line in lines.values() for case in line), key=lambda t: t[1])
    axes.plot([1], [1], marker="o", markersize=15, color=GREY, markerfacecolor="none", linestyle="none", zorder=5,
              label=f"measured: device {single[0]} alone, {duration(single[1])}")
    highest = max(max(ideal.values()), *(case.metric("speedup") for line in lines.values() for case in line))
    axes.set(title=group.title, xlabel="devices", ylabel="speed-up over the device fastest alone", xticks=counts, ylim=(0, 1.06 * highest),
             xlim=(1 - 0.06 * most, most + 0.06 * most))
    rates_on_the_right(axes, group)
    legend_below(figure, axes, 3, [case for name in shown for case in lines[name]])
    if hidden:
        axes.text(0.99, 0.02, f"not drawn, no faster: {', '.join(hidden)}", transform=axes.transAxes, ha="right", fontsize=8.5, color=GREY)
    return figure


def si(value):
    """(scale, prefix) for a rate of that size."""
    return next(((s, p) for s, p in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")) if value >= s), (1, ""))


def with_prefix(prefix, unit):
    return f"{prefix}{'' if unit.startswith('FLOP') else ' '}{unit}".strip()


def rates_on_the_right(axes, group):
    """The same height as a rate: that of the device fastest alone times the speed-up."""
    best = group.best()
    value, unit, alone = number(best.run, "rate", "value"), get(best.run, "rate", "unit"), best.alone()
    if not value or not alone:
        return
    one = value * best.median / alone[1]
    scale, prefix = si(value)
    right = axes.secondary_yaxis("right", functions=(lambda s: s * one / scale, lambda r: r * scale / one))
    right.set_ylabel(with_prefix(prefix, unit))


def strategies(group, look):
    cases = group.most()
    if not cases or not cases[0].ok:
        return None
    figure, axes = plt.subplots(figsize=(8, rows_high(len(cases))))
    good = [case for case in cases if case.ok]
    leaders = group.leaders()
    longest = max(max(case.median, (case.interval or [0, 0])[1]) for case in good)
    for y, case in enumerate(cases):
        if not case.ok:
            axes.text(0.01 * longest, y, f"{case.status}: {case.reason}"[:70], va="center", fontsize=9.5, style="italic", bbox=ON_WHITE, zorder=6)
            continue
        best = case in leaders
        axes.barh(y, case.median, height=0.66, color=BAR, edgecolor=BLACK if best else "#8899A6", linewidth=1.4 if best else 0.6,
                  hatch="///" if case.warnings or case.faults else "", zorder=2)
        inside = [t for t in case.samples if t <= 1.15 * longest][:200]
        axes.plot(inside, [y + 0.24] * len(inside), marker="|", linestyle="none", color="#222222", markersize=5, alpha=0.5, zorder=4)
        interval = case.interval or [case.median, case.median]
        axes.errorbar(case.median, y, xerr=[[max(0, case.median - interval[0])], [max(0, interval[1] - case.median)]], capsize=4, linewidth=1.6,
                      markersize=8, zorder=5, **drawn_as(look[case.label]))
        efficiency = case.metric("efficiency")
        text = duration(case.median) + (f", efficiency {efficiency:.2f}" if efficiency is not None else "")
        text += f", {len(case.faults)} fault{'' if len(case.faults) == 1 else 's'}" if case.faults else ""
        axes.annotate((("best: " if len(leaders) == 1 else "\u2605 ") if best else "") + text, (max(case.median, interval[1]), y), xytext=(9, 0), textcoords="offset points", va="center",
                      fontsize=9.5, weight="bold" if best else "normal", bbox=ON_WHITE, zorder=6)
    alone = good[0].alone()
    if alone and alone[1] <= 1.3 * longest and good[0].n > 1:
        axes.axvline(alone[1], color=GREY, linewidth=1.2, linestyle="--", label=f"device {alone[0]} alone: {duration(alone[1])}")
        ideal_speedup = good[0].metric("ideal_speedup")
        if ideal_speedup:
            axes.axvline(alone[1] / ideal_speedup, color=GREEN, linewidth=1.4, linestyle=":", label=f"perfect split: {duration(alone[1] / ideal_speedup)}")
    unit = duration_axis(axes.xaxis, longest)
    axes.set(yticks=range(len(cases)), yticklabels=[case.label + case.marks for case in cases], xlim=(0, 1.4 * longest), ylim=(len(cases) - 0.4, -0.6),
             xlabel=f"time, {unit}: median, 95 % interval, samples as ticks" + ("; \u2605: among the fastest" if len(leaders) > 1 else ""))
    axes.set_title(f"{group.title}: {several(good[0].n)}")
    axes.grid(axis="y", visible=False)
    legend_below(figure, axes, 2, cases)
    return figure


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
    axes.set(title=sweep.title, xlabel=sweep.axis, ylabel=with_prefix(prefix, unit), ylim=(0, 1.06 * highest / scale))
    legend_below(figure, axes, 4, [case for _, line in lines for _, case in line])
    return figure


def timeline(group, _):
    case = next((case for case in group.most() if case.ok and any(rows(case, "commands"))), None)
    if case is None:
        return None
    lanes = ("upload", "compute", "download")
    figure, axes = plt.subplots(figsize=(8, max(2.8, 1.6 + min(0.95 * case.n, 1.4 + 0.6 * case.n))))
    whole = makespan(case)
    merge = (case.run["timeline"].get("merge") or {})
    stretches = gaps(case)
    for state, (words, colour, hatch) in GAPS.items():
        label = words  # of the first device that has one
        for device in range(case.n):
            mine = [(begin, length) for d, s, begin, length in stretches if d == device and s == state]
            if mine:
                axes.broken_barh(mine, (device - 0.42, 0.84), facecolor=colour, hatch=hatch, edgecolor="#777777" if hatch else "none", linewidth=0, label=label)
                label = None
    for lane, kind in enumerate(lanes):
        colour, hatch = KINDS[kind]
        label = kind
        for device in range(case.n):
            bars = [(c["started_ns"], c["ended_ns"] - c["started_ns"]) for c in rows(case, "commands") if c["kind"] == kind and c["device"] == device]
            if bars:
                axes.broken_barh(bars, (device - 0.4 + lane * 0.27, 0.25), facecolor=colour, edgecolor="white" if len(bars) < 80 else colour,
                                 linewidth=0.4, hatch=hatch, label=label)
                label = None
    begin, end = number(merge, "begin_ns"), number(merge, "end_ns")
    if begin is not None and end is not None and end > begin:
        axes.axvspan(begin, end, color=GREEN, alpha=0.35, hatch="xx", linewidth=0.5, label=f"merge, {duration(end - begin)}")
    axes.axvline(whole, color=BLACK, linewidth=1.2)
    unit = duration_axis(axes.xaxis, whole)
    names = [f"device {name}{' ' + SLOWED if name in case.slowed else ''}\n{share_text(case, k)}" for k, name in enumerate(case.devices)]
    axes.set(yticks=range(case.n), yticklabels=names, ylim=(case.n - 0.45, -0.55), xlim=(-0.01 * whole, 1.02 * whole),
             xlabel=f"time since the sample began, {unit}; it took {duration(whole)}")
    axes.set_title(f"{group.title}: {case.label}{case.marks} on {several(case.n)}")
    axes.grid(axis="y", visible=False)
    legend_below(figure, axes, 4, [case])
    return figure


def share_text(case, k):
    share = number(case.per_device[k], "share") if k < len(case.per_device) else None
    return f"{100 * share:.1f} %" if share is not None else ""


def imbalance(group, _):
    cases = [c for c in group.most() if c.ok and c.n > 1 and len(c.per_device) == c.n and all(number(d, "busy_ns") is not None for d in c.per_device)]
    if not cases:
        return None
    figure, axes = plt.subplots(figsize=(8, rows_high(len(cases)) + 0.3))
    longest = max(number(d, "busy_ns") for case in cases for d in case.per_device)
    for y, case in enumerate(cases):
        busy = [number(d, "busy_ns") for d in case.per_device]
        axes.plot([min(busy), max(busy)], [y, y], color="#AAAAAA", linewidth=5, solid_capstyle="round", zorder=1)
        axes.plot([sum(busy) / len(busy)] * 2, [y - 0.3, y + 0.3], color=BLACK, linewidth=1.5, zorder=2, label="mean" if y == 0 else None)
        for k, time in enumerate(busy):
            told = case.n <= AT_MOST  # which device it is
            mark = {"marker": MARKS[k % AT_MOST][0], "color": COLOURS[k % AT_MOST]} if told else {"marker": "o", "color": BLUE}
            axes.plot([time], [y + (k - (case.n - 1) / 2) * 0.36 / case.n], markersize=7, markerfacecolor="none", markeredgewidth=1.6,
                      linestyle="none", zorder=3, **mark,
                      label=(f"device {case.devices[k]}" if told else "a device" if k == 0 else None) if y == 0 else None)
        percent = case.metric("imbalance_percent")
        if percent is not None:
            axes.text(1.03 * longest, y, f"{percent:.1f} %", va="center", fontsize=9.5)
    axes.text(1.03 * longest, -0.75, "imbalance", fontsize=9.5, weight="bold", va="center")
    unit = duration_axis(axes.xaxis, longest)
    axes.set(yticks=range(len(cases)), yticklabels=[case.label + case.marks for case in cases], xlim=(-0.02 * longest, 1.2 * longest),
             ylim=(len(cases) - 0.4, -1.1), xlabel=f"time a device was busy, {unit} (fastest strategy first)")
    axes.set_title(f"{group.title}: {several(cases[0].n)}")
    axes.grid(axis="y", visible=False)
    legend_below(figure, axes, 5, cases)
    return figure


def prediction(groups, look):
    predicted = [(group, case) for group in groups for case in group.ok() if case.predicted]
    if not predicted:
        return None
    series = {}
    for group, case in predicted:
        series.setdefault(case.label, []).append((group, case))
    # The rows on the right: the problems; of many, suite and mode; of one, the strategies.
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
    left.set_title("predicted before the first sample")
    errors = [abs(case.predicted / case.median - 1) for _, case in predicted]
    right.axvline(0, color="#888888", linewidth=1)
    right.axvspan(-10, 10, color="#E4E4E4", zorder=0)
    right.set(yticks=range(len(names)), ylim=(len(names) - 0.5, -0.5), xlabel="predicted too long by, %")
    right.set_yticklabels([name.replace(", ", ",\n") for name in names], fontsize=9)
    right.set_title(f"median error {100 * statistics.median(errors):.1f} %, {len(errors)} cases")
    if len(titles) == 1:
        figure.suptitle(titles[0], x=0.01, ha="left", fontsize=12, weight="bold")
    legend_below(figure, left, 5)
    return figure


def roofline(found, look):
    """Operations per second against operations per byte of input and result, both logarithmic, below what was measured of the devices."""
    figure, axes = plt.subplots(figsize=(8, 5.2))
    points = found.points
    ceilings = found.ceilings()
    flat, slopes = [c for c in ceilings if not c.per_byte], [c for c in ceilings if c.per_byte]
    xs = [p.intensity for p in points] + [f.rate / m.rate for f in flat for m in slopes if m.n == f.n and m.limit == "memory"]
    low, high = 0.3 * min(xs), 3.3 * max(xs)
    top = max([p.roof for p in points] + [p.rate for p in points] + [c.rate for c in flat])
    counts = sorted({p.case.n for p in points})
    for ceiling in ceilings:
        style = {"color": CEILINGS.get(ceiling.limit, RED), "linestyle": DASHES[counts.index(ceiling.n) % len(DASHES)][0], "linewidth": 1.3, "zorder": 1,
                 "label": ceiling.words(found.unit)}
        if ceiling.per_byte:
            if ceiling.rate * low > 2 * top:
                continue  # far above everything that is drawn
            most = max((f.rate for f in flat if f.n == ceiling.n), default=2 * top)
            ends = (low, min(high, most / ceiling.rate))
            axes.plot(ends, [x * ceiling.rate for x in ends], **style)
        else:
            memory = next((m.rate for m in slopes if m.n == ceiling.n and m.limit == "memory"), None)
            axes.plot((max(low, ceiling.rate / memory) if memory else low, high), (ceiling.rate, ceiling.rate), **style)
    drawn, named = {(c.limit, c.n) for c in ceilings}, set()
    for point in points:
        mine = look[point.case.label]
        if (point.limit, point.case.n) not in drawn:
            axes.plot([point.intensity] * 2, [point.rate, point.roof], color=mine.colour, linewidth=0.8, zorder=2)
            axes.plot([point.intensity], [point.roof], marker="_", markersize=14, markeredgewidth=1.6, color=RED, linestyle="none", zorder=2,
                      label=None if "roof" in named else "the roof of a problem: what limits it most")
            named.add("roof")
        axes.plot([point.intensity], [point.rate], color=mine.colour, marker=MARKS[mine.mark][0], markersize=8, linestyle="none", zorder=4,
                  label=None if point.case.label in named else f"fastest: {point.case.label}")
        named.add(point.case.label)
    name_points(axes, points)
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(0.4 * min(p.rate for p in points), 2 * top),
             xlabel=f"arithmetic intensity: {found.unit.removesuffix('/s')} per byte of input and result", ylabel=found.unit)
    axes.set_title("rate attained, and the roofline of the devices")
    for axis, span in ((axes.xaxis, high / low), (axes.yaxis, 5 * top / min(p.rate for p in points))):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if span < 200 else (1,)))
        axis.set_major_formatter(FuncFormatter(short_number))
        axis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    legend_below(figure, axes, 2)
    return figure


def short_number(value, _):
    scale, prefix = si(value)
    return f"{value / scale:g} {prefix}".strip()


def name_points(axes, points):
    """Beside each, where there are few: in columns of the same intensity the names keep a distance."""
    if len(points) > POINTS_NAMED:
        return
    columns = {}
    for point in sorted(points, key=lambda p: p.rate):
        columns.setdefault(round(4 * math.log10(point.intensity)), []).append(point)
    for column in columns.values():
        last = 0
        for point in column:
            y = max(point.rate, 1.25 * last)
            last = y
            axes.annotate(f"{point.title}, {several(point.case.n)}: {point.words}", (point.intensity, y), xytext=(8, 0), textcoords="offset points",
                          fontsize=8, va="center", bbox=ON_WHITE, zorder=5)
