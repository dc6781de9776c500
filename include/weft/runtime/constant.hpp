// Tensors that stay as they are, and what kernels keep of them between calls.
#pragma once

#include "weft/base/mutex.hpp"
#include "weft/base/sequence.hpp"
#include "weft/runtime/argument.hpp"

namespace weft::inline WEFT_ABI {

/// What kernels have made of a constant, by kernel and by all the constants that it was made of; kept as long as it.
class kept_of_constant {
 public:
  kept_of_constant() : state_(next_state()) {}
  kept_of_constant(kept_of_constant const&) = delete;
  kept_of_constant& operator=(kept_of_constant const&) = delete;
  ~kept_of_constant() { forget(); }

  /// Its contents have a number, which no others ever had in this process.
  std::uint64_t state() const { return state_; }
  /// What kernel number `kernel` left that made it of these states; null: nothing yet. Any number of threads at once.
  void* find(std::uint64_t kernel, std::uint64_t const* states, int count) const;
  /// Leaves it `memory`, of malloc. The lock is held.
  void keep(std::uint64_t kernel, std::uint64_t const* states, int count, void* memory);
  /// Held by the call that makes what is not there yet.
  mutex lock;

 protected:
  /// Gives all of it back: the contents are others now.
  void forget();

 private:
  static std::uint64_t next_state();
  struct made {
    std::uint64_t kernel;
    sequence<std::uint64_t> states;
    void* memory;
    made* next;
  };
  made* first_ = nullptr;
  std::uint64_t state_;
};

/// A tensor whose elements stay as they are while this lives, such as the weights of a network: what a schedule prepacks of it
/// (s.prepack) is made by the first call and read by all later ones. Where none does, it is the view that it was made of.
///
///     weft::constant const weights(weft::view(w, 512, 512));
///     dense(x, weights, weft::out(y));  // packs them
///     dense(x, weights, weft::out(y));  // reads what was packed
///
/// Threads  any number of calls at once
/// Cost     the memory of each packed form, until it ends; the elements themselves stay the caller's
template <class View>
class constant : public kept_of_constant {
 public:
  /// Of a view, which `weft::view` makes.
  explicit constant(View const& v) : view_(v) {}
  /// What it stands for.
  View const& view() const { return view_; }
  /// Says that the elements have been written: later calls pack them anew. Not while a call runs.
  void changed() { forget(); }

 private:
  View view_;
};

namespace detail {
template <class V>
struct argument_traits<constant<V>> : argument_traits<V> {
  static_assert(is_tensor_view<V> && !argument_traits<V>::is_output,
                "weft: a constant is made of a weft::view: weft::constant w(weft::view(data, rows, columns))");
  static void describe(constant<V> const& c, argument& a) {
    argument_traits<V>::describe(c.view(), a);
    a.constant = const_cast<constant<V>*>(&c);  // which may hold more after the call, behind its lock
  }
  static constexpr std::size_t plain_words = 0;
};
}  // namespace detail

}  // namespace weft::inline WEFT_ABI

#if WEFT_HEADER_ONLY
#include "weft/runtime/constant.ipp"
#endif
