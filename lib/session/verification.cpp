// Digests of results, and the comparison of new ones with the reference.
#include "lib/session/verification.hpp"

#include <algorithm>

#include "lib/base/error.hpp"

namespace mgpu {

bool Digests::knows(const std::string& digest) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const One& one) { return one.digest == digest; });
}

void Digests::note(const std::string& digest, const std::vector<std::string>& devices) {
  auto at =
      std::find_if(all_.begin(), all_.end(), [&](const One& one) { return one.digest == digest; });
  if (at == all_.end()) at = all_.insert(all_.end(), {digest, {}, 0});
  if (devices.size() == 1) at->alone.insert(devices.front());
  ++at->samples;
}

const std::string& Digests::agreed() const {
  static const std::string none;
  if (all_.size() == 1) return all_.front().digest;
  const One* most = nullptr;
  bool tie = false;
  for (const One& one : all_) {
    const std::size_t votes = one.alone.size(), least = most == nullptr ? 2 : most->alone.size();
    if (votes < least) continue;
    tie = most != nullptr && votes == least;
    most = &one;
  }
  return most == nullptr || tie ? none : most->digest;
}

std::size_t Digests::samples_of(const std::string& digest) const {
  const auto at =
      std::find_if(all_.begin(), all_.end(), [&](const One& one) { return one.digest == digest; });
  return at == all_.end() ? 0 : at->samples;
}

Verification::Outcome Verification::check(VerifyRecord& record,
                                          const std::vector<std::string>& devices, bool thorough,
                                          const std::function<bool()>& publish) {
  using enum Outcome::Status;
  const Shape& shape = workload_.shape();
  const bool on_devices = shape.result_on_devices;
  if (on_devices && !thorough && shape.bytes_out > kEverySample) return {};
  const Outcome lost{
      unknown, "a device was lost before its part of the result was on the host", {}};
  if (on_devices && !publish()) return lost;
  Outcome outcome{right, {}, workload_.digest()};
  const bool compare =
      options_.verify != VerifyLevel::off && (thorough || !digests_.knows(outcome.digest));
  if (compare && !on_devices && options_.verify == VerifyLevel::sample && !publish()) return lost;
  record.digest = outcome.digest;
  if (options_.verify == VerifyLevel::off) {
    record.method = "not verified: --verify off";
    record.status = VerifyStatus::off;
  } else if (compare) {
    Verdict verdict;
    try {
      verdict = workload_.verify(options_.verify, options_.seed);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::interrupted) throw;
      return {unknown, error.what(), {}};
    }
    record.method = verdict.method;
    record.found = verdict.found;
    const std::vector<std::string>& caveats = shape.caveats;
    record.found.warnings.insert(record.found.warnings.begin(), caveats.begin(), caveats.end());
    record.status = verdict.status == Verdict::Status::passed   ? VerifyStatus::passed
                    : verdict.status == Verdict::Status::failed ? VerifyStatus::failed
                                                                : VerifyStatus::off;
    if (record.status == VerifyStatus::failed) return {wrong, verdict.message, outcome.digest};
  }
  digests_.note(outcome.digest, devices);
  // Samples that must agree: the very first may be wrong in its last bits.
  constexpr std::size_t enough = 2;
  if (outcome.digest == digests_.agreed() && digests_.samples_of(outcome.digest) >= enough)
    write_result();
  return outcome;
}

// Writes the result. A full disk or a missing folder loses this file, not the measurements.
void Verification::write_result() {
  if (!options_.result_file || !digests_.written.empty()) return;
  digests_.written = workload_.digest();
  try {
    workload_.write_result(*options_.result_file);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::output) throw;
    observer_.output_failed(error.what());
  }
}

}  // namespace mgpu
