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

// Options that a problem leaves out at their defaults, so that its record is the one of a version
// without them.
constexpr std::array<std::pair<const char*, const char*>, 3> defaults{
    {{"trees", "1"}, {"hash", "sha256"}, {"leaf-bytes", "32"}}};

std::string value_of(const SuiteParams& params, const std::string& option) {
  const auto given = params.options.find(option);
  if (given != params.options.end()) return given->second;
  return std::find_if(defaults.begin(), defaults.end(),
                      [&](const auto& each) { return each.first == option; })
      ->second;
}

std::uint64_t trees_of(const SuiteParams& params) { return std::stoull(value_of(params, "trees")); }

// Returns the name of an option as a value. Throws Error(usage).
template <class Value, std::size_t N>
Value named(const SuiteParams& params, const std::string& option,
            const std::array<std::string_view, N>& names) {
  const std::string name = value_of(params, option);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(ErrorKind::usage,
                "--" + option + ": " + in_quotes(name) + " is unknown; expected: " +
                    in_words(std::vector<std::string>(names.begin(), names.end())));
  }
  return static_cast<Value>(found - names.begin());
}

// Throws Error(usage).
Rules rules_of(const SuiteParams& params) {
  const Rules rules(named<TreeKind>(params, "tree", tree_names),
                    named<Hash>(params, "hash", hash_names),
                    std::stoull(value_of(params, "leaf-bytes")));
  const std::string tree = value_of(params, "tree"), bytes = value_of(params, "leaf-bytes");
  if (rules.is_bitcoin() && rules.hash != Hash::sha256) {
    throw Error(ErrorKind::usage, "--hash: \"" + value_of(params, "hash") +
                                      "\" is not that of --tree bitcoin, whose nodes are SHA-256 "
                                      "twice; expected: --hash sha256");
  }
  if (rules.leaf_bytes == 0 || rules.leaf_bytes > most_leaf_bytes) {
    throw Error(ErrorKind::usage, "--leaf-bytes: \"" + bytes +
                                      "\" is out of range; expected: 1 to " +
                                      std::to_string(most_leaf_bytes));
  }
  if (!rules.hashes_leaves() && rules.leaf_bytes != digest_bytes) {
    throw Error(ErrorKind::usage, "--leaf-bytes: \"" + bytes + "\": leaves of --tree " + tree +
                                      " are digests of 32 bytes; expected: --tree hashed or "
                                      "rfc6962, which hash leaves of any length");
  }
  return rules;
}

// Returns the number of leaves of all trees. Throws Error(usage).
std::uint64_t all_leaves(const SuiteParams& params) {
  const std::uint64_t trees = trees_of(params);
  if (trees == 0 || trees > most_trees) {
    throw Error(ErrorKind::usage, "--trees: \"" + std::to_string(trees) +
                                      "\" is out of range; expected: 1 to " +
                                      std::to_string(most_trees));
  }
  const Bytes leaf_bytes = rules_of(params).leaf_bytes;
  bytes_of_leaves(params.size, leaf_bytes);
  if (params.size > most_leaves / trees) {
    throw Error(ErrorKind::usage, "--trees: at most 2^56 leaves in all, not " +
                                      std::to_string(trees) + " trees of " +
                                      std::to_string(params.size));
  }
  bytes_of_leaves(params.size * trees, leaf_bytes);
  return params.size * trees;
}

Geometry geometry_of(const SuiteParams& params) {
  all_leaves(params);
  return Geometry::of(params.size, trees_of(params));
}

Bytes host_bytes(const SuiteParams& params) {
  const Items items = std::max(Geometry::max_items, geometry_of(params).items);
  // leaves; item roots, partials and their transfers
  return bytes_of_leaves(all_leaves(params), rules_of(params).leaf_bytes) +
         items * 4 * digest_bytes;
}

void check(const SuiteParams& params) {
  all_leaves(params);
  if (params.size > 0 || rules_of(params).has_prefixes()) return;
  const std::string what = params.input
                               ? "--input: " + in_quotes(params.input->string()) + " is empty"
                               : "--size: \"0\" is too small";
  throw Error(ErrorKind::usage, what + ": a " + value_of(params, "tree") +
                                    " tree without leaves has no root; expected: one leaf "
                                    "or more, or --tree rfc6962");
}

Remainder remainder_of(const SuiteParams& params) {
  if (params.has_flag("pad")) return Remainder::pad;
  return rules_of(params).hashes_leaves() ? Remainder::short_leaf : Remainder::refuse;
}

std::uint64_t leaves_of_input(SuiteParams& params) {
  const std::uint64_t all = count_in_file(*params.input, remainder_of(params),
                                          rules_of(params).leaf_bytes),
                      trees = trees_of(params);
  if (trees == 0) return all;  // check() refuses that
  if (all % trees == 0) return all / trees;
  throw Error(ErrorKind::input, "--input " + params.input->string() + ": it has " +
                                    std::to_string(all) + " leaves; expected: a multiple of the " +
                                    std::to_string(trees) +
                                    " of --trees, whose trees have one size");
}

void resolve(SuiteParams& params) {
  for (const auto& [option, value] : defaults)
    if (value_of(params, option) == value) params.options.erase(option);
}

Shape shape(const SuiteParams& params) { return shape_of(rules_of(params), geometry_of(params)); }

std::unique_ptr<Workload> make(const SuiteParams& params) {
  check(params);
  const Rules rules = rules_of(params);
  const std::uint64_t count = all_leaves(params);
  Leaves leaves =
      params.input ? Leaves::from_file(*params.input, count, remainder_of(params), rules.leaf_bytes)
                   : Leaves::random(count, params.seed, params.host_threads, rules.leaf_bytes);
  return std::make_unique<MerkleWorkload>(rules, std::move(leaves), params.host_threads,
                                          trees_of(params));
}

}  // namespace

SuiteInfo merkle_suite() {
  SuiteInfo info;
  info.name = "merkle";
  info.summary = "Merkle trees of SHA-256, Keccak-256 or BLAKE3, split into trees or subtrees";
  info.size_name = "leaves";
  info.default_size = std::uint64_t{1} << 22;
  info.quick_size = std::uint64_t{1} << 20;
  info.full_size = std::uint64_t{1} << 24;
  info.full_size_cpu = std::uint64_t{1} << 18;
  info.options = {{"tree",
                   "plain: node = H(left || right) over 32-byte leaves; rfc6962: leaves and "
                   "nodes are hashed with their prefixes; rfc6962-digests: the same, but the "
                   "leaves are already RFC 6962 leaf hashes; hashed: plain, over hashes of the "
                   "leaves. An odd node is promoted unchanged. bitcoin: node = H(H(left || right)) "
                   "over txids in internal byte order, an odd node is paired with itself",
                   {tree_names.begin(), tree_names.end()}},
                  {"hash",
                   "H: sha256, Ethereum's keccak256, or blake3 of a node's bytes, which is not a "
                   "node of BLAKE3's own tree",
                   {hash_names.begin(), hash_names.end()}},
                  {"leaf-bytes",
                   "Bytes of a leaf, for --tree rfc6962 and hashed",
                   {"32"},
                   SuiteOption::Kind::count},
                  {"trees",
                   "Number of trees of --size leaves each; devices get whole trees where there "
                   "are many. The digest of several is the SHA-256 of their roots",
                   {"1"},
                   SuiteOption::Kind::count},
                  {"pad",
                   "With --input: pad a last leaf that is shorter than the others with zeros",
                   {"no", "yes"},
                   SuiteOption::Kind::flag}};
  info.measures_nothing = true;  // the root of an empty tree, by RFC 6962
  info.input =
      "concatenated leaves of --leaf-bytes, with --trees those of one tree after the other; with "
      "--tree rfc6962 or hashed the last may be shorter and is hashed as it is, with --pad it is "
      "padded with zeros";
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
