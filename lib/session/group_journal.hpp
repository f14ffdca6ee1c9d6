// Writes the samples and failures of a group to the journal, and restores those of an earlier run.
#pragma once

#include <string>
#include <vector>

#include "lib/session/group.hpp"

namespace mgpu {

class CaseJournal {
 public:
  // Both arguments must outlive it.
  CaseJournal(const GroupRequest& given, GroupResult& result) : given_(given), result_(result) {}

  void note_group();
  void note_sample(const Case& the_case, const std::string& digest);
  void note_failure(const Case& the_case);
  void note_losses();  // notes disturbed samples and faults since the last call

  // Adds the samples of earlier runs. Called after this run's warm-up, so that rates and the
  // correctness of results are this run's own findings. Discards samples of devices that the case
  // does not have now. `fail` closes a case whose result was wrong. Throws Error(input) if the
  // journal belongs to another run.
  void restore(const Predictor& predictor,
               const std::function<void(Case&, const std::string& reason)>& fail);
  // Tells whether some case has only samples of earlier runs, which would be lost with the journal.
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
    std::size_t invalidated = 0, faults = 0, recomputed = 0;
  };
  JournalGroup group_;                // the group as the journal has it
  std::vector<Journaled> journaled_;  // by case: numbers already in the journal
  std::size_t journaled_faults_ = 0;  // faults outside cases that are already in the journal
};

}  // namespace mgpu
