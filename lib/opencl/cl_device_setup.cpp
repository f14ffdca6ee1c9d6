// Opening a device, what is made on it at set-up, and closing it. Calls that may block in the
// driver run on a thread that can be left behind.
#include <algorithm>
#include <deque>
#include <thread>
#include <tuple>
#include <utility>

#include "lib/base/numa.hpp"
#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/opencl/cl_describe.hpp"
#include "lib/opencl/cl_device.hpp"
#include "lib/opencl/cl_kernel_limits.hpp"
#include "lib/opencl/cl_objects.hpp"
#include "lib/opencl/cl_peers.hpp"
#include "lib/opencl/cl_wait.hpp"

namespace mgpu {
namespace {

constexpr Nanos kClosing = std::chrono::seconds(10);

// Stream of a trial. Its transfers go through memory of its own, so that the caller need not keep
// the original when the device hangs.
class TrialStream final : public Stream {
 public:
  explicit TrialStream(Stream& stream) : stream_(stream) {}
  void upload(Buffer& to, Bytes offset, std::span<const std::byte> from) override {
    stream_.upload(to, offset, memory_->emplace_back(from.begin(), from.end()));
  }
  void launch(Kernel& kernel, const Grid& grid, std::span<const KernelArg> args) override {
    stream_.launch(kernel, grid, args);
  }
  void download(Buffer& from, Bytes offset, std::span<std::byte> to) override {
    std::vector<std::byte>& arrives = memory_->emplace_back(to.size());
    stream_.download(from, offset, arrives);
    downloads_.push_back({&arrives, to});
  }
  void deliver() const {
    for (const auto& [arrived, wanted] : downloads_)
      std::copy(arrived->begin(), arrived->end(), wanted.begin());
  }
  void leak_memory() { leak(std::move(memory_)); }

 private:
  using Memory = std::deque<std::vector<std::byte>>;  // its elements never move
  Stream& stream_;
  std::unique_ptr<Memory> memory_ = std::make_unique<Memory>();
  std::vector<std::pair<const std::vector<std::byte>*, std::span<std::byte>>> downloads_;
};

}  // namespace

// Members are released from the last to the first.
struct ClDevice::Handles {
  bool pocl = false;
  cl::Context context;
  std::array<cl::CommandQueue, 3> queues;
  std::vector<cl::CommandQueue> side_queues;
  std::vector<ClBuiltProgram> programs;
  cl::Buffer probe_buffer;
  std::vector<cl::Buffer> kept;
  std::vector<cl::Event> events;
  std::array<cl::Event, 3> latest;
  std::deque<Batch> batches;
  ClSlowDown slow_down;
  ClStaging staging;

  // PoCL's own thread may still use an event when the host sees it complete. Closing a device at
  // once, on a busy machine, made PoCL 3.1 crash in POclReleaseEvent in 20 of 70 runs; after 50 ms
  // in none of 40.
  ~Handles() {
    if (pocl) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
};

ClDevice::ClDevice(Backend& backend, const Device& facts, const Handicap& handicap,
                   cl::Device device, std::span<const EmbeddedText> kernels,
                   const ClProgramCache& cache, std::shared_ptr<ClMemoryPool> pool,
                   std::shared_ptr<const PinnedRanges> pinned)
    : OpenDevice(handicap),
      backend_(backend),
      facts_(limited(facts, handicap)),
      traits_(traits_of(facts_)),
      device_(std::move(device)),
      kernels_(kernels),
      cache_(cache),
      pool_(std::move(pool)) {
  try {
    traits_.held = handicap.stalls();
    if (facts_.numa_node) traits_.near_cpus = cpus_of_node(*facts_.numa_node);
    state_->memory.keep(handicap.keeps_freed);
    open(handicap, std::move(pinned));
  } catch (const cl::Error& error) {
    close();
    throw cl_failure("cannot open " + facts_.id + " " + facts_.name, error.err());
  } catch (...) {
    close();
    throw;
  }
}

ClDevice::~ClDevice() { close(); }

void ClDevice::open(const Handicap& handicap, std::shared_ptr<const PinnedRanges> pinned) {
  const DriverCall inside(this, true);
  batches_.emplace_back();
  const WaitLimits& limits = backend_.limits();
  std::tie(context_, queues_) =
      driver_result("opening " + name(), limits.build, limits.stop, [device = device_] {
        std::pair<cl::Context, std::array<cl::CommandQueue, 3>> made;
        made.first = cl::Context(device);
        for (auto& queue : made.second)
          queue = cl::CommandQueue(made.first, device, CL_QUEUE_PROFILING_ENABLE);
        return made;
      });
  probe_buffer_ = cl::Buffer(context_, CL_MEM_READ_WRITE, sizeof(cl_uint));
  const auto wait = [&](const cl::Event& event) { wait_aside(event, limits.build); };
  // A CPU is not spun: other work may need its cores meanwhile, and a stall of PoCL is only
  // microseconds late.
  if (!facts_.is_cpu() && handicap.slows_always())
    slow_down_.may_spin(context_, queues_[1], program(ClSpin::kFile, {}), wait);
  const PreferredNode near(facts_.numa_node);  // staging memory is allocated here
  if (facts_.is_cpu()) return;
  if (facts_.host_unified_memory)
    host_views_ = std::make_shared<ClHostViews>();
  else
    staging_ = ClStaging(context_, queues_[0], std::move(pinned), wait);
}

void ClDevice::close() noexcept {
  const bool idle = context_() == nullptr || try_drain(backend_, *this);
  try {
    auto handles = std::make_shared<Handles>();
    handles->context = std::exchange(context_, {});
    handles->queues = std::exchange(queues_, {});
    handles->side_queues = std::exchange(side_queues_, {});
    handles->programs = std::exchange(programs_, {});
    handles->probe_buffer = std::exchange(probe_buffer_, {});
    state_->memory.keep(false);
    handles->kept = evict_to(0);
    handles->events = std::exchange(aside_, {});
    handles->events.insert(handles->events.end(), fork_.begin(), fork_.end());
    fork_.clear();
    handles->latest = std::exchange(latest_, {});
    handles->batches = std::exchange(batches_, {});
    handles->slow_down = std::exchange(slow_down_, {});
    handles->staging = std::exchange(staging_, {});
    wait_list_.clear();
    if (!idle) return leak_shared(std::move(handles));
    handles->pocl = is_pocl(facts_);
    driver_call("closing " + name(), kClosing, {},
                [held = std::move(handles)]() mutable { held.reset(); });
  } catch (...) {  // left behind
  }
}

void ClDevice::abandon() {
  state_->may_be_in_flight = true;
  const DriverCall inside(this);
  stalls_.release_all();
  if (peer_ != nullptr) peer_->release_all();
}

bool ClDevice::drained() {
  // After an error NVIDIA ends all enqueued commands with an error of their own, which says nothing
  // about transfers under way.
  const auto over = [&](const cl::Event& event) {
    if (event() == nullptr) return true;
    const cl_int status = status_of(event);
    return status == CL_COMPLETE || (status < 0 && facts_.is_cpu());
  };
  const DriverCall inside(this);
  try {
    stalls_.release_all();
    if (peer_ != nullptr) peer_->release_all();
    flush();
    const bool all = std::all_of(aside_.begin(), aside_.end(), over) &&
                     std::all_of(batches_.begin(), batches_.end(), [&](const Batch& batch) {
                       return std::all_of(batch.last.begin(), batch.last.end(), over) &&
                              std::all_of(batch.beside.begin(), batch.beside.end(), over);
                     });
    if (all) {
      aside_.clear();
      state_->may_be_in_flight = false;
    }
    return all;
  } catch (const cl::Error&) {
    return false;
  }
}

void ClDevice::wait_aside(const cl::Event& event, Nanos limit, WaitPolicy look) {
  aside_.push_back(event);
  try {
    wait_for_event(backend_, event, name(), limit, look);
  } catch (const cl::Error&) {  // the command has ended
    aside_.pop_back();
    throw;
  } catch (...) {
    abandon();
    throw;
  }
  aside_.pop_back();
}

std::vector<cl::Buffer> ClDevice::evict_to(Bytes most) {
  const Bytes before = state_->memory.kept();
  std::vector<cl::Buffer> evicted = state_->memory.evict_to(most);
  pool_.pool()->allocated -= before - state_->memory.kept();
  return evicted;
}

// Refuses an allocation beyond the total. Drivers that allocate on first use would fail inside a
// sample; a CPU device would swap.
void ClDevice::make_room(Bytes size) {
  const Bytes used = state_->memory.in_use() + size;
  if (used <= facts_.global_memory && size <= facts_.max_allocation) {
    const DriverCall inside(this);
    evict_to(facts_.global_memory - used);  // frees what is returned
    return;
  }
  throw Error(ErrorKind::out_of_memory, "allocating " + std::to_string(size) + " bytes on " +
                                            facts_.id + " " + facts_.name + ": does not fit");
}

std::unique_ptr<Buffer> ClDevice::allocate_input(Bytes size) {
  std::unique_ptr<Buffer> made = allocate(size);
  if (host_views_) static_cast<ClBuffer&>(*made).become_input();
  return made;
}

std::unique_ptr<Buffer> ClDevice::allocate(Bytes size) {
  const Nanos begin = host_now();
  const std::string what =
      "allocating " + std::to_string(size) + " bytes on " + facts_.id + " " + facts_.name;
  if (size == 0) throw Error(ErrorKind::internal, what);
  if (auto kept = state_->memory.take(size)) {
    pool_.pool()->allocated -= size;
    setup_.alloc += host_now() - begin;
    return std::make_unique<ClBuffer>(std::move(*kept), size, state_, pool_.pool(),
                                      ClMemoryOrigin::device);
  }
  make_room(size);
  const DriverCall inside(this);
  try {
    stalls_.release_all();  // what follows would wait for them, and nothing polls meanwhile
    cl::Buffer memory(context_, CL_MEM_READ_WRITE, size);
    // Owns the memory from here on, and leaks it if the device hangs.
    auto buffer =
        std::make_unique<ClBuffer>(memory, size, state_, pool_.pool(), ClMemoryOrigin::device);
    // The first use makes the driver allocate; this way it happens before any sample.
    cl::Event filled;
    queues_[1].enqueueFillBuffer(memory, cl_uchar{0}, 0, std::min<Bytes>(size, 4), nullptr,
                                 &filled);
    queues_[1].flush();
    wait_aside(filled, backend_.limits().answer);
    setup_.alloc += host_now() - begin;
    return buffer;
  } catch (const cl::Error& error) {
    if (!evict_to(0).empty()) return allocate(size);  // other processes took the rest
    throw allocation_failure(what, error.err());
  }
}

std::unique_ptr<Buffer> ClDevice::image(const ImageShape& shape) {
  constexpr cl_channel_type types[] = {CL_SIGNED_INT8,   CL_SIGNED_INT16,   CL_SIGNED_INT32,
                                       CL_UNSIGNED_INT8, CL_UNSIGNED_INT16, CL_UNSIGNED_INT32,
                                       CL_HALF_FLOAT,    CL_FLOAT,          CL_SNORM_INT8,
                                       CL_SNORM_INT16,   CL_UNORM_INT8,     CL_UNORM_INT16};
  const cl_image_format format{static_cast<cl_channel_order>(shape.channels == 1   ? CL_R
                                                             : shape.channels == 2 ? CL_RG
                                                                                   : CL_RGBA),
                               types[static_cast<std::size_t>(shape.number)]};
  cl_image_desc size{};
  size.image_type = CL_MEM_OBJECT_IMAGE2D;
  size.image_width = shape.width;
  size.image_height = shape.height;
  const std::string what = "an image of " + std::to_string(shape.width) + " x " +
                           std::to_string(shape.height) + " pixels on " + facts_.id + " " +
                           facts_.name;
  // An assertion of PoCL 3.1 would end the process when something is written to it.
  if (is_pocl(facts_) && facts_.id.find('.') != std::string::npos)
    throw Error(ErrorKind::unsupported,
                what +
                    ": PoCL has none on sub-devices; POCL_DEVICES=\"pthread pthread\" makes two "
                    "devices");
  make_room(shape.bytes());
  const DriverCall inside(this);
  cl_int status = CL_SUCCESS;
  const cl_mem memory =
      clCreateImage(context_(), CL_MEM_READ_ONLY, &format, &size, nullptr, &status);
  if (status == CL_INVALID_OPERATION || status == CL_INVALID_IMAGE_SIZE ||
      status == CL_IMAGE_FORMAT_NOT_SUPPORTED || status == CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)
    throw Error(ErrorKind::unsupported, what + ": the device has none of this format and size");
  if (status != CL_SUCCESS) throw allocation_failure(what, status);
  return std::make_unique<ClBuffer>(cl::Buffer(memory), shape.bytes(), state_, pool_.pool(),
                                    ClMemoryOrigin::elsewhere,
                                    std::array<std::size_t, 3>{shape.width, shape.height, 1});
}

Peer* ClDevice::peer() { return peer_; }

std::unique_ptr<Buffer> ClDevice::adopt(cl::Buffer memory, Bytes size, bool counted) {
  return std::make_unique<ClBuffer>(
      std::move(memory), size, state_, pool_.pool(),
      counted ? ClMemoryOrigin::elsewhere : ClMemoryOrigin::other_device);
}

void ClDevice::clear(Buffer& buffer) {
  const DriverCall inside(this);
  cl::Event cleared;
  queues_[1].enqueueFillBuffer(memory_of(buffer), cl_uchar{0}, 0, buffer.size(), nullptr, &cleared);
  queues_[1].flush();
  wait_aside(cleared, backend_.limits().answer);
}

std::uint64_t ClDevice::address_of(Buffer& buffer) {
  const std::unique_ptr<Buffer> noted = resources().allocate(sizeof(std::uint64_t));
  const DriverCall inside(this);
  cl::Kernel kernel = make_kernel("peers.cl", "address", "");
  kernel.setArg(0, memory_of(buffer));
  kernel.setArg(1, memory_of(*noted));
  queues_[1].enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1));
  const auto address = std::make_shared<std::uint64_t>(0);
  cl::Event read;
  queues_[1].enqueueReadBuffer(memory_of(*noted), CL_FALSE, 0, sizeof *address, address.get(),
                               nullptr, &read);
  queues_[1].flush();
  try {
    wait_aside(read, backend_.limits().answer);
  } catch (...) {
    leak_shared(address);
    throw;
  }
  return *address;
}

cl::Kernel ClDevice::make_kernel(std::string_view file, const char* entry,
                                 const std::string& options) {
  const DriverCall inside(this);
  return cl::Kernel(program(file, options), entry);
}

// Returns `options` with additions for PoCL. PoCL (3.1 to 5.0 at least) counts the users of a
// loaded kernel by its program and work-group size, but loads it again for a wider grid: two
// devices that run one program at once with different grids take each other's counts, and an
// assertion ends the process (pocl_release_dlhandle_cache). A definition of its own makes the
// program of each device distinct. With warnings PoCL writes their number to standard error ("364
// warnings generated."), which belongs to the user: -w leaves none. Errors are in the log all the
// same.
std::string ClDevice::own_options(const std::string& options) const {
  if (!is_pocl(facts_)) return options;
  std::string own = facts_.id;
  std::replace_if(
      own.begin(), own.end(), [](char c) { return c == ':' || c == '.'; }, '_');
  return options + " -w -DMGPU_DEVICE_" + own;
}

const cl::Program& ClDevice::program(std::string_view file, const std::string& given) {
  const std::string wanted = takes_hints_ ? given : without_hints(given);
  const std::string options = own_options(wanted);
  const std::string key = std::string(file) + ' ' + options;
  for (const auto& built : programs_) {
    if (built.key == key) return built.program;
  }
  const WaitLimits& limits = backend_.limits();
  const auto build = [cache = cache_, context = context_, device = device_,
                      name = std::string(file), text = with_includes(kernels_, file),
                      options] { return cache.build(context, device, name, text, options); };
  try {
    programs_.push_back(
        {key, driver_result("building kernels/" + std::string(file) + " on " + name(), limits.build,
                            limits.stop, build)});
  } catch (const Error& error) {
    const std::string plain = without_hints(wanted);
    if (error.kind() != ErrorKind::unsupported || plain == wanted) throw;
    const cl::Program& built = program(file, plain);
    takes_hints_ = false;
    return built;
  }
  return programs_.back().program;
}

std::unique_ptr<Kernel> ClDevice::kernel(std::string_view file, std::string_view entry,
                                         const std::string& options) {
  const Nanos begin = host_now();
  const std::string name(entry);
  const DriverCall inside(this);
  try {
    cl::Kernel object(program(file, options), name.c_str());
    setup_.build += host_now() - begin;
    return kernel_with_limits(std::move(object), name, "kernels/" + std::string(file), device_,
                              facts_);
  } catch (const cl::Error& error) {
    throw cl_failure("kernel " + name + " of kernels/" + std::string(file) + " on " + facts_.id,
                     error.err());
  }
}

std::optional<Nanos> ClDevice::try_out(const std::function<void(Stream&)>& commands) {
  TrialStream trial(*this);
  try {
    commands(trial);
    const Nanos computing = finish_trial(backend_, *this);
    trial.deliver();
    return computing;
  } catch (...) {
    if (!try_drain(backend_, *this)) trial.leak_memory();
    throw;
  }
}

}  // namespace mgpu
