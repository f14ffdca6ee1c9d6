// See the header. A cache file is the key, a zero byte, and the binary; the name is a hash of the key, the whole key is compared.
#include "lib/exec/cl_program_cache.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <vector>

namespace mgpu {
namespace {

namespace fs = std::filesystem;
using Binary = std::vector<unsigned char>;

// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): names files only, a collision is caught by comparing keys.
std::string file_name_of(const std::string& key) {
  std::uint64_t hash = 14695981039346656037u;
  for (const unsigned char c : key) hash = (hash ^ c) * 1099511628211u;
  char name[32];
  std::snprintf(name, sizeof name, "%016llx.clbin", static_cast<unsigned long long>(hash));
  return name;
}

std::string key_of(const cl::Device& device, std::string_view text, const std::string& options) {
  const cl::Platform platform(device.getInfo<CL_DEVICE_PLATFORM>());
  std::string key = "mgpu-bench program 1\n";
  for (const std::string& part : {platform.getInfo<CL_PLATFORM_VERSION>(), device.getInfo<CL_DEVICE_NAME>(),
                                  device.getInfo<CL_DEVICE_VERSION>(), device.getInfo<CL_DRIVER_VERSION>(), options}) {
    key += std::string(part.c_str()) + '\n';
  }
  return key.append(text);
}

std::optional<Binary> read_cached(const fs::path& file, const std::string& key) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  const std::string all((std::istreambuf_iterator<char>(in)), {});
  if (all.size() <= key.size() + 1 || all.compare(0, key.size(), key) != 0 || all[key.size()] != '\0') return std::nullopt;
  return Binary(all.begin() + static_cast<std::ptrdiff_t>(key.size()) + 1, all.end());
}

void write_cached(const fs::path& file, const std::string& key, const Binary& binary) {
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  const fs::path temporary = file.string() + "." + std::to_string(::getpid());
  {
    std::ofstream out(temporary, std::ios::binary);
    out.write(key.data(), static_cast<std::streamsize>(key.size())).put('\0');
    out.write(reinterpret_cast<const char*>(binary.data()), static_cast<std::streamsize>(binary.size()));
    if (!out.flush()) {
      fs::remove(temporary, ignored);
      return;
    }
  }
  fs::rename(temporary, file, ignored);
  if (ignored) fs::remove(temporary, ignored);
}

std::optional<cl::Program> from_binary(const cl::Context& context, const cl::Device& device, const Binary& binary,
                                       const std::string& options) {
  try {
    cl::Program program(context, {device}, cl::Program::Binaries{binary});
    program.build({device}, options.c_str());
    return program;
  } catch (const cl::Error&) {  // another driver build than the version string admits: build from text
    return std::nullopt;
  }
}

cl::Program from_text(const cl::Context& context, const cl::Device& device, std::string_view file, std::string_view text,
                      const std::string& options) {
  cl::Program program(context, std::string(text));
  try {
    program.build({device}, options.c_str());
  } catch (const cl::Error& error) {
    const std::string log = program.getBuildInfo<CL_PROGRAM_BUILD_LOG>(device);
    throw Error(ErrorKind::device, "kernels/" + std::string(file) + " does not build on " + device.getInfo<CL_DEVICE_NAME>() + " (" +
                                       cl_status_name(error.err()) + "): " + log);
  }
  return program;
}

}  // namespace

cl::Program ClProgramCache::build(const cl::Context& context, const cl::Device& device, std::string_view file, std::string_view text,
                                  const std::string& options) const {
  if (folder_.empty()) return from_text(context, device, file, text, options);
  const std::string key = key_of(device, text, options);
  const fs::path cached = folder_ / file_name_of(key);
  if (const auto binary = read_cached(cached, key)) {
    if (auto program = from_binary(context, device, *binary, options)) return *program;
  }
  const cl::Program program = from_text(context, device, file, text, options);
  const auto binaries = program.getInfo<CL_PROGRAM_BINARIES>();
  if (!binaries.empty() && !binaries.front().empty()) write_cached(cached, key, binaries.front());
  return program;
}

}  // namespace mgpu
