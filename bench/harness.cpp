#include "harness.hpp"

#include <sys/mman.h>
#include <time.h>
#include <weft/bench/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <limits>

namespace bench {

double now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

double percentile(std::vector<double> const& values, double part) {
  return weft::bench::quantile(weft::sequence<double>(values.begin(), values.end()), part);
}
double median(std::vector<double> const& values) { return percentile(values, 0.5); }
double spread(std::vector<double> const& values) {
  double const middle = median(values);
  return middle > 0 ? (percentile(values, 0.9) - percentile(values, 0.1)) / middle : 0;
}

namespace {
double timed(variant const& v, std::int64_t times) {
  double const start = now_ns();
  v.run(times);
  return now_ns() - start;
}
/// How often to run it for a sample. What takes much longer than that is run once, here and in each round.
std::int64_t calibrate(variant const& v, double sample_ns) {
  if (timed(v, 1) > 20 * sample_ns) return 1;
  for (std::int64_t times = 1;; times *= 2) {
    double const ns = timed(v, times);
    if (ns >= sample_ns) return times;
    // Once it can be told, straight there, with a tenth more so that no sample falls short.
    if (ns > sample_ns / 16) return static_cast<std::int64_t>(1.1 * sample_ns / ns * static_cast<double>(times)) + 1;
  }
}
double one_sample(variant const& v, std::int64_t times, double settle_ns) {
  double const start = now_ns();
  do {
    if (times > 1) v.run(std::max<std::int64_t>(times / 8, 1));
  } while (times > 1 && now_ns() - start < settle_ns);
  return timed(v, times) / static_cast<double>(times);
}
}  // namespace

std::vector<std::vector<double>> sample(std::vector<variant> const& variants, sampling const& s) {
  std::size_t const count = variants.size();
  std::vector<std::int64_t> times(count);
  for (std::size_t i = 0; i < count; ++i) times[i] = calibrate(variants[i], s.sample_ms * 1e6);
  std::vector<std::vector<double>> samples(count);
  double const start = now_ns();
  for (int round = 0; round < s.rounds; ++round) {
    if (s.budget_ms > 0 && round >= 3 && now_ns() - start > s.budget_ms * 1e6) break;
    for (std::size_t n = 0; n < count; ++n) {
      std::size_t const i = round % 2 == 0 ? n : count - 1 - n;
      samples[i].push_back(one_sample(variants[i], times[i], s.settle_ms * 1e6));
    }
  }
  return samples;
}

std::vector<figure> measure(std::vector<variant> const& variants, sampling const& s) {
  std::vector<std::vector<double>> const samples = sample(variants, s);
  std::size_t const count = variants.size();
  std::vector<figure> figures(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto const& reference = samples[static_cast<std::size_t>(variants[i].reference)];
    std::vector<double> ratios;
    for (std::size_t n = 0; n < samples[i].size(); ++n) ratios.push_back(reference[n] / samples[i][n]);
    figures[i] = {median(samples[i]), spread(samples[i]), median(ratios), percentile(samples[i], 0)};
  }
  return figures;
}

buffer::buffer(std::size_t count, int number) : count_(count) {
  constexpr std::size_t page = std::size_t(2) << 20;
  // 11 lines of 64 in a page: of numbers up to 6 any two are 9 apart or more. (With 17 the fifth was 4 behind the first: stores to a result delayed loads of what it is made of.)
  std::size_t const stagger = static_cast<std::size_t>(number) * 11 * 64;
  mapped_bytes_ = (count * sizeof(float) + stagger + page - 1) / page * page + page;
  mapped_ = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped_ == MAP_FAILED) std::perror("weft-bench: mmap"), std::exit(2);
  auto const first = (reinterpret_cast<std::uintptr_t>(mapped_) + page - 1) / page * page;
  ::madvise(reinterpret_cast<void*>(first), mapped_bytes_ - page, MADV_HUGEPAGE);
  data_ = reinterpret_cast<float*>(first + stagger);
}
buffer::~buffer() { ::munmap(mapped_, mapped_bytes_); }

void buffer::randomize(std::uint64_t seed) const {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::size_t i = 0; i < count_; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    float const size = 0.25f + 0.75f * static_cast<float>(state >> 40) * 0x1p-24f;
    data_[i] = (state & 1) != 0 ? size : -size;
  }
}
void buffer::poison() const { std::fill_n(data_, count_, std::numeric_limits<float>::quiet_NaN()); }

std::string text(char const* format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return line;
}
void demand_at_least(row& r, double value, double limit, char const* unit) {
  r.bar = text(">= %g%s", limit, unit);
  r.met = value >= limit ? verdict::pass : verdict::miss;
}
void demand_at_most(row& r, double value, double limit, char const* unit) {
  r.bar = text("<= %g%s", limit, unit);
  r.met = value <= limit ? verdict::pass : verdict::miss;
}
void add_ns_over_first(report& r, std::vector<variant> const& variants, double limit_ns) {
  auto const figures = measure(variants, {r.wanted.rounds, 2});
  for (std::size_t i = 0; i < variants.size(); ++i) {
    row line;
    line.variant = variants[i].name, line.median = figures[i].median, line.spread = figures[i].spread;
    line.unit = "ns", line.ratio = figures[i].ratio, line.reference = variants[0].name;
    double const more = figures[i].median - figures[0].median;
    if (i > 0) line.note = text("%.1f ns more", more);
    if (i > 0) demand_at_most(line, more, limit_ns, " ns more");
    r.add(line);
  }
}

namespace {
char const* word(verdict v) { return v == verdict::pass ? "PASS" : v == verdict::miss ? "MISS" : ""; }
std::string quoted(std::string const& s) {
  std::string out = "\"";
  for (char const c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}
std::string json_line(std::string const& name, row const& r) {
  std::string line = "{\"case\":" + quoted(name) + ",\"variant\":" + quoted(r.variant) +
                     text(",\"median\":%.6g,\"spread\":%.4f,\"unit\":", r.median, r.spread) + quoted(r.unit);
  line += r.ratio > 0 ? text(",\"ratio\":%.4f,\"reference\":", r.ratio) + quoted(r.reference)
                      : std::string(",\"ratio\":null,\"reference\":null");
  if (r.met != verdict::none)
    line += ",\"bar\":" + quoted(r.bar) + ",\"pass\":" + (r.met == verdict::pass ? "true" : "false");
  if (!r.note.empty()) line += ",\"note\":" + quoted(r.note);
  line += r.more;
  return line + "}\n";
}
}  // namespace

void report::begin(std::string const& name) { case_ = name; }
void report::add(row const& r) {
  if (wanted.json) {
    std::fputs(json_line(case_, r).c_str(), stdout);
  } else {
    if (!header_printed_)
      std::printf("%-24s %-24s %10s %-8s %7s %8s  %-12s %-4s\n", "case", "variant", "median", "unit", "spread", "ratio",
                  "bar", "");
    header_printed_ = true;
    std::printf("%-24s %-24s %10.4g %-8s %6.1f%% %8s  %-12s %-4s %s\n", case_.c_str(), r.variant.c_str(), r.median,
                r.unit.c_str(), 100 * r.spread, r.ratio > 0 ? text("%.3fx", r.ratio).c_str() : "", r.bar.c_str(),
                word(r.met), r.note.c_str());
  }
  std::fflush(stdout);
}
void report::skip(std::string const& why) {
  std::fprintf(wanted.json ? stderr : stdout, "%-24s [skip] %s\n", case_.c_str(), why.c_str());
}
void report::wrong(std::string const& what) {
  all_right_ = false;
  std::fprintf(stderr, "%s: WRONG RESULT: %s\n", case_.c_str(), what.c_str());
}

}  // namespace bench
