"""What result files say, in sentences: what won and what holds it back, as the tool's closing words; what went wrong and what it cost."""

import math

from result_file import duration, get, makespan, number, power, rate

WHAT_IF = {"perfect_balance": "balance; perfectly balanced it would take", "free_transfers": "transfers; if they were free it would take",
           "free_exchange": "exchanges; if they were free it would take",
           "free_launches": "launches; if they were free it would take", "free_merge": "the merge; if it were free it would take"}


def what_if_word(name):
    """What people are shown of the name of a what-if, as in the tool's tables: "balance" for perfect_balance."""
    return "?" if name == "unknown" else name.removeprefix("free_").removeprefix("perfect_")


HAPPENED = {"hang": "hung", "out_of_memory": "ran out of memory", "wrong_result": "gave a wrong result"}
PHASES = {"set_up": "at set-up", "warm_up": "in the warm-up", "probe": "while rates were probed", "sample": "in {}", "merge": "in the merge of {}",
          "publish": "when the result was brought to the host", "verify": "when results were verified",
          "clock": "when its clock was compared with the host's"}


def which_sample(fault, case):
    """By its place among all samples, those that were disturbed before it included."""
    disturbed, k = get(case.run, "disturbed_samples") if case else None, number(fault, "sample")
    if not isinstance(disturbed, list) or not isinstance(k, int) or not 0 <= k < len(disturbed) or number(disturbed[k], "samples_before") is None:
        return "a sample"
    before = [number(sample, "samples_before") or 0 for sample in disturbed]
    place = before[k] + 1 + sum(b <= before[k] for b in before[:k])
    return f"sample {place}"


def fault_words(fault, case=None):
    """What went wrong, when, and what it cost, in a sentence."""
    phase, lost, redone = str(get(fault, "phase") or "sample"), number(fault, "items_lost"), number(fault, "items_redone") or 0
    text = f"device {get(fault, 'device') or '?'} {HAPPENED.get(str(get(fault, 'kind')), 'failed')} "
    text += PHASES.get(phase, f"at: {phase}").format(which_sample(fault, case))
    if number(fault, "round") is not None:
        text += f", in round {number(fault, 'round') + 1:,}"
    if get(fault, "what"):
        text += f" ({get(fault, 'what')})"
    if number(fault, "detection_ns") is not None:
        text += f", which was found after {duration(number(fault, 'detection_ns'))}"
    if lost:
        took = number(fault, "recovery_ns")
        text += f"; {redone:,} of the {lost:,} items lost with it were computed again by the others"
        text += f", which took {duration(took)}" if took is not None and redone else ""
    again = number(fault, "begun_again", "round")
    if again is not None:
        text += f"; the sample was begun again from {f'the checkpoint after round {again:,}' if again else 'the beginning'}, "
        text += f"{duration(number(fault, 'begun_again', 'after_ns'))} later"
    if number(fault, "sample") is not None:
        text += "; this sample is not part of the figures"
    before, after = number(fault, "efficiency_before"), number(fault, "efficiency_after")
    if before is not None and after is not None:
        text += f". Efficiency was {100 * before:.1f} % before and is {100 * after:.1f} % with the devices that were left"
    return text + "."


def all_faults(document, groups):
    """(problem and strategy, sentence) of each; those of no case first."""
    for fault in get(document, "faults") or []:
        yield "", fault_words(fault)
    for group in groups:
        for case in group.cases:
            for fault in case.faults:
                yield f"{group.title}, {case.label}", fault_words(fault, case)


def held_back(case, whom):
    """`whom`: "it", or its name where several share the first place."""
    name = get(case.run, "bottleneck", "name")
    time, whole = number(case.run, "bottleneck", "what_if_ns", str(name)), makespan(case)
    if not get(case.run, "timeline", "commands"):
        return ""
    if name == "unknown":
        return f" What holds {whom} back is not known, as time stamps of its commands cannot be right."
    if name not in WHAT_IF or time is None or not whole:
        known = all(number(case.run, "bottleneck", "what_if_ns", free) is not None for free in ("free_transfers", "free_launches", "free_merge"))
        none = "no what-if would save 1 %" if known else "no what-if that is known would save 1 %"
        efficiency, all_work = case.metric("efficiency"), all((get(d, "items") or 0) > 0 for d in get(case.run, "per_device") or [])
        if case.n > 1 and all_work and efficiency is not None and efficiency < 0.95:
            return f" What holds {whom} back is that each device is slower at its share than alone at everything: {none}."
        return f" Nothing but the work itself holds {whom} back: {none}."
    saved = case.median * (1 - time / whole)
    hidden = not case.exact and case.interval and saved < (case.interval[1] - case.interval[0]) / 2
    return (f" What holds {whom} back most: {WHAT_IF[name]} {duration(case.median * time / whole)} "
            f"({100 * (1 - time / whole):.0f} % less{', which is within its noise' if hidden else ''}).")


def names(group, cases):
    """"equal, dynamic, guided and 2 more"; with their numbers of devices where the group has several."""
    several = len(group.counts()) > 1
    told = [f"{c.told} ({c.on} dev)" if several else c.told for c in cases]
    if len(told) > 4:
        return f"{', '.join(told[:3])} and {len(told) - 3} more"
    return " and ".join([", ".join(told[:-1]), told[-1]]) if len(told) > 1 else told[0]


def alone_interval(case):
    """That of the device that is fastest alone, by its least and largest sample where there are few; None where the file has none."""
    device = min((d for d in case.per_device if number(d, "alone_ns")), key=lambda d: number(d, "alone_ns"), default=None)
    times = sorted(t for t in get(device, "alone_samples_ns") or [] if isinstance(t, (int, float)))
    if not times:
        return None
    # Order statistics: the largest k with P(B <= k) <= 2.5 %, B ~ binomial(n, 1/2).
    n, k, below = len(times), 0, 0.0
    for at in range(n // 2 + 1):
        below += math.comb(n, at) / 2**n
        if below > 0.025:
            break
        k = at
    return times[k], times[n - 1 - k]


def against_single(first, best):
    """How the best case stands to the device that is fastest alone."""
    only, alone, speedup = best.only_worker(), best.alone(), best.metric("speedup")
    lone = next((c.only_worker() or c.devices[0] for c in first if c.only_worker() or c.n == 1), None)
    if best.n < 2:
        return ""
    if lone and len(first) > 1:
        return f": no split is known to beat device {lone} alone"
    if only:
        return f": no split over {best.on} devices beats device {only} alone"
    if not alone or not speedup:
        return ""
    if best.impossible:
        return f", and cannot be compared with device {alone[0]} alone ({duration(alone[1])}), as its speed-up cannot be"
    interval = None if best.exact else alone_interval(best)
    if interval and best.interval and interval[0] <= best.interval[1] and best.interval[0] <= interval[1]:
        return f", not told apart from device {alone[0]} alone ({duration(alone[1])})"
    if speedup <= 1:
        return f", no faster than device {alone[0]} alone ({duration(alone[1])})"
    most, least = f"{speedup:.2f}", f"{speedup * best.median / first[-1].median:.2f}"
    return f", {most if least == most else f'{least} to {most}'} times as fast as the best device alone ({alone[0]}, {duration(alone[1])})"


def against_equal(group, first, best, gained):
    equal = next((c for c in group.ok(best.n) if c.strategy == "equal" and c.devices == best.devices), None)
    if not equal or best.strategy == "equal" or best.n < 2 or best.only_worker() or equal in first or not equal.can_be_ranked:
        return ""
    gain = (equal.median / best.median - 1) * 100
    return f"{' and' if gained else ','} {'up to ' if len(first) > 1 else ''}{gain:.{0 if gain >= 10 else 1}f} % faster than equal shares"


def who_is_first(group, first, doubted):
    best = first[0]
    if len(first) > 1:
        to = "" if duration(first[-1].median) == duration(best.median) else f" to {duration(first[-1].median)}"
        how = "equally fast" if best.exact else \
            f"fastest {'of the rows that can be ranked ' if doubted else ''}and not told apart by their noise"
        return f"{names(group, first)} are {how}, with {duration(best.median)}{to}"
    on = f"device {best.only_worker()}" if best.only_worker() and best.n > 1 else f"{best.on} device{'' if best.asked == 1 else 's'}"
    verb = "takes" if len(group.ok()) == 1 else "is fastest of the rows that can be ranked, with" if doubted else "is fastest with"
    return f"{best.told} on {on} {verb} {duration(best.median)}"


def words(group):
    """What won, by how much, what holds it back, and which cases gave no numbers, which the tool's tables show."""
    wrong = [c for c in group.cases if not c.ok]
    if group.best() is None or not wrong:
        return conclusion(group)
    named = "; ".join(f"{c.label} {c.status}, {c.reason}" for c in wrong[:3])
    return f"{conclusion(group)} {len(wrong)} of {len(group.cases)} cases gave no numbers: {named}."


def conclusion(group):
    """What won, by how much, and what holds it back: the closing words of the tool's tables (lib/report/closing_words.cpp), word by word."""
    if group.best() is None:
        case = group.cases[0]
        return f"No run was ok; the first is {case.status}: {case.reason}."
    first, doubted = group.first()
    ok = group.ok()
    if not first:
        unknown = [c for c in ok if not c.can_be_ranked]
        why = "fewer than 3 samples of each" if all(len(c.samples) < 3 for c in unknown) else \
            f"the speed-ups of {len(unknown)} of {len(ok)} cannot be" if all(c.impossible for c in unknown) else \
            f"the times of {len(unknown)} of {len(ok)} vary too much"
        return f"No row can be ranked: {why}." + moved_borders(group)
    best = first[0]
    unknown = 0 if len(ok) == 1 else sum(not c.can_be_ranked for c in ok)
    single = against_single(first, best)
    text = f"{who_is_first(group, first, doubted)}{single}{against_equal(group, first, best, not single or ' times as fast' in single)}."
    text += f" {unknown} row{'' if unknown == 1 else 's'} cannot be ranked." if unknown else ""
    text += held_back(best, best.told if len(first) > 1 else "it") + (rounds_words(best) if len(first) == 1 else "")
    return text + moved_borders(group)


def percentages(shares):
    return " / ".join(f"{100 * share / (sum(shares) or 1):.0f}" for share in shares) + " %"


def moved_borders(group):
    """Where work goes in rounds, cases whose borders moved between these: how often, and from what to what."""
    text = ""
    for case in group.cases:
        moved = get(case.run, "borders") or []
        if not moved:
            continue
        first, moves = moved[0]["first"], moved[0]["moves"]
        text += f" {case.label} moved borders in {len(moved)} of {len(case.samples)} samples, the first time after round {moves[0]['round']:,}"
        text += f": from {percentages(first)} to {percentages(moves[-1]['shares'])}" if len(first) <= 4 else ""
        text += "."
    return text


def rounds_words(case):
    """Where work goes in rounds and several devices shared them: how evenly, and what of the exchange is hidden."""
    mean, worst, number_of_worst = case.metric("round_imbalance_percent"), case.metric("worst_round_imbalance_percent"), number(case.run, "worst_round")
    if mean is None or worst is None or number_of_worst is None:
        return ""
    text = f" Its rounds are {mean:.1f} % out of balance"
    text += f", round {number_of_worst + 1:,} most, by {worst:.1f} %" if worst - mean >= 0.1 else ""
    waiting, hidden = case.metric("waiting_share"), case.metric("exchange_overlap")
    text += f"; devices wait for each other for {100 * waiting:.1f} % of the time" if waiting is not None else ""
    text += f", and {100 * hidden:.1f} % of the exchange is hidden" if hidden is not None else ""
    return text + "."


def sweep_words(sweep):
    """Of one strategy at many sizes: its rate, and from which size on it is faster than the device that is fastest alone."""
    sizes = sorted(sweep.by_size)
    line = [(size, sweep.by_size[size].ok()[0]) for size in sizes]
    (least, first), (most, last) = line[0], line[-1]

    def reached(case):
        return rate(number(case.run, "rate", "value") or 0, str(get(case.run, "rate", "unit") or ""))

    devices = f"{last.on} device{'' if last.asked == 1 else 's'}"
    text = f"{last.told} on {devices} reaches {reached(first)} at {power(least)} {sweep.axis} and {reached(last)} at {power(most)}."
    if last.n < 2:
        return text + held_back(last, "the largest size")
    pays = []
    for size, case in reversed(line):
        alone = alone_interval(case)
        if not alone or not case.interval or case.interval[1] >= alone[0]:
            break
        pays.append(size)
    where = f"at no size up to {power(most)} {sweep.axis}" if not pays else \
        f"at every size, from {power(least)} {sweep.axis} on" if len(pays) == len(line) else f"from {power(pays[-1])} {sweep.axis} on"
    return f"{text} {devices.capitalize()} pay {where}." + held_back(last, "the largest size")
