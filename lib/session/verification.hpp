// Verification: whether what a sample made is right. The first result of a problem is held against the workload's reference, every
// other one, of whatever case or mode, to the digest of that.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lib/session/session.hpp"

namespace mgpu {

class Verification {
 public:
  // `digest` is the problem's, empty until a result was verified. All must outlive this.
  Verification(Workload& workload, const SessionOptions& options, std::string& digest, SessionObserver& observer)
      : workload_(workload), options_(options), digest_(digest), observer_(observer) {}

  // Of the sample just merged; why its result is wrong, if it is. `record` gets method, status and digest. `thorough`: against the
  // reference again. Large results are looked at only then, after `publish`, which brings all of them to the host. The first that
  // is right is written to the file that was asked for; where that fails the observer is told, and the session goes on.
  std::optional<std::string> check(VerifyRecord& record, bool thorough, const std::function<void()>& publish);

 private:
  void write_result();

  Workload& workload_;
  const SessionOptions& options_;
  std::string& digest_;
  SessionObserver& observer_;
  bool result_written_ = false;  // or has failed to be
};

}  // namespace mgpu
