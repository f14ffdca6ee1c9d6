// Kernels of the stencil suite that wait for each other, on the devices there are, where they wait
// for what does not come.
#include <doctest/doctest.h>

#include <array>

#include "suites/stencil/kernel_exchange.hpp"
#include "suites/stencil/persistent.hpp"
#include "suites/stencil/stencil_kernel.hpp"
#include "tests/support/machine.hpp"

using namespace mgpu;

namespace {

stencil::Problem plane(std::uint64_t n) {
  stencil::Problem problem;
  problem.n = n;
  problem.steps = 4;
  return problem;
}

}  // namespace

TEST_CASE(
    "a work-group whose neighbours never send anything ends, and says which device it waited for") {
  OpenDevice& device = *testing::machine().open.front();
  DeviceResources& resources = device.resources();
  const stencil::Problem problem = plane(20);
  const Bytes state = (problem.layers() + 2) * problem.layer_bytes();
  const auto from = resources.allocate(state), to = resources.allocate(state),
             mail = resources.allocate(stencil::Persistent::mail_bytes(problem)),
             theirs = resources.allocate(mail->size()), boxes = resources.allocate(Bytes{1} << 16),
             status = resources.allocate(8);
  const bool nvidia = resources.traits().nvidia;
  const auto kernel = resources.kernel("stencil_persistent.cl", "jacobi2d_persistent",
                                       std::string("-DREAL=float -DHIGH=16 -DROWS=8") +
                                           (nvidia ? " -DACROSS=32 -DNVIDIA" : " -DACROSS=16"));
  const std::size_t items = nvidia ? 512 : 256;
  const std::vector<std::byte> nothing(boxes->size());
  std::array<std::uint32_t, 2> seen{};
  const std::uint64_t limit = nvidia ? 1'000'000 : 1 << 12;
  const auto u = [](std::uint64_t n) { return static_cast<std::uint32_t>(n); };
  const auto launch = [&](std::uint32_t self, std::uint32_t before, std::uint32_t after) {
    return resources.try_out([&](Stream& stream) {
      for (Buffer* each : {from.get(), to.get(), mail.get(), boxes.get(), status.get()})
        stream.upload(*each, 0, std::span(nothing).first(each->size()));
      stream.launch(*kernel, {{items, 1, 1}, {items, 1, 1}},
                    {from.get(),
                     to.get(),
                     boxes.get(),
                     mail.get(),
                     theirs.get(),
                     theirs.get(),
                     status.get(),
                     limit,
                     std::uint32_t{1},
                     u(problem.n),
                     std::uint32_t{0},
                     std::uint32_t{0},
                     u(problem.n + 1),
                     u(problem.n),
                     u(problem.stride()),
                     std::uint32_t{4},
                     std::uint32_t{1},
                     self,
                     before,
                     after});
      stream.download(*status, 0, std::as_writable_bytes(std::span(seen)));
    });
  };
  REQUIRE(launch(0, 5, 5));
  CHECK(seen[0] == 1 + 5);
  REQUIRE(launch(0, 0, 0));  // its own neighbour: it sends itself what it waits for
  CHECK(seen[0] == 0);
}

TEST_CASE(
    "a step whose neighbours never send their halos ends, and says which device it waited for") {
  OpenDevice& device = *testing::machine().open.front();
  DeviceResources& resources = device.resources();
  const stencil::Problem problem = plane(20);
  const Bytes state = (problem.layers() + 2) * problem.layer_bytes();
  const auto from = resources.allocate(state), to = resources.allocate(state),
             mail = resources.allocate(stencil::KernelExchange::mail_bytes(problem)),
             theirs = resources.allocate(mail->size()), done = resources.allocate(8),
             status = resources.allocate(4);
  const bool nvidia = resources.traits().nvidia;
  const auto kernel = resources.kernel("stencil.cl", "jacobi2d",
                                       stencil::kernel_options(problem, resources.traits(), 4) +
                                           " -DRADIUS_OF_STEP=1" + (nvidia ? " -DNVIDIA" : ""));
  const std::vector<std::byte> nothing(state);
  std::uint32_t seen = 0;
  const auto u = [](std::uint64_t n) { return static_cast<std::uint32_t>(n); };
  const auto launch = [&](Buffer& mail_of_others, std::uint32_t number) {
    return resources.try_out([&](Stream& stream) {
      for (Buffer* each : {from.get(), to.get(), done.get(), status.get()})
        stream.upload(*each, 0, std::span(nothing).first(each->size()));
      constexpr std::uint32_t before_and_after = 3, waits = 4, sends_and_signals = 24, mailed = 32;
      stream.launch(*kernel, {{nvidia ? 32U : 2U, 5, 1}, {nvidia ? 32U : 1U, 1, 1}},
                    {from.get(),
                     to.get(),
                     std::uint32_t{1},
                     u(problem.n + 1),
                     std::uint32_t{0},
                     u(problem.n),
                     u(problem.stride()),
                     mail.get(),
                     &mail_of_others,
                     &mail_of_others,
                     std::uint64_t{problem.layer_bytes() / problem.element},
                     before_and_after | (number > 0 ? waits | mailed : 0U) | sends_and_signals,
                     number,
                     std::uint32_t{5},
                     u(problem.n - 3),
                     done.get(),
                     status.get(),
                     std::uint64_t{nvidia ? 1'000'000U : 1U << 12},
                     std::uint32_t{6},
                     std::uint32_t{7}});
      stream.download(*status, 0, std::as_writable_bytes(std::span(&seen, 1)));
    });
  };
  resources.try_out(
      [&](Stream& stream) { stream.upload(*mail, 0, std::span(nothing).first(mail->size())); });
  REQUIRE(launch(*theirs, 1));
  CHECK((seen == 1 + 6 || seen == 1 + 7));
  REQUIRE(launch(*mail, 0));  // its own neighbour: it sends itself what it waits for next
  CHECK(seen == 0);
  REQUIRE(launch(*mail, 1));
  CHECK(seen == 0);
}

TEST_CASE("a device has room for one work-group at least, and for no more than is asked about") {
  for (const auto& open : testing::machine().open) {
    DeviceResources& resources = open->resources();
    const stencil::Problem small = plane(60), huge = plane(1 << 16);
    CHECK(stencil::Persistent(small, resources, 60).most_rows() == 60);
    CHECK(stencil::Persistent(huge, resources, 1 << 16).most_rows() == 0);
    CHECK_NOTHROW(stencil::Persistent(small, resources, 60).check());
  }
}
