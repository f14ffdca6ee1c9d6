"""The picture of `mgpu-bench simulate --nodes`: strong and weak scaling over nodes, side by side, one picture per mode."""

import textwrap

import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, NullLocator

from plot_style import AT_MOST, GREY, drawn_as, headline, legend_below
from result_file import plural, power
from result_series import looks

MOST_TICKS = 6
SPREAD = 0.06  # in powers of two


def figures(document):
    """Yields (name, figure) of each mode."""
    modes = list(dict.fromkeys(row["mode"] for row in document["rows"]))
    for mode in modes:
        slug = "".join(c if c.isalnum() else "-" for c in document["suite"]).strip("-")
        yield f"nodes-{slug}-{mode.replace('_', '-')}", of_mode(document, mode)


def of_mode(document, mode):
    series = {}
    for row in document["rows"]:
        if row["mode"] == mode and row["time_ns"]:
            series.setdefault((row["scaling"], row["strategy"]), []).append(row)
    if not series:
        return None
    names = list(dict.fromkeys(name for _, name in series))
    at_end = {name: max((rows[-1]["rate"] for (_, other), rows in series.items() if other == name), default=0) for name in names}
    # A single device does not scale; the others are ordered by their speed on the most nodes.
    shown = sorted((name for name in names if name != "single"), key=lambda name: -at_end[name])[:AT_MOST] or names
    look = looks([(name, name.split(":")[0]) for name in names])
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.6), sharex=True, sharey=True)
    for axes, scaling in zip(panels, ("strong", "weak")):
        nodes = sorted({row["nodes"] for (which, _), rows in series.items() if which == scaling for row in rows})
        axes.axhline(100, color="#888888", linewidth=1.2, dashes=(6, 3), label="perfect" if scaling == "strong" else None, zorder=1)
        for k, name in enumerate(shown):
            rows = series.get((scaling, name), [])
            spread = 2 ** (SPREAD * (k - (len(shown) - 1) / 2))  # so that equal points do not hide each other
            axes.plot([row["nodes"] * spread for row in rows], [100 * row["efficiency"] for row in rows], linewidth=1.4, markersize=6,
                      label=name if scaling == "strong" else None, **drawn_as(look[name]))
        axes.set_xscale("log", base=2)
        step = -(-len(nodes) // MOST_TICKS)
        axes.set_xticks(nodes[::-1][::step][::-1])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        items = sorted({row["items"] for (which, _), rows in series.items() if which == scaling for row in rows})
        ends = [power(round(number * document.get("units_per_item", 1))) for number in (items[0], items[-1])]
        size = f"{ends[0] if scaling == 'strong' else ' to '.join(ends)} {document.get('size_unit', 'items')}"
        axes.set_title(f"{scaling} scaling: {size}")
        axes.set_xlabel(f"nodes, {devices_a_node(series)}")
        axes.set_ylim(0, max(110, 1.06 * axes.dataLim.ymax))
    fewest = min(row["nodes"] for rows in series.values() for row in rows)
    panels[0].set_ylabel(f"efficiency relative to {plural(fewest, 'node')}, %")
    headline(figure, "Scaling over nodes", f"{document['suite']}, {mode.replace('_', ' ')}: {document['simulated']}")
    legend_below(figure, panels[0], 4)
    hidden = [name for name in names if name not in shown]
    if hidden:
        panels[1].text(0.99, 0.02, "\n".join(textwrap.wrap(f"not drawn: {', '.join(hidden)}", 44)), transform=panels[1].transAxes, ha="right",
                       fontsize=8.5, color=GREY)
    return figure


def devices_a_node(series):
    found = {row["devices"] / row["nodes"] for rows in series.values() for row in rows}
    return f"{found.pop():g} devices each" if len(found) == 1 else "devices differ"
