// Verification: whether the result of a sample is right. A result with new bits is compared with
// the workload's reference; where results of different bits pass, those of most results are right.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/session/observer.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

// Of the results of one problem, in whatever mode, that passed the reference. Equal devices give
// equal bits: more than one digest means that a device computed something else, within the
// reference's bound.
class Digests {
 public:
  struct One {
    std::string digest;
    std::set<std::string> cases;  // that gave it, by the ids of their devices
    std::size_t samples = 0;
  };
  bool knows(const std::string& digest) const;
  void note(const std::string& digest, const std::string& of_case);
  // What the most cases gave, the first of several; of equally many, what the most samples gave.
  // Empty before any.
  const std::string& agreed() const;
  std::size_t samples_of(const std::string& digest) const;
  bool written = false;  // one of them, to the file that was asked for; or that has failed

 private:
  std::vector<One> all_;
};

class Verification {
 public:
  // All must outlive this.
  Verification(Workload& workload, const SessionOptions& options, Digests& digests,
               SessionObserver& observer)
      : workload_(workload), options_(options), digests_(digests), observer_(observer) {}

  struct Outcome {
    enum class Status {
      right,
      wrong,
      unknown
    } status = Status::right;  // unknown: the result could not be brought to the host
    std::string why;           // not right
    std::string digest;        // empty: it was not looked at
  };
  // Of the sample just merged. `record` gets method, status and digest. `of_case`: the ids of the
  // devices that made it. `thorough`: against the reference, whatever its bits. Large results are
  // looked at only then, after `publish`, which brings all of them to the host, or returns false.
  Outcome check(VerifyRecord& record, const std::string& of_case, bool thorough,
                const std::function<bool()>& publish);

 private:
  // To the file that was asked for, if it was not written before: once two samples agree on a
  // result. Where that fails the observer is notified, and the session goes on.
  void write_result();

  Workload& workload_;
  const SessionOptions& options_;
  Digests& digests_;
  SessionObserver& observer_;
};

}  // namespace mgpu
