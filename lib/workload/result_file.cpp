#include "lib/workload/result_file.hpp"

#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"

namespace mgpu {

void write_result_file(const std::filesystem::path& file,
                       const std::function<void(std::ostream&)>& write) {
  try {
    OutputFile(file).stream(write);
  } catch (const Error& error) {
    throw Error(ErrorKind::output, std::string("--save-data: ") + error.what());
  }
}

}  // namespace mgpu
