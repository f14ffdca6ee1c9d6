// See the header.
#include "lib/report/json_file.hpp"

#include <fstream>
#include <iterator>

namespace mgpu {
namespace {

// The library's message names itself first; the rest is for people.
std::string plain_message(const std::string& what) {
  const std::size_t end = what.find("] ");
  return end == std::string::npos ? what : what.substr(end + 2);
}

}  // namespace

nlohmann::ordered_json parse_json(std::string_view text) { return nlohmann::ordered_json::parse(text, nullptr, false); }

nlohmann::ordered_json parse_json_file(const std::filesystem::path& file, const char* kind) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) throw Error(ErrorKind::input, std::string("is a directory, not ") + kind);
  std::ifstream in(file, std::ios::binary);
  if (!in) throw Error(ErrorKind::input, "cannot be opened");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) throw Error(ErrorKind::input, "cannot be read");
  try {
    return nlohmann::ordered_json::parse(std::string_view(text));
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::input, "not JSON, or cut off: " + plain_message(e.what()));
  }
}

}  // namespace mgpu
