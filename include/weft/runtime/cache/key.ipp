#include "weft/base/env.hpp"
#include "weft/base/hash.hpp"
#include "weft/codegen/epoch.hpp"
#include "weft/expr/canonical.hpp"
#include "weft/runtime/cache/entry.hpp"
#include "weft/runtime/cache/key.hpp"

namespace weft::inline WEFT_ABI {
namespace cache {
namespace detail {

/// Of the names of all operations, dtypes and steps in the order of their numbers: the numbers stand in keys, and an
/// operation that is put between others must not make an old key mean another program.
/// Not constexpr: clang would take 150 ms for it in every TU.
inline std::uint64_t vocabulary() {
  std::uint64_t h = 0;
  auto const take = [&](std::string_view name) {
    h = mix(h, name.size());
    for (char c : name) h = mix(h, static_cast<std::uint64_t>(c));
  };
  for (int i = 0; i < op_count; ++i) take(name(static_cast<op>(i)));
  for (int i = 0; i < dtype_count; ++i) take(name(static_cast<dtype>(i)));
  for (int i = 0; i < verb_count; ++i) take(name(static_cast<verb>(i)));
  return h;
}

#define WEFT_TEXT_OF(x) #x
#define WEFT_VERSION_TEXT(major, minor, patch) WEFT_TEXT_OF(major) "." WEFT_TEXT_OF(minor) "." WEFT_TEXT_OF(patch)
inline constexpr char weft_version[] = WEFT_VERSION_TEXT(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
#undef WEFT_VERSION_TEXT
#undef WEFT_TEXT_OF

// Members are taken apart by structured bindings, which do not compile when one is added: whoever adds a member decides
// here whether code depends on it.
class key_writer : public byte_writer {
 public:
  bool shapeless = false;  // the numbers of steps, extents and strides are left out
  WEFT_DECL void write(target const& t) {
    auto const& [arch, cpu, features, vector_bytes, vector_registers, fma, l1, l2, l3, l3_speed, units, threads] = t;
    text(cpu);
    numbers(arch, vector_bytes, vector_registers, fma);
    each(features, [&](std::string const& f) { text(f); });
  }
  WEFT_DECL void write(program const& p) {
    auto const& [nodes, operands, extents, inputs, tensors, axes, stages, results, reads, outputs, conditions, scalars, loud,
                 moved_to, moved_axis, guests, next_guest] = p;
    each(nodes, [&](node const& n) {
      auto const& [kind, type, a, b, c, value] = n;
      numbers(kind, type, a, b, c, value);
    });
    all(operands);
    all(extents);
    each(inputs, [&](input_info const& i) {
      auto const& [tensor, type] = i;
      numbers(tensor, type);
    });
    each(tensors, [&](tensor_info const& t) {
      auto const& [name, type, rank, first_extent, stage, given] = t;
      text(name.view());
      numbers(type, rank, first_extent, stage);
    });
    each(axes, [&](axis_info const& a) {
      auto const& [extent, stage, reduced] = a;
      numbers(extent, stage, reduced);
    });
    each(stages, [&](stage_info const& s) {
      auto const& [tensor, first_axis, spatial, first_reduced, reduced, first_result, results_of_it, scanned, backwards, first_read, by] = s;
      numbers(tensor, first_axis, spatial, first_reduced, reduced, first_result, results_of_it, scanned, backwards, first_read);
      if (by != nullptr) write(*by);
    });
    each(results, [&](result_info const& r) {
      auto const& [body, identity, merged] = r;
      numbers(body, identity, merged);
    });
    all(reads);
    all(outputs);
    numbers(scalars);
  }
  /// Not what it does: code asks for it at each call.
  WEFT_DECL void write(extern_function const& f) {
    auto const& [name, reads, writes, parameters, call, on_elements, cuda] = f;
    text(name);
    numbers(reads, writes);
    for (extern_parameter const& p : parameters) numbers(p.type, p.rank);
  }
  WEFT_DECL void write(intrinsic const& i) {
    auto const& [name, scope, terms, operands, pattern, match, computes, forms, rows, columns, operand_bytes, sum_bytes, has_places] = i;
    text(name);
    numbers(terms, operands, rows, columns, operand_bytes, sum_bytes, has_places);
    for (machine_form const& f : forms) text(f.feature), text(f.function), numbers(f.lanes);
    write(pattern());
    if (computes != nullptr) write(computes());
  }
  WEFT_DECL void write(trace const& steps) {
    each(steps, [&](step const& s) {
      auto const& [what, count, loops, factor, stage, tensor, axis, word, further, by, ruling, reason] = s;
      numbers(what, shapeless ? decltype(s.factor)(0) : factor, stage, tensor, axis, word, count);
      for (int i = 0; i < count; ++i) numbers(loops[static_cast<std::size_t>(i)]);
      if (shapeless) numbers(std::uint32_t(0));
      else all(further);
      if (by != nullptr) write(*by);
    });
  }
  WEFT_DECL void write(call_layout const& l) {
    auto const& [arguments, ranges, multiples] = l;
    static_cast<void>(multiples);  // asked for; what came of it is in the ranges
    each(arguments, [&](argument_layout const& a) {
      auto const& [extents, strides, alignment, alias_class, packed, constant] = a;
      numbers(shapeless ? decltype(a.alignment)(0) : alignment, alias_class, packed, constant);
      if (shapeless) {
        numbers(static_cast<std::uint32_t>(extents.size()));
        for (std::size_t d = 0; d < extents.size(); ++d) numbers(std::int64_t(0));
        numbers(std::uint32_t(0));
        return;
      }
      all(extents);
      all(strides);
    });
    // For how many sizes code is kept is asked at each call, and `likely` is in the steps.
    for (open_range const& r : ranges)
      if (r.shift > 0) numbers(r.name, r.shift);
  }

 private:
  /// Plain numbers.
  template <class T>
  void all(sequence<T> const& plain) {
    numbers(static_cast<std::uint32_t>(plain.size()));
    raw(plain.data(), plain.size() * sizeof(T));
  }
  template <class T, class F>
  void each(sequence<T> const& list, F const& one) {
    numbers(static_cast<std::uint32_t>(list.size()));
    for (T const& t : list) one(t);
  }
};
}  // namespace detail

namespace detail {
/// "0.1.0, code 32": what is kept is of one of these.
inline std::string const& version_text() {
  static std::string const text = joined({weft_version, ", code ", std::to_string(codegen_epoch)});
  return text;
}
inline void begin_key(key_writer& w, std::string_view name, program const& what, target const& machine) {
  char const* const llvm = environment("WEFT_LLVM");
  w.text(version_text());
  w.text(name);
  w.write(machine);
  static std::uint64_t const vocabulary_digest = vocabulary();
  w.numbers(vocabulary_digest);
  w.text(llvm != nullptr ? llvm : "");
  w.write(what);
}
inline std::string written_key(key_writer& w, std::string_view name, program const& what, trace const& steps, call_layout const& layout,
                               target const& machine, std::string_view beginning) {
  w.bytes.reserve(2048);
  if (!beginning.empty()) w.bytes.append(beginning);
  else begin_key(w, name, what, machine);
  w.write(steps);
  w.write(layout);
  return static_cast<std::string&&>(w.bytes);
}
}  // namespace detail

WEFT_DECL std::string beginning_of_keys(std::string_view name, program const& what, target const& machine) {
  detail::key_writer w;
  w.bytes.reserve(2048);
  detail::begin_key(w, name, what, machine);
  return static_cast<std::string&&>(w.bytes);
}

WEFT_DECL std::string key_of(std::string_view name, program const& what, trace const& steps, call_layout const& layout,
                             target const& machine, bool checked, std::string_view beginning) {
  detail::key_writer w;
  w.bytes = detail::written_key(w, name, what, steps, layout, machine, beginning);
  if (checked) w.text("checked");
  return static_cast<std::string&&>(w.bytes);
}

WEFT_DECL std::string shapeless_key_of(std::string_view name, program const& what, trace const& steps, call_layout const& layout,
                                       target const& machine, std::string_view beginning) {
  detail::key_writer w;
  w.shapeless = true;
  return detail::written_key(w, name, what, steps, layout, machine, beginning);
}

WEFT_DECL std::uint64_t form_of(trace const& steps) {
  detail::key_writer w;
  w.shapeless = true;
  w.bytes.reserve(2048);
  w.write(steps);
  return xxh64(w.bytes);
}

WEFT_DECL key_head head_of(std::string_view key) {
  byte_reader r(key);
  key_head h;
  h.version = r.text();
  h.kernel = r.text();
  h.target = r.text();
  return h;
}
WEFT_DECL bool is_of_this_version(std::string_view key) { return head_of(key).version == detail::version_text(); }

}  // namespace cache
}  // namespace weft::inline WEFT_ABI
