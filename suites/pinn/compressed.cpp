#include "suites/pinn/compressed.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>

namespace mgpu::pinn {

std::vector<Node> sent_nodes(const Problem& problem, const Slice& shards) {
  const std::uint32_t each = problem.shards_of_block(), blocks = problem.blocks();
  std::vector<Node> nodes = nodes_of(shards.begin / each, shards.end / each);
  if (nodes.size() == 1 && nodes.front().shards() == blocks) {
    const std::uint32_t level = nodes.front().level - 1;
    nodes = {{0, level}, {blocks / 2, level}};
  }
  return nodes;
}

Compression::Compression(const Problem& problem, DeviceResources& device, std::uint32_t count,
                         std::uint32_t stride)
    : problem_(problem),
      blocks_(problem.blocks()),
      count_(count),
      stride_(stride),
      wire_(u32(wire_of(count))),
      local_(device.traits().cpu ? 16 : 64),
      compress_(device.kernel("pinn_compressed.cl", "compress_nodes", "")),
      combine_(device.kernel("pinn_compressed.cl", "combine_nodes", "")),
      gradient_(device.allocate(std::uint64_t{stride} * sizeof(float))) {
  for (auto& each : residuals_)
    each = device.allocate(2 * std::uint64_t{blocks_} * stride * sizeof(float));
}

void Compression::compress(Buffer& gradients, Buffer& sums, const Slice& shards,
                           std::uint32_t round, Stream& stream) {
  const std::uint32_t each = problem_.shards_of_block();
  stream.launch(*compress_, grid_of(*compress_, stride_, local_),
                {&gradients, &residuals_after(round), &residuals_after(round + 1), &sums,
                 u32(shards.begin / each), u32(shards.end / each), blocks_, each, count_, stride_,
                 wire_, std::uint32_t{round == 0}});
}

Buffer& Compression::combine(Buffer& sums, Buffer& list, std::size_t nodes, std::uint32_t round,
                             Stream& stream) {
  stream.launch(*combine_, grid_of(*combine_, stride_, local_),
                {&sums, &list, u32(nodes), &residuals_after(round), &residuals_after(round + 1),
                 gradient_.get(), blocks_, count_, stride_, wire_, std::uint32_t{round == 0}});
  return *gradient_;
}

void Compression::bring_residuals(Stream& stream) {
  for (std::uint32_t i = 0; i < 2; ++i) {
    Buffer& from = residuals_after(problem_.steps - 1 + i);
    landing_[i].resize(from.size() / sizeof(float));
    stream.download(from, 0, std::as_writable_bytes(std::span(landing_[i])));
  }
}

Residuals Compression::residuals(
    const std::function<std::vector<float>(const float*)>& unpack) const {
  Residuals residuals;
  for (std::size_t node = 0; node < 2 * std::size_t{blocks_}; ++node) {
    residuals.before.push_back(problem_.steps == 1
                                   ? std::vector<float>(unpack(landing_[1].data()).size())
                                   : unpack(landing_[0].data() + node * stride_));
    residuals.after.push_back(unpack(landing_[1].data() + node * stride_));
  }
  return residuals;
}

float nearest_bf16(float value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double exact = value;
  const int last = std::max(std::ilogb(exact), -126) - 7;
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(exact, -last)), last));
}

namespace {

// Adds shards [begin, begin + count) of parameter i in pairs, as nodes of the tree do.
float sum_of_pairs(const Ending& whole, std::size_t begin, std::size_t count, std::size_t i) {
  if (count == 1) return whole.shards[begin][i];
  return sum_of_pairs(whole, begin, count / 2, i) +
         sum_of_pairs(whole, begin + count / 2, count / 2, i);
}

}  // namespace

std::string wrong_compression(const Problem& problem, const Ending& whole) {
  const std::uint32_t blocks = problem.blocks(), each = problem.shards_of_block();
  const auto& [before, after] = whole.residuals;
  for (std::size_t i = 0; i < whole.gradient.size(); ++i) {
    CompressedSum<float> tree(blocks);
    for (std::size_t node = 2; node < tree.residuals.size(); ++node)
      tree.residuals[node] = before[node][i];
    const float expected =
        tree.step([&](std::size_t block) { return sum_of_pairs(whole, block * each, each, i); });
    if (expected != whole.gradient[i])
      return fmt::format(
          "the gradient by parameter {} is {} instead of {}, the sum of nodes in bf16", i,
          whole.gradient[i], expected);
    for (std::size_t node = 2; node < tree.residuals.size(); ++node)
      if (tree.residuals[node] != after[node][i])
        return fmt::format("what bf16 lost of parameter {} in node {} is {} instead of {}", i, node,
                           after[node][i], tree.residuals[node]);
  }
  return {};
}

double compression_error(const Ending& whole) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < whole.gradient.size(); ++i) {
    double sum = 0;
    for (const auto& shard : whole.shards) sum += static_cast<double>(shard[i]);
    error += (static_cast<double>(whole.gradient[i]) - sum) *
             (static_cast<double>(whole.gradient[i]) - sum);
    size += sum * sum;
  }
  return size > 0 ? std::sqrt(error / size) : 0;
}

}  // namespace mgpu::pinn
