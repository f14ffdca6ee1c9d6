#include "lib/base/name.hpp"

#include <mutex>
#include <unordered_set>

namespace mgpu {

namespace {

// Never destroyed: threads stuck in a hung driver may still create names while the process ends.
struct Kept {
  std::mutex mutex;
  std::unordered_set<std::string> names;  // its elements never move
};

Kept& kept() {
  static Kept& all = *new Kept;
  return all;
}

}  // namespace

Name::Name(std::string_view text) {
  if (text.empty()) return;
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  text_ = &*all.names.emplace(text).first;
}

const std::string& Name::text() const {
  static const std::string& none = *new std::string;
  return text_ == nullptr ? none : *text_;
}

}  // namespace mgpu
