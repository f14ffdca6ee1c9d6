// Kernels of the stencil suite that wait for each other, on the present devices, in cases in which
// what they wait for does not come.
#include <doctest/doctest.h>

#include <array>

#include "suites/stencil/kernel_exchange.hpp"
#include "suites/stencil/persistent.hpp"
#include "suites/stencil/stencil_kernel.hpp"
#include "tests/support/machine.hpp"

namespace mgpu::stencil {
namespace {

Problem plane(std::uint64_t n) {
  Problem problem;
  problem.n = n;
  problem.steps = 4;
  return problem;
}

std::uint32_t u(std::uint64_t n) { return static_cast<std::uint32_t>(n); }

// A plane of 20 rows, two states of it, mail for the neighbours, and zeros.
struct Waiting {
  explicit Waiting(Bytes mail_bytes)
      : mail(resources.allocate(mail_bytes)), theirs(resources.allocate(mail_bytes)) {}

  // Launches with zeros in these buffers; returns the final value of `status`.
  std::uint32_t launch(const Kernel& kernel, const Grid& grid, std::span<Buffer* const> cleared,
                       std::initializer_list<KernelArg> args) {
    std::uint32_t seen = 0;
    REQUIRE(resources.try_out([&](Stream& stream) {
      for (Buffer* each : cleared) stream.upload(*each, 0, std::span(zeros).first(each->size()));
      stream.launch(const_cast<Kernel&>(kernel), grid, args);
      stream.download(*status, 0, std::as_writable_bytes(std::span(&seen, 1)));
    }));
    return seen;
  }

  DeviceResources& resources = testing::machine().open.front()->resources();
  const bool nvidia = resources.traits().nvidia;
  const Problem problem = plane(20);
  const Bytes state = (problem.layers() + 2) * problem.layer_bytes();
  const std::uint64_t limit = nvidia ? 1'000'000 : 1 << 12;
  const std::vector<std::byte> zeros = std::vector<std::byte>(std::size_t{1} << 17);
  const std::unique_ptr<Buffer> from = resources.allocate(state), to = resources.allocate(state),
                                status = resources.allocate(8);
  std::unique_ptr<Buffer> mail, theirs;
};

}  // namespace

TEST_CASE("stencil: a work-group whose neighbours send nothing ends, and says whom it waited for") {
  Waiting here(Persistent::mail_bytes(plane(20)));
  const auto boxes = here.resources.allocate(Bytes{1} << 16);
  const auto kernel =
      here.resources.kernel("stencil_persistent.cl", "jacobi2d_persistent",
                            std::string("-DREAL=float -DHIGH=16 -DROWS=8") +
                                (here.nvidia ? " -DACROSS=32 -DNVIDIA" : " -DACROSS=16"));
  const std::size_t items = here.nvidia ? 512 : 256;
  const std::uint64_t n = here.problem.n;
  const std::array<Buffer*, 5> cleared{here.from.get(), here.to.get(), here.mail.get(), boxes.get(),
                                       here.status.get()};
  const auto seen = [&](std::uint32_t self, std::uint32_t before, std::uint32_t after) {
    return here.launch(*kernel, {{items, 1, 1}, {items, 1, 1}}, cleared,
                       {here.from.get(),
                        here.to.get(),
                        boxes.get(),
                        here.mail.get(),
                        here.theirs.get(),
                        here.theirs.get(),
                        here.status.get(),
                        here.limit,
                        u(1),
                        u(n),
                        u(0),
                        u(0),
                        u(n + 1),
                        u(n),
                        u(here.problem.stride()),
                        u(4),
                        u(1),
                        self,
                        before,
                        after});
  };
  CHECK(seen(0, 5, 5) == 1 + 5);
  CHECK(seen(0, 0, 0) == 0);  // its own neighbour: it sends itself what it waits for
}

TEST_CASE("stencil: a step whose neighbours send no halos ends, and says whom it waited for") {
  Waiting here(KernelExchange::mail_bytes(plane(20)));
  const auto done = here.resources.allocate(8);
  const auto kernel =
      here.resources.kernel("stencil.cl", "jacobi2d",
                            kernel_options(here.problem, here.resources.traits(), 4) +
                                " -DRADIUS_OF_STEP=1" + (here.nvidia ? " -DNVIDIA" : ""));
  const std::uint64_t n = here.problem.n;
  const std::array<Buffer*, 4> cleared{here.from.get(), here.to.get(), done.get(),
                                       here.status.get()};
  const auto seen = [&](Buffer& of_others, std::uint32_t number) {
    constexpr std::uint32_t before_and_after = 3, waits = 4, sends_and_signals = 24, mailed = 32;
    const std::size_t across = here.nvidia ? 32 : 2, group = here.nvidia ? 32 : 1;
    return here.launch(*kernel, {{across, 5, 1}, {group, 1, 1}}, cleared,
                       {here.from.get(),
                        here.to.get(),
                        u(1),
                        u(n + 1),
                        u(0),
                        u(n),
                        u(here.problem.stride()),
                        here.mail.get(),
                        &of_others,
                        &of_others,
                        std::uint64_t{here.problem.layer_bytes() / here.problem.element},
                        before_and_after | (number > 0 ? waits | mailed : 0U) | sends_and_signals,
                        number,
                        u(5),
                        u(n - 3),
                        done.get(),
                        here.status.get(),
                        here.limit,
                        u(6),
                        u(7)});
  };
  here.resources.try_out([&](Stream& stream) {
    stream.upload(*here.mail, 0, std::span(here.zeros).first(here.mail->size()));
  });
  const std::uint32_t missed = seen(*here.theirs, 1);
  CHECK((missed == 1 + 6 || missed == 1 + 7));
  CHECK(seen(*here.mail, 0) == 0);  // its own neighbour: it sends itself what it waits for next
  CHECK(seen(*here.mail, 1) == 0);
}

TEST_CASE("stencil: a device has room for a work-group at least, and for no more than is asked") {
  for (const auto& open : testing::machine().open) {
    DeviceResources& resources = open->resources();
    const Problem small = plane(60), huge = plane(1 << 16);
    CHECK(Persistent(small, resources, 60).most_rows() == 60);
    CHECK(Persistent(huge, resources, 1 << 16).most_rows() == 0);
    CHECK_NOTHROW(Persistent(small, resources, 60).check());
  }
}

}  // namespace mgpu::stencil
