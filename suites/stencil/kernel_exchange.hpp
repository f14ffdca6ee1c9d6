// Halo exchange by the kernels of steps (kernels/stencil_exchange.cl). They store neighbours' halos
// in memory that kernels of all devices reach, and wait there for their own, so that a round is one
// launch.
#pragma once

#include <memory>
#include <vector>

#include "suites/stencil/problem.hpp"

namespace mgpu::stencil {

class KernelExchange {
 public:
  // Returns the size of a device's mail: halos of two states from both sides, and flags.
  static Bytes mail_bytes(const Problem& problem);

  // `strip` is the number of layers per work-item. `mail` must outlive this object. Throws
  // Error(device), Error(out_of_memory).
  KernelExchange(const Problem& problem, DeviceResources& device, unsigned strip,
                 SharedMemory& mail);

  Kernel& kernel() { return *kernel_; }

  struct Step {
    const Owner *before = nullptr, *after = nullptr;  // null: no neighbour on that side
    std::uint32_t first = 0, end = 0;                 // its layers, at least one
    std::uint32_t number = 0;             // number of the state read; it increases across samples
    bool waits = false;                   // wait for the neighbours' signals
    bool sends = false, signals = false;  // send halos of the new state; signal that they are there
    bool mailed = false;  // neighbours' halos are in the mail, otherwise next to its own layers
  };
  // Returns the number of strips of layers, which the launch has along its last axis. The outermost
  // strips come first.
  std::size_t strips(const Step& step) const;
  // Appends the arguments that follow those of the step itself.
  void add_arguments(const Step& step, std::vector<KernelArg>& args);

  // Downloads, after launches, whether a kernel's wait timed out. The two functions below return
  // that; check() throws Error(device).
  void download_status(Stream& stream);
  bool waited_in_vain() const { return failed_ != 0; }
  void check() const;

 private:
  // End of the first strip, and begin of the last one; both equal the end if there are no such
  // strips.
  struct Ends {
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
