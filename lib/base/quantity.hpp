// Numbers as people write them on a command line: "64MiB", "500ms", "2^20", "1M". Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/units.hpp"

namespace mgpu {

// Each throws Error(usage) that says what is expected and what was given. Negative or empty text,
// trailing garbage, values that are not whole and overflow of 64 bits are refused. `option` names
// the option in the message.
std::uint64_t parse_count(
    std::string_view option,
    std::string_view text);  // 100000, 1e6, 1.5e6, 2^20, 1k, 1M, 1G (decimal), 1Ki, 1Mi, 1Gi
Bytes parse_bytes(std::string_view option,
                  std::string_view text);  // 4096, 1e6, 64KiB, 64MiB, 1GiB, 64kB, 64MB, 1GB
Nanos parse_duration(
    std::string_view option,
    std::string_view text);  // 500ns, 10us, 500ms, 2s, 1.5s, 3m, 1h; a unit is required

// Text for tables and messages: three significant digits with a unit, such as "1.23 ms", "64.0
// MiB", "7.96 G".
std::string format_duration(Nanos t);
std::string format_bytes(double bytes);
std::string format_si(double value);
// Returns the count as one types it: 2^26 for 67108864, digits if below 1024 or not a power of two.
std::string format_count(std::uint64_t count);
// Returns "2^20 leaves" or "1 leaf"; "side 8" if the name is not a plural.
std::string format_counted(std::uint64_t count, std::string_view name);

}  // namespace mgpu
