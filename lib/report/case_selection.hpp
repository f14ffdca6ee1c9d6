// `--where suite=merkle`: the cases of a report to show. Pure.
#pragma once

#include <string_view>

#include "lib/report/record.hpp"

namespace mgpu {

// Keeps only the cases of the report that match every term of `text`: NAME=VALUE, separated by
// commas. A comma before a text without NAME= gives another value: strategy=equal,dynamic matches
// both. NAME is suite, strategy (with or without its parameters), mode, devices, status or a
// parameter of a case. Throws Error(usage), naming `from`, for what is not understood, for a name
// or value that no case has, and if no case matches all terms. A report without cases is unchanged.
void select_cases(std::string_view from, std::string_view text, Report& report);

}  // namespace mgpu
