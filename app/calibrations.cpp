// See the header.
#include "app/calibrations.hpp"

#include <algorithm>

#include "lib/base/embedded.hpp"
#include "lib/exec/calibration.hpp"

namespace mgpu {
namespace {

std::string kernel_text() {
  const auto kernels = embedded_kernels();
  const auto found =
      std::find_if(kernels.begin(), kernels.end(), [](const auto& text) { return text.file == kCalibrationKernels; });
  if (found == kernels.end()) throw Error(ErrorKind::internal, "there is no kernels/" + std::string(kCalibrationKernels));
  return std::string(found->text);
}

}  // namespace

CalibrationStore calibration_store(const Context& context) {
  const std::filesystem::path cache =
      context.invocation.settings.is_on("no-cache") ? std::filesystem::path() : cache_directory(context.environment);
  return CalibrationStore(cache.empty() ? cache : cache / "calibration",
                          {context.tool.version + " " + context.tool.git, kernel_text()});
}

CalibrationResult calibration_for_run(const Context& context, Backend& backend, std::span<const Device> devices) {
  const CalibrationStore store = calibration_store(context);
  if (context.invocation.settings.is_on("recalibrate")) return calibrate(backend, devices, store, true);
  return kept_calibration(devices, store);
}

}  // namespace mgpu
