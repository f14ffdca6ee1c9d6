// Training of networks on one device: kernels, initial states, and buffers that networks use in
// turn.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "suites/pinn/gradients.hpp"
#include "suites/pinn/outcome.hpp"

namespace mgpu::pinn {

inline constexpr Bytes kNumber = sizeof(float);
// Returns the size of these numbers, rounded up to the 16-byte units of kernels/copy_part.cl.
constexpr Bytes in_pieces(std::uint64_t numbers) { return (numbers * kNumber + 15) / 16 * 16; }

// Most steps per command of the timeline. The host needs 12 us per time stamp on an H200, which is
// as long as a step of a small network.
inline constexpr std::uint32_t kSeries = 64;
// Most steps of a large network whose kernels are timed individually. Twelve time stamps per step
// take 140 us on the host of an H200, more than a device takes for the few shards of a probe.
inline constexpr std::uint32_t kLookedAt = 256;

// Buffers of one network on the device, in whole units of 16 bytes.
struct Trained {
  std::unique_ptr<Buffer> parameters[2], mean, square, transposed, gradient, losses, points;
  Buffer& parameters_after(std::uint32_t steps) const { return *parameters[steps % 2]; }
};

class Trainer {
 public:
  // Makes room for `networks` networks with the points and steps of `each`, and for gradients of at
  // most `shards` of its shards. Throws the errors of DeviceResources.
  Trainer(const Problem& each, Way way, DeviceResources& device, std::uint64_t networks,
          std::uint64_t shards);

  Trained make(DeviceResources& device) const;
  const std::string& way() const { return way_.name; }
  bool is_by_shard() const { return !way_.by_layer; }
  const Network& network() const { return wide_; }  // the device's layout

  // Numbers in an initial state (parameters, moments) and in a final one (parameters, those before
  // the last step, moments, gradient, losses).
  std::uint64_t state_size() const { return 3 * std::uint64_t{count_}; }
  std::uint64_t ending_size() const {
    return 5 * std::uint64_t{count_} + 3 * std::uint64_t{problem_.steps};
  }
  std::vector<float> own_layout(const float* from) const;  // converts from the device's layout
  Ending ending(const float* from) const;

  // Uploads the initial states of these networks: parameters and moments.
  using States = std::function<std::span<const float>(std::uint64_t network)>;
  void bring_states(const Slice& networks, const States& initial, Stream& stream);
  void begin(const Trained& trained, std::uint64_t network, Stream& stream) {
    begin(trained, *states_, network, 0, stream);
  }
  // Begins with a state in `states`, in the device's layout, that is the one after `steps` steps.
  void begin(const Trained& trained, Buffer& states, std::uint64_t network, std::uint32_t steps,
             Stream& stream);
  void draw(const Trained& trained, const Problem& of, const Slice& shards, std::uint32_t step,
            Stream& stream);
  struct Sums {  // sums of the listed nodes of the tree, or of shards if there are no nodes
    Buffer *sums = nullptr, *list = nullptr;
    std::size_t nodes = 0;
    std::uint32_t shards = 0;  // without nodes: shards in `sums`; 0: all
  };
  // Makes a step. With `add`, only `shards` shards are computed, and `add` adds up their gradients.
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
  std::uint32_t stride() const { return stride_; }  // numbers of a shard's gradient and losses
  Buffer& shards() { return *shards_; }

 private:
  const Problem problem_;
  const Way way_;
  const Network network_, wide_;
  const std::uint32_t count_, stride_, hidden_;
  const std::uint64_t most_shards_;
  const std::size_t local_;  // work-items of a group, which a kernel may have fewer of
  std::size_t side_ = 32;    // first dimension of the groups of `adam`
  std::unique_ptr<Gradients> gradients_;
  std::unique_ptr<Kernel> draw_, begin_, adam_, keep_;
  std::unique_ptr<Buffer> states_, shards_, list_;
  std::vector<float> staged_;
};

// Device memory of a Trainer: shared, its largest buffer, and per network.
struct TrainerMemory {
  Bytes shared = 0, largest = 0, each = 0;
};
TrainerMemory memory_of(const Problem& each, const Way& way);

// Tells whether a training draws new points before this step.
inline bool draws_before(const Problem& problem, std::uint32_t round) {
  return round > 0 && problem.resample > 0 && round % problem.resample == 0;
}

}  // namespace mgpu::pinn
