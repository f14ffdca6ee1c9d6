// The pipeline suite: options, the reference, placement of stages, and its own programs on the fake
// backend, whose kernels run on the host. For all distributions of stages, paths and modes, every
// record equals the result of all stages on the host.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>

#include "suites/geometric/algebra.hpp"
#include "suites/pipeline/pipeline_workload.hpp"
#include "suites/pipeline/reference.hpp"
#include "suites/pipeline/stage_kernels.hpp"
#include "tests/support/fake_sample.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/rounds_session.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::pipeline {
namespace {

using namespace mgpu::test;

constexpr const char* kAll = "hash:2,transform,product:3,reduction";

SuiteParams params_with(std::uint64_t records, const std::string& stages, const std::string& place,
                        const std::string& batch = "auto", const std::string& width = "16") {
  SuiteParams params =
      suite_params("pipeline", records,
                   {{"stages", stages}, {"place", place}, {"batch", batch}, {"width", width}}, 9);
  params.host_threads = 1;
  return params;
}

Problem small_problem(std::uint64_t records, const char* batch = "auto", const char* width = "16") {
  return problem_of(params_with(records, kAll, "data", batch, width));
}

// Returns kernels that run each stage as the reference does.
FakeKernels host_stages(const Problem& problem) {
  static constexpr const char* names[] = {"hash", "transform", "product", "reduce"};
  FakeKernels all;
  for (const Kind kind : {Kind::hash, Kind::transform, Kind::product, Kind::reduction}) {
    FakeKernelCode code;
    code.ops = [](const Grid& grid, std::span<const FakeArg>) {
      return static_cast<double>(grid.global[0]);
    };
    code.run = [problem, kind](const Grid&, std::span<const FakeArg> args) {
      const auto words = [&](std::size_t i) {
        const auto bytes = std::get<std::span<std::byte>>(args[i]);
        return reinterpret_cast<std::uint32_t*>(bytes.data()) +
               std::get<std::uint64_t>(args[i + 1]);
      };
      Problem one = problem;
      one.stages = {{kind, std::get<std::uint32_t>(args[5]), problem.width()}};
      const std::uint32_t *from = words(0), count = std::get<std::uint32_t>(args[4]);
      std::uint32_t* to = words(2);
      for (std::uint32_t i = 0; i < count; ++i, from += one.width(), to += one.width_after()) {
        const auto made = through_all(one, {from, one.width()});
        std::copy(made.begin(), made.end(), to);
      }
    };
    all[names[static_cast<std::size_t>(kind)]] = code;
  }
  return all;
}

Planted with_local_memory() {
  Planted planted;
  planted.large_groups = true;
  return planted;
}

// A device whose stages take this number of seconds each.
class TimedStages final : public DeviceResources, private Stream {
 public:
  TimedStages(DeviceResources& device, std::vector<double> stages)
      : device_(device), stages_(std::move(stages)) {}
  const DeviceTraits& traits() const override { return device_.traits(); }
  std::unique_ptr<Buffer> allocate(Bytes size) override { return device_.allocate(size); }
  Peer* peer() override { return device_.peer(); }
  std::unique_ptr<Kernel> kernel(std::string_view file, std::string_view entry,
                                 const std::string& options) override {
    auto made = device_.kernel(file, entry, options);
    kernels_.push_back(made.get());
    return made;
  }
  std::optional<Nanos> try_out(const std::function<void(Stream&)>& commands) override {
    took_ = Nanos{};
    commands(*this);
    return took_;
  }
  unsigned tried() const { return tried_; }

 private:
  void upload(Buffer&, Bytes, std::span<const std::byte>) override {}
  void download(Buffer&, Bytes, std::span<std::byte>) override {}
  void launch(Kernel& kernel, const Grid&, std::span<const KernelArg>) override {
    const auto stage = std::find(kernels_.begin(), kernels_.end(), &kernel) - kernels_.begin();
    took_ += from_seconds(stages_.at(static_cast<std::size_t>(stage)));
    ++tried_;
  }

  DeviceResources& device_;
  std::vector<double> stages_;
  std::vector<Kernel*> kernels_;
  Nanos took_{};
  unsigned tried_ = 0;
};

std::vector<std::uint32_t> words_up_to(std::uint32_t n) {
  std::vector<std::uint32_t> words(n);
  for (std::uint32_t i = 0; i < n; ++i) words[i] = 0x9e3779b9u * (i + 1);
  return words;
}

std::vector<std::uint32_t> through(const char* stages, const std::vector<std::uint32_t>& record) {
  Problem problem;
  problem.seed = 4;
  problem.stages = stages_of(stages, static_cast<std::uint32_t>(record.size()));
  return through_all(problem, record);
}

}  // namespace

TEST_CASE("pipeline: stages are read with their passes, a reduction narrows those that follow") {
  const std::vector<Stage> stages = stages_of("hash:8,reduction,transform:1024", 64);
  REQUIRE(stages.size() == 3);
  CHECK(stages[0].name() == "hash:8");
  CHECK((stages[1].width == 64 && stages[2].width == 8 && stages[2].passes == 1024));
}

TEST_CASE("pipeline: stages, widths, batches and sizes that cannot be are refused by option") {
  for (const char* text :
       {"", ",", "hash,", "hsah", "hash:0", "hash:1025", "hash:", "hash:x", "hash:2x", "hash:-1",
        "hash 2", "HASH", "hash,,product",
        "hash,hash,hash,hash,hash,hash,hash,hash,hash,hash,hash,hash,hash,hash,hash,hash,hash"})
    CHECK_MESSAGE(has(refusal([&] { stages_of(text, 8); }), "--stages"), text);
  const auto refused = [](const char* option, std::uint64_t records, const char* batch,
                          const char* width) {
    CHECK(has(refusal([&] { small_problem(records, batch, width); }), option));
  };
  for (const char* width : {"4", "12", "8192", "0"}) refused("--width", 10, "auto", width);
  refused("--size", 0, "auto", "8");
  refused("--size", most_records + 1, "auto", "8");
  refused("1 to 32768", 1 << 20, "40000", "1024");
  refused("--batch", 10, "0", "8");
}

TEST_CASE("pipeline: a batch is a 32nd of all by default, and never more than devices share") {
  CHECK(small_problem(1).batch == 1);
  CHECK(small_problem(33).batches() == 17);
  CHECK(small_problem(std::uint64_t{1} << 24, "auto", "8").batch == 65536);
  CHECK(small_problem(std::uint64_t{1} << 22, "auto", "4096").batch == 8192);
}

TEST_CASE("pipeline: the transform is the sum that defines it, twice it turns words around") {
  constexpr std::uint64_t p = 998244353;
  for (const std::uint32_t n : {8u, 64u}) {
    const auto x = words_up_to(n), found = through("transform", x);
    std::uint64_t root = 1;  // 3 to the power of (p - 1) / n
    for (std::uint64_t bits = (p - 1) / n, power = 3; bits > 0;
         bits /= 2, power = power * power % p)
      if (bits % 2 == 1) root = root * power % p;
    for (std::uint32_t k = 0; k < n; ++k) {
      std::uint64_t sum = 0, w = 1, step = 1;
      for (std::uint32_t i = 0; i < k; ++i) step = step * root % p;
      for (std::uint32_t j = 0; j < n; ++j, w = w * step % p) sum = (sum + x[j] % p * w) % p;
      REQUIRE(found[k] == sum);
    }
    const auto twice = through("transform:2", x);  // n x[-j]
    for (std::uint32_t j = 0; j < n; ++j) CHECK(twice[j] == x[(n - j) % n] % p * n % p);
  }
}

TEST_CASE("pipeline: the hash is SHA-256 of the record's bytes, rotated after the eighth word") {
  // The hash of 32 zero bytes: 66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925.
  CHECK(through("hash", std::vector<std::uint32_t>(8, 0)) ==
        std::vector<std::uint32_t>{0x66687aad, 0xf862bd77, 0x6c8fc18b, 0x8e9f8e20, 0x08971485,
                                   0x6ee233b3, 0x902a591d, 0x0d5f2925});
  const auto wider = through("hash", std::vector<std::uint32_t>(16, 0));
  CHECK(wider[8] == (wider[0] << 1 | wider[0] >> 31));
}

TEST_CASE("pipeline: a product is that of matrices, passes of a reduction rotate and weigh words") {
  Problem problem;
  problem.seed = 4;
  problem.stages = stages_of("product", 32);
  const auto matrix = matrix_of(problem, 16);
  std::vector<std::uint32_t> unit(32, 0);
  unit[16 + 3] = 1;  // the second row picks a row of the matrix
  const auto found = through_all(problem, unit);
  for (std::uint32_t j = 0; j < 16; ++j)
    CHECK((found[j] == 0 && found[16 + j] == matrix[3 * 16 + j]));
  std::vector<std::uint32_t> record(16, 0);
  record[0] = 1;
  record[8] = 0x80000000u;
  CHECK(through("reduction:2", record)[0] == (2u * 3 + 4u * 5) + (1u * 3 + 2u * 5));
}

namespace {

std::vector<std::uint32_t> words_of_numbers(const std::vector<float>& numbers) {
  std::vector<std::uint32_t> words;
  for (const float number : numbers) words.push_back(std::bit_cast<std::uint32_t>(number));
  return words;
}

std::vector<float> numbers_through(const char* stages, const std::vector<float>& record) {
  std::vector<float> numbers;
  for (const std::uint32_t word : through(stages, words_of_numbers(record)))
    numbers.push_back(std::bit_cast<float>(word));
  return numbers;
}

}  // namespace

TEST_CASE("pipeline: passes of a min-plus product end at the shortest ways between 16 vertices") {
  Problem problem;
  problem.seed = 4;
  std::vector<float> far(16, 100), ways = numbers_of(problem, Kind::tropical, 16);
  for (std::size_t k = 0; k < 16; ++k)  // Floyd and Warshall
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t j = 0; j < 16; ++j)
        ways[i * 16 + j] = std::min(ways[i * 16 + j], ways[i * 16 + k] + ways[k * 16 + j]);
  far[3] = 0;
  const auto found = numbers_through("tropical:16", far);
  for (std::size_t j = 0; j < 16; ++j) CHECK(found[j] == doctest::Approx(ways[3 * 16 + j]));
  CHECK(numbers_through("tropical", far)[5] == numbers_of(problem, Kind::tropical, 16)[3 * 16 + 5]);
}

TEST_CASE("pipeline: dual numbers have the polynomial's value, and its difference quotient") {
  Problem problem;
  problem.seed = 4;
  const auto coefficients = numbers_of(problem, Kind::dual, 8);
  const auto polynomial = [&](double x) {
    double sum = 0, power = 1;
    for (std::size_t k = 16; k-- > 0; power *= x / 8)
      sum += static_cast<double>(coefficients[k % 8]) * power;
    return sum;
  };
  const float x = 0.75f;
  const auto found = numbers_through("dual:2", {x, 1, -x, 2, 1, -3, 0, 1});
  CHECK(static_cast<double>(found[0]) == doctest::Approx(polynomial(0.75)));
  for (std::size_t i = 0; i < 8; i += 2) {
    const double at = std::array{0.75, -0.75, 1.0, 0.0}[i / 2],
                 slope = std::array{1.0, 2.0, -3.0, 1.0}[i / 2], h = 1e-6;
    CHECK(static_cast<double>(found[i + 1]) ==
          doctest::Approx((polynomial(at + h) - polynomial(at - h)) / (2 * h) * slope));
  }
}

TEST_CASE("pipeline: a geometric product keeps norms, and is that of the geometric suite") {
  Problem problem;
  problem.seed = 4;
  const auto factor = numbers_of(problem, Kind::clifford, 8);
  const std::vector<float> a{0.5f, -0.25f, 0.75f, 1, -1, 0.125f, 0.625f, -0.5f};
  const auto found = numbers_through("clifford", a);
  const auto terms = geometric::terms_of({3, 0, 0}, geometric::Operation::geometric);
  for (std::size_t k = 0; k < 8; ++k) {
    float sum = 0;
    for (const geometric::Term& term : terms[k])
      sum += (term.negative ? -1.0f : 1.0f) * a[term.left] * factor[term.right];
    CHECK(found[k] == doctest::Approx(sum));
  }
  const auto norm = [](const std::vector<float>& x) {
    return std::inner_product(x.begin(), x.end(), x.begin(), 0.0f);
  };
  CHECK(norm(numbers_through("clifford:1024", a)) == doctest::Approx(norm(a)).epsilon(1e-3));
}

TEST_CASE("pipeline: real stages after others take words as numbers, whatever order has no NaN") {
  const auto found =
      through("reduction,clifford,dual:9,tropical,dual,clifford:99,tropical", words_up_to(64));
  for (const std::uint32_t word : found) CHECK(std::fabs(std::bit_cast<float>(word)) < 3);
  // Twice 0x80000000, rotated by 1 and times 3; the least way from equal numbers is theirs.
  const std::vector<std::uint32_t> words(16, 0x80000000u);
  CHECK(through("reduction,tropical", words) ==
        words_of_numbers(std::vector<float>(8, 6 * 0x1p-31f)));
}

TEST_CASE("pipeline: stages that cannot be fused are refused, and devices that have no room") {
  const auto fused = [](const char* stages, const char* place, const char* width = "16") {
    SuiteParams params = params_with(21, stages, place, "3", width);
    params.options["fuse"] = "yes";
    return problem_of(params);
  };
  for (const auto& [stages, place, why] : {std::tuple{"tropical,hash", "data", "hash takes"},
                                           {"reduction,dual", "data", "after a reduction"},
                                           {"tropical,dual", "pipeline", "--place pipeline"}})
    CHECK(has(refusal([&] { fused(stages, place); }), why));
  SuiteParams params = params_with(21, "transform", "data", "3", "4096");
  params.options["fuse"] = "yes";
  PipelineWorkload workload(problem_of(params), params);
  DeviceTraits traits;
  traits.global_memory = traits.max_allocation = Bytes{1} << 30;
  traits.local_memory = 48 << 10;
  for (const std::size_t most : {128, 256}) {
    traits.max_work_group = most;
    const Capacity capacity = workload.capacity(traits, Mode::resident);
    CHECK((capacity.fits == 0) == (most < 256));
    if (most < 256) CHECK(has(capacity.reason, "groups of 256"));
  }
}

TEST_CASE("pipeline: the reference finds one word that is off, and names it") {
  Problem problem = small_problem(5);
  std::vector<std::uint32_t> records, results;
  for (std::uint32_t i = 0; i < 5; ++i) {
    auto record = words_up_to(16);
    record[0] = i;
    records.insert(records.end(), record.begin(), record.end());
    const auto made = through_all(problem, record);
    results.insert(results.end(), made.begin(), made.end());
  }
  CHECK(check(problem, records, results, true, 1, 2).message.empty());
  results[4 * 8 + 6] ^= 1;
  results[2 * 8 + 5] ^= 1;
  CHECK(has(check(problem, records, results, true, 1, 2).message, "word 5 of record 2"));
  problem.records = 1;
  CHECK(check(problem, records, results, false, 1, 1).message.empty());
}

TEST_CASE("pipeline: every record is the host's, whoever has which stages, by any path and mode") {
  std::string digest;
  bool odd = false;
  for (const std::vector<Items>& shares : std::vector<std::vector<Items>>{{4},
                                                                          {1, 3},
                                                                          {2, 2},
                                                                          {3, 1},
                                                                          {4, 0},
                                                                          {0, 4},
                                                                          {1, 1, 1, 1},
                                                                          {1, 0, 2, 1},
                                                                          {0, 1, 0, 3, 0},
                                                                          {1, 1, 0, 1, 0, 1}}) {
    for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
      odd = !odd;
      for (const PeerPath path : {PeerPath::direct, PeerPath::staged}) {
        if (!testing::is_thorough() && (path == PeerPath::direct) != (odd == (shares[0] > 1)))
          continue;
        INFO(shares.size(), " devices, first ", shares.front(), " ", to_string(mode));
        const SuiteParams params = params_with(21, kAll, "pipeline", "3");
        PipelineWorkload workload(problem_of(params), params);
        check_right(FakeSample(workload, host_stages(workload.problem()), shares, mode, path,
                               with_local_memory()),
                    workload);
        if (digest.empty()) digest = workload.digest();
        CHECK(workload.digest() == digest);
      }
    }
  }
}

TEST_CASE("pipeline: one record, one batch, two and three of them, and ragged last ones") {
  for (const std::uint64_t records : {1, 2, 3, 4, 5, 7}) {
    for (const char* batch : {"1", "2", "5"}) {
      INFO(records, " in batches of ", batch);
      const SuiteParams params =
          params_with(records, "reduction,hash,transform", "pipeline", batch);
      const Problem problem = problem_of(params);
      PipelineWorkload workload(problem, params);
      FakeKernels kernels = host_stages(problem);
      Problem narrow = problem;
      narrow.stages.front().width = 8;  // the width after the reduction
      for (const char* name : {"hash", "transform"}) kernels[name] = host_stages(narrow)[name];
      check_right(FakeSample(workload, kernels, {1, 1, 1}, Mode::resident, PeerPath::direct,
                             with_local_memory()),
                  workload);
    }
  }
}

TEST_CASE("pipeline: a device without local memory for a record, or memory for all, is told") {
  const SuiteParams params = params_with(21, kAll, "pipeline", "3", "4096");
  PipelineWorkload workload(problem_of(params), params);
  DeviceTraits traits;
  traits.local_memory = 32767;
  traits.global_memory = traits.max_allocation = Bytes{1} << 30;
  const auto capacity = [&] { return workload.capacity(traits, Mode::resident); };
  CHECK((capacity().fits == 0 && has(capacity().reason, "32.0 KiB of local memory")));
  traits.local_memory = 32768;
  CHECK(capacity().fits == 4);
  traits.global_memory = 1 << 19;
  CHECK((capacity().fits == 0 && has(capacity().reason, "records")));
}

TEST_CASE("pipeline: a batch that is not put where the next device reads is found") {
  const SuiteParams params = params_with(21, kAll, "pipeline", "3");
  PipelineWorkload workload(problem_of(params), params);
  Planted planted = with_local_memory();
  planted.forgotten[0] = {4};
  const FakeSample sample(workload, host_stages(workload.problem()), {2, 2}, Mode::resident,
                          PeerPath::staged, planted);
  REQUIRE_FALSE(sample.raw.failure);
  CHECK(workload.verify(VerifyLevel::full, 1).status == Verdict::Status::failed);
}

TEST_CASE("pipeline: by measured times data wins on equal devices, stages on unlike ones") {
  std::mt19937_64 random(2);
  for (unsigned n = 0; n < 100; ++n) {
    const Problem problem = small_problem(1 + random() % 40, "1");
    StageTimes times;
    for (unsigned s = 0; s < 4; ++s) times.keeps.push_back(static_cast<double>(1 + random() % 9));
    times.hands_over = times.keeps;
    const std::vector<StageTimes> alike(1 + random() % 4, times);
    const Placements found = placements_of(problem, alike);
    CHECK(found.data <= found.stages * (1 + 1e-9));
  }
  const std::vector<StageTimes> unalike{{{1, 1, 9, 9}, {1, 1, 9, 9}}, {{9, 9, 1, 1}, {9, 9, 1, 1}}};
  const Placements found = placements_of(small_problem(40, "1"), unalike);
  CHECK(found.shares == std::vector<Items>{2, 2});
  CHECK(found.stages == doctest::Approx(4 + 39 * 2));
  CHECK(found.data == doctest::Approx(400));
}

TEST_CASE("pipeline: whenever a device is lost, the others begin its sample again") {
  const char* const stages = "hash,product,hash:2";
  RoundsAsked asked{
      "pipeline", {}, {{"stages", stages}, {"place", "pipeline"}, {"width", "16"}, {"batch", "2"}}};
  SuiteParams params = params_with(21, stages, "pipeline", "2");
  params.seed = 3;  // the session's seed
  asked.kernels = host_stages(problem_of(params));
  asked.size = 21;
  std::size_t restarted = 0;
  for (std::uint64_t launch = 5; launch < 330; launch += 13) {
    CAPTURE(launch);
    asked.scripts = {{}, fails_at_launch(launch)};
    const auto fault = fault_of(run_rounds(asked));
    if (!fault) continue;
    REQUIRE(fault->restarted);
    CHECK(fault->restarted->round == 0);
    ++restarted;
  }
  CHECK(restarted > 2);
}

TEST_CASE("pipeline: auto measures every stage on every device, and takes what is faster") {
  const FakeKernels kernels = host_stages(small_problem(64));
  const auto settled = [&](double first, double second) {
    FakeBackend backend(FakeSample::devices(2), kernels);
    std::vector<std::unique_ptr<OpenDevice>> open;
    std::vector<OpenDevice*> members;
    for (const Device& device : backend.enumerate().devices)
      members.push_back(open.emplace_back(backend.open(device)).get());
    const auto group = backend.connect(members, PeerPath::direct);
    TimedStages one(open[0]->resources(), {first, first, second, second}),
        other(open[1]->resources(), {second, second, first, first});
    DeviceResources* const devices[] = {&one, &other};
    SuiteParams params = params_with(64, kAll, "auto");
    settle_place(params, devices, group.get());
    CHECK((one.tried() > 8 && other.tried() > 8));
    return params.options.at("place");
  };
  CHECK(settled(1, 1) == "data");
  CHECK(settled(1, 5) == "pipeline");
  // Without other devices auto means by data, and an explicit choice stays.
  for (const auto& [place, expected] : std::map<std::string, std::string>{
           {"auto", "data"}, {"pipeline", "pipeline"}, {"data", "data"}}) {
    SuiteParams params = params_with(21, kAll, place);
    settle_place(params, {}, nullptr);
    CHECK(params.options.at("place") == expected);
  }
}

}  // namespace mgpu::pipeline
