// The plug-in. It is compiled once per MPI whose headers are installed, into a shared object of its
// own (cmake/cluster.cmake).
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include <cstring>

#include "lib/cluster/plugin/plugin.h"

namespace {

constexpr int kTag = 30;
MPI_Comm everybody = MPI_COMM_NULL;

const char* begin(int* rank, int* size) {
  static char why[MPI_MAX_ERROR_STRING] = "MPI_Init_thread failed";
  int provided = 0, length = 0;
  // Other threads use devices; only this one calls MPI.
  const int status = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  if (status != MPI_SUCCESS) {
    MPI_Error_string(status, why, &length);
    return why;
  }
  if (provided < MPI_THREAD_FUNNELED)
    return "this MPI cannot be called from a program with threads";
  if (MPI_Comm_dup(MPI_COMM_WORLD, &everybody) != MPI_SUCCESS) return "MPI_Comm_dup failed";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(everybody, MPI_ERRORS_RETURN);
  MPI_Comm_rank(everybody, rank);
  MPI_Comm_size(everybody, size);
  return nullptr;
}

const char* library() {
  static char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(version, &length) != MPI_SUCCESS) return "MPI";
  version[std::strcspn(version, "\n,")] = '\0';
  for (char* c = version; *c != '\0'; ++c)
    if (*c == '\t') *c = ' ';
  return version;
}

void* send(int to, const void* data, int size) {
  auto* request = new MPI_Request;
  if (MPI_Isend(data, size, MPI_BYTE, to, kTag, everybody, request) == MPI_SUCCESS) return request;
  delete request;
  return nullptr;
}

int waiting(int* from, int* size) {
  int is_there = 0;
  MPI_Status status;
  // Open MPI fetches new messages after it has searched those it knew: the second call finds what
  // the first one fetched.
  for (int look = 0; look < 2 && is_there == 0; ++look)
    if (MPI_Iprobe(MPI_ANY_SOURCE, kTag, everybody, &is_there, &status) != MPI_SUCCESS) return -1;
  if (is_there == 0) return 0;
  *from = status.MPI_SOURCE;
  return MPI_Get_count(&status, MPI_BYTE, size) == MPI_SUCCESS ? 1 : -1;
}

void* receive(int from, void* into, int size) {
  auto* request = new MPI_Request;
  if (MPI_Irecv(into, size, MPI_BYTE, from, kTag, everybody, request) == MPI_SUCCESS)
    return request;
  delete request;
  return nullptr;
}

int over(void* transfer) {
  auto* request = static_cast<MPI_Request*>(transfer);
  int done = 0;
  if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return -1;
  if (done != 0) delete request;
  return done;
}

int end() { return MPI_Finalize() == MPI_SUCCESS ? 0 : -1; }

// Both libraries have the same query, whose answer covers UCX, if they are built over it.
int takes_device_memory() {
#if (defined(OPEN_MPI) && defined(MPIX_CUDA_AWARE_SUPPORT)) || \
    (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40000000)
  return MPIX_Query_cuda_support() == 1 ? 1 : 0;
#else
  return -1;
#endif
}

void abort_all(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

constexpr mgpu_cluster_plugin kTable = {
    MGPU_CLUSTER_PLUGIN_VERSION, begin,    library, send, waiting, receive, over, end,
    takes_device_memory,         abort_all};

}  // namespace

extern "C" __attribute__((visibility("default"))) const mgpu_cluster_plugin*
mgpu_cluster_plugin_table(void) {
  return &kTable;
}
