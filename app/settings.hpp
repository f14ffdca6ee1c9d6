// Settings: what was asked for, as text, whatever layer it came from; and the one table of options
// that the command line, the environment twins and the config-file keys are all made from
// (option_table.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/environment.hpp"
#include "lib/report/record.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

struct RunRequest;

struct Given {
  std::string value;
  std::string from;  // for messages: "--size", "MGPU_BENCH_SIZE", "bench.toml: size"
  enum class Layer { flag, environment, config } layer = Layer::flag;
};

// What an option's value becomes; made by the functions of app/option_fields.hpp.
struct OptionField {
  std::vector<std::string> words =
      {};  // the values that it accepts, or some of them: for completions
  // Sets a field of a request; throws Error(usage). None: code of its own does
  // (app/run_request.cpp).
  std::function<void(const Given&, RunRequest&)> read = {};
  std::function<std::optional<ParamValue>(const RunRequest&)> record =
      {};                 // the field's value; none: it has none
  std::string unit = {};  // what the option's name ends with where it is recorded: "_ns"
};

struct OptionSpec {
  enum class Kind { flag, value, list };  // list: may be repeated, the values are joined by commas
  std::string name;  // without dashes: the config-file key; MGPU_BENCH_<NAME> in the environment
  char letter = 0;   // 0: no short form
  Kind kind = Kind::value;
  enum Use : unsigned {
    in_devices = 1,  // the first five and in_links: these commands take it too, besides `run`
    in_plan = 2,
    in_calibrate = 4,
    in_simulate = 8,
    in_report = 16,
    not_confirmed = 32,  // `compare --confirm`, which repeats the options of a run, does without it
    important = 128,     // most people need it: the first help of a command has it
    in_links = 256,
    recorded = 64  // it says how samples are taken: results record its field, --resume goes on
                   // under the same value only
  };
  std::string value_name, help, group;
  unsigned uses = 0;  // of Use, or-ed
  OptionField field = {};
  std::string alias_of = {};  // the option it is another name of; empty: it is none
  std::string unit =
      {};  // of an alias whose value is a whole number: what the option's own value ends with
};

std::string flag_of(const OptionSpec& option);      // "--sub-devices"
std::string variable_of(const OptionSpec& option);  // "MGPU_BENCH_SUB_DEVICES"

// Of `run`: the tool's own, then every suite's; an option that several suites have appears once.
std::vector<OptionSpec> run_options(std::span<const SuiteInfo> suites);
// Of `devices`: those of run that choose devices.
std::vector<OptionSpec> device_options();
// Of `plan`: devices, the problem and its mode.
std::vector<OptionSpec> plan_options(std::span<const SuiteInfo> suites);
// Of `simulate`: those of run that make sense where devices and work are given.
std::vector<OptionSpec> simulate_options();
// Of `calibrate`: those, and those of run about calibration.
std::vector<OptionSpec> calibrate_options();
// Of `links`: devices, and its own.
std::vector<OptionSpec> links_options();
// Of `report`: those of run that a saved result is enough for.
std::vector<OptionSpec> report_options();
// Of `compare`.
std::vector<OptionSpec> compare_options();
OptionSpec color_option();

// What was given as a value of one kind. Each throws Error(usage) that says what is accepted.
bool read_flag(const Given& given);  // true, on, yes, 1 or false, off, no, 0
std::uint64_t read_count(const Given& given, std::uint64_t least);  // 2^20, 1M, 64Ki
std::vector<std::uint64_t> read_counts(const Given& given,
                                       std::uint64_t least);  // several with commas, each once
Nanos read_time(const Given& given);                          // 500ms, 2m; not 0
std::size_t read_word(const Given& given,
                      std::span<const std::string> accepted);  // its place among them

class Settings {
 public:
  const Given* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // A flag; false when not given.
  bool is_on(std::string_view name) const;
  // The first layer to give a value keeps it: call in the order flag, environment, config. What an
  // alias is given is its option's; Throws Error(usage) where one layer gives both, and for an
  // alias with a unit whose value is not a whole number.
  void offer(const OptionSpec& option, Given given);
  // Whatever was given before.
  void replace(const std::string& name, std::string value) {
    given_[name] = {std::move(value), "--" + name, Given::Layer::flag};
  }

 private:
  std::map<std::string, Given, std::less<>> given_;
};

// One of `accepted`; the first when not given.
std::string choose(const Settings& settings, std::string_view name,
                   const std::vector<std::string>& accepted);

// The MGPU_BENCH_* twins of the options.
void offer_environment(Settings& settings, std::span<const OptionSpec> options,
                       const Environment& environment);
// A line for each MGPU_BENCH_* variable that is not an option's twin: a misspelt one would
// otherwise be ignored without a word.
std::vector<std::string> unknown_variables(std::span<const OptionSpec> options,
                                           const Environment& environment);

// A TOML file of `key = value` lines, bare or under [run]; keys may be written with underscores.
// Throws Error(input) when it cannot be read or is not TOML, Error(usage) for a key that is not an
// option's name or is set twice.
void offer_config(Settings& settings, std::span<const OptionSpec> options, const std::string& file);

// What was given, as a file that --config reads back to the same settings; `options`: all there
// are.
std::string as_config(const Settings& settings, std::span<const OptionSpec> options);

// "a, b, c"
std::string joined(std::span<const std::string> words);
// "a,b,,c" -> {"a", "b", "", "c"}
std::vector<std::string> split_commas(std::string_view text);

}  // namespace mgpu
