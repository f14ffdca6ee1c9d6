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


def bfs():
    rows, neighbours, made = (read(at, np.int32) for at in range(3))
    level = np.full(made.size, -1)
    level[int(NUMBERS[0])] = 0
    for turn in range(level.size):
        found = np.logical_or.reduceat(level[neighbours] == turn, rows[:-1]) & (level < 0)
        if not found.any():
            break
        level[found] = turn + 1
    near("level", made, level, 0)


def vecadd():
    near("c", read(2), read(0) + read(1), 0)


def reduce():
    each = int(NUMBERS[0])
    near("sums", read(1, np.int32), read(0, np.int32).reshape(-1, each).sum(axis=1), 0)


def histogram():
    near("bins", read(1, np.uint32), np.bincount(read(0, np.uint8), minlength=256), 0)


def spmv():
    values, vector, made = (read(at).astype(float) for at in (0, 1, 4))
    columns, rows = read(2, np.int32), read(3, np.int32)
    near("out", made, np.add.reduceat(values * vector[columns], rows[:-1]))


def lu():
    a, made = square(0).astype(float), square(1).astype(float)
    near("l u", np.tril(made) @ (np.eye(len(a)) + np.triu(made, 1)), a, 1e-2)


def hotspot():
    power, now, made = (square(at).astype(float) for at in range(3))
    for _ in range(int(NUMBERS[0])):
        wide = np.pad(now, 1, mode="edge")
        now = now + np.float32(0.1) * (
            power + wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:] -
            4 * now + 0.1 * (80 - now))
    near("field", made, now)


def nbody():
    body = np.dtype([("place", np.float32, 4), ("velocity", np.float32, 3), ("id", np.uint32)])
    bodies, made = read(0, body), read(1, body)
    place, mass = bodies["place"][:, :3].astype(float), bodies["place"][:, 3].astype(float)
    velocity = bodies["velocity"].astype(float)
    for step in range(int(NUMBERS[0])):
        dt = 0.01 / (step + 1)
        apart = place[None] - place[:, None]
        r2 = (apart ** 2).sum(axis=2) + 0.05
        velocity = velocity + dt * ((mass / r2 ** 1.5)[:, :, None] * apart).sum(axis=1)
        place = place + dt * velocity
    near("place", made["place"][:, :3], place, 1e-3)
    near("velocity", made["velocity"], velocity, 1e-3)
    near("mass", made["place"][:, 3], mass, 0)
    near("id", made["id"], bodies["id"], 0)


def kmeans():
    k, features = map(int, NUMBERS)
    points, centres = (read(at).reshape(-1, features) for at in (0, 1))
    nearest = None
    for _ in range(20):
        before = nearest
        nearest = ((points[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
        members, sums = np.bincount(nearest, minlength=k), np.zeros((k, features), int)
        np.add.at(sums, nearest, np.rint(points * 2 ** 20).astype(int))
        some = members > 0
        centres = centres.copy()
        centres[some] = sums[some].astype(np.float32) / members[some, None].astype(np.float32) / 2 ** 20
        if np.array_equal(nearest, before):
            break
    near("nearest", read(3, np.int32), nearest, 0)
    near("sums", read(4, np.int64).reshape(k, features), sums, 0)
    near("members", read(5, np.uint32), members, 0)
    near("centres", read(2).reshape(k, features), centres, 1e-6)


def convolution():
    radius = int(NUMBERS[0])
    made, size = square(1), 2 * radius + 1
    n, filter_ = len(made), read(2).reshape(size, size).astype(float)
    wide = np.pad(read(0).astype(float).reshape(n, n + 2 * radius), ((radius, radius), (0, 0)))
    near("out", made, sum(filter_[y, x] * wide[y:y + n, x:x + n]
                          for y in range(size) for x in range(size)))


def scan():
    near("sums", read(1, np.uint32), np.cumsum(read(0, np.uint32), dtype=np.uint32), 0)


def nw():
    a, b, made, gap = read(0, np.uint8), read(1, np.uint8), square(2, np.int32), int(NUMBERS[0])
    score = np.zeros(made.shape, int)
    score[0], score[:, 0] = -gap * np.arange(b.size), -gap * np.arange(a.size)
    for i in range(1, a.size):
        for j in range(1, b.size):
            same = score[i - 1, j - 1] + (3 if a[i] == b[j] else -2)
            score[i, j] = max(same, score[i - 1, j] - gap, score[i, j - 1] - gap)
    near("score", made, score, 0)


def rotate():
    width, cosine, sine = int(NUMBERS[0]), *np.float32(NUMBERS[1:])
    picture, made = read(0, np.uint8).reshape(-1, width, 4), read(1).reshape(-1, width, 4)
    half, height = np.float32(0.5), len(picture)
    y, x = np.indices((height, width)).astype(np.float32)
    dx, dy = x + half - half * width, y + half - half * np.float32(height)
    from_x = np.floor(cosine * dx + sine * dy + half * width)
    from_y = np.floor(cosine * dy - sine * dx + half * np.float32(height))
    expected = picture[np.clip(from_y, 0, height - 1).astype(int),
                       np.clip(from_x, 0, width - 1).astype(int)] / 255
    # Pixels at a boundary between two may be either.
    wrong = (np.abs(made - expected) > 1e-5).any(axis=2)
    if wrong.mean() > 0.02:
        sys.exit(f"{wrong.sum()} of {wrong.size} pixels are wrong")


globals()[sys.argv[1]]()
