// An observer of sessions that prints nothing and stops nothing; it stores the warnings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/session/session.hpp"

namespace mgpu::test {

class QuietObserver : public SessionObserver {
 public:
  void warning(std::string_view text) override { warnings.emplace_back(text); }
  void progress(const Progress&) override {}
  void recorded(const Report&) override {}
  bool stop_requested() override { return false; }
  std::vector<std::string> warnings;
};

}  // namespace mgpu::test
