// The ntt suite's registration: name, options and sizes.
#include "suites/ntt/batch_workload.hpp"
#include "suites/ntt/commit_workload.hpp"
#include "suites/ntt/split_workload.hpp"
#include "suites/suites.hpp"

namespace mgpu {

SuiteInfo ntt_suite();

namespace {

using namespace ntt;

Bytes host_bytes_of(const SuiteParams& params) { return ntt::host_bytes(params); }

void check(const SuiteParams& params) { problem_of(params); }

std::uint64_t size_of_input(SuiteParams& params) { return problem_of(params).n(); }

Shape shape(const SuiteParams& params) { return shape_of(problem_of(params)); }

std::unique_ptr<Workload> make(const SuiteParams& params) {
  const Problem problem = problem_of(params);
  if (problem.commits) return std::make_unique<CommitWorkload>(problem, params);
  if (problem.is_split()) return std::make_unique<SplitWorkload>(problem, params);
  return std::make_unique<BatchWorkload>(problem, params);
}

}  // namespace

SuiteInfo ntt_suite() {
  using Kind = SuiteOption::Kind;
  SuiteInfo info;
  info.name = "ntt";
  info.summary =
      "Number-theoretic transforms: one, whose columns and rows devices share and exchange, or "
      "many, which they share; low-degree extensions and commitments of columns";
  info.size_name = "elements";
  info.default_size = 1 << 22;
  info.quick_size = 1 << 16;
  info.full_size = 1 << 24;
  info.full_size_cpu = 1 << 18;
  info.optional.full_size_of = full_size;
  info.options = {
      {"op",
       "ntt: forward; intt: inverse, divided by the number of elements; lde: low-degree extension "
       "of --batch columns, to --blowup cosets of their domain, shifted by the generator; rows of "
       "the result are in bit-reversed order, so that those of a coset are contiguous; commit: the "
       "root of a Merkle tree of the hashes of the rows of lde, by Poseidon2 of width 16 with "
       "Plonky3's constants",
       {"ntt", "intt", "lde", "commit"}},
      {"field",
       "Prime field; a root of unity is the power (p - 1) / n of 31, 3, 7, 5 or 7, in this order",
       {field_names.begin(), field_names.end()}},
      {"batch",
       "Number of transforms, each of --size elements; 1: devices share one and exchange parts of "
       "it",
       {"1"},
       Kind::count},
      {"blowup",
       "lde, commit: number of cosets on which a column is evaluated, 1, 2, 4 or 8; commit with 1: "
       "columns are hashed as they are",
       {"2", "1", "4", "8"}},
      {"partition",
       "commit: how devices share it; columns: they send each other extended rows, cosets: "
       "coefficients, relay: the states of the hashes; auto: fewest bytes",
       {"auto", partition_names[0].data(), partition_names[1].data(), partition_names[2].data()}},
      {"order",
       "Order of input and result, natural (n) or bit-reversed (r): nn, nr or rn",
       {"nn", "nr", "rn"}},
      {"exchange",
       "Exchange of columns: by the kernels that transform them, which store into the memory of "
       "others (kernels), or by commands after them (puts); auto: kernels if they reach it",
       {"auto", "kernels", "puts"}},
  };
  info.modes = {Mode::resident, Mode::end_to_end};
  info.input =
      "canonical words, below the modulus, little-endian: raw, of 4 bytes (31-bit "
      "fields), 8 (goldilocks) or 32; or .npy of uint32 or uint64, with a row per transform, where "
      "an "
      "element of 32 bytes is four words";
  info.has_kernel_variants = true;
  info.tuned_options = {"field"};
  info.host_bytes = host_bytes_of;
  info.size_of_input = size_of_input;
  info.check = check;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
