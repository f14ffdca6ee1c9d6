#include "suites/stencil/persistent.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "lib/base/error.hpp"

namespace mgpu::stencil {
namespace {

constexpr unsigned kMostAcross = 32;      // work-items of a group along x
constexpr unsigned kCellsOfRow = 4;       // cells per work-item
constexpr std::uint64_t kMostOfUnit = 4;  // most resident groups per compute unit
constexpr Bytes kStatusBytes = 2 * sizeof(std::uint32_t);

// Timeout of a group that waits for another one: in nanoseconds on NVIDIA GPUs, elsewhere in polls,
// each of which takes a GPU most of a microsecond and a CPU two nanoseconds. It has to be below
// half of the host's timeout, or a waiting device would count as hung.
struct Patience {
  std::uint64_t nvidia, gpu, cpu;
};
constexpr Patience kTrial{10'000'000, std::uint64_t{1} << 14, std::uint64_t{1} << 25};
constexpr Patience kSteps{5'000'000'000, std::uint64_t{1} << 22, std::uint64_t{1} << 28};

// Returns the size of a cell with the number of its step.
Bytes word_bytes(const Problem& problem) { return problem.wide() ? 16 : 8; }

}  // namespace

Bytes Persistent::mail_bytes(const Problem& problem) {
  constexpr std::uint64_t tile = kMostAcross * kCellsOfRow;
  return 4 * round_up(problem.n, tile) * word_bytes(problem);
}

Persistent::Persistent(const Problem& problem, DeviceResources& device, std::uint64_t least)
    : problem_(problem),
      nvidia_(device.traits().nvidia),
      cpu_(device.traits().cpu),
      across_(nvidia_ ? kMostAcross : 16) {
  const DeviceTraits& traits = device.traits();
  if (traits.held) return;
  status_ = device.allocate(kStatusBytes);
  const std::uint64_t most_of_unit = cpu_ ? 1 : kMostOfUnit;
  Bytes boxes = 0;
  for (Size& size : all_sizes()) {
    if (tiles(size, least) > traits.compute_units * most_of_unit ||
        traits.local_memory < local_bytes(size) || traits.max_work_group < items(size))
      continue;
    std::string options = std::string("-DREAL=") + (problem_.wide() ? "double -DWIDE" : "float") +
                          " -DACROSS=" + std::to_string(across_) +
                          " -DHIGH=" + std::to_string(size.high) +
                          " -DROWS=" + std::to_string(size.rows);
    if (nvidia_)
      options += " -DNVIDIA -cl-nv-maxrregcount=128";  // room for two groups of 256 work-items
    try {
      size.kernel = device.kernel("stencil_persistent.cl", "jacobi2d_persistent", options);
      for (std::uint64_t of_unit = most_of_unit; of_unit > 0 && size.resident == 0; --of_unit) {
        const std::uint64_t groups =
            std::min(traits.compute_units * of_unit, tiles(size, problem_.layers()));
        if (groups >= tiles(size, least) && is_resident(size, groups, device))
          size.resident = groups;
      }
    } catch (const Error& error) {  // an older compiler, for example; "auto" does without
      const bool of_kernel = error.kind() == ErrorKind::unsupported ||
                             (error.kind() == ErrorKind::device && size.kernel == nullptr);
      if (problem.launches == Launches::persistent || !of_kernel) throw;
      continue;
    }
    if (size.resident == 0) continue;
    boxes = std::max(boxes, size.resident * 2 * box_bytes(size));
    sizes_.push_back(std::move(size));
    if (most_rows() == problem_.layers()) break;  // a larger size would not be used
  }
  if (sizes_.empty()) return;
  boxes_ = device.allocate(boxes);
  const std::vector<std::byte> nothing(boxes);  // zeros: no step has number 0
  device.try_out([&](Stream& stream) {
    stream.upload(*status_, 0, std::span(nothing).first(kStatusBytes));
    stream.upload(*boxes_, 0, nothing);
  });
}

// Returns the sizes, starting with the one with the most groups per plane. On NVIDIA GPUs two
// groups of 256 work-items share a multiprocessor, so that one computes while the other waits; the
// last size is for shares that only fit with one group.
std::vector<Persistent::Size> Persistent::all_sizes() const {
  const auto size = [](unsigned high, unsigned rows) {
    Size made;
    made.high = high;
    made.rows = rows;
    return made;
  };
  std::vector<Size> all;
  if (cpu_) {
    all.push_back(size(problem_.wide() ? 8 : 16, 8));
    return all;
  }
  for (const unsigned rows : {4U, 8U}) all.push_back(size(8, rows));
  if (problem_.wide()) return all;
  all.push_back(size(8, 16));
  if (nvidia_) all.push_back(size(16, 16));
  return all;
}

Bytes Persistent::box_bytes(const Size& size) const {
  return 2 * (Bytes{across_} * kCellsOfRow + size.tile_high()) * word_bytes(problem_);
}

Bytes Persistent::local_bytes(const Size& size) const {
  const Bytes of_group = items(size),
              around = 2 * (Bytes{across_} * kCellsOfRow + size.tile_high());
  return 2 * problem_.element *
         (around + of_group * 2 * kCellsOfRow + (nvidia_ ? 0 : of_group * 2 * size.rows));
}

std::uint64_t Persistent::most_rows() const {
  std::uint64_t most = 0;
  for (const Size& size : sizes_)
    most = std::max(most,
                    std::min(problem_.layers(), size.resident / tiles_across() * size.tile_high()));
  return most;
}

// Tests whether all groups are resident: they meet at one place and wait there for each other. If
// nothing can be run before samples, one group per compute unit is assumed to be resident.
bool Persistent::is_resident(const Size& size, std::uint64_t groups, DeviceResources& device) {
  const std::array<std::byte, kStatusBytes> nothing{};
  std::array<std::uint32_t, 2> status{};
  const Launch trial;
  const auto ran = device.try_out([&](Stream& stream) {
    stream.upload(*status_, 0, nothing);
    std::vector<KernelArg> args = arguments(trial);
    args[7] = nvidia_ ? kTrial.nvidia : cpu_ ? kTrial.cpu : kTrial.gpu;
    const std::size_t local = items(size);
    stream.launch(*size.kernel, grid_of(groups * local, local), args);
    stream.download(*status_, 0, std::as_writable_bytes(std::span(status)));
  });
  return ran ? status[0] == 0 && status[1] == groups : groups <= device.traits().compute_units;
}

std::vector<KernelArg> Persistent::arguments(const Launch& launch) const {
  const auto or_status = [&](Buffer* buffer) {
    return buffer != nullptr ? buffer : status_.get();
  };  // an argument must not be null
  const bool others = launch.mail != nullptr;
  const std::uint64_t time_limit_of = nvidia_ ? kSteps.nvidia : cpu_ ? kSteps.cpu : kSteps.gpu;
  return {or_status(launch.from),
          or_status(launch.to),
          or_status(boxes_.get()),
          or_status(launch.mail),
          or_status(launch.before.mail),
          or_status(launch.after.mail),
          or_status(launch.wait.status),
          nvidia_ && launch.wait.status != nullptr ? launch.wait.limit_ns : time_limit_of,
          launch.first,
          launch.rows,
          launch.shift,
          launch.above,
          launch.below,
          u32(problem_.n),
          u32(problem_.stride()),
          launch.steps,
          launch.number,
          launch.self.value,
          others ? launch.before.device.value : launch.self.value,
          others ? launch.after.device.value : launch.self.value};
}

void Persistent::launch(const Launch& launch, Stream& stream) {
  // The size with the fewest rows per work-item has the most groups.
  const auto fits = [&](const Size& size) { return tiles(size, launch.rows) <= size.resident; };
  const auto size = std::find_if(sizes_.begin(), sizes_.end(), fits);
  if (size == sizes_.end())
    throw Error(ErrorKind::internal, "a share is larger than what can be resident");
  const std::size_t local = items(*size);
  noted_in_ = launch.wait.status != nullptr ? launch.wait.status : status_.get();
  stream.launch(*size->kernel, grid_of(tiles(*size, launch.rows) * local, local),
                arguments(launch));
}

void Persistent::download_status(Stream& stream) {
  if (noted_in_ != nullptr)
    stream.download(*noted_in_, 0, std::as_writable_bytes(std::span(&failed_, 1)));
}

void Persistent::check() const {
  if (failed_ == 0) return;
  throw Error(ErrorKind::device,
              "work-groups of a persistent kernel waited in vain for each other; expected: --steps "
              "enqueued");
}

}  // namespace mgpu::stencil
