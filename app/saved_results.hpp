// Results of runs without -o: where they are saved, under what names and how many; and what `last`,
// `last~1` are.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/cli.hpp"
#include "lib/base/output_file.hpp"

namespace mgpu {

constexpr std::size_t kMostSaved =
    100;  // results of that kind; a new one takes the place of the oldest

// In `folder`, which is made where it is missing: 2026-11-23T163543Z-merkle.json.gz for what began
// at 2026-11-23T16:35:43Z and measures `what`; 2026-11-23T163543Z.2-merkle.json.gz for the second
// of that second, and so on. Nothing is written yet. Removes the oldest results of such names, with
// their journals, until the new one makes `most`; never a file of another name, nor one that a run
// is writing. It is added to `outputs`. Throws Error(output).
std::filesystem::path new_saved_result(const std::filesystem::path& folder,
                                       const std::string& began, const std::string& what,
                                       OutputFiles& outputs, std::size_t most = kMostSaved);

// The results in `folder`, the one that began last first. `unfinished`: also those of which there
// is only a journal so far.
std::vector<std::filesystem::path> saved_results(const std::filesystem::path& folder,
                                                 bool unfinished);

// For "last" 0, for "last~3" 3; nothing for what is not of this kind. Throws Error(usage), naming
// `from`, for "last~x".
std::optional<std::size_t> saved_index(const std::string& from, const std::string& text);

// Puts the file in the place of every `last` that a command is given to read: report, trace, both
// of compare, simulate --from, run
// --resume, --sizes-of; and standard input in the place of `-`, which --resume does not take. Says
// which file each `last` is, on standard error unless the command is to be quiet. Throws
// Error(usage) for a bad number or a second `-`, Error(input) when there are not so many.
void resolve_saved_results(Invocation& invocation, const Environment& environment);

// The part of a name that says which suites: "merkle", "matrix+msm", "all".
std::string suites_word(std::span<const std::string> chosen, std::size_t all);

}  // namespace mgpu
