// Verification: whether the result of a sample is right. A result with new bits is compared with
// the workload's reference; if different bits pass, devices that each compute everything alone
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

// Digests of the results of one problem, in all modes, that passed the reference. Equal devices
// give equal bits: a second digest means that a device computed something else, within the
// reference's bound.
class Digests {
 public:
  struct One {
    std::string digest;
    std::set<std::string> alone;  // ids of devices that computed it alone
    std::size_t samples = 0;
  };
  bool knows(const std::string& digest) const;
  // Notes a result. `devices`: the ids of those that computed it together.
  void note(const std::string& digest, const std::vector<std::string>& devices);
  // Returns the right digest: the only one there is, or the one that two or more devices computed
  // alone, if no other digest has as many. Empty: not known.
  const std::string& agreed() const;
  std::size_t samples_of(const std::string& digest) const;
  // Digest of the result that was written, or could not be written, to the file asked for.
  std::string written = {};

 private:
  std::vector<One> all_;
};

class Verification {
 public:
  // All arguments must outlive this.
  Verification(Workload& workload, const SessionOptions& options, Digests& digests,
               SessionObserver& observer)
      : workload_(workload), options_(options), digests_(digests), observer_(observer) {}

  struct Outcome {
    enum class Status {
      right,
      wrong,
      unknown
    } status = Status::right;  // unknown: the result could not be copied to the host
    std::string why;           // why it is not right
    std::string digest;        // empty: it was not computed
  };
  // Verifies the last merged sample, and sets method, status and digest of `record`. `devices`: the
  // ids of those that computed it. `thorough`: compares it with the reference, whatever its bits;
  // only then does it look at results that stay on devices and are larger than kEverySample.
  // `publish` copies a result to the host, or returns false.
  Outcome check(VerifyRecord& record, const std::vector<std::string>& devices, bool thorough,
                const std::function<bool()>& publish);
  static constexpr Bytes kEverySample = Bytes{1} << 16;  // hashing more lets a GPU become idle

 private:
  // Writes the result file once, when two samples agree on a result. If that fails, the observer is
  // notified, and the session continues.
  void write_result();

  Workload& workload_;
  const SessionOptions& options_;
  Digests& digests_;
  SessionObserver& observer_;
};

}  // namespace mgpu
