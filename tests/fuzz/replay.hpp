// Replay of the inputs in the corpora of fuzzers: seeds, inputs that reached new code, and every
// input that ever made one fail.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/targets.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/paths.hpp"

namespace mgpu::fuzz {

// Replays each file of corpus/<name>, and ten of its prefixes as truncated files.
inline void replay(const std::string& name, void (*target)(std::string_view)) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_folder() / "tests/fuzz/corpus" / name)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  REQUIRE(!files.empty());
  for (const auto& file : files) {
    CAPTURE(file);
    const std::string text = test::file_text(file);
    CHECK_NOTHROW(target(text));
    for (std::size_t k = 0; k < 10; ++k)
      CHECK_NOTHROW(target(std::string_view(text).substr(0, text.size() * k / 10)));
  }
}

}  // namespace mgpu::fuzz
