#include "lib/cluster/served_device.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/numa.hpp"
#include "lib/cluster/download_memory.hpp"
#include "lib/exec/leak.hpp"

namespace mgpu {
namespace {

constexpr Nanos kIdle = std::chrono::milliseconds(10);
constexpr Nanos kBetweenLooks = std::chrono::microseconds(50);

std::vector<DeviceIndex> read_devices(Reader& in) {
  std::vector<DeviceIndex> devices(in.count());
  for (DeviceIndex& device : devices) device = in.get<DeviceIndex>();
  return devices;
}

}  // namespace

Writer answer_to(std::uint64_t ticket) {
  Writer out(Call::answer);
  out.put(ticket).put(true);
  return out;
}

Writer refusal_of(std::uint64_t ticket, const Error& error) {
  Writer out(Call::answer);
  out.put(ticket).put(false);
  write(out, error);
  return out;
}

struct ServedDevice::State {
  struct Download {
    std::uint64_t number = 0;
    DownloadMemory::Area area;
  };
  struct Batch {
    std::uint64_t number = 0;
    BatchId id;
    std::vector<Message> calls;  // calls whose bytes are read by commands
    std::deque<Download> downloads;
    std::optional<Error> error;  // error of enqueueing the batch
    bool may_run = false;        // some of it is on the device
  };

  State(Backend& own_backend, Post& own_post, GroupParts& own_parts, std::uint32_t own_number,
        std::unique_ptr<OpenDevice> own)
      : backend(own_backend),
        post(own_post),
        parts(own_parts),
        number(own_number),
        device(std::move(own)),
        objects(own_parts),
        download_memory(std::make_unique<DownloadMemory>(own_backend, *device)) {}

  void push(Message call) {
    const std::lock_guard lock(mutex);
    if (device == nullptr) return;
    calls.push_back(std::move(call));
    device->notifier().notify();
  }

  OpenDevice* opened() {
    const std::lock_guard lock(mutex);
    return device.get();
  }

  void run() {
    CpuBinding binding;
    binding.to(device->resources().traits().near_cpus);
    while (!closing) {
      const std::uint64_t epoch = device->notifier().epoch();
      bool progress = false;
      for (std::optional<Message> call = next(); call && !closing; call = next()) {
        progress = true;
        carry_out(std::move(*call));
        complete();
      }
      progress |= complete();
      if (abandoned && device->drained()) at_rest();
      if (!progress && !closing) rest(epoch);
    }
    close();
  }

 private:
  std::optional<Message> next() {
    const std::lock_guard lock(mutex);
    if (calls.empty()) return std::nullopt;
    Message call = std::move(calls.front());
    calls.pop_front();
    return call;
  }

  void rest(std::uint64_t epoch) {
    if (abandoned) return device->notifier().wait(epoch, kBetweenLooks);
    if (under_way.empty()) return device->notifier().wait(epoch, kIdle);
    if (!device->notifies()) return std::this_thread::yield();
    Nanos wait = device->looked_at_every();
    if (const auto due = device->due()) wait = std::min(wait, *due - backend.now());
    if (wait > Nanos{}) device->notifier().wait(epoch, wait);
  }

  // Carries out a call. An error becomes the answer if the call is waited for, else the batch's
  // error.
  void carry_out(Message message) {
    Reader in(message);
    const auto call = in.get<Call>();
    in.get<std::uint32_t>();
    const auto ticket = in.get<std::uint64_t>();
    const auto failed = [&](const Error& error) {
      if (ticket != 0)
        post.send(0, refusal_of(ticket, error).take());
      else if (!open.error)
        open.error = error;
    };
    try {
      if (ticket == 0) {
        enqueue(call, in);
        if (call == Call::upload || call == Call::upload_rows || call == Call::launch)
          open.calls.push_back(std::move(message));
        return;
      }
      Writer out = answer_to(ticket);
      answer(call, in, out);
      post.send(0, out.take());
    } catch (const Error& error) {
      failed(error);
      open.calls.push_back(std::move(message));
    } catch (const std::exception& error) {
      failed(Error(ErrorKind::internal, error.what()));
      open.calls.push_back(std::move(message));
    }
  }

  void enqueue(Call call, Reader& in) {
    switch (call) {
      case Call::close:
        closing = true;
        return;
      case Call::free_buffer:
        return objects.free_buffer(in.get<std::uint64_t>(), is_possibly_in_flight());
      case Call::free_kernel:
        return objects.free_kernel(in.get<std::uint64_t>(), is_possibly_in_flight());
      case Call::slow_down:
        return slow_down(read_optional<Nanos>(in));
      case Call::abandon:
        device->abandon();
        abandoned = in.get<std::uint64_t>();
        return;
      case Call::submit:
        return submit(in.get<std::uint64_t>());
      default:
        if (open.error) return;  // nothing more of this batch is enqueued
        return command(call, in);
    }
  }

  void command(Call call, Reader& in) {
    Stream& stream = device->stream();
    switch (call) {
      case Call::begin_slice:
        return device->begin_slice();
      case Call::begin_series:
        return stream.begin_series(in.get<unsigned>());
      case Call::upload: {
        Buffer& to = objects.buffer(in.get<std::uint64_t>());
        const auto offset = in.get<Bytes>();
        return stream.upload(to, offset, in.bytes());
      }
      case Call::upload_rows: {
        Buffer& to = objects.buffer(in.get<std::uint64_t>());
        auto rows = in.get<Rows>();
        rows.host_stride = rows.length;
        return stream.upload_rows(to, in.bytes().data(), rows);
      }
      case Call::launch: {
        Kernel& kernel = objects.kernel(in.get<std::uint64_t>());
        const auto grid = in.get<Grid>();
        std::vector<KernelArg> args;
        for (auto left = in.get<std::uint64_t>(); left > 0; --left)
          args.push_back(read_arg(in, [&](std::uint64_t name) { return &objects.buffer(name); }));
        return stream.launch(kernel, grid, args);
      }
      case Call::download: {
        Download& download = open.downloads.emplace_back();
        download.number = in.get<std::uint64_t>();
        Buffer& from = objects.buffer(in.get<std::uint64_t>());
        const auto offset = in.get<Bytes>();
        download.area = download_memory->take(in.get<Bytes>());
        return stream.download(from, offset, download.area.bytes());
      }
      case Call::download_rows: {
        Download& download = open.downloads.emplace_back();
        download.number = in.get<std::uint64_t>();
        Buffer& from = objects.buffer(in.get<std::uint64_t>());
        auto rows = in.get<Rows>();
        rows.host_stride = rows.length;
        download.area = download_memory->take(rows.length * rows.count);
        return stream.download_rows(from, download.area.bytes().data(), rows);
      }
      case Call::put: {
        Buffer& from = objects.buffer(in.get<std::uint64_t>());
        const auto offset = in.get<Bytes>();
        const auto group = in.get<std::uint64_t>();
        const auto into = parts.memory(group, in.get<std::uint64_t>());
        const auto to = in.get<DeviceIndex>();
        const auto to_offset = in.get<Bytes>();
        return peer().put(from, offset, *into, to, to_offset, in.get<Bytes>());
      }
      case Call::sync: {
        const auto signal = read_devices(in), await = read_devices(in);
        return peer().sync(signal, await);
      }
      default:
        throw Error(ErrorKind::internal, "a call that nobody knows");
    }
  }

  Peer& peer() {
    Peer* const mine = device->resources().peer();
    if (mine == nullptr)
      throw Error(ErrorKind::internal, "an exchange of a device that is in no group");
    return *mine;
  }
  bool is_possibly_in_flight() const { return abandoned != 0 || may_be_in_flight; }

  void answer(Call call, Reader& in, Writer& out) {
    if (objects.answer(call, device->resources(), in, out)) return;
    switch (call) {
      case Call::take: {
        const auto at = ids.find(in.get<std::uint64_t>());
        if (at == ids.end()) throw Error(ErrorKind::internal, "batch taken twice");
        const std::vector<RawCommand> commands = device->take(at->second);
        ids.erase(at);
        out.put(std::uint64_t{commands.size()});
        for (const RawCommand& command : commands) write(out, command);
        return;
      }
      case Call::probe_clock: {
        const std::vector<ClockProbe> probes = device->probe_clock(in.get<unsigned>());
        out.put(std::uint64_t{probes.size()});
        for (const ClockProbe& probe : probes) out.put(probe);
        return;
      }
      case Call::setup_cost:
        out.put(device->take_setup_cost());
        return;
      case Call::free_memory:
        out.put(device->free_memory());
        return;
      case Call::check_exchange: {
        const auto group = in.get<std::uint64_t>();
        return parts.check(group, in.get<DeviceIndex>());
      }
      default:
        throw Error(ErrorKind::internal, "a question that nobody knows");
    }
  }

  // Sets from when on the device is slowed, by this rank's clock, as rank 0 says.
  void slow_down(std::optional<Nanos> from) {
    SlowDown& mine = device->slow_down();
    mine.end_sample();
    if (!from || mine.from()) return;
    mine.begin_sample(*from - mine.handicap().slow_from_time.value_or(Nanos{}));
    mine.reached(1, *from);
  }

  void submit(std::uint64_t name) {
    Batch batch = std::exchange(open, {});
    batch.number = name;
    try {
      batch.id = device->submit();
      batch.may_run = true;
      ids[name] = batch.id;
    } catch (const Error& error) {
      if (!batch.error) batch.error = error;
    }
    under_way.push_back(std::move(batch));
  }

  // Reports completed batches, in order.
  bool complete() {
    bool any = false;
    while (!under_way.empty()) {
      Batch& batch = under_way.front();
      try {
        if (batch.error) throw Error(*batch.error);
        if (!device->complete(batch.id)) return any;
        Writer out(Call::completed);
        out.put(number).put(batch.number).put(false).put(device->span(batch.id));
        std::size_t bytes = 0;
        for (const Download& download : batch.downloads)
          bytes += download.area.bytes().size() + 2 * sizeof(std::uint64_t);
        out.reserve(bytes);
        for (Download& download : batch.downloads) {
          out.put(download.number).bytes(download.area.bytes());
          download_memory->give_back(std::move(download.area));
        }
        post.send(0, out.take());
      } catch (const Error& error) {
        Writer out(Call::completed);
        out.put(number).put(batch.number).put(true);
        write(out, error);
        post.send(0, out.take());
        doubtful.push_back(std::move(batch));
        may_be_in_flight = true;
      }
      under_way.pop_front();
      any = true;
    }
    return any;
  }

  void at_rest() {
    Writer out(Call::at_rest);
    out.put(number).put(std::exchange(abandoned, 0));
    post.send(0, out.take());
    under_way.clear();
    doubtful.clear();
    may_be_in_flight = false;
  }

  void close() {
    const bool leaks =
        (may_be_in_flight || abandoned || !under_way.empty()) && !try_drain(backend, *device);
    if (leaks) {
      leak(std::move(open));
      leak(std::move(under_way));
      leak(std::move(doubtful));
      leak(std::move(download_memory));
      objects.leak_all();
    }
    open = {};
    under_way.clear();
    doubtful.clear();
    download_memory.reset();
    objects.free_all();
    std::unique_ptr<OpenDevice> closing_one;
    {
      const std::lock_guard lock(mutex);
      closing_one = std::move(device);
    }
  }

  Backend& backend;
  Post& post;
  GroupParts& parts;
  const std::uint32_t number;

  std::mutex mutex;  // guards `calls`, and that the device is there while others push
  std::deque<Message> calls;

  // Used only by the thread.
  std::unique_ptr<OpenDevice> device;
  ServedObjects objects;
  std::unique_ptr<DownloadMemory> download_memory;
  std::map<std::uint64_t, BatchId> ids;  // batches that were not taken
  Batch open;
  std::deque<Batch> under_way;
  std::deque<Batch> doubtful;   // failed batches, whose memory the device may still be using
  std::uint64_t abandoned = 0;  // number of the latest abandon while its commands run, else 0
  bool may_be_in_flight = false, closing = false;

 public:
  std::atomic<bool> over = false;
};

ServedDevice::ServedDevice(Backend& backend, Post& post, GroupParts& parts, std::uint32_t number,
                           std::unique_ptr<OpenDevice> device)
    : state_(std::make_shared<State>(backend, post, parts, number, std::move(device))) {
  thread_ = std::thread([state = state_] {
    try {
      state->run();
    } catch (...) {  // rank 0 notices, as nothing completes any more
    }
    state->over = true;
  });
}

ServedDevice::~ServedDevice() {
  if (!is_over())
    thread_.detach();
  else
    thread_.join();
}

void ServedDevice::push(Message call) { state_->push(std::move(call)); }
void ServedDevice::close() {
  Writer out(Call::close);
  out.put(std::uint32_t{0}).put(std::uint64_t{0});
  push(out.take());
}
OpenDevice* ServedDevice::device() { return state_->opened(); }
bool ServedDevice::is_over() const { return state_->over; }

}  // namespace mgpu
