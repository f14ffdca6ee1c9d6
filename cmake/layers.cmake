# One static library per layer of lib/, and the tables that make strategies and suites known. All
# presets compile several files of a folder in one unit, a fraction of the work of one by one: names
# in anonymous namespaces are unique within a folder. -DCMAKE_UNITY_BUILD=OFF compiles each file by
# itself. Tables are generated: an object that registers itself would vanish from a static library
# without a word.

# mgpu_compile_together(target files...): divides the files, all of one folder, into units of at
# most MGPU_UNIT_KIB of source. The size of a source predicts how long it compiles; 64 KiB take 5 to
# 15 s of a core of 2 GHz. To be called where the target is added.
set(MGPU_UNIT_KIB 64 CACHE STRING "Source text of a unit of a unity build, in KiB")
function(mgpu_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  list(SORT ARGN)
  math(EXPR most "${MGPU_UNIT_KIB} * 1024")
  set(unit 0)
  set(bytes 0)
  foreach(source IN LISTS ARGN)
    file(SIZE ${source} size)
    math(EXPR bytes "${bytes} + ${size}")
    if(bytes GREATER most)
      math(EXPR unit "${unit} + 1")
      set(bytes ${size})
    endif()
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${unit})
  endforeach()
endfunction()

# mgpu_precompile(target): the standard headers that nearly every file includes are parsed once, for
# mgpu_base, and used by all. Files still include what they use: MGPU_PRECOMPILED_HEADERS=OFF
# compiles them without.
function(mgpu_precompile target)
  if(NOT MGPU_PRECOMPILED_HEADERS)
    return()
  elseif(target STREQUAL "mgpu_base")
    target_precompile_headers(mgpu_base PRIVATE <algorithm> <array> <chrono> <filesystem> <functional> <map> <memory> <numeric> <optional>
      <span> <sstream> <string> <thread> <variant> <vector> <fmt/format.h>)
  else()
    target_precompile_headers(${target} REUSE_FROM mgpu_base)
  endif()
endfunction()

# mgpu_layer(name deps...): library mgpu_<name> from lib/<name>/*.cpp, linked to mgpu_<dep> of each
# layer it may include.
function(mgpu_layer name)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/${name}/*.cpp)
  list(TRANSFORM ARGN PREPEND mgpu_ OUTPUT_VARIABLE links)
  if(sources)
    add_library(mgpu_${name} STATIC ${sources})
    mgpu_compile_together(mgpu_${name} ${sources})
    target_include_directories(mgpu_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
    target_link_libraries(mgpu_${name} PUBLIC ${links})
    mgpu_precompile(mgpu_${name})
  else()  # headers only
    add_library(mgpu_${name} INTERFACE)
    target_include_directories(mgpu_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
    target_link_libraries(mgpu_${name} INTERFACE ${links})
  endif()
endfunction()

# Writes a C++ file that declares `<type> <name>_<kind>()` for each name and returns all of them
# from `all_<plural>()`.
function(mgpu_write_table target file header type kind plural)
  set(declarations "")
  set(entries "")
  foreach(name IN LISTS ARGN)
    string(APPEND declarations "${type} ${name}_${kind}();\n")
    string(APPEND entries "      ${name}_${kind}(),\n")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "// Written by cmake/layers.cmake.
#include \"${header}\"

namespace mgpu {

${declarations}
std::span<const ${type}> all_${plural}() {
  static const ${type} table[] = {
${entries}  };
  return table;
}

}  // namespace mgpu
" @ONLY)
  target_sources(${target} PRIVATE ${file})
endfunction()

# mgpu_strategy_table(target folder FIRST names...): every .cpp in the folder is a strategy named
# after its file and defines `StrategyInfo <name>_strategy()`. The names after FIRST lead the table
# in that order, the others follow by name.
function(mgpu_strategy_table target folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "FIRST")
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  set(names "")
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    list(APPEND names ${name})
  endforeach()
  list(SORT names)
  list(REMOVE_ITEM names ${arg_FIRST})
  list(PREPEND names ${arg_FIRST})
  target_sources(${target} PRIVATE ${sources})
  mgpu_compile_together(${target} ${sources})
  mgpu_write_table(${target} ${PROJECT_BINARY_DIR}/generated/strategy_table.cpp lib/plan/strategy.hpp StrategyInfo strategy strategies
                   ${names})
endfunction()
