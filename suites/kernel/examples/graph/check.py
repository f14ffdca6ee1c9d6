"""Features of up to 64 windows, in double precision."""

import array
import math
import sys


def numbers(name, kind):
    values = array.array(kind)
    with open(name, "rb") as file:
        values.frombytes(file.read())
    return values


signal, energies, counts, peaks, scores = (numbers(name, kind) for name, kind in zip(sys.argv[1:6], "ffIff", strict=True))
length = int(sys.argv[6])
windows = len(scores)
for window in range(0, windows, max(windows // 64, 1)):
    x = signal[window * length:(window + 1) * length]
    mean = math.fsum(x) / length
    x = [value - mean for value in x]
    energy, most = math.fsum(value * value for value in x), max(map(abs, x))
    # A sample so near to 0 that rounding decides its sign may move a crossing.
    count = sum((a < 0) != (b < 0) for a, b in zip(x, x[1:]))
    unsure = 2 * sum(abs(value) < 1e-5 for value in x)
    score = energies[window] + counts[window] * peaks[window]
    if not math.isclose(energies[window], energy, rel_tol=1e-4) or not math.isclose(peaks[window], most, rel_tol=1e-4) \
            or abs(counts[window] - count) > unsure or not math.isclose(scores[window], score, rel_tol=1e-6):
        sys.exit(f"window {window} has energy {energies[window]}, {counts[window]} crossings, peak {peaks[window]} and score "
                 f"{scores[window]}, it should have {energy}, {count}, {most} and {score}")
