"""The pictures of one problem in one mode. Every function takes a group of cases and the looks of series, and returns a figure, or None if the
figures it needs are missing. Nothing is read or chosen here."""

import matplotlib.pyplot as plt

from plot_style import AT_MOST, GREY, drawn_as, duration_axis, headline, legend_below, rows_high, si, with_prefix
from result_file import SLOWED, duration, get, makespan, number, percent, plural, rows
from result_series import BLACK, BLUE, COLOURS, GREEN, KINDS, MARKS, WAITS, gaps

BAR = "#D5DEE6"
KIND_HATCHES = {"upload": "///", "compute": "", "download": "\\\\\\", "exchange": "++"}
WAIT_LOOKS = {"launch": ("#CFE6F5", ""), "sync": ("#BBBBBB", "..."), "idle": ("#EEEEEE", ""), "waking": ("#EEEEEE", "--"), "rest": ("#FFFFFF", "///")}


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
    axes.plot(xs, [ideal[x] for x in xs], color="#888888", linewidth=1.2, dashes=(6, 3), label="ideal: sum of the single-device speeds", zorder=1)
    spread = 0.06 * (most - 1) / len(shown)  # so that equal points do not hide each other
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
              label=f"measured: single device {single[0]}, {duration(single[1])}")
    highest = max(max(ideal.values()), axes.dataLim.ymax)
    axes.set(xlabel="devices", ylabel="speed-up over the fastest single device", xticks=counts, ylim=(0, 1.06 * highest),
             xlim=(1 - 0.06 * most, most + 0.06 * most))
    headline(figure, "Scaling", group.title)
    rates_on_the_right(axes, group)
    legend_below(figure, axes, 3, [case for name in shown for case in lines[name]])
    if hidden:
        axes.text(0.99, 0.02, f"not drawn, not faster: {', '.join(hidden)}", transform=axes.transAxes, ha="right", fontsize=8.5, color=GREY)
    return figure


def rates_on_the_right(axes, group):
    """Adds an axis that shows the same heights as rates: the rate of the fastest device alone times the speed-up."""
    best = group.best()
    value, unit, alone = number(best.run, "rate", "value"), get(best.run, "rate", "unit"), best.alone()
    if not value or not alone:
        return
    one = value * best.median / alone[1]
    scale, prefix = si(value)
    right = axes.secondary_yaxis("right", functions=(lambda s: s * one / scale, lambda r: r * scale / one))
    right.set_ylabel(f"rate, {with_prefix(prefix, unit)}")


def strategies(group, look):
    cases = group.most()
    if not cases or not cases[0].ok:
        return None
    figure, axes = plt.subplots(figsize=(8, rows_high(len(cases)) + 0.3))
    good = [case for case in cases if case.ok]
    leaders = group.leaders()
    longest = max(max(case.median, (case.interval or [0, 0])[1]) for case in good)
    columns = {"time": lambda case: ("\u2605 " if case in leaders else "") + duration(case.median), "shares, %": lambda case: case.shares,
               "efficiency": lambda case: "" if case.metric("efficiency") is None else percent(case.metric("efficiency"))}
    for y, case in enumerate(cases):
        if not case.ok:
            axes.text(0.01 * longest, y, f"{case.status}: {case.reason}"[:90], va="center", fontsize=9.5, style="italic", zorder=6)
            continue
        best = case in leaders
        axes.barh(y, case.median, height=0.66, color=BAR, edgecolor=BLACK if best else "#8899A6", linewidth=1.4 if best else 0.6,
                  hatch="///" if case.warnings or case.faults else "", zorder=2)
        inside = [t for t in case.samples if t <= longest][:200]
        axes.plot(inside, [y + 0.24] * len(inside), marker="|", linestyle="none", color="#222222", markersize=5, alpha=0.5, zorder=4)
        interval = case.interval or [case.median, case.median]
        axes.errorbar(case.median, y, xerr=[[max(0, case.median - interval[0])], [max(0, interval[1] - case.median)]], capsize=4, linewidth=1.6,
                      markersize=8, zorder=5, **drawn_as(look[case.label]))
        for k, words in enumerate(columns.values()):
            beside(axes, k, y, words(case), "bold" if best else "normal")
    for k, name in enumerate(columns):
        beside(axes, k, -0.75, name, "bold")
    alone = good[0].alone()
    if alone and alone[1] <= 1.3 * longest and good[0].n > 1:
        longest = max(longest, alone[1])
        axes.axvline(alone[1], color=GREY, linewidth=1.2, linestyle="--", label=f"single device {alone[0]}: {duration(alone[1])}")
        ideal_speedup = good[0].metric("ideal_speedup")
        if ideal_speedup:
            best = alone[1] / ideal_speedup
            axes.axvline(best, color=GREEN, linewidth=1.4, linestyle=":", label=f"perfect split: {duration(best)}")
    unit = duration_axis(axes.xaxis, longest)
    axes.set(yticks=range(len(cases)), yticklabels=[case.told + case.marks for case in cases], xlim=(0, 1.02 * longest),
             ylim=(len(cases) - 0.4, -1.2),
             xlabel=f"time, {unit}: median, 95 % interval, samples as ticks" +
             (f"; \u2605: {'fastest' if len(leaders) == 1 else 'among the fastest'}" if leaders else ""))
    headline(figure, f"Strategies on {plural(good[0].n, 'device')}", group.title)
    axes.grid(axis="y", visible=False)
    legend_below(figure, axes, 2, cases)
    return figure


def beside(axes, column, y, text, weight):
    """Writes a cell of a table to the right of the axes, where no bar, sample or line can cross it."""
    axes.annotate(text, (1, y), xycoords=axes.get_yaxis_transform(), xytext=(70 * (column + 1), 0), textcoords="offset points", ha="right",
                  va="center", fontsize=9.5, weight=weight, annotation_clip=False)


def timeline(group, _):
    case = next((case for case in group.most() if case.ok and any(rows(case, "commands"))), None)
    if case is None:
        return None
    lanes = [kind for kind in ("upload", "compute", "download", "exchange") if any(c["kind"] == kind for c in rows(case, "commands"))]
    figure, axes = plt.subplots(figsize=(8, max(2.8, 1.6 + min(0.95 * case.n, 1.4 + 0.6 * case.n))))
    whole = makespan(case)
    merge = (case.run["timeline"].get("merge") or {})
    stretches = gaps(case)
    for state, (colour, hatch) in WAIT_LOOKS.items():
        label = WAITS[state]  # label of the first device that has one
        for device in range(case.n):
            mine = [(begin, length) for d, s, begin, length in stretches if d == device and s == state]
            if mine:
                axes.broken_barh(mine, (device - 0.42, 0.84), facecolor=colour, hatch=hatch, edgecolor="#777777" if hatch else "none", linewidth=0,
                                 label=label)
                label = None
    for lane, kind in enumerate(lanes):
        colour, hatch = KINDS[kind], KIND_HATCHES[kind]
        label = kind
        for device in range(case.n):
            bars = [(c["started_ns"], c["ended_ns"] - c["started_ns"]) for c in rows(case, "commands") if c["kind"] == kind and c["device"] == device]
            if bars:
                axes.broken_barh(bars, (device - 0.4 + lane * 0.81 / len(lanes), 0.75 / len(lanes)), facecolor=colour,
                                 edgecolor="white" if len(bars) < 80 else colour,
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
    headline(figure, f"Timeline of {case.told} on {case.on} device{'' if case.on == '1' else 's'}", group.title)
    axes.grid(axis="y", visible=False)
    legend_below(figure, axes, 4, [case])
    return figure


def share_text(case, k):
    share = number(case.per_device[k], "share") if k < len(case.per_device) else None
    return percent(share) if share is not None else ""


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
            told = case.n <= AT_MOST  # whether devices are labelled
            mark = {"marker": MARKS[k % AT_MOST][0], "color": COLOURS[k % AT_MOST]} if told else {"marker": "o", "color": BLUE}
            axes.plot([time], [y + (k - (case.n - 1) / 2) * 0.36 / case.n], markersize=7, markerfacecolor="none", markeredgewidth=1.6,
                      linestyle="none", zorder=3, **mark,
                      label=(f"device {case.devices[k]}" if told else "a device" if k == 0 else None) if y == 0 else None)
        worse = case.metric("imbalance_percent")
        for column, text in enumerate(("" if worse is None else percent(worse / 100), case.shares)):
            beside(axes, column, y, text, "normal")
    for column, text in enumerate(("imbalance", "shares, %")):
        beside(axes, column, -0.75, text, "bold")
    unit = duration_axis(axes.xaxis, longest)
    axes.set(yticks=range(len(cases)), yticklabels=[case.told + case.marks for case in cases], xlim=(-0.02 * longest, 1.02 * longest),
             ylim=(len(cases) - 0.4, -1.2), xlabel=f"busy time per device, {unit} (fastest strategy first)")
    headline(figure, f"Imbalance over {plural(cases[0].n, 'device')}", group.title)
    axes.grid(axis="y", visible=False)
    legend_below(figure, axes, 5, cases)
    return figure


def energy(group, look):
    """Time against energy; a line joins the cases than which no other is both faster and more frugal."""
    cases = sorted((case for case in group.ok() if number(case.run, "energy", "energy_j")), key=lambda case: case.median)
    if len(cases) < 2:
        return None
    figure, axes = plt.subplots(figsize=(8, 5))
    joules = [number(case.run, "energy", "energy_j") for case in cases]
    front = [k for k, one in enumerate(joules) if one < min(joules[:k], default=float("inf"))]
    axes.plot([cases[k].median for k in front], [joules[k] for k in front], color="#888888", linewidth=1.2, zorder=1,
              label="Pareto front: none is faster with less energy")
    for case, one in zip(cases, joules):
        axes.errorbar([case.median], [one], yerr=[number(case.run, "energy", "half_width_j") or 0], markersize=8, capsize=4, linestyle="none",
                      label=case.told + case.marks, **{name: value for name, value in drawn_as(look[case.label]).items() if name != "linestyle"})
    unit = duration_axis(axes.xaxis, cases[-1].median)
    axes.set(xlabel=f"time of a run, {unit}", ylabel="energy of a run, J", xlim=(0, 1.06 * cases[-1].median), ylim=(0, 1.15 * max(joules)))
    headline(figure, "Time and energy", group.title)
    legend_below(figure, axes, 3, cases)
    return figure
