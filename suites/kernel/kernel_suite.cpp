// The kernel suite's registration: name, options and sizes. Sizes are those of its descriptors.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "suites/kernel/examples.hpp"
#include "suites/kernel/kernel_workload.hpp"
#include "suites/kernel/other_process.hpp"
#include "suites/kernel/skeleton.hpp"
#include "suites/suites.hpp"

namespace mgpu {

SuiteInfo kernel_suite();

namespace kernel {

// Reads each file once, so that a run uses one version of it even if it is being edited.
const Descriptor& descriptor_of(const SuiteParams& params) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const Descriptor>> known;
  const auto given = params.options.find("kernel");
  const std::string name = given == params.options.end() ? example_names().front() : given->second;
  const std::scoped_lock lock(mutex);
  auto& found = known[name];
  if (!found) {
    const auto& examples = example_names();
    const bool is_example = std::find(examples.begin(), examples.end(), name) != examples.end();
    found = std::make_unique<const Descriptor>(is_example ? example(name) : read_descriptor(name));
  }
  return *found;
}

}  // namespace kernel

namespace {

using namespace kernel;

// Estimates host memory: arrays, partial results of blocks, the single-device reference, and copies
// surrounded by poison. Sizes are only tried out here; check() refuses those that the descriptor
// cannot have.
Bytes host_bytes(const SuiteParams& params) {
  constexpr Bytes kCopies = 4;
  try {
    const Problem problem = problem_of(params);
    // Slices that exchange items are tried together.
    Bytes bytes = problem.host_bytes * (problem.is_tried_together() ? 3 : 1);
    for (const Argument& one : problem.args) {
      if (one.by_blocks())
        bytes += one.stride() * problem.blocks();  // each below 2^50, of at most 64
    }
    return bytes > ~Bytes{0} / kCopies ? ~Bytes{0} : kCopies * bytes;
  } catch (const Error&) {
    return params.size > descriptor_of(params).n ? ~Bytes{0} : 0;
  }
}

void check(const SuiteParams& params) {
  if (params.size == 0)
    throw Error(ErrorKind::usage, "--size: \"0\" is too small; expected: 1 or more");
  problem_of(params);
}

Shape shape(const SuiteParams& params) { return shape_of(problem_of(params)); }

// Returns the size that `--input`, the file of the first input, implies: its number of items if one
// item is `per_item` elements at every size, else the descriptor's size.
std::uint64_t size_of_input(SuiteParams& params) {
  const Descriptor& descriptor = descriptor_of(params);
  params.size = descriptor.n;
  const Problem problem = problem_of(params);
  for (const Argument& one : problem.args) {
    if (!one.is_input()) continue;
    std::error_code error;
    const std::uintmax_t bytes = std::filesystem::file_size(*params.input, error);
    if (error)
      throw Error(ErrorKind::input, "--input: " + params.input->string() + ": " + error.message());
    if (one.by_item() && problem.items == problem.n) {
      if (bytes == 0 || bytes % one.item() != 0) {
        throw Error(ErrorKind::input,
                    "--input: " + params.input->string() + " has " + std::to_string(bytes) +
                        " bytes; expected: a multiple of " + std::to_string(one.item()) +
                        ", of one item of argument " + one.name);
      }
      return bytes / one.item();
    }
    return descriptor.n;
  }
  throw Error(ErrorKind::input, "--input: " + descriptor.file + " has no argument that is read");
}

SuiteInfo::Descriptors::OwnProblem problem_in(const SuiteParams& params) {
  const Descriptor& descriptor = descriptor_of(params);
  std::string identity = descriptor.identity;
  for (const char* name : {"set", "define", "include", "build-options"}) {
    const auto given = params.options.find(name);
    if (given != params.options.end() && given->second != "none")
      identity += fmt::format(" {}={}", name, given->second);
  }
  return {descriptor.n, descriptor.quick, identity};
}

// Expands --set NAME=VALUE,..: a parameter with several values, NAME=1,2,4, gives a problem per
// combination. The last parameter varies fastest.
std::vector<std::map<std::string, std::string>> swept(
    const std::map<std::string, std::string>& options) {
  constexpr std::size_t kMost = 256;
  const std::string& text = options.at("set");
  if (text.find('=') == std::string::npos)
    return {options};  // nothing is set, or the error comes with the list of parameters
  std::vector<std::pair<std::string, std::vector<std::string>>> parameters;  // "NAME=", values
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const std::size_t value = word.find('=') + 1;  // 0: another value of the parameter before
    if (value == word.size() || (value == 0 && parameters.empty()) || value == 1)
      throw Error(ErrorKind::usage, "--set: " + in_quotes(text) + "; expected: NAME=VALUE,..");
    if (value > 0) parameters.emplace_back(word.substr(0, value), std::vector<std::string>{});
    parameters.back().second.push_back(word.substr(value));
    begin = end + 1;
  }
  std::vector<std::string> all{""};
  for (const auto& [name, values] : parameters) {
    std::vector<std::string> longer;
    for (const std::string& before : all) {
      for (const std::string& value : values)
        longer.push_back(before + (before.empty() ? "" : ",") + name + value);
    }
    all = std::move(longer);
    if (all.size() > kMost)
      throw Error(ErrorKind::usage, "--set: " + in_quotes(text) + " is more than " +
                                        std::to_string(kMost) + " problems");
  }
  std::vector<std::map<std::string, std::string>> made;
  for (const std::string& one : all) {
    made.push_back(options);
    made.back()["set"] = one;
  }
  return made;
}

std::string make_template(DeviceResources& device,
                          const SuiteInfo::Descriptors::TemplateRequest& from) {
  return skeleton(device, from);
}

std::unique_ptr<Workload> make(const SuiteParams& params) {
  return std::make_unique<KernelWorkload>(params);
}

}  // namespace

SuiteInfo kernel_suite() {
  using Option = SuiteOption::Kind;
  SuiteInfo info;
  info.name = "kernel";
  info.summary = "An OpenCL kernel of your own, which a small file describes, split by its items";
  info.size_name = "n";
  info.default_size = 1 << 22;
  info.quick_size = 1 << 16;
  info.options = {
      {"kernel", "Descriptor of a kernel, or the name of an example", example_names(),
       Option::file},
      {"set",
       "Values of the descriptor's parameters, NAME=VALUE,..; NAME=1,2,4 makes one problem per "
       "value",
       {"none"},
       Option::text},
      {"define",
       "Define a macro of the kernel: NAME, or NAME=VALUE; may be repeated",
       {"none"},
       Option::list,
       'D',
       "NAME=VALUE"},
      {"include",
       "Folder of the kernel's #include; may be repeated",
       {"none"},
       Option::list,
       'I',
       "DIR"},
      {"build-options",
       "More options of the compiler, after those of the descriptor; ${n} is replaced, as there",
       {"none"},
       Option::text},
      {"guards",
       "Check trial slices before anything is measured, to catch a wrong argument map, with memory "
       "around each argument; wide: 64 MiB of it; exact: none, for tools that watch memory",
       {"on", "off", "wide", "exact"}},
      {"side-by-side",
       "Run stages side by side that do not depend on each other; off: one after another",
       {"on", "off"}},
  };
  info.input =
      "values of the first argument that is read: raw bytes, or a .npy matrix of float or double";
  info.modes = {Mode::resident, Mode::end_to_end};
  info.host_bytes = host_bytes;
  info.size_of_input = size_of_input;
  info.check = check;
  info.descriptors = {"kernel", problem_in, swept, make_template, "nbody", set_other_process};
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
