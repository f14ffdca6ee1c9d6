// Training of tropical networks: the reference, what is refused, and the program on the fake
// backend, whose kernels carry gradients from neuron to neuron. Every partition gives the same
// bits.
#include <doctest/doctest.h>

#include <cmath>

#include "suites/tropical/network_workload.hpp"
#include "tests/support/fake_sample.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/rounds_session.hpp"
#include "tests/support/suite_params.hpp"

namespace mgpu::tropical {
namespace {

using namespace mgpu::test;

SuiteParams network_params(std::uint64_t samples, Options given = {}) {
  given.insert({{"op", "network"}, {"layers", "3"}, {"width", "5"}, {"iterations", "7"}});
  return suite_params("tropical", samples, given, 3);
}

struct Call {
  template <class Word>
  Word* words(std::size_t i) const {
    return reinterpret_cast<Word*>(std::get<std::span<std::byte>>(args[i]).data());
  }
  std::size_t u(std::size_t i) const { return std::get<std::uint32_t>(args[i]); }
  std::span<const FakeArg> args;
};

void train(const Network& network, const Call& call, std::size_t samples) {
  const std::size_t width = network.width;
  for (std::size_t s = call.u(5); s < call.u(5) + samples; ++s) {
    std::vector<float> now(call.words<float>(0) + s * width,
                           call.words<float>(0) + (s + 1) * width);
    std::vector<std::vector<std::size_t>> inputs_of;
    for (std::size_t l = 0; l < network.layers; ++l) {
      std::vector<float> next;
      inputs_of.emplace_back();
      for (std::size_t i = 0; i < width; ++i) {
        const float* const to = call.words<float>(2) + l * width * width + i;
        std::size_t best = 0;
        for (std::size_t j = 1; j < width; ++j) {
          const float a = now[j] + to[j * width], b = now[best] + to[best * width];
          if ((l % 2 == 0) == network.maximum ? a > b : a < b) best = j;
        }
        next.push_back(now[best] + to[best * width]);
        inputs_of.back().push_back(best);
      }
      now = next;
    }
    std::uint32_t loss = 0;
    std::vector<std::int32_t> gradients;
    for (std::size_t i = 0; i < width; ++i) {
      const float error = now[i] - call.words<float>(1)[s * width + i];
      gradients.push_back((error > 0) - (error < 0));
      loss += static_cast<std::uint32_t>(std::lrint(std::fabs(error) * 4096));
    }
    auto* const sums = call.words<std::int32_t>(3) + call.u(4);
    for (std::size_t l = network.layers; l-- > 0;) {
      std::vector<std::int32_t> before(width, 0);
      for (std::size_t i = 0; i < width; ++i) {
        sums[(l * width + inputs_of[l][i]) * width + i] += gradients[i];
        before[inputs_of[l][i]] += gradients[i];
      }
      gradients = before;
    }
    sums[network.weights()] += static_cast<std::int32_t>(loss % 65536);
    sums[network.weights() + 1] += static_cast<std::int32_t>(loss / 65536);
  }
}

void descend(const Network& network, const Call& call) {
  for (std::size_t i = 0; i < network.weights() + 2; ++i) {
    std::int32_t sum = 0;
    for (std::size_t place = 0; place < call.u(1); ++place)
      sum += call.words<std::int32_t>(0)[place * call.u(2) + i];
    if (i < network.weights())
      call.words<float>(4)[i] = std::fma(-std::get<float>(call.args[7]), static_cast<float>(sum),
                                         call.words<float>(3)[i]);
    else
      call.words<std::int32_t>(5)[2 * call.u(6) + i - network.weights()] = sum;
  }
}

FakeKernels host_kernels(const Network& network) {
  const auto code = [](auto run) {
    FakeKernelCode made;
    made.ops = [](const Grid& grid, std::span<const FakeArg>) {
      return static_cast<double>(grid.global[0]);
    };
    made.run = run;
    return made;
  };
  return {{"clear_sums", code([](const Grid&, std::span<const FakeArg> args) {
             const Call call{args};
             std::fill_n(call.words<std::int32_t>(0) + call.u(1), call.u(2), 0);
           })},
          {"train", code([network](const Grid& grid, std::span<const FakeArg> args) {
             train(network, {args}, grid.global[0] / network.width);
           })},
          {"descend", code([network](const Grid&, std::span<const FakeArg> args) {
             descend(network, {args});
           })}};
}

// Returns the loss of all samples, in units.
double loss_of(const Network& network, const Samples& samples, const std::vector<float>& weights) {
  double loss = 0;
  for (std::size_t s = 0; s < network.samples; ++s) {
    const auto made =
        outputs_of(network, weights, samples.inputs.subspan(s * network.width, network.width));
    for (std::size_t i = 0; i < network.width; ++i)
      loss += std::fabs(static_cast<double>(made[i] - samples.targets[s * network.width + i]));
  }
  return loss / loss_unit;
}

}  // namespace

TEST_CASE("tropical network: layers take turns, and outputs are the best sums of paths") {
  Network network;
  network.layers = network.width = 2;
  network.maximum = true;
  // From neuron j (row) to neuron i (column).
  const std::vector<float> weights{1, 5, 2, 0, /* second layer */ 10, 0, 0, 20};
  const std::vector<float> inputs{3, 1};
  // First layer: max(3 + 1, 1 + 2) = 4 and max(3 + 5, 1 + 0) = 8; second: the least sums.
  CHECK(outputs_of(network, weights, inputs) == std::vector<float>{8, 4});
  network.maximum = false;
  // First layer: 3 and 1; second: the largest sums.
  CHECK(outputs_of(network, weights, inputs) == std::vector<float>{13, 21});
}

TEST_CASE("tropical network: a step goes against the slope of the loss") {
  const SuiteParams params = network_params(40, {{"iterations", "1"}, {"learning-rate", "40"}});
  const Network network = network_of(params);
  NetworkWorkload workload(params);
  const Samples samples = workload.samples();
  std::vector<float> stepped = workload.initial();
  const double loss = loss_of(network, samples, stepped);
  CHECK(static_cast<double>(train_step(network, samples, 0, stepped, 2)) ==
        doctest::Approx(loss).epsilon(1e-3));
  unsigned used = 0;
  for (std::size_t i = 0; i < stepped.size(); ++i) {
    const double gradient = static_cast<double>(workload.initial()[i] - stepped[i]);  // rate: 1
    constexpr float least = 1.0f / 1024;
    double slopes[2];
    for (const bool up : {false, true}) {
      std::vector<float> moved = workload.initial();
      moved[i] += up ? least : -least;
      slopes[up] = (loss_of(network, samples, moved) - loss) * (up ? 1 : -1) * loss_unit /
                   static_cast<double>(least);
    }
    used += gradient != 0;
    // At a kink the slopes on both sides differ.
    CHECK(gradient >= std::min(slopes[0], slopes[1]) - 0.6);
    CHECK(gradient <= std::max(slopes[0], slopes[1]) + 0.6);
  }
  CHECK(used > 10);
}

TEST_CASE("tropical network: options, sizes and files that do not fit are refused") {
  const auto refused = [](std::uint64_t samples, const Options& given) {
    return refusal([&] { network_of(network_params(samples, given)); });
  };
  CHECK(has(refused(0, {}), "1 to 65536"));
  CHECK(has(refused(65537, {}), "1 to 65536"));
  for (const auto& [option, value] : std::map<std::string, std::string>{{"precision", "int32"},
                                                                        {"axis", "cols"},
                                                                        {"cols", "9"},
                                                                        {"inner", "9"},
                                                                        {"route", "0:1"},
                                                                        {"density", "0.5"},
                                                                        {"paths", "yes"},
                                                                        {"learning-rate", "0"},
                                                                        {"layers", "9"},
                                                                        {"width", "257"},
                                                                        {"kernel", "portable"}})
    CHECK_MESSAGE(has(refused(8, {{option, value}}), "--" + option), option);
}

TEST_CASE("tropical network: one to four devices, any shares, paths and modes give the same bits") {
  std::string digest;
  for (const std::vector<Items>& shares : std::vector<std::vector<Items>>{
           {33}, {17, 16}, {1, 32}, {33, 0}, {11, 11, 11}, {4, 0, 29}, {9, 8, 8, 8}}) {
    for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
      for (const PeerPath path : {PeerPath::direct, PeerPath::staged}) {
        INFO(shares.size(), " devices, first ", shares.front(), " ", to_string(mode));
        NetworkWorkload workload(network_params(33));
        Planted planted;
        planted.large_groups = true;
        check_right(
            FakeSample(workload, host_kernels(workload.problem()), shares, mode, path, planted),
            workload);
        if (digest.empty()) digest = workload.digest();
        CHECK(workload.digest() == digest);
      }
    }
  }
}

TEST_CASE("tropical network: gradients that another device does not get are found") {
  NetworkWorkload workload(network_params(33));
  Planted planted;
  planted.large_groups = true;
  planted.forgotten[0] = {3};
  const FakeSample sample(workload, host_kernels(workload.problem()), {17, 16}, Mode::resident,
                          PeerPath::staged, planted);
  REQUIRE_FALSE(sample.raw.failure);
  const Verdict verdict = workload.verify(VerifyLevel::full, 1);
  CHECK(verdict.status == Verdict::Status::failed);
  CHECK(has(verdict.message, "devices have different weights"));
}

TEST_CASE("tropical network: the loss falls, and a warning says if it does not") {
  const auto run = [](const Options& given) {
    NetworkWorkload workload(network_params(33, given));
    Planted planted;
    planted.large_groups = true;
    check_right(FakeSample(workload, host_kernels(workload.problem()), {33}, Mode::resident,
                           PeerPath::direct, planted),
                workload);
    return workload.verify(VerifyLevel::sample, 1).found;
  };
  const Findings good = run({{"iterations", "60"}});
  CHECK(good.curves.front().values.back() < 0.8 * good.curves.front().values.front());
  CHECK(good.warnings.empty());
  const Findings bad = run({{"learning-rate", "300"}});
  REQUIRE(bad.warnings.size() == 1);
  CHECK(has(bad.warnings.front(), "--learning-rate than 300"));
}

TEST_CASE("tropical network: whenever a device is lost, the others begin its sample again") {
  RoundsAsked asked{
      "tropical", {}, {{"op", "network"}, {"layers", "3"}, {"width", "5"}, {"iterations", "7"}}};
  SuiteParams params = network_params(33);
  asked.kernels = host_kernels(network_of(params));
  asked.size = 33;
  std::size_t restarted = 0;
  for (std::uint64_t launch = 5; launch < 200; launch += 17) {
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

}  // namespace mgpu::tropical
