"""References of the kernels in this folder, by NumPy: reference.py NAME FILE.. [NUMBER..]"""

import sys

import numpy as np

NUMBERS = [float(word) for word in sys.argv[2:] if word.replace(".", "", 1).isdigit()]
FILES = [word for word in sys.argv[2:] if not word.replace(".", "", 1).isdigit()]


def read(at, kind=np.float32):
    return np.fromfile(FILES[at], kind)


def square(at, kind=np.float32):
    values = read(at, kind)
    n = round(values.size ** 0.5)
    return values.reshape(n, n)


def near(name, made, expected, tolerance=1e-4):
    wrong = ~np.isclose(made, expected, rtol=tolerance, atol=tolerance)
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        sys.exit(f"{name}{list(map(int, at))} is {made[at]}; NumPy has {expected[at]}")


def stencil2d():
    now, made = square(0).astype(float), square(1)
    for _ in range(int(NUMBERS[0])):
        next_ = now.copy()
        next_[1:-1, 1:-1] = 0.2 * (now[1:-1, 1:-1] + now[:-2, 1:-1] + now[2:, 1:-1] +
                                   now[1:-1, :-2] + now[1:-1, 2:])
        now = next_
    near("field", made, now)


def stencil3d():
    rounds, nx, ny = map(int, NUMBERS)
    now, made = (read(at).reshape(-1, ny, nx) for at in (0, 1))
    now = now.astype(float)
    for _ in range(rounds):
        next_, inner = now.copy(), slice(1, -1)
        next_[1:-1, 1:-1, 1:-1] = 0.125 * (
            now[:-2, inner, inner] + now[2:, inner, inner] + now[inner, :-2, inner] +
            now[inner, 2:, inner] + now[inner, inner, :-2] + now[inner, inner, 2:]
        ) - 0.25 * now[inner, inner, inner]
        now = next_
    near("field", made, now)


def fdtd2d():
    source, ey, hz = read(0), square(2).astype(float), square(3).astype(float)
    n = len(hz)
    ex = read(1).astype(float).reshape(n, n + 1)
    for value in source:
        ey[0] = value
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:n] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:] - ey[:-1])
    for name, at, field in (("ex", 4, ex), ("ey", 5, ey), ("hz", 6, hz)):
        near(name, read(at).reshape(field.shape), field)


def gaussian():
    m, a, b, upper, right = square(0), square(1), read(2), square(3), read(4)
    lower = np.eye(len(a)) + np.tril(m.astype(float), -1)
    solution = np.linalg.solve(a.astype(float), b)
    near("m a", lower @ np.triu(upper.astype(float)), a, 1e-2)
    near("residual", np.triu(upper.astype(float)) @ solution, right, 1e-1)


globals()[sys.argv[1]]()
