#include "suites/kernel/kernel_program.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/quote.hpp"

namespace mgpu::kernel {
namespace {

constexpr std::byte kCanary{0xa5};  // contents of the zones before and after each array

Bytes with_zones(const Problem& problem, Bytes size) {
  return round_up(size, problem.alignment) + 2 * problem.alignment;
}

bool in_slots(const Argument& one, Mode mode) { return mode == Mode::end_to_end && one.rebased(); }

bool is_whole_everywhere(const Argument& one) {
  return one.map == MapKind::replicate || one.map == MapKind::image;
}

Bytes array_bytes(const Problem& problem, const Argument& one, Mode mode, Items fits) {
  if (!one.is_array()) return 0;
  if (one.image) return one.bytes();
  if (one.accumulates()) return with_zones(problem, one.stride() * problem.blocks());
  const Items held = in_slots(one, mode) ? fits : problem.items;
  return with_zones(problem, slice_bytes(problem, one, {0, held}));
}

}  // namespace

Bytes KernelProgram::bytes(const Problem& problem, Mode mode, Items fits) {
  Bytes all = 0;
  for (const Argument& one : problem.args)
    all += array_bytes(problem, one, mode, fits) * (in_slots(one, mode) ? 2 : 1);
  // Swapped arguments alternate between two states; initial states need arrays of their own.
  for (const Field& field : problem.fields) {
    all += problem.args[field.in].bytes();
    if (!field.in_place() && problem.args[field.out].is_input())
      all += problem.args[field.out].bytes();
  }
  for (const Argument& one : problem.args) {
    if (problem.rounds > 0 && one.accumulates())
      all += 2 * RoundSums::bytes(one, problem.devices) + one.bytes();
  }
  return all;
}

Bytes KernelProgram::largest(const Problem& problem, Mode mode, Items fits) {
  Bytes most = 0;
  for (const Argument& one : problem.args)
    most = std::max(most, array_bytes(problem, one, mode, fits));
  return most;
}

KernelProgram::KernelProgram(KernelWorkload& workload, DeviceResources& device, Mode mode,
                             Items fits)
    : workload_(workload),
      problem_(workload.problem()),
      device_(device),
      id_(device.traits().id),
      mode_(mode),
      launches_(problem_, device),
      parts_(device) {
  if (device.traits().buffer_alignment > problem_.alignment) {
    throw Error(
        ErrorKind::unsupported,
        fmt::format("parts of buffers begin at multiples of {} bytes on device {}; known is {}",
                    device.traits().buffer_alignment, id_, problem_.alignment));
  }
  workload_.try_on(device, launches_, fits);
  if (problem_.rounds > 0) states_.emplace(workload_, device, launches_);
  if (problem_.flag) flag_.emplace(workload_, device);
  if (problem_.rounds > 0 && problem_.has_accumulators())
    sums_.emplace(workload_, device, launches_);
  allocate(fits);
}

void KernelProgram::allocate(Items fits) {
  arrays_.resize(problem_.args.size());
  zones_.resize(problem_.args.size());
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (!one.is_array() || problem_.field_of(a) != nullptr) continue;
    Array& array = arrays_[a];
    if (one.image) {
      array.memory[0] = device_.image(*one.image);
      continue;
    }
    array.slots = in_slots(one, mode_);
    array.of = {0, array.slots ? fits : problem_.items};
    const Bytes bytes = array_bytes(problem_, one, mode_, fits);
    array.size = bytes - 2 * problem_.alignment;
    for (unsigned slot = 0; slot < (array.slots ? 2U : 1U); ++slot)
      array.memory[slot] = device_.allocate(bytes);
    zones_[a].assign(2 * problem_.alignment, kCanary);
    if (one.accumulates()) {
      combines_ = true;
      array.sums.resize(one.stride() * problem_.blocks());
    }
  }
  device_.try_out([&](Stream& stream) {
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      for (const auto& memory : arrays_[a].memory) {
        if (!memory || problem_.args[a].image) continue;
        stream.upload(*memory, 0, std::span(zones_[a]).first(problem_.alignment));
        stream.upload(*memory, memory->size() - problem_.alignment,
                      std::span(zones_[a]).last(problem_.alignment));
      }
    }
  });
}

void KernelProgram::upload(std::size_t argument, const Slice& slice, Array& array, unsigned slot,
                           Stream& stream) {
  const Argument& one = problem_.args[argument];
  const std::byte* const host = workload_.memory().data() + one.host;
  // Offset of this slice's index 0. A slot begins with its slice; other arrays begin with the first
  // item, and neighbouring slices may use the bytes around.
  const Bytes zero = problem_.alignment + (array.slots ? 0 : slice_offset(one, array.of, slice));
  for (const Move& move : input_moves(problem_, workload_.memory(), argument, slice)) {
    const std::byte* const from = move.zeros ? workload_.zeros(move.length) : host + move.host;
    if (move.count == 1) {
      stream.upload(*array.memory[slot], zero + move.device, {from, move.length});
    } else {
      stream.upload_rows(*array.memory[slot], from,
                         {move.length, move.count, zero + move.device, move.stride, move.stride});
    }
  }
}

void KernelProgram::load(Stream& stream) {
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (!one.is_input() || one.access == Access::readwrite || problem_.field_of(a) != nullptr)
      continue;
    if (one.by_item() || one.map == MapKind::slice) {
      upload(a, {0, problem_.items}, arrays_[a], 0, stream);
    } else {  // everything, since slices may need any range
      upload_whole(a, stream);
    }
  }
}

void KernelProgram::upload_whole(std::size_t argument, Stream& stream) {
  const Argument& one = problem_.args[argument];
  stream.upload(*arrays_[argument].memory[0], one.image ? 0 : problem_.alignment,
                workload_.memory().subspan(one.host, one.bytes()));
}

void KernelProgram::prepare(Stream& stream) {
  parts_.forget_many();
  done_.clear();
  collecting_.clear();
  sample_ = workload_.sample();
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (is_whole_everywhere(one) && one.access == Access::read && is_end_to_end())
      upload_whole(a, stream);
    if (one.map != MapKind::reduce) continue;
    for (Items block = 0; block < problem_.blocks(); ++block)
      put_identity(one, std::span(arrays_[a].sums).subspan(block * one.stride(), one.bytes()));
    stream.upload(*arrays_[a].memory[0], problem_.alignment, arrays_[a].sums);
  }
}

Buffer* KernelProgram::part(std::size_t argument, unsigned slot, Bytes offset, Bytes size) {
  return &parts_.of(*arrays_[argument].memory[slot], problem_.alignment + offset, size);
}

// Returns the buffer that the kernel gets for an argument.
Buffer* KernelProgram::given(std::size_t argument, const Slice& slice, unsigned slot) {
  const Argument& one = problem_.args[argument];
  if (!one.is_array()) return nullptr;
  if (one.image) return arrays_[argument].memory[0].get();
  const Array& array = arrays_[argument];
  if (sums_ && sums_->given(argument) != nullptr) return sums_->given(argument);
  if (one.accumulates()) {
    return part(argument, 0, problem_.block > 0 ? slice.begin / problem_.block * one.stride() : 0,
                one.bytes());
  }
  const Bytes offset = array.slots ? 0 : slice_offset(one, array.of, slice);
  return part(argument, array.slots ? slot : 0, offset, slice_bytes(problem_, one, slice));
}

void KernelProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  if (states_) states_->begin(slice, is_end_to_end(), stream);
  if (sums_) sums_->begin();
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (problem_.field_of(a) != nullptr) continue;
    const bool each_time = is_end_to_end() && !is_whole_everywhere(one);
    // Restores the initial contents that a kernel changes, in every mode.
    if (one.is_input() && (each_time || one.access == Access::readwrite))
      upload(a, slice, arrays_[a], arrays_[a].slots ? slot : 0, stream);
  }
  if (states_) {
    slot_ = slot;
    done_.push_back(slice);
    return;
  }
  const Items step = problem_.block > 0 ? problem_.block : slice.size();
  for (Items begin = slice.begin; begin < slice.end; begin += step) {
    const Slice piece{begin, std::min(begin + step, slice.end)};
    launches_.launch(
        piece, 0,
        [&](std::size_t a) {
          const Array& array = arrays_[a];
          if (!array.slots) return given(a, piece, slot);
          return part(a, slot, slice_offset(problem_.args[a], slice, piece),
                      slice_bytes(problem_, problem_.args[a], piece));
        },
        stream);
  }
  done_.push_back(slice);
  if (!is_end_to_end()) return;
  for (std::size_t a = 0; a < arrays_.size(); ++a) download(a, slice, slot, stream);
}

std::uint32_t KernelProgram::enqueue_rounds(const Slice& slice, std::uint32_t first,
                                            std::uint32_t most, Stream& stream) {
  if (!flag_ || first == 0 || !flag_->ends()) {
    enqueue_round(slice, first, stream);
    return 1;
  }
  bring_result(slice, stream);
  return most;
}

void KernelProgram::enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) {
  last_round_ = round;
  if (flag_) flag_->clear(*arrays_[*problem_.flag].memory[0], problem_.alignment, stream);
  for (std::uint32_t level = 0; level < problem_.levels(); ++level) {
    states_->exchange_before(level, round);
    if (sums_) {
      sums_->prepare(
          level, round, [&](std::size_t a) -> Buffer& { return *arrays_[a].memory[0]; }, stream);
    }
    launches_.launch_level(
        level, slice, round,
        [&](std::size_t a) {
          return problem_.field_of(a) != nullptr ? &states_->given(a, round)
                                                 : given(a, slice, slot_);
        },
        stream);
  }
  if (round + 1 == problem_.rounds) return bring_result(slice, stream);
  states_->exchange_after(round);
  if (flag_) flag_->combine(*arrays_[*problem_.flag].memory[0], problem_.alignment, round, stream);
}

// Downloads the result of the last round, unless it stays on the device.
void KernelProgram::bring_result(const Slice& slice, Stream& stream) {
  if (!is_end_to_end()) return;
  for (std::size_t a = 0; a < arrays_.size(); ++a) download(a, slice, slot_, stream);
}

void KernelProgram::download(std::size_t argument, const Slice& slice, unsigned slot,
                             Stream& stream) {
  const Argument& one = problem_.args[argument];
  if (one.is_changed_alike() && slice.begin > 0) return;  // another device has the same
  Array& array = arrays_[argument];
  const bool is_field = problem_.field_of(argument) != nullptr;
  const Bytes zero =
      is_field ? 0 : problem_.alignment + (array.slots ? 0 : slice_offset(one, array.of, slice));
  for (const Move& move : output_moves(problem_, argument, slice)) {
    std::byte* const to = workload_.memory().data() + one.result + move.host;
    if (move.count == 1) {
      Buffer& from =
          is_field ? states_->given(argument, last_round_) : *array.memory[array.slots ? slot : 0];
      stream.download(from, zero + move.device, {to, move.length});
    } else {
      stream.download_rows(*array.memory[0], to,
                           {move.length, move.count, zero + move.device, move.stride, move.stride});
    }
  }
}

Completion KernelProgram::collect(Stream& stream) {
  if (!combines_) return {};
  collecting_ = done_;
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    if (problem_.args[a].accumulates())
      stream.download(*arrays_[a].memory[0], problem_.alignment, arrays_[a].sums);
  }
  return [this] {
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const Argument& one = problem_.args[a];
      if (!one.accumulates()) continue;
      if (problem_.block == 0) {
        workload_.add_sums(a, id_, std::span(arrays_[a].sums).first(one.bytes()));
        continue;
      }
      for (const Slice& slice : collecting_) {
        for (Items block = slice.begin / problem_.block; block * problem_.block < slice.end;
             ++block)
          workload_.add_block(
              a, block, std::span(arrays_[a].sums).subspan(block * one.stride(), one.bytes()));
      }
    }
    workload_.arrived_instead(collecting_, id_);
  };
}

// Combines the partial results of all blocks, this device's as well as others', in order.
Completion KernelProgram::merge(Stream& stream) {
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    const Argument& one = problem_.args[a];
    if (!one.by_kernel()) continue;
    Buffer& memory = *arrays_[a].memory[0];
    stream.upload(memory, problem_.alignment, workload_.partials(a));
    stream.begin_series(static_cast<unsigned>(problem_.blocks() - 1));
    for (Items block = 1; block < problem_.blocks(); ++block)
      launches_.combine(a, *part(a, 0, 0, one.bytes()),
                        *part(a, 0, block * one.stride(), one.bytes()), stream);
    stream.download(memory, problem_.alignment,
                    workload_.memory().subspan(one.result, one.bytes()));
  }
  return [this] { workload_.merge_operations(); };
}

Completion KernelProgram::publish(Stream& stream) {
  if (sample_ != workload_.sample()) return {};
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    if (!is_end_to_end()) {
      for (const Slice& slice : done_) download(a, slice, 0, stream);
    }
    if (!arrays_[a].memory[0] || problem_.args[a].image) continue;
    stream.download(*arrays_[a].memory[0], 0, std::span(zones_[a]).first(problem_.alignment));
    stream.download(*arrays_[a].memory[0], arrays_[a].memory[0]->size() - problem_.alignment,
                    std::span(zones_[a]).last(problem_.alignment));
  }
  return [this] {
    if (!is_end_to_end() && !combines_) workload_.arrived_instead(done_, id_);
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const bool whole =
          std::all_of(zones_[a].begin(), zones_[a].end(), [](std::byte b) { return b == kCanary; });
      if (!whole)
        workload_.damaged(fmt::format("argument {} was written outside its array on device {}",
                                      in_quotes(problem_.args[a].name), id_));
    }
  };
}

}  // namespace mgpu::kernel
