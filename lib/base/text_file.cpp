#include "lib/base/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/gzip.hpp"

namespace mgpu {

std::string read_text_file(const std::filesystem::path& file) {
  constexpr std::size_t most = std::size_t{1} << 30, step = std::size_t{1} << 20;
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) throw Error(ErrorKind::input, "is a directory");
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw Error(ErrorKind::input,
                std::string("cannot be opened: ") + std::strerror(errno != 0 ? errno : EIO));
  std::string text;
  std::vector<char> room(step);
  std::optional<Gunzip> gunzip;
  while (in) {
    in.read(room.data(), static_cast<std::streamsize>(room.size()));
    const std::string_view piece(room.data(), static_cast<std::size_t>(in.gcount()));
    if (!gunzip && text.empty() && is_gzip(piece)) gunzip.emplace(most);
    if (gunzip) {
      gunzip->take(piece);
      continue;
    }
    text += piece;
    if (text.size() > most) throw Error(ErrorKind::input, "is larger than 1 GiB");
  }
  if (in.bad()) throw Error(ErrorKind::input, "cannot be read");
  return gunzip ? gunzip->text() : text;
}

}  // namespace mgpu
