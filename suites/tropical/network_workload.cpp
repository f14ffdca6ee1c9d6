#include "suites/tropical/network_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lib/workload/npy.hpp"
#include "suites/tropical/network_program.hpp"
#include "suites/tropical/weights.hpp"

namespace mgpu::tropical {
namespace {

constexpr std::uint32_t steps_of_sample = 8;  // steps that `--verify sample` repeats

}  // namespace

NetworkWorkload::NetworkWorkload(const SuiteParams& params)
    : PartitionedWorkload(network_of(params), params, host_bytes_of(network_of(params)),
                          std::to_string(network_of(params).samples) + " samples"),
      initial_(weights_of(problem_, problem_.seed)),
      replayed_weights_(initial_) {
  const Bytes each = problem_.sample_bytes();
  results_ = {pages_.data() + in_pages(2 * each), problem_.result_bytes()};
  const std::span<float> all = as_numbers<float>(std::span<std::byte>{pages_.data(), 2 * each});
  fill_samples(problem_, params, all.first(all.size() / 2), all.subspan(all.size() / 2));
}

Samples NetworkWorkload::samples() const {
  const auto all =
      as_numbers<float>(std::span<const std::byte>{pages_.data(), 2 * problem_.sample_bytes()});
  return {all.first(all.size() / 2), all.subspan(all.size() / 2)};
}

Demand NetworkWorkload::demand(const DeviceTraits&) const {
  Demand demand;
  demand.fp32 = shape_.ops;
  return demand;
}

Capacity NetworkWorkload::capacity(const DeviceTraits& device, Mode) const {
  Capacity capacity;
  capacity.resident = 2 * problem_.sample_bytes() + problem_.result_bytes() + 4 * place_bytes() +
                      problem_.weights() * 4;
  if (problem_.width > device.max_work_group) {
    capacity.reason = fmt::format("a layer of {} takes a work-group of as many; the device has {}",
                                  problem_.width, device.max_work_group);
  } else if (problem_.sample_bytes() > device.max_allocation ||
             capacity.resident > device.usable_memory()) {
    capacity.reason = "it has no memory for the samples";
  } else {
    capacity.fits = capacity.pipeline = problem_.samples;
  }
  return capacity;
}

std::unique_ptr<DeviceProgram> NetworkWorkload::program(DeviceResources& device, Mode mode,
                                                        const Capacity&) {
  return std::make_unique<NetworkProgram>(*this, device, mode);
}

void NetworkWorkload::begin_sample() {
  PartitionedWorkload::begin_sample();
  differ_ = has_result_ = false;
}

void NetworkWorkload::add_share(const Slice& samples, std::span<const std::byte> result) {
  arrived(samples);
  const std::scoped_lock lock(mutex_);
  if (has_result_)
    differ_ |= std::memcmp(results_.data(), result.data(), result.size()) != 0;
  else
    std::copy(result.begin(), result.end(), results_.begin());
  has_result_ = true;
}

std::span<const float> NetworkWorkload::after() const {
  return as_numbers<float>(std::span<const std::byte>(results_)).first(problem_.weights());
}

std::span<const float> NetworkWorkload::before() const {
  return as_numbers<float>(std::span<const std::byte>(results_))
      .subspan(problem_.weights(), problem_.weights());
}

std::uint64_t NetworkWorkload::loss(std::uint32_t step) const {
  const auto words = as_numbers<std::uint32_t>(
      std::span<const std::byte>(results_).subspan(8 * problem_.weights()));
  return words[2 * step] + (std::uint64_t{words[2 * step + 1]} << 16);
}

void NetworkWorkload::replay(std::uint32_t steps, const HostWork& work) {
  for (auto step = static_cast<std::uint32_t>(replayed_.size()); step < steps; ++step) {
    host_watch().go_on();
    if (host_watch().progress) host_watch().progress(work, step);
    replayed_.push_back(train_step(problem_, samples(), step, replayed_weights_, host_threads_));
  }
}

// Compares with a training on the host: its losses and final weights if it has all steps, else the
// losses of the first steps and one step from the weights before the last.
std::string NetworkWorkload::first_wrong(bool whole) {
  if (differ_) return "devices have different weights or losses after the last step";
  const HostWork work{"steps of training", problem_.steps,
                      fmt::format("{} of them", steps_of_sample + 1)};
  replay(whole ? problem_.steps : std::min(problem_.steps, steps_of_sample), work);
  for (std::uint32_t step = 0; step < replayed_.size(); ++step)
    if (loss(step) != replayed_[step])
      return fmt::format("the loss of step {} is {} of {:g}, not {}", step + 1, loss(step),
                         loss_unit, replayed_[step]);
  std::vector<float> expected(before().begin(), before().end());
  const std::uint32_t last = problem_.steps - 1;
  if (const std::uint64_t found = train_step(problem_, samples(), last, expected, host_threads_);
      found != loss(last))
    return fmt::format("the loss of the last step is {} of {:g}, not {}", loss(last), loss_unit,
                       found);
  if (replayed_.size() == problem_.steps) expected = replayed_weights_;
  const auto [wrong, right] = std::mismatch(after().begin(), after().end(), expected.begin());
  if (wrong == after().end()) return "";
  return fmt::format("weight {} is {}, not {}", wrong - after().begin(), *wrong, *right);
}

Findings NetworkWorkload::findings() const {
  constexpr std::uint32_t most = 1000;
  const double outputs = static_cast<double>(problem_.samples) * problem_.width;
  const auto mean = [&](std::uint32_t step) {
    return static_cast<double>(loss(step)) * loss_unit / outputs;
  };
  Findings findings;
  Findings::Curve curve{"loss", {}, {}};
  const std::uint32_t shown = std::min(problem_.steps, most);
  for (std::uint32_t i = 0; i < shown; ++i) {
    const std::uint32_t step =
        shown == 1 ? 0 : u32(std::uint64_t{i} * (problem_.steps - 1) / (shown - 1));
    curve.rounds.push_back(step + 1);
    curve.values.push_back(mean(step));
  }
  findings.figures = {{"loss in the first step", curve.values.front()},
                      {"loss in the last step", curve.values.back()}};
  if (problem_.steps > 1 && curve.values.back() >= curve.values.front())
    findings.warnings.push_back(
        fmt::format("the loss did not fall: it was {:.3g} in the first step and is {:.3g} in the "
                    "last one; try another --learning-rate than {:g}",
                    curve.values.front(), curve.values.back(), problem_.rate));
  findings.curves.push_back(std::move(curve));
  return findings;
}

Verdict NetworkWorkload::verify(VerifyLevel level, std::uint64_t) {
  using Status = Verdict::Status;
  if (level == VerifyLevel::off) return {};
  if (const auto missing = arrivals_.look("samples")) return *missing;
  const std::string wrong = first_wrong(level == VerifyLevel::full);
  const std::string method =
      replayed_.size() == problem_.steps
          ? fmt::format("all {} steps and weights, bit for bit, with a training on the host",
                        problem_.steps)
          : fmt::format(
                "the losses of {} steps and the last step, bit for bit, with a training on "
                "the host",
                replayed_.size());
  if (!wrong.empty()) return {Status::failed, method, wrong};
  const Findings found = findings();
  return {Status::passed,
          fmt::format("{}; mean distance from the targets {:.4g} in step 1, {:.4g} in step {}",
                      method, found.figures[0].value, found.figures[1].value, problem_.steps),
          "", found};
}

void NetworkWorkload::write_result(const std::filesystem::path& file) const {
  write_npy(file, {std::uint64_t{problem_.layers} * problem_.width, problem_.width},
            std::as_bytes(after()));
}

}  // namespace mgpu::tropical
