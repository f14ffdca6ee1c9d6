#include "suites/kernel/other_process.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "suites/kernel/examples.hpp"

namespace mgpu::kernel {
namespace {

SuiteInfo::Descriptors::OtherProcess& other_process() {
  static SuiteInfo::Descriptors::OtherProcess run;
  return run;
}

}  // namespace

void set_other_process(SuiteInfo::Descriptors::OtherProcess run) {
  other_process() = std::move(run);
}

void refuse_a_crash(const SuiteParams& params, const Problem& problem) {
  const auto given = params.options.find("kernel");
  const auto& examples = example_names();
  if (!other_process() || given == params.options.end() ||
      std::find(examples.begin(), examples.end(), given->second) != examples.end())
    return;
  const SuiteInfo::Descriptors::OtherEnd end = other_process()(params);
  if (!end.crashed) return;
  std::string what = end.said.empty()
                         ? fmt::format(
                               "{}: its kernels ended the process in which they were tried "
                               "with n = {}",
                               problem.descriptor.file, problem.n)
                         : end.said;
  SuiteParams wide = params;
  wide.options["guards"] = "wide";
  if (const auto found = other_process()(wide); !found.crashed && !found.said.empty()) {
    const std::string file = problem.descriptor.file + ": ";
    what += "; with more memory around the arguments: " +
            found.said.substr(found.said.starts_with(file) ? file.size() : 0);
  }
  throw Error(ErrorKind::input,
              fmt::format("{}; the line: mgpu-bench run --kernel {} --check-memory", what,
                          shell_word(given->second)));
}

}  // namespace mgpu::kernel
