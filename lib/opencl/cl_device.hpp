// One opened OpenCL device: its context, three in-order profiling queues, its memory and its
// batches of commands.
#pragma once

#include <array>
#include <deque>
#include <span>

#include "lib/base/embedded.hpp"
#include "lib/exec/backend.hpp"
#include "lib/opencl/cl_common.hpp"
#include "lib/opencl/cl_host_views.hpp"
#include "lib/opencl/cl_memory.hpp"
#include "lib/opencl/cl_notifier.hpp"
#include "lib/opencl/cl_objects.hpp"
#include "lib/opencl/cl_program_cache.hpp"
#include "lib/opencl/cl_slow_down.hpp"
#include "lib/opencl/cl_staging.hpp"
#include "lib/opencl/cl_stalls.hpp"

namespace mgpu {

// Program that the device has built already, so that each text is built once.
struct ClBuiltProgram {
  std::string key;  // file and options
  cl::Program program;
};

class ClPeer;

class ClDevice final : public OpenDevice, private DeviceResources, private Stream {
 public:
  // `backend`, `kernels` and `cache` must outlive the device. Throws Error(device), Error(timeout),
  // Error(interrupted).
  ClDevice(Backend& backend, const Device& facts, const Handicap& handicap, cl::Device device,
           std::span<const EmbeddedText> kernels, const ClProgramCache& cache,
           std::shared_ptr<ClMemoryPool> pool, std::shared_ptr<const PinnedRanges> pinned);
  // Leaks what may be in use, and leaves a driver that does not return behind.
  ~ClDevice() override;

  DeviceResources& resources() override { return *this; }
  Stream& stream() override { return *this; }
  void leave_untimed() override;
  void begin_slice() override { in_slice_ = true; }
  BatchId submit() override;
  bool complete(BatchId batch) override;
  bool may_compile(BatchId batch) override { return find(batch).first_launch; }
  bool notifies() const override { return facts_.is_cpu(); }
  std::optional<Nanos> due() const override { return stalls_.due(); }
  DeviceSpan span(BatchId batch) override;
  std::vector<RawCommand> take(BatchId batch) override;
  std::vector<ClockProbe> probe_clock(unsigned count) override;
  SetupCost take_setup_cost() override;
  void abandon() override;
  void mark_wedged() override {
    state_->may_be_in_flight = true;
    OpenDevice::mark_wedged();
  }
  bool drained() override;
  Bytes free_memory() override;

  const cl::Context& context() const { return context_; }
  const cl::CommandQueue& upload_queue() const { return queues_[0]; }
  const Device& facts() const { return facts_; }  // with its handicap applied
  // Returns the host memory that its kernels can read in place; null: it has memory of its own, or
  // is a CPU.
  const std::shared_ptr<ClHostViews>& host_views() const { return host_views_; }

  // Sets the device's participant in a group that exchanges data (cl_peers.hpp). Its go_on() is
  // called whenever the device is asked for completion.
  void join(ClPeer* peer) { peer_ = peer; }
  Backend& backend() { return backend_; }
  const cl::CommandQueue& queue(CommandKind kind) const { return queues_[queue_of(kind)]; }
  bool may_be_in_flight() const { return state_->may_be_in_flight; }
  std::shared_ptr<const ClDeviceState> state() const { return state_; }
  // Frees kept memory until `size` bytes fit. Throws Error(out_of_memory) if they cannot.
  void make_room(Bytes size);
  // Returns memory made elsewhere as a buffer of this device; `counted`: it counts as allocated
  // here.
  std::unique_ptr<Buffer> adopt(cl::Buffer memory, Bytes size, bool counted);
  // Return the last launch and the last upload; null when that is complete.
  const cl::Event& launched() const { return latest_[queue_of(CommandKind::compute)]; }
  const cl::Event& uploaded() const { return latest_[queue_of(CommandKind::upload)]; }
  // Returns what a launch has to wait for; null: nothing.
  const std::vector<cl::Event>* uploads() { return dependency(CommandKind::compute); }
  // Returns an event that ends when everything launched so far has ended.
  cl::Event mark();
  // Returns the batch that commands are recorded in; it is not complete while more is expected of
  // it.
  std::uint64_t open_batch() const { return batches_.back().id; }
  void expect_more(std::uint64_t batch) { ++find({batch}).expected; }
  void expect_less(std::uint64_t batch) { --find({batch}).expected; }
  // Records a command of an exchange that was enqueued in the queue of `kind`.
  void record_exchange(std::uint64_t batch, CommandKind kind, cl::Event event, Name label,
                       Bytes bytes, const ExchangeInfo& info, cl::Event since = {});
  void notify_after(const cl::Event& event) { ring_after(event); }
  void wait_for_command(const cl::Event& event) { wait_aside(event, backend_.limits().answer); }
  void clear(Buffer& buffer);  // fills the buffer with zeros, and waits for the end of that
  // Returns what a pointer to the buffer is in a kernel, and waits for that.
  std::uint64_t address_of(Buffer& buffer);
  cl::Kernel make_kernel(std::string_view file, const char* entry, const std::string& options);
  std::shared_ptr<Notifier> notified() const { return shared_notifier(); }
  void flush_queues() { flush(); }
  void end_stalls() { stalls_.release_all(); }

 private:
  static constexpr std::size_t queue_of(CommandKind kind) {
    return static_cast<std::size_t>(kind == CommandKind::exchange ? CommandKind::compute : kind);
  }
  struct Pending {
    std::size_t queue = 0;
    cl::Event event;
    cl::Event since;  // event at whose end a stall began; null for a command that runs
    cl::Event first;  // first launch of a series whose last is `event`; null for a single one
    // Launches in Batch::beside that `event` waits for; its own time stamps are not used then.
    std::size_t beside_from = 0, beside_to = 0;
    RawCommand command;
    LaunchKey key;                 // key of a kernel's launch
    std::optional<Nanos> counted;  // counting time of a slow-down that spins
  };
  struct Staged {  // small download: where it arrives, and where it is wanted
    const std::byte* arrived = nullptr;
    std::span<std::byte> wanted;
  };
  struct Batch {
    std::uint64_t id = 0;
    std::vector<Staged> staged;
    unsigned expected = 0;      // parts of exchanges that have not been enqueued, or have not ended
    bool arrived = false;       // known to be complete
    bool first_launch = false;  // it contains a kernel that the driver may compile now
    std::vector<Pending> commands;
    std::array<cl::Event, 3> last;  // last command in each queue; null: none there
    std::vector<cl::Event> beside;  // launches side by side
  };

  struct Handles;  // everything that OpenCL counts references of

  // DeviceResources
  const DeviceTraits& traits() const override { return traits_; }
  std::unique_ptr<Buffer> allocate(Bytes size) override;
  std::unique_ptr<Buffer> allocate_input(Bytes size) override;
  Peer* peer() override;
  std::unique_ptr<Kernel> kernel(std::string_view file, std::string_view entry,
                                 const std::string& options) override;
  std::unique_ptr<Kernel> foreign_kernel(const KernelSource& source, std::string_view entry,
                                         const std::string& options) override;
  std::unique_ptr<Buffer> part(Buffer& whole, Bytes offset, Bytes size) override;
  std::unique_ptr<Buffer> image(const ImageShape& shape) override;
  std::optional<Nanos> try_out(const std::function<void(Stream&)>& commands) override;
  // Stream
  void upload(Buffer& to, Bytes offset, std::span<const std::byte> from) override;
  void launch(Kernel& kernel, const Grid& grid, std::span<const KernelArg> args) override;
  void download(Buffer& from, Bytes offset, std::span<std::byte> to) override;
  void begin_series(unsigned count) override;
  void begin_side_by_side(unsigned count) override;
  void upload_rows(Buffer& to, const std::byte* from, const Rows& rows) override;
  void download_rows(Buffer& from, std::byte* to, const Rows& rows) override;

  void open(const Handicap& handicap, std::shared_ptr<const PinnedRanges> pinned);
  void close() noexcept;
  // Returns kept memory beyond `most` bytes, which the caller frees.
  std::vector<cl::Buffer> evict_to(Bytes most);
  // Waits for a command outside of all batches.
  void wait_aside(const cl::Event& event, Nanos limit, WaitPolicy look = WaitPolicy::sleep);
  const cl::Program& program(std::string_view file, const std::string& options);
  std::string own_options(const std::string& options) const;
  void launch_beside(ClKernel& kernel, const Grid& grid);
  static void enqueue(const cl::CommandQueue& queue, ClKernel& kernel, const Grid& grid,
                      const std::vector<cl::Event>* after, cl::Event* event);
  Pending& record(CommandKind kind, cl::Event event, Name label, Bytes bytes, cl::Event since = {});
  Pending& record(Batch& batch, std::size_t queue, CommandKind kind, cl::Event event, Name label,
                  Bytes bytes, cl::Event since);
  void delay_slice();   // before the slice's first kernel
  void slow_kernels();  // after the kernels of a batch, or before a download of their results
  void flush();
  void ring_after(const cl::Event& event) {
    if (notifies()) notify_when_complete(event, shared_notifier());
  }
  static std::uint64_t started(const Batch& batch, const Pending& pending);
  static std::uint64_t ended(const Batch& batch, const Pending& pending);
  static const cl::Event& first_of(const Pending& pending) {
    return pending.first() != nullptr ? pending.first : pending.event;
  }
  // Updates from a command that has ended how a later slow-down is made.
  void learn(const Pending& pending);
  // Returns the event that a command of `kind` has to wait for: the last of the stage before it, of
  // any batch; null when that is complete, or its queue waits for it already.
  const std::vector<cl::Event>* dependency(CommandKind kind);
  std::deque<Batch>::iterator place_of(BatchId batch);
  Batch& find(BatchId batch) { return *place_of(batch); }
  void arrive(Batch& batch);

  std::string name() const { return "device " + facts_.id + " " + facts_.name; }

  Backend& backend_;
  Device facts_;
  DeviceTraits traits_;
  cl::Device device_;
  cl::Context context_;
  std::array<cl::CommandQueue, 3> queues_;  // indexed by queue_of
  std::span<const EmbeddedText> kernels_;
  const ClProgramCache& cache_;
  std::vector<ClBuiltProgram> programs_;
  bool takes_hints_ = true;          // until the compiler has refused one (without_hints)
  std::deque<Batch> batches_;        // the last is open
  std::array<cl::Event, 3> latest_;  // last command of each queue, until known to be complete
  std::vector<cl::Event> wait_list_;
  // Commands outside of batches that are waited for, or whose wait was left.
  std::vector<cl::Event> aside_;
  std::shared_ptr<ClDeviceState> state_ = std::make_shared<ClDeviceState>();
  bool in_slice_ = false, delayed_ = false, is_timed_ = true;
  unsigned left_of_series_ = 0;  // launches still to come
  cl::Event series_began_;       // first launch of the series; null: still to come, or no series
  // Launches side by side: those still to come; the queues that they use in turn; the event that
  // all of them wait for, or none before the first; where their events begin in Batch::beside; and
  // their names so far.
  unsigned left_beside_ = 0;
  std::vector<cl::CommandQueue> side_queues_;
  std::vector<cl::Event> fork_;
  std::size_t first_beside_ = 0;
  std::string names_beside_;
  ClSlowDown slow_down_;
  ClStalls stalls_;
  ClPeer* peer_ = nullptr;  // null: the device is in no group
  ClPoolMember pool_;
  SetupCost setup_;
  ClStaging staging_;
  std::shared_ptr<ClHostViews> host_views_;
  cl::Buffer probe_buffer_;
};

}  // namespace mgpu
