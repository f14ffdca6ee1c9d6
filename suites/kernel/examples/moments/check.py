"""Count, mean and sum of squared deviations, in double precision, of 16 of the columns."""

import array
import math
import sys

rows, sums = array.array("f"), array.array("f")
for values, name in ((rows, sys.argv[1]), (sums, sys.argv[2])):
    with open(name, "rb") as file:
        values.frombytes(file.read())
columns = int(sys.argv[3])
for column in range(0, columns, max(columns // 16, 1)):
    values = rows[column::columns]
    mean = math.fsum(values) / len(values)
    expected = [len(values), mean, math.fsum((x - mean) ** 2 for x in values)]
    made = list(sums[4 * column:4 * column + 3])
    if not all(abs(a - b) <= 1e-4 * abs(b) for a, b in zip(made, expected, strict=True)):
        sys.exit(f"column {column} has {made}, it should have {expected}")
