// A run on many ranks: rank 0 plans for all, and calls travel. It runs the ordinary session over
// the devices of all ranks; the others serve their devices to it. The page of this folder,
// README.md, has the whole of it.
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
  // Joins the job; `local` has this rank's devices, and the clock. Rank 0 waits for the others to
  // say who they are. Throws Error(input) without a plug-in, Error(device), Error(timeout);
  // Error(usage) where ranks differ in what has to be the same, when the others have been told to
  // leave.
  static std::unique_ptr<Cluster> join(const Launch& launch, std::unique_ptr<Backend> local,
                                       const Fingerprint& mine,
                                       const std::filesystem::path& program);
  // By any transport. Then greet(), which throws what is above, when the others have been told to
  // leave.
  Cluster(std::function<std::unique_ptr<Transport>()> join, PostTimes times,
          std::unique_ptr<Backend> local, const Fingerprint& mine);
  ~Cluster();  // after leave(): else its threads still use it
  void greet();

  RankNumber rank() const;
  // Of rank 0: the devices of all ranks. Lives as long as the cluster at most.
  std::unique_ptr<Backend> backend();
  // Of the others: until rank 0 is done. Throws Error(device) when rank 0 is lost.
  void serve();
  // All ranks leave; where one is lost, all are ended, with this exit code, this process too.
  void leave(int code);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace mgpu
