// Memory shared through the CUDA driver API, replaced by tests/support/fake_cuda.cpp: memory that
// can be shared, and every way in which none can.
#include "lib/opencl/cuda_memory.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/paths.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

Device cuda_device(const char* uuid) {
  Device d;
  d.id = "0:0";
  if (*uuid != 0) d.uuid = uuid;
  return d;
}

}  // namespace

TEST_CASE("memory is made on the device of the UUID or the host, in granules, until it is closed") {
  const CudaMemory::Loaded cuda = CudaMemory::load(fake_cuda_library());
  REQUIRE(cuda.memory);
  CHECK(cuda.why.empty());
  const auto size_of = [](int fd) {
    struct stat facts {};
    return ::fstat(fd, &facts) == 0 ? facts.st_size : -1;
  };
  int fd = -1, copy = -1;
  {
    const FileDescriptor made =
        cuda.memory->make(cuda_device("8a000000-0000-0000-0000-000000000000"), (2 << 20) + 1);
    fd = made.get();
    CHECK(size_of(fd) == 4 << 20);
    copy = made.duplicate();
    CHECK(copy != fd);
    for (const int each : {fd, copy}) CHECK(::fcntl(each, F_GETFD) == FD_CLOEXEC);
  }
  CHECK(size_of(fd) == -1);
  CHECK(size_of(copy) == 4 << 20);
  ::close(copy);
  CHECK(size_of(cuda.memory->make_on_host(100).get()) == 2 << 20);
}

TEST_CASE(
    "memory of a device has an address, at which its contents are, for as long as it is held") {
  const CudaMemory::Loaded cuda = CudaMemory::load(fake_cuda_library());
  REQUIRE(cuda.memory);
  const Device device = cuda_device("8a000000-0000-0000-0000-000000000000");
  const Bytes size = 2 << 20;
  const FileDescriptor made = cuda.memory->make(device, size);
  const std::shared_ptr<std::byte> mapped = cuda.memory->map(made, device, size);
  const char word[] = "device";
  REQUIRE(::pwrite(made.get(), word, sizeof word, 4096) == sizeof word);
  CHECK(std::string_view(reinterpret_cast<const char*>(mapped.get()) + 4096) == word);
  CHECK_NOTHROW(cuda.memory->enter(device));
  const Device other = cuda_device("8a000000-0000-0000-0000-000000000002");
  CHECK(has(thrown_by([&] { cuda.memory->map(made, other, size); }).what(), "cuMemSetAccess"));
  CHECK(has(thrown_by([&] { cuda.memory->enter(other); }).what(), "cuDevicePrimaryCtxRetain"));
}

TEST_CASE("what a device cannot do says so: none of that UUID, no memory left, no export") {
  const CudaMemory::Loaded cuda = CudaMemory::load(fake_cuda_library());
  REQUIRE(cuda.memory);
  const auto refused = [&](const char* uuid) {
    return thrown_by([&] { cuda.memory->make(cuda_device(uuid), 1 << 20); });
  };
  CHECK(refused("8a000000-0000-0000-0000-000000000007").kind() == ErrorKind::unsupported);
  CHECK(refused("").kind() == ErrorKind::unsupported);
  CHECK(refused("8a000000-0000-0000-0000-000000000001").kind() == ErrorKind::out_of_memory);
  CHECK(has(refused("8a000000-0000-0000-0000-000000000002").what(), "CUDA_ERROR_NOT_SUPPORTED"));
}

TEST_CASE("a library that is missing, lacks functions or does not start says which") {
  const auto why = [](const char* library) {
    const CudaMemory::Loaded loaded = CudaMemory::load(library);
    CHECK(loaded.memory == nullptr);
    return loaded.why;
  };
  for (const char* library : {"libno-such-library.so.1", "libm.so.6"})
    CHECK(why(library).starts_with(library));
  CHECK(has(why(refusing_cuda_library()), "CUDA_ERROR_UNKNOWN"));
}
