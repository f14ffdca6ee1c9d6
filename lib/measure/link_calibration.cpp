// Calibration of devices that move data at once: all, and the first 2, 3, ...
#include <algorithm>

#include "lib/measure/calibration.hpp"
#include "lib/measure/calibration_parts.hpp"
#include "lib/measure/together.hpp"

namespace mgpu {
namespace {

class LinkCalibration {
 public:
  LinkCalibration(Backend& backend, std::span<OpenDevice* const> devices)
      : backend_(backend), devices_(devices) {}

  LinkCapability measure() {
    piece_ = transfer_piece(devices_.front()->resources().traits());
    for (OpenDevice* device : devices_)
      piece_ = std::min(piece_, transfer_piece(device->resources().traits()));
    for (OpenDevice* device : devices_)
      buffers_.push_back(&holdings_.add(device->resources().allocate(piece_)));
    memory_ = &holdings_.add(
        std::make_unique<HostMemory>(backend_, piece_ * devices_.size(), devices_, true));
    try {
      LinkRate up = by_count(true);
      return {{}, std::move(up), by_count(false)};
    } catch (...) {
      const auto drained = [&](OpenDevice* device) { return try_drain(backend_, *device); };
      if (std::count_if(devices_.begin(), devices_.end(), drained) < std::ssize(devices_))
        holdings_.leak();
      throw;
    }
  }

 private:
  // Copies per device and try, so that start and end are a small part of it.
  static constexpr unsigned kPieces = 4;

  bool any_cpu() const {
    return std::any_of(devices_.begin(), devices_.end(),
                       [](OpenDevice* d) { return d->resources().traits().cpu; });
  }

  // Measures the first two, three and so on up to all devices; one device is limited by its own
  // link only. CPUs copy with their cores, so that only all of them at once are informative.
  LinkRate by_count(bool up) {
    const std::size_t all = devices_.size();
    if (any_cpu() || all < 3) return rate(up, all);
    std::vector<double> rates(all);
    for (std::size_t count = 2; count <= all; ++count) rates[count - 1] = rate(up, count);
    rates[0] = rates[1];
    return LinkRate(std::move(rates));
  }

  double rate(bool up, std::size_t count) {
    together(up, count);  // the first use allocates and maps
    // Cores suffer more interference than GPUs.
    const Nanos begin = backend_.now(), enough = any_cpu() ? 2 * kSampledCpu : kSampled;
    Nanos least = together(up, count);
    for (unsigned tries = 1; tries < kLeastTries || backend_.now() - begin < enough; ++tries)
      least = std::min(least, together(up, count));
    return static_cast<double>(piece_ * kPieces * count) / std::max(seconds(least), 1e-9);
  }

  // Returns the time from the first begin to the last end of the copies of the first `count`
  // devices.
  Nanos together(bool up, std::size_t count) {
    std::vector<DeviceIndex> who;
    for (std::uint32_t i = 0; i < count; ++i) who.push_back({i});
    const auto enqueue = [this, up](DeviceIndex device) {
      Stream& stream = devices_[device.value]->stream();
      const auto mine = memory_->bytes().subspan(device.value * piece_, piece_);
      for (unsigned i = 0; i < kPieces; ++i) {
        if (up)
          stream.upload(*buffers_[device.value], 0, mine);
        else
          stream.download(*buffers_[device.value], 0, mine);
      }
    };
    const Repetitions once{.warmup = 0, .least = 1, .most = 1};
    return whole_time(Together(backend_, devices_, nullptr).measure(who, once, enqueue).front());
  }

  Backend& backend_;
  std::span<OpenDevice* const> devices_;
  Bytes piece_ = 0;  // the same for all devices
  Holdings holdings_;
  std::vector<Buffer*> buffers_;
  HostMemory* memory_ = nullptr;
};

}  // namespace

LinkCapability measure_link(Backend& backend, std::span<OpenDevice* const> devices) {
  return LinkCalibration(backend, devices).measure();
}

}  // namespace mgpu
