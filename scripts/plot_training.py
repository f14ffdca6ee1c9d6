"""The pictures of trainings (suite pinn): the found values from step to step, and the network next to the solution on a grid. Every function takes
what it draws and returns a figure, or None if the figures it needs are missing."""

import matplotlib.pyplot as plt
import numpy
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from plot_style import GREY, headline, legend_below
from result_file import get, plural
from result_series import BLUE, ORANGE

PARTS = 3  # parts of a .solution.npy: the network, the solution, the difference


def curves_of(case):
    """Returns [(name, rounds, values)] of the found curves, without values that are not positive numbers."""
    found = []
    for curve in get(case.run, "verify", "found", "curves") or []:
        points = [(step, value) for step, value in zip(curve.get("rounds", []), curve.get("values", [])) if value is not None and value > 0]
        if points:
            found.append((curve["name"], *zip(*points)))
    return found


def training(group, _):
    """Draws curves over iterations, for one case: all cases of a group have the same."""
    case = next((case for case in group.most() if case.ok and curves_of(case)), None)
    if case is None:
        return None
    figure, axes = plt.subplots(figsize=(7.4, 4.4))
    for (name, rounds, values), colour in zip(curves_of(case), (BLUE, ORANGE, GREY)):
        axes.plot(rounds, values, color=colour, linewidth=1.6, marker="o" if len(rounds) < 60 else None, markersize=4, label=name)
    for milestone in get(case.run, "verify", "found", "milestones") or []:
        axes.axvline(milestone["rounds"], color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.text(milestone["rounds"], 0.98, f" {milestone['name'].rsplit(' ', 1)[-1]} after {milestone['time_ns'] / 1e9:.3g} s", rotation=90,
                  va="top", ha="right", fontsize=8, transform=axes.get_xaxis_transform())
    axes.set(yscale="log", xlabel="training step", ylabel=", ".join(name for name, _, _ in curves_of(case)), xlim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    low, high = axes.get_ylim()
    if high < 100 * low:  # one or two powers of ten make few ticks
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    headline(figure, f"Training by {case.told} on {plural(case.n, 'device')}", group.title)
    legend_below(figure, axes, 3, [case])
    return figure


def solution(group, values):
    """Draws a .solution.npy. The three parts of `values` are below each other; the first input is across, the second one up."""
    rows, columns = values.shape[0] // PARTS, values.shape[1]
    parts = numpy.asarray(values, dtype=float).reshape(PARTS, rows, columns)
    if not numpy.isfinite(parts).all():
        return None
    figure, axes = plt.subplots(1, PARTS, figsize=(12, 3.6), sharey=True, layout="constrained")
    most = numpy.abs(parts[1]).max()
    problem = get(group.params, "problem") or "burgers"
    low = 0 if problem == "poisson" else -1
    bottom = -1 if problem == "helmholtz" else 0
    for part, axis, name in zip(parts, axes, ("network", "solution", "difference")):
        scale = most if name != "difference" else max(numpy.abs(part).max(), 1e-12)
        drawn = axis.imshow(part, origin="lower", extent=(low, 1, bottom, 1), aspect="auto", cmap="RdBu_r", vmin=-scale, vmax=scale)
        figure.colorbar(drawn, ax=axis, shrink=0.9, label="u" if name != "difference" else "network - solution")
        axis.set(title=name, xlabel="x")
        axis.grid(visible=False)
    axes[0].set_ylabel("t" if problem in ("burgers", "allen-cahn") else "y")
    error = numpy.linalg.norm(parts[2]) / numpy.linalg.norm(parts[1])
    headline(figure, f"Network and solution, relative L2 error {error:.3g}", group.title)
    return figure
