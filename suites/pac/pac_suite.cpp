// The pac suite's registration: name, options and sizes.
#include "suites/pac/pac_workload.hpp"
#include "suites/pac/recordings.hpp"
#include "suites/pac/series_file.hpp"
#include "suites/suites.hpp"

namespace mgpu {

SuiteInfo pac_suite();

namespace {

using namespace pac;

// Returns the largest value for sizes that cannot be numbered, so that the check of memory names
// the largest size that fits.
Bytes host_bytes(const SuiteParams& params) {
  SuiteParams one = params;
  one.size = 1;
  Problem problem = problem_of(one);
  if (!params.input) problem.batch = params.size;
  if (problem.batch > most_series / problem.channels) return ~Bytes{0};
  // Room for the file's float64 numbers.
  const Bytes reading = params.input && !problem.in_files ? 2 * problem.input_bytes() : 0;
  return PacWorkload::host_bytes(problem, params.devices) + reading;
}

void check(const SuiteParams& params) { problem_of(params); }

void resolve(SuiteParams& params) {
  const Problem problem = problem_of(params);
  params.options["channels"] = std::to_string(problem.channels);
  params.options["length"] = std::to_string(problem.samples);
  if (params.input) params.options.erase("planted");
  for (const auto& [option, otherwise] : {std::pair{"batch-size", "auto"}, {"shuffle", "none"}}) {
    const auto found = params.options.find(option);  // a version without the option had the default
    if (found != params.options.end() && found->second == otherwise) params.options.erase(found);
  }
}

std::uint64_t batch_of_input(SuiteParams& params) {
  if (const auto recordings = recordings_of(params)) {
    params.input_data = recordings;
    return recordings->shape().batch;
  }
  return shape_of_series(*params.input, params).batch;
}

Shape shape(const SuiteParams& params) { return PacWorkload::shape_of(problem_of(params)); }

std::unique_ptr<Workload> make(const SuiteParams& params) {
  return std::make_unique<PacWorkload>(params);
}

}  // namespace

SuiteInfo pac_suite() {
  using Kind = SuiteOption::Kind;
  SuiteInfo info;
  info.name = "pac";
  info.summary =
      "Phase-amplitude coupling of many series with surrogates, split by batch, channels or "
      "surrogates";
  info.size_name = "batch";
  info.default_size = 512;
  info.quick_size = 16;
  info.full_size = 2048;
  info.full_size_cpu = 8;
  info.options = {
      {"axis",
       "Split the batch, the channels, or the surrogates (every device then has all series)",
       {"batch", "channel", "permutation"}},
      {"channels",
       "Series per entry of the batch; auto: 1 (8 with --axis channel), or as in the file",
       {"auto"},
       Kind::count},
      {"batch-size",
       "Entries of the batch, such as recordings of a folder, that a device takes at once end to "
       "end: while it computes some, the next are read and uploaded. auto: as many as are fast",
       {"auto"},
       Kind::count},
      {"shuffle",
       "With --input FOLDER: shuffle the order in which recordings are handed out, by this seed. "
       "Results do not depend on it, and are sorted by name",
       {"none"},
       Kind::count},
      {"length", "Samples per series; auto: 2048, or as in the file", {"auto"}, Kind::count},
      {"fs", "Sampling rate in Hz", {"256"}, Kind::number},
      {"pha",
       "Phase bands LO:HI:N: N centres from LO to HI Hz; the gain is one half at a quarter of the "
       "centre away from it",
       {"2:20:10"},
       Kind::text},
      {"amp",
       "Amplitude bands, like the phase bands; the gain is one half at an eighth of the centre "
       "away from it",
       {"60:110:10"},
       Kind::text},
      {"perm",
       "Number of surrogates: series that are shifted circularly by seeded numbers of samples",
       {"200"},
       Kind::count},
      {"bins", "Number of phase bins", {"18"}, Kind::count},
      {"mi",
       "Modulation index: tort, from the mean amplitude per bin; tensorpac divides by the counts "
       "of all phase bands together, gpac-sum does not divide. Filters are not those of other "
       "programs, so numbers differ from theirs",
       {"tort", "tensorpac", "gpac-sum"}},
      {"sums",
       "Computation of surrogates: direct (shift by shift), or number-theoretic transforms, with "
       "the first pass in registers (transform) or all in local memory (transform-local); these "
       "need a power of two of samples, 256 to 4096. All are exact",
       {"auto", "direct", "transform", "transform-local"}},
      {"planted",
       "Coupling in seeded series, PHASE:AMPLITUDE in Hz; auto: the bands nearest to 10 and 80 Hz; "
       "none: no coupling",
       {"auto", "none"},
       Kind::text},
  };
  info.modes = {Mode::resident, Mode::end_to_end};
  info.input =
      "a .npy array of float32 or float64, (batch, channels, samples), (channels, samples) or "
      "(samples), or raw float32 with --channels and --length; or a folder of .npy recordings of "
      "one shape, (channels, samples) or (samples), which end to end are read during samples and "
      "may be larger than memory";
  info.input_folders = true;
  info.has_kernel_variants = true;
  info.host_bytes = host_bytes;
  info.size_of_input = batch_of_input;
  info.check = check;
  info.optional.resolve = resolve;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
