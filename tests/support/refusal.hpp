// Helpers that return the errors that calls throw.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "lib/base/error.hpp"

namespace mgpu::test {

// Returns the message of the Error of this kind that `action` throws; empty if it throws none.
template <class Action>
std::string refusal(const Action& action, ErrorKind kind = ErrorKind::usage) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return "";
}

// Returns the Error that `action` throws; one of kind internal if it throws none.
template <class Action>
Error thrown_by(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::internal, "nothing was thrown");
}

template <class Action>
ErrorKind kind_of_error(const Action& action) {
  return thrown_by(action).kind();
}

inline bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace mgpu::test
