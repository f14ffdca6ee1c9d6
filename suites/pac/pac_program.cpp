// Copies and launches of one device.
#include "suites/pac/pac_program.hpp"

#include <algorithm>

#include "suites/pac/kernel_options.hpp"

namespace mgpu::pac {

PacProgram::PacProgram(PacWorkload& workload, DeviceResources& device, Method method, Mode mode,
                       Items fits)
    : workload_(workload),
      problem_(workload.problem()),
      mode_(mode),
      layout_(layout(device.traits(), problem_, method, mode, fits)),
      clear_local_(device.traits().cpu ? 1 : 128),
      filter_(device, problem_, layout_),
      surrogates_(make_surrogates(device, problem_, layout_)) {
  for (unsigned i = 0; i < layout_.slots; ++i) {
    input_[i] = device.allocate(layout_.input);
    moments_[i] = device.allocate(layout_.moments);
  }
  if (problem_.in_files && slices()) {
    for (std::span<float>& stage : stage_) stage = workload.take_stage();
    if (stage_[1].empty()) {
      if (!stage_[0].empty()) workload.give_back_stage(stage_[0]);
      const std::size_t each = problem_.staged() * problem_.channels * problem_.samples;
      stages_unpinned_.resize(2 * each);
      for (std::size_t i : {0, 1}) stage_[i] = std::span(stages_unpinned_).subspan(i * each, each);
    }
  }
  if (!by_permutation()) return;
  clear_ = device.kernel("pac_direct.cl", "clear_moments", kernel_options(problem_));
  part_ = workload.take_part();
  if (part_.empty()) {
    part_unpinned_.resize(problem_.results());
    part_ = part_unpinned_;
  }
}

PacProgram::~PacProgram() {
  if (part_unpinned_.empty() && !part_.empty()) workload_.give_back(part_);
  if (stages_unpinned_.empty() && !stage_[1].empty())
    for (const std::span<float>& stage : stage_) workload_.give_back_stage(stage);
}

void PacProgram::load(Stream& stream) {
  if (problem_.in_files) {
    loaded_ = workload_.read_all();
    stream.upload(*input_[0], 0, {loaded_->data(), problem_.input_bytes()});
  } else {
    stream.upload(*input_[0], 0, std::as_bytes(workload_.data().series()));
  }
}

void PacProgram::prepare(Stream& stream) {
  done_.clear();
  loaded_.reset();
  brought_ = false;
  sample_ = workload_.arrivals().sample();
  filter_.upload(stream);
  surrogates_->upload(stream);
  if (!by_permutation()) return;
  if (mode_ == Mode::end_to_end) load(stream);
  clear(stream);
}

void PacProgram::clear(Stream& stream) {
  const std::uint64_t count = problem_.results();
  stream.launch(*clear_, grid_of(*clear_, count, clear_local_), {moments_[0].get(), count});
}

// Copies a slice's series to a slot, or its results back. Rows are contiguous on the device.
void PacProgram::move_rows(const Slice& slice, unsigned slot, bool up, Stream& stream) {
  const bool channels = problem_.axis == Axis::channel;
  const Bytes series = up ? problem_.series_bytes() : problem_.pairs() * sizeof(Moments);
  const Bytes first = channels ? slice.begin * series : slice.begin * problem_.channels * series;
  const Bytes whole = problem_.channels * series;
  mgpu::Rows rows;
  rows.length = channels ? slice.size() * series : whole;
  rows.count = channels ? problem_.batch : slice.size();
  rows.device_stride = rows.length;
  rows.host_stride = whole;
  if (up && problem_.in_files) {
    workload_.read(slice, stage_[slot]);
    stream.upload_rows(*input_[slot], std::as_bytes(stage_[slot]).data(), rows);
  } else if (up) {
    stream.upload_rows(*input_[slot], std::as_bytes(workload_.data().series()).data() + first,
                       rows);
  } else {
    stream.download_rows(*moments_[slot], std::as_writable_bytes(workload_.result()).data() + first,
                         rows);
  }
}

void PacProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  SeriesRows rows = rows_of(problem_, slice);
  const unsigned buffer = slices() ? slot : 0;
  if (brought_) clear(stream);
  brought_ = false;
  if (slices()) {
    move_rows(slice, buffer, true, stream);
    rows.stride = rows.width;
    rows.offset = 0;
  }
  for (std::uint64_t first = 0; first < rows.count; first += layout_.chunk) {
    const Chunk chunk{input_[buffer].get(),
                      moments_[buffer].get(),
                      rows,
                      first,
                      static_cast<std::uint32_t>(std::min(layout_.chunk, rows.count - first)),
                      by_permutation()};
    filter_.enqueue(chunk, stream);
    surrogates_->enqueue(chunk, by_permutation() ? slice.begin : 0,
                         by_permutation() ? slice.end : shift_classes, filter_, stream);
  }
  if (slices()) {
    move_rows(slice, buffer, false, stream);
  } else {
    done_.push_back(slice);
  }
}

ResultPolicy PacProgram::result_policy() const {
  return by_permutation() ? ResultPolicy::collect
         : slices()       ? ResultPolicy::slice
                          : ResultPolicy::publish;
}

void PacProgram::finished(const Slice& slice) {
  if (slices()) workload_.arrivals().arrived({&slice, 1});
}

Completion PacProgram::collect(Stream& stream) {
  if (!by_permutation() || done_.empty()) return {};
  workload_.settle(part_);
  stream.download(*moments_[0], 0, std::as_writable_bytes(part_));
  return [this] {
    workload_.add_part(part_, done_);
    done_.clear();
    brought_ = true;
  };
}

// Downloads the results of all slices since prepare(), unless a new sample has begun.
Completion PacProgram::publish(Stream& stream) {
  if (slices() || by_permutation() || sample_ != workload_.arrivals().sample()) return {};
  const Bytes series = problem_.pairs() * sizeof(Moments);
  const auto to = std::as_writable_bytes(workload_.result());
  for (const Slice& slice : done_) {
    const SeriesRows rows = rows_of(problem_, slice);
    mgpu::Rows moved;
    moved.length = rows.width * series;
    moved.count = rows.count / rows.width;
    moved.device_offset = rows.offset * series;
    moved.device_stride = moved.host_stride = rows.stride * series;
    stream.download_rows(*moments_[0], to.data() + moved.device_offset, moved);
  }
  return [this] { workload_.arrivals().arrived(done_); };
}

}  // namespace mgpu::pac
