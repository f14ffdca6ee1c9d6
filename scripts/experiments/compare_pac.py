#!/usr/bin/env python3
"""Are the indices of suite pac those of other programs, from the same phases and amplitudes?

usage: compare_pac.py BINARY [--input FILE.npy] [--fs HZ] [--pha LO:HI:N] [--amp LO:HI:N] [--devices SEL]

FILE.npy: float64 or float32, (batch, channels, samples), (channels, samples) or (samples), like the recording among tensorpac's
examples; without it the script makes a coupled signal. Each series is filtered here as suites/README.md describes, in float64 by NumPy.
The phases and amplitudes are given to NumPy (Tort's formula), and to tensorpac (Pac.fit with (2, 0, 0), one series at a time) and pactools
(method tort) if they are installed. Their indices are compared with those that BINARY computed from the file.

Prints the largest difference of each. Exit code 1: one was above 1e-6 although none of its samples is within 1e-5 of the boundary of two bins,
which fp32 may put on either side. pactools counts an empty bin as 1, the suite as 0: pairs with one are left out there.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

BINS = 18


def bands(text):
    low, high, count = (float(word) for word in text.split(":"))
    return [(low + high) / 2] if count == 1 else [low + (high - low) * i / (count - 1) for i in range(int(count))]


def analytic(x, fs, centre, half_width):
    """Filters: keeps everything up to 0.75 of the half width from the centre and nothing beyond 1.25, with a cosine between."""
    n = len(x)
    hz = numpy.arange(n) * fs / n
    away = numpy.abs(hz - centre) / (centre * half_width)
    passed = numpy.clip(0.5 * (1 + numpy.cos(numpy.pi * (numpy.clip(away, 0.75, 1.25) - 0.75) / 0.5)), 0, 1)
    passed[2 * numpy.arange(n) > n] = 0
    return numpy.fft.ifft(numpy.fft.fft(x) * 2 * passed)


def tort(phase, amplitude):
    places = numpy.minimum(((phase + numpy.pi) / (2 * numpy.pi) * BINS).astype(int), BINS - 1)
    counts = numpy.bincount(places, minlength=BINS)
    means = numpy.bincount(places, amplitude, BINS) / numpy.maximum(counts, 1)
    p = means / means.sum()
    return 1 + (p[p > 0] * numpy.log(p[p > 0])).sum() / numpy.log(BINS), counts.min() == 0


def doubtful(phase):
    """Returns true if a sample is at the boundary of two bins."""
    place = (phase + numpy.pi) / (2 * numpy.pi) * BINS
    return bool((numpy.abs(place - numpy.round(place)) < 1e-5).any())


def suite(given, file, index):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.npy"
        command = [given.binary, "run", "pac", "--input", file, "--fs", given.fs, "--pha", given.pha, "--amp", given.amp, "--perm", "0", "--mi", index,
                   "-s", "single", "--mode", "resident", "-n", "1", "--json", "--save-data", out, *(["-d", given.devices] if given.devices else [])]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr.strip().splitlines()[-1])
        run = json.loads(done.stdout)["runs"][0]
        print(f"{index}: {run['verify']['status']} by the suite's own reference")
        return numpy.load(out)[:, 4]


def of_tensorpac(phases, amplitudes, fs):
    from tensorpac import Pac

    pac = Pac(idpac=(2, 0, 0), n_bins=BINS, verbose=False)
    return pac.fit(phases[:, None, :].copy(), amplitudes[:, None, :].copy())[..., 0].T


def of_pactools(phases, amplitudes, fs):
    from pactools.comodulogram import _comodulogram

    return _comodulogram(fs, numpy.exp(1j * phases)[:, None, :], amplitudes[:, None, :].astype(complex), None, "tort", 0, None, False, 1.0, None, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--input")
    parser.add_argument("--fs", default="256")
    parser.add_argument("--pha", default="4:20:5")
    parser.add_argument("--amp", default="60:100:5")
    parser.add_argument("--devices")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = given.input or Path(folder) / "x.npy"
        if not given.input:
            rng, t = numpy.random.default_rng(1), numpy.arange(2048) / 256
            slow = 2 * numpy.pi * 10 * t + numpy.cumsum(rng.normal(0, 0.15, (4, 2048)), axis=1)
            x = numpy.cos(slow) + 0.6 * (1 + numpy.cos(slow)) * numpy.cos(2 * numpy.pi * 80 * t) + rng.normal(0, 0.5, (4, 2048))
            numpy.save(file, x)
        series = numpy.load(file).astype(float)
        series = series.reshape(-1, series.shape[-1])
        found = {index: suite(given, file, index) for index in ("tort", "tensorpac")}
    pha, amp, fs = bands(given.pha), bands(given.amp), float(given.fs)
    others = {"NumPy": (None, "tort"), "pactools": (of_pactools, "tort"), "tensorpac": (of_tensorpac, "tensorpac")}
    worst = {}
    for s, x in enumerate(series):
        x = x - x.mean()
        phases = numpy.array([numpy.angle(analytic(x, fs, f, 0.25)) for f in pha])
        amplitudes = numpy.array([numpy.abs(analytic(x, fs, g, 0.125)) for g in amp])
        exact = numpy.array([[tort(p, a) for a in amplitudes] for p in phases])
        at_border = numpy.array([doubtful(p) for p in phases])
        for name, (call, index) in others.items():
            try:
                values = exact[..., 0] if call is None else call(phases, amplitudes, fs)
            except ImportError:
                worst[name] = None
                continue
            ours = found[index].reshape(len(series), len(pha), len(amp))[s]
            away = numpy.abs(values - ours)
            away[at_border if index == "tort" else numpy.full(len(pha), at_border.any())] = 0
            if name == "pactools":
                away[exact[..., 1] > 0] = 0
            worst[name] = max(worst.get(name, 0), float(away.max()))
    for name, difference in worst.items():
        print(f"{name}: " + ("not installed" if difference is None else f"the largest difference of {len(series)} series is {difference:.2g}"))
    return 1 if any(difference is not None and difference > 1e-6 for difference in worst.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
