#include "lib/session/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>
#include <exception>
#include <thread>

#include "lib/base/quantity.hpp"
#include "lib/exchange/collectives.hpp"
#include "lib/exec/leak.hpp"
#include "lib/workload/pages.hpp"

namespace mgpu {
namespace {

constexpr unsigned kCalls = 20;  // enqueued together, as nccl-tests does it

// Devices that do something at the same time, timed from the first call to the last completion that is known.
class Together {
 public:
  using Enqueue = std::function<void(std::size_t device)>;

  Together(Backend& backend, std::vector<OpenDevice*> devices, PeerGroup* group)
      : backend_(backend), devices_(std::move(devices)), group_(group) {}

  // Throws the first error; the devices are then abandoned.
  Nanos run(const Enqueue& enqueue) { return backend_.is_virtual() ? on_one_thread(enqueue) : on_threads(enqueue); }

 private:
  struct Span {
    Nanos begin{}, end{};
    std::exception_ptr failure;
  };

  Nanos on_one_thread(const Enqueue& enqueue) {
    const Nanos begin = backend_.now();
    std::vector<BatchId> batches;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      enqueue(i);
      batches.push_back(devices_[i]->submit());
    }
    std::vector<Span> spans(devices_.size());
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      try {
        finish_batch(backend_, *devices_[i], batches[i]);
      } catch (...) {
        spans[i].failure = std::current_exception();
        note_culprit(i);
      }
    }
    rethrow(spans);
    return backend_.now() - begin;
  }

  Nanos on_threads(const Enqueue& enqueue) {
    std::vector<Span> spans(devices_.size());
    std::barrier start(static_cast<std::ptrdiff_t>(devices_.size()));
    std::atomic<std::size_t> at_work = devices_.size();
    std::atomic<bool> stopped = false;
    WaitLimits limits = backend_.limits();
    limits.stop = [&] { return stopped.load(); };  // whoever may stop this is asked by this thread alone
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < devices_.size(); ++i) {
        threads.emplace_back([&, i] {
          start.arrive_and_wait();
          spans[i].begin = backend_.now();
          try {
            enqueue(i);
            const BatchId batch = devices_[i]->submit();
            const bool cpu = devices_[i]->resources().traits().cpu;
            wait_for(backend_, *devices_[i], batch, limits, cpu ? Look::gently : Look::closely);
            spans[i].end = backend_.now();
            devices_[i]->take(batch);
          } catch (...) {
            spans[i].failure = std::current_exception();
            note_culprit(i);
          }
          --at_work;
        });
      }
      while (at_work > 0) {
        if (backend_.limits().stop && backend_.limits().stop()) stopped = true;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    }
    rethrow(spans);
    Nanos begin = spans.front().begin, end{};
    for (const Span& span : spans) {
      begin = std::min(begin, span.begin);
      end = std::max(end, span.end);
    }
    return end - begin;
  }

  // Of a device that failed or does not answer: whom it waits for, and that nobody waits for that one any longer.
  void note_culprit(std::size_t device) {
    if (group_ == nullptr) return;
    DeviceIndex culprit{static_cast<std::uint32_t>(device)};
    for (std::size_t step = 0; step < group_->size(); ++step) culprit = group_->awaited_by(culprit);
    std::uint32_t nobody = kNobody;
    culprit_.compare_exchange_strong(nobody, culprit.value);
    group_->lose(culprit);
  }

  // The culprit's own failure, or the first one, with the culprit's name.
  void rethrow(const std::vector<Span>& spans) const {
    if (culprit_ != kNobody && spans[culprit_].failure) std::rethrow_exception(spans[culprit_].failure);
    for (const Span& span : spans) {
      if (!span.failure) continue;
      if (culprit_ == kNobody) std::rethrow_exception(span.failure);
      try {
        std::rethrow_exception(span.failure);
      } catch (const Error& error) {
        throw Error(error.kind(),
                    "device " + devices_[culprit_]->resources().traits().id + " gave no signal: " + std::string(error.what()));
      }
    }
  }

  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  Backend& backend_;
  std::vector<OpenDevice*> devices_;
  PeerGroup* group_;
  std::atomic<std::uint32_t> culprit_ = kNobody;
};

// Element i of device d's input: small whole numbers, whose sums are exact in every type and order.
std::uint64_t input_element(std::uint64_t i, std::size_t device) { return (i * 7 + device * 3 + i / 251) % 17; }

template <class T>
void fill(std::span<std::byte> bytes, std::uint64_t first, std::size_t device) {
  for (std::uint64_t i = 0; i * sizeof(T) < bytes.size(); ++i) {
    const T value = static_cast<T>(input_element(first + i, device));
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

template <class F>
void with_type(Element element, const F& f) {
  switch (element) {
    case Element::u32:
      return f(std::uint32_t{});
    case Element::u64:
      return f(std::uint64_t{});
    case Element::f32:
      return f(float{});
    case Element::f64:
      return f(double{});
  }
}

class CollectiveRun {
 public:
  CollectiveRun(Backend& backend, std::span<OpenDevice* const> devices, PeerGroup& group, Collectives& collectives,
                const CollectiveCall& call, std::byte* host)
      : backend_(backend),
        devices_(devices.begin(), devices.end()),
        group_(group),
        collectives_(collectives),
        call_(call),
        in_(group.allocate(std::max<Bytes>(largest_input(call, devices.size()), 4))),
        out_(group.allocate(std::max<Bytes>(largest_output(call, devices.size()), 4))),
        host_(host) {
    collectives.build(call);
  }

  void measure(unsigned repetitions, CollectiveRow& row) {
    load();
    const auto one = [&](std::size_t i) { call_on(i); };
    const auto many = [&](std::size_t i) {
      for (unsigned k = 0; k < kCalls; ++k) call_on(i);
    };
    Together together(backend_, devices_, &group_);
    together.run(one);
    row.wrong = wrong_elements();
    if (row.wrong > 0) return;
    for (unsigned k = 0; k < 2; ++k) together.run(one);  // the first calls make connections
    for (unsigned k = 0; k < repetitions; ++k) row.alone.push_back(together.run(one));
    for (unsigned k = 0; k < std::max(repetitions / 3, 1u); ++k) row.back_to_back.push_back(together.run(many) / kCalls);
    row.wrong = wrong_elements();
    if (row.wrong > 0) row.alone = row.back_to_back = {};
  }

 private:
  void call_on(std::size_t i) {
    const DeviceIndex device{static_cast<std::uint32_t>(i)};
    collectives_.enqueue(device, call_, {&in_->piece(device), 0}, {out_.get(), 0}, devices_[i]->stream());
  }

  std::span<std::byte> host(Bytes size) { return {host_, size}; }

  // A part of all inputs, at its place among them.
  std::uint64_t first_element(std::size_t device) const {
    return call_.collective == Collective::all_gather ? part_of(call_.count, call_.element, devices_.size(), device).begin : 0;
  }

  // Inputs, and outputs that are not what they shall be.
  void load() {
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      const Bytes in = input_bytes(call_, devices_.size(), {i}), out = out_->size();
      with_type(call_.element, [&](auto zero) { fill<decltype(zero)>(host(in), first_element(i), i); });
      transfer(i, [&](Stream& stream) { stream.upload(in_->piece({i}), 0, host(in)); });
      std::fill_n(host_, out, std::byte{0xa5});
      transfer(i, [&](Stream& stream) { stream.upload(out_->piece({i}), 0, host(out)); });
    }
  }

  void transfer(std::size_t i, const std::function<void(Stream&)>& commands) {
    commands(devices_[i]->stream());
    finish_batch(backend_, *devices_[i], devices_[i]->submit());
  }

  std::uint64_t wrong_elements() {
    std::uint64_t wrong = 0;
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      group_.check({i});
      const Bytes bytes = output_bytes(call_, devices_.size(), {i});
      if (bytes == 0) continue;
      transfer(i, [&](Stream& stream) { stream.download(out_->piece({i}), 0, host(bytes)); });
      with_type(call_.element, [&](auto zero) { wrong += wrong_of<decltype(zero)>(i, host(bytes)); });
    }
    return wrong;
  }

  template <class T>
  std::uint64_t wrong_of(std::uint32_t device, std::span<const std::byte> output) const {
    std::uint64_t wrong = 0;
    for (std::uint64_t k = 0; k * sizeof(T) < output.size(); ++k) {
      const auto expected = expected_element<T>(device, k);
      T value{};
      std::memcpy(&value, output.data() + k * sizeof(T), sizeof(T));
      wrong += expected && *expected != value ? 1 : 0;
    }
    return wrong;
  }

  // Element k of a device's output; none: nobody writes it.
  template <class T>
  std::optional<T> expected_element(std::uint32_t device, std::uint64_t k) const {
    const std::size_t n = devices_.size();
    const auto given = [&](std::size_t from, std::uint64_t i) { return static_cast<T>(input_element(i, from)); };
    const auto part = [&](std::size_t i) { return part_of(call_.count, call_.element, n, i); };
    switch (call_.collective) {
      case Collective::barrier:
        return std::nullopt;
      case Collective::broadcast:
        return given(call_.root.value, k);
      case Collective::reduce:
      case Collective::all_reduce:
        return reduced<T>(k);
      case Collective::reduce_scatter:
        return reduced<T>(part(device).begin + k);
      case Collective::all_gather:
        for (std::size_t from = 0; from < n; ++from)
          if (k < part(from).end) return given(from, k);
        return std::nullopt;
      case Collective::all_to_all: {
        const std::uint64_t size = part(device).size();
        return given(static_cast<std::size_t>(k / size), part(device).begin + k % size);
      }
      case Collective::neighbours: {
        const bool from_before = k < call_.count;
        if (from_before ? device == 0 : device + 1 == n) return std::nullopt;
        return from_before ? given(device - 1, call_.count + k) : given(device + 1, k - call_.count);
      }
    }
    return std::nullopt;
  }

  template <class T>
  T reduced(std::uint64_t i) const {
    std::uint64_t value = input_element(i, 0);
    for (std::size_t k = 1; k < devices_.size(); ++k) {
      const std::uint64_t next = input_element(i, k);
      value = call_.reduction == Reduction::sum   ? value + next
              : call_.reduction == Reduction::min ? std::min(value, next)
                                                  : std::max(value, next);
    }
    return static_cast<T>(value);
  }

  Backend& backend_;
  std::vector<OpenDevice*> devices_;
  PeerGroup& group_;
  Collectives& collectives_;
  CollectiveCall call_;
  std::unique_ptr<SharedMemory> in_, out_;
  std::byte* host_;  // as large as the largest input or output
};

class LinkRun {
 public:
  LinkRun(Backend& backend, std::span<const std::unique_ptr<OpenDevice>> devices, const LinkOptions& options, LinksRecord& record,
          const std::function<void(const std::string&)>& progress)
      : backend_(backend), options_(options), record_(record), progress_(progress) {
    for (const auto& device : devices) devices_.push_back(device.get());
  }

  void measure() {
    try {
      if (options_.pairs) {
        pairs(options_.peer);
        latencies();
      }
      for (const std::size_t count : options_.counts)
        for (const Collective collective : options_.collectives) collectives(count, collective);
    } catch (...) {
      const auto drained = [&](OpenDevice* device) { return try_drain(backend_, *device); };
      if (std::count_if(devices_.begin(), devices_.end(), drained) < std::ssize(devices_)) leak(std::move(held_));
      throw;
    }
  }

 private:
  using Place = std::optional<std::uint32_t>;

  // Pinned where that helps; what was handed out before is gone.
  std::span<std::byte> host_memory(Bytes size) {
    held_.clear();
    const auto pages = std::make_shared<Pages>(size, "transfers");
    const std::span<std::byte> memory(pages->data(), size);
    held_.push_back(pages);
    held_.push_back(std::shared_ptr<PinnedMemory>(backend_.pin(memory, devices_)));
    std::swap(held_.front(), held_.back());  // undone first
    return memory;
  }

  std::vector<OpenDevice*> first(std::size_t count) const {
    return {devices_.begin(), devices_.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  void pairs(const std::optional<PeerPath>& path) {
    const auto group = backend_.connect(devices_, path);
    if (path == options_.peer) record_.notes.assign(group->notes().begin(), group->notes().end());
    const auto from = group->allocate(options_.pair_bytes), to = group->allocate(options_.pair_bytes);
    const std::span<std::byte> host = host_memory(2 * options_.pair_bytes * devices_.size());
    const bool again = path != options_.peer;  // the staged path, where another is in use
    const std::string suffix = again ? ", staged" : "";
    bool direct = false;
    for (const bool both : {false, true}) {
      LinkMatrix matrix{both ? "both ways at once" + suffix : "one way" + suffix, options_.pair_bytes, {}};
      progress_(matrix.name);
      if (!again) host_cells(both, *from, *to, host, matrix);
      for (std::uint32_t i = 0; i < devices_.size(); ++i) {
        for (std::uint32_t k = 0; k < devices_.size(); ++k) {
          if (i == k) continue;
          LinkCell cell{i, k, group->peer({i}).path({k}), {}};
          direct = direct || cell.path != PeerPath::staged;
          const auto move = [&](std::size_t at, std::uint32_t other, bool sends, bool receives) {
            const DeviceIndex self{static_cast<std::uint32_t>(at)}, peer{other};
            Peer& end = group->peer(self);
            if (sends) end.put(from->piece(self), 0, *to, peer, 0, options_.pair_bytes);
            end.sync(sends ? std::span(&peer, 1) : std::span<const DeviceIndex>(),
                     receives ? std::span(&peer, 1) : std::span<const DeviceIndex>());
          };
          cell.times = repeated(
              [&](std::size_t at) {
                if (at == i) move(at, k, true, both);
                if (at == k) move(at, i, both, true);
              },
              group.get());
          matrix.cells.push_back(std::move(cell));
        }
      }
      record_.matrices.push_back(std::move(matrix));
    }
    if (devices_.size() > 1 && !again) {
      progress_("all pairs at once");
      record_.everything_bytes = options_.pair_bytes;
      record_.everything = repeated(
          [&](std::size_t at) {
            const DeviceIndex self{static_cast<std::uint32_t>(at)};
            std::vector<DeviceIndex> others;
            for (std::uint32_t k = 0; k < devices_.size(); ++k)
              if (k != at) others.push_back({k});
            for (const DeviceIndex other : others) group->peer(self).put(from->piece(self), 0, *to, other, 0, options_.pair_bytes);
            group->peer(self).sync(others, others);
          },
          group.get());
    }
    for (std::uint32_t i = 0; i < devices_.size(); ++i) group->check({i});
    if (!again && direct && !options_.peer) staged_again_ = true;
  }

  void host_cells(bool both, SharedMemory& from, SharedMemory& to, std::span<std::byte> host, LinkMatrix& matrix) {
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      const std::span<std::byte> mine = host.subspan(2 * i * options_.pair_bytes, 2 * options_.pair_bytes);
      for (const bool up : {true, false}) {
        LinkCell cell{up ? Place() : Place(i), up ? Place(i) : Place(), std::nullopt, {}};
        cell.times = repeated(
            [&](std::size_t at) {
              if (at != i) return;
              Stream& stream = devices_[i]->stream();
              // In this order: a download waits for the uploads before it.
              if (!up || both) stream.download(from.piece({i}), 0, mine.last(options_.pair_bytes));
              if (up || both) stream.upload(to.piece({i}), 0, mine.first(options_.pair_bytes));
            },
            nullptr);
        matrix.cells.push_back(std::move(cell));
      }
    }
  }

  std::vector<Nanos> repeated(const Together::Enqueue& enqueue, PeerGroup* group) {
    Together together(backend_, devices_, group);
    together.run(enqueue);
    std::vector<Nanos> times;
    for (unsigned k = 0; k < options_.repetitions; ++k) times.push_back(together.run(enqueue));
    return times;
  }

  void latencies() {
    if (devices_.size() < 2) return;
    if (staged_again_) pairs(PeerPath::staged);
    progress_("latencies");
    const auto group = backend_.connect(devices_, options_.peer);
    const auto meet = [&](const std::vector<std::uint32_t>& who) {
      const auto sync = [&](std::size_t at, unsigned times) {
        std::vector<DeviceIndex> others;
        for (const std::uint32_t other : who)
          if (other != at) others.push_back({other});
        if (others.size() == who.size()) return;
        for (unsigned k = 0; k < times; ++k) group->peer({static_cast<std::uint32_t>(at)}).sync(others, others);
      };
      LatencyRow row{who, repeated([&](std::size_t at) { sync(at, 1); }, group.get()), {}};
      for (const Nanos time : repeated([&](std::size_t at) { sync(at, kCalls); }, group.get()))
        row.back_to_back.push_back(time / kCalls);
      record_.latencies.push_back(std::move(row));
    };
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < devices_.size(); ++i) {
      for (std::uint32_t k = i + 1; k < devices_.size(); ++k) meet({i, k});
      all.push_back(i);
    }
    if (devices_.size() > 2) meet(all);
  }

  void collectives(std::size_t count, Collective collective) {
    const std::vector<OpenDevice*> devices = first(count);
    const auto group = backend_.connect(devices, options_.peer);
    std::vector<DeviceResources*> resources;
    for (OpenDevice* device : devices) resources.push_back(&device->resources());
    for (const Bytes size : options_.sizes) {
      CollectiveCall call{collective, options_.element, options_.reduction, size / bytes_of(options_.element), {}};
      if (collective == Collective::barrier) call.count = 0;
      CollectiveRow& row = record_.collectives.emplace_back();
      row.collective = to_string(collective);
      row.element = to_string(call.element);
      if (reduces(collective)) row.reduction = to_string(call.reduction);
      row.count = call.count;
      row.bytes = call.count * bytes_of(call.element);
      row.devices = static_cast<std::uint32_t>(count);
      row.bus_factor = bus_factor(collective, count);
      progress_(fmt::format("{} of {} on {}", row.collective, format_bytes(static_cast<double>(row.bytes)), count));
      try {
        Collectives made(*group, resources, std::max<Bytes>(row.bytes, 4));
        const Bytes most = std::max({largest_input(call, count), largest_output(call, count), Bytes{4}});
        CollectiveRun(backend_, devices, *group, made, call, host_memory(most).data()).measure(options_.repetitions, row);
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::out_of_memory && error.kind() != ErrorKind::unsupported) throw;
        row.skipped = error.what();
      }
      if (collective == Collective::barrier) break;
    }
  }

  Backend& backend_;
  std::vector<OpenDevice*> devices_;
  const LinkOptions& options_;
  LinksRecord& record_;
  const std::function<void(const std::string&)>& progress_;
  bool staged_again_ = false;
  std::vector<std::shared_ptr<void>> held_;  // host memory that transfers may be using
};

}  // namespace

void measure_links(Backend& backend, std::span<const std::unique_ptr<OpenDevice>> devices, const LinkOptions& options,
                   LinksRecord& record, const std::function<void(const std::string&)>& progress) {
  LinkRun(backend, devices, options, record, progress).measure();
}

}  // namespace mgpu
