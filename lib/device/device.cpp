// Names of device types.
#include "lib/device/device.hpp"

#include "lib/base/error.hpp"

namespace mgpu {

std::string_view to_string(DeviceType type) {
  switch (type) {
    case DeviceType::gpu:
      return "gpu";
    case DeviceType::cpu:
      return "cpu";
    case DeviceType::accelerator:
      return "accelerator";
    case DeviceType::custom:
      return "custom";
  }
  throw Error(ErrorKind::internal, "a device type without a name");
}

}  // namespace mgpu
