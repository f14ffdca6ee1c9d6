// gzip files (RFC 1952) in memory, with zlib.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace mgpu {

// Tells whether a file that begins with these bytes is a gzip file; two bytes suffice. No text in
// UTF-8 begins with them.
bool is_gzip(std::string_view bytes);

// Returns the one-member file that decompresses to `text`. It has no name and no time, so that the
// same text always gives the same bytes.
std::string gzip(std::string_view text);

// Decompresses a file that arrives piece by piece: one member, or several one after another, which
// `gzip -d` joins too. Checks checksums and lengths. Needs 32 KiB of memory in addition to the
// text.
class Gunzip {
 public:
  explicit Gunzip(std::size_t most);  // the most bytes that it may decompress to
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  ~Gunzip();

  // Takes the next bytes of the file, any number of them. Throws Error(input), after which only the
  // destructor may be called: damaged, something other than gzip after a member, or too large when
  // decompressed (detected before the excess is stored).
  void take(std::string_view bytes);
  // Returns the decompressed text. Call once, after the last bytes. Throws Error(input) when the
  // file was cut off.
  std::string text();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
  std::size_t most_;
  std::string text_;
};

}  // namespace mgpu
