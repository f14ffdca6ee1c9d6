// The kernels of a problem on one device, and their launches for a slice.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "suites/kernel/problem.hpp"

namespace mgpu::kernel {

// Returns the size of a type of the source, as a kernel of the device finds it; nothing if the
// source does not know the type by this name, as the driver may write it differently.
std::optional<Bytes> size_of_type(DeviceResources& device, const KernelSource& source,
                                  const std::string& options, std::string type);

class Launches {
 public:
  // Builds the kernels. Throws Error(input) if a kernel's parameters differ from the descriptor,
  // Error(unsupported) if it does not build.
  Launches(const Problem& problem, DeviceResources& device);

  // Enqueues all stages for the items of a slice. `buffer(a)` returns the buffer for argument a.
  void launch(const Slice& slice, std::uint32_t round,
              const std::function<Buffer*(std::size_t)>& buffer, Stream& stream);
  // Enqueues the stages of one level.
  void launch_level(std::uint32_t level, const Slice& slice, std::uint32_t round,
                    const std::function<Buffer*(std::size_t)>& buffer, Stream& stream);
  // Tells whether a stage may write the argument.
  bool writes(std::size_t stage, std::size_t argument) const;
  // Enqueues an accumulator's second kernel, which replaces `into` by the combination of both.
  void combine(std::size_t argument, Buffer& into, Buffer& from, Stream& stream);

 private:
  struct Value {
    alignas(16) std::byte bytes[1024];  // fits every scalar
  };
  void check_parameters(const Stage& stage, const std::vector<KernelParameter>& parameters,
                        const std::string& device) const;
  // Refuses stages that only read accumulators, without repeat.
  void check_accumulators() const;
  // Compares the size of a structure with that of the kernel's type.
  void check_structure(const Argument& one, const KernelParameter& has, DeviceResources& device,
                       const KernelSource& source) const;
  void check_combination(const Argument& one, const std::vector<KernelParameter>& parameters,
                         const std::string& device) const;

  const Problem& problem_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::vector<KernelParameter>> parameters_;  // by stage; empty: not reported
  // One per argument; null if no kernel combines it.
  std::vector<std::unique_ptr<Kernel>> combining_;
  std::vector<Value> values_;  // scalars of the launch
  std::vector<KernelArg> args_;
};

}  // namespace mgpu::kernel
