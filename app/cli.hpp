// The command line: argv -> invocation. Nothing is run or printed here; commands interpret the
// values.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

#include "app/exit_codes.hpp"
#include "app/settings.hpp"

namespace mgpu {

struct Invocation {
  std::string command;  // "devices", "list", ...; empty: print `text` and exit with `code`
  std::string text;     // help or version
  ExitCode code = ExitCode::ok;
  Settings settings;                   // merged from all layers
  std::vector<std::string> arguments;  // the words that are not options
  std::size_t after_mark = 0;          // how many follow the "--" of compare; 0: there is none
  std::vector<std::string> warnings;
};

// Parses the command line; help and --version end with a text, and so does an empty command line,
// with the exit code of a mistake. Throws Error(usage) for a mistake,
// Error(input) for an unreadable --config. CLI11's own exit codes (103 to 109) never get out.
Invocation parse_command_line(std::span<const std::string> argv, std::span<const SuiteInfo> suites,
                              const Environment& environment, const std::string& version_text);

// Description of the command line, from which the manual page and the completions are made, so that
// they never lag behind.
struct OptionText {
  std::string letter, name;        // without dashes; letter may be empty
  std::string value;               // name of its value: "FILE"; empty for a switch
  std::string help, group;         // help in one line
  std::vector<std::string> words;  // values to complete it with; empty: none are known
  // Needed by most people: the help of a command with many options lists these first.
  bool important = false;
};
// A word that is no option: "SUITE". One that is not required may be repeated.
struct ArgumentText {
  std::string name, help;
  bool required = false;
};
struct CommandText {
  std::string name, help, footer;
  std::vector<ArgumentText> arguments;
  std::vector<OptionText> options;  // those that do not depend on a suite
  bool has_suites = false;          // takes the options of suites, too
};
struct SuiteText {
  std::string name, help, size_name;
  // Replace the options of the same name of a command that takes them.
  std::vector<OptionText> options;
};
struct CommandLineText {
  std::string help, footer;
  std::vector<CommandText> commands;
  std::vector<SuiteText> suites;
};
CommandLineText describe_command_line(std::span<const SuiteInfo> suites);

// Returns "there is no command "merkel"; expected: ...; did you mean ...?", or of a suite that it
// is one.
std::string no_command(const std::string& name, const CLI::App& app,
                       std::span<const SuiteInfo> suites);

// Throws Error(usage) with the message of CLI11, reworded where that is clearer, and the help to
// read.
[[noreturn]] void refuse(const CLI::ParseError& error, const CLI::App& app);

// Throws Error(usage) if the first word is no command, even if --help follows: "mgpu-bench merkel
// --help" is a mistake.
void refuse_unknown_command(const CLI::App& app, std::span<const std::string> words,
                            std::span<const SuiteInfo> suites);

// Throws Error(usage) for "-size 4", which would be read as "--strategy ize" and a suite "4".
void refuse_long_names_behind_one_dash(const CLI::App& app, std::span<const std::string> words);

// Texts that follow the options of a command in help: examples, and what its output means.
inline constexpr const char* kFooter =
    "First steps:\n"
    "  mgpu-bench devices               list the devices\n"
    "  mgpu-bench run merkle --quick    measure one suite\n"
    "  mgpu-bench help run merkle       the options of run, and those of the suite\n"
    "\n"
    "Every option of run is also an environment variable (--time-limit: MGPU_BENCH_TIME_LIMIT) and "
    "a key of the --config file (time-limit = \"10m\"). A flag wins over the environment, and that "
    "over the file.\n"
    "\n"
    "Exit codes: 0 ok, 1 internal error or output not writable, 2 usage (also no command at all), "
    "bad input, not comparable or too few samples, 3 a regression, a missing case, a worsening in "
    "a "
    "history or a requirement not met, 4 inconclusive, 5 a case failed, 6 a result was wrong, 7 no "
    "device, 77 fewer devices "
    "than "
    "required, 130 and 143 interrupted.\n";

inline constexpr const char* kRunFooter =
    "Examples:\n"
    "  mgpu-bench run                                         every suite and strategy on the "
    "default devices\n"
    "  mgpu-bench run merkle -d gpu -s equal,dynamic -o r.json --trace r.trace.json\n"
    "  mgpu-bench run merkle -d cpu --sub-devices 2 --size 2^16,2^18 --mode resident -n 20\n"
    "  mgpu-bench run -d gpu --device-counts 1,2,4,8 --require-devices 8 --strict --time-limit "
    "10m\n"
    "  mgpu-bench run --quick --json | jq '.runs[].metrics.speedup'\n";

inline constexpr const char* kLinksFooter =
    "Matrices: rows are sources, columns destinations; bidirectional is the sum of both "
    "directions. "
    "GB/s are 10^9 bytes per second.\n"
    "Collectives, as nccl-tests defines them: algbw = size / time, with the mean time of up to 20 "
    "calls enqueued together; busbw = algbw x 2(n-1)/n for all-reduce on n devices, x (n-1)/n for "
    "all-gather, reduce-scatter and all-to-all, x 1 for the others. Every element of every result "
    "is checked; a wrong result has no rate, and gives exit code 6.\n"
    "\n"
    "Examples:\n"
    "  mgpu-bench links                                       matrices, latencies, all-reduce\n"
    "  mgpu-bench links -d cpu --sub-devices 2 --quick        without a GPU\n"
    "  mgpu-bench links --op all-reduce,all-gather --sizes 4KiB:1GiB --device-counts 2,4 -o "
    "links.json\n"
    "  mgpu-bench links --peer staged --json | jq '.runs[] | [.strategy, .mode, .rate.value]'\n";

inline constexpr const char* kCheckFooter =
    "A device is slow if its rate is below that of its siblings by more than --floor, in the whole "
    "interval, and again when it was measured again. Results of works must have the same bits on "
    "all devices of a model.\n"
    "Exit codes: 0 all is well; 3 a device or link is slow, limited by its settings, or missing; 4 "
    "it cannot be told, for example as other programs ran; 5 a device hung or failed; 6 a result "
    "or a word of memory was wrong; 7 no device. Of several the first of 6, 5, 3, 4.\n"
    "\n"
    "Examples:\n"
    "  mgpu-bench check                                       in a minute\n"
    "  mgpu-bench check --baseline node.json --save node.json  makes that file, later adds to it\n"
    "  mgpu-bench check -d gpu --time 15s --works merkle      shorter\n"
    "  mgpu-bench check --merge node*.json --save all.json    nodes of a cluster\n"
    "  mgpu-bench check --json | jq -r '.findings[].text'\n";

inline constexpr const char* kSimulateFooter =
    "Examples:\n"
    "  mgpu-bench simulate node.json                          every strategy, both modes\n"
    "  mgpu-bench simulate cluster.json -s equal,dynamic --mode end-to-end --device-counts "
    "64,256,1024\n"
    "  mgpu-bench simulate --from r.json -s all --trace s.trace.json\n"
    "  mgpu-bench simulate cluster.json -s dynamic,capability --nodes 2..1024\n"
    "  mgpu-bench schema scenario                             the format of FILE\n";

inline constexpr const char* kCompareFooter =
    "Examples:\n"
    "  mgpu-bench compare last~1 last                         the last two results\n"
    "  mgpu-bench compare base.json new.json                  exit code 3 when something became "
    "slower, 4 when it may have\n"
    "  mgpu-bench compare base-1.json base-2.json base-3.json -- new.json    what runs differ by "
    "counts\n"
    "  mgpu-bench compare base.json new.json --confirm 2 --markdown \"$GITHUB_STEP_SUMMARY\"\n"
    "  mgpu-bench compare ./old/mgpu-bench ./new/mgpu-bench --interleave 12 --with 'merkle -d cpu "
    "-s equal -n 5'\n"
    "  mgpu-bench compare --interleave 12 --with 'merkle -d cpu --sub-devices 2 --mode resident' "
    "-- '' '--slow 0=1.1'\n";

inline constexpr const char* kGateFooter =
    "Examples:\n"
    "  mgpu-bench gate a.json b.json c.json --with 'merkle -s equal'    makes them the first time\n"
    "  mgpu-bench gate a.json b.json c.json --export junit=gate.xml     measures what they "
    "measured\n"
    "  mgpu-bench gate own.json --with '--kernel saxpy.toml -d gpu'     your own kernel\n"
    "  mgpu-bench gate --interleave old/mgpu-bench new/mgpu-bench --with 'merkle -s equal'\n"
    "  mgpu-bench gate --history perf --with 'merkle -s equal'\n";

inline constexpr const char* kHistoryFooter =
    "Examples:\n"
    "  mgpu-bench run merkle -d gpu -s equal --history perf      measure, and append the result\n"
    "  mgpu-bench history add perf r.json last\n"
    "  mgpu-bench history list perf\n"
    "  mgpu-bench history exclude perf 1b4f0e9 --reason 'other jobs ran, says Ada'\n"
    "  mgpu-bench history ack perf 1b4f0e9 --reason 'slower, but exact, says Ada'\n";

inline constexpr const char* kProfileFooter =
    "The report is printed on standard error, after the program has ended; its standard streams "
    "and signals are its own. The exit code is the program's, 128 + N if signal N killed it; 125 "
    "if profile fails itself, 126 if the program cannot be executed, 127 if it is not found.\n"
    "\n"
    "Examples:\n"
    "  mgpu-bench profile -- ./program --its-option\n"
    "  mgpu-bench profile -o p.json --trace p.trace.json -- python3 script.py\n"
    "  mpirun -n 4 mgpu-bench profile -o p.json -- ./program     one report of all ranks\n"
    "  mgpu-bench report p.json                                  the report again\n"
    "  mgpu-bench compare p.json q.json                          two profiles\n";

inline constexpr const char* kTrendFooter =
    "Examples:\n"
    "  mgpu-bench trend perf                                     exit code 3 for a worsening that "
    "is not acknowledged\n"
    "  mgpu-bench trend perf --metric efficiency --since 2026-11\n"
    "  mgpu-bench trend perf --json | jq '.groups[]'\n";

}  // namespace mgpu
