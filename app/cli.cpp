// The CLI11 tree. CLI11 only sees the text of the command line: it would let a config file win over
// the environment, ignore unknown keys and convert numbers by its own rules, so app/settings.hpp
// puts the layers together, and numbers are read by lib/base/quantity.hpp.
#include "app/cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <memory>

#include "app/help_text.hpp"
#include "app/run_request.hpp"
#include "app/settings.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {

namespace {

constexpr const char* kOrLast =
    "; last is the newest saved result, last~1 the one before; - is standard input";
constexpr const char* kScenario = "Scenario";

// Holds the CLI11 commands and options, and the variables that CLI11 binds them to, for one parse.
// If `only` is the name of a command, the others have no options, which take most of the time of a
// parse.
class Tree {
 public:
  explicit Tree(std::span<const SuiteInfo> suites, std::string_view only = "")
      : suites_(suites),
        only_(only),
        run_specs_(run_options(suites)),
        device_specs_(device_options()),
        calibrate_specs_(calibrate_options(suites)),
        links_specs_(links_options()),
        check_specs_(check_options()),
        plan_specs_(plan_options(suites)),
        simulate_specs_(simulate_options()),
        report_specs_(report_options()),
        compare_specs_(compare_options()),
        gate_specs_(gate_options()),
        merge_specs_(merge_options()) {
    app_.require_subcommand(1);
    app_.set_help_flag("-h,--help", "Print this help");
    app_.set_help_all_flag("--help-all", "Print help with every option");
    app_.add_flag("--version", version_, "Print the version of the tool and of its result file");
    app_.footer(kFooter);
    add_devices();
    add_run();
    add_report();
    add_compare();
    add_gate();
    add_merge();
    add_history();
    add_trend();
    add_calibrate();
    add_links();
    add_check();
    add_plan();
    add_simulate();
    add_trace();
    add_profile();
    add_list();
    add_schema();
    add_init();
    add_completion();
    add_manual();
    add_help();
  }

  CLI::App& app() { return app_; }
  std::span<const SuiteInfo> suites() const { return suites_; }
  bool version() const { return version_; }
  // Returns null for CLI11's own options and for positional arguments.
  const OptionSpec* spec_of(const CLI::Option* option) const {
    const auto found = spec_of_.find(option);
    return found == spec_of_.end() ? nullptr : &found->second;
  }
  std::span<const OptionSpec> specs(const std::string& command) const {
    if (command == "run") return run_specs_;
    if (command == "devices") return device_specs_;
    if (command == "plan") return plan_specs_;
    if (command == "simulate") return simulate_specs_;
    if (command == "calibrate") return calibrate_specs_;
    if (command == "links") return links_specs_;
    if (command == "check") return check_specs_;
    return {};
  }

 private:
  CLI::App* command(const char* name, const char* help, const char* footer) {
    return app_.add_subcommand(name, help)->footer(footer)->group("Commands");
  }

  void add(CLI::App* sub, const OptionSpec& spec) {
    if (!only_.empty() && sub->get_name() != only_) return;
    const std::string names =
        spec.letter != 0 ? fmt::format("-{},--{}", spec.letter, spec.name) : "--" + spec.name;
    std::vector<std::string>& values = values_.emplace_back();
    CLI::Option* option = nullptr;
    if (spec.kind == OptionSpec::Kind::flag) {
      // A flag may be given twice; if the two differ, the last one counts.
      option = sub->add_flag(names, flags_.emplace_back(), spec.help)
                   ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    } else {
      option = sub->add_option(names, values, spec.help)
                   ->option_text(spec.value_name)
                   ->allow_extra_args(false);
      if (spec.kind == OptionSpec::Kind::value) option->expected(1);
    }
    if (!spec.group.empty() || spec.is_hidden()) option->group(spec.is_hidden() ? "" : spec.group);
    spec_of_[option] = spec;
  }

  // Adds a required word, or any number of words that may be left out.
  void add_arguments(CLI::App* sub, const char* name, const std::string& help, bool required) {
    CLI::Option* option = sub->add_option(name, values_.emplace_back(), help)->option_text(" ");
    if (required) option->required()->expected(1)->allow_extra_args(false);
  }

  void add_devices() {
    CLI::App* sub = command("devices", "List the OpenCL devices, best first",
                            "Examples:\n  mgpu-bench devices\n  mgpu-bench devices -d gpu --json | "
                            "jq -r '.devices[].uuid'\n");
    for (const OptionSpec& spec : device_specs_) add(sub, spec);
    add(sub, {"json", 0, OptionSpec::Kind::flag, "",
              "Print everything known about them, as JSON (mgpu-bench schema devices)", ""});
    add(sub, {"status", 0, OptionSpec::Kind::flag, "",
              "Print what they are used for now: memory, by others and by this process, "
              "utilisation, temperature; with --json as JSON (mgpu-bench schema status)",
              ""});
    add(sub, {"watch", 0, OptionSpec::Kind::value, "TIME",
              "Print their status again and again at this interval, such as 1s, until Ctrl-C; with "
              "--json a document per line",
              ""});
    add(sub, color_option());
  }

  void add_calibrate() {
    CLI::App* sub =
        command("calibrate", "Measure the speed of each device and of all together, and cache it",
                "Examples:\n  mgpu-bench calibrate -d gpu\n  mgpu-bench calibrate merkle -d gpu\n  "
                "mgpu-bench "
                "calibrate -d cpu --sub-devices 2 --recalibrate\n"
                "  mgpu-bench calibrate matrix -d gpu --tune\n"
                "  mgpu-bench calibrate --kernel saxpy.toml\n"
                "  mgpu-bench calibrate --json | jq '.devices[].capability.fp32_flops'\n");
    add_arguments(sub, "SUITE", "Suites whose rates are measured (default: all)", false);
    for (const OptionSpec& spec : calibrate_specs_) add(sub, spec);
    add(sub,
        {"json", 0, OptionSpec::Kind::flag, "", "Print as JSON (mgpu-bench schema calibrate)", ""});
    add(sub, color_option());
  }

  void add_links() {
    CLI::App* sub = command("links", "Measure bandwidth and latency between devices; collectives",
                            kLinksFooter);
    for (const OptionSpec& spec : links_specs_) add(sub, spec);
  }

  void add_check() {
    CLI::App* sub =
        command("check", "Say whether devices are as good as their siblings, and compute right",
                kCheckFooter);
    add_arguments(sub, "FILE", "With --merge: files of check --save or --json, or results of run",
                  false);
    for (const OptionSpec& spec : check_specs_) add(sub, spec);
  }

  void add_list() {
    CLI::App* sub = command("list", "List suites, strategies, metrics or saved results",
                            "Examples:\n  mgpu-bench list strategies\n  mgpu-bench list suites "
                            "merkle\n  mgpu-bench list suites --json | jq -r '.suites[].name'\n"
                            "  mgpu-bench list results\n");
    add_arguments(sub, "WHAT", "suites, strategies, metrics or results", true);
    add_arguments(sub, "NAME", "Those to list (default: all)", false);
    add(sub, {"json", 0, OptionSpec::Kind::flag, "", "Print as JSON (mgpu-bench schema list)", ""});
  }

  void add_run() {
    CLI::App* sub = command("run", "Measure suites under partition strategies", kRunFooter);
    add_arguments(sub, "SUITE", "Suites to run (default: all)", false);
    for (const OptionSpec& spec : run_specs_) add(sub, spec);
    add(sub, {"config", 0, OptionSpec::Kind::value, "FILE", "Read options from this TOML file",
              "Files and output"});
  }

  void add_simulate() {
    CLI::App* sub =
        command("simulate", "Run strategies on devices that a file describes; measures nothing",
                kSimulateFooter);
    add_arguments(sub, "FILE", "A scenario: devices, link and work (mgpu-bench schema scenario)",
                  false);
    add(sub,
        {"from", 0, OptionSpec::Kind::value, "RESULT",
         "Simulate the devices and work of a case that run saved, in a file or last, last~1, ..",
         kScenario, OptionSpec::important});
    add(sub,
        {"case", 0, OptionSpec::Kind::value, "N",
         "With --from: the number of the case, from 0 (default: the first of those with the most "
         "devices)",
         kScenario, OptionSpec::important});
    add(sub,
        {"as-predicted", 0, OptionSpec::Kind::flag, "",
         "With --from: use the device speeds that the case was predicted with, not those of its "
         "median sample",
         kScenario});
    add(sub, {"grow-to", 0, OptionSpec::Kind::value, "N",
              "Extend to N devices; added devices and their links are copies of the last one",
              kScenario});
    add(sub, {"nodes", 0, OptionSpec::Kind::list, "N,..",
              "Simulate strong and weak scaling over N nodes, each with these devices: 1,2,4 or "
              "2..1024, in steps of 2; prints one table, or JSON (mgpu-bench schema scaling)",
              kScenario, OptionSpec::important});
    add(sub, {"network", 0, OptionSpec::Kind::list, "NAME=VALUE,..",
              "With --nodes and --from: the network between nodes, "
              "latency=20us,bandwidth=10GB/s,root=10GB/s (the link of node 0),hand-out=5us (per "
              "slice) (default: no cost)",
              kScenario});
    for (const OptionSpec& spec : simulate_specs_) add(sub, spec);
  }

  void add_plan() {
    CLI::App* sub = command(
        "plan", "Predict the best strategy and devices for a problem; runs nothing",
        "Examples:\n  mgpu-bench calibrate -d gpu && mgpu-bench plan merkle -d gpu --size 2^26\n"
        "  mgpu-bench plan merkle --json | jq -r '.plans[].strategy'\n"
        "  mgpu-bench plan --scenario cluster.json --mode end-to-end\n");
    add_arguments(sub, "SUITE", "The suite to plan", false);
    add(sub,
        {"scenario", 0, OptionSpec::Kind::value, "FILE",
         "Plan the work of this file, instead of a suite, on its hypothetical devices and nodes "
         "(mgpu-bench schema scenario)",
         kScenario, OptionSpec::important});
    for (const OptionSpec& spec : plan_specs_) add(sub, spec);
  }

  void add_report() {
    CLI::App* sub =
        command("report", "Print the tables of a saved result, or export it",
                "Examples:\n  mgpu-bench report last\n"
                "  mgpu-bench report last --where suite=merkle --where strategy=equal,dynamic\n"
                "  mgpu-bench report r.json --export csv=r.csv --require 'best:efficiency>=0.9'\n");
    add_arguments(
        sub, "FILE",
        std::string("A file saved by run, links or profile, compressed by gzip or not") + kOrLast,
        true);
    for (const OptionSpec& spec : report_specs_) add(sub, spec);
  }

  void add_compare() {
    CLI::App* sub =
        command("compare", "Say what changed between two results; exit code 3 if it got slower",
                kCompareFooter);
    add_arguments(sub, "RESULT",
                  std::string("BASE and NEW: files saved by run, by links or by profile") +
                      kOrLast +
                      "; several runs: BASE ... -- NEW .... With --interleave: what to run",
                  false);
    for (const OptionSpec& spec : compare_specs_) add(sub, spec);
  }

  void add_gate() {
    CLI::App* sub = command(
        "gate", "Measure what baselines measured, and fail if it got slower: for CI", kGateFooter);
    add_arguments(sub, "BASE",
                  "Baselines, results of several runs; those that do not exist are made, and the "
                  "exit code is 2. With --interleave: two programs, OLD and NEW",
                  false);
    for (const OptionSpec& spec : gate_specs_) add(sub, spec);
  }

  void add_merge() {
    CLI::App* sub =
        command("merge", "Make one result file of several, or a smaller one of one",
                "Examples:\n  mgpu-bench merge -o all.json merkle.json stencil.json\n"
                "  mgpu-bench merge --no-timeline -o base.json r.json     small, for git\n");
    add_arguments(sub, "FILE",
                  std::string("Files saved by run, of the same devices; none may have a case of "
                              "another") +
                      kOrLast,
                  false);
    for (const OptionSpec& spec : merge_specs_) add(sub, spec);
  }

  void add_history() {
    CLI::App* sub = command("history", "Keep results over time, for trend", kHistoryFooter);
    add_arguments(sub, "ACTION", "add, list, show, exclude or ack", true);
    add_arguments(sub, "DIR", "The folder of the history", true);
    add_arguments(sub, "NAME",
                  "add: results, as files, last, last~1; show: a series, by its id in list or by "
                  "a text that only it has; exclude and ack: a run, by its id in show or by its "
                  "commit, then a series (default: all of them)",
                  false);
    add(sub, {"reason", 0, OptionSpec::Kind::value, "TEXT",
              "Why a run is excluded, or a change accepted, and who says so", ""});
    add(sub, color_option());
  }

  void add_trend() {
    CLI::App* sub =
        command("trend", "Say when results of a history changed; exit code 3 if they got worse",
                kTrendFooter);
    add_arguments(sub, "DIR", "The folder of the history", true);
    add(sub, {"metric", 0, OptionSpec::Kind::value, "NAME",
              "Judge this: time, or a ratio of list metrics (default: time)", ""});
    add(sub, {"floor", 0, OptionSpec::Kind::value, "SHARE",
              "Ignore shifts below this share: 1% with locked clocks (default: 2%)", ""});
    add(sub, {"since", 0, OptionSpec::Kind::value, "DATE",
              "Ignore changes before this date: 2026-11, 2026-11-23", ""});
    add(sub, {"disturbed", 0, OptionSpec::Kind::flag, "", "Count runs with warnings or faults, too",
              ""});
    add(sub, {"result", 'o', OptionSpec::Kind::value, "FILE",
              "Save all of it as JSON (mgpu-bench schema trend); compressed if the name ends in "
              ".gz; - is standard output",
              ""});
    add(sub, {"json", 0, OptionSpec::Kind::flag, "",
              "Print that JSON, and nothing else, on standard output", ""});
    add(sub, color_option());
  }

  void add_trace() {
    CLI::App* sub = command("trace", "Make a Chrome trace of a saved result",
                            "Examples:\n  mgpu-bench trace r.json -o r.trace.json     open it in "
                            "https://ui.perfetto.dev\n");
    add_arguments(sub, "FILE", std::string("A file saved by run or profile") + kOrLast, true);
    add(sub, {"output", 'o', OptionSpec::Kind::value, "FILE",
              "Write to this file instead of standard output; missing folders are created", ""});
    add(sub, {"trace", 0, OptionSpec::Kind::value, "FILE", "", "", 0, OptionField(), "output"});
  }

  void add_profile() {
    CLI::App* sub =
        command("profile", "Run any OpenCL program, and say what holds it back and what would help",
                kProfileFooter);
    add_arguments(sub, "PROGRAM", "After --: the program and its arguments", false);
    add(sub, {"result", 'o', OptionSpec::Kind::value, "FILE",
              "Save the profile as JSON (mgpu-bench schema profile); compressed if the name ends "
              "in .gz; - is standard output, after the program has ended (default: "
              "mgpu-bench-profile.json)",
              ""});
    add(sub, {"trace", 0, OptionSpec::Kind::value, "FILE",
              "Write a Chrome trace: what each device and each thread of the program did", ""});
    add(sub, {"kernels", 0, OptionSpec::Kind::value, "REGEX",
              "List only kernels whose name has a match of this (default: all)", ""});
    add(sub, {"from", 0, OptionSpec::Kind::value, "TIME",
              "Report the part that begins so long after the program's first command: 2s "
              "(default: 0s)",
              ""});
    add(sub, {"for", 0, OptionSpec::Kind::value, "TIME",
              "Report a part of this length: 500ms (default: to the end)", ""});
    add(sub, {"check-overhead", 0, OptionSpec::Kind::flag, "",
              "Run the program once more without the layer, with nothing on standard input and "
              "its output discarded, and compare the times",
              ""});
    add(sub, {"quiet", 'q', OptionSpec::Kind::flag, "",
              "Print no report on standard error, only save it", ""});
  }

  void add_schema() {
    CLI::App* sub = command("schema", "Print the JSON Schema of a file or of what --json prints",
                            "Example:\n  mgpu-bench schema result\n");
    add_arguments(sub, "NAME", fmt::format("One of {}", fmt::join(schema_names(), ", ")), true);
  }

  void add_init() {
    CLI::App* sub = command(
        "init", "Write a first descriptor for an OpenCL kernel of your own",
        "Example:\n  mgpu-bench init blur.cl -o blur.toml && mgpu-bench run --kernel blur.toml\n");
    add_arguments(sub, "FILE", "An OpenCL C file", true);
    add(sub, {"entry", 0, OptionSpec::Kind::value, "NAME",
              "Name of the kernel (default: the only one in the file)", ""});
    add(sub, {"options", 0, OptionSpec::Kind::value, "TEXT", "Options of the OpenCL compiler", ""});
    add(sub, {"output", 'o', OptionSpec::Kind::value, "FILE",
              "Write to this file instead of standard output; missing folders are created", ""});
  }

  void add_completion() {
    CLI::App* sub =
        command("completion", "Print a script for completion in bash, zsh or fish",
                "Examples:\n  source <(mgpu-bench completion bash)            # in ~/.bashrc\n"
                "  mgpu-bench completion zsh >~/.zfunc/_mgpu-bench    # a folder of $fpath\n"
                "  mgpu-bench completion fish >~/.config/fish/completions/mgpu-bench.fish\n");
    add_arguments(sub, "SHELL", "bash, zsh or fish", true);
  }

  void add_manual() {
    command("manual", "Print the manual page",
            "Examples:\n  mgpu-bench manual >mgpu-bench.1 && man ./mgpu-bench.1\n");
  }

  void add_help() {
    CLI::App* sub = command(
        "help", "Print the help of a command, or of a suite",
        "Examples:\n  mgpu-bench help run merkle    the most used options, and the suite's\n"
        "  mgpu-bench help run --all     every option\n");
    add_arguments(sub, "COMMAND", "A command, and for run and plan also suites", false);
    add(sub, {"all", 0, OptionSpec::Kind::flag, "", "Print every option, as --help-all does", ""});
  }

  std::span<const SuiteInfo> suites_;
  std::string_view only_;
  std::vector<OptionSpec> run_specs_, device_specs_, calibrate_specs_, links_specs_, check_specs_,
      plan_specs_, simulate_specs_, report_specs_, compare_specs_, gate_specs_, merge_specs_;
  CLI::App app_{
      "Splits real workloads over several OpenCL devices under many partition strategies, and "
      "measures speed-up, efficiency and "
      "imbalance.",
      "mgpu-bench"};
  bool version_ = false;
  std::deque<std::vector<std::string>> values_;  // a deque, whose elements keep their addresses
  std::deque<bool> flags_;
  std::map<const CLI::Option*, OptionSpec> spec_of_;
};

// Moves what CLI11 found on the command line of one subcommand into the invocation.
void take_flags(const Tree& tree, const CLI::App& sub, Invocation& invocation) {
  for (const CLI::Option* option : sub.get_options()) {
    if (option->count() == 0) continue;
    const std::vector<std::string>& values = option->results();
    if (option->get_positional()) {
      invocation.arguments.insert(invocation.arguments.end(), values.begin(), values.end());
      continue;
    }
    const OptionSpec& spec = *tree.spec_of(option);
    const bool is_flag = spec.kind == OptionSpec::Kind::flag;
    const std::string value = is_flag ? values.back() : fmt::format("{}", fmt::join(values, ","));
    invocation.settings.offer(spec, {value, flag_of(spec), Given::Layer::flag});
  }
}

OptionText text_of(const OptionSpec& spec) {
  return {spec.letter == 0 ? "" : std::string(1, spec.letter),
          spec.name,
          spec.value_name,
          spec.help,
          spec.group.empty() ? "Options" : spec.group,
          spec.field.words,
          (spec.uses & OptionSpec::important) != 0};
}

CommandText describe(const Tree& tree, const CLI::App& sub) {
  CommandText text;
  text.name = sub.get_name();
  text.help = sub.get_description();
  text.footer = sub.get_footer();
  for (const CLI::Option* option : sub.get_options()) {
    if (option->get_positional()) {
      text.arguments.push_back(
          {option->get_name(), option->get_description(), option->get_required()});
      continue;
    }
    const OptionSpec* spec = tree.spec_of(option);
    if (spec == nullptr) {  // CLI11's own
      const std::vector<std::string>& letters = option->get_snames();
      text.options.push_back({letters.empty() ? "" : letters.front(),
                              option->get_lnames().at(0),
                              "",
                              option->get_description(),
                              "Options",
                              {},
                              true});
    } else if (!spec->suites.empty()) {
      text.has_suites = true;
    } else if (!spec->is_hidden()) {
      text.options.push_back(text_of(*spec));
    }
  }
  return text;
}

CommandLineText describe_all(const Tree& tree, const CLI::App& app) {
  CommandLineText text{app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    text.commands.push_back(describe(tree, *sub));
  for (const SuiteInfo& suite : tree.suites()) {
    SuiteText& one =
        text.suites.emplace_back(SuiteText{suite.name, suite.summary, suite.size_name, {}});
    for (const OptionSpec& spec : suite_options(suite)) one.options.push_back(text_of(spec));
  }
  return text;
}

// Returns the help of a command, or of the program if there are no words. `words`: the command and
// its arguments, of which suites select the options of suites. Throws Error(usage) for unknown
// ones.
std::string help_text(Tree& tree, std::span<const std::string> words, bool all) {
  const CommandLineText line = describe_all(tree, tree.app());
  std::string text;
  if (words.empty()) {
    text = overview_text(line);
    for (const CommandText& command : line.commands)
      if (all) text += "\n" + command_text(command, {}, line.suites, true);
    return text;
  }
  const auto command = std::find_if(line.commands.begin(), line.commands.end(),
                                    [&](const auto& c) { return c.name == words.front(); });
  if (command == line.commands.end())
    throw Error(ErrorKind::usage, no_command(words.front(), tree.app(), tree.suites()));
  const std::span<const std::string> names = words.subspan(1);
  std::vector<std::string> chosen;
  if (!names.empty() && !command->has_suites)
    throw Error(ErrorKind::usage, fmt::format("help: {} is one argument too many: {} has no suites",
                                              in_quotes(names.front()), command->name));
  if (!names.empty())
    for (const SuiteInfo* suite : choose_suites("help " + command->name, names, tree.suites()))
      chosen.push_back(suite->name);
  return command_text(*command, chosen, line.suites, all);
}

// Returns the command on the line, and the suites after it; nothing if there is no command.
std::vector<std::string> words_for_help(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* sub : app.get_subcommands()) {
    words.push_back(sub->get_name());
    for (const CLI::Option* option : sub->get_options())
      if (option->get_name() == "SUITE")
        words.insert(words.end(), option->results().begin(), option->results().end());
  }
  return words;
}

}  // namespace

namespace {

// Stands for a "--" that separates BASE from NEW: CLI11 refuses arguments on both sides of one, and
// takes what follows for arguments.
constexpr const char* kMark = "\x1f--";

// Removes and returns the words after the first "--" of profile, which are the program's own.
std::vector<std::string> take_program(std::vector<std::string>& words) {
  if (words.empty() || words.front() != "profile") return {};
  const auto mark = std::find(words.begin(), words.end(), "--");
  if (mark == words.end()) return {};
  std::vector<std::string> program(mark + 1, words.end());
  words.erase(mark, words.end());
  return program;
}

void mark_sides(std::vector<std::string>& words) {
  const auto interleaves = [](const std::string& word) { return word.starts_with("--interleave"); };
  if (words.empty() || words.front() != "compare" ||
      std::any_of(words.begin(), words.end(), interleaves))
    return;
  const auto mark = std::find(words.begin(), words.end(), "--");
  if (mark != words.end()) *mark = kMark;
}

}  // namespace

CommandLineText describe_command_line(std::span<const SuiteInfo> suites) {
  Tree tree(suites);
  return describe_all(tree, tree.app());
}

Invocation parse_command_line(std::span<const std::string> argv, std::span<const SuiteInfo> suites,
                              const Environment& environment, const std::string& version_text) {
  const std::string_view first = argv.size() > 1 ? std::string_view(argv[1]) : "";
  Tree tree(suites, first == "help" || first.starts_with('-') ? "" : first);
  CLI::App& app = tree.app();
  Invocation invocation;
  std::vector<std::string> words(argv.begin() + (argv.empty() ? 0 : 1), argv.end());
  const std::vector<std::string> program = take_program(words);
  mark_sides(words);
  refuse_unknown_command(app, words, suites);
  refuse_long_names_behind_one_dash(app, words);
  if (words.empty()) {
    invocation.text = help_text(tree, {}, false);
    invocation.code = ExitCode::usage;
    return invocation;
  }
  std::reverse(words.begin(), words.end());  // CLI11 expects them in reverse
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    invocation.text = help_text(tree, words_for_help(app), false);
    return invocation;
  } catch (const CLI::CallForAllHelp&) {
    invocation.text = help_text(tree, words_for_help(app), true);
    return invocation;
  } catch (const CLI::ParseError& error) {
    if (!tree.version()) refuse(error, app);
  }
  if (tree.version()) {
    invocation.text = version_text;
    return invocation;
  }
  const CLI::App& sub = *app.get_subcommands().front();
  invocation.command = sub.get_name();
  take_flags(tree, sub, invocation);
  auto& arguments = invocation.arguments;
  arguments.insert(arguments.end(), program.begin(), program.end());
  if (const auto mark = std::find(arguments.begin(), arguments.end(), kMark);
      mark != arguments.end()) {
    invocation.after_mark = static_cast<std::size_t>(arguments.end() - mark) - 1;
    arguments.erase(mark);
  }
  if (invocation.command == "help") {
    Invocation help;
    help.text = help_text(tree, invocation.arguments, invocation.settings.is_on("all"));
    return help;
  }
  const std::span<const OptionSpec> specs = tree.specs(invocation.command);
  offer_environment(invocation.settings, specs, environment);
  if (invocation.command == "run") {
    invocation.warnings = unknown_variables(specs, environment);
    const Given* config = invocation.settings.find("config");
    const auto variable = environment.get("MGPU_BENCH_CONFIG");
    if (config != nullptr) {
      offer_config(invocation.settings, specs, config->value);
    } else if (variable) {
      offer_config(invocation.settings, specs, *variable);
    }
  }
  const std::vector<std::string>& notices = invocation.settings.notices();
  invocation.warnings.insert(invocation.warnings.end(), notices.begin(), notices.end());
  return invocation;
}

namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> long_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Returns the first letter that the command lacks, such as "-q" of "-qd"; the word itself if it has
// all of them.
std::string unknown_letter(const std::string& word, const CLI::App& command) {
  for (std::size_t k = 1; k < word.size(); ++k) {
    const CLI::Option* option = command.get_option_no_throw(std::string("-") + word[k]);
    if (option == nullptr) return std::string("-") + word[k];
    if (option->get_items_expected_max() > 0) break;  // the rest of the word is its value
  }
  return word;
}

// Returns a text that may begin with a capital as the end of a sentence: "a file saved by run".
std::string in_a_sentence(std::string text) {
  if (text.size() > 1 && std::isupper(static_cast<unsigned char>(text[1])) == 0)
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

// Says that `word` ("--sise", "--sise=4", "-sise" or "-qd") is no option of the chosen command, or
// of the program.
std::string no_option(const std::string& word, const CLI::App& app) {
  constexpr std::size_t kBundled = 3;  // number of flags that one word may bundle
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string name = word.substr(0, word.find('='));
  if (name == "--check" && command.get_name() == "trace")
    return "there is no option --check any more; open the trace in https://ui.perfetto.dev";
  if (name.starts_with("--"))
    return fmt::format("there is no option {}{}", in_quotes(word),
                       did_you_mean(name, long_names(command)));
  const std::string meant =
      name.size() > kBundled + 1 ? did_you_mean("-" + name, long_names(command)) : "";
  if (!meant.empty()) return fmt::format("there is no option {}{}", in_quotes(word), meant);
  const std::string letter = unknown_letter(name, command);
  return fmt::format("there is no option {}{}", in_quotes(letter),
                     letter == word ? "" : fmt::format(" (of {})", in_quotes(word)));
}

// Returns the mistake that CLI11 found, reworded where that is clearer: the option, its value, what
// is expected.
std::string explain(const CLI::ParseError& error, const CLI::App& app) {
  const std::string what = error.what();
  const std::string name = what.substr(0, what.find(':'));
  const bool none_chosen = app.get_subcommands().empty();
  const std::vector<std::string> extra = app.remaining(true);
  if (!none_chosen && !extra.empty() && !extra.front().starts_with('-'))
    return fmt::format("{}: {} is one argument too many", app.get_subcommands().front()->get_name(),
                       in_quotes(extra.front()));
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return no_option(extra.empty() ? what : extra.front(), app);
  // CLI11 takes the value of an unknown option for one argument too many.
  if (!extra.empty() && extra.front().starts_with('-')) return no_option(extra.front(), app);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (none_chosen) return "a command is required; expected: " + joined(command_names(app));
    const CLI::App& command = *app.get_subcommands().front();
    for (const CLI::Option* option : command.get_options())
      if (option->get_required() && option->count() == 0)
        return fmt::format("{} needs {}: {}", command.get_name(), option->get_name(),
                           in_a_sentence(option->get_description()));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (what.find("missing") != std::string::npos) return name + ": its value is missing";
    return name.starts_with('-') || none_chosen
               ? name + ": given more than once"
               : fmt::format("{}: more than one {} is given; expected: one",
                             app.get_subcommands().front()->get_name(), name);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    return what + "; expected: true, false";
  return what;
}

}  // namespace

std::string no_command(const std::string& name, const CLI::App& app,
                       std::span<const SuiteInfo> suites) {
  if (std::any_of(suites.begin(), suites.end(),
                  [&](const auto& suite) { return suite.name == name; }))
    return fmt::format(
        "there is no command {}; it is a suite: mgpu-bench run {}, mgpu-bench help "
        "run {}",
        in_quotes(name), name, name);
  const std::vector<std::string> known = command_names(app);
  return fmt::format("there is no command {}; expected: {}{}", in_quotes(name), joined(known),
                     did_you_mean(name, known));
}

void refuse(const CLI::ParseError& error, const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const std::string help =
      chosen.empty() ? "mgpu-bench --help" : "mgpu-bench " + chosen.front()->get_name() + " --help";
  const std::string why = explain(error, app);
  std::string line = fmt::format("{}{} see {}", why, why.ends_with('?') ? "" : ";", help);
  std::replace(line.begin(), line.end(), '\n', ' ');
  throw Error(ErrorKind::usage, line);
}

void refuse_long_names_behind_one_dash(const CLI::App& app, std::span<const std::string> words) {
  if (words.empty()) return;
  const auto commands =
      app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == words.front(); });
  if (commands.empty()) return;
  const std::vector<std::string> known = long_names(*commands.front());
  for (const std::string& word : words) {
    if (word == "--") return;
    const std::string meant = "-" + word.substr(0, word.find('='));
    if (meant.size() > 3 && !word.starts_with("--") &&
        std::find(known.begin(), known.end(), meant) != known.end())
      throw Error(ErrorKind::usage,
                  fmt::format("there is no option {}; did you mean {}? see mgpu-bench {} --help",
                              in_quotes(word), in_quotes(meant), words.front()));
  }
}

void refuse_unknown_command(const CLI::App& app, std::span<const std::string> words,
                            std::span<const SuiteInfo> suites) {
  if (words.empty() || words.front().starts_with('-')) return;
  const std::vector<std::string> known = command_names(app);
  if (std::find(known.begin(), known.end(), words.front()) != known.end()) return;
  const std::string what = no_command(words.front(), app, suites);
  throw Error(ErrorKind::usage, what + (what.ends_with('?') ? "" : ";") + " see mgpu-bench --help");
}

}  // namespace mgpu
