#include "suites/ntt/problem.hpp"

#include <algorithm>
#include <bit>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/workload/pages.hpp"
#include "suites/common/option_values.hpp"
#include "suites/ntt/elements.hpp"

namespace mgpu::ntt {
namespace {

constexpr std::uint64_t most_batch = 1 << 16;

unsigned largest_bits(const Problem& problem) {
  const unsigned adicity = with_field(problem.field, [](auto f) { return decltype(f)::adicity; });
  return std::min(
      most_bits,
      adicity - (problem.cosets > 1 ? static_cast<unsigned>(std::countr_zero(problem.cosets)) : 0));
}

// Without a wish, devices receive as few bytes as possible: (G - 1) / G of their rows or of all
// coefficients, or the states of all rows.
void choose_partition(Problem& problem, const SuiteParams& params) {
  if (problem.field != Field::babybear && problem.field != Field::koalabear)
    throw refused_option("field",
                         in_quotes(params.options.at("field")) +
                             "; expected with --op commit, which hashes by Poseidon2 of 31 "
                             "bits: babybear, koalabear");
  if (problem.cosets == 1) problem.cosets = 0;
  const std::uint64_t devices = std::max<std::size_t>(params.devices, 1);
  const bool has_cosets = problem.has_cosets_for(devices);
  const std::string& name = params.options.at("partition");
  const auto named = std::find(partition_names.begin(), partition_names.end(), name);
  if (named != partition_names.end()) {
    problem.partition = static_cast<Partition>(named - partition_names.begin());
    if (problem.partition == Partition::cosets && !has_cosets)
      throw refused_option("partition",
                           in_quotes(name) + ": " + params.options.at("blowup") +
                               (problem.cosets == 0 ? " coset" : " cosets") + " (--blowup) for " +
                               std::to_string(devices) +
                               " devices; expected: at least one per device, or columns, relay");
    return;
  }
  const std::uint64_t blowup = std::max<std::uint64_t>(problem.cosets, 1),
                      by_columns = problem.batch * (devices - 1) * blowup,
                      by_cosets = problem.batch * (devices - 1) * devices,
                      by_relay = 8 * blowup * devices * devices;
  problem.partition = by_relay < by_columns && (by_relay < by_cosets || !has_cosets)
                          ? Partition::relay
                      : by_cosets < by_columns && has_cosets ? Partition::cosets
                                                             : Partition::columns;
}

Problem problem_without_size(const SuiteParams& params) {
  Problem problem;
  const auto& options = params.options;
  const auto name = std::find(field_names.begin(), field_names.end(), options.at("field"));
  problem.field = static_cast<Field>(name - field_names.begin());
  problem.inverse = options.at("op") == "intt";
  problem.order = {options.at("order") == "rn", options.at("order") == "nr"};
  problem.commits = options.at("op") == "commit";
  if (options.at("op") == "lde" || problem.commits) {
    if (options.at("order") != "nn")
      throw refused_option("order", in_quotes(options.at("order")) + "; expected with --op " +
                                        options.at("op") +
                                        ": nn, as columns come in natural order and "
                                        "rows of the result are always bit-reversed");
    problem.order = {false, true};
    problem.cosets = count_of_option(params, "blowup", 8);
  }
  const std::string& way = options.at("exchange");
  problem.way = way == "auto" ? Way::chosen : way == "kernels" ? Way::kernels : Way::puts;
  problem.batch = count_of_option(params, "batch", most_batch);
  problem.seed = params.seed;
  if (problem.commits) choose_partition(problem, params);
  return problem;
}

}  // namespace

std::vector<unsigned> Problem::passes() const {
  const unsigned count = bits <= 2 * most_pass_bits ? 2 : 3;
  std::vector<unsigned> all(count, bits / count);
  for (unsigned i = 0; i < bits % count; ++i) ++all[i];
  return all;
}

// An item's columns are 32 bytes of a row, which is what a GPU writes at once.
std::uint64_t Problem::columns_per_item() const {
  return std::min<std::uint64_t>(std::uint64_t{1} << column_bits(),
                                 std::max<Bytes>(1, 32 / element()));
}
std::uint64_t Problem::rows_per_item() const {
  return columns_per_item() << (row_bits() - column_bits());
}

// Launches of 32 MiB fill a GPU, and what one pass writes is still in its cache for the next.
std::uint64_t Problem::at_once() const {
  return std::clamp<std::uint64_t>((Bytes{32} << 20) / transform_bytes(), 1, batch);
}

// Sixty-four blocks balance shares.
std::uint64_t Problem::blocks() const {
  if (partition == Partition::cosets) return std::max<std::uint64_t>(cosets, 1);
  return std::min(rows(), std::clamp<std::uint64_t>(rows() >> 12, 8, 64));
}
// A part costs a launch and a signal, and the last device waits for one part: of 2^17 to 2^19 rows
// these took least on two H200. Sixteen parts of fewer rows keep devices busy at the same time.
std::uint64_t Problem::relayed_rows() const {
  return std::max(block_rows(), std::min(std::uint64_t{1} << 18, rows() / 16));
}
Bytes Problem::result_bytes() const {
  if (!commits) return extended_bytes();
  return (blocks() + opened_rows * (block_bits() + 1)) * digest_bytes;
}
unsigned Problem::block_bits() const {
  return static_cast<unsigned>(std::countr_zero(block_rows()));
}
Problem::Range Problem::columns_of(const Slice& items) const {
  constexpr std::uint64_t at_once = 8;
  const std::uint64_t groups = std::max<std::uint64_t>(batch / at_once, 1);
  const auto first = [&](Items item) {
    return item == blocks() ? batch : groups * item / blocks() * at_once;
  };
  return {first(items.begin), first(items.end)};
}

Problem Problem::interpolation() const {
  Problem problem = *this;
  problem.inverse = true;
  problem.order = {};
  problem.cosets = 0;
  return problem;
}

Problem problem_of(const SuiteParams& params) {
  Problem problem = problem_without_size(params);
  const std::uint64_t n =
      params.input ? elements_in_files(params, problem) / problem.batch : params.size;
  const unsigned most = largest_bits(problem);
  if (!std::has_single_bit(n) || n < 4 || n > std::uint64_t{1} << most) {
    const std::string why =
        std::to_string(n) + " elements; expected with --field " + params.options.at("field") +
        (problem.cosets > 0 ? " and --blowup " + params.options.at("blowup") : "") +
        ": a power of two from 4 to 2^" + std::to_string(most);
    throw params.input ? Error(ErrorKind::input, "--input " + params.input->string() + ": " + why)
                       : refused_option("size", why);
  }
  problem.bits = static_cast<unsigned>(std::countr_zero(n));
  return problem;
}

Bytes host_bytes(const SuiteParams& params) {
  const Problem problem = problem_without_size(params);
  if (params.size > std::uint64_t{1} << largest_bits(problem)) return ~Bytes{0};
  if (problem.commits) return in_pages(params.size * problem.batch * problem.element());
  const Bytes bytes = params.size * problem.batch * problem.element();
  return in_pages(bytes) + in_pages(bytes * std::max<std::uint64_t>(problem.cosets, 1));
}

std::uint64_t full_size(const SuiteParams& params) {
  const Problem problem = problem_without_size(params);
  if (problem.cosets == 0 && !problem.commits) return params.size;
  // A CPU hashes rows for 20 times as long as it transforms them: a commit has fewer, 10 ms of a
  // core.
  const std::uint64_t more = problem.commits && params.cpus ? 32 : 0;
  const std::uint64_t columns =
      std::bit_ceil((problem.batch + more) * std::max<std::uint64_t>(problem.cosets, 1));
  return std::max<std::uint64_t>(params.size / columns, params.cpus ? 1 << 8 : 1 << 18);
}

Shape shape_of(const Problem& problem) {
  Shape shape;
  shape.items = problem.commits ? problem.blocks()
                : problem.is_split()
                    ? (Items{1} << problem.column_bits()) / problem.columns_per_item()
                    : problem.batch;
  shape.unit = {"elements", problem.n() * problem.batch};
  shape.rounds = problem.is_split() || problem.commits ? 2 : 0;
  if (problem.is_split()) shape.fills_gpu = shape.items;  // fewer leave it idle, or fit its cache
  shape.result_on_devices = true;
  shape.ops = static_cast<double>(problem.n() * problem.batch);
  shape.rate_unit = "elements/s";
  if (problem.commits) {
    shape.ops =
        static_cast<double>(problem.rows() * ceil_div(problem.batch, 8) + problem.rows() - 1);
    shape.rate_unit = "permutations/s";
  }
  shape.bytes_in = problem.bytes();
  shape.bytes_out = problem.result_bytes();
  shape.spread_cost();
  return shape;
}

Bytes host_bytes(const Problem& problem) {
  return in_pages(problem.bytes()) + in_pages(problem.result_bytes());
}

}  // namespace mgpu::ntt
