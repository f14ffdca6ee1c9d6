// Settings: option values as text, from any layer; and the one table of options, from which the
// command line, the environment variables and the config-file keys are made (option_table.cpp).
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

// Conversion of an option's text to a field of a request; made by the functions of
// app/option_fields.hpp.
struct OptionField {
  // Values that it accepts, or some of them, for completions.
  std::vector<std::string> words = {};
  // Sets a field of a request; throws Error(usage). Null: other code reads the option
  // (app/run_request.cpp).
  std::function<void(const Given&, RunRequest&)> read = {};
  // Returns the value to record; none: nothing is recorded. Null: the option has no field.
  std::function<std::optional<ParamValue>(const RunRequest&)> record = {};
  std::string unit = {};  // suffix of the option's name where it is recorded: "_ns"
};

struct OptionSpec {
  enum class Kind { flag, value, list };  // list: may be repeated, the values are joined by commas
  std::string name;  // without dashes: the config-file key; MGPU_BENCH_<NAME> in the environment
  char letter = 0;   // 0: no short form
  Kind kind = Kind::value;
  enum Use : unsigned {
    in_devices = 1,  // in_*: also an option of that command, besides `run`
    in_plan = 2,
    in_calibrate = 4,
    in_simulate = 8,
    in_report = 16,
    not_confirmed = 32,  // `compare --confirm`, which repeats the options of a run, leaves it out
    important = 128,     // needed by most people: listed in the short help of a command
    in_links = 256,
    in_merge = 512,
    in_check = 1024,
    // Says how samples are taken: results record it, and --resume requires the same value.
    recorded = 64
  };
  std::string value_name, help, group;
  unsigned uses = 0;  // bits of Use
  OptionField field = {};
  std::string alias_of = {};  // the option that this one is another name of; empty: no alias
  // Suffix added to the value of an alias that takes a whole number, to make the option's value.
  std::string unit = {};
  std::string refusal = {};              // why nothing accepts it any more, and what to use instead
  std::vector<std::string> suites = {};  // those that have it; empty: it is no suite's option
  bool is_former = true;                 // an alias is an old name, whose use gets a notice
  bool is_hidden() const { return !alias_of.empty() || !refusal.empty(); }
};

std::string flag_of(const OptionSpec& option);      // "--sub-devices"
std::string variable_of(const OptionSpec& option);  // "MGPU_BENCH_SUB_DEVICES"

// Returns the options of `run`: the tool's own, then every suite's; an option that several suites
// have appears once.
std::vector<OptionSpec> run_options(std::span<const SuiteInfo> suites);
// Returns the options that a suite gives to `run` and `plan`: its own, and those of the tool whose
// values depend on it.
std::vector<OptionSpec> suite_options(const SuiteInfo& suite);
// Group of the options that name files, of all commands.
inline constexpr const char* kFiles = "Files and output";

// Returns the options of `devices`: those of run that choose devices.
std::vector<OptionSpec> device_options();
// Returns the options of `plan`: devices, the problem and its mode.
std::vector<OptionSpec> plan_options(std::span<const SuiteInfo> suites);
// Returns the options of `simulate`: those of run that make sense for given devices and work.
std::vector<OptionSpec> simulate_options();
// Returns the options of `calibrate`: those of run that choose devices or are about calibration.
std::vector<OptionSpec> calibrate_options(std::span<const SuiteInfo> suites);
// Returns the options of `links`: devices, and its own.
std::vector<OptionSpec> links_options();
// Returns the options of `check`: devices, and its own.
std::vector<OptionSpec> check_options();
// Returns the options of `report`: those of run that need only a saved result.
std::vector<OptionSpec> report_options();
// Returns the options of `merge`.
std::vector<OptionSpec> merge_options();
// Returns the options of `compare`.
std::vector<OptionSpec> compare_options();
// Returns the options of `gate`: its own, and those of compare.
std::vector<OptionSpec> gate_options();
OptionSpec color_option();

// Functions that parse a value. Each throws Error(usage) that says what is expected.
bool read_flag(const Given& given);  // true, on, yes, 1 or false, off, no, 0
std::uint64_t read_count(const Given& given, std::uint64_t least);  // 2^20, 1M, 64Ki
// Reads several counts separated by commas, and returns each once.
std::vector<std::uint64_t> read_counts(const Given& given, std::uint64_t least);
Nanos read_time(const Given& given);                               // 500ms, 2m; not 0
double read_share(const Given& given, double least, double most);  // 2% or 0.02
// Returns the index of the word in `accepted`.
std::size_t read_word(const Given& given, std::span<const std::string> accepted);

class Settings {
 public:
  const Given* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Returns the value of a flag; false when not given.
  bool is_on(std::string_view name) const;
  // Sets the value unless an earlier layer gave one: call in the order flag, environment, config. A
  // value of an alias is given to its option. Throws Error(usage) if one layer gives both, if an
  // alias with a unit has a value that is not a whole number, and for an option that is refused.
  void offer(const OptionSpec& option, Given given);
  // Returns a line per old name that was given, with the name that replaces it.
  const std::vector<std::string>& notices() const { return notices_; }
  // Sets the value of an option, whatever was given before.
  void replace(const std::string& name, std::string value) {
    given_[name] = {std::move(value), "--" + name, Given::Layer::flag};
  }

 private:
  std::map<std::string, Given, std::less<>> given_;
  std::vector<std::string> notices_;
};

// Returns the given word, one of `accepted`; the first of them when not given.
std::string choose(const Settings& settings, std::string_view name,
                   const std::vector<std::string>& accepted);

// Offers the MGPU_BENCH_* variables of the options.
void offer_environment(Settings& settings, std::span<const OptionSpec> options,
                       const Environment& environment);
// Returns a line for each MGPU_BENCH_* variable that belongs to no option: a misspelt one would
// otherwise be ignored silently.
std::vector<std::string> unknown_variables(std::span<const OptionSpec> options,
                                           const Environment& environment);

// Offers the values of a TOML file of `key = value` lines, bare or under [run]; keys may have
// underscores instead of hyphens. Throws Error(input) if it cannot be read or is not TOML,
// Error(usage) for a key that is no option's name or is set twice.
void offer_config(Settings& settings, std::span<const OptionSpec> options, const std::string& file);

// Returns the given settings as a file that --config reads back to the same settings. `options`:
// all options of the command.
std::string as_config(const Settings& settings, std::span<const OptionSpec> options);

// Returns "a, b, c".
std::string joined(std::span<const std::string> words);
// Splits "a,b,,c" into {"a", "b", "", "c"}.
std::vector<std::string> split_commas(std::string_view text);

}  // namespace mgpu
