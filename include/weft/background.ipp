#include <pthread.h>
#include <signal.h>

#include <exception>

#include "weft/background.hpp"
#include "weft/base/env.hpp"
#include "weft/base/fork_gate.hpp"
#include "weft/base/unload.hpp"
#include "weft/expr/expand.hpp"
#include "weft/schedule/rules/view.hpp"

namespace weft::inline WEFT_ABI {
namespace detail {

/// Code that is to be made, and the form that it is for.
class postponed_form final : public later_code {
 public:
  enum state : std::int32_t { queued, running, done, failed };

  postponed_form(kernel_table& t, kernel_face const& face, ready_kernel* form, program const& what, call_layout const& layout)
      : later_code(form), table(&t), what_(what), layout_(layout), request_(request_of(face, what_, layout_)), plan_(plan_of(request_)) {}
  ~postponed_form() override {
    if (!published_) delete made;
  }
  bool is_on_disk() { return load_planned(request_, plan_, made->code); }
  void make(compiled_kernel& k, bool quick = false) const { make_planned(request_, plan_, k, quick); }
  /// The code, and the form among those that calls find. In a fork_gate.
  void finish() {
    std::int32_t now = done;
#if WEFT_HAS_EXCEPTIONS
    try {
#endif
      make(made->code);
      publish();
#if WEFT_HAS_EXCEPTIONS
    } catch (...) {
      error = std::current_exception();
      now = state::failed;
      if (made->open != nullptr) __atomic_store_n(&table->only_exact, true, __ATOMIC_RELAXED);
    }
#endif
    __atomic_store_n(&is, now, __ATOMIC_RELEASE);
  }
  bool is_done() const override { return __atomic_load_n(&is, __ATOMIC_ACQUIRE) == state::done; }
  /// `made` goes on without this.
  void let_go() { published_ = true; }

  kernel_table* table;
  std::int32_t is = queued;
  bool is_begun = false;
  std::uint32_t process = 0;  // background::process
  postponed_form* next = nullptr;
#if WEFT_HAS_EXCEPTIONS
  std::exception_ptr error;
#endif

 private:
  void publish() {
    detail::publish(made->open != nullptr ? table->general : table->first, made);
    published_ = true;
  }
  program what_;
  call_layout layout_;
  compile_request request_;
  compile_plan plan_;
  bool published_ = false;
};

/// The thread that makes them, and those that wait for it. A fork happens only while nobody changes it, since who does holds a
/// fork_gate; but for the lock, which the waiting thread may have just then, and which the child makes anew.
struct background_thread {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  postponed_form* first = nullptr;
  postponed_form* running = nullptr;
  pthread_t thread{};
  bool started = false, stopping = false;
  std::uint32_t process = 0;  // how many forks lie between this process and the first one

  /// Unless another thread has.
  void add_again(postponed_form& form) {
    hold const locked(*this);
    if (form.process != process) append(form);
  }
  void add(postponed_form& form) {
    hold const locked(*this);
    if (!form.is_begun) append(form);
  }
  /// False: it is not waiting any more.
  bool take_out(postponed_form& form) {
    for (postponed_form** at = &first; *at != nullptr; at = &(*at)->next)
      if (*at == &form) {
        *at = form.next;
        return true;
      }
    return false;
  }
  /// Until it is done, by this thread where the other one has not begun.
  void finish(postponed_form& form) {
    fork_gate const no_fork;
    {
      hold const locked(*this);
      while (running == &form) ::pthread_cond_wait(&changed, &lock);
      if (!take_out(form)) return;
      __atomic_store_n(&form.is, postponed_form::state::running, __ATOMIC_RELAXED);
    }
    form.finish();
  }
  /// Until nothing is to be made.
  void finish_all() {
    hold const locked(*this);
    while (started && (first != nullptr || running != nullptr)) ::pthread_cond_wait(&changed, &lock);
  }
  void forget(kernel_table const& table) {
    hold const locked(*this);
    for (postponed_form** at = &first; *at != nullptr;)
      if ((*at)->table == &table) *at = (*at)->next;
      else at = &(*at)->next;
    while (running != nullptr && running->table == &table) ::pthread_cond_wait(&changed, &lock);
  }
  void stop() {
    {
      hold const locked(*this);
      if (!started) return;
      stopping = true;
      first = nullptr;
      ::pthread_cond_broadcast(&changed);
    }
    ::pthread_join(thread, nullptr);
    started = stopping = false;
  }

 private:
  struct hold {
    background_thread& b;
    explicit hold(background_thread& of) : b(of) { ::pthread_mutex_lock(&b.lock); }
    hold(hold const&) = delete;
    hold& operator=(hold const&) = delete;
    ~hold() { ::pthread_mutex_unlock(&b.lock); }
  };
  void append(postponed_form& form) {
    __atomic_store_n(&form.process, process, __ATOMIC_RELAXED);
    form.is_begun = true;
    form.next = nullptr;
    postponed_form** last = &first;
    while (*last != nullptr) last = &(*last)->next;
    *last = &form;
    if (!started) start();
    ::pthread_cond_broadcast(&changed);
  }
  void start();
  void work() {
    for (;;) {
      {
        hold const locked(*this);
        while (first == nullptr && !stopping) ::pthread_cond_wait(&changed, &lock);
        if (stopping) return;
      }
      fork_gate const no_fork;
      postponed_form* form = nullptr;
      {
        hold const locked(*this);
        form = running = first;
        if (form == nullptr) continue;  // taken out by a thread that waits for it
        first = form->next;
        __atomic_store_n(&form->is, postponed_form::state::running, __ATOMIC_RELAXED);
      }
      form->finish();
      hold const locked(*this);
      running = nullptr;
      ::pthread_cond_broadcast(&changed);
    }
  }
};
// Hidden: each library has its own, and joins it when it goes.
[[gnu::visibility("hidden")]] inline constinit background_thread background{};

inline void background_thread::start() {
  static int const registered = ::pthread_atfork(nullptr, nullptr, [] {
    std::uint32_t const number = background.process + 1;
    background.lock = PTHREAD_MUTEX_INITIALIZER;
    background.changed = PTHREAD_COND_INITIALIZER;
    background.first = background.running = nullptr;
    background.started = background.stopping = false;
    __atomic_store_n(&background.process, number, __ATOMIC_RELAXED);
  });
  static struct joined_at_unload {
    ~joined_at_unload() {
      if (library_is_unloaded()) background.stop();
    }
  } const at_end;
  static_cast<void>(registered), static_cast<void>(at_end);
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  started = ::pthread_create(&thread, nullptr, [](void*) -> void* {
              ::pthread_setname_np(::pthread_self(), "weft-later");
              return background.work(), nullptr;
            }, nullptr) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// Operations on elements, one by one.
inline double work_of(compile_request const& r) {
  compile_request plain = r;
  plain.how = nullptr, plain.by_rule = false;
  program const expanded = detail::expanded_program(r);
  schedule const s = schedule_with(plain, expanded, {});
  rule_input const nothing;
  rule_view const v(s, nothing);
  double work = 0;
  for (int stage = 0; stage < static_cast<int>(expanded.stages.size()); ++stage) work += v.iterations(stage) * v.operations(stage);
  return work;
}
// Measured (Zen 4, LLVM 22, 2026-11-22), in ms, to make it and to run it, matmul 512^3: as always 10.4, 2.5; quickly 3.6, 13.7; the
// plain nest quickly 1.3, about a second. Softmax of 512 x 512: 9.2, 0.10; 4.0, 0.38; 1.9, 1.5. Of the whole first call, by rule and in
// the background: matmul 30^3 5.9, 1.7; 130^3 12.6, 5.5; 256^3 9.6, 7.3; 400^3 8.6, 10.9, so that it waits.
inline constexpr double most_plain_work = 1e6, most_quick_work = 1e8;
}  // namespace detail

WEFT_DECL bool detail::is_postponed(kernel_face const& face) {
  bool const other = face.wanted.any() || environment_switch("WEFT_CHECKED") || environment_switch("WEFT_DEBUG");
  return !face.waits && !other && !library_is_unloaded() && (face.wanted.background || environment_switch("WEFT_BACKGROUND"));
}
WEFT_DECL void detail::make_or_postpone(kernel_table& table, kernel_face const& face, ready_kernel*& made, program const& what,
                                        call_layout const& layout, call_layout const& numbers) {
  auto* const form = new postponed_form(table, face, made, what, layout);
  struct dropper {
    postponed_form* form;
    ready_kernel*& made;
    ~dropper() {
      if (form == nullptr) return;
      form->let_go();
      delete form;
    }
  } drop{form, made};
  if (form->is_on_disk()) return;
  // Nothing is gained: such a call would take longer than to wait for good code, and to run that.
  if (work_of(request_of(face, made->what, numbers)) > most_quick_work) return form->make(made->code);
  drop.form = nullptr;
  ++form->users;
  struct user {
    postponed_form* form;
    ~user() {
      if (--form->users == 0) form->let_go(), delete form;
    }
  } const using_it{form};
  ready_kernel* const interim = interim_form(face, *made, numbers, *form);
  made = interim;
}
WEFT_DECL ready_kernel* detail::interim_form(kernel_face const& face, ready_kernel const& made, call_layout const& numbers, later_code& later) {
  auto* interim = new ready_kernel;
  struct dropper {
    ready_kernel*& k;
    ~dropper() { delete k; }
  } const drop{interim};
  interim->arguments = made.arguments;
  interim->shared = made.shared, interim->machine = made.machine, interim->wanted = made.wanted;
  interim->what = made.what, interim->steps = made.steps;
  interim->functions = made.functions;
  interim->name = made.name;
  interim->supersession = made.supersession;
  interim->number = next_number();
  compile_request exact = request_of(face, made.what, numbers);
  compile_plan plan = plan_of(exact);
  trace const steps = plan.how.steps;
  if (work_of(exact) <= most_plain_work) {
    exact.how = nullptr, exact.by_rule = false;
    plan = plan_of(exact);
  }
  make_planned(exact, plan, interim->code, true);
  interim->code.steps = steps;  // of the form for this shape, by which kernels with captures find it
  interim->later = &later;
  __atomic_add_fetch(&later.users, 1, __ATOMIC_RELAXED);
  ready_kernel* const result = interim;
  interim = nullptr;
  return result;
}
WEFT_DECL void detail::begin_later(ready_kernel const& k) { background.add(static_cast<postponed_form&>(*k.later)); }
WEFT_DECL ready_kernel const& detail::settled(kernel_face const& face, ready_kernel const& k) {
  auto& form = static_cast<postponed_form&>(*k.later);
  using state = postponed_form::state;
  std::int32_t now = __atomic_load_n(&form.is, __ATOMIC_ACQUIRE);
  if (now == state::queued && __atomic_load_n(&form.process, __ATOMIC_RELAXED) != __atomic_load_n(&background.process, __ATOMIC_RELAXED)) {
    fork_gate const no_fork;  // in the child of a fork, where the thread is not
    background.add_again(form);
  }
  if (face.waits && now < state::done) {
    background.finish(form);
    now = __atomic_load_n(&form.is, __ATOMIC_ACQUIRE);
  }
  if (now == state::done) {
    if (__atomic_load_n(&form.made->machine, __ATOMIC_RELAXED) != face.machine) give_up(k);  // a tuner has found another schedule: the next call makes it
    return *form.made;
  }
#if WEFT_HAS_EXCEPTIONS
  if (now == state::failed) {
    give_up(k);  // the next call tries again
    if (form.made->open == nullptr) std::rethrow_exception(form.error);
  }
#endif
  return k;
}
WEFT_DECL void detail::finish_all_later() { background.finish_all(); }
WEFT_DECL void detail::forget_later(kernel_table& table) { background.forget(table); }

}  // namespace weft::inline WEFT_ABI
