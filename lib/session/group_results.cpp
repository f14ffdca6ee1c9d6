// Results of a group's samples: whether they are right, who computed what is not, and which bits
// are the right ones.
#include <algorithm>
#include <numeric>
#include <utility>

#include "lib/exec/driver_call.hpp"
#include "lib/session/group_run.hpp"

namespace mgpu {

// A case whose result is wrong has no numbers, as one without a result.
Verification::Outcome Group::check(Case& the_case, bool thorough,
                                   std::span<const std::size_t> devices) {
  Verification::Outcome outcome = verification_.check(the_case.verify, ids_of(devices), thorough,
                                                      [&] { return publish(devices); });
  if (!outcome.digest.empty()) ++the_case.digests[outcome.digest];
  return outcome;
}

// False: a device was lost, and with it its part of the result.
bool Group::publish(std::span<const std::size_t> devices) {
  for (const std::size_t i : devices) {
    if (!is_usable(i)) continue;
    try {
      OpenDevice& device = *given_.devices[i].open;
      attend(given_.backend, &device, [&] {
        complete(given_.backend, device, result_.prepared[i].program->publish(device.stream()));
      });
    } catch (const Error& error) {
      lose(i, error.kind(), error.what());
      if (error.kind() != ErrorKind::interrupted)
        result_.faults.push_back(
            {given_.devices[i].facts.id, kind_of(error.kind()), "publish", error.what()});
      return false;  // with it went what programs of work that goes in rounds share
    }
  }
  return true;
}

// Computes parts of the sample again on other devices of the case, if these are alike: others may
// give other last bits. False: the case has failed, or goes on without a device that was lost
// meanwhile.
bool Group::check_integrity(Case& the_case, const RawSample& sample) {
  // A slice by itself is not what it is between its neighbours.
  if (goes_in_rounds()) return true;
  if (given_.options.integrity == IntegrityLevel::off || !all_alike(the_case.devices)) return true;
  const std::size_t count = the_case.devices.size();
  const bool full = given_.options.integrity == IntegrityLevel::full, has_third = count > 2;
  const Opinion original{the_case.verify.digest, true};
  const std::vector<std::string> ids = ids_of(the_case.devices);
  const auto lost_one = [&] {
    return the_case.devices.size() != count ||
           !std::all_of(the_case.devices.begin(), the_case.devices.end(),
                        [&](auto i) { return is_usable(i); });
  };
  for (std::size_t n = 0; n < (full ? count : 1); ++n) {
    const std::size_t from = full ? n : the_case.times.size() % count, to = (from + 1) % count;
    const Opinion elsewhere = execute_again(the_case, sample, from, to);
    if (the_case.closed || lost_one()) return false;
    if (elsewhere.digest.empty())
      return !given_.observer.stop_requested();  // it did not fit, say: the sample stands, and was
                                                 // not compared
    if (elsewhere.digest == original.digest) {
      ++the_case.verify.recomputed;
      continue;
    }
    const Opinion again =
        execute_again(the_case, sample, from, has_third ? (from + 2) % count : from);
    std::string what =
        "devices " + ids[from] + " and " + ids[to] + " compute other bits of the same items";
    if (from == to)
      what =
          "device " + ids[from] + " computes other bits of the same items when it is asked again";
    if (lost_one()) {  // the device that was to say which of them is wrong
      the_case.verify.status = VerifyStatus::failed;
      fail(the_case, what);
      return false;
    }
    if (const auto wrong = outvoted(original, elsewhere, again, has_third, from, to)) {
      the_case.faults.push_back({ids[*wrong], "wrong_result", "verify", what});
      what += "; wrong is " + ids[*wrong];
    }
    fail_wrong(the_case, what);
    return false;
  }
  return true;
}

// The result with the items of device `from` of the case computed by `to`; none when a device is
// lost or the session stops.
Opinion Group::execute_again(Case& the_case, const RawSample& sample, std::size_t from,
                             std::size_t to) {
  ReplaySource source(slices_with(sample, the_case.devices.size(), from, to));
  SampleRequest request{&given_.workload, &source};
  for (const std::size_t i : the_case.devices) request.members.push_back(member(i));
  request.merge_device = {static_cast<std::uint32_t>(to)};
  request.timeout = patience(the_case);
  request.stop = [&] { return given_.observer.stop_requested(); };
  RawSample again = given_.executor.run(request);
  if (again.interrupted) return {};
  if (!again.faults.empty()) {
    take_disturbed(the_case, std::move(again), the_case.devices);
    return {};
  }
  if (again.failure) {
    if (!std::exchange(said_not_computed_again_, true))
      given_.observer.warning(std::string("results are not all computed again: ") +
                              again.failure->what());
    return {};
  }
  if (given_.workload.shape().result_on_devices && !publish(the_case.devices)) return {};
  Opinion opinion{given_.workload.digest(), true};
  if (opinion.digest == the_case.verify.digest && the_case.devices.size() != 2) return opinion;
  try {
    opinion.right = given_.workload.verify(VerifyLevel::full, given_.options.seed).status !=
                    Verdict::Status::failed;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
    return {};
  }
  return opinion;
}

bool Group::all_alike(std::span<const std::size_t> devices) const {
  const auto alike = [&](std::size_t i) {
    const Device &a = given_.devices[i].facts, &b = given_.devices[devices.front()].facts;
    return a.name == b.name && a.platform == b.platform && a.driver_version == b.driver_version;
  };
  return std::all_of(devices.begin(), devices.end(), alike);
}

void Group::fail(Case& the_case, const std::string& reason) {
  close_failed(the_case, reason);
  note_failure(the_case);
}

void Group::close_failed(Case& the_case, const std::string& reason) {
  the_case.status = Status::failed;
  the_case.reason = reason;
  the_case.closed = true;
  the_case.samples.clear();
  the_case.times.clear();
  the_case.decisions.clear();
  the_case.earlier_runs.clear();
}

void Group::fail_wrong(Case& the_case, const std::string& reason) {
  const std::string& first = given_.devices[the_case.devices.front()].facts.id;
  the_case.verify.status = VerifyStatus::failed;
  fail(the_case, the_case.devices.size() == 1 ? "device " + first + ": " + reason : reason);
  if (the_case.devices.size() > 1) return;
  // No other device took part. Cases that are compared with this device alone have no base.
  Fault fault{first, "wrong_result", "verify", reason};
  (the_case.alone() ? result_.faults : the_case.faults).push_back(std::move(fault));
  given_.observer.warning("device " + first + " alone computes a wrong result: " + reason);
}

// Equal devices compute equal bits: a result whose bits are others is wrong even within the
// reference's bound. Which bits are right is known only if devices agree that compute all alone.
void Group::agree_on_digests() {
  if (given_.options.verify == VerifyLevel::off) return;
  const std::string& agreed = given_.digests.agreed();
  if (const std::string& written = given_.digests.written; !written.empty() && written != agreed)
    given_.observer.warning(given_.options.result_file->string() +
                            " has a result whose bits equal devices do not agree on");
  std::vector<std::size_t> everybody(in_set_);
  std::iota(everybody.begin(), everybody.end(), std::size_t{0});
  for (Case& the_case : result_.cases) {
    const auto other = std::find_if(the_case.digests.begin(), the_case.digests.end(),
                                    [&](const auto& d) { return d.first != agreed; });
    if (other == the_case.digests.end() || the_case.status != Status::ok) continue;
    if (!all_alike(everybody)) {
      the_case.verify.method += "; devices of another kind give other last bits";
    } else if (agreed.empty()) {
      the_case.verify.status = VerifyStatus::failed;
      fail(the_case,
           "equal devices computed different bits, and no other device decides which are right");
    } else {
      fail_wrong(the_case, "the result " + other->first + " differs from " + agreed +
                               ", which several devices computed alone");
    }
  }
}

std::vector<std::string> Group::ids_of(std::span<const std::size_t> devices) const {
  std::vector<std::string> ids;
  for (const std::size_t i : devices) ids.push_back(given_.devices[i].facts.id);
  return ids;
}

}  // namespace mgpu
