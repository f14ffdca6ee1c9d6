// Gradients in bf16 with error feedback (kernels/pinn_compressed.cl): sizes of what devices
// exchange, the kernels of a step, and the host's reference.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/workload/stream.hpp"
#include "suites/pinn/nodes.hpp"
#include "suites/pinn/outcome.hpp"
#include "suites/pinn/problem.hpp"

namespace mgpu::pinn {

// Returns the numbers of 16 bits that a node's sum takes: the gradient in bf16 and three losses in
// fp32, in whole units of 16 bytes.
constexpr std::uint64_t wire_of(std::uint64_t count) { return round_up(round_up(count, 2) + 6, 8); }

// Returns the nodes of blocks [begin, end) that their owner sends: the largest below the root.
std::vector<Node> sent_nodes(const Problem& problem, const Slice& shards);

// Kernels and memory of one device.
class Compression {
 public:
  // `count`, `stride`: as in Network, of the device's layout.
  Compression(const Problem& problem, DeviceResources& device, std::uint32_t count,
              std::uint32_t stride);

  // Adds up the gradients of the owner's shards to its nodes.
  void compress(Buffer& gradients, Buffer& sums, const Slice& shards, std::uint32_t round,
                Stream& stream);
  // Adds up the listed nodes, and returns the gradient of all shards.
  Buffer& combine(Buffer& sums, Buffer& list, std::size_t nodes, std::uint32_t round,
                  Stream& stream);
  static constexpr unsigned launches = 2;
  Bytes wire_bytes() const { return wire_ * 2; }

  // Downloads what roundings of the last step had lost before and after it. `unpack` converts
  // numbers of a node from the device's layout.
  void bring_residuals(Stream& stream);
  Residuals residuals(const std::function<std::vector<float>(const float*)>& unpack) const;

 private:
  Buffer& residuals_after(std::uint32_t steps) const { return *residuals_[steps % 2]; }

  const Problem problem_;
  const std::uint32_t blocks_, count_, stride_, wire_;
  const std::size_t local_;
  std::unique_ptr<Kernel> compress_, combine_;
  std::unique_ptr<Buffer> residuals_[2], gradient_;
  std::vector<float> landing_[2];
};

// Returns the nearest number of bf16, the even one of two.
float nearest_bf16(float value);

// One parameter's tree in the reference: what `blocks` of shards add, and the residuals before and
// after by number of the node, which are updated.
template <class Number>
class CompressedSum {
 public:
  CompressedSum(std::uint32_t blocks) : residuals(2 * std::size_t{blocks}), blocks_(blocks) {}
  // Returns the root's sum. `of_block` returns the exact sum of a block.
  template <class OfBlock>
  Number step(const OfBlock& of_block) {
    return node(1, of_block);
  }
  std::vector<Number> residuals;

 private:
  template <class OfBlock>
  Number node(std::size_t number, const OfBlock& of_block) {
    const Number sum = number >= blocks_
                           ? of_block(number - blocks_)
                           : node(2 * number, of_block) + node(2 * number + 1, of_block);
    if (number == 1) return sum;
    const Number value = sum + residuals[number],
                 rounded = static_cast<Number>(nearest_bf16(static_cast<float>(value)));
    residuals[number] = value - rounded;
    return rounded;
  }
  const std::size_t blocks_;
};

// Recomputes the last step's gradient and residuals from the gradients of its shards, bit for bit.
// Returns the first that differs, in one line, or an empty text.
std::string wrong_compression(const Problem& problem, const Ending& whole);

// Returns the distance of the last step's gradient from the exact sum of its shards, relative to
// that.
double compression_error(const Ending& whole);

}  // namespace mgpu::pinn
