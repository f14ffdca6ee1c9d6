// Describes the merkle suite for the tool: name, options, sizes.
#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "suites/merkle/merkle_workload.hpp"
#include "suites/suites.hpp"

namespace mgpu {

SuiteInfo merkle_suite();

namespace {

using namespace merkle;

constexpr std::uint64_t most_trees = std::uint64_t{1} << 30;  // kernels number them with 32 bits

std::uint64_t trees_of(const SuiteParams& params) {
  const auto given = params.options.find("trees");
  return given == params.options.end() ? 1 : std::stoull(given->second);
}

// Returns the number of leaves of all trees. Throws Error(usage).
std::uint64_t all_leaves(const SuiteParams& params) {
  const std::uint64_t trees = trees_of(params);
  if (trees == 0 || trees > most_trees) {
    throw Error(ErrorKind::usage, "--trees: \"" + std::to_string(trees) +
                                      "\" is out of range; expected: 1 to " +
                                      std::to_string(most_trees));
  }
  bytes_of_leaves(params.size);
  if (params.size > most_leaves / trees) {
    throw Error(ErrorKind::usage, "--trees: at most 2^56 leaves in all, not " +
                                      std::to_string(trees) + " trees of " +
                                      std::to_string(params.size));
  }
  return params.size * trees;
}

Geometry geometry_of(const SuiteParams& params) {
  all_leaves(params);
  return Geometry::of(params.size, trees_of(params));
}

Bytes host_bytes(const SuiteParams& params) {
  const Items items = std::max(Geometry::max_items, geometry_of(params).items);
  // leaves; item roots, partials and their transfers
  return bytes_of_leaves(all_leaves(params)) + items * 4 * digest_bytes;
}

void check(const SuiteParams& params) {
  all_leaves(params);
  if (params.size > 0 || tree_kind(params.options.at("tree")) != TreeKind::plain) return;
  const std::string what = params.input
                               ? "--input: " + in_quotes(params.input->string()) + " is empty"
                               : "--size: \"0\" is too small";
  throw Error(ErrorKind::usage, what +
                                    ": a plain tree without leaves has no root; expected: one leaf "
                                    "or more, or --tree rfc6962");
}

Remainder remainder_of(const SuiteParams& params) {
  if (params.has_flag("pad")) return Remainder::pad;
  return tree_kind(params.options.at("tree")) == TreeKind::rfc6962 ? Remainder::short_leaf
                                                                   : Remainder::refuse;
}

std::uint64_t leaves_of_input(SuiteParams& params) {
  const std::uint64_t all = count_in_file(*params.input, remainder_of(params)),
                      trees = trees_of(params);
  if (trees == 0) return all;  // check() refuses that
  if (all % trees == 0) return all / trees;
  throw Error(ErrorKind::input, "--input " + params.input->string() + ": it has " +
                                    std::to_string(all) + " leaves; expected: a multiple of the " +
                                    std::to_string(trees) +
                                    " of --trees, whose trees have one size");
}

// Leaves out the default, so that the record is the one of a version without the option.
void resolve(SuiteParams& params) {
  if (trees_of(params) == 1) params.options.erase("trees");
}

Shape shape(const SuiteParams& params) { return shape_of(geometry_of(params)); }

std::unique_ptr<Workload> make(const SuiteParams& params) {
  check(params);
  const TreeKind kind = tree_kind(params.options.at("tree"));
  const std::uint64_t count = all_leaves(params);
  Leaves leaves = params.input ? Leaves::from_file(*params.input, count, remainder_of(params))
                               : Leaves::random(count, params.seed, params.host_threads);
  return std::make_unique<MerkleWorkload>(kind, std::move(leaves), params.host_threads,
                                          trees_of(params));
}

}  // namespace

SuiteInfo merkle_suite() {
  SuiteInfo info;
  info.name = "merkle";
  info.summary = "SHA-256 Merkle trees, split into trees or subtrees";
  info.size_name = "leaves";
  info.default_size = std::uint64_t{1} << 22;
  info.quick_size = std::uint64_t{1} << 20;
  info.full_size = std::uint64_t{1} << 24;
  info.full_size_cpu = std::uint64_t{1} << 18;
  info.options = {{"tree",
                   "plain: node = SHA-256(left || right) over 32-byte leaves; rfc6962: leaves and "
                   "nodes are hashed with their prefixes; rfc6962-digests: the same, but the "
                   "leaves are already RFC 6962 leaf hashes. An odd node is promoted unchanged",
                   {tree_names.begin(), tree_names.end()}},
                  {"trees",
                   "Number of trees of --size leaves each; devices get whole trees where there "
                   "are many. The digest of several is the SHA-256 of their roots",
                   {"1"},
                   SuiteOption::Kind::count},
                  {"pad",
                   "With --input: pad a last leaf of fewer than 32 bytes with zeros",
                   {"no", "yes"},
                   SuiteOption::Kind::flag}};
  info.measures_nothing = true;  // the root of an empty tree, by RFC 6962
  info.input =
      "concatenated leaves of 32 bytes, with --trees those of one tree after the other; with "
      "--tree "
      "rfc6962 the last may be shorter and is hashed as it is, with --pad it is padded with zeros";
  info.modes = {Mode::resident, Mode::end_to_end};
  info.host_bytes = host_bytes;
  info.size_of_input = leaves_of_input;
  info.check = check;
  info.optional.resolve = resolve;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
