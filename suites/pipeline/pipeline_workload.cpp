#include "suites/pipeline/pipeline_workload.hpp"

#include <algorithm>

#include "lib/base/quantity.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/common/group_limits.hpp"
#include "suites/common/uniform_element.hpp"
#include "suites/common/variants.hpp"
#include "suites/pipeline/chain_program.hpp"
#include "suites/pipeline/data_program.hpp"
#include "suites/pipeline/reference.hpp"

namespace mgpu::pipeline {
namespace {

constexpr double usable_part = 0.9;  // fraction of a device's memory

void fill(std::span<std::byte> to, std::uint64_t seed, unsigned threads) {
  constexpr std::uint64_t at_once = std::uint64_t{1} << 17;
  auto* const words =
      reinterpret_cast<std::uint64_t*>(to.data());  // records have an even number of words
  parallel_for(
      to.size() / 8, threads, [&](std::uint64_t i) { words[i] = splitmix64(seed, i); }, at_once);
}

NpyShape shape_of_file(std::uint64_t records, std::uint32_t width, bool real) {
  return {records, width, 4, real ? NpyNumbers::real : NpyNumbers::int32};
}

// Throws Error(input) if a number is not from -1 to 1, for which stages are bounded.
void check_numbers(const std::string& file, std::uint32_t width, std::span<const std::byte> bytes) {
  const std::span numbers(reinterpret_cast<const float*>(bytes.data()), bytes.size() / 4);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] >= -1 && numbers[i] <= 1) continue;
    throw Error(ErrorKind::input, "--input: " + file + ": row " + std::to_string(i / width) +
                                      ", column " + std::to_string(i % width) + " is " +
                                      std::to_string(numbers[i]) + "; expected: from -1 to 1");
  }
}

std::span<const std::uint32_t> words_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const std::uint32_t*>(bytes.data()), bytes.size() / 4};
}

}  // namespace

PipelineWorkload::PipelineWorkload(const Problem& problem, const SuiteParams& params)
    : PartitionedWorkload(problem, params, host_bytes(problem),
                          std::to_string(problem.records) + " records", problem.batches()) {
  results_ = {pages_.data() + in_pages(problem_.in_bytes()), problem_.out_bytes()};
  const std::span<std::byte> to{pages_.data(), problem_.in_bytes()};
  const bool real = problem_.stages.front().is_real();
  if (params.input) {
    read_npy(*params.input, shape_of_file(problem_.records, problem_.width(), real), to);
    if (real) check_numbers(params.input->string(), problem_.width(), to);
  } else if (real) {
    fill_uniform<float>(to, params.seed, false, host_threads_);
  } else {
    fill(to, params.seed, host_threads_);
  }
}

Demand PipelineWorkload::demand(const DeviceTraits&) const {
  Demand demand;
  double words = 0;  // words read and written per record
  for (const Stage& stage : problem_.stages) {
    (stage.is_real() ? demand.fp32 : demand.int32) +=
        operations(stage) * static_cast<double>(problem_.records);
    words += stage.width + stage.width_after();
  }
  if (problem_.fuse) words = problem_.width() + problem_.width_after();
  demand.memory_bytes = words * 4 * static_cast<double>(problem_.records);
  return demand;
}

std::vector<std::string> PipelineWorkload::kernel_variants(const DeviceTraits& device) const {
  return names_of(groups_for(device), variant_name);
}

void PipelineWorkload::note_times(const std::string& device,
                                  const std::optional<StageTimes>& times) {
  if (!times) return;
  const auto found = std::find_if(times_.begin(), times_.end(),
                                  [&](const auto& of) { return of.first == device; });
  if (found == times_.end()) {
    times_.emplace_back(device, *times);
  } else {
    found->second = *times;
  }
}

const StageTimes* PipelineWorkload::times_on(const std::string& device) const {
  const auto found = std::find_if(times_.begin(), times_.end(),
                                  [&](const auto& of) { return of.first == device; });
  return found == times_.end() ? nullptr : &found->second;
}

// Tells whether local memory suffices: transforms go back and forth between two halves of it.
bool PipelineWorkload::has_local_memory(const DeviceTraits& device, Capacity& capacity) const {
  if (problem_.fuse) return has_room_for_fused(device, capacity);
  Bytes most = 0;
  for (const Stage& stage : problem_.stages)
    if (stage.kind == Kind::transform) most = std::max<Bytes>(most, Bytes{8} * stage.width);
  if (most <= device.local_memory) return true;
  capacity.reason = "to transform a record takes " + format_bytes(static_cast<double>(most)) +
                    " of local memory; the device has " +
                    format_bytes(static_cast<double>(device.local_memory)) +
                    "; try a smaller --width";
  return false;
}

// Tells whether a work-group can have whole records, with their rows a word apart.
bool PipelineWorkload::has_room_for_fused(const DeviceTraits& device, Capacity& capacity) const {
  const std::size_t group = fused_group(problem_, groups_for(device).front());
  const bool transforms =
      std::any_of(problem_.stages.begin(), problem_.stages.end(),
                  [](const Stage& stage) { return stage.kind == Kind::transform; });
  const Bytes tables = Bytes{1024} * problem_.stages.size(),
              local = Bytes{group} * 17 * 4 * (transforms ? 2 : 1) + tables;
  if (group <= device.max_work_group && local <= device.local_memory) return true;
  capacity.reason = "fused stages of records of " + std::to_string(problem_.width()) +
                    " words take work-groups of " + std::to_string(group) + " with " +
                    format_bytes(static_cast<double>(local)) +
                    " of local memory; the device has groups of " +
                    std::to_string(device.max_work_group) + " and " +
                    format_bytes(static_cast<double>(device.local_memory)) +
                    "; try a smaller --width, or no --fuse";
  return false;
}

Capacity PipelineWorkload::capacity_of_all(const DeviceTraits& device) const {
  Capacity capacity;
  if (!has_local_memory(device, capacity)) return capacity;
  const Bytes in = problem_.in_bytes(), out = problem_.out_bytes();
  const auto usable = static_cast<Bytes>(static_cast<double>(device.global_memory) * usable_part);
  capacity.resident =
      in + out + 3 * buffer_bytes(problem_) + (by_stages() ? 2 * problem_.most_handed_over() : 0);
  if (std::max(in, out) > device.max_allocation || capacity.resident > usable) {
    capacity.reason = "records, results and what lies between stages take " +
                      format_bytes(static_cast<double>(capacity.resident)) + "; the device has " +
                      format_bytes(static_cast<double>(usable)) +
                      " to give and buffers of at most " +
                      format_bytes(static_cast<double>(device.max_allocation)) +
                      "; try --place data --mode end-to-end";
    return capacity;
  }
  capacity.fits = capacity.pipeline = shape_.items;
  return capacity;
}

// Returns "; by what stages take, ..." if at least two devices with programs were measured.
std::string PipelineWorkload::placement_words() const {
  if (times_.size() < 2) return "";
  std::vector<StageTimes> times;
  for (const auto& [device, of_device] : times_) times.push_back(of_device);
  const bool free = std::any_of(times.begin(), times.end(),
                                [](const StageTimes& of) { return of.hands_over.empty(); });
  const Placements found = placements_of(problem_, times);
  return "; by what stages take on " + std::to_string(times.size()) + " devices, data takes " +
         format_duration(from_seconds(found.data)) + " and a pipeline " +
         (free ? "at least " : "") + format_duration(from_seconds(found.stages));
}

void PipelineWorkload::add_findings(Verdict& verdict) const {
  for (const auto& [device, times] : times_) {
    for (std::size_t s = 0; s < times.keeps.size(); ++s)
      verdict.found.figures.push_back({"ms of stage " + std::to_string(s + 1) + " (" +
                                           problem_.stages[s].name() + ") a batch on " + device,
                                       times.keeps[s] * 1e3});
  }
}

Verdict PipelineWorkload::verify(VerifyLevel level, std::uint64_t seed) {
  using Status = Verdict::Status;
  if (level == VerifyLevel::off) return {};
  if (const auto missing = arrivals_.look("batches")) return *missing;
  Verdict verdict = passed_.of(level, seed, digest(), [&] {
    const Finding finding = check(problem_, words_of(records()), words_of(results()),
                                  level == VerifyLevel::full, seed, host_threads_);
    return Verdict{finding.message.empty() ? Status::passed : Status::failed, finding.method,
                   finding.message};
  });
  if (verdict.status == Status::failed) return verdict;
  verdict.method += placement_words();
  add_findings(verdict);
  return verdict;
}

void PipelineWorkload::write_result(const std::filesystem::path& file) const {
  write_npy(
      file,
      shape_of_file(problem_.records, problem_.width_after(), problem_.stages.back().is_real()),
      results());
}

Capacity PipelineWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  if (by_stages() || mode == Mode::resident) return capacity_of_all(device);
  // Sixteen slices of 8 MiB to 1 GiB, as in other suites.
  Capacity capacity;
  if (!has_local_memory(device, capacity)) return capacity;
  const Bytes in = problem_.batch * problem_.width() * 4,
              out = problem_.batch * problem_.width_after() * 4;
  const auto usable = static_cast<Bytes>(static_cast<double>(device.global_memory) * usable_part);
  const Bytes between = 3 * buffer_bytes(problem_);
  const Bytes left = usable > between ? usable - between : 0;
  const Items most =
      std::min({device.max_allocation, left / 4, Bytes{1} << 30}) / std::max(in, out);
  if (most == 0) {
    capacity.reason = "a batch takes " +
                      format_bytes(static_cast<double>(2 * (in + out) + between)) +
                      "; the device has " + format_bytes(static_cast<double>(usable)) +
                      " to give; try a smaller --batch";
    return capacity;
  }
  const Items all = problem_.batches(),
              wanted = std::max<Items>((all + 15) / 16, std::max<Items>(1, (Bytes{8} << 20) / in));
  capacity.fits = std::min(most, all);
  capacity.pipeline = std::min(wanted, capacity.fits);
  capacity.resident = 2 * capacity.fits * (in + out) + between;
  return capacity;
}

std::unique_ptr<DeviceProgram> PipelineWorkload::program(DeviceResources& device, Mode mode,
                                                         const Capacity& capacity) {
  const std::size_t group =
      named_or_first(groups_for(device.traits()), variant_name, preferred(device.traits()));
  Peer* const peer = device.peer();
  Buffer* next = nullptr;
  if (peer != nullptr && mail_)
    next = mail_->remote(peer->self(),
                         {static_cast<std::uint32_t>((peer->self().value + 1) % peer->count())});
  const auto noted = [&](auto program) -> std::unique_ptr<DeviceProgram> {
    note_times(device.traits().id, program->kernels().measure(next));
    return program;
  };
  return make_first_suited(halves_of(group), [&](std::size_t each) {
    if (by_stages()) return noted(std::make_unique<ChainProgram>(*this, device, mode, each));
    return noted(std::make_unique<DataProgram>(*this, device, mode, capacity.fits, each));
  });
}

std::optional<ChainEstimate> PipelineWorkload::chain(std::span<const std::string> devices) const {
  ChainEstimate chain;
  chain.bytes = handed_over(problem_);
  for (const std::string& device : devices) {
    const StageTimes* const times = times_on(device);
    if (times == nullptr) return std::nullopt;
    chain.devices.push_back(*times);
  }
  return chain;
}

}  // namespace mgpu::pipeline
