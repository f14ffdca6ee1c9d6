// A run on many ranks. Rank 0 plans for all: it runs the ordinary session over the devices of all
// ranks, and the other ranks serve their devices to it by messages. README.md of this folder
// explains all of it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/cluster/launch.hpp"
#include "lib/cluster/share_out.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {

class Cluster {
 public:
  // Joins the job; `local` has this rank's devices, and the clock. Rank 0 waits for the handshakes
  // of the other ranks. Throws Error(input) without a plug-in, Error(device), Error(timeout); and
  // Error(usage), after telling the other ranks to leave, if ranks differ where they must be the
  // same.
  static std::unique_ptr<Cluster> join(const Launch& launch, std::unique_ptr<Backend> local,
                                       const Fingerprint& mine,
                                       const std::filesystem::path& program);
  // Joins through any transport. Call greet() next, which throws the same errors, after telling the
  // other ranks to leave.
  Cluster(std::function<std::unique_ptr<Transport>()> join, PostTimes times,
          std::unique_ptr<Backend> local, const Fingerprint& mine);
  ~Cluster();  // only after leave(); leaks what a thread that could not leave still uses
  void greet();

  RankNumber rank() const;
  // Returns the devices of all ranks as one backend, on rank 0; the cluster must outlive it.
  std::unique_ptr<Backend> backend();
  // Serves this rank's devices until rank 0 is done. Throws Error(device) when rank 0 has failed.
  void serve();
  // Makes all ranks leave the job. If a rank has failed, ends all of them with this exit code, this
  // process too.
  void leave(int code);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace mgpu
