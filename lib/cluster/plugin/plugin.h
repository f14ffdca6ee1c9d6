/* Interface of a plug-in for one MPI: a few calls of that library behind names of our own, in C, so
 * that the program needs no MPI to be built or to start, and one program works with every MPI. All
 * calls come from the one thread that called begin(); only begin() and end() wait. */
#ifndef MGPU_CLUSTER_PLUGIN_H
#define MGPU_CLUSTER_PLUGIN_H

#ifdef __cplusplus
extern "C" {
#endif

#define MGPU_CLUSTER_PLUGIN_VERSION 2

struct mgpu_cluster_plugin {
  int version; /* MGPU_CLUSTER_PLUGIN_VERSION */
  /* Joins the job. Returns NULL, or why that was impossible. */
  const char* (*begin)(int* rank, int* size);
  const char* (*library)(void); /* its name and version, for people */
  /* Begins to send; the memory must not change until over() says that the transfer has ended.
   * Returns NULL if refused. */
  void* (*send)(int to, const void* data, int size);
  /* Tests for a message that no receive() was begun for. Returns 1: there is one of `*size` bytes
   * from `*from`; 0: there is none; -1: the library failed. */
  int (*waiting)(int* from, int* size);
  void* (*receive)(int from, void* into, int size); /* the oldest from `from` */
  int (*over)(void* transfer); /* 1: it has ended, and is forgotten; 0: not yet; -1: it failed */
  int (*end)(void);            /* leaves the job when all have called it */
  /* Tells whether send() takes CUDA device memory. 1: yes; 0: no; -1: the library cannot be asked. */
  int (*takes_device_memory)(void);
  void (*abort)(int code);     /* ends the processes of all ranks, this one too */
};

/* The one symbol of a plug-in. */
const struct mgpu_cluster_plugin* mgpu_cluster_plugin_table(void);
typedef const struct mgpu_cluster_plugin* (*mgpu_cluster_plugin_entry)(void);

#ifdef __cplusplus
}
#endif

#endif
