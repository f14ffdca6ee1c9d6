#include "lib/cluster/wire.hpp"

namespace mgpu {
namespace {

void write_text(Writer& out, const std::optional<std::string>& text) {
  out.put(text.has_value());
  if (text) out.text(*text);
}

std::optional<std::string> read_text(Reader& in) {
  return in.get<bool>() ? std::optional(in.text()) : std::nullopt;
}

}  // namespace

void write(Writer& out, const Error& error) { out.put(error.kind()).text(error.what()); }

Error read_error(Reader& in) {
  const auto kind = in.get<ErrorKind>();
  return {kind, in.text()};
}

void write(Writer& out, const Device& d) {
  for (const std::string* text :
       {&d.id, &d.name, &d.isa, &d.vendor, &d.driver_version, &d.device_version, &d.platform,
        &d.platform_vendor, &d.platform_version})
    out.text(*text);
  out.put(d.type)
      .put(d.global_memory)
      .put(d.max_allocation)
      .put(d.local_memory)
      .put(d.compute_units)
      .put(d.clock_mhz);
  out.put(d.native_float_width)
      .put(d.max_work_group)
      .put(d.buffer_alignment)
      .put(d.host_unified_memory)
      .put(d.fp64)
      .put(d.virtualised);
  out.put(d.fp32_denormals).put(d.fma_is_slow);
  out.put(d.has_parts).put(d.score);
  write_optional(out, d.compute_capability);
  write_text(out, d.pci);
  write_optional(out, d.numa_node);
  write_text(out, d.uuid);
  out.put(std::uint64_t{d.extensions.size()});
  for (const std::string& extension : d.extensions) out.text(extension);
}

Device read_device(Reader& in) {
  Device d;
  for (std::string* text : {&d.id, &d.name, &d.isa, &d.vendor, &d.driver_version, &d.device_version,
                            &d.platform, &d.platform_vendor, &d.platform_version})
    *text = in.text();
  d.type = in.get<DeviceType>();
  d.global_memory = in.get<Bytes>();
  d.max_allocation = in.get<Bytes>();
  d.local_memory = in.get<Bytes>();
  d.compute_units = in.get<std::uint32_t>();
  d.clock_mhz = in.get<std::uint32_t>();
  d.native_float_width = in.get<std::uint32_t>();
  d.max_work_group = in.get<std::size_t>();
  d.buffer_alignment = in.get<Bytes>();
  d.host_unified_memory = in.get<bool>();
  d.fp64 = in.get<bool>();
  d.virtualised = in.get<bool>();
  d.fp32_denormals = in.get<bool>();
  d.fma_is_slow = in.get<bool>();
  d.has_parts = in.get<bool>();
  d.score = in.get<double>();
  d.compute_capability = read_optional<std::uint32_t>(in);
  d.pci = read_text(in);
  d.numa_node = read_optional<std::uint32_t>(in);
  d.uuid = read_text(in);
  d.extensions.resize(in.count());
  for (std::string& extension : d.extensions) extension = in.text();
  return d;
}

void write(Writer& out, const Handicap& h) {
  out.put(h.slow).put(h.slow_from_fraction).put(h.delay);
  write_optional(out, h.slow_from_time);
  write_optional(out, h.memory_cap);
  out.put(h.keeps_freed);
}

Handicap read_handicap(Reader& in) {
  Handicap h;
  h.slow = in.get<double>();
  h.slow_from_fraction = in.get<double>();
  h.delay = in.get<Nanos>();
  h.slow_from_time = read_optional<Nanos>(in);
  h.memory_cap = read_optional<Bytes>(in);
  h.keeps_freed = in.get<bool>();
  return h;
}

void write(Writer& out, const DeviceTraits& t) {
  out.put(t.cpu)
      .put(t.nvidia)
      .put(t.host_unified)
      .put(t.compute_units)
      .put(t.float_width)
      .put(t.max_work_group);
  out.put(t.global_memory)
      .put(t.max_allocation)
      .put(t.local_memory)
      .put(t.fp64)
      .put(t.fp32_denormals);
  out.put(t.buffer_alignment).put(t.held).put(t.fp64_tensor);
}

DeviceTraits read_traits(Reader& in) {
  DeviceTraits t;
  t.cpu = in.get<bool>();
  t.nvidia = in.get<bool>();
  t.host_unified = in.get<bool>();
  t.compute_units = in.get<unsigned>();
  t.float_width = in.get<unsigned>();
  t.max_work_group = in.get<std::size_t>();
  t.global_memory = in.get<Bytes>();
  t.max_allocation = in.get<Bytes>();
  t.local_memory = in.get<Bytes>();
  t.fp64 = in.get<bool>();
  t.fp32_denormals = in.get<bool>();
  t.buffer_alignment = in.get<Bytes>();
  t.held = in.get<bool>();
  t.fp64_tensor = in.get<bool>();
  return t;
}

// The round is not sent: rank 0 sets it.
void write(Writer& out, const RawCommand& c) {
  out.put(c.kind)
      .put(c.bytes)
      .put(c.queued)
      .put(c.submitted)
      .put(c.started)
      .put(c.ended)
      .put(c.queue);
  out.text(c.label.empty() ? std::string() : c.label.text());
  write_optional(out, c.exchange);
}

RawCommand read_command(Reader& in) {
  RawCommand c;
  c.kind = in.get<CommandKind>();
  c.bytes = in.get<Bytes>();
  c.queued = in.get<std::uint64_t>();
  c.submitted = in.get<std::uint64_t>();
  c.started = in.get<std::uint64_t>();
  c.ended = in.get<std::uint64_t>();
  c.queue = in.get<std::uint32_t>();
  if (const std::string label = in.text(); !label.empty()) c.label = Name(label);
  c.exchange = read_optional<ExchangeInfo>(in);
  return c;
}

void write(Writer& out, const KernelParameter& p) {
  out.text(p.name).text(p.type).put(p.space).put(p.is_const);
}

KernelParameter read_parameter(Reader& in) {
  KernelParameter p;
  p.name = in.text();
  p.type = in.text();
  p.space = in.get<KernelParameter::Space>();
  p.is_const = in.get<bool>();
  return p;
}

}  // namespace mgpu
