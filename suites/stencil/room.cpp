#include "suites/stencil/room.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"

namespace mgpu::stencil {
namespace {

// Returns the layers of a share for which an otherwise empty device has room.
std::uint64_t layers_held(const Problem& problem, const DeviceMemory& memory) {
  const Bytes layer = problem.layer_bytes(), halos = 2 * problem.halo() * layer,
              most = memory.global / 10 * 9;
  const Bytes one = std::min(memory.allocation,
                             (most - std::min(most, problem.change_bytes())) / states(problem));
  return one > halos ? std::min<std::uint64_t>(problem.layers(), (one - halos) / layer) : 0;
}

struct Room {
  // Layers held by the smallest and by the largest device.
  std::uint64_t least, most = 0;
};

Room room_of(const Problem& problem, const std::vector<DeviceMemory>& devices) {
  Room room{problem.layers()};
  for (const DeviceMemory& device : devices) {
    const std::uint64_t held = layers_held(problem, device);
    room = {std::min(room.least, held), std::max(room.most, held)};
  }
  return room;
}

}  // namespace

std::uint64_t layers_of_piece(const Problem& problem, const std::vector<DeviceMemory>& devices) {
  const Room room = room_of(problem, devices);
  // States of blocks have the whole size.
  return problem.columns == 1 && room.least * devices.size() >= problem.layers() ? room.least
                                                                                 : problem.layers();
}

void check_devices(const Problem& problem, const std::vector<DeviceMemory>& devices) {
  const std::uint64_t count = devices.size(),
                      most = count > 0 ? problem.layers() / count : problem.layers();
  const char* const layers = problem.kind == Kind::heat3d ? "planes" : "rows";
  if (count > 1 && most == 0) {
    throw Error(ErrorKind::usage,
                fmt::format("--size: {} {} are fewer than the {} devices; expected: {} or more",
                            problem.layers(), layers, count, count * problem.halo()));
  }
  if (count > 1 && most < problem.halo() && problem.columns == 1) {
    const bool star = problem.kind == Kind::star;
    throw Error(
        ErrorKind::usage,
        fmt::format(
            "--{}: {} {} are more than the {} that each of {} devices has of {}; expected: 1 to {}",
            star ? "radius" : "depth", problem.halo(), layers, most, count, problem.layers(),
            most));
  }
  const Room room = room_of(problem, devices);
  if (count == 0 || room.most == problem.layers() ||
      (problem.columns == 1 && room.least * count >= problem.layers()))
    return;
  if (problem.columns > 1) {
    throw Error(ErrorKind::usage, fmt::format("--split: blocks keeps {} states of the whole size "
                                              "on each device, and {} of {} {} fit; "
                                              "expected: smaller sizes, or --split {}",
                                              states(problem), room.most, problem.layers(), layers,
                                              problem.kind == Kind::heat3d ? "slabs" : "rows"));
  }
  throw Error(ErrorKind::usage,
              fmt::format("--size: {} states of {} {} of {} bytes do not fit: {} of them per "
                          "device, on {} device{}; expected: smaller "
                          "sizes",
                          states(problem), problem.layers(), layers, problem.layer_bytes(),
                          room.least, count, count == 1 ? "" : "s"));
}

}  // namespace mgpu::stencil
