// What tests of the merkle suite's host side share: its parameters, a file of leaves, and the kind
// of error that something ends with.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <system_error>

#include "lib/base/error.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {
SuiteInfo merkle_suite();
}

namespace mgpu::test {

inline SuiteParams merkle_params(std::uint64_t size, const std::string& tree) {
  SuiteParams p;
  p.size = size;
  p.options["tree"] = tree;
  return p;
}

inline ErrorKind kind_of_error(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error");
  return ErrorKind::internal;
}

struct TemporaryFile {
  explicit TemporaryFile(const std::string& content) {
    path = std::filesystem::temp_directory_path() /
           ("merkle_test_" + std::to_string(std::random_device{}()));
    write(content);
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  void write(const std::string& content) const { std::ofstream(path, std::ios::binary) << content; }
  std::filesystem::path path;
};

}  // namespace mgpu::test
