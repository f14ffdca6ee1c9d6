// Data of which everybody knows what has to arrive, so that every element of every output can be
// checked without a reference run, as with the "verifiable" data of nccl-tests
// (github.com/NVIDIA/nccl-tests): inputs are whole numbers below 256 that depend on device and
// position, so that sums over up to 65536 devices are exact in every type, in any order. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/exchange/collective.hpp"

namespace mgpu {

// What outputs hold before a call: no sum of inputs is like it.
inline constexpr std::byte kPoison{0xcd};

// Writes the elements of the device's input of a call, from element `begin` on, into whole elements
// of `to`. `seed` tells calls apart: what an earlier one left is wrong.
void fill_input(const CollectiveCall& call, DeviceIndex device, std::uint64_t begin,
                std::uint64_t seed, std::span<std::byte> to);

// How many elements of the device's output, from element `begin` on, are not what the call makes of
// such inputs. Those that the call does not write have to be poison.
std::uint64_t count_wrong(const CollectiveCall& call, std::size_t devices, DeviceIndex device,
                          std::uint64_t begin, std::uint64_t seed,
                          std::span<const std::byte> output);

// Likewise of memory that is only copied: 32-bit words, at no position the same as those of another
// key.
void fill_words(std::uint32_t key, std::span<std::byte> to);
std::uint64_t count_wrong_words(std::uint32_t key, std::span<const std::byte> words);

}  // namespace mgpu
