#include "lib/cluster/cluster.hpp"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "lib/base/quantity.hpp"
#include "lib/cluster/cluster_backend.hpp"
#include "lib/cluster/group_parts.hpp"
#include "lib/cluster/served_device.hpp"
#include "lib/exec/leak.hpp"

namespace mgpu {
namespace {

constexpr Nanos kLookAtClosing = std::chrono::milliseconds(20);
constexpr Nanos kClosing = std::chrono::seconds(5);
// Time from the start of the first rank to that of the last.
constexpr Nanos kGreeting = std::chrono::seconds(60);

void write(Writer& out, const Fingerprint& print) {
  out.text(print.host).text(print.version).text(print.program).text(print.arguments);
}

Fingerprint read_fingerprint(Reader& in) {
  Fingerprint print;
  for (std::string* text : {&print.host, &print.version, &print.program, &print.arguments})
    *text = in.text();
  return print;
}

}  // namespace

struct Cluster::State {
  std::unique_ptr<Backend> local;
  Fingerprint mine;
  Nanos time_limit_of{};
  std::unique_ptr<Post> post;
  std::unique_ptr<GroupParts> parts;

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::map<RankNumber, Fingerprint> greeted;
  std::deque<Message> calls;  // calls to this rank itself
  std::map<std::uint32_t, std::unique_ptr<ServedDevice>> devices;
  std::map<RankNumber, std::string> lost;

  // Links of rank 0, by rank, once all ranks have sent their handshake.
  std::vector<std::shared_ptr<NodeLink>> links;

  std::shared_ptr<NodeLink> link(RankNumber rank) {
    const std::lock_guard lock(mutex);
    return rank < links.size() ? links[rank] : nullptr;
  }

  void arrived(RankNumber from, Message message) {
    Reader in(message);
    const auto call = in.get<Call>();
    if (call == Call::hello) {
      const std::lock_guard lock(mutex);
      greeted[from] = read_fingerprint(in);
      return changed.notify_all();
    }
    if (call == Call::parcel)
      return parts->arrived(std::make_shared<const Message>(std::move(message)));
    if (post->rank() == 0) {
      if (const auto its = link(from)) its->arrived(std::move(message));
      return;
    }
    // At once, as this rank may be inside the exchange that the call ends.
    if (call == Call::mark_failed) {
      in.get<std::uint32_t>();
      in.get<std::uint64_t>();
      const auto group = in.get<std::uint64_t>();
      return parts->mark_failed(group, in.get<DeviceIndex>());
    }
    const std::lock_guard lock(mutex);
    if (call >= Call::close) {
      const auto number = in.get<std::uint32_t>();
      if (const auto at = devices.find(number); at != devices.end())
        at->second->push(std::move(message));
      return;
    }
    calls.push_back(std::move(message));
    changed.notify_all();
  }

  void was_lost(RankNumber rank, const std::string& why) {
    {
      const std::lock_guard lock(mutex);
      lost[rank] = why;
    }
    changed.notify_all();
    if (const auto its = link(rank)) its->lost();
  }

  bool has_lost(RankNumber rank) {
    const std::lock_guard lock(mutex);
    return lost.contains(rank);
  }

  void tell_others_to_leave() {
    for (RankNumber rank = 1; rank < post->size(); ++rank)
      post->send(rank, NodeLink::begin(Call::bye, 0).take());
  }

  // Waits for the handshakes of all ranks, and compares them with rank 0's own.
  void greet() {
    std::unique_lock lock(mutex);
    const auto all = [&] { return greeted.size() + lost.size() + 1 >= post->size(); };
    if (!changed.wait_for(lock, kGreeting, all))
      throw Error(ErrorKind::timeout, "of " + std::to_string(post->size()) + " ranks " +
                                          std::to_string(greeted.size() + 1) +
                                          " have come within " + format_duration(kGreeting));
    for (const auto& [rank, why] : lost)
      throw Error(ErrorKind::device, "rank " + std::to_string(rank) + " " + why);
    links.resize(post->size());
    for (const auto& [rank, print] : greeted) {
      if (const std::string differs = difference(mine, print); !differs.empty())
        throw Error(ErrorKind::usage,
                    "ranks 0 and " + std::to_string(rank) + " differ: " + differs +
                        "; expected: the same build with the same arguments on all ranks");
      links[rank] = std::make_shared<NodeLink>(*post, rank, print.host);
    }
  }

  void carry_out(const Message& message) {
    Reader in(message);
    const auto call = in.get<Call>();
    const auto number = in.get<std::uint32_t>();
    const auto ticket = in.get<std::uint64_t>();
    try {
      Writer out = answer_to(ticket);
      switch (call) {
        case Call::settle: {
          WaitLimits limits;
          limits.answer = in.get<Nanos>();
          limits.build = in.get<Nanos>();
          limits.stop = [this] { return has_lost(0); };
          return local->limit_waits(std::move(limits));
        }
        case Call::enumerate:
          enumerate(out);
          break;
        case Call::split: {
          Device device = device_of(in.text());
          const std::vector<Device> made = local->split(device, in.get<unsigned>());
          out.put(std::uint64_t{made.size()});
          for (const Device& part : made) {
            mgpu::write(out, part);
            seen.push_back(part);
          }
          break;
        }
        case Call::open:
          open(number, in, out);
          break;
        case Call::connect:
          connect(in, out);
          break;
        case Call::disconnect: {
          const auto group = in.get<std::uint64_t>();
          parts->disconnect(group, in.get<bool>());
          break;
        }
        case Call::allocate_shared: {
          const auto group = in.get<std::uint64_t>(), memory = in.get<std::uint64_t>();
          parts->allocate(group, memory, in.get<Bytes>());
          break;
        }
        case Call::free_shared: {
          const auto group = in.get<std::uint64_t>();
          return parts->free(group, in.get<std::uint64_t>());
        }
        case Call::awaited_by: {
          const auto group = in.get<std::uint64_t>();
          out.put(parts->awaited_by(group, in.get<DeviceIndex>()));
          break;
        }
        default:
          throw Error(ErrorKind::internal, "a call that nobody knows");
      }
      post->send(0, out.take());
    } catch (const Error& error) {
      post->send(0, refusal_of(ticket, error).take());
    } catch (const std::exception& error) {
      post->send(0, refusal_of(ticket, Error(ErrorKind::internal, error.what())).take());
    }
  }

  void enumerate(Writer& out) {
    const Backend::Enumeration found = local->enumerate();
    seen = found.devices;
    out.put(std::uint64_t{found.devices.size()});
    for (const Device& device : found.devices) mgpu::write(out, device);
    for (const auto* texts : {&found.warnings, &found.platforms}) {
      out.put(std::uint64_t{texts->size()});
      for (const std::string& text : *texts) out.text(text);
    }
  }

  Device device_of(const std::string& id) const {
    for (const Device& device : seen)
      if (device.id == id) return device;
    throw Error(ErrorKind::internal, "device " + id + " was not enumerated");
  }

  void open(std::uint32_t number, Reader& in, Writer& out) {
    const Device device = device_of(in.text());
    std::unique_ptr<OpenDevice> opened = local->open(device, read_handicap(in));
    mgpu::write(out, opened->resources().traits());
    auto served = std::make_unique<ServedDevice>(*local, *post, *parts, number, std::move(opened));
    const std::lock_guard lock(mutex);
    std::erase_if(devices, [](const auto& entry) { return entry.second->is_over(); });
    devices[number] = std::move(served);
  }

  // Makes this rank's part of a group. Its devices have nothing to do meanwhile.
  void connect(Reader& in, Writer& out) {
    const auto group = in.get<std::uint64_t>();
    const auto path = read_optional<PeerPath>(in);
    std::vector<GroupMember> members(in.count());
    std::vector<OpenDevice*> here(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      GroupMember& member = members[i];
      member.id = in.text();
      member.rank = in.get<RankNumber>();
      member.number = in.get<std::uint32_t>();
      if (member.rank != post->rank()) continue;
      const std::lock_guard lock(mutex);
      here[i] = devices.at(member.number)->device();
    }
    PartOfGroup& part = parts->connect(group, *local, here, std::move(members), path);
    for (std::uint32_t from = 0; from < here.size(); ++from)
      for (std::uint32_t to = 0; to < here.size(); ++to)
        if (here[from] != nullptr && here[to] != nullptr) out.put(part.peer({from}).path({to}));
    out.put(part.most_shared()).put(std::uint64_t{part.notes().size()});
    for (const std::string& note : part.notes()) out.text(note);
    out.text(part.why_through_host().value_or(""));
  }

  std::vector<Device> seen;  // used only by the thread that serves
};

std::unique_ptr<Cluster> Cluster::join(const Launch& launch, std::unique_ptr<Backend> local,
                                       const Fingerprint& mine,
                                       const std::filesystem::path& program) {
  const std::filesystem::path plugin = plugin_of(launch.mpi, program);
  auto cluster = std::make_unique<Cluster>(
      [plugin, taken = launch.device_memory] { return make_mpi_transport(plugin, taken); },
      launch.times, std::move(local), mine);
  try {
    if (const RankNumber size = cluster->state_->post->size(); size != launch.size) {
      cluster->leave(0);
      throw Error(ErrorKind::usage,
                  "the launcher started " + std::to_string(launch.size) + " processes, and " +
                      cluster->state_->post->library() + " joined " + std::to_string(size) +
                      " of them: it is of another MPI; expected: a launcher of that MPI, or "
                      "MGPU_MPI not set");
    }
    cluster->greet();
  } catch (const Error&) {
    leak(std::move(cluster));  // its thread continues until the launcher ends it
    throw;
  }
  return cluster;
}

Cluster::Cluster(std::function<std::unique_ptr<Transport>()> join, PostTimes times,
                 std::unique_ptr<Backend> local, const Fingerprint& mine)
    : state_(std::make_unique<State>()) {
  state_->local = std::move(local);
  state_->mine = mine;
  Backend& clock = *state_->local;
  state_->post = std::make_unique<Post>(
      std::move(join), [&clock] { return clock.now(); }, times);
  state_->parts = std::make_unique<GroupParts>(*state_->post);
  State& state = *state_;
  state.post->start(
      {.message = [&state](RankNumber from,
                           Message message) { state.arrived(from, std::move(message)); },
       .clock =
           [&state](RankNumber of, const ClockExchange& exchange) {
             if (const auto its = state.link(of)) its->looked(exchange);
           },
       .lost = [&state](RankNumber lost, const std::string& why) { state.was_lost(lost, why); }});
}

void Cluster::greet() {
  if (rank() != 0) {
    Writer hello(Call::hello);
    write(hello, state_->mine);
    return state_->post->send(0, hello.take());
  }
  try {
    state_->greet();
  } catch (const Error&) {
    state_->tell_others_to_leave();
    state_->post->end();
    throw;
  }
}

Cluster::~Cluster() {
  // A thread that did not leave in time still uses the clock and the handlers.
  if (!state_->post->is_over()) leak(std::move(state_));
}

RankNumber Cluster::rank() const { return state_->post->rank(); }

std::unique_ptr<Backend> Cluster::backend() {
  return std::make_unique<ClusterBackend>(*state_->local, *state_->post, *state_->parts,
                                          state_->links, state_->mine.host);
}

void Cluster::serve() {
  for (;;) {
    Message message;
    {
      std::unique_lock lock(state_->mutex);
      state_->changed.wait(lock,
                           [&] { return !state_->calls.empty() || state_->lost.contains(0); });
      if (state_->calls.empty())
        throw Error(ErrorKind::device, "rank 0 " + state_->lost.at(0) + ": rank " +
                                           std::to_string(rank()) + " on " + state_->mine.host +
                                           " ends");
      message = std::move(state_->calls.front());
      state_->calls.pop_front();
    }
    if (static_cast<Call>(message.front()) == Call::bye) break;
    state_->carry_out(message);
  }
  std::unique_lock lock(state_->mutex);
  for (const auto& [number, device] : state_->devices) device->close();
  for (Nanos waited{}; waited < kClosing; waited += kLookAtClosing) {
    std::erase_if(state_->devices, [](const auto& entry) { return entry.second->is_over(); });
    if (state_->devices.empty()) return;
    state_->changed.wait_for(lock, kLookAtClosing);
  }
}

void Cluster::leave(int code) {
  if (state_->post->rank() == 0) state_->tell_others_to_leave();
  if (!state_->post->end()) state_->post->abort(code);
}

}  // namespace mgpu
