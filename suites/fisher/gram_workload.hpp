// One empirical Fisher matrix as a Workload: inputs, the partial matrices that devices hand over,
// their merge along the fixed tree, and verification. The device part is in gram_program.hpp.
#pragma once

#include <deque>
#include <mutex>
#include <optional>

#include "lib/workload/thread_team.hpp"
#include "suites/common/block_tree.hpp"
#include "suites/common/passed_verdicts.hpp"
#include "suites/fisher/column_scale.hpp"
#include "suites/fisher/demand.hpp"
#include "suites/fisher/gram_exchange.hpp"
#include "suites/fisher/gram_reference.hpp"
#include "suites/fisher/host_data.hpp"

namespace mgpu::fisher {

class GramWorkload : public Workload, public PeerExchange {
 public:
  // Throws Error(input), Error(usage), Error(out_of_memory).
  explicit GramWorkload(const SuiteParams& params);

  WorkloadInterfaces interfaces() override { return {.exchange = this}; }
  const Shape& shape() const override { return shape_; }
  Capacity capacity(const DeviceTraits& device, Mode mode) const override;
  Demand demand(const DeviceTraits& device) const override { return demand_of(problem_, device); }
  std::unique_ptr<DeviceProgram> program(DeviceResources& device, Mode mode,
                                         const Capacity& capacity) override;
  std::span<const std::byte> transfer_memory() const override { return data_.all(); }
  Exchanged exchanged(Mode mode) const override;
  void connect(PeerGroup& group) override;
  void disconnect() override { exchange_.reset(); }
  bool combines() const override { return exchange_.has_value(); }
  void exchange_among(std::span<const DeviceIndex> members) override;
  void begin_sample() override;
  void merge() override;
  std::string digest() const override;  // SHA-256 of the bytes of F, dim x dim float64
  Verdict verify(VerifyLevel level, std::uint64_t seed) override;
  void write_result(const std::filesystem::path& file) const override;  // F, float64

  static Bytes host_bytes(const Problem& problem);
  static Shape shape_of(const Problem& problem);

  // Called by programs, possibly from several threads at once.
  const Problem& problem() const { return problem_; }
  const Blocks& blocks() const { return blocks_; }
  const HostData& data() const { return data_; }
  struct Landing {  // place where a node is downloaded to: its upper half, row after row
    block_tree::TreeNode node;
    std::span<double> values;
  };
  Landing landing(const block_tree::TreeNode& node);
  void add_partials(std::span<const Landing> partials);
  GramExchange* gram_exchange() {
    return exchange_ ? &*exchange_ : nullptr;
  }                              // null if devices do not combine among themselves
  std::span<double> combined();  // place where combined elements are downloaded to
  void add_combined(std::uint64_t elements);

 private:
  using Tree = block_tree::PartialTree<std::span<const double>>;
  void combine(const block_tree::TreeNode& node, std::uint64_t first, std::span<double> out) const;
  std::vector<double> full(bool as_computed = false) const;

  Problem problem_;
  Blocks blocks_;
  unsigned host_threads_;
  HostData data_;
  ColumnScale scale_;
  Shape shape_;
  GramReference reference_;  // checks the columns as they are in data_
  std::mutex mutex_;         // guards partials_ and landings
  std::optional<GramExchange> exchange_;
  std::uint64_t combined_ = 0;  // elements that devices have combined and brought
  Tree partials_;
  std::size_t landings_used_ = 0, more_used_ = 0;  // number used in this sample
  std::deque<std::vector<double>> more_landings_;  // beyond those of data_; not pinned
  std::vector<double> merged_;
  std::span<const double> result_;  // merged_, or the only partial
  ThreadTeam merging_;
  PassedVerdicts passed_;
};

}  // namespace mgpu::fisher
