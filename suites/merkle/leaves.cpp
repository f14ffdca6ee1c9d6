// Making and reading leaves.
#include "suites/merkle/leaves.hpp"

#include <algorithm>
#include <fstream>

#include "lib/base/error.hpp"
#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"

namespace mgpu::merkle {
namespace {

Error cannot_read(const std::filesystem::path& file, const std::string& why) {
  return Error(ErrorKind::input, "--input " + file.string() + ": " + why);
}

}  // namespace

Leaves::Leaves(std::uint64_t count) : count_(count), pages_(bytes_of_leaves(count), std::to_string(count) + " leaves") {}

Leaves Leaves::random(std::uint64_t count, std::uint64_t seed, unsigned threads) {
  constexpr std::uint64_t words_at_once = std::uint64_t{1} << 18;
  Leaves leaves(count);
  const std::uint64_t words = count * 4;
  std::byte* data = leaves.pages_.data();
  parallel_for((words + words_at_once - 1) / words_at_once, threads, [&](std::uint64_t chunk) {
    const std::uint64_t end = std::min(words, (chunk + 1) * words_at_once);
    for (std::uint64_t i = chunk * words_at_once; i < end; ++i) {
      const std::uint64_t x = splitmix64(seed, i);
      for (unsigned b = 0; b < 8; ++b) data[i * 8 + b] = static_cast<std::byte>(x >> (8 * b));
    }
  });
  return leaves;
}

Leaves Leaves::from_file(const std::filesystem::path& file, std::uint64_t count) {
  if (count_in_file(file) != count) throw cannot_read(file, "does not hold the expected " + std::to_string(count) + " leaves");
  Leaves leaves(count);
  std::byte* data = leaves.pages_.data();
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw cannot_read(file, "cannot be opened");
  const Bytes capacity = count * digest_bytes;
  stream.read(reinterpret_cast<char*>(data), static_cast<std::streamsize>(capacity));
  const Bytes got = static_cast<Bytes>(stream.gcount());
  if (stream.bad() || got + digest_bytes <= capacity) throw cannot_read(file, "cannot be read to its end");
  std::fill(data + got, data + capacity, std::byte{0});
  return leaves;
}

std::uint64_t count_in_file(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (error || !std::filesystem::exists(status)) throw cannot_read(file, "no such file");
  if (!std::filesystem::is_regular_file(status)) throw cannot_read(file, "not a regular file");
  const Bytes size = std::filesystem::file_size(file, error);
  if (error || !std::ifstream(file, std::ios::binary)) throw cannot_read(file, "cannot be opened");
  return size / digest_bytes + (size % digest_bytes != 0);
}

Bytes bytes_of_leaves(std::uint64_t count) {
  // A power of two below the address space, so that no sum of a few buffers and paddings can overflow.
  constexpr std::uint64_t limit = std::uint64_t{1} << 56;
  if (count > limit) throw Error(ErrorKind::usage, "--size: at most 2^56 leaves, not " + std::to_string(count));
  return count * digest_bytes;
}

}  // namespace mgpu::merkle
