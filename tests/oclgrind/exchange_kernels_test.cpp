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

constexpr std::size_t kMost = 8;         // most devices that kernels have arguments for
constexpr std::size_t kFlagWords = 32;   // distance of flags
constexpr Bytes kGuard = 64;             // bytes after the memory that a kernel may write
constexpr std::uint32_t kMostTiles = 8;  // flags of an exchange and device
constexpr std::uint64_t kLine = 16;      // words of a box before its data
constexpr std::byte kPoison{0xa5};       // value with which Disguised fills memory

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
    return std::string("-DNVIDIA -DCOMBINE=combine -DAT_ONCE=at_once -DIN_TILES=in_tiles") +
           " -DDEVICES=" + std::to_string(std::max(2u, devices)) +
           " -DMOST_TILES=" + std::to_string(kMostTiles) + " -DWAITERS=8" +
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

std::uint64_t address_of(DeviceResources& resources, Buffer& buffer) {
  const auto to = resources.allocate(8);
  const auto kernel = resources.kernel("peers.cl", "address", "");
  simulator().stream().launch(*kernel, {{1, 1, 1}, {1, 1, 1}}, {&buffer, to.get()});
  std::uint64_t address = 0;
  finish(simulator());
  std::memcpy(&address, fetched(*to).data(), sizeof address);
  return address;
}

// A device's end of a collective that is one launch of two work-groups. What the others send is in
// place before it. Numbers by device go to kernels from the device itself on.
struct OneLaunch {
  OneLaunch(const CollectiveCall& its_call, std::uint32_t n, std::uint32_t its_self,
            std::uint64_t its_offset, std::uint32_t its_number)
      : call(its_call),
        devices(n),
        self(its_self),
        number(its_number),
        moves(!reduces(call.collective)),
        size(bytes_of(call.element)),
        unit(moves ? 4 : size),
        begin(its_offset * size),
        kind{moves ? Element::u32 : call.element, call.reduction, n, self, 0, 0, false} {
    const Bytes room = begin + std::max(largest_input(call, n), largest_output(call, n)) + kGuard;
    for (std::uint32_t k = 0; k < n; ++k) {
      in.push_back(random_elements(call.element, input_bytes(call, n, {k}), 100 * call.count + k));
      out.push_back(resources.allocate(room));
    }
    mine = resources.allocate(room);
    write(*mine, begin, in[self]);
    const std::uint32_t none = 0;
    write(*status, 0, std::as_bytes(std::span(&none, 1)));
    std::vector<Bytestring> before;
    for (std::uint32_t k = 0; k < n; ++k) before.emplace_back(output_bytes(call, n, {k}), kPoison);
    results = expected_outputs(call, in, before);
  }
  std::uint32_t device(std::uint32_t k) const { return (self + k) % devices; }
  Segment segment(std::uint32_t from, std::uint32_t to, bool in_parts) const {
    return first_segment(call, devices, {from}, {to}, in_parts);
  }
  std::span<const std::byte> data(std::uint32_t from, const Segment& some) const {
    return std::span(in[from]).subspan(some.begin * size, some.size * size);
  }
  static ValueBytes bytes(const std::vector<std::uint64_t>& numbers) {
    return {std::as_bytes(std::span(numbers))};
  }
  void run(const char* entry, const std::vector<KernelArg>& args) {
    constexpr std::size_t kGroups = 2, kGroup = 12;
    const auto kernel =
        resources.kernel(kCollectiveKernels, entry, kind.options() + (moves ? " -DMOVES" : ""));
    simulator().stream().launch(*kernel, {{kGroups * kGroup, 1, 1}, {kGroup, 1, 1}}, args);
    finish(simulator());
    CHECK(words(fetched(*status)) == std::vector<std::uint32_t>{0});
  }
  // Checks `count` bytes of memory after `at`, and that the rest is poison.
  static void check(Buffer& memory, Bytes at, std::span<const std::byte> wanted) {
    const Bytestring all = fetched(memory);
    CHECK(std::memcmp(all.data() + at, wanted.data(), wanted.size()) == 0);
    CHECK(all_poison(std::span(all).first(at)));
    CHECK(all_poison(std::span(all).subspan(at + wanted.size())));
  }

  CollectiveCall call;
  std::uint32_t devices, self, number;
  bool moves;
  Bytes size, unit, begin;
  Call kind;  // of its kernel
  Disguised resources{simulator(), false};
  std::vector<Bytestring> in, results;
  std::vector<std::unique_ptr<Buffer>> out;  // those of others are written by tiles only
  std::unique_ptr<Buffer> mine, status = resources.allocate(4);
};

// Returns the 32-bit words of `bytes`, each with the number of a call below it.
Bytestring numbered(std::span<const std::byte> bytes, std::uint32_t number) {
  Bytestring all;
  for (const std::uint32_t word : words(bytes)) {
    const std::uint64_t posted = std::uint64_t{number} << 32 | word;
    const auto raw = std::as_bytes(std::span(&posted, 1));
    all.insert(all.end(), raw.begin(), raw.end());
  }
  return all;
}

// The words of the others are in place already.
void exchange_at_once(const CollectiveCall& call, std::uint32_t n, std::uint32_t self,
                      std::uint64_t offset, std::uint32_t number) {
  INFO(to_string(call.collective), " ", n, " ", self, " ", call.count);
  OneLaunch one(call, n, self, offset, number);
  const std::uint64_t box = kLine + 2 * call.count * one.size / 4;  // in words
  const Bytes half = (number & 1u) * n * box * 8;
  std::vector<std::unique_ptr<Buffer>> boxes;
  std::vector<std::uint64_t> sent(3 * n), come(3 * n), addresses(n);
  const Bytestring arrived = numbered(Bytestring(4), number);
  for (std::uint32_t k = 0; k < n; ++k) boxes.push_back(one.resources.allocate(2 * n * box * 8));
  for (std::uint32_t k = 0; k < n; ++k) {
    const std::uint32_t other = one.device(k);
    addresses[k] = address_of(one.resources, *boxes[other]);
    for (auto* side : {&sent, &come}) {
      const Segment some =
          side == &sent ? one.segment(self, other, false) : one.segment(other, self, false);
      (*side)[k] = (one.begin + some.begin * one.size) / one.unit;
      (*side)[n + k] = some.size * one.size / one.unit;
      (*side)[2 * n + k] = (one.begin + some.to * one.size) / one.unit;
      if (side == &sent || k == 0) continue;
      const Bytes at = half + other * box * 8;
      write(*boxes[self], at, arrived);
      write(*boxes[self], at + kLine * 8, numbered(one.data(other, some), number));
    }
  }
  one.run("at_once",
          {one.out[self].get(), one.mine.get(), OneLaunch::bytes(sent), OneLaunch::bytes(come),
           OneLaunch::bytes(addresses), box, self, number, one.status.get(), ~std::uint64_t{0}});
  OneLaunch::check(*one.out[self], one.begin, one.results[self]);
  for (std::uint32_t k = 1; k < n; ++k) {
    const std::uint32_t other = one.device(k);
    Bytestring wanted = arrived;
    const Bytestring data = numbered(one.data(self, one.segment(self, other, false)), number);
    if (!data.empty()) wanted.resize(kLine * 8, kPoison);
    wanted.insert(wanted.end(), data.begin(), data.end());
    OneLaunch::check(*boxes[other], half + self * box * 8, wanted);
  }
}

// Runs one device's end, after what the others send has landed and their results are stored.
void exchange_in_tiles(const CollectiveCall& call, std::uint32_t n, std::uint32_t self,
                       std::uint64_t offset, std::uint64_t tile, std::uint32_t number) {
  INFO(to_string(call.collective), " ", n, " ", self, " ", call.count);
  OneLaunch one(call, n, self, offset, number);
  const bool passes_on = call.collective == Collective::broadcast && n > 2;
  const bool in_parts = !one.moves || passes_on;
  const Part own = in_parts ? own_part(call, n, {self}) : Part{};
  const std::uint64_t longest = longest_segment(call, n, in_parts) * one.size / one.unit;
  const auto tiles = static_cast<std::uint32_t>((longest + tile - 1) / tile);
  REQUIRE(tiles <= kMostTiles);
  const Bytes slot = (longest * one.unit + 31) / 16 * 16;
  std::vector<std::unique_ptr<Buffer>> lands, flags;
  const std::vector<std::uint32_t> before(n + 2 * n * kMostTiles, number - 1),
      raised(before.size(), number);
  for (std::uint32_t k = 0; k < n; ++k) {
    lands.push_back(one.resources.allocate(slot * n));
    flags.push_back(one.resources.allocate(before.size() * 4));
    write(*flags[k], 0, std::as_bytes(std::span(k == self ? raised : before)));
  }
  for (std::uint32_t k = 0; k < n; ++k)
    if (k != self && !one.moves)
      write(*lands[self], k * slot, one.data(k, one.segment(k, self, true)));
  const auto output = [&](std::uint32_t of, std::uint64_t element) {
    return address_of(one.resources, *one.out[of]) + one.begin + element * one.size;
  };
  // Collects, by device, the outputs with what this device writes.
  std::vector<Bytestring> written;
  for (std::uint32_t k = 0; k < n; ++k) written.push_back(fetched(*one.out[k]));
  const auto writes = [&](std::uint32_t of, std::uint64_t element, std::uint64_t count,
                          const std::byte* from) {
    std::copy_n(from, count * one.size,
                written[of].begin() + static_cast<std::ptrdiff_t>(one.begin + element * one.size));
  };
  if (passes_on && self != call.root.value) {  // its part has come from the root
    const auto part =
        std::span(one.in[call.root.value]).subspan(own.begin * one.size, own.size() * one.size);
    write(*one.out[self], one.begin + own.begin * one.size, part);
    writes(self, own.begin, own.size(), part.data());
  }
  std::vector<std::uint64_t> sent(3 * n), to(n), also(n), results(n), marks(n);
  for (std::uint32_t k = 0; k < n; ++k) {
    const std::uint32_t other = one.device(k);
    const Segment some = one.segment(self, other, in_parts);
    marks[k] = address_of(one.resources, *flags[other]);
    sent[k] = (one.begin + some.begin * one.size) / one.unit;
    sent[n + k] = some.size * one.size / one.unit;
    if (some.size > 0 && one.moves && (k > 0 || !passes_on)) {
      to[k] = output(other, some.to);
      writes(other, some.to, some.size, one.data(self, some).data());
      if (passes_on) {
        also[k] = output(self, some.to);
        writes(self, some.to, some.size, one.data(self, some).data());
      }
    } else if (k > 0 && !one.moves) {
      to[k] = address_of(one.resources, *lands[other]) + self * slot;
    }
    const bool gets = call.collective == Collective::all_reduce ||
                      (call.collective == Collective::reduce_scatter && k == 0) ||
                      (call.collective == Collective::reduce && other == call.root.value) ||
                      (passes_on && k > 0 && other != call.root.value);
    if (!gets || own.size() == 0) continue;
    const std::uint64_t at = call.collective == Collective::reduce_scatter ? 0 : own.begin;
    results[k] = output(other, at);
    writes(other, at, own.size(), one.results[other].data() + at * one.size);
  }
  const auto aligned = [&](std::uint64_t each) { return each % 16 == 0; };
  const bool all_aligned = std::all_of(to.begin(), to.end(), aligned) &&
                           std::all_of(results.begin(), results.end(), aligned) &&
                           std::all_of(sent.begin(), sent.begin() + n, [&](std::uint64_t each) {
                             return aligned(each * one.unit);
                           });
  one.run(
      "in_tiles",
      {one.mine.get(), OneLaunch::bytes(sent), OneLaunch::bytes(to), OneLaunch::bytes(also),
       static_cast<std::uint32_t>(one.moves), one.moves ? passes_on ? 2u : 0u : 1u,
       own.size() * one.size / one.unit,
       one.moves ? output(self, own.begin) : address_of(one.resources, *lands[self]),
       slot / one.unit, OneLaunch::bytes(results), static_cast<std::uint32_t>(all_aligned), tile,
       tiles, OneLaunch::bytes(marks), self, number, one.status.get(), ~std::uint64_t{0}});
  for (std::uint32_t k = 0; k < n; ++k) {
    CHECK(fetched(*one.out[k]) == written[k]);
    if (k == self) continue;
    const Segment some = one.segment(self, k, in_parts);
    if (!one.moves) OneLaunch::check(*lands[k], self * slot, one.data(self, some));
    std::vector<std::uint32_t> wanted = before;
    if (one.moves) wanted[self] = number;
    for (std::uint32_t exchange = 0; exchange < (in_parts ? 2u : 1u); ++exchange)
      for (std::uint32_t t = 0; t < tiles; ++t)
        wanted[n + (exchange * n + self) * kMostTiles + t] = number;
    CHECK(words(fetched(*flags[k])) == wanted);
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

TEST_CASE("collectives: exchanged by one kernel") {
  using enum Collective;
  for (const Collective each : all_collectives()) {
    exchange_at_once({each, Element::f32, Reduction::sum, 131, {1}}, 2, 1, 0, 1);
    exchange_at_once({each, Element::u32, Reduction::max, 5, {2}}, 3, 0, 1, 2);
    exchange_at_once({each, Element::f64, Reduction::sum, 17, {0}}, 8, 7, 2, 7);
    if (each == barrier) continue;
    exchange_in_tiles({each, Element::f32, Reduction::sum, 131, {0}}, 2, 1, 0, 20, 1);
    exchange_in_tiles({each, Element::f32, Reduction::sum, 130, {2}}, 3, 2, 4, 32, 2);
    exchange_in_tiles({each, Element::u32, Reduction::max, 41, {0}}, 3, 0, 1, 8, 2);
    exchange_in_tiles({each, Element::f64, Reduction::sum, 67, {3}}, 8, 7, 2, 20, 7);
  }
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
