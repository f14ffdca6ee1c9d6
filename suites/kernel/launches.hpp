// The kernels of a problem on one device, and their launches for a slice.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "suites/kernel/problem.hpp"

namespace mgpu::kernel {

class Launches {
 public:
  // Builds them. Throws Error(input) where the kernel's parameters are not those described,
  // Error(unsupported) where it does not build.
  Launches(const Problem& problem, DeviceResources& device);

  // All stages, for the items of a slice. `buffer(a)` is what argument a is given.
  void launch(const Slice& slice, const std::function<Buffer*(std::size_t)>& buffer,
              Stream& stream);
  // The second kernel of an accumulator: makes `into` the combination of both.
  void combine(std::size_t argument, Buffer& into, Buffer& from, Stream& stream);

 private:
  struct Value {
    alignas(16) std::byte bytes[128];  // double16
  };
  void check_parameters(const Stage& stage, const std::vector<KernelParameter>& parameters,
                        const std::string& device) const;
  void check_combination(const Argument& one, const std::vector<KernelParameter>& parameters,
                         const std::string& device) const;

  const Problem& problem_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::unique_ptr<Kernel>> combining_;  // by argument; null: no kernel combines it
  std::vector<Value> values_;  // of the scalars, of the launch that is under way
  std::vector<KernelArg> args_;
};

}  // namespace mgpu::kernel
