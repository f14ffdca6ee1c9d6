// Buffers and kernels of an OpenCL device behind the handles that programs use.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "lib/base/name.hpp"
#include "lib/exec/driver_call.hpp"
#include "lib/exec/freed_memory.hpp"
#include "lib/exec/leak.hpp"
#include "lib/opencl/cl_common.hpp"
#include "lib/opencl/cl_memory.hpp"
#include "lib/workload/stream.hpp"

namespace mgpu {

// State that a device shares with its buffers, which may outlive it.
struct ClDeviceState {
  FreedMemory<cl::Buffer> memory;
  // True for a device that was abandoned and may still be running: none of its objects is released.
  std::atomic<bool> may_be_in_flight = false;
};

// Origin of the memory of a buffer: allocated by the device, and perhaps kept when it is freed;
// made elsewhere, but on the device; or of another device, which is not counted.
enum class ClMemoryOrigin { device, elsewhere, other_device };

// Buffer that counts in what its device and its pool have allocated for as long as it lives, except
// for memory of another device.
class ClBuffer final : public Buffer {
 public:
  ClBuffer(cl::Buffer memory, Bytes size, std::shared_ptr<ClDeviceState> device,
           std::shared_ptr<ClMemoryPool> pool, ClMemoryOrigin origin,
           const std::array<std::size_t, 3>& pixels = {})
      : memory_(std::move(memory)),
        size_(size),
        counted_(origin == ClMemoryOrigin::other_device ? 0 : size),
        may_be_kept_(origin == ClMemoryOrigin::device),
        device_(std::move(device)),
        pool_(std::move(pool)),
        pixels_(pixels) {
    device_->memory.add(counted_);
    pool_->allocated += counted_;
  }
  ~ClBuffer() override {
    if (device_->may_be_in_flight) {
      leak(std::move(memory_));
      leak(std::move(in_place_));
      return;
    }
    device_->memory.remove(counted_);
    const DriverCall inside;
    in_place_.reset();
    std::optional<cl::Buffer> freed(std::move(memory_));  // an assignment could throw
    if (may_be_kept_) freed = device_->memory.put(std::move(*freed), size_);
    if (!freed) return;  // the device keeps it, and it stays allocated
    pool_->allocated -= counted_;
    freed.reset();
  }
  Bytes size() const override { return size_; }
  const cl::Buffer& memory() const { return in_place_ ? *in_place_ : memory_; }

  // For memory of DeviceResources::allocate_input: what an upload has to use instead of the
  // buffer's own memory, for as long as it is there; none: the own memory.
  void become_input() { is_input_ = true; }
  bool is_input() const { return is_input_; }
  bool is_in_place() const { return in_place_.has_value(); }
  void read_in_place(std::optional<cl::Buffer> memory) {
    in_place_.swap(memory);
    number_ = next_number();
  }
  // Differs from that of all other memory that any buffer has or had.
  std::uint64_t number() const { return number_; }
  // Returns the size of an image in pixels; all 0: it is none.
  const std::array<std::size_t, 3>& pixels() const { return pixels_; }

 private:
  static std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
  }

  cl::Buffer memory_;
  std::uint64_t number_ = next_number();
  std::optional<cl::Buffer> in_place_;
  bool is_input_ = false;
  Bytes size_, counted_;
  bool may_be_kept_;
  std::shared_ptr<ClDeviceState> device_;
  std::shared_ptr<ClMemoryPool> pool_;
  std::array<std::size_t, 3> pixels_;
};

class ClKernel final : public Kernel {
 public:
  ClKernel(cl::Kernel object, const std::string& name, const GroupLimits& limits,
           bool demands_group)
      : Kernel(limits), object_(std::move(object)), name_(name), demands_group_(demands_group) {}
  ~ClKernel() override {
    const DriverCall inside;
    const cl::Kernel released = std::move(object_);  // an assignment could throw
  }
  cl::Kernel& object() { return object_; }
  Name name() const { return name_; }
  // Sets an argument; skips a number or memory that is the last launch's, as setting one takes an
  // H200's driver 0.3 us.
  void set_arg(cl_uint index, const KernelArg& arg);
  std::optional<std::vector<KernelParameter>> parameters() const override;
  // Returns `grid` with the work-group size that a CPU uses if the grid leaves it open. PoCL would
  // choose another size for nearly every size of a slice, and compile the kernel for each. The size
  // is the largest power of two up to 256 that leaves four groups per core; below 16 the grid is
  // returned unchanged, unless the kernel's largest group is below 16: then PoCL (3.1) would end
  // the process in an assertion. Of small grids only the first four are: an elimination, whose
  // grids shrink, took half a minute to compile.
  Grid with_group_of_cpu(Grid grid, unsigned cores);

  // Returns whether the kernel was never launched with such a grid before: drivers may compile it
  // then. PoCL does so for every work-group size, and once more for grids wider than 65535
  // (grid_width_specialization_limit); rusticl and clvk do so on every device.
  bool first_with(const Grid& grid) {
    const bool wide = *std::max_element(grid.global.begin(), grid.global.end()) > 65535;
    const Specialised wanted{grid.local, wide};
    if (std::find(launched_.begin(), launched_.end(), wanted) != launched_.end()) return false;
    launched_.push_back(wanted);
    return true;
  }

 private:
  struct Specialised {
    std::array<std::size_t, 3> local;
    bool wide;
    bool operator==(const Specialised&) const = default;
  };
  struct Number {
    static constexpr std::size_t kMemory = ~std::size_t{0};
    std::size_t size = 0;  // 0: not a number; kMemory: ClBuffer::number()
    std::array<std::byte, 8> bytes{};
    bool operator==(const Number&) const = default;
  };
  cl::Kernel object_;
  std::vector<Number> numbers_;  // per argument: the number that was set last
  Name name_;
  bool demands_group_;  // it was compiled for one work-group size, which the driver applies
  std::vector<Specialised> launched_;
  std::vector<std::array<std::size_t, 3>> open_;  // small grids whose groups the driver chooses
};

inline const cl::Buffer& memory_of(Buffer& buffer) {
  return static_cast<ClBuffer&>(buffer).memory();
}

inline Grid ClKernel::with_group_of_cpu(Grid grid, unsigned cores) {
  constexpr std::size_t least = 16, most = 256, groups = 4, small = 1024, most_open = 4;
  if (demands_group_ || grid.local != std::array<std::size_t, 3>{}) return grid;
  const std::size_t all = grid.global[0] * grid.global[1] * grid.global[2];
  std::size_t group = 1;
  while (2 * group <= most && group_limits().allow({2 * group, 1, 1}) &&
         grid.global[0] % (2 * group) == 0 && all / (2 * group) >= groups * cores)
    group *= 2;
  if (group < least && group_limits().allow({least, 1, 1})) {
    const auto is_open = [&] {
      return std::find(open_.begin(), open_.end(), grid.global) != open_.end();
    };
    if (all <= small * cores && open_.size() < most_open && !is_open())
      open_.push_back(grid.global);
    if (all > small * cores || is_open()) return grid;
  }
  grid.local = {group, 1, 1};
  return grid;
}

inline void ClKernel::set_arg(cl_uint index, const KernelArg& arg) {
  if (index >= numbers_.size()) numbers_.resize(index + 1);
  Number& known = numbers_[index];
  if (const auto* buffer = std::get_if<Buffer*>(&arg)) {
    const auto& memory = static_cast<ClBuffer&>(**buffer);
    Number number{Number::kMemory, {}};
    const std::uint64_t which = memory.number();
    std::memcpy(number.bytes.data(), &which, sizeof which);
    if (number == known) return;
    object_.setArg(index, memory.memory());
    known = number;
    return;
  }
  if (const auto* local = std::get_if<LocalBytes>(&arg)) {
    object_.setArg(index, local->size, nullptr);
  } else if (const auto* raw = std::get_if<ValueBytes>(&arg)) {
    object_.setArg(index, raw->bytes.size(), raw->bytes.data());
  } else {
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
            Number number{sizeof value, {}};
            std::memcpy(number.bytes.data(), &value, sizeof value);
            if (number == known) return;
            object_.setArg(index, sizeof value, &value);
            known = number;
          }
        },
        arg);
    return;
  }
  known = {};
}

}  // namespace mgpu
