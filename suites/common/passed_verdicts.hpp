// Remembers verdicts that depend on nothing but the bits of a result.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "lib/workload/workload.hpp"

namespace mgpu {

// Callers look at what a digest does not cover, such as arrivals, each time.
class PassedVerdicts {
 public:
  // Returns the verdict on the result with this digest. It is that of check(), which is not called
  // again for bits that passed at the same level and with the same seed.
  template <class Check>
  Verdict of(VerifyLevel level, std::uint64_t seed, const std::string& digest, const Check& check) {
    const std::tuple key(level, seed, digest);
    if (const auto known = passed_.find(key); known != passed_.end()) return known->second;
    Verdict verdict = check();
    if (verdict.status == Verdict::Status::passed) passed_.emplace(key, verdict);
    return verdict;
  }

 private:
  std::map<std::tuple<VerifyLevel, std::uint64_t, std::string>, Verdict> passed_;
};

}  // namespace mgpu
