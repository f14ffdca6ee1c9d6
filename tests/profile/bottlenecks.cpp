// A program with one bottleneck of your choice: bottlenecks MODE [mended] [NAME=NUMBER ...]. Tests
// run it under `mgpu-bench profile`, whose first sentence must name the bottleneck. With `mended`
// it does the same work without the bottleneck. It prints the loop's time in ms on standard output,
// to be compared with the prediction. Numbers: items and rounds of a kernel, bytes of a transfer,
// count of iterations. Kernels of 16 items in tiny-kernels.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

void check(cl_int status, const char* what) {
  if (status == CL_SUCCESS) return;
  std::fprintf(stderr, "bottlenecks: %s: error %d\n", what, status);
  std::exit(1);
}

const char* const kSource = R"(
#ifndef SALT
#define SALT 1u
#endif
kernel void spin(global uint* out, uint rounds) {
  uint x = out[get_global_id(0)] + SALT;
  for (uint k = 0; k < rounds; ++k) x = x * 1664525u + 1013904223u;
  out[get_global_id(0)] = x;
}
)";

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Numbers {
  std::size_t items = 4096, bytes = 1 << 22, count = 20;
  cl_uint rounds = 2000;
};

// Two devices of the first platform that has two GPUs, else two cores of a CPU.
std::vector<cl_device_id> two_devices() {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  check(clGetPlatformIDs(16, platforms, &count), "clGetPlatformIDs");
  for (const cl_device_type type : {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_CPU})
    for (cl_uint k = 0; k < count && k < 16; ++k) {
      cl_device_id found[2];
      cl_uint number = 0;
      if (clGetDeviceIDs(platforms[k], type, 2, found, &number) != CL_SUCCESS) continue;
      if (type == CL_DEVICE_TYPE_GPU && number >= 2) return {found, found + 2};
      if (type == CL_DEVICE_TYPE_GPU) continue;
      const cl_device_partition_property cores[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
      std::vector<cl_device_id> parts(1024);
      if (clCreateSubDevices(found[0], cores, 1024, parts.data(), &number) == CL_SUCCESS &&
          number >= 2)
        return {parts[0], parts[1]};
    }
  std::fprintf(stderr, "bottlenecks: there are no two devices\n");
  std::exit(77);
}

// A context of one or two devices, with queues for some of them.
class Machine {
 public:
  Machine(std::size_t devices, std::size_t devices_with_queues, std::size_t queues_per_device = 1) {
    const std::vector<cl_device_id> all = two_devices();
    cl_int status = 0;
    context = clCreateContext(nullptr, static_cast<cl_uint>(devices), all.data(), nullptr, nullptr,
                              &status);
    check(status, "clCreateContext");
    for (std::size_t d = 0; d < devices_with_queues; ++d)
      for (std::size_t q = 0; q < queues_per_device; ++q) {
        queues.push_back(clCreateCommandQueue(context, all[d], 0, &status));
        check(status, "clCreateCommandQueue");
      }
  }

  cl_kernel build(unsigned salt = 1) {
    cl_int status = 0;
    const char* source = kSource;
    cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &status);
    check(status, "clCreateProgramWithSource");
    const std::string options = "-DSALT=" + std::to_string(salt) + "u";
    check(clBuildProgram(program, 0, nullptr, options.c_str(), nullptr, nullptr), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "spin", &status);
    check(status, "clCreateKernel");
    return kernel;
  }

  cl_mem buffer(std::size_t bytes, cl_mem_flags flags = CL_MEM_READ_WRITE) {
    cl_int status = 0;
    cl_mem memory = clCreateBuffer(context, flags, bytes, nullptr, &status);
    check(status, "clCreateBuffer");
    return memory;
  }

  // Host memory that is pinned where that is possible.
  char* host(std::size_t bytes) {
    cl_int status = 0;
    cl_mem memory = buffer(bytes, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
    void* mapped = clEnqueueMapBuffer(queues[0], memory, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                      bytes, 0, nullptr, nullptr, &status);
    check(status, "clEnqueueMapBuffer");
    return static_cast<char*>(mapped);
  }

  void run(cl_command_queue queue, cl_kernel kernel, cl_mem memory, std::size_t items,
           cl_uint rounds, cl_event after = nullptr, cl_event* event = nullptr) {
    check(clSetKernelArg(kernel, 0, sizeof memory, &memory), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof rounds, &rounds), "clSetKernelArg");
    check(
        clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, after != nullptr ? 1 : 0,
                               after != nullptr ? &after : nullptr, event),
        "clEnqueueNDRangeKernel");
    check(clFlush(queue), "clFlush");
  }

  void finish() {
    for (cl_command_queue queue : queues) check(clFinish(queue), "clFinish");
  }

  cl_context context = nullptr;
  std::vector<cl_command_queue> queues;  // those of the first device first
};

void upload(cl_command_queue queue, cl_mem memory, bool blocks, std::size_t bytes, const void* from,
            cl_event after = nullptr, cl_event* event = nullptr, std::size_t offset = 0) {
  check(clEnqueueWriteBuffer(queue, memory, blocks ? CL_TRUE : CL_FALSE, offset, bytes, from,
                             after != nullptr ? 1 : 0, after != nullptr ? &after : nullptr, event),
        "clEnqueueWriteBuffer");
}

void download(cl_command_queue queue, cl_mem memory, bool blocks, std::size_t bytes, void* to,
              cl_event after = nullptr, cl_event* event = nullptr) {
  check(clEnqueueReadBuffer(queue, memory, blocks ? CL_TRUE : CL_FALSE, 0, bytes, to,
                            after != nullptr ? 1 : 0, after != nullptr ? &after : nullptr, event),
        "clEnqueueReadBuffer");
}

// Fills the buffers and runs the kernel once on each queue, so that neither is in the loop.
void warm_up(Machine& machine, cl_kernel kernel, const std::vector<cl_mem>& buffers,
             std::size_t items) {
  const std::vector<cl_uint> zeros(4 * items);
  for (cl_command_queue queue : machine.queues)
    for (cl_mem buffer : buffers) {
      upload(queue, buffer, true, 4 * items, zeros.data());
      machine.run(queue, kernel, buffer, items, 1);
    }
  machine.finish();
}

volatile unsigned kept;  // so that work of the host is not optimised away

void compute_on_host(double milliseconds) {
  const auto begin = Clock::now();
  unsigned x = kept;
  while (milliseconds_since(begin) < milliseconds)
    for (int k = 0; k < 1000; ++k) x = x * 1664525u + 1013904223u;
  kept = x;
}

// Gives the first device `first` of 4 parts of the work, and the second the rest.
double share(const Numbers& n, std::size_t first) {
  Machine machine(2, 2);
  cl_kernel kernel = machine.build();
  const std::vector<cl_mem> buffers{machine.buffer(16 * n.items), machine.buffer(16 * n.items)};
  warm_up(machine, kernel, buffers, 4 * n.items);
  const auto begin = Clock::now();
  for (std::size_t k = 0; k < n.count; ++k) {
    machine.run(machine.queues[0], kernel, buffers[0], first * n.items, n.rounds);
    machine.run(machine.queues[1], kernel, buffers[1], (4 - first) * n.items, n.rounds);
    machine.finish();
  }
  return milliseconds_since(begin);
}

double imbalance(const Numbers& n, bool mended) { return share(n, mended ? 2 : 3); }

double blocking_reads(const Numbers& n, bool mended) {
  Machine machine(2, 2);
  cl_kernel kernel = machine.build();
  const std::vector<cl_mem> buffers{machine.buffer(4 * n.items), machine.buffer(4 * n.items)};
  char* const host[2] = {machine.host(4 * n.items), machine.host(4 * n.items)};
  warm_up(machine, kernel, buffers, n.items);
  const auto begin = Clock::now();
  for (std::size_t k = 0; k < n.count; ++k) {
    for (std::size_t d = 0; d < 2; ++d) {
      machine.run(machine.queues[d], kernel, buffers[d], n.items, n.rounds);
      download(machine.queues[d], buffers[d], !mended, 4 * n.items, host[d]);
    }
  }
  machine.finish();
  return milliseconds_since(begin);
}

double tiny_kernels(const Numbers& n, bool mended) {
  Machine machine(1, 1);
  cl_kernel kernel = machine.build();
  const std::vector<cl_mem> buffers{machine.buffer(4 * n.items)};
  warm_up(machine, kernel, buffers, n.items);
  const std::size_t pieces = n.count * 200;
  const auto begin = Clock::now();
  for (std::size_t k = 0; k < (mended ? 1 : pieces); ++k)
    machine.run(machine.queues[0], kernel, buffers[0], 16,
                mended ? n.rounds * static_cast<cl_uint>(pieces) : n.rounds);
  machine.finish();
  return milliseconds_since(begin);
}

double serial_transfers(const Numbers& n, bool mended) {
  Machine machine(1, 1, mended ? 3 : 1);
  cl_kernel kernel = machine.build();
  const std::size_t bytes = n.bytes < 4 * n.items ? 4 * n.items : n.bytes;
  const std::vector<cl_mem> buffers{machine.buffer(bytes), machine.buffer(bytes)};
  char *const in = machine.host(bytes), *const out = machine.host(bytes);
  warm_up(machine, kernel, buffers, n.items);
  const auto queue = [&](std::size_t k) { return machine.queues[mended ? k : 0]; };
  cl_event read[2] = {nullptr, nullptr};
  const auto begin = Clock::now();
  for (std::size_t k = 0; k < n.count; ++k) {
    const std::size_t b = mended ? k % 2 : 0;
    cl_event written = nullptr, ran = nullptr;
    upload(queue(0), buffers[b], false, bytes, in, mended ? read[b] : nullptr, &written);
    check(clFlush(queue(0)), "clFlush");
    machine.run(queue(1), kernel, buffers[b], n.items, n.rounds, mended ? written : nullptr, &ran);
    download(queue(2), buffers[b], false, bytes, out, mended ? ran : nullptr, &read[b]);
    check(clFlush(queue(2)), "clFlush");
  }
  machine.finish();
  return milliseconds_since(begin);
}

double one_queue(const Numbers& n, bool mended) {
  Machine machine(2, mended ? 2 : 1);
  cl_kernel kernel = machine.build();
  const std::vector<cl_mem> buffers{machine.buffer(8 * n.items), machine.buffer(8 * n.items)};
  warm_up(machine, kernel, buffers, 2 * n.items);
  const auto begin = Clock::now();
  for (std::size_t k = 0; k < n.count; ++k) {
    machine.run(machine.queues[0], kernel, buffers[0], mended ? n.items : 2 * n.items, n.rounds);
    if (mended) machine.run(machine.queues[1], kernel, buffers[1], n.items, n.rounds);
    machine.finish();
  }
  return milliseconds_since(begin);
}

double host_work(const Numbers& n, bool mended) {
  Machine machine(1, 1);
  cl_kernel kernel = machine.build();
  const std::vector<cl_mem> buffers{machine.buffer(4 * n.items)};
  warm_up(machine, kernel, buffers, n.items);
  const auto begin = Clock::now();
  for (std::size_t k = 0; k < n.count; ++k) {
    machine.run(machine.queues[0], kernel, buffers[0], n.items, n.rounds);
    machine.finish();
    if (!mended && k + 1 < n.count) compute_on_host(20);
  }
  return milliseconds_since(begin);
}

double builds(const Numbers& n, bool mended) {
  Machine machine(1, 1);
  const std::vector<cl_mem> buffers{machine.buffer(4 * n.items)};
  cl_kernel kernel = machine.build();
  warm_up(machine, kernel, buffers, n.items);
  const auto begin = Clock::now();
  for (std::size_t k = 0; k < n.count; ++k) {
    if (!mended) kernel = machine.build(static_cast<unsigned>(k) + 2);
    machine.run(machine.queues[0], kernel, buffers[0], n.items, n.rounds);
    machine.finish();
  }
  return milliseconds_since(begin);
}

double pageable(const Numbers& n, bool mended) {
  Machine machine(1, 1);
  cl_kernel kernel = machine.build();
  const std::size_t bytes = 8 * n.bytes;
  const std::vector<cl_mem> buffers{machine.buffer(bytes)};
  std::vector<char> ordinary(bytes);
  const void* const from = mended ? machine.host(bytes) : ordinary.data();
  warm_up(machine, kernel, buffers, n.items);
  const auto begin = Clock::now();
  for (std::size_t k = 0; k < n.count; ++k) {
    upload(machine.queues[0], buffers[0], false, bytes, from);
    machine.run(machine.queues[0], kernel, buffers[0], n.items, n.rounds);
  }
  machine.finish();
  return milliseconds_since(begin);
}

double small_copies(const Numbers& n, bool mended) {
  Machine machine(1, 1);
  cl_kernel kernel = machine.build();
  constexpr std::size_t piece = 256, pieces = 256;
  const std::vector<cl_mem> buffers{machine.buffer(std::max(piece * pieces, 4 * n.items))};
  std::vector<char> host(piece * pieces);
  warm_up(machine, kernel, buffers, n.items);
  const auto begin = Clock::now();
  for (std::size_t k = 0; k < n.count; ++k) {
    if (mended) upload(machine.queues[0], buffers[0], false, piece * pieces, host.data());
    for (std::size_t p = 0; p < pieces && !mended; ++p)
      upload(machine.queues[0], buffers[0], false, piece, host.data() + p * piece, nullptr, nullptr,
             p * piece);
    machine.run(machine.queues[0], kernel, buffers[0], n.items, n.rounds);
  }
  machine.finish();
  return milliseconds_since(begin);
}

// All pieces but the last are shared evenly; the last one, half of the work, is one device's.
double idle_at_end(const Numbers& n, bool mended) {
  Machine machine(2, 2);
  cl_kernel kernel = machine.build();
  const std::vector<cl_mem> buffers{machine.buffer(4 * n.items), machine.buffer(4 * n.items)};
  warm_up(machine, kernel, buffers, n.items);
  const auto begin = Clock::now();
  for (std::size_t k = 0; k < n.count; ++k)
    for (std::size_t d = 0; d < 2; ++d)
      machine.run(machine.queues[d], kernel, buffers[d], n.items, n.rounds);
  for (std::size_t k = 0; k < 2 * n.count; ++k)
    machine.run(machine.queues[mended ? k % 2 : 0], kernel, buffers[mended ? k % 2 : 0], n.items,
                n.rounds);
  machine.finish();
  return milliseconds_since(begin);
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, double (*)(const Numbers&, bool)> modes{
      {"imbalance", imbalance},
      {"blocking-reads", blocking_reads},
      {"tiny-kernels", tiny_kernels},
      {"serial-transfers", serial_transfers},
      {"one-queue", one_queue},
      {"host-work", host_work},
      {"builds", builds},
      {"pageable", pageable},
      {"small-copies", small_copies},
      {"idle-at-end", idle_at_end}};
  const auto mode = argc > 1 ? modes.find(argv[1]) : modes.end();
  if (mode == modes.end()) {
    std::fprintf(stderr,
                 "usage: bottlenecks MODE [mended] [items=N] [rounds=N] [bytes=N] [count=N]\n");
    for (const auto& [name, run] : modes) std::fprintf(stderr, "  %s\n", name.c_str());
    return 2;
  }
  Numbers numbers;
  bool mended = false;
  for (int k = 2; k < argc; ++k) {
    const std::string word = argv[k];
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto value =
        equals == std::string::npos ? 0 : std::strtoull(word.c_str() + equals + 1, nullptr, 10);
    if (name == "mended") mended = true;
    if (name == "items") numbers.items = value;
    if (name == "rounds") numbers.rounds = static_cast<cl_uint>(value);
    if (name == "bytes") numbers.bytes = value;
    if (name == "count") numbers.count = value;
  }
  std::printf("%.3f ms\n", mode->second(numbers, mended));
  return 0;
}
