#include "tests/layer/lie.hpp"

#include <fnmatch.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <stdexcept>

namespace fault {
namespace {

enum class Form {
  flag,        // true or false: cl_bool
  number,      // cl_uint
  large,       // cl_ulong
  size,        // size_t
  sizes,       // [..]: size_t
  text,        // "..", with the ending zero
  words,       // [".."]: a text with spaces between the words
  type,        // "gpu"
  local_type,  // "local"
  floats,      // ["denorm", ..]
  queues,      // ["profiling", ..]
  partitions,  // ["by_counts", ..]
  bytes,       // "00ff..", two digits per byte; "-" between them is ignored
  pci,         // "0000:03:00.0" as cl_khr_pci_bus_info has it
  topology     // the same as cl_amd_device_attribute_query has it
};

struct Query {
  const char* key;
  cl_device_info what;
  Form form;
};

constexpr Query kQueries[] = {
    {"type", CL_DEVICE_TYPE, Form::type},
    {"vendor_id", CL_DEVICE_VENDOR_ID, Form::number},
    {"max_compute_units", CL_DEVICE_MAX_COMPUTE_UNITS, Form::number},
    {"max_work_item_dimensions", CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, Form::number},
    {"max_work_group_size", CL_DEVICE_MAX_WORK_GROUP_SIZE, Form::size},
    {"max_work_item_sizes", CL_DEVICE_MAX_WORK_ITEM_SIZES, Form::sizes},
    {"preferred_vector_width_float", CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, Form::number},
    {"preferred_vector_width_double", CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE, Form::number},
    {"preferred_vector_width_half", CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF, Form::number},
    {"native_vector_width_float", CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, Form::number},
    {"native_vector_width_double", CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, Form::number},
    {"native_vector_width_half", CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, Form::number},
    {"max_clock_frequency", CL_DEVICE_MAX_CLOCK_FREQUENCY, Form::number},
    {"address_bits", CL_DEVICE_ADDRESS_BITS, Form::number},
    {"max_mem_alloc_size", CL_DEVICE_MAX_MEM_ALLOC_SIZE, Form::large},
    {"max_parameter_size", CL_DEVICE_MAX_PARAMETER_SIZE, Form::size},
    {"mem_base_addr_align", CL_DEVICE_MEM_BASE_ADDR_ALIGN, Form::number},
    {"single_fp_config", CL_DEVICE_SINGLE_FP_CONFIG, Form::floats},
    {"double_fp_config", CL_DEVICE_DOUBLE_FP_CONFIG, Form::floats},
    {"half_fp_config", CL_DEVICE_HALF_FP_CONFIG, Form::floats},
    {"global_mem_cacheline_size", CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, Form::number},
    {"global_mem_cache_size", CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, Form::large},
    {"global_mem_size", CL_DEVICE_GLOBAL_MEM_SIZE, Form::large},
    {"max_constant_buffer_size", CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, Form::large},
    {"max_constant_args", CL_DEVICE_MAX_CONSTANT_ARGS, Form::number},
    {"local_mem_type", CL_DEVICE_LOCAL_MEM_TYPE, Form::local_type},
    {"local_mem_size", CL_DEVICE_LOCAL_MEM_SIZE, Form::large},
    {"error_correction_support", CL_DEVICE_ERROR_CORRECTION_SUPPORT, Form::flag},
    {"host_unified_memory", CL_DEVICE_HOST_UNIFIED_MEMORY, Form::flag},
    {"profiling_timer_resolution", CL_DEVICE_PROFILING_TIMER_RESOLUTION, Form::size},
    {"endian_little", CL_DEVICE_ENDIAN_LITTLE, Form::flag},
    {"available", CL_DEVICE_AVAILABLE, Form::flag},
    {"compiler_available", CL_DEVICE_COMPILER_AVAILABLE, Form::flag},
    {"linker_available", CL_DEVICE_LINKER_AVAILABLE, Form::flag},
    {"image_support", CL_DEVICE_IMAGE_SUPPORT, Form::flag},
    {"queue_properties", CL_DEVICE_QUEUE_PROPERTIES, Form::queues},
    {"name", CL_DEVICE_NAME, Form::text},
    {"vendor", CL_DEVICE_VENDOR, Form::text},
    {"driver_version", CL_DRIVER_VERSION, Form::text},
    {"profile", CL_DEVICE_PROFILE, Form::text},
    {"version", CL_DEVICE_VERSION, Form::text},
    {"opencl_c_version", CL_DEVICE_OPENCL_C_VERSION, Form::text},
    {"extensions", CL_DEVICE_EXTENSIONS, Form::words},
    {"partition_properties", CL_DEVICE_PARTITION_PROPERTIES, Form::partitions},
    {"partition_max_sub_devices", CL_DEVICE_PARTITION_MAX_SUB_DEVICES, Form::number},
    {"max_num_sub_groups", CL_DEVICE_MAX_NUM_SUB_GROUPS, Form::number},
    {"preferred_work_group_size_multiple", CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
     Form::size},
    {"uuid_khr", CL_DEVICE_UUID_KHR, Form::bytes},
    {"driver_uuid_khr", CL_DRIVER_UUID_KHR, Form::bytes},
    {"luid_valid_khr", CL_DEVICE_LUID_VALID_KHR, Form::flag},
    {"luid_khr", CL_DEVICE_LUID_KHR, Form::bytes},
    {"node_mask_khr", CL_DEVICE_NODE_MASK_KHR, Form::number},
    {"pci_bus_info_khr", 0x410F, Form::pci},
    {"compute_capability_major_nv", CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, Form::number},
    {"compute_capability_minor_nv", CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, Form::number},
    {"registers_per_block_nv", CL_DEVICE_REGISTERS_PER_BLOCK_NV, Form::number},
    {"warp_size_nv", CL_DEVICE_WARP_SIZE_NV, Form::number},
    {"gpu_overlap_nv", CL_DEVICE_GPU_OVERLAP_NV, Form::flag},
    {"kernel_exec_timeout_nv", CL_DEVICE_KERNEL_EXEC_TIMEOUT_NV, Form::flag},
    {"integrated_memory_nv", CL_DEVICE_INTEGRATED_MEMORY_NV, Form::flag},
    {"attribute_async_engine_count_nv", 0x4007, Form::number},
    {"pci_bus_id_nv", 0x4008, Form::number},
    {"pci_slot_id_nv", 0x4009, Form::number},
    {"pci_domain_id_nv", 0x400A, Form::number},
    {"preferred_work_group_size_amd", CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_AMD, Form::size},
    {"max_work_group_size_amd", CL_DEVICE_MAX_WORK_GROUP_SIZE_AMD, Form::size},
    {"pcie_id_amd", CL_DEVICE_PCIE_ID_AMD, Form::number},
    {"profiling_timer_offset_amd", CL_DEVICE_PROFILING_TIMER_OFFSET_AMD, Form::large},
    {"topology_amd", CL_DEVICE_TOPOLOGY_AMD, Form::topology},
    {"board_name_amd", CL_DEVICE_BOARD_NAME_AMD, Form::text},
    {"global_free_memory_amd", CL_DEVICE_GLOBAL_FREE_MEMORY_AMD, Form::sizes},
    {"simd_per_compute_unit_amd", CL_DEVICE_SIMD_PER_COMPUTE_UNIT_AMD, Form::number},
    {"simd_width_amd", CL_DEVICE_SIMD_WIDTH_AMD, Form::number},
    {"simd_instruction_width_amd", CL_DEVICE_SIMD_INSTRUCTION_WIDTH_AMD, Form::number},
    {"wavefront_width_amd", CL_DEVICE_WAVEFRONT_WIDTH_AMD, Form::number},
    {"global_mem_channels_amd", CL_DEVICE_GLOBAL_MEM_CHANNELS_AMD, Form::number},
    {"global_mem_channel_banks_amd", CL_DEVICE_GLOBAL_MEM_CHANNEL_BANKS_AMD, Form::number},
    {"global_mem_channel_bank_width_amd", CL_DEVICE_GLOBAL_MEM_CHANNEL_BANK_WIDTH_AMD,
     Form::number},
    {"local_mem_size_per_compute_unit_amd", CL_DEVICE_LOCAL_MEM_SIZE_PER_COMPUTE_UNIT_AMD,
     Form::number},
    {"local_mem_banks_amd", CL_DEVICE_LOCAL_MEM_BANKS_AMD, Form::number},
    {"gfxip_major_amd", CL_DEVICE_GFXIP_MAJOR_AMD, Form::number},
    {"gfxip_minor_amd", CL_DEVICE_GFXIP_MINOR_AMD, Form::number},
    {"available_async_queues_amd", CL_DEVICE_AVAILABLE_ASYNC_QUEUES_AMD, Form::number},
    {"ip_version_intel", CL_DEVICE_IP_VERSION_INTEL, Form::number},
    {"id_intel", CL_DEVICE_ID_INTEL, Form::number},
    {"num_slices_intel", CL_DEVICE_NUM_SLICES_INTEL, Form::number},
    {"num_sub_slices_per_slice_intel", CL_DEVICE_NUM_SUB_SLICES_PER_SLICE_INTEL, Form::number},
    {"num_eus_per_sub_slice_intel", CL_DEVICE_NUM_EUS_PER_SUB_SLICE_INTEL, Form::number},
    {"num_threads_per_eu_intel", CL_DEVICE_NUM_THREADS_PER_EU_INTEL, Form::number},
    {"sub_group_sizes_intel", CL_DEVICE_SUB_GROUP_SIZES_INTEL, Form::sizes},
};

constexpr Query kPlatformQueries[] = {{"profile", CL_PLATFORM_PROFILE, Form::text},
                                      {"version", CL_PLATFORM_VERSION, Form::text},
                                      {"name", CL_PLATFORM_NAME, Form::text},
                                      {"vendor", CL_PLATFORM_VENDOR, Form::text},
                                      {"extensions", CL_PLATFORM_EXTENSIONS, Form::words}};

// Queries by the version that has them first.
struct Since {
  cl_device_info first, last;
  unsigned version;
};
constexpr Since kSince[] = {{0x1034, 0x103D, 11}, {0x103E, 0x1049, 12}, {0x104A, 0x105A, 20},
                            {0x105B, 0x105D, 21}, {0x105E, 0x1069, 30}, {0x106F, 0x1072, 30}};
constexpr cl_device_info kLastOfCore = 0x1072;
constexpr cl_device_info kFirstOfUuid = 0x106A, kLastOfUuid = 0x106E;  // an extension's

struct Named {
  std::string_view name;
  std::uint64_t value;
};
constexpr Named kTypes[] = {{"cpu", CL_DEVICE_TYPE_CPU},
                            {"gpu", CL_DEVICE_TYPE_GPU},
                            {"accelerator", CL_DEVICE_TYPE_ACCELERATOR},
                            {"custom", CL_DEVICE_TYPE_CUSTOM}};
constexpr Named kLocalTypes[] = {{"none", CL_NONE}, {"local", CL_LOCAL}, {"global", CL_GLOBAL}};
constexpr Named kFloats[] = {
    {"denorm", CL_FP_DENORM},
    {"inf_nan", CL_FP_INF_NAN},
    {"round_to_nearest", CL_FP_ROUND_TO_NEAREST},
    {"round_to_zero", CL_FP_ROUND_TO_ZERO},
    {"round_to_inf", CL_FP_ROUND_TO_INF},
    {"fma", CL_FP_FMA},
    {"soft_float", CL_FP_SOFT_FLOAT},
    {"correctly_rounded_divide_sqrt", CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT}};
constexpr Named kQueues[] = {{"out_of_order", CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE},
                             {"profiling", CL_QUEUE_PROFILING_ENABLE}};
constexpr Named kPartitions[] = {{"equally", CL_DEVICE_PARTITION_EQUALLY},
                                 {"by_counts", CL_DEVICE_PARTITION_BY_COUNTS},
                                 {"by_affinity_domain", CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN}};

[[noreturn]] void refuse(const std::string& key, const std::string& expected) {
  throw std::invalid_argument(key + ": expected " + expected);
}

template <class Value>
void append(Answer& answer, Value value) {
  const auto* from = reinterpret_cast<const unsigned char*>(&value);
  answer.insert(answer.end(), from, from + sizeof value);
}

std::int64_t whole(const std::string& key, const toml::node& node) {
  const auto value = node.value_exact<std::int64_t>();
  if (!value || *value < 0) refuse(key, "a whole number");
  return *value;
}

std::string text(const std::string& key, const toml::node& node) {
  const auto value = node.value_exact<std::string>();
  if (!value) refuse(key, "a text");
  return *value;
}

std::vector<std::string> texts(const std::string& key, const toml::node& node) {
  if (!node.is_array()) refuse(key, "a list of texts");
  std::vector<std::string> found;
  for (const toml::node& each : *node.as_array()) found.push_back(text(key, each));
  return found;
}

template <std::size_t count>
std::uint64_t named(const std::string& key, const std::string& name, const Named (&names)[count]) {
  const auto found = std::find_if(std::begin(names), std::end(names),
                                  [&](const Named& n) { return n.name == name; });
  if (found != std::end(names)) return found->value;
  std::string all;
  for (const Named& each : names) all += (all.empty() ? "" : ", ") + std::string(each.name);
  refuse(key, all);
}

template <std::size_t count>
std::uint64_t bits(const std::string& key, const toml::node& node, const Named (&names)[count]) {
  std::uint64_t all = 0;
  for (const std::string& each : texts(key, node)) all |= named(key, each, names);
  return all;
}

Answer bytes(const std::string& key, std::string digits) {
  std::erase(digits, '-');
  Answer answer;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned byte = 0;
    if (std::sscanf(digits.c_str() + i, "%2x", &byte) != 1) break;
    answer.push_back(static_cast<unsigned char>(byte));
  }
  if (answer.empty() || answer.size() * 2 != digits.size()) refuse(key, "two digits per byte");
  return answer;
}

Answer pci(const std::string& key, const std::string& address, bool of_amd) {
  std::array<unsigned, 4> parts{};
  if (std::sscanf(address.c_str(), "%4x:%2x:%2x.%1x", &parts[0], &parts[1], &parts[2], &parts[3]) !=
      4)
    refuse(key, "an address such as 0000:03:00.0");
  Answer answer;
  if (of_amd) {
    append(answer, cl_uint{CL_DEVICE_TOPOLOGY_TYPE_PCIE_AMD});
    answer.resize(sizeof(cl_device_topology_amd) - 3);
    for (std::size_t i = 1; i < 4; ++i) append(answer, static_cast<unsigned char>(parts[i]));
  } else {
    for (const unsigned part : parts) append(answer, cl_uint{part});
  }
  return answer;
}

Answer of_text(const std::string& text) {
  const auto* from = reinterpret_cast<const unsigned char*>(text.c_str());
  return {from, from + text.size() + 1};
}

Answer answer_of(const Query& query, const toml::node& node) {
  const std::string key = query.key;
  Answer answer;
  switch (query.form) {
    case Form::flag: {
      const auto value = node.value_exact<bool>();
      if (!value) refuse(key, "true or false");
      append(answer, static_cast<cl_bool>(*value));
      break;
    }
    case Form::number:
      append(answer, static_cast<cl_uint>(whole(key, node)));
      break;
    case Form::large:
      append(answer, static_cast<cl_ulong>(whole(key, node)));
      break;
    case Form::size:
      append(answer, static_cast<std::size_t>(whole(key, node)));
      break;
    case Form::sizes:
      if (!node.is_array()) refuse(key, "a list of whole numbers");
      for (const toml::node& each : *node.as_array())
        append(answer, static_cast<std::size_t>(whole(key, each)));
      break;
    case Form::text:
      return of_text(text(key, node));
    case Form::words: {
      std::string all;
      for (const std::string& word : texts(key, node)) all += (all.empty() ? "" : " ") + word;
      return of_text(all);
    }
    case Form::type:
      append(answer, cl_device_type{named(key, text(key, node), kTypes)});
      break;
    case Form::local_type:
      append(answer, static_cast<cl_uint>(named(key, text(key, node), kLocalTypes)));
      break;
    case Form::floats:
      append(answer, cl_device_fp_config{bits(key, node, kFloats)});
      break;
    case Form::queues:
      append(answer, cl_command_queue_properties{bits(key, node, kQueues)});
      break;
    case Form::partitions:
      for (const std::string& each : texts(key, node))
        append(answer, static_cast<cl_device_partition_property>(named(key, each, kPartitions)));
      if (answer.empty()) append(answer, cl_device_partition_property{0});
      break;
    case Form::bytes:
      return bytes(key, text(key, node));
    case Form::pci:
      return pci(key, text(key, node), false);
    case Form::topology:
      return pci(key, text(key, node), true);
  }
  return answer;
}

template <std::size_t count>
std::map<cl_uint, Answer> answers(const toml::table& table, const Query (&queries)[count]) {
  std::map<cl_uint, Answer> all;
  for (const auto& [key, node] : table) {
    const auto found = std::find_if(std::begin(queries), std::end(queries),
                                    [&](const Query& q) { return key.str() == q.key; });
    if (found == std::end(queries))
      throw std::invalid_argument(std::string(key.str()) + " is not a key");
    all[found->what] = answer_of(*found, node);
  }
  return all;
}

Lie::Limits limits_of(const toml::table& table) {
  Lie::Limits limits;
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (name == "name")
      limits.name = text(name, node);
    else if (name == "work_group_size")
      limits.group = static_cast<std::size_t>(whole(name, node));
    else if (name == "preferred_work_group_size_multiple")
      limits.multiple = static_cast<std::size_t>(whole(name, node));
    else
      throw std::invalid_argument("kernel." + name + " is not a key");
  }
  return limits;
}

const toml::table& table_of(const std::string& key, const toml::node& node) {
  if (!node.is_table()) refuse(key, "a table");
  return *node.as_table();
}

// Reads a table of lists of texts: each key of it has a place.
void read_lists(const std::string& name, const toml::node& node,
                const std::map<std::string, std::vector<std::string>*>& places) {
  for (const auto& [key, value] : table_of(name, node)) {
    const auto place = places.find(std::string(key.str()));
    if (place == places.end())
      throw std::invalid_argument(name + "." + std::string(key.str()) + " is not a key");
    *place->second = texts(name + "." + place->first, value);
  }
}

void read_part(Lie& lie, const std::string& name, const toml::node& node) {
  if (name == "device") {
    lie.device = answers(table_of(name, node), kQueries);
  } else if (name == "platform") {
    lie.platform = answers(table_of(name, node), kPlatformQueries);
  } else if (name == "kernel") {
    if (!node.is_array_of_tables()) refuse(name, "tables [[kernel]]");
    for (const toml::node& each : *node.as_array())
      lie.kernels.push_back(limits_of(*each.as_table()));
  } else if (name == "accepts") {
    read_lists(name, node, {{"build_options", &lie.accepted_options}});
  } else if (name == "refuses") {
    read_lists(name, node,
               {{"build_options", &lie.refused_options}, {"words", &lie.refused_words}});
  } else if (name == "profiling") {
    for (const auto& [key, value] : table_of(name, node)) {
      lie.stamps = text(std::string(key.str()), value);
      if (key.str() != "stamps" || (lie.stamps != "zero" && lie.stamps != "unavailable"))
        refuse("profiling", "stamps = \"zero\" or \"unavailable\"");
    }
  } else if (name != "expect" && name != "sources") {
    throw std::invalid_argument(name + " is not a key");
  }
}

std::string as_text(const Answer& answer) {
  return std::string(answer.begin(), answer.empty() ? answer.end() : answer.end() - 1);
}

}  // namespace

std::shared_ptr<const Lie> Lie::read(const std::string& name) {
  const bool is_path = name.find('/') != std::string::npos || name.ends_with(".toml");
  const std::string file = is_path ? name : std::string(FAULT_DEVICES) + "/" + name + ".toml";
  auto lie = std::make_shared<Lie>();
  lie->file = file;
  try {
    const toml::table all = toml::parse_file(file);
    for (const auto& [key, node] : all) read_part(*lie, std::string(key.str()), node);
    unsigned major = 0, minor = 0;
    if (std::sscanf(as_text(lie->device[CL_DEVICE_VERSION]).c_str(), "OpenCL %1u.%1u", &major,
                    &minor) != 2)
      refuse("version", "OpenCL and two numbers");
    lie->version = major * 10 + minor;
    if (!lie->device.contains(CL_DEVICE_EXTENSIONS)) refuse("extensions", "a list of texts");
  } catch (const toml::parse_error& error) {
    std::ostringstream where;
    where << error;
    throw std::invalid_argument(file + ": " + where.str());
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(file + ": " + error.what());
  }
  return lie;
}

bool Lie::has(std::string_view extension) const {
  std::istringstream words(as_text(device.at(CL_DEVICE_EXTENSIONS)));
  for (std::string word; words >> word;)
    if (word == extension) return true;
  return false;
}

bool Lie::knows(cl_device_info what) const {
  if (device.contains(what)) return true;
  if (what > kLastOfCore || (what >= kFirstOfUuid && what <= kLastOfUuid)) return false;
  return std::all_of(std::begin(kSince), std::end(kSince), [&](const Since& since) {
    return what < since.first || what > since.last || version >= since.version;
  });
}

Lie::Limits Lie::limits(const std::string& kernel) const {
  for (const Limits& each : kernels)
    if (::fnmatch(each.name.c_str(), kernel.c_str(), 0) == 0) return each;
  return {};
}

std::string Lie::prelude() const {
  std::vector<std::string> words = refused_words;
  std::string text;
  if (!has("cl_khr_fp64")) {
    text += "#undef cl_khr_fp64\n#undef __opencl_c_fp64\n";
    words.push_back("double");
    for (const char* width : {"2", "3", "4", "8", "16"})
      words.push_back(std::string("double") + width);
  }
  for (const std::string& word : words)
    text += "#define " + word + " this_device_has_no_" + word + "\n";
  return text.empty() ? text : text + "#line 1\n";
}

}  // namespace fault
