// Runs a collective on devices and compares every byte that each of them holds with the result of
// plain loops over all inputs.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/exchange/collectives.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu::test {

using Bytestring = std::vector<std::byte>;

// Returns any value of the type, including zeros of both signs, infinities and subnormals, so that
// sums of floating-point numbers depend on their order.
template <class T>
T any_value(std::mt19937_64& random) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random());
  } else {
    const int kind = static_cast<int>(random() % 64);
    if (kind == 0) return T{0};
    if (kind == 1) return -T{0};
    if (kind == 2) return std::numeric_limits<T>::infinity();
    return std::ldexp(static_cast<T>(static_cast<std::int64_t>(random()) >> 16),
                      static_cast<int>(random() % 40) - 60);
  }
}

template <class T>
T combined(Reduction reduction, T a, T b) {
  if (reduction == Reduction::sum) return a + b;
  if (reduction == Reduction::min) return b < a ? b : a;
  return b > a ? b : a;
}

// Calls f(T{}) with the C++ type of the element.
template <class F>
auto with_type(Element element, const F& f) {
  switch (element) {
    case Element::u32:
      return f(std::uint32_t{});
    case Element::u64:
      return f(std::uint64_t{});
    case Element::f32:
      return f(float{});
    default:
      return f(double{});
  }
}

inline Bytestring random_elements(Element element, Bytes bytes, std::uint64_t seed) {
  return with_type(element, [&](auto zero) {
    using T = decltype(zero);
    std::mt19937_64 random(seed);
    // Large inputs repeat one row, whose length no piece is a multiple of.
    std::vector<T> values(std::min<std::size_t>(bytes / sizeof(T), 8191));
    for (T& value : values) value = any_value<T>(random);
    const Bytes row = values.size() * sizeof(T);
    Bytestring result(bytes);
    for (Bytes at = 0; at < bytes; at += row)
      std::memcpy(result.data() + at, values.data(), std::min(row, bytes - at));
    return result;
  });
}

// Returns what the outputs must hold afterwards, given the inputs and their former contents.
inline std::vector<Bytestring> expected_outputs(const CollectiveCall& call,
                                                const std::vector<Bytestring>& in,
                                                std::vector<Bytestring> out) {
  const std::size_t n = in.size();
  const Bytes size = bytes_of(call.element);
  const auto part = [&](std::size_t i) { return part_of(call.count, call.element, n, i); };
  const auto copy = [&](std::size_t to, std::uint64_t at, std::size_t from, std::uint64_t begin,
                        std::uint64_t count) {
    if (count > 0)
      std::memcpy(out[to].data() + at * size, in[from].data() + begin * size, count * size);
  };
  const auto reduced = [&](std::size_t to, std::uint64_t at, const Part& elements) {
    with_type(call.element, [&](auto zero) {
      using T = decltype(zero);
      T* const sums = reinterpret_cast<T*>(out[to].data()) + at;
      for (std::size_t k = 0; k < n; ++k) {
        const T* const next = reinterpret_cast<const T*>(in[k].data()) + elements.begin;
        for (std::uint64_t i = 0; i < elements.size(); ++i)
          sums[i] = k == 0 ? next[i] : combined(call.reduction, sums[i], next[i]);
      }
    });
  };
  for (std::size_t i = 0; i < n; ++i) {
    switch (call.collective) {
      case Collective::barrier:
        break;
      case Collective::broadcast:
        copy(i, 0, call.root.value, 0, call.count);
        break;
      case Collective::reduce:
        if (i == call.root.value) reduced(i, 0, {0, call.count});
        break;
      case Collective::all_reduce:
        reduced(i, 0, {0, call.count});
        break;
      case Collective::all_gather:
        for (std::size_t k = 0; k < n; ++k) copy(i, part(k).begin, k, 0, part(k).size());
        break;
      case Collective::reduce_scatter:
        reduced(i, 0, part(i));
        break;
      case Collective::all_to_all:
        for (std::size_t k = 0; k < n; ++k)
          copy(i, k * part(i).size(), k, part(i).begin, part(i).size());
        break;
      case Collective::neighbours:
        if (i > 0) copy(i, 0, i - 1, call.count, call.count);
        if (i + 1 < n) copy(i, call.count, i + 1, 0, call.count);
        break;
    }
  }
  return out;
}

// Devices of a backend that are opened and connected.
class Connected {
 public:
  Connected(Backend& backend, std::vector<std::unique_ptr<OpenDevice>>& devices, std::size_t count,
            std::optional<PeerPath> path, Bytes largest)
      : backend_(backend) {
    std::vector<DeviceResources*> resources;
    for (std::size_t i = 0; i < count; ++i) {
      devices_.push_back(devices[i].get());
      resources.push_back(&devices[i]->resources());
    }
    group_ = backend.connect(devices_, path);
    collectives_ = std::make_unique<Collectives>(*group_, resources, largest);
  }
  PeerGroup& group() { return *group_; }
  Collectives& collectives() { return *collectives_; }
  const std::vector<OpenDevice*>& devices() const { return devices_; }

  // Waits until every command on every device has ended.
  void finish() {
    std::vector<BatchId> batches;
    for (OpenDevice* device : devices_) batches.push_back(device->submit());
    std::vector<bool> over(devices_.size());
    const auto done = [&] {
      bool all = true;
      for (std::size_t i = 0; i < devices_.size(); ++i) {
        if (!over[i]) over[i] = devices_[i]->complete(batches[i]);
        all = all && over[i];
      }
      return all;
    };
    wait_until(backend_, "a collective", backend_.limits().answer, {}, done, [] {});
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      devices_[i]->take(batches[i]);
      group_->check({static_cast<std::uint32_t>(i)});
    }
  }

  // Runs `times` calls in succession, each with its own inputs, `offset` elements into their
  // memory. With `in_place` the output is where the input is. Returns true if every device holds
  // what it should and nothing else was written.
  bool right(const CollectiveCall& call, std::uint64_t seed, bool in_place = false,
             std::uint64_t offset = 0, unsigned times = 1) {
    const std::size_t n = devices_.size();
    const Bytes begin = offset * bytes_of(call.element), guard = 64;
    const Bytes in_size = begin + std::max(largest_input(call, n), largest_output(call, n)) + guard;
    std::vector<std::unique_ptr<SharedMemory>> inputs, outputs;
    std::vector<std::vector<Bytestring>> expected(times), before(times), after(times);
    for (unsigned t = 0; t < times; ++t) {
      inputs.push_back(group_->allocate(in_size));
      outputs.push_back(in_place ? nullptr : group_->allocate(in_size));
      SharedMemory& in = *inputs[t];
      SharedMemory& out = in_place ? in : *outputs[t];
      std::vector<Bytestring> given;
      for (std::size_t i = 0; i < n; ++i) {
        const DeviceIndex device{static_cast<std::uint32_t>(i)};
        const std::uint64_t own = seed * 1000 + t * 100 + i;
        given.push_back(random_elements(call.element, input_bytes(call, n, device), own));
        Bytestring& old =
            before[t].emplace_back(random_elements(Element::u32, in_size / 4 * 4, own + 77));
        old.resize(in_size);
        if (in_place)
          std::copy(given[i].begin(), given[i].end(),
                    old.begin() + static_cast<std::ptrdiff_t>(begin));
        after[t].emplace_back(in_size);
      }
      for (std::size_t i = 0; i < n; ++i) {
        const DeviceIndex device{static_cast<std::uint32_t>(i)};
        Stream& stream = devices_[i]->stream();
        stream.upload(out.piece(device), 0, before[t][i]);
        if (!in_place && !given[i].empty()) stream.upload(in.piece(device), begin, given[i]);
      }
      finish();  // before other devices put into it
      std::vector<Bytestring> outputs_before;
      for (const Bytestring& old : before[t])
        outputs_before.emplace_back(old.begin() + static_cast<std::ptrdiff_t>(begin), old.end());
      expected[t] = expected_outputs(call, given, std::move(outputs_before));
    }
    for (std::size_t i = 0; i < n; ++i) {
      const DeviceIndex device{static_cast<std::uint32_t>(i)};
      for (unsigned t = 0; t < times; ++t) {
        SharedMemory& out = in_place ? *inputs[t] : *outputs[t];
        collectives_->enqueue(device, call, {&inputs[t]->piece(device), begin}, {&out, begin},
                              devices_[i]->stream());
      }
    }
    finish();
    for (unsigned t = 0; t < times; ++t) {
      SharedMemory& out = in_place ? *inputs[t] : *outputs[t];
      for (std::size_t i = 0; i < n; ++i)
        devices_[i]->stream().download(out.piece({static_cast<std::uint32_t>(i)}), 0, after[t][i]);
    }
    finish();
    bool right = true;
    for (unsigned t = 0; t < times; ++t) {
      for (std::size_t i = 0; i < n; ++i) {
        const auto from = [&](const Bytestring& all) { return all.data() + begin; };
        right = right && std::memcmp(after[t][i].data(), before[t][i].data(), begin) == 0 &&
                std::memcmp(from(after[t][i]), expected[t][i].data(), expected[t][i].size()) == 0;
      }
    }
    return right;
  }

 private:
  Backend& backend_;
  std::vector<OpenDevice*> devices_;
  std::unique_ptr<PeerGroup> group_;
  std::unique_ptr<Collectives> collectives_;
};

}  // namespace mgpu::test
