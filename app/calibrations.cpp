#include "app/calibrations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/terminal.hpp"
#include "lib/base/embedded.hpp"
#include "lib/base/quote.hpp"
#include "lib/measure/calibration.hpp"
#include "lib/predict/suite_rates.hpp"
#include "lib/session/kernel_variants.hpp"
#include "lib/session/planning.hpp"

namespace mgpu {
namespace {

std::string kernel_text() {
  const auto kernels = embedded_kernels();
  const auto found = std::find_if(kernels.begin(), kernels.end(), [](const auto& text) {
    return text.file == kCalibrationKernels;
  });
  if (found == kernels.end())
    throw Error(ErrorKind::internal, "there is no kernels/" + std::string(kCalibrationKernels));
  return std::string(found->text);
}

// Returns the options with these names that were given, as words of a command line.
std::string given_options(const Settings& settings, std::span<const std::string> names) {
  std::string words;
  for (const std::string& name : names)
    if (const Given* given = settings.find(name))
      words += fmt::format(" --{} {}", name, shell_word(given->value));
  return words;
}

}  // namespace

CalibrationStore calibration_store(const Context& context) {
  const std::filesystem::path cache = context.invocation.settings.is_on("no-cache")
                                          ? std::filesystem::path()
                                          : cache_directory(context.environment);
  return CalibrationStore(cache.empty() ? cache : cache / "calibration",
                          {context.tool.version + " " + context.tool.git, kernel_text()});
}

void calibrate_for_run(const Context& context, Backend& backend, std::span<const Device> devices,
                       SessionOptions& session, std::vector<std::string>& warnings, bool measures) {
  const CalibrationStore store = calibration_store(context);
  const Settings& settings = context.invocation.settings;
  const bool afresh = settings.is_on("recalibrate");
  const bool quiet = settings.has("quiet") && settings.is_on("quiet");
  const StepNotice begins = [&](const std::string& step) {
    if (!quiet) print_error("measuring " + step);
  };
  CalibrationResult result = afresh ? calibrate(backend, devices, store, true, begins)
                                    : cached_calibration(devices, store);
  // Predictions need the links of GPUs to the host and to each other; fractions of the roofline
  // need their rates. Measuring all of it takes about a second, once.
  bool missing = devices.size() > 1 && result.peers_origin == CalibrationOrigin::none &&
                 std::none_of(devices.begin(), devices.end(),
                              [](const Device& device) { return device.is_cpu(); });
  for (std::size_t i = 0; i < devices.size(); ++i)
    missing |= !devices[i].is_cpu() && result.origins[i] == CalibrationOrigin::none;
  session.first_use = missing && std::count(result.origins.begin(), result.origins.end(),
                                            CalibrationOrigin::cached) == 0;
  if (measures && missing && !settings.is_on("no-cache"))
    result = calibrate(backend, devices, store, false, begins);
  session.calibration = std::move(result.calibration);
  warnings.insert(warnings.end(), result.warnings.begin(), result.warnings.end());
  for (const Problem& problem : session.problems)
    add_cached_noise(problem, devices, store, session.noise, warnings);
  for (const Problem& problem : session.problems)
    session.variants.push_back(cached_variants(problem, devices, store, warnings));
  if (afresh) return;  // suite rates are then measured where they are needed
  for (const Problem& problem : session.problems)
    add_cached_rates(problem, devices, store, session.suite_rates, warnings);
}

void require_calibration(const Context& context, const SessionOptions& session) {
  const std::optional<std::string> missing = first_uncalibrated(session);
  if (!missing) return;
  const Problem& problem = session.problems.front();
  const std::string& suite = problem.suite->name;
  std::vector<std::string> names;
  for (const SuiteOption& option : problem.suite->options)
    if (option.kind != SuiteOption::Kind::flag) names.push_back(option.name);
  const Settings& settings = context.invocation.settings;
  const std::string options = given_options(settings, names);
  const std::string devices =
      given_options(settings, std::vector<std::string>{"devices", "sub-devices", "max-devices"});
  throw Error(ErrorKind::usage,
              fmt::format("plan: {0} has not been measured on device {1}; run first: mgpu-bench "
                          "calibrate {0}{2}",
                          suite + options, *missing, devices));
}

}  // namespace mgpu
