"""Measure every method on coco10k, frozen EfficientNet-lite0 features, one positive per picture; writes coco10k_frozen.json.

    python docs/results/coco10k_frozen.py PATH_TO_COCO10K [methods|rows|all]

`methods`: for each method the learning rate of {1e-3, 3e-4, 1e-4} with the best validation mAP (seed 0), then three seeds; and three
seeds of the recipe for data of your own as it is shipped. Train 6,400 / val 1,600 / test 2,500 pictures, uniform draw 1200.
`rows`: 0, 400 and 2,000 completely tagged pictures among the 8,000 of the training table, the others with one tag, no
validation; recipes for data of your own, one seed; with `labels.negative_weight` "auto" as shipped, and with 1.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import onetag
from onetag.core.labels import REST_NEGATIVE, LabelTable
from onetag.core.split import Data
from onetag.observe import observe
from onetag.recipe import load_method

OUT = Path(__file__).with_suffix(".json")
REGIMES = {"bce_full": "full", "bce_one_positive_all_negatives": "one_positive_all_negatives"}
METHODS = [
    "bce_full", "bce_one_positive_all_negatives", "an", "dw", "l1r", "l2r", "ls", "nls", "entmin", "focal", "asl",
    "role", "em", "em_apl", "softmax",
]  # fmt: skip
RATES = [1e-3, 3e-4, 1e-4]
SEEDS = [0, 1, 2]


def run(data: Data, test: Data, method: str, **settings: object) -> dict[str, float]:
    """One training in a folder that is thrown away: mAP on val (where there is one) and test, in percent."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        made = onetag.train(data, test=test, method=method, out=Path(folder) / "run", **settings)
        results = made.config()["results"]
        told = {side: round(100 * result["map"], 2) for side, result in results.items()}
        pseudo = [line for line in made.metrics() if "pseudo_precision_pooled" in line]
        if pseudo:
            told["pseudo_precision"] = round(100 * pseudo[-1]["pseudo_precision_pooled"], 2)
            told["pseudo_precision_of_a_coin"] = round(100 * pseudo[-1]["pseudo_precision_of_a_coin"], 2)
        return {**told, "epoch": made.config()["epochs"]["best"], "seconds": round(time.monotonic() - began, 1)}


def methods(data: Data, test: Data) -> dict[str, object]:
    found: dict[str, object] = {}
    for method in METHODS:
        common = {"annotation": REGIMES.get(method, "one_positive"), "data.val_share": 0.2, "data.train": "coco10k"}
        grid = {rate: run(data, test, method, **common, **{"optimizer.lr": rate}) for rate in RATES}
        best = max(grid, key=lambda rate: grid[rate]["val"])
        runs = [
            grid[best],
            *(run(data, test, method, **common, **{"optimizer.lr": best, "seed": seed}) for seed in SEEDS[1:]),
        ]
        shipped = load_method(method).recipe().optimizer.lr
        own = runs if shipped == best else [run(data, test, method, **common, seed=seed) for seed in SEEDS]
        found[method] = {
            "rate": best,
            "grid": {str(rate): told for rate, told in grid.items()},
            "runs": runs,
            "own_rate": shipped,
            "own": own,
        }
        print(
            method,
            best,
            [told["test"] for told in runs],
            "shipped",
            shipped,
            [told["test"] for told in own],
            flush=True,
        )
    return found


def rows(data: Data, test: Data) -> dict[str, object]:
    """How much complete rows help or hurt."""
    whole = data.side("train")
    assert whole is not None
    assert whole.truth is not None
    single = observe(whole.truth, "one_positive", whole.ids)
    order = np.random.default_rng(0).permutation(len(whole))
    found: dict[str, object] = {}
    for method in METHODS[2:]:
        told: dict[str, object] = {}
        for count in (0, 400, 2000):
            is_complete = np.isin(np.arange(len(whole)), order[:count])
            mixed = _mixed(single, whole.truth, is_complete)
            part = replace(data, splits={"train": replace(whole, labels=mixed, truth=None)}, complete=False)
            for weight in ("auto", 1.0) if count else ("auto",):
                result = run(
                    part, test, method, **{"labels.negative_weight": weight, "data.train": "coco10k", "mean_tags": 2.96}
                )
                told[f"{count} {weight}"] = result["test"]
        found[method] = told
        print(method, told, flush=True)
    return found


def _mixed(single: LabelTable, truth: LabelTable, is_complete: np.ndarray) -> LabelTable:
    dense = np.where(is_complete[:, None], truth.to_dense(), single.to_dense())
    return LabelTable.from_dense(dense, np.where(is_complete, REST_NEGATIVE, 0))


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    what = sys.argv[2] if len(sys.argv) > 2 else "all"
    data = onetag.load("coco10k", places={"coco10k": sys.argv[1]})
    train, test = (
        Data({name: data.splits[name]}, data.read_as, data.source, data.complete) for name in ("train", "test")
    )
    told = json.loads(OUT.read_text()) if OUT.exists() else {}
    told["environment"] = _environment()
    for name, measure in (("methods", methods), ("rows", rows)):
        if what in (name, "all"):
            told[name] = measure(train, test)
            OUT.write_text(json.dumps(told, indent=1) + "\n")


def _environment() -> dict[str, object]:
    from onetag.runs import environment

    return environment()


if __name__ == "__main__":
    main()
