// Replays of programs, what holds them back, their figures, and the logs they are read from.
#include "lib/profile/program.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "lib/base/error.hpp"
#include "lib/profile/log_reader.hpp"
#include "lib/profile/metrics.hpp"
#include "lib/profile/program_costs.hpp"
#include "lib/profile/program_replay.hpp"
#include "lib/profile/program_summary.hpp"
#include "tests/support/programs.hpp"

using namespace mgpu;
using test::ProgramBuilder;

namespace {

constexpr auto kUpload = CommandKind::upload, kCompute = CommandKind::compute,
               kDownload = CommandKind::download;

// Returns a program of several threads and queues with times that no driver would give.
ProgramRecord random_program(std::mt19937& random) {
  const auto below = [&](int limit) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(limit));
  };
  ProgramBuilder program(2, 2);
  program.record().threads.push_back({0, 2});
  program.record().queues[3].in_order = false;
  std::int64_t now[2] = {0, 50};
  for (int k = 0; k < 60; ++k) {
    const std::size_t thread = random() % 2;
    std::int64_t& at = now[thread];
    at += below(40'000);
    const std::int64_t end = at + below(300);
    const auto queue = static_cast<std::uint32_t>(random() % 4);
    if (random() % 4 == 0) {
      std::vector<std::uint32_t> waited;
      for (std::uint32_t c = 0; c < program.record().commands.size(); ++c)
        if (random() % 8 == 0) waited.push_back(c);
      program.wait(at, end, waited);
    } else {
      const std::int64_t started = at - 20 + below(900);
      program.command(queue, static_cast<CommandKind>(random() % 3), at, end, started,
                      started + below(1000), random() % 4 == 0);
      ProgramCommand& c = program.record().commands.back();
      c.marker = random() % 10 == 0;
      if (program.record().commands.size() > 3 && random() % 3 == 0)
        c.after.push_back(static_cast<std::uint32_t>(random() % 3));
    }
    program.record().calls.back().thread = static_cast<std::uint32_t>(thread);
    at = end;
  }
  std::stable_sort(program.record().calls.begin(), program.record().calls.end(),
                   [](const HostCall&, const HostCall&) { return false; });
  return program.record();
}

Nanos time_without(const ProgramCosts& costs, const std::string& name) {
  for (const ProgramCost& cost : costs.costs)
    if (cost.name == name) return cost.time;
  return Nanos{-1};
}

}  // namespace

TEST_CASE("a program's replay without change gives the recorded time to the nanosecond") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const ProgramRecord record = random_program(random);
    CHECK(replay(record, {}) == record.makespan);
    std::vector<bool> all(record.commands.size(), true);
    for (const ProgramChange& change :
         {ProgramChange{.at_once = all}, ProgramChange{.no_waits = true},
          ProgramChange{.no_host_work = true}})
      CHECK(replay(record, change) <= record.makespan);
  }
}

TEST_CASE("balance: devices of one kind get equal shares, others those of their rates") {
  ProgramBuilder program(2);
  for (int k = 0; k < 4; ++k) {
    program.kernel(0, 4000 * k, 4000 * k + 10, 4000 * k + 100, 4000 * k + 3100);
    program.kernel(1, 4000 * k + 10, 4000 * k + 20, 4000 * k + 100, 4000 * k + 1100);
    program.wait(4000 * k + 20, 4000 * k + 3200,
                 {static_cast<std::uint32_t>(2 * k), static_cast<std::uint32_t>(2 * k + 1)});
  }
  const ProgramCosts equal = find_costs(program.record());
  CHECK(equal.held_back_by == "perfect_balance");
  // Each iteration takes 1,000 ns less, as 3,000 and 1,000 become 2,000 each.
  CHECK(time_without(equal, "perfect_balance") == program.record().makespan - Nanos{4000});
  REQUIRE(equal.shares.size() == 2);
  CHECK(equal.shares[0].now == doctest::Approx(0.75));
  CHECK(equal.shares[1].balanced == doctest::Approx(0.5));

  // The second device is another one and did as many work-items in a third of the time: a quarter
  // of the work is the first one's, and each iteration takes 750 ns instead of 3,000.
  program.record().devices[1].device.name = "faster GPU";
  const ProgramCosts rates = find_costs(program.record());
  CHECK(rates.shares[0].now == doctest::Approx(0.5));
  CHECK(rates.shares[0].balanced == doctest::Approx(0.25));
  CHECK(time_without(rates, "perfect_balance") == program.record().makespan - Nanos{4 * 1500});
}

TEST_CASE("balance: a device of the same kind that ran nothing could take half") {
  ProgramBuilder program(2);
  program.kernel(0, 0, 10, 100, 4100);
  program.record().devices[1].has_queue = false;
  const ProgramCosts costs = find_costs(program.record());
  CHECK(costs.held_back_by == "perfect_balance");
  CHECK(time_without(costs, "perfect_balance") == Nanos{2100});
  program.record().devices[1].device.name = "unknown";
  CHECK(find_costs(program.record()).costs.front().name != "perfect_balance");
  program.record().devices[1].device.name = "GPU";
  program.record().devices[1].device.id = "0:0.1";  // a part of the one that works
  CHECK(find_costs(program.record()).costs.front().name != "perfect_balance");
}

TEST_CASE("transfers in one queue with kernels could run next to them") {
  ProgramBuilder program(1);
  std::int64_t at = 100;
  for (int k = 0; k < 8; ++k, at += 3000) {
    program.command(0, kUpload, 10 * k, 10 * k + 2, at, at + 1000);
    program.command(0, kCompute, 10 * k + 2, 10 * k + 4, at + 1000, at + 2000);
    program.command(0, kDownload, 10 * k + 4, 10 * k + 6, at + 2000, at + 3000);
  }
  const ProgramCosts costs = find_costs(program.record());
  CHECK(costs.held_back_by == "full_overlap");
  CHECK(time_without(costs, "free_transfers") == Nanos{8000});
  // A chain of three stages of 1,000 with eight batches; with two sets of buffers an upload waits
  // for the kernel two batches before, which does not delay it here.
  CHECK(time_without(costs, "full_overlap") == Nanos{100 + 10'000});
  // In one buffer each, a batch begins after the download two batches before: 3,000 for two.
  for (ProgramCommand& c : program.record().commands)
    if (c.kind != kCompute) c.memory = 1;
  CHECK(time_without(find_costs(program.record()), "full_overlap") == Nanos{100 + 13'000});
  CHECK(find_costs(program.record(), 0.9).held_back_by == "none");
}

TEST_CASE("blocking reads keep a thread from driving two devices") {
  ProgramBuilder program(2);
  std::int64_t at = 0;
  for (int k = 0; k < 10; ++k)
    for (std::uint32_t d = 0; d < 2; ++d, at += 2000) {
      program.kernel(d, at, at + 10, at + 100, at + 1600);
      program.command(d, kDownload, at + 10, at + 2000, at + 1600, at + 1900, true);
    }
  const ProgramCosts costs = find_costs(program.record());
  CHECK(costs.held_back_by == "free_waits");
  CHECK(time_without(costs, "free_waits") < Nanos{22'000});
  CHECK(time_without(costs, "free_waits") > Nanos{18'000});
}

TEST_CASE("a call that blocks works until its command begins, if its queue is empty") {
  ProgramBuilder program(1);
  for (int k = 0; k < 3; ++k)
    program.command(0, kDownload, 6000 * k, 6000 * k + 6000, 6000 * k + 5000, 6000 * k + 5900,
                    true);
  // Each call waits for 900 only.
  const Nanos time = time_without(find_costs(program.record()), "free_waits");
  CHECK(time >= Nanos{3 * 5100});
  CHECK(time < Nanos{18'000});
}

TEST_CASE("tiny kernels: launches; a kernel that is launched first may be built only then") {
  ProgramBuilder program(1);
  for (int k = 0; k < 100; ++k)
    program.kernel(0, 10 * k, 10 * k + 5, 1000 * k + 100, 1000 * k + 200);
  const ProgramCosts costs = find_costs(program.record());
  CHECK(costs.held_back_by == "free_launches");
  CHECK(time_without(costs, "free_launches") == Nanos{100 * 100});
  program.record().devices[0].capability.least_kernel = Nanos{60};
  for (ProgramCommand& c : program.record().commands) c.items = 1;
  CHECK(time_without(find_costs(program.record()), "free_launches") == Nanos{100 * 40});
  // All but the first were in the queue before another began.
  program.record().devices[0].capability.least_waiting_kernel = Nanos{50};
  CHECK(time_without(find_costs(program.record()), "free_launches") == Nanos{40 + 99 * 50});
  for (ProgramCommand& c : program.record().commands) c.first_launch = true;
  program.call(CallKind::build, "clBuildProgram", 1000, 1010);
  CHECK(find_costs(program.record()).held_back_by == "free_builds");
}

TEST_CASE("tiny kernels: enqueuing them may take longer than running them") {
  ProgramBuilder program(1);
  for (int k = 0; k < 100; ++k)
    program.kernel(0, 1000 * k, 1000 * k + 1000, 1000 * k + 1100, 1000 * k + 1200);
  const ProgramCosts costs = find_costs(program.record());
  CHECK(costs.held_back_by == "free_launches");
  CHECK(time_without(costs, "free_launches") == Nanos{100 * 100});
}

TEST_CASE("host work: a thread computes while devices have nothing to do") {
  ProgramBuilder program(1);
  for (int k = 0; k < 10; ++k) {
    program.kernel(0, 4'000'000 * k, 4'000'000 * k + 10, 4'000'000 * k + 100,
                   4'000'000 * k + 1'000'000);
    program.wait(4'000'000 * k + 10, 4'000'000 * k + 1'000'100, {static_cast<std::uint32_t>(k)});
  }
  const ProgramCosts costs = find_costs(program.record());
  CHECK(costs.held_back_by == "free_host_work");
  CHECK(time_without(costs, "free_host_work") == Nanos{10 * 1'000'100});
}

TEST_CASE("a thread that polls until a command has ended does not work in the meantime") {
  ProgramBuilder program(2);
  for (std::uint32_t k = 0; k < 10; ++k)
    program.kernel(k % 2, 1'000'000 * k, 1'000'000 * k + 10, 1'000'000 * k + 100,
                   1'000'000 * k + 999'000);
  const ProgramCosts costs = find_costs(program.record());
  CHECK(costs.held_back_by == "none");
  CHECK(time_without(costs, "free_host_work") > Nanos{9'900'000});
  // It ends 200 us before: what the thread does in that time is its own.
  for (ProgramCommand& c : program.record().commands) c.ended -= Nanos{200'000};
  CHECK(time_without(find_costs(program.record()), "free_host_work") < Nanos{5'100'000});
}

TEST_CASE("small copies: as fast per byte as the fastest, and at once") {
  ProgramBuilder program(1);
  program.command(0, kUpload, 0, 1, 10, 1'000'010);  // 1 MiB in 1 ms
  for (int k = 0; k < 100; ++k) {
    const std::int64_t at = 1'000'010 + 20'000 * k;
    program.command(0, kUpload, 2 + k, 3 + k, at + 10'000, at + 20'000);
    program.record().commands.back().bytes = 1 << 10;
  }
  const ProgramCosts costs = find_costs(program.record());
  CHECK(costs.held_back_by == "fewer_copies");
  CHECK(costs.small_copies == 100);
  const Nanos time = time_without(costs, "fewer_copies");
  CHECK(time > Nanos{1'090'000});
  CHECK(time < Nanos{1'110'000});
}

TEST_CASE("pageable memory: as fast as pinned memory was measured") {
  ProgramBuilder program(1);
  for (int k = 0; k < 10; ++k) {
    const std::int64_t at = 2'000'000 * k;
    program.command(0, kUpload, at, at + 1'000'000, at + 10, at + 1'000'000);
    program.record().commands.back().bytes = 1 << 20;
    program.record().commands.back().pageable = true;
    program.command(0, kCompute, at + 1'000'000, at + 1'000'010, at + 1'000'000, at + 2'000'000);
  }
  CHECK(time_without(find_costs(program.record()), "pinned_copies") == Nanos{-1});
  program.record().devices[0].capability.pinned_up = (1 << 20) / 1e-4;  // 100 us each
  const ProgramCosts costs = find_costs(program.record());
  CHECK(costs.held_back_by == "pinned_copies");
  CHECK(costs.pageable == 10);
  CHECK(time_without(costs, "pinned_copies") == Nanos{10 * 1'100'000});
}

TEST_CASE("builds in the loop, and impossible time stamps") {
  ProgramBuilder program(1);
  for (int k = 0; k < 5; ++k) {
    if (k > 0) program.call(CallKind::build, "clBuildProgram", 9000 * k, 9000 * k + 8000);
    program.kernel(0, 9000 * k + 8000, 9000 * k + 8010, 9000 * k + 8100, 9000 * k + 8900);
    program.wait(9000 * k + 8010, 9000 * k + 9000, {static_cast<std::uint32_t>(k)});
  }
  const ProgramCosts costs = find_costs(program.record());
  CHECK(costs.held_back_by == "free_builds");
  CHECK(time_without(costs, "free_builds") == program.record().makespan - Nanos{4 * 8000});
  program.record().commands[2].ended = program.record().commands[2].started - Nanos{1};
  CHECK(find_costs(program.record()).held_back_by == "unknown");
}

TEST_CASE("iterations of the busiest queue are found, and the one nearest the median is shown") {
  ProgramBuilder program(1);
  program.command(0, kUpload, 0, 1, 10, 20);
  std::int64_t at = 100;
  for (int k = 0; k < 9; ++k) {
    program.command(0, kUpload, at, at + 1, at + 10, at + 100);
    program.kernel(0, at, at + 1, at + 100, at + 300);
    program.kernel(0, at, at + 1, at + 300, at + 400);
    program.command(0, kDownload, at, at + 1, at + 400, at + 500);
    at += k == 4 ? 900 : 600 + k;
  }
  const auto found = find_iterations(program.record());
  REQUIRE(found);
  CHECK(found->count == 9);
  CHECK(found->commands == std::vector<std::string>{"upload", "kernel", "kernel", "download"});
  CHECK(found->length == Nanos{603});
  CHECK(found->begin == Nanos{100 + 10 + 600 + 601 + 602});
  ProgramBuilder two(1);
  for (int k = 0; k < 2; ++k) two.kernel(0, 10 * k, 10 * k + 1, 10 * k + 2, 10 * k + 3);
  CHECK_FALSE(find_iterations(two.record()));
}

TEST_CASE("a program's timeline has parts that add up to its time") {
  ProgramBuilder program(2);
  program.command(0, kUpload, 0, 10, 50, 150);
  program.kernel(0, 10, 20, 200, 400);
  program.kernel(1, 500, 510, 600, 1000);
  const std::vector<DeviceParts> parts = device_parts(timeline_of(program.record()));
  CHECK(parts[0].upload == Nanos{100});
  CHECK(parts[0].compute == Nanos{200});
  CHECK(parts[0].launch == Nanos{100});
  CHECK(parts[0].idle == Nanos{600});
  CHECK(parts[1].idle == Nanos{500});
  CHECK(parts[1].launch == Nanos{100});
  for (const DeviceParts& p : parts) CHECK(p.residue == Nanos{});
  const ProgramRecord part = part_of(program.record(), Nanos{100}, Nanos{200});
  CHECK(part.makespan == Nanos{200});
  REQUIRE(part.commands.size() == 2);
  CHECK(part.commands[0].ended == Nanos{50});
  CHECK(part.commands[1].ended == Nanos{200});
  CHECK(replay(part, {}) == Nanos{200});
}

TEST_CASE("a log gives commands on the host's clock, within the bounds that calls set") {
  constexpr std::uint64_t offset = 123'456;
  const CommandLog log = read_command_log(test::simple_log(20, offset));
  CHECK(log.trouble.empty());
  CHECK(log.command_line == "prog -x");
  CHECK(log.commands.size() == 40);
  const ProgramRecord record = program_of({&log, 1});
  REQUIRE(record.devices.size() == 1);
  CHECK(record.devices[0].device.id == "0:0");
  CHECK(record.before == Nanos{100'000});
  const ProgramDevice& device = record.devices[0];
  CHECK(device.clock.method == "bounds");
  CHECK(device.memory.peak == 4096);
  // begin <= start leaves 100 ns of freedom, the blocking call's end 50; the call that stamped the
  // moment of enqueuing took 50.
  CHECK(device.clock.uncertainty <= Nanos{26});
  for (std::size_t k = 0; k < 20; ++k) {
    const ProgramCommand& kernel = record.commands[2 * k];
    const Nanos error = kernel.started - Nanos{static_cast<std::int64_t>(100 + 1760 * k)};
    CHECK(std::chrono::abs(error) <= device.clock.uncertainty);
    CHECK(kernel.ended - kernel.started == Nanos{1000});
    CHECK(kernel.label == "scale");
    CHECK(kernel.items == 64);
    CHECK(kernel.first_launch == (k == 0));
    CHECK(record.commands[2 * k + 1].pageable);
  }
  CHECK(replay(record, {}) == record.makespan);
  const auto waits = wait_figures(record);
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].calls == 20);
  CHECK(waits[0].what == "download");
}

TEST_CASE("a log that ends anywhere gives the records before, and says so in one line") {
  const std::string whole = test::simple_log(3, 5);
  std::size_t most = 0;
  for (std::size_t length = 0; length < whole.size(); length += 8) {
    if (length > 0 && length < 16) continue;
    const CommandLog log = read_command_log(std::string_view(whole).substr(0, length));
    CHECK(log.commands.size() >= most);
    most = log.commands.size();
    program_of({&log, 1});
  }
  CHECK(most == 6);
  const CommandLog cut = read_command_log(std::string_view(whole).substr(0, whole.size() - 3));
  CHECK(cut.trouble.find("the process was killed") != std::string::npos);
  CHECK(cut.times.size() == 5);
  const ProgramRecord record = program_of({&cut, 1});
  REQUIRE(record.remarks.size() == 1);
  CHECK(record.remarks[0] ==
        "1 command of process 7 had not ended when its log ended, and is left out");

  std::string damaged = whole;
  damaged[16 + 4] = 3;  // the size of the first record
  CHECK(read_command_log(damaged).trouble.find("damaged") != std::string::npos);
  CHECK_THROWS_AS(read_command_log("no log at all, but text"), Error);
  std::string newer = whole;
  newer[8] = 9;
  CHECK_THROWS_WITH(read_command_log(newer),
                    "is a log of version 9; expected: version 1, of the profiling layer of this "
                    "version");
}

TEST_CASE("two processes of one host share its devices and its clock") {
  const CommandLog log = read_command_log(test::simple_log(2, 77));
  CommandLog other = log;
  other.process.pid = 8;
  const std::vector<CommandLog> both{log, other};
  const ProgramRecord record = program_of(both);
  CHECK(record.devices.size() == 1);
  CHECK(record.processes.size() == 2);
  CHECK(record.commands.size() == 8);
  other.host = "elsewhere";
  const std::vector<CommandLog> apart{log, other};
  const ProgramRecord two = program_of(apart);
  REQUIRE(two.devices.size() == 2);
  CHECK(two.devices[1].device.id == "1/0:0");
}
