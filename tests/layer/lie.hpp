// A device that the layer pretends to have: the facts of a file such as devices/mi300x.toml. A file
// has these tables; each key but those of [device] may be missing:
//
//   sources = [..]   texts that name where the facts come from
//   [platform]       name, vendor, version, profile, extensions: answers of clGetPlatformInfo
//   [device]         answers of clGetDeviceInfo: the name of the query without CL_DEVICE_ in lower
//                    case, such as max_compute_units or board_name_amd. lie.cpp has the table of
//                    names and forms. `version` and `extensions` are required.
//   [[kernel]]       limits of kernels whose name matches `name` (a pattern with * and ?, default
//                    "*"): work_group_size, preferred_work_group_size_multiple. The first entry
//                    that matches decides.
//   [accepts]        build_options: prefixes of options that this compiler knows; the layer hides
//                    them from the real one
//   [refuses]        build_options: prefixes of options that end a build with
//                    CL_INVALID_BUILD_OPTIONS; words: identifiers that no program may use, such as
//                    "asm" for a compiler that knows none of the instructions
//   [profiling]      stamps: "zero", or "unavailable"
//   [expect]         verdict by suite, for tests/cli/vendors_test.py; the layer ignores it
//
// Queries of vendors and extensions that the file lacks return CL_INVALID_VALUE, and so do queries
// of an OpenCL version after the device's. Other queries that it lacks have the real answer.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/layer/opencl.hpp"

namespace fault {

using Answer = std::vector<unsigned char>;

struct Lie {
  struct Limits {
    std::string name = "*";
    std::size_t group = 0, multiple = 0;  // 0: the device's, the real one
  };

  // Reads a file. `name` is a path, or the name of a file in devices/ without its ending. Throws
  // std::invalid_argument that names the file and the key.
  static std::shared_ptr<const Lie> read(const std::string& name);

  // Returns the file's value of a query, or `otherwise`.
  template <class Number>
  Number get(cl_device_info what, Number otherwise) const {
    const auto found = device.find(what);
    if (found == device.end() || found->second.size() != sizeof(Number)) return otherwise;
    Number value{};
    std::memcpy(&value, found->second.data(), sizeof value);
    return value;
  }
  bool has(std::string_view extension) const;
  // Returns whether a device of this version knows this query.
  bool knows(cl_device_info what) const;
  // Returns the limits of a kernel, with 0 where the file has none.
  Limits limits(const std::string& kernel) const;
  // Returns text that precedes each program, so that the compiler refuses what the device cannot.
  std::string prelude() const;

  std::string file;
  std::map<cl_device_info, Answer> device;
  std::map<cl_platform_info, Answer> platform;
  std::vector<Limits> kernels;
  std::vector<std::string> accepted_options, refused_options, refused_words;
  std::string stamps;    // empty: as they are
  unsigned version = 0;  // 12: OpenCL 1.2
};

}  // namespace fault
