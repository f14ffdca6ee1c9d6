// Cost of messages between ranks, compared with the same operations on a device of rank 0 itself: a
// question and its answer, bytes there and back, a slice assigned, results returned. Needs a
// launcher and at least two ranks; scripts/cluster_bench.sh runs it with each MPI. Usage:
// mgpu-cluster-bench [--quick] [--json FILE]
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "lib/base/embedded.hpp"
#include "lib/cluster/cluster.hpp"
#include "lib/exec/leak.hpp"
#include "lib/exec/wait.hpp"
#include "lib/opencl/cl_backend.hpp"

namespace {

using namespace mgpu;
using Json = nlohmann::ordered_json;

struct Figure {
  std::string what, where;
  Bytes bytes = 0;
  std::vector<double> us;  // sorted
  double at(double part) const {
    return us[static_cast<std::size_t>(part * static_cast<double>(us.size() - 1))];
  }
};

class Bench {
 public:
  Bench(Backend& backend, bool quick) : backend_(backend), quick_(quick) {}

  void device(const Device& facts, const std::string& where) {
    where_ = where;
    const std::unique_ptr<OpenDevice> device = backend_.open(facts, {});
    measure("question and answer", 0, 1000, [&] { device->take_setup_cost(); });
    for (const Bytes bytes : {Bytes{8}, Bytes{1} << 16, Bytes{1} << 23}) moves(*device, bytes);
    slices(*device);
  }

  const std::vector<Figure>& figures() const { return figures_; }

 private:
  // Measures `once`, which performs the operation `each` times.
  void measure(const std::string& what, Bytes bytes, unsigned times,
               const std::function<void()>& once, unsigned each = 1) {
    Figure figure{what, where_, bytes, {}};
    if (quick_) times = std::max(times / 100, 3u);
    for (unsigned i = 0; i < times + times / 10 + 1; ++i) {
      const Nanos begin = backend_.now();
      once();
      if (i > times / 10) figure.us.push_back(seconds(backend_.now() - begin) * 1e6 / each);
    }
    std::sort(figure.us.begin(), figure.us.end());
    figures_.push_back(std::move(figure));
  }

  void wait(OpenDevice& device, BatchId batch) { wait_for(backend_, device, batch); }

  // Measures transfers and checks that the bytes return unchanged.
  void moves(OpenDevice& device, Bytes bytes) {
    const std::unique_ptr<Buffer> buffer = device.resources().allocate(bytes);
    std::vector<std::byte> there(bytes), back(bytes);
    for (Bytes i = 0; i < bytes; ++i) there[i] = static_cast<std::byte>(i * 37 + 11);
    std::vector<BatchId> done;
    const auto run = [&](const auto& commands) {
      commands(device.stream());
      done.push_back(device.submit());
      wait(device, done.back());
    };
    const unsigned times = bytes > (1 << 20) ? 50 : 500;
    measure("upload", bytes, times,
            [&] { run([&](Stream& stream) { stream.upload(*buffer, 0, there); }); });
    measure("download", bytes, times,
            [&] { run([&](Stream& stream) { stream.download(*buffer, 0, back); }); });
    if (bytes > 1 << 20) {
      std::vector<std::byte> more(bytes);
      measure("two downloads at once", bytes, times, [&] {
        run([&](Stream& stream) {
          stream.download(*buffer, 0, back);
          stream.download(*buffer, 0, more);
        });
      });
    }
    if (back != there) throw Error(ErrorKind::device, "other bytes came back than went there");
    for (const BatchId batch : done) device.take(batch);
  }

  // Measures slices of a kernel that does nothing, which leaves the cost of assigning it and of
  // reporting its end: one slice at a time, and one ahead.
  void slices(OpenDevice& device) {
    const std::unique_ptr<Kernel> kernel = device.resources().foreign_kernel(
        {"nothing.cl", "__kernel void nothing(uint unused) {}"}, "nothing", "");
    std::vector<BatchId> all, ahead;
    const auto enqueue = [&] {
      device.begin_slice();
      const KernelArg argument = std::uint32_t{0};
      device.stream().launch(*kernel, Grid{}, std::span(&argument, 1));
      all.push_back(device.submit());
      return all.back();
    };
    measure("slice, one at a time", 0, 1000, [&] { wait(device, enqueue()); });
    ahead.push_back(enqueue());
    constexpr unsigned kSeries = 50;
    const auto series = [&] {
      for (unsigned i = 0; i < kSeries; ++i) {
        ahead.push_back(enqueue());
        wait(device, ahead.front());
        ahead.erase(ahead.begin());
      }
    };
    measure("slice, the next one ahead", 0, 20, series, kSeries);
    wait(device, ahead.front());
    for (const BatchId batch : all) device.take(batch);
  }

  Backend& backend_;
  const bool quick_;
  std::string where_;
  std::vector<Figure> figures_;
};

std::string host_name() {
  utsname system{};
  return uname(&system) == 0 ? system.nodename : "unknown";
}

Json in_json(const Figure& f) {
  return {{"what", f.what},         {"where", f.where},    {"bytes", f.bytes},   {"n", f.us.size()},
          {"median_us", f.at(0.5)}, {"p10_us", f.at(0.1)}, {"p90_us", f.at(0.9)}};
}

void measure(Cluster& cluster, bool quick, const std::string& file) {
  const std::unique_ptr<Backend> backend = cluster.backend();
  const std::vector<Device> devices = backend->enumerate().devices;
  Bench bench(*backend, quick);
  Json used = Json::array();
  for (const bool own : {true, false}) {
    const auto is_there = [&](const Device& device) {
      return !device.node || (device.node->number == 0) == own;
    };
    const auto at = std::find_if(devices.begin(), devices.end(), is_there);
    if (at == devices.end())
      throw Error(ErrorKind::no_device,
                  own ? "rank 0 has no device" : "no other rank has a device");
    used.push_back({{"where", own ? "rank 0" : "rank 1"}, {"id", at->id}, {"name", at->name}});
    bench.device(*at, own ? "rank 0" : "rank 1");
  }
  const std::string library = backend->cluster()->library;
  std::printf("%s\n%-28s %10s %12s %12s\n", library.c_str(), "us, median (10 % to 90 %)", "bytes",
              "rank 0", "another rank");
  const std::size_t half = bench.figures().size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const Figure& own = bench.figures()[i];
    const Figure& other = bench.figures()[half + i];
    std::printf("%-28s %10llu %12.1f %12.1f (%.1f to %.1f)\n", own.what.c_str(),
                static_cast<unsigned long long>(own.bytes), own.at(0.5), other.at(0.5),
                other.at(0.1), other.at(0.9));
  }
  if (file.empty()) return;
  Json all = {
      {"library", library}, {"host", host_name()}, {"devices", used}, {"figures", Json::array()}};
  for (const Figure& figure : bench.figures()) all["figures"].push_back(in_json(figure));
  std::ofstream out(file);
  out << all.dump(1) << '\n';
  if (!out) throw Error(ErrorKind::input, file + " cannot be written");
}

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    bool quick = false;
    std::string file, arguments;
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      arguments += word + ' ';
      if (word == "--quick")
        quick = true;
      else if (word == "--json" && i + 1 < argc)
        file = argv[++i];
      else
        throw Error(ErrorKind::usage, word + " is not an option; expected: --quick, --json FILE");
    }
    const std::optional<Launch> launch = find_launch(variable);
    if (!launch)
      throw Error(ErrorKind::usage,
                  "this is one process; expected: two ranks under a launcher of MPI");
    auto cluster = Cluster::join(*launch, make_cl_backend({embedded_kernels(), {}}),
                                 {host_name(), "1", "cluster_bench", arguments},
                                 std::filesystem::read_symlink("/proc/self/exe"));
    int code = 0;
    try {
      if (cluster->rank() > 0)
        cluster->serve();
      else
        measure(*cluster, quick, file);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "mgpu-cluster-bench: error: %s\n", error.what());
      code = 1;
    }
    cluster->leave(code);
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mgpu-cluster-bench: error: %s\n", error.what());
    return 2;
  }
}
