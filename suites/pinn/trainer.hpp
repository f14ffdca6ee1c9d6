// Several networks that one device trains, each with all its points: kernels, and what they take
// turns with.
#pragma once

#include <memory>
#include <vector>

#include "suites/pinn/gradients.hpp"
#include "suites/pinn/launches.hpp"
#include "suites/pinn/outcome.hpp"

namespace mgpu::pinn {

// Of one network, on a device.
struct Trained {
  std::unique_ptr<Buffer> parameters[2], mean, square, transposed, gradient, losses, points;
  Buffer& parameters_after(std::uint32_t steps) const { return *parameters[steps % 2]; }
};

class Trainer {
 public:
  // `each`: one of them; all have its network, its numbers of points and its steps. Throws what
  // DeviceResources does.
  Trainer(const Problem& each, Way way, DeviceResources& device);

  Trained make(DeviceResources& device) const;
  const std::string& way() const { return way_.name; }
  bool is_by_shard() const { return !way_.by_layer; }
  const Network& network() const { return wide_; }  // as it is on the device

  // How many numbers a network begins with, and ends with: parameters, those before the last step,
  // moments, gradient, losses.
  std::uint64_t state_size() const { return 3 * std::uint64_t{count_}; }
  std::uint64_t ending_size() const {
    return 5 * std::uint64_t{count_} + 3 * std::uint64_t{problem_.steps};
  }
  // `state`, parameters and moments, as it is on the device.
  void widen_state(std::span<const float> state, float* to) const;
  Ending ending(const float* from) const;

  void begin(const Trained& trained, Buffer& states, std::uint64_t number, Stream& stream);
  void draw(const Trained& trained, const Problem& of, std::uint32_t step, Stream& stream);
  void step(const Trained& trained, std::uint32_t round, Stream& stream);
  unsigned launches_of_step() const {
    return gradients_->makes_steps() ? 1 : gradients_->launches() + 1;
  }
  void keep_ending(const Trained& trained, Buffer& endings, std::uint64_t place, Stream& stream);
  std::uint64_t places() const { return all_places(problem_, way_, problem_.shards); }
  std::uint32_t places_of_shard() const { return pinn::places_of_shard(problem_); }
  std::size_t local() const { return local_; }

 private:
  const Problem problem_;
  const Way way_;
  const Network network_, wide_;
  const std::uint32_t count_, stride_, hidden_;
  const std::size_t local_;
  std::unique_ptr<Gradients> gradients_;
  std::unique_ptr<Kernel> draw_, begin_, adam_, keep_;
  std::unique_ptr<Buffer> shards_, list_;
};

// Device memory that a Trainer takes, its largest piece, and that of each network.
struct TrainerMemory {
  Bytes shared = 0, largest = 0, each = 0;
};
TrainerMemory memory_of(const Problem& each, const Way& way);

// Does a training draw new points before this step?
inline bool draws_before(const Problem& problem, std::uint32_t round) {
  return round > 0 && problem.resample > 0 && round % problem.resample == 0;
}

}  // namespace mgpu::pinn
