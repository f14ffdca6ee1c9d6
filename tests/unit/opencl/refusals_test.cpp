// Which OpenCL failures are about a kernel, and hints that other compilers do not get.
#include <doctest/doctest.h>

#include "lib/opencl/cl_common.hpp"
#include "lib/opencl/cl_program_cache.hpp"

using namespace mgpu;

TEST_CASE("a status that is about the kernel is unsupported; others are of the device") {
  for (const cl_int status :
       {CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE, CL_INVALID_KERNEL_ARGS,
        CL_INVALID_BUILD_OPTIONS, CL_BUILD_PROGRAM_FAILURE, CL_COMPILER_NOT_AVAILABLE}) {
    CAPTURE(status);
    CHECK(cl_failure("kernel", status).kind() == ErrorKind::unsupported);
  }
  for (const cl_int status :
       {CL_OUT_OF_RESOURCES, CL_DEVICE_NOT_AVAILABLE, CL_INVALID_COMMAND_QUEUE,
        CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -9999}) {
    CAPTURE(status);
    CHECK(cl_failure("kernel", status).kind() == ErrorKind::device);
  }
  CHECK(cl_failure("buffer", CL_MEM_OBJECT_ALLOCATION_FAILURE).kind() == ErrorKind::out_of_memory);
}

TEST_CASE("hints to one vendor's compiler can be left out, and nothing else is") {
  CHECK(without_hints(" -DA=1 -cl-nv-maxrregcount=64 -DB -cl-nv-verbose") == "-DA=1 -DB");
  CHECK(without_hints(" -DA=1  -DB") == " -DA=1  -DB");
}
