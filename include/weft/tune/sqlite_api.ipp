#include <dlfcn.h>

#include <type_traits>

#include "weft/tune/sqlite_api.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {
struct loaded_sqlite {
  sqlite_api api{};
  bool complete = false;
  loaded_sqlite() {
    void* const library = ::dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    complete = true;
    auto const find = [&](char const* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      complete = complete && function != nullptr;
    };
    find("sqlite3_open_v2", api.open_v2);
    find("sqlite3_close_v2", api.close_v2);
    find("sqlite3_exec", api.exec);
    find("sqlite3_busy_timeout", api.busy_timeout);
    find("sqlite3_file_control", api.file_control);
    find("sqlite3_prepare_v2", api.prepare_v2);
    find("sqlite3_finalize", api.finalize);
    find("sqlite3_step", api.step);
    find("sqlite3_bind_int64", api.bind_int64);
    find("sqlite3_bind_double", api.bind_double);
    find("sqlite3_bind_text", api.bind_text);
    find("sqlite3_column_int64", api.column_int64);
    find("sqlite3_column_double", api.column_double);
    find("sqlite3_column_text", api.column_text);
    find("sqlite3_column_bytes", api.column_bytes);
  }
};
}  // namespace detail

WEFT_DECL sqlite_api const* find_sqlite() {
  static detail::loaded_sqlite const library;
  return library.complete ? &library.api : nullptr;
}

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI
