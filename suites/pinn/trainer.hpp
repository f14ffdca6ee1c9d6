// Networks that one device trains: kernels, what networks begin with, and what they take turns
// with.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "suites/pinn/gradients.hpp"
#include "suites/pinn/outcome.hpp"

namespace mgpu::pinn {

inline constexpr Bytes kNumber = sizeof(float);
constexpr Bytes in_pieces(std::uint64_t numbers) {  // of 16 bytes, as kernels/copy_part.cl has them
  return (numbers * kNumber + 15) / 16 * 16;
}

// Steps that are one command of the timeline, and that many launches. On an H200 a time stamp for
// each, which the host needs, takes 12 us, as long as a step of a small network.
inline constexpr std::uint32_t kSeries = 64;
// Kernels of large networks are worth a look one by one, but not those of ten thousand steps: their
// twelve time stamps a step are 140 us of the host of an H200, more than a device takes for the few
// shards of a probe.
inline constexpr std::uint32_t kLookedAt = 256;

// Has what a device holds of one network, each of whole units of 16 bytes.
struct Trained {
  std::unique_ptr<Buffer> parameters[2], mean, square, transposed, gradient, losses, points;
  Buffer& parameters_after(std::uint32_t steps) const { return *parameters[steps % 2]; }
};

class Trainer {
 public:
  // Takes so many networks with as many points and steps as `each`, and gradients of at most so
  // many of its shards. Throws what DeviceResources does.
  Trainer(const Problem& each, Way way, DeviceResources& device, std::uint64_t networks,
          std::uint64_t shards);

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
  std::vector<float> own_layout(const float* from) const;  // of a network's numbers on the device
  Ending ending(const float* from) const;

  // Brings what these networks begin with, parameters and moments, to the device.
  using States = std::function<std::span<const float>(std::uint64_t network)>;
  void bring_states(const Slice& networks, const States& initial, Stream& stream);
  void begin(const Trained& trained, std::uint64_t network, Stream& stream) {
    begin(trained, *states_, network, 0, stream);
  }
  // `states` as on the device, of which that one is what it is after so many steps.
  void begin(const Trained& trained, Buffer& states, std::uint64_t network, std::uint32_t steps,
             Stream& stream);
  void draw(const Trained& trained, const Problem& of, const Slice& shards, std::uint32_t step,
            Stream& stream);
  struct Sums {  // of nodes of the tree, which are listed; without nodes, of shards
    Buffer *sums = nullptr, *list = nullptr;
    std::size_t nodes = 0;
  };
  // `add`: of so many shards, where these are not all, whose gradients it adds up.
  void step(const Trained& trained, std::uint32_t round, Stream& stream, std::uint64_t shards = 0,
            const std::function<Sums()>& add = {});
  unsigned launches_of_step(bool of_all = true) const {
    return of_all && gradients_->makes_steps() ? 1 : gradients_->launches() + 1;
  }
  void keep(Buffer& from, Buffer& to, std::uint64_t at, std::uint64_t count, Stream& stream);
  void keep_ending(const Trained& trained, Buffer& endings, std::uint64_t place, Stream& stream);
  std::uint64_t places(std::uint64_t shards) const { return all_places(problem_, way_, shards); }
  std::uint32_t places_of_shard() const { return pinn::places_of_shard(problem_); }
  std::size_t local() const { return local_; }
  std::uint32_t stride() const { return stride_; }  // numbers of a shard's gradient, and losses
  Buffer& shards() { return *shards_; }

 private:
  const Problem problem_;
  const Way way_;
  const Network network_, wide_;
  const std::uint32_t count_, stride_, hidden_;
  const std::uint64_t most_shards_;
  const std::size_t local_;
  std::unique_ptr<Gradients> gradients_;
  std::unique_ptr<Kernel> draw_, begin_, adam_, keep_;
  std::unique_ptr<Buffer> states_, shards_, list_;
  std::vector<float> staged_;
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
