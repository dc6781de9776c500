#include <cstdlib>

#include "weft/base/joined.hpp"
#include "weft/codegen/llvm/jit.hpp"

namespace weft::inline WEFT_ABI {
namespace codegen::llvm {

namespace detail {
// The result of a lookup; ORC may answer on another thread, after OrcExecutionSessionLookup has returned.
struct lookup {
  std::uint64_t address = 0;
  std::string why;
  bool done = false;
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
};

inline void take_lookup(error_ref e, symbol_address* found, std::size_t count, void* user) {
  auto& to = *static_cast<lookup*>(user);
  ::pthread_mutex_lock(&to.lock);
  if (e != nullptr)
    to.why = take_message(load_llvm(), e);
  else if (count == 1)
    to.address = found->address;
  to.done = true;
  // Signalled under the lock: the waiter destroys both as soon as it gets the lock.
  ::pthread_cond_signal(&to.answered);
  ::pthread_mutex_unlock(&to.lock);
}

inline void await(lookup& l) {
  ::pthread_mutex_lock(&l.lock);
  while (!l.done) ::pthread_cond_wait(&l.answered, &l.lock);
  ::pthread_mutex_unlock(&l.lock);
  ::pthread_cond_destroy(&l.answered);
  ::pthread_mutex_destroy(&l.lock);
}

inline void take_report(void* user, error_ref e) {
  auto& reported = *static_cast<std::string*>(user);
  reported += (reported.empty() ? "" : "; ") + take_message(load_llvm(), e);
}
}  // namespace detail

WEFT_DECL jit::jit() : llvm_(load_llvm()) {
  error_ref const e = llvm_.OrcCreateLLJIT(&orc_, nullptr);
  if (e != nullptr) WEFT_THROW(device_error("LLVM cannot link for this machine: " + take_message(llvm_, e)));
  session_ = llvm_.OrcLLJITGetExecutionSession(orc_);
  llvm_.OrcExecutionSessionSetErrorReporter(session_, detail::take_report, &reported_);
}

WEFT_DECL jit& jit::instance() {
  static jit& only = *new jit;
  return only;
}

WEFT_DECL void* jit::add_and_find(loaded_code const& code, std::string_view object_bytes, char const* symbol,
                                  std::string& why) {
  auto* const buffer = llvm_.CreateMemoryBufferWithMemoryRangeCopy(object_bytes.data(), object_bytes.size(), "weft");
  why = take_message(llvm_, llvm_.OrcLLJITAddObjectFileWithRT(orc_, code.tracker_, buffer));
  if (!why.empty()) return nullptr;
  detail::lookup result;
  search_element where{code.dylib_, OrcJITDylibLookupFlagsMatchExportedSymbolsOnly};
  lookup_element what{llvm_.OrcLLJITMangleAndIntern(orc_, symbol), OrcSymbolLookupFlagsRequiredSymbol};
  llvm_.OrcExecutionSessionLookup(session_, OrcLookupKindStatic, &where, 1, &what, 1, detail::take_lookup, &result);
  detail::await(result);
  why = static_cast<std::string&&>(result.why);
  return reinterpret_cast<void*>(result.address);
}

WEFT_DECL loaded_code jit::link(std::string_view object_bytes, std::string_view symbol) {
  llvm_use const use;
  guard const g(lock_);
  loaded_code code;
  if (empty_.empty()) {
    code.dylib_ = llvm_.OrcExecutionSessionCreateBareJITDylib(session_, "weft");
  } else {
    code.dylib_ = empty_.back();
    empty_.pop_back();
  }
  code.tracker_ = llvm_.OrcJITDylibCreateResourceTracker(code.dylib_);
  reported_.clear();
  std::string why;
  code.entry_ = add_and_find(code, object_bytes, std::string(symbol).c_str(), why);
  if (code.entry_ != nullptr) return code;
  remove(code.tracker_, code.dylib_);
  code.tracker_ = nullptr;
  if (!reported_.empty()) why += (why.empty() ? "" : "; ") + reported_;
  WEFT_THROW(device_error(joined({"cannot link '", symbol, "': ", why})));
}

WEFT_DECL void jit::remove(tracker_ref tracker, dylib_ref dylib) {
  error_ref const e = llvm_.OrcResourceTrackerRemove(tracker);
  llvm_.OrcReleaseResourceTracker(tracker);
  if (e == nullptr)
    empty_.push_back(dylib);
  else
    llvm_.ConsumeError(e);
}

WEFT_DECL loaded_code::~loaded_code() {
  if (tracker_ == nullptr || llvm_use::is_over()) return;
  jit& j = jit::instance();
  guard const g(j.lock_);
  j.remove(tracker_, dylib_);
}
WEFT_DECL void loaded_code::swap(loaded_code& other) noexcept {
  auto const exchange = [](auto& a, auto& b) {
    auto const was = a;
    a = b;
    b = was;
  };
  exchange(entry_, other.entry_);
  exchange(tracker_, other.tracker_);
  exchange(dylib_, other.dylib_);
}

}  // namespace codegen::llvm
}  // namespace weft::inline WEFT_ABI
