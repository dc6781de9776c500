#include "contest.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include <weft/bench/statistics.hpp>
#include <weft/codegen/target.hpp>

#include "modules.hpp"

namespace bench::peers {
namespace {
constexpr double patience_s = 2;  // for one run of a kernel of weft's

struct outcome {
  std::string family, name, unit, best_peer;
  int threads = 1;
  weights as = weights::plain;
  double weft = 0, peer = 0, limit = 0, ratio = 0;  // in `unit`; 0: there is none
  bars bar{};
};
std::vector<outcome> outcomes;
/// What a row demands over one other way: its ratio, and the highest that the samples leave possible.
struct met_demand {
  std::string name, other;
  int threads = 1;
  double ratio = 0, highest = 0, bar = 0;
};
std::vector<met_demand> met;
/// Of the rows of a family with as many threads and the like weights.
struct mean {
  std::string family;
  int threads = 1;
  weights as = weights::plain;
  double logs = 0, bar = 0;
  int count = 0;

  double ratio() const { return std::exp(logs / count); }
  std::string name() const { return family + (as == weights::packed ? ", packed" : ""); }
};
std::vector<mean> means() {
  std::vector<mean> all;
  for (outcome const& o : outcomes) {
    if (!(o.ratio > 0)) continue;
    auto at = std::find_if(all.begin(), all.end(), [&](mean const& m) { return m.family == o.family && m.threads == o.threads && m.as == o.as; });
    if (at == all.end()) at = all.insert(all.end(), {o.family, o.threads, o.as, 0, o.bar.mean, 0});
    at->logs += std::log(o.ratio), ++at->count;
  }
  return all;
}
std::string where;
std::map<std::string, double> slowest;  // operations, or bytes, per ns of weft's last kernel of a family

variant repeated(way const& w) {
  return {w.name, [run = w.run](std::int64_t times) {
            while (times-- > 0) run();
          }};
}
bool is_weft(way const& w) { return w.name.rfind("weft", 0) == 0; }
}  // namespace

contest::contest(report& r, std::string family, std::string name, problem const& p, work const& w, bars plain, bars packed)
    : report_(r), family_(std::move(family)), name_(std::move(name)), problem_(p), work_(w), plain_(plain), packed_(packed) {
  report_.begin(name_ + (p.threads == 1 ? " 1T" : text(" %dT", p.threads)));
}

void contest::weft(std::string name, std::function<void()> run, weights as) {
  double const amount = work_.by_bytes ? work_.bytes : work_.operations;
  auto const known = slowest.find(family_);
  if (known != slowest.end() && amount / known->second > patience_s * 1e9)
    return report_.skip(text("weft: would take %.0f s, by the one before", amount / known->second * 1e-9));
  own_.push_back({std::move(name), std::move(run), as});
}

double contest::element(std::int64_t i) const {
  if (is_integer_) return static_cast<double>(static_cast<std::int32_t const*>(problem_.out)[i]);
  return static_cast<double>(static_cast<float const*>(problem_.out)[i]);
}

bool contest::is_right(way const& w, std::function<expected(std::int64_t)> const& formula) {
  if (restore_) restore_();
  else std::memset(problem_.out, 0xff, static_cast<std::size_t>(count_) * 4);  // NaN
  double const start = now_ns();
  w.run();
  if (is_weft(w))
    slowest[family_] = (work_.by_bytes ? work_.bytes : work_.operations) / (now_ns() - start);
  std::int64_t const step = std::max<std::int64_t>(count_ / 211, 1);
  double widest = agreement_ / 4;
  for (std::int64_t i = 0; formula && i < count_; i = i + step < count_ || i == count_ - 1 ? i + step : count_ - 1) {
    expected const e = formula(i);
    widest = std::max(widest, e.bound);
    if (!(std::abs(element(i) - e.value) <= e.bound)) {
      report_.wrong(w.name + text(": element %lld is %.9g, should be %.9g +- %.2g", static_cast<long long>(i), element(i),
                                  e.value, e.bound));
      return false;
    }
  }
  bool const is_first = first_.empty();
  if (is_first) first_.resize(static_cast<std::size_t>(count_));
  for (std::int64_t i = 0; i < count_; ++i) {
    double& known = first_[static_cast<std::size_t>(i)];
    if (is_first) known = element(i);
    // Both are within their bound; elsewhere it may be as wide as the widest that was seen, and somewhat wider.
    if (!(std::abs(element(i) - known) <= 4 * widest)) {
      report_.wrong(w.name + text(": element %lld is %.9g, but %.9g by another", static_cast<long long>(i), element(i), known));
      if (is_first) first_.clear();
      return false;
    }
  }
  return true;
}

void contest::agree(double bound) {
  agreement_ = bound;
  compete(nullptr);
}

double contest::limit_ns() const {
  double const arithmetic_ns = work_.operations / std::max(peak(work_.kind, problem_.threads), 1e-9);
  bandwidth const b = bandwidth_at(static_cast<std::int64_t>(work_.bytes), problem_.threads);
  double const memory_ns = work_.bytes / (work_.only_reads ? std::max(b.read, b.read_asked) : std::max({b.copy, b.copy_past_cache, b.copy_asked}));
  return std::max(peak(work_.kind, 1) > 0 ? arithmetic_ns : 0, memory_ns);
}

void contest::compete(std::function<expected(std::int64_t)> const& formula) {
  if (report_.wanted.list || name_.find(report_.wanted.only) == std::string::npos) return;
  std::vector<way> all = ways_of_all(report_, problem_), ways;
  all.insert(all.end(), own_.begin(), own_.end());
  std::vector<variant> variants;
  for (way const& w : all)
    if (is_right(w, formula)) ways.push_back(w), variants.push_back(repeated(w));
  if (ways.empty()) return report_.skip("nobody can do it");
  if (restore_) restore_();
  sampling s{report_.wanted.rounds, 5, problem_.threads > 1 ? 2.0 : 0.5};
  s.budget_ms = 4000;
  auto const samples = sample(variants, s);
  if (left_out_ > 0) {
    row line;
    line.variant = "terms around the image", line.median = 100 * left_out_, line.unit = "%";
    line.note = text("without them the limit is %.4g", work_.operations / limit_ns() / (1 - left_out_));
    report_.add(line);
  }
  bool packs = false;
  for (way const& w : own_) packs = packs || w.as == weights::packed;
  print(ways, samples, weights::plain, !packs);
  if (packs) print(ways, samples, weights::packed, false);
  print_demands(ways, samples);
}

void contest::print_demands(std::vector<way> const& ways, std::vector<std::vector<double>> const& samples) {
  auto const find = [&](auto const& is) { return static_cast<std::size_t>(std::find_if(ways.begin(), ways.end(), is) - ways.begin()); };
  std::size_t const own = find(is_weft);
  for (demand const& d : demands_) {
    std::size_t const other = find([&](way const& w) { return w.name == d.variant; });
    if (own == ways.size() || other == ways.size() || own == other) continue;
    std::vector<double> ratios;
    for (std::size_t n = 0; n < samples[own].size(); ++n) ratios.push_back(samples[other][n] / samples[own][n]);
    double const amount = work_.by_bytes ? work_.bytes : work_.operations;
    row line;
    line.variant = ways[own].name, line.median = amount / median(samples[own]), line.spread = spread(samples[own]);
    line.unit = unit();
    line.ratio = median(ratios), line.reference = d.variant, line.note = "over " + d.variant;
    double highest = line.ratio;
    if (d.as_far_as_seen && ratios.size() >= 6) {
      ::weft::sequence<double> mine(samples[own].size()), others(samples[own].size());
      for (std::size_t n = 0; n < mine.size(); ++n) mine[n] = samples[own][n], others[n] = samples[other][n];
      highest = ::weft::bench::ratio_of_medians(others, mine).sure.high;
    }
    demand_at_least(line, highest, d.bar, d.as_far_as_seen ? "x, as far as seen" : "x");
    report_.add(line);
    met.push_back({name_, d.variant, problem_.threads, line.ratio, highest, d.bar});
  }
}
std::string contest::unit() const { return work_.by_bytes ? "GB/s" : work_.kind == arithmetic::u8s8 ? "GOP/s" : "GFLOP/s"; }

void contest::print(std::vector<way> const& ways, std::vector<std::vector<double>> const& samples, weights as, bool all) {
  // With packed weights a peer without such is a peer all the same.
  std::size_t best = ways.size(), weft_at = ways.size();
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (is_weft(ways[i])) {
      if (ways[i].as == as && weft_at == ways.size()) weft_at = i;  // the first is what a user would write
    } else if ((as == weights::packed || ways[i].as == as) &&
               (best == ways.size() || median(samples[i]) < median(samples[best]))) {
      best = i;
    }
  }
  double const amount = work_.by_bytes ? work_.bytes : work_.operations, limit = amount / limit_ns();
  bars const bar = as == weights::packed ? packed_ : plain_;
  outcome o{family_, name_, unit(), best < ways.size() ? ways[best].name : "", problem_.threads, as};
  o.limit = limit, o.bar = bar;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    if (ways[i].as != as && i != best && !all) continue;
    row line;
    line.variant = ways[i].name, line.unit = unit(), line.spread = spread(samples[i]), line.median = amount / median(samples[i]);
    if (best < ways.size()) {
      std::vector<double> ratios;
      for (std::size_t n = 0; n < samples[i].size(); ++n) ratios.push_back(samples[best][n] / samples[i][n]);
      line.ratio = median(ratios), line.reference = ways[best].name;
    }
    line.note = text("%.0f%% of the limit, %.4g", 100 * line.median / limit, limit);
    line.more = text(",\"threads\":%d,\"weft\":%s,\"packed\":%s,\"operations\":%.6g,\"bytes\":%.6g,\"limit\":%.6g", problem_.threads,
                     is_weft(ways[i]) ? "true" : "false", as == weights::packed ? "true" : "false", work_.operations,
                     work_.bytes, limit) +
                ",\"family\":\"" + family_ + "\"";
    if (i == weft_at && line.ratio > 0 && bar.each > 0) demand_at_least(line, line.ratio, bar.each, "x");
    if (i == weft_at) o.weft = line.median, o.ratio = line.ratio;
    if (i == best) o.peer = line.median;
    report_.add(line);
  }
  outcomes.push_back(o);
}

namespace {
std::string processor() {
  std::string name = "?";
  if (std::FILE* const f = std::fopen("/proc/cpuinfo", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, f) != nullptr)
      if (std::strncmp(line, "model name", 10) == 0 && std::strchr(line, ':') != nullptr) {
        name = std::strchr(line, ':') + 2;
        name.resize(name.find_last_not_of('\n') + 1);
        break;
      }
    std::fclose(f);
  }
  return name;
}
void limit_row(report& r, std::string name, double value, char const* unit, int threads) {
  row line;
  line.variant = std::move(name), line.median = value, line.unit = unit;
  line.more = text(",\"threads\":%d,\"family\":\"limits\"", threads);
  r.add(line);
}
}  // namespace

void say_where(report& r) {
  auto const& machine = ::weft::host();
  where = text("%s, %d threads, %s, vectors of %d bytes, caches of %lld KiB, %lld KiB, %lld MiB", processor().c_str(), machine.threads,
               machine.cpu.c_str(), machine.vector_bytes, static_cast<long long>(machine.l1_bytes >> 10),
               static_cast<long long>(machine.l2_bytes >> 10), static_cast<long long>(machine.l3_bytes >> 20)) +
          "; " + versions(r);
  r.begin("machine");
  row line;
  line.variant = "processor and peers", line.note = where;
  r.add(line);
  for (int const threads : {1, 2}) {
    if (r.wanted.threads != 0 && r.wanted.threads != threads) continue;
    r.begin(text("limits %dT", threads));
    limit_row(r, "fma, f32", peak(arithmetic::f32, threads), "GFLOP/s", threads);
    if (bf16_gflops() > 0) limit_row(r, "dot products, bf16", peak(arithmetic::bf16, threads), "GFLOP/s", threads);
    if (u8s8_gops() > 0) limit_row(r, "dot products, u8 s8", peak(arithmetic::u8s8, threads), "GOP/s", threads);
    for (int const mib : {8, 256}) {
      bandwidth const b = bandwidth_at(std::int64_t(mib) << 20, threads);
      limit_row(r, text("read, %d MiB", mib), b.read, "GB/s", threads);
      limit_row(r, text("read, asked for before, %d MiB", mib), b.read_asked, "GB/s", threads);
      limit_row(r, text("copy, %d MiB", mib), b.copy, "GB/s", threads);
      limit_row(r, text("copy past cache, %d MiB", mib), b.copy_past_cache, "GB/s", threads);
      limit_row(r, text("copy, asked for before, %d MiB", mib), b.copy_asked, "GB/s", threads);
    }
  }
}

void print_means(report& r) {
  if (!r.wanted.only.empty()) return;  // of a part of a family's rows nothing was asked
  for (mean const& m : means()) {
    if (!(m.bar > 0)) continue;
    r.begin("geomean: " + m.name() + text(" %dT", m.threads));
    row line;
    line.variant = "weft", line.ratio = m.ratio(), line.reference = "the best peers", line.note = text("of %d", m.count);
    demand_at_least(line, line.ratio, m.bar, "x");
    r.add(line);
  }
}

void print_markdown(report&) {
  std::printf("\n%s\n\n", where.c_str());
  std::printf("| operation | threads | weft | best peer | | ratio | bar | limit | of the limit |\n"
              "|---|---|---|---|---|---|---|---|---|\n");
  std::string family;
  for (outcome const& o : outcomes) {
    if (o.family != family) std::printf("| **%s** | | | | | | | | |\n", o.family.c_str());
    family = o.family;
    std::string const weft = o.weft > 0 ? text("%.4g %s", o.weft, o.unit.c_str()) : "not run";
    std::string const ratio = o.ratio > 0 ? text(o.ratio < o.bar.each ? "**%.2f**" : "%.2f", o.ratio) : "";
    std::string const bar = o.bar.each > 0 ? text("%.2f", o.bar.each) : "";
    std::printf("| %s%s | %d | %s | %.4g | %s | %s | %s | %.4g | %s |\n", o.name.c_str(),
                o.as == weights::packed ? ", packed" : "", o.threads, weft.c_str(), o.peer, o.best_peer.c_str(), ratio.c_str(),
                bar.c_str(), o.limit, o.weft > 0 ? text("%.0f %%", 100 * o.weft / o.limit).c_str() : "");
  }
  std::printf("\n| operation | threads | over | ratio | bar |\n|---|---|---|---|---|\n");
  for (met_demand const& d : met)
    std::printf(d.highest < d.bar ? "| %s | %d | %s | **%.2f** | %.2f |\n" : "| %s | %d | %s | %.2f | %.2f |\n", d.name.c_str(), d.threads, d.other.c_str(), d.ratio, d.bar);
  std::printf("\n| family | threads | geometric mean of the ratios | bar | of how many |\n|---|---|---|---|---|\n");
  for (mean const& m : means())
    std::printf(m.ratio() < m.bar ? "| %s | %d | **%.2f** | %s | %d |\n" : "| %s | %d | %.2f | %s | %d |\n", m.name().c_str(), m.threads, m.ratio(),
                m.bar > 0 ? text("%.2f", m.bar).c_str() : "", m.count);
}

}  // namespace bench::peers
