#include "suites/ntt/commit_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/common/variants.hpp"
#include "suites/ntt/commit_program.hpp"
#include "suites/ntt/elements.hpp"
#include "suites/ntt/host_data.hpp"
#include "suites/ntt/reference.hpp"

namespace mgpu::ntt {
namespace {

using Digest = Poseidon2::Digest;
static_assert(sizeof(Digest) == digest_bytes);

std::span<const std::byte> bytes_of(const Digest& digest) {
  return std::as_bytes(std::span(digest));
}

std::string text_of(const Digest& digest) {
  std::string text;
  for (const std::uint32_t word : digest)
    text += fmt::format("{}{}", text.empty() ? "" : " ", word);
  return text;
}

}  // namespace

CommitWorkload::CommitWorkload(const Problem& problem, const SuiteParams& params)
    : PartitionedWorkload(problem, params, host_bytes(problem),
                          std::to_string(problem.batch) + " columns"),
      devices_(std::max<std::size_t>(params.devices, 1)),
      hash_(problem.field) {
  results_ = {pages_.data() + in_pages(problem.bytes()), problem.result_bytes()};
  for (std::uint64_t i = 0; i < opened_rows; ++i)
    opened_.push_back(splitmix64(problem.seed, i) % problem.rows());
  fill_input(problem_, params, {pages_.data(), problem.bytes()});
}

std::span<std::byte> CommitWorkload::roots() const {
  return results_.first(problem_.blocks() * digest_bytes);
}
std::span<std::byte> CommitWorkload::path(std::size_t opened) const {
  const Bytes size = (problem_.block_bits() + 1) * digest_bytes;
  return results_.subspan(problem_.blocks() * digest_bytes + opened * size, size);
}

// A device with a part f of the rows receives up to 1 - f of the columns, and 16 more of them, as
// shares of columns are rounded.
Bytes CommitWorkload::landing_bytes() const {
  if (problem_.partition == Partition::relay) return problem_.rows() * digest_bytes;
  if (problem_.partition == Partition::cosets) return problem_.bytes();
  return problem_.rows() * problem_.element() * std::min(problem_.batch, problem_.batch / 4 + 16);
}

Bytes CommitWorkload::place_at(const Owner& owner, const Slice& share) const {
  const Problem::Range mine = problem_.columns_of(share), theirs = problem_.columns_of(owner.items);
  return problem_.rows_of(owner.items).size() *
         (mine.begin - (theirs.begin < mine.begin ? theirs.size() : 0)) * problem_.element();
}

Capacity CommitWorkload::capacity(const DeviceTraits& device, Mode) const {
  const Bytes extended = problem_.cosets > 0 ? problem_.extended_bytes() : 0;
  Capacity capacity;
  capacity.resident = problem_.bytes() + extended + landing_bytes() +
                      (problem_.partition == Partition::cosets ? problem_.bytes() : 0) +
                      2 * problem_.rows() * digest_bytes +
                      2 * problem_.at_once() * problem_.transform_bytes();
  capacity.reason =
      why_no_room(device, capacity.resident,
                  std::max({problem_.bytes(), extended, problem_.rows() * digest_bytes}));
  if (capacity.reason.empty()) capacity.fits = capacity.pipeline = shape_.items;
  return capacity;
}

std::vector<std::string> CommitWorkload::kernel_variants(const DeviceTraits& device) const {
  return names_of(variants(device), &Variant::name);
}

std::unique_ptr<DeviceProgram> CommitWorkload::program(DeviceResources& device, Mode mode,
                                                       const Capacity&) {
  return std::make_unique<CommitProgram>(*this, device, mode, preferred(device.traits()));
}

// Equal shares send each device a part of the rows of their columns, or their coefficients, or all
// states.
Exchanged CommitWorkload::exchanged_by(Partition partition) const {
  const Bytes halo = partition == Partition::columns
                         ? problem_.extended_bytes() / (devices_ * devices_)
                     : partition == Partition::cosets ? problem_.bytes() / devices_
                                                      : problem_.rows() * digest_bytes;
  return {false, 0, 1, halo, partition == Partition::relay};
}

std::vector<ExchangeChoice> CommitWorkload::choices() const {
  std::vector<ExchangeChoice> all;
  for (const Partition partition : {Partition::columns, Partition::cosets, Partition::relay})
    if (partition != Partition::cosets || problem_.has_cosets_for(devices_))
      all.push_back({"--partition " + std::string(name_of(partition)), exchanged_by(partition)});
  return all;
}

// Returns digests of kernels, whose words are in Montgomery form.
std::vector<Digest> CommitWorkload::digests_in(std::span<const std::byte> words) const {
  std::vector<Digest> digests(words.size() / sizeof(Digest));
  std::memcpy(digests.data(), words.data(), words.size());
  for (Digest& digest : digests) digest = hash_.without_factor(digest);
  return digests;
}

std::string CommitWorkload::digest() const { return sha256_hex(bytes_of(root())); }

void CommitWorkload::write_result(const std::filesystem::path& file) const {
  Problem one = problem_;
  one.batch = 1;
  write_elements(file, one, bytes_of(root()));
}

std::span<const std::byte> CommitWorkload::column(std::uint64_t column) const {
  const Bytes each = problem_.transform_bytes();
  return input().subspan(column * each, each);
}

std::string CommitWorkload::check_whole() {
  if (!expected_root_) expected_root_ = root_by_reference();
  if (*expected_root_ == root()) return {};
  return "the root is " + text_of(root()) + "; expected: " + text_of(*expected_root_);
}

Digest CommitWorkload::root_by_reference() const {
  std::vector<std::vector<std::uint32_t>> columns;
  for (std::uint64_t i = 0; i < problem_.batch; ++i)
    columns.push_back(extended_column(problem_, column(i), host_threads_));
  std::vector<Digest> leaves(problem_.rows());
  parallel_for(leaves.size(), host_threads_, [&](std::uint64_t row) {
    std::vector<std::uint64_t> words;
    for (const auto& each : columns) words.push_back(each[row]);
    leaves[row] = hash_.hash(words);
  });
  return hash_.root(std::move(leaves));
}

std::string CommitWorkload::check_opened() {
  if (expected_leaves_.empty()) expected_leaves_ = opened_leaves();
  for (std::size_t i = 0; i < opened_.size(); ++i) {
    const std::uint64_t row = opened_[i];
    const std::vector<Digest> path = digests_in(this->path(i));
    Digest node = expected_leaves_[i];
    if (node != path[0])
      return fmt::format("the hash of row {} is {}; expected: {}", row, text_of(path[0]),
                         text_of(node));
    for (unsigned level = 0; level < problem_.block_bits(); ++level) {
      const Digest& other = path[level + 1];
      node = (row >> level & 1) != 0 ? hash_.compress(other, node) : hash_.compress(node, other);
    }
    const Digest found = digests_in(roots())[row >> problem_.block_bits()];
    if (node != found)
      return fmt::format("the path of row {} leads to {}; expected: {}, the root of its block", row,
                         text_of(node), text_of(found));
  }
  return {};
}

std::vector<Digest> CommitWorkload::opened_leaves() const {
  std::vector<std::uint64_t> words(opened_.size() * problem_.batch);
  parallel_for(words.size(), host_threads_, [&](std::uint64_t i) {
    words[i] = extended_element(problem_, column(i % problem_.batch), opened_[i / problem_.batch]);
  });
  std::vector<Digest> leaves;
  for (std::size_t i = 0; i < opened_.size(); ++i)
    leaves.push_back(hash_.hash(std::span(words).subspan(i * problem_.batch, problem_.batch)));
  return leaves;
}

Verdict CommitWorkload::verify(VerifyLevel level, std::uint64_t) {
  if (level == VerifyLevel::off) return {};
  if (const auto missing = arrivals_.look("parts of the tree")) return *missing;
  const bool whole = level == VerifyLevel::full;
  const std::string message = whole ? check_whole() : check_opened();
  using Status = Verdict::Status;
  return {message.empty() ? Status::passed : Status::failed,
          fmt::format("{} on the host; root {}; partition {}",
                      whole ? "all rows and the tree"
                            : fmt::format("{} rows by the barycentric formula, their hashes and "
                                          "paths",
                                          opened_.size()),
                      text_of(root()), name_of(problem_.partition)),
          message};
}

}  // namespace mgpu::ntt
