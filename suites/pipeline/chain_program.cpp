#include "suites/pipeline/chain_program.hpp"

namespace mgpu::pipeline {

ChainProgram::ChainProgram(PipelineWorkload& workload, DeviceResources& device, Mode mode,
                           std::size_t group)
    : PartitionedProgram(workload, mode, device.peer()),
      variant_(variant_name(group)),
      kernels_(device, problem_, group),
      records_(device.allocate(problem_.in_bytes())),
      results_(device.allocate(problem_.out_bytes())) {}

// Needs no synchronisation: a sample ends when all devices have computed their last batch, so
// nobody still uses the buffers of the previous sample.
void ChainProgram::enqueue(const Slice& slice, unsigned, Stream&) {
  settle_between_neighbours(slice, false);
  mail_of_after_ = neighbours_.after == nullptr
                       ? nullptr
                       : workload_.mail()->remote(peer_->self(), neighbours_.after->device);
}

// A slice of stages that runs alone, to measure it, has no neighbours to read from or write to.
Records ChainProgram::source(const Slice& slice, std::uint32_t batch) {
  if (slice.begin == 0) return {records_.get(), problem_.first(batch) * problem_.width()};
  if (neighbours_.before == nullptr) return {&kernels_.spare(), 0};
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
  if (batch == 0 && neighbours_.before != nullptr)
    peer_->sync({}, {&neighbours_.before->device, 1});
  kernels_.run(slice.begin, slice.end, source(slice, batch), target(slice, batch), count, stream);
  hand_over(slice, batch);
  if (is_last(slice) && mode_ == Mode::end_to_end) {
    const Bytes each = Bytes{problem_.width_after()} * 4;
    stream.download(*results_, first * each,
                    workload_.results().subspan(first * each, count * each));
  }
}

// Signal n from one device to another ends wait n of the other, so there must be equally many. The
// place for batch b is free once batch b - 2 has been read there.
void ChainProgram::hand_over(const Slice& slice, std::uint32_t batch) {
  const std::uint64_t batches = problem_.batches();
  const auto [before, after] = neighbours_;
  std::vector<DeviceIndex> signal, await;
  if (after != nullptr) {
    if (mail_of_after_ == nullptr)
      peer_->put(kernels_.spare(), 0, *workload_.mail(), after->device,
                 batch % 2 * problem_.most_handed_over(),
                 problem_.count(batch) * problem_.stages[slice.end - 1].width_after() * 4);
    signal.push_back(after->device);
    if (batch >= 1 && batch + 1 < batches) await.push_back(after->device);
  }
  if (before != nullptr) {
    if (batch + 2 < batches) signal.push_back(before->device);
    if (batch + 1 < batches) await.push_back(before->device);
  }
  if (!signal.empty() || !await.empty()) peer_->sync(signal, await);
}

void ChainProgram::bring_result(const Slice& slice, Stream& stream) {
  if (is_last(slice)) stream.download(*results_, 0, workload_.results());
}

void ChainProgram::finished(const Slice& slice) {
  if (is_last(slice)) workload_.arrived({0, problem_.batches()});
}

}  // namespace mgpu::pipeline
