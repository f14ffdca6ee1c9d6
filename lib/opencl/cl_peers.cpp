// Groups: which path each pair takes, and what the failure of a device means for the others.
#include "lib/opencl/cl_peers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/opencl/cl_objects.hpp"
#include "lib/opencl/cl_wait.hpp"
#include "lib/opencl/peer_notes.hpp"

namespace mgpu {
namespace {

// Sizes of a device's flags, in 32-bit words: one flag per device that signals it, one count per
// device of its signals, one count per device of its waits, each in a line of its own. The layout
// is that of kernels/peers.cl.
constexpr std::size_t kFlagWords = 32, kAllWords = 3 * ClPeer::kMostByFlags * kFlagWords;

}  // namespace

void ClMailbox::add(ClMessage message) {
  const std::lock_guard lock(mutex_);
  messages_.push_back(std::move(message));
}

bool ClMailbox::empty() const {
  const std::lock_guard lock(mutex_);
  return messages_.empty();
}

std::optional<ClMessage> ClMailbox::take() {
  const std::lock_guard lock(mutex_);
  if (messages_.empty()) return std::nullopt;
  ClMessage message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

ClPeers::ClPeers(Backend& backend, std::vector<ClDevice*> devices, std::optional<PeerPath> path,
                 DevicesElsewhere elsewhere)
    : backend_(backend),
      devices_(std::move(devices)),
      elsewhere_(std::move(elsewhere)),
      paths_(devices_.size() * devices_.size()),
      mail_(paths_.size()),
      peers_(devices_.size()) {
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    if (!is_here({i})) continue;
    peers_[i] = std::make_unique<ClPeer>(*this, *devices_[i], DeviceIndex{i});
    devices_[i]->join(peers_[i].get());
  }
  try {
    find_paths(path);
    const bool direct = std::find(paths_.begin(), paths_.end(), PeerPath::direct) != paths_.end();
    if (direct) {
      flags_ = std::make_unique<ClSharedMemory>(devices_, paths_, kAllWords * sizeof(cl_uint));
      for (std::uint32_t i = 0; i < devices_.size(); ++i)
        if (is_here({i})) devices_[i]->clear(flags_->piece({i}));
    }
    for (const auto& peer : peers_)
      if (peer) peer->set_up(flags_.get());
  } catch (const cl::Error& error) {
    dissolve();
    throw cl_failure("connecting devices", error.err());
  } catch (...) {
    dissolve();
    throw;
  }
}

ClPeers::~ClPeers() {
  const bool may_be_in_flight = std::any_of(
      devices_.begin(), devices_.end(),
      [](const ClDevice* device) { return device != nullptr && device->may_be_in_flight(); });
  dissolve();
  for (const auto& peer : peers_)
    if (peer && may_be_in_flight) peer->leak();
  const DriverCall inside;
  peers_.clear();
}

void ClPeers::dissolve() {
  for (ClDevice* device : devices_)
    if (device != nullptr) device->join(nullptr);
}

std::string ClPeers::id_of(DeviceIndex device) const {
  return elsewhere_.ids.empty() ? devices_[device.value]->facts().id : elsewhere_.ids[device.value];
}

void ClPeers::notify(DeviceIndex device) {
  if (is_here(device)) devices_[device.value]->notifier().notify();
}

std::optional<std::string> ClPeers::why_through_host() const {
  if (elsewhere_.why_no_device_memory) return elsewhere_.why_no_device_memory;
  for (const auto& peer : peers_)
    if (peer && peer->why_through_host()) return peer->why_through_host();
  return std::nullopt;
}

void ClPeers::arrive(DeviceIndex from, DeviceIndex to, Buffer* into, Bytes offset,
                     std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  mail(from, to).add({bytes, nullptr, into != nullptr ? memory_of(*into) : cl::Buffer(), offset,
                      std::move(owner)});
  notify(to);
}

// Chooses the path of each pair: CPUs exchange in host memory, GPUs of one driver in each other's
// memory, all others through the host. A path that was tried and does not work becomes staged.
void ClPeers::find_paths(std::optional<PeerPath> wanted) {
  const auto n = static_cast<std::uint32_t>(devices_.size());
  std::vector<StagedPair> staged;
  for (std::uint32_t from = 0; from < n; ++from) {
    for (std::uint32_t to = 0; to < n; ++to) {
      PeerPath& path = path_of({from}, {to});
      path = PeerPath::staged;
      if (from == to || wanted == PeerPath::staged || !is_here({from}) || !is_here({to})) continue;
      const bool cpus = devices_[from]->facts().is_cpu() && devices_[to]->facts().is_cpu();
      const PeerPath best = wanted.value_or(cpus ? PeerPath::host : PeerPath::direct);
      const std::string reason = why_not({from}, {to}, best);
      if (reason.empty()) {
        path = best;
        continue;
      }
      const StagedPair& pair = staged.emplace_back(
          StagedPair{devices_[from]->facts().id, devices_[to]->facts().id, reason});
      if (wanted)
        throw Error(ErrorKind::unsupported, "no " + std::string(to_string(best)) + " path from " +
                                                pair.from + " to " + pair.to + ": " + pair.reason);
    }
  }
  notes_ = notes_of(staged, std::size_t{n} * (n - 1));
  // A wait by flags needs the path in both directions.
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t k = 0; k < i; ++k) {
      PeerPath& one = path_of({i}, {k});
      PeerPath& other = path_of({k}, {i});
      if (one != other) one = other = PeerPath::staged;
    }
  }
}

// Returns why a path does not work; empty: it works.
std::string ClPeers::why_not(DeviceIndex from, DeviceIndex to, PeerPath path) {
  const Device& source = devices_[from.value]->facts();
  const Device& target = devices_[to.value]->facts();
  if (path == PeerPath::host) {
    if (!source.is_cpu() || !target.is_cpu())
      return "device " + (source.is_cpu() ? target : source).id + " is no CPU";
    // A driver may keep a copy of its own of memory that a buffer was made over. All devices of a
    // driver do the same.
    const auto platform = [](const Device& device) {
      return device.id.substr(0, device.id.find(':'));
    };
    const auto [known, is_new] =
        why_not_host_.try_emplace({platform(source), platform(target)}, std::string());
    if (is_new) known->second = why_not_tried(from, to, path);
    return known->second;
  }
  // Devices are examined in the order of the group, so that both directions of a pair have one
  // reason.
  const auto [first, second] = std::minmax(from.value, to.value);
  for (const std::uint32_t each : {first, second})
    if (std::string why = why_not_imported({each}); !why.empty()) return why;
  if (devices_.size() > ClPeer::kMostByFlags)
    return "at most " + std::to_string(ClPeer::kMostByFlags) + " devices have it, the group has " +
           std::to_string(devices_.size());
  const CudaMemory::Loaded& cuda = CudaMemory::instance();
  if (!cuda.memory) return cuda.why;
  return why_not_tried(from, to, path);
}

std::string ClPeers::why_not_tried(DeviceIndex from, DeviceIndex to, PeerPath path) {
  try {
    try_pair(from, to, path);
    return {};
  } catch (const cl::Error& error) {
    return cl_status_name(error.err());
  } catch (const Error& error) {
    return error.what();
  }
}

std::string ClPeers::why_not_imported(DeviceIndex device) const {
  constexpr std::string_view kExtension = "cl_khr_external_memory_opaque_fd";
  const Device& facts = devices_[device.value]->facts();
  if (!facts.compute_capability) return "device " + facts.id + " is not NVIDIA's";
  if (std::find(facts.extensions.begin(), facts.extensions.end(), kExtension) !=
      facts.extensions.end())
    return {};
  return "device " + facts.id + " has no " + std::string(kExtension);
}

// Tests whether data that one device writes into the other's memory arrives there.
void ClPeers::try_pair(DeviceIndex from, DeviceIndex to, PeerPath path) {
  constexpr std::size_t kWords = 1024;
  std::vector<PeerPath> only(paths_.size(), PeerPath::staged);
  only[from.value * devices_.size() + to.value] = path;
  ClSharedMemory memory(devices_, only, kWords * sizeof(cl_uint));
  const auto pattern = std::make_unique<std::array<cl_uint, kWords>>();
  for (cl_uint i = 0; i < kWords; ++i) (*pattern)[i] = i * 2654435761u + from.value;
  const auto arrived = std::make_unique<std::array<cl_uint, kWords>>();
  const auto run = [&](DeviceIndex device, const auto& command) {
    const DriverCall inside(devices_[device.value]);
    cl::Event event;
    const cl::CommandQueue& queue = devices_[device.value]->queue(CommandKind::compute);
    command(queue, event);
    queue.flush();
    devices_[device.value]->wait_for_command(event);
  };
  // The receiver uses the memory before, so that a copy of its own would be out of date.
  run(to, [&](const cl::CommandQueue& queue, cl::Event& event) {
    queue.enqueueFillBuffer(memory_of(memory.piece(to)), cl_uint{0}, 0, sizeof *pattern, nullptr,
                            &event);
  });
  run(from, [&](const cl::CommandQueue& queue, cl::Event& event) {
    queue.enqueueWriteBuffer(memory_of(*memory.remote(from, to)), CL_FALSE, 0, sizeof *pattern,
                             pattern->data(), nullptr, &event);
  });
  run(to, [&](const cl::CommandQueue& queue, cl::Event& event) {
    queue.enqueueReadBuffer(memory_of(memory.piece(to)), CL_FALSE, 0, sizeof *arrived,
                            arrived->data(), nullptr, &event);
  });
  if (*arrived != *pattern) throw Error(ErrorKind::unsupported, "what is written does not arrive");
}

std::unique_ptr<SharedMemory> ClPeers::allocate(Bytes size) {
  return std::make_unique<ClSharedMemory>(devices_, paths_, size);
}

Bytes ClPeers::most_shared() const { return ClSharedMemory::most(paths_); }

std::unique_ptr<SharedMemory> ClPeers::allocate_reachable(Bytes size) {
  bool staged = false, imported = true;
  if (!elsewhere_.ids.empty()) return nullptr;
  for (std::uint32_t i = 0; i < devices_.size(); ++i) {
    imported = imported && why_not_imported({i}).empty();
    for (std::uint32_t k = 0; k < devices_.size(); ++k)
      staged = staged || (i != k && path_of({i}, {k}) == PeerPath::staged);
  }
  if (staged && !imported) return nullptr;
  try {
    auto memory = staged ? std::make_unique<ClSharedMemory>(devices_, size)
                         : std::make_unique<ClSharedMemory>(devices_, paths_, size);
    for (std::uint32_t i = 0; i < devices_.size(); ++i) devices_[i]->clear(memory->piece({i}));
    return memory;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::unsupported) return nullptr;
    throw;
  } catch (const cl::Error& error) {
    throw cl_failure("clearing memory that devices share", error.err());
  }
}

void ClPeers::mark_failed(DeviceIndex device) {
  {
    const std::lock_guard lock(losing_);
    if (loss_.empty()) loss_ = "device " + id_of(device) + " was lost during an exchange";
  }
  lost_ = true;
  for (std::uint32_t i = 0; i < devices_.size(); ++i) notify({i});
}

void ClPeers::check(DeviceIndex device) {
  {
    const std::lock_guard lock(losing_);
    if (!loss_.empty()) throw Error(ErrorKind::device, loss_);
  }
  try {
    const std::uint32_t status = peers_[device.value]->read_status();
    if (status == 0) return;
    throw Error(ErrorKind::device, "device " + devices_[status - 1]->facts().id +
                                       " gave no signal to device " +
                                       devices_[device.value]->facts().id);
  } catch (const cl::Error& error) {
    throw cl_failure("asking " + devices_[device.value]->facts().id + " for its signals",
                     error.err());
  }
}

DeviceIndex ClPeers::awaited_by(DeviceIndex device) {
  return is_here(device) ? peers_[device.value]->awaited().value_or(device) : device;
}

}  // namespace mgpu
