// Parts of buffers: which are made anew, and in which order they are freed.
#include <doctest/doctest.h>

#include <vector>

#include "suites/kernel/parts.hpp"

using namespace mgpu;
using namespace mgpu::kernel;

namespace {

struct Log {
  std::vector<Bytes> made, freed;  // where they begin
};

class NotedPart final : public Buffer {
 public:
  NotedPart(Log& log, Bytes offset, Bytes size) : log_(log), offset_(offset), size_(size) {
    log_.made.push_back(offset);
  }
  ~NotedPart() override { log_.freed.push_back(offset_); }
  Bytes size() const override { return size_; }

 private:
  Log& log_;
  Bytes offset_, size_;
};

class PartsOnly final : public DeviceResources {
 public:
  explicit PartsOnly(Log& log) : log_(log) {}
  const DeviceTraits& traits() const override { return traits_; }
  std::unique_ptr<Buffer> allocate(Bytes size) override {
    return std::make_unique<NotedPart>(log_, 0, size);
  }
  std::unique_ptr<Kernel> kernel(std::string_view, std::string_view, const std::string&) override {
    return nullptr;
  }
  std::unique_ptr<Buffer> part(Buffer&, Bytes offset, Bytes size) override {
    return std::make_unique<NotedPart>(log_, offset, size);
  }

 private:
  Log& log_;
  DeviceTraits traits_;
};

}  // namespace

TEST_CASE(
    "parts that overlap are made once and freed from the youngest to the oldest, wherever they "
    "begin") {
  Log log, others;
  PartsOnly device(log);
  const std::unique_ptr<Buffer> whole = PartsOnly(others).allocate(1 << 20);
  {
    Parts parts(device);
    for (const Bytes offset : {2048, 512, 4096, 512})
      CHECK(parts.of(*whole, offset, 8192).size() == 8192);
    CHECK(log.made == std::vector<Bytes>{2048, 512, 4096});
    parts.forget_many();
    CHECK(log.freed.empty());
  }
  CHECK(log.freed == std::vector<Bytes>{4096, 512, 2048});
}

TEST_CASE("too many parts are all freed, the youngest first, when none is in use") {
  Log log, others;
  PartsOnly device(log);
  const std::unique_ptr<Buffer> whole = PartsOnly(others).allocate(1 << 20);
  Parts parts(device);
  for (Bytes i = 0; i <= Parts::kMany; ++i) parts.of(*whole, i * 512, 512);
  parts.forget_many();
  REQUIRE(log.freed.size() == Parts::kMany + 1);
  CHECK(log.freed.front() == Parts::kMany * 512);
  CHECK(log.freed.back() == 0);
}
