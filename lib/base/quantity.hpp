// Numbers as people write them on a command line: "64MiB", "500ms", "2^20", "1M". Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/units.hpp"

namespace mgpu {

// Each throws Error(usage) whose message says what is accepted and what was given; negative, empty,
// trailing garbage, fractions of a unit below one and overflow of 64 bits are all refused. `option`
// names the option for the message.
std::uint64_t parse_count(
    std::string_view option,
    std::string_view text);  // 100000, 2^20, 1k, 1M, 1G (decimal), 1Ki, 1Mi, 1Gi
Bytes parse_bytes(std::string_view option,
                  std::string_view text);  // 4096, 64KiB, 64MiB, 1GiB, 64kB, 64MB, 1GB
Nanos parse_duration(
    std::string_view option,
    std::string_view text);  // 500ns, 10us, 500ms, 2s, 1.5s, 3m, 1h; a unit is required

// For tables and messages. Three significant digits with a unit: "1.23 ms", "64.0 MiB", "7.96 G".
std::string format_duration(Nanos t);
std::string format_bytes(double bytes);
std::string format_si(double value);
std::string format_count(std::uint64_t count);  // what one types: 2^26 for 67108864; below 1024 and
                                                // between powers of two the digits
// "2^20 leaves", "1 leaf"; "side 8" where the name is no plural.
std::string format_counted(std::uint64_t count, std::string_view name);

}  // namespace mgpu
