"""What each picture of plot.py looks like. Every function takes a group of cases (or all groups) and returns a figure, or None where the
figures it needs are not there; NEEDS says which. Nothing is read or chosen here.

Colours are the eight of Okabe and Ito ("Color Universal Design", 2008), which people with any colour blindness tell apart; marks, dashes
and hatches say the same once more. Type is 11 points on a picture 8 inches wide, so that 4 inches can still be read.
"""

import statistics

import matplotlib

matplotlib.use("Agg")  # no display
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator  # noqa: E402

from result_file import duration, get, makespan, number, rate, rows  # noqa: E402

BLUE, ORANGE, GREEN, RED, SKY, PINK, YELLOW, BLACK = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442", "#000000")
COLOURS = (BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK)
MARKS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))
WAIT = "#DDDDDD"
ON_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}  # behind text that lines may cross
KINDS = {"upload": (ORANGE, "///"), "compute": (BLUE, ""), "download": (PINK, "\\\\\\")}
AT_MOST = len(MARKS)  # lines in one picture: more cannot be told apart

NEEDS = {"scaling": "no case on several devices has a speed-up", "strategies": "no case was ok",
         "timeline": "no case holds a timeline", "imbalance": "no case on several devices holds their busy times",
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


def legend_below(figure, axes, columns):
    """In room of its own, which makes the picture higher: inside it would cover what is drawn."""
    handles, labels = axes.get_legend_handles_labels()
    if not handles:
        return
    room = 0.12 + 0.24 * -(-len(handles) // columns)
    whole = figure.get_figheight() + room
    figure.set_figheight(whole)
    figure.legend(handles, labels, loc="lower center", ncol=min(columns, len(handles)), frameon=False)
    figure.get_layout_engine().set(rect=(0, room / whole, 1, 1 - room / whole))


def rows_high(n):
    return max(2.6, 1.5 + 0.36 * n)


def duration_axis(axis, longest):
    """One unit for the whole axis."""
    scale, unit = next(((s, u) for s, u in ((1e9, "s"), (1e6, "ms"), (1e3, "us")) if longest >= s), (1, "ns"))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:g}"))
    return unit


def scaling(group):
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
    spread = 0.006 * (most - 1)  # so that equal points do not hide each other
    for k, name in enumerate(shown):
        cases = sorted(lines[name], key=lambda case: case.n)
        off = (k - (len(shown) - 1) / 2) * spread
        y = [case.metric("speedup") for case in cases]
        low = [s - s * case.median / case.interval[1] if case.interval else 0 for s, case in zip(y, cases)]
        high = [s * case.median / case.interval[0] - s if case.interval and case.interval[0] else 0 for s, case in zip(y, cases)]
        axes.errorbar([case.n + off for case in cases], y, yerr=[[max(0, e) for e in low], [max(0, e) for e in high]], label=name,
                      color=COLOURS[k], marker=MARKS[k], linestyle=DASHES[k], linewidth=1.6, markersize=7, markerfacecolor="white" if k % 2 else None,
                      capsize=4)
    single = min((case.alone() for line in lines.values() for case in line), key=lambda t: t[1])
    axes.plot([1], [1], marker="*", markersize=15, color=BLACK, linestyle="none", zorder=5,
              label=f"measured: device {single[0]} alone, {duration(single[1])}")
    highest = max(max(ideal.values()), *(case.metric("speedup") for line in lines.values() for case in line))
    axes.set(title=group.title, xlabel="devices", ylabel="speed-up over the device fastest alone", xticks=counts, ylim=(0, 1.06 * highest),
             xlim=(1 - 0.06 * most, most + 0.06 * most))
    rates_on_the_right(axes, group)
    legend_below(figure, axes, 3)
    if hidden:
        axes.text(0.99, 0.02, f"not drawn, slower: {', '.join(hidden)}", transform=axes.transAxes, ha="right", fontsize=8.5,
                  color="#555555")
    return figure


def rates_on_the_right(axes, group):
    """The same height as a rate: that of the device fastest alone times the speed-up."""
    best = group.best()
    value, unit, alone = number(best.run, "rate", "value"), get(best.run, "rate", "unit"), best.alone()
    if not value or not alone:
        return
    one = value * best.median / alone[1]
    scale, prefix = next(((s, p) for s, p in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")) if value >= s), (1, ""))
    right = axes.secondary_yaxis("right", functions=(lambda s: s * one / scale, lambda r: r * scale / one))
    right.set_ylabel(f"{prefix}{'' if unit.startswith('FLOP') else ' '}{unit}".strip())


def strategies(group):
    cases = group.most()
    if not cases or not cases[0].ok:
        return None
    figure, axes = plt.subplots(figsize=(8, rows_high(len(cases))))
    good = [case for case in cases if case.ok]
    longest = max(max(case.median, (case.interval or [0, 0])[1]) for case in good)
    for y, case in enumerate(cases):
        if not case.ok:
            axes.text(0.01 * longest, y, f"{case.status}: {case.reason}"[:70], va="center", fontsize=9.5, style="italic", bbox=ON_WHITE, zorder=6)
            continue
        best = case is cases[0]
        axes.barh(y, case.median, height=0.66, color=SKY if not best else BLUE, edgecolor=BLACK, linewidth=0.6, hatch="//" if best else "", alpha=0.9)
        inside = [t for t in case.samples if t <= 1.15 * longest][:200]
        axes.plot(inside, [y + 0.2] * len(inside), marker="|", linestyle="none", color="#222222", markersize=5, alpha=0.5, zorder=4)
        if case.interval:
            axes.errorbar(case.median, y, xerr=[[max(0, case.median - case.interval[0])], [max(0, case.interval[1] - case.median)]], color=BLACK,
                          capsize=4, linewidth=1.6, zorder=5)
        efficiency = case.metric("efficiency")
        text = duration(case.median) + (f", efficiency {efficiency:.2f}" if efficiency is not None else "")
        text += f", {len(case.faults)} fault{'' if len(case.faults) == 1 else 's'}" if case.faults else ""
        axes.annotate(("best: " if best else "") + text, (max(case.median, (case.interval or [0, 0])[1]), y), xytext=(7, 0),
                      textcoords="offset points", va="center", fontsize=9.5, weight="bold" if best else "normal",
                      bbox=ON_WHITE, zorder=6)
    alone = good[0].alone()
    if alone and alone[1] <= 1.3 * longest and good[0].n > 1:
        axes.axvline(alone[1], color="#555555", linewidth=1.2, linestyle="--", label=f"device {alone[0]} alone: {duration(alone[1])}")
        ideal_speedup = good[0].metric("ideal_speedup")
        if ideal_speedup:
            axes.axvline(alone[1] / ideal_speedup, color=GREEN, linewidth=1.4, linestyle=":", label=f"perfect split: {duration(alone[1] / ideal_speedup)}")
        legend_below(figure, axes, 2)
    unit = duration_axis(axes.xaxis, longest)
    axes.set(yticks=range(len(cases)), yticklabels=[case.label for case in cases], xlim=(0, 1.36 * longest), ylim=(len(cases) - 0.4, -0.6),
             xlabel=f"time, {unit}: median, its 95 % interval, and the samples as ticks")
    axes.set_title(f"{group.title}: {good[0].n} device{'' if good[0].n == 1 else 's'}")
    axes.grid(axis="y", visible=False)
    return figure


def timeline(group):
    case = next((case for case in group.most() if case.ok and any(rows(case, "commands"))), None)
    if case is None:
        return None
    lanes = ("upload", "compute", "download")
    figure, axes = plt.subplots(figsize=(8, max(2.8, 1.6 + min(0.95 * case.n, 1.4 + 0.6 * case.n))))
    whole = makespan(case)
    merge = (case.run["timeline"].get("merge") or {})
    for device in range(case.n):
        waits = [(s["begin_ns"], s["end_ns"] - s["begin_ns"]) for s in rows(case, "spans") if s["device"] == device and s["state"] != "in_flight"]
        axes.broken_barh(waits, (device - 0.42, 0.84), facecolor=WAIT, label="waiting" if device == 0 else None)
    for lane, kind in enumerate(lanes):
        colour, hatch = KINDS[kind]
        for device in range(case.n):
            bars = [(c["started_ns"], c["ended_ns"] - c["started_ns"]) for c in rows(case, "commands") if c["kind"] == kind and c["device"] == device]
            axes.broken_barh(bars, (device - 0.4 + lane * 0.27, 0.25), facecolor=colour, edgecolor="white" if len(bars) < 80 else colour,
                             linewidth=0.4, hatch=hatch, label=kind if device == 0 else None)
    begin, end = number(merge, "begin_ns"), number(merge, "end_ns")
    if begin is not None and end is not None and end > begin:
        axes.axvspan(begin, end, color=GREEN, alpha=0.35, hatch="xx", linewidth=0.5, label=f"merge, {duration(end - begin)}")
    axes.axvline(whole, color=BLACK, linewidth=1.2)
    unit = duration_axis(axes.xaxis, whole)
    names = [f"device {name}\n{share_text(case, k)}" for k, name in enumerate(case.devices)]
    axes.set(yticks=range(case.n), yticklabels=names, ylim=(case.n - 0.45, -0.55), xlim=(-0.01 * whole, 1.02 * whole),
             xlabel=f"time since the sample began, {unit}; it took {duration(whole)}")
    axes.set_title(f"{group.title}: {case.label} on {case.n} device{'' if case.n == 1 else 's'}")
    axes.grid(axis="y", visible=False)
    legend_below(figure, axes, 5)
    return figure


def share_text(case, k):
    share = number(case.per_device[k], "share") if k < len(case.per_device) else None
    return f"{100 * share:.1f} %" if share is not None else ""


def imbalance(group):
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
            mark = {"marker": MARKS[k % AT_MOST], "color": COLOURS[k % AT_MOST]} if told else {"marker": "o", "color": BLUE}
            axes.plot([time], [y + (k - (case.n - 1) / 2) * 0.36 / case.n], markersize=7, markerfacecolor="none", markeredgewidth=1.6,
                      linestyle="none", zorder=3, **mark,
                      label=(f"device {case.devices[k]}" if told else "a device" if k == 0 else None) if y == 0 else None)
        percent = case.metric("imbalance_percent")
        if percent is not None:
            axes.text(1.03 * longest, y, f"{percent:.1f} %", va="center", fontsize=9.5)
    axes.text(1.03 * longest, -0.75, "imbalance", fontsize=9.5, weight="bold", va="center")
    unit = duration_axis(axes.xaxis, longest)
    axes.set(yticks=range(len(cases)), yticklabels=[case.label for case in cases], xlim=(-0.02 * longest, 1.2 * longest),
             ylim=(len(cases) - 0.4, -1.1), xlabel=f"time a device was busy, {unit} (fastest strategy first)")
    axes.set_title(f"{group.title}: {cases[0].n} devices")
    axes.grid(axis="y", visible=False)
    legend_below(figure, axes, 5)
    return figure


def prediction(groups):
    series = {}
    predicted = [(group, case) for group in groups for case in group.ok() if case.predicted]
    few = len({group.title for group, _ in predicted}) <= AT_MOST  # of more problems, only suite and mode are told apart
    for group, case in predicted:
        series.setdefault(group.title if few else f"{group.suite}, {group.mode.replace('_', ' ')}", []).append(case)
    if not series:
        return None
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6))
    every = [t for cases in series.values() for case in cases for t in (case.predicted, case.median)]
    low, high = 0.8 * min(every), 1.25 * max(every)
    left.fill_between([low, high], [0.9 * low, 0.9 * high], [1.1 * low, 1.1 * high], color="#EEEEEE", label="within 10 %")
    left.plot([low, high], [low, high], color="#888888", linewidth=1)
    names = sorted({case.strategy for cases in series.values() for case in cases})
    for k, (title, cases) in enumerate(series.items()):
        look = {"color": COLOURS[k % AT_MOST], "marker": MARKS[k % AT_MOST], "linestyle": "none", "markerfacecolor": "none", "markersize": 6,
                "markeredgewidth": 1.4, "label": title}
        left.plot([case.median for case in cases], [case.predicted for case in cases], **look)
        right.plot([100 * (case.predicted / case.median - 1) for case in cases], [names.index(case.strategy) for case in cases], **look)
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
    errors = [abs(case.predicted / case.median - 1) for cases in series.values() for case in cases]
    right.axvline(0, color="#888888", linewidth=1)
    right.axvspan(-10, 10, color="#EEEEEE", zorder=0)
    right.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5), xlabel="predicted too long by, %")
    right.set_title(f"median error {100 * statistics.median(errors):.1f} %, {len(errors)} cases")
    legend_below(figure, left, 2)
    return figure


def roofline(groups):
    cases = []
    for group in groups:
        for n in group.counts():
            here = [case for case in group.ok(n) if case.metric("roofline_fraction") is not None]
            cases += [(group, case) for case in sorted(here, key=lambda case: case.median)[:1]]
    if not cases:
        return None
    figure, axes = plt.subplots(figsize=(8, rows_high(len(cases))))
    for y, (group, case) in enumerate(cases):
        share = 100 * case.metric("roofline_fraction")
        axes.barh(y, share, height=0.66, color=SKY if share <= 100 else ORANGE, edgecolor=BLACK, linewidth=0.6, hatch="" if share <= 100 else "xx")
        value, unit = number(case.run, "rate", "value"), get(case.run, "rate", "unit") or ""
        kind = get(case.run, "work", "roof")
        text = f"{share:.0f} %" + (f" of {kind}" if kind else "") + (f", {rate(value, unit)}" if value else "")
        text += "; the roof is wrong" if share > 100 else ""
        axes.annotate(text, (share, y), xytext=(6, 0), textcoords="offset points", va="center", fontsize=9.5, bbox=ON_WHITE, zorder=6)
    axes.axvline(100, color=RED, linewidth=1.6, linestyle="--")
    names = [f"{group.title}\n{case.label}, {case.n} device{'' if case.n == 1 else 's'}" for group, case in cases]
    axes.set(yticks=range(len(cases)), ylim=(len(cases) - 0.4, -0.6), xlim=(0, max(135, *(145 * c.metric("roofline_fraction") for _, c in cases))),
             xlabel="fraction of what the devices were measured to be capable of, %")
    axes.set_yticklabels(names, fontsize=9)
    axes.set_title("fraction of the roofline: the fastest case of each problem")
    axes.grid(axis="y", visible=False)
    return figure
