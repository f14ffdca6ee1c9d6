# Library mgpu_git_version: `const char* mgpu_git_version()`, the commit the binary was built from, looked up at every build.
add_custom_target(mgpu_git_version_file
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${PROJECT_BINARY_DIR}/generated/git_version.cpp
          -P ${PROJECT_SOURCE_DIR}/cmake/write_git_version.cmake
  BYPRODUCTS ${PROJECT_BINARY_DIR}/generated/git_version.cpp
  VERBATIM)
add_library(mgpu_git_version STATIC ${PROJECT_BINARY_DIR}/generated/git_version.cpp)
add_dependencies(mgpu_git_version mgpu_git_version_file)
