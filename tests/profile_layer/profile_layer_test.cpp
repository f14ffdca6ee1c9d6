// The profiling layer: programs behave as without it, and its log has all that they did.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "lib/base/child_process.hpp"
#include "lib/base/scratch_folder.hpp"
#include "lib/layer/opencl.hpp"
#include "tests/profile_layer/log_reader.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using namespace mgpu::test;
using log_format::Kind;

namespace {

// A run of the program under the layer, with its logs.
struct ProfiledRun {
  explicit ProfiledRun(std::vector<std::string> words, std::vector<std::string> more = {}) {
    end = run(std::move(words), logs(), std::move(more));
  }

  static ChildEnd run(std::vector<std::string> words, const std::filesystem::path& logs,
                      std::vector<std::string> more = {}) {
    ChildCommand command;
    command.words = std::move(words);
    command.words.insert(command.words.begin(), profiled_program());
    std::map<std::string, std::string> variables;
    const auto set = [&](const std::string& text) {
      const std::size_t equals = text.find('=');
      variables[text.substr(0, equals)] = text.substr(equals);
    };
    for (char** variable = environ; *variable != nullptr; ++variable) set(*variable);
    variables.erase("OPENCL_LAYERS");
    set("POCL_DEVICES=pthread pthread");
    set("ASAN_OPTIONS=detect_leaks=0");  // some of the programs release nothing
    if (!logs.empty()) {
      set(std::string("OPENCL_LAYERS=") + profile_layer_library());
      set(log_format::kFolderVariable + ("=" + logs.string()));
    }
    for (const std::string& text : more) set(text);
    for (const auto& [name, value] : variables) command.environment.push_back(name + value);
    command.limit = from_seconds(300);
    return run_child_process(command);
  }

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(logs()))
      if (entry.path().extension() == log_format::kFileSuffix) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }
  // Returns the only log.
  CommandLog log() const {
    const auto found = files();
    REQUIRE(found.size() == 1);
    return CommandLog(found[0]);
  }

  std::filesystem::path logs() const { return folder.file("."); }

  ScratchFolder folder{"profile-layer-test"};
  ChildEnd end;
};

// Compares a run with one without the layer.
void check_same(const ChildEnd& bare, const ChildEnd& profiled) {
  CHECK(bare.how == ChildEnd::How::exited);
  CHECK((profiled.how == bare.how && profiled.code == bare.code));
  CHECK(profiled.output == bare.output);
  CHECK(profiled.errors == bare.errors);
}

std::vector<std::uint64_t> numbers_in(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::uint64_t>(stream), {}};
}

TEST_CASE("random programs behave the same with and without the layer") {
  const int count = mgpu::testing::is_thorough() ? 200 : 10;
  const std::vector<std::string> words{"random", "1", std::to_string(count)};
  const ProfiledRun profiled(words);
  const ChildEnd bare = ProfiledRun::run(words, {});
  CHECK(bare.output.size() > 1000);
  check_same(bare, profiled.end);
  const CommandLog log = profiled.log();
  CHECK(log.rest() == 0);
  std::size_t accepted = 0;
  for (const auto& command : log.commands()) accepted += command.status == CL_SUCCESS;
  const auto times = log.times();
  CHECK(times.size() == accepted);
  for (const auto& [number, each] : times) CHECK((each.status == 0 && each.error == 0));
}

}  // namespace

TEST_CASE("answers about objects are the program's own, and each command is logged as it was") {
  const ProfiledRun profiled({"facts"});
  const ChildEnd bare = ProfiledRun::run({"facts"}, {});
  CHECK(bare.output.find("event waits 0 4 2\n") != std::string::npos);
  check_same(bare, profiled.end);

  const CommandLog log = profiled.log();
  const auto queues = log.all<log_format::Queue>(Kind::queue);
  std::vector<std::uint64_t> asked;
  for (const auto& queue : queues) {
    CHECK(queue.times == 1);
    CHECK(queue.used == (queue.asked | CL_QUEUE_PROFILING_ENABLE));
    asked.push_back(queue.asked);
  }
  CHECK(asked == std::vector<std::uint64_t>{0, 0, 2, 1, 0, 0, 0});

  // The commands of the queue that has one of each: type, bytes, and memory of the host.
  struct Expected {
    cl_uint type;
    std::uint64_t bytes;
    log_format::HostMemory host;
    bool blocking;
    std::size_t memory;
  };
  using enum log_format::HostMemory;
  const std::vector<Expected> expected{{CL_COMMAND_WRITE_BUFFER, 1024, pageable, false, 1},
                                       {CL_COMMAND_COPY_BUFFER, 64, none, false, 2},
                                       {CL_COMMAND_FILL_BUFFER, 256, none, false, 1},
                                       {CL_COMMAND_WRITE_BUFFER_RECT, 64, pageable, false, 1},
                                       {CL_COMMAND_COPY_BUFFER_RECT, 64, none, false, 2},
                                       {CL_COMMAND_READ_BUFFER_RECT, 64, pageable, true, 1},
                                       {CL_COMMAND_NDRANGE_KERNEL, 0, none, false, 2},
                                       {CL_COMMAND_TASK, 0, none, false, 2},
                                       {CL_COMMAND_MIGRATE_MEM_OBJECTS, 1024, none, false, 1},
                                       {CL_COMMAND_MARKER, 0, none, false, 0},
                                       {CL_COMMAND_BARRIER, 0, none, false, 0},
                                       {CL_COMMAND_MARKER, 0, none, false, 0},
                                       {CL_COMMAND_BARRIER, 0, none, false, 0},
                                       {CL_COMMAND_NATIVE_KERNEL, 0, none, false, 0},
                                       {CL_COMMAND_MAP_BUFFER, 128, none, true, 1},
                                       {CL_COMMAND_READ_BUFFER, 64, pinned, true, 1},
                                       {CL_COMMAND_UNMAP_MEM_OBJECT, 128, none, false, 1},
                                       {CL_COMMAND_READ_BUFFER, 1024, pageable, true, 1},
                                       {CL_COMMAND_READ_BUFFER, 64, pinned, true, 1},
                                       {CL_COMMAND_FILL_IMAGE, 512, none, false, 1},
                                       {CL_COMMAND_WRITE_IMAGE, 0, none, false, 0},  // refused
                                       {CL_COMMAND_WRITE_IMAGE, 128, pageable, true, 1},
                                       {CL_COMMAND_COPY_IMAGE_TO_BUFFER, 128, none, false, 2},
                                       {CL_COMMAND_COPY_BUFFER_TO_IMAGE, 128, none, false, 2},
                                       {CL_COMMAND_READ_IMAGE, 512, pageable, true, 1},
                                       {CL_COMMAND_MAP_IMAGE, 128, none, true, 1},
                                       {CL_COMMAND_UNMAP_MEM_OBJECT, 128, none, false, 1},
                                       {CL_COMMAND_SVM_MEMFILL, 1024, none, false, 1},
                                       {CL_COMMAND_NDRANGE_KERNEL, 0, none, false, 2},
                                       {CL_COMMAND_SVM_MEMCPY, 64, none, true, 2},
                                       {CL_COMMAND_SVM_MAP, 1024, none, true, 1},
                                       {CL_COMMAND_READ_BUFFER, 64, svm, true, 1},
                                       {CL_COMMAND_SVM_UNMAP, 0, none, false, 1},
                                       {CL_COMMAND_SVM_FREE, 0, none, false, 0}};
  std::vector<Logged<log_format::Command>> commands = log.commands();
  std::erase_if(commands, [&](const auto& each) { return each.queue != queues.at(5).id; });
  REQUIRE(commands.size() == expected.size());
  const auto times = log.times();
  for (std::size_t c = 0; c < commands.size(); ++c) {
    CAPTURE(c);
    const auto& command = commands[c];
    CHECK(command.type == expected[c].type);
    CHECK(command.bytes == expected[c].bytes);
    CHECK(command.host_memory == expected[c].host);
    CHECK(((command.flags & log_format::kBlocking) != 0) == expected[c].blocking);
    CHECK(command.memory_count == expected[c].memory);
    CHECK(command.begin_ns <= command.end_ns);
    CHECK(command.thread == 1);
    // The oldest form of a barrier has no event that could tell when.
    const bool timed = command.status == CL_SUCCESS && c != 12;
    CHECK(((command.flags & log_format::kTimesFollow) != 0) == timed);
    CHECK(times.contains(command.number) == timed);
    if (!timed) continue;
    const log_format::Times& its = times.at(command.number);
    CHECK((its.status == 0 && its.error == 0));
    CHECK((its.queued <= its.start && its.start <= its.end));
    CHECK(its.seen_ns >= command.begin_ns);
  }
  CHECK(commands[20].status == CL_INVALID_VALUE);
  CHECK(waits_of(commands[6]) == std::vector{commands[0].number, commands[1].number});
  const auto copied = memory_of(commands[1]);
  CHECK((copied[0].access == 1 && copied[0].offset == 16 && copied[0].bytes == 64));
  CHECK((copied[1].access == 2 && copied[1].offset == 32 && copied[1].bytes == 64));
  const auto rectangle = memory_of(commands[3]);
  CHECK((rectangle[0].memory == copied[1].memory && rectangle[0].offset == 4 + 64));
  const auto sizes = commands[6].tail;
  CHECK(commands[6].dimensions == 1);
  std::uint64_t range[3];
  std::memcpy(range, sizes.data(), sizeof range);
  CHECK((range[0] == 0 && range[1] == 256 && range[2] == 64));

  std::map<std::uint32_t, std::string> kernels;
  for (const auto& kernel : log.all<log_format::Kernel>(Kind::kernel))
    kernels[kernel.id] = kernel.tail.substr(0, kernel.name_bytes);
  CHECK(kernels[commands[6].kernel] == "combine");

  // Each object that the program made and released.
  std::vector<std::uint32_t> released;
  for (const auto& each : log.all<log_format::Released>(Kind::released))
    released.push_back(each.id);
  for (const auto& queue : queues)
    CHECK(std::count(released.begin(), released.end(), queue.id) == 1);
  std::size_t images = 0, shared = 0;
  for (const auto& memory : log.all<log_format::Memory>(Kind::memory)) {
    CHECK(std::count(released.begin(), released.end(), memory.id) == 1);
    images += memory.type == log_format::MemoryType::image && memory.bytes == 512;
    shared += memory.type == log_format::MemoryType::svm && memory.bytes == 1024;
  }
  CHECK((images == 1 && shared == 1));

  const auto devices = log.all<log_format::Device>(Kind::device);
  REQUIRE(devices.size() >= 2);
  CHECK((devices[0].index == 1 && devices[0].platform == 1 && devices[0].parent == 0));
  CHECK((devices[1].index == 0 && devices[1].parent == devices[0].id));
  CHECK(queues.back().device == devices[1].id);
  CHECK((devices[0].memory_bytes > 0 && devices[0].compute_units > 0 && devices[0].name_bytes > 0));
  CHECK(devices[0].tail.find("OpenCL 3.0 PoCL") != std::string::npos);

  const auto names = log.names();
  std::map<std::string, std::vector<log_format::HostCall>> calls;
  for (const auto& call : log.all<log_format::HostCall>(Kind::host_call))
    calls[names.at(call.name)].push_back(call);
  CHECK(calls["clFinish"].size() == 12);
  CHECK(calls["clFinish"][8].object == queues[5].id);
  REQUIRE(calls["clBuildProgram"].size() == 2);
  CHECK(calls["clBuildProgram"][0].end_ns > calls["clBuildProgram"][0].begin_ns);

  const auto costs = log.all<log_format::Cost>(Kind::cost);
  CHECK(costs.back().commands == log.commands().size());
  CHECK(costs.back().timed == times.size());
  CHECK((costs.back().incomplete == 0 && costs.back().calls > costs.back().commands));
  CHECK(costs.back().writer_ns > 0);
  const auto process = log.all<log_format::Process>(Kind::process).at(0);
  CHECK((process.times == 1 && process.forked == 0 && process.mpi_rank == -1));
  CHECK(process.tail.find(std::string("facts") + '\0') != std::string::npos);
}

TEST_CASE("objects are destroyed when the program releases them") {
  // A driver may be late itself.
  const auto at_once = numbers_in(ProfiledRun::run({"gone"}, {}).output);
  const auto profiled = numbers_in(ProfiledRun({"gone"}).end.output);
  REQUIRE((at_once.size() == 1 && profiled.size() == 1));
  CHECK(at_once[0] > 0);
  CHECK(profiled[0] * 2 >= at_once[0]);
}

TEST_CASE("commands have the time stamps that the driver gives") {
  const ProfiledRun profiled({"stamps"});
  const auto printed = numbers_in(profiled.end.output);
  REQUIRE(printed.size() == 80);
  const CommandLog log = profiled.log();
  std::size_t at = 0, queued = 0;
  for (const auto& [number, each] : log.times()) {
    queued += each.queued != 0 ? 1 : 0;
    CHECK((each.queued == 0 || each.queued == printed[at]));
    CHECK((each.start == printed[at + 2] && each.end == printed[at + 3]));
    at += 4;
  }
  CHECK(at == printed.size());
  CHECK(queued > 0);
  for (const auto& command : log.commands()) CHECK((command.flags & log_format::kEventAsked) != 0);
}

TEST_CASE("without time stamps queues and events are the program's") {
  const ProfiledRun profiled({"facts"}, {log_format::kTimesVariable + std::string("=0")});
  check_same(ProfiledRun::run({"facts"}, {}), profiled.end);
  const CommandLog log = profiled.log();
  CHECK(log.count(Kind::times) == 0);
  CHECK(log.commands().size() > 30);
  CHECK(log.all<log_format::Process>(Kind::process).at(0).times == 0);
  for (const auto& queue : log.all<log_format::Queue>(Kind::queue)) {
    CHECK(queue.times == 0);
    CHECK(queue.used == queue.asked);
  }
}

TEST_CASE("commands that wait for each other and for the host, in two threads") {
  const ProfiledRun profiled({"threads"}, {"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4"});
  const CommandLog log = profiled.log();
  const auto commands = log.commands();
  const auto opened = log.all<log_format::UserEventStatus>(Kind::user_event_status);
  const auto gates = log.all<log_format::UserEvent>(Kind::user_event);
  REQUIRE((commands.size() == 2 && opened.size() == 1 && gates.size() == 1));
  CHECK((opened[0].number == gates[0].number && opened[0].status == 0));
  CHECK(opened[0].time_ns - gates[0].time_ns >= 20'000'000);
  CHECK(opened[0].thread != gates[0].thread);
  CHECK(log.count(Kind::thread) == 2);
  CHECK(waits_of(commands[0]) == std::vector{gates[0].number});
  CHECK(waits_of(commands[1]) == std::vector{commands[0].number, gates[0].number});
  const auto names = log.names();
  std::size_t waits = 0;
  for (const auto& call : log.all<log_format::HostCall>(Kind::host_call)) {
    if (names.at(call.name) != "clWaitForEvents") continue;
    ++waits;
    REQUIRE(call.wait_count == 1);
    CHECK(std::memcmp(call.tail.data(), &commands[1].number, sizeof commands[1].number) == 0);
    CHECK(call.end_ns >= opened[0].time_ns);
  }
  CHECK(waits == 1);
  const auto process = log.all<log_format::Process>(Kind::process).at(0);
  CHECK((process.mpi_rank == 3 && process.mpi_size == 4));
}

TEST_CASE("however a program ends, it ends so, and its log is valid up to then") {
  struct Ending {
    const char* how;
    ChildEnd::How expected;
    int code;
    bool exits;
    std::size_t commands = 12;  // if it exits
  };
  using enum ChildEnd::How;
  for (const Ending& ending : {Ending{"exit", exited, 3, true},
                               {"return", exited, 6, true},
                               {"_exit", exited, 4, false},
                               {"abort", killed, SIGABRT, false},
                               {"kill", killed, SIGKILL, false},
                               {"incomplete", exited, 5, true, 13},
                               {"late", exited, 6, true, 13}}) {
    CAPTURE(ending.how);
    const ProfiledRun profiled({"end", ending.how});
    CHECK((profiled.end.how == ending.expected && profiled.end.code == ending.code));
    CHECK(profiled.end.output == std::string("the end: ") + ending.how + "\n");
    CHECK(profiled.end.errors == "");
    const CommandLog log = profiled.log();
    CHECK((log.count(Kind::exit) == 1) == ending.exits);
    std::size_t known = 0;
    for (const auto& [number, each] : log.times()) known += each.status == 0 && each.error == 0;
    CHECK(known >= 11);
    if (ending.exits) {
      CHECK(log.rest() == 0);
      CHECK(log.commands().size() == ending.commands);
    }
  }
}

TEST_CASE("children have logs of their own, and so has a program that another becomes") {
  for (const char* when : {"before", "after"}) {  // the fork is before the parent's first call
    CAPTURE(when);
    // The thread sanitizer allows no threads in a child whose parent has some.
    if (kSanitized && when == std::string("after")) continue;
    const ProfiledRun profiled({"fork", when});
    CHECK((profiled.end.how == ChildEnd::How::exited && profiled.end.code == 7));
    std::vector<std::pair<std::size_t, std::uint32_t>> logs;  // commands; whether it is of a fork
    for (const auto& file : profiled.files()) {
      const CommandLog log(file);
      const auto process = log.all<log_format::Process>(Kind::process).at(0);
      CHECK(std::to_string(process.pid) == file.stem().string());
      logs.emplace_back(log.commands().size(), process.forked);
    }
    std::sort(logs.begin(), logs.end());
    using Logs = decltype(logs);
    CHECK(logs == (when == std::string("before") ? Logs{{6, 0}, {7, 0}} : Logs{{0, 1}, {12, 0}}));
  }
  const ProfiledRun exec({"exec"});
  CHECK(exec.end.code == 6);
  const auto files = exec.files();
  REQUIRE(files.size() == 2);
  CHECK(files[0].stem() == files[1].stem().string() + "-2");
  CHECK((CommandLog(files[0]).commands().size() + CommandLog(files[1]).commands().size()) == 12);
}

// A sanitizer would report the program itself, which closes a file while another thread writes it.
TEST_CASE("a program that closes all files loses no records and gets none in its own files" *
          doctest::skip(kSanitized)) {
  const ScratchFolder own("profile-layer-test");
  const auto path = own.file("own");
  const ProfiledRun profiled({"close", path.string()});
  CHECK(profiled.end.code == 0);
  CHECK(std::filesystem::file_size(path) == 0);
  CHECK(profiled.log().commands().size() == 10);
}

TEST_CASE("commands that never complete take a bounded part of the memory" *
          doctest::skip(kSanitized)) {
  constexpr std::size_t kMost = 256 * 1024, kMore = 5000;
  const ProfiledRun profiled({"pile", std::to_string(kMost + kMore - 1)});
  CHECK((profiled.end.how == ChildEnd::How::exited && profiled.end.code == 0));
  std::size_t given_up = 0;
  for (const auto& [number, times] : profiled.log().times())
    given_up += times.error == log_format::kGivenUp;
  CHECK(given_up == kMore);
}

TEST_CASE("a command that fails has its error in place of times") {
  const ProfiledRun profiled(
      {"end", "return"},
      {std::string("OPENCL_LAYERS=") + fault_layer_library() + ":" + profile_layer_library(),
       "MGPU_FAULT_SCRIPT=call=launch nth=2 do=fail:-5"});
  std::vector<std::int32_t> statuses;
  for (const auto& [number, times] : profiled.log().times()) statuses.push_back(times.status);
  CHECK(std::count(statuses.begin(), statuses.end(), -5) == 1);
}

TEST_CASE("a folder that cannot be written leaves the program alone") {
  const ChildEnd bare = ProfiledRun::run({"end", "return"}, {});
  const ChildEnd end = ProfiledRun::run({"end", "return"}, "/nonexistent");
  check_same(bare, end);
}
