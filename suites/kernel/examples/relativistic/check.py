"""Energy is conserved; without electric forces, every momentum keeps its length. Up to 512 particles are also pushed here, in double
precision, by forces that are computed as gradients and by rotations about the field's axis."""

import array
import math
import sys

MOST = 512


def floats(name, width):
    values = array.array("f")
    with open(name, "rb") as file:
        values.frombytes(file.read())
    return [tuple(values[i:i + width]) for i in range(0, len(values), width)]


before, after, momenta, pushed = (floats(name, 4) for name in sys.argv[1:5])
energies = floats(sys.argv[5], 2)
steps = int(sys.argv[6])
step, field, strength, softening = (float(text) for text in sys.argv[7:11])
n = len(before)

first, last = (math.fsum(energy) for energy in zip(*energies, strict=True))
if abs(last - first) > step**2 * abs(first):  # the error of a step of this size is 18 times smaller
    sys.exit(f"the energy was {first} in the first step and is {last} in the last one")
if strength == 0:
    for i, (u, v) in enumerate(zip(momenta, pushed, strict=True)):
        if not math.isclose(math.hypot(*u[:3]), math.hypot(*v[:3]), rel_tol=1e-5):
            sys.exit(f"particle {i}: the momentum {u[:3]} became {v[:3]}, which has another length")
if n > MOST:
    sys.exit(0)

charges = [x[3] for x in before]
places, moving = [x[:3] for x in before], [u[:3] for u in momenta]
for _ in range(steps):
    for i, (u, charge) in enumerate(zip(moving, charges, strict=True)):
        force = [0.0, 0.0, 0.0]
        for other, theirs in zip(places, charges, strict=True):
            apart = [a - b for a, b in zip(places[i], other)]
            distance = math.sqrt(sum(d * d for d in apart) + softening)
            for d in range(3):
                force[d] += strength / n * charge * theirs * apart[d] / distance**3
        x, y, z = (a + step / 2 * f for a, f in zip(u, force))
        # Boris's rotation, of which the tangent of half the angle is exact.
        angle = 2 * math.atan(step / 2 * charge * field / math.sqrt(1 + x * x + y * y + z * z))
        x, y = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
        moving[i] = tuple(a + step / 2 * f for a, f in zip((x, y, z), force))
    places = [tuple(a + step * b / math.sqrt(1 + math.fsum(c * c for c in u)) for a, b in zip(x, u))
              for x, u in zip(places, moving, strict=True)]
for what, made, expected in (("place", after, places), ("momentum", pushed, moving)):
    for i, (a, b) in enumerate(zip(made, expected, strict=True)):
        if math.dist(a[:3], b) > 1e-4:
            sys.exit(f"the {what} of particle {i} is {a[:3]}, it should be {b}")
