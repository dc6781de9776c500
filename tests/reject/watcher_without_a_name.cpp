// expect: weft: what watches a tuning and holds something needs a name, so that it outlives the tuning
#include <weft/tune.hpp>

int main() {
  int most = 10;
  weft::tune_options options;
  options.progress = [&most](weft::tune_progress const& p) { return p.trials < most; };  // <- here
}
