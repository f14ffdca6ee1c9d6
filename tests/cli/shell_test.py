#!/usr/bin/env python3
"""The manual page and the completions: they have every command, option and word, and shells
understand them; and scripts describe a result like the program. Usage: shell_test.py BINARY
[unittest arguments]."""

import json
import os
import re
import shutil
import subprocess
import sys

import binary
from binary import Case, environment, mgpu

SOURCE = binary.HERE.parent.parent
sys.path.insert(0, str(SOURCE / "scripts"))
import result_file  # noqa: E402


def options_of(help_text):
    """Returns the long and short options that begin a line of --help-all."""
    found = set()
    for line in help_text.splitlines():
        match = re.match(r"  (-\w, )?(--[\w-]+)", line)
        if match:
            found.update(name.rstrip(", ") for name in match.groups() if name)
    return found


class Manual(Case):
    def setUp(self):
        super().setUp()
        self.page = self.good("manual").out
        self.plain = re.sub(r"\\f[BIR]", "", self.page).replace("\\-", "-")

    def commands(self):
        listed = self.good("--help").out.split("Commands:")[1].split("Options:")[0]
        return re.findall(r"^  ([a-z]+) ", listed, re.M)

    def test_every_option_of_every_help_is_in_the_section_of_its_command(self):
        sections = re.split(r"^\.SS ", self.section("COMMANDS"), flags=re.M)[1:]
        by_name = {section.split('"')[1]: section for section in sections}
        self.assertEqual(sorted(by_name), sorted(self.commands()))
        for command in ("run", "plan", "calibrate"):
            self.assertIn(".BR SUITES", by_name[command])
            by_name[command] += self.section("SUITES")
        self.assertIn("run", by_name)
        for command, section in by_name.items():
            options = options_of(self.good(command, "--help-all").out)
            self.assertIn("--help", options)
            for option in options:
                self.assertRegex(section, rf"(?m)^(-\w, )?{option}( |$)|^{option}, --",
                                 f"{command} {option}")

    def test_every_suite_has_a_section_with_its_options(self):
        sections = re.split(r"^\.SS ", self.section("SUITES"), flags=re.M)[1:]
        by_name = {section.split('"')[1]: section for section in sections}
        suites = json.loads(self.good("list", "suites", "--json").out)["suites"]
        self.assertEqual(list(by_name), [suite["name"] for suite in suites])
        for suite in suites:
            for option in suite["options"]:
                self.assertRegex(by_name[suite["name"]], rf"(?m)^(-\w, )?--{option['name']}( |$)")

    def test_other_names_of_options_are_in_no_text_for_people(self):
        texts = [self.page.replace("\\-", "-"), self.good("--help-all").out]
        texts += [self.good("completion", shell).out for shell in ("bash", "zsh", "fish")]
        for text in texts:
            self.assertIn("memory-pool", text)
            for name in ("device-filter", "load-balancing-strategy", "sync-timeout-ms",
                         "memory-pool-size-mb"):
                self.assertNotIn(name, text)

    def test_every_exit_code_is_there(self):
        status = self.plain.split(".SH EXIT STATUS")[1].split(".SH")[0]
        codes = re.findall(r"^  \w+ = (\d+),", (SOURCE / "app" / "exit_codes.hpp").read_text(),
                           re.M)
        self.assertGreaterEqual(len(codes), 11)
        for code in codes:
            self.assertRegex(status, rf'(?m)^\.BR? .*\b{code}\b')

    def test_every_twin_of_an_option_of_run_is_in_its_environment(self):
        variables = self.plain.split(".SH ENVIRONMENT")[1].split(".SH")[0]
        for option in options_of(self.good("run", "--help-all").out) - {"--help", "--help-all"}:
            if option.startswith("--"):
                self.assertIn("MGPU_BENCH_" + option[2:].upper().replace("-", "_"), variables)

    def section(self, name):
        return self.plain.split(f"\n.SH {name}\n")[1].split("\n.SH")[0]

    def test_it_explains_every_strategy_and_its_parameters_and_every_metric(self):
        def text(words):
            return words.replace("\\(aq", "'").replace("\\(ha", "^").replace("\\(ti", "~")
        strategies, metrics = text(self.section("STRATEGIES")), text(self.section("METRICS"))
        listed = json.loads(self.good("list", "strategies", "--json").out)["strategies"]
        self.assertIn("auto", [strategy["name"] for strategy in listed])
        for strategy in listed:
            self.assertIn(f".TP\n{strategy['name']}\n{strategy['summary']}.", strategies)
            for param in strategy["params"]:
                form = f"{strategy['name']}:{param['name']}="
                self.assertRegex(strategies, rf"(?m)^{form}.*{re.escape(param['help'])}")
        for metric in json.loads(self.good("list", "metrics", "--json").out)["metrics"]:
            self.assertIn(
                    f".TP\n{metric['name']}\n{metric['definition']}. Unit {metric['unit']}; ",
                    metrics)

    def test_it_explains_every_column_of_a_table(self):
        table = self.good("report", SOURCE / "tests/golden/report.json", env={"COLUMNS": "250"}).out
        heads = next(line for line in table.splitlines() if line.split()[:1]
                     == ["strategy"]).split()
        self.assertGreater(len(heads), 10)
        for head in heads:
            self.assertRegex(self.section("TABLES"), rf"(?m)^\.BR? (.* )?{head}\b")

    def test_the_titles_of_pictures_know_what_the_size_counts(self):
        for suite in json.loads(self.good("list", "suites", "--json").out)["suites"]:
            self.assertIn(suite["size_counts"], result_file.SIZES)

    def test_no_line_is_a_request_that_roff_does_not_know(self):
        requests = set(re.findall(r"^[.'](\S*)", self.page, re.M))
        self.assertLessEqual(requests,
                             {'\\"', "TH", "SH", "SS", "TP", "PP", "B", "BR", "I", "RI", "RB",
                              "IR", "br", "nf", "fi"})


class Sentences(Case):
    def test_what_would_save_most_has_the_same_word_in_tables_and_on_the_page(self):
        document, file = json.loads((
                SOURCE / "tests/golden/report.json").read_text()), self.folder / "r.json"
        for name in json.loads(self.good("schema",
                                         "result").out)["definitions"]["run"]["properties"][
                "bottleneck"]["properties"]["name"]["enum"]:
            document["runs"][0]["bottleneck"]["name"] = name
            file.write_text(json.dumps(document))
            row = next(line for line in self.good("report", file, "--columns",
                    "held-back-by").out.splitlines() if " single " in line)
            self.assertEqual(row.split()[-1], result_file.what_if_word(name))


    def test_a_figure_slightly_above_the_ideal_has_the_same_note_below_tables_and_on_the_page(self):
        document = json.loads((SOURCE / "tests/golden/report.json").read_text())
        run = document["runs"][0]
        run["metrics"]["efficiency"] = 1.01
        file = self.folder / "r.json"
        file.write_text(json.dumps(document))
        warned = result_file.Case(run, "r").warnings
        self.assertEqual(len(warned), 1)
        note = warned[0].removeprefix("speed-up and efficiency are ")
        self.assertIn(f"! {note} (single)", self.good("report", file).out)

    def test_the_same_rows_lead_in_tables_and_on_the_page(self):
        for name in ("tests/golden/report.json", "results/xeon/merkle-two-cores.json.gz",
                     "results/xeon/slow3-k-2-merkle.json.gz", "results/h200/merkle-2-slow3.json.gz"):
            document = result_file.read(SOURCE / name)
            for run in document["runs"]:  # one case varies so much that it shares the lead
                if run["strategy"] == "equal":
                    run["time_ns"]["ci95"] = [1, 3 * run["time_ns"]["median"]]
            file = self.folder / "r.json"
            file.write_text(json.dumps(document))
            table = self.good("report", file, "--columns", "time").out
            marked = re.findall(r"(?m)^ ?[*=]!? +(\S+)", table)
            leading = [case.name for group in result_file.groups([(name, document)])
                       if len(group.ok()) > 1 for case in group.leaders()]
            self.assertEqual(sorted(leading), sorted(marked), table)


class Completions(Case):
    def setUp(self):
        super().setUp()
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "mgpu-bench").symlink_to(binary.BINARY)
        self.env = environment({"PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(self.folder),
                                "OCL_ICD_VENDORS": "/nonexistent"})

    def script(self, shell):
        file = self.folder / f"mgpu-bench.{shell}"
        file.write_text(self.good("completion", shell).out)
        return file

    def bash(self, *lines):
        """Returns what bash would offer after each of these lines."""
        script = self.script("bash")
        program = (f"source {script}; compopt() {{ :; }}\n"
                   'for COMP_LINE; do COMP_POINT=${#COMP_LINE}; _mgpu_bench; echo '
                   '"${COMPREPLY[*]}"; done')
        done = subprocess.run(["bash", "-c", program, "bash", *lines], env=self.env,
                              cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return [line.split() for line in done.stdout.splitlines()]

    def zsh_words(self, line, option):
        """Returns the words that zsh is told to offer as values of an option after this line."""
        program = (f"words=(mgpu-bench {line}); _arguments() {{ if [[ $1 == -C ]]; then "
                   "state=argument words=($words[2,-1]); else print -rl -- $@; fi; }; "
                   f"source {self.script('zsh')}")
        done = subprocess.run(["zsh", "-f", "-c", program], env=self.env, capture_output=True,
                              text=True)
        self.assertEqual(done.stderr, "")
        words = re.findall(rf"(?m)^\*--{option}=\[.*(?:_words|\.toml\") (.*)$", done.stdout)
        self.assertLessEqual(len(words), 1)
        return "".join(words)

    def test_bash_offers_what_help_has(self):
        commands = self.bash("mgpu-bench ")[0]
        self.assertLess({"run", "compare", "completion"}, set(commands))
        commands = [c for c in commands if not c.startswith("-")]
        for command, offered in zip(commands,
                                    self.bash(*[f"mgpu-bench {command} -" for command
                                                in commands])):
            self.assertEqual(set(offered),
                             options_of(self.good(command, "--help-all").out) | {"-h"}, command)

    def test_bash_offers_what_the_tables_of_the_binary_have(self):
        for name in ("result.json", "result.csv", "saxpy.toml", "saxpy.cl"):
            (self.folder / name).write_text("{}")
        expected = {
            "mgpu-bench run me": ["merkle"],
            "mgpu-bench run --quick merkle,ma": ["merkle,matrix"],
            "mgpu-bench run -s equal,dyn": ["equal,dynamic"],
            "mgpu-bench run --strategy=prop": ["proportional"],
            "mgpu-bench run --export cs": ["csv="],
            "mgpu-bench run --export csv=result.c": ["result.csv"],
            "mgpu-bench run --slow g": ["gpu="],
            "mgpu-bench run --size ": ["auto", "sweep"],
            "mgpu-bench report res": ["result.json"],
            "mgpu-bench report la": ["last"],
            "mgpu-bench merge res": ["result.json"],
            "mgpu-bench compare result.json ": ["last", "result.json", "bin"],
            "mgpu-bench simulate --from l": ["last"],
            "mgpu-bench run --resume=l": ["last"],
            "mgpu-bench init sa": ["saxpy.cl"],
            "mgpu-bench list suites mer": ["merkle"],
            "mgpu-bench help run mer": ["merge", "merkle"],
            "mgpu-bench run --tre": ["--tree", "--trees"],
            "mgpu-bench run merkle --tr": ["--trace", "--tree", "--trees"],
            "mgpu-bench run matrix --tr": ["--trace"],
            "mgpu-bench plan msm,merkle --tr": ["--trust-input", "--tree", "--trees"],
            "mgpu-bench run --kernel pipeline kernel --sta": [],
            "mgpu-bench run kernel --kernel sa": ["saxpy", "saxpy.toml"],
            "mgpu-bench run matrix --kernel ": ["auto", "portable", "vector", "tensor"],
            "mgpu-bench run merkle --mode s": [],
            "mgpu-bench run msm --mode s": ["scalars"],
            "mgpu-bench run --output": [],
            "mgpu-bench schema res": ["result"],
            "mgpu-bench plan --curve bn": ["bn254"],
            "mgpu-bench -": ["--help", "--help-all", "--version"],
        }
        self.assertEqual(dict(zip(expected, self.bash(*expected))), expected)

    def test_bash_offers_the_devices_there_are(self):
        self.env = environment({"PATH": self.env["PATH"]})
        self.assertLessEqual({"all", "gpu", "cpu", "0", "0:0"},
                             set(self.bash("mgpu-bench run -d ")[0]))
        self.assertEqual(self.bash("mgpu-bench run -d 0:")[0][0],
                         "0")  # after the colon, at which bash begins a word

    def test_words_are_those_that_the_options_accept(self):
        for command, option in (("run", "mode"), ("run", "verify"), ("run", "color"), ("compare",
                "fail-on"), ("compare", "round-value"),
                                ("compare", "metrics")):
            arguments = [command,
                         f"--{option}=bogus"] + (["a.json", "b.json"] if command == "compare"
                                                 else [])
            refused = mgpu(*arguments)
            self.assertEqual(refused.code, 2, refused)
            accepted = set(re.split(r",\s*", refused.err.split("expected: ")[1].strip()))
            self.assertEqual(set(self.bash(f"mgpu-bench {command} --{option} ")[0]), accepted,
                             option)

    def test_zsh_and_fish_understand_theirs(self):
        for shell in ("zsh", "fish"):
            text = self.script(shell).read_text()
            self.assertNotRegex(text, r"@[A-Z]+@")
            for option in options_of(self.good("run", "--help-all").out):
                if option.startswith("--"):
                    self.assertRegex(text,
                                     rf"--{option[2:]}\b" if shell == "zsh" else
                                     rf"is run[^']*'.* -l {option[2:]} ")
            if shutil.which(shell):
                done = subprocess.run([shell, "-n", self.script(shell)], env=self.env,
                                      capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
        if shutil.which("zsh"):
            expected = {"run matrix": "auto portable vector tensor",
                        "plan matrix,tropical": "auto portable vector tensor auto",
                        "run matrix kernel": "saxpy graph histogram life mandelbrot moments nbody "
                                             "pipeline relativistic blur select auto portable vector tensor",
                        "run merkle": ""}
            self.assertEqual({line: self.zsh_words(line, "kernel") for line in expected}, expected)
            self.assertIn("scalars", self.zsh_words("run", "mode").split())
        if shutil.which("fish"):
            ask = (f"source {self.script('fish')}; complete -C 'mgpu-bench run me'; "
                   "complete -C 'mgpu-bench run --mode res'; "
                   "complete -C 'mgpu-bench run matrix --tr'; complete -C 'mgpu-bench report la'")
            done = subprocess.run(["fish", "-c", ask], env=self.env, cwd=self.folder,
                                  capture_output=True, text=True)
            self.assertEqual([line.split("\t")[0] for line in done.stdout.splitlines()],
                             ["merkle", "resident", "--trace", "last"], done.stderr)


if __name__ == "__main__":
    binary.main()
