#include "suites/pac/layout.hpp"

#include <algorithm>

#include "lib/base/quantity.hpp"
#include "suites/common/block_tree.hpp"

namespace mgpu::pac {
namespace {

constexpr Bytes least_buffer = 64;  // buffers must not be empty
constexpr Bytes complex_bytes = 2 * sizeof(float);

// Returns the number of series in a slice of `items` items.
std::uint64_t series_of(const Problem& problem, Items items) {
  return problem.axis == Axis::batch     ? items * problem.channels
         : problem.axis == Axis::channel ? items * problem.batch
                                         : problem.series();
}

void fill_chunk(Layout& plan, const Problem& problem, std::uint64_t chunk) {
  const std::uint64_t t = problem.samples, phases = chunk * problem.phase.count,
                      amplitudes = chunk * problem.amplitude.count;
  plan.chunk = chunk;
  plan.spectra = chunk * (t / 2 + 1) * complex_bytes;
  plan.bins = phases * t;
  plan.counts = plan.weights = phases * problem.bins * sizeof(std::uint32_t);
  plan.sizes = amplitudes * t * sizeof(std::uint16_t);
  plan.totals = amplitudes * sizeof(std::uint32_t);
  plan.order = plan.method == Method::direct ? phases * t * sizeof(std::uint16_t) : 0;
  plan.transforms = plan.method != Method::direct
                        ? ((problem.bins - 1) * phases + amplitudes) * t * sizeof(std::uint32_t)
                        : 0;
}

Bytes of_chunk(const Layout& plan) {
  return plan.spectra + plan.bins + plan.counts + plan.weights + plan.sizes + plan.totals +
         plan.order + plan.transforms;
}

}  // namespace

// Chooses the default by the work: transforms compute all shifts with about 60 instructions per
// sample and bin; the direct method takes a read and an addition per sample and shift, at the rate
// of reads with bank conflicts. On a CPU (2 cores of an EPYC, 200 surrogates of 2048 samples)
// direct computes 1.84 million indices per second, the two transform methods 0.23 and 0.36.
std::vector<Method> methods(const DeviceTraits& device, const Problem& problem) {
  std::vector<Method> all;
  for (const Method method : {Method::transform, Method::transform_local}) {
    if (!can_transform(problem)) break;
    const TransformShape shape = transform_shape(problem, method, 1);
    if (shape.group() <= device.max_work_group && shape.local_memory() <= device.local_memory)
      all.push_back(method);
  }
  const bool few = device.cpu || problem.surrogates < problem.samples / 32;
  all.insert(few ? all.begin() : all.end(), Method::direct);
  if (problem.method) std::erase_if(all, [&](Method method) { return method != *problem.method; });
  return all;
}

FilterShape filter_shape(const DeviceTraits& device, const Problem& problem) {
  FilterShape shape;
  const std::uint64_t butterflies = std::max<std::uint64_t>(problem.samples / 4, 1);
  std::size_t local = 256;
  while (local > 32 && (local > butterflies || local > device.max_work_group)) local /= 2;
  shape.local = device.cpu ? 1 : std::min(local, device.max_work_group);
  shape.in_local = 2 * problem.samples * complex_bytes + most_bins * 8 * 4 <= device.local_memory;
  shape.groups = 4 * std::size_t{device.compute_units};
  return shape;
}

TransformShape transform_shape(const Problem& problem, Method method, std::uint32_t modulus) {
  TransformShape shape;
  const std::uint64_t length = problem.samples / modulus;
  shape.log2_length = block_tree::ceil_log2(length);
  shape.items = length / 16;
  shape.pairs = std::max<std::size_t>(1, 128 / shape.items);
  for (unsigned pass = method == Method::transform_local ? 0 : 1; pass < shape.log2_length / 4;
       ++pass)
    shape.local_roots += 15 * (std::size_t{1} << (shape.log2_length - 4 * (pass + 1)));
  return shape;
}

// Two arrays per transform, roots and moments, as in kernels/pac_transform.cl.
Bytes TransformShape::local_memory() const {
  return 2 * pairs * padded() * sizeof(std::uint32_t) + std::max<std::size_t>(1, local_roots) * 8 +
         group() * sizeof(Moments);
}

Bytes Layout::total() const {
  return slots * (input + moments) + of_chunk(*this) + scratch + tables;
}

Bytes Layout::largest() const {
  return std::max(
      {input, moments, spectra, bins, counts, sizes, totals, order, transforms, scratch, tables});
}

Layout layout(const DeviceTraits& device, const Problem& problem, Method method, Mode mode,
              Items fits) {
  Layout plan;
  plan.method = method;
  const bool slices = mode == Mode::end_to_end && problem.axis != Axis::permutation;
  const std::uint64_t at_once = series_of(problem, fits),
                      held = slices ? at_once : problem.series();
  plan.slots = slices ? 2 : 1;
  plan.input = std::max(least_buffer, held * problem.series_bytes());
  plan.moments = std::max(least_buffer, held * problem.pairs() * sizeof(Moments));
  const std::uint64_t half = problem.samples / 2 + 1,
                      bands = problem.phase.count + problem.amplitude.count;
  // Tables of roots have the length of the longest transform, for both directions and every
  // modulus.
  plan.tables = problem.samples * complex_bytes + bands * half * sizeof(float) + 4096 +
                problem.samples * 8 +
                (method != Method::direct ? shift_classes * 2 * problem.samples * 8 : 0);
  const FilterShape filter = filter_shape(device, problem);
  plan.scratch =
      filter.in_local ? least_buffer : filter.groups * 2 * problem.samples * complex_bytes;
  // A few GB keep a GPU busy for so long that its partly filled last wave is negligible: 2048
  // series of the preset are 3 GB, that is 20,000 work-groups per phase band for 132 x 4 slots.
  const Bytes budget =
      device.cpu ? Bytes{64} << 20 : std::min<Bytes>(Bytes{4} << 30, device.global_memory / 8);
  fill_chunk(plan, problem, 1);
  const Bytes one = of_chunk(plan);
  const Bytes one_largest =
      std::max({plan.spectra, plan.bins, plan.sizes, plan.order, plan.transforms});
  std::uint64_t chunk = std::min(budget / one, device.max_allocation / one_largest);
  // All kernels number work-items and work-groups with 32 bits.
  chunk = std::min<std::uint64_t>(
      chunk, (std::uint64_t{1} << 28) / (problem.pairs() + problem.bins * bands));
  fill_chunk(plan, problem,
             std::clamp<std::uint64_t>(chunk, 1, std::max<std::uint64_t>(1, at_once)));
  return plan;
}

Capacity capacity(const DeviceTraits& device, const Problem& problem, Method method, Mode mode) {
  Capacity capacity;
  capacity.fits = problem.items();
  if (problem.in_files && mode == Mode::end_to_end) capacity.fits = problem.staged();
  const Bytes usable = device.usable_memory();
  const auto too_large = [&](const Layout& plan) {
    return plan.largest() > device.max_allocation || plan.total() > usable;
  };
  Layout plan = layout(device, problem, method, mode, capacity.fits);
  const bool slices = plan.slots == 2;
  while (slices && capacity.fits > 1 && too_large(plan)) {
    capacity.fits = (capacity.fits + 1) / 2;
    plan = layout(device, problem, method, mode, capacity.fits);
  }
  const bool batch_fits = !slices || capacity.fits >= std::min(problem.at_once, problem.items());
  if (too_large(plan) || !batch_fits) {
    if (!batch_fits) plan = layout(device, problem, method, mode, problem.at_once);
    capacity.fits = 0;
    capacity.reason = "series, results and what is between them take " +
                      format_bytes(static_cast<double>(plan.total())) + " (largest buffer " +
                      format_bytes(static_cast<double>(plan.largest())) + "); the device has " +
                      format_bytes(static_cast<double>(device.global_memory)) +
                      " (largest buffer " +
                      format_bytes(static_cast<double>(device.max_allocation)) + ")";
    return capacity;
  }
  capacity.resident = plan.total();
  capacity.pipeline = capacity.fits;
  // A few pieces let copies overlap kernels. Each is at least a chunk, since smaller ones do not
  // fill the device.
  if (slices) {
    const Items of_chunk =
        std::max<Items>(1, plan.chunk / std::max<std::uint64_t>(1, series_of(problem, 1)));
    capacity.pipeline = std::clamp<Items>(
        problem.at_once > 0 ? problem.at_once : std::max((problem.items() + 7) / 8, of_chunk), 1,
        capacity.fits);
  }
  return capacity;
}

}  // namespace mgpu::pac
