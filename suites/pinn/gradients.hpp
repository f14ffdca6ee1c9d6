// Launches that compute the gradients of a device's shards.
#pragma once

#include <memory>

#include "lib/workload/stream.hpp"
#include "suites/pinn/network.hpp"
#include "suites/pinn/ways.hpp"

namespace mgpu::pinn {

class Gradients {
 public:
  // Makes the variant of `way`, for at most `shards` shards. Throws the errors of DeviceResources.
  static std::unique_ptr<Gradients> make(const Problem& problem, const Way& way,
                                         std::uint64_t shards, DeviceResources& device);
  virtual ~Gradients() = default;

  struct At {
    Buffer *parameters = nullptr,
           *transposed = nullptr;  // `transposed` has hidden layers' weights by output and input
    Buffer* points = nullptr;      // has all_places() points
    Buffer* shards = nullptr;      // output: Network::stride() numbers per shard
  };
  virtual void enqueue(const At& at, std::uint64_t shards, Stream& stream) = 0;
  virtual unsigned launches() const = 0;  // launches of enqueue()

  // Arguments of a whole step in one launch: the gradients of all shards and Adam's update. Only
  // for small networks.
  struct Step {
    Buffer *after = nullptr, *mean = nullptr, *square = nullptr, *gradient = nullptr,
           *losses = nullptr;  // outputs
    std::uint32_t number = 0;
    Problem::Step adam;
  };
  virtual bool makes_steps() const { return false; }
  virtual void enqueue_step(const At&, const Step&, Stream&) {}
  // Returns counters that must be 0 when a training begins and are 0 between its steps; null if
  // there are none.
  virtual Buffer* counts() { return nullptr; }
};

}  // namespace mgpu::pinn
