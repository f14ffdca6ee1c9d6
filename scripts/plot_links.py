"""The pictures of a file of `mgpu-bench links`: its matrices as heat maps, and the bandwidth of collectives against size. Every function takes the
document, or rows of it, and returns a figure, or None if the figures it needs are missing. Nothing is read or chosen here."""

import matplotlib.pyplot as plt
from matplotlib.colors import LogNorm
from matplotlib.ticker import FuncFormatter, LogLocator

from plot_style import headline, legend_below
from result_file import plural
from result_series import COLOURS, MARKS

HOST = "host"
TRAFFIC = (("one_way", "unidirectional"), ("both_ways", "bidirectional"))
NAMED = 12  # most ends with figures: with more, cells are too small for them


def three_digits(gigabytes):
    return f"{gigabytes:.{0 if gigabytes >= 99.95 else 1 if gigabytes >= 9.995 else 2}f}"


def matrix(document, mode):
    """Returns (ends, rates in GB/s by row and column, None if there is none; cells with wrong results), or None if nothing was measured."""
    rows = [run for run in document["runs"] if run["mode"] == mode]
    if not rows:
        return None
    ends = [end for end in (HOST, *(d["id"] for d in document["devices"])) if any(end in (run["link"]["from"], run["link"]["to"]) for run in rows)]
    place = {end: k for k, end in enumerate(ends)}
    rates, wrong = [[None] * len(ends) for _ in ends], set()
    for row in rows:
        cells = [(place[row["link"]["from"]], place[row["link"]["to"]])]
        if mode.startswith("both_ways"):
            cells.append(cells[0][::-1])
        for y, x in cells:
            rates[y][x] = row["rate"]["value"] and row["rate"]["value"] / 1e9
            if row["link"]["wrong"]:
                wrong.add((y, x))
    return ends, rates, wrong


def matrices(document):
    found = [(f"{words}{', staged (not in use)' if other else ''}", matrix(document, traffic + other))
             for other in ("", "_staged") for traffic, words in TRAFFIC]
    found = [(title, drawn) for title, drawn in found if drawn]
    if not found:
        return None
    every = [rate for _, (_, rates, _) in found for row in rates for rate in row if rate] or [1]
    scale = LogNorm(0.9 * min(every), 1.1 * max(every))  # rates of links are decades apart
    down, across = -(-len(found) // 2), min(2, len(found))
    side = 2.3 + 0.45 * len(document["devices"])
    figure, axes = plt.subplots(down, across, figsize=(1 + across * max(side, 4.2), down * side), squeeze=False)
    for place in axes.flat[len(found):]:
        place.axis("off")
    for place, (title, (ends, rates, wrong)) in zip(axes.flat, found):
        image = place.imshow([[rate or float("nan") for rate in row] for row in rates], cmap="viridis", norm=scale)
        place.set_facecolor("#EEEEEE")
        place.set(title=title, xlabel="to", ylabel="from")
        place.set_xticks(range(len(ends)), ends, rotation=0 if len(ends) < 6 else 60, fontsize=10)
        place.set_yticks(range(len(ends)), ends, fontsize=10)
        place.grid(False)
        place.tick_params(length=0)
        for y, row in enumerate(rates):
            for x, rate in enumerate(row):
                text = "wrong" if (y, x) in wrong else three_digits(rate) if rate else "\u2013"
                if text and len(ends) <= NAMED:
                    dark = bool(rate) and scale(rate) < 0.6
                    place.text(x, y, text, ha="center", va="center", fontsize=10, color="white" if dark else "black")
    bar = figure.colorbar(image, ax=axes, label="bandwidth, GB/s", shrink=0.8)
    bar.locator, bar.formatter = LogLocator(subs=(1, 2, 5)), FuncFormatter(lambda value, _: f"{value:g}")
    bar.minorticks_off()
    paths = sorted({pair["path"] for pair in document.get("paths", ())})
    between = f"; path between devices: {', '.join(paths)}" if paths else ""
    headline(figure, f"Link bandwidth (bidirectional: sum of both directions){between}")
    return figure


def size_text(size):
    for scale, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= scale and size % scale == 0:
            return f"{size // scale} {unit}"
    return f"{size} B"


def collectives(document):
    return [run for run in document["runs"] if run["mode"] == "back_to_back"]


def bandwidth(document, op):
    """Draws the bus bandwidth of this collective, with a line per number of devices."""
    lines = {}
    for row in collectives(document):
        if row["suite"] == op and row["rate"]["value"]:
            key = (len(row["devices"]), row["params"]["type"], row["params"].get("redop"))
            lines.setdefault(key, []).append((row["link"]["bytes"], row["rate"]["value"] / 1e9))
    lines = {key: sorted(points) for key, points in sorted(lines.items(), key=lambda item: item[0][:2]) if len(points) > 1}
    if not lines:
        return None
    figure, axes = plt.subplots(figsize=(8, 4.8))
    for k, ((n, element, redop), points) in enumerate(lines.items()):
        axes.plot(*zip(*points), label=plural(n, "device"), color=COLOURS[k % len(COLOURS)], marker=MARKS[k % len(MARKS)][0], linewidth=1.4, markersize=7)
    every = sorted({size for points in lines.values() for size, _ in points})
    shown = every[::-(-len(every) // 10)]
    axes.set_xscale("log", base=2)
    axes.set_xticks(shown, [size_text(size) for size in shown], fontsize=9 if len(shown) > 6 else 11)
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda value, _: ""))
    axes.minorticks_off()
    axes.set(xlabel="message size", ylabel="bus bandwidth, GB/s")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    headline(figure, f"Collective {op}, {element}{' ' + redop if redop else ''}", "average of many pipelined calls")
    legend_below(figure, axes, 4)
    return figure


def figures(document, kinds):
    """Yields (kind, name, figure or None)."""
    if "matrices" in kinds:
        yield "matrices", "links-matrices", matrices(document)
    if "bandwidth" in kinds:
        ops = dict.fromkeys(row["suite"] for row in collectives(document))
        for op in ops:
            yield "bandwidth", f"links-{op}", bandwidth(document, op)
        if not ops:
            yield "bandwidth", "", None
