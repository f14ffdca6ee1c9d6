# One plug-in per MPI whose development files are there, beside the program: it has no MPI itself (lib/cluster/README.md).
# mgpu_mpi_plugin(name module): mgpu-bench-<name>.so by what pkg-config knows of <module>.
find_package(PkgConfig QUIET)
function(mgpu_mpi_plugin name module)
  if(NOT PkgConfig_FOUND)
    return()
  endif()
  pkg_check_modules(${name}_mpi QUIET ${module})
  if(NOT ${name}_mpi_FOUND)
    return()
  endif()
  add_library(mgpu_mpi_${name} MODULE ${PROJECT_SOURCE_DIR}/lib/cluster/plugin/mpi_plugin.cpp)
  set_target_properties(mgpu_mpi_${name} PROPERTIES PREFIX "" OUTPUT_NAME mgpu-bench-${name} CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  target_include_directories(mgpu_mpi_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(mgpu_mpi_${name} SYSTEM PRIVATE ${${name}_mpi_INCLUDE_DIRS})
  target_compile_definitions(mgpu_mpi_${name} PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  # The macros of MPI's headers cast as C does.
  target_compile_options(mgpu_mpi_${name} PRIVATE -Wno-old-style-cast -Wno-cast-function-type)
  target_link_directories(mgpu_mpi_${name} PRIVATE ${${name}_mpi_LIBRARY_DIRS})
  target_link_libraries(mgpu_mpi_${name} PRIVATE ${${name}_mpi_LIBRARIES})
  add_dependencies(mgpu-bench mgpu_mpi_${name})
  set(mgpu_mpi_plugins ${mgpu_mpi_plugins} ${name} PARENT_SCOPE)
endfunction()
mgpu_mpi_plugin(openmpi ompi-c)
mgpu_mpi_plugin(mpich mpich)

# Each is a package of its own, as it depends on its MPI.
foreach(name IN LISTS mgpu_mpi_plugins)
  install(TARGETS mgpu_mpi_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/mgpu-bench COMPONENT ${name})
endforeach()
