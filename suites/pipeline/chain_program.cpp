#include "suites/pipeline/chain_program.hpp"

#include "suites/common/iterative.hpp"

namespace mgpu::pipeline {

ChainProgram::ChainProgram(ChainWorkload& workload, DeviceResources& device, Mode mode,
                           std::size_t group)
    : workload_(workload),
      problem_(workload.problem()),
      mode_(mode),
      variant_(variant_name(group)),
      kernels_(device, problem_, group),
      peer_(device.peer()),
      records_(device.allocate(problem_.in_bytes())),
      results_(device.allocate(problem_.out_bytes())) {}

// Nobody reads or writes what lies here from a sample before: each ends when all have computed
// their last batch.
void ChainProgram::enqueue(const Slice& slice, unsigned, Stream&) {
  sample_ = workload_.arrivals().sample();
  done_ = slice;
  before_.reset();
  after_.reset();
  mail_of_after_ = nullptr;
  if (peer_ == nullptr) return;
  const auto& owners = workload_.owners();
  const Owner* const mine = owner_of(owners, slice);
  if (mine == nullptr || mine->device != peer_->self()) return;
  const Neighbours neighbours = neighbours_of(owners, slice, false);
  if (neighbours.before != nullptr) before_ = neighbours.before->device;
  if (neighbours.after == nullptr) return;
  after_ = neighbours.after->device;
  mail_of_after_ = workload_.mail()->remote(peer_->self(), *after_);
}

// A part of the stages that is by itself, to see what it takes, has nothing to read or to write.
Records ChainProgram::source(const Slice& slice, std::uint32_t batch) {
  if (slice.begin == 0) return {records_.get(), problem_.first(batch) * problem_.width()};
  if (!before_) return {&kernels_.spare(), 0};
  return {&workload_.mail()->piece(peer_->self()), batch % 2 * problem_.most_handed_over() / 4};
}

Records ChainProgram::target(const Slice& slice, std::uint32_t batch) {
  if (is_last(slice)) return {results_.get(), problem_.first(batch) * problem_.width_after()};
  if (mail_of_after_ == nullptr) return {&kernels_.spare(), 0};
  return {mail_of_after_, batch % 2 * problem_.most_handed_over() / 4};
}

void ChainProgram::enqueue_round(const Slice& slice, std::uint32_t batch, Stream& stream) {
  const std::uint64_t first = problem_.first(batch), count = problem_.count(batch);
  if (slice.begin == 0 && mode_ == Mode::end_to_end) {
    const Bytes each = Bytes{problem_.width()} * 4;
    stream.upload(*records_, first * each, workload_.records().subspan(first * each, count * each));
  }
  if (batch == 0 && before_) peer_->sync({}, {&*before_, 1});
  kernels_.run(slice.begin, slice.end, source(slice, batch), target(slice, batch), count, stream);
  hand_over(slice, batch);
  if (is_last(slice) && mode_ == Mode::end_to_end) {
    const Bytes each = Bytes{problem_.width_after()} * 4;
    stream.download(*results_, first * each,
                    workload_.results().subspan(first * each, count * each));
  }
}

// Signal n of one device to another ends its wait n, so that there are as many of both: a place is
// free for batch b from when batch b - 2 was read there.
void ChainProgram::hand_over(const Slice& slice, std::uint32_t batch) {
  const std::uint64_t batches = problem_.batches();
  std::vector<DeviceIndex> signal, await;
  if (after_) {
    if (mail_of_after_ == nullptr)
      peer_->put(kernels_.spare(), 0, *workload_.mail(), *after_,
                 batch % 2 * problem_.most_handed_over(),
                 problem_.count(batch) * problem_.stages[slice.end - 1].width_after() * 4);
    signal.push_back(*after_);
    if (batch >= 1 && batch + 1 < batches) await.push_back(*after_);
  }
  if (before_) {
    if (batch + 2 < batches) signal.push_back(*before_);
    if (batch + 1 < batches) await.push_back(*before_);
  }
  if (!signal.empty() || !await.empty()) peer_->sync(signal, await);
}

void ChainProgram::finished(const Slice& slice) {
  const Slice all{0, problem_.batches()};
  if (is_last(slice)) workload_.arrivals().arrived({&all, 1});
}

Completion ChainProgram::publish(Stream& stream) {
  if (mode_ == Mode::end_to_end || sample_ != workload_.arrivals().sample() || !done_ ||
      !is_last(*done_))
    return {};
  stream.download(*results_, 0, workload_.results());
  return [this] { finished(*done_); };
}

}  // namespace mgpu::pipeline
