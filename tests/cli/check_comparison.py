"""Compares a comparison, as compare --json --with-resamples writes it, with SciPy, statsmodels and
NumPy: exit 0 and one line, or exit 1 and a line for each of the first differences.

usage: check_comparison.py COMPARISON

Needs python3-scipy and python3-statsmodels of Debian 12; called by compare_test.py."""

import collections
import json
import sys
import warnings

import numpy
import scipy.stats
from statsmodels.stats.multitest import multipletests

TOLERANCE = 1e-9


def reference_test(method, base, new):
    """Returns (statistic, p) of the same variant of the test by SciPy."""
    exact = method.endswith("exact")
    if method.startswith("mann-whitney"):
        found = scipy.stats.mannwhitneyu(base, new, alternative="two-sided",
                                         method="exact" if exact else "asymptotic",
                                         use_continuity=True)
        return found.statistic, found.pvalue
    if method == "student log":  # SciPy 1.10 takes no side of one value
        base, new, freedom = numpy.log(base), numpy.log(new), len(base) + len(new) - 2
        variance = (base.var() * len(base) + new.var() * len(new)) / freedom
        spread = max(numpy.sqrt(variance * (1 / len(base) + 1 / len(new))), 1e-12)
        t = (new.mean() - base.mean()) / spread
        return t, 2 * scipy.stats.t.sf(abs(t), freedom)
    differences = numpy.round(numpy.log(new / base), 12)  # 2/1 and 4/2 are ties
    found = scipy.stats.wilcoxon(differences, mode="exact" if exact else "approx",
                                 correction=not exact, zero_method="wilcox")
    n = numpy.count_nonzero(differences)
    ranks = scipy.stats.rankdata(abs(differences[differences != 0]))
    positive = ranks[differences[differences != 0] > 0].sum()
    assert min(positive, n * (n + 1) / 2 - positive) == found.statistic
    return positive, found.pvalue


def reference_interval(row, interleaved, base, new, level):
    tail = (1 - level) / 2
    if interleaved:
        ratios = new / base
        drawn = [numpy.median(ratios[one["pairs"]]) for one in row["resamples"]]
        return numpy.median(ratios), numpy.quantile(drawn, [tail, 1 - tail])
    drawn = [numpy.median(new[one["new"]]) / numpy.median(base[one["base"]]) for one
             in row["resamples"]]
    shown = row["new"]["figure"] / row["base"][
            "figure"]  # as in the tables; the interval is moved there
    return shown, numpy.quantile(drawn, [tail,
                                         1 - tail]) * shown / (
            numpy.median(new) / numpy.median(base))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        comparison = json.load(file)
    interleaved, level = comparison["method"]["interleaved"], comparison["method"]["level"]
    wrong, methods = [], collections.Counter()

    def same(where, ours, theirs):
        if not numpy.allclose(ours, theirs, rtol=TOLERANCE, atol=1e-300):
            wrong.append(f"{where}: {ours} here, {theirs} there")

    tested = [row for row in comparison["rows"] if row["test"]]
    for row in comparison["rows"]:
        base, new = (numpy.array(row[side]["values"], dtype=float) for side in ("base", "new"))
        ratio, interval = reference_interval(row, interleaved, base, new, level)
        same(row["case"] + " ratio", row["ratio"], ratio)
        same(row["case"] + " interval", row["interval"], interval)
        if row["test"]:
            statistic, p = reference_test(row["test"]["method"], base, new)
            same(row["case"] + " statistic", row["test"]["statistic"], statistic)
            same(row["case"] + " p", row["test"]["p"], p)
            methods[row["test"]["method"]] += 1
    adjusted = multipletests([row["test"]["p"] for row in tested], method="holm")[1]
    same("Holm", [row["test"]["p_adjusted"] for row in tested], adjusted)
    for line in wrong[:10]:
        print(line)
    if not wrong:
        print(f"{len(tested)} tests agree: {dict(sorted(methods.items()))}")
    return 1 if wrong or not tested else 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # SciPy warns about few values
    sys.exit(main())
