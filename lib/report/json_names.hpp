// Words and column orders that the writer and the reader of the result file share. Internal to
// lib/report.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "lib/report/record.hpp"

namespace mgpu::json_names {

inline constexpr std::string_view kSchema = "mgpu-bench/result";

inline constexpr std::array kCommandColumns = {"device",       "kind",       "slice",
                                               "label",        "bytes",      "queued_ns",
                                               "submitted_ns", "started_ns", "ended_ns"};
inline constexpr std::array kSpanColumns = {"device", "state", "begin_ns", "end_ns"};
inline constexpr std::array kSliceColumns = {"device", "slice",       "begin",
                                             "end",    "enqueued_ns", "finished_ns"};

// The value whose to_string() is `word`, out of all there are.
template <typename Enum>
std::optional<Enum> from_string(std::string_view word, std::initializer_list<Enum> all) {
  for (const Enum value : all)
    if (std::string_view(to_string(value)) == word) return value;
  return std::nullopt;
}

// The durations of a DeviceParts, in the order of the file.
struct PartField {
  const char* name;
  Nanos DeviceParts::*member;
};
inline constexpr std::array<PartField, 12> kPartFields = {{
    {"busy_ns", &DeviceParts::busy},
    {"upload_ns", &DeviceParts::upload},
    {"compute_ns", &DeviceParts::compute},
    {"download_ns", &DeviceParts::download},
    {"launch_ns", &DeviceParts::launch},
    {"sync_ns", &DeviceParts::sync},
    {"idle_ns", &DeviceParts::idle},
    {"wake_ns", &DeviceParts::wake},
    {"residue_ns", &DeviceParts::residue},
    {"finish_ns", &DeviceParts::finish},
    {"transfer_hidden_ns", &DeviceParts::transfer_hidden},
    {"transfer_total_ns", &DeviceParts::transfer_total},
}};

struct WhatIfField {
  const char* name;
  std::optional<Nanos> Bottleneck::*member;
};
// Written only where there is something of that kind.
inline constexpr WhatIfField kExchangeWhatIf = {"free_exchange", &Bottleneck::free_exchange};
inline constexpr PartField kExchangePart = {"exchange_ns", &DeviceParts::exchange};
struct ExchangeTimeField {
  const char* name;
  Nanos DeviceParts::ExchangeTimes::*member;
};
inline constexpr std::array<ExchangeTimeField, 3> kExchangeTimes = {{
    {"exchange_hidden_ns", &DeviceParts::ExchangeTimes::hidden},
    {"exchange_total_ns", &DeviceParts::ExchangeTimes::total},
    {"waiting_ns", &DeviceParts::ExchangeTimes::waiting},
}};
inline constexpr std::array<const char*, 3> kExchangeColumns = {
    "peer", "path", "arrives"};                       // of commands, after the others
inline constexpr const char* kRoundColumn = "round";  // of commands, after all others

inline constexpr std::array<WhatIfField, 4> kWhatIfFields = {{
    {"perfect_balance", &Bottleneck::perfect_balance},
    {"free_transfers", &Bottleneck::free_transfers},
    {"free_launches", &Bottleneck::free_launches},
    {"free_merge", &Bottleneck::free_merge},
}};

}  // namespace mgpu::json_names
