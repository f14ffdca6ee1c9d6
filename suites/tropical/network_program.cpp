#include "suites/tropical/network_program.hpp"

#include <algorithm>

#include "suites/common/build_option.hpp"

namespace mgpu::tropical {
namespace {

constexpr std::size_t local = 64;  // work-items of a work-group that has a weight each

}  // namespace

NetworkProgram::NetworkProgram(NetworkWorkload& workload, DeviceResources& device, Mode mode)
    : PartitionedProgram(workload, mode, workload.sums() ? device.peer() : nullptr),
      sums_(workload.sums(), device, workload.place_bytes()),
      landing_(problem_.result_bytes()) {
  const std::string options = define("WIDTH", problem_.width) + define("LAYERS", problem_.layers) +
                              define("MAXIMUM", problem_.maximum);
  const auto kernel = [&](const char* name) {
    return device.kernel("tropical_network.cl", name, options);
  };
  clear_ = kernel("clear_sums");
  train_ = kernel("train");
  descend_ = kernel("descend");
  inputs_ = device.allocate(problem_.sample_bytes());
  targets_ = device.allocate(problem_.sample_bytes());
  for (auto* const weights : {&initial_, &weights_[0], &weights_[1]})
    *weights = device.allocate(problem_.weights() * sizeof(float));
  losses_ = device.allocate(Bytes{problem_.steps} * 8);
}

void NetworkProgram::upload(const Slice& slice, Stream& stream) {
  const Samples samples = workload_.samples();
  const std::uint64_t width = problem_.width, first = slice.begin * width,
                      count = slice.size() * width;
  stream.upload(*inputs_, first * sizeof(float),
                std::as_bytes(samples.inputs.subspan(first, count)));
  stream.upload(*targets_, first * sizeof(float),
                std::as_bytes(samples.targets.subspan(first, count)));
  stream.upload(*initial_, 0, std::as_bytes(std::span(workload_.initial())));
}

void NetworkProgram::load(Stream& stream) { upload({0, problem_.samples}, stream); }

void NetworkProgram::enqueue(const Slice& slice, unsigned, Stream& stream) {
  settle(slice);
  const std::span<const Owner> owners = workload_.owners();
  const Owner* const self = owner_of(owners, slice);
  others_.clear();
  place_ = self == nullptr ? 0 : u32(static_cast<std::uint64_t>(self - owners.data()));
  places_ = self == nullptr ? 1 : u32(owners.size());
  if (self != nullptr) others_ = other_owners(owners, self->device);
  if (mode_ == Mode::end_to_end) upload(slice, stream);
  meet();  // peers have finished reading the sums of the previous sample
}

void NetworkProgram::enqueue_round(const Slice& slice, std::uint32_t step, Stream& stream) {
  const auto words = u32(workload_.place_bytes() / 4), count = u32(problem_.weights());
  Buffer &sums = sums_[step], &before = step == 0 ? *initial_ : weights_after(step);
  stream.launch(*clear_, grid_of(*clear_, words, local), {&sums, place_ * words, words});
  stream.launch(*train_, grid_of(slice.size() * problem_.width, problem_.width),
                {inputs_.get(), targets_.get(), &before, &sums, place_ * words, u32(slice.begin)});
  for (const DeviceIndex other : others_)
    peer_->put(sums, Bytes{place_} * words * 4, workload_.sums()[step], other,
               Bytes{place_} * words * 4, Bytes{words} * 4);
  // Sums of even and odd steps are in different buffers, so that one synchronisation per step
  // suffices.
  meet();
  stream.launch(*descend_, grid_of(*descend_, count + 2, local),
                {&sums, places_, words, &before, &weights_after(step + 1), losses_.get(), step,
                 problem_.scale(step)});
  if (step + 1 == problem_.steps && mode_ == Mode::end_to_end) bring_result(slice, stream);
}

void NetworkProgram::bring_result(const Slice&, Stream& stream) {
  const std::span<std::byte> all(landing_);
  const Bytes weights = problem_.weights() * sizeof(float);
  stream.download(weights_after(problem_.steps), 0, all.first(weights));
  stream.download(problem_.steps == 1 ? *initial_ : weights_after(problem_.steps - 1), 0,
                  all.subspan(weights, weights));
  stream.download(*losses_, 0, all.subspan(2 * weights));
}

void NetworkProgram::finished(const Slice& slice) { workload_.add_share(slice, landing_); }

}  // namespace mgpu::tropical
