// An interned name: stored once, so that thousands of commands of a sample share its string.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mgpu {

// A name as small and as cheap to copy as a pointer. Equal names share one string for the life of
// the process, so it is meant for words of which there are few, such as names of kernels.
// Constructing one takes a lock and a look-up; nothing else does. Safe from any thread.
class Name {
 public:
  Name() = default;  // empty
  explicit Name(std::string_view text);

  const std::string& text() const;
  bool empty() const { return text_ == nullptr; }
  friend bool operator==(Name a, Name b) { return a.text_ == b.text_; }
  friend bool operator==(Name a, std::string_view b) { return a.text() == b; }

 private:
  const std::string* text_ = nullptr;
};

}  // namespace mgpu
