#include "suites/ntt/passes.hpp"

#include <algorithm>
#include <bit>

#include "suites/common/build_option.hpp"

namespace mgpu::ntt {
namespace {

std::string hex(std::uint64_t value, int bits = 32) {
  std::string text = "0x";
  for (int shift = bits - 4; shift >= 0; shift -= 4)
    text += "0123456789abcdef"[value >> shift & 15];
  return text + (bits == 32 ? "u" : "ul");
}

void define_limbs(std::string& options, const char* prefix, const Limbs& value) {
  for (unsigned i = 0; i < 8; ++i)
    options +=
        " -D" + std::string(prefix) + std::to_string(i) + "=" + hex(value[i / 2] >> (i % 2 * 32));
}

// Returns x times 2^factor_bits.
template <class F>
typename F::Value factor(typename F::Value x) {
  for (unsigned i = 0; i < F::factor_bits; ++i) x = F::add(x, x);
  return x;
}

// Returns the number by which a coset multiplies the subgroup of order n. Rows in bit-reversed
// order of the whole domain are those of the cosets, one after the other.
template <class F>
typename F::Value shift_of(const Problem& problem, std::uint64_t coset) {
  typename F::Value shift = F::of(F::generator);
  for (unsigned i = 0; coset >> i != 0; ++i)
    if ((coset >> i & 1) != 0)
      shift = F::multiply(shift, root_of_unity<F>(problem.bits + i + 1, false));
  return shift;
}

// Returns the powers of the first root r and, for each pass, its powers by which a work-item's
// 2^each_bits elements are multiplied after their blocks: element j of row i is r^(i j'), with j' =
// j with its bits reversed. Then small and large powers of w, and 1/n in between; the small and
// large powers of each coset's shift, with what all elements are multiplied by in between; and, if
// there are two passes over columns, the factors of the second one.
template <class F>
std::vector<std::byte> table_of(const Problem& problem, unsigned root_bits, unsigned low_bits,
                                std::span<const unsigned> each_bits) {
  using Value = typename F::Value;
  std::vector<std::byte> table;
  const auto append = [&](Value step, std::uint64_t count, Value x = F::of(1)) {
    x = factor<F>(x);
    for (std::uint64_t i = 0; i < count; ++i) {
      table.resize(table.size() + F::bytes);
      F::store(table.data() + table.size() - F::bytes, x);
      x = F::multiply(x, step);
    }
  };
  append(root_of_unity<F>(root_bits, problem.inverse), std::uint64_t{1} << root_bits);
  for (const unsigned each : each_bits)
    for (std::uint64_t i = 0; i < std::uint64_t{1} << root_bits; ++i) {
      const std::uint64_t row = i >> each;
      std::uint64_t exponent = 0;
      for (unsigned bit = 0; bit < each; ++bit)
        exponent += (i >> bit & 1) * row << (each - 1 - bit);
      const std::byte* const at = table.data() + exponent * F::bytes;
      const std::vector<std::byte> power(at, at + F::bytes);
      table.insert(table.end(), power.begin(), power.end());
    }
  append(root_of_unity<F>(problem.bits, problem.inverse), std::uint64_t{1} << low_bits);
  append(F::of(1), 1, inverse_of_power_of_two<F>(problem.bits));
  append(root_of_unity<F>(problem.bits - low_bits, problem.inverse),
         std::uint64_t{1} << (problem.bits - low_bits));
  for (std::uint64_t coset = 0; coset < problem.cosets; ++coset) {
    const Value shift = shift_of<F>(problem, coset);
    append(shift, std::uint64_t{1} << low_bits);
    append(F::of(1), 1, problem.commits ? factor<F>(F::of(1)) : F::of(1));
    append(power<F>(shift, Limbs{std::uint64_t{1} << low_bits, 0, 0, 0}),
           std::uint64_t{1} << (problem.bits - low_bits));
  }
  if (problem.passes().size() == 3) {
    const unsigned direct_bits = problem.bits - root_bits, column_bits = problem.column_bits();
    const Value root = root_of_unity<F>(direct_bits, problem.inverse);
    Value step = F::of(1);
    for (std::uint64_t k = 0; k < std::uint64_t{1} << (direct_bits - column_bits); ++k) {
      append(step, std::uint64_t{1} << column_bits);
      step = F::multiply(step, root);
    }
  }
  return table;
}

// Returns the power of 2 that is Goldilocks' root of order 16.
unsigned root_shift(bool inverse) {
  const auto root = root_of_unity<Goldilocks>(4, inverse);
  unsigned shift = 0;
  for (auto power = Goldilocks::of(1); power != root; ++shift)
    power = Goldilocks::add(power, power);
  return shift;
}

}  // namespace

std::string field_options(Field field, const DeviceTraits& device) {
  return with_field(field, [&](auto f) {
    using F = decltype(f);
    std::string options = define("WORD", F::bytes);
    if constexpr (F::bytes == 4) {
      std::uint32_t inverse = 1;  // Newton's method
      for (int i = 0; i < 5; ++i)
        inverse *= 2 - static_cast<std::uint32_t>(F::modulus[0]) * inverse;
      options += " -DP=" + hex(F::modulus[0]) + " -DINVERSE_P=" + hex(inverse);
    }
    if constexpr (F::bytes == 32) {
      options += " -DLIMBS=8 -DP_INVERSE=" + hex(F::minus_inverse()) +
                 " -DP_INVERSE_64=" + hex(F::minus_inverse(), 64);
      Limbs twice{};
      for (std::size_t i = 0; i < 4; ++i)
        twice[i] = F::modulus[i] << 1 | (i > 0 ? F::modulus[i - 1] >> 63 : 0);
      define_limbs(options, "P", F::modulus);
      define_limbs(options, "D", twice);
      define_limbs(options, "U", factor<F>(F::of(1)));
    }
    if (device.nvidia) options += " -DMSM_PTX -DNTT_PTX";
    if (device.cpu) options += " -DROLLED";
    return options;
  });
}

std::string Variant::name() const {
  return tile == 0 ? "tile per work-item" : "tiles of " + std::to_string(tile / 1024) + " KiB";
}

std::vector<Variant> variants(const DeviceTraits& device) {
  std::vector<Variant> all;
  for (unsigned tile = 32 << 10; tile >= 4 << 10; tile /= 2) all.push_back({tile});
  if (device.cpu) all.insert(all.begin(), Variant{});
  return all;
}

Passes::Passes(const Problem& problem, DeviceResources& device, const Variant& variant,
               std::size_t targets)
    : problem_(problem), variant_(variant), bits_(problem.passes()) {
  const auto columns = [&](std::size_t i, const std::string& more) {
    const bool first = i == 0, last = i + 2 == bits_.size();
    return make("columns", i, device,
                define("ROWS", 0) + define("IN_REVERSED", first && problem.order.in_reversed) +
                    define("OUT_REVERSED", last && problem.order.out_reversed) +
                    (first && problem.cosets > 0 ? " -DSHIFTED" : "") + (first ? "" : " -DDIRECT") +
                    more);
  };
  for (std::size_t i = 0; i + 1 < bits_.size(); ++i) columns_.push_back(columns(i, ""));
  if (targets > 0) to_targets_ = columns(bits_.size() - 2, define("PEERS", targets));
  rows_ = make("rows", bits_.size() - 1, device,
               define("ROWS", 1) + define("OUT_REVERSED", problem.order.out_reversed));
  std::vector<unsigned> each_bits;
  for (const unsigned bits : bits_) each_bits.push_back(this->each_bits(bits));
  table_ = with_field(problem.field, [&](auto f) {
    return table_of<decltype(f)>(problem, bits_.front(), problem.bits / 2, each_bits);
  });
  shifts_ = factors(bits_.size()) + shift_elements();
  on_device_ = device.allocate(table_.size());
}

std::uint64_t Passes::shift_elements() const {
  const unsigned low_bits = problem_.bits / 2;
  return (std::uint64_t{1} << low_bits) + 1 + (std::uint64_t{1} << (problem_.bits - low_bits));
}

std::uint64_t Passes::factors(std::size_t pass) const { return (1 + pass) << bits_.front(); }

// PoCL makes vectors of a row of 8-byte elements only if a work-item has two in registers.
unsigned Passes::most_each_bits() const {
  const Bytes element = problem_.element();
  return variant_.tile == 0 ? (element == 8 ? 1 : 2) : element == 32 ? 2 : 4;
}

// Eight-byte elements take as few registers as make the fewest exchanges: 512 of them are
// transformed in three steps of 8 or of 16, and three of 8 take a Hopper GPU 3 % less time. Those
// of 4 bytes gain nothing.
unsigned Passes::each_bits(unsigned bits) const {
  const unsigned most = most_each_bits();
  if (bits <= most || problem_.element() == 4) return std::min(bits, most);
  return u32(ceil_div(bits, ceil_div(bits, most)));
}

Passes::Kernels Passes::make(const char* name, std::size_t pass, DeviceResources& device,
                             const std::string& more) const {
  const unsigned bits = bits_[pass], each_bits = this->each_bits(bits);
  const Bytes element = problem_.element();
  // A CPU takes a cache line of a row at once, a GPU 16 elements if a tile of as many work-items as
  // with the most elements in registers has them.
  const std::uint64_t fitting = std::max<std::uint64_t>(
      1, (variant_.tile / element) >> (most_each_bits() - each_bits) >> bits);
  const std::uint64_t width =
      std::min({variant_.tile == 0 ? 64 / element : std::min(fitting, std::uint64_t{16}),
                std::uint64_t{1} << problem_.column_bits()});
  Kernels kernels;
  kernels.width = width;
  kernels.group = variant_.tile == 0 ? 1 : (width << bits) >> each_bits;
  kernels.kernel = device.kernel(
      "ntt.cl", name,
      field_options(problem_.field, device.traits()) + define("BITS", bits) +
          define("WIDTH_BITS", static_cast<std::uint64_t>(std::countr_zero(width))) +
          define("EACH_BITS", each_bits) + more + define("TILED", variant_.tile == 0) +
          define("ROOT_BITS", bits_.front()) + define("FACTORS", factors(pass)) +
          define("COLUMNS_REVERSED", problem_.order.in_reversed) +
          (problem_.field == Field::goldilocks ? define("ROOT_SHIFT", root_shift(problem_.inverse))
                                               : "") +
          (variant_.tile == 0 && element == 4 ? define("LANES", width) : ""));
  return kernels;
}

void Passes::load(Stream& stream) {
  if (!loaded_) stream.upload(*on_device_, 0, table_);
  loaded_ = true;
}

Pass Passes::pass(const Transforms& transforms) const {
  Pass pass{};
  pass.n = u32(problem_.n());
  pass.row_bits = problem_.row_bits();
  pass.column_bits = problem_.column_bits();
  pass.in_at = u32(transforms.in);
  pass.out_at = u32(transforms.out);
  pass.low = u32(factors(bits_.size()));
  pass.low_bits = problem_.bits / 2;
  pass.high = pass.low + (1u << pass.low_bits) + 1;
  pass.in_step = 1;
  pass.out_step = u32(transforms.out_step);
  pass.shift = u32(shifts_ + transforms.coset * shift_elements());
  pass.direct = u32(shifts_ + problem_.cosets * shift_elements());
  return pass;
}

// The first of two passes transforms along the first digit of i1; the second one along the other
// digit, in each block of the first.
void Passes::columns(const Columns& share, bool in_is_whole, const Transforms& transforms,
                     Buffer& in, Buffer& between, Buffer& out, Stream& stream,
                     std::span<Buffer* const> to, const Targets& targets) {
  const std::uint32_t n2 = 1u << problem_.column_bits();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const bool first = i == 0, last = i + 1 == columns_.size();
    const std::uint32_t other = columns_.size() == 1 ? 1 : 1u << bits_[1 - i];
    Pass pass = this->pass(transforms);
    pass.in_width = first && in_is_whole ? n2 : u32(share.size());
    pass.in_first = first && in_is_whole ? u32(share.first) : 0;
    pass.in_row = first ? other : 1;
    pass.in_hi = first ? 1 : 1u << bits_[1];
    pass.width = u32(share.size());
    pass.first = u32(share.first);
    pass.across = u32(ceil_div(share.size(), columns_[i].width));
    pass.out_row = other;
    pass.out_hi = 1;
    if (!last) pass.hi_exponent = n2;
    if (!first) pass.exponent_shift = bits_[0];
    if (!first) pass.in_at = u32(transforms.out);
    if (!first) pass.in_step = pass.out_step;
    if (last) pass.out_at = 0;
    if (last) pass.out_step = 1;
    Kernels& kernels = last && !to.empty() ? to_targets_ : columns_[i];
    Buffer& output = !last ? between : to.empty() ? out : *to.front();
    std::vector<KernelArg> arguments{first ? &in : &between, &output, on_device_.get(),
                                     ValueBytes{std::as_bytes(std::span(&pass, 1))}};
    if (last && !to.empty()) {
      for (std::size_t j = 1; j < most_devices; ++j)
        arguments.emplace_back(j < to.size() ? to[j] : &out);
      arguments.emplace_back(ValueBytes{std::as_bytes(std::span(&targets, 1))});
    }
    const std::size_t group = kernels.group;
    stream.launch(
        *kernels.kernel,
        {{std::uint64_t{other} * pass.across * group, transforms.count, 1}, {group, 1, 1}},
        arguments);
  }
}

void Passes::whole(const Transforms& transforms, Buffer& in, Buffer& between, Buffer& out,
                   Stream& stream) {
  const std::uint32_t n2 = 1u << problem_.column_bits();
  Sources sources;
  sources.at.front() = {n2, n2, 0, 1};
  columns({0, n2}, true, transforms, in, out, between, stream);
  rows(problem_.n() >> problem_.column_bits(), transforms, between, between, sources, 1, out,
       stream);
}

void Passes::rows(std::uint64_t rows, const Transforms& transforms, Buffer& here, Buffer& there,
                  const Sources& sources, std::size_t owners, Buffer& out, Stream& stream) {
  Pass pass = this->pass(transforms);
  pass.in_at = 0;
  pass.rows = u32(rows);
  pass.owners = u32(owners);
  pass.scaled = problem_.inverse;
  const ValueBytes argument{std::as_bytes(std::span(&pass, 1))};
  stream.launch(
      *rows_.kernel,
      {{ceil_div(rows, rows_.width) * rows_.group, transforms.count, 1}, {rows_.group, 1, 1}},
      {&here, &there, ValueBytes{std::as_bytes(std::span(&sources, 1))}, &out, on_device_.get(),
       argument});
}

}  // namespace mgpu::ntt
