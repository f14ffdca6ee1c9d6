// The msm suite's registration: name, options and sizes.
#include <algorithm>

#include "lib/base/error.hpp"
#include "suites/msm/msm_workload.hpp"
#include "suites/msm/terms_file.hpp"
#include "suites/suites.hpp"

namespace mgpu {

SuiteInfo msm_suite();

namespace {

using namespace msm;

template <class Names>
std::size_t index_of(const Names& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

Curve curve_of(const SuiteParams& params) {
  return static_cast<Curve>(index_of(curve_names, params.options.at("curve")));
}

std::uint64_t sums_of(const SuiteParams& params) {
  const auto given = params.options.find("batch");
  return given == params.options.end() ? 1 : std::stoull(given->second);
}

Bytes host_bytes(const SuiteParams& params) {
  constexpr Bytes parsing = 512;  // bytes per term of a file, as text and parsed
  return bytes_of_terms(curve_of(params), params.size, sums_of(params)) +
         (params.input ? params.size * parsing : 0);
}

class MsmInput final : public InputData {
 public:
  explicit MsmInput(Terms terms) : terms_(std::make_shared<Terms>(std::move(terms))) {}
  const std::shared_ptr<Terms>& terms() const { return terms_; }

 private:
  std::shared_ptr<Terms> terms_;
};

Terms read_input(const SuiteParams& params) {
  const Trust trust = params.has_flag("trust-input") ? Trust::subgroup : Trust::nothing;
  return terms_from_file(*params.input, curve_of(params), trust, params.host_threads);
}

std::uint64_t terms_of_input(SuiteParams& params) {
  const auto input = std::make_shared<MsmInput>(read_input(params));
  params.input_data = input;
  return input->terms()->count();
}

std::shared_ptr<Terms> terms_of(const SuiteParams& params) {
  if (const auto* input = dynamic_cast<const MsmInput*>(params.input_data.get()))
    return input->terms();
  const auto scalars = static_cast<Scalars>(index_of(scalar_names, params.options.at("scalars")));
  return std::make_shared<Terms>(
      params.input ? read_input(params)
                   : Terms::seeded(curve_of(params), params.size, scalars, params.seed,
                                   params.host_threads, sums_of(params)));
}

void check_batch(const SuiteParams& params) {
  const std::string batch = std::to_string(sums_of(params));
  if (batch == "1") return;
  if (batch == "0") throw Error(ErrorKind::usage, "--batch: \"0\" sums; expected: 1 or more");
  if (params.input)
    throw Error(ErrorKind::usage, "--batch: \"" + batch +
                                      "\" is for seeded terms, the file of --input has one scalar "
                                      "per point; expected with --input: 1");
  if (params.options.at("axis") == "windows")
    throw Error(
        ErrorKind::usage,
        "--batch: \"" + batch + "\" sums are split as wholes; expected with --axis windows: 1");
}

void check(const SuiteParams& params) {
  bytes_of_terms(curve_of(params), params.size, sums_of(params));
  check_batch(params);
  const auto scalars = params.options.find("scalars");
  const auto fixed_base = params.options.find("fixed-base");
  if (fixed_base != params.options.end() && fixed_base->second == "yes" &&
      params.options.at("axis") == "windows") {
    throw Error(ErrorKind::usage,
                "--fixed-base: \"yes\" is for --axis points, where windows share their buckets; "
                "expected with --axis windows: auto, no");
  }
  if (!params.input || scalars == params.options.end() || scalars->second == scalar_names[0])
    return;
  throw Error(ErrorKind::usage, "--scalars: \"" + scalars->second +
                                    "\" is for seeded terms, the file of --input has its own; " +
                                    "expected: --scalars without --input");
}

// Drops options that the record must not have: the distribution of a file's scalars, and a batch of
// one sum, which versions without the option computed.
void resolve(SuiteParams& params) {
  if (params.input) params.options.erase("scalars");
  if (sums_of(params) == 1) params.options.erase("batch");
}

MsmOptions options_of(const SuiteParams& params) {
  MsmOptions options;
  options.axis = params.options.at("axis") == "windows" ? Axis::windows : Axis::points;
  options.fixed_base =
      static_cast<FixedBase>(index_of(fixed_base_names, params.options.at("fixed-base")));
  const std::string& window = params.options.at("window");
  options.window_bits = window == "auto" ? 0 : static_cast<unsigned>(std::stoul(window));
  options.devices = params.devices;
  options.sums = sums_of(params);
  options.limit = params.cpus ? Limit::throughput : Limit::latency;
  options.host_threads = params.host_threads;
  return options;
}

Shape shape(const SuiteParams& params) {
  return shape_of_seeded(curve_of(params), params.size, options_of(params));
}

std::unique_ptr<Workload> make(const SuiteParams& params) {
  check(params);
  return std::make_unique<MsmWorkload>(terms_of(params), options_of(params));
}

std::vector<std::string> window_values() {
  std::vector<std::string> values{"auto"};
  for (unsigned bits = least_window; bits <= largest_window; ++bits)
    values.push_back(std::to_string(bits));
  return values;
}

}  // namespace

SuiteInfo msm_suite() {
  SuiteInfo info;
  info.name = "msm";
  info.summary =
      "Multi-scalar multiplication on an elliptic curve by Pippenger's algorithm, split by points, "
      "windows or sums";
  info.size_name = "terms";
  info.default_size = std::uint64_t{1} << 20;
  info.quick_size = std::uint64_t{1} << 11;
  info.full_size = std::uint64_t{1} << 20;
  info.options = {
      {"curve",
       "Elliptic curve; with --input, that of the file",
       {curve_names.begin(), curve_names.end()}},
      {"axis",
       "Split the points, or the windows of the scalars (every device then has all points); with "
       "--batch whole sums are split",
       {"points", "windows"}},
      {"batch",
       "Number of sums over the same points, each with --size scalars of its own, such as the "
       "commitments of a prover; devices compute whole sums. The digest of several is the SHA-256 "
       "of their coordinates in hexadecimal",
       {"1"},
       SuiteOption::Kind::count},
      {"scalars",
       "uniform: below the group order; witness: a quarter each 0, 1, below 2^16 and uniform; "
       "equal: all the same",
       {scalar_names.begin(), scalar_names.end()}},
      {"fixed-base",
       "Precompute, before the clock starts, a table of multiples of the points, so that all "
       "windows share their buckets; auto: on GPUs where it fits and is predicted to be faster; "
       "not in mode end-to-end, which transfers the points",
       {fixed_base_names.begin(), fixed_base_names.end()}},
      {"window", "Largest number of bits per window; auto: the cheapest for the points of a device",
       window_values()},
      {"trust-input",
       "With --input: check only that points on bls12_381 are on the curve, not that they are in "
       "the subgroup; scalars must then be below the group order",
       {"no", "yes"},
       SuiteOption::Kind::flag}};
  info.input = terms_file_help;
  info.modes = {Mode::resident, scalars_mode, Mode::end_to_end};
  info.host_bytes = host_bytes;
  info.size_of_input = terms_of_input;
  info.check = check;
  info.optional.resolve = resolve;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
