// A device of this rank that rank 0 uses: a thread carries out the calls in the order of their
// arrival, and reports batches as they complete.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/cluster/post.hpp"
#include "lib/cluster/served_objects.hpp"
#include "lib/cluster/wire.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {

class ServedDevice {
 public:
  // `backend`, `post` and `parts` must outlive it.
  ServedDevice(Backend& backend, Post& post, GroupParts& parts, std::uint32_t number,
               std::unique_ptr<OpenDevice> device);
  ~ServedDevice();  // leaves a thread behind that a driver blocks

  void push(Message call);  // from any thread
  void close();             // ends when all pushed calls are done
  bool is_over() const;
  OpenDevice* device();  // null: the device is closed

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

// Return the head of the answer to the call with this ticket, to which the results are added; and
// an error as an answer.
Writer answer_to(std::uint64_t ticket);
Writer refusal_of(std::uint64_t ticket, const Error& error);

}  // namespace mgpu
