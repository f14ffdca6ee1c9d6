# Debian packages, made by scripts/package.sh: mgpu-bench, the program; libmgpu-bench-dev, what programs that use its layers need; and one
# for each MPI that there is a plug-in of.
# The first depends on an OpenCL implementation: PoCL where there is none yet.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mgpu-bench)
set(CPACK_PACKAGE_VENDOR "mgpu-bench maintainers")
set(CPACK_PACKAGE_CONTACT "mgpu-bench maintainers <maintainers@users.noreply.a-seed-f060c669.example>"
    CACHE STRING "Maintainer of the packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL runtime development ${mgpu_mpi_plugins})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME mgpu-bench)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "ocl-icd-libopencl1 | libopencl1, pocl-opencl-icd | opencl-icd, python3:any")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "python3-matplotlib, python3-plotly")  # what plot.py and report_html.py draw with
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "measure how work splits over several OpenCL devices
Runs real workloads (Merkle trees, matrix products, multi-scalar
multiplication) on GPUs, CPUs and parts of a CPU under many partition
strategies, checks the results against an independent reference, and
reports speed-up, efficiency, imbalance and the bottleneck as tables,
JSON and timelines. Results can be compared, for gates in CI.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmgpu-bench-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libfmt-dev, nlohmann-json3-dev, libtomlplusplus-dev, libssl-dev, zlib1g-dev")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "layers of mgpu-bench for programs of one's own
Static libraries, headers and a CMake package: partition strategies
and their simulator, the OpenCL executor, metrics, result files, and
the suites of mgpu-bench.")

set(mpi_of_openmpi "Open MPI")
set(mpi_of_mpich "MPICH")
set(launcher_of_openmpi openmpi-bin)
set(launcher_of_mpich mpich)
foreach(name IN LISTS mgpu_mpi_plugins)
  string(TOUPPER ${name} NAME)
  set(CPACK_DEBIAN_${NAME}_PACKAGE_NAME mgpu-bench-${name})
  set(CPACK_DEBIAN_${NAME}_PACKAGE_SECTION utils)
  set(CPACK_DEBIAN_${NAME}_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_${NAME}_PACKAGE_DEPENDS "mgpu-bench (= ${PROJECT_VERSION}), ${launcher_of_${name}}")
  set(CPACK_COMPONENT_${NAME}_DESCRIPTION "runs of mgpu-bench over many nodes, on ${mpi_of_${name}}
The plug-in that mgpu-bench loads when it is launched by ${mpi_of_${name}}:
one run then uses the OpenCL devices of all its processes.")
endforeach()

# Debian wants copyright and changelog in each package. The date is that of the commit, so that a commit always gives the same package.
execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} log -1 --format=%cD OUTPUT_VARIABLE package_date OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET)
if(NOT package_date)
  string(TIMESTAMP package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
configure_file(cmake/debian-copyright.in ${PROJECT_BINARY_DIR}/generated/copyright @ONLY)
foreach(component runtime development ${mgpu_mpi_plugins})
  string(TOUPPER ${component} COMPONENT)
  set(package_name ${CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME})
  set(changelog ${PROJECT_BINARY_DIR}/generated/${component}/changelog)
  configure_file(cmake/debian-changelog.in ${changelog} @ONLY)
  execute_process(COMMAND ${gzip_program} -9nf ${changelog} COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${changelog}.gz ${PROJECT_BINARY_DIR}/generated/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package_name}
          COMPONENT ${component})
endforeach()
install(PROGRAMS scripts/ci/gate.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/mgpu-bench/examples COMPONENT runtime)
install(FILES scripts/ci/github-performance.yml DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/mgpu-bench/examples COMPONENT runtime)
# `mgpu-bench init` names this file.
install(FILES suites/kernel/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/mgpu-bench RENAME kernel.md COMPONENT runtime)
include(CPack)
