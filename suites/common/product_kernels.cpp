#include "suites/common/product_kernels.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "suites/common/build_option.hpp"
#include "suites/common/group_limits.hpp"

namespace mgpu::product {

bool divides(unsigned rows, unsigned columns, const Geometry& geometry) {
  return (geometry.axis() == Axis::cols || geometry.edge() % rows == 0) &&
         (geometry.axis() == Axis::rows || geometry.edge() % columns == 0);
}

unsigned vector_of(std::uint64_t length, unsigned widest) {
  return length % widest == 0 ? widest : 1;
}

Variant variant_of(const RegisterTile& tile, const char* kind) {
  Variant made;
  made.kind = kind;
  made.tile = std::to_string(tile.rows) + 'x' + std::to_string(tile.columns) + 'x' +
              std::to_string(tile.inner) + " by " + std::to_string(tile.mine_rows) + 'x' +
              std::to_string(tile.mine_columns);
  made.tile_rows = tile.rows;
  made.tile_columns = tile.columns;
  made.threads = tile.threads();
  made.options = define("BM", tile.rows) + define("BN", tile.columns) + define("BK", tile.inner) +
                 define("TM", tile.mine_rows) + define("TN", tile.mine_columns) +
                 define("WM", tile.warps_m) + define("WN", tile.warps_n) +
                 define("STAGES", tile.stages);
  return made;
}

Variant variant_of(const CpuTile& tile, const Geometry& geometry) {
  const auto within = [&](bool split, unsigned edge) {
    return split ? static_cast<unsigned>(std::min<std::uint64_t>(geometry.edge(), edge)) : edge;
  };
  Variant made;
  made.kind = "cpu";
  made.panel_rows = tile.register_rows;
  made.panel_columns = 2 * tile.lanes;
  made.tile_rows = within(geometry.axis() != Axis::cols, tile.rows);
  made.tile_columns = within(geometry.axis() != Axis::rows, tile.columns);
  made.tile = std::to_string(tile.register_rows) + 'x' + std::to_string(2 * tile.lanes) + " in " +
              std::to_string(tile.rows) + 'x' + std::to_string(tile.columns);
  made.options = define("W", tile.lanes) + define("MR", tile.register_rows) +
                 define("BM", made.tile_rows) + define("BN", made.tile_columns);
  return made;
}

std::vector<Variant> usable(std::vector<Variant> all, const DeviceTraits& device,
                            const std::function<bool(const Variant&)>& named,
                            const std::string& preferred) {
  std::erase_if(all, [&](const Variant& variant) {
    return !named(variant) || variant.threads > device.max_work_group ||
           (!device.cpu && variant.local > device.local_memory);
  });
  const auto first = std::find_if(
      all.begin(), all.end(), [&](const Variant& variant) { return variant.name() == preferred; });
  if (first != all.end()) std::rotate(all.begin(), first, first + 1);
  return all;
}

std::string why_none_suits(const DeviceTraits& device, const std::vector<Variant>& all) {
  std::vector<GroupDemand> demands;
  for (const Variant& variant : all) demands.push_back({variant.threads, variant.local});
  return mgpu::why_none_suits(device, demands);
}

Kernels choose_kernels(DeviceResources& device, const std::vector<Variant>& candidates,
                       const char* multiply, const std::function<bool(const Kernels&)>& works) {
  std::string why = "no kernel is made for it";
  for (const Variant& variant : candidates) {
    Kernels made;
    made.variant = variant;
    try {
      made.multiply = device.kernel(variant.file, multiply, variant.options);
      if (variant.panel_rows > 0)
        made.pack_rows = device.kernel(variant.file, "pack_rows", variant.options);
      if (variant.panel_columns > 0)
        made.pack_columns = device.kernel(variant.file, "pack_columns", variant.options);
      if (!variant.to_be_tried || works(made)) return made;
      why = "kernel " + variant.name() + " gives wrong results on this device";
    } catch (const Error& error) {
      const bool of_kernel = error.kind() == ErrorKind::unsupported ||
                             (variant.to_be_tried && error.kind() == ErrorKind::device);
      if (!of_kernel) throw;
      why = "kernel " + variant.name() + ": " + error.what();
    }
  }
  throw Error(ErrorKind::unsupported, why);
}

}  // namespace mgpu::product
