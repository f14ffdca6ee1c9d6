#include "suites/stencil/stencil_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "suites/common/finite.hpp"
#include "suites/stencil/blocks_program.hpp"
#include "suites/stencil/kernel_exchange.hpp"
#include "suites/stencil/persistent.hpp"
#include "suites/stencil/room.hpp"
#include "suites/stencil/stencil_program.hpp"

namespace mgpu::stencil {

StencilWorkload::StencilWorkload(const Problem& problem, const SuiteParams& params)
    : CheckpointedWorkload(problem, params, host_bytes(problem), "the cells"),
      held_(layers_of_piece(problem_, params.memory)) {
  const std::span<std::byte> cells{pages_.data(), problem_.host_bytes()};
  results_ = {pages_.data() + cells.size(), outcome_bytes(problem_)};
  if (params.input) {
    const NpyShape shape = read_npy_shape(*params.input);
    read_npy(*params.input, shape, cells);
    refuse_non_finite("--input " + params.input->string(), shape, cells);
  } else {
    fill_initial(problem_, cells, host_threads_);
  }
}

Demand StencilWorkload::demand(const DeviceTraits&) const {
  Demand demand;
  // A step reads and writes each cell once, and also the sums of a star; a norm reads two states.
  const double steps = problem_.steps * (problem_.kind == Kind::star ? 4.0 : 2.0) +
                       2.0 * static_cast<double>(problem_.checks());
  demand.memory_bytes = steps * static_cast<double>(problem_.host_bytes());
  return demand;
}

Bytes StencilWorkload::resident_bytes(Mode mode, std::uint64_t layers) const {
  const Bytes first = mode == Mode::resident ? whole_bytes() : state_bytes(layers),
              landing = problem_.columns > 1 ? 3 * most_landing(problem_) * problem_.element : 0;
  return first + (states(problem_) - 1) * state_bytes(layers) + problem_.change_bytes() + landing;
}

Capacity StencilWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  Capacity capacity;
  if (problem_.wide() && !device.fp64) {
    capacity.reason = "it has no fp64";
    return capacity;
  }
  const Bytes first = mode == Mode::resident ? whole_bytes() : state_bytes();
  capacity.resident = resident_bytes(mode, held_);
  if (std::max(first, state_bytes()) > device.max_allocation ||
      capacity.resident > device.usable_memory()) {
    capacity.reason = fmt::format("it has no memory for {} states of {} layers of {} bytes",
                                  states(problem_), held_, problem_.layer_bytes());
    if (first > state_bytes())
      capacity.reason +=
          fmt::format(", the initial one of {}: try --mode end-to-end", problem_.layers());
    return capacity;
  }
  capacity.fits = capacity.pipeline = held_ * problem_.columns;
  return capacity;
}

std::unique_ptr<DeviceProgram> StencilWorkload::program(DeviceResources& device, Mode mode,
                                                        const Capacity&) {
  if (problem_.columns > 1) return std::make_unique<BlocksProgram>(*this, device, mode);
  return std::make_unique<StencilProgram>(*this, device, mode);
}

void StencilWorkload::connect(PeerGroup& group) {
  const bool cpus = group.peer({0}).path({1}) == PeerPath::host;
  if (problem_.halo_way == HaloWay::kernels || (problem_.halo_way == HaloWay::chosen && !cpus))
    halos_ = group.allocate_reachable(KernelExchange::mail_bytes(problem_));
  if (problem_.halo_way == HaloWay::kernels && !halos_)
    throw Error(ErrorKind::unsupported,
                "--exchange kernels: kernels of these devices reach no memory in common; expected: "
                "auto, puts");
  try {
    shared_.allocate(group, state_bytes());
  } catch (const Error& error) {
    if (!halos_ || error.kind() != ErrorKind::unsupported) throw;
  }
  if (problem_.launches != Launches::enqueued)
    mail_ = group.allocate(Persistent::mail_bytes(problem_));
  rooms_.clear();
  if (problem_.columns > 1) landing_.allocate(group, most_landing(problem_) * problem_.element);
}

void StencilWorkload::disconnect() {
  shared_.free();
  landing_.free();
  mail_.reset();
  halos_.reset();
}

void StencilWorkload::set_partition(std::span<const Owner> owners) {
  CheckpointedWorkload::set_partition(owners);
  transfers_.clear();
  persistent_ = decide_persistent();
  if (problem_.launches == Launches::persistent) check_persistent();
  if (owners.size() < 2) return;
  if (halos_ && !have_cores())
    throw Error(ErrorKind::unsupported,
                "--exchange kernels: CPU devices that share cores cannot wait for each other; "
                "expected: auto, puts");
  hides_waiting_ = problem_.overlap && std::none_of(rooms_.begin(), rooms_.end(),
                                                    [](const Room& room) { return room.held; });
  if (problem_.columns > 1) {
    transfers_ = transfers_among(problem_, owners);
    return;
  }
  check_shares(owners, problem_.halo(), "layers", problem_.kind == Kind::star ? "radius" : "depth");
}

void StencilWorkload::has_room(const Room& room) {
  const std::scoped_lock lock(mutex_);
  rooms_.push_back(room);
}

// Tells whether all owners have room. CPU devices that share cores run only some of their
// work-groups at a time, whatever each can run alone.
bool StencilWorkload::decide_persistent() const {
  if (problem_.launches == Launches::enqueued || owners_.size() < 2 || !shared_) return false;
  for (const Owner& owner : owners_) {
    const auto room = std::find_if(rooms_.begin(), rooms_.end(),
                                   [&](const Room& each) { return each.device == owner.device; });
    if (room == rooms_.end() || room->among_others < owner.items.size()) return false;
  }
  return have_cores();
}

bool StencilWorkload::have_cores() const {
  unsigned cores = 0;
  for (const Room& room : rooms_) {
    const auto is_its = [&](const Owner& owner) { return owner.device == room.device; };
    if (std::any_of(owners_.begin(), owners_.end(), is_its)) cores += room.cores;
  }
  return cores <= host_threads_;
}

void StencilWorkload::check_persistent() const {
  const auto fits = [&](const Room& room) {
    return owners_.empty() || room.alone >= owners_.front().items.size();
  };
  if (owners_.size() < 2 ? std::any_of(rooms_.begin(), rooms_.end(), fits) : persistent_) return;
  throw Error(ErrorKind::unsupported, owners_.size() > 1
                                          ? "--steps persistent: not all work-groups stay on these "
                                            "devices together and reach each other's "
                                            "memory; expected: auto, enqueued"
                                          : "--steps persistent: not all work-groups stay on the "
                                            "device together; expected: auto, enqueued");
}

// Devices that exchange layers use the same kernels. A slice without an owner measures the cost of
// items; it is persistent only if its device has room for all layers.
bool StencilWorkload::is_persistent(const Slice& slice, std::uint64_t alone) const {
  return owners_.size() > 1
             ? persistent_
             : std::max(slice.size(), owners_.empty() ? problem_.layers() : 0) <= alone;
}

bool StencilWorkload::repartition(std::span<const Owner> owners) {
  if (problem_.kind == Kind::star || problem_.columns > 1 || problem_.checks() > 0 || !shared_)
    return false;
  for (const Owner& owner : owners)
    if (owner.items.size() < problem_.halo() || owner.items.size() > held_) return false;
  CheckpointedWorkload::set_partition(owners);
  persistent_ = decide_persistent();
  return true;
}

StencilWorkload::Checkpoint StencilWorkload::checkpoint(std::uint32_t steps) const {
  std::byte* const at =
      results_.data() + results_.size() + place(steps) * checkpoint_bytes(problem_);
  const Bytes size = problem_.host_bytes(), sums = problem_.kind == Kind::star ? size : 0;
  return {{at, size}, {at + size, sums}, {at + size + sums, problem_.change_bytes()}};
}

void StencilWorkload::restart() {
  first_number_ += problem_.steps + 1;
  was_persistent_ = was_by_kernels_ = false;
  CheckpointedWorkload::restart();
}

std::string StencilWorkload::told() const {
  if (problem_.checks() == 0) return {};
  const std::byte* const sums = changes().data();
  const Bytes one = problem_.layers() * problem_.element;
  const std::string first = fmt::format("; norm of the change: {:.6g} in step {}",
                                        norm_of(problem_, sums), problem_.check_every);
  if (problem_.checks() == 1) return first;
  return fmt::format("{}, {:.6g} in step {}", first,
                     norm_of(problem_, sums + (problem_.checks() - 1) * one),
                     problem_.checks() * problem_.check_every);
}

Verdict StencilWorkload::verify(VerifyLevel level, std::uint64_t) {
  using Status = Verdict::Status;
  if (level == VerifyLevel::off) return {};
  if (const auto missing = arrivals_.look("items")) return *missing;
  std::string method = "every cell, bit for bit, with a plain loop on the host";
  if (problem_.checks() > 0)
    method = "every cell and norm, bit for bit, with plain loops on the host";
  if (!expected_) {
    Reference made = reference(problem_, initial(), host_threads_, host_watch());
    const std::string overflow =
        told_non_finite("of the result, as a plain loop on the host has it",
                        {problem_.cells() / problem_.n, problem_.n, problem_.element},
                        {made.cells.data(), result().size()});
    if (!overflow.empty())
      throw Error(ErrorKind::input,
                  "--input holds values that are too large for so many steps: " + overflow);
    expected_ = std::move(made);
  }
  const std::span<const std::byte> cells = result(), sums = changes();
  if (std::memcmp(cells.data(), expected_->cells.data(), cells.size()) != 0)
    return {Status::failed, method, first_wrong_cell()};
  if (!std::equal(sums.begin(), sums.end(), expected_->changes.begin(), expected_->changes.end()))
    return {Status::failed, method, "a norm of the change is wrong, of cells that are right"};
  if (const auto known = compare_closed_form(problem_, cells, host_threads_)) {
    method += "; and with " + known->name;
    if (!known->wrong.empty()) return {Status::failed, method, known->wrong};
  }
  if (was_persistent_) method += "; steps by persistent kernels";
  if (was_by_kernels_) method += "; halos exchanged by the kernels of steps";
  return {Status::passed, method + told(), ""};
}

std::string StencilWorkload::first_wrong_cell() {
  const std::byte *const cells = result().data(), *const expected = expected_->cells.data();
  std::uint64_t wrong = 0, first = 0;
  for (std::uint64_t i = problem_.cells(); i-- > 0;) {
    if (std::memcmp(cells + i * problem_.element, expected + i * problem_.element,
                    problem_.element) == 0)
      continue;
    ++wrong;
    first = i;
  }
  const auto value = [&](const std::byte* of) {
    const std::byte* const at = of + first * problem_.element;
    return problem_.wide() ? *reinterpret_cast<const double*>(at)
                           : static_cast<double>(*reinterpret_cast<const float*>(at));
  };
  const std::uint64_t row = first / problem_.n, layer = first / problem_.cells_of_layer();
  return fmt::format(
      "{} of {} cells are wrong, the first in layer {}, row {}, column {}: {} instead of {}", wrong,
      problem_.cells(), layer, row % problem_.rows_of_layer(), first % problem_.n, value(cells),
      value(expected));
}

void StencilWorkload::write_result(const std::filesystem::path& file) const {
  write_npy(file, {problem_.cells() / problem_.n, problem_.n, problem_.element}, result());
}

}  // namespace mgpu::stencil
