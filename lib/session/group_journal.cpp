// What a group tells the journal while it runs, and what it takes from that of an earlier run.
#include <algorithm>
#include <iterator>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/session/forecast.hpp"
#include "lib/session/group_run.hpp"

namespace mgpu {

void Group::note(const JournalEntry& entry) { observer_.noted(entry, backend_.now()); }

void Group::note_group() {
  JournalGroup group{number_, std::string(problem_.suite->name) + ' ' + to_string(mode_), {}, {}};
  for (const SessionDevice& device : devices_) group.devices.push_back(device.facts.id);
  for (const Cell& cell : result_.cells) {
    group.cases.push_back(cell.alone() ? "alone " + devices_[cell.devices.front()].facts.id
                                       : cell.choice->label() + " on " + std::to_string(cell.asked));
  }
  journaled_.resize(result_.cells.size());
  group_ = group;
  note(std::move(group));
}

void Group::note_sample(const Cell& cell, const std::string& digest) {
  JournalSample sample;
  sample.of_case = index_of(cell);
  sample.devices = cell.devices;
  sample.run = run_number();
  sample.time = cell.times.back();
  sample.decision = cell.decisions.back();
  sample.share = cell.history.back();
  sample.recomputed = cell.verify.recomputed - std::exchange(journaled_[sample.of_case].recomputed, cell.verify.recomputed);
  sample.digest = digest;
  if (cell.chosen) {
    sample.chosen = cell.chosen->chosen.strategy->name;
    sample.uses = cell.chosen->uses;
  }
  note(std::move(sample));
}

void Group::note_failure(const Cell& cell) { note(JournalFailure{index_of(cell), cell.reason, cell.verify}); }

// What was lost since this was last asked.
void Group::note_losses() {
  for (; journaled_faults_ < result_.faults.size(); ++journaled_faults_)
    note(JournalFault{std::nullopt, result_.faults[journaled_faults_]});
  for (std::size_t k = 0; k < result_.cells.size(); ++k) {
    const Cell& cell = result_.cells[k];
    for (std::size_t& n = journaled_[k].disturbed; n < cell.disturbed.size(); ++n) {
      const Cell::Disturbed& one = cell.disturbed[n];
      note(JournalDisturbed{k, one.devices, one.sample.makespan(), one.verify, one.reason, one.samples_before});
    }
    for (std::size_t& n = journaled_[k].faults; n < cell.faults.size(); ++n) note(JournalFault{k, cell.faults[n]});
  }
}

// After this run's own warming up, so that nothing is believed of an earlier run that this one would not find by itself: rates,
// whether results are right. Samples of devices that the case does not have now are no samples of it.
void Group::take_up() {
  if (const GroupJournal* earlier = earlier_runs()) {
    if (earlier->group != group_)
      throw Error(ErrorKind::input, "the journal has other cases of " + earlier->group.name + " than this run");
    std::size_t foreign = 0;
    for (const JournalSample& sample : earlier->samples) foreign += take_up(sample) ? 0 : 1;
    if (foreign > 0) {
      observer_.warning(std::to_string(foreign) + " samples of " + earlier->group.name +
                        " from an earlier run are left out: their cases have other devices now");
    }
    take_up_losses(*earlier);
    for (const JournalFailure& failure : earlier->failures) {  // what was wrong once is not made right by another try
      Cell& cell = result_.cells[failure.of_case];
      cell.verify = failure.verify;
      close_failed(cell, failure.reason);
    }
  }
  note_losses();  // this run's
}

const GroupJournal* Group::earlier_runs() const {
  if (!options_.continued) return nullptr;
  const auto at = options_.continued->under_way.find(number_);
  return at == options_.continued->under_way.end() ? nullptr : &at->second;
}

bool Group::has_samples_of_earlier_runs_only() const {
  const GroupJournal* earlier = earlier_runs();
  return earlier && std::any_of(earlier->samples.begin(), earlier->samples.end(), [&](const JournalSample& sample) {
           const Cell* cell = sample.of_case < result_.cells.size() ? &result_.cells[sample.of_case] : nullptr;
           return cell != nullptr && cell->samples.empty() && (cell->status == Status::ok || cell->status == Status::skipped);
         });
}

// What earlier runs lost comes first, as in the journal: faults name samples by their place in it.
void Group::take_up_losses(const GroupJournal& earlier) {
  std::vector<std::vector<Cell::Disturbed>> disturbed(result_.cells.size());
  for (const JournalDisturbed& one : earlier.disturbed) {
    RawSample sample;
    sample.end = one.time;
    disturbed[one.of_case].push_back({std::move(sample), one.devices, one.verify, one.reason, one.samples_before, true});
  }
  std::vector<std::vector<Fault>> faults(result_.cells.size());
  std::vector<Fault> of_no_case;
  for (const JournalFault& one : earlier.faults) (one.of_case ? faults[*one.of_case] : of_no_case).push_back(one.fault);
  journaled_faults_ = of_no_case.size();
  result_.faults.insert(result_.faults.begin(), of_no_case.begin(), of_no_case.end());
  for (std::size_t k = 0; k < result_.cells.size(); ++k) {
    Cell& cell = result_.cells[k];
    journaled_[k] = {disturbed[k].size(), faults[k].size(), cell.verify.recomputed};
    for (Fault& mine : cell.faults)
      if (mine.sample) *mine.sample += disturbed[k].size();
    cell.faults.insert(cell.faults.begin(), faults[k].begin(), faults[k].end());
    std::move(cell.disturbed.begin(), cell.disturbed.end(), std::back_inserter(disturbed[k]));
    cell.disturbed = std::move(disturbed[k]);
  }
}

bool Group::take_up(const JournalSample& sample) {
  Cell& cell = result_.cells[sample.of_case];
  if (sample.devices != cell.devices) {
    ++cell.set_aside;
    return false;
  }
  if (cell.closed) return true;  // failed or unsupported: it has no samples
  if (!sample.chosen.empty()) keep_choice(cell, sample);
  cell.times.push_back(sample.time);
  cell.decisions.push_back(sample.decision);
  cell.history.push_back(sample.share);
  cell.earlier_runs.push_back(sample.run);
  cell.verify.recomputed += sample.recomputed;
  if (sample.digest.empty()) return true;
  ++cell.digests[sample.digest];
  ++cell.verify.checked;
  digests_.note(sample.digest, ids_of(cell.devices));
  return true;
}

// `auto` chooses once for all samples of a case, of all runs.
void Group::keep_choice(Cell& cell, const JournalSample& sample) {
  if (cell.chosen && cell.chosen->chosen.strategy->name == sample.chosen && cell.chosen->uses == sample.uses) return;
  const auto all = all_strategies();
  const auto strategy = std::find_if(all.begin(), all.end(), [&](const StrategyInfo& info) { return info.name == sample.chosen; });
  if (strategy == all.end() || sample.uses.size() != cell.devices.size())
    throw Error(ErrorKind::input, "the journal has a choice of auto that cannot be: " + sample.chosen);
  PlanChoice choice;
  choice.chosen.strategy = &*strategy;
  choice.chosen.devices = static_cast<std::size_t>(std::count(sample.uses.begin(), sample.uses.end(), true));
  choice.uses = sample.uses;
  choice.reasons = {"An earlier run chose it, whose samples are kept."};
  cell.chosen = std::move(choice);
  cell.predicted.reset();
  predict_cell(cell, workload_, mode_);
  if (cell.predicted) cell.chosen->chosen.predicted = cell.predicted->makespan;
}

// Samples that the shortest open case has: a round that was broken off is finished first, so that sample k of all cases is of one
// round or of two that follow each other.
std::size_t Group::fewest_samples() const {
  std::size_t fewest = ~std::size_t{0};
  for (const Cell& cell : result_.cells)
    if (!cell.closed) fewest = std::min(fewest, cell.times.size());
  return fewest;
}

}  // namespace mgpu
