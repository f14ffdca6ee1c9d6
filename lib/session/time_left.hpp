// Estimate of the time that a session will still take, for a progress line, never for a decision.
#pragma once

#include <optional>
#include <span>

#include "lib/session/group.hpp"

namespace mgpu {

// Returns the time of the samples that the open cases still need by the stop rule, if they take as
// long as those so far. None before every open case has a sample.
std::optional<Nanos> sampling_left(std::span<const Case> cases, const StopRule& stop);

Progress progress_of(std::span<const Case> cases, const Problem& problem, Mode mode,
                     const StopRule& stop);

// Passes on a group's progress, with the estimated time of the groups after it added to the time
// left. Each is taken to last as long as the mean of the finished ones, or, while there is none, as
// this one.
class WholeSession final : public SessionObserver {
 public:
  // `groups`: number of problems times modes of the session, without those that an earlier run
  // finished.
  WholeSession(SessionObserver& observer, Backend& backend, std::size_t groups);

  void group_ended();  // another may begin

  void warning(std::string_view text) override { observer_.warning(text); }
  void remark(std::string_view text) override { observer_.remark(text); }
  void output_failed(std::string_view text) override { observer_.output_failed(text); }
  void progress(const Progress& progress) override;
  void recorded(const Report& so_far) override { observer_.recorded(so_far); }
  bool stop_requested() override { return observer_.stop_requested(); }
  void live(const LiveEvent& event) override { observer_.live(event); }
  void noted(const JournalEntry& entry, Nanos now) override { observer_.noted(entry, now); }
  void finished(std::size_t groups) override { observer_.finished(groups); }

 private:
  SessionObserver& observer_;
  Backend& backend_;
  std::size_t groups_, ended_ = 0;
  Nanos begin_, group_begin_;
};

}  // namespace mgpu
