#include "app/rank.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/fnv.hpp"

namespace mgpu {
namespace {

constexpr const char* kProgram = "/proc/self/exe";

// Time in which rank 0, which fails for the same reason, can report it: a launcher may end all
// ranks when the first exits.
constexpr std::chrono::seconds kAfterRankZero{1};

bool uses_devices(const std::string& command) {
  constexpr const char* all[] = {"devices", "calibrate", "links", "run", "plan"};
  return std::find(std::begin(all), std::end(all), command) != std::end(all);
}

// Returns a checksum of the program file, which distinguishes builds.
std::string program_sum() {
  std::ifstream in(kProgram, std::ios::binary);
  Fnv1a sum;
  std::streamsize size = 0;
  std::string piece(1 << 20, '\0');
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
    sum.add(std::string_view(piece).substr(0, static_cast<std::size_t>(in.gcount())));
    size += in.gcount();
  }
  return fmt::format("{} of {} bytes", sum.hex(), size);
}

Fingerprint fingerprint(const std::vector<std::string>& argv, const std::string& version) {
  Fingerprint mine;
  utsname system{};
  mine.host = uname(&system) == 0 ? system.nodename : "unknown";
  mine.version = version;
  mine.program = program_sum();
  for (std::size_t i = 1; i < argv.size(); ++i) mine.arguments += (i > 1 ? " " : "") + argv[i];
  return mine;
}

std::unique_ptr<Cluster> join(const Launch& launch, const std::vector<std::string>& argv,
                              const std::string& version, std::unique_ptr<Backend> local) {
  std::error_code ignored;
  return Cluster::join(launch, std::move(local), fingerprint(argv, version),
                       std::filesystem::read_symlink(kProgram, ignored));
}

}  // namespace

std::optional<Launch> launch_of(const Environment& environment) {
  return find_launch([&](const std::string& name) { return environment.get(name); });
}

std::unique_ptr<Cluster> join_ranks(const Launch& launch, const std::string& command,
                                    const std::vector<std::string>& argv,
                                    const std::string& version, std::unique_ptr<Backend> local) {
  if (command == "compare")
    throw Error(ErrorKind::usage, "compare measures on one machine, and this is rank 0 of " +
                                      std::to_string(launch.size) +
                                      "; expected under a launcher of several processes: run, "
                                      "devices, calibrate, links, plan");
  return uses_devices(command) ? join(launch, argv, version, std::move(local)) : nullptr;
}

ExitCode serve_rank(const Launch& launch, const std::string& command,
                    const std::vector<std::string>& argv, const std::string& version,
                    std::unique_ptr<Backend> local) {
  if (!uses_devices(command)) return ExitCode::ok;
  ignore_stop_signals();  // rank 0 sees them, and decides when all leave
  std::unique_ptr<Cluster> cluster;
  try {
    cluster = join(launch, argv, version, std::move(local));
  } catch (const Error&) {
    std::this_thread::sleep_for(kAfterRankZero);
    throw;
  }
  try {
    cluster->serve();
  } catch (const Error& error) {
    print_error(fmt::format("error: {}", error.what()));
    cluster->leave(static_cast<int>(exit_code(error.kind())));
    return exit_code(error.kind());
  }
  cluster->leave(0);
  return ExitCode::ok;
}

}  // namespace mgpu
