"""So many generations of the Game of Life on a torus, by sets of cells. Small fields only: 256 rows take a few seconds."""

import collections
import sys

first, last, width, generations = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with open(first, "rb") as file:
    field = file.read()
height = len(field) // width
if height > 256:
    sys.exit(0)
alive = {divmod(i, width) for i, cell in enumerate(field) if cell}
for _ in range(generations):
    neighbours = collections.Counter(((y + dy) % height, (x + dx) % width) for y, x in alive for dy in (-1, 0, 1) for dx in (-1, 0, 1)
                                     if (dy, dx) != (0, 0))
    alive = {cell for cell, count in neighbours.items() if count == 3 or (count == 2 and cell in alive)}
expected = bytes(divmod(i, width) in alive for i in range(width * height))
with open(last, "rb") as file:
    made = file.read()
for i, (a, b) in enumerate(zip(made, expected, strict=True)):
    if a != b:
        sys.exit(f"row {i // width}, column {i % width} is {a} after {generations} generations, it should be {b}")
