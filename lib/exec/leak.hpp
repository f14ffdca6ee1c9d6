// What a device may still be using is never freed: its handles, its buffers, the host memory it
// transfers from and to. To release them can block for ever, and to free them lets the device write
// to memory that is somebody else's. This is the one place where such objects go; the process
// leaves by _Exit, which gives everything back.
#pragma once

#include <memory>
#include <utility>

namespace mgpu {

// Holds the object for the rest of the process; leak checkers see it as in use. From any thread.
void leak_shared(std::shared_ptr<void> object);

// Takes ownership: leak(std::move(device)).
template <class T>
void leak(T object) {
  leak_shared(std::make_shared<T>(std::move(object)));
}

}  // namespace mgpu
