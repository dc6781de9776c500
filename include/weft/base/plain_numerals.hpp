// Numbers in text that is read again, by whoever: with a point, whatever the program's locale has.
#pragma once

#include <locale.h>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// While it lives, what this thread prints and reads of numbers (printf, strtod) is as in C: a locale may write 1.5 as 1,5, which splits
/// a list in two, and reads "1.5" as 1. Other threads, and what the program has set, stay as they are.
///
/// Cost    two stores: glibc gives the locale of C without making one
class plain_numerals {
 public:
  plain_numerals() : own_(::newlocale(LC_ALL_MASK, "C", locale_t{})), before_(own_ != locale_t{} ? ::uselocale(own_) : locale_t{}) {}
  ~plain_numerals() {
    if (before_ != locale_t{}) ::uselocale(before_);
    if (own_ != locale_t{}) ::freelocale(own_);
  }
  plain_numerals(plain_numerals const&) = delete;
  plain_numerals& operator=(plain_numerals const&) = delete;

 private:
  locale_t own_, before_;
};

}  // namespace detail
}  // namespace weft::inline WEFT_ABI
