// The pipeline suite's registration: name, options and sizes.
#include "lib/base/error.hpp"
#include "suites/pipeline/pipeline_workload.hpp"
#include "suites/suites.hpp"

namespace mgpu {

SuiteInfo pipeline_suite();

namespace {

using namespace pipeline;

Bytes host_bytes_of(const SuiteParams& params) {
  if (params.size > most_records) return ~Bytes{0};
  return pipeline::host_bytes(problem_of(params));
}

void check_problem(const SuiteParams& params) { problem_of(params); }

std::uint64_t records_of_input(SuiteParams& params) { return problem_of(params).records; }

Shape shape(const SuiteParams& params) { return shape_of(problem_of(params)); }

std::unique_ptr<Workload> make(const SuiteParams& params) {
  return std::make_unique<PipelineWorkload>(problem_of(params), params);
}

}  // namespace

SuiteInfo pipeline_suite() {
  using Kind = SuiteOption::Kind;
  SuiteInfo info;
  info.name = "pipeline";
  info.summary =
      "Batches of records that pass through a chain of stages, split by batches or by stages";
  info.size_name = "records";
  info.default_size = 1 << 21;
  info.quick_size = 1 << 12;
  info.full_size = 1 << 20;
  info.full_size_cpu = 1 << 10;
  info.options = {
      {"stages",
       "Stages in order, each with its number of passes: hash, transform, product, reduction, "
       "tropical, dual, clifford",
       {"hash:8,transform:4,product:16,reduction"},
       Kind::text},
      {"place",
       "data: every device runs all stages of some batches; pipeline: every device runs some "
       "stages of all batches; auto: the faster one by the measured times of the stages",
       {"auto", "pipeline", "data"}},
      {"width", "32-bit words per record, a power of two from 8 to 4096", {"256"}, Kind::count},
      {"batch",
       "Records per batch; auto: a 32nd of all records, up to 65536",
       {"auto"},
       Kind::count},
      {"fuse",
       "Run all stages of a record by one kernel, which keeps it in registers and local memory",
       {"no", "yes"},
       Kind::flag},
  };
  info.modes = {Mode::resident, Mode::end_to_end};
  info.input =
      "records: a .npy file of int32, or of float32 from -1 to 1 if the first stage is tropical, "
      "dual or clifford; one record of --width words per row";
  info.has_kernel_variants = true;
  info.host_bytes = host_bytes_of;
  info.size_of_input = records_of_input;
  info.check = check_problem;
  info.optional.resolve_with_devices = settle_place;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
