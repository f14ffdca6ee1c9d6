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
  static std::unique_ptr<Gradients> make(const Problem& problem, const Way& way,
                                         std::uint64_t shards, DeviceResources& device);
  virtual ~Gradients() = default;

  struct At {
    Buffer *parameters = nullptr,
           *transposed = nullptr;  // transposed: hidden layers' weights by output and input
    Buffer* points = nullptr;      // all_places() of them
    Buffer* shards = nullptr;      // out: Network::stride() numbers each
  };
  virtual void enqueue(const At& at, std::uint64_t shards, Stream& stream) = 0;
  virtual unsigned launches() const = 0;  // of enqueue()

  // Of small networks: the gradients of all shards and what Adam makes of them, by one launch.
  struct Step {
    Buffer *after = nullptr, *mean = nullptr, *square = nullptr, *gradient = nullptr,
           *losses = nullptr;  // out
    std::uint32_t number = 0;
    Problem::Step adam;
  };
  virtual bool makes_steps() const { return false; }
  virtual void enqueue_step(const At&, const Step&, Stream&) {}
  // Counts that are 0 when a training begins, and between its steps.
  virtual Buffer* counts() { return nullptr; }
};

}  // namespace mgpu::pinn
