// Writes the samples and losses of a group to the journal, and restores those of an earlier run.
#pragma once

#include <string>
#include <vector>

#include "lib/session/group.hpp"

namespace mgpu {

class CaseJournal {
 public:
  // Both outlive it.
  CaseJournal(const GroupRequest& given, GroupResult& result) : given_(given), result_(result) {}

  void note_group();
  void note_sample(const Case& the_case, const std::string& digest);
  void note_failure(const Case& the_case);
  void note_losses();  // since this was last asked

  // Takes what earlier runs of this one had. It is called after this run's own warm-up, so that
  // nothing is believed of an earlier run that this one would not find by itself: rates, whether
  // results are right. Samples of devices that the case does not have now are no samples of it.
  // `fail` closes a case whose result was wrong. Throws Error(input) when the journal is of another
  // run.
  void restore(const Predictor& predictor,
               const std::function<void(Case&, const std::string& reason)>& fail);
  // Tells whether some case has samples of earlier runs only, which would be lost with the journal.
  bool has_samples_of_earlier_runs_only() const;

 private:
  void note(const JournalEntry& entry) { given_.observer.noted(entry, given_.backend.now()); }
  const GroupJournal* earlier_runs() const;
  void restore_losses(const GroupJournal& earlier);
  bool restore(const JournalSample& sample, const Predictor& predictor);
  void keep_choice(Case& the_case, const JournalSample& sample, const Predictor& predictor);
  std::size_t index_of(const Case& the_case) const {
    return static_cast<std::size_t>(&the_case - result_.cases.data());
  }

  const GroupRequest& given_;
  GroupResult& result_;
  struct Journaled {
    std::size_t disturbed = 0, faults = 0, recomputed = 0;
  };
  JournalGroup group_;                // as the journal knows it
  std::vector<Journaled> journaled_;  // by case: what the journal has of them
  std::size_t journaled_faults_ = 0;  // those of no case
};

}  // namespace mgpu
