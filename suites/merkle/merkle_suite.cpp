// Describes the merkle suite for the tool: name, options, sizes.
#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "suites/merkle/merkle_workload.hpp"
#include "suites/suites.hpp"

namespace mgpu {

SuiteInfo merkle_suite();

namespace {

using namespace merkle;

Bytes host_bytes(const SuiteParams& params) {
  return bytes_of_leaves(params.size) +
         Geometry::max_items * 4 *
             digest_bytes;  // leaves; item roots, partials and their transfers
}

void check(const SuiteParams& params) {
  bytes_of_leaves(params.size);
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
  return count_in_file(*params.input, remainder_of(params));
}

Shape shape(const SuiteParams& params) { return shape_of(Geometry::of(params.size)); }

std::unique_ptr<Workload> make(const SuiteParams& params) {
  check(params);
  const TreeKind kind = tree_kind(params.options.at("tree"));
  Leaves leaves = params.input ? Leaves::from_file(*params.input, params.size, remainder_of(params))
                               : Leaves::random(params.size, params.seed, params.host_threads);
  return std::make_unique<MerkleWorkload>(kind, std::move(leaves), params.host_threads);
}

}  // namespace

SuiteInfo merkle_suite() {
  SuiteInfo info;
  info.name = "merkle";
  info.summary = "SHA-256 Merkle tree, split into subtrees";
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
                  {"pad",
                   "With --input: pad a last leaf of fewer than 32 bytes with zeros",
                   {"no", "yes"},
                   SuiteOption::Kind::flag}};
  info.measures_nothing = true;  // the root of an empty tree, by RFC 6962
  info.input =
      "concatenated leaves of 32 bytes; with --tree rfc6962 the last may be shorter and is hashed "
      "as it is, with --pad it is padded with zeros";
  info.modes = {Mode::resident, Mode::end_to_end};
  info.host_bytes = host_bytes;
  info.size_of_input = leaves_of_input;
  info.check = check;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
