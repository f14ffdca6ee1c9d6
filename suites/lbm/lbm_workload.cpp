#include "suites/lbm/lbm_workload.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/common/number_text.hpp"
#include "suites/common/sha256_hex.hpp"
#include "suites/lbm/lbm_program.hpp"
#include "suites/lbm/output.hpp"

namespace mgpu::lbm {
namespace {

// Up to so many cells all of them are compared: two lattices of them take 20 GB of host memory.
constexpr std::uint64_t kWholeCells = std::uint64_t{1} << 27;
constexpr std::uint64_t kWindows = 4;

// For GPUs; the first is taken where nothing was measured.
std::vector<LbmWorkload::Variant> variants_of(const DeviceTraits& device) {
  std::vector<LbmWorkload::Variant> all;
  if (device.cpu) return all;
  constexpr std::array<const char*, 3> streaming{"", "-stores", "-both"};
  for (std::uint32_t streams = 0; streams < (device.nvidia ? streaming.size() : 1); ++streams) {
    for (const std::size_t local : {256, 128, 64, 512})
      if (local <= device.max_work_group) all.push_back({std::to_string(local) + streaming[streams], local, streams});
  }
  return all;
}

// So many small boxes of it, one at the origin, where several kinds of borders meet.
std::vector<Window> windows_of(const Problem& problem, std::uint64_t seed) {
  constexpr std::uint64_t side = 4;
  const std::array<std::uint64_t, 3> box{problem.n, problem.n, problem.planes};
  std::vector<Window> windows(kWindows);
  for (std::uint64_t i = 0; i < kWindows; ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      windows[i].size[axis] = std::min(side, box[axis]);
      windows[i].first[axis] = i == 0 ? 0 : splitmix64(seed, i * 3 + axis) % (box[axis] - windows[i].size[axis] + 1);
    }
  }
  return windows;
}

Window whole(const Problem& problem) { return {{0, 0, 0}, {problem.n, problem.n, problem.planes}}; }

}  // namespace

Bytes LbmWorkload::in_memory(const Problem& problem) {
  return (problem.from_file ? 2 : 1) * problem.fields_bytes() + (problem.checkpoint_rounds > 0 ? 2 * problem.state_bytes() : 0);
}

LbmWorkload::LbmWorkload(const SuiteParams& params)
    : problem_(problem_of(params)),
      shape_(shape_of(problem_)),
      lattice_(lattice_of(problem_, params.memory)),
      host_threads_(params.host_threads),
      pages_(in_memory(problem_), "the cells"),
      checkpoints_(problem_.planes, problem_.checkpoint_rounds) {
  if (params.input)
    read_npy(*params.input, read_npy_shape(*params.input), {pages_.data() + problem_.fields_bytes(), problem_.fields_bytes()});
  beginning_.emplace(problem_, file());
}

// In a step each population is read and written once: 152 bytes a cell; what a sample begins with is written once.
Demand LbmWorkload::demand(const DeviceTraits&) const {
  Demand demand;
  demand.memory_bytes = (2.0 * problem_.steps + 1) * static_cast<double>(populations * sizeof(float) * problem_.cells());
  return demand;
}

Capacity LbmWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  Capacity capacity;
  const DeviceBytes bytes = bytes_on_device(problem_, lattice_, planes_of_file(problem_, lattice_, mode));
  capacity.resident = bytes.all;
  if (bytes.largest > device.max_allocation || bytes.all > device.global_memory / 10 * 9) {
    capacity.reason = fmt::format("it has no memory for {} lattice{} of {} planes of {} bytes", problem_.lattices,
                                  problem_.lattices == 1 ? "" : "s", lattice_.slots, problem_.plane_bytes());
    return capacity;
  }
  capacity.fits = capacity.pipeline = most_of_share(problem_, lattice_) * problem_.columns;
  return capacity;
}

std::unique_ptr<DeviceProgram> LbmWorkload::program(DeviceResources& device, Mode mode, const Capacity&) {
  return std::make_unique<LbmProgram>(*this, device, mode);
}

std::vector<std::string> LbmWorkload::kernel_variants(const DeviceTraits& device) const {
  std::vector<std::string> names;
  for (const Variant& variant : variants_of(device)) names.push_back(variant.name);
  return names;
}

bool LbmWorkload::prefer(const DeviceTraits& device, const std::string& name) {
  for (const Variant& variant : variants_of(device)) {
    if (variant.name != name) continue;
    preferred_[device.id] = variant;
    return true;
  }
  return false;
}

// CPUs: a work-item a work-group, as kernels as large as these are slower where compilers put several together (PoCL: by a third).
LbmWorkload::Variant LbmWorkload::variant_on(const DeviceTraits& device) const {
  const auto found = preferred_.find(device.id);
  const std::vector<Variant> all = variants_of(device);
  Variant variant = found != preferred_.end() ? found->second : all.empty() ? Variant{} : all.front();
  while (variant.local / 2 >= problem_.n) variant.local /= 2;  // no wider than a row is
  return variant;
}

Exchanged LbmWorkload::exchanged(Mode) const {
  const Bytes crossing_bytes =
      problem_.depth == 1 ? crossing * problem_.population_bytes() : problem_.depth * problem_.plane_bytes();
  return {false, 0, std::max(problem_.steps / problem_.depth, 1U), crossing_bytes};
}

void LbmWorkload::connect(PeerGroup& group) {
  for (std::uint32_t i = 0; i < problem_.lattices; ++i) {
    shared_[i].clear();
    for (std::uint64_t piece = 0; piece < lattice_.pieces(); ++piece)
      shared_[i].push_back(group.allocate(lattice_.slots_of_piece(piece) * problem_.plane_bytes()));
  }
  if (problem_.columns == 1 && !problem_.lands_beside()) return;
  for (auto& landing : landing_) landing = group.allocate(most_landing(problem_) * sizeof(float));
}

void LbmWorkload::disconnect() {
  for (auto& lattice : shared_) lattice.clear();
  for (auto& landing : landing_) landing.reset();
}

void LbmWorkload::own(std::span<const Owner> owners) {
  owners_.assign(owners.begin(), owners.end());
  transfers_.clear();
  if (owners.size() < 2) return;
  if (problem_.columns > 1) {
    transfers_ = transfers_among(problem_, owners);
    return;
  }
  for (const Owner& owner : owners) {
    if (owner.items.size() >= problem_.depth) continue;
    throw Error(ErrorKind::unsupported,
                fmt::format("a share of {} planes is less than the {} that its neighbours need of it (--depth)", owner.items.size(),
                            problem_.depth));
  }
}

// Planes go to slots that nobody else's of that device are in, as long as its share before and after fit side by side.
bool LbmWorkload::move(std::span<const Owner> owners) {
  if (problem_.columns > 1) return false;
  for (const Owner& owner : owners) {
    if (owner.items.size() < problem_.depth) return false;
    if (lattice_.slots == problem_.planes) continue;
    const auto before =
        std::find_if(owners_.begin(), owners_.end(), [&](const Owner& each) { return each.device == owner.device; });
    if (before == owners_.end()) return false;
    const Items first = std::min(owner.items.begin, before->items.begin), end = std::max(owner.items.end, before->items.end);
    if (end - first + 2 * problem_.depth > lattice_.slots) return false;
  }
  owners_.assign(owners.begin(), owners.end());
  return true;
}

std::span<std::byte> LbmWorkload::checkpoint(std::uint32_t steps) {
  const Bytes before = (problem_.from_file ? 2 : 1) * problem_.fields_bytes();
  return {pages_.data() + before + checkpoints_.place(steps) * problem_.state_bytes(), problem_.state_bytes()};
}

void LbmWorkload::begin_sample() {
  checkpoints_.begin_sample();
  begin_again();
}

void LbmWorkload::begin_again() {
  checkpoints_.forget_incomplete();
  begun_from_ = checkpoints_.complete();
  ++sample_;
  arrivals_.expect(problem_.items());
  if (!std::exchange(looked_at_, false)) return;
  std::memset(result().data(), 0xff, result().size());  // not a number
}

std::string LbmWorkload::digest() const { return sha256_hex({pages_.data(), problem_.fields_bytes()}); }

Verdict LbmWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  using Status = Verdict::Status;
  if (level == VerifyLevel::off) return {};
  looked_at_ = true;
  const bool all = level == VerifyLevel::full && problem_.cells() <= kWholeCells;
  std::vector<Compared>& compared = all ? all_ : some_;
  std::string method = all ? "every cell, bit for bit, with a plain loop on the host"
                           : fmt::format("{} boxes of cells, bit for bit, with a plain loop on the host", kWindows);
  if (const Items missing = arrivals_.missing(); missing > 0)
    return {Status::failed, method, fmt::format("{} of {} items did not arrive on the host", missing, problem_.items())};
  if (compared.empty()) {
    for (const Window& window : all ? std::vector<Window>{whole(problem_)} : windows_of(problem_, seed))
      compared.push_back({window, reference(problem_, *beginning_, window, host_threads_)});
  }
  for (const Compared& each : compared)
    if (const std::string wrong = wrong_cell(each.window, each.expected); !wrong.empty()) return {Status::failed, method, wrong};
  const Physics physics = compare_physics(problem_, *beginning_, result(), host_threads_);
  if (!physics.wrong.empty()) return {Status::failed, method, physics.wrong};
  return {Status::passed, method + "; " + physics.told, ""};
}

std::string LbmWorkload::wrong_cell(const Window& window, const std::vector<Cell>& expected) const {
  const auto* const cells = reinterpret_cast<const Cell*>(pages_.data());
  std::uint64_t wrong = 0;
  std::string first;
  for (std::uint64_t i = 0; i < expected.size(); ++i) {
    const std::uint64_t x = window.first[0] + i % window.size[0], row = i / window.size[0],
                        y = window.first[1] + row % window.size[1], z = window.first[2] + row / window.size[1];
    const Cell& found = cells[(z * problem_.n + y) * problem_.n + x];
    if (std::memcmp(&found, &expected[i], sizeof found) == 0) continue;
    if (wrong++ > 0) continue;
    std::size_t which = 0;
    while (which < 3 && std::memcmp(&found[which], &expected[i][which], sizeof(float)) == 0) ++which;
    constexpr const char* names[] = {"velocity along x", "velocity along y", "velocity along z", "density"};
    first = fmt::format("the first in plane {}, row {}, column {}: its {} is {} instead of {}", z, y, x, names[which],
                        number_text(found[which]), number_text(expected[i][which]));
  }
  return wrong == 0 ? "" : fmt::format("{} of {} cells are wrong, {}", wrong, expected.size(), first);
}

void LbmWorkload::write_result(const std::filesystem::path& file) const {
  write_fields(file, problem_, {pages_.data(), problem_.fields_bytes()});
}

}  // namespace mgpu::lbm
