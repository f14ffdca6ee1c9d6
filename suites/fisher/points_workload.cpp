#include "suites/fisher/points_workload.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/parallel_for.hpp"
#include "suites/common/sha256_hex.hpp"
#include "suites/fisher/demand.hpp"
#include "suites/fisher/limits.hpp"
#include "suites/fisher/points_kernels.hpp"
#include "suites/fisher/points_program.hpp"
#include "suites/fisher/points_reference.hpp"

namespace mgpu::fisher {
namespace {

Bytes output_bytes(const Problem& problem) {
  return problem.points * problem.triangle() * problem.element();
}

}  // namespace

Shape PointsWorkload::shape_of(const Problem& problem) {
  Shape shape;
  shape.result_on_devices = true;
  shape.items = items_of(problem);
  shape.unit = {"points", problem.points};
  shape.ops = static_cast<double>(problem.points);
  shape.rate_unit = "matrices/s";
  shape.bytes_in = problem.input_bytes();
  shape.bytes_out = output_bytes(problem);
  shape.spread_cost();
  shape.cost.ops = shape.ops * work_of_point(problem) / static_cast<double>(shape.items);
  shape.work_unit = problem.regime == Regime::closed ? "entries/s" : "operations/s";
  return shape;
}

PointsWorkload::PointsWorkload(const SuiteParams& params)
    : problem_(problem_of(params)),
      host_threads_(params.host_threads),
      data_(problem_, params, output_bytes(problem_)),
      shape_(shape_of(problem_)),
      refused_(params.input ? beyond_precision(problem_, data_.input(), params.input->string())
                            : ""),
      arrivals_(shape_.items, host_threads_) {}

Bytes PointsWorkload::host_bytes(const Problem& problem) {
  return HostData::bytes(problem, output_bytes(problem));
}

Capacity PointsWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  return refused_.empty() ? points_capacity(device, problem_, mode) : Capacity{0, 0, 0, refused_};
}

std::unique_ptr<DeviceProgram> PointsWorkload::program(DeviceResources& device, Mode mode,
                                                       const Capacity& capacity) {
  return std::make_unique<PointsProgram>(*this, device, mode, capacity.fits);
}

std::uint64_t PointsWorkload::first_point(Items item) const {
  return std::min(item * points_of_item(problem_), problem_.points);
}

std::string PointsWorkload::digest() const { return sha256_hex(data_.result()); }

double PointsWorkload::element(std::uint64_t point, std::uint64_t place) const {
  const std::byte* const at =
      data_.result().data() + (point * problem_.triangle() + place) * problem_.element();
  return problem_.wide ? *reinterpret_cast<const double*>(at)
                       : static_cast<double>(*reinterpret_cast<const float*>(at));
}

Verdict PointsWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  if (level == VerifyLevel::off) return {};
  if (const auto missing = arrivals_.look("parts of the matrices")) return *missing;
  return passed_.of(level, seed, digest(),
                    [&] { return compare(level == VerifyLevel::full, seed); });
}

// Checks whole matrices: all, or as many as each thread checks in a tenth of a second, evenly
// spread with a random start.
Verdict PointsWorkload::compare(bool full, std::uint64_t seed) {
  const PointsReference reference(problem_, data_.input());
  const double budget = 0.1 * host_threads_ / reference.seconds_a_point();
  const std::uint64_t in_sample =
      std::min(problem_.points, static_cast<std::uint64_t>(std::clamp(budget, 64.0, 1e9)));
  const std::uint64_t count = full ? problem_.points : in_sample;
  const HostWork work{
      "matrices", problem_.points,
      full && in_sample < problem_.points ? std::to_string(in_sample) + " of them" : ""};
  const std::uint64_t step = std::max<std::uint64_t>(1, ceil_div(problem_.points, count));
  const std::uint64_t start = std::mt19937_64(seed)() % step;
  const std::uint64_t checked =
      start >= problem_.points ? 0 : (problem_.points - start - 1) / step + 1;
  std::vector<std::string> messages(checked);
  watched_for(host_watch(), work, checked, host_threads_, [&](std::uint64_t n) {
    const std::uint64_t point = start + n * step;
    messages[n] =
        reference.check(point, [&](std::uint64_t place) { return element(point, place); });
  });
  Verdict verdict{Verdict::Status::passed, "", ""};
  verdict.method =
      std::to_string(checked) + " of " + std::to_string(problem_.points) + " matrices in " +
      (problem_.regime == Regime::closed ? "80-bit floats, special functions by Boost.Math"
                                         : "float64, from the same random words");
  const auto wrong = std::find_if(messages.begin(), messages.end(),
                                  [](const std::string& message) { return !message.empty(); });
  if (wrong != messages.end()) {
    verdict.status = Verdict::Status::failed;
    verdict.message = *wrong;
  }
  return verdict;
}

void PointsWorkload::write_result(const std::filesystem::path& file) const {
  const std::uint64_t dim = problem_.dim;
  std::vector<double> all(problem_.points * dim * dim);
  parallel_for(problem_.points, host_threads_, [&](std::uint64_t point) {
    double* const matrix = all.data() + point * dim * dim;
    std::uint64_t place = 0;
    for (std::uint64_t i = 0; i < dim; ++i) {
      for (std::uint64_t j = i; j < dim; ++j)
        matrix[i * dim + j] = matrix[j * dim + i] = element(point, place++);
    }
  });
  write_npy(file, {problem_.points, dim * dim, sizeof(double)}, std::as_bytes(std::span(all)));
}

}  // namespace mgpu::fisher
