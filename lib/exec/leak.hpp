// Objects that a device may still be using are never freed: its handles, its buffers, the host
// memory of its transfers. Releasing them can block for ever, and freeing them lets the device
// write to memory that is reused. They are all kept here; the process leaves by _Exit, which
// returns everything to the system.
#pragma once

#include <memory>
#include <utility>

namespace mgpu {

// Keeps the object for the rest of the process; leak checkers see it as in use. Can be called from
// any thread.
void leak_shared(std::shared_ptr<void> object);

// Takes ownership of an object: leak(std::move(device)).
template <class T>
void leak(T object) {
  leak_shared(std::make_shared<T>(std::move(object)));
}

}  // namespace mgpu
