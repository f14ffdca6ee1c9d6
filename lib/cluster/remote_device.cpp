#include "lib/cluster/remote_device.hpp"

#include <algorithm>
#include <utility>

namespace mgpu {
namespace {

constexpr std::uint32_t kClockExchanges = 25;  // before probes of a device's clock, and after them

class RemoteBuffer final : public Buffer {
 public:
  RemoteBuffer(std::shared_ptr<NodeLink> link, std::uint32_t device, std::uint64_t number,
               Bytes size)
      : link_(std::move(link)), device_(device), number_(number), size_(size) {}
  ~RemoteBuffer() override {
    link_->send(std::move(NodeLink::begin(Call::free_buffer, device_).put(number_)));
  }
  Bytes size() const override { return size_; }
  std::uint64_t number() const { return number_; }

 private:
  // Kept, as the device may be gone before memory that it shares with others.
  std::shared_ptr<NodeLink> link_;
  std::uint32_t device_;
  std::uint64_t number_;
  Bytes size_;
};

class RemoteKernel final : public Kernel {
 public:
  RemoteKernel(RemoteDevice& device, std::uint64_t number, const GroupLimits& limits)
      : Kernel(limits), device_(device), number_(number) {}
  ~RemoteKernel() override { device_.forget(Call::free_kernel, number_); }
  std::optional<std::vector<KernelParameter>> parameters() const override {
    return device_.parameters_of(number_);
  }
  std::uint64_t number() const { return number_; }
  bool first_with(const Grid& grid) { return grids_.insert({grid.global, grid.local}).second; }

 private:
  RemoteDevice& device_;
  std::uint64_t number_;
  std::set<std::pair<std::array<std::size_t, 3>, std::array<std::size_t, 3>>> grids_;
};

}  // namespace

RemoteDevice::RemoteDevice(Backend& backend, std::shared_ptr<NodeLink> link, const Device& facts,
                           const std::string& id, const Handicap& handicap)
    : OpenDevice(handicap), backend_(backend), link_(std::move(link)) {
  arrivals_->notifier = shared_notifier();
  number_ = link_->add_device(arrivals_);
  slowed_from_ = slow_down().from();
  Writer call = link_->begin_asking(Call::open, number_);
  call.text(id);
  write(call, handicap);
  try {
    const Message answer = ask(std::move(call), "opening " + facts.id);
    Reader in(answer);
    traits_ = read_traits(in);
    traits_.id = facts.id;
    arrivals_->imminent = !traits_.cpu;
  } catch (...) {
    link_->remove_device(number_);
    throw;
  }
}

RemoteDevice::~RemoteDevice() {
  link_->remove_device(number_);
  link_->awaits_nothing(*arrivals_);
  link_->send(NodeLink::begin(Call::close, number_));
}

Message RemoteDevice::ask(Writer call, const std::string& what) {
  const WaitLimits& limits = backend_.limits();
  return link_->ask(std::move(call), what, limits.build + limits.answer, limits.stop);
}

void RemoteDevice::tell_slow_down() {
  const auto from = slow_down().from();
  if (from == slowed_from_) return;
  slowed_from_ = from;
  Writer call = NodeLink::begin(Call::slow_down, number_);
  std::optional<Nanos> there = from;
  if (const NodeClock clock = link_->clock(); there && !clock.empty()) {
    // The offset is a function of the other clock's time: the first line estimates that time, the
    // second uses it.
    const Nanos about = *there - clock.at(*there)->middle();
    there = *there - clock.at(about)->middle();
  }
  write_optional(call, there);
  link_->send(std::move(call));
}

BatchId RemoteDevice::submit() {
  tell_slow_down();
  const BatchId batch{next_batch_++};
  link_->awaits(*arrivals_);
  link_->send(std::move(NodeLink::begin(Call::submit, number_).put(batch.value)));
  return batch;
}

bool RemoteDevice::complete(BatchId batch) {
  tell_slow_down();
  const std::lock_guard lock(arrivals_->mutex);
  const auto at = arrivals_->completed.find(batch.value);
  if (at == arrivals_->completed.end()) {
    link_->throw_if_lost();
    return false;
  }
  if (at->second.error) throw Error(*at->second.error);
  compiling_.erase(batch.value);
  return true;
}

DeviceSpan RemoteDevice::span(BatchId batch) {
  const std::lock_guard lock(arrivals_->mutex);
  const auto at = arrivals_->completed.find(batch.value);
  if (at == arrivals_->completed.end())
    throw Error(ErrorKind::internal, "a batch that is not complete has no span");
  return at->second.span;
}

std::vector<RawCommand> RemoteDevice::take(BatchId batch) {
  const Message answer =
      ask(std::move(asking(Call::take).put(batch.value)), "time stamps of " + traits_.id);
  {
    const std::lock_guard lock(arrivals_->mutex);
    if (arrivals_->completed.erase(batch.value) == 0)
      throw Error(ErrorKind::internal, "batch taken twice");
  }
  Reader in(answer);
  std::vector<RawCommand> commands(in.count());
  for (RawCommand& command : commands) command = read_command(in);
  return commands;
}

std::vector<ClockProbe> RemoteDevice::probe_clock(unsigned count) {
  link_->look_at_clock(kClockExchanges);
  const Message answer =
      ask(std::move(asking(Call::probe_clock).put(count)), "probing the clock of " + traits_.id);
  link_->look_at_clock(kClockExchanges);
  const NodeClock clock = link_->clock();
  Reader in(answer);
  std::vector<ClockProbe> probes(in.count());
  for (ClockProbe& probe : probes) probe = clock.here(in.get<ClockProbe>());
  return probes;
}

SetupCost RemoteDevice::take_setup_cost() {
  const Message answer = ask(asking(Call::setup_cost), "set-up costs of " + traits_.id);
  return Reader(answer).get<SetupCost>();
}

Bytes RemoteDevice::free_memory() {
  const Message answer = ask(asking(Call::free_memory), "free memory of " + traits_.id);
  return Reader(answer).get<Bytes>();
}

// Stops accepting writes to our buffers; late results are dropped.
void RemoteDevice::abandon() {
  {
    const std::lock_guard lock(arrivals_->mutex);
    arrivals_->downloads.clear();
  }
  link_->awaits_nothing(*arrivals_);
  link_->send(std::move(NodeLink::begin(Call::abandon, number_).put(++abandons_)));
}

bool RemoteDevice::drained() {
  if (abandons_ == 0) abandon();
  if (link_->is_lost()) return true;  // nothing more comes from there
  const std::lock_guard lock(arrivals_->mutex);
  return arrivals_->at_rest == abandons_;
}

bool RemoteDevice::may_be_in_flight() const {
  if (abandons_ == 0 || link_->is_lost()) return false;
  const std::lock_guard lock(arrivals_->mutex);
  return arrivals_->at_rest != abandons_;
}

std::unique_ptr<Buffer> RemoteDevice::shared_piece(std::uint64_t group, std::uint64_t memory,
                                                   DeviceIndex by, DeviceIndex of, Bytes size) {
  const std::uint64_t number = next_object_++;
  Writer call = asking(Call::shared_piece);
  call.put(number).put(group).put(memory).put(by).put(of);
  const Message answer = ask(std::move(call), "memory that " + traits_.id + " shares");
  if (!Reader(answer).get<bool>()) return nullptr;
  return std::make_unique<RemoteBuffer>(link_, number_, number, size);
}

void RemoteDevice::check_exchange(std::uint64_t group, DeviceIndex device) {
  ask(std::move(asking(Call::check_exchange).put(group).put(device)), "exchanges of " + traits_.id);
}

std::uint64_t RemoteDevice::number_of(const Buffer& buffer) const {
  return static_cast<const RemoteBuffer&>(buffer).number();
}

void RemoteDevice::forget(Call how, std::uint64_t object) {
  link_->send(std::move(NodeLink::begin(how, number_).put(object)));
}

std::optional<std::vector<KernelParameter>> RemoteDevice::parameters_of(std::uint64_t kernel) {
  const Message answer = ask(std::move(asking(Call::parameters).put(kernel)),
                             "parameters of a kernel of " + traits_.id);
  Reader in(answer);
  if (!in.get<bool>()) return std::nullopt;
  std::vector<KernelParameter> all(in.count());
  for (KernelParameter& parameter : all) parameter = read_parameter(in);
  return all;
}

std::unique_ptr<Buffer> RemoteDevice::allocate(Bytes size) {
  const std::uint64_t number = next_object_++;
  ask(std::move(asking(Call::allocate).put(number).put(size)), "allocating on " + traits_.id);
  return std::make_unique<RemoteBuffer>(link_, number_, number, size);
}

std::unique_ptr<Buffer> RemoteDevice::part(Buffer& whole, Bytes offset, Bytes size) {
  const std::uint64_t number = next_object_++;
  Writer call = asking(Call::part);
  call.put(number).put(number_of(whole)).put(offset).put(size);
  ask(std::move(call), "a part of a buffer of " + traits_.id);
  return std::make_unique<RemoteBuffer>(link_, number_, number, size);
}

std::unique_ptr<Kernel> RemoteDevice::kernel(std::string_view file, std::string_view entry,
                                             const std::string& options) {
  const std::uint64_t number = next_object_++;
  Writer call = asking(Call::kernel);
  call.put(number).text(file).text(entry).text(options);
  return made_kernel(number, entry, std::move(call));
}

std::unique_ptr<Kernel> RemoteDevice::foreign_kernel(const KernelSource& source,
                                                     std::string_view entry,
                                                     const std::string& options) {
  const std::uint64_t number = next_object_++;
  Writer call = asking(Call::foreign_kernel);
  call.put(number).text(source.name).text(source.text).text(entry).text(options);
  return made_kernel(number, entry, std::move(call));
}

std::unique_ptr<Kernel> RemoteDevice::made_kernel(std::uint64_t number, std::string_view entry,
                                                  Writer call) {
  const Message answer =
      ask(std::move(call), "building " + std::string(entry) + " for " + traits_.id);
  return std::make_unique<RemoteKernel>(*this, number, Reader(answer).get<GroupLimits>());
}

std::optional<Nanos> RemoteDevice::try_out(const std::function<void(Stream&)>& commands) {
  try {
    commands(*this);
    return finish_trial(backend_, *this);
  } catch (...) {
    abandon();
    throw;
  }
}

void RemoteDevice::upload(Buffer& to, Bytes offset, std::span<const std::byte> from) {
  if (from.empty()) return;
  Writer call = NodeLink::begin(Call::upload, number_);
  call.put(number_of(to)).put(offset).bytes(from);
  link_->send(std::move(call));
}

void RemoteDevice::upload_rows(Buffer& to, const std::byte* from, const Rows& rows) {
  if (rows.length * rows.count == 0) return;
  Writer call = NodeLink::begin(Call::upload_rows, number_);
  call.put(number_of(to)).put(rows);
  const auto packed = call.room(rows.length * rows.count);
  for (Bytes i = 0; i < rows.count; ++i)
    std::copy_n(from + i * rows.host_stride, rows.length, packed.data() + i * rows.length);
  link_->send(std::move(call));
}

void RemoteDevice::launch(Kernel& kernel, const Grid& grid, std::span<const KernelArg> args) {
  auto& object = static_cast<RemoteKernel&>(kernel);
  if (object.first_with(grid)) compiling_.insert(next_batch_);
  Writer call = NodeLink::begin(Call::launch, number_);
  call.put(object.number()).put(grid).put(std::uint64_t{args.size()});
  for (const KernelArg& arg : args)
    write(call, arg, [&](const Buffer& buffer) { return number_of(buffer); });
  link_->send(std::move(call));
}

void RemoteDevice::begin_series(unsigned count) {
  link_->send(std::move(NodeLink::begin(Call::begin_series, number_).put(count)));
}

void RemoteDevice::download(Buffer& from, Bytes offset, std::span<std::byte> to) {
  if (to.empty()) return;
  const std::uint64_t download = next_download_++;
  {
    const std::lock_guard lock(arrivals_->mutex);
    arrivals_->downloads[download] = {to.data(), {.length = to.size(), .count = 1}};
  }
  Writer call = NodeLink::begin(Call::download, number_);
  call.put(download).put(number_of(from)).put(offset).put(Bytes{to.size()});
  link_->send(std::move(call));
}

void RemoteDevice::download_rows(Buffer& from, std::byte* to, const Rows& rows) {
  if (rows.length * rows.count == 0) return;
  const std::uint64_t download = next_download_++;
  {
    const std::lock_guard lock(arrivals_->mutex);
    arrivals_->downloads[download] = {to, rows};
  }
  link_->send(std::move(
      NodeLink::begin(Call::download_rows, number_).put(download).put(number_of(from)).put(rows)));
}

}  // namespace mgpu
