// Kernels of exchanges between devices, at sizes of a few elements, under Oclgrind as in
// small_kernels_test.cpp. One device plays all of them: the data and signals of the others are in
// place before a launch.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "lib/exchange/collectives.hpp"
#include "tests/oclgrind/simulator.hpp"
#include "tests/support/collective_check.hpp"

namespace mgpu::test {
namespace {

constexpr std::size_t kMost = 8;        // most devices that kernels have arguments for
constexpr std::size_t kFlagWords = 32;  // distance of flags
constexpr Bytes kGuard = 64;            // bytes after the memory that a kernel may write
constexpr std::byte kPoison{0xa5};      // value with which Disguised fills memory

Bytestring fetched(Buffer& buffer) {
  Bytestring bytes(buffer.size());
  simulator().stream().download(buffer, 0, bytes);
  finish(simulator());
  return bytes;
}

void write(Buffer& buffer, Bytes offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  simulator().stream().upload(buffer, offset, bytes);
  finish(simulator());
}

bool all_poison(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte each) { return each == kPoison; });
}

std::vector<std::uint32_t> words(std::span<const std::byte> bytes) {
  std::vector<std::uint32_t> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), values.size() * 4);
  return values;
}

struct Call {
  Element element;
  Reduction reduction;
  std::uint32_t devices, self;
  std::uint64_t count, offset;  // elements; before input and output
  bool cpu;

  Bytes size() const { return bytes_of(element); }
  bool aligned() const { return offset * size() % 16 == 0; }
  Bytes slot() const { return (count * size() + 15) / 16 * 16; }
  std::string options() const {
    static constexpr const char* types[] = {"uint", "ulong", "float", "double"};
    static constexpr const char* operations[] = {" -DSUM", " -DMIN", " -DMAX"};
    return std::string("-DNVIDIA -DCOMBINE=combine -DAT_ONCE=at_once -DIN_PARTS=in_parts") +
           " -DDEVICES=" + std::to_string(std::max(2u, devices)) +
           " -DELEMENT=" + types[static_cast<int>(element)] +
           " -DWIDTH=" + std::to_string(16 / size()) + operations[static_cast<int>(reduction)] +
           (element == Element::f64 ? " -DFP64" : "") + (cpu ? " -DLINEAR" : "");
  }
  std::vector<Bytestring> inputs() const {
    std::vector<Bytestring> in;
    for (std::uint32_t k = 0; k < devices; ++k)
      in.push_back(random_elements(element, count * size(), 100 * count + k));
    return in;
  }
};

// Checks that `result` is at the call's offset and that nothing else was written.
void check_output(const Call& call, Buffer& out, const Bytestring& result) {
  const Bytestring all = fetched(out);
  const Bytes begin = call.offset * call.size();
  CHECK(std::memcmp(all.data() + begin, result.data(), result.size()) == 0);
  CHECK(all_poison(std::span(all).first(begin)));
  CHECK(all_poison(std::span(all).subspan(begin + result.size())));
}

Bytestring expected(const Call& call, const std::vector<Bytestring>& in) {
  const CollectiveCall all_reduce{
      Collective::all_reduce, call.element, call.reduction, call.count, {}};
  return expected_outputs(all_reduce, in, in).front();
}

// Combines the inputs; the result goes to the memory of `outs` devices.
void combine(const Call& call, std::uint32_t outs) {
  INFO(call.options(), " ", call.devices, " ", call.count, " ", call.offset);
  Disguised resources(simulator(), call.cpu);
  const std::vector<Bytestring> in = call.inputs();
  const Bytes begin = call.offset * call.size(), size = begin + call.count * call.size() + kGuard;
  const auto mine = resources.allocate(size - kGuard),
             landing = resources.allocate(call.slot() * call.devices);
  write(*mine, begin, in[call.self]);
  for (std::uint32_t k = 0; k < call.devices; ++k)
    if (k != call.self) write(*landing, k * call.slot(), in[k]);
  std::vector<std::unique_ptr<Buffer>> made;
  std::array<Buffer*, kMost> to{};
  for (std::uint32_t k = 0; k < outs; ++k) made.push_back(resources.allocate(size));
  for (std::size_t k = 0; k < kMost; ++k) to[k] = made[k < outs ? k : 0].get();
  const auto kernel = resources.kernel(kCollectiveKernels, "combine", call.options());
  const Grid grid = call.cpu ? Grid{{3, 1, 1}, {1, 1, 1}} : Grid{{8, 1, 1}, {4, 1, 1}};
  simulator().stream().launch(
      *kernel, grid,
      {to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7], outs, call.offset, mine.get(),
       call.offset, landing.get(), call.slot() / call.size(), call.count, call.self, call.devices,
       static_cast<std::uint32_t>(call.aligned())});
  finish(simulator());
  const Bytestring result = expected(call, in);
  for (const auto& out : made) check_output(call, *out, result);
}

// Memory of each device, all filled with poison.
std::vector<std::unique_ptr<Buffer>> pieces(DeviceResources& resources, const Call& call,
                                            Bytes size) {
  std::vector<std::unique_ptr<Buffer>> made;
  for (std::uint32_t k = 0; k < call.devices; ++k) made.push_back(resources.allocate(size));
  return made;
}

// A device's end of a call of a kernel that also exchanges, with two work-groups.
struct OneLaunch {
  explicit OneLaunch(const Call& its_call) : call(its_call) {
    write(*mine, begin, in[call.self]);
    const std::uint32_t none = 0;
    write(*status, 0, std::as_bytes(std::span(&none, 1)));
  }
  void run(const char* entry, const std::vector<KernelArg>& args) {
    constexpr std::size_t kGroups = 2, kGroup = 8;
    const auto kernel = resources.kernel(kCollectiveKernels, entry, call.options());
    simulator().stream().launch(*kernel, {{kGroups * kGroup, 1, 1}, {kGroup, 1, 1}}, args);
    finish(simulator());
    CHECK(words(fetched(*status)) == std::vector<std::uint32_t>{0});
  }

  Call call;
  Disguised resources{simulator(), false};
  std::vector<Bytestring> in = call.inputs();
  Bytes begin = call.offset * call.size(), size = begin + call.count * call.size() + kGuard;
  std::unique_ptr<Buffer> mine = resources.allocate(size - kGuard), status = resources.allocate(4);
};

void add_each(std::vector<KernelArg>& args, const std::vector<std::unique_ptr<Buffer>>& memory) {
  for (const auto& piece : memory) args.emplace_back(piece.get());
}

// Returns the 32-bit words of `bytes`, each with the number of a call below it.
Bytestring numbered(const Bytestring& bytes, std::uint32_t number) {
  Bytestring all;
  for (const std::uint32_t word : words(bytes)) {
    const std::uint64_t posted = std::uint64_t{number} << 32 | word;
    const auto raw = std::as_bytes(std::span(&posted, 1));
    all.insert(all.end(), raw.begin(), raw.end());
  }
  return all;
}

// The words of the others are in place already.
void exchange_at_once(const Call& call, std::uint32_t number) {
  INFO(call.devices, " ", call.self, " ", call.count);
  OneLaunch one(call);
  const Bytes box = 2 * call.slot(), half = (number & 1u) * call.devices * box;
  const auto out = one.resources.allocate(one.size);
  const auto boxes = pieces(one.resources, call, 2 * call.devices * box);
  for (std::uint32_t k = 0; k < call.devices; ++k)
    if (k != call.self) write(*boxes[call.self], half + k * box, numbered(one.in[k], number));
  std::vector<KernelArg> args{out.get(),        call.offset,      one.mine.get(), call.offset,
                              call.count,       call.self,        box / 8,        number,
                              one.status.get(), ~std::uint64_t{0}};
  add_each(args, boxes);
  one.run("at_once", args);
  check_output(call, *out, expected(call, one.in));
  const Bytestring sent = numbered(one.in[call.self], number);
  for (std::uint32_t k = 0; k < call.devices; ++k) {
    if (k == call.self) continue;
    const Bytestring land = fetched(*boxes[k]);
    const Bytes at = half + call.self * box;
    CHECK(std::memcmp(land.data() + at, sent.data(), sent.size()) == 0);
    CHECK(all_poison(std::span(land).first(at)));
    CHECK(all_poison(std::span(land).subspan(at + sent.size())));
  }
}

// The parts of the others for this device have landed already, and their results have been stored.
void exchange_in_parts(const Call& call, std::uint64_t tile, std::uint32_t number) {
  INFO(call.devices, " ", call.self, " ", call.count);
  OneLaunch one(call);
  const auto part = [&](std::uint32_t k) {
    return part_of(call.count, call.element, call.devices, k);
  };
  const Bytes slot = (part(0).size() + 16) * call.size() / 16 * 16;
  const std::uint64_t largest = std::max(part(0).size(), part(call.devices - 1).size());
  const auto tiles = static_cast<std::uint32_t>((largest + tile - 1) / tile);
  const auto outs = pieces(one.resources, call, one.size),
             lands = pieces(one.resources, call, slot * call.devices),
             flags = pieces(one.resources, call, Bytes{2} * call.devices * tiles * 4);
  const std::vector<std::uint32_t> before(2 * call.devices * tiles, number - 1),
      raised(2 * call.devices * tiles, number);
  const Part own = part(call.self);
  for (std::uint32_t k = 0; k < call.devices; ++k) {
    write(*flags[k], 0, std::as_bytes(std::span(k == call.self ? raised : before)));
    if (k != call.self)
      write(*lands[call.self], k * slot,
            std::span(one.in[k]).subspan(own.begin * call.size(), own.size() * call.size()));
  }
  std::vector<KernelArg> args;
  add_each(args, outs);
  for (const KernelArg& each : std::initializer_list<KernelArg>{
           call.offset, one.mine.get(), call.offset, call.count, call.self,
           static_cast<std::uint32_t>(call.aligned()), slot / call.size(), tile, tiles, number,
           one.status.get(), ~std::uint64_t{0}})
    args.push_back(each);
  add_each(args, lands);
  add_each(args, flags);
  one.run("in_parts", args);
  const Bytestring result = expected(call, one.in);
  const Bytes at = one.begin + own.begin * call.size(), size = own.size() * call.size();
  for (std::uint32_t k = 0; k < call.devices; ++k) {
    const Bytestring out = fetched(*outs[k]);
    CHECK(std::memcmp(out.data() + at, result.data() + own.begin * call.size(), size) == 0);
    CHECK(all_poison(std::span(out).first(at)));
    CHECK(all_poison(std::span(out).subspan(at + size)));
    if (k == call.self) continue;
    const Bytestring land = fetched(*lands[k]);
    const Bytes to = call.self * slot, sent = part(k).size() * call.size();
    CHECK(std::memcmp(land.data() + to, one.in[call.self].data() + part(k).begin * call.size(),
                      sent) == 0);
    CHECK(all_poison(std::span(land).first(to)));
    CHECK(all_poison(std::span(land).subspan(to + sent)));
    std::vector<std::uint32_t> expected_flags = before;
    for (const std::uint32_t phase : {0u, 1u})
      for (std::uint32_t t = 0; t < tiles; ++t)
        expected_flags[(phase * call.devices + call.self) * tiles + t] = number;
    CHECK(words(fetched(*flags[k])) == expected_flags);
  }
}

}  // namespace

TEST_CASE("collectives: what devices put is combined") {
  for (const bool cpu : {false, true}) {
    combine({Element::f32, Reduction::sum, 1, 0, 37, 0, cpu}, 1);
    combine({Element::f32, Reduction::sum, 3, 1, 37, 4, cpu}, 3);
    combine({Element::u32, Reduction::min, 2, 1, 1, 1, cpu}, 2);
    combine({Element::u64, Reduction::max, 8, 7, 21, 2, cpu}, 8);
    combine({Element::f64, Reduction::sum, 5, 2, 19, 3, cpu}, 1);
    combine({Element::f64, Reduction::min, 2, 0, 34, 0, cpu}, 2);
  }
}

TEST_CASE("collectives: exchanged and combined by one kernel") {
  exchange_at_once({Element::f32, Reduction::sum, 2, 1, 131, 0, false}, 1);
  exchange_at_once({Element::u32, Reduction::max, 3, 0, 5, 1, false}, 2);
  exchange_at_once({Element::f64, Reduction::sum, 8, 7, 17, 2, false}, 7);
  exchange_in_parts({Element::f32, Reduction::sum, 2, 1, 131, 0, false}, 16, 1);
  exchange_in_parts({Element::f32, Reduction::sum, 3, 2, 130, 4, false}, 32, 2);
  exchange_in_parts({Element::u32, Reduction::max, 3, 0, 41, 1, false}, 8, 2);
  exchange_in_parts({Element::f64, Reduction::sum, 8, 7, 67, 2, false}, 4, 7);
}

TEST_CASE("peers: bytes that a kernel puts into another device's memory") {
  Disguised resources(simulator(), false);
  constexpr Bytes kSize = 96;
  const auto from = resources.allocate(kSize);
  const Bytestring given = random_elements(Element::u32, kSize, 3);
  write(*from, 0, given);
  const auto kernel = resources.kernel("peers.cl", "put", "");
  for (const auto& [to_at, from_at, size] : {std::array<Bytes, 3>{0, 0, 64},
                                             {16, 32, 49},
                                             {4, 8, 30},
                                             {8, 4, 3},
                                             {1, 0, 17},
                                             {3, 3, 1}}) {
    INFO(to_at, " ", size);
    const auto to = resources.allocate(kSize);
    simulator().stream().launch(*kernel, {{8, 1, 1}, {4, 1, 1}},
                                {to.get(), to_at, from.get(), from_at, size});
    finish(simulator());
    const Bytestring all = fetched(*to);
    CHECK(std::memcmp(all.data() + to_at, given.data() + from_at, size) == 0);
    CHECK(all_poison(std::span(all).first(to_at)));
    CHECK(all_poison(std::span(all).subspan(to_at + size)));
  }
}

TEST_CASE("peers: signals, and one that does not come") {
  Disguised resources(simulator(), false);
  const auto status = resources.allocate(4);
  const std::vector<std::byte> zeros(3 * kMost * kFlagWords * 4);
  write(*status, 0, std::span(zeros).first(4));
  std::vector<std::unique_ptr<Buffer>> flags;
  for (std::size_t k = 0; k < kMost; ++k) {
    flags.push_back(resources.allocate(zeros.size()));
    write(*flags.back(), 0, zeros);
  }
  const auto kernel = resources.kernel("peers.cl", "sync", "");
  const auto sync = [&](std::uint32_t self, std::uint32_t signal, std::uint32_t await) {
    simulator().stream().launch(*kernel, {{kMost, 1, 1}, {kMost, 1, 1}},
                                {signal, await, self, status.get(), ~std::uint64_t{0},
                                 flags[0].get(), flags[1].get(), flags[2].get(), flags[3].get(),
                                 flags[4].get(), flags[5].get(), flags[6].get(), flags[7].get()});
    finish(simulator());
    return words(fetched(*status)).front();
  };
  const auto flag = [&](std::uint32_t of, std::size_t line) {
    return words(fetched(*flags[of]))[line * kFlagWords];
  };
  CHECK(sync(0, 0b10000010, 0) == 0);  // 0 signals 1 and 7
  CHECK(sync(7, 0b00000001, 0b00000001) == 0);
  CHECK(sync(1, 0b00000001, 0b00000001) == 0);
  CHECK(sync(0, 0, 0b10000010) == 0);
  CHECK(flag(1, 0) == 1);
  CHECK(flag(7, 0) == 1);
  CHECK(flag(0, 7) == 1);
  CHECK(flag(0, kMost + 7) == 1);      // it signalled 7 once
  CHECK(flag(0, 2 * kMost + 1) == 1);  // and waited for 1 once
  CHECK(flag(2, 0) == 0);
  CHECK(sync(3, 0, 0b00100000) == 6);  // 5 never signalled
  CHECK(sync(3, 0, 0b01000000) == 6);  // the first missing device is recorded
}

}  // namespace mgpu::test
