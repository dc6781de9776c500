// Calls that do not wait for their code: simple code at once, the fast one from a thread of weft's. Parts of shapes.hpp.
#pragma once

#include "weft/kernel_table.hpp"

namespace weft::inline WEFT_ABI {

namespace detail {

/// Whether calls of this kernel do not wait, and this one is none that does.
bool is_postponed(kernel_face const& face);

/// Makes the code of `made` for `what`, or finds it on disk; or an interim form in its place, whose code is there sooner. `numbers`:
/// the layout of the call, `layout` that of the form.
///
/// Errors   as `compile`
void make_or_postpone(kernel_table& table, kernel_face const& face, ready_kernel*& made, program const& what, call_layout const& layout,
                      call_layout const& numbers);

/// An interim form for the call of `made`, until `later` is there.
ready_kernel* interim_form(kernel_face const& face, ready_kernel const& made, call_layout const& numbers, later_code& later);

// As of shape_services.
void begin_later(ready_kernel const& k);
ready_kernel const& settled(kernel_face const& face, ready_kernel const& k);
void forget_later(kernel_table& table);
void finish_all_later();

}  // namespace detail
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/background.ipp"
#endif
