#include "lib/base/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"

namespace mgpu {
namespace {

// zlib's notation for gzip's header and trailer around the data instead of zlib's own.
constexpr int kGzip = MAX_WBITS + 16;
constexpr std::size_t kStep = std::size_t{1} << 18;

// Passes bytes to zlib, which takes pointers to non-const and 32-bit lengths. What is left in
// `bytes` is for the next call.
void give(z_stream& z, std::string_view& bytes) {
  const std::size_t size = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(size);
  bytes.remove_prefix(size);
}

// Returns the bytes that `step`, a call of zlib, wrote to `room`.
template <typename F>
std::string_view produced(z_stream& z, std::vector<char>& room, F step) {
  z.next_out = reinterpret_cast<Bytef*>(room.data());
  z.avail_out = static_cast<uInt>(room.size());
  step();
  return {room.data(), room.size() - z.avail_out};
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string gzip(std::string_view text) {
  z_stream z{};
  if (::deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&z, ::deflateEnd);
  std::string packed;
  std::vector<char> room(kStep);
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    if (z.avail_in == 0) give(z, text);
    packed +=
        produced(z, room, [&] { state = ::deflate(&z, text.empty() ? Z_FINISH : Z_NO_FLUSH); });
  }
  return packed;
}

struct Gunzip::Stream {
  z_stream z{};
  bool at_end = false;    // a member has ended: the next byte begins another one
  std::size_t whole = 0;  // number of members that are complete
  std::vector<char> room = std::vector<char>(kStep);
};

Gunzip::Gunzip(std::size_t most) : stream_(std::make_unique<Stream>()), most_(most) {
  if (::inflateInit2(&stream_->z, kGzip) != Z_OK) throw std::bad_alloc();
}

Gunzip::~Gunzip() { ::inflateEnd(&stream_->z); }

void Gunzip::take(std::string_view bytes) {
  z_stream& z = stream_->z;
  for (;;) {
    if (z.avail_in == 0) give(z, bytes);
    // Even without input there may be output left that did not fit into the buffer.
    if (z.avail_in == 0 && (stream_->at_end || z.avail_out > 0)) return;
    if (std::exchange(stream_->at_end, false)) ::inflateReset(&z);
    int state = Z_OK;
    const std::string_view more =
        produced(z, stream_->room, [&] { state = ::inflate(&z, Z_NO_FLUSH); });
    if (more.size() > most_ - text_.size())
      throw Error(ErrorKind::input, "is larger than " + format_bytes(static_cast<double>(most_)) +
                                        " when decompressed");
    text_ += more;
    if (state == Z_STREAM_END) {
      stream_->at_end = true;
      ++stream_->whole;
    } else if (state == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (state == Z_DATA_ERROR && stream_->whole > 0 && z.total_in <= 2) {
      throw Error(ErrorKind::input, "is a gzip file with something else after its end");
    } else if (state != Z_OK && state != Z_BUF_ERROR) {
      throw Error(ErrorKind::input, std::string("is a damaged gzip file: ") +
                                        (z.msg != nullptr ? z.msg : ::zError(state)));
    }
  }
}

std::string Gunzip::text() {
  if (!stream_->at_end) throw Error(ErrorKind::input, "is a gzip file that was cut off");
  return std::move(text_);
}

}  // namespace mgpu
