#include "suites/lbm/lbm_workload.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/common/number_text.hpp"
#include "suites/common/variants.hpp"
#include "suites/lbm/lbm_program.hpp"
#include "suites/lbm/output.hpp"

namespace mgpu::lbm {
namespace {

// Most cells of a box that is compared as a whole; two lattices of them take 20 GB of host memory.
constexpr std::uint64_t kWholeCells = std::uint64_t{1} << 27;
constexpr std::uint64_t kWindows = 4;

// Returns the variants; the first is the default. On CPUs a work-group is one work-item: compilers
// make kernels as large as these slower if they merge several work-items (PoCL: by a third).
std::vector<LbmWorkload::Variant> variants_of(const DeviceTraits& device) {
  if (device.cpu) return {{}};
  constexpr std::array<const char*, 3> streaming{"", "-stream-stores", "-stream-all"};
  std::vector<LbmWorkload::Variant> all;
  for (std::uint32_t streams = 0; streams < (device.nvidia ? streaming.size() : 1); ++streams) {
    for (const std::size_t local : {256, 128, 64, 512})
      if (local <= device.max_work_group)
        all.push_back({std::to_string(local) + streaming[streams], local, streams});
  }
  return all.empty() ? std::vector<LbmWorkload::Variant>{{}} : all;
}

// Returns kWindows small boxes, the first at the origin, where several kinds of borders meet.
std::vector<Window> windows_of(const Problem& problem, std::uint64_t seed) {
  constexpr std::uint64_t side = 4;
  const std::array<std::uint64_t, 3> box{problem.n, problem.n, problem.planes};
  std::vector<Window> windows(kWindows);
  for (std::uint64_t i = 0; i < kWindows; ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      windows[i].size[axis] = std::min(side, box[axis]);
      windows[i].first[axis] =
          i == 0 ? 0 : splitmix64(seed, i * 3 + axis) % (box[axis] - windows[i].size[axis] + 1);
    }
  }
  return windows;
}

Window whole(const Problem& problem) { return {{0, 0, 0}, {problem.n, problem.n, problem.planes}}; }

double updates_of(const Problem& problem, std::span<const Window> windows) {
  double updates = 0;
  for (const Window& window : windows) updates += work_of(problem, window).updates;
  return updates;
}

// Returns the windows that are compared with plain loops: the whole box, or small windows if they
// take less time or the host has no room for the whole box. At level sample there are fewer of
// these, but two at least, if they would take `threads` longer than about half a second.
std::vector<Window> compared_windows(const Problem& problem, VerifyLevel level, std::uint64_t seed,
                                     unsigned threads) {
  constexpr double updates_of_thread = 1e7;  // 20 million per second, measured on an AMD EPYC
  const bool fits = problem.cells() <= kWholeCells;
  if (level == VerifyLevel::full && fits) return {whole(problem)};
  std::vector<Window> windows = windows_of(problem, seed);
  const double most = updates_of_thread * threads;
  while (level == VerifyLevel::sample && windows.size() > 2 && updates_of(problem, windows) > most)
    windows.pop_back();
  if (fits && updates_of(problem, windows) >= work_of(problem, whole(problem)).updates)
    return {whole(problem)};
  std::erase_if(windows,
                [&](const Window& window) { return work_of(problem, window).cells > kWholeCells; });
  return windows;
}

}  // namespace

Bytes LbmWorkload::in_memory(const Problem& problem) {
  return (problem.from_file ? 2 : 1) * problem.fields_bytes() +
         (problem.checkpoint_rounds > 0 ? 2 * problem.state_bytes() : 0);
}

LbmWorkload::LbmWorkload(const Problem& problem, const SuiteParams& params)
    : CheckpointedWorkload(problem, params, in_memory(problem), "the cells"),
      lattice_(lattice_of(problem_, params.memory)),
      kernel_(params.options.at("kernel")),
      shared_(lattice_.pieces()) {
  results_ = {pages_.data(), problem_.fields_bytes()};
  if (params.input) {
    const std::span<std::byte> cells{pages_.data() + problem_.fields_bytes(),
                                     problem_.fields_bytes()};
    const NpyShape shape = read_npy_shape(*params.input);
    read_npy(*params.input, shape, cells);
    check_cells(params.input->string(), shape, cells);
  }
  beginning_.emplace(problem_, file());
  if (!problem_.from_file) return;
  const double mach = mach_of(largest_speed(file()));
  if (mach > most_mach)
    shape_.caveats = {
        fmt::format("--input has speeds up to Mach number {:.2g}: {}", mach, beyond_most_mach)};
}

// Each step reads and writes each population once. The initial state is written once.
Demand LbmWorkload::demand(const DeviceTraits&) const {
  Demand demand;
  demand.memory_bytes = (2.0 * problem_.steps + 1) * static_cast<double>(problem_.state_bytes());
  return demand;
}

Capacity LbmWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  Capacity capacity;
  if (kernel_ != "auto" && !has_variant(device, kernel_)) {
    capacity.reason = "it has no kernel \"" + kernel_ + "\" (--kernel)";
    return capacity;
  }
  const DeviceBytes bytes =
      bytes_on_device(problem_, lattice_, planes_of_file(problem_, lattice_, mode));
  capacity.resident = bytes.all;
  if (bytes.largest > device.max_allocation || bytes.all > device.usable_memory()) {
    capacity.reason =
        fmt::format("it has no memory for {} lattice{} of {} planes of {} bytes", problem_.lattices,
                    problem_.lattices == 1 ? "" : "s", lattice_.slots, problem_.plane_bytes());
    return capacity;
  }
  capacity.fits = capacity.pipeline = most_of_share(problem_, lattice_) * problem_.columns;
  return capacity;
}

std::unique_ptr<DeviceProgram> LbmWorkload::program(DeviceResources& device, Mode mode,
                                                    const Capacity&) {
  return std::make_unique<LbmProgram>(*this, device, mode);
}

std::vector<std::string> LbmWorkload::kernel_variants(const DeviceTraits& device) const {
  const std::vector<std::string> names = names_of(variants_of(device), &Variant::name);
  return names.size() > 1 ? names : std::vector<std::string>{};
}

bool LbmWorkload::has_variant(const DeviceTraits& device, const std::string& name) const {
  const std::vector<std::string> names = names_of(variants_of(device), &Variant::name);
  return std::find(names.begin(), names.end(), name) != names.end();
}

LbmWorkload::Variant LbmWorkload::variant_on(const DeviceTraits& device) const {
  const std::vector<Variant> all = variants_of(device);
  Variant variant =
      named_or_first(all, &Variant::name, kernel_ != "auto" ? kernel_ : preferred(device));
  while (variant.local / 2 >= problem_.n) variant.local /= 2;  // no wider than a row
  return variant;
}

Exchanged LbmWorkload::exchanged(Mode) const {
  const Bytes crossing_bytes = problem_.half_block > 0 ? problem_.half_halo_bytes()
                               : problem_.depth == 1   ? crossing * problem_.population_bytes()
                                                       : problem_.depth * problem_.plane_bytes();
  return {false, 0, std::max(problem_.steps / problem_.depth, 1U), crossing_bytes,
          problem_.depth == 1 && may_store_to_others()};
}

void LbmWorkload::connect(PeerGroup& group) {
  if (problem_.columns > 1)
    return landing_.allocate(group, most_landing(problem_) * problem_.number_bytes());
  if (problem_.depth == 1) halos_ = group.allocate(halo_blocks * problem_.plane_bytes());
  stores_to_others_ = halos_ && may_store_to_others() && kernels_reach(*halos_, group.size());
  if (problem_.half_block > 0) half_halos_ = group.allocate(4 * problem_.half_halo_bytes());
  try {
    for (std::uint64_t piece = 0; piece < shared_.size(); ++piece)
      shared_[piece].allocate(group, lattice_.slots_of_piece(piece) * problem_.plane_bytes(),
                              problem_.lattices);
  } catch (const Error& error) {
    if (!halos_ || error.kind() != ErrorKind::unsupported) throw;
    for (SharedRing& piece : shared_) piece.free();
  }
}

void LbmWorkload::disconnect() {
  for (SharedRing& piece : shared_) piece.free();
  landing_.free();
  halos_.reset();
  half_halos_.reset();
  stores_to_others_ = false;
}

void LbmWorkload::set_partition(std::span<const Owner> owners) {
  CheckpointedWorkload::set_partition(owners);
  transfers_.clear();
  if (owners.size() < 2) return;
  if (problem_.columns > 1) {
    transfers_ = transfers_among(problem_, owners);
    return;
  }
  check_shares(owners, problem_.depth, "planes", "depth");
}

// A device's planes before and after occupy different slots as long as both shares, with halos, fit
// into its lattice together.
bool LbmWorkload::repartition(std::span<const Owner> owners) {
  if (!shared_.front()) return false;
  for (const Owner& owner : owners) {
    if (owner.items.size() < problem_.depth) return false;
    if (lattice_.slots == problem_.planes) continue;
    const auto before = std::find_if(owners_.begin(), owners_.end(), [&](const Owner& each) {
      return each.device == owner.device;
    });
    if (before == owners_.end()) return false;
    const Items first = std::min(owner.items.begin, before->items.begin),
                end = std::max(owner.items.end, before->items.end);
    if (end - first + 2 * problem_.depth > lattice_.slots) return false;
  }
  CheckpointedWorkload::set_partition(owners);
  return true;
}

std::byte* LbmWorkload::checkpoint(std::uint32_t steps) const {
  return pages_.data() + (problem_.from_file ? 2 : 1) * problem_.fields_bytes() +
         place(steps) * problem_.state_bytes();
}

Verdict LbmWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  using Status = Verdict::Status;
  if (level == VerifyLevel::off) return {};
  if (const auto missing = arrivals_.look("items")) return *missing;
  const std::vector<Window> windows = compared_windows(problem_, level, seed, host_threads_);
  const bool all = !windows.empty() && windows.front().size == whole(problem_).size;
  std::vector<Compared>& compared = all ? all_ : some_;
  std::string method =
      all ? "every cell, bit for bit, with a plain loop on the host"
      : windows.empty()
          ? "no cell with a plain loop, as the host has no room for so large a box and so many "
            "steps"
          : fmt::format("{} boxes of cells, bit for bit, with a plain loop on the host",
                        windows.size());
  const std::string sample =
      all && level == VerifyLevel::full ? fmt::format("{} boxes of cells", kWindows) : "";
  if (compared.size() < windows.size()) {
    std::vector<Compared> made;
    for (const Window& window : windows)
      made.push_back(
          {window, reference(problem_, *beginning_, window, host_threads_, host_watch(), sample)});
    compared = std::move(made);
  }
  for (const Compared& each : compared)
    if (const std::string wrong = wrong_cell(each.window, each.expected); !wrong.empty())
      return {Status::failed, method, wrong};
  const Physics physics = compare_physics(problem_, *beginning_, result(), host_threads_);
  Findings found;
  if ((problem_.half_block > 0 || problem_.half_storage) && !compared.empty()) {
    found = compare_precision(compared);
    method += fmt::format(
        "; {0} in half precision: velocities differ by up to {1:.2g} of --speed from those with "
        "{0} in fp32",
        halved(), found.figures.front().value);
  }
  if (physics.wrong.empty()) return {Status::passed, method + "; " + physics.told, "", found};
  // If every cell equals the loop's, devices compute correctly, and only the flow differs.
  if (!all && problem_.cells() <= kWholeCells) return verify(VerifyLevel::full, seed);
  if (!all) return {Status::failed, method, physics.wrong};
  Verdict verdict{Status::passed, method, "", found};
  verdict.found.warnings.push_back(
      physics.wrong + ", though every cell is as the loop has it: " + what_is_stable(problem_));
  return verdict;
}

const char* LbmWorkload::halved() const { return problem_.half_storage ? "populations" : "halos"; }

Findings LbmWorkload::compare_precision(const std::vector<Compared>& compared) const {
  const bool same = precision_found_ && precision_found_of_ == compared.size();
  if (same) return *precision_found_;
  Problem exact = problem_;
  exact.half_block = 0;
  exact.half_storage = false;
  double velocity = 0, density = 0;
  for (const Compared& each : compared) {
    const std::vector<Cell> cells =
        reference(exact, *beginning_, each.window, host_threads_, host_watch(), "");
    for (std::size_t i = 0; i < cells.size(); ++i)
      for (std::size_t k = 0; k < 4; ++k) {
        double& most = k < 3 ? velocity : density;
        most = std::max(most, std::abs(static_cast<double>(cells[i][k]) -
                                       static_cast<double>(each.expected[i][k])));
      }
  }
  Findings found;
  const std::string of = fmt::format(" error of half {}", halved());
  found.figures = {{"velocity" + of, velocity / static_cast<double>(problem_.speed)},
                   {"density" + of, density}};
  precision_found_ = found;
  precision_found_of_ = compared.size();
  return found;
}

std::string LbmWorkload::wrong_cell(const Window& window, const std::vector<Cell>& expected) const {
  const auto* const cells = reinterpret_cast<const Cell*>(pages_.data());
  std::uint64_t wrong = 0;
  std::string first;
  for (std::uint64_t i = 0; i < expected.size(); ++i) {
    const std::uint64_t x = window.first[0] + i % window.size[0], row = i / window.size[0],
                        y = window.first[1] + row % window.size[1],
                        z = window.first[2] + row / window.size[1];
    const Cell& found = cells[(z * problem_.n + y) * problem_.n + x];
    if (std::memcmp(&found, &expected[i], sizeof found) == 0) continue;
    if (wrong++ > 0) continue;
    std::size_t which = 0;
    while (which < 3 && std::memcmp(&found[which], &expected[i][which], sizeof(float)) == 0)
      ++which;
    constexpr const char* names[] = {"velocity along x", "velocity along y", "velocity along z",
                                     "density"};
    first =
        fmt::format("the first in plane {}, row {}, column {}: its {} is {} instead of {}", z, y, x,
                    names[which], number_text(found[which]), number_text(expected[i][which]));
  }
  return wrong == 0 ? ""
                    : fmt::format("{} of {} cells are wrong, {}", wrong, expected.size(), first);
}

void LbmWorkload::write_result(const std::filesystem::path& file) const {
  write_fields(file, problem_, results_);
}

}  // namespace mgpu::lbm
