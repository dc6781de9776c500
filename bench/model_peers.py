"""Our boosted trees beside XGBoost's, on the recorded spaces: the same rows, the same measurements, the same settings.

    python3 -m venv venv && venv/bin/pip install xgboost-cpu numpy scipy
    mkdir rows && WEFT_COMPARE=rows weft-tests --test-case='writes what models are compared on' --no-skip
    venv/bin/python bench/model_peers.py rows

A table: for each space and number of measurements, as means of 20 draws, the rank correlation of what is expected with what was
measured, over the points that the model has not seen, and of the fastest 16 of these the share among the 32 that it expects to be
fastest. Ends with 1 when ours is behind by more than 0.02 in the mean of either. Takes half a minute. Not run by ctest: it needs a package.
"""
import glob
import os
import sys

import numpy as np
import xgboost
from scipy.stats import spearmanr

# model_settings of weft/tune/model.hpp
SETTINGS = {"max_depth": 4, "learning_rate": 0.2, "reg_lambda": 1, "min_child_weight": 2, "max_bin": 32,
            "tree_method": "hist", "nthread": 1, "verbosity": 0}
TREES = 60


def quality(expected, costs):
    best = set(np.argsort(costs)[:16])
    return spearmanr(expected, costs)[0], len(best & set(np.argsort(expected)[:32])) / 16


def main(folder):
    print(f"| space | measurements | rank correlation: weft | XGBoost {xgboost.__version__} | recall: weft | XGBoost |\n|---|---|---|---|---|---|")
    means = []
    for path in sorted(glob.glob(os.path.join(folder, "*.rows"))):
        table = np.loadtxt(path)
        costs, rows = table[:, 0], table[:, 1:]
        found = {}
        with open(path[:-4] + "own", encoding="utf-8") as lines:
            for line in lines:
                numbers = line.split()
                count = int(numbers[0])
                seen = np.array([int(n) for n in numbers[1:count + 1]])
                expected = np.array([float(n) for n in numbers[count + 1:]])
                unseen = np.setdiff1d(np.arange(len(costs)), seen)
                base = costs[seen].mean()
                model = xgboost.train(SETTINGS, xgboost.DMatrix(rows[seen], label=costs[seen] - base), TREES)
                theirs = model.predict(xgboost.DMatrix(rows[unseen]))
                found.setdefault(count, []).append(quality(expected[unseen], costs[unseen]) + quality(theirs, costs[unseen]))
        for count, values in found.items():
            ours, recall, theirs, their_recall = np.mean(values, 0)
            means.append((ours, theirs, recall, their_recall))
            print(f"| {os.path.basename(path)[:-5]} | {count} | {ours:.3f} | {theirs:.3f} | {recall:.2f} | {their_recall:.2f} |", flush=True)
    if not means:
        sys.exit(f"no *.rows in {folder}: see --help")
    ours, theirs, recall, their_recall = np.mean(means, 0)
    print(f"| mean | | {ours:.3f} | {theirs:.3f} | {recall:.3f} | {their_recall:.3f} |")
    return 0 if ours >= theirs - 0.02 and recall >= their_recall - 0.02 else 1


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
