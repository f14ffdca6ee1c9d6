// Fuzz targets for options from all layers up to the request of a run, and for the files that
// suites read. Options that name files are left out: other targets test the files, and a fuzzer
// should write nowhere.
#include <algorithm>
#include <fstream>

#include "app/config_file.hpp"
#include "app/run_request.hpp"
#include "suites/kernel/data.hpp"
#include "suites/kernel/layout.hpp"
#include "suites/kernel/tree.hpp"
#include "suites/suites.hpp"
#include "tests/fuzz/targets.hpp"

namespace mgpu::fuzz {
namespace {

constexpr Bytes kMemory = Bytes{1} << 30;

bool names_files(const Settings& settings) {
  for (const char* name :
       {"result", "trace", "output", "export", "input", "config", "params", "kernel"}) {
    if (settings.has(name)) return true;
  }
  return false;
}

void request_of(const Invocation& invocation) {
  if (invocation.command != "run" || names_files(invocation.settings)) return;
  const std::vector<OptionSpec> options = run_options(all_suites());
  const std::string dumped = as_config(invocation.settings, options);
  // A dumped config parses to the same values.
  for (const ConfigEntry& entry : parse_config(dumped)) {
    const Given* given = invocation.settings.find(entry.key);
    const auto spec = std::find_if(options.begin(), options.end(),
                                   [&](const OptionSpec& o) { return o.name == entry.key; });
    if (given == nullptr || spec == options.end())
      throw Error(ErrorKind::internal, "a key that nobody gave");
    if (spec->kind != OptionSpec::Kind::flag && given->value != entry.value)
      throw Error(ErrorKind::internal, "another value");
  }
  read_run_request(invocation, all_suites(), kMemory);
}

}  // namespace

void config(std::string_view input) {
  refusing([&] {
    const std::filesystem::path file = scratch() / "c.toml";
    std::ofstream(file, std::ios::binary) << input;
    const std::string words[] = {"mgpu-bench", "run", "--config", file.string()};
    Invocation invocation = parse_command_line(words, all_suites(), Environment({}), "");
    Settings without;
    for (const OptionSpec& option : run_options(all_suites())) {
      if (const Given* given = invocation.settings.find(option.name); given != nullptr)
        without.offer(option, *given);
    }
    invocation.settings = without;
    request_of(invocation);
  });
}

void command(std::string_view input) {
  refusing([&] {
    std::vector<std::string> words{"mgpu-bench"};
    for (std::size_t begin = 0; begin <= input.size();) {
      const std::size_t end = std::min(input.find('\n', begin), input.size());
      words.emplace_back(input.substr(begin, end - begin));
      begin = end + 1;
    }
    for (const std::string& word : words) {
      if (word.starts_with("--config") || word.find('\0') != std::string::npos) return;
    }
    request_of(parse_command_line(words, all_suites(), Environment({}), "version"));
  });
}

void terms(std::string_view input) {
  if (input.empty()) return;
  const std::filesystem::path file = scratch() / "input";
  std::ofstream(file, std::ios::binary) << input.substr(1);
  const auto suites = all_suites();
  const SuiteInfo& suite = suites[static_cast<unsigned char>(input[0]) % suites.size()];
  SuiteParams params;
  params.input = file;
  for (const SuiteOption& option : suite.options)
    params.options[option.name] = option.values.front();
  refusing([&] {
    params.size = suite.size_of_input(params);
    if (suite.check != nullptr) suite.check(params);
    if (params.size > 4096 || suite.host_bytes(params) > kMemory / 64) return;
    if (suite.optional.resolve != nullptr) suite.optional.resolve(params);
    suite.make(params);
  });
}

void descriptor(std::string_view input) {
  namespace k = mgpu::kernel;
  refusing([&] {
    const k::Descriptor descriptor =
        k::descriptor_of(k::parse_tree(std::string(input), "d"), "d", scratch());
    SuiteParams params;
    params.size = descriptor.n;
    const k::Problem problem = k::problem_of(descriptor, params);
    k::shape_of(problem);
    if (problem.host_bytes > kMemory / 64) return;
    const std::vector<std::byte> memory(problem.host_bytes);
    const Items middle = std::min(
        problem.items, (problem.items / problem.granularity / 2 + 1) * problem.granularity);
    for (const Slice& slice : {Slice{0, problem.items}, Slice{0, middle}}) {
      for (const k::Stage& stage : problem.stages)
        problem.grid(stage, problem.numbers(stage, slice, 0));
      for (std::size_t a = 0; a < problem.args.size(); ++a) {
        const k::Argument& one = problem.args[a];
        if (one.before + one.after > 1000) continue;  // each of them is a move
        const Bytes held = one.is_array() ? k::slice_bytes(problem, one, slice) : 0;
        for (const auto& moves :
             {k::input_moves(problem, memory, a, slice), k::output_moves(problem, a, slice)}) {
          for (const k::Move& move : moves) {
            const Bytes last = move.count == 0 ? 0 : (move.count - 1) * move.stride + move.length;
            if (move.device + last > held || (!move.zeros && move.host + last > one.bytes()))
              throw Error(ErrorKind::internal, "a move beyond its array");
          }
        }
        if (one.is_input()) {
          std::vector<std::byte> values(one.bytes());
          k::fill_array(problem, a, 1, values);
        }
      }
    }
  });
}

}  // namespace mgpu::fuzz
