// The addresses of some functions of weft, as one TU sees them.
#pragma once

#include <weft/weft.hpp>

struct addresses {
  decltype(&weft::environment) text;
  decltype(&weft::environment_number) number;
  bool operator==(addresses const&) const = default;
};
inline constexpr addresses seen_here() { return {&weft::environment, &weft::environment_number}; }

addresses seen_by_the_other_unit();
