#include "suites/merkle/leaves.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>

#include "lib/base/error.hpp"
#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"

namespace mgpu::merkle {
namespace {

Error cannot_read(const std::filesystem::path& file, const std::string& why) {
  return Error(ErrorKind::input, "--input " + file.string() + ": " + why);
}

Bytes size_of(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (error || !std::filesystem::exists(status)) throw cannot_read(file, "no such file");
  if (!std::filesystem::is_regular_file(status)) throw cannot_read(file, "not a regular file");
  const Bytes size = std::filesystem::file_size(file, error);
  if (error || !std::ifstream(file, std::ios::binary)) throw cannot_read(file, "cannot be opened");
  return size;
}

std::uint64_t leaves_in(const std::filesystem::path& file, Bytes size, Remainder remainder,
                        Bytes leaf_bytes) {
  const std::uint64_t whole = size / leaf_bytes, rest = size % leaf_bytes;
  if (rest != 0 && remainder == Remainder::refuse) {
    throw cannot_read(file, "its size of " + std::to_string(size) + " B is no multiple of the " +
                                std::to_string(leaf_bytes) + " of a leaf, " + std::to_string(rest) +
                                " are left over; expected: whole leaves, --pad to fill up the last "
                                "one with zeros, or --tree rfc6962 or hashed, where it may be "
                                "shorter");
  }
  return whole + (rest != 0);
}

}  // namespace

Leaves::Leaves(std::uint64_t count, Bytes leaf_bytes)
    : count_(count),
      leaf_bytes_(leaf_bytes),
      pages_(bytes_of_leaves(count, leaf_bytes), std::to_string(count) + " leaves") {}

Leaves Leaves::random(std::uint64_t count, std::uint64_t seed, unsigned threads, Bytes leaf_bytes) {
  constexpr std::uint64_t words_at_once = std::uint64_t{1} << 18;
  Leaves leaves(count, leaf_bytes);
  const Bytes size = count * leaf_bytes;
  std::byte* data = leaves.pages_.data();
  const auto fill = [&](std::uint64_t i) {
    const std::uint64_t x = splitmix64(seed, i);
    // Least significant byte first; whole words by one instruction where that is the host's order.
    if (std::endian::native == std::endian::little && (i + 1) * 8 <= size) {
      std::memcpy(data + i * 8, &x, 8);
      return;
    }
    const Bytes end = std::min<Bytes>(8, size - i * 8);
    for (unsigned b = 0; b < end; ++b) data[i * 8 + b] = static_cast<std::byte>(x >> (8 * b));
  };
  parallel_for(ceil_div(size, Bytes{8}), threads, fill, words_at_once);
  return leaves;
}

Leaves Leaves::from_file(const std::filesystem::path& file, std::uint64_t count,
                         Remainder remainder, Bytes leaf_bytes) {
  const Bytes size = size_of(file);
  if (leaves_in(file, size, remainder, leaf_bytes) != count)
    throw cannot_read(file, "does not hold the expected " + std::to_string(count) + " leaves");
  Leaves leaves(count, leaf_bytes);
  std::byte* data = leaves.pages_.data();
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw cannot_read(file, "cannot be opened");
  stream.read(reinterpret_cast<char*>(data), static_cast<std::streamsize>(size));
  if (stream.bad() || static_cast<Bytes>(stream.gcount()) != size)
    throw cannot_read(file, "cannot be read to its end");
  if (stream.peek() != std::ifstream::traits_type::eof())
    throw cannot_read(file, "grew while it was read");
  std::fill(data + size, data + count * leaf_bytes, std::byte{0});
  if (remainder == Remainder::short_leaf && size % leaf_bytes != 0) {
    leaves.unused_bytes_ = count * leaf_bytes - size;
    data[size] = std::byte{0x80};
  }
  return leaves;
}

std::uint64_t count_in_file(const std::filesystem::path& file, Remainder remainder,
                            Bytes leaf_bytes) {
  return leaves_in(file, size_of(file), remainder, leaf_bytes);
}

Bytes bytes_of_leaves(std::uint64_t count, Bytes leaf_bytes) {
  if (count > most_leaves)
    throw Error(ErrorKind::usage, "--size: at most 2^56 leaves, not " + std::to_string(count));
  if (count > most_leaves * digest_bytes / leaf_bytes)
    throw Error(ErrorKind::usage, "--leaf-bytes: at most 2^61 bytes in all, not " +
                                      std::to_string(count) + " leaves of " +
                                      std::to_string(leaf_bytes));
  return count * leaf_bytes;
}

}  // namespace mgpu::merkle
