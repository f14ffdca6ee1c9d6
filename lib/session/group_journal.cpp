#include "lib/session/group_journal.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/base/error.hpp"

namespace mgpu {

void CaseJournal::note_group() {
  JournalGroup group{given_.number,
                     std::string(given_.problem.suite->name) + ' ' + to_string(given_.mode),
                     {},
                     {},
                     {}};
  group.settled = given_.problem.settled;
  for (const SessionDevice& device : given_.devices) group.devices.push_back(device.facts.id);
  for (const Case& the_case : result_.cases) {
    group.cases.push_back(the_case.alone()
                              ? "alone " + given_.devices[the_case.devices.front()].facts.id
                              : the_case.choice->label() + " on " + std::to_string(the_case.asked));
  }
  journaled_.resize(result_.cases.size());
  group_ = group;
  note(std::move(group));
}

void CaseJournal::note_sample(const Case& the_case, const std::string& digest) {
  JournalSample sample;
  sample.of_case = index_of(the_case);
  sample.devices = the_case.devices;
  sample.run = given_.options.continued ? given_.options.continued->run : 1;
  sample.time = the_case.times.back();
  sample.decision = the_case.decisions.back();
  sample.share = the_case.history.back();
  sample.recomputed =
      the_case.verify.recomputed -
      std::exchange(journaled_[sample.of_case].recomputed, the_case.verify.recomputed);
  sample.digest = digest;
  if (const auto& chosen = the_case.prediction.chosen) {
    sample.chosen = chosen->chosen.strategy->name;
    sample.uses = chosen->uses;
  }
  note(std::move(sample));
}

void CaseJournal::note_failure(const Case& the_case) {
  note(JournalFailure{index_of(the_case), the_case.reason, the_case.verify});
}

void CaseJournal::note_losses() {
  for (; journaled_faults_ < result_.faults.size(); ++journaled_faults_)
    note(JournalFault{std::nullopt, result_.faults[journaled_faults_]});
  for (std::size_t k = 0; k < result_.cases.size(); ++k) {
    const Case& the_case = result_.cases[k];
    for (std::size_t& n = journaled_[k].invalidated; n < the_case.invalidated.size(); ++n) {
      const Case::Invalidated& one = the_case.invalidated[n];
      note(JournalInvalidated{k, one.devices, one.sample.makespan(), one.verify, one.reason,
                              one.samples_before});
    }
    for (std::size_t& n = journaled_[k].faults; n < the_case.faults.size(); ++n)
      note(JournalFault{k, the_case.faults[n]});
  }
}

void CaseJournal::restore(const Predictor& predictor,
                          const std::function<void(Case&, const std::string& reason)>& fail) {
  if (const GroupJournal* earlier = earlier_runs()) {
    if (earlier->group != group_)
      throw Error(ErrorKind::input,
                  "the journal has other cases of " + earlier->group.name + " than this run");
    std::size_t foreign = 0;
    for (const JournalSample& sample : earlier->samples)
      foreign += restore(sample, predictor) ? 0 : 1;
    if (foreign > 0) {
      given_.observer.warning(
          std::to_string(foreign) + " samples of " + earlier->group.name +
          " from an earlier run are left out: their cases have other devices now");
    }
    restore_losses(*earlier);
    // A result that was wrong once stays wrong.
    for (const JournalFailure& failure : earlier->failures) {
      Case& the_case = result_.cases[failure.of_case];
      the_case.verify = failure.verify;
      fail(the_case, failure.reason);
    }
  }
  note_losses();  // those of this run
}

const GroupJournal* CaseJournal::earlier_runs() const {
  if (!given_.options.continued) return nullptr;
  const auto at = given_.options.continued->under_way.find(given_.number);
  return at == given_.options.continued->under_way.end() ? nullptr : &at->second;
}

bool CaseJournal::has_samples_of_earlier_runs_only() const {
  const GroupJournal* earlier = earlier_runs();
  return earlier &&
         std::any_of(
             earlier->samples.begin(), earlier->samples.end(), [&](const JournalSample& sample) {
               const Case* the_case =
                   sample.of_case < result_.cases.size() ? &result_.cases[sample.of_case] : nullptr;
               return the_case != nullptr && the_case->samples.empty() &&
                      (the_case->status == Status::ok || the_case->status == Status::skipped);
             });
}

// Puts the failures of earlier runs first, as in the journal: faults name samples by their index.
void CaseJournal::restore_losses(const GroupJournal& earlier) {
  std::vector<std::vector<Case::Invalidated>> invalidated(result_.cases.size());
  for (const JournalInvalidated& one : earlier.invalidated) {
    RawSample sample;
    sample.end = one.time;
    invalidated[one.of_case].push_back(
        {std::move(sample), one.devices, one.verify, one.reason, one.samples_before, true});
  }
  std::vector<std::vector<Fault>> faults(result_.cases.size());
  std::vector<Fault> of_no_case;
  for (const JournalFault& one : earlier.faults)
    (one.of_case ? faults[*one.of_case] : of_no_case).push_back(one.fault);
  journaled_faults_ = of_no_case.size();
  result_.faults.insert(result_.faults.begin(), of_no_case.begin(), of_no_case.end());
  for (std::size_t k = 0; k < result_.cases.size(); ++k) {
    Case& the_case = result_.cases[k];
    journaled_[k] = {invalidated[k].size(), faults[k].size(), the_case.verify.recomputed};
    for (Fault& mine : the_case.faults)
      if (mine.sample) *mine.sample += invalidated[k].size();
    the_case.faults.insert(the_case.faults.begin(), faults[k].begin(), faults[k].end());
    std::move(the_case.invalidated.begin(), the_case.invalidated.end(),
              std::back_inserter(invalidated[k]));
    the_case.invalidated = std::move(invalidated[k]);
  }
}

bool CaseJournal::restore(const JournalSample& sample, const Predictor& predictor) {
  Case& the_case = result_.cases[sample.of_case];
  if (sample.devices != the_case.devices) {
    ++the_case.discarded;
    return false;
  }
  if (the_case.closed) return true;  // failed or unsupported: it has no samples
  if (!sample.chosen.empty()) keep_choice(the_case, sample, predictor);
  the_case.times.push_back(sample.time);
  the_case.decisions.push_back(sample.decision);
  the_case.history.push_back(sample.share);
  the_case.earlier_runs.push_back(sample.run);
  the_case.verify.recomputed += sample.recomputed;
  if (sample.digest.empty()) return true;
  ++the_case.digests[sample.digest];
  ++the_case.verify.checked;
  given_.digests.note(sample.digest, ids_of(given_.devices, the_case.devices));
  return true;
}

// Restores the choice of `auto`, which chooses once for all samples of a case in all runs.
void CaseJournal::keep_choice(Case& the_case, const JournalSample& sample,
                              const Predictor& predictor) {
  Prediction& prediction = the_case.prediction;
  if (prediction.chosen && prediction.chosen->chosen.strategy->name == sample.chosen &&
      prediction.chosen->uses == sample.uses)
    return;
  const auto all = all_strategies();
  const auto strategy = std::find_if(
      all.begin(), all.end(), [&](const StrategyInfo& info) { return info.name == sample.chosen; });
  if (strategy == all.end())
    throw Error(ErrorKind::input,
                "the journal has a choice of auto that cannot be: " + sample.chosen);
  PlanChoice choice;
  choice.chosen.strategy = &*strategy;
  choice.chosen.devices =
      static_cast<std::size_t>(std::count(sample.uses.begin(), sample.uses.end(), true));
  choice.uses = sample.uses;
  choice.reasons = {"An earlier run chose it, whose samples are kept."};
  prediction.chosen = std::move(choice);
  prediction.expected.reset();
  predictor.predict(prediction, the_case.strategy(), the_case.history);
  if (prediction.expected) prediction.chosen->chosen.predicted = prediction.expected->makespan;
}

}  // namespace mgpu
