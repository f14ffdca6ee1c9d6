#include "suites/stencil/stencil_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/common/sha256_hex.hpp"
#include "suites/common/uniform_element.hpp"
#include "suites/stencil/reference.hpp"
#include "suites/stencil/stencil_program.hpp"

namespace mgpu::stencil {

StencilWorkload::StencilWorkload(const SuiteParams& params)
    : problem_(problem_of(params)),
      shape_(shape_of(problem_)),
      host_threads_(params.host_threads),
      pages_(kept_states() * problem_.host_bytes(), "the cells"),
      checkpoints_(problem_.layers(), problem_.checkpoint_rounds) {
  const std::span<std::byte> cells{pages_.data(), problem_.host_bytes()};
  if (params.input) {
    read_npy(*params.input, read_npy_shape(*params.input), cells);
    return;
  }
  const std::uint64_t row = problem_.n;
  auto* const values = reinterpret_cast<float*>(cells.data());
  parallel_for(problem_.cells() / row, host_threads_, [&](std::uint64_t i) {
    for (std::uint64_t x = i * row; x < (i + 1) * row; ++x) values[x] = uniform_element<float>(splitmix64(problem_.seed, x), false);
  });
}

Demand StencilWorkload::demand(const DeviceTraits&) const {
  Demand demand;
  demand.memory_bytes = 2.0 * sizeof(float) * shape_.ops;  // each cell read and written once in a step
  return demand;
}

Capacity StencilWorkload::capacity(const DeviceTraits& device, Mode) const {
  const Bytes layer = problem_.layer_bytes(), halos = StencilProgram::halo_layers(problem_) * layer;
  const unsigned states = StencilProgram::states(problem_);
  const Bytes one = std::min(device.max_allocation, device.global_memory / 10 * 9 / states);
  Capacity capacity;
  if (one > halos) capacity.fits = std::min<Items>(problem_.layers(), (one - halos) / layer);
  if (capacity.fits < problem_.layers()) {  // shared memory is of one size on all devices
    capacity = {};
    capacity.reason = fmt::format("it has no memory for {} states of {} layers of {} bytes", states, problem_.layers(), layer);
    return capacity;
  }
  capacity.pipeline = capacity.fits;
  capacity.resident = states * (capacity.fits * layer + halos);
  return capacity;
}

std::unique_ptr<DeviceProgram> StencilWorkload::program(DeviceResources& device, Mode mode, const Capacity&) {
  return std::make_unique<StencilProgram>(*this, device, mode);
}

void StencilWorkload::connect(PeerGroup& group) {
  for (auto& state : shared_) state = group.allocate(StencilProgram::state_bytes(problem_));
}

void StencilWorkload::disconnect() {
  for (auto& state : shared_) state.reset();
}

void StencilWorkload::own(std::span<const Owner> owners) {
  owners_.assign(owners.begin(), owners.end());
  if (owners.size() < 2) return;
  for (const Owner& owner : owners) {
    if (owner.items.size() >= problem_.depth) continue;
    throw Error(ErrorKind::unsupported, fmt::format("a share of {} layers is less than the {} that its neighbours need of it "
                                                    "(--depth)",
                                                    owner.items.size(), problem_.depth));
  }
}

bool StencilWorkload::move(std::span<const Owner> owners) {
  const auto has_too_few = [&](const Owner& owner) { return owner.items.size() < problem_.depth; };
  if (std::any_of(owners.begin(), owners.end(), has_too_few)) return false;
  owners_.assign(owners.begin(), owners.end());
  return true;
}

StencilWorkload::Neighbours StencilWorkload::neighbours(const Slice& share) const {
  const auto mine = std::find_if(owners_.begin(), owners_.end(), [&](const Owner& owner) { return owner.items == share; });
  if (owners_.size() < 2 || mine == owners_.end()) return {};
  Neighbours neighbours;
  if (mine != owners_.begin()) {
    neighbours.before = &*std::prev(mine);
  } else if (problem_.periodic()) {
    neighbours.before = &owners_.back();
  }
  if (std::next(mine) != owners_.end()) {
    neighbours.after = &*std::next(mine);
  } else if (problem_.periodic()) {
    neighbours.after = &owners_.front();
  }
  return neighbours;
}

void StencilWorkload::begin_sample() {
  checkpoints_.begin_sample();
  begin_again();
}

void StencilWorkload::begin_again() {
  checkpoints_.forget_incomplete();
  begun_from_ = checkpoints_.complete();
  ++sample_;
  arrived_.assign(problem_.layers(), false);
  if (!std::exchange(looked_at_, false)) return;
  std::memset(result().data(), 0xff, result().size());  // not a number
}

void StencilWorkload::arrived(const Slice& layers) {
  const std::scoped_lock lock(mutex_);
  std::fill(arrived_.begin() + static_cast<std::ptrdiff_t>(layers.begin),
            arrived_.begin() + static_cast<std::ptrdiff_t>(layers.end), true);
}

std::string StencilWorkload::digest() const { return sha256_hex({pages_.data() + problem_.host_bytes(), problem_.host_bytes()}); }

Verdict StencilWorkload::verify(VerifyLevel level, std::uint64_t) {
  if (level == VerifyLevel::off) return {};
  looked_at_ = true;
  const std::string method = "every cell, bit for bit, with a plain loop on the host";
  if (const auto missing = std::count(arrived_.begin(), arrived_.end(), false); missing > 0) {
    return {Verdict::Status::failed, method, fmt::format("{} of {} layers did not arrive on the host", missing, problem_.layers())};
  }
  if (!expected_) expected_ = reference(problem_, floats(initial()), host_threads_);
  const std::span<const float> result = floats(this->result());
  if (std::memcmp(result.data(), expected_->data(), result.size_bytes()) == 0) return {Verdict::Status::passed, method, ""};
  std::uint64_t wrong = 0, first = 0;
  for (std::uint64_t i = result.size(); i-- > 0;) {
    if (std::memcmp(&result[i], &(*expected_)[i], sizeof(float)) == 0) continue;
    ++wrong;
    first = i;
  }
  const std::uint64_t row = first / problem_.n, layer = first / problem_.cells_of_layer();
  return {Verdict::Status::failed, method,
          fmt::format("{} of {} cells are wrong, the first in layer {}, row {}, column {}: {} instead of {}", wrong, result.size(),
                      layer, row % problem_.rows_of_layer(), first % problem_.n, result[first], (*expected_)[first])};
}

void StencilWorkload::write_result(const std::filesystem::path& file) const {
  write_npy(file, {problem_.cells() / problem_.n, problem_.n, sizeof(float)},
            {pages_.data() + problem_.host_bytes(), problem_.host_bytes()});
}

}  // namespace mgpu::stencil
