// Names of the modes.
#include "lib/base/error.hpp"
#include "lib/plan/slice_source.hpp"

namespace mgpu {

const char* to_string(Mode mode) {
  switch (mode) {
    case Mode::resident:
      return "resident";
    case Mode::scalars:
      return "scalars";
    case Mode::end_to_end:
      return "end_to_end";
  }
  throw Error(ErrorKind::internal, "a mode without a name");
}

}  // namespace mgpu
