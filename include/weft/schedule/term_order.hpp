// Whether a schedule takes the terms of each reduction in the order in which the program has them.
#pragma once

#include <string>

#include "weft/schedule/schedule.hpp"

namespace weft::inline WEFT_ABI {

/// Whether the reduced loops of `stage` run over its terms in the order of the program.
bool keeps_term_order(nest const& n, int stage);
/// Why results of floats may not have the bits of direct evaluation, whatever the data are: a reduction is taken in parts, in another order, or by an
/// instruction that joins several terms at once. Empty: they have them.
std::string why_not_bitwise(schedule const& s);

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/schedule/term_order.ipp"
#endif
