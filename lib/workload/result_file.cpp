#include "lib/workload/result_file.hpp"

#include <fstream>

#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"

namespace mgpu {

void write_result_file(const std::filesystem::path& file,
                       const std::function<void(std::ostream&)>& write) {
  try {
    AtomicFile out(file);
    std::ofstream stream(out.path(), std::ios::binary);
    write(stream);
    stream.close();
    if (!stream)
      throw Error(ErrorKind::output,
                  "cannot write \"" + file.string() + "\": the disk may be full");
    out.commit();
  } catch (const Error& error) {
    throw Error(ErrorKind::output, std::string("--output: ") + error.what());
  }
}

}  // namespace mgpu
