// See the header.
#include "lib/session/verification.hpp"

#include "lib/base/error.hpp"

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
  if (options_.result_file && !result_written_) write_result();
  return std::nullopt;
}

// A disk that is full, or a folder that is gone, costs this file and nothing of what was measured.
void Verification::write_result() {
  result_written_ = true;
  try {
    workload_.write_result(*options_.result_file);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::output) throw;
    observer_.output_failed(error.what());
  }
}

}  // namespace mgpu
