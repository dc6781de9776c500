// The functions of SQLite that the tuner uses, found when first asked for; declared here, so that no header of it is needed.
#pragma once

#include <cstdint>

#include "weft/config.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {

/// Of libsqlite3.so.0, whose interface does not change within 3.x.
///
/// Source  sqlite3.h of 3.40.1
struct sqlite_api {
  struct database;
  struct statement;
  using destructor = void (*)(void*);
  static constexpr int ok = 0, error = 1, busy = 5, read_only = 8, io = 10, corrupt = 11, full = 13, cannot_open = 14, constraint = 19, mismatch = 20, no_database = 26, row = 100, done = 101;
  static constexpr int read_write = 2, create = 4, full_mutex = 0x10000, persist_wal = 10;
  static inline destructor const transient = reinterpret_cast<destructor>(std::intptr_t(-1));

  int (*open_v2)(char const* file, database** into, int flags, char const* vfs) = nullptr;
  int (*close_v2)(database*) = nullptr;
  int (*exec)(database*, char const* sql, int (*)(void*, int, char**, char**), void*, char** message) = nullptr;
  int (*busy_timeout)(database*, int ms) = nullptr;
  int (*file_control)(database*, char const* which, int what, void* value) = nullptr;
  int (*prepare_v2)(database*, char const* sql, int bytes, statement** into, char const** tail) = nullptr;
  int (*finalize)(statement*) = nullptr;
  int (*step)(statement*) = nullptr;
  int (*bind_int64)(statement*, int at, long long int value) = nullptr;
  int (*bind_double)(statement*, int at, double value) = nullptr;
  int (*bind_text)(statement*, int at, char const* text, int bytes, destructor) = nullptr;
  long long int (*column_int64)(statement*, int at) = nullptr;
  double (*column_double)(statement*, int at) = nullptr;
  unsigned char const* (*column_text)(statement*, int at) = nullptr;
  int (*column_bytes)(statement*, int at) = nullptr;
};

/// Null where there is no SQLite: apt-get install libsqlite3-0.
sqlite_api const* find_sqlite();

}  // namespace tuning
}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/tune/sqlite_api.ipp"
#endif
