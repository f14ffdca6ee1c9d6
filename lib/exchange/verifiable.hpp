// Generated data whose correct outputs are known in advance, so that every element of every output
// can be checked without a reference run, as with the "verifiable" data of nccl-tests
// (github.com/NVIDIA/nccl-tests). Inputs are whole numbers below 256 that depend on device and
// position, so that sums over up to 65536 devices are exact in every type, in any order. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/exchange/collective.hpp"

namespace mgpu {

// Content of outputs before a call; no sum of inputs equals it.
inline constexpr std::byte kPoison{0xcd};

// Writes the elements of the device's input of a call, beginning with element `begin`, into `to`,
// which has whole elements. `seed` makes the data of calls differ, so that left-over results of an
// earlier call count as wrong.
void fill_input(const CollectiveCall& call, DeviceIndex device, std::uint64_t begin,
                std::uint64_t seed, std::span<std::byte> to);

// Returns the number of elements of the device's output, beginning with element `begin`, that are
// wrong for such inputs. Elements that the call does not write have to be poison.
std::uint64_t count_wrong(const CollectiveCall& call, std::size_t devices, DeviceIndex device,
                          std::uint64_t begin, std::uint64_t seed,
                          std::span<const std::byte> output);

// Does the same for memory that is only copied. Its 32-bit words differ from those of every other
// key at every position.
void fill_words(std::uint32_t key, std::span<std::byte> to);
std::uint64_t count_wrong_words(std::uint32_t key, std::span<const std::byte> words);

}  // namespace mgpu
