// usage: check_trace FILE: prints each rule that the trace breaks; exits with 1 if there is one.
#include <cstdio>

#include "lib/base/text_file.hpp"
#include "tests/support/trace_checker.hpp"

int main(int count, char** words) {
  if (count != 2) return 2;
  const auto breaches = mgpu::test::check_chrome_trace(mgpu::read_text_file(words[1]));
  for (const std::string& breach : breaches) std::puts(breach.c_str());
  return breaches.empty() ? 0 : 1;
}
