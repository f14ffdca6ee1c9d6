#include "suites/common/product_sizes.hpp"

#include "lib/workload/pages.hpp"

namespace mgpu::product {

Bytes ProductSizes::host_bytes() const {
  return in_pages(a_bytes()) + in_pages(b_bytes()) + in_pages(c_in_bytes()) +
         in_pages(c_bytes() + path_bytes()) + page_bytes;
}

Shape shape_of(const ProductSizes& sizes, double ops_each, const char* rate_unit) {
  const Geometry geometry = Geometry::of(sizes.rows, sizes.columns, sizes.axis);
  Shape shape;
  shape.result_on_devices = true;
  const auto per_item = [&](Bytes bytes) {
    return static_cast<double>(bytes) / static_cast<double>(geometry.items());
  };
  const Bytes a = sizes.a_bytes(), b = sizes.b_bytes(), out = sizes.c_bytes() + sizes.path_bytes();
  shape.items = geometry.items();
  shape.unit = sizes.axis == Axis::rows   ? ItemUnit{"rows", sizes.rows}
               : sizes.axis == Axis::cols ? ItemUnit{"columns", sizes.columns}
                                          : ItemUnit{"tiles"};
  shape.ops = ops_each * static_cast<double>(sizes.rows) * static_cast<double>(sizes.columns) *
              static_cast<double>(sizes.inner);
  shape.rate_unit = rate_unit;
  shape.bytes_in = a + b + sizes.c_in_bytes();
  shape.bytes_out = out;
  shape.cost.ops = shape.ops / static_cast<double>(geometry.items());
  shape.cost.out_bytes = per_item(out);
  // If C is split by tiles, a device is sent all that its tiles touch: with n devices about 1 /
  // sqrt(n) of A and B. Only its share of A and B is counted here.
  shape.cost.in_bytes = per_item(sizes.c_in_bytes() + (sizes.axis == Axis::cols ? 0 : a) +
                                 (sizes.axis == Axis::rows ? 0 : b));
  shape.cost.replicated = sizes.axis == Axis::rows ? b : sizes.axis == Axis::cols ? a : 0;
  return shape;
}

}  // namespace mgpu::product
