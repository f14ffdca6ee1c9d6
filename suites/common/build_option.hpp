// Build options of device programs.
#pragma once

#include <cstdint>
#include <string>

namespace mgpu {

// Returns " -DNAME=VALUE", to be appended to the options of a build.
inline std::string define(const char* name, std::uint64_t value) {
  return std::string(" -D") + name + '=' + std::to_string(value);
}

}  // namespace mgpu
