// See the header.
#include "lib/workload/result_file.hpp"

#include <fstream>
#include <system_error>

#include "lib/base/error.hpp"

namespace mgpu {

void write_result_file(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write) {
  std::filesystem::path temporary = file;
  temporary += ".tmp";
  std::ofstream stream(temporary, std::ios::binary);
  write(stream);
  stream.close();
  std::error_code error;
  if (stream) std::filesystem::rename(temporary, file, error);
  if (stream && !error) return;
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  throw Error(ErrorKind::output, "--output " + file.string() + ": cannot be written" + (error ? ": " + error.message() : ""));
}

}  // namespace mgpu
