#include "app/hot_plug.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/child_run.hpp"
#include "app/exit_codes.hpp"
#include "app/signals.hpp"
#include "app/terminal.hpp"
#include "lib/base/child_process.hpp"
#include "lib/base/error.hpp"
#include "lib/report/json_file.hpp"

namespace mgpu {
namespace {

constexpr Nanos kLongest = std::chrono::minutes(1);

std::string this_program() { return std::filesystem::canonical("/proc/self/exe").string(); }

std::vector<FoundDevice> as_found(const std::vector<Device>& devices) {
  std::vector<FoundDevice> all;
  for (const Device& device : devices) all.push_back({identity_of(device), device.id, device.name});
  return all;
}

// Returns the devices of the output of `mgpu-bench devices --json`.
std::vector<Device> listed_in(const std::string& text) {
  std::vector<Device> devices;
  const nlohmann::ordered_json document = parse_json(text);
  for (const auto& listed : document.at("devices")) {
    Device& device = devices.emplace_back();
    device.id = listed.at("id");
    device.name = listed.at("name");
    if (listed.at("uuid").is_string()) device.uuid = listed.at("uuid");
    if (listed.at("pci").is_string()) device.pci = listed.at("pci");
  }
  return devices;
}

}  // namespace

std::function<std::vector<FoundDevice>()> finder_of_devices(const Settings& settings,
                                                            const std::vector<Device>& devices) {
  if (settings.has("max-devices"))
    throw Error(ErrorKind::usage,
                "--hot-plug: it takes every device that -d selects; expected: no "
                "--max-devices");
  if (std::any_of(devices.begin(), devices.end(), [](const Device& d) { return d.node; }))
    throw Error(ErrorKind::usage,
                "--hot-plug: a run over several nodes keeps its devices; "
                "expected: a run of one process");
  ChildCommand command;
  command.words = {this_program(), "devices", "--json", "-d"};
  const Given* const selector = settings.find("devices");
  const bool cpus = devices.front().is_cpu();
  command.words.push_back(selector != nullptr ? selector->value : cpus ? "cpu" : "gpu");
  const Given* const parts = settings.find("sub-devices");
  if (parts != nullptr || (selector == nullptr && cpus && devices.size() > 1 &&
                           devices.front().id.find('.') != std::string::npos)) {
    command.words.emplace_back("--sub-devices");
    command.words.push_back(parts != nullptr ? parts->value : std::to_string(devices.size()));
  }
  command.environment = environment_with({"MGPU_MPI=none"});  // it is no rank
  command.limit = kLongest;
  command.stop = [] { return stop_signal() != 0; };
  return [command, devices] {
    try {
      const ChildEnd end = run_child_process(command);
      if (end.how == ChildEnd::How::exited) {
        if (end.code == static_cast<int>(ExitCode::ok)) return as_found(listed_in(end.output));
        if (end.code == static_cast<int>(ExitCode::no_device)) return std::vector<FoundDevice>();
      }
    } catch (const Error&) {
      // The devices cannot be listed now.
    }
    return as_found(devices);
  };
}

void begin_again(const Context& context, const std::filesystem::path& result_file) {
  std::vector<std::string> words = context.tool.argv;
  if (!context.invocation.settings.has("resume")) {
    words.emplace_back("--resume");
    words.push_back(result_file.string());
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // A driver's files must not stay open: they hold the memory of the devices.
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execv(this_program().c_str(), argv.data());
}

}  // namespace mgpu
