// Verification: whether the result of a sample is right. A result with new bits is compared with
// the workload's reference; where different bits pass, devices that each compute everything alone
// decide.
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
    std::set<std::string> alone;  // ids of the devices that gave it without the help of others
    std::size_t samples = 0;
  };
  bool knows(const std::string& digest) const;
  // `devices`: the ids of those that computed it together.
  void note(const std::string& digest, const std::vector<std::string>& devices);
  // Returns the right one: the only one there is, or the one that two or more devices gave alone,
  // if no other digest was given by as many. Empty: which one is right is not known.
  const std::string& agreed() const;
  std::size_t samples_of(const std::string& digest) const;
  std::string written = {};  // that of the result in the file that was asked for, or that failed

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
  // Verifies the sample just merged. `record` gets method, status and digest. `devices`: the ids of
  // those that made it. `thorough`: against the reference, whatever its bits. Results that stay on
  // devices and are larger than kEverySample are looked at only then. `publish` brings a result to
  // the host, or returns false.
  Outcome check(VerifyRecord& record, const std::vector<std::string>& devices, bool thorough,
                const std::function<bool()>& publish);
  static constexpr Bytes kEverySample = Bytes{1} << 16;  // hashing more lets a GPU go idle

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
