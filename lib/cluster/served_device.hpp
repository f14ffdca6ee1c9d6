// A device of this rank that rank 0 uses: a thread carries out the calls in the order in which they
// came, and tells of batches as they complete.
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
  ~ServedDevice();  // a thread that a driver holds is left behind

  void push(Message call);  // from any thread
  void close();             // ends when what was pushed is done
  bool is_over() const;
  OpenDevice* device();  // null: it is closed

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

// The answer to a call with this ticket, to which what was asked for is added; and an error as one.
Writer answer_to(std::uint64_t ticket);
Writer refusal_of(std::uint64_t ticket, const Error& error);

}  // namespace mgpu
