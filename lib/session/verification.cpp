// See the header.
#include "lib/session/verification.hpp"

namespace mgpu {

std::optional<std::string> Verification::check(VerifyRecord& record, bool thorough, const std::function<void()>& publish) {
  const bool large = workload_.large_result();
  if (large && !thorough) return std::nullopt;
  if (large || (thorough && options_.verify == VerifyLevel::sample)) publish();
  const std::string digest = workload_.digest();
  record.digest = digest;
  if (!digest_.empty() && digest != digest_) {
    record.status = VerifyStatus::failed;
    return "the result " + digest + " differs from " + digest_ + ", verified before";
  }
  if (options_.verify == VerifyLevel::off) {
    record.method = "not verified: --verify off";
    record.status = VerifyStatus::off;
  } else if (thorough) {
    const Verdict verdict = workload_.verify(options_.verify, options_.seed);
    record.method = verdict.method;
    record.status = verdict.status == Verdict::Status::passed ? VerifyStatus::passed : VerifyStatus::failed;
    if (record.status == VerifyStatus::failed) return verdict.message;
    digest_ = digest;
  }
  if (options_.result_file && !result_written_) {
    workload_.write_result(*options_.result_file);
    result_written_ = true;
  }
  return std::nullopt;
}

}  // namespace mgpu
