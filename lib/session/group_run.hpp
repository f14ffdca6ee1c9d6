// The run of a group; used only by lib/session/group_run.cpp.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/session/group_exchange.hpp"
#include "lib/session/group_journal.hpp"
#include "lib/session/idle_tracker.hpp"
#include "lib/session/integrity.hpp"
#include "lib/session/live.hpp"
#include "lib/session/time_left.hpp"
#include "lib/session/verification.hpp"

namespace mgpu {

class Group {
 public:
  explicit Group(const GroupRequest& request) : given_(request) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  // Releases programs first, then the objects they share, even after an exception.
  ~Group() { release(); }

  GroupResult run() {
    result_.cases = cases_of(given_.options, in_set_);
    journal_.note_group();
    tell();
    prepare();
    phase_ = Phase::warm_up;
    warm_up(true);
    phase_ = Phase::probe;
    probe();
    measure_power();
    predict();
    phase_ = Phase::warm_up;
    warm_up(false);
    journal_.restore(predictor_, [&](Case& the_case, const std::string& reason) {
      close_failed(the_case, reason);
    });
    phase_ = Phase::sample;
    sample_interleaved();
    agree_on_digests();
    measure_energy();
    finish();
    return std::move(result_);
  }

 private:
  enum class Phase { set_up, warm_up, probe, sample };
  struct Power {
    double idle_w = 0, busy_w = 0;
  };
  static const char* to_string(Phase phase);  // name of the phase in faults

  void prepare();
  void open_again();
  void connect();
  void stop_exchanging();
  RawSample execute(const SampleRequest& request);
  void exchange(SampleRequest& request, const Prediction& prediction,
                std::span<const std::size_t> devices);
  void release();
  bool is_iterative() const;
  void connect_those_left();
  void reconnect();
  RawSample restart_from_checkpoint(const Case& the_case, const SampleRequest& first,
                                    RawSample sample, std::vector<std::size_t>& devices);
  void prepare_device(std::size_t index);
  void mark_failed(std::size_t index, ErrorKind kind, const std::string& what);
  void release_failed(std::size_t index);
  // Frees a device's program, or leaks it and returns false unless the device is known to be idle.
  bool release_program(std::size_t index);
  void refuse(std::size_t index, const std::string& why);
  void refuse(Case& the_case, const std::string& why);
  bool is_usable(std::size_t index) const {
    return !given_.devices[index].lost && result_.prepared[index].program != nullptr;
  }
  std::optional<std::size_t> fail_over(const Case& the_case);
  void close_unsupported_cases();
  void shrink_cases();
  void shrink(Case& the_case);
  void warm_up(bool alone);
  void probe();
  void probe_together(std::size_t first, std::size_t count);
  Predictor make_predictor() const;
  void predict();
  void predict(Case& the_case);
  void sample_interleaved();
  void tell() {
    given_.observer.progress(
        progress_of(result_.cases, given_.problem, given_.mode, given_.options.stop));
  }
  Participant participant(std::size_t index);
  Nanos time_limit_of(const Case& the_case) const;
  SampleRequest request_of(Case& the_case, std::uint32_t most_rounds);
  void execute_uncounted(Case& the_case);
  void take_sample(Case& the_case, bool counts, std::uint32_t most_rounds = ~std::uint32_t{0});
  void report_live(const Case& the_case, std::span<const std::size_t> devices, bool counts,
                   const LiveSample& before, const LiveSample& now);
  void take_invalidated(Case& the_case, RawSample sample, std::vector<std::size_t> devices);
  void note_loss(std::size_t index, const DeviceFault& fault);
  bool exclude_unsuited(const RawSample& sample, std::span<const std::size_t> devices);
  void note_faults(Case& the_case, const RawSample& sample, std::span<const std::size_t> devices);
  Verification::Outcome check(Case& the_case, bool thorough, std::span<const std::size_t> devices);
  bool publish(std::span<const std::size_t> devices);
  bool check_integrity(Case& the_case, const RawSample& sample);
  Recomputation execute_again(Case& the_case, const RawSample& sample, std::size_t from,
                              std::size_t to);
  void fail(Case& the_case, const std::string& reason);
  void fail_wrong(Case& the_case, const std::string& reason);
  bool all_alike(std::span<const std::size_t> devices) const;
  void close_failed(Case& the_case, const std::string& reason);
  bool stopped();
  void agree_on_digests();
  void measure_power();
  void measure_energy();
  std::optional<EnergyBlock> energy_block(Case& the_case);
  std::optional<TimeWindow> execute_for_energy(Case& the_case);
  bool sleep(Nanos time);
  void finish();
  void end_measurement(std::size_t index);
  std::size_t fewest_samples() const;
  StopRule stop_rule() const;  // with the samples that this group takes at least

  const GroupRequest given_;
  // Number of devices; those after it are in reserve.
  const std::size_t in_set_ = in_set(given_.devices);
  Verification verification_{given_.workload, given_.options, given_.digests, given_.observer};
  GroupResult result_;
  GroupExchange exchange_{given_};
  CaseJournal journal_{given_, result_};
  IdleTracker idle_tracker_{given_.devices.size()};
  Predictor predictor_ = make_predictor();
  std::vector<IdlePower> idle_;         // of each counter of energy; empty: not measured yet
  std::map<std::size_t, Power> power_;  // by device; empty: not measured
  Phase phase_ = Phase::set_up;         // recorded in faults
  bool said_not_computed_again_ = false;
};

}  // namespace mgpu
