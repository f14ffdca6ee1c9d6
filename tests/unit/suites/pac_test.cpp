// Phase-amplitude coupling on the host: bands, shifts, tables, and the reference with which kernels
// are compared.
#include <doctest/doctest.h>
#ifdef MGPU_WITH_FFTW
#include <fftw3.h>
#endif

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <numbers>
#include <set>

#include "lib/workload/npy.hpp"
#include "suites/pac/host_data.hpp"
#include "suites/pac/layout.hpp"
#include "suites/pac/pac_workload.hpp"
#include "suites/pac/reference.hpp"
#include "suites/pac/tables.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"

namespace mgpu::pac {
namespace {

using namespace mgpu::test;

Problem problem_with(const Options& given = {}, std::uint64_t batch = 2) {
  return problem_of(pac_params(batch, given));
}

DeviceTraits pac_gpu() {
  DeviceTraits traits;
  traits.compute_units = 132;
  traits.max_work_group = 1024;
  traits.local_memory = 48 << 10;
  traits.global_memory = Bytes{140} << 30;
  traits.max_allocation = Bytes{35} << 30;
  return traits;
}

}  // namespace

TEST_CASE("pac: bands pass their middle, half at the half width, nothing a quarter beyond") {
  const Problem problem =
      problem_with({{"pha", "2:20:10"}, {"amp", "60:100:5"}, {"length", "1024"}});
  CHECK(problem.phase.centre(0) == 2);
  CHECK(problem.phase.centre(4) == doctest::Approx(10));
  CHECK(problem.phase.centre(9) == 20);
  CHECK(problem_with({{"pha", "6:10:1"}}).phase.centre(0) == 8);
  CHECK(response(problem.phase, 4, 10) == 1);
  CHECK(response(problem.phase, 4, 11.8) == 1);
  CHECK(response(problem.phase, 4, 12.5) == doctest::Approx(0.5));
  CHECK(response(problem.phase, 4, 7.5) == doctest::Approx(0.5));
  CHECK(response(problem.phase, 4, 13.2) == 0);
  CHECK(response(problem.amplitude, 2, 90) == doctest::Approx(0.5));
}

TEST_CASE("pac: shifts are a function of seed and number, none is 0, and every length comes up") {
  const Problem problem = problem_with({{"length", "250"}, {"perm", "30000"}});
  std::set<std::uint64_t> seen;
  for (std::uint64_t n = 0; n < problem.surrogates; ++n) seen.insert(shift_of(problem, n));
  CHECK(seen.size() == 249);
  CHECK(*seen.begin() == 1);
  CHECK(*seen.rbegin() == 249);
  const Problem fewer = problem_with({{"length", "250"}, {"perm", "10"}, {"axis", "permutation"}});
  CHECK(shift_of(fewer, 7) == shift_of(problem, 7));
}

TEST_CASE("pac: each shift is listed once with its draws, and classes are nodes of one rest") {
  const Problem problem = problem_with({{"perm", "1000"}});
  const ShiftList list = shift_list(problem);
  std::uint64_t drawn = 0, observed = 0;
  for (const ShiftEntry& entry : list.entries) {
    drawn += entry.times & ~ShiftEntry::observed;
    observed += entry.times & ShiftEntry::observed ? 1 : 0;
    if (entry.times & ShiftEntry::observed) CHECK(entry.shift == 0);
  }
  CHECK(drawn == 1000);
  CHECK(observed == 1);
  for (Items begin = 0; begin < shift_classes; ++begin) {
    for (Items end = begin + 1; end <= shift_classes; ++end) {
      std::uint32_t entries = 0, next = list.first[begin];
      for (const ShiftNode& node : nodes_of(list, begin, end)) {
        CHECK(node.first == next);
        next += node.count;
        entries += node.count;
        for (std::uint32_t i = node.first; i < node.first + node.count; ++i)
          CHECK(list.entries[i].shift % node.modulus == node.rest);
      }
      CHECK(entries == list.first[end] - list.first[begin]);
    }
  }
  CHECK(nodes_of(list, 0, 8).size() == 1);
  CHECK(nodes_of(list, 0, 4).front().modulus == 2);
}

TEST_CASE("pac: the transforms' roots have the orders that butterflies need, and inverses") {
  for (const unsigned log2_length : {5u, 8u, 11u, 12u}) {
    const auto down = transform_roots(log2_length, false), up = transform_roots(log2_length, true);
    REQUIRE(down.size() == up.size());
    CHECK(down.size() % 15 == 0);
    for (std::size_t i = 0; i < down.size(); ++i) {
      CHECK(std::uint64_t{down[i][0]} * up[i][0] % prime == 1);
      CHECK(down[i][1] == (std::uint64_t{down[i][0]} << 32) / prime);
    }
    // The first pass's first level has powers 0, 1, 2, ... of a root of the whole length; half the
    // length is half a turn, which is -1.
    std::uint64_t power = 1;
    for (std::uint64_t i = 0; i < std::uint64_t{1} << (log2_length - 1); ++i)
      power = power * down[1][0] % prime;
    CHECK(power == prime - 1);
  }
  CHECK(transform_factor(2048) * 2048 % prime == (std::uint64_t{1} << 32) % prime);
}

TEST_CASE("pac: means, deviations and z come of exact sums") {
  Moments moments;
  const std::uint64_t steps = 1 << 24, values[] = {steps / 4, steps / 2, steps / 2, steps};
  for (const std::uint64_t v : values) {
    moments.observed_and_sum += v;
    moments.sum_of_squares += v * v;
  }
  moments.observed_and_sum += (3 * steps / 4) << Moments::observed_bit;
  const Result result = result_of(moments, 4);
  CHECK(result.index == 0.75);
  CHECK(result.mean == 0.5625);
  CHECK(result.deviation ==
        doctest::Approx(std::sqrt((0.0625 + 0.25 + 0.25 + 1) / 4 - 0.5625 * 0.5625)));
  CHECK(result.z == doctest::Approx((0.75 - 0.5625) / result.deviation));
  CHECK(result_of(moments, 0).z == 0);
  const Moments same{(steps << Moments::observed_bit) + 32767 * steps,
                     32767 * steps * steps};  // the largest possible value
  CHECK(result_of(same, 32767).deviation == 0);
  CHECK(result_of(same, 32767).mean == 1);
}

TEST_CASE("pac: Tort's index is 0 for amplitudes that ignore the phase, 1 for those of one bin") {
  const Problem problem = problem_with();
  const std::vector<float> series(problem.input_bytes() / sizeof(float));
  const Reference reference(problem, series);
  std::vector<unsigned> bins(256);
  for (std::size_t t = 0; t < bins.size(); ++t) bins[t] = static_cast<unsigned>(t / 3 % 18);
  std::vector<double> counts(18), flat(256, 2.5), peaked(256);
  for (std::size_t t = 0; t < bins.size(); ++t) {
    ++counts[bins[t]];
    if (bins[t] == 4) peaked[t] = 1.5;
  }
  CHECK(reference.index(bins, flat, counts, 0) == doctest::Approx(0).epsilon(1e-12));
  CHECK(reference.index(bins, flat, counts, 77) == doctest::Approx(0).epsilon(1e-12));
  CHECK(reference.index(bins, peaked, counts, 0) == doctest::Approx(1));
  CHECK(reference.index(bins, peaked, counts, 31) < 1);
  CHECK(reference.index(bins, std::vector<double>(256), counts, 0) == 0);
}

TEST_CASE("pac: the analytic signal of a cosine in a band has its amplitude and phase") {
  Problem problem = problem_with({{"length", "240"}, {"fs", "240"}}, 1);
  problem.channels = 1;
  std::vector<float> series(240);
  const auto phase = [](std::size_t t) {
    return 2 * std::numbers::pi * (8.0 * static_cast<double>(t) / 240 + 0.1);
  };
  for (std::size_t t = 0; t < series.size(); ++t)
    series[t] = static_cast<float>(3 * std::cos(phase(t)) + 1);
  const Reference reference(problem, series);
  const Reference::Signal z = reference.analytic(0, problem.phase, 1);
  for (std::size_t t = 0; t < z.size(); ++t)
    CHECK(std::abs(z[t] - 3.0 * std::polar(1.0, phase(t))) < 1e-6);
}

TEST_CASE(
    "pac: if fp32 can tell no pair nothing is verified; of some pairs, wrong ones are found") {
  const auto file =
      std::filesystem::temp_directory_path() / ("mgpu-pac-" + std::to_string(getpid()) + ".f32");
  // The series oscillate outside the bands, which block the oscillation entirely. The first series
  // also oscillate inside a band of each kind.
  const auto verdict_of = [&](std::size_t series_in_bands, std::uint64_t sum) {
    std::vector<float> series(3 * 256);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t t = 0; t < 256; ++t) {
        const double turn = 2 * std::numbers::pi * static_cast<double>(t) / 256;
        series[i * 256 + t] = static_cast<float>(std::cos(20 * turn));
        if (i < series_in_bands)
          series[i * 256 + t] += static_cast<float>(std::cos(8.1 * turn) + std::cos(80.1 * turn));
      }
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(series.data()), 4 * 3 * 256);
    SuiteParams params = pac_params(1, {{"perm", "0"}});
    params.input = file;
    PacWorkload workload(params);
    workload.begin_sample();
    for (Moments& each : workload.result()) each = {sum, 0};
    const Slice all{0, workload.shape().items};
    workload.arrivals().arrived({&all, 1});
    return workload.verify(VerifyLevel::full, 1);
  };
  const Verdict none = verdict_of(0, 0);
  CHECK((none.status == Verdict::Status::off && has(none.method, "18 pairs")));
  CHECK(verdict_of(0, 1).status ==
        Verdict::Status::failed);  // there are no surrogates, so their sum must be zero
  CHECK(verdict_of(1, 0).status == Verdict::Status::failed);  // the index is missing
  std::filesystem::remove(file);
}

namespace {

std::filesystem::path series_file(const std::vector<float>& series) {
  const auto file =
      std::filesystem::temp_directory_path() / ("mgpu-pac-" + std::to_string(getpid()) + ".f32");
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(series.data()),
             static_cast<std::streamsize>(series.size() * sizeof(float)));
  return file;
}

// Returns an oscillation on a drift; taken as periodic, the series has a jump.
std::vector<float> drifting(std::size_t samples, double drift) {
  std::vector<float> series(samples);
  for (std::size_t t = 0; t < samples; ++t) {
    const double at = static_cast<double>(t);
    series[t] = static_cast<float>(drift * at / static_cast<double>(samples) + std::cos(0.14 * at) +
                                   std::sin(0.37 * at * at));
  }
  return series;
}

// Writes the indices that a device computes from amplitudes quantised to `steps` steps of the
// largest, none of which is shifted.
void put_indices(PacWorkload& workload, const Reference& reference, double steps) {
  const Problem& problem = workload.problem();
  for (std::uint64_t f = 0; f < problem.phase.count; ++f) {
    std::vector<unsigned> bins;
    std::vector<double> counts(problem.bins);
    for (const auto& z : reference.analytic(0, problem.phase, f)) {
      const double place = (std::arg(z) + std::numbers::pi) / (2 * std::numbers::pi) * problem.bins;
      bins.push_back(std::min(static_cast<unsigned>(place), problem.bins - 1));
      ++counts[bins.back()];
    }
    for (std::uint64_t g = 0; g < problem.amplitude.count; ++g) {
      std::vector<double> sizes;
      for (const auto& z : reference.analytic(0, problem.amplitude, g))
        sizes.push_back(std::abs(z));
      const double unit = *std::max_element(sizes.begin(), sizes.end()) / steps;
      for (double& size : sizes) size = std::round(size / unit);
      const double index = reference.index(bins, sizes, counts, 0);
      workload.result()[f * problem.amplitude.count + g] = {
          static_cast<std::uint64_t>(std::llround(index * Moments::steps)) << Moments::observed_bit,
          0};
    }
  }
}

}  // namespace

TEST_CASE("pac: what integers make of amplitudes under a drift is right, and more is wrong") {
  for (const double drift : {0.0, 100.0, 1000.0}) {
    CAPTURE(drift);
    SuiteParams params =
        pac_params(1, {{"perm", "0"}, {"channels", "1"}, {"length", "1000"}, {"amp", "60:100:3"}});
    params.input = series_file(drifting(1000, drift));
    PacWorkload workload(params);
    const HostData data(workload.problem(), params);
    std::filesystem::remove(*params.input);
    const Reference reference(workload.problem(), data.series());
    const Slice all{0, workload.shape().items};
    const auto status = [&] {
      workload.arrivals().arrived({&all, 1});
      return workload.verify(VerifyLevel::full, 1).status;
    };
    workload.begin_sample();
    put_indices(workload, reference, 50000);
    CHECK(status() == Verdict::Status::passed);
    workload.begin_sample();
    put_indices(workload, reference, 50);  // a device that loses ten bits more
    CHECK(status() == Verdict::Status::failed);
    for (std::size_t i = 0; i < workload.result().size(); ++i) {
      CAPTURE(i);
      workload.begin_sample();
      put_indices(workload, reference, 50000);
      workload.result()[i].observed_and_sum += std::uint64_t{1 << 14} << Moments::observed_bit;
      CHECK(status() == Verdict::Status::failed);  // it is wrong by a thousandth
    }
  }
}

TEST_CASE("pac: bands that cannot be resolved are named before anything is computed") {
  const auto caveats_of = [](const std::vector<float>& series) {
    SuiteParams params =
        pac_params(1, {{"channels", "1"}, {"length", "1024"}, {"amp", "60:100:3"}});
    params.input = series_file(series);
    const PacWorkload workload(params);
    std::filesystem::remove(*params.input);
    return workload.shape().caveats;
  };
  CHECK(caveats_of(drifting(1024, 0)).empty());
  REQUIRE(caveats_of(drifting(1024, 1e6)).size() == 1);
  const std::string told = caveats_of(drifting(1024, 1e6)).front();
  CHECK((has(told, "Hz") && has(told, "times weaker than the series") && has(told, "high-pass")));
}

TEST_CASE("pac: a full verification looks at every band, a sample at as many as take little") {
  SuiteParams params = pac_params(4, {{"perm", "1000"}, {"length", "4096"}});
  params.host_threads = 1;
  PacWorkload workload(params);
  std::uint64_t done = 0;
  workload.set_host_watch(
      {nullptr, [&](const HostWork&, std::uint64_t so_far) { done = so_far; }, {}});
  workload.begin_sample();
  for (Moments& each : workload.result()) each = {};
  const Slice all{0, workload.shape().items};
  workload.arrivals().arrived({&all, 1});
  workload.verify(VerifyLevel::sample, 1);
  CHECK((done >= 4 && done < 24));
  workload.verify(VerifyLevel::full, 1);
  CHECK(done == 24);
}

TEST_CASE("pac: a full verification tells how many bands are done, and can be stopped") {
  SuiteParams params = pac_params(4, {{"perm", "0"}});
  params.host_threads = 1;  // others might do all bands before this thread asks whether to stop
  PacWorkload workload(params);
  std::uint64_t done = 0, total = 0;
  bool stop = false;
  workload.set_host_watch({[&] { return stop; },
                           [&](const HostWork& work, std::uint64_t so_far) {
                             done = std::max(done, so_far);
                             total = work.total;
                           },
                           {}});
  workload.begin_sample();
  for (Moments& each : workload.result()) each = {};
  const Slice all{0, workload.shape().items};
  workload.arrivals().arrived({&all, 1});
  workload.verify(VerifyLevel::full, 1);
  CHECK((total == 4 * 3 * 2 && done > 0 && done <= total));
  stop = true;
  CHECK(kind_of_error([&] { workload.verify(VerifyLevel::full, 1); }) == ErrorKind::interrupted);
}

namespace {

// A folder of recordings, each with the seeded series of one entry of a batch.
struct Folder {
  explicit Folder(std::size_t recordings)
      : path(std::filesystem::temp_directory_path() /
             ("mgpu-recordings-" + std::to_string(getpid()) + "-" + std::to_string(recordings))) {
    std::filesystem::create_directories(path);
    if (recordings == 0) return;
    const SuiteParams params = pac_params(recordings);
    const HostData data(problem_of(params), params);
    for (std::size_t i = 0; i < recordings; ++i)
      write(i, 3, data.series().subspan(i * 3 * 256, 3 * 256));
  }
  ~Folder() { std::filesystem::remove_all(path); }
  void write(std::size_t i, std::uint64_t channels, std::span<const float> series) const {
    write_npy(path / ("r" + std::to_string(i) + ".npy"),
              {channels, series.size() / channels, sizeof(float)}, std::as_bytes(series));
  }
  SuiteParams params(Options given = {}) const {
    given.insert({{"channels", "auto"}, {"length", "auto"}});
    SuiteParams made = pac_params(0, given);
    made.input = path;
    made.size = suite_named("pac").size_of_input(made);
    return made;
  }
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("pac: recordings of a folder have one shape, and are named if they do not") {
  const Folder folder(3);
  CHECK(folder.params().size == 3);
  CHECK((problem_of(folder.params()).channels == 3 && problem_of(folder.params()).samples == 256));
  std::ofstream(folder.path / "notes.txt") << "no recording";
  CHECK(folder.params().size == 3);
  folder.write(1, 1, std::vector<float>(256, 1));
  const std::string told = refusal([&] { folder.params(); }, ErrorKind::input);
  for (const char* part : {"r1.npy", "(1, 1, 256)", "(3, 256) as r0.npy"}) CHECK(has(told, part));
  const Folder none(0);
  CHECK(has(refusal([&] { none.params(); }, ErrorKind::input), "no recordings"));
}

TEST_CASE("pac: a seed shuffles the order of recordings, each once") {
  const auto by_name = order_of(100, {}), shuffled = order_of(100, 3);
  CHECK(std::is_sorted(by_name.begin(), by_name.end()));
  CHECK(shuffled == order_of(100, 3));
  CHECK(shuffled != order_of(100, 4));
  CHECK(shuffled != by_name);
  CHECK(std::set(shuffled.begin(), shuffled.end()).size() == 100);
}

TEST_CASE("pac: recordings of a folder take host memory only for those in flight") {
  const Folder folder(20);
  const Problem problem = problem_of(folder.params({{"batch-size", "2"}}));
  CHECK(problem.in_files);
  CHECK(problem.staged() == 2);
  CHECK(HostData::bytes(problem, 1) ==
        in_pages(2 * 2 * problem.entry_bytes()) + in_pages(problem.result_bytes()));
  CHECK(problem_of(folder.params()).staged() == 20);  // all together are small
  const Capacity pieces = capacity(pac_gpu(), problem, Method::direct, Mode::end_to_end);
  CHECK((pieces.fits == 2 && pieces.pipeline == 2));
  const Shape shape = PacWorkload::shape_of(problem);
  CHECK((shape.granularity == 2 && shape.ops == 20 && shape.rate_unit == "recordings/s"));
  DeviceTraits small = pac_gpu();
  small.global_memory = small.max_allocation = problem.entry_bytes() * 4;
  CHECK(capacity(small, problem, Method::direct, Mode::end_to_end).fits == 0);
}

TEST_CASE("pac: a recording that cannot be read during samples is an error of the input") {
  const Folder folder(3);
  PacWorkload workload(folder.params({{"shuffle", "5"}}));
  std::vector<float> two(2 * 3 * 256);
  workload.begin_sample();
  workload.read({1, 3}, two);
  CHECK_NOTHROW(workload.digest());
  const std::uint32_t second = order_of(3, 5)[1];
  const Folder other(3);  // the same files
  PacWorkload by_name(other.params());
  std::vector<float> one(3 * 256);
  by_name.read({second, second + 1}, one);
  CHECK(std::equal(one.begin(), one.end(), two.begin()));
  std::vector<float> broken(3 * 256, 1);
  broken[700] = NAN;
  folder.write(second, 3, broken);
  workload.begin_sample();
  workload.read({1, 3}, two);
  CHECK(has(refusal([&] { workload.digest(); }, ErrorKind::input), "not finite"));
}

TEST_CASE("pac: options of loading are refused where nothing is loaded") {
  const Folder folder(2);
  for (const auto& [given, part] :
       {std::pair<Options, const char*>{{{"axis", "channel"}}, "folder"},
        {{{"axis", "permutation"}}, "folder"},
        {{{"batch-size", "0"}}, "1 or more"}})
    CHECK(has(refusal([&] { problem_of(folder.params(given)); }, ErrorKind::usage), part));
  CHECK(has(refusal([&] { problem_with({{"shuffle", "1"}}); }, ErrorKind::usage), "FOLDER"));
  CHECK(has(refusal(
                [&] {
                  problem_with({{"batch-size", "2"}, {"axis", "channel"}});
                },
                ErrorKind::usage),
            "--axis batch"));
}

#ifdef MGPU_WITH_FFTW
TEST_CASE("pac: analytic signals are those of FFTW, for lengths even, odd and prime") {
  for (const char* length : {"256", "375", "251"}) {
    const Problem problem = problem_with({{"length", length}}, 1);
    const SuiteParams params = pac_params(1, {{"length", length}});
    const HostData data(problem, params);
    const Reference reference(problem, data.series());
    const auto n = static_cast<int>(problem.samples);
    std::vector<std::complex<double>> x(problem.samples), z(problem.samples);
    for (int t = 0; t < n; ++t)
      x[static_cast<std::size_t>(t)] = data.series()[problem.samples + static_cast<std::size_t>(t)];
    auto* const in = reinterpret_cast<fftw_complex*>(x.data());
    auto* const out = reinterpret_cast<fftw_complex*>(z.data());
    const fftw_plan down = fftw_plan_dft_1d(n, in, out, FFTW_FORWARD, FFTW_ESTIMATE),
                    up = fftw_plan_dft_1d(n, in, out, FFTW_BACKWARD, FFTW_ESTIMATE);
    fftw_execute(down);
    for (std::uint64_t k = 0; k < problem.samples; ++k) {
      const double hz = static_cast<double>(k) * problem.fs / n;
      x[k] = 2 * k > problem.samples
                 ? 0
                 : z[k] * 2.0 * response(problem.amplitude, 1, hz) / static_cast<double>(n);
    }
    fftw_execute(up);
    fftw_destroy_plan(down);
    fftw_destroy_plan(up);
    const Reference::Signal found = reference.analytic(1, problem.amplitude, 1);
    for (std::size_t t = 0; t < found.size(); ++t) CHECK(std::abs(found[t] - z[t]) < 1e-12);
  }
}
#endif

TEST_CASE("pac: transforms for long powers of two and many surrogates, else one by one") {
  DeviceTraits device = pac_gpu();
  const auto first = [&](const Options& given) {
    return methods(device, problem_with(given)).front();
  };
  CHECK(first({{"length", "2048"}, {"perm", "1000"}}) == Method::transform);
  CHECK(first({{"length", "2048"}, {"perm", "20"}}) == Method::direct);
  CHECK(first({{"length", "2000"}, {"perm", "1000"}}) == Method::direct);
  CHECK(first({{"length", "8192"}, {"perm", "1000"}}) == Method::direct);
  CHECK(methods(device, problem_with({{"length", "4096"}, {"sums", "transform-local"}}))
            .empty());  // 66 KB of local memory
  device.cpu = true;
  CHECK(first({{"length", "2048"}, {"perm", "1000"}}) == Method::direct);
  CHECK(first({{"length", "2048"}, {"perm", "1000"}, {"sums", "transform"}}) == Method::transform);
}

TEST_CASE(
    "pac: what a device allocates fits it, in both modes, or a reason says how much it takes") {
  DeviceTraits device = pac_gpu();
  device.global_memory = Bytes{2} << 30;
  device.max_allocation = Bytes{512} << 20;
  const Problem problem =
      problem_with({{"length", "2048"}, {"channels", "64"}, {"perm", "1000"}}, 256);
  for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
    const Capacity all = capacity(device, problem, Method::transform, mode);
    CHECK((all.fits > 0 && all.resident <= device.global_memory));
    CHECK(layout(device, problem, Method::transform, mode, all.fits).largest() <=
          device.max_allocation);
  }
  device.global_memory = Bytes{100} << 20;
  const Capacity none = capacity(device, problem, Method::transform, Mode::resident);
  CHECK((none.fits == 0 && has(none.reason, "MiB")));
  CHECK(capacity(device, problem, Method::transform, Mode::end_to_end).fits > 0);
}

TEST_CASE("pac: options that no series can be computed with are refused by name") {
  const std::tuple<const char*, const char*, const char*> refused[] = {
      {"pha", "8", "LO:HI:N"},        {"pha", "8:4:2", "LO:HI:N"},
      {"pha", "0:4:2", "LO:HI:N"},    {"pha", "4:8:0", "LO:HI:N"},
      {"pha", "4:8:2.5", "LO:HI:N"},  {"pha", "1:8:2", "3 cycles"},
      {"amp", "40:120:3", "110.7"},   {"amp", "a:b:c", "LO:HI:N"},
      {"amp", "40:nan:3", "LO:HI:N"}, {"amp", "40:80:1000", "512"},
      {"fs", "0", "above 0"},         {"fs", "-256", "above 0"},
      {"bins", "1", "2 to 64"},       {"bins", "65", "2 to 64"},
      {"perm", "40000", "32767"},     {"length", "15", "16 to 65536"},
      {"length", "70000", "16 to"},   {"channels", "0", "1 to"},
      {"planted", "10", "10:80"},     {"planted", "10:200", "10:80"},
  };
  for (const auto& [option, value, accepted] : refused) {
    const Options given{{option, value}};
    const std::string message = refusal([&] { problem_with(given); });
    CHECK((has(message, std::string("--") + option) && has(message, accepted)));
  }
  CHECK(has(refusal([] { problem_with({}, 0); }), "--size"));
  CHECK(has(refusal([] { problem_with({{"fs", "1e-310"}}); }), "Hz"));
  const Options odd{{"length", "300"}, {"sums", "transform"}};
  CHECK(has(refusal([&] { problem_with(odd); }), "--sums"));
}

}  // namespace mgpu::pac
