// A cache file is the key, a zero byte, the binary's hash, and the binary. Its name is a hash of
// the key; the whole key is compared. The binary is checked too: PoCL 3.1 aborts the process on a
// damaged one.
#include "lib/opencl/cl_program_cache.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/base/fnv.hpp"
#include "lib/base/folder_limit.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/text_file.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;
using Binary = std::vector<unsigned char>;

constexpr std::size_t kHashSize = 16;
constexpr std::string_view kEnding = ".clbin";
constexpr Bytes kMostBytes = Bytes{256} << 20;  // a program of one device has some 100 KiB

std::string key_of(const cl::Device& device, std::string_view text, const std::string& options) {
  const cl::Platform platform(device.getInfo<CL_DEVICE_PLATFORM>());
  std::string key = "mgpu-bench program 1\n";
  for (const std::string& part :
       {platform.getInfo<CL_PLATFORM_VERSION>(), device.getInfo<CL_DEVICE_NAME>(),
        device.getInfo<CL_DEVICE_VERSION>(), device.getInfo<CL_DRIVER_VERSION>(), options}) {
    key += std::string(part.c_str()) + '\n';
  }
  return key.append(text);
}

std::optional<Binary> read_cached(const fs::path& file, const std::string& key) {
  std::string all;
  try {
    all = read_text_file(file, FileKind::regular);
  } catch (const Error&) {
    return std::nullopt;
  }
  const std::size_t head = key.size() + 1;
  if (all.size() <= head + kHashSize || all.compare(0, key.size(), key) != 0 ||
      all[key.size()] != '\0')
    return std::nullopt;
  const std::string_view binary = std::string_view(all).substr(head + kHashSize);
  if (all.compare(head, kHashSize, fnv1a_hex(binary)) != 0) return std::nullopt;
  return Binary(binary.begin(), binary.end());
}

// Writes a cache file. A cache that cannot be written costs the next run a build.
void write_cached(const fs::path& file, const std::string& key, const Binary& binary) {
  const std::string_view bytes(reinterpret_cast<const char*>(binary.data()), binary.size());
  try {
    write_file_atomically(file, key + '\0' + fnv1a_hex(bytes) + std::string(bytes));
    limit_folder(file.parent_path(), kEnding, kMostBytes);
  } catch (const Error&) {
  }
}

std::optional<cl::Program> from_binary(const cl::Context& context, const cl::Device& device,
                                       const Binary& binary, const std::string& options) {
  try {
    cl::Program program(context, {device}, cl::Program::Binaries{binary});
    program.build({device}, options.c_str());
    return program;
  } catch (const cl::Error&) {
    // The driver's build differs though its version string does not: the program is built from its
    // text.
    return std::nullopt;
  }
}

// Returns what a line of a compiler's log says, without the place of it; empty: it begins no
// message.
std::string message_in(const std::string& line) {
  if (line.find("error") == std::string::npos && line.find("warning") == std::string::npos)
    return "";
  std::string message;
  for (std::size_t at = 0; at < line.size(); ++at) {
    message += line[at];
    if (line[at] != ':') continue;
    while (at + 1 < line.size() && line[at + 1] >= '0' && line[at + 1] <= '9') ++at;
  }
  return message;
}

// Returns the lines of a compiler's log that are not empty, as one line. A message that comes again
// is left out, with the lines that show its place.
std::string lines_of(const std::string& log, std::size_t most_lines) {
  constexpr std::size_t kMostOfLine = 160;
  std::string text;
  std::vector<std::string> messages;
  bool again = false;
  std::istringstream in(log);
  std::string line;
  for (std::size_t count = 0; count < most_lines && std::getline(in, line);) {
    std::erase_if(line, [](char c) { return c == '\0' || c == '\r'; });
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    if (const std::string message = message_in(line); !message.empty()) {
      again = std::find(messages.begin(), messages.end(), message) != messages.end();
      if (!again) messages.push_back(message);
    }
    if (again) continue;
    text += (count++ == 0 ? "" : " | ") + line.substr(begin, kMostOfLine);
  }
  return text.empty() ? "the compiler says nothing" : text;
}

}  // namespace

cl::Program build_cl_program(const cl::Context& context, const cl::Device& device,
                             std::string_view file, std::string_view text,
                             const std::string& options, std::size_t log_lines) {
  cl::Program program(context, std::string(text));
  try {
    program.build({device}, options.c_str());
  } catch (const cl::Error& error) {
    std::string what = std::string(file) + " does not build (" + cl_status_name(error.err()) + ")";
    if (!does_not_suit(error.err())) throw Error(ErrorKind::device, what);
    cl_int status = CL_SUCCESS;
    what += " on " + std::string(device.getInfo<CL_DEVICE_NAME>(&status).c_str());
    throw Error(
        ErrorKind::unsupported,
        what + ": " +
            lines_of(program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device, &status), log_lines));
  }
  return program;
}

std::string without_hints(const std::string& options) {
  if (options.find("-cl-nv-") == std::string::npos) return options;
  std::istringstream words(options);
  std::string plain;
  for (std::string word; words >> word;)
    if (!word.starts_with("-cl-nv-")) plain += (plain.empty() ? "" : " ") + word;
  return plain;
}

cl::Program ClProgramCache::build(const cl::Context& context, const cl::Device& device,
                                  std::string_view file, std::string_view text,
                                  const std::string& options) const {
  constexpr std::size_t kLogLines = 3;
  const std::string name = "kernels/" + std::string(file);
  if (folder_.empty()) return build_cl_program(context, device, name, text, options, kLogLines);
  const std::string key = key_of(device, text, options);
  const fs::path cached = folder_ / (fnv1a_hex(key) + std::string(kEnding));
  if (const auto binary = read_cached(cached, key)) {
    if (auto program = from_binary(context, device, *binary, options)) {
      std::error_code ignored;  // keeps what is used, see limit_folder()
      fs::last_write_time(cached, fs::file_time_type::clock::now(), ignored);
      return *program;
    }
  }
  const cl::Program program = build_cl_program(context, device, name, text, options, kLogLines);
  const auto binaries = program.getInfo<CL_PROGRAM_BINARIES>();
  if (!binaries.empty() && !binaries.front().empty()) write_cached(cached, key, binaries.front());
  return program;
}

}  // namespace mgpu
