#include "suites/fisher/gram_workload.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/parallel_for.hpp"
#include "suites/common/group_limits.hpp"
#include "suites/common/sha256_hex.hpp"
#include "suites/fisher/gram_layout.hpp"
#include "suites/fisher/gram_program.hpp"

namespace mgpu::fisher {
namespace {

// Returns how many partial matrices have pinned memory: as many as static strategies leave to 8
// devices, and more for other strategies up to a quarter of the input (two devices that took turns
// left 16 nodes of eight blocks and a few smaller ones).
std::size_t pinned_landings(const Problem& problem) {
  const Bytes partial = problem.triangle() * sizeof(double);
  return static_cast<std::size_t>(
      std::clamp<Bytes>(problem.input_bytes() / 4 / partial, 16, Blocks::of(problem).items + 16));
}
// Number of elements of which a few tree levels stay in the first-level cache.
constexpr std::uint64_t merged_at_once = 4096;

std::uint64_t merged_chunks(std::uint64_t triangle) { return ceil_div(triangle, merged_at_once); }

// Returns one thread per eight chunks. These take one thread 80 us for two partials, which is more
// than waking another thread takes.
unsigned merge_threads(std::uint64_t triangle, unsigned host_threads) {
  constexpr std::uint64_t kMost = 32;
  return static_cast<unsigned>(
      std::min<std::uint64_t>({host_threads, kMost, 1 + merged_chunks(triangle) / 8}));
}

Bytes landing_bytes(const Problem& problem) {
  return pinned_landings(problem) * problem.triangle() * sizeof(double);
}

// Returns the number of elements that kernels compute, including those of tiles across the
// diagonal; time is proportional to it. A rate measured at dimension 256, where it is half as much
// again as the triangle, then tells that of 1024, where it is an eighth more.
double computed(std::uint64_t dim) {
  const std::uint64_t edge = std::min<std::uint64_t>(128, std::bit_ceil(dim));
  return static_cast<double>(tiles_of(dim, edge) * edge * edge);
}

}  // namespace

Shape GramWorkload::shape_of(const Problem& problem) {
  const Blocks blocks = Blocks::of(problem);
  Shape shape;
  shape.result_on_devices = problem.dim > 256;
  shape.items = blocks.items;
  shape.unit = {"points", problem.points};
  const auto items = static_cast<double>(blocks.items);
  const double vectors = static_cast<double>(problem.points) * static_cast<double>(problem.scores);
  shape.ops = 2 * vectors * static_cast<double>(problem.triangle());  // only one half is computed
  shape.rate_unit = "FLOP/s";
  shape.bytes_in = problem.input_bytes() + problem.params_bytes();
  shape.bytes_out = problem.dim * problem.dim * sizeof(double);
  shape.cost.ops = 2 * vectors * computed(problem.dim) / items;
  shape.cost.in_bytes = static_cast<double>(problem.input_bytes()) / items;
  shape.cost.replicated = problem.params_bytes();
  return shape;
}

GramWorkload::GramWorkload(const SuiteParams& params)
    : problem_(problem_of(params)),
      blocks_(Blocks::of(problem_)),
      host_threads_(params.host_threads),
      data_(problem_, params, landing_bytes(problem_)),
      scale_(params.input ? scale_columns(problem_, data_, params.host_threads) : ColumnScale{}),
      shape_(shape_of(problem_)),
      reference_(problem_, data_, params.host_threads),
      partials_(blocks_.items),
      merged_(problem_.triangle()),
      merging_(merge_threads(problem_.triangle(), params.host_threads)) {
  shape_.caveats = data_.caveats();
  // Each node that a device leaves is one more partial to read, after it was brought to the host at
  // about 50 GB/s, for two devices at once. One thread reads 6.6 GB/s, and t threads read that
  // times t^0.8, measured on an H200's host with 64 Xeon cores for 18 partials of 1024 parameters.
  const unsigned threads = merge_threads(problem_.triangle(), host_threads_);
  const double bytes = static_cast<double>(problem_.triangle() * sizeof(double));
  const Nanos waking = std::chrono::microseconds(threads > 1 ? 30 : 10);
  shape_.merge = {waking, from_seconds(bytes / (6.6e9 * std::pow(threads, 0.8)) + bytes / 100e9),
                  true};
}

Bytes GramWorkload::host_bytes(const Problem& problem) {
  return HostData::bytes(problem, landing_bytes(problem)) +
         4 * problem.dim * problem.dim * sizeof(double) + GramReference::bytes(problem);
}

Capacity GramWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  if (!scale_.refused.empty()) return {0, 0, 0, scale_.refused};
  const std::vector<GramVariant> variants = gram_variants(device, problem_);
  if (variants.empty()) {
    std::vector<GroupDemand> demands;
    for (const GramVariant& variant : gram_variants(without_limits(device), problem_))
      demands.push_back({variant.threads, variant.local});
    return {
        0, 0, 0,
        demands.empty() ? "it has no fp64 (--precision fp64)" : why_none_suits(device, demands)};
  }
  return gram_capacity(device, problem_, blocks_, variants.front().tile, mode);
}

std::unique_ptr<DeviceProgram> GramWorkload::program(DeviceResources& device, Mode mode,
                                                     const Capacity& capacity) {
  return std::make_unique<GramProgram>(*this, device, mode, capacity.fits);
}

// For smaller matrices, the host merges the downloaded parts in about the time that signals and
// launches take.
Exchanged GramWorkload::exchanged(Mode) const {
  constexpr Bytes kSmallest = Bytes{4} << 20;
  const Bytes part = problem_.triangle() * sizeof(double);
  return {false, blocks_.blocks > 0 && part >= kSmallest ? part : 0};
}

void GramWorkload::connect(PeerGroup& group) {
  exchange_.emplace(group, node_bytes(problem_, blocks_));
}

void GramWorkload::exchange_among(std::span<const DeviceIndex> members) {
  if (exchange_) exchange_->begin(members);
}

void GramWorkload::begin_sample() {
  const std::scoped_lock lock(mutex_);
  combined_ = 0;
  partials_.clear();
  landings_used_ = more_used_ = 0;
  result_ = {};
}

GramWorkload::Landing GramWorkload::landing(const block_tree::TreeNode& node) {
  const std::uint64_t triangle = problem_.triangle();
  const std::scoped_lock lock(mutex_);
  if ((landings_used_ + 1) * triangle * sizeof(double) <= data_.result().size()) {
    auto* const all = reinterpret_cast<double*>(data_.result().data());
    return {node, {all + landings_used_++ * triangle, triangle}};
  }
  // Buffers are reused in later samples, because 4 MiB of new memory cost a thousand page faults.
  if (more_used_ == more_landings_.size()) more_landings_.emplace_back(triangle);
  return {node, more_landings_[more_used_++]};
}

std::span<double> GramWorkload::combined() {
  return {reinterpret_cast<double*>(data_.result().data()), problem_.triangle()};
}

void GramWorkload::add_combined(std::uint64_t elements) {
  const std::scoped_lock lock(mutex_);
  combined_ += elements;
}

void GramWorkload::add_partials(std::span<const Landing> partials) {
  const std::scoped_lock lock(mutex_);
  for (const Landing& partial : partials) partials_.set(partial.node, partial.values);
}

// Combines elements first ... of a node that no device made.
void GramWorkload::combine(const block_tree::TreeNode& node, std::uint64_t first,
                           std::span<double> out) const {
  const block_tree::TreeNode left{node.level - 1, node.index * 2},
      right{node.level - 1, node.index * 2 + 1};
  const auto known = [&](const block_tree::TreeNode& half) -> const double* {
    const std::span<const double>* const values = partials_.find(half);
    return values == nullptr ? nullptr : values->data() + first;
  };
  const double* a = known(left);
  if (a == nullptr) {
    combine(left, first, out);
    a = out.data();
  }
  std::array<double, merged_at_once> other;
  const double* b = nullptr;
  if (right.begin() < blocks_.items) {
    b = known(right);
    if (b == nullptr) {
      combine(right, first, {other.data(), out.size()});
      b = other.data();
    }
  }
  if (b != nullptr) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = a[i] + b[i];
  } else if (a != out.data()) {
    std::copy_n(a, out.size(), out.begin());
  }
}

// If one device had everything, its node is the root, already divided by the number of points.
void GramWorkload::merge() {
  const std::uint64_t triangle = problem_.triangle();
  if (blocks_.blocks == 0) {
    std::fill(merged_.begin(), merged_.end(),
              std::numeric_limits<double>::quiet_NaN());  // the mean of nothing
    result_ = merged_;
    return;
  }
  if (combined_ == triangle) {
    result_ = combined();
    return;
  }
  const std::vector<block_tree::TreeNode> known = partials_.frontier();
  if (known.size() == 1) {
    result_ = *partials_.find(known.front());
    return;
  }
  const block_tree::TreeNode root{partials_.root_level(), 0};
  const auto points = static_cast<double>(blocks_.rows);
  merging_.for_each(merged_chunks(triangle), [&](std::uint64_t chunk) {
    const std::uint64_t first = chunk * merged_at_once;
    const std::span<double> out =
        std::span(merged_).subspan(first, std::min(merged_at_once, triangle - first));
    combine(root, first, out);
    for (double& x : out) x /= points;
  });
  result_ = merged_;
}

// Returns all of F; with `as_computed`, of the scaled columns. NaN and zero have one bit pattern
// each, because otherwise theirs would depend on which processor adds.
std::vector<double> GramWorkload::full(bool as_computed) const {
  if (result_.empty()) throw Error(ErrorKind::internal, "fisher: no result before merge()");
  const std::uint64_t dim = problem_.dim;
  const bool scaled = !as_computed && !scale_.exponents.empty();
  std::vector<double> all(dim * dim);
  parallel_for(dim, host_threads_, [&](std::uint64_t i) {
    const double* const row = result_.data() + i * dim - i * (i + 1) / 2;
    for (std::uint64_t j = i; j < dim; ++j) {
      double x = std::isnan(row[j]) ? std::numeric_limits<double>::quiet_NaN() : row[j] + 0.0;
      if (scaled) x = std::ldexp(x, scale_.of(i, j));
      all[i * dim + j] = all[j * dim + i] = x;
    }
  });
  return all;
}

std::string GramWorkload::digest() const {
  const std::vector<double> all = full();
  return sha256_hex(std::as_bytes(std::span(all)));
}

Verdict GramWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  if (level == VerifyLevel::off) return {};
  const std::vector<double> all = full(true);
  return passed_.of(level, seed, sha256_hex(std::as_bytes(std::span(all))),
                    [&] { return reference_.check(all, level, seed); });
}

void GramWorkload::write_result(const std::filesystem::path& file) const {
  const std::vector<double> all = full();
  write_npy(file, {problem_.dim, problem_.dim, sizeof(double)}, std::as_bytes(std::span(all)));
}

}  // namespace mgpu::fisher
