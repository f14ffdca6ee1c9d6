// Many steps of the stencil suite in one launch, on devices of the fake backend, where each compute
// unit has room for a work-group: which rounds they do, and where they are refused.
#include <doctest/doctest.h>

#include "suites/stencil/stencil_workload.hpp"
#include "tests/support/stencil_sample.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

StencilAsked asked(unsigned steps, std::map<std::string, std::string> more = {},
                   std::uint64_t n = 43) {
  more.insert({"steps", "persistent"});
  return {"jacobi2d", n, steps, 1, std::move(more)};
}

const StencilPlanted kRoom = [] {
  StencilPlanted planted;
  planted.large_groups = true;
  return planted;
}();

// The rounds that launches of this kernel began with, and that the sample's cells are right.
std::vector<std::uint32_t> rounds_of(const StencilAsked& given, const char* kernel, Mode mode) {
  stencil::StencilWorkload workload(stencil_params(given));
  StencilSample sample(workload, {given.n}, mode, PeerPath::direct, kRoom);
  REQUIRE_FALSE(sample.raw.failure);
  const Verdict verdict = workload.verify(VerifyLevel::full, 0);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
  CHECK(verdict.method.find("by persistent kernels") != std::string::npos);
  std::vector<std::uint32_t> rounds;
  const std::vector<ClockMap> clocks(1);
  for (const Command& command : to_timeline(sample.raw, clocks).commands)
    if (command.label == Name(kernel)) rounds.push_back(command.round.value());
  return rounds;
}

}  // namespace

TEST_CASE(
    "a launch does all steps up to those that are looked at, to a checkpoint, and no more than "
    "256") {
  using Rounds = std::vector<std::uint32_t>;
  for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
    for (const char* precision : {"fp32", "fp64"}) {
      CAPTURE(to_string(mode));
      CAPTURE(precision);
      const std::pair<const std::string, std::string> cells{"precision", precision};
      CHECK(rounds_of(asked(11, {cells}), "jacobi2d_persistent", mode) == Rounds{0});
      CHECK(rounds_of(asked(11, {cells, {"check-every", "4"}}), "jacobi2d_persistent", mode) ==
            Rounds{0, 4, 8});
      CHECK(rounds_of(asked(11, {cells, {"check-every", "4"}}), "jacobi2d", mode) == Rounds{3, 7});
      CHECK(rounds_of(asked(11, {cells, {"checkpoint-rounds", "5"}}), "jacobi2d_persistent",
                      mode) == Rounds{0, 5});
      CHECK(rounds_of(asked(11, {cells, {"checkpoint-rounds", "5"}}), "jacobi2d", mode) ==
            Rounds{10});
    }
  }
  CHECK(rounds_of(asked(600), "jacobi2d_persistent", Mode::resident) == Rounds{0, 256, 512});
}

TEST_CASE(
    "where not all work-groups stay on the device, or devices are no neighbours of a kernel, one "
    "line refuses them") {
  const auto failure = [](const StencilAsked& given, std::vector<Items> shares,
                          const StencilPlanted& planted) {
    stencil::StencilWorkload workload(stencil_params(given));
    const StencilSample sample(workload, std::move(shares), Mode::resident, PeerPath::direct,
                               planted);
    REQUIRE(sample.raw.failure);
    CHECK(sample.raw.failure->kind() == ErrorKind::unsupported);
    return std::string(sample.raw.failure->what());
  };
  const std::string on_one =
      "--steps persistent: not all work-groups stay on the device together; accepted: auto, "
      "enqueued";
  CHECK(failure(asked(5), {43}, {}) == on_one);  // too few work-items in a group
  CHECK(failure(asked(5, {}, 300), {300}, kRoom) ==
        on_one);  // more tiles than the two that have room
  CHECK(failure(asked(5), {21, 22}, kRoom).find("these devices") !=
        std::string::npos);  // flags of fake devices are the host's
}

TEST_CASE(
    "auto takes steps one after another where nobody knows better, and nothing else is compiled") {
  stencil::StencilWorkload workload(stencil_params(asked(5, {{"steps", "auto"}})));
  const StencilSample sample(workload, {43}, Mode::resident, PeerPath::direct, kRoom);
  REQUIRE_FALSE(sample.raw.failure);
  const std::vector<ClockMap> clocks(1);
  for (const Command& command : to_timeline(sample.raw, clocks).commands)
    if (command.kind == CommandKind::compute) CHECK(command.label == Name("jacobi2d"));
}
