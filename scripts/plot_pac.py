"""The comodulogram of a file of `mgpu-bench run pac --save-data FILE.npy`. Nothing is read or chosen here."""

import matplotlib.pyplot as plt
import numpy

from plot_style import headline, legend_below
from result_file import plural

# Columns of the file, which has a row for each pair of bands of each series.
PHASE, AMPLITUDE, INDEX, Z = 2, 3, 4, 7
COLUMNS = 8


def shaped(rows):
    """Returns the frequencies in Hz of the phases and of the amplitudes, and all rows by series, phase and amplitude; None if they are not from
    such a file."""
    if rows.ndim != 2 or rows.shape[1] != COLUMNS or rows.shape[0] == 0:
        return None
    phases, amplitudes = (list(dict.fromkeys(rows[:, column].tolist())) for column in (PHASE, AMPLITUDE))
    if rows.shape[0] % (len(phases) * len(amplitudes)):
        return None
    cells = rows.reshape(-1, len(phases), len(amplitudes), COLUMNS)
    expected = numpy.broadcast_to(numpy.array(phases)[None, :, None], cells.shape[:3])
    return (phases, amplitudes, cells) if numpy.array_equal(cells[..., PHASE], expected) else None


def edges(centres):
    """Returns edges halfway between neighbours, and as far beyond the outermost; a single centre gets a tenth of its value as width."""
    if len(centres) == 1:
        return [centres[0] * 0.95, centres[0] * 1.05]
    between = [(a + b) / 2 for a, b in zip(centres, centres[1:])]
    return [2 * centres[0] - between[0], *between, 2 * centres[-1] - between[-1]]


def comodulogram(group, rows):
    """Draws mean index and mean z over all series, with phases across and amplitudes up; the largest value is marked."""
    case = next((case for case in group.most() if case.ok), None)
    found = shaped(rows)
    if case is None or found is None:
        return None
    phases, amplitudes, cells = found
    figure, both = plt.subplots(1, 2, figsize=(12, 4.9), sharey=True)
    figure.get_layout_engine().set(wspace=0.06)
    for axes, column, name in ((both[0], INDEX, "modulation index"), (both[1], Z, "z over surrogates")):
        mean = cells[..., column].mean(axis=0)
        signed = column == Z
        most = max(abs(float(mean.min())), abs(float(mean.max()))) or 1
        drawn = axes.pcolormesh(edges(phases), edges(amplitudes), mean.T, cmap="RdBu_r" if signed else "viridis",
                                vmin=-most if signed else 0, vmax=most)
        figure.colorbar(drawn, ax=axes, label=f"{name}, mean of {cells.shape[0]} series")
        f, g = numpy.unravel_index(int(mean.argmax()), mean.shape)
        axes.plot(phases[f], amplitudes[g], marker="o", markersize=13, color="white", markerfacecolor="none", markeredgewidth=2.2)
        axes.set_title(f"largest {mean[f, g]:.3g}, phase of {phases[f]:.4g} Hz, amplitude of {amplitudes[g]:.4g} Hz", fontsize=10)
        axes.set(xlabel="centre of the phase band, Hz")
        axes.grid(visible=False)
    both[0].set_ylabel("centre of the amplitude band, Hz")
    headline(figure, f"Comodulogram computed by {case.told} on {plural(case.n, 'device')}", group.title)
    legend_below(figure, both[0], 1, [case])
    return figure
