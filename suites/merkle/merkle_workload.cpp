// Merging and verifying a Merkle tree on the host.
#include "suites/merkle/merkle_workload.hpp"

#include <random>

#include "lib/base/error.hpp"
#include "lib/workload/parallel_for.hpp"
#include "lib/workload/result_file.hpp"
#include "suites/common/sha256_hex.hpp"
#include "suites/merkle/hash.hpp"
#include "suites/merkle/merkle_program.hpp"
#include "suites/merkle/passes.hpp"
#include "suites/merkle/reference.hpp"

namespace mgpu::merkle {

Shape shape_of(const Rules& rules, const Geometry& geometry) {
  Shape shape;
  shape.items = geometry.items;
  shape.unit = {"leaves", geometry.all_leaves()};
  shape.ops = static_cast<double>(geometry.trees) *
              (geometry.leaves == 0 ? 0 : static_cast<double>(geometry.leaves - 1));
  shape.rate_unit = "nodes/s";
  shape.bytes_in = geometry.all_leaves() * rules.leaf_bytes;
  shape.bytes_out = geometry.trees * digest_bytes;
  shape.spread_cost();
  shape.cost.out_bytes = digest_bytes;
  return shape;
}

MerkleWorkload::MerkleWorkload(const Rules& rules, Leaves leaves, unsigned host_threads,
                               std::uint64_t trees)
    : rules_(rules),
      leaves_(std::move(leaves)),
      host_threads_(host_threads),
      geometry_(Geometry::of(leaves_.count() / trees, trees)),
      shape_(shape_of(rules, geometry_)),
      item_roots_(geometry_.items) {
  if (geometry_.per_tree == 1) {
    whole_trees_.resize(trees);
  } else {
    partials_.assign(trees, PartialTree(geometry_.per_tree));
  }
  shape_.merge.tree = trees == 1;
}

Capacity MerkleWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  return merkle::capacity(device, rules_, geometry_, mode);
}

// Hashing a node of 64 bytes with SHA-256 takes 1050 rotations and shifts and 616 three-input logic
// functions, counted in the machine code for an H200; its 626 additions can run in parallel, on the
// pipe that multiplies. Each of the 1666 takes the slot of a multiply-add, which `calibrate` counts
// as two operations. Other trees and hashes have other schedules, and CPUs other instructions; they
// are not counted.
Demand MerkleWorkload::demand(const DeviceTraits& device) const {
  Demand demand;
  if (device.cpu || rules_.kind != TreeKind::plain || rules_.hash != Hash::sha256) return demand;
  demand.int32 = 2 * 1666 * shape_.ops;
  demand.memory_bytes = static_cast<double>(shape_.bytes_in);
  return demand;
}

std::unique_ptr<DeviceProgram> MerkleWorkload::program(DeviceResources& device, Mode mode,
                                                       const Capacity& capacity) {
  return std::make_unique<MerkleProgram>(*this, device, mode, capacity.fits);
}

void MerkleWorkload::begin_sample() {
  const std::scoped_lock lock(mutex_);
  for (PartialTree& tree : partials_) tree.clear();
  whole_trees_.assign(whole_trees_.size(), std::nullopt);
  item_roots_.assign(item_roots_.size(), std::nullopt);
  roots_.clear();
}

void MerkleWorkload::add_partials(std::span<const Partial> partials) {
  const std::scoped_lock lock(mutex_);
  for (const Partial& partial : partials) {
    if (partials_.empty()) {
      whole_trees_.at(partial.tree) = partial.digest;
    } else {
      partials_.at(partial.tree).set(partial.node, partial.digest);
    }
  }
}

void MerkleWorkload::add_item_roots(Items first, std::span<const Digest> roots) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < roots.size(); ++i) item_roots_.at(first + i) = roots[i];
}

std::vector<Partial> MerkleWorkload::frontier() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Partial> partials;
  for (const TreeNode& node : partials_.front().frontier())
    partials.push_back({0, node, *partials_.front().find(node)});
  return partials;
}

void MerkleWorkload::rehearse_merge(std::size_t parts) {
  PartialTree tree(parts);
  for (std::size_t i = 0; i < parts; ++i) tree.set({0, i}, {});
  combine(rules_, tree);
}

bool MerkleWorkload::merge_on_device(const DeviceTraits& best, Nanos per_part) const {
  if (best.cpu || partials_.empty()) return false;
  // An H200 takes 2.3 us (its latency) per level, and about 200 us for upload, launch and download.
  const double host_us = 1e6 * seconds(per_part) * static_cast<double>(frontier().size() - 1);
  return host_us > 200 + 2.3 * ceil_log2(geometry_.items);
}

void MerkleWorkload::merge() {
  const std::scoped_lock lock(mutex_);
  roots_.resize(geometry_.trees);
  if (geometry_.leaves == 0) {
    std::fill(roots_.begin(), roots_.end(), hash_message(rules_.hash, {}));
    return;
  }
  for (std::size_t tree = 0; tree < roots_.size(); ++tree) {
    if (!partials_.empty()) {
      roots_[tree] = combine(rules_, partials_[tree]);
    } else if (whole_trees_[tree]) {
      roots_[tree] = *whole_trees_[tree];
    } else {
      throw Error(ErrorKind::internal, "merge: tree " + std::to_string(tree) + " has no result");
    }
  }
}

void MerkleWorkload::set_roots(std::vector<Digest> roots) { roots_ = std::move(roots); }

// One root is its own digest; that of many is the SHA-256 of all, one after the other.
std::string MerkleWorkload::digest() const {
  if (roots_.empty()) throw Error(ErrorKind::internal, "merkle: no root before merge()");
  return roots_.size() == 1 ? hex(roots_.front()) : sha256_hex(std::as_bytes(std::span(roots_)));
}

Verdict MerkleWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  if (level == VerifyLevel::off) return {};
  if (roots_.empty()) throw Error(ErrorKind::internal, "merkle: no root before merge()");
  return level == VerifyLevel::full ? verify_full() : verify_sample(seed);
}

Verdict MerkleWorkload::verify_full() {
  const std::uint64_t trees = geometry_.trees;
  const std::string reference(reference_name(rules_.hash));
  if (reference_roots_.empty()) {
    reference_roots_.resize(trees);
    const auto threads_each = static_cast<unsigned>(host_threads_ / trees);
    parallel_for(trees, host_threads_, [&](std::uint64_t tree) {
      const std::uint64_t first = tree * geometry_.leaves;
      reference_roots_[tree] = reference_root(
          rules_, leaves_.content(first, first + geometry_.leaves), std::max(1u, threads_each));
    });
  }
  Verdict verdict{
      Verdict::Status::passed,
      trees == 1 ? "the whole tree from its leaves, by " + reference
                 : "all " + std::to_string(trees) + " trees from their leaves, by " + reference,
      ""};
  for (std::uint64_t tree = 0; tree < trees; ++tree) {
    if (roots_[tree] == reference_roots_[tree]) continue;
    verdict.status = Verdict::Status::failed;
    verdict.message = (trees == 1 ? "root " : "tree " + std::to_string(tree) + " has the root ") +
                      hex(roots_[tree]) + ", " + reference + " says " + hex(reference_roots_[tree]);
    break;
  }
  return verdict;
}

Digest MerkleWorkload::item_by_reference(Items item) const {
  return reference_root(rules_,
                        leaves_.content(geometry_.first_leaf(item), geometry_.first_leaf(item + 1)),
                        1, geometry_.per_tree > 1 ? geometry_.height : 0);
}

std::string MerkleWorkload::name_of(Items item) const {
  std::string name = "subtree " + std::to_string(item % geometry_.per_tree);
  if (geometry_.trees > 1) name += " of tree " + std::to_string(item / geometry_.per_tree);
  return name;
}

// Checks a few item roots against their leaves, and everything above the items. A wrong item is
// missed with probability of about 1 - 16 / items, a wrong combination never. Items of a failed
// device were not published; the reference computes them here.
Verdict MerkleWorkload::verify_sample(std::uint64_t seed) {
  if (geometry_.leaves == 0) return verify_full();
  constexpr std::size_t checks = 16;
  const std::string reference(reference_name(rules_.hash));
  std::mt19937_64 random(seed);
  std::vector<Items> chosen, missing;
  for (Items i = 0; i < geometry_.items; ++i) {
    if (!item_roots_[i]) missing.push_back(i);
  }
  for (std::size_t i = 0; i < std::min<Items>(checks, geometry_.items); ++i)
    chosen.push_back(random() % geometry_.items);

  std::vector<Digest> expected(chosen.size());
  parallel_for(chosen.size(), host_threads_,
               [&](std::uint64_t i) { expected[i] = item_by_reference(chosen[i]); });
  std::vector<Digest> nodes(geometry_.items);
  parallel_for(missing.size(), host_threads_,
               [&](std::uint64_t i) { nodes[missing[i]] = item_by_reference(missing[i]); });
  for (Items i = 0; i < geometry_.items; ++i) {
    if (item_roots_[i]) nodes[i] = *item_roots_[i];
  }

  Verdict verdict{Verdict::Status::passed, "", ""};
  verdict.method = std::to_string(chosen.size()) + " of " + std::to_string(geometry_.items) +
                   " subtrees from their leaves, and all levels above them, by " + reference;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (nodes[chosen[i]] == expected[i]) continue;
    verdict.status = Verdict::Status::failed;
    verdict.message = name_of(chosen[i]) + " is " + hex(nodes[chosen[i]]) + ", " + reference +
                      " says " + hex(expected[i]);
    return verdict;
  }
  for (std::uint64_t tree = 0; tree < geometry_.trees; ++tree) {
    const Items per_tree = geometry_.per_tree;
    const Digest top = reference_top(rules_, std::span(nodes).subspan(tree * per_tree, per_tree));
    if (roots_[tree] == top) continue;
    verdict.status = Verdict::Status::failed;
    verdict.message = "root " + hex(roots_[tree]) + ", " + reference + " combines the subtrees" +
                      (geometry_.trees > 1 ? " of tree " + std::to_string(tree) : "") + " to " +
                      hex(top);
    break;
  }
  return verdict;
}

void MerkleWorkload::write_result(const std::filesystem::path& file) const {
  if (roots_.empty()) throw Error(ErrorKind::internal, "merkle: no root before merge()");
  write_result_file(file, [&](std::ostream& out) {
    for (const Digest& root : roots_) out << hex(root) << '\n';
  });
}

}  // namespace mgpu::merkle
