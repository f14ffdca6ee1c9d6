// Library: a vendor's shared library, which is looked for at run time.
#pragma once

#include <dlfcn.h>

#include <string>

namespace mgpu {

class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  // Returns false when the library cannot be loaded.
  bool load(const std::string& name) {
    handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    return handle_ != nullptr;
  }
  // Sets a pointer to a function; returns false, and sets null, when there is none of that name.
  template <class F>
  bool find(F& function, const char* name) const {
    function = reinterpret_cast<F>(::dlsym(handle_, name));
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;
};

}  // namespace mgpu
