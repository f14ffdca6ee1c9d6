// Devices with small work-groups, little local memory or no fp64: the next variant, or the true
// reason with its number.
#include "suites/common/group_limits.hpp"

#include <doctest/doctest.h>

#include "suites/fisher/gram_kernels.hpp"
#include "suites/matrix/layout.hpp"
#include "suites/pinn/ways.hpp"
#include "suites/tropical/kernels.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"

namespace mgpu {
namespace {

using test::has;

DeviceTraits gpu_of(std::size_t group, Bytes local) {
  DeviceTraits traits;
  traits.max_work_group = group;
  traits.local_memory = local;
  traits.global_memory = traits.max_allocation = Bytes{8} << 30;
  traits.fp64 = true;
  return traits;
}

SuiteParams params_of(const char* suite, const test::Options& options = {}) {
  return test::suite_params(suite, 256, options);
}

}  // namespace

TEST_CASE("the first candidate that suits is taken; if none does, the last reason is told") {
  std::vector<std::size_t> asked;
  const auto up_to = [&](std::size_t most) {
    return [&asked, most](std::size_t size) {
      asked.push_back(size);
      if (size > most) throw Error(ErrorKind::unsupported, "needs " + std::to_string(size));
      return size;
    };
  };
  CHECK(make_first_suited(halves_of(64), up_to(20)) == 16);
  CHECK(asked == std::vector<std::size_t>{64, 32, 16});
  CHECK(test::refusal([&] { make_first_suited(halves_of(4), up_to(0)); }, ErrorKind::unsupported) ==
        "needs 1");
  const auto broken = [](std::size_t) -> int { throw Error(ErrorKind::device, "lost"); };
  CHECK(test::kind_of_error([&] { make_first_suited(halves_of(4), broken); }) == ErrorKind::device);
}

TEST_CASE("matrix, tropical: limits that rule out every tile are named with the smallest demand") {
  const matrix::Problem product = matrix::problem_of(params_of("matrix"));
  const product::Geometry geometry = product::Geometry::of(256, 256, product.axis);
  const auto reason = [&](const DeviceTraits& device, const matrix::Problem& problem) {
    return matrix::capacity(device, problem, geometry, Mode::resident,
                            matrix::variants(device, problem, geometry))
        .reason;
  };
  CHECK(reason(gpu_of(64, 48 << 10), product).empty());
  const std::string local = reason(gpu_of(256, 4 << 10), product);
  CHECK((has(local, "KiB") && has(local, "local memory") && !has(local, "name")));
  CHECK(has(reason(gpu_of(16, 48 << 10), product),
            "its smallest kernel needs work-groups of 32 work-items; it can have up to 16"));
  matrix::Problem named = product;
  named.kernel = matrix::KernelChoice::tensor;
  CHECK(has(reason(gpu_of(256, 48 << 10), named), "no kernel of that name"));

  const tropical::Problem tropical = tropical::problem_of(params_of("tropical"));
  const auto why = [&](tropical::Problem problem, const DeviceTraits& device) {
    return tropical::no_kernel(device, problem,
                               tropical::variants(without_limits(device), problem, geometry, {}))
        .reason;
  };
  CHECK(has(why(tropical, gpu_of(16, 48 << 10)), "32 work-items; it can have up to 16"));
  tropical::Problem unknown = tropical;
  unknown.kernel = "packed 1x1";
  CHECK(has(why(unknown, gpu_of(256, 48 << 10)), "\"packed 1x1\""));
}

TEST_CASE("pinn: layers are filtered by local memory too, and the limit that is met is named") {
  pinn::Problem problem = pinn::problem_of(params_of("pinn", {{"layers", "4"}, {"width", "256"}}));
  const auto layers = [&](Bytes local) {
    std::size_t count = 0;
    for (const pinn::Way& way : pinn::ways(gpu_of(1024, local), problem)) count += way.by_layer;
    return count;
  };
  CHECK(layers(64 << 10) > layers(20 << 10));
  CHECK(layers(20 << 10) > 0);
  CHECK(layers(4 << 10) == 0);
  std::string why;
  CHECK(pinn::ways(gpu_of(64, 64 << 10), problem, &why).empty());
  CHECK(has(why, "work-groups of 256 work-items; it can have up to 64"));
  CHECK(pinn::ways(gpu_of(1024, 4 << 10), problem, &why).empty());
  CHECK(has(why, " KiB of local memory; it can have up to 1024 with 4"));
  problem = pinn::problem_of(params_of("pinn", {{"layers", "2"}, {"width", "8"}}));
  CHECK(pinn::ways(gpu_of(64, 64 << 10), problem).front().threads == 64);
}

TEST_CASE("fisher: only fp64 that was asked for needs fp64; smaller tiles follow larger ones") {
  DeviceTraits device = gpu_of(256, 48 << 10);
  device.fp64 = false;
  const fisher::Problem wide =
      fisher::problem_of(params_of("fisher", {{"precision", "fp64"}, {"dim", "70"}}));
  const fisher::Problem usual = fisher::problem_of(params_of("fisher", {{"dim", "70"}}));
  CHECK(fisher::gram_variants(device, wide).empty());
  CHECK(fisher::gram_variants(device, usual).front().tile == 128);
  CHECK(fisher::gram_variants(gpu_of(64, 48 << 10), usual).front().tile == 64);
  CHECK(fisher::gram_variants(gpu_of(256, 4 << 10), usual).front().tile == 32);
  CHECK(fisher::gram_variants(gpu_of(16, 48 << 10), usual).empty());
}

}  // namespace mgpu
