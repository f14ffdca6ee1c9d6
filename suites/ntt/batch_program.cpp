#include "suites/ntt/batch_program.hpp"

#include <algorithm>

namespace mgpu::ntt {

BatchProgram::BatchProgram(BatchWorkload& workload, DeviceResources& device, Mode mode, Items fits,
                           std::unique_ptr<Passes> passes)
    : workload_(workload),
      problem_(workload.problem()),
      mode_(mode),
      passes_(std::move(passes)),
      columns_(device.allocate(workload.at_once() * problem_.transform_bytes())) {
  const std::uint32_t n2 = 1u << problem_.column_bits();
  sources_.at.front() = {n2, n2, 0, 1};
  const bool end_to_end = mode_ == Mode::end_to_end;
  const Bytes size = (end_to_end ? fits : problem_.batch) * problem_.transform_bytes();
  for (unsigned slot = 0; slot < (end_to_end ? 2u : 1u); ++slot) {
    inputs_[slot] = allocate_input(device, size, mode_);
    results_[slot] = device.allocate(size);
  }
}

void BatchProgram::load(Stream& stream) { stream.upload(*inputs_[0], 0, workload_.input()); }

void BatchProgram::prepare(Stream& stream) {
  passes_->load(stream);
  done_.clear();
  sample_ = workload_.arrivals().sample();
}

void BatchProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  const bool end_to_end = mode_ == Mode::end_to_end;
  const unsigned place = end_to_end ? slot : 0;
  const Bytes each = problem_.transform_bytes();
  const Items first = end_to_end ? 0 : slice.begin, count = slice.size();
  if (end_to_end)
    stream.upload(*inputs_[place], 0, workload_.input().subspan(slice.begin * each, count * each));
  const std::uint64_t n1 = std::uint64_t{1} << problem_.row_bits();
  for (Items done = 0; done < count;) {
    const Passes::Transforms transforms{std::min(workload_.at_once(), count - done), first + done,
                                        first + done};
    passes_->columns({0, std::uint64_t{1} << problem_.column_bits()}, true, transforms,
                     *inputs_[place], *results_[place], *columns_, stream);
    passes_->rows(n1, transforms, *columns_, *columns_, sources_, 1, *results_[place], stream);
    done += transforms.count;
  }
  if (end_to_end) {
    stream.download(*results_[place], 0,
                    workload_.result().subspan(slice.begin * each, count * each));
  } else {
    done_.push_back(slice);
  }
}

Completion BatchProgram::publish(Stream& stream) {
  if (mode_ == Mode::end_to_end || sample_ != workload_.arrivals().sample()) return {};
  const Bytes each = problem_.transform_bytes();
  for (const Slice& slice : done_)
    stream.download(*results_[0], slice.begin * each,
                    workload_.result().subspan(slice.begin * each, slice.size() * each));
  return [this] { workload_.arrivals().arrived(done_); };
}

}  // namespace mgpu::ntt
