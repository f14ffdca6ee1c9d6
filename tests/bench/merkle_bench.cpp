// Merkle nodes: OpenSSL's routes to the SHA-256 of 64-byte nodes, on one core and on all, and whole
// trees by the OpenCL kernels on the same cores. items_per_second is nodes/s. The baseline of the
// kernels is the fastest route. To interleave the cases, so that other load on the machine affects
// all equally: --benchmark_filter='BM_node|BM_kernel' --benchmark_repetitions=9
// --benchmark_enable_random_interleaving=true
#define OPENSSL_SUPPRESS_DEPRECATED
#include <benchmark/benchmark.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "lib/base/embedded.hpp"
#include "lib/opencl/cl_backend.hpp"
#include "suites/merkle/hash.hpp"
#include "suites/merkle/leaves.hpp"
#include "suites/merkle/merkle_workload.hpp"
#include "suites/merkle/reference.hpp"
#include "tests/bench/failure.hpp"
#include "tests/bench/resident.hpp"

namespace {

using namespace mgpu;
using namespace mgpu::merkle;

constexpr std::uint64_t leaves_per_thread = std::uint64_t{1}
                                            << 14;  // 512 KiB: the level stays in the caches

struct OneShot {
  void operator()(const unsigned char* node, unsigned char* out) const { SHA256(node, 64, out); }
};

class Evp {
 public:
  void operator()(const unsigned char* node, unsigned char* out) const {
    EVP_DigestInit_ex(context_.get(), nullptr, nullptr);
    EVP_DigestUpdate(context_.get(), node, 64);
    EVP_DigestFinal_ex(context_.get(), out, nullptr);
  }
  Evp() { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_{EVP_MD_CTX_new()};
};

struct InitUpdateFinal {
  void operator()(const unsigned char* node, unsigned char* out) const {
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, node, 64);
    SHA256_Final(out, &context);
  }
};

// The block function alone, with a constant padding block: no route to SHA-256 in OpenSSL can be
// faster.
struct Transform {
  void operator()(const unsigned char* node, unsigned char* out) const {
    static constexpr unsigned char padding[64] = {
        0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0};
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Transform(&context, node);
    SHA256_Transform(&context, padding);
    for (int i = 0; i < 8; ++i) {
      const std::uint32_t word = __builtin_bswap32(context.h[i]);
      std::memcpy(out + 4 * i, &word, sizeof word);
    }
  }
};

struct Ours {
  void operator()(const unsigned char* node, unsigned char* out) const {
    const Digest digest = sha256({node, 64});
    std::memcpy(out, digest.data(), digest.size());
  }
};

// Hashes one level of a tree; each thread of the benchmark has its own.
template <class Hash>
void BM_node(benchmark::State& state) {
  const Leaves leaves =
      Leaves::random(leaves_per_thread, static_cast<std::uint64_t>(state.thread_index()), 1);
  const auto* in = reinterpret_cast<const unsigned char*>(leaves.bytes().data());
  std::vector<unsigned char> out(leaves_per_thread * 16);
  const Hash hash;
  hash(in, out.data());
  if (std::memcmp(out.data(), reference_root(TreeKind::plain, leaves.bytes(0, 2), 1).data(), 32) !=
      0) {
    mgpu::bench::fail(state, "wrong digest");
    return;
  }
  for (auto _ : state) {
    for (std::uint64_t i = 0; i < leaves_per_thread / 2; ++i)
      hash(in + i * 64, out.data() + i * 32);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(leaves_per_thread / 2));
}

// Hashes a whole tree with the reference, on all cores.
void BM_reference_tree(benchmark::State& state) {
  const unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  const Leaves leaves = Leaves::random(static_cast<std::uint64_t>(state.range(0)), 1, threads);
  for (auto _ : state)
    benchmark::DoNotOptimize(reference_root(TreeKind::plain, leaves.bytes(), threads));
  state.SetItemsProcessed(state.iterations() * (state.range(0) - 1));
}

// Hashes a resident tree. cores 0: the whole first CPU device; 1: a sub-device of one core. Many
// cores need a large tree: 2^20 leaves take 32 cores 1 ms, and waking them takes 50 us per launch.
void BM_kernel(benchmark::State& state) {
  const auto backend = make_cl_backend({embedded_kernels(), {}});
  for (const Device& device : backend->enumerate().devices) {
    if (!device.is_cpu()) continue;
    bench::Resident tree(
        *backend,
        state.range(0) == 0 ? device : backend->split(device, device.compute_units).front(),
        std::make_unique<MerkleWorkload>(
            TreeKind::plain, Leaves::random(std::uint64_t{1} << state.range(1), 1, 2), 2));
    tree.sample();
    if (!tree.right()) return mgpu::bench::fail(state, "wrong root");
    for (auto _ : state) state.SetIterationTime(seconds(tree.sample()));
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(tree.shape().ops));
    return;
  }
  mgpu::bench::fail(state, "no OpenCL CPU device");
}

void one_core_and_all(benchmark::internal::Benchmark* bench) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  bench->Threads(1)->UseRealTime();
  if (cores > 1) bench->Threads(cores);
}

BENCHMARK_TEMPLATE(BM_node, OneShot)->Apply(one_core_and_all);
BENCHMARK_TEMPLATE(BM_node, Evp)->Apply(one_core_and_all);
BENCHMARK_TEMPLATE(BM_node, InitUpdateFinal)->Apply(one_core_and_all);
BENCHMARK_TEMPLATE(BM_node, Transform)->Apply(one_core_and_all);
BENCHMARK_TEMPLATE(BM_node, Ours)->Apply(one_core_and_all);
BENCHMARK(BM_kernel)
    ->ArgNames({"cores", "log2_leaves"})
    ->ArgsProduct({{0, 1}, {20, 24}})
    ->UseManualTime();
BENCHMARK(BM_reference_tree)->Arg(1 << 20)->UseRealTime();

}  // namespace
