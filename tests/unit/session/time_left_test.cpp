// The estimate shown in a progress line.
#include "lib/session/time_left.hpp"

#include <doctest/doctest.h>

#include "tests/support/fake_backend.hpp"
#include "tests/support/quiet_observer.hpp"

using namespace mgpu;
using namespace mgpu::test;
using std::chrono::milliseconds;

namespace {

Case timed_case(std::size_t samples, Nanos time, bool closed = false) {
  Case made;
  made.times.assign(samples, time);
  made.closed = closed;
  return made;
}

std::optional<Nanos> time_left(std::vector<Case> cases, std::size_t exactly = 0) {
  StopRule stop;
  stop.exactly = exactly;
  return sampling_left(cases, stop);
}

class NotingProgress final : public QuietObserver {
 public:
  void progress(const Progress& progress) override { last = progress; }
  Progress last;
};

}  // namespace

TEST_CASE("what open cases still take follows from the stop rule, once each has a sample") {
  CHECK(time_left({timed_case(3, milliseconds(10)), timed_case(10, milliseconds(20), true)}, 10) ==
        milliseconds(70));
  CHECK(time_left({timed_case(12, milliseconds(10))}, 10) == Nanos{0});
  CHECK(time_left({timed_case(2, milliseconds(100))}) == milliseconds(800));  // 10 samples
  CHECK(time_left({timed_case(2, milliseconds(10))}) == milliseconds(480));   // 0.5 s
  CHECK(time_left({timed_case(2, std::chrono::seconds(2))}) ==
        std::chrono::seconds(1));  // at most 5 s
  Case noisy = timed_case(0, Nanos{});
  for (int k = 0; k < 10; ++k) noisy.times.push_back(milliseconds(k % 2 == 0 ? 100 : 110));
  CHECK(time_left({noisy}) > milliseconds(2000));  // the noise is 5 %, not 1 %
  CHECK_FALSE(time_left({timed_case(3, milliseconds(10)), timed_case(0, Nanos{})}));
}

TEST_CASE("the groups to come count as those that are done, or as the one under way") {
  FakeBackend backend({FakeDevice{}}, {});
  NotingProgress observer;
  WholeSession whole(observer, backend, 3);
  backend.spend(milliseconds(100));
  whole.progress({.what = "sum", .done = 1, .total = 2, .left = milliseconds(50)});
  CHECK(observer.last.left == milliseconds(50 + 2 * 150));
  CHECK(observer.last.group == 0);
  CHECK(observer.last.groups == 3);
  backend.spend(milliseconds(100));
  whole.group_ended();
  whole.progress({.what = "sum", .done = 1, .total = 2, .left = milliseconds(10)});
  CHECK(observer.last.left == milliseconds(10 + 200));
  whole.group_ended();
  whole.progress({.what = "sum", .done = 1, .total = 2, .left = milliseconds(10)});
  CHECK(observer.last.left == milliseconds(10));
  whole.progress({.what = "sum", .total = 2});
  CHECK_FALSE(observer.last.left);
}
