// Ranks that are threads of one process, each with fake devices in real time.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lib/cluster/cluster.hpp"
#include "lib/exec/leak.hpp"
#include "tests/support/fake_backend.hpp"
#include "tests/support/memory_transport.hpp"
#include "tests/support/sum_workload.hpp"

namespace mgpu::test {

using DevicesOfRanks = std::vector<std::vector<FakeDevice>>;

inline constexpr PostTimes kRankTimes{.between_signs = std::chrono::milliseconds(20),
                                      .silence = std::chrono::seconds(1),
                                      .leaving = std::chrono::seconds(3)};

inline FakeDevice device_of(RankNumber rank, double ops_per_s, const std::string& id = "0:0") {
  FakeDevice device = fake_device(id, ops_per_s);
  device.facts.uuid = "rank " + std::to_string(rank) + ", " + id;
  return device;
}

// Starts to join the cluster as that rank.
inline std::unique_ptr<Cluster> join_as(RankNumber rank, MemoryNetwork& network,
                                        std::vector<FakeDevice> devices, FakeKernels kernels,
                                        const std::string& arguments = "run sum") {
  auto local =
      std::make_unique<FakeBackend>(std::move(devices), std::move(kernels), FakeTime::is_real);
  const Fingerprint print{"host" + std::to_string(rank), "1", "sum", arguments};
  auto cluster = std::make_unique<Cluster>([&] { return network.transport(rank); }, kRankTimes,
                                           std::move(local), print);
  cluster->greet();
  return cluster;
}

// The ranks other than 0, each serving on a thread of its own.
class OtherRanks {
 public:
  OtherRanks(MemoryNetwork& network, const DevicesOfRanks& devices, const FakeKernels& kernels,
             const std::string& arguments = "run sum") {
    for (RankNumber rank = 1; rank <= devices.size(); ++rank) {
      threads_.emplace_back([&network, rank, arguments, kernels, own = devices[rank - 1], this] {
        auto cluster = join_as(rank, network, own, kernels, arguments);
        try {
          cluster->serve();
        } catch (const Error& error) {
          const std::lock_guard lock(mutex_);
          said_.push_back(error.what());
          cluster->leave(5);
          leak(std::move(cluster));
          return;
        }
        cluster->leave(0);
      });
    }
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  ~OtherRanks() { join(); }
  const std::vector<std::string>& said() const { return said_; }

 private:
  std::mutex mutex_;
  std::vector<std::string> said_;
  std::vector<std::thread> threads_;
};

}  // namespace mgpu::test
