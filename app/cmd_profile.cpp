// `mgpu-bench profile -- PROGRAM`: runs any OpenCL program with the profiling layer, and reports
// what its devices did and what holds it back. Its standard output is the program's.
#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <set>
#include <thread>

#include "app/calibrations.hpp"
#include "app/commands.hpp"
#include "app/profiled_program.hpp"
#include "app/rank.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/scratch_folder.hpp"
#include "lib/base/text_file.hpp"
#include "lib/exec/wall_clock.hpp"
#include "lib/profile/log_reader.hpp"
#include "lib/report/profile_report.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDefaultFile = "mgpu-bench-profile.json";
// A rank that has ended is waited for so long.
constexpr std::chrono::seconds kForOtherRanks{60};

struct ProfileRequest {
  std::vector<std::string> program;
  std::string file = kDefaultFile;
  std::optional<std::string> trace;
  ProfileSelection selection;
  bool check_overhead = false, quiet = false;
};

// A regular expression of the option --kernels.
class KernelPattern {
 public:
  explicit KernelPattern(const Given& given) {
    const int error = ::regcomp(&pattern_, given.value.c_str(), REG_EXTENDED | REG_NOSUB);
    if (error == 0) return;
    char why[128] = "";
    ::regerror(error, &pattern_, why, sizeof why);
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} is no regular expression ({}); expected: scale|blur.*",
                            given.from, in_quotes(given.value), why));
  }
  KernelPattern(const KernelPattern&) = delete;
  KernelPattern& operator=(const KernelPattern&) = delete;
  ~KernelPattern() { ::regfree(&pattern_); }
  bool matches(const std::string& name) const {
    return ::regexec(&pattern_, name.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t pattern_{};
};

std::function<bool(const std::string&)> read_kernels(const Settings& settings) {
  const Given* given = settings.find("kernels");
  if (given == nullptr) return {};
  return [pattern = std::make_shared<const KernelPattern>(*given)](const std::string& name) {
    return pattern->matches(name);
  };
}

ProfileRequest read_request(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  ProfileRequest request;
  request.program = invocation.arguments;
  if (request.program.empty())
    throw Error(ErrorKind::usage,
                "profile needs a program; expected: mgpu-bench profile [OPTIONS] -- PROGRAM "
                "[ARGUMENTS]");
  if (const Given* file = settings.find("result")) request.file = file->value;
  if (const Given* trace = settings.find("trace")) request.trace = trace->value;
  request.selection.kernel = read_kernels(settings);
  if (const Given* from = settings.find("from"))
    request.selection.from = parse_duration(from->from, from->value);
  if (const Given* length = settings.find("for")) request.selection.length = read_time(*length);
  request.check_overhead = settings.is_on("check-overhead");
  request.quiet = settings.is_on("quiet");
  return request;
}

// The folder with the logs of a program, or of all ranks of an MPI job: a folder per rank next to
// the report, which rank 0 reads and removes.
class LogFolder {
 public:
  LogFolder(const std::optional<Launch>& launch, const std::string& report) : launch_(launch) {
    if (!launch) {
      scratch_.emplace("mgpu-bench-profile");
      folder_ = scratch_->file("");
      return;
    }
    shared_ = report == "-" ? std::string(kDefaultFile) : report;
    shared_ += ".logs";
    folder_ = fs::absolute(shared_ / std::to_string(launch->rank));
    std::error_code error;
    fs::remove_all(folder_, error);
    fs::create_directories(folder_, error);
    if (error)
      throw Error(ErrorKind::output,
                  fmt::format("{}: cannot be created: {}", folder_.string(), error.message()));
  }

  const fs::path& folder() const { return folder_; }
  bool reports() const { return !launch_ || launch_->rank == 0; }

  // Tells the others that the program of this rank has ended.
  void finish() const {
    if (launch_) std::ofstream(folder_ / kDone) << "ended\n";
  }

  // Returns the folders of all ranks, once all of their programs have ended.
  std::vector<fs::path> all(std::vector<std::string>& warnings) const {
    if (!launch_) return {folder_};
    std::vector<fs::path> folders;
    const Nanos until = steady_now() + kForOtherRanks;
    for (std::uint32_t rank = 0; rank < launch_->size; ++rank) {
      folders.push_back(shared_ / std::to_string(rank));
      while (!fs::exists(folders.back() / kDone) && steady_now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (!fs::exists(folders.back() / kDone))
        warnings.push_back(
            fmt::format("rank {} had not ended {} after rank 0: its log has only "
                        "what it had written by then",
                        rank, format_duration(kForOtherRanks)));
    }
    return folders;
  }

  void remove() const {
    std::error_code ignored;
    if (launch_) fs::remove_all(shared_, ignored);
  }

 private:
  static constexpr const char* kDone = "ended";
  std::optional<Launch> launch_;
  std::optional<ScratchFolder> scratch_;
  fs::path shared_, folder_;
};

std::vector<std::string> variables_for(const Environment& environment, const fs::path& layer,
                                       const fs::path& folder) {
  const std::string others = environment.get("OPENCL_LAYERS").value_or("");
  return {fmt::format("OPENCL_LAYERS={}{}{}", layer.string(), others.empty() ? "" : ":", others),
          fmt::format("{}={}", command_log::kFolderVariable, folder.string())};
}

std::vector<CommandLog> read_logs(const std::vector<fs::path>& folders,
                                  std::vector<std::string>& warnings) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const fs::path& folder : folders)
    for (const auto& entry : fs::directory_iterator(folder, ignored))
      if (entry.path().extension() == command_log::kFileSuffix) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<CommandLog> logs;
  for (const fs::path& file : files) {
    try {
      logs.push_back(read_command_log(MappedFile(file).text()));
    } catch (const Error& error) {
      warnings.push_back(fmt::format("{}: {}", file.filename().string(), error.what()));
    }
  }
  return logs;
}

// Adds what the GPUs that ran something were measured to do, by the cache or now that the program
// has ended: how fast pinned memory is, and what the least kernel takes.
void add_capabilities(const Context& context, const ProfileRequest& request, ProgramRecord& record,
                      std::vector<std::string>& warnings) {
  std::set<std::size_t> used;
  for (const ProgramCommand& command : record.commands)
    if (record.devices[command.device.value].device.type == DeviceType::gpu)
      used.insert(command.device.value);
  if (used.empty()) return;
  const std::unique_ptr<Backend> backend = context.make_backend();
  const std::vector<Device> all = backend->enumerate().devices;
  std::vector<Device> gpus;
  std::vector<std::size_t> places;  // of `gpus` in the record
  for (const std::size_t d : used)
    for (const Device& device : all)
      if (const Device& profiled = record.devices[d].device;
          device.id == profiled.id && same_kind(device, profiled)) {
        gpus.push_back(device);
        places.push_back(d);
      }
  if (gpus.empty()) return;
  const CalibrationResult result =
      calibrate(*backend, gpus, calibration_store(context), false, [&](const std::string& step) {
        if (!request.quiet) print_error("measuring " + step);
      });
  warnings.insert(warnings.end(), result.warnings.begin(), result.warnings.end());
  const auto& measured = result.calibration.devices;
  for (std::size_t g = 0; g < measured.size(); ++g)
    if (measured[g]) record.devices[places[g]].capability = *measured[g];
}

void report_profile(const Context& context, const ProfileRequest& request, const ProgramEnd& end,
                    const std::string& started, const LogFolder& folder, OutputFiles& outputs) {
  std::vector<std::string> warnings;
  const std::vector<CommandLog> logs = read_logs(folder.all(warnings), warnings);
  folder.remove();
  if (logs.empty())
    warnings.emplace_back(
        "the program wrote no log: it does not use OpenCL, or its loader of OpenCL knows no layers "
        "(ocl-icd 2.3 and Khronos's loader do)");
  ProgramRecord record = program_of(logs);
  try {
    add_capabilities(context, request, record, warnings);
  } catch (const Error& error) {  // the report has what it has without them
    warnings.push_back(fmt::format("its GPUs were not measured: {}", error.what()));
  }
  ProfileReport report = analyse_program(record, request.selection);
  report.tool = context.tool;
  report.started = started;
  report.environment = describe_environment(context.environment);
  report.program = request.program;
  report.exit_code = end.code;
  report.wall = end.wall;
  report.warnings.insert(report.warnings.end(), warnings.begin(), warnings.end());
  if (request.check_overhead) report.wall_without = run_program(request.program, {}, true).wall;
  OutputFile& file = outputs.at(request.file);
  file.write(profile_json(report));
  if (request.trace) outputs.at(*request.trace).write(profile_trace(report));
  if (request.quiet) return;
  TableStyle style;
  style.width = error_width();
  print_error_data(profile_text(report, style));
  if (!file.is_standard_output())
    print_error(fmt::format("the profile is in {}; mgpu-bench report shows it", request.file));
}

}  // namespace

ExitCode cmd_profile(const Context& context) {
  const ProfileRequest request = read_request(context.invocation);
  const std::optional<Launch> launch = launch_of(context.environment);
  OutputFiles outputs;
  if (!launch || launch->rank == 0) {
    outputs.add(request.file);
    if (request.trace) outputs.add(*request.trace);
  }
  const fs::path layer = profiling_layer();
  const LogFolder folder(launch, request.file);
  const std::string started = utc_now();
  ProgramEnd end;
  try {
    end = run_program(request.program, variables_for(context.environment, layer, folder.folder()));
  } catch (const CannotStart& error) {
    folder.finish();
    print_error(fmt::format("error: profile: {}", error.what));
    return static_cast<ExitCode>(error.code);
  }
  folder.finish();
  if (folder.reports()) {
    try {
      report_profile(context, request, end, started, folder, outputs);
    } catch (const std::exception& error) {
      if (end.code == 0) throw;
      print_error(fmt::format("error: {}", error.what()));
    }
  }
  return static_cast<ExitCode>(end.code);
}

}  // namespace mgpu
