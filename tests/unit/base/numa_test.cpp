// NUMA nodes of a made-up machine, and real threads bound to cores of this one.
#include "lib/base/numa.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "lib/workload/parallel_for.hpp"
#include "tests/support/paths.hpp"

using namespace mgpu;

namespace {

namespace fs = std::filesystem;
using Cores = std::vector<std::uint32_t>;

// A host of two nodes with a GPU at each, and one that does not say.
class TwoSockets {
 public:
  TwoSockets() {
    put("sys/devices/system/node/online", "0-1\n");
    put("sys/devices/system/node/node0/cpulist", "0-3,8,10-11\n");
    put("sys/devices/system/node/node1/cpulist", "4-7\n");
    put("sys/bus/pci/devices/0000:1a:00.0/numa_node", "0\n");
    put("sys/bus/pci/devices/0000:c1:00.0/numa_node", "1\n");
    put("sys/bus/pci/devices/0000:d1:00.0/numa_node", "-1\n");
  }
  void put(const std::string& file, const std::string& text) const {
    fs::create_directories((root() / file).parent_path());
    std::ofstream(root() / file) << text;
  }
  fs::path root() const { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
};

// Returns the cores that a thread may run on; 0: the calling thread.
Cores cores_of(pid_t thread = 0) {
  cpu_set_t mask;
  REQUIRE(sched_getaffinity(thread, sizeof mask, &mask) == 0);
  Cores cores;
  for (std::uint32_t k = 0; k < CPU_SETSIZE; ++k)
    if (CPU_ISSET(k, &mask)) cores.push_back(k);
  return cores;
}

// Runs `what` on a thread of its own.
template <class What>
void aside(const What& what) {
  std::thread(what).join();
}

}  // namespace

TEST_CASE("a device's NUMA node is what sysfs says, if there are several and it says one") {
  const TwoSockets host;
  CHECK(numa_node_of("0000:1a:00.0", host.root()) == 0u);
  CHECK(numa_node_of("0000:C1:00.0", host.root()) == 1u);  // some drivers write capital letters
  CHECK_FALSE(numa_node_of("0000:d1:00.0", host.root()));
  CHECK_FALSE(numa_node_of("0000:ff:00.0", host.root()));
  host.put("sys/devices/system/node/online", "0\n");
  CHECK_FALSE(numa_node_of("0000:1a:00.0", host.root()));
  CHECK_FALSE(numa_node_of("0000:1a:00.0", host.root() / "nothing"));
}

TEST_CASE("a node's cores are ranges and single ones; a list that cannot be read has none") {
  const TwoSockets host;
  CHECK(cpus_of_node(0, host.root()) == Cores{0, 1, 2, 3, 8, 10, 11});
  CHECK(cpus_of_node(1, host.root()) == Cores{4, 5, 6, 7});
  CHECK(cpus_of_node(2, host.root()).empty());
  for (const char* bad : {"", "\n", "x", "1-", "0-99999999", "-3"}) {
    CAPTURE(bad);
    host.put("sys/devices/system/node/node1/cpulist", bad);
    CHECK(cpus_of_node(1, host.root()).empty());
  }
}

TEST_CASE("a thread is bound to the cores of a node that the process may use, and unbound after") {
  const Cores all = cores_of(getpid());
  const Cores last{all.back()};
  aside([&] {
    {
      CpuBinding binding;
      binding.to(last);
      CHECK(cores_of() == last);
      Cores inherited, reset;
      std::thread([&] {
        inherited = cores_of();
        unbind_inherited();
        reset = cores_of();
      }).join();
      CHECK(inherited == last);
      CHECK(reset == all);
      binding.to({last.front(), 8000});  // cores that the process may not use do not count
      CHECK(cores_of() == last);
      binding.to({8000});  // never bound to nothing
      CHECK(cores_of() == all);
      binding.to(last);
    }
    CHECK(cores_of() == all);
  });
}

TEST_CASE("the threads of a loop that a bound thread begins run on all cores") {
  const Cores all = cores_of(getpid());
  aside([&] {
    CpuBinding binding;
    binding.to({all.back()});
    std::atomic<int> bound = 0, waiting = 0;
    ThreadTeam team(2);
    const std::thread::id mine = std::this_thread::get_id();
    team.for_each(2, [&](std::uint64_t) {
      ++waiting;
      while (waiting < 2) std::this_thread::yield();
      if (std::this_thread::get_id() != mine) bound = cores_of() != all ? 1 : -1;
    });
    CHECK(bound == -1);
  });
}

TEST_CASE("taskset limits what a thread is bound to") {
  const Cores all = cores_of(getpid());
  if (all.size() < 2) return;
  cpu_set_t one, every;
  CPU_ZERO(&one);
  CPU_ZERO(&every);
  CPU_SET(all.front(), &one);
  for (const std::uint32_t core : all) CPU_SET(core, &every);
  REQUIRE(sched_setaffinity(getpid(), sizeof one, &one) == 0);
  Cores within, outside;
  aside([&] {
    CpuBinding binding;
    binding.to({all.front(), all.back()});
    within = cores_of();
    binding.to({all.back()});
    outside = cores_of();
  });
  sched_setaffinity(getpid(), sizeof every, &every);
  CHECK(within == Cores{all.front()});
  CHECK(outside == Cores{all.front()});
}
