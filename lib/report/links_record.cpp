#include "lib/report/links_record.hpp"

#include <algorithm>

#include "lib/base/stats.hpp"

namespace mgpu {

const char* to_string(LinkTraffic traffic) {
  return traffic == LinkTraffic::one_way ? "one-way" : "both-ways";
}

const char* to_string(LinkCrowd crowd) {
  switch (crowd) {
    case LinkCrowd::up:
      return "up";
    case LinkCrowd::down:
      return "down";
    case LinkCrowd::up_and_down:
      return "up-and-down";
    case LinkCrowd::devices:
      return "devices";
  }
  return "";
}

std::optional<Nanos> median_of(const std::vector<Nanos>& samples) {
  if (samples.empty()) return std::nullopt;
  return summarise(samples).median;
}

namespace {

std::optional<double> bytes_per_s(double bytes, const std::vector<Nanos>& samples) {
  const auto time = median_of(samples);
  if (!time || *time <= Nanos{}) return std::nullopt;
  return bytes / seconds(*time);
}

}  // namespace

std::optional<double> rate_of(const LinkMoves& moves) {
  if (moves.wrong > 0) return std::nullopt;
  return bytes_per_s(static_cast<double>(moves.bytes), moves.samples);
}

std::optional<double> rate_of(const LinkShare& share, const LinkMoves& all) {
  if (all.wrong > 0) return std::nullopt;
  return bytes_per_s(static_cast<double>(share.bytes), share.samples);
}

std::optional<double> queued_ns(const std::vector<Nanos>& queued, std::uint64_t calls) {
  const auto time = median_of(queued);
  if (!time) return std::nullopt;
  return static_cast<double>(time->count()) / static_cast<double>(calls);
}

std::optional<double> algorithm_bandwidth(const CollectiveRecord& row) {
  if (row.wrong > 0 || row.size == 0) return std::nullopt;
  return bytes_per_s(static_cast<double>(row.size) * static_cast<double>(row.queued_calls),
                     row.queued);
}

std::optional<double> bus_bandwidth(const CollectiveRecord& row) {
  const auto algorithm = algorithm_bandwidth(row);
  if (!algorithm) return std::nullopt;
  return *algorithm * row.bus_factor;
}

std::uint64_t wrong_in(const LinksReport& report) {
  std::uint64_t wrong = 0;
  for (const LinkTransfer& transfer : report.transfers) wrong += transfer.moves.wrong;
  for (const LinkAtOnce& row : report.at_once) wrong += row.moves.wrong;
  for (const CollectiveRecord& row : report.collectives) wrong += row.wrong;
  return wrong;
}

}  // namespace mgpu
