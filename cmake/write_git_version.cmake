# Run at every build: -DSOURCE, -DOUTPUT. Touches the file only when the commit changed. Empty outside a git work tree.
cmake_minimum_required(VERSION 3.25)  # a script of its own: no policies come from CMakeLists.txt
set(version "")
find_program(GIT git)
if(GIT)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12
                  OUTPUT_VARIABLE version ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "// Written by cmake/write_git_version.cmake.
const char* mgpu_git_version();
const char* mgpu_git_version() { return \"@version@\"; }
" @ONLY)
