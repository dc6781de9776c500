#include "weft/base/joined.hpp"
#include "weft/expr/access_error.hpp"

namespace weft::inline WEFT_ABI {

WEFT_DECL void raise_access(program const& p, int tensor, sequence<std::int64_t> const& index,
                            sequence<std::int64_t> const& shape) {
  auto const listed = [](sequence<std::int64_t> const& numbers, char const* between) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size(); ++i) text += joined({i == 0 ? "" : between, std::to_string(numbers[i])});
    return text;
  };
  tensor_info const& t = program::at(p.tensors, tensor);
  WEFT_THROW(argument_error(joined({"evaluate: ", t.name.view(), "(", listed(index, ", "), ") is outside of ", t.name.view(),
                                    ", which is ", listed(shape, " x "), "; clamp the index, guard the access by select, or ",
                                    t.stage < 0 ? "give a larger tensor" : "compute more of it"})));
}

}  // namespace weft::inline WEFT_ABI
