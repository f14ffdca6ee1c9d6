// Digests of results, and the reference for those that are new.
#include "lib/session/verification.hpp"

#include <algorithm>

#include "lib/base/error.hpp"

namespace mgpu {

bool Digests::knows(const std::string& digest) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const One& one) { return one.digest == digest; });
}

void Digests::note(const std::string& digest, const std::string& of_case) {
  auto at =
      std::find_if(all_.begin(), all_.end(), [&](const One& one) { return one.digest == digest; });
  if (at == all_.end()) at = all_.insert(all_.end(), {digest, {}, 0});
  at->cases.insert(of_case);
  ++at->samples;
}

const std::string& Digests::agreed() const {
  static const std::string none;
  if (all_.empty()) return none;
  const auto fewer = [](const One& a, const One& b) {
    return a.cases.size() != b.cases.size() ? a.cases.size() < b.cases.size()
                                            : a.samples < b.samples;
  };
  return std::max_element(all_.begin(), all_.end(), fewer)->digest;
}

std::size_t Digests::samples_of(const std::string& digest) const {
  const auto at =
      std::find_if(all_.begin(), all_.end(), [&](const One& one) { return one.digest == digest; });
  return at == all_.end() ? 0 : at->samples;
}

Verification::Outcome Verification::check(VerifyRecord& record, const std::string& of_case,
                                          bool thorough, const std::function<bool()>& publish) {
  using enum Outcome::Status;
  const bool large = workload_.shape().large_result;
  if (large && !thorough) return {};
  const Outcome lost{
      unknown, "a device was lost before its part of the result was on the host", {}};
  if (large && !publish()) return lost;
  Outcome outcome{right, {}, workload_.digest()};
  const bool compare =
      options_.verify != VerifyLevel::off && (thorough || !digests_.knows(outcome.digest));
  if (compare && !large && options_.verify == VerifyLevel::sample && !publish()) return lost;
  record.digest = outcome.digest;
  ++record.checked;
  if (options_.verify == VerifyLevel::off) {
    record.method = "not verified: --verify off";
    record.status = VerifyStatus::off;
  } else if (compare) {
    const Verdict verdict = workload_.verify(options_.verify, options_.seed);
    record.method = verdict.method;
    record.found = verdict.found;
    record.status = verdict.status == Verdict::Status::passed   ? VerifyStatus::passed
                    : verdict.status == Verdict::Status::failed ? VerifyStatus::failed
                                                                : VerifyStatus::off;
    if (record.status == VerifyStatus::failed) return {wrong, verdict.message, outcome.digest};
  }
  digests_.note(outcome.digest, of_case);
  constexpr std::size_t enough =
      2;  // samples that agree: the first of all may be wrong in its last bits
  if (outcome.digest == digests_.agreed() && digests_.samples_of(outcome.digest) >= enough)
    write_result();
  return outcome;
}

// A full disk or a missing folder costs this file, not the measurements.
void Verification::write_result() {
  if (!options_.result_file || digests_.written) return;
  digests_.written = true;
  try {
    workload_.write_result(*options_.result_file);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::output) throw;
    observer_.output_failed(error.what());
  }
}

}  // namespace mgpu
