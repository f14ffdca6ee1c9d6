#include "suites/ntt/batch_program.hpp"

#include <algorithm>

#include "suites/ntt/host_data.hpp"

namespace mgpu::ntt {

BatchProgram::BatchProgram(BatchWorkload& workload, DeviceResources& device, Mode mode, Items fits,
                           const std::string& preferred)
    : workload_(workload),
      problem_(workload.problem()),
      mode_(mode),
      columns_(device.allocate(problem_.at_once() * problem_.transform_bytes())) {
  if (problem_.cosets > 0) {
    passes_.push_back(make_passes(problem_.interpolation(), device, preferred));
    coefficients_ = device.allocate(problem_.at_once() * problem_.transform_bytes());
  }
  passes_.push_back(make_passes(problem_, device, preferred));
  const bool end_to_end = mode_ == Mode::end_to_end;
  const Items most = end_to_end ? fits : problem_.batch;
  for (unsigned slot = 0; slot < (end_to_end ? 2u : 1u); ++slot) {
    inputs_[slot] = allocate_input(device, most * problem_.transform_bytes(), mode_);
    results_[slot] = device.allocate(most * problem_.result_bytes() / problem_.batch);
  }
}

void BatchProgram::load(Stream& stream) { stream.upload(*inputs_[0], 0, workload_.input()); }

void BatchProgram::prepare(Stream& stream) {
  for (const auto& passes : passes_) passes->load(stream);
  done_.clear();
  sample_ = workload_.arrivals().sample();
}

void BatchProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  const bool end_to_end = mode_ == Mode::end_to_end;
  const unsigned place = end_to_end ? slot : 0;
  const Bytes each = problem_.transform_bytes();
  const std::uint64_t cosets = problem_.cosets;
  const Items first = end_to_end ? 0 : slice.begin, count = slice.size();
  if (end_to_end)
    stream.upload(*inputs_[place], 0, workload_.input().subspan(slice.begin * each, count * each));
  for (Items done = 0; done < count;) {
    const Passes::Transforms transforms{std::min(problem_.at_once(), count - done), first + done,
                                        cosets > 0 ? 0 : first + done};
    Buffer& to = cosets > 0 ? *coefficients_ : *results_[place];
    passes_.front()->whole(transforms, *inputs_[place], *columns_, to, stream);
    for (std::uint64_t coset = 0; coset < cosets; ++coset)
      passes_.back()->whole({transforms.count, 0, (first + done) * cosets + coset, cosets, coset},
                            *coefficients_, *columns_, *results_[place], stream);
    done += transforms.count;
  }
  if (end_to_end) {
    stream.download(*results_[place], 0, workload_.result_of(slice));
  } else {
    done_.push_back(slice);
  }
}

Completion BatchProgram::publish(Stream& stream) {
  if (mode_ == Mode::end_to_end || sample_ != workload_.arrivals().sample()) return {};
  const Bytes each = problem_.result_bytes() / problem_.batch;
  for (const Slice& slice : done_)
    stream.download(*results_[0], slice.begin * each, workload_.result_of(slice));
  return [this] { workload_.arrivals().arrived(done_); };
}

}  // namespace mgpu::ntt
