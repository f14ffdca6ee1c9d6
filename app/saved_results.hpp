// Results of runs without -o: their folder, names and largest number; and the meaning of `last` and
// `last~1`.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/run_request.hpp"

namespace mgpu {

// Largest number of such results; a new one replaces the oldest.
constexpr std::size_t kMostSaved = 100;

// Returns the file for a new result in `folder`, which is made if missing, and adds it to
// `outputs`; nothing is written yet. The name is 2026-11-23T163543Z-merkle.json.gz for a run that
// began at 2026-11-23T16:35:43Z and measures `what`, 2026-11-23T163543Z.2-merkle.json.gz for the
// second run of that second, and so on. Removes the oldest results of such names, with their
// journals, until there are `most` with the new one; never removes a file of another name, nor one
// that a run is writing; `removed` gets the removed results. Throws Error(output).
std::filesystem::path new_saved_result(const std::filesystem::path& folder,
                                       const std::string& began, const std::string& what,
                                       OutputFiles& outputs, std::size_t most = kMostSaved,
                                       std::vector<std::filesystem::path>* removed = nullptr);

// Sets the result file of the request to a new one in the user's state folder, unless there is -o
// or --no-save. If that is impossible, warns. `began`: date of the result; `what`: what it
// measures.
void keep_result(const Context& context, const std::string& began, const std::string& what,
                 RunRequest& request, std::vector<std::string>& warnings);

// Returns the results in `folder`, the latest begun first. `unfinished`: includes those that have
// only a journal so far.
std::vector<std::filesystem::path> saved_results(const std::filesystem::path& folder,
                                                 bool unfinished);

// Returns 0 for "last" and 3 for "last~3"; none for other texts. Throws Error(usage), naming
// `from`, for "last~x".
std::optional<std::size_t> saved_index(const std::string& from, const std::string& text);

// Replaces `last` by the file it means in every argument or option that names a result to read:
// report, trace, compare, history add, simulate --from, run --resume, --sizes-of, --samples-of.
// Replaces `-` by standard input, except for --resume. Prints on stderr which file each `last` is,
// unless the command is quiet. Throws Error(usage) for a bad number or a second `-`, Error(input)
// if there are fewer results.
void resolve_saved_results(Invocation& invocation, const Environment& environment);

// Returns the part of a name that stands for the suites: "merkle", "matrix+msm", "all".
std::string suites_word(std::span<const std::string> chosen, std::size_t all);

}  // namespace mgpu
