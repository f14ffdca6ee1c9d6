// What the numbers of a file are refused with.
#include "lib/report/json_reader.hpp"

#include <fmt/format.h>

#include "lib/base/quote.hpp"

namespace mgpu {

double JsonReader::finite(double least, double most, bool zero) const {
  const double read =
      json_->is_number() ? json_->get<double>() : std::numeric_limits<double>::quiet_NaN();
  if (!(read >= least && read <= most && (zero || read > 0))) {
    refuse(fmt::format("a number {} {:g}, at most {:g}", zero ? "from" : "above", least, most));
  }
  return read;
}

void JsonReader::refuse(const std::string& accepted) const {
  const std::string value = json_->is_array()    ? "a list"
                            : json_->is_object() ? "an object"
                            : json_->is_string()
                                ? "the text " + in_quotes(json_->get_ref<const std::string&>())
                                : in_quotes(json_->dump());
  fail(value + " is not accepted: " + accepted);
}

}  // namespace mgpu
