#include "suites/ntt/commit_program.hpp"

#include <algorithm>

#include "suites/common/build_option.hpp"
#include "suites/ntt/host_data.hpp"
#include "suites/ntt/poseidon2.hpp"

namespace mgpu::ntt {
namespace {

constexpr Bytes word_bytes = 4;
constexpr std::size_t hash_group = 64;

std::string hash_options(const Problem& problem, const DeviceTraits& device) {
  const Poseidon2 hash(problem.field);
  const std::uint64_t p = hash.modulus();
  std::string list;
  for (const std::uint64_t constant : hash.constants())
    list += (list.empty() ? "" : ",") + std::to_string((constant << 32) % p) + "u";
  return field_options(problem.field, device) + define("DEGREE", hash.degree()) +
         define("PARTIAL_ROUNDS", hash.partial_rounds()) + " -DROUND_CONSTANTS=" + list +
         define("CANONICAL", problem.cosets == 0) +
         define("MONTGOMERY", ((std::uint64_t{1} << 32) % p << 32) % p) + "u";
}

}  // namespace

CommitProgram::CommitProgram(CommitWorkload& workload, DeviceResources& device, Mode mode,
                             const std::string& preferred)
    : PartitionedProgram(workload, mode, device.peer()),
      interpolation_(make_passes(problem_.interpolation(), device, preferred)),
      evaluation_(make_passes(problem_, device, preferred)),
      input_(device.allocate(problem_.bytes())),
      states_(device.allocate(problem_.rows() * digest_bytes)),
      tree_(device.allocate(problem_.rows() * digest_bytes)) {
  const std::string options = hash_options(problem_, device.traits());
  absorb_ = device.kernel("poseidon2.cl", "absorb", options);
  compress_ = device.kernel("poseidon2.cl", "compress", options);
  if (problem_.cosets == 0) return;
  between_ = device.allocate(problem_.at_once() * problem_.transform_bytes());
  coefficients_ = device.allocate(
      evaluates_cosets() ? problem_.bytes() : problem_.at_once() * problem_.transform_bytes());
  extended_ = device.allocate(problem_.extended_bytes());
}

void CommitProgram::load(Stream& stream) { stream.upload(*input_, 0, workload_.input()); }

void CommitProgram::prepare(Stream& stream) {
  interpolation_->load(stream);
  evaluation_->load(stream);
}

void CommitProgram::enqueue(const Slice& slice, unsigned, Stream& stream) {
  settle(slice);
  const Owner* const self = owner_of(workload_.owners(), slice);
  others_ =
      self == nullptr ? std::vector<DeviceIndex>{} : other_owners(workload_.owners(), self->device);
  if (mode_ == Mode::end_to_end) {
    const Range columns = problem_.columns_of(slice);
    const Bytes each = problem_.transform_bytes();
    if (columns.size() > 0)
      stream.upload(*input_, columns.begin * each,
                    workload_.input().subspan(columns.begin * each, columns.size() * each));
  }
  meet();  // others have read what was sent in the previous sample
}

void CommitProgram::enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) {
  if (round == 0) {
    extend(slice, stream);
    if (problem_.partition == Partition::relay) return;
    send(slice);
    meet();
    return;
  }
  if (problem_.partition == Partition::relay) {
    hash_by_relay(slice, stream);
  } else {
    hash(slice, stream);
  }
  build_tree(slice, stream);
  if (mode_ == Mode::end_to_end) bring_result(slice, stream);
}

// Those that others send arrive next to the device's own. Without others it has memory of its own,
// so that it leaves nothing there that could pass for what others did not send.
Buffer& CommitProgram::coefficients() const {
  return is_alone() || !evaluates_cosets() ? *coefficients_
                                           : workload_.landing()[0].piece(peer_->self());
}

// Interpolates the share's columns and evaluates them, or leaves coefficients for all devices.
void CommitProgram::extend(const Slice& slice, Stream& stream) {
  if (problem_.cosets == 0) return;
  const Range columns = problem_.columns_of(slice);
  const bool keep = evaluates_cosets();
  Buffer& coefficients = this->coefficients();
  for (std::uint64_t at = columns.begin; at < columns.end; at += problem_.at_once()) {
    const std::uint64_t count = std::min(problem_.at_once(), columns.end - at);
    interpolation_->whole({count, at, keep ? at : 0}, *input_, *between_, coefficients, stream);
    for (std::uint64_t coset = 0; coset < (keep ? 0 : problem_.cosets); ++coset)
      evaluation_->whole({count, 0, at * problem_.cosets + coset, problem_.cosets, coset},
                         coefficients, *between_, *extended_, stream);
  }
}

void CommitProgram::send(const Slice& slice) {
  if (is_alone()) return;
  const Range columns = problem_.columns_of(slice);
  std::vector<DeviceIndex> members;
  for (const Owner& owner : workload_.owners()) members.push_back(owner.device);
  for (const DeviceIndex to : others_of(members, peer_->self())) {
    if (evaluates_cosets()) {
      const Bytes each = problem_.transform_bytes();
      if (columns.size() > 0)
        peer_->put(coefficients(), columns.begin * each, workload_.landing()[0], to,
                   columns.begin * each, columns.size() * each);
      continue;
    }
    const Owner& owner = *std::find_if(workload_.owners().begin(), workload_.owners().end(),
                                       [&](const Owner& each) { return each.device == to; });
    const Range rows = problem_.rows_of(owner.items);
    Bytes place = workload_.place_at(owner, slice);
    for (std::uint64_t column = columns.begin; column < columns.end; ++column) {
      peer_->put(extended_ ? *extended_ : *input_,
                 (column * problem_.rows() + rows.begin) * word_bytes, workload_.landing()[0], to,
                 place, rows.size() * word_bytes);
      place += rows.size() * word_bytes;
    }
  }
}

void CommitProgram::absorb(Buffer& columns, const Absorb& argument, Buffer& states, Buffer& out,
                           Stream& stream) {
  stream.launch(*absorb_, grid_of(*absorb_, argument.rows, hash_group),
                {&columns, &states, &out, ValueBytes{std::as_bytes(std::span(&argument, 1))}});
}

// Hashes the share's rows of all columns: its own ones, and those in the order of their owners that
// others sent. A slice in isolation reads its own memory for theirs.
void CommitProgram::hash(const Slice& slice, Stream& stream) {
  const Range rows = problem_.rows_of(slice);
  Absorb argument{rows.begin, problem_.rows(), u32(rows.size()), u32(problem_.batch), 0, 0, 1, 1};
  if (evaluates_cosets()) {
    const std::uint64_t cosets = slice.size();
    for (std::uint64_t at = 0; at < problem_.batch; at += problem_.at_once())
      for (std::uint64_t i = 0; i < cosets; ++i)
        evaluation_->whole({std::min(problem_.at_once(), problem_.batch - at), at, at * cosets + i,
                            cosets, slice.begin + i},
                           coefficients(), *between_, *extended_, stream);
    argument.at = 0;
    argument.stride = rows.size();
  }
  Buffer& own = extended_ ? *extended_ : *input_;
  leaves_ = states_.get();
  leaves_at_ = 0;
  if (is_alone() || evaluates_cosets()) return absorb(own, argument, *states_, *states_, stream);
  const Owner& self = *owner_of(workload_.owners(), slice);
  for (const Owner& owner : workload_.owners()) {
    const Range columns = problem_.columns_of(owner.items);
    if (columns.size() == 0) continue;
    const bool here = owner.device == self.device;
    argument.at = here ? columns.begin * problem_.rows() + rows.begin
                       : workload_.place_at(self, owner.items) / word_bytes;
    argument.stride = here ? problem_.rows() : rows.size();
    argument.columns = u32(columns.size());
    argument.first = columns.begin == 0;
    argument.last = columns.end == problem_.batch;
    absorb(here ? own : workload_.landing()[0].piece(peer_->self()), argument, *states_, *states_,
           stream);
  }
}

// Absorbs the share's columns of all rows, part by part, into the states that come from the owner
// of the columns before, and hands them on. The owner of the last columns hands all others the
// digests of their rows.
void CommitProgram::hash_by_relay(const Slice& slice, Stream& stream) {
  const Range columns = problem_.columns_of(slice);
  Absorb argument{columns.begin * problem_.rows(),
                  problem_.rows(),
                  u32(problem_.rows()),
                  u32(columns.size()),
                  0,
                  0,
                  is_alone() || columns.begin == 0,
                  columns.end == problem_.batch};
  Buffer& own = extended_ ? *extended_ : *input_;
  leaves_ = states_.get();
  leaves_at_ = problem_.rows_of(slice).begin;
  if (is_alone()) return absorb(own, argument, *states_, *states_, stream);
  SharedMemory& shared = workload_.landing()[0];
  Buffer& landing = shared.piece(peer_->self());
  std::optional<DeviceIndex> before, after;
  for (const Owner& owner : workload_.owners()) {
    const Range theirs = problem_.columns_of(owner.items);
    if (theirs.size() == 0 || columns.size() == 0) continue;
    if (theirs.end == columns.begin) before = owner.device;
    if (theirs.begin == columns.end) after = owner.device;
  }
  const auto absorb_for = [&](DeviceIndex to, const Range& rows) {
    argument.at = columns.begin * problem_.rows() + rows.begin;
    argument.state_at = argument.out_at = u32(rows.begin);
    argument.rows = u32(rows.size());
    Buffer* const there = to == peer_->self() ? states_.get() : shared.remote(peer_->self(), to);
    absorb(own, argument, before ? landing : *states_, there != nullptr ? *there : *states_,
           stream);
    if (there == nullptr)
      peer_->put(*states_, rows.begin * digest_bytes, shared, to, rows.begin * digest_bytes,
                 rows.size() * digest_bytes);
  };
  for (std::uint64_t row = 0; row < problem_.rows() && columns.size() > 0;
       row += problem_.relayed_rows()) {
    if (before) peer_->sync({}, std::span(&*before, 1));
    const Range part{row, row + problem_.relayed_rows()};
    if (after) {
      absorb_for(*after, part);
      peer_->sync(std::span(&*after, 1), {});
      continue;
    }
    for (const Owner& owner : workload_.owners()) {
      const Range theirs = problem_.rows_of(owner.items);
      const Range common{std::max(part.begin, theirs.begin), std::min(part.end, theirs.end)};
      if (common.begin < common.end) absorb_for(owner.device, common);
    }
  }
  const DeviceIndex last = workload_.owners().back().device;
  if (last == peer_->self()) return peer_->sync(others_, {});
  peer_->sync({}, std::span(&last, 1));
  leaves_ = &landing;
}

// Computes the subtrees of the blocks of rows, level by level, one behind the other.
void CommitProgram::build_tree(const Slice& slice, Stream& stream) {
  const std::uint64_t rows = problem_.rows_of(slice).size();
  for (unsigned level = 0; level < problem_.block_bits(); ++level) {
    const std::uint64_t nodes = rows >> (level + 1);
    stream.launch(*compress_, grid_of(*compress_, nodes, hash_group),
                  {level == 0 ? leaves_ : tree_.get(), tree_.get(),
                   u32(level == 0 ? leaves_at_ : Problem::level_at(rows, level)),
                   u32(Problem::level_at(rows, level + 1)), u32(nodes)});
  }
}

// Downloads the blocks' roots and the nodes next to the paths of the opened rows.
void CommitProgram::bring_result(const Slice& slice, Stream& stream) {
  const Range rows = problem_.rows_of(slice);
  const unsigned height = problem_.block_bits();
  const auto download = [&](unsigned level, std::uint64_t node, std::uint64_t count,
                            std::span<std::byte> to) {
    const std::uint64_t at = level == 0 ? leaves_at_ : Problem::level_at(rows.size(), level);
    stream.download(level == 0 ? *leaves_ : *tree_, (at + node) * digest_bytes,
                    to.first(count * digest_bytes));
  };
  download(height, 0, rows.size() >> height,
           workload_.roots().subspan((rows.begin >> height) * digest_bytes));
  for (std::size_t i = 0; i < workload_.opened().size(); ++i) {
    const std::uint64_t row = workload_.opened()[i];
    if (row < rows.begin || row >= rows.end) continue;
    std::span<std::byte> path = workload_.path(i);
    download(0, row - rows.begin, 1, path);
    for (unsigned level = 0; level < height; ++level)
      download(level, (row - rows.begin) >> level ^ 1, 1, path.subspan((level + 1) * digest_bytes));
  }
}

}  // namespace mgpu::ntt
