#include "suites/kernel/kernel_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "lib/base/quote.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/result_file.hpp"
#include "suites/common/finite.hpp"
#include "suites/common/sha256_hex.hpp"
#include "suites/kernel/command.hpp"
#include "suites/kernel/data.hpp"
#include "suites/kernel/kernel_program.hpp"
#include "suites/kernel/other_process.hpp"
#include "suites/kernel/round_flag.hpp"
#include "suites/kernel/round_sums.hpp"
#include "suites/kernel/states.hpp"

namespace mgpu::kernel {
namespace {

// Tells whether there are at least two elements and all are equal.
bool is_constant(const Argument& one, std::span<const std::byte> values) {
  const Bytes size = one.type.size;
  // Compares each element with the one before it.
  return one.elements > 1 &&
         std::memcmp(values.data(), values.data() + size, values.size() - size) == 0;
}

}  // namespace

KernelWorkload::KernelWorkload(const SuiteParams& params)
    : params_(params),
      problem_(problem_of(params)),
      shape_(shape_of(problem_)),
      host_threads_(params.host_threads),
      pages_(problem_.host_bytes, "the arrays"),
      shared_(problem_.fields.size()),
      shared_sums_(problem_.args.size()) {
  // Comes first if all devices are CPUs: what is measured later must not see the other process.
  if (params.cpus) refuse_a_crash(params, problem_);
  bool taken = !params.input;
  for (std::size_t a = 0; a < problem_.args.size(); ++a) {
    Argument& one = problem_.args[a];
    partials_.emplace_back(one.by_kernel() ? one.stride() * problem_.blocks() : 0);
    if (one.by_kernel()) {
      one.initial.resize(one.bytes());
      fill_array(problem_, a, host_threads_, one.initial);
    }
    if (one.edge == Edge::zero) zeros_.resize(std::max<std::size_t>(zeros_.size(), one.item()));
    if (!one.is_input()) continue;
    // --input replaces the fill of the first input.
    if (!taken) {
      one.fill.kind = FillKind::file;
      one.fill.file = *params.input;
      taken = true;
    }
    if (one.fill.kind != FillKind::copy)
      fill_array(problem_, a, host_threads_, memory().subspan(one.host, one.bytes()));
  }
  for (const Argument& one : problem_.args) {
    if (one.is_input() && one.fill.kind == FillKind::copy)
      std::memcpy(pages_.data() + one.host, pages_.data() + problem_.args[one.copied].host,
                  one.bytes());
  }
  files_.resize(problem_.args.size());
  for (std::size_t a = 0; a < problem_.args.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (one.expected.empty()) continue;
    files_[a].resize(one.bytes());
    read_values(one.where + ".expected", one.expected, one.type, files_[a]);
  }
  shape_.caveats = caveats();
}

// Returns warnings: files with non-finite values, and constant inputs if all inputs are constant.
std::vector<std::string> KernelWorkload::caveats() const {
  std::vector<std::string> all;
  bool varies = false;
  std::string constant;
  for (const Argument& one : problem_.args) {
    if (!one.is_input()) continue;
    const std::span<const std::byte> values{pages_.data() + one.host, one.bytes()};
    if (is_constant(one, values))
      constant += (constant.empty() ? "" : ", ") + in_quotes(one.name);
    else
      varies = true;
    if (one.fill.kind != FillKind::file ||
        (one.type.base != Base::f32 && one.type.base != Base::f64))
      continue;
    const std::string caveat =
        non_finite_caveat(one.where + " " + one.fill.file.string(),
                          {one.elements, one.type.size / one.type.lane(), one.type.lane()}, values);
    if (!caveat.empty()) all.push_back(caveat);
  }
  if (!varies && !constant.empty())
    all.push_back("all elements of what the kernel reads (" + constant +
                  ") are the same: a wrong map may pass unseen; see fill");
  return all;
}

const std::byte* KernelWorkload::zeros(Bytes length) const {
  if (length > zeros_.size()) throw Error(ErrorKind::internal, "zeros for an edge that has none");
  return zeros_.data();
}

Demand KernelWorkload::demand(const DeviceTraits&) const {
  Demand demand;
  if (problem_.operations > 0 && problem_.descriptor.operations_unit == "FLOP") {
    const bool wide = std::any_of(
        problem_.args.begin(), problem_.args.end(),
        [](const Argument& one) { return one.is_output() && one.type.base == Base::f64; });
    (wide ? demand.fp64 : demand.fp32) = problem_.operations;
  }
  demand.memory_bytes = problem_.moved;
  return demand;
}

Capacity KernelWorkload::capacity(const DeviceTraits& device, Mode mode) const {
  const Bytes room = device.usable_memory();
  Items local = 0;
  for (const Argument& one : problem_.args) {
    if (one.map == MapKind::local) local += one.local.count();
  }
  Capacity capacity;
  if (local > device.local_memory) {
    capacity.reason = fmt::format("its local memory is {} bytes, the kernel asks for {}",
                                  device.local_memory, local);
    return capacity;
  }
  const auto fits = [&](Items items) {
    return KernelProgram::bytes(problem_, mode, items) <= room &&
           KernelProgram::largest(problem_, mode, items) <= device.max_allocation;
  };
  const Items all = problem_.items, granularity = problem_.granularity;
  Items held = all;
  if (!fits(all)) {
    // Numbers of granules: the largest known to fit, the smallest known not to.
    Items low = 0, high = ceil_div(all, granularity);
    while (high - low > 1) (fits((low + high) / 2 * granularity) ? low : high) = (low + high) / 2;
    held = low * granularity;
  }
  if (held == 0 || (problem_.rounds > 0 && held < all)) {
    const Items least = problem_.rounds > 0 ? all : granularity;
    capacity.reason = fmt::format(
        "it has no memory for {} bytes of arrays, of which the largest has {}",
        KernelProgram::bytes(problem_, mode, least), KernelProgram::largest(problem_, mode, least));
    return capacity;
  }
  capacity.fits = held;
  capacity.pipeline =
      mode == Mode::end_to_end && problem_.rounds == 0 ? std::min(piece_of_pipeline(), held) : held;
  capacity.resident = KernelProgram::bytes(problem_, mode, capacity.pipeline);
  return capacity;
}

// Returns the items per piece that let transfers overlap kernels: at most 16 pieces, each with at
// least 4 MiB to transfer, since smaller kernels would cost more than the overlap saves.
Items KernelWorkload::piece_of_pipeline() const {
  constexpr Items kPieces = 16;
  constexpr Bytes kLeast = Bytes{4} << 20;
  const double each = shape_.cost.in_bytes + shape_.cost.out_bytes;
  const Items all = problem_.items, granularity = problem_.granularity;
  const Items enough = each * static_cast<double>(all) <= static_cast<double>(kLeast)
                           ? all
                           : static_cast<Items>(static_cast<double>(kLeast) / each);
  return std::max<Items>(ceil_div(std::max(all / kPieces, enough), granularity), 1) * granularity;
}

Exchanged KernelWorkload::exchanged(Mode) const {
  Exchanged exchanged;
  exchanged.rounds = problem_.rounds;
  for (const Field& field : problem_.fields) {
    const Argument& in = problem_.args[field.in];
    exchanged.halo += (std::max(in.before, in.after) + (in.pivot.empty() ? 0 : 1)) * in.item();
  }
  for (const Argument& one : problem_.args) {
    if (problem_.rounds > 0 && one.accumulates()) exchanged.halo += one.bytes();
  }
  return exchanged;
}

void KernelWorkload::connect(PeerGroup& group) {
  if (problem_.flag) shared_flags_.allocate(group, RoundFlag::bytes(group.size()));
  for (std::size_t s = 0; s < shared_.size(); ++s)
    shared_[s].allocate(group, States::bytes(problem_, problem_.fields[s]),
                        problem_.fields[s].in_place() ? 1 : 2);
  for (std::size_t a = 0; problem_.rounds > 0 && a < shared_sums_.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (one.accumulates()) shared_sums_[a].allocate(group, RoundSums::bytes(one, group.size()));
  }
}

std::optional<Access> KernelWorkload::use_of(const Launches& launches, std::size_t argument,
                                             std::uint32_t level, std::uint32_t round) {
  const std::scoped_lock lock(mutex_);
  for (std::size_t s = writes_.size(); s < problem_.stages.size(); ++s) {
    auto& args = writes_.emplace_back();
    for (std::size_t a = 0; a < problem_.args.size(); ++a) args.push_back(launches.writes(s, a));
  }
  return problem_.use_of(argument, level, round,
                         [&](std::size_t stage) { return writes_[stage][argument]; });
}

std::unique_ptr<DeviceProgram> KernelWorkload::program(DeviceResources& device, Mode mode,
                                                       const Capacity& capacity) {
  return std::make_unique<KernelProgram>(*this, device, mode, capacity.fits);
}

// Tries a second time after a failure: a wrong descriptor fails again, a faulty device may not.
void KernelWorkload::try_on(DeviceResources& device, Launches& launches, Items fits) {
  const std::string& id = device.traits().id;
  if (device.traits().cpu) refuse_a_crash(params_, problem_);
  // Takes no lock: programs are made one at a time, before any sample, and a driver may block this
  // thread forever.
  std::string first;
  try {
    return try_once(id, device, launches, fits);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    first = error.what();
  }
  try {
    try_once(id, device, launches, fits);
  } catch (const Error& error) {
    // The descriptor has passed on the device that computed all items.
    const bool by_another = !expected_by_.empty() && expected_by_ != id;
    if (error.kind() != ErrorKind::input || !by_another) throw;
    throw Error(ErrorKind::unsupported,
                fmt::format("{}; device {} computed all items, and passed: devices may round "
                            "differently; expected: check.tolerance, such as {{ ulp = 2 }}",
                            error.what(), expected_by_));
  }
  throw Error(ErrorKind::device,
              "slices that were tried twice gave different results, once: " + first);
}

void KernelWorkload::try_once(const std::string& id, DeviceResources& device, Launches& launches,
                              Items fits) {
  Trial trial(problem_, {pages_.data(), problem_.host_bytes}, device, launches);
  if (expected_.empty()) {
    // Poison zones and copies need memory in addition to the arrays.
    Results expected = trial.reference(
        fits < problem_.items ? std::max(fits / 4, problem_.granularity) : problem_.items);
    if (problem_.rounds > 1 && !expected.empty()) {  // slices are compared after one round
      first_round_ = std::move(expected);
      first_unwritten_ = trial.unwritten();
      expected = trial.all_rounds();
    }
    unwritten_ = trial.unwritten();
    expected_by_ = id;
    expected_ = std::move(expected);
  }
  if (expected_.empty() || problem_.guards == Guards::off || tried_.contains(id)) return;
  const std::size_t slices = first_round_.empty()
                                 ? trial.compare_cuts(expected_, unwritten_)
                                 : trial.compare_cuts(first_round_, first_unwritten_);
  slices_tried_ = std::max(slices_tried_, slices);
  tried_.insert(id);
  if (problem_.granularity >= problem_.items && tried_.size() == 1)
    doubts_.push_back(
        fmt::format("the split was not tried: slices begin at multiples of {} items, and there are "
                    "{}; a larger --size has several slices",
                    problem_.granularity, problem_.items));
}

void KernelWorkload::begin_sample() {
  const std::scoped_lock lock(mutex_);
  ++sample_;
  arrived_.clear();
  sums_.clear();
  blocks_.clear();
  damage_.clear();
  if (!std::exchange(looked_at_, false)) return;
  for (const Argument& one : problem_.args) {
    if (one.is_output()) std::memset(result(one).data(), 0xff, one.bytes());
  }
  for (std::vector<std::byte>& partials : partials_)
    std::fill(partials.begin(), partials.end(), std::byte{0xff});
}

void KernelWorkload::arrived(const Slice& slice, const std::string& device) {
  const std::scoped_lock lock(mutex_);
  arrived_.push_back({slice, device});
}

void KernelWorkload::arrived_instead(std::span<const Slice> slices, const std::string& device) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(arrived_, [&](const Arrival& one) { return one.device == device; });
  for (const Slice& slice : slices) arrived_.push_back({slice, device});
}

void KernelWorkload::add_sums(std::size_t argument, const std::string& device,
                              std::span<const std::byte> sums) {
  const std::scoped_lock lock(mutex_);
  sums_[{argument, device}].assign(sums.begin(), sums.end());
}

void KernelWorkload::add_block(std::size_t argument, Items block, std::span<const std::byte> sums) {
  const std::scoped_lock lock(mutex_);
  const Argument& one = problem_.args[argument];
  if (one.by_kernel()) {
    std::copy(sums.begin(), sums.end(),
              partials_[argument].begin() + static_cast<std::ptrdiff_t>(block * one.stride()));
  } else {
    blocks_[{argument, block}].assign(sums.begin(), sums.end());
  }
}

void KernelWorkload::damaged(const std::string& what) {
  const std::scoped_lock lock(mutex_);
  damage_ = what;
}

// Must not be called if a kernel has to combine the partial results of several blocks.
void KernelWorkload::merge() {
  if (problem_.combines())
    throw Error(ErrorKind::internal, "partial results that only a kernel combines");
  for (std::size_t a = 0; a < problem_.args.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (one.by_kernel()) std::memcpy(result(one).data(), partials_[a].data(), one.bytes());
  }
  merge_operations();
}

// Adds sums of integers in any order, and those of floats block by block in the order of the items.
void KernelWorkload::merge_operations() {
  const std::scoped_lock lock(mutex_);
  for (std::size_t a = 0; a < problem_.args.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (one.map == MapKind::append) {
      Records records;
      for (const auto& [key, bytes] : sums_) {
        if (key.first == a)
          records.add(one, bytes,
                      count_in(problem_.args[one.counter], sums_[{one.counter, key.second}]));
      }
      try {
        records.put(one, result(one));
      } catch (const Error& error) {
        damage_ = error.what();
      }
    }
    if (one.map != MapKind::reduce || one.by_kernel()) continue;
    put_identity(one, result(one));
    for (const auto& [key, sums] : sums_) {
      if (key.first == a) combine(one, sums, result(one));
    }
    for (const auto& [key, sums] : blocks_) {
      if (key.first == a) combine(one, sums, result(one));
    }
  }
}

std::string KernelWorkload::digest() const {
  // All results within the tolerance have one digest: that of the single-device reference.
  const bool accepted = !problem_.descriptor.tolerance.exact() && !expected_.empty() &&
                        compare(expected_, "").empty();
  std::string all;
  std::vector<std::byte> bytes;
  for (std::size_t a = 0; a < problem_.args.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (!one.is_output()) continue;
    const std::span<const std::byte> made =
        accepted ? std::span<const std::byte>(expected_[a]) : result(one);
    if (a < unwritten_.size() && !unwritten_[a].empty()) {
      bytes.assign(made.begin(), made.end());
      for (Bytes i = 0; i < bytes.size(); ++i) {
        if (unwritten_[a][i]) bytes[i] = std::byte{0};
      }
      all += sha256_hex(bytes);
    } else {
      all += sha256_hex(made);
    }
  }
  return all.size() <= 64 ? all : sha256_hex(std::as_bytes(std::span(all)));
}

std::string KernelWorkload::who_made(const Argument& one, std::uint64_t element) const {
  if (one.per_item == 0) return "";
  Items item = element / one.per_item;
  if (one.map == MapKind::slice) item %= problem_.items;
  for (const Arrival& arrival : arrived_) {
    if (item >= arrival.slice.begin && item < arrival.slice.end)
      return fmt::format(" (item {}, in slice [{}, {}) of device {})", item, arrival.slice.begin,
                         arrival.slice.end, arrival.device);
  }
  return fmt::format(" (item {})", item);
}

std::string KernelWorkload::compare(const Results& expected, const char* what) const {
  for (std::size_t a = 0; a < problem_.args.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (!one.is_output() || expected[a].empty()) continue;
    std::span<const std::byte> made = result(one);
    std::vector<std::byte> masked;
    if (a < unwritten_.size() && !unwritten_[a].empty()) {
      masked.assign(made.begin(), made.end());
      for (Bytes i = 0; i < masked.size(); ++i) {
        if (unwritten_[a][i]) masked[i] = expected[a][i];
      }
      made = masked;
    }
    const auto difference =
        first_difference(one.type, problem_.descriptor.tolerance, made, expected[a]);
    if (!difference) continue;
    const Bytes at = difference->element * one.type.size;
    return fmt::format(
        "argument {}: {} of {} elements differ, the first is element {}{}: {}, {} says {}",
        in_quotes(one.name), difference->count, one.elements, difference->element,
        who_made(one, difference->element), text_at(one.type, made.data() + at), what,
        text_at(one.type, expected[a].data() + at));
  }
  return "";
}

std::string KernelWorkload::run_command(const std::string& digest) {
  if (const auto found = commands_.find(digest); found != commands_.end()) return found->second;
  CommandFiles files;
  files.values = problem_.values;
  for (const Argument& one : problem_.args) {
    if (one.is_input()) files.inputs.push_back({one.name, {pages_.data() + one.host, one.bytes()}});
    if (one.is_output()) files.outputs.push_back({one.name, result(one)});
  }
  try {
    return commands_[digest] = run_check(problem_.descriptor.command, problem_.descriptor.folder,
                                         files, host_watch());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    throw Error(ErrorKind::input, problem_.descriptor.file + ": " + error.what());
  }
}

Verdict KernelWorkload::verify(VerifyLevel level, std::uint64_t) {
  if (level == VerifyLevel::off) return {};
  const std::scoped_lock lock(mutex_);
  looked_at_ = true;
  Verdict verdict{Verdict::Status::passed, "", ""};
  const auto fail = [&](const std::string& why) {
    verdict.status = Verdict::Status::failed;
    verdict.message = why;
    return verdict;
  };
  if (expected_.empty()) return {};
  verdict.method =
      fmt::format("every element{}, with device {} computing all items alone",
                  problem_.descriptor.tolerance.exact() ? ", bit for bit" : " within the tolerance",
                  expected_by_);
  verdict.method += slices_tried_ > 1
                        ? fmt::format(", which {} slices of other sizes agreed with", slices_tried_)
                        : "; the split was not tried";
  Items made = 0;
  for (const Arrival& arrival : arrived_) made += arrival.slice.size();
  if (made != problem_.items)
    return fail(fmt::format("{} of {} items did not arrive on the host",
                            problem_.items - std::min(made, problem_.items), problem_.items));
  if (!damage_.empty()) return fail(damage_);
  if (const std::string why = compare(expected_, "one device alone"); !why.empty())
    return fail(why);
  const bool has_files =
      std::any_of(files_.begin(), files_.end(), [](const auto& bytes) { return !bytes.empty(); });
  if (has_files) {
    verdict.method += ", and with the expected file";
    if (const std::string why = compare(files_, "the expected file"); !why.empty())
      return fail(why);
  }
  if (!problem_.descriptor.command.empty()) {
    verdict.method += ", and by " + in_quotes(problem_.descriptor.command);
    if (const std::string why = run_command(digest()); !why.empty()) return fail(why);
  }
  if (problem_.descriptor.command.empty() && !has_files)
    verdict.method += "; nothing checked the kernel itself (expected, check.command)";
  verdict.found.warnings = doubts_;
  for (std::size_t a = 0; a < problem_.args.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (!one.is_output()) continue;
    const bool none_written =
        a < unwritten_.size() && !unwritten_[a].empty() &&
        std::find(unwritten_[a].begin(), unwritten_[a].end(), false) == unwritten_[a].end();
    if (a < unwritten_.size() && !unwritten_[a].empty() && !none_written)
      verdict.method += fmt::format("; of {}, {} of {} bytes are written", in_quotes(one.name),
                                    std::count(unwritten_[a].begin(), unwritten_[a].end(), false),
                                    unwritten_[a].size());
    if (none_written)
      verdict.found.warnings.push_back(
          fmt::format("argument {}: the kernel writes none of its elements", in_quotes(one.name)));
    else if (is_constant(one, result(one)))
      verdict.found.warnings.push_back(
          fmt::format("argument {}: all of its {} elements are {}: a wrong map may pass unseen",
                      in_quotes(one.name), one.elements, text_at(one.type, result(one).data())));
  }
  return verdict;
}

// Writes a .npy matrix, items by elements per item, of a single output of floats, or the bytes of
// all outputs.
void KernelWorkload::write_result(const std::filesystem::path& file) const {
  std::vector<const Argument*> outputs;
  for (const Argument& one : problem_.args) {
    if (one.is_output()) outputs.push_back(&one);
  }
  const Argument& first = *outputs.front();
  const bool floats =
      (first.type.base == Base::f32 || first.type.base == Base::f64) && first.type.lanes != 3;
  if (file.extension() == ".npy" && outputs.size() == 1 && floats) {
    const std::uint64_t numbers = first.elements * first.type.lanes,
                        rows = first.by_item() ? problem_.items : 1;
    return write_npy(file, {rows, numbers / rows, first.type.lane()}, result(first));
  }
  if (file.extension() == ".npy") {
    throw Error(ErrorKind::output, fmt::format("--save-data: {}: .npy holds one output of float or "
                                               "double; expected: another name, for "
                                               "the bytes of all outputs",
                                               in_quotes(file.string())));
  }
  write_result_file(file, [&](std::ostream& out) {
    for (const Argument* one : outputs) {
      const std::span<const std::byte> bytes = result(*one);
      out.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
    }
  });
}

}  // namespace mgpu::kernel
