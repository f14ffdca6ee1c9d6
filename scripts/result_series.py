"""Common data of pictures and pages: the look of each series, gaps in a device's work, rates against sizes, rooflines.

`plot.py` and `report_html.py` share it, so that a strategy has one colour and one mark everywhere. Needs nothing but Python."""

from dataclasses import dataclass, field

from result_file import SIZES, get, handicap, is_default, makespan, number, percent, plain, plural, power, problem, rate, rows

# Okabe and Ito's colours ("Color Universal Design", 2008), which are distinguishable with any colour blindness. The other strategies have the
# colours that are farthest from these, with and without colour blindness, and visible on white and on black.
BLUE, ORANGE, GREEN, RED, SKY, PINK, BLACK = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#000000")
COLOURS = (BLUE, RED, GREEN, PINK, ORANGE, SKY, BLACK)
# Marks by their names in matplotlib and in Plotly: those of strategies in the order of STRATEGIES, then those of variants and of other names.
MARKS = (("o", "circle"), ("s", "square"), ("^", "triangle-up"), ("D", "diamond"), ("v", "triangle-down"), ("P", "cross"), ("X", "x"),
         ("p", "pentagon"), ("*", "star"), ("<", "triangle-left"), ("h", "hexagon"), (">", "triangle-right"),
         ("d", "diamond-tall"), ((6, 1, 0), "hexagram"), ((4, 1, 0), "star-diamond"), ((3, 1, 0), "star-triangle-up"),
         ((3, 1, 180), "star-triangle-down"), ((4, 1, 45), "star-square"), ((3, 0, 45), "triangle-nw"), ((3, 0, 315), "triangle-ne"),
         ("H", "hexagon2"), ("8", "octagon"))
DASHES = (("-", "solid"), ("--", "dash"), ("-.", "dashdot"), (":", "dot"), ((0, (5, 1)), "longdash"), ((0, (3, 1, 1, 1, 1, 1)), "longdashdot"))
STRATEGIES = {"single": BLACK, "equal": RED, "proportional": ORANGE, "dynamic": GREEN, "adaptive": SKY, "capability": BLUE, "guided": PINK,
              "latency": "#447777", "memory": "#DD0044", "sequential": "#CC9955", "stealing": "#7788FF", "auto": "#5544FF"}


# What a device does at a moment, in the order of legends: kinds of commands with their colours, and states without a command.
KINDS = {"compute": BLUE, "upload": ORANGE, "download": PINK, "exchange": RED}
WAITS = {"launch": "queued, not running", "sync": "idle at barrier / merge", "idle": "no work assigned", "waking": "thread not yet running",
         "rest": "unaccounted"}


@dataclass(frozen=True)
class Look:
    colour: str
    mark: int  # index in MARKS
    dash: int  # index in DASHES


def looks(labels):
    """Returns {label: Look} of [(label, strategy)]. A strategy looks the same in every picture of every file; its second and further labels keep
    its colour and get marks of their own."""
    known, found, spare = list(STRATEGIES), {}, len(STRATEGIES)
    taken = set()
    for label, strategy in labels:
        if label in found:
            continue
        place = known.index(strategy) if strategy in STRATEGIES else None
        if place is not None and strategy not in taken:
            mark = place
        else:
            mark, spare = spare, spare + 1 if spare + 1 < len(MARKS) else len(STRATEGIES)
        taken.add(strategy)
        colour = STRATEGIES.get(strategy, COLOURS[mark % len(COLOURS)])
        found[label] = Look(colour, mark, mark % len(DASHES))
    return found


def looks_of(groups):
    return looks([(case.label, case.strategy) for group in groups for case in group.cases])


def gaps(case):
    """Returns [(device, state, begin, length)] of the times without commands: "sync", it waited for others or the merge; "idle", it had no slice;
    "waking", its thread did not run yet; "launch", commands were in flight but none ran; "rest", unknown. The last two cannot be found if the
    case's commands were not saved."""
    whole = makespan(case)
    ran = {}
    for command in rows(case, "commands"):
        ran.setdefault(command["device"], []).append((command["started_ns"], command["ended_ns"]))
    for stretches in ran.values():
        stretches.sort()
    found = []
    for span in rows(case, "spans"):
        begin, end = span["begin_ns"], span["end_ns"]
        if span["state"] != "in_flight":
            found.append((span["device"], span["state"], begin, end - begin))
            continue
        if not ran:
            continue
        for started, ended in ran.get(span["device"], ()):
            if started >= end:
                break
            if started > begin:
                found.append((span["device"], "launch", begin, started - begin))
            begin = max(begin, ended)
        if end > begin:
            found.append((span["device"], "launch", begin, end - begin))
    for device, stretches in ran.items():
        known = sorted([*stretches, *((begin, begin + length) for d, _, begin, length in found if d == device), (whole, whole)])
        at = 0
        for begin, end in known:
            if begin > at:
                found.append((device, "rest", at, min(begin, whole) - at))
            at = max(at, end)
    return [gap for gap in found if gap[-1] > 0]


@dataclass
class Sweep:
    """One problem at several sizes."""
    title: str
    slug: str
    axis: str  # what the size counts
    by_size: dict = field(default_factory=dict)  # size: group

    def lines(self):
        """Returns [(name, [(size, case)])]: the fastest case of each number of devices, or each strategy if there is one number of devices."""
        sizes = sorted(self.by_size)
        counts = sorted({case.n for group in self.by_size.values() for case in group.ok()})
        if len(counts) > 1:
            def fastest(size, n):
                return min(self.by_size[size].ok(n), key=lambda case: case.median, default=None)
            found = [(plural(n, "device"), [(size, fastest(size, n)) for size in sizes]) for n in counts]
        else:
            labels = dict.fromkeys(case.label for size in sizes for case in self.by_size[size].ok())
            found = [(label, [(size, next((c for c in self.by_size[size].ok() if c.label == label), None)) for size in sizes]) for label in labels]
        rated = [(name, [(size, case) for size, case in points if case and number(case.run, "rate", "value")]) for name, points in found]
        return [(name, line) for name, line in rated if line]

    @property
    def by_count(self):
        return len({case.n for group in self.by_size.values() for case in group.ok()}) > 1


def sweeps(groups):
    found = {}
    for group in groups:
        size = next((key for key in SIZES if number(group.params, key)), None)
        if size is None or not group.ok():
            continue
        rest = {k: "same" if k in SIZES[size] and v == group.params[size] else v for k, v in group.params.items() if k != size}
        key = (group.suite, group.mode, repr(sorted(rest.items(), key=str)))
        varying = {k for k in rest if rest[k] != "same" and not is_default(k, rest[k], group.defaults)
                   and k != "seed"}
        words = problem({k: v for k, v in rest.items() if v != "same"}, varying, group.defaults)
        title = f"{group.suite} {words}, {group.mode.replace('_', ' ')}".replace(" ,", ",")
        sweep = found.setdefault(key, Sweep(title, "-".join("".join(c if c.isalnum() else " " for c in title).split()), plain(size)))
        sweep.by_size[group.params[size]] = group
    return [sweep for sweep in found.values() if len(sweep.by_size) > 1]


@dataclass
class Point:
    """The fastest case of a problem on a number of devices."""
    title: str
    case: object
    intensity: float  # operations of the problem / bytes that it reads and writes once
    rate: float       # operations / s
    roof: float  # the ceiling on the rate by the measured limit
    limit: str        # fp32, fp64, int32, memory, host link

    @property
    def words(self):
        return f"{percent(self.rate / self.roof)} of {self.limit}" + ("; the ceiling is wrong" if self.rate > self.roof else "")


FAR = 1000  # times less or more intensity than any problem has: a picture that reached so far would be empty
LIMITS = ("fp32", "fp64", "int32", "memory", "host link")


@dataclass
class Roofline:
    """The problems whose operations are counted in the same unit (Williams, Waterman and Patterson, CACM 52(4), 2009)."""
    unit: str  # "FLOP/s"
    points: list = field(default_factory=list)

    def ceilings(self):
        """Returns the [Ceiling] of the file: memory bandwidth and computing rates, both added over the devices; and the common ceiling of all
        problems on a number of devices, if there is one."""
        found = {}
        for point in self.points:
            n = point.case.n
            memory = added(point.case, "memory_bytes_per_s")
            if memory:
                found.setdefault(("memory", n), Ceiling("memory", n, memory, True))
            if self.unit == "FLOP/s" and point.limit != "int32":
                precision = point.limit if point.limit in ("fp32", "fp64") else plain(get(point.case.run, "params", "precision"))
                flops = added(point.case, f"{precision}_flops")
                if flops:
                    found.setdefault((precision, n), Ceiling(precision, n, flops, False))
        for limit, n in sorted({(p.limit, p.case.n) for p in self.points} - found.keys()):
            if limit not in LIMITS:
                continue
            per_byte = limit in ("memory", "host link")
            roofs = [p.roof / (p.intensity if per_byte else 1) for p in self.points if (p.limit, p.case.n) == (limit, n)]
            if max(roofs) <= 1.05 * min(roofs):
                found[(limit, n)] = Ceiling(limit, n, sum(roofs) / len(roofs), per_byte)
        return [found[key] for key in sorted(found)]

    def frame(self):
        """Returns (left, right, bottom, top) of a picture in which every point, its ceiling and a part of every line of lines() lie."""
        ceilings = self.ceilings()
        flat, slopes = [c for c in ceilings if not c.per_byte], [c for c in ceilings if c.per_byte]
        xs = [p.intensity for p in self.points]
        ridges = [f.rate / m.rate for f in flat for m in slopes if (m.limit, m.n) == ("memory", f.n)]
        xs += [ridge for ridge in ridges if min(xs) / FAR < ridge < FAR * max(xs)]
        rates = [rate for p in self.points for rate in (p.rate, p.roof)]
        tops = [*rates, *(f.rate for f in flat), *(m.rate * min(xs) for m in slopes if m.n not in {f.n for f in flat})]
        return 0.3 * min(xs), 3.3 * max(xs), 0.4 * min(rates), 2 * max(tops)

    def lines(self):
        """Returns [(ceiling, [x, x], [rate, rate])]: slopes end at the ceiling of computing of as many devices, which begins there."""
        ceilings, found = self.ceilings(), []
        left, right, _, top = self.frame()
        for c in ceilings:
            if c.per_byte:
                most = max((f.rate for f in ceilings if not f.per_byte and f.n == c.n), default=top)
                xs = [left, min(right, max(most / c.rate, left))]
            else:
                memory = next((m.rate for m in ceilings if (m.limit, m.n) == ("memory", c.n)), None)
                xs = [max(left, c.rate / memory) if memory else left, right]
            if xs[0] < xs[1]:
                found.append((c, xs, [x * c.rate if c.per_byte else c.rate for x in xs]))
        return found

    def off_the_lines(self):
        """Returns the points whose ceiling lies on no line: it moves its bytes more than once, or no rate of the devices says it."""
        lines = self.lines()

        def met(point):
            return any((c.limit, c.n) == (point.limit, point.case.n) and abs(c.rate * (point.intensity if c.per_byte else 1) / point.roof - 1) < 0.05
                       for c, _, _ in lines)
        return [point for point in self.points if not met(point)]


@dataclass(frozen=True)
class Ceiling:
    limit: str
    n: int          # devices
    rate: float  # bytes/s if per byte, else operations/s
    per_byte: bool  # a slope: this rate times the intensity

    def words(self, unit):
        return f"{self.limit}, {plural(self.n, 'device')}: {rate(self.rate, 'B/s' if self.per_byte else unit)}"


def added(case, name):
    """Returns the sum over its devices; None unless all are known."""
    figures = [number(case.device_records.get(device), "capability", name) for device in case.devices]
    return sum(figures) if figures and all(figures) else None


def rooflines(groups):
    found = {}
    for group in groups:
        for n in group.counts():
            for case in sorted((c for c in group.ok(n) if c.metric("roofline_fraction")), key=lambda c: c.median)[:1]:
                ops, value = number(case.run, "work", "ops"), number(case.run, "rate", "value")
                moved = (number(case.run, "work", "bytes_in") or 0) + (number(case.run, "work", "bytes_out") or 0)
                if not ops or not value or not moved:
                    continue
                unit, limit = plain(get(case.run, "rate", "unit") or ""), plain(get(case.run, "work", "roof") or "its ceiling")
                found.setdefault(unit, Roofline(unit)).points.append(
                    Point(group.title, case, ops / moved, value, value / case.metric("roofline_fraction"), limit))
    return list(found.values())


def slowed_words(document_devices):
    """Returns ["0:1, 3 times"] of the devices that were throttled on purpose."""
    found = []
    for device in document_devices:
        done = handicap(device)
        if not done:
            continue
        told = [f"{power(v)} times slower" if k == "slow" else f"{plain(k)} {power(v)}" for k, v in done.items()]
        found.append(f"{plain(get(device, 'id'))}, {', '.join(told)}")
    return found
