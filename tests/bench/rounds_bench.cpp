// Time of an iteration in which nothing is computed: rounds/WAY/halo:BYTES/devices:N, of iterative
// work through the executor (lib/exec/worker.cpp). Devices form a ring, and each sends its halo to
// both of its neighbours.
//   persistent   one kernel for all iterations, which writes words into its neighbours' memory and
//                waits for theirs; a halo of 0 bytes still has one word, which is the signal
//   enqueued     one such kernel per iteration
//   staged       the same through memory of the host
//   puts         an empty kernel, puts and a signal per iteration, on the best path there is
//   staged-puts  the same by way of the host
// Times are those of samples (manual time), with one iteration per item; the counter us_per_round
// is their median.
#include "tests/bench/rounds_bench.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>

#include "lib/plan/rounds.hpp"
#include "tests/bench/failure.hpp"

namespace mgpu::bench {
namespace {

constexpr Bytes kWord = 8, kOfData = 4;
constexpr std::uint32_t kRounds = 1000;
// How long a kernel waits for another one: nanoseconds on NVIDIA GPUs, number of polls elsewhere.
// CPUs compile at the first launch.
constexpr std::uint64_t kLimitNs = 2'000'000'000, kLooks = std::uint64_t{1} << 32;

enum class Way { puts, enqueued, persistent };

struct RoundsCase {
  Way way = Way::puts;
  std::optional<PeerPath> path;
  Bytes halo = 0;
  std::size_t devices = 1;
};

// Iterative work with one item per device that computes nothing.
class EmptyRounds final : public Workload, public IterativeWorkload, public PeerExchange {
 public:
  WorkloadInterfaces interfaces() override { return {.iterative = this, .exchange = this}; }
  void set_partition(std::span<const Owner>) override {}
  Exchanged exchanged(Mode) const override { return {}; }
  void disconnect() override {}
  explicit EmptyRounds(const RoundsCase& given) : given_(given) {
    shape_.items = given.devices;
    shape_.rounds = kRounds;
    shape_.rate_unit = "rounds/s";
  }
  const RoundsCase& given() const { return given_; }
  std::uint32_t words() const {
    return static_cast<std::uint32_t>(std::max(given_.halo / kOfData, Bytes{1}));
  }
  Bytes mail_bytes() const { return 4 * words() * kWord; }  // two neighbours, double-buffered
  SharedMemory* mail() { return mail_.get(); }
  std::uint32_t number() const { return number_; }

  const Shape& shape() const override { return shape_; }
  Capacity capacity(const DeviceTraits&, Mode) const override {
    return {shape_.items, shape_.items, 0, ""};
  }
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode, const Capacity&) override;
  std::span<const std::byte> transfer_memory() const override { return {}; }
  void connect(PeerGroup& group) override {
    mail_ = given_.way == Way::puts ? group.allocate(mail_bytes())
                                    : group.allocate_reachable(mail_bytes());
    if (!mail_) throw Error(ErrorKind::unsupported, "devices do not reach each other's memory");
  }
  void begin_sample() override { number_ += kRounds; }
  void merge() override {}
  std::string digest() const override { return {}; }
  Verdict verify(VerifyLevel, std::uint64_t) override { return {}; }
  void write_result(const std::filesystem::path&) const override {}

 private:
  RoundsCase given_;
  Shape shape_;
  std::unique_ptr<SharedMemory> mail_;
  std::uint32_t number_ = 1;
};

class EmptyProgram final : public DeviceProgram, public IterativeProgram {
 public:
  ProgramInterfaces interfaces() override { return {.iterative = this}; }
  EmptyProgram(EmptyRounds& workload, DeviceResources& device)
      : workload_(workload), peer_(device.peer()) {
    const bool nvidia = device.traits().nvidia;
    if (workload.given().way != Way::puts) {
      kernel_ = device.kernel("rounds.cl", "rounds", nvidia ? "-DNVIDIA" : "");
      limit_ = nvidia ? kLimitNs : kLooks;
      local_ = std::min<std::size_t>(device.traits().max_work_group, 512);
    } else {
      kernel_ = device.kernel("spin.cl", "spin", "");
    }
    own_ = device.allocate(workload.mail_bytes());
    status_ = device.allocate(2 * sizeof(std::uint32_t));
    const std::vector<std::byte> nothing(own_->size());
    device.try_out([&](Stream& stream) {
      stream.upload(*own_, 0, nothing);
      stream.upload(*status_, 0, std::span(nothing).first(status_->size()));
      if (peer_ != nullptr) stream.upload(workload.mail()->piece(peer_->self()), 0, nothing);
    });
    if (peer_ == nullptr) return;
    const auto n = static_cast<std::uint32_t>(peer_->count()), self = peer_->self().value;
    before_ = {(self + n - 1) % n};
    after_ = {(self + 1) % n};
    others_ = {before_};
    if (after_ != before_) others_.push_back(after_);
  }

  void load(Stream&) override {}
  void prepare(Stream&) override {}
  ResultPolicy result_policy() const override { return ResultPolicy::publish; }
  void enqueue(const Slice&, unsigned, Stream&) override { meet(); }
  void enqueue_round(const Slice&, std::uint32_t round, Stream& stream) override {
    if (workload_.given().way != Way::puts) return launch(round, 1, stream);
    stream.launch(*kernel_, {}, {status_.get(), std::uint32_t{0}});  // a count of 0
    const Bytes halo = workload_.given().halo;
    for (const DeviceIndex to : {before_, after_})
      if (peer_ != nullptr && halo > 0)
        peer_->put(*own_, 0, *workload_.mail(), to, to == before_ ? 0 : halo, halo);
    meet();
  }
  std::uint32_t enqueue_rounds(const Slice& slice, std::uint32_t first, std::uint32_t most,
                               Stream& stream) override {
    if (workload_.given().way == Way::puts)
      return IterativeProgram::enqueue_rounds(slice, first, most, stream);
    if (workload_.given().way == Way::persistent) {
      launch(first, most, stream);
      return most;
    }
    constexpr std::uint32_t series = 8;  // the value that suites/stencil uses
    const std::uint32_t rounds = std::min(most, series);
    stream.begin_series(rounds);
    for (std::uint32_t i = 0; i < rounds; ++i) launch(first + i, 1, stream);
    return rounds;
  }
  Completion publish(Stream& stream) override {
    stream.download(*status_, 0, std::as_writable_bytes(std::span(&failed_, 1)));
    return [this] {
      if (failed_ != 0 && workload_.given().way != Way::puts)
        throw Error(ErrorKind::device,
                    "a kernel waited in vain for device " + std::to_string(failed_ - 1));
    };
  }

 private:
  void launch(std::uint32_t first, std::uint32_t count, Stream& stream) {
    const auto mail_of = [&](DeviceIndex device) {
      return peer_ == nullptr ? own_.get() : workload_.mail()->remote(peer_->self(), device);
    };
    Buffer* const mail = peer_ == nullptr ? own_.get() : &workload_.mail()->piece(peer_->self());
    stream.launch(
        *kernel_, {{local_, 1, 1}, {local_, 1, 1}},
        {mail, mail_of(before_), mail_of(after_), status_.get(), limit_, workload_.words(), count,
         workload_.number() + first, before_.value, after_.value});
  }
  void meet() {
    if (peer_ != nullptr) peer_->sync(others_, others_);
  }
  EmptyRounds& workload_;
  Peer* peer_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Buffer> own_, status_;
  std::uint64_t limit_ = 0;
  std::size_t local_ = 1;
  DeviceIndex before_, after_;
  std::vector<DeviceIndex> others_;
  std::uint32_t failed_ = 0;
};

std::unique_ptr<DeviceProgram> EmptyRounds::program(DeviceResources& device, Mode,
                                                    const Capacity&) {
  return std::make_unique<EmptyProgram>(*this, device);
}

// Devices and programs of one case. The group's memory and the programs are destroyed before the
// group.
struct Ring {
  Ring(Machine& made, const RoundsCase& given) : machine(made), workload(given) {
    std::vector<OpenDevice*> open;
    for (std::size_t i = 0; i < given.devices; ++i) open.push_back(machine.devices()[i].open.get());
    if (open.size() > 1) {
      group = machine.backend().connect(open, given.path);
      workload.connect(*group);
    }
    request.workload = &workload;
    request.peers = group.get();
    for (std::uint32_t i = 0; i < open.size(); ++i) {
      programs.push_back(workload.program(open[i]->resources(), Mode::resident, {}));
      request.participants.push_back({open[i], programs.back().get()});
      if (!group) continue;
      request.places.push_back({i});
      request.exchanging.push_back(true);
    }
  }
  Nanos sample() {
    const auto source = make_kept_shares(std::vector<Items>(programs.size(), 1));
    request.source = source.get();
    const RawSample sample = machine.executor().run(request);
    if (sample.failure) throw *sample.failure;
    if (!sample.faults.empty()) throw Error(sample.faults.front().kind, sample.faults.front().what);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      OpenDevice& device = *machine.devices()[i].open;
      complete(machine.backend(), device, programs[i]->publish(device.stream()));
    }
    return sample.makespan();
  }

  Machine& machine;
  std::unique_ptr<PeerGroup> group;
  EmptyRounds workload;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  SampleRequest request;
};

void run_rounds(benchmark::State& state, Machine& machine, const RoundsCase& given) {
  try {
    Ring ring(machine, given);
    ring.sample();
    std::vector<double> times;
    for (auto _ : state) {
      times.push_back(seconds(ring.sample()));
      state.SetIterationTime(times.back());
    }
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                     times.end());
    state.counters["us_per_round"] = times[times.size() / 2] / kRounds * 1e6;
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * kRounds);
    state.SetLabel(machine.words());
  } catch (const std::exception& error) {
    fail(state, error.what());
  }
}

}  // namespace

void register_rounds(Machine& machine) {
  for (std::size_t devices = 1; devices <= machine.devices().size(); ++devices) {
    for (const std::string name : {"persistent", "enqueued", "staged", "puts", "staged-puts"}) {
      for (const Bytes halo : {Bytes{0}, Bytes{4096}}) {
        const bool staged = name.starts_with("staged");
        if (devices == 1 && (staged || halo > 0)) continue;  // there is no receiver
        if (name == "staged" && machine.devices()[0].facts.is_cpu())
          continue;  // kernels of CPUs are never staged
        RoundsCase given{Way::enqueued, staged ? std::optional(PeerPath::staged) : std::nullopt,
                         halo, devices};
        if (name == "persistent") given.way = Way::persistent;
        if (name.ends_with("puts")) given.way = Way::puts;
        benchmark::RegisterBenchmark(
            ("rounds/" + name + "/halo:" + std::to_string(halo) +
             "/devices:" + std::to_string(devices))
                .c_str(),
            [&machine, given](benchmark::State& state) { run_rounds(state, machine, given); })
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

}  // namespace mgpu::bench
