// What a call that must be refused says, and what others throw.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "lib/base/error.hpp"

namespace mgpu::test {

// The message of the Error(usage) that `action` throws; empty when it throws none.
template <class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.what();
  }
  return "";
}

// The Error that `action` throws; of kind internal if it throws none.
template <class Action>
Error thrown_by(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::internal, "nothing was thrown");
}

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace mgpu::test
