#include <cstdlib>

#include "weft/base/env.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL char const* environment(char const* name) {
  char const* value = ::secure_getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}
WEFT_DECL int environment_number(char const* name, int lowest, int highest, int otherwise) {
  char const* text = environment(name);
  if (text == nullptr) return otherwise;
  char* end = nullptr;
  long const value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= lowest && value <= highest ? static_cast<int>(value) : otherwise;
}

}  // namespace weft::inline WEFT_ABI
