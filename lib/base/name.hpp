// A name that many things have: kept once for all of them, so that a sample of thousands of
// commands holds a pointer for each.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mgpu {

// As large as a pointer, copied as one. Names that are equal are one for the life of the process:
// meant for words of which there are few, such as those of kernels. Making one looks it up and
// locks; all else does neither. Safe from any thread.
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
