// A workload that knows the state of a session: the sum of squares of 64-bit values on fake
// devices, with every kind of command (loading, uploads, kernels, downloads, merging on a device,
// publishing), and a script that asks it for that state.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/fake_backend.hpp"
#include "tests/support/squares_sum.hpp"

namespace mgpu::test {

enum class Place { set_up, load, slice, collect, merge, publish };

// State of a device. Sessions on a virtual clock have one thread.
struct Whereabouts {
  Place place = Place::set_up;
  std::size_t sample = 0;   // the latest that the executor has begun; 0: none yet
  std::size_t sharing = 0;  // number of devices that share it
  std::size_t slice = 0;    // number of this device's slice in this sample
};

struct Watched {
  std::map<std::string, Whereabouts> devices;  // key: id
  std::size_t samples = 0, sharing = 0;
  std::vector<bool> merged;  // whether each sample, counted from 1, was merged; probes are not
};

inline FakeKernels watched_kernels() {
  const auto sum = [](bool squares) {
    return [squares](const Grid&, std::span<const FakeArg> args) {
      const auto in = std::get<std::span<std::byte>>(args[0]),
                 out = std::get<std::span<std::byte>>(args[3]);
      const auto first = std::get<std::uint64_t>(args[1]), count = std::get<std::uint64_t>(args[2]);
      std::uint64_t total = 0, value = 0;
      std::memcpy(&total, out.data(), sizeof total);
      for (std::uint64_t i = first; i < first + count; ++i) {
        std::memcpy(&value, in.data() + i * sizeof value, sizeof value);
        total += squares ? value * value : value;
      }
      std::memcpy(out.data(), &total, sizeof total);
    };
  };
  const auto ops = [](const Grid&, std::span<const FakeArg> args) {
    return static_cast<double>(std::get<std::uint64_t>(args[2]));
  };
  FakeKernelCode clear;
  clear.run = [](const Grid&, std::span<const FakeArg> args) {
    const auto out = std::get<std::span<std::byte>>(args[0]);
    std::fill(out.begin(), out.end(), std::byte{});
  };
  clear.ops = [](const Grid&, std::span<const FakeArg>) { return 1.0; };
  return {{"squares", {sum(true), ops}}, {"add", {sum(false), ops}}, {"clear", clear}};
}

class WatchedSum final : public SquaresSum, public SizedByDevices, public DeviceMerge {
 public:
  WorkloadInterfaces interfaces() override {
    return {.device_merge = this, .sized_by_devices = this};
  }
  WatchedSum(Items items, Watched& watched) : SquaresSum(items, {8, 0, 1, 0}), watched_(watched) {}

  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity&) override {
    return std::make_unique<Program>(*this, device, mode);
  }
  ItemCost cost(Mode) const override { return shape_.cost; }
  void set_device_count(std::size_t devices) override { watched_.sharing = devices; }
  void begin_sample() override {
    ++watched_.samples;
    watched_.merged.resize(watched_.samples + 1);
    partials_.clear();
    total_.reset();
  }
  bool merge_on_device(const DeviceTraits&, Nanos) const override {
    watched_.merged[watched_.samples] = true;
    return true;
  }
  void merge() override {
    watched_.merged[watched_.samples] = true;
    total_ = std::accumulate(partials_.begin(), partials_.end(), std::uint64_t{0});
  }
  std::string digest() const override { return total_ ? std::to_string(*total_) : "none"; }

 private:
  class Program final : public DeviceProgram, public MergingProgram {
   public:
    ProgramInterfaces interfaces() override { return {.merging = this}; }
    Program(WatchedSum& workload, DeviceResources& device, Mode mode)
        : workload_(workload), id_(device.traits().id), resident_(mode == Mode::resident) {
      at(Place::set_up);
      squares_ = device.kernel("", "squares", "");
      add_ = device.kernel("", "add", "");
      clear_ = device.kernel("", "clear", "");
      for (auto& buffer : in_) buffer = device.allocate(workload.values_.size() * 8);
      parts_ = device.allocate(1 << 16);
      out_ = device.allocate(8);
    }
    void load(Stream& stream) override {
      at(Place::load);
      stream.upload(*in_[0], 0, workload_.transfer_memory());
    }
    void prepare(Stream& stream) override {
      slices_ = 0;
      at(Place::slice);
      stream.launch(*clear_, {}, {out_.get()});
    }
    void enqueue(const Slice& slice, unsigned slot, Stream& stream) override {
      at(Place::slice);
      ++slices_;
      if (!resident_)
        stream.upload(*in_[slot], 0,
                      workload_.transfer_memory().subspan(slice.begin * 8, slice.size() * 8));
      Buffer* from = in_[resident_ ? 0 : slot].get();
      stream.launch(*squares_, {},
                    {from, resident_ ? slice.begin : std::uint64_t{0}, std::uint64_t{slice.size()},
                     out_.get()});
    }
    Completion collect(Stream& stream) override {
      at(Place::collect);
      stream.download(*out_, 0, std::as_writable_bytes(std::span(&part_, 1)));
      stream.launch(*clear_, {}, {out_.get()});
      return [this] { workload_.partials_.push_back(part_); };
    }
    Completion publish(Stream& stream) override {
      at(Place::publish);
      stream.download(*out_, 0, std::as_writable_bytes(std::span(&part_, 1)));
      return {};
    }
    Completion merge(Stream& stream) override {
      at(Place::merge);
      const auto parts = std::as_bytes(std::span(workload_.partials_));
      stream.upload(*parts_, 0, parts);
      stream.launch(*clear_, {}, {out_.get()});
      stream.launch(
          *add_, {},
          {parts_.get(), std::uint64_t{0}, std::uint64_t{workload_.partials_.size()}, out_.get()});
      stream.download(*out_, 0, std::as_writable_bytes(std::span(&part_, 1)));
      return [this] { workload_.total_ = part_; };
    }

   private:
    void at(Place place) {
      workload_.watched_.devices[id_] = {place, workload_.watched_.samples,
                                         workload_.watched_.sharing, slices_};
    }

    WatchedSum& workload_;
    const std::string id_;
    bool resident_;
    std::unique_ptr<Kernel> squares_, add_, clear_;
    std::array<std::unique_ptr<Buffer>, 2> in_;
    std::unique_ptr<Buffer> parts_, out_;
    std::uint64_t part_ = 0;
    std::size_t slices_ = 0;
  };

  Watched& watched_;
  std::vector<std::uint64_t> partials_;
  std::optional<std::uint64_t> total_;
};

}  // namespace mgpu::test
