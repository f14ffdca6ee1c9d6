#include "suites/pinn/gradients.hpp"

#include <fmt/format.h>

#include <array>

namespace mgpu::pinn {
namespace {

using Weights = std::array<float, 4>;  // float4 of residual() in kernels/pinn_math.cl

Weights weights_of(const Problem& problem) {
  Weights weights{};
  const auto all = problem.weights();
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(all[i]);
  return weights;
}

KernelArg argument(const Weights& weights) { return ValueBytes{std::as_bytes(std::span(weights))}; }

// Most parameters for which one launch makes a whole step. A single work-group makes Adam's update,
// with four parameters per work-item; beyond a few thousand parameters a separate launch takes less
// time.
constexpr std::uint64_t most_of_step = 2048;
constexpr std::uint32_t branches = 8;  // BRANCHES of kernels/pinn_shards.cl

class ByShard final : public Gradients {
 public:
  ByShard(const Problem& problem, const Way& way, DeviceResources& device)
      : way_(way),
        shards_(problem.shards),
        places_(places_of_shard(problem)),
        stride_(u32(Network{problem.layers, wide(problem)}.stride())),
        weights_(weights_of(problem)) {
    const Network network{problem.layers, wide(problem)};
    const std::string of = way.options +
                           fmt::format(" -DLAYERS={} -DWIDTH={}", network.layers, network.width) +
                           equation_options(problem);
    kernel_ = device.kernel("pinn_shards.cl", "shard_gradients", of + " -DSTEP=0");
    if (network.count() > most_of_step) return;
    step_ = device.kernel("pinn_shards.cl", "train_step", of + " -DSTEP=1");
    const std::uint32_t nodes = ceil_div(shards_, branches);
    nodes_ = device.allocate(Bytes{nodes} * stride_ * sizeof(float));
    counts_ = device.allocate((1 + Bytes{nodes}) * sizeof(std::uint32_t));
  }

  void enqueue(const At& at, std::uint64_t shards, Stream& stream) override {
    stream.launch(*kernel_, grid_of(shards * way_.threads, way_.threads),
                  {at.parameters, at.points, at.shards, places_, stride_, argument(weights_)});
  }
  unsigned launches() const override { return 1; }

  bool makes_steps() const override { return step_ != nullptr; }
  void enqueue_step(const At& at, const Step& step, Stream& stream) override {
    stream.launch(*step_, grid_of(std::size_t{shards_} * way_.threads, way_.threads),
                  {at.parameters, at.points, at.shards, places_, stride_, argument(weights_),
                   nodes_.get(), counts_.get(), step.after, step.mean, step.square, step.gradient,
                   step.losses, step.number, step.adam.rate, step.adam.epsilon});
  }
  Buffer* counts() override { return counts_.get(); }

 private:
  const Way way_;
  const std::uint32_t shards_, places_, stride_;
  const Weights weights_;
  std::unique_ptr<Kernel> kernel_, step_;
  std::unique_ptr<Buffer> nodes_, counts_;
};

class ByLayer final : public Gradients {
 public:
  ByLayer(const Problem& problem, const Way& way, std::uint64_t shards, DeviceResources& device)
      : problem_(problem),
        way_(way),
        width_(wide(problem)),
        network_{problem.layers, width_},
        weights_(weights_of(problem)),
        jets_(device.allocate(jet_bytes(problem, way, shards))),
        bars_(device.allocate(jet_bytes(problem, way, shards))),
        outward_(device.allocate(all_places(problem, way, shards) * 16)),
        errors_(device.allocate(all_places(problem, way, shards) * sizeof(float))) {
    const std::string of = fmt::format(" -DWIDTH={}", width_) + equation_options(problem);
    const std::string rolled = device.traits().cpu ? " -DROLLED" : "";
    const std::string product =
        way.options + fmt::format(" -DWIDTH={}", width_) + jet_options(problem);
    forward_ = device.kernel("pinn_product.cl", "layer", product + " -DBACKWARD=0");
    backward_ = device.kernel("pinn_product.cl", "layer", product + " -DBACKWARD=1");
    weight_kernel_ = device.kernel("pinn_weights.cl", "weight_gradients",
                                   way.weight_options + fmt::format(" -DWIDTH={}", width_));
    first_ = device.kernel("pinn_edges.cl", "first_layer", rolled + of);
    output_ = device.kernel("pinn_edges.cl", "output_layer", rolled + of);
    edges_ = device.kernel("pinn_edges.cl", "edge_gradients", rolled + of);
  }

  void enqueue(const At& at, std::uint64_t shards, Stream& stream) override {
    const std::uint64_t count = all_places(problem_, way_, shards), row = 4 * count,
                        layer = row * width_;
    const std::uint32_t last = problem_.layers - 1;
    stream.launch(*first_, {{count, width_, 1}, group_of({32, 8, 1}, *first_)},
                  {at.parameters, at.points, jets_.get()});
    const Grid tiles =
        grid_of(row / way_.rows * (width_ / way_.columns) * way_.threads, way_.threads);
    for (std::uint32_t l = 1; l <= last; ++l) {
      stream.launch(*forward_, tiles,
                    {at.parameters, jets_.get(), (l - 1) * layer, jets_.get(), std::uint64_t{0},
                     jets_.get(), l * layer, u32(network_.hidden(l))});
    }
    stream.launch(
        *output_, {{count, 8, 1}, {32, 8, 1}},
        {at.parameters, u32(network_.output()), at.points, jets_.get(), last * layer / 4,
         bars_.get(), last * layer / 4, outward_.get(), errors_.get(), argument(weights_)});
    for (std::uint32_t l = last; l > 0; --l) {
      stream.launch(*backward_, tiles,
                    {at.transposed, bars_.get(), l * layer, jets_.get(), (l - 1) * layer,
                     bars_.get(), (l - 1) * layer, u32((l - 1) * std::uint64_t{width_} * width_)});
    }
    launch_sums(at, shards, count, stream);
  }
  // Returns two launches per hidden layer (forward, backward), and four more: first layer, output,
  // the gradients of the hidden weights, and those of the first layer and the output.
  unsigned launches() const override { return 2 * (problem_.layers - 1) + 4; }

 private:
  void launch_sums(const At& at, std::uint64_t shards, std::uint64_t count, Stream& stream) {
    const std::uint64_t layer = 4 * count * width_;
    const std::uint32_t each = places_of_shard(problem_), stride = u32(network_.stride()),
                        last = problem_.layers - 1;
    const std::size_t tiles = (width_ / way_.weight_rows) * (width_ / way_.weight_columns);
    stream.launch(*weight_kernel_,
                  {{tiles * way_.weight_threads, last, shards}, {way_.weight_threads, 1, 1}},
                  {jets_.get(), bars_.get(), at.shards, layer, each, stride});
    // Includes the output's bias and three losses.
    const std::size_t sums = 8, neurons = round_up(width_ + 4, sums);
    stream.launch(*edges_, {{32, neurons, shards}, {32, sums, 1}},
                  {at.points, bars_.get(), jets_.get(), last * layer / 4, outward_.get(),
                   errors_.get(), at.shards, u32(network_.output()), each, stride});
  }

  const Problem problem_;
  const Way way_;
  const std::uint32_t width_;
  const Network network_;
  const Weights weights_;
  std::unique_ptr<Buffer> jets_, bars_, outward_, errors_;
  std::unique_ptr<Kernel> forward_, backward_, weight_kernel_, first_, output_, edges_;
};

}  // namespace

std::unique_ptr<Gradients> Gradients::make(const Problem& problem, const Way& way,
                                           std::uint64_t shards, DeviceResources& device) {
  if (way.by_layer) return std::make_unique<ByLayer>(problem, way, shards, device);
  return std::make_unique<ByShard>(problem, way, device);
}

}  // namespace mgpu::pinn
