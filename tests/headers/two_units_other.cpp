// Here after much of the standard library: a call in weft with one of its types among the arguments must not end there,
// as that of `bind` with a string_view did.
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <ranges>
#include <thread>

#include "two_units.hpp"

#include <weft/debug.hpp>

bool call_there() { return call_here(); }
seen seen_there() { return seen_here(); }
