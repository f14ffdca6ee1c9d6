#!/usr/bin/env python3
"""Changes one thing at a time in the code that decides what becomes of a sample, and looks whether the unit tests notice.

usage: mutate.py [--jobs N] [--build FOLDER] [--seconds S] [--report FILE] [--after FILE] [--list] [SOURCE...]

A mutant is a source with one operator, one constant or one statement changed. It is compiled, linked with the unit tests in place of
the original, and tested: it is caught if a test fails, or does not end in three times its usual time. Survivors are printed, unless
tests/mutation/argued.txt says why the difference does not matter. Exit code 1 if one survives without an argument, or an argument
belongs to no mutant. --seconds: begins no mutant after that time. The order is shuffled, always in the same way, so that the mutants
reached in the time are from all sources. --after: leaves out mutants that an earlier report calls caught. All mutants take about 20
minutes of 16 cores.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ARGUED = Path(__file__).resolve().parent / "argued.txt"
SOURCES = ["lib/exec/executor.cpp", "lib/exec/worker.cpp",
           "lib/exec/sample_run.cpp", "lib/plan/ledger.cpp",
           "lib/session/verification.cpp", "lib/session/integrity.cpp", "lib/base/stats.cpp",
           "lib/base/significance.cpp"]
# Stages of tests: first those that are quick and near, then all.
SLOW = "slow"  # a test suite of doctest
os.environ["MGPU_THOROUGH"] = "1"  # tests then use every shape: a mutant may show in only one

SWAPS = [(r" == ", " != "), (r" != ", " == "), (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" && ", " || "),
         (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" \+= ", " -= "), (r" -= ", " += "),
         (r"\+\+", "--"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"\bstd::max\b", "std::min"), (r"\bstd::min\b", "std::max"),
         (r"\bany_of\b", "all_of"), (r"\ball_of\b", "any_of"), (r"\bnone_of\b", "any_of"), (r"\bif \(", "if (!("), (r"\b0\b", "1"), (r"\b1\b", "0")]
STATEMENT = re.compile(r"^\s+(?!return|throw|using|case|const|auto|static|break|continue|else|for|if|while|struct)[\w.\->:()\[\]*+&~]+(\(.*\)|( [-+|&]?= .*)|\+\+)?;$")


@dataclass(frozen=True)
class Mutant:
    source: str
    line: int  # from 1
    before: str
    after: str
    nth: int = 1  # position among those that look alike

    @property
    def key(self):
        return f"{self.source}: {self.before.strip()} => {self.after.strip()}" + (f" ({self.nth})" if self.nth > 1 else "")


def code_of(line):
    """Returns the part of a line before a comment."""
    return line.split("  //")[0].rstrip()


def mutants_of(source):
    found = []
    for number, line in enumerate((ROOT / source).read_text().splitlines(), 1):
        code = code_of(line)
        if not code.strip() or code.lstrip().startswith(("//", "#", "template", "namespace", "using")):
            continue
        quoted = [m.span() for m in re.finditer(r'"(?:[^"\\]|\\.)*"', code)]
        for pattern, new in SWAPS:
            for match in re.finditer(pattern, code):
                if any(a <= match.start() < b for a, b in quoted):
                    continue
                after = code[:match.start()] + new + code[match.end():]
                if new == "if (!(":  # closed at the end of the condition; declarations in conditions are left alone
                    end = closing(code, match.end() - 1)
                    if end is None or ";" in code[match.end():end] or re.match(r"(const )?(auto|\w+\*?) \w+ = ", code[match.end():end]):
                        continue
                    after = code[:match.start()] + new + code[match.end():end] + ")" + code[end:]
                found.append(Mutant(source, number, code, after))
        if STATEMENT.match(code) and code.count("(") == code.count(")") and code.count("{") == code.count("}"):
            found.append(Mutant(source, number, code, re.match(r"\s*", code).group() + ";"))
    alike = collections.Counter()
    for at, mutant in enumerate(found):
        alike[mutant.key] += 1
        found[at] = dataclasses.replace(mutant, nth=alike[mutant.key])
    return found


def closing(code, opening):
    depth = 0
    for at in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return None


class Bench:
    def __init__(self, build):
        self.build = build
        linker = ["-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold"] if shutil.which("mold") else []
        subprocess.run(["cmake", *linker, "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O1",
                        "-DMGPU_TESTS=ON", "-DMGPU_BENCHMARKS=OFF", "-DMGPU_WERROR=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_UNITY_BUILD=OFF"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", build, "--target", "unit_tests"], check=True, stdout=subprocess.DEVNULL)
        self.compile = {str(Path(c["file"]).relative_to(ROOT)): c for c in json.loads((build / "compile_commands.json").read_text())
                        if Path(c["file"]).is_relative_to(ROOT)}
        commands = subprocess.run(["ninja", "-C", build, "-t", "commands", "unit_tests"], check=True, capture_output=True, text=True)
        link = [c for c in commands.stdout.splitlines() if " -o tests/unit_tests" in c][-1]
        self.link = next(part for part in link.split("&&") if " -o tests/unit_tests" in part).strip()
        self.times = []
        for stage in self.stages("lib/exec/executor.cpp"):
            begin = time.monotonic()
            subprocess.run([build / "tests/unit_tests", *stage], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.times.append(time.monotonic() - begin)

    def stages(self, source):
        near = f"*unit/{Path(source).parent.name}/*"
        return [["--abort-after=1", f"--source-file={near}", f"--test-suite-exclude={SLOW}"],
                ["--abort-after=1", f"--source-file-exclude={near}", f"--test-suite-exclude={SLOW}"],
                ["--abort-after=1", f"--test-suite={SLOW}"]]

    def attempt(self, mutant):
        """Returns "caught", "does not compile" or "SURVIVES"."""
        with tempfile.TemporaryDirectory() as folder:
            text = (ROOT / mutant.source).read_text().splitlines()
            text[mutant.line - 1] = mutant.after
            changed, made, program = Path(folder) / "mutant.cpp", Path(folder) / "mutant.o", Path(folder) / "unit_tests"
            changed.write_text("\n".join(text) + "\n")
            command = shlex.split(self.compile[mutant.source]["command"])
            command[command.index("-o") + 1] = str(made)
            command[command.index("-c") + 1] = str(changed)
            if subprocess.run(command, cwd=self.build, capture_output=True, check=False).returncode != 0:
                return "does not compile"
            # The object precedes the libraries: the mutant's definitions are then not taken from there.
            link = shlex.split(self.link.replace(" -o tests/unit_tests", f" {made} -o {program}"))
            subprocess.run(link, cwd=self.build, capture_output=True, check=True)
            for number, stage in enumerate(self.stages(mutant.source)):
                try:
                    done = subprocess.run([program, *stage], timeout=10 + 3 * self.times[number], cwd=folder, stdout=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL, check=False)
                except subprocess.TimeoutExpired:
                    return "caught"
                if done.returncode != 0:
                    return "caught"
        return "SURVIVES"


def arguments_of(file):
    """Returns the mutants argued to be equivalent, with the reason: the key on one line, the reason on the next, indented."""
    argued, key = {}, None
    for line in file.read_text().splitlines() if file.exists() else []:
        if line.startswith("  "):
            argued[key] += line.strip() + " "
        elif line and not line.startswith("#"):
            key = line
            argued[key] = ""
    return argued


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="*", default=SOURCES)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--build", type=Path, default=ROOT / "build/mutants")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--report", type=Path, help="a file for one line per mutant")
    parser.add_argument("--after", type=Path, help="an earlier report: leaves out what was caught then")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    mutants = sorted((m for source in options.sources for m in mutants_of(source)), key=lambda m: m.key)
    argued = arguments_of(ARGUED)
    keys = {m.key for m in mutants}
    stale = [key for key in argued if key not in keys and key.split(":")[0] in options.sources]
    for key in stale:
        print(f"argued, and no longer there: {key}")
    if options.after:
        caught = {line.split("\t", 2)[2] for line in options.after.read_text().splitlines() if not line.startswith("SURVIVES")}
        mutants = [m for m in mutants if m.key not in caught]
    if options.list:
        print(*(m.key for m in mutants), sep="\n")
        return 0
    random.Random(1).shuffle(mutants)
    begin = time.monotonic()
    bench = Bench(options.build.resolve())
    counts = {"caught": 0, "does not compile": 0, "SURVIVES": 0, "argued": 0}
    late = 0

    def attempt(mutant):
        return bench.attempt(mutant) if time.monotonic() - begin < options.seconds else None

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for mutant, verdict in zip(mutants, pool.map(attempt, mutants)):
            if verdict is None:
                late += 1
                continue
            if verdict == "SURVIVES" and mutant.key in argued:
                verdict = "argued"
            counts[verdict] += 1
            if verdict == "SURVIVES":
                print(f"{mutant.source}:{mutant.line}: {mutant.before.strip()} => {mutant.after.strip()}", flush=True)
            if options.report:
                with open(options.report, "a", encoding="utf-8") as file:
                    file.write(f"{verdict}\t{mutant.line}\t{mutant.key}\n")
    print(", ".join(f"{n} {what}" for what, n in counts.items()) + (f", {late} not reached in time" if late else ""))
    return 1 if counts["SURVIVES"] or stale else 0


if __name__ == "__main__":
    sys.exit(main())
