#include <cmath>
#include <cstdio>

#include "weft/base/joined.hpp"
#include "weft/base/plain_numerals.hpp"
#include "weft/bench/peak.hpp"
#include "weft/tune/report.hpp"
#include "weft/tune/run.hpp"

namespace weft::inline WEFT_ABI {
namespace tuning {
namespace detail {

/// As HTML shows it.
inline std::string escaped(std::string_view text) {
  std::string t;
  for (char c : text) {
    if (c == '<') t += "&lt;";
    else if (c == '>') t += "&gt;";
    else if (c == '&') t += "&amp;";
    else if (c == '"') t += "&quot;";
    else t += c;
  }
  return t;
}
inline std::string short_number(double x) { return number_text(x, "%.3g"); }

/// A drawing of 640 x 320, upwards on a logarithmic axis.
class drawing {
 public:
  drawing(double least_x, double most_x, double least_y, double most_y, bool log_x, std::string (*text_of)(double) = time_text)
      : x0_(log_x ? std::log(least_x) : least_x), x1_(log_x ? std::log(most_x) : most_x), y0_(std::log(least_y)),
        y1_(std::log(most_y)), log_x_(log_x) {
    if (x1_ <= x0_) x1_ = x0_ + 1;
    if (y1_ <= y0_) y1_ = y0_ + 1;
    text_ = "<svg viewBox=\"0 0 640 320\" role=\"img\"><rect x=\"60\" y=\"10\" width=\"570\" height=\"270\" class=\"frame\"/>";
    label(4, y_of(least_y), text_of(least_y));
    label(4, y_of(most_y) + 8, text_of(most_y));
  }
  void dot(double x, double y, char const* kind) {
    char t[128];
    std::snprintf(t, sizeof t, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" class=\"%s\"/>", x_of(x), y_of(y), kind);
    text_ += t;
  }
  void step_to(double x, double y) {
    char t[64];
    if (path_.empty()) std::snprintf(t, sizeof t, "M%.1f %.1f", x_of(x), y_of(y));
    else std::snprintf(t, sizeof t, "H%.1fV%.1f", x_of(x), y_of(y));
    path_ += t;
  }
  void line(double xa, double ya, double xb, double yb, char const* kind = "frame") {
    char t[160];
    std::snprintf(t, sizeof t, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>", x_of(xa), y_of(ya),
                  x_of(xb), y_of(yb), kind);
    text_ += t;
  }
  /// Beside a point.
  void label_at(double x, double y, double right, double down, std::string const& what) { label(x_of(x) + right, y_of(y) + down, what); }
  void label(double x, double y, std::string const& what) {
    char t[64];
    std::snprintf(t, sizeof t, "<text x=\"%.1f\" y=\"%.1f\">", x, y);
    text_ += joined({t, escaped(what), "</text>"});
  }
  std::string done() {
    if (!path_.empty()) text_ += joined({"<path class=\"best\" d=\"", path_, "\"/>"});
    return text_ += "</svg>\n";
  }

 private:
  double x_of(double x) const { return 60 + 570 * ((log_x_ ? std::log(x) : x) - x0_) / (x1_ - x0_); }
  double y_of(double y) const { return 280 - 270 * (std::log(y) - y0_) / (y1_ - y0_); }
  double x0_, x1_, y0_, y1_;
  bool log_x_;
  std::string text_, path_;
};

inline void widen(double ns, double& least, double& most) {
  if (ns <= 0) return;
  if (least <= 0 || ns < least) least = ns;
  if (ns > most) most = ns;
}
inline std::string progress_drawing(tune_result const& r) {
  double least = 0, most = 0, best = 0;
  for (tune_trial const& t : r.trials) widen(t.ns, least, most);
  if (least <= 0) return "";
  drawing d(1, static_cast<double>(r.trials.size()), least, most, false);
  for (std::size_t i = 0; i < r.trials.size(); ++i) {
    double const ns = r.trials[i].ns, at = static_cast<double>(i + 1);
    if (ns <= 0) continue;
    d.dot(at, ns, "trial");
    if (best <= 0 || ns < best) best = ns;
    d.step_to(at, best);
  }
  d.label(60, 300, joined({"trial 1 to ", std::to_string(r.trials.size()), "; the line is the best so far"}));
  return d.done();
}
inline std::string model_drawing(tune_result const& r) {
  double least = 0, most = 0;
  for (tune_trial const& t : r.trials)
    if (t.ns > 0 && t.expected_ns > 0) widen(t.ns, least, most), widen(t.expected_ns, least, most);
  if (least <= 0) return "<p>No candidate was chosen by a model.</p>\n";
  drawing d(least, most, least, most, true);
  d.line(least, least, most, most);
  for (tune_trial const& t : r.trials)
    if (t.ns > 0 && t.expected_ns > 0) d.dot(t.expected_ns, t.ns, "trial");
  d.label(60, 300, joined({"expected, over which: measured; ", r.model_quality == 0 ? std::string("too few trials to tell how good the model is")
                                                                                 : joined({"rank correlation ", number_text(r.model_quality)})}));
  return d.done();
}
/// What these operations and bytes take at most, on a machine of which one of the peaks is known, or both.
inline std::string roofline_drawing(tune_result const& r) {
  double slowest = 0, fastest = 0;
  for (tune_trial const& t : r.trials) widen(t.ns, fastest, slowest);
  if (r.threads <= 0 || r.done.operations <= 0 || r.done.bytes <= 0 || fastest <= 0)
    return fastest <= 0 ? "<p>Nothing was measured.</p>\n" : "<p>Not for this one: a GPU, whose peaks are not known, or a program without arithmetic.</p>\n";
  double const in_f32 = r.done.peak_of(1) > 0 ? r.done.operations / r.done.peak_of(1) : 0;
  bench::machine_peaks const peaks = bench::peaks_beside(r.threads, in_f32, r.done.bytes, fastest);
  double const flat = r.done.peak_of(peaks.gflops), each_byte = r.done.operations / r.done.bytes, ridge = flat / peaks.gbs;
  double const by_memory = each_byte * peaks.gbs, roof = flat > 0 && flat < by_memory ? flat : by_memory;
  double const left = (flat > 0 && ridge < each_byte ? ridge : each_byte) / 4, right = (ridge > each_byte ? ridge : each_byte) * 4;
  double const of_slowest = r.done.operations / slowest, of_fastest = r.done.operations / fastest;
  double const top = 1.3 * (flat > of_fastest ? flat : of_fastest > by_memory ? of_fastest : by_memory);
  double const under = left * peaks.gbs < of_slowest ? left * peaks.gbs : of_slowest;
  drawing d(left, right, under / 1.3, top, true, short_number);
  double const bend = flat > 0 ? ridge : top / peaks.gbs;
  d.line(left, left * peaks.gbs, bend < right ? bend : right, (bend < right ? bend : right) * peaks.gbs, "roof");
  double const middle = std::sqrt(left * (bend < right ? bend : right));
  d.label_at(middle, middle * peaks.gbs, 10, 14, joined({short_number(peaks.gbs), " GB/s"}));
  if (flat > 0) d.line(ridge, flat, right, flat, "roof"), d.label_at(ridge, flat, 8, -5, joined({short_number(flat), " GFLOP/s"}));
  for (tune_trial const& t : r.trials)
    if (t.ns > 0) d.dot(each_byte, r.done.operations / t.ns, "trial");
  double const of_best = r.best_ns > 0 ? r.done.operations / r.best_ns : of_fastest;  // as its turns had it, not the trial
  d.dot(each_byte, of_best, "winner");
  d.label(60, 300, joined({"GFLOP/s, over operations a byte: ", short_number(left), " to ", short_number(right), "; this program has ", short_number(each_byte)}));
  std::string const note = of_best > by_memory && (flat <= 0 || by_memory < flat) ? "; above the slope, since its data were in a cache" : "";
  return joined({d.done(), "<p>", short_number(r.done.operations), " operations and ", short_number(r.done.bytes), " bytes a call. The winner (red) has ", short_number(of_best),
                 " GFLOP/s, ", short_number(100 * of_best / roof), " % of the roofline on ", std::to_string(r.threads), r.threads == 1 ? " thread" : " threads", note, ".</p>\n"});
}
inline std::string trial_rows(tune_result const& r) {
  std::string t = "<table><tr><th>trial</th><th>choices</th><th>time</th><th>expected</th><th>what became of it</th></tr>\n";
  for (std::size_t i = 0; i < r.trials.size(); ++i) {
    tune_trial const& one = r.trials[i];
    std::string choices;
    for (std::int32_t c : one.choices) choices += joined({choices.empty() ? "" : " ", std::to_string(c)});
    std::string const became =
        one.wrong ? joined({"wrong: ", one.why}) : joined({name(one.result), one.why.empty() ? "" : ": ", one.why});
    t += joined({"<tr><td>", std::to_string(i + 1), "</td><td>", choices, "</td><td>", one.ns > 0 ? time_text(one.ns) : "",
                 "</td><td>", one.expected_ns > 0 ? time_text(one.expected_ns) : "", "</td><td>", escaped(became), "</td></tr>\n"});
  }
  return t += "</table>\n";
}
}  // namespace detail
}  // namespace tuning

WEFT_DECL std::string report(tune_result const& r) {
  using namespace tuning::detail;
  weft::detail::plain_numerals const with_points;
  std::string const title = escaped(r.kernel);
  return joined({"<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>", title, "</title>\n<style>",
                 "body{font:15px sans-serif;max-width:60em;margin:2em auto;padding:0 1em}svg{width:100%;max-width:640px}"
                 ".frame{fill:none;stroke:#999}.trial{fill:#36c;fill-opacity:.6}.best{fill:none;stroke:#c33;stroke-width:2}.roof{stroke:#333;stroke-width:2}.winner{fill:#c33}"
                 "text{font-size:12px}pre{background:#f4f4f4;padding:1em;overflow:auto}td,th{text-align:left;padding:0 1em 0 0}",
                 "</style>\n<h1>", title, "</h1>\n<p>", escaped(tuning::text(r.space)), "; ", trials_text(static_cast<std::int64_t>(r.trials.size())),
                 ". ", r.best_ns > 0 ? joined({"Best ", time_text(r.best_ns), ", without tuning ", time_text(r.first_ns)}) : std::string(r.trials.empty() ? "Nothing was measured" : "Nothing that was measured is right"), ".</p>\n<p>",
                 escaped(r.why), "</p>\n<h2>Best so far</h2>\n", progress_drawing(r), "<h2>The model</h2>\n", model_drawing(r), "<h2>The roofline</h2>\n", roofline_drawing(r),
                 "<h2>The schedule</h2>\n<pre>", escaped(r.how), "</pre>\n<pre>", escaped(r.loops), "</pre>\n<h2>Trials</h2>\n",
                 trial_rows(r), "</html>\n"});
}

}  // namespace weft::inline WEFT_ABI
