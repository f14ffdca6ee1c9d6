// gzip files (RFC 1952), by zlib, in memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace mgpu {

// Do these first bytes of a file (two of them decide) say that it is one? No text in UTF-8 begins
// so.
bool is_gzip(std::string_view bytes);

// The one-member file that decompresses to `text`: without name and time, so that the same text
// always gives the same bytes.
std::string gzip(std::string_view text);

// Decompresses a file that arrives piece by piece: one member, or several one after another, which
// `gzip -d` joins too. Checksums and lengths are checked. Holds a window of 32 KiB beside the text.
class Gunzip {
 public:
  explicit Gunzip(std::size_t most);  // bytes that it may decompress to
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  ~Gunzip();

  // The next bytes of the file, as many as there are. Throws Error(input), after which only the
  // destructor may follow: damaged, no gzip after the end of a member, or too much when
  // decompressed, which is seen before it is kept.
  void take(std::string_view bytes);
  // Once, after the last of them: what the file held. Throws Error(input) when it was cut off.
  std::string text();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
  std::size_t most_;
  std::string text_;
};

}  // namespace mgpu
