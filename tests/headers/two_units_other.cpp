#include "two_units.hpp"

bool call_there() { return call_here(); }
seen seen_there() { return seen_here(); }
