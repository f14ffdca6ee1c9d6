#include "suites/stencil/kernel_exchange.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "lib/base/error.hpp"
#include "suites/stencil/stencil_kernel.hpp"

namespace mgpu::stencil {
namespace {

constexpr Bytes kFlagBytes = 2 * 128;
// Polls of a kernel on a CPU, by atomics: half a second.
constexpr std::uint64_t kLooks = std::uint64_t{1} << 24;
constexpr std::uint32_t kBefore = 1, kAfter = 2, kWaits = 4, kSends = 8, kSignals = 16,
                        kMailed = 32;  // flags of the kernel

}  // namespace

Bytes KernelExchange::mail_bytes(const Problem& problem) {
  return 4 * problem.radius * problem.layer_bytes() + kFlagBytes;
}

KernelExchange::KernelExchange(const Problem& problem, DeviceResources& device, unsigned strip,
                               SharedMemory& mail)
    : problem_(problem),
      strip_(strip),
      mail_(mail),
      peer_(*device.peer()),
      kernel_(device.kernel("stencil.cl", name_of(problem.kind),
                            kernel_options(problem, device.traits(), strip) +
                                " -DRADIUS_OF_STEP=" + std::to_string(problem.radius) +
                                (device.traits().nvidia ? " -DNVIDIA" : ""))),
      done_(device.allocate(2 * sizeof(std::uint32_t))),
      status_(device.allocate(sizeof(std::uint32_t))) {
  static constexpr std::array<std::byte, 8> nothing{};
  device.try_out([&](Stream& stream) {
    stream.upload(*done_, 0, nothing);
    stream.upload(*status_, 0, std::span(nothing).first(status_->size()));
  });
  wait_ = peer_.flag_wait().value_or(
      Peer::FlagWait{status_.get(), device.traits().nvidia ? peer_.wait_limit_ns() : kLooks});
}

// Splits off the outermost strips. A share of less than two strips is halved. If it is too small
// for both halves to contain what is sent, it is one strip.
KernelExchange::Ends KernelExchange::ends_of(const Step& step) const {
  const std::uint32_t size = step.end - step.first;
  if (size < 2 * problem_.radius) return {step.end, step.end};
  if (size < 2 * strip_) return {step.first + size / 2, step.first + size / 2};
  return {step.first + strip_, step.end - strip_};
}

std::size_t KernelExchange::strips(const Step& step) const {
  const Ends ends = ends_of(step);
  if (ends.bottom_begin == step.end) return 1;
  return 2 + ceil_div(ends.bottom_begin - ends.top_end, strip_);
}

void KernelExchange::add_arguments(const Step& step, std::vector<KernelArg>& args) {
  const Ends ends = ends_of(step);
  const DeviceIndex self = peer_.self();
  const auto of = [&](const Owner* neighbour) {
    return neighbour != nullptr ? neighbour->device : self;
  };
  const std::uint32_t how = (step.before != nullptr ? kBefore : 0) |
                            (step.after != nullptr ? kAfter : 0) | (step.waits ? kWaits : 0) |
                            (step.sends ? kSends : 0) | (step.signals ? kSignals : 0) |
                            (step.mailed ? kMailed : 0);
  const std::array<KernelArg, 13> more{&mail_.piece(self),
                                       mail_.remote(self, of(step.before)),
                                       mail_.remote(self, of(step.after)),
                                       std::uint64_t{problem_.layer_bytes() / problem_.element},
                                       how,
                                       step.number,
                                       ends.top_end,
                                       ends.bottom_begin,
                                       done_.get(),
                                       wait_.status,
                                       wait_.limit_ns,
                                       of(step.before).value,
                                       of(step.after).value};
  args.insert(args.end(), more.begin(), more.end());
}

void KernelExchange::download_status(Stream& stream) {
  stream.download(*wait_.status, 0, std::as_writable_bytes(std::span(&failed_, 1)));
}

void KernelExchange::check() const {
  if (failed_ == 0) return;
  throw Error(ErrorKind::device,
              "kernels waited in vain for what others compute; expected: --exchange puts");
}

}  // namespace mgpu::stencil
