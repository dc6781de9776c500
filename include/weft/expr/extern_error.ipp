#include "weft/base/joined.hpp"
#include "weft/expr/extern_error.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void raise_extern(std::string_view kernel, program const& p, std::int32_t number, std::int32_t code) {
  std::size_t stage = 0;
  while (p.stages[stage].by == nullptr || number-- > 0) ++stage;
  stage_info const& s = p.stages[stage];
  WEFT_THROW(extern_error(joined({kernel, ": stage ", program::at(p.tensors, s.tensor).name.view(), ": function ",
                                  s.by->name, " answered ", std::to_string(code), "; outputs are not complete"}),
                          code));
}

}  // namespace weft::inline WEFT_ABI
