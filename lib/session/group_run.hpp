// The run of a group as a class: what lib/session/group.cpp (its order) and group_losses.cpp (what
// becomes of devices and cases that fail) share. For nobody else.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/session/group.hpp"
#include "lib/session/idle_tracker.hpp"
#include "lib/session/integrity.hpp"
#include "lib/session/time_left.hpp"
#include "lib/session/verification.hpp"

namespace mgpu {

class Group {
 public:
  explicit Group(const GroupRequest& request) : given_(request) {}

  GroupResult run() {
    result_.cases = cases_of(given_.options, in_set_);
    note_group();
    tell();
    prepare();
    phase_ = "warm_up";
    warm_up(true);
    phase_ = "probe";
    probe();
    predict();
    phase_ = "warm_up";
    warm_up(false);
    take_up();
    phase_ = "sample";
    sample_interleaved();
    agree_on_digests();
    finish();
    return std::move(result_);
  }

 private:
  void prepare();
  void open_again();
  void connect();
  bool connect_by(std::optional<PeerPath> path, std::span<OpenDevice* const> devices,
                  const Exchanged& exchanged);
  void disconnect();
  bool release_shared(const std::function<void()>& release);
  void leave_peers();
  void break_up();
  void exchange(SampleRequest& request, const Prediction& prediction,
                std::span<const std::size_t> devices);
  // In group_rounds.cpp.
  bool goes_in_rounds() const;
  void connect_those_left();
  void connect_anew();
  RawSample begin_again(const Case& the_case, const SampleRequest& first, RawSample sample,
                        std::vector<std::size_t>& devices);
  void prepare_device(std::size_t index);
  void lose(std::size_t index, ErrorKind kind, const std::string& what);
  void give_up(std::size_t index);
  // Frees a device's program, or leaks it unless the device is known to be at rest; then false.
  bool release_program(std::size_t index);
  void refuse(std::size_t index, const std::string& why);
  void refuse(Case& the_case, const std::string& why);
  bool is_usable(std::size_t index) const {
    return !given_.devices[index].lost && result_.prepared[index].program != nullptr;
  }
  std::optional<std::size_t> stand_in(const Case& the_case);
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
  Member member(std::size_t index);
  Nanos patience(const Case& the_case) const;
  void execute_uncounted(Case& the_case);
  void take_sample(Case& the_case, bool counts, std::uint32_t most_rounds = ~std::uint32_t{0});
  void take_disturbed(Case& the_case, RawSample sample, std::vector<std::size_t> devices);
  void note_loss(std::size_t index, const DeviceFault& fault);
  void note_faults(Case& the_case, const RawSample& sample, std::span<const std::size_t> devices);
  Verification::Outcome check(Case& the_case, bool thorough, std::span<const std::size_t> devices);
  bool publish(std::span<const std::size_t> devices);
  bool check_integrity(Case& the_case, const RawSample& sample);
  Opinion execute_again(Case& the_case, const RawSample& sample, std::size_t from, std::size_t to);
  void fail(Case& the_case, const std::string& reason);
  void fail_wrong(Case& the_case, const std::string& reason);
  bool all_alike(std::span<const std::size_t> devices) const;
  void close_failed(Case& the_case, const std::string& reason);
  std::vector<std::string> ids_of(std::span<const std::size_t> devices) const;
  bool stopped();
  void agree_on_digests();
  void finish();
  void probe_clock_again(std::size_t index);
  // In group_journal.cpp.
  void note(const JournalEntry& entry);
  void note_group();
  void note_sample(const Case& the_case, const std::string& digest);
  void note_failure(const Case& the_case);
  void note_losses();
  void take_up();
  bool take_up(const JournalSample& sample);
  void take_up_losses(const GroupJournal& earlier);
  const GroupJournal* earlier_runs() const;
  bool has_samples_of_earlier_runs_only()
      const;  // some case: what it has would be gone with the journal
  void keep_choice(Case& the_case, const JournalSample& sample);
  std::size_t fewest_samples() const;
  std::size_t index_of(const Case& the_case) const {
    return static_cast<std::size_t>(&the_case - result_.cases.data());
  }
  std::uint32_t run_number() const {
    return given_.options.continued ? given_.options.continued->run : 1;
  }

  const GroupRequest given_;
  const std::size_t in_set_ = in_set(given_.devices);  // devices; what follows them is in reserve
  Verification verification_{given_.workload, given_.options, given_.digests, given_.observer};
  GroupResult result_;
  std::unique_ptr<PeerGroup> peers_;  // that devices exchange data in; null: they do not
  std::vector<std::size_t> places_;   // in it, of devices
  bool connected_ = false;            // the workload was, and holds what it allocated of the group
  IdleTracker idle_tracker_{given_.devices.size()};
  Predictor predictor_ = make_predictor();
  std::string phase_ = "set_up";  // for faults
  bool said_not_computed_again_ = false;
  struct Journaled {
    std::size_t disturbed = 0, faults = 0, recomputed = 0;
  };
  JournalGroup group_;                // as the journal knows it
  std::vector<Journaled> journaled_;  // by case: what the journal has of them
  std::size_t journaled_faults_ = 0;  // likewise, of no case
};

}  // namespace mgpu
