"""z = 2.5 x + y, to the rounding of one fused or two separate operations."""

import array
import sys

x, y, z = (array.array("f") for _ in range(3))
for values, name in zip((x, y, z), sys.argv[1:]):
    with open(name, "rb") as file:
        values.frombytes(file.read())
for i, (a, b, c) in enumerate(zip(x, y, z)):
    if not abs(2.5 * a + b - c) <= 3e-7 * (abs(2.5 * a) + abs(b)):  # NaN is wrong, too
        sys.exit(f"element {i} is {c}, 2.5 * {a} + {b} is {2.5 * a + b}")
