// Abstract device for suites: buffers, kernels and a stream of commands. lib/opencl implements it,
// and tests have a fake one; suites see neither.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/units.hpp"

namespace mgpu {

class Peer;

// Memory on one device; freed by its destructor.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual Bytes size() const = 0;
};

// A read-only image for kernels: rows of `width` pixels of 1, 2 or 4 numbers. Kernels read the
// normalised ones as numbers from 0 or -1 to 1.
struct ImageShape {
  enum class Number { i8, i16, i32, u8, u16, u32, f16, f32, i8_norm, i16_norm, u8_norm, u16_norm };
  Number number = Number::f32;
  unsigned channels = 4;
  std::size_t width = 0, height = 0;
  Bytes pixel = 0;  // size of one
  Bytes bytes() const { return width * height * pixel; }
};

// One parameter of a kernel, as its compiler reports it. `type` is as in the source, "float*" for a
// pointer; `name` may be empty.
struct KernelParameter {
  enum class Space { value, global, constant, local };
  std::string name, type;
  Space space = Space::value;
  bool is_const = false;
};

// Largest work-groups that a device runs a kernel with, in work-items: in all, and by dimension.
struct GroupLimits {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::size_t all = kNone;
  std::array<std::size_t, 3> each{kNone, kNone, kNone};

  constexpr bool allow(const std::array<std::size_t, 3>& local) const {
    return local[0] <= each[0] && local[1] <= each[1] && local[2] <= each[2] &&
           local[0] * local[1] * local[2] <= all;
  }
};

// One kernel object of one device; used only by that device's worker thread.
class Kernel {
 public:
  explicit Kernel(const GroupLimits& limits = {}) : group_limits_(limits) {}
  virtual ~Kernel() = default;
  // Returns the limits that the device named when the kernel was made. Kernels compiled for one
  // work-group size that the device cannot run are not made: DeviceResources::kernel() throws.
  const GroupLimits& group_limits() const { return group_limits_; }
  // Returns nothing if the parameters are not known; they have no names and types if only their
  // number is known.
  virtual std::optional<std::vector<KernelParameter>> parameters() const { return std::nullopt; }

 private:
  GroupLimits group_limits_;
};

// Source of a program that is not in kernels/.
struct KernelSource {
  // File name for messages; `text` says by #line which lines come from which file.
  std::string name;
  std::string text;
};

struct LocalBytes {  // a __local argument of this size
  Bytes size = 0;
};
// An argument by value of any type, as its bytes, which must be valid until the launch.
struct ValueBytes {
  std::span<const std::byte> bytes;
};
// Argument of a kernel, by position. 64-bit counts are ulong in the kernel; size_t cannot be a
// kernel argument.
using KernelArg = std::variant<Buffer*, LocalBytes, std::uint32_t, std::int32_t, std::uint64_t,
                               float, double, ValueBytes>;

// Numbers of work-items, total and per work-group, by dimension; global must be a multiple of
// local.
struct Grid {
  std::array<std::size_t, 3> global{1, 1, 1};
  std::array<std::size_t, 3> local{1, 1, 1};   // all 0: the device chooses
  std::array<std::size_t, 3> offset{0, 0, 0};  // first value of get_global_id
};

// Returns a grid of one work-item for each of `items`, in work-groups of `local`.
constexpr Grid grid_of(std::size_t items, std::size_t local) {
  return {{round_up(items, local), 1, 1}, {local, 1, 1}};
}

// Returns the work-items of a work-group for a kernel that runs with any: `wanted`, or else the
// first of its half, quarter and so on that the device runs all of `kernels` with.
template <class... Kernels>
std::size_t group_of(std::size_t wanted, const Kernels&... kernels) {
  while (wanted > 1 && !(kernels.group_limits().allow({wanted, 1, 1}) && ...)) wanted /= 2;
  return wanted;
}

// Does the same for a work-group of several dimensions, and halves the last ones first.
inline std::array<std::size_t, 3> group_of(std::array<std::size_t, 3> wanted,
                                           const Kernel& kernel) {
  for (std::size_t i = 3; i > 0 && !kernel.group_limits().allow(wanted);)
    wanted[i - 1] > 1 ? wanted[i - 1] /= 2 : --i;
  return wanted;
}

// Returns grid_of(items, group_of(wanted, kernel)).
inline Grid grid_of(const Kernel& kernel, std::size_t items, std::size_t wanted) {
  return grid_of(items, group_of(wanted, kernel));
}

// Converts to an argument of a kernel.
constexpr std::uint32_t u32(std::uint64_t n) {
  return static_cast<std::uint32_t>(n);
}  // an argument of a kernel

// `count` pieces of `length` bytes, with `..._stride` bytes from the start of one to the next.
struct Rows {
  Bytes length = 0, count = 0;
  Bytes device_offset = 0, device_stride = 0, host_stride = 0;
};

// Three in-order queues of one device: upload, compute, download. A launch starts after the uploads
// enqueued before it. Within a slice (or a collect) a download starts after the launches before it.
// Nothing else is ordered between the queues. Nothing blocks; host memory given to upload or
// download must stay valid and untouched until the slice is finished. Failures throw Error(device),
// Error(out_of_memory), and Error(unsupported) for a launch that the kernel does not suit.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void upload(Buffer& to, Bytes offset, std::span<const std::byte> from) = 0;
  virtual void launch(Kernel& kernel, const Grid& grid, std::span<const KernelArg> args) = 0;
  void launch(Kernel& kernel, const Grid& grid, std::initializer_list<KernelArg> args) {
    launch(kernel, grid, std::span<const KernelArg>(args.begin(), args.size()));
  }
  virtual void download(Buffer& from, Bytes offset, std::span<std::byte> to) = 0;
  // Announces that the next `count` commands are launches that the timeline shows as one command,
  // from the begin of the first to the end of the last; a device may still time each. A time
  // stamp costs the host of an H200 7 us, and the device 2 us.
  virtual void begin_series(unsigned /*count*/) {}
  // Announces that the next `count` commands are launches that do not depend on each other. The
  // device may execute them side by side; commands before and after keep their order with all of
  // them. The timeline then shows one command, whose label names all of them.
  virtual void begin_side_by_side(unsigned /*count*/) {}

  // Copies a rectangle of a larger matrix on either side, row by row unless the device can do
  // better.
  virtual void upload_rows(Buffer& to, const std::byte* from, const Rows& rows) {
    for (Bytes i = 0; i < rows.count; ++i)
      upload(to, rows.device_offset + i * rows.device_stride,
             {from + i * rows.host_stride, rows.length});
  }
  virtual void download_rows(Buffer& from, std::byte* to, const Rows& rows) {
    for (Bytes i = 0; i < rows.count; ++i)
      download(from, rows.device_offset + i * rows.device_stride,
               {to + i * rows.host_stride, rows.length});
  }
};

// Properties of a device that a suite may use when it makes a program for it.
struct DeviceTraits {
  std::string id;       // distinguishes it from devices of the same kind
  bool cpu = false;     // kernels for CPUs want explicit vectors and one work-item per work-group
  bool nvidia = false;  // vendor fast paths behind #if can be used
  bool host_unified = false;
  unsigned compute_units = 1;
  unsigned float_width = 1;  // native vector width in 32-bit lanes
  std::size_t max_work_group = 1;
  Bytes global_memory = 0, max_allocation = 0, local_memory = 0;
  bool fp64 = false;
  // False: fp32 operands and results below the smallest normal number may be flushed to zero.
  bool fp32_denormals = true;
  // Offsets of parts of a buffer are multiples of it (DeviceResources::part); 0: it has no parts.
  Bytes buffer_alignment = 0;
  // It is stalled between kernels on purpose, so a long phase must consist of several kernels.
  bool held = false;
  // Memory for the buffers of a problem.
  Bytes usable_memory() const { return global_memory / 10 * 9; }
  // The host's cores that are near it: its thread runs on them. Empty: any.
  std::vector<std::uint32_t> near_cpus;
  bool fp64_tensor = false;  // multiplies small fp64 matrices at the rate of fp32 multiply-adds
};

// Resources of one device, used at set-up and never inside a sample. Allocations count against the
// device's memory: Error(out_of_memory) when it is full.
class DeviceResources {
 public:
  virtual ~DeviceResources() = default;
  virtual const DeviceTraits& traits() const = 0;
  virtual std::unique_ptr<Buffer> allocate(Bytes size) = 0;
  // Returns a buffer that kernels only read, and of that only what the last upload brought, which
  // starts at its begin. A device that shares the host's memory takes what Backend::pin() was given
  // in place: such an upload copies nothing.
  virtual std::unique_ptr<Buffer> allocate_input(Bytes size) { return allocate(size); }
  // Returns the device's end of the group that it exchanges data in; null: it is in none.
  virtual Peer* peer() { return nullptr; }
  // Returns the kernel `entry` of `file`, a name in kernels/; `options` are -D definitions, and
  // hints to one vendor's compiler ("-cl-nv-..."), which others may refuse and then do not get.
  // Built programs are cached on disk by device, driver, text and options. Throws
  // Error(unsupported) if the compiler refuses the text, or if the device cannot run the kernel
  // with the work-group size or the local memory that it was compiled for.
  virtual std::unique_ptr<Kernel> kernel(std::string_view file, std::string_view entry,
                                         const std::string& options) = 0;
  // Returns a kernel of a text that is not in kernels/. It is not cached, as the text may include
  // files. A text that does not build is Error(unsupported) with the compiler's message.
  virtual std::unique_ptr<Kernel> foreign_kernel(const KernelSource& source, std::string_view entry,
                                                 const std::string& options);
  // Returns `size` bytes of a buffer of this device, from `offset` on, as a buffer of its own,
  // which must not outlive the whole. If parts overlap, the one made last must be freed first
  // (suites/kernel/parts.hpp says why).
  virtual std::unique_ptr<Buffer> part(Buffer& whole, Bytes offset, Bytes size);
  // Returns an image, which only uploads of the whole may write. Throws Error(unsupported) if the
  // device has none of this format and size.
  virtual std::unique_ptr<Buffer> image(const ImageShape& shape);
  // Enqueues `commands` on the device, waits for them and returns how long its kernels took: to
  // check that kernels work, and to find the fastest of several. Returns nothing if commands
  // cannot be run at set-up. Throws Error(device), Error(timeout).
  virtual std::optional<Nanos> try_out(const std::function<void(Stream&)>& commands) {
    (void)commands;
    return std::nullopt;
  }
};

inline std::unique_ptr<Kernel> DeviceResources::foreign_kernel(const KernelSource& source,
                                                               std::string_view,
                                                               const std::string&) {
  throw Error(ErrorKind::unsupported, "this device builds no kernels but its own: " + source.name);
}

inline std::unique_ptr<Buffer> DeviceResources::image(const ImageShape&) {
  throw Error(ErrorKind::unsupported, "this device has no images");
}

inline std::unique_ptr<Buffer> DeviceResources::part(Buffer&, Bytes, Bytes) {
  throw Error(ErrorKind::unsupported, "this device has no parts of buffers");
}

}  // namespace mgpu
