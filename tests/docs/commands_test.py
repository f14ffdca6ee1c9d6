#!/usr/bin/env python3
"""Runs the commands that the documents show: all lines of ```sh blocks in README.md,
lib/**/README.md, suites/README.md and kernels/README.md, page by page and in order, in an empty
folder with links to tests/ and scripts/ and with small input files.

The commands run as they are written, but made small enough for two cores (small() below): devices,
sizes, samples. A missed --require counts as success: times of such small problems are noise. In the
quick tier only the `run` commands of merkle, and those of stencil whose results are saved, are
executed, and nothing else is measured; other commands are only parsed, as below. A comment above a
block changes that:
  <!-- test: parse -->      only checks that all options and values are accepted: `run` with
                            --dump-config; other commands, or the runs that they start, by exit code
                            7 (no device) without an OpenCL platform. For commands that take long
Other programs: scripts must exist, be executable and know the options; presets and targets of cmake
and ctest must exist; installers of packages are only known by name. RUN names scripts that are run
as they are. Also checks `inline code`: commands of mgpu-bench, options, scripts; and the tables of
README.md, which committed results have.

Usage: commands_test.py BINARY [unittest arguments]."""

import json
import os
import re
import shlex
import struct
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests" / "cli"))

import binary  # noqa: E402
from binary import Case, mgpu  # noqa: E402

PAGES = ["README.md",
         *sorted(str(p.relative_to(SOURCE)) for p in (SOURCE / "lib").rglob("README.md")),
         "suites/README.md",
         "kernels/README.md"]
LANGUAGES = {"sh", "text", "cpp", "json", "python"}  # of fenced blocks; only sh has commands
SIZES = {"merkle": "2^10", "matrix": "48", "msm": "64", "fisher": "64", "kernel": "512",
         "stencil": "32", "pac": "1", "tropical": "48",
         "geometric": "512", "ntt": "1024", "pinn": "64", "pipeline": "64", "lbm": "24"}
RUN = {"scripts/recompute.py"}
INSTALLERS = {"apt-get"}
NO_OPENCL = {"OCL_ICD_VENDORS": "/nonexistent"}


class Block:
    def __init__(self, language, directive, lines):
        self.language, self.directive, self.lines = language, directive, lines

    def commands(self):
        """Returns each command as words, without its comment; a line that ends with a backslash
        continues."""
        text = re.sub(r"\\\n", " ", "\n".join(self.lines))
        return [words for words in (shlex.split(line, comments=True) for line in text.splitlines())
                if words]


def blocks(text):
    found, inside, directive = [], None, None
    for line in text.splitlines():
        if line.startswith("```"):
            if inside is None:
                inside = Block(line[3:].strip(), directive, [])
            else:
                found.append(inside)
                inside = None
            directive = None
        elif inside is not None:
            inside.lines.append(line)
        elif line.strip():
            marked = re.fullmatch(r"<!-- test: (\w+) -->", line.strip())
            directive = marked.group(1) if marked else None
    return found


def spans(text):
    """Returns the inline code of a page, outside of blocks."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]


def take(words, *names):
    """Removes an option and its value at any position; returns its last value, or None."""
    value = None
    for name in names:
        while name in words:
            at = words.index(name)
            value = words[at + 1] if at + 1 < len(words) else None
            del words[at:at + 2]
    return value


def small(words):
    """Returns the arguments of `run`, `plan` or `calibrate` as this test runs them."""
    words = list(words)
    command = words[0]
    device = take(words, "-d", "--devices")
    take(words, "--sub-devices")
    if device is not None:
        words += binary.DEVICES
    if command == "calibrate":
        words.append("--no-noise")
    if command == "check":
        take(words, "--time")
        words += ["--time", "1s"]
    if command == "links":
        if take(words, "--sizes") is not None:
            words += ["--sizes", "4KiB"]
        if take(words, "--op") is not None:
            words += ["--op", "all-reduce"]
        take(words, "--device-counts")
        words += ["--quick", "-q"]
    if command in ("run", "plan"):
        suite = words[1] if len(words) > 1 and words[
                1] in SIZES else "kernel" if "--kernel" in words else None
        size = take(words, "--size")
        if suite and "--input" not in words:
            given = (size or "1").count(",") + 1
            words += ["--size", ",".join([SIZES[suite], "2^9", "2^8"][:given])]
    if take(words, "--dim") is not None:
        words += ["--dim", "8"]
    if command == "profile":  # of any program
        words = [*words[:words.index("--") + 1], "true"]
    if command == "compare" and "--fail-on" not in words:
        words += ["--fail-on", "nothing"]  # of one sample, as below, nothing can be said
    if command == "run":
        take(words, "-n", "--samples")
        take(words, "--warmup")
        words += ["-n", "1", "--warmup", "0", "-q"]
        if "--mode" not in words:
            words += ["--mode", "resident"]
        if take(words, "--device-counts") is not None:
            words += ["--device-counts", "1,2" if binary.DEVICE_COUNT == 2 else "1"]
        if take(words, "--require-devices") is not None:
            words += ["--require-devices", str(binary.DEVICE_COUNT)]
    return words


def with_few_nodes(words, folder):
    file = take(words, "--scenario")
    if file is None:
        return words
    scenario = json.loads((folder / file).read_text(encoding="utf-8"))
    if "nodes" in scenario:
        scenario["nodes"]["count"] = min(scenario["nodes"]["count"], 64)
    (folder / "few-nodes.scenario.json").write_text(json.dumps(scenario), encoding="utf-8")
    return [*words, "--scenario", "few-nodes.scenario.json"]


def npy(file, rows, columns):
    header = str({"descr": "<f4", "fortran_order": False, "shape": (rows, columns)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    values = [((7 * k) % 13 - 6) / 8 for k in range(rows * columns)]
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                     struct.pack(f"<{len(values)}f", *values))


def furnish(folder):
    for name in ("tests", "scripts"):
        (folder / name).symlink_to(SOURCE / name)
    npy(folder / "A.npy", 48, 48)
    npy(folder / "B.npy", 48, 48)
    npy(folder / "X.npy", 64, 8)
    npy(folder / "P.npy", 1, 8)
    (folder / "recordings").mkdir()
    npy(folder / "recordings" / "1.npy", 2, 512)


def run(words, directive, folder):
    """Returns what is wrong with this use of mgpu-bench, or nothing."""
    if directive == "parse":
        if words[0] == "run":
            result = mgpu(*words, "--dump-config", cwd=folder)
            good = result.code == 0
        else:
            result = mgpu(*words, cwd=folder, env=NO_OPENCL)
            good = result.code == 7 or "run ended with 7:" in result.err
    else:
        words = small(words)
        if words[0] == "plan":
            words = with_few_nodes(words, folder)
        result = mgpu(*words, cwd=folder)
        unmet = {"run": (3,) if "--require" in words else (), "check": (4,)}
        good = result.code in (0, *unmet.get(words[0], ()))
    return "" if good else f"{shlex.join(words)}: {result}"


def check_script(words, folder):
    file = SOURCE / words[0]
    if not file.is_file() or not os.access(file, os.X_OK):
        return f"{words[0]} is not a file that can be executed"
    text = file.read_text(encoding="utf-8")
    for word in words[1:]:
        if word.startswith("-") and word.split("=")[0] not in re.findall(r"(?<![\w-])--?\w[\w-]*",
                text):
            return f"{words[0]} does not know {word}"
    if words[0].removeprefix("./") in RUN:
        done = binary.subprocess.run([str(file), *words[1:]], cwd=folder, capture_output=True,
                                     text=True)
        if done.returncode != 0:
            return f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return ""


def check_cmake(words):
    presets = json.loads((SOURCE / "CMakePresets.json").read_text(encoding="utf-8"))
    kind = "buildPresets" if "--build" in words else "configurePresets"
    if "--preset" in words:
        name = words[words.index("--preset") + 1]
        if name not in [preset["name"] for preset in presets[kind] if not preset.get("hidden")]:
            return f"{name} is not one of {kind}"
    cmake = "".join((SOURCE / f).read_text(encoding="utf-8") for f in ("CMakeLists.txt",
            "tests/CMakeLists.txt"))
    if "--target" in words:
        for target in words[words.index("--target") + 1:]:
            if not re.search(
                    rf"(add_executable|add_custom_target|mgpu_test\w*)\({re.escape(target)}[ )]",
                    cmake):
                return f"there is no target {target}"
    if "-R" in words and not re.search(
            rf"mgpu_test\w*\({words[words.index('-R') + 1]} |NAME {words[words.index('-R') + 1]} ",
            cmake):
        return f"there is no test {words[words.index('-R') + 1]}"
    return ""


def check(words, directive, folder):
    """Returns what is wrong with a command of a block, or nothing."""
    while words and re.fullmatch(r"\w+=.*", words[0]):
        words = words[1:]
    program = words[0]
    if program == "mgpu-bench":
        return run(words[1:], directive, folder)
    if program in ("cmake", "ctest"):
        return check_cmake(words)
    if program.startswith(("scripts/", "./scripts/")):
        return check_script(words, folder)
    if program.startswith("build/release/"):
        return check_cmake(["cmake", "--target", Path(program).name])
    if program in INSTALLERS:
        return ""
    if program == "mpirun":
        return check(words[words.index("mgpu-bench"):], directive, folder)
    return f"{program} is neither known nor checked; extend tests/docs/commands_test.py"


class Helps:
    """The options that each command of the program has."""
    def __init__(self):
        self.commands = re.findall(r"^  ([a-z]+) ",
                                   mgpu("--help").out.split("Commands:")[1].split("Options:")[0],
                                   re.M)
        self.options = {name: set(re.findall(r"--[a-z][\w-]*", mgpu(name, "--help-all").out)) for
                        name in self.commands}
        texts = [p.read_text(encoding="utf-8") for p in (SOURCE / "scripts").rglob("*") if p.suffix
                 in (".py", ".sh")]

        self.elsewhere = set(re.findall(r"--[a-z][\w-]*", "".join(texts))) | {"--help",
                "--help-all", "--version"}

    def check_span(self, span):
        words = span.replace("'", "").split()
        if words[0] == "mgpu-bench" and len(words) > 1 and not words[1].startswith("-") and words[
                1] != "COMMAND":
            if words[1] not in self.commands:
                return f"`{span}`: there is no command {words[1]}"
            known = self.options[words[1]] | {"--help"}
        elif words[0].startswith("scripts/"):
            return "" if (SOURCE / words[0]).exists() else f"`{span}`: there is no {words[0]}"
        elif words[0] in self.commands and len(words) > 1 and words[1].startswith("--"):
            known = self.options[words[0]]
        elif words[0].startswith("--"):
            known = set().union(*self.options.values()) | self.elsewhere
        else:
            return ""
        for word in words:
            name = re.match(r"--[a-z][\w-]*", word)
            if name and name.group() not in known:
                return f"`{span}`: there is no option {name.group()}"
        return ""


def only_parsed(words, page):
    """Returns true if the quick tier only checks the options of a command because it would take
    long."""
    if binary.THOROUGH or words[0] != "mgpu-bench":
        return False
    if words[1] == "run":
        is_kept = {"-o", "--history"} & set(words) or page == "README.md"  # there, `last` is read later
        return words[2:3] not in (["merkle"], ["stencil"]) or not is_kept
    return words[1] in ("calibrate", "check", "links") and "-o" not in words or "--interleave" in words \
        or (words[1] == "plan" and "--scenario" not in words)


class Documents(Case):
    maxDiff = None

    def check_page(self, page):
        text = (SOURCE / page).read_text(encoding="utf-8")
        furnish(self.folder)
        for block in blocks(text):
            with self.subTest(page=page, block=block.lines[:1]):
                self.assertIn(block.language, LANGUAGES,
                              "say what the block is, so that no command goes unseen")
                self.assertIn(block.directive, (None, "parse"))
            if block.language != "sh":
                continue
            for words in block.commands():
                directive = "parse" if only_parsed(words, page) else block.directive
                with self.subTest(page=page, command=shlex.join(words)):
                    self.assertEqual(check(words, directive, self.folder), "")

    def test_every_option_and_script_in_line_is_there(self):
        helps = Helps()
        for page in PAGES:
            for span in spans((SOURCE / page).read_text(encoding="utf-8")):
                with self.subTest(page=page):
                    self.assertEqual(helps.check_span(span), "")

    def test_the_tables_of_the_readme_are_those_of_their_files(self):
        text = (SOURCE / "README.md").read_text(encoding="utf-8")
        shown = [block.lines for block in blocks(text) if block.language == "text"]
        files = "h200/overview-2", "xeon/overview-two-cores", "xeon/two-cores-slow3-merkle"
        printed = [self.good("report", SOURCE / f"results/{file}.json.gz").out for file in files]
        self.assertEqual(shown, [one.rstrip("\n").split("\n") for one in printed])

    def test_wrong_commands_are_seen(self):
        furnish(self.folder)
        wrong = ["mgpu-bench run merkle -d gpu --sice 2^20", "mgpu-bench run merkle -d gpu -s eqal",
                 "mgpu-bench compare --interleave 5 --with 'merkle -s eqal' -- '' ''",
                 "mgpu-bench plan merkle --sice 2", "mgpu-bench liszt suites",
                 "mgpu-bench report missing.json", "mgpu-bench simulate tests/data/missing.json",
                 "scripts/missing.sh",
                 "scripts/result_file.py", "scripts/bench.sh --no-such",
                 "scripts/recompute.py missing.json", "cmake --preset fast",
                 "cmake --build --preset release --target no_such",
                 "ctest --test-dir build/release -R no_such", "nosuchprogram --help",
                 "build/release/tests/no-such-bench"]
        for line in wrong:
            for directive in (None, "parse"):
                if directive and ".json" in line:
                    continue  # files are not searched then
                with self.subTest(command=line, directive=directive):
                    self.assertNotEqual(check(shlex.split(line), directive, self.folder), "")
        helps = Helps()
        for span in ("mgpu-bench runn", "mgpu-bench plan --trace r.json", "--no-such-option",
                     "scripts/missing.py", "run --no-such"):
            self.assertNotEqual(helps.check_span(span), "", span)

    def test_blocks_are_found(self):
        text = ("a\n<!-- test: parse -->\n```sh\nmgpu-bench run \\\n  -q  # why\n\n"
                "# only a comment\n```\n\n```text\nx\n```\nuse `a b`\n")
        first, second = blocks(text)
        self.assertEqual((first.language, first.directive, first.commands()), ("sh",
                "parse", [["mgpu-bench", "run", "-q"]]))
        self.assertEqual((second.language, second.directive), ("text", None))
        self.assertEqual(spans(text), ["a b"])


for name in PAGES:
    setattr(Documents, "test_commands_of_" + re.sub(r"\W", "_", name), lambda self,
            page=name: self.check_page(page))

if __name__ == "__main__":
    binary.main()
