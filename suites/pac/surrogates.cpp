// Launches of kernels/pac_direct.cl and kernels/pac_transform.cl.
#include <algorithm>

#include "suites/pac/kernel_options.hpp"
#include "suites/pac/stages.hpp"

namespace mgpu::pac {
namespace {

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

// Base of both methods: the list of shifts.
class WithShifts : public Surrogates {
 public:
  WithShifts(DeviceResources& device, const Problem& problem)
      : problem_(problem),
        phases_(narrow(problem.phase.count)),
        amplitudes_(narrow(problem.amplitude.count)),
        list_(shift_list(problem)),
        shifts_(device.allocate(list_.entries.size() * sizeof(ShiftEntry))) {}

  void upload(Stream& stream) override {
    if (there_) return;
    there_ = true;
    stream.upload(*shifts_, 0, std::as_bytes(std::span(list_.entries)));
    upload_others(stream);
  }

 protected:
  virtual void upload_others(Stream&) {}
  const ShiftList& list() const { return list_; }

  const Problem& problem_;
  const std::uint32_t phases_, amplitudes_;
  const ShiftList list_;
  std::unique_ptr<Buffer> shifts_;

 private:
  bool there_ = false;
};

class Direct final : public WithShifts {
 public:
  Direct(DeviceResources& device, const Problem& problem, const Layout& layout)
      : WithShifts(device, problem) {
    const DeviceTraits& traits = device.traits();
    constexpr char file[] = "pac_direct.cl";
    in_local_ = !traits.cpu &&
                2 * size_bytes() + most_local * sizeof(Moments) + least_left <= traits.local_memory;
    const std::string options = kernel_options(problem) + (in_local_ ? " -DIN_LOCAL" : "");
    sort_ = device.kernel(file, "sort_by_bin", options);
    shift_ = device.kernel(file, "shift_directly", options);
    order_ = device.allocate(layout.order);
    while (!traits.cpu && local_ < most_local && local_ < list_.entries.size()) local_ *= 2;
    local_ = group_of(local_, *shift_);
    sort_local_ = group_of(traits.cpu ? 1 : 128, *sort_);
  }

  void enqueue(const Chunk& chunk, Items begin, Items end, Filter& filter,
               Stream& stream) override {
    const std::uint64_t pieces = std::uint64_t{chunk.count} * phases_;
    stream.launch(*sort_, grid_of(pieces * sort_local_, sort_local_),
                  {&filter.bins(), &filter.counts(), order_.get(),
                   LocalBytes{problem_.bins * sizeof(std::uint32_t)}});
    const std::uint32_t first = list_.first[begin], count = list_.first[end] - first;
    std::vector<KernelArg> args{order_.get(),
                                &filter.counts(),
                                &filter.weights(),
                                &filter.sizes(),
                                &filter.totals(),
                                phases_,
                                amplitudes_,
                                shifts_.get(),
                                first,
                                count,
                                std::uint32_t{chunk.accumulate},
                                chunk.rows.width,
                                chunk.rows.stride,
                                chunk.rows.offset,
                                chunk.first,
                                chunk.moments,
                                LocalBytes{local_ * sizeof(Moments)}};
    if (in_local_) args.push_back(LocalBytes{2 * size_bytes()});
    stream.launch(*shift_, grid_of(pieces * amplitudes_ * local_, local_), args);
  }

 private:
  static constexpr std::size_t most_local = 256;
  static constexpr Bytes least_left = 1024;  // local memory left for the compiler
  Bytes size_bytes() const { return problem_.samples * sizeof(std::uint16_t); }

  bool in_local_ = false;
  std::size_t local_ = 1, sort_local_ = 1;
  std::unique_ptr<Kernel> sort_, shift_;
  std::unique_ptr<Buffer> order_;
};

// Limits the registers. With 65,536 registers, three work-groups of 128 have 168 per work-item,
// four have 128. Unlimited, the compiler takes 168, or 166 with roots in local memory; in the
// latter case 128 suffice.
std::string for_device(const DeviceTraits& device, Method method) {
  if (device.cpu) return " -DROLLED";
  if (!device.nvidia) return "";
  return method == Method::transform_local ? " -cl-nv-maxrregcount=128"
                                           : " -cl-nv-maxrregcount=168";
}

// Transforms of one length, for shifts modulo one number.
struct OfModulus {
  TransformShape shape;
  Uint2 factor{};
  std::vector<Uint2> down, up;
  std::unique_ptr<Buffer> down_roots, up_roots;
  std::unique_ptr<Kernel> transform, shift;
};

class ByTransform final : public WithShifts {
 public:
  ByTransform(DeviceResources& device, const Problem& problem, const Layout& layout)
      : WithShifts(device, problem) {
    for (std::uint32_t modulus = 1;
         modulus <= (problem.axis == Axis::permutation ? shift_classes : 1); modulus *= 2)
      add(device, layout.method, modulus);
    spectra_ = device.allocate(layout.transforms);
  }

  void upload_others(Stream& stream) override {
    for (const auto& [modulus, of] : by_modulus_) {
      stream.upload(*of.down_roots, 0, std::as_bytes(std::span(of.down)));
      stream.upload(*of.up_roots, 0, std::as_bytes(std::span(of.up)));
    }
  }

  void enqueue(const Chunk& chunk, Items begin, Items end, Filter& filter,
               Stream& stream) override {
    bool accumulate = chunk.accumulate;
    for (const ShiftNode& node : nodes_of(list_, begin, end)) {
      enqueue_node(chunk, node, accumulate, filter, stream);
      accumulate = true;
    }
  }

 private:
  void add(DeviceResources& device, Method method, std::uint32_t modulus) {
    OfModulus of;
    of.shape = transform_shape(problem_, method, modulus);
    of.factor = with_quotient(transform_factor(problem_.samples / modulus));
    of.down = transform_roots(of.shape.log2_length, false);
    of.up = transform_roots(of.shape.log2_length, true);
    of.down_roots = device.allocate(of.down.size() * sizeof(Uint2));
    of.up_roots = device.allocate(of.up.size() * sizeof(Uint2));
    // Each work-item computes as many shifts as the fullest node needs.
    std::uint32_t most = 1;
    for (Items begin = 0; begin < shift_classes; begin += shift_classes / modulus)
      most = std::max(most, list_.first[begin + shift_classes / modulus] - list_.first[begin]);
    const std::size_t slots = ceil_div(most, of.shape.items);
    const std::string options = kernel_options(problem_) + " -DMODULUS=" + std::to_string(modulus) +
                                " -DLOG2_LENGTH=" + std::to_string(of.shape.log2_length) +
                                " -DPAIRS=" + std::to_string(of.shape.pairs) +
                                " -DSLOTS=" + std::to_string(slots) +
                                (method == Method::transform_local ? " -DROOTS_IN_LOCAL" : "") +
                                for_device(device.traits(), method);
    constexpr char file[] = "pac_transform.cl";
    of.transform = device.kernel(file, "transform_series", options);
    of.shift = device.kernel(file, "shift_by_transform", options);
    by_modulus_[modulus] = std::move(of);
  }

  void enqueue_node(const Chunk& chunk, const ShiftNode& node, bool accumulate, Filter& filter,
                    Stream& stream) {
    OfModulus& of = by_modulus_.at(node.modulus);
    const std::size_t group = of.shape.group(), pairs = of.shape.pairs;
    const auto grid = [&](std::uint64_t transforms) {
      return grid_of(ceil_div(transforms, pairs) * group, group);
    };
    const Bytes words = pairs * of.shape.padded() * sizeof(std::uint32_t);
    const std::uint64_t sequences = std::uint64_t{problem_.bins - 1} * phases_ + amplitudes_;
    stream.launch(*of.transform, grid(chunk.count * sequences * node.modulus),
                  {&filter.bins(), &filter.sizes(), chunk.count, phases_, amplitudes_, node.rest,
                   ValueBytes{std::as_bytes(std::span(of.factor))}, of.down_roots.get(),
                   spectra_.get(), LocalBytes{words}});
    stream.launch(*of.shift, grid(std::uint64_t{chunk.count} * phases_ * amplitudes_),
                  {spectra_.get(), of.up_roots.get(), &filter.weights(), &filter.totals(),
                   chunk.count, phases_, amplitudes_, shifts_.get(), node.first, node.count,
                   std::uint32_t{accumulate}, chunk.rows.width, chunk.rows.stride,
                   chunk.rows.offset, chunk.first, chunk.moments, LocalBytes{2 * words},
                   LocalBytes{std::max<std::size_t>(1, of.shape.local_roots) * sizeof(Uint2)},
                   LocalBytes{group * sizeof(Moments)}});
  }

  std::map<std::uint32_t, OfModulus> by_modulus_;
  std::unique_ptr<Buffer> spectra_;
};

}  // namespace

std::unique_ptr<Surrogates> make_surrogates(DeviceResources& device, const Problem& problem,
                                            const Layout& layout) {
  if (layout.method == Method::direct) return std::make_unique<Direct>(device, problem, layout);
  return std::make_unique<ByTransform>(device, problem, layout);
}

}  // namespace mgpu::pac
