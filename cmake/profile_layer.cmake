# Builds libmgpu-bench-profile.so (lib/layer), which the OpenCL loader puts between a program and the
# drivers. It is loaded into programs of others, so it brings its C++ library along and shows no
# names but those that loaders look for. It stays when a loader unloads it, as its thread runs on.
file(GLOB layer_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/layer/*.cpp)
add_library(mgpu_profile_layer MODULE ${layer_sources})
set_target_properties(mgpu_profile_layer PROPERTIES OUTPUT_NAME mgpu-bench-profile CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE 3)
target_include_directories(mgpu_profile_layer PRIVATE ${PROJECT_SOURCE_DIR} ${OpenCL_INCLUDE_DIRS})
target_link_libraries(mgpu_profile_layer PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(mgpu_profile_layer PRIVATE
  -Wl,-z,nodelete -Wl,--version-script=${PROJECT_SOURCE_DIR}/lib/layer/exports.map)
if(NOT MGPU_SANITIZE)
  target_link_options(mgpu_profile_layer PRIVATE -static-libstdc++ -static-libgcc)
endif()
set_target_properties(mgpu_profile_layer PROPERTIES LINK_DEPENDS
  ${PROJECT_SOURCE_DIR}/lib/layer/exports.map)
add_dependencies(mgpu-bench mgpu_profile_layer)
install(TARGETS mgpu_profile_layer
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/mgpu-bench COMPONENT runtime)
