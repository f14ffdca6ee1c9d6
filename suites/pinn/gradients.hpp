// What a device launches to compute the gradients of its shards.
#pragma once

#include <memory>

#include "lib/workload/stream.hpp"
#include "suites/pinn/network.hpp"
#include "suites/pinn/ways.hpp"

namespace mgpu::pinn {

class Gradients {
 public:
  // Of at most so many shards. Throws what DeviceResources does.
  static std::unique_ptr<Gradients> make(const Problem& problem, const Way& way, std::uint64_t shards, DeviceResources& device);
  virtual ~Gradients() = default;

  struct At {
    Buffer *parameters = nullptr, *transposed = nullptr;  // transposed: hidden layers' weights by output and input
    Buffer* points = nullptr;                             // all_places() of them
    Buffer* shards = nullptr;                             // out: Network::stride() numbers each
  };
  virtual void enqueue(const At& at, std::uint64_t shards, Stream& stream) = 0;
  virtual unsigned launches() const = 0;  // of enqueue()
};

}  // namespace mgpu::pinn
