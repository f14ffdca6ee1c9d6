#include "suites/kernel/launches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/quote.hpp"
#include "suites/kernel/stage_order.hpp"

namespace mgpu::kernel {
namespace {

// Returns the compiler options: the descriptor's and the include folders. Folder names are not
// quoted even if they have spaces, since not all drivers know quotes.
std::string build_options(const Problem& problem) {
  std::string options = problem.options;
  for (const auto& folder : problem.descriptor.include) options += " -I " + folder.string();
  if (problem.descriptor.include.empty() && !problem.descriptor.folder.empty())
    options += " -I " + problem.descriptor.folder.string();
  return options;
}

std::string_view word_of(KernelParameter::Space space) {
  switch (space) {
    case KernelParameter::Space::value:
      return "a value";
    case KernelParameter::Space::local:
      return "__local";
    case KernelParameter::Space::constant:
      return "__constant";
    case KernelParameter::Space::global:
      return "__global";
  }
  return "";
}

// Writes the value of a scalar for a launch.
void put_value(const Argument& one, const SliceNumbers& numbers, std::byte* to) {
  const std::vector<Lane> lanes = lanes_of(one.type);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const Number value = (one.members.empty() ? one.scalar : one.members[i]).evaluate(numbers);
    if (!fits_base(lanes[i].base, value))
      throw Error(ErrorKind::input, fmt::format("{}.{} is {}, which is no {}", one.where,
                                                one.members.empty() ? "scalar" : "fields",
                                                value.real(), name_of(lanes[i].base)));
    put_number(lanes[i].base, value, to + lanes[i].at);
  }
}

std::string type_without_pointer(std::string type) {
  std::erase(type, '*');
  return type;
}

}  // namespace

std::optional<Bytes> size_of_type(DeviceResources& device, const KernelSource& source,
                                  const std::string& options, std::string type) {
  if (type.starts_with("struct")) type.insert(6, " ");  // parameters() leaves blanks out
  std::uint64_t size = 0;
  try {
    const auto kernel = device.foreign_kernel(
        {source.name, fmt::format("{}\n__kernel void mgpu_bench_size_of(__global ulong* size) {{ "
                                  "*size = sizeof({}); }}\n",
                                  source.text, type)},
        "mgpu_bench_size_of", options);
    const auto buffer = device.allocate(sizeof size);
    device.try_out([&](Stream& stream) {
      stream.launch(*kernel, grid_of(1, 1), {buffer.get()});
      stream.download(*buffer, 0, std::as_writable_bytes(std::span(&size, 1)));
    });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
  }
  return size > 0 ? std::optional(size) : std::nullopt;
}

Launches::Launches(const Problem& problem, DeviceResources& device) : problem_(problem) {
  const KernelSource source{problem.descriptor.kernels.front().string(), problem.descriptor.text};
  for (const Stage& stage : problem.stages) {
    kernels_.push_back(device.foreign_kernel(source, stage.entry, build_options(problem)));
    const auto parameters = kernels_.back()->parameters();
    if (parameters) {
      check_parameters(stage, *parameters, device.traits().id);
      for (std::size_t i = 0; i < parameters->size(); ++i)
        check_structure(problem.args[stage.args[i]], (*parameters)[i], device, source);
    }
    parameters_.push_back(parameters.value_or(std::vector<KernelParameter>{}));
    std::array<std::size_t, 3> local{1, 1, 1};
    for (std::size_t d = 0; d < stage.local.size(); ++d) local[d] = stage.local[d].count();
    const std::size_t group = local[0] * local[1] * local[2];
    const GroupLimits& limits = kernels_.back()->group_limits();
    if (!limits.allow(local)) {
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: local is {} work-items, device {} takes up to {}",
                              problem.descriptor.file, group, device.traits().id, limits.all));
    }
  }
  check_unordered(problem, parameters_);
  check_accumulators();
  for (const Argument& one : problem.args) {
    auto& kernel = combining_.emplace_back();
    if (!one.by_kernel()) continue;
    kernel = device.foreign_kernel(source, one.combine, build_options(problem));
    if (const auto parameters = kernel->parameters())
      check_combination(one, *parameters, device.traits().id);
  }
}

void Launches::check_parameters(const Stage& stage, const std::vector<KernelParameter>& parameters,
                                const std::string& device) const {
  const std::string who = problem_.descriptor.file + ": kernel " + stage.entry;
  if (parameters.size() != stage.args.size()) {
    std::string names;
    for (const KernelParameter& one : parameters)
      names +=
          (names.empty() ? "" : ", ") + (one.name.empty() ? one.type : one.type + " " + one.name);
    throw Error(
        ErrorKind::input,
        fmt::format("{} has {} parameters on device {}, {} arguments are described; it has: {}",
                    who, parameters.size(), device, stage.args.size(), names));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const KernelParameter& has = parameters[i];
    const Argument& one = problem_.args[stage.args[i]];
    if (has.type.empty()) continue;  // the driver does not say
    const auto refuse = [&](const std::string& why) {
      throw Error(ErrorKind::input,
                  fmt::format("{}: argument {} ({}) {}", who, i, in_quotes(one.name), why));
    };
    const bool is_image = has.type.starts_with("image2d_t");
    for (const char* unknown : {"image", "sampler", "pipe"}) {
      if (has.type.starts_with(unknown) && !is_image)
        refuse(fmt::format("is of type {}, which is not taken", has.type));
    }
    if (is_image != (one.map == MapKind::image))
      refuse(fmt::format("{}; the kernel's {} is {}",
                         one.map == MapKind::image ? "is an image" : "is none",
                         has.name.empty() ? "parameter" : has.name, has.type));
    if (is_image) continue;
    using Space = KernelParameter::Space;
    const bool matches = one.map == MapKind::scalar ? has.space == Space::value
                         : one.map == MapKind::local
                             ? has.space == Space::local
                             : has.space == Space::global || has.space == Space::constant;
    if (!matches) {
      refuse(fmt::format("is {}; the kernel's {} is {}",
                         one.map == MapKind::scalar  ? "a scalar"
                         : one.map == MapKind::local ? "local memory"
                                                     : "an array",
                         has.name.empty() ? "parameter" : has.name, word_of(has.space)));
    }
    if (one.map == MapKind::local) continue;
    // A type that the compiler names and element_type() does not know is a structure or a typedef,
    // which only its size identifies.
    const auto type = element_type(type_without_pointer(has.type));
    if (type && type->name != one.type.name &&
        (one.type.base != Base::none || one.map == MapKind::scalar)) {
      refuse(fmt::format("is of type {}; the kernel's {} is {}", one.type.name,
                         has.name.empty() ? "parameter" : has.name, has.type));
    }
    const auto takes_too = [&](const Stage& other) {
      return other.entry != stage.entry &&
             std::find(other.args.begin(), other.args.end(), stage.args[i]) != other.args.end();
    };
    // Another stage may write it.
    if (has.is_const && one.is_output() &&
        std::none_of(problem_.stages.begin(), problem_.stages.end(), takes_too))
      refuse("is an output; the kernel's is const");
  }
}

void Launches::check_accumulators() const {
  for (std::size_t s = 0; problem_.rounds == 0 && s < problem_.stages.size(); ++s) {
    for (const std::size_t a : problem_.stages[s].args) {
      const Argument& one = problem_.args[a];
      if (!one.accumulates() || writes(s, a)) continue;
      throw Error(ErrorKind::input,
                  fmt::format("{}: stage {} only reads {}, to which slices still add; expected: "
                              "[repeat] with rounds = 1, by which it gets what all devices added",
                              problem_.descriptor.file, in_quotes(problem_.stages[s].name),
                              in_quotes(one.name)));
    }
  }
}

void Launches::check_structure(const Argument& one, const KernelParameter& has,
                               DeviceResources& device, const KernelSource& source) const {
  const std::string type = type_without_pointer(has.type);
  // Numbers may describe arrays of structures.
  const bool may_differ = one.type.base != Base::none && one.map != MapKind::scalar;
  if (may_differ || one.map == MapKind::local || type.empty() || element_type(type)) return;
  const auto size = size_of_type(device, source, build_options(problem_), type);
  if (size && *size != one.type.size)
    throw Error(
        ErrorKind::input,
        fmt::format("{}.type: {} has {} bytes, and the kernel's {} has {} on device {}", one.where,
                    one.type.name, one.type.size, type, *size, device.traits().id));
}

void Launches::check_combination(const Argument& one,
                                 const std::vector<KernelParameter>& parameters,
                                 const std::string& device) const {
  const auto refuse = [&](const std::string& why) {
    const std::string type = one.type.base == Base::none ? "struct .." : one.type.name;
    throw Error(
        ErrorKind::input,
        fmt::format(
            "{}.map.combine: kernel {} {} on device {}; expected: (__global {}* into, __global "
            "const {}* from)",
            one.where, one.combine, why, device, type, type));
  };
  if (parameters.size() != 2)
    refuse(fmt::format("has {} parameter{}", parameters.size(), parameters.size() == 1 ? "" : "s"));
  for (std::size_t i = 0; i < 2; ++i) {
    const KernelParameter& has = parameters[i];
    if (has.type.empty()) continue;  // the driver does not say
    const std::string name = fmt::format("has parameter {}{}", i,
                                         has.name.empty() ? "" : " (" + in_quotes(has.name) + ")");
    if (has.space != KernelParameter::Space::global)
      refuse(fmt::format("{} that is {}", name, word_of(has.space)));
    const auto type = element_type(type_without_pointer(has.type));
    if (type && one.type.base != Base::none && type->name != one.type.name)
      refuse(fmt::format("{} of type {}", name, has.type));
    if (has.is_const != (i == 1))
      refuse(fmt::format("{} that is {}const", name, i == 1 ? "not " : ""));
  }
}

void Launches::combine(std::size_t argument, Buffer& into, Buffer& from, Stream& stream) {
  Grid grid;
  grid.global[0] = problem_.args[argument].elements;
  grid.local = {0, 0, 0};
  stream.launch(*combining_[argument], grid, {&into, &from});
}

bool Launches::writes(std::size_t s, std::size_t argument) const {
  const Stage& stage = problem_.stages[s];
  for (std::size_t i = 0; i < stage.args.size(); ++i) {
    if (stage.args[i] == argument && may_write(problem_, stage, i, parameters_[s])) return true;
  }
  return false;
}

void Launches::launch(const Slice& slice, std::uint32_t round,
                      const std::function<Buffer*(std::size_t)>& buffer, Stream& stream) {
  for (std::uint32_t level = 0; level < problem_.levels(); ++level)
    launch_level(level, slice, round, buffer, stream);
}

void Launches::launch_level(std::uint32_t level, const Slice& slice, std::uint32_t round,
                            const std::function<Buffer*(std::size_t)>& buffer, Stream& stream) {
  struct Launch {
    std::size_t stage;
    SliceNumbers numbers;
    Grid grid;
  };
  std::vector<Launch> launches;
  for (std::size_t s = 0; s < problem_.stages.size(); ++s) {
    const Stage& stage = problem_.stages[s];
    if (stage.level != level) continue;
    const SliceNumbers numbers = problem_.numbers(stage, slice, round);
    if (const auto grid = problem_.grid(stage, numbers)) launches.push_back({s, numbers, *grid});
  }
  if (problem_.beside && !launches.empty()) stream.begin_side_by_side(u32(launches.size()));
  for (const auto& [s, numbers, grid] : launches) {
    const Stage& stage = problem_.stages[s];
    values_.resize(stage.args.size());
    args_.clear();
    for (std::size_t i = 0; i < stage.args.size(); ++i) {
      const Argument& one = problem_.args[stage.args[i]];
      if (one.map == MapKind::local) {
        args_.emplace_back(LocalBytes{one.local.count()});
      } else if (one.map != MapKind::scalar) {
        args_.emplace_back(buffer(stage.args[i]));
      } else {
        put_value(one, numbers, values_[i].bytes);
        args_.emplace_back(ValueBytes{{values_[i].bytes, one.type.size}});
      }
    }
    stream.launch(*kernels_[s], grid, std::span<const KernelArg>(args_));
  }
}

}  // namespace mgpu::kernel
