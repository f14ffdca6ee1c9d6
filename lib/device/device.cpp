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

std::string identity_of(const Device& device) {
  if (!device.uuid && !device.pci) return device.id;
  const std::size_t dot = device.id.find('.');
  return (device.uuid ? *device.uuid : *device.pci) +
         (dot == std::string::npos ? "" : device.id.substr(dot));
}

}  // namespace mgpu
