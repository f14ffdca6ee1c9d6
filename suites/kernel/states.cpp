// States of swapped arrays alternate, so that halo items of the next round arrive in a buffer that
// nobody reads: one synchronisation per round suffices. Arrays that are changed in place have one
// state: before an exchange, devices wait until the others have read its old halo.
#include "suites/kernel/states.hpp"

#include <algorithm>

#include "lib/base/add_once.hpp"
#include "suites/kernel/layout.hpp"

namespace mgpu::kernel {

Bytes States::bytes(const Problem& problem, const Field& field) {
  return round_up(problem.args[field.in].bytes(), kCopyPiece);
}

States::States(KernelWorkload& workload, DeviceResources& device, const Launches& launches)
    : workload_(workload),
      problem_(workload.problem()),
      launches_(launches),
      peer_(device.peer()),
      changed_(problem_.fields.size()) {
  for (std::size_t f = 0; f < problem_.fields.size(); ++f) {
    const Bytes size = bytes(problem_, field(f));
    const bool restores = problem_.args[field(f).out].is_input();
    initial_.push_back(device.allocate(size));
    initial_out_.push_back(restores && !field(f).in_place() ? device.allocate(size) : nullptr);
    states_.emplace_back(workload_.shared()[f], device, size, field(f).in_place() ? 1 : 2);
    if (restores && !copy_) copy_ = device.kernel("copy_part.cl", "copy_part", "");
  }
  // Probes run without exchange, so their halo items keep these initial contents, which are values
  // that a kernel expects.
  device.try_out([&](Stream& stream) {
    const auto load = [&](std::size_t argument, Buffer& to) {
      const Argument& one = problem_.args[argument];
      stream.upload(to, 0,
                    std::span<const std::byte>(workload_.memory()).subspan(one.host, one.bytes()));
    };
    for (std::size_t f = 0; f < initial_.size(); ++f) {
      for (Buffer* to : {initial_[f].get(), &after(f, 1), &after(f, 2)}) load(field(f).in, *to);
      if (initial_out_[f]) load(field(f).out, *initial_out_[f]);
    }
  });
}

Buffer& States::given(std::size_t argument, std::uint32_t round) {
  const auto f = static_cast<std::size_t>(problem_.field_of(argument) - problem_.fields.data());
  if (field(f).out == argument) return after(f, round + 1);
  return round == 0 ? *initial_[f] : after(f, round);
}

void States::begin(const Slice& slice, bool upload, Stream& stream) {
  slice_ = slice;
  after_round_ = {};
  Exchange all;
  for (std::size_t f = 0; f < states_.size(); ++f) {
    changed_[f] = false;
    if (!field(f).in_place()) add_to(after_round_, f, 0);
    add_to(all, f, 0);
  }
  const auto bring = [&](std::size_t argument, Buffer& to) {
    const std::byte* const host = workload_.memory().data() + problem_.args[argument].host;
    for (const Move& move : input_moves(problem_, workload_.memory(), argument, slice))
      stream.upload(to, move.device, {host + move.host, move.length});
  };
  for (std::size_t f = 0; upload && f < initial_.size(); ++f) {
    bring(field(f).in, *initial_[f]);
    if (initial_out_[f]) bring(field(f).out, *initial_out_[f]);
  }
  restore(slice, stream);
  // Peers have finished reading the states of the previous sample.
  meet(all);
}

void States::restore(const Slice& slice, Stream& stream) {
  for (std::size_t f = 0; f < initial_.size(); ++f) {
    const Argument& in = problem_.args[field(f).in];
    for (const Slice& part : problem_.extents(in, slice)) {
      const Bytes first = part.begin * in.item() / kCopyPiece * kCopyPiece,
                  size = round_up(part.end * in.item(), kCopyPiece) - first;
      if (field(f).in_place()) copy_part(*copy_, *initial_[f], after(f, 1), first, size, stream);
      if (!initial_out_[f]) continue;
      copy_part(*copy_, *initial_out_[f], after(f, 1), first, size, stream);
      copy_part(*copy_, *initial_[f], after(f, 2), first, size, stream);
    }
  }
}

void States::add_to(Exchange& exchange, std::size_t f, std::uint32_t round) const {
  const std::span<const Owner> owners = workload_.owners();
  if (owner_of(owners, slice_) == nullptr) return;
  const Argument& in = problem_.args[field(f).in];
  const auto needed = [&](const Slice& who, const Slice& of) {
    std::vector<Slice> parts;
    for (const Slice& extent : problem_.extents(in, who, round)) {
      const Slice part{std::max(extent.begin, of.begin), std::min(extent.end, of.end)};
      if (part.begin < part.end) parts.push_back(part);
    }
    return parts;
  };
  for (const Owner& one : owners) {
    if (one.items == slice_) continue;
    const std::vector<Slice> sent = needed(one.items, slice_);
    for (const Slice& part : sent)
      exchange.puts.push_back({f, one.device, part.begin * in.item(), part.size() * in.item()});
    if (!sent.empty() || !needed(slice_, one.items).empty()) add_once(exchange.others, one.device);
  }
}

void States::send(const Exchange& exchange, std::uint32_t round) {
  for (const Put& put : exchange.puts)
    peer_->put(after(put.field, round + 1), put.begin, workload_.shared()[put.field][round], put.to,
               put.begin, put.size);
}

void States::exchange_before(std::uint32_t level, std::uint32_t round) {
  Exchange now;
  for (std::size_t f = 0; f < states_.size(); ++f) {
    if (!field(f).in_place()) continue;
    // Another round may have another pivot.
    if (level == 0 && round > 0 && !problem_.args[field(f).in].pivot.empty()) changed_[f] = true;
    const auto use = workload_.use_of(launches_, field(f).in, level, round);
    if (changed_[f] && use) {
      add_to(now, f, round);
      changed_[f] = false;
    }
    if (use == Access::write) changed_[f] = true;
  }
  meet(now);
  send(now, round);
  meet(now);
}

void States::exchange_after(std::uint32_t round) {
  send(after_round_, round);
  meet(after_round_);
}

}  // namespace mgpu::kernel
