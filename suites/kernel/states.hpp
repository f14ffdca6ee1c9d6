// A device's copies of the arrays whose items devices exchange (Problem::fields). Every device has
// the whole arrays, indexed from their beginning, so that kernels get them unchanged. Only the
// device's share and its halo are up to date.
#pragma once

#include <memory>
#include <vector>

#include "suites/kernel/kernel_workload.hpp"

namespace mgpu::kernel {

class States {
 public:
  States(KernelWorkload& workload, DeviceResources& device, const Launches& launches);

  // Returns the size of a state: that of the array, and up to a multiple of 16 bytes.
  static Bytes bytes(const Problem& problem, const Field& field);
  // Prepares for the first round of a slice. `upload`: its initial contents are not on the device
  // yet.
  void begin(const Slice& slice, bool upload, Stream& stream);
  Buffer& given(std::size_t argument, std::uint32_t round);
  // Exchanges the items of arrays that are changed in place and that this level has, if they are
  // not up to date.
  void exchange_before(std::uint32_t level, std::uint32_t round);
  // Sends the halo items of swapped arrays that others need after a round, and waits for those that
  // it needs.
  void exchange_after(std::uint32_t round);

 private:
  // Halo items of a field that another device needs, at the same offset there.
  struct Put {
    std::size_t field;
    DeviceIndex to;
    Bytes begin, size;
  };
  // An exchange of some fields: what this device sends, and the devices that need items of this
  // one, or that have items that it needs.
  struct Exchange {
    std::vector<Put> puts;
    std::vector<DeviceIndex> others;
  };
  const Field& field(std::size_t f) const { return problem_.fields[f]; }
  // Returns the state after `rounds` rounds, at least one.
  Buffer& after(std::size_t f, std::uint32_t rounds) {
    return states_[f][field(f).in_place() ? 0 : rounds + 1];
  }
  void add_to(Exchange& exchange, std::size_t f, std::uint32_t round) const;
  // Restores the initial contents of arrays that kernels change in place or write in part.
  void restore(const Slice& slice, Stream& stream);
  void send(const Exchange& exchange, std::uint32_t round);
  void meet(const Exchange& exchange) {
    if (!exchange.others.empty()) peer_->sync(exchange.others, exchange.others);
  }

  KernelWorkload& workload_;
  const Problem& problem_;
  const Launches& launches_;
  Peer* const peer_;  // null if nothing is exchanged
  // Initial contents, one per field: of its input, and of its output if that begins with values.
  std::vector<std::unique_ptr<Buffer>> initial_, initial_out_;
  std::vector<Ring> states_;      // one per field
  std::unique_ptr<Kernel> copy_;  // null if no contents are restored
  Slice slice_;
  Exchange after_round_;       // of swapped arrays
  std::vector<bool> changed_;  // by field: changed in place since the last exchange
};

}  // namespace mgpu::kernel
