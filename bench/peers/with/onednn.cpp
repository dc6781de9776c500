// oneDNN: plain layouts, and weights in a layout of its own choice that are reordered before anything is timed. Versions 2 and 3.
#include <dnnl.hpp>

#include <cmath>
#include <memory>

#include <omp.h>

#include "../problem.hpp"

namespace bench::peers {
namespace {
using namespace dnnl;
using md = memory::desc;
using tag = memory::format_tag;
using type = memory::data_type;

engine const& processor() {
  static engine const e(engine::kind::cpu, 0);
  return e;
}
stream& queue() {
  static stream s(processor());
  return s;
}
memory on(md const& d, void const* data) { return memory(d, processor(), const_cast<void*>(data)); }

/// Version 2 describes an operation, then makes a primitive's description of that; version 3 has one step.
template <class Primitive, class... A>
typename Primitive::primitive_desc described(primitive_attr const& attributes, A const&... how) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(processor(), how..., attributes);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(how...), attributes, processor());
#endif
}
void then(post_ops& after, algorithm what, float alpha = 0) {
#if DNNL_VERSION_MAJOR >= 3
  after.append_eltwise(what, alpha, 0);
#else
  after.append_eltwise(1, what, alpha, 0);
#endif
}

/// A primitive with what it is run on.
struct step {
  primitive what;
  std::unordered_map<int, memory> on;
};
std::function<void()> run_of(int threads, std::vector<step> const& steps) {
  return [threads, steps] {
    omp_set_num_threads(threads);
    for (step const& s : steps) s.what.execute(queue(), s.on);
    queue().wait();
  };
}
/// `from` in the layout of `wanted`.
memory reordered(memory from, md const& wanted) {
  if (from.get_desc() == wanted) return from;
  memory to(wanted, processor());
  reorder(from, to).execute(queue(), from, to);
  queue().wait();
  return to;
}

void products(problem const& p, std::vector<way>& ways) {
  bool const bytes = p.what == task::matmul_u8s8s32, halves = p.what == task::matmul_bf16;
  type const left = bytes ? type::u8 : halves ? type::bf16 : type::f32, right = bytes ? type::s8 : left;
  md a, b, c;
  if (p.batch > 1) {
    a = md({p.batch, p.m, p.k}, left, tag::abc), b = md({p.batch, p.k, p.n}, right, tag::abc);
    c = md({p.batch, p.m, p.n}, type::f32, tag::abc);
  } else {
    a = md({p.m, p.k}, left, p.transpose_a ? tag::ba : tag::ab), b = md({p.k, p.n}, right, p.transpose_b ? tag::ba : tag::ab);
    c = md({p.m, p.n}, bytes ? type::s32 : type::f32, tag::ab);
  }
  bool const fused = p.what == task::matmul_relu || p.what == task::matmul_gelu;
  md const bias = fused ? md({1, p.n}, type::f32, tag::ab) : md();
  primitive_attr attributes;
  if (fused) {
    post_ops after;
    then(after, p.what == task::matmul_relu ? algorithm::eltwise_relu : algorithm::eltwise_gelu_erf);
    attributes.set_post_ops(after);
  }
  auto const with = [&](md const& weights_as) {
    return fused ? described<matmul>(attributes, a, weights_as, bias, c) : described<matmul>(attributes, a, weights_as, c);
  };
  auto const add = [&](char const* name, matmul::primitive_desc const& d, weights as) {
    std::unordered_map<int, memory> operands{{DNNL_ARG_SRC, on(a, p.in[0])},
                                             {DNNL_ARG_WEIGHTS, reordered(on(b, p.in[1]), d.weights_desc())},
                                             {DNNL_ARG_DST, on(c, p.out)}};
    if (fused) operands.emplace(DNNL_ARG_BIAS, on(bias, p.in[2]));
    ways.push_back({name, run_of(p.threads, {{matmul(d), operands}}), as});
  };
  add("oneDNN", with(b), weights::plain);
  if (p.batch == 1 && !p.transpose_a && !p.transpose_b && p.n > 1)
    add("oneDNN, packed", with(md({p.k, p.n}, right, tag::any)), weights::packed);
}

/// Convolutions with weights as they are and in a layout of its own; activations as they are.
void convolutions(problem const& p, std::vector<way>& ways) {
  bool const by_channel = p.what == task::depthwise;
  std::int64_t const o = by_channel ? p.c : p.o;
  tag const image = p.channels_last ? tag::nhwc : tag::nchw;
  md const x({1, p.c, p.h, p.w}, type::f32, image), y({1, o, p.out_h(), p.out_w()}, type::f32, image);
  memory::dims const shape = by_channel ? memory::dims{p.c, 1, 1, p.kernel, p.kernel} : memory::dims{o, p.c, p.kernel, p.kernel};
  tag const stored = by_channel ? (p.channels_last ? tag::hwigo : tag::goihw) : (p.channels_last ? tag::hwio : tag::oihw);
  md const w(shape, type::f32, stored);
  for (bool const packed : {false, true}) {
    try {
      memory::dims const stride{p.stride, p.stride}, padding{p.padding, p.padding};
      auto const c = described<convolution_forward>({}, prop_kind::forward_inference, algorithm::convolution_direct, x,
                                                    packed ? md(shape, type::f32, tag::any) : w, y, stride, padding, padding);
      ways.push_back({packed ? "oneDNN, packed" : "oneDNN",
                      run_of(p.threads, {{convolution_forward(c),
                                          {{DNNL_ARG_SRC, on(x, p.in[0])},
                                           {DNNL_ARG_WEIGHTS, reordered(on(w, p.in[1]), c.weights_desc())},
                                           {DNNL_ARG_DST, on(y, p.out)}}}}),
                      packed ? weights::packed : weights::plain});
    } catch (dnnl::error const&) {  // it has no such one
    }
  }
}

step softmax_of(md const& x, memory const& from, memory const& to) {
#if DNNL_VERSION_MAJOR >= 3
  auto const d = described<softmax_forward>({}, prop_kind::forward_inference, algorithm::softmax_accurate, x, x, static_cast<int>(x.get_dims().size()) - 1);
#else
  auto const d = described<softmax_forward>({}, prop_kind::forward_inference, x, static_cast<int>(x.dims().size()) - 1);
#endif
  return {softmax_forward(d), {{DNNL_ARG_SRC, from}, {DNNL_ARG_DST, to}}};
}
void layernorm(problem const& p, std::vector<way>& ways) {
  md const x({p.m, p.n}, type::f32, tag::ab), v({p.n}, type::f32, tag::a);
  normalization_flags const flags = normalization_flags::use_scale | normalization_flags::use_shift;
#if DNNL_VERSION_MAJOR >= 3
  auto const d = described<layer_normalization_forward>({}, prop_kind::forward_inference, x, x, 1e-5f, flags);
#else
  auto const d = described<layer_normalization_forward>({}, prop_kind::forward_inference, x, 1e-5f, flags);
#endif
  ways.push_back({"oneDNN", run_of(p.threads, {{layer_normalization_forward(d),
                                                {{DNNL_ARG_SRC, on(x, p.in[0])},
                                                 {DNNL_ARG_SCALE, on(v, p.in[1])},
                                                 {DNNL_ARG_SHIFT, on(v, p.in[2])},
                                                 {DNNL_ARG_DST, on(x, p.out)}}}})});
}
void exponential(problem const& p, std::vector<way>& ways) {
  md const x({p.m}, type::f32, tag::a);
#if DNNL_VERSION_MAJOR >= 3
  auto const d = described<eltwise_forward>({}, prop_kind::forward_inference, algorithm::eltwise_exp, x, x, 0.f, 0.f);
#else
  auto const d = described<eltwise_forward>({}, prop_kind::forward_inference, algorithm::eltwise_exp, x, 0.f, 0.f);
#endif
  ways.push_back({"oneDNN", run_of(p.threads, {{eltwise_forward(d), {{DNNL_ARG_SRC, on(x, p.in[0])}, {DNNL_ARG_DST, on(x, p.out)}}}})});
}
void add(problem const& p, std::vector<way>& ways) {
  md const x({p.m}, type::f32, tag::a);
  auto const d = described<binary>({}, algorithm::binary_add, x, x, x);
  ways.push_back({"oneDNN", run_of(p.threads, {{binary(d),
                                                {{DNNL_ARG_SRC_0, on(x, p.in[0])},
                                                 {DNNL_ARG_SRC_1, on(x, p.in[1])},
                                                 {DNNL_ARG_DST, on(x, p.out)}}}})});
}
void bias_gelu(problem const& p, std::vector<way>& ways) {
  md const x({p.m, p.n}, type::f32, tag::ab), v({1, p.n}, type::f32, tag::ab);
  post_ops after;
  then(after, algorithm::eltwise_gelu_tanh);
  primitive_attr attributes;
  attributes.set_post_ops(after);
  auto const d = described<binary>(attributes, algorithm::binary_add, x, v, x);
  ways.push_back({"oneDNN", run_of(p.threads, {{binary(d),
                                                {{DNNL_ARG_SRC_0, on(x, p.in[0])},
                                                 {DNNL_ARG_SRC_1, on(v, p.in[1])},
                                                 {DNNL_ARG_DST, on(x, p.out)}}}})});
}
void softmax(problem const& p, std::vector<way>& ways) {
  md const x({p.m, p.n}, type::f32, tag::ab);
  ways.push_back({"oneDNN", run_of(p.threads, {softmax_of(x, on(x, p.in[0]), on(x, p.out))})});
}
void transposed(problem const& p, std::vector<way>& ways) {
  memory const from = on(md({p.m, p.n}, type::f32, tag::ab), p.in[0]), to = on(md({p.m, p.n}, type::f32, tag::ba), p.out);
  ways.push_back({"oneDNN", run_of(p.threads, {{reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}}})});
}
/// Scores, softmax and the product with the values, one after the other.
void attention(problem const& p, std::vector<way>& ways) {
  md const q({p.batch, p.m, p.k}, type::f32, tag::abc), k({p.batch, p.k, p.n}, type::f32, tag::acb);
  md const v({p.batch, p.n, p.k}, type::f32, tag::abc), s({p.batch, p.m, p.n}, type::f32, tag::abc);
  primitive_attr scaled;
  post_ops scale;
  then(scale, algorithm::eltwise_linear, 1 / std::sqrt(static_cast<float>(p.k)));
  scaled.set_post_ops(scale);
  memory const scores(s, processor());
  auto const first = described<matmul>(scaled, q, k, s), second = described<matmul>({}, s, v, q);
  ways.push_back({"oneDNN, three steps",
                  run_of(p.threads, {{matmul(first), {{DNNL_ARG_SRC, on(q, p.in[0])}, {DNNL_ARG_WEIGHTS, on(k, p.in[1])}, {DNNL_ARG_DST, scores}}},
                                     softmax_of(s, scores, scores),
                                     {matmul(second), {{DNNL_ARG_SRC, scores}, {DNNL_ARG_WEIGHTS, on(v, p.in[2])}, {DNNL_ARG_DST, on(q, p.out)}}}})});
}

void add_ways(problem const& p, std::vector<way>& ways) {
  switch (p.what) {
    case task::matmul:
    case task::matvec:
    case task::matmul_relu:
    case task::matmul_gelu:
    case task::matmul_u8s8s32:
    case task::matmul_bf16: return products(p, ways);
    case task::conv:
    case task::depthwise: return convolutions(p, ways);
    case task::softmax: return softmax(p, ways);
    case task::layernorm: return layernorm(p, ways);
    case task::bias_gelu: return bias_gelu(p, ways);
    case task::exp: return exponential(p, ways);
    case task::add: return add(p, ways);
    case task::transpose: return transposed(p, ways);
    case task::attention: return attention(p, ways);
    default: return;
  }
}
}  // namespace
}  // namespace bench::peers

char const* weft_bench_peer_version() {
  static std::string const all = [] {
    dnnl_version_t const* const v = dnnl_version();
    return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  }();
  return all.c_str();
}
void weft_bench_peer_ways(bench::peers::problem const& p, std::vector<bench::peers::way>& ways) {
  omp_set_num_threads(p.threads);  // what it prepares depends on it
  try {
    bench::peers::add_ways(p, ways);
  } catch (dnnl::error const&) {  // this processor or this version has no such operation
  }
}
