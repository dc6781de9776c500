#include "two_units.hpp"

#include <weft/debug.hpp>

addresses seen_by_the_other_unit() { return seen_here(); }
