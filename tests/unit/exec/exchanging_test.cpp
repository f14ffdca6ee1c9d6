// Samples in which only some devices of a group exchange data, and in which others get work later.
#include <doctest/doctest.h>

#include "lib/exec/executor.hpp"
#include "lib/plan/static_source.hpp"
#include "tests/support/combined_sum.hpp"
#include "tests/support/gathered_sum.hpp"
#include "tests/support/sum_suite.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr Items kExchangedItems = 3000;
constexpr std::size_t kExchanging = 3;

struct ExecutedSum {
  RawSample sample;
  Verdict verdict;
  std::vector<std::size_t> exchanges;  // commands of each device
};

// Runs a sum in which every device has a third of the items; `exchanging` says which ones exchange
// data.
template <class Sum>
ExecutedSum run_sum(Mode mode, const std::vector<bool>& exchanging) {
  std::vector<FakeDevice> fakes;
  for (std::size_t i = 0; i < kExchanging; ++i)
    fakes.push_back(sum_device("0:" + std::to_string(i), DeviceType::gpu));
  FakeBackend backend(fakes, sum_kernels());
  Sum workload(kExchangedItems);
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::vector<OpenDevice*> devices;
  for (const FakeDevice& fake : fakes) {
    open.push_back(backend.open(fake.facts));
    devices.push_back(open.back().get());
  }
  const auto group = backend.connect(devices, PeerPath::host);
  workload.connect(*group);
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  SampleRequest request;
  request.workload = &workload;
  request.peers = group.get();
  request.exchanging = exchanging;
  for (std::uint32_t i = 0; i < kExchanging; ++i) {
    const Capacity capacity = workload.capacity(devices[i]->resources().traits(), mode);
    programs.push_back(workload.program(devices[i]->resources(), mode, capacity));
    if (mode == Mode::resident) {
      programs.back()->load(devices[i]->stream());
      finish_batch(backend, *devices[i], devices[i]->submit());
    }
    request.participants.push_back({devices[i], programs.back().get()});
    request.places.push_back({i});
  }
  PlanRequest plan;
  plan.items = kExchangedItems;
  plan.mode = mode;
  std::vector<DeviceEstimate> estimates(kExchanging);
  for (DeviceEstimate& estimate : estimates) estimate.fits = estimate.pipeline = kExchangedItems;
  plan.devices = estimates;
  const std::vector<Items> shares(kExchanging, kExchangedItems / kExchanging);
  const auto source = make_static_source(plan, shares);
  request.source = source.get();
  Executor executor(backend, kExchanging);
  ExecutedSum done{executor.run(request), {}, std::vector<std::size_t>(kExchanging, 0)};
  if (!done.sample.failure) done.verdict = workload.verify(VerifyLevel::full, 1);
  for (const RawBatch& batch : done.sample.batches) {
    for (const RawCommand& command : batch.commands)
      done.exchanges[batch.device.value] += command.kind == CommandKind::exchange ? 1 : 0;
  }
  programs.clear();
  workload.disconnect();
  return done;
}

}  // namespace

TEST_CASE("who exchanges nothing brings its inputs, or its part, by the host: the rest does too") {
  const std::vector<bool> everybody{true, true, true}, first_two{true, true, false};
  for (const ExecutedSum& two : {run_sum<GatheredSum>(Mode::end_to_end, first_two),
                                 run_sum<CombinedSum>(Mode::resident, first_two)}) {
    CHECK(two.verdict.status == Verdict::Status::passed);
    CHECK(two.exchanges[2] == 0);
  }
  for (const ExecutedSum& all : {run_sum<GatheredSum>(Mode::end_to_end, everybody),
                                 run_sum<CombinedSum>(Mode::resident, everybody)}) {
    CHECK(all.verdict.status == Verdict::Status::passed);
    CHECK(all.exchanges[2] > 0);
  }
  CHECK(run_sum<GatheredSum>(Mode::end_to_end, first_two).exchanges[0] > 0);
  CHECK(run_sum<CombinedSum>(Mode::resident, first_two).exchanges[0] == 0);
}
