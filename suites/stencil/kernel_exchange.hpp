// Exchange of halos by the kernels of steps (kernels/stencil_exchange.cl): they store what
// neighbours need into memory that kernels of all devices reach, and wait there for what they need,
// so that a round is one launch.
#pragma once

#include <memory>
#include <vector>

#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

class KernelExchange {
 public:
  // Bytes of a device's mail: halos of two states from both sides, and flags.
  static Bytes mail_bytes(const Problem& problem);

  // `strip`: layers of a work-item. `mail` must outlive it. Throws Error(device),
  // Error(out_of_memory).
  KernelExchange(const Problem& problem, DeviceResources& device, unsigned strip,
                 SharedMemory& mail);

  Kernel& kernel() { return *kernel_; }

  struct Step {
    const Owner *before = nullptr, *after = nullptr;  // null: there is no neighbour on that side
    std::uint32_t first = 0, end = 0;                 // its layers, more than none
    std::uint32_t number = 0;  // of the state that is read, which only grows, from sample to sample
    bool waits = false;        // for what neighbours signalled; else it is there
    bool sends = false, signals = false;  // halos of the state that it makes; that they are there
    bool mailed = false;  // what it reads of neighbours is in the mail; else beside its own layers
  };
  // Strips of layers, as many as the launch has along its last axis: the outermost first.
  std::size_t strips(const Step& step) const;
  // What follows the arguments of the step itself.
  void add_arguments(const Step& step, std::vector<KernelArg>& args);

  // After launches, brings to the host whether a kernel waited in vain, for those two. check()
  // throws Error(device) if one did.
  void download_status(Stream& stream);
  bool waited_in_vain() const { return failed_ != 0; }
  void check() const;

 private:
  struct Ends {  // of the strip before all others, and where the one after all others begins; no
                 // such strip: the end
    std::uint32_t top_end, bottom_begin;
  };
  Ends ends_of(const Step& step) const;

  const Problem& problem_;
  const std::uint32_t strip_;
  SharedMemory& mail_;
  Peer& peer_;
  Peer::FlagWait wait_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Buffer> done_, status_;
  std::uint32_t failed_ = 0;
};

}  // namespace mgpu::stencil
