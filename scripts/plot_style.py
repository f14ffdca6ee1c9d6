"""Common style of all pictures of plot.py: type, colours, axes, legends.

A strategy has the colour and the filled mark that result_series.py gives it, in every picture and on the page; devices have open marks. Dashes and
hatches repeat this information. Type is 11 points on a picture 8 inches wide, so that 4 inches can still be read."""

import textwrap

import matplotlib

matplotlib.use("Agg")  # no display
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter  # noqa: E402

from result_file import DISTURBED, SLOWED, doubts_of  # noqa: E402
from result_series import DASHES, MARKS, slowed_words  # noqa: E402

GREY = "#555555"
ON_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}  # for text that lines may cross
LETTERS_AN_INCH, HANDLE = 12.5, 7  # letters per inch of a legend; the width in letters of the line before a name
TITLE_LETTERS_AN_INCH = 8.6
NOTES_AT_MOST = 4
AT_MOST = 7  # lines in one picture: more are not distinguishable

plt.rcParams.update({"font.size": 11, "axes.titlesize": 11, "axes.titlelocation": "left", "figure.titlesize": 12, "figure.titleweight": "bold",
                     "legend.fontsize": 10,
                     "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#E5E5E5", "axes.axisbelow": True,
                     "hatch.linewidth": 0.6, "text.parse_math": False, "savefig.dpi": 110, "svg.hashsalt": "mgpu-bench",
                     "figure.constrained_layout.use": True, "figure.constrained_layout.w_pad": 0.08})


def save(figure, file):
    # Without the date and with a fixed salt, the same result gives the same file.
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def close(figure):
    plt.close(figure)


def legend_below(figure, axes, columns, cases=()):
    """Adds the legend, and the meaning of the marks of these cases, in space of their own, which makes the picture higher: inside they would cover
    the drawing."""
    handles, labels = axes.get_legend_handles_labels()
    columns = max([1, *(n for n in range(2, columns + 1) if letters_across(labels, n) <= LETTERS_AN_INCH * figure.get_figwidth())])
    notes = [line for note in marks_told(cases)
             for line in textwrap.wrap(note, int(1.1 * LETTERS_AN_INCH * figure.get_figwidth()), subsequent_indent="   ", break_on_hyphens=False)]
    below = 0.06 + 0.2 * len(notes)
    room = below + (0.06 + 0.24 * -(-len(handles) // columns) if handles else 0)
    whole = figure.get_figheight() + room
    figure.set_figheight(whole)
    if handles:
        figure.legend(handles, labels, loc="lower center", ncol=min(columns, len(handles)), frameon=False, bbox_to_anchor=(0.5, below / whole))
    for k, note in enumerate(reversed(notes)):
        figure.text(0.012, (0.06 + 0.2 * k) / whole, note, fontsize=9, color=GREY)
    figure.get_layout_engine().set(rect=(0, room / whole, 1, 1 - room / whole))


def letters_across(labels, columns):
    """Returns the width of a legend that fills one column after the other."""
    rows, longer = divmod(len(labels), columns)
    ends = [k * rows + min(k, longer) for k in range(columns + 1)]
    return sum(HANDLE + max(map(len, labels[begin:end])) for begin, end in zip(ends, ends[1:]) if begin < end)


def marks_told(cases):
    """Returns the meanings of the marks after names, for those that occur: the warnings of the cases, and their slowed devices."""
    doubts = doubts_of(cases, lambda case: case.doubts_told)
    told = [f"{DISTURBED} {', '.join(dict.fromkeys(case.label for case in mine))}: {why}" for why, mine in list(doubts.items())[:NOTES_AT_MOST]]
    if len(doubts) > NOTES_AT_MOST:
        told.append(f"{DISTURBED} and {len(doubts) - NOTES_AT_MOST} more warnings, which mgpu-bench report shows")
    slowed = {d: case.device_records[d] for case in cases for d in case.slowed}
    if slowed:
        told.append(f"{SLOWED} uses a device that is slowed down on purpose: {'; '.join(slowed_words(slowed.values()))}")
    return told


def rows_high(n):
    return max(2.6, 1.5 + 0.36 * n)


def duration_axis(axis, longest):
    """Uses one unit for the whole axis."""
    scale, unit = next(((s, u) for s, u in ((1e9, "s"), (1e6, "ms"), (1e3, "us")) if longest >= s), (1, "ns"))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:g}"))
    return unit


def drawn_as(look):
    return {"color": look.colour, "marker": MARKS[look.mark][0], "linestyle": DASHES[look.dash][0]}


def headline(figure, subject, of=""):
    """Sets the title of a picture: what it shows, then the problem."""
    title = f"{subject}: {of}" if of else subject
    figure.suptitle("\n".join(textwrap.wrap(title, int(TITLE_LETTERS_AN_INCH * figure.get_figwidth()), break_on_hyphens=False)), x=0.012, ha="left")


def si(value):
    """Returns (scale, prefix) for a rate of that size."""
    return next(((s, p) for s, p in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")) if value >= s), (1, ""))


def with_prefix(prefix, unit):
    return f"{prefix}{'' if unit.startswith('FLOP') else ' '}{unit}".strip()
