"""The pictures of `mgpu-bench trend`: the runs of a series over time, the medians of its levels, and where its environment changed."""

import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator

from plot_style import GREY, duration_axis, headline, legend_below

BLUE, ORANGE = "#0072B2", "#D55E00"
COMMIT_LETTERS = 8


def figures(document):
    """Yields (name, figure) of the series of which there is something to say; of all if there is none."""
    told = [series for series in document["series"] if series["changes"] or series["states"] or series["suspect"]]
    for series in told or document["series"]:
        yield f"trend-{series['id']}", of_series(document, series) if series["points"] else None


def run_name(point):
    return (point["commit"] or point["result"])[:COMMIT_LETTERS]


def levels(points):
    """Returns [(first, last, level)] of the segments, as indices of points."""
    found = []
    for k, point in enumerate(points):
        if point["level"] is None:
            continue
        if found and found[-1][2] == point["level"]:
            found[-1] = (found[-1][0], k, point["level"])
        else:
            found.append((k, k, point["level"]))
    return found


def of_series(document, series):
    points = series["points"]
    figure, axes = plt.subplots(figsize=(8, 3.8))
    counted = [k for k, point in enumerate(points) if not point["left_out"]]
    others = [k for k, point in enumerate(points) if point["left_out"]]
    at = {point["result"]: k for k, point in enumerate(points)}
    for change in series["changes"]:
        axes.axvspan(at[change["first"]["result"]] - 0.5, at[change["last"]["result"]] + 0.5, alpha=0.25, linewidth=0,
                     color=ORANGE if change["worse"] else "#009E73")
    for k, place in enumerate(series["environment"]):
        axes.axvline(at[place["result"]] - 0.5, color=GREY, linewidth=1, linestyle=":", label="environment changed" if k == 0 else None)
    intervals = [k for k in counted if points[k]["low"] is not None]
    axes.vlines(intervals, [points[k]["low"] for k in intervals], [points[k]["high"] for k in intervals], color="#9CC3DD", linewidth=1)
    axes.plot(counted, [points[k]["value"] for k in counted], "o", color=BLUE, markersize=4, label="run")
    axes.plot(others, [points[k]["value"] for k in others], "o", color=GREY, markersize=4, markerfacecolor="none",
              label="left out" if others else None)
    for k, (first, last, level) in enumerate(levels(points)):
        axes.plot([first - 0.5, last + 0.5], [level, level], color="#000000", linewidth=1.6, label="median of its level" if k == 0 else None)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.xaxis.set_major_formatter(lambda x, _: run_name(points[int(x)]) if x == int(x) and 0 <= x < len(points) else "")
    unit = duration_axis(axes.yaxis, max(point["value"] for point in points)) if document["unit"] == "ns" else document["unit"]
    axes.set_ylabel(f"{document['metric']}, {unit}")
    axes.set_xlabel("run, by time")
    headline(figure, "Trend", series["series"])
    legend_below(figure, axes, 4)
    return figure
