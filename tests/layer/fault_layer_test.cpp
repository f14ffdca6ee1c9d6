// Tests of the fault layer itself, on the first device: every kind of fault happens at the place
// and as often as the script says.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/layer/rig.hpp"

using namespace mgpu::test;

namespace {

int bits_apart(const Bytes& a, const Bytes& b) {
  int bits = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    bits += __builtin_popcount(static_cast<unsigned>(a[i] ^ b[i]));
  return bits;
}

TEST_CASE("without rules nothing happens and nothing is written") {
  const Rig rig("");
  CHECK(rig.launch() == CL_SUCCESS);
  CHECK(rig.download() == Bytes(kSize, 2));
  CHECK(logged().empty());
}

TEST_CASE("a call returns the error it is told to, at the turn it is told to, and does nothing") {
  const Rig rig("device=0:0 call=launch kernel=add_one nth=3 do=error:-5");
  for (const cl_int expected : {0, 0, -5, 0}) CHECK(rig.launch() == expected);
  CHECK(rig.download() == Bytes(kSize, 4));
  REQUIRE(logged().size() == 1);
  CHECK(
      logged()[0].find(
          R"({"rule": 1, "device": "0:0", "call": "clEnqueueNDRangeKernel", "kernel": "add_one", "bytes": 0, "n": 3, )"
          R"("do": "error:-5", "ns": )") == 0);
}

TEST_CASE("rules of other devices, calls, kernels and sizes are not meant") {
  const Rig rig(
      "device=0:7 do=error:-5; call=download do=error:-5; kernel=other do=error:-5; call=upload "
      "min=1025 do=error:-5");
  CHECK(rig.launch() == CL_SUCCESS);
  CHECK(rig.upload(Bytes(kSize)) == CL_SUCCESS);
  CHECK(logged().empty());
}

TEST_CASE("a large allocation fails and a small one does not") {
  const Rig rig("call=allocate min=4096 do=fail-alloc");
  cl_int status = 0;
  CHECK(clCreateBuffer(rig.context, CL_MEM_READ_WRITE, 4096, nullptr, &status) == nullptr);
  CHECK(status == CL_MEM_OBJECT_ALLOCATION_FAILURE);
  CHECK(clCreateBuffer(rig.context, CL_MEM_READ_WRITE, 4095, nullptr, &status) != nullptr);
}

TEST_CASE("a command that fails is accepted, does nothing, and everybody hears how it ended") {
  const Rig rig("call=launch nth=1 do=fail:-14");
  cl_event event = rig.launched();
  static std::atomic<cl_int> heard;
  heard = 1;
  const auto hear = [](cl_event, cl_int status, void*) { heard = status; };
  CHECK(clSetEventCallback(event, CL_COMPLETE, hear, nullptr) == CL_SUCCESS);
  CHECK(clWaitForEvents(1, &event) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  CHECK(status_of(event) == -14);
  cl_ulong stamp = 0;
  CHECK(stamp_of(event, CL_PROFILING_COMMAND_END, stamp) == CL_PROFILING_INFO_NOT_AVAILABLE);
  CHECK(rig.download() == Bytes(kSize, 1));
  while (heard == 1) std::this_thread::yield();
  CHECK(heard == -14);
}

TEST_CASE("a command without an event that fails is told of by the next that has one") {
  const Rig rig("call=launch nth=1 do=fail:-14");
  CHECK(rig.launch() == CL_SUCCESS);
  CHECK(rig.launch() == CL_SUCCESS);
  cl_event event = rig.launched();
  CHECK(clWaitForEvents(1, &event) == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  CHECK(status_of(event) == -14);
  CHECK(rig.download() == Bytes(kSize, 1));
  CHECK(rig.launch() == CL_SUCCESS);
  CHECK(rig.download() == Bytes(kSize, 2));
}

TEST_CASE("a command that is skipped does nothing and nobody is told") {
  const Rig rig("call=launch nth=1 do=skip");
  cl_event event = rig.launched();
  CHECK(clWaitForEvents(1, &event) == CL_SUCCESS);
  CHECK(status_of(event) == CL_COMPLETE);
  CHECK(rig.download() == Bytes(kSize, 1));
}

TEST_CASE("a delayed command and what is behind it come later, and a delayed call returns later") {
  for (const char* text : {"call=launch nth=1 do=delay:60",
                           "call=clFlush do=delay:30; call=launch do=delay-call:30"}) {
    const Rig rig(text);
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(rig.launch() == CL_SUCCESS);
    REQUIRE(clFlush(rig.queue) == CL_SUCCESS);
    CHECK(rig.download() == Bytes(kSize, 2));
    CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(60));
  }
}

TEST_CASE("a command that hangs never completes, nor what is behind it, and other queues go on") {
  const Rig rig("call=launch nth=1 do=hang");
  cl_event events[2] = {};
  for (cl_event& event : events) REQUIRE(rig.launch(&event) == CL_SUCCESS);
  clFlush(rig.queue);
  cl_command_queue other = clCreateCommandQueue(rig.context, device(), 0, nullptr);
  Bytes to(kSize);
  CHECK(clEnqueueReadBuffer(other, rig.buffer, CL_TRUE, 0, kSize, to.data(), 0, nullptr, nullptr) ==
        CL_SUCCESS);
  CHECK(to == Bytes(kSize, 1));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (cl_event event : events) CHECK(status_of(event) > CL_COMPLETE);
}

TEST_CASE("a call that hangs never returns") {
  const Rig rig("call=clFinish do=hang; call=launch do=hang-call");
  static std::atomic<int> returned;
  returned = 0;
  std::thread([&] { clFinish(rig.queue), ++returned; }).detach();
  std::thread([&] { rig.launch(), ++returned; }).detach();
  while (logged().size() < 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(returned == 0);
}

TEST_CASE("one bit is flipped on the way up, on the way down, or in a kernel's buffer") {
  const Bytes ones(kSize, 1);
  SUBCASE("up: it stays in the device") {
    const Rig rig("call=upload do=flip bit=12");
    REQUIRE(rig.upload(ones) == CL_SUCCESS);
    Bytes expected = ones;
    expected[1] ^= 1 << 4;
    CHECK(rig.download() == expected);
    CHECK(rig.download() == expected);
  }
  SUBCASE("down: what is in the device stays right") {
    const Rig rig("call=download nth=1 do=flip");
    CHECK(bits_apart(rig.download(), ones) == 1);
    CHECK(rig.download() == ones);
  }
  SUBCASE("kernel: whoever waits for it sees the flip") {
    const Rig rig("call=launch nth=1 arg=0 do=flip");
    cl_event event = rig.launched();
    REQUIRE(clWaitForEvents(1, &event) == CL_SUCCESS);
    CHECK(bits_apart(rig.download(), Bytes(kSize, 2)) == 1);
    cl_ulong start = 0, end = 0;
    CHECK(stamp_of(event, CL_PROFILING_COMMAND_START, start) == CL_SUCCESS);
    CHECK(stamp_of(event, CL_PROFILING_COMMAND_END, end) == CL_SUCCESS);
    CHECK(start <= end);
  }
  SUBCASE("kernel: an argument that is not a buffer") {
    const Rig rig("call=launch nth=1 arg=5 do=flip");
    cl_event event = rig.launched();
    REQUIRE(clWaitForEvents(1, &event) == CL_SUCCESS);
    CHECK(rig.download() == Bytes(kSize, 2));
  }
  SUBCASE("rectangles: inside them") {
    const Rig rig("call=clEnqueueReadBufferRect,clEnqueueWriteBufferRect do=flip");
    const std::size_t origin[] = {8, 2, 0}, region[] = {16, 4, 1}, pitch = 32;
    Bytes to(kSize, 1), expected(kSize, 1);
    REQUIRE(clEnqueueReadBufferRect(rig.queue, rig.buffer, CL_TRUE, origin, origin, region, pitch,
                                    0, pitch, 0, to.data(), 0, nullptr, nullptr) == CL_SUCCESS);
    CHECK(bits_apart(to, expected) == 1);
    REQUIRE(clEnqueueWriteBufferRect(rig.queue, rig.buffer, CL_TRUE, origin, origin, region, pitch,
                                     0, pitch, 0, expected.data(), 0, nullptr,
                                     nullptr) == CL_SUCCESS);
    const Bytes down = rig.download();
    CHECK(bits_apart(down, expected) == 1);
    for (const Bytes& found : {to, down}) {
      const auto at = static_cast<std::size_t>(
          std::find_if(found.begin(), found.end(), [](auto b) { return b != 1; }) - found.begin());
      CHECK((at % pitch >= 8 && at % pitch < 24 && at / pitch >= 2 && at / pitch < 6));
    }
  }
}

TEST_CASE("time stamps are absurd as told") {
  const auto stamps = [](const char* text) {
    const Rig rig(text);
    cl_event event = rig.launched();
    REQUIRE(clWaitForEvents(1, &event) == CL_SUCCESS);
    std::pair<cl_ulong, cl_ulong> found;
    stamp_of(event, CL_PROFILING_COMMAND_START, found.first);
    stamp_of(event, CL_PROFILING_COMMAND_END, found.second);
    return found;
  };
  CHECK(stamps("call=launch do=stamps:zero") == std::pair<cl_ulong, cl_ulong>(0, 0));
  const auto backwards = stamps("call=launch do=stamps:backwards");
  CHECK(backwards.first > backwards.second);
  const auto huge = stamps("call=launch do=stamps:huge");
  CHECK(huge.first <= huge.second);
  CHECK(huge.first >= cl_ulong{1} << 62);
}

TEST_CASE("a device that vanishes is not listed, from the moment on that the script names") {
  set_script("call=clGetDeviceIDs device=0:0 from=2 do=vanish");
  cl_uint before = 0, after = 0;
  CHECK(clGetDeviceIDs(platform(), CL_DEVICE_TYPE_ALL, 0, nullptr, &before) == CL_SUCCESS);
  const cl_int status = clGetDeviceIDs(platform(), CL_DEVICE_TYPE_ALL, 0, nullptr, &after);
  CHECK(status == (before == 1 ? CL_DEVICE_NOT_FOUND : CL_SUCCESS));
  CHECK(after == before - 1);
}

TEST_CASE("sub-devices are named after their parent, in their order") {
  set_script("device=0:0.1 call=clCreateContext do=error:-6");
  cl_uint units = 0;
  clGetDeviceInfo(device(), CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, nullptr);
  const cl_device_partition_property half[] = {
      CL_DEVICE_PARTITION_EQUALLY, static_cast<cl_device_partition_property>(units / 2), 0};
  cl_device_id parts[2] = {};
  if (units < 2 || clCreateSubDevices(device(), half, 2, parts, nullptr) != CL_SUCCESS)
    return;  // a GPU, or one core
  cl_int status[2] = {1, 1};
  for (int i = 0; i < 2; ++i) clCreateContext(nullptr, 1, &parts[i], nullptr, nullptr, &status[i]);
  CHECK(status[0] == CL_SUCCESS);
  CHECK(status[1] == -6);
}

TEST_CASE("of a lost context every call fails, what was not seen complete too; a new one works") {
  const Rig rig("call=launch nth=2 do=lose:-9999");
  cl_event event = rig.launched();
  CHECK(rig.launch() == -9999);
  CHECK(status_of(event) == -9999);
  CHECK(clWaitForEvents(1, &event) == -9999);
  CHECK(rig.upload(Bytes(kSize)) == -9999);
  CHECK(clFinish(rig.queue) == -9999);
  cl_int status = 0;
  CHECK(clCreateBuffer(rig.context, CL_MEM_READ_WRITE, 16, nullptr, &status) == nullptr);
  CHECK(status == -9999);
  CHECK(clReleaseEvent(event) == CL_SUCCESS);
  CHECK(logged().size() == 1);
  CHECK(Rig("").download() == Bytes(kSize, 1));
}

TEST_CASE("when an event of a lost context was seen complete, it stays so") {
  const Rig rig("call=launch nth=2 do=lose");
  cl_event event = rig.launched();
  clFlush(rig.queue);
  while (status_of(event) != CL_COMPLETE) std::this_thread::yield();
  CHECK(rig.launch() == CL_OUT_OF_RESOURCES);
  CHECK(status_of(event) == CL_COMPLETE);
}

TEST_CASE("queries fail when they are told to") {
  const Rig rig("call=profile nth=1 do=error:-7; call=clGetEventInfo nth=1 do=error:-5");
  cl_event event = rig.launched();
  clFinish(rig.queue);
  cl_int status = 0;
  cl_ulong stamp = 0;
  for (const cl_int expected : {-5, 0})
    CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                         nullptr) == expected);
  for (const cl_int expected : {-7, 0})
    CHECK(stamp_of(event, CL_PROFILING_COMMAND_START, stamp) == expected);
}

TEST_CASE("a device that dies opens no more contexts, until the next script") {
  const Rig rig("call=launch nth=1 do=die");
  CHECK(rig.launch() == CL_OUT_OF_RESOURCES);
  cl_int status = 0;
  cl_device_id own = device();
  CHECK(clCreateContext(nullptr, 1, &own, nullptr, nullptr, &status) == nullptr);
  CHECK(status == CL_OUT_OF_RESOURCES);
  CHECK(Rig("").launch() == CL_SUCCESS);
}

}  // namespace
