// Computes the metrics of a case as lib/profile/README.md defines them. parts.cpp divides one
// device's time into parts.
#include "lib/profile/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "lib/profile/rounds.hpp"

namespace mgpu {

namespace {

double as_double(Nanos t) { return static_cast<double>(t.count()); }

struct MaxMean {
  double max = 0, mean = 0;
};

// Returns none for fewer than two devices, or when none was busy.
std::optional<MaxMean> max_and_mean(std::span<const Nanos> busy) {
  if (busy.size() < 2) return std::nullopt;
  MaxMean m;
  for (const Nanos b : busy) {
    m.max = std::max(m.max, as_double(b));
    m.mean += as_double(b);
  }
  m.mean /= static_cast<double>(busy.size());
  if (m.mean <= 0) return std::nullopt;
  return m;
}

// Returns all tau_i, or nothing when one is missing or not positive.
std::optional<std::vector<Nanos>> all_alone(const MetricsInput& input, std::size_t devices) {
  if (devices == 0 || input.alone.size() != devices) return std::nullopt;
  std::vector<Nanos> alone;
  for (const std::optional<Nanos>& tau : input.alone) {
    if (!tau || *tau <= Nanos{}) return std::nullopt;
    alone.push_back(*tau);
  }
  return alone;
}

// Returns max_i |share_i / ideal_i - 1|, where ideal_i = (1/tau_i) / sum(1/tau).
std::optional<double> share_error(std::span<const DeviceParts> parts,
                                  std::span<const Nanos> alone) {
  double items = 0, speeds = 0, worst = 0;
  for (const DeviceParts& p : parts) items += static_cast<double>(p.items);
  for (const Nanos tau : alone) speeds += 1 / as_double(tau);
  if (parts.size() < 2 || items <= 0) return std::nullopt;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double ideal = 1 / as_double(alone[i]) / speeds;
    worst = std::max(worst, std::abs(static_cast<double>(parts[i].items) / items / ideal - 1));
  }
  return worst;
}

void add_speedups(Metrics& m, std::span<const DeviceParts> parts, const MetricsInput& input) {
  const auto alone = all_alone(input, parts.size());
  if (!alone) return;
  m.ideal_speedup = ideal_speedup(*alone);
  m.share_error = share_error(parts, *alone);
  if (input.time <= Nanos{}) return;
  // A set of one device is its own baseline: a second measurement of it is no speed-up.
  const Nanos fastest =
      alone->size() == 1 ? input.time : *std::min_element(alone->begin(), alone->end());
  m.speedup = as_double(fastest) / as_double(input.time);
  m.efficiency = *m.speedup / *m.ideal_speedup;
  m.karp_flatt = karp_flatt(*m.speedup, *m.ideal_speedup);
}

// Adds the shares of the shown sample's own T: means over the devices of the set.
void add_shares(Metrics& m, std::span<const DeviceParts> parts, Nanos makespan) {
  double hidden = 0, transfers = 0, exposed = 0, exchange = 0, exchanges_hidden = 0,
         all_exchanges = 0, waiting = 0, sync = 0;
  bool exchanges = false;
  for (const DeviceParts& p : parts) {
    hidden += as_double(p.transfer_hidden);
    transfers += as_double(p.transfer_total);
    exposed += as_double(p.transfer_total - p.transfer_hidden);
    exchange += as_double(p.exchange);
    const auto times = p.exchange_times.value_or(DeviceParts::ExchangeTimes{});
    exchanges_hidden += as_double(times.hidden);
    all_exchanges += as_double(times.total);
    waiting += as_double(times.waiting);
    exchanges = exchanges || p.exchanges;
    sync += as_double(p.sync);
  }
  if (transfers > 0) m.overlap = hidden / transfers;
  if (all_exchanges > 0) m.exchange_overlap = exchanges_hidden / all_exchanges;
  if (makespan <= Nanos{} || parts.empty()) return;
  const double n = static_cast<double>(parts.size());
  const double whole = n * as_double(makespan);
  m.comm_share = exposed / whole;
  if (exchanges) m.exchange_share = exchange / whole;
  if (exchanges) m.waiting_share = waiting / whole;
  m.sync_share = sync / whole;
  if (parts.size() < 2) return;
  double mean = 0, squares = 0;
  for (const DeviceParts& p : parts) mean += as_double(p.compute) / as_double(makespan) / n;
  for (const DeviceParts& p : parts)
    squares += std::pow(as_double(p.compute) / as_double(makespan) - mean, 2) / n;
  m.utilisation_stdev = std::sqrt(squares);
}

}  // namespace

std::optional<double> balance(std::span<const Nanos> finish) {
  if (finish.size() < 2) return std::nullopt;
  const auto [least, most] = std::minmax_element(finish.begin(), finish.end());
  if (*most <= Nanos{}) return std::nullopt;
  return as_double(std::max(*least, Nanos{})) / as_double(*most);
}

std::optional<double> imbalance_percent(std::span<const Nanos> busy) {
  const auto m = max_and_mean(busy);
  if (!m) return std::nullopt;
  return (m->max / m->mean - 1) * 100;
}

// DeRose, Homer, Johnson: "Detecting application load imbalance on high end massively parallel
// systems", Euro-Par 2007.
std::optional<double> imbalance_derose_percent(std::span<const Nanos> busy) {
  const auto m = max_and_mean(busy);
  if (!m) return std::nullopt;
  const double n = static_cast<double>(busy.size());
  return (m->max - m->mean) / m->max * n / (n - 1) * 100;
}

std::optional<double> ideal_speedup(std::span<const Nanos> alone) {
  if (alone.empty() ||
      std::any_of(alone.begin(), alone.end(), [](Nanos t) { return t <= Nanos{}; }))
    return std::nullopt;
  const double least = as_double(*std::min_element(alone.begin(), alone.end()));
  return std::accumulate(alone.begin(), alone.end(), 0.0,
                         [&](double sum, Nanos t) { return sum + least / as_double(t); });
}

// Karp and Flatt: "Measuring parallel processor performance", CACM 33(5), 1990, with ideal_speedup
// in place of n for unequal devices.
std::optional<double> karp_flatt(double speedup, double ideal_speedup) {
  if (!(speedup > 0) || !(ideal_speedup > 1)) return std::nullopt;
  return (1 / speedup - 1 / ideal_speedup) / (1 - 1 / ideal_speedup);
}

Metrics compute_metrics(const Timeline& timeline, std::span<const DeviceParts> parts,
                        const MetricsInput& input) {
  Metrics m;
  add_speedups(m, parts, input);
  if (std::all_of(parts.begin(), parts.end(),
                  [](const DeviceParts& p) { return p.unknown.empty(); })) {
    add_shares(m, parts, timeline.makespan);
    std::vector<Nanos> finish, busy;
    for (const DeviceParts& p : parts) {
      finish.push_back(p.finish);
      busy.push_back(p.busy);
    }
    m.balance = balance(finish);
    if (const auto rounds = round_imbalance(timeline)) {
      m.round_imbalance_percent = rounds->mean;
      m.worst_round_imbalance_percent = rounds->worst;
    }
    m.imbalance_percent = imbalance_percent(busy);
    m.imbalance_derose_percent = imbalance_derose_percent(busy);
  }
  if (input.predicted && input.time > Nanos{})
    m.prediction_error = std::abs(as_double(*input.predicted - input.time)) / as_double(input.time);
  m.roofline_fraction = input.roofline_fraction;
  return m;
}

std::span<const MetricInfo> all_metrics() {
  static constexpr MetricInfo table[] = {
      {"speedup", "x", true,
       "time of the device that is fastest alone / time of the set; 1 for one device",
       &Metrics::speedup},
      {"ideal_speedup", "x", true,
       "least tau * sum of 1/tau over the devices: the speedup of a perfect split",
       &Metrics::ideal_speedup},
      {"efficiency", "1", true, "speedup / ideal_speedup", &Metrics::efficiency},
      {"balance", "1", true,
       "end of the device that finishes first / end of the one that finishes last",
       &Metrics::balance},
      {"imbalance_percent", "%", false, "(longest busy time / mean busy time - 1) * 100",
       &Metrics::imbalance_percent},
      {"imbalance_derose_percent", "%", false,
       "(longest - mean) / longest busy time * n / (n - 1) * 100",
       &Metrics::imbalance_derose_percent},
      {"karp_flatt", "1", false,
       "serial fraction the speedup implies: (1/S - 1/ideal_speedup) / (1 - 1/ideal_speedup)",
       &Metrics::karp_flatt},
      {"utilisation_stdev", "1", false,
       "spread over the devices of compute time / T (population standard deviation)",
       &Metrics::utilisation_stdev},
      {"overlap", "1", true, "transfer time hidden under compute / transfer time",
       &Metrics::overlap},
      {"comm_share", "1", false, "transfer time not hidden / T, mean over the devices",
       &Metrics::comm_share},
      {"exchange_share", "1", false,
       "time exchanging data with other devices, waiting included, under no other command / T, "
       "mean",
       &Metrics::exchange_share, true},
      {"waiting_share", "1", false,
       "of exchange_share: time waiting for other devices or receiving / T, mean over the devices",
       &Metrics::waiting_share, true},
      {"exchange_overlap", "1", true, "exchange time hidden under compute / exchange time",
       &Metrics::exchange_overlap, true},
      {"round_imbalance_percent", "%", false,
       "(longest compute time / mean compute time of a round - 1) * 100, mean over rounds",
       &Metrics::round_imbalance_percent, true},
      {"worst_round_imbalance_percent", "%", false,
       "the same, of the round in which that is greatest", &Metrics::worst_round_imbalance_percent,
       true},
      {"filling_share", "1", false,
       "of a chain of stages: time until its last device begins and after its first ends / T",
       &Metrics::filling_share, true},
      {"period_ratio", "1", false,
       "of a chain of stages: time between batches / longest compute time of a batch on a device",
       &Metrics::period_ratio, true},
      {"sync_share", "1", false,
       "time waiting for others and for the merge / T, mean over the devices",
       &Metrics::sync_share},
      {"share_error", "1", false, "largest abs(share of the items / ideal share - 1) of a device",
       &Metrics::share_error},
      {"prediction_error", "1", false, "abs(predicted - measured time) / measured time",
       &Metrics::prediction_error},
      {"roofline_fraction", "1", true,
       "achieved rate / measured ceiling of the same devices for that kind of operation",
       &Metrics::roofline_fraction},
      {"memory_used", "1", true,
       "most bytes that the tool allocated at once on a device / memory of the device, largest",
       &Metrics::memory_used, true},
      {"memory_saved", "1", true,
       "1 - bytes allocated / bytes that the device would need alone, mean over the devices",
       &Metrics::memory_saved, true},
      {"moved_share", "1", false,
       "items whose device changed in the sample, by stealing or rebalancing / all items",
       &Metrics::moved_share, true},
      {"moving_share", "1", false,
       "time that moving them took, or deciding who gets what / T, mean over the devices",
       &Metrics::moving_share, true},
      {"adaptation_ms", "ms", false,
       "from a device's slow-down in mid-sample until work moves away from it, median of samples",
       &Metrics::adaptation_ms, true},
  };
  static_assert(std::size(table) * sizeof(std::optional<double>) == sizeof(Metrics),
                "a row for every metric");
  return table;
}

const MetricInfo* find_metric(std::string_view name) {
  const auto all = all_metrics();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const MetricInfo& metric) { return metric.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace mgpu
