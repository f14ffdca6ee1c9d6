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
  const unsigned adicity =
      with_field(problem.field, [](auto f) { return decltype(f)::adicity; });
  return std::min(most_bits, adicity - (problem.cosets > 1 ? static_cast<unsigned>(std::countr_zero(
                                                                 problem.cosets))
                                                           : 0));
}

Problem problem_without_size(const SuiteParams& params) {
  Problem problem;
  const auto& options = params.options;
  const auto name = std::find(field_names.begin(), field_names.end(), options.at("field"));
  problem.field = static_cast<Field>(name - field_names.begin());
  problem.inverse = options.at("op") == "intt";
  problem.order = {options.at("order") == "rn", options.at("order") == "nr"};
  if (options.at("op") == "lde") {
    if (options.at("order") != "nn")
      throw refused_option("order",
                           in_quotes(options.at("order")) +
                               "; expected with --op lde: nn, as columns come in natural order and "
                               "rows of the result are always bit-reversed");
    problem.order = {false, true};
    problem.cosets = count_of_option(params, "blowup", 8);
  }
  const std::string& way = options.at("exchange");
  problem.way = way == "auto" ? Way::chosen : way == "kernels" ? Way::kernels : Way::puts;
  problem.batch = count_of_option(params, "batch", most_batch);
  problem.seed = params.seed;
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
    const std::string why = std::to_string(n) + " elements; expected with --field " +
                            params.options.at("field") +
                            (problem.cosets > 0 ? " and --blowup " + params.options.at("blowup")
                                                : "") +
                            ": a power of two from 4 to 2^" +
                            std::to_string(most);
    throw params.input ? Error(ErrorKind::input, "--input " + params.input->string() + ": " + why)
                       : refused_option("size", why);
  }
  problem.bits = static_cast<unsigned>(std::countr_zero(n));
  return problem;
}

Bytes host_bytes(const SuiteParams& params) {
  const Problem problem = problem_without_size(params);
  if (params.size > std::uint64_t{1} << largest_bits(problem)) return ~Bytes{0};
  const Bytes bytes = params.size * problem.batch * problem.element();
  return in_pages(bytes) + in_pages(bytes * std::max<std::uint64_t>(problem.cosets, 1));
}

Shape shape_of(const Problem& problem) {
  Shape shape;
  shape.items = problem.is_split()
                    ? (Items{1} << problem.column_bits()) / problem.columns_per_item()
                    : problem.batch;
  shape.unit = {"elements", problem.n() * problem.batch};
  shape.rounds = problem.is_split() ? 2 : 0;
  shape.result_on_devices = true;
  shape.ops = static_cast<double>(problem.n() * problem.batch);
  shape.rate_unit = "elements/s";
  shape.bytes_in = problem.bytes();
  shape.bytes_out = problem.result_bytes();
  shape.spread_cost();
  return shape;
}

Bytes host_bytes(const Problem& problem) {
  return in_pages(problem.bytes()) + in_pages(problem.result_bytes());
}

}  // namespace mgpu::ntt
