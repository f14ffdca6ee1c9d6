#include "suites/ntt/split_program.hpp"

#include <algorithm>

namespace mgpu::ntt {

SplitProgram::SplitProgram(SplitWorkload& workload, DeviceResources& device, Mode mode,
                           std::unique_ptr<Passes> passes)
    : PartitionedProgram(workload, mode, device.peer()),
      passes_(std::move(passes)),
      input_(device.allocate(problem_.bytes())),
      sent_(device.allocate(problem_.bytes())),
      result_(device.allocate(problem_.bytes())) {}

void SplitProgram::load(Stream& stream) { stream.upload(*input_, 0, workload_.input()); }

void SplitProgram::enqueue(const Slice& slice, unsigned, Stream& stream) {
  settle(slice);
  const Owner* const self = owner_of(workload_.owners(), slice);
  others_ =
      self == nullptr ? std::vector<DeviceIndex>{} : other_owners(workload_.owners(), self->device);
  find_sources(slice);
  find_targets(slice);
  if (mode_ == Mode::end_to_end) upload_columns(slice, stream);
  meet();  // others have read the columns of the previous sample
}

void SplitProgram::enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) {
  if (round == 0) {
    const Range columns = columns_of(slice);
    passes_->columns({columns.begin, columns.end}, mode_ == Mode::resident, {}, *input_, *result_,
                     *sent_, stream, to_, targets_);
    if (to_.empty()) send(slice);
    meet();
    return;
  }
  Buffer& there = others_.empty() ? *sent_ : workload_.landing()[0].piece(peer_->self());
  passes_->rows(rows_of(slice).size(), {}, *sent_, there, sources_, owners_, *result_, stream);
  if (mode_ == Mode::end_to_end) bring_result(slice, stream);
}

// In reversed order a column is contiguous, and otherwise a row.
void SplitProgram::upload_columns(const Slice& slice, Stream& stream) {
  const Bytes element = problem_.element();
  const std::uint64_t n1 = std::uint64_t{1} << problem_.row_bits(),
                      n2 = std::uint64_t{1} << problem_.column_bits();
  const Range columns = columns_of(slice);
  if (problem_.order.in_reversed) {
    stream.upload(
        *input_, 0,
        workload_.input().subspan(columns.begin * n1 * element, columns.size() * n1 * element));
    return;
  }
  const Bytes row = columns.size() * element;
  stream.upload_rows(*input_, workload_.input().data() + columns.begin * element,
                     {row, n1, 0, row, n2 * element});
}

// A slice in isolation reads from its own memory what others would have sent.
void SplitProgram::find_sources(const Slice& slice) {
  const Range columns = columns_of(slice), rows = rows_of(slice);
  const std::uint64_t n2 = std::uint64_t{1} << problem_.column_bits();
  std::vector<Range> all;
  if (others_.empty()) {
    all = {{0, columns.begin}, columns, {columns.end, n2}};
  } else {
    for (const Owner& owner : workload_.owners()) all.push_back(columns_of(owner.items));
  }
  owners_ = 0;
  std::uint64_t before = 0;  // columns in the landing memory
  for (const Range& range : all) {
    if (range.size() == 0) continue;
    const bool here = range.begin == columns.begin;
    const std::uint64_t place = here              ? rows.begin * columns.size()
                                : others_.empty() ? 0
                                                  : rows.size() * before;
    sources_.at[owners_++] = {u32(range.end), u32(range.size()),
                              static_cast<std::uint32_t>(place - range.begin), here ? 1u : 0u};
    if (!here) before += range.size();
  }
}

std::uint64_t SplitProgram::place_at(const Owner& owner, const Slice& share) const {
  const Range mine = columns_of(share), theirs = columns_of(owner.items);
  return rows_of(owner.items).size() *
         (mine.begin - (theirs.begin < mine.begin ? theirs.size() : 0));
}

void SplitProgram::find_targets(const Slice& slice) {
  to_.clear();
  targets_.end.fill(~std::uint32_t{0});
  if (others_.empty() || !workload_.stores_to_others()) return;
  const std::uint64_t width = columns_of(slice).size();
  for (const Owner& owner : workload_.owners()) {
    const Range rows = rows_of(owner.items);
    const bool here = owner.device == peer_->self();
    const std::uint64_t place = here ? 0 : place_at(owner, slice) - rows.begin * width;
    // No row is beyond the last device's: there may be fewer devices than in the group.
    if (&owner != &workload_.owners().back()) targets_.end[to_.size()] = u32(rows.end);
    targets_.place[to_.size()] = static_cast<std::uint32_t>(place);
    to_.push_back(here ? sent_.get() : workload_.landing()[0].remote(peer_->self(), owner.device));
  }
}

void SplitProgram::send(const Slice& slice) {
  if (others_.empty()) return;
  const Bytes element = problem_.element(), width = columns_of(slice).size();
  std::vector<DeviceIndex> members;
  for (const Owner& owner : workload_.owners()) members.push_back(owner.device);
  for (const DeviceIndex to : others_of(members, peer_->self())) {
    const Owner& owner = *std::find_if(workload_.owners().begin(), workload_.owners().end(),
                                       [&](const Owner& each) { return each.device == to; });
    const Range rows = rows_of(owner.items);
    peer_->put(*sent_, rows.begin * width * element, workload_.landing()[0], to,
               place_at(owner, slice) * element, rows.size() * width * element);
  }
}

// In natural order the result of a row is a column of n2 rows.
void SplitProgram::bring_result(const Slice& slice, Stream& stream) {
  const Bytes element = problem_.element();
  const std::uint64_t n1 = std::uint64_t{1} << problem_.row_bits(),
                      n2 = std::uint64_t{1} << problem_.column_bits();
  const Range rows = rows_of(slice);
  if (problem_.order.out_reversed) {
    stream.download(
        *result_, 0,
        workload_.result().subspan(rows.begin * n2 * element, rows.size() * n2 * element));
    return;
  }
  const Bytes row = rows.size() * element;
  stream.download_rows(*result_, workload_.result().data() + rows.begin * element,
                       {row, n2, 0, row, n1 * element});
}

}  // namespace mgpu::ntt
