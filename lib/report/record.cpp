// The words of the records, as the result file and the tables write them.
#include "lib/report/record.hpp"

namespace mgpu {

const char* to_string(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::failed:
      return "failed";
    case Status::skipped:
      return "skipped";
    case Status::unsupported:
      return "unsupported";
  }
  return "";
}

const char* to_string(VerifyStatus status) {
  switch (status) {
    case VerifyStatus::passed:
      return "passed";
    case VerifyStatus::failed:
      return "failed";
    case VerifyStatus::off:
      return "off";
  }
  return "";
}

}  // namespace mgpu
