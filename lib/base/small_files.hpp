// Reads one-line files of /proc and /sys without the buffers of a stream.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace mgpu {

// Returns at most `most` bytes of the file; empty when it cannot be read.
inline std::string small_file(const std::filesystem::path& file, std::size_t most = 4096) {
  std::string text;
  const int handle = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return text;
  text.resize(most);
  const ssize_t got = ::read(handle, text.data(), most);
  ::close(handle);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

// Returns the integer that the file begins with.
inline std::optional<double> small_number(const std::filesystem::path& file) {
  const std::string text = small_file(file, 64);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return static_cast<double>(value);
}

}  // namespace mgpu
