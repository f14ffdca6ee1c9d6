// The table of exit codes as code. Callers choose the messages.
#include "app/exit_codes.hpp"

#include <algorithm>

namespace mgpu {

ExitCode exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::input:
      return ExitCode::usage;
    case ErrorKind::no_device:
      return ExitCode::no_device;
    case ErrorKind::device:
    case ErrorKind::out_of_memory:
    case ErrorKind::unsupported:
    case ErrorKind::timeout:
      return ExitCode::failed;
    case ErrorKind::interrupted:
      return ExitCode::interrupted;
    case ErrorKind::output:
    case ErrorKind::internal:
      break;
  }
  return ExitCode::internal;
}

ExitCode worst(std::span<const ExitCode> codes) {
  constexpr ExitCode order[] = {
      ExitCode::terminated, ExitCode::interrupted, ExitCode::hung_up,
      ExitCode::internal,   ExitCode::unverified,  ExitCode::failed,
      ExitCode::regression, ExitCode::usage,       ExitCode::inconclusive};
  for (const ExitCode code : order) {
    if (std::find(codes.begin(), codes.end(), code) != codes.end()) return code;
  }
  return ExitCode::ok;
}

ExitCode fault_code(const Fault& fault, bool strict) {
  if (fault.kind == "wrong_result") return ExitCode::unverified;
  return strict ? ExitCode::failed : ExitCode::ok;
}

ExitCode outcome(const Report& report, bool strict) {
  std::vector<ExitCode> codes;
  bool any_ok = false;
  for (const RunRecord& run : report.runs) {
    any_ok |= run.status == Status::ok;
    if (run.verify.status == VerifyStatus::failed) codes.push_back(ExitCode::unverified);
    if (run.status == Status::failed || (strict && run.status == Status::skipped))
      codes.push_back(ExitCode::failed);
    for (const Fault& fault : run.faults) codes.push_back(fault_code(fault, strict));
    if (strict && asked_for(run) > run.devices.size()) codes.push_back(ExitCode::failed);
  }
  for (const Fault& fault : report.faults) codes.push_back(fault_code(fault, strict));
  if (!any_ok)
    codes.push_back(ExitCode::failed);  // a job in CI must not pass because nothing was measured
  return worst(codes);
}

ExitCode outcome(const Comparison& comparison) {
  if (comparison.count(Change::regression) > 0) return ExitCode::regression;
  if (comparison.undecidable()) return ExitCode::usage;
  return comparison.suspects() > 0 ? ExitCode::inconclusive : ExitCode::ok;
}

}  // namespace mgpu
