#include "two_units.hpp"

addresses seen_by_the_other_unit() { return seen_here(); }
