// When results are verified, against what, and which bits are the right ones.
#include "lib/session/verification.hpp"

#include <doctest/doctest.h>

#include "lib/base/error.hpp"
#include "lib/session/verification_watch.hpp"
#include "tests/support/fake_backend.hpp"
#include "tests/support/quiet_observer.hpp"

using namespace mgpu;
using namespace mgpu::test;
using std::chrono::milliseconds;

namespace {

constexpr auto kRight = Verification::Outcome::Status::right,
               kWrong = Verification::Outcome::Status::wrong,
               kUnknown = Verification::Outcome::Status::unknown;

// A workload whose results are set by a test.
class ScriptedResult final : public Workload {
 public:
  const Shape& shape() const override { return its_shape; }
  Capacity capacity(const DeviceTraits&, Mode) const override { return {}; }
  std::unique_ptr<DeviceProgram> program(DeviceResources&, Mode, const Capacity&) override {
    return nullptr;
  }
  std::span<const std::byte> transfer_memory() const override { return {}; }
  void begin_sample() override {}
  void merge() override {}
  std::string digest() const override { return bits; }
  Verdict verify(VerifyLevel, std::uint64_t) override {
    ++verified;
    host_watch().go_on();
    if (beyond) return {Verdict::Status::off, "beyond", {}};
    if (right) return {Verdict::Status::passed, "by hand", {}};
    return {Verdict::Status::failed, "by hand", "it is not what it should be"};
  }
  void write_result(const std::filesystem::path&) const override {
    if (full) throw Error(ErrorKind::output, "no room");
    written.push_back(bits);
  }

  std::string bits = "a1";
  bool right = true, full = false, beyond = false;
  int verified = 0;
  mutable std::vector<std::string> written;
  Shape its_shape;
};

struct ResultChecks {
  Verification::Outcome of(const std::string& bits, bool thorough,
                           const std::string& device = "0:0") {
    workload.bits = bits;
    return verification.check(record, {device}, thorough, [&] {
      ++published;
      return arrives;
    });
  }

  ScriptedResult workload;
  SessionOptions options;
  Digests digests;
  QuietObserver observer;
  Verification verification{workload, options, digests, observer};
  VerifyRecord record;
  bool arrives = true;
  int published = 0;
};

}  // namespace

TEST_CASE("bits that passed are not held against the reference again, others are") {
  ResultChecks checks;
  CHECK(checks.of("a1", false).status == kRight);
  CHECK(checks.workload.verified == 1);
  CHECK(checks.record.method == "by hand");
  CHECK(checks.record.status == VerifyStatus::passed);
  CHECK(checks.record.digest == "a1");
  CHECK(checks.of("a1", false).status == kRight);
  CHECK(checks.workload.verified == 1);
  CHECK(checks.of("a1", true).status == kRight);
  CHECK(checks.workload.verified == 2);
  checks.workload.right = false;
  const Verification::Outcome other = checks.of("b2", false);
  CHECK(other.status == kWrong);
  CHECK(other.why == "it is not what it should be");
  CHECK(checks.record.status == VerifyStatus::failed);
  CHECK_FALSE(checks.digests.knows("b2"));
}

TEST_CASE("without verification, or a reference, a result is not wrong and not verified") {
  for (const bool off : {true, false}) {
    ResultChecks checks;
    if (off) checks.options.verify = VerifyLevel::off;
    checks.workload.beyond = !off;
    checks.workload.right = false;
    checks.record.status = VerifyStatus::passed;  // left by an earlier sample
    const Verification::Outcome outcome = checks.of("a1", true);
    CHECK(outcome.status == kRight);
    CHECK(outcome.digest == "a1");
    CHECK(checks.workload.verified == (off ? 0 : 1));
    CHECK(checks.record.status == VerifyStatus::off);
    CHECK(checks.record.method != "");
  }
}

TEST_CASE("a large result is looked at when that is asked for, once it is on the host") {
  ResultChecks checks;
  checks.workload.its_shape.result_on_devices = true;
  checks.workload.its_shape.bytes_out = Verification::kEverySample + 1;
  CHECK(checks.of("a1", false).digest.empty());
  CHECK(checks.published == 0);
  CHECK(checks.of("a1", true).digest == "a1");
  CHECK(checks.published == 1);
  CHECK(checks.workload.verified == 1);
  checks.arrives = false;
  const Verification::Outcome lost = checks.of("a1", true);
  CHECK(lost.status == kUnknown);
  CHECK(lost.digest.empty());
  CHECK(checks.workload.verified == 1);
}

TEST_CASE("a small result on devices comes to the host if it is sampled, for the verdict") {
  ResultChecks checks;
  checks.options.verify = VerifyLevel::sample;
  CHECK(checks.of("a1", true).status == kRight);
  CHECK(checks.published == 1);
  CHECK(checks.of("a1", false).status == kRight);
  CHECK(checks.published == 1);
  checks.arrives = false;
  CHECK(checks.of("b2", false).status == kUnknown);
  CHECK(checks.workload.verified == 1);
}

TEST_CASE("a result that stays on devices is looked at after each sample if it is small") {
  ResultChecks checks;
  checks.workload.its_shape.result_on_devices = true;
  checks.workload.its_shape.bytes_out = Verification::kEverySample;
  CHECK(checks.of("a1", false).digest == "a1");
  CHECK(checks.published == 1);
}

TEST_CASE("the right bits are those that most devices computed alone, at least two") {
  Digests digests;
  CHECK(digests.agreed().empty());
  digests.note("a1", {"0:0"});
  CHECK(digests.agreed() == "a1");  // there is no other
  for (int i = 0; i < 5; ++i) digests.note("b2", {"0:0", "0:1"});
  digests.note("b2", {"0:1"});
  CHECK(digests.agreed().empty());  // a single device on each side
  digests.note("b2", {"0:1"});
  CHECK(digests.agreed().empty());
  digests.note("b2", {"0:2"});
  CHECK(digests.agreed() == "b2");
  digests.note("a1", {"0:3"});
  CHECK(digests.agreed().empty());
  CHECK(digests.samples_of("b2") == 8);
  CHECK(digests.samples_of("c3") == 0);
}

TEST_CASE("a result is written once a second sample agrees; a session goes on if it cannot be") {
  for (const bool full : {false, true}) {
    ResultChecks checks;
    checks.options.result_file = "somewhere";
    checks.workload.full = full;
    checks.of("a1", true);
    CHECK(checks.workload.written.empty());
    CHECK(checks.digests.written.empty());
    checks.of("a1", false);
    CHECK(checks.digests.written == "a1");
    checks.of("a1", false);
    const std::vector<std::string> none, one{full ? "no room" : "a1"};
    CHECK(checks.workload.written == (full ? none : one));
    CHECK(checks.observer.warnings == (full ? one : none));
  }
}

TEST_CASE("a verification that is stopped says nothing of the result") {
  ResultChecks checks;
  checks.workload.set_host_watch({[] { return true; }, nullptr, {}});
  CHECK(checks.of("a1", true).status == kUnknown);
  CHECK_FALSE(checks.digests.knows("a1"));
}

TEST_CASE("what the data make doubtful is among the warnings of the record, whatever the verdict") {
  for (const bool right : {true, false}) {
    ResultChecks checks;
    checks.workload.its_shape.caveats = {"drift"};
    checks.workload.right = right;
    checks.of("a1", true);
    CHECK(checks.record.found.warnings == std::vector<std::string>{"drift"});
  }
}

TEST_CASE("the time of a long verification is told once, while it has just begun") {
  struct Remarks final : QuietObserver {
    void remark(std::string_view text) override { remarks.emplace_back(text); }
    std::vector<std::string> remarks;
  };
  const auto remarks_of = [](const HostWork& work, Nanos each) {
    FakeBackend backend({FakeDevice{}}, {});
    Remarks observer;
    const HostWatch watch = verification_watch(backend, observer);
    CHECK(watch.command_limit == backend.limits().answer + backend.limits().build);
    for (std::uint64_t done = 0; done <= 10; ++done) {
      watch.progress(work, done);
      backend.spend(each);
    }
    return observer.remarks;
  };
  const std::vector<std::string> told = remarks_of({"bands", 80, "20 of them"}, milliseconds(500));
  REQUIRE(told.size() == 1);
  for (const char* part : {"80 bands", "40.0 s", "20 of them"})
    CHECK(told.front().find(part) != std::string::npos);
  CHECK(remarks_of({"bands", 80, "20 of them"}, milliseconds(20)).empty());  // 1.6 s
  CHECK(remarks_of({"bands", 80, ""}, milliseconds(500)).empty());  // only a sample is verified
}
