# What `cmake --install` installs. Component `runtime`: the program, its manual page and completions, and the scripts that read result
# files. Component `development`: the layers of lib/, the suites and the kernels as static libraries, their headers, and the CMake package
# mgpu-bench (mgpu-benchConfig.cmake.in), for programs that plan, simulate, run or report with them: scripts/consumer is one.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS mgpu-bench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)

# The program writes its manual page and completions itself: one list of options for all.
find_program(gzip_program gzip REQUIRED)
set(texts ${PROJECT_BINARY_DIR}/generated/texts)
file(MAKE_DIRECTORY ${texts})
add_custom_command(
  OUTPUT ${texts}/mgpu-bench.1.gz ${texts}/mgpu-bench.bash ${texts}/mgpu-bench.zsh ${texts}/mgpu-bench.fish
  COMMAND mgpu-bench manual >${texts}/mgpu-bench.1
  COMMAND ${gzip_program} -9nf ${texts}/mgpu-bench.1
  COMMAND mgpu-bench completion bash >${texts}/mgpu-bench.bash
  COMMAND mgpu-bench completion zsh >${texts}/mgpu-bench.zsh
  COMMAND mgpu-bench completion fish >${texts}/mgpu-bench.fish
  DEPENDS mgpu-bench
  COMMENT "Writing the manual page and the completions")
add_custom_target(mgpu_texts ALL DEPENDS ${texts}/mgpu-bench.1.gz)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(zsh_folder vendor-completions)  # Debian's
else()
  set(zsh_folder site-functions)
endif()
install(FILES ${texts}/mgpu-bench.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
install(FILES ${texts}/mgpu-bench.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME mgpu-bench COMPONENT runtime)
install(FILES ${texts}/mgpu-bench.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/${zsh_folder} RENAME _mgpu-bench COMPONENT runtime)
install(FILES ${texts}/mgpu-bench.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT runtime)

# The scripts that read result files, with all that they import, and the reader for Python, mgpu_bench.py; they look for the schema beside them.
set(scripts_folder ${CMAKE_INSTALL_DATADIR}/mgpu-bench/scripts)
install(PROGRAMS scripts/plot.py scripts/recompute.py scripts/report_html.py scripts/trend_html.py scripts/document_html.py DESTINATION ${scripts_folder} COMPONENT runtime)
file(GLOB script_modules CONFIGURE_DEPENDS scripts/plot_*.py scripts/result_*.py)
install(FILES scripts/json_input.py scripts/mgpu_bench.py ${script_modules} DESTINATION ${scripts_folder} COMPONENT runtime)
install(PROGRAMS scripts/check/slurm_prolog.sh DESTINATION ${scripts_folder}/check COMPONENT runtime)
install(FILES scripts/check/kubernetes_job.yaml scripts/check/mgpu-check.service DESTINATION ${scripts_folder}/check COMPONENT runtime)
install(FILES scripts/report_page/page.css scripts/report_page/page.html scripts/report_page/page.js
        DESTINATION ${scripts_folder}/report_page COMPONENT runtime)
install(FILES lib/report/result.schema.json lib/report/scaling.schema.json lib/report/trend.schema.json
        DESTINATION ${scripts_folder}/schemas COMPONENT runtime)

# Headers keep their paths: `#include "lib/plan/strategy.hpp"` below include/mgpu-bench. Those of the OpenCL backend are its own, but for
# the one that makes it; the profiling layer has none for others.
set(header_folder ${CMAKE_INSTALL_INCLUDEDIR}/mgpu-bench)
install(DIRECTORY lib DESTINATION ${header_folder} COMPONENT development FILES_MATCHING PATTERN "*.hpp" PATTERN "cl_*" EXCLUDE
        PATTERN "layer" EXCLUDE)
install(FILES lib/opencl/cl_backend.hpp DESTINATION ${header_folder}/lib/opencl COMPONENT development)
install(FILES suites/suites.hpp DESTINATION ${header_folder}/suites COMPONENT development)

set(layers base device plan workload profile exec opencl measure report history predict exchange session cluster kernels suites)
foreach(layer IN LISTS layers)
  set_target_properties(mgpu_${layer} PROPERTIES EXPORT_NAME ${layer})
  get_target_property(kind mgpu_${layer} TYPE)
  if(kind STREQUAL "INTERFACE_LIBRARY")
    target_compile_features(mgpu_${layer} INTERFACE cxx_std_20)
  else()
    target_compile_features(mgpu_${layer} PUBLIC cxx_std_20)
  endif()
endforeach()
list(TRANSFORM layers PREPEND mgpu_)
install(TARGETS ${layers} EXPORT mgpu-bench
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/mgpu-bench COMPONENT development
        INCLUDES DESTINATION ${header_folder})
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/mgpu-bench)
install(EXPORT mgpu-bench NAMESPACE mgpu-bench:: FILE mgpu-benchTargets.cmake DESTINATION ${package_folder} COMPONENT development)
configure_package_config_file(cmake/mgpu-benchConfig.cmake.in ${PROJECT_BINARY_DIR}/generated/mgpu-benchConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
# Before 1.0 any minor version may change anything.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/mgpu-benchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/generated/mgpu-benchConfig.cmake ${PROJECT_BINARY_DIR}/generated/mgpu-benchConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT development)
