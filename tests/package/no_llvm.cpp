// Preloaded, this makes a machine without LLVM of any machine: no library of that name can be opened.
#include <dlfcn.h>

#include <cstring>

extern "C" void* dlopen(char const* path, int flags) noexcept {
  if (path != nullptr && std::strstr(path, "LLVM") != nullptr) return nullptr;
  return reinterpret_cast<void* (*)(char const*, int)>(::dlsym(RTLD_NEXT, "dlopen"))(path, flags);
}
