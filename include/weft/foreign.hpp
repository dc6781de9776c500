// All that weft.hpp includes and is not weft, so that nothing of it is first seen between WEFT_COLD_BEGIN and _END.
// Each header includes what it needs all the same; tests/headers/layers.py holds this list complete, and to no more.
#pragma once

#include "weft/config.hpp"  // first: it says in words what is missing

#include <pthread.h>

#include <array>
#include <bit>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#if WEFT_HEADER_ONLY
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#endif
