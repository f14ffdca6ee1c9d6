// The CUDA driver API's place taken by tests/support/fake_cuda.cpp: memory that can be shared, and
// every way in which there is none.
#include "lib/exec/cuda_memory.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/error.hpp"

using namespace mgpu;

namespace {

Device device(const char* uuid) {
  Device d;
  d.id = "0:0";
  if (*uuid != 0) d.uuid = uuid;
  return d;
}

// "kind: message" of what making 1 MiB throws.
std::string refusal(const CudaMemory& memory, const Device& of) {
  try {
    memory.make(of, 1 << 20);
  } catch (const Error& error) {
    return (error.kind() == ErrorKind::out_of_memory ? "out of memory: "
            : error.kind() == ErrorKind::unsupported ? "unsupported: "
                                                     : "?: ") +
           std::string(error.what());
  }
  return "none";
}

}  // namespace

TEST_CASE(
    "memory is made on the device of the UUID, in whole granules, and closed with its descriptor") {
  const CudaMemory::Loaded cuda = CudaMemory::load(MGPU_FAKE_CUDA);
  REQUIRE(cuda.memory);
  CHECK(cuda.why.empty());
  int fd = -1, copy = -1;
  {
    const FileDescriptor made =
        cuda.memory->make(device("8a000000-0000-0000-0000-000000000000"), (2 << 20) + 1);
    fd = made.get();
    struct stat facts {};
    REQUIRE(::fstat(fd, &facts) == 0);
    CHECK(facts.st_size == 4 << 20);
    copy = made.duplicate();
    CHECK(copy != fd);
  }
  struct stat facts {};
  CHECK(::fstat(fd, &facts) != 0);
  CHECK(::fstat(copy, &facts) == 0);
  ::close(copy);
}

TEST_CASE("memory of the host is made likewise, whatever the devices have left") {
  const CudaMemory::Loaded cuda = CudaMemory::load(MGPU_FAKE_CUDA);
  REQUIRE(cuda.memory);
  const FileDescriptor made = cuda.memory->make_on_host(100);
  struct stat facts {};
  REQUIRE(::fstat(made.get(), &facts) == 0);
  CHECK(facts.st_size == 2 << 20);
}

TEST_CASE("what a device cannot do says so: none of that UUID, no memory left, no export") {
  const CudaMemory::Loaded cuda = CudaMemory::load(MGPU_FAKE_CUDA);
  REQUIRE(cuda.memory);
  CHECK(
      refusal(*cuda.memory, device("8a000000-0000-0000-0000-000000000007")).find("unsupported: ") ==
      0);
  CHECK(refusal(*cuda.memory, device("")).find("knows no device of its UUID") != std::string::npos);
  CHECK(refusal(*cuda.memory, device("8a000000-0000-0000-0000-000000000001"))
            .find("out of memory: ") == 0);
  CHECK(refusal(*cuda.memory, device("8a000000-0000-0000-0000-000000000002"))
            .find("CUDA_ERROR_NOT_SUPPORTED") != std::string::npos);
}

TEST_CASE("a library that is missing, lacks functions or does not start says which") {
  const auto why = [](const char* library) {
    const CudaMemory::Loaded loaded = CudaMemory::load(library);
    CHECK(loaded.memory == nullptr);
    return loaded.why;
  };
  CHECK(why("libno-such-library.so.1") == "libno-such-library.so.1 cannot be loaded");
  CHECK(why("libm.so.6") == "libm.so.6 is too old");
  CHECK(why(MGPU_FAKE_CUDA_THAT_REFUSES).find("does not start: CUDA_ERROR_UNKNOWN") !=
        std::string::npos);
}
