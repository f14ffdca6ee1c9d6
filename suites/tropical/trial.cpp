// Trial of the vendor kernels: each computes a small product with a known result before it is used.
#include <cstring>

#include "suites/common/product_program.hpp"
#include "suites/tropical/kernels.hpp"
#include "suites/tropical/weights.hpp"

namespace mgpu::tropical {
namespace {

// A small product that is ragged on every side, larger than one tile in each direction, and longer
// than two stages of any kernel.
template <class Number>
class Example {
 public:
  Example(const Variant& variant, const Problem& problem, Purpose purpose)
      : problem_(problem),
        purpose_(purpose),
        rows_(variant.tile_rows + 3),
        columns_((variant.tile_columns + 5) / 4 * 4),
        a_(std::size_t{rows_} * inner),
        b_(std::size_t{inner} * columns_),
        c_(std::size_t{rows_} * columns_),
        result_(c_.size()),
        paths_(c_.size(), -7),
        of_b_(b_.size()) {
    problem_.data = purpose.ordered ? Data::integers : Data::negative;
    problem_.density = 0.5;
    fill_operand<Number>(problem_, 1, a_, 1);
    fill_operand<Number>(problem_, 2, b_, 1);
    fill_operand<Number>(problem_, 3, c_, 1);
    for (std::size_t i = 0; i < of_b_.size(); ++i)
      of_b_[i] = static_cast<std::int32_t>(i * 7 % 1001);
  }

  // Tells whether the device's result is right, or whether the device runs no commands at set-up.
  bool is_right(DeviceResources& device, const Kernels& kernels) {
    return run(device, kernels) && compare();
  }

 private:
  bool run(DeviceResources& device, const Kernels& kernels) {
    const Variant& variant = kernels.variant;
    const std::vector<std::uint32_t> tiles{0, 1, 1 << 16, 1 << 16 | 1};
    const auto made = [&](std::size_t count) { return device.allocate(count * sizeof(Number)); };
    const auto a = made(a_.size()), b = made(b_.size()), c = made(c_.size()),
               paths = made(c_.size()), of_b = made(b_.size());
    const auto listed = device.allocate(tiles.size() * sizeof(std::uint32_t));
    const std::uint64_t panels = round_up(rows_, variant.panel_rows);
    const auto packed = made(panels * variant.packed_inner(inner));
    const std::uint32_t zero = 0, two = 2;
    const auto ran = device.try_out([&](Stream& stream) {
      stream.upload(*a, 0, std::as_bytes(std::span(a_)));
      stream.upload(*b, 0, std::as_bytes(std::span(b_)));
      stream.upload(*c, 0, std::as_bytes(std::span(c_)));
      stream.upload(*paths, 0, std::as_bytes(std::span(paths_)));
      stream.upload(*of_b, 0, std::as_bytes(std::span(of_b_)));
      stream.upload(*listed, 0, std::as_bytes(std::span(tiles)));
      std::vector<KernelArg> pack{a.get(), packed.get(), zero, rows_, inner, inner},
          args{packed.get(), b.get(), c.get(), paths.get()};
      if (purpose_.update) {
        pack.push_back(zero);
        args.insert(args.end(), {of_b.get(), std::uint32_t{1} << 16, zero});
      } else {
        args.push_back(listed.get());
      }
      args.insert(args.end(),
                  {zero, two, two, rows_, columns_, inner, zero, zero, inner, columns_, columns_});
      stream.launch(*kernels.pack_rows,
                    pack_rows_grid(variant, rows_, variant.packed_inner(inner),
                                   group_of(product::kPackingGroup, *kernels.pack_rows)),
                    pack);
      stream.launch(*kernels.multiply, grid_of(4 * std::size_t{variant.threads}, variant.threads),
                    args);
      stream.download(*c, 0, std::as_writable_bytes(std::span(result_)));
      if (problem_.paths)
        stream.download(*paths, 0, std::as_writable_bytes(std::span(found_paths_)));
    });
    return ran.has_value();
  }

  bool compare() const {
    const Number none = nothing<Number>(problem_.maximum);
    for (std::uint32_t i = 0; i < rows_; ++i) {
      for (std::uint32_t j = 0; j < columns_; ++j) {
        const std::size_t at = std::size_t{i} * columns_ + j;
        Number best = purpose_.update ? c_[at] : none;
        std::int32_t path = purpose_.update ? paths_[at] : -1;
        for (std::uint32_t k = 0; k < inner; ++k) {
          const Number x = a_[i * inner + k], y = b_[k * columns_ + j];
          if (x == none || y == none || (problem_.maximum ? x + y <= best : x + y >= best))
            continue;
          best = x + y;
          path = purpose_.update ? of_b_[k * columns_ + j] : static_cast<std::int32_t>(k);
        }
        if (std::memcmp(&best, &result_[at], sizeof best) != 0 ||
            (problem_.paths && path != found_paths_[at]))
          return false;
      }
    }
    return true;
  }

  static constexpr std::uint32_t inner = 61;
  Problem problem_;
  Purpose purpose_;
  std::uint32_t rows_, columns_;
  std::vector<Number> a_, b_, c_, result_;
  std::vector<std::int32_t> paths_, of_b_, found_paths_ = paths_;
};

bool works(DeviceResources& device, const Kernels& kernels, const Problem& problem,
           Purpose purpose) {
  if (problem.integers)
    return Example<std::int32_t>(kernels.variant, problem, purpose).is_right(device, kernels);
  return Example<float>(kernels.variant, problem, purpose).is_right(device, kernels);
}

}  // namespace

Kernels choose_kernels(DeviceResources& device, const std::vector<Variant>& candidates,
                       const Problem& problem, Purpose purpose) {
  return product::choose_kernels(
      device, candidates, "tropical_multiply",
      [&](const Kernels& kernels) { return works(device, kernels, problem, purpose); });
}

}  // namespace mgpu::tropical
