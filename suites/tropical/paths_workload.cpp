#include "suites/tropical/paths_workload.hpp"

#include <algorithm>

#include "lib/base/quantity.hpp"
#include "suites/common/group_limits.hpp"
#include "suites/common/variants.hpp"
#include "suites/tropical/graph_file.hpp"
#include "suites/tropical/paths_program.hpp"
#include "suites/tropical/tropical_product.hpp"
#include "suites/tropical/weights.hpp"

namespace mgpu::tropical {

Shape shape_of(const Problem& problem) {
  const Blocks blocks = Blocks::of(problem.rows);
  const double n = static_cast<double>(problem.rows);
  Shape shape;
  shape.items = blocks.count();
  shape.unit = {"rows", problem.rows};
  shape.rounds = u32(blocks.count());
  shape.result_on_devices = true;
  shape.ops = 2 * n * n * n;
  shape.rate_unit = "Op/s";
  shape.bytes_in = problem.sizes().c_bytes();
  shape.bytes_out = shape.bytes_in + problem.sizes().path_bytes();
  shape.spread_cost();
  return shape;
}

Bytes host_bytes_of_paths(const Problem& problem) {
  return in_pages(2 * problem.sizes().c_bytes() + problem.sizes().path_bytes());
}

PathsWorkload::PathsWorkload(const Problem& problem, const SuiteParams& params)
    : PartitionedWorkload(problem, params, host_bytes_of_paths(problem),
                          "a graph of " + std::to_string(problem.rows) + " vertices"),
      blocks_(Blocks::of(problem.rows)) {
  results_ = {pages_.data() + one(), one() + problem.sizes().path_bytes()};
  check_route(problem_);
  problem_.integers ? fill<std::int32_t>(params) : fill<float>(params);
}

template <class Number>
void PathsWorkload::fill(const SuiteParams& params) {
  const std::span<Number> weights = as_numbers<Number>(std::span<std::byte>{pages_.data(), one()});
  if (params.input) {
    read_graph(*params.input, problem_, weights);
    take_from_file(*params.input, problem_, problem_.rows, weights);
  } else {
    fill_graph(problem_, weights, host_threads_);
  }
  potentials_ = potentials_of<Number>(problem_, weights);
  ordered_ = all_at_least_zero<Number>(weights, problem_.maximum, host_threads_);
}

Demand PathsWorkload::demand(const DeviceTraits& device) const {
  Demand demand;
  if (!problem_.integers) demand.fp32 = fp32_roof_share(ordered_ && device.nvidia) * shape_.ops;
  demand.memory_bytes =
      2.0 * static_cast<double>(shape_.rounds) * static_cast<double>(shape_.bytes_out);
  return demand;
}

Capacity PathsWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  if (candidates(device).empty())
    return no_kernel(device, problem_, candidates(without_limits(device)));
  Capacity capacity;
  const unsigned states = (mode == Mode::resident ? 2 : 1) + (problem_.paths ? 1 : 0);
  const unsigned panels =
      // One more is closed in parts; two are packed.
      (panels_at_once + 1) * (problem_.paths ? 2 : 1) + 2;
  capacity.resident = states * blocks_.state_bytes() + panels * blocks_.panel_bytes() +
                      2 * blocks_.count() * blocks_.edge * blocks_.edge * 4;
  if (blocks_.state_bytes() > device.max_allocation || capacity.resident > device.usable_memory()) {
    capacity.reason = "it has no memory for " + std::to_string(states) + " states of " +
                      format_bytes(static_cast<double>(blocks_.state_bytes()));
    if (mode == Mode::resident)
      capacity.reason += ", one of them the weights: try --mode end-to-end";
    return capacity;
  }
  capacity.fits = capacity.pipeline = blocks_.count();
  return capacity;
}

std::vector<Variant> PathsWorkload::candidates(const DeviceTraits& device) const {
  Problem padded = problem_;
  padded.columns = blocks_.stride();
  return variants(device, padded, geometry(), purpose(), preferred(device));
}

std::vector<std::string> PathsWorkload::kernel_variants(const DeviceTraits& device) const {
  return names_of(candidates(device), &Variant::name);
}

bool PathsWorkload::has_variant(const DeviceTraits& device, const std::string& variant) const {
  return is_a_variant(device, problem_, variant);
}

std::unique_ptr<DeviceProgram> PathsWorkload::program(DeviceResources& device, Mode mode,
                                                      const Capacity&) {
  return std::make_unique<PathsProgram>(
      *this, device, mode,
      choose_kernels(device, candidates(device.traits()), problem_, purpose()));
}

void PathsWorkload::connect(PeerGroup& group) {
  panels_.allocate(group, blocks_.panel_bytes(), panels_at_once);
  if (problem_.paths) panel_paths_.allocate(group, blocks_.panel_bytes(), panels_at_once);
}

template <class Number>
Finding PathsWorkload::check(bool whole, std::uint64_t seed) {
  const Lengths<Number> found{as_numbers<Number>(weights()),
                              as_numbers<Number>(std::span<const std::byte>(lengths())),
                              as_numbers<std::int32_t>(std::span<const std::byte>(before()))};
  Finding finding = check_paths(problem_, found, potentials_, whole, seed, host_threads_);
  if (finding.message.empty()) finding.method += route_text(problem_, found);
  return finding;
}

Verdict PathsWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  using Status = Verdict::Status;
  if (level == VerifyLevel::off) return {};
  if (const auto missing = arrivals_.look("blocks")) return *missing;
  const bool whole = level == VerifyLevel::full;
  const Finding finding =
      problem_.integers ? check<std::int32_t>(whole, seed) : check<float>(whole, seed);
  return {finding.message.empty() ? Status::passed : Status::failed, finding.method,
          finding.message};
}

void PathsWorkload::write_result(const std::filesystem::path& file) const {
  write_result_files(file, problem_, lengths(), before());
}

}  // namespace mgpu::tropical
