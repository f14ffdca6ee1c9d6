#include "lib/session/time_left.hpp"

#include <algorithm>
#include <cmath>

namespace mgpu {
namespace {

// Returns how many samples the rule will need in all, if the next are like those before.
double samples_wanted(const Case& the_case, const StopRule& stop) {
  if (stop.exactly > 0) return static_cast<double>(stop.exactly);
  const Summary summary = summarise(the_case.times);
  const double median = std::max(1e-9, seconds(summary.median)),
               n = static_cast<double>(the_case.times.size());
  double wanted = std::max(static_cast<double>(stop.least), seconds(stop.least_time) / median);
  const double half = seconds(summary.ci95_high - summary.ci95_low) / 2;
  const double too_wide = half / (stop.half_width * median);
  if (too_wide > 1)
    wanted = std::max(wanted, n * too_wide * too_wide);  // the interval shrinks with the root of n
  return std::min(wanted, std::max(n, seconds(stop.most_time) / median));
}

}  // namespace

std::optional<Nanos> sampling_left(std::span<const Case> cases, const StopRule& stop) {
  double left = 0;
  for (const Case& the_case : cases) {
    if (the_case.closed) continue;
    if (the_case.times.empty()) return std::nullopt;
    const double more =
        std::max(0.0, samples_wanted(the_case, stop) - static_cast<double>(the_case.times.size()));
    left += more * seconds(summarise(the_case.times).median);
  }
  return from_seconds(left);
}

Progress progress_of(std::span<const Case> cases, const Problem& problem, Mode mode,
                     const StopRule& stop) {
  const auto closed = std::count_if(cases.begin(), cases.end(),
                                    [](const Case& the_case) { return the_case.closed; });
  return {.what = problem.suite->name + ' ' + words_of(mode),
          .done = static_cast<std::size_t>(closed),
          .total = cases.size(),
          .left = sampling_left(cases, stop)};
}

WholeSession::WholeSession(SessionObserver& observer, Backend& backend, std::size_t groups)
    : observer_(observer),
      backend_(backend),
      groups_(groups),
      begin_(backend.now()),
      group_begin_(begin_) {}

void WholeSession::group_ended() {
  ++ended_;
  group_begin_ = backend_.now();
}

void WholeSession::progress(const Progress& progress) {
  Progress whole = progress;
  whole.group = ended_;
  whole.groups = groups_;
  if (whole.left) {
    const Nanos one = ended_ > 0 ? (group_begin_ - begin_) / static_cast<std::int64_t>(ended_)
                                 : backend_.now() - group_begin_ + *whole.left;
    if (groups_ > ended_ + 1) *whole.left += one * static_cast<std::int64_t>(groups_ - ended_ - 1);
  }
  observer_.progress(whole);
}

}  // namespace mgpu
