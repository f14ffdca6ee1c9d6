// Launches of kernels/pac_filter.cl.
#include <algorithm>

#include "suites/common/block_tree.hpp"
#include "suites/pac/kernel_options.hpp"
#include "suites/pac/stages.hpp"

namespace mgpu::pac {
namespace {

constexpr char filter_file[] = "pac_filter.cl";
constexpr std::size_t counters_of_bin = 8;  // COUNTERS of kernels/pac_filter.cl

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

std::string kernel_options(const Problem& problem) {
  const std::string samples = std::to_string(problem.samples);
  std::string log2_bins(32, '\0');
  log2_bins.resize(static_cast<std::size_t>(std::snprintf(
      log2_bins.data(), log2_bins.size(), "%.9gf", std::log2(static_cast<double>(problem.bins)))));
  if (log2_bins.find('.') == std::string::npos) log2_bins.insert(log2_bins.size() - 1, ".0");
  // A length that is no power of two is rounded down to one, since the value is only a scale.
  const unsigned log2_samples = block_tree::ceil_log2(problem.samples + 1) - 1;
  return "-DSAMPLES=" + samples + "u -DLOG2_SAMPLES=" + std::to_string(log2_samples) +
         " -DBINS=" + std::to_string(problem.bins) + " -DLOG2_BINS=" + log2_bins +
         " -DSIZE_BITS=" + std::to_string(size_bits(problem));
}

Filter::Filter(DeviceResources& device, const Problem& problem, const Layout& layout)
    : problem_(problem),
      shape_(filter_shape(device.traits(), problem)),
      tables_(filter_tables(problem)) {
  const std::string options = kernel_options(problem) +
                              (problem.power_of_two() ? " -DPOWER_OF_TWO" : "") +
                              (shape_.in_local ? " -DIN_LOCAL" : "") +
                              " -DINDEX=" + std::to_string(static_cast<int>(problem.index));
  spectrum_ = device.kernel(filter_file, "spectrum", options);
  phases_ = device.kernel(filter_file, "phases", options);
  amplitudes_ = device.kernel(filter_file, "amplitudes", options);
  weigh_ = device.kernel(filter_file, "weigh", options);
  local_ = group_of(shape_.local, *spectrum_, *phases_, *amplitudes_);
  const std::uint64_t half = problem.samples / 2 + 1;
  roots_ = device.allocate(bytes_of(tables_.roots).size());
  directions_ = device.allocate(bytes_of(tables_.directions).size());
  responses_ = device.allocate(problem.phase.count * half * sizeof(float));
  amplitude_responses_ = device.allocate(problem.amplitude.count * half * sizeof(float));
  ranges_ = device.allocate(problem.phase.count * sizeof(Uint2));
  amplitude_ranges_ = device.allocate(problem.amplitude.count * sizeof(Uint2));
  spectra_ = device.allocate(layout.spectra);
  bins_ = device.allocate(layout.bins);
  counts_ = device.allocate(layout.counts);
  weights_ = device.allocate(layout.weights);
  sizes_ = device.allocate(layout.sizes);
  totals_ = device.allocate(layout.totals);
  scratch_ = device.allocate(layout.scratch);
}

void Filter::upload(Stream& stream) {
  if (there_) return;
  there_ = true;
  stream.upload(*roots_, 0, bytes_of(tables_.roots));
  stream.upload(*directions_, 0, bytes_of(tables_.directions));
  const auto responses = bytes_of(tables_.responses), ranges = bytes_of(tables_.ranges);
  stream.upload(*responses_, 0, responses.first(responses_->size()));
  stream.upload(*amplitude_responses_, 0, responses.last(amplitude_responses_->size()));
  stream.upload(*ranges_, 0, ranges.first(ranges_->size()));
  stream.upload(*amplitude_ranges_, 0, ranges.last(amplitude_ranges_->size()));
}

KernelArg Filter::scratch() const {
  if (!shape_.in_local) return scratch_.get();
  return LocalBytes{2 * problem_.samples * sizeof(Float2)};
}

Grid Filter::grid(std::uint64_t pieces) const {
  const std::uint64_t groups =
      shape_.in_local ? pieces : std::min<std::uint64_t>(pieces, shape_.groups);
  return grid_of(groups * local_, local_);
}

void Filter::enqueue(const Chunk& chunk, Stream& stream) {
  const std::uint32_t count = chunk.count,
                      phases = static_cast<std::uint32_t>(problem_.phase.count),
                      amplitudes = static_cast<std::uint32_t>(problem_.amplitude.count),
                      bins = problem_.bins;
  stream.launch(*spectrum_, grid(count),
                {chunk.input, chunk.rows.width, chunk.rows.stride, chunk.rows.offset, chunk.first,
                 count, roots_.get(), spectra_.get(), scratch()});
  stream.launch(*phases_, grid(std::uint64_t{count} * phases),
                {spectra_.get(), count, phases, responses_.get(), ranges_.get(), roots_.get(),
                 directions_.get(), bins_.get(), counts_.get(), scratch(),
                 LocalBytes{bins * counters_of_bin * sizeof(std::uint32_t)}});
  stream.launch(*amplitudes_, grid(std::uint64_t{count} * amplitudes),
                {spectra_.get(), count, amplitudes, amplitude_responses_.get(),
                 amplitude_ranges_.get(), roots_.get(), sizes_.get(), totals_.get(), scratch(),
                 LocalBytes{2 * sizeof(std::uint32_t)}});
  const std::uint64_t weights = std::uint64_t{count} * phases * bins;
  stream.launch(*weigh_, grid_of(*weigh_, weights, shape_.local),
                {counts_.get(), count, phases, weights_.get()});
}

}  // namespace mgpu::pac
