// What a call says when it refuses.
#pragma once

#include <string>

#include "weft/base/error.hpp"

namespace weft_test {

/// Empty when it does not.
template <class F>
std::string said_by(F const& f) {
  try {
    f();
  } catch (weft::error const& e) {
    return e.what();
  }
  return "";
}

}  // namespace weft_test
