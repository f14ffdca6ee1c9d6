// A small workload for tests of everything that runs workloads: the sum of squares of 64-bit
// values, modulo 2^64. Its kernel exists as a host function for the fake backend and as OpenCL
// text; its reference is one loop.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>

#include "lib/base/embedded.hpp"
#include "lib/base/error.hpp"
#include "lib/workload/result_file.hpp"
#include "lib/workload/workload.hpp"
#include "tests/support/fake_backend.hpp"

namespace mgpu::test {

inline constexpr EmbeddedText kSumKernel{
    "sum.cl",
    "__kernel void sum_slice(__global const ulong* in, ulong first, ulong count, __global ulong* "
    "out,\n"
    "                        uint index) {\n"
    "  ulong sum = 0;\n"
    "  for (ulong i = 0; i < count; ++i) sum += in[first + i] * in[first + i];\n"
    "  out[index] = sum;\n"
    "}\n"};

// Returns the same kernel for the fake backend: one op per item.
inline FakeKernels sum_kernels() {
  FakeKernelCode code;
  code.run = [](const Grid&, std::span<const FakeArg> args) {
    const auto in = std::get<std::span<std::byte>>(args[0]),
               out = std::get<std::span<std::byte>>(args[3]);
    const auto first = std::get<std::uint64_t>(args[1]), count = std::get<std::uint64_t>(args[2]);
    std::uint64_t sum = 0, value = 0;
    for (std::uint64_t i = first; i < first + count; ++i) {
      std::memcpy(&value, in.data() + i * sizeof value, sizeof value);
      sum += value * value;
    }
    std::memcpy(out.data() + std::get<std::uint32_t>(args[4]) * sizeof sum, &sum, sizeof sum);
  };
  code.ops = [](const Grid&, std::span<const FakeArg> args) {
    return static_cast<double>(std::get<std::uint64_t>(args[2]));
  };
  return {{"sum_slice", code}};
}

struct SumFaults {
  std::optional<std::string> corrupts{};  // this device's partial sums come out wrong
  Items too_many = ~Items{0};             // enqueue of a larger slice runs out of memory
  std::function<void()> at_begin{},
      at_host_merge{};               // called at the start of a sample, and when the host merges
  std::function<void()> at_merge{};  // if set, a device merges and calls this
  bool tolerant = false;             // accepts a result that is one too large
  bool only_devices_merge = false;   // the host never merges
  bool each_slice = false;           // downloads the result of each slice separately
  std::chrono::milliseconds verifying{};  // time of a verification
  std::size_t* samples = nullptr;         // if set: counts samples
  // Number, counted from 1, of the sample whose result is off by one, which verification allows.
  std::size_t slightly_wrong = 0;
  std::size_t* written = nullptr;  // if set: counts results that were written to a file
  // If set: receives the number of devices of each sample.
  std::vector<std::size_t>* sharing = nullptr;
  std::vector<Slice>* given = nullptr;  // if set: receives the enqueued slices, on a virtual clock
};

class SumWorkload : public Workload, public SizedByDevices, public DeviceMerge, public Tunable {
 public:
  WorkloadInterfaces interfaces() override {
    return {.device_merge = this, .tunable = this, .sized_by_devices = this};
  }
  explicit SumWorkload(Items items, SumFaults faults = {}, bool superlinear = false)
      : values_(items), faults_(faults) {
    std::iota(values_.begin(), values_.end(), std::uint64_t{3});
    shape_.superlinear = superlinear;
    shape_.items = items;
    shape_.cost = {8, 0, 1, 0};
    shape_.ops = static_cast<double>(items);
    shape_.rate_unit = "items/s";
    shape_.bytes_in = items * 8;
    shape_.bytes_out = 8;
  }

  const Shape& shape() const override { return shape_; }
  Demand demand(const DeviceTraits&) const override {
    return {0, 0, static_cast<double>(shape_.items), 0};
  }

  Capacity capacity(const DeviceTraits& device, Mode mode) const override {
    const Items held = std::min(device.global_memory, device.max_allocation) / 2 / 8;
    if (mode == Mode::resident && held < shape_.items)
      return {0, 0, 0, "the values do not fit the device"};
    const Items fits = std::max<Items>(
        mode == Mode::resident ? shape_.items : std::min(held / 2, shape_.items), 1);
    return {
        fits,
        std::max<Items>(shape_.items / 8, 1) > fits ? fits : std::max<Items>(shape_.items / 8, 1),
        fits * 8,
        {}};
  }

  // Offers kernels by entry name that all compute the result, or claim to.
  void offer(std::vector<std::string> variants) {
    variants_ = std::move(variants), entry_ = variants_.front();
  }
  std::vector<std::string> kernel_variants(const DeviceTraits&) const override { return variants_; }

  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override {
    if (const std::string variant = preferred(device.traits()); !variant.empty()) entry_ = variant;
    return std::make_unique<Program>(*this, device, mode, capacity);
  }

  std::span<const std::byte> transfer_memory() const override {
    return std::as_bytes(std::span(values_));
  }
  void begin_sample() override {
    if (faults_.at_begin) faults_.at_begin();
    sum_ = 0, merged_ = false;
    ++sample_;
    if (faults_.sharing != nullptr) faults_.sharing->push_back(expected_);
    if (faults_.samples != nullptr) ++*faults_.samples;
  }
  ItemCost cost(Mode) const override { return shape_.cost; }
  void set_device_count(std::size_t devices) override { expected_ = devices; }
  bool merge_on_device(const DeviceTraits&, Nanos) const override {
    return faults_.at_merge != nullptr;
  }
  bool merges_on_host() const override { return !faults_.only_devices_merge; }
  void merge() override {
    if (faults_.at_host_merge) faults_.at_host_merge();
    merged_ = true;
    if (sample_ == faults_.slightly_wrong) ++sum_;
  }
  std::string digest() const override { return merged_ ? std::to_string(sum_) : std::string(); }

  std::uint64_t reference() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t value : values_) sum += value * value;
    return sum;
  }

  Verdict verify(VerifyLevel, std::uint64_t) override {
    std::this_thread::sleep_for(faults_.verifying);
    if (merged_ && sum_ - reference() <= (faults_.tolerant || faults_.slightly_wrong > 0 ? 1 : 0))
      return {Verdict::Status::passed, "a loop", {}};
    return {Verdict::Status::failed, "a loop",
            "sum " + digest() + " instead of " + std::to_string(reference())};
  }

  void write_result(const std::filesystem::path& file) const override {
    write_result_file(file, [&](std::ostream& out) { out << sum_ << '\n'; });
    if (faults_.written != nullptr) ++*faults_.written;
  }

 private:
  class Program final : public DeviceProgram, public MergingProgram {
   public:
    ProgramInterfaces interfaces() override { return {.merging = this}; }
    Program(SumWorkload& workload, DeviceResources& device, Mode mode, const Capacity& capacity)
        : workload_(workload),
          id_(device.traits().id),
          mode_(mode),
          variant_(workload.variants_.empty() ? "" : workload.entry_),
          kernel_(device.kernel("sum.cl", workload.entry_, "")) {
      const Items held = mode == Mode::resident ? workload.shape_.items : capacity.fits;
      for (auto& buffer : in_) {
        buffer = device.allocate(std::max<Bytes>(held * 8, 8));
        if (mode == Mode::resident) break;
      }
      out_ = device.allocate(kMostSlices * 8);
    }

    std::string kernel_variant() const override { return variant_; }
    void load(Stream& stream) override { stream.upload(*in_[0], 0, workload_.transfer_memory()); }
    void prepare(Stream&) override {
      enqueued_ = collected_ = 0;
      arriving_.clear();
    }
    ResultPolicy result_policy() const override {
      return workload_.faults_.each_slice ? ResultPolicy::slice : ResultPolicy::collect;
    }

    void enqueue(const Slice& slice, unsigned slot, Stream& stream) override {
      if (slice.size() > workload_.faults_.too_many)
        throw Error(ErrorKind::out_of_memory, "too many at once");
      if (workload_.faults_.given != nullptr) workload_.faults_.given->push_back(slice);
      Buffer* in = in_[0].get();
      Items first = slice.begin;
      if (mode_ == Mode::end_to_end) {
        in = in_[slot].get();
        first = 0;
        stream.upload(*in, 0,
                      workload_.transfer_memory().subspan(slice.begin * 8, slice.size() * 8));
      }
      stream.launch(*kernel_, {},
                    {in, std::uint64_t{first}, std::uint64_t{slice.size()}, out_.get(), enqueued_});
      if (workload_.faults_.each_slice) {
        arriving_.push_back(0);
        stream.download(*out_, enqueued_ * 8,
                        std::as_writable_bytes(std::span(&arriving_.back(), 1)));
      }
      if (++enqueued_ > kMostSlices)
        throw Error(ErrorKind::internal, "more slices than the test allows for");
    }

    void finished(const Slice&) override {
      if (!workload_.faults_.each_slice) return;
      const std::lock_guard lock(workload_.mutex_);
      workload_.sum_ += arriving_.front();
      arriving_.pop_front();
    }

    Completion collect(Stream& stream) override {
      sums_.assign(enqueued_ - collected_, 0);
      stream.download(*out_, collected_ * 8, std::as_writable_bytes(std::span(sums_)));
      return [this] {
        const std::lock_guard lock(workload_.mutex_);
        for (const std::uint64_t sum : sums_) workload_.sum_ += sum;
        if (workload_.faults_.corrupts == id_) ++workload_.sum_;
        collected_ = enqueued_;
      };
    }

    Completion merge(Stream&) override {
      workload_.faults_.at_merge();
      return [this] { workload_.merge(); };
    }

   private:
    static constexpr std::uint32_t kMostSlices = 1 << 14;
    SumWorkload& workload_;
    const std::string id_;
    Mode mode_;
    std::string variant_;
    std::unique_ptr<Kernel> kernel_;
    std::array<std::unique_ptr<Buffer>, 2> in_;
    std::unique_ptr<Buffer> out_;
    std::uint32_t enqueued_ = 0, collected_ = 0;
    std::vector<std::uint64_t> sums_;
    std::deque<std::uint64_t> arriving_;
  };

  Shape shape_;
  std::vector<std::string> variants_;
  std::string entry_ = "sum_slice";
  std::vector<std::uint64_t> values_;
  SumFaults faults_;
  std::mutex mutex_;
  std::uint64_t sum_ = 0;
  std::size_t sample_ = 0, expected_ = 0;
  bool merged_ = false;
};

// Returns a fake device with room for everything a test does.
inline FakeDevice fake_device(const std::string& id, double ops_per_s = 1e9) {
  FakeDevice device;
  device.facts.id = id;
  device.facts.name = "fake " + id;
  device.facts.score = 50;
  device.facts.compute_units = 1;
  device.facts.global_memory = device.facts.max_allocation = Bytes{1} << 32;
  device.ops_per_s = ops_per_s;
  return device;
}

}  // namespace mgpu::test
